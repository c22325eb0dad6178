"""Change of the base measure of the prevalences, and posterior probabilities of its components given the blocks."""

from __future__ import annotations

import numpy as np

from pyclone_pgsm.likelihoods.pyclone.statistic import flush, part_of, renew_window


def change_base(likelihood, before, partition):
    """Update the statistics of a partition for another base measure.

    Parameters
    ----------
    likelihood : PyClone
        With the new base measure.
    before : (D, G) float64
        ``log_base`` of the base measure that the statistics include.
    partition : Partition
        Its statistics are changed in place.
    """
    D, G = likelihood.log_base.shape
    C = likelihood.low.shape[1]
    for b in range(partition.counter[0]):
        stat = partition.stats[partition.active[b]]
        for d in range(D):
            part = part_of(0, d, G, C)
            flush(stat, part, likelihood.xi)
            for k in range(G):
                stat[part.sums + k] += likelihood.log_base[d, k] - before[d, k]
            renew_window(stat, part, likelihood.xi, C)


def component_probabilities(likelihood, ratios, partition):
    """Compute the posterior probabilities of the components of a mixture base measure, for each block and sample.

    Given the grid point k, component j has the probability ``ratios[j, d, k]`` = w_dj A_jk / h_dk, the share of the
    component in the base measure. Averaged over the posterior of k, this is

        p_bdj = sum_k W_bdk ratios[j, d, k].

    Takes ratios (J, D, G) and a partition with K blocks; returns (K, D, J).
    """
    J, D, G = ratios.shape
    C = likelihood.low.shape[1]
    found = np.zeros((partition.counter[0], D, J))
    for b in range(partition.counter[0]):
        stat = partition.stats[partition.active[b]]
        for d in range(D):
            part = part_of(0, d, G, C)
            for j in range(J):
                for k in range(int(stat[part.lo]), int(stat[part.hi])):
                    found[b, d, j] += stat[part.weights + k] * ratios[j, d, k]
    return found
