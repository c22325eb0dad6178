"""One writer at a time: a lock that lasts as long as the process that holds it.

Beside ``trace.h5`` stands ``.trace.h5.lock`` while a process writes it. The lock is the operating system's (``flock``;
on NFS, Linux makes a lock of the server of it, so that other machines see it, too), which ends with the process however
that ends. The file says who holds the lock. Where the file system knows no locks, what the file says decides: a process
of this machine that has ended holds nothing; one of another machine is believed to live.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyclone_pgsm.errors import OutputError
from pyclone_pgsm.files import NO_SPACE

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

ATTEMPTS = 100  # to open a lock file that others remove at the same time

_held: dict[str, int] = {}  # the thread that holds the lock of each path
_guard = threading.Lock()


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Hold the lock of a file that is about to be written, and need not exist. Within a thread it may be taken again.

    Raises
    ------
    OutputError
        Another process, or another thread of this one, holds the lock; or the lock file cannot be made.
    """
    real = os.path.realpath(path)
    me = threading.get_ident()
    with _guard:
        holder = _held.get(real)
        if holder is None:
            _held[real] = me
    if holder == me:
        yield
        return
    if holder is not None:
        raise OutputError(f"{path}: is being written by another thread of this process: wait for its end")
    try:
        lock = Path(real).with_name(f".{Path(real).name}.lock")
        file = _take(path, lock)
        try:
            yield
        finally:
            with suppress(OSError):
                lock.unlink()
            os.close(file)
    finally:
        with _guard:
            del _held[real]


def _take(path: Path, lock: Path) -> int:
    """The open lock file, locked, with this process as its holder."""
    for _ in range(ATTEMPTS):
        try:
            file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except OSError as problem:
            raise _refused(path, lock, problem) from problem
        is_free = False
        try:
            is_free = _try_lock(file, lock)
            if not is_free:
                raise OutputError(
                    f"{path}: is being written by {_described(lock)}: wait for its end, or stop it"
                )
            if _is_at(file, lock):
                os.ftruncate(file, 0)
                os.write(file, json.dumps(_myself()).encode())
                return file
        except OSError as problem:
            if is_free:
                with suppress(OSError):
                    lock.unlink()
            os.close(file)
            raise _refused(path, lock, problem) from problem
        except BaseException:
            os.close(file)
            raise
        os.close(file)
    raise OutputError(
        f"{path}: cannot be written: {lock} is made and removed by other processes all the time"
    )


def _refused(path: Path, lock: Path, problem: OSError) -> OutputError:
    reason = problem.strerror
    if problem.errno in NO_SPACE:
        return OutputError(f"{path}: cannot be written: no space left on {path.parent} ({reason})")
    return OutputError(f"{path}: cannot be written: {lock.name}: {reason}")


def _try_lock(file: int, lock: Path) -> bool:
    """Whether the lock is ours now."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as problem:
            if problem.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            if problem.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
                raise
    return not _lives(_holder(lock))


def _is_at(file: int, lock: Path) -> bool:
    """Whether the open file still has its name: its last holder may have removed it before we locked it."""
    try:
        return os.path.samestat(os.stat(lock), os.fstat(file))
    except FileNotFoundError:
        return False


def _myself() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "process_started": _start_of(os.getpid()),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def _start_of(pid: int) -> str | None:
    """When a process started, in ticks since the machine did: another process can have the same number later."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def _holder(lock: Path) -> dict[str, Any]:
    """What a lock file says; empty if nothing that can be read."""
    try:
        found = json.loads(lock.read_bytes()[:10_000])
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("pid"), int) else {}


def _lives(holder: dict[str, Any]) -> bool:
    """Whether a holder may still be running."""
    if not holder:
        return False
    if holder.get("host") != socket.gethostname():
        return True
    try:
        os.kill(holder["pid"], 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    started = _start_of(holder["pid"])
    return started is None or started == holder.get("process_started")


def _described(lock: Path) -> str:
    holder = _holder(lock)
    if not holder:
        return f"another process, which holds {lock}"
    host, since = (ascii(holder.get(name))[1:-1] for name in ("host", "since"))
    return f"process {holder['pid']} on {host} since {since}"
