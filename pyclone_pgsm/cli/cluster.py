"""The commands that cluster any table of numbers: ``cluster`` and ``likelihoods``."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyclone_pgsm.cli.messages import progress_bars, require_convergence, say, summary_lines, with_options
from pyclone_pgsm.cli.options import (
    CHAIN_OPTIONS,
    PRIOR_OPTIONS,
    SUMMARY_OPTIONS,
    WRITING_OPTIONS,
    grouped,
    output_option,
    taking,
)
from pyclone_pgsm.cli.parsing import (
    command_line,
    default_folder,
    parse_parameters,
    result_options,
    sampling_plan,
)

if TYPE_CHECKING:
    from pyclone_pgsm.likelihoods.registry import LikelihoodInfo

MODEL = "Mixture"


MIXTURE_OPTIONS = grouped(
    MODEL,
    {
        "param": (
            list[str] | None,
            None,
            "A parameter of the likelihood (repeatable): a number, a list as in JSON, or infer.",
            "NAME=VALUE",
        ),
        "standardise": (
            bool,
            False,
            "Shift and scale each column to mean 0 and standard deviation 1; results are in these units.",
        ),
        "id_column": (
            str | None,
            None,
            "Column with the names of the rows. \\[default: the first, if its name or texts say so]",
            "NAME",
        ),
        "ignore": (list[str] | None, None, "A column to leave out (repeatable).", "NAME"),
    },
)


@taking(MIXTURE_OPTIONS, PRIOR_OPTIONS, CHAIN_OPTIONS, SUMMARY_OPTIONS, WRITING_OPTIONS)
def cluster(
    context: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="A table of numbers, a row an observation: CSV, TSV (.gz too), NPY or Parquet.",
        ),
    ],
    likelihood: Annotated[
        str,
        typer.Option(
            "--likelihood",
            metavar="NAME|FILE.py:CLASS",
            help="normal, bernoulli, or any other of pyclone-pgsm likelihoods.",
            rich_help_panel=MODEL,
        ),
    ],
    out: Annotated[
        Path | None, output_option("Output folder. \\[default: DATA's name + _pyclone_pgsm]")
    ] = None,
) -> None:
    """Cluster the rows of any table of numbers: read, run the chains, and write clusters, parameters and pictures."""
    given = context.params
    folder = out or default_folder(data)
    from pyclone_pgsm.analyses import run as analysis
    from pyclone_pgsm.analyses.matrix import MatrixAnalysis
    from pyclone_pgsm.analyses.matrix_input import standardise, stored_options
    from pyclone_pgsm.analyses.results import check_folder
    from pyclone_pgsm.errors import DataValueError
    from pyclone_pgsm.inputs.matrix import data_error, read_matrix
    from pyclone_pgsm.likelihoods.matrix import DataMatrix, find_table_likelihood
    from pyclone_pgsm.trace.matrix import MatrixData

    parameters = parse_parameters(given["param"])
    find_table_likelihood(likelihood, parameters)
    settings, prior = sampling_plan(context)
    results = result_options(context)
    matrix = read_matrix(data, given["id_column"], given["ignore"] or ())
    rows = DataMatrix(matrix.row_names, matrix.column_names, matrix.values)
    columns = None
    try:
        if given["standardise"]:
            rows, columns = standardise(rows)
        check_folder(folder, given["force"], MatrixAnalysis.files, [data, *settings.files])
        with progress_bars(given["quiet"], settings.chains) as progress:
            options = stored_options(likelihood, parameters, rows, columns)
            plan = analysis.plan_matrix(MatrixData(rows, options), settings, prior, threads=given["threads"])
            result = analysis.fill_folder(plan, folder, command=command_line(), progress=progress, **results)
    except DataValueError as fault:
        raise data_error(matrix, fault) from None
    say(given, *summary_lines(result), f"written to {folder}")
    require_convergence(given, [] if result.convergence.converged else [folder])


@taking()
def likelihoods() -> None:
    """List the likelihoods that cluster can use, plugins included, with their parameters."""
    from pyclone_pgsm.likelihoods.registry import installed_likelihoods

    for info in installed_likelihoods():
        print("\n".join(_lines(info)))


def _lines(info: LikelihoodInfo) -> list[str]:
    if info.problem:
        return [f"{info.name}  ({info.source})", f"    cannot be used: {with_options(info.problem)}"]
    use = "cluster" if info.takes_tables else "analyze" if info.name == "pyclone" else "not from tables"
    lines = [f"{info.name}  ({info.source}; {use})", f"    {info.summary}"]
    for name, default in info.parameters.items():
        is_needed = default is inspect.Parameter.empty
        lines.append(
            f"    --param {name}={'.. (needed)' if is_needed else '..' if default is None else default}"
        )
    return lines
