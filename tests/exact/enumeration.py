"""The exact posterior over all partitions (from the package), and L(y_b) by scipy, block by block, never from a
statistic.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import logsumexp

from pyclone_pgsm.testing.enumeration import (
    LogMarginal,
    Posterior,
    blocks_of,
    chi_square_p_value,
    encode,
    enumerate_posterior,
    set_partitions,
)

__all__ = [
    "LogMarginal",
    "Posterior",
    "blocks_of",
    "chi_square_p_value",
    "component_masses",
    "encode",
    "enumerate_posterior",
    "learned_grid",
    "poisson_gamma_log_marginal",
    "set_partitions",
    "xi_log_marginal",
]

SHAPES = ((0.1, 1.0), (1.0, 0.1), (1.0, 1.0))


def learned_grid(grid_size: int) -> NDArray[np.float64]:
    """The prevalences of the grid of a learned prior, (G,)."""
    angles = np.linspace(np.arccos(0.9998), np.arccos(-0.9998), grid_size)
    return np.clip((1.0 - np.cos(angles) / 0.9998) / 2.0, 0.0, 1.0)


def component_masses(grid_size: int) -> NDArray[np.float64]:
    """(3, G) masses of Beta(0.1, 1), Beta(1, 0.1) and Beta(1, 1) in the cells of the grid of a learned prior.

    Cells end half-way between grid points.
    """
    points = learned_grid(grid_size)
    left = np.concatenate([[0.0], (points[1:] + points[:-1]) / 2])
    right = np.concatenate([left[1:], [1.0]])
    return np.array([stats.beta.cdf(right, *ab) - stats.beta.cdf(left, *ab) for ab in SHAPES])


def remembered(log_marginal: LogMarginal) -> LogMarginal:
    """The same, computed once for each block: enumerations ask for every block many times."""
    known = cache(lambda members: log_marginal(list(members)))
    return lambda members: known(tuple(members))


def xi_log_marginal(
    xi: NDArray[np.float64], index: NDArray[np.integer], base: NDArray[np.float64] | None = None
) -> LogMarginal:
    """PyClone's L(y_b): exp of the sum of the Xi rows of a block, averaged over the grid, sample by sample.

    Parameters
    ----------
    xi : (U, G) float64
        Xi, maximum and all.
    index : (T, D) int
        -1 where there are no data.
    base : (D, G) float64 or None
        Prior masses of the grid points in each sample; None: all the same.
    """
    grid_size = xi.shape[1]
    h = np.full((index.shape[1], grid_size), 1.0 / grid_size) if base is None else base

    def log_marginal(members: Sequence[int]) -> float:
        total = 0.0
        for rows, of_sample in zip(index[members].T, h):
            total += logsumexp(xi[rows[rows >= 0]].sum(axis=0), b=of_sample)
        return float(total)

    return remembered(log_marginal)


def poisson_gamma_log_marginal(counts: NDArray[np.float64], shape: float, rate: float) -> LogMarginal:
    """L(y_b) as the product of the negative binomial predictives."""

    def log_marginal(members: Sequence[int]) -> float:
        total, a, b = 0.0, shape, rate
        for i in members:
            total += stats.nbinom.logpmf(counts[i], a, b / (b + 1.0))
            a, b = a + counts[i], b + 1.0
        return float(total)

    return remembered(log_marginal)
