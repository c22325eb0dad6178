"""The Pitman-Yor process (paper, Section 2.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.priors.common import (
    check_concentration,
    check_discount,
    check_gamma,
    cumulative_logs,
    log_gamma_density,
    log_product,
    resample_concentration,
    slice_sample,
)
from pyclone_pgsm.priors.contract import Prior
from pyclone_pgsm.ranges import check_bool


@dataclass(frozen=True)
class PitmanYor(Prior):
    """Pitman-Yor process: log tau1(j) = sum_{m=1}^{j-1} log(alpha + d m), log tau2(n) = log Γ(n - d) / Γ(1 - d).

    tau1 omits the factor alpha, which all partitions share and which need not be positive, so that any alpha above -d
    is possible. d = 0 is the Dirichlet process.

    Parameters
    ----------
    concentration : float
        alpha > -d; positive if it is resampled.
    discount : float
        d, 0 <= d < 1.
    shape, rate : float or None
        Gamma prior of alpha; None keeps alpha fixed.
    infer_discount : bool
        Whether to resample d, whose prior is uniform on (0, 1), or on (-alpha, 1) if alpha is fixed and negative.

    Raises
    ------
    UsageError
        A value outside its range.
    """

    concentration: float = 1.0
    discount: float = 0.5
    shape: float | None = 1.0
    rate: float | None = 1.0
    infer_discount: bool = True

    name: ClassVar[str] = "pitman-yor"
    is_consistent: ClassVar[bool] = True
    hyperparameters: ClassVar[tuple[str, ...]] = ("concentration", "discount")

    def __post_init__(self) -> None:
        object.__setattr__(self, "infer_discount", check_bool("infer_discount", self.infer_discount))
        object.__setattr__(self, "discount", check_discount(self.discount))
        check_gamma(self.shape, self.rate)
        least = -self.discount if self.shape is None else 0.0
        object.__setattr__(self, "concentration", check_concentration(self.concentration, least))

    def log_tau1(self, num_observations: int) -> NDArray[np.float64]:
        m = np.arange(1, num_observations)
        return np.concatenate([[0.0], cumulative_logs(self.concentration + self.discount * m)])

    def log_tau2(self, num_observations: int) -> NDArray[np.float64]:
        return np.concatenate([[0.0], cumulative_logs(np.arange(1, num_observations) - self.discount)])

    @property
    def _least_discount(self) -> float:
        return max(0.0, -self.concentration)

    def resample(self, sizes: NDArray[np.integer], rng: np.random.Generator) -> PitmanYor:
        """Draw alpha given d, then d given alpha, each by a step of slice sampling."""
        from scipy.special import gammaln

        num_observations = int(sizes.sum())
        m = np.arange(1, len(sizes))
        size, count = np.unique(sizes, return_counts=True)

        def log_new_blocks(concentration: float, discount: float) -> float:
            return float(np.log(concentration + discount * m).sum())

        prior = self
        if self.shape is not None and self.rate is not None:
            d = self.discount
            concentration = resample_concentration(
                self.concentration,
                self.shape,
                self.rate,
                lambda x: log_new_blocks(x, d) - float(log_product(x, num_observations)),
                rng,
            )
            prior = replace(prior, concentration=concentration)
        if self.infer_discount:
            alpha, least = prior.concentration, prior._least_discount
            discount = slice_sample(
                lambda d: log_new_blocks(alpha, d) + float(count @ (gammaln(size - d) - gammaln(1.0 - d))),
                prior.discount,
                rng,
                least,
                1.0,
            )
            prior = replace(prior, discount=discount)
        return prior

    def log_normaliser(self, num_observations: int) -> float:
        log_p = -float(log_product(self.concentration, num_observations))
        log_p += log_gamma_density(self.concentration, self.shape, self.rate)
        if self.infer_discount:
            log_p -= math.log1p(-self._least_discount)
        return log_p
