"""Anchors from blocks that are close to each other, drawn given the partition.

The first anchor i comes from a block that is drawn uniformly. For merge-splits (:func:`close_anchors`) the second
comes from the same block with probability 1/2, and otherwise from another block b, drawn with probability proportional
to L(y_i | y_b). Exchanges (:mod:`pyclone_pgsm.tumour.exchange`) always take it from another block. Two fragments of
what might be one block are thus brought together in a few moves, whereas anchors drawn independently of the partition
seldom hit a small fragment. Because these anchors depend on the partition, their probability h(s | c) enters the
acceptance probability (:mod:`pyclone_pgsm.samplers.split_proposals`).

`work` is a :class:`~pyclone_pgsm.samplers.split_proposals.Workspace` in all functions.
"""

import math

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import fill_log_predictives

LARGEST_EXPONENT = 700.0  # exp of a larger number overflows
NONE = -1


@inner(**LEAF)
def random_member(partition, slot, excluded, rng):
    """Draw a member of a block other than `excluded` (or NONE), which is returned if it is the only one."""
    number = partition.sizes[slot] - (excluded != NONE)
    if number == 0:
        return excluded
    place = int(rng.random() * number)
    for i in range(len(partition.labels)):
        if partition.labels[i] == slot and i != excluded:
            place -= 1
            if place < 0:
                break
    return i


@inner(**LEAF)
def anchor_in_random_block(partition, rng):
    """Draw the first anchor: a block, uniformly, and one of its members."""
    slot = partition.active[int(rng.random() * partition.counter[0])]
    return random_member(partition, slot, NONE, rng)


@inner(**LEAF)
def predict_others(likelihood, partition, i, slot, other_slot, work):
    """Compute log L(y_i | y_b) of all blocks except these two, with their slots; return how many these are."""
    count = 0
    for b in range(partition.counter[0]):
        if partition.active[b] != slot and partition.active[b] != other_slot:
            work.items[count] = partition.active[b]
            count += 1
    slots, cutoffs, log_p = work.items[:count], work.cutoffs[:count], work.log_p[:count]
    fill_log_predictives(likelihood, partition.stats, slots, i, cutoffs, log_p)
    return count


@inner(**LEAF)
def anchor_in_close_block(likelihood, partition, first, work, rng):
    """Draw the second anchor from another block b in proportion to L(y_i | y_b); the first if there is none."""
    slot = partition.labels[first]
    num_others = predict_others(likelihood, partition, first, slot, slot, work)
    largest = -np.inf
    for b in range(num_others):
        largest = max(largest, work.log_p[b])
    if largest == -np.inf:
        return first
    total = 0.0
    for b in range(num_others):
        work.log_p[b] = math.exp(work.log_p[b] - largest)
        total += work.log_p[b]
    remainder = rng.random() * total
    chosen = 0
    while chosen < num_others - 1 and remainder >= work.log_p[chosen]:
        remainder -= work.log_p[chosen]
        chosen += 1
    return random_member(partition, work.items[chosen], NONE, rng)


@inner(**LEAF)
def close_anchors(likelihood, partition, work, rng):
    """Draw an ordered pair of anchors from h(s | c); both are the same if there is no second one."""
    first = anchor_in_random_block(partition, rng)
    if rng.random() < 0.5:
        return first, random_member(partition, partition.labels[first], first, rng)
    return first, anchor_in_close_block(likelihood, partition, first, work, rng)


@inner(**LEAF)
def log_anchor_probability(likelihood, partition, anchors, second_slot, sizes, work):
    """Return log h(s | c) of anchors in two blocks, up to a constant that depends on the number of blocks.

    The second anchor's block is in `second_slot`, and `sizes` are those of the two blocks, (2,). They may be the blocks
    of a split that is yet to be accepted.
    """
    log_chosen = likelihood.log_predictive(partition.stats[second_slot], anchors[0], -np.inf)
    if log_chosen == -np.inf:
        return -np.inf
    slot, other_slot = partition.labels[anchors[0]], partition.labels[anchors[1]]
    total = 1.0
    for b in range(predict_others(likelihood, partition, anchors[0], slot, other_slot, work)):
        total += math.exp(min(work.log_p[b] - log_chosen, LARGEST_EXPONENT))
    return -math.log(total) - math.log(sizes[0]) - math.log(sizes[1])


@inner(**LEAF)
def log_anchor_odds(likelihood, partition, anchors, second_slot, num_others, work):
    """Return log h(s | split) - log h(s | merged) of a split whose sizes are in the workspace."""
    n = work.sizes[0] + work.sizes[1]
    return (
        log_anchor_probability(likelihood, partition, anchors, second_slot, work.sizes, work)
        + math.log((num_others + 1) / (num_others + 2))
        + math.log(n)
        + math.log(n - 1)
    )
