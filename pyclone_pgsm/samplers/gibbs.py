"""Collapsed single-site Gibbs sampling (MacEachern 1994; Neal 2000, Algorithm 3).

Each observation in turn joins a block b of the others with probability proportional to

    tau2(|b| + 1) / tau2(|b|) L(y_i | y_b),

or a new block with probability proportional to tau1(k + 1) / tau1(k) tau2(1) L(y_i), where k is the number of the other
blocks. An observation that stays costs no update: its own block's predictive comes from ``log_predictive_without``.

Observations of the same *kind* have equal data. The values computed for one are reused for the next, except for blocks
that have changed in between. When y moves from b to b', half of the changed values are already known:

    L(y | b after) = L(y | b without y, before),     L(y | b' without y, after) = L(y | b', before).

Predictives that are negligible need not be exact, so a likelihood may stop early where it has an upper bound.
"""

import math
from typing import NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import close_slot, log_new_block, log_size_ratio, open_slot, with_free_slots

# Choices more than this many nats below the best are left out: together they are less than the rounding error.
NEGLIGIBLE = 37.0
SLACK = 3.0  # how far below its earlier value the best choice may fall before predictives are computed again
JOINING, STAYING = 1, 2
"""Bits of `Known.flags`: log L(y | b) is up to date; log L(y | b without y) is."""


class Known(NamedTuple):
    """Values known for each slot, valid for the visited observation and all others of its kind.

    Attributes
    ----------
    joining, staying : (C,) float64
        log L(y | b) and log L(y | b without y).
    flags : (C,) int64
        What is known of the block: JOINING, STAYING.
    slots, cutoffs, results : (C,)
        Workspace for predictives: slots of the blocks, values below which predictives need not be exact, and results.
    """

    joining: np.ndarray
    staying: np.ndarray
    flags: np.ndarray
    slots: np.ndarray
    cutoffs: np.ndarray
    results: np.ndarray


class Visit(NamedTuple):
    """An observation that chooses its block.

    Attributes
    ----------
    i, own : int
        The observation, and the slot of its block.
    is_alone : bool
        Whether its block has no other member.
    log_p_own, log_p_new : float
        log weight of staying (-inf if alone), and of a new block.
    """

    i: int
    own: int
    is_alone: bool
    log_p_own: float
    log_p_new: float


@inner(nogil=True)
def nothing_known(capacity):
    return Known(
        np.empty(capacity),
        np.empty(capacity),
        np.zeros(capacity, np.int64),
        np.empty(capacity, np.int64),
        np.empty(capacity),
        np.empty(capacity),
    )


@inner(**LEAF)
def keep_flags(partition, known, flags):
    """Clear all flags of all blocks except `flags`."""
    for b in range(partition.counter[0]):
        known.flags[partition.active[b]] &= flags


@inner(**LEAF)
def relative_weight(log_p):
    """Return exp(log_p), or 0 if negligible."""
    return math.exp(log_p) if log_p > -NEGLIGIBLE else 0.0


@inner(**LEAF)
def start_visit(likelihood, prior, partition, i, log_new, known):
    """Begin the visit of observation i: weights of staying and of a new block; `log_new` is log L(y_i)."""
    labels, sizes, stats, _, _, counter = partition
    own = np.int64(labels[i])
    is_alone = sizes[own] == 1
    num_others = counter[0] - 1 if is_alone else counter[0]
    log_p_new = log_new + log_new_block(prior, num_others)
    log_p_own = -np.inf
    if not is_alone:
        if not known.flags[own] & STAYING:
            known.staying[own] = likelihood.log_predictive_without(stats[own], i)
            known.flags[own] |= STAYING
        log_p_own = known.staying[own] + log_size_ratio(prior.log_tau2, sizes[own] - 1)
    return Visit(i, own, is_alone, log_p_own, log_p_new)


@inner(**LEAF)
def predict_others(likelihood, log_tau2, partition, visit, base, known):
    """Compute the unknown predictives of other blocks; those that are negligible beside `base` need not be exact."""
    _, sizes, stats, active, _, counter = partition
    joining, _, flags, slots, cutoffs, results = known
    count = 0
    for b in range(counter[0]):
        slot = active[b]
        if slot != visit.own and not flags[slot] & JOINING:
            slots[count] = slot
            cutoffs[count] = base - NEGLIGIBLE - SLACK - log_size_ratio(log_tau2, sizes[slot])
            count += 1
    if count == 0:
        return
    likelihood.log_predictives(stats, slots[:count], visit.i, cutoffs, results)
    for b in range(count):
        flags[slots[b]] |= JOINING
        joining[slots[b]] = results[b]


@inner(**LEAF)
def draw_block(rng, log_tau2, partition, visit, known):
    """Draw a block with probability proportional to its weight; return its slot, -1 for a new block.

    The observation's own block comes first, then the others, then the new one.
    """
    _, sizes, _, active, _, counter = partition
    weight = known.results
    best = max(visit.log_p_own, visit.log_p_new)
    for b in range(counter[0]):
        if active[b] != visit.own:
            weight[b] = known.joining[active[b]] + log_size_ratio(log_tau2, sizes[active[b]])
            best = max(best, weight[b])
    weight_own = relative_weight(visit.log_p_own - best)
    total = weight_own + relative_weight(visit.log_p_new - best)
    for b in range(counter[0]):
        if active[b] != visit.own:
            weight[b] = relative_weight(weight[b] - best)
            total += weight[b]
    left = rng.random() * total - weight_own
    if left < 0.0:
        return visit.own
    for b in range(counter[0]):
        if active[b] != visit.own:
            left -= weight[b]
            if left < 0.0:
                return active[b]
    return np.int64(-1)


@inner(**LEAF)
def move(likelihood, partition, visit, target, log_new, known):
    """Move the observation from its block to `target` (-1 for a new block), and update the known values."""
    labels, sizes, stats, _, _, _ = partition
    joining, staying, flags, _, _, _ = known
    i, own = visit.i, visit.own
    if target < 0:
        target = open_slot(partition)
        likelihood.clear(stats[target])
        joining[target] = log_new
    sizes[own] -= 1
    if visit.is_alone:
        close_slot(partition, own)
    else:
        likelihood.remove(stats[own], i)
        joining[own] = staying[own]
        flags[own] = JOINING
    likelihood.add(stats[target], i)
    sizes[target] += 1
    labels[i] = target
    staying[target] = joining[target]
    flags[target] = STAYING


@inner(**LEAF)
def visit_all(likelihood, prior, partition, order, first, known, rng):
    """Visit ``order[first], ..`` until no slot is free; return the position reached and how many have moved."""
    log_tau2 = prior.log_tau2
    moved = 0
    kind = -1
    log_new = base = np.inf
    for t in range(first, len(order)):
        if partition.counter[0] == len(partition.sizes):
            return t, moved
        i = order[t]
        if likelihood.kind(i) != kind:
            kind = likelihood.kind(i)
            log_new = likelihood.log_prior_predictive(i)
            base = np.inf
            keep_flags(partition, known, 0)
        visit = start_visit(likelihood, prior, partition, i, log_new, known)
        best = max(visit.log_p_new, visit.log_p_own)
        if best < base - SLACK:
            base = best
            keep_flags(partition, known, STAYING)
        predict_others(likelihood, log_tau2, partition, visit, base, known)
        target = draw_block(rng, log_tau2, partition, visit, known)
        if target != visit.own and not (target < 0 and visit.is_alone):
            move(likelihood, partition, visit, target, log_new, known)
            moved += 1
    return len(order), moved


def gibbs_sweep(likelihood, prior, partition, order, rng):
    """Make one sweep over all observations.

    Parameters
    ----------
    likelihood : NamedTuple
        See :mod:`pyclone_pgsm.likelihoods.contract`.
    prior : PartitionPrior
    partition : Partition
        Changed in place; do not use it afterwards.
    order : (T,) int64
        The observations in the order in which they are visited. It is fastest if those of one kind are adjacent.
    rng : numpy.random.Generator

    Returns
    -------
    partition : Partition
    moved : int
        Number of observations that changed their block.
    """
    moved = 0
    visited = np.int64(0)
    while visited < len(order):
        partition = with_free_slots(partition, 1)
        known = nothing_known(len(partition.sizes))
        visited, newly_moved = visit_all(likelihood, prior, partition, order, visited, known, rng)
        moved += newly_moved
    return partition, moved
