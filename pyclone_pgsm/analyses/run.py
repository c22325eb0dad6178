"""The commands as functions: read, run, resume, summarize, analyze. The command line only parses and prints."""

from __future__ import annotations

import copy
import json
import math
import os
import platform
import reprlib
import shlex
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
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm import __version__
from pyclone_pgsm.analyses import tables as outputs
from pyclone_pgsm.analyses.memory import Estimate, check_memory, estimate
from pyclone_pgsm.analyses.precompile import compile_ahead
from pyclone_pgsm.errors import DensityError, OutputError, TraceError, UsageError
from pyclone_pgsm.files import (
    check_new,
    finished,
    make_folder,
    refuse_inputs,
    remove,
    remove_leftovers,
    replacing,
    replacing_together,
    take_place,
    unfinished,
)
from pyclone_pgsm.inputs.labels import read_labels
from pyclone_pgsm.inputs.observations import LeftOut, Observations
from pyclone_pgsm.inputs.tumour_content import ContentOption, check_uncertain, uncertain
from pyclone_pgsm.likelihoods.foreign import blamed
from pyclone_pgsm.likelihoods.model import Model
from pyclone_pgsm.locks import writing
from pyclone_pgsm.models import TUMOUR, Data, StoredModel, make_model, names_of, num_columns
from pyclone_pgsm.posterior.mixture import MixtureSummary
from pyclone_pgsm.posterior.predictive import Predictive, has_predictive
from pyclone_pgsm.posterior.rows import kept_rows
from pyclone_pgsm.posterior.states import DEFAULT_THRESHOLDS, Thresholds
from pyclone_pgsm.posterior.summarize import (
    CRITERIA,
    DEFAULT_CRITERION,
    Diagnostic,
    Result,
    predictive,
    summarize,
)
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.priors import Prior
from pyclone_pgsm.samplers.initial import INITS, is_file
from pyclone_pgsm.sampling.chains import (
    ChainState,
    Settings,
    advance,
    effective_threads,
    rebuild_interval,
    run_chains,
    start_chain,
)
from pyclone_pgsm.stopping import PATIENCE, Stopped
from pyclone_pgsm.trace import RunOptions, Trace, TraceWriter, create_trace, extend_trace, renew
from pyclone_pgsm.tumour.genotypes import GENOTYPE_PRIORS
from pyclone_pgsm.tumour.grid import DENSITIES, choose_grid_size, intern
from pyclone_pgsm.tumour.model import PER_SAMPLE, PREVALENCE_PRIORS

if TYPE_CHECKING:
    from pyclone_pgsm.plots import Traces

Progress = Callable[[int, int, int, int], None]
"""Called with the chain, the iterations it has done, those it is to do, and its number of clusters."""

FOLDER_FILES = ("mutations.tsv", "clusters.tsv", "left_out.tsv", "run.json", "trace.h5")
CLUSTER_FILES = ("assignments.tsv", "clusters.tsv", "run.json", "trace.h5")
PICTURES = (
    "cluster_prevalences",
    "cluster_densities",
    "prevalence_scatter",
    "vaf_scatter",
    "coclustering",
    "traces",
    "clusters",
    "cluster_sizes",
    "cluster_means",
    "density",
)
"""Names of all pictures that there are."""
LEAST_PRECISION, MOST_PRECISION = 0.1, 1e9
LEAST_OUTLIERS = 1e-9
BURST = 0.3  # seconds in which the signals of one Ctrl-C come: shells and schedulers send several
PICTURED_DRAWS = 12  # partitions that the picture of a density is the mean of
DEPENDENCIES = ("numpy", "scipy", "pandas", "numba", "h5py", "matplotlib")


def folder_files(options: RunOptions) -> tuple[str, ...]:
    """Names of the files of an output folder, without the pictures."""
    return FOLDER_FILES if options.is_tumour else CLUSTER_FILES


class Interrupted(Exception):
    """The run was stopped by Ctrl-C or a signal; the trace is kept.

    Attributes
    ----------
    trace : Path or None
        Where it is, if it is known.
    """

    def __init__(self, trace: Path | None = None) -> None:
        super().__init__()
        self.trace = trace


@dataclass(frozen=True)
class ModelOptions:
    """The tumour model. The names are those of the command line's options.

    Attributes
    ----------
    genotype_prior : str
        See :mod:`pyclone_pgsm.tumour.genotypes`.
    density : {"beta-binomial", "binomial"}
    precision : float, None or "infer-per-sample"
        Of the beta-binomial, between 0.1 and 1e9, or infinite; None infers it, and ``infer-per-sample`` one of each
        sample.
    grid_size : int or None
        Grid points; None chooses from the data.
    tumour_content : float, Uncertain, mapping of sample to one of these, or None
        As :func:`pyclone_pgsm.inputs.read_counts.tables.read_tables` takes it; distributions are inferred.
    outlier_prob : float
        Probability that a mutation is an outlier (:mod:`pyclone_pgsm.tumour.contaminated`), at least 0 and below 1.
    prevalence_prior : {"learned", "uniform"}
        The prior of a cluster's prevalence in each sample (:mod:`pyclone_pgsm.tumour.base_measure`).
    """

    genotype_prior: str = "major"
    density: str = "beta-binomial"
    precision: float | str | None = None
    grid_size: int | None = None
    tumour_content: ContentOption = None
    outlier_prob: float = 0.0
    prevalence_prior: str = "learned"

    def __post_init__(self) -> None:
        if self.genotype_prior not in GENOTYPE_PRIORS:
            raise UsageError(
                f"--genotype-prior {self.genotype_prior!r}: must be one of {', '.join(GENOTYPE_PRIORS)}"
            )
        if self.density not in DENSITIES:
            raise UsageError(f"--density {self.density!r}: must be one of {', '.join(DENSITIES)}")
        if self.prevalence_prior not in PREVALENCE_PRIORS:
            raise UsageError(
                f"--prevalence-prior {self.prevalence_prior!r}: must be one of {', '.join(PREVALENCE_PRIORS)}"
            )
        if self.precision not in (None, PER_SAMPLE):
            self._check_precision(self.precision)
        check_uncertain(self.tumour_content)
        if self.grid_size is not None and not 11 <= self.grid_size <= 10_001:
            raise UsageError(f"--grid-size {self.grid_size}: must be 'auto' or between 11 and 10001")
        if not 0.0 <= self.outlier_prob < 1.0:
            raise UsageError(f"--outlier-prob {self.outlier_prob}: must be at least 0 and below 1")
        if self.outlier_prob and not LEAST_OUTLIERS <= self.outlier_prob <= 1.0 - LEAST_OUTLIERS:
            raise UsageError(
                f"--outlier-prob {self.outlier_prob}: must be 0, or between {LEAST_OUTLIERS:g} and 1 - "
                f"{LEAST_OUTLIERS:g}: nearer to 0 or 1 no number of mutations would tell the difference"
            )

    @staticmethod
    def _check_precision(precision: object) -> None:
        if not (isinstance(precision, int | float) and precision > 0):
            raise UsageError(f"--precision {precision}: must be 'infer', {PER_SAMPLE!r} or a positive number")
        if not (LEAST_PRECISION <= precision <= MOST_PRECISION or precision == math.inf):
            raise UsageError(
                f"--precision {precision}: must be between {LEAST_PRECISION:g}, below which nearly all reads of a "
                f"mutation would be of one allele, and {MOST_PRECISION:g}, above which it is the binomial (--density "
                "binomial)"
            )

    def store(self, observations: Observations) -> StoredModel:
        """The options as a trace stores them, with the grid that is chosen for these data."""
        grid_size = self.grid_size or choose_grid_size(observations, intern(observations).num_rows)
        contents = uncertain(self.tumour_content, observations.sample_ids)
        return {
            "likelihood": TUMOUR,
            "genotype_prior": self.genotype_prior,
            "density": self.density,
            "precision": None if self.density == "binomial" else self.precision,
            "grid_size": grid_size,
            "prevalence_prior": self.prevalence_prior,
            **(
                {"tumour_content": {sample: list(pair) for sample, pair in contents.items()}}
                if contents
                else {}
            ),
            **({"outlier_prob": self.outlier_prob} if self.outlier_prob else {}),
        }


@dataclass(frozen=True)
class Plan:
    """A run that is ready to begin; making it finds the user's mistakes, and writes nothing.

    Attributes
    ----------
    data : Observations or DataMatrix
    left_out : sequence of LeftOut
    options : RunOptions
        With resolved settings.
    model : Model
    states : list of ChainState
        Where each chain begins.
    memory : Estimate
        What the run will need.
    """

    data: Data
    left_out: Sequence[LeftOut]
    options: RunOptions
    model: Model
    states: list[ChainState]
    memory: Estimate


def make_plan(
    data: Data,
    left_out: Sequence[LeftOut],
    stored: StoredModel,
    settings: Settings,
    prior: Prior,
    start_labels: ArrayLike | None = None,
    threads: int | None = None,
) -> Plan:
    """Make the model and the first state of every chain.

    Parameters
    ----------
    data : Observations or DataMatrix
    left_out : sequence of LeftOut
        Of a tumour.
    stored : dict
        Options of the model (see :mod:`pyclone_pgsm.models`).
    settings : Settings
    prior : Prior
    start_labels : (T,) array of int or None
        Where the chains start, in place of ``settings.init``.
    threads : int or None
        Chains that run at the same time, of which the memory depends; None: one a processor.

    Raises
    ------
    UsageError
        Options that cannot be, a start with more clusters than the prior allows or memory holds, or a run that needs
        more memory than there is.
    DataValueError
        A value that the likelihood cannot take.
    InputError
        The file of a start cannot be used.
    """
    names = names_of(data)
    settings = settings.resolve(len(names))
    if start_labels is not None:
        settings = replace(settings, init="given labels")
    elif is_file(settings.init):
        if not Path(settings.init).exists():
            raise UsageError(f"--init {settings.init!r}: no such file; must be one of {INITS}")
        start_labels = read_labels(Path(settings.init), names)
    at_once = effective_threads(threads, settings.chains)
    memory = estimate(data, stored, settings, at_once)
    check_memory(memory)
    model = make_model(data, stored)
    if stored["likelihood"] != TUMOUR:  # only the likelihood itself knows the length of its statistic
        memory = estimate(data, stored, settings, at_once, int(model.likelihood(()).stat_size()))
        check_memory(memory)
    options = RunOptions(
        settings,
        prior.to_dict(len(names) + 1),  # one more than there are: for the predictive density of new ones
        stored,
        model.hyperparameters,
        rebuild_interval(model, num_columns(data)),
    )
    states = [start_chain(model, prior, settings, chain, start_labels) for chain in range(settings.chains)]
    plan = Plan(data, left_out, options, model, states, memory)
    _rehearse(plan)
    return plan


def _rehearse(plan: Plan) -> None:
    """Run the first iteration of the first chain, and forget it: what cannot run is refused before a file is written.

    Raises
    ------
    UsageError
        A likelihood from elsewhere fails, or the joint density is not finite.
    KeyboardInterrupt
        By Ctrl-C or SIGTERM.
    """
    stop = threading.Event()
    settings = replace(plan.options.settings, iterations=1, burn_in=0, thin=1)
    state = copy.deepcopy(plan.states[0])
    with (
        _stopped_by_signals(stop),
        _density_explained(plan.options),
        blamed(plan.options.model["likelihood"]),
    ):
        advance(plan.model, settings, state, plan.options.rebuild, lambda _: True)
    if stop.is_set():
        raise KeyboardInterrupt


@contextmanager
def _density_explained(options: RunOptions) -> Iterator[None]:
    """Let the message of a joint density that is not finite name the options that it comes from."""
    try:
        yield
    except DensityError as fault:
        raise UsageError(f"{_named_options(options, fault.factor)}: {fault}; choose other values") from None


def _named_options(options: RunOptions, factor: str) -> str:
    """The options that decide on a factor of the joint density, with their values."""
    model = options.model
    if factor == "prior":
        prior = {name: value for name, value in options.prior.items() if isinstance(value, float | int)}
        return " ".join(
            [f"--prior {options.prior['name']}", *(f"{name}={value:g}" for name, value in prior.items())]
        )
    if options.is_tumour:
        names = ["genotype_prior", "density", "precision", "outlier_prob"]
        return " ".join(
            f"--{name.replace('_', '-')} {model[name]}" for name in names if model.get(name) is not None
        )
    given = [f"--param {name}={reprlib.repr(value)}" for name, value in model["parameters"].items()]
    return " ".join([f"--likelihood {model['likelihood']!r}", *given])


@contextmanager
def _stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """Let SIGINT and SIGTERM set `stop` instead of breaking the run off. Only a much later SIGINT breaks it off."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    first = math.inf

    def handle(number: int, _: Any) -> None:
        nonlocal first
        first = min(first, time.monotonic())
        if number == signal.SIGINT and time.monotonic() - first > PATIENCE:
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        if first < math.inf:
            time.sleep(max(0.0, first + BURST - time.monotonic()))
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(
    path: Path,
    model: Model,
    options: RunOptions,
    states: list[ChainState],
    threads: int | None,
    progress: Progress | None,
) -> None:
    """Advance the chains of a trace to their end, or until interrupted."""
    stop = threading.Event()
    writer = TraceWriter(path, options.traced)
    with _stopped_by_signals(stop), _density_explained(options), blamed(options.model["likelihood"]):
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
    model.forget()
    if interrupted:
        raise Interrupted(path)


def start(
    plan: Plan,
    out: Path,
    *,
    threads: int | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> None:
    """Run the chains of a plan, and write their trace.

    Parameters
    ----------
    plan : Plan
    out : Path
        The trace. If it exists, the new one grows under another name (:func:`pyclone_pgsm.files.unfinished`), and
        replaces it when all chains are at their end.
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
        The trace cannot be written, or another process writes it.
    """
    with writing(out):
        take_place(_sample(plan, out, threads, command, progress), out)


def _sample(plan: Plan, out: Path, threads: int | None, command: str, progress: Progress | None) -> Path:
    """Run the chains of a plan, and return their trace: `out`, or its unfinished name if there is an older `out`."""
    path = unfinished(out) if out.exists() else out
    with writing(path):
        create_trace(path, plan.data, plan.left_out, plan.options, command, plan.states)
        try:
            with _resumable(path):
                _run(path, plan.model, plan.options, plan.states, threads, progress)
        except UsageError:
            with Trace(path) as trace:
                is_empty = not any(len(chain.iteration) for chain in trace.chains)
            if is_empty:
                remove(path)
            raise
    return path


@contextmanager
def _resumable(path: Path) -> Iterator[None]:
    """Let whatever ends the work on a trace tell that the trace is kept."""
    try:
        yield
    except (Stopped, KeyboardInterrupt):
        raise Interrupted(path if path.exists() else finished(path)) from None
    except OutputError as problem:
        raise OutputError(
            f"{problem}; {path} is kept: go on with pyclone-pgsm resume {shlex.quote(str(path))}"
        ) from problem


def plan_tumour(
    observations: Observations,
    left_out: Sequence[LeftOut],
    model_options: ModelOptions,
    settings: Settings,
    prior: Prior,
    threads: int | None,
) -> Plan:
    """The plan of a tumour's run; see :func:`make_plan`."""
    compile_ahead(TUMOUR, settings, threads)
    stored = model_options.store(observations)
    return make_plan(observations, left_out, stored, settings, prior, threads=threads)


def run(
    observations: Observations,
    left_out: Sequence[LeftOut],
    out: Path,
    model_options: ModelOptions,
    settings: Settings,
    prior: Prior,
    *,
    threads: int | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> None:
    """Run chains on a tumour and write their trace.

    Parameters
    ----------
    observations, left_out
        From :func:`pyclone_pgsm.inputs.read_counts.tables.read_tables`.
    out : Path
    model_options : ModelOptions
    settings : Settings
    prior : Prior
    threads, command, progress
        See :func:`start`.

    Raises
    ------
    UsageError, InputError, Interrupted, OutputError
        See :func:`make_plan` and :func:`start`.
    """
    plan = plan_tumour(observations, left_out, model_options, settings, prior, threads)
    start(plan, out, threads=threads, command=command, progress=progress)


def resume(
    path: Path,
    iterations: int | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    likelihood: str | None = None,
) -> int:
    """Go on where a trace stopped; the result has the bits of an uninterrupted run.

    Parameters
    ----------
    path : Path
        One with an unfinished name (:func:`pyclone_pgsm.files.unfinished`) takes the place of the older in the end.
    iterations : int or None
        New number of iterations in all; None: as the trace says.
    likelihood : str or None
        The trace's likelihood if it is of a file (see :class:`~pyclone_pgsm.trace.Trace`).

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
    if not path.exists():
        raise TraceError(f"{path}: there is no such file")
    with writing(path), writing(finished(path)):
        return _resume(path, iterations, threads, progress, likelihood)


def _resume(
    path: Path,
    iterations: int | None,
    threads: int | None,
    progress: Progress | None,
    likelihood: str | None,
) -> int:
    with Trace(path, likelihood) as trace:
        trace.check_likelihood()
        trace.check()
        options = trace.options
        states = trace.states()
        total = options.settings.lengths[0]
        is_done = all(
            len(chain.iteration) and chain.iteration[-1] + options.settings.thin > total
            for chain in trace.chains
        )
        if iterations is not None:
            if iterations < total:
                raise UsageError(
                    f"--iterations {iterations}: {path} is meant to have {total}; give at least that"
                )
            is_done = is_done and iterations == total
            options = replace(options, settings=replace(options.settings, iterations=iterations))
        at_once = effective_threads(threads, len(states))
        if not is_done:
            check_memory(estimate(trace.data, options.model, options.settings, at_once))
        model = None if is_done else trace.model()
    remove_leftovers(Path(os.path.realpath(path)).parent)
    with _resumable(path):
        if model is not None:
            renew(path)
            extend_trace(path, options)
            _run(path, model, options, states, threads, progress)
    take_place(path, finished(path))
    return options.settings.lengths[0]


def check_criterion(criterion: str | None) -> None:
    """Refuse an unknown criterion of the consensus partition; None is the default.

    Raises
    ------
    UsageError
    """
    if criterion not in (None, *CRITERIA):
        raise UsageError(f"--consensus {criterion!r}: must be one of {', '.join(CRITERIA)}")


def check_folder(
    folder: Path, force: bool, names: Sequence[str] = FOLDER_FILES, inputs: Sequence[Path] = ()
) -> None:
    """Refuse an output folder that holds results already, or whose files would replace what is read.

    Parameters
    ----------
    folder : Path
    force : bool
    names : sequence of str
        The files that will be written.
    inputs : sequence of Path

    Raises
    ------
    OutputError
        One of them exists and `force` is False, or is an input; or the folder is a file, or could not be made.
    """
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file: give a folder with -o")
    refuse_inputs([folder / name for name in names], inputs)
    for name in (*names, "plots"):
        check_new(folder / name, force)


def write_results(
    trace_path: Path,
    folder: Path,
    *,
    criterion: str | None = None,
    burn_in: int | None = None,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    formats: Sequence[str] = ("png", "pdf"),
    plots: bool = True,
    timings: dict[str, float] | None = None,
    memory: Estimate | None = None,
    likelihood: str | None = None,
) -> Result:
    """Summarize a trace into the tables, ``run.json`` and the pictures of an output folder.

    Parameters
    ----------
    trace_path : Path
    folder : Path
        Made if need be; files in it are replaced when all of the new ones are whole.
    criterion : str or None
        Of the consensus partition.
    burn_in : int or None
        None: that of the run.
    thresholds : Thresholds
        Of presence and clonality, for a tumour.
    formats : sequence of {"png", "pdf"}
    plots : bool
    timings : dict of str to float
        Seconds of earlier steps, noted in ``run.json``.
    memory : Estimate or None
        Noted in ``run.json``; None: that of the run with a chain a processor.
    likelihood : str or None
        The trace's likelihood if it is of a file (see :class:`~pyclone_pgsm.trace.Trace`).

    Raises
    ------
    TraceError, OutputError, UsageError
    """
    check_criterion(criterion)
    timings = dict(timings or {})
    started = time.perf_counter()
    with replacing_together(), Trace(trace_path, likelihood) as trace:
        trace.check_likelihood()
        trace.check()
        with blamed(trace.options.model["likelihood"]):
            result = summarize(trace, criterion, burn_in, thresholds)
        timings["summarize"] = time.perf_counter() - started
        make_folder(folder)
        _remove_pictures(folder / "plots")
        for name, table in outputs.tables(trace, result).items():
            outputs.write_table(table, folder / name)
        if plots:
            started = time.perf_counter()
            _draw(trace, result, folder / "plots", burn_in, formats)
            timings["plots"] = time.perf_counter() - started
        if memory is None:
            settings = trace.options.settings
            at_once = effective_threads(None, settings.chains)
            memory = estimate(trace.data, trace.options.model, settings, at_once)
        report = run_report(trace, result, criterion, burn_in, timings, memory)
        with replacing(folder / "run.json") as temporary:
            temporary.write_text(json.dumps(report, indent=2, allow_nan=False) + "\n")
    return result


def _draw(
    trace: Trace, result: Result, folder: Path, burn_in: int | None, formats: Sequence[str]
) -> list[Path]:
    coclustering = (result.coclustered, result.coclustering)
    traces = traces_of(trace, burn_in)
    if isinstance(result.summary, Summary):
        from pyclone_pgsm.plots import write_plots

        return write_plots(folder, result.summary, coclustering, traces, formats=tuple(formats))
    found = predictive(trace, result.chain_weights, burn_in, PICTURED_DRAWS)
    return _draw_mixture(trace, result.summary, found, folder, coclustering, traces, formats)


def _draw_mixture(
    trace: Trace,
    summary: MixtureSummary,
    found: Predictive,
    folder: Path,
    coclustering: tuple[NDArray[np.int64], NDArray[np.float64]],
    traces: Traces,
    formats: Sequence[str],
) -> list[Path]:
    from pyclone_pgsm.plots.mixture import write_mixture_plots

    name = trace.options.model["likelihood"]

    def density(points: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(found.log_density(points))

    return write_mixture_plots(
        folder,
        name if name in ("normal", "bernoulli") else "other",
        trace.matrix.values,
        summary.labels,
        summary.assignment_prob,
        summary.parameters,
        coclustering,
        traces,
        density if has_predictive(found.likelihood) else None,
        tuple(formats),
        row_names=summary.row_names,
        column_names=summary.column_names,
    )


def write_pictures(
    trace_path: Path,
    folder: Path,
    criterion: str | None,
    burn_in: int | None,
    formats: Sequence[str],
    likelihood: str | None = None,
) -> list[Path]:
    """Draw the pictures of a trace. Parameters are those of :func:`write_results`.

    Returns
    -------
    list of Path
        The files written.
    """
    check_criterion(criterion)
    with replacing_together(), Trace(trace_path, likelihood) as trace:
        trace.check_likelihood()
        trace.check()
        result = summarize(trace, criterion, burn_in)
        make_folder(folder)
        _remove_pictures(folder)
        return _draw(trace, result, folder, burn_in, formats)


def _remove_pictures(folder: Path) -> None:
    """So that no picture of an earlier result stands beside those of this one."""
    for name in PICTURES:
        for ending in ("png", "pdf"):
            remove(folder / f"{name}.{ending}")


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
        concentration=np.array([chain.concentration[:length] for chain in chains])
        if trace.options.first_prior.hyperparameters
        else None,
        hyperparameters={
            name: np.array([chain.hyperparameters[name][:length] for chain in chains])
            for name in trace.options.hyperparameters
        },
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
    trace: Trace,
    result: Result,
    criterion: str | None,
    burn_in: int | None,
    timings: dict[str, float],
    memory: Estimate,
) -> dict[str, Any]:
    """Content of ``run.json``."""
    options, data = trace.options, trace.data
    counts = {"rows": len(names_of(data)), "columns": num_columns(data)}
    if options.is_tumour:
        counts = {
            "samples": num_columns(data),
            "mutations": len(names_of(data)),
            "left_out": len(trace.left_out),
        }
    return {
        "program": "pyclone-pgsm",
        "version": __version__,
        "command": trace.command,
        "seed": options.settings.seed,
        "options": json.loads(options.to_json().replace("Infinity", '"inf"')),
        "consensus": criterion or DEFAULT_CRITERION,
        "burn_in": options.settings.lengths[1] if burn_in is None else burn_in,
        **(result.summary.thresholds._asdict() if isinstance(result.summary, Summary) else {}),
        "counts": {
            **counts,
            "clusters": result.summary.num_clusters,
            **({"outliers": int(np.sum(result.summary.labels < 0))} if options.has_outliers else {}),
            "chains": len(trace.chains),
            "saved_iterations": [len(rows) for rows in kept_rows(trace, burn_in)],
        },
        "diagnostics": {
            diagnostic.name: _diagnostic(diagnostic, options.hyperparameters)
            for diagnostic in result.diagnostics
        },
        "chain_weights": [_number(weight) for weight in result.chain_weights.tolist()],
        "warnings": result.warnings,
        "seconds": {
            **{name: round(seconds, 3) for name, seconds in timings.items()},
            "sampling_all_chains": round(float(sum(chain.seconds.sum() for chain in trace.chains)), 3),
        },
        "memory_estimate_mb": memory.in_megabytes(),
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
    prior: Prior,
    *,
    criterion: str | None = None,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    threads: int | None = None,
    command: str = "",
    progress: Progress | None = None,
    formats: Sequence[str] = ("png", "pdf"),
    plots: bool = True,
) -> Result:
    """Everything: chains, posterior, tables and pictures of a tumour into one folder.

    Parameters are those of :func:`run` and :func:`write_results`.
    """
    started = time.perf_counter()
    plan = plan_tumour(observations, left_out, model_options, settings, prior, threads)
    return fill_folder(
        plan,
        folder,
        started,
        criterion=criterion,
        thresholds=thresholds,
        threads=threads,
        command=command,
        progress=progress,
        formats=formats,
        plots=plots,
    )


def fill_folder(
    plan: Plan,
    folder: Path,
    started: float,
    *,
    criterion: str | None,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    threads: int | None,
    command: str,
    progress: Progress | None,
    formats: Sequence[str],
    plots: bool,
) -> Result:
    """Run the chains of a plan and write an output folder.

    An older trace, tables and pictures stay until all the new ones are whole, and are then replaced together.

    Parameters
    ----------
    plan : Plan
    folder : Path
    started : float
        When the making of the plan began, by ``time.perf_counter``.
    criterion, thresholds, formats, plots
        See :func:`write_results`.
    threads, command, progress
        See :func:`start`.
    """
    make_folder(folder)
    with writing(folder / "trace.h5"):
        trace = _sample(plan, folder / "trace.h5", threads, command, progress)
        timings = {"chains": time.perf_counter() - started}
        with _resumable(trace), replacing_together():
            result = write_results(
                trace,
                folder,
                criterion=criterion,
                thresholds=thresholds,
                formats=formats,
                plots=plots,
                timings=timings,
                memory=plan.memory,
                likelihood=plan.options.model["likelihood"],
            )
            take_place(trace, folder / "trace.h5")
    return result
