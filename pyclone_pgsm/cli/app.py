"""The application ``pyclone-pgsm`` with its commands."""

import gc
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from pyclone_pgsm import __version__
from pyclone_pgsm.cli.analyze import analyze, prepare, run, validate
from pyclone_pgsm.cli.cluster import cluster, likelihoods
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


EXAMPLES: dict[Callable[..., None], tuple[str, ...]] = {
    analyze: (
        "pyclone-pgsm analyze tumour.tsv",
        "pyclone-pgsm analyze S1.tsv S2.tsv --tumour-content S1=0.8 --tumour-content S2=0.6 -o OUT",
        "pyclone-pgsm analyze R1.vcf.gz R2.vcf.gz -c R1_subclones.txt -c R2_subclones.txt --sex female -o OUT",
        "pyclone-pgsm analyze --samples cohort.csv -o results",
    ),
    validate: (
        "pyclone-pgsm validate tumour.tsv",
        "pyclone-pgsm validate R1.vcf.gz -c R1_subclones.txt --sex female",
    ),
    run: (
        "pyclone-pgsm run tumour.tsv -o trace.h5",
        "pyclone-pgsm run tumour.tsv -o second.h5 --seed 2",
    ),
    prepare: (
        "pyclone-pgsm prepare R1.vcf.gz R2.vcf.gz -c R1_subclones.txt -c R2_subclones.txt -o joined",
        "pyclone-pgsm prepare --samples cohort.csv -o joined",
    ),
    cluster: (
        "pyclone-pgsm cluster points.csv --likelihood normal --standardise",
        "pyclone-pgsm cluster answers.tsv --likelihood bernoulli --param a0=0.5 --param b0=0.5 -o OUT",
        "pyclone-pgsm cluster counts.csv --likelihood poisson.py:Poisson -o OUT",
    ),
    likelihoods: ("pyclone-pgsm likelihoods",),
    resume: (
        "pyclone-pgsm resume OUT/trace.h5",
        "pyclone-pgsm resume trace.h5 --max-iterations 20000",
    ),
    merge: ("pyclone-pgsm merge first.h5 second.h5 -o all.h5",),
    summarize: (
        "pyclone-pgsm summarize trace.h5 -o OUT",
        "pyclone-pgsm summarize OUT/trace.h5 -o finer --consensus mpear",
    ),
    plot: ("pyclone-pgsm plot OUT/trace.h5 -o pictures --format svg",),
    report: (
        "pyclone-pgsm report OUT -o report.html",
        "pyclone-pgsm report all.h5 -o report.html --force",
    ),
    export: (
        "pyclone-pgsm export OUT --format pairtree -o trees",
        "pyclone-pgsm export OUT --format maf --source tumour.maf -o tumour.ccf.maf",
        "pyclone-pgsm export OUT --format vcf --source S1=s1.vcf.gz -o s1.ccf.vcf.gz",
        "pyclone-pgsm export OUT --format metient --primary S1 -o sites.tsv",
    ),
    score: (
        "pyclone-pgsm score OUT simulated.truth.tsv",
        "pyclone-pgsm score pyclone_vi.tsv simulated.truth.tsv",
    ),
    simulate: (
        "pyclone-pgsm simulate -o DIR",
        "pyclone-pgsm simulate -o DIR --name deep --samples 2 --purity 0.9 --purity 0.6 --depth 500",
    ),
}
"""All commands, each with the examples at the end of its help."""
for command, examples in EXAMPLES.items():
    app.command(epilog="\n\n".join(["Examples:", *examples]))(command)


def settle() -> None:
    """Let libraries use one thread each, and matplotlib no window, and the folder `CACHE` if that is set.

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
    os.environ["MPLBACKEND"] = "agg"  # matplotlib fails at once if the user's is unknown
    logging.getLogger("matplotlib").setLevel(logging.ERROR)


def run_command() -> None:
    """Run the command given on the command line."""
    settle()
    # Compiling creates very many lasting objects. With the default thresholds the garbage collector would examine them
    # again and again, and take a twentieth of the time.
    gc.set_threshold(100_000, 50, 50)
    app()
