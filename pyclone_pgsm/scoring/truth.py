"""Comparing a result with a known truth."""

import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pyclone_pgsm.errors import InputError, Problem, UsageError
from pyclone_pgsm.scoring.dream import score_1b, score_1c, score_2a
from pyclone_pgsm.scoring.metrics import adjusted_rand, coverage, pair_precision_recall, rmse, v_measure

CLUSTER_COLUMNS = ("cluster", "truth_cluster")
PREVALENCE_COLUMNS = ("ccf", "empirical_prevalence", "nominal_prevalence")
OUTLIER = "-1"
"""Cluster of mutations that belong to none."""
FOUND_COLUMNS = ("mutation_id", "sample_id", "cluster_id", "cellular_prevalence")


def _fault(path: Path, message: str) -> InputError:
    return InputError([Problem(str(path), message)])


def _read(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    try:
        table = pd.read_csv(path, sep="\t", dtype={"mutation_id": str, "sample_id": str})
    except (EOFError, zlib.error):
        raise _fault(path, "the gzip compression breaks off: the file is cut short") from None
    except OSError as problem:
        raise _fault(path, problem.strerror or str(problem)) from None
    except (ValueError, UnicodeDecodeError) as problem:
        raise _fault(path, f"not a tab-separated table: {problem}") from None
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise _fault(path, f"no column {', '.join(missing)}")
    for name in ("cellular_prevalence", *PREVALENCE_COLUMNS):
        if name in table.columns and not pd.api.types.is_numeric_dtype(table[name]):
            raise _fault(path, f"column {name}: expected numbers")
    return table


def _first_of(names: Iterable[str], table: pd.DataFrame) -> str | None:
    return next((name for name in names if name in table.columns), None)


def read_truth(path: Path) -> pd.DataFrame:
    """Read a truth; return the columns mutation_id and cluster, and sample_id and ccf if it has them."""
    table = _read(path, ["mutation_id"])
    cluster, prevalence = _first_of(CLUSTER_COLUMNS, table), _first_of(PREVALENCE_COLUMNS, table)
    if cluster is None:
        raise _fault(path, f"no column {' or '.join(CLUSTER_COLUMNS)}")
    renamed = table.rename(columns={cluster: "cluster"} | ({prevalence: "ccf"} if prevalence else {}))
    refused = {cluster: (renamed["cluster"].isna(), "expected the true cluster, -1 for an outlier")}
    if "sample_id" in renamed:
        repeated = renamed.duplicated(["mutation_id", "sample_id"])
        refused["mutation_id"] = (repeated, "a second row for this mutation in this sample; keep one")
    if prevalence == "ccf":
        outside = renamed["ccf"].notna() & ~renamed["ccf"].between(0.0, 1.0)
        refused["ccf"] = (outside, "expected a prevalence from 0 to 1")
    problems = [
        Problem(str(path), message, row + 2, column, str(table[column].iloc[row]))
        for column, (bad, message) in refused.items()
        for row in np.flatnonzero(bad).tolist()
    ]
    if problems:
        raise InputError(problems)
    if (renamed.groupby("mutation_id")["cluster"].nunique() > 1).any():
        raise _fault(path, "a mutation has different clusters in different rows")
    return renamed[[name for name in ("mutation_id", "sample_id", "cluster", "ccf") if name in renamed]]


def read_found(path: Path) -> pd.DataFrame:
    """Read a table like mutations.tsv, of this program or of PyClone-VI."""
    return _read(path, FOUND_COLUMNS)


def score(truth: pd.DataFrame, found: pd.DataFrame) -> dict[str, float]:
    """Return all scores of a result, NaN where the tables lack what a score needs.

    Clusters are compared on the mutations in both tables; prevalences and intervals on the pairs of a mutation and a
    sample in both. ``mutations_lost`` counts mutations in the truth that are missing from the result. ``dream_1c`` is
    the mean over samples, with the mean prevalence of its mutations for each true and found cluster. Outliers (-1) are
    compared like a cluster, but not counted as one.

    Raises
    ------
    UsageError
        The tables have no mutation in common.
    """
    true_cluster = truth.groupby("mutation_id")["cluster"].first()
    found_cluster = found.groupby("mutation_id")["cluster_id"].first()
    common = true_cluster.index.intersection(found_cluster.index)
    if len(common) == 0:
        raise UsageError("truth and result have no mutation in common")
    true, guess = true_cluster[common].to_numpy(), found_cluster[common].to_numpy()
    pair_precision, pair_recall = pair_precision_recall(true, guess)
    clusters_true, clusters_found = _number(true_cluster), _number(found_cluster)
    scores = {
        "v_measure": v_measure(true, guess),
        "adjusted_rand": adjusted_rand(true, guess),
        "pair_precision": pair_precision,
        "pair_recall": pair_recall,
        "rmse": np.nan,
        "coverage": np.nan,
        "dream_1b": score_1b(clusters_true, clusters_found),
        "dream_1c": np.nan,
        "dream_2a": score_2a(true, guess),
        "clusters_found": clusters_found,
        "clusters_true": clusters_true,
        "mutations": len(true_cluster),
        "samples": found["sample_id"].nunique(),
        "mutations_lost": len(true_cluster) - len(common),
    }
    if {"ccf", "sample_id"} <= set(truth.columns):
        both = truth.merge(found, on=["mutation_id", "sample_id"]).dropna(subset=["ccf"])
        if len(both):
            scores["rmse"] = rmse(both["ccf"], both["cellular_prevalence"])
            scores["dream_1c"] = _by_cluster(both)
        lower, upper = "cellular_prevalence_lower", "cellular_prevalence_upper"
        if len(both) and lower in both and upper in both:
            scores["coverage"] = coverage(both["ccf"], both[lower], both[upper])
    return scores


def _number(clusters: pd.Series) -> int:
    """Return the number of clusters, without the outliers."""
    return int(clusters[clusters.astype(str) != OUTLIER].nunique())


def _by_cluster(both: pd.DataFrame) -> float:
    """Return the mean of score 1C over samples."""
    sides = [("cluster", "ccf"), ("cluster_id", "cellular_prevalence")]
    means = [both.groupby(["sample_id", cluster])[value].transform("mean") for cluster, value in sides]
    scores = [score_1c(means[0][rows], means[1][rows]) for rows in both.groupby("sample_id").groups.values()]
    return float(np.mean(scores))
