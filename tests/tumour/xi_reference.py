"""Slow, obvious versions of the Xi formula, as oracles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.tumour.genotypes import genotype_states


@dataclass(frozen=True)
class Row:
    """One observation."""

    alt: int
    ref: int
    major: int = 1
    minor: int = 1
    normal: int = 2
    tumour_content: float = 1.0
    error_rate: float = 1e-3


def observations(rows: list[list[Row | None]]) -> Observations:
    """Observations with rows[mutation][sample]; None says nothing."""
    filler = Row(99, 99, 9, 9, 9, 0.5, 0.4)

    def column(name: str, kind: type) -> NDArray:
        return np.array([[getattr(row or filler, name) for row in mutation] for mutation in rows], kind)

    return Observations(
        mutation_ids=[f"m{i}" for i in range(len(rows))],
        sample_ids=[f"s{d}" for d in range(len(rows[0]))],
        ref_counts=column("ref", np.int64),
        alt_counts=column("alt", np.int64),
        major_cn=column("major", np.int64),
        minor_cn=column("minor", np.int64),
        normal_cn=column("normal", np.int64),
        tumour_content=column("tumour_content", np.float64),
        error_rate=column("error_rate", np.float64),
        has_data=np.array([[row is not None for row in mutation] for mutation in rows]),
    )


def mean_share(state: tuple[int, int, int, int], row: Row, prevalence: float) -> float:
    """xi(psi, phi, t), the expected share of variant reads."""
    c_normal, c_reference, c_variant, mutant_copies = state
    t, eps = row.tumour_content, row.error_rate
    mutant_share = min(max(mutant_copies / c_variant, eps), 1 - eps)
    copies = [(1 - t) * c_normal, t * (1 - prevalence) * c_reference, t * prevalence * c_variant]
    return (copies[0] * eps + copies[1] * eps + copies[2] * mutant_share) / sum(copies)


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


def log_likelihoods(row: Row, grid_size: int, prior: str, precision: float, log_pmf=log_pmf_sum) -> NDArray:
    """Xi_k for k = 0..G-1; an infinite precision is the binomial."""
    states = genotype_states(prior, row.major, row.minor, row.normal)
    grid = [k / (grid_size - 1) for k in range(grid_size)]
    means = [np.array([mean_share(state, row, prevalence) for prevalence in grid]) for state in states]
    logs = [log_pmf(row.alt, row.ref, mean, precision) for mean in means]
    return special.logsumexp(logs, axis=0) - math.log(len(states))
