"""Numbers of clusters in an order that does not depend on their previous numbers, and evenly spaced numbers."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray


def evenly_spaced(number: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` of the numbers 0 to number - 1, evenly spaced, the first and the last among them."""
    return np.linspace(0, number - 1, min(number, most)).astype(np.int64)


def canonical(labels: ArrayLike) -> NDArray[np.int64]:
    """Number the clusters of (N,) labels, which may be of any type, 0..K-1 in order of first appearance."""
    found = np.asarray(labels)
    if not (len(found) and found.dtype.kind in "iu" and found.min() >= 0 and found.max() <= 2 * len(found)):
        return pd.factorize(found)[0]
    # small numbers, as in every iteration of a chain: several times as fast
    place = np.arange(len(found))
    first = np.full(int(found.max()) + 1, len(found))
    first[found[::-1]] = place[::-1]  # of several values for one index, the last is assigned
    return np.argsort(np.argsort(first))[found]


def renumbered(labels: NDArray[np.int64], falling: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
    """Renumber the clusters 0..K-1, none of them empty, by decreasing (K,) values, None for their sizes; ties by
    decreasing size, then by first appearance.
    """
    keys: list[NDArray[Any]] = [np.unique(labels, return_index=True)[1], -np.bincount(labels)]
    if falling is not None:
        keys.append(-falling)
    return np.argsort(np.lexsort(keys))[labels]
