"""Parts of the particle kernel. (That the move is exact: tests/exact.)"""

from __future__ import annotations

import numpy as np
import pytest
from moves import T, counts

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.partition import PartitionPrior, build_partition
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.samplers.particle_gibbs import (
    log_add,
    make_block_pool,
    members_along,
    split_merge,
)
from pyclone_pgsm.samplers.resampling import SCHEMES


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("t", [2, 3, 6])
def test_a_block_is_made_anew_along_its_path(t: int, which: int) -> None:
    """Particle p of step t descends from p // 2 of the step before, and so on; the last bit is the choice."""
    likelihood = counts().likelihood
    sigma = np.array([4, 2, 0, 5, 1, 3])
    parents_and_choices = {
        2: {1: (1, 0), 2: (1, 1)},
        3: {1: (2, 1), 2: (1, 0)},
        4: {1: (2, 0)},
        5: {1: (1, 1)},
    }
    ancestry = np.zeros((6, 3), np.int16)
    for step, particles in parents_and_choices.items():
        for number, (parent, choice) in particles.items():
            ancestry[step, number] = 2 * parent + choice
    sides = {2: [4, 2], 3: [4, 2, 0], 6: [4, 2, 0, 5, 1, 3]}[t]
    chosen = {2: [0, 1], 3: [0, 1, 1], 6: [0, 1, 0, 0, 0, 1]}[t]
    p = {2: 1, 3: 2, 6: 1}[t]
    expected = np.empty(likelihood.stat_size())
    likelihood.clear(expected)
    for i, side in zip(sides, chosen):
        if side == which:
            likelihood.add(expected, i)
    members = np.empty(6, np.int64)
    size = members_along(sigma, ancestry, t, p, which, members)
    assert sorted(members[:size]) == sorted(i for i, side in zip(sides, chosen) if side == which)


@pytest.mark.parametrize(
    ("a", "b"), [(0.0, 0.0), (-1.0, 3.0), (2.0, -800.0), (-800.0, 2.0), (-np.inf, 1.0), (1.0, -np.inf)]
)
def test_log_add(a: float, b: float) -> None:
    log_sum, share = log_add(a, b)
    assert log_sum == pytest.approx(np.logaddexp(a, b))
    assert share == pytest.approx(np.exp(a - np.logaddexp(a, b)))


def test_a_scheme_that_was_not_compiled_is_refused() -> None:
    likelihood = counts().likelihood
    prior = DirichletProcess()
    tables = PartitionPrior(prior.log_tau1(T), prior.log_tau2(T))
    partition = compiled_for(build_partition, type(likelihood))(likelihood, np.zeros(T, np.int32))
    move = compiled_for(split_merge, type(likelihood))
    pool = make_block_pool(5, likelihood.stat_size())
    for scheme in ("optimal", "both-kinds"):
        with pytest.raises(ValueError, match="one_merged"):
            move(
                likelihood, tables, partition, np.array([0, 1]), 5, 0.5, True, SCHEMES.index(scheme), None, pool,
                np.random.default_rng(0),
            )  # fmt: skip
