"""Split-merge with restricted Gibbs sampling (Jain & Neal 2004): a split is proposed by scans over two blocks.

The *launch state* is a random split: each observation but the anchors goes to either's block with probability 1/2,
and some intermediate restricted Gibbs scans improve on it. In such a scan the observations, but not the anchors, are
visited in the order sigma, and each joins one of the two blocks b without it with probability proportional to

    tau2(|b| + 1) / tau2(|b|) L(y_i | y_b).

One more scan from the launch state makes the split that is proposed, and the product of its probabilities is
q(split | launch state). Of a merge, q is that of the scan which leads from a launch state, drawn in the same way, to
the current split. Acceptance: :mod:`pyclone_pgsm.samplers.split_proposals`.
"""

from __future__ import annotations

import numpy as np

from pyclone_pgsm.jit.compiling import inner
from pyclone_pgsm.partition import with_free_slots
from pyclone_pgsm.samplers.split_proposals import SLOTS, begin, choose_side, conclude


@inner(nogil=True)
def split_at_random(likelihood, stats, split, rng):
    """Draw the sides of all but the anchors with probability 1/2, and make the blocks."""
    sigma, sides, slots, sizes = split
    members = np.empty((2, len(sigma)), np.int64)
    for side in range(2):
        members[side, 0] = sigma[side]
        sizes[side] = 1
    for t in range(2, len(sigma)):
        side = 0 if rng.random() < 0.5 else 1
        sides[t] = side
        members[side, sizes[side]] = sigma[t]
        sizes[side] += 1
    for side in range(2):
        likelihood.clear(stats[slots[side]])
        likelihood.add_many(stats[slots[side]], members[side, : sizes[side]])


@inner(nogil=True)
def scan(likelihood, log_tau2, stats, split, wanted, least, rng):
    """A restricted Gibbs scan, which changes the split; and the log probability of all that it chose.

    Parameters
    ----------
    split : Split
    wanted : (n,) int8
        The side that each observation is to choose, -1 where it is drawn.
    least : float
        Stop when the log probability falls below it, since any number below will do.
    """
    sigma, sides, slots, sizes = split
    log_join = np.empty(2)
    cuts = np.full(1, -np.inf)
    log_q = 0.0
    for t in range(2, len(sigma)):
        i = sigma[t]
        own = sides[t]
        other = 1 - own
        log_join[own] = likelihood.log_predictive_without(stats[slots[own]], i)
        likelihood.log_predictives(stats, slots[other : other + 1], i, cuts, log_join[other : other + 1])
        log_join[own] += log_tau2[sizes[own]] - log_tau2[sizes[own] - 1]
        log_join[other] += log_tau2[sizes[other] + 1] - log_tau2[sizes[other]]
        side, log_p = choose_side(log_join, wanted[t], rng)
        log_q += log_p
        if log_q < least:
            break
        if side != own:
            likelihood.remove(stats[slots[own]], i)
            likelihood.add(stats[slots[other]], i)
            sizes[own] -= 1
            sizes[other] += 1
            sides[t] = other
    return log_q


@inner(nogil=True)
def launch(likelihood, log_tau2, stats, split, scans, rng):
    """Make the split the launch state: random, then `scans` intermediate scans."""
    split_at_random(likelihood, stats, split, rng)
    any_side = np.full(len(split.sigma), -1, np.int8)
    for _ in range(scans):
        scan(likelihood, log_tau2, stats, split, any_side, -np.inf, rng)


def restricted_gibbs(likelihood, prior, partition, anchors, scans, rng):
    """A split-merge move with restricted Gibbs sampling.

    Parameters
    ----------
    likelihood : NamedTuple
        See :mod:`pyclone_pgsm.likelihoods.contract`.
    prior : PartitionPrior
        log tau1 may be -inf from some number of blocks on.
    partition : Partition
        Changed in place; do not use it afterwards.
    anchors : (2,) int64
        Two different observations, drawn without a look at the partition.
    scans : int
        Intermediate scans, 0 or more, before the one that makes the proposal.
    rng : numpy.random.Generator

    Returns
    -------
    partition : Partition
    num_blocks_before, num_blocks_after : int
        Blocks among the anchors' (1 or 2).
    """
    partition = with_free_slots(partition, SLOTS)
    attempt = begin(likelihood, prior, partition, anchors, False, rng)
    slots, _, _, _, split, _, least, is_hopeless = attempt
    num_blocks = 1 if slots[0] == slots[1] else 2
    if is_hopeless:
        return partition, num_blocks, num_blocks
    wanted = split.sides.copy()
    if num_blocks == 1:
        wanted[:] = -1
    launch(likelihood, prior.log_tau2, partition.stats, split, scans, rng)
    log_q = scan(likelihood, prior.log_tau2, partition.stats, split, wanted, least, rng)
    return conclude(likelihood, prior, partition, anchors, False, attempt, log_q)
