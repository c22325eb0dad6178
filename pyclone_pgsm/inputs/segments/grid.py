"""From a file of segments to columns of text, whatever tool wrote it.

Separators are tabs, commas, semicolons or, as R writes them, spaces between quoted texts. Header and rows may
disagree in three ways that tools really produce: the header begins with "#" (PURPLE 2, BED), the rows begin with a
row name that the header does not have (R), and there is no header at all (ascatNgs).
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from pyclone_pgsm.inputs.columns import SEPARATORS, Column, TextTable, numbered_records
from pyclone_pgsm.inputs.problems import FileProblems
from pyclone_pgsm.inputs.text import open_text

CAVEMAN = (
    "segment_no", "chr", "start", "end", "normal_total", "normal_minor", "tumour_total", "tumour_minor",
)  # fmt: skip
"""The fields of ascatNgs' copynumber.caveman.csv, which has no header."""

_EXPECTED = "a table of copy-number segments as text"
_CAVEMAN_ROW = re.compile(r'\s*\d+,\s*"?\w+"?(\s*,\s*\d+){6}\s*')
_LEAST_NAMES = 2
"""Known names in a line that begins with "#" which make it the header."""


def plain(name: str) -> str:
    """A column name in lower case, letters and digits only: how tools' spellings of one name are told to be one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def read_grid(path: Path, is_wanted: Callable[[str], bool], problems: FileProblems) -> TextTable:
    """Read the wanted columns of one file.

    Parameters
    ----------
    path : Path
        The file, plain or gzip-compressed.
    is_wanted : callable
        Says for a column name, as `plain` gives it, whether the column is to be kept.
    problems : FileProblems
        Receives rows with too many or too few fields (which are left out), quotes that are not closed, wanted names
        that stand in the header twice, and a table without rows.

    Returns
    -------
    TextTable
        Columns under the names of the header. ``header_line`` is 0 if there is none.

    Raises
    ------
    InputError
        If there is no text or no header.
    """
    lines = list(open_text(path, problems, _EXPECTED))
    first = _first_line(lines, is_wanted, problems)
    if _CAVEMAN_ROW.fullmatch(lines[first]):
        names, separator, header_line = list(CAVEMAN), ",", 0
        below = first
    else:
        names, separator = _header(lines[first], first + 1, problems)
        header_line = first + 1
        below = first + 1
    reader = csv.reader(iter(lines[below:]), delimiter=separator, skipinitialspace=True, strict=True)
    rows = list(_rows(numbered_records(reader, below + 1, problems)))
    if rows and len(_without_blank_end(rows[0][1], len(names))) == len(names) + 1:
        names = ["", *names]
    _note_duplicates(names, is_wanted, header_line, problems)
    return _table(rows, names, is_wanted, header_line, problems)


def _first_line(lines: list[str], is_wanted: Callable[[str], bool], problems: FileProblems) -> int:
    """Place of the header, or of the first row if there is no header.

    A line that begins with "#" is the header if it has known names, and more of them than the lines after it down to
    the first that does not begin so.
    """
    candidates = []
    for place, line in enumerate(lines):
        if line.strip():
            candidates.append(place)
            if not line.startswith("#"):
                break

    def known(place: int) -> int:
        return sum(is_wanted(plain(name)) for name in _names(lines[place])[0])

    after_hash = [
        place for place in candidates if lines[place].startswith("#") and known(place) >= _LEAST_NAMES
    ]
    plain_lines = [place for place in candidates if not lines[place].startswith("#")]
    if not after_hash and not plain_lines:
        raise problems.give_up("the file is empty: a header with the column names is expected")
    return max(reversed([*after_hash, *plain_lines]), key=known)


def _header(line: str, line_number: int, problems: FileProblems) -> tuple[list[str], str]:
    """The column names and the separator."""
    names, separator = _names(line)
    if len(names) < 2:
        message = (
            "a header is expected whose column names are separated by tabs, commas, semicolons or spaces"
        )
        raise problems.give_up(message, line_number, line.strip())
    return names, separator


def _names(line: str) -> tuple[list[str], str]:
    """The names in a line, without empty ones at its end, and their separator."""
    text = line.lstrip("#").lstrip() if line.startswith("#") else line
    separator = max(SEPARATORS, key=text.count)
    if separator not in text:
        separator = " "
    try:
        names = next(csv.reader([text.strip(" \n")], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        names = []
    names = [name.strip() for name in names]
    while names and not names[-1]:
        names.pop()
    return names, separator


def _rows(records: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    """The records that are neither blank nor comments."""
    for line, fields in records:
        if "".join(fields).strip() and not fields[0].startswith("#"):
            yield line, fields


def _without_blank_end(fields: list[str], width: int) -> list[str]:
    """The fields, without those that only separators at the end of the line made."""
    end = len(fields)
    while end > width and not fields[end - 1].strip():
        end -= 1
    return fields[:end]


def _note_duplicates(
    names: list[str], is_wanted: Callable[[str], bool], header_line: int, problems: FileProblems
) -> None:
    for name, times in Counter(names).items():
        if times > 1 and is_wanted(plain(name)):
            places = " and ".join(str(place) for place, each in enumerate(names, start=1) if each == name)
            message = f"the header has this name more than once (columns {places}); keep one"
            problems.add(message, header_line, name)


def _table(
    rows: list[tuple[int, list[str]]],
    names: list[str],
    is_wanted: Callable[[str], bool],
    header_line: int,
    problems: FileProblems,
) -> TextTable:
    trimmed = [(line, _without_blank_end(fields, len(names))) for line, fields in rows]
    uneven = [place for place, (_, fields) in enumerate(trimmed) if len(fields) != len(names)]
    for place in problems.keep_first(uneven):
        line, fields = trimmed[place]
        found = f"{len(fields)} field{'s' if len(fields) > 1 else ''} found"
        expected = "in the header" if header_line else "in ascatNgs' files without a header"
        problems.add(f"{found}, {len(names)} expected as {expected}", line)
    even = [(line, fields) for line, fields in trimmed if len(fields) == len(names)]
    if not rows and not problems:
        problems.add("the table has no rows below the header", header_line)
    columns = {
        name: _column([fields[place] for _, fields in even])
        for place, name in reversed(list(enumerate(names)))
        if name and is_wanted(plain(name))
    }
    return TextTable(header_line, names, [], columns, np.array([line for line, _ in even], dtype=np.int64))


def _column(texts: list[str]) -> Column:
    code_of: dict[str, int] = {}
    codes = np.fromiter((code_of.setdefault(text, len(code_of)) for text in texts), np.int32, len(texts))
    return Column([text.strip() for text in code_of], codes)
