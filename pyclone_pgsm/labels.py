"""Renumbering the clusters of a partition in an order that does not depend on their previous numbers."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def canonical(labels: ArrayLike) -> NDArray[np.int64]:
    """Number the clusters of (N,) labels, which may be anything sortable, 0..K-1 in order of first appearance."""
    labels = np.asarray(labels)
    N = len(labels)
    if N == 0:
        return np.empty(0, np.int64)
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() > 4 * N + 100:
        labels = np.unique(labels, return_inverse=True)[1]
    first = np.full(int(labels.max()) + 1, N)
    first[labels[::-1]] = np.arange(N)[::-1]  # of equal indices the last assignment wins
    used = np.flatnonzero(first < N)
    rank = np.empty(len(first), np.int64)
    rank[used[np.argsort(first[used])]] = np.arange(len(used))
    return rank[labels]


def renumbered(labels: NDArray[np.int64], falling: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
    """Renumber the clusters 0..K-1, none of them empty, by decreasing (K,) values, None for their sizes; ties by
    decreasing size, then by first appearance.
    """
    keys: list[NDArray[Any]] = [np.unique(labels, return_index=True)[1], -np.bincount(labels)]
    if falling is not None:
        keys.append(-falling)
    return np.argsort(np.lexsort(keys))[labels]
