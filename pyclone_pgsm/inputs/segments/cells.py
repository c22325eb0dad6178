"""The cells of a table of segments as numbers; everything that is no number is noted with its row and column."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs import values
from pyclone_pgsm.inputs.cells import Cells
from pyclone_pgsm.inputs.columns import Headerless, Style, TextTable
from pyclone_pgsm.inputs.problems import FileProblems

UNKNOWN = -1
"""A copy number that the file does not give."""

POSITION = values.Whole(
    0, 2**31 - 1, "a position on the chromosome: a whole number, 0 or more (at most 2147483647)"
)


class Fitted(values.Real):
    """Reader of copy numbers that callers fit: real, and at times a little below 0, but no whole number below."""

    def __call__(self, text: str) -> float:
        value = super().__call__(text)
        if value < 0 and value.is_integer():
            raise ValueError(f"negative; expected {self.expected}")
        return value


LEAST_FITTED = -2.0
"""Callers that fit real copy numbers fit some a little below 0 to short, noisy segments; less is a fault."""
REAL_COPIES = Fitted(
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
SHARE_OF_CELLS = values.Real(
    -_ROUNDING, MOST_OF_ALL + _ROUNDING, f"a share of cells: 0 to 1 (up to {MOST_OF_ALL} is taken as 1)"
)
_PAIR = re.compile(r"\s*([^|]*?)\s*\|\s*([^|]*?)\s*")
ALLELE_FREQUENCY = values.Real(
    0.0, 2.0, "the frequency of the major allele: 0.5 to 1, or 0 where it is not known"
)

_CAVEMAN = Headerless(
    re.compile(r'\s*\d+,\s*"?\w+"?(\s*,\s*\d+){6}\s*'),
    ("segment_no", "chr", "start", "end", "normal_total", "normal_minor", "tumour_total", "tumour_minor"),
    "ascatNgs' files",
)
"""ascatNgs' copynumber.caveman.csv, which has no header."""


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """A column name in lower case, letters and digits only: how tools' spellings of one name are told to be one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def style(expected: str, known: Collection[str]) -> Style:
    """How callers write tables; of the columns, those with known plain names are wanted."""
    return Style(expected, lambda name: plain(name) in known, is_loose=True, headerless=_CAVEMAN)


class SegmentCells(Cells):
    """The columns of a file of segments: numbers, each -1 or NaN where the cell is empty or there is no such column.

    ``above_one`` has the rows, (R,) bool, in which a share of cells above 1 was taken as 1, for each part that has any.
    """

    def __init__(self, table: TextTable, problems: FileProblems, column_of: dict[str, str]) -> None:
        super().__init__(table, problems, column_of)
        self.above_one: dict[str, NDArray[np.bool_]] = {}

    def copies(self, part: str) -> NDArray[np.int64]:
        """(R,) whole copy numbers."""
        return self.numbers(part, values.COPIES, np.int64)

    def real_copies(self, part: str) -> NDArray[np.float64]:
        """(R,) copy numbers as they are."""
        return self.numbers(part, REAL_COPIES, np.float64)

    def share(self, part: str) -> NDArray[np.float64]:
        """(R,) shares of cells."""
        shares = self.numbers(part, SHARE_OF_CELLS, np.float64)
        if (above := shares > 1 + _ROUNDING).any():
            self.above_one[part] = above
        return np.clip(shares, 0.0, 1.0)

    def numbers(
        self, part: str, read: Callable[[str], Any], dtype: type, shape: tuple[int, ...] = ()
    ) -> NDArray:
        """(R, *shape) numbers, as ``read`` makes them of a text."""
        nothing = UNKNOWN if dtype is np.int64 else np.nan
        return self.read(part, read, dtype, nothing, may_miss=True, shape=shape)


def pair_of_copies(text: str) -> tuple[int, int]:
    """The copies of two alleles written ``A|B``."""
    pair = _PAIR.fullmatch(text)
    if pair is None:
        raise ValueError("no pair of copy numbers; expected the copies of the two alleles, such as 2|1")
    return values.COPIES(pair[1]), values.COPIES(pair[2])
