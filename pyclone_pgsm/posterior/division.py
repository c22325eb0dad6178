"""Clusters of the consensus that the draws plainly hold apart.

The variation of information joins two clusters if the place of too many of their mutations is uncertain, even where it
is certain that there are two. Here such a cluster is divided, if its halves have different prevalences in nearly all
draws. The halves are those of the two-cluster partition with the largest adjusted Rand index ("mpear"); each half has
in each draw the prevalences of the block that contains most of it. Where draws break a cluster into pieces at different
places, most of both halves is in one block; and pieces of nearly the same prevalence do not count as two clusters.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.posterior.consensus import consensus
from pyclone_pgsm.posterior.prevalence import block_means, read_blocks
from pyclone_pgsm.posterior.rows import Draws, thin
from pyclone_pgsm.trace.tumour import TumourData

DIVISION_DRAWS = 60
LEAST_DIFFERENCE = 0.1
"""Least difference of the prevalences of two clusters, in the sample where it is largest."""
NEARLY_ALL = 0.95
"""Share of the draws in which the halves must be apart."""


def divide_clusters(draws: Draws, labels: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Divide clusters of a tumour that nearly all draws hold apart, as often as there are any.

    `labels` (T,) are clusters 0..K-1, -1 for outliers. New clusters have the next numbers.
    """
    trace = draws.trace
    partitions, blocks = read_blocks(trace, thin(draws.rows, DIVISION_DRAWS))
    means = np.split(
        block_means(blocks, trace.data_of(TumourData).options.grid_size), blocks.first_block[1:-1]
    )
    labels = labels.copy()
    waiting = list(range(int(labels.max()) + 1))
    while waiting:
        cluster = waiting.pop()
        members = np.flatnonzero(labels == cluster)
        if len(members) == 1:
            continue
        halves = consensus(partitions[:, members], "mpear", rng=rng, max_clusters=2, runs=2)
        if halves.any() and are_apart(partitions[:, members], means, halves):
            waiting += [cluster, int(labels.max()) + 1]
            labels[members[halves == 1]] = waiting[-1]
    return labels


def are_apart(partitions: NDArray[Any], means: list[NDArray[np.float64]], halves: NDArray[np.int64]) -> bool:
    """Whether nearly all draws place two halves of a cluster in blocks of different prevalences.

    The blocks in M draws of the n members are `partitions` (M, n), and `means` (K, D) for each draw are the posterior
    mean prevalences of its blocks. `halves` (n,) are 0 and 1, both present.
    """
    apart = 0
    for partition, mean in zip(partitions, means):
        first, second = (int(np.bincount(partition[halves == half]).argmax()) for half in (0, 1))
        apart += np.abs(mean[first] - mean[second]).max() >= LEAST_DIFFERENCE
    return bool(apart >= NEARLY_ALL * len(partitions))
