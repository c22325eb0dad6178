"""The statistic of a block under the PyClone likelihood, and how observations join and leave it.

A statistic consists of these numbers for each sample, at the positions given by :class:`Part`:

    sums     (G,)  S_k = log G h_k + sum over members of xi_k, with xi = Xi - max Xi
    weights  (G,)  W_k = exp(S_k) / sum exp(S), the posterior on the grid; only valid in the *window* lo <= k < hi
    bounds   (C,)  bounds[c] >= S_k for the k of chunk c; a chunk is ceil(G / C) grid points
    lo, hi         the window in grid points; first, last: in chunks
    outside        a bound on the posterior mass outside the window
    log_z          log sum exp(S)
    spent          nats by which the weights may have been scaled up since they were computed from S; at BUDGET they are
                   recomputed, because values that had underflowed to 0 might matter by then

A predictive is then one dot product over the window, sum_k W_k l_k with l = exp(xi), and adding an observation
multiplies W by l. Only a new window needs S. Nothing is approximated: the mass outside the window is bounded, first by
``outside`` (as l <= 1), then by ``bounds`` and the extremes of xi in each chunk. If it could matter in double
precision, the formula in logs over the whole grid is used instead.

Kernels access the numbers of a statistic by position: slices would need reference counting, which costs more than the
arithmetic. Loops run over unsigned numbers; with signed ones numba would check for negative indices and not vectorise.
"""

import math
from typing import NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, SUM, inner

MAX = {"reassoc", "nsz", "nnan"}  # maxima may assume that there is no NaN; nothing else is relaxed

WINDOW = 60.0  # nats below the peak at which the posterior is cut off
HIDDEN = 1e-17  # mass outside the window that requires a new window
EXACT = 1e13  # a sum over the window is exact if it exceeds this many times what may lie outside
TINY = 1e-150  # sums below this may have lost precision to underflow
BUDGET = 300.0  # nats by which W may have been scaled up before it is recomputed
DEEP = -300.0  # xi below this inside the window: W / l may have lost its numerator to underflow


class Part(NamedTuple):
    """Positions of the numbers of one sample in a statistic; for arrays, that of the first element."""

    sums: int
    weights: int
    bounds: int
    lo: int
    hi: int
    first: int
    last: int
    outside: int
    log_z: int
    spent: int


SCALARS = len(Part._fields) - Part._fields.index("lo")


@inner(**LEAF, error_model="numpy")
def part_of(start, d, G, C):
    """Return the part of sample d in the statistic that begins at `start`."""
    size = 2 * G + C + SCALARS
    sums = start + d * size
    lo = sums + 2 * G + C
    return Part(sums, sums + G, sums + 2 * G, lo, lo + 1, lo + 2, lo + 3, lo + 4, lo + 5, lo + 6)


# Loops over the grid and over its chunks


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def dot(stat, at, table, row, lo, hi):
    """Return sum_k stat[at + k] table[row, k] over lo <= k < hi."""
    total = 0.0
    for k in range(np.uint64(lo), np.uint64(hi)):
        total += stat[np.uint64(at) + k] * table[np.uint64(row), k]
    return total


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def dot_inverse(stat, at, table, row, lo, hi):
    """Return sum_k stat[at + k] / table[row, k] over lo <= k < hi."""
    total = 0.0
    for k in range(np.uint64(lo), np.uint64(hi)):
        total += stat[np.uint64(at) + k] / table[np.uint64(row), k]
    return total


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def accumulate(stat, at, table, row, weight):
    """Do stat[at + k] += weight table[row, k] for all k."""
    for k in range(np.uint64(table.shape[1])):
        stat[np.uint64(at) + k] += weight * table[np.uint64(row), k]


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def multiply(stat, at, table, row, scale, lo, hi):
    """Do stat[at + k] *= scale table[row, k] over lo <= k < hi."""
    for k in range(np.uint64(lo), np.uint64(hi)):
        stat[np.uint64(at) + k] *= table[np.uint64(row), k] * scale


@inner(**LEAF, fastmath=MAX, error_model="numpy")
def maximum(stat, lo, hi):
    """Return the largest of stat[lo..hi - 1]."""
    highest = -np.inf
    for k in range(np.uint64(lo), np.uint64(hi)):
        highest = max(highest, stat[k])
    return highest


@inner(**LEAF, fastmath=MAX, error_model="numpy")
def highest_bound(stat, bounds, table, row, first, last, sign):
    """Return max_c bounds_c + sign table[row, c] over first <= c < last."""
    highest = -np.inf
    for c in range(np.uint64(first), np.uint64(last)):
        highest = max(highest, stat[np.uint64(bounds) + c] + sign * table[np.uint64(row), c])
    return highest


@inner(**LEAF, error_model="numpy")
def bound_outside(stat, part, table, row, sign):
    """Return a bound on S_k + sign xi_k over all k outside the window; ``table`` has the extremes of xi per chunk."""
    C = table.shape[1]
    return max(
        highest_bound(stat, part.bounds, table, row, 0.0, stat[part.first], sign),
        highest_bound(stat, part.bounds, table, row, stat[part.last], float(C), sign),
    )


@inner(**LEAF, error_model="numpy")
def least_inside(stat, part, low, row):
    """Return the smallest xi inside the window."""
    bound = np.inf
    for c in range(np.uint64(stat[part.first]), np.uint64(stat[part.last])):
        bound = min(bound, low[np.uint64(row), c])
    return bound


@inner(**LEAF, error_model="numpy")
def log_sum_exp(stat, part, xi, row, sign):
    """Return log sum_k exp(S_k + sign xi[row, k]) over the whole grid."""
    G = xi.shape[1]
    top = -np.inf
    for k in range(np.uint64(G)):
        top = max(top, stat[np.uint64(part.sums) + k] + sign * xi[np.uint64(row), k])
    total = 0.0
    for k in range(np.uint64(G)):
        value = stat[np.uint64(part.sums) + k] + sign * xi[np.uint64(row), k] - top
        if value > -60.0:
            total += math.exp(value)
    return top + math.log(total)


# Changes


@inner(**LEAF, error_model="numpy")
def clear_part(stat, part, log_base, base, highest_base, d):
    """Set the statistic of the empty block, for which S is the base measure."""
    G, C = log_base.shape[1], highest_base.shape[1]
    for k in range(np.uint64(G)):
        stat[np.uint64(part.sums) + k] = log_base[d, k]
        stat[np.uint64(part.weights) + k] = base[d, k]
    for c in range(np.uint64(C)):
        stat[np.uint64(part.bounds) + c] = highest_base[d, c]
    stat[part.lo] = 0
    stat[part.hi] = G
    stat[part.first] = 0
    stat[part.last] = C
    stat[part.outside] = 0.0
    stat[part.log_z] = math.log(G)
    stat[part.spent] = np.inf  # so that the first observation computes a window


@inner(**LEAF, error_model="numpy")
def renew_window(stat, part, xi, C):
    """Compute all other numbers from S."""
    G = xi.shape[1]
    points = (G + C - 1) // C
    highest = -np.inf
    for c in range(C):
        bound = maximum(stat, part.sums + c * points, part.sums + min((c + 1) * points, G))
        stat[part.bounds + c] = bound
        highest = max(highest, bound)
    first, last = 0, C
    while stat[part.bounds + first] < highest - WINDOW:
        first += 1
    while stat[part.bounds + last - 1] < highest - WINDOW:
        last -= 1
    lo = first * points
    hi = min(last * points, G)
    total = 0.0
    for k in range(np.uint64(lo), np.uint64(hi)):
        w = math.exp(stat[np.uint64(part.sums) + k] - highest)
        stat[np.uint64(part.weights) + k] = w
        total += w
    scale = 1.0 / total
    for k in range(np.uint64(lo), np.uint64(hi)):
        stat[np.uint64(part.weights) + k] *= scale
    stat[part.lo] = lo
    stat[part.hi] = hi
    stat[part.first] = first
    stat[part.last] = last
    stat[part.outside] = G * math.exp(-WINDOW)
    stat[part.log_z] = highest + math.log(total)
    stat[part.spent] = 0.0


@inner(**LEAF, error_model="numpy")
def add_one(stat, part, xi, likelihood, high, row):
    """Add an observation: S + xi, and W l / predictive on the window, or a new window where this is not accurate."""
    G, C = xi.shape[1], high.shape[1]
    lo, hi = stat[part.lo], stat[part.hi]
    predictive = dot(stat, part.weights, likelihood, row, lo, hi)
    hidden = stat[part.outside]
    if predictive <= EXACT * hidden and predictive > TINY:
        # with a better bound the window may be kept
        bound = bound_outside(stat, part, high, row, 1.0) - stat[part.log_z]
        hidden = min(hidden, G * math.exp(min(bound, 0.0)))
    accumulate(stat, part.sums, xi, row, 1.0)
    accumulate(stat, part.bounds, high, row, 1.0)
    log_predictive = math.log(predictive) if predictive > TINY else -np.inf
    if hidden < HIDDEN * predictive and stat[part.spent] - log_predictive < BUDGET:
        multiply(stat, part.weights, likelihood, row, 1.0 / predictive, lo, hi)
        stat[part.outside] = hidden / predictive
        stat[part.log_z] += log_predictive
        stat[part.spent] -= log_predictive
    else:
        renew_window(stat, part, xi, C)


@inner(**LEAF, error_model="numpy")
def remove_one(stat, part, xi, likelihood, low, row):
    """Remove an observation: the reverse of :func:`add_one`."""
    G, C = xi.shape[1], low.shape[1]
    lo, hi = stat[part.lo], stat[part.hi]
    inverse = dot_inverse(stat, part.weights, likelihood, row, lo, hi)
    bound = bound_outside(stat, part, low, row, -1.0) - stat[part.log_z]
    accumulate(stat, part.sums, xi, row, -1.0)
    accumulate(stat, part.bounds, low, row, -1.0)
    spent = stat[part.spent] - least_inside(stat, part, low, row)
    log_inverse = math.log(inverse) if inverse < 1.0 / TINY else -np.inf
    if spent < BUDGET and bound - log_inverse < math.log(HIDDEN / G):
        scale = 1.0 / inverse
        for k in range(np.uint64(lo), np.uint64(hi)):
            stat[np.uint64(part.weights) + k] *= scale / likelihood[np.uint64(row), k]
        stat[part.outside] = G * math.exp(bound - log_inverse)
        stat[part.log_z] += log_inverse
        stat[part.spent] = spent
    else:
        renew_window(stat, part, xi, C)


# Queries


@inner(**LEAF, error_model="numpy")
def log_far_predictive(stat, part, xi, high, row, predictive):
    """Return the log predictive of an observation with little mass in the window, whose sum is `predictive`."""
    if predictive > TINY:
        limit = stat[part.log_z] + math.log(predictive) - math.log(EXACT * xi.shape[1])
        if bound_outside(stat, part, high, row, 1.0) <= limit:
            return math.log(predictive)
    return log_sum_exp(stat, part, xi, row, 1.0) - stat[part.log_z]
