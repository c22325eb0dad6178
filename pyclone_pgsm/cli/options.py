"""Options that commands share, with their help."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from pyclone_pgsm.cli.messages import mistakes_reported

MODEL, PRIOR, CHAINS, OUTPUT = "Tumour model", "Partition prior", "Chains", "Output"
Options = dict[str, tuple[Any, Any]]
"""Annotation and default of each option of a group, by parameter name."""


def taking(*groups: Options) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command so that it also takes the options of these groups, which it finds in ``context.params``.

    Its errors become messages and exit codes (:func:`~pyclone_pgsm.cli.messages.mistakes_reported`).
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function, eval_str=True)

        @wraps(function)
        def command(**given: Any) -> None:
            if "context" in given:  # before typer 0.29, its parameters were texts, not paths
                given["context"].params.update((name, given[name]) for name in given if name != "context")
            with mistakes_reported():
                function(**{name: given[name] for name in own.parameters})

        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for group in groups
            for name, (annotation, default) in group.items()
        ]
        # typer reads the parameters from this
        command.__signature__ = own.replace(parameters=[*own.parameters.values(), *shared])  # type: ignore[attr-defined]
        command.__annotations__ = {}
        del command.__wrapped__
        return command

    return decorate


def some(group: Options, *names: str) -> Options:
    """Return some options of a group."""
    return {name: group[name] for name in names}


METAVARS = {int: "INT", float: "FLOAT", str: "NAME", Path: "FILE"}


def metavar_of(kind: Any) -> str | None:
    """Return the metavar for an option of this type; None if it takes no value."""
    if kind in METAVARS:
        return METAVARS[kind]
    return next(filter(None, map(metavar_of, get_args(kind))), None)


def grouped(panel: str | None, descriptions: dict[str, tuple[Any, ...]]) -> Options:
    """Return a group of options under one heading. Each is given as type, default and help, and optionally metavar and
    names."""
    return {
        name: (_option(name, panel, kind, *rest), default)
        for name, (kind, default, *rest) in descriptions.items()
    }


def _option(
    name: str, panel: str | None, kind: Any, text: str, metavar: str | None = None, names: str | None = None
) -> Any:
    flags = (names or "--" + name.replace("_", "-")).split("|")
    option = typer.Option(*flags, metavar=metavar or metavar_of(kind), help=text, rich_help_panel=panel)
    return Annotated[kind, option]


def _named(text: str) -> Path:
    """Return the path of an output; an empty text, such as from an unset variable, must not mean the current folder."""
    if not text.strip():
        raise typer.BadParameter("is empty: give a name")
    return Path(text)


def output_option(text: str, metavar: str = "OUT") -> Any:
    """Return the option ``-o``."""
    return typer.Option("-o", "--out", metavar=metavar, help=text, rich_help_panel=OUTPUT, parser=_named)


TUMOUR_OPTIONS = grouped(
    MODEL,
    {
        "tumour_content": (
            list[str] | None,
            None,
            "Share of cancer cells, for all samples or, as SAMPLE=.., for one (repeatable); overrides the column. With "
            "±SD (or +-SD) it is inferred. \\[default: the column, else 1]",
            "FLOAT|FLOAT±SD|SAMPLE=..",
        ),
        "error_rate": (
            float | None,
            None,
            "Probability that a read shows the wrong allele; overrides the column. \\[default: the column, else "
            "inferred]",
        ),
        "genotype_prior": (
            str,
            "major",
            "Which copies may carry the mutation: major, parental, total (only the total copy number is known), clonal "
            "(all tumour cells have the copies, as after a genome doubling), or ab, bb, no-zygosity, which do not use "
            "copy numbers.",
        ),
    },
)
DENSITY_OPTIONS = grouped(
    MODEL,
    {
        "density": (
            str,
            "beta-binomial",
            "Distribution of the variant reads; the binomial has no overdispersion.",
            "beta-binomial|binomial",
        ),
        "precision": (
            str,
            "infer",
            "Precision of the beta-binomial: inferred, one for all reads or one of each sample, or a given number.",
            "infer|infer-per-sample|FLOAT",
        ),
        "grid_size": (
            str,
            "auto",
            "Points of the grid of prevalences, 11 to 10001; auto: 101 to 1601, by number of mutations, depth, copy "
            "numbers and tumour content.",
            "auto|INT",
        ),
        "prevalence_prior": (
            str,
            "learned",
            "Prior of a cluster's prevalence in a sample: learned (near 0, near 1 or anywhere, in shares that are "
            "learned for each sample) or uniform (PyClone's, whose grid is coarse for small prevalences).",
            "learned|uniform",
        ),
        "outlier_prob": (
            float,
            0.0,
            "Probability that a mutation is an artefact that belongs to no cluster, such as 0.05; those found have "
            "cluster -1. At least 0, below 1.",
        ),
    },
)
PRIOR_OPTIONS = grouped(
    PRIOR,
    {
        "prior": (
            str,
            "dp",
            "Prior of the partition: Dirichlet process, Pitman-Yor process, or symmetric Dirichlet over --max-clusters "
            "clusters.",
            "dp|pitman-yor|finite",
        ),
        "concentration": (float, 1.0, "Concentration of that prior, at the start."),
        "concentration_prior": (
            str,
            "1,1",
            "Gamma prior of the concentration (of finite: of its total), or keep it as it is.",
            "SHAPE,RATE|fixed",
        ),
        "discount": (str, "infer", "Discount of the Pitman-Yor process.", "infer|FLOAT"),
        "max_clusters": (int | None, None, "Number of components of the finite prior, which needs it."),
    },
)
CHAIN_OPTIONS = grouped(
    CHAINS,
    {
        "sampler": (
            str | None,
            None,
            "What an iteration does: mixed (a Gibbs sweep, moves of close clusters and a particle Gibbs split-merge "
            "move), pgsm or gibbs (one kind alone), mixed-sams or sams (sequentially allocated merge-split moves), "
            "restricted-gibbs or "
            "mixed-restricted-gibbs. \\[default: mixed; for more than 5000 mutations mixed-sams, unless --anchors, "
            "--particles, --targets, --resampling or --resample-threshold asks for particle Gibbs]",
        ),
        "sweeps": (int, 1, "Gibbs sweeps in each iteration."),
        "moves": (
            int | None,
            None,
            "Split-merge moves in each iteration; more if chains get stuck. \\[default: 1; 4 with "
            "--sampler, except mixed]",
        ),
        "close_moves": (
            int | None,
            None,
            "Merge-split moves in each iteration that start from clusters which are close to each other, 0 or more; "
            "tumours of at least 500 mutations also have half as many exchanges of mutations between two clusters. "
            "\\[default: 16, 8 for more than 5000 mutations, 2 for more than 200000; 0 with --sampler, except mixed]",
        ),
        "particles": (int, 20, "Particles of a particle Gibbs split-merge (pgsm) move, at least 2."),
        "resample_threshold": (
            float | None,
            None,
            "Relative effective sample size of the particles below which they are resampled, 0 (never) to 1. "
            "\\[default: 0.5; 0.1 of cluster with both-kinds]",
        ),
        "resampling": (
            str | None,
            None,
            "How particles are resampled: multinomial, stratified, systematic, optimal or both-kinds. \\[default: "
            "multinomial; both-kinds of cluster with two anchors]",
        ),
        "anchors": (int, 2, "Observations that a pgsm move starts from, at least 2."),
        "anchor_proposal": (
            str | None,
            None,
            "How anchors are drawn: uniform, cluster, threshold or balanced. \\[default: balanced; uniform for more "
            "than two anchors]",
        ),
        "targets": (str, "annealed", "Intermediate targets of a pgsm move.", "annealed|plain"),
        "scans": (int, 5, "Restricted Gibbs scans of a restricted-gibbs move."),
        "init": (
            str | None,
            None,
            "How chains start: single (one cluster), disconnected (each observation on its own), random or random:K (K "
            "random clusters), apart (each chain in another way), or a table with a column cluster_id. \\[default: "
            "apart; single for a number of iterations]",
            "NAME|FILE",
        ),
        "iterations": (
            str,
            "auto",
            "Iterations of each chain, burn-in included; auto: until the chains have converged.",
            "auto|INT",
        ),
        "max_iterations": (
            int | None,
            None,
            "Iterations after which chains that have not converged stop. \\[default: 10000; fewer for more than 3000 "
            "mutations, at least 200]",
        ),
        "max_time": (
            float | None,
            None,
            "Seconds after which chains that have not converged stop. On top come reading, tables and pictures, and "
            "the chains behind the farthest, which catch up with it: long, if there are more chains than threads.",
            "SECONDS",
        ),
        "require_convergence": (
            bool,
            False,
            "End with exit code 3, the results written, if the chains have not converged.",
        ),
        "burn_in": (
            int | None,
            None,
            "Iterations that summaries skip, and during which chains adapt; with --iterations auto, summaries may skip "
            "more. \\[default: found; half of a number of iterations]",
        ),
        "thin": (int, 1, "Save every n-th iteration."),
        "chains": (int, 4, "Independent chains."),
        "threads": (
            int | None,
            None,
            "Chains that run at the same time; they give the same result whatever their number. \\[default: "
            "processors]",
        ),
        "seed": (int, 1, "Seed of the random numbers."),
    },
)
WRITING_OPTIONS = grouped(
    OUTPUT,
    {
        "force": (bool, False, "Replace existing output."),
        "quiet": (bool, False, "Show no progress and print no summary.", None, "--quiet|-q"),
    },
)
SUMMARY_OPTIONS = grouped(
    OUTPUT,
    {
        "consensus": (
            str,
            None,
            "Criterion of the reported partition. \\[default: vi]",
            "vi|mpear|binder|map",
        ),
        "plots": (bool, True, "Draw the pictures.", None, "--plots/--no-plots"),
        "formats": (str, "png", "Formats of the pictures, separated by commas.", "png,pdf,svg", "--format"),
        "report": (bool, True, "Write the report, one HTML page.", None, "--report/--no-report"),
        "mqc": (bool, False, "Write a table for MultiQC."),
    },
)
CONCLUSION_OPTIONS = grouped(
    None,
    {
        "consensus": (
            str | None,
            None,
            "Criterion of the reported partition. \\[default: that of the folder, or vi]",
            "vi|mpear|binder|map",
        ),
        "burn_in": (
            int | None,
            None,
            "Iterations to leave out. \\[default: those of the folder, or of the run]",
        ),
        "present_above": (
            float | None,
            None,
            "Prevalence above which a mutation is present. \\[default: that of the folder, or 0.01]",
        ),
        "clonal_above": (
            float | None,
            None,
            "Prevalence above which a mutation is clonal. \\[default: that of the folder, or 0.95]",
        ),
    },
)
"""How the commands that read a result draw their conclusion from its trace."""
STATE_OPTIONS = grouped(
    OUTPUT,
    {
        "present_above": (float, 0.01, "Prevalence above which a mutation is present."),
        "clonal_above": (float, 0.95, "Prevalence above which a mutation is clonal."),
    },
)
