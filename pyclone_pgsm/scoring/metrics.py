"""How well clusters and prevalences agree with a truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def contingency(true: ArrayLike, found: ArrayLike) -> NDArray[np.int64]:
    """Number of items in each pair of a true and a found cluster."""
    true_names, rows = np.unique(np.asarray(true), return_inverse=True)
    found_names, columns = np.unique(np.asarray(found), return_inverse=True)
    table = np.zeros((len(true_names), len(found_names)), np.int64)
    np.add.at(table, (rows, columns), 1)
    return table


def entropy(counts: NDArray[np.int64]) -> float:
    """Entropy in nats of shares given as counts."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def v_measure(true: ArrayLike, found: ArrayLike) -> float:
    """Harmonic mean of homogeneity and completeness (Rosenberg & Hirschberg 2007).

    It is 2 I / (H(true) + H(found)), I the mutual information; 1 if both are one cluster.
    """
    table = contingency(true, found)
    entropies = entropy(table.sum(axis=1)) + entropy(table.sum(axis=0))
    if entropies == 0.0:
        return 1.0
    information = max(0.0, entropies - entropy(table.ravel()))
    return 2.0 * information / entropies


def _pairs(counts: NDArray[np.int64]) -> float:
    """Pairs of items that share a cell."""
    return float((counts * (counts - 1)).sum()) / 2.0


def pair_precision_recall(true: ArrayLike, found: ArrayLike) -> tuple[float, float]:
    """Share of the pairs found together that belong together, and of those that belong together, found together.

    Where there is no such pair the share is 1.
    """
    table = contingency(true, found)
    both, in_true, in_found = _pairs(table), _pairs(table.sum(axis=1)), _pairs(table.sum(axis=0))
    return both / in_found if in_found else 1.0, both / in_true if in_true else 1.0


def adjusted_rand(true: ArrayLike, found: ArrayLike) -> float:
    """Adjusted Rand index (Hubert & Arabie 1985): agreeing pairs, 0 expected by chance, 1 at best."""
    table = contingency(true, found)
    both, in_true, in_found = _pairs(table), _pairs(table.sum(axis=1)), _pairs(table.sum(axis=0))
    if both == in_true == in_found:
        return 1.0
    by_chance = in_true * in_found / _pairs(table.sum(keepdims=True).ravel())
    return (both - by_chance) / ((in_true + in_found) / 2.0 - by_chance)


def rmse(true: ArrayLike, found: ArrayLike) -> float:
    """Root of the mean squared difference."""
    return float(np.sqrt(np.mean((np.asarray(true, float) - np.asarray(found, float)) ** 2)))


def coverage(true: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> float:
    """Share of the true values that lie in their intervals, ends included."""
    values = np.asarray(true, float)
    return float(np.mean((np.asarray(lower, float) <= values) & (values <= np.asarray(upper, float))))
