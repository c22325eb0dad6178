"""A second process that compiles ahead: ``python -m pyclone_pgsm.analyses.precompile LIKELIHOOD``.

numba compiles on one processor. At the first start with a likelihood a second process compiles, into the same folder,
what the program needs late (split-merge moves, the summary), while the program compiles what it needs first. If the
program needs a function that the second process is compiling, it waits, because compiling the same would take longer;
meanwhile it compiles what the second process would compile last.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

_started: dict[type, subprocess.Popen[bytes]] = {}  # by likelihood class
_meanwhile: dict[type, Iterator[None]] = {}  # likewise: each step compiles a function
_awaited: set[tuple[Callable[..., Any], type]] = set()


def start_precompiling(likelihood: type, module: str, name: str, meanwhile: Iterator[None]) -> None:
    """Start the second process if nothing has been compiled yet and no other program has started one.

    Parameters
    ----------
    likelihood : type
        The class.
    module : str
        The program of the second process, which takes the name of a likelihood.
    name : str
        The likelihood's name for :func:`~pyclone_pgsm.likelihoods.registry.find_likelihood`.
    meanwhile : iterator of None
        Each step compiles a function, while the program would wait for the second process.
    """
    from pyclone_pgsm.jit.code_cache import own_processes
    from pyclone_pgsm.jit.compiling import is_cold, precompiling_lock

    if likelihood in _started or not is_cold(likelihood):
        return
    for process in _started.values():
        process.poll()  # so that the system forgets those that have ended
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
    _meanwhile[likelihood] = meanwhile
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

    process, meanwhile = _started.get(likelihood), _meanwhile.get(likelihood, iter(()))
    nothing_left = object()
    while process is not None and process.poll() is None and not is_cached(function, likelihood):
        if next(meanwhile, nothing_left) is nothing_left:
            time.sleep(0.05)
    _awaited.add((function, likelihood))
