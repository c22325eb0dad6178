"""What may call itself a likelihood."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from cases import plugin

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.likelihoods.contract import METHODS, REGISTRY, check_contract, register
from pyclone_pgsm.likelihoods.pyclone import PyClone


def without(likelihood: type, *names: str) -> type:
    """A copy of the class that lacks these methods."""
    members = {
        name: value for name, value in vars(likelihood).items() if name in METHODS or name == "log_constant"
    }
    kept = {name: value for name, value in members.items() if name not in names}
    return type("Incomplete", (tuple,), {"_fields": likelihood._fields, **kept})  # type: ignore


def test_likelihoods_of_the_package_and_plugins_are_accepted() -> None:
    check_contract(PyClone)
    check_contract(plugin())
    assert REGISTRY["pyclone"] is PyClone


@pytest.mark.parametrize("name", sorted({*METHODS, "log_constant"} - {"log_predictives"}))
def test_a_missing_method_is_named(name: str) -> None:
    with pytest.raises(
        UsageError, match=rf"^Incomplete is not a likelihood: the method {name}\(self.*\) is missing$"
    ):
        check_contract(without(PyClone, name))


def test_all_that_is_wrong_is_named() -> None:
    class Wrong:
        def stat_size(self) -> int:
            return 1

        def add(self, stat: np.ndarray, observation: int) -> None: ...

    with pytest.raises(UsageError) as caught:
        check_contract(Wrong)
    text = str(caught.value)
    assert text.startswith(
        "Wrong is not a likelihood: it must be a typing.NamedTuple of arrays and numbers; "
    )
    assert "the method add(self, stat, observation) must be add(self, stat, i)" in text
    assert "the method clear(self, stat) is missing" in text
    assert "stat_size" not in text
    assert "log_constant(self) is missing" in text


def test_a_name_belongs_to_one_likelihood() -> None:
    with pytest.raises(UsageError, match="two likelihoods have the name 'pyclone'"):
        register("pyclone")(plugin())
    assert REGISTRY["pyclone"] is PyClone


def test_predictives_of_many_blocks_are_optional() -> None:
    """A likelihood without the method gets a loop over the blocks when it is registered."""
    likelihood = plugin().from_data(np.array([[2.0], [5.0], [0.0]]), 1.0, 0.5)

    @numba.njit
    def predict(likelihood):  # type: ignore[no-untyped-def]
        stats = np.zeros((4, 2))
        likelihood.add(stats[3], 0)
        likelihood.add(stats[1], 1)
        together = np.zeros(5)
        likelihood.log_predictives(stats, np.array([3, 1]), 2, np.full(2, -np.inf), together)
        one_by_one = [likelihood.log_predictive(stats[b], 2, -np.inf) for b in (3, 1)]
        return together, one_by_one

    together, one_by_one = predict(likelihood)
    assert together[:2].tolist() == list(one_by_one)
    assert together[2:].tolist() == [0.0, 0.0, 0.0]


def test_registering_refuses_what_is_no_likelihood() -> None:
    class Nothing(NamedTuple):
        data: np.ndarray

    with pytest.raises(UsageError, match="Nothing is not a likelihood"):
        register("nothing")(Nothing)
    assert "nothing" not in REGISTRY
