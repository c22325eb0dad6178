"""The segments that hold a position, against looking at every segment for every position."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyclone_pgsm.inputs.segments.intervals import NONE, SPAN, holders


def array(values) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def find(
    rows: list[tuple[int, int, int, int]], groups: list[int], positions: list[int]
) -> tuple[list[int], list[int]]:
    """Segments of the positions of groups; rows are group, start, end and content."""
    group, start, end, content = (array([row[place] for row in rows]) for place in range(4))
    at = array(groups) * SPAN + array(positions)
    held, rival = holders(group * SPAN + start, group * SPAN + end, content, at)
    return held.tolist(), rival.tolist()


segment = st.tuples(st.integers(0, 2), st.integers(1, 30), st.integers(0, 12), st.integers(0, 2)).map(
    lambda drawn: (drawn[0], drawn[1], drawn[1] + drawn[2], drawn[3])
)


@settings(max_examples=300, deadline=None)
@given(rows=st.lists(segment, max_size=12))
def test_like_looking_at_all(rows: list[tuple[int, int, int, int]]) -> None:
    groups, positions = (grid.ravel().tolist() for grid in np.meshgrid(np.arange(4), np.arange(45)))
    for held, rival, each, position in zip(*find(rows, groups, positions), groups, positions):
        holding = [place for place, row in enumerate(rows) if row[0] == each and row[1] <= position <= row[2]]
        if not holding:
            assert (held, rival) == (NONE, NONE)
            continue
        assert held in holding
        if len({rows[place][3] for place in holding}) == 1:
            assert rival == NONE
        else:
            assert rival in holding
            assert rows[rival][3] != rows[held][3]
            assert (rows[held][1], held) < (rows[rival][1], rival)


def test_no_segments() -> None:
    assert find([], [0, 1], [5, 6]) == ([NONE, NONE], [NONE, NONE])


def test_ends_are_inclusive() -> None:
    rows = [(0, 10, 20, 0), (0, 21, 30, 1), (1, 15, 15, 2)]
    held, _ = find(rows, [0, 0, 0, 0, 0, 0, 1, 1, 1], [9, 10, 20, 21, 30, 31, 14, 15, 16])
    assert held == [-1, 0, 0, 1, 1, -1, -1, 2, -1]


def test_large_positions() -> None:
    last = 2**31 - 1
    rows = [(0, 0, last, 0), (70_000, 0, last, 1)]
    assert find(rows, [0, 70_000, 1, 69_999], [last, last, 0, last])[0] == [0, 1, NONE, NONE]


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
    _, rival = holders(start, end, place, start[-1:])
    assert time.thread_time() - begin < 5
    assert (rival != NONE).all()
