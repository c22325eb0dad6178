"""Posterior expected losses of a partition, given posterior draws.

Let M draws of a partition of N items be given, let k be a cluster of the estimate and j a block of a draw, and let n_k,
n_j and n_kj be the numbers of items in k, in j and in both. With A the mean over draws of sum_kj v(n_kj),
B = sum_k v(n_k), C the mean over draws of sum_j v(n_j), and P = v(N), the posterior expected losses are

=========  =============  ============================================  ===============================
criterion  v(n)           expected loss                                 source
=========  =============  ============================================  ===============================
vi         n log2 n       (B + C - 2 A) / N, in bits                    Wade & Ghahramani 2018
binder     n (n - 1) / 2  B + C - 2 A                                   Binder 1978
mpear      n (n - 1) / 2  -(A - B C / P) / ((B + C) / 2 - B C / P)      Fritsch & Ickstadt 2009
=========  =============  ============================================  ===============================

The index that mpear maximises is 0 for a single cluster (A = C and B = P), unless all draws have one, and 0 for all
singletons (A = B = 0). Other partitions therefore have a larger index even if they are rare among the draws. So if most
draws are one of these two partitions, it is the estimate. It has the largest mean adjusted Rand index with the draws:
the index of either of the two with itself is 1, and with any other partition 0.
"""

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.labels import canonical


def even(number: int, keep: int) -> NDArray[np.int64] | slice:
    """Select at most `keep` of `number` positions, evenly spaced."""
    if number <= keep:
        return slice(None)
    return (2 * np.arange(keep) + 1) * number // (2 * keep)


def number_blocks(draws: NDArray[np.integer]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Number the blocks of all draws (M, N) from 0 to R - 1; return (M, N) numbers, the first of each draw, and R."""
    blocks = np.empty(draws.shape, np.int32)
    first = np.zeros(len(draws) + 1, np.int64)
    for m, draw in enumerate(draws):
        blocks[m] = canonical(draw) + first[m]
        first[m + 1] = blocks[m].max() + 1
    return blocks, first


def shared_blocks(blocks: NDArray[np.integer], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the intersections of blocks 0, 1, .. with clusters; `labels` are broadcast to the shape of `blocks`."""
    shared = blocks * np.int64(labels.max() + 1) + labels
    return shared if shared.max() < 4 * shared.size else canonical(shared.ravel()).reshape(shared.shape)


def total_value(numbers: NDArray[np.integer], weight: NDArray[np.int64], value: NDArray[np.float64]) -> float:
    """Return the sum of v(n) over the blocks 0, 1, .. of items, each of which counts `weight` times."""
    weights = np.broadcast_to(weight, numbers.shape)
    return float(value[np.bincount(numbers.ravel(), weights.ravel()).astype(np.int64)].sum())


def values_of(criterion: str, num_items: int) -> NDArray[np.float64]:
    """Return v(0), .., v(N + 1) of the criterion."""
    n = np.arange(num_items + 2, dtype=np.float64)
    return n * np.log2(np.maximum(n, 1.0)) if criterion == "vi" else n * (n - 1.0) / 2.0


def loss_of(criterion: str, overlap: float, cluster: float, block: float, num_items: int) -> float:
    """Return the expected loss from A (`overlap`), B (`cluster`) and C (`block`).

    For "vi" it is exact, not its lower bound. For "mpear" it is minus the index of the posterior co-clustering
    probabilities, not of the mean index of the draws, and -1 where this is 0/0 (all draws and the partition have one
    cluster, or all have only singletons).
    """
    if criterion != "mpear":
        distance = max(cluster + block - 2.0 * overlap, 0.0)
        return distance / num_items if criterion == "vi" else distance
    pairs = num_items * (num_items - 1) / 2
    chance = cluster * block / pairs if pairs else 0.0
    scale = 0.5 * (cluster + block) - chance
    return -(overlap - chance) / scale if scale > 0.0 else -1.0
