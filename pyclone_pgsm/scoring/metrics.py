"""Measures of agreement of clusters with a truth."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr


def contingency(true: ArrayLike, found: ArrayLike) -> NDArray[np.int64]:
    """Return the number of items in each pair of a true and a found cluster."""
    return pd.crosstab(np.asarray(true), np.asarray(found)).to_numpy()


def _entropy(counts: NDArray[np.int64]) -> float:
    return float(entr(counts / counts.sum()).sum())


def v_measure(true: ArrayLike, found: ArrayLike) -> float:
    """Return the harmonic mean of homogeneity and completeness (Rosenberg & Hirschberg 2007).

    It is 2 I / (H(true) + H(found)), with I the mutual information, and 1 if both are a single cluster.
    """
    table = contingency(true, found)
    entropies = _entropy(table.sum(axis=1)) + _entropy(table.sum(axis=0))
    if entropies == 0.0:
        return 1.0
    information = max(0.0, entropies - _entropy(table))
    return float(2.0 * information / entropies)


def _pairs(true: ArrayLike, found: ArrayLike) -> tuple[float, float, float, float]:
    """Return the number of pairs of items that share both clusters, a true one, a found one, and of all pairs."""
    table = contingency(true, found)
    groups = table, table.sum(axis=1), table.sum(axis=0), table.sum()
    both, in_true, in_found, in_all = (float((sizes * (sizes - 1)).sum()) / 2.0 for sizes in groups)
    return both, in_true, in_found, in_all


def pair_precision_recall(true: ArrayLike, found: ArrayLike) -> tuple[float, float]:
    """Return precision and recall of pairs that share a cluster, 1 if there are no found, or no true, pairs.

    Precision is the share of pairs found together that belong together, recall the share of pairs that belong together
    that are found together.
    """
    both, in_true, in_found, _ = _pairs(true, found)
    return both / in_found if in_found else 1.0, both / in_true if in_true else 1.0


def adjusted_rand(true: ArrayLike, found: ArrayLike) -> float:
    """Return the adjusted Rand index of pairs that agree (Hubert & Arabie 1985): 0 expected by chance, at best 1."""
    both, in_true, in_found, in_all = _pairs(true, found)
    if both == in_true == in_found:
        return 1.0
    by_chance = in_true * in_found / in_all
    return (both - by_chance) / ((in_true + in_found) / 2.0 - by_chance)
