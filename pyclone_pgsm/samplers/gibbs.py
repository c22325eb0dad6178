"""Collapsed single-site Gibbs sampling (MacEachern 1994; Neal 2000, Algorithm 3).

Each observation in turn joins a block b of the others with probability proportional to

    tau2(|b| + 1) / tau2(|b|) L(y_i | y_b),

or a new one with probability proportional to tau1(k + 1) / tau1(k) tau2(1) L(y_i), k the number of the other blocks.
An observation that stays costs no update: its own block's predictive comes from ``log_predictive_without``.

Observations of the same *kind* are equal. What was computed for one holds for the next, but for the blocks that have
changed in between; and when y leaves b for b', one half of what has changed is known already:

    L(y | b after) = L(y | b without y, before),     L(y | b' without y, after) = L(y | b', before).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from pyclone_pgsm.samplers.partition import close_slot, open_slot, with_free_slots

# Choices more than this many nats below the best are left out: all together less than the rounding of the others.
NEGLIGIBLE = 37.0
# Weights are relative to one of the best choices for an observation, which may differ between those of a kind: it may
# be this many nats above another, or below.
SLACK = 3.0
LARGEST = 300.0
JOINING, STAYING = 1, 2  # the two predictives of a block, bits of what is known


@njit(nogil=True)
def relative_weight(log_p):
    """exp(log_p), 0 where negligible."""
    return math.exp(log_p) if log_p > -NEGLIGIBLE - SLACK else 0.0


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
        The observations in the order in which they are visited; those of one kind are best neighbours.
    rng : numpy.random.Generator

    Returns
    -------
    partition : Partition
    moved : int
        Observations that changed their block.
    """
    log_tau1 = prior.log_tau1
    log_tau2 = prior.log_tau2
    largest_ratio = np.max(log_tau2[2:] - log_tau2[1:-1]) if len(log_tau2) > 2 else 0.0
    moved = 0
    kind = -1
    # per slot: log L(y | b), log L(y | b without y), which of them are known, and the weight of joining
    joining = np.empty(0)
    staying = np.empty(0)
    known = np.zeros(0, np.int64)
    weight = np.empty(0)
    asked = np.empty(0, np.int64)
    answers = np.empty(0)
    for i in order:
        partition = with_free_slots(partition, 1)
        labels, sizes, stats, active, _, counter = partition
        if len(sizes) > len(known):
            joining = np.empty(len(sizes))
            staying = np.empty(len(sizes))
            known = np.zeros(len(sizes), np.int64)
            weight = np.empty(len(sizes))
            asked = np.empty(len(sizes), np.int64)
            answers = np.empty(len(sizes))
            kind = -1
        num_blocks = counter[0]
        own = labels[i]
        alone = sizes[own] == 1
        num_others = num_blocks - 1 if alone else num_blocks
        if likelihood.kind(i) != kind:
            kind = likelihood.kind(i)
            log_new = likelihood.log_prior_predictive(i)
            base = cut = np.inf
            for b in range(num_blocks):
                known[active[b]] = 0

        # a new block, and the own one
        log_p_new = log_new + log_tau2[1]
        if num_others > 0:
            log_p_new += log_tau1[num_others + 1] - log_tau1[num_others]
        log_p_own = -np.inf
        if not alone:
            if not known[own] & STAYING:
                staying[own] = likelihood.log_predictive_without(stats[own], i)
                known[own] |= STAYING
            log_p_own = staying[own] + log_tau2[sizes[own]] - log_tau2[sizes[own] - 1]
        best = max(log_p_new, log_p_own)
        if best - NEGLIGIBLE - largest_ratio < cut or best > base + LARGEST:
            base = best
            cut = best - NEGLIGIBLE - largest_ratio - SLACK
            for b in range(num_blocks):
                known[active[b]] &= STAYING

        # the other blocks: those not known yet are predicted together
        count = 0
        for b in range(num_blocks):
            slot = active[b]
            if slot != own and not known[slot] & JOINING:
                asked[count] = slot
                count += 1
        if count > 0:
            likelihood.log_predictives(stats, asked[:count], i, cut, answers)
            for b in range(count):
                slot = asked[b]
                joining[slot] = answers[b]
                known[slot] |= JOINING
                log_p = joining[slot] + log_tau2[sizes[slot] + 1] - log_tau2[sizes[slot]]
                best = max(best, log_p)
                weight[slot] = relative_weight(log_p - base)
            if best > base + LARGEST:
                base = best
                for b in range(num_blocks):
                    slot = active[b]
                    if known[slot] & JOINING:
                        log_p = joining[slot] + log_tau2[sizes[slot] + 1] - log_tau2[sizes[slot]]
                        weight[slot] = relative_weight(log_p - base)
        weight_own = relative_weight(log_p_own - base)
        weight_new = relative_weight(log_p_new - base)

        # draw: the own block first, then the others, then a new one
        total = weight_own + weight_new
        for b in range(num_blocks):
            slot = active[b]
            total += weight[slot] if slot != own else 0.0
        u = rng.random() * total - weight_own
        if u < 0.0:
            continue
        target = -1
        for b in range(num_blocks):
            slot = active[b]
            u -= weight[slot] if slot != own else 0.0
            if u < 0.0:
                target = slot
                break

        if target < 0:
            if alone:
                continue
            target = open_slot(partition)
            likelihood.clear(stats[target])
            joining[target] = log_new
        sizes[own] -= 1
        if alone:
            close_slot(partition, own)
        else:
            likelihood.remove(stats[own], i)
            joining[own] = staying[own]
            known[own] = JOINING
            weight[own] = relative_weight(
                joining[own] + log_tau2[sizes[own] + 1] - log_tau2[sizes[own]] - base
            )
        likelihood.add(stats[target], i)
        sizes[target] += 1
        labels[i] = target
        staying[target] = joining[target]
        known[target] = STAYING
        moved += 1
    return partition, moved
