"""How probable it is that a mutation belongs to its cluster, and to which other cluster it may belong.

In each posterior draw a mutation's block is matched to the consensus cluster that most of the block's other members
belong to; of several with equally many, to the mutation's own if it is one of them, else to the first. A mutation whose
block has no other member of any cluster matches its own cluster only if that is just this mutation. The probability of
a mutation and a cluster is the share of draws in which they match.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.labels import canonical
from pyclone_pgsm.posterior.kernels import count_matches, leading_clusters

CELLS = 20_000_000  # mutations times draws that are copied at the same time


class Matches(NamedTuple):
    """Clusters of T mutations and their probabilities.

    Attributes
    ----------
    own_prob : (T,) float64
        Of the mutation's own cluster; NaN if it has none.
    second : (T,) int64
        The most probable other cluster; -1 if no draw matches any.
    second_prob : (T,) float64
        NaN if there is none.
    """

    own_prob: NDArray[np.float64]
    second: NDArray[np.int64]
    second_prob: NDArray[np.float64]


def match_clusters(draws: NDArray[Any], labels: NDArray[np.int64]) -> Matches:
    """Match every draw with the consensus clusters.

    `draws` (M, T) are blocks 0, 1, .. of each draw, `labels` (T,) consensus clusters 0..K-1; mutations of none have -1.
    """
    M, T = draws.shape
    first_block = np.append(0, np.cumsum(draws.max(axis=1).astype(np.int64) + 1))
    leading = np.empty((first_block[-1], 2), np.int32)
    votes = np.empty((first_block[-1], 2), np.int32)
    num_clusters = int(labels.max()) + 1
    step = max(1, CELLS // T)
    for begin in range(0, M, step):
        some = draws[begin : begin + step].astype(np.int32)
        leading_clusters(some, first_block[begin : begin + len(some)], labels, num_clusters, leading, votes)
    size = np.bincount(labels[labels >= 0], minlength=num_clusters)
    own, second, second_count = (np.empty(T, np.int64) for _ in range(3))
    step = max(1, CELLS // M)
    for begin in range(0, T, step):
        part = slice(begin, begin + step)
        rows = np.ascontiguousarray(draws[:, part].T, dtype=np.int64) + first_block[:-1]
        count_matches(rows, labels[part], size, leading, votes, own[part], second[part], second_count[part])
    return Matches(
        np.where(labels >= 0, own / M, np.nan),
        second,
        np.where(second >= 0, second_count / M, np.nan),
    )


def join_singletons(draws: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The clusters, without those of a single mutation that more probably belongs to a larger cluster.

    A partition with a small expected loss may leave alone a mutation that belongs to one of two clusters and never is
    alone: this costs little, whichever it is. Arguments are those of :func:`match_clusters`; the result is numbered by
    first appearance, and mutations of no cluster keep -1.
    """
    sizes = np.bincount(labels[labels >= 0])
    if not (sizes == 1).any():
        return labels
    own, second, second_prob = match_clusters(draws, labels)
    alone = (labels >= 0) & (sizes[labels] == 1)
    joins = alone & (second_prob > own) & (second >= 0) & (sizes[second] > 1)
    joined = np.where(joins, second, labels)
    joined[joined >= 0] = canonical(joined[joined >= 0])
    return joined
