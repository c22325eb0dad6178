"""Machine code on disk: verified before use, compiled by one process at a time, in a folder that the user owns.

numba stores an index (``.nbi``) for each function and a data file (``.nbc``) for each of its signatures, and does not
verify them: an emptied index makes every later start fail, and a flipped bit of machine code crashes the process or
gives wrong results. Here each file ends with a digest, and a file that does not match its digest is deleted and
compiled again. Two processes that write one index at the same time could mix up their data files, and would do the same
work. Here a lock lets one of them compile while the others wait; the system releases it if that process dies.
"""

import fcntl
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

DIGEST_BYTES = hashlib.sha256().digest_size
UNSAID_SECONDS = 1.0  # shorter waiting is not reported
own_processes: set[int] = {os.getpid()}
"""Processes that belong to this command: waiting for them is not reported."""


@cache
def say_once(message: str) -> None:
    """Print a line on stderr, unless it was printed before."""
    print(f"pyclone-pgsm: {message}", file=sys.stderr)


def distrusted(folder: Path) -> bool:
    """Whether machine code in a folder must not be run, which is reported once on stderr.

    Anyone who can write there can make this user run anything: only the user may own the folder and write there.
    """
    found = folder.stat()
    if found.st_uid != os.geteuid():
        reason = "it belongs to another user"
    elif found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        reason = "others can write there"
    else:
        return False
    say_once(
        f"compiled code in {folder} is not used, because {reason}: every start compiles again; "
        "set PYCLONE_PGSM_CACHE_DIR to use another folder"
    )
    return True


class _CheckedFiles(IndexDataCacheFile):
    """numba's files, each followed by the digest of its content, which unpickling ignores."""

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
                raise ValueError(f"{path} does not match its digest")

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
        """Return the code for a signature; None if there is none, or if it is damaged."""
        try:
            return super().load_overload(signature, target_context)
        except Exception:
            for path in self._path.parent.glob(f"{self._path.name}.*nb[ci]"):
                path.unlink(missing_ok=True)
            say_once(f"damaged compiled code in {self._path.parent} was deleted and is compiled again")
            return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Store code; if that fails, it is compiled again at the next start."""
        try:
            super().save_overload(signature, code)
        except OSError as problem:
            say_once(f"compiled code cannot be kept in {self._path.parent} ({problem.strerror})")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Prevent other processes and threads from compiling this function meanwhile."""
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
            say_once(f"waiting for process {holder}, which is compiling or loading the same code")


def take_lock(path: Path) -> int | str | None:
    """Lock a file for as long as the descriptor, which is returned, is open, or until the process dies.

    The result is "held" if another process has the lock, and None if files cannot be locked there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        return descriptor
    except OSError as problem:
        os.close(descriptor)
        return "held" if isinstance(problem, BlockingIOError) else None


def cache_code(dispatcher: Any, folder: Path) -> None:
    """Make numba cache in a folder what it compiles of a function, given the function's dispatcher."""
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
