"""Summarising a trace: consensus clusters, their prevalences or parameters, and diagnostics of the chains."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.likelihoods.foreign import blamed
from pyclone_pgsm.posterior.consensus import CRITERIA, coclustering, consensus
from pyclone_pgsm.posterior.convergence import Diagnostic, diagnose, verdict_line, verdict_of
from pyclone_pgsm.posterior.division import Division, read_division
from pyclone_pgsm.posterior.matching import join_singletons
from pyclone_pgsm.posterior.matrix import summarise_matrix
from pyclone_pgsm.posterior.mixture import MixtureSummary
from pyclone_pgsm.posterior.rows import (
    Draws,
    Traces,
    gather,
    how_to_lengthen,
    kept_rows,
    outlier_share,
    read_partitions,
    thin,
    traces_of,
    weighted_rows,
)
from pyclone_pgsm.posterior.stacking import weigh_chains
from pyclone_pgsm.posterior.states import DEFAULT_THRESHOLDS, SURE, Thresholds, checked_thresholds
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.posterior.tumour import summarise_tumour
from pyclone_pgsm.ranges import check_choice
from pyclone_pgsm.sampling.convergence import Verdict
from pyclone_pgsm.sampling.diagnostics import FEWEST_DRAWS
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.scoring.metrics import adjusted_rand
from pyclone_pgsm.trace import Trace

DEFAULT_CRITERION = "vi"
"""For all kinds of data: "vi" does not split clusters that the draws split at different places (docs/evidence.md)."""

CONSENSUS_DRAWS = 1000
LABEL_BYTES = 400 << 20  # largest size of the labels read at once
PICTURED = 1000  # largest number of mutations or rows in the co-clustering picture
RHAT_WARNING = 1.05
FEW_MEMBERS = 4  # clusters are small if they have fewer members than this on average
TOGETHER = 0.5  # most draws divide a single cluster if two of its members are together less often than this
SIMILAR = 0.8  # two consensus partitions differ much if their adjusted Rand index is smaller


class Summariser(NamedTuple):
    """How draws of one kind of data are summarised; `observation` names what is clustered, for messages.

    `summarise` returns the summary, and warnings specific to this kind of data, from the draws, the consensus labels
    (T,) (clusters 0..K-1 in any order, -1 for outliers), and the thresholds of presence and clonality. `division`, if
    any, finds clusters that draws hold apart.
    """

    observation: str
    summarise: Callable[[Draws, NDArray[np.int64], Thresholds], tuple[Any, list[str]]]
    division: Callable[[Draws], Division] | None = None


SUMMARISERS = {
    "tumour": Summariser("mutation", summarise_tumour, read_division),
    "matrix": Summariser("row", summarise_matrix),
}
"""By kind of data."""

AnySummary = Summary | MixtureSummary
S_co = TypeVar("S_co", bound=AnySummary, covariant=True)


@dataclass(frozen=True)
class Findings(Generic[S_co]):
    """Content of the tables, the pictures and the terminal output.

    `coclustering` (n, n) is of the mutations or rows `coclustered` (n,) in the picture. `warnings` are what the user
    should know before trusting the result, and `chain_weights` (chains,) the share of each chain in it (see
    :mod:`pyclone_pgsm.posterior.stacking`). `criterion` is that of the consensus partition.
    """

    summary: S_co
    diagnostics: list[Diagnostic]
    coclustered: NDArray[np.int64]
    coclustering: NDArray[np.float64]
    warnings: list[str]
    chain_weights: NDArray[np.float64]
    convergence: Verdict
    traces: Traces
    criterion: str
    left_out: Sequence[LeftOut]

    @property
    def clusters(self) -> str:
        """The number of clusters in words, with that of the draws unless all have as many."""
        number, amounts = self.summary.num_clusters, _clusters_of_draws(self.diagnostics)
        in_draws = "" if amounts == f"{number:,}" else f" (95 % of the draws have {amounts})"
        return count(number, "cluster") + in_draws

    @property
    def burn_in(self) -> int:
        """Number of iterations of each chain that were skipped."""
        return self.convergence.burn_in


def _clusters_of_draws(diagnostics: list[Diagnostic]) -> str:
    """Return the number of clusters in 95 % of the draws, as in "3 to 5"."""
    low, high = next((each.lower, each.upper) for each in diagnostics if each.name == "num_clusters")
    return f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"


def _doubts_of_burn_in(trace: Trace, burn_in: int | None) -> Iterator[str]:
    """Warn if a given burn-in is shorter than that during which the chains adapted."""
    settings = trace.options.settings
    adapting = settings.lengths[1]
    if settings.until_converged:  # the burn-in was found, and may be longer
        adapting = min(adapting, Settings().resolve(len(trace.data.names)).lengths[1])
    if burn_in is not None and burn_in < adapting:
        yield (
            f"`burn_in` {burn_in:,}: the chains adapted until iteration {adapting:,}, and earlier ones are not draws "
            "from the posterior; skip them"
        )


def _doubts_of_limit(trace: Trace, rows: list[NDArray[np.int64]]) -> Iterator[str]:
    """Warn if the prior's largest number of clusters is reached in most draws."""
    most = trace.options.first_prior.max_blocks(len(trace.data.names))
    share = float(np.mean(gather(trace, rows, "num_clusters") == most))
    if most < len(trace.data.names) and share > 0.5:
        yield (
            f"{100.0 * share:.0f} % of the draws have {count(most, 'cluster')}, as many as the prior allows: "
            "if different ones have been joined, allow more (`max_clusters`)"
        )


def _doubts_of_length(trace: Trace, verdict: Verdict) -> Iterator[str]:
    """Warn if chains are shorter than requested, or were to run until convergence and have not converged."""
    settings = trace.options.settings
    if not settings.until_converged:
        wanted, last = settings.lengths[0], settings.last_saved
        short = [str(k) for k, chain in enumerate(trace.chains) if chain.last_iteration != last]
        if short:
            yield f"chains {', '.join(short)} have not done all {wanted} iterations: {how_to_lengthen(trace)}"
    elif not verdict.converged:
        advice = how_to_lengthen(trace)
        if trace.options.stopped == "converged":  # so that resuming would do nothing
            advice = f"with the burn-in of the run, {trace.burn_in:,}, they have converged"
        yield f"{verdict_line(verdict)}: {advice}"


def _doubts_of_chains(
    verdict: Verdict, diagnostics: list[Diagnostic], rows: list[NDArray[np.int64]]
) -> Iterator[str]:
    """Warn if chains disagree, or are too short to tell."""
    required = {check.name for check in verdict.quantities if check.is_required}
    who = "the chains disagree" if len(rows) > 1 else "the chain has not settled"
    for each in diagnostics:
        if each.rhat > RHAT_WARNING and each.name in required:
            rhat = f"R-hat {np.ceil(1000.0 * each.rhat) / 1000.0:.3f}, wanted below {RHAT_WARNING}"
            yield f"{who} on {each.name} ({rhat}): run more iterations"
    if min(map(len, rows)) < FEWEST_DRAWS:
        yield (
            f"fewer than {FEWEST_DRAWS} saved iterations per chain after the burn-in: nothing tells whether the chains "
            "agree, nor how far these results are from the posterior; run more iterations"
        )


def check_criterion(criterion: str | None) -> None:
    """Raise UsageError for an unknown criterion of the consensus partition; None is the default."""
    check_choice("criterion", criterion, CRITERIA, may_be_none=True)


def summarize(
    trace: Trace,
    criterion: str | None = None,
    burn_in: int | None = None,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
) -> Findings[Any]:
    """Check and summarise a trace: consensus clusters, their prevalences or parameters, and diagnostics.

    The criterion is one of :data:`~pyclone_pgsm.posterior.consensus.CRITERIA`, by default :data:`DEFAULT_CRITERION`;
    the first `burn_in` iterations are skipped, by default those of the run. The thresholds are the prevalences above
    which a mutation of a tumour is present, and clonal.

    TraceError if there is no iteration after the burn-in, the trace is damaged, or its likelihood is not found or is
    defined in a file that the user did not name; UsageError if the criterion is unknown, the burn-in or the thresholds
    are out of range, or the code of a likelihood's file fails.
    """
    check_criterion(criterion)
    thresholds = checked_thresholds(thresholds)
    trace.check_likelihood()
    trace.states()  # the labels are read, and checked, for the verdict on convergence
    with threadpool_limits(1, user_api="blas"), blamed(trace.options.model.likelihood):
        return _summarise(trace, criterion or DEFAULT_CRITERION, burn_in, thresholds)


def _summarise(trace: Trace, criterion: str, burn_in: int | None, thresholds: Thresholds) -> Findings[Any]:
    summariser = SUMMARISERS[trace.data.kind]
    kept = kept_rows(trace, burn_in)
    verdict = verdict_of(trace, burn_in)
    rhat = {check.name: check.rhat for check in verdict.quantities}
    weights, weights_said = weigh_chains(trace, kept, rhat, summariser.observation)
    rows = weighted_rows(kept, weights)
    diagnostics = diagnose(trace, rows, verdict)
    T = len(trace.data.names)
    thinned = thin(rows, max(20, min(CONSENSUS_DRAWS, LABEL_BYTES // T)))
    draws = Draws(trace, rows, read_partitions(trace, thinned), outlier_share(trace, thinned))
    division = summariser.division(draws) if summariser.division else None
    rng = np.random.default_rng(np.random.SeedSequence(trace.options.settings.seed, spawn_key=(1 << 20,)))

    if criterion == "map":
        used = [chosen if weight > 0.0 else chosen[:0] for chosen, weight in zip(kept, weights)]
        labels = _most_probable(trace, used)
    else:
        labels = _consensus_clusters(draws, division, criterion, rng)
    summary, doubts = summariser.summarise(draws, labels, thresholds)
    items = np.arange(T) if T <= PICTURED else np.sort(rng.choice(T, PICTURED, replace=False))
    warnings = [
        *_doubts_of_burn_in(trace, burn_in),
        *_doubts_of_length(trace, verdict),
        *_doubts_of_chains(verdict, diagnostics, kept),
        *([weights_said] if weights_said else []),
        *_doubts_of_limit(trace, rows),
        *_disagreement(draws, division, criterion, summary.labels, rng, diagnostics),
        *_undecided(trace, summary.labels, summary.assignment_prob, summariser.observation),
        *(division.warnings(summary.labels, criterion, rng) if division else []),
        *doubts,
    ]
    return Findings(
        summary=summary,
        diagnostics=diagnostics,
        coclustered=items,
        coclustering=coclustering(draws.partitions, items),
        warnings=warnings,
        chain_weights=weights,
        convergence=verdict,
        traces=traces_of(trace, verdict.burn_in),
        criterion=criterion,
        left_out=trace.data.left_out,
    )


def _most_probable(trace: Trace, rows: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return (T,) clusters of the row with the largest joint density, -1 for its outliers."""
    best = int(np.argmax(np.concatenate([c.log_joint[r] for c, r in zip(trace.chains, rows)])))
    chain = int(np.repeat(np.arange(len(rows)), list(map(len, rows)))[best])
    row = np.concatenate(rows)[best : best + 1]
    labels = trace.labels(chain, row)[0].astype(np.int64)
    outliers = trace.outliers(chain, row)[0]
    labels[~outliers] = canonical(labels[~outliers])
    labels[outliers] = -1
    return labels


def _consensus_clusters(
    draws: Draws, division: Division | None, criterion: str, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return (T,) consensus clusters, -1 for outliers.

    The number of clusters is at most the mean over draws, rounded up: without this limit, "mpear" makes singletons of
    many observations that could be in one of several clusters, with hardly any gain. Remaining singletons may join the
    cluster to which they most probably belong (:func:`~pyclone_pgsm.posterior.matching.join_singletons`).
    """
    most_clusters = max(1, math.ceil(gather(draws.trace, draws.rows, "num_clusters").mean()))
    outliers = draws.outlier_prob > 0.5
    labels = np.full(len(outliers), -1)
    if not outliers.all():
        partitions = draws.partitions[:, ~outliers] if outliers.any() else draws.partitions
        found = consensus(partitions, criterion, rng=rng, max_clusters=most_clusters)
        labels[~outliers] = join_singletons(partitions, found, draws.outlier_prob[~outliers])
        if criterion == "vi" and division is not None:
            labels = division.divide(labels, rng)
    return labels


def _disagreement(
    draws: Draws,
    division: Division | None,
    criterion: str,
    labels: NDArray[np.int64],
    rng: np.random.Generator,
    diagnostics: list[Diagnostic],
) -> Iterator[str]:
    """Warn if the consensus by the other of the two main criteria differs much from this one."""
    other = {"mpear": "vi", "vi": "mpear"}.get(criterion)
    if other is None:
        return
    found = {criterion: labels, other: _consensus_clusters(draws, division, other, rng)}
    placed = labels >= 0
    by_mpear, by_vi = found["mpear"][placed], found["vi"][placed]
    if placed.any() and (index := adjusted_rand(by_mpear, by_vi)) < SIMILAR:
        numbers = [len(np.unique(each)) for each in (by_mpear, by_vi)]
        yield (
            f"the consensus depends on its criterion: {numbers[0]} clusters by mpear, {numbers[1]} by vi (adjusted "
            f"Rand index between the two {index:.2f}), where 95 % of the draws have {_clusters_of_draws(diagnostics)}: "
            "compare both (`consensus` mpear and vi)"
        )


def _undecided(
    trace: Trace, labels: NDArray[np.int64], assignment_prob: NDArray[np.float64], observation: str
) -> list[str]:
    """Warn if the consensus has many small clusters whose members are uncertain, or one that most draws divide."""
    placed = labels >= 0
    size, number = int(placed.sum()), len(np.unique(labels[placed]))
    if size < 2:
        return []
    mean = float(assignment_prob[placed].mean())
    if number * FEW_MEMBERS > size and number > 1 and mean < SURE:
        found = (
            f"{number} clusters of {count(size, observation)}, and the probability that one belongs to its cluster is "
            f"{mean:.2f} on average"
        )
    elif number == 1 and mean < TOGETHER:
        found = (
            f"a single cluster of {count(size, observation)}, of which two are together with a probability of "
            f"{mean:.2f} on average, as each draw divides them in another way"
        )
    else:
        return []
    compare, shape = "another prior", trace.options.prior.get("shape")
    if shape is not None:
        prior_mean = shape / trace.options.prior["rate"]
        expects, other_mean = "fewer", prior_mean / 10.0
        if number == 1 and prior_mean <= 1.0:
            expects, other_mean = "more", prior_mean * 10.0
        compare = f"`concentration_prior` 1,{1.0 / other_mean:g}, which expects {expects}"
    return [
        f"{found}: the data hardly tell how many clusters there are, so that the prior decides; compare with {compare}"
    ]
