"""The Metropolis-Hastings step for hyperparameters, on a model small enough to write down its target."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache
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
from pyclone_pgsm.samplers.hyperparameters import partition_log_likelihood, resample_hyperparameters

COUNTS = np.array([3.0, 1.0, 7.0, 12.0])
RATES = (0.1, 0.3, 1.0)
FORWARD = (0.8, 0.5, 0.2)  # probability of proposing the next rate (in a circle), else the one before


@cache
def likelihood_at(rate: float) -> Any:
    return plugin().from_data(COUNTS[:, None], 1.0, rate)


class AnyRate:
    """Poisson counts whose Gamma prior has a rate with p(rate) ∝ rate, proposed unsymmetrically."""

    hyperparameters: tuple[str, ...] = ("rate",)
    num_observations = 4
    order = np.arange(4)
    num_proposals = 1

    def initial_values(self) -> Values:
        return (RATES[0],)

    def likelihood(self, values: Values):  # type: ignore[no-untyped-def]
        return likelihood_at(values[0])

    def log_hyperprior(self, values: Values) -> float:
        return float(np.log(values[0]))

    def draw_given_parameters(self, values: Values, *arguments: Any) -> Values:
        return values

    def propose(self, values: Values, rng: np.random.Generator, independence: Any) -> tuple[Values, float]:
        here = RATES.index(values[0])
        forward = rng.random() < FORWARD[here]
        there = (here + (1 if forward else -1)) % 3
        q = FORWARD[here] if forward else 1 - FORWARD[here]
        q_back = 1 - FORWARD[there] if forward else FORWARD[there]
        return (RATES[there],), float(np.log(q_back / q))


@cache
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
        values, _, partition, _ = step(model, (RATES[here],), likelihood, start[here], (), rng, True)
        assert (partition.labels == labels).all()
        counts[RATES.index(values[0])] += 1
    return chi_square_p_value(counts, p)


def test_one_step_from_the_posterior_of_the_hyperparameters_is_that_posterior() -> None:
    assert p_value(AnyRate()) > 1e-4


def shift(values: Values, rng: np.random.Generator) -> Values:
    """A step of the simplest Metropolis algorithm."""
    there = RATES[(RATES.index(values[0]) + int(rng.integers(3))) % 3]
    log_ratio = np.log(there / values[0]) + log_likelihood(there) - log_likelihood(values[0])
    return (there,) if rng.random() < np.exp(min(log_ratio, 0.0)) else values


class AnyRateDrawn(AnyRate):
    """The rate is drawn by other means first."""

    def draw_given_parameters(self, values: Values, *arguments: Any) -> Values:
        likelihood, partition, _, rng, costly = arguments
        assert costly
        assert likelihood.rate == values[0]
        assert (partition.labels == [0, 0, 1, 1]).all()
        return shift(values, rng)


@pytest.mark.parametrize("num_proposals", [0, 1, 3])
def test_what_the_model_draws_itself(num_proposals: int) -> None:
    """The state that follows is that of the values drawn, and proposals start from there."""
    model = AnyRateDrawn()
    model.num_proposals = num_proposals
    assert p_value(model) > 1e-4


class AnyRateInTurn(AnyRate):
    """Only a costly update draws the rate."""

    num_proposals = 3

    def draw_given_parameters(self, values: Values, *arguments: Any) -> Values:
        _, _, _, rng, costly = arguments
        return shift(values, rng) if costly else values


@pytest.mark.parametrize("costly", [False, True])
def test_updates_that_are_not_costly_propose_nothing(costly: bool) -> None:
    model = AnyRateInTurn()
    likelihood = model.likelihood((RATES[0],))
    partition = compiled_for(build_partition, plugin())(likelihood, np.array([0, 0, 1, 1], np.int32))
    rng = np.random.default_rng(1)
    ends = {
        resample_hyperparameters(model, (RATES[0],), likelihood, partition, (), rng, costly).values[0]
        for _ in range(50)
    }
    assert ends == (set(RATES) if costly else {RATES[0]})


def changed_step(old: str, new: str) -> Callable[..., Any]:
    """The draw, with a text of its module replaced."""
    source = inspect.getsource(hyperparameters)
    assert source.count(old) == 1
    module: dict[str, Any] = {}
    exec(source.replace(old, new), module)
    step: Callable[..., Any] = module["resample_hyperparameters"]
    return step


@pytest.mark.parametrize(
    ("model", "sound", "faulty"),
    [
        (AnyRate, "current.log_density + log_q", "current.log_density"),
        (AnyRate, "current.log_density + log_q", "current.log_density - log_q"),
        (AnyRate, "proposed.log_density - current.log_density", "0.0"),
        (
            AnyRateDrawn,
            "current = _state_at(model, drawn, partition)",
            "current = evaluate(model, drawn, likelihood, partition)",
        ),
    ],
)
def test_a_fault_is_caught(model: type[AnyRate], sound: str, faulty: str) -> None:
    assert p_value(model(), changed_step(sound, faulty)) < 1e-10
