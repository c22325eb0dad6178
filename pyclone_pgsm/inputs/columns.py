"""From lines of text to columns: separator, header, quoting, and each row's line in the file.

A column is kept as codes into its distinct texts. Counts, copy numbers and samples repeat, so that everything
after this looks at each distinct text once, and a million rows are read in about a second.
"""

from __future__ import annotations

import csv
import itertools
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.problems import FileProblems, input_error

SEPARATORS = "\t,;"

csv.field_size_limit(2**31 - 1)  # alleles of long insertions exceed the 131,072 characters of the library

_CHUNK = 1024
"""Rows turned into codes at a time: few enough to stay in the processor's cache."""


@dataclass(frozen=True)
class Column:
    """One column of R rows.

    Attributes
    ----------
    texts : list of str
        The distinct texts, without surrounding white space, in the order of their first appearance. A text
        that is written with different white space stands there more than once.
    codes : (R,) int32
        Place of each row's text in ``texts``.
    """

    texts: list[str]
    codes: NDArray[np.int32]

    def text_of(self, row: int) -> str:
        """The text of row 0..R-1."""
        return self.texts[self.codes[row]]


@dataclass(frozen=True)
class TextTable:
    """A table of R rows as text.

    Attributes
    ----------
    header_line : int
        Line of the file with the column names, counted from 1.
    names : list of str
        All column names of the header.
    commented_names : list of str
        Names in the comment line above the header, in case that one was meant.
    columns : dict of str to Column
        The columns that were asked for.
    lines : (R,) int64
        Line of the file on which each row begins, as a text editor counts.
    """

    header_line: int
    names: list[str]
    commented_names: list[str]
    columns: dict[str, Column]
    lines: NDArray[np.int64]


def read_columns(text: TextIO, is_wanted: Callable[[str], bool], problems: FileProblems) -> TextTable:
    """Read a separated table.

    The separator (tab, comma or semicolon) is the one that makes most wanted column names of the header.
    Lines that begin with "#" above the header are comments; blank lines, and rows of empty fields only, are
    skipped. No row is read below a header in which no column is wanted.

    Parameters
    ----------
    text : TextIO
        The lines, each ended by "\\n".
    is_wanted : callable
        Says for a column name whether the column is to be kept.
    problems : FileProblems
        Receives rows with too many or too few fields, quotes that are not closed, and wanted names that stand
        in the header twice; also a table without rows. The rows named are left out of the result.

    Raises
    ------
    InputError
        If there is no header that can be read.
    """
    comment, header, header_line = _find_header(text, problems)
    if not set(SEPARATORS) & set(header):
        message = "a header is expected whose column names are separated by tabs, commas or semicolons"
        raise problems.give_up(message, header_line, header.strip())
    separator = max(SEPARATORS, key=lambda each: _count_wanted(_split(header, each), is_wanted))
    reader = csv.reader(
        itertools.chain([header], text), delimiter=separator, skipinitialspace=True, strict=True
    )
    rows = numbered_records(reader, header_line, problems)
    header_row = next(rows, None)
    if header_row is None:
        raise input_error([problems])
    names = [name.strip() for name in header_row[1]]
    _note_duplicates(names, is_wanted, header_line, problems)
    kept = {name: names.index(name) for name in names if is_wanted(name)}
    commented_names = [name.strip() for name in _split(comment.lstrip("#"), separator)]
    if not kept:
        return TextTable(header_line, names, commented_names, {}, np.empty(0, np.int64))
    columns, lines = _collect(rows, kept, len(names), header_line, problems)
    return TextTable(header_line, names, commented_names, columns, lines)


def _find_header(text: TextIO, problems: FileProblems) -> tuple[str, str, int]:
    comment = ""
    for line_number, line in enumerate(text, start=1):
        if line.startswith("#"):
            comment = line
        elif line.strip():
            return comment, line, line_number
    raise problems.give_up("the file is empty: a header with the column names is expected")


def _split(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        return []


def _count_wanted(names: list[str], is_wanted: Callable[[str], bool]) -> tuple[int, int]:
    return sum(is_wanted(name.strip()) for name in names), len(names)


def numbered_records(
    reader: Iterator[list[str]], first_line: int, problems: FileProblems
) -> Iterator[tuple[int, list[str]]]:
    """Each record with the line on which it begins; ends at quoting that cannot be read."""
    line = first_line
    while True:
        try:
            for fields in reader:
                yield line, fields
                line = first_line + reader.line_num  # type: ignore[attr-defined]
        except csv.Error as fault:
            problems.add(_quoting_fault(str(fault)), line)
        return


def _quoting_fault(fault: str) -> str:
    if "unexpected end" in fault:
        return 'a quotation mark (") opened in this row is never closed'
    if "expected after" in fault:
        return (
            'text follows the quotation mark (") that closes a field; quotes inside a field are written twice'
        )
    return f"the row cannot be read, perhaps for a quotation mark that is not closed ({fault})"


def _note_duplicates(
    names: list[str], is_wanted: Callable[[str], bool], header_line: int, problems: FileProblems
) -> None:
    for name, times in Counter(names).items():
        if times > 1 and is_wanted(name):
            places = " and ".join(str(place) for place, each in enumerate(names, start=1) if each == name)
            problems.add(
                f"the header has this name more than once (columns {places}); keep one", header_line, name
            )


def _collect(
    rows: Iterator[tuple[int, list[str]]],
    kept: dict[str, int],
    width: int,
    header_line: int,
    problems: FileProblems,
) -> tuple[dict[str, Column], NDArray[np.int64]]:
    """The kept columns (name to place in the row) of all rows with the right number of fields."""
    encoders = {name: _Encoder() for name in kept}
    lines = array("q")
    uneven: list[tuple[int, int]] = []
    while chunk := list(itertools.islice(_even(rows, width, lines, uneven), _CHUNK)):
        fields = list(zip(*chunk))
        for name, place in kept.items():
            encoders[name].extend(fields[place])
    if not lines and not uneven and not problems:
        problems.add("the table has no rows below the header", header_line)
    _note_uneven(uneven, width, bool(lines), header_line, problems)
    columns = {name: encoder.column() for name, encoder in encoders.items()}
    return columns, np.array(lines, dtype=np.int64)


def _even(
    rows: Iterator[tuple[int, list[str]]], width: int, lines: array[int], uneven: list[tuple[int, int]]
) -> Iterator[list[str]]:
    """Rows of the right width, whose lines go to ``lines``; line and width of the others go to ``uneven``."""
    for line, fields in rows:
        if len(fields) == width and fields[0]:
            lines.append(line)
            yield fields
        elif not "".join(fields).strip():
            continue
        elif len(fields) == width:
            lines.append(line)
            yield fields
        else:
            uneven.append((line, len(fields)))


def _note_uneven(
    uneven: list[tuple[int, int]], width: int, others: bool, header_line: int, problems: FileProblems
) -> None:
    if uneven and not others and all(found == width + 1 for _, found in uneven):
        problems.add(
            f"every row has one field more ({width + 1}) than the header ({width}): a column of row names "
            "without a name? In R, write the table with row.names = FALSE",
            header_line,
        )
        return
    for place in problems.keep_first(range(len(uneven))):
        line, found = uneven[place]
        problems.add(
            f"{found} field{'s' if found > 1 else ''} found, {width} expected as in the header", line
        )


class _Encoder:
    """Codes for the texts of one column, numbered as they come."""

    def __init__(self) -> None:
        self._code_of: defaultdict[str, int] = defaultdict()
        self._code_of.default_factory = self._code_of.__len__
        self._chunks: list[NDArray[np.int32]] = []

    def extend(self, texts: tuple[str, ...]) -> None:
        self._chunks.append(np.fromiter(map(self._code_of.__getitem__, texts), np.int32, len(texts)))

    def column(self) -> Column:
        codes = np.concatenate([np.empty(0, np.int32), *self._chunks])
        return Column([text.strip() for text in self._code_of], codes)
