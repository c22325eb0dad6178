"""Warnings about what makes a tumour's result doubtful, and what to do about it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import bdtr, betaln, chdtrc, gammaln, pdtr, pdtrc

from pyclone_pgsm.inputs.problems import count, listed
from pyclone_pgsm.inputs.read_counts.empty_samples import LEAST_MUTATIONS, without_mutations
from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.likelihoods.choice import Choice
from pyclone_pgsm.posterior.states import DEFAULT_THRESHOLDS, SURE
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.tumour.choices import ERROR_RATE, PRECISION, content_choice

CHANCE = 0.01
"""Largest expected number of tail probabilities that count as impossible if the model and the clusters are right."""
SHOWN_MISFITS = SHOWN_UNREAD = 3
POOR, MOST_POOR, BY_CHANCE = 0.01, 3.0, 1e-4
"""The reads of a mutation fit poorly below the first probability. There are too many such mutations if there are more
than the second times as many as chance explains, and as many only with less than the third probability. Of 180 results
of real and simulated tumours there were too many in three with 8 to 12 % of germline variants among the mutations, and
in one with a wrong tumour content."""
UNCERTAIN_CLUSTER, MISFIT = "cluster uncertain", "reads do not fit"
"""Reasons why a mutation is doubtful."""
SHARE_AT_END = 0.2
"""Least share of a hyperparameter's draws at an end of its grid of values that causes a warning. Asked are
small precisions, large error rates and both ends of tumour contents; large precisions and small rates do no harm."""
FAR_FROM_GIVEN = 2.0
"""An inferred tumour content is far from what was given at this many of its standard deviations."""

LIKE_VARIANTS = 0.25
"""An error rate hides variant reads if it may be larger than this share of a cluster's variant allele frequency. It is
at most 0.2 in real tumours and simulated ones whose prevalences come out right, and 0.36 to 1.4 in three simulated
samples of little tumour content whose prevalences came out too low."""
MANY_EXPECTED = 7.0
"""Least expected number that causes a warning: without anything left out, one sample in a thousand has more."""
MOST_REQUIRED = 30
"""Largest number of variant reads that a caller may require."""


def doubts_of_tumour(
    summary: Summary,
    draws: Mapping[str, NDArray[np.float64]],
    contents: Mapping[str, Uncertain],
    error_rate: NDArray[np.float64],
) -> list[str]:
    """Return the warnings about a tumour's result.

    `draws` maps each inferred hyperparameter to its draws, `contents` each sample to its tumour content if inferred.
    `error_rate` (T, D) is that of each mutation's reads; for inferred ones it is the median.
    """
    return [
        *_misfits(summary),
        *_poor_fits(summary),
        *_absent_clusters(summary, error_rate, "error_rate" in draws),
        *_mostly_outliers(summary),
        *_none_clonal(summary),
        *_unread_clusters(summary),
        *_ends(draws, contents),
        *_hidden_by_errors(summary, draws),
    ]


def misfits(fit: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return (n, 2) pairs of a mutation and a sample whose reads are impossible, the worst first.

    Reads are impossible if their tail probability in `fit` (T, D), times the number of tail probabilities that are not
    NaN, is below `CHANCE`.
    """
    number = int(np.isfinite(fit).sum())
    found = np.argwhere(fit * number < CHANCE)
    return found[np.argsort(fit[tuple(found.T)], kind="stable")]


def combined_fit(fit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Combine the tail probabilities of each mutation in all samples, (T, D), by Fisher's method: (T,), 1 for none."""
    known = np.isfinite(fit)
    log_p = np.log(np.maximum(fit, 1e-300), where=known, out=np.zeros(fit.shape))
    return chdtrc(np.maximum(2 * known.sum(axis=1), 1), -2.0 * log_p.sum(axis=1))


def doubtful(summary: Summary) -> NDArray[np.object_]:
    """Return (T,) reasons why mutations are doubtful; "" for a mutation that is not.

    A mutation is doubtful if its reads do not fit its cluster in a sample (:func:`misfits`) or in all taken together,
    or if the probability of its cluster is below :data:`~pyclone_pgsm.posterior.states.SURE`.
    """
    found = np.where(summary.assignment_prob < SURE, UNCERTAIN_CLUSTER, "").astype(object)
    found[misfits(summary.fit)[:, 0]] = MISFIT
    found[combined_fit(summary.fit) * len(found) < CHANCE] = MISFIT
    return found


def _misfits(summary: Summary) -> Iterator[str]:
    found = misfits(summary.fit)
    if not len(found):
        return
    variant_reads = summary.variant_reads
    shown = [
        f"mutation {summary.mutation_ids[i]} in sample {summary.sample_ids[d]}: "
        f"{variant_reads[i, d]:,} of {summary.depth[i, d]:,} reads show the variant, where "
        f"its cluster's prevalence of {summary.cluster_mean[summary.labels[i], d]:.3f} predicts "
        f"{summary.expected_reads[i, d]:,.0f}"
        for i, d in found[:SHOWN_MISFITS].tolist()
    ]
    number = len(np.unique(found[:, 0]))
    who = (
        "1 mutation do not fit its cluster"
        if number == 1
        else f"{number:,} mutations do not fit their clusters"
    )
    hidden = len(found) - len(shown)
    yield (
        f"the reads of {who} (column fit of mutations.tsv): {'; '.join(shown)}"
        + (f"; and {count(hidden, 'more row')}" if hidden else "")
        + ". Look for wrong copy numbers, a wrong tumour content, and artefacts (`outlier_prob` 0.05)"
    )


def _poor_fits(summary: Summary) -> Iterator[str]:
    """Warn if the reads of more mutations fit poorly, in all samples taken together, than chance explains."""
    fit = combined_fit(summary.fit)
    fit[misfits(summary.fit)[:, 0]] = 1.0  # these have a warning of their own
    expected = POOR * np.isfinite(summary.fit).any(axis=1).sum()
    number = int((fit < POOR).sum())
    if number > MOST_POOR * expected and pdtrc(number - 1, expected) < BY_CHANCE:
        names = [summary.mutation_ids[i] for i in np.argsort(fit, kind="stable")[:number]]
        yield (
            f"the reads of {number:,} mutations fit their clusters poorly, all samples taken together, where chance "
            f"explains {expected:.2g}: {listed(names, 5)}. Look for germline variants and artefacts among them, which "
            "should be left out (`outlier_prob` 0.05 finds some), and for wrong copy numbers or tumour contents"
        )


def _absent_clusters(summary: Summary, error_rate: NDArray[np.float64], is_inferred: bool) -> Iterator[str]:
    """Warn of clusters that are absent from every sample, according to whether errors explain their variant reads."""
    found: dict[str, list[tuple[int, int, float]]] = {"explained": [], "more": [], "fewer": []}
    variant_reads = summary.variant_reads
    for cluster in summary.absent:
        members = summary.labels == cluster
        reads = int(variant_reads[members].sum())
        expected = float((error_rate[members] * summary.depth[members]).sum())
        kind = "more" if pdtrc(reads - 1, expected) < CHANCE else "explained"
        found["fewer" if pdtr(reads, expected) < CHANCE else kind].append((cluster, reads, expected))
    explained, more, fewer = found.values()
    if explained:
        unless = " (unless the inferred error rate is too high: set `error_rate` if you know it)"
        yield (
            f"{_nowhere(summary, explained)}, and errors explain the variant reads: probably artefacts"
            f"{unless if is_inferred else ''}; leave them out, or try `outlier_prob` 0.05"
        )
    if more:
        yield (
            f"{_nowhere(summary, more)}, but has more variant reads than errors explain, {_compared(more)}: a subclone "
            "in very few cells, or artefacts"
        )
    if fewer:
        yield (
            f"{_nowhere(summary, fewer)}, and has fewer variant reads than errors should give, {_compared(fewer)}: the "
            "error rate is too high, and may hide a subclone; set it with `error_rate`"
        )


def _nowhere(summary: Summary, found: Sequence[tuple[int, int, float]]) -> str:
    """Return the beginning of a sentence about clusters that are absent from every sample."""
    clusters = [cluster for cluster, _, _ in found]
    size = count(int(summary.cluster_size[clusters].sum()), "mutation")
    if len(clusters) == 1:
        return f"cluster {clusters[0]} ({size}) is absent from every sample"
    return f"each of clusters {', '.join(map(str, clusters))} ({size} in all) is absent from every sample"


def _compared(found: Sequence[tuple[int, int, float]]) -> str:
    """Return the variant reads of clusters, and those that errors explain."""
    return "; ".join(
        f"{reads:,} where {expected:{',.0f' if expected >= 10.0 else '.2g'}} are expected"
        for _, reads, expected in found
    )


def _mostly_outliers(summary: Summary) -> Iterator[str]:
    number, total = int((summary.labels < 0).sum()), len(summary.labels)
    if 2 * number > total:
        yield (
            f"{number:,} of {count(total, 'mutation')} are outliers: is `outlier_prob` too large, or are copy numbers "
            "or the tumour content wrong?"
        )


def _none_clonal(summary: Summary) -> Iterator[str]:
    """Warn of samples in which no cluster can be clonal, or only stray ones: all tumour cells of a sample descend from
    one, and have its mutations.

    Few mutations may all be subclonal. Samples without any have a warning about the input.
    """
    tell = (summary.depth > 0).sum(axis=0) >= LEAST_MUTATIONS
    tell &= ~without_mutations(summary.variant_reads, summary.depth)
    tell &= summary.num_clusters > 0
    is_stray = summary.stray_clusters
    nowhere = tell & ~summary.can_be_clonal.any(axis=0)
    hardly = tell & ~nowhere & ~summary.can_be_clonal[~is_stray].any(axis=0)
    question = (
        f"(above {DEFAULT_THRESHOLDS.clonal_above:g}): is the tumour content there too high, or are the trunk and a "
        "large subclone one cluster?"
    )
    if nowhere.any():
        yield f"no cluster can be clonal in {listed([*compress(summary.sample_ids, nowhere)])} {question}"
    if hardly.any():
        found = np.flatnonzero(is_stray & summary.can_be_clonal[:, hardly].any(axis=1)).tolist()
        clusters = f"cluster {found[0]}" if len(found) == 1 else f"clusters {', '.join(map(str, found))}"
        size = count(int(summary.cluster_size[found].sum()), "mutation")
        yield (
            f"only {clusters} ({size}) can be clonal in {listed([*compress(summary.sample_ids, hardly)])} {question} "
            "So few mutations may be artefacts, or have wrong copy numbers"
        )


def _unread_clusters(summary: Summary) -> Iterator[str]:
    """Warn of clusters without any reads in a sample in which others have some."""
    depth = np.zeros((summary.num_clusters, len(summary.sample_ids)), np.int64)
    placed = summary.labels >= 0
    np.add.at(depth, summary.labels[placed], summary.depth[placed])
    unread = (depth == 0) & (summary.depth.sum(axis=0) > 0)
    if number := int(unread.sum()):
        shown = [
            f"cluster {cluster} in {summary.sample_ids[d]}"
            for cluster, d in np.argwhere(unread)[:SHOWN_UNREAD].tolist()
        ]
        more = f" and {number - SHOWN_UNREAD} more" if number > SHOWN_UNREAD else ""
        yield (
            f"no mutation of a cluster has reads in a sample: {', '.join(shown)}{more}. The prevalence there is that "
            "of the prior, and tells nothing about the tumour"
        )


def _ends(draws: Mapping[str, NDArray[np.float64]], contents: Mapping[str, Uncertain]) -> Iterator[str]:
    for name, values in draws.items():
        kind, _, sample = name.partition(":")
        of_sample = f" of {sample}" if sample else ""
        if kind == "precision":
            crowded = crowded_ends(values, PRECISION, SHARE_AT_END)
            if "smallest" in crowded:
                yield (
                    f"the precision{of_sample} is at the smallest value of its grid, {crowded['smallest']}: the reads "
                    "vary more than clusters can explain, and clusters may have been joined. Look for wrong copy "
                    "numbers, for a tumour content that is too low (with a standard deviation, as in "
                    "`tumour_content` 0.6±0.05, it is inferred) and for artefacts (`outlier_prob` 0.05), and compare "
                    "with the result of a fixed precision (`precision` 200)"
                )
        elif kind == "error_rate":
            crowded = crowded_ends(values, ERROR_RATE, SHARE_AT_END)
            if "largest" in crowded:
                yield (
                    f"the error rate is at the largest value of its grid, {crowded['largest']}: small prevalences, "
                    "which calls alone hardly distinguish from errors, may then be too low; or germline variants or "
                    "wrong tumour contents cause this. Set it with `error_rate`, 0.001 if nothing else is known"
                )
        elif kind == "tumour_content" and sample in contents:
            yield from _contradicted(sample, values, contents[sample])


def _contradicted(sample: str, draws: NDArray[np.float64], content: Uncertain) -> Iterator[str]:
    """Warn if an inferred tumour content is far from what was given, or would be if its grid went on."""
    choice = content_choice(content)
    median = float(np.median(draws))
    crowded = crowded_ends(draws, choice, SHARE_AT_END)
    # draws at an end are no contradiction if the distribution is truncated there, at 0 or 1
    if choice.values[-1] == 1.0:
        crowded.pop("largest", None)
    if choice.values[0] <= content.sd / 2.0:
        crowded.pop("smallest", None)
    if crowded or abs(median - content.mean) >= FAR_FROM_GIVEN * content.sd:
        yield (
            f"the reads contradict the tumour content of {sample}, {content}: inferred is "
            f"{median:g}. Check it, the copy numbers, and whether germline variants are among the mutations: as a "
            "small cluster that is clonal in every sample they make it too high. If it is only less certain, give a "
            "larger standard deviation with `tumour_content`"
        )


def _hidden_by_errors(summary: Summary, draws: Mapping[str, NDArray[np.float64]]) -> Iterator[str]:
    """Warn if the inferred error rate may be nearly the frequency of variant reads of a cluster that is present."""
    if "error_rate" not in draws or not summary.num_clusters:
        return
    highest = float(np.quantile(draws["error_rate"], 0.975))
    placed = summary.labels >= 0
    mean_vaf = pd.DataFrame(summary.vaf[placed]).groupby(summary.labels[placed]).mean().fillna(np.inf)
    frequency = np.where(summary.cluster_prob_present >= SURE, mean_vaf, np.inf)
    cluster, sample = np.unravel_index(frequency.argmin(), frequency.shape)
    if highest > LIKE_VARIANTS * frequency[cluster, sample]:
        yield (
            f"errors are hardly told from the variant reads of cluster {cluster} in sample "
            f"{summary.sample_ids[sample]}: the error rate may be {highest:.2g}, and the cluster's variant allele "
            f"frequency is {frequency[cluster, sample]:.2g} on average; prevalences may be too low. Set the error rate "
            "with `error_rate` if you know it"
        )


def crowded_ends(draws: NDArray[np.float64], choice: Choice, least: float) -> dict[str, str]:
    """Return the ends ("smallest", "largest") that have a share `least` of the draws or more.

    The value of the end and the share are given as text.
    """
    found = {}
    for end, value in (("smallest", choice.values[0]), ("largest", choice.values[-1])):
        share = np.mean(draws == value)
        if share >= least:
            found[end] = f"{value:g}, in {100.0 * share:.0f} % of the draws"
    return found


def doubts_of_detection(summary: Summary, precisions: Sequence[float]) -> Iterator[str]:
    """Warn of samples of which a caller seems to have left out mutations with few variant reads.

    Of a cluster of small prevalence, a caller that requires a few variant reads finds the mutations with the most, so
    that the prevalence comes out too high. If no mutation is left out, the expected number of mutations with fewer
    variant reads than the fewest that are observed is about exponentially distributed with mean 1: it exceeds e with
    probability exp(-e). Mutations that are present in other samples, too, may have been called there. So only clusters
    that are present in one sample tell.

    `precisions` has the precision of each sample, infinite for the binomial.
    """
    variant_reads = summary.variant_reads
    present = summary.cluster_prob_present >= SURE
    only_here = present & (present.sum(axis=1, keepdims=True) == 1)
    for d, precision in enumerate(precisions):
        used = (summary.labels >= 0) & ~np.isnan(summary.expected_reads[:, d])
        used[used] = only_here[summary.labels[used], d]
        depth = summary.depth[used, d]
        fewest = int(variant_reads[used, d].min()) if used.any() else 0
        if not 0 < fewest <= MOST_REQUIRED:
            continue
        mean = np.clip(summary.expected_reads[used, d] / depth, 1e-9, 1.0 - 1e-9)
        number = np.bincount(summary.labels[used], prob_below(fewest, depth, mean, precision))
        if number.sum() >= MANY_EXPECTED:
            cluster = int(number.argmax())
            few = "without variant reads" if fewest == 1 else f"with fewer than {fewest} variant reads"
            size, prevalence = summary.cluster_size[cluster], summary.cluster_mean[cluster, d]
            yield (
                f"mutations {few} in sample {summary.sample_ids[d]} seem to be left "
                f"out: about {number.sum():.0f} are expected, {number[cluster]:.0f} of them in cluster {cluster} of "
                f"{size:,} mutations. Its prevalence of {prevalence:.3f} may be too high, and clusters of smaller "
                "prevalence may be joined with it or missing"
            )


def prob_below(
    fewest: int, depth: NDArray[np.int64], mean: NDArray[np.float64], precision: float
) -> NDArray[np.float64]:
    """Return the probabilities (n,) of fewer variant reads, which have the `mean` share (n,) of the `depth` (n,)."""
    if np.isinf(precision):
        return bdtr(np.minimum(fewest - 1.0, depth), depth, mean)
    b = np.arange(fewest)[:, None]
    alpha, beta = precision * mean, precision * (1.0 - mean)
    log_ways = gammaln(depth + 1.0) - gammaln(b + 1.0) - gammaln(np.maximum(depth - b, 0) + 1.0)
    log_p = log_ways + betaln(alpha + b, beta + np.maximum(depth - b, 0)) - betaln(alpha, beta)
    return np.where(b <= depth, np.exp(log_p), 0.0).sum(axis=0)
