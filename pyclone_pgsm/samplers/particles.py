"""Unique particles of conditional SMC with their multiplicities: weights, the resampling step, the final draw.

All merged particles are identical, and copies made by resampling stay identical until they draw differently, so that
identical particles are stored once. Their blocks are in a pool (:mod:`~pyclone_pgsm.samplers.particle_blocks`).

If `one_merged` is True, one copy represents all merged particles (:func:`has_one_merged`).
"""

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

# A kind of particles, merged or split, counts as dead if its weight is below this share of the other kind's.
DEAD = 1e-20
MERGED = 0  # the merged particle is always number 0; split particles follow


class SMCSettings(NamedTuple):
    """Settings of conditional SMC.

    Attributes
    ----------
    num_particles : int
        N, from 2 to 10,000.
    threshold : float
        Resample if the relative effective sample size is below this: 0 never, above 1 always. (Unless it is 0, also
        resample if all copies of one kind, merged or split, have lost their weight.)
    annealed : bool
        Whether the intermediate targets are annealed, rather than plain.
    scheme : int
        Resampling scheme: position in :data:`~pyclone_pgsm.samplers.resampling.SCHEMES`.
    """

    num_particles: int
    threshold: float
    annealed: bool
    scheme: int


class Particles(NamedTuple):
    """Unique particles: number 0 is merged, 1 .. num - 1 are split, in the order of their paths.

    Attributes
    ----------
    free_copies : (R,) int64
        Multiplicities, not counting the conditioned path.
    log_w : (R,) float64
        Log weight of one copy.
    blocks : (R, 2) int64
        Positions of the anchors' blocks in the pool; twice the same for the merged particle.
    num : int
        Number of particles, the merged one included even if it has no copies.
    reference : int
        The particle that the conditioned path belongs to.
    """

    free_copies: np.ndarray
    log_w: np.ndarray
    blocks: np.ndarray
    num: int
    reference: int


class Weights(NamedTuple):
    """Workspace for the weights of particles.

    Attributes
    ----------
    all_copies : (R,) int64
        Copies of each particle, including the conditioned path.
    w : (R,) float64
        Weights of one copy, relative to the largest.
    """

    all_copies: np.ndarray
    w: np.ndarray


def has_one_merged(scheme: str) -> bool | None:
    """Whether one copy represents all merged particles in this resampling scheme.

    True for the schemes "optimal" and "both-kinds", which keep the merged particle as one copy with all its weight;
    None for the others. It is None rather than False so that numba leaves out that code and compiles faster.
    """
    return True if SCHEMES.index(scheme) in (OPTIMAL, BOTH_KINDS) else None


@inner(nogil=True)
def make_particles(size):
    return Particles(
        np.zeros(size, np.int64), np.zeros(size), np.zeros((size, 2), np.int64), np.int64(0), np.int64(0)
    )


@inner(**LEAF)
def with_number(particles, num, reference):
    return Particles(
        particles.free_copies, particles.log_w, particles.blocks, np.int64(num), np.int64(reference)
    )


@inner(**LEAF)
def weigh(particles, first, weights):
    """Compute `weights` of particles ``first .. num - 1``, relative to the largest weight, whose log is returned."""
    free_copies, log_w = particles.free_copies, particles.log_w
    all_copies, w = weights
    best = -np.inf
    for p in range(first, particles.num):
        all_copies[p] = free_copies[p] + (1 if p == particles.reference else 0)
        if all_copies[p] > 0:
            best = max(best, log_w[p])
    for p in range(first, particles.num):
        w[p] = math.exp(log_w[p] - best) if all_copies[p] > 0 else 0.0
    return best


@inner(**LEAF)
def draw_particle(rng, particles, weights):
    """Draw a particle with probability proportional to its weight."""
    weigh(particles, 0, weights)
    all_copies, w = weights
    total = 0.0
    for p in range(particles.num):
        total += all_copies[p] * w[p]
        w[p] = total
    u = rng.random() * total
    chosen = 0
    while chosen < particles.num - 1 and w[chosen] <= u:
        chosen += 1
    return chosen


@inner(**LEAF)
def compact(particles, ancestry, pool):
    """Drop the split particles that have no copies left, except the conditioned one."""
    free_copies, log_w, blocks, num, reference = particles
    alive = np.int64(1)
    new_reference = MERGED
    for p in range(1, num):
        if free_copies[p] == 0 and p != reference:
            release_block(pool, blocks[p, 0])
            release_block(pool, blocks[p, 1])
            continue
        if p == reference:
            new_reference = alive
        free_copies[alive] = free_copies[p]
        log_w[alive] = log_w[p]
        copy_row(blocks, p, blocks, alive)
        ancestry[alive] = ancestry[p]
        alive += 1
    return with_number(particles, alive, new_reference)


@inner(**LEAF)
def resample_if_uneven(rng, settings, one_merged, particles, ancestry, weights, pool):
    """Resample if the effective sample size is too low, or a kind of particles is dead."""
    if one_merged is not None and one_merged:
        changed = resample_split(rng, settings, particles, weights)
    else:
        changed = resample_all(rng, settings, particles, weights)
    return compact(particles, ancestry, pool) if changed else particles


@inner(**LEAF)
def resample_all(rng, settings, particles, weights):
    """Resample merged and split particles together if necessary; return whether it was."""
    free_copies, log_w, _, num, reference = particles
    all_copies, w = weights
    weigh(particles, 0, weights)
    if relative_ess(w, all_copies, 0, num) >= settings.threshold and not (
        settings.threshold > 0.0 and one_kind_is_dead(w, all_copies, num)
    ):
        return False
    for p in range(num):
        w[p] *= all_copies[p]
    resample(rng, settings.scheme, w, num, settings.num_particles, reference, free_copies)
    for p in range(num):
        log_w[p] = 0.0
    return True


@inner(**LEAF)
def one_kind_is_dead(w, all_copies, num):
    """Whether all copies of the merged particle, or all split particles, have lost their weight for good.

    If half of the copies have weight zero, the relative effective sample size is still 1/2, so the usual criterion may
    keep them to the end. Any criterion that is a function of the weighted particles keeps the kernel exact (Lee 2011),
    provided that it does not depend on which of them is the conditioned path.
    """
    merged = all_copies[MERGED] * w[MERGED]
    split = 0.0
    num_split = 0
    for p in range(1, num):
        split += all_copies[p] * w[p]
        num_split += all_copies[p]
    merged_is_dead = all_copies[MERGED] > 0 and merged < DEAD * split
    return merged_is_dead or (num_split > 0 and split < DEAD * merged)


@inner(**LEAF)
def resample_split(rng, settings, particles, weights):
    """Make the resampling step where one copy represents all merged particles; return whether anything changed.

    Either a kind is dead (:func:`russian_roulette`), or, in the scheme "both-kinds", the split particles are resampled
    if necessary: systematically, to equal weights, with the conditioned particle among them if it is split.
    """
    free_copies, log_w, _, num, reference = particles
    all_copies, w = weights
    log_split = weigh(particles, 1, weights)
    weight = 0.0
    for p in range(1, num):
        weight += all_copies[p] * w[p]
    log_split += math.log(weight)
    has_merged = free_copies[MERGED] > 0 or reference == MERGED
    if settings.threshold > 0.0 and has_merged and russian_roulette(rng, particles, log_split):
        return True
    if settings.scheme != BOTH_KINDS or relative_ess(w, all_copies, 1, num) >= settings.threshold:
        return False
    total = settings.num_particles - 1
    for p in range(1, num):
        w[p] *= all_copies[p]
        log_w[p] = log_split - math.log(total)
    resample_stratified(rng, w, 1, num, total, reference, True, free_copies)
    return True


@inner(**LEAF)
def russian_roulette(rng, particles, log_split):
    """Resample whole kinds where one copy represents all merged particles: a dead kind survives only rarely.

    It survives with probability q, the ratio of the kinds' weights divided by :data:`DEAD`, and its weight is then
    divided by q. The kind of the conditioned path always survives. `log_split` is the log weight of all split particles
    together. Returns whether a kind is dead, in which case ``free_copies`` and ``log_w`` have changed.
    """
    free_copies, log_w, _, num, reference = particles
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
            free_copies[p] = 0
    return True


@inner(**LEAF)
def keep_num_particles(rng, settings, particles, ancestry, weights, pool):
    """Resample the children by the optimal scheme if that is the scheme and there are more than N."""
    free_copies, log_w, _, num, reference = particles
    total = num - 1 + free_copies[MERGED] + (reference == MERGED)
    if settings.scheme != OPTIMAL or total <= settings.num_particles:
        return particles
    all_copies, w = weights
    resample_optimal(rng, log_w, w, num, settings.num_particles, reference, free_copies, all_copies)
    return compact(particles, ancestry, pool)
