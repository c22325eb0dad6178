"""Columns of a table addressed by the part that each plays, and conversion of their cells to values.

Each distinct text of a column is converted once. Texts that cannot be converted are noted with row and column.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.columns import Column, TextTable
from pyclone_pgsm.inputs.problems import FileProblems
from pyclone_pgsm.inputs.values import is_no_value


def columns_by_part(
    names: Iterable[str], spellings: Mapping[str, Sequence[str]], plain: Callable[[str], str] = str.lower
) -> dict[str, str]:
    """Map each part to its column, the first of its spellings found; ``plain`` normalises names before comparison."""
    spelled = {plain(name): name for name in reversed(list(names))}
    found = {
        part: [spelled[each] for each in map(plain, of) if each in spelled] for part, of in spellings.items()
    }
    return {part: columns[0] for part, columns in found.items() if columns}


class Cells:
    """The columns of one file with R rows, addressed by part; problems found in them are noted.

    ``column_of`` maps parts ("chrom", "total", ...) to column names; by default parts are named like columns.
    """

    def __init__(
        self, table: TextTable, problems: FileProblems, column_of: dict[str, str] | None = None
    ) -> None:
        self.table, self.problems = table, problems
        self.column_of = {name: name for name in table.columns} if column_of is None else column_of

    def __len__(self) -> int:
        return len(self.table.lines)

    def __contains__(self, part: str) -> bool:
        return part in self.column_of

    def column(self, part: str) -> Column:
        """Return the column of a part."""
        return self.table.columns[self.column_of[part]]

    def distinct(self, part: str) -> list[str]:
        """Return the distinct texts of a part; none if it has no column."""
        return list(dict.fromkeys(self.column(part).texts)) if part in self else []

    def note(self, rows: NDArray[np.bool_], part: str, message: str | Callable[[int], str]) -> None:
        """Note a problem in some rows; ``message`` is its text, or makes it from the row 0..R-1."""
        for row in self.problems.keep_first(np.flatnonzero(rows).tolist()):
            text = message if isinstance(message, str) else message(row)
            line, value = int(self.table.lines[row]), self.column(part).text_of(row)
            self.problems.add(text, line, self.column_of[part], value)

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
        column = self.column(part)
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
            is_faulty = np.zeros(len(column.texts), dtype=bool)
            is_faulty[list(faults)] = True
            rows = is_faulty[column.codes]
            of_row = column.codes
            self.note(rows if matters is None else rows & matters, part, lambda row: faults[int(of_row[row])])
        return values[column.codes]

    def is_empty(self, part: str) -> NDArray[np.bool_]:
        """Return (R,) whether each row has no value."""
        return self.column(part).map(is_no_value, bool)
