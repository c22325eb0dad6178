"""The commands that use a result: ``report``, ``export`` and ``score``."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyclone_pgsm.cli.messages import say
from pyclone_pgsm.cli.options import CONCLUSION_OPTIONS, WRITING_OPTIONS, grouped, output_option, taking
from pyclone_pgsm.cli.parsing import command_line, refuse_ineffective, split_sample
from pyclone_pgsm.cli.traces import FileLikelihood
from pyclone_pgsm.errors import TraceError, UsageError
from pyclone_pgsm.files import check_file
from pyclone_pgsm.inputs.problems import count, listed

if TYPE_CHECKING:
    from pyclone_pgsm.results import Result

FORMAT_NAMES = (
    "pyclone, pyclone-vi, phyclone, pairtree, conipher, ctree, revolver, clonevol, citup, metient, maf, vcf, "
    "cbioportal, parquet"
)
"""Names of the formats in `pyclone_pgsm.exports`, which the help must not import."""


@taking(CONCLUSION_OPTIONS, WRITING_OPTIONS)
def report(
    context: typer.Context,
    result: Annotated[
        Path, typer.Argument(metavar="RESULT", help="An output folder of analyze or cluster, or a trace.")
    ],
    out: Annotated[Path, output_option("The HTML file.", "FILE")],
    likelihood: FileLikelihood = None,
) -> None:
    """Write the report of a result, one self-contained HTML page."""
    given = context.params
    check_file(out, given["force"], [result, result / "trace.h5"])
    opened = _opened(given, result, likelihood)
    if any(given[name] is not None for name in CONCLUSION_OPTIONS):
        opened.command += f"\n{command_line()}"
    opened.report(out, force=given["force"])
    say(given, *opened.notes, *_doubts(opened), f"written: {out}")


def _opened(given: dict[str, Any], path: Path, likelihood: str | None = None) -> "Result":
    """Return the result in an output folder or a trace, with the conclusions that the options ask for."""
    from pyclone_pgsm.opening import open_with
    from pyclone_pgsm.posterior.states import Thresholds

    changed = {name: given[name] for name in Thresholds._fields if given[name] is not None}
    return open_with(path, given["consensus"], given["burn_in"], changed, likelihood)


def _doubts(result: "Result") -> list[str]:
    """Return a line if the chains of a result have not converged."""
    return [] if result.converged else [result.convergence]


EXPORT_OPTIONS = grouped(
    None,
    {
        "patient": (str, "patient", "Name of the patient."),
        "primary": (str | None, None, "Sample of the primary tumour (metient).", "SAMPLE"),
        "source": (
            str | None,
            None,
            "Your own VCF or MAF to annotate (vcf, maf, cbioportal).",
            "FILE|SAMPLE=FILE",
        ),
        "tumour_sample": (
            list[str],
            [],
            "Name of a sample of the result in that file; repeat for several.",
            "SAMPLE=NAME",
        ),
        "drivers": (
            Path | None,
            None,
            "Genes or mutations that are drivers, one a line (ctree, revolver).",
        ),
    },
)


@taking(EXPORT_OPTIONS, CONCLUSION_OPTIONS, WRITING_OPTIONS)
def export(
    context: typer.Context,
    result: Annotated[
        Path,
        typer.Argument(metavar="RESULT", help="An output folder of analyze, or a trace.", show_default=False),
    ],
    format: Annotated[
        str, typer.Option("--format", metavar="NAME", help=f"{FORMAT_NAMES}.", show_default=False)
    ],
    out: Annotated[Path, output_option("The file; of a format of several files their folder.")],
) -> None:
    """Write a result in the format of another tool, and list what the format cannot represent."""
    given = context.params
    from pyclone_pgsm.exports import EFFECTS, check_output, find_format

    source, drivers, force = given["source"], given["drivers"], given["force"]
    sample, file = split_sample(source) if source is not None else (None, None)
    path = None if file is None else Path(file)
    chosen = find_format(format)
    refuse_ineffective(context, EFFECTS)
    check_output(chosen, out, force, filter(None, (path, drivers, result, result / "trace.h5")))
    in_source = _names_by_sample(given["tumour_sample"])
    names = _lines(drivers) if drivers else []
    opened = _opened(given, result)
    notes = opened.export(
        format,
        out,
        patient=given["patient"],
        primary=given["primary"],
        source=path,
        source_sample=sample,
        tumour_sample=in_source,
        drivers=names,
        force=force,
    )
    written = ", ".join(str(out / name) for name in chosen.files) or out
    say(given, *opened.notes, *_doubts(opened), *notes, f"written: {written}")


def _names_by_sample(texts: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        sample, _, name = text.partition("=")
        if not (sample and name) or sample in found:
            raise UsageError(
                f"--tumour-sample {text}: expected SAMPLE=NAME, a sample of the result and its name in the file, once "
                "for each sample"
            )
        found[sample] = name
    return found


def _lines(path: Path) -> list[str]:
    """Read one name from each line, up to a tab."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise UsageError(f"--drivers {path}: cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(
            f"--drivers {path}: is not UTF-8; expected a gene or mutation a line, as text"
        ) from None
    names = [line.partition("\t")[0].strip() for line in text.splitlines()]
    found = [name for name in names if name and not name.startswith("#")]
    if not found:
        raise UsageError(f"--drivers {path}: has no name; expected a gene or mutation a line")
    return found


@taking()
def score(
    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT", help="An output folder of analyze, or a table like its mutations.tsv."
        ),
    ],
    truth: Annotated[
        Path,
        typer.Argument(
            metavar="TRUTH", help="A table mutation_id, cluster, and where known sample_id and ccf."
        ),
    ],
) -> None:
    """Compare a result with a known truth: clusters, prevalences, intervals."""
    from pyclone_pgsm.scoring.truth import read_found, read_truth
    from pyclone_pgsm.scoring.truth import score as compare

    if (result / "assignments.tsv").is_file():
        raise UsageError(
            f"score: is for tumours; {result} is a result of cluster: give a table of its clusters"
        )
    known, found = read_truth(truth), read_found(result / "mutations.tsv" if result.is_dir() else result)
    for name, value in compare(known, found).items():
        print(f"{name}\t{value:.6g}")
    others = found.loc[~found["mutation_id"].isin(known["mutation_id"]), "mutation_id"].nunique()
    if others:
        print(f"not compared: {count(others, 'mutation')} that the truth lacks", file=sys.stderr)
    if {"ccf", "sample_id"} <= set(known.columns):
        samples = [dict.fromkeys(table["sample_id"]) for table in (known, found)]
        for of, lacking, name in zip(samples, reversed(samples), ("result", "truth")):
            if missing := [sample for sample in of if sample not in lacking]:
                print(
                    f"prevalences not compared: samples {listed(missing)}, which the {name} lacks",
                    file=sys.stderr,
                )
    if difference := _staleness(result):
        print(
            f"{difference}; scored are the tables: update them with pyclone-pgsm summarize", file=sys.stderr
        )


def _staleness(folder: Path) -> str | None:
    """Return how the tables in an output folder differ from its trace; None if they do not, or if none can be read."""
    from pyclone_pgsm.analyses.run_json import how_summarised
    from pyclone_pgsm.opening import difference_of_tables
    from pyclone_pgsm.results import RUN, TRACE
    from pyclone_pgsm.trace import Trace

    try:
        with Trace(folder / TRACE) as trace:
            return difference_of_tables(how_summarised(folder / RUN), trace)
    except TraceError:
        return None
