"""Labels of a partition: the same partition has the same canonical labels, whoever numbered its blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def canonical(labels: ArrayLike) -> NDArray[np.int64]:
    """Number the clusters 0..K-1 in order of first appearance.

    Parameters
    ----------
    labels : (N,) array of integers

    Returns
    -------
    (N,) int64
    """
    _, first, inverse = np.unique(np.asarray(labels), return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
