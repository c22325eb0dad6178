"""The PyClone likelihood: a block shares one cellular prevalence per sample, on a grid of G points.

    L(y_b) = prod over samples d of (1/G) sum_k exp(S_dk),     S_dk = log G h_dk + sum over i in b of Xi_dk(y_i)

with h_dk the base measure of sample d, the prior mass of grid point k: 1/G each, or learned from the tumour
(:mod:`pyclone_pgsm.tumour.base_measure`). A statistic holds for each sample, one after the other,

    S      (G,)  log base measure (log G h_dk) and sum of the members' xi = Xi - max Xi
    W      (G,)  posterior exp(S_k) / sum exp(S), kept on the window [lo, hi) only
    top    (C,)  bounds on S: top[c] >= S_k for the k of chunk c, ceil(G / C) points each
    lo, hi, first, last, out, log_z, spent
                 the window in points and in chunks; a bound on the posterior mass outside it; log sum exp(S); by how
                 many nats what W has lost to underflow may have grown
    sketch, begin, end
                 whether S is kept only in the chunks begin <= c < end, which may be none: without S the window can only
                 become narrower, and ``waiting`` counts the additions since it was last looked at
    masses, mass (C,)
                 whether the posterior masses of the window's chunks are up to date, and these
    asked, answer
                 the row that W was last asked about, or -1, and sum_k W_k l_k of it: what is asked about is often added
    waiting, rows
                 number and rows (in the tables) of members that are yet to be added to S, or taken away if written as
                 -1 - row; only renewing the window needs S

so that a predictive is one dot product over the window, sum_k W_k l_k with l = exp(xi), and adding an observation
multiplies W by l. Nothing is approximated: what the window hides is bounded, first by ``out`` (as l <= 1), then by
``top`` and the extremes of xi in each chunk, and where it could matter in double precision the formula in logs over the
whole grid is used instead. A sketch does not know S; where that is wanted it says so, by a NaN. It is for blocks that
come and go, such as those of particles. One that is made of many members at once has summed them up, and keeps S about
its peak. Mutations without data in a sample have row -1 there and are flat.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.likelihoods.contract import leaf, register
from pyclone_pgsm.partition import Partition

# Sums may be reordered (vectorised); maxima may assume that there is no NaN. Nothing else is relaxed.
SUM = {"reassoc", "nsz", "contract"}
MAX = {"reassoc", "nsz", "nnan"}

WINDOW = 60.0  # nats below the peak at which the posterior is cut off
HIDDEN = 1e-17  # mass outside the window that calls for a new window
EXACT = 1e13  # a sum over the window stands if it exceeds this many times what may lie outside
TINY = 1e-150  # sums below this may have lost precision to underflow
BUDGET = 300.0  # nats by which what W has lost to underflow may have grown before W is computed anew
SMALLEST = 1e-300  # larger than what underflow touches
NEGLIGIBLE = 1e-30  # chunks where W is below are left out of a sketch's window
EVERY = 4  # additions to a sketch until it is looked for such chunks
SPARING = 100.0  # nats spent from which on it is looked whether a sketch has lost anything to underflow
KEPT = 1000.0  # nats below the peak down to which a sketch keeps S, where it has it
DEEP = -300.0  # xi below this inside the window: W / l may have lost its numerator to underflow
ROUNDING = 1e-12  # what a bound may be wrong by
CHUNK, CHUNKS = 8, 64  # chunks have a multiple of so many grid points, and there are about so many at most
ROOM = 32  # rows that may wait
LO, HI, FIRST, LAST, OUT, LOG_Z, SPENT, SKETCH, BEGIN, END, MASSES, ASKED, ANSWER, WAITING, ROWS = range(15)
TAIL = ROWS + ROOM  # numbers between top and mass

# The kernels below address parts of a statistic by their offset: slices would be counted references, which costs more
# than the arithmetic. Offsets are unsigned, or numba would check for negative ones, and loops would not vectorise.


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def dot(stat, at, table, row, lo, hi):
    """sum_k stat[at + k] table[row, k] over lo <= k < hi."""
    total = 0.0
    for k in range(np.uint64(lo), np.uint64(hi)):
        total += stat[np.uint64(at) + k] * table[np.uint64(row), k]
    return total


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def dot_inverse(stat, at, table, row, lo, hi):
    """sum_k stat[at + k] / table[row, k] over lo <= k < hi."""
    total = 0.0
    for k in range(np.uint64(lo), np.uint64(hi)):
        total += stat[np.uint64(at) + k] / table[np.uint64(row), k]
    return total


@inner(**LEAF, fastmath=MAX, error_model="numpy")
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


@inner(**LEAF, fastmath=MAX, error_model="numpy")
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


@inner(**LEAF, error_model="numpy")
def outside(stat, top, table, row, sign):
    """Bound on S_k + sign xi_k over all k outside the window; ``table`` has the extremes of xi in each chunk."""
    C = table.shape[1]
    return max(
        highest_bound(stat, top, table, row, 0.0, stat[top + C + FIRST], sign),
        highest_bound(stat, top, table, row, stat[top + C + LAST], float(C), sign),
    )


@inner(**LEAF, error_model="numpy")
def least(stat, tail, low, row):
    """Smallest xi inside the window."""
    bound = np.inf
    for c in range(np.uint64(stat[tail + FIRST]), np.uint64(stat[tail + LAST])):
        bound = min(bound, low[np.uint64(row), c])
    return bound


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def accumulate(stat, at, table, row, weight, first, last):
    """stat[at + k] += weight table[row, k] over first <= k < last."""
    for k in range(np.uint64(first), np.uint64(last)):
        stat[np.uint64(at) + k] += weight * table[np.uint64(row), k]


@inner(**LEAF, error_model="numpy")
def points_per_chunk(G, C):
    return (G + C - 1) // C


@inner(**LEAF)
def forget(stat, tail):
    """W or its window has changed: what was computed from it holds no more."""
    stat[tail + MASSES] = 0.0
    stat[tail + ASKED] = -1.0


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def settle(stat, at, C, xi):
    """Bring S of the sample whose part begins at `at` up to date with the rows that wait, four in one pass."""
    G = xi.shape[1]
    tail = at + 2 * G + C
    points = points_per_chunk(G, C)
    lo = np.uint64(int(stat[tail + BEGIN]) * points)
    hi = np.uint64(min(int(stat[tail + END]) * points, G))
    waiting = int(stat[tail + WAITING])
    done = 0
    while done + 4 <= waiting:
        first = tail + ROWS + done
        w, x, y, z = stat[first], stat[first + 1], stat[first + 2], stat[first + 3]
        a, b, c, d = table_row(w), table_row(x), table_row(y), table_row(z)
        w, x, y, z = sign(w), sign(x), sign(y), sign(z)
        for k in range(lo, hi):
            stat[np.uint64(at) + k] += w * xi[a, k] + x * xi[b, k] + y * xi[c, k] + z * xi[d, k]
        done += 4
    while done < waiting:
        w = stat[tail + ROWS + done]
        accumulate(stat, at, xi, table_row(w), sign(w), lo, hi)
        done += 1
    stat[tail + WAITING] = 0


@inner(**LEAF)
def table_row(waiting):
    return np.uint64(waiting if waiting >= 0.0 else -1.0 - waiting)


@inner(**LEAF)
def sign(waiting):
    return 1.0 if waiting >= 0.0 else -1.0


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def multiply(stat, at, table, row, scale, lo, hi):
    """stat[at + k] *= scale table[row, k] over lo <= k < hi."""
    for k in range(np.uint64(lo), np.uint64(hi)):
        stat[np.uint64(at) + k] *= table[np.uint64(row), k] * scale


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def move_bounds(stat, top, bounds, row, weight):
    """top_c += weight bounds[row, c]."""
    for c in range(np.uint64(bounds.shape[1])):
        stat[np.uint64(top) + c] += weight * bounds[row, c]


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def wait(stat, at, C, xi, entry, bounds, weight):
    """Let a row wait for S to be settled, and move the chunks' bounds by its own. Its opposite cancels it."""
    G = xi.shape[1]
    top = at + 2 * G
    tail = top + C
    move_bounds(stat, top, bounds, table_row(entry), weight)
    last = tail + ROWS + int(stat[tail + WAITING]) - 1
    if stat[tail + WAITING] > 0.0 and stat[last] == -1.0 - entry:
        stat[tail + WAITING] -= 1
        return
    if stat[tail + WAITING] == ROOM:
        settle(stat, at, C, xi)
    stat[tail + ROWS + int(stat[tail + WAITING])] = entry
    stat[tail + WAITING] += 1


@inner(**LEAF, error_model="numpy")
def log_sum_exp(stat, at, C, table, row, sign):
    """log sum_k exp(S_k + sign table[row, k]) over the whole grid; NaN if S is not known."""
    G = table.shape[1]
    tail = at + 2 * G + C
    if stat[tail + SKETCH] == 1.0:
        return np.nan
    settle(stat, at, C, table)
    top = -np.inf
    for k in range(np.uint64(G)):
        top = max(top, stat[np.uint64(at) + k] + sign * table[np.uint64(row), k])
    total = 0.0
    for k in range(np.uint64(G)):
        value = stat[np.uint64(at) + k] + sign * table[np.uint64(row), k] - top
        if value > -60.0:
            total += math.exp(value)
    return top + math.log(total)


@inner(**LEAF, error_model="numpy")
def renew_window(stat, at, C, xi):
    """Compute top, W, its window and log_z from S of the sample whose part begins at `at`, where S is kept."""
    settle(stat, at, C, xi)
    G = xi.shape[1]
    top = at + 2 * G
    tail = top + C
    points = points_per_chunk(G, C)
    begin, end = int(stat[tail + BEGIN]), int(stat[tail + END])
    highest = -np.inf
    for c in range(begin, end):
        bound = maximum(stat, at + c * points, at + min((c + 1) * points, G))
        stat[top + c] = bound
        highest = max(highest, bound)
    first, last = begin, end
    while stat[top + first] < highest - WINDOW:
        first += 1
    while stat[top + last - 1] < highest - WINDOW:
        last -= 1
    lo = first * points
    hi = min(last * points, G)
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
    stat[tail + FIRST] = first
    stat[tail + LAST] = last
    beyond = max(maximum(stat, top, top + begin), maximum(stat, top + end, top + C))
    stat[tail + OUT] = G * (math.exp(-WINDOW) + math.exp(min(beyond - highest, 0.0)))
    stat[tail + LOG_Z] = highest + math.log(total)
    stat[tail + SPENT] = 0.0
    forget(stat, tail)


@inner(**LEAF, error_model="numpy")
def keep_peak(stat, top, C):
    """Let a sketch that has S keep it in the chunks about its peak, and those between."""
    tail = top + C
    least = maximum(stat, top, top + C) - KEPT
    while stat[top + int(stat[tail + BEGIN])] < least:
        stat[tail + BEGIN] += 1
    while stat[top + int(stat[tail + END]) - 1] < least:
        stat[tail + END] -= 1


@inner(**LEAF, error_model="numpy")
def add_one(stat, at, C, xi, likelihood, high, row):
    """Add an observation in the sample whose part begins at `at`: S + xi, and W l / predictive on the window."""
    G = xi.shape[1]
    top = at + 2 * G
    tail = top + C
    lo = stat[tail + LO]
    hi = stat[tail + HI]
    predictive = stat[tail + ANSWER]
    if stat[tail + ASKED] != row:
        predictive = dot(stat, at + G, likelihood, row, lo, hi)
    hidden = stat[tail + OUT]
    if predictive <= EXACT * hidden and predictive > TINY:
        # a better bound, and the window may stay
        bound = outside(stat, top, high, row, 1.0) - stat[tail + LOG_Z]
        hidden = min(hidden, G * math.exp(min(bound, 0.0)))
    wait(stat, at, C, xi, float(row), high, 1.0)
    log_predictive = math.log(predictive) if predictive > TINY else -np.inf
    if hidden < HIDDEN * predictive and stat[tail + SPENT] - log_predictive < BUDGET:
        stat[tail + SPENT] -= log_predictive
        forget(stat, tail)
        multiply(stat, at + G, likelihood, row, 1.0 / predictive, lo, hi)
        stat[tail + OUT] = hidden / predictive
        stat[tail + LOG_Z] += log_predictive
    else:
        renew_window(stat, at, C, xi)


@inner(**LEAF, error_model="numpy")
def narrow_window(stat, at, C, G):
    """Leave out the window's outer chunks where W is negligible, of a sketch's sample whose part begins at `at`."""
    top = at + 2 * G
    tail = top + C
    points = points_per_chunk(G, C)
    begin = at + G
    first, last = int(stat[tail + FIRST]), int(stat[tail + LAST])
    lost = SMALLEST * math.exp(stat[tail + SPENT])  # larger than any W that underflow has touched
    largest = maximum(stat, begin + first * points, begin + min((first + 1) * points, G))
    while largest < NEGLIGIBLE:
        stat[top + first] = stat[tail + LOG_Z] + math.log(max(largest, lost)) + ROUNDING
        stat[tail + OUT] += points * NEGLIGIBLE
        first += 1
        largest = maximum(stat, begin + first * points, begin + min((first + 1) * points, G))
    largest = maximum(stat, begin + (last - 1) * points, begin + min(last * points, G))
    while largest < NEGLIGIBLE:
        last -= 1
        stat[top + last] = stat[tail + LOG_Z] + math.log(max(largest, lost)) + ROUNDING
        stat[tail + OUT] += points * NEGLIGIBLE
        largest = maximum(stat, begin + (last - 1) * points, begin + min(last * points, G))
    stat[tail + LO] = first * points
    stat[tail + HI] = min(last * points, G)
    stat[tail + FIRST] = first
    stat[tail + LAST] = last
    forget(stat, tail)
    if stat[tail + SPENT] >= SPARING:
        smallest = np.inf
        for k in range(begin + int(stat[tail + LO]), begin + int(stat[tail + HI])):
            smallest = min(smallest, stat[k])
        if smallest > lost:
            stat[tail + SPENT] = 0.0


@inner(**LEAF, error_model="numpy")
def add_to_sketch(stat, at, C, xi, likelihood, high, row):
    """The same as :func:`add_one` for a sketch. One whose window does not do is of no more use: its log_z is NaN."""
    G = xi.shape[1]
    top = at + 2 * G
    tail = top + C
    predictive = stat[tail + ANSWER]
    if stat[tail + ASKED] != row:
        predictive = dot(stat, at + G, likelihood, row, stat[tail + LO], stat[tail + HI])
    hidden = stat[tail + OUT]
    if hidden >= HIDDEN * predictive:
        bound = outside(stat, top, high, row, 1.0) - stat[tail + LOG_Z]
        hidden = min(hidden, G * math.exp(min(bound, 0.0)))
    spent = stat[tail + SPENT] - math.log(max(predictive, TINY))
    is_sure = predictive > TINY and hidden < HIDDEN * predictive and spent < 2.0 * BUDGET
    has_sums = stat[tail + BEGIN] < stat[tail + END]
    if has_sums:
        wait(stat, at, C, xi, float(row), high, 1.0)
        if not is_sure:
            renew_window(stat, at, C, xi)
            if stat[tail + OUT] < HIDDEN:
                return
    else:
        move_bounds(stat, top, high, np.uint64(row), 1.0)
    if not is_sure:
        stat[tail + OUT] = np.inf
        stat[tail + LOG_Z] = np.nan
        return
    multiply(stat, at + G, likelihood, row, 1.0 / predictive, stat[tail + LO], stat[tail + HI])
    stat[tail + OUT] = hidden / predictive
    stat[tail + LOG_Z] += math.log(predictive)
    stat[tail + SPENT] = spent
    forget(stat, tail)
    if has_sums:
        return
    stat[tail + WAITING] += 1
    if stat[tail + WAITING] == EVERY:
        stat[tail + WAITING] = 0
        narrow_window(stat, at, C, G)


@inner(**LEAF, error_model="numpy")
def remove_one(stat, at, C, xi, likelihood, low, row):
    """Take an observation out in the sample whose part begins at `at`: the reverse of :func:`add_one`."""
    G = xi.shape[1]
    top = at + 2 * G
    tail = top + C
    lo = stat[tail + LO]
    hi = stat[tail + HI]
    inverse = dot_inverse(stat, at + G, likelihood, row, lo, hi)
    bound = outside(stat, top, low, row, -1.0) - stat[tail + LOG_Z]
    wait(stat, at, C, xi, -1.0 - row, low, -1.0)
    spent = stat[tail + SPENT] - least(stat, tail, low, row)
    log_inverse = math.log(inverse) if inverse < 1.0 / TINY else -np.inf
    if spent < BUDGET and bound - log_inverse < math.log(HIDDEN / G):
        stat[tail + SPENT] = spent
        forget(stat, tail)
        scale = 1.0 / inverse
        for k in range(np.uint64(lo), np.uint64(hi)):
            stat[np.uint64(at + G) + k] *= scale / likelihood[np.uint64(row), k]
        stat[tail + OUT] = G * math.exp(bound - log_inverse)
        stat[tail + LOG_Z] += log_inverse
    else:
        renew_window(stat, at, C, xi)


@inner(**LEAF, error_model="numpy")
def log_far_predictive(stat, at, xi, high, row, predictive):
    """log predictive of an observation for which the window holds little; `predictive` is the sum over the window."""
    G = xi.shape[1]
    C = high.shape[1]
    top = at + 2 * G
    tail = top + C
    if predictive > TINY:
        bound = outside(stat, top, high, row, 1.0) - stat[tail + LOG_Z]
        if bound < math.log(predictive) - math.log(EXACT * G):
            return math.log(predictive)
    return log_sum_exp(stat, at, C, xi, row, 1.0) - stat[tail + LOG_Z]


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def fill_masses(flat, at, G, C):
    """Posterior masses of the window's chunks, of the sample whose part begins at `at`."""
    tail = at + 2 * G + C
    points = points_per_chunk(G, C)
    for c in range(int(flat[tail + FIRST]), int(flat[tail + LAST])):
        mass = 0.0
        for k in range(np.uint64(at + G + c * points), np.uint64(at + G + min((c + 1) * points, G))):
            mass += flat[k]
        flat[tail + TAIL + c] = mass
    flat[tail + MASSES] = 1.0


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def is_negligible(flat, at, index, highest, i, G, cut):
    """Whether log predictive of observation i is below `cut`, without a look at the grid, and only if that is sure.

    The statistic begins at ``flat[at]``. A predictive is at most the sum over chunks of mass times largest l, or for a
    sketch, which changes too often to know its masses, the largest l of all. No factor exceeds 1, so the samples that
    are left are not looked at once the product is too small.
    """
    C = highest.shape[1]
    limit = math.exp(cut) * (1.0 - ROUNDING)
    bound = 1.0
    for d in range(index.shape[1]):
        if index[i, d] < 0:
            continue
        row = np.uint64(index[i, d])
        start = at + d * (2 * (G + C) + TAIL)
        tail = start + 2 * G + C
        first, last = np.uint64(flat[tail + FIRST]), np.uint64(flat[tail + LAST])
        inside = 0.0
        if flat[tail + SKETCH] == 1.0:
            for c in range(first, last):
                inside = max(inside, highest[row, c])
        else:
            if flat[tail + MASSES] == 0.0:
                fill_masses(flat, start, G, C)
            for c in range(first, last):
                inside += flat[np.uint64(tail + TAIL) + c] * highest[row, c]
        bound *= inside + max(flat[tail + OUT], HIDDEN)
        if bound < limit:
            return True
    return False


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
    component_means : (U, J) float64
        Mean of ``likelihood`` under each component of a base measure that is a mixture; J = 0 if it is uniform.
    log_base, base : (D, G) float64
        log G h_dk and h_dk: all 0 and 1/G if the base measure is uniform.
    highest_base : (D, C) float64
        Largest log_base of each chunk of the grid.
    log_alone : (T,) float64
        log L(y_i) of each mutation in a block of its own, without what ``xi_max`` leaves out.
    low, high : (U, C) float64
        Least and largest xi of each chunk of the grid.
    highest : (U, C) float64
        Largest likelihood of each chunk, exp(high).
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
    highest: np.ndarray

    @leaf
    def stat_size(self):
        return self.index.shape[1] * (2 * (self.xi.shape[1] + self.low.shape[1]) + TAIL)

    @leaf
    def clear(self, stat):
        G = self.xi.shape[1]
        C = self.low.shape[1]
        for d in range(self.index.shape[1]):
            start = d * (2 * (G + C) + TAIL)
            tail = start + 2 * G + C
            for k in range(np.uint64(G)):
                stat[np.uint64(start) + k] = self.log_base[d, k]
                stat[np.uint64(start + G) + k] = self.base[d, k]
            for c in range(np.uint64(C)):
                stat[np.uint64(start + 2 * G) + c] = self.highest_base[d, c]
            stat[tail + LO] = 0
            stat[tail + HI] = G
            stat[tail + FIRST] = 0
            stat[tail + LAST] = C
            stat[tail + OUT] = 0.0
            stat[tail + LOG_Z] = math.log(G)
            stat[tail + SPENT] = np.inf  # the first observation makes a window
            stat[tail + SKETCH] = 0.0
            stat[tail + BEGIN] = 0
            stat[tail + END] = C
            forget(stat, tail)
            stat[tail + WAITING] = 0

    @leaf
    def clear_sketch(self, stat):
        self.clear(stat)
        size = 2 * (self.xi.shape[1] + self.low.shape[1]) + TAIL
        C = self.low.shape[1]
        for tail in range(size - C - TAIL, len(stat), size):
            stat[tail + SKETCH] = 1.0
            stat[tail + END] = 0
            stat[tail + SPENT] = 0.0

    @leaf
    def is_sketch(self, stat):
        return stat[len(stat) - self.low.shape[1] - TAIL + SKETCH] == 1.0

    @leaf
    def add(self, stat, i):
        C = self.low.shape[1]
        size = 2 * (self.xi.shape[1] + C) + TAIL
        is_sketch = self.is_sketch(stat)
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row < 0:
                continue
            if is_sketch:
                add_to_sketch(stat, d * size, C, self.xi, self.likelihood, self.high, row)
            else:
                add_one(stat, d * size, C, self.xi, self.likelihood, self.high, row)

    @leaf
    def remove(self, stat, i):
        size = 2 * (self.xi.shape[1] + self.low.shape[1]) + TAIL
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row >= 0:
                remove_one(stat, d * size, self.low.shape[1], self.xi, self.likelihood, self.low, row)

    def add_many(self, stat, members):
        """Identical observations are counted first and added once. A sketch must be empty."""
        G = self.xi.shape[1]
        C = self.low.shape[1]
        count = np.zeros(self.xi.shape[0], np.int64)
        for d in range(self.index.shape[1]):
            start = d * (2 * (G + C) + TAIL)
            for i in members:
                row = self.index[i, d]
                if row >= 0:
                    count[row] += 1
            for i in members:
                row = self.index[i, d]
                if row >= 0 and count[row] > 0:
                    accumulate(
                        stat, start, self.xi, np.uint64(row), float(count[row]), np.uint64(0), np.uint64(G)
                    )
                    count[row] = 0
            tail = start + 2 * G + C
            stat[tail + END] = C
            renew_window(stat, start, C, self.xi)
            if stat[tail + SKETCH] == 1.0:
                keep_peak(stat, start + 2 * G, C)

    @leaf
    def kind(self, i):
        """With one sample, mutations that share their row of the tables."""
        return self.index[i, 0] + 1 if self.index.shape[1] == 1 else i

    @leaf
    def log_prior_predictive(self, i):
        return self.log_alone[i]

    def log_predictive(self, stat, i, negligible):
        out = np.empty(1)
        slots, cuts = np.zeros(1, np.int64), np.full(1, negligible)
        self.log_predictives(stat.reshape(1, len(stat)), slots, i, cuts, out)
        return out[0]

    @leaf
    def log_predictives(self, stats, slots, i, negligible, out):
        """A block that is out of the question is known by the largest l in its chunks, without a look at the grid.

        Every factor is at most 1, so the product so far is a bound too, which can end the loop over samples early.
        """
        index, xi, likelihood, high, highest = self.index, self.xi, self.likelihood, self.high, self.highest
        G = xi.shape[1]
        C = high.shape[1]
        flat = stats.reshape(stats.size)
        for b in range(len(slots)):
            at = slots[b] * stats.shape[1]
            cut = negligible[b]
            if cut > -np.inf and is_negligible(flat, at, index, highest, i, G, cut):
                out[b] = -np.inf
                continue
            total = 0.0
            product = 1.0
            for d in range(index.shape[1]):
                row = index[i, d]
                if row < 0:
                    continue
                start = at + d * (2 * (G + C) + TAIL)
                tail = start + 2 * G + C
                hidden = flat[tail + OUT]
                predictive = dot(flat, start + G, likelihood, row, flat[tail + LO], flat[tail + HI])
                flat[tail + ASKED] = row
                flat[tail + ANSWER] = predictive
                if predictive > EXACT * hidden and predictive > TINY:
                    product *= predictive
                    if product > 1e-15:
                        continue
                    total += math.log(product)
                    product = 1.0
                else:
                    total += math.log(product)
                    product = 1.0
                    if total + math.log(predictive + hidden + TINY) < cut:
                        total = -np.inf
                    else:
                        total += log_far_predictive(flat, start, xi, high, row, predictive)
                if total < cut:
                    break
            out[b] = total + math.log(product)

    @leaf
    def log_predictive_without(self, stat, i):
        """L(y_i | b without i) = 1 / sum_k W_k / l_k: nothing is taken out and put back."""
        G = self.xi.shape[1]
        C = self.low.shape[1]
        log_exact = math.log(EXACT * G)
        total = 0.0
        product = 1.0
        for d in range(self.index.shape[1]):
            row = self.index[i, d]
            if row < 0:
                continue
            start = d * (2 * (G + C) + TAIL)
            tail = start + 2 * G + C
            inverse = dot_inverse(stat, start + G, self.likelihood, row, stat[tail + LO], stat[tail + HI])
            # where l underflows inside the window the sum is infinite or NaN, and not below the limit
            if inverse < 1.0 / TINY and least(stat, tail, self.low, row) > DEEP:
                bound = outside(stat, start + 2 * G, self.low, row, -1.0) - stat[tail + LOG_Z]
                # the sum is at least 1, as l <= 1: mostly that will do
                if bound < -log_exact or bound < math.log(inverse) - log_exact:
                    product *= inverse
                    if product > 1.0 / TINY:
                        total -= math.log(product)
                        product = 1.0
                    continue
            total += stat[tail + LOG_Z] - log_sum_exp(stat, start, C, self.xi, row, -1.0)
        return total - math.log(product)

    @leaf
    def log_marginal(self, stat):
        G = self.xi.shape[1]
        C = self.low.shape[1]
        size = 2 * (G + C) + TAIL
        total = 0.0
        for d in range(self.index.shape[1]):
            total += stat[d * size + 2 * G + C + LOG_Z] - math.log(G)
        return total

    def log_predictive_new(self, stat, x):
        """x: Xi of a new mutation on the grid, sample after sample; (D G,)."""
        G = self.xi.shape[1]
        C = self.low.shape[1]
        total = 0.0
        for d in range(self.index.shape[1]):
            start = d * (2 * (G + C) + TAIL)
            settle(stat, start, C, self.xi)
            highest = -np.inf
            for k in range(G):
                highest = max(highest, stat[start + k] + x[d * G + k])
            mass = 0.0
            for k in range(G):
                mass += math.exp(stat[start + k] + x[d * G + k] - highest)
            total += highest + math.log(mass) - stat[start + 2 * G + C + LOG_Z]
        return total

    def log_constants(self):
        return np.where(self.index < 0, 0.0, self.xi_max[self.index]).sum(axis=1)

    def log_constant(self):
        present = self.index[self.index >= 0]
        return float(np.sum(self.xi_max[present]))


def make_pyclone(index, xi, likelihood, xi_max, log_mean) -> PyClone:
    """The likelihood with a uniform base measure, and its chunks' extremes; arguments as the attributes."""
    (T, D), G = index.shape, xi.shape[1]
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
        highest=np.exp(high),
    )


def _of_rows(values, index):
    """``values[index]``, of which those at index -1 mean nothing; there may be no rows at all."""
    return values[index] if len(values) else np.zeros((*index.shape, *values.shape[1:]))


def _points_of_chunk(G: int) -> int:
    points = CHUNK * -(-G // (CHUNK * CHUNKS))
    return -(-G // -(-G // points))


def with_base(likelihood: PyClone, weights: NDArray[np.float64], components: NDArray[np.float64]) -> PyClone:
    """The likelihood with the base measure h_dk = sum_j w_dj A_jk.

    Parameters
    ----------
    likelihood : PyClone
        With its ``component_means``.
    weights : (D, J) float64
    components : (J, G) float64
        Each sums to 1 over the grid.
    """
    G = components.shape[1]
    base = weights @ components
    log_base = np.log(base * G)
    highest = np.maximum.reduceat(log_base, np.arange(0, G, _points_of_chunk(G)), axis=1)
    alone = np.einsum("tdj,dj->td", _of_rows(likelihood.component_means, likelihood.index), weights)
    log_alone = np.log(np.where(likelihood.index < 0, 1.0, alone)).sum(axis=1)
    return likelihood._replace(log_base=log_base, base=base, highest_base=highest, log_alone=log_alone)


def change_base(likelihood, before, partition):
    """Bring the statistics of a partition up to date with another base measure.

    Parameters
    ----------
    likelihood : PyClone
        With the new base measure.
    before : (D, G) float64
        ``log_base`` of the one that the statistics hold.
    partition : Partition
        Its statistics are changed in place.
    """
    D, G = likelihood.log_base.shape
    C = likelihood.low.shape[1]
    for b in range(partition.counter[0]):
        stat = partition.stats[partition.active[b]]
        for d in range(D):
            start = d * (2 * (G + C) + TAIL)
            settle(stat, start, C, likelihood.xi)
            for k in range(G):
                stat[start + k] += likelihood.log_base[d, k] - before[d, k]
            renew_window(stat, start, C, likelihood.xi)


def component_probabilities(likelihood, ratios, partition):
    """Posterior probabilities of the components of a base measure that is a mixture, for each block and sample.

    Given the grid point k, component j has the probability ``ratios[j, d, k]`` = w_dj A_jk / h_dk, the share of the
    component in the base measure. Averaged over the posterior of k,

        p_bdj = sum_k W_bdk ratios[j, d, k].

    Parameters
    ----------
    likelihood : PyClone
    ratios : (J, D, G) float64
    partition : Partition
        K blocks.

    Returns
    -------
    (K, D, J) float64
    """
    J, D, G = ratios.shape
    C = likelihood.low.shape[1]
    found = np.zeros((partition.counter[0], D, J))
    for b in range(partition.counter[0]):
        stat = partition.stats[partition.active[b]]
        for d in range(D):
            start = d * (2 * (G + C) + TAIL)
            tail = start + 2 * G + C
            for j in range(J):
                for k in range(int(stat[tail + LO]), int(stat[tail + HI])):
                    found[b, d, j] += stat[start + G + k] * ratios[j, d, k]
    return found


class Lattice(NamedTuple):
    """Equally distant points of the grid, on which a sum stands for that over the whole grid.

    Attributes
    ----------
    first, step : (K, D) int64
        The points first, first + step, .. of each block and sample; some may lie beyond the grid's ends.
    log_sum : (K, D) float64
        log sum exp(S) over the points.
    """

    first: NDArray[np.int64]
    step: NDArray[np.int64]
    log_sum: NDArray[np.float64]

    def of_samples(self, samples: slice) -> Lattice:
        return Lattice(self.first[:, samples], self.step[:, samples], self.log_sum[:, samples])


def posterior_lattice(likelihood: PyClone, partition: Partition, number: int, nats: float) -> Lattice:
    """So many points about the peak of the posterior of each block's prevalence, down to so many nats below.

    Of several peaks with less between them, they are about the highest.

    Parameters
    ----------
    likelihood : PyClone
    partition : Partition
        Its K blocks are taken in the order of ``active``.
    number : int
    nats : float
        Less than `WINDOW`.
    """
    G, C = likelihood.xi.shape[1], likelihood.low.shape[1]
    size = 2 * (G + C) + TAIL
    slots = partition.active[: partition.counter[0]]
    k = np.arange(G)
    of_samples = []
    for d in range(likelihood.index.shape[1]):
        stats = partition.stats[slots, d * size : (d + 1) * size]
        tail = stats[:, 2 * G + C :]
        is_inside = (tail[:, LO, None] <= k) & (k < tail[:, HI, None])
        posterior = np.where(is_inside, stats[:, G : 2 * G], 0.0)
        peak = np.argmax(posterior, axis=1)[:, None]
        is_low = posterior < math.exp(-nats) * np.take_along_axis(posterior, peak, axis=1)
        begin = np.where(is_low & (k < peak), k + 1, 0).max(axis=1)
        span = np.where(is_low & (k > peak), k - 1, G - 1).min(axis=1) - begin
        step = span // number + 1
        first = begin - ((number - 1) * step - span) // 2
        points = first[:, None] + step[:, None] * np.arange(number)
        weights = np.take_along_axis(posterior, np.clip(points, 0, G - 1), axis=1)
        mass = np.where((points >= 0) & (points < G), weights, 0.0).sum(axis=1)
        of_samples.append((first, step, tail[:, LOG_Z] + np.log(mass)))
    first, step, log_sum = (np.stack(each, axis=1) for each in zip(*of_samples))
    return Lattice(first, step, log_sum)
