"""The commands as functions: read, run, resume, summarize, analyze. The command line only parses and prints."""

from __future__ import annotations

import json
import math
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pyclone_pgsm import __version__, outputs
from pyclone_pgsm.chains import (
    ChainState,
    Settings,
    effective_threads,
    rebuild_interval,
    run_chains,
    start_chain,
)
from pyclone_pgsm.errors import OutputError, TraceError, UsageError
from pyclone_pgsm.files import make_folder, refuse_existing, remove, replacing
from pyclone_pgsm.inputs.observations import LeftOut, Observations
from pyclone_pgsm.likelihoods.pyclone import PyCloneModel
from pyclone_pgsm.posterior.summarize import CRITERIA, Diagnostic, Result, kept_rows, summarize
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.trace import RunOptions, Trace, TraceWriter, create_trace, extend_trace
from pyclone_pgsm.tumour.genotypes import GENOTYPE_PRIORS
from pyclone_pgsm.tumour.grid import DENSITIES, LocusTable, choose_grid_size, intern
from pyclone_pgsm.warm import start_warming

if TYPE_CHECKING:
    from pyclone_pgsm.plots import Traces

Progress = Callable[[int, int, int, int], None]
"""Called with the chain, the iterations it has done, those it is to do, and its number of clusters."""

FOLDER_FILES = ("mutations.tsv", "clusters.tsv", "left_out.tsv", "run.json", "trace.h5")
DEPENDENCIES = ("numpy", "scipy", "pandas", "numba", "h5py", "matplotlib")


class Interrupted(Exception):
    """The run was stopped by Ctrl-C or a signal; the trace is kept."""


@dataclass(frozen=True)
class ModelOptions:
    """The tumour model. The names are those of the command line's options.

    Attributes
    ----------
    genotype_prior : str
        See :mod:`pyclone_pgsm.tumour.genotypes`.
    density : {"beta-binomial", "binomial"}
    precision : float or None
        Of the beta-binomial; None infers it.
    grid_size : int or None
        Grid points; None chooses from the data.
    """

    genotype_prior: str = "major"
    density: str = "beta-binomial"
    precision: float | None = None
    grid_size: int | None = None

    def __post_init__(self) -> None:
        if self.genotype_prior not in GENOTYPE_PRIORS:
            raise UsageError(
                f"--genotype-prior {self.genotype_prior!r}: must be one of {', '.join(GENOTYPE_PRIORS)}"
            )
        if self.density not in DENSITIES:
            raise UsageError(f"--density {self.density!r}: must be one of {', '.join(DENSITIES)}")
        if self.precision is not None and not self.precision > 0:
            raise UsageError(f"--precision {self.precision}: must be 'infer' or a positive number")
        if self.grid_size is not None and not 11 <= self.grid_size <= 10_001:
            raise UsageError(f"--grid-size {self.grid_size}: must be 'auto' or between 11 and 10001")


def make_model(table: LocusTable, options: RunOptions) -> PyCloneModel:
    """The PyClone model that a trace's options describe."""
    return PyCloneModel(table, options.grid_size, options.genotype_prior, options.density, options.precision)


@contextmanager
def _stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """Let SIGINT and SIGTERM set `stop` instead of breaking the run off. A second SIGINT breaks it off."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, _: Any) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(
    path: Path,
    model: PyCloneModel,
    options: RunOptions,
    states: list[ChainState],
    threads: int | None,
    progress: Progress | None,
) -> None:
    """Advance the chains of a trace to their end, or until interrupted."""
    stop = threading.Event()
    writer = TraceWriter(path, options.hyperparameters)
    with _stopped_by_signals(stop):
        steps = run_chains(
            model,
            options.settings,
            states,
            options.rebuild,
            effective_threads(threads, len(states)),
            stop,
        )
        interrupted = False
        for chain, state, records, done in steps:
            writer.add(chain, state, records)
            interrupted |= not done and stop.is_set()
            if progress and records.iteration:
                progress(chain, records.iteration[-1], options.settings.lengths[0], records.num_clusters[-1])
        writer.flush()
    if interrupted:
        raise Interrupted


def run(
    observations: Observations,
    left_out: Sequence[LeftOut],
    out: Path,
    model_options: ModelOptions,
    settings: Settings,
    prior: DirichletProcess,
    *,
    threads: int | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> None:
    """Run chains and write their trace.

    Parameters
    ----------
    observations, left_out
        From :func:`pyclone_pgsm.inputs.tables.read_tables`.
    out : Path
        The trace; replaced if it exists.
    model_options : ModelOptions
    settings : Settings
    prior : DirichletProcess
    threads : int or None
        Chains that run at the same time; None: one a processor. No influence on the result.
    command : str
        Noted in the trace.
    progress : callable or None

    Raises
    ------
    Interrupted
        By Ctrl-C or SIGTERM; the trace holds what was done.
    OutputError
        The trace cannot be written.
    """
    settings = settings.resolve(observations.num_mutations)
    if effective_threads(threads, settings.chains) > 1:
        start_warming()
    table = intern(observations)
    grid_size = model_options.grid_size or choose_grid_size(observations, table.num_rows)
    options = RunOptions(
        settings,
        model_options.genotype_prior,
        model_options.density,
        None if model_options.density == "binomial" else model_options.precision,
        grid_size,
        prior.concentration,
        prior.shape,
        prior.rate,
        rebuild=1,
    )
    model = make_model(table, options)
    options = replace(options, rebuild=rebuild_interval(model, observations.num_samples))
    states = [start_chain(model, prior, settings, chain) for chain in range(settings.chains)]
    create_trace(out, observations, left_out, options, command, states)
    _run(out, model, options, states, threads, progress)


def resume(
    path: Path,
    iterations: int | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Go on where a trace stopped; the result has the bits of an uninterrupted run.

    Parameters
    ----------
    path : Path
    iterations : int or None
        New number of iterations in all; None: as the trace says.

    Returns
    -------
    int
        The number of iterations that every chain now has.

    Raises
    ------
    UsageError
        Fewer iterations are asked for than the trace is meant to have.
    TraceError, OutputError, Interrupted
    """
    with Trace(path) as trace:
        trace.check()
        options, observations = trace.options, trace.observations
        states = trace.states()
        total = options.settings.lengths[0]
        finished = all(
            len(chain.iteration) and chain.iteration[-1] + options.settings.thin > total
            for chain in trace.chains
        )
    if iterations is not None:
        if iterations < total:
            raise UsageError(
                f"--iterations {iterations}: {path} is meant to have {total}; give at least that"
            )
        finished = finished and iterations == total
        options = replace(options, settings=replace(options.settings, iterations=iterations))
    effective_threads(threads, len(states))
    if not finished:
        for left_over in path.parent.glob(f".{path.name}.*.part"):  # by a flush that was killed
            left_over.unlink(missing_ok=True)
        extend_trace(path, options)
        _run(path, make_model(intern(observations), options), options, states, threads, progress)
    return options.settings.lengths[0]


def check_criterion(criterion: str) -> None:
    """Refuse an unknown criterion of the consensus partition.

    Raises
    ------
    UsageError
    """
    if criterion not in CRITERIA:
        raise UsageError(f"--consensus {criterion!r}: must be one of {', '.join(CRITERIA)}")


def check_folder(folder: Path, force: bool, *, with_trace: bool = True) -> None:
    """Refuse an output folder that holds results already.

    Raises
    ------
    OutputError
        It does and `force` is False; or it is a file, or cannot be made.
    """
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file: give a folder with -o")
    names = FOLDER_FILES if with_trace else FOLDER_FILES[:-1]
    for name in (*names, "plots"):
        refuse_existing(folder / name, force)


def write_results(
    trace_path: Path,
    folder: Path,
    *,
    criterion: str = "mpear",
    burn_in: int | None = None,
    formats: Sequence[str] = ("png", "pdf"),
    plots: bool = True,
    timings: dict[str, float] | None = None,
) -> Result:
    """Summarize a trace into the tables, ``run.json`` and the pictures of an output folder.

    Parameters
    ----------
    trace_path : Path
    folder : Path
        Made if need be; files in it are replaced.
    criterion : str
        Of the consensus partition.
    burn_in : int or None
        None: that of the run.
    formats : sequence of {"png", "pdf"}
    plots : bool
    timings : dict of str to float
        Seconds of earlier steps, noted in ``run.json``.

    Raises
    ------
    TraceError, OutputError, UsageError
    """
    check_criterion(criterion)
    timings = dict(timings or {})
    started = time.perf_counter()
    with Trace(trace_path) as trace:
        result = summarize(trace, criterion, burn_in)
        timings["summarize"] = time.perf_counter() - started
        make_folder(folder)
        summary = result.summary
        outputs.write_table(
            outputs.mutation_table(summary, trace.observations.annotations), folder / "mutations.tsv"
        )
        outputs.write_table(outputs.cluster_table(summary), folder / "clusters.tsv")
        outputs.write_table(outputs.left_out_table(trace.left_out), folder / "left_out.tsv")
        if plots:
            started = time.perf_counter()
            _draw(trace, result, folder / "plots", burn_in, formats)
            timings["plots"] = time.perf_counter() - started
        report = run_report(trace, result, criterion, burn_in, timings)
    with replacing(folder / "run.json") as temporary:
        temporary.write_text(json.dumps(report, indent=2, allow_nan=False) + "\n")
    return result


def _draw(
    trace: Trace, result: Result, folder: Path, burn_in: int | None, formats: Sequence[str]
) -> list[Path]:
    from pyclone_pgsm.plots import write_plots

    return write_plots(
        folder,
        result.summary,
        (result.coclustered, result.coclustering),
        traces_of(trace, burn_in),
        formats=tuple(formats),
    )


def write_pictures(
    trace_path: Path, folder: Path, criterion: str, burn_in: int | None, formats: Sequence[str]
) -> list[Path]:
    """Draw the pictures of a trace.

    Returns
    -------
    list of Path
        The files written.
    """
    check_criterion(criterion)
    make_folder(folder)
    with Trace(trace_path) as trace:
        return _draw(trace, summarize(trace, criterion, burn_in), folder, burn_in, formats)


def traces_of(trace: Trace, burn_in: int | None) -> Traces:
    """The traced series of all chains as equally long rows, for the picture."""
    from pyclone_pgsm.plots import Traces

    chains = [chain for chain in trace.chains if len(chain.iteration)]
    if not chains:
        raise TraceError(f"{trace.path}: no chain has a saved iteration: resume the trace")
    length = min(len(chain.iteration) for chain in chains)
    iterations = chains[0].iteration[:length]
    skip = trace.options.settings.lengths[1] if burn_in is None else burn_in
    return Traces(
        log_joint=np.array([chain.log_joint[:length] for chain in chains]),
        num_clusters=np.array([chain.num_clusters[:length] for chain in chains]),
        concentration=np.array([chain.concentration[:length] for chain in chains]),
        precision=np.array([chain.hyperparameters["precision"][:length] for chain in chains])
        if "precision" in trace.options.hyperparameters
        else None,
        burn_in=int(np.sum(iterations <= skip)),
        iterations=iterations,
    )


def _number(value: float) -> float | str | None:
    """A number as JSON can hold it."""
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(f"{value:.6g}")


def _diagnostic(diagnostic: Diagnostic, hyperparameters: Sequence[str]) -> dict[str, Any]:
    middle = "median" if diagnostic.name in hyperparameters else "mean"
    return {
        middle: _number(diagnostic.mean),
        "lower": _number(diagnostic.lower),
        "upper": _number(diagnostic.upper),
        "rhat": _number(diagnostic.rhat),
        "ess": _number(diagnostic.ess),
    }


def run_report(
    trace: Trace, result: Result, criterion: str, burn_in: int | None, timings: dict[str, float]
) -> dict[str, Any]:
    """Content of ``run.json``."""
    options, summary = trace.options, result.summary
    return {
        "program": "pyclone-pgsm",
        "version": __version__,
        "command": trace.command,
        "seed": options.settings.seed,
        "options": json.loads(options.to_json().replace("Infinity", '"inf"')),
        "consensus": criterion,
        "burn_in": options.settings.lengths[1] if burn_in is None else burn_in,
        "counts": {
            "samples": len(summary.sample_ids),
            "mutations": len(summary.mutation_ids),
            "left_out": len(trace.left_out),
            "clusters": summary.num_clusters,
            "chains": len(trace.chains),
            "saved_iterations": [len(rows) for rows in kept_rows(trace, burn_in)],
        },
        "diagnostics": {
            diagnostic.name: _diagnostic(diagnostic, options.hyperparameters)
            for diagnostic in result.diagnostics
        },
        "warnings": result.warnings,
        "seconds": {
            **{name: round(seconds, 3) for name, seconds in timings.items()},
            "sampling_all_chains": round(float(sum(chain.seconds.sum() for chain in trace.chains)), 3),
        },
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in DEPENDENCIES},
        },
    }


def analyze(
    observations: Observations,
    left_out: Sequence[LeftOut],
    folder: Path,
    model_options: ModelOptions,
    settings: Settings,
    prior: DirichletProcess,
    *,
    criterion: str = "mpear",
    threads: int | None = None,
    command: str = "",
    progress: Progress | None = None,
    formats: Sequence[str] = ("png", "pdf"),
    plots: bool = True,
) -> Result:
    """Everything: chains, posterior, tables and pictures into one folder.

    Parameters are those of :func:`run` and :func:`write_results`.
    """
    settings = settings.resolve(observations.num_mutations)
    make_folder(folder)
    for (
        name
    ) in FOLDER_FILES:  # what an interrupted run leaves must not stand beside the tables of an older one
        remove(folder / name)
    started = time.perf_counter()
    run(
        observations,
        left_out,
        folder / "trace.h5",
        model_options,
        settings,
        prior,
        threads=threads,
        command=command,
        progress=progress,
    )
    timings = {"chains": time.perf_counter() - started}
    return write_results(
        folder / "trace.h5", folder, criterion=criterion, formats=formats, plots=plots, timings=timings
    )
