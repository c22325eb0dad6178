"""Predictive densities against ratios of marginal likelihoods and of the prior's probabilities of partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.bernoulli import Bernoulli
from pyclone_pgsm.likelihoods.model import FixedModel
from pyclone_pgsm.likelihoods.normal import Normal
from pyclone_pgsm.partition import build_partition, log_likelihood
from pyclone_pgsm.posterior import predictive
from pyclone_pgsm.posterior.predictive import Predictive, cluster_probabilities, log_join_weights
from pyclone_pgsm.priors import CustomPrior, DirichletProcess, FiniteDirichlet, PitmanYor, Prior

RNG = np.random.default_rng(2)
POINTS = RNG.normal(size=(6, 2))
NEW = np.array([[0.3, -0.2], [4.0, 1.0], [-1.0, 0.5]])
BITS = (RNG.random((6, 3)) < 0.4).astype(float)
NEW_BITS = np.array([[0.0, 0, 0], [1, 0, 1], [1, 1, 1]])
CASES = {
    "normal": (Normal, {"S0": [[1.0, 0.3], [0.3, 2.0]], "r0": 0.5}, POINTS, NEW),
    "bernoulli": (Bernoulli, {"a0": 0.7}, BITS, NEW_BITS),
}
PARTITIONS = np.array([[0, 0, 0, 0, 0, 0], [0, 1, 0, 2, 1, 0], [0, 1, 2, 3, 4, 4]])
PRIORS: tuple[Prior, ...] = (DirichletProcess(0.7), PitmanYor(0.4, 0.3), FiniteDirichlet(5, 0.6))


def log_joint(kind: Any, parameters: dict[str, Any], data: np.ndarray, labels: np.ndarray) -> float:
    """log p(data | partition), constants included."""
    likelihood = kind.from_data(data, **parameters)
    partition = compiled_for(build_partition, kind)(likelihood, labels.astype(np.int32))
    return compiled_for(log_likelihood, kind)(likelihood, partition) + likelihood.log_constant()


def log_prior(prior: Prior, labels: np.ndarray) -> float:
    """log p(partition): the prior's own normaliser makes the probabilities sum to 1."""
    sizes, T = np.bincount(labels), len(labels)
    return float(prior.log_tau1(T)[len(sizes)] + prior.log_tau2(T)[sizes].sum() + prior.log_normaliser(T))


def larger(labels: np.ndarray, block: int) -> np.ndarray:
    return np.append(labels, block)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("labels", PARTITIONS)
def test_weights_are_ratios_of_the_probabilities_of_partitions(prior, labels):
    K = labels.max() + 1
    expected = [log_prior(prior, larger(labels, b)) - log_prior(prior, labels) for b in range(K + 1)]
    found = log_join_weights(prior, np.bincount(labels))
    np.testing.assert_allclose(np.exp(found), np.exp(expected), rtol=1e-10)
    if prior.name == "finite":
        assert (found[-1] == -np.inf) == (K == 5)


def predictive_of(likelihood) -> Predictive:
    """Of all partitions, the likelihood without hyperparameters."""
    return Predictive(FixedModel(likelihood, 6), [()] * len(PARTITIONS), PRIORS, PARTITIONS)


def test_weights_of_a_prior_without_a_normaliser_sum_to_one():
    prior = CustomPrior(lambda j: -1.0 * j**2, lambda n: 0.1 * n**1.5)
    assert np.exp(log_join_weights(prior, np.array([3, 2, 1]))).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("case", CASES)
def test_density_is_the_ratio_of_joint_densities(case, monkeypatch):
    """Of the data with and without the new observation, over all blocks that it may join."""
    kind, parameters, data, new = CASES[case]
    total = np.full(len(new), -np.inf)
    for prior, labels in zip(PRIORS, PARTITIONS):
        before = log_prior(prior, labels) + log_joint(kind, parameters, data, labels)
        for n, point in enumerate(new):
            after = [
                log_prior(prior, larger(labels, b))
                + log_joint(kind, parameters, np.vstack([data, point]), larger(labels, b))
                for b in range(labels.max() + 2)
            ]
            total[n] = np.logaddexp(total[n], logsumexp(after) - before)
    expected = total - np.log(3)
    posterior = predictive_of(kind.from_data(data, **parameters))
    np.testing.assert_allclose(posterior.log_density(new), expected, rtol=1e-9)
    monkeypatch.setattr(predictive, "CELLS", 10)
    np.testing.assert_array_equal(posterior.log_density(np.tile(new, (5, 1)))[:3], posterior.log_density(new))
    assert posterior.log_density(new[:0]).shape == (0,)


def test_density_integrates_to_one():
    posterior = predictive_of(Normal.from_data(POINTS[:, :1], r0=0.5))
    grid = np.sinh(np.linspace(-9, 9, 4001))
    density = np.exp(posterior.log_density(grid[:, None]))
    assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-4)
    bits = np.array([[a, b, c] for a in (0.0, 1) for b in (0, 1) for c in (0, 1)])
    total = predictive_of(Bernoulli.from_data(BITS)).log_density(bits)
    assert np.exp(total).sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_cluster_probabilities_are_bayes(case):
    kind, parameters, data, new = CASES[case]
    labels, prior = np.array([1, 0, 1, 2, 0, 1]), PitmanYor(0.4, 0.3)
    found = cluster_probabilities(kind.from_data(data, **parameters), prior, labels, new)
    for point, probabilities in zip(new, found):
        after = [
            log_prior(prior, larger(labels, b))
            + log_joint(kind, parameters, np.vstack([data, point]), larger(labels, b))
            for b in range(3)
        ]
        np.testing.assert_allclose(probabilities, np.exp(after - logsumexp(after)), rtol=1e-9)


def test_cluster_probabilities_need_no_room_for_a_new_cluster():
    """A consensus may have as many clusters as the prior allows, or more."""
    likelihood = Normal.from_data(POINTS)
    found = cluster_probabilities(likelihood, FiniteDirichlet(2), np.arange(6), NEW)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_likelihood_without_predictive_density():
    with pytest.raises(
        UsageError, match="need a method log_predictive_new, which the likelihood tuple does not have"
    ):
        predictive_of(()).log_density(NEW)
