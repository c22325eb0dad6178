"""Scores 1B, 1C and 2A of the DREAM challenge on tumour heterogeneity (Salcedo et al. 2020), at best 1.

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
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.scoring.metrics import contingency


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
    """Scale a score to 0 at `worst` or beyond and 1 at `best`; 1 if these are equal."""
    return 1.0 if worst == best else max(0.0, (score - worst) / (best - worst))


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
