"""Scores 1B, 1C and 2A of the DREAM challenge on tumour heterogeneity (Salcedo et al. 2020), 1 at best.

* 1B, the number of clusters: (K + 1 - min(K + 1, abs(K - k))) / (K + 1), of K that are true and k found.
* 1C, their sizes and prevalences: 1 minus the earth mover's distance between the prevalences of all mutations, each
  with that of its cluster; in one dimension the mean absolute difference of the sorted prevalences.
* 2A, which mutations belong together, by the matrices that say so of each two: the mean of Pearson's correlation,
  Matthews' correlation (of two matrices of 0 and 1 the same) and the Jensen-Shannon divergence of their rows, each
  scaled so that the truth has 1 and the worse of "one cluster" and "each mutation on its own" has 0, and no less than
  0. To n mutations floor(sqrt(n)) are added that are on their own in both.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.scoring.metrics import contingency


def score_1b(true: int, found: int) -> float:
    """How near the number of clusters is."""
    return (true + 1 - min(true + 1, abs(true - found))) / (true + 1)


def score_1c(true: ArrayLike, found: ArrayLike) -> float:
    """How near the (n,) prevalences of the mutations' clusters are, whichever mutations have them."""
    distance = np.abs(np.sort(np.asarray(true, float)) - np.sort(np.asarray(found, float)))
    return float(1.0 - distance.mean())


def score_2a(true: ArrayLike, found: ArrayLike) -> float:
    """How well the mutations are put together, from the (n,) cluster of each."""
    true = np.asarray(true)
    n = len(true)
    bad = [contingency(true, guess) for guess in (np.zeros(n), np.arange(n))]
    table = contingency(true, found)
    correlation = _scaled(_matthews(table), min(map(_matthews, bad)), 1.0)
    divergence = _scaled(_divergence(table), max(map(_divergence, bad)), 0.0)
    return (2.0 * correlation + divergence) / 3.0


def _scaled(score: float, worst: float, best: float) -> float:
    """0 at the worst or beyond, 1 at the best; 1 where all are the same."""
    return 1.0 if worst == best else max(0.0, (score - worst) / (best - worst))


def _matthews(table: NDArray[np.int64]) -> float:
    """Matthews' correlation of the entries of both matrices, with the diagonal and the mutations that are added."""
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
    """Sum over mutations of the Jensen-Shannon divergence of their rows, which share 1 among the mutations' cluster.

    The rows of the mutations that are added are equal and count nothing.
    """
    true, found = table.sum(axis=1)[:, None].astype(float), table.sum(axis=0)[None].astype(float)
    middle = 0.5 * (1.0 / true + 1.0 / found)
    shared = table * (np.log(1.0 / true / middle) / true + np.log(1.0 / found / middle) / found)
    apart = np.log(2.0) * ((true - table) / true + (found - table) / found)
    return float((table * (shared + apart)).sum())
