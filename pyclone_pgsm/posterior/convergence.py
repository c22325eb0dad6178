"""Whether the chains of a trace agree: R-hat and effective sample size of every traced quantity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.posterior.rows import gather
from pyclone_pgsm.sampling.diagnostics import FEWEST_DRAWS, effective_sample_size, split_rhat
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.tumour.model import PRECISION


@dataclass(frozen=True)
class Diagnostic:
    """Convergence of one traced quantity over all chains after burn-in.

    Attributes
    ----------
    name : str
    mean, lower, upper : float
        Posterior mean and 95 % interval (of a precision: its median, which may be infinite).
    rhat : float
        Rank-normalised split R-hat; near 1 if the chains agree. NaN with too few draws.
    ess : float
        Bulk effective sample size.
    """

    name: str
    mean: float
    lower: float
    upper: float
    rhat: float
    ess: float


FINITE_PRECISIONS = PRECISION.values[0], PRECISION.values[-2]


def is_precision(name: str) -> bool:
    """Whether a hyperparameter is a precision: ``precision`` or ``precision:SAMPLE``."""
    return name.partition(":")[0] == "precision"


def cell_quantiles(
    draws: NDArray[np.float64], values: Sequence[float], probabilities: Sequence[float]
) -> NDArray[np.float64]:
    """Quantiles of a quantity of which a chain knows some values only.

    Each value stands for its cell, half-way to its neighbours in logarithms, with its draws spread evenly over it.

    Parameters
    ----------
    draws : (M,) float64
        Each of them one of the values.
    values : sequence of float
        Positive, increasing; the last may be infinite, which stands for itself.
    probabilities : sequence of float
    """
    logs = np.log([value for value in values if value < np.inf])
    middle = (logs[1:] + logs[:-1]) / 2
    edges = np.concatenate([[2 * logs[0] - middle[0]], middle, [2 * logs[-1] - middle[-1]]])
    finite = np.log(draws[np.isfinite(draws)])
    held = np.histogram(finite, edges)[0].cumsum() / len(draws)
    quantiles = np.exp(np.interp(probabilities, np.append(0.0, held), edges))
    return np.where(np.asarray(probabilities) > held[-1], np.inf, quantiles)


def diagnose(trace: Trace, rows: list[NDArray[np.int64]]) -> list[Diagnostic]:
    """R-hat and effective sample size of every traced quantity."""
    found = []
    length = min(len(chosen) for chosen in rows)
    for name in ("log_joint", "num_clusters", "concentration", *trace.options.traced):
        pooled = gather(trace, rows, name)
        if np.isnan(pooled).all():  # a prior without a concentration
            continue
        if is_precision(name):
            ends = cell_quantiles(pooled, PRECISION.values, [0.025, 0.975])
            lower, upper = np.where(np.isinf(ends), ends, np.clip(ends, *FINITE_PRECISIONS))
        else:
            lower, upper = np.quantile(pooled, [0.025, 0.975], method="inverted_cdf")
        mean = float(np.median(pooled)) if name in trace.options.hyperparameters else float(pooled.mean())
        rhat = ess = math.nan
        if length >= FEWEST_DRAWS:
            equal = [chosen[-length:] for chosen in rows]
            table = gather(trace, equal, name).reshape(len(rows), length)
            if np.isinf(table).any():  # the binomial: past the largest precision, whatever the distance
                table = np.unique(table, return_inverse=True)[1].reshape(table.shape).astype(float)
            rhat, ess = split_rhat(table), effective_sample_size(table)
        found.append(Diagnostic(name, mean, float(lower), float(upper), rhat, ess))
    return found
