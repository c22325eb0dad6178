"""Cells of a table of segments as numbers; texts that are not numbers are noted with row and column."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs import values
from pyclone_pgsm.inputs.columns import Style
from pyclone_pgsm.inputs.table import Table

UNKNOWN = -1
"""A copy number that the file does not give."""

POSITION = values.Whole(0, values.LARGEST_POSITION, "a position on the chromosome: a whole number, 0 or more")


class Fitted(values.Real):
    """Reader of real copy numbers fitted by callers: they may be slightly negative, but not negative whole numbers."""

    def __call__(self, text: str) -> float:
        value = super().__call__(text)
        if value < 0 and value.is_integer():
            raise ValueError(f"negative; expected {self.expected}")
        return value


LEAST_FITTED = -2.0
"""Callers fit slightly negative copy numbers to some short, noisy segments; smaller values are faults."""
REAL_COPIES = Fitted(
    LEAST_FITTED,
    values.LARGEST_COPY_NUMBER,
    f"a copy number (at least 0, or a fit a little below, and at most {values.LARGEST_COPY_NUMBER})",
)
NORMAL_COPIES = values.Whole(
    0, values.LARGEST_COPY_NUMBER, "the copy number of normal cells: a whole number, 0 or more"
)
MOST_OF_ALL = 1.05
"""Some fitted shares are slightly above 1; values up to this are taken as 1."""
ROUNDING = 1e-6
SHARE_OF_CELLS = values.Real(
    -ROUNDING, MOST_OF_ALL + ROUNDING, f"a share of cells: 0 to 1 (up to {MOST_OF_ALL} is taken as 1)"
)
ALLELE_FREQUENCY = values.Real(
    0.0, 2.0, "the frequency of the major allele: 0.5 to 1, or 0 where it is not known"
)


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """Reduce a column name to lower-case letters and digits, so that different tools' spellings compare equal."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def style(expected: str, known: Collection[str]) -> Style:
    """Return the style in which callers write tables; columns with the given plain names are wanted."""
    return Style(expected, lambda name: plain(name) in known, is_loose=True)


@dataclass(frozen=True)
class SegmentCells(Table):
    """The columns of a file of segments as numbers, -1 or NaN where a cell is empty or the column is missing."""

    changes: list[tuple[int, str]] = field(default_factory=list)
    """Places of rows in which something was changed, and what."""

    def copies(self, part: str) -> NDArray[np.int64]:
        """Return (R,) whole copy numbers."""
        return self.numbers(part, values.COPIES, np.int64)

    def real_copies(self, part: str) -> NDArray[np.float64]:
        """Return (R,) copy numbers without rounding."""
        return self.numbers(part, REAL_COPIES, np.float64)

    def share(self, part: str, otherwise: float = np.nan) -> NDArray[np.float64]:
        """Return (R,) shares of cells, and ``otherwise`` in place of NaN."""
        shares = self.numbers(part, SHARE_OF_CELLS, np.float64)
        for row in np.flatnonzero(shares > 1 + ROUNDING).tolist():
            self.changes.append((row, f"{self.said(part, row)} of the segment is above 1, and taken as 1"))
        return np.nan_to_num(np.clip(shares, 0.0, 1.0), nan=otherwise)

    def said(self, part: str, row: int) -> str:
        """Return the name of a part's column and the text of a row in it."""
        return f"{self.columns[part].name} {self.columns[part].text_of(row)}"

    def numbers(
        self, part: str, read: Callable[[str], Any], dtype: type, shape: tuple[int, ...] = ()
    ) -> NDArray:
        """Return (R, *shape) numbers, to which ``read`` converts the texts."""
        nothing = UNKNOWN if dtype is np.int64 else np.nan
        return self.read(part, read, dtype, nothing, may_miss=True, shape=shape)


def pair_of_copies(text: str) -> tuple[int, int]:
    """Read the copies of two alleles written ``A|B``."""
    pair = text.split("|")
    if len(pair) != 2:
        raise ValueError("no pair of copy numbers; expected the copies of the two alleles, such as 2|1")
    return values.COPIES(pair[0].strip()), values.COPIES(pair[1].strip())
