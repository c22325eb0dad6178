"""The exact posterior over all partitions (from the package), and L(y_b) by scipy, block by block, never from a
statistic.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import logsumexp

from pyclone_pgsm._enumeration import (
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
    "encode",
    "enumerate_posterior",
    "poisson_gamma_log_marginal",
    "set_partitions",
    "xi_log_marginal",
]


def xi_log_marginal(xi: NDArray[np.float64], index: NDArray[np.integer]) -> LogMarginal:
    """PyClone's L(y_b): the sum of the Xi rows of a block, averaged over the grid, sample by sample.

    Parameters
    ----------
    xi : (U, G) float64
        Xi, maximum and all.
    index : (T, D) int
        -1 where there are no data.
    """

    def log_marginal(members: Sequence[int]) -> float:
        total = 0.0
        for rows in index[members].T:
            total += logsumexp(xi[rows[rows >= 0]].sum(axis=0)) - np.log(xi.shape[1])
        return float(total)

    return log_marginal


def poisson_gamma_log_marginal(counts: NDArray[np.float64], shape: float, rate: float) -> LogMarginal:
    """L(y_b) as the product of the negative binomial predictives."""

    def log_marginal(members: Sequence[int]) -> float:
        total, a, b = 0.0, shape, rate
        for i in members:
            total += stats.nbinom.logpmf(counts[i], a, b / (b + 1.0))
            a, b = a + counts[i], b + 1.0
        return float(total)

    return log_marginal
