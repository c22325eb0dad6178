"""Finds the segment that holds each mutation, and another one that contradicts it, for all mutations at once.

Of the segments that begin at or before a position, the one that ends last holds the position if any does. The one that
ends last among those of other content contradicts it there if any does. Both are noted for each segment, in the order
of their beginnings, and positions are then found by binary search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.inputs.segments.model import STATES
from pyclone_pgsm.inputs.values import LARGEST_POSITION

NONE = -1
"""No segment, or no contradicting segment."""

SPAN = LARGEST_POSITION + 2
"""Larger than any position, also that of a segment whose file counts from 0: added to the positions of one sample and
chromosome as often as others precede it."""


def holders(
    start: NDArray[np.int64], end: NDArray[np.int64], content: NDArray[np.int64], position: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (N,) the segment that holds each position, and another that contradicts it; -1 where there is none.

    Of the S segments, ``start`` and ``end`` are inclusive, and ``content`` is the same number for those that agree. All
    positions include the multiple of `SPAN` of their sample and chromosome. Of two segments that contradict each other,
    the first is the one that begins first.
    """
    order = np.argsort(start, kind="stable")
    ends, contents = end.tolist(), content.tolist()
    last = other = NONE
    noted = [(NONE, NONE)]
    for row in order.tolist():
        if last == NONE or ends[row] > ends[last]:
            if last != NONE and contents[row] != contents[last]:
                other = last
            last = row
        elif contents[row] != contents[last] and (other == NONE or ends[row] > ends[other]):
            other = row
        noted.append((last, other))
    found = np.array(noted)[np.searchsorted(start[order], position, side="right")]
    found[np.append(end, NONE)[found] < position[:, None]] = NONE
    rank = np.append(np.argsort(order), len(order))  # no segment comes last
    return tuple(np.take_along_axis(found, np.argsort(rank[found], axis=1, kind="stable"), axis=1).T)


_GROUP = ["sample_id", "chrom"]
SAYS = [*STATES, "normal_cn", "of_all_cells"]
"""Segments that differ in one of these columns contradict each other."""


@dataclass(frozen=True)
class Found:
    """N mutations, all segments, and the segment of each mutation."""

    given: pd.DataFrame
    segments: pd.DataFrame
    segment: NDArray[np.int64]
    """(N,) row of the segment that contains each mutation; -1 if there is none."""
    rival: NDArray[np.int64]
    """(N,) row of another segment that contains it but contradicts the first; -1 if there is none."""

    @classmethod
    def of(cls, given: pd.DataFrame, table: pd.DataFrame) -> Found:
        """Find the segments of all mutations, in a `Segments.table`."""
        both = pd.concat([table[_GROUP], given[_GROUP]], ignore_index=True)
        offset = SPAN * both.groupby(_GROUP, observed=True, sort=False).ngroup().to_numpy()
        of_segment, of_mutation = np.split(offset, [len(table)])
        holder, rival = holders(
            of_segment + table["start"].to_numpy(),
            of_segment + table["end"].to_numpy(),
            np.asarray(table.groupby(SAYS, dropna=False, sort=False).ngroup(), dtype=np.int64),
            of_mutation + given["pos"].to_numpy(),
        )
        return cls(given, table, holder, rival)

    def take(self, name: str, otherwise: float = NONE) -> NDArray:
        """Return (N,) values of a column of the segments, ``otherwise`` where there is no segment."""
        column = self.segments[name].to_numpy()
        return np.where(self.segment == NONE, otherwise, column[self.segment] if len(column) else otherwise)

    def where(self, segment: int) -> str:
        """Return a segment's file and row for messages."""
        return f"row {self.segments['row'].iat[segment]} of {self.segments['file'].iat[segment]}"
