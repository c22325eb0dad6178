"""From a trace to a result: consensus clusters, their prevalences or parameters, diagnostics of the chains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import TraceError, UsageError
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.models import names_of
from pyclone_pgsm.posterior.consensus import CRITERIA as CRITERIA
from pyclone_pgsm.posterior.consensus import assignment_probability, coclustering, consensus
from pyclone_pgsm.posterior.diagnostics import FEWEST_DRAWS, effective_sample_size, split_rhat
from pyclone_pgsm.posterior.mixture import MixtureSummary, cluster_parameters, size_order
from pyclone_pgsm.posterior.predictive import Predictive
from pyclone_pgsm.posterior.prevalence import (
    block_posteriors,
    cluster_prevalences,
    mutation_prevalences,
)
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.tumour.grid import prevalence_grid
from pyclone_pgsm.tumour.model import PRECISION

CONSENSUS_DRAWS = 1000
PREVALENCE_DRAWS = 240
PARAMETER_DRAWS = 100
LABEL_BYTES = 400 << 20  # labels read at the same time
PICTURED = 1000  # mutations or rows in the co-clustering picture at most
RHAT_LIMIT = 1.05


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


@dataclass(frozen=True)
class Result:
    """All that the tables, pictures and the terminal show.

    Attributes
    ----------
    summary : Summary or MixtureSummary
        Of a tumour, or of any other data.
    diagnostics : list of Diagnostic
    coclustered : (n,) int64
        Mutations or rows in the co-clustering picture.
    coclustering : (n, n) float64
    warnings : list of str
        What the user should know before trusting the result.
    """

    summary: Summary | MixtureSummary
    diagnostics: list[Diagnostic]
    coclustered: NDArray[np.int64]
    coclustering: NDArray[np.float64]
    warnings: list[str]


def kept_rows(trace: Trace, burn_in: int | None = None) -> list[NDArray[np.int64]]:
    """Rows of each chain after burn-in.

    Raises
    ------
    UsageError
        The burn-in is negative.
    TraceError
        No chain has any.
    """
    if burn_in is not None and burn_in < 0:
        raise UsageError(f"--burn-in {burn_in}: must be at least 0")
    skip = trace.options.settings.lengths[1] if burn_in is None else burn_in
    rows = [np.flatnonzero(chain.iteration > skip) for chain in trace.chains]
    if not any(len(chosen) for chosen in rows):
        last = max((int(chain.iteration[-1]) for chain in trace.chains if len(chain.iteration)), default=0)
        raise TraceError(
            f"{trace.path}: no iteration after the burn-in of {skip} (the chains have {last}): "
            "resume it, or choose a smaller --burn-in"
        )
    return rows


def thin(rows: list[NDArray[np.int64]], most: int) -> list[NDArray[np.int64]]:
    """About `most` rows in all, spread evenly over each chain."""
    total = sum(map(len, rows))
    if total <= most:
        return rows
    return [
        chosen[np.linspace(0, len(chosen) - 1, max(1, round(len(chosen) * most / total))).astype(int)]
        if len(chosen)
        else chosen
        for chosen in rows
    ]


def draw_rows(trace: Trace, burn_in: int | None, most: int) -> list[NDArray[np.int64]]:
    """About `most` of the rows after burn-in, spread evenly over each chain."""
    return thin(kept_rows(trace, burn_in), most)


def read_partitions(trace: Trace, rows: list[NDArray[np.int64]]) -> NDArray[Any]:
    """(M, T) labels of rows of each chain."""
    return np.concatenate([trace.labels(k, chosen) for k, chosen in enumerate(rows) if len(chosen)])


def read_outliers(trace: Trace, rows: list[NDArray[np.int64]]) -> NDArray[np.bool_]:
    """(M, T) which mutations are outliers at rows of each chain."""
    return np.concatenate([trace.outliers(k, chosen) for k, chosen in enumerate(rows) if len(chosen)])


def gather(trace: Trace, rows: list[NDArray[np.int64]], name: str) -> NDArray[np.float64]:
    """(M,) values of a traced quantity at rows of each chain."""
    series = (
        chain.hyperparameters[name] if name in chain.hyperparameters else getattr(chain, name)
        for chain in trace.chains
    )
    return np.concatenate([values[chosen] for values, chosen in zip(series, rows)])


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


def _warnings(trace: Trace, diagnostics: list[Diagnostic], rows: list[NDArray[np.int64]]) -> list[str]:
    warnings = []
    wanted = trace.options.settings.lengths[0]
    saved = wanted // trace.options.settings.thin * trace.options.settings.thin
    short = [str(k) for k, chain in enumerate(trace.chains) if saved not in chain.iteration[-1:]]
    if short:
        warnings.append(f"chains {', '.join(short)} have not done all {wanted} iterations: resume the trace")
    for diagnostic in diagnostics:
        if diagnostic.name in trace.options.first_prior.hyperparameters:
            continue
        if is_precision(diagnostic.name) and diagnostic.lower > 10.0 * _median_depth(trace):
            continue  # as good as binomial, whatever the value
        if diagnostic.rhat > RHAT_LIMIT:
            who = "the chains disagree" if len(rows) > 1 else "the chain has not settled"
            rhat = np.ceil(1000.0 * diagnostic.rhat) / 1000.0
            warnings.append(
                f"{who} on {diagnostic.name} (R-hat {rhat:.3f}, wanted below {RHAT_LIMIT}): run more iterations"
            )
    if min(map(len, rows)) < FEWEST_DRAWS:
        warnings.append(
            f"fewer than {FEWEST_DRAWS} saved iterations a chain after the burn-in: nothing tells whether the chains "
            "agree, nor how far these results are from the posterior; run more iterations"
        )
    return warnings


def _median_depth(trace: Trace) -> float:
    return float(np.median(trace.observations.depth[trace.observations.has_data]))


def consensus_order(labels: NDArray[np.int64], mean: NDArray[np.float64]) -> NDArray[np.int64]:
    """Renumber clusters from the largest mean prevalence down (ties: the larger, then the earlier, first).

    Parameters
    ----------
    labels : (T,) int64
        0..K-1.
    mean : (K, D) float64
        Prevalence of each cluster.
    """
    sizes = np.bincount(labels)
    first = np.array([np.argmax(labels == k) for k in range(len(sizes))])
    order = np.lexsort((first, -sizes, -np.round(mean.mean(axis=1), 9)))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[labels]


def default_criterion(trace: Trace) -> str:
    """What the consensus is chosen by: of a tumour "mpear", PyClone's; of any other data "vi", which scatters less.

    On S1 to S4 of the paper "vi" has the higher V-measure on all but the first, where the two are alike.
    """
    return "mpear" if trace.options.is_tumour else "vi"


def summarize(trace: Trace, criterion: str | None = None, burn_in: int | None = None) -> Result:
    """Consensus clusters, their prevalences or parameters, and diagnostics of a trace.

    Parameters
    ----------
    trace : Trace
    criterion : {"mpear", "vi", "binder", "map"} or None
        See :func:`pyclone_pgsm.posterior.consensus.consensus`; None: :func:`default_criterion`.
    burn_in : int or None
        Iterations to skip; None: those of the run.

    Raises
    ------
    TraceError
        There is no iteration after the burn-in, the trace is damaged, or its likelihood is not found or the code of a
        file that the user did not name.
    """
    criterion = criterion or default_criterion(trace)
    trace.check_likelihood()
    rows = kept_rows(trace, burn_in)
    T = len(names_of(trace.data))
    rng = np.random.default_rng(np.random.SeedSequence(trace.options.settings.seed, spawn_key=(1 << 20,)))

    most = max(20, min(CONSENSUS_DRAWS, LABEL_BYTES // T))
    thinned = thin(rows, most)
    draws = read_partitions(trace, thinned)
    outlier_prob = read_outliers(trace, thinned).mean(axis=0) if trace.options.has_outliers else None
    # no more clusters than the draws have in the mean: left free, "mpear" gives many a mutation that could be in one
    # of several clusters one of its own, and gains next to nothing by it
    most_clusters = max(1, math.ceil(gather(trace, rows, "num_clusters").mean()))
    if criterion == "map":
        labels = _most_probable(trace, rows)
    elif outlier_prob is None:
        labels = consensus(draws, criterion, rng=rng, max_clusters=most_clusters)
    else:
        labels = _consensus_of_others(draws, outlier_prob > 0.5, criterion, rng, most_clusters)

    summary: Summary | MixtureSummary
    if trace.options.is_tumour:
        summary = _tumour_summary(trace, rows, draws, labels, outlier_prob)
    else:
        summary = _mixture_summary(trace, rows, draws, labels)
    items = np.arange(T) if T <= PICTURED else np.sort(rng.choice(T, PICTURED, replace=False))
    diagnostics = diagnose(trace, rows)
    return Result(
        summary,
        diagnostics,
        items,
        coclustering(draws, items),
        _warnings(trace, diagnostics, rows),
    )


def _most_probable(trace: Trace, rows: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """(T,) clusters of the row with the largest joint density, -1 of its outliers."""
    best = int(np.argmax(np.concatenate([c.log_joint[r] for c, r in zip(trace.chains, rows)])))
    chain = int(np.repeat(np.arange(len(rows)), list(map(len, rows)))[best])
    row = np.concatenate(rows)[best : best + 1]
    labels = trace.labels(chain, row)[0].astype(np.int64)
    if trace.options.has_outliers:
        outliers = trace.outliers(chain, row)[0]
        labels[~outliers] = canonical(labels[~outliers])
        labels[outliers] = -1
    return labels


def _consensus_of_others(
    draws: NDArray[Any],
    outliers: NDArray[np.bool_],
    criterion: str,
    rng: np.random.Generator,
    most_clusters: int,
) -> NDArray[np.int64]:
    """(T,) consensus clusters of all mutations but the outliers, which are -1."""
    labels = np.full(len(outliers), -1)
    if not outliers.all():
        labels[~outliers] = consensus(draws[:, ~outliers], criterion, rng=rng, max_clusters=most_clusters)
    return labels


def _assignment_probability(
    draws: NDArray[Any], labels: NDArray[np.int64], outlier_prob: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """(T,) of the mutations' clusters; of an outlier, that it is one."""
    if outlier_prob is None:
        return assignment_probability(draws, labels)
    alone = len(labels) + np.arange(len(labels))
    of_cluster = assignment_probability(draws, np.where(labels < 0, alone, labels))
    return np.where(labels < 0, outlier_prob, of_cluster)


def _tumour_summary(
    trace: Trace,
    rows: list[NDArray[np.int64]],
    draws: NDArray[Any],
    labels: NDArray[np.int64],
    outlier_prob: NDArray[np.float64] | None,
) -> Summary:
    options, observations = trace.options, trace.observations
    grid_size = options.model["grid_size"]
    thinned = thin(rows, min(PREVALENCE_DRAWS, len(draws)))
    partitions = read_partitions(trace, thinned)
    model = trace.model()
    names = options.hyperparameters
    values = list(zip(*(gather(trace, thinned, name) for name in names))) or [()] * len(partitions)
    # draws at the same precision together: the tables are computed once each
    order = sorted(range(len(partitions)), key=lambda m: values[m])
    partitions = partitions[order]
    blocks = block_posteriors(
        (model.likelihood(tuple(map(float, values[m]))), partition) for m, partition in zip(order, partitions)
    )
    clusters, _ = cluster_prevalences(blocks, partitions, labels, grid_size)
    in_cluster = labels >= 0
    labels[in_cluster] = consensus_order(labels[in_cluster], clusters.mean)
    clusters, density = cluster_prevalences(blocks, partitions, labels, grid_size)
    mutations = mutation_prevalences(blocks, partitions, grid_size)

    depth = np.where(observations.has_data, observations.depth, 0)
    vaf = np.where(depth > 0, observations.alt_counts / np.maximum(depth, 1), np.nan)
    return Summary(
        observations.mutation_ids,
        observations.sample_ids,
        labels,
        _assignment_probability(draws, labels, outlier_prob),
        *mutations,
        vaf,
        depth,
        np.bincount(labels[in_cluster]),
        *clusters,
        prevalence_grid(grid_size),
        density,
        outlier_prob,
    )


def _mixture_summary(
    trace: Trace, rows: list[NDArray[np.int64]], draws: NDArray[Any], labels: NDArray[np.int64]
) -> MixtureSummary:
    labels = size_order(labels)
    model = trace.model()
    partitions = read_partitions(trace, thin(rows, min(PARAMETER_DRAWS, len(draws))))
    return MixtureSummary(
        trace.matrix.row_names,
        trace.matrix.column_names,
        labels,
        assignment_probability(draws, labels),
        np.bincount(labels),
        cluster_parameters(model.likelihood(()), partitions, labels),
    )


def predictive(trace: Trace, burn_in: int | None = None, most: int = PREVALENCE_DRAWS) -> Predictive:
    """The posterior predictive density of a trace of a matrix.

    Parameters
    ----------
    trace : Trace
    burn_in : int or None
        None: that of the run.
    most : int
        About so many of the saved partitions are used.

    Raises
    ------
    UsageError, TraceError
        See :func:`summarize`; or the trace is a tumour's.
    """
    thinned = draw_rows(trace, burn_in, most)
    prior = trace.options.first_prior
    columns = zip(*(gather(trace, thinned, name) for name in prior.hyperparameters))
    partitions = read_partitions(trace, thinned)
    priors = [prior.with_values(values) for values in columns] or [prior] * len(partitions)
    return Predictive(trace.model().likelihood(()), priors, partitions)
