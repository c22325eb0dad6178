"""Posterior of cellular prevalences, averaged over the chain: nothing is sampled.

Given a partition, the posterior of a block's prevalence in a sample is known on the grid: W_k ∝ exp(sum_i Xi_k(y_i)).
A mutation's posterior is the mean over the saved partitions of the W of its block; a cluster's is the mean of the W of
the block that holds most of the cluster's mutations (of these blocks, where several hold equally many).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.compiling import compiled, compiled_for, inner
from pyclone_pgsm.likelihoods.pyclone import HI, LO, TAIL, PyClone
from pyclone_pgsm.posterior.mixture import block_shares
from pyclone_pgsm.samplers.partition import build_partition

NEGLIGIBLE_MASS = 1e-9  # at each end of a block's posterior, cut off to save memory
INTERVAL = 0.95
CHUNK = 4096  # mutations whose grids are held at the same time


class BlockPosteriors(NamedTuple):
    """Grid posteriors of all blocks of M partitions in D samples, each on its own window of the grid.

    Attributes
    ----------
    first_block : (M + 1,) int64
        Row of block 0 of each partition among all blocks.
    low, start : (B, D), (B D + 1,) int64
        First grid point of each window, and where its values stand in `mass`.
    mass : (N,) float32
    """

    first_block: NDArray[np.int64]
    low: NDArray[np.int64]
    start: NDArray[np.int64]
    mass: NDArray[np.float32]


class Moments(NamedTuple):
    """(N, D) mean, standard deviation and ends of the 95 % interval.

    The interval is the shortest one, so that it reaches 0 or 1 where the posterior piles up there: an equal-tailed one
    could never hold the prevalence of a clonal or an absent mutation.
    """

    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


@inner(nogil=True)
def _trim(window):
    """First and last + 1 point that hold all but the negligible mass."""
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
    """Windows of all blocks of a partition from their statistics: low and length (K, D), and the values."""
    G = grid_size
    low = np.empty((num_blocks, num_samples), np.int64)
    length = np.empty((num_blocks, num_samples), np.int64)
    mass = np.empty(num_blocks * num_samples * G, np.float32)
    filled = 0
    for b in range(num_blocks):
        for d in range(num_samples):
            start = d * (2 * (G + num_chunks) + TAIL)
            tail = start + 2 * G + num_chunks
            left = int(stats[b, tail + LO])
            window = stats[b, start + G + left : start + G + int(stats[b, tail + HI])]
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
    """Grid posteriors of every block of some partitions.

    Parameters
    ----------
    partitions : iterable of (PyClone, (T,) labels)
        Canonical labels, each with the likelihood at the precision of its iteration.
    """
    lows, lengths, masses = [], [], []
    for likelihood, labels in partitions:
        build = compiled_for(build_partition, PyClone)
        partition = build(likelihood, labels.astype(np.int32))
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


@inner(nogil=True)
def _edge(k, last):
    """Left end of grid point k's cell, in grid steps: cells end half-way between points, and at 0 and 1."""
    return min(max(k - 0.5, 0.0), last)


@inner(nogil=True)
def _shortest_interval(mass, lo, hi, share):
    """Shortest interval that holds `share` of a distribution on the grid points lo..hi-1, as shares of the grid.

    Each point's mass is spread evenly over its cell. One end of the shortest interval is a cell's end, so it is enough
    to try each of them, once as the left and once as the right end.
    """
    last = len(mass) - 1.0
    best_left = _edge(lo, last)
    best_right = _edge(hi, last)
    right = lo
    held = 0.0  # mass of the points left..right - 1
    for left in range(lo, hi):
        while right < hi and held + mass[right] < share:
            held += mass[right]
            right += 1
        if right == hi:
            break
        end = _edge(right, last)
        end += (_edge(right + 1, last) - end) * (share - held) / mass[right]
        if end - _edge(left, last) < best_right - best_left:
            best_left, best_right = _edge(left, last), end
        held -= mass[left]
    left = hi - 1
    held = 0.0  # mass of the points left + 1..right
    for right in range(hi - 1, lo - 1, -1):
        while left >= lo and held + mass[left] < share:
            held += mass[left]
            left -= 1
        if left < lo:
            break
        end = _edge(left + 1, last)
        end -= (end - _edge(left, last)) * (share - held) / mass[left]
        tie = 1e-9 if right == last else 0.0  # so that it reaches 1 when nearly all mass is on the last point
        if _edge(right + 1, last) - end < best_right - best_left + tie:
            best_left, best_right = end, _edge(right + 1, last)
        held -= mass[right]
    return best_left / last, best_right / last


@compiled
def _mixtures(rows, weights, low, start, mass, grid_size, grids):
    """Weighted mean of the windows of blocks ``rows`` (n, M); also into ``grids`` (n, D, G) if not empty.

    The weights (n, M), or (1, M) for all, are 0 where there is no block.
    """
    n, M = rows.shape
    D = low.shape[1]
    keep = len(grids) > 0
    moments = np.empty((4, n, D))
    grid = np.empty(grid_size)
    for i in range(n):
        for d in range(D):
            lo = grid_size
            hi = np.int64(0)
            for m in range(M):
                block = rows[i, m]
                if weights[i % len(weights), m] > 0.0:
                    lo = min(lo, low[block, d])
                    hi = max(hi, low[block, d] + start[block * D + d + 1] - start[block * D + d])
            grid[lo:hi] = 0.0
            for m in range(M):
                weight = weights[i % len(weights), m]
                if weight > 0.0:
                    block = rows[i, m]
                    begin = start[block * D + d]
                    left = low[block, d]
                    for k in range(start[block * D + d + 1] - begin):
                        grid[left + k] += weight * mass[begin + k]
            total = 0.0
            mean = 0.0
            for k in range(lo, hi):
                total += grid[k]
                mean += grid[k] * k
            mean /= total
            variance = 0.0
            for k in range(lo, hi):
                grid[k] /= total
                variance += grid[k] * (k - mean) ** 2
            moments[0, i, d] = mean / (grid_size - 1)
            moments[1, i, d] = np.sqrt(variance) / (grid_size - 1)
            moments[2, i, d], moments[3, i, d] = _shortest_interval(grid, lo, hi, INTERVAL)
            if keep:
                for k in range(grid_size):
                    grids[i, d, k] = grid[k] if lo <= k < hi else 0.0
    return moments


def mutation_prevalences(blocks: BlockPosteriors, draws: NDArray[Any], grid_size: int) -> Moments:
    """Posterior moments of every mutation's prevalence.

    Parameters
    ----------
    blocks : BlockPosteriors
        Of the same M partitions as `draws`.
    draws : (M, T) integer labels, canonical
    grid_size : int
        G.
    """
    first_block, *windows = blocks
    none = np.empty((0, 0, 0))
    equal = np.ones((1, len(draws)))
    parts = []
    for begin in range(0, draws.shape[1], CHUNK):
        rows = np.ascontiguousarray(draws[:, begin : begin + CHUNK].T, dtype=np.int64) + first_block[:-1]
        parts.append(_mixtures(rows, equal, *windows, grid_size, none))
    return Moments(*np.concatenate(parts, axis=1))


def cluster_prevalences(
    blocks: BlockPosteriors, draws: NDArray[Any], labels: NDArray[np.int64], grid_size: int
) -> tuple[Moments, NDArray[np.float64]]:
    """Posterior moments of every cluster's prevalence, and the posteriors themselves.

    Parameters
    ----------
    blocks : BlockPosteriors
    draws : (M, T) integer labels, canonical
    labels : (T,) int64
        Consensus clusters 0..K-1; mutations of none have -1.
    grid_size : int
        G.

    Returns
    -------
    moments : Moments
        (K, D) each.
    density : (K, D, G) float64
        Sums to 1 over the grid.
    """
    first_block, *windows = blocks
    found = []
    for first, partition in zip(first_block, draws):
        shares = block_shares(partition, labels)
        cluster, block = np.nonzero(shares)
        found.append((cluster, first + block, shares[cluster, block]))
    cluster, block, share = (np.concatenate(arrays) for arrays in zip(*found))
    order = np.argsort(cluster, kind="stable")
    number = np.bincount(cluster, minlength=int(labels.max()) + 1)
    place = np.arange(len(cluster)) - np.repeat(np.cumsum(number) - number, number)
    rows = np.zeros((len(number), int(number.max(initial=0))), np.int64)
    weights = np.zeros(rows.shape)
    rows[cluster[order], place] = block[order]
    weights[cluster[order], place] = share[order]
    density = np.empty((len(rows), blocks.low.shape[1], grid_size))
    return Moments(*_mixtures(rows, weights, *windows, grid_size, density)), density
