"""The learned base measure: its masses, its prior, the draw of the weights, and what follows from new ones."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.integrate import dblquad

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
sys.path.insert(0, str(Path(__file__).parents[1]))
import enumeration
from cases import observations, pyclone_log_marginal, pyclone_model
from enumeration import chi_square_p_value
from learned import nodes, triangle_of
from small_runs import bits, run

from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.pyclone import (
    PyClone,
    change_base,
    posterior_means,
)
from pyclone_pgsm.likelihoods.pyclone.statistic import part_of
from pyclone_pgsm.partition import Partition, PartitionPrior, build_partition
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.samplers.gibbs import gibbs_sweep
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import simulate
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.tumour.base_measure import (
    all_weights,
    component_masses,
    draw_prevalences,
    draw_weights,
    initial_weights,
    log_prior_density,
    weight_names,
)
from pyclone_pgsm.tumour.model import PyCloneModel
from pyclone_pgsm.tumour.outliers import TumourWithOutliers, log_any_share

WEIGHTS = np.array([[0.7, 0.1, 0.2], [0.05, 0.9, 0.05]])
OTHERS = np.array([[0.02, 0.5, 0.48], [0.6, 0.3, 0.1]])


def values(weights: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(weights[:, :2].ravel().tolist())


def log_base(weights: NDArray[np.float64], grid_size: int) -> NDArray[np.float64]:
    """log G h_dk by scipy."""
    return np.log(grid_size * (weights @ enumeration.component_masses(grid_size)))


# ---------------------------------------------------------------- masses, prior and names


@pytest.mark.parametrize("grid_size", [2, 11, 101, 1601])
def test_masses_are_those_of_the_cells(grid_size: int) -> None:
    """Cells end half-way between points and at 0 and 1; those at the ends are half as wide."""
    found = component_masses(grid_size)
    np.testing.assert_allclose(found, enumeration.component_masses(grid_size), rtol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert found.min() > 0


def test_prior_of_the_weights() -> None:
    def density(b: float, a: float) -> float:
        return float(np.exp(log_prior_density(np.array([[a, b, 1 - a - b]]))))

    assert dblquad(density, 0, 1, 0, lambda a: 1 - a)[0] == pytest.approx(1.0)
    expected = sum(stats.dirichlet.logpdf(each, [1.0, 1.0, 2.0]) for each in WEIGHTS)
    assert log_prior_density(WEIGHTS) == pytest.approx(expected)


def test_names_and_values() -> None:
    """Two weights a sample, after everything else, at the prior's mean first."""
    data = observations([[3, 8], [9, 2]], [[10, 30], [20, 40]])
    model = pyclone_model(data, 11, precision=None, prevalence_prior="learned")
    weights = ("weight_absent:s0", "weight_clonal:s0", "weight_absent:s1", "weight_clonal:s1")
    assert weight_names(["s0", "s1"]) == list(weights)
    assert model.hyperparameters == ("precision", *weights)
    assert (model.num_drawn, model.num_proposals) == (1, 0)
    assert model.initial_values()[1:] == initial_weights(2) == (0.25,) * 4
    np.testing.assert_allclose(all_weights(values(WEIGHTS)), WEIGHTS)
    found = model.log_hyperprior((np.inf, *values(WEIGHTS)))
    assert found == pytest.approx(np.log(0.5) + log_prior_density(WEIGHTS))


def test_a_model_with_nothing_else_unknown_proposes_nothing() -> None:
    model = pyclone_model(observations([[3], [9]], [[10], [20]]), 11, prevalence_prior="learned")
    assert model.num_proposals == 0
    assert model.choices == ()
    assert model.hyperparameters == ("weight_absent:s0", "weight_clonal:s0")


def test_the_likelihood_has_the_base_measure() -> None:
    data = observations([[3, 8], [9, 0]], [[10, 30], [20, 40]], has_data=[[1, 1], [0, 1]])
    model = pyclone_model(data, 41, prevalence_prior="learned")
    likelihood = model.likelihood(values(WEIGHTS))
    np.testing.assert_allclose(likelihood.log_base, log_base(WEIGHTS, 41), atol=1e-9)
    np.testing.assert_allclose(likelihood.base, np.exp(likelihood.log_base) / 41, rtol=1e-12)
    marginal = pyclone_log_marginal(likelihood, tuple(map(tuple, WEIGHTS)))
    left_out = np.where(likelihood.index < 0, 0.0, likelihood.xi_max[likelihood.index]).sum(axis=1)
    np.testing.assert_allclose(likelihood.log_alone + left_out, [marginal([0]), marginal([1])], rtol=1e-10)


# ---------------------------------------------------------------- new weights


def test_drawn_weights_given_fixed_probabilities() -> None:
    """Dirichlet(1 + n_0, 1 + n_1, 2 + n_2), averaged over the components of three blocks, in each of two samples."""
    probabilities = np.array([[[0.9, 0.05], [0.0, 1.0]], [[0.2, 0.5], [0.1, 0.1]], [[0.3, 0.3], [0.0, 0.2]]])
    rng = np.random.default_rng(3)
    drawn = np.array([draw_weights(probabilities, rng) for _ in range(20_000)]).reshape(-1, 2, 2)
    of_components = np.concatenate([probabilities, 1 - probabilities.sum(axis=2, keepdims=True)], axis=2)
    for d in range(2):
        mixture = np.zeros(9)
        for choice in np.ndindex(3, 3, 3):
            prob = np.prod([of_components[b, d, j] for b, j in enumerate(choice)])
            if prob > 0:
                alpha = np.bincount(choice, minlength=3) + np.array([1.0, 1.0, 2.0])
                mixture += prob * cells_of_dirichlet(alpha)
        assert mixture.sum() == pytest.approx(1.0)
        counts = np.bincount(triangle_of(drawn[:, d], 3), minlength=9)
        assert chi_square_p_value(counts, mixture) > 1e-4


def cells_of_dirichlet(alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability of each of nine triangles."""
    points, quadrature = nodes(3)
    return np.exp(stats.dirichlet.logpdf(points.reshape(-1, 3).T, alpha)).reshape(9, -1) @ quadrature


def test_weights_of_one_component_stay_above_zero() -> None:
    rng = np.random.default_rng(4)
    all_absent = np.broadcast_to([1.0, 0.0], (100_000, 1, 2))
    for _ in range(20):
        weights = all_weights(draw_weights(all_absent, rng))
        assert weights.min() > 0
        assert np.isfinite(log_prior_density(weights))


def test_prevalences_are_of_the_cells() -> None:
    drawn = draw_prevalences(WEIGHTS, 20_000, np.random.default_rng(5))
    for d in range(2):
        counts = np.bincount(np.round(drawn[:, d] * 10).astype(int), minlength=11)
        assert chi_square_p_value(counts, WEIGHTS[d] @ enumeration.component_masses(11)) > 1e-4


def built(likelihood: PyClone, labels: NDArray[np.int32]) -> Partition:
    return compiled_for(build_partition, PyClone)(likelihood, labels)


@pytest.fixture(scope="module")
def deep() -> tuple[PyCloneModel, NDArray[np.int32]]:
    """Reads so deep that blocks have narrow windows, and blocks without data in a sample."""
    options = SimulationOptions(mutations=40, samples=2, clusters=6, depth=800.0, missing=0.2)
    made = simulate(options, np.random.default_rng(2))
    data = made.observations
    labels = made.cluster.astype(np.int32)
    data.has_data[labels == 2, 1] = False
    return pyclone_model(data, 401, prevalence_prior="learned"), labels


def statistic_parts(
    likelihood: PyClone, partition: Partition, sample: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """S (K, G), W (K, G), 0 outside the window, and log sum exp(S) (K,) of a sample."""
    stats = partition.stats[partition.active[: int(partition.counter[0])]]
    G = likelihood.xi.shape[1]
    part = part_of(0, sample, G, likelihood.low.shape[1])
    k = np.arange(G)
    is_inside = (stats[:, [part.lo]] <= k) & (k < stats[:, [part.hi]])
    weights = np.where(is_inside, stats[:, part.weights : part.weights + G], 0.0)
    return stats[:, part.sums : part.sums + G], weights, stats[:, part.log_z]


def test_changed_statistics_are_as_built_anew(deep: tuple[PyCloneModel, NDArray[np.int32]]) -> None:
    """There and back, after sweeps that add observations and take them away."""
    model, labels = deep
    rng = np.random.default_rng(1)
    before, after = model.likelihood(values(WEIGHTS)), model.likelihood(values(OTHERS))
    prior = DirichletProcess(1.0, None, None)
    tables = PartitionPrior(prior.log_tau1(40), prior.log_tau2(40))
    partition = built(before, labels)
    for _ in range(3):
        partition, _ = compiled_for(gibbs_sweep, PyClone)(before, tables, partition, model.order, rng)
    for _ in range(2):
        compiled_for(change_base, PyClone)(after, before.log_base, partition)
        blocks = partition.position[partition.labels]
        anew = built(after, blocks.astype(np.int32))
        order = anew.position[anew.labels][[np.flatnonzero(blocks == b)[0] for b in range(blocks.max() + 1)]]
        for d in range(2):
            for changed, fresh in zip(statistic_parts(after, partition, d), statistic_parts(after, anew, d)):
                np.testing.assert_allclose(changed, fresh[order], rtol=1e-9, atol=1e-9)
        before, after = after, before


def test_probabilities_of_components_by_their_definition(
    deep: tuple[PyCloneModel, NDArray[np.int32]],
) -> None:
    """p_bdj ∝ w_dj sum_k A_jk exp(sum of Xi); of a block without data the weights."""
    model, labels = deep
    likelihood = model.likelihood(values(WEIGHTS))
    components = enumeration.component_masses(401)
    shares = WEIGHTS.T[:2, :, None] * component_masses(401)[:2, None, :] / likelihood.base
    partition = built(likelihood, labels)
    found = compiled_for(posterior_means, PyClone)(likelihood, shares, partition)
    blocks = partition.position[partition.labels]
    assert found.shape == (6, 2, 2)
    for b, d in np.ndindex(6, 2):
        rows = likelihood.index[blocks == b, d]
        sums = likelihood.xi[rows[rows >= 0]].sum(axis=0)
        masses = WEIGHTS[d] * (components @ np.exp(sums - sums.max()))
        np.testing.assert_allclose(found[b, d], (masses / masses.sum())[:2], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(found[blocks[labels == 2][0], 1], WEIGHTS[1, :2], rtol=1e-9)


def test_outliers_tell_nothing_of_the_weights() -> None:
    """A block of nothing but outliers is one without data, and its component is drawn from the weights."""
    data = observations([[0, 0], [0, 0], [9, 9]], [[40, 40], [40, 40], [20, 20]])
    model = TumourWithOutliers(
        pyclone_model(data, 101, prevalence_prior="learned"),
        0.2,
        log_any_share(data),
        np.array([True, True, False]),
    )
    weights = values(WEIGHTS)
    rng, means = np.random.default_rng(6), []
    for _ in range(2000):
        likelihood = model.likelihood(weights)
        partition = built(likelihood, np.array([0, 1, 2], np.int32))
        drawn, changed = model.draw_conditionals(weights, likelihood, partition, rng)
        means.append(drawn)
        assert changed.log_alone[:2].tolist() == [0.0, 0.0]
    components = enumeration.component_masses(101)
    likelihood = model.full_likelihood(weights)
    for d in range(2):
        masses = WEIGHTS[d] * (components @ likelihood.likelihood[likelihood.index[2, d]])
        counts = 2 * WEIGHTS[d] + masses / masses.sum()
        expected = ((np.array([1.0, 1.0, 2.0]) + counts) / 7)[:2]
        np.testing.assert_allclose(np.mean(means, axis=0)[2 * d : 2 * d + 2], expected, atol=0.015)


# ---------------------------------------------------------------- runs


def test_resumed_chains_have_the_same_weights(tmp_path: Path) -> None:
    """Bit by bit, in a trace with the weights under their names."""
    model = analysis.ModelOptions(prevalence_prior="learned")
    whole = run(tmp_path / "whole.h5", iterations=47, model=model)
    parts = run(tmp_path / "parts.h5", iterations=31, model=model)
    assert analysis.resume(parts, 47) == 47
    assert bits(parts) == bits(whole)
    with Trace(whole) as trace:
        for chain in trace.chains:
            for name in weight_names(["S1", "S2"]):
                drawn = chain.hyperparameters[name]
                assert len(np.unique(drawn)) == 47
                assert ((drawn > 0) & (drawn < 1)).all()
