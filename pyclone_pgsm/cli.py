"""The command line: parse, call one function, print, exit code. No science here."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from pyclone_pgsm import __version__
from pyclone_pgsm.errors import OutputError, PycloneError, UsageError

if TYPE_CHECKING:
    from pyclone_pgsm.analysis import ModelOptions
    from pyclone_pgsm.chains import Settings
    from pyclone_pgsm.inputs.observations import LeftOut, Observations
    from pyclone_pgsm.posterior.summarize import Result
    from pyclone_pgsm.priors import DirichletProcess

app = typer.Typer(
    name="pyclone-pgsm",
    help="Which mutations of a tumour belong to the same clone, and in what share of its cells.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

MODEL, CHAINS, OUTPUT = "Tumour model", "Chains", "Output"

Inputs = Annotated[
    list[Path],
    typer.Argument(
        metavar="INPUT...",
        help="Tables of read counts: PyClone-VI's long format, or PyClone's, one file a sample; TSV or CSV, .gz too.",
    ),
]
TumourContent = Annotated[
    list[str] | None,
    typer.Option(
        "--tumour-content",
        metavar="FLOAT|SAMPLE=FLOAT",
        help="Share of cancer cells, for all samples or for one (repeatable); wins over the column.",
        rich_help_panel=MODEL,
    ),
]
ErrorRate = Annotated[
    float | None,
    typer.Option(
        "--error-rate",
        help="Sequencing error rate; wins over the column. \\[default: 0.001]",
        rich_help_panel=MODEL,
    ),
]
GenotypePrior = Annotated[
    str,
    typer.Option(
        "--genotype-prior",
        metavar="NAME",
        help="major, parental, total, ab, bb or no-zygosity.",
        rich_help_panel=MODEL,
    ),
]
Density = Annotated[
    str, typer.Option("--density", metavar="NAME", help="beta-binomial or binomial.", rich_help_panel=MODEL)
]
Precision = Annotated[
    str,
    typer.Option(
        "--precision", metavar="infer|FLOAT", help="Precision of the beta-binomial.", rich_help_panel=MODEL
    ),
]
GridSize = Annotated[
    str,
    typer.Option(
        "--grid-size", metavar="auto|INT", help="Grid points of the prevalence.", rich_help_panel=MODEL
    ),
]
Sampler = Annotated[
    str,
    typer.Option("--sampler", metavar="NAME", help="mixed, pgsm or gibbs.", rich_help_panel=CHAINS),
]
Moves = Annotated[
    int | None,
    typer.Option(
        "--moves",
        help="Split-merge moves an iteration. \\[default: 2; 1 for large data]",
        rich_help_panel=CHAINS,
    ),
]
Particles = Annotated[
    int, typer.Option("--particles", help="Particles of a split-merge move.", rich_help_panel=CHAINS)
]
ResampleThreshold = Annotated[
    float,
    typer.Option(
        "--resample-threshold",
        help="Relative effective sample size below which to resample.",
        rich_help_panel=CHAINS,
    ),
]
AnchorProposal = Annotated[
    str, typer.Option("--anchor-proposal", metavar="NAME", help="uniform or cluster.", rich_help_panel=CHAINS)
]
Targets = Annotated[
    str,
    typer.Option(
        "--targets", metavar="NAME", help="Intermediate targets: annealed or plain.", rich_help_panel=CHAINS
    ),
]
Concentration = Annotated[
    float,
    typer.Option(
        "--concentration", help="Concentration of the Dirichlet process at the start.", rich_help_panel=CHAINS
    ),
]
ConcentrationPrior = Annotated[
    str,
    typer.Option(
        "--concentration-prior",
        metavar="SHAPE,RATE|fixed",
        help="Gamma prior of the concentration.",
        rich_help_panel=CHAINS,
    ),
]
Init = Annotated[
    str, typer.Option("--init", metavar="NAME", help="single or disconnected.", rich_help_panel=CHAINS)
]
Iterations = Annotated[
    int | None,
    typer.Option(
        "--iterations",
        help="Iterations of each chain, burn-in included. \\[default: 1000; fewer for large data, at least 150]",
        rich_help_panel=CHAINS,
    ),
]
BurnIn = Annotated[
    int | None,
    typer.Option(
        "--burn-in", help="Iterations that summaries skip. \\[default: half]", rich_help_panel=CHAINS
    ),
]
Thin = Annotated[int, typer.Option("--thin", help="Save every n-th iteration.", rich_help_panel=CHAINS)]
NumChains = Annotated[int, typer.Option("--chains", help="Independent chains.", rich_help_panel=CHAINS)]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        help="Chains run at the same time; no influence on the result. \\[default: processors]",
        rich_help_panel=CHAINS,
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the random numbers.", rich_help_panel=CHAINS)]
Consensus = Annotated[
    str, typer.Option("--consensus", metavar="NAME", help="mpear, vi, binder or map.", rich_help_panel=OUTPUT)
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing output.", rich_help_panel=OUTPUT)]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress, no summary.", rich_help_panel=OUTPUT)
]
Plots = Annotated[bool, typer.Option("--plots/--no-plots", help="Draw the pictures.", rich_help_panel=OUTPUT)]
Formats = Annotated[
    str, typer.Option("--format", metavar="png,pdf", help="Formats of the pictures.", rich_help_panel=OUTPUT)
]


def fail(message: str) -> NoReturn:
    """Print a user's mistake and exit with code 2."""
    print(f"pyclone-pgsm: {message}", file=sys.stderr)
    raise typer.Exit(2)


@contextmanager
def _mistakes_reported(trace: Path | None = None) -> Iterator[None]:
    """Turn errors into messages and exit codes."""
    try:
        yield
    except PycloneError as mistake:
        fail(str(mistake))
    except KeyboardInterrupt:
        print("pyclone-pgsm: interrupted", file=sys.stderr)
        raise typer.Exit(130) from None
    except Exception as problem:
        if type(problem).__name__ != "Interrupted":
            raise
        print(
            f"pyclone-pgsm: interrupted; the trace is kept: go on with pyclone-pgsm resume {shlex.quote(str(trace))}, "
            "then make the tables with pyclone-pgsm summarize",
            file=sys.stderr,
        )
        raise typer.Exit(130) from None


def _version(wanted: bool) -> None:
    if wanted:
        print(f"pyclone-pgsm {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Which mutations of a tumour belong to the same clone, and in what share of its cells."""


def _parse_tumour_content(texts: list[str] | None) -> float | dict[str, float] | None:
    if not texts:
        return None
    shares: dict[str, float] = {}
    everywhere: float | None = None
    for text in texts:
        sample, equals, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            raise UsageError(f"--tumour-content {text!r}: must be a number or SAMPLE=number") from None
        if equals:
            if sample in shares:
                raise UsageError(f"--tumour-content {text!r}: sample {sample!r} is given twice")
            shares[sample] = value
        elif everywhere is not None:
            raise UsageError("--tumour-content: one number for all samples is enough")
        else:
            everywhere = value
    if shares and everywhere is not None:
        raise UsageError("--tumour-content: give one number for all samples, or one for each, not both")
    return shares or everywhere


def _parse_number(option: str, text: str, word: str, kind: type[float] | type[int]) -> Any:
    """None for `word`, else the number."""
    if text == word:
        return None
    try:
        return kind(text)
    except ValueError:
        raise UsageError(f"--{option} {text!r}: must be {word!r} or a number") from None


def _parse_prior(concentration: float, text: str) -> DirichletProcess:
    from pyclone_pgsm.priors import DirichletProcess

    if not 0 < concentration < math.inf:
        raise UsageError(f"--concentration {concentration}: must be a positive number")
    if text == "fixed":
        return DirichletProcess(concentration, None, None)
    try:
        shape, rate = map(float, text.split(","))
    except ValueError:
        shape = rate = math.nan
    if not (0 < shape < math.inf and 0 < rate < math.inf):
        raise UsageError(
            f"--concentration-prior {text!r}: must be 'fixed' or the shape and rate of a Gamma prior, like 1,0.1"
        )
    return DirichletProcess(concentration, shape, rate)


def _plan(given: dict[str, Any]) -> tuple[ModelOptions, Settings, DirichletProcess]:
    """Model, settings and partition prior from the options that `analyze` and `run` share."""
    from pyclone_pgsm.analysis import ModelOptions
    from pyclone_pgsm.chains import Settings, effective_threads

    model = ModelOptions(
        given["genotype_prior"],
        given["density"],
        _parse_number("precision", given["precision"], "infer", float),
        _parse_number("grid-size", given["grid_size"], "auto", int),
    )
    names = [field.name for field in fields(Settings) if field.name in given]
    settings = Settings(**{name: given[name] for name in names})
    effective_threads(given["threads"], settings.chains)
    return model, settings, _parse_prior(given["concentration"], given["concentration_prior"])


def _parse_formats(text: str) -> list[str]:
    formats = [name.strip() for name in text.split(",")]
    for name in formats:
        if name not in ("png", "pdf"):
            raise UsageError(f"--format {text!r}: must be png, pdf or png,pdf")
    return formats


def _read(
    inputs: list[Path], tumour_content: list[str] | None, error_rate: float | None, genotype_prior: str
) -> tuple[Observations, list[LeftOut]]:
    from pyclone_pgsm.inputs.tables import read_tables

    return read_tables(
        inputs,
        tumour_content=_parse_tumour_content(tumour_content),
        error_rate=error_rate,
        genotype_prior=genotype_prior,
    )


def _default_folder(inputs: list[Path]) -> Path:
    stem = inputs[0].name
    for ending in (".gz", ".tsv", ".csv", ".txt"):
        stem = stem.removesuffix(ending)
    return Path(f"{stem}_pyclone_pgsm")


@contextmanager
def _progress(quiet: bool, chains: int) -> Iterator[Callable[[int, int, int, int], None] | None]:
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


def _say(result: Result, where: Path, left_out: int) -> None:
    from pyclone_pgsm.messages import summary_lines

    for line in summary_lines(result, left_out):
        print(line)
    print(f"written to {where}")


def _command_line() -> str:
    return shlex.join(["pyclone-pgsm", *sys.argv[1:]])


@app.command()
def analyze(
    context: typer.Context,
    inputs: Inputs,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="OUT",
            help="Output folder. \\[default: INPUT's name + _pyclone_pgsm]",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    tumour_content: TumourContent = None,
    error_rate: ErrorRate = None,
    genotype_prior: GenotypePrior = "major",
    density: Density = "beta-binomial",
    precision: Precision = "infer",
    grid_size: GridSize = "auto",
    sampler: Sampler = "mixed",
    moves: Moves = None,
    particles: Particles = 20,
    resample_threshold: ResampleThreshold = 0.5,
    anchor_proposal: AnchorProposal = "cluster",
    targets: Targets = "annealed",
    concentration: Concentration = 1.0,
    concentration_prior: ConcentrationPrior = "1,0.1",
    init: Init = "single",
    iterations: Iterations = None,
    burn_in: BurnIn = None,
    thin: Thin = 1,
    chains: NumChains = 4,
    threads: Threads = None,
    seed: Seed = 1,
    consensus: Consensus = "mpear",
    plots: Plots = True,
    formats: Formats = "png,pdf",
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Everything: read, run the chains, and write clusters, prevalences, tables and pictures."""
    folder = out or _default_folder(inputs)
    with _mistakes_reported(folder / "trace.h5"):
        from pyclone_pgsm import analysis

        model, settings, prior = _plan(context.params)
        picture_formats = _parse_formats(formats)
        analysis.check_criterion(consensus)
        observations, left_out = _read(inputs, tumour_content, error_rate, genotype_prior)
        settings = settings.resolve(observations.num_mutations)
        analysis.check_folder(folder, force)
        with _progress(quiet, chains) as progress:
            result = analysis.analyze(
                observations,
                left_out,
                folder,
                model,
                settings,
                prior,
                criterion=consensus,
                threads=threads,
                command=_command_line(),
                progress=progress,
                formats=picture_formats,
                plots=plots,
            )
        if not quiet:
            _say(result, folder, len(left_out))


@app.command()
def validate(
    inputs: Inputs,
    tumour_content: TumourContent = None,
    error_rate: ErrorRate = None,
    genotype_prior: GenotypePrior = "major",
) -> None:
    """Read and check only; print what would be left out and why."""
    with _mistakes_reported():
        from pyclone_pgsm.inputs.tables import count_summary

        observations, left_out = _read(inputs, tumour_content, error_rate, genotype_prior)
        for line in count_summary(observations, left_out):
            print(line)
        for entry in left_out:
            place = f"{entry.file}, row {entry.row}" if entry.row is not None else entry.file
            names = " ".join(filter(None, (entry.mutation_id, entry.sample_id)))
            print(f"{place}: {names}: {entry.reason}")


@app.command()
def run(
    context: typer.Context,
    inputs: Inputs,
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="TRACE", help="The trace, an HDF5 file.", rich_help_panel=OUTPUT),
    ],
    tumour_content: TumourContent = None,
    error_rate: ErrorRate = None,
    genotype_prior: GenotypePrior = "major",
    density: Density = "beta-binomial",
    precision: Precision = "infer",
    grid_size: GridSize = "auto",
    sampler: Sampler = "mixed",
    moves: Moves = None,
    particles: Particles = 20,
    resample_threshold: ResampleThreshold = 0.5,
    anchor_proposal: AnchorProposal = "cluster",
    targets: Targets = "annealed",
    concentration: Concentration = 1.0,
    concentration_prior: ConcentrationPrior = "1,0.1",
    init: Init = "single",
    iterations: Iterations = None,
    burn_in: BurnIn = None,
    thin: Thin = 1,
    chains: NumChains = 4,
    threads: Threads = None,
    seed: Seed = 1,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Chains only: write a trace."""
    with _mistakes_reported(out):
        from pyclone_pgsm import analysis
        from pyclone_pgsm.files import refuse_existing

        model, settings, prior = _plan(context.params)
        observations, left_out = _read(inputs, tumour_content, error_rate, genotype_prior)
        settings = settings.resolve(observations.num_mutations)
        refuse_existing(out, force)
        with _progress(quiet, chains) as progress:
            analysis.run(
                observations,
                left_out,
                out,
                model,
                settings,
                prior,
                threads=threads,
                command=_command_line(),
                progress=progress,
            )
        if not quiet:
            print(f"{chains} chains written to {out}")


Existing = Annotated[Path, typer.Argument(metavar="TRACE", help="A trace made by run or analyze.")]


@app.command()
def resume(
    trace: Existing,
    iterations: Annotated[
        int | None, typer.Option("--iterations", help="New number of iterations in all, burn-in included.")
    ] = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Go on where a trace stopped or was killed, with the same result as without the stop."""
    with _mistakes_reported(trace):
        from pyclone_pgsm import analysis
        from pyclone_pgsm.trace import Trace

        with Trace(trace) as opened:
            chains = len(opened.chains)
        with _progress(quiet, chains) as progress:
            done = analysis.resume(trace, iterations, threads=threads, progress=progress)
        if not quiet:
            print(f"{chains} chains of {done} iterations in {trace}")


@app.command()
def merge(
    traces: Annotated[
        list[Path], typer.Argument(metavar="TRACE...", help="Traces of the same data, with other seeds.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="TRACE", help="The merged trace.")],
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Put chains that were run apart into one trace."""
    with _mistakes_reported():
        from pyclone_pgsm.files import refuse_existing
        from pyclone_pgsm.trace import merge_traces

        refuse_existing(out, force)
        count = merge_traces(traces, out)
        if not quiet:
            print(f"{count} chains written to {out}")


@app.command()
def summarize(
    trace: Existing,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="OUT", help="Output folder.")],
    consensus: Consensus = "mpear",
    burn_in: BurnIn = None,
    plots: Plots = True,
    formats: Formats = "png,pdf",
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Tables and pictures from a trace."""
    with _mistakes_reported(trace):
        from pyclone_pgsm import analysis
        from pyclone_pgsm.trace import Trace

        picture_formats = _parse_formats(formats)
        analysis.check_criterion(consensus)
        with Trace(trace) as opened:
            left_out = len(opened.left_out)
        analysis.check_folder(out, force, with_trace=False)
        result = analysis.write_results(
            trace, out, criterion=consensus, burn_in=burn_in, formats=picture_formats, plots=plots
        )
        if not quiet:
            _say(result, out, left_out)


@app.command()
def plot(
    trace: Existing,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="OUT", help="Folder for the pictures.")],
    consensus: Consensus = "mpear",
    burn_in: BurnIn = None,
    formats: Formats = "png,pdf",
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """The pictures of a trace only."""
    with _mistakes_reported(trace):
        from pyclone_pgsm import analysis

        picture_formats = _parse_formats(formats)
        analysis.check_criterion(consensus)
        if out.exists() and not out.is_dir():
            raise OutputError(f"{out} is a file: give a folder with -o")
        if out.exists() and any(out.iterdir()) and not force:
            raise OutputError(
                f"{out} exists already and is not empty: use --force, or another folder with -o"
            )
        paths = analysis.write_pictures(trace, out, consensus, burn_in, picture_formats)
        if not quiet:
            print(f"{len(paths)} pictures written to {out}")


@app.command()
def simulate(
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder for the files.")],
    mutations: Annotated[int, typer.Option(help="Mutations.")] = 200,
    samples: Annotated[int, typer.Option(help="Samples.")] = 3,
    clusters: Annotated[int, typer.Option(help="Clusters, each of at least one mutation.")] = 6,
    depth: Annotated[float, typer.Option(help="Mean reads of a mutation in a sample.")] = 100.0,
    purity: Annotated[
        list[float] | None,
        typer.Option(help="Share of cancer cells: once for all samples, or once a sample. \\[default: 0.8]"),
    ] = None,
    copy_numbers: Annotated[str, typer.Option(metavar="NAME", help="diploid or mixed.")] = "diploid",
    missing: Annotated[float, typer.Option(help="Share of rows that are missing.")] = 0.0,
    precision: Annotated[
        float, typer.Option(metavar="FLOAT|inf", help="Precision of the beta-binomial; inf: binomial.")
    ] = float("inf"),
    error_rate: Annotated[float, typer.Option(help="Sequencing error rate.")] = 0.001,
    cluster_sizes: Annotated[str, typer.Option(metavar="NAME", help="dirichlet or equal.")] = "dirichlet",
    clonal: Annotated[
        bool, typer.Option("--clonal/--no-clonal", help="One cluster is in all cells of all samples.")
    ] = True,
    absent: Annotated[float, typer.Option(help="Probability that a subclone is absent from a sample.")] = 0.2,
    name: Annotated[str, typer.Option(help="Name of the files.")] = "simulated",
    seed: Seed = 1,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Data with a known truth: NAME.tsv, NAME.truth.tsv and NAME.json."""
    with _mistakes_reported():
        from pyclone_pgsm.simulate import SimulationOptions, write_simulation

        options = SimulationOptions(
            mutations=mutations,
            samples=samples,
            clusters=clusters,
            depth=depth,
            purity=purity or 0.8,
            copy_numbers=copy_numbers,
            missing=missing,
            precision=precision,
            error_rate=error_rate,
            cluster_sizes=cluster_sizes,
            clonal=clonal,
            absent=absent,
        )
        paths = write_simulation(out, options, seed, name=name, force=force)
        if not quiet:
            print("\n".join(map(str, paths)))


def main() -> None:
    """Entry point of the command ``pyclone-pgsm``."""
    app()
