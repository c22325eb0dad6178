"""A chain: its state, its start, and :func:`advance`, which continues it.

An iteration makes the moves given by the settings (:func:`~pyclone_pgsm.sampling.moves.make_steps`), then draws which
observations are outliers, if the model has any, and the hyperparameters of the partition prior and of the likelihood.
A chain is a deterministic function of its settings and its seed. Everything it needs to continue is a
:class:`ChainState`. The statistics of the blocks are recomputed from the labels every ``rebuild`` iterations, which
also prevents rounding errors from accumulating, and chains are only stopped there. So a chain that was stopped and
resumed gives bit for bit the same draws as one that was not.
"""

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.errors import DensityError, UsageError
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.likelihoods.choice import NO_VISITS, Visits
from pyclone_pgsm.likelihoods.model import Model, Values
from pyclone_pgsm.partition import Partition, PartitionPrior, build_partition, log_prior
from pyclone_pgsm.priors import Prior
from pyclone_pgsm.samplers.anchors import ANCHOR_PROPOSALS, AnchorProposal
from pyclone_pgsm.samplers.hyperparameters import log_densities_of_choice, resample_hyperparameters
from pyclone_pgsm.samplers.initial import initial_labels
from pyclone_pgsm.sampling.moves import make_steps
from pyclone_pgsm.sampling.settings import LARGEST_REBUILD, Settings, start_of

LARGEST_START = 4 << 30  # largest size in bytes of the block statistics of a start


@dataclass
class ChainState:
    """Everything that a chain needs to continue: its ``iteration`` is the number done, ``labels`` are (T,), and
    ``prior`` and ``values`` (those of the likelihood) have the current hyperparameters.

    ``visits`` (V,) counts how often the chain took each value of the model's choices in the second half of the burn-in
    (:class:`~pyclone_pgsm.likelihoods.choice.Visits`), and at its end is changed for the model's costly choices; it is
    empty at the start. ``outliers`` (T,) says which observations are outliers, None if the model has none. Outliers
    have labels like the others.
    """

    iteration: int
    labels: NDArray[np.int32]
    prior: Prior
    values: Values
    rng: np.random.Generator
    anchors: AnchorProposal
    visits: NDArray[np.int64]
    outliers: NDArray[np.bool_] | None = None


@dataclass
class Records:
    """Saved iterations of a chain, in order: one entry of each list per iteration.

    ``labels`` number blocks by first appearance; each outlier is a block of its own, which ``num_clusters`` does not
    count. ``prior_values`` begin with the concentration, ``seconds`` are the time that the iteration took. ``outliers``
    is empty if the model has none, and ``watched``, (W,) each, unless ``settings.watch`` is set. ``moves`` are (M, 4),
    a :class:`~pyclone_pgsm.sampling.moves.MoveInfo` of each of :func:`~pyclone_pgsm.sampling.moves.names_of_moves`.
    """

    iteration: list[int] = field(default_factory=list)
    labels: list[NDArray[np.int32]] = field(default_factory=list)
    num_clusters: list[int] = field(default_factory=list)
    log_joint: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    prior_values: list[Values] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)
    outliers: list[NDArray[np.bool_]] = field(default_factory=list)
    watched: list[NDArray[np.float32]] = field(default_factory=list)
    moves: list[NDArray[np.int64]] = field(default_factory=list)

    @property
    def concentration(self) -> list[float]:
        """Concentration of the partition prior; NaN if it has none."""
        return [values[0] if values else math.nan for values in self.prior_values]


def rebuild_interval(model: Model, num_samples: int = 1) -> int:
    """Return the number of iterations between two rebuilds: fewer for large data, so that chains can stop soon."""
    return max(1, min(LARGEST_REBUILD, 1_000_000 // max(1, model.num_observations * num_samples)))


def start_chain(
    model: Model,
    prior: Prior,
    settings: Settings,
    chain: int,
    start_labels: ArrayLike | None = None,
) -> ChainState:
    """Return the first state of chain number `chain`.

    The (T,) `start_labels` are the start instead of ``settings.init``; they are required if that is the name of a file
    (see :func:`pyclone_pgsm.inputs.labels.read_labels`). UsageError if the start has more clusters than the prior
    allows or than fit in memory.
    """
    seeds = np.random.SeedSequence(settings.seed, spawn_key=(chain,))
    rng = np.random.Generator(np.random.PCG64(seeds))
    values = model.initial_values()
    T = model.num_observations
    init = start_of(chain, settings.start, T, prior.max_blocks(T))
    labels = initial_labels(init if start_labels is None else start_labels, T, rng)
    _check_start(init, labels, prior, int(model.likelihood(values).stat_size()))
    anchors = ANCHOR_PROPOSALS[settings.proposal](model.num_observations)
    return ChainState(0, labels, prior, values, rng, anchors, NO_VISITS, model.outliers)


def _check_start(init: str, labels: NDArray[np.int32], prior: Prior, stat_size: int) -> None:
    clusters = len(np.unique(labels))
    needed = clusters * stat_size * 8
    if needed > LARGEST_START:
        raise UsageError(
            f"`init` {init}: {clusters} clusters would need {needed / 2**30:.1f} GB per chain; use `init` single"
        )
    most = prior.max_blocks(len(labels))
    if clusters > most:
        raise UsageError(f"`init` {init}: {clusters} clusters, but the prior allows {most} at most")


def advance(
    model: Model,
    settings: Settings,
    state: ChainState,
    rebuild: int,
    until: Callable[[int], bool],
) -> tuple[ChainState, Records, bool]:
    """Continue a chain from `state`, which is not changed except for its generator and its anchor proposal.

    At each multiple of `rebuild`, where the statistics of the blocks are computed anew, `until` is called with the
    number of iterations done; if it returns True, the chain stops. Outliers are drawn from the second half of the
    burn-in on: in the first iterations, with few clusters, most observations would be taken for outliers.

    Returns the state from which the chain can continue (that at the last multiple of `rebuild`, if the chain ends
    elsewhere), the iterations saved according to ``settings.thin``, and whether all iterations of the resolved
    `settings` are done.
    """
    T = model.num_observations
    iterations, burn_in = settings.lengths
    rng, prior, values = state.rng, state.prior, state.values
    if state.outliers is not None:
        model = model.given(state.outliers)
    likelihood = model.likelihood(values)
    build = compiled_for(build_partition, type(likelihood))
    steps = make_steps(model, settings, values, state.anchors)
    tables = _prior_of_moves(prior, T)
    visits = Visits(model.choices, state.visits)
    records = Records()
    checkpoint: ChainState | None = None

    def state_now() -> ChainState:
        labels = canonical(partition.labels).astype(np.int32)
        return ChainState(iteration, labels, prior, values, rng, state.anchors, visits.counts, model.outliers)

    partition = build(likelihood, state.labels)
    iteration = state.iteration
    while iteration < iterations:
        started = time.perf_counter()
        if iteration % rebuild == 0 and iteration > state.iteration:
            partition = build(likelihood, partition.labels)
            if until(iteration):
                break
        if iterations - iteration == iterations % rebuild:
            # the last iterations end between two rebuilds: a longer run must restart before them
            checkpoint = copy.deepcopy(state_now())
        infos = []
        for step in steps:
            partition, info = step(likelihood, tables, partition, rng)
            infos.append(info)
        if iteration < burn_in:
            state.anchors.adapt(likelihood, partition)
        if model.outliers is not None and iteration >= burn_in // 2:
            model, partition = model.draw_outliers(values, tables, partition, rng)
            likelihood = model.likelihood(values)
        prior = prior.resample(partition.sizes[partition.sizes > 0], rng)
        tables = _prior_of_moves(prior, T)
        costly = iteration % (settings.hyper_every or 1) == 0
        values, likelihood, partition, log_density = resample_hyperparameters(
            model, values, likelihood, partition, visits.independence, rng, costly
        )
        if costly and burn_in // 2 <= iteration < burn_in:
            visits.add(values)
        iteration += 1
        if iteration == burn_in:
            for which in model.costly_choices:
                visits.add_density(which, log_densities_of_choice(model, values, partition, which))
        if iteration % settings.thin == 0:
            records.iteration.append(iteration)
            _save_partition(records, model, partition)
            records.prior_values.append(prior.values())
            records.log_joint.append(_log_joint(_log_prior(prior, partition), log_density, iteration))
            records.values.append(values)
            records.moves.append(np.array(infos, np.int64))
            if settings.watch:
                records.watched.append(model.watched(likelihood, partition, rng))
            records.seconds.append(time.perf_counter() - started)
    return checkpoint or state_now(), records, iteration == iterations


def _save_partition(records: Records, model: Model, partition: Partition) -> None:
    labels = model.effective(partition.labels).astype(np.int32)
    num_blocks = int(labels.max()) + 1
    records.labels.append(labels)
    if model.outliers is None:
        records.num_clusters.append(num_blocks)
    else:
        records.num_clusters.append(num_blocks - int(model.outliers.sum()))
        records.outliers.append(model.outliers)


def _prior_of_moves(prior: Prior, num_observations: int) -> PartitionPrior:
    """Return the partition prior with the hyperparameters integrated out if possible, otherwise given their values."""
    log_tau1 = prior.integrated_log_tau1(num_observations)
    if log_tau1 is None:
        log_tau1 = prior.log_tau1(num_observations)
    return PartitionPrior(log_tau1, prior.log_tau2(num_observations))


def _log_prior(prior: Prior, partition: Partition) -> float:
    """Return the log density of the partition and the hyperparameters."""
    T = len(partition.labels)
    tables = PartitionPrior(prior.log_tau1(T), prior.log_tau2(T))
    return log_prior(tables, partition) + prior.log_normaliser(T)


def _log_joint(log_prior: float, log_likelihood: float, iteration: int) -> float:
    """Return the sum; raise DensityError if it is not finite."""
    log_joint = log_prior + log_likelihood
    if not math.isfinite(log_joint):
        raise DensityError("likelihood" if math.isfinite(log_prior) else "prior", log_joint, iteration)
    return log_joint
