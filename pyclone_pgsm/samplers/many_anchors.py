"""Particle Gibbs split-merge with any number of anchors (paper, Appendix D).

The blocks that hold one of the anchors i1 .. is are put together, n observations, and allocated anew to blocks that
again each hold an anchor: 1 to s of them. This can split a block and merge two others in one step, which is needed
where the number of blocks is bounded.

The observations enter in the order sigma: the anchors first, in random order, then the others, shuffled. At t <= s an
observation may join any block of the particle or open a new one, unless the prior rules out so many; at t > s it joins
a block. The allocations of the anchors and the block that is joined are the paper's state. Intermediate targets, with
gamma_t the target on sigma_1 .. sigma_t:

    plain:     gamma_t
    annealed:  1 for t <= s;  gamma_s^{zeta_t} gamma_t / gamma_s for t > s,  zeta_t = (t - s)/(n - s);
               for n = s there is no later step and gamma_s enters the weight whole

As with two anchors (:mod:`~pyclone_pgsm.samplers.particle_gibbs`) the kernel keeps unique particles with
multiplicities, in the order of their paths, and blocks that particles share. A particle's blocks are numbered in the
order in which they were opened.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import inner
from pyclone_pgsm.partition import close_slot, copy_row, fill_block, open_slot, with_free_slots
from pyclone_pgsm.samplers.particle_gibbs import (
    draw_particle,
    extend,
    make_block_pool,
    predict,
    release_block,
    take_block,
    weigh,
)
from pyclone_pgsm.samplers.resampling import (
    OPTIMAL,
    relative_ess,
    resample,
    resample_multinomial,
    resample_optimal,
)


class Particles(NamedTuple):
    """Unique particles, R of them at most, in the order of their paths.

    Attributes
    ----------
    copies : (R,) int64
        Multiplicities, the conditioned path left out.
    log_w : (R,) float64
        Log weight of one copy.
    log_gamma : (R,) float64
        Annealed targets: log gamma_t up to t = s, and log gamma_s from there on. Plain targets: 0.
    num_blocks : (R,) int64
    blocks : (R, s) int64
        Where in the pool they are.
    path : (R,) int32
        s times the parent's number plus the number of the block that the last observation joined.
    """

    copies: np.ndarray
    log_w: np.ndarray
    log_gamma: np.ndarray
    num_blocks: np.ndarray
    blocks: np.ndarray
    path: np.ndarray


@inner(nogil=True)
def make_particles(room, num_anchors):
    return Particles(
        np.zeros(room, np.int64),
        np.zeros(room),
        np.zeros(room),
        np.zeros(room, np.int64),
        np.zeros((room, num_anchors), np.int64),
        np.zeros(room, np.int32),
    )


@inner(nogil=True)
def shuffle(rng, values, first, last):
    """Put ``values[first:last]`` into a random order."""
    for t in range(last - 1, first, -1):
        other = first + int(rng.random() * (t - first + 1))
        values[t], values[other] = values[other], values[t]


@inner(nogil=True)
def closure_of_anchors(rng, labels, anchors, num_slots):
    """The order sigma of all that share a block with an anchor, and the slots of these blocks as they appear in it."""
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


@inner(nogil=True)
def attachments(likelihood, log_tau2, pool, particles, num, i):
    """log_join[block] = log tau2(|b| + 1) / tau2(|b|) + log L(y_i | b) of each block that particles hold."""
    pool.log_join[:] = np.nan
    count = 0
    for p in range(num):
        for k in range(particles.num_blocks[p]):
            block = particles.blocks[p, k]
            if np.isnan(pool.log_join[block]):
                pool.log_join[block] = log_tau2[pool.sizes[block] + 1] - log_tau2[pool.sizes[block]]
                pool.slots[count] = block
                pool.cuts[count] = -np.inf
                count += 1
    predict(likelihood, pool.stats, pool.slots[:count], i, pool.cuts, pool.values)
    for b in range(count):
        pool.log_join[pool.slots[b]] += pool.values[b]


@inner(nogil=True)
def close_ranks(pool, particles, num, reference):
    """Drop the particles without copies. Returns how many are left, and the number of the conditioned one."""
    alive = 0
    new_reference = 0
    for p in range(num):
        if particles.copies[p] == 0 and p != reference:
            for k in range(particles.num_blocks[p]):
                release_block(pool, particles.blocks[p, k])
            continue
        if p == reference:
            new_reference = alive
        particles.copies[alive] = particles.copies[p]
        particles.log_w[alive] = particles.log_w[p]
        particles.log_gamma[alive] = particles.log_gamma[p]
        particles.num_blocks[alive] = particles.num_blocks[p]
        particles.path[alive] = particles.path[p]
        copy_row(particles.blocks, p, particles.blocks, alive)
        alive += 1
    return alive, new_reference


@inner(nogil=True)
def propose(
    rng, scheme, pool, particles, num, reference, reference_choice, fresh, log_open, anneal, children
):
    """All children that are drawn, or with the optimal scheme all there are.

    Parameters
    ----------
    rng : numpy.random.Generator
    scheme : int
    pool : BlockPool
        With ``log_join`` of all blocks.
    particles : Particles
        Of which there are `num`; they lose their blocks to the children.
    num, reference, reference_choice : int
        The conditioned particle, and the block that it joins.
    fresh : int
        An empty block to open, -1 after the anchors.
    log_open : (s + 1,) float64
        log weight of opening one more block than k; -inf where the prior rules it out.
    anneal : float
        -1 for plain targets, 0 for annealed ones up to t = s, and 1 / (n - s) from there on.
    children : Particles
        Result.

    Returns
    -------
    num, reference : int
        Of the children.
    """
    s = particles.blocks.shape[1]
    log_step = np.empty(s)
    log_gamma = np.empty(s)
    weights = np.empty(s)
    joining = np.empty(s, np.int64)
    new_num = 0
    new_reference = 0
    for p in range(num):
        k = particles.num_blocks[p]
        choices = k + 1 if fresh >= 0 and log_open[k] > -np.inf else k
        best = -np.inf
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
            best = max(best, log_step[choice])
        total = 0.0
        for choice in range(choices):
            weights[choice] = math.exp(log_step[choice] - best)
            total += weights[choice]
        log_sum = best + math.log(total)
        if scheme != OPTIMAL:
            resample_multinomial(rng, weights, choices, particles.copies[p], joining)
        for choice in range(choices):
            on_path = p == reference and choice == reference_choice
            if scheme == OPTIMAL:
                count = 0 if on_path else 1
                log_weight = log_step[choice]
            else:
                count = joining[choice]
                log_weight = log_sum
            if count == 0 and not on_path:
                continue
            children.copies[new_num] = count
            children.log_w[new_num] = particles.log_w[p] + log_weight
            children.log_gamma[new_num] = log_gamma[choice]
            children.num_blocks[new_num] = k
            children.path[new_num] = s * p + choice
            copy_row(particles.blocks, p, children.blocks, new_num)
            if choice == k:
                children.blocks[new_num, k] = fresh
                children.num_blocks[new_num] = k + 1
            for b in range(children.num_blocks[new_num]):
                pool.references[children.blocks[new_num, b]] += 1
            if on_path:
                new_reference = new_num
            new_num += 1
    for p in range(num):
        for b in range(particles.num_blocks[p]):
            release_block(pool, particles.blocks[p, b])
    return new_num, new_reference


def split_merge_many(likelihood, prior, partition, anchors, num_particles, threshold, annealed, scheme, rng):
    """Algorithm 1 with the particle Gibbs kernel of Algorithm 3, for two anchors or more.

    Parameters
    ----------
    likelihood : NamedTuple
        See :mod:`pyclone_pgsm.likelihoods.contract`.
    prior : PartitionPrior
        ``log_tau1`` may be -inf from some number of blocks on. From a partition with more blocks than that, moves
        merge.
    partition : Partition
        Changed in place; do not use it afterwards.
    anchors : (s,) int64
        Different observations, drawn without a look at the partition.
    num_particles : int
        N, from 2 to 10,000; should be much more than the partitions of s anchors.
    threshold : float
        Resample where the relative effective sample size falls below it: 0 never, above 1 always. (The optimal scheme
        has no use for it.)
    annealed : bool
        Annealed or plain intermediate targets.
    scheme : int
        Position in :data:`~pyclone_pgsm.samplers.resampling.SCHEMES`; not that of "both-kinds", which is for two.
    rng : numpy.random.Generator

    Returns
    -------
    partition : Partition
    num_blocks_before, num_blocks_after : int
        Blocks among the anchors' (1 to s).
    """
    s = len(anchors)
    partition = with_free_slots(partition, s)
    labels, sizes, stats = partition.labels, partition.sizes, partition.stats
    sigma, slots, num_before, number = closure_of_anchors(rng, labels, anchors, len(sizes))
    n = len(sigma)
    num_others = partition.counter[0] - num_before
    if prior.log_tau1[num_others + num_before] == -np.inf:
        for b in range(1, num_before):
            close_slot(partition, slots[b])
        if num_before > 1:
            fill_block(likelihood, stats[slots[0]], sigma)
        for i in sigma:
            labels[i] = slots[0]
        sizes[slots[0]] = n
        return partition, num_before, 1
    log_open = np.zeros(s + 1)  # the first block must be opened
    for k in range(1, s):
        log_tau1 = prior.log_tau1[num_others + k + 1]
        log_open[k] = log_tau1 - prior.log_tau1[num_others + k] if log_tau1 > -np.inf else -np.inf

    room = s * num_particles + 2
    particles = make_particles(room, s)
    children = make_particles(room, s)
    multiplicities = np.zeros(room, np.int64)
    w = np.zeros(room)
    path = np.empty((n, num_particles), np.int32)
    pool = make_block_pool(num_particles, likelihood.stat_size(), s)
    particles.copies[0] = num_particles - 1
    num = 1
    reference = 0

    for t in range(n):
        i = sigma[t]
        attachments(likelihood, prior.log_tau2, pool, particles, num, i)
        fresh = -1
        if t < s:
            fresh = take_block(pool)
            likelihood.clear(pool.stats[fresh])
            pool.sizes[fresh] = 0
            pool.log_join[fresh] = prior.log_tau2[1] + likelihood.log_prior_predictive(i)
        anneal = -1.0
        if annealed:
            anneal = 0.0 if t < s else 1.0 / (n - s)
        choice = number[labels[i]]
        num, reference = propose(
            rng, scheme, pool, particles, num, reference, choice, fresh, log_open, anneal, children
        )
        particles, children = children, particles

        if scheme == OPTIMAL:
            if num > num_particles:
                resample_optimal(
                    rng, particles.log_w, w, num, num_particles, reference, particles.copies, multiplicities
                )
                num, reference = close_ranks(pool, particles, num, reference)
        elif t < n - 1:
            weigh(particles.log_w, particles.copies, reference, 0, num, multiplicities, w)
            if relative_ess(w, multiplicities, 0, num) < threshold:
                for p in range(num):
                    w[p] *= multiplicities[p]
                resample(rng, scheme, w, num, num_particles, reference, particles.copies)
                for p in range(num):
                    particles.log_w[p] = 0.0
                num, reference = close_ranks(pool, particles, num, reference)
        if num == 1 and particles.num_blocks[0] == 1 and t >= s - 1:
            return partition, 1, 1  # all particles are, and stay, in one block, where the closure already is
        extend(likelihood, pool, particles.blocks, particles.path, 0, num, i)
        if fresh >= 0:
            release_block(pool, fresh)
        for p in range(num):
            path[t, p] = particles.path[p]

    if annealed and n == s:
        for p in range(num):
            particles.log_w[p] += particles.log_gamma[p]
    chosen = draw_particle(rng, particles.log_w, particles.copies, reference, num, multiplicities, w)

    # put it into the partition
    num_after = particles.num_blocks[chosen]
    for b in range(num_after, num_before):
        close_slot(partition, slots[b])
    for b in range(num_after):
        if b >= num_before:
            slots[b] = open_slot(partition)
        block = particles.blocks[chosen, b]
        copy_row(pool.stats, block, stats, slots[b])
        sizes[slots[b]] = pool.sizes[block]
    for t in range(n - 1, -1, -1):
        labels[sigma[t]] = slots[path[t, chosen] % s]
        chosen = path[t, chosen] // s
    return partition, num_before, num_after
