"""What commands share: their options, how their values are parsed, and how mistakes are told."""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from pyclone_pgsm.errors import PycloneError, UsageError
from pyclone_pgsm.files import finished
from pyclone_pgsm.jit.second_process import stop_precompiling
from pyclone_pgsm.stopping import EXIT_CODE, Stopped

if TYPE_CHECKING:
    from pyclone_pgsm.posterior.summarize import Result
    from pyclone_pgsm.priors import Prior
    from pyclone_pgsm.sampling.chains import Settings

LONGEST_SHOWN = 60
MODEL, PRIOR, CHAINS, OUTPUT = "Tumour model", "Partition prior", "Chains", "Output"

Options = dict[str, tuple[Any, Any]]
"""Annotation and default of each option of a group, by the name of its parameter."""


def taking(*groups: Options) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator: a command takes the options of these groups after its own. It finds them in ``context.params``."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function, eval_str=True)

        @wraps(function)
        def command(**given: Any) -> None:
            function(**{name: given[name] for name in own.parameters})

        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for group in groups
            for name, (annotation, default) in group.items()
        ]
        # what typer reads the parameters from
        command.__signature__ = own.replace(parameters=[*own.parameters.values(), *shared])  # type: ignore[attr-defined]
        command.__annotations__ = {}
        del command.__wrapped__
        return command

    return decorate


def option(kind: Any, name: str, text: str, panel: str, metavar: str | None = None) -> Any:
    """The annotation of an option."""
    return Annotated[kind, typer.Option(*name.split("|"), metavar=metavar, help=text, rich_help_panel=panel)]


def _named(text: str) -> Path:
    """The path of an output; a pipeline's unset variable must not mean the folder that it runs in."""
    if not text.strip():
        raise typer.BadParameter("is empty: give a name")
    return Path(text)


def output_option(text: str, metavar: str = "OUT") -> Any:
    """The option ``-o``."""
    return typer.Option("-o", "--out", metavar=metavar, help=text, rich_help_panel=OUTPUT, parser=_named)


TUMOUR_OPTIONS: Options = {
    "tumour_content": (
        option(
            list[str] | None,
            "--tumour-content",
            "Share of cancer cells, for all samples or for one (repeatable); wins over the column. With ±SD (or +-SD) "
            "it is inferred.",
            MODEL,
            "FLOAT|FLOAT±SD|SAMPLE=..",
        ),
        None,
    ),
    "error_rate": (
        option(
            float | None,
            "--error-rate",
            "Sequencing error rate; wins over the column. Inferred if neither is there.",
            MODEL,
        ),
        None,
    ),
    "genotype_prior": (
        option(str, "--genotype-prior", "major, parental, total, ab, bb or no-zygosity.", MODEL, "NAME"),
        "major",
    ),
}

DENSITY_OPTIONS: Options = {
    "density": (option(str, "--density", "beta-binomial or binomial.", MODEL, "NAME"), "beta-binomial"),
    "precision": (
        option(
            str,
            "--precision",
            "Precision of the beta-binomial: one for all reads, one of each sample, or a number.",
            MODEL,
            "infer|infer-per-sample|FLOAT",
        ),
        "infer",
    ),
    "grid_size": (option(str, "--grid-size", "Grid points of the prevalence.", MODEL, "auto|INT"), "auto"),
    "prevalence_prior": (
        option(
            str,
            "--prevalence-prior",
            "Prior of a cluster's prevalence in a sample: learned (near 0, near 1 or anywhere, in shares that are "
            "learned for each sample) or uniform (PyClone's).",
            MODEL,
            "NAME",
        ),
        "learned",
    ),
    "outlier_prob": (
        option(
            float,
            "--outlier-prob",
            "Probability that a mutation is an artefact that belongs to no cluster (then cluster -1).",
            MODEL,
        ),
        0.0,
    ),
}

PRIOR_OPTIONS: Options = {
    "prior": (
        option(
            str,
            "--prior",
            "dp (Dirichlet process), pitman-yor or finite (symmetric Dirichlet).",
            PRIOR,
            "NAME",
        ),
        "dp",
    ),
    "concentration": (option(float, "--concentration", "Concentration at the start.", PRIOR), 1.0),
    "concentration_prior": (
        option(str, "--concentration-prior", "Gamma prior of the concentration.", PRIOR, "SHAPE,RATE|fixed"),
        "1,0.1",
    ),
    "discount": (
        option(str, "--discount", "Discount of the Pitman-Yor process.", PRIOR, "infer|FLOAT"),
        "infer",
    ),
    "max_clusters": (
        option(int | None, "--max-clusters", "Components of the finite prior; it needs them.", PRIOR),
        None,
    ),
}

BURN_IN = option(int | None, "--burn-in", "Iterations that summaries skip. \\[default: half]", CHAINS)
SEED = option(int, "--seed", "Seed of the random numbers.", CHAINS)
THREADS = option(
    int | None,
    "--threads",
    "Chains run at the same time; no influence on the result. \\[default: processors]",
    CHAINS,
)

CHAIN_OPTIONS: Options = {
    "sampler": (
        option(
            str,
            "--sampler",
            "mixed (Gibbs and particle Gibbs split-merge), pgsm, gibbs, sams, mixed-sams, restricted-gibbs or "
            "mixed-restricted-gibbs.",
            CHAINS,
            "NAME",
        ),
        "mixed",
    ),
    "sweeps": (option(int, "--sweeps", "Gibbs sweeps an iteration.", CHAINS), 1),
    "moves": (
        option(
            int | None,
            "--moves",
            "Split-merge moves an iteration. \\[default: 4; 1 for large data]",
            CHAINS,
        ),
        None,
    ),
    "particles": (option(int, "--particles", "Particles of a pgsm move.", CHAINS), 20),
    "resample_threshold": (
        option(
            float | None,
            "--resample-threshold",
            "Relative effective sample size below which to resample. \\[default: 0.5; 0.1 of cluster]",
            CHAINS,
        ),
        None,
    ),
    "resampling": (
        option(
            str | None,
            "--resampling",
            "multinomial, stratified, systematic, optimal or both-kinds. \\[default: the first; of cluster the last]",
            CHAINS,
            "NAME",
        ),
        None,
    ),
    "anchors": (option(int, "--anchors", "Anchors of a pgsm move.", CHAINS), 2),
    "anchor_proposal": (
        option(
            str | None,
            "--anchor-proposal",
            "uniform, cluster, threshold or balanced. \\[default: balanced; cluster for large data; uniform for more "
            "than two anchors]",
            CHAINS,
            "NAME",
        ),
        None,
    ),
    "targets": (
        option(str, "--targets", "Intermediate targets of a pgsm move: annealed or plain.", CHAINS, "NAME"),
        "annealed",
    ),
    "scans": (option(int, "--scans", "Restricted Gibbs scans of a restricted-gibbs move.", CHAINS), 5),
    "init": (
        option(
            str,
            "--init",
            "single, disconnected, random, random:K, or a table with a column cluster_id.",
            CHAINS,
            "NAME|FILE",
        ),
        "single",
    ),
    "iterations": (
        option(
            int | None,
            "--iterations",
            "Iterations of each chain, burn-in included. \\[default: 1000; fewer for large data, at least 150]",
            CHAINS,
        ),
        None,
    ),
    "burn_in": (BURN_IN, None),
    "thin": (option(int, "--thin", "Save every n-th iteration.", CHAINS), 1),
    "chains": (option(int, "--chains", "Independent chains.", CHAINS), 4),
    "threads": (THREADS, None),
    "seed": (SEED, 1),
}

FORCE = option(bool, "--force", "Replace existing output.", OUTPUT)
QUIET = option(bool, "--quiet|-q", "No progress, no summary.", OUTPUT)
WRITING_OPTIONS: Options = {"force": (FORCE, False), "quiet": (QUIET, False)}

SUMMARY_OPTIONS: Options = {
    "consensus": (
        option(
            str,
            "--consensus",
            "vi, mpear, binder or map. \\[default: vi]",
            OUTPUT,
            "NAME",
        ),
        None,
    ),
    "plots": (option(bool, "--plots/--no-plots", "Draw the pictures.", OUTPUT), True),
    "formats": (option(str, "--format", "Formats of the pictures.", OUTPUT, "png,pdf"), "png,pdf"),
}


STATE_OPTIONS: Options = {
    "present_above": (
        option(float, "--present-above", "Prevalence above which a mutation is present.", OUTPUT),
        0.01,
    ),
    "clonal_above": (
        option(float, "--clonal-above", "Prevalence above which a mutation is clonal.", OUTPUT),
        0.95,
    ),
}


def fail(message: str) -> NoReturn:
    """Print a user's mistake and exit with code 2."""
    print(f"pyclone-pgsm: {message}", file=sys.stderr)
    raise typer.Exit(2)


@contextmanager
def mistakes_reported(trace: Path | None = None, where: str | None = None) -> Iterator[None]:
    """Turn errors into messages and exit codes.

    Parameters
    ----------
    trace : Path or None
        One that is kept whatever happens.
    where : str or None
        Begins the message.
    """
    try:
        yield
    except PycloneError as mistake:
        if where is None:  # otherwise other patients go on
            stop_precompiling()
        fail(f"{where}: {mistake}" if where else str(mistake))
    except OSError as problem:
        if problem.filename is None:
            raise
        message = f"{problem.filename}: {problem.strerror}"
        fail(f"{where}: {message}" if where else message)
    except MemoryError:
        message = (
            "the memory does not suffice: run fewer chains at a time (--threads 1), or on a larger machine"
        )
        fail(f"{where}: {message}" if where else message)
    except (KeyboardInterrupt, Stopped):
        fail_interrupted(trace if trace is not None and trace.is_file() else None)
    except Exception as problem:
        if type(problem).__name__ != "Interrupted":
            raise
        fail_interrupted(getattr(problem, "trace", None) or trace)


def fail_interrupted(trace: Path | None) -> NoReturn:
    """Print how to go on, if there is a trace, and exit with code 130."""
    stop_precompiling()
    message = "interrupted"
    if trace is not None:
        end = finished(trace)
        folder = shlex.quote(str(end.parent)) if end.name == "trace.h5" else "FOLDER"
        message += (
            f"; the trace is kept: go on with pyclone-pgsm resume {shlex.quote(str(trace))}, "
            f"then make the tables with pyclone-pgsm summarize {shlex.quote(str(end))} -o {folder}"
        )
        if end != trace:
            message += " --force; the older results are unchanged"
    print(f"pyclone-pgsm: {message}", file=sys.stderr)
    raise typer.Exit(EXIT_CODE)


def parse_number(name: str, text: str, word: str, kind: type[float] | type[int]) -> Any:
    """None for `word`, else the number."""
    if text == word:
        return None
    try:
        return kind(text)
    except ValueError:
        raise UsageError(f"--{name} {_short(text)}: must be {word!r} or a number") from None


def _short(text: str, show: Callable[[str], str] = repr) -> str:
    """A text for a message, not all of it if it is long."""
    return show(text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "...")


def _depth(value: Any) -> int:
    """How deep lists stand within lists; deeper than 2 is 3."""
    for depth in range(3):
        if not isinstance(value, list | dict):
            return depth
        value = next((each for each in value if isinstance(each, list | dict)), None)
    return 3


def parse_parameters(texts: list[str] | None) -> dict[str, Any]:
    """Values of ``--param NAME=VALUE``: numbers, words, or lists of them as in JSON."""
    parameters: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier() or not value:
            raise UsageError(f"--param {text!r}: must be NAME=VALUE, like r0=0.1 or u0=[0,1.5]")
        if name in parameters:
            raise UsageError(f"--param {text!r}: {name} is given twice")
        try:
            parameters[name] = json.loads(value)
        except RecursionError:
            raise UsageError(
                f"--param {_short(text)}: lists within lists are taken to a depth of 2, those of a matrix"
            ) from None
        except ValueError:
            if value[0] in "[{":
                raise UsageError(
                    f"--param {_short(text)}: {_short(value, str)} is no list as in JSON, like [0,1.5]"
                ) from None
            parameters[name] = value
        if _depth(parameters[name]) > 2:
            raise UsageError(
                f"--param {_short(text)}: lists within lists are taken to a depth of 2, those of a matrix"
            )
    return parameters


def parse_formats(text: str) -> list[str]:
    """Formats of the pictures."""
    formats = [name.strip() for name in text.split(",")]
    for name in formats:
        if name not in ("png", "pdf"):
            raise UsageError(f"--format {text!r}: must be png, pdf or png,pdf")
    return formats


def sampling_plan(given: dict[str, Any]) -> tuple[Settings, Prior]:
    """Settings and partition prior from the options of a command."""
    from pyclone_pgsm.priors import make_prior
    from pyclone_pgsm.sampling.chains import Settings, effective_threads

    names = [field.name for field in fields(Settings) if field.name in given]
    settings = Settings(**{name: given[name] for name in names})
    effective_threads(given["threads"], settings.chains)
    discount = parse_number("discount", given["discount"], "infer", float)
    prior = make_prior(
        given["prior"], given["concentration"], given["concentration_prior"], discount, given["max_clusters"]
    )
    return settings, prior


def default_folder(data: Path, ending: str = "_pyclone_pgsm") -> Path:
    """The output folder if none is given: named after the first file of the data."""
    stem = data.name
    for suffix in (".gz", ".bgz", ".vcf", ".maf", ".tsv", ".csv", ".txt", ".npy", ".parquet"):
        stem = stem.removesuffix(suffix)
    return Path(stem + ending)


@contextmanager
def progress_bars(quiet: bool, chains: int) -> Iterator[Callable[[int, int, int, int], None] | None]:
    """A bar a chain on stderr, on a terminal only."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("chain {task.fields[chain]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[clusters]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks = [bars.add_task("", total=None, chain=k, clusters="compiling") for k in range(chains)]

        def update(chain: int, done: int, total: int, clusters: int) -> None:
            bars.update(tasks[chain], completed=done, total=total, clusters=f"{clusters} clusters")

        yield update


def say(result: Result, where: Path, left_out: int = 0, notes: Sequence[str] = ()) -> None:
    """Print notes on what was read, and the summary of a result."""
    from pyclone_pgsm.cli.messages import summary_lines

    for line in [*notes, *summary_lines(result, left_out)]:
        print(line)
    print(f"written to {where}")


def command_line() -> str:
    """The command that runs, as in a shell."""
    return shlex.join(["pyclone-pgsm", *sys.argv[1:]])
