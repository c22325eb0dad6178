"""A likelihood as a third party would write it: counts that are Poisson, with a Gamma prior on the mean of a block.

    L(y_b) = prod_i 1/y_i! · rate^shape / Γ(shape) · Γ(shape + s) / (rate + m)^(shape + s),   s = sum of y_b, m = |b|

A statistic is (m, s). The factors 1/y_i! are left out; they are in ``log_constant``.
"""

import math
from typing import NamedTuple

import numpy as np

from pyclone_pgsm.likelihoods.contract import register

SIZE, SUM = 0, 1


@register("poisson-gamma")
class PoissonGamma(NamedTuple):
    counts: np.ndarray  # (T,) float64
    shape: float
    rate: float

    def stat_size(self):
        return 2

    def clear(self, stat):
        stat[:] = 0.0

    def add(self, stat, i):
        stat[SIZE] += 1.0
        stat[SUM] += self.counts[i]

    def remove(self, stat, i):
        stat[SIZE] -= 1.0
        stat[SUM] -= self.counts[i]

    def add_many(self, stat, members):
        for i in members:
            stat[SIZE] += 1.0
            stat[SUM] += self.counts[i]

    def log_prior_predictive(self, i):
        return (
            math.lgamma(self.shape + self.counts[i])
            - math.lgamma(self.shape)
            + self.shape * math.log(self.rate)
            - (self.shape + self.counts[i]) * math.log(self.rate + 1.0)
        )

    def log_predictive(self, stat, i, negligible):
        shape = self.shape + stat[SUM]
        rate = self.rate + stat[SIZE]
        return (
            math.lgamma(shape + self.counts[i])
            - math.lgamma(shape)
            + shape * math.log(rate)
            - (shape + self.counts[i]) * math.log(rate + 1.0)
        )

    def log_predictive_without(self, stat, i):
        shape = self.shape + stat[SUM] - self.counts[i]
        rate = self.rate + stat[SIZE] - 1.0
        return (
            math.lgamma(shape + self.counts[i])
            - math.lgamma(shape)
            + shape * math.log(rate)
            - (shape + self.counts[i]) * math.log(rate + 1.0)
        )

    def log_marginal(self, stat):
        return (
            math.lgamma(self.shape + stat[SUM])
            - math.lgamma(self.shape)
            + self.shape * math.log(self.rate)
            - (self.shape + stat[SUM]) * math.log(self.rate + stat[SIZE])
        )

    def log_constant(self):
        return -sum(math.lgamma(y + 1.0) for y in self.counts)
