"""Draws of the blocks' prevalences."""

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import LEAF, compiled_for, inner
from pyclone_pgsm.likelihoods.pyclone.likelihood import PyClone
from pyclone_pgsm.likelihoods.pyclone.statistic import part_of
from pyclone_pgsm.partition import Partition


def draw_grid_points(
    likelihood: PyClone, partition: Partition, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw the prevalence of each block b in each sample from p(k | y_b) ∝ exp(S_dk); return grid points, (K, D)."""
    uniform = rng.random((int(partition.counter[0]), likelihood.index.shape[1]))
    drawn: NDArray[np.int64] = compiled_for(points_of_blocks, PyClone)(likelihood, uniform, partition)
    return drawn


def points_of_blocks(likelihood, uniform, partition):
    """Return the grid points at which the posterior's distribution function exceeds uniform draws, (K, D)."""
    K, D = uniform.shape
    points = np.empty((K, D), np.int64)
    for b in range(K):
        for d in range(D):
            points[b, d] = draw_point(likelihood, partition.stats[partition.active[b]], d, uniform[b, d])
    return points


@inner(**LEAF)
def draw_point(likelihood, stat, d, uniform):
    """Return the grid point at which the posterior's distribution function exceeds a uniform draw."""
    part = part_of(0, d, likelihood.xi.shape[1], likelihood.low.shape[1])
    low, high = int(stat[part.lo]), int(stat[part.hi])
    limit = uniform * stat[part.weights + low : part.weights + high].sum()
    k = low
    below = stat[part.weights + k]
    while below <= limit and k < high - 1:
        k += 1
        below += stat[part.weights + k]
    return k
