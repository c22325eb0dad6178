"""Mistakes in the methods of a plugin, found before a run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.likelihoods.bernoulli import COUNT, Bernoulli
from pyclone_pgsm.likelihoods.normal import Normal
from pyclone_pgsm.likelihoods.trial import ASKED, MEMBERS, check_answers

DATA = (np.random.default_rng(1).random((30, 4)) < [0.2, 0.4, 0.6, 0.8]).astype(float)


def wrong(**methods: Callable[..., Any]) -> Any:
    """The Bernoulli likelihood of the data with other methods."""
    return type("Wrong", (Bernoulli,), methods)(*Bernoulli.from_data(DATA, 0.7, 1.9))


def remove_nothing(self: Any, stat: Any, i: int) -> None:
    pass


def clear_a_part(self: Any, stat: Any) -> None:
    stat[COUNT] = 0.0


def add_all_but_the_first(self: Any, stat: Any, members: Any) -> None:
    Bernoulli.add_many(self, stat, members[1:])


def predict_with_wrong_slots(self: Any, stats: Any, slots: Any, i: int, negligible: Any, out: Any) -> None:
    for b in range(len(slots)):
        out[b] = self.log_predictive(stats[b], i, negligible[b])


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (
            {"log_prior_predictive": lambda self, i: self.log_prior[i] + 1.0},
            "log_prior_predictive returned .* for observation 0 .*; it must equal log_marginal of its block",
        ),
        (
            {"log_marginal": lambda self, stat: -Bernoulli.log_marginal(self, stat)},
            "log_prior_predictive returned .*; it must equal log_marginal of its block",
        ),
        (
            {"log_predictive": lambda self, stat, i, negligible: -Bernoulli.log_predictive(self, stat, i, 0.0)},
            "log_predictive returned .*; it must equal the log_marginal of a block less that of the block without it",
        ),
        (
            {
                "log_predictive": lambda self, stat, i, negligible: (
                    Bernoulli.log_predictive(self, stat, i, 0.0) if stat[COUNT] < 20 else math.nan
                )
            },
            "log_predictive returned nan .*; it must return the log of a density",
        ),
        (
            {
                "log_predictive_without": lambda self, stat, i: Bernoulli.log_predictive(self, stat, i, 0.0)
            },
            "log_predictive_without returned .*; it must equal its log_predictive given the others",
        ),
        ({"remove": remove_nothing}, "log_predictive returned .*; it must equal the log_marginal"),
        ({"clear": clear_a_part}, "log_prior_predictive returned .*; it must equal log_marginal of its block"),
        ({"add_many": add_all_but_the_first}, "log_prior_predictive returned .*; it must equal log_marginal"),
        ({"log_predictives": predict_with_wrong_slots}, "log_predictives returned .*; it must equal its"),
        ({"kind": lambda self, i: int(self.x[i, 0])}, "; it must equal that of observation .* the same kind"),
        ({"kind": lambda self, i: -1 - i}, "kind returned -1 for observation 0 .*; it must be at least 0"),
        (
            {"cluster_parameters": lambda self, stat: {"theta": np.zeros(int(stat[COUNT]))}},
            "cluster_parameters returned arrays of the shapes",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_named(methods: dict[str, Callable[..., Any]], message: str) -> None:
    with pytest.raises(UsageError, match=f"^`likelihood` 'wrong.py': .*{message}"):
        check_answers("wrong.py", wrong(**methods), len(DATA))


@pytest.mark.parametrize("T", [1, 2, 3, ASKED, MEMBERS, 3 * MEMBERS])
def test_right_methods_pass(T: int) -> None:
    rng = np.random.default_rng(T)
    for data in (rng.normal(size=(T, 3)), 1e-3 * rng.normal(size=(T, 2)) + 5.0):
        check_answers("normal", Normal.from_data(data, S0=0.01), T)
    check_answers("bernoulli", wrong(), min(T, len(DATA)))
    check_answers("bernoulli", wrong(kind=lambda self, i: int(self.x[i] @ [8, 4, 2, 1])), min(T, len(DATA)))
