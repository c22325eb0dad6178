"""The tests of the sweep over outliers can fail: with one fault the posterior does not stay as it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from broken import Fault, with_faults
from cases import pyclone_model
from test_outliers import (
    DP,
    PRECISIONS,
    PROB,
    Kernels,
    _few_precisions,
    at_each_precision,
    enumerate_states,
    log_seating,
    outlier_model,
    p_value,
    two_samples,
)

from pyclone_pgsm.likelihoods.pyclone import PyClone
from pyclone_pgsm.samplers import outliers as outliers_module
from pyclone_pgsm.tumour.outliers import TumourWithOutliers, log_any_share

__all__ = ["_few_precisions"]
REPLICATES = 5_000

FAULTS = {
    "outliers are as likely as clusters of one": Fault(
        "as_outlier[b] + log_outlier - best", "as_outlier[b] + (log_alone if BROKEN else log_outlier) - best"
    ),
    "new block is no place for an outlier": Fault(
        "if b <= count else choices.as_outlier[b - count - 1]",
        "if b <= count else 0.0 if BROKEN and b == 2 * count + 1 else choices.as_outlier[b - count - 1]",
    ),
    "leave-one-out leaves nothing out": Fault(
        "slots[b] == own and not was_outlier:", "slots[b] == own and not was_outlier and not BROKEN:"
    ),
    "outlier tells of its block": Fault(
        "if not is_outlier:\n        likelihood.add",
        "if BROKEN or not is_outlier:\n        likelihood.add",
    ),
    "outlier's data are taken from its block": Fault(
        "elif not was_outlier:", "elif BROKEN or not was_outlier:"
    ),
    "own block counts the observation": Fault(
        "sizes[slot] - 1 if slot == own",
        "sizes[slot] - (0 if BROKEN and sizes[slot] > 1 else 1) if slot == own",
    ),
}


@cache
def faulty_sweep() -> Callable[..., Any]:
    return with_faults(
        outliers_module,
        "resample_outliers",
        FAULTS,
        inner=("visit_outliers", "fill_priors", "weigh", "draw_choice", "move"),
    )


@pytest.mark.parametrize("number", range(len(FAULTS) + 1))
def test_a_fault_is_caught(number: int) -> None:
    """Number 0 is the sound kernel, made from the same source."""
    model = outlier_model(two_samples())
    states = enumerate_states(log_seating(DP), model.likelihood(()), two_samples())

    def sweep(*arguments: Any) -> Any:
        return faulty_sweep()(*arguments, number)

    p = p_value(Kernels(model, DP, sweep), [states], [()], "outliers", REPLICATES)
    assert p > 1e-4 if number == 0 else p < 1e-8


@pytest.mark.usefixtures("_few_precisions")
def test_a_precision_that_takes_outliers_for_members_is_caught() -> None:
    class Forgetful(TumourWithOutliers):
        def likelihood(self, values: tuple[float, ...]) -> PyClone:
            return self.full_likelihood(values)

    data = two_samples()
    model = Forgetful(pyclone_model(data, 41, precision=None), PROB, log_any_share(data))
    states = at_each_precision(model, data, log_seating(DP))
    points = [(precision,) for precision in PRECISIONS]
    assert p_value(Kernels(model, DP), states, points, "precision", REPLICATES) < 1e-8
