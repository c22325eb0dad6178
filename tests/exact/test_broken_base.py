"""The tests of the learned base measure can fail: with one fault the posterior does not stay as it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from learned import Joint, enumerate_joint
from numpy.typing import NDArray
from test_learned_base import _few_precisions, log_joints, log_seating, make_model, p_value, two_samples

from pyclone_pgsm.likelihoods.pyclone import PyClone, with_base
from pyclone_pgsm.partition import Partition
from pyclone_pgsm.tumour import base_measure
from pyclone_pgsm.tumour import model as tumour_model

__all__ = ["_few_precisions"]
REPLICATES = 4_000


def components_from_the_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(likelihood: PyClone, partition: Partition, rng: np.random.Generator) -> NDArray[np.int64]:
        uniform = rng.random((int(partition.counter[0]), len(likelihood.base), 1))
        return np.argmax(uniform < likelihood.base.cumsum(axis=1), axis=2)

    monkeypatch.setattr(tumour_model, "draw_grid_points", faulty)


def base_forgotten_in_one_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(likelihood: PyClone, *arguments: Any) -> PyClone:
        changed = with_base(likelihood, *arguments)
        log_base = changed.log_base.copy()
        log_base[-1] = likelihood.log_base[-1]
        return changed._replace(log_base=log_base)

    monkeypatch.setattr(tumour_model, "with_base", faulty)


def ends_not_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(grid: NDArray[np.float64]) -> NDArray[np.float64]:
        masses = base_measure.component_masses(grid)
        masses[:, [0, -1]] *= 2.0
        return masses / masses.sum(axis=1, keepdims=True)

    monkeypatch.setattr(tumour_model, "component_masses", faulty)


def alone_under_the_uniform_base(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(likelihood: PyClone, *arguments: Any) -> PyClone:
        alone = np.where(likelihood.index < 0, 0.0, likelihood.log_mean[likelihood.index]).sum(axis=1)
        return with_base(likelihood, *arguments)._replace(log_alone=alone)

    monkeypatch.setattr(tumour_model, "with_base", faulty)


def weights_without_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tumour_model, "log_prior_density", lambda weights: 0.0)


def another_dirichlet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_measure, "DIRICHLET", np.array([1.0, 1.0, 1.5]))


IN_STEPS = {  # kind of step, and the number of triangles (squared) into which the weights are sorted
    components_from_the_prior: ("weights", 2),
    another_dirichlet: ("weights", 2),
    alone_under_the_uniform_base: ("weights+gibbs", 1),
}
IN_LOG_JOINT = (base_forgotten_in_one_sample, ends_not_halved, weights_without_prior)
STEPS = 4  # one after the other: each goes further astray
FINE = 41
ONE_PRECISION = {25.0: 1.0}

FaultyModel = Callable[[pytest.MonkeyPatch], None]


def p_value_of_steps(kind: str, num_triangles: int) -> float:
    model = make_model(two_samples(), FINE)
    return p_value(model, exact(num_triangles), "+".join([kind] * STEPS), REPLICATES)


@cache
def exact(num_triangles: int) -> Joint:
    data = two_samples()
    return enumerate_joint(make_model(data, FINE), data, ONE_PRECISION, log_seating, num_triangles)


@pytest.mark.parametrize(("kind", "num_triangles"), sorted(set(IN_STEPS.values())))
def test_without_a_fault_the_same_steps_are_exact(kind: str, num_triangles: int) -> None:
    assert p_value_of_steps(kind, num_triangles) > 1e-4


@pytest.mark.parametrize("fault", IN_STEPS, ids=lambda fault: fault.__name__)
def test_a_fault_is_caught(fault: FaultyModel, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, num_triangles = IN_STEPS[fault]
    exact(num_triangles)
    fault(monkeypatch)
    assert p_value_of_steps(kind, num_triangles) < 1e-8


@pytest.mark.parametrize("fault", IN_LOG_JOINT, ids=lambda fault: fault.__name__)
def test_a_fault_shows_in_the_log_joint(fault: FaultyModel, monkeypatch: pytest.MonkeyPatch) -> None:
    fault(monkeypatch)
    found, expected = log_joints("two_samples")
    assert np.abs(np.array(found) - expected).max() > 1e-2
