"""Anchors from blocks that are close to each other, drawn given the partition.

The first anchor i comes from a block that is drawn uniformly. For merge-splits (:func:`close_anchors`) the second
comes from the same block with probability 1/2, and otherwise from another block b, drawn with probability proportional
to L(y_i | y_b). Exchanges (:mod:`pyclone_pgsm.tumour.exchange`) always take it from another block. Two fragments of
what might be one block are thus brought together in a few moves, whereas anchors drawn independently of the partition
seldom hit a small fragment. Because these anchors depend on the partition, their probability h(s | c) enters the
acceptance probability (:mod:`pyclone_pgsm.samplers.split_proposals`).
"""

import math

import numpy as np

from pyclone_pgsm.jit.compiling import ALLOCATING, inner
from pyclone_pgsm.partition import fill_log_predictives
from pyclone_pgsm.samplers.split_merge import members_of

LARGEST_EXPONENT = 700.0  # exp of a larger number overflows


@inner(nogil=True)
def other_blocks(partition, slot, other_slot):
    """Return the slots in use, except these two."""
    others = np.empty(partition.counter[0], np.int64)
    count = 0
    for b in range(partition.counter[0]):
        if partition.active[b] != slot and partition.active[b] != other_slot:
            others[count] = partition.active[b]
            count += 1
    return others[:count]


@inner(nogil=True)
def log_predictives_of(likelihood, partition, slots, i):
    """Return log L(y_i | y_b) of the blocks in `slots`."""
    log_p = np.empty(len(slots))
    fill_log_predictives(likelihood, partition.stats, slots, i, np.full(len(slots), -np.inf), log_p)
    return log_p


@inner(nogil=True)
def member_of_random_block(partition, rng):
    """Draw a block uniformly and one of its members; return all members and the place of this one among them."""
    slot = partition.active[int(rng.random() * partition.counter[0])]
    members = members_of(partition.labels, (slot,), partition.sizes[slot])
    return members, int(rng.random() * len(members))


@inner(nogil=True)
def anchor_in_close_block(likelihood, partition, first, rng):
    """Draw the second anchor from another block b in proportion to L(y_i | y_b); the first if there is none."""
    slot = partition.labels[first]
    others = other_blocks(partition, slot, slot)
    if len(others) == 0:
        return first
    log_p = log_predictives_of(likelihood, partition, others, first)
    largest = log_p.max()
    if largest == -np.inf:
        return first
    total = 0.0
    for b in range(len(others)):
        log_p[b] = math.exp(log_p[b] - largest)
        total += log_p[b]
    remainder = rng.random() * total
    chosen = 0
    while chosen < len(others) - 1 and remainder >= log_p[chosen]:
        remainder -= log_p[chosen]
        chosen += 1
    members = members_of(partition.labels, (others[chosen],), partition.sizes[others[chosen]])
    return members[int(rng.random() * len(members))]


@inner(nogil=True)
def close_anchors(likelihood, partition, rng):
    """Draw an ordered pair of anchors from h(s | c); both are the same if there is no second one."""
    members, place = member_of_random_block(partition, rng)
    first = members[place]
    if rng.random() < 0.5:
        if len(members) == 1:
            return first, first
        other_place = int(rng.random() * (len(members) - 1))
        return first, members[other_place + (other_place >= place)]
    return first, anchor_in_close_block(likelihood, partition, first, rng)


@inner(**ALLOCATING)
def log_anchor_probability(likelihood, partition, first, second_slot, others, sizes):
    """Return log h(s | c) of anchors in two blocks, up to a constant that depends on the number of blocks.

    Parameters
    ----------
    first : int
        The first anchor.
    second_slot : int
        Slot of the second anchor's block.
    others : (k,) int64
        Slots of the blocks without anchors.
    sizes : (2,) int64
        Sizes of the two blocks.
    """
    log_chosen = likelihood.log_predictive(partition.stats[second_slot], first, -np.inf)
    if log_chosen == -np.inf:
        return -np.inf
    total = 1.0
    for log_p in log_predictives_of(likelihood, partition, others, first):
        total += math.exp(min(log_p - log_chosen, LARGEST_EXPONENT))
    return -math.log(total) - math.log(sizes[0]) - math.log(sizes[1])


@inner(**ALLOCATING)
def log_anchor_odds(likelihood, partition, first, second_slot, others, sizes):
    """Return log h(s | split) - log h(s | merged).

    The parameters are those of :func:`log_anchor_probability` in the split.
    """
    n = sizes[0] + sizes[1]
    num_others = len(others)
    return (
        log_anchor_probability(likelihood, partition, first, second_slot, others, sizes)
        + math.log((num_others + 1) / (num_others + 2))
        + math.log(n)
        + math.log(n - 1)
    )
