"""The cells of a table of segments as numbers; everything that is no number is noted with its row and column."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs import values
from pyclone_pgsm.inputs.columns import Column, TextTable
from pyclone_pgsm.inputs.problems import FileProblems

UNKNOWN = -1
"""A copy number that the file does not give."""

_LARGEST_POSITION = 2**31 - 1


@dataclass(frozen=True)
class Real:
    """Reader of finite numbers between two bounds, both allowed.

    Attributes
    ----------
    lowest, highest : float
        The bounds.
    expected : str
        What the column holds, for the error text.
    """

    lowest: float
    highest: float
    expected: str

    def __call__(self, text: str) -> float:
        """Read one cell; ValueError says what is wrong with it."""
        value = values.finite_number(text, self.expected)
        if self.lowest <= value <= self.highest:
            return value
        raise ValueError(f"out of range; expected {self.expected}")


@dataclass(frozen=True)
class RealCopies(Real):
    """Reader of copy numbers that callers fit: real, and at times a little below 0, but no whole number below."""

    def __call__(self, text: str) -> float:
        value = super().__call__(text)
        if value < 0 and value.is_integer():
            raise ValueError(f"negative; expected {self.expected}")
        return value


POSITION = values.Whole(
    0, _LARGEST_POSITION, "a position on the chromosome: a whole number, 0 or more (at most 2147483647)"
)
LEAST_FITTED = -2.0
"""Callers that fit real copy numbers fit some a little below 0 to short, noisy segments; less is a fault."""
REAL_COPIES = RealCopies(
    LEAST_FITTED,
    values.LARGEST_COPY_NUMBER,
    f"a copy number (at least 0, or a fit a little below, and at most {values.LARGEST_COPY_NUMBER})",
)
NORMAL_COPIES = values.Whole(
    0, values.LARGEST_COPY_NUMBER, "the copy number of normal cells: a whole number, 0 or more"
)
MOST_OF_ALL = 1.05
"""Some fitted shares come out a little above 1; those up to this are taken as 1."""
_ROUNDING = 1e-6
SHARE_OF_CELLS = Real(
    -_ROUNDING, MOST_OF_ALL + _ROUNDING, f"a share of cells: 0 to 1 (up to {MOST_OF_ALL} is taken as 1)"
)
_PAIR = re.compile(r"\s*([^|]*?)\s*\|\s*([^|]*?)\s*")
ALLELE_FREQUENCY = Real(0.0, 2.0, "the frequency of the major allele: 0.5 to 1, or 0 where it is not known")


class Cells:
    """The columns of one file, by the part that each plays.

    Parameters
    ----------
    table : TextTable
        R rows.
    column_of : dict of str to str
        Part ("chrom", "total", ...) to the name of its column in the header.
    problems : FileProblems
        Receives what is wrong.

    Attributes
    ----------
    above_one : list of (str, (R,) bool)
        Parts that are shares of cells, and the rows in which a share above 1 was taken as 1.
    """

    _NOTHING: ClassVar[dict[type, float]] = {np.int64: UNKNOWN, np.float64: np.nan}

    def __init__(self, table: TextTable, column_of: dict[str, str], problems: FileProblems) -> None:
        self.table, self.column_of, self.problems = table, column_of, problems
        self.above_one: list[tuple[str, NDArray[np.bool_]]] = []

    def __len__(self) -> int:
        return len(self.table.lines)

    def __contains__(self, part: str) -> bool:
        return part in self.column_of

    def column(self, part: str) -> Column:
        """The texts of a part."""
        return self.table.columns[self.column_of[part]]

    def position(self, part: str) -> NDArray[np.int64]:
        """(R,) positions; every row must have one."""
        return self._numbers(part, POSITION, np.int64, may_miss=False)

    def copies(self, part: str) -> NDArray[np.int64]:
        """(R,) whole copy numbers, -1 where the cell is empty or there is no such column."""
        return self._numbers(part, values.COPIES, np.int64)

    def normal_copies(self, part: str) -> NDArray[np.int64]:
        """(R,) copy numbers of normal cells, -1 where the cell is empty or there is no such column."""
        return self._numbers(part, NORMAL_COPIES, np.int64)

    def real_copies(self, part: str) -> NDArray[np.float64]:
        """(R,) copy numbers as they are, NaN where the cell is empty or there is no such column."""
        return self._numbers(part, REAL_COPIES, np.float64)

    def share(self, part: str) -> NDArray[np.float64]:
        """(R,) shares of cells, NaN where the cell is empty or there is no such column."""
        shares = self._numbers(part, SHARE_OF_CELLS, np.float64)
        if (above := shares > 1 + _ROUNDING).any():
            self.above_one.append((part, above))
        return np.clip(shares, 0.0, 1.0)

    def pair_of_copies(self, part: str) -> NDArray[np.int64]:
        """(R, 2) copy numbers of two alleles written ``A|B``, -1 where the cell is empty."""
        return self._numbers(part, _pair_of_copies, np.int64, shape=(2,))

    def allele_frequency(self, part: str) -> NDArray[np.float64]:
        """(R,) frequencies of the major allele, NaN where the cell is empty or there is no such column."""
        return self._numbers(part, ALLELE_FREQUENCY, np.float64)

    def note(self, rows: NDArray[np.bool_], part: str, message: Callable[[int], str]) -> None:
        """Note a problem in some rows; the message is made from the row 0..R-1."""
        column = self.column(part)
        for row in self.problems.keep_first(np.flatnonzero(rows).tolist()):
            line = int(self.table.lines[row])
            self.problems.add(message(row), line, self.column_of[part], column.text_of(row))

    def _numbers(
        self,
        part: str,
        read: Callable[[str], float | tuple[float, float]],
        dtype: type,
        may_miss: bool = True,
        shape: tuple[int, ...] = (),
    ) -> NDArray:
        if part not in self:
            return np.full((len(self), *shape), self._NOTHING[dtype], dtype=dtype)
        column = self.column(part)
        numbers: NDArray = np.full((len(column.texts), *shape), self._NOTHING[dtype], dtype=dtype)
        faults = {}
        for place, text in enumerate(column.texts):
            if may_miss and text.lower() in values.NO_VALUE:
                continue
            try:
                numbers[place] = read(text)
            except ValueError as fault:
                faults[place] = str(fault)
        if faults:
            is_faulty = np.zeros(len(column.texts), dtype=bool)
            is_faulty[list(faults)] = True
            self.note(is_faulty[column.codes], part, lambda row: faults[int(column.codes[row])])
        return numbers[column.codes]


def _pair_of_copies(text: str) -> tuple[int, int]:
    pair = _PAIR.fullmatch(text)
    if pair is None:
        raise ValueError("no pair of copy numbers; expected the copies of the two alleles, such as 2|1")
    return values.COPIES(pair[1]), values.COPIES(pair[2])
