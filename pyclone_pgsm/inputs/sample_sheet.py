"""The sample sheet: which files hold which sample of which patient.

A table, TSV or CSV, with a row a sample and the columns ``sample_id mutations segments`` and, where wanted,
``patient_id tumour_content sex tumour_sample``. Several files of one sample stand in one cell, separated by ";". Names
of files that are not absolute are relative to the folder of the sheet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.columns import Style, TextTable, read_columns
from pyclone_pgsm.inputs.genome import Sex
from pyclone_pgsm.inputs.mutations import VariantFile
from pyclone_pgsm.inputs.problems import CONTROL, FileProblems, raise_any
from pyclone_pgsm.inputs.tumour_content import Content, Uncertain, parse_tumour_content
from pyclone_pgsm.inputs.values import TUMOUR_CONTENT, is_no_value

REQUIRED = ("sample_id", "mutations", "segments")
OPTIONAL = ("patient_id", "tumour_content", "sex", "tumour_sample")

SEXES: dict[str, Sex] = {
    **dict.fromkeys(("male", "m", "xy"), "male"),
    **dict.fromkeys(("female", "f", "xx"), "female"),
}

_STYLE = Style(f"a sample sheet with the columns {', '.join(REQUIRED)}", (REQUIRED + OPTIONAL).__contains__)
_NO_FOLDER = re.compile(r"[\x00-\x1f\x7f-\x9f/\\:]|^\.+$")
_LONGEST_FOLDER = 255
"""Bytes that the name of a file or folder may have on most file systems."""

T = TypeVar("T")


class SegmentFile(NamedTuple):
    """A file of copy-number segments, and the sample it is of; None if the file or its name tells."""

    path: Path
    sample_id: str | None = None


@dataclass(frozen=True)
class Patient:
    """The files of one tumour, and tumour content and sex of those of its samples for which they are given."""

    name: str
    """Empty if there is only one tumour and it was given no name."""
    mutations: tuple[VariantFile, ...]
    segments: tuple[SegmentFile, ...]
    tumour_content: Mapping[str, Content] = field(default_factory=dict)
    sexes: Mapping[str, Sex] = field(default_factory=dict)

    @property
    def files(self) -> list[Path]:
        """All that is read of it."""
        return [*(file.path for file in self.mutations), *(file.path for file in self.segments)]

    @property
    def sample_ids(self) -> list[str]:
        """The samples that are named with their files."""
        return list(dict.fromkeys(sample for file in self.mutations for sample in file.samples))


def patient_of_files(
    mutations: Sequence[tuple[str | None, Path]], segments: Sequence[tuple[str | None, Path]]
) -> Patient:
    """One tumour by its files, each with the sample that it is of; None if file or name tell."""
    samples: dict[Path, dict[str, str | None]] = {}
    for sample, path in mutations:
        samples.setdefault(path, {}).update({sample: None} if sample else {})
    return Patient(
        "",
        tuple(VariantFile(path, of_file) for path, of_file in samples.items()),
        tuple(SegmentFile(path, sample) for sample, path in segments),
    )


def read_sheet(path: Path) -> list[Patient]:
    """The patients of a sample sheet, in the order of their first rows.

    There is a single one without a name if there is no column ``patient_id``.

    Raises
    ------
    InputError
        With everything wrong in the sheet. The files it names are not looked at.
    """
    problems = FileProblems(str(path))
    table = read_columns(path, _STYLE, problems)
    for name in REQUIRED:
        if name not in table.columns:
            problems.add("this column is missing; expected is " + _STYLE.expected, table.header_line, name)
    raise_any(problems)
    by_patient: dict[str, list[_Row]] = {}
    for place in range(len(table.lines)):
        row = _row(table, place, problems)
        of_patient = by_patient.setdefault(row.patient_id, [])
        if row.sample_id in (other.sample_id for other in of_patient):
            message = (
                "this sample has a row already; several files of a sample go into one cell, separated by ';'"
            )
            problems.add(message, row.line, "sample_id", row.sample_id)
        of_patient.append(row)
    raise_any(problems)
    return [_patient(name, of_patient, path.parent) for name, of_patient in by_patient.items()]


class _Row(NamedTuple):
    line: int
    patient_id: str
    sample_id: str
    mutations: list[str]
    segments: list[str]
    tumour_content: Content | None
    sex: Sex | None
    tumour_sample: str | None


def _row(table: TextTable, place: int, problems: FileProblems) -> _Row:
    line = int(table.lines[place])

    def cell(name: str, read: Callable[[str], T]) -> T | None:
        """What a cell says; None if it is empty, not there, or wrong, which is noted."""
        text = table.columns[name].text_of(place) if name in table.columns else ""
        needed = name in ("sample_id", "mutations", "patient_id") and name in table.columns
        try:
            if not is_no_value(text):
                return read(text)
            if needed:
                problems.add("empty; every row needs it", line, name, text)
        except ValueError as fault:
            problems.add(str(fault), line, name, text)
        return None

    return _Row(
        line=line,
        patient_id=cell("patient_id", _folder_name) or "",
        sample_id=cell("sample_id", _sample_name) or "",
        mutations=cell("mutations", _files) or [],
        segments=cell("segments", _files) or [],
        tumour_content=cell("tumour_content", _content),
        sex=cell("sex", _sex),
        tumour_sample=cell("tumour_sample", str),
    )


def _folder_name(text: str) -> str:
    if _NO_FOLDER.search(text):
        raise ValueError("cannot be the name of a folder, in which the results of the patient are to go")
    if len(text.encode()) > _LONGEST_FOLDER:
        raise ValueError(
            f"too long for the name of a folder, in which the results of the patient are to go; expected at most "
            f"{_LONGEST_FOLDER} bytes"
        )
    return text


def _sample_name(text: str) -> str:
    if CONTROL.search(text):
        raise ValueError("a sample_id may not contain tabs, line breaks or other control characters")
    return text


def _files(text: str) -> list[str]:
    return [name for each in text.split(";") if (name := each.strip())]


def _content(text: str) -> Content:
    try:
        content = parse_tumour_content([text])
    except UsageError as fault:
        raise ValueError(str(fault).removeprefix(f"`tumour_content` {text!r}: ")) from None
    if not isinstance(content, float | Uncertain):
        raise ValueError("expected one number, like 0.8 or 0.8±0.05")
    if isinstance(content, float):
        TUMOUR_CONTENT.check(content)
    return content


def _sex(text: str) -> Sex:
    if text.lower() not in SEXES:
        raise ValueError("expected male or female")
    return SEXES[text.lower()]


def _patient(name: str, rows: list[_Row], folder: Path) -> Patient:
    samples: dict[Path, dict[str, str | None]] = {}
    for row in rows:
        for file in row.mutations:
            samples.setdefault(folder / file, {})[row.sample_id] = row.tumour_sample
    return Patient(
        name=name,
        mutations=tuple(VariantFile(path, of_file) for path, of_file in samples.items()),
        segments=tuple(SegmentFile(folder / file, row.sample_id) for row in rows for file in row.segments),
        tumour_content={row.sample_id: row.tumour_content for row in rows if row.tumour_content is not None},
        sexes={row.sample_id: row.sex for row in rows if row.sex is not None},
    )
