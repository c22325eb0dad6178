"""Markov chains over partitions: the schedule of moves, seeds, threads, stopping.

A chain is a function of its settings and its seed. Everything it needs to go on is a :class:`ChainState`; the
statistics of the blocks are computed anew from the labels every ``rebuild`` iterations (which also keeps rounding
errors from piling up), and chains are only ever stopped there. So a chain that was stopped and resumed gives the same
bits as one that was not.
"""

from __future__ import annotations

import copy
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.compiling import compiled_for
from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.likelihoods.model import Model, Values
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.samplers.anchors import ANCHOR_PROPOSALS, AnchorProposal
from pyclone_pgsm.samplers.gibbs import gibbs_sweep
from pyclone_pgsm.samplers.hyperparameters import partition_log_likelihood, resample_hyperparameters
from pyclone_pgsm.samplers.particle_gibbs import make_block_pool, split_merge
from pyclone_pgsm.samplers.partition import PartitionPrior, build_partition, log_prior

SAMPLERS = ("mixed", "pgsm", "gibbs")
TARGETS = ("annealed", "plain")
INITS = ("single", "disconnected")
LARGEST_START = 4 << 30  # bytes of block statistics that a start may need


@dataclass(frozen=True)
class Settings:
    """How to run the chains. The names are those of the command line's options.

    Attributes
    ----------
    sampler : {"mixed", "pgsm", "gibbs"}
        What an iteration does: a Gibbs sweep and split-merge moves, only these, or only the sweep.
    moves : int or None
        Split-merge moves an iteration. None: chosen by :meth:`resolve`.
    particles : int
        N of the particle Gibbs kernel.
    resample_threshold : float
        Relative effective sample size below which particles are resampled.
    anchor_proposal : {"uniform", "cluster"}
    targets : {"annealed", "plain"}
        Intermediate targets of the particle Gibbs kernel.
    init : {"single", "disconnected"}
    iterations, burn_in : int or None
        Iterations of a chain in all, and those of them that summaries skip. None: chosen by :meth:`resolve`.
    thin : int
        Every how manieth iteration is saved.
    chains : int
    seed : int
    hyper_every : int
        Iterations between two updates of the likelihood's hyperparameters.
    """

    sampler: str = "mixed"
    moves: int | None = None
    particles: int = 20
    resample_threshold: float = 0.5
    anchor_proposal: str = "cluster"
    targets: str = "annealed"
    init: str = "single"
    iterations: int | None = None
    burn_in: int | None = None
    thin: int = 1
    chains: int = 4
    seed: int = 1
    hyper_every: int = 3

    def __post_init__(self) -> None:
        for name, known in (
            ("sampler", SAMPLERS),
            ("targets", TARGETS),
            ("init", INITS),
            ("anchor_proposal", tuple(ANCHOR_PROPOSALS)),
        ):
            if getattr(self, name) not in known:
                raise UsageError(
                    f"{_option(name)} {getattr(self, name)!r}: must be one of {', '.join(known)}"
                )
        for name, least in (
            ("iterations", 1),
            ("burn_in", 0),
            ("thin", 1),
            ("chains", 1),
            ("particles", 2),
            ("moves", 1),
            ("seed", 0),
            ("hyper_every", 1),
        ):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"{_option(name)} {value}: must be at least {least}")
        if self.particles > 10_000:
            raise UsageError(f"--particles {self.particles}: must be at most 10000")
        if self.seed >= 2**63:
            raise UsageError(f"--seed {self.seed}: must be below 2**63")
        if not 0.0 <= self.resample_threshold <= 1.0:
            raise UsageError(f"--resample-threshold {self.resample_threshold}: must lie between 0 and 1")
        if self.iterations is not None and self.burn_in is not None:
            self._check_lengths(self.iterations, self.burn_in)

    def _check_lengths(self, iterations: int, burn_in: int) -> None:
        if burn_in >= iterations:
            raise UsageError(
                f"--burn-in {burn_in}: must be less than the {iterations} iterations, which include it"
            )
        if iterations // self.thin == burn_in // self.thin:
            raise UsageError(
                f"--thin {self.thin}: no iteration between the burn-in's {burn_in} and the last, {iterations}, is saved"
            )

    def resolve(self, num_observations: int) -> Settings:
        """The settings with numbers where the user gave none.

        Iterations: 1,000, fewer for more than 1,500 observations, at least 150. Burn-in: half of them. Split-merge
        moves an iteration: 2, or 1 for more than 5,000 observations.

        Raises
        ------
        UsageError
            The burn-in leaves no iteration.
        """
        iterations = self.iterations
        if iterations is None:
            iterations = max(150, min(1000, 1_500_000 // max(1, num_observations) // 10 * 10))
        burn_in = iterations // 2 if self.burn_in is None else self.burn_in
        self._check_lengths(iterations, burn_in)
        moves = self.moves or (2 if num_observations <= 5000 else 1)
        return replace(self, iterations=iterations, burn_in=burn_in, moves=moves)

    @property
    def lengths(self) -> tuple[int, int]:
        """Iterations and burn-in of resolved settings."""
        if self.iterations is None or self.burn_in is None:
            raise ValueError("resolve the settings first")
        return self.iterations, self.burn_in

    def to_dict(self) -> dict[str, Any]:
        """For the trace and ``run.json``."""
        return asdict(self)


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


@dataclass
class ChainState:
    """All that a chain needs to go on.

    Attributes
    ----------
    iteration : int
        Iterations done.
    labels : (T,) int32
    prior : DirichletProcess
        With its current concentration.
    values : tuple of float
        Current hyperparameters of the likelihood.
    rng : numpy.random.Generator
    anchors : AnchorProposal
    """

    iteration: int
    labels: NDArray[np.int32]
    prior: DirichletProcess
    values: Values
    rng: np.random.Generator
    anchors: AnchorProposal


@dataclass
class Records:
    """Saved iterations of a chain, in order.

    Attributes
    ----------
    iteration, num_clusters : list of int
    labels : list of (T,) int32
        Blocks numbered by first appearance.
    concentration, log_joint, seconds : list of float
        ``seconds`` is the time that the iteration took.
    values : list of tuple of float
        Hyperparameters.
    """

    iteration: list[int] = field(default_factory=list)
    labels: list[NDArray[np.int32]] = field(default_factory=list)
    num_clusters: list[int] = field(default_factory=list)
    concentration: list[float] = field(default_factory=list)
    log_joint: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)


def rebuild_interval(model: Model, num_samples: int = 1) -> int:
    """Iterations between two rebuilds: fewer for large data, where a chain should still stop soon."""
    return max(1, min(10, 1_000_000 // max(1, model.num_observations * num_samples)))


def start_chain(model: Model, prior: DirichletProcess, settings: Settings, chain: int) -> ChainState:
    """The first state of chain number `chain`.

    Raises
    ------
    UsageError
        A start with every observation on its own would not fit in memory.
    """
    T = model.num_observations
    values = model.initial_values()
    if settings.init == "single":
        labels = np.zeros(T, np.int32)
    else:
        needed = T * model.likelihood(values).stat_size() * 8
        if needed > LARGEST_START:
            raise UsageError(
                f"--init disconnected: {T} clusters would need {needed / 2**30:.1f} GB a chain; use --init single"
            )
        labels = np.arange(T, dtype=np.int32)
    seeds = np.random.SeedSequence(settings.seed, spawn_key=(chain,))
    return ChainState(
        0,
        labels,
        prior,
        values,
        np.random.Generator(np.random.PCG64(seeds)),
        ANCHOR_PROPOSALS[settings.anchor_proposal](T),
    )


def advance(
    model: Model,
    settings: Settings,
    state: ChainState,
    rebuild: int,
    until: Callable[[int], bool],
) -> tuple[ChainState, Records, bool]:
    """Run a chain on from `state`.

    Parameters
    ----------
    model : Model
    settings : Settings
        Resolved.
    state : ChainState
        Not changed, but for its generator and anchor proposal, which move on.
    rebuild : int
        Iterations between two rebuilds of the statistics.
    until : callable
        Asked with the number of iterations done wherever the chain may stop (multiples of `rebuild`); True stops it.

    Returns
    -------
    state : ChainState
        From which the chain can go on; where the number of iterations is no multiple of `rebuild`, the state at the
        last multiple.
    records : Records
        The iterations that ``settings.thin`` lets through.
    done : bool
        All iterations are done.
    """
    T = model.num_observations
    iterations, burn_in = settings.lengths
    rng, prior, values = state.rng, state.prior, state.values
    likelihood = model.likelihood(values)
    kind: Any = type(likelihood)
    build = compiled_for(build_partition, kind)
    sweep = compiled_for(gibbs_sweep, kind)
    move = compiled_for(split_merge, kind)
    pool = make_block_pool(settings.particles, likelihood.stat_size())
    log_tau2 = prior.log_tau2(T)
    annealed = settings.targets == "annealed"
    records = Records()
    checkpoint: ChainState | None = None

    partition = build(likelihood, state.labels)
    iteration = state.iteration
    while iteration < iterations:
        started = time.perf_counter()
        if iteration % rebuild == 0 and iteration > state.iteration:
            partition = build(likelihood, partition.labels)
            if until(iteration):
                break
        if iterations - iteration == iterations % rebuild:
            # the last iterations end between two rebuilds: a longer run must start again before them
            checkpoint = ChainState(
                iteration, canonical(partition.labels).astype(np.int32), prior, values, rng, state.anchors
            )
            checkpoint = copy.deepcopy(checkpoint)
        if settings.sampler != "pgsm" or T < 2:
            tables = PartitionPrior(prior.log_tau1(T), log_tau2)
            partition, _ = sweep(likelihood, tables, partition, model.order, rng)
        if settings.sampler != "gibbs" and T > 1:
            tables = PartitionPrior(prior.log_tau1(T), log_tau2)
            for _ in range(settings.moves or 1):
                partition, _, _ = move(
                    likelihood,
                    tables,
                    partition,
                    state.anchors.draw(rng),
                    settings.particles,
                    settings.resample_threshold,
                    annealed,
                    pool,
                    rng,
                )
        if iteration < burn_in:
            state.anchors.adapt(likelihood, partition)
        prior = prior.resample(T, int(partition.counter[0]), rng)
        if model.hyperparameters and iteration % settings.hyper_every == 0:
            values, partition = resample_hyperparameters(model, values, partition, rng)
            likelihood = model.likelihood(values)
        iteration += 1
        if iteration % settings.thin == 0:
            tables = PartitionPrior(prior.log_tau1(T), log_tau2)
            records.iteration.append(iteration)
            records.labels.append(canonical(partition.labels).astype(np.int32))
            records.num_clusters.append(int(partition.counter[0]))
            records.concentration.append(prior.concentration)
            records.log_joint.append(
                log_prior(tables, partition)
                + prior.log_normaliser(T)
                + partition_log_likelihood(likelihood, partition)
                + model.log_hyperprior(values)
            )
            records.values.append(values)
            records.seconds.append(time.perf_counter() - started)
    done = iteration == iterations
    if checkpoint is None:
        checkpoint = ChainState(
            iteration, canonical(partition.labels).astype(np.int32), prior, values, rng, state.anchors
        )
    return checkpoint, records, done


Step = tuple[int, ChainState, Records, bool]


def run_chains(
    model: Model,
    settings: Settings,
    states: list[ChainState],
    rebuild: int,
    threads: int,
    stop: threading.Event,
    segment_seconds: float = 1.0,
) -> Iterator[Step]:
    """Advance all chains in threads until their end, yielding what each segment of each chain gave.

    Parameters
    ----------
    model : Model
    settings : Settings
    states : list of ChainState
        One a chain; chain k of the yielded steps is ``states[k]``.
    rebuild : int
        See :func:`advance`.
    threads : int
        Chains that run at the same time.
    stop : threading.Event
        Once set, every chain stops where it next may, and what was done is still yielded.
    segment_seconds : float
        About how long a segment takes. It has no influence on the chains.

    Yields
    ------
    chain : int
    state : ChainState
        After the segment.
    records : Records
        Of the segment.
    done : bool
        The chain has done all its iterations.
    """

    def segment(chain: int, state: ChainState) -> Step:
        end = time.monotonic() + segment_seconds
        return chain, *advance(
            model, settings, state, rebuild, lambda _: stop.is_set() or time.monotonic() > end
        )

    with ThreadPoolExecutor(threads) as pool:
        running: set[Future[Step]] = set()
        try:
            for chain, state in enumerate(states):
                if state.iteration < settings.lengths[0]:
                    running.add(pool.submit(segment, chain, state))
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda future: future.result()[0]):
                    chain, state, _, finished = future.result()
                    if not finished and not stop.is_set():
                        running.add(pool.submit(segment, chain, copy.deepcopy(state)))
                    yield future.result()
        finally:
            stop.set()


def effective_threads(threads: int | None, chains: int) -> int:
    """Threads to use: those asked for, else one a processor that this process may run on; never more than chains."""
    if threads is None:
        try:
            threads = len(os.sched_getaffinity(0))
        except AttributeError:
            threads = os.cpu_count() or 1
    if threads < 1:
        raise UsageError(f"--threads {threads}: must be at least 1")
    return min(threads, chains)
