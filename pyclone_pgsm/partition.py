"""The state that every move changes: a partition of T observations and the statistics of its blocks.

A block lives in a *slot*. ``active`` is a permutation of all slots: its first ``num_blocks`` entries are the slots in
use, the others are free. The target is

    pi(c) ∝ tau1(|c|) prod_{b in c} tau2(|b|) L(y_b)                                      (paper, Section 2.2)

with log tau1(j) and log tau2(n) given as tables (:mod:`pyclone_pgsm.priors`).
"""

from typing import NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import ALLOCATING, LEAF, inner


class Partition(NamedTuple):
    """A partition, with each block in a slot.

    Attributes
    ----------
    labels : (T,) int32
        Slot of each observation.
    sizes : (C,) int64
        Number of observations in each slot, 0 if it is free.
    stats : (C, likelihood.stat_size()) float64
        Statistic of each slot.
    active : (C,) int64
        The slots in use, then the free ones.
    position : (C,) int64
        Position of each slot in ``active``.
    counter : (1,) int64
        Number of blocks.
    """

    labels: np.ndarray
    sizes: np.ndarray
    stats: np.ndarray
    active: np.ndarray
    position: np.ndarray
    counter: np.ndarray


class PartitionPrior(NamedTuple):
    """log tau1(j), j = 0..T and log tau2(n), n = 0..T (entries 0 are not used)."""

    log_tau1: np.ndarray
    log_tau2: np.ndarray


@inner(**LEAF)
def log_size_ratio(log_tau2, size):
    """Return log tau2(n + 1) / tau2(n): the prior's part of the weight of a block of n that an observation may join."""
    return log_tau2[size + 1] - log_tau2[size]


@inner(**LEAF)
def log_new_block(prior, num_others):
    """Return the log of the prior's part of the weight of a new block of one besides `num_others` blocks.

    It is tau2(1) tau1(k + 1) / tau1(k); tau1(0) is not defined, and the only block has nothing to be compared with.
    """
    if num_others == 0:
        return prior.log_tau2[1]
    return prior.log_tau2[1] + prior.log_tau1[num_others + 1] - prior.log_tau1[num_others]


@inner(**LEAF)
def copy_row(source, row, target, target_row):
    """Assign target[target_row] = source[row], without the shape checks that numba takes seconds to compile."""
    for k in range(source.shape[1]):
        target[target_row, k] = source[row, k]


@inner(nogil=True)
def allocate(labels, capacity, stat_size):
    active, position = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    for slot in range(capacity):  # np.arange takes ten times as long to compile
        active[slot] = position[slot] = slot
    sizes, stats = np.zeros(capacity, np.int64), np.empty((capacity, stat_size))
    return Partition(labels, sizes, stats, active, position, np.zeros(1, np.int64))


@inner(**LEAF)
def open_slot(partition):
    """Take a free slot into use and return it. Its statistic is not cleared."""
    slot = partition.active[partition.counter[0]]
    partition.counter[0] += 1
    return slot


@inner(**LEAF)
def close_slot(partition, slot):
    """Free a slot. The last active slot takes its place in the order."""
    last = partition.counter[0] - 1
    where = partition.position[slot]
    other = partition.active[last]
    partition.active[where] = other
    partition.position[other] = where
    partition.active[last] = slot
    partition.position[slot] = last
    partition.counter[0] = last
    partition.sizes[slot] = 0


@inner(nogil=True)
def with_free_slots(partition, wanted):
    """Return the partition, copied to larger arrays if fewer than `wanted` slots are free."""
    capacity = len(partition.sizes)
    num_blocks = partition.counter[0]
    if capacity - num_blocks >= wanted:
        return partition
    larger = allocate(partition.labels, max(2 * capacity, num_blocks + wanted), partition.stats.shape[1])
    for slot in range(capacity):
        larger.sizes[slot] = partition.sizes[slot]
        larger.active[slot] = partition.active[slot]
        larger.position[slot] = partition.position[slot]
        copy_row(partition.stats, slot, larger.stats, slot)
    larger.counter[0] = num_blocks
    return larger


@inner(nogil=True)
def canonical_labels(labels):
    """Return labels with blocks numbered 0, 1, .. in order of first appearance, and the number of blocks."""
    largest = labels[0]
    for i in range(len(labels)):
        largest = max(largest, labels[i])
    numbers = np.full(largest + 1, -1, np.int32)
    canonical = np.empty(len(labels), np.int32)
    count = 0
    for i in range(len(labels)):
        if numbers[labels[i]] < 0:
            numbers[labels[i]] = count
            count += 1
        canonical[i] = numbers[labels[i]]
    return canonical, count


@inner(nogil=True)
def members_by_block(labels, num_blocks):
    """Return the observations sorted by block, and where each block starts (length num_blocks + 1)."""
    start = np.zeros(num_blocks + 1, np.int64)
    for i in range(len(labels)):
        start[labels[i] + 1] += 1
    for b in range(num_blocks):
        start[b + 1] += start[b]
    members = np.empty(len(labels), np.int64)
    filled = start[:-1].copy()
    for i in range(len(labels)):
        members[filled[labels[i]]] = i
        filled[labels[i]] += 1
    return members, start


@inner(**ALLOCATING)
def fill_block(likelihood, stat, members):
    """Set `stat` to the statistic of the block with these members."""
    likelihood.clear(stat)
    likelihood.add_many(stat, members)


@inner(**LEAF)
def fill_log_predictives(likelihood, stats, slots, i, cutoffs, log_p):
    """Compute log L(y_i | b) of the blocks in some slots; any value below its cutoff may be the result instead.

    Compiled code of this function is shared by all callers, that of the likelihood's method is not.
    """
    likelihood.log_predictives(stats, slots, i, cutoffs, log_p)


def build_partition(likelihood, labels):
    """Build a partition with canonical labels and freshly computed statistics, which depends on `labels` only.

    Parameters
    ----------
    likelihood : NamedTuple
        See :mod:`pyclone_pgsm.likelihoods.contract`.
    labels : (T,) int32
        Any numbering of the blocks, starting at 0 or above.
    """
    canonical, num_blocks = canonical_labels(labels)
    members, start = members_by_block(canonical, num_blocks)
    partition = allocate(canonical, num_blocks + 8, likelihood.stat_size())
    for b in range(num_blocks):
        slot = open_slot(partition)
        partition.sizes[slot] = start[b + 1] - start[b]
        fill_block(likelihood, partition.stats[slot], members[start[b] : start[b + 1]])
    return partition


def log_likelihood(likelihood, partition):
    """Return sum_b log L(y_b), up to the likelihood's constant."""
    total = 0.0
    for b in range(partition.counter[0]):
        total += likelihood.log_marginal(partition.stats[partition.active[b]])
    return total


def log_prior(prior: PartitionPrior, partition: Partition) -> float:
    """Return log tau1(|c|) + sum_b log tau2(|b|)."""
    sizes = partition.sizes[partition.sizes > 0]
    return float(prior.log_tau1[len(sizes)] + prior.log_tau2[sizes].sum())
