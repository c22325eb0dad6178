"""SAMS: the proposal's probability by another formula, and the state that a move leaves behind."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from moves import (
    COUNTS,
    Case,
    Move,
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
from pyclone_pgsm.samplers.sams import allocate_in_sequence, sams
from pyclone_pgsm.samplers.split_proposals import Workspace, make_workspace

SIGMA = np.array([7, 3, 11, 0, 9, 5])
LOG_TAU2 = tables(1.0).log_tau2


def split_of(sides: Any) -> Workspace:
    work = make_workspace(len(SIGMA))
    work.sigma[:] = SIGMA
    work.sides[:] = 0, 1, *sides
    work.slots[:] = 1, 2
    return work


def log_q(stats: NDArray[np.float64], sides: Any, least: float = -np.inf) -> float:
    rng = np.random.default_rng(1)
    work = split_of(sides)
    return allocate_in_sequence(counts().likelihood, LOG_TAU2, stats, len(SIGMA), False, least, work, rng)


def log_q_by_marginals(sides: Any) -> float:
    """prod of Γ(|b| + 1) L(b + i) / (Γ(|b|) L(b)), normalised at each step."""
    case = counts()
    blocks = [[SIGMA[0]], [SIGMA[1]]]
    total = 0.0
    for i, side in zip(SIGMA[2:], sides):
        log_join = [
            gammaln(len(b) + 1) - gammaln(len(b)) + case.log_marginal([*b, i]) - case.log_marginal(b)
            for b in blocks
        ]
        total += log_join[side] - np.logaddexp(*log_join)
        blocks[side].append(i)
    return float(total)


def sams_move(case: Case) -> Move:
    """Of anchors drawn without a look at the partition."""
    return compiled_for(sams, type(case.likelihood))


ALL_SIDES = list(itertools.product((0, 1), repeat=len(SIGMA) - 2))


def test_probabilities_of_all_splits() -> None:
    stats = np.empty((3, counts().likelihood.stat_size()))
    found = [log_q(stats, sides) for sides in ALL_SIDES]
    np.testing.assert_allclose(found, [log_q_by_marginals(sides) for sides in ALL_SIDES], atol=1e-10)
    np.testing.assert_allclose(np.exp(found).sum(), 1.0)


def test_a_path_that_is_too_unlikely_ends_early() -> None:
    """What is returned then is below the limit, as the whole path would be."""
    stats = np.empty((3, counts().likelihood.stat_size()))
    for sides in ALL_SIDES:
        exact = log_q(stats, sides)
        assert log_q(stats, sides, exact - 1e-9) == exact
        assert exact <= log_q(stats, sides, exact + 0.1) < exact + 0.1


def test_a_drawn_split_has_the_probability_that_it_reports() -> None:
    """Its sides, its blocks and its q belong together, and it is drawn as often as q says."""
    case, rng = counts(), np.random.default_rng(2)
    stats = np.empty((3, case.likelihood.stat_size()))
    drawn = np.zeros(16)
    log_qs = np.array([log_q_by_marginals(sides) for sides in ALL_SIDES])
    for _ in range(1500):
        split = split_of(np.zeros(4))
        found = allocate_in_sequence(case.likelihood, LOG_TAU2, stats, len(SIGMA), True, -np.inf, split, rng)
        number = ALL_SIDES.index(tuple(split.sides[2:].tolist()))
        drawn[number] += 1
        assert found == pytest.approx(log_qs[number], abs=1e-10)
        for side in range(2):
            members = SIGMA[split.sides == side]
            assert split.sizes[side] == len(members)
            make_block(case, stats[0], members)
            np.testing.assert_allclose(stats[side + 1], stats[0])
    expected = 1500 * np.exp(log_qs)
    assert (abs(drawn - expected) < 5 * np.sqrt(expected) + 1).all()


@pytest.mark.parametrize("make", [counts, reads])
@pytest.mark.parametrize("concentration", [0.05, 1.0, 1000.0])
def test_moves_keep_the_state_consistent(make: Any, concentration: float) -> None:
    case = make()
    seen = check_moves(case, sams_move(case), tables(concentration), 200)
    assert (
        seen
        >= {0.05: {(1, 1)}, 1.0: {(1, 1), (1, 2), (2, 1), (2, 2)}, 1000.0: {(1, 2), (2, 2)}}[concentration]
    )


@pytest.mark.parametrize("most", [1, 2, 5])
def test_never_more_blocks_than_the_prior_allows(most: int) -> None:
    case = counts()
    check_limit(case, sams_move(case), most)


def test_two_observations_that_are_all_of_their_blocks() -> None:
    """n = 2: nothing but the anchors, q = 1."""
    case = counts()
    pair = np.argsort(COUNTS)[[0, 25]]
    labels = np.full(T, 2, np.int32)
    labels[pair] = 0, 1
    move, rng = sams_move(case), np.random.default_rng(6)
    seen = [move(case.likelihood, tables(1.0), build(case, labels), pair, rng)[2] for _ in range(2000)]
    expected = np.exp(case.log_marginal(pair) - case.log_marginal(pair[:1]) - case.log_marginal(pair[1:]))
    assert 0.1 < expected < 0.9
    assert abs(seen.count(1) / 2000 - expected) < 5 * np.sqrt(expected * (1 - expected) / 2000)


def test_the_same_in_pure_python() -> None:
    check_pure_python(__file__, sams)


if __name__ == "__main__":
    print(json.dumps(labels_of_a_chain("counts", sams)))
