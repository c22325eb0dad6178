"""Partition and inferred parameters of the Normal and of Bernoulli together, against all of their combinations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from enumeration import LogMarginal, enumerate_posterior
from numpy.typing import NDArray
from scipy.special import betaln, logsumexp
from scipy.stats import multivariate_t
from test_chains import ANY_CONCENTRATION, any_concentration, check_frequencies, run

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.likelihoods import choice
from pyclone_pgsm.likelihoods.bernoulli import Bernoulli
from pyclone_pgsm.likelihoods.choice import Choice
from pyclone_pgsm.likelihoods.inferred import InferredModel
from pyclone_pgsm.likelihoods.normal import Normal
from pyclone_pgsm.sampling.settings import Settings

POINTS = np.array([[-1.5, 0.2], [-1.1, 0.5], [1.4, 0.1], [1.2, -0.9]])
BITS = np.array([[1, 1, 0, 1, 1], [1, 1, 0, 0, 1], [0, 0, 1, 0, 0], [0, 1, 1, 0, 0]], float)
FIRST = Choice((0.2, 0.6, 1.5), (1.0, 3.0, 2.0), 0.6, (1, 2))
SECOND = Choice((0.6, 0.9), (2.0, 1.0), 0.9)
BURN_IN = 500


def normal_log_marginal(r0: float, scale: float) -> LogMarginal:
    """L(y_b) as the product of scipy's Student-t predictives."""
    mean, S0 = POINTS.mean(axis=0), scale * np.diag(POINTS.var(axis=0))

    def log_marginal(members: Sequence[int]) -> float:
        total, nu, r, u, S = 0.0, 4.0, r0, mean, S0
        for i in members:
            scatter = S * (r + 1) / (r * (nu - 1))
            total += multivariate_t.logpdf(POINTS[i], u, scatter, df=nu - 1)
            S = S + r / (r + 1) * np.outer(POINTS[i] - u, POINTS[i] - u)
            nu, r, u = nu + 1, r + 1, (r * u + POINTS[i]) / (r + 1)
        return total

    return log_marginal


def bernoulli_log_marginal(a0: float, b0: float) -> LogMarginal:
    def log_marginal(members: Sequence[int]) -> float:
        ones = BITS[members].sum(axis=0)
        return float((betaln(a0 + ones, b0 + len(members) - ones) - betaln(a0, b0)).sum())

    return log_marginal


@dataclass(frozen=True)
class Case:
    """A likelihood with two inferred parameters, the first and second in alphabetical order."""

    kind: Any
    data: NDArray[np.float64]
    names: tuple[str, str]
    log_marginal: Callable[[float, float], LogMarginal]


CASES = {
    "normal": Case(Normal, POINTS, ("r0", "scale"), normal_log_marginal),
    "bernoulli": Case(Bernoulli, BITS, ("a0", "b0"), bernoulli_log_marginal),
}


VALUES = list(itertools.product(FIRST.values, SECOND.values))


def enumerate_joint(case: Case) -> tuple[dict[bytes, int], NDArray[np.float64]]:
    """Numbers of the partitions, and the probabilities of all pairs of values and partition, pair by pair."""
    given = [any_concentration(enumerate_posterior(4, case.log_marginal(*pair), 1.0), 1.0) for pair in VALUES]
    prior = [FIRST.prior[FIRST.values.index(a)] * SECOND.prior[SECOND.values.index(b)] for a, b in VALUES]
    log_joint = np.concatenate([np.log(p) + posterior.log_joint for p, posterior in zip(prior, given)])
    places = {row.tobytes(): c for c, row in enumerate(given[0].partitions)}
    return places, np.exp(log_joint - logsumexp(log_joint))


def draw_joint(
    case: Case, places: dict[bytes, int], monkeypatch: pytest.MonkeyPatch, iterations: int = 8_000
) -> NDArray[np.int64]:
    """What a chain draws: numbers of pairs of values and partition."""
    choices = dict(zip(case.names, (FIRST, SECOND)))
    monkeypatch.setattr(case.kind, "choices", classmethod(lambda cls, data, **given: choices))
    model = InferredModel(case.kind.__name__, case.kind, case.data, dict.fromkeys(case.names, "infer"))
    settings = Settings(iterations=iterations, burn_in=BURN_IN, seed=4, particles=5)
    records = run(model, ANY_CONCENTRATION, settings)
    saved = zip(records.labels[BURN_IN:], records.values[BURN_IN:])
    return np.array([VALUES.index(pair) * len(places) + places[labels.tobytes()] for labels, pair in saved])


@pytest.mark.parametrize("name", CASES)
def test_a_chain_infers_partition_and_parameters(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    places, probabilities = enumerate_joint(CASES[name])
    assert probabilities.reshape(len(VALUES), -1).sum(axis=1).min() > 0.001  # every value is possible
    check_frequencies(draw_joint(CASES[name], places, monkeypatch), probabilities)


def without_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Normal, "log_constant", lambda self: 0.0)


def without_hyperprior(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InferredModel, "log_hyperprior", lambda self, values: 0.0)


def without_proposal_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Independence proposals are drawn from the prior, as what is learned of these data is nearly even."""
    monkeypatch.setattr(choice, "PRIOR_SHARE", 1.0)
    propose = InferredModel.propose
    monkeypatch.setattr(InferredModel, "propose", lambda *given: (propose(*given)[0], 0.0))


@pytest.mark.parametrize("break_it", [without_constant, without_hyperprior, without_proposal_ratio])
def test_planted_faults_are_caught(
    break_it: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    places, probabilities = enumerate_joint(CASES["normal"])
    break_it(monkeypatch)
    draws = draw_joint(CASES["normal"], places, monkeypatch, 20_000)
    with pytest.raises(AssertionError):
        check_frequencies(draws, probabilities)


def test_values_that_are_none_of_the_choices() -> None:
    model = InferredModel("normal", Normal, POINTS, {"scale": "infer"})
    with pytest.raises(UsageError, match=r"scale: 0\.3 is not among the values from which it is inferred"):
        model.likelihood((0.3,))
