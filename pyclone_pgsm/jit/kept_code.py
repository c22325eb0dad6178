"""Machine code on disk: checked before it is used, compiled by one process at a time, in a folder of the user's own.

numba keeps an index (``.nbi``) and a data file for each signature (``.nbc``) of a function. It believes what it reads
there: an emptied index ends every later start, and a flipped bit of machine code ends the process or computes
something else. Here a digest ends each file; what does not fit its digest is thrown away and compiled anew. Two
processes that write one index at the same time could exchange their data files, and would compile the same: here a
lock, which the system takes from a process that dies, lets one of them compile while the others wait.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

from numba import config
from numba.core.caching import FunctionCache, IndexDataCacheFile

try:
    import fcntl
except ImportError:  # not on this system: processes do not wait for one another
    fcntl = None  # type: ignore[assignment]

DIGEST_BYTES = hashlib.sha256().digest_size
UNSAID_SECONDS = 1.0  # waiting for shorter is not worth a line
own_processes: set[int] = {os.getpid()}
"""Processes that belong to this command: waiting for them is no news."""


@cache
def say_once(message: str) -> None:
    """Print a line on stderr, the first time."""
    print(f"pyclone-pgsm: {message}", file=sys.stderr)


def distrusted(folder: Path) -> bool:
    """Whether machine code in a folder is not to be run, which is said once on stderr.

    Who can write there can let this user run anything: the folder must be the user's own, and nobody else may write.
    """
    if os.name != "posix":
        return False
    found = folder.stat()
    if found.st_uid != os.geteuid():
        reason = "it belongs to another user"
    elif found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        reason = "others can write there"
    else:
        return False
    say_once(
        f"compiled code in {folder} is not used, because {reason}: every start compiles anew; "
        "PYCLONE_PGSM_CACHE_DIR names another folder"
    )
    return True


class DamagedCode(Exception):
    """A file of the cache is not as it was written."""


class _CheckedFiles(IndexDataCacheFile):
    """numba's files, each with the digest of its content at its end, which unpickling does not reach."""

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[IO[bytes]]:
        with super()._open_for_write(filepath) as file:
            content = io.BytesIO()
            yield content
            file.write(content.getvalue() + hashlib.sha256(content.getvalue()).digest())

    def _check(self, path: str) -> None:
        with suppress(FileNotFoundError):
            content = Path(path).read_bytes()
            if hashlib.sha256(content[:-DIGEST_BYTES]).digest() != content[-DIGEST_BYTES:]:
                raise DamagedCode(path)

    def _load_index(self) -> Any:
        self._check(self._index_path)
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        self._check(self._data_path(name))
        return super()._load_data(name)


class KeptCode(FunctionCache):
    """The machine code of one function on disk."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file: Any = _CheckedFiles(self._cache_path, self._impl.filename_base, stamp)
        self._path = Path(self._cache_path) / self._impl.filename_base
        self._thread = threading.RLock()
        self._depth = 0

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The code for a signature; None if there is none, or none that can be used."""
        try:
            return super().load_overload(signature, target_context)
        except Exception:
            for path in self._path.parent.glob(f"{self._path.name}.*nb[ci]"):
                path.unlink(missing_ok=True)
            say_once(f"damaged code in {self._path.parent} was thrown away; it is compiled anew")
            return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep code; where it cannot be, it is compiled again at the next start."""
        try:
            super().save_overload(signature, code)
        except OSError as problem:
            say_once(f"compiled code cannot be kept in {self._path.parent} ({problem.strerror})")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let no other process or thread compile this function meanwhile."""
        with self._thread:
            self._depth += 1
            lock = self._lock() if self._depth == 1 else None
            try:
                yield
            finally:
                self._depth -= 1
                if lock is not None:
                    os.close(lock)

    def _lock(self) -> int | None:
        started = time.monotonic()
        path = self._path.with_name(f"{self._path.name}.lock")
        while (lock := take_lock(path)) == "held":
            if time.monotonic() - started > UNSAID_SECONDS:
                _say_waiting(path)
            time.sleep(0.05)
        return lock if isinstance(lock, int) else None


def _say_waiting(lock: Path) -> None:
    with suppress(OSError, ValueError):
        holder = int(lock.read_text())
        if holder not in own_processes:
            say_once(f"waiting for process {holder}, which compiles what this one needs too")


def take_lock(path: Path) -> int | str | None:
    """Lock a file, if no other process has, for as long as the descriptor is open; a process that dies lets go of it.

    Returns
    -------
    int, "held" or None
        The descriptor; that another process has the lock; or that nothing can be locked there.
    """
    if fcntl is None:
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    except BlockingIOError:
        os.close(descriptor)
        return "held"
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def keep_code(dispatcher: Any, folder: Path) -> None:
    """Let numba keep in a folder what it compiles of a function.

    Parameters
    ----------
    dispatcher
        The function's dispatcher.
    folder : Path
    """
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        kept = KeptCode(dispatcher.py_func)
    finally:
        config.CACHE_DIR = before
    dispatcher._cache = kept
    compile_now = dispatcher.compile

    def compile_alone(signature: Any) -> Any:
        with kept.alone():
            return compile_now(signature)

    dispatcher.compile = compile_alone
