"""The options that commands share, with their help."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args

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


METAVARS = {int: "INT", float: "FLOAT", str: "NAME", Path: "FILE"}


def metavar_of(kind: Any) -> str | None:
    """What stands for the value of an option where nothing else is said; None if it has none."""
    kinds = [kind, *get_args(kind)]
    kinds += [each for inner in kinds for each in get_args(inner)]
    return next((METAVARS[each] for each in kinds if each in METAVARS), None)


def option(kind: Any, name: str, text: str, panel: str | None = None, metavar: str | None = None) -> Any:
    """The annotation of an option."""
    told = typer.Option(
        *filter(None, name.split("|")), metavar=metavar or metavar_of(kind), help=text, rich_help_panel=panel
    )
    return Annotated[kind, told]


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
            "Share of cancer cells, for all samples or, as SAMPLE=.., for one (repeatable); wins over the column. With "
            "±SD (or +-SD) it is inferred. \\[default: the column, else 1]",
            MODEL,
            "FLOAT|FLOAT±SD|SAMPLE=..",
        ),
        None,
    ),
    "error_rate": (
        option(
            float | None,
            "--error-rate",
            "Probability that a read shows the wrong allele; wins over the column. \\[default: the column, else "
            "inferred]",
            MODEL,
        ),
        None,
    ),
    "genotype_prior": (
        option(
            str,
            "--genotype-prior",
            "Which copies may carry the mutation: major, parental, total (only the total copy number is known), or ab, "
            "bb, no-zygosity, which do not use copy numbers.",
            MODEL,
        ),
        "major",
    ),
}
DENSITY_OPTIONS: Options = {
    "density": (
        option(
            str,
            "--density",
            "Distribution of the variant reads; the binomial has no overdispersion.",
            MODEL,
            "beta-binomial|binomial",
        ),
        "beta-binomial",
    ),
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
        option(
            str,
            "--grid-size",
            "Points of the grid of prevalences, 11 to 10001; auto: 101 to 1601, by depth and number of mutations.",
            MODEL,
            "auto|INT",
        ),
        "auto",
    ),
    "prevalence_prior": (
        option(
            str,
            "--prevalence-prior",
            "Prior of a cluster's prevalence in a sample: learned (near 0, near 1 or anywhere, in shares that are "
            "learned for each sample) or uniform (PyClone's).",
            MODEL,
            "learned|uniform",
        ),
        "learned",
    ),
    "outlier_prob": (
        option(
            float,
            "--outlier-prob",
            "Probability that a mutation is an artefact that belongs to no cluster, such as 0.05; those found have "
            "cluster -1. At least 0, below 1.",
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
            "Prior of the partition: Dirichlet process, Pitman-Yor process, or symmetric Dirichlet over --max-clusters "
            "clusters.",
            PRIOR,
            "dp|pitman-yor|finite",
        ),
        "dp",
    ),
    "concentration": (
        option(float, "--concentration", "Concentration of that prior, at the start.", PRIOR),
        1.0,
    ),
    "concentration_prior": (
        option(
            str,
            "--concentration-prior",
            "Gamma prior of the concentration (of finite: of its total), or keep it as it is.",
            PRIOR,
            "SHAPE,RATE|fixed",
        ),
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
BURN_IN = option(
    int | None,
    "--burn-in",
    "Iterations that summaries skip. \\[default: found; half of a number of iterations]",
    CHAINS,
)
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
    "Iterations after which chains that have not converged stop. \\[default: 10000; fewer for more than 3000 "
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
            str | None,
            "--sampler",
            "What an iteration does: mixed (a Gibbs sweep, moves of close clusters and a particle Gibbs split-merge "
            "move), pgsm or gibbs (one kind alone), mixed-sams or sams (sequentially allocated merge-split moves), "
            "restricted-gibbs or "
            "mixed-restricted-gibbs. \\[default: mixed; for more than 5000 mutations mixed-sams, unless --anchors, "
            "--particles or --targets asks for particle Gibbs]",
            CHAINS,
        ),
        None,
    ),
    "sweeps": (option(int, "--sweeps", "Gibbs sweeps in each iteration.", CHAINS), 1),
    "moves": (
        option(
            int | None,
            "--moves",
            "Split-merge moves in each iteration; more if chains get stuck. \\[default: 1; 4 of a "
            "sampler that is asked for, other than mixed]",
            CHAINS,
        ),
        None,
    ),
    "close_moves": (
        option(
            int | None,
            "--close-moves",
            "Merge-split moves in each iteration that start from clusters which are close to each other, 0 or more. "
            "\\[default: 16, 8 for more than 5000 mutations; 0 of a sampler that is asked for, other than mixed]",
            CHAINS,
        ),
        None,
    ),
    "particles": (
        option(
            int, "--particles", "Particles of a particle Gibbs split-merge (pgsm) move, at least 2.", CHAINS
        ),
        20,
    ),
    "resample_threshold": (
        option(
            float | None,
            "--resample-threshold",
            "Relative effective sample size of the particles below which they are resampled, 0 (never) to 1. "
            "\\[default: 0.5; 0.1 of cluster]",
            CHAINS,
        ),
        None,
    ),
    "resampling": (
        option(
            str | None,
            "--resampling",
            "How particles are resampled: multinomial, stratified, systematic, optimal or both-kinds. \\[default: "
            "multinomial; both-kinds of cluster]",
            CHAINS,
        ),
        None,
    ),
    "anchors": (
        option(int, "--anchors", "Observations that a pgsm move starts from, at least 2.", CHAINS),
        2,
    ),
    "anchor_proposal": (
        option(
            str | None,
            "--anchor-proposal",
            "How anchors are drawn: uniform, cluster, threshold or balanced. \\[default: balanced; uniform for more "
            "than two anchors]",
            CHAINS,
        ),
        None,
    ),
    "targets": (
        option(str, "--targets", "Intermediate targets of a pgsm move.", CHAINS, "annealed|plain"),
        "annealed",
    ),
    "scans": (option(int, "--scans", "Restricted Gibbs scans of a restricted-gibbs move.", CHAINS), 5),
    "init": (
        option(
            str | None,
            "--init",
            "How chains start: single (one cluster), disconnected (each observation on its own), random or random:K (K "
            "random clusters), apart (each chain in another way), or a table with a column cluster_id. \\[default: "
            "apart; single for a number of iterations]",
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
            "What chooses the partition that is reported. \\[default: vi]",
            OUTPUT,
            "vi|mpear|binder|map",
        ),
        None,
    ),
    "plots": (option(bool, "--plots/--no-plots", "Draw the pictures.", OUTPUT), True),
    "formats": (
        option(str, "--format", "Formats of the pictures, separated by commas.", OUTPUT, "png,pdf,svg"),
        "png",
    ),
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
