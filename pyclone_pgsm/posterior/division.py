"""Clusters of the consensus that most draws hold apart.

The variation of information joins two clusters if the place of too many of their mutations is uncertain, even where it
is certain that there are two. Here such a cluster is divided, if its halves have different prevalences in at least
twice as many draws as they have not; if neither is twice as frequent, a warning says so. The halves are those of the
two-cluster partition with the largest adjusted Rand index ("mpear"); each half has in each draw the prevalences of the
block that contains most of it. Where draws break a cluster into pieces at different places, most of both halves is in
one block. Pieces of nearly the same prevalence do not count as two clusters, nor does a half in a block that has more
mutations of other clusters: it is uncertain which cluster it belongs to, as its assignment probabilities show.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.posterior.consensus import consensus
from pyclone_pgsm.posterior.prevalence import block_means, read_blocks
from pyclone_pgsm.posterior.rows import Draws, thin
from pyclone_pgsm.trace.tumour import TumourData

DIVISION_DRAWS = 60
LEAST_DIFFERENCE = 0.1
"""Least difference of the prevalences of two clusters, in the sample where it is largest."""
MOST, MANY = 2 / 3, 1 / 3
"""Shares of the draws in which the halves must be apart: for a division, and for a warning."""
LEAST_HALF = 3
"""Least number of mutations of a half that a warning mentions: `cluster_assignment_prob` tells of single mutations."""


class Division(NamedTuple):
    """The blocks of M draws of a tumour's partition, which show which clusters the draws hold apart.

    The `partitions` are (M, T), and `means` (K, D) for each draw are the posterior mean prevalences of its blocks.
    """

    partitions: NDArray[Any]
    means: list[NDArray[np.float64]]

    def divide(self, labels: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Divide clusters that most draws hold apart, as often as there are any.

        `labels` (T,) are clusters 0..K-1, -1 for outliers. New clusters have the next numbers.
        """
        labels = labels.copy()
        waiting = list(range(int(labels.max()) + 1))
        while waiting:
            cluster = waiting.pop()
            members = np.flatnonzero(labels == cluster)
            halves, apart = self._halves(members, rng)
            if np.mean(apart >= LEAST_DIFFERENCE) >= MOST:
                waiting += [cluster, int(labels.max()) + 1]
                labels[members[halves == 1]] = waiting[-1]
        return labels

    def warnings(self, labels: NDArray[np.int64], criterion: str, rng: np.random.Generator) -> list[str]:
        """Return a warning for each cluster, with its number in `labels` (T,), that many draws hold apart.

        It advises to compare with another criterion than that of the labels.
        """
        other = "vi" if criterion == "mpear" else "mpear"
        warnings = []
        for cluster in range(int(labels.max()) + 1):
            halves, apart = self._halves(np.flatnonzero(labels == cluster), rng)
            apart, num_draws = apart[apart >= LEAST_DIFFERENCE], len(apart)
            sizes = np.bincount(halves, minlength=2)
            if len(apart) >= MANY * num_draws and sizes.min() >= LEAST_HALF:
                warnings.append(
                    f"in {100 * len(apart) / num_draws:.0f} % of the draws cluster {cluster} is two clusters, of about "
                    f"{sizes.max()} and {sizes.min()} mutations, whose prevalences differ by {np.median(apart):.2f}: "
                    f"its cluster_assignment_prob does not show it; compare `consensus` {other}"
                )
        return warnings

    def _halves(
        self, members: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the half, 0 or 1, of each of the members, and how much the halves differ in each draw."""
        halves = np.zeros(len(members), np.int64)
        if len(members) > 1:
            halves = consensus(self.partitions[:, members], "mpear", rng=rng, max_clusters=2, runs=2)
        return halves, differences(self.partitions, self.means, members, halves)


def read_division(draws: Draws) -> Division:
    """Read some of the draws."""
    trace = draws.trace
    partitions, blocks = read_blocks(trace, thin(draws.rows, DIVISION_DRAWS))
    means = block_means(blocks, trace.data_of(TumourData).options.grid)
    return Division(partitions, np.split(means, blocks.first_block[1:-1]))


def differences(
    partitions: NDArray[Any],
    means: list[NDArray[np.float64]],
    members: NDArray[np.int64],
    halves: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return (M,) how much the prevalences of two halves of a cluster differ in each draw, in the sample with most.

    The blocks in M draws are `partitions` (M, T), and `means` (K, D) for each draw are the posterior mean prevalences
    of its blocks; a half has those of the block of most of it. They do not differ if one block has as many of both
    halves as any other, or if one half is in a block with more other mutations than `members` (n,) of the cluster.
    `halves` (n,) are 0 and 1.
    """
    found = np.zeros(len(partitions))
    if not halves.any():
        return found
    for m, (partition, mean) in enumerate(zip(partitions, means)):
        of_members = partition[members]
        counts = np.array([np.bincount(of_members[halves == half], minlength=len(mean)) for half in (0, 1)])
        has_most = counts == counts.max(axis=1, keepdims=True)
        blocks = counts.argmax(axis=1)
        is_foreign = np.bincount(partition, minlength=len(mean)) > 2 * counts.sum(axis=0)
        if not has_most.all(axis=0).any() and not is_foreign[blocks].any():
            found[m] = np.abs(np.subtract(*mean[blocks])).max()
    return found
