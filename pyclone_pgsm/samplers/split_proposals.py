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

Proposed blocks are made in free slots of the partition, so that nothing needs to be undone after a rejection: two for
the blocks of a split, then one for a merged block.
"""

import math
from typing import NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import close_slot, copy_row, open_slot
from pyclone_pgsm.samplers.close_blocks import log_anchor_odds
from pyclone_pgsm.samplers.conditional_smc import shuffle

SLOTS = 3  # number of free slots that a move needs


class Workspace(NamedTuple):
    """Arrays that are made once for all moves of a call.

    Attributes
    ----------
    sigma : (T,) int64
        The n observations of the closure, the anchors first.
    sides : (T,) int8
        Their sides in a split: 0 in the block of ``sigma[0]``, 1 in the block of ``sigma[1]``.
    slots, sizes : (2,) int64
        Slots and sizes of the two blocks of a split.
    items : (T,) int64
        Slots of blocks, or members of a block.
    log_p, cutoffs : (T,) float64
        Log weights of blocks, and -inf: none of them is negligible.
    """

    sigma: np.ndarray
    sides: np.ndarray
    slots: np.ndarray
    sizes: np.ndarray
    items: np.ndarray
    log_p: np.ndarray
    cutoffs: np.ndarray


@inner(nogil=True)
def make_workspace(T):
    """Make the arrays for moves of T observations, at least two."""
    pair = np.empty(2, np.int64), np.empty(2, np.int64)
    return Workspace(
        np.empty(T, np.int64),
        np.empty(T, np.int8),
        *pair,
        np.empty(T, np.int64),
        np.empty(T),
        np.full(T, -np.inf),
    )


@inner(**LEAF)
def choose_side(log_p, wanted, rng):
    """Draw a side in proportion to its weight, or take `wanted` unless -1; return it and its log probability."""
    best = max(log_p[0], log_p[1])
    log_sum = best + math.log(math.exp(log_p[0] - best) + math.exp(log_p[1] - best))
    side = wanted
    if wanted < 0:
        side = 0 if rng.random() < math.exp(log_p[0] - log_sum) else 1
    return side, log_p[side] - log_sum


@inner(**LEAF)
def make_merged_block(likelihood, partition, slots, work):
    """Merge two blocks in the third free slot, by adding the smaller to a copy of the larger; return the slot.

    The workspace then has the slots and sizes of the two.
    """
    for side in range(2):
        work.slots[side], work.sizes[side] = slots[side], partition.sizes[slots[side]]
    larger, smaller = slots[0], slots[1]
    if work.sizes[0] < work.sizes[1]:
        larger, smaller = smaller, larger
    count = 0
    for i in range(len(partition.labels)):
        if partition.labels[i] == smaller:
            work.items[count] = i
            count += 1
    merged = partition.active[partition.counter[0] + 2]
    copy_row(partition.stats, larger, partition.stats, merged)
    likelihood.add_many(partition.stats[merged], work.items[:count])
    return merged


@inner(**LEAF)
def list_closure(labels, anchors, sigma):
    """Fill sigma with the two anchors, then the other members of their blocks in increasing order; return n."""
    slot, other_slot = labels[anchors[0]], labels[anchors[1]]
    sigma[0], sigma[1] = anchors[0], anchors[1]
    n = 2
    for i in range(len(labels)):
        if (labels[i] == slot or labels[i] == other_slot) and i != anchors[0] and i != anchors[1]:
            sigma[n] = i
            n += 1
    return n


@inner(**LEAF)
def begin_split(partition, anchors, work, rng):
    """Draw sigma, as Algorithm 2 does, and begin a split with the present sides in two free slots; return n."""
    n = list_closure(partition.labels, anchors, work.sigma)
    shuffle(rng, work.sigma, 0, 2)
    shuffle(rng, work.sigma, 2, n)
    for t in range(n):
        work.sides[t] = partition.labels[work.sigma[t]] != partition.labels[work.sigma[0]]
    work.sides[1] = 1
    for side in range(2):
        work.slots[side] = partition.active[partition.counter[0] + side]
    return n


@inner(**LEAF)
def log_split_odds(likelihood, prior, stats, num_others, merged, work):
    """Return log pi(split) / pi(merged); -inf if the prior rules out that many blocks, so that a merge is accepted.

    The two blocks of the split are those in the workspace; `merged` is the slot of the merged one.
    """
    slots, sizes = work.slots, work.sizes
    if prior.log_tau1[num_others + 2] == -np.inf:
        return -np.inf
    log_odds = prior.log_tau1[num_others + 2] - prior.log_tau1[num_others + 1]
    for side in range(2):
        log_odds += prior.log_tau2[sizes[side]] + likelihood.log_marginal(stats[slots[side]])
    return log_odds - prior.log_tau2[sizes[0] + sizes[1]] - likelihood.log_marginal(stats[merged])


def make_split_or_merge(propose):
    """Make the function of a move.

    Parameters
    ----------
    propose : function
        Makes the blocks of a split and returns log q. Its arguments are the likelihood, log tau2, the statistics, n,
        whether to draw the sides (otherwise they are those in the workspace), `least` (any smaller result will do, so
        that it can stop early), the workspace, the generator, and further options of the move.
    """

    @inner(**LEAF)
    def split_or_merge(likelihood, prior, partition, anchors, are_close, work, rng, *options):
        """Make a move from two anchors; return the number of blocks with an anchor before and after it.

        :data:`SLOTS` slots of the partition must be free. `are_close` says whether the anchors were drawn by
        :func:`~pyclone_pgsm.samplers.close_blocks.close_anchors`, rather than independently of the partition.
        """
        labels, sizes, stats = partition.labels, partition.sizes, partition.stats
        slots = np.int64(labels[anchors[0]]), np.int64(labels[anchors[1]])
        num_blocks = 1 if slots[0] == slots[1] else 2
        num_others = partition.counter[0] - num_blocks
        log_u = math.log1p(-rng.random())  # log of a number in (0, 1]
        merged, least = slots[0], -np.inf
        if num_blocks == 2:
            merged = make_merged_block(likelihood, partition, slots, work)
            log_odds = log_split_odds(likelihood, prior, stats, num_others, merged, work)
            if are_close:
                log_odds += log_anchor_odds(likelihood, partition, anchors, slots[1], num_others, work)
            least = log_u + log_odds
        if least >= 0.0 or (num_blocks == 1 and prior.log_tau1[num_others + 2] == -np.inf):
            return num_blocks, num_blocks  # for any q: log q is never positive

        n = begin_split(partition, anchors, work, rng)
        log_q = propose(likelihood, prior.log_tau2, stats, n, num_blocks == 1, least, work, rng, *options)
        if num_blocks == 2:
            if log_q <= least:
                return 2, 2
            copy_row(stats, merged, stats, slots[0])
            for t in range(n):
                labels[work.sigma[t]] = slots[0]
            sizes[slots[0]] = n
            close_slot(partition, slots[1])
            return 2, 1
        log_odds = log_split_odds(likelihood, prior, stats, num_others, slots[0], work)
        if are_close:
            second_slot = work.slots[1 if work.sigma[0] == anchors[0] else 0]
            log_odds += log_anchor_odds(likelihood, partition, anchors, second_slot, num_others, work)
        if log_u >= log_odds - log_q:
            return 1, 1
        for side in range(2):
            sizes[open_slot(partition)] = work.sizes[side]
        for t in range(n):
            labels[work.sigma[t]] = work.slots[work.sides[t]]
        close_slot(partition, slots[0])
        return 1, 2

    return split_or_merge
