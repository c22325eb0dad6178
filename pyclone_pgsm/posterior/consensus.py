"""Consensus partition: one partition that represents all posterior draws, with a small posterior expected loss.

Losses and search: :mod:`pyclone_pgsm.posterior.consensus_search`.
"""

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.labels import canonical
from pyclone_pgsm.posterior.consensus_search import (
    COARSE,
    FINE,
    Search,
    even,
    explore,
    refine,
    shared_blocks,
)

CELLS = 100_000_000  # items times draws
MOST_EXPLORED = 100_000  # items
CRITERIA = ("mpear", "vi", "binder", "map")
"""Criteria for the partition of a result: a loss, or the draw with the largest joint density ("map")."""


def consensus(
    draws: NDArray[np.integer],
    criterion: str,
    *,
    rng: np.random.Generator,
    max_clusters: int | None = None,
    runs: int = 8,
) -> NDArray[np.int64]:
    """Find a partition (N,) with a small posterior expected loss, numbered by first appearance.

    The `criterion` is "mpear", "vi" or "binder". Labels of different `draws` (M, N) are unrelated. `rng` determines the
    order of the search. The partition has at most `max_clusters` clusters; None: 8 more than the largest number of
    blocks in a draw. Draws are thinned evenly to keep items times draws below 1e8, and blocks times clusters below 2e7
    (only chains with hundreds of blocks come near). `runs` is the number of searches, which start alternately from an
    empty partition and from a good draw. Of more than 100,000 items, these searches place 100,000, drawn at random;
    the others then join them.
    """
    draws = draws[even(len(draws), max(1, CELLS // draws.shape[1]))]
    if criterion == "mpear":
        extreme = _most_are_extreme(draws, max_clusters)
        if extreme is not None:
            return extreme
    num_items = draws.shape[1]
    explored, draws_explored = np.arange(num_items), draws
    if num_items > MOST_EXPLORED:
        explored = np.sort(rng.choice(num_items, MOST_EXPLORED, replace=False))
        draws_explored = draws[:, explored]
    few = Search(draws_explored, criterion, rng, COARSE, max_clusters)
    labels = explore(few, runs)
    if few.num_draws < len(draws) or len(explored) < num_items:
        labels = refine(Search(draws, criterion, rng, FINE, max_clusters), explored, labels)
    return canonical(labels)


def _most_are_extreme(draws: NDArray[np.integer], max_clusters: int | None) -> NDArray[np.int64] | None:
    """Return one cluster, or all singletons (if `max_clusters` allows), if most draws are this partition; else None."""
    num_items = draws.shape[1]
    spans = draws.max(axis=1) - draws.min(axis=1)
    if np.mean(spans == 0) > 0.5:
        return np.zeros(num_items, np.int64)
    are_alone = [len(np.unique(draw)) == num_items for draw in draws[spans >= num_items - 1]]
    if num_items <= (max_clusters or num_items) and sum(are_alone) > len(draws) / 2:
        return np.arange(num_items)
    return None


def assignment_probability(draws: NDArray[np.integer], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (N,) posterior probabilities that each item belongs with the others of its cluster.

    This is the share of the `draws` (M, N) in which the item shares a block with another member of its cluster 0, 1, ..
    in `labels` (N,), averaged over these members. For the only item of a cluster, it is the share in which it is alone
    in its block.
    """
    together = np.zeros(len(labels), np.int64)
    alone = np.zeros(len(labels), np.int64)
    for block in map(canonical, draws):
        shared = shared_blocks(block, labels)
        together += np.bincount(shared)[shared] - 1
        alone += np.bincount(block)[block] == 1
    others = np.bincount(labels)[labels] - 1
    return np.where(others > 0, together / np.maximum(others, 1), alone) / len(draws)


def coclustering(draws: NDArray[np.integer], items: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (n, n) shares of the `draws` (M, N) in which two of the `items` (n,) share a block.

    Time and memory grow with the square of n.
    """
    chosen = draws[:, items]
    shared = np.zeros((chosen.shape[1], chosen.shape[1]), np.int32)
    for draw in chosen:
        shared += draw[:, None] == draw
    return shared / len(chosen)
