"""Convergence of the chains of a trace.

:func:`diagnose` describes every traced quantity, and :func:`verdict_of` applies the rule by which chains stop
(:mod:`pyclone_pgsm.sampling.convergence`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.posterior.rows import gather, quantities, series_of
from pyclone_pgsm.sampling.convergence import (
    COCLUSTERING_LIMIT,
    ESS_LIMIT,
    RHAT_LIMIT,
    Monitor,
    Rule,
    Verdict,
    judge,
)
from pyclone_pgsm.trace import Trace


@dataclass(frozen=True)
class Diagnostic:
    """Convergence of one traced quantity over all chains after burn-in.

    Attributes
    ----------
    name : str
    mean, lower, upper : float
        Posterior mean and 95 % interval. For a hyperparameter of the likelihood, `mean` is the median, which may be
        infinite for a precision.
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


def cell_quantiles(
    draws: NDArray[np.float64], values: Sequence[float], probabilities: Sequence[float]
) -> NDArray[np.float64]:
    """Return quantiles of a quantity whose `draws` are limited to a grid of positive and increasing `values`.

    The draws at a value are spread evenly over its cell, which ends half-way to its neighbours on a logarithmic scale.
    The last value may be infinite; it then has no cell.
    """
    logs = np.log([value for value in values if value < np.inf])
    middle = (logs[1:] + logs[:-1]) / 2
    edges = np.concatenate([[2 * logs[0] - middle[0]], middle, [2 * logs[-1] - middle[-1]]])
    finite = np.log(draws[np.isfinite(draws)])
    held = np.histogram(finite, edges)[0].cumsum() / len(draws)
    quantiles = np.exp(np.interp(probabilities, np.append(0.0, held), edges))
    return np.where(np.asarray(probabilities) > held[-1], np.inf, quantiles)


def diagnose(trace: Trace, rows: list[NDArray[np.int64]], verdict: Verdict) -> list[Diagnostic]:
    """Return the mean and interval of every traced quantity in some rows, and what the rule found about it."""
    found = []
    checks = {check.name: check for check in verdict.quantities}
    for name in quantities(trace):
        pooled = gather(trace, rows, name)
        is_hyperparameter = name in trace.options.hyperparameters
        grid = trace.data.allowed_values(name).grid if is_hyperparameter else ()
        if grid:
            ends = cell_quantiles(pooled, grid, [0.025, 0.975])
            largest = max(value for value in grid if value < np.inf)
            lower, upper = np.where(np.isinf(ends), ends, np.clip(ends, grid[0], largest))
        else:
            lower, upper = np.quantile(pooled, [0.025, 0.975], method="inverted_cdf")
        mean = float(np.median(pooled)) if is_hyperparameter else float(pooled.mean())
        rhat, ess = (checks[name].rhat, checks[name].bulk_ess) if name in checks else (math.nan, math.nan)
        found.append(Diagnostic(name, mean, float(lower), float(upper), rhat, ess))
    return found


def monitor_of(trace: Trace) -> Monitor:
    """Return a monitor with all saved iterations of a trace."""
    names = quantities(trace)
    of_priors = {*trace.options.first_prior.hyperparameters, *trace.data.prior_parameters}
    rule = Rule(frozenset(of_priors), trace.data.immaterial_above)
    monitor = Monitor(len(trace.data.names), len(trace.chains), names[2:], rule)
    for k, chain in enumerate(trace.chains):
        for rows in trace.blocks_of_rows(k):
            series = {name: series_of(chain, name)[rows] for name in names}
            monitor.add_rows(k, chain.iteration[rows], series, trace.labels(k, rows), trace.watched(k, rows))
    return monitor


def verdict_of(trace: Trace, burn_in: int | None = None) -> Verdict:
    """Check the rule for the iterations after the burn-in, by default that of the run."""
    skip = trace.burn_in if burn_in is None else burn_in
    monitor = monitor_of(trace)
    return judge(monitor.draws(), monitor.rule, common_iterations(trace), skip)


def common_iterations(trace: Trace) -> int:
    """Return the number of iterations that every chain has done, as far as the saved ones tell."""
    saved, settings = min(chain.last_iteration for chain in trace.chains), trace.options.settings
    return settings.lengths[0] if saved == settings.last_saved else saved


def verdict_line(verdict: Verdict) -> str:
    """Say in one line whether the chains have converged, with the worst quantities and their limits."""
    if not verdict.checked:
        return "not converged: too few saved iterations to tell"
    rhat = max(verdict.checked, key=lambda quantity: quantity.rhat)
    size = min(verdict.checked, key=lambda quantity: min(quantity.bulk_ess, quantity.tail_ess))
    ess = min(size.bulk_ess, size.tail_ess)
    parts = [
        f"R-hat at most {math.ceil(1000.0 * rhat.rhat) / 1000.0:.3f} ({rhat.name}; limit {RHAT_LIMIT})"
        if math.isfinite(rhat.rhat)
        else f"R-hat infinite ({rhat.name}; limit {RHAT_LIMIT})",
        f"effective sample size at least {math.floor(ess)} ({size.name}; limit {ESS_LIMIT:.0f})",
    ]
    if not math.isnan(verdict.coclustering_sd):
        shown = math.ceil(10_000.0 * verdict.coclustering_sd) / 10_000.0
        parts.append(
            f"co-clustering probabilities differ by {shown:.4f} between chains (limit {COCLUSTERING_LIMIT})"
        )
    head = "converged" if verdict.converged else "not converged"
    return f"{head} after {verdict.iterations:,} iterations, burn-in {verdict.burn_in:,}: {'; '.join(parts)}"
