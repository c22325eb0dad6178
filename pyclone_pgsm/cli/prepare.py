"""``prepare``: the join of mutations and segments alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyclone_pgsm.cli.mistakes import mistakes_reported
from pyclone_pgsm.cli.options import TUMOUR_OPTIONS, WRITING_OPTIONS, output_option, taking
from pyclone_pgsm.cli.tumours import (
    SEGMENT_OPTIONS,
    Inputs,
    Tumour,
    each_tumour,
    folder_for,
    join,
    prepare_options,
    tumours,
    warn,
)
from pyclone_pgsm.errors import UsageError


@taking(
    {name: TUMOUR_OPTIONS[name] for name in ("tumour_content", "genotype_prior")},
    SEGMENT_OPTIONS,
    WRITING_OPTIONS,
)
def prepare(
    context: typer.Context,
    inputs: Inputs = None,
    out: Annotated[Path | None, output_option("Output folder. \\[default: INPUT's name + _prepared]")] = None,
) -> None:
    """Join mutations with segments: write table.tsv, which analyze reads, and left_out.tsv."""
    given = context.params
    with mistakes_reported():
        from pyclone_pgsm.analyses.prepare import check_folder, write_prepared

        prepare_options(given)
        found = tumours(inputs, given)

    def work(tumour: Tumour, folder: Path) -> None:
        check_folder(folder, given["force"], tumour.files)
        if tumour.patient is None:
            raise UsageError(
                "prepare joins mutations with segments: give them with -c, or a sample sheet with --samples"
            )
        prepared = join(tumour, tumour.patient, given)
        write_prepared(prepared, folder)
        if not given["quiet"]:
            warn(prepared.warnings, tumour.name)
            for line in [*prepared.notes, *prepared.summary(), f"written to {folder}"]:
                print(line)

    each_tumour(found, out or folder_for(inputs, given, "_prepared"), work, given["quiet"])
