"""Draws of counts against their distributions: by scipy, or enumerated from the definition of each scheme."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numba
import numpy as np
import pytest
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from enumeration import chi_square_p_value

from pyclone_pgsm.samplers.resampling import (
    MULTINOMIAL,
    STRATIFIED,
    SYSTEMATIC,
    draw_binomial,
    optimal_bound,
    relative_ess,
    resample,
    resample_multinomial,
    resample_optimal,
    resample_stratified,
)


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
        resample_multinomial(rng, weights.copy(), len(weights), total, draws[r])
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


Law = dict[tuple[int, ...], float]
"""Probability of each outcome."""

WEIGHTS = [0.5, 2.0, 0.0, 0.02, 1.1, 0.7]


def stratified_law(e: np.ndarray) -> Law:
    """Numbers of offspring, for intervals of lengths e: one point, uniform, on every unit of the line."""
    ends = np.cumsum(e)
    law: Law = {(0,) * len(e): 1.0}
    for k in range(round(ends[-1])):
        p = np.clip(ends, k, k + 1) - np.clip(ends - e, k, k + 1)
        longer: Law = {}
        for outcome, probability in law.items():
            for particle in np.flatnonzero(p > 1e-12):
                grown = tuple(n + (q == particle) for q, n in enumerate(outcome))
                longer[grown] = longer.get(grown, 0.0) + probability * p[particle]
        law = longer
    return law


def systematic_law(e: np.ndarray) -> Law:
    """The same where all points have the same offset: piecewise constant in it."""
    ends = np.cumsum(e)
    total = round(ends[-1])
    ends[-1] = total
    breaks = np.unique(np.concatenate([[0.0, 1.0], ends % 1.0]))
    law: Law = {}
    for low, high in pairwise(breaks):
        if high - low > 1e-12:
            hit = np.searchsorted(ends, np.arange(total) + (low + high) / 2, side="right")
            outcome = tuple(np.bincount(hit, minlength=len(e)).tolist())
            law[outcome] = law.get(outcome, 0.0) + high - low
    return law


def given_that_one_is_the_conditioned_path(law: Law, reference: int) -> Law:
    """Size-biased: in proportion to the offspring of `reference`, one of which is left out."""
    biased = {}
    for outcome, p in law.items():
        if outcome[reference] > 0:
            others = tuple(n - (q == reference) for q, n in enumerate(outcome))
            biased[others] = p * outcome[reference]
    total = sum(biased.values())
    return {outcome: p / total for outcome, p in biased.items()}


@numba.njit
def stratified(rng, weights, first, total, reference, systematic, size):  # type: ignore
    draws = np.zeros((size, len(weights)), np.int64)
    for r in range(size):
        resample_stratified(rng, weights, first, len(weights), total, reference, systematic, draws[r])
    return draws


def check_law(draws: np.ndarray, law: Law) -> None:
    outcomes, counts = np.unique(draws, axis=0, return_counts=True)
    drawn = {tuple(outcome): int(count) for outcome, count in zip(outcomes.tolist(), counts)}
    assert drawn.keys() <= law.keys()
    assert sum(law.values()) == pytest.approx(1.0)
    if len(law) > 1:
        counts = np.array([drawn.get(outcome, 0) for outcome in law])
        assert chi_square_p_value(counts, np.array(list(law.values()))) > 1e-4


@pytest.mark.parametrize("systematic", [False, True])
@pytest.mark.parametrize("reference", [-1, 0, 1, 3, 4, 5])
@pytest.mark.parametrize("total", [1, 3, 7])
def test_stratified_and_systematic(total: int, reference: int, systematic: bool) -> None:
    weights = np.array(WEIGHTS)
    law = (systematic_law if systematic else stratified_law)(total * weights / weights.sum())
    if reference >= 0:
        law = given_that_one_is_the_conditioned_path(law, reference)
    draws = stratified(np.random.default_rng(total), weights, 0, total, reference, systematic, 20_000)
    check_law(draws, law)


def test_the_law_given_the_conditioned_path_is_another() -> None:
    """Or else the test above would say little."""
    weights = np.array(WEIGHTS)
    draws = stratified(np.random.default_rng(1), weights, 0, 3, -1, True, 20_000)
    draws[:, 3] = np.maximum(draws[:, 3] - 1, 0)
    with pytest.raises(AssertionError):
        check_law(
            draws, given_that_one_is_the_conditioned_path(systematic_law(weights / weights.sum() * 3), 3)
        )


@pytest.mark.parametrize("reference", [0, 1, 2])
def test_resampling_some_of_the_particles(reference: int) -> None:
    """The particles before the first are left alone, whether the conditioned one is among them or not."""
    weights = np.array([5.0, 0.4, 1.0, 0.3])
    law = systematic_law(weights[1:] / weights[1:].sum() * 4)
    if reference > 0:
        law = given_that_one_is_the_conditioned_path(law, reference - 1)
    draws = stratified(np.random.default_rng(3), weights, 1, 4, reference, True, 20_000)
    assert (draws[:, 0] == 0).all()
    check_law(draws[:, 1:], law)


@pytest.mark.parametrize("weights", [[1.0, 1e-200, 1e-320, 0.0], [0.0, 1e-320, 1.0], [1e-300, 0.0, 1.0]])
@pytest.mark.parametrize("systematic", [False, True])
def test_points_over_weights_far_apart(weights: list[float], systematic: bool) -> None:
    """No particle is lost and none without weight gained, whichever is the conditioned one."""
    w = np.array(weights)
    for reference in (-1, *np.flatnonzero(w)):
        draws = stratified(np.random.default_rng(1), w, 0, 20, reference, systematic, 100)
        assert (draws.sum(axis=1) == (20 if reference < 0 else 19)).all()
        assert not draws[:, w == 0.0].any()
        assert (draws[:, w.argmax()] >= 18).all()


@pytest.mark.parametrize("scheme", [MULTINOMIAL, STRATIFIED, SYSTEMATIC])
def test_offspring_in_the_mean(scheme: int) -> None:
    """Of N particles the conditioned path is drawn from the weights: then the expected offspring are N w / sum w."""
    rng = np.random.default_rng(scheme)
    weights = np.array(WEIGHTS)
    mean = np.zeros(len(weights))
    size = 20_000
    for _ in range(size):
        reference = int(rng.choice(len(weights), p=weights / weights.sum()))
        offspring = np.zeros(len(weights), np.int64)
        resample(rng, scheme, weights.copy(), len(weights), 5, reference, offspring)
        offspring[reference] += 1
        assert offspring.sum() == 5
        mean += offspring / size
    np.testing.assert_allclose(mean, 5 * weights / weights.sum(), atol=5 * np.sqrt(2 / size))


@pytest.mark.parametrize(
    ("weights", "total"),
    [
        (WEIGHTS, 3),
        (WEIGHTS, 2),
        ([1.0, 1.0, 1.0], 2),
        ([1.0, 1.0, 1e-300], 2),
        ([4.0, 3.0, 2.0, 1.0, 0.5, 0.25], 5),
        ([1.0, 1e-300, 1e-300, 1e-300], 2),
        ([1.0 + 4e-16] * 3 + [1e-300], 3),
        ([0.1] * 31, 30),
    ],
)
def test_bound_of_the_optimal_scheme(weights: list[float], total: int) -> None:
    w = np.array(weights)
    cutoff, bound, above = optimal_bound(w, len(w), total)
    assert np.minimum(1.0, w / bound).sum() == pytest.approx(total, rel=1e-12)
    assert (w > cutoff).sum() == above < total
    assert (w[w <= cutoff] <= bound * (1 + 1e-12)).all()
    assert (w[w > cutoff] >= bound * (1 - 1e-12)).all()


@numba.njit
def survivors(rng, log_weights, total, reference, size):  # type: ignore
    num = len(log_weights)
    free_copies = np.zeros((size, num), np.int64)
    log_w = np.zeros((size, num))
    w = np.zeros(num)
    offspring = np.zeros(num, np.int64)
    for r in range(size):
        for p in range(num):
            free_copies[r, p] = 0 if p == reference else 1
            log_w[r, p] = log_weights[p]
        resample_optimal(rng, log_w[r], w, num, total, reference, free_copies[r], offspring)
    return free_copies, log_w


@pytest.mark.parametrize("reference", range(6))
@pytest.mark.parametrize("total", [2, 4])
def test_optimal_resampling(total: int, reference: int) -> None:
    """Given that the conditioned particle stays; the weights of those that stay do not depend on which these are."""
    weights = np.array([0.5, 2.0, 0.3, 0.02, 1.1, 0.7])
    _, bound, _ = optimal_bound(weights, 6, total)
    stay = np.minimum(1.0, weights / bound)
    law: Law = {}
    low = np.flatnonzero(stay < 1.0)
    for outcome, p in systematic_law(stay[low]).items():
        stays = np.ones(6, int)
        stays[low] = outcome
        if stays[reference]:
            stays[reference] = 0
            law[tuple(stays.tolist())] = p / stay[reference]
    rng = np.random.default_rng(reference)
    free_copies, log_w = survivors(rng, np.log(weights) - 700.0, total, reference, 20_000)
    check_law(free_copies, law)
    kept = free_copies.astype(bool)
    kept[:, reference] = True
    expected = np.broadcast_to(np.log(np.maximum(weights, bound)) - 700.0, log_w.shape)
    np.testing.assert_allclose(log_w[kept], expected[kept], rtol=1e-12)


def test_optimal_resampling_passes_over_particles_that_have_gone() -> None:
    rng = np.random.default_rng(1)
    free_copies = np.array([0, 1, 1, 1, 0])
    log_w = np.array([50.0, 0.0, -1.0, -2000.0, -3000.0])
    resample_optimal(rng, log_w, np.zeros(5), 5, 2, 4, free_copies, np.zeros(5, np.int64))
    assert free_copies.tolist() == [0, 1, 0, 0, 0]  # and number 4, the conditioned one
    assert np.isfinite(log_w).all()


def test_relative_ess() -> None:
    weights = np.array([0.2, 1.0, 0.01])
    free_copies = np.array([3, 1, 6])
    spread = np.repeat(weights, free_copies)
    expected = spread.sum() ** 2 / (len(spread) * (spread**2).sum())
    assert relative_ess(weights, free_copies, 0, 3) == pytest.approx(expected)
    assert relative_ess(np.array([0.3, 7.0]), np.array([4, 0]), 0, 2) == pytest.approx(1.0)
    assert relative_ess(np.array([0.3, 7.0, 7.0]), np.array([4, 2, 1]), 1, 3) == pytest.approx(1.0)
