"""Reading one tumour from tables of read counts, or from mutations with segments."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pyclone_pgsm.analyses.prepare import Prepared
from pyclone_pgsm.errors import InputError, Problem, UsageError
from pyclone_pgsm.inputs.mutations.kinds import MUTATIONS, kind_of
from pyclone_pgsm.inputs.observations import SUBCLONAL, LeftOut, Observations, looks_at_no_alleles
from pyclone_pgsm.inputs.problems import FileProblems
from pyclone_pgsm.inputs.read_counts.joining import lay_out
from pyclone_pgsm.inputs.read_counts.suspicions import content_taken_as_one, suspicions
from pyclone_pgsm.inputs.read_counts.tables import read_sources
from pyclone_pgsm.inputs.tumour_content import ContentOption, uncertain
from pyclone_pgsm.inputs.values import ERROR_RATE, checked
from pyclone_pgsm.ranges import check_kind

Table = Path | str | pd.DataFrame
File = Path | str
Files = File | Sequence[File] | Mapping[str, File | Sequence[File]]
"""One or several files, or a mapping from samples to their files."""
Tables = Table | Sequence[Table] | Mapping[str, pd.DataFrame]
"""One or several tables of read counts (files or data frames), or a mapping from samples to data frames."""
Source = tuple[str, Path | pd.DataFrame]
"""A table of read counts, preceded by its name in messages."""


@dataclass(frozen=True)
class Reading:
    """Data of one tumour, as read; `content` is the tumour content that options and sample sheet give.

    `notes` are lines that the user may want to know, `warnings` lines on what the user should check.
    """

    observations: Observations
    left_out: list[LeftOut] = field(default_factory=list)
    content: ContentOption = None
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def sources_of(tables: Tables | Files) -> list[Source]:
    """Return all tables of read counts with their names in messages; UsageError if these are anything else."""
    expected = (
        "a data frame, the path of a table, several of these, or a dict of samples and their data frames"
    )
    given: dict[str, Any]
    if isinstance(tables, Mapping):
        given = {
            f"the data frame of {sample!r}": _with_sample(sample, table) for sample, table in tables.items()
        }
    elif isinstance(tables, Table):
        given = {"the data frame": tables}
    else:
        check_kind("tables", tables, Collection, expected)
        given = {f"data frame {place}": table for place, table in enumerate(tables)}
    sources: list[Source] = []
    for name, table in given.items():
        check_kind("tables", table, Table, expected)
        if not isinstance(table, pd.DataFrame):
            sources.append((str(table), Path(table)))
        elif "sample_id" in table.columns:
            sources.append((f"{name} (rows counted from 0)", table))
        else:
            raise UsageError(
                f"{name} has no column sample_id: add one, or give each sample's data frame by its name, as in "
                "{'S1': first, 'S2': second}"
            )
    return sources


def _with_sample(sample: str, table: object) -> pd.DataFrame:
    """Return the data frame of one sample with the sample's name as a column."""
    if not isinstance(table, pd.DataFrame):
        raise UsageError(f"the table of {sample!r} must be a data frame, not {type(table).__name__}")
    for other in table.get("sample_id", pd.Series(dtype=object)).unique():
        if str(other) != str(sample):
            raise UsageError(
                f"the data frame of {sample!r} has rows of sample_id {other!r}: give the data frame of each sample by "
                "its name, or a data frame of several samples without a name"
            )
    return table.assign(sample_id=str(sample))


def read_counts(
    sources: Sequence[Source], tumour_content: ContentOption, error_rate: float | None, genotype_prior: str
) -> Reading:
    """Read one tumour from tables of read counts; options are those of `read_tables` of `inputs.read_counts.tables`."""
    observations, left_out = read_sources(sources, tumour_content, error_rate, genotype_prior)
    unknown = observations.content_unknown
    warnings = [content_taken_as_one(unknown)] if unknown else []
    inferred = uncertain(tumour_content, observations.sample_ids)
    warnings += [*observations.content_varies, *suspicions(observations, genotype_prior, inferred)]
    return Reading(observations, left_out, tumour_content, [], warnings)


def read_joined(prepared: Prepared, error_rate: float | None = None) -> Reading:
    """Read one tumour from mutations joined with segments, as :func:`read_counts` would read their table.

    What was left out is listed by file and row of the mutations.
    """
    rate = checked("error rate", error_rate, ERROR_RATE)
    given = prepared.variants.table.loc[prepared.table.index]
    second_states = prepared.table.reindex(columns=list(SUBCLONAL)).fillna(0).astype(SUBCLONAL)
    rows = prepared.table.astype({"sample_id": object, "chrom": object, "pos": str}).assign(
        file=given["file"].astype(object),
        row=given["row"],
        error_rate=np.nan if rate is None else rate,
        copies_column="total_cn" if looks_at_no_alleles(prepared.genotype_prior) else "major_cn",
        named_after_file=False,
        **second_states,
    )
    found = [FileProblems(file) for file in given["file"].cat.categories]
    observations, left_out = lay_out([rows], found, prepared.genotype_prior)
    left_out = [*prepared.left_out, *left_out]
    inferred = uncertain(prepared.tumour_content, observations.sample_ids)
    warnings = [*prepared.warnings, *suspicions(observations, prepared.genotype_prior, inferred)]
    return Reading(observations, left_out, prepared.tumour_content, prepared.notes, warnings)


def check_tables(files: Sequence[Path], read_with: Mapping[str, object]) -> None:
    """Raise an error for mutations without segments, or options that apply only to mutations with segments."""
    message = (
        "mutations without copy numbers: give copy-number segments of their samples with `segments`, or a table that "
        "has both"
    )
    problems = [Problem(str(path), message) for path in files if kind_of(path) in MUTATIONS]
    if problems:
        raise InputError(problems)
    for name, value in read_with.items():
        if value:
            raise UsageError(f"`{name}` is for mutations with `segments`, not for tables")


def by_sample(what: str, files: Files) -> list[tuple[str | None, Path]]:
    """Return each file with the sample for which it is given, if any; UsageError if anything else is given."""
    if isinstance(files, Mapping):
        return [(str(sample), path) for sample, own in files.items() for _, path in by_sample(what, own)]
    each = [files] if isinstance(files, Path | str) or not isinstance(files, Sequence) else files
    for file in each:
        if not isinstance(file, Path | str):
            raise UsageError(f"{what} with `segments` are files, not {type(file).__name__}")
    return [(None, Path(file)) for file in each]
