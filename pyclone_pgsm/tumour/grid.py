"""The PyClone likelihood of every observation on a grid of cellular prevalences.

    Xi_k(y) = log sum_psi pi_psi P(alt | depth, xi(psi, x_k, t)),     0 = x_0 < .. < x_{G-1} = 1

with P binomial, or beta-binomial of the same mean (appendix "PyClone" of Bouchard-Côté, Doucet and Roth 2017;
Roth et al. 2014). Identical observations share one row: there are U distinct rows, and an index (T, D) into
them. If the tumour cells have two copy-number states, xi is that of docs/subclonal_copy_number.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.observations import (
    CLONAL,
    PLACEHOLDERS,
    PRIORS_WITHOUT_COPY_NUMBERS,
    SUBCLONAL,
    Observations,
)
from pyclone_pgsm.tumour.genotypes import Genotype, clonal_genotypes, genotype_states, two_state_genotypes

DENSITIES = ("binomial", "beta-binomial")

GRID_SIZES = (101, 151, 201, 301, 401, 601, 801, 1201, 1601)
"""Grid sizes from which `choose_grid_size` chooses."""
LARGE_CLUSTER = 0.25
"""Share of all mutations that belong to a large cluster."""
KNOWN_PREVALENCE = 0.2
"""Prevalence of this cluster."""
STEP = 2.4
"""Largest step of the grid there, in posterior standard deviations. (At depth 1,000 with 1,000 mutations steps of 1 and
2 give the same log joint; at 4 clusters begin to split.)"""
LOW_ERROR_RATE = 0.0001
"""Error rate for which the steps of a learned prior's grid are made; with larger ones they are smaller than needed."""
BYTES_PER_POINT = 16
"""Bytes per distinct row and grid point, for xi and likelihood."""
MAX_BYTES = 256 << 20


@dataclass(frozen=True)
class LocusTable:
    """The U distinct observations of a data set of T mutations and D samples, all samples together.

    Rows are sorted by copy numbers (of both states), tumour content, error rate, depth and variant reads, in this
    order: rows that need the same genotypes are adjacent, and neighbours have similar likelihoods.

    The columns, (U,) each, are those of `Observations`. ``index`` (T, D) has the row of each mutation in each sample;
    -1 where the sample has no data of the mutation.
    """

    ref_counts: NDArray[np.int64]
    alt_counts: NDArray[np.int64]
    major_cn: NDArray[np.int64]
    minor_cn: NDArray[np.int64]
    normal_cn: NDArray[np.int64]
    tumour_content: NDArray[np.float64]
    error_rate: NDArray[np.float64]
    subclonal_major_cn: NDArray[np.int64]
    subclonal_minor_cn: NDArray[np.int64]
    subclonal_fraction: NDArray[np.float64]
    index: NDArray[np.int32]

    @property
    def num_rows(self) -> int:
        """U."""
        return len(self.ref_counts)

    def take(self, rows: NDArray[np.int64], index: NDArray[np.int32] | None = None) -> LocusTable:
        """Return the observations of some rows, with another index; by default without any mutations."""
        index = self.index[:0] if index is None else index
        return LocusTable(**{name: getattr(self, name)[rows] for name in PLACEHOLDERS}, index=index)


class Loci(NamedTuple):
    """The rows of a table with their genotypes, as their likelihood at any prevalences needs them.

    Attributes
    ----------
    table : LocusTable
    group : (U,) int64
        Number of each row's group; rows of a group are adjacent and differ in the counts only.
    states : (N, 8) float64
        The genotypes of all combinations of copy numbers.
    bounds : (U, 2) int64
        The first and the last + 1 of each row.
    """

    table: LocusTable
    group: NDArray[np.int64]
    states: NDArray[np.float64]
    bounds: NDArray[np.int64]


class Setting(NamedTuple):
    """Values with which likelihoods are computed.

    Attributes
    ----------
    precision : float
        s of the beta-binomial, p ~ Beta(s mean, s (1 - mean)); infinity is the binomial.
    error_rate : float or None
        In place of the error rates of the table that are NaN; None if there are none.
    tumour_content : float or None
        In place of all tumour contents of the table; None: these.
    """

    precision: float
    error_rate: float | None = None
    tumour_content: float | None = None


class XiGrid(NamedTuple):
    """Log likelihoods of U distinct observations at G prevalences; the fields are those of the class ``PyClone``.

    xi_max includes the binomial coefficient and the weights of the genotypes.
    """

    xi: NDArray[np.float64]
    likelihood: NDArray[np.float64]
    xi_max: NDArray[np.float64]


def prevalence_grid(grid_size: int, prevalence_prior: str = "uniform") -> NDArray[np.float64]:
    """Return the prevalences x_k, k = 0..G-1, for a prior of prevalences.

    With t_k = k / (G - 1) they are x_k = t_k in the paper and under its uniform prior. But prevalences near 0 are known
    far better than others, and a cluster splits if it lies between two points that are too far apart. Of d reads of a
    mutation on a single copy a share p = x (1 - e) + (1 - x) e shows the variant, with the error rate e. The standard
    deviation of its arcsine transformation, theta = arccos(1 - 2 p), is 1 / sqrt(d) for all p. The grid of a learned
    prior has equal steps of theta, for e = LOW_ERROR_RATE:

        x_k = (1 - sin(c (1 - 2 t_k)) / sin(c)) / 2,     sin(c) = 1 - 2 e.

    If further copies without the mutation are read, prevalences near 1 are known less well than this.
    """
    t = np.arange(grid_size) / (grid_size - 1)
    if prevalence_prior != "learned":
        return t
    sines = np.sin(math.asin(1.0 - 2.0 * LOW_ERROR_RATE) * (1.0 - 2.0 * t))
    return (1.0 - sines / sines[0]) / 2.0


def cell_ends(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ends (G + 1,) of the cells of a grid (G,): half-way between points, and at 0 and 1."""
    return np.concatenate([[0.0], (grid[1:] + grid[:-1]) / 2.0, [1.0]])


def deduplicate(observations: Observations, genotype_prior: str = "major") -> LocusTable:
    """Find the distinct observations, as the genotype prior sees them.

    A second copy-number state that equals the first is ignored.
    """
    known, seen = observations.has_data, observations.as_seen_by(genotype_prior)
    columns = {name: getattr(seen, name)[known] for name in PLACEHOLDERS}
    second_major, second_minor, fraction = (columns[name] for name in SUBCLONAL)
    is_same = (second_major == columns["major_cn"]) & (second_minor == columns["minor_cn"])
    for name in SUBCLONAL:
        columns[name] = np.where((fraction == 0.0) | is_same, 0, columns[name])
    index = np.full(known.shape, -1, np.int32)
    every = LocusTable(**columns, index=index)
    alt, depth = every.alt_counts, every.ref_counts + every.alt_counts
    order = np.lexsort((alt, depth, every.error_rate, every.tumour_content, *_copy_numbers(every)[::-1]))
    ordered = every.take(order)
    is_first = _begins_group(ordered, depth[order], alt[order])
    row = np.empty(len(order), np.int32)
    row[order] = np.cumsum(is_first) - 1
    index[known] = row
    return ordered.take(np.flatnonzero(is_first), index)


def split_by_sample(table: LocusTable) -> list[LocusTable]:
    """Return a table for each of the D samples, with the rows that the sample needs and an index of shape (T, 1)."""
    parts = []
    for of_mutations in table.index.T:
        known = of_mutations >= 0
        rows, places = np.unique(of_mutations[known], return_inverse=True)
        index = np.full((len(of_mutations), 1), -1, np.int32)
        index[known, 0] = places
        parts.append(table.take(rows, index))
    return parts


def choose_grid_size(observations: Observations, num_rows: int, prevalence_prior: str = "uniform") -> int:
    """Choose the number of grid points according to the data: ``--grid-size auto``.

    A grid is fine enough if its step is about twice the posterior standard deviation of the best-known prevalence; on a
    coarser one, a cluster between two points splits. The best-known prevalence phi is that of a large cluster in the
    sample with most information. Of the d reads of a mutation on one copy a share u phi shows the variant, with

        u = t / (t n_t + (1 - t) n_0)

    in a sample of tumour content t, with n_t (a mean where tumour cells are in two states) and n_0 copies in tumour and
    normal cells. u counts as 1 where it is larger, which few copies allow. The reads have the Fisher information
    d u / (phi (1 - u phi)) on phi. With I the sum over all mutations and a share LARGE_CLUSTER of them in the cluster,
    or at least one mutation, the requirement at phi = KNOWN_PREVALENCE is

        step <= STEP / sqrt(LARGE_CLUSTER I).

    In a pure diploid sample this is STEP 0.6 / sqrt(LARGE_CLUSTER sum(d)). On the grid of a learned prior the ratio of
    the steps to the standard deviations is nowhere more than a tenth larger. The result is the smallest of `GRID_SIZES`
    with such a step, or the largest if none has one, but no more points than let ``xi`` and ``likelihood`` of the
    `num_rows` distinct observations fit into `MAX_BYTES`, except that the first of `GRID_SIZES` is always allowed.
    """
    content = observations.tumour_content
    copies = np.maximum(observations.mean_copies, content)
    slope = content / np.where(observations.has_data, copies, np.inf)
    information = observations.depth * slope / (KNOWN_PREVALENCE * (1.0 - slope * KNOWN_PREVALENCE))
    share = max(LARGE_CLUSTER, 1.0 / max(1, observations.num_mutations))
    most = share * information.sum(axis=0).max(initial=0.0)
    step = STEP / math.sqrt(most) if most > 0.0 else 1.0
    chosen = GRID_SIZES[0]
    for size in GRID_SIZES[1:]:
        grid = prevalence_grid(chosen, prevalence_prior)
        place = np.searchsorted(grid, KNOWN_PREVALENCE)
        if grid[place] - grid[place - 1] <= step or size * num_rows * BYTES_PER_POINT > MAX_BYTES:
            break
        chosen = size
    return chosen


def _begins_group(table: LocusTable, *others: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Return where a run of rows begins that differ in the counts only and have equal `others`, (U,)."""
    change = np.zeros(table.num_rows, bool)
    change[:1] = True
    error_rate = np.nan_to_num(table.error_rate, nan=-1.0)
    for column in (*_copy_numbers(table), table.tumour_content, error_rate, *others):
        change[1:] |= column[1:] != column[:-1]
    return change


def loci_of(table: LocusTable, genotype_prior: str) -> Loci:
    """Find the genotypes of a table's rows; for the prior see `pyclone_pgsm.tumour.genotypes.genotype_states`."""
    is_first = _begins_group(table)
    copies = np.column_stack(_copy_numbers(table))[is_first]
    distinct, which = np.unique(copies, axis=0, return_inverse=True)
    lists = [_genotypes(genotype_prior, *row) for row in distinct.tolist()]
    sizes = np.array([len(states) for states in lists], np.int64)
    ends = np.cumsum(sizes)
    bounds = np.column_stack([ends - sizes, ends])
    flat = [state for states in lists for state in states]
    states = np.array(flat, float).reshape(-1, 8)
    group = np.cumsum(is_first) - 1
    return Loci(table, group, states, bounds[which.reshape(-1)][group])


def _copy_numbers(table: LocusTable) -> tuple[NDArray[np.generic], ...]:
    """Return the columns that determine the genotypes."""
    return table.major_cn, table.minor_cn, table.normal_cn, *(getattr(table, name) for name in SUBCLONAL)


def _genotypes(
    prior: str, major: int, minor: int, normal: int, second_major: int, second_minor: int, fraction: float
) -> list[Genotype]:
    """Return the genotypes of a locus; every number may be a float."""
    one, two, normal = (int(major), int(minor)), (int(second_major), int(second_minor)), int(normal)
    if fraction == 0.0 and prior == CLONAL:
        return clonal_genotypes(*one, normal)
    if fraction == 0.0 or prior in PRIORS_WITHOUT_COPY_NUMBERS:
        return [Genotype(*state) for state in genotype_states(prior, *one, normal)]
    return two_state_genotypes(prior, one, two, fraction, normal)


def likelihood_grid(loci: Loci, grid: NDArray[np.float64], setting: Setting) -> XiGrid:
    """Compute Xi for every distinct observation, at the prevalences of a grid (G,)."""
    rows = np.arange(loci.table.num_rows)
    (xi,), (xi_max,) = xi_at_prevalences(loci, rows, grid[None, :], np.zeros_like(rows))([setting])
    likelihood = np.exp(xi)
    likelihood[likelihood < 1e-300] = 0.0  # subnormal numbers are slow, and their last digits wrong
    return XiGrid(xi, likelihood, xi_max)


def xi_at_prevalences(
    loci: Loci, rows: NDArray[np.int64], prevalences: NDArray[np.float64], lists: NDArray[np.int64]
) -> Callable[[Sequence[Setting]], tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return a function that computes Xi - max Xi, (V, N, P), and max Xi, (V, N), in V settings.

    They are those of the observations in some rows (N,), each at one of n lists of prevalences, the rows of
    `prevalences` (n, P); `lists` (N,) has the number of each row's list. It is faster if rows of the same group and
    with the same list are adjacent.
    """
    group = loci.group[rows]
    first = np.flatnonzero((np.diff(group, prepend=-1) != 0) | (np.diff(lists, prepend=-1) != 0))
    groups, lists = np.append(first, len(rows)), lists[first]
    ref, alt = loci.table.ref_counts[rows], loci.table.alt_counts[rows]
    columns = loci.table.error_rate, loci.table.tumour_content, loci.bounds
    known_rates, known_contents, bounds = (column[rows[first]] for column in columns)

    def compute(settings: Sequence[Setting]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        from pyclone_pgsm.tumour.kernels import fill_grid

        precisions, error_rates, contents = np.array([*zip(*settings)], float)  # None: NaN
        rates = np.where(np.isnan(known_rates), error_rates[:, None], known_rates)
        contents = np.where(np.isnan(contents)[:, None], known_contents, contents[:, None])
        xi_max = np.empty((len(settings), len(ref)))
        xi = np.empty((*xi_max.shape, prevalences.shape[1]))
        observed = ref, alt, groups, loci.states, bounds, contents, rates
        fill_grid(xi, xi_max, *observed, prevalences, lists, precisions)
        return xi, xi_max

    return compute
