"""Unique particles of conditional SMC with their multiplicities: weights, the resampling step, the final draw.

All merged particles are the same particle, and copies made by resampling stay equal until they draw differently: so
equal particles are kept once. The blocks they hold are in a pool (:mod:`~pyclone_pgsm.samplers.particle_blocks`).

Where `one_merged` is True, one copy stands for all merged particles (:func:`has_one_merged`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import copy_row
from pyclone_pgsm.samplers.particle_blocks import release_block
from pyclone_pgsm.samplers.resampling import (
    BOTH_KINDS,
    OPTIMAL,
    SCHEMES,
    relative_ess,
    resample,
    resample_optimal,
    resample_stratified,
)

# Share of the weight below which a kind of particle, merged or split, counts as dead.
DEAD = 1e-20
MERGED = 0  # the merged particle is always number 0; split particles follow


class SMCSettings(NamedTuple):
    """How the particles are run.

    Attributes
    ----------
    num_particles : int
        N, from 2 to 10,000.
    threshold : float
        Resample where the relative effective sample size falls below it: 0 never, above 1 always. (Unless it is 0,
        also where all copies of one kind, merged or split, have lost their weight.)
    annealed : bool
        Annealed or plain intermediate targets.
    scheme : int
        How particles are resampled: position in :data:`~pyclone_pgsm.samplers.resampling.SCHEMES`.
    """

    num_particles: int
    threshold: float
    annealed: bool
    scheme: int


class Particles(NamedTuple):
    """Unique particles: number 0 is merged, 1 .. num - 1 are split, in the order of their paths.

    Attributes
    ----------
    copies : (R,) int64
        Multiplicities, the conditioned path left out.
    log_w : (R,) float64
        Log weight of one copy.
    blocks : (R, 2) int64
        Where in the pool the anchors' blocks are; that of the merged particle stands first.
    num : int
        Number of particles, the merged one included even if it has no copies.
    reference : int
        The particle that the conditioned path belongs to.
    """

    copies: np.ndarray
    log_w: np.ndarray
    blocks: np.ndarray
    num: int
    reference: int


class Weights(NamedTuple):
    """Workspace for the weights of particles.

    Attributes
    ----------
    multiplicities : (R,) int64
        Copies of each particle, the conditioned path included.
    w : (R,) float64
        Weights of one copy, relative to the largest.
    """

    multiplicities: np.ndarray
    w: np.ndarray


def has_one_merged(scheme: str) -> bool | None:
    """Whether one copy stands for all merged particles with a scheme of resampling.

    True for the schemes "optimal" and "both-kinds", which keep the merged particle as one copy with all its weight;
    None for the others. None rather than False: numba then leaves out that code and compiles faster.
    """
    return True if SCHEMES.index(scheme) in (OPTIMAL, BOTH_KINDS) else None


@inner(nogil=True)
def make_particles(size):
    return Particles(
        np.zeros(size, np.int64), np.zeros(size), np.zeros((size, 2), np.int64), np.int64(0), np.int64(0)
    )


@inner(**LEAF)
def with_number(particles, num, reference):
    return Particles(particles.copies, particles.log_w, particles.blocks, np.int64(num), np.int64(reference))


@inner(**LEAF)
def weigh(particles, first, weights):
    """Of particles ``first .. num - 1``: multiplicities, the conditioned path included, and weights of one copy.

    The weights are relative to the largest, whose log is returned.
    """
    copies, log_w = particles.copies, particles.log_w
    multiplicities, w = weights
    best = -np.inf
    for p in range(first, particles.num):
        multiplicities[p] = copies[p] + (1 if p == particles.reference else 0)
        if multiplicities[p] > 0:
            best = max(best, log_w[p])
    for p in range(first, particles.num):
        w[p] = math.exp(log_w[p] - best) if multiplicities[p] > 0 else 0.0
    return best


@inner(**LEAF)
def draw_particle(rng, particles, weights):
    """A particle drawn with probability proportional to its weight."""
    weigh(particles, 0, weights)
    multiplicities, w = weights
    total = 0.0
    for p in range(particles.num):
        total += multiplicities[p] * w[p]
        w[p] = total
    u = rng.random() * total
    chosen = 0
    while chosen < particles.num - 1 and w[chosen] <= u:
        chosen += 1
    return chosen


@inner(**LEAF)
def compact(particles, ancestry, pool):
    """Drop the split particles that have no copies left."""
    copies, log_w, blocks, num, reference = particles
    alive = np.int64(1)
    new_reference = MERGED
    for p in range(1, num):
        if copies[p] == 0 and p != reference:
            release_block(pool, blocks[p, 0])
            release_block(pool, blocks[p, 1])
            continue
        if p == reference:
            new_reference = alive
        copies[alive] = copies[p]
        log_w[alive] = log_w[p]
        copy_row(blocks, p, blocks, alive)
        ancestry[alive] = ancestry[p]
        alive += 1
    return with_number(particles, alive, new_reference)


@inner(**LEAF)
def resample_if_uneven(rng, settings, one_merged, particles, ancestry, weights, pool):
    """The resampling step: nothing is done unless the effective sample size is too low, or a kind is dead."""
    if one_merged is not None and one_merged:
        changed = resample_split(rng, settings, particles, weights)
    else:
        changed = resample_all(rng, settings, particles, weights)
    return compact(particles, ancestry, pool) if changed else particles


@inner(**LEAF)
def resample_all(rng, settings, particles, weights):
    """Resample merged and split particles together, if need be; returns whether that was so."""
    copies, log_w, _, num, reference = particles
    multiplicities, w = weights
    weigh(particles, 0, weights)
    if relative_ess(w, multiplicities, 0, num) >= settings.threshold and not (
        settings.threshold > 0.0 and one_kind_is_dead(w, multiplicities, num)
    ):
        return False
    for p in range(num):
        w[p] *= multiplicities[p]
    resample(rng, settings.scheme, w, num, settings.num_particles, reference, copies)
    for p in range(num):
        log_w[p] = 0.0
    return True


@inner(**LEAF)
def one_kind_is_dead(w, multiplicities, num):
    """Whether the copies of the merged particle, or all those of split ones, have lost their weight for good.

    Half of the copies at weight zero leave a relative effective sample size of 1/2, so the usual criterion may carry
    them along to the end. Any criterion that is a function of the weighted particles keeps the kernel exact (Lee 2011),
    as long as it does not know which of them is the conditioned path.
    """
    merged = multiplicities[MERGED] * w[MERGED]
    split = 0.0
    num_split = 0
    for p in range(1, num):
        split += multiplicities[p] * w[p]
        num_split += multiplicities[p]
    merged_is_dead = multiplicities[MERGED] > 0 and merged < DEAD * split
    return merged_is_dead or (num_split > 0 and split < DEAD * merged)


@inner(**LEAF)
def resample_split(rng, settings, particles, weights):
    """Where one copy stands for all merged particles: resample the split ones, if need be, in which case True.

    Systematic resampling with equal weights, the conditioned particle among them if it is split.
    """
    copies, log_w, _, num, reference = particles
    multiplicities, w = weights
    log_split = weigh(particles, 1, weights)
    weight = 0.0
    for p in range(1, num):
        weight += multiplicities[p] * w[p]
    log_split += math.log(weight)
    has_merged = copies[MERGED] > 0 or reference == MERGED
    if settings.threshold > 0.0 and has_merged and russian_roulette(rng, particles, log_split):
        return True
    if settings.scheme != BOTH_KINDS or relative_ess(w, multiplicities, 1, num) >= settings.threshold:
        return False
    total = settings.num_particles - 1
    for p in range(1, num):
        w[p] *= multiplicities[p]
        log_w[p] = log_split - math.log(total)
    resample_stratified(rng, w, 1, num, total, reference, True, copies)
    return True


@inner(**LEAF)
def russian_roulette(rng, particles, log_split):
    """Where one copy stands for all merged particles: let a kind that is dead go, mostly.

    It stays with probability q, the ratio of the kinds' weights over :data:`DEAD`, and its weight is divided by q if
    so: a resampling of whole kinds. The kind of the conditioned path stays. `log_split` is the log of the weight of all
    split particles. Returns whether a kind is dead; ``copies`` and ``log_w`` have changed then.
    """
    copies, log_w, _, num, reference = particles
    log_odds = log_split - log_w[MERGED]
    log_q = math.log(DEAD)
    if log_odds < log_q:
        first, last, log_q = 1, num, log_odds - log_q
    elif log_odds > -log_q:
        first, last, log_q = MERGED, MERGED + 1, -log_odds - log_q
    else:
        return False
    stays = first <= reference < last or rng.random() < math.exp(log_q)
    for p in range(first, last):
        if stays:
            log_w[p] -= log_q
        else:
            copies[p] = 0
    return True


@inner(**LEAF)
def keep_num_particles(rng, settings, particles, ancestry, weights, pool):
    """The optimal scheme's resampling, of all children where there are more than N."""
    copies, log_w, _, num, reference = particles
    total = num - 1 + copies[MERGED] + (reference == MERGED)
    if settings.scheme != OPTIMAL or total <= settings.num_particles:
        return particles
    multiplicities, w = weights
    resample_optimal(rng, log_w, w, num, settings.num_particles, reference, copies, multiplicities)
    return compact(particles, ancestry, pool)
