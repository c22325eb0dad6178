"""The likelihood of reads whose prevalences are known, so that it is needed at one grid point for each observation.

A cell is an observation at a grid point: row u of the tables and point k have the cell u G + k.
"""

import threading
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.tumour.grid import Loci, Setting, xi_at_prevalences


def distinct_cells(
    index: NDArray[np.int32], points: NDArray[np.int64], num_rows: int, grid_size: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the N distinct cells, (N,), of T mutations in D samples, and the number of observations in each.

    `index` (T, D) has the row of each mutation in each sample, one of `num_rows`, or -1 where its reads are left out;
    `points` (T, D) are the prevalences as grid points.
    """
    is_known = index >= 0
    cells = index[is_known].astype(np.int64) * grid_size + points[is_known]
    if num_rows * grid_size > len(cells):
        cells, counts = np.unique(cells, return_counts=True)
    else:
        numbers = np.bincount(cells)
        cells = np.flatnonzero(numbers)
        counts = numbers[cells]
    return cells, counts.astype(float)


def log_likelihoods_in(
    cells: NDArray[np.int64], loci: Loci, grid: NDArray[np.float64]
) -> Callable[[Sequence[Setting]], NDArray[np.float64]]:
    """Return a function that computes the log likelihood of the observation of each cell, (V, N), in V settings."""
    rows, points = np.divmod(cells, len(grid))
    order = np.lexsort((points, loci.group[rows]))
    compute = xi_at_prevalences(loci, rows[order], grid[:, None], points[order])
    places = np.empty_like(order)
    places[order] = np.arange(len(order))

    def log_likelihoods(settings: Sequence[Setting]) -> NDArray[np.float64]:
        _, maxima = compute(settings)  # each of a single value
        return maxima[:, places]

    return log_likelihoods


def log_likelihood_of_all(
    cells: NDArray[np.int64], counts: NDArray[np.float64], loci: Loci, grid: NDArray[np.float64]
) -> Callable[[Setting], float]:
    """Return a function that computes the log likelihood of all observations, `counts` (N,) in each cell."""
    compute = log_likelihoods_in(cells, loci, grid)
    # not by BLAS, whose own threads would slow down those of the chains, and change the last digits
    return cache(lambda setting: float((counts * compute([setting])[0]).sum()))


class KnownCells:
    """The log likelihoods of cells in V settings; computed when they are first needed, and kept.

    A chain returns to the same cells again and again, since the prevalences of clusters are known well.
    """

    def __init__(self, loci: Loci, grid: NDArray[np.float64], settings: Sequence[Setting]) -> None:
        self._loci, self._grid, self._settings = loci, grid, settings
        self._is_known = np.zeros(loci.table.num_rows * len(grid), bool)
        self._values = np.empty((len(self._is_known), len(settings)))
        self._lock = threading.Lock()

    def log_likelihoods(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the log likelihood of the observation of each cell, (N, V), in each setting."""
        with self._lock:
            new = cells[~self._is_known[cells]]
            if len(new):
                self._values[new] = log_likelihoods_in(new, self._loci, self._grid)(self._settings).T
                self._is_known[new] = True
        return self._values.take(cells, axis=0)
