"""Which segment each mutation lies in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.inputs.segments.intervals import NONE, pieces_of
from pyclone_pgsm.inputs.segments.model import Segments

SAYS = [
    "major_cn", "minor_cn", "normal_cn", "fraction", "subclonal_major_cn", "subclonal_minor_cn",
    "subclonal_fraction", "other_fraction", "of_all_cells", "num_states",
]  # fmt: skip
"""Columns of segments that contradict each other if they differ."""


@dataclass(frozen=True)
class Found:
    """The segment of each of N mutations.

    Attributes
    ----------
    given, segments : DataFrame
        The mutations and the segments.
    samples : list of str
        The samples of the mutations.
    has_segments : (D,) bool
        Whether there are any segments of each sample.
    sample : (N,) int64
        Place of each mutation's sample among them.
    segment, rival : (N,) int64
        Row of the segment that holds it, and of one that contradicts; -1 if there is none.
    """

    given: pd.DataFrame
    segments: pd.DataFrame
    samples: list[str]
    has_segments: NDArray[np.bool_]
    sample: NDArray[np.int64]
    segment: NDArray[np.int64]
    rival: NDArray[np.int64]

    @classmethod
    def of(cls, given: pd.DataFrame, segments: Segments, rows: Mapping[str, NDArray[np.int64]]) -> Found:
        """Look all mutations up; ``rows`` are the segments of each sample."""
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
        used = np.append(used, NONE)  # so that the place -1 stays -1
        holder, rival = (np.append(of, NONE)[at] for of in (pieces.segment, pieces.rival))
        return cls(given, table, samples, sizes > 0, sample, used[holder], used[rival])

    def take(self, name: str, otherwise: float = NONE) -> NDArray:
        """(N,) values of a column of the segments, where there is a segment."""
        column = self.segments[name].to_numpy()
        return np.where(self.segment == NONE, otherwise, column[self.segment] if len(column) else otherwise)

    def where(self, segment: int) -> str:
        """A segment as messages name it."""
        return f"row {self.segments['row'].iat[segment]} of {self.segments['file'].iat[segment]}"


def _codes(column: pd.Series, names: list[str]) -> NDArray[np.int64]:
    """Place of each text of a categorical column among some names; -1 where it is none of them."""
    return pd.Index(names).get_indexer(column.cat.categories)[column.cat.codes.to_numpy()]
