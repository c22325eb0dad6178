"""Posterior of cellular prevalences, averaged over the chain without sampling them.

Given a partition, the posterior of a block's prevalence in a sample is known on the grid: W_k ∝ h_k exp(sum_i
Xi_k(y_i)), with the base measure h. A mutation's posterior is the mean over the saved partitions of the W of its block;
a cluster's is the mean of the W of the block that contains most of the cluster's mutations (of all such blocks if there
are several).
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import LEAF, compiled, inner
from pyclone_pgsm.likelihoods.pyclone import PyClone
from pyclone_pgsm.likelihoods.pyclone.statistic import part_of
from pyclone_pgsm.posterior.mixture import block_shares
from pyclone_pgsm.posterior.rows import build_blocks, gather_values, read_partitions
from pyclone_pgsm.posterior.states import DEFAULT_THRESHOLDS, Thresholds
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.tumour.grid import cell_ends

SMALLEST_PEAK = 0.05  # smallest posterior mass of a piece of the highest density region that counts as a peak
HALVINGS = 25  # number of bisections of the range of densities in the search for that region
NEGLIGIBLE_MASS = 1e-9  # posterior mass that is cut off at each end of a block's window to save memory
INTERVAL = 0.95
CHUNK = 1 << 22  # largest number of values of the posteriors of mutations processed together


class BlockPosteriors(NamedTuple):
    """Grid posteriors of all blocks of M partitions in D samples, each on its own window of the grid.

    `first_block` (M + 1,) is the row of block 0 of each partition among all blocks, `low` (B, D) the first grid point
    of each window, and `start` (B D + 1,) the position of its values in `mass`.
    """

    first_block: NDArray[np.int64]
    low: NDArray[np.int64]
    start: NDArray[np.int64]
    mass: NDArray[np.float32]


class Moments(NamedTuple):
    """Summaries of N posteriors of a prevalence in D samples, (N, D) each.

    The interval is the shortest one with 95 % of the posterior, so that it reaches 0 or 1 if the posterior is
    concentrated there; an equal-tailed one could never contain the prevalence of a clonal or an absent mutation. If the
    posterior has several peaks, the shortest interval may not contain the mean; it is then extended to the mean.

    `prob_present` and `prob_clonal` are the probabilities that the prevalence is above the :class:`Thresholds`, and
    `peaks` the number of pieces of the 95 % highest density region, not counting those with less than 5 %.
    """

    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    prob_present: NDArray[np.float64]
    prob_clonal: NDArray[np.float64]
    peaks: NDArray[np.int64]


@inner(**LEAF)
def _trim(window):
    """Return the first and the last + 1 point of the window without negligible mass at its ends."""
    lo = 0
    hi = len(window)
    mass = 0.0
    while lo < hi - 1 and mass + window[lo] < NEGLIGIBLE_MASS:
        mass += window[lo]
        lo += 1
    mass = 0.0
    while hi > lo + 1 and mass + window[hi - 1] < NEGLIGIBLE_MASS:
        mass += window[hi - 1]
        hi -= 1
    return lo, hi


@compiled
def _windows(stats, num_blocks, num_samples, grid_size, num_chunks):
    """Compute the windows of all blocks of a partition from their statistics: low and length (K, D), and the values."""
    G = grid_size
    low = np.empty((num_blocks, num_samples), np.int64)
    length = np.empty((num_blocks, num_samples), np.int64)
    mass = np.empty(num_blocks * num_samples * G, np.float32)
    filled = 0
    for b in range(num_blocks):
        for d in range(num_samples):
            part = part_of(0, d, G, num_chunks)
            left, right = int(stats[b, part.lo]), int(stats[b, part.hi])
            window = stats[b, part.weights + left : part.weights + right]
            lo, hi = _trim(window)
            low[b, d] = left + lo
            length[b, d] = hi - lo
            total = 0.0
            for k in range(lo, hi):
                total += window[k]
            for k in range(lo, hi):
                mass[filled] = window[k] / total
                filled += 1
    return low, length, mass[:filled].copy()


def block_posteriors(partitions: Iterable[tuple[PyClone, NDArray[Any]]]) -> BlockPosteriors:
    """Compute the grid posteriors of every block of partitions, canonical labels (T,).

    Each comes with the likelihood at the hyperparameters of its iteration.
    """
    lows, lengths, masses = [], [], []
    for likelihood, labels in partitions:
        partition = build_blocks(likelihood, labels)
        K, D = int(partition.counter[0]), likelihood.index.shape[1]
        low, length, mass = _windows(partition.stats, K, D, likelihood.xi.shape[1], likelihood.low.shape[1])
        lows.append(low)
        lengths.append(length)
        masses.append(mass)
    return BlockPosteriors(
        np.append(0, np.cumsum([len(low) for low in lows])),
        np.concatenate(lows),
        np.append(0, np.cumsum(np.concatenate([length.ravel() for length in lengths]))),
        np.concatenate(masses),
    )


def block_means(blocks: BlockPosteriors, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the posterior mean prevalence of every block in every sample, (B, D); `grid` (G,) are prevalences."""
    length = np.diff(blocks.start)
    point = np.arange(len(blocks.mass)) - np.repeat(blocks.start[:-1] - blocks.low.ravel(), length)
    total, moment = (
        np.add.reduceat(each, blocks.start[:-1]) for each in (blocks.mass, blocks.mass * grid[point])
    )
    return (moment / total).reshape(blocks.low.shape)


def read_blocks(trace: Trace, rows: list[NDArray[np.int64]]) -> tuple[NDArray[Any], BlockPosteriors]:
    """Return the partitions (M, T) of some rows of a tumour's trace, and the posteriors of their blocks.

    They are in the order of the hyperparameters, so that the tables of each precision are computed only once.
    """
    model: Any = trace.model
    values = gather_values(trace, rows, trace.options.hyperparameters)
    order = sorted(range(len(values)), key=lambda m: values[m])
    partitions = read_partitions(trace, rows)[order]
    return partitions, block_posteriors(
        (model.likelihood(values[m]), partition) for m, partition in zip(order, partitions)
    )


@inner(**LEAF)
def _shortest_interval(mass, ends, lo, hi):
    """Find the shortest interval with 95 % of a distribution on the grid points lo..hi-1, between 0 and 1.

    Each point's mass is spread evenly over its cell; `ends` are those of the cells. One end of the shortest interval is
    the end of a cell, so it is enough to try each of these as the left and as the right end.
    """
    best_left = ends[lo]
    best_right = ends[hi]
    right = lo
    held = 0.0  # mass of the points left..right - 1
    for left in range(lo, hi):
        while right < hi and held + mass[right] < INTERVAL:
            held += mass[right]
            right += 1
        if right == hi:
            break
        end = ends[right] + (ends[right + 1] - ends[right]) * (INTERVAL - held) / mass[right]
        if end - ends[left] < best_right - best_left:
            best_left, best_right = ends[left], end
        held -= mass[left]
    left = hi - 1
    held = 0.0  # mass of the points left + 1..right
    for right in range(hi - 1, lo - 1, -1):
        while left >= lo and held + mass[left] < INTERVAL:
            held += mass[left]
            left -= 1
        if left < lo:
            break
        end = ends[left + 1] - (ends[left + 1] - ends[left]) * (INTERVAL - held) / mass[left]
        # one that reaches 1 may be as long as the best so far; another must be shorter, by more than rounding
        tie = 1e-12 if right == len(mass) - 1 else -1e-12
        if ends[right + 1] - end < best_right - best_left + tie:
            best_left, best_right = end, ends[right + 1]
        held -= mass[right]
    return best_left, best_right


@inner(**LEAF)
def _mass_above(mass, ends, lo, hi, threshold):
    """Return the mass above a prevalence; the mass of the cell that contains it is split."""
    total = 0.0
    for k in range(lo, hi):
        total += mass[k] * min(max((ends[k + 1] - threshold) / (ends[k + 1] - ends[k]), 0.0), 1.0)
    return total


@inner(**LEAF)
def _count_peaks(mass, widths, lo, hi):
    """Count the pieces of the 95 % highest density region with a mass of at least `SMALLEST_PEAK`."""
    highest = 0.0
    has_fallen = has_risen_again = False
    before = 0.0
    for k in range(lo, hi):
        density = mass[k] / widths[k]
        has_risen_again |= has_fallen and density > before
        has_fallen |= density < before
        highest = max(highest, density)
        before = density
    if not has_risen_again:
        return 1
    level = 0.0
    above = highest
    for _ in range(HALVINGS):
        middle = 0.5 * (level + above)
        held = 0.0
        for k in range(lo, hi):
            if mass[k] / widths[k] >= middle:
                held += mass[k]
        if held >= INTERVAL:
            level = middle
        else:
            above = middle
    peaks = 0
    held = 0.0
    for k in range(lo, hi + 1):
        if k < hi and mass[k] / widths[k] >= level:
            held += mass[k]
        else:
            if held >= SMALLEST_PEAK:
                peaks += 1
            held = 0.0
    return max(peaks, 1)


@compiled
def _mixtures(rows, weights, low, start, mass, present_above, clonal_above, grid, ends, posteriors):
    """Summarise weighted means of the windows of blocks ``rows`` (n, M), as (7, n, D) in the order of `Moments`.

    The weights (n, M), or (1, M) for all, are 0 where there is no block. The prevalences are `grid` (G,), and `ends`
    (G + 1,) those of their cells. The means are written to ``posteriors`` (n, D, G).
    """
    n, M = rows.shape
    D, grid_size = posteriors.shape[1:]
    widths = np.empty(grid_size)
    for k in range(grid_size):
        widths[k] = ends[k + 1] - ends[k]
    moments = np.empty((7, n, D))
    for i in range(n):
        for d in range(D):
            mixed = posteriors[i, d]
            mixed[:] = 0.0
            lo = grid_size
            hi = np.int64(0)
            for m in range(M):
                block = rows[i, m]
                if weights[i % len(weights), m] > 0.0:
                    lo = min(lo, low[block, d])
                    hi = max(hi, low[block, d] + start[block * D + d + 1] - start[block * D + d])
            for m in range(M):
                weight = weights[i % len(weights), m]
                if weight > 0.0:
                    block = rows[i, m]
                    begin = start[block * D + d]
                    left = low[block, d]
                    for k in range(start[block * D + d + 1] - begin):
                        mixed[left + k] += weight * mass[begin + k]
            total = 0.0
            mean = 0.0
            for k in range(lo, hi):
                total += mixed[k]
                mean += mixed[k] * grid[k]
            mean /= total
            variance = 0.0
            for k in range(lo, hi):
                mixed[k] /= total
                variance += mixed[k] * (grid[k] - mean) ** 2
            moments[0, i, d] = mean
            moments[1, i, d] = np.sqrt(variance)
            lower, upper = _shortest_interval(mixed, ends, lo, hi)
            moments[2, i, d] = min(lower, mean)
            moments[3, i, d] = max(upper, mean)
            moments[4, i, d] = _mass_above(mixed, ends, lo, hi, present_above)
            moments[5, i, d] = _mass_above(mixed, ends, lo, hi, clonal_above)
            moments[6, i, d] = _count_peaks(mixed, widths, lo, hi)
    return moments


def _as_moments(found: NDArray[np.float64]) -> Moments:
    return Moments(*found[:6], found[6].astype(np.int64))


def mutation_prevalences(
    blocks: BlockPosteriors,
    draws: NDArray[Any],
    grid: NDArray[np.float64],
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    use: Callable[[int, NDArray[np.float64]], None] = lambda first, density: None,
) -> Moments:
    """Summarise the posterior of every mutation's prevalence in the canonical `draws` (M, T), those of `blocks`.

    The prevalences are those of the `grid` (G,). The posteriors of all mutations would take too much memory. `use` is
    called with those of some mutations, (n, D, G), and the number of the first of these, until it has got all.
    """
    first_block, *windows = blocks
    equal = np.ones((1, len(draws)))
    parts = []
    D = blocks.low.shape[1]
    size = max(1, CHUNK // (D * len(grid)))
    ends = cell_ends(grid)
    for first in range(0, draws.shape[1], size):
        rows = np.ascontiguousarray(draws[:, first : first + size].T, dtype=np.int64) + first_block[:-1]
        density = np.empty((len(rows), D, len(grid)))
        parts.append(_mixtures(rows, equal, *windows, *thresholds, grid, ends, density))
        use(first, density)
    return _as_moments(np.concatenate(parts, axis=1))


def cluster_prevalences(
    blocks: BlockPosteriors,
    draws: NDArray[Any],
    labels: NDArray[np.int64],
    grid: NDArray[np.float64],
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> tuple[Moments, NDArray[np.float64]]:
    """Summarise the posterior of every cluster's prevalence, and return the posteriors (K, D, G) themselves.

    The canonical `draws` (M, T) are those of `blocks`; `labels` (T,) are consensus clusters 0..K-1, or -1 for none. The
    prevalences are those of the `grid` (G,).
    """
    first_block, *windows = blocks
    found = []
    for first, partition in zip(first_block, draws):
        shares = block_shares(partition, labels)
        cluster, block = np.nonzero(shares)
        found.append((cluster, first + block, shares[cluster, block]))
    cluster, block, share = (np.concatenate(arrays) for arrays in zip(*found))
    place = pd.Series(cluster).groupby(cluster).cumcount().to_numpy()
    rows = np.zeros((int(labels.max()) + 1, place.max(initial=-1) + 1), np.int64)
    weights = np.zeros(rows.shape)
    rows[cluster, place] = block
    weights[cluster, place] = share
    density = np.empty((len(rows), blocks.low.shape[1], len(grid)))
    found = _mixtures(rows, weights, *windows, *thresholds, grid, cell_ends(grid), density)
    return _as_moments(found), density
