"""The tests of the learned base measure can fail: with one fault the posterior does not stay as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_learned_base import _few_precisions, joint_of, log_joints, make_model, p_value, two_samples

from pyclone_pgsm.compiling import compiled_for
from pyclone_pgsm.likelihoods.pyclone import PyClone, change_base, component_probabilities, with_base
from pyclone_pgsm.samplers.partition import Partition
from pyclone_pgsm.tumour import base_measure
from pyclone_pgsm.tumour import model as tumour_model

__all__ = ["_few_precisions"]
REPLICATES = 4_000


def with_kernel(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], faulty: Callable[..., Any]
) -> None:
    """Let the model run another function in place of a compiled one."""
    monkeypatch.setattr(
        tumour_model, "compiled_for", lambda f, kind: faulty if f is function else compiled_for(f, kind)
    )


def components_from_the_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(likelihood: PyClone, shares: NDArray[np.float64], partition: Partition) -> NDArray[np.float64]:
        prior = np.einsum("jdk,dk->dj", shares, likelihood.base)
        return np.broadcast_to(prior, (int(partition.counter[0]), *prior.shape))

    with_kernel(monkeypatch, component_probabilities, faulty)


def base_forgotten_in_one_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(likelihood: PyClone, before: NDArray[np.float64], partition: Partition) -> None:
        before = before.copy()
        before[-1] = likelihood.log_base[-1]
        compiled_for(change_base, PyClone)(likelihood, before, partition)

    with_kernel(monkeypatch, change_base, faulty)


def ends_not_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(grid_size: int) -> NDArray[np.float64]:
        near_zero = np.diff(np.linspace(0.0, 1.0, grid_size + 1) ** base_measure.SHAPE)
        return np.array([near_zero, near_zero[::-1], np.full(grid_size, 1.0 / grid_size)])

    monkeypatch.setattr(tumour_model, "component_masses", faulty)


def alone_under_the_uniform_base(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(likelihood: PyClone, *arguments: Any) -> PyClone:
        return with_base(likelihood, *arguments)._replace(log_alone=likelihood.log_alone)

    monkeypatch.setattr(tumour_model, "with_base", faulty)


def another_dirichlet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_measure, "DIRICHLET", np.array([1.0, 1.0, 1.5]))


FAULTS = {
    components_from_the_prior: "weights",
    base_forgotten_in_one_sample: "weights+gibbs",
    ends_not_halved: "weights+precision+gibbs",
    alone_under_the_uniform_base: "weights+gibbs",
    another_dirichlet: "weights",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_is_caught(
    fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    joint = joint_of("two_samples", False, 2)
    fault(monkeypatch)
    assert p_value(make_model(two_samples()), joint, FAULTS[fault], REPLICATES) < 1e-8


def test_a_log_joint_without_the_weights_prior_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tumour_model, "log_prior_density", lambda weights: 0.0)
    found, expected = log_joints("two_samples")
    assert np.abs(np.array(found) - expected).min() > 1e-3
