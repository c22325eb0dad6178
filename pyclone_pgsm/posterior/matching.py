"""Probabilities of mutations to belong to their cluster, and to the next most probable cluster.

In each posterior draw, a mutation matches the consensus cluster to which most of the other members of its block belong.
Ties go to the mutation's own cluster if it is among them, else to the first. If no other member of the block is in any
cluster, the mutation matches its own cluster if that has no other member, and otherwise none. An outlier, which is
alone in its block, matches none. The probability of a cluster is the share of draws in which the mutation matches it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.labels import canonical


class Matches(NamedTuple):
    """Probabilities of each mutation's own cluster, and of the most probable other one, `second`.

    They are NaN, and `second` is -1, if the mutation has no cluster, or matches no other in any draw.
    """

    own_prob: NDArray[np.float64]
    second: NDArray[np.int64]
    second_prob: NDArray[np.float64]


def match_clusters(
    draws: NDArray[Any], labels: NDArray[np.int64], outlier_prob: NDArray[np.float64] | float = 0.0
) -> Matches:
    """Match the mutations with the consensus clusters in every draw.

    `draws` (M, T) are blocks 0, 1, .. of each draw, `labels` (T,) consensus clusters 0..K-1, or -1 for no cluster, and
    `outlier_prob` (T,) the shares of the draws in which each mutation is an outlier.
    """
    M, T = draws.shape
    placed = labels >= 0
    size = np.bincount(labels[placed], minlength=1)
    count = np.zeros((T, len(size) + 1), np.min_scalar_type(M))  # of matches; the last column is no cluster
    items = np.arange(T)
    for draw in draws:
        count[items, _matches(draw, labels, size)[draw, labels]] += 1
    own = count[items, labels] / M - np.where(size[labels] == 1, outlier_prob, 0.0)
    count[items, labels] = 0
    count[:, -1] = 0
    second = count.argmax(axis=1)
    often = count[items, second]
    return Matches(
        np.where(placed, own, np.nan),
        np.where(often > 0, second, -1),
        np.where(often > 0, often / M, np.nan),
    )


def _matches(draw: NDArray[Any], labels: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cluster that a mutation of each block and each cluster matches in a draw, -1 for none: (B, K + 1).

    The last column is for mutations without a cluster; `size` (K,) is the number of mutations in each cluster.
    """
    K, blocks = len(size), np.arange(int(draw.max()) + 1)
    placed = labels >= 0
    cell = draw[placed].astype(np.int64) * K + labels[placed]
    votes = np.bincount(cell, minlength=len(blocks) * K).reshape(-1, K)
    first = votes.argmax(axis=1)
    most = votes[blocks, first]
    votes[blocks, first] = -1
    second = votes.argmax(axis=1)
    found = np.repeat(np.where(most > 0, first, -1)[:, None], K + 1, axis=1)
    # a mutation has no vote on its own match
    is_alone = (most == 1) & (size[first] > 1)
    own = np.where(votes[blocks, second] > most - 1, second, np.where(is_alone, -1, first))
    has_votes = most > 0
    found[blocks[has_votes], first[has_votes]] = own[has_votes]
    return found


def join_singletons(
    draws: NDArray[Any], labels: NDArray[np.int64], outlier_prob: NDArray[np.float64] | float
) -> NDArray[np.int64]:
    """Move each singleton of the consensus that more probably belongs to a larger cluster into that cluster.

    A partition with a small expected loss may leave a mutation alone that is alone in no draw, if it belongs to either
    of two clusters: this costs little, whichever it is. The arguments are those of :func:`match_clusters`. The returned
    labels are numbered by first appearance, and -1 is kept.
    """
    sizes = np.bincount(labels[labels >= 0])
    if not (sizes == 1).any():
        return labels
    own, second, second_prob = match_clusters(draws, labels, outlier_prob)
    alone = (labels >= 0) & (sizes[labels] == 1)
    joins = alone & (second_prob > own) & (second >= 0) & (sizes[second] > 1)
    joined = np.where(joins, second, labels)
    joined[joined >= 0] = canonical(joined[joined >= 0])
    return joined
