"""The command line: parse, call one function, print, exit code. No science here."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyclone_pgsm import __version__
from pyclone_pgsm.analyses.precompile import compile_ahead
from pyclone_pgsm.cli.cluster import cluster, likelihoods
from pyclone_pgsm.cli.environment import settle
from pyclone_pgsm.cli.options import (
    BURN_IN,
    CHAIN_OPTIONS,
    DENSITY_OPTIONS,
    FORCE,
    PRIOR_OPTIONS,
    QUIET,
    SEED,
    STATE_OPTIONS,
    SUMMARY_OPTIONS,
    THREADS,
    TUMOUR_OPTIONS,
    WRITING_OPTIONS,
    command_line,
    mistakes_reported,
    output_option,
    parse_formats,
    parse_number,
    progress_bars,
    sampling_plan,
    say,
    taking,
)
from pyclone_pgsm.cli.prepare import (
    SEGMENT_OPTIONS,
    Inputs,
    Tumour,
    each_tumour,
    folder_for,
    prepare,
    read,
    tumours,
    warn,
)
from pyclone_pgsm.cli.terminal import guarded
from pyclone_pgsm.errors import OutputError, UsageError

if TYPE_CHECKING:
    from pyclone_pgsm.analyses.run import ModelOptions
    from pyclone_pgsm.inputs.tumour_content import ContentOption
    from pyclone_pgsm.posterior.states import Thresholds

app = typer.Typer(
    name="pyclone-pgsm",
    help="Which mutations of a tumour belong to the same clone, and in what share of its cells.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

FileLikelihood = Annotated[
    str | None,
    typer.Option(
        "--likelihood",
        metavar="FILE.py:CLASS",
        help="Of a trace whose likelihood is the code of a file: that file. It is not run unless it is named here.",
    ),
]
Existing = Annotated[Path, typer.Argument(metavar="TRACE", help="A trace made by run, analyze or cluster.")]


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


def _model_options(given: dict[str, Any], content: ContentOption = None) -> ModelOptions:
    from pyclone_pgsm.analyses.run import ModelOptions
    from pyclone_pgsm.tumour.model import PER_SAMPLE

    precision = given["precision"]
    if given["density"] == "binomial" and precision != "infer":
        raise UsageError(f"--precision {precision}: the binomial has none; leave out --density binomial")
    return ModelOptions(
        given["genotype_prior"],
        given["density"],
        precision if precision == PER_SAMPLE else parse_number("precision", precision, "infer", float),
        parse_number("grid-size", given["grid_size"], "auto", int),
        content,
        given["outlier_prob"],
        given["prevalence_prior"],
    )


def _thresholds(given: dict[str, Any]) -> Thresholds:
    from pyclone_pgsm.posterior.states import Thresholds

    return Thresholds(given["present_above"], given["clonal_above"]).check()


@app.command()
@taking(
    TUMOUR_OPTIONS,
    SEGMENT_OPTIONS,
    DENSITY_OPTIONS,
    PRIOR_OPTIONS,
    CHAIN_OPTIONS,
    SUMMARY_OPTIONS,
    STATE_OPTIONS,
    WRITING_OPTIONS,
)
def analyze(
    context: typer.Context,
    inputs: Inputs = None,
    out: Annotated[
        Path | None, output_option("Output folder. \\[default: INPUT's name + _pyclone_pgsm]")
    ] = None,
) -> None:
    """Everything: read, run the chains, and write clusters, prevalences, tables and pictures."""
    given = context.params
    with mistakes_reported():
        settings, prior = sampling_plan(given)
        compile_ahead("pyclone", settings, given["threads"])
        from pyclone_pgsm.analyses import run as analysis

        _model_options(given)
        formats = parse_formats(given["formats"])
        analysis.check_criterion(given["consensus"])
        thresholds = _thresholds(given)
        found = tumours(inputs, given)

    def work(tumour: Tumour, folder: Path) -> None:
        reading = read(tumour, given)
        resolved = settings.resolve(reading.observations.num_mutations)
        analysis.check_folder(folder, given["force"], inputs=[*tumour.files, Path(settings.init)])
        if not given["quiet"]:
            warn(reading.warnings, tumour.name)
        with progress_bars(given["quiet"], resolved.chains) as progress:
            result = analysis.analyze(
                reading.observations,
                reading.left_out,
                folder,
                _model_options(given, reading.content),
                resolved,
                prior,
                criterion=given["consensus"],
                thresholds=thresholds,
                threads=given["threads"],
                command=command_line(),
                progress=progress,
                formats=formats,
                plots=given["plots"],
            )
        if not given["quiet"]:
            say(result, folder, len(reading.left_out), reading.notes)

    each_tumour(found, out or folder_for(inputs, given), work, given["quiet"])


@app.command()
@taking(TUMOUR_OPTIONS, SEGMENT_OPTIONS)
def validate(context: typer.Context, inputs: Inputs = None) -> None:
    """Read and check only; print what would be left out and why."""
    given = context.params
    with mistakes_reported():
        from pyclone_pgsm.analyses.run import ModelOptions

        ModelOptions(given["genotype_prior"])
        found = tumours(inputs, given)

    def work(tumour: Tumour, folder: Path) -> None:
        from pyclone_pgsm.inputs.read_counts.tables import count_summary

        reading = read(tumour, given)
        warn(reading.warnings, tumour.name)
        for line in [*count_summary(reading.observations, reading.left_out), *reading.notes]:
            print(line)
        for entry in reading.left_out:
            place = f"{entry.file}, row {entry.row}" if entry.row is not None else entry.file
            names = " ".join(filter(None, (entry.mutation_id, entry.sample_id)))
            print(f"{place}: {names}: {entry.reason}")

    each_tumour(found, Path(), work)


@app.command()
@taking(TUMOUR_OPTIONS, SEGMENT_OPTIONS, DENSITY_OPTIONS, PRIOR_OPTIONS, CHAIN_OPTIONS, WRITING_OPTIONS)
def run(
    context: typer.Context,
    out: Annotated[
        Path, output_option("The trace, an HDF5 file; of several patients, a folder for theirs.", "TRACE")
    ],
    inputs: Inputs = None,
) -> None:
    """Chains only: write a trace."""
    given = context.params
    with mistakes_reported():
        settings, prior = sampling_plan(given)
        compile_ahead("pyclone", settings, given["threads"])
        from pyclone_pgsm.analyses import run as analysis
        from pyclone_pgsm.cli.messages import count
        from pyclone_pgsm.files import check_new, make_folder, refuse_inputs
        from pyclone_pgsm.locks import writing

        _model_options(given)
        found = tumours(inputs, given)

    def trace_of(tumour: Tumour, place: Path) -> Path:
        return place / "trace.h5" if tumour.name else place

    def work(tumour: Tumour, place: Path) -> None:
        trace = trace_of(tumour, place)
        reading = read(tumour, given)
        model = _model_options(given, reading.content)
        resolved = settings.resolve(reading.observations.num_mutations)
        if trace.is_dir():
            raise OutputError(f"{trace} is a folder: give the name of a file with -o")
        check_new(trace, given["force"])
        refuse_inputs([trace], [*tumour.files, Path(settings.init)])
        threads = given["threads"]
        plan = analysis.plan_tumour(reading.observations, reading.left_out, model, resolved, prior, threads)
        make_folder(trace.parent)
        if not given["quiet"]:
            warn(reading.warnings, tumour.name)
        with writing(trace), progress_bars(given["quiet"], resolved.chains) as progress:
            check_new(trace, given["force"])  # another run may have made it in the meantime
            analysis.start(plan, trace, threads=threads, command=command_line(), progress=progress)
        if not given["quiet"]:
            print(f"{count(resolved.chains, 'chain')} written to {trace}")

    each_tumour(found, out, work, given["quiet"])


app.command()(prepare)
app.command()(cluster)
app.command()(likelihoods)


@app.command()
def resume(
    trace: Existing,
    iterations: Annotated[
        int | None, typer.Option("--iterations", help="New number of iterations in all, burn-in included.")
    ] = None,
    likelihood: FileLikelihood = None,
    threads: THREADS = None,
    quiet: QUIET = False,
) -> None:
    """Go on where a trace stopped or was killed, with the same result as without the stop."""
    with mistakes_reported(trace):
        from pyclone_pgsm.analyses import run as analysis
        from pyclone_pgsm.cli.messages import count
        from pyclone_pgsm.trace import Trace

        with Trace(trace, likelihood) as opened:
            chains = len(opened.chains)
        with progress_bars(quiet, chains) as progress:
            done = analysis.resume(
                trace, iterations, threads=threads, progress=progress, likelihood=likelihood
            )
        if not quiet:
            print(f"{count(chains, 'chain')} of {done:,} iterations in {trace}")


@app.command()
def merge(
    traces: Annotated[
        list[Path], typer.Argument(metavar="TRACE...", help="Traces of the same data, with other seeds.")
    ],
    out: Annotated[Path, output_option("The merged trace.", "TRACE")],
    force: FORCE = False,
    quiet: QUIET = False,
) -> None:
    """Put chains that were run apart into one trace."""
    with mistakes_reported():
        from pyclone_pgsm.cli.messages import count
        from pyclone_pgsm.files import refuse_existing, refuse_inputs
        from pyclone_pgsm.trace import merge_traces

        refuse_inputs([out], traces)
        refuse_existing(out, force)
        chains = merge_traces(traces, out)
        if not quiet:
            print(f"{count(chains, 'chain')} written to {out}")


@app.command()
@taking(SUMMARY_OPTIONS, STATE_OPTIONS, WRITING_OPTIONS)
def summarize(
    context: typer.Context,
    trace: Existing,
    out: Annotated[Path, output_option("Output folder.")],
    burn_in: BURN_IN = None,
    likelihood: FileLikelihood = None,
) -> None:
    """Tables and pictures from a trace."""
    with mistakes_reported(trace):
        from pyclone_pgsm.analyses import run as analysis
        from pyclone_pgsm.trace import Trace

        given = context.params
        formats = parse_formats(given["formats"])
        analysis.check_criterion(given["consensus"])
        thresholds = _thresholds(given)
        with Trace(trace, likelihood) as opened:
            opened.check_likelihood()
            left_out = len(opened.left_out)
            names = analysis.folder_files(opened.options)
        analysis.check_folder(out, given["force"], [name for name in names if name != "trace.h5"])
        result = analysis.write_results(
            trace,
            out,
            criterion=given["consensus"],
            burn_in=burn_in,
            thresholds=thresholds,
            formats=formats,
            plots=given["plots"],
            likelihood=likelihood,
        )
        if not given["quiet"]:
            say(result, out, left_out)


@app.command()
@taking({name: SUMMARY_OPTIONS[name] for name in ("consensus", "formats")}, WRITING_OPTIONS)
def plot(
    context: typer.Context,
    trace: Existing,
    out: Annotated[Path, output_option("Folder for the pictures.")],
    burn_in: BURN_IN = None,
    likelihood: FileLikelihood = None,
) -> None:
    """The pictures of a trace only."""
    with mistakes_reported(trace):
        from pyclone_pgsm.analyses import run as analysis
        from pyclone_pgsm.files import remove_leftovers

        given = context.params
        formats = parse_formats(given["formats"])
        analysis.check_criterion(given["consensus"])
        if out.exists() and not out.is_dir():
            raise OutputError(f"{out} is a file: give a folder with -o")
        remove_leftovers(out)
        if out.exists() and any(out.iterdir()) and not given["force"]:
            raise OutputError(
                f"{out} exists already and is not empty: use --force, or another folder with -o"
            )
        paths = analysis.write_pictures(trace, out, given["consensus"], burn_in, formats, likelihood)
        if not given["quiet"]:
            print(f"{len(paths)} pictures written to {out}")


@app.command()
def simulate(
    out: Annotated[Path, output_option("Folder for the files.", "DIR")],
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
    subclonal: Annotated[
        float,
        typer.Option(
            help="Share of segments on which a subclone gained or lost a copy; needs mixed copy numbers."
        ),
    ] = 0.0,
    precision: Annotated[
        list[float] | None,
        typer.Option(
            metavar="FLOAT|inf",
            help="Precision of the beta-binomial, once for all samples, or once a sample; inf: binomial. "
            "\\[default: inf]",
        ),
    ] = None,
    error_rate: Annotated[float, typer.Option(help="Sequencing error rate.")] = 0.001,
    artefacts: Annotated[
        float, typer.Option(help="Share of mutations that are artefacts and belong to no cluster.")
    ] = 0.0,
    cluster_sizes: Annotated[str, typer.Option(metavar="NAME", help="dirichlet or equal.")] = "dirichlet",
    clonal: Annotated[
        bool, typer.Option("--clonal/--no-clonal", help="One cluster is in all cells of all samples.")
    ] = True,
    absent: Annotated[float, typer.Option(help="Probability that a subclone is absent from a sample.")] = 0.2,
    prevalence_prior: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Where prevalences come from: clones (as --clonal and --absent say), or the priors of analyze, each "
            "cluster and sample independently: learned (weights in NAME.json) or uniform.",
        ),
    ] = "clones",
    name: Annotated[str, typer.Option(help="Name of the files.")] = "simulated",
    seed: SEED = 1,
    force: FORCE = False,
    quiet: QUIET = False,
) -> None:
    """Data with a known truth: NAME.tsv, NAME.truth.tsv and NAME.json."""
    with mistakes_reported():
        from pyclone_pgsm.simulate.tumour import SimulationOptions, write_simulation

        options = SimulationOptions(
            mutations=mutations,
            samples=samples,
            clusters=clusters,
            depth=depth,
            purity=purity or 0.8,
            copy_numbers=copy_numbers,
            missing=missing,
            subclonal=subclonal,
            precision=precision or float("inf"),
            error_rate=error_rate,
            artefacts=artefacts,
            cluster_sizes=cluster_sizes,
            clonal=clonal,
            absent=absent,
            prevalence_prior=prevalence_prior,
        )
        paths = write_simulation(out, options, seed, name=name, force=force)
        if not quiet:
            print("\n".join(map(str, paths)))


def main() -> None:
    """The command ``pyclone-pgsm``; its entry point is that of :mod:`pyclone_pgsm.__main__`."""
    with guarded():
        run_command()


def run_command() -> None:
    """What the command line asks for."""
    settle()
    gc.set_threshold(
        100_000, 50, 50
    )  # compiling makes many objects that live: looking for rubbish takes a twentieth
    app()
