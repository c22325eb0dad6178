"""Would the split-merge move gain from ancestor sampling of the conditioned path?

    python ancestor_sampling.py [exact] [mixing]

In conditional SMC the conditioned path is one of the particles, and where all others come to descend from it its early
choices never change. With ancestor sampling (Lindsten, Jordan & Schön 2014; Whiteley 2010) its parent is drawn anew at
each resampling: what it chooses from t on stays, and may follow any split particle. Of one with weight w and blocks b,
b' being what the path still puts into b,

    P(parent) ∝ w gamma_n(its choices, then the path's) / gamma_{t-1}(its choices)
              ∝ w prod over its two blocks of tau2(|b| + |b'|) / tau2(|b|) L(y_b, y_b') / L(y_b).

A conditioned path that is merged can have no other parent.

The model is the one in which this costs least: y_i ~ N(mu_b, 1), mu_b ~ N(0, V), a Dirichlet process. The statistic of
a block is its size and its sum, so that two blocks are joined in O(1). The kernels are written for this script, without
the package's shortcuts: what is compared differs in nothing else.

``exact`` compares one move from the posterior with the posterior, by enumeration. ``mixing`` gives the effective sample
sizes of chains by second. Times are processor time of the one thread that works. See docs/moves.md.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import multivariate_normal
from speed import header, row

from pyclone_pgsm.partition import canonical_labels
from pyclone_pgsm.samplers.particle_gibbs import closure_of, log_add, sample_permutation
from pyclone_pgsm.samplers.resampling import relative_ess
from pyclone_pgsm.sampling.diagnostics import effective_sample_size
from pyclone_pgsm.testing.enumeration import chi_square_p_value, encode, enumerate_posterior

VARIANCE = 25.0
"""V."""
NEVER, ALWAYS = 0.0, 1.01
"""Thresholds below and above every relative effective sample size."""


class Move(NamedTuple):
    """How a split-merge move is made.

    Attributes
    ----------
    num_particles : int
        N.
    threshold : float
        Resample where the relative effective sample size falls below it.
    both_kinds : bool
        One particle is merged and never resampled, the others are split; else multinomial resampling of all.
    with_ancestors : bool
        Draw the parent of the conditioned path at each resampling.
    """

    num_particles: int
    threshold: float
    both_kinds: bool
    with_ancestors: bool


MOVES = {
    "multinomial, N = 20, 0.5": Move(20, 0.5, both_kinds=False, with_ancestors=False),
    "multinomial, N = 5, always": Move(5, ALWAYS, both_kinds=False, with_ancestors=False),
    "both kinds, N = 5, never": Move(5, NEVER, both_kinds=True, with_ancestors=False),
    "both kinds, N = 5, 0.5": Move(5, 0.5, both_kinds=True, with_ancestors=False),
    "both kinds, N = 5, always": Move(5, ALWAYS, both_kinds=True, with_ancestors=False),
}
"""What is compared, by resampling, particles and threshold; each also with ancestor sampling, but for `NEVER`, where it
has no occasion."""


class Particles(NamedTuple):
    """N particles; a merged one has all in its first block.

    Attributes
    ----------
    merged : (N,) bool
    log_w : (N,) float64
    sizes, sums : (N, 2) int64, (N, 2) float64
        Of the blocks of the first and of the second anchor.
    """

    merged: np.ndarray
    log_w: np.ndarray
    sizes: np.ndarray
    sums: np.ndarray


def log_levels(num_observations: int, concentration: float) -> NDArray[np.float64]:
    """(T + 1,) log of alpha tau2(n) / sqrt(1 + n V), what a block owes to its size n; 0 for n = 0."""
    n = np.arange(1, num_observations + 1)
    return np.append(0.0, np.log(concentration) + gammaln(n) - 0.5 * np.log1p(n * VARIANCE))


@njit(nogil=True)
def log_joining(level, size, total, more, more_total):
    """log of tau2(|b| + m) / tau2(|b|) L(y_b, y_b') / L(y_b) for m observations b', up to N(y; 0, 1) of each.

    An empty block costs alpha.
    """
    new_total = total + more_total
    after = new_total * new_total / (1.0 + (size + more) * VARIANCE)
    before = total * total / (1.0 + size * VARIANCE)
    return level[size + more] - level[size] + 0.5 * VARIANCE * (after - before)


@njit(nogil=True)
def draw(rng, weights):
    """A position, with probability proportional to its weight."""
    u = rng.random() * weights.sum()
    chosen = 0
    while chosen < len(weights) - 1 and u >= weights[chosen]:
        u -= weights[chosen]
        chosen += 1
    return chosen


@njit(nogil=True)
def gibbs_sweep(y, labels, level, rng):
    """Neal's (2000) algorithm 3. Labels lie between 0 and T - 1; some may be unused."""
    T = len(y)
    sizes = np.zeros(T + 1, np.int64)
    sums = np.zeros(T + 1)
    for i in range(T):
        sizes[labels[i]] += 1
        sums[labels[i]] += y[i]
    end = labels.max() + 1
    log_p = np.empty(T + 1)
    for i in range(T):
        sizes[labels[i]] -= 1
        sums[labels[i]] -= y[i]
        new = 0
        while sizes[new] > 0:
            new += 1
        end = max(end, new + 1)
        for b in range(end):
            log_p[b] = -np.inf
            if sizes[b] > 0 or b == new:
                log_p[b] = log_joining(level, sizes[b], sums[b], 1, y[i])
        labels[i] = draw(rng, np.exp(log_p[:end] - log_p[:end].max()))
        sizes[labels[i]] += 1
        sums[labels[i]] += y[i]


@njit(nogil=True)
def draw_anchors(T, rng):
    """Two different observations."""
    first = int(rng.random() * T)
    second = int(rng.random() * (T - 1))
    return np.array([first, second + 1 if second >= first else second])


@njit(nogil=True)
def rest_of_path(y, labels, sigma):
    """(n + 1, 2) sizes and sums of what a split path puts into either block from each t on."""
    n = len(sigma)
    sizes = np.zeros((n + 1, 2), np.int64)
    sums = np.zeros((n + 1, 2))
    for t in range(n - 1, 1, -1):
        for b in range(2):
            sizes[t, b] = sizes[t + 1, b]
            sums[t, b] = sums[t + 1, b]
        b = 0 if labels[sigma[t]] == labels[sigma[0]] else 1
        sizes[t, b] += 1
        sums[t, b] += y[sigma[t]]
    return sizes, sums


@njit(nogil=True)
def first_particles(y, sigma, num_particles, both_kinds, together, rng):
    """Particles after the two anchors, under annealed targets; and which is the conditioned path's."""
    merged = rng.random(num_particles) < 0.5
    log_w = np.zeros(num_particles)
    reference = 0
    if both_kinds:
        merged[:] = False
        log_w[1:] = -np.log(num_particles - 1)
        reference = 0 if together else 1
        merged[0] = True
    else:
        merged[0] = together
    sizes = np.ones((num_particles, 2), np.int64)
    sums = np.empty((num_particles, 2))
    for p in range(num_particles):
        sums[p, 0] = y[sigma[0]]
        sums[p, 1] = y[sigma[1]]
        if merged[p]:
            sizes[p, 0] = 2
            sums[p, 0] += y[sigma[1]]
    return Particles(merged, log_w, sizes, sums), reference


@njit(nogil=True)
def draw_parent_of_path(level, particles, sizes, sums, rng):
    """The new parent of a split conditioned path that has these sizes and sums still to come."""
    log_p = np.full(len(particles.log_w), -np.inf)
    for p in range(len(log_p)):
        if not particles.merged[p]:
            log_p[p] = particles.log_w[p]
            for b in range(2):
                log_p[p] += log_joining(level, particles.sizes[p, b], particles.sums[p, b], sizes[b], sums[b])
    return draw(rng, np.exp(log_p - log_p.max()))


@njit(nogil=True)
def resample(particles, first, parents, total_log_w):
    """The children of `parents`; those from `first` on share their weight."""
    children = Particles(
        particles.merged[parents],
        particles.log_w.copy(),
        particles.sizes[parents],
        particles.sums[parents],
    )
    children.log_w[first:] = total_log_w - np.log(len(parents) - first)
    return children


@njit(nogil=True)
def split_merge(y, labels, level, num_particles, threshold, both_kinds, with_ancestors, rng):
    """The paper's Algorithms 1 to 3 with annealed targets; see :class:`Move`. `labels` change in place.

    Returns
    -------
    int
        What was added to the number of blocks: -1, 0 or 1.
    """
    anchors = draw_anchors(len(y), rng)
    slot, other_slot = labels[anchors[0]], labels[anchors[1]]
    together = slot == other_slot
    n = np.sum((labels == slot) | (labels == other_slot))
    sigma = sample_permutation(rng, anchors, closure_of(labels, slot, other_slot, n))
    later_sizes, later_sums = rest_of_path(y, labels, sigma)
    particles, reference = first_particles(y, sigma, num_particles, both_kinds, together, rng)

    log_first = log_joining(level, 0, 0.0, 1, y[sigma[0]])
    log_gamma2_split = log_first + log_joining(level, 0, 0.0, 1, y[sigma[1]])
    log_gamma2_merged = log_first + log_joining(level, 1, y[sigma[0]], 1, y[sigma[1]])
    steps = max(n - 2, 1)
    if n == 2:
        for p in range(num_particles):
            particles.log_w[p] += log_gamma2_merged if particles.merged[p] else log_gamma2_split

    first = 1 if both_kinds else 0  # the particles from here on are resampled
    copies = np.ones(num_particles, np.int64)
    ancestry = np.empty((n, num_particles), np.int64)
    joins_first = np.empty((n, num_particles), np.bool_)
    for t in range(2, n):
        parents = np.arange(num_particles)
        best = particles.log_w[first:].max()
        w = np.exp(particles.log_w - best)
        if relative_ess(w, copies, first, num_particles) < threshold:
            for p in range(first, num_particles):
                if p != reference:
                    parents[p] = first + draw(rng, w[first:])
            if with_ancestors and not particles.merged[reference]:
                parents[reference] = draw_parent_of_path(level, particles, later_sizes[t], later_sums[t], rng)
            particles = resample(particles, first, parents, best + np.log(w[first:].sum()))
        ancestry[t] = parents

        merged, log_w, sizes, sums = particles
        i = sigma[t]
        for p in range(num_particles):
            log_into_first = log_joining(level, sizes[p, 0], sums[p, 0], 1, y[i])
            b = 0
            if merged[p]:
                log_w[p] += log_gamma2_merged / steps + log_into_first
            else:
                log_into_second = log_joining(level, sizes[p, 1], sums[p, 1], 1, y[i])
                log_sum, p_first = log_add(log_into_first, log_into_second)
                log_w[p] += log_gamma2_split / steps + log_sum
                if p == reference:
                    b = 0 if labels[i] == labels[sigma[0]] else 1
                else:
                    b = 0 if rng.random() < p_first else 1
            sizes[p, b] += 1
            sums[p, b] += y[i]
            joins_first[t, p] = b == 0

    chosen = draw(rng, np.exp(particles.log_w - particles.log_w.max()))
    if particles.merged[chosen]:
        labels[sigma] = slot
        return 0 if together else -1
    first_slot, second_slot = labels[sigma[0]], labels[sigma[1]]
    if together:
        is_used = np.zeros(len(y), np.bool_)
        for label in labels:
            is_used[label] = True
        second_slot = np.argmin(is_used)
    labels[sigma[1]] = second_slot
    for t in range(n - 1, 1, -1):
        labels[sigma[t]] = first_slot if joins_first[t, chosen] else second_slot
        chosen = ancestry[t, chosen]
    return 1 if together else 0


@njit(nogil=True)
def run_chain(y, labels, level, sweeps, moves, move, pairs, iterations, rng):
    """Iterations of `sweeps` Gibbs sweeps and `moves` moves; `labels` change in place.

    Parameters
    ----------
    y, labels, level
        (T,) float64, (T,) int64, :func:`log_levels`.
    sweeps, moves, iterations : int
    move : Move
    pairs : (P, 2) int64
    rng : numpy.random.Generator

    Returns
    -------
    together : (iterations, P) bool
        Whether either observation of a pair shares the other's block.
    largest_share : (iterations,) float64
        Share of the observations in the largest block.
    changes : int
        Moves that changed the number of blocks.
    """
    T = len(y)
    together = np.empty((iterations, len(pairs)), np.bool_)
    largest_share = np.empty(iterations)
    changes = 0
    for m in range(iterations):
        for _ in range(sweeps):
            gibbs_sweep(y, labels, level, rng)
        for _ in range(moves):
            N, threshold, both_kinds, with_ancestors = move
            changes += abs(split_merge(y, labels, level, N, threshold, both_kinds, with_ancestors, rng))
        for k in range(len(pairs)):
            together[m, k] = labels[pairs[k, 0]] == labels[pairs[k, 1]]
        sizes = np.zeros(T, np.int64)
        for label in labels:
            sizes[label] += 1
        largest_share[m] = sizes.max() / T
    return together, largest_share, changes


@njit(nogil=True)
def move_each(y, rows, level, move, rng):
    """One move from each row of (R, T) labels, in place; labels become canonical."""
    N, threshold, both_kinds, with_ancestors = move
    for labels in rows:
        split_merge(y, labels, level, N, threshold, both_kinds, with_ancestors, rng)
        labels[:] = canonical_labels(labels)[0]


def moves() -> Iterator[tuple[str, str, Move]]:
    """`MOVES`, each without and with ancestor sampling: its name, "no" or "yes", and the move."""
    for name, move in MOVES.items():
        yield name, "no", move
        if move.threshold != NEVER:
            yield name, "yes", move._replace(with_ancestors=True)


FEW = np.arange(-2.5, 4.0)
"""Data of which all 877 partitions are enumerated."""
REPLICATES = 1_000_000


def measure_exactness() -> None:
    """One move from draws of the posterior: is the result distributed as the posterior?"""

    def log_marginal(members: Sequence[int]) -> float:
        covariance = np.eye(len(members)) + VARIANCE
        return float(multivariate_normal(cov=covariance).logpdf(FEW[list(members)]))

    concentration = 1.0
    level = log_levels(len(FEW), concentration)
    posterior = enumerate_posterior(len(FEW), log_marginal, concentration)
    print(f"p values of {REPLICATES:,} moves from {len(posterior.partitions)} partitions", flush=True)
    header("resampling", "ancestor sampling", "p value")
    for name, has_ancestors, move in moves():
        rng = np.random.default_rng(1)
        rows = posterior.draw(REPLICATES, rng).astype(np.int64)
        move_each(FEW, rows, level, move, rng)
        p_value = chi_square_p_value(posterior.count(encode(rows)), posterior.probabilities)
        row(name, has_ancestors, f"{p_value:.3f}")


class Line(NamedTuple):
    """Clusters on a line, all neighbours equally far apart, of sizes as 1 : 1/2 : 1/3 and so on.

    Attributes
    ----------
    size, clusters : int
        T and the number of clusters.
    distance : float
        Of neighbours, in standard deviations.
    iterations : int
        Of each chain.
    """

    size: int
    clusters: int
    distance: float
    iterations: int

    def __str__(self) -> str:
        return f"T = {self.size}, K = {self.clusters}, {self.distance:g} sd apart"

    def draw(self, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """(T,) values around 0 and (T,) clusters."""
        weights = 1.0 / np.arange(1, self.clusters + 1)
        cluster = rng.choice(self.clusters, self.size, p=weights / weights.sum())
        y = rng.normal(self.distance * cluster, 1.0)
        return y - y.mean(), cluster

    def pairs(self, y: NDArray[np.float64], cluster: NDArray[np.int64]) -> NDArray[np.int64]:
        """(P, 2): the observation amid a cluster, and the one nearest to one of `PLACES` on the way to a neighbour."""
        means = np.array([y[cluster == k].mean() for k in range(self.clusters)])
        pairs = []
        for k, near in permutations(range(self.clusters), 2):
            if abs(k - near) == 1:
                wanted = means[k] + np.array([0.0, *PLACES]) * (means[near] - means[k])
                centre, *others = (int(np.argmin(np.abs(y - value))) for value in wanted)
                pairs += [(centre, other) for other in others]
        return np.array(pairs)


LINES = (Line(200, 2, 3.0, 5000), Line(400, 3, 2.5, 3000), Line(600, 6, 3.0, 2500))
PLACES = (0.4, 0.5, 0.6)
MIXING_CONCENTRATION = 0.1
CHAINS = 4
SETTLING = 300
"""Gibbs sweeps from the true clusters before a chain."""


@dataclass
class Measured:
    """What the chains of a method gave.

    Attributes
    ----------
    together, largest_share : list of (iterations, P) bool, list of (iterations,) float64
        See :func:`run_chain`.
    changes : int
    seconds : float
    """

    together: list[NDArray[np.bool_]] = field(default_factory=list)
    largest_share: list[NDArray[np.float64]] = field(default_factory=list)
    changes: int = 0
    seconds: float = 0.0

    def effective(self) -> str:
        """Effective sample sizes by second: of the pairs, the median; of the share of the largest block."""
        by_pair = np.moveaxis(np.array(self.together, float), -1, 0)
        pairs = np.median([effective_sample_size(pair) for pair in by_pair])
        share = effective_sample_size(self.largest_share)
        return f"{pairs / self.seconds:,.0f}, {share / self.seconds:,.0f}"

    def rates(self) -> str:
        """Moves that changed the number of blocks: of a thousand, and by second."""
        moves = sum(map(len, self.largest_share))
        return f"{1000 * self.changes / moves:.1f}, {self.changes / self.seconds:,.0f}"


class Method(NamedTuple):
    """What an iteration of a chain consists of, and what the tables call it."""

    sweeps: int
    moves: int
    name: str
    has_ancestors: str
    move: Move


def methods() -> list[Method]:
    """Moves alone, Gibbs sweeps alone, and both."""
    sweep = Method(1, 0, "none", "", MOVES["both kinds, N = 5, never"])
    alone, mixed = ([Method(sweeps, 1, *each) for each in moves()] for sweeps in (0, 1))
    return [*alone, sweep, *mixed]


def measure_line(line: Line) -> list[Measured]:
    """Chains of all methods in turns."""
    y, cluster = line.draw(np.random.default_rng(0))
    pairs, level = line.pairs(y, cluster), log_levels(line.size, MIXING_CONCENTRATION)
    results = [Measured() for _ in methods()]
    for seed in range(CHAINS):
        for (sweeps, moves, _, _, move), measured in zip(methods(), results):
            rng, labels = np.random.default_rng(seed), cluster.copy()
            run_chain(y, labels, level, 1, 0, move, pairs, SETTLING, rng)
            started = time.thread_time()
            together, share, changes = run_chain(
                y, labels, level, sweeps, moves, move, pairs, line.iterations, rng
            )
            measured.seconds += time.thread_time() - started
            measured.together.append(together)
            measured.largest_share.append(share)
            measured.changes += changes
    return results


def measure_mixing() -> None:
    """Effective sample sizes, and how often moves change the number of blocks."""
    by_line = list(zip(methods(), *map(measure_line, LINES)))
    print(
        "Effective sample sizes by second of processor time: of whether two observations are together (median of the\n"
        "pairs), and of the share of the largest block\n"
    )
    header("sweeps", "move", "ancestor sampling", *map(str, LINES))
    for method, *of_lines in by_line:
        row(
            method.sweeps, method.name, method.has_ancestors, *(measured.effective() for measured in of_lines)
        )
    print("\nMoves that change the number of blocks: of a thousand, and by second (without sweeps)\n")
    header("move", "ancestor sampling", *map(str, LINES))
    for method, *of_lines in by_line:
        if method.sweeps == 0:
            row(method.name, method.has_ancestors, *(measured.rates() for measured in of_lines))


PARTS = {"exact": measure_exactness, "mixing": measure_mixing}


def main() -> None:
    """Measure the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; both without a name")
    parts = parser.parse_args().parts or list(PARTS)
    for part in parts:
        if part not in PARTS:
            parser.error(f"{part!r}: must be one of {', '.join(PARTS)}")
    for part in parts:
        print(f"\n## {part}\n", flush=True)
        PARTS[part]()


if __name__ == "__main__":
    main()
