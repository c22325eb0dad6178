"""Sequentially-allocated merge-split (SAMS; Dahl 2005): a split is proposed in one pass over the observations.

Each anchor starts a block. The other observations of the closure follow in random order sigma, and each joins one of
the two blocks b made so far with probability proportional to

    tau2(|b| + 1) / tau2(|b|) L(y_i | y_b).

The product of these probabilities is q(split | sigma). For a merge, q is the probability of the path that leads back to
the current split. See :mod:`pyclone_pgsm.samplers.split_proposals` for the acceptance probability.
"""

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import fill_log_predictives, log_size_ratio, with_free_slots
from pyclone_pgsm.samplers.close_blocks import close_anchors
from pyclone_pgsm.samplers.split_proposals import SLOTS, choose_side, make_split_or_merge, make_workspace


@inner(**LEAF)
def allocate_in_sequence(likelihood, log_tau2, stats, n, drawn, least, work, rng):
    """Make the blocks of a split and return log q(split | sigma).

    The sides are drawn, and stored in the workspace, or those stored there. The result may be any value below `least`.
    """
    sigma, sides, slots, sizes, log_p = work.sigma, work.sides, work.slots, work.sizes, work.log_p
    for side in range(2):
        likelihood.clear(stats[slots[side]])
        likelihood.add(stats[slots[side]], sigma[side])
        sizes[side] = 1
    log_q = 0.0
    for t in range(2, n):
        fill_log_predictives(likelihood, stats, slots, sigma[t], work.cutoffs[:2], log_p[:2])
        for side in range(2):
            log_p[side] += log_size_ratio(log_tau2, sizes[side])
        side, log_chosen = choose_side(log_p, -1 if drawn else sides[t], rng)
        log_q += log_chosen
        if log_q < least:
            break
        likelihood.add(stats[slots[side]], sigma[t])
        sizes[side] += 1
        sides[t] = side
    return log_q


split_or_merge = make_split_or_merge(allocate_in_sequence)


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
    work = make_workspace(len(partition.labels))
    before, after = split_or_merge(likelihood, prior, partition, anchors, False, work, rng)
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
    work = make_workspace(len(partition.labels))
    num_split = num_merged = 0
    for _ in range(times):
        anchors = close_anchors(likelihood, partition, work, rng)
        if anchors[0] != anchors[1]:
            partition = with_free_slots(partition, SLOTS)
            before, after = split_or_merge(likelihood, prior, partition, anchors, True, work, rng)
            num_split += after > before
            num_merged += after < before
    return partition, num_split, num_merged
