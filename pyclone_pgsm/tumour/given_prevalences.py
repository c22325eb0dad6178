"""The likelihood of precision and error rate given the prevalences of all mutations.

The likelihood of an observation is then needed at one grid point only, so that settings can be compared without tables.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.tumour.grid import Loci, prevalence_grid, xi_at_prevalences


def likelihood_given(
    loci: Loci, index: NDArray[np.int32], points: NDArray[np.int64], grid_size: int
) -> Callable[[float, float | None, float | None], float]:
    """Return the log likelihood of the reads of T mutations in D samples, each with a known prevalence.

    `index` (T, D) has the row of each mutation in each sample, -1 where its reads are left out, and `points` (T, D) the
    prevalences as points of the grid. The result is a function of precision, error rate and tumour content, which are
    those of :func:`~pyclone_pgsm.tumour.grid.xi_at_prevalences`.
    """
    cells, counts = distinct_cells(index, points, grid_size)
    rows, points = np.divmod(cells, grid_size)
    order = np.lexsort((points, loci.group[rows]))
    counts = counts[order]
    compute = xi_at_prevalences(loci, rows[order], prevalence_grid(grid_size)[:, None], points[order])

    def log_likelihood(precision: float, error_rate: float | None, tumour_content: float | None) -> float:
        """Return the sum of Xi over all reads, with constants; each of its maxima is over a single point."""
        _, xi_max = compute(precision, error_rate, tumour_content)
        # not by BLAS, whose own threads would slow down those of the chains, and change the last digits
        return float((counts * xi_max).sum())

    return log_likelihood


def distinct_cells(
    index: NDArray[np.int32], points: NDArray[np.int64], grid_size: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the distinct cells of a table (U, G), numbered row by row, that are needed, and how often each is."""
    is_known = index >= 0
    cells = index[is_known].astype(np.int64) * grid_size + points[is_known]
    cells, counts = np.unique(cells, return_counts=True)
    return cells, counts.astype(float)
