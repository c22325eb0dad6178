"""Algorithm 3 of the paper: conditional sequential Monte Carlo over the allocations of the closure of some anchors.

The n observations in the blocks of the anchors i1 .. is, their closure, are allocated anew to 1 to s blocks, each with
an anchor. They enter in the order sigma (Algorithm 2), the anchors first. At t <= s an observation joins a block of the
particle or opens a new one, unless the prior rules out that many blocks; at t > s it joins a block. One of the N
particles is conditioned on: it follows the current partition. With gamma_t the target of Equation (5) on sigma_1 ..
sigma_t, the intermediate targets (Sections 3.3 and 3.4; Appendix D for more than two anchors) are:

    plain:     gamma_t
    annealed:  1 for t <= s;  gamma_s^{zeta_t} gamma_t / gamma_s for t > s,  zeta_t = (t - s)/(n - s);
               for n = s there is no later step, and all of gamma_s enters the weight

The paper's states for two anchors: the first is in state #1; then a particle is *merged*, in state #2 throughout, or
*split*, in state #3 where an observation joins the block of the first anchor and #4 where it joins the other.

Copies of a particle made by resampling stay identical until they draw differently. The kernel therefore keeps *unique*
particles with multiplicities, in the order of their paths, and draws how many of the copies make each choice. Particles
share a block until one of them changes it (:mod:`~pyclone_pgsm.samplers.particle_blocks`).
"""

import math
from typing import NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import copy_row
from pyclone_pgsm.samplers.particle_blocks import (
    compute_log_joins,
    empty_pool,
    extend,
    release_block,
    request_log_join,
    start_block,
)
from pyclone_pgsm.samplers.particles import (
    Particles,
    Weights,
    draw_particle,
    make_particles,
    resample_if_uneven,
    with_number,
)
from pyclone_pgsm.samplers.resampling import BOTH_KINDS, OPTIMAL, resample_multinomial

NONE = -1  # no block to open, or no particle drawn
# After the anchors a choice this many nats less likely than another need not be accurate: it is lost in rounding.
NEGLIGIBLE = 60.0


class Path(NamedTuple):
    """Allocations of the closure of the anchors, which the kernel is conditioned on and which it returns.

    The bijection phi is :func:`~.split_merge.put_path`, its inverse :func:`~.split_merge.path_of`.

    Attributes
    ----------
    sigma : (n,) int64
        The observations in the order in which they enter.
    choices : (n,) int8
        The block that each one is in. Blocks are numbered in the order in which they are opened.
    """

    sigma: np.ndarray
    choices: np.ndarray


class Targets(NamedTuple):
    """How the prior and annealing enter the intermediate targets.

    Attributes
    ----------
    log_tau2 : (T + 1,) float64
    log_open : (s,) float64
        log tau1(k' + k + 1) / tau1(k' + k) of opening a block besides k = 1 .. s - 1 others of the particle and k'
        blocks without an anchor; -inf where the prior rules it out. (Entry 0 is not used.)
    annealed : bool
    rate : float
        zeta_t - zeta_{t-1} = 1 / (n - s) for t > s.
    """

    log_tau2: np.ndarray
    log_open: np.ndarray
    annealed: bool
    rate: float


class Choices(NamedTuple):
    """Workspace for the choices of one particle: its blocks, which the observation may join, and at last a new one.

    Attributes
    ----------
    log_step : (s,) float64
        What each choice adds to the log weight.
    log_gamma : (s,) float64
        ``Particles.log_gamma`` after each choice.
    p : (s,) float64
        Workspace for the probabilities of the choices.
    copies : (s,) int64
        How many copies of the particle make each choice.
    """

    log_step: np.ndarray
    log_gamma: np.ndarray
    p: np.ndarray
    copies: np.ndarray


class Workspace(NamedTuple):
    """Arrays for a run of the algorithm.

    Attributes
    ----------
    particles, children : Particles
    choices : Choices
    weights : Weights
    ancestry : (n, N) int32
        ``Particles.origin`` after resampling at each step, from which the path of the drawn particle is traced.
    """

    particles: Particles
    children: Particles
    choices: Choices
    weights: Weights
    ancestry: np.ndarray


@inner(**LEAF)
def contains(values, value):
    found = False
    for other in values:
        found |= other == value
    return found


@inner(**LEAF)
def shuffle(rng, values, first, last):
    """Put ``values[first:last]`` into a random order."""
    for t in range(last - 1, first, -1):
        other = first + int(rng.random() * (t - first + 1))
        values[t], values[other] = values[other], values[t]


@inner(nogil=True)
def sample_permutation(rng, anchors, closure):
    """Algorithm 2: draw sigma, which starts with the anchors in random order, followed by the shuffled others."""
    s = len(anchors)
    sigma = np.empty(len(closure), np.int64)
    n = 0
    for i in anchors:
        sigma[n] = i
        n += 1
    for i in closure:
        if not contains(anchors, i):
            sigma[n] = i
            n += 1
    shuffle(rng, sigma, 0, s)
    shuffle(rng, sigma, s, n)
    return sigma


@inner(nogil=True)
def conditional_smc(likelihood, prior, num_others, path, num_anchors, settings, pool, rng):
    """Algorithm 3: draw new allocations of the closure given the current ones.

    Parameters
    ----------
    num_others : int
        k', the number of blocks without an anchor.
    path : Path
        The current allocations.
    num_anchors : int
        s.

    Returns
    -------
    path : Path
        The new allocations.
    blocks : (s,) int64
        Positions of its blocks in the pool. They are not set if nothing had to be drawn (:func:`run_particles`).
    """
    n, s = len(path.sigma), num_anchors
    size = 2 + settings.num_particles * (s if settings.scheme == OPTIMAL else 1)
    workspace = Workspace(
        make_particles(size, s),
        make_particles(size, s),
        Choices(np.empty(s), np.empty(s), np.empty(s), np.empty(s, np.int64)),
        Weights(np.zeros(size, np.int64), np.zeros(size)),
        np.empty((n, settings.num_particles), np.int32),
    )
    targets = make_targets(prior, num_others, n, s, settings.annealed)
    blocks = np.zeros(s, np.int64)
    chosen = run_particles(likelihood, targets, path, settings, workspace, pool, blocks, rng)
    return trace_path(path.sigma, workspace.ancestry, s, chosen), blocks


@inner(**LEAF)
def run_particles(likelihood, targets, path, settings, workspace, pool, blocks, rng):
    """Run the steps of Algorithm 3; return the particle that is drawn at the end, and its `blocks`.

    If all particles are merged, as the closure then is already, nothing needs to be drawn, and NONE is returned. No
    array is created or returned here, so that compiled code need not count references to arrays.
    """
    particles, children, choices, weights, ancestry = workspace
    n, s = len(path.sigma), len(targets.log_open)
    particles = initialise(likelihood, settings, particles, pool, path.sigma)
    for t in range(1, n):
        i = path.sigma[t]
        opened = start_block(likelihood, pool, path.sigma[:0]) if t < s else NONE
        predict_joins(likelihood, targets, settings, particles, path.choices[t], opened, pool, i)
        proposed = propose(
            rng, targets, settings, particles, path.choices[t], opened, children, choices, pool
        )
        proposed = resample_if_uneven(rng, settings, proposed, t == n - 1, weights, pool)
        if proposed.num == 1 and proposed.num_blocks[0] == 1 and t >= s - 1:
            return NONE
        extend(likelihood, pool, proposed.blocks, proposed.origin, proposed.num, i)
        if opened != NONE:
            release_block(pool, opened)
        for p in range(proposed.num):
            ancestry[t, p] = proposed.origin[p]
        particles, children = proposed, particles
    if targets.annealed and n == s:
        for p in range(particles.num):
            particles.log_w[p] += particles.log_gamma[p]
    chosen = draw_particle(rng, particles, weights)
    for b in range(particles.num_blocks[chosen]):
        blocks[b] = particles.blocks[chosen, b]
    return chosen


@inner(nogil=True)
def make_targets(prior, num_others, n, num_anchors, annealed):
    """Return how the prior (Equation 5) and annealing (Section 3.4) enter the weights."""
    log_open = np.zeros(num_anchors)
    for k in range(1, num_anchors):
        log_tau1 = prior.log_tau1[num_others + k + 1]
        log_open[k] = log_tau1 - prior.log_tau1[num_others + k] if log_tau1 > -np.inf else -np.inf
    return Targets(prior.log_tau2, log_open, annealed, 1.0 / max(n - num_anchors, 1))


@inner(**LEAF)
def initialise(likelihood, settings, particles, pool, sigma):
    """Return the particles at t = 1: all the same, with the first anchor in a block of its own."""
    empty_pool(pool)
    particles.free_copies[0] = settings.num_particles - 1
    particles.num_blocks[0] = 1
    particles.blocks[0, 0] = start_block(likelihood, pool, sigma[:1])
    return with_number(particles, 1, 0)


@inner(**LEAF)
def predict_joins(likelihood, targets, settings, particles, likely, opened, pool, i):
    """Compute ``pool.log_join`` of all blocks of all particles: log of gamma_t / gamma_{t-1} of Section 3.3.

    The block that the conditioned path joins, number `likely`, is taken as the likely one of each particle. After the
    anchors, values of other blocks that are negligible beside it need not be accurate.
    """
    pool.log_join[:] = np.nan
    count = 0
    for p in range(particles.num):
        block = particles.blocks[p, min(likely, particles.num_blocks[p] - 1)]
        count = request_log_join(pool, targets.log_tau2, block, count, -np.inf)
    least = compute_log_joins(likelihood, pool, count, i)
    negligible = -np.inf if opened != NONE or settings.scheme == OPTIMAL else least - NEGLIGIBLE
    count = 0
    for p in range(particles.num):
        for b in range(particles.num_blocks[p]):
            count = request_log_join(pool, targets.log_tau2, particles.blocks[p, b], count, negligible)
    compute_log_joins(likelihood, pool, count, i)
    if opened != NONE:
        pool.log_join[opened] = targets.log_tau2[1] + likelihood.log_prior_predictive(i)


@inner(**LEAF)
def weigh_choices(targets, particles, p, opened, choices, pool):
    """Compute ``log_step`` and ``log_gamma`` of each choice of particle p; return the number of choices."""
    k = particles.num_blocks[p]
    num = k + 1 if opened != NONE and targets.log_open[k] > -np.inf else k
    for choice in range(num):
        if choice < k:
            log_step = pool.log_join[particles.blocks[p, choice]]
        else:
            log_step = pool.log_join[opened] + targets.log_open[k]
        log_gamma = particles.log_gamma[p]
        if targets.annealed and opened != NONE:
            log_gamma += log_step
            log_step = 0.0
        elif targets.annealed:
            log_step += targets.rate * log_gamma
        choices.log_step[choice] = log_step
        choices.log_gamma[choice] = log_gamma
    return num


@inner(**LEAF)
def draw_choices(rng, scheme, free_copies, kept, opened, num, choices):
    """Draw how many of the free copies of a particle make each choice, and set ``log_step`` to what each copy gets.

    Each copy makes a choice with the probability that the proposal gives it, and its weight is the sum over all
    choices. The optimal scheme makes each choice once instead, with its own weight. So does the scheme "both-kinds"
    when the second anchor enters, except that all other copies are split and share the weight. The conditioned path
    makes the choice `kept` in addition (NONE: it belongs to another particle).
    """
    log_step, _, p, copies = choices
    if scheme == OPTIMAL or (scheme == BOTH_KINDS and opened != NONE):
        for choice in range(num):
            copies[choice] = 0 if choice == kept else 1
        if scheme == BOTH_KINDS and num == 2:
            copies[1] = free_copies - copies[0]
            log_step[1] -= math.log(copies[1] + (kept == 1))
        return
    if num == 1:
        copies[0] = free_copies
        return
    best = -np.inf
    for choice in range(num):
        best = max(best, log_step[choice])
    total = 0.0
    for choice in range(num):
        p[choice] = math.exp(log_step[choice] - best)
        total += p[choice]
    log_sum = best + math.log(total)
    for choice in range(num):
        log_step[choice] = log_sum
    resample_multinomial(rng, p, num, free_copies, copies)


@inner(**LEAF)
def propose(rng, targets, settings, particles, likely, opened, children, choices, pool):
    """Make the children of all particles: their copies, their weights, and their blocks before these are extended.

    Parameters
    ----------
    particles : Particles
        Their blocks are released.
    likely : int
        The choice of the conditioned path.
    opened : int
        An empty block of the pool, which particles may open; NONE after the anchors.
    children : Particles
        Receives the children, and is returned with their number.
    """
    new_num = np.int64(0)
    new_reference = np.int64(0)
    for p in range(particles.num):
        kept = likely if p == particles.reference else NONE
        num = weigh_choices(targets, particles, p, opened, choices, pool)
        draw_choices(rng, settings.scheme, particles.free_copies[p], kept, opened, num, choices)
        for choice in range(num):
            if choices.copies[choice] == 0 and choice != kept:
                continue
            children.free_copies[new_num] = choices.copies[choice]
            children.log_w[new_num] = particles.log_w[p] + choices.log_step[choice]
            children.log_gamma[new_num] = choices.log_gamma[choice]
            give_blocks(particles, p, choice, opened, pool, children, new_num)
            if choice == kept:
                new_reference = new_num
            new_num += 1
    for p in range(particles.num):
        for b in range(particles.num_blocks[p]):
            release_block(pool, particles.blocks[p, b])
    return with_number(children, new_num, new_reference)


@inner(**LEAF)
def give_blocks(particles, p, choice, opened, pool, children, child):
    """Give a child the blocks of its parent p, and the block that is opened if that is its choice."""
    k = particles.num_blocks[p]
    children.num_blocks[child] = k
    children.origin[child] = particles.blocks.shape[1] * p + choice
    copy_row(particles.blocks, p, children.blocks, child)
    if choice == k:
        children.blocks[child, k] = opened
        children.num_blocks[child] = k + 1
    for b in range(children.num_blocks[child]):
        pool.references[children.blocks[child, b]] += 1


@inner(nogil=True)
def trace_path(sigma, ancestry, num_anchors, chosen):
    """Return the allocations of the particle `chosen` at the end; all in one block if it is NONE."""
    choices = np.zeros(len(sigma), np.int8)
    if chosen != NONE:
        for t in range(len(sigma) - 1, 0, -1):
            choices[t] = ancestry[t, chosen] % num_anchors
            chosen = ancestry[t, chosen] // num_anchors
    return Path(sigma, choices)
