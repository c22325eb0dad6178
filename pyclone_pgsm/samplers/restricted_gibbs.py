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

from pyclone_pgsm.jit.compiling import ALLOCATING, LEAF, inner
from pyclone_pgsm.partition import log_size_ratio, with_free_slots
from pyclone_pgsm.samplers.split_proposals import SLOTS, choose_side, make_split_or_merge, make_workspace


@inner(**LEAF)
def split_at_random(likelihood, stats, n, work, rng):
    """Draw the side of each observation except the anchors with probability 1/2, and make the blocks."""
    for t in range(2, n):
        work.sides[t] = 0 if rng.random() < 0.5 else 1
    for side in range(2):
        size = 0
        for t in range(n):
            if work.sides[t] == side:
                work.items[size] = work.sigma[t]
                size += 1
        work.sizes[side] = size
        likelihood.clear(stats[work.slots[side]])
        likelihood.add_many(stats[work.slots[side]], work.items[:size])


@inner(**LEAF)
def scan(likelihood, log_tau2, stats, wanted, least, work, rng):
    """Make a restricted Gibbs scan, which changes the split, and return the log probability of its choices.

    `wanted`, (n,) int8, has the side that each observation must choose, or -1 to draw it. The result may be any value
    below `least`.
    """
    sides, slots, sizes, log_p = work.sides, work.slots, work.sizes, work.log_p
    log_q = 0.0
    for t in range(2, len(wanted)):
        i = work.sigma[t]
        own = sides[t]
        other = 1 - own
        others = slice(other, other + 1)
        log_p[own] = likelihood.log_predictive_without(stats[slots[own]], i)
        likelihood.log_predictives(stats, slots[others], i, work.cutoffs[:1], log_p[others])
        log_p[own] += log_size_ratio(log_tau2, sizes[own] - 1)
        log_p[other] += log_size_ratio(log_tau2, sizes[other])
        side, log_chosen = choose_side(log_p, wanted[t], rng)
        log_q += log_chosen
        if log_q < least:
            break
        if side != own:
            likelihood.remove(stats[slots[own]], i)
            likelihood.add(stats[slots[other]], i)
            sizes[own] -= 1
            sizes[other] += 1
            sides[t] = other
    return log_q


@inner(**ALLOCATING)
def launch(likelihood, log_tau2, stats, n, scans, work, rng):
    """Make a launch state: random sides, then `scans` intermediate scans."""
    split_at_random(likelihood, stats, n, work, rng)
    any_side = np.full(n, -1, np.int8)
    for _ in range(scans):
        scan(likelihood, log_tau2, stats, any_side, -np.inf, work, rng)


@inner(**ALLOCATING)
def scan_from_launch_state(likelihood, log_tau2, stats, n, drawn, least, work, rng, scans):
    """Make a launch state and one more scan, which draws the sides or leads to those in the workspace; return log q."""
    wanted = work.sides[:n].copy()
    if drawn:
        wanted[:] = -1
    launch(likelihood, log_tau2, stats, n, scans, work, rng)
    return scan(likelihood, log_tau2, stats, wanted, least, work, rng)


split_or_merge = make_split_or_merge(scan_from_launch_state)


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
    work = make_workspace(len(partition.labels))
    before, after = split_or_merge(likelihood, prior, partition, anchors, False, work, rng, scans)
    return partition, before, after
