"""The likelihood of precision and error rate given the prevalences of all mutations.

The likelihood of an observation is then needed at one grid point only, so that settings can be compared without tables.
"""

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.tumour.grid import Loci, ReadsAtPrevalences, prevalence_grid


class ReadsGivenPrevalences:
    """The reads of T mutations in D samples, each with a known prevalence.

    `index` (T, D) has the row of each mutation in each sample, -1 where its reads are left out, and `points` (T, D) the
    prevalences as points of the grid.
    """

    def __init__(
        self,
        loci: Loci,
        index: NDArray[np.int32],
        points: NDArray[np.int64],
        grid_size: int,
    ) -> None:
        cells, counts = distinct_cells(index, points, grid_size)
        rows, points = np.divmod(cells, grid_size)
        order = np.lexsort((points, loci.group[rows]))
        self._counts = counts[order]
        self._reads = ReadsAtPrevalences(
            loci, rows[order], prevalence_grid(grid_size)[:, None], points[order]
        )

    def log_likelihood(
        self, precision: float, error_rate: float | None, tumour_content: float | None
    ) -> float:
        """Return the sum of Xi over all reads, with constants; for the parameters see :meth:`ReadsAtPrevalences.xi`.

        Each maximum of Xi is over a single point.
        """
        _, xi_max = self._reads.xi(precision, error_rate, tumour_content)
        return float(self._counts @ xi_max)


def distinct_cells(
    index: NDArray[np.int32], points: NDArray[np.int64], grid_size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct cells of a table (U, G), numbered row by row, that are needed, and how often each is."""
    is_known = index >= 0
    cells = index[is_known].astype(np.int64) * grid_size + points[is_known]
    return np.unique(cells, return_counts=True)
