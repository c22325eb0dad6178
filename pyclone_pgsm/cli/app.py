"""The application ``pyclone-pgsm`` with its commands."""

import gc
from typing import Annotated

import typer

from pyclone_pgsm import __version__
from pyclone_pgsm.cli.analyze import analyze, prepare, run, validate
from pyclone_pgsm.cli.cluster import cluster, likelihoods
from pyclone_pgsm.cli.environment import settle
from pyclone_pgsm.cli.examples import epilog
from pyclone_pgsm.cli.handover import export, report, score
from pyclone_pgsm.cli.simulate import simulate
from pyclone_pgsm.cli.traces import merge, plot, resume, summarize

app = typer.Typer(
    name="pyclone-pgsm",
    help="Which mutations of a tumour belong to the same clone, and in what share of its cells.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


for command in (
    analyze,
    validate,
    run,
    prepare,
    cluster,
    likelihoods,
    resume,
    merge,
    summarize,
    plot,
    report,
    export,
    score,
    simulate,
):
    app.command(epilog=epilog(command.__name__))(command)


def run_command() -> None:
    """Run the command given on the command line."""
    settle()
    # Compiling creates very many lasting objects. With the default thresholds the garbage collector would examine them
    # again and again, and take a twentieth of the time.
    gc.set_threshold(100_000, 50, 50)
    app()
