"""Tables of clusters for ctree, REVOLVER, ClonEvol and CITUP: cancer cell fractions of clusters in each sample."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.exports.answer import (
    OF_CLUSTER,
    Answer,
    ExportOptions,
    is_driver,
    note_drivers,
    note_exceptions,
)
from pyclone_pgsm.files import write_file
from pyclone_pgsm.tsv import by_row, write_table

FREQ, CLUSTERS = "freq.txt", "clusters.txt"
NO_UNCERTAINTY = "intervals and probabilities of clusters have no place in the format"


def in_r(values: NDArray[np.bool_]) -> NDArray[np.object_]:
    """Return booleans as R writes them."""
    return np.where(values, "TRUE", "FALSE").astype(object)


def _notes(answer: Answer, *own: str) -> list[str]:
    """Return lines on what a table of clusters cannot represent: the format's `own`, and those that all share."""
    return [*note_exceptions(answer, OF_CLUSTER), *own, NO_UNCERTAINTY]


def _in_trunk(answer: Answer) -> tuple[NDArray[np.bool_], list[str]]:
    """Return whether each mutation (T,) belongs to the trunk, and a line if no or several clusters are clonal."""
    summary, notes = answer.summary, []
    found = summary.trunks
    if not found:
        notes.append(f"is.clonal is FALSE everywhere: no cluster is clonal in {summary.everywhere}")
    elif len(found) > 1:
        notes.append(
            f"is.clonal is TRUE of cluster {found[0]} alone, the largest of {len(found)} clonal ones"
        )
    return np.isin(summary.labels, found[:1]), notes


def write_ctree(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    summary = answer.summary
    clonal, notes = _in_trunk(answer)
    columns = {
        "patientID": options.patient,
        "sample_id": summary.sample_ids,
        "variantID": by_row(summary.mutation_ids),
        "cluster": by_row(summary.labels),
        "nMuts": by_row(np.append(summary.cluster_size, 0)[summary.labels]),
        "is.driver": by_row(in_r(is_driver(answer, options.drivers))),
        "is.clonal": by_row(in_r(clonal)),
        "CCF": answer.prevalence,
    }
    answer.write_table(columns, out)
    return _notes(answer, *notes, *note_drivers(answer, options.drivers))


def write_revolver(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    rows, data = answer.placed, answer.observations
    clonal, notes = _in_trunk(answer)
    names = [name.translate(str.maketrans(":;", "__")) for name in data.sample_ids]
    if len(set(names)) < len(names):
        raise UsageError(
            "`format` revolver separates samples by ':' and ';', and some names differ in these only: rename them"
        )
    if names != data.sample_ids:
        notes.append("':' and ';' in names of samples are '_': the format separates by them")
    genes = answer.annotation("gene")
    driver = is_driver(answer, options.drivers)
    prevalence = answer.prevalence
    table = pd.DataFrame(
        {
            "Misc": [data.mutation_ids[t] for t in rows],
            "patientID": options.patient,
            "variantID": [genes[t] or data.mutation_ids[t] for t in rows],
            "cluster": answer.summary.labels[rows],
            "is.driver": in_r(driver[rows]),
            "is.clonal": in_r(clonal[rows]),
            "CCF": [
                ";".join(f"{name}:{value:.6g}" for name, value in zip(names, prevalence[t])) for t in rows
            ],
        }
    )
    write_table(table, out, quoted=False)
    return _notes(answer, *notes, *note_drivers(answer, options.drivers))


def write_clonevol(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    rows, data, labels = answer.placed, answer.observations, answer.summary.labels
    order = rows[np.argsort(labels[rows], kind="stable")]
    columns: dict[str, object] = {
        "cluster": labels[order] + 1,
        "mutation_id": [data.mutation_ids[t] for t in order],
        "gene": [answer.annotation("gene")[t] for t in order],
    }
    fractions = np.where(data.depth > 0, answer.copies_seen / answer.mutant_copies, answer.prevalence)
    taken = [name for name in data.sample_ids if name in columns]
    for d, name in enumerate(data.sample_ids):
        columns[f"{name}.ccf" if taken else name] = 100.0 * fractions[order, d]
    write_table(pd.DataFrame(columns), out, quoted=False)
    notes = [f"columns of samples end in .ccf: a sample is called {taken[0]!r}"] if taken else []
    fractions_of = (
        "cancer cell fractions are those of each mutation's own reads and most probable copies, as ClonEvol draws them "
        "to find out how certain a cluster's is"
    )
    founding = (
        "cluster 1 is the one with the largest mean prevalence, which ClonEvol takes for the founding clone"
    )
    return _notes(answer, *notes, fractions_of, founding)


def write_citup(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    rows = answer.placed
    values = ["\t".join(f"{value:.6g}" for value in row) for row in answer.prevalence[rows]]
    write_file(out / FREQ, ("\n".join(values) + "\n").encode())
    write_file(out / CLUSTERS, ("\n".join(map(str, answer.summary.labels[rows])) + "\n").encode())
    order = "names have no place in the format: rows and columns are in the order of mutations.tsv"
    return _notes(answer, order)
