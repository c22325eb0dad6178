"""Greedy search for the partition with the least posterior expected loss, given posterior draws.

The search resembles SALSO (Dahl, Johnson & Müller 2022, J. Comput. Graph. Stat. 31, 1189). It starts from sequential
allocation in random order, or from one of the best draws. Sweeps move each item to the cluster where the loss is least;
then whole clusters are merged, or broken up and their items reallocated. This is done several times on few draws (and
some of the mutations, if there are very many), and the best result is improved on all of them. No array is larger than
items by draws or blocks by clusters.

Items with the same label in every draw are moved together. Nothing is lost by this: each loss is a concave function of
how many of them are in the first of two clusters, so it is least with all of them in one.

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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.labels import canonical
from pyclone_pgsm.posterior.kernels import (
    BLOCK,
    CLUSTER,
    OVERLAP,
    UNPLACED,
    Table,
    merge_gains,
    price,
    relocate,
    sweep,
)

TABLE_CELLS = 20_000_000  # blocks times clusters
SPARE_CLUSTERS = 8  # the estimate may have this many more clusters than any draw
CANDIDATES = 32  # draws whose own expected loss is computed
TOLERANCE = 1e-11  # of the largest step of v: improvements below it are rounding errors


class Effort(NamedTuple):
    """Limits of the cost of one sweep, and of all sweeps from one start.

    The unit is items times draws times clusters (about 1e9 a second). No fewer than `draws` draws are kept, even if a
    sweep then costs more.
    """

    sweep: float
    total: float
    draws: int


COARSE = Effort(2.5e7, 1e9, 16)
FINE = Effort(4e9, 1e10, 64)


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


class Search:
    """A partition of U items (groups of mutations that no draw separates) and its greedy improvement.

    `table` has the items, whose weights are their numbers of mutations, and the partition. `first` (M + 1,) is the
    first block of each draw, `example` (U,) one mutation of each item, and `group` (N,) the item of each mutation.
    The partition has at most `most_clusters`. `work` is the cost of the sweeps of the latest :meth:`improve`.
    """

    def __init__(
        self,
        draws: NDArray[np.integer],
        criterion: str,
        rng: np.random.Generator,
        effort: Effort,
        max_clusters: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.rng = rng
        self.effort = effort
        self.work = 0
        self.num_mutations = draws.shape[1]
        codes, self.first = number_blocks(draws)
        clusters = self.most_clusters = max_clusters or int(np.diff(self.first).max()) + SPARE_CLUSTERS
        share = min(effort.sweep / (codes.size * clusters), TABLE_CELLS / (self.first[-1] * clusters))
        if share < 1:
            few = even(len(draws), max(effort.draws, int(share * len(draws))))
            codes, self.first = number_blocks(draws[few])
        self.num_draws = len(codes)
        weight = self._group(codes)
        blocks = int(self.first[-1])
        clusters = min(clusters, len(weight), max(2, TABLE_CELLS // blocks))
        self.table = Table(
            rows=np.ascontiguousarray(codes[:, self.example].T),
            weight=weight,
            value=values_of(criterion, self.num_mutations),
            labels=np.full(len(weight), UNPLACED),
            count=np.zeros((blocks, clusters), np.int32),
            gain=np.zeros((blocks, clusters)),
            margin=np.zeros(blocks, np.int32),
            size=np.zeros(clusters, np.int64),
            sums=np.zeros(4),
        )

    def _group(self, codes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Group mutations with equal columns of labels into items, by sums of random 64-bit numbers; return weights.

        The probability that different columns collide is below N^2 / 2^65: 3e-8 for a million mutations.
        """
        key = self.rng.integers(0, 2**64, self.first[-1], dtype=np.uint64)
        total = np.zeros(self.num_mutations, np.uint64)
        for draw in codes:
            total += key[draw]
        _, example, group, weight = np.unique(
            total, return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(example)
        self.example, self.group = example[order], np.argsort(order)[group]
        return weight[order]

    @property
    def loss(self) -> float:
        """Expected loss of the partition, over the draws of this search."""
        sums = self.table.sums
        overlap, block = sums[OVERLAP] / self.num_draws, sums[BLOCK] / self.num_draws
        return loss_of(self.criterion, overlap, sums[CLUSTER], block, self.num_mutations)

    def best_draws(self) -> list[tuple[float, NDArray[np.int64]]]:
        """Return some draws as partitions of the items, with their expected losses, the smallest first."""
        found = []
        rows, value, weight = self.table.rows, self.table.value, self.table.weight
        block = total_value(rows, weight[:, None], value) / self.num_draws
        for m in np.arange(self.num_draws)[even(self.num_draws, CANDIDATES)]:
            labels = rows[:, m] - self.first[m]
            shared = shared_blocks(rows, labels[:, None])
            overlap = total_value(shared, weight[:, None], value) / self.num_draws
            cluster = total_value(labels, weight, value)
            found.append((loss_of(self.criterion, overlap, cluster, block, self.num_mutations), labels))
        return sorted(found, key=lambda pair: pair[0])

    def holds(self, labels: NDArray[np.int64]) -> bool:
        """Whether the table has room for the clusters of a partition."""
        return int(labels.max()) < len(self.table.size)

    def start_from(self, labels: NDArray[np.int64]) -> None:
        """Set the partition to `labels` (U,), some of which may be UNPLACED."""
        relocate(self.table, np.arange(len(labels)), labels)

    def start_empty(self) -> None:
        """Make a partition by sequential allocation in random order."""
        items = np.arange(len(self.table.labels))
        self.start_from(np.full(len(items), UNPLACED))
        self._sweep(items)

    def improve(self) -> None:
        """Sweep, merge and break up until nothing lowers the loss, or the effort is spent."""
        items = np.arange(len(self.table.labels))
        self.work = 0
        improved = True
        while improved and self.work < self.effort.total:
            while self.work < self.effort.total and self._sweep(items) > 0:
                pass
            improved = self._merge() or self._break_up()

    def _sweep(self, items: NDArray[np.int64]) -> int:
        self.work += len(items) * self.num_draws * int(np.count_nonzero(self.table.size))
        tolerance = TOLERANCE * (self.table.value[-1] - self.table.value[-2])
        return sweep(self.table, self.rng.permutation(items), self.criterion == "mpear", tolerance)

    def _merge(self) -> bool:
        """Merge the pair of clusters with the largest gain, while there is one; return whether any were merged."""
        merged = False
        size, value = self.table.size, self.table.value
        while True:
            cost = price(self.table.sums, self.num_draws, self.criterion == "mpear")
            together = value[np.minimum(size[:, None] + size, self.num_mutations)]
            gain = merge_gains(self.table.count, value) / self.num_draws
            gain -= cost * (together - value[size][:, None] - value[size])
            gain[np.tril_indices(len(size))] = -np.inf
            gain[size == 0] = -np.inf
            gain[:, size == 0] = -np.inf
            into, other = np.unravel_index(np.argmax(gain), gain.shape)
            if gain[into, other] <= TOLERANCE * together[into, other]:
                return merged
            items = np.flatnonzero(self.table.labels == other)
            relocate(self.table, items, np.full(len(items), into))
            merged = True

    def _break_up(self) -> bool:
        """Reallocate the items of each cluster in turn, undone unless the loss falls; return whether it ever fell."""
        paid = False
        for k in self.rng.permutation(np.flatnonzero(self.table.size)):
            items = np.flatnonzero(self.table.labels == k)
            before = self.loss
            relocate(self.table, items, np.full(len(items), UNPLACED))
            self._sweep(items)
            self._sweep(items)
            if self.loss < before - TOLERANCE * abs(before):
                paid = True
            else:
                relocate(self.table, items, np.full(len(items), k))
        return paid


def explore(search: Search, runs: int) -> NDArray[np.int64]:
    """Return (N,) labels of the best partition among several runs and some draws with few enough clusters."""
    candidates = [
        (loss, labels) for loss, labels in search.best_draws() if labels.max() < search.most_clusters
    ]
    starts = [labels for _, labels in candidates if search.holds(labels)]
    best_loss, best = candidates[0] if candidates else (np.inf, search.table.labels)
    for run in range(runs):
        if run % 2 == 1 and run // 2 < len(starts):
            search.start_from(starts[run // 2])
        else:
            search.start_empty()
        search.improve()
        if search.loss < best_loss:
            best_loss, best = search.loss, search.table.labels.copy()
    return best[search.group]


def refine(search: Search, explored: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (N,) labels of an improved partition of all mutations, from `labels` (n,) of those `explored` (n,).

    The `labels` may come from a search with few draws. Mutations that were not explored join clusters in the first
    sweep. If `search` has no room for so many clusters, it starts anew, or if all were explored, nothing changes.
    """
    start = np.full(len(search.example), UNPLACED)
    start[search.group[explored]] = canonical(labels)
    if search.holds(start):
        search.start_from(start)
    elif len(explored) == len(search.group):
        return labels
    else:
        search.start_empty()
    search.improve()
    return search.table.labels[search.group]
