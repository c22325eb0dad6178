"""Parameters of a likelihood that it sets for the data."""

import numpy as np
import pytest

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.likelihoods.bernoulli import Bernoulli
from pyclone_pgsm.likelihoods.matrix import DataMatrix, MatrixOptions, with_inferred


def test_what_the_user_gives_is_kept_whatever_the_likelihood_says(monkeypatch):
    monkeypatch.setattr(Bernoulli, "defaults_for", lambda data, given: {"a0": 2.0, "b0": 2.0}, raising=False)
    monkeypatch.setattr(Bernoulli, "inferred_by_default", lambda data, given: ["b0"])
    data = DataMatrix(["r"], ["x"], np.zeros((1, 1)))
    assert with_inferred("bernoulli", {}, data) == {"a0": 2.0, "b0": "infer"}
    assert with_inferred("bernoulli", {"a0": 7.0}, data) == {"a0": 7.0, "b0": "infer"}
    assert with_inferred("bernoulli", {"b0": 7.0}, data) == {"a0": 2.0, "b0": 7.0}


def test_a_parameter_without_default_is_asked_for(monkeypatch):
    make = Bernoulli.from_data.__func__
    monkeypatch.setattr(
        Bernoulli, "from_data", classmethod(lambda cls, data, a0, b0=1.0: make(cls, data, a0, b0))
    )
    data = DataMatrix(["r"], ["x"], np.zeros((1, 1)))
    with pytest.raises(UsageError, match=r"^`parameters` a0: bernoulli has no default for it; give a value$"):
        MatrixOptions("bernoulli", {"b0": 2.0}).make_model(data)
    assert MatrixOptions("bernoulli", {"a0": 2.0}).make_model(data).likelihood(()).a0.tolist() == [2.0]
