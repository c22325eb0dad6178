"""Anchors from blocks that are close to each other, drawn given the partition.

The first anchor i is from a block that is drawn uniformly. The second is from the same block with probability 1/2, and
otherwise from another block b, drawn with probability proportional to L(y_i | y_b). So two pieces of what might be one
block are brought together in a few moves; anchors that are drawn without a look at the partition seldom hit a small
piece. As these do look at it, their probability h(s | c) is part of the acceptance
(:mod:`pyclone_pgsm.samplers.split_proposals`).
"""

from __future__ import annotations

import math

import numpy as np

from pyclone_pgsm.jit.compiling import inner
from pyclone_pgsm.samplers.split_merge import closure_of

LARGEST_EXPONENT = 700.0  # exp of more overflows


@inner(nogil=True)
def other_blocks(partition, slot, other_slot):
    """The slots in use but these two."""
    others = np.empty(partition.counter[0], np.int64)
    count = 0
    for b in range(partition.counter[0]):
        if partition.active[b] != slot and partition.active[b] != other_slot:
            others[count] = partition.active[b]
            count += 1
    return others[:count]


@inner(nogil=True)
def log_predictives_of(likelihood, partition, slots, i):
    """log L(y_i | y_b) of the blocks in some slots."""
    log_p = np.empty(len(slots))
    likelihood.log_predictives(partition.stats, slots, i, np.full(len(slots), -np.inf), log_p)
    return log_p


@inner(nogil=True)
def close_anchors(likelihood, partition, rng):
    """An ordered pair of anchors from h(s | c); twice the same observation where there is no second one.

    Parameters
    ----------
    likelihood : NamedTuple
        See :mod:`pyclone_pgsm.likelihoods.contract`.
    partition : Partition
    rng : numpy.random.Generator

    Returns
    -------
    anchors : (2,) int64
    """
    slot = np.int64(partition.active[int(rng.random() * partition.counter[0])])
    members = closure_of(partition.labels, slot, slot, partition.sizes[slot])
    place = int(rng.random() * len(members))
    first = members[place]
    if rng.random() < 0.5:
        if len(members) == 1:
            return np.array([first, first])
        other_place = int(rng.random() * (len(members) - 1))
        return np.array([first, members[other_place + (other_place >= place)]])
    others = other_blocks(partition, slot, slot)
    if len(others) == 0:
        return np.array([first, first])
    log_p = log_predictives_of(likelihood, partition, others, first)
    largest = log_p.max()
    if largest == -np.inf:
        return np.array([first, first])
    total = 0.0
    for b in range(len(others)):
        log_p[b] = math.exp(log_p[b] - largest)
        total += log_p[b]
    remainder = rng.random() * total
    chosen = 0
    while chosen < len(others) - 1 and remainder >= log_p[chosen]:
        remainder -= log_p[chosen]
        chosen += 1
    members = closure_of(partition.labels, others[chosen], others[chosen], partition.sizes[others[chosen]])
    return np.array([first, members[int(rng.random() * len(members))]])


@inner(nogil=True)
def log_anchor_odds(likelihood, partition, first, second_slot, others, sizes):
    """log h(s | split) - log h(s | merged).

    Parameters
    ----------
    first : int
        The first anchor.
    second_slot : int
        The second one's block where they are split.
    others : (k,) int64
        The blocks without anchors.
    sizes : (2,) int64
        Observations in the two blocks.
    """
    log_chosen = likelihood.log_predictive(partition.stats[second_slot], first, -np.inf)
    if log_chosen == -np.inf:
        return -np.inf
    total = 1.0
    for log_p in log_predictives_of(likelihood, partition, others, first):
        total += math.exp(min(log_p - log_chosen, LARGEST_EXPONENT))
    n = sizes[0] + sizes[1]
    num_others = len(others)
    return (
        math.log((num_others + 1) / (num_others + 2))
        - math.log(total)
        + math.log(n)
        + math.log(n - 1)
        - math.log(sizes[0])
        - math.log(sizes[1])
    )
