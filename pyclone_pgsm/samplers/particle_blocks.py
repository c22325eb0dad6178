"""The blocks of particles, which are shared until one of the particles changes them (copy on write).

References to a block are counted. The pool of blocks is made once and reused by all moves.
"""

from typing import NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import copy_row, fill_log_predictives, log_size_ratio


class BlockPool(NamedTuple):
    """Blocks of particles, at most P.

    Attributes
    ----------
    stats : (P, likelihood.stat_size()) float64
    sizes, references : (P,) int64
    free : (P,) int64
        Stack of free blocks; ``free_count[0]`` of them.
    free_count : (1,) int64
    log_join : (P,) float64
        Log weight of the current step's observation joining the block (NaN: not requested yet).
    extended : (P,) int64
        Copy of the block to which the current step's observation was added (-1: not made yet).
    slots, cutoffs, results : (P,)
        Workspace for predictives: the blocks, values below which predictives are negligible, and results.
    """

    stats: np.ndarray
    sizes: np.ndarray
    references: np.ndarray
    free: np.ndarray
    free_count: np.ndarray
    log_join: np.ndarray
    extended: np.ndarray
    slots: np.ndarray
    cutoffs: np.ndarray
    results: np.ndarray


def make_block_pool(num_particles: int, stat_size: int, num_anchors: int = 2) -> BlockPool:
    """Make space for the blocks of `num_particles` particles.

    Children share the blocks of their parents until they are extended, which is after resampling.
    """
    size = num_anchors * num_particles + 8
    return BlockPool(
        np.empty((size, stat_size)),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.arange(size),
        np.array([size]),
        np.empty(size),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size),
        np.empty(size),
    )


@inner(**LEAF)
def empty_pool(pool):
    for block in range(len(pool.free)):
        pool.free[block] = block
    pool.free_count[0] = len(pool.free)


@inner(**LEAF)
def take_block(pool):
    pool.free_count[0] -= 1
    block = pool.free[pool.free_count[0]]
    pool.references[block] = 1
    return block


@inner(**LEAF)
def release_block(pool, block):
    pool.references[block] -= 1
    if pool.references[block] == 0:
        pool.free[pool.free_count[0]] = block
        pool.free_count[0] += 1


@inner(**LEAF)
def start_block(likelihood, pool, members):
    """Make a new block with a few members and return its position in the pool."""
    block = take_block(pool)
    likelihood.clear(pool.stats[block])
    for i in members:
        likelihood.add(pool.stats[block], i)
    pool.sizes[block] = len(members)
    return block


@inner(**LEAF)
def request_log_join(pool, log_tau2, block, count, negligible):
    """Request ``log_join`` of one more block after `count` others, unless it was requested at this step already.

    If the value is below `negligible`, any value below it may be the result. Returns the number of blocks requested.
    """
    if not np.isnan(pool.log_join[block]):
        return count
    pool.log_join[block] = log_size_ratio(log_tau2, pool.sizes[block])
    pool.slots[count] = block
    pool.cutoffs[count] = negligible - pool.log_join[block]
    return count + 1


@inner(**LEAF)
def compute_log_joins(likelihood, pool, count, i):
    """Compute log_join = log tau2(|b| + 1) / tau2(|b|) L(y_i | b) of the requested blocks; return the smallest."""
    fill_log_predictives(likelihood, pool.stats, pool.slots[:count], i, pool.cutoffs, pool.results)
    smallest = np.inf
    for k in range(count):
        block = pool.slots[k]
        pool.log_join[block] += pool.results[k]
        smallest = min(smallest, pool.log_join[block])
    return smallest


@inner(**LEAF)
def extend(likelihood, pool, blocks, origin, num, i):
    """Put observation i into the block that each of the `num` particles has chosen.

    A block of one particle only is changed in place. Otherwise it is copied once, for all particles that add to it.
    """
    pool.extended[:] = -1
    for p in range(num):
        choice = origin[p] % blocks.shape[1]
        block = blocks[p, choice]
        extended = pool.extended[block]
        if extended >= 0:
            pool.references[extended] += 1
            release_block(pool, block)
        else:
            extended = block
            if pool.references[block] > 1:
                extended = take_block(pool)
                copy_row(pool.stats, block, pool.stats, extended)
                pool.sizes[extended] = pool.sizes[block]
                pool.extended[block] = extended
                release_block(pool, block)
            likelihood.add(pool.stats[extended], i)
            pool.sizes[extended] += 1
        blocks[p, choice] = extended
