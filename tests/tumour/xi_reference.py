"""Slow, obvious versions of the Xi formula, as oracles."""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.tumour.genotypes import LOOSE, genotype_states


@dataclass(frozen=True)
class Row:
    """One observation."""

    alt_counts: int
    ref_counts: int
    major_cn: int = 1
    minor_cn: int = 1
    normal_cn: int = 2
    tumour_content: float = 1.0
    error_rate: float = 1e-3
    subclonal_major_cn: int = 0
    subclonal_minor_cn: int = 0
    subclonal_fraction: float = 0.0

    @property
    def has_two_states(self) -> bool:
        return self.subclonal_fraction > 0 and (self.subclonal_major_cn, self.subclonal_minor_cn) != (
            self.major_cn,
            self.minor_cn,
        )

    @property
    def deduplicated(self) -> Row:
        """What a table of distinct rows says of it."""
        one_state = dataclasses.replace(
            self, subclonal_major_cn=0, subclonal_minor_cn=0, subclonal_fraction=0.0
        )
        return self if self.has_two_states else one_state


def observations(rows: list[list[Row | None]]) -> Observations:
    """Observations with rows[mutation][sample]; None says nothing."""
    filler = Row(99, 99, 9, 9, 9, 0.5, 0.4, 9, 9, 0.5)

    def column(name: str) -> NDArray:
        return np.array([[getattr(row or filler, name) for row in mutation] for mutation in rows])

    return Observations(
        mutation_ids=[f"m{i}" for i in range(len(rows))],
        sample_ids=[f"s{d}" for d in range(len(rows[0]))],
        has_data=np.array([[row is not None for row in mutation] for mutation in rows]),
        **{field.name: column(field.name) for field in dataclasses.fields(Row)},
    )


def mean_share(state: tuple[int, int, int, int], row: Row, prevalence: float) -> float:
    """xi(psi, phi, t), the expected share of variant reads."""
    c_normal, c_reference, c_variant, mutant_copies = state
    t, eps = row.tumour_content, row.error_rate
    mutant_share = min(max(mutant_copies / c_variant, eps), 1 - eps)
    copies = [(1 - t) * c_normal, t * (1 - prevalence) * c_reference, t * prevalence * c_variant]
    return (copies[0] * eps + copies[1] * eps + copies[2] * mutant_share) / sum(copies)


def populations(
    row: Row, first: int, copies: tuple[int, int], phi: float, strict: bool
) -> list[tuple[float, int, int]]:
    """Shares of all cells, their copies of the locus and how many are mutant, where the cells of state `first` (0 or 1)
    are the first to have the mutation, on ``copies[j]`` copies in those of state j; strictly, on one copy in cells of a
    state that is not full of them."""
    t, f = row.tumour_content, row.subclonal_fraction
    share = [1 - f, f]
    total = [row.major_cn + row.minor_cn, row.subclonal_major_cn + row.subclonal_minor_cn]
    last = 1 - first
    carriers = [0.0, 0.0]
    if phi <= share[first]:  # in cells of one state only
        carriers[first] = phi
    else:  # in all cells of this state, and some of the other
        carriers[first] = share[first]
        carriers[last] = phi - share[first]
    cells = [(1 - t, row.normal_cn, 0)]
    for j in (0, 1):
        is_full = carriers[j] > share[j] - 1e-9
        mutant = min(copies[j], 1) if strict and not is_full else copies[j]
        cells.append((t * (share[j] - carriers[j]), total[j], 0))
        cells.append((t * carriers[j], total[j], mutant))
    return cells


def mean_of_populations(cells: list[tuple[float, int, int]], error_rate: float) -> float:
    """Expected share of variant reads."""
    variant = copies = 0.0
    for share, total, mutant in cells:
        if total > 0:
            variant += share * total * min(max(mutant / total, error_rate), 1 - error_rate)
            copies += share * total
    return variant / copies


def placements(row: Row, prior: str) -> list[tuple[int, tuple[int, int]]]:
    """Which state has the mutation first, and the mutant copies in either: all combinations that are allowed."""
    states = [(row.major_cn, row.minor_cn), (row.subclonal_major_cn, row.subclonal_minor_cn)]
    known = []
    for state in states:
        alone = genotype_states(prior, *state, row.normal_cn) if sum(state) else [(0, 0, 0, 0)]
        known.append({copies for *_, copies in alone})
    return [
        (first, (a, b))
        for first, a, b in itertools.product((0, 1), *known)
        if sum(states[first]) > 0 and (min(a, b) <= 1 or a == b or (a in states[0] and b in states[1]))
    ]


def two_state_means(row: Row, prior: str, grid: list[float]) -> list[tuple[float, NDArray]]:
    """Prior weight and means of each genotype of two states."""
    found = []
    for first, copies in placements(row, prior):
        for weight, strict in ((1 - LOOSE, True), (LOOSE, False)):
            cells = [populations(row, first, copies, phi, strict) for phi in grid]
            found.append((weight, np.array([mean_of_populations(each, row.error_rate) for each in cells])))
    return found


def log_pmf_scipy(alt: int, ref: int, mean: NDArray, precision: float) -> NDArray:
    """scipy's densities. Its beta-binomial loses digits above a precision of 1,000 (1e-9 at a million)."""
    if math.isinf(precision):
        return stats.binom.logpmf(alt, alt + ref, mean)
    return stats.betabinom.logpmf(alt, alt + ref, precision * mean, precision * (1 - mean))


def log_pmf_sum(alt: int, ref: int, mean: NDArray, precision: float) -> NDArray:
    """Polya's urn, draw by draw: each factor computed directly, the logarithms added without rounding."""
    j, i = np.arange(alt), np.arange(ref)
    choose = np.log((ref + 1 + j) / (1 + j))

    def draws(m: float) -> list[NDArray]:
        if math.isinf(precision):
            return [np.full(alt, math.log(m)), np.full(ref, math.log1p(-m))]
        alts = (precision * m + j) / (precision + j)
        refs = (precision * (1 - m) + i) / (precision + alt + i)
        return [np.log(alts), np.log(refs)]

    return np.array([math.fsum(np.concatenate([choose, *draws(m)])) for m in mean])


def possibility(copies: int, phi: float) -> float:
    """Probability that a mutation on so many of the copies of all tumour cells may be in a share phi of the cells."""
    return 1.0 if copies == 1 or phi == 1.0 else LOOSE


def log_likelihoods(row: Row, grid_size: int, prior: str, precision: float, log_pmf=log_pmf_sum) -> NDArray:
    """Xi_k for k = 0..G-1; an infinite precision is the binomial."""
    grid = [k / (grid_size - 1) for k in range(grid_size)]
    if row.has_two_states and prior in ("major", "parental", "total", "clonal"):
        means = two_state_means(row, prior, grid)
    else:
        states = genotype_states(prior, row.major_cn, row.minor_cn, row.normal_cn)
        means = [(1.0, np.array([mean_share(state, row, phi) for phi in grid])) for state in states]
    weights = np.array([weight for weight, _ in means])
    logs = [log_pmf(row.alt_counts, row.ref_counts, mean, precision) for _, mean in means]
    possible = np.ones((len(means), grid_size))
    if prior == "clonal" and not row.has_two_states:
        possible = np.array([[possibility(state[3], phi) for phi in grid] for state in states])
    return special.logsumexp(logs, axis=0, b=weights[:, None] * possible) - math.log(weights.sum())
