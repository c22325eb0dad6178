r"""The sample sheet: the files of each sample and patient.

A table, TSV or CSV, with one row per sample, the columns ``sample_id mutations segments`` and optionally ``patient_id
tumour_content sex tumour_sample``. Several files of one sample are listed in one cell, separated by ";"; a ";" within a
name is written ``\;``. Relative file names are relative to the folder of the sheet.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pyclone_pgsm.inputs.columns import Style, read_columns
from pyclone_pgsm.inputs.genome import SEXES, Sex
from pyclone_pgsm.inputs.mutations.model import VariantFile
from pyclone_pgsm.inputs.problems import CONTROL, FileProblems, raise_any
from pyclone_pgsm.inputs.read_counts.layout import MEANS
from pyclone_pgsm.inputs.table import columns_by_part, letters
from pyclone_pgsm.inputs.tumour_content import Content, parse_content
from pyclone_pgsm.inputs.values import TUMOUR_CONTENT, Name

REQUIRED = ("sample_id", "mutations", "segments")
OPTIONAL = ("patient_id", "tumour_content", "sex", "tumour_sample")

_SPELLINGS = {
    "patient_id": ("patientid", "patient", "subjectid", "subject", "caseid", "case", "donorid", "donor"),
    "tumour_content": MEANS["tumour_content"],
    "sex": ("sex", "gender"),
    "tumour_sample": ("tumoursample", "tumorsample", "tumoursamplename", "tumorsamplename"),
}
"""Other spellings of optional columns, which would otherwise be ignored."""

_STYLE = Style(f"a sample sheet with the columns {', '.join(REQUIRED)}", (REQUIRED + OPTIONAL).__contains__)
_NO_FOLDER = re.compile(CONTROL.pattern + r"|[/\\:]|^\.+$")
_BETWEEN_FILES = re.compile(r"(?<!\\);")
_LONGEST_FOLDER = 255
"""Maximum length in bytes of a file or folder name on most file systems."""


class SegmentFile(NamedTuple):
    """A file of copy-number segments, and its sample; None if the file or its name indicates the sample."""

    path: Path
    sample_id: str | None = None


@dataclass(frozen=True)
class Patient:
    """The files of one tumour, and its sex and the tumour content of its samples where given."""

    name: str
    """Empty if there is only one tumour and it was not named."""
    mutations: tuple[VariantFile, ...]
    segments: tuple[SegmentFile, ...]
    tumour_content: Mapping[str, Content] = field(default_factory=dict)
    sex: Sex | None = None

    @property
    def files(self) -> list[Path]:
        """All files of the patient."""
        return [*(file.path for file in self.mutations), *(file.path for file in self.segments)]

    @property
    def sample_ids(self) -> list[str]:
        """The samples that are named with their files of mutations."""
        return list(dict.fromkeys(sample for file in self.mutations for sample in file.samples))

    @property
    def names_in_files(self) -> dict[str, str]:
        """The names in the files of samples of which it is given."""
        return {sample: name for file in self.mutations for sample, name in file.samples.items() if name}


def patient_of_files(
    mutations: Sequence[tuple[str | None, Path]], segments: Sequence[tuple[str | None, Path]]
) -> Patient:
    """Return one tumour from its files, each with its sample; None if the file or its name indicates the sample."""
    variants = _variant_files((path, sample, None) for sample, path in mutations)
    return Patient("", variants, tuple(SegmentFile(path, sample) for sample, path in segments))


def _variant_files(given: Iterable[tuple[Path, str | None, str | None]]) -> tuple[VariantFile, ...]:
    """Return the files, each once, of any paths with a sample and its name in the file."""
    samples: dict[Path, dict[str, str | None]] = {}
    for path, sample, name_in_file in given:
        of_file = samples.setdefault(path, {})
        if sample:
            of_file[sample] = name_in_file
    return tuple(VariantFile(path, of_file) for path, of_file in samples.items())


def read_sheet(path: Path) -> list[Patient]:
    """Read the patients of a sample sheet, in order of their first rows.

    Without a column ``patient_id`` there is a single patient without a name. InputError lists everything wrong in the
    sheet; the files it names are not checked.
    """
    problems = FileProblems(str(path))
    table = read_columns(path, _STYLE, problems)
    for name in REQUIRED:
        if name not in table.columns:
            table.note_header("this column is missing; expected is " + _STYLE.expected, name)
    others = [name for name in table.names if name not in REQUIRED + OPTIONAL]
    for name, meant in columns_by_part(others, _SPELLINGS, letters).items():
        if name not in table.names:
            table.note_header(f"rename this column to {name}", meant)
    raise_any(problems)
    columns = {}
    for name, read in _READERS.items():
        columns[name] = table.read(name, read, object, "", may_miss=True)
        if name in _NEVER_EMPTY and name in table:
            table.note(table.is_empty(name), name, "empty; every row needs it")
    rows = pd.DataFrame(columns, dtype=object)
    table.note(
        rows.duplicated(["patient_id", "sample_id"]).to_numpy(),
        "sample_id",
        "this sample has a row already; several files of a sample go into one cell, separated by ';'",
    )
    for name in ("patient_id", "sample_id"):
        if name in table:
            table.note_comments(name)
    sexes = rows["sex"].where(rows["sex"] != "")
    first_sex = sexes.groupby(rows["patient_id"]).transform("first")
    table.note(
        (sexes.notna() & (sexes != first_sex)).to_numpy(),
        "sex",
        "another sex than in an earlier row of this patient; expected one sex per patient",
    )
    num_files = rows["segments"].map(len).groupby(rows["patient_id"]).transform("sum").to_numpy()
    table.note(
        (num_files == 0) & table.is_empty("segments"),
        "segments",
        "empty; mutations need copy numbers: name the file of segments",
    )
    raise_any(problems)
    patients = rows.groupby("patient_id", sort=False)
    return [_patient(str(name), list(of.itertuples()), path.parent) for name, of in patients]


def _folder_name(text: str) -> str:
    if _NO_FOLDER.search(text):
        raise ValueError("cannot be the name of a folder, in which the results of the patient are to go")
    if len(text.encode()) > _LONGEST_FOLDER:
        raise ValueError(
            f"too long for the name of a folder, in which the results of the patient are to go; expected at most "
            f"{_LONGEST_FOLDER} bytes"
        )
    return text


def _files(text: str) -> list[str]:
    parts = _BETWEEN_FILES.split(text)
    names = [name for each in parts if (name := each.strip().replace(r"\;", ";"))]
    for name in names:
        if list(map(Path, names)).count(Path(name)) > 1:
            raise ValueError(f"the file {name} is named twice; name it once")
    return names


def _content(text: str) -> Content:
    content = parse_content(text, "a number like 0.8, or 0.8±0.05")
    if isinstance(content, float):
        TUMOUR_CONTENT.check(content)
    else:
        content.check()
    return content


def _sex(text: str) -> Sex:
    if text.lower() not in SEXES:
        raise ValueError("expected male or female")
    return SEXES[text.lower()]


_READERS: dict[str, Callable[[str], Any]] = {
    "patient_id": _folder_name,
    "sample_id": Name("sample_id"),
    "mutations": _files,
    "segments": _files,
    "tumour_content": _content,
    "sex": _sex,
    "tumour_sample": str,
}
"""How the cells of each column are converted."""
_NEVER_EMPTY = ("patient_id", "sample_id", "mutations")


def _patient(name: str, rows: Sequence[Any], folder: Path) -> Patient:
    """Return the patient of these rows, in which empty cells are "".

    If a row has no segments, they are in the file of another row, which has to say of which sample each is.
    """
    are_shared = any(not row.segments for row in rows)
    return Patient(
        name=name,
        mutations=_variant_files(
            (folder / file, row.sample_id, row.tumour_sample or None)
            for row in rows
            for file in row.mutations
        ),
        segments=tuple(
            SegmentFile(folder / file, None if are_shared else row.sample_id)
            for row in rows
            for file in row.segments
        ),
        tumour_content={row.sample_id: row.tumour_content for row in rows if row.tumour_content},
        sex=next((row.sex for row in rows if row.sex), None),
    )
