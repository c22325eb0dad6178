"""Every prior with the kernels that chains are made of: start from the posterior, one step, still the posterior.

The prior probability of a partition comes from its seating, not from the tables that the kernels read.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from cases import CASES
from enumeration import Posterior, enumerate_posterior
from one_step import Kernel, p_value
from scipy.special import gammaln
from seating import seating_probability

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.partition import PartitionPrior, build_partition
from pyclone_pgsm.priors import REGISTRY, CustomPrior, DirichletProcess, FiniteDirichlet, PitmanYor, Prior
from pyclone_pgsm.samplers.gibbs import gibbs_sweep
from pyclone_pgsm.samplers.particle_blocks import make_block_pool
from pyclone_pgsm.samplers.particles import SMCSettings
from pyclone_pgsm.samplers.resampling import SCHEMES
from pyclone_pgsm.samplers.split_merge import split_merge

REPLICATES = 100_000

PRIORS: dict[str, Prior] = {
    "dp": DirichletProcess(0.8, None, None),
    "pitman-yor": PitmanYor(0.5, 0.4, None, None, infer_discount=False),
    "pitman-yor, alpha negative": PitmanYor(-0.2, 0.6, None, None, infer_discount=False),
    "finite of 2": FiniteDirichlet(2, 1.5, None, None),
    "finite of 3": FiniteDirichlet(3, 0.6, None, None),
    "finite of 50": FiniteDirichlet(50, 0.02, None, None),
    # at most four blocks, and rather of even sizes: no formula of the others gives that
    "custom": CustomPrior(lambda j: np.where(j <= 4, -0.3 * j**2, -np.inf), lambda n: 0.2 * n + (n % 2 == 0)),
}


def test_every_prior_is_here() -> None:
    assert {prior.name for prior in PRIORS.values()} == set(REGISTRY)


GIBBS = Kernel(sweeps=1)
KERNELS = [
    GIBBS,
    Kernel(moves=2, particles=10, threshold=1.0),
    Kernel(moves=1, particles=20, threshold=0.5, annealed=False),
    Kernel(moves=1, particles=3, threshold=0.0, cluster_informed=True),
]
# With partitions that are impossible: every way to resample, and none.
OF_LIMITED = [
    Kernel(moves=1, particles=5, threshold=threshold, annealed=annealed, scheme=scheme)
    for scheme, threshold, annealed in (
        ("stratified", 1.0, True),
        ("systematic", 0.5, False),
        ("optimal", 0.5, True),
        ("both-kinds", 1.0, True),
        ("both-kinds", 0.0, False),
    )
]


def log_prior_probability(name: str, labels: np.ndarray) -> float:
    prior = PRIORS[name]
    if isinstance(prior, CustomPrior):
        sizes = np.bincount(labels)
        return sum(0.2 * n + (n % 2 == 0) for n in sizes) - (
            0.3 * len(sizes) ** 2 if len(sizes) < 5 else np.inf
        )
    p = seating_probability(prior, labels)
    return np.log(p) if p > 0 else -np.inf


@cache
def posterior_under(name: str, case_name: str = "counts") -> Posterior:
    case = CASES[case_name]()
    given_dp = enumerate_posterior(case.num_observations, case.log_marginal, 1.0)
    log_joint = [
        log_p
        - np.log(seating_probability(DirichletProcess(1.0), labels))
        + log_prior_probability(name, labels)
        for labels, log_p in zip(given_dp.partitions, given_dp.log_joint)
    ]
    return Posterior(given_dp.partitions, np.array(log_joint))


def p_value_of(name: str, kernel: Kernel, prior: Prior | None = None, case_name: str = "counts") -> float:
    """Of the kernel with a prior, the posterior's own if not given."""
    case = CASES[case_name]()
    prior = prior or PRIORS[name]
    return p_value(case.likelihood, posterior_under(name, case_name), np.nan, kernel, REPLICATES, prior=prior)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("name", PRIORS)
def test_one_step_from_the_posterior_is_the_posterior(name: str, kernel: Kernel) -> None:
    assert p_value_of(name, kernel) > 1e-4


@pytest.mark.parametrize("kernel", OF_LIMITED, ids=str)
@pytest.mark.parametrize("name", ["finite of 2", "custom"])
def test_impossible_partitions_do_not_disturb_the_resampling(name: str, kernel: Kernel) -> None:
    assert p_value_of(name, kernel) > 1e-4


@pytest.mark.parametrize("case_name", ["counts_of_two", "counts_of_three"])
@pytest.mark.parametrize("name", ["pitman-yor, alpha negative", "finite of 2"])
def test_the_smallest_data(name: str, case_name: str) -> None:
    for kernel in (GIBBS, Kernel(moves=1, particles=2), Kernel(moves=1, particles=3, annealed=False)):
        assert p_value_of(name, kernel, case_name=case_name) > 1e-4


@pytest.mark.parametrize("name", PRIORS)
def test_the_posterior_is_spread_out(name: str) -> None:
    assert posterior_under(name).probabilities.max() < 0.6


# The forms that the paper prints, without factors that depend on the number of blocks: other priors.
PRINTED: dict[str, Prior] = {
    "pitman-yor": CustomPrior(lambda j: np.cumsum(np.log(0.5 + 0.4 * (j - 1))), lambda n: gammaln(n - 0.4)),
    "finite of 3": CustomPrior(lambda j: np.where(j <= 3, 0.0, -np.inf), lambda n: gammaln(n + 0.6)),
}


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("name", PRINTED)
def test_another_prior_is_caught(name: str, kernel: Kernel) -> None:
    assert p_value_of(name, kernel, PRINTED[name]) < 1e-8


@pytest.mark.parametrize("scheme", SCHEMES)
def test_one_component_is_one_block(scheme: str) -> None:
    case = CASES["counts"]()
    prior = FiniteDirichlet(1)
    tables = PartitionPrior(prior.log_tau1(6), prior.log_tau2(6))
    build, sweep, move = (
        compiled_for(f, type(case.likelihood)) for f in (build_partition, gibbs_sweep, split_merge)
    )
    rng = np.random.default_rng(1)
    partition = build(case.likelihood, np.zeros(6, np.int32))
    stat = partition.stats[partition.labels[0]].copy()
    pool = make_block_pool(5, case.likelihood.stat_size())
    for threshold in (0.0, 0.5, 1.0):
        for annealed in (True, False):
            for _ in range(20):
                partition, _ = sweep(case.likelihood, tables, partition, np.arange(6), rng)
                anchors = rng.choice(6, 2, replace=False)
                partition, before, after = move(
                    case.likelihood, tables, partition, anchors,
                    SMCSettings(5, threshold, annealed, SCHEMES.index(scheme)), pool, rng,
                )  # fmt: skip
                assert (before, after, partition.counter[0]) == (1, 1, 1)
    np.testing.assert_allclose(partition.stats[partition.labels[0]], stat)
