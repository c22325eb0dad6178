"""The PyClone likelihood (paper, Appendix E), on a grid of G points.

The mutations of a block share one cellular prevalence per sample:

    L(y_b) = prod over samples d of (1/G) sum_k exp(S_dk),     S_dk = log G h_dk + sum over i in b of Xi_dk(y_i)

with h_dk the base measure of sample d, the prior mass of grid point k: 1/G each, or learned from the tumour
(:mod:`pyclone_pgsm.tumour.base_measure`). The statistic of a block is described in
:mod:`~pyclone_pgsm.likelihoods.pyclone.statistic`. A mutation without data in a sample has row -1 there, and its
likelihood in that sample is 1 at all grid points.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.likelihoods.contract import leaf, register
from pyclone_pgsm.likelihoods.pyclone.statistic import (
    DEEP,
    EXACT,
    SCALARS,
    TINY,
    accumulate,
    add_one,
    bound_outside,
    clear_part,
    dot,
    dot_inverse,
    least_inside,
    log_far_predictive,
    log_sum_exp,
    part_of,
    remove_one,
    renew_window,
)

CHUNK, CHUNKS = 8, 64  # chunks have about a multiple of 8 grid points, and there are at most 64


@register("pyclone")
class PyClone(NamedTuple):
    """Grid likelihoods of T mutations in D samples.

    Attributes
    ----------
    index : (T, D) int32
        Row of the tables for each mutation and sample, -1 if there are no data.
    xi : (U, G) float64
        Xi_k - max_k Xi_k of each distinct observation.
    likelihood : (U, G) float64
        exp(xi).
    xi_max : (U,) float64
        max_k Xi_k.
    log_mean : (U,) float64
        log of the mean of ``likelihood`` under a uniform prior of prevalences.
    component_means : (U, J) float64
        Mean of ``likelihood`` under each component of a base measure that is a mixture; J = 0 if it is uniform.
    log_base, base : (D, G) float64
        log G h_dk and h_dk: all 0 and 1/G if the base measure is uniform.
    highest_base : (D, C) float64
        Largest log_base of each chunk of the grid.
    log_alone : (T,) float64
        log L(y_i) of each mutation in a block of its own, without the factors exp(``xi_max``).
    low, high : (U, C) float64
        Smallest and largest xi of each chunk of the grid.
    """

    index: np.ndarray
    xi: np.ndarray
    likelihood: np.ndarray
    xi_max: np.ndarray
    log_mean: np.ndarray
    component_means: np.ndarray
    log_base: np.ndarray
    base: np.ndarray
    highest_base: np.ndarray
    log_alone: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @leaf
    def stat_size(self):
        one_sample = 2 * self.xi.shape[1] + self.low.shape[1] + SCALARS
        return self.index.shape[1] * one_sample

    @leaf
    def clear(self, stat):
        for d in range(self.index.shape[1]):
            part = part_of(0, d, self.xi.shape[1], self.low.shape[1])
            clear_part(stat, part, self.log_base, self.base, self.highest_base, d)

    @leaf
    def add(self, stat, i):
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row >= 0:
                part = part_of(0, d, self.xi.shape[1], self.low.shape[1])
                add_one(stat, part, self.xi, self.likelihood, self.high, row)

    @leaf
    def remove(self, stat, i):
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row >= 0:
                part = part_of(0, d, self.xi.shape[1], self.low.shape[1])
                remove_one(stat, part, self.xi, self.likelihood, self.low, row)

    def add_many(self, stat, members):
        """Add observations; identical ones are counted first and added together."""
        G, C = self.xi.shape[1], self.low.shape[1]
        count = np.zeros(self.xi.shape[0], np.int64)
        for d in range(self.index.shape[1]):
            part = part_of(0, d, G, C)
            for i in members:
                row = self.index[i, d]
                if row >= 0:
                    count[row] += 1
            for i in members:
                row = self.index[i, d]
                if row >= 0 and count[row] > 0:
                    accumulate(stat, part.sums, self.xi, row, float(count[row]))
                    count[row] = 0
            renew_window(stat, part, self.xi, C)

    @leaf
    def kind(self, i):
        """Return the row of the tables plus 1 for tumours with one sample, else i."""
        return self.index[i, 0] + 1 if self.index.shape[1] == 1 else i

    @leaf
    def log_prior_predictive(self, i):
        return self.log_alone[i]

    def log_predictive(self, stat, i, negligible):
        out = np.empty(1)
        slots, cutoffs = np.zeros(1, np.int64), np.full(1, negligible)
        self.log_predictives(stat.reshape(1, len(stat)), slots, i, cutoffs, out)
        return out[0]

    @leaf
    def log_predictives(self, stats, slots, i, negligible, out):
        """Compute predictives; as no factor exceeds 1, the bounds of those so far can end the loop early."""
        index, likelihood, G, C = self.index, self.likelihood, self.xi.shape[1], self.high.shape[1]
        flat = stats.reshape(stats.size)
        for b in range(len(slots)):
            start = slots[b] * stats.shape[1]
            limit = math.exp(negligible[b])
            bound = 1.0
            total = 0.0
            for d in range(index.shape[1]):
                row = index[i, d]
                if row < 0:
                    continue
                part = part_of(start, d, G, C)
                hidden = flat[part.outside]
                predictive = dot(flat, part.weights, likelihood, row, flat[part.lo], flat[part.hi])
                bound *= predictive + hidden + TINY
                if bound < limit or total < negligible[b]:
                    total = -np.inf
                    break
                if predictive > EXACT * hidden and predictive > TINY:
                    total += math.log(predictive)
                else:
                    total += log_far_predictive(flat, part, self.xi, self.high, row, predictive)
            out[b] = total

    @leaf
    def log_predictive_without(self, stat, i):
        """Return log of L(y_i | b without i) = 1 / sum_k W_k / l_k, without changing the statistic."""
        G, C = self.xi.shape[1], self.low.shape[1]
        log_exact = math.log(EXACT * G)
        total = 0.0
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row < 0:
                continue
            part = part_of(0, d, G, C)
            inverse = dot_inverse(stat, part.weights, self.likelihood, row, stat[part.lo], stat[part.hi])
            # if l underflows inside the window, the sum is infinite or NaN, and not below the limit
            if inverse < 1.0 / TINY and least_inside(stat, part, self.low, row) > DEEP:
                # the sum is at least 1, as l <= 1; this usually suffices
                limit = stat[part.log_z] - log_exact
                bound = bound_outside(stat, part, self.low, row, -1.0)
                if bound <= limit or bound <= limit + math.log(inverse):
                    total -= math.log(inverse)
                    continue
            total += stat[part.log_z] - log_sum_exp(stat, part, self.xi, row, -1.0)
        return total

    @leaf
    def log_marginal(self, stat):
        G, C = self.xi.shape[1], self.low.shape[1]
        total = 0.0
        for d in range(self.index.shape[1]):
            total += stat[part_of(0, d, G, C).log_z] - math.log(G)
        return total

    def log_predictive_new(self, stat, x):
        """Return the log predictive of a new mutation, with x its Xi on the grid, sample after sample, (D G,)."""
        G, C = self.xi.shape[1], self.low.shape[1]
        total = 0.0
        for d in range(self.index.shape[1]):
            part = part_of(0, d, G, C)
            highest = -np.inf
            for k in range(G):
                highest = max(highest, stat[part.sums + k] + x[d * G + k])
            mass = 0.0
            for k in range(G):
                mass += math.exp(stat[part.sums + k] + x[d * G + k] - highest)
            total += highest + math.log(mass) - stat[part.log_z]
        return total

    def log_constants(self):
        return np.where(self.index < 0, 0.0, self.xi_max[self.index]).sum(axis=1)

    def log_constant(self):
        present = self.index[self.index >= 0]
        return float(np.sum(self.xi_max[present]))


def make_pyclone(index, xi, likelihood, xi_max, uniform_masses=None) -> PyClone:
    """Make the likelihood with the base measure 1/G from these attributes.

    `uniform_masses` (G,) are those of the grid points under a uniform prior of prevalences, by default 1/G.
    """
    (T, D), G = index.shape, xi.shape[1]
    masses, total = (np.ones(G), G) if uniform_masses is None else (uniform_masses, 1.0)
    # BLAS may add in another order with more threads
    log_mean = np.log(np.einsum("uk,k->u", likelihood, masses) / total)
    points = _points_of_chunk(G)
    chunks = np.arange(0, G, points)
    low = np.minimum.reduceat(xi, chunks, axis=1)
    high = np.maximum.reduceat(xi, chunks, axis=1)
    log_alone = np.zeros(T)
    for of_sample in np.where(index < 0, 0.0, _of_rows(log_mean, index)).T:
        log_alone += of_sample
    log_base, base, highest_base = np.zeros((D, G)), np.full((D, G), 1.0 / G), np.zeros((D, len(chunks)))
    return PyClone(
        index=index,
        xi=xi,
        likelihood=likelihood,
        xi_max=xi_max,
        log_mean=log_mean,
        component_means=np.zeros((len(xi), 0)),
        log_base=log_base,
        base=base,
        highest_base=highest_base,
        log_alone=log_alone,
        low=low,
        high=high,
    )


def _of_rows(values, index):
    """Return ``values[index]``, whose entries at index -1 are meaningless; `values` may have no rows."""
    return values[index] if len(values) else np.zeros((*index.shape, *values.shape[1:]))


def _points_of_chunk(G: int) -> int:
    points = CHUNK * -(-G // (CHUNK * CHUNKS))
    return -(-G // -(-G // points))


def with_base(likelihood: PyClone, weights: NDArray[np.float64], components: NDArray[np.float64]) -> PyClone:
    """Return the likelihood under the base measure h_dk = sum_j w_dj A_jk, using its ``component_means``.

    The weights w are (D, J), the components A (J, G), each of which sums to 1.
    """
    index, G = likelihood.index, components.shape[1]
    base = weights @ components
    log_base = np.log(base * G)
    alone = np.einsum("tdj,dj->td", _of_rows(likelihood.component_means, index), weights)
    return likelihood._replace(
        log_base=log_base,
        base=base,
        highest_base=np.maximum.reduceat(log_base, np.arange(0, G, _points_of_chunk(G)), axis=1),
        log_alone=np.log(np.where(index < 0, 1.0, alone)).sum(axis=1),
    )
