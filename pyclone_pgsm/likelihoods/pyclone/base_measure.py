"""Change of the base measure of the prevalences, and posterior probabilities of its components given the blocks."""

import numpy as np

from pyclone_pgsm.likelihoods.pyclone.statistic import flush, part_of, renew_window


def change_base(likelihood, before, partition):
    """Update the statistics of a partition, in place, for the base measure of the likelihood.

    `before` (D, G) is ``log_base`` of the base measure that the statistics include.
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


def posterior_means(likelihood, functions, partition):
    """Return the posterior means of functions of the grid point k, for each block b and sample d: sum_k W_bdk f_jdk.

    With f_jdk = w_dj A_jk / h_dk, the share of component j in a mixture base measure, these are the posterior
    probabilities of the components.

    Takes functions (J, D, G) and a partition with K blocks; returns (K, D, J).
    """
    J, D, G = functions.shape
    C = likelihood.low.shape[1]
    found = np.zeros((partition.counter[0], D, J))
    for b in range(partition.counter[0]):
        stat = partition.stats[partition.active[b]]
        for d in range(D):
            part = part_of(0, d, G, C)
            for j in range(J):
                for k in range(int(stat[part.lo]), int(stat[part.hi])):
                    found[b, d, j] += stat[part.weights + k] * functions[j, d, k]
    return found
