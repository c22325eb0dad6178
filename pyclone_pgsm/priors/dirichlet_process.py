"""The Dirichlet process (paper, Section 2.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.priors.common import (
    LARGEST,
    SMALLEST,
    check_concentration,
    check_gamma,
    log_gamma_density,
    log_product,
)
from pyclone_pgsm.priors.contract import Prior

SMALLEST_SHAPE, LARGEST_SHAPE = 0.01, 1000.0
"""With a shape beyond these alpha is not integrated out: the integrals are difficult."""
ALL_UP_TO, SPACING = 1000, 1.001
"""The integrals are computed for all numbers of blocks up to the first, and above for numbers with the second ratio."""


@lru_cache(maxsize=2)
def _log_gammas(num_observations: int) -> NDArray[np.float64]:
    """Return 0, log Γ(1), .., log Γ(T), cached because every iteration of a chain needs it."""
    from scipy.special import gammaln

    return gammaln(np.maximum(np.arange(num_observations + 1), 1))


class ConcentrationIntegrals(NamedTuple):
    """Integrals over alpha for T observations.

    Attributes
    ----------
    log_alpha : (N,) float64
        Equally spaced values.
    log_weights : (N,) float64
        Their log density with respect to log alpha, times Γ(alpha) / Γ(alpha + T), up to a constant.
    log_tau1 : (T + 1,) float64
        log of the integral of alpha^j Γ(alpha) / Γ(alpha + T) over alpha; entry 0 is never used.
    """

    log_alpha: NDArray[np.float64]
    log_weights: NDArray[np.float64]
    log_tau1: NDArray[np.float64]

    def draw(self, num_blocks: int, rng: np.random.Generator) -> float:
        """Draw one of the values of alpha given the number of blocks."""
        log_p = self.log_weights + num_blocks * self.log_alpha
        cumulative = np.exp(log_p - log_p.max()).cumsum()
        return math.exp(self.log_alpha[np.searchsorted(cumulative, rng.random() * cumulative[-1])])


@lru_cache(maxsize=2)
def integrate_concentration(num_observations: int, shape: float, rate: float) -> ConcentrationIntegrals:
    """Integrate alpha with the prior Gamma(shape, rate) out by the trapezoidal rule.

    The integrands are analytic and log-concave, so that ratios of neighbouring entries of tau1 are accurate to many
    digits for up to a thousand blocks, and to about 0.1 % above, where entries between some numbers of blocks are
    interpolated (less if nearly each observation has a block of its own).
    """
    from scipy.special import logsumexp

    T = num_observations
    # the standard deviation of log alpha given j blocks is at least 1 / sqrt(shape + j)
    step = min(0.05, 0.8 / math.sqrt(shape + min(T, 3000)))
    lowest = math.log(shape + 1.0) - math.log(rate + math.log(T + 1.0)) - min(21.0, 3.0 + 46.0 / shape)
    highest = min(2.0 * math.log(math.sqrt(shape + T) + 8.0) - math.log(rate), math.log(1e12 * T))
    log_alpha = np.arange(lowest, highest + step, step)
    alpha = np.exp(log_alpha)
    log_weights = (shape - 1.0) * log_alpha - rate * alpha - log_product(alpha, T)
    # what lies below the lowest value counts for a single block only, where it is its weight / shape
    log_weights[0] += math.log(0.5 + 1.0 / (shape * step))
    some = ALL_UP_TO * SPACING ** np.arange(math.log(max(T / ALL_UP_TO, 1.0)) / math.log(SPACING) + 1.0)
    blocks = np.unique(np.minimum(np.append(np.arange(1, ALL_UP_TO), some.round()), T))
    log_integrals = [
        logsumexp(part[:, None] * log_alpha + log_weights, axis=1)
        for part in np.array_split(blocks, len(blocks) // 500 + 1)
    ]
    log_tau1 = np.interp(np.arange(T + 1), blocks, np.concatenate(log_integrals))
    return ConcentrationIntegrals(log_alpha, log_weights, log_tau1)


@dataclass(frozen=True)
class DirichletProcess(Prior):
    """Dirichlet process: log tau1(j) = j log alpha, log tau2(n) = log Gamma(n).

    Parameters
    ----------
    concentration : float
        alpha > 0, the value at the start of a chain.
    shape, rate : float or None
        Gamma prior of alpha; None keeps alpha fixed. With such a prior alpha is integrated out in the moves of the
        partition, which only changes tau1 (:meth:`integrated_log_tau1`).

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

    def integrated_log_tau1(self, num_observations: int) -> NDArray[np.float64] | None:
        integrals = self._integrals(num_observations)
        return None if integrals is None else integrals.log_tau1.copy()

    def _integrals(self, num_observations: int) -> ConcentrationIntegrals | None:
        """Return the integrals over alpha if it is integrated out."""
        if self.shape is None or self.rate is None or not SMALLEST_SHAPE <= self.shape <= LARGEST_SHAPE:
            return None
        return integrate_concentration(num_observations, self.shape, self.rate)

    def resample(self, sizes: NDArray[np.integer], rng: np.random.Generator) -> DirichletProcess:
        """Draw alpha given the number of blocks by a step that leaves its distribution invariant (Escobar & West 1995,
        Section 6), from a draw of nearly that distribution if alpha is integrated out.

        With eta ~ Beta(alpha + 1, T), alpha is a mixture of Gamma(shape + K) and Gamma(shape + K - 1), both with
        rate - log eta.
        """
        if self.shape is None or self.rate is None:
            return self
        num_observations, num_blocks = int(sizes.sum()), len(sizes)
        integrals = self._integrals(num_observations)
        start = self.concentration if integrals is None else integrals.draw(num_blocks, rng)
        eta = rng.beta(start + 1.0, num_observations)
        rate = self.rate - np.log(eta)
        odds = (self.shape + num_blocks - 1.0) / (num_observations * rate)
        shape = self.shape + num_blocks - (0.0 if rng.random() < odds / (1.0 + odds) else 1.0)
        concentration = float(rng.gamma(shape) / rate)
        return replace(self, concentration=min(max(concentration, SMALLEST), LARGEST))

    def log_normaliser(self, num_observations: int) -> float:
        log_p = -math.log(self.concentration) - float(log_product(self.concentration, num_observations))
        return log_p + log_gamma_density(self.concentration, self.shape, self.rate)
