"""Mutations that a caller has left out because too few reads show them.

Of a cluster of small prevalence, a caller that requires a few variant reads finds the mutations with the most, so that
the prevalence comes out too high. If no mutation is left out, the expected number of mutations with fewer variant reads
than the fewest that are observed is about exponentially distributed with mean 1: it exceeds e with probability exp(-e).
Mutations that are present in other samples, too, may have been called there. So only clusters that are present in one
sample tell.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, betaln, gammaln

from pyclone_pgsm.posterior.states import SURE
from pyclone_pgsm.posterior.summary import Summary

MANY_EXPECTED = 7.0
"""Least expected number that causes a warning: without anything left out, one sample in a thousand has more."""
MOST_REQUIRED = 30
"""Largest number of variant reads that a caller may require."""


def doubts_of_detection(summary: Summary, precisions: Sequence[float]) -> Iterator[str]:
    """Warn of samples of which mutations with few variant reads seem to be left out.

    `precisions` has the precision of each sample, infinite for the binomial.
    """
    present = summary.cluster_prob_present >= SURE
    only_here = present & (present.sum(axis=1, keepdims=True) == 1)
    for d, precision in enumerate(precisions):
        used = (summary.labels >= 0) & ~np.isnan(summary.expected_reads[:, d])
        used[used] = only_here[summary.labels[used], d]
        depth = summary.depth[used, d]
        fewest = int(np.rint(summary.vaf[used, d] * depth).min()) if used.any() else 0
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
