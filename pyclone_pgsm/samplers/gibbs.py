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
from typing import NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import close_slot, open_slot, with_free_slots

# Choices more than this many nats below the best are left out: all together less than the rounding of the others.
NEGLIGIBLE = 37.0
# Weights are relative to one of the best choices for an observation, which may differ between those of a kind: it may
# be this many nats above another, or below.
SLACK = 3.0
LARGEST = 300.0
COARSE = 9.0  # choices this many nats below are only counted at first
SMALLEST = 1e-300  # for a uniform number that is divided by
JOINING, STAYING, SMALL = (
    1,
    2,
    4,
)  # bits of what is known: two predictives; and that the weight of joining is small


class Known(NamedTuple):
    """What is known of the blocks, per slot, for the observation that is visited and its equals.

    Attributes
    ----------
    joining, staying : (C,) float64
        log L(y | b) and log L(y | b without y).
    flags : (C,) int64
        What is known: JOINING, STAYING; or that the weight is below exp(-COARSE) of what it is relative to: SMALL.
    weight : (C,) float64
        Of joining the block.
    asked, cuts, answers : (C,)
        Slots that predictives are wanted of, below which these are negligible, and these.
    """

    joining: np.ndarray
    staying: np.ndarray
    flags: np.ndarray
    weight: np.ndarray
    asked: np.ndarray
    cuts: np.ndarray
    answers: np.ndarray


@inner(nogil=True)
def nothing_known(capacity):
    return Known(
        np.empty(capacity),
        np.empty(capacity),
        np.zeros(capacity, np.int64),
        np.empty(capacity),
        np.empty(capacity, np.int64),
        np.empty(capacity),
        np.empty(capacity),
    )


@inner(**LEAF)
def relative_weight(log_p):
    """exp(log_p), 0 where negligible."""
    return math.exp(log_p) if log_p > -NEGLIGIBLE - SLACK else 0.0


@inner(**LEAF)
def stays_for_certain(likelihood, log_tau2, partition, own, i, log_p_own, log_p_new, u, asked, cuts, answers):
    """Whether u < weight_own / total, mostly from bounds: no block needs its exact weight if all are small enough.

    Parameters
    ----------
    likelihood : NamedTuple
    log_tau2 : (T + 1,) float64
    partition : Partition
    own, i : int
        The slot of the observation's block, and the observation.
    log_p_own, log_p_new : float
        log weight of staying, and of a new block.
    u : float
        Uniform in [0, 1).
    asked, cuts, answers : (C,) int64, (C,) float64, (C,) float64
        Room.
    """
    _, sizes, stats, active, _, counter = partition
    num_others = counter[0] - 1
    rest = (1.0 - u) / max(u, SMALLEST) - math.exp(min(log_p_new - log_p_own, LARGEST))  # in units of own's
    if rest <= 0.0 or num_others == 0:
        return rest > 0.0
    share = rest / (num_others + 1)
    log_share = log_p_own + math.log(share)
    count = 0
    for b in range(counter[0]):
        if active[b] != own:
            size = sizes[active[b]]
            asked[count] = active[b]
            cuts[count] = log_share - log_tau2[size + 1] + log_tau2[size]
            count += 1
    likelihood.log_predictives(stats, asked[:count], i, cuts, answers)
    for b in range(count):
        weight = share
        if answers[b] >= cuts[b]:
            weight *= math.exp(min(answers[b] - cuts[b], LARGEST))
        rest -= weight
    return rest > 0.0


@inner(**LEAF)
def draw_block(partition, own, weight, weight_own, weight_new, u, hidden):
    """The block that u picks: the own one comes first, then the others, then a new one.

    Parameters
    ----------
    partition : Partition
    own : int
        Slot of the observation's block.
    weight : (C,) float64
        Of each other block, by its slot.
    weight_own, weight_new : float
    u : float
        Uniform in [0, 1).
    hidden : float
        Bound on what is missing in the sum of `weight`.

    Returns
    -------
    slot : int
        -1 for a new block.
    is_sure : bool
        Whether u picks it whatever is missing.
    """
    _, _, _, active, _, counter = partition
    total = weight_own + weight_new
    for b in range(counter[0]):
        slot = active[b]
        total += weight[slot] if slot != own else 0.0
    left = u * total - weight_own
    if left < 0.0:
        return np.int64(own), left + u * hidden < 0.0
    for b in range(counter[0]):
        slot = active[b]
        if slot != own:
            if left < weight[slot]:
                return slot, left >= hidden and left + u * hidden < weight[slot]
            left -= weight[slot]
    return np.int64(-1), left >= hidden


@inner(**LEAF)
def visit(likelihood, prior, partition, order, first, about, rng):
    """Visit ``order[first], ..`` as long as there is a free slot.

    Returns
    -------
    next : int
        Where in the order it stopped.
    moved : int
    """
    labels, sizes, stats, active, _, counter = partition
    joining, staying, known, weight, asked, cuts, answers = about
    log_tau1 = prior.log_tau1
    log_tau2 = prior.log_tau2
    moved = 0
    kind = -1
    log_new = base = np.inf
    for t in range(first, len(order)):
        num_blocks = counter[0]
        if num_blocks == len(sizes):
            return t, moved
        i = order[t]
        u = rng.random()
        own = labels[i]
        alone = sizes[own] == 1
        num_others = num_blocks - 1 if alone else num_blocks
        is_single = False
        if likelihood.kind(i) != kind:
            kind = likelihood.kind(i)
            is_single = t + 1 == len(order) or likelihood.kind(order[t + 1]) != kind
            log_new = likelihood.log_prior_predictive(i)
            base = np.inf
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
            if is_single and stays_for_certain(
                likelihood, log_tau2, partition, own, i, log_p_own, log_p_new, u, asked, cuts, answers
            ):
                continue
        best = max(log_p_new, log_p_own)
        if best < base - SLACK or best > base + LARGEST:
            base = best
            for b in range(num_blocks):
                known[active[b]] &= STAYING

        # the other blocks: those not known yet are predicted together; draw. Small weights are looked at only where
        # they could make a difference
        target = own
        for depth, enough in ((COARSE, JOINING | SMALL), (NEGLIGIBLE + SLACK, JOINING)):
            count = num_small = 0
            for b in range(num_blocks):
                slot = active[b]
                if slot == own:
                    continue
                if known[slot] & enough == SMALL:
                    num_small += 1
                elif not known[slot] & enough:
                    asked[count] = slot
                    ratio = log_tau2[sizes[slot] + 1] - log_tau2[sizes[slot]]
                    cuts[count] = base - depth - ratio
                    count += 1
            if count > 0:
                likelihood.log_predictives(stats, asked[:count], i, cuts, answers)
                for b in range(count):
                    slot = asked[b]
                    joining[slot] = answers[b]
                    log_p = joining[slot] + log_tau2[sizes[slot] + 1] - log_tau2[sizes[slot]]
                    weight[slot] = relative_weight(log_p - base)
                    known[slot] &= STAYING
                    if answers[b] < cuts[b] and depth == COARSE:
                        known[slot] |= SMALL
                        weight[slot] = 0.0
                        num_small += 1
                    else:
                        known[slot] |= JOINING
                        best = max(best, log_p)
                if best > base + LARGEST:
                    base = best
                    for b in range(num_blocks):
                        slot = active[b]
                        if known[slot] & JOINING:
                            log_p = joining[slot] + log_tau2[sizes[slot] + 1] - log_tau2[sizes[slot]]
                            weight[slot] = relative_weight(log_p - base)
            weight_own = relative_weight(log_p_own - base)
            weight_new = relative_weight(log_p_new - base)
            hidden = num_small * math.exp(-COARSE)
            target, is_sure = draw_block(partition, own, weight, weight_own, weight_new, u, hidden)
            if is_sure:
                break

        if target == own or (target < 0 and alone):
            continue
        if target < 0:
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
    return len(order), moved


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
    moved = 0
    visited = np.int64(0)
    while visited < len(order):
        partition = with_free_slots(partition, 1)
        about = nothing_known(len(partition.sizes))
        visited, newly_moved = visit(likelihood, prior, partition, order, visited, about, rng)
        moved += newly_moved
    return partition, moved
