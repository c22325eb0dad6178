"""Comparing a result with a known truth."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.columns import Style, read_columns
from pyclone_pgsm.inputs.problems import FileProblems, raise_any
from pyclone_pgsm.inputs.table import Table, columns_by_part
from pyclone_pgsm.inputs.values import Real, finite_number
from pyclone_pgsm.scoring import metrics

CLUSTER_COLUMNS = ("cluster", "truth_cluster")
PREVALENCE_COLUMNS = ("ccf", "empirical_prevalence", "nominal_prevalence")
INTERVAL_COLUMNS = ("cellular_prevalence_lower", "cellular_prevalence_upper")
OUTLIER = "-1"
"""Cluster of mutations that belong to none."""
FOUND_COLUMNS = ("mutation_id", "sample_id", "cluster_id", "cellular_prevalence")

ROUNDING = 1e-9
"""A prevalence outside 0 to 1 by at most this is 0 or 1: sums of fractions are not exact."""

_ANY_NUMBER = Real(-math.inf, math.inf, "a number")
_PREVALENCE = Real(0.0, 1.0, "a prevalence from 0 to 1")


def _true_prevalence(text: str) -> float:
    value = finite_number(text, _PREVALENCE.expected)
    nearest = min(max(value, _PREVALENCE.lowest), _PREVALENCE.highest)
    if abs(value - nearest) <= ROUNDING:
        return nearest
    _PREVALENCE.check(value)
    return value


_NUMBERS: dict[str, Callable[[str], float]] = {
    **dict.fromkeys(("cellular_prevalence", "cluster_assignment_prob"), _ANY_NUMBER),
    **dict.fromkeys((*PREVALENCE_COLUMNS, *INTERVAL_COLUMNS), _ANY_NUMBER),
    "ccf": _true_prevalence,
}
_NAMES = {*FOUND_COLUMNS, *CLUSTER_COLUMNS, *_NUMBERS}


def _read(path: Path, required: Sequence[str], expected: str) -> tuple[Table, pd.DataFrame]:
    """Return a table as text, and its columns: numbers, NaN where there is none, and texts."""
    problems = FileProblems(str(path))
    table = read_columns(path, Style(expected, _NAMES.__contains__), problems)
    for name in required:
        if name not in table.columns:
            table.note_header("this column is missing", name)
    raise_any(problems)
    columns = {
        name: table.read(name, _NUMBERS[name], float, math.nan, may_miss=True)
        if name in _NUMBERS
        else table.read(name, str, object)
        for name in table.columns
    }
    raise_any(problems)
    return table, pd.DataFrame(columns)


def _check_clusters(cells: Table, table: pd.DataFrame, cluster: str, expected: str) -> None:
    """Raise InputError for rows without a cluster, mutations in several clusters, and repeated rows."""
    cells.note(cells.is_empty(cluster), cluster, expected)
    first = table.groupby("mutation_id")[cluster].transform("first")
    cells.note(
        (table[cluster] != first).to_numpy(),
        cluster,
        lambda row: f"an earlier row has this mutation in cluster {first[row]}; expected one cluster",
    )
    if "sample_id" in table:
        repeated = table.duplicated(["mutation_id", "sample_id"]).to_numpy()
        cells.note(repeated, "mutation_id", "a second row for this mutation in this sample; keep one")
    raise_any(cells.problems)


def read_truth(path: Path) -> pd.DataFrame:
    """Read a truth; return the columns mutation_id and cluster, and sample_id and ccf if it has them."""
    cells, table = _read(path, ["mutation_id"], "the truth: a table with the columns mutation_id and cluster")
    found = columns_by_part(cells.columns, {"cluster": CLUSTER_COLUMNS, "ccf": PREVALENCE_COLUMNS})
    if "cluster" not in found:
        message = f"a column {' or '.join(CLUSTER_COLUMNS)} is expected"
        raise cells.problems.give_up(message, cells.header_line)
    _check_clusters(cells, table, found["cluster"], "expected the true cluster, -1 for an outlier")
    renamed = table.rename(columns={name: part for part, name in found.items()})
    return renamed[[name for name in ("mutation_id", "sample_id", "cluster", "ccf") if name in renamed]]


def read_found(path: Path) -> pd.DataFrame:
    """Read a table like mutations.tsv, of this program or of PyClone-VI."""
    cells, table = _read(path, FOUND_COLUMNS, "a table like the mutations.tsv of a result")
    _check_clusters(cells, table, "cluster_id", "expected a cluster, -1 for an outlier")
    return table


def score(truth: pd.DataFrame, found: pd.DataFrame) -> dict[str, float]:
    """Return all scores of a result, NaN where the tables lack what a score needs.

    Clusters are compared on the mutations in both tables; prevalences and intervals on the pairs of a mutation and a
    sample in both; ``samples`` counts those in both, or those of the result if only clusters are compared.
    ``mutations_lost`` counts mutations in the truth that are missing from the result. ``dream_1c`` is
    the mean over samples, with the mean prevalence of its mutations for each true and found cluster. Outliers (-1) are
    compared like a cluster, but not counted as one. UsageError if the tables have no mutation in common.
    """
    true_cluster = truth.groupby("mutation_id")["cluster"].first()
    found_cluster = found.groupby("mutation_id")["cluster_id"].first()
    common = true_cluster.index.intersection(found_cluster.index)
    if len(common) == 0:
        raise UsageError("truth and result have no mutation in common")
    true, guess = true_cluster[common].to_numpy(), found_cluster[common].to_numpy()
    pair_precision, pair_recall = metrics.pair_precision_recall(true, guess)
    clusters_true, clusters_found = _number(true_cluster), _number(found_cluster)
    scores = {
        "v_measure": metrics.v_measure(true, guess),
        "adjusted_rand": metrics.adjusted_rand(true, guess),
        "pair_precision": pair_precision,
        "pair_recall": pair_recall,
        "rmse": np.nan,
        "coverage": np.nan,
        "dream_1b": metrics.score_1b(clusters_true, clusters_found),
        "dream_1c": np.nan,
        "dream_2a": metrics.score_2a(true, guess),
        "clusters_found": clusters_found,
        "clusters_true": clusters_true,
        "mutations": len(true_cluster),
        "samples": found["sample_id"].nunique(),
        "mutations_lost": len(true_cluster) - len(common),
    }
    if {"ccf", "sample_id"} <= set(truth.columns):
        both = truth.merge(found, on=["mutation_id", "sample_id"]).dropna(subset=["ccf"])
        scores["samples"] = both["sample_id"].nunique()
        if len(both):
            scores["rmse"] = math.sqrt(((both["ccf"] - both["cellular_prevalence"]) ** 2).mean(skipna=False))
            scores["dream_1c"] = _by_cluster(both)
        if len(both) and set(INTERVAL_COLUMNS) <= set(both):
            lower, upper = (both[name] for name in INTERVAL_COLUMNS)
            scores["coverage"] = both["ccf"].between(lower, upper).mean()
    return scores


def _number(clusters: pd.Series) -> int:
    """Return the number of clusters, without the outliers."""
    return int(clusters[clusters.astype(str) != OUTLIER].nunique())


def _by_cluster(both: pd.DataFrame) -> float:
    """Return the mean of score 1C over samples."""
    sides = [("cluster", "ccf"), ("cluster_id", "cellular_prevalence")]
    means = [both.groupby(["sample_id", cluster])[value].transform("mean") for cluster, value in sides]
    samples = both.groupby("sample_id").groups.values()
    return float(np.mean([metrics.score_1c(means[0][rows], means[1][rows]) for rows in samples]))
