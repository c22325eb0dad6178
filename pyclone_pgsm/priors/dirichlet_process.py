"""The Dirichlet process (paper, Section 2.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.priors.common import (
    SMALLEST,
    check_concentration,
    check_gamma,
    log_gamma_density,
    log_product,
)
from pyclone_pgsm.priors.contract import Prior


@lru_cache(maxsize=2)
def _log_gammas(num_observations: int) -> NDArray[np.float64]:
    """Return 0, log Γ(1), .., log Γ(T), cached because every iteration of a chain needs it."""
    from scipy.special import gammaln

    return gammaln(np.maximum(np.arange(num_observations + 1), 1))


@dataclass(frozen=True)
class DirichletProcess(Prior):
    """Dirichlet process: log tau1(j) = j log alpha, log tau2(n) = log Gamma(n).

    Parameters
    ----------
    concentration : float
        alpha > 0, the value at the start of a chain.
    shape, rate : float or None
        Gamma prior of alpha; None keeps alpha fixed.

    Raises
    ------
    UsageError
        A value outside its range.
    """

    concentration: float = 1.0
    shape: float | None = 1.0
    rate: float | None = 1.0

    name: ClassVar[str] = "dp"
    is_consistent: ClassVar[bool] = True
    hyperparameters: ClassVar[tuple[str, ...]] = ("concentration",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "concentration", check_concentration(self.concentration))
        check_gamma(self.shape, self.rate)

    def log_tau1(self, num_observations: int) -> NDArray[np.float64]:
        return np.arange(num_observations + 1) * np.log(self.concentration)

    def log_tau2(self, num_observations: int) -> NDArray[np.float64]:
        return _log_gammas(num_observations).copy()

    def resample(self, sizes: NDArray[np.integer], rng: np.random.Generator) -> DirichletProcess:
        """Draw alpha given the number of blocks (Escobar & West 1995, Section 6).

        With eta ~ Beta(alpha + 1, T), alpha is a mixture of Gamma(shape + K) and Gamma(shape + K - 1), both with
        rate - log eta.
        """
        if self.shape is None or self.rate is None:
            return self
        num_observations, num_blocks = int(sizes.sum()), len(sizes)
        eta = rng.beta(self.concentration + 1.0, num_observations)
        rate = self.rate - np.log(eta)
        odds = (self.shape + num_blocks - 1.0) / (num_observations * rate)
        shape = self.shape + num_blocks - (0.0 if rng.random() < odds / (1.0 + odds) else 1.0)
        return replace(self, concentration=max(float(rng.gamma(shape) / rate), SMALLEST))

    def log_normaliser(self, num_observations: int) -> float:
        log_p = -math.log(self.concentration) - float(log_product(self.concentration, num_observations))
        return log_p + log_gamma_density(self.concentration, self.shape, self.rate)
