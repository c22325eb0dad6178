"""Markov chains over partitions: the moves of an iteration, seeds, threads, stopping.

An iteration takes the steps that the settings name (:func:`make_steps`), then draws which mutations are outliers if the
model has any, and the hyperparameters of the partition prior and of the likelihood. A chain is a function of its
settings and its seed. Everything it needs to go on is a :class:`ChainState`; the statistics of the blocks are computed
anew from the labels every ``rebuild`` iterations (which also keeps rounding errors from piling up), and chains are only
ever stopped there. So a chain that was stopped and resumed gives the same bits as one that was not.
"""

from __future__ import annotations

import copy
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.errors import DensityError, UsageError
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.jit.second_process import await_precompiled
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.likelihoods.model import Model, OutlierModel, Values
from pyclone_pgsm.partition import Partition, PartitionPrior, build_partition, log_prior
from pyclone_pgsm.priors import Prior
from pyclone_pgsm.ranges import check_range
from pyclone_pgsm.samplers.anchors import ANCHOR_PROPOSALS, AnchorProposal
from pyclone_pgsm.samplers.gibbs import gibbs_sweep
from pyclone_pgsm.samplers.hyperparameters import partition_log_likelihood, resample_hyperparameters
from pyclone_pgsm.samplers.initial import initial_labels
from pyclone_pgsm.samplers.many_anchors import split_merge_many
from pyclone_pgsm.samplers.outliers import resample_outliers
from pyclone_pgsm.samplers.particle_gibbs import has_one_merged, make_block_pool, split_merge
from pyclone_pgsm.samplers.resampling import SCHEMES
from pyclone_pgsm.samplers.restricted_gibbs import restricted_gibbs
from pyclone_pgsm.samplers.sams import sams
from pyclone_pgsm.sampling.settings import SAMPLERS
from pyclone_pgsm.sampling.settings import Settings as Settings

MOST_THREADS = 10_000
LARGEST_START = 4 << 30  # bytes of block statistics that a start may need

Step = Callable[[Any, PartitionPrior, Partition, np.random.Generator], Partition]
"""One move of an iteration: likelihood, prior, partition (changed), generator; gives the partition after it."""


@dataclass
class ChainState:
    """All that a chain needs to go on.

    Attributes
    ----------
    iteration : int
        Iterations done.
    labels : (T,) int32
    prior : Prior
        With the current values of its hyperparameters.
    values : tuple of float
        Current hyperparameters of the likelihood.
    rng : numpy.random.Generator
    anchors : AnchorProposal
    outliers : (T,) bool or None
        None if the model has none. They have labels like the others.
    """

    iteration: int
    labels: NDArray[np.int32]
    prior: Prior
    values: Values
    rng: np.random.Generator
    anchors: AnchorProposal
    outliers: NDArray[np.bool_] | None = None


@dataclass
class Records:
    """Saved iterations of a chain, in order.

    Attributes
    ----------
    iteration, num_clusters : list of int
    labels : list of (T,) int32
        Blocks numbered by first appearance; an outlier is a block of its own.
    log_joint, seconds : list of float
        ``seconds`` is the time that the iteration took.
    prior_values : list of tuple of float
        Hyperparameters of the partition prior, the concentration first.
    values : list of tuple of float
        Hyperparameters of the likelihood.
    outliers : list of (T,) bool
        Empty if the model has none. Blocks of outliers do not count in ``num_clusters``.
    """

    iteration: list[int] = field(default_factory=list)
    labels: list[NDArray[np.int32]] = field(default_factory=list)
    num_clusters: list[int] = field(default_factory=list)
    log_joint: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    prior_values: list[Values] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)
    outliers: list[NDArray[np.bool_]] = field(default_factory=list)

    @property
    def concentration(self) -> list[float]:
        """Of the partition prior; NaN if it has none."""
        return [values[0] if values else math.nan for values in self.prior_values]


def rebuild_interval(model: Model, num_samples: int = 1) -> int:
    """Iterations between two rebuilds: fewer for large data, where a chain should still stop soon."""
    return max(1, min(10, 1_000_000 // max(1, model.num_observations * num_samples)))


def start_chain(
    model: Model,
    prior: Prior,
    settings: Settings,
    chain: int,
    start_labels: ArrayLike | None = None,
) -> ChainState:
    """The first state of chain number `chain`.

    Parameters
    ----------
    model : Model
    prior : Prior
    settings : Settings
    chain : int
    start_labels : (T,) array of int or None
        Where to start, in place of ``settings.init``; needed if that is a file's name (see
        :func:`pyclone_pgsm.inputs.labels.read_labels`).

    Raises
    ------
    UsageError
        The start has more clusters than the prior allows or than fit in memory, or is a file that nobody read.
    """
    seeds = np.random.SeedSequence(settings.seed, spawn_key=(chain,))
    rng = np.random.Generator(np.random.PCG64(seeds))
    values = model.initial_values()
    given = settings.init if start_labels is None else start_labels
    labels = initial_labels(given, model.num_observations, rng)
    _check_start(settings.init, labels, prior, model.likelihood(values).stat_size())
    anchors = ANCHOR_PROPOSALS[settings.proposal](model.num_observations)
    outliers = model.outliers if isinstance(model, OutlierModel) else None
    return ChainState(0, labels, prior, values, rng, anchors, outliers)


def _check_start(init: str, labels: NDArray[np.int32], prior: Prior, stat_size: int) -> None:
    clusters = len(np.unique(labels))
    needed = clusters * stat_size * 8
    if needed > LARGEST_START:
        raise UsageError(
            f"--init {init}: {clusters} clusters would need {needed / 2**30:.1f} GB a chain; use --init single"
        )
    most = prior.max_blocks(len(labels))
    if clusters > most:
        raise UsageError(f"--init {init}: {clusters} clusters, but the prior allows {most} at most")


def make_steps(model: Model, settings: Settings, state: ChainState) -> list[Step]:
    """What an iteration does, in order: Gibbs sweeps, then split-merge moves, as many of each as the settings say.

    Fewer observations than anchors cannot be split or merged: they are only swept.

    Parameters
    ----------
    model : Model
    settings : Settings
        Resolved.
    state : ChainState
        Of the chain: its anchor proposal is asked for the anchors of every move.
    """
    likelihood = model.likelihood(state.values)
    kinds = SAMPLERS[settings.sampler] if model.num_observations >= settings.anchors else ("gibbs",)
    steps: list[Step] = []
    for kind in kinds:
        if kind == "gibbs":
            steps += [_gibbs_step(model, likelihood)] * settings.sweeps
        else:
            steps += [_split_merge_step(kind, settings, state.anchors, likelihood)] * (settings.moves or 1)
    return steps


def _gibbs_step(model: Model, likelihood: Any) -> Step:
    sweep = compiled_for(gibbs_sweep, type(likelihood))

    def step(
        likelihood: Any, tables: PartitionPrior, partition: Partition, rng: np.random.Generator
    ) -> Partition:
        partition, _ = sweep(likelihood, tables, partition, model.order, rng)
        return partition

    return step


def _split_merge_step(kind: str, settings: Settings, proposal: AnchorProposal, likelihood: Any) -> Step:
    function, parameters = _split_merge_move(kind, settings, likelihood)
    move = compiled_for(function, type(likelihood))
    likelihood_class = type(likelihood)

    def step(
        likelihood: Any, tables: PartitionPrior, partition: Partition, rng: np.random.Generator
    ) -> Partition:
        anchors = proposal.draw(rng, settings.anchors)
        if function is split_merge:
            await_precompiled(function, likelihood_class)
        partition, _, _ = move(likelihood, tables, partition, anchors, *parameters, rng)
        return partition

    return step


def _split_merge_move(
    kind: str, settings: Settings, likelihood: Any
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function of a split-merge move, and what it takes between the anchors and the generator."""
    if kind == "sams":
        return sams, ()
    if kind == "restricted-gibbs":
        return restricted_gibbs, (settings.scans,)
    particle_gibbs = (
        settings.particles,
        settings.threshold,
        settings.targets == "annealed",
        SCHEMES.index(settings.scheme),
    )
    if settings.anchors > 2:
        return split_merge_many, particle_gibbs
    one_merged = has_one_merged(settings.scheme)
    return split_merge, (
        *particle_gibbs,
        one_merged,
        make_block_pool(settings.particles, likelihood.stat_size()),
    )


def _outlier_step(
    model: OutlierModel,
    values: Values,
    tables: PartitionPrior,
    partition: Partition,
    rng: np.random.Generator,
) -> tuple[OutlierModel, Partition]:
    """The model with its outliers drawn anew, and the partition."""
    likelihood = model.full_likelihood(values)
    outliers = model.outliers.copy()
    sweep = compiled_for(resample_outliers, type(likelihood))
    partition, _ = sweep(likelihood, tables, partition, outliers, model.log_weights(values), model.order, rng)
    return model.given(outliers), partition


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
        An :class:`~pyclone_pgsm.likelihoods.model.OutlierModel` has outliers from half of the burn-in on: at
        first, with few clusters, most mutations would pass for some.
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
    if isinstance(model, OutlierModel) and state.outliers is not None:
        model = model.given(state.outliers)
    likelihood = model.likelihood(values)
    build = compiled_for(build_partition, type(likelihood))
    steps = make_steps(model, settings, state)
    tables = PartitionPrior(prior.log_tau1(T), prior.log_tau2(T))
    records = Records()
    checkpoint: ChainState | None = None

    def state_now() -> ChainState:
        labels = canonical(partition.labels).astype(np.int32)
        outliers = model.outliers if isinstance(model, OutlierModel) else None
        return ChainState(iteration, labels, prior, values, rng, state.anchors, outliers)

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
            checkpoint = copy.deepcopy(state_now())
        for step in steps:
            partition = step(likelihood, tables, partition, rng)
        if iteration < burn_in:
            state.anchors.adapt(likelihood, partition)
        if isinstance(model, OutlierModel) and iteration >= burn_in // 2:
            model, partition = _outlier_step(model, values, tables, partition, rng)
            likelihood = model.likelihood(values)
        prior = prior.resample(partition.sizes[partition.sizes > 0], rng)
        tables = PartitionPrior(prior.log_tau1(T), prior.log_tau2(T))
        values, likelihood = model.draw_conditionals(values, likelihood, partition, rng)
        if iteration % (settings.hyper_every or 1) == 0:
            for _ in range(model.num_proposals):
                values, likelihood, partition = resample_hyperparameters(
                    model, values, likelihood, partition, rng
                )
        iteration += 1
        if iteration % settings.thin == 0:
            records.iteration.append(iteration)
            if isinstance(model, OutlierModel):
                records.labels.append(model.effective(partition.labels).astype(np.int32))
                records.num_clusters.append(model.num_clusters(partition.labels))
                records.outliers.append(model.outliers)
            else:
                records.labels.append(canonical(partition.labels).astype(np.int32))
                records.num_clusters.append(int(partition.counter[0]))
            records.prior_values.append(prior.values())
            records.log_joint.append(
                _log_joint(
                    log_prior(tables, partition) + prior.log_normaliser(T),
                    partition_log_likelihood(likelihood, partition) + model.log_hyperprior(values),
                    iteration,
                )
            )
            records.values.append(values)
            records.seconds.append(time.perf_counter() - started)
    return checkpoint or state_now(), records, iteration == iterations


def _log_joint(log_prior: float, log_likelihood: float, iteration: int) -> float:
    """The sum.

    Raises
    ------
    DensityError
        It is not finite.
    """
    log_joint = log_prior + log_likelihood
    if not math.isfinite(log_joint):
        raise DensityError("likelihood" if math.isfinite(log_prior) else "prior", log_joint, iteration)
    return log_joint


Segment = tuple[int, ChainState, Records, bool]


def run_chains(
    model: Model,
    settings: Settings,
    states: list[ChainState],
    rebuild: int,
    threads: int,
    stop: threading.Event,
    segment_seconds: float = 1.0,
) -> Iterator[Segment]:
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

    def segment(chain: int, state: ChainState) -> Segment:
        end = time.monotonic() + segment_seconds
        return chain, *advance(
            model, settings, state, rebuild, lambda _: stop.is_set() or time.monotonic() > end
        )

    with ThreadPoolExecutor(threads) as pool:
        running: set[Future[Segment]] = set()
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
    check_range("--threads", threads, 1, MOST_THREADS, "no more than one a chain is used")
    return min(threads, chains)
