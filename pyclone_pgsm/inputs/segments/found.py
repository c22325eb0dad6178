"""Which segment each mutation lies in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.inputs.segments.intervals import NONE, Pieces, pieces_of
from pyclone_pgsm.inputs.segments.model import Segments


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
        table = segments.table
        samples = list(rows)
        place = {name: code for code, name in enumerate(samples)}
        categories = given["sample_id"].cat.categories
        sample = np.array([place.get(str(name), NONE) for name in categories], dtype=np.int64)[
            given["sample_id"].cat.codes.to_numpy()
        ]
        chroms = list(dict.fromkeys([*table["chrom"].cat.categories, *given["chrom"].cat.categories]))
        used = np.concatenate(list(rows.values()))
        sample_of_segment = np.repeat(np.arange(len(samples)), [len(of) for of in rows.values()])
        pieces = pieces_of(
            sample_of_segment * len(chroms) + _codes(table["chrom"], chroms)[used],
            table["start"].to_numpy()[used],
            table["end"].to_numpy()[used],
            _contents(table)[used],
        )
        at = pieces.find(sample * len(chroms) + _codes(given["chrom"], chroms), given["pos"].to_numpy())
        has_segments = np.array([len(of) > 0 for of in rows.values()], dtype=bool)
        return cls(given, table, samples, has_segments, sample, *_segments_at(pieces, at, used))

    def take(self, name: str, otherwise: float = NONE) -> NDArray:
        """(N,) values of a column of the segments, where there is a segment."""
        column = self.segments[name].to_numpy()
        return np.where(self.segment == NONE, otherwise, column[self.segment] if len(column) else otherwise)


def _codes(column: pd.Series, names: list[str]) -> NDArray[np.int64]:
    place = {name: code for code, name in enumerate(names)}
    return np.array([place[name] for name in column.cat.categories], dtype=np.int64)[
        column.cat.codes.to_numpy()
    ]


def _contents(table: pd.DataFrame) -> NDArray[np.int64]:
    """A number for what each segment says of its copies."""
    says = [
        "major_cn", "minor_cn", "normal_cn", "fraction", "subclonal_major_cn", "subclonal_minor_cn",
        "subclonal_fraction", "other_fraction", "of_all_cells", "num_states",
    ]  # fmt: skip
    return table.groupby(says, dropna=False, sort=False).ngroup().to_numpy().astype(np.int64)


def _segments_at(
    pieces: Pieces, at: NDArray[np.int64], used: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if not len(pieces.segment):
        return at, at
    segment = np.where(at == NONE, NONE, used[pieces.segment[at]])
    rival = pieces.rival[at]
    return segment, np.where((at == NONE) | (rival == NONE), NONE, used[rival])
