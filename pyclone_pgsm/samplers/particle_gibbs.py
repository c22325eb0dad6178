"""Particle Gibbs Split-Merge: conditional SMC over the allocations of two anchors' blocks (paper, Algorithms 1-3).

Given anchors s = {i1, i2}, let c_bar be the blocks that hold an anchor and s_bar their union, n = |s_bar|. The
observations of s_bar enter in the order sigma: the anchors first, the others shuffled. A particle is either *merged*
(everything in one block, an absorbing state) or *split*, with each observation in the block of the first or of the
second anchor. Intermediate targets (Sections 3.4 and 3.5), with gamma_t the target of Equation (5) on sigma_1..t:

    plain:     gamma_t
    annealed:  1 for t <= 2;  gamma_2^{zeta_t} gamma_t / gamma_2 for t > 2,  zeta_t = (t - 2)/(n - 2);
               for n = 2 there is no later step and gamma_2 enters the weight whole

All merged particles are the same particle, and copies made by resampling stay equal until they draw differently. So
the kernel keeps *unique* particles with multiplicities and draws a particle's children by a binomial over its
multiplicity; blocks are shared between particles until one of them changes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from pyclone_pgsm.jit.compiling import ALLOCATING, LEAF, inner
from pyclone_pgsm.partition import close_slot, copy_row, fill_block, open_slot, with_free_slots
from pyclone_pgsm.samplers.resampling import (
    BOTH_KINDS,
    OPTIMAL,
    SCHEMES,
    draw_binomial,
    relative_ess,
    resample,
    resample_comb,
    resample_optimal,
)

# The less likely of two choices is left out of their sum when this many nats below: less than its rounding.
NEGLIGIBLE = 60.0
# Share of the weight below which a kind of particle counts as dead.
DEAD = 1e-20
MERGED = 0  # the merged particle is always number 0; split particles follow


class BlockPool(NamedTuple):
    """Blocks of particles, counted by their references. Reused from move to move.

    Attributes
    ----------
    stats : (P, likelihood.stat_size()) float64
    sizes, references : (P,) int64
    free : (P,) int64
        Stack of free blocks; ``free_count[0]`` of them.
    free_count : (1,) int64
    log_join : (P,) float64
        At one step: log weight of y_i joining the block (NaN: not computed yet).
    extended : (P,) int64
        At one step: the block with y_i added (-1: not made yet).
    slots, cuts, values : (P,)
        Arguments and result of the predictives. (Before it is made, ``extended`` says which particle holds a block.)
    """

    stats: np.ndarray
    sizes: np.ndarray
    references: np.ndarray
    free: np.ndarray
    free_count: np.ndarray
    log_join: np.ndarray
    extended: np.ndarray
    slots: np.ndarray
    cuts: np.ndarray
    values: np.ndarray


class Particles(NamedTuple):
    """Unique particles: number 0 is merged, 1 .. num - 1 are split, in the order of their paths.

    Attributes
    ----------
    copies : (R,) int64
        Multiplicities, the conditioned path left out.
    log_w : (R,) float64
        Log weight of one copy.
    blocks : (R, 2) int64
        Of a split particle: where in the pool the anchors' blocks are.
    """

    copies: np.ndarray
    log_w: np.ndarray
    blocks: np.ndarray


@inner(nogil=True)
def make_particles(room):
    return Particles(np.zeros(room, np.int64), np.zeros(room), np.zeros((room, 2), np.int64))


@register_jitable
def make_block_pool(num_particles: int, stat_size: int, num_anchors: int = 2) -> BlockPool:
    """Room for the blocks of `num_particles` particles and their children."""
    size = num_anchors * num_particles + 8
    return BlockPool(
        np.empty((size, stat_size)),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.arange(size),
        np.array([size]),
        np.empty(size),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size),
        np.empty(size),
    )


@inner(**LEAF)
def empty_pool(pool):
    for block in range(len(pool.free)):
        pool.free[block] = block
    pool.free_count[0] = len(pool.free)


@inner(**LEAF)
def take_block(pool):
    pool.free_count[0] -= 1
    block = pool.free[pool.free_count[0]]
    pool.references[block] = 1
    return block


@inner(**LEAF)
def release_block(pool, block):
    pool.references[block] -= 1
    if pool.references[block] == 0:
        pool.free[pool.free_count[0]] = block
        pool.free_count[0] += 1


@inner(**LEAF)
def start_sketch(likelihood, pool, members):
    """A block with these members."""
    block = take_block(pool)
    likelihood.clear_sketch(pool.stats[block])
    for i in members:
        likelihood.add(pool.stats[block], i)
    pool.sizes[block] = len(members)
    return block


@inner(**LEAF)
def predict(likelihood, stats, slots, i, cuts, out):
    """The likelihood's ``log_predictives``, compiled once for all who call it here."""
    likelihood.log_predictives(stats, slots, i, cuts, out)


@inner(**LEAF)
def predict_one(likelihood, pool, block, i):
    """The exact predictive of a block; NaN if that wants more than a sketch."""
    room = len(pool.slots) - 1  # there are fewer blocks
    pool.slots[room] = block
    pool.cuts[room] = -np.inf
    predict(likelihood, pool.stats, pool.slots[room:], i, pool.cuts[room:], pool.values[room:])
    return pool.values[room]


@inner(**ALLOCATING)
def renew_sketch(likelihood, stat, members):
    """Let `stat` be the sketch of the block with these members."""
    likelihood.clear_sketch(stat)
    likelihood.add_many(stat, members)


@inner(**LEAF)
def predict_anew(likelihood, pool, block, members, i):
    """The exact predictive of a block whose sketch could not tell: from a new one or, if need be, a statistic."""
    renew_sketch(likelihood, pool.stats[block], members)
    log_predictive = predict_one(likelihood, pool, block, i)
    if np.isnan(log_predictive):
        fill_block(likelihood, pool.stats[block], members)
        log_predictive = predict_one(likelihood, pool, block, i)
    return log_predictive


@inner(nogil=True)
def sample_permutation(rng, anchors, closure):
    """Algorithm 2: sigma with the anchors, in random order, first and the rest of the closure shuffled."""
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
def closure_of(labels, slot, other_slot, n):
    closure = np.empty(n, np.int64)
    filled = 0
    for i in range(len(labels)):
        if labels[i] == slot or labels[i] == other_slot:
            closure[filled] = i
            filled += 1
    return closure


@inner(**LEAF)
def extend(likelihood, pool, blocks, ancestry, first, num, i):
    """Put observation i into the block that each of the particles ``first .. num - 1`` has chosen.

    In place if no other particle holds the block; made once and shared if others add the same observation.
    """
    pool.extended[:] = -1
    for p in range(first, num):
        choice = ancestry[p] % blocks.shape[1]
        block = blocks[p, choice]
        extended = pool.extended[block]
        if extended >= 0:
            pool.references[extended] += 1
            release_block(pool, block)
        else:
            extended = block
            if pool.references[block] > 1:
                extended = take_block(pool)
                copy_row(pool.stats, block, pool.stats, extended)
                pool.sizes[extended] = pool.sizes[block]
                pool.extended[block] = extended
                release_block(pool, block)
            likelihood.add(pool.stats[extended], i)
            pool.sizes[extended] += 1
        blocks[p, choice] = extended


@inner(nogil=True)
def put_block(likelihood, pool, block, stats, slot, members):
    """Let ``stats[slot]`` be the statistic of a particle's block, which has these members."""
    if likelihood.is_sketch(pool.stats[block]):
        fill_block(likelihood, stats[slot], members)
    else:
        copy_row(pool.stats, block, stats, slot)


@inner(**LEAF)
def members_along(sigma, ancestry, t, p, which, members):
    """Members of the block of either anchor in particle p, after sigma_1 .. sigma_t; returns their number."""
    members[0] = sigma[which]
    count = 1
    for s in range(t - 1, 1, -1):
        if ancestry[s, p] % 2 == which:
            members[count] = sigma[s]
            count += 1
        p = ancestry[s, p] // 2
    return count


@inner(**LEAF)
def attachment(likelihood, log_tau2, pool, blocks, which, num, sigma, ancestry, t, negligible, members):
    """log_join[block] = log tau2(|b| + 1) / tau2(|b|) + log L(y_i | b), once for each block that particles hold.

    ``blocks[1:num, which]`` are the blocks, y_i is that of ``sigma[t]``; values below `negligible` may be anything
    below it. Returns the smallest. `members` is room, (n,).
    """
    count = 0
    for p in range(1, num):
        block = blocks[p, which]
        if np.isnan(pool.log_join[block]):
            pool.log_join[block] = log_tau2[pool.sizes[block] + 1] - log_tau2[pool.sizes[block]]
            pool.slots[count] = block
            pool.extended[block] = p
            pool.cuts[count] = negligible - pool.log_join[block]
            count += 1
    predict(likelihood, pool.stats, pool.slots[:count], sigma[t], pool.cuts, pool.values)
    smallest = np.inf
    for b in range(count):
        block = pool.slots[b]
        if np.isnan(pool.values[b]):
            size = members_along(sigma, ancestry, t, pool.extended[block], which, members)
            pool.values[b] = predict_anew(likelihood, pool, block, members[:size], sigma[t])
        pool.log_join[block] += pool.values[b]
        smallest = min(smallest, pool.log_join[block])
    return smallest


@inner(**LEAF)
def weigh(log_w, copies, reference, first, num, multiplicities, w):
    """Of particles ``first .. num - 1``: multiplicities, the conditioned path included, and weights of one copy.

    The weights are relative to the largest, whose log is returned.
    """
    best = -np.inf
    for p in range(first, num):
        multiplicities[p] = copies[p] + (1 if p == reference else 0)
        if multiplicities[p] > 0:
            best = max(best, log_w[p])
    for p in range(first, num):
        w[p] = math.exp(log_w[p] - best) if multiplicities[p] > 0 else 0.0
    return best


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
def thin_out(rng, log_w, log_split, copies, num, reference):
    """Where one copy stands for all merged particles: let a kind that is dead go, mostly.

    It stays with probability q, the ratio of the kinds' weights over :data:`DEAD`, and its weight is divided by q if
    so: a resampling of whole kinds. The kind of the conditioned path stays.

    Parameters
    ----------
    rng : numpy.random.Generator
    log_w : (P,) float64
    log_split : float
        log of the weight of all split particles.
    copies : (P,) int64
    num, reference : int

    Returns
    -------
    bool
        Whether a kind is dead; ``copies`` and ``log_w`` have changed then.
    """
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
def resample_split(rng, log_w, log_split, w, multiplicities, copies, num, total, reference):
    """Resample `total` split particles, the conditioned one among them if it is split, with equal weights."""
    for p in range(1, num):
        w[p] *= multiplicities[p]
        log_w[p] = log_split - math.log(total)
    resample_comb(rng, w, 1, num, total, reference, True, copies)


@inner(**LEAF)
def draw_particle(rng, log_w, copies, reference, num, multiplicities, w):
    """A particle drawn with probability proportional to its weight."""
    weigh(log_w, copies, reference, 0, num, multiplicities, w)
    total = 0.0
    for p in range(num):
        total += multiplicities[p] * w[p]
        w[p] = total
    u = rng.random() * total
    chosen = 0
    while chosen < num - 1 and w[chosen] <= u:
        chosen += 1
    return chosen


@inner(**LEAF)
def drop_dead(pool, copies, log_w, blocks, ancestry, num, reference):
    """Close the ranks of the split particles after those without copies have gone."""
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
    return alive, new_reference


@inner(**LEAF)
def put_together(partition, slot, other_slot, members):
    """Let all members of two blocks be in the first. Its statistic is another matter."""
    for i in members:
        partition.labels[i] = slot
    partition.sizes[slot] = len(members)
    close_slot(partition, other_slot)


@inner(**LEAF)
def log_add(a, b):
    """log(exp(a) + exp(b)), and the share of exp(a) in the sum."""
    if a >= b:
        ratio = math.exp(b - a)
        return a + math.log1p(ratio), 1.0 / (1.0 + ratio)
    ratio = math.exp(a - b)
    return b + math.log1p(ratio), ratio / (1.0 + ratio)


@inner(**LEAF)
def conditional_smc(
    likelihood,
    log_tau2,
    labels,
    first_slot,
    sigma,
    num_particles,
    threshold,
    scheme,
    one_merged,
    anneal_merged,
    anneal_split,
    pool,
    merged,
    particles,
    children,
    ancestry,
    num,
    reference,
    multiplicities,
    w,
    members,
    rng,
):
    """Algorithm 3 from t = 3 on: a path given the conditioned one.

    Parameters
    ----------
    likelihood : NamedTuple
    log_tau2 : (T + 1,) float64
    labels : (T,) int32
        The conditioned path: its split particle puts y_i into the first block where the label is `first_slot`.
    first_slot : int
    sigma : (n,) int64
    num_particles, threshold, scheme
        See :func:`split_merge`.
    one_merged : bool or None
        Whether one copy stands for all merged particles; None: no, and the code for it is not compiled.
    anneal_merged, anneal_split : float
        log gamma_2 of either kind over n - 2; 0 for plain targets.
    pool : BlockPool
    merged : int
        The merged particle's block in the pool.
    particles, children : Particles
        Those at t = 2, `num` of them; and room for as many.
    ancestry : (n, R) int16
        Result: parent and choice of each split particle at each step, 2 parent + choice.
    num, reference : int
        `reference` is the particle that the conditioned path belongs to.
    multiplicities, w, members : (R,) int64, (R,) float64, (n,) int64
        Room.
    rng : numpy.random.Generator

    Returns
    -------
    chosen, first, second : int
        The particle drawn at the end, and its blocks.
    """
    copies, log_w, blocks = particles
    new_copies, new_log_w, new_blocks = children
    num_free = num_particles - 1
    for t in range(2, len(sigma)):
        i = sigma[t]

        # resample if the weights are too uneven
        changed = False
        if one_merged is not None and one_merged:
            log_split = weigh(log_w, copies, reference, 1, num, multiplicities, w)
            weight = 0.0
            for p in range(1, num):
                weight += multiplicities[p] * w[p]
            log_split += math.log(weight)
            if threshold > 0.0 and (copies[MERGED] > 0 or reference == MERGED):
                changed = thin_out(rng, log_w, log_split, copies, num, reference)
            if not changed and scheme == BOTH_KINDS and relative_ess(w, multiplicities, 1, num) < threshold:
                resample_split(rng, log_w, log_split, w, multiplicities, copies, num, num_free, reference)
                changed = True
        else:
            weigh(log_w, copies, reference, 0, num, multiplicities, w)
            changed = relative_ess(w, multiplicities, 0, num) < threshold
            if changed or (threshold > 0.0 and one_kind_is_dead(w, multiplicities, num)):
                for p in range(num):
                    w[p] *= multiplicities[p]
                resample(rng, scheme, w, num, num_particles, reference, copies)
                for p in range(num):
                    log_w[p] = 0.0
                changed = True
        if changed:
            num, reference = drop_dead(pool, copies, log_w, blocks, ancestry[t - 1], num, reference)
        if num == 1:
            break  # every particle is merged, and so is the result

        # propose: the merged particle has one child
        pool.log_join[:] = np.nan
        if copies[MERGED] > 0 or reference == MERGED:
            log_predictive = predict_one(likelihood, pool, merged, i)
            if np.isnan(log_predictive):
                log_predictive = predict_anew(likelihood, pool, merged, sigma[:t], i)
            log_w[MERGED] += anneal_merged + log_tau2[t + 1] - log_tau2[t] + log_predictive
            likelihood.add(pool.stats[merged], i)
        new_copies[MERGED] = copies[MERGED]
        new_log_w[MERGED] = log_w[MERGED]

        # ... and each split particle one or two; the block that the conditioned path joins is the likely one
        reference_choice = 0 if labels[i] == first_slot else 1
        likely = reference_choice
        least = attachment(
            likelihood, log_tau2, pool, blocks, likely, num, sigma, ancestry, t, -np.inf, members
        )
        negligible = -np.inf if scheme == OPTIMAL else least - NEGLIGIBLE
        attachment(
            likelihood, log_tau2, pool, blocks, 1 - likely, num, sigma, ancestry, t, negligible, members
        )
        new_num = np.int64(1)
        new_reference = np.int64(MERGED)
        for p in range(1, num):
            log_likely = pool.log_join[blocks[p, likely]]
            log_other = pool.log_join[blocks[p, 1 - likely]]
            log_sum, p_likely = log_add(log_likely, log_other)
            joining = draw_binomial(rng, copies[p], p_likely) if scheme != OPTIMAL else 0
            for choice in range(2):
                on_path = p == reference and choice == reference_choice
                log_step = log_sum
                if scheme == OPTIMAL:
                    count = 0 if on_path else 1
                    log_step = log_likely if choice == likely else log_other
                else:
                    count = joining if choice == likely else copies[p] - joining
                if count == 0 and not on_path:
                    continue
                new_copies[new_num] = count
                new_log_w[new_num] = log_w[p] + anneal_split + log_step
                new_blocks[new_num, 0] = blocks[p, 0]
                new_blocks[new_num, 1] = blocks[p, 1]
                pool.references[blocks[p, 0]] += 1
                pool.references[blocks[p, 1]] += 1
                ancestry[t, new_num] = 2 * p + choice
                if on_path:
                    new_reference = new_num
                new_num += 1
        for p in range(1, num):
            release_block(pool, blocks[p, 0])
            release_block(pool, blocks[p, 1])
        if (
            one_merged is not None
            and scheme == OPTIMAL
            and new_num - 1 + new_copies[MERGED] + (new_reference == MERGED) > num_particles
        ):
            resample_optimal(
                rng, new_log_w, w, new_num, num_particles, new_reference, new_copies, multiplicities
            )
            new_num, new_reference = drop_dead(
                pool, new_copies, new_log_w, new_blocks, ancestry[t], new_num, new_reference
            )
        extend(likelihood, pool, new_blocks, ancestry[t], 1, new_num, i)

        copies, new_copies = new_copies, copies
        log_w, new_log_w = new_log_w, log_w
        blocks, new_blocks = new_blocks, blocks
        reference = new_reference
        num = new_num

    chosen = MERGED
    if num > 1:
        chosen = draw_particle(rng, log_w, copies, reference, num, multiplicities, w)
    return chosen, blocks[chosen, 0], blocks[chosen, 1]


def has_one_merged(scheme: str) -> bool | None:
    """The argument `one_merged` of :func:`split_merge` for a scheme: True or None."""
    return True if SCHEMES.index(scheme) in (OPTIMAL, BOTH_KINDS) else None


def split_merge(
    likelihood, prior, partition, anchors, num_particles, threshold, annealed, scheme, one_merged, pool, rng
):
    """Algorithm 1 with the particle Gibbs kernel of Algorithm 3.

    Parameters
    ----------
    likelihood : NamedTuple
        See :mod:`pyclone_pgsm.likelihoods.contract`.
    prior : PartitionPrior
        ``log_tau1`` may be -inf from some number of blocks on. From a partition with more blocks than that, moves
        merge.
    partition : Partition
        Changed in place; do not use it afterwards.
    anchors : (2,) int64
        Two different observations, drawn without a look at the partition.
    num_particles : int
        N, from 2 to 10,000.
    threshold : float
        Resample where the relative effective sample size falls below it: 0 never, above 1 always. (Unless it is 0,
        also where all copies of one kind, merged or split, have lost their weight.)
    annealed : bool
        Annealed or plain intermediate targets.
    scheme : int
        How particles are resampled: position in :data:`~pyclone_pgsm.samplers.resampling.SCHEMES`.
    one_merged : bool or None
        Whether one copy stands for all merged particles, as with the last two schemes; None: no, and the code for them
        is not compiled. See :func:`has_one_merged`.
    pool : BlockPool
        From :func:`make_block_pool` for at least `num_particles`.
    rng : numpy.random.Generator

    Returns
    -------
    partition : Partition
    num_blocks_before, num_blocks_after : int
        Blocks among the anchors' (1 or 2).
    """
    if one_merged is None and scheme in (OPTIMAL, BOTH_KINDS):
        raise ValueError("this scheme wants one_merged to be True")
    partition = with_free_slots(partition, 1)
    labels, sizes, stats = partition.labels, partition.sizes, partition.stats
    slot = np.int64(labels[anchors[0]])
    other_slot = np.int64(labels[anchors[1]])
    together = slot == other_slot
    n = sizes[slot] if together else sizes[slot] + sizes[other_slot]
    num_others = partition.counter[0] - (1 if together else 2)
    closure = closure_of(labels, slot, other_slot, n)
    if prior.log_tau1[num_others + 2] == -np.inf:
        if not together:
            fill_block(likelihood, stats[slot], closure)
            put_together(partition, slot, other_slot, closure)
        return partition, 1 if together else 2, 1
    sigma = sample_permutation(rng, anchors, closure)
    first_slot = np.int64(labels[sigma[0]])

    log_tau2 = prior.log_tau2
    num_free = num_particles - 1  # the conditioned path is kept apart

    room = (2 * num_particles if scheme == OPTIMAL else num_particles) + 2
    particles = make_particles(room)
    copies, log_w, blocks = particles
    # parent and choice of each split particle at each step, to trace the chosen path back: 2 parent + choice
    ancestry = np.empty((n, room), np.int16)

    # t = 1, 2: the anchors
    empty_pool(pool)
    first = start_sketch(likelihood, pool, sigma[:1])
    second = start_sketch(likelihood, pool, sigma[1:2])
    merged = start_sketch(likelihood, pool, sigma[:2])
    log_predictive = predict_one(likelihood, pool, first, sigma[1])
    if np.isnan(log_predictive):
        log_predictive = predict_anew(likelihood, pool, first, sigma[:1], sigma[1])
    log_gamma2_merged = (
        prior.log_tau1[num_others + 1]
        + log_tau2[2]
        + likelihood.log_prior_predictive(sigma[0])
        + log_predictive
    )
    log_gamma2_split = (
        prior.log_tau1[num_others + 2]
        + 2.0 * log_tau2[1]
        + likelihood.log_prior_predictive(sigma[0])
        + likelihood.log_prior_predictive(sigma[1])
    )
    best = max(log_gamma2_merged, log_gamma2_split)
    log_gamma2_merged -= best
    log_gamma2_split -= best
    if annealed:
        p_merged = 0.5
        anneal_merged = log_gamma2_merged / max(n - 2, 1)
        anneal_split = log_gamma2_split / max(n - 2, 1)
    else:
        p_merged = math.exp(log_gamma2_merged) / (math.exp(log_gamma2_merged) + math.exp(log_gamma2_split))
        anneal_merged = 0.0
        anneal_split = 0.0
    reference = np.int64(MERGED if together else 1)  # the particle that the conditioned path belongs to
    if one_merged is not None and one_merged:
        copies[MERGED] = 0 if together else 1
        copies[1] = 1 - copies[MERGED] if scheme == OPTIMAL else num_free - copies[MERGED]
        if not annealed:
            log_w[MERGED] = log_gamma2_merged
            log_w[1] = log_gamma2_split
        log_w[1] -= math.log(copies[1] + reference)
    else:
        copies[MERGED] = draw_binomial(rng, num_free, p_merged)
        copies[1] = num_free - copies[MERGED]
    blocks[1, 0] = first
    blocks[1, 1] = second
    num = np.int64(2)
    if copies[1] == 0 and together:
        num = np.int64(1)
    if annealed and n == 2:
        log_w[MERGED] += anneal_merged
        log_w[1] += anneal_split

    chosen, first, second = conditional_smc(
        likelihood,
        log_tau2,
        labels,
        first_slot,
        sigma,
        num_particles,
        threshold,
        scheme,
        one_merged,
        anneal_merged,
        anneal_split,
        pool,
        merged,
        particles,
        make_particles(room),
        ancestry,
        num,
        reference,
        np.zeros(room, np.int64),
        np.zeros(room),
        closure,
        rng,
    )

    # put it into the partition
    if chosen == MERGED:
        if not together:
            put_block(likelihood, pool, merged, stats, slot, sigma)
            put_together(partition, slot, other_slot, sigma)
        return partition, 1 if together else 2, 1
    second_slot = open_slot(partition) if together else np.int64(labels[sigma[1]])
    sizes[first_slot] = pool.sizes[first]
    sizes[second_slot] = pool.sizes[second]
    first_members = np.empty(pool.sizes[first], np.int64)
    second_members = np.empty(pool.sizes[second], np.int64)
    num_first = num_second = moved = 0
    for t in range(n - 1, -1, -1):
        i = sigma[t]
        in_first = t == 0
        if t > 1:
            in_first = ancestry[t, chosen] % 2 == 0
            chosen = ancestry[t, chosen] // 2
        if in_first:
            first_members[num_first] = i
            num_first += 1
        else:
            second_members[num_second] = i
            num_second += 1
        before = labels[i]
        labels[i] = first_slot if in_first else second_slot
        moved += labels[i] != before
    if moved > 0:
        put_block(likelihood, pool, first, stats, first_slot, first_members)
        put_block(likelihood, pool, second, stats, second_slot, second_members)
    return partition, 1 if together else 2, 2
