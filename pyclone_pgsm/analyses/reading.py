"""Reading one tumour from tables of read counts, or from mutations with segments."""

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from pyclone_pgsm.analyses.prepare import Prepared, observe
from pyclone_pgsm.errors import InputError, Problem, UsageError
from pyclone_pgsm.inputs.mutations.kinds import MUTATIONS, kind_of
from pyclone_pgsm.inputs.observations import LeftOut, Observations
from pyclone_pgsm.inputs.read_counts.suspicions import content_taken_as_one, suspicions
from pyclone_pgsm.inputs.read_counts.tables import read_tables
from pyclone_pgsm.inputs.sample_sheet import Patient, patient_of_files
from pyclone_pgsm.inputs.tumour_content import ContentOption

Table = Path | str | pd.DataFrame
File = Path | str
Files = File | Sequence[File] | Mapping[str, File | Sequence[File]]
"""One or several files, or a mapping from samples to their files."""
Tables = Table | Sequence[Table] | Mapping[str, pd.DataFrame]
"""One or several tables of read counts (files or data frames), or a mapping from samples to data frames."""

HEADER_LINES = 2
"""Line in the file at which the first row of a data frame, row 0, is written."""


@dataclass(frozen=True)
class Reading:
    """Data of one tumour, as read.

    Attributes
    ----------
    observations : Observations
    left_out : list of LeftOut
    content : float, Uncertain, mapping of sample to one of these, or None
        Tumour content as given by options and sample sheet.
    notes : list of str
        Lines that the user may want to know.
    warnings : list of str
        Lines on what the user should check.
    """

    observations: Observations
    left_out: list[LeftOut] = field(default_factory=list)
    content: ContentOption = None
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_counts(
    tables: Tables,
    *,
    tumour_content: ContentOption = None,
    error_rate: float | None = None,
    genotype_prior: str = "major",
) -> Reading:
    """Read one tumour from tables of read counts.

    Parameters
    ----------
    tables : path or DataFrame, sequence of these, or mapping of sample to DataFrame
        Data frames need a column ``sample_id``, unless they are in a mapping.
    tumour_content, error_rate, genotype_prior
        As in :func:`pyclone_pgsm.inputs.read_counts.tables.read_tables`.

    Raises
    ------
    InputError, UsageError
        Tables or options are invalid.
    """
    with _as_files(tables) as (paths, named):
        try:
            observations, left_out = read_tables(
                paths, tumour_content=tumour_content, error_rate=error_rate, genotype_prior=genotype_prior
            )
        except InputError as error:
            raise InputError([_of_frame(each, named) for each in error.problems], error.unlisted) from None
    left_out = [
        each._replace(file=named[each.file], row=_row(each.row)) if each.file in named else each
        for each in left_out
    ]
    unknown = observations.content_unknown
    warnings = [content_taken_as_one(unknown)] if unknown else []
    return Reading(observations, left_out, tumour_content, [], [*warnings, *suspicions(observations)])


def read_joined(
    prepared: Prepared, error_rate: float | None = None, genotype_prior: str = "major"
) -> Reading:
    """Read one tumour from mutations with segments; see :func:`pyclone_pgsm.analyses.prepare.observe`."""
    observations, left_out = observe(prepared, error_rate=error_rate, genotype_prior=genotype_prior)
    warnings = [*prepared.warnings, *suspicions(observations)]
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


def patient_of(mutations: Files, segments: Files) -> Patient:
    """Return the tumour with these files of mutations and segments; UsageError if anything else is given."""
    return patient_of_files(_by_sample("mutations", mutations), _by_sample("segments", segments))


def _by_sample(what: str, files: Files) -> list[tuple[str | None, Path]]:
    """Return each file with the sample for which it is given, if any."""
    if isinstance(files, Mapping):
        return [(str(sample), path) for sample, own in files.items() for _, path in _by_sample(what, own)]
    each = [files] if isinstance(files, Path | str) or not isinstance(files, Sequence) else files
    for file in each:
        if not isinstance(file, Path | str):
            raise UsageError(f"{what} with `segments` are files, not {type(file).__name__}")
    return [(None, Path(file)) for file in each]


def _of_frame(problem: Problem, named: Mapping[str, str]) -> Problem:
    """Let a problem in the file of a data frame refer to the data frame itself."""
    if problem.file not in named:
        return problem

    def place(found: re.Match[str]) -> str:
        file = f" of {named[found[2]]}" if found[2] else ""
        return f"the first is row {_row(int(found[1]))}{file}"

    files = "|".join(map(re.escape, named))
    message = re.sub(rf"the first is row (\d+)(?: of ({files}))?(?=\. )", place, problem.message)
    return replace(problem, file=named[problem.file], row=_row(problem.row), message=message)


def _row(line: int | None) -> int | None:
    return None if line is None else max(0, line - HEADER_LINES)


@contextmanager
def _as_files(tables: Tables) -> Iterator[tuple[list[Path], dict[str, str]]]:
    """Write data frames to temporary files; yield the paths of all tables, and names for data frames in messages."""
    given: dict[str, Table]
    if isinstance(tables, Mapping):
        given = {
            f"the data frame of {sample!r}": _with_sample(sample, each) for sample, each in tables.items()
        }
    elif isinstance(tables, pd.DataFrame | Path | str):
        given = {"the data frame": tables}
    else:
        given = {f"data frame {place}": each for place, each in enumerate(tables)}
    paths, named = [], {}
    with tempfile.TemporaryDirectory(prefix="pyclone-pgsm-") as folder:
        for name, table in given.items():
            if not isinstance(table, pd.DataFrame):
                paths.append(Path(table))
                continue
            if "sample_id" not in table.columns:
                raise UsageError(
                    f"{name} has no column sample_id: add one, or give each sample's data frame by its name, as in "
                    "{'S1': first, 'S2': second}"
                )
            path = Path(folder) / f"{len(paths)}.tsv"
            table.to_csv(path, sep="\t", index=False)
            paths.append(path)
            named[str(path)] = f"{name} (rows counted from 0)"
        yield paths, named


def _with_sample(sample: str, table: object) -> pd.DataFrame:
    """Return the data frame of one sample with the sample's name as a column."""
    if not isinstance(table, pd.DataFrame):
        raise UsageError(f"the table of {sample!r} must be a data frame, not {type(table).__name__}")
    return table.assign(sample_id=str(sample))
