"""The options that commands share, with their help."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

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
            "Precision of the beta-binomial: inferred, one for all reads or one of each sample, or a given number.",
            MODEL,
            "infer|infer-per-sample|FLOAT",
        ),
        "infer",
    ),
    "grid_size": (
        option(str, "--grid-size", "Points of the grid of prevalences.", MODEL, "auto|INT"),
        "auto",
    ),
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
        option(
            int | None, "--max-clusters", "Number of components of the finite prior, which needs it.", PRIOR
        ),
        None,
    ),
}
BURN_IN = option(int | None, "--burn-in", "Iterations that summaries skip. \\[default: half]", CHAINS)
SEED = option(int, "--seed", "Seed of the random numbers.", CHAINS)
THREADS = option(
    int | None,
    "--threads",
    "Chains that run at the same time; they give the same result whatever their number. \\[default: processors]",
    CHAINS,
)
MAX_ITERATIONS = option(
    int | None,
    "--max-iterations",
    "Iterations after which chains that have not converged stop. \\[default: 10000; fewer for more than 1000 "
    "mutations, at least 200]",
    CHAINS,
)
MAX_TIME = option(
    float | None, "--max-time", "Seconds after which chains that have not converged stop.", CHAINS, "SECONDS"
)
REQUIRE_CONVERGENCE = option(
    bool,
    "--require-convergence",
    "End with exit code 3, the results written, if the chains have not converged.",
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
    "sweeps": (option(int, "--sweeps", "Gibbs sweeps in each iteration.", CHAINS), 1),
    "moves": (
        option(
            int | None,
            "--moves",
            "Split-merge moves in each iteration. \\[default: 4; 1 for large data]",
            CHAINS,
        ),
        None,
    ),
    "particles": (
        option(int, "--particles", "Particles of a particle Gibbs split-merge (pgsm) move.", CHAINS),
        20,
    ),
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
            str | None,
            "--init",
            "single, disconnected, random, random:K, apart (each chain in another way), or a table with a column "
            "cluster_id. \\[default: apart; single for a number of iterations]",
            CHAINS,
            "NAME|FILE",
        ),
        None,
    ),
    "iterations": (
        option(
            str,
            "--iterations",
            "Iterations of each chain, burn-in included; auto: until the chains have converged.",
            CHAINS,
            "auto|INT",
        ),
        "auto",
    ),
    "max_iterations": (MAX_ITERATIONS, None),
    "max_time": (MAX_TIME, None),
    "require_convergence": (REQUIRE_CONVERGENCE, False),
    "burn_in": (BURN_IN, None),
    "thin": (option(int, "--thin", "Save every n-th iteration.", CHAINS), 1),
    "chains": (option(int, "--chains", "Independent chains.", CHAINS), 4),
    "threads": (THREADS, None),
    "seed": (SEED, 1),
}
FORCE = option(bool, "--force", "Replace existing output.", OUTPUT)
QUIET = option(bool, "--quiet|-q", "Show no progress and print no summary.", OUTPUT)
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
    "formats": (option(str, "--format", "Formats of the pictures.", OUTPUT, "png,pdf,svg"), "png,pdf"),
    "report": (option(bool, "--report/--no-report", "Write the report, one HTML page.", OUTPUT), True),
    "mqc": (option(bool, "--mqc", "Write a table for MultiQC.", OUTPUT), False),
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
