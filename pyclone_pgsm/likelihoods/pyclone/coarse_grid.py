"""A few points of the grid for each block, on which another setting of the tumour model is tried first."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.likelihoods.pyclone.likelihood import PyClone
from pyclone_pgsm.likelihoods.pyclone.statistic import views_of_sample
from pyclone_pgsm.partition import Partition


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
    stats = partition.stats[partition.active[: partition.counter[0]]]
    k = np.arange(G)
    of_samples = []
    for d in range(likelihood.index.shape[1]):
        _, posterior, log_z = views_of_sample(stats, d, G, C)
        peak = np.argmax(posterior, axis=1)[:, None]
        is_low = posterior < math.exp(-nats) * np.take_along_axis(posterior, peak, axis=1)
        begin = np.where(is_low & (k < peak), k + 1, 0).max(axis=1)
        span = np.where(is_low & (k > peak), k - 1, G - 1).min(axis=1) - begin
        step = span // number + 1
        first = begin - ((number - 1) * step - span) // 2
        points = first[:, None] + step[:, None] * np.arange(number)
        weights = np.take_along_axis(posterior, np.clip(points, 0, G - 1), axis=1)
        mass = np.where((points >= 0) & (points < G), weights, 0.0).sum(axis=1)
        of_samples.append((first, step, log_z + np.log(mass)))
    first, step, log_sum = (np.stack(each, axis=1) for each in zip(*of_samples))
    return Lattice(first, step, log_sum)
