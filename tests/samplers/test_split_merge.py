"""Split-merge with any number of anchors, and every way to resample: the state stays consistent, and what must not
happen does not. (That the moves are exact: tests/exact/test_schemes.py.)"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from moves import T, build, check, counts, reads, snapshot, tables
from plain_python import answers_of_plain_python

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.partition import Partition, PartitionPrior
from pyclone_pgsm.samplers.conditional_smc import sample_permutation
from pyclone_pgsm.samplers.particle_blocks import make_block_pool
from pyclone_pgsm.samplers.particles import SMCSettings
from pyclone_pgsm.samplers.resampling import SCHEMES
from pyclone_pgsm.samplers.split_merge import path_of, split_merge

OF_MANY = [scheme for scheme in SCHEMES if scheme != "both-kinds"]


class Mover:
    """Moves of a case, with as many anchors as asked for."""

    def __init__(self, case: Any, scheme: str, annealed: bool = True, particles: int = 10) -> None:
        self.case = case
        self.scheme = scheme
        self.settings = SMCSettings(particles, 0.5, annealed, SCHEMES.index(scheme))
        self.pool = make_block_pool(particles, case.likelihood.stat_size(), 5)

    def __call__(
        self,
        prior: PartitionPrior,
        partition: Partition,
        anchors: np.ndarray,
        rng: np.random.Generator,
    ) -> tuple[Partition, int, int]:
        likelihood = self.case.likelihood
        kernel = compiled_for(split_merge, type(likelihood))
        return kernel(likelihood, prior, partition, anchors, self.settings, self.pool, rng)


@pytest.mark.parametrize("scheme", OF_MANY)
@pytest.mark.parametrize("num_anchors", [2, 3, 5])
def test_moves_keep_the_state_consistent(num_anchors: int, scheme: str) -> None:
    """And change nothing but the blocks that hold an anchor, each of which holds one afterwards."""
    case = counts()
    rng = np.random.default_rng(3)
    seen = set()
    for concentration in (0.05, 1.0, 200.0):
        move = Mover(case, scheme, annealed=concentration != 1.0)
        partition = build(case, np.arange(T, dtype=np.int32) % 4)
        for _ in range(25):
            before, labels = int(partition.counter[0]), partition.labels.copy()
            anchors = rng.choice(T, num_anchors, replace=False)
            partition, num_before, num_after = move(tables(concentration), partition, anchors, rng)
            assert num_before == len(set(labels[anchors]))
            assert num_after == len(set(partition.labels[anchors]))
            assert partition.counter[0] - before == num_after - num_before
            others = ~np.isin(labels, labels[anchors])
            np.testing.assert_array_equal(partition.labels[others], labels[others])
            assert set(partition.labels[~others]) == set(partition.labels[anchors])
            check(case, partition)
            seen.add((num_before, num_after))
    assert {(1, 1), (1, 2), (2, 1), (num_anchors, num_anchors)} <= seen


@pytest.mark.long
def test_on_reads() -> None:
    case = reads()
    rng = np.random.default_rng(3)
    move = Mover(case, "multinomial")
    partition = build(case, np.zeros(T, np.int32))
    for _ in range(20):
        partition, _, _ = move(tables(1.0), partition, rng.choice(T, 3, replace=False), rng)
        check(case, partition)
    assert partition.counter[0] > 1


def test_both_kinds_of_particles_are_for_two_anchors() -> None:
    case = counts()
    partition = build(case, np.zeros(T, np.int32))
    with pytest.raises(ValueError, match="both-kinds"):
        Mover(case, "both-kinds")(tables(1.0), partition, np.array([0, 1, 2]), np.random.default_rng(1))


@pytest.mark.parametrize("scheme", ["optimal", "both-kinds", "systematic"])
def test_two_anchors(scheme: str) -> None:
    case = counts()
    rng = np.random.default_rng(3)
    seen = set()
    for concentration in (0.05, 1.0, 200.0):
        for particles in (2, 7):
            move = Mover(case, scheme, annealed=concentration != 1.0, particles=particles)
            partition = build(case, np.zeros(T, np.int32))
            for _ in range(30):
                anchors = rng.choice(T, 2, replace=False)
                partition, *numbers = move(tables(concentration), partition, anchors, rng)
                check(case, partition)
                seen.add(tuple(numbers))
    assert seen == {(1, 1), (1, 2), (2, 1), (2, 2)}


@pytest.mark.parametrize(
    ("num_anchors", "scheme"), [*((2, scheme) for scheme in SCHEMES), *((3, scheme) for scheme in OF_MANY)]
)
@pytest.mark.filterwarnings("error")
def test_a_largest_number_of_blocks(num_anchors: int, scheme: str) -> None:
    """It is never exceeded, and from a start beyond it the blocks get fewer."""
    case = counts()
    rng = np.random.default_rng(4)
    prior = tables(50.0, max_blocks=5)
    move = Mover(case, scheme, annealed=num_anchors == 3)
    for first_labels in (np.zeros(T, np.int32), np.arange(T, dtype=np.int32)):
        partition = build(case, first_labels)
        most = 5 if first_labels.max() == 0 else T
        for _ in range(300):
            anchors = rng.choice(T, num_anchors, replace=False)
            partition, _, _ = move(prior, partition, anchors, rng)
            assert partition.counter[0] <= most
            most = max(int(partition.counter[0]), 5)
        check(case, partition)
        assert 3 <= partition.counter[0] <= 5


def test_with_all_blocks_in_use_three_anchors_still_move_and_two_do_not() -> None:
    """One block can be split where two others are merged in the same move (paper, Section 3.6)."""
    case = counts()
    prior = tables(50.0, max_blocks=3)
    labels = np.arange(T, dtype=np.int32) % 3
    rng = np.random.default_rng(5)
    move = Mover(case, "multinomial", particles=50)
    partition = build(case, labels)
    state = snapshot(partition)
    partition, *numbers = move(prior, partition, np.array([0, 3]), rng)
    assert numbers == [1, 1]
    assert snapshot(partition) == state
    blocks = set()
    for _ in range(50):
        partition = build(case, labels)
        partition, num_before, num_after = move(prior, partition, np.array([0, 3, 1]), rng)
        assert num_before == 2
        blocks.add((num_after, bool(partition.labels[0] == partition.labels[3])))
    assert (2, False) in blocks


def test_particles_that_are_all_merged_end_the_move() -> None:
    """Where nothing speaks for more than one block: the state is left as it is, bit by bit."""
    case = counts()
    rng = np.random.default_rng(6)
    prior = tables(1e-200)
    for scheme in OF_MANY:
        partition = build(case, np.zeros(T, np.int32))
        state = snapshot(partition)
        partition, *numbers = Mover(case, scheme, annealed=False)(prior, partition, np.array([3, 8, 1]), rng)
        assert numbers == [1, 1]
        assert snapshot(partition) == state


def test_the_order_of_a_closure_is_uniform_with_the_anchors_in_front() -> None:
    """Algorithm 2 for three anchors: 3! orders of the anchors times 4! of the others, all with the same probability."""
    rng = np.random.default_rng(4)
    labels = np.array([7, 2, 2, 0, 7, 2, 1, 2, 7], np.int32)  # blocks of 0 and 1; of slots 7 and 2
    closure = np.flatnonzero(labels > 1)
    drawn = []
    for _ in range(7_200):
        sigma = sample_permutation(rng, np.array([1, 8, 2]), closure)
        slots = np.array([2, 7] if sigma[0] != 8 else [7, 2])
        np.testing.assert_array_equal(slots[path_of(labels, sigma, 3).choices], labels[sigma])
        drawn.append(tuple(sigma.tolist()))
    orders, frequency = np.unique(drawn, axis=0, return_counts=True)
    assert len(orders) == 6 * 24
    assert all(set(order[:3]) == {1, 2, 8} for order in orders.tolist())
    assert all(set(order[3:]) == {0, 4, 5, 7} for order in orders.tolist())
    assert abs(frequency - 50).max() < 5 * np.sqrt(50)


def labels_of_chains() -> list[list[int]]:
    """A chain of 15 moves for each way to resample and 2, 3 and 4 anchors ("both-kinds": only 2)."""
    case = counts()
    chains = []
    for scheme in SCHEMES:
        for num_anchors in (2, 3, 4):
            if scheme == "both-kinds" and num_anchors > 2:
                continue
            rng = np.random.default_rng(5)
            partition = build(case, np.arange(T, dtype=np.int32) % 3)
            move = Mover(case, scheme, annealed=num_anchors != 3, particles=6)
            for _ in range(15):
                anchors = rng.choice(T, num_anchors, replace=False)
                partition, _, _ = move(tables(1.0, 8), partition, anchors, rng)
                chains.append(canonical(partition.labels).tolist())
    return chains


def test_compiled_and_pure_python_agree() -> None:
    assert answers_of_plain_python(__file__) == labels_of_chains()


if __name__ == "__main__":
    print(json.dumps(labels_of_chains()))
