"""R-hat and effective sample size where the answer is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.signal import lfilter
from scipy.stats import norm

from pyclone_pgsm.sampling.diagnostics import diagnostics_of


def split_rhat(x: ArrayLike) -> float:
    return diagnostics_of(x).rhat


def effective_sample_size(x: ArrayLike) -> float:
    return diagnostics_of(x).bulk_ess


def autoregressive(rng: np.random.Generator, chains: int, draws: int, phi: float) -> NDArray[np.float64]:
    """Stationary AR(1) chains; the true effective size is draws (1 - phi) / (1 + phi)."""
    noise = rng.normal(size=(chains, draws))
    noise[:, 0] /= np.sqrt(1 - phi**2)
    return lfilter([1.0], [1.0, -phi], noise, axis=1)


def test_independent_draws() -> None:
    rng = np.random.default_rng(0)
    rhats, sizes = zip(
        *[(split_rhat(x), effective_sample_size(x)) for x in rng.normal(size=(20, 4, 1000))], strict=True
    )
    assert max(rhats) < 1.01
    assert min(rhats) > 0.999
    assert np.mean(sizes) == pytest.approx(4000, rel=0.03)


@pytest.mark.parametrize("phi", [-0.5, 0.5, 0.9])
def test_autocorrelated_draws(phi: float) -> None:
    rng = np.random.default_rng(1)
    sizes = [effective_sample_size(autoregressive(rng, 4, 5000, phi)) for _ in range(30)]
    assert np.mean(sizes) == pytest.approx(20_000 * (1 - phi) / (1 + phi), rel=0.06)


def test_only_ranks_matter() -> None:
    """A distribution without mean or variance is no problem, nor is one chain less."""
    x = autoregressive(np.random.default_rng(2), 4, 500, 0.6)
    assert effective_sample_size(np.exp(10 * x)) == effective_sample_size(x)
    cauchy = np.tan(np.pi * (np.random.default_rng(3).random((4, 1000)) - 0.5))
    assert split_rhat(cauchy) < 1.01


def test_chains_at_different_places_or_of_different_width() -> None:
    rng = np.random.default_rng(4)
    shifted = rng.normal(size=(4, 1000))
    shifted[0] += 3
    assert split_rhat(shifted) > 1.3
    assert effective_sample_size(shifted) < 20
    wide = rng.normal(size=(4, 1000))
    wide[0] *= 5
    assert split_rhat(wide) > 1.2


def test_one_drifting_chain_is_seen() -> None:
    rng = np.random.default_rng(5)
    assert split_rhat(rng.normal(size=(1, 1000))) < 1.01
    assert split_rhat(rng.normal(size=(1, 1000)) + np.linspace(0, 3, 1000)) > 1.3


def test_split_rhat_by_hand() -> None:
    """Two chains of four, the ranks 1..8 known; the bulk decides.

    The halves have ranks (1, 2), (7, 8), (3, 4), (5, 6).
    """
    z = norm.ppf((np.arange(1, 9) - 0.375) / 8.25).reshape(4, 2)
    within = np.mean((z[:, 1] - z[:, 0]) ** 2 / 2)
    between = np.var(z.mean(axis=1), ddof=1)
    x = np.array([[10.0, 20.0, 70.0, 80.0], [30.0, 40.0, 50.0, 60.0]])
    assert split_rhat(x) == pytest.approx(np.sqrt((within / 2 + between) / within), rel=1e-12)


def test_odd_number_leaves_out_the_middle() -> None:
    x = np.random.default_rng(6).normal(size=(2, 51))
    even = np.delete(x, 25, axis=1)
    assert split_rhat(x) == split_rhat(even)
    assert effective_sample_size(x) == effective_sample_size(even)


def test_constant_values() -> None:
    same = np.full((4, 100), -3.5)
    assert split_rhat(same) == 1
    assert effective_sample_size(same) == 400


def test_values_that_differ_by_rounding_are_equal() -> None:
    """A sum of the same terms in another order: stuck chains that agree, not chains that disagree."""
    total = -117.64004443800425
    stuck = np.repeat([[total], [np.nextafter(total, 0)], [total], [total]], 100, axis=1)
    assert split_rhat(stuck) == 1
    assert effective_sample_size(stuck) == 400
    assert split_rhat(np.round(stuck, 6) + np.array([[0], [1e-6], [0], [0]])) == np.inf
    assert split_rhat(np.zeros((2, 10))) == 1


def test_chains_stuck_at_different_values() -> None:
    stuck = np.repeat(np.arange(4.0)[:, None], 100, axis=1)
    assert split_rhat(stuck) == np.inf
    assert effective_sample_size(stuck) == pytest.approx(4, rel=0.02)
    one_apart = np.repeat([[0.0], [0.0], [0.0], [1.0]], 101, axis=1)
    assert split_rhat(one_apart) == np.inf


def test_two_values_whose_distances_from_the_median_agree() -> None:
    """The folded values are constant then, which is no reason for anything but the bulk's answer."""
    coin = np.tile([0.0, 1.0], (4, 50))
    assert split_rhat(coin) == pytest.approx(1, abs=0.02)
    assert effective_sample_size(coin) == pytest.approx(400 * np.log10(400))


@pytest.mark.parametrize("function", [split_rhat, effective_sample_size])
def test_values_that_cannot_be_used(function: Callable[..., float]) -> None:
    with pytest.raises(ValueError, match=r"values must be a matrix of chains by draws; its shape is \(9,\)"):
        function(np.zeros(9))
    with pytest.raises(ValueError, match=r"its shape is \(0, 9\)"):
        function(np.zeros((0, 9)))
    with pytest.raises(ValueError, match="values must not be NaN"):
        function(np.array([[1.0, 2.0, np.nan, 3.0]]))
    assert np.isnan(function(np.zeros((2, 3))))  # too few draws
    assert np.isnan(function(np.zeros((2, 0))))
    infinite = [[1.0, 2.0, np.inf, 0.0], [5.0, np.inf, 2.0, 1.0]]
    assert function(infinite) == function([[1, 2, 99, 0], [5, 99, 2, 1]])  # farther away than all others
