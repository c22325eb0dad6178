"""Which resampling scheme, how many particles, which threshold: right splits by second of processor time.

    python schemes.py [--repeats 200]

All blocks are true clusters but one, which is two of them merged: a cluster and, of those that the posterior would have
apart from it, the one that is hardest to tell from it. A split-merge move from two anchors within the merged block
*splits right* if it leaves two blocks that agree with the clusters on more than `RIGHT` of their observations. If moves
took each of the K - 1 blocks equally often, the rate would be

    right splits by second = P(right) / (c_merged + (K - 2) c_pure),

c the mean processor time of a move within the merged block, and within a true cluster, where it should change nothing.
The other way round: of moves from both halves of a true cluster that was divided at random, how many merge it.
All settings take turns, so that what else the machine does is the same for all. The data are simulated: Gaussian
clusters in the plane, and tumours. See docs/moves.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from speed import binomial_model, header, row

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.normal import Normal
from pyclone_pgsm.partition import PartitionPrior, build_partition, log_likelihood, log_prior
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.samplers.particle_blocks import BlockPool, make_block_pool
from pyclone_pgsm.samplers.particles import SMCSettings
from pyclone_pgsm.samplers.resampling import SCHEMES
from pyclone_pgsm.samplers.split_merge import split_merge
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import simulate

RIGHT = 0.85
EVIDENCE = 10.0
"""log odds of two clusters being apart, above which the posterior would have them apart."""
ONLY_DEAD = 1e-9
"""Threshold at which particles are only resampled where a kind of them is dead (merged ones, or split ones)."""


class Setting(NamedTuple):
    """Arguments of the move."""

    scheme: str
    num_particles: int
    threshold: float

    def __str__(self) -> str:
        threshold = "dead kinds only" if self.threshold == ONLY_DEAD else f"{self.threshold:g}"
        return f"{self.scheme} | {self.num_particles} | {threshold}"


SETTINGS = (
    Setting("multinomial", 20, 0.5),
    Setting("multinomial", 20, 0.2),
    Setting("multinomial", 20, ONLY_DEAD),
    Setting("multinomial", 10, 0.5),
    Setting("multinomial", 10, ONLY_DEAD),
    Setting("multinomial", 5, ONLY_DEAD),
    Setting("systematic", 20, 0.5),
    Setting("optimal", 5, 0.5),
    Setting("both-kinds", 20, 0.5),
    Setting("both-kinds", 20, 0.1),
    Setting("both-kinds", 10, 0.5),
    Setting("both-kinds", 10, ONLY_DEAD),
    Setting("both-kinds", 5, 0.5),
    Setting("both-kinds", 5, ONLY_DEAD),
    Setting("both-kinds", 3, ONLY_DEAD),
)
"""The first is the default of ``pyclone-pgsm analyze``; ``cluster`` has both-kinds with 20 particles at 0.1."""


class Dataset(NamedTuple):
    """Data with true clusters.

    Attributes
    ----------
    name : str
    likelihood : NamedTuple
    cluster : (T,) int64
        True clusters, 0 .. K - 1.
    """

    name: str
    likelihood: Any
    cluster: NDArray[np.int64]

    @property
    def num_clusters(self) -> int:
        """K."""
        return int(self.cluster.max()) + 1


def draw_centres(count: int, distance: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """(count, 2) points in a square, none nearer than `distance` to another."""
    side = 1.6 * distance * np.sqrt(count)
    centres = np.empty((0, 2))
    while len(centres) < count:
        point = side * rng.random(2)
        if (np.hypot(*(centres - point).T) > distance).all():
            centres = np.vstack([centres, point])
    return centres


def plane(size: int, clusters: int, distance: float, seed: int) -> Dataset:
    """Gaussian clusters of standard deviation 1 in the plane, with centres no nearer than `distance`."""
    rng = np.random.default_rng(seed)
    cluster = np.arange(size) % clusters
    centres = draw_centres(clusters, distance, rng)
    points = rng.normal(centres[cluster], 1.0)
    likelihood = Normal.from_data((points - points.mean(axis=0)) / points.std(axis=0))
    name = f"plane: T = {size}, K = {clusters}, {distance:g} sd apart"
    return Dataset(name, likelihood, cluster)


def tumour(mutations: int, clusters: int, samples: int, depth: int, seed: int) -> Dataset:
    """A simulated tumour: diploid, pure, binomial reads, clusters equally large, prevalences uniform."""
    options = SimulationOptions(
        mutations=mutations,
        samples=samples,
        clusters=clusters,
        depth=depth,
        purity=1.0,
        cluster_sizes="equal",
        clonal=False,
        absent=0.0,
    )
    simulation = simulate(options, np.random.default_rng(seed))
    likelihood = binomial_model(simulation.observations, 101).likelihood(())
    name = f"tumour: T = {mutations}, K = {clusters}, D = {samples}, depth {depth}"
    return Dataset(name, likelihood, simulation.cluster)


def datasets() -> Iterator[Dataset]:
    """Planes, ever denser, and tumours of 1, 2 and 5 samples; of either kind one with large clusters."""
    for distance in (5.0, 4.0, 3.0):
        yield plane(3000, 15, distance, seed=1)
    yield plane(10_000, 10, 4.0, seed=1)
    yield tumour(2000, 8, 1, 60, seed=1)
    yield tumour(3000, 12, 2, 40, seed=1)
    yield tumour(1000, 20, 5, 30, seed=1)
    yield tumour(10_000, 10, 2, 40, seed=1)


@dataclass
class Tally:
    """Moves of one setting on one data set.

    Attributes
    ----------
    right : list of bool
        Of each move within a merged block: whether it split right.
    whole : list of bool
        Of each move between the halves of a true cluster: whether it merged them.
    merged, pure : list of float
        Processor seconds of moves within merged blocks and within true clusters.
    """

    right: list[bool] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    merged: list[float] = field(default_factory=list)
    pure: list[float] = field(default_factory=list)

    def rate(self, clusters: int) -> float:
        """Right splits by second (see the module)."""
        return float(np.mean(self.right) / (np.mean(self.merged) + (clusters - 2) * np.mean(self.pure)))


class Mover:
    """Timed split-merge moves on a data set."""

    def __init__(self, data: Dataset) -> None:
        self.likelihood = data.likelihood
        kind = type(data.likelihood)
        self.build, self.move, self.log_likelihood = (
            compiled_for(function, kind) for function in (build_partition, split_merge, log_likelihood)
        )
        T, prior = len(data.cluster), DirichletProcess()
        self.tables = PartitionPrior(prior.log_tau1(T), prior.log_tau2(T))
        self.pools: dict[int, BlockPool] = {}

    def log_joint(self, labels: NDArray[np.int64]) -> float:
        """log pi(c) up to a constant."""
        partition = self.build(self.likelihood, labels.astype(np.int32))
        return log_prior(self.tables, partition) + self.log_likelihood(self.likelihood, partition)

    def __call__(
        self,
        labels: NDArray[np.int64],
        anchors: NDArray[np.int64],
        setting: Setting,
        rng: np.random.Generator,
    ) -> tuple[float, NDArray[np.int32]]:
        """Processor seconds of a move from these anchors, and the labels after it."""
        scheme, N, threshold = setting
        if N not in self.pools:
            self.pools[N] = make_block_pool(N, self.likelihood.stat_size())
        partition = self.build(self.likelihood, labels.astype(np.int32))
        started = time.thread_time()
        partition, _, _ = self.move(
            self.likelihood,
            self.tables,
            partition,
            anchors,
            SMCSettings(N, threshold, True, SCHEMES.index(scheme)),
            self.pools[N],
            rng,
        )
        return time.thread_time() - started, partition.labels


def merge(cluster: NDArray[np.int64], k: int, other: int) -> NDArray[np.int64]:
    """The clusters, `other` put into `k`."""
    return np.where(cluster == other, k, cluster)


def hardest_pairs(data: Dataset, mover: Mover) -> list[tuple[int, int]]:
    """Each cluster with the one that is hardest to tell from it, each pair once."""
    log_joint, K = mover.log_joint(data.cluster), data.num_clusters
    log_odds = np.full((K, K), np.inf)
    for k, other in combinations(range(K), 2):
        odds = log_joint - mover.log_joint(merge(data.cluster, k, other))
        if odds > EVIDENCE:
            log_odds[k, other] = log_odds[other, k] = odds
    hardest = [(k, int(log_odds[k].argmin())) for k in range(K) if np.isfinite(log_odds[k]).any()]
    return sorted({(min(pair), max(pair)) for pair in hardest})


def is_right(labels: NDArray[np.int32], cluster: NDArray[np.int64], k: int, other: int) -> bool:
    """Whether two clusters are in two blocks, more or less."""
    members = (cluster == k) | (cluster == other)
    side = labels[members] == labels[members][0]
    agreement = (side == (cluster[members] == k)).mean()
    return bool(max(agreement, 1.0 - agreement) > RIGHT)


def measure(data: Dataset, repeats: int) -> list[Tally]:
    """About `repeats` moves of each setting within merged blocks; as many within true clusters, and between halves."""
    cluster, mover, rng = data.cluster, Mover(data), np.random.default_rng(1)
    tallies = [Tally() for _ in SETTINGS]
    pairs = hardest_pairs(data, mover)
    for setting in SETTINGS:
        mover(cluster, np.array([0, 1]), setting, rng)  # compiles
    for k, other in chain.from_iterable([pairs] * max(1, round(repeats / len(pairs)))):
        merged = merge(cluster, k, other)
        members = np.flatnonzero(cluster == k)
        for setting, tally in zip(SETTINGS, tallies):
            seconds, labels = mover(
                merged, rng.choice(np.flatnonzero(merged == k), 2, replace=False), setting, rng
            )
            tally.right.append(is_right(labels, cluster, k, other))
            tally.merged.append(seconds)
            anchors = rng.choice(members, 2, replace=False)
            tally.pure.append(mover(cluster, anchors, setting, rng)[0])
            divided = np.where(rng.random(len(cluster)) < 0.5, cluster, data.num_clusters)
            divided[cluster != k] = cluster[cluster != k]
            divided[anchors] = k, data.num_clusters
            labels = mover(divided, anchors, setting, rng)[1]
            tally.whole.append(len(np.unique(labels[members])) == 1)
    return tallies


def main() -> None:
    """Measure all settings on all data sets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=200, help="moves a setting and data set (200)")
    repeats = parser.parse_args().repeats
    cells, rates, whole = [], [], []
    for number, data in enumerate(datasets()):
        print(f"{number + 1}. {data.name}", flush=True)
        tallies = measure(data, repeats)
        rates.append([tally.rate(data.num_clusters) for tally in tallies])
        whole.append([np.mean(tally.whole) for tally in tallies])
        cells.append([f"{np.mean(t.right):.0%}, {rate:.0f}" for t, rate in zip(tallies, rates[-1])])
    numbers = [str(number + 1) for number in range(len(rates))]

    print("\nMoves within a merged block that split right, and right splits by second\n")
    header("scheme", "particles", "threshold", *numbers)
    for setting, of_setting in zip(SETTINGS, zip(*cells)):
        row(setting, *of_setting)

    print("\nRight splits by second relative to the first setting; and moves that merge a divided cluster\n")
    header("scheme", "particles", "threshold", *numbers, "geometric mean", "merged")
    relative = np.array(rates) / np.array(rates)[:, :1]
    for setting, of_setting, share in zip(SETTINGS, relative.T, np.mean(whole, axis=0)):
        mean = np.exp(np.log(np.maximum(of_setting, 1e-3)).mean())
        row(setting, *(f"{ratio:.2f}" for ratio in of_setting), f"{mean:.2f}", f"{share:.0%}")


if __name__ == "__main__":
    main()
