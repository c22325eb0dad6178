"""A cache of the likelihood's tables in different settings."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from pyclone_pgsm.likelihoods.pyclone import PyClone
from pyclone_pgsm.tumour.grid import XiGrid

CACHED_BYTES = 400 << 20
"""Size of xi and likelihood, in use or not, that one :class:`TableCache` keeps."""

Key = TypeVar("Key")
Tables = TypeVar("Tables", bound=XiGrid | PyClone)


class TableCache(Generic[Key, Tables]):
    """Computes tables when first requested and keeps the latest, as many as fit in :data:`CACHED_BYTES` or `least`.

    Threads compute different tables at the same time; if several request the same tables, one computes them.
    """

    def __init__(self, make: Callable[[Key], Tables], least: int) -> None:
        self._make = make
        self._least = least
        self._lock = threading.Lock()
        self._cached: OrderedDict[Key, Future[Tables]] = OrderedDict()

    def __call__(self, key: Key) -> Tables:
        with self._lock:
            is_new = key not in self._cached
            if is_new:
                self._cached[key] = Future()
            tables = self._cached[key]
            self._cached.move_to_end(key)
        if is_new:
            try:
                tables.set_result(self._make(key))
            except BaseException as problem:
                tables.set_exception(problem)
                with self._lock:
                    self._cached.pop(key, None)
                raise
            most = max(self._least, CACHED_BYTES // max(1, 2 * tables.result().xi.nbytes))
            with self._lock:
                while len(self._cached) > most:
                    self._cached.popitem(last=False)
        return tables.result()

    def clear(self) -> None:
        with self._lock:
            self._cached.clear()
