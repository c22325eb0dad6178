"""A second process that compiles ahead: ``python -m pyclone_pgsm.analyses.precompile LIKELIHOOD``.

numba compiles on one processor. At the first start with a likelihood a second process compiles, into the same folder,
what the program needs late (the particle Gibbs move and the summary), while the program compiles what it needs first. A
function that the other process is compiling is waited for (:mod:`pyclone_pgsm.jit.code_cache`), because compiling the
same would take longer.
"""

import os
import subprocess
import sys

_started: dict[type, subprocess.Popen[bytes]] = {}  # by likelihood class


def start_precompiling(likelihood: type, module: str, name: str) -> None:
    """Start the second process if nothing has been compiled yet and no other program has started one.

    Parameters
    ----------
    likelihood : type
        The class.
    module : str
        The program of the second process, which takes the name of a likelihood.
    name : str
        The likelihood's name for :func:`~pyclone_pgsm.likelihoods.registry.find_likelihood`.
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
    try:
        _started[likelihood] = subprocess.Popen(
            [sys.executable, "-m", module, name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[lock],  # the second process keeps the lock until it ends, even if this one ends earlier
        )
    except OSError:  # no more processes are allowed: this one compiles everything
        return
    finally:
        os.close(lock)
    own_processes.add(_started[likelihood].pid)


def stop_precompiling() -> None:
    """Stop the second process, because the program has nothing to do."""
    for process in _started.values():
        process.terminate()
