"""Anchor proposals h(s): which pair of observations a split-merge move starts from (paper, Appendix C).

h must not look at the current partition. The informed proposal draws from a *reference* partition instead, which is
renewed only when the number of clusters breaks its record and only during burn-in; after that h is fixed and the
chain exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.compiling import compiled_for
from pyclone_pgsm.samplers.partition import Partition, copy_row, members_by_block

LARGEST_REFERENCE = 500  # blocks; the scores are a K x K matrix


def uniform_pair(num_observations: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Two different observations, uniformly."""
    first = int(rng.integers(num_observations))
    second = int(rng.integers(num_observations - 1))
    return np.array([first, second + (second >= first)])


class AnchorProposal(Protocol):
    """h(s), and what a chain needs to store of it."""

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Two different observations."""
        ...

    def adapt(self, likelihood: Any, partition: Partition) -> None:
        """Renew the reference if `partition` has more blocks than any before. Only during burn-in."""
        ...

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays from which :meth:`restore` makes the same proposal again."""
        ...

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Undo of :meth:`state`."""
        ...


class UniformAnchors:
    """Every pair has the same probability."""

    def __init__(self, num_observations: int) -> None:
        self.num_observations = num_observations

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        return uniform_pair(self.num_observations, rng)

    def adapt(self, likelihood: Any, partition: Partition) -> None:
        pass

    def state(self) -> dict[str, NDArray[Any]]:
        return {}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        pass


def merge_scores(likelihood, labels, num_blocks):  # type: ignore[no-untyped-def]
    """(K, K) log L(y_{b ∪ b'}) - log L(y_b) - log L(y_b') of every pair of blocks; labels are canonical."""
    members, start = members_by_block(labels, num_blocks)
    stats = np.empty((num_blocks + 1, likelihood.stat_size()))
    for b in range(num_blocks):
        likelihood.clear(stats[b])
        likelihood.add_many(stats[b], members[start[b] : start[b + 1]])
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


class ClusterInformedAnchors:
    """Algorithm 4 (CI): the second anchor from a block that would merge well with the first one's.

    The own block has the mean score of the others, so that its probability is 1/|c|.
    """

    def __init__(self, num_observations: int) -> None:
        self.num_observations = num_observations
        self.record = 0
        self.labels: NDArray[np.int32] = np.zeros(num_observations, np.int32)
        self.scores: NDArray[np.float64] = np.zeros((0, 0))

    def adapt(self, likelihood: Any, partition: Partition) -> None:
        num_blocks = int(partition.counter[0])
        if not self.record < num_blocks <= LARGEST_REFERENCE:
            return
        labels = np.unique(partition.labels, return_inverse=True)[1].astype(np.int32)
        scores = compiled_for(merge_scores, type(likelihood))(likelihood, labels, num_blocks)
        self._set(labels, scores)

    def _set(self, labels: NDArray[np.int32], scores: NDArray[np.float64]) -> None:
        self.labels = labels
        self.scores = scores
        self.record = num_blocks = len(scores)
        ends = np.cumsum(np.bincount(labels, minlength=num_blocks))
        self._members = np.split(np.argsort(labels, kind="stable"), ends[:-1])
        self._cumulative = np.ones((num_blocks, num_blocks))
        for b in range(num_blocks):
            others = np.delete(scores[b], b)
            if len(others) == 0:
                continue
            weights = np.insert(np.exp(others - others.max()), b, 0.0)
            weights[b] = weights.sum() / (num_blocks - 1)
            self._cumulative[b] = np.cumsum(weights / weights.sum())

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        if self.record == 0:
            return uniform_pair(self.num_observations, rng)
        first = int(rng.integers(self.num_observations))
        own = self.labels[first]
        block = int(np.searchsorted(self._cumulative[own], rng.random(), side="right"))
        block = min(block, self.record - 1)
        members = self._members[block]
        if block == own:
            members = members[members != first]
        if len(members) == 0:
            return uniform_pair(self.num_observations, rng)
        return np.array([first, members[rng.integers(len(members))]])

    def state(self) -> dict[str, NDArray[Any]]:
        return {"anchor_labels": self.labels, "anchor_scores": self.scores}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        if len(state["anchor_scores"]):
            self._set(state["anchor_labels"].astype(np.int32), state["anchor_scores"].astype(float))


ANCHOR_PROPOSALS: dict[str, Callable[[int], AnchorProposal]] = {
    "uniform": UniformAnchors,
    "cluster": ClusterInformedAnchors,
}
