"""The tables of the output folder, whose columns docs/reference/tables.md describes, and that for the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pyclone_pgsm.files import storable
from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.likelihoods.contract import OTHER_COLUMNS
from pyclone_pgsm.posterior.mixture import MixtureSummary
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.tsv import NUM_DIGITS, by_row, long_table

SHOWN_CLUSTERS = 20
SHOWN_COLUMNS = 6


def mutation_table(summary: Summary, annotations: dict[str, list[str]]) -> pd.DataFrame:
    """Return one row for each mutation and sample: PyClone-VI's six columns first, annotations last.

    Unknown values are empty: the second cluster if no draw assigns the mutation elsewhere, and properties of the reads
    if there are none or the mutation has no cluster. Outliers have cluster -1; if the model has outliers, a column
    gives the probability that each mutation is one.
    """
    columns: dict[str, Any] = {
        "mutation_id": by_row(summary.mutation_ids),
        "sample_id": summary.sample_ids,
        "cluster_id": by_row(summary.labels),
        "cellular_prevalence": summary.mean,
        "cellular_prevalence_std": summary.std,
        "cluster_assignment_prob": by_row(summary.assignment_prob),
        "cellular_prevalence_lower": summary.lower,
        "cellular_prevalence_upper": summary.upper,
        "variant_allele_frequency": summary.vaf,
        "prob_present": summary.prob_present,
        "prob_clonal": summary.prob_clonal,
        "second_cluster_id": by_row(summary.second_cluster),
        "second_cluster_prob": by_row(summary.second_prob),
        "multiplicity": summary.multiplicity,
        "multiplicity_prob": summary.multiplicity_prob,
        "fit": summary.fit,
        "peaks": summary.peaks,
    }
    if summary.outlier_prob is not None:
        columns["outlier_prob"] = by_row(summary.outlier_prob)
    columns |= {name: by_row(texts) for name, texts in annotations.items()}
    table = long_table(summary.mean.shape, columns)
    for name, least in (("second_cluster_id", 0), ("multiplicity", 1)):
        table[name] = table[name].astype("Int64").where(table[name] >= least)
    return table


def cluster_table(summary: Summary) -> pd.DataFrame:
    """Return one row for each cluster and sample."""
    columns = {
        "cluster_id": by_row(np.arange(summary.num_clusters)),
        "sample_id": summary.sample_ids,
        "size": by_row(summary.cluster_size),
        "cellular_prevalence": summary.cluster_mean,
        "cellular_prevalence_std": summary.cluster_std,
        "cellular_prevalence_lower": summary.cluster_lower,
        "cellular_prevalence_upper": summary.cluster_upper,
        "prob_present": summary.cluster_prob_present,
        "prob_clonal": summary.cluster_prob_clonal,
        "status": summary.cluster_status,
        "peaks": summary.cluster_peaks,
    }
    return long_table(summary.cluster_mean.shape, columns)


def assignment_table(summary: MixtureSummary) -> pd.DataFrame:
    """Return one row for each row of the data."""
    return pd.DataFrame(
        {
            "row_id": np.array(summary.row_names, object),
            "cluster_id": summary.labels,
            "assignment_prob": summary.assignment_prob,
        }
    )


def mixture_table(summary: MixtureSummary) -> pd.DataFrame:
    """Return one row for each cluster and column of the data, with the posterior of the cluster's parameters.

    A parameter with one number for each column of the data has one column in the table. A parameter with several
    numbers for each, such as a covariance matrix, has several columns, named after the columns of the data if they are
    equally many, else numbered. Other parameters are repeated in every row.
    """
    K, D = summary.num_clusters, len(summary.column_names)
    others = by_row(np.arange(K)), summary.column_names, by_row(summary.cluster_size)
    columns = dict(zip(OTHER_COLUMNS, others))
    for name, values in summary.parameters.items():
        by_column = values.ndim > 1 and values.shape[1] == D
        cells = values.reshape(K, D if by_column else 1, -1)
        number = cells.shape[2]
        for j in range(number):
            end = summary.column_names[j] if number == D else str(j + 1)
            columns[name if number == 1 else f"{name}_{end}"] = cells[:, :, j]
    table = long_table((K, D), columns)
    table.attrs["digits"] = summary.digits(NUM_DIGITS)
    return table


def left_out_table(left_out: Sequence[LeftOut]) -> pd.DataFrame:
    """Return one row for each thing left out or changed."""
    rows = [each._replace(file=storable(each.file)) for each in left_out]
    table = pd.DataFrame(rows, columns=list(LeftOut._fields))
    return table.astype({"row": "Int64"})


def cluster_lines(
    names: list[str],
    sizes: list[int],
    cells: list[list[str]],
    least_width: int,
    things: str,
    marks: Mapping[int, str] | None = None,
) -> Iterator[str]:
    """Yield a table of the largest clusters and the first columns, each row followed by the cluster's mark, if any."""
    marks = marks or {}
    shown = names[:SHOWN_COLUMNS]
    widths = [max(len(name), least_width) for name in shown]

    def row(*texts: str) -> str:
        return "".join(f"  {text:>{width}}" for text, width in zip(texts, widths))

    hidden = len(names) - len(shown)
    yield f"{'cluster':>7} {'size':>7}{row(*shown)}" + (f"  ({hidden} more {things})" if hidden else "")
    largest = sorted(range(len(sizes)), key=lambda k: -sizes[k])[:SHOWN_CLUSTERS]
    for k in sorted(largest):
        yield f"{k:>7} {sizes[k]:>7,}{row(*cells[k])}" + (f"  {marks[k]}" if k in marks else "")
    if len(sizes) > SHOWN_CLUSTERS:
        yield f"        ({len(sizes) - SHOWN_CLUSTERS} smaller clusters in clusters.tsv)"
