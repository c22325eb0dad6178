"""Convergence diagnostics: rank-normalised split R-hat, bulk and tail effective sample size.

Vehtari, Gelman, Simpson, Carpenter & Bürkner 2021, Bayesian Analysis 16, 667: "Rank-normalization, folding,
and localization: an improved R-hat for assessing convergence of MCMC".

Values may be infinite. All diagnostics are NaN for chains of fewer than :data:`FEWEST_DRAWS` draws.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

FEWEST_DRAWS = 4
TAILS = 0.05, 0.95
ROUNDING = 1e-12
"""Relative difference below which values count as equal: ranks would turn rounding errors into differences."""
BEYOND = 1e300
"""What infinite values are taken for: only its rank matters, also as a distance from the median."""


class Diagnostics(NamedTuple):
    """How far chains have converged.

    Attributes
    ----------
    rhat : float
        Rank-normalised split R-hat: the larger of that of the ranks and of the folded ranks. It is close to 1 for
        chains that explore the same distribution; 1.01 is the authors' limit. It is 1 if all values are equal up to
        rounding, and infinite if the halves of the chains are stuck at different values.
    bulk_ess : float
        Effective sample size of the mean of the rank-normalised values. It is at most S log10 S for S draws in total,
        as negatively correlated draws can give a better estimate of the mean than independent ones. It is S if all
        values are equal up to rounding, and about the number of chains if each is stuck at a value of its own.
    tail_ess : float
        The smaller of the effective sample sizes of the 5 % and the 95 % quantile, each of which is that of the share
        of values up to the quantile.
    """

    rhat: float
    bulk_ess: float
    tail_ess: float


def diagnostics_of(x: ArrayLike) -> Diagnostics:
    """Compute the diagnostics of values (chains, draws)."""
    x = np.asarray(x, np.float64)
    if x.ndim != 2 or x.shape[0] == 0:
        raise ValueError(f"values must be a matrix of chains by draws; its shape is {x.shape}")
    if np.isnan(x).any():
        raise ValueError("values must not be NaN")
    if x.shape[1] < FEWEST_DRAWS:
        return Diagnostics(math.nan, math.nan, math.nan)
    x = _without_rounding(np.clip(x, -BEYOND, BEYOND))
    halves = _split(x)
    ranks, folded = _normal_scores(halves), _normal_scores(np.abs(halves - np.median(halves)))
    tails = [_split((x <= quantile).astype(float)) for quantile in np.quantile(x, TAILS)]
    return Diagnostics(
        rhat=max(_rhat(ranks), _rhat(folded)),
        bulk_ess=_size_of_mean(ranks),
        tail_ess=min(map(_size_of_mean, tails)),
    )


def _size_of_mean(halves: NDArray[np.float64]) -> float:
    """Return the effective sample size of the mean of split chains; the number of values if all are equal."""
    total = halves.size
    if np.all(halves == halves[0, 0]):
        return float(total)
    tau = max(_geyer_sum(_autocorrelation(halves)), 1.0 / np.log10(total))
    return float(total / tau)


def _without_rounding(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace values that differ only by rounding by the smallest of them."""
    ordered = np.sort(x, axis=None)
    smallest = ordered[np.diff(ordered, prepend=-np.inf) > ROUNDING * np.abs(ordered)]
    return smallest[np.searchsorted(smallest, x, side="right") - 1]


def _split(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the halves of each chain as separate chains: (2 chains, draws // 2)."""
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def _normal_scores(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal quantiles of the average ranks over all chains."""
    _, which, counts = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2.0)[which].reshape(x.shape)
    return ndtri((ranks - 0.375) / (x.size + 0.25))


def _variances(x: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean variance W within chains, and the estimate of the overall variance."""
    draws = x.shape[1]
    within = float(x.var(axis=1, ddof=1).mean())
    return within, within * (draws - 1) / draws + float(x.mean(axis=1).var(ddof=1))


def _rhat(x: NDArray[np.float64]) -> float:
    """Return the square root of the ratio of the overall variance to that within chains."""
    if np.all(x == x[0, 0]):
        return 1.0
    if np.all(x == x[:, :1]):
        return float("inf")
    within, whole = _variances(x)
    return float(np.sqrt(whole / within))


def _autocorrelation(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the autocorrelation of all chains together at lags 0 .. draws - 1."""
    draws = x.shape[1]
    within, whole = _variances(x)
    size = 1 << (2 * draws - 1).bit_length()
    spectrum = np.fft.rfft(x - x.mean(axis=1, keepdims=True), size)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, size)[:, :draws].mean(axis=0) / draws
    rho = 1.0 - (within - covariance * draws / (draws - 1)) / whole
    rho[0] = 1.0
    return rho


def _geyer_sum(rho: NDArray[np.float64]) -> float:
    """Return the sum of autocorrelations over all lags, including negative ones, truncated and smoothed (Geyer 1992).

    The sums of neighbours, at lags 2t and 2t + 1, are truncated at the first negative one and made non-increasing.
    """
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0.0)
    if len(negative):
        pairs = pairs[: negative[0]]
    return float(2.0 * np.minimum.accumulate(pairs).sum() - 1.0)
