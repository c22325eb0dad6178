"""Collapsed single-site Gibbs sampling (MacEachern 1994; Neal 2000, Algorithm 3).

Each observation in turn joins a block b of the others with probability proportional to

    tau2(|b| + 1) / tau2(|b|) L(y_i | y_b),

or a new one with probability proportional to tau1(k + 1) / tau1(k) tau2(1) L(y_i), k the number of the other blocks.
An observation that stays costs no update: its own block's predictive comes from ``log_predictive_without``.
"""

from __future__ import annotations

import math

import numpy as np

from pyclone_pgsm.samplers.partition import close_slot, open_slot, with_free_slots

# Choices more than this many nats below the best are left out: all together less than the rounding of the others.
NEGLIGIBLE = 37.0


def gibbs_sweep(likelihood, prior, partition, order, rng):
    """One sweep over all observations.

    Parameters
    ----------
    likelihood : NamedTuple
        See :mod:`pyclone_pgsm.likelihoods.contract`.
    prior : PartitionPrior
    partition : Partition
        Changed in place; do not use it afterwards.
    order : (T,) int64
        The observations in the order in which they are visited.
    rng : numpy.random.Generator

    Returns
    -------
    partition : Partition
    moved : int
        Observations that changed their block.
    """
    log_tau1 = prior.log_tau1
    log_tau2 = prior.log_tau2
    log_p = np.empty(len(partition.sizes) + 1)
    largest_weight = np.max(log_tau2[2:] - log_tau2[1:-1]) if len(log_tau2) > 2 else 0.0
    moved = 0
    for i in order:
        partition = with_free_slots(partition, 1)
        if len(log_p) <= len(partition.sizes):
            log_p = np.empty(len(partition.sizes) + 1)
        labels, sizes, stats, active, position, counter = partition
        num_blocks = counter[0]
        own = labels[i]
        alone = sizes[own] == 1
        num_others = num_blocks - 1 if alone else num_blocks

        best = (log_tau1[num_others + 1] - log_tau1[num_others] if num_others > 0 else 0.0) + log_tau2[1]
        best += likelihood.log_prior_predictive(i)
        log_p_new = best
        own_log_p = -np.inf
        if not alone:
            size = sizes[own]
            own_log_p = log_tau2[size] - log_tau2[size - 1] + likelihood.log_predictive_without(stats[own], i)
            best = max(best, own_log_p)
        # swap the own block to the end of the active ones: the others are predicted together
        last = active[num_blocks - 1]
        where = position[own]
        active[where], active[num_blocks - 1] = last, own
        position[last], position[own] = where, num_blocks - 1
        likelihood.log_predictives(
            stats, active[: num_blocks - 1], i, best - NEGLIGIBLE - largest_weight, log_p
        )
        for b in range(num_blocks - 1):
            size = sizes[active[b]]
            log_p[b] += log_tau2[size + 1] - log_tau2[size]
            best = max(best, log_p[b])
        log_p[num_blocks - 1] = own_log_p
        log_p[num_blocks] = log_p_new

        total = 0.0
        for b in range(num_blocks + 1):
            if log_p[b] > best - NEGLIGIBLE:
                total += math.exp(log_p[b] - best)
            log_p[b] = total
        u = rng.random() * total
        choice = 0
        while choice < num_blocks and log_p[choice] <= u:
            choice += 1

        if choice == num_blocks:
            if alone:
                continue
            target = open_slot(partition)
            likelihood.clear(stats[target])
        else:
            target = active[choice]
            if target == own:
                continue
        sizes[own] -= 1
        if alone:
            close_slot(partition, own)
        else:
            likelihood.remove(stats[own], i)
        likelihood.add(stats[target], i)
        sizes[target] += 1
        labels[i] = target
        moved += 1
    return partition, moved
