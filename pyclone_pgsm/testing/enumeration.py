"""Exact posterior over all partitions of a few observations, by code that shares nothing with the samplers.

    p(c | y) ∝ tau(c) prod over blocks b of L(y_b),     tau(c) = alpha^|c| prod over b of Γ(|b|)

where L(y_b) is computed from the members of the block, never from a sampler's state.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammaln, logsumexp

LogMarginal = Callable[[Sequence[int]], float]
"""Returns log L(y_b) of a block, given the list of its members."""


def set_partitions(num_observations: int) -> NDArray[np.int32]:
    """Return (Bell(T), T) labels of every partition, with blocks numbered in order of first appearance."""
    rows: list[list[int]] = [[]]
    for _ in range(num_observations):
        rows = [[*row, label] for row in rows for label in range(max(row, default=-1) + 2)]
    return np.array(rows, np.int32)


def blocks_of(labels: Sequence[int]) -> list[list[int]]:
    """Return the members of each block."""
    return [[i for i, label in enumerate(labels) if label == b] for b in range(max(labels) + 1)]


def encode(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Encode each row of canonical labels as an integer."""
    return labels.astype(np.int64) @ labels.shape[-1] ** np.arange(labels.shape[-1])


@dataclass(frozen=True)
class Posterior:
    """All B partitions c, with canonical labels (B, T), and log tau(c) + sum_b log L(y_b), (B,), tau normalised."""

    partitions: NDArray[np.int32]
    log_joint: NDArray[np.float64]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        return np.exp(self.log_joint - logsumexp(self.log_joint))

    def draw(self, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Draw (size, T) independent partitions."""
        return self.partitions[rng.choice(len(self.partitions), size, p=self.probabilities)]

    def find(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index, 0..B-1, of each encoded partition."""
        found = pd.Index(encode(self.partitions)).get_indexer(pd.Index(codes))
        assert (found >= 0).all(), "not a canonical partition"
        return found

    def count(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the (B,) numbers of times that the partitions occur among encoded ones."""
        return np.bincount(self.find(codes), minlength=len(self.partitions))


def enumerate_posterior(num_observations: int, log_marginal: LogMarginal, concentration: float) -> Posterior:
    """Return the posterior under a Dirichlet process prior."""
    marginal = cache(lambda members: log_marginal(list(members)))
    partitions = set_partitions(num_observations)
    log_joint = []
    for labels in partitions:
        blocks = blocks_of(labels)
        log_prior = len(blocks) * np.log(concentration) + sum(gammaln(len(b)) for b in blocks)
        log_prior += gammaln(concentration) - gammaln(concentration + num_observations)
        log_joint.append(log_prior + sum(marginal(tuple(b)) for b in blocks))
    return Posterior(partitions, np.array(log_joint))


def chi_square_p_value(counts: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Return the p-value of Pearson's test of counts; cells with expected counts below 5 are pooled."""
    expected = probabilities * counts.sum()
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 5:  # if the pool is still too small, the smallest other cell joins it
        smallest = np.argmin(expected[:-1])
        observed[smallest] += observed[-1]
        expected[smallest] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    assert len(observed) > 1, "the posterior is one partition: nothing to compare"
    return float(stats.chisquare(observed, expected).pvalue)
