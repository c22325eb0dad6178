"""The plan of a run. Making it reveals the user's mistakes before anything is written."""

import copy
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.analyses.kinds import ANALYSES
from pyclone_pgsm.analyses.memory import Estimate, check_memory, estimate, in_processes
from pyclone_pgsm.errors import DensityError, UsageError
from pyclone_pgsm.inputs.labels import read_labels
from pyclone_pgsm.likelihoods.foreign import blamed
from pyclone_pgsm.likelihoods.model import Model
from pyclone_pgsm.likelihoods.registry import BUILT_IN
from pyclone_pgsm.posterior.predictive import block_log_predictives
from pyclone_pgsm.priors import Prior
from pyclone_pgsm.ranges import refuse
from pyclone_pgsm.samplers.initial import INITS, is_file
from pyclone_pgsm.sampling.chain import ChainState, advance, rebuild_interval, start_chain
from pyclone_pgsm.sampling.chains import effective_threads
from pyclone_pgsm.sampling.convergence import SUMMARIES
from pyclone_pgsm.sampling.moves import names_of_moves
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.stopping import stopped_by_signals
from pyclone_pgsm.trace import RunOptions
from pyclone_pgsm.trace.hyperparameters import dataset_name
from pyclone_pgsm.trace.options import Dataset
from pyclone_pgsm.trace.schema import datasets_of_chain

TRIED_ROWS = 5
"""Number of rows at which the density of a plugin is computed before a run."""


@dataclass(frozen=True)
class Plan:
    """A run that is ready to start or to continue, with resolved settings and the state from which each chain starts.

    `threads` is how many chains run at the same time, and `processes` in how many processes they do, or 0; neither
    affects the result. `started` is the ``time.perf_counter`` when planning began.
    """

    data: Dataset
    options: RunOptions
    model: Model
    states: list[ChainState]
    threads: int
    memory: Estimate
    started: float
    processes: int = 0


def make_plan(
    data: Dataset,
    settings: Settings,
    prior: Prior,
    start_labels: ArrayLike | None = None,
    threads: int | None = None,
) -> Plan:
    """Make the model and the first state of every chain, and find the mistakes in data and options.

    Chains start from the partition `start_labels` (T,) if it is given, in place of ``settings.init``. `threads` is how
    many run at the same time; None: one for each processor.
    """
    started, names = time.perf_counter(), data.names
    settings = settings.resolve(len(names))
    if start_labels is not None:
        try:
            start_labels = np.asarray(start_labels)
        except ValueError:
            refuse("start_labels", start_labels, "whole numbers, one for each observation")
        settings = replace(settings, init="given labels")
    elif is_file(settings.start):
        if not Path(settings.start).exists():
            raise UsageError(f"`init` {settings.init!r}: no such file; must be one of {INITS}")
        start_labels = read_labels(Path(settings.start), names)
    threads = effective_threads(threads, settings.chains)
    check_memory(estimate(data, settings, threads))
    model = data.make_model()
    if model.outliers is not None and not prior.is_consistent:
        raise UsageError(
            f"`outlier_prob` cannot be used with the prior {prior.name}: the other mutations would no longer have this "
            "prior; use 0"
        )
    # only the likelihood itself knows the length of its statistic
    stat_size = int(model.likelihood(model.initial_values()).stat_size())
    memory = estimate(data, settings, threads, stat_size)
    check_memory(memory)
    options = RunOptions(
        settings,
        prior.to_dict(len(names) + 1),  # one more, for the predictive density of new observations
        data.options,
        model.hyperparameters,
        rebuild_interval(model, data.num_columns),
        moves=names_of_moves(settings, len(names), model.has_exchanges),
    )
    others = datasets_of_chain(data, replace(options, hyperparameters=()))
    for name in sorted({*others, *SUMMARIES} & set(map(dataset_name, model.hyperparameters))):
        raise UsageError(
            f"`parameters` {name}: cannot be inferred, as chains have a series of that name: rename it"
        )
    states = [start_chain(model, prior, settings, chain, start_labels) for chain in range(settings.chains)]
    plan = with_processes(Plan(data, options, model, states, threads, memory, started))
    rehearse(plan)
    return plan


def with_processes(plan: Plan) -> Plan:
    """Let the chains run in processes, if the model prefers these and there is enough memory."""
    if plan.threads > 1 and plan.model.prefers_processes:
        memory = in_processes(plan.memory, plan.threads)
        if memory is not None:
            return replace(plan, processes=plan.threads, memory=memory)
    return plan


def rehearse(plan: Plan) -> None:
    """Run and discard the next iteration of the first chain.

    So errors occur before a file is written, and machine code is there before processes are forked.
    """
    stop = threading.Event()
    state = copy.deepcopy(plan.states[0])
    settings = replace(plan.options.settings, iterations=state.iteration + 1, burn_in=0, thin=1)
    with stopped_by_signals(stop), density_explained(plan), blamed(plan.options.model.likelihood):
        advance(plan.model, settings, state, plan.options.rebuild, lambda _: True)
    if stop.is_set():
        raise KeyboardInterrupt


def try_density(plan: Plan, values: NDArray[np.float64]) -> None:
    """Compute the density of a plugin, which pictures and new rows need, for the first of the rows (T, D).

    UsageError if this fails, or if it is not finite; it may be 0.
    """
    likelihood, name = plan.model.likelihood(plan.model.initial_values()), plan.options.model.likelihood
    if name not in BUILT_IN and hasattr(likelihood, "log_predictive_new"):
        with blamed(name):
            found = block_log_predictives(likelihood, np.zeros(len(values), np.int32), values[:TRIED_ROWS])
        for row, block in np.argwhere(~(found < np.inf))[:1].tolist():
            raise UsageError(
                f"`likelihood` {name!r}: log_predictive_new returned {found[row, block]} for row {row} (counted from "
                "0); it must return the log of a density, which is finite"
            )


@contextmanager
def density_explained(plan: Plan) -> Iterator[None]:
    """If the joint density is not finite, raise an error that names the options responsible."""
    try:
        yield
    except DensityError as fault:
        if fault.factor == "prior":
            prior = plan.options.prior
            numbers = [f"{name}={value:g}" for name, value in prior.items() if isinstance(value, float | int)]
            options = " ".join([f"`prior` {prior['name']}", *numbers])
        else:
            options = ANALYSES[plan.data.kind].named_options(plan.options.model)
        raise UsageError(f"{options}: {fault}; choose other values") from None
