"""Split-merge with restricted Gibbs sampling (Jain & Neal 2004): a split is proposed by scans over two blocks.

The *launch state* is a random split, in which each observation except the anchors joins either anchor's block with
probability 1/2, improved by some intermediate restricted Gibbs scans. A scan visits the observations except the anchors
in the order sigma, and each joins one of the two blocks b, from which it is taken out, with probability proportional to

    tau2(|b| + 1) / tau2(|b|) L(y_i | y_b).

One more scan from the launch state makes the proposed split, and the product of its probabilities is
q(split | launch state). For a merge, q is the probability that this scan leads from a launch state, drawn in the same
way, to the current split. See :mod:`pyclone_pgsm.samplers.split_proposals` for the acceptance probability.
"""

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import log_size_ratio, with_free_slots
from pyclone_pgsm.samplers.split_proposals import SLOTS, begin, choose_side, conclude


@inner(nogil=True)
def split_at_random(likelihood, stats, split, rng):
    """Draw the side of each observation except the anchors with probability 1/2, and make the blocks."""
    sigma, sides, slots, sizes, _, _ = split
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


@inner(**LEAF)
def scan(likelihood, log_tau2, stats, split, wanted, least, rng):
    """Make a restricted Gibbs scan, which changes the split, and return the log probability of its choices.

    Parameters
    ----------
    wanted : (n,) int8
        The side that each observation must choose, or -1 to draw it.
    least : float
        Stop if the log probability falls below this: any value below it then serves as the result.
    """
    sigma, sides, slots, sizes, log_join, cutoffs = split
    log_q = 0.0
    for t in range(2, len(sigma)):
        i = sigma[t]
        own = sides[t]
        other = 1 - own
        log_join[own] = likelihood.log_predictive_without(stats[slots[own]], i)
        likelihood.log_predictives(stats, slots[other : other + 1], i, cutoffs, log_join[other : other + 1])
        log_join[own] += log_size_ratio(log_tau2, sizes[own] - 1)
        log_join[other] += log_size_ratio(log_tau2, sizes[other])
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
    """Turn the split into a launch state: random sides, then `scans` intermediate scans."""
    split_at_random(likelihood, stats, split, rng)
    any_side = np.full(len(split.sigma), -1, np.int8)
    for _ in range(scans):
        scan(likelihood, log_tau2, stats, split, any_side, -np.inf, rng)


def restricted_gibbs(likelihood, prior, partition, anchors, scans, rng):
    """Make a split-merge move with restricted Gibbs sampling.

    Parameters
    ----------
    likelihood, prior, partition, anchors, rng
        As in :func:`~pyclone_pgsm.samplers.sams.sams`, which returns the same.
    scans : int
        Number of intermediate scans, 0 or more, before the one that makes the proposal.
    """
    partition = with_free_slots(partition, SLOTS)
    attempt = begin(likelihood, prior, partition, anchors, False, rng)
    num_blocks, split, least = attempt.num_blocks, attempt.split, attempt.least
    if attempt.is_hopeless:
        return partition, num_blocks, num_blocks
    wanted = split.sides.copy()
    if num_blocks == 1:
        wanted[:] = -1
    launch(likelihood, prior.log_tau2, partition.stats, split, scans, rng)
    log_q = scan(likelihood, prior.log_tau2, partition.stats, split, wanted, least, rng)
    before, after = conclude(likelihood, prior, partition, anchors, False, attempt, log_q)
    return partition, before, after
