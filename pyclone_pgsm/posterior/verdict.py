"""Whether the chains of a trace have converged (:mod:`pyclone_pgsm.sampling.convergence`)."""

from __future__ import annotations

import math

from pyclone_pgsm.posterior.rows import series_of
from pyclone_pgsm.sampling.convergence import COCLUSTERING_LIMIT, ESS_LIMIT, RHAT_LIMIT, Rule, Verdict
from pyclone_pgsm.sampling.monitor import Monitor
from pyclone_pgsm.trace import RunOptions, Trace
from pyclone_pgsm.trace.dataset import Dataset


def rule_of(data: Dataset, options: RunOptions) -> Rule:
    """Of what the chains of a run are asked."""
    return Rule(frozenset(options.first_prior.hyperparameters), data.immaterial_above)


def monitor_of(trace: Trace) -> Monitor:
    """What the rule looks at of all iterations that are saved."""
    options = trace.options
    names = (*options.first_prior.hyperparameters, *options.hyperparameters)
    monitor = Monitor(len(trace.data.names), len(trace.chains), names, rule_of(trace.data, options))
    for k, chain in enumerate(trace.chains):
        for rows in trace.blocks_of_rows(k):
            series = {name: series_of(chain, name)[rows] for name in ("log_joint", "num_clusters", *names)}
            monitor.add_rows(k, chain.iteration[rows], series, trace.labels(k, rows), trace.watched(k, rows))
    return monitor


def verdict_of(trace: Trace, burn_in: int | None = None) -> Verdict:
    """What the rule says of the chains after the burn-in; None: that of the run."""
    last = min(int(chain.iteration[-1]) if len(chain.iteration) else 0 for chain in trace.chains)
    skip = trace.burn_in if burn_in is None else burn_in
    return monitor_of(trace).judge(last, skip)


def verdict_line(verdict: Verdict) -> str:
    """One line: whether the chains have converged, and what is farthest from its limit."""
    asked = [figure for figure in verdict.figures if figure.is_asked and not math.isnan(figure.rhat)]
    if not asked:
        return "not converged: too few saved iterations to tell"
    rhat = max(asked, key=lambda figure: figure.rhat)
    size = min(asked, key=lambda figure: min(figure.bulk_ess, figure.tail_ess))
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
