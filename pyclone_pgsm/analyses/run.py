"""Running chains: start them, resume them, or fill a whole output folder. The command line only parses and prints."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from pyclone_pgsm.analyses.matrix_input import mixture_settings
from pyclone_pgsm.analyses.memory import check_memory, estimate
from pyclone_pgsm.analyses.plan import (
    Plan,
    density_explained,
    make_plan,
    rehearse,
    try_density,
    with_processes,
)
from pyclone_pgsm.analyses.precompile import compile_ahead
from pyclone_pgsm.analyses.reading import Reading
from pyclone_pgsm.analyses.results import write_results
from pyclone_pgsm.errors import OutputError, TraceError, UsageError
from pyclone_pgsm.files import (
    finished,
    how_to_continue,
    make_folder,
    remove,
    remove_leftovers,
    replacing_together,
    take_place,
    unfinished,
)
from pyclone_pgsm.likelihoods.foreign import blamed
from pyclone_pgsm.likelihoods.registry import is_likelihood_file
from pyclone_pgsm.locks import writing
from pyclone_pgsm.posterior.convergence import monitor_of
from pyclone_pgsm.posterior.states import Thresholds
from pyclone_pgsm.posterior.summarize import Findings
from pyclone_pgsm.priors import Prior
from pyclone_pgsm.sampling.chains import effective_threads, run_chains, run_until_converged
from pyclone_pgsm.sampling.convergence import Monitor, next_check
from pyclone_pgsm.sampling.settings import Settings, rounded_up
from pyclone_pgsm.sampling.workers import Workers
from pyclone_pgsm.stopping import Interrupted, Stopped, stopped_by_signals
from pyclone_pgsm.trace import RunOptions, Trace, TraceWriter, change_options, create_trace
from pyclone_pgsm.trace.matrix import MatrixData
from pyclone_pgsm.trace.tumour import TumourData
from pyclone_pgsm.tumour.options import ModelOptions as ModelOptions

Progress = Callable[[int, int, int, int], None]
"""Called with a chain, the iterations it has done, those it is to do, and its number of clusters."""


def _run(path: Path, plan: Plan, progress: Progress | None) -> RunOptions:
    """Advance the chains of a trace to their end, or until interrupted; return the options that it then has."""
    stop = threading.Event()
    model, options, settings = plan.model, plan.options, plan.options.settings
    writer = TraceWriter(path, options.traced)
    monitor: Monitor | None = None
    with (
        stopped_by_signals(stop),
        threadpool_limits(1, user_api="blas"),  # more would slow down the chains, and change the last digits
        density_explained(plan),
        blamed(options.model.likelihood),
        Workers(model, plan.processes) as workers,
    ):
        run = workers, settings, plan.states, options.rebuild, plan.threads, stop
        if settings.until_converged:
            with Trace(path) as trace:
                monitor = monitor_of(trace)
        try:
            with closing(run_until_converged(*run, monitor) if monitor else run_chains(*run)) as segments:
                for chain, state, records, _ in segments:
                    writer.add(chain, state, records)
                    if progress and records.iteration:
                        total = settings.lengths[0]
                        if monitor:
                            total = min(total, next_check(records.iteration[-1], model.num_observations))
                        progress(chain, records.iteration[-1], total, records.num_clusters[-1])
        finally:
            writer.flush()  # also what was done before `progress` raised an error
    model.forget()
    if stop.is_set():
        raise KeyboardInterrupt
    if monitor and (end := monitor.end):
        is_full = end.iterations > settings.lengths[0] - options.rebuild
        stopped = "converged" if end.converged else "max-iterations" if is_full else "max-time"
        actual = replace(settings, iterations=end.iterations, burn_in=end.burn_in)
        options = replace(options, settings=actual, stopped=stopped)
        change_options(path, options)
    return options


def start(plan: Plan, out: Path, *, command: str = "", progress: Progress | None = None) -> None:
    """Run the chains of a plan, and write their trace to `out`, with the `command` that made it.

    Its folder is made if it does not exist. If `out` exists, the new trace is written under another name
    (:func:`pyclone_pgsm.files.unfinished`), and replaces it when all chains have ended. `Interrupted` is raised at
    Ctrl-C or SIGTERM; the trace then has the iterations done.
    """
    make_folder(out.parent)
    with writing(out):
        take_place(_sample(plan, out, command, progress), out)


def _sample(plan: Plan, out: Path, command: str, progress: Progress | None) -> Path:
    """Run the chains of a plan, and return their trace: `out`, or its unfinished name if there is an older `out`."""
    path = unfinished(out) if out.exists() else out
    with writing(path):
        create_trace(path, plan.data, plan.options, command, plan.states)
        try:
            with _resumable(path, plan.options.model.likelihood):
                _run(path, plan, progress)
        except UsageError:
            with Trace(path) as trace:
                is_empty = not any(len(chain.iteration) for chain in trace.chains)
            if is_empty:
                remove(path)
            raise
    return path


@contextmanager
def _resumable(path: Path, likelihood: str | None) -> Iterator[None]:
    """Let errors and interruptions during work on a trace report that it is kept, and how to continue it."""
    code = likelihood if likelihood and is_likelihood_file(likelihood) else None
    try:
        yield
    except (Stopped, KeyboardInterrupt):
        kept = path if path.exists() else finished(path)
        raise Interrupted(f"the trace is kept: {how_to_continue(kept, code)}") from None
    except OutputError as problem:
        raise OutputError(f"{problem}; {path} is kept: {how_to_continue(path, code)}") from problem


def plan_tumour(
    reading: Reading, model: ModelOptions, settings: Settings, prior: Prior, threads: int | None
) -> Plan:
    """Make the plan of a tumour's run; see :func:`~pyclone_pgsm.analyses.plan.make_plan`."""
    options = replace(model, tumour_content=reading.content).resolve(reading.observations)
    data = TumourData(reading.observations, reading.left_out, options, reading.warnings)
    return make_plan(data, settings, prior, threads=threads)


def plan_matrix(
    data: MatrixData,
    settings: Settings,
    prior: Prior,
    start_labels: ArrayLike | None = None,
    threads: int | None = None,
) -> Plan:
    """Make the plan of a matrix's run; see :func:`~pyclone_pgsm.analyses.plan.make_plan`."""
    settings = mixture_settings(settings, len(data.names))
    compile_ahead(data.options.likelihood, settings, threads)
    plan = make_plan(data, settings, prior, start_labels, threads)
    try_density(plan, data.matrix.values)
    return plan


def resume(
    path: Path,
    iterations: int | str | None = None,
    *,
    max_iterations: int | None = None,
    max_time: float | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    likelihood: str | None = None,
    command: str = "",
) -> int:
    """Continue the chains of a trace, and return the number of iterations that every chain now has.

    The result is identical, bit by bit, to that of an uninterrupted run. A trace with an unfinished name
    (:func:`pyclone_pgsm.files.unfinished`) replaces the older trace at the end.

    `iterations` is the new total, or "auto": until the chains have converged. None: as in the trace. `max_iterations`
    and `max_time`, in seconds, limit chains that run until they have converged. None: as in the trace; if they had
    stopped there, twice the iterations, and no limit of time. `likelihood` is that of the trace if its code is in a
    file (see :class:`~pyclone_pgsm.trace.Trace`). `command` is stored in the trace after the earlier ones.
    """
    if not path.exists():
        raise TraceError(f"{path}: there is no such file")
    with writing(path), writing(finished(path)), _resumable(path, likelihood):
        with Trace(path, likelihood) as trace:
            trace.check_likelihood()
            trace.check()
            options = trace.options
            longer = prolonged(trace, iterations, max_iterations, max_time)
            threads = effective_threads(threads, len(trace.chains))
            plan = None if longer is None else _continued(trace, longer, threads)
        remove_leftovers(Path(os.path.realpath(path)).parent)
        if plan is not None:
            change_options(path, plan.options, command)
            options = _run(path, plan, progress)
        take_place(path, finished(path))
    return options.settings.lengths[0]


def prolonged(
    trace: Trace,
    iterations: int | str | None = None,
    max_iterations: int | None = None,
    max_time: float | None = None,
) -> RunOptions | None:
    """Return the options with which the chains of a trace continue; None if there is nothing to do.

    Parameters and errors are those of :func:`resume`.
    """
    given: dict[str, Any] = {"max_iterations": max_iterations, "max_time": max_time}
    number = iterations if isinstance(iterations, int) else None
    Settings(iterations=number, **given)  # refuses values out of range, and limits for a given number
    if number is not None:
        return _with_iterations(trace, number)
    if iterations == "auto" or trace.options.settings.until_converged:
        return _until_converged(trace, max_iterations, max_time)
    limits = [f"`{name}` {value:g}" for name, value in given.items() if value is not None]
    if limits:
        raise UsageError(
            f"{limits[0]}: the chains of {trace.path} have a fixed number of iterations: give `iterations` auto, too, "
            "to let them run until they have converged"
        )
    return _with_iterations(trace, trace.options.settings.lengths[0])


def _with_iterations(trace: Trace, iterations: int) -> RunOptions | None:
    options, settings = trace.options, trace.options.settings
    total, burn_in = settings.lengths
    if settings.until_converged and options.stopped in (None, "max-time"):
        total = max(chain.last_iteration for chain in trace.chains)
        burn_in = max(burn_in if burn_in < iterations else 0, iterations // 2)
    if iterations < total:
        raise UsageError(
            f"`iterations` {iterations}: {trace.path} is meant to have {total}; give at least that"
        )
    is_done = all(chain.last_iteration + settings.thin > iterations for chain in trace.chains)
    if is_done and not settings.until_converged:
        return None
    settings = replace(
        settings,
        iterations=iterations,
        burn_in=burn_in,
        until_converged=False,
        max_iterations=None,
        max_time=None,
    )
    return replace(options, settings=settings, stopped=None)


def _until_converged(trace: Trace, max_iterations: int | None, max_time: float | None) -> RunOptions | None:
    options, settings = trace.options, trace.options.settings
    ends = [chain.last_iteration for chain in trace.chains]
    done = max(ends)
    if max_iterations is not None and max_iterations < done:
        raise UsageError(f"`max_iterations` {max_iterations}: {trace.path} has {done} already; give more")
    if options.stopped == "converged":
        return None
    if not settings.until_converged:
        most = Settings().resolve(len(trace.data.names)).lengths[0]
        most = max(most, 2 * done)
    else:
        most = max(done, settings.max_iterations or settings.lengths[0])
        all_at_limit = len(set(trace.seeds)) > 1 and min(ends) >= most  # merged runs that stopped there
        if options.stopped == "max-iterations" or all_at_limit:
            most = 2 * done
    if max_iterations is not None:
        most = rounded_up(max_iterations)
    if max_time is None and options.stopped is None:
        max_time = settings.max_time
    burn_in = settings.lengths[1]
    if options.stopped is not None:  # perhaps before the chains had adapted for as long as they do by default
        burn_in = max(burn_in, Settings(max_iterations=most).resolve(len(trace.data.names)).lengths[1])
    settings = replace(
        settings,
        iterations=most,
        burn_in=burn_in,
        max_iterations=most,
        max_time=max_time,
        until_converged=True,
    )
    return replace(options, settings=settings, stopped=None)


def _continued(trace: Trace, options: RunOptions, threads: int) -> Plan:
    """Make the plan for continuing the chains of a trace."""
    started = time.perf_counter()
    memory = estimate(trace.data, options.settings, threads)
    check_memory(memory)
    states, model = trace.states(), trace.model
    trace.check_visits(states, model)
    plan = with_processes(Plan(trace.data, options, model, states, threads, memory, started))
    if plan.processes:
        rehearse(plan)
    return plan


class ResultOptions(TypedDict, total=False):
    """Options of :func:`~pyclone_pgsm.analyses.results.write_results`."""

    criterion: str | None
    thresholds: Thresholds
    formats: Sequence[str]
    pages: Sequence[str]


def fill_folder(
    plan: Plan,
    folder: Path,
    *,
    command: str = "",
    progress: Progress | None = None,
    **results: Unpack[ResultOptions],
) -> Findings[Any]:
    """Run the chains of a plan and write an output folder; see :func:`start` and `write_results` for the arguments.

    An older trace, tables and pictures are kept until all new ones are complete, and are then replaced together.
    """
    make_folder(folder)
    with writing(folder / "trace.h5"):
        trace = _sample(plan, folder / "trace.h5", command, progress)
        timings = {"chains": time.perf_counter() - plan.started}
        likelihood = plan.options.model.likelihood
        with _resumable(trace, likelihood), replacing_together():
            result = write_results(
                trace,
                folder,
                timings=timings,
                memory=plan.memory,
                likelihood=likelihood,
                threads=plan.threads,
                **results,
            )
            take_place(trace, folder / "trace.h5")
    return result
