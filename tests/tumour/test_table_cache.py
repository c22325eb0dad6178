"""Tables that are kept, and threads that ask for the same at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest

from pyclone_pgsm.tumour.table_cache import CACHED_BYTES, TableCache, sets_that_fit


class Made(NamedTuple):
    """Stands for tables."""

    key: int
    xi: np.ndarray = np.zeros((1, 2))


def in_threads(ask: Callable[[int], Made], keys: list[int]) -> list[Made]:
    with ThreadPoolExecutor(len(keys)) as pool:
        return [future.result(timeout=60) for future in [pool.submit(ask, key) for key in keys]]


def test_threads_make_different_tables_at_the_same_time() -> None:
    """Or chains on tables that take a while would wait for each other."""
    meeting = threading.Barrier(2)

    def make(key: int) -> Made:
        meeting.wait(timeout=30)
        return Made(key)

    assert [made.key for made in in_threads(TableCache(make, 3), [4, 5])] == [4, 5]


def test_threads_wait_for_one_that_makes_the_tables_they_want() -> None:
    calls = []

    def make(key: int) -> Made:
        calls.append(key)
        time.sleep(0.1)
        return Made(key)

    made = in_threads(TableCache(make, 3), [7, 7, 7, 7])
    assert calls == [7]
    assert all(each is made[0] for each in made)


def test_tables_that_cannot_be_made_are_tried_again() -> None:
    problems = [MemoryError("no room")]

    def make(key: int) -> Made:
        if problems:
            raise problems.pop()
        return Made(key)

    latest = TableCache(make, 3)
    with pytest.raises(MemoryError, match="no room"):
        latest(1)
    assert latest(1).key == 1


def test_the_latest_tables_are_kept() -> None:
    calls = []

    def make(key: int) -> Made:
        calls.append(key)
        return Made(key)

    latest = TableCache(make, 2)
    for key in (1, 2, 1, 3, 1, 2):
        latest(key)
    assert calls == [1, 2, 3, 2]


def test_how_many_are_kept() -> None:
    """At least so many, although there would be no memory for them."""
    assert sets_that_fit(CACHED_BYTES // 5, 2) == 5
    assert sets_that_fit(CACHED_BYTES, 3) == 3
    assert sets_that_fit(0, 3) == CACHED_BYTES


def test_all_are_kept_without_a_limit() -> None:
    calls = []

    def make(key: int) -> Made:
        calls.append(key)
        return Made(key)

    every = TableCache(make, None)
    for key in [*range(500)] * 2:
        every(key)
    assert len(calls) == 500
    every.clear()
    every(7)
    assert len(calls) == 501
