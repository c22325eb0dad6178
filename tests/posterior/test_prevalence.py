"""Prevalences averaged over partitions, against a slow and obvious computation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from pyclone_pgsm.posterior.prevalence import (
    BlockPosteriors,
    Moments,
    block_posteriors,
    cluster_prevalences,
    mutation_prevalences,
)
from pyclone_pgsm.posterior.states import DEFAULT_THRESHOLDS, Thresholds
from pyclone_pgsm.posterior.tumour import number_of_draws
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import simulate
from pyclone_pgsm.tumour.grid import Setting, deduplicate, likelihood_grid, loci_of, prevalence_grid
from pyclone_pgsm.tumour.model import PyCloneModel

G, T, D = 41, 9, 3
PRECISIONS = (30.0, np.inf, 1000.0, 30.0, 200.0)
DRAWS = np.array(
    [
        [0, 0, 1, 1, 2, 2, 0, 3, 3],
        [0, 0, 1, 1, 2, 2, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 1, 2, 3, 4, 5, 6, 7, 8],
        [0, 0, 1, 2, 1, 2, 3, 3, 3],
    ]
)


@pytest.fixture(scope="module")
def observations():
    options = SimulationOptions(
        mutations=T, samples=D, clusters=3, missing=0.3, depth=40, copy_numbers="mixed"
    )
    return simulate(options, np.random.default_rng(5)).observations


@pytest.fixture(scope="module")
def weights(observations) -> NDArray[np.float64]:
    """(M, T, D, G) posterior of each mutation's prevalence given each partition, in logs from the grid's xi."""
    table = deduplicate(observations)
    found = np.empty((len(DRAWS), T, D, G))
    for m, (labels, precision) in enumerate(zip(DRAWS, PRECISIONS)):
        xi = likelihood_grid(loci_of(table, "major"), prevalence_grid(G), Setting(precision)).xi
        log_likelihood = np.array(
            [
                [xi[table.index[i, d]] if observations.has_data[i, d] else np.zeros(G) for d in range(D)]
                for i in range(T)
            ]
        )
        for i in range(T):
            total = log_likelihood[labels == labels[i]].sum(axis=0)
            total = np.exp(total - total.max(axis=-1, keepdims=True))
            found[m, i] = total / total.sum(axis=-1, keepdims=True)
    return found


@pytest.fixture(scope="module")
def blocks(observations):
    model = PyCloneModel(deduplicate(observations), G, "major", None)
    return block_posteriors((model.likelihood((p,)), labels) for p, labels in zip(PRECISIONS, DRAWS))


EVEN, CURVED = prevalence_grid(G), prevalence_grid(G, "learned")


def cells(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([[0.0], grid[:-1] + np.diff(grid) / 2, [1.0]])


def shortest_interval(
    mass: NDArray[np.float64], grid: NDArray[np.float64] | None = None, share: float = 0.95
) -> tuple[float, float]:
    """Of a piecewise uniform density on the cells around the grid points, by trying very many left ends."""
    edges = cells(np.linspace(0, 1, len(mass)) if grid is None else grid)
    below = np.append(0, np.cumsum(mass)) / mass.sum()
    strict = below + np.arange(len(below)) * 1e-15
    lefts = np.concatenate([edges, np.interp(strict - share, strict, edges)])
    lefts = np.concatenate([lefts, np.linspace(0, 1, 2001)])
    start = np.interp(lefts, edges, below)
    possible = start + share <= 1 + 1e-12
    rights = np.interp(start[possible] + share, strict, edges)
    best = np.argmin(rights - lefts[possible])
    return lefts[possible][best], rights[best]


def mass_above(mass: NDArray[np.float64], grid: NDArray[np.float64], threshold: float) -> float:
    """Of a piecewise uniform density on the cells around the grid points."""
    return 1.0 - np.interp(threshold, cells(grid), np.append(0, np.cumsum(mass)) / mass.sum())


def check(moments, weights: NDArray[np.float64], grid: NDArray[np.float64]) -> None:
    """Moments (n, D) against posteriors (n, D, G)."""
    mean = weights @ grid
    np.testing.assert_allclose(moments.mean, mean, atol=2e-7)
    variance = (weights * (grid - mean[..., np.newaxis]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(moments.std, np.sqrt(variance), atol=2e-6)
    edges = cells(grid)
    for found, threshold in ((moments.prob_present, 0.01), (moments.prob_clonal, 0.95)):
        expected = [mass_above(weights[where], grid, threshold) for where in np.ndindex(mean.shape)]
        np.testing.assert_allclose(found.ravel(), expected, atol=2e-6)
    assert ((moments.lower <= moments.mean) & (moments.mean <= moments.upper)).all()
    for where in np.ndindex(mean.shape):
        lower, upper = moments.lower[where], moments.upper[where]
        best = shortest_interval(weights[where], grid)
        if not best[0] <= mean[where] <= best[1]:
            np.testing.assert_allclose(
                [lower, upper], [min(best[0], mean[where]), max(best[1], mean[where])], atol=2e-5
            )
            continue
        assert upper - lower == pytest.approx(best[1] - best[0], abs=2e-5)
        below = np.append(0, np.cumsum(weights[where]))
        assert np.diff(np.interp([lower, upper], edges, below))[0] == pytest.approx(0.95, abs=2e-6)


def one_posterior(mass: NDArray[np.float64], thresholds: Thresholds = DEFAULT_THRESHOLDS) -> Moments:
    """What is said of a posterior on a grid of any size."""
    blocks = BlockPosteriors(
        np.array([0, 1]),
        np.zeros((1, 1), np.int64),
        np.array([0, len(mass)]),
        (mass / mass.sum()).astype(np.float32),
    )
    return mutation_prevalences(blocks, np.zeros((1, 1), np.int64), np.linspace(0, 1, len(mass)), thresholds)


def normal(mean: float, sd: float) -> NDArray[np.float64]:
    mass = np.exp(-0.5 * ((np.linspace(0, 1, 101) - mean) / sd) ** 2)
    return mass / mass.sum()


def test_thresholds_split_their_cells():
    mass = np.zeros(11)
    mass[[0, 1, 9, 10]] = 0.1, 0.4, 0.3, 0.2
    found = one_posterior(mass, Thresholds(0.08, 0.96))
    # point 1 has the cell from 0.05 to 0.15, the last point that from 0.95 to 1
    assert found.prob_present[0, 0] == pytest.approx(0.5 + 0.4 * 0.7, abs=1e-6)
    assert found.prob_clonal[0, 0] == pytest.approx(0.2 * 0.8, abs=1e-6)
    assert one_posterior(mass, Thresholds(0.0, 0.95)).prob_present[0, 0] == pytest.approx(1.0, abs=1e-6)


def test_an_interval_holds_its_mean():
    """95.5 % of the posterior at 0.1, the rest far away: the shortest interval is about 0.1, and the mean is not."""
    mass = 0.955 * normal(0.1, 0.005) + 0.045 * normal(0.9, 0.005)
    found = one_posterior(mass)
    lower, upper = shortest_interval(mass)
    assert upper < found.mean[0, 0]
    assert found.upper[0, 0] == found.mean[0, 0] == pytest.approx(0.136, abs=1e-6)
    assert found.lower[0, 0] == pytest.approx(lower, abs=2e-5)
    assert one_posterior(mass[::-1]).lower[0, 0] == pytest.approx(1 - 0.136, abs=1e-6)


@pytest.mark.parametrize(
    ("mass", "peaks"),
    [
        (normal(0.4, 0.05), 1),
        (normal(0.0, 0.05) + normal(1.0, 0.05), 2),
        (normal(0.2, 0.02) + normal(0.5, 0.02) + normal(0.8, 0.02), 3),
        (0.8 * normal(0.2, 0.03) + 0.2 * normal(0.6, 0.03), 2),
        (0.95 * normal(0.2, 0.03) + 0.05 * normal(0.6, 0.03), 1),  # too small
        (normal(0.4, 0.05) + normal(0.55, 0.05), 1),  # the valley is shallow
        (np.ones(101), 1),
        (
            np.where(np.arange(101) % 100 == 0, 0.5, 1.0),
            1,
        ),  # the same density: cells at the ends are half as wide
        (np.eye(101)[30], 1),
    ],
)
def test_peaks(mass, peaks):
    assert one_posterior(mass).peaks.tolist() == [[peaks]]


@pytest.mark.parametrize("grid", [EVEN, CURVED], ids=["even", "curved"])
def test_mutations(blocks, weights, grid):
    moments = mutation_prevalences(blocks, DRAWS, grid)
    check(moments, weights.mean(axis=0), grid)
    assert (moments.std >= 0).all()


def test_mutation_alone_without_data_is_flat(blocks, observations):
    assert not observations.has_data.all()
    alone = mutation_prevalences(blocks._replace(first_block=blocks.first_block[3:5]), DRAWS[3:4], EVEN)
    for i, d in np.argwhere(~observations.has_data):
        # the first and the last point have half a cell
        assert alone.mean[i, d] == pytest.approx(0.5, abs=1e-6)
        assert alone.upper[i, d] - alone.lower[i, d] == pytest.approx(
            1 - (0.05 * G - 0.5) / (G - 1), abs=1e-6
        )


def test_mutation_without_data_borrows_from_its_block(blocks, observations):
    together = mutation_prevalences(blocks._replace(first_block=blocks.first_block[2:4]), DRAWS[2:3], EVEN)
    np.testing.assert_array_equal(together.mean, np.broadcast_to(together.mean[0], (T, D)))


@pytest.mark.parametrize("grid", [EVEN, CURVED], ids=["even", "curved"])
def test_clusters(blocks, weights, grid):
    """The posterior of a cluster is that of the block that holds most of its mutations; ties: the mean of these."""
    labels = np.array([0, 0, 1, 1, 2, 2, 0, 0, 0])
    moments, density = cluster_prevalences(blocks, DRAWS, labels, grid)
    expected = np.empty((3, D, G))
    for cluster in range(3):
        chosen = []
        for m, draw in enumerate(DRAWS):
            numbers = np.bincount(draw[labels == cluster])
            most = np.flatnonzero(numbers == numbers.max())
            chosen.append(np.mean([weights[m, np.argmax(draw == block)] for block in most], axis=0))
        expected[cluster] = np.mean(chosen, axis=0)
    np.testing.assert_allclose(density, expected, atol=1e-7)
    np.testing.assert_allclose(density.sum(axis=-1), 1.0, atol=1e-12)
    check(moments, expected, grid)


def test_a_cluster_does_not_depend_on_the_order_of_its_mutations(blocks):
    """Mutations 0 and 1 are not always in one block."""
    assert (DRAWS[:, 0] != DRAWS[:, 1]).any()
    labels = np.array([0, 0, 1, 1, 1, 1, 1, 1, 1])
    swapped = DRAWS.copy()
    swapped[:, [0, 1]] = DRAWS[:, [1, 0]]
    one, _ = cluster_prevalences(blocks, DRAWS, labels, EVEN)
    other, _ = cluster_prevalences(blocks, swapped, labels, EVEN)
    np.testing.assert_allclose(one.mean[0], other.mean[0], rtol=1e-12)


def test_negligible_mass_is_all_that_is_cut(blocks, weights):
    full = len(DRAWS) * T * D * G
    assert len(blocks.mass) < full
    assert blocks.first_block.tolist() == [0, 4, 7, 8, 17, 21]
    for m, labels in enumerate(DRAWS):
        for i in range(T):
            for d in range(D):
                row = (blocks.first_block[m] + labels[i]) * D + d
                begin, end = blocks.start[row], blocks.start[row + 1]
                low = blocks.low[blocks.first_block[m] + labels[i], d]
                dense = np.zeros(G)
                dense[low : low + end - begin] = blocks.mass[begin:end]
                np.testing.assert_allclose(dense, weights[m, i, d], atol=1e-7)


@pytest.mark.parametrize("where", [0, 17, G - 1])
def test_all_mass_on_one_point(where, blocks):
    """No division by nothing, and ends within 0 and 1."""
    one = blocks._replace(
        first_block=np.array([0, 1]),
        low=np.full((1, 1), where),
        start=np.array([0, 1]),
        mass=np.ones(1, np.float32),
    )
    moments = mutation_prevalences(one, np.zeros((1, 1), int), EVEN)
    at = where / (G - 1)
    assert moments.mean[0, 0] == pytest.approx(at)
    assert moments.std[0, 0] == 0.0
    assert 0 <= moments.lower[0, 0] <= at <= moments.upper[0, 0] <= 1
    assert moments.upper[0, 0] - moments.lower[0, 0] < 1 / (G - 1)


def test_larger_data_are_summarised_from_fewer_draws():
    sizes = (1, 2_000, 8_000, 250_000, 600_000, 10**7)
    assert [number_of_draws(size) for size in sizes] == [1000, 1000, 250, 240, 100, 60]
