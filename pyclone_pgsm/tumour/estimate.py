"""What another setting of the tumour model would do to the likelihood of a partition, estimated without its tables.

The likelihood of a block in a sample is a sum of exp(S_k) over the grid, and a few points of the peak tell that sum. So
it is enough to know Xi of each observation at a few points, those of its block, instead of the whole grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from pyclone_pgsm.likelihoods.pyclone import Lattice

POINTS = 8  # at a time
REACH = 10.0  # nats below a block's peak down to which its points reach
CLOSED = 6.0  # nats below the peak in the new setting where no more points are looked at
ROUNDS = 4  # further points to either side, at most so many times

Xi = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]
"""Xi (n, P) of n rows of the tables in the new setting; of rows (n,), points (m, P), and which of these each takes."""


def change_of_log_likelihood(
    xi: Xi,
    xi_max: NDArray[np.float64],
    index: NDArray[np.int32],
    blocks: NDArray[np.int64],
    lattice: Lattice,
    log_base: NDArray[np.float64],
) -> float:
    """About sum_b log L'(y_b) - log L(y_b), where L' is the likelihood in the new setting.

    Both are taken as sums over the same points: the lattice of each block and sample, and as many more to its left and
    right as the peak needs that the new setting makes.

    Parameters
    ----------
    xi : callable
        See :data:`Xi`.
    xi_max : (U,) float64
        What the present tables leave out.
    index : (T, D) int32
        Row of each mutation in each sample; -1 for none.
    blocks : (T,) int64
        Block of each mutation, from 0 to K - 1.
    lattice : Lattice
        Of the K blocks and D samples, :data:`POINTS` points each.
    log_base : (D, G) float64
        log G h_dk of the base measure.

    Returns
    -------
    float
        Infinity if a peak moved too far to be followed.
    """
    grid_size = log_base.shape[1]
    known = index >= 0
    cells = blocks[:, None] * index.shape[1] + np.arange(index.shape[1])
    keys, counts = np.unique(cells[known] * len(xi_max) + index[known], return_counts=True)
    cell, row = np.divmod(keys, len(xi_max))
    present, cell = np.unique(cell, return_inverse=True)
    sample = present % index.shape[1]
    first, step, log_sum = (each.reshape(-1)[present] for each in lattice)
    constants = np.bincount(cell, counts * xi_max[row])

    def log_likelihoods(which: NDArray[np.int64], start: NDArray[np.int64]) -> NDArray[np.float64]:
        """S' of some cells at their next points from `start` on; -inf beyond the grid."""
        points = start[:, None] + step[which, None] * np.arange(POINTS)
        place = np.full(len(present), -1)
        place[which] = np.arange(len(which))
        chosen = np.flatnonzero(place[cell] >= 0)
        of_row = place[cell[chosen]]
        values = xi(row[chosen], np.clip(points, 0, grid_size - 1), of_row) * counts[chosen, None]
        sums = np.add.reduceat(values, np.flatnonzero(np.diff(of_row, prepend=-1)), axis=0)
        sums += log_base[sample[which, None], np.clip(points, 0, grid_size - 1)]
        return np.where((points >= 0) & (points < grid_size), sums, -math.inf)

    found = log_likelihoods(np.arange(len(present)), first)
    total, highest = logsumexp(found, axis=1), found.max(axis=1)
    outermost, at_outermost = [first, first + step * (POINTS - 1)], [found[:, 0], found[:, -1]]
    for done in range(ROUNDS + 1):
        further = [outermost[0] - step, outermost[1] + step]
        is_open = [
            (at_outermost[side] > highest - CLOSED) & (further[side] >= 0) & (further[side] < grid_size)
            for side in (0, 1)
        ]
        if not np.any(is_open):
            return float((total - log_sum - constants).sum())
        if done == ROUNDS:
            break
        for side in (0, 1):
            which = np.flatnonzero(is_open[side])
            if len(which) == 0:
                continue
            width = step[which] * (POINTS - 1)
            start = further[side][which] - (width if side == 0 else 0)
            found = log_likelihoods(which, start)
            total[which] = np.logaddexp(total[which], logsumexp(found, axis=1))
            highest[which] = np.maximum(highest[which], found.max(axis=1))
            outermost[side][which] = start if side == 0 else start + width
            at_outermost[side][which] = found[:, 0 if side == 0 else -1]
    return math.inf
