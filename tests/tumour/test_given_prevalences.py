"""Precision and error rate given the blocks' prevalences, without tables and with them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare
from threadpoolctl import threadpool_limits

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.choice import Visits
from pyclone_pgsm.likelihoods.pyclone import PyClone, draw_grid_points
from pyclone_pgsm.partition import Partition, build_partition
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.samplers.hyperparameters import resample_hyperparameters
from pyclone_pgsm.sampling.chain import advance, start_chain
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import simulate
from pyclone_pgsm.tumour import model as tumour_model
from pyclone_pgsm.tumour.choices import PRECISION
from pyclone_pgsm.tumour.given_prevalences import KnownCells, distinct_cells, log_likelihood_of_all
from pyclone_pgsm.tumour.grid import (
    Loci,
    Setting,
    deduplicate,
    likelihood_grid,
    loci_of,
    prevalence_grid,
)
from pyclone_pgsm.tumour.model import PER_SAMPLE, PyCloneModel
from pyclone_pgsm.tumour.outliers import TumourWithOutliers, log_any_share

G = 201
GRID = prevalence_grid(G, "learned")
FINITE = PRECISION.values


def tumour(**options: object) -> tuple[Observations, NDArray[np.int32]]:
    """Reads with gaps, copy-number changes of clones among them, whose error rates are not told; and the clusters."""
    given = {"mutations": 300, "samples": 3, "copy_numbers": "mixed", "subclonal": 0.3, "missing": 0.1}
    made = simulate(SimulationOptions(**{**given, "precision": 200.0, **options}), np.random.default_rng(3))
    data = made.observations
    data.error_rate[:, :2] = np.nan
    return data, made.cluster.astype(np.int32)


def make_model(data: Observations, precision: float | str | None, **contents: Uncertain) -> PyCloneModel:
    return PyCloneModel(deduplicate(data), G, "major", precision, data.sample_ids, contents, "learned")


def at(
    model: PyCloneModel | TumourWithOutliers, values: tuple[float, ...], labels: NDArray[np.int32]
) -> tuple[PyClone, Partition]:
    likelihood = model.likelihood(values)
    return likelihood, compiled_for(build_partition, PyClone)(likelihood, labels)


def cells_of(
    loci: Loci, index: NDArray[np.int32], points: NDArray[np.int64]
) -> tuple[NDArray[np.generic], ...]:
    return distinct_cells(index, points, loci.table.num_rows, G)


def test_the_likelihood_does_not_depend_on_the_threads_of_blas() -> None:
    data, clusters = tumour(mutations=4000, samples=4, missing=0.0, depth=1000.0)
    table = deduplicate(data)
    points = clusters[:, None] + np.zeros(4, np.int64)
    loci = loci_of(table, "major")
    cells, counts = cells_of(loci, table.index, points)
    assert len(cells) > 10_000
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            log_likelihood = log_likelihood_of_all(cells, counts, loci, GRID)
            found.append([log_likelihood(Setting(precision, 1e-3)) for precision in FINITE[::8]])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("options", "precision"),
    [
        ({}, 60.0),
        ({}, np.inf),
        ({"depth": 100_000.0, "mutations": 30}, 1000.0),
        ({"depth": 30_000.0, "mutations": 60, "samples": 1, "missing": 0.0}, np.inf),
    ],
)
@pytest.mark.parametrize("content", [None, 0.7])
def test_the_likelihood_is_that_of_the_tables(
    options: dict[str, float], precision: float, content: float | None
) -> None:
    """With gaps, deep and shallow reads, error rates some of which are told, and another tumour content."""
    data, _ = tumour(**options)
    table = deduplicate(data)
    assert np.isnan(table.error_rate).any() or options.get("samples") == 1
    points = np.random.default_rng(1).choice([0, 3, 50, 51, G - 1], table.index.shape)
    told = replace(table, error_rate=np.where(np.isnan(table.error_rate), 2e-3, table.error_rate))
    if content is not None:
        told = replace(told, tumour_content=np.full(table.num_rows, content))
    grid = likelihood_grid(loci_of(told, "major"), GRID, Setting(precision))
    known = table.index >= 0
    rows = table.index[known]
    expected = (grid.xi[rows, points[known]] + grid.xi_max[rows]).sum()
    loci = loci_of(table, "major")
    reads = log_likelihood_of_all(*cells_of(loci, table.index, points), loci, GRID)
    setting = Setting(precision, 2e-3, content)
    assert reads(setting) == pytest.approx(expected, rel=1e-10)
    nothing = log_likelihood_of_all(*cells_of(loci, table.index[:0], points[:0]), loci, GRID)
    assert nothing(setting) == 0.0


@pytest.mark.parametrize("num_rows", [2, 1000])
def test_distinct_cells(num_rows: int) -> None:
    """Found by counting in a small table, and by sorting in a large one."""
    index = np.array([[0, -1], [1, 0], [1, 0]] * 200, np.int32)
    points = np.array([[2, 0], [0, 2], [0, 1]] * 200)
    cells, counts = distinct_cells(index, points, num_rows, 3)
    np.testing.assert_array_equal(cells, [1, 2, 3])
    np.testing.assert_array_equal(counts, [200.0, 400.0, 400.0])


def test_known_cells() -> None:
    """In every setting, whether a cell is new or not, they are the tables' to a rounding error."""
    data, _ = tumour(mutations=40)
    loci = loci_of(deduplicate(data), "major")
    settings = [Setting(np.inf, 1e-3), Setting(60.0, 1e-2), Setting(900.0, 1e-4, 0.6)]
    grids = [likelihood_grid(loci, GRID, setting) for setting in settings]
    expected = np.stack([(each.xi + each.xi_max[:, None]).ravel() for each in grids], axis=1)
    known, rng = KnownCells(loci, GRID, settings), np.random.default_rng(1)
    for number in (1, 30, 1000, 1000, 1):
        cells = np.unique(rng.integers(len(expected), size=number))
        np.testing.assert_allclose(known.log_likelihoods(cells), expected[cells], rtol=1e-11)


MODELS = {
    "one precision": (None, {}),
    "a precision of each sample": (PER_SAMPLE, {}),
    "tumour contents": (None, {"S2": Uncertain(0.8, 0.1), "S3": Uncertain(0.7, 0.1)}),
    "a fixed precision": (100.0, {}),
}


@pytest.mark.parametrize("num_outliers", [None, 0, 4, 20])
@pytest.mark.parametrize("name", MODELS)
def test_tables_need_not_be_made(
    name: str, num_outliers: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is looked up in the tables, at each value of each choice, is computed without them, up to a constant.

    (The constant is the likelihood of samples to which the choice does not belong.) In either way only precisions and
    error rate are drawn.
    """
    precision, contents = MODELS[name]
    data, labels = tumour(mutations=20)
    rng = np.random.default_rng(2)
    monkeypatch.setattr(tumour_model, "CACHED_BYTES", np.inf)
    model: PyCloneModel | TumourWithOutliers = make_model(data, precision, **contents)
    if num_outliers is not None:
        outliers = np.random.default_rng(1).permutation(20) < num_outliers
        model = TumourWithOutliers(model, 0.1, log_any_share(data)).given(outliers)
    for start in (model.initial_values(), last_values(model)):
        likelihood, partition = at(model, start, labels)
        points = draw_grid_points(likelihood, partition, rng)[partition.position[partition.labels]]
        index, points = model.rows_and_points(likelihood, points, rng)
        of_parts = [model._of_part(part, index, points) for part in range(len(model._parts))]
        cells = [cells_of(loci, *each) for loci, each in zip(model._parts, of_parts)]
        computed = [log_likelihood_of_all(*each, loci, GRID) for loci, each in zip(model._parts, cells)]
        for which, choice in enumerate(model.choices[: model.num_drawn]):
            found = model._log_likelihoods(which, start, cells)
            expected = [
                sum(
                    of_part(setting)
                    for of_part, setting in zip(
                        computed, model._settings((*start[:which], value, *start[which + 1 :]))
                    )
                )
                for value in choice.values
            ]
            np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-9, atol=1e-8)
    independence = Visits(model.choices).independence
    num_drawn, end = model.num_drawn, len(model.choices)
    for keeps_all in (True, False):
        model._keeps_all = keeps_all
        drawn = [
            model.draw_given_parameters(start, likelihood, partition, independence, rng, True)
            for _ in range(5)
        ]
        assert len({values[:num_drawn] for values in drawn}) > 1
        assert {values[num_drawn:end] for values in drawn} == {start[num_drawn:end]}


def last_values(model: PyCloneModel) -> tuple[float, ...]:
    """Other values than those at the start, of every choice."""
    start = model.initial_values()
    return (*(choice.values[-2] for choice in model.choices), *start[len(model.choices) :])


def test_weights_alone_are_drawn_where_tables_must_not_change() -> None:
    data, labels = tumour(mutations=60)
    model = make_model(data, None)
    values = model.initial_values()
    likelihood, partition = at(model, values, labels)
    rng = np.random.default_rng(1)
    drawn = model.draw_given_parameters(values, likelihood, partition, (), rng, False)
    assert drawn[:2] == values[:2]
    assert not set(drawn[2:]) & set(values[2:])


def test_grid_points_are_drawn_from_the_posterior() -> None:
    """Of each block in each sample, with the base measure in it."""
    data, labels = tumour(mutations=12, depth=20.0)
    data.has_data[:, 1] = False
    model = make_model(data, None)
    values = (50.0, 1e-3, 0.2, 0.1, 0.3, 0.6, 0.1, 0.1)
    likelihood, partition = at(model, values, labels)
    rng = np.random.default_rng(5)
    drawn = np.array([draw_grid_points(likelihood, partition, rng) for _ in range(4000)])
    blocks = partition.position[partition.labels]
    assert drawn.shape == (4000, blocks.max() + 1, 3)
    for block in range(blocks.max() + 1):
        for d in range(3):
            rows = likelihood.index[blocks == block, d]
            log_p = likelihood.log_base[d] + likelihood.xi[rows[rows >= 0]].sum(axis=0)
            p = np.exp(log_p - np.logaddexp.reduce(log_p))
            parts = np.minimum((np.cumsum(p) * 10).astype(int), 9)  # about ten of the same probability
            expected, found = np.bincount(parts, p), np.bincount(parts[drawn[:, block, d]], minlength=10)
            present = expected > 0.005
            assert found[~present].sum() < 150
            expected = expected[present] / expected[present].sum() * found[present].sum()
            assert chisquare(found[present], expected).pvalue > 1e-5


def test_a_chain_climbs_to_a_tumour_content() -> None:
    """To 0.825, in some ten steps with the prevalences summed out."""
    options = SimulationOptions(mutations=1000, samples=2, clusters=7, depth=200.0, precision=200.0)
    made = simulate(options, np.random.default_rng(4))
    contents = {"S2": Uncertain(0.6, 0.15)}
    model = PyCloneModel(deduplicate(made.observations), 201, "major", 200.0, ("S1", "S2"), contents)
    values = model.initial_values()
    state = (values, *at(model, values, made.cluster.astype(np.int32)))
    rng = np.random.default_rng(1)
    steps = 0
    while state[0][0] < 0.8:
        *state, _ = resample_hyperparameters(model, *state, Visits(model.choices).independence, rng, True)
        steps += model.num_proposals
        assert steps < 100


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_an_error_rate_changes_where_a_cluster_may_be_absent(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five of 1,000 reads of each mutation: errors, or a cluster in one of a hundred cells, whichever it is now.

    With the prevalences summed out a chain goes from one to the other; given the prevalences alone it does not.
    """
    monkeypatch.setattr(tumour_model, "summed_out_proposals", lambda *_: share)
    monkeypatch.setattr(tumour_model, "CACHED_BYTES", 0)
    shape = (30, 1)
    two, one = np.full(shape, 2), np.ones(shape, np.int64)
    names = [str(i) for i in range(30)]
    data = Observations(
        names, ["S"], np.full(shape, 995), np.full(shape, 5), one, one, two, np.ones(shape),
        np.full(shape, np.nan), np.ones(shape, bool),
    )  # fmt: skip
    model = PyCloneModel(deduplicate(data), 101, "major", np.inf)
    rng = np.random.default_rng(1)
    visits = Visits(model.choices).independence
    for start in (1e-4, 5e-3):
        values = (min(model.choices[0].values, key=lambda value: abs(value - start)),)
        state = (values, *at(model, values, np.zeros(30, np.int32)))
        seen = []
        for _ in range(300):
            *state, _ = resample_hyperparameters(model, *state, visits, rng, True)
            seen.append(state[0][0])
        assert (min(seen) < 1e-3 and max(seen) > 3e-3) == (share > 0)


def test_an_iteration_makes_tables_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many precisions and error rates it tries given the prevalences."""
    monkeypatch.setattr(tumour_model, "summed_out_proposals", lambda *_: 0.0)
    data, labels = tumour()
    made = []

    class CountingModel(PyCloneModel):
        def _assemble(self, *arguments):  # type: ignore[no-untyped-def]
            made.append(arguments)
            return super()._assemble(*arguments)

    model = CountingModel(deduplicate(data), G, "major", None, data.sample_ids)
    settings = Settings(iterations=50, burn_in=0, hyper_every=1, seed=1, sampler="gibbs")
    state = replace(start_chain(model, DirichletProcess(1.0), settings, 0), labels=labels)
    _, records, _ = advance(model, settings, state, 1000, lambda _: False)
    assert len({values[:2] for values in records.values}) > 20
    assert len(made) <= 51


def test_tables_change_in_every_third_iteration_only() -> None:
    """The weights of the base measure are drawn in each."""
    data, labels = tumour(mutations=60)
    model = make_model(data, None)
    settings = Settings(iterations=60, burn_in=0, hyper_every=3, seed=1, sampler="gibbs")
    state = replace(start_chain(model, DirichletProcess(1.0), settings, 0), labels=labels)
    _, records, _ = advance(model, settings, state, 1000, lambda _: False)
    changed = [before[:2] != after[:2] for before, after in itertools.pairwise(records.values)]
    assert not any(changed[i] for i in range(59) if i % 3 != 2)  # records begin after the first iteration
    assert sum(changed) > 5
    assert len({values[2:] for values in records.values}) == 60
