"""The state behind the moves: slots, labels, sizes and statistics always tell the same story."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from cases import Case, observations, poisson_gamma, pyclone
from enumeration import blocks_of
from one_step import tables

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.partition import (
    Partition,
    PartitionPrior,
    build_partition,
    canonical_labels,
    log_likelihood,
    log_prior,
    members_by_block,
)
from pyclone_pgsm.samplers.conditional_smc import sample_permutation
from pyclone_pgsm.samplers.gibbs import gibbs_sweep
from pyclone_pgsm.samplers.particle_blocks import make_block_pool
from pyclone_pgsm.samplers.particles import SMCSettings
from pyclone_pgsm.samplers.split_merge import split_merge

T = 40


def counts() -> Case:
    return poisson_gamma(np.random.default_rng(1).poisson(3, T).tolist(), 1.0)


def reads() -> Case:
    rng = np.random.default_rng(2)
    depth = rng.integers(5, 40, (T, 2))
    return pyclone(observations(rng.binomial(depth, 0.3), depth, has_data=rng.random((T, 2)) < 0.9), 1.0, 101)


def check(case: Case, partition: Partition) -> None:
    num_blocks = int(partition.counter[0])
    capacity = len(partition.sizes)
    assert sorted(partition.active) == list(range(capacity))
    np.testing.assert_array_equal(partition.active[partition.position], np.arange(capacity))
    np.testing.assert_array_equal(partition.sizes, np.bincount(partition.labels, minlength=capacity))
    assert set(partition.active[:num_blocks]) == set(partition.labels)
    kernel = compiled_for(log_likelihood, type(case.likelihood))
    expected = sum(case.log_marginal(block) for block in blocks_of(canonical(partition.labels).tolist()))
    assert kernel(case.likelihood, partition) + case.likelihood.log_constant() == pytest.approx(
        expected, abs=1e-8
    )


@pytest.mark.parametrize("make", [counts, reads])
@pytest.mark.parametrize("concentration", [0.05, 1.0, 1000.0])
@pytest.mark.parametrize("annealed", [True, False])
def test_moves_keep_the_state_consistent(make: Any, concentration: float, annealed: bool) -> None:
    """A huge concentration makes the arrays of slots grow, a small one empties them."""
    case = make()
    kind = type(case.likelihood)
    build, sweep, move = (compiled_for(f, kind) for f in (build_partition, gibbs_sweep, split_merge))
    prior = tables(concentration, T)
    pool = make_block_pool(15, case.likelihood.stat_size())
    rng = np.random.default_rng(3)
    partition = build(case.likelihood, np.zeros(T, np.int32))
    check(case, partition)
    seen = set()
    for iteration in range(60):
        if iteration % 10 == 9:
            partition, moved = sweep(case.likelihood, prior, partition, np.arange(T), rng)
            assert 0 <= moved <= T
        before = int(partition.counter[0])
        anchors = rng.choice(T, 2, replace=False)
        partition, num_before, num_after = move(
            case.likelihood, prior, partition, anchors, SMCSettings(15, 0.5, annealed, 0), pool, rng
        )
        assert partition.counter[0] - before == num_after - num_before
        check(case, partition)
        seen.add((num_before, num_after))
    assert concentration < 1 or seen >= {(1, 2), (2, 2)}


def test_a_partition_is_built_from_any_labels() -> None:
    case = counts()
    labels = np.array([7, 3, 7, 0] * 10, np.int32)
    partition = compiled_for(build_partition, type(case.likelihood))(case.likelihood, labels)
    check(case, partition)
    np.testing.assert_array_equal(partition.labels, np.array([0, 1, 0, 2] * 10))
    np.testing.assert_array_equal(labels[:4], [7, 3, 7, 0])


def test_labels_in_order_of_first_appearance() -> None:
    labels = np.array([4, 4, 2, 9, 2, 0], np.int32)
    numbered, num_blocks = canonical_labels(labels)
    np.testing.assert_array_equal(numbered, [0, 0, 1, 2, 1, 3])
    np.testing.assert_array_equal(canonical(labels), numbered)
    assert num_blocks == 4
    members, start = members_by_block(numbered, 4)
    assert [members[start[b] : start[b + 1]].tolist() for b in range(4)] == [[0, 1], [2, 4], [3], [5]]


def test_log_prior() -> None:
    case = counts()
    labels = np.array([0] * 30 + [1] * 9 + [2], np.int32)
    partition = compiled_for(build_partition, type(case.likelihood))(case.likelihood, labels)
    prior = PartitionPrior(np.arange(T + 1) * 0.1, np.arange(T + 1) ** 2.0)
    assert log_prior(prior, partition) == pytest.approx(0.3 + 30**2 + 9**2 + 1)


def test_the_order_of_a_closure_is_uniform_with_the_anchors_in_front() -> None:
    """Algorithm 2: 2 orders of the anchors times 3! of the others, all with the same probability."""
    rng = np.random.default_rng(4)
    closure = np.array([2, 5, 6, 8, 9])
    drawn = [tuple(sample_permutation(rng, np.array([8, 5]), closure).tolist()) for _ in range(12_000)]
    orders, frequency = np.unique(drawn, axis=0, return_counts=True)
    assert len(orders) == 12
    assert all(set(order[:2]) == {5, 8} and set(order[2:]) == {2, 6, 9} for order in orders.tolist())
    assert abs(frequency - 1000).max() < 5 * np.sqrt(1000)
