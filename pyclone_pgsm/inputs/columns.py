"""Reader of text tables, which returns a `pyclone_pgsm.inputs.table.Table`.

`pyclone_pgsm.inputs.text` undoes compression, encoding and line ends; this module detects separator, header, comments
and quoting. A `Style` describes what differs between kinds of tables.
"""

from __future__ import annotations

import csv
import itertools
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.inputs.problems import FileProblems, input_error
from pyclone_pgsm.inputs.table import Column, Table
from pyclone_pgsm.inputs.text import open_text

SEPARATORS = "\t,;"

Record = tuple[int, list[str]]
"""Line of the file on which a row begins, and its fields."""

csv.field_size_limit(2**31 - 1)  # alleles of long insertions exceed the default limit of 131,072 characters

_CHUNK = 1024
"""Number of rows encoded in one step: few enough to stay in the processor's cache."""

_ABOVE_TABLES = re.compile(r"#|\s*\Z|@[A-Z]{2}\t")
"""Matches comments, blank lines, and the lines that GATK puts above its tables."""

CAVEMAN_ROW = re.compile(r'\s*\d+,\s*"?\w+"?(\s*,\s*\d+){6}\s*')
"""Matches the rows of ascatNgs' copynumber.caveman.csv, which has no header."""

_CAVEMAN_NAMES = [
    "segment_no", "chr", "start", "end", "normal_total", "normal_minor", "tumour_total", "tumour_minor",
]  # fmt: skip

_MOST_CHROMOSOMES = 24
"""Largest number of rows that can each be of another chromosome."""

_LEAST_NAMES = 2
"""A line that begins with "#" can be the header if it has at least this many wanted names."""


@dataclass(frozen=True)
class Style:
    """Format of tables of one kind."""

    expected: str
    """Description of the expected file, for messages about files of another kind."""
    is_wanted: Callable[[str], bool]
    """Whether a column of this name is kept; of columns without a name, the first one."""
    may_have_one_column: bool = False
    """Whether a header without a separator is accepted as the name of the only column."""
    is_loose: bool = False
    """Whether to accept what callers in R and other languages write: spaces as separators, a header that begins with
    "#", row names without a column name, comments between rows, and ascatNgs' table without a header."""


def read_columns(path: Path, style: Style, problems: FileProblems) -> Table:
    """Read the wanted columns of a table, plain or gzip-compressed.

    The separator (tab, comma or semicolon) is the one that yields most wanted column names in the header. Lines that
    begin with "#" above the header are comments; blank lines and rows of empty fields are skipped. If the header has no
    wanted column, no rows are read.

    Problems are noted for rows with too many or too few fields, which are left out, for unclosed quotes, wanted names
    that occur twice in the header, and a table without rows.
    """
    text = open_text(path, problems, style.expected)
    start = _loose_start(list(text), style, problems) if style.is_loose else _start(text, style, problems)
    header_line, names, commented_names, rows = start
    _note_duplicates(names, style.is_wanted, header_line, problems)
    places = {name: names.index(name) for name in names if style.is_wanted(name)}
    encoders = {place: _Encoder() for place in places.values()}
    takers = {place: encoder.extend for place, encoder in encoders.items()}
    lines, uneven = collect(rows if places else (), len(names), takers)
    if places and not lines and not uneven and not problems:
        problems.add("the table has no rows below the header", header_line)
    if uneven and not lines and all(found == len(names) + 1 for _, found in uneven):
        problems.add(
            f"every row has one field more ({len(names) + 1}) than the header ({len(names)}): a column of row "
            "names without a name? In R, write the table with row.names = FALSE",
            header_line,
        )
    else:
        like = "the header" if header_line else "ascatNgs' files without a header"
        note_uneven(uneven, len(names), like, problems)
    columns = {name: encoders[place].column(name) for name, place in places.items()}
    return Table(problems, header_line, names, commented_names, columns, np.array(lines, dtype=np.int64))


def columns_of_frame(frame: pd.DataFrame, style: Style, problems: FileProblems) -> Table:
    """Return the wanted columns of a data frame; note wanted names that occur twice."""
    names = [str(name) for name in frame.columns]
    _note_duplicates(names, style.is_wanted, None, problems)
    columns = {
        name: Column.of_series(name, frame.iloc[:, names.index(name)])
        for name in names
        if style.is_wanted(name)
    }
    return Table(problems, None, names, [], columns, np.arange(len(frame)))


_Start = tuple[int | None, list[str], list[str], Iterator[Record]]
"""``header_line``, ``names`` and ``commented_names`` of a `Table`, and its rows."""


def _start(text: Iterator[str], style: Style, problems: FileProblems) -> _Start:
    comment, header, header_line = skip_comments(text, "a header with the column names", problems)
    separators = [each for each in SEPARATORS if each in header]
    if not separators and not style.may_have_one_column:
        message = "a header is expected whose column names are separated by tabs, commas or semicolons"
        raise problems.give_up(message, header_line, header.strip())

    def num_names(separator: str) -> tuple[int, int]:
        names = split(header, separator)
        return sum(map(style.is_wanted, names)), len(names)

    separator = max(separators or SEPARATORS[0], key=num_names)
    rows = records(itertools.chain([header], text), separator, header_line, problems)
    header_row = next(rows, None)
    if header_row is None:
        raise input_error([problems])
    names = [name.strip() for name in header_row[1]]
    return header_line, names, split(comment.lstrip("#"), separator), rows


def skip_comments(text: Iterator[str], expected: str, problems: FileProblems) -> tuple[str, str, int]:
    """Return the last comment above the first line that is neither blank nor a comment, that line, and its number."""
    comment = ""
    for line_number, line in enumerate(text, start=1):
        if line.startswith("#"):
            comment = line
        elif line.strip():
            return comment, line, line_number
    raise problems.give_up(f"the file is empty: {expected} is expected")


def split(line: str, separator: str) -> list[str]:
    """Split a line into fields without surrounding white space."""
    fields = next(csv.reader([line.rstrip("\n")], delimiter=separator, skipinitialspace=True), [])
    return [field.strip() for field in fields]


def records(
    lines: Iterable[str], separator: str, first_line: int, problems: FileProblems
) -> Iterator[Record]:
    """Yield each record with the line on which it begins; note quoting that cannot be parsed, and stop there."""
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    line = first_line
    try:
        for fields in reader:
            yield line, fields
            line = first_line + reader.line_num
    except csv.Error as fault:
        message = 'a quotation mark (") opened in this row is never closed'
        if "expected after" in str(fault):
            message = 'text follows the quotation mark (") that closes a field; quotes inside a field are written twice'
        problems.add(message, line)


# --- tables of callers --------------------------------------------------------------------------------------


def _loose_start(lines: Sequence[str], style: Style, problems: FileProblems) -> _Start:
    first = _first_line(lines, style.is_wanted, problems)
    if CAVEMAN_ROW.fullmatch(lines[first]):
        names, separator = _CAVEMAN_NAMES, ","
        header_line, below = None, first
    else:
        names, separator = _loose_names(lines[first])
        header_line = below = first + 1
    if len(names) < 2:
        message = (
            "a header is expected whose column names are separated by tabs, commas, semicolons or spaces"
        )
        raise problems.give_up(message, header_line, lines[first].strip())
    rows = [
        record
        for record in records(lines[below:], separator, below + 1, problems)
        if "".join(record[1]).strip() and not record[1][0].startswith("#")
    ]
    if rows and _have_row_names([fields for _, fields in rows], len(names) + 1):
        names = ["", *names]
    return header_line, names, [], iter(rows)


def _first_line(lines: Sequence[str], is_wanted: Callable[[str], bool], problems: FileProblems) -> int:
    """Return the index of the header, or of the first row if there is no header.

    Candidates are the lines above the table that begin with "#" and have at least `_LEAST_NAMES` wanted names, and the
    first line below them. The one with most wanted names is the header; of several, the last.
    """
    above = list(itertools.takewhile(_ABOVE_TABLES.match, lines))

    def num_wanted(place: int) -> int:
        return sum(map(is_wanted, _loose_names(lines[place])[0]))

    comments = [place for place, line in enumerate(above) if line.startswith("#")]
    possible = [place for place in comments if num_wanted(place) >= _LEAST_NAMES]
    if len(above) < len(lines):
        possible.append(len(above))
    if not possible:
        raise problems.give_up("the file is empty: a header with the column names is expected")
    return max(reversed(possible), key=num_wanted)


def _loose_names(line: str) -> tuple[list[str], str]:
    """Return the names in a line, without empty ones at its end, and the separator."""
    text = line.lstrip("#").lstrip() if line.startswith("#") else line
    separator = max(SEPARATORS, key=text.count)
    names = split(text.strip(" \n"), separator if separator in text else " ")
    return without_blank_end(names, 0), separator if separator in text else " "


def _have_row_names(rows: Sequence[list[str]], width: int) -> bool:
    """Whether R has put names in front of the rows, which the header lacks: rows have `width` fields, one more than it.

    If the last field is empty, there may be a separator behind each row instead. Names are then the numbers of R,
    which increase; but so do chromosomes, if each has one segment.
    """
    of_first = without_blank_end(rows[0], width)
    if len(of_first) != width or of_first[-1].strip():
        return len(of_first) == width
    may_be_chromosomes = len(rows) <= _MOST_CHROMOSOMES and all(
        len(fields) == width and fields[-2].strip() and not fields[-1].strip() for fields in rows
    )
    return len(rows) > 1 and not may_be_chromosomes and is_increasing([fields[0] for fields in rows])


def is_increasing(texts: Sequence[str]) -> bool:
    """Whether texts are whole numbers of at most 18 digits, each larger than the one before it."""
    if not all(text.isdecimal() and len(text) <= 18 for text in texts):
        return False
    return all(int(a) < int(b) for a, b in itertools.pairwise(texts))


def without_blank_end(fields: list[str], width: int) -> list[str]:
    """Return a row without empty fields at its end as long as there are more than ``width`` fields."""
    end = len(fields)
    while end > width and not fields[end - 1].strip():
        end -= 1
    return fields[:end]


# --- rows ---------------------------------------------------------------------------------------------------


def collect(
    rows: Iterable[Record],
    width: int,
    takers: Mapping[int, Callable[[Sequence[str]], None]],
    may_be_empty: bool = False,
) -> tuple[array[int], list[tuple[int, int]]]:
    """Pass the texts of some columns, given by index, to the function of each column, in chunks of rows.

    Return the lines of these rows, and line and width of the others, which do not have the right width. Empty fields
    at the end of a row that is too wide do not count. Blank lines are skipped, and rows of empty fields, too, unless
    these ``may_be_empty``.
    """
    lines: array[int] = array("q")
    uneven: list[tuple[int, int]] = []

    def even() -> Iterator[list[str]]:
        for line, fields in rows:
            is_used = fields and (may_be_empty or fields[0] or "".join(fields).strip())
            if len(fields) > width:
                fields = without_blank_end(fields, width)
            if is_used and len(fields) == width:
                lines.append(line)
                yield fields
            elif is_used:
                uneven.append((line, len(fields)))

    even_rows = even()
    while chunk := list(itertools.islice(even_rows, _CHUNK)):
        fields = list(zip(*chunk))
        for place, take in takers.items():
            take(fields[place])
    return lines, uneven


def note_uneven(uneven: Sequence[tuple[int, int]], width: int, like: str, problems: FileProblems) -> None:
    """Note rows, given by line and number of fields, that differ from ``width``; ``like`` says what determines it."""
    for line, found in problems.keep_first(uneven):
        problems.add(f"{found} field{'s' if found > 1 else ''} found, {width} expected as in {like}", line)


def _note_duplicates(
    names: Sequence[str], is_wanted: Callable[[str], bool], header_line: int | None, problems: FileProblems
) -> None:
    for name, times in Counter(names).items():
        if name and times > 1 and is_wanted(name):
            places = " and ".join(str(place) for place, each in enumerate(names, start=1) if each == name)
            problems.add(
                f"the header has this name more than once (columns {places}); keep one", header_line, name
            )


class _Encoder:
    """Encoder of one column, which numbers distinct texts in order of first appearance."""

    def __init__(self) -> None:
        self._code_of: defaultdict[str, int] = defaultdict()
        self._code_of.default_factory = self._code_of.__len__
        self._chunks: list[NDArray[np.int32]] = []

    def extend(self, texts: Sequence[str]) -> None:
        self._chunks.append(np.fromiter(map(self._code_of.__getitem__, texts), np.int32, len(texts)))

    def column(self, name: str) -> Column:
        codes = np.concatenate([np.empty(0, np.int32), *self._chunks])
        return Column(name, [text.strip() for text in self._code_of], codes)
