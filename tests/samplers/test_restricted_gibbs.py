"""Restricted Gibbs: a scan's probabilities by another formula, and the state that a move leaves behind."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from moves import (
    COUNTS,
    T,
    build,
    check_limit,
    check_moves,
    check_pure_python,
    counts,
    labels_of_a_chain,
    make_block,
    reads,
    tables,
)
from numpy.typing import NDArray
from scipy.special import gammaln

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.partition import Partition, PartitionPrior
from pyclone_pgsm.samplers.restricted_gibbs import launch, restricted_gibbs, scan
from pyclone_pgsm.samplers.split_proposals import Workspace, make_workspace

SIGMA = np.array([7, 3, 11, 0, 9, 5])
LOG_TAU2 = tables(1.0).log_tau2
ALL_SIDES = list(itertools.product((0, 1), repeat=len(SIGMA) - 2))
START = (1, 1, 0, 1)


def split_of(sides: Any, stats: NDArray[np.float64]) -> Workspace:
    """With its blocks made."""
    split = make_workspace(len(SIGMA))
    split.sigma[:] = SIGMA
    split.sides[:] = 0, 1, *sides
    split.slots[:] = 1, 2
    for side in range(2):
        members = SIGMA[split.sides == side]
        split.sizes[side] = len(members)
        make_block(counts(), stats[side + 1], members)
    return split


def check_blocks(split: Workspace, stats: NDArray[np.float64]) -> None:
    expected = np.zeros_like(stats)
    again = split_of(split.sides[2:], expected)
    assert split.sizes.tolist() == again.sizes.tolist()
    np.testing.assert_allclose(stats[1:], expected[1:])


def log_q(wanted: Any, least: float = -np.inf) -> float:
    """Of the scan from START to what is wanted."""
    stats = np.zeros((3, counts().likelihood.stat_size()))
    split = split_of(START, stats)
    path = np.array([0, 1, *wanted], np.int8)
    found = scan(counts().likelihood, LOG_TAU2, stats, path, least, split, np.random.default_rng(1))
    if least == -np.inf:
        assert split.sides.tolist() == path.tolist()
        check_blocks(split, stats)
    return found


def log_q_by_marginals(wanted: Any, start: Any = START) -> float:
    case = counts()
    side_of = dict(zip(SIGMA.tolist(), (0, 1, *start)))
    total = 0.0
    for i, side in zip(SIGMA[2:].tolist(), wanted):
        blocks = [[j for j in side_of if side_of[j] == which and j != i] for which in range(2)]
        log_join = [
            gammaln(len(b) + 1) - gammaln(len(b)) + case.log_marginal([*b, i]) - case.log_marginal(b)
            for b in blocks
        ]
        total += log_join[side] - np.logaddexp(*log_join)
        side_of[i] = side
    return float(total)


def test_probabilities_of_all_that_a_scan_may_lead_to() -> None:
    found = [log_q(sides) for sides in ALL_SIDES]
    np.testing.assert_allclose(found, [log_q_by_marginals(sides) for sides in ALL_SIDES], atol=1e-10)
    np.testing.assert_allclose(np.exp(found).sum(), 1.0)


def test_a_path_that_is_too_unlikely_ends_early() -> None:
    """What is returned then is below the limit, as the whole path would be."""
    for sides in ALL_SIDES:
        exact = log_q(sides)
        assert log_q(sides, exact - 1e-9) == exact
        assert exact <= log_q(sides, exact + 0.1) < exact + 0.1


@pytest.mark.parametrize("scans", [0, 1, 2])
def test_launch_states_are_distributed_as_they_should(scans: int) -> None:
    """Uniform, and then the scans' transition matrix applied."""
    case, rng = counts(), np.random.default_rng(2)
    stats = np.zeros((3, case.likelihood.stat_size()))
    transition = np.exp([[log_q_by_marginals(to, start) for to in ALL_SIDES] for start in ALL_SIDES])
    expected = np.full(16, 1 / 16) @ np.linalg.matrix_power(transition, scans)
    drawn = np.zeros(16)
    for _ in range(1500):
        split = split_of(START, stats)
        launch(case.likelihood, LOG_TAU2, stats, len(SIGMA), scans, split, rng)
        drawn[ALL_SIDES.index(tuple(split.sides[2:].tolist()))] += 1
    check_blocks(split, stats)
    assert (abs(drawn - 1500 * expected) < 5 * np.sqrt(1500 * expected) + 1).all()


@pytest.mark.parametrize("make", [counts, reads])
@pytest.mark.parametrize(
    ("concentration", "scans", "seen"),
    [
        (0.05, 3, {(1, 1)}),
        (1.0, 0, {(1, 1), (2, 2)}),
        (1.0, 5, {(1, 1), (1, 2), (2, 1), (2, 2)}),
        (1000.0, 1, {(1, 2), (2, 2)}),
    ],
)
def test_moves_keep_the_state_consistent(
    make: Any, concentration: float, scans: int, seen: set[tuple[int, int]]
) -> None:
    case = make()
    assert check_moves(case, move_with(scans, type(case.likelihood)), tables(concentration), 150) >= seen


def move_with(scans: int, kind: type) -> Any:
    compiled = compiled_for(restricted_gibbs, kind)

    def move(
        likelihood: Any,
        prior: PartitionPrior,
        partition: Partition,
        anchors: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> tuple[Partition, int, int]:
        return compiled(likelihood, prior, partition, anchors, scans, rng)

    return move


@pytest.mark.parametrize("most", [1, 2, 5])
def test_never_more_blocks_than_the_prior_allows(most: int) -> None:
    case = counts()
    check_limit(case, move_with(2, type(case.likelihood)), most)


def test_two_observations_that_are_all_of_their_blocks() -> None:
    """n = 2: nothing but the anchors, q = 1."""
    case = counts()
    pair = np.argsort(COUNTS)[[0, 25]]
    labels = np.full(T, 2, np.int32)
    labels[pair] = 0, 1
    move, rng = move_with(1, type(case.likelihood)), np.random.default_rng(6)
    seen = [move(case.likelihood, tables(1.0), build(case, labels), pair, rng)[2] for _ in range(2000)]
    expected = np.exp(case.log_marginal(pair) - case.log_marginal(pair[:1]) - case.log_marginal(pair[1:]))
    assert 0.1 < expected < 0.9
    assert abs(seen.count(1) / 2000 - expected) < 5 * np.sqrt(expected * (1 - expected) / 2000)


def test_the_same_in_pure_python() -> None:
    check_pure_python(__file__, restricted_gibbs)


if __name__ == "__main__":
    print(json.dumps(labels_of_a_chain("counts", restricted_gibbs)))
