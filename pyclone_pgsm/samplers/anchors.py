"""Anchor proposals h(s): which observations a split-merge move starts from (paper, Appendix F).

h must not depend on the current partition. The informed proposals draw from a *reference* partition instead, which is
replaced only during the burn-in (by `cluster` and `threshold` only when the number of clusters reaches a new maximum).
From then on h is fixed and the chain is exact.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.partition import Partition, copy_row, fill_block, members_by_block

LARGEST_REFERENCE = 500  # blocks; the scores are a K x K matrix
SHARE = 0.01  # a block with at least this share of the attachment probability is a likely one


def uniform_anchors(num_observations: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw `count` different observations uniformly, in random order."""
    drawn: list[int] = []
    for number in range(count):
        anchor = int(rng.integers(num_observations - number))
        for other in sorted(drawn):
            anchor += anchor >= other
        drawn.append(anchor)
    return np.array(drawn)


class AnchorProposal:
    """The distribution h(s) of the anchors, and the state that a chain stores of it (none if it never changes)."""

    def __init__(self, num_observations: int) -> None:
        self.num_observations = num_observations

    def draw(self, rng: np.random.Generator, count: int = 2) -> NDArray[np.int64]:
        """Draw `count` different observations. Only :class:`UniformAnchors` can draw more than two."""
        raise NotImplementedError

    def adapt(self, likelihood: Any, partition: Partition) -> None:
        """Update the proposal with the current `partition`. Only called during the burn-in."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return arrays from which :meth:`restore` recreates this proposal."""
        return {}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Set the proposal to a state returned by :meth:`state`."""


class UniformAnchors(AnchorProposal):
    """All sets of `count` observations have the same probability."""

    def draw(self, rng: np.random.Generator, count: int = 2) -> NDArray[np.int64]:
        return uniform_anchors(self.num_observations, count, rng)


def merge_scores(likelihood, labels, num_blocks):  # type: ignore[no-untyped-def]
    """Return log L(y_{b ∪ b'}) - log L(y_b) - log L(y_b') of every pair of blocks, (K, K); labels are canonical."""
    members, start = members_by_block(labels, num_blocks)
    stats = np.empty((num_blocks + 1, likelihood.stat_size()))
    for b in range(num_blocks):
        fill_block(likelihood, stats[b], members[start[b] : start[b + 1]])
    scores = np.zeros((num_blocks, num_blocks))
    for b in range(num_blocks):
        for other in range(b):
            copy_row(stats, b, stats, num_blocks)
            likelihood.add_many(stats[num_blocks], members[start[other] : start[other + 1]])
            scores[b, other] = (
                likelihood.log_marginal(stats[num_blocks])
                - likelihood.log_marginal(stats[b])
                - likelihood.log_marginal(stats[other])
            )
            scores[other, b] = scores[b, other]
    return scores


def likely_blocks(likelihood, partition, numbers, slots):  # type: ignore[no-untyped-def]
    """Find, for each observation i, the blocks b with at least :data:`SHARE` of its attachment probability.

    The attachment probability is proportional to |b| L(y_i | b), with i taken out of its own block.

    Parameters
    ----------
    numbers, slots : (T,) int32, (K,) int64
        Block of each observation, 0..K-1, and the slot of each block.

    Returns
    -------
    blocks : (M,) int32
        The likely blocks of all observations, one observation after the other.
    start : (T + 1,) int64
        Where the blocks of each observation start.
    """
    T = len(numbers)
    blocks = np.empty(2 * T, np.int32)
    start = np.zeros(T + 1, np.int64)
    log_p = np.empty(len(slots))
    cuts = np.full(len(slots), -np.inf)
    for i in range(T):
        likelihood.log_predictives(partition.stats, slots, i, cuts, log_p)
        best = -np.inf
        for b in range(len(slots)):
            size = partition.sizes[slots[b]]
            if b == numbers[i]:
                size -= 1
                if size > 0:
                    log_p[b] = likelihood.log_predictive_without(partition.stats[slots[b]], i)
            log_p[b] = log_p[b] + math.log(size) if size > 0 else -np.inf
            best = max(best, log_p[b])
        total = 0.0
        for b in range(len(slots)):
            log_p[b] = math.exp(log_p[b] - best) if best > -np.inf else 0.0
            total += log_p[b]
        start[i + 1] = start[i]
        for b in range(len(slots)):
            if log_p[b] > 0.0 and log_p[b] >= SHARE * total:
                if start[i + 1] == len(blocks):
                    larger = np.empty(2 * len(blocks), np.int32)
                    for m in range(len(blocks)):
                        larger[m] = blocks[m]
                    blocks = larger
                blocks[start[i + 1]] = b
                start[i + 1] += 1
    return blocks[: start[T]].copy(), start


class Reference(AnchorProposal):
    """Proposal with a reference, whose blocks are numbered 0..K-1: the partition with the most blocks so far, not
    counting those with more than :data:`LARGEST_REFERENCE`."""

    def __init__(self, num_observations: int) -> None:
        super().__init__(num_observations)
        self.record = 0
        self.labels: NDArray[np.int32] = np.zeros(num_observations, np.int32)

    def adapt(self, likelihood: Any, partition: Partition) -> None:
        if self.record < int(partition.counter[0]) <= LARGEST_REFERENCE:
            slots, labels = np.unique(partition.labels, return_inverse=True)
            self._refer_to(labels.astype(np.int32))
            self._learn(likelihood, partition, slots.astype(np.int64))

    def _learn(self, likelihood: Any, partition: Partition, slots: NDArray[np.int64]) -> None:
        """Prepare draws with a new reference: `partition`, whose blocks 0..K-1 are in these (K,) slots."""
        raise NotImplementedError

    def _refer_to(self, labels: NDArray[np.int32]) -> None:
        self.labels = labels
        sizes = np.bincount(labels)
        self.record = len(sizes)
        self._members = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])

    def _partner(self, first: int, block: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return `first` and another member of `block`, or two uniform anchors if there is no other member."""
        members = self._members[block]
        if block == self.labels[first]:
            members = members[members != first]
        if len(members) == 0:
            return uniform_anchors(self.num_observations, 2, rng)
        return np.array([first, members[rng.integers(len(members))]])


class ClusterInformedAnchors(Reference):
    """Algorithm 4 (CI): the second anchor comes from a block that would merge well with the first anchor's block.

    The first anchor's own block gets the mean weight of the others, so that its probability is 1/|c|.
    """

    def __init__(self, num_observations: int) -> None:
        super().__init__(num_observations)
        self.scores: NDArray[np.float64] = np.zeros((0, 0))

    def _learn(self, likelihood: Any, partition: Partition, slots: NDArray[np.int64]) -> None:
        self._set(compiled_for(merge_scores, type(likelihood))(likelihood, self.labels, len(slots)))

    def _set(self, scores: NDArray[np.float64]) -> None:
        self.scores = scores
        num_blocks = self.record
        self._cumulative = np.ones((num_blocks, num_blocks))
        for b in range(num_blocks):
            others = np.delete(scores[b], b)
            if len(others) == 0:
                continue
            weights = np.insert(np.exp(others - others.max()), b, 0.0)
            weights[b] = weights.sum() / (num_blocks - 1)
            self._cumulative[b] = np.cumsum(weights / weights.sum())

    def draw(self, rng: np.random.Generator, count: int = 2) -> NDArray[np.int64]:
        if self.record == 0:
            return uniform_anchors(self.num_observations, 2, rng)
        first = int(rng.integers(self.num_observations))
        cumulative = self._cumulative[self.labels[first]]
        block = int(np.searchsorted(cumulative, rng.random(), side="right"))
        return self._partner(first, min(block, self.record - 1), rng)

    def state(self) -> dict[str, NDArray[Any]]:
        return {"anchor_labels": self.labels, "anchor_scores": self.scores}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        if len(state["anchor_scores"]):
            self._refer_to(state["anchor_labels"].astype(np.int32))
            self._set(state["anchor_scores"].astype(float))


class ThresholdInformedAnchors(Reference):
    """Algorithm 5 (TI): the second anchor comes from one of the blocks that the first anchor may plausibly belong to.

    These are the blocks with at least :data:`SHARE` of the first anchor's attachment probability. Whatever the prior,
    this is that of the Chinese restaurant process, proportional to |b| L(y_i | b) with i taken out of its own block.
    (The paper prints tau2(b) for |b|.)
    """

    def __init__(self, num_observations: int) -> None:
        super().__init__(num_observations)
        self.blocks: NDArray[np.int32] = np.zeros(0, np.int32)
        self.start: NDArray[np.int64] = np.zeros(num_observations + 1, np.int64)

    def _learn(self, likelihood: Any, partition: Partition, slots: NDArray[np.int64]) -> None:
        kernel = compiled_for(likely_blocks, type(likelihood))
        self.blocks, self.start = kernel(likelihood, partition, self.labels, slots)

    def draw(self, rng: np.random.Generator, count: int = 2) -> NDArray[np.int64]:
        first = int(rng.integers(self.num_observations))
        choices = self.blocks[self.start[first] : self.start[first + 1]]
        if len(choices) == 0:
            return uniform_anchors(self.num_observations, 2, rng)
        return self._partner(first, int(choices[rng.integers(len(choices))]), rng)

    def state(self) -> dict[str, NDArray[Any]]:
        return {"anchor_labels": self.labels, "anchor_blocks": self.blocks, "anchor_start": self.start}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        if len(state["anchor_blocks"]):
            self._refer_to(state["anchor_labels"].astype(np.int32))
            self.blocks = state["anchor_blocks"].astype(np.int32)
            self.start = state["anchor_start"].astype(np.int64)


class BalancedAnchors(AnchorProposal):
    """The second anchor comes from the first one's block in the reference with probability 1/2, else from anywhere.

    So about half of the moves try to split, however many blocks there are. The reference is replaced in every iteration
    of the burn-in, when the chain need not be exact yet, and is fixed from then on.
    """

    def __init__(self, num_observations: int) -> None:
        super().__init__(num_observations)
        self.labels: NDArray[np.int32] = np.zeros(num_observations, np.int32)

    def adapt(self, likelihood: Any, partition: Partition) -> None:
        self.labels = partition.labels.copy()

    def draw(self, rng: np.random.Generator, count: int = 2) -> NDArray[np.int64]:
        if rng.random() < 0.5:
            first = int(rng.integers(self.num_observations))
            members = np.flatnonzero(self.labels == self.labels[first])
            partner = int(members[rng.integers(len(members))])
            if partner != first:
                return np.array([first, partner])
        return uniform_anchors(self.num_observations, 2, rng)

    def state(self) -> dict[str, NDArray[Any]]:
        return {"anchor_labels": self.labels}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        self.labels = state["anchor_labels"].astype(np.int32)


ANCHOR_PROPOSALS: dict[str, Callable[[int], AnchorProposal]] = {
    "uniform": UniformAnchors,
    "cluster": ClusterInformedAnchors,
    "threshold": ThresholdInformedAnchors,
    "balanced": BalancedAnchors,
}
