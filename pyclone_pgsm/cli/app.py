"""The application ``pyclone-pgsm`` with its commands."""

import gc
import logging
import os
from pathlib import Path
from typing import Annotated

import typer

from pyclone_pgsm import __version__
from pyclone_pgsm.cli.analyze import analyze, prepare, run, validate
from pyclone_pgsm.cli.cluster import cluster, likelihoods
from pyclone_pgsm.cli.examples import epilog
from pyclone_pgsm.cli.handover import export, report, score
from pyclone_pgsm.cli.simulate import simulate
from pyclone_pgsm.cli.traces import merge, plot, resume, summarize

CACHE = "PYCLONE_PGSM_CACHE_DIR"
"""Environment variable with the folder for everything kept between runs; the default is the user's cache folder."""

THREADS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)

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


def settle() -> None:
    """Let libraries use one thread each, and matplotlib the folder `CACHE` if that is set; silence its warnings.

    A run uses the threads of ``--threads``, one for each chain. Libraries for linear algebra would also start as many
    as there are processors, for products too small to benefit, and sums split among threads have different last digits
    on different machines. This has no effect on libraries that are already imported. Child processes inherit it.
    """
    os.environ.update(dict.fromkeys(THREADS, "1"))
    # pandas imports pyarrow if it is installed
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
    chosen = os.environ.get(CACHE)
    if chosen:
        os.environ.setdefault("MPLCONFIGDIR", str(Path(chosen) / "matplotlib"))
    logging.getLogger("matplotlib").setLevel(logging.ERROR)


def run_command() -> None:
    """Run the command given on the command line."""
    settle()
    # Compiling creates very many lasting objects. With the default thresholds the garbage collector would examine them
    # again and again, and take a twentieth of the time.
    gc.set_threshold(100_000, 50, 50)
    app()
