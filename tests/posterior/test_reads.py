"""Tail probabilities of reads, against scipy and sums over all counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.posterior.reads import (
    POINTS,
    probable_prevalences,
    reads_given_clusters,
    tails,
)
from pyclone_pgsm.simulate.tumour import variant_share
from pyclone_pgsm.tumour.genotypes import LOOSE, genotype_states
from pyclone_pgsm.tumour.grid import deduplicate, loci_of
from pyclone_pgsm.tumour.kernels import log_constant, log_reads


def distribution(n: int, mean: float, s: float):
    return stats.binom(n, mean) if math.isinf(s) else stats.betabinom(n, s * mean, s * (1 - mean))


@pytest.mark.parametrize("s", [0.5, 3.0, 10.0, 200.0, 1e5, math.inf])
@pytest.mark.parametrize("mean", [1e-4, 0.02, 0.3, 0.5, 0.97])
def test_tails_of_usual_depth(s, mean):
    for n in (1, 7, 100, 1000):
        exact = distribution(n, mean, s)
        pmf = exact.pmf(np.arange(n + 1))
        for b in {0, 1, n // 3, round(n * mean), n}:
            mass, lower, upper = tails(b, n - b, mean, 1.0 - mean, s)
            log_mass = log_reads(b, n - b, mean, 1.0 - mean, s) + log_constant(b, n - b, s)
            assert log_mass == pytest.approx(exact.logpmf(b), rel=1e-8, abs=1e-8)
            assert mass == pytest.approx(math.exp(log_mass), rel=1e-12, abs=0.0)
            assert lower == pytest.approx(pmf[: b + 1].sum(), rel=1e-6, abs=1e-7)
            assert upper == pytest.approx(pmf[b:].sum(), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("s", [100.0, 1000.0, math.inf])
@pytest.mark.parametrize(("mean", "distance"), [(0.001, 3.0), (0.2, -4.0), (0.2, 5.0), (0.9, 2.0)])
def test_tails_of_great_depth(s, mean, distance):
    n = 100_000
    exact = distribution(n, mean, s)
    b = int(np.clip(round(exact.mean() + distance * exact.std()), 0, n))
    pmf = exact.pmf(np.arange(n + 1))
    mass, lower, upper = tails(b, n - b, mean, 1.0 - mean, s)
    log_mass = log_reads(b, n - b, mean, 1.0 - mean, s) + log_constant(b, n - b, s)
    assert log_mass == pytest.approx(exact.logpmf(b), rel=1e-6, abs=1e-6)
    assert mass == pytest.approx(math.exp(log_mass), rel=1e-12, abs=0.0)
    smaller, sums = (upper, pmf[b:]) if distance > 0 else (lower, pmf[: b + 1])
    assert smaller == pytest.approx(sums.sum(), rel=1e-5)


def test_impossible_reads_have_no_negative_tail():
    assert tails(90_000, 10_000, 0.001, 0.999, math.inf)[2] == 0.0
    assert tails(0, 100_000, 0.9, 0.1, math.inf)[1] == 0.0


def observations(alt, depth, major, minor, **more) -> Observations:
    alt, depth, major, minor = (np.array(one, np.int64) for one in (alt, depth, major, minor))
    return Observations(
        [f"m{i}" for i in range(len(alt))],
        [f"S{d}" for d in range(alt.shape[1])],
        depth - alt,
        alt,
        major,
        minor,
        np.full(alt.shape, 2),
        np.full(alt.shape, 0.8),
        np.full(alt.shape, 0.001),
        depth > 0,
        **more,
    )


def densities() -> np.ndarray:
    """Of two clusters in two samples: points, and a wide one whose quantiles are known."""
    density = np.zeros((2, 2, 101))
    density[0, 0, 100] = density[0, 1, 40] = density[1, 1, 0] = 1.0
    density[1, 0, 20:36] = 1.0 / 16.0
    return density


@pytest.mark.parametrize("prior", ["major", "clonal"])
@pytest.mark.parametrize("s", [50.0, math.inf])
def test_against_sums_over_all_counts(s, prior):
    seen = observations(
        [[40, 10], [60, 0], [3, 30], [9, 0], [9, 0]],
        [[100, 90], [100, 0], [40, 60], [80, 50], [80, 50]],
        [[1, 1], [2, 2], [3, 2], [2, 2], [2, 2]],
        [[1, 1], [1, 1], [0, 0], [0, 0], [0, 0]],
    )
    labels = np.array([0, 0, 1, 1, -1])
    grid = np.linspace(0, 1, 101)
    found = reads_given_clusters([(loci_of(deduplicate(seen), prior), s)], labels, densities(), grid)
    for i, d in np.ndindex(5, 2):
        if labels[i] < 0 or not seen.has_data[i, d]:
            assert np.isnan([found.fit[i, d], found.expected_reads[i, d]]).all()
            continue
        states = genotype_states(prior, seen.major_cn[i, d], seen.minor_cn[i, d], 2)
        weights = densities()[labels[i], d]
        n, b = seen.depth[i, d], seen.alt_counts[i, d]
        pmf = np.zeros((len(states), n + 1))
        for k, state in enumerate(states):
            for x in np.flatnonzero(weights):
                mean = float(variant_share(np.array(state), grid[x], 0.8, 0.001))
                is_rare = prior == "clonal" and state[3] > 1 and grid[x] < 1
                weight = weights[x] * (LOOSE if is_rare else 1.0)
                pmf[k] += weight * distribution(n, mean, s).pmf(np.arange(n + 1))
        pmf /= pmf.sum()
        total = pmf.sum(axis=0)
        below, above = total[:b].sum() + total[b] / 2, total[b + 1 :].sum() + total[b] / 2
        assert found.fit[i, d] == pytest.approx(2 * min(below, above), rel=1e-5)
        assert found.expected_reads[i, d] == pytest.approx(total @ np.arange(n + 1), rel=1e-6)


def test_samples_apart_are_as_together():
    seen = observations([[40, 10], [3, 30]], [[100, 90], [40, 60]], [[1, 2], [3, 2]], [[1, 1], [0, 0]])
    labels, grid = np.array([0, 1]), np.linspace(0, 1, 101)
    together = reads_given_clusters([(loci_of(deduplicate(seen), "major"), 80.0)], labels, densities(), grid)
    columns = [
        observations(
            *(getattr(seen, name)[:, [d]] for name in ("alt_counts", "depth", "major_cn", "minor_cn"))
        )
        for d in range(2)
    ]
    parts = [(loci_of(deduplicate(column), "major"), 80.0) for column in columns]
    apart = reads_given_clusters(parts, labels, densities(), grid)
    for one, other in zip(together, apart):
        np.testing.assert_array_equal(one, other)


def test_quantiles_stand_for_a_posterior():
    points = probable_prevalences(densities(), np.linspace(0, 1, 101))
    assert points.shape == (2, 2, POINTS)
    assert (points[0, 0] == 1.0).all()
    assert (points[1, 1] == 0.0).all()
    np.testing.assert_allclose(points[1, 0], np.arange(20, 36) / 100)


def test_fit_is_uniform_for_reads_from_the_model():
    rng = np.random.default_rng(3)
    n, mean = 20_000, float(variant_share(np.array([2, 2, 2, 1]), 0.4, 0.8, 0.001))
    depth = np.full((n, 1), 500)
    alt = rng.binomial(500, mean, (n, 1))
    density = np.zeros((1, 1, 101))
    density[0, 0, 40] = 1.0
    one = np.ones((n, 1))
    found = reads_given_clusters(
        [(loci_of(deduplicate(observations(alt, depth, one, one)), "major"), math.inf)],
        np.zeros(n, np.int64),
        density,
        np.linspace(0, 1, 101),
    )
    for level in (0.01, 0.1, 0.5):
        assert np.mean(found.fit < level) == pytest.approx(level, rel=0.15)
