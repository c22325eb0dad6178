"""Fit of each mutation's reads to its cluster's prevalences, and the number of mutant copies that they imply.

For mutation i with b variant reads of n in a sample, in a cluster whose prevalence phi there has the posterior W,

    p(b, psi) = E_W[ pi_psi P(b | n, xi(psi, phi), s) ]

over the genotype states psi, with P the beta-binomial of precision s or the binomial (:mod:`pyclone_pgsm.tumour.grid`).
The mean over W is taken over `POINTS` equally probable prevalences. The weight pi_psi depends on phi only where a state
is impossible at some prevalences; p is then divided by its sum over b and psi.

* The probability of a number of mutant copies is the share of p(b, .) in the states with this number.
* The fit is the two-sided tail probability of b under p(b) = sum_psi p(b, psi): twice the smaller of P(B < b) and
  P(B > b), to each of which half of P(B = b) is added ("mid-p"), so that they add up to 1.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import LEAF, compiled, inner
from pyclone_pgsm.tumour.grid import LocusTable, states_of_rows
from pyclone_pgsm.tumour.kernels import ROUNDING, log_direct, log_direct_constant, log_weight, variant_share

POINTS = 16
NEGLIGIBLE_REST = 1e-9  # negligible rest of a tail, relative to the sum so far


class ReadsGivenClusters(NamedTuple):
    """Fit and mutant copies of T mutations in D samples; missing where there are no data or no cluster.

    Attributes
    ----------
    fit : (T, D) float64
        Tail probability of the variant reads, 0 to 1; NaN if missing.
    expected_reads : (T, D) float64
        Expected number of variant reads; NaN if missing.
    multiplicity : (T, D) int64
        Most probable number of mutant copies in the cells that carry the mutation (in most of them, if they have two
        copy-number states); 0 if missing.
    multiplicity_prob : (T, D) float64
        Its probability; NaN if missing.
    """

    fit: NDArray[np.float64]
    expected_reads: NDArray[np.float64]
    multiplicity: NDArray[np.int64]
    multiplicity_prob: NDArray[np.float64]


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
    """Return log P(B = b), P(B <= b) and P(B >= b); the tail away from the mean is summed and gives the other."""
    n = b + r
    log_mass = log_direct(b, r, mean, complement, s) + log_direct_constant(b, r, s)
    mass = math.exp(log_mass)
    if b >= n * mean:
        upper = mass * tail_over_first(b, n, s * mean, s * complement, mean / complement)
        lower = 1.0 - upper + mass
    else:
        lower = mass * tail_over_first(r, n, s * complement, s * mean, complement / mean)
        upper = 1.0 - lower + mass
    return log_mass, lower, upper


@inner(**LEAF)
def mutant_copies(state, prevalence):
    """Return the number of mutant copies in most of the cells with the mutation (see `variant_share`)."""
    if state[5] == 0.0:
        return int(state[3])
    is_first_full = state[6] == 0.0 or prevalence > state[5] - ROUNDING
    is_other_full = state[6] == 0.0 or prevalence > 1.0 - ROUNDING
    first = state[3] if is_first_full else min(state[3], 1.0)
    other = state[4] if is_other_full else min(state[4], 1.0)
    return int(other) if other > 0.0 and prevalence > 2.0 * state[5] else int(first)


@compiled
def _judge(alt, ref, states, state_bounds, tumour_content, error_rate, points, points_of, s, found, copies):
    """Fill found (n, 3) with fit, expected reads and probability of the number of copies, and copies (n,).

    The states and their bounds are those of :func:`pyclone_pgsm.tumour.kernels.fill_grid`. The rows of `points` (C, P)
    are equally probable prevalences, ascending; observation i has row ``points_of[i]``. The precision s may be
    infinite.
    """
    P = points.shape[1]
    mean = np.empty(P)
    complement = np.empty(P)
    most_states = 1
    for i in range(len(alt)):
        most_states = max(most_states, state_bounds[i, 1] - state_bounds[i, 0])
    log_share = np.empty((most_states, P))
    most_copies = 1
    for row in range(len(states)):
        most_copies = max(most_copies, int(max(states[row, 3], states[row, 4])))
    share_of_copies = np.empty(most_copies + 1)
    for i in range(len(alt)):
        psi = states[state_bounds[i, 0] : state_bounds[i, 1]]
        at = points[points_of[i]]
        prior = 0.0
        lower = 0.0
        upper = 0.0
        mass = 0.0
        expected = 0.0
        top = -np.inf
        for k in range(len(psi)):
            variant_share(psi[k], tumour_content[i], error_rate[i], at, mean, complement)
            log_one = below = above = log_prior = weight = 0.0
            for j in range(P):
                if j == 0 or at[j] != at[j - 1]:
                    log_one, below, above = tails(alt[i], ref[i], mean[j], complement[j], s)
                    log_prior = log_weight(psi[k], at[j]) - math.log(len(psi) * P)
                    weight = math.exp(log_prior)
                prior += weight
                lower += weight * below
                upper += weight * above
                mass += weight * math.exp(log_one)
                expected += weight * mean[j]
                log_share[k, j] = log_prior + log_one
                top = max(top, log_share[k, j])
        share_of_copies[:] = 0.0
        total = 0.0
        for k in range(len(psi)):
            for j in range(P):
                share = math.exp(log_share[k, j] - top)
                share_of_copies[mutant_copies(psi[k], at[j])] += share
                total += share
        best = 0
        for k in range(most_copies + 1):
            if share_of_copies[k] > share_of_copies[best] * (1.0 + ROUNDING):
                best = k
        found[i, 0] = min(max(2.0 * min(lower - 0.5 * mass, upper - 0.5 * mass) / prior, 0.0), 1.0)
        found[i, 1] = expected / prior * (alt[i] + ref[i])
        found[i, 2] = share_of_copies[best] / total
        copies[i] = best


def probable_prevalences(density: NDArray[np.float64], grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return quantiles of each posterior `density` (K, D, G), equally probable grid points: (K, D, `POINTS`)."""
    below = density.cumsum(axis=-1)
    below /= below[..., -1:]
    points = [(below < (j + 0.5) / POINTS).sum(axis=-1) for j in range(POINTS)]
    return grid[np.stack(points, axis=-1)]


def reads_given_clusters(
    parts: Sequence[tuple[LocusTable, float]],
    labels: NDArray[np.int64],
    density: NDArray[np.float64],
    grid: NDArray[np.float64],
    genotype_prior: str,
) -> ReadsGivenClusters:
    """Compute fit and mutant copies of every mutation's reads from the posterior of its cluster's prevalence.

    The `parts` are the observations of all samples, or of each sample, and their precision (infinite: binomial). The
    `labels` (T,) are clusters 0..K-1, or -1 for outliers, and `density` (K, D, G) is their prevalences' posterior on
    the `grid` (G,).
    """
    D = density.shape[1]
    points = probable_prevalences(density, grid).reshape(-1, POINTS)
    columns = [
        _of_samples(table, precision, labels[:, None] * D + samples, points, genotype_prior)
        for (table, precision), samples in zip(parts, np.split(np.arange(D), len(parts)))
    ]
    return ReadsGivenClusters(*(np.concatenate(arrays, axis=1) for arrays in zip(*columns)))


def _of_samples(
    table: LocusTable,
    precision: float,
    points_of: NDArray[np.int64],
    points: NDArray[np.float64],
    genotype_prior: str,
) -> ReadsGivenClusters:
    """Compute them for some samples; equal observations with equal prevalences are computed once.

    `points_of` (T, d) is the row of `points` for each mutation and sample, below 0 for none.
    """
    judged = (table.index >= 0) & (points_of >= 0)
    pair = points_of[judged] * table.num_rows + table.index[judged]
    distinct, place = np.unique(pair, return_inverse=True)
    which, row = np.divmod(distinct, max(1, table.num_rows))
    found, copies = np.empty((len(row), 3)), np.empty(len(row), np.int64)
    if len(row):
        states, bounds = states_of_rows(table, genotype_prior)
        _judge(
            table.alt[row],
            table.ref[row],
            states,
            bounds[row],
            table.tumour_content[row],
            table.error_rate[row],
            points,
            which,
            precision,
            found,
            copies,
        )
    numbers = np.full((3, *judged.shape), np.nan)
    numbers[:, judged] = found[place].T
    multiplicity = np.zeros(judged.shape, np.int64)
    multiplicity[judged] = copies[place]
    return ReadsGivenClusters(numbers[0], numbers[1], multiplicity, numbers[2])
