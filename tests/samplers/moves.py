"""What the tests of the split-merge moves that propose and accept share."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from cases import Case, observations, poisson_gamma, pyclone
from enumeration import blocks_of
from numpy.typing import NDArray
from plain_python import answers_of_plain_python
from scipy.special import gammaln

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.partition import Partition, PartitionPrior, build_partition, log_likelihood

T = 40

COUNTS = np.random.default_rng(1).poisson(3, T)

Move = Callable[..., tuple[Partition, int, int]]


@cache
def counts() -> Case:
    return poisson_gamma(COUNTS.tolist(), 1.0)


@cache
def reads() -> Case:
    rng = np.random.default_rng(2)
    depth = rng.integers(5, 40, (T, 2))
    return pyclone(observations(rng.binomial(depth, 0.3), depth, has_data=rng.random((T, 2)) < 0.9), 1.0, 101)


def tables(concentration: float, max_blocks: int = T) -> PartitionPrior:
    """A Dirichlet process, cut off above some number of blocks."""
    j = np.arange(T + 1)
    log_tau1 = np.where(j <= max_blocks, j * np.log(concentration), -np.inf)
    return PartitionPrior(log_tau1, gammaln(np.maximum(j, 1)))


def check(case: Case, partition: Partition) -> None:
    """Slots, labels, sizes and statistics tell the same story."""
    num_blocks = int(partition.counter[0])
    capacity = len(partition.sizes)
    assert sorted(partition.active) == list(range(capacity))
    np.testing.assert_array_equal(partition.active[partition.position], np.arange(capacity))
    np.testing.assert_array_equal(partition.sizes, np.bincount(partition.labels, minlength=capacity))
    assert set(partition.active[:num_blocks]) == set(partition.labels)
    kernel = compiled_for(log_likelihood, type(case.likelihood))
    expected = sum(case.log_marginal(block) for block in blocks_of(canonical(partition.labels).tolist()))
    found = kernel(case.likelihood, partition) + case.likelihood.log_constant()
    np.testing.assert_allclose(found, expected, atol=1e-8)


def build(case: Case, labels: NDArray[np.int32]) -> Partition:
    return compiled_for(build_partition, type(case.likelihood))(case.likelihood, labels)


def make_block(case: Case, stat: NDArray[np.float64], members: NDArray[np.int64]) -> None:
    """The statistic of a block."""
    case.likelihood.clear(stat)
    case.likelihood.add_many(stat, members)


def snapshot(partition: Partition) -> list[Any]:
    """All of a state, bit by bit, but what is in free slots, and their number."""
    used = np.sort(partition.active[: partition.counter[0]])
    return [
        partition.labels.tolist(),
        used.tolist(),
        partition.sizes[used].tolist(),
        partition.stats[used].tobytes(),
    ]


def check_moves(case: Case, move: Move, prior: PartitionPrior, count: int) -> set[tuple[int, int]]:
    """Move `count` times from a single cluster; the numbers of blocks before and after that were seen."""
    rng = np.random.default_rng(3)
    partition = build(case, np.zeros(T, np.int32))
    seen = set()
    for _ in range(count):
        before, labels = int(partition.counter[0]), partition.labels.copy()
        state = snapshot(partition)
        anchors = rng.choice(T, 2, replace=False)
        together = labels[anchors[0]] == labels[anchors[1]]
        partition, num_before, num_after = move(case.likelihood, prior, partition, anchors, rng)
        assert num_before == (1 if together else 2)
        assert partition.counter[0] - before == num_after - num_before
        if num_before == num_after:  # refused
            assert snapshot(partition) == state
        else:
            others = ~np.isin(labels, labels[anchors])
            np.testing.assert_array_equal(partition.labels[others], labels[others])
            first, second = partition.labels[anchors]
            assert (first == second) == (num_after == 1)
        check(case, partition)
        seen.add((num_before, num_after))
    return seen


def check_limit(case: Case, move: Move, most: int) -> None:
    """Never more blocks than the prior allows; and from more than that, never one more but soon fewer."""
    rng = np.random.default_rng(4)
    prior = tables(50.0, most)
    with np.errstate(invalid="raise"):
        for first_labels in (np.zeros(T, np.int32), np.arange(T, dtype=np.int32)):
            partition = build(case, first_labels)
            num_blocks = [int(partition.counter[0])]
            for _ in range(600):
                anchors = rng.choice(T, 2, replace=False)
                partition, _, _ = move(case.likelihood, prior, partition, anchors, rng)
                num_blocks.append(int(partition.counter[0]))
            assert all(k <= max(before, most) for before, k in pairwise(num_blocks))
            assert max(num_blocks[500:]) == most
            check(case, partition)


def labels_of_a_chain(name: str, move: Move) -> list[list[int]]:
    """For :func:`pure_python`: a chain's labels on counts or reads."""
    case = {"counts": counts, "reads": reads}[name]()
    compiled = compiled_for(move, type(case.likelihood))
    rng = np.random.default_rng(5)
    partition = build(case, np.arange(T, dtype=np.int32) % 3)
    chain = []
    for _ in range(40):
        anchors = rng.choice(T, 2, replace=False)
        arguments = (rng,) if move.__name__ == "sams" else (2, rng)
        partition, _, _ = compiled(case.likelihood, tables(1.0, 8), partition, anchors, *arguments)
        chain.append(canonical(partition.labels).tolist())
    return chain


def check_pure_python(script: str, move: Move) -> None:
    """Without numba's compiler the same draws and the same labels; `script` prints them."""
    compiled = labels_of_a_chain("counts", move)
    assert answers_of_plain_python(script) == compiled
    assert len(np.unique(compiled, axis=0)) > 3
