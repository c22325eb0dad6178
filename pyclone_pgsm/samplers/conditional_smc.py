"""Algorithm 3 of the paper: conditional sequential Monte Carlo over the allocations of the closure of two anchors.

The n observations of the closure enter in the order sigma (Algorithm 2), the anchors first. A particle is either
*merged* (everything in one block, an absorbing state) or *split*, with each observation in the block of the first or of
the second anchor. One of the N particles is conditioned on: it follows the current partition. With gamma_t the target
of Equation (5) on sigma_1 .. sigma_t, the intermediate targets (Sections 3.3 and 3.4) are:

    plain:     gamma_t
    annealed:  1 for t <= 2;  gamma_2^{zeta_t} gamma_t / gamma_2 for t > 2,  zeta_t = (t - 2)/(n - 2);
               for n = 2 there is no later step, and all of gamma_2 enters the weight

All merged particles are identical, and copies made by resampling stay identical until they draw differently. The kernel
therefore keeps *unique* particles with multiplicities and draws the number of a particle's children of each kind from a
binomial distribution. Particles share a block until one of them changes it
(:mod:`~pyclone_pgsm.samplers.particle_blocks`).
"""

import math
from typing import NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import copy_row, log_size_ratio
from pyclone_pgsm.samplers.particle_blocks import (
    compute_log_joins,
    empty_pool,
    extend,
    predict,
    release_block,
    request_log_join,
    start_block,
)
from pyclone_pgsm.samplers.particles import (
    MERGED,
    Particles,
    Weights,
    draw_particle,
    keep_num_particles,
    make_particles,
    resample_if_uneven,
    with_number,
)
from pyclone_pgsm.samplers.resampling import OPTIMAL, draw_binomial

# The less likely of two choices is left out of their sum if this many nats below: it is less than the rounding error.
NEGLIGIBLE = 60.0


class Path(NamedTuple):
    """Allocations of the closure of the anchors, which the kernel is conditioned on and which it returns.

    Attributes
    ----------
    sigma : (n,) int64
        The observations in the order in which they enter.
    sides : (n,) int8
        0 for an observation in the block of ``sigma[0]``, 1 for one in the block of ``sigma[1]``; all 0 if merged. In
        terms of the paper's states: #1 at the first observation; if ``sides[1]`` is 0, then #2 throughout; otherwise #3
        for side 0 and #4 for side 1. The bijection phi is :func:`~.split_merge.put_split`, its inverse
        :func:`~.split_merge.path_of`.
    """

    sigma: np.ndarray
    sides: np.ndarray


class Targets(NamedTuple):
    """Contributions of the intermediate targets to the log weights.

    Attributes
    ----------
    log_tau2 : (T + 1,) float64
    log_merged, log_split : float
        log gamma_2 of a merged and of a split particle, relative to the larger of the two.
    anneal_merged, anneal_split : float
        What each step t > 2 adds: log gamma_2 / (n - 2) if annealed, 0 if not.
    """

    log_tau2: np.ndarray
    log_merged: float
    log_split: float
    anneal_merged: float
    anneal_split: float


class Workspace(NamedTuple):
    """Arrays for a run of the algorithm.

    Attributes
    ----------
    particles, children : Particles
    ancestry : (n, R) int16
        2 parent + choice of each split particle at each step, from which the path of the drawn particle is traced.
    weights : Weights
    """

    particles: Particles
    children: Particles
    ancestry: np.ndarray
    weights: Weights


@inner(nogil=True)
def sample_permutation(rng, anchors, closure):
    """Algorithm 2: draw sigma, which starts with the anchors in random order, followed by the shuffled others."""
    first = 1 if rng.random() < 0.5 else 0
    sigma = np.empty(len(closure), np.int64)
    sigma[0] = anchors[first]
    sigma[1] = anchors[1 - first]
    n = 2
    for i in closure:
        if i != anchors[0] and i != anchors[1]:
            sigma[n] = i
            n += 1
    for t in range(n - 1, 2, -1):
        other = 2 + int(rng.random() * (t - 1))
        sigma[t], sigma[other] = sigma[other], sigma[t]
    return sigma


@inner(nogil=True)
def conditional_smc(likelihood, prior, num_others, path, settings, one_merged, pool, rng):
    """Algorithm 3: draw new allocations of the closure given the current ones.

    `num_others` is the number of blocks without an anchor, and `path` the current allocations. Returns the new path,
    and the positions of the two anchors' blocks in the pool, which are equal if merged.
    """
    n = len(path.sigma)
    size = (2 * settings.num_particles if settings.scheme == OPTIMAL else settings.num_particles) + 2
    workspace = Workspace(
        make_particles(size),
        make_particles(size),
        np.empty((n, size), np.int16),
        Weights(np.zeros(size, np.int64), np.zeros(size)),
    )
    blocks = start_blocks(likelihood, pool, path.sigma)
    targets = make_targets(likelihood, prior, num_others, path.sigma, settings.annealed, pool, blocks[0])
    chosen, first, second = run_particles(
        likelihood, targets, path, settings, one_merged, blocks, workspace, pool, rng
    )
    return trace_path(path.sigma, workspace.ancestry, chosen), first, second


@inner(**LEAF)
def run_particles(likelihood, targets, path, settings, one_merged, blocks, workspace, pool, rng):
    """Run the steps of Algorithm 3 and return the particle that is drawn at the end, with its two blocks.

    No array is created or returned here, so that compiled code need not count references to arrays.
    """
    particles, children, ancestry, weights = workspace
    particles = initialise(rng, targets, settings, one_merged, path, blocks, particles)
    for t in range(2, len(path.sigma)):
        i = path.sigma[t]
        likely = path.sides[t]
        particles = resample_if_uneven(rng, settings, one_merged, particles, ancestry[t - 1], weights, pool)
        if particles.num == 1:
            return MERGED, particles.blocks[MERGED, 0], particles.blocks[MERGED, 1]
        extend_merged(likelihood, targets, particles, pool, t, i)
        predict_joins(likelihood, targets, settings, particles, likely, pool, i)
        proposed = propose(rng, targets, settings, particles, likely, children, ancestry[t], pool)
        if one_merged is not None:
            proposed = keep_num_particles(rng, settings, proposed, ancestry[t], weights, pool)
        extend(likelihood, pool, proposed.blocks, ancestry[t], 1, proposed.num, i)
        particles, children = proposed, particles
    chosen = draw_particle(rng, particles, weights) if particles.num > 1 else MERGED
    return chosen, particles.blocks[chosen, 0], particles.blocks[chosen, 1]


@inner(**LEAF)
def start_blocks(likelihood, pool, sigma):
    """Make the blocks of the first anchor, of the second, and of both."""
    empty_pool(pool)
    first = start_block(likelihood, pool, sigma[:1])
    second = start_block(likelihood, pool, sigma[1:2])
    merged = start_block(likelihood, pool, sigma[:2])
    return first, second, merged


@inner(nogil=True)
def make_targets(likelihood, prior, num_others, sigma, annealed, pool, first):
    """Return log gamma_2 of both kinds of particles, and how it enters the weights (Equation 5, Sections 3.3, 3.4)."""
    log_tau2 = prior.log_tau2
    log_merged = (
        prior.log_tau1[num_others + 1]
        + log_tau2[2]
        + likelihood.log_prior_predictive(sigma[0])
        + predict(likelihood, pool, first, sigma[1])
    )
    log_split = (
        prior.log_tau1[num_others + 2]
        + 2.0 * log_tau2[1]
        + likelihood.log_prior_predictive(sigma[0])
        + likelihood.log_prior_predictive(sigma[1])
    )
    best = max(log_merged, log_split)
    log_merged -= best
    log_split -= best
    anneal_merged = 0.0
    anneal_split = 0.0
    if annealed:
        steps = max(len(sigma) - 2, 1)
        anneal_merged = log_merged / steps
        anneal_split = log_split / steps
    return Targets(log_tau2, log_merged, log_split, anneal_merged, anneal_split)


@inner(**LEAF)
def initialise(rng, targets, settings, one_merged, path, blocks, particles):
    """Return the particles at t = 2: with the anchors in one block, or in two."""
    together = path.sides[1] == 0
    free_copies, log_w = particles.free_copies, particles.log_w
    num_free = settings.num_particles - 1  # the conditioned path is kept apart
    reference = MERGED if together else 1
    if one_merged is not None and one_merged:
        free_copies[MERGED] = 0 if together else 1
        free_copies[1] = (
            1 - free_copies[MERGED] if settings.scheme == OPTIMAL else num_free - free_copies[MERGED]
        )
        if not settings.annealed:
            log_w[MERGED] = targets.log_merged
            log_w[1] = targets.log_split
        log_w[1] -= math.log(free_copies[1] + reference)
    else:
        p_merged = 0.5
        if not settings.annealed:
            merged, split = math.exp(targets.log_merged), math.exp(targets.log_split)
            p_merged = merged / (merged + split)
        free_copies[MERGED] = draw_binomial(rng, num_free, p_merged)
        free_copies[1] = num_free - free_copies[MERGED]
    if settings.annealed and len(path.sigma) == 2:
        log_w[MERGED] += targets.anneal_merged
        log_w[1] += targets.anneal_split
    first, second, merged_block = blocks
    particles.blocks[MERGED, 0] = particles.blocks[MERGED, 1] = merged_block
    particles.blocks[1, 0] = first
    particles.blocks[1, 1] = second
    return with_number(particles, 1 if free_copies[1] == 0 and together else 2, reference)


@inner(**LEAF)
def extend_merged(likelihood, targets, particles, pool, t, i):
    """Extend the merged particle to its only child, in which everything stays in one block."""
    if particles.free_copies[MERGED] > 0 or particles.reference == MERGED:
        block = particles.blocks[MERGED, 0]
        log_predictive = predict(likelihood, pool, block, i)
        particles.log_w[MERGED] += (
            targets.anneal_merged + log_size_ratio(targets.log_tau2, t) + log_predictive
        )
        likelihood.add(pool.stats[block], i)


@inner(**LEAF)
def predict_joins(likelihood, targets, settings, particles, likely, pool, i):
    """Compute ``pool.log_join`` of all blocks of split particles: log of gamma_t / gamma_{t-1} of Section 3.3.

    The side that the conditioned path joins is taken as the likely one. Values of the other side that are negligible
    beside it need not be accurate.
    """
    blocks = particles.blocks
    pool.log_join[:] = np.nan
    count = 0
    for p in range(1, particles.num):
        count = request_log_join(pool, targets.log_tau2, blocks[p, likely], count, -np.inf)
    least = compute_log_joins(likelihood, pool, count, i)
    negligible = -np.inf if settings.scheme == OPTIMAL else least - NEGLIGIBLE
    count = 0
    for p in range(1, particles.num):
        count = request_log_join(pool, targets.log_tau2, blocks[p, 1 - likely], count, negligible)
    compute_log_joins(likelihood, pool, count, i)


@inner(**LEAF)
def log_add(a, b):
    """Return log(exp(a) + exp(b)), and the share of exp(a) in the sum."""
    if a >= b:
        ratio = math.exp(b - a)
        return a + math.log1p(ratio), 1.0 / (1.0 + ratio)
    ratio = math.exp(a - b)
    return b + math.log1p(ratio), ratio / (1.0 + ratio)


@inner(**LEAF)
def propose(rng, targets, settings, particles, likely, children, ancestry, pool):
    """Make the children of all particles: their copies, their weights, and their blocks before these are extended.

    Each copy of a split particle joins the `likely` side, which is that of the conditioned path, with the probability
    that the proposal gives it, and the weight is the sum over both choices. The optimal scheme makes both children
    instead, each with its own weight.
    """
    free_copies, log_w, blocks, num, reference = particles
    children.free_copies[MERGED] = free_copies[MERGED]
    children.log_w[MERGED] = log_w[MERGED]
    copy_row(blocks, MERGED, children.blocks, MERGED)
    new_num = 1
    new_reference = MERGED
    for p in range(1, num):
        log_likely = pool.log_join[blocks[p, likely]]
        log_other = pool.log_join[blocks[p, 1 - likely]]
        log_sum, p_likely = log_add(log_likely, log_other)
        joining = draw_binomial(rng, free_copies[p], p_likely) if settings.scheme != OPTIMAL else 0
        for choice in range(2):
            on_path = p == reference and choice == likely
            log_step = log_sum
            if settings.scheme == OPTIMAL:
                count = 0 if on_path else 1
                log_step = log_likely if choice == likely else log_other
            else:
                count = joining if choice == likely else free_copies[p] - joining
            if count == 0 and not on_path:
                continue
            children.free_copies[new_num] = count
            children.log_w[new_num] = log_w[p] + targets.anneal_split + log_step
            copy_row(blocks, p, children.blocks, new_num)
            pool.references[blocks[p, 0]] += 1
            pool.references[blocks[p, 1]] += 1
            ancestry[new_num] = 2 * p + choice
            if on_path:
                new_reference = new_num
            new_num += 1
    for p in range(1, num):
        release_block(pool, blocks[p, 0])
        release_block(pool, blocks[p, 1])
    return with_number(children, new_num, new_reference)


@inner(nogil=True)
def trace_path(sigma, ancestry, chosen):
    """Return the allocations of the particle `chosen` at the end."""
    sides = np.zeros(len(sigma), np.int8)
    if chosen != MERGED:
        sides[1] = 1
        for t in range(len(sigma) - 1, 1, -1):
            sides[t] = ancestry[t, chosen] % 2
            chosen = ancestry[t, chosen] // 2
    return Path(sigma, sides)
