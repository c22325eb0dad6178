"""Finds the segment of each position and mutation, for all at once.

The segments of one sample and chromosome are cut into pieces that do not overlap. Where overlapping segments agree, the
piece names one of them; where they do not, it names two that contradict each other. Positions are then found by binary
search over the pieces of all samples and chromosomes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.inputs.segments.model import STATES, Segments

NONE = -1
"""No segment, or no contradicting segment."""

_SPAN = 2**32
"""Larger than any position."""


@dataclass(frozen=True)
class Pieces:
    """P pieces, ordered by group and start and disjoint within a group; all arrays are (P,), ends are inclusive."""

    group: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    segment: NDArray[np.int64]
    """The segment that covers the piece."""
    rival: NDArray[np.int64]
    """Another segment that covers the piece and contradicts the first; -1 if there is none."""

    def find(self, group: NDArray[np.int64], position: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (N,) the index of the piece that contains each position of a group; -1 if there is none."""
        if not len(self.start):
            return np.full(len(position), NONE)
        place = np.searchsorted(self.group * _SPAN + self.start, group * _SPAN + position, side="right") - 1
        at = np.maximum(place, 0)
        inside = (place >= 0) & (self.group[at] == group) & (position <= self.end[at])
        return np.where(inside, at, NONE)


def pieces_of(
    group: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64], content: NDArray[np.int64]
) -> Pieces:
    """Cut N segments into pieces.

    ``group`` numbers samples and chromosomes from 0; ``start`` and ``end`` are inclusive and below 2³²; ``content`` is
    the same number for segments that agree.
    """
    order = np.lexsort((start, group))
    group, start, end = group[order], start[order], end[order]
    last = np.maximum.accumulate(group * _SPAN + end)
    overlaps = np.zeros(len(order), dtype=bool)
    overlaps[1:] = group[1:] * _SPAN + start[1:] <= last[:-1]
    tangled = np.isin(group, np.unique(group[overlaps]))
    parts = [np.stack([group, start, end, order, np.full(len(order), NONE)], axis=1)[~tangled]]
    for each in np.unique(group[tangled]).tolist():
        within = np.flatnonzero(group == each)
        parts.append(_cut(each, start[within], end[within], order[within], content[order[within]]))
    table = np.concatenate(parts)
    return Pieces(*table[np.lexsort((table[:, 1], table[:, 0]))].T)


def _cut(
    group: int,
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    segment: NDArray[np.int64],
    content: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return (P, 5) group, first and last position, segment and rival of the pieces of one group.

    Sweeps along the positions at which segments begin or have ended; the open segments are grouped by content.
    """
    opening = np.argsort(start, kind="stable").tolist()
    closing = np.argsort(end, kind="stable").tolist()
    starts, ends, contents, names = start.tolist(), end.tolist(), content.tolist(), segment.tolist()
    open_now: dict[int, dict[int, None]] = {}
    opened = closed = 0
    pieces = []
    for here, following in itertools.pairwise(np.unique(np.concatenate([start, end + 1])).tolist()):
        while closed < len(closing) and ends[closing[closed]] < here:
            row = closing[closed]
            same = open_now[contents[row]]
            del same[names[row]]
            if not same:
                del open_now[contents[row]]
            closed += 1
        while opened < len(opening) and starts[opening[opened]] == here:
            row = opening[opened]
            open_now.setdefault(contents[row], {})[names[row]] = None
            opened += 1
        if open_now:
            holders = [next(iter(same)) for same in itertools.islice(open_now.values(), 2)]
            pieces.append((group, here, following - 1, holders[0], holders[1] if len(holders) > 1 else NONE))
    return np.array(pieces, dtype=np.int64)


SAYS = [*STATES, "normal_cn", "of_all_cells"]
"""Segments that differ in one of these columns contradict each other."""


@dataclass(frozen=True)
class Found:
    """N mutations in D samples, all segments, and the segment of each mutation."""

    given: pd.DataFrame
    segments: pd.DataFrame
    samples: list[str]
    has_segments: NDArray[np.bool_]
    """(D,) whether each sample has segments."""
    sample: NDArray[np.int64]
    """(N,) index of each mutation's sample."""
    segment: NDArray[np.int64]
    """(N,) row of the segment that contains each mutation; -1 if there is none."""
    rival: NDArray[np.int64]
    """(N,) row of another segment that contains it but contradicts the first; -1 if there is none."""

    @classmethod
    def of(cls, given: pd.DataFrame, segments: Segments, rows: Mapping[str, NDArray[np.int64]]) -> Found:
        """Find the segments of all mutations; ``rows`` are the segments of each sample."""
        table, samples = segments.table, list(rows)
        sample = _codes(given["sample_id"], samples)
        chroms = list(dict.fromkeys([*table["chrom"].cat.categories, *given["chrom"].cat.categories]))
        used = np.concatenate(list(rows.values()))
        sizes = np.array([len(of) for of in rows.values()])
        pieces = pieces_of(
            np.repeat(np.arange(len(samples)), sizes) * len(chroms) + _codes(table["chrom"], chroms)[used],
            table["start"].to_numpy()[used],
            table["end"].to_numpy()[used],
            table.groupby(SAYS, dropna=False, sort=False).ngroup().to_numpy().astype(np.int64)[used],
        )
        at = pieces.find(sample * len(chroms) + _codes(given["chrom"], chroms), given["pos"].to_numpy())
        used = np.append(used, NONE)  # so that index -1 gives -1
        holder, rival = (np.append(of, NONE)[at] for of in (pieces.segment, pieces.rival))
        return cls(given, table, samples, sizes > 0, sample, used[holder], used[rival])

    def take(self, name: str, otherwise: float = NONE) -> NDArray:
        """Return (N,) values of a column of the segments, ``otherwise`` where there is no segment."""
        column = self.segments[name].to_numpy()
        return np.where(self.segment == NONE, otherwise, column[self.segment] if len(column) else otherwise)

    def where(self, segment: int) -> str:
        """Return a segment's file and row for messages."""
        return f"row {self.segments['row'].iat[segment]} of {self.segments['file'].iat[segment]}"


def _codes(column: pd.Series, names: list[str]) -> NDArray[np.int64]:
    """Return the index of each text of a categorical column in ``names``; -1 if it is not there."""
    return pd.Index(names).get_indexer(column.cat.categories)[column.cat.codes.to_numpy()]
