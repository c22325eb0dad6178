"""The Metropolis-Hastings step for hyperparameters, on a model small enough to write down its target."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from cases import plugin
from enumeration import chi_square_p_value, poisson_gamma_log_marginal

from pyclone_pgsm.compiling import compiled_for
from pyclone_pgsm.likelihoods.model import Values
from pyclone_pgsm.samplers.hyperparameters import partition_log_likelihood, resample_hyperparameters
from pyclone_pgsm.samplers.partition import build_partition

COUNTS = np.array([3.0, 1.0, 7.0, 12.0])
RATES = (0.1, 0.3, 1.0)
FORWARD = (0.8, 0.5, 0.2)  # probability of proposing the next rate (in a circle), else the one before


class AnyRate:
    """Poisson counts whose Gamma prior has a rate with p(rate) ∝ rate, proposed unsymmetrically."""

    hyperparameters: tuple[str, ...] = ("rate",)
    num_observations = 4
    order = np.arange(4)

    def initial_values(self) -> Values:
        return (RATES[0],)

    def likelihood(self, values: Values):  # type: ignore[no-untyped-def]
        return plugin().from_data(COUNTS[:, None], 1.0, values[0])

    def log_hyperprior(self, values: Values) -> float:
        return float(np.log(values[0]))

    def propose(self, values: Values, rng: np.random.Generator) -> tuple[Values, float]:
        here = RATES.index(values[0])
        forward = rng.random() < FORWARD[here]
        there = (here + (1 if forward else -1)) % 3
        q = FORWARD[here] if forward else 1 - FORWARD[here]
        q_back = 1 - FORWARD[there] if forward else FORWARD[there]
        return (RATES[there],), float(np.log(q_back / q))


def log_likelihood(rate: float) -> float:
    marginal = poisson_gamma_log_marginal(COUNTS, 1.0, rate)
    return marginal([0, 1]) + marginal([2, 3])


def test_the_log_likelihood_is_absolute() -> None:
    likelihood = AnyRate().likelihood((0.3,))
    build = compiled_for(build_partition, type(likelihood))
    partition = build(likelihood, np.array([0, 0, 1, 1], np.int32))
    assert partition_log_likelihood(likelihood, partition) == pytest.approx(log_likelihood(0.3), abs=1e-10)


def test_one_step_from_the_posterior_of_the_hyperparameters_is_that_posterior() -> None:
    log_p = np.array([np.log(rate) + log_likelihood(rate) for rate in RATES])
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    assert p.min() > 0.03
    model, rng = AnyRate(), np.random.default_rng(1)
    build = compiled_for(build_partition, plugin())
    start = [build(model.likelihood((rate,)), np.array([0, 0, 1, 1], np.int32)) for rate in RATES]
    counts = np.zeros(3, np.int64)
    for here in rng.choice(3, 10_000, p=p):
        likelihood = model.likelihood((RATES[here],))
        values, _, partition = resample_hyperparameters(model, (RATES[here],), likelihood, start[here], rng)
        counts[RATES.index(values[0])] += 1
    assert chi_square_p_value(counts, p) > 1e-4
    assert (partition.labels == start[0].labels).all()
