"""Partition and several hyperparameters of the tumour model together, against all of their combinations.

p(c, s | y) ∝ p(s) prod_b Γ(|b|) L(y_b; s), where s is: precision and error rate; a precision for each sample; tumour
contents of which a distribution is given, and a precision.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from cases import observations, pyclone_log_marginal
from enumeration import Posterior, chi_square_p_value, enumerate_posterior
from numpy.typing import NDArray
from scipy.special import logsumexp
from test_chains import ANY_CONCENTRATION, any_concentration, check_frequencies, run

from pyclone_pgsm.inputs import tumour_content as content
from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.choice import Choice, Visits, num_values
from pyclone_pgsm.likelihoods.pyclone import PyClone, draw_grid_points
from pyclone_pgsm.partition import Partition, PartitionPrior, build_partition, canonical_labels
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.samplers.gibbs import gibbs_sweep
from pyclone_pgsm.samplers.hyperparameters import resample_hyperparameters
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.tumour import choices as tumour_choices
from pyclone_pgsm.tumour import model as tumour_model
from pyclone_pgsm.tumour.grid import deduplicate
from pyclone_pgsm.tumour.model import PER_SAMPLE, PyCloneModel

T = 4
G = 21
REPLICATES = 4_000


@pytest.fixture(autouse=True)
def _few_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three precisions, three error rates and three tumour contents, none with the same prior as another."""
    monkeypatch.setattr(
        tumour_model, "PRECISION", Choice((4.0, 25.0, np.inf), (1.0, 3.0, 2.0), 25.0, (1, 1, 2), 0.5)
    )
    monkeypatch.setattr(
        tumour_choices, "ERROR_RATE", Choice((1e-3, 2e-2, 8e-2), (4.0, 2.0, 1.0), 1e-3, (1,), 0.5)
    )
    monkeypatch.setattr(content, "_Z", (-1.0, 0.0, 1.0))
    monkeypatch.setattr(tumour_choices, "CONTENT_JUMPS", (1, 2))


def two_samples(**options: float) -> Observations:
    alt, depth = [[2, 9], [14, 5], [7, 0], [12, 11]], [[24, 20], [30, 24], [20, 25], [28, 30]]
    return observations(alt, depth, **options)


def precision_and_error_rate(make: Callable[..., PyCloneModel] = PyCloneModel) -> PyCloneModel:
    data = observations([[0], [1], [6], [9]], [[24], [30], [20], [28]])
    data.error_rate[:] = np.nan
    return make(deduplicate(data), G, "major", None)


def precision_of_each_sample() -> PyCloneModel:
    return PyCloneModel(deduplicate(two_samples()), G, "major", PER_SAMPLE, ("a", "b"))


def tumour_contents_and_precision() -> PyCloneModel:
    contents = {"a": Uncertain(0.6, 0.2), "b": Uncertain(0.9, 0.3)}  # of b, only the lower two are possible
    data = two_samples(major=2, minor=1)
    return PyCloneModel(deduplicate(data), G, "major", None, ("a", "b"), contents)


@dataclass(frozen=True)
class Joint:
    """Every partition at every combination of values, combination by combination."""

    model: PyCloneModel
    values: list[tuple[float, ...]]
    given: list[Posterior]

    @property
    def partitions(self) -> NDArray[np.int32]:
        return self.given[0].partitions

    @property
    def probabilities(self) -> NDArray[np.float64]:
        log_prior = [self.model.log_hyperprior(values) for values in self.values]
        log_joint = np.concatenate([p + posterior.log_joint for p, posterior in zip(log_prior, self.given)])
        return np.exp(log_joint - logsumexp(log_joint))

    @cached_property
    def places(self) -> dict[bytes, int]:
        return {row.tobytes(): c for c, row in enumerate(self.partitions)}

    def cell(self, values: tuple[float, ...], labels: NDArray[np.int32]) -> int:
        return self.values.index(values) * len(self.partitions) + self.places[labels.tobytes()]


def enumerate_joint(model: PyCloneModel) -> Joint:
    values = list(itertools.product(*(choice.values for choice in model.choices)))
    given = [enumerate_posterior(T, pyclone_log_marginal(model.likelihood(v)), 1.0) for v in values]
    return Joint(model, values, given)


MODELS = {
    make.__name__: make
    for make in (precision_and_error_rate, precision_of_each_sample, tumour_contents_and_precision)
}
NAMES = {
    "precision_and_error_rate": ("precision", "error_rate"),
    "precision_of_each_sample": ("precision:a", "precision:b"),
    "tumour_contents_and_precision": ("precision", "tumour_content:a", "tumour_content:b"),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_value_matters(name: str) -> None:
    """The data leave every value possible, and none of them is without effect on the partition or the others."""
    joint = enumerate_joint(MODELS[name]())
    assert joint.model.hyperparameters == NAMES[name]
    shape = [len(choice.values) for choice in joint.model.choices]
    table = joint.probabilities.reshape(*shape, -1)
    axes = range(len(shape))
    for axis in axes:
        others = tuple(other for other in (*axes, len(shape)) if other != axis)
        share = table.sum(axis=others)
        choice = joint.model.choices[axis]
        assert share.min() > 0.02
        assert np.abs(share - np.exp([choice.log_prior(value) for value in choice.values])).max() > 0.02


def step(joint: Joint, replicates: int) -> NDArray[np.int64]:
    """Cells after a step from the joint posterior, whatever was visited in the burn-in."""
    visits = np.arange(num_values(joint.model.choices)) ** 2
    independence = Visits(joint.model.choices, visits).independence
    model, partitions, probabilities = joint.model, joint.partitions, joint.probabilities
    rng = np.random.default_rng(8)
    prior = DirichletProcess(1.0, None, None)
    tables = PartitionPrior(prior.log_tau1(T), prior.log_tau2(T))
    build, sweep = (compiled_for(f, PyClone) for f in (build_partition, gibbs_sweep))
    likelihoods = [model.likelihood(values) for values in joint.values]
    ends = []
    for start in rng.choice(len(probabilities), replicates, p=probabilities):
        where, c = divmod(int(start), len(partitions))
        values, likelihood = joint.values[where], likelihoods[where]
        partition = build(likelihood, partitions[c])
        values, likelihood, partition, _ = resample_hyperparameters(
            model, values, likelihood, partition, independence, rng, True
        )
        partition, _ = sweep(likelihood, tables, partition, model.order, rng)
        ends.append(joint.cell(values, canonical_labels(partition.labels)[0]))
    return np.array(ends)


def p_value(joint: Joint, replicates: int = REPLICATES) -> float:
    """Of the test that the joint posterior is what it was after a step from it."""
    probabilities = joint.probabilities
    counts = np.bincount(step(joint, replicates), minlength=len(probabilities))
    return chi_square_p_value(counts, probabilities)


@pytest.mark.long
@pytest.mark.parametrize("cached_bytes", [0, np.inf])
@pytest.mark.parametrize("name", MODELS)
def test_one_step_from_the_joint_posterior(
    name: str, cached_bytes: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With tables of all settings and, which is another algorithm, without."""
    monkeypatch.setattr(tumour_model, "CACHED_BYTES", cached_bytes)
    monkeypatch.setattr(tumour_model, "PROPOSALS", 2)
    assert p_value(enumerate_joint(MODELS[name]())) > 1e-4


def median_points(likelihood: PyClone, partition: Partition, rng: np.random.Generator) -> NDArray[np.int64]:
    """In place of points drawn from the posterior."""
    drawn = [draw_grid_points(likelihood, partition, rng) for _ in range(20)]
    return np.median(drawn, axis=0).astype(np.int64)


@pytest.mark.long
@pytest.mark.parametrize("cached_bytes", [0, np.inf])
def test_prevalences_that_are_not_drawn_are_noticed(
    cached_bytes: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tumour_model, "CACHED_BYTES", cached_bytes)
    monkeypatch.setattr(tumour_model, "draw_grid_points", median_points)
    assert p_value(enumerate_joint(precision_and_error_rate())) < 1e-10


def faulty_model(sound: str, faulty: str) -> Callable[..., PyCloneModel]:
    """The class, with a text of its module replaced."""
    source = inspect.getsource(tumour_model)
    assert source.count(sound) == 1
    names: dict[str, Any] = {"__name__": tumour_model.__name__}
    exec(source.replace(sound, faulty), names)
    names |= {name: getattr(tumour_model, name) for name in ("PRECISION", "CACHED_BYTES")}
    made: Callable[..., PyCloneModel] = names["PyCloneModel"]
    return made


@pytest.mark.parametrize(
    ("cached_bytes", "sound", "faulty"),
    [
        (0, "return log_prior + sum", "return sum"),
        (np.inf, "known.log_likelihoods(where)", "known.log_likelihoods(where - where % len(self.grid))"),
        (
            np.inf,
            "_log_likelihoods(which, values, cells)",
            "_log_likelihoods(which, (4.0, values[1]), cells)",
        ),
        (np.inf, "Setting._fields[names.index(name)]", "Setting._fields[1 - names.index(name)]"),
    ],
)
def test_a_fault_of_the_density_given_the_prevalences_is_noticed(
    cached_bytes: float, sound: str, faulty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    joint = enumerate_joint(precision_and_error_rate())
    monkeypatch.setattr(tumour_model, "CACHED_BYTES", cached_bytes)
    model = precision_and_error_rate(faulty_model(sound, faulty))
    assert p_value(replace(joint, model=model)) < 1e-10


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_a_chain_infers_everything_together(name: str) -> None:
    make: Callable[[], PyCloneModel] = MODELS[name]
    joint = enumerate_joint(make())
    joint = Joint(joint.model, joint.values, [any_concentration(posterior, 1.0) for posterior in joint.given])
    settings = Settings(iterations=15_500, burn_in=500, seed=4, hyper_every=1, particles=5)
    records = run(make(), ANY_CONCENTRATION, settings)
    draws = [joint.cell(values, labels) for labels, values in zip(records.labels[500:], records.values[500:])]
    check_frequencies(np.array(draws), joint.probabilities)
