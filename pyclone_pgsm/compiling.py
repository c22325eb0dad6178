"""Compilation of the kernels, and where the machine code is kept between runs.

Only *entry* functions, the ones Python calls, are cached on disk; inner functions are plain ``numba.njit`` and end up
inside the entry's machine code. Plain ``cache=True`` has two traps when a likelihood comes from elsewhere: an index
shared with a plugin crashes processes that lack it (numba issue 6018), and editing the plugin keeps hitting the old
machine code (numba issue 1833). Here every likelihood class has its own directory, whose name carries a digest of
this package's kernels and of the file that defines the class, so neither can happen.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import config

KERNELS = (
    "compiling.py",
    "likelihoods/*.py",
    "posterior/kernels.py",
    "posterior/prevalence.py",
    "samplers/*.py",
    "tumour/kernels.py",
)
PACKAGE = Path(__file__).parent


@cache
def cache_directory() -> Path | None:
    """Folder for machine code, or None (said once on stderr) when it cannot be written.

    ``PYCLONE_PGSM_CACHE_DIR`` if set, else the user's cache folder.
    """
    chosen = os.environ.get("PYCLONE_PGSM_CACHE_DIR")
    if chosen:
        directory = Path(chosen)
    else:
        from platformdirs import user_cache_path

        directory = user_cache_path("pyclone-pgsm", appauthor=False)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe = directory / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as problem:
        print(
            f"pyclone-pgsm: compiled code cannot be kept in {directory} ({problem.strerror}): "
            "every start compiles anew; PYCLONE_PGSM_CACHE_DIR names another folder",
            file=sys.stderr,
        )
        return None
    return directory


@cache
def _package_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(path for pattern in KERNELS for path in PACKAGE.glob(pattern)):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _kernels_folder() -> str:
    return f"kernels-{_package_digest()[:16]}"


def is_cold() -> bool:
    """Whether nothing has been compiled yet, and what will be can be kept."""
    directory = cache_directory()
    if directory is None or config.DISABLE_JIT:
        return False
    return next((directory / _kernels_folder()).rglob("*.nbi"), None) is None


def _jit(function: Callable[..., Any], folder: str) -> Callable[..., Any]:
    directory = cache_directory()
    if directory is None or config.DISABLE_JIT:
        return numba.njit(nogil=True)(function)
    before = config.CACHE_DIR
    config.CACHE_DIR = str(directory / folder)
    try:
        return numba.njit(nogil=True, cache=True)(function)
    finally:
        config.CACHE_DIR = before


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile an entry function that takes no likelihood; its machine code is kept on disk."""
    return _jit(function, _kernels_folder())


_lock = threading.RLock()
_compiled: dict[tuple[Callable[..., Any], Any], Callable[..., Any]] = {}


def compiled_for(function: Callable[..., Any], likelihood: Any) -> Callable[..., Any]:
    """Compile an entry function for one likelihood class.

    Parameters
    ----------
    function : callable
        Plain Python whose first argument is an instance of `likelihood`.
    likelihood : type
        A likelihood class (see :mod:`pyclone_pgsm.likelihoods.contract`).

    Returns
    -------
    callable
        The compiled function, the same object at every call.
    """
    with _lock:  # chains in several threads ask at the same time
        if (function, likelihood) not in _compiled:
            source = Path(inspect.getfile(likelihood)).read_bytes()
            digest = hashlib.sha256(_package_digest().encode() + source).hexdigest()
            name = f"{likelihood.__module__}.{likelihood.__qualname__}".replace("<", "").replace(">", "")
            _compiled[function, likelihood] = _jit(function, f"{name}-{digest[:16]}")
        return _compiled[function, likelihood]
