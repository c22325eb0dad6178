"""A table as text, and conversion of its cells to values.

A column is stored as codes into its distinct texts. Counts, copy numbers and samples repeat, so each distinct text is
converted only once, and a million rows are read in about a second. Texts that cannot be converted are noted with row
and column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.inputs.problems import EXCEL_ERROR, EXCEL_ERRORS, FileProblems
from pyclone_pgsm.inputs.values import is_no_value


@dataclass(frozen=True)
class Column:
    """One column of R rows."""

    name: str
    """Name in the header."""
    texts: list[str]
    """The distinct texts, without surrounding white space, in order of first appearance. A text that occurs with
    different surrounding white space is listed more than once."""
    codes: NDArray[np.int32]
    """(R,) index of each row's text in ``texts``."""

    @classmethod
    def of_series(cls, name: str, series: pd.Series) -> Column:
        """Return a column of a data frame; missing values become empty texts."""
        if series.dtype == object:  # as text, because pandas takes 1, 1.0 and True for the same
            series = series.map(str, na_action="ignore")
        codes, distinct = pd.factorize(series, use_na_sentinel=False)
        texts = pd.Series(distinct).astype(str).where(pd.notna(distinct), "").str.strip()
        return cls(name, texts.tolist(), codes.astype(np.int32))

    def text_of(self, row: int) -> str:
        """Return the text of row 0..R-1."""
        return self.texts[self.codes[row]]

    def map(self, function: Callable[[str], Any], dtype: type) -> NDArray:
        """Return (R,) the function's value for each row's text; it is called once for each distinct text."""
        return np.array([function(text) for text in self.texts], dtype=dtype)[self.codes]


@dataclass(frozen=True)
class Table:
    """A table of R rows as text, of a file or a data frame; problems found in it are noted."""

    problems: FileProblems
    header_line: int | None
    """Line of the file with the column names, counted from 1; None if there is none."""
    names: list[str]
    """All column names of the header."""
    commented_names: list[str]
    """Names in the last comment above the header, which may have been meant as the header."""
    columns: dict[str, Column]
    """The wanted columns, by name or by the part that each plays."""
    lines: NDArray[np.int64]
    """(R,) lines of the file on which the rows begin, counted from 1; rows of the data frame, counted from 0."""

    def __len__(self) -> int:
        return len(self.lines)

    def __contains__(self, part: str) -> bool:
        return part in self.columns

    @classmethod
    def by_part(cls, table: Table, column_of: Mapping[str, str]) -> Self:
        """Return a table with the columns of some parts ("chrom", "total", ...), given by their names."""
        columns = {part: table.columns[name] for part, name in column_of.items()}
        return cls(**(vars(table) | {"columns": columns}))

    def distinct(self, part: str) -> list[str]:
        """Return the distinct texts of a part; none if it has no column."""
        return list(dict.fromkeys(self.columns[part].texts)) if part in self else []

    def note_header(self, message: str, column: str | None = None) -> None:
        """Note a problem of the header."""
        self.problems.add(message, self.header_line, column)

    def note(self, rows: NDArray[np.bool_], part: str, message: str | Callable[[int], str]) -> None:
        """Note a problem in some rows; ``message`` is its text, or makes it from the row 0..R-1."""
        for row in self.problems.keep_first(np.flatnonzero(rows).tolist()):
            text, column = message if isinstance(message, str) else message(row), self.columns[part]
            self.problems.add(text, int(self.lines[row]), column.name, column.text_of(row))

    def note_comments(self, part: str) -> None:
        """Note rows whose text in this column begins as a comment does."""
        self.note(
            self.columns[part].map(lambda text: text.startswith("#"), bool),
            part,
            lambda row: (
                EXCEL_ERROR
                if self.columns[part].text_of(row) in EXCEL_ERRORS
                else "begins with '#', as a comment does; remove this row, as comments are only possible above the "
                "header"
            ),
        )

    def note_unequal(self, rows: NDArray[np.bool_], part: str, other: str) -> None:
        """Note rows in which a column differs from another one of the same meaning."""
        self._note_beside(rows, part, other, "{} is {}; the two mean the same, so keep one")

    def note_larger(self, rows: NDArray[np.bool_], part: str, than: str) -> None:
        """Note rows in which a column is larger than another one, which is the most it can be."""
        self._note_beside(rows, part, than, "larger than {}, which is {}; expected at most that")

    def _note_beside(self, rows: NDArray[np.bool_], part: str, other: str, message: str) -> None:
        """Note a problem in some rows; {} in its message are the name of another column and its text in the row."""

        def filled(row: int) -> str:
            return message.format(self.columns[other].name, self.columns[other].text_of(row))

        self.note(rows, part, filled)

    def read(
        self,
        part: str,
        read: Callable[[str], Any],
        dtype: type,
        otherwise: Any = None,
        *,
        may_miss: bool = False,
        matters: NDArray[np.bool_] | None = None,
        shape: tuple[int, ...] = (),
    ) -> NDArray:
        """Return the (R, *shape) values of a column.

        ``read`` converts a text to its value, or raises ValueError with a message on what is wrong, which is noted in
        the rows that ``matters``, (R,) bool, selects. ``otherwise`` is the value of texts that cannot be read, and of
        all rows if the part has no column; if it is None, these are the text itself and "". With ``may_miss``, texts
        for a missing value are no problem.
        """
        if part not in self:
            return np.full((len(self), *shape), "" if otherwise is None else otherwise, dtype=dtype)
        column = self.columns[part]
        values: NDArray = np.full((len(column.texts), *shape), otherwise, dtype=dtype)
        faults: dict[int, str] = {}
        for place, text in enumerate(column.texts):
            if may_miss and is_no_value(text):
                continue
            try:
                values[place] = read(text)
            except ValueError as fault:
                faults[place] = str(fault)
                if otherwise is None:
                    values[place] = text
        if faults:
            rows = np.isin(column.codes, list(faults))
            where = rows if matters is None else rows & matters
            self.note(where, part, lambda row: faults[int(column.codes[row])])
        return values[column.codes]

    def is_empty(self, part: str) -> NDArray[np.bool_]:
        """Return (R,) whether each row has no value."""
        return self.columns[part].map(is_no_value, bool)


def columns_by_part(
    names: Iterable[str], spellings: Mapping[str, Sequence[str]], plain: Callable[[str], str] = str.lower
) -> dict[str, str]:
    """Map each part to its column, the first of its spellings found; ``plain`` normalises names before comparison."""
    spelled = {plain(name): name for name in reversed(list(names))}
    found = {
        part: [spelled[each] for each in map(plain, of) if each in spelled] for part, of in spellings.items()
    }
    return {part: columns[0] for part, columns in found.items() if columns}


def letters(name: str) -> str:
    """Reduce a column name to lower-case letters without a plural s, so that different spellings compare equal."""
    return re.sub("[^a-z]", "", name.lower()).removesuffix("s")


def repeated(rows: pd.DataFrame, key: list[str]) -> Iterator[tuple[Any, Any]]:
    """Yield each row that agrees with an earlier one in the columns ``key``, and the first such row."""
    first: dict[tuple[Any, ...], Any] = {}
    for row in rows[rows.duplicated(key, keep=False)].itertuples():
        before = first.setdefault(tuple(getattr(row, name) for name in key), row)
        if before is not row:
            yield row, before


def place(first: Any, row: Any) -> str:
    """Return the place of an earlier row, with columns ``file`` and ``row``, for messages about another row."""
    return f"row {first.row}" + (f" of {first.file}" if first.file != row.file else "")
