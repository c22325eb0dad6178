"""Compiled search for the consensus partition: moving items between clusters.

Shapes and names: M draws of a partition; U items, each with a weight (the number of identical mutations it
represents); R blocks in all draws together, numbered so that a number determines both the draw and the block;
at most C clusters in the estimate. Every criterion is a function of three sums
(:mod:`pyclone_pgsm.posterior.consensus_search`), in which ``value[n]`` is the value of n items that are together:

=======  ======================================================================
overlap  sum over blocks and clusters of ``value[number of items in both]``
cluster  sum over clusters of ``value[number of items]``
block    sum over blocks of ``value[number of items]``
=======  ======================================================================

``overlap`` and ``block`` are totals over the draws, not means: sums of pairs stay exact integers in float64.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import LEAF, compiled, inner

OVERLAP, CLUSTER, BLOCK, PLACED = range(4)
UNPLACED = -1


class Table(NamedTuple):
    """An estimate, and its counts against all draws, updated whenever items move.

    `rows` (U, M) has the block of each item in each draw, `weight` (U,) the weights of the items. `labels` (U,) are
    their clusters, UNPLACED for an item that is in none yet. `count` (R, C) is the number of items of each block in
    each cluster, `margin` (R,) that of placed items in each block, `size` (C,) that of items in each cluster, 0 for a
    cluster not in use. `gain` (R, C) is ``value[count + 1] - value[count]``. `sums` (4,) are overlap, cluster, block,
    and the number of items placed.
    """

    rows: NDArray[np.int32]
    weight: NDArray[np.int64]
    value: NDArray[np.float64]
    labels: NDArray[np.int64]
    count: NDArray[np.int32]
    gain: NDArray[np.float64]
    margin: NDArray[np.int32]
    size: NDArray[np.int64]
    sums: NDArray[np.float64]


@compiled
def price(sums, draws, adjusted):
    """Return the cost of one unit of the cluster sum, in units of mean overlap.

    A move that adds a to the mean overlap A and b to the cluster sum B improves the criterion if and only if
    a - price b > 0. For VI and Binder the price is 1/2. The adjusted Rand index is the ratio
    v = (A - BC/P) / ((B + C)/2 - BC/P), with C the mean block sum and P the number of pairs. Its denominator is
    never negative, so a move makes the ratio exceed v if and only if numerator - v denominator becomes positive.
    This is linear in A and B, with the price v/2 + (1 - v) C/P (Dinkelbach's device).
    """
    pairs = sums[PLACED] * (sums[PLACED] - 1.0) / 2.0
    if not adjusted or pairs == 0.0:
        return 0.5
    overlap = sums[OVERLAP] / draws
    block = sums[BLOCK] / draws
    chance = sums[CLUSTER] * block / pairs
    scale = 0.5 * (sums[CLUSTER] + block) - chance
    index = (overlap - chance) / scale if scale > 0.0 else 1.0
    return 0.5 * index + (1.0 - index) * block / pairs


@inner(**LEAF)
def put(table, u, k, sign):
    """Add item u to cluster k, or remove it if `sign` is -1."""
    value = table.value
    w = sign * table.weight[u]
    overlap = 0.0
    block = 0.0
    for row in table.rows[u]:
        before = table.count[row, k]
        after = before + w
        table.count[row, k] = after
        table.gain[row, k] = value[after + 1] - value[after]
        overlap += value[after] - value[before]
        before = table.margin[row]
        after = before + w
        table.margin[row] = after
        block += value[after] - value[before]
    table.sums[OVERLAP] += overlap
    table.sums[BLOCK] += block
    table.sums[CLUSTER] += value[table.size[k] + w] - value[table.size[k]]
    table.sums[PLACED] += w
    table.size[k] += w


@inner(**LEAF)
def overlap_gains(table, u, columns, out):
    """Compute what item u would add to the overlap sum in each cluster; in its own, what it adds there now."""
    value, blocks = table.value, table.rows[u]
    w, own = table.weight[u], table.labels[u]
    out[:columns] = 0.0
    if w == 1:
        for row in blocks:
            for k in range(columns):
                out[k] += table.gain[row, k]
    else:
        for row in blocks:
            for k in range(columns):
                if k != own:
                    n = table.count[row, k]
                    out[k] += value[n + w] - value[n]
    if own != UNPLACED:
        out[own] = 0.0
        for row in blocks:
            n = table.count[row, own]
            out[own] += value[n] - value[n - w]


@compiled
def sweep(table, order, adjusted, tolerance):
    """Move each item of `order` to the cluster, possibly an empty one, for which the criterion is best.

    A placed item moves only if it gains more than `tolerance` per unit of its weight. `adjusted` says whether the
    criterion is the adjusted Rand index (see :func:`price`). Returns the number of items moved.
    """
    value = table.value
    draws = table.rows.shape[1]
    capacity = len(table.size)
    gains = np.empty(capacity)
    used = 0
    for k in range(capacity):
        if table.size[k] > 0:
            used = k + 1
    moves = 0
    for u in order:
        own = table.labels[u]
        w = table.weight[u]
        columns = min(used + 1, capacity)
        overlap_gains(table, u, columns, gains)
        cost = price(table.sums, draws, adjusted)
        best = np.int64(0)
        best_gain = -np.inf
        own_gain = -np.inf
        for k in range(columns):
            size = table.size[k] - w if k == own else table.size[k]
            gain = gains[k] / draws - cost * (value[size + w] - value[size])
            if gain > best_gain:
                best = k
                best_gain = gain
            if k == own:
                own_gain = gain
        if best_gain <= own_gain + tolerance * w:
            continue
        if own != UNPLACED:
            put(table, u, own, -1)
        put(table, u, best, 1)
        table.labels[u] = best
        used = max(used, best + 1)
        moves += 1
    return moves


@compiled
def relocate(table, items, clusters):
    """Move items to the given clusters; UNPLACED removes an item from its cluster."""
    for u, k in zip(items, clusters):
        if table.labels[u] != UNPLACED:
            put(table, u, table.labels[u], -1)
        if k != UNPLACED:
            put(table, u, k, 1)
        table.labels[u] = k


@compiled
def merge_gains(count, value):
    """Compute what merging each pair of clusters would add to the overlap sum: (C, C), above the diagonal.

    `count` is (R, C). Only clusters that meet in a block gain anything there, so that the work per block is
    proportional to the square of the number of clusters in it.
    """
    blocks, capacity = count.shape
    gains = np.zeros((capacity, capacity))
    met = np.empty(capacity, np.int64)
    for row in range(blocks):
        number = 0
        for k in range(capacity):
            b = count[row, k]
            if b > 0:
                for j in met[:number]:
                    a = count[row, j]
                    gains[j, k] += value[a + b] - value[a] - value[b]
                met[number] = k
                number += 1
    return gains
