"""The PyClone likelihood: a block shares one cellular prevalence per sample, on a grid of G points.

    L(y_b) = prod over samples d of (1/G) sum_k exp(S_dk),     S_dk = sum over i in b of Xi_dk(y_i)

A statistic holds for each sample, one after the other,

    S      (G,)  sum of the members' xi = Xi - max Xi
    W      (G,)  posterior exp(S_k) / sum exp(S), kept on the window [lo, hi) only
    lo, hi, out, log_z
                 the window; a bound on the posterior mass outside it; log sum exp(S)

so that a predictive is one dot product over the window, sum_k W_k l_k with l = exp(xi), and adding an observation
multiplies W by l. Nothing is approximated: ``out`` bounds what the window hides, and whenever that could matter in
double precision the formula in logs over the whole grid is used instead. Mutations without data in a sample have row
-1 there and are flat.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from typing import NamedTuple

import numpy as np
from numba import njit

from pyclone_pgsm.likelihoods.contract import register
from pyclone_pgsm.tumour.grid import LocusTable, likelihood_grid

# Sums may be reordered (vectorised); maxima may assume that there is no NaN. Nothing else is relaxed.
SUM = {"reassoc", "nsz", "contract"}
MAX = {"reassoc", "nsz", "nnan"}

WINDOW = 80.0  # nats below the peak at which the posterior is cut off
HIDDEN = 1e-26  # mass outside the window that calls for a new window
EXACT = 1e13  # a sum over the window stands if it exceeds this many times what may lie outside
TINY = 1e-200  # sums below this may have lost precision to underflow
TAIL = 4  # numbers after S and W: lo, hi, out, log_z
LO, HI, OUT, LOG_Z = 0, 1, 2, 3

# The kernels below address parts of a statistic by their offset: slices would be counted references, which costs more
# than the arithmetic. Offsets are unsigned, or numba would check for negative ones, and loops would not vectorise.


@njit(nogil=True, fastmath=SUM, error_model="numpy")
def dot(stat, at, table, row, lo, hi):
    """sum_k stat[at + k] table[row, k] over lo <= k < hi."""
    total = 0.0
    for k in range(np.uint64(lo), np.uint64(hi)):
        total += stat[np.uint64(at) + k] * table[np.uint64(row), k]
    return total


@njit(nogil=True, fastmath=SUM, error_model="numpy")
def dot_inverse(stat, at, table, row, lo, hi):
    """sum_k stat[at + k] / table[row, k] over lo <= k < hi."""
    total = 0.0
    for k in range(np.uint64(lo), np.uint64(hi)):
        total += stat[np.uint64(at) + k] / table[np.uint64(row), k]
    return total


@njit(nogil=True, fastmath=MAX, error_model="numpy")
def maximum(stat, lo, hi):
    """Largest of stat[lo..hi - 1]; four running maxima, because one waits for itself."""
    a = b = c = d = -np.inf
    k = np.uint64(lo)
    while k + np.uint64(4) <= np.uint64(hi):
        a = stat[k] if stat[k] > a else a
        b = stat[k + np.uint64(1)] if stat[k + np.uint64(1)] > b else b
        c = stat[k + np.uint64(2)] if stat[k + np.uint64(2)] > c else c
        d = stat[k + np.uint64(3)] if stat[k + np.uint64(3)] > d else d
        k += np.uint64(4)
    while k < np.uint64(hi):
        a = stat[k] if stat[k] > a else a
        k += np.uint64(1)
    return max(max(a, b), max(c, d))


@njit(nogil=True, fastmath=SUM, error_model="numpy")
def count_above(stat, at, table, row, lo, hi, floor):
    """Number of k, lo <= k < hi, with stat[at + k] - table[row, k] > floor."""
    count = 0
    for k in range(np.uint64(lo), np.uint64(hi)):
        count += stat[np.uint64(at) + k] - table[np.uint64(row), k] > floor
    return count


@njit(nogil=True, error_model="numpy")
def accumulate(stat, at, table, row, weight):
    """stat[at + k] += weight table[row, k] for all k."""
    for k in range(np.uint64(table.shape[1])):
        stat[np.uint64(at) + k] += weight * table[np.uint64(row), k]


@njit(nogil=True, error_model="numpy")
def log_sum_exp(stat, at, table, row, sign):
    """log sum_k exp(stat[at + k] + sign table[row, k]) over the whole grid."""
    G = table.shape[1]
    top = -np.inf
    for k in range(np.uint64(G)):
        top = max(top, stat[np.uint64(at) + k] + sign * table[np.uint64(row), k])
    total = 0.0
    for k in range(np.uint64(G)):
        value = stat[np.uint64(at) + k] + sign * table[np.uint64(row), k] - top
        if value > -60.0:
            total += math.exp(value)
    return top + math.log(total)


@njit(nogil=True, error_model="numpy")
def renew_window(stat, at, G):
    """Compute W, its window and log_z from S of the sample whose part begins at `at`."""
    top = maximum(stat, at, at + G)
    floor = top - WINDOW
    lo = 0
    while lo + 16 <= G and maximum(stat, at + lo, at + lo + 16) < floor:
        lo += 16
    while stat[at + lo] < floor:
        lo += 1
    hi = G
    while hi >= 16 and maximum(stat, at + hi - 16, at + hi) < floor:
        hi -= 16
    while stat[at + hi - 1] < floor:
        hi -= 1
    total = 0.0
    for k in range(np.uint64(at + lo), np.uint64(at + hi)):
        w = math.exp(stat[k] - top)
        stat[k + np.uint64(G)] = w
        total += w
    scale = 1.0 / total
    for k in range(np.uint64(at + G + lo), np.uint64(at + G + hi)):
        stat[k] *= scale
    tail = at + 2 * G
    stat[tail + LO] = lo
    stat[tail + HI] = hi
    stat[tail + OUT] = G * math.exp(-WINDOW)
    stat[tail + LOG_Z] = top + math.log(total)


@njit(nogil=True, error_model="numpy")
def multiply_window(stat, at, table, row, predictive):
    """W <- W l / predictive, the posterior after adding an observation."""
    G = table.shape[1]
    tail = at + 2 * G
    scale = 1.0 / predictive
    for k in range(np.uint64(stat[tail + LO]), np.uint64(stat[tail + HI])):
        stat[np.uint64(at + G) + k] *= table[np.uint64(row), k] * scale
    stat[tail + OUT] *= scale
    stat[tail + LOG_Z] += math.log(predictive)


@njit(nogil=True, error_model="numpy")
def log_predictives(index, xi, likelihood, stats, slots, i, negligible, out):
    """out[b] = log L(y_i | block) for the blocks whose statistics are ``stats[slots[b]]``.

    Every factor is at most 1, so the product so far is a bound that can end the loop over samples early.
    """
    G = xi.shape[1]
    flat = stats.reshape(stats.size)
    for b in range(len(slots)):
        at = slots[b] * stats.shape[1]
        total = 0.0
        product = 1.0
        for d in range(index.shape[1]):
            row = index[i, d]
            if row < 0:
                continue
            start = at + d * (2 * G + TAIL)
            tail = start + 2 * G
            hidden = flat[tail + OUT]
            predictive = dot(flat, start + G, likelihood, row, flat[tail + LO], flat[tail + HI])
            if predictive > EXACT * hidden and predictive > TINY:
                product *= predictive
                if product > 1e-15:
                    continue
                total += math.log(product)
                product = 1.0
            else:
                total += math.log(product)
                product = 1.0
                if total + math.log(predictive + hidden + TINY) >= negligible:
                    total += log_sum_exp(flat, start, xi, row, 1.0) - flat[tail + LOG_Z]
                else:
                    total = -np.inf
            if total < negligible:
                break
        out[b] = total + math.log(product)


@register("pyclone")
class PyClone(NamedTuple):
    """Grid likelihoods of T mutations in D samples.

    Attributes
    ----------
    index : (T, D) int32
        Row of the tables for each mutation and sample, -1 where there are no data.
    xi : (U, G) float64
        Xi_k - max_k Xi_k of each distinct observation.
    likelihood : (U, G) float64
        exp(xi).
    xi_max : (U,) float64
        max_k Xi_k.
    log_mean : (U,) float64
        log of the mean of ``likelihood`` over the grid.
    """

    index: np.ndarray
    xi: np.ndarray
    likelihood: np.ndarray
    xi_max: np.ndarray
    log_mean: np.ndarray

    def stat_size(self):
        return self.index.shape[1] * (2 * self.xi.shape[1] + TAIL)

    def clear(self, stat):
        G = self.xi.shape[1]
        for start in range(0, len(stat), 2 * G + TAIL):
            tail = start + 2 * G
            stat[start : start + G] = 0.0
            stat[start + G : tail] = 1.0 / G
            stat[tail + LO] = 0
            stat[tail + HI] = G
            stat[tail + OUT] = 0.0
            stat[tail + LOG_Z] = math.log(G)

    def add(self, stat, i):
        G = self.xi.shape[1]
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row < 0:
                continue
            start = d * (2 * G + TAIL)
            tail = start + 2 * G
            out = stat[tail + OUT]
            predictive = dot(stat, start + G, self.likelihood, row, stat[tail + LO], stat[tail + HI])
            accumulate(stat, start, self.xi, row, 1.0)
            if predictive > EXACT * out and predictive > TINY and out < HIDDEN:
                multiply_window(stat, start, self.likelihood, row, predictive)
            else:
                renew_window(stat, start, G)

    def remove(self, stat, i):
        G = self.xi.shape[1]
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row >= 0:
                start = d * (2 * G + TAIL)
                accumulate(stat, start, self.xi, row, -1.0)
                renew_window(stat, start, G)

    def add_many(self, stat, members):
        """Identical observations are counted first and added once."""
        G = self.xi.shape[1]
        count = np.zeros(self.xi.shape[0], np.int64)
        for d in range(self.index.shape[1]):
            start = d * (2 * G + TAIL)
            for i in members:
                row = self.index[i, d]
                if row >= 0:
                    count[row] += 1
            for i in members:
                row = self.index[i, d]
                if row >= 0 and count[row] > 0:
                    accumulate(stat, start, self.xi, row, float(count[row]))
                    count[row] = 0
            renew_window(stat, start, G)

    def log_prior_predictive(self, i):
        total = 0.0
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row >= 0:
                total += self.log_mean[row]
        return total

    def log_predictive(self, stat, i, negligible):
        out = np.empty(1)
        self.log_predictives(stat.reshape(1, len(stat)), np.zeros(1, np.int64), i, negligible, out)
        return out[0]

    def log_predictives(self, stats, slots, i, negligible, out):
        log_predictives(self.index, self.xi, self.likelihood, stats, slots, i, negligible, out)

    def log_predictive_without(self, stat, i):
        """L(y_i | b without i) = 1 / sum_k W_k / l_k: nothing is taken out and put back."""
        G = self.xi.shape[1]
        total = 0.0
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row < 0:
                continue
            start = d * (2 * G + TAIL)
            tail = start + 2 * G
            lo = stat[tail + LO]
            hi = stat[tail + HI]
            inverse = dot_inverse(stat, start + G, self.likelihood, row, lo, hi)
            # where l underflows inside the window the sum is infinite or NaN, and not below the limit
            if inverse < 1.0 / TINY:
                log_inverse = math.log(inverse)
                floor = log_inverse + stat[tail + LOG_Z] - math.log(EXACT * G)
                if (
                    count_above(stat, start, self.xi, row, 0, lo, floor) == 0
                    and count_above(stat, start, self.xi, row, hi, G, floor) == 0
                ):
                    total -= log_inverse
                    continue
            total += stat[tail + LOG_Z] - log_sum_exp(stat, start, self.xi, row, -1.0)
        return total

    def log_marginal(self, stat):
        G = self.xi.shape[1]
        total = 0.0
        for d in range(self.index.shape[1]):
            total += stat[d * (2 * G + TAIL) + 2 * G + LOG_Z] - math.log(G)
        return total

    def log_constant(self):
        present = self.index[self.index >= 0]
        return float(np.sum(self.xi_max[present]))


# log10 of the precisions that a chain may choose from; the binomial, their limit, comes last
PRECISIONS = (*(10.0 ** (exponent / 8.0) for exponent in range(8, 41)), math.inf)
FIRST_PRECISION = 200.0
KEPT_BYTES = 400 << 20  # tables of precisions not in use that are kept


class PyCloneModel:
    """PyClone's likelihood with a beta-binomial precision that is fixed, or inferred on a grid of values.

    The precision's prior is uniform over :data:`PRECISIONS` (that is, over its logarithm, with the binomial as one more
    value); a chain proposes the next smaller or larger one.

    Parameters
    ----------
    table : LocusTable
        The distinct observations.
    grid_size : int
        G.
    genotype_prior, density : str
        See :func:`pyclone_pgsm.tumour.grid.likelihood_grid`.
    precision : float or None
        Fixed precision; None infers it. Ignored by the binomial density.
    """

    def __init__(
        self, table: LocusTable, grid_size: int, genotype_prior: str, density: str, precision: float | None
    ) -> None:
        self.table = table
        self.grid_size = grid_size
        self.genotype_prior = genotype_prior
        self.density = density
        self.precision = math.inf if density == "binomial" else precision
        self.hyperparameters = ("precision",) if self.precision is None else ()
        self.num_observations = len(table.index)
        self.order = np.argsort(table.index[:, 0], kind="stable")
        self._lock = threading.Lock()
        self._tables: OrderedDict[float, PyClone] = OrderedDict()

    def initial_values(self) -> tuple[float, ...]:
        if self.precision is not None:
            return ()
        return (min(PRECISIONS, key=lambda value: abs(math.log(value / FIRST_PRECISION))),)

    def likelihood(self, values: tuple[float, ...]) -> PyClone:
        """Tables at a precision: computed when first asked for, the latest kept."""
        precision = values[0] if values else self.precision
        with self._lock:
            if precision not in self._tables:
                xi = likelihood_grid(
                    self.table, self.grid_size, self.genotype_prior, self.density, precision
                )
                self._tables[precision] = PyClone(self.table.index, *xi)
                kept = max(4, KEPT_BYTES // (2 * xi.xi.nbytes))
                while len(self._tables) > kept:
                    self._tables.popitem(last=False)
            self._tables.move_to_end(precision)
            return self._tables[precision]

    def log_hyperprior(self, values: tuple[float, ...]) -> float:
        return -math.log(len(PRECISIONS)) if values else 0.0

    def propose(self, values: tuple[float, ...], rng: np.random.Generator) -> tuple[tuple[float, ...], float]:
        """The neighbour below or above with probability 1/2 each; beyond an end, stay."""
        where = PRECISIONS.index(values[0]) + (1 if rng.random() < 0.5 else -1)
        if not 0 <= where < len(PRECISIONS):
            return values, 0.0
        return (PRECISIONS[where],), 0.0
