"""Metropolis-Hastings and Gibbs steps among the values of choices, on a density that is written down."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from pyclone_pgsm.likelihoods import choice as module
from pyclone_pgsm.likelihoods.choice import Choice, Visits, metropolis, propose

CHOICES = (
    Choice((1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 3.0, 1.0), 1.0, (1, 1, 2), 0.5),
    Choice((0.1, 0.2, 0.3), (5.0, 1.0, 1.0), 0.1, (1,), 0.2),
)
VALUES = list(itertools.product(*(choice.values for choice in CHOICES)))
LOG_P = np.random.default_rng(3).normal(scale=0.6, size=len(VALUES))
P = np.exp(LOG_P) / np.exp(LOG_P).sum()


def log_density(values: tuple[float, ...]) -> float:
    return float(LOG_P[VALUES.index(values)])


def p_value(step: Callable[..., Any], number: int = 8) -> float:
    """Of the test that after so many steps from the density the density is still that."""
    rng = np.random.default_rng(1)
    independence = Visits(CHOICES, np.array([9, 1, 1, 3, 1, 1, 30])).independence
    ends = [
        step(CHOICES, VALUES[here], log_density, independence, number, rng)
        for here in rng.choice(len(P), 20_000, p=P)
    ]
    return float(
        chisquare(np.bincount([VALUES.index(end) for end in ends], minlength=len(P)), P * 20_000).pvalue
    )


@pytest.mark.parametrize("number", [0, 1, 2, 8])
def test_steps_from_the_density(number: int) -> None:
    assert p_value(metropolis, number) > 1e-4


def test_many_steps_reach_the_density() -> None:
    rng = np.random.default_rng(2)
    independence = Visits(CHOICES).independence
    ends = [metropolis(CHOICES, VALUES[0], log_density, independence, 100, rng) for _ in range(5000)]
    assert (
        chisquare(np.bincount([VALUES.index(end) for end in ends], minlength=len(P)), P * 5000).pvalue > 1e-4
    )


def gibbs_steps(
    choices: Sequence[Choice],
    values: tuple[float, ...],
    log_density: Callable[[tuple[float, ...]], float],
    independence: object,
    number: int,
    rng: np.random.Generator,
) -> tuple[float, ...]:
    """Draw one choice after the other, given the others, from likelihoods that are the density without the prior."""
    for which in [*range(len(choices))] * number:
        choice = choices[which]
        log_likelihood = [
            log_density((*values[:which], value, *values[which + 1 :])) - choice.log_prior(value)
            for value in choice.values
        ]
        values = (*values[:which], choice.draw(np.array(log_likelihood), rng), *values[which + 1 :])
    return values


def test_draws_given_the_likelihood() -> None:
    assert p_value(gibbs_steps, 1) > 1e-4


def test_draws_without_the_prior_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(choice: Choice, log_likelihood: NDArray[np.float64], rng: np.random.Generator) -> float:
        p = np.exp(log_likelihood - log_likelihood.max())
        return float(rng.choice(choice.values, p=p / p.sum()))

    monkeypatch.setattr(Choice, "draw", faulty)
    assert p_value(gibbs_steps, 1) < 1e-10


def test_a_draw_of_certain_values() -> None:
    """However unlikely the others are."""
    log_likelihood = np.array([-5e3, -2e6, -1e6, -np.inf])
    assert CHOICES[0].draw(log_likelihood, np.random.default_rng(1)) == 1.0
    assert CHOICES[0].draw(log_likelihood[::-1], np.random.default_rng(1)) == 4.0


@pytest.mark.parametrize(
    ("sound", "faulty"),
    [
        ("log_p_there - log_p + log_q", "log_p_there - log_p"),
        ("log_p_there - log_p + log_q", "log_p_there - log_p - log_q"),
        ("values, log_p = proposal, log_p_there", "values = proposal"),
        ("log_p_there = log_density(proposal)", "log_p_there = log_density(values)"),
    ],
)
def test_a_fault_is_caught(sound: str, faulty: str) -> None:
    source = inspect.getsource(module)
    assert source.count(sound) == 1
    names: dict[str, Any] = {"__name__": module.__name__}
    exec(source.replace(sound, faulty), names)
    assert p_value(names["metropolis"]) < 1e-10


def test_one_choice_is_proposed_at_a_time() -> None:
    rng = np.random.default_rng(1)
    independence = Visits(CHOICES).independence
    start = (2.0, 0.2)
    changed = [np.array(propose(CHOICES, start, independence, rng)[0]) != start for _ in range(400)]
    assert np.sum(changed, axis=0).min() > 130
    assert np.sum(changed, axis=1).max() == 1
