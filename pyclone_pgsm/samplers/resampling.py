"""Resampling of particles in conditional SMC, on unique particles with multiplicities.

A particle with weight w has a random number O of offspring, each with weight w / q, q = E[O]. Conditional SMC draws
the offspring given that one of them, in a place drawn uniformly, is the conditioned path's: from the scheme's own law
r weighted by the conditioned particle's O (size-biased). Let G be all that was drawn, and x the path: the law of G
given x is r(G) over the product of q along x. The final weight w(x) is gamma(x) over that same product, so

    pi(x) r(G) / prod q  ∝  r(G) w(x),

and drawing the new path from G with probability proportional to w is a Gibbs step. This is exact for any scheme in
which q > 0 and nothing depends on which particle is the conditioned one, their order included.

Let particle p own an interval of length e_p = N w_p / sum w of the line [0, N), for N particles in all.

    multinomial   O_p is the number of N points, uniform on the line, in the interval of p. Given the conditioned path:
                  N - 1 points besides its own
    stratified    a point uniform on each stratum [k, k + 1)
    systematic    a point on each stratum, all equally far from k. Of these two a point drawn at random among those in
                  the interval of p is uniform on it: so the conditioned path's own point is drawn first, uniform on
                  its interval, then the others given that one (Chopin and Singh 2015)
    optimal       For discrete spaces: all children of N particles are made, each with its weight. Of more than N those
                  with a weight above c stay as they are, where sum_p min(1, w_p / c) = N. Of the others each stays with
                  probability w_p / c, by systematic resampling, and has weight c from then on (Fearnhead and Clifford
                  2003; given the conditioned path: Whiteley, Andrieu and Doucet 2010)
    both-kinds    One copy stands for all that are merged, which are the same anyway, with all their weight; the N - 1
                  others are split. Only these are resampled, by systematic resampling, with equal shares of their total
                  weight W: the line is [0, N - 1), and q = (N - 1) w_p / W. So one particle of each kind survives.
"""

from __future__ import annotations

import math

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner

SCHEMES = ("multinomial", "stratified", "systematic", "optimal", "both-kinds")
MULTINOMIAL, STRATIFIED, SYSTEMATIC, OPTIMAL, BOTH_KINDS = 0, 1, 2, 3, 4

SMALLEST = 1e-300  # relative to the largest: weights count as no smaller where they serve as probabilities


@inner(**LEAF)
def draw_binomial(rng, n, p):
    """Number of successes in `n` trials: by inversion, one uniform; trial by trial where inversion would underflow."""
    if n <= 0 or p <= 0.0:
        return 0
    if p >= 1.0:
        return n
    if n == 1:
        return 1 if rng.random() < p else 0
    q = min(p, 1.0 - p)
    log_none = n * math.log1p(-q)
    if log_none > -600.0:
        u = rng.random()
        term = math.exp(log_none)
        odds = q / (1.0 - q)
        count = 0
        while u > term and count < n:
            u -= term
            count += 1
            term *= odds * (n - count + 1) / count
    else:
        count = 0
        for _ in range(n):
            if rng.random() < q:
                count += 1
    return count if q == p else n - count


@inner(**LEAF)
def resample_multinomial(rng, weights, num, total, offspring):
    """Multinomial resampling of `total` particles: ``offspring[:num]`` ~ Multinomial(total, weights / sum).

    In place of the weights stand their sums from each on, afterwards.
    """
    for p in range(num - 2, -1, -1):
        weights[p] += weights[p + 1]
    for p in range(num):
        later = weights[p + 1] if p + 1 < num else 0.0
        offspring[p] = draw_binomial(rng, total, 1.0 - later / weights[p]) if weights[p] > 0.0 else 0
        total -= offspring[p]


@inner(**LEAF)
def resample_stratified(rng, weights, first, num, total, reference, systematic, offspring):
    """Stratified or systematic resampling of `total` particles given the conditioned path.

    Parameters
    ----------
    rng : numpy.random.Generator
    weights : (P,) float64
        Those of particles ``first .. num - 1`` count.
    first, num, total : int
        `total` includes the conditioned path.
    reference : int
        The conditioned particle; below `first` if it is none of these.
    systematic : bool
        All points at the same offset from their strata, or each at its own.
    offspring : (P,) int64
        Result: the offspring of each, the conditioned path left out.
    """
    sum_of_weights = 0.0
    before = 0.0  # the sum up to the conditioned particle
    last = first  # particle that can have offspring
    for p in range(first, num):
        offspring[p] = 0
        if p == reference:
            before = sum_of_weights
        if weights[p] > 0.0:
            last = p
        sum_of_weights += weights[p]
    scale = total / sum_of_weights
    offset = rng.random()
    own = -1  # the stratum of the conditioned path's point
    if reference >= first:
        point = scale * (before + offset * weights[reference])
        own = min(int(point), total - 1)
        offset = point - own
    p = first
    end = scale * weights[first]
    for k in range(total):
        if k == own:
            continue
        point = k + (offset if systematic else rng.random())
        while point >= end and p < last:
            p += 1
            end += scale * weights[p]
        offspring[p] += 1


@inner(**LEAF)
def resample(rng, scheme, weights, num, total, reference, offspring):
    """Resample `total` particles with equal weights, the conditioned path among them but not in `offspring`.

    The weights may be changed.
    """
    if scheme == MULTINOMIAL:
        resample_multinomial(rng, weights, num, total - 1, offspring)
    else:
        resample_stratified(rng, weights, 0, num, total, reference, scheme == SYSTEMATIC, offspring)


@inner(**LEAF)
def optimal_bound(weights, num, total):
    """c of the optimal scheme, for more than `total` positive weights (others are 0).

    Each round takes those above the mean of the others out of that mean, which lowers it.

    Returns
    -------
    cutoff, bound : float
        Weights above `cutoff` are kept. No other exceeds `bound` = c, but for rounding.
    above : int
        Number of the weights above `cutoff`.
    """
    cutoff = np.inf
    above = 0
    bound = 0.0
    for p in range(num):
        bound += weights[p] / total
    while True:
        count = 0
        rest = 0.0
        for p in range(num):
            if weights[p] > bound:
                count += 1
            else:
                rest += weights[p]
        if count <= above or count >= total:
            return cutoff, bound, above
        cutoff = bound
        above = count
        bound = rest / (total - above)


@inner(**LEAF)
def resample_optimal(rng, log_w, w, num, total, reference, copies, offspring):
    """Keep `total` of more particles, with new weights.

    Parameters
    ----------
    rng : numpy.random.Generator
    log_w : (P,) float64
        Log weights of the first `num`, changed for those that stay.
    w, offspring : (P,) float64, (P,) int64
        Workspace.
    num, total, reference : int
    copies : (P,) int64
        1 for a particle, 0 for one that has gone and for the conditioned one; 0 afterwards for those that go.
    """
    best = -np.inf
    for p in range(num):
        if copies[p] > 0 or p == reference:
            best = max(best, log_w[p])
    for p in range(num):
        w[p] = max(math.exp(log_w[p] - best), SMALLEST) if copies[p] > 0 or p == reference else 0.0
    cutoff, bound, above = optimal_bound(w, num, total)
    for p in range(num):
        if w[p] > cutoff:
            w[p] = 0.0
    drawn = reference if w[reference] > 0.0 else -1
    resample_stratified(rng, w, 0, num, total - above, drawn, True, offspring)
    for p in range(num):
        if w[p] > 0.0:
            copies[p] = min(offspring[p], copies[p])
            log_w[p] += math.log(bound / w[p])


@inner(**LEAF)
def relative_ess(weights, multiplicities, first, num):
    """(sum w)^2 / (N sum w^2) of particles ``first .. num - 1``, in N = sum of multiplicities copies.

    ``weights`` holds the weight of one copy.
    """
    count = 0
    total = 0.0
    squares = 0.0
    for p in range(first, num):
        count += multiplicities[p]
        total += multiplicities[p] * weights[p]
        squares += multiplicities[p] * weights[p] * weights[p]
    return total * total / (count * squares)
