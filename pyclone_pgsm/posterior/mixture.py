"""Clusters of a mixture and the posterior of their parameters.

In each saved partition, a consensus cluster corresponds to the block with most of its members (tied blocks have equal
shares). Given the partition, the posterior of the block's parameters is known. That of the cluster's parameters is the
average of these over the partitions: its mean is the mean of the means, and its variance the mean of the variances plus
the variance of the means.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.likelihoods.contract import SD
from pyclone_pgsm.posterior.rows import build_blocks


@dataclass(frozen=True)
class MixtureSummary:
    """Consensus clusters of T rows with D columns, K clusters.

    `labels` (T,) are clusters 0..K-1, numbered from the largest down, and `assignment_prob` (T,) the mean posterior
    probability that a row shares a block with the other members of its cluster. `parameters` (K, ..) are the posterior
    means of the clusters' parameters, and their posterior standard deviations (``.._sd``), by the names that the
    likelihood's ``cluster_parameters`` gives them; empty if it has no such method.
    """

    kind: ClassVar[str] = "matrix"
    row_names: list[str]
    column_names: list[str]
    labels: NDArray[np.int64]
    assignment_prob: NDArray[np.float64]
    cluster_size: NDArray[np.int64]
    parameters: dict[str, NDArray[np.float64]]

    @property
    def num_clusters(self) -> int:
        """K."""
        return len(self.cluster_size)

    def digits(self, usual: int) -> int:
        """Return the largest :func:`digits_of` all parameters with standard deviations, at least `usual`."""
        most = usual
        for name, sds in self.parameters.items():
            if name.endswith(SD):
                digits = digits_of(self.parameters[name.removesuffix(SD)], sds, usual)
                most = int(digits.max(initial=most))
        return most

    @property
    def contents(self) -> str:
        """What was clustered, in words, as in "500 rows in 8 clusters"."""
        return f"{count(int(self.cluster_size.sum()), 'row')} in {count(self.num_clusters, 'cluster')}"


def digits_of(values: NDArray[np.float64], sds: NDArray[np.float64], usual: int) -> NDArray[np.int64]:
    """Return the number of significant digits with which to write values: the `usual` one, or more if they need them.

    Digits in front of the first digit of a value's standard deviation, of which at most 12 are counted, are mostly the
    same in all clusters if the data are far from 0, such as dates. Half of the usual digits follow them.
    """
    with np.errstate(all="ignore"):
        leading = np.log10(np.abs(values) / sds)
    leading = np.clip(np.where(np.isfinite(leading), leading, 0.0), 0.0, 12.0)
    return np.maximum(usual, leading.astype(np.int64) + usual // 2)


class _Moments:
    """Weighted mean and variance (K, ..) of values that are added one after the other, as all would need much memory.

    Deviations are taken from the `first` values, since squares of large numbers would lose digits.
    """

    def __init__(self, first: NDArray[np.float64]) -> None:
        self.first = first
        self.count = np.zeros((len(first), *[1] * (first.ndim - 1)))
        self.total = np.zeros_like(first)
        self.deviation = np.zeros_like(first)
        self.squares = np.zeros_like(first)

    def add(
        self, cluster: NDArray[np.int64], values: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> None:
        """Add values (N, ..) with (N,) weights above 0; their clusters (N,) are in order, and none is missing."""
        weights = weights.reshape(-1, *[1] * (values.ndim - 1))
        begin = np.searchsorted(cluster, np.arange(len(self.first)))
        self.count += np.add.reduceat(weights, begin)
        with np.errstate(invalid="ignore", over="ignore"):  # infinite values have a mean, but no variance
            deviation = values - self.first[cluster]
            self.total += np.add.reduceat(weights * values, begin)
            self.deviation += np.add.reduceat(weights * deviation, begin)
            self.squares += np.add.reduceat(weights * deviation**2, begin)

    @property
    def mean(self) -> NDArray[np.float64]:
        return self.total / self.count

    @property
    def variance(self) -> NDArray[np.float64]:
        return np.maximum(self.squares / self.count - (self.deviation / self.count) ** 2, 0.0)


def block_shares(partition: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (K, B) weights of the blocks of a partition (T,) for each cluster in `labels` (T,), -1 for no cluster.

    The block with most of the cluster's members has weight 1, which tied blocks share evenly.
    """
    K, B = int(labels.max()) + 1, int(partition.max()) + 1
    placed = labels >= 0
    shared = np.bincount(labels[placed] * B + partition[placed], minlength=K * B).reshape(K, B)
    largest = shared == shared.max(axis=1, keepdims=True)
    return largest / largest.sum(axis=1, keepdims=True)


def cluster_parameters(
    likelihoods: Iterable[Any], partitions: NDArray[Any], labels: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """Return the posterior of the clusters' parameters, (K, ..) by name (see `MixtureSummary.parameters`).

    Each of the canonical `partitions` (M, T) was saved with the hyperparameters of its likelihood, all of one class;
    `labels` (T,) are the consensus clusters 0..K-1.
    """
    moments: dict[str, _Moments] = {}
    for likelihood, partition in zip(likelihoods, partitions):
        if not hasattr(likelihood, "cluster_parameters"):
            return {}
        stats = build_blocks(likelihood, partition).stats
        shares = block_shares(partition, labels)
        cluster, block = np.nonzero(shares)
        first = np.unique(cluster, return_index=True)[1]
        of_block = {b: likelihood.cluster_parameters(stats[b]) for b in set(block.tolist())}
        for name in of_block[int(block[0])]:
            values = np.array([of_block[b][name] for b in block.tolist()], float)
            values = values**2 if name.endswith(SD) else values
            of_clusters = moments.setdefault(name, _Moments(values[first]))
            of_clusters.add(cluster, values, shares[cluster, block])
    return {
        name: np.sqrt(found.mean + moments[name.removesuffix(SD)].variance)
        if name.endswith(SD)
        else found.mean
        for name, found in moments.items()
    }
