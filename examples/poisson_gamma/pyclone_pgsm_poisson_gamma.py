"""Counts in D independent columns: Poisson, with a Gamma(shape, rate) prior on each mean of a block.

    L(y_b) = prod over d of  rate^shape / Γ(shape) · Γ(shape + s_d) / (rate + m)^(shape + s_d) · prod over i of 1/y_id!

with m = |b| and s_d the sum of y_id over the block. A statistic is (m, s_1, .., s_D). The factors 1/y_id! depend on a
single observation only: all methods leave them out, and ``log_constant`` holds them.
"""

import math
from typing import NamedTuple

import numba
import numpy as np

from pyclone_pgsm.errors import DataValueError, UsageError


@numba.njit(nogil=True)
def log_negative_binomial(y, shape, rate):
    """log p(y) + log y! of a Poisson count whose mean is Gamma(shape, rate)."""
    return (
        math.lgamma(shape + y)
        - math.lgamma(shape)
        + shape * math.log(rate)
        - (shape + y) * math.log(rate + 1.0)
    )


class PoissonGamma(NamedTuple):
    """Counts: Poisson in each column, with a Gamma prior on the means."""

    counts: np.ndarray  # (T, D) float64
    shape: float
    rate: float

    @classmethod
    def from_data(cls, data, shape=1.0, rate=0.1):
        """`data` is (T, D); `shape` and `rate` are those of the Gamma prior, whose mean is shape / rate."""
        for name, value in (("shape", shape), ("rate", rate)):
            if not (isinstance(value, int | float) and 0.0 < value < math.inf):
                raise UsageError(f"{name} must be a number above 0, not {value!r}")
        wrong = np.argwhere(~((data >= 0.0) & (data == np.floor(data)) & np.isfinite(data)))
        if len(wrong):
            row, column = wrong[0]
            raise DataValueError(
                int(row), int(column), data[row, column], "a count: a whole number, 0 or more"
            )
        return cls(np.ascontiguousarray(data, np.float64), float(shape), float(rate))

    def stat_size(self):
        return 1 + self.counts.shape[1]

    def clear(self, stat):
        stat[:] = 0.0

    def add(self, stat, i):
        stat[0] += 1.0
        for d in range(self.counts.shape[1]):
            stat[1 + d] += self.counts[i, d]

    def remove(self, stat, i):
        stat[0] -= 1.0
        for d in range(self.counts.shape[1]):
            stat[1 + d] -= self.counts[i, d]

    def add_many(self, stat, members):
        for i in members:
            self.add(stat, i)

    def log_prior_predictive(self, i):
        total = 0.0
        for d in range(self.counts.shape[1]):
            total += log_negative_binomial(self.counts[i, d], self.shape, self.rate)
        return total

    def log_predictive(self, stat, i, negligible):
        total = 0.0
        for d in range(self.counts.shape[1]):
            total += log_negative_binomial(self.counts[i, d], self.shape + stat[1 + d], self.rate + stat[0])
        return total

    def log_predictive_without(self, stat, i):
        total = 0.0
        for d in range(self.counts.shape[1]):
            y = self.counts[i, d]
            total += log_negative_binomial(y, self.shape + stat[1 + d] - y, self.rate + stat[0] - 1.0)
        return total

    def log_predictive_new(self, stat, x):
        total = 0.0
        for d in range(len(x)):
            if x[d] < 0.0 or x[d] != math.floor(x[d]):
                return -np.inf
            total += log_negative_binomial(x[d], self.shape + stat[1 + d], self.rate + stat[0])
            total -= math.lgamma(x[d] + 1.0)
        return total

    def log_marginal(self, stat):
        total = 0.0
        for d in range(self.counts.shape[1]):
            shape = self.shape + stat[1 + d]
            total += math.lgamma(shape) - math.lgamma(self.shape)
            total += self.shape * math.log(self.rate) - shape * math.log(self.rate + stat[0])
        return total

    def log_constant(self):
        return -sum(math.lgamma(y + 1.0) for y in self.counts.flat)

    def cluster_parameters(self, stat):
        """Posterior mean and standard deviation of a block's means."""
        shape, rate = self.shape + stat[1:], self.rate + stat[0]
        return {"mean": shape / rate, "mean_sd": np.sqrt(shape) / rate}
