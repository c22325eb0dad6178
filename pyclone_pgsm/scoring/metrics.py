"""Measures of agreement of clusters with a truth.

Among them are the scores 1B, 1C and 2A of the DREAM challenge on tumour heterogeneity (Salcedo et al. 2020), at best 1.

* 1B, number of clusters: (K + 1 - min(K + 1, abs(K - k))) / (K + 1), with K true and k found clusters.
* 1C, sizes and prevalences of clusters: 1 minus the earth mover's distance between the true and the found prevalences,
  each mutation having that of its cluster. In one dimension this is the mean absolute difference when both are sorted.
* 2A, co-clustering of mutations, from the true and the found matrix of pairs that share a cluster: the mean of
  Pearson's correlation, Matthews' correlation (equal to Pearson's, since the matrices are binary) and the
  Jensen-Shannon divergence of the rows. Each is scaled so that the truth scores 1 and the worse of "one cluster" and
  "all singletons" scores 0, and is at least 0. To n mutations, floor(sqrt(n)) are added that are singletons in both.
"""

import math

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


def score_1b(true: int, found: int) -> float:
    """Score the number of clusters."""
    return (true + 1 - min(true + 1, abs(true - found))) / (true + 1)


def score_1c(true: ArrayLike, found: ArrayLike) -> float:
    """Score the (n,) prevalences of the mutations' clusters, whichever mutations have them."""
    distance = np.abs(np.sort(np.asarray(true, float)) - np.sort(np.asarray(found, float)))
    return float(1.0 - distance.mean())


def score_2a(true: ArrayLike, found: ArrayLike) -> float:
    """Score the co-clustering of mutations, given their clusters (n,)."""
    true = np.asarray(true)
    n = len(true)
    bad = [contingency(true, guess) for guess in (np.zeros(n), np.arange(n))]
    table = contingency(true, found)
    correlation = _scaled(_matthews(table), min(map(_matthews, bad)), 1.0)
    divergence = _scaled(_divergence(table), max(map(_divergence, bad)), 0.0)
    return (2.0 * correlation + divergence) / 3.0


def _scaled(score: float, worst: float, best: float) -> float:
    """Scale a score to 0 at `worst` or beyond and 1 at `best`, or beyond by rounding; 1 if these are equal."""
    if math.isclose(worst, best, abs_tol=1e-9):
        return 1.0
    return min(max(0.0, (score - worst) / (best - worst)), 1.0)


def _matthews(table: NDArray[np.int64]) -> float:
    """Return Matthews' correlation of the entries of both matrices, including the diagonal and the added mutations."""
    n = int(table.sum())
    added = math.isqrt(n)
    both = float((table**2).sum())
    in_true, in_found = float((table.sum(axis=1) ** 2).sum()), float((table.sum(axis=0) ** 2).sum())
    tp, fp, fn = both + added, in_found - both, in_true - both
    tn = float((n + added) ** 2) - tp - fp - fn
    terms = [tp + fp, tp + fn, tn + fp, tn + fn]
    product = math.prod(math.sqrt(term) if term else 1.0 for term in terms)
    return (tp * tn - fp * fn) / product


def _divergence(table: NDArray[np.int64]) -> float:
    """Return the sum over mutations of the Jensen-Shannon divergence of their rows, each normalised to a sum of 1.

    The rows of the added mutations are equal and contribute 0.
    """
    true, found = table.sum(axis=1)[:, None].astype(float), table.sum(axis=0)[None].astype(float)
    middle = 0.5 * (1.0 / true + 1.0 / found)
    shared = table * (np.log(1.0 / true / middle) / true + np.log(1.0 / found / middle) / found)
    apart = np.log(2.0) * ((true - table) / true + (found - table) / found)
    return float((table * (shared + apart)).sum())
