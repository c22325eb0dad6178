"""A second process that compiles ahead: ``python -m pyclone_pgsm.analyses.precompile LIKELIHOOD``.

numba compiles on one processor. At the first start with a likelihood a second process compiles, into the same folder,
what the program needs late (split-merge moves, the summary), while the program compiles what it needs first. If the
program needs a function that the second process is compiling, it waits, because compiling the same would take longer.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

_started: dict[type, subprocess.Popen[bytes]] = {}  # by likelihood class
_awaited: set[tuple[Callable[..., Any], type]] = set()


def start_precompiling(likelihood: type, module: str, name: str) -> None:
    """Start the second process if nothing has been compiled yet and no other program has started one.

    It runs `module`, which takes the `name` of the likelihood.
    """
    from pyclone_pgsm.jit.code_cache import own_processes
    from pyclone_pgsm.jit.compiling import is_cold, precompiling_lock

    if likelihood in _started or not is_cold(likelihood):
        return
    lock = precompiling_lock(likelihood)
    if lock is None:
        return
    _started[likelihood] = subprocess.Popen(
        [sys.executable, "-m", module, name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[lock],  # the second process keeps the lock until it ends, even if this one ends earlier
    )
    os.close(lock)
    own_processes.add(_started[likelihood].pid)


def stop_precompiling() -> None:
    """Stop the second process, because the program has nothing to do."""
    for process in _started.values():
        process.terminate()


def await_precompiled(function: Callable[..., Any], likelihood: type) -> None:
    """Wait until the second process, if it runs, has compiled an entry function; later calls return at once."""
    if (function, likelihood) in _awaited:
        return
    from pyclone_pgsm.jit.compiling import is_cached

    process = _started.get(likelihood)
    while process is not None and process.poll() is None and not is_cached(function, likelihood):
        time.sleep(0.05)
    _awaited.add((function, likelihood))
