"""Gibbs sampling of which observations are outliers.

Each of T observations is an outlier with probability p, independently. An outlier has a block like any other, and
counts in its size, but its data have a likelihood L' of their own: they say nothing of the block, nor the block of
them. So with o the set of the outliers

    pi(c, o) ∝ p^|o| (1 - p)^(T - |o|) tau1(|c|) prod_{b in c} tau2(|b|) L(y_{b without o}) prod_{i in o} L'(y_i).

All moves of partitions work on this target if the likelihood they see has no data for the outliers. The sweep here
draws block and outlier together, from the full likelihood: observation i

    joins a block b of the others              with weight  tau2(|b| + 1) / tau2(|b|) L(y_i | y_{b without o}),
    opens a new one, k being their number                   tau1(k + 1) / tau1(k) tau2(1) L(y_i),
    joins b or opens a new one as an outlier                p / (1 - p) L'(y_i) times the same factors of the prior.
"""

from __future__ import annotations

import math

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import close_slot, open_slot, with_free_slots
from pyclone_pgsm.samplers.gibbs import NEGLIGIBLE


@inner(**LEAF)
def visit_outliers(likelihood, prior, partition, outliers, log_outlier, order, first, room, rng):
    """Visit ``order[first], ..`` as long as there is a free slot.

    Returns
    -------
    next : int
        Where in the order it stopped.
    changed : int
        Observations that became outliers, or ceased to be.
    """
    labels, sizes, stats, active, _, counter = partition
    asked, cuts, member, outside = room
    log_tau1 = prior.log_tau1
    log_tau2 = prior.log_tau2
    changed = 0
    for t in range(first, len(order)):
        num_blocks = counter[0]
        if num_blocks == len(sizes):
            return t, changed
        i = order[t]
        own = labels[i]
        was_outlier = outliers[i]
        is_alone = sizes[own] == 1

        # the prior's factor of each block, that of a new one last; the own block without the observation
        count = 0
        for b in range(num_blocks):
            slot = active[b]
            size = sizes[slot] - 1 if slot == own else sizes[slot]
            if size > 0:
                asked[count] = slot
                outside[count] = log_tau2[size + 1] - log_tau2[size]
                count += 1
        outside[count] = log_tau2[1] + (log_tau1[count + 1] - log_tau1[count] if count > 0 else 0.0)
        largest = -np.inf
        for b in range(count + 1):
            largest = max(largest, outside[b])

        # weights as a member of the blocks, and as an outlier in them
        log_alone = likelihood.log_prior_predictive(i)
        best = max(log_alone + outside[count], log_outlier[i] + largest)
        for b in range(count):
            cuts[b] = best - NEGLIGIBLE - outside[b]
        likelihood.log_predictives(stats, asked[:count], i, cuts, member)
        member[count] = log_alone
        for b in range(count + 1):
            if b < count and asked[b] == own and not was_outlier:
                member[b] = likelihood.log_predictive_without(stats[own], i)
            member[b] += outside[b]
            best = max(best, member[b])
        total = 0.0
        for b in range(count + 1):
            member[b] = math.exp(member[b] - best)
            outside[b] = math.exp(outside[b] + log_outlier[i] - best)
            total += member[b] + outside[b]

        # draw
        u = rng.random() * total
        choice = 0
        for b in range(2 * (count + 1)):
            weight = member[b] if b <= count else outside[b - count - 1]
            if weight > 0.0:
                choice = b
                u -= weight
                if u < 0.0:
                    break
        is_outlier = choice > count
        place = choice - count - 1 if is_outlier else choice

        target = asked[place] if place < count else -1
        changed += is_outlier != was_outlier
        outliers[i] = is_outlier
        if is_outlier == was_outlier and (target == own or (target < 0 and is_alone)):
            continue
        sizes[own] -= 1
        if is_alone:
            close_slot(partition, own)
        elif not was_outlier:
            likelihood.remove(stats[own], i)
        if target < 0:
            target = open_slot(partition)
            likelihood.clear(stats[target])
        if not is_outlier:
            likelihood.add(stats[target], i)
        sizes[target] += 1
        labels[i] = target
    return len(order), changed


def resample_outliers(likelihood, prior, partition, outliers, log_outlier, order, rng):
    """One sweep over all observations.

    Parameters
    ----------
    likelihood : NamedTuple
        Of all observations (see :mod:`pyclone_pgsm.likelihoods.contract`).
    prior : PartitionPrior
    partition : Partition
        Outliers are in labels and sizes, but not in the statistics. Changed in place; do not use it afterwards.
    outliers : (T,) bool
        Changed in place.
    log_outlier : (T,) float64
        log of p / (1 - p) L'(y_i), without the factors that the likelihood leaves out.
    order : (T,) int64
        The observations in the order in which they are visited.
    rng : numpy.random.Generator

    Returns
    -------
    partition : Partition
    changed : int
        Observations that became outliers, or ceased to be.
    """
    changed = 0
    visited = np.int64(0)
    while visited < len(order):
        partition = with_free_slots(partition, 1)
        capacity = len(partition.sizes) + 1
        room = (np.empty(capacity, np.int64), np.empty(capacity), np.empty(capacity), np.empty(capacity))
        visited, newly_changed = visit_outliers(
            likelihood, prior, partition, outliers, log_outlier, order, visited, room, rng
        )
        changed += newly_changed
    return partition, changed
