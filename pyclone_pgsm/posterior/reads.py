"""Fit of each mutation's reads to its cluster's prevalences.

For mutation i with b variant reads of n in a sample, in a cluster whose prevalence phi there has the posterior W,

    p(b, psi) = E_W[ pi_psi P(b | n, xi(psi, phi), s) ]

over the genotype states psi, with P the beta-binomial of precision s or the binomial (:mod:`pyclone_pgsm.tumour.grid`).
The mean over W is taken over `POINTS` equally probable prevalences. The weight pi_psi depends on phi only where a state
is impossible at some prevalences; p is then divided by its sum over b and psi.

The fit is the two-sided tail probability of b under p(b) = sum_psi p(b, psi): twice the smaller of P(B < b) and
P(B > b), to each of which half of P(B = b) is added ("mid-p"), so that they add up to 1.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import LEAF, compiled, inner
from pyclone_pgsm.tumour.grid import Loci
from pyclone_pgsm.tumour.kernels import log_constant, log_reads, log_weight, variant_share

POINTS = 16
NEGLIGIBLE_REST = 1e-9  # negligible rest of a tail, relative to the sum so far


class ReadsGivenClusters(NamedTuple):
    """Tail probability, 0 to 1, and expected number of the variant reads of T mutations in D samples, (T, D) each.

    NaN where there are no data or no cluster.
    """

    fit: NDArray[np.float64]
    expected_reads: NDArray[np.float64]


@inner(**LEAF)
def tail_over_first(b, n, alpha, beta, odds):
    """Return P(B >= b) / P(B = b) for a beta-binomial, or for a binomial with these odds if alpha is infinite.

    The terms are summed from b on, using the ratio of neighbours. If alpha and beta are at least 1, the ratios
    decrease, so that the rest of the sum is at most that of a geometric series. If alpha is smaller, the terms still
    decrease. If beta is smaller, they may rise again near n, and all are summed.
    """
    total = 1.0
    term = 1.0
    for j in range(b, n):
        if alpha < np.inf:
            ratio = (n - j) / (j + 1.0) * ((j + alpha) / (n - j - 1.0 + beta))
        else:
            ratio = (n - j) / (j + 1.0) * odds
        term *= ratio
        total += term
        if ratio < 1.0 and beta >= 1.0:
            rest = n - j - 1.0
            if alpha >= 1.0:
                rest = min(rest, ratio / (1.0 - ratio))
            if term * rest < NEGLIGIBLE_REST * total:
                break
    return total


@inner(**LEAF)
def tails(b, r, mean, complement, s):
    """Return P(B = b), P(B <= b) and P(B >= b); the tail away from the mean is summed and gives the other."""
    n = b + r
    mass = math.exp(log_reads(b, r, mean, complement, s) + log_constant(b, r, s))
    if b >= n * mean:
        upper = mass * tail_over_first(b, n, s * mean, s * complement, mean / complement)
        lower = 1.0 - upper + mass
    else:
        lower = mass * tail_over_first(r, n, s * complement, s * mean, complement / mean)
        upper = 1.0 - lower + mass
    return mass, lower, upper


@compiled
def _judge(
    alt, ref, states, state_bounds, tumour_content, error_rate, points, points_of, s, fit, expected_reads
):
    """Fill fit and expected_reads (n,).

    The states and their bounds are those of :func:`pyclone_pgsm.tumour.kernels.fill_grid`. The rows of `points` (C, P)
    are equally probable prevalences, ascending; observation i has row ``points_of[i]``. The precision s may be
    infinite.
    """
    P = points.shape[1]
    mean = np.empty(P)
    complement = np.empty(P)
    for i in range(len(alt)):
        psi = states[state_bounds[i, 0] : state_bounds[i, 1]]
        at = points[points_of[i]]
        prior = 0.0
        lower = 0.0
        upper = 0.0
        mass = 0.0
        expected = 0.0
        for k in range(len(psi)):
            variant_share(psi[k], tumour_content[i], error_rate[i], at, mean, complement)
            one = below = above = weight = 0.0
            for j in range(P):
                if j == 0 or at[j] != at[j - 1]:
                    one, below, above = tails(alt[i], ref[i], mean[j], complement[j], s)
                    weight = math.exp(log_weight(psi[k], at[j]))
                prior += weight
                lower += weight * below
                upper += weight * above
                mass += weight * one
                expected += weight * mean[j]
        fit[i] = min(max(2.0 * min(lower - 0.5 * mass, upper - 0.5 * mass) / prior, 0.0), 1.0)
        expected_reads[i] = expected / prior * (alt[i] + ref[i])


def probable_prevalences(density: NDArray[np.float64], grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return quantiles of each posterior `density` (K, D, G), equally probable grid points: (K, D, `POINTS`)."""
    below = density.cumsum(axis=-1)
    below /= below[..., -1:]
    points = [(below < (j + 0.5) / POINTS).sum(axis=-1) for j in range(POINTS)]
    return grid[np.stack(points, axis=-1)]


def reads_given_clusters(
    parts: Sequence[tuple[Loci, float]],
    labels: NDArray[np.int64],
    density: NDArray[np.float64],
    grid: NDArray[np.float64],
) -> ReadsGivenClusters:
    """Compute the fit of every mutation's reads from the posterior of its cluster's prevalence.

    The `parts` are the observations of all samples, or of each sample, and their precision (infinite: binomial). The
    `labels` (T,) are clusters 0..K-1, or -1 for outliers, and `density` (K, D, G) is their prevalences' posterior on
    the `grid` (G,).
    """
    D = density.shape[1]
    points = probable_prevalences(density, grid).reshape(-1, POINTS)
    columns = [
        _of_samples(loci, precision, labels[:, None] * D + samples, points)
        for (loci, precision), samples in zip(parts, np.split(np.arange(D), len(parts)))
    ]
    return ReadsGivenClusters(*(np.concatenate(arrays, axis=1) for arrays in zip(*columns)))


def _of_samples(
    loci: Loci,
    precision: float,
    points_of: NDArray[np.int64],
    points: NDArray[np.float64],
) -> ReadsGivenClusters:
    """Compute them for some samples; equal observations with equal prevalences are computed once.

    `points_of` (T, d) is the row of `points` for each mutation and sample, below 0 for none.
    """
    table = loci.table
    judged = (table.index >= 0) & (points_of >= 0)
    pair = points_of[judged] * table.num_rows + table.index[judged]
    distinct, place = np.unique(pair, return_inverse=True)
    which, row = np.divmod(distinct, max(1, table.num_rows))
    found = np.empty((2, len(row)))
    if len(row):
        _judge(
            table.alt_counts[row],
            table.ref_counts[row],
            loci.states,
            loci.bounds[row],
            table.tumour_content[row],
            table.error_rate[row],
            points,
            which,
            precision,
            *found,
        )
    numbers = np.full((2, *judged.shape), np.nan)
    numbers[:, judged] = found[:, place]
    return ReadsGivenClusters(*numbers)
