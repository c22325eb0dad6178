"""Algorithm 1 of the paper: a split-merge move, which changes only the blocks that contain an anchor.

Two anchors are in one block or in two; s anchors (Appendix D) are in 1 to s blocks. The observations of these blocks,
the closure of the anchors, are reallocated to 1 to s blocks, each with an anchor, by a Markov kernel that leaves the
posterior given all other blocks invariant: the particle Gibbs kernel of Algorithm 3
(:mod:`~pyclone_pgsm.samplers.conditional_smc`). With three anchors one step can split a block and merge two others,
which is needed where the number of blocks is bounded.
"""

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import close_slot, copy_row, fill_block, open_slot, with_free_slots
from pyclone_pgsm.samplers.conditional_smc import Path, conditional_smc, contains, sample_permutation
from pyclone_pgsm.samplers.resampling import BOTH_KINDS


def split_merge(likelihood, prior, partition, anchors, settings, pool, rng):
    """Make a split-merge move: Algorithm 1 with the particle Gibbs kernel of Algorithm 3.

    Parameters
    ----------
    likelihood : NamedTuple
        See :mod:`pyclone_pgsm.likelihoods.contract`.
    prior : PartitionPrior
        ``log_tau1`` may be -inf above some number of blocks. If the partition has more blocks, the move merges.
    partition : Partition
        Changed in place; do not use it afterwards.
    anchors : (s,) int64
        Different observations, drawn independently of the partition.
    settings : SMCSettings
        N should be much larger than the number of partitions of s anchors. The scheme "both-kinds" is for two anchors.
    pool : BlockPool
        Made for at least as many anchors, and at least as many particles as in `settings`.
    rng : numpy.random.Generator

    Returns
    -------
    partition : Partition
    num_blocks_before, num_blocks_after : int
        Number of blocks that contain an anchor (1 to s).
    """
    s = len(anchors)
    if s > 2 and settings.scheme == BOTH_KINDS:
        raise ValueError('the resampling scheme "both-kinds" is for two anchors')
    partition = with_free_slots(partition, s - 1)
    closure, slots, num_before = closure_of(partition, anchors)
    if prior.log_tau1[partition.counter[0]] == -np.inf:
        if num_before > 1:
            merge_blocks(partition, slots[:num_before], closure)
            fill_block(likelihood, partition.stats[slots[0]], closure)
        return partition, num_before, 1
    path = path_of(partition.labels, sample_permutation(rng, anchors, closure), s)
    num_others = partition.counter[0] - num_before
    new_path, blocks = conditional_smc(likelihood, prior, num_others, path, s, settings, pool, rng)
    num_after = num_blocks_of(new_path)
    if num_after > 1:
        put_path(partition, path, new_path, num_before, num_after, blocks, pool)
    elif num_before > 1:
        merge_blocks(partition, slots[:num_before], closure)
        copy_row(pool.stats, blocks[0], partition.stats, slots[0])
    return partition, num_before, num_after


@inner(nogil=True)
def closure_of(partition, anchors):
    """Return the members of the anchors' blocks, the (s,) slots of these blocks, and how many blocks these are.

    If there are fewer blocks than anchors, the first slot is repeated.
    """
    slots = np.full(len(anchors), partition.labels[anchors[0]], np.int64)
    num_blocks = 1
    n = partition.sizes[slots[0]]
    for i in anchors:
        slot = partition.labels[i]
        if not contains(slots, slot):
            slots[num_blocks] = slot
            num_blocks += 1
            n += partition.sizes[slot]
    closure = np.empty(n, np.int64)
    filled = 0
    for i in range(len(partition.labels)):
        if contains(slots, partition.labels[i]):
            closure[filled] = i
            filled += 1
    return closure, slots, num_blocks


@inner(nogil=True)
def path_of(labels, sigma, num_anchors):
    """Return the current allocations as a particle's path, which the kernel is conditioned on."""
    choices = np.zeros(len(sigma), np.int8)
    slots = np.zeros(num_anchors, np.int64)
    num_blocks = 0
    for t in range(len(sigma)):
        slot = labels[sigma[t]]
        b = 0
        while b < num_blocks and slots[b] != slot:
            b += 1
        if b == num_blocks:
            slots[b] = slot
            num_blocks += 1
        choices[t] = b
    return Path(sigma, choices)


@inner(**LEAF)
def num_blocks_of(path):
    largest = 0
    for choice in path.choices:
        largest = max(largest, choice)
    return largest + 1


@inner(**LEAF)
def merge_blocks(partition, slots, closure):
    """Move all members of the blocks in these different slots, the closure, to the first slot.

    The caller must set its statistic.
    """
    for i in closure:
        partition.labels[i] = slots[0]
    partition.sizes[slots[0]] = len(closure)
    for b in range(1, len(slots)):
        close_slot(partition, slots[b])


@inner(nogil=True)
def put_path(partition, path, new_path, num_before, num_after, blocks, pool):
    """Copy the drawn allocations, and their blocks of the pool, into the partition.

    If the path is the current one, nothing changes, not even by rounding.
    """
    is_changed = False
    for t in range(len(path.choices)):
        is_changed |= path.choices[t] != new_path.choices[t]
    if not is_changed:
        return
    slots = np.empty(len(blocks), np.int64)
    for t in range(len(blocks)):
        slots[path.choices[t]] = partition.labels[path.sigma[t]]
    for b in range(num_after, num_before):
        close_slot(partition, slots[b])
    for b in range(num_before, num_after):
        slots[b] = open_slot(partition)
    for b in range(num_after):
        partition.sizes[slots[b]] = pool.sizes[blocks[b]]
        copy_row(pool.stats, blocks[b], partition.stats, slots[b])
    for t in range(len(path.sigma)):
        partition.labels[path.sigma[t]] = slots[new_path.choices[t]]
