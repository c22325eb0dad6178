"""Exchange: members of two overlapping clusters are reallocated all at once.

Given the allocation of all members, the sizes and prevalences of two overlapping clusters are nearly fixed, so they
change little in each Gibbs sweep. Here they are drawn with the allocations summed out (Celeux, Hurn and Robert 2000).
If tau2(n) ∝ Gamma(n + delta), as in the Dirichlet process (delta = 0), the Pitman-Yor process and the finite mixture,

    tau2(|a|) tau2(|b|) ∝ integral of w^(|a| + delta - 1) (1 - w)^(|b| + delta - 1) over the share w of block a.

With an anchor i kept in block a and another j in block b, the share and the prevalences phi of the blocks have, given
the union of the blocks and all other blocks, the density

    p(w, phi_a, phi_b) ∝ (w (1 - w))^delta h(phi_a) h(phi_b) L(y_i | phi_a) L(y_j | phi_b)
                         prod over the other members k of [w L(y_k | phi_a) + (1 - w) L(y_k | phi_b)].

where h(phi) is the base measure. A move draws w ~ Beta(|a| + delta, |b| + delta) and phi, independent of each other
given the present allocation, makes Metropolis steps for this density, and draws the allocation given the new w and phi.
Each step draws at random which kind of change it proposes, and each kind is reversible. So any number of steps is, and
a move may be given up for any condition on w and phi that is applied to its start and to its end alike. With a fixed
order of the kinds it might not.

Block a is drawn uniformly, i uniformly from its members, and j as :func:`~.close_blocks.anchor_in_close_block` does. As
these anchors depend on the partition, the new allocation is accepted with the ratio of their probabilities h(i, j | c).

Shapes: D samples, n other members.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import ALLOCATING, LEAF, inner
from pyclone_pgsm.likelihoods.pyclone.prevalences import draw_point
from pyclone_pgsm.partition import copy_row
from pyclone_pgsm.samplers.close_blocks import (
    anchor_in_close_block,
    anchor_in_random_block,
    log_anchor_probability,
)
from pyclone_pgsm.samplers.split_proposals import list_closure, make_workspace

STEPS = 100  # Metropolis steps of a move
LEAST_MEMBERS = 500  # smaller pairs are left alone: Gibbs sweeps do as well there in the same time
MOST_MEMBERS = 50_000  # and so are larger ones: a step takes time in proportion to their members
NUM_TESTED = 64  # members that tell whether two blocks overlap
LEAST_MISSING = 0.2  # two blocks are separate if less of the information on their shares is missing
NOISE = 0.25  # scale, in grid points, of the logistic noise of prevalences that move with the share
SMALLEST_TOTAL = 1e-200  # a pair is left alone, and a proposal rejected, if any member has a smaller total
SMALLEST_SHARE = 1e-300  # likewise for the share of the first block


class Pair(NamedTuple):
    """Two blocks.

    Attributes
    ----------
    slots : (2,) int64
    anchors : (2,) int64
        One member of each, which stays there.
    members : (n,) int64
        All others, in an order that does not depend on their allocation.
    """

    slots: np.ndarray
    anchors: np.ndarray
    members: np.ndarray


class Mixture(NamedTuple):
    """The two blocks as a mixture of two components.

    Attributes
    ----------
    share : (1,) float64
        w.
    points : (2, D) int64
        The prevalences phi, as grid points.
    factors : (2, D, n) float64
        L(y_kd | phi) of each component, sample and member.
    totals : (n,) float64
        w L(y_k | phi_a) + (1 - w) L(y_k | phi_b).
    """

    share: np.ndarray
    points: np.ndarray
    factors: np.ndarray
    totals: np.ndarray


@inner(nogil=True)
def draw_pair(likelihood, partition, work, rng):
    """Draw anchors in two close blocks.

    The pair has no members if there is no second block, or if it has too few or too many members.
    """
    first = anchor_in_random_block(partition, rng)
    anchors = np.array([first, anchor_in_close_block(likelihood, partition, first, work, rng)])
    slots = np.array([np.int64(partition.labels[anchors[0]]), np.int64(partition.labels[anchors[1]])])
    n = 2 if slots[0] == slots[1] else list_closure(partition.labels, anchors, work.sigma)
    if not LEAST_MEMBERS <= n - 2 <= MOST_MEMBERS:
        n = 2
    return Pair(slots, anchors, work.sigma[2:n])


@inner(**LEAF)
def fill_factors(likelihood, members, d, point, factors):
    """Compute L(y_kd | phi) of the members at one grid point, relative to its largest value on the grid."""
    for k in range(len(members)):
        row = likelihood.index[members[k], d]
        factors[k] = likelihood.likelihood[row, point] if row >= 0 else 1.0


@inner(**LEAF, error_model="numpy")
def fill_totals(share, factors, totals):
    """Compute the totals of :class:`Mixture`."""
    D, n = factors.shape[1:]
    for k in range(n):
        first = share
        second = 1.0 - share
        for d in range(D):
            first *= factors[0, d, k]
            second *= factors[1, d, k]
        totals[k] = first + second


@inner(nogil=True)
def make_mixture(likelihood, share, points, members):
    """Compute the factors and totals of these members."""
    D = points.shape[1]
    factors = np.empty((2, D, len(members)))
    for s in range(2):
        for d in range(D):
            fill_factors(likelihood, members, d, points[s, d], factors[s, d])
    totals = np.empty(len(members))
    fill_totals(share, factors, totals)
    return Mixture(np.array([share]), points.copy(), factors, totals)


@inner(**LEAF)
def component(mixture, s, k):
    """Return the term of component s in the total of member k."""
    term = mixture.share[0] if s == 0 else 1.0 - mixture.share[0]
    for d in range(mixture.factors.shape[1]):
        term *= mixture.factors[s, d, k]
    return term


@inner(nogil=True)
def is_separate(likelihood, share, points, tested):
    """Whether the blocks overlap so little, judged by the members that are tested, that a move is no use.

    If allocations were known, n members would tell the log odds of the share with the information n w (1 - w). Of this
    the sum of p (1 - p) is missing, where p is the probability that a member is in the first block; the missing part is
    the autocorrelation of the share in Gibbs sweeps. Members without data, like outliers, do not count: they fit both
    blocks, however far apart.
    """
    mixture = make_mixture(likelihood, share, points, tested)
    missing = 0.0
    for k in range(len(tested)):
        total = mixture.totals[k]
        if total > SMALLEST_TOTAL and likelihood.index[tested[k]].max() >= 0:
            missing += (component(mixture, 0, k) / total) * (component(mixture, 1, k) / total)
    return missing < LEAST_MISSING * len(tested) * share * (1.0 - share)


@inner(**LEAF)
def log_uniform(lowest, highest, rng):
    """Draw a number whose logarithm is uniform."""
    return lowest * (highest / lowest) ** rng.random()


@inner(**LEAF)
def is_possible(share):
    return SMALLEST_SHARE < share < 1.0


@inner(**LEAF)
def log_ratio_of_point(likelihood, anchor, d, old, new):
    """Return the change in log density from the base measure and the anchor if one prevalence changes."""
    log_ratio = likelihood.log_base[d, new] - likelihood.log_base[d, old]
    row = likelihood.index[anchor, d]
    if row >= 0:
        log_ratio += likelihood.xi[row, new] - likelihood.xi[row, old]
    return log_ratio


@inner(**LEAF)
def shifted_points(points, d, share, new_share):
    """Return grid points, not rounded, that have the same mean and variance over both blocks with another share.

    They are those of sample d; the mean and the variance are weighted by the shares of the blocks.
    """
    first, second = float(points[0, d]), float(points[1, d])
    mean = share * first + (1.0 - share) * second
    difference = (first - second) * math.sqrt(share / new_share * (1.0 - share) / (1.0 - new_share))
    return mean + (1.0 - new_share) * difference, mean - new_share * difference


@inner(**LEAF)
def log_probability_of_noise(point, centre):
    """Return the log of the probability that logistic noise around `centre` is rounded to this point."""
    lower = (abs(point - centre) - 0.5) / NOISE
    upper = lower + 1.0 / NOISE
    log_difference = math.log1p(-math.exp(lower - upper)) - lower  # of exp(-lower) and exp(-upper)
    return log_difference - math.log1p(math.exp(-lower)) - math.log1p(math.exp(-upper))


@inner(**LEAF)
def propose_share(mixture, proposed, delta, rng):
    """Propose w on the scale of its log odds; return the log ratio of the density's factors that are not totals."""
    w, n = mixture.share[0], len(mixture.totals)
    step = log_uniform(4.0 / math.sqrt(n + 1.0), 2.0, rng) * rng.normal()
    odds = w / (1.0 - w) * math.exp(step)
    new = odds / (1.0 + odds)
    if not is_possible(new):
        return -np.inf
    proposed.share[0] = new
    return (1.0 + delta) * math.log(new / w * (1.0 - new) / (1.0 - w))


@inner(**LEAF)
def shift_points(likelihood, pair, mixture, proposed, rng):
    """Propose all prevalences given the proposed share; return their part of the log acceptance ratio, without totals.

    The data determine the mean and the variance of the grid points over both blocks much better than the share. The
    proposal keeps these two, up to rounding and a little noise.
    """
    D, G = likelihood.log_base.shape
    w, new_w = mixture.share[0], proposed.share[0]
    log_ratio = 0.0
    for d in range(D):
        centres = shifted_points(mixture.points, d, w, new_w)
        for s in range(2):
            new = round(rng.logistic(centres[s], NOISE))
            if not 0 <= new < G:
                return -np.inf
            proposed.points[s, d] = new
        back = shifted_points(proposed.points, d, new_w, w)
        for s in range(2):
            old, new = mixture.points[s, d], proposed.points[s, d]
            log_ratio += log_ratio_of_point(likelihood, pair.anchors[s], d, old, new)
            log_ratio += log_probability_of_noise(old, back[s]) - log_probability_of_noise(new, centres[s])
            if new != old:
                fill_factors(likelihood, pair.members, d, new, proposed.factors[s, d])
    return log_ratio


@inner(**LEAF)
def propose_points(likelihood, pair, mixture, proposed, d, rng):
    """Propose both prevalences in sample d; return the log ratio of the density's factors that are not totals."""
    G = likelihood.xi.shape[1]
    log_ratio = 0.0
    for s in range(2):
        old = mixture.points[s, d]
        new = old + round(log_uniform(0.3, 0.1 * G, rng) * rng.normal())
        if not 0 <= new < G:
            return -np.inf
        proposed.points[s, d] = new
        log_ratio += log_ratio_of_point(likelihood, pair.anchors[s], d, old, new)
        if new != old:
            fill_factors(likelihood, pair.members, d, new, proposed.factors[s, d])
    return log_ratio


@inner(**LEAF, error_model="numpy")
def log_ratio_of_totals(new, old):
    """Return log prod_k new_k / old_k; -inf if a new one is too small."""
    log_ratio = 0.0
    ratio = 1.0
    for k in range(len(old)):
        if new[k] < SMALLEST_TOTAL:
            return -np.inf
        ratio *= new[k] / old[k]
        if ratio < 1e-100 or ratio > 1e100:
            log_ratio += math.log(ratio)
            ratio = 1.0
    return log_ratio + math.log(ratio)


@inner(**ALLOCATING)
def copy_mixture(source, target, first, last):
    """Copy the share, the totals, and what depends on the prevalences in the samples first <= d < last."""
    target.share[0] = source.share[0]
    for k in range(len(source.totals)):
        target.totals[k] = source.totals[k]
    for d in range(first, last):
        for s in range(2):
            target.points[s, d] = source.points[s, d]
            copy_row(source.factors[s], d, target.factors[s], d)


@inner(**LEAF)
def metropolis_step(likelihood, pair, delta, mixture, proposed, rng):
    """Propose other prevalences in one sample, or another share, alone or with all prevalences; accept or reject.

    `proposed` equals `mixture` before and after.
    """
    D = likelihood.index.shape[1]
    kind = int(rng.random() * (D + 2))
    first, last = (kind, kind + 1) if kind < D else (0, D if kind > D else 0)
    if kind < D:
        log_ratio = propose_points(likelihood, pair, mixture, proposed, kind, rng)
    else:
        log_ratio = propose_share(mixture, proposed, delta, rng)
        if kind > D and log_ratio > -np.inf:
            log_ratio += shift_points(likelihood, pair, mixture, proposed, rng)
    if log_ratio > -np.inf:
        fill_totals(proposed.share[0], proposed.factors, proposed.totals)
        log_ratio += log_ratio_of_totals(proposed.totals, mixture.totals)
    if math.log1p(-rng.random()) < log_ratio:
        copy_mixture(proposed, mixture, first, last)
    else:
        copy_mixture(mixture, proposed, first, last)


@inner(nogil=True)
def draw_allocation(mixture, rng):
    """Draw which members are in the first block, given share and prevalences."""
    n = len(mixture.totals)
    are_first = np.empty(n, np.bool_)
    for k in range(n):
        are_first[k] = rng.random() * mixture.totals[k] < component(mixture, 0, k)
    return are_first


@inner(nogil=True)
def allocate_members(likelihood, partition, pair, are_first):
    """Move each member to the first block if `are_first`, (n,), else to the second; return how many have moved.

    `are_first` is overwritten with the former allocation, so that a second call undoes the first.
    """
    moved = 0
    for k in range(len(pair.members)):
        i = pair.members[k]
        source = partition.labels[i]
        target = pair.slots[0] if are_first[k] else pair.slots[1]
        are_first[k] = source == pair.slots[0]
        if source == target:
            continue
        likelihood.remove(partition.stats[source], i)
        likelihood.add(partition.stats[target], i)
        partition.labels[i] = target
        partition.sizes[source] -= 1
        partition.sizes[target] += 1
        moved += 1
    return moved


@inner(nogil=True)
def exchange_pair(likelihood, partition, pair, delta, work, rng):
    """Make a move of two blocks; return how many members moved, 0 if the move was given up or rejected."""
    n, D = len(pair.members), likelihood.index.shape[1]
    sizes = partition.sizes
    share = rng.beta(sizes[pair.slots[0]] + delta, sizes[pair.slots[1]] + delta)
    points = np.empty((2, D), np.int64)
    for s in range(2):
        for d in range(D):
            points[s, d] = draw_point(likelihood, partition.stats[pair.slots[s]], d, rng.random())
    tested = np.empty(min(n, NUM_TESTED), np.int64)
    for k in range(len(tested)):
        tested[k] = pair.members[int(rng.random() * n)]
    if not is_possible(share) or is_separate(likelihood, share, points, tested):
        return 0
    mixture = make_mixture(likelihood, share, points, pair.members)
    if mixture.totals.min() < SMALLEST_TOTAL:
        return 0
    proposed = make_mixture(likelihood, share, points, pair.members)
    for _ in range(STEPS):
        metropolis_step(likelihood, pair, delta, mixture, proposed, rng)
    if is_separate(likelihood, mixture.share[0], mixture.points, tested):
        return 0
    anchors, slots = pair.anchors, pair.slots
    log_h = log_anchor_probability(likelihood, partition, anchors, slots[1], sizes[slots], work)
    are_first = draw_allocation(mixture, rng)
    moved = allocate_members(likelihood, partition, pair, are_first)
    new_log_h = log_anchor_probability(likelihood, partition, anchors, slots[1], sizes[slots], work)
    if math.log1p(-rng.random()) < new_log_h - log_h:
        return moved
    allocate_members(likelihood, partition, pair, are_first)
    return 0


def exchange(likelihood, partition, delta, times, rng):
    """Make the moves of `times` pairs of close blocks, in place; return how many changed the partition.

    `delta` is that of the prior, see :func:`delta_of_prior`.
    """
    work = make_workspace(len(partition.labels))
    changed = 0
    for _ in range(times):
        pair = draw_pair(likelihood, partition, work, rng)
        if len(pair.members) > 0:
            changed += exchange_pair(likelihood, partition, pair, delta, work, rng) > 0
    return changed


def delta_of_prior(log_tau2: NDArray[np.float64]) -> float | None:
    """Return delta if tau2(n) ∝ Gamma(n + delta) for all n, otherwise None.

    `log_tau2` is (T + 1,), with T at least 2; its first element is not used.
    """
    log_ratio = np.diff(log_tau2[1:])
    delta = float(np.exp(log_ratio[0])) - 1.0
    n = np.arange(1, len(log_ratio) + 1)
    return delta if np.allclose(log_ratio, np.log(n + delta), rtol=0.0, atol=1e-6) else None
