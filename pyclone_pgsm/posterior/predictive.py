"""Posterior predictive densities of new observations.

Given a partition c of T observations and the hyperparameters of its prior, a new observation x joins block b with
probability proportional to tau2(|b| + 1) / tau2(|b|), and a new block with probability proportional to
tau1(|c| + 1) / tau1(|c|) tau2(1). Its density is the mixture of the blocks' predictive densities with these weights;
its posterior predictive density is the mean of this density over the saved partitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.likelihoods.model import Model, Values
from pyclone_pgsm.posterior.rows import build_blocks, medians
from pyclone_pgsm.priors import Prior

CELLS = 4_000_000  # largest number of points times blocks in one array


def fill_log_predictives(likelihood, stats, points, out):  # type: ignore[no-untyped-def]
    """Set out[n, b] = log density of ``points[n]`` given the block ``stats[b]``; the last block is emptied before."""
    likelihood.clear(stats[len(stats) - 1])
    for n in range(len(points)):
        for b in range(len(stats)):
            out[n, b] = likelihood.log_predictive_new(stats[b], points[n])


def block_log_predictives(
    likelihood: Any, labels: NDArray[Any], points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute the log density of new observations (N, D) in each block and, last, in a block of its own: (N, K + 1).

    Blocks in `labels` (T,) are numbered by first appearance. UsageError if the likelihood has no
    ``log_predictive_new``.
    """
    kind = type(likelihood)
    if not hasattr(likelihood, "log_predictive_new"):
        name = kind.__qualname__.rpartition(".")[2]
        raise UsageError(
            f"predictive densities need a method log_predictive_new, which the likelihood {name} does not have"
        )
    partition = build_blocks(likelihood, labels)
    out = np.empty((len(points), int(partition.counter[0]) + 1))
    compiled_for(fill_log_predictives, kind)(likelihood, partition.stats[: out.shape[1]], points, out)
    return out


def log_join_weights(prior: Prior, sizes: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the log probability that a new observation joins each of K blocks and, last, a new block: (K + 1,)."""
    T, K = int(sizes.sum()), len(sizes)
    log_tau1, log_tau2 = prior.log_tau1(T + 1), prior.log_tau2(T + 1)
    weights = np.append(log_tau2[sizes + 1] - log_tau2[sizes], log_tau1[K + 1] - log_tau1[K] + log_tau2[1])
    return weights - np.logaddexp.reduce(weights)


@dataclass(frozen=True)
class Predictive:
    """The posterior predictive density, from canonical `partitions` (M, T).

    Each has the `values` of the likelihood's hyperparameters, and one of the `priors`.
    """

    model: Model
    values: Sequence[Values]
    priors: Sequence[Prior]
    partitions: NDArray[Any]

    @property
    def likelihood_at_medians(self) -> Any:
        """The likelihood at the medians of the hyperparameters."""
        return self.model.likelihood(medians(self.values))

    def log_density(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the log posterior predictive density (N,) of new observations (N, D).

        UsageError if the likelihood has no predictive density.
        """
        chunk = max(1, CELLS // (int(self.partitions.max()) + 2))
        parts = [self._log_density(points[begin : begin + chunk]) for begin in range(0, len(points), chunk)]
        return np.concatenate([np.empty(0), *parts])

    def _log_density(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.full(len(points), -np.inf)
        for values, prior, labels in zip(self.values, self.priors, self.partitions):
            densities = block_log_predictives(self.model.likelihood(values), labels, points)
            densities += log_join_weights(prior, np.bincount(labels))
            np.logaddexp(total, np.logaddexp.reduce(densities, axis=1), out=total)
        return total - np.log(len(self.partitions))


def cluster_probabilities(
    likelihood: Any, prior: Prior, labels: NDArray[np.int64], points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute the probability that new observations (N, D) belong to each of the clusters 0..K-1 of `labels`: (N, K).

    It is given that they belong to one of them. UsageError for an observation that no cluster can have.
    """
    order = canonical(labels)
    sizes = np.bincount(order)
    log_tau2 = prior.log_tau2(len(labels) + 1)
    log_p = block_log_predictives(likelihood, order, points)[:, :-1] + log_tau2[sizes + 1] - log_tau2[sizes]
    for row in np.flatnonzero(~(log_p > -np.inf).any(axis=1))[:1].tolist():
        raise UsageError(f"new rows: row {row} (from 0): no cluster can have it, so it has no probabilities")
    probabilities = np.empty_like(log_p)
    first = np.unique(order, return_index=True)[1]
    probabilities[:, labels[first]] = np.exp(log_p - np.logaddexp.reduce(log_p, axis=1, keepdims=True))
    return probabilities
