"""Tables of the reads of each mutation, with its cluster, for Pairtree and Orchard, PhyClone, CONIPHER and Metient."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.exports.answer import (
    Answer,
    ExportOptions,
    note_copy_numbers,
    note_exceptions,
    note_inferred,
    note_reads_for_trees,
    note_two_states,
)
from pyclone_pgsm.files import write_file
from pyclone_pgsm.tsv import DIGITS, by_row

SSM, PARAMS = "tumour.ssm", "tumour.params.json"
SSM_COLUMNS = ("id", "name", "var_reads", "total_reads", "var_read_prob")
INPUT, CLUSTERS = "input.tsv", "clusters.tsv"
ONE_STATE = "the state of most tumour cells (the other where this one has no copies)"
NEUTRAL = "one copy of each allele, and the tumour content of the sample"


def _with_point(values: ArrayLike) -> NDArray[np.object_]:
    """Return numbers as texts that have a decimal point or an exponent: ``1.0``, which else would be written as 1.

    PhyClone refuses a column of fractions if all of its numbers look like integers.
    """
    numbers = np.asarray(values, float)
    texts = [repr(float(DIGITS % value)) for value in numbers.ravel()]
    return np.array(texts, object).reshape(numbers.shape)


def write_pairtree(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    """Write ``.ssm`` and ``.params.json``.

    ``var_read_prob`` is the probability that a read of a cell with the mutation shows it: mutant copies over the mean
    copies of the sample's cells, 0.5 if all are diploid. The frequencies of subclones are then shares of all cells of
    the sample: that of a clonal mutation is the tumour content.
    """
    data, labels = answer.observations, answer.summary.labels
    depth, share = answer.reads_for_trees()
    lines = ["\t".join(SSM_COLUMNS)]
    for t, name in enumerate(data.mutation_ids):
        vectors = (data.alt_counts[t], depth[t], [f"{value:.6g}" for value in share[t]])
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
        *note_reads_for_trees(answer),
        "frequencies of subclones are among all cells: divide by the tumour content for cancer cell fractions",
    ]


def write_phyclone(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    """Write PhyClone's input table, and the clusters from which it starts.

    Each mutation has a row for every sample, because PhyClone leaves out mutations that lack one. Each outlier is a
    cluster of its own, with its probability of being an outlier. All mutations of another cluster have the mean of
    theirs, because PhyClone takes that of one of them for the whole cluster.
    """
    data, summary = answer.observations, answer.summary
    major, minor = answer.copies
    ids = {"mutation_id": by_row(data.mutation_ids), "sample_id": data.sample_ids}
    reads = ids | {
        "ref_counts": data.ref_counts,
        "alt_counts": data.alt_counts,
        "major_cn": major,
        "minor_cn": minor,
        "normal_cn": data.normal_cn,
        "tumour_content": _with_point(data.tumour_content),
        "error_rate": _with_point(data.error_rate),
    }
    labels = summary.labels.copy()
    labels[answer.outliers] = summary.num_clusters + np.arange(len(answer.outliers))
    clusters = {
        "mutation_id": ids["mutation_id"],
        "cluster_id": by_row(labels),
        "sample_id": data.sample_ids,
        "cellular_prevalence": _with_point(answer.prevalence_with_outliers),
    }
    chrom = answer.annotation("chrom")
    notes = []
    if all(chrom):
        reads["chrom"] = clusters["chrom"] = by_row(chrom)
    else:
        notes.append("no column chrom: the chromosome of some mutations is not known")
    if summary.outlier_prob is None:
        notes.append("outlier_prob is 0: the analysis had no outliers (`outlier_prob`)")
        outlier_prob = np.zeros(len(labels))
    else:
        outlier_prob = pd.Series(summary.outlier_prob).groupby(labels).transform("mean").to_numpy()
    clusters["outlier_prob"] = by_row(_with_point(outlier_prob))
    answer.write_table(reads, out / INPUT, with_outliers=True)
    answer.write_table(clusters, out / CLUSTERS, with_outliers=True)
    return [
        *notes,
        *note_exceptions(
            answer,
            f"0 reads, {NEUTRAL}",
            "each in a cluster of its own; PhyClone reads outlier_prob only with --user-provided-loss-prob",
        ),
        *note_two_states(answer, f"only {ONE_STATE} is in the table"),
        *note_copy_numbers(answer),
        *note_inferred(answer, "tumour_content", "error_rate"),
    ]


def write_conipher(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
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
    seen = np.where(data.has_data, answer.copies_seen, answer.summary.mean * answer.mutant_copies)
    has_data = data.has_data | ~data.has_data.any(axis=0)
    major, minor = answer.copies
    case, samples = options.patient, data.sample_ids
    if not all(name.startswith(case) for name in samples):
        samples = [f"{case}_{name}" for name in samples]
        notes.append(f"samples are named {case}_.., as CONIPHER wants their names to begin with CASE_ID")
    columns = {
        "CASE_ID": case,
        "SAMPLE": samples,
        **{heading: by_row(texts) for heading, texts in zip(("CHR", "POS", "REF", "ALT"), places.values())},
        "REF_COUNT": data.ref_counts,
        "VAR_COUNT": data.alt_counts,
        "DEPTH": data.depth,
        "CLUSTER": by_row(answer.summary.labels + 1),
        "CCF_PHYLO": answer.prevalence,
        "CCF_OBS": seen / answer.mutant_copies,
        "MUT_COPY": seen,
        "COPY_NUMBER_A": major,
        "COPY_NUMBER_B": minor,
        "ACF": data.tumour_content,
        "PLOIDY": data.tumour_copies.mean(axis=0, where=has_data),
    }
    answer.write_table(columns, out)
    return [
        *notes,
        *note_exceptions(answer, f"0 reads, {NEUTRAL}; CCF_OBS and MUT_COPY from the model's prevalence"),
        *note_two_states(answer, f"copy numbers are those of {ONE_STATE}"),
        *note_copy_numbers(answer),
        *note_inferred(answer, "tumour_content"),
        "PLOIDY is the mean copy number at the mutations with data, not that of the genome",
    ]


def write_metient(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    """Write the reads of each mutation at each anatomical site: every sample is a site, one is the primary tumour."""
    data, labels = answer.observations, answer.summary.labels
    samples = data.sample_ids
    primary = samples[0] if len(samples) == 1 and options.primary is None else options.primary
    if primary is None:
        raise UsageError(
            f"`format` metient: which sample is the primary tumour? Give `primary`, one of {', '.join(samples)}"
        )
    if primary not in samples:
        raise UsageError(f"`primary` {primary!r}: the samples are {', '.join(samples)}")
    names, notes = data.mutation_ids, []
    if any(":" in names[t] for t in answer.placed):
        names = [name.replace(":", "_") for name in names]
        notes.append("':' in names of mutations is '_': Metient's pictures cannot have it")
    sites = samples
    if pd.to_numeric(pd.Series(samples), errors="coerce").notna().all():
        sites = [f"site_{name}" for name in samples]
        notes.append("samples are named site_..: Metient needs names that are not all numbers")
    depth, share = answer.reads_for_trees()
    columns = {
        "anatomical_site_index": np.arange(len(samples)),
        "anatomical_site_label": sites,
        "cluster_index": by_row(labels),
        "character_index": by_row(np.cumsum(labels >= 0) - 1),
        "character_label": by_row(names),
        "ref": depth - data.alt_counts,
        "var": data.alt_counts,
        "var_read_prob": share,
        "site_category": ["primary" if name == primary else "metastasis" for name in samples],
    }
    answer.write_table(columns, out)
    return [*notes, *note_exceptions(answer, "0 reads"), *note_reads_for_trees(answer)]
