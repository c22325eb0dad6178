"""One partition that speaks for all posterior draws: the minimiser of a posterior expected loss.

M draws of a partition of N items are given. With A the mean over draws of the sum over clusters k and
blocks j of v(n_kj), n_kj the number of items in both, B = sum_k v(n_k) over the clusters of the estimate, C
the mean of sum_j v(n_j) over the blocks of the draws, and P = v(N), the posterior expected losses are

=========  =============  ============================================  ===============================
criterion  v(n)           expected loss                                 source
=========  =============  ============================================  ===============================
vi         n log2 n       (B + C - 2 A) / N, in bits                    Wade & Ghahramani 2018
binder     n (n - 1) / 2  B + C - 2 A                                   Binder 1978
mpear      n (n - 1) / 2  -(A - B C / P) / ((B + C) / 2 - B C / P)      Fritsch & Ickstadt 2009
map                       minus the log joint density, of draws only
=========  =============  ============================================  ===============================

The index that mpear maximises is 0 for a single cluster, unless all draws have one (A = C and B = P), and for all
items alone (A = B = 0): however rare, other draws beat them. So where most draws are one of these two, that is the
estimate. It has the largest mean adjusted Rand index with the draws, which is 1 with its like, and 0 between these two
and any other partition.

The search is greedy, in the manner of SALSO (Dahl, Johnson & Müller 2022, J. Comput. Graph. Stat. 31, 1189):
an initial partition by sequential allocation in random order, or one of the best draws; sweeps that move each
item to the cluster where the loss is least; merges of whole clusters; and the breaking up of clusters, whose
items find new places. It is done several times on few draws, and the best result is improved on all of them.
No array is larger than items by draws or blocks by clusters.

Items with the same label in every draw are moved as one, and nothing is lost by it: as a function of how many
of them are in the first of two clusters, each loss is concave, so the best place for all is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.labels import canonical
from pyclone_pgsm.posterior.kernels import (
    BLOCK,
    CLUSTER,
    OVERLAP,
    UNPLACED,
    Table,
    count_company,
    gather_columns,
    merge_gains,
    number_blocks,
    price,
    relocate,
    sweep,
    total_sums,
)

CRITERIA = ("mpear", "vi", "binder", "map")

CELLS = 100_000_000  # items times draws in memory at a time
TABLE_CELLS = 20_000_000  # blocks times clusters
SPARE_CLUSTERS = 8  # the estimate may have this many clusters more than any draw
CANDIDATES = 32  # draws whose own expected loss is computed
TOLERANCE = 1e-11  # of the largest step of v: improvements below it are rounding errors


class Effort(NamedTuple):
    """Limits of a search, counted in items times draws times clusters (about 1e9 a second).

    Attributes
    ----------
    sweep, total : float
        For one sweep, and for all of them from one start.
    draws : int
        However large the sweep becomes, the draws are not thinned below this number.
    """

    sweep: float
    total: float
    draws: int


COARSE = Effort(2.5e7, 1e9, 16)
FINE = Effort(4e9, 1e10, 64)


def consensus(
    draws: ArrayLike,
    criterion: str = "mpear",
    *,
    rng: np.random.Generator,
    log_joint: ArrayLike | None = None,
    max_clusters: int | None = None,
    max_draws: int = 1000,
    runs: int = 8,
) -> NDArray[np.int64]:
    """Find a partition with a small posterior expected loss.

    Parameters
    ----------
    draws : (M, N) array of integers
        Labels of N items in each of M draws. The labels of one draw mean nothing in another.
    criterion : {'mpear', 'vi', 'binder', 'map'}
        The loss (see the text of the module).
    rng : numpy.random.Generator
        For the order of the search: equal states and arguments give equal partitions.
    log_joint : (M,) array of floats, optional
        Log joint density of each draw. Needed by 'map', not used otherwise.
    max_clusters : int or None
        Of the partition, at least 1; 'map' does not ask. None: the largest number of blocks in a draw and 8 more.
    max_draws : int
        More draws than this are thinned evenly; likewise so that items times draws stay below 1e8, and blocks
        times clusters below 2e7 (only chains with hundreds of blocks come near). 'map' looks at all.
    runs : int
        How many times the search starts, alternately from an empty partition and from a good draw.

    Returns
    -------
    (N,) int64
        Labels 0..K-1 in order of first appearance.

    Raises
    ------
    ValueError
        An argument has the wrong shape, type or value.
    """
    draws = _checked(draws)
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(CRITERIA)}, not {criterion!r}")
    if max_draws < 1 or runs < 1 or (max_clusters is not None and max_clusters < 1):
        raise ValueError("max_draws, runs and max_clusters must be at least 1")
    if criterion == "map":
        return canonical(draws[_most_probable(log_joint, len(draws))])
    num_items = draws.shape[1]
    draws = draws[_even(len(draws), min(max_draws, max(1, CELLS // num_items)))]
    if criterion == "mpear":
        extreme = _most_are_extreme(draws, max_clusters)
        if extreme is not None:
            return extreme
    few = _Search(draws, criterion, rng, COARSE, max_clusters)
    labels = _explore(few, runs, max_clusters)
    if few.num_draws < len(draws):
        labels = _refine(_Search(draws, criterion, rng, FINE, max_clusters), labels)
    return canonical(labels)


def _most_are_extreme(draws: NDArray[np.integer], max_clusters: int | None) -> NDArray[np.int64] | None:
    """One cluster, or all items alone (if so many clusters are allowed), where most of the draws are; else None."""
    num_items = draws.shape[1]
    spans = draws.max(axis=1) - draws.min(axis=1)
    if np.mean(spans == 0) > 0.5:
        return np.zeros(num_items, np.int64)
    are_alone = [len(np.unique(draw)) == num_items for draw in draws[spans >= num_items - 1]]
    if num_items <= (max_clusters or num_items) and sum(are_alone) > len(draws) / 2:
        return np.arange(num_items)
    return None


def expected_vi(draws: ArrayLike, labels: ArrayLike) -> float:
    """Posterior expected variation of information of a partition, in bits (exact, not its lower bound).

    Parameters
    ----------
    draws : (M, N) array of integers
    labels : (N,) array of integers

    Returns
    -------
    float
        Between 0 and log2 N.

    Raises
    ------
    ValueError
        The shapes do not fit or the labels are not integers.
    """
    return _loss("vi", *_mean_sums(draws, labels, "vi"))


def expected_binder(draws: ArrayLike, labels: ArrayLike) -> float:
    """Posterior expected number of pairs that are together in one of partition and draw, apart in the other.

    Parameters, errors: as :func:`expected_vi`.

    Returns
    -------
    float
        Between 0 and N (N - 1) / 2.
    """
    return _loss("binder", *_mean_sums(draws, labels, "binder"))


def pear(draws: ArrayLike, labels: ArrayLike) -> float:
    """Posterior expected adjusted Rand index of a partition, in the form of Fritsch & Ickstadt (2009).

    The index of the posterior co-clustering probabilities, not the mean of the indices of the draws. Where it
    is 0/0 (all draws and the partition have one cluster, or all have only singletons) it is 1.

    Parameters, errors: as :func:`expected_vi`.

    Returns
    -------
    float
        At most 1.
    """
    return -_loss("mpear", *_mean_sums(draws, labels, "mpear"))


def assignment_probability(draws: ArrayLike, labels: ArrayLike) -> NDArray[np.float64]:
    """How sure it is that each item belongs with the others of its cluster.

    Parameters
    ----------
    draws : (M, N) array of integers
    labels : (N,) array of integers
        The consensus partition.

    Returns
    -------
    (N,) float64
        Mean, over the other members of the item's cluster, of the posterior probability that the item is in
        one block with them. For an item alone in its cluster: the posterior probability that it is alone in
        its block.

    Raises
    ------
    ValueError
        The shapes do not fit or the labels are not integers.
    """
    draws, labels = _checked(draws), _checked_labels(labels, draws)
    order, start = _by_cluster(labels)
    together = np.zeros(len(labels), np.int64)
    alone = np.zeros(len(labels), np.int64)
    for rows, blocks in _chunks(draws):
        count_company(rows, blocks, order, start, together, alone)
    others = np.bincount(labels)[labels] - 1
    return np.where(others > 0, together / np.maximum(others, 1), alone) / len(draws)


def coclustering(draws: ArrayLike, items: ArrayLike) -> NDArray[np.float64]:
    """Posterior probabilities that two items are in one block, for some of the items.

    Parameters
    ----------
    draws : (M, N) array of integers
    items : (n,) array of integers
        Which items; time and memory grow with the square of their number.

    Returns
    -------
    (n, n) float64
        Symmetric, 1 on the diagonal.

    Raises
    ------
    ValueError
        The draws are not a non-empty matrix of integers.
    """
    chosen = _checked(draws)[:, np.asarray(items, np.int64)]
    shared = np.zeros((chosen.shape[1], chosen.shape[1]), np.int32)
    for draw in chosen:
        shared += draw[:, None] == draw
    return shared / len(chosen)


def _checked(draws: ArrayLike) -> NDArray[np.integer]:
    """Draws as a matrix of labels from 0 that fit into int32 and are not many more than items."""
    draws = np.asarray(draws)
    if draws.ndim != 2 or draws.size == 0:
        raise ValueError(f"draws must be a matrix of draws by items, not empty; its shape is {draws.shape}")
    if draws.dtype.kind not in "iu":
        raise ValueError(f"draws must be integers, not {draws.dtype}")
    if draws.min() < 0 or draws.max() > max(draws.size, np.iinfo(np.uint16).max):
        return np.unique(draws, return_inverse=True)[1].reshape(draws.shape)
    return draws


def _checked_labels(labels: ArrayLike, draws: NDArray[np.integer]) -> NDArray[np.int64]:
    labels = np.asarray(labels)
    if labels.shape != draws.shape[1:]:
        raise ValueError(
            f"labels must have one value for each of {draws.shape[1]} items; the shape is {labels.shape}"
        )
    if labels.dtype.kind not in "iu":
        raise ValueError(f"labels must be integers, not {labels.dtype}")
    return canonical(labels)


def _most_probable(log_joint: ArrayLike | None, num_draws: int) -> int:
    if log_joint is None:
        raise ValueError("criterion 'map' needs log_joint")
    log_joint = np.asarray(log_joint, np.float64)
    if log_joint.shape != (num_draws,):
        raise ValueError(
            f"log_joint must have one value for each of {num_draws} draws; the shape is {log_joint.shape}"
        )
    return int(np.argmax(log_joint))


def _even(number: int, keep: int) -> NDArray[np.int64] | slice:
    """Choose at most `keep` of `number` things, evenly spaced."""
    if number <= keep:
        return slice(None)
    return (2 * np.arange(keep) + 1) * number // (2 * keep)


def _by_cluster(labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Items ordered by cluster, and where each of the clusters 0..K-1 starts in that order."""
    order = np.argsort(labels, kind="stable")
    return order, np.concatenate(([0], np.cumsum(np.bincount(labels))))


def _chunks(draws: NDArray[np.integer]) -> Iterator[tuple[NDArray[np.int32], int]]:
    """Blocks of each item in some draws at a time, (N, m), and how many blocks these draws have."""
    num_draws, num_items = draws.shape
    size = max(1, CELLS // num_items)
    for start in range(0, num_draws, size):
        codes = np.array(draws[start : start + size], np.int32, order="C")
        blocks = int(number_blocks(codes)[-1])
        rows = np.empty(codes.T.shape, np.int32)
        gather_columns(codes, np.arange(num_items), rows)
        yield rows, blocks


def _values(criterion: str, num_items: int) -> NDArray[np.float64]:
    """v(0), .., v(N + 1) of the criterion."""
    n = np.arange(num_items + 2, dtype=np.float64)
    return n * np.log2(np.maximum(n, 1.0)) if criterion == "vi" else n * (n - 1.0) / 2.0


def _loss(criterion: str, overlap: float, cluster: float, block: float, num_items: int) -> float:
    """Expected loss from A, B and C."""
    if criterion != "mpear":
        distance = max(cluster + block - 2.0 * overlap, 0.0)
        return distance / num_items if criterion == "vi" else distance
    pairs = num_items * (num_items - 1) / 2
    chance = cluster * block / pairs if pairs else 0.0
    scale = 0.5 * (cluster + block) - chance
    return -(overlap - chance) / scale if scale > 0.0 else -1.0


def _mean_sums(draws: ArrayLike, labels: ArrayLike, criterion: str) -> tuple[float, float, float, int]:
    """A, B, C and N."""
    draws = _checked(draws)
    labels = _checked_labels(labels, draws)
    num_draws, num_items = draws.shape
    value = _values(criterion, num_items)
    order, start = _by_cluster(labels)
    totals = np.zeros(2)
    for rows, blocks in _chunks(draws):
        totals += total_sums(rows, np.ones(num_items, np.int64), blocks, order, start, value)
    overlap, block = totals / num_draws
    return float(overlap), float(value[np.diff(start)].sum()), float(block), num_items


class _Search:
    """Greedy improvement of one partition of U items (groups of mutations that no draw separates).

    Attributes
    ----------
    rows : (U, M) int32
        Block of each item in each draw.
    first : (M + 1,) int64
        First block of each draw.
    weight : (U,) int64
        Mutations in each item.
    group : (N,) int64
        Item of each mutation.
    example : (U,) int64
        A mutation of each item.
    labels : (U,) int64
        The partition.
    table : Table
        Its counts.
    work : int
        What the sweeps of the latest :meth:`improve` have cost.
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
        codes = np.array(draws, np.int32, order="C")
        self.first = number_blocks(codes)
        clusters = max_clusters or int(np.diff(self.first).max()) + SPARE_CLUSTERS
        share = min(effort.sweep / (codes.size * clusters), TABLE_CELLS / (self.first[-1] * clusters))
        if share < 1:
            codes = codes[_even(len(codes), max(effort.draws, int(share * len(codes))))]
            self.first = number_blocks(codes)
        self.num_draws = len(codes)
        self._group(codes)
        self.value = _values(criterion, self.num_mutations)
        self.step = np.diff(self.value)
        blocks = int(self.first[-1])
        clusters = min(clusters, len(self.weight), max(2, TABLE_CELLS // blocks))
        self.labels = np.full(len(self.weight), UNPLACED)
        self.table = Table(
            count=np.zeros((blocks, clusters), np.int32),
            gain=np.zeros((blocks, clusters)),
            margin=np.zeros(blocks, np.int32),
            size=np.zeros(clusters, np.int64),
            sums=np.zeros(4),
        )

    def _group(self, codes: NDArray[np.int32]) -> None:
        """Make items of the mutations whose columns have the same sum of random 64-bit numbers.

        Different columns collide with a probability below N^2 / 2^65: 3e-8 for a million mutations.
        """
        key = self.rng.integers(0, 2**64, self.first[-1], dtype=np.uint64)
        total = np.zeros(self.num_mutations, np.uint64)
        for draw in codes:
            total += key[draw]
        _, example, group, weight = np.unique(
            total, return_index=True, return_inverse=True, return_counts=True
        )
        order = np.argsort(example)
        self.example, self.weight, self.group = example[order], weight[order], np.argsort(order)[group]
        self.rows = np.empty((len(self.example), len(codes)), np.int32)
        gather_columns(codes, self.example, self.rows)

    @property
    def loss(self) -> float:
        """Expected loss of the partition, over the draws of this search."""
        sums = self.table.sums
        overlap, block = sums[OVERLAP] / self.num_draws, sums[BLOCK] / self.num_draws
        return _loss(self.criterion, overlap, sums[CLUSTER], block, self.num_mutations)

    @property
    def expanded(self) -> NDArray[np.int64]:
        """The partition as (N,) labels of the mutations."""
        return self.labels[self.group]

    def best_draws(self) -> list[tuple[float, NDArray[np.int64]]]:
        """Some draws as partitions of the items, with their expected losses, the least first."""
        found = []
        for m in np.arange(self.num_draws)[_even(self.num_draws, CANDIDATES)]:
            labels = (self.rows[:, m] - self.first[m]).astype(np.int64)
            order, start = _by_cluster(labels)
            totals = total_sums(self.rows, self.weight, self.first[-1], order, start, self.value)
            cluster = self.value[np.bincount(labels, self.weight).astype(np.int64)].sum()
            overlap, block = np.array(totals) / self.num_draws
            found.append((_loss(self.criterion, overlap, cluster, block, self.num_mutations), labels))
        return sorted(found, key=lambda pair: pair[0])

    def holds(self, labels: NDArray[np.int64]) -> bool:
        """Whether the table has room for the clusters of a partition."""
        return int(labels.max()) < len(self.table.size)

    def start_from(self, labels: NDArray[np.int64]) -> None:
        """Make `labels` (U,) the partition; UNPLACED is allowed."""
        self._relocate(np.arange(len(labels)), labels)

    def start_empty(self) -> None:
        """Make a partition by sequential allocation in random order."""
        self.start_from(np.full(len(self.labels), UNPLACED))
        self._sweep(np.arange(len(self.labels)))

    def improve(self) -> None:
        """Sweep, merge and break up until none of it lowers the loss or the effort is spent."""
        items = np.arange(len(self.labels))
        self.work = 0
        improved = True
        while improved and self.work < self.effort.total:
            while self.work < self.effort.total and self._sweep(items) > 0:
                pass
            improved = self._merge() or self._break_up()

    def _relocate(self, items: NDArray[np.int64], clusters: NDArray[np.int64]) -> None:
        relocate(items, clusters, self.rows, self.weight, self.labels, self.table, self.value, self.step)

    def _sweep(self, items: NDArray[np.int64]) -> int:
        self.work += len(items) * self.num_draws * int(np.count_nonzero(self.table.size))
        return sweep(
            self.rng.permutation(items),
            self.rows,
            self.weight,
            self.labels,
            self.table,
            self.value,
            self.step,
            self.criterion == "mpear",
            TOLERANCE * self.step[-1],
        )

    def _merge(self) -> bool:
        """Merge the two clusters that should most be one, as long as there are such. True if there were."""
        merged = False
        size = self.table.size
        while True:
            cost = price(self.table.sums, self.num_draws, self.criterion == "mpear")
            together = self.value[np.minimum(size[:, None] + size, self.num_mutations)]
            gain = merge_gains(self.table.count, self.value) / self.num_draws
            gain -= cost * (together - self.value[size][:, None] - self.value[size])
            gain[np.tril_indices(len(size))] = -np.inf
            gain[size == 0] = -np.inf
            gain[:, size == 0] = -np.inf
            into, other = np.unravel_index(np.argmax(gain), gain.shape)
            if gain[into, other] <= TOLERANCE * together[into, other]:
                return merged
            items = np.flatnonzero(self.labels == other)
            self._relocate(items, np.full(len(items), into))
            merged = True

    def _break_up(self) -> bool:
        """Take each cluster apart in turn and let its items find places, unless that does not pay.

        True if it ever did.
        """
        paid = False
        for k in self.rng.permutation(np.flatnonzero(self.table.size)):
            items = np.flatnonzero(self.labels == k)
            before = self.loss
            self._relocate(items, np.full(len(items), UNPLACED))
            self._sweep(items)
            self._sweep(items)
            if self.loss < before - TOLERANCE * abs(before):
                paid = True
            else:
                self._relocate(items, np.full(len(items), k))
        return paid


def _explore(search: _Search, runs: int, max_clusters: int | None) -> NDArray[np.int64]:
    """Best partition of several runs and of the draws looked at that have no more clusters: (N,) labels."""
    candidates = search.best_draws()
    if max_clusters is not None:
        candidates = [(loss, labels) for loss, labels in candidates if labels.max() < max_clusters]
    starts = [labels for _, labels in candidates if search.holds(labels)]
    best_loss, best = candidates[0] if candidates else (np.inf, search.labels)
    for run in range(runs):
        if run % 2 == 1 and run // 2 < len(starts):
            search.start_from(starts[run // 2])
        else:
            search.start_empty()
        search.improve()
        if search.loss < best_loss:
            best_loss, best = search.loss, search.labels.copy()
    return best[search.group]


def _refine(search: _Search, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Improve a partition (N,), found on few draws, on all."""
    start = canonical(labels)[search.example]
    if not search.holds(start):
        return labels
    search.start_from(start)
    search.improve()
    return search.expanded
