"""Resampling of particles in conditional SMC, on unique particles with multiplicities.

A particle with weight w has a random number O of offspring, each with weight w / m, where m = E[O]. Conditional SMC
draws the offspring given that one of them, at a position drawn uniformly, belongs to the conditioned path: from the
scheme's own distribution, weighted by the conditioned particle's O (size-biased). Let G be all random choices of an
ordinary, unconditional SMC, r(G) their probability, and x a path in it with the proposal probabilities q_t(x_t). The
probability of G given x is r(G) / prod_t m_t q_t(x_t), and the final weight w(x) is gamma(x) / prod_t m_t q_t(x_t). So

    pi(x) r(G) / prod_t m_t q_t(x_t)  ∝  r(G) w(x),

and drawing the new path from G with probability proportional to w is a Gibbs step. This is exact for any scheme in
which m > 0 and nothing, including the order of the particles, depends on which particle is the conditioned one.

The schemes assign particle p an interval of length e_p = N w_p / sum w on the line [0, N), with N particles in total.

    multinomial   O_p is the number of N points, uniform on the line, in the interval of p. Given the conditioned path,
                  N - 1 points are drawn besides its own.
    stratified    One point is uniform on each stratum [k, k + 1).
    systematic    One point is on each stratum, all at the same distance from k. In both of these schemes, a point
                  picked at random among those in the interval of p is uniform on it. So the conditioned path's own
                  point is drawn first, uniform on its interval, then the others given it (Chopin and Singh 2015).
    optimal       For discrete spaces: all children of the N particles are made, each with its weight. If there are more
                  than N, those with a weight above c are kept unchanged, where sum_p min(1, w_p / c) = N. Each of the
                  others is kept with probability w_p / c, by systematic resampling, and then has weight c (Fearnhead
                  and Clifford 2003; given the conditioned path: Whiteley, Andrieu and Doucet 2010).
    both-kinds    One copy represents all merged particles, which are identical, with all their weight; the N - 1 others
                  are split. Only these are resampled, by systematic resampling, and get equal shares of their total
                  weight W: the line is [0, N - 1), and m = (N - 1) w_p / W. So one particle of each kind survives.
"""

import math

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner

SCHEMES = ("multinomial", "stratified", "systematic", "optimal", "both-kinds")
MULTINOMIAL, STRATIFIED, SYSTEMATIC, OPTIMAL, BOTH_KINDS = 0, 1, 2, 3, 4

SMALLEST = 1e-300  # lower bound, relative to the largest, of weights that serve as probabilities


@inner(**LEAF)
def draw_binomial(rng, n, p):
    """Draw the number of successes in `n` trials: by inversion, or trial by trial if inversion would underflow."""
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

    `weights` is overwritten: with the sum of each weight and all later ones.
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
        Weights, of which those of particles ``first .. num - 1`` are used.
    first, num, total : int
        `total` includes the conditioned path.
    reference : int
        The conditioned particle; below `first` if it is not among those resampled.
    systematic : bool
        Whether all points have the same offset from the start of their strata, rather than each its own.
    offspring : (P,) int64
        Result: the offspring of each particle, not counting the conditioned path.
    """
    sum_of_weights = 0.0
    before = 0.0  # the sum of weights before the conditioned particle
    last = first  # the last particle that can have offspring
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
    """Resample to `total` particles of equal weight, including the conditioned path, which `offspring` does not count.

    `weights` may be overwritten.
    """
    if scheme == MULTINOMIAL:
        resample_multinomial(rng, weights, num, total - 1, offspring)
    else:
        resample_stratified(rng, weights, 0, num, total, reference, scheme == SYSTEMATIC, offspring)


@inner(**LEAF)
def optimal_bound(weights, num, total):
    """Compute c of the optimal scheme, for more than `total` positive weights (all others must be 0).

    Each round keeps the weights above the last c, and lowers c to the mean of the others over the remaining places.

    Returns
    -------
    cutoff, bound : float
        Weights above `cutoff` are kept. No other weight exceeds `bound` = c, except by rounding.
    above : int
        Number of weights above `cutoff`.
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
def resample_optimal(rng, log_w, w, num, total, reference, free_copies, offspring):
    """Keep `total` of `num` particles by the optimal scheme, with new weights.

    Parameters
    ----------
    log_w : (P,) float64
        Log weights of the first `num` particles; changed for those that are kept.
    w, offspring : (P,) float64, (P,) int64
        Workspace.
    free_copies : (P,) int64
        1 for a particle, 0 for one already dropped and for the conditioned one. Set to 0 for those that are dropped.
    """
    best = -np.inf
    for p in range(num):
        if free_copies[p] > 0 or p == reference:
            best = max(best, log_w[p])
    for p in range(num):
        w[p] = max(math.exp(log_w[p] - best), SMALLEST) if free_copies[p] > 0 or p == reference else 0.0
    cutoff, bound, above = optimal_bound(w, num, total)
    for p in range(num):
        if w[p] > cutoff:
            w[p] = 0.0
    drawn = reference if w[reference] > 0.0 else -1
    resample_stratified(rng, w, 0, num, total - above, drawn, True, offspring)
    for p in range(num):
        if w[p] > 0.0:
            free_copies[p] = min(offspring[p], free_copies[p])
            log_w[p] += math.log(bound / w[p])


@inner(**LEAF)
def relative_ess(weights, all_copies, first, num):
    """Return (sum w)^2 / (N sum w^2) over all N copies of particles ``first .. num - 1``.

    ``weights`` are those of one copy.
    """
    count = 0
    total = 0.0
    squares = 0.0
    for p in range(first, num):
        count += all_copies[p]
        total += all_copies[p] * weights[p]
        squares += all_copies[p] * weights[p] * weights[p]
    return total * total / (count * squares)
