"""Partition priors as tables of log tau1(j) and log tau2(n), and the resampling of their hyperparameters.

tau(c) ∝ tau1(|c|) prod_{b in c} tau2(|b|)                                     (paper, Equation 3)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError


@dataclass(frozen=True)
class DirichletProcess:
    """Dirichlet process: log tau1(j) = j log alpha, log tau2(n) = log Gamma(n).

    Parameters
    ----------
    concentration : float
        alpha > 0, the value at the start of a chain.
    shape, rate : float or None
        Gamma prior of alpha; None keeps alpha fixed.
    """

    concentration: float = 1.0
    shape: float | None = 1.0
    rate: float | None = 0.1

    def __post_init__(self) -> None:
        if not (np.isfinite(self.concentration) and self.concentration > 0):
            raise UsageError(f"the concentration must be positive, not {self.concentration}")
        if (self.shape is None) != (self.rate is None):
            raise UsageError("the concentration's Gamma prior needs both a shape and a rate")
        if self.shape is not None and not (0 < self.shape < np.inf and 0 < (self.rate or 0) < np.inf):
            raise UsageError(
                f"shape and rate of the concentration's Gamma prior must be positive, not {self.shape}, {self.rate}"
            )

    def log_tau1(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau1(j), j = 0..T."""
        return np.arange(num_observations + 1) * np.log(self.concentration)

    def log_tau2(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau2(n), n = 0..T; entry 0 is never used."""
        from scipy.special import gammaln

        return gammaln(np.maximum(np.arange(num_observations + 1), 1))

    def resample(self, num_observations: int, num_blocks: int, rng: np.random.Generator) -> DirichletProcess:
        """Draw alpha given the number of blocks (Escobar & West 1995, Section 6).

        With eta ~ Beta(alpha + 1, T), alpha is a mixture of Gamma(shape + k) and Gamma(shape + k - 1), both with
        rate - log eta.
        """
        if self.shape is None or self.rate is None:
            return self
        eta = rng.beta(self.concentration + 1.0, num_observations)
        rate = self.rate - np.log(eta)
        odds = (self.shape + num_blocks - 1.0) / (num_observations * rate)
        shape = self.shape + num_blocks - (0.0 if rng.random() < odds / (1.0 + odds) else 1.0)
        return replace(self, concentration=max(float(rng.gamma(shape) / rate), 1e-300))

    def log_normaliser(self, num_observations: int) -> float:
        """What makes the prior over partitions sum to 1, plus the log density of alpha."""
        from scipy.special import gammaln

        log_p = gammaln(self.concentration) - gammaln(self.concentration + num_observations)
        if self.shape is not None and self.rate is not None:
            log_p += (self.shape - 1.0) * np.log(self.concentration) - self.rate * self.concentration
            log_p += self.shape * np.log(self.rate) - gammaln(self.shape)
        return float(log_p)
