"""Numbers of mutant copies, against sums over states and prevalences, and against truths drawn from the model."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pyclone_pgsm.posterior.multiplicity import Multiplicities, mutant_copies
from pyclone_pgsm.simulate.tumour import variant_share
from pyclone_pgsm.tumour.genotypes import LOOSE, genotype_states
from pyclone_pgsm.tumour.grid import deduplicate, loci_of, prevalence_grid, split_by_sample
from tests.posterior.test_reads import distribution, observations

GRID = prevalence_grid(101, "learned")


def random_densities(rng, *shape: int) -> np.ndarray:
    """Return posteriors on some of the grid's points."""
    density = rng.random((*shape, len(GRID))) * (rng.random((*shape, len(GRID))) < 0.1)
    density[..., -1] += 0.1
    return density / density.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("prior", ["major", "clonal"])
@pytest.mark.parametrize("s", [50.0, math.inf])
def test_against_sums(s, prior):
    """For all samples together, for each sample, and for some mutations at a time."""
    seen = observations(
        [[40, 10], [60, 0], [3, 30], [9, 0]],
        [[100, 90], [100, 0], [40, 60], [80, 50]],
        [[1, 1], [2, 2], [3, 2], [2, 2]],
        [[1, 1], [1, 1], [0, 0], [0, 0]],
    )
    table, density = deduplicate(seen), random_densities(np.random.default_rng(0), 4, 2)
    together = Multiplicities([(loci_of(table, prior), s)], GRID)
    together.find(0, density)
    apart = Multiplicities([(loci_of(part, prior), s) for part in split_by_sample(table)], GRID)
    apart.find(0, density[:1])
    apart.find(1, density[1:])
    np.testing.assert_array_equal(apart.number, together.number)
    np.testing.assert_array_equal(apart.probability, together.probability)
    for i, d in np.ndindex(4, 2):
        if not seen.has_data[i, d]:
            assert together.number[i, d] == 0
            assert np.isnan(together.probability[i, d])
            continue
        states = genotype_states(prior, seen.major_cn[i, d], seen.minor_cn[i, d], 2)
        share = np.zeros(4)
        for phi, mass in zip(GRID, density[i, d]):
            p = np.zeros(4)
            for state in states:
                mean = float(variant_share(np.array(state), phi, 0.8, 0.001))
                is_rare = prior == "clonal" and state[3] > 1 and phi < 1
                mass_of_reads = distribution(seen.depth[i, d], mean, s).pmf(seen.alt_counts[i, d])
                p[state[3]] += (LOOSE if is_rare else 1.0) * mass_of_reads
            share += mass * p / p.sum()
        assert together.number[i, d] == np.argmax(share)
        assert together.probability[i, d] == pytest.approx(share.max(), rel=1e-7)


def test_a_sample_without_reads():
    parts = split_by_sample(deduplicate(observations([[5, 0]], [[9, 0]], [[2, 2]], [[1, 1]])))
    found = Multiplicities([(loci_of(part, "major"), 80.0) for part in parts], GRID)
    found.find(0, random_densities(np.random.default_rng(0), 1, 2))
    assert found.number[0, 0] > 0
    assert found.number[0, 1] == 0
    assert np.isnan(found.probability[0, 1])


def test_probabilities_are_calibrated():
    """Prevalence and genotype are drawn from the prior: each probability is right as often as it says."""
    rng = np.random.default_rng(4)
    n, depth = 4000, 60
    states = np.array(genotype_states("major", 3, 1, 2))
    grid = np.linspace(0, 1, 101)
    phi = rng.choice(grid, n)
    drawn = states[rng.integers(len(states), size=n)]
    means = np.array([[variant_share(state, x, 0.8, 0.001) for x in grid] for state in states], float)
    at = np.searchsorted(grid, phi)
    which = np.array([np.flatnonzero((states == one).all(axis=1))[0] for one in drawn])
    alt = rng.binomial(depth, means[which, at])
    density = stats.binom.pmf(alt[:, None, None], depth, means).sum(axis=1)
    density /= density.sum(axis=1, keepdims=True)
    one = np.ones((n, 1))
    seen = observations(alt[:, None], depth * one, 3 * one, one)
    found = Multiplicities([(loci_of(deduplicate(seen), "major"), math.inf)], grid)
    found.find(0, density[:, None])
    right, claimed = found.number[:, 0] == drawn[:, 3], found.probability[:, 0]
    for low, high in ((0.0, 0.6), (0.6, 0.8), (0.8, 1.01)):
        inside = (claimed >= low) & (claimed < high)
        assert inside.sum() > 300
        error = 4 * math.sqrt(np.mean(claimed[inside] * (1 - claimed[inside])) / inside.sum())
        assert right[inside].mean() == pytest.approx(claimed[inside].mean(), abs=error)


def test_copies_of_two_states():
    """In most of the cells that carry the mutation."""
    state = np.array([2.0, 3.0, 4.0, 3.0, 2.0, 0.4, 0.0, 0.0])
    assert [mutant_copies(state, x) for x in (0.1, 0.4, 0.79, 0.81, 1.0)] == [3, 3, 3, 2, 2]
    state[6] = 1.0  # only where all cells of the state have it
    assert [mutant_copies(state, x) for x in (0.1, 0.4, 0.79, 0.81, 1.0)] == [1, 3, 3, 1, 2]
    state[4] = 0.0  # cells of the other state have lost it
    assert mutant_copies(state, 1.0) == 3


def test_two_states_of_copy_number():
    """Clonal on the gained copies: two of three in the cells with the gain, one in the others."""
    second = {
        "subclonal_major_cn": np.array([[2]]),
        "subclonal_minor_cn": np.array([[1]]),
        "subclonal_fraction": np.array([[0.9]]),
    }
    seen = observations([[610]], [[1000]], [[1]], [[1]], **second)
    found = Multiplicities([(loci_of(deduplicate(seen), "major"), math.inf)], GRID)
    found.find(0, np.eye(101)[None, None, 100])
    assert found.number[0, 0] == 2
    assert found.probability[0, 0] > 0.9
