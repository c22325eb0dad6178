"""A finite mixture whose weights have a symmetric Dirichlet distribution (paper, Section 2.2)."""

from __future__ import annotations

import math
import reprlib
from dataclasses import dataclass, replace
from numbers import Integral
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.priors.common import (
    check_concentration,
    check_gamma,
    cumulative_logs,
    log_gamma_density,
    log_product,
    resample_concentration,
)
from pyclone_pgsm.priors.contract import Prior
from pyclone_pgsm.ranges import is_number


@dataclass(frozen=True)
class FiniteDirichlet(Prior):
    """Finite mixture of k0 components with weights ~ Dirichlet(a, .., a); empty components are not blocks.

    log tau1(j) = log k0! / (k0 - j)!, the log number of ways to label j blocks, -inf for j > k0, and
    log tau2(n) = log Γ(n + a) / Γ(a).

    Parameters
    ----------
    max_components : int
        k0, the largest number of clusters.
    concentration : float
        a > 0, for each component.
    shape, rate : float or None
        Gamma prior of the *total* concentration k0 a, so that for large k0 this is the Dirichlet process with the same
        Gamma prior. None keeps a fixed.

    Raises
    ------
    UsageError
        A value outside its range.
    """

    max_components: int
    concentration: float = 1.0
    shape: float | None = 1.0
    rate: float | None = 1.0

    name: ClassVar[str] = "finite"
    is_consistent: ClassVar[bool] = True
    hyperparameters: ClassVar[tuple[str, ...]] = ("concentration",)

    def __post_init__(self) -> None:
        k0 = self.max_components
        if not isinstance(k0, Integral) or not is_number(k0) or k0 < 1:
            raise UsageError(f"the number of components must be a positive integer, not {reprlib.repr(k0)}")
        object.__setattr__(self, "max_components", int(k0))  # for JSON
        object.__setattr__(self, "concentration", check_concentration(self.concentration))
        check_gamma(self.shape, self.rate)
        if not math.isfinite(self.concentration * k0):
            raise UsageError(
                f"`concentration` {self.concentration}: its product with {k0} components overflows"
            )

    def max_blocks(self, num_observations: int) -> int:
        """Return min(k0, T)."""
        return int(min(self.max_components, num_observations))

    def log_tau1(self, num_observations: int) -> NDArray[np.float64]:
        table = np.full(num_observations + 1, -np.inf)
        most = self.max_blocks(num_observations)
        table[: most + 1] = cumulative_logs(float(self.max_components) - np.arange(most))
        return table

    def log_tau2(self, num_observations: int) -> NDArray[np.float64]:
        return cumulative_logs(self.concentration + np.arange(num_observations))

    def resample(self, sizes: NDArray[np.integer], rng: np.random.Generator) -> FiniteDirichlet:
        """Draw a given the sizes of the blocks by a step of slice sampling."""
        if self.shape is None or self.rate is None:
            return self
        k0, num_observations, num_blocks = self.max_components, int(sizes.sum()), len(sizes)
        size, count = np.unique(sizes, return_counts=True)

        def log_probability(a: float) -> float:
            blocks = num_blocks * math.log(a) + count @ log_product(a, size)
            return float(blocks - math.log(a * k0) - log_product(a * k0, num_observations))

        concentration = resample_concentration(
            self.concentration, self.shape, self.rate * k0, log_probability, rng
        )
        return replace(self, concentration=concentration)

    def log_normaliser(self, num_observations: int) -> float:
        total = self.max_components * self.concentration
        log_p = -math.log(total) - float(log_product(total, num_observations))
        if self.shape is not None:
            log_p += log_gamma_density(total, self.shape, self.rate) + math.log(self.max_components)
        return log_p
