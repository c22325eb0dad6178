"""Probabilities of mutations to belong to their cluster, and to the next most probable cluster.

In each posterior draw, a mutation matches the consensus cluster to which most of the other members of its block belong.
Ties go to the mutation's own cluster if it is among them, else to the first. If no other member of the block is in any
cluster, the mutation matches its own cluster if that has no other member, and otherwise none. The probability of a
cluster is the share of draws in which the mutation matches it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.labels import canonical
from pyclone_pgsm.posterior.kernels import count_matches, leading_clusters

CELLS = 20_000_000  # largest number of mutations times draws to copy at once


class Matches(NamedTuple):
    """Probabilities of the clusters of T mutations.

    Attributes
    ----------
    own_prob : (T,) float64
        Probability of the mutation's own cluster; NaN if it has none.
    second : (T,) int64
        The most probable other cluster; -1 if the mutation matches no other in any draw.
    second_prob : (T,) float64
        Probability of `second`; NaN if there is none.
    """

    own_prob: NDArray[np.float64]
    second: NDArray[np.int64]
    second_prob: NDArray[np.float64]


def match_clusters(draws: NDArray[Any], labels: NDArray[np.int64]) -> Matches:
    """Match the mutations with the consensus clusters in every draw.

    `draws` (M, T) are blocks 0, 1, .. of each draw, `labels` (T,) consensus clusters 0..K-1, or -1 for no cluster.
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
    """Move each singleton of the consensus that more probably belongs to a larger cluster into that cluster.

    A partition with a small expected loss may leave a mutation alone that is alone in no draw, if it belongs to either
    of two clusters: this costs little, whichever it is. The arguments are those of :func:`match_clusters`. The returned
    labels are numbered by first appearance, and -1 is kept.
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
