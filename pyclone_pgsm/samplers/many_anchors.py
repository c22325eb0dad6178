"""Particle Gibbs split-merge with any number of anchors (paper, Appendix D).

The n observations in the blocks of the anchors i1 .. is are reallocated to 1 to s blocks, each of which again
contains an anchor. One step can split a block and merge two others, which is needed where the number of blocks is
bounded.

The observations enter in the order sigma: first the anchors in random order, then the others, shuffled. At t <= s an
observation may join any block of the particle or open a new one, unless the prior rules out that many blocks. At t > s
it joins an existing block. The paper's state is the allocations of the anchors and the block that is joined. With
gamma_t the target on sigma_1 .. sigma_t, the intermediate targets are:

    plain:     gamma_t
    annealed:  1 for t <= s;  gamma_s^{zeta_t} gamma_t / gamma_s for t > s,  zeta_t = (t - s)/(n - s);
               for n = s there is no later step, and all of gamma_s enters the weight

As with two anchors (:mod:`~pyclone_pgsm.samplers.conditional_smc`) the kernel keeps unique particles with
multiplicities, in the order of their paths, and particles share blocks. A particle's blocks are numbered in the order
in which they were opened.
"""

import math
from typing import NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import close_slot, copy_row, fill_block, open_slot, with_free_slots
from pyclone_pgsm.samplers.particle_blocks import (
    compute_log_joins,
    extend,
    make_block_pool,
    release_block,
    request_log_join,
    take_block,
)
from pyclone_pgsm.samplers.particles import Weights, draw_particle, weigh
from pyclone_pgsm.samplers.resampling import (
    OPTIMAL,
    relative_ess,
    resample,
    resample_multinomial,
    resample_optimal,
)
from pyclone_pgsm.samplers.split_merge import merge_blocks


class Particles(NamedTuple):
    """Unique particles, at most R, in the order of their paths.

    Attributes
    ----------
    free_copies : (R,) int64
        Multiplicities, not counting the conditioned path.
    log_w : (R,) float64
        Log weight of one copy.
    log_gamma : (R,) float64
        Annealed targets: log gamma_t up to t = s, and log gamma_s from there on. Plain targets: 0.
    num_blocks : (R,) int64
    blocks : (R, s) int64
        Positions of the blocks in the pool.
    path : (R,) int32
        s times the parent's number plus the number of the block that the last observation joined.
    num, reference : int
        Number of particles, and the particle that the conditioned path belongs to.
    """

    free_copies: np.ndarray
    log_w: np.ndarray
    log_gamma: np.ndarray
    num_blocks: np.ndarray
    blocks: np.ndarray
    path: np.ndarray
    num: int
    reference: int


@inner(nogil=True)
def make_particles(size, num_anchors):
    """Make one particle, without blocks yet, and space for `size`."""
    return Particles(
        np.zeros(size, np.int64),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size, np.int64),
        np.zeros((size, num_anchors), np.int64),
        np.zeros(size, np.int32),
        np.int64(1),
        np.int64(0),
    )


@inner(nogil=True)
def with_number(particles, num, reference):
    free_copies, log_w, log_gamma, num_blocks, blocks, path, _, _ = particles
    return Particles(
        free_copies, log_w, log_gamma, num_blocks, blocks, path, np.int64(num), np.int64(reference)
    )


@inner(**LEAF)
def shuffle(rng, values, first, last):
    """Put ``values[first:last]`` into a random order."""
    for t in range(last - 1, first, -1):
        other = first + int(rng.random() * (t - first + 1))
        values[t], values[other] = values[other], values[t]


@inner(nogil=True)
def closure_of_anchors(rng, labels, anchors, num_slots):
    """Draw the order sigma of the closure.

    Returns sigma, the slots of the closure's blocks in the order in which they appear in it, how many blocks these are,
    and the number of the block in each slot (-1 for blocks without an anchor).
    """
    s = len(anchors)
    order = anchors.copy()
    shuffle(rng, order, 0, s)
    number = np.full(num_slots, -1, np.int64)
    slots = np.empty(s, np.int64)
    num_blocks = 0
    for i in order:
        if number[labels[i]] < 0:
            number[labels[i]] = num_blocks
            slots[num_blocks] = labels[i]
            num_blocks += 1
    n = 0
    for label in labels:
        if number[label] >= 0:
            n += 1
    sigma = np.empty(n, np.int64)
    is_anchor = np.zeros(len(labels), np.bool_)
    for t in range(s):
        sigma[t] = order[t]
        is_anchor[order[t]] = True
    n = s
    for i in range(len(labels)):
        if number[labels[i]] >= 0 and not is_anchor[i]:
            sigma[n] = i
            n += 1
    shuffle(rng, sigma, s, n)
    return sigma, slots, num_blocks, number


@inner(**LEAF)
def predict_joins(likelihood, log_tau2, particles, pool, i):
    """Compute ``pool.log_join`` of all blocks of all particles."""
    pool.log_join[:] = np.nan
    count = 0
    for p in range(particles.num):
        for k in range(particles.num_blocks[p]):
            count = request_log_join(pool, log_tau2, particles.blocks[p, k], count, -np.inf)
    compute_log_joins(likelihood, pool, count, i)


@inner(**LEAF)
def open_block(likelihood, log_tau2, pool, i):
    """Take an empty block from the pool, which particles may open with observation i."""
    fresh = take_block(pool)
    likelihood.clear(pool.stats[fresh])
    pool.sizes[fresh] = 0
    pool.log_join[fresh] = log_tau2[1] + likelihood.log_prior_predictive(i)
    return fresh


@inner(nogil=True)
def compact(particles, pool):
    """Drop the particles that have no copies left, except the conditioned one."""
    alive = 0
    new_reference = 0
    for p in range(particles.num):
        if particles.free_copies[p] == 0 and p != particles.reference:
            for k in range(particles.num_blocks[p]):
                release_block(pool, particles.blocks[p, k])
            continue
        if p == particles.reference:
            new_reference = alive
        particles.free_copies[alive] = particles.free_copies[p]
        particles.log_w[alive] = particles.log_w[p]
        particles.log_gamma[alive] = particles.log_gamma[p]
        particles.num_blocks[alive] = particles.num_blocks[p]
        particles.path[alive] = particles.path[p]
        copy_row(particles.blocks, p, particles.blocks, alive)
        alive += 1
    return with_number(particles, alive, new_reference)


@inner(nogil=True)
def resample_if_uneven(rng, settings, particles, is_last, weights, pool):
    """Resample the children if the effective sample size is low (optimal scheme: if there are more than N)."""
    free_copies, log_w, num, reference = (
        particles.free_copies,
        particles.log_w,
        particles.num,
        particles.reference,
    )
    all_copies, w = weights
    if settings.scheme == OPTIMAL:
        if num <= settings.num_particles:
            return particles
        resample_optimal(rng, log_w, w, num, settings.num_particles, reference, free_copies, all_copies)
        return compact(particles, pool)
    if is_last:
        return particles
    weigh(particles, 0, weights)
    if relative_ess(w, all_copies, 0, num) >= settings.threshold:
        return particles
    for p in range(num):
        w[p] *= all_copies[p]
    resample(rng, settings.scheme, w, num, settings.num_particles, reference, free_copies)
    for p in range(num):
        log_w[p] = 0.0
    return compact(particles, pool)


@inner(**LEAF)
def weigh_choices(particles, p, fresh, log_open, anneal, pool, log_step, log_gamma):
    """Compute what each choice of particle p, a block to join or a new one, adds to its weight; return their number.

    Parameters
    ----------
    fresh : int
        An empty block to open, -1 after the anchors.
    log_open : (s,) float64
        log weight of opening a block in addition to k others; -inf where the prior rules it out.
    anneal : float
        -1 for plain targets, 0 for annealed ones up to t = s, and 1 / (n - s) from there on.
    pool : BlockPool
        With ``log_join`` of all blocks.
    log_step, log_gamma : (s,) float64
        Result: the increment of the log weight, and ``log_gamma`` after the choice.
    """
    k = particles.num_blocks[p]
    choices = k + 1 if fresh >= 0 and log_open[k] > -np.inf else k
    for choice in range(choices):
        if choice < k:
            log_step[choice] = pool.log_join[particles.blocks[p, choice]]
        else:
            log_step[choice] = pool.log_join[fresh] + log_open[k]
        log_gamma[choice] = particles.log_gamma[p]
        if anneal == 0.0:
            log_gamma[choice] += log_step[choice]
            log_step[choice] = 0.0
        elif anneal > 0.0:
            log_step[choice] += anneal * log_gamma[choice]
    return choices


@inner(**LEAF)
def add_child(particles, p, choice, fresh, pool, children, new_num):
    """Give child `new_num` the blocks of its parent p, and a new one if that is its choice."""
    k = particles.num_blocks[p]
    children.num_blocks[new_num] = k
    children.path[new_num] = particles.blocks.shape[1] * p + choice
    copy_row(particles.blocks, p, children.blocks, new_num)
    if choice == k:
        children.blocks[new_num, k] = fresh
        children.num_blocks[new_num] = k + 1
    for b in range(children.num_blocks[new_num]):
        pool.references[children.blocks[new_num, b]] += 1


@inner(nogil=True)
def propose(rng, scheme, particles, reference_choice, fresh, log_open, anneal, children, pool):
    """Draw the children of all particles; the optimal scheme makes all possible ones.

    Parameters
    ----------
    particles : Particles
        Their blocks are released.
    reference_choice : int
        The block that the conditioned particle joins.
    fresh, log_open, anneal, pool
        See :func:`weigh_choices`.
    children : Particles
        Receives the children, and is returned with their number.
    """
    s = particles.blocks.shape[1]
    log_step = np.empty(s)
    log_gamma = np.empty(s)
    p_join = np.empty(s)
    joining = np.empty(s, np.int64)
    new_num = 0
    new_reference = 0
    for p in range(particles.num):
        choices = weigh_choices(particles, p, fresh, log_open, anneal, pool, log_step, log_gamma)
        best = -np.inf
        for choice in range(choices):
            best = max(best, log_step[choice])
        total = 0.0
        for choice in range(choices):
            p_join[choice] = math.exp(log_step[choice] - best)
            total += p_join[choice]
        log_sum = best + math.log(total)
        if scheme != OPTIMAL:
            resample_multinomial(rng, p_join, choices, particles.free_copies[p], joining)
        for choice in range(choices):
            on_path = p == particles.reference and choice == reference_choice
            if scheme == OPTIMAL:
                count = 0 if on_path else 1
                log_weight = log_step[choice]
            else:
                count = joining[choice]
                log_weight = log_sum
            if count == 0 and not on_path:
                continue
            children.free_copies[new_num] = count
            children.log_w[new_num] = particles.log_w[p] + log_weight
            children.log_gamma[new_num] = log_gamma[choice]
            add_child(particles, p, choice, fresh, pool, children, new_num)
            if on_path:
                new_reference = new_num
            new_num += 1
    for p in range(particles.num):
        for b in range(particles.num_blocks[p]):
            release_block(pool, particles.blocks[p, b])
    return with_number(children, new_num, new_reference)


@inner(**LEAF)
def put_blocks(partition, sigma, slots, num_before, particles, chosen, path, pool):
    """Copy the blocks of the particle `chosen`, and the allocations along its path, into the partition."""
    s = particles.blocks.shape[1]
    num_after = particles.num_blocks[chosen]
    for b in range(num_after, num_before):
        close_slot(partition, slots[b])
    for b in range(num_after):
        if b >= num_before:
            slots[b] = open_slot(partition)
        block = particles.blocks[chosen, b]
        copy_row(pool.stats, block, partition.stats, slots[b])
        partition.sizes[slots[b]] = pool.sizes[block]
    for t in range(len(sigma) - 1, -1, -1):
        partition.labels[sigma[t]] = slots[path[t, chosen] % s]
        chosen = path[t, chosen] // s
    return num_after


@inner(nogil=True)
def weights_of_opening(prior, num_others, num_anchors):
    """Return log tau1(k' + k + 1) / tau1(k' + k) for k = 0 .. s - 1, with k' other blocks; 0 for the first block."""
    log_open = np.zeros(num_anchors)
    for k in range(1, num_anchors):
        log_tau1 = prior.log_tau1[num_others + k + 1]
        log_open[k] = log_tau1 - prior.log_tau1[num_others + k] if log_tau1 > -np.inf else -np.inf
    return log_open


def split_merge_many(likelihood, prior, partition, anchors, settings, rng):
    """Make a split-merge move with two or more anchors: Algorithm 1 with the particle Gibbs kernel of Algorithm 3.

    Parameters
    ----------
    likelihood, prior, partition, rng
        As in :func:`~pyclone_pgsm.samplers.split_merge.split_merge`.
    anchors : (s,) int64
        Different observations, drawn independently of the partition.
    settings : SMCSettings
        N should be much larger than the number of partitions of s anchors. The scheme cannot be "both-kinds", which is
        for two anchors; the optimal scheme does not use the threshold.

    Returns
    -------
    partition : Partition
    num_blocks_before, num_blocks_after : int
        Number of blocks that contain an anchor (1 to s).
    """
    s = len(anchors)
    partition = with_free_slots(partition, s)
    sigma, slots, num_before, number = closure_of_anchors(
        rng, partition.labels, anchors, len(partition.sizes)
    )
    n = len(sigma)
    num_others = partition.counter[0] - num_before
    if prior.log_tau1[num_others + num_before] == -np.inf:
        if num_before > 1:
            merge_blocks(partition, slots[:num_before], sigma)
            fill_block(likelihood, partition.stats[slots[0]], sigma)
        return partition, num_before, 1
    log_open = weights_of_opening(prior, num_others, s)
    size = s * settings.num_particles + 2
    particles, children = make_particles(size, s), make_particles(size, s)
    particles.free_copies[0] = settings.num_particles - 1
    weights = Weights(np.zeros(size, np.int64), np.zeros(size))
    path = np.empty((n, settings.num_particles), np.int32)
    pool = make_block_pool(settings.num_particles, likelihood.stat_size(), s)

    for t in range(n):
        i = sigma[t]
        predict_joins(likelihood, prior.log_tau2, particles, pool, i)
        fresh = open_block(likelihood, prior.log_tau2, pool, i) if t < s else -1
        anneal = -1.0
        if settings.annealed:
            anneal = 0.0 if t < s else 1.0 / (n - s)
        choice = number[partition.labels[i]]
        proposed = propose(rng, settings.scheme, particles, choice, fresh, log_open, anneal, children, pool)
        proposed = resample_if_uneven(rng, settings, proposed, t == n - 1, weights, pool)
        if proposed.num == 1 and proposed.num_blocks[0] == 1 and t >= s - 1:
            return partition, 1, 1  # all particles are and stay merged, as the closure is already
        extend(likelihood, pool, proposed.blocks, proposed.path, 0, proposed.num, i)
        if fresh >= 0:
            release_block(pool, fresh)
        for p in range(proposed.num):
            path[t, p] = proposed.path[p]
        particles, children = proposed, particles

    if settings.annealed and n == s:
        for p in range(particles.num):
            particles.log_w[p] += particles.log_gamma[p]
    chosen = draw_particle(rng, particles, weights)
    num_after = put_blocks(partition, sigma, slots, num_before, particles, chosen, path, pool)
    return partition, num_before, num_after
