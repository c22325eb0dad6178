"""The commands that work on a trace: ``resume``, ``merge``, ``summarize`` and ``plot``."""

from pathlib import Path
from typing import Annotated

import typer

from pyclone_pgsm.cli.messages import progress_bars, require_convergence, say, summary_lines
from pyclone_pgsm.cli.options import (
    CHAIN_OPTIONS,
    CHAINS,
    CONCLUSION_OPTIONS,
    STATE_OPTIONS,
    SUMMARY_OPTIONS,
    WRITING_OPTIONS,
    grouped,
    output_option,
    some,
    taking,
)
from pyclone_pgsm.cli.parsing import command_line, given_options, parse_formats, parse_number, result_options
from pyclone_pgsm.errors import OutputError, UsageError
from pyclone_pgsm.files import check_file, check_files, finished, make_folder, remove_leftovers
from pyclone_pgsm.inputs.problems import count

FileLikelihood = Annotated[
    str | None,
    typer.Option(
        "--likelihood",
        metavar="FILE.py:CLASS",
        help="The file with the code of the likelihood, for a trace that was made with one. Such code is run only if "
        "you name it here.",
    ),
]
SKIPPED = grouped(
    CHAINS, {"burn_in": (int | None, None, "Iterations to leave out. \\[default: those of the run]")}
)
LIMITS = grouped(
    CHAINS,
    {
        "max_iterations": (
            int | None,
            None,
            "Iterations after which chains that have not converged stop. \\[default: as in the trace; twice as many if "
            "it stopped there]",
        ),
        "max_time": (
            float | None,
            None,
            "Seconds after which chains that have not converged stop; those behind the farthest then catch up with it. "
            "\\[default: as in the trace; none if it stopped there]",
            "SECONDS",
        ),
    },
)


def _trace_file(text: str) -> Path:
    """Return the trace that an argument names: a file, or the ``trace.h5`` of an output folder."""
    within = Path(text) / "trace.h5"
    return within if within.is_file() else Path(text)


Existing = Annotated[
    Path,
    typer.Argument(
        metavar="TRACE",
        help="A trace made by run, analyze or cluster, or the output folder with it.",
        parser=_trace_file,
    ),
]


@taking(
    LIMITS,
    some(CHAIN_OPTIONS, "require_convergence", "threads"),
    some(WRITING_OPTIONS, "quiet"),
)
def resume(
    context: typer.Context,
    trace: Existing,
    iterations: Annotated[
        str | None,
        typer.Option(
            "--iterations",
            metavar="auto|INT",
            help="New number of iterations in all; auto: until the chains have converged. The burn-in of a run with a "
            "number of iterations stays; summarize --burn-in skips more. \\[default: as the trace says]",
        ),
    ] = None,
    likelihood: FileLikelihood = None,
) -> None:
    """Continue the chains of a trace that stopped or was killed; the result is that of an uninterrupted run."""
    from pyclone_pgsm.analyses import run as analysis
    from pyclone_pgsm.posterior.convergence import verdict_line, verdict_of
    from pyclone_pgsm.trace import Trace

    given = context.params
    total: int | str | None = iterations
    if iterations not in (None, "auto"):
        total = parse_number("iterations", iterations, "auto", int)
    with Trace(trace, likelihood) as opened:
        chains = len(opened.chains)
    with progress_bars(given["quiet"], chains) as progress:
        done = analysis.resume(
            trace,
            total,
            max_iterations=given["max_iterations"],
            max_time=given["max_time"],
            threads=given["threads"],
            progress=progress,
            likelihood=likelihood,
            command=command_line(),
        )
    trace = finished(trace)
    with Trace(trace, likelihood) as opened:
        verdict = verdict_of(opened)
    say(given, verdict_line(verdict), f"{count(chains, 'chain')} of {done:,} iterations in {trace}")
    require_convergence(given, [] if verdict.converged else [trace])


@taking(WRITING_OPTIONS)
def merge(
    context: typer.Context,
    traces: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRACE...",
            help="Traces of the same data, with other seeds, or output folders with them.",
            parser=_trace_file,
        ),
    ],
    out: Annotated[Path, output_option("The merged trace.", "TRACE")],
) -> None:
    """Merge chains of separate runs into one trace."""
    from pyclone_pgsm.trace import merge_traces

    check_file(out, context.params["force"], traces)
    make_folder(out.parent)
    chains = merge_traces(traces, out, command_line())
    say(context.params, f"{count(chains, 'chain')} written to {out}")


@taking(SUMMARY_OPTIONS, STATE_OPTIONS, SKIPPED, some(CHAIN_OPTIONS, "require_convergence"), WRITING_OPTIONS)
def summarize(
    context: typer.Context,
    trace: Existing,
    out: Annotated[Path, output_option("Output folder.")],
    likelihood: FileLikelihood = None,
) -> None:
    """Write the tables and pictures of a trace."""
    from pyclone_pgsm.analyses import run as analysis
    from pyclone_pgsm.analyses.kinds import ANALYSES
    from pyclone_pgsm.analyses.results import check_folder
    from pyclone_pgsm.trace import Trace

    given = context.params
    results = result_options(context)
    with Trace(trace, likelihood) as opened:
        opened.check_likelihood()
        names = ANALYSES[opened.data.kind].files
        likelihood_name = opened.options.model.likelihood
    for name in sorted(given_options(context) & STATE_OPTIONS.keys()):
        if "mutations.tsv" not in names:
            raise UsageError(f"`{name}` {given[name]:g}: is for tumours; {trace} is of {likelihood_name!r}")
    check_folder(out, given["force"], [name for name in names if name != "trace.h5"])
    result = analysis.write_results(
        trace, out, burn_in=given["burn_in"], likelihood=likelihood, command=command_line(), **results
    )
    say(given, *summary_lines(result), f"written to {out}")
    require_convergence(given, [] if result.convergence.converged else [out])


@taking(some(CONCLUSION_OPTIONS, "consensus", "burn_in"), some(SUMMARY_OPTIONS, "formats"), WRITING_OPTIONS)
def plot(
    context: typer.Context,
    result: Annotated[
        Path, typer.Argument(metavar="RESULT", help="An output folder of analyze or cluster, or a trace.")
    ],
    out: Annotated[Path, output_option("Folder for the pictures.")],
    likelihood: FileLikelihood = None,
) -> None:
    """Draw only the pictures of a result."""
    from pyclone_pgsm.opening import open_with

    given = context.params
    formats = parse_formats(given["formats"])
    check_files(out, (), given["force"])
    remove_leftovers(out)
    if out.exists() and any(out.iterdir()) and not given["force"]:
        raise OutputError(f"{out} exists already and is not empty: use `force`, or give another folder")
    opened = open_with(result, given["consensus"], given["burn_in"], {}, likelihood)
    paths = opened.write_pictures(out, formats)
    say(given, *opened.notes, f"{len(paths)} pictures written to {out}")
