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
TAIL = 4  # lo, hi, out, log_z
LO, HI, OUT, LOG_Z = 0, 1, 2, 3


@njit(nogil=True, fastmath=SUM, error_model="numpy")
def dot(w, l):
    total = 0.0
    for k in range(len(w)):
        total += w[k] * l[k]
    return total


@njit(nogil=True, fastmath=SUM, error_model="numpy")
def dot_inverse(w, l):
    total = 0.0
    for k in range(len(w)):
        total += w[k] / l[k]
    return total


@njit(nogil=True, fastmath=MAX, error_model="numpy")
def maximum(s):
    top = -np.inf
    for k in range(len(s)):
        if s[k] > top:
            top = s[k]
    return top


@njit(nogil=True, fastmath=MAX, error_model="numpy")
def maximum_sum(s, x, sign):
    top = -np.inf
    for k in range(len(s)):
        value = s[k] + sign * x[k]
        if value > top:
            top = value
    return top


@njit(nogil=True, error_model="numpy")
def accumulate(s, x, weight):
    for k in range(len(s)):
        s[k] += weight * x[k]


@njit(nogil=True, error_model="numpy")
def log_sum_exp(s, x, sign):
    """log sum_k exp(S_k + sign x_k) over the whole grid."""
    top = maximum_sum(s, x, sign)
    total = 0.0
    for k in range(len(s)):
        value = s[k] + sign * x[k] - top
        if value > -60.0:
            total += math.exp(value)
    return top + math.log(total)


@njit(nogil=True, error_model="numpy")
def first_above(s, floor):
    """First k with S_k >= floor, found 16 points at a time."""
    k = 0
    while k + 16 <= len(s) and maximum(s[k : k + 16]) < floor:
        k += 16
    while s[k] < floor:
        k += 1
    return k


@njit(nogil=True, error_model="numpy")
def last_above(s, floor):
    k = len(s)
    while k >= 16 and maximum(s[k - 16 : k]) < floor:
        k -= 16
    while s[k - 1] < floor:
        k -= 1
    return k


@njit(nogil=True, error_model="numpy")
def renew_window(s, w, tail):
    """Compute W and its window from S."""
    top = maximum(s)
    lo = first_above(s, top - WINDOW)
    hi = last_above(s, top - WINDOW)
    total = 0.0
    for k in range(lo, hi):
        w[k] = math.exp(s[k] - top)
        total += w[k]
    scale = 1.0 / total
    for k in range(lo, hi):
        w[k] *= scale
    tail[LO] = lo
    tail[HI] = hi
    tail[OUT] = len(s) * math.exp(-WINDOW)
    tail[LOG_Z] = top + math.log(total)


@njit(nogil=True, error_model="numpy")
def multiply_window(w, l, tail, predictive):
    """W <- W l / predictive, the posterior after adding an observation."""
    lo = int(tail[LO])
    hi = int(tail[HI])
    window = w[lo:hi]
    row = l[lo:hi]
    scale = 1.0 / predictive
    for k in range(len(window)):
        window[k] *= row[k] * scale
    tail[OUT] *= scale
    tail[LOG_Z] += math.log(predictive)


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
        for d in range(self.index.shape[1]):
            start = d * (2 * G + TAIL)
            stat[start : start + G] = 0.0
            stat[start + G : start + 2 * G] = 1.0 / G
            tail = stat[start + 2 * G : start + 2 * G + TAIL]
            tail[LO] = 0
            tail[HI] = G
            tail[OUT] = 0.0
            tail[LOG_Z] = math.log(G)

    def add(self, stat, i):
        G = self.xi.shape[1]
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row < 0:
                continue
            start = d * (2 * G + TAIL)
            s = stat[start : start + G]
            w = stat[start + G : start + 2 * G]
            tail = stat[start + 2 * G : start + 2 * G + TAIL]
            l = self.likelihood[row]
            predictive = dot(w[int(tail[LO]) : int(tail[HI])], l[int(tail[LO]) : int(tail[HI])])
            accumulate(s, self.xi[row], 1.0)
            if predictive > EXACT * tail[OUT] and predictive > 1e-200 and tail[OUT] < HIDDEN:
                multiply_window(w, l, tail, predictive)
            else:
                renew_window(s, w, tail)

    def remove(self, stat, i):
        G = self.xi.shape[1]
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row < 0:
                continue
            start = d * (2 * G + TAIL)
            s = stat[start : start + G]
            accumulate(s, self.xi[row], -1.0)
            renew_window(
                s, stat[start + G : start + 2 * G], stat[start + 2 * G : start + 2 * G + TAIL]
            )

    def add_many(self, stat, members):
        """Identical observations are counted first and added once."""
        G = self.xi.shape[1]
        count = np.zeros(self.xi.shape[0], np.int64)
        for d in range(self.index.shape[1]):
            start = d * (2 * G + TAIL)
            s = stat[start : start + G]
            for i in members:
                row = self.index[i, d]
                if row >= 0:
                    count[row] += 1
            for i in members:
                row = self.index[i, d]
                if row >= 0 and count[row] > 0:
                    accumulate(s, self.xi[row], float(count[row]))
                    count[row] = 0
            renew_window(
                s, stat[start + G : start + 2 * G], stat[start + 2 * G : start + 2 * G + TAIL]
            )

    def log_prior_predictive(self, i):
        total = 0.0
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row >= 0:
                total += self.log_mean[row]
        return total

    def log_predictive(self, stat, i, negligible):
        """Every factor is at most 1, so the product so far is a bound that can end the loop over samples early."""
        G = self.xi.shape[1]
        total = 0.0
        product = 1.0
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row < 0:
                continue
            start = d * (2 * G + TAIL)
            tail = stat[start + 2 * G : start + 2 * G + TAIL]
            lo = int(tail[LO])
            hi = int(tail[HI])
            predictive = dot(stat[start + G + lo : start + G + hi], self.likelihood[row, lo:hi])
            if predictive <= EXACT * tail[OUT] or predictive < 1e-200:
                total += math.log(product)
                product = 1.0
                if total + math.log(predictive + tail[OUT] + 1e-300) < negligible:
                    return -np.inf
                total += log_sum_exp(stat[start : start + G], self.xi[row], 1.0) - tail[LOG_Z]
            else:
                product *= predictive
                if product < 1e-15:
                    total += math.log(product)
                    product = 1.0
                    if total < negligible:
                        return -np.inf
        return total + math.log(product)

    def log_predictive_without(self, stat, i):
        """L(y_i | b without i) = 1 / sum_k W_k / l_k: nothing is taken out and put back."""
        G = self.xi.shape[1]
        total = 0.0
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row < 0:
                continue
            start = d * (2 * G + TAIL)
            s = stat[start : start + G]
            tail = stat[start + 2 * G : start + 2 * G + TAIL]
            lo = int(tail[LO])
            hi = int(tail[HI])
            inverse = dot_inverse(stat[start + G + lo : start + G + hi], self.likelihood[row, lo:hi])
            outside = max(
                maximum_sum(s[:lo], self.xi[row, :lo], -1.0), maximum_sum(s[hi:], self.xi[row, hi:], -1.0)
            )
            if inverse < 1e200 and math.log(inverse) + tail[LOG_Z] > outside + math.log(EXACT * G):
                total -= math.log(inverse)
            else:
                total += tail[LOG_Z] - log_sum_exp(s, self.xi[row], -1.0)
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
