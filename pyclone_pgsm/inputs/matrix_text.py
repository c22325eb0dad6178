"""Reader of tables of numbers as text: detects separator, header and row names, and checks every value.

What a file does not state is inferred from its first two lines. Files that can be read in two ways are refused.

* The separator is the first of tab, semicolon and comma that splits both lines into equally many fields, else any
  amount of white space. A table without separators has one column.
* True and False, in any case, are 1 and 0.
* The first line is a header if a field after the first is not a number. True and False are names there unless one of
  them is below. Lines above it that begin with "#" are comments.
* Row names are in the first column if its header is empty or typical of an id, if the header is one field short (as R
  writes it; not with commas, which may be decimal), or if all its texts are words.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.columns import (
    Record,
    collect,
    is_increasing,
    note_uneven,
    records,
    skip_comments,
    split,
    without_blank_end,
)
from pyclone_pgsm.inputs.problems import CONTROL, FileProblems, input_error, listed
from pyclone_pgsm.inputs.text import open_text
from pyclone_pgsm.inputs.values import finite_number, is_no_value, is_number

EXPECTED = "a finite number"
NO_MISSING = "; leave the row or the column out, or fill the value in"
_NO_NUMBER = "not a number;"
_PERHAPS_NAMES = "; if this column holds the names of the rows, name it as the id column"

_MIXED = (
    "some of these are numbers, some are not; expected names of the columns that are not numbers, or a row of "
    "numbers only"
)
_UNCLEAR = (
    "these may be values, or names of the columns that happen to be numbers; put names that are not numbers "
    "above the values"
)

_COMMENTED = (
    'a line that begins with "#" is a comment, but this one may have the names of the columns; remove the "#", or the '
    "line"
)

_BOOLEANS = {"true": 1.0, "false": 0.0}
_ID_NAME = re.compile(r"|id|index|unnamed: 0|row[._ ]?names?|__index_level_0__|.*_id", re.IGNORECASE)

TABLE = "a table of numbers as text, NPY or Parquet"

_SEPARATORS = "\t;,"


@dataclass(frozen=True)
class Matrix:
    """T named rows of D named columns of finite numbers, and the file from which they were read."""

    path: Path
    row_names: list[str]
    """Length T, distinct; "1", "2", .. if the file has none (`read_text` leaves them empty)."""
    column_names: list[str]
    """Length D, distinct; "x1", "x2", .. if the file has none."""
    values: NDArray[np.float64]
    rows: NDArray[np.int64]
    """(T,) lines of the file on which the rows begin, counted from 1; row numbers if the file has no lines."""


def read_text(path: Path, id_column: str | None, ignore: Collection[str], problems: FileProblems) -> Matrix:
    """Read a table of numbers as text; see `pyclone_pgsm.inputs.matrix.read_matrix`."""
    text = open_text(path, problems, TABLE)
    comment, line, first_line = skip_comments(text, "a table of numbers", problems)
    separator = _separator(line, next(filter(str.strip, text), line))
    text.seek(0)
    lines: Iterator[str] = itertools.islice(text, first_line - 1, None)
    if separator == " ":
        lines = (line.strip().replace("\t", " ") + "\n" for line in lines)
    rows = records(lines, separator, first_line, problems)
    head = list(itertools.islice((record for record in rows if record[1]), 2))
    if not head:
        raise input_error([problems])
    width = max(1, *(len(without_blank_end(fields, 0)) for _, fields in head))
    first_rows = [without_blank_end(fields, width) for _, fields in head]
    header = _header(first_rows, id_column, first_line, problems)
    if header is None and _names_columns(comment, separator, len(first_rows[0])):
        raise problems.give_up(_COMMENTED, None, comment.strip())
    if header is not None and separator != "," and len(first_rows[-1]) == len(header) + 1:
        header = ["", *header]
    data = first_rows if header is None else first_rows[1:]
    perhaps_ids = len(header or first_rows[0]) > 1 and all(_is_row_name(fields[0]) for fields in data)
    width = len(first_rows[0])
    names = header or (["(first)", *numbered_names(width - 1)] if perhaps_ids else numbered_names(width))
    ids, places = choose(names, id_column, ignore, problems.file)
    if header is not None:
        note_name_problems(names, places, first_line, problems)
    perhaps_ids = perhaps_ids and ids is None and 0 in places
    layout = _Layout(names, first_line, header is not None, ids, perhaps_ids, places)
    return _read_body(itertools.chain(head[len(head) - len(data) :], rows), layout, problems)


def choose(
    names: Sequence[str], id_column: str | None, ignore: Collection[str], file: str
) -> tuple[int | None, list[int]]:
    """Return the index of the column of row names (None if no name indicates it), and those of the value columns."""
    for parameter, given in (("id_column", [] if id_column is None else [id_column]), ("ignore", ignore)):
        for name in given:
            if name not in names:
                raise UsageError(
                    f"{file}: `{parameter}`: there is no column {name!r}; the columns are {listed(names, most=12)}"
                )
    ids: int | None = None
    if id_column is not None:
        ids = list(names).index(id_column)
    elif _ID_NAME.fullmatch(names[0]) and names[0] not in ignore:
        ids = 0
    return ids, [place for place, name in enumerate(names) if place != ids and name not in ignore]


def numbered_names(width: int) -> list[str]:
    """Return names for columns without any: x1, x2, .."""
    return [f"x{place}" for place in range(1, width + 1)]


def note_name_problems(
    names: Sequence[str], places: Collection[int], line: int | None, problems: FileProblems
) -> None:
    """Note names of the given columns that are empty, contain control characters, or occur twice."""
    places_of: dict[str, list[str]] = {}
    for place in places:
        places_of.setdefault(names[place], []).append(str(place + 1))
    for name, found in places_of.items():
        where = " and ".join(found)
        if not name:
            problems.add(f"column {where} has no name", line)
        elif CONTROL.search(name):
            problems.add("a name may not contain tabs, line breaks or other control characters", line, name)
        elif len(found) > 1:
            problems.add(f"several columns have this name ({where}); names are distinct", line, name)


# --- separator and header -----------------------------------------------------------------------------------


def _separator(first: str, second: str) -> str:
    """Return the separator of a table with these first lines, or twice its only one; a space means any white space."""
    for separator in _SEPARATORS:
        width = len(split(first, separator))
        if width > 1 and len(split(second, separator)) in (width, width + 1):
            return separator
    for separator in _SEPARATORS:
        if separator in first and (separator in second or len(first.split()) == 1):
            return separator
    return " " if len(second.split()) > 1 else "\t"


def _header(
    first_rows: list[list[str]], id_column: str | None, line: int, problems: FileProblems
) -> list[str] | None:
    """Return the names in the first row, or None if it holds values; raise InputError if it could be either."""
    first = [text.strip() for text in first_rows[0]]
    second = first_rows[1] if len(first_rows) > 1 else [""]
    if id_column in first:
        return first
    is_value = [
        _is_boolean(below) if _is_boolean(text) else _is_value(text)
        for text, below in itertools.zip_longest(first, second[: len(first)], fillvalue="")
    ]
    if not all(is_value[1:] or is_value):
        numbers = [text for text, is_number in zip(first, is_value) if text and is_number]
        if numbers and not _is_count(numbers):
            raise problems.give_up(_MIXED, line)
        return first
    if first[0] and is_value[0]:
        if len(first) > 1 and _is_count(first) and (len(first) > 2 or any("." in text for text in second)):
            raise problems.give_up(_UNCLEAR, line)
        return None
    if len(first) == 1 or not is_increasing(first[1:]):
        return None
    if not first[0] or (second[0] and _is_value(second[0])):
        return first
    if len(first) > 2:
        raise problems.give_up(_UNCLEAR, line)
    return None


def _names_columns(comment: str, separator: str, width: int) -> bool:
    """Whether a comment above values may be a header: it has a field per column, and none of them is a number.

    Where white space separates the columns, a comment is one unless its first word follows the "#" at once.
    """
    text = comment.lstrip("#")
    if separator == " " and text[:1].isspace():
        return False
    fields = text.split() if separator == " " else split(text, separator)
    return len(fields) == width > 1 and not any(map(_is_value, fields))


def _is_value(text: str) -> bool:
    """Whether a text is a number, possibly missing or infinite, or True or False."""
    bare = text.strip()
    return _is_boolean(bare) or is_number(bare) or is_no_value(bare)


def _is_boolean(text: str) -> bool:
    return text.strip().lower() in _BOOLEANS


def _is_row_name(text: str) -> bool:
    """Whether a text is a name: it has a letter and is not a number."""
    return any(map(str.isalpha, text)) and not _is_value(text)


def _is_count(texts: list[str]) -> bool:
    """Whether texts are 0, 1, .. or 1, 2, .., as programs name columns."""
    return texts in ([str(start + place) for place in range(len(texts))] for start in (0, 1))


# --- rows ---------------------------------------------------------------------------------------------------


class _Layout(NamedTuple):
    """Roles of the columns of a text table."""

    names: list[str]
    first_line: int
    has_header: bool
    ids: int | None
    """Index of the column of row names."""
    perhaps_ids: bool
    """Whether the first column has the row names, provided that none of its texts is a number."""
    places: list[int]
    """Indices of the columns of values, including the first if ``perhaps_ids``."""


class _Numbers:
    """The numbers of one column, in chunks, and the texts that are not numbers."""

    def __init__(self) -> None:
        self.size = 0
        self.chunks: list[NDArray[np.float64]] = []
        self.faults: list[tuple[int, str, str]] = []
        """Row, text, and what is wrong with it."""

    def extend(self, texts: Sequence[str]) -> None:
        """Convert the texts of further rows."""
        numbers = _all_finite(texts)
        if numbers is None:
            numbers = np.array([self._read(text.strip(), row) for row, text in enumerate(texts, self.size)])
        self.chunks.append(numbers)
        self.size += len(texts)

    def _read(self, text: str, row: int) -> float:
        if _is_boolean(text):
            return _BOOLEANS[text.lower()]
        try:
            number = finite_number(text, EXPECTED)
            if np.isfinite(number):
                return number
            raise ValueError(f"too large; expected {EXPECTED}")
        except ValueError as fault:
            message = str(fault) + (NO_MISSING if is_no_value(text) else "")
            self.faults.append((row, text, message))
            return np.nan


def _all_finite(texts: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the numbers if all texts spell finite numbers in the usual way, else None."""
    together = "".join(texts)
    if "_" in together or not together.isascii():
        return None
    try:
        numbers = np.fromiter(map(float, texts), np.float64, len(texts))
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _read_body(rows: Iterator[Record], layout: _Layout, problems: FileProblems) -> Matrix:
    texts: list[str] = []
    columns = {place: _Numbers() for place in layout.places}
    place_of_texts = 0 if layout.perhaps_ids else layout.ids
    takers: dict[int, Callable[[Sequence[str]], None]] = {
        place: column.extend for place, column in columns.items() if place != place_of_texts
    }
    if place_of_texts is not None:
        takers[place_of_texts] = texts.extend
    if len(layout.names) == 1:
        rows = _with_empty_rows(rows)
    lines, uneven = collect(rows, len(layout.names), takers, may_be_empty=True)
    texts = [text.strip() for text in texts]
    note_uneven(uneven, len(layout.names), "the header" if layout.has_header else "the first row", problems)

    is_ids = layout.ids is not None or (layout.perhaps_ids and all(map(_is_row_name, texts)))
    if layout.perhaps_ids and is_ids:
        del columns[0]
    elif layout.perhaps_ids:
        columns[0].extend(texts)
    if not lines and not problems:
        where = "below the header" if layout.has_header else "in it"
        problems.add(f"the table has no rows {where}", layout.first_line)
    elif not columns:
        problems.add("there is no column of numbers", layout.first_line)
    values = np.empty((len(lines), len(columns)))
    for j, (place, column) in enumerate(columns.items()):
        values[:, j] = np.concatenate([np.empty(0), *column.chunks])
        name = layout.names[place] or str(place + 1)
        perhaps_ids = place == 0 and layout.has_header and len(layout.names) > 1
        _note_faults(column, name, perhaps_ids, lines, problems)
    return Matrix(
        path=Path(problems.file),
        row_names=texts if is_ids else [],
        column_names=[layout.names[place] for place in columns],
        values=values,
        rows=np.array(lines, dtype=np.int64),
    )


def _with_empty_rows(rows: Iterator[Record]) -> Iterator[Record]:
    """Yield the rows of a table of one column, in which blank lines above another row are empty fields."""
    blank: list[Record] = []
    for line, fields in rows:
        if fields:
            yield from blank
            yield line, fields
            blank.clear()
        else:
            blank.append((line, [""]))


def _note_faults(
    column: _Numbers, name: str, perhaps_ids: bool, lines: Sequence[int], problems: FileProblems
) -> None:
    hint = _PERHAPS_NAMES if perhaps_ids else ""
    if len(column.faults) == len(lines) > 1:
        if not any(text for _, text, _ in column.faults):
            problems.add("this column is empty; remove it", None, name)
            return
        if all(message.startswith(_NO_NUMBER) for _, _, message in column.faults):
            text = f"this column has no numbers, but texts such as {column.faults[0][1]!r:.60}"
            problems.add(f"{text}; leave it out with `ignore`{hint}", None, name)
            return
    for row, text, message in problems.keep_first(column.faults):
        problems.add(message + (hint if message.startswith(_NO_NUMBER) else ""), lines[row], name, text)
