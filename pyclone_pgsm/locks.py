"""Locks that allow one writer at a time, and end with the process that holds them.

While a process writes ``trace.h5``, ``.trace.h5.lock`` exists in the same folder. It is locked by the operating system
(``flock``; on NFS, Linux turns this into a lock on the server, so that other machines see it, too), and the lock ends
with the process, however that ends. The file names the holder of the lock. On file systems without locks, the file
alone decides: a holder on this machine counts if its process is running, one on another machine always counts.
"""

import errno
import fcntl
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from pyclone_pgsm.errors import OutputError
from pyclone_pgsm.files import is_at, told

ATTEMPTS = 100  # to open a lock file that others remove at the same time

_held: dict[str, int] = {}  # the thread that holds the lock of each path


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Hold the lock of a file during the block. The file need not exist, and the same thread may nest such blocks.

    OutputError if another process or thread holds the lock, or the lock file cannot be made.
    """
    real = os.path.realpath(path)
    me = threading.get_ident()
    if _held.get(real) == me:
        yield
        return
    if _held.setdefault(real, me) != me:
        raise OutputError(f"{path}: is being written by another thread of this process: wait for its end")
    try:
        lock = _lock_of(path)
        file = _take(path, lock)
        try:
            yield
        finally:
            with suppress(OSError):
                lock.unlink()
            os.close(file)
    finally:
        del _held[real]


def other_writer(path: Path) -> str | None:
    """Return the process, other than this one, that seems to be writing a file, in words; None if there is none."""
    lock = _lock_of(path)
    holder = _holder(lock)
    is_own = holder.get("host") == socket.gethostname() and holder.get("pid") == os.getpid()
    return None if is_own or not _lives(holder) else _described(lock)


def _lock_of(path: Path) -> Path:
    real = Path(os.path.realpath(path))
    return real.with_name(f".{real.name}.lock")


def _take(path: Path, lock: Path) -> int:
    """Lock the lock file, write this process into it as the holder, and return its descriptor."""
    for _ in range(ATTEMPTS):
        with told(path, f"{lock.name}: "), ExitStack() as undo:
            file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
            undo.callback(os.close, file)
            if not _try_lock(file, lock):
                raise OutputError(
                    f"{path}: is being written by {_described(lock)}: wait for its end, or stop it"
                )
            if is_at(file, lock):
                undo.callback(lock.unlink, missing_ok=True)
                os.ftruncate(file, 0)
                os.write(file, json.dumps(_myself()).encode())
                undo.pop_all()
                return file
    raise OutputError(
        f"{path}: cannot be written: {lock} is made and removed by other processes all the time"
    )


def _try_lock(file: int, lock: Path) -> bool:
    """Try to take the lock, and return whether that succeeded."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError as problem:
        if problem.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        if problem.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
            raise
    return not _lives(_holder(lock))


def _myself() -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "process_started": _start_of(os.getpid()),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def _start_of(pid: int) -> str | None:
    """Return the start time of a process, in ticks since the machine's: process numbers are used again."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def _holder(lock: Path) -> dict[str, Any]:
    """Return the holder that a lock file names; empty if the file cannot be read."""
    try:
        found = json.loads(lock.read_bytes()[:10_000])
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("pid"), int) else {}


def _lives(holder: dict[str, Any]) -> bool:
    """Whether the process of a holder may still be running."""
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
