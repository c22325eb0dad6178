"""Sequentially-allocated merge-split (SAMS; Dahl 2005): a split is proposed in one pass over the observations.

Each anchor starts a block. The other observations of the closure follow in random order sigma, and each joins one of
the two blocks b made so far with probability proportional to

    tau2(|b| + 1) / tau2(|b|) L(y_i | y_b).

The product of these probabilities is q(split | sigma). For a merge, q is the probability of the path that leads back to
the current split. See :mod:`pyclone_pgsm.samplers.split_proposals` for the acceptance probability.
"""

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import fill_log_predictives, log_size_ratio, with_free_slots
from pyclone_pgsm.samplers.close_blocks import close_anchors
from pyclone_pgsm.samplers.split_proposals import SLOTS, begin, choose_side, conclude


@inner(**LEAF)
def allocate_in_sequence(likelihood, log_tau2, stats, split, drawn, least, rng):
    """Make the blocks of the split and return log q(split | sigma).

    Parameters
    ----------
    drawn : bool
        Whether the sides are drawn and stored in the split; otherwise they are those of the split.
    least : float
        Stop if log q falls below this: any value below it then serves as the result.
    """
    sigma, sides, slots, sizes, log_join, cutoffs = split
    for side in range(2):
        likelihood.clear(stats[slots[side]])
        likelihood.add(stats[slots[side]], sigma[side])
        sizes[side] = 1
    log_q = 0.0
    for t in range(2, len(sigma)):
        i = sigma[t]
        fill_log_predictives(likelihood, stats, slots, i, cutoffs, log_join)
        for side in range(2):
            log_join[side] += log_size_ratio(log_tau2, sizes[side])
        side, log_p = choose_side(log_join, -1 if drawn else sides[t], rng)
        log_q += log_p
        if log_q < least:
            break
        likelihood.add(stats[slots[side]], i)
        sizes[side] += 1
        sides[t] = side
    return log_q


@inner(nogil=True)
def split_or_merge(likelihood, prior, partition, anchors, are_close, rng):
    """Make the move from two anchors; return the number of blocks with an anchor before and after it.

    :data:`~.split_proposals.SLOTS` slots must be free; `are_close` says whether ``close_anchors`` drew the anchors.
    """
    attempt = begin(likelihood, prior, partition, anchors, are_close, rng)
    num_blocks = attempt.num_blocks
    if attempt.is_hopeless:
        return num_blocks, num_blocks
    log_q = allocate_in_sequence(
        likelihood, prior.log_tau2, partition.stats, attempt.split, num_blocks == 1, attempt.least, rng
    )
    return conclude(likelihood, prior, partition, anchors, are_close, attempt, log_q)


def sams(likelihood, prior, partition, anchors, rng):
    """Make a sequentially-allocated merge-split move.

    Parameters
    ----------
    likelihood : NamedTuple
        See :mod:`pyclone_pgsm.likelihoods.contract`.
    prior : PartitionPrior
        log tau1 may be -inf above some number of blocks.
    partition : Partition
        Changed in place; do not use it afterwards.
    anchors : (2,) int64
        Two different observations, drawn independently of the partition.
    rng : numpy.random.Generator

    Returns
    -------
    partition : Partition
    num_blocks_before, num_blocks_after : int
        Number of blocks that contain an anchor (1 or 2).
    """
    partition = with_free_slots(partition, SLOTS)
    before, after = split_or_merge(likelihood, prior, partition, anchors, False, rng)
    return partition, before, after


def close_sams(likelihood, prior, partition, times, rng):
    """Make several merge-split moves, each from anchors in close blocks.

    `times` is the number of moves, which are made in one call because each takes less time than a call from Python; the
    other arguments are those of :func:`sams`.

    Returns
    -------
    partition : Partition
    num_split, num_merged : int
        Number of moves that split a block, and of moves that merged two.
    """
    anchors = np.empty(2, np.int64)
    num_split = num_merged = 0
    for _ in range(times):
        anchors[0], anchors[1] = close_anchors(likelihood, partition, rng)
        if anchors[0] != anchors[1]:
            partition = with_free_slots(partition, SLOTS)
            before, after = split_or_merge(likelihood, prior, partition, anchors, True, rng)
            num_split += after > before
            num_merged += after < before
    return partition, num_split, num_merged
