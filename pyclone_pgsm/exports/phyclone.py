"""PhyClone: its input table, and the clusters that it begins with.

PhyClone leaves out a mutation that lacks a sample, so that each has a row in all of them. An outlier is a cluster of
its own, with the probability that it is one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pyclone_pgsm.exports.answer import (
    Answer,
    ExportOptions,
    Format,
    long_table,
    note_exceptions,
    note_two_states,
    write_table,
)

INPUT, CLUSTERS = "input.tsv", "clusters.tsv"


def _write(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
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
        *note_exceptions(answer, "0 reads", "are clusters of their own"),
        *note_two_states(answer, "only the first state is in the table"),
    ]


PHYCLONE = Format("phyclone", (INPUT, CLUSTERS), _write, needs_clusters=False)
