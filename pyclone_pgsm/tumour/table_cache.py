"""A cache of the likelihood's tables in different settings."""

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeVar

CACHED_BYTES = 400 << 20
"""Size of the tables, in use or not, for which there is room in one :class:`TableCache`."""

Key = TypeVar("Key")
Tables = TypeVar("Tables")


def sets_that_fit(size: int, least: int) -> int:
    """Return how many sets of tables of this size in bytes fit in :data:`CACHED_BYTES`, but no fewer than `least`."""
    return max(least, CACHED_BYTES // max(1, size))


class TableCache(Generic[Key, Tables]):
    """Computes tables when first requested and keeps the latest, `most` sets of them; all if `most` is None.

    Threads compute different tables at the same time; if several request the same tables, one computes them.
    """

    def __init__(self, make: Callable[[Key], Tables], most: int | None) -> None:
        self._make = make
        self._lock = threading.Lock()
        # of each key, a lock that is held while the tables are computed, and a list for them
        self._places = lru_cache(most)(lambda key: (threading.Lock(), list[Tables]()))

    def __call__(self, key: Key) -> Tables:
        with self._lock:
            lock, tables = self._places(key)
        with lock:
            if not tables:
                tables.append(self._make(key))
            return tables[0]

    def clear(self) -> None:
        self._places.cache_clear()
