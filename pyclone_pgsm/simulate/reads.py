"""Simulated reads: genotypes, and how many reads show the variant (see :mod:`pyclone_pgsm.simulate.tumour`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.simulate.subclones import SecondStates
from pyclone_pgsm.tumour.genotypes import genotype_states


def variant_share(
    genotype: NDArray[np.int64], prevalence: ArrayLike, tumour_content: ArrayLike, error_rate: float
) -> NDArray[np.float64]:
    """xi, the expected share of reads that show the variant (module docstring).

    Parameters
    ----------
    genotype : (..., 4) int64
        c_normal, c_reference, c_variant, mutant copies.
    prevalence, tumour_content : float arrays
        phi and t; they and ``genotype[..., 0]`` broadcast together.
    error_rate : float
        Shares of variant copies are clipped to [error_rate, 1 - error_rate].
    """
    normal, reference, variant, mutant = np.moveaxis(genotype, -1, 0)
    phi, t = np.asarray(prevalence, float), np.asarray(tumour_content, float)
    carriers = t * phi * variant
    others = (1 - t) * normal + t * (1 - phi) * reference
    mutant_share = np.clip(mutant / variant, error_rate, 1 - error_rate)
    return (others * error_rate + carriers * mutant_share) / (others + carriers)


def draw_alt_counts(
    depth: NDArray[np.int64], share: NDArray[np.float64], precision: ArrayLike, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Reads that show the variant: beta-binomial, or binomial where the precision, (D,) or for all, is infinite."""
    s = np.broadcast_to(np.asarray(precision, float), share.shape)
    is_beta = np.isfinite(s)
    share = share.copy()
    share[is_beta] = rng.beta(s[is_beta] * share[is_beta], s[is_beta] * (1 - share[is_beta]))
    return rng.binomial(depth, share)


def draw_genotypes(
    major: NDArray[np.int64], minor: NDArray[np.int64], normal: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """(T, 4) genotypes: each one of the equally likely states of the prior ``major``."""
    genotype = np.empty((len(major), 4), np.int64)
    copies, kind = np.unique(np.column_stack([major, minor, normal]), axis=0, return_inverse=True)
    for k, numbers in enumerate(copies):
        members = np.flatnonzero(kind.reshape(-1) == k)
        states = np.array(genotype_states("major", *map(int, numbers)))
        genotype[members] = states[rng.integers(len(states), size=len(members))]
    return genotype


def share_of_second_states(
    drawn: SecondStates,
    copies: NDArray[np.int64],
    normal: NDArray[np.int64],
    purity: NDArray,
    error_rate: float,
) -> NDArray[np.float64]:
    """(N, D) expected shares of variant reads (module docstring); copies (N,) are those in cells without the event."""
    tumour = (1 - drawn.fraction) * copies[:, np.newaxis]
    tumour += drawn.fraction * drawn.state.sum(axis=1)[:, np.newaxis]
    mutant = purity * drawn.carriers / ((1 - purity) * normal[:, np.newaxis] + purity * tumour)
    return mutant * (1 - error_rate) + (1 - mutant) * error_rate
