"""Partition, outliers, precision and the weights of the base measure together, against all combinations.

As in learned.py the weights are binned into triangles. One step from the posterior is still the posterior; chains reach
it; and the log joint of the trace is that of everything unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from cases import observations, pyclone_log_marginal, pyclone_model
from enumeration import blocks_of, chi_square_p_value
from learned import Joint, dirichlet_moments, enumerate_joint, triangle_of, triangles
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammaln
from seating import seating_probability
from test_chains import ANY_CONCENTRATION, check_frequencies, concentration_integral
from test_outliers import DP, PROB, Kernels, key

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.likelihoods.choice import Choice
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.sampling.chain import advance, start_chain
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.tumour import model as tumour_model
from pyclone_pgsm.tumour.model import PyCloneModel
from pyclone_pgsm.tumour.outliers import TumourWithOutliers, log_any_share

T = 4
G = 11
PRECISIONS = {4.0: 1 / 6, 25.0: 3 / 6, np.inf: 2 / 6}
REPLICATES = 4_000  # as in test_broken_base.py, where every fault is caught

LogPrior = Callable[[NDArray[np.int32]], float]


@pytest.fixture(autouse=True)
def _few_precisions(monkeypatch: pytest.MonkeyPatch) -> None:
    few = Choice(tuple(PRECISIONS), tuple(PRECISIONS.values()), 25.0, (1, 1, 2))
    monkeypatch.setattr(tumour_model, "PRECISION", few)


def one_sample() -> Observations:
    """Near 0, near 1 and between."""
    return observations([[0], [1], [10], [5]], [[20], [24], [22], [26]])


def two_samples() -> Observations:
    """The last mutation has no data in the second sample."""
    alt, depth = [[0, 9], [1, 10], [9, 0], [5, 4]], [[20, 20], [24, 26], [20, 25], [28, 30]]
    return observations(alt, depth, has_data=[[1, 1], [1, 1], [1, 1], [1, 0]])


DATA = {make.__name__: make for make in (one_sample, two_samples)}


def make_model(data: Observations, grid_size: int = G) -> PyCloneModel:
    return pyclone_model(data, grid_size, precision=None, prevalence_prior="learned")


def log_seating(labels: NDArray[np.int32]) -> float:
    return float(np.log(seating_probability(DP, labels)))


def log_any_concentration(labels: NDArray[np.int32]) -> float:
    sizes = np.bincount(labels)
    return float(np.log(concentration_integral(len(sizes), T)) + gammaln(sizes).sum())


@cache
def joint_of(name: str, with_outliers: bool, num_triangles: int, log_prior: LogPrior = log_seating) -> Joint:
    model: PyCloneModel | TumourWithOutliers = make_model(DATA[name]())
    if with_outliers:
        model = outlier_model(name)
    return enumerate_joint(model, DATA[name](), PRECISIONS, log_prior, num_triangles)


def outlier_model(name: str) -> TumourWithOutliers:
    data = DATA[name]()
    return TumourWithOutliers(make_model(data), PROB, log_any_share(data))


def p_value(
    model: PyCloneModel | TumourWithOutliers, joint: Joint, kind: str, replicates: int = REPLICATES
) -> float:
    """Of the test that a step from the posterior is still the posterior."""
    kernels = Kernels(model, DP)
    rng = np.random.default_rng(6)
    probabilities = joint.probabilities
    rows, ends = [], []
    for s, number in enumerate(rng.multinomial(replicates, probabilities.sum(axis=1))):
        for weights in joint.draw_weights(s, number, rng).tolist():
            values = (float(joint.precision[s]), *weights)
            labels, outliers, values = kernels.step(kind, joint.labels[s], joint.outliers[s], values, rng)
            rows.append(joint.number[key(labels, outliers), values[0]])
            ends.append(values[1:])
    counts = np.zeros(probabilities.shape, np.int64)
    np.add.at(counts, (rows, joint.cells(np.array(ends))), 1)
    return chi_square_p_value(counts.ravel(), probabilities.ravel())


def test_triangles_and_quadrature() -> None:
    """Every triangle holds its own middle; together they give the moments of the Dirichlet distribution."""
    for n in (1, 2, 3):
        assert triangle_of(triangles(n).mean(axis=1)[:, :2], n).tolist() == [*range(n * n)]
    joint = joint_of("two_samples", False, 2)
    for masses, rest, cells in zip(joint.masses, joint.log_rest, joint.log_cells):
        expected = rest + sum(np.log(dirichlet_moments(of_sample)) for of_sample in np.moveaxis(masses, 1, 0))
        assert np.logaddexp.reduce(cells) == pytest.approx(expected, rel=1e-12)


def test_drawn_weights_are_of_the_posterior() -> None:
    """What the tests below start from."""
    joint = joint_of("one_sample", False, 3)
    rng = np.random.default_rng(2)
    for s in np.argsort(joint.log_rest)[-3:]:
        drawn = joint.cells(joint.draw_weights(s, 4000, rng))
        given = joint.probabilities[s] / joint.probabilities[s].sum()
        assert chi_square_p_value(np.bincount(drawn, minlength=9), given) > 1e-4


@pytest.mark.parametrize("name", DATA)
def test_the_data_tell_of_everything(name: str) -> None:
    """No partition and no precision is for certain, and the weights are not as in the prior."""
    joint = joint_of(name, False, 2)
    probabilities = joint.probabilities
    assert probabilities.sum(axis=1).max() < 0.4
    for precision in PRECISIONS:
        assert probabilities[joint.precision == precision].sum() > 0.02
    nothing = replace(joint, log_rest=np.zeros(1), masses=[np.ones_like(joint.masses[0])])
    assert np.abs(probabilities.sum(axis=0) - nothing.probabilities[0]).sum() / 2 > 0.03


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("one_sample", "weights"),
        ("one_sample", "hyperparameters"),
        ("one_sample", "hyperparameters+gibbs+hyperparameters"),
        ("two_samples", "hyperparameters+pgsm"),
        ("two_samples", "gibbs+hyperparameters"),
    ],
)
def test_one_step_from_the_joint_posterior(name: str, kind: str) -> None:
    joint = joint_of(name, False, 3 if name == "one_sample" else 2)
    assert p_value(make_model(DATA[name]()), joint, kind) > 1e-4


@pytest.mark.long
def test_one_step_without_tables_of_all_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tumour_model, "CACHED_BYTES", 0)
    model = make_model(two_samples())
    assert p_value(model, joint_of("two_samples", False, 2), "hyperparameters+gibbs") > 1e-4


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("one_sample", "outliers+hyperparameters+gibbs"),
        pytest.param("two_samples", "hyperparameters+outliers+pgsm", marks=pytest.mark.long),
    ],
)
def test_one_step_with_outliers(name: str, kind: str) -> None:
    assert p_value(outlier_model(name), joint_of(name, True, 2), kind) > 1e-4


@pytest.mark.long
def test_a_chain_infers_everything_together() -> None:
    """In two samples; the chain with outliers, below, has one."""
    joint = joint_of("two_samples", False, 2, log_any_concentration)
    settings = Settings(iterations=15_500, burn_in=500, seed=4, hyper_every=1, particles=5, moves=1)
    model = make_model(two_samples())
    state = start_chain(model, ANY_CONCENTRATION, settings, 0)
    _, records, _ = advance(model, settings, state, 10, lambda _: False)
    none = np.zeros(T, bool)
    cells = joint.log_cells.shape[1]
    values = np.array(records.values[500:])
    states = [joint.number[key(c, none), s] for c, s in zip(records.labels[500:], values[:, 0].tolist())]
    draws = np.array(states) * cells + joint.cells(values[:, 1:])
    check_frequencies(draws, joint.probabilities.ravel())


@pytest.mark.long
def test_a_chain_with_outliers_infers_everything_together() -> None:
    """In what is saved, outliers are apart: partitions that differ in their outliers' blocks only are one."""
    joint = joint_of("one_sample", True, 2, log_any_concentration)
    model = outlier_model("one_sample")
    settings = Settings(iterations=30_500, burn_in=500, seed=3, hyper_every=1, particles=5, moves=1)
    state = start_chain(model, ANY_CONCENTRATION, settings, 0)
    _, records, _ = advance(model, settings, state, 10, lambda _: False)
    places: dict[tuple[bytes, float], int] = {}
    saved = [
        places.setdefault((key(model.given(o).effective(c).astype(np.int32), o), s), len(places))
        for c, o, s in zip(joint.labels, joint.outliers, joint.precision.tolist())
    ]
    probabilities = np.zeros((len(places), joint.log_cells.shape[1]))
    np.add.at(probabilities, saved, joint.probabilities)
    values = np.array(records.values[500:])
    states = [
        places[key(c, o), precision]
        for c, o, precision in zip(records.labels[500:], records.outliers[500:], values[:, 0].tolist())
    ]
    draws = np.array(states) * probabilities.shape[1] + joint.cells(values[:, 1:])
    check_frequencies(draws, probabilities.ravel())


def log_density_of_weights(values: tuple[float, ...]) -> float:
    given = np.reshape(values[1:], (-1, 2))
    weights = np.column_stack([given, 1 - given.sum(axis=1)])
    return float(sum(stats.dirichlet.logpdf(each / each.sum(), [1.0, 1.0, 2.0]) for each in weights))


def log_joints(name: str) -> tuple[list[float], list[float]]:
    """Of a short chain: as in the trace, and log p(y, c, alpha, s, w) by their formulas."""
    model = make_model(DATA[name]())
    settings = Settings(iterations=60, burn_in=1, hyper_every=1, seed=2)
    state = start_chain(model, DirichletProcess(1.0, 2.0, 0.5), settings, 0)
    _, records, _ = advance(model, settings, state, 10, lambda _: False)
    assert len(set(records.values)) == 60
    expected = []
    for labels, alpha, values in zip(records.labels, records.concentration, records.values):
        given = np.reshape(values[1:], (-1, 2))
        weights = tuple((a, b, 1 - a - b) for a, b in given.tolist())
        marginal = pyclone_log_marginal(model.likelihood(values), weights)
        blocks = blocks_of(labels.tolist())
        total = sum(np.log(alpha) + gammaln(len(b)) + marginal(b) for b in blocks)
        total += gammaln(alpha) - gammaln(alpha + T) + stats.gamma.logpdf(alpha, 2.0, scale=1 / 0.5)
        expected.append(total + np.log(PRECISIONS[values[0]]) + log_density_of_weights(values))
    return records.log_joint, expected


@pytest.mark.parametrize("name", DATA)
def test_the_log_joint_is_that_of_everything_unknown(name: str) -> None:
    np.testing.assert_allclose(*log_joints(name), rtol=0, atol=1e-8)
