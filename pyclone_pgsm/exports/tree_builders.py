"""Tables of the reads of each mutation, with its cluster, for Pairtree and Orchard, PhyClone, CONIPHER and Metient."""

import json
from pathlib import Path

import numpy as np

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.exports.answer import (
    Answer,
    ExportOptions,
    Format,
    long_table,
    note_exceptions,
    note_two_states,
    write_table,
)
from pyclone_pgsm.files import write_file

SSM, PARAMS = "tumour.ssm", "tumour.params.json"
SSM_COLUMNS = ("id", "name", "var_reads", "total_reads", "var_read_prob")
INPUT, CLUSTERS = "input.tsv", "clusters.tsv"
CONIPHER_COLUMNS = (
    "CASE_ID", "SAMPLE", "CHR", "POS", "REF", "ALT", "REF_COUNT", "VAR_COUNT", "DEPTH", "CLUSTER", "CCF_PHYLO",
    "CCF_OBS", "MUT_COPY", "COPY_NUMBER_A", "COPY_NUMBER_B", "ACF", "PLOIDY",
)  # fmt: skip
METIENT_COLUMNS = (
    "anatomical_site_index", "anatomical_site_label", "cluster_index", "character_index", "character_label", "ref",
    "var", "var_read_prob", "site_category",
)  # fmt: skip


def _write_pairtree(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    """Write ``.ssm`` and ``.params.json``.

    ``var_read_prob`` is the probability that a read of a cell with the mutation shows it: mutant copies over the mean
    copies of the sample's cells, 0.5 if all are diploid. The frequencies of subclones are then shares of all cells of
    the sample: that of a clonal mutation is the tumour content.
    """
    data, labels = answer.observations, answer.summary.labels
    ref, alt = answer.counts()
    share = answer.variant_share
    lines = ["\t".join(SSM_COLUMNS)]
    for t, name in enumerate(data.mutation_ids):
        vectors = (alt[t], ref[t] + alt[t], [f"{value:.6g}" for value in share[t]])
        lines.append("\t".join([f"s{t}", name, *(",".join(map(str, vector)) for vector in vectors)]))
    write_file(out / SSM, ("\n".join(lines) + "\n").encode())
    params = {
        "samples": data.sample_ids,
        "clusters": [
            [f"s{t}" for t in np.flatnonzero(labels == k)] for k in range(answer.summary.num_clusters)
        ],
        "garbage": [f"s{t}" for t in answer.outliers],
    }
    write_file(out / PARAMS, (json.dumps(params, ensure_ascii=False) + "\n").encode())
    return [
        *note_exceptions(
            answer,
            "0 of 0 reads; Pairtree's authors would rather have the depth read from the alignment",
            "listed as garbage",
        ),
        *note_two_states(answer, "var_read_prob is that of the mean copies of both states"),
        "frequencies of subclones are among all cells: divide by the tumour content for cancer cell fractions",
    ]


def _write_phyclone(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    """Write PhyClone's input table, and the clusters from which it starts.

    Each mutation has a row for every sample, because PhyClone leaves out mutations that lack one. Each outlier is a
    cluster of its own, with its probability of being an outlier.
    """
    data, summary = answer.observations, answer.summary
    ref, alt = answer.counts()
    rows = np.arange(data.num_mutations)
    reads = long_table(
        answer,
        rows,
        ref_counts=ref,
        alt_counts=alt,
        major_cn=np.maximum(data.major_cn, 1),
        minor_cn=data.minor_cn,
        normal_cn=data.normal_cn,
        tumour_content=data.tumour_content,
        error_rate=np.where(np.isnan(data.error_rate), answer.error_rate, data.error_rate),
    )
    labels = summary.labels.copy()
    labels[answer.outliers] = summary.num_clusters + np.arange(len(answer.outliers))
    prevalence = np.where(np.isnan(answer.prevalence), summary.mean, answer.prevalence)
    prob = np.zeros(len(labels)) if summary.outlier_prob is None else summary.outlier_prob
    clusters = long_table(
        answer,
        rows,
        cluster_id=labels,
        cellular_prevalence=prevalence,
        outlier_prob=prob,
    )
    chrom = np.array(answer.annotation("chrom"), object)
    order = ["mutation_id", "cluster_id", "sample_id", "cellular_prevalence", "outlier_prob"]
    notes = []
    if all(chrom):
        reads["chrom"] = clusters["chrom"] = np.repeat(chrom, data.num_samples)
        order.insert(-1, "chrom")
    else:
        notes.append("no column chrom: the chromosome of some mutations is not known")
    write_table(reads, out / INPUT)
    write_table(clusters[order], out / CLUSTERS)
    if summary.outlier_prob is None:
        notes.append("outlier_prob is 0: the analysis had no outliers (--outlier-prob)")
    return [
        *notes,
        *note_exceptions(answer, "0 reads", "each in a cluster of its own"),
        *note_two_states(answer, "only the first state is in the table"),
    ]


def _write_conipher(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    """Write the input table of CONIPHER's tree building."""
    data, rows = answer.observations, answer.placed
    places = {name: np.array(answer.annotation(name), object) for name in ("chrom", "pos", "ref", "alt")}
    for name in ("chrom", "pos"):
        if not all(places[name][rows]):
            unknown = next(data.mutation_ids[t] for t in rows if not places[name][t])
            raise UsageError(
                f"`format` conipher: needs the place of each mutation, and the column {name} of the input does not "
                f"tell that of {unknown!r}"
            )
    notes = []
    for name in ("ref", "alt"):
        if not all(places[name][rows]):
            places[name] = np.where(places[name] == "", "N", places[name])
            notes.append(f"{name.upper()} is N where the input does not tell the allele")
    ref, alt = answer.counts()
    seen = alt / np.maximum(ref + alt, 1) * answer.mean_copies / data.tumour_content
    fraction = answer.summary.mean
    seen = np.where(data.has_data, seen, fraction * answer.mutant_copies)
    case = options.patient
    samples = [name if name.startswith(case) else f"{case}_{name}" for name in data.sample_ids]
    if samples != data.sample_ids:
        notes.append(f"samples are named {case}_.., as CONIPHER wants their names to begin with CASE_ID")
    table = long_table(
        answer,
        rows,
        **{column: places[name] for column, name in zip(CONIPHER_COLUMNS[2:6], places)},
        REF_COUNT=ref,
        VAR_COUNT=alt,
        DEPTH=ref + alt,
        CLUSTER=answer.summary.labels + 1,
        CCF_PHYLO=answer.prevalence,
        CCF_OBS=seen / answer.mutant_copies,
        MUT_COPY=seen,
        COPY_NUMBER_A=data.major_cn,
        COPY_NUMBER_B=data.minor_cn,
        ACF=data.tumour_content,
    )
    table["CASE_ID"] = case
    table["SAMPLE"] = np.tile(np.array(samples, object), len(rows))
    table["PLOIDY"] = np.tile(answer.tumour_copies.mean(axis=0), len(rows))
    write_table(table[list(CONIPHER_COLUMNS)], out)
    return [
        *notes,
        *note_exceptions(answer, "0 reads, and CCF_OBS and MUT_COPY from the model's prevalence"),
        *note_two_states(answer, "copy numbers are those of the first state"),
        "PLOIDY is the mean copy number at the mutations, not that of the genome",
    ]


def _write_metient(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    """Write the reads of each mutation at each anatomical site: every sample is a site, one is the primary tumour."""
    rows, samples = answer.placed, answer.observations.sample_ids
    primary = samples[0] if len(samples) == 1 else options.primary
    if primary is None:
        raise UsageError(
            f"`format` metient: which sample is the primary tumour? Give `primary`, one of {', '.join(samples)}"
        )
    if primary not in samples:
        raise UsageError(f"`primary` {primary!r}: the samples are {', '.join(samples)}")
    ref, alt = answer.counts()
    table = long_table(
        answer,
        rows,
        cluster_index=answer.summary.labels,
        ref=ref,
        var=alt,
        var_read_prob=answer.variant_share,
    ).rename(columns={"mutation_id": "character_label", "sample_id": "anatomical_site_label"})
    table["anatomical_site_index"] = np.tile(np.arange(len(samples)), len(rows))
    table["character_index"] = np.repeat(np.arange(len(rows)), len(samples))
    table["site_category"] = np.where(table["anatomical_site_label"] == primary, "primary", "metastasis")
    notes = []
    if table["character_label"].str.contains(":").any():
        table["character_label"] = table["character_label"].str.replace(":", "_")
        notes.append("':' in names of mutations is '_': Metient's pictures cannot have it")
    write_table(table[list(METIENT_COLUMNS)], out)
    return [
        *notes,
        *note_exceptions(answer, "0 reads"),
        *note_two_states(answer, "var_read_prob is that of the mean copies of both states"),
    ]


PAIRTREE = Format("pairtree", (SSM, PARAMS), _write_pairtree)
PHYCLONE = Format("phyclone", (INPUT, CLUSTERS), _write_phyclone, needs_clusters=False)
CONIPHER = Format("conipher", (), _write_conipher)
METIENT = Format("metient", (), _write_metient)
