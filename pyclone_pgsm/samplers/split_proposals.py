"""Metropolis-Hastings split-merge moves with any proposal q, used by SAMS and by restricted Gibbs sampling.

Two anchors s = {i1, i2} are in one block or in two; their closure is the n observations of these blocks. The move goes
from *merged*, with the closure in one block, to a *split*, with each observation in the block of one of the anchors, or
back. A split is drawn from a proposal q. The acceptance probabilities are

    merged to split    min(1, pi(split) / pi(merged) / q(split))
    split to merged    min(1, pi(merged) / pi(split) q(split))

    pi(split) / pi(merged) = tau1(k + 2) / tau1(k + 1) tau2(n1) tau2(n2) / tau2(n) L(y_1) L(y_2) / L(y)

with k the number of other blocks. q may be conditioned on anything whose distribution is the same in both states, such
as the order in which observations are visited. If the anchors are drawn given the partition, pi(c) is multiplied by
their probability, h(s | c) of :mod:`pyclone_pgsm.samplers.close_blocks`.

Proposed blocks are made in free slots of the partition, so that nothing needs to be undone after a rejection. A move
calls :func:`begin`, computes q, which is where SAMS and restricted Gibbs sampling differ, and calls :func:`conclude`.
"""

import math
from typing import NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import close_slot, copy_row, open_slot
from pyclone_pgsm.samplers.close_blocks import log_anchor_odds, other_blocks
from pyclone_pgsm.samplers.conditional_smc import sample_permutation
from pyclone_pgsm.samplers.split_merge import closure_of, merge_blocks, path_of

SLOTS = 3  # number of free slots that a move needs


class Split(NamedTuple):
    """A closure in two blocks.

    Attributes
    ----------
    sigma : (n,) int64
        The observations, the anchors first.
    sides : (n,) int8
        0 for an observation in the block of ``sigma[0]``, 1 for one in the block of ``sigma[1]``.
    slots : (2,) int64
        Slots with the statistics of the two blocks.
    sizes : (2,) int64
        Number of observations in each.
    log_weights, cutoffs : (2,) float64
        Workspace for the weights of the two blocks when an observation is allocated; no weight is negligible.
    """

    sigma: np.ndarray
    sides: np.ndarray
    slots: np.ndarray
    sizes: np.ndarray
    log_weights: np.ndarray
    cutoffs: np.ndarray


@inner(nogil=True)
def start_split(partition, sigma):
    """Return a split of `sigma`, which may be empty, whose blocks are yet to be made in the first two free slots.

    The sides are those of the current labels. If the anchors are in one block, only the second anchor is on side 1.
    """
    sides = path_of(partition.labels, sigma, 2).choices
    sides[1:2] = 1
    first = partition.counter[0]
    slots = partition.active[first : first + 2].copy()
    return Split(sigma, sides, slots, np.zeros(2, np.int64), np.empty(2), np.full(2, -np.inf))


@inner(**LEAF)
def choose_side(log_weights, wanted, rng):
    """Draw a side in proportion to its weight, or take `wanted` unless -1; return it and its log probability."""
    best = max(log_weights[0], log_weights[1])
    log_sum = best + math.log(math.exp(log_weights[0] - best) + math.exp(log_weights[1] - best))
    side = wanted
    if wanted < 0:
        side = 0 if rng.random() < math.exp(log_weights[0] - log_sum) else 1
    return side, log_weights[side] - log_sum


@inner(**LEAF)
def log_split_odds(likelihood, prior, stats, num_others, slots, sizes, merged):
    """Return log pi(split) / pi(merged); -inf if the prior rules out that many blocks, so that a merge is accepted.

    Parameters
    ----------
    num_others : int
        k, the number of blocks without anchors.
    slots, sizes : (2,) int64
        Slots and sizes of the two blocks.
    merged : int
        Slot of the merged block.
    """
    if prior.log_tau1[num_others + 2] == -np.inf:
        return -np.inf
    log_odds = prior.log_tau1[num_others + 2] - prior.log_tau1[num_others + 1]
    for side in range(2):
        log_odds += prior.log_tau2[sizes[side]] + likelihood.log_marginal(stats[slots[side]])
    return log_odds - prior.log_tau2[sizes[0] + sizes[1]] - likelihood.log_marginal(stats[merged])


@inner(nogil=True)
def make_merged_block(likelihood, partition, slots, closure):
    """Merge the two blocks in the third free slot, by adding the smaller to a copy of the larger; return the slot."""
    merged = partition.active[partition.counter[0] + 2]
    larger, smaller = slots[0], slots[1]
    if partition.sizes[larger] < partition.sizes[smaller]:
        larger, smaller = smaller, larger
    members = np.empty(partition.sizes[smaller], np.int64)
    count = 0
    for i in closure:
        if partition.labels[i] == smaller:
            members[count] = i
            count += 1
    copy_row(partition.stats, larger, partition.stats, merged)
    likelihood.add_many(partition.stats[merged], members)
    return merged


@inner(**LEAF)
def accept_split(partition, slot, split):
    """Put the two new blocks into use and free the slot of the old one."""
    for side in range(2):
        partition.sizes[open_slot(partition)] = split.sizes[side]
    for t in range(len(split.sigma)):
        partition.labels[split.sigma[t]] = split.slots[split.sides[t]]
    close_slot(partition, slot)


class Attempt(NamedTuple):
    """An attempted move: from one block to a proposed split, or from the current split to one block.

    Attributes
    ----------
    slots : (2,) int64
        Slots of the anchors' blocks.
    num_blocks : int
        Number of the anchors' blocks, 1 or 2.
    closure : (n,) int64
    others : (k,) int64
        Slots of the other blocks.
    merged : int
        Slot of the merged block: the current block, or for a merge a block made for the purpose.
    split : Split
        The sides of a proposed split are yet to be drawn; for a merge they are those of the current split.
    log_u : float
        log of the uniform random number that decides.
    least : float
        For a merge: log u + log pi(split) / pi(merged); the merge is accepted if log q exceeds it. -inf for a split.
    is_hopeless : bool
        Whether the move is rejected for any q: the prior rules the split out, or `least` >= 0 (log q is never
        positive). Then q is not computed, and the split is empty.
    """

    slots: np.ndarray
    num_blocks: int
    closure: np.ndarray
    others: np.ndarray
    merged: int
    split: Split
    log_u: float
    least: float
    is_hopeless: bool


@inner(nogil=True)
def begin(likelihood, prior, partition, anchors, are_close, rng):
    """Begin a move from two anchors; :data:`SLOTS` slots of the partition must be free.

    `are_close` says whether the anchors were drawn by :func:`~pyclone_pgsm.samplers.close_blocks.close_anchors`, rather
    than independently of the partition.
    """
    closure, slots, num_blocks = closure_of(partition, anchors)
    others = other_blocks(partition, slots[0], slots[1])
    log_u = math.log1p(-rng.random())  # log of a number in (0, 1]
    merged, least = slots[0], -np.inf
    is_hopeless = num_blocks == 1 and prior.log_tau1[len(others) + 2] == -np.inf
    if num_blocks == 2:
        merged = make_merged_block(likelihood, partition, slots, closure)
        sizes = partition.sizes[slots]
        log_odds = log_split_odds(likelihood, prior, partition.stats, len(others), slots, sizes, merged)
        if are_close:
            log_odds += log_anchor_odds(likelihood, partition, anchors[0], slots[1], others, sizes)
        least = log_u + log_odds
        is_hopeless = least >= 0.0
    sigma = closure[:0] if is_hopeless else sample_permutation(rng, anchors, closure)
    split = start_split(partition, sigma)
    return Attempt(slots, num_blocks, closure, others, merged, split, log_u, least, is_hopeless)


@inner(**LEAF)
def conclude(likelihood, prior, partition, anchors, are_close, attempt, log_q):
    """Accept or reject the attempted move, given log q of its split; return the number of blocks before and after."""
    slots, num_blocks, closure, others, merged, split, log_u, least, _ = attempt
    if num_blocks == 2:
        if log_q <= least:
            return 2, 2
        copy_row(partition.stats, merged, partition.stats, slots[0])
        merge_blocks(partition, slots, closure)
        return 2, 1
    log_odds = log_split_odds(
        likelihood, prior, partition.stats, len(others), split.slots, split.sizes, merged
    )
    if are_close:
        second_slot = split.slots[1 if split.sigma[0] == anchors[0] else 0]
        log_odds += log_anchor_odds(likelihood, partition, anchors[0], second_slot, others, split.sizes)
    if log_u >= log_odds - log_q:
        return 1, 1
    accept_split(partition, slots[0], split)
    return 1, 2
