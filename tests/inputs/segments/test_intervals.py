"""The pieces of overlapping segments, against looking at every segment for every position."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyclone_pgsm.inputs.segments.intervals import NONE, pieces_of


def array(values) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def columns(rows: list[tuple[int, int, int, int]]) -> tuple[np.ndarray, ...]:
    """Group, start, end and content."""
    return tuple(array([row[place] for row in rows]) for place in range(4))


segment = st.tuples(st.integers(0, 2), st.integers(1, 30), st.integers(0, 12), st.integers(0, 2)).map(
    lambda drawn: (drawn[0], drawn[1], drawn[1] + drawn[2], drawn[3])
)


@settings(max_examples=300, deadline=None)
@given(rows=st.lists(segment, max_size=12))
def test_like_looking_at_all(rows: list[tuple[int, int, int, int]]) -> None:
    group, start, end, content = columns(rows)
    pieces = pieces_of(group, start, end, content)
    groups, positions = (grid.ravel() for grid in np.meshgrid(np.arange(4), np.arange(45)))
    for at, each, position in zip(
        pieces.find(groups, positions).tolist(), groups.tolist(), positions.tolist()
    ):
        holding = [place for place, row in enumerate(rows) if row[0] == each and row[1] <= position <= row[2]]
        if not holding:
            assert at == NONE
            continue
        assert pieces.segment[at] in holding
        rival = pieces.rival[at]
        if len({rows[place][3] for place in holding}) == 1:
            assert rival == NONE
        else:
            assert rival in holding
            assert rows[rival][3] != rows[pieces.segment[at]][3]


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(segment, max_size=12))
def test_pieces_do_not_overlap(rows: list[tuple[int, int, int, int]]) -> None:
    pieces = pieces_of(*columns(rows))
    assert (pieces.start <= pieces.end).all()
    same = pieces.group[1:] == pieces.group[:-1]
    assert (pieces.group[1:] >= pieces.group[:-1]).all()
    assert (pieces.start[1:][same] > pieces.end[:-1][same]).all()


def test_no_segments() -> None:
    assert pieces_of(*columns([])).find(array([0, 1]), array([5, 6])).tolist() == [NONE, NONE]


def test_ends_are_inclusive() -> None:
    pieces = pieces_of(*columns([(0, 10, 20, 0), (0, 21, 30, 1), (1, 15, 15, 2)]))
    at = pieces.find(array([0, 0, 0, 0, 0, 0, 1, 1, 1]), array([9, 10, 20, 21, 30, 31, 14, 15, 16]))
    assert [NONE if place == NONE else int(pieces.segment[place]) for place in at] == [
        -1,
        0,
        0,
        1,
        1,
        -1,
        -1,
        2,
        -1,
    ]


def test_large_positions() -> None:
    last = 2**31 - 1
    pieces = pieces_of(*columns([(0, 0, last, 0), (70_000, 0, last, 1)]))
    assert pieces.segment[pieces.find(array([0, 70_000]), array([last, last]))].tolist() == [0, 1]
    assert pieces.find(array([1, 69_999]), array([0, last])).tolist() == [NONE, NONE]


@pytest.mark.parametrize("shape", ["nested", "staggered", "same"])
def test_many_overlaps_take_no_time(shape: str) -> None:
    """All of 20,000 segments overlap: a look at each pair would take minutes."""
    place = np.arange(20_000)
    start, end = {
        "nested": (place, 100_000 - place),
        "staggered": (place, place + 50_000),
        "same": (place * 0, place * 0 + 9),
    }[shape]
    begin = time.thread_time()
    pieces = pieces_of(place * 0, start, end, place)
    assert time.thread_time() - begin < 5
    assert (pieces.rival[pieces.find(array([0]), array([start[-1]]))] != NONE).all()
