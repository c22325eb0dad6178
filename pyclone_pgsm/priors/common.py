"""Shared parts of the priors: checks of parameters, products of the gamma function, and slice sampling."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.ranges import is_number

SMALLEST, LARGEST = 1e-300, 1e300  # bounds of a resampled concentration


def check_concentration(concentration: Any, above: float = 0.0) -> float:
    """Return a concentration as a float; UsageError unless it is above a limit, and its products can be computed."""
    if not (is_number(concentration) and concentration > above):
        wanted = "must be a positive number" if above == 0 else f"must be more than {above:g}"
        raise UsageError(f"`concentration` {concentration}: {wanted}")
    if concentration != 0 and not SMALLEST <= abs(float(concentration)) <= LARGEST:
        raise UsageError(
            f"`concentration` {concentration}: must be between {SMALLEST:g} and {LARGEST:g}: outside this range its "
            "products overflow or underflow"
        )
    return float(concentration)


def check_discount(discount: Any) -> float:
    """Return a discount as a float; UsageError unless it is allowed."""
    if not (is_number(discount) and 0 <= discount < 1):
        raise UsageError(f"`discount` {discount}: must be at least 0 and less than 1")
    return float(discount)


def check_gamma(shape: Any, rate: Any) -> None:
    if (shape is None) != (rate is None):
        raise UsageError("the concentration's Gamma prior needs both a shape and a rate")
    if shape is not None and not (is_number(shape) and shape > 0 and is_number(rate) and rate > 0):
        raise UsageError(
            f"shape and rate of the concentration's Gamma prior must be positive, not {shape}, {rate}"
        )


def log_gamma_density(x: float, shape: float | None, rate: float | None) -> float:
    """Return the log density of Gamma(shape, rate) at x; 0 if there is no such prior, because x is fixed."""
    if shape is None or rate is None:
        return 0.0
    return (shape - 1.0) * math.log(x) - rate * x + shape * math.log(rate) - math.lgamma(shape)


def log_product(x: float, n: Any) -> Any:
    """Return log prod_{m=1}^{n-1} (x + m) = log Γ(x + n) / Γ(x + 1) for x > -1, n >= 1, accurate for large x."""
    from scipy.special import betaln, gammaln

    return gammaln(n) - betaln(x + 1.0, n) - np.log(x + n)


def cumulative_logs(terms: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return 0, log t_1, log t_1 t_2, ..."""
    return np.concatenate([[0.0], np.cumsum(np.log(terms))])


def slice_sample(
    log_density: Callable[[float], float],
    x: float,
    rng: np.random.Generator,
    lower: float,
    upper: float,
    width: float = 1.0,
) -> float:
    """Make one step of a Markov chain that leaves a density on (lower, upper) invariant (Neal 2003, Figures 3 and 5).

    A level is drawn below the density at `x`. An interval of `width` is placed randomly around `x` and extended until
    the density at both ends is below the level. Points are drawn from it until the density at one is not below the
    level; each rejected point shrinks the interval. Any `width` is correct; one near that of the density is fast.

    The log density, up to a constant, is only evaluated between the bounds, at and beyond which the density is 0. It
    may be -inf, but not NaN.
    """
    level = log_density(x) - rng.exponential()
    left = x - width * rng.random()
    right = left + width
    while left > lower and log_density(left) >= level:
        left -= width
    while right < upper and log_density(right) >= level:
        right += width
    left, right = max(left, lower), min(right, upper)
    while True:
        point = rng.uniform(left, right)
        if lower < point < upper and log_density(point) >= level:
            return float(point)
        if point < x:
            left = point
        else:
            right = point


def resample_concentration(
    concentration: float,
    shape: float,
    rate: float,
    log_probability: Callable[[float], float],
    rng: np.random.Generator,
) -> float:
    """Make a slice sampling step for p(x) ∝ Gamma(x; shape, rate) p(partition | x), on the scale of log x."""

    def log_density(log_x: float) -> float:
        x = math.exp(log_x)
        return shape * log_x - rate * x + log_probability(x)

    log_x = math.log(min(max(concentration, 2 * SMALLEST), LARGEST / 2))
    return math.exp(slice_sample(log_density, log_x, rng, math.log(SMALLEST), math.log(LARGEST)))
