"""Unique particles of conditional SMC with their multiplicities: weights, the resampling step, the final draw.

Identical particles are stored once. A *merged* particle has everything in one block; all merged particles are
identical. The others are *split*. In the schemes "optimal" and "both-kinds" one copy represents all merged particles,
with all their weight. Blocks are in a pool (:mod:`~pyclone_pgsm.samplers.particle_blocks`).
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
    relative_ess,
    resample,
    resample_optimal,
    resample_stratified,
)

# A kind of particles, merged or split, counts as dead if its weight is below this share of the other kind's.
DEAD = 1e-20


class SMCSettings(NamedTuple):
    """Settings of conditional SMC.

    Attributes
    ----------
    num_particles : int
        N, from 2 to 10,000.
    threshold : float
        Resample if the relative effective sample size is below this: 0 never, 1 unless all weights are equal. (Unless
        it is 0, also resample if all copies of one kind, merged or split, have lost their weight.) The optimal scheme
        only uses whether it is 0.
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
    """Unique particles, at most R, in the order of their paths.

    Attributes
    ----------
    free_copies : (R,) int64
        Multiplicities, not counting the conditioned path.
    log_w : (R,) float64
        Log weight of one copy.
    log_gamma : (R,) float64
        Annealed targets: log gamma_t up to t = s, and log gamma_s from there on, both relative to gamma_1. Plain
        targets: 0.
    num_blocks : (R,) int64
    blocks : (R, s) int64
        Positions of the anchors' blocks in the pool, in the order in which they were opened.
    origin : (R,) int32
        s times the parent's number plus the number of the block that the last observation joined.
    num : int
        Number of particles.
    reference : int
        The particle that the conditioned path belongs to.
    """

    free_copies: np.ndarray
    log_w: np.ndarray
    log_gamma: np.ndarray
    num_blocks: np.ndarray
    blocks: np.ndarray
    origin: np.ndarray
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


@inner(nogil=True)
def make_particles(size, num_anchors):
    return Particles(
        np.zeros(size, np.int64),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size, np.int64),
        np.zeros((size, num_anchors), np.int64),
        np.zeros(size, np.int32),
        np.int64(0),
        np.int64(0),
    )


@inner(**LEAF)
def with_number(particles, num, reference):
    free_copies, log_w, log_gamma, num_blocks, blocks, origin, _, _ = particles
    return Particles(
        free_copies, log_w, log_gamma, num_blocks, blocks, origin, np.int64(num), np.int64(reference)
    )


@inner(**LEAF)
def first_split(particles):
    """Return the number of the first split particle: 1 if there is a merged one, which is number 0."""
    return 1 if particles.num_blocks[0] == 1 else 0


@inner(**LEAF)
def weigh(particles, first, weights):
    """Compute `weights` of particles ``first .. num - 1``, relative to the largest weight, whose log is returned."""
    free_copies, log_w = particles.free_copies, particles.log_w
    all_copies, w = weights
    best = -np.inf
    for p in range(first, particles.num):
        all_copies[p] = free_copies[p] + (p == particles.reference)
        best = max(best, log_w[p])
    for p in range(first, particles.num):
        w[p] = math.exp(log_w[p] - best)
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
def compact(particles, pool):
    """Drop the particles that have no copies left, except the conditioned one."""
    alive = np.int64(0)
    new_reference = np.int64(0)
    for p in range(particles.num):
        if particles.free_copies[p] == 0 and p != particles.reference:
            for b in range(particles.num_blocks[p]):
                release_block(pool, particles.blocks[p, b])
            continue
        if p == particles.reference:
            new_reference = alive
        particles.free_copies[alive] = particles.free_copies[p]
        particles.log_w[alive] = particles.log_w[p]
        particles.log_gamma[alive] = particles.log_gamma[p]
        particles.num_blocks[alive] = particles.num_blocks[p]
        particles.origin[alive] = particles.origin[p]
        copy_row(particles.blocks, p, particles.blocks, alive)
        alive += 1
    return with_number(particles, alive, new_reference)


@inner(**LEAF)
def resample_if_uneven(rng, settings, particles, is_last, weights, pool):
    """Resample the children if the effective sample size is too low, or a kind of particles is dead.

    After the last observation only the optimal scheme resamples, if there are more than N children.
    """
    if settings.scheme == OPTIMAL and particles.num > settings.num_particles:
        keep_num_particles(rng, settings, particles, weights)
        particles = compact(particles, pool)
    if is_last:
        return particles
    if settings.scheme in (OPTIMAL, BOTH_KINDS):
        changed = resample_split(rng, settings, particles, weights)
    else:
        changed = resample_all(rng, settings, particles, weights)
    return compact(particles, pool) if changed else particles


@inner(**LEAF)
def resample_all(rng, settings, particles, weights):
    """Resample merged and split particles together if necessary; return whether it was."""
    all_copies, w = weights
    num = particles.num
    weigh(particles, 0, weights)
    if relative_ess(w, all_copies, 0, num) >= settings.threshold and not (
        settings.threshold > 0.0 and one_kind_is_dead(particles, weights)
    ):
        return False
    for p in range(num):
        w[p] *= all_copies[p]
        particles.log_w[p] = 0.0
    resample(rng, settings.scheme, w, num, settings.num_particles, particles.reference, particles.free_copies)
    return True


@inner(**LEAF)
def one_kind_is_dead(particles, weights):
    """Whether all copies of the merged particle, or all split particles, have lost their weight for good.

    If half of the copies have weight zero, the relative effective sample size is still 1/2, so the usual criterion may
    keep them to the end. Any criterion that is a function of the weighted particles keeps the kernel exact (Lee 2011),
    provided that it does not depend on which of them is the conditioned path.
    """
    all_copies, w = weights
    first = first_split(particles)
    merged = all_copies[0] * w[0] if first == 1 else 0.0
    split = 0.0
    for p in range(first, particles.num):
        split += all_copies[p] * w[p]
    merged_is_dead = first == 1 and merged < DEAD * split
    return merged_is_dead or (particles.num > first and split < DEAD * merged)


@inner(**LEAF)
def resample_split(rng, settings, particles, weights):
    """Make the resampling step where one copy represents all merged particles; return whether anything changed.

    Either a kind is dead (:func:`russian_roulette`), or, in the scheme "both-kinds", the split particles are resampled
    if necessary: systematically, to equal weights, with the conditioned particle among them if it is split.
    """
    free_copies, log_w, num, reference = (
        particles.free_copies,
        particles.log_w,
        particles.num,
        particles.reference,
    )
    all_copies, w = weights
    first = first_split(particles)
    if first == num:
        return False
    log_split = weigh(particles, first, weights)
    weight = 0.0
    for p in range(first, num):
        weight += all_copies[p] * w[p]
    log_split += math.log(weight)
    if settings.threshold > 0.0 and first == 1 and russian_roulette(rng, particles, log_split):
        return True
    if settings.scheme != BOTH_KINDS or relative_ess(w, all_copies, first, num) >= settings.threshold:
        return False
    total = settings.num_particles - 1
    for p in range(first, num):
        w[p] *= all_copies[p]
        log_w[p] = log_split - math.log(total)
    resample_stratified(rng, w, first, num, total, reference, True, free_copies)
    return True


@inner(**LEAF)
def russian_roulette(rng, particles, log_split):
    """Resample whole kinds where one copy represents all merged particles: a dead kind survives only rarely.

    It survives with probability q, the ratio of the kinds' weights divided by :data:`DEAD`, and its weight is then
    divided by q. The kind of the conditioned path always survives. `log_split` is the log weight of all split particles
    together. Returns whether a kind is dead, in which case ``free_copies`` and ``log_w`` have changed.
    """
    log_w = particles.log_w
    log_odds = log_split - log_w[0]
    log_q = math.log(DEAD)
    if log_odds < log_q:
        first, last, log_q = 1, particles.num, log_odds - log_q
    elif log_odds > -log_q:
        first, last, log_q = 0, 1, -log_odds - log_q
    else:
        return False
    stays = first <= particles.reference < last or rng.random() < math.exp(log_q)
    for p in range(first, last):
        if stays:
            log_w[p] -= log_q
        else:
            particles.free_copies[p] = 0
    return True


@inner(**LEAF)
def keep_num_particles(rng, settings, particles, weights):
    """Resample more than N children by the optimal scheme."""
    all_copies, w = weights
    resample_optimal(
        rng,
        particles.log_w,
        w,
        particles.num,
        settings.num_particles,
        particles.reference,
        particles.free_copies,
        all_copies,
    )
