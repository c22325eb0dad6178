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
from pyclone_pgsm.likelihoods.pyclone import PyClone, draw_grid_points
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
from pyclone_pgsm.tumour.grid import prevalence_grid
from pyclone_pgsm.tumour.model import PyCloneModel, watched_cells
from pyclone_pgsm.tumour.outliers import TumourWithOutliers, log_any_share

WEIGHTS = np.array([[0.7, 0.1, 0.2], [0.05, 0.9, 0.05]])


def values(weights: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(weights[:, :2].ravel().tolist())


def log_base(weights: NDArray[np.float64], grid_size: int) -> NDArray[np.float64]:
    """log G h_dk by scipy."""
    return np.log(grid_size * (weights @ enumeration.component_masses(grid_size)))


# ---------------------------------------------------------------- masses, prior and names


@pytest.mark.parametrize("grid_size", [2, 11, 101, 1601])
def test_masses_are_those_of_the_cells(grid_size: int) -> None:
    """Cells end half-way between points and at 0 and 1; those at the ends are half as wide."""
    found = component_masses(prevalence_grid(grid_size, "learned"))
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


def test_drawn_weights_given_prevalences() -> None:
    """Dirichlet(1 + n_0, 1 + n_1, 2 + n_2), averaged over the components of three blocks, in each of two samples."""
    points = np.array([[0, 10], [1, 5], [9, 0]])
    components = component_masses(enumeration.learned_grid(11))
    rng = np.random.default_rng(3)
    drawn = np.array([draw_weights(points, WEIGHTS, components, rng) for _ in range(20_000)])
    for d in range(2):
        of_components = WEIGHTS[d] * enumeration.component_masses(11)[:, points[:, d]].T
        of_components /= of_components.sum(axis=1, keepdims=True)
        mixture = np.zeros(9)
        for choice in np.ndindex(3, 3, 3):
            prob = np.prod([of_components[b, j] for b, j in enumerate(choice)])
            alpha = np.bincount(choice, minlength=3) + np.array([1.0, 1.0, 2.0])
            mixture += prob * cells_of_dirichlet(alpha)
        assert mixture.sum() == pytest.approx(1.0)
        counts = np.bincount(triangle_of(drawn[:, 2 * d : 2 * d + 2], 3), minlength=9)
        assert chi_square_p_value(counts, mixture) > 1e-4


def cells_of_dirichlet(alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability of each of nine triangles."""
    points, quadrature = nodes(3)
    return np.exp(stats.dirichlet.logpdf(points.reshape(-1, 3).T, alpha)).reshape(9, -1) @ quadrature


def test_weights_of_one_component_stay_above_zero() -> None:
    rng = np.random.default_rng(4)
    all_absent = np.zeros((100_000, 1), np.int64)
    weights = np.array([[1.0 - 2e-9, 1e-9, 1e-9]])
    for _ in range(20):
        weights = all_weights(
            draw_weights(all_absent, weights, component_masses(enumeration.learned_grid(101)), rng)
        )
        assert weights.min() > 0
        assert np.isfinite(log_prior_density(weights))


def test_prevalences_are_of_the_cells() -> None:
    drawn = draw_prevalences(WEIGHTS, 20_000, np.random.default_rng(5))
    grid = enumeration.learned_grid(11)
    for d in range(2):
        counts = np.bincount(np.abs(drawn[:, d, None] - grid).argmin(axis=1), minlength=11)
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


def test_drawn_points_are_of_the_components_by_their_definition(
    deep: tuple[PyCloneModel, NDArray[np.int32]],
) -> None:
    """p_bdj ∝ w_dj sum_k A_jk exp(sum of Xi); of a block without data the weights."""
    model, labels = deep
    likelihood = model.likelihood(values(WEIGHTS))
    components = enumeration.component_masses(401)
    partition = built(likelihood, labels)
    rng = np.random.default_rng(7)
    of_points = WEIGHTS[:, :, None] * components / likelihood.base[:, None]  # (D, 3, G)
    drawn = np.array([draw_grid_points(likelihood, partition, rng) for _ in range(4000)])
    blocks = partition.position[partition.labels]
    assert drawn.shape == (4000, 6, 2)
    for b, d in np.ndindex(6, 2):
        rows = likelihood.index[blocks == b, d]
        sums = likelihood.xi[rows[rows >= 0]].sum(axis=0)
        masses = WEIGHTS[d] * (components @ np.exp(sums - sums.max()))
        found = of_points[d][:, drawn[:, b, d]].mean(axis=1)
        np.testing.assert_allclose(found, masses / masses.sum(), atol=0.03)
        if b == blocks[labels == 2][0] and d == 1:
            np.testing.assert_allclose(found, WEIGHTS[1], atol=0.03)


def test_watched_prevalences_are_drawn_from_the_posterior_of_the_block(
    deep: tuple[PyCloneModel, NDArray[np.int32]],
) -> None:
    """Also after sweeps that add observations and take them away."""
    model, labels = deep
    likelihood = model.likelihood(values(WEIGHTS))
    prior = DirichletProcess(1.0, None, None)
    tables = PartitionPrior(prior.log_tau1(40), prior.log_tau2(40))
    partition, rng = built(likelihood, labels), np.random.default_rng(1)
    for _ in range(3):
        partition, _ = compiled_for(gibbs_sweep, PyClone)(likelihood, tables, partition, model.order, rng)
    draws = 4000
    found = np.array([model.watched(likelihood, partition, rng) for _ in range(draws)], float)
    mutations, samples = watched_cells(40, 2)
    assert found.shape == (draws, 40)
    grid = enumeration.learned_grid(401)
    for column, (mutation, d) in enumerate(zip(mutations, samples)):
        rows = likelihood.index[partition.labels == partition.labels[mutation], d]
        log_p = likelihood.log_base[d] + likelihood.xi[rows[rows >= 0]].sum(axis=0)
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        mean = p @ grid
        sd = np.sqrt(p @ (grid - mean) ** 2)
        assert found[:, column].mean() == pytest.approx(mean, abs=4.5 * sd / np.sqrt(draws) + 1e-7)
        assert found[:, column].std() == pytest.approx(sd, rel=0.1, abs=1e-7)


def test_outliers_tell_nothing_of_the_weights() -> None:
    """A block of nothing but outliers is one without data, and its component is drawn from the weights."""
    data = observations([[0, 0], [0, 0], [9, 9]], [[40, 40], [40, 40], [20, 20]])
    model = TumourWithOutliers(
        pyclone_model(data, 101, prevalence_prior="learned"),
        0.2,
        log_any_share(data),
    ).given(np.array([True, True, False]))
    weights = values(WEIGHTS)
    likelihood = model.likelihood(weights)
    assert likelihood.log_alone[:2].tolist() == [0.0, 0.0]
    partition = built(likelihood, np.array([0, 1, 2], np.int32))
    rng = np.random.default_rng(6)
    means = [model.draw_given_parameters(weights, likelihood, partition, (), rng, True) for _ in range(2000)]
    components = enumeration.component_masses(101)
    likelihood = model.full_likelihood(weights)
    for d in range(2):
        masses = WEIGHTS[d] * (components @ likelihood.likelihood[likelihood.index[2, d]])
        counts = 2 * WEIGHTS[d] + masses / masses.sum()
        expected = ((np.array([1.0, 1.0, 2.0]) + counts) / 7)[:2]
        np.testing.assert_allclose(np.mean(means, axis=0)[2 * d : 2 * d + 2], expected, atol=0.015)


def test_prevalences_of_an_outlier_are_uniform_before_its_reads() -> None:
    """Its likelihood, and the prevalences that are drawn for it, weight grid points by the width of their cells."""
    data = observations([[3, 9]] * 4000, [[40, 40]] * 4000)
    model = TumourWithOutliers(
        pyclone_model(data, 11, prevalence_prior="learned"), 0.2, log_any_share(data)
    ).given(np.ones(4000, bool))
    likelihood = model.full_likelihood(values(WEIGHTS))
    xi = likelihood.xi + likelihood.xi_max[:, None]
    posterior = np.exp(xi[likelihood.index[0]]) * enumeration.component_masses(11)[2]  # (D, G)
    alone, any_share = np.log(posterior.sum(axis=1)).sum(), log_any_share(data)[0]
    np.testing.assert_allclose(
        model.log_outlier(values(WEIGHTS)), np.logaddexp(alone, any_share) - np.log(2), rtol=1e-9
    )
    rng = np.random.default_rng(1)
    index, points = model.rows_and_points(
        model.likelihood(values(WEIGHTS)), np.zeros((4000, 2), np.int64), rng
    )
    of_own = index[:, 0] >= 0
    assert abs(of_own.mean() - 1 / (1 + np.exp(any_share - alone))) < 0.03
    for d in range(2):
        counts = np.bincount(points[of_own, d], minlength=11)
        assert chi_square_p_value(counts, posterior[d] / posterior[d].sum()) > 1e-4


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
