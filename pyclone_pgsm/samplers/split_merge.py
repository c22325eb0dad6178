"""Algorithm 1 of the paper: a split-merge move, which changes only the blocks that contain one of two anchors.

The anchors s = {i1, i2} are in one block or in two. The observations of these blocks, the closure of s, are reallocated
to one or two blocks, each with an anchor, by a Markov kernel that leaves the posterior given all other blocks
invariant: the particle Gibbs kernel of Algorithm 3 (:mod:`~pyclone_pgsm.samplers.conditional_smc`).
"""

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import close_slot, copy_row, fill_block, open_slot, with_free_slots
from pyclone_pgsm.samplers.conditional_smc import Path, conditional_smc, sample_permutation
from pyclone_pgsm.samplers.resampling import BOTH_KINDS, OPTIMAL


def split_merge(likelihood, prior, partition, anchors, settings, one_merged, pool, rng):
    """Make a split-merge move: Algorithm 1 with the particle Gibbs kernel of Algorithm 3.

    Parameters
    ----------
    likelihood : NamedTuple
        See :mod:`pyclone_pgsm.likelihoods.contract`.
    prior : PartitionPrior
        ``log_tau1`` may be -inf above some number of blocks. If the partition has more blocks, the move merges.
    partition : Partition
        Changed in place; do not use it afterwards.
    anchors : (2,) int64
        Two different observations, drawn independently of the partition.
    settings : SMCSettings
    one_merged : bool or None
        See :func:`~pyclone_pgsm.samplers.particles.has_one_merged`.
    pool : BlockPool
        Made for at least as many particles as in `settings`.
    rng : numpy.random.Generator

    Returns
    -------
    partition : Partition
    num_blocks_before, num_blocks_after : int
        Number of blocks that contain an anchor (1 or 2).
    """
    if one_merged is None and settings.scheme in (OPTIMAL, BOTH_KINDS):
        raise ValueError("this resampling scheme requires one_merged=True")
    partition = with_free_slots(partition, 1)
    closure, slots, num_before = closure_of_pair(partition, anchors)
    num_others = partition.counter[0] - num_before
    if prior.log_tau1[num_others + 2] == -np.inf:
        if num_before == 2:
            merge_blocks(partition, slots, closure)
            fill_block(likelihood, partition.stats[slots[0]], closure)
        return partition, num_before, 1
    sigma = sample_permutation(rng, anchors, closure)
    path = path_of(partition.labels, sigma)
    new_path, first, second = conditional_smc(
        likelihood, prior, num_others, path, settings, one_merged, pool, rng
    )
    num_after = 1 + new_path.sides[1]
    if num_after == 2:
        put_split(partition, path, new_path, pool, (first, second))
    elif num_before == 2:
        merge_blocks(partition, slots, closure)
        copy_row(pool.stats, first, partition.stats, slots[0])
    return partition, num_before, num_after


@inner(nogil=True)
def closure_of(labels, slot, other_slot, n):
    """Return the n members of two blocks."""
    closure = np.empty(n, np.int64)
    filled = 0
    for i in range(len(labels)):
        if labels[i] == slot or labels[i] == other_slot:
            closure[filled] = i
            filled += 1
    return closure


@inner(nogil=True)
def closure_of_pair(partition, anchors):
    """Return the members of the anchors' blocks, the slots of these blocks, and the number of blocks (1 or 2)."""
    slots = np.empty(2, np.int64)
    for a in range(2):
        slots[a] = partition.labels[anchors[a]]
    num_blocks = 1 if slots[0] == slots[1] else 2
    n = partition.sizes[slots[0]]
    if num_blocks == 2:
        n += partition.sizes[slots[1]]
    return closure_of(partition.labels, slots[0], slots[1], n), slots, num_blocks


@inner(nogil=True)
def path_of(labels, sigma):
    """Return the current allocations as a particle's path, which the kernel is conditioned on."""
    sides = np.zeros(len(sigma), np.int8)
    for t in range(len(sigma)):
        if labels[sigma[t]] != labels[sigma[0]]:
            sides[t] = 1
    return Path(sigma, sides)


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


@inner(**LEAF)
def put_split(partition, path, new_path, pool, blocks):
    """Copy the drawn allocations, and their two blocks of the pool, into the partition."""
    labels, sigma = partition.labels, path.sigma
    first_slot = np.int64(labels[sigma[0]])
    second_slot = np.int64(labels[sigma[1]])
    if second_slot == first_slot:
        second_slot = open_slot(partition)
    has_moved = False
    for t in range(len(sigma)):
        labels[sigma[t]] = first_slot if new_path.sides[t] == 0 else second_slot
        has_moved |= new_path.sides[t] != path.sides[t]
    slots = (first_slot, second_slot)
    for side in range(2):
        partition.sizes[slots[side]] = pool.sizes[blocks[side]]
        if has_moved:
            copy_row(pool.stats, blocks[side], partition.stats, slots[side])
