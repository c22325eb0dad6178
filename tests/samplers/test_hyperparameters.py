"""The Metropolis-Hastings step for hyperparameters, on a model small enough to write down its target."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from cases import plugin
from enumeration import chi_square_p_value, poisson_gamma_log_marginal

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.model import Values
from pyclone_pgsm.partition import build_partition
from pyclone_pgsm.samplers import hyperparameters
from pyclone_pgsm.samplers.hyperparameters import evaluate, partition_log_likelihood, resample_hyperparameters

COUNTS = np.array([3.0, 1.0, 7.0, 12.0])
RATES = (0.1, 0.3, 1.0)
FORWARD = (0.8, 0.5, 0.2)  # probability of proposing the next rate (in a circle), else the one before


class AnyRate:
    """Poisson counts whose Gamma prior has a rate with p(rate) ∝ rate, proposed unsymmetrically."""

    hyperparameters: tuple[str, ...] = ("rate",)
    num_observations = 4
    order = np.arange(4)
    has_estimates = False

    def initial_values(self) -> Values:
        return (RATES[0],)

    def likelihood(self, values: Values):  # type: ignore[no-untyped-def]
        return plugin().from_data(COUNTS[:, None], 1.0, values[0])

    def log_hyperprior(self, values: Values) -> float:
        return float(np.log(values[0]))

    def propose(self, values: Values, rng: np.random.Generator, independence: Any) -> tuple[Values, float]:
        here = RATES.index(values[0])
        forward = rng.random() < FORWARD[here]
        there = (here + (1 if forward else -1)) % 3
        q = FORWARD[here] if forward else 1 - FORWARD[here]
        q_back = 1 - FORWARD[there] if forward else FORWARD[there]
        return (RATES[there],), float(np.log(q_back / q))


class AnyRateEstimated(AnyRate):
    """Estimates of what a proposal changes, which are not even of opposite signs there and back."""

    has_estimates = True
    estimates = ((0.0, -1.0, 2.0), (0.5, 0.0, -1.5), (-0.7, np.inf, 0.0))

    def __init__(self) -> None:
        self.made: list[Values] = []

    def likelihood(self, values: Values):  # type: ignore[no-untyped-def]
        self.made.append(values)
        return super().likelihood(values)

    def estimate_change(self, values: Values, likelihood: Any, partition: Any, proposal: Values) -> float:
        assert (partition.labels == [0, 0, 1, 1]).all()
        assert likelihood.rate == values[0]
        return self.estimates[RATES.index(values[0])][RATES.index(proposal[0])]


def log_likelihood(rate: float) -> float:
    marginal = poisson_gamma_log_marginal(COUNTS, 1.0, rate)
    return marginal([0, 1]) + marginal([2, 3])


def test_the_log_likelihood_is_absolute() -> None:
    likelihood = AnyRate().likelihood((0.3,))
    build = compiled_for(build_partition, type(likelihood))
    partition = build(likelihood, np.array([0, 0, 1, 1], np.int32))
    assert partition_log_likelihood(likelihood, partition) == pytest.approx(log_likelihood(0.3), abs=1e-10)


def p_value(model: AnyRate, step: Callable[..., Any] = resample_hyperparameters) -> float:
    """Of the test that a step from the posterior of the rate is still the posterior."""
    log_p = np.array([np.log(rate) + log_likelihood(rate) for rate in RATES])
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    assert p.min() > 0.03
    rng = np.random.default_rng(1)
    build = compiled_for(build_partition, plugin())
    labels = np.array([0, 0, 1, 1], np.int32)
    start = [build(AnyRate().likelihood((rate,)), labels) for rate in RATES]
    counts = np.zeros(3, np.int64)
    for here in rng.choice(3, 10_000, p=p):
        likelihood = AnyRate().likelihood((RATES[here],))
        values, _, partition, _ = step(
            model, evaluate(model, (RATES[here],), likelihood, start[here]), (), rng
        )
        assert (partition.labels == labels).all()
        counts[RATES.index(values[0])] += 1
    return chi_square_p_value(counts, p)


def test_one_step_from_the_posterior_of_the_hyperparameters_is_that_posterior() -> None:
    assert p_value(AnyRate()) > 1e-4


def test_estimates_may_be_wrong() -> None:
    """They decide for which proposals a likelihood is made, not what is sampled."""
    model = AnyRateEstimated()
    assert p_value(model) > 1e-4
    assert 2000 < len(model.made) < 8000
    model.has_estimates = False
    model.made.clear()
    assert p_value(model) > 1e-4
    assert len(model.made) == 10_000


def changed_step(*changes: tuple[str, str]) -> Callable[..., Any]:
    """The step, with some texts of its module replaced."""
    source = inspect.getsource(hyperparameters)
    for old, new in changes:
        assert source.count(old) == 1
        source = source.replace(old, new)
    module: dict[str, Any] = {}
    exec(source, module)
    step: Callable[..., Any] = module["resample_hyperparameters"]
    return step


@pytest.mark.parametrize(
    ("sound", "faulty"),
    [
        ("log_ratio += log_passed_back - log_passed", "log_ratio += 0.0"),
        ("log_ratio += log_passed_back - log_passed", "log_ratio += log_passed_back"),
        ("partition, values) - log_q", "partition, values) + log_q"),
        ("partition, proposal) + log_q", "partition, proposal)"),
    ],
)
def test_a_fault_of_delayed_acceptance_is_caught(sound: str, faulty: str) -> None:
    assert p_value(AnyRateEstimated(), changed_step((sound, faulty))) < 1e-10


SOON_HOPELESS = ("HOPELESS = -5.0", "HOPELESS = -0.3")


def test_hopeless_proposals_may_pass_as_often_as_they_like() -> None:
    assert p_value(AnyRateEstimated(), changed_step(SOON_HOPELESS)) > 1e-4
    one_way = ("log_passed_back = _log_pass(", "log_passed_back = min(0.0, ")
    assert p_value(AnyRateEstimated(), changed_step(SOON_HOPELESS, one_way)) < 1e-10
