"""One input file → its rows as typed columns, each value checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs import values
from pyclone_pgsm.inputs.columns import Column, TextTable, read_columns
from pyclone_pgsm.inputs.observations import SUBCLONAL
from pyclone_pgsm.inputs.problems import CONTROL, FileProblems
from pyclone_pgsm.inputs.read_counts.layout import (
    ANNOTATIONS,
    SUBCLONAL_COLUMNS,
    is_read,
    note_header_problems,
    uses_total_only,
)
from pyclone_pgsm.inputs.text import open_text

DEFAULT_TUMOUR_CONTENT = 1.0
DEFAULT_ERROR_RATE = float("nan")  # not told: the model infers it

_WHOLE = {
    "ref_counts": values.READS,
    "alt_counts": values.READS,
    "var_counts": values.READS,
    "major_cn": values.COPIES,
    "minor_cn": values.COPIES,
    "total_cn": values.COPIES,
    "normal_cn": values.NORMAL_COPIES,
}
_SECOND: dict[str, Callable[[str], float]] = {
    "subclonal_major_cn": values.COPIES,
    "subclonal_minor_cn": values.COPIES,
    "subclonal_fraction": values.SUBCLONAL_FRACTION,
}
_FAULTY = -1


@dataclass(frozen=True)
class Options:
    """What the user says instead of, or beside, the tables; see `pyclone_pgsm.read_tables`."""

    tumour_content: float | Mapping[str, float] | None = None
    error_rate: float | None = None
    genotype_prior: str = "major"

    @property
    def overridden(self) -> list[str]:
        """Columns that an option replaces in every sample."""
        given = {"tumour_content": self.tumour_content, "error_rate": self.error_rate}
        return [name for name, value in given.items() if isinstance(value, float)]


@dataclass(frozen=True)
class Rows:
    """The rows of one file: R mutations in samples.

    Attributes
    ----------
    file : str
        Path as the user gave it.
    lines : (R,) int64
        Line of each row.
    mutations, samples : Column
        The ids. A row whose id is missing has the empty text.
    numbers : dict of str to (R,) array
        ``ref_counts alt_counts major_cn minor_cn normal_cn subclonal_major_cn subclonal_minor_cn`` as int64,
        ``tumour_content error_rate subclonal_fraction`` as float64. Values that could not be read are -1; those
        of a second copy-number state are 0 where there is one state.
    copies_column : str
        The column that ``major_cn`` was read from.
    named_after_file : bool
        Whether the file holds one sample that is named after it.
    content_unknown : list of str
        Samples whose tumour content neither a column nor an option tells.
    annotations : dict of str to Column
        Columns to keep, under their normalised names.
    """

    file: str
    lines: NDArray[np.int64]
    mutations: Column
    samples: Column
    numbers: dict[str, NDArray]
    copies_column: str
    named_after_file: bool
    content_unknown: list[str]
    annotations: dict[str, Column] = field(default_factory=dict)


def sample_name(path: Path) -> str:
    """The name of a file without folder, ``.gz`` and ``.tsv``, ``.csv`` or ``.txt``."""
    without_gz = re.sub(r"(?<=.)\.gz$", "", path.name, flags=re.IGNORECASE)
    return re.sub(r"(?<=.)\.(tsv|csv|txt)$", "", without_gz, flags=re.IGNORECASE)


def read_rows(path: Path, options: Options, problems: FileProblems) -> Rows:
    """Read and check one file.

    Parameters
    ----------
    path : Path
        A table in one of the layouts of `pyclone_pgsm.inputs.read_counts.layout`.
    options : Options
        What the user set.
    problems : FileProblems
        Receives everything wrong.

    Raises
    ------
    InputError
        If the file cannot be read as a table at all.
    """
    table = read_columns(open_text(path, problems), is_read, problems)
    note_header_problems(table, options.genotype_prior, options.overridden, problems)
    named_after_file = "sample_id" not in table.columns
    mutations = _ids(table, "mutation_id", problems)
    samples = _one_sample(path, table, problems) if named_after_file else _ids(table, "sample_id", problems)
    numbers: dict[str, NDArray] = {
        name: _whole(table, name, problems) for name in _WHOLE if name in table.columns
    }
    _merge_variant_counts(numbers, table, problems)
    total_only = uses_total_only(table.names, options.genotype_prior)
    if total_only:
        numbers["major_cn"] = numbers["total_cn"]
        numbers["minor_cn"] = np.zeros_like(numbers["total_cn"])
    else:
        _note_minor_above_major(numbers, "minor_cn", "major_cn", table, problems)
    numbers |= _second_states(table, problems)
    content = _of_each_sample(options.tumour_content, samples)
    numbers["tumour_content"] = _share(
        table,
        "tumour_content",
        content,
        DEFAULT_TUMOUR_CONTENT,
        values.TUMOUR_CONTENT,
        problems,
    )
    numbers["error_rate"] = _share(
        table,
        "error_rate",
        _of_each_sample(options.error_rate, samples),
        DEFAULT_ERROR_RATE,
        values.ERROR_RATE,
        problems,
    )
    return Rows(
        file=problems.file,
        lines=table.lines,
        mutations=mutations,
        samples=samples,
        numbers=numbers,
        copies_column="total_cn" if total_only else "major_cn",
        named_after_file=named_after_file,
        content_unknown=[]
        if "tumour_content" in table.columns
        else list(dict.fromkeys(samples.texts[code] for code in np.unique(samples.codes[np.isnan(content)]))),
        annotations=_annotations(table),
    )


def _ids(table: TextTable, name: str, problems: FileProblems) -> Column:
    if name not in table.columns:
        return Column([""], np.zeros(len(table.lines), np.int32))
    column = table.columns[name]
    faults = {}
    for place, text in enumerate(column.texts):
        if not text:
            faults[place] = f"empty; every row needs a {name}"
        elif CONTROL.search(text):
            faults[place] = f"a {name} may not contain tabs, line breaks or other control characters"
    _note_faults(faults, table, name, problems)
    return column


def _one_sample(path: Path, table: TextTable, problems: FileProblems) -> Column:
    name = sample_name(path)
    if CONTROL.search(name) or not name.isprintable():
        problems.add(f"the sample is named after the file, and {name!r} cannot be a name; rename the file")
    return Column([name], np.zeros(len(table.lines), np.int32))


def _whole(table: TextTable, name: str, problems: FileProblems) -> NDArray[np.int64]:
    column = table.columns[name]
    numbers, faults = _read_texts(column, _WHOLE[name], np.int64)
    _note_faults(faults, table, name, problems)
    return numbers[column.codes]


def _share(
    table: TextTable,
    name: str,
    given: NDArray[np.float64],
    default: float,
    reader: values.Share,
    problems: FileProblems,
) -> NDArray[np.float64]:
    """The given values; where they are NaN, those of the column; the default if there is no such column."""
    if name not in table.columns:
        return np.where(np.isnan(given), default, given)
    column = table.columns[name]
    numbers, faults = _read_texts(column, reader, np.float64)
    _note_faults(faults, table, name, problems, matters=np.isnan(given))
    return np.where(np.isnan(given), numbers[column.codes], given)


def _of_each_sample(option: float | Mapping[str, float] | None, samples: Column) -> NDArray[np.float64]:
    """(R,) value of the option for the sample of each row, NaN where it says nothing."""
    if isinstance(option, Mapping):
        of_sample = [option.get(sample, np.nan) for sample in samples.texts]
    else:
        of_sample = [np.nan if option is None else option] * len(samples.texts)
    return np.array(of_sample, dtype=np.float64)[samples.codes]


def _read_texts(column: Column, read: Callable[[str], float], dtype: type) -> tuple[NDArray, dict[int, str]]:
    """The number of each distinct text, and what is wrong with those that have none."""
    numbers: NDArray = np.full(len(column.texts), _FAULTY, dtype=dtype)
    faults = {}
    for place, text in enumerate(column.texts):
        try:
            numbers[place] = read(text)
        except ValueError as fault:
            faults[place] = str(fault)
    return numbers, faults


def _note_faults(
    faults: dict[int, str],
    table: TextTable,
    name: str,
    problems: FileProblems,
    matters: NDArray[np.bool_] | None = None,
) -> None:
    """Note the rows whose text is at fault; ``matters`` limits it to some rows."""
    if not faults:
        return
    column = table.columns[name]
    is_faulty = np.zeros(len(column.texts), dtype=bool)
    is_faulty[list(faults)] = True
    rows = is_faulty[column.codes] if matters is None else is_faulty[column.codes] & matters
    for row in problems.keep_first(np.flatnonzero(rows).tolist()):
        place = column.codes[row]
        problems.add(faults[place], int(table.lines[row]), name, column.texts[place])


def _merge_variant_counts(numbers: dict[str, NDArray], table: TextTable, problems: FileProblems) -> None:
    """Put ``var_counts`` under the name ``alt_counts``; where a table has both they must agree."""
    if "var_counts" not in numbers:
        return
    variant = numbers.pop("var_counts")
    alt = numbers.setdefault("alt_counts", variant)
    differs = (alt != variant) & (alt != _FAULTY) & (variant != _FAULTY)
    for row in problems.keep_first(np.flatnonzero(differs).tolist()):
        problems.add(
            f"alt_counts is {table.columns['alt_counts'].text_of(row)}; the two mean the same, so keep one",
            int(table.lines[row]),
            "var_counts",
            table.columns["var_counts"].text_of(row),
        )


def _note_minor_above_major(
    numbers: dict[str, NDArray], minor: str, major: str, table: TextTable, problems: FileProblems
) -> None:
    if not {major, minor} <= numbers.keys():
        return
    swapped = (numbers[minor] > numbers[major]) & (numbers[major] != _FAULTY)
    for row in problems.keep_first(np.flatnonzero(swapped).tolist()):
        problems.add(
            f"larger than {major}, which is {table.columns[major].text_of(row)}; expected at most that",
            int(table.lines[row]),
            minor,
            table.columns[minor].text_of(row),
        )


def _second_states(table: TextTable, problems: FileProblems) -> dict[str, NDArray]:
    """The columns of a second copy-number state; 0 where a row leaves them empty, and without the columns."""
    if not set(SUBCLONAL_COLUMNS) <= table.columns.keys():
        return {name: np.zeros(len(table.lines), kind) for name, kind in SUBCLONAL.items()}
    is_empty = {name: _is_empty(table.columns[name]) for name in SUBCLONAL_COLUMNS}
    has_second = ~np.logical_and.reduce(list(is_empty.values()))
    numbers = {}
    for name, kind in SUBCLONAL.items():
        column = table.columns[name]
        found, faults = _read_texts(column, _SECOND[name], kind)
        faults = {place: fault for place, fault in faults.items() if not _is_no_value(column.texts[place])}
        _note_faults(faults, table, name, problems)
        nothing = np.where(has_second, _FAULTY, 0)
        numbers[name] = np.where(is_empty[name], nothing, found[column.codes]).astype(kind)
        for row in problems.keep_first(np.flatnonzero(is_empty[name] & has_second).tolist()):
            given = next(other for other in SUBCLONAL_COLUMNS if not is_empty[other][row])
            problems.add(
                f"no value, but {given} is {table.columns[given].text_of(row)}; expected all of "
                f"{', '.join(SUBCLONAL_COLUMNS)}, or none where there is one state",
                int(table.lines[row]),
                name,
                column.text_of(row),
            )
    _note_minor_above_major(numbers, "subclonal_minor_cn", "subclonal_major_cn", table, problems)
    return numbers


def _is_no_value(text: str) -> bool:
    return text.lower() in values.NO_VALUE


def _is_empty(column: Column) -> NDArray[np.bool_]:
    """(R,) rows without a value."""
    return np.array([_is_no_value(text) for text in column.texts], dtype=bool)[column.codes]


def one_line(text: str) -> str:
    """An annotation without line breaks, control characters and white space that says nothing."""
    return " ".join(CONTROL.sub(" ", text).split())


def _annotations(table: TextTable) -> dict[str, Column]:
    ranks = {name: rank for rank, name in enumerate(ANNOTATIONS)}
    chosen: dict[str, str] = {}
    for name in table.columns:
        key = ANNOTATIONS.get(name.lower())
        if key and ranks[name.lower()] < ranks.get(chosen.get(key, "").lower(), len(ranks)):
            chosen[key] = name
    return {
        key: Column([one_line(text) for text in column.texts], column.codes)
        for key, column in ((key, table.columns[name]) for key, name in chosen.items())
    }
