"""Small data sets whose posterior is spread over many partitions, with that posterior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from enumeration import (
    LogMarginal,
    Posterior,
    component_masses,
    enumerate_posterior,
    poisson_gamma_log_marginal,
    xi_log_marginal,
)

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.likelihoods.pyclone import PyClone, make_pyclone, with_base
from pyclone_pgsm.likelihoods.registry import find_likelihood
from pyclone_pgsm.tumour.grid import deduplicate
from pyclone_pgsm.tumour.model import PyCloneModel

PLUGIN = Path(__file__).parents[2] / "examples" / "poisson_gamma" / "pyclone_pgsm_poisson_gamma.py"


@dataclass(frozen=True)
class Case:
    """A likelihood, L(y_b) by an independent formula, and the posterior that they make with a concentration."""

    likelihood: Any
    log_marginal: LogMarginal
    num_observations: int
    concentration: float

    @cached_property
    def posterior(self) -> Posterior:
        return enumerate_posterior(self.num_observations, self.log_marginal, self.concentration)


def plugin() -> Any:
    """The Poisson-Gamma likelihood, which is outside of the package."""
    return find_likelihood(f"{PLUGIN}:PoissonGamma")


def poisson_gamma(counts: list[int], concentration: float, shape: float = 1.0, rate: float = 0.3) -> Case:
    y = np.array(counts, float)
    likelihood = plugin().from_data(y[:, None], shape, rate)
    return Case(likelihood, poisson_gamma_log_marginal(y, shape, rate), len(y), concentration)


def observations(
    alt: Any,
    depth: Any,
    major: Any = 1,
    minor: Any = 1,
    normal: Any = 2,
    tumour_content: Any = 0.9,
    has_data: Any = True,
) -> Observations:
    """(T, D) arrays; what is not (T, D) is spread out."""
    alt = np.asarray(alt)

    def full(value: Any, kind: type) -> np.ndarray:
        return np.broadcast_to(np.asarray(value, kind), alt.shape).copy()

    depth = full(depth, np.int64)
    return Observations(
        mutation_ids=[f"m{i}" for i in range(alt.shape[0])],
        sample_ids=[f"s{d}" for d in range(alt.shape[1])],
        ref_counts=depth - alt,
        alt_counts=full(alt, np.int64),
        major_cn=full(major, np.int64),
        minor_cn=full(minor, np.int64),
        normal_cn=full(normal, np.int64),
        tumour_content=full(tumour_content, float),
        error_rate=full(1e-3, float),
        has_data=full(has_data, bool),
    )


def pyclone_model(
    data: Observations,
    grid_size: int,
    genotype_prior: str = "major",
    precision: float | None = np.inf,
    prevalence_prior: str = "uniform",
) -> PyCloneModel:
    """A precision of None infers it; an infinite one is the binomial."""
    return PyCloneModel(
        deduplicate(data),
        grid_size,
        genotype_prior,
        precision,
        data.sample_ids,
        prevalence_prior=prevalence_prior,
    )


Weights = tuple[tuple[float, float, float], ...]
"""Of the components of the base measure, one triple a sample."""


def pyclone_log_marginal(likelihood: PyClone, weights: Weights | None = None) -> LogMarginal:
    """Nothing but Xi is taken from the likelihood; without weights the base measure is uniform."""
    xi = likelihood.xi + likelihood.xi_max[:, None]
    base = None if weights is None else np.array(weights) @ component_masses(xi.shape[1])
    return xi_log_marginal(xi, likelihood.index, base)


def pyclone(
    data: Observations,
    concentration: float,
    grid_size: int,
    genotype_prior: str = "major",
    weights: Weights | None = None,
) -> Case:
    prevalence_prior = "uniform" if weights is None else "learned"
    model = pyclone_model(data, grid_size, genotype_prior, prevalence_prior=prevalence_prior)
    likelihood = model.likelihood(tuple(w for of_sample in weights or () for w in of_sample[:2]))
    marginal = pyclone_log_marginal(likelihood, weights)
    return Case(likelihood, marginal, data.num_mutations, concentration)


def one_sample() -> Case:
    return pyclone(
        observations([[2], [9], [4], [1], [11], [6]], [[12], [24], [20], [15], [25], [18]]), 0.8, 101
    )


def two_samples_with_gaps() -> Observations:
    alt = [[3, 8], [1, 2], [9, 1], [5, 5], [0, 9], [7, 0], [2, 6]]
    depth = [[12, 20], [14, 9], [22, 12], [13, 17], [8, 20], [20, 15], [16, 16]]
    known = [[1, 1], [1, 1], [1, 0], [0, 1], [1, 1], [1, 1], [0, 1]]
    return observations(alt, depth, has_data=known)


def two_samples_with_missing_data() -> Case:
    return pyclone(two_samples_with_gaps(), 1.3, 41)


def copy_numbers() -> Case:
    """Several genotypes a mutation: Xi has several peaks, and repeated rows are deduplicated."""
    alt = [[14], [14], [30], [9], [30], [21]]
    depth = [[60], [60], [60], [45], [60], [40]]
    data = observations(
        alt, depth, major=[[4], [4], [3], [5], [3], [2]], minor=[[1], [1], [0], [2], [0], [1]]
    )
    return pyclone(data, 1.0, 101)


def repeated() -> Case:
    """Three mutations of each of two kinds, in one sample: what a sweep knows of one it uses for the next."""
    return pyclone(
        observations([[3], [3], [3], [8], [8], [8]], [[20], [20], [20], [24], [24], [24]]), 1.0, 101
    )


def underflow() -> Case:
    """Ten samples at depth 1200 and one observation, deeper still, that has no grid point in common with any of the
    others in double precision, while those are so near one another that it is open how they cluster."""
    alt = [
        [399, 353, 208, 268, 355, 428, 214, 227, 384, 330],
        [378, 360, 196, 217, 328, 438, 288, 218, 393, 423],
        [352, 314, 203, 279, 449, 392, 261, 246, 374, 251],
        [425, 341, 229, 217, 443, 478, 199, 236, 432, 273],
        [374, 381, 160, 170, 315, 446, 220, 279, 399, 342],
        [32, 32, 32, 32, 32, 32, 32, 32, 32, 32],
    ]
    depth = [[1200]] * 5 + [[8000]]
    return pyclone(observations(alt, depth), 1.0, 101)


def bells(place: list[float], width: list[float]) -> PyClone:
    """Bell-shaped likelihoods of mutations in one sample, on 801 grid points."""
    xi = -0.5 * ((np.linspace(0.0, 1.0, 801) - np.array(place)[:, None]) / np.array(width)[:, None]) ** 2
    xi -= xi.max(axis=1, keepdims=True)
    likelihood = np.exp(xi)
    index = np.arange(len(xi), dtype=np.int32)[:, None]
    return make_pyclone(index, xi, likelihood, np.zeros(len(xi)))


def narrow() -> Case:
    """Two places, and likelihoods so narrow that the window of one place does not hold the other."""
    made = bells([0.300, 0.306, 0.303, 0.300, 0.700, 0.703], [0.004, 0.004, 0.005, 0.006, 0.003, 0.003])
    return Case(made, pyclone_log_marginal(made), 6, 30.0)


def base_of_one_sample() -> Case:
    """Mostly near 0; mutations of one kind."""
    data = observations([[0], [0], [2], [9], [9], [6]], [[12], [12], [20], [20], [20], [18]])
    return pyclone(data, 0.8, 101, weights=((0.7, 0.05, 0.25),))


def base_of_two_samples() -> Case:
    """Near 0 in the first sample, near 1 in the second; mutations without data in one."""
    return pyclone(two_samples_with_gaps(), 1.3, 41, weights=((0.75, 0.05, 0.2), (0.02, 0.9, 0.08)))


def base_of_narrow_likelihoods() -> Case:
    """At both ends of a fine grid, where the mass of one point is that of hundreds of others."""
    made = bells([0.000, 0.004, 0.001, 0.997, 1.000, 0.500], [0.002, 0.003, 0.004, 0.002, 0.003, 0.003])
    weights = ((0.3, 0.6, 0.1),)
    components = component_masses(801)
    made = with_base(
        made._replace(component_means=made.likelihood @ components.T), np.array(weights), components
    )
    return Case(made, pyclone_log_marginal(made, weights), 6, 8.0)


def two_observations() -> Case:
    return pyclone(observations([[3], [12]], [[15], [28]]), 0.4, 101)


def three_observations() -> Case:
    return pyclone(observations([[3, 5], [9, 5], [5, 1]], [[15, 20], [22, 17], [20, 16]]), 2.5, 31)


def counts_of_two() -> Case:
    return poisson_gamma([2, 9], 0.3)


def counts_of_three() -> Case:
    return poisson_gamma([2, 9, 4], 0.3)


def counts() -> Case:
    return poisson_gamma([3, 1, 7, 12, 0, 5], 0.7)


CASES: dict[str, Callable[[], Case]] = {
    make.__name__: cache(make)
    for make in (
        one_sample,
        two_samples_with_missing_data,
        copy_numbers,
        repeated,
        underflow,
        narrow,
        base_of_one_sample,
        base_of_two_samples,
        base_of_narrow_likelihoods,
        two_observations,
        three_observations,
        counts_of_two,
        counts_of_three,
        counts,
    )
}
