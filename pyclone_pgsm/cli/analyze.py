"""The commands that cluster the mutations of a tumour: ``analyze``, ``validate``, ``run`` and ``prepare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyclone_pgsm.analyses.precompile import compile_ahead
from pyclone_pgsm.cli.messages import progress_bars, say, summary_lines, with_options
from pyclone_pgsm.cli.options import (
    CHAIN_OPTIONS,
    DENSITY_OPTIONS,
    PRIOR_OPTIONS,
    STATE_OPTIONS,
    SUMMARY_OPTIONS,
    TUMOUR_OPTIONS,
    WRITING_OPTIONS,
    output_option,
    some,
    taking,
)
from pyclone_pgsm.cli.parsing import (
    command_line,
    parse_number,
    refuse_ineffective,
    result_options,
    sampling_plan,
)
from pyclone_pgsm.cli.tumours import (
    SEGMENT_OPTIONS,
    Inputs,
    Mutations,
    Tumour,
    each_tumour,
    folder_for,
    join,
    prepare_options,
    read,
    warn,
)
from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.files import check_file, check_files, make_folder
from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.locks import writing

if TYPE_CHECKING:
    from pyclone_pgsm.tumour.options import ModelOptions


def _model_options(context: typer.Context) -> ModelOptions:
    from pyclone_pgsm.tumour.model import PER_SAMPLE
    from pyclone_pgsm.tumour.options import EFFECTS, ModelOptions

    given, precision = context.params, context.params["precision"]
    refuse_ineffective(context, EFFECTS)
    return ModelOptions(
        given["genotype_prior"],
        given["density"],
        precision if precision == PER_SAMPLE else parse_number("precision", precision, "infer", float),
        parse_number("grid-size", given["grid_size"], "auto", int),
        outlier_prob=given["outlier_prob"],
        prevalence_prior=given["prevalence_prior"],
    )


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
    """Cluster the mutations of a tumour: read, run the chains, write clusters, prevalences, tables and pictures."""
    given = context.params
    settings, prior = sampling_plan(context)
    compile_ahead("pyclone", settings, given["threads"])
    from pyclone_pgsm.analyses import run as analysis
    from pyclone_pgsm.analyses.results import check_folder
    from pyclone_pgsm.analyses.tumour import TumourAnalysis

    model = _model_options(context)
    results = result_options(context)

    def work(tumour: Tumour, folder: Path) -> Path | None:
        reading = read(tumour, given)
        check_folder(folder, given["force"], TumourAnalysis.files, [*tumour.files, *settings.files])
        if not given["quiet"]:
            warn(reading.warnings, tumour.name)
        with progress_bars(given["quiet"], settings.chains) as progress:
            plan = analysis.plan_tumour(reading, model, settings, prior, given["threads"])
            result = analysis.fill_folder(plan, folder, command=command_line(), progress=progress, **results)
        say(given, *reading.notes, *summary_lines(result, reading.warnings), f"written to {folder}")
        return None if result.convergence.converged else folder

    each_tumour(inputs, out or folder_for(inputs, given), work, given)


@taking(TUMOUR_OPTIONS, SEGMENT_OPTIONS)
def validate(context: typer.Context, inputs: Inputs = None) -> None:
    """Read and check the input only; print what would be left out, and why."""
    given = context.params
    from pyclone_pgsm.tumour.options import ModelOptions

    ModelOptions(given["genotype_prior"])

    def work(tumour: Tumour, folder: Path) -> None:
        from pyclone_pgsm.inputs.read_counts.tables import count_summary

        reading = read(tumour, given)
        warn(reading.warnings, tumour.name)
        counted = count_summary(reading.observations, reading.left_out, reading.content)
        for line in [*counted, *reading.notes]:
            print(with_options(line))
        for entry in reading.left_out:
            place = f"{entry.file}, row {entry.row}" if entry.row is not None else entry.file
            names = " ".join(filter(None, (entry.mutation_id, entry.sample_id)))
            print(f"{place}: {names}: {with_options(entry.reason)}")

    each_tumour(inputs, Path(), work, given)


@taking(TUMOUR_OPTIONS, SEGMENT_OPTIONS, DENSITY_OPTIONS, PRIOR_OPTIONS, CHAIN_OPTIONS, WRITING_OPTIONS)
def run(
    context: typer.Context,
    out: Annotated[
        Path, output_option("The trace, an HDF5 file; of several patients, a folder for theirs.", "TRACE")
    ],
    inputs: Inputs = None,
) -> None:
    """Run the chains only, and write their trace."""
    given = context.params
    settings, prior = sampling_plan(context)
    compile_ahead("pyclone", settings, given["threads"])
    from pyclone_pgsm.analyses import run as analysis
    from pyclone_pgsm.posterior.convergence import verdict_line, verdict_of
    from pyclone_pgsm.trace import Trace

    model = _model_options(context)

    def work(tumour: Tumour, place: Path) -> Path | None:
        trace = place / "trace.h5" if tumour.name else place
        reading = read(tumour, given)
        check_file(trace, given["force"], [*tumour.files, *settings.files])
        plan = analysis.plan_tumour(reading, model, settings, prior, given["threads"])
        make_folder(trace.parent)
        if not given["quiet"]:
            warn(reading.warnings, tumour.name)
        with writing(trace), progress_bars(given["quiet"], settings.chains) as progress:
            check_file(trace, given["force"])  # another run may have made it in the meantime
            analysis.start(plan, trace, command=command_line(), progress=progress)
        with Trace(trace) as opened:
            verdict = verdict_of(opened)
        say(given, verdict_line(verdict), f"{count(settings.chains, 'chain')} written to {trace}")
        return None if verdict.converged else trace

    each_tumour(inputs, out, work, given)


@taking(
    some(TUMOUR_OPTIONS, "tumour_content", "genotype_prior"),
    SEGMENT_OPTIONS,
    WRITING_OPTIONS,
)
def prepare(
    context: typer.Context,
    inputs: Mutations = None,
    out: Annotated[Path | None, output_option("Output folder. \\[default: INPUT's name + _prepared]")] = None,
) -> None:
    """Join mutations with segments: write table.tsv, which analyze reads, and left_out.tsv."""
    given = context.params
    from pyclone_pgsm.analyses.prepare import LEFT_OUT, TABLE, write_prepared

    prepare_options(given)

    def work(tumour: Tumour, folder: Path) -> None:
        check_files(folder, (TABLE, LEFT_OUT), given["force"], tumour.files)
        if tumour.patient is None:
            raise UsageError(
                "prepare joins mutations with segments: give them with -c, or a sample sheet with --samples"
            )
        prepared = join(tumour, tumour.patient, given)
        write_prepared(prepared, folder)
        if not given["quiet"]:
            warn([*prepared.warnings, *prepared.not_in_table()], tumour.name)
        say(given, *prepared.notes, *prepared.summary(), f"written to {folder}")

    each_tumour(inputs, out or folder_for(inputs, given, "_prepared"), work, given)
