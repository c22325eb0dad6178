"""Draws of counts against scipy's distributions."""

from __future__ import annotations

import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from enumeration import chi_square_p_value

from pyclone_pgsm.samplers.resampling import draw_binomial, relative_ess, resample_multinomial


@numba.njit
def binomials(rng, n, p, size):  # type: ignore
    draws = np.empty(size, np.int64)
    for r in range(size):
        draws[r] = draw_binomial(rng, n, p)
    return draws


@numba.njit
def multinomials(rng, weights, total, size):  # type: ignore
    draws = np.zeros((size, len(weights)), np.int64)
    for r in range(size):
        resample_multinomial(rng, weights, len(weights), total, draws[r])
    return draws


@pytest.mark.parametrize(
    ("n", "p"), [(1, 0.3), (19, 0.5), (19, 0.02), (19, 0.97), (200, 0.7), (1000, 0.46), (3000, 0.8)]
)
def test_binomial(n: int, p: float) -> None:
    """From inversion, and trial by trial where the probability of none would underflow (n log(1 - p) < -600)."""
    draws = binomials(np.random.default_rng(n), n, p, 20_000)
    assert chi_square_p_value(np.bincount(draws, minlength=n + 1), stats.binom.pmf(range(n + 1), n, p)) > 1e-4


@pytest.mark.parametrize(
    ("n", "p", "result"),
    [(5, 0.0, 0), (5, 1.0, 5), (5, 1.0 + 1e-15, 5), (0, 0.5, 0), (5, -1e-18, 0), (5, 1e-300, 0)],
)
def test_binomial_at_the_edges(n: int, p: float, result: int) -> None:
    assert set(binomials(np.random.default_rng(1), n, p, 100)) == {result}


def test_multinomial() -> None:
    weights = np.array([0.0, 3.0, 0.5, 0.0, 1.5, 0.0])
    draws = multinomials(np.random.default_rng(1), weights, 3, 50_000)
    assert (draws.sum(axis=1) == 3).all()
    assert not draws[:, weights == 0].any()
    cells, counts = np.unique(draws, axis=0, return_counts=True)
    assert len(cells) == 10
    assert chi_square_p_value(counts, stats.multinomial.pmf(cells, 3, weights / weights.sum())) > 1e-4


def test_multinomial_with_weights_far_apart() -> None:
    """The last weights vanish beside the first, yet no particle is lost."""
    draws = multinomials(np.random.default_rng(1), np.array([1.0, 1e-200, 1e-320, 0.0]), 20, 100)
    assert (draws == [20, 0, 0, 0]).all()


def test_relative_ess() -> None:
    weights = np.array([0.2, 1.0, 0.01])
    copies = np.array([3, 1, 6])
    spread = np.repeat(weights, copies)
    expected = spread.sum() ** 2 / (len(spread) * (spread**2).sum())
    assert relative_ess(weights, copies, 3) == pytest.approx(expected)
    assert relative_ess(np.array([0.3, 7.0]), np.array([4, 0]), 2) == pytest.approx(1.0)
