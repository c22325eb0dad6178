"""The tables of the output folder. Their columns have fixed names, which docs/reference/tables.md describes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.files import replacing
from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.posterior.mixture import MixtureSummary
from pyclone_pgsm.posterior.states import statuses
from pyclone_pgsm.posterior.summary import Summary

DIGITS = "%.6g"


def mutation_table(summary: Summary, annotations: dict[str, list[str]] | None = None) -> pd.DataFrame:
    """Return one row for each mutation and sample: PyClone-VI's six columns first, annotations last.

    Unknown values are empty: the second cluster if no draw assigns the mutation elsewhere, and properties of the reads
    if there are none or the mutation has no cluster. Outliers have cluster -1; if the model has outliers, a column
    gives the probability that each mutation is one.
    """
    T, D = summary.mean.shape
    table: dict[str, Any] = {
        "mutation_id": np.repeat(np.array(summary.mutation_ids, object), D),
        "sample_id": np.tile(np.array(summary.sample_ids, object), T),
        "cluster_id": np.repeat(summary.labels, D),
        "cellular_prevalence": summary.mean.ravel(),
        "cellular_prevalence_std": summary.std.ravel(),
        "cluster_assignment_prob": np.repeat(summary.assignment_prob, D),
        "cellular_prevalence_lower": summary.lower.ravel(),
        "cellular_prevalence_upper": summary.upper.ravel(),
        "variant_allele_frequency": summary.vaf.ravel(),
        "prob_present": summary.prob_present.ravel(),
        "prob_clonal": summary.prob_clonal.ravel(),
        "second_cluster_id": _whole(np.repeat(summary.second_cluster, D), least=0),
        "second_cluster_prob": np.repeat(summary.second_prob, D),
        "multiplicity": _whole(summary.multiplicity.ravel(), least=1),
        "multiplicity_prob": summary.multiplicity_prob.ravel(),
        "fit": summary.fit.ravel(),
        "peaks": summary.peaks.ravel(),
    }
    if summary.outlier_prob is not None:
        table["outlier_prob"] = np.repeat(summary.outlier_prob, D)
    for name, texts in (annotations or {}).items():
        table[name] = np.repeat(np.array(texts, object), D)
    return pd.DataFrame(table)


def _whole(numbers: NDArray[np.int64], least: int) -> pd.arrays.IntegerArray:
    """Return an integer column in which numbers below `least` are missing."""
    return pd.arrays.IntegerArray(numbers, numbers < least)


def cluster_table(summary: Summary) -> pd.DataFrame:
    """Return one row for each cluster and sample."""
    K, D = summary.cluster_mean.shape
    return pd.DataFrame(
        {
            "cluster_id": np.repeat(np.arange(K), D),
            "sample_id": np.tile(np.array(summary.sample_ids, object), K),
            "size": np.repeat(summary.cluster_size, D),
            "cellular_prevalence": summary.cluster_mean.ravel(),
            "cellular_prevalence_std": summary.cluster_std.ravel(),
            "cellular_prevalence_lower": summary.cluster_lower.ravel(),
            "cellular_prevalence_upper": summary.cluster_upper.ravel(),
            "prob_present": summary.cluster_prob_present.ravel(),
            "prob_clonal": summary.cluster_prob_clonal.ravel(),
            "status": statuses(summary.cluster_prob_present, summary.cluster_prob_clonal).ravel(),
            "peaks": summary.cluster_peaks.ravel(),
        }
    )


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
    table = {
        "cluster_id": np.repeat(np.arange(K), D),
        "dimension": np.tile(np.array(summary.column_names, object), K),
        "size": np.repeat(summary.cluster_size, D),
    }
    for name, values in summary.parameters.items():
        by_column = values.ndim > 1 and values.shape[1] == D
        cells = values.reshape(K * D, -1) if by_column else np.repeat(values.reshape(K, -1), D, axis=0)
        for j in range(cells.shape[1]):
            end = summary.column_names[j] if cells.shape[1] == D else str(j + 1)
            table[name if cells.shape[1] == 1 else f"{name}_{end}"] = cells[:, j]
    return pd.DataFrame(table)


def left_out_table(left_out: Sequence[LeftOut]) -> pd.DataFrame:
    """Return one row for each thing left out or changed."""
    table = pd.DataFrame(left_out, columns=list(LeftOut._fields))
    return table.astype({"row": "Int64"})


def table_text(table: pd.DataFrame) -> str:
    """Return a table as tab-separated text; missing values are empty."""
    text: str = table.to_csv(sep="\t", index=False, float_format=DIGITS, lineterminator="\n")
    return text


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write the :func:`table_text` of a table."""
    with replacing(path) as temporary:
        temporary.write_text(table_text(table), encoding="utf-8", newline="")
