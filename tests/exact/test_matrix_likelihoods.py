"""Normal and Bernoulli: start from the enumerated posterior, one kernel step, still the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from enumeration import Posterior, enumerate_posterior
from one_step import Kernel, p_value
from scipy.special import betaln
from scipy.stats import multivariate_t

from pyclone_pgsm.likelihoods.bernoulli import Bernoulli
from pyclone_pgsm.likelihoods.normal import Normal

T = 5
REPLICATES = 100_000


@dataclass(frozen=True)
class MatrixCase:
    likelihood: Any
    concentration: float
    posterior: Posterior


def normal(D: int) -> MatrixCase:
    """L(y_b) as the product of scipy's Student-t predictives."""
    rng = np.random.default_rng(D)
    y = rng.normal(size=(T, D)) + 2.5 * (np.arange(T) % 2)[:, None]
    nu0, r0, u0, S0 = D + 1.5, 0.3, np.full(D, 0.5), 0.4 * np.eye(D) + 0.2

    def log_marginal(members: Sequence[int]) -> float:
        total, nu, r, u, S = 0.0, nu0, r0, u0, S0
        for i in members:
            freedom = nu - D + 1
            total += multivariate_t.logpdf(y[i], u, S * (r + 1) / (r * freedom), df=freedom)
            S = S + r / (r + 1) * np.outer(y[i] - u, y[i] - u)
            nu, r, u = nu + 1, r + 1, (r * u + y[i]) / (r + 1)
        return total

    likelihood = Normal.from_data(y, nu0, r0, u0, S0)
    return MatrixCase(likelihood, 1.0, enumerate_posterior(T, log_marginal, 1.0))


def bernoulli() -> MatrixCase:
    x = np.array([[1, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1]], float)
    a0, b0 = np.array([0.5, 0.5, 1.0, 0.2]), 0.6

    def log_marginal(members: Sequence[int]) -> float:
        ones = x[members].sum(axis=0)
        return float((betaln(a0 + ones, b0 + len(members) - ones) - betaln(a0, b0)).sum())

    return MatrixCase(Bernoulli.from_data(x, a0, b0), 1.0, enumerate_posterior(T, log_marginal, 1.0))


CASES = {
    "line": cache(lambda: normal(1)),
    "plane": cache(lambda: normal(2)),
    "space": cache(lambda: normal(3)),
    "bernoulli": cache(bernoulli),
}
GIBBS = Kernel(sweeps=1)
PGSM = Kernel(moves=1, particles=20)
KERNELS = {
    "line": [GIBBS, Kernel(moves=1, particles=3, threshold=1.0, annealed=False)],
    "plane": [GIBBS, PGSM, Kernel(sweeps=1, moves=1, particles=3, threshold=1.0, cluster_informed=True)],
    "space": [GIBBS, Kernel(moves=1, particles=3, threshold=0.5, cluster_informed=True)],
    "bernoulli": [GIBBS, PGSM, Kernel(sweeps=1, moves=1, particles=3, annealed=False, cluster_informed=True)],
}


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        pytest.param(name, kernel, id=f"{name}-{kernel}")
        for name, kernels in KERNELS.items()
        for kernel in kernels
    ],
)
def test_one_step_from_the_posterior_is_the_posterior(name: str, kernel: Kernel) -> None:
    case = CASES[name]()
    assert p_value(case.likelihood, case.posterior, case.concentration, kernel, REPLICATES) > 1e-4


@pytest.mark.parametrize("name", CASES)
def test_the_posterior_is_spread_out(name: str) -> None:
    """Or else the test above would say little."""
    assert CASES[name]().posterior.probabilities.max() < 0.6
