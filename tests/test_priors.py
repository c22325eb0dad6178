"""The Dirichlet process: a distribution over partitions, and the resampling of its concentration."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import cumulative_trapezoid
from scipy.special import gammaln

sys.path.insert(0, str(Path(__file__).parent / "exact"))
from enumeration import blocks_of, set_partitions

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.priors import DirichletProcess


@pytest.mark.parametrize("concentration", [1e-3, 0.7, 1.0, 25.0])
@pytest.mark.parametrize("T", [1, 2, 6])
def test_probabilities_of_all_partitions_sum_to_one(concentration: float, T: int) -> None:
    prior = DirichletProcess(concentration, None, None)
    log_tau1, log_tau2 = prior.log_tau1(T), prior.log_tau2(T)
    assert len(log_tau1) == len(log_tau2) == T + 1
    log_p = [
        log_tau1[labels.max() + 1]
        + sum(log_tau2[len(b)] for b in blocks_of(labels))
        + prior.log_normaliser(T)
        for labels in set_partitions(T)
    ]
    assert np.exp(log_p).sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("T", [1, 3, 5])
def test_a_partition_has_its_probability_in_a_chinese_restaurant(T: int) -> None:
    alpha = 0.7
    prior = DirichletProcess(alpha, None, None)
    for labels in set_partitions(T):
        log_p = prior.log_tau1(T)[labels.max() + 1] + prior.log_normaliser(T)
        log_p += sum(prior.log_tau2(T)[len(b)] for b in blocks_of(labels))
        seated = [np.sum(labels[:i] == labels[i]) or alpha for i in range(T)]
        assert log_p == pytest.approx(np.log(seated).sum() - np.log(alpha + np.arange(T)).sum(), abs=1e-12)


def test_the_density_of_the_concentration_is_in_the_normaliser() -> None:
    fixed, free = DirichletProcess(3.0, None, None), DirichletProcess(3.0, 2.0, 0.4)
    difference = free.log_normaliser(9) - fixed.log_normaliser(9)
    assert difference == pytest.approx(stats.gamma.logpdf(3.0, 2.0, scale=1 / 0.4))


@pytest.mark.parametrize(
    ("T", "num_blocks", "shape", "rate"),
    [(7, 1, 1.0, 0.1), (7, 7, 1.0, 0.1), (1000, 12, 1.0, 0.1), (40, 5, 3.0, 2.0), (20, 1, 0.5, 1.0)],
)
def test_resampling_leaves_the_concentration_given_the_blocks_as_it_is(
    T: int, num_blocks: int, shape: float, rate: float
) -> None:
    """Start from p(alpha | K, T) ∝ p(alpha) alpha^K Γ(alpha)/Γ(alpha + T), one step, still that."""
    log_alpha = np.linspace(np.log(1e-8), np.log(1e4), 200_001)
    alpha = np.exp(log_alpha)
    log_density = (shape + num_blocks) * log_alpha - rate * alpha + gammaln(alpha) - gammaln(alpha + T)
    cdf = cumulative_trapezoid(np.exp(log_density - log_density.max()), log_alpha, initial=0)
    cdf /= cdf[-1]

    rng = np.random.default_rng(T)
    before = np.exp(np.interp(rng.random(20_000), cdf, log_alpha))
    after = [
        DirichletProcess(start, shape, rate).resample(T, num_blocks, rng).concentration for start in before
    ]
    assert stats.kstest(np.interp(np.log(after), log_alpha, cdf), "uniform").pvalue > 1e-4
    assert stats.kstest(np.interp(np.log(before * 1.2), log_alpha, cdf), "uniform").pvalue < 1e-4


def test_a_fixed_concentration_stays() -> None:
    prior = DirichletProcess(2.0, None, None)
    assert prior.resample(10, 3, np.random.default_rng(0)) is prior


def test_resampling_keeps_the_gamma_prior() -> None:
    after = DirichletProcess(2.0, 3.0, 4.0).resample(10, 3, np.random.default_rng(0))
    assert (after.shape, after.rate) == (3.0, 4.0)
    assert after.concentration != 2.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0,), "the concentration must be positive, not 0.0"),
        ((np.inf,), "the concentration must be positive, not inf"),
        ((np.nan,), "the concentration must be positive, not nan"),
        ((1.0, 1.0, None), "needs both a shape and a rate"),
        ((1.0, None, 1.0), "needs both a shape and a rate"),
        ((1.0, -1.0, 1.0), "must be positive, not -1.0, 1.0"),
        ((1.0, 1.0, 0.0), "must be positive, not 1.0, 0.0"),
    ],
)
def test_what_is_no_prior(arguments: tuple, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        DirichletProcess(*arguments)
