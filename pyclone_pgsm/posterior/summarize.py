"""From a trace to a result: consensus clusters, their prevalences or parameters, diagnostics of the chains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.labels import canonical
from pyclone_pgsm.models import names_of
from pyclone_pgsm.posterior.checks import doubts_of_tumour
from pyclone_pgsm.posterior.consensus import CRITERIA as CRITERIA
from pyclone_pgsm.posterior.consensus import assignment_probability, coclustering, consensus
from pyclone_pgsm.posterior.expected_loss import pear
from pyclone_pgsm.posterior.matching import match_clusters
from pyclone_pgsm.posterior.mixture import MixtureSummary, cluster_parameters, size_order
from pyclone_pgsm.posterior.predictive import Predictive
from pyclone_pgsm.posterior.prevalence import (
    block_posteriors,
    cluster_prevalences,
    mutation_prevalences,
)
from pyclone_pgsm.posterior.reads import reads_given_clusters
from pyclone_pgsm.posterior.rows import (
    draw_rows,
    gather,
    kept_rows,
    read_outliers,
    read_partitions,
    thin,
    weighted_rows,
)
from pyclone_pgsm.posterior.stacking import weigh_chains
from pyclone_pgsm.posterior.states import DEFAULT_THRESHOLDS, Thresholds
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.sampling.diagnostics import FEWEST_DRAWS, effective_sample_size, split_rhat
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.tumour.base_measure import is_weight
from pyclone_pgsm.tumour.grid import prevalence_grid
from pyclone_pgsm.tumour.model import PRECISION

DEFAULT_CRITERION = "vi"
"""Of all data: it does not cut clusters that draws break up now here and now there (docs/evidence.md)."""
CONSENSUS_DRAWS = 1000
PREVALENCE_DRAWS = 240
PARAMETER_DRAWS = 100
LABEL_BYTES = 400 << 20  # labels read at the same time
PICTURED = 1000  # mutations or rows in the co-clustering picture at most
RHAT_LIMIT = 1.05
SIMILAR = 0.8  # adjusted Rand index of two consensus partitions below which they differ much


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
    chain_weights : (chains,) float64
        Share of each chain in the result (see :mod:`pyclone_pgsm.posterior.stacking`).
    """

    summary: Summary | MixtureSummary
    diagnostics: list[Diagnostic]
    coclustered: NDArray[np.int64]
    coclustering: NDArray[np.float64]
    warnings: list[str]
    chain_weights: NDArray[np.float64]


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
    worst_weight = max(
        (d for d in diagnostics if is_weight(d.name)), key=lambda d: np.nan_to_num(d.rhat), default=None
    )
    for diagnostic in diagnostics:
        if diagnostic.name in trace.options.first_prior.hyperparameters:
            continue
        if is_precision(diagnostic.name) and diagnostic.lower > 10.0 * _median_depth(trace):
            continue  # as good as binomial, whatever the value
        if is_weight(diagnostic.name) and diagnostic is not worst_weight:
            continue
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


def summarize(
    trace: Trace,
    criterion: str | None = None,
    burn_in: int | None = None,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> Result:
    """Consensus clusters, their prevalences or parameters, and diagnostics of a trace.

    Parameters
    ----------
    trace : Trace
    criterion : {"mpear", "vi", "binder", "map"} or None
        See :func:`pyclone_pgsm.posterior.consensus.consensus`; None: :data:`DEFAULT_CRITERION`.
    burn_in : int or None
        Iterations to skip; None: those of the run.
    thresholds : Thresholds
        Where a mutation of a tumour begins to be present and clonal.

    Raises
    ------
    TraceError
        There is no iteration after the burn-in, the trace is damaged, or its likelihood is not found or the code of a
        file that the user did not name.
    UsageError
        The thresholds cannot be.
    """
    thresholds.check()
    criterion = criterion or DEFAULT_CRITERION
    trace.check_likelihood()
    kept = kept_rows(trace, burn_in)
    diagnostics = diagnose(trace, kept)
    weights, weights_said = weigh_chains(trace, kept, {d.name: d.rhat for d in diagnostics})
    rows = weighted_rows(kept, weights)
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
        labels = _most_probable(trace, kept)
    else:
        labels = _consensus_of_others(draws, outlier_prob, criterion, rng, most_clusters)

    summary: Summary | MixtureSummary
    if trace.options.is_tumour:
        summary = _tumour_summary(trace, rows, draws, labels, outlier_prob, thresholds)
    else:
        summary = _mixture_summary(trace, rows, draws, labels)
    items = np.arange(T) if T <= PICTURED else np.sort(rng.choice(T, PICTURED, replace=False))
    warnings = _warnings(trace, diagnostics, kept)
    warnings += [weights_said] if weights_said else []
    other = {"mpear": "vi", "vi": "mpear"}.get(criterion)
    if other:
        both = {
            criterion: summary.labels,
            other: _consensus_of_others(draws, outlier_prob, other, rng, most_clusters),
        }
        warnings += _disagreement(both["mpear"], both["vi"])
    if isinstance(summary, Summary):
        inferred = {name: gather(trace, rows, name) for name in trace.options.hyperparameters}
        warnings += doubts_of_tumour(summary, inferred, trace.options.model.get("tumour_content", {}))
    return Result(summary, diagnostics, items, coclustering(draws, items), warnings, weights)


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
    outlier_prob: NDArray[np.float64] | None,
    criterion: str,
    rng: np.random.Generator,
    most_clusters: int,
) -> NDArray[np.int64]:
    """(T,) consensus clusters of all but the outliers, which are -1."""
    if outlier_prob is None:
        return consensus(draws, criterion, rng=rng, max_clusters=most_clusters)
    outliers = outlier_prob > 0.5
    labels = np.full(len(outliers), -1)
    if not outliers.all():
        labels[~outliers] = consensus(draws[:, ~outliers], criterion, rng=rng, max_clusters=most_clusters)
    return labels


def _disagreement(by_mpear: NDArray[np.int64], by_vi: NDArray[np.int64]) -> list[str]:
    """A warning if two consensus partitions of the same draws differ much; what is in no cluster has -1 in both."""
    placed = by_mpear >= 0
    if not placed.any():
        return []
    index = pear(by_mpear[None, placed], by_vi[placed])  # with a single draw the adjusted Rand index
    if index >= SIMILAR:
        return []
    numbers = [len(np.unique(labels[placed])) for labels in (by_mpear, by_vi)]
    return [
        f"the consensus depends on its criterion: {numbers[0]} clusters by mpear, {numbers[1]} by vi (adjusted Rand "
        f"index between the two {index:.2f}): look at both (--consensus)"
    ]


def _tumour_summary(
    trace: Trace,
    rows: list[NDArray[np.int64]],
    draws: NDArray[Any],
    labels: NDArray[np.int64],
    outlier_prob: NDArray[np.float64] | None,
    thresholds: Thresholds,
) -> Summary:
    options, observations = trace.options, trace.observations
    grid_size = options.model["grid_size"]
    thinned = thin(rows, min(PREVALENCE_DRAWS, len(draws)))
    partitions = read_partitions(trace, thinned)
    model: Any = trace.model()
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
    clusters, density = cluster_prevalences(blocks, partitions, labels, grid_size, thresholds)
    mutations = mutation_prevalences(blocks, partitions, grid_size, thresholds)
    grid = prevalence_grid(grid_size)
    matches = match_clusters(draws, labels)
    medians = tuple(
        float(np.quantile(gather(trace, rows, name), 0.5, method="inverted_cdf")) for name in names
    )
    reads = reads_given_clusters(
        model.observations(medians), labels, density, grid, options.model["genotype_prior"]
    )

    depth = np.where(observations.has_data, observations.depth, 0)
    vaf = np.where(depth > 0, observations.alt_counts / np.maximum(depth, 1), np.nan)
    return Summary(
        observations.mutation_ids,
        observations.sample_ids,
        labels,
        matches.own_prob if outlier_prob is None else np.where(in_cluster, matches.own_prob, outlier_prob),
        *mutations[:4],
        vaf,
        depth,
        np.bincount(labels[in_cluster]),
        *clusters[:4],
        grid,
        density,
        outlier_prob,
        prob_present=mutations.prob_present,
        prob_clonal=mutations.prob_clonal,
        cluster_prob_present=clusters.prob_present,
        cluster_prob_clonal=clusters.prob_clonal,
        peaks=mutations.peaks,
        cluster_peaks=clusters.peaks,
        second_cluster=matches.second,
        second_prob=matches.second_prob,
        multiplicity=reads.multiplicity,
        multiplicity_prob=reads.multiplicity_prob,
        fit=reads.fit,
        expected_reads=reads.expected,
        thresholds=thresholds,
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


def predictive(
    trace: Trace,
    weights: NDArray[np.float64],
    burn_in: int | None = None,
    most: int = PREVALENCE_DRAWS,
) -> Predictive:
    """The posterior predictive density of a trace of a matrix.

    Parameters
    ----------
    trace : Trace
    weights : (chains,) float64
        Share of each chain (:attr:`Result.chain_weights`).
    burn_in : int or None
        None: that of the run.
    most : int
        About so many of the saved partitions are used.

    Raises
    ------
    UsageError, TraceError
        See :func:`summarize`; or the trace is a tumour's.
    """
    thinned = draw_rows(trace, burn_in, most, weights)
    prior = trace.options.first_prior
    columns = zip(*(gather(trace, thinned, name) for name in prior.hyperparameters))
    partitions = read_partitions(trace, thinned)
    priors = [prior.with_values(values) for values in columns] or [prior] * len(partitions)
    return Predictive(trace.model().likelihood(()), priors, partitions)
