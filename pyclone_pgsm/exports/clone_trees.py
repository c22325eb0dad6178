"""Tables of clusters for ctree, REVOLVER, ClonEvol and CITUP: cancer cell fractions of clusters in each sample."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.exports.answer import OF_CLUSTER, Answer, ExportOptions, note_exceptions, note_two_states
from pyclone_pgsm.files import write_file
from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.tsv import by_row, write_table

FREQ, CLUSTERS = "freq.txt", "clusters.txt"
NO_UNCERTAINTY = "intervals and probabilities of clusters have no place in the format"


def _notes(answer: Answer, *own: str) -> list[str]:
    """Return lines on what a table of clusters cannot represent: the format's `own`, and those that all share."""
    return [*note_exceptions(answer, OF_CLUSTER), *own, NO_UNCERTAINTY]


def _flags(answer: Answer, drivers: frozenset[str]) -> dict[str, NDArray[np.object_]]:
    """Return, as R writes booleans, whether each mutation (T,) or its gene is a driver, and whether it is clonal."""
    names = zip(answer.observations.mutation_ids, answer.annotation("gene"))
    flags: dict[str, ArrayLike] = {
        "is.driver": [not drivers.isdisjoint(pair) for pair in names],
        "is.clonal": np.isin(answer.summary.labels, answer.summary.trunks[:1]),
    }
    return {name: np.where(values, "TRUE", "FALSE").astype(object) for name, values in flags.items()}


def _note_clonal(answer: Answer) -> list[str]:
    """Return a line if no or several clusters are clonal."""
    found = answer.summary.trunks
    if not found:
        return [f"is.clonal is FALSE everywhere: no cluster is clonal in {answer.summary.everywhere}"]
    if len(found) > 1:
        return [f"is.clonal is TRUE of cluster {found[0]} alone, the largest of {len(found)} clonal ones"]
    return []


def _note_drivers(answer: Answer, drivers: frozenset[str]) -> list[str]:
    """Return lines if no drivers were given, some were not found, or some are outliers, which are left out."""
    if not drivers:
        return ["is.driver is FALSE everywhere: name drivers with `drivers`"]
    names = list(zip(answer.observations.mutation_ids, answer.annotation("gene")))
    written, left_out = (
        {name for t in rows for name in names[t]} for rows in (answer.placed, answer.outliers)
    )
    notes = []
    for found, where in (
        (drivers - written - left_out, "not among genes or mutations"),
        ((drivers & left_out) - written, "left out with the outliers"),
    ):
        shown = ", ".join(sorted(found)[:5]) + (" .." if len(found) > 5 else "")
        if found:
            notes.append(f"{count(len(found), 'driver')} of `drivers` {where}: {shown}")
    return notes


def write_ctree(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    summary = answer.summary
    columns = {
        "patientID": options.patient,
        "sample_id": summary.sample_ids,
        "variantID": by_row(summary.mutation_ids),
        "cluster": by_row(summary.labels),
        "nMuts": by_row(np.append(summary.cluster_size, 0)[summary.labels]),
        **{name: by_row(values) for name, values in _flags(answer, options.drivers).items()},
        "CCF": answer.prevalence,
    }
    answer.write_table(columns, out)
    return _notes(answer, *_note_clonal(answer), *_note_drivers(answer, options.drivers))


def write_revolver(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    data = answer.observations
    names = [name.translate(str.maketrans(":;", "__")) for name in data.sample_ids]
    if len(set(names)) < len(names):
        raise UsageError(
            "`format` revolver separates samples by ':' and ';', and some names differ in these only: rename them"
        )
    notes = _note_clonal(answer)
    if names != data.sample_ids:
        notes.append("':' and ';' in names of samples are '_': the format separates by them")
    table = pd.DataFrame(
        {
            "Misc": data.mutation_ids,
            "patientID": options.patient,
            "variantID": [gene or name for gene, name in zip(answer.annotation("gene"), data.mutation_ids)],
            "cluster": answer.summary.labels,
            **_flags(answer, options.drivers),
            "CCF": [
                ";".join(f"{name}:{value:.6g}" for name, value in zip(names, row))
                for row in answer.prevalence
            ],
        }
    )
    write_table(table.iloc[answer.placed], out, quoted=False)
    return _notes(answer, *notes, *_note_drivers(answer, options.drivers))


def write_clonevol(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    data, labels, trunks = answer.observations, answer.summary.labels, answer.summary.trunks
    first = trunks[0] if trunks else 0
    number = np.where(labels == first, 1, labels + 1 + (labels < first))
    columns = {"cluster": number, "mutation_id": data.mutation_ids, "gene": answer.annotation("gene")}
    fractions = np.where(data.depth > 0, answer.copies_seen / answer.mutant_copies, answer.prevalence)
    taken = [name for name in data.sample_ids if name in columns]
    for d, name in enumerate(data.sample_ids):
        columns[f"{name}.ccf" if taken else name] = 100.0 * fractions[:, d]
    table = pd.DataFrame(columns).iloc[answer.placed].sort_values("cluster", kind="stable")
    write_table(table, out, quoted=False)
    notes = [f"columns of samples end in .ccf: a sample is called {taken[0]!r}"] if taken else []
    fractions_of = (
        "cancer cell fractions are those of each mutation's own reads and most probable copies, as ClonEvol draws them "
        "to find out how certain a cluster's is"
    )
    reason = "its trunk" if trunks else "the one with the largest mean prevalence; none is clonal everywhere"
    founding = (
        f"cluster 1, which ClonEvol takes for the founding clone, is cluster {first} of the result, {reason}"
    )
    two_states = note_two_states(answer, "the copies are the mean of the cells with the mutation")
    return _notes(answer, *notes, fractions_of, *two_states, founding)


def write_citup(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    rows = answer.placed
    values = ["\t".join(f"{value:.6g}" for value in row) for row in answer.prevalence[rows]]
    write_file(out / FREQ, ("\n".join(values) + "\n").encode())
    write_file(out / CLUSTERS, ("\n".join(map(str, answer.summary.labels[rows])) + "\n").encode())
    order = "names have no place in the format: rows and columns are in the order of mutations.tsv"
    return _notes(answer, order)
