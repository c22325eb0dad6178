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

from pyclone_pgsm.posterior.rows import build_blocks

SD = "_sd"


@dataclass(frozen=True)
class MixtureSummary:
    """Consensus clusters of T rows with D columns, K clusters.

    Attributes
    ----------
    row_names, column_names : list of str
        Length T and D.
    labels : (T,) int64
        Consensus cluster 0..K-1 of each row, numbered from the largest down.
    assignment_prob : (T,) float64
        Mean posterior probability that the row shares a block with the other members of its cluster.
    cluster_size : (K,) int64
    parameters : dict of str to (K, ..) float64
        Posterior means of the clusters' parameters, and their posterior standard deviations (``.._sd``), by the names
        that the likelihood's ``cluster_parameters`` gives them; empty if it has no such method.
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


def _mean_and_variance(
    values: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weighted mean and variance (K, ..) of values (n, K, ..) with weights (n, K)."""
    weights = weights.reshape(*weights.shape, *[1] * (values.ndim - 2))
    total = weights.sum(axis=0)
    with np.errstate(invalid="ignore"):  # infinite values have a mean, but no variance
        mean = np.where(weights > 0.0, weights * values, 0.0).sum(axis=0) / total
        squares = np.where(weights > 0.0, weights * (values - mean) ** 2, 0.0).sum(axis=0)
    return mean, squares / total


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
    found: dict[str, list[NDArray[np.float64]]] = {}
    weights = []
    for likelihood, partition in zip(likelihoods, partitions):
        if not hasattr(likelihood, "cluster_parameters"):
            return {}
        stats = build_blocks(likelihood, partition).stats
        shares = block_shares(partition, labels)
        of_block = {
            b: likelihood.cluster_parameters(stats[b]) for b in np.flatnonzero(shares.any(axis=0)).tolist()
        }
        ranked = np.argsort(-shares, axis=1, kind="stable").T
        for tied in ranked[: (shares > 0.0).sum(axis=1).max()]:
            weights.append(shares[np.arange(len(shares)), tied])
            blocks = np.where(weights[-1] > 0.0, tied, ranked[0]).tolist()
            for name in of_block[blocks[0]]:
                found.setdefault(name, []).append(np.array([of_block[b][name] for b in blocks], float))
    moments = {
        name: _mean_and_variance(
            np.square(values) if name.endswith(SD) else np.array(values), np.array(weights)
        )
        for name, values in found.items()
    }
    return {
        name: np.sqrt(mean + moments[name.removesuffix(SD)][1]) if name.endswith(SD) else mean
        for name, (mean, _) in moments.items()
    }
