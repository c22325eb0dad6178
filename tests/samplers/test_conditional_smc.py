"""Parts of the particle kernel. (That the move is exact: tests/exact.)"""

from __future__ import annotations

import numpy as np
import pytest
from moves import T, counts

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.partition import PartitionPrior, build_partition
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.samplers.conditional_smc import log_add, trace_path
from pyclone_pgsm.samplers.particle_blocks import make_block_pool
from pyclone_pgsm.samplers.particles import SMCSettings
from pyclone_pgsm.samplers.resampling import SCHEMES
from pyclone_pgsm.samplers.split_merge import split_merge


@pytest.mark.parametrize(
    ("chosen", "sides"), [(1, [0, 1, 0, 0, 0, 1]), (2, [0, 1, 1, 1, 0, 1]), (0, [0] * 6)]
)
def test_a_path_is_traced_back(chosen: int, sides: list[int]) -> None:
    """Particle p of step t descends from p // 2 of the step before, and so on; the last bit is the choice."""
    sigma = np.array([4, 2, 0, 5, 1, 3])
    parents_and_choices = {
        2: {1: (1, 0), 2: (1, 1)},
        3: {1: (2, 1), 2: (1, 0)},
        4: {1: (2, 0), 2: (1, 0)},
        5: {1: (1, 1), 2: (2, 1)},
    }
    ancestry = np.zeros((6, 3), np.int16)
    for step, particles in parents_and_choices.items():
        for number, (parent, choice) in particles.items():
            ancestry[step, number] = 2 * parent + choice
    path = trace_path(sigma, ancestry, chosen)
    assert path.sides.tolist() == sides


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
        settings = SMCSettings(5, 0.5, True, SCHEMES.index(scheme))
        rng = np.random.default_rng(0)
        with pytest.raises(ValueError, match="one_merged"):
            move(likelihood, tables, partition, np.array([0, 1]), settings, None, pool, rng)
