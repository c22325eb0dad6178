"""The PyClone likelihood: a block shares one cellular prevalence per sample, on a grid of G points.

    L(y_b) = prod over samples d of (1/G) sum_k exp(S_dk),     S_dk = sum over i in b of Xi_dk(y_i)

A statistic holds for each sample, one after the other,

    S      (G,)  sum of the members' xi = Xi - max Xi
    W      (G,)  posterior exp(S_k) / sum exp(S), kept on the window [lo, hi) only
    top    (C,)  bounds on S: top[c] >= S_k for the k of chunk c, CHUNK points each
    lo, hi, out, log_z
                 the window, whole chunks; a bound on the posterior mass outside it; log sum exp(S)
    waiting, rows
                 number and rows (in the tables) of members that are yet to be added to S, or taken away if written as
                 -1 - row; only renewing the window needs S

so that a predictive is one dot product over the window, sum_k W_k l_k with l = exp(xi), and adding an observation
multiplies W by l. Nothing is approximated: what the window hides is bounded, first by ``out`` (as l <= 1), then by
``top`` and the extremes of xi in each chunk, and where it could matter in double precision the formula in logs over the
whole grid is used instead. Mutations without data in a sample have row -1 there and are flat.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba import njit

from pyclone_pgsm.likelihoods.contract import register
from pyclone_pgsm.tumour.grid import LocusTable, likelihood_grid

# Sums may be reordered (vectorised); maxima may assume that there is no NaN. Nothing else is relaxed.
SUM = {"reassoc", "nsz", "contract"}
MAX = {"reassoc", "nsz", "nnan"}

WINDOW = 100.0  # nats below the peak at which the posterior is cut off
HIDDEN = 1e-35  # mass outside the window that calls for a new window
EXACT = 1e13  # a sum over the window stands if it exceeds this many times what may lie outside
TINY = 1e-150  # sums below this may have lost precision to underflow
BUDGET = 300.0  # nats by which what W has lost to underflow may have grown before W is computed anew
DEEP = -300.0  # xi below this inside the window: W / l may have lost its numerator to underflow
CHUNK = 8  # grid points
ROOM = 32  # rows that may wait
LO, HI, OUT, LOG_Z, SPENT, WAITING, ROWS = 0, 1, 2, 3, 4, 5, 6
TAIL = ROWS + ROOM  # numbers after S, W and top

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


@njit(nogil=True, fastmath=MAX, error_model="numpy")
def highest_bound(stat, top, table, row, first, last, sign):
    """max_c top_c + sign table[row, c] over first <= c < last; four running maxima, because one waits for itself."""
    a = b = c = d = -np.inf
    k = np.uint64(first)
    top = np.uint64(top)
    row = np.uint64(row)
    while k + np.uint64(4) <= np.uint64(last):
        w = stat[top + k] + sign * table[row, k]
        x = stat[top + k + np.uint64(1)] + sign * table[row, k + np.uint64(1)]
        y = stat[top + k + np.uint64(2)] + sign * table[row, k + np.uint64(2)]
        z = stat[top + k + np.uint64(3)] + sign * table[row, k + np.uint64(3)]
        a = w if w > a else a
        b = x if x > b else b
        c = y if y > c else c
        d = z if z > d else d
        k += np.uint64(4)
    while k < np.uint64(last):
        w = stat[top + k] + sign * table[row, k]
        a = w if w > a else a
        k += np.uint64(1)
    return max(max(a, b), max(c, d))


@njit(nogil=True, error_model="numpy")
def outside(stat, top, table, row, lo, hi, sign):
    """Bound on S_k + sign xi_k over all k outside the window; ``table`` has the extremes of xi in each chunk."""
    below = int(lo) // CHUNK
    above = (int(hi) + CHUNK - 1) // CHUNK
    return max(
        highest_bound(stat, top, table, row, 0, below, sign),
        highest_bound(stat, top, table, row, above, table.shape[1], sign),
    )


@njit(nogil=True, error_model="numpy")
def least(low, row, lo, hi):
    """Smallest xi inside the window."""
    bound = np.inf
    for c in range(
        np.uint64(lo) // np.uint64(CHUNK), (np.uint64(hi) + np.uint64(CHUNK - 1)) // np.uint64(CHUNK)
    ):
        bound = min(bound, low[np.uint64(row), c])
    return bound


@njit(nogil=True, error_model="numpy")
def accumulate(stat, at, table, row, weight):
    """stat[at + k] += weight table[row, k] for all k."""
    for k in range(np.uint64(table.shape[1])):
        stat[np.uint64(at) + k] += weight * table[np.uint64(row), k]


@njit(nogil=True, error_model="numpy")
def settle(stat, at, C, xi):
    """Bring S of the sample whose part begins at `at` up to date with the rows that wait, four in one pass."""
    G = np.uint64(xi.shape[1])
    tail = at + 2 * xi.shape[1] + C
    waiting = int(stat[tail + WAITING])
    done = 0
    while done + 4 <= waiting:
        first = tail + ROWS + done
        w, x, y, z = stat[first], stat[first + 1], stat[first + 2], stat[first + 3]
        a, b, c, d = table_row(w), table_row(x), table_row(y), table_row(z)
        w, x, y, z = sign(w), sign(x), sign(y), sign(z)
        for k in range(G):
            stat[np.uint64(at) + k] += w * xi[a, k] + x * xi[b, k] + y * xi[c, k] + z * xi[d, k]
        done += 4
    while done < waiting:
        w = stat[tail + ROWS + done]
        accumulate(stat, at, xi, table_row(w), sign(w))
        done += 1
    stat[tail + WAITING] = 0


@njit(nogil=True)
def table_row(waiting):
    return np.uint64(waiting if waiting >= 0.0 else -1.0 - waiting)


@njit(nogil=True)
def sign(waiting):
    return 1.0 if waiting >= 0.0 else -1.0


@njit(nogil=True, error_model="numpy")
def wait(stat, at, C, xi, entry, bounds, weight):
    """Let a row wait for S to be settled, and move the chunks' bounds by its own."""
    G = xi.shape[1]
    top = at + 2 * G
    tail = top + C
    if stat[tail + WAITING] == ROOM:
        settle(stat, at, C, xi)
    stat[tail + ROWS + int(stat[tail + WAITING])] = entry
    stat[tail + WAITING] += 1
    row = table_row(entry)
    for c in range(np.uint64(C)):
        stat[np.uint64(top) + c] += weight * bounds[row, c]


@njit(nogil=True, error_model="numpy")
def log_sum_exp(stat, at, C, table, row, sign):
    """log sum_k exp(S_k + sign table[row, k]) over the whole grid."""
    settle(stat, at, C, table)
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
def renew_window(stat, at, C, xi):
    """Compute top, W, its window and log_z from S of the sample whose part begins at `at`."""
    settle(stat, at, C, xi)
    G = xi.shape[1]
    top = at + 2 * G
    tail = top + C
    highest = -np.inf
    for c in range(C):
        bound = maximum(stat, at + c * CHUNK, at + min(c * CHUNK + CHUNK, G))
        stat[top + c] = bound
        highest = max(highest, bound)
    first = 0
    while stat[top + first] < highest - WINDOW:
        first += 1
    last = C - 1
    while stat[top + last] < highest - WINDOW:
        last -= 1
    lo = first * CHUNK
    hi = min(last * CHUNK + CHUNK, G)
    total = 0.0
    for k in range(np.uint64(at + lo), np.uint64(at + hi)):
        w = math.exp(stat[k] - highest)
        stat[k + np.uint64(G)] = w
        total += w
    scale = 1.0 / total
    for k in range(np.uint64(at + G + lo), np.uint64(at + G + hi)):
        stat[k] *= scale
    stat[tail + LO] = lo
    stat[tail + HI] = hi
    stat[tail + OUT] = G * math.exp(-WINDOW)
    stat[tail + LOG_Z] = highest + math.log(total)
    stat[tail + SPENT] = 0.0


@njit(nogil=True, error_model="numpy")
def add_one(stat, at, C, xi, likelihood, high, row):
    """Add an observation in the sample whose part begins at `at`: S + xi, and W l / predictive on the window."""
    G = xi.shape[1]
    top = at + 2 * G
    tail = top + C
    lo = stat[tail + LO]
    hi = stat[tail + HI]
    predictive = dot(stat, at + G, likelihood, row, lo, hi)
    hidden = stat[tail + OUT]
    if predictive <= EXACT * hidden and predictive > TINY:
        # a better bound, and the window may stay
        bound = outside(stat, top, high, row, lo, hi, 1.0) - stat[tail + LOG_Z]
        hidden = min(hidden, G * math.exp(min(bound, 0.0)))
    wait(stat, at, C, xi, row, high, 1.0)
    log_predictive = math.log(predictive) if predictive > TINY else -np.inf
    if hidden < HIDDEN * predictive and stat[tail + SPENT] - log_predictive < BUDGET:
        stat[tail + SPENT] -= log_predictive
        scale = 1.0 / predictive
        for k in range(np.uint64(lo), np.uint64(hi)):
            stat[np.uint64(at + G) + k] *= likelihood[np.uint64(row), k] * scale
        stat[tail + OUT] = hidden * scale
        stat[tail + LOG_Z] += log_predictive
    else:
        renew_window(stat, at, C, xi)


@njit(nogil=True, error_model="numpy")
def remove_one(stat, at, C, xi, likelihood, low, row):
    """Take an observation out in the sample whose part begins at `at`: the reverse of :func:`add_one`."""
    G = xi.shape[1]
    top = at + 2 * G
    tail = top + C
    lo = stat[tail + LO]
    hi = stat[tail + HI]
    inverse = dot_inverse(stat, at + G, likelihood, row, lo, hi)
    bound = outside(stat, top, low, row, lo, hi, -1.0) - stat[tail + LOG_Z]
    wait(stat, at, C, xi, -1.0 - row, low, -1.0)
    spent = stat[tail + SPENT] - least(low, row, lo, hi)
    log_inverse = math.log(inverse) if inverse < 1.0 / TINY else -np.inf
    if spent < BUDGET and bound - log_inverse < math.log(HIDDEN / G):
        stat[tail + SPENT] = spent
        scale = 1.0 / inverse
        for k in range(np.uint64(lo), np.uint64(hi)):
            stat[np.uint64(at + G) + k] *= scale / likelihood[np.uint64(row), k]
        stat[tail + OUT] = G * math.exp(bound - log_inverse)
        stat[tail + LOG_Z] += log_inverse
    else:
        renew_window(stat, at, C, xi)


@njit(nogil=True, error_model="numpy")
def log_predictives(index, xi, likelihood, high, stats, slots, i, negligible, out):
    """out[b] = log L(y_i | block) for the blocks whose statistics are ``stats[slots[b]]``.

    A block that is out of the question is recognised by the largest l in its windows, without a look at the grid. Every
    factor is at most 1, so the product so far is a bound that can end the loop over samples early.
    """
    G = xi.shape[1]
    C = high.shape[1]
    flat = stats.reshape(stats.size)
    for b in range(len(slots)):
        at = slots[b] * stats.shape[1]
        bound = 0.0
        total = 0.0
        product = 1.0
        for d in range(index.shape[1]):
            row = index[i, d]
            if row < 0:
                continue
            start = at + d * (2 * G + C + TAIL)
            tail = start + 2 * G + C
            if negligible > -np.inf:
                largest = math.log(HIDDEN)
                last = (np.uint64(flat[tail + HI]) + np.uint64(CHUNK - 1)) // np.uint64(CHUNK)
                for c in range(np.uint64(flat[tail + LO]) // np.uint64(CHUNK), last):
                    largest = max(largest, high[np.uint64(row), c])
                bound += largest + math.log(2.0)  # twice, for what the window hides
                if bound < negligible:
                    total = -np.inf
                    break
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
                if total + math.log(predictive + hidden + TINY) < negligible:
                    total = -np.inf
                else:
                    total += log_far_predictive(flat, start, xi, high, row, predictive)
            if total < negligible:
                break
        out[b] = total + math.log(product)


@njit(nogil=True, error_model="numpy")
def log_far_predictive(stat, at, xi, high, row, predictive):
    """log predictive of an observation for which the window holds little; `predictive` is the sum over the window."""
    G = xi.shape[1]
    C = high.shape[1]
    top = at + 2 * G
    tail = top + C
    if predictive > TINY:
        bound = outside(stat, top, high, row, stat[tail + LO], stat[tail + HI], 1.0) - stat[tail + LOG_Z]
        if bound < math.log(predictive) - math.log(EXACT * G):
            return math.log(predictive)
    return log_sum_exp(stat, at, C, xi, row, 1.0) - stat[tail + LOG_Z]


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
    low, high : (U, C) float64
        Least and largest xi of each chunk of the grid.
    """

    index: np.ndarray
    xi: np.ndarray
    likelihood: np.ndarray
    xi_max: np.ndarray
    log_mean: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def stat_size(self):
        return self.index.shape[1] * (2 * self.xi.shape[1] + self.low.shape[1] + TAIL)

    def clear(self, stat):
        G = self.xi.shape[1]
        C = self.low.shape[1]
        for start in range(0, len(stat), 2 * G + C + TAIL):
            tail = start + 2 * G + C
            stat[start : start + G] = 0.0
            stat[start + G : start + 2 * G] = 1.0 / G
            stat[start + 2 * G : tail] = 0.0
            stat[tail + LO] = 0
            stat[tail + HI] = G
            stat[tail + OUT] = 0.0
            stat[tail + LOG_Z] = math.log(G)
            stat[tail + SPENT] = np.inf  # the first observation makes a window
            stat[tail + WAITING] = 0

    def add(self, stat, i):
        size = 2 * self.xi.shape[1] + self.low.shape[1] + TAIL
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row >= 0:
                add_one(stat, d * size, self.low.shape[1], self.xi, self.likelihood, self.high, row)

    def remove(self, stat, i):
        size = 2 * self.xi.shape[1] + self.low.shape[1] + TAIL
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row >= 0:
                remove_one(stat, d * size, self.low.shape[1], self.xi, self.likelihood, self.low, row)

    def add_many(self, stat, members):
        """Identical observations are counted first and added once."""
        G = self.xi.shape[1]
        C = self.low.shape[1]
        count = np.zeros(self.xi.shape[0], np.int64)
        for d in range(self.index.shape[1]):
            start = d * (2 * G + C + TAIL)
            for i in members:
                row = self.index[i, d]
                if row >= 0:
                    count[row] += 1
            for i in members:
                row = self.index[i, d]
                if row >= 0 and count[row] > 0:
                    accumulate(stat, start, self.xi, row, float(count[row]))
                    count[row] = 0
            renew_window(stat, start, C, self.xi)

    def kind(self, i):
        """With one sample, mutations that share their row of the tables."""
        return self.index[i, 0] + 1 if self.index.shape[1] == 1 else i

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
        log_predictives(self.index, self.xi, self.likelihood, self.high, stats, slots, i, negligible, out)

    def log_predictive_without(self, stat, i):
        """L(y_i | b without i) = 1 / sum_k W_k / l_k: nothing is taken out and put back."""
        G = self.xi.shape[1]
        C = self.low.shape[1]
        total = 0.0
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row < 0:
                continue
            start = d * (2 * G + C + TAIL)
            tail = start + 2 * G + C
            lo = stat[tail + LO]
            hi = stat[tail + HI]
            inverse = dot_inverse(stat, start + G, self.likelihood, row, lo, hi)
            # where l underflows inside the window the sum is infinite or NaN, and not below the limit
            if inverse < 1.0 / TINY and least(self.low, row, lo, hi) > DEEP:
                bound = outside(stat, start + 2 * G, self.low, row, lo, hi, -1.0) - stat[tail + LOG_Z]
                if bound < math.log(inverse) - math.log(EXACT * G):
                    total -= math.log(inverse)
                    continue
            total += stat[tail + LOG_Z] - log_sum_exp(stat, start, C, self.xi, row, -1.0)
        return total

    def log_marginal(self, stat):
        G = self.xi.shape[1]
        size = 2 * G + self.low.shape[1] + TAIL
        total = 0.0
        for d in range(self.index.shape[1]):
            total += stat[d * size + size - TAIL + LOG_Z] - math.log(G)
        return total

    def log_predictive_new(self, stat, x):
        """x: Xi of a new mutation on the grid, sample after sample; (D G,)."""
        G = self.xi.shape[1]
        C = self.low.shape[1]
        total = 0.0
        for d in range(self.index.shape[1]):
            start = d * (2 * G + C + TAIL)
            settle(stat, start, C, self.xi)
            highest = -np.inf
            for k in range(G):
                highest = max(highest, stat[start + k] + x[d * G + k])
            mass = 0.0
            for k in range(G):
                mass += math.exp(stat[start + k] + x[d * G + k] - highest)
            total += highest + math.log(mass) - stat[start + 2 * G + C + LOG_Z]
        return total

    def log_constant(self):
        present = self.index[self.index >= 0]
        return float(np.sum(self.xi_max[present]))


def make_pyclone(index, xi, likelihood, xi_max, log_mean) -> PyClone:
    """The likelihood with its chunks' extremes; arguments as the attributes of :class:`PyClone`."""
    chunks = np.arange(0, xi.shape[1], CHUNK)
    low = np.minimum.reduceat(xi, chunks, axis=1)
    high = np.maximum.reduceat(xi, chunks, axis=1)
    return PyClone(index, xi, likelihood, xi_max, log_mean, low, high)


@dataclass(frozen=True)
class Choice:
    """A hyperparameter that takes one of a few values; a chain proposes places near its present one.

    Attributes
    ----------
    values : tuple of float
        Increasing.
    prior : tuple of float
        Probability of each value, up to a constant.
    start : float
        The value at the start of a chain.
    jumps : tuple of int
        Places from a value to the one proposed, down or up, equally likely.
    """

    values: tuple[float, ...]
    prior: tuple[float, ...]
    start: float
    jumps: tuple[int, ...] = (1,)

    def log_prior(self, value: float) -> float:
        return math.log(self.prior[self.values.index(value)] / sum(self.prior))

    def propose(self, value: float, rng: np.random.Generator) -> float:
        """Symmetric; beyond an end, stay."""
        jump = self.jumps[int(rng.integers(len(self.jumps)))]
        where = self.values.index(value) + (jump if rng.random() < 0.5 else -jump)
        return self.values[where] if 0 <= where < len(self.values) else value


LARGE_PRECISION = 1e4
_FINITE = tuple(10.0 ** (exponent / 8.0) for exponent in range(8, 41))
_WEIGHTS = tuple(min(precision, LARGE_PRECISION) for precision in _FINITE)
PRECISION = Choice((*_FINITE, math.inf), (*_WEIGHTS, sum(_WEIGHTS)), 1000.0, (1, 1, 1, 1, 1, 2, 4, 8))
"""Half of the prior is on the binomial, the limit. The other half is proportional to the precision up to 10,000 and
flat from there: strong overdispersion is less likely beforehand, as with PyClone's Gamma(1, 0.0001)."""
ERROR_RATE = Choice((1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2), (1.0,) * 7, 1e-3)
KEPT_BYTES = 400 << 20  # tables not in use that are kept


class PyCloneModel:
    """PyClone's likelihood with a beta-binomial precision and an error rate that are fixed, or inferred.

    Parameters
    ----------
    table : LocusTable
        The distinct observations. Error rates that are NaN are inferred, one for all (:data:`ERROR_RATE`).
    grid_size : int
        G.
    genotype_prior, density : str
        See :func:`pyclone_pgsm.tumour.grid.likelihood_grid`.
    precision : float or None
        Fixed precision; None infers it (:data:`PRECISION`). Ignored by the binomial density.
    """

    def __init__(
        self, table: LocusTable, grid_size: int, genotype_prior: str, density: str, precision: float | None
    ) -> None:
        self.table = table
        self.grid_size = grid_size
        self.genotype_prior = genotype_prior
        self.density = density
        self.precision = math.inf if density == "binomial" else precision
        self._choices: dict[str, Choice] = {}
        if self.precision is None:
            self._choices["precision"] = PRECISION
        if np.isnan(table.error_rate).any():
            self._choices["error_rate"] = ERROR_RATE
        self.hyperparameters: tuple[str, ...] = tuple(self._choices)
        self.num_observations = len(table.index)
        self.order = np.argsort(table.index[:, 0], kind="stable")
        self._lock = threading.Lock()
        self._tables: OrderedDict[tuple[float, ...], PyClone] = OrderedDict()

    def initial_values(self) -> tuple[float, ...]:
        return tuple(choice.start for choice in self._choices.values())

    def likelihood(self, values: tuple[float, ...]) -> PyClone:
        """Tables at given values: computed when first asked for, the latest kept."""
        with self._lock:
            if values not in self._tables:
                self._tables[values] = self._make(dict(zip(self._choices, values)))
                kept = max(3, KEPT_BYTES // max(1, 2 * self._tables[values].xi.nbytes))
                while len(self._tables) > kept:
                    self._tables.popitem(last=False)
            self._tables.move_to_end(values)
            return self._tables[values]

    def _make(self, given: dict[str, float]) -> PyClone:
        table = self.table
        if "error_rate" in given:
            told = ~np.isnan(table.error_rate)
            table = replace(table, error_rate=np.where(told, table.error_rate, given["error_rate"]))
        precision = given.get("precision", self.precision)
        xi = likelihood_grid(table, self.grid_size, self.genotype_prior, self.density, precision)
        return make_pyclone(table.index, *xi)

    def log_hyperprior(self, values: tuple[float, ...]) -> float:
        return sum(choice.log_prior(value) for choice, value in zip(self._choices.values(), values))

    def propose(self, values: tuple[float, ...], rng: np.random.Generator) -> tuple[tuple[float, ...], float]:
        """Another value of one of the hyperparameters."""
        which = int(rng.integers(len(values))) if len(values) > 1 else 0
        choice = tuple(self._choices.values())[which]
        return (*values[:which], choice.propose(values[which], rng), *values[which + 1 :]), 0.0
