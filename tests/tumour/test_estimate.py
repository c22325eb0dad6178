"""What a proposal changes, estimated without its tables, against the change that the tables tell."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.choice import Visits
from pyclone_pgsm.likelihoods.pyclone import Lattice, PyClone, posterior_lattice
from pyclone_pgsm.partition import Partition, build_partition
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.samplers.hyperparameters import evaluate, partition_log_likelihood, resample_hyperparameters
from pyclone_pgsm.sampling.chain import advance, start_chain
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import simulate
from pyclone_pgsm.tumour import model as tumour_model
from pyclone_pgsm.tumour.estimate import POINTS, REACH, change_of_log_likelihood
from pyclone_pgsm.tumour.grid import deduplicate
from pyclone_pgsm.tumour.kernels import DEEPEST_TABLE
from pyclone_pgsm.tumour.model import PER_SAMPLE, PRECISION, PyCloneModel
from pyclone_pgsm.tumour.outliers import TumourWithOutliers, log_any_share


def tumour(**options: object) -> tuple[Observations, NDArray[np.int32]]:
    """Reads with gaps, copy-number changes of clones among them, whose error rates are not told; and the clusters."""
    given = {"mutations": 300, "samples": 3, "copy_numbers": "mixed", "subclonal": 0.3, "missing": 0.1}
    made = simulate(SimulationOptions(**{**given, "precision": 200.0, **options}), np.random.default_rng(3))
    data = made.observations
    data.error_rate[:, :2] = np.nan
    return data, made.cluster.astype(np.int32)


def make_model(data: Observations, precision: float | str | None, **contents: Uncertain) -> PyCloneModel:
    return PyCloneModel(deduplicate(data), 201, "major", precision, data.sample_ids, contents)


def at(
    model: PyCloneModel | TumourWithOutliers, values: tuple[float, ...], labels: NDArray[np.int32]
) -> tuple[PyClone, Partition]:
    likelihood = model.likelihood(values)
    return likelihood, compiled_for(build_partition, PyClone)(likelihood, labels)


def changes(
    model: PyCloneModel | TumourWithOutliers,
    labels: NDArray[np.int32],
    values: tuple[float, ...],
    proposal: tuple[float, ...],
) -> tuple[float, float]:
    """Estimated and true."""
    likelihood, partition = at(model, values, labels)
    true = (
        partition_log_likelihood(*at(model, proposal, labels))
        + model.log_hyperprior(proposal)
        - partition_log_likelihood(likelihood, partition)
        - model.log_hyperprior(values)
    )
    return model.estimate_change(values, likelihood, partition, proposal), true


def agree(estimated: float, true: float, tolerance: float = 0.5) -> bool:
    """As well as is needed: a proposal is as good as refused from a true change of -10 on."""
    return bool(abs(estimated - true) < tolerance + 0.03 * abs(true))


FINITE = PRECISION.values
MODELS = {
    "one precision": (None, {}, (FINITE[21], 1e-3)),
    "a precision of each sample": (PER_SAMPLE, {}, (FINITE[21], np.inf, FINITE[32], 1e-3)),
    "tumour contents": (
        None,
        {"S2": Uncertain(0.8, 0.1), "S3": Uncertain(0.7, 0.1)},
        (FINITE[32], 1e-3, 0.8, 0.7),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_estimates_of_near_proposals(name: str) -> None:
    """Whichever hyperparameter changes by a place or two, up or down, there and back."""
    precision, contents, values = MODELS[name]
    data, labels = tumour()
    model = make_model(data, precision, **contents)
    assert len(model.hyperparameters) == len(values)
    for which, (of, choice) in enumerate(zip(model.hyperparameters, model.choices)):
        tolerance = 1.0 if of.startswith("tumour_content") else 0.2
        here = choice.values.index(values[which])
        for there in (here - 2, here - 1, here + 1, here + 2):
            if 0 <= there < len(choice.values):
                proposal = (*values[:which], choice.values[there], *values[which + 1 :])
                forward, true = changes(model, labels, values, proposal)
                back, true_back = changes(model, labels, proposal, values)
                assert true_back == pytest.approx(-true, abs=1e-7)
                assert agree(forward, true, tolerance)
                assert agree(back, -true, tolerance)


def test_a_sample_without_data() -> None:
    data, labels = tumour(missing=0.0)
    data.has_data[:, 1] = False
    model = make_model(data, PER_SAMPLE)
    values, proposal = (100.0, 100.0, 100.0, 1e-3), (100.0, 1000.0, 100.0, 1e-3)
    estimated, true = changes(model, labels, values, proposal)
    assert estimated == pytest.approx(PRECISION.log_prior(1000.0) - PRECISION.log_prior(100.0))
    assert estimated == pytest.approx(true)


@pytest.mark.parametrize(("clusters", "tolerance"), [(1, 0.2), (300, 2.0)])
def test_partitions_that_fit_badly(clusters: int, tolerance: float) -> None:
    data, _ = tumour()
    model = make_model(data, None)
    labels = (np.arange(300) % clusters).astype(np.int32)
    for proposal in ((FINITE[21], 1e-3), (FINITE[20], 5e-4)):
        assert agree(*changes(model, labels, (FINITE[20], 1e-3), proposal), tolerance)


def test_peaks_that_move_are_followed() -> None:
    """Clusters without a cell in some samples look like a few cells if the error rate is thought too small."""
    data, labels = tumour(
        depth=3000.0, absent=0.8, precision=np.inf, mutations=400, missing=0.0, subclonal=0.0
    )
    data.error_rate[:] = np.nan
    model = PyCloneModel(deduplicate(data), 1601, "major", np.inf)
    values, proposal = (1e-4,), (1e-2,)
    before = posterior_lattice(*at(model, values, labels), POINTS, REACH)
    after = posterior_lattice(*at(model, proposal, labels), POINTS, REACH)
    assert (np.abs(after.first - before.first) > POINTS * before.step).any()
    estimated, true = changes(model, labels, values, proposal)
    assert true < -1000
    assert agree(estimated, true)


@pytest.mark.parametrize(
    ("shift", "expected"),
    [(0, -3.0), (40, -3.0), (-50, -3.0), (280, -3.0), (-300, -3.0), (390, np.inf), (-390, np.inf)],
)
def test_a_peak_that_moves(shift: int, expected: float) -> None:
    """From 400, by a multiple of its width, 10, and 3 nats down. If it is too far nothing is told."""

    def xi(
        rows: NDArray[np.int64], points: NDArray[np.int64], places: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        assert (rows == 0).all()
        return -0.5 * ((points[places] - 400 - shift) / 10.0) ** 2 - 3.0

    first, step = np.full((1, 1), 360), np.full((1, 1), 10)
    log_sum = logsumexp(-0.5 * ((first + step * np.arange(POINTS) - 400) / 10.0) ** 2, axis=1)
    found = change_of_log_likelihood(
        xi,
        np.zeros(1),
        np.zeros((1, 1), np.int32),
        np.zeros(1, np.int64),
        Lattice(first, step, log_sum[:, None]),
        np.zeros((1, 801)),
    )
    assert found == pytest.approx(expected, abs=0.01)


def test_several_narrow_peaks() -> None:
    """Deep reads of mutations on one to four copies, on their own: nothing is probable between the peaks."""
    data, _ = tumour(mutations=40, depth=20_000.0, precision=np.inf, subclonal=0.0)
    data.major_cn[:], data.minor_cn[:] = 4, 1
    model = make_model(data, None)
    labels = np.arange(40, dtype=np.int32)
    values = (np.inf, 1e-3)
    likelihood, partition = at(model, values, labels)
    steps = posterior_lattice(likelihood, partition, POINTS, REACH).step
    assert steps[data.has_data].max() < 10
    assert agree(*changes(model, labels, values, (FINITE[-1], 1e-3)))
    assert agree(*changes(model, labels, (FINITE[-1], 1e-3), values))


def test_very_deep_reads() -> None:
    data, labels = tumour(mutations=30, depth=3.0 * DEEPEST_TABLE, precision=1000.0)
    model = make_model(data, None)
    assert agree(*changes(model, labels, (FINITE[32], 1e-3), (FINITE[31], 1e-3)))


@pytest.mark.parametrize("number", [0, 60, 300])
@pytest.mark.parametrize("precision", [None, PER_SAMPLE])
def test_outliers(precision: str | None, number: int) -> None:
    data, labels = tumour()
    outliers = np.random.default_rng(1).permutation(300) < number
    model = TumourWithOutliers(make_model(data, precision), 0.1, log_any_share(data), outliers)
    values = (FINITE[32],) * (3 if precision else 1) + (1e-3,)
    for proposal in ((FINITE[16], *values[1:]), (*values[:-1], 5e-4)):
        assert agree(*changes(model, labels, values, proposal))


def test_marginals_are_those_of_the_tables() -> None:
    data, _ = tumour()
    for precision, values, proposal in (
        (None, (50.0, 1e-3), (50.0, 2e-3)),
        (PER_SAMPLE, (50.0, np.inf, 100.0, 1e-3), (50.0, np.inf, FINITE[16], 1e-3)),
    ):
        model = make_model(data, precision)
        before, after = model.likelihood(values), model.likelihood(proposal)
        some = after.index[[5, 7, 5, 290]]
        expected = np.where(some < 0, 0.0, (after.xi_max + after.log_mean)[some])
        found = model.log_marginals(values, before, proposal, some)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
        assert model.log_marginals(values, before, proposal, some[:0]).shape == (0, 3)


def test_estimates_do_not_keep_a_chain_from_climbing(monkeypatch: pytest.MonkeyPatch) -> None:
    """To a tumour content of 0.825, on the way to which the estimates back are up to 20 nats too low.

    It takes some ten steps; without a bound on what they may refuse hundreds are not enough.
    """
    monkeypatch.setattr(tumour_model, "ESTIMATED_FROM", 0)
    options = SimulationOptions(mutations=1000, samples=2, clusters=7, depth=200.0, precision=200.0)
    made = simulate(options, np.random.default_rng(4))
    contents = {"S2": Uncertain(0.6, 0.15)}
    model = PyCloneModel(deduplicate(made.observations), 201, "major", 200.0, ("S1", "S2"), contents)
    values = model.initial_values()
    likelihood, partition = at(model, values, made.cluster.astype(np.int32))
    rng = np.random.default_rng(1)
    steps = 0
    state = evaluate(model, values, likelihood, partition)
    independence = Visits(model.choices).independence
    while state.values[0] < 0.8:
        state = resample_hyperparameters(model, state, independence, rng)
        steps += 1
        assert steps < 100


class CountingModel(PyCloneModel):
    calls = 0

    def likelihood(self, values: tuple[float, ...]) -> PyClone:
        self.calls += 1
        return super().likelihood(values)


def test_fewer_tables_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """For as many accepted proposals."""
    data, labels = tumour()
    made, moved = [], []
    for estimated_from in (np.inf, 0):
        monkeypatch.setattr(tumour_model, "ESTIMATED_FROM", estimated_from)
        model = CountingModel(deduplicate(data), 201, "major", None, data.sample_ids)
        settings = Settings(iterations=300, burn_in=0, hyper_every=1, seed=1, sampler="gibbs")
        state = replace(start_chain(model, DirichletProcess(1.0), settings, 0), labels=labels)
        _, records, _ = advance(model, settings, state, 1000, lambda _: False)
        made.append(model.calls)
        moved.append(sum(a != b for a, b in pairwise(records.values)))
    assert made[1] < 0.5 * made[0]
    assert moved[1] > 0.7 * moved[0] > 20
