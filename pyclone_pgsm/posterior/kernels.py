"""Compiled counting for the consensus partition: which draws put which items together.

Shapes and names: M draws of a partition; U items, each with a weight (the number of identical mutations it
represents); R blocks in all draws together, numbered so that a number determines both the draw and the block;
at most C clusters in the estimate. ``rows[u, m]`` is the block of item u in draw m. ``value[n]`` is the value
of n items that are together, ``step[n] = value[n + 1] - value[n]``. Every criterion is a function of three
sums (:mod:`pyclone_pgsm.posterior.consensus`):

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

from pyclone_pgsm.jit.compiling import compiled, inner

OVERLAP, CLUSTER, BLOCK, PLACED = range(4)
UNPLACED = -1


class Table(NamedTuple):
    """Counts of an estimate against all draws, updated whenever items move.

    Attributes
    ----------
    count : (R, C) int32
        Number of items of each block in each cluster.
    gain : (R, C) float64
        ``step[count]``.
    margin : (R,) int32
        Number of placed items in each block.
    size : (C,) int64
        Number of items in each cluster, 0 for a cluster not in use.
    sums : (4,) float64
        Overlap, cluster, block, and the number of items placed.
    """

    count: NDArray[np.int32]
    gain: NDArray[np.float64]
    margin: NDArray[np.int32]
    size: NDArray[np.int64]
    sums: NDArray[np.float64]


@compiled
def number_blocks(draws):
    """Replace the labels of all draws by block numbers 0..R-1 in order of first appearance.

    Parameters
    ----------
    draws : (M, N) int32
        Labels, at least 0. Changed in place.

    Returns
    -------
    (M + 1,) int64
        First block of each draw, and R.
    """
    largest = 0
    for m in range(len(draws)):
        for i in range(draws.shape[1]):
            largest = max(largest, draws[m, i])
    number = np.full(largest + 1, -1, np.int32)
    first = np.zeros(len(draws) + 1, np.int64)
    blocks = 0
    for m in range(len(draws)):
        first[m] = blocks
        for i in range(draws.shape[1]):
            label = draws[m, i]
            if number[label] < first[m]:
                number[label] = blocks
                blocks += 1
            draws[m, i] = number[label]
    first[len(draws)] = blocks
    return first


@compiled
def gather_columns(codes, items, rows):
    """Fill ``rows[u, m] = codes[m, items[u]]``, a few items at a time so that both sides stay in the cache."""
    for start in range(0, len(items), 64):
        stop = min(start + 64, len(items))
        for m in range(len(codes)):
            for u in range(start, stop):
                rows[u, m] = codes[m, items[u]]


@compiled
def total_sums(rows, weight, blocks, order, start, value):
    """Compute overlap and block sums of a whole partition, without a table of blocks by clusters.

    Parameters
    ----------
    rows : (U, M) int32
    weight : (U,) int64
    blocks : int
        R.
    order : (U,) int64
        Items, cluster by cluster.
    start : (K + 1,) int64
        Where each cluster starts in `order`, and U.
    value : (N + 2,) float64

    Returns
    -------
    overlap, block : float
        Totals over the draws.
    """
    inside = np.zeros(blocks, np.int64)
    margin = np.zeros(blocks, np.int64)
    overlap = 0.0
    for k in range(len(start) - 1):
        members = order[start[k] : start[k + 1]]
        for u in members:
            w = weight[u]
            for row in rows[u]:
                n = inside[row]
                overlap += value[n + w] - value[n]
                inside[row] = n + w
                margin[row] += w
        for u in members:
            for row in rows[u]:
                inside[row] = 0
    block = 0.0
    for n in margin:
        block += value[n]
    return overlap, block


@compiled
def count_company(rows, blocks, order, start, together, alone):
    """Count how many items of each item's cluster share its block, and in how many draws it is alone.

    Parameters
    ----------
    rows, blocks, order, start
        As in :func:`total_sums`, with every item of weight 1.
    together : (N,) int64
        Increased by the sum over draws of the number of other members of the item's cluster in its block.
    alone : (N,) int64
        Increased by the number of draws in which the item's block has no other member.
    """
    margin = np.zeros(blocks, np.int64)
    inside = np.zeros(blocks, np.int64)
    for u in order:
        for row in rows[u]:
            margin[row] += 1
    for k in range(len(start) - 1):
        members = order[start[k] : start[k + 1]]
        for u in members:
            for row in rows[u]:
                inside[row] += 1
        for u in members:
            for row in rows[u]:
                together[u] += inside[row] - 1
                if margin[row] == 1:
                    alone[u] += 1
        for u in members:
            for row in rows[u]:
                inside[row] = 0


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


@inner(nogil=True)
def put(table, blocks, w, k, value, step):
    """Add an item of weight w, which is in `blocks`, to cluster k; a negative weight removes it."""
    overlap = 0.0
    block = 0.0
    for row in blocks:
        before = table.count[row, k]
        after = before + w
        table.count[row, k] = after
        table.gain[row, k] = step[after]
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


@inner(nogil=True)
def overlap_gains(table, blocks, w, own, columns, value, out):
    """Compute what an item would add to the overlap sum in each cluster; in its own, what it adds there now."""
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
def sweep(order, rows, weight, labels, table, value, step, adjusted, tolerance):
    """Move each item in turn to the cluster, possibly an empty one, for which the criterion is best.

    Parameters
    ----------
    order : (n,) int64
        Items to visit.
    rows : (U, M) int32
    weight, labels : (U,) int64
        Weight and cluster of each item; UNPLACED is the label of an item that is not in a cluster yet. Labels
        are changed.
    table : Table
        Counts of the placed items. Changed.
    value, step : (N + 2,), (N + 1,) float64
    adjusted : bool
        Whether the criterion is the adjusted Rand index (see :func:`price`).
    tolerance : float
        A placed item moves only if it gains more than this per unit of its weight.

    Returns
    -------
    int
        Number of items moved.
    """
    draws = rows.shape[1]
    capacity = len(table.size)
    gains = np.empty(capacity)
    used = 0
    for k in range(capacity):
        if table.size[k] > 0:
            used = k + 1
    moves = 0
    for u in order:
        own = labels[u]
        w = weight[u]
        columns = min(used + 1, capacity)
        overlap_gains(table, rows[u], w, own, columns, value, gains)
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
            put(table, rows[u], -w, own, value, step)
        put(table, rows[u], w, best, value, step)
        labels[u] = best
        used = max(used, best + 1)
        moves += 1
    return moves


@compiled
def relocate(items, clusters, rows, weight, labels, table, value, step):
    """Move items to the given clusters; UNPLACED removes an item from its cluster."""
    for j in range(len(items)):
        u = items[j]
        if labels[u] != UNPLACED:
            put(table, rows[u], -weight[u], labels[u], value, step)
        if clusters[j] != UNPLACED:
            put(table, rows[u], weight[u], clusters[j], value, step)
        labels[u] = clusters[j]


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


@compiled
def leading_clusters(draws, first, labels, num_clusters, leading, votes):
    """Find the two clusters that have most members in each block of some draws, and how many these are.

    Parameters
    ----------
    draws : (m, T) int32
        Blocks 0, 1, .. of each draw.
    first : (m,) int64
        Row of the first block of each draw in `leading`.
    labels : (T,) int64
        Cluster of each mutation, -1 for none.
    num_clusters : int
    leading : (R, 2) int32
        Result: the clusters; the lower number first if they have equally many members, -1 if there is none.
    votes : (R, 2) int32
        Result: the numbers of members, 0 if there is no cluster.
    """
    for m in range(len(draws)):
        blocks = 0
        for block in draws[m]:
            blocks = max(blocks, block + 1)
        count = np.zeros((blocks, num_clusters), np.int32)
        for i in range(len(labels)):
            if labels[i] >= 0:
                count[draws[m, i], labels[i]] += 1
        for block in range(blocks):
            row = first[m] + block
            leading[row] = -1
            votes[row] = 0
            for k in range(num_clusters):
                n = count[block, k]
                if n > votes[row, 0]:
                    leading[row, 1], votes[row, 1] = leading[row, 0], votes[row, 0]
                    leading[row, 0], votes[row, 0] = k, n
                elif n > votes[row, 1]:
                    leading[row, 1], votes[row, 1] = k, n


@compiled
def count_matches(rows, labels, size, leading, votes, own, second, second_count):
    """Count the draws in which each mutation's block matches its cluster, and find its most frequent other match.

    A block matches the cluster of most of its other members; if several clusters have equally many, it matches the
    mutation's own cluster if that is one of them, else the first of them. If no other member has a cluster, it matches
    a cluster that consists of this mutation only.

    Parameters
    ----------
    rows : (n, M) int64
        Block of each mutation in each draw: its row in `leading`.
    labels : (n,) int64
        Cluster of each mutation, -1 for none.
    size : (K,) int64
        Number of mutations in each cluster.
    leading, votes : (R, 2) int32
        From :func:`leading_clusters`.
    own : (n,) int64
        Result: number of draws that match the mutation's own cluster.
    second : (n,) int64
        Result: the other cluster that a mutation matches most often, the first of several; -1 if there is none.
    second_count : (n,) int64
        Result: number of draws that match that cluster.
    """
    count = np.zeros(len(size), np.int64)
    for i in range(len(rows)):
        label = labels[i]
        count[:] = 0
        for row in rows[i]:
            best = leading[row, 0]
            if best == label:
                others = votes[row, 0] - 1
                if votes[row, 1] > others:
                    best = leading[row, 1]
                elif others == 0 and size[label] > 1:
                    best = -1
            if best >= 0:
                count[best] += 1
        own[i] = count[label] if label >= 0 else 0
        second[i] = -1
        second_count[i] = 0
        for k in range(len(size)):
            if k != label and count[k] > second_count[i]:
                second[i], second_count[i] = k, count[k]
