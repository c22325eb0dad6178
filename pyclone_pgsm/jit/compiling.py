"""Compilation of the kernels, and where the machine code is kept between runs.

Only *entry* functions, the ones Python calls, are cached on disk; inner functions (:func:`inner`) end up inside the
entry's machine code. Plain ``cache=True`` has two traps when a likelihood comes from elsewhere: an index
shared with a plugin crashes processes that lack it (numba issue 6018), and editing the plugin keeps hitting the old
machine code (numba issue 1833). Here every likelihood class has its own directory, whose name carries a digest of
this package's kernels and of the file, or package, that defines the class, so neither can happen.

A third trap: machine code is linked by names made of the function's name, a number that counts from 1 in each process,
and the types of the arguments, a class being its bare name. So code that two processes cached for two classes of the
same name can have the same names, and a process that loads both runs one in place of the other. Here the numbers count
from a random one.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import secrets
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import config
from numba.core.bytecode import FunctionIdentity

from pyclone_pgsm.jit.kept_code import distrusted, keep_code, say_once, take_lock
from pyclone_pgsm.jit.linking import EntryCompiler, InnerCompiler

KERNELS = (
    "jit/compiling.py",
    "jit/linking.py",
    "partition.py",
    "likelihoods/**/*.py",
    "posterior/kernels.py",
    "posterior/leave_one_out.py",
    "posterior/predictive.py",
    "posterior/prevalence.py",
    "posterior/reads.py",
    "samplers/*.py",
    "tumour/kernels.py",
)
PACKAGE = Path(__file__).parent.parent

LEAF = {"nogil": True, "_nrt": False}
"""Options of :func:`inner` for functions that make no array, and call none that does: they count no references.
Counting takes two atomic instructions for each array in each call, often more than the arithmetic. (numba refuses to
compile an allocation under them.)"""
ALLOCATING = {"nogil": True, "_nrt": True}
"""Options of an inner function that may make arrays, whoever calls it."""
INNER: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": InnerCompiler,
}
"""Options of a function that nothing but compiled code calls: no machine code of its own (see
:mod:`pyclone_pgsm.jit.linking`), and nothing that would unpack a Python caller's arguments, all arrays of a likelihood
among them, which takes a tenth of the time of compiling."""


def _number_functions_anew() -> None:
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(60))


_number_functions_anew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_number_functions_anew)


class _Inner:
    """A function for compiled code. A call from Python, as tests do, compiles it once more, so that this can be."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._for_kernels = numba.njit(**options, **INNER)(function)
        self._options = options
        functools.update_wrapper(self, function)

    @functools.cached_property
    def _for_python(self) -> Callable[..., Any]:
        return numba.njit(**self._options, pipeline_class=EntryCompiler)(self.__wrapped__)  # type: ignore[attr-defined]

    @property
    def _numba_type_(self) -> Any:
        """What numba takes the name of the function for, in the source of another."""
        return self._for_kernels._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        return self._for_python(*arguments)


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator of a function that kernels call.

    Parameters
    ----------
    **options
        Of ``numba.njit``.
    """
    return lambda function: function if config.DISABLE_JIT else _Inner(function, options)


@cache
def cache_directory() -> Path | None:
    """Folder for machine code, or None (said once on stderr) when it cannot be written, or others can write there.

    ``PYCLONE_PGSM_CACHE_DIR`` if set, else the user's cache folder.
    """
    chosen = os.environ.get("PYCLONE_PGSM_CACHE_DIR")
    if chosen:
        directory = Path(chosen)
    else:
        from platformdirs import user_cache_path

        directory = user_cache_path("pyclone-pgsm", appauthor=False)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if distrusted(directory):
            return None
        probe = directory / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as problem:
        say_once(
            f"compiled code cannot be kept in {directory} ({problem.strerror}): "
            "every start compiles anew; PYCLONE_PGSM_CACHE_DIR names another folder"
        )
        return None
    return directory


def _folder(name: str | None) -> Path | None:
    """The folder of that name for machine code, made if need be; None if there can be none."""
    directory = cache_directory()
    if directory is None or name is None or config.DISABLE_JIT:
        return None
    try:
        (directory / name).mkdir(mode=0o700, exist_ok=True)
        return None if distrusted(directory / name) else directory / name
    except OSError:
        return None


def _digest_of_kernels() -> str:
    digest = hashlib.sha256()
    for path in sorted(path for pattern in KERNELS for path in PACKAGE.glob(pattern)):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


# Taken before any kernel is imported: an edit while the program runs must not pass for what runs.
KERNELS_DIGEST = _digest_of_kernels()
KERNELS_FOLDER = f"kernels-{KERNELS_DIGEST[:16]}"


def is_cold(likelihood: type) -> bool:
    """Whether nothing has been compiled for a likelihood class yet, and what will be can be kept."""
    directory, folder = cache_directory(), _folder_of(likelihood)
    if directory is None or folder is None or config.DISABLE_JIT:
        return False
    return next((directory / folder).rglob("*.nbi"), None) is None


def precompiling_lock(likelihood: type) -> int | None:
    """A descriptor that holds the right to compile ahead for a likelihood class; None while another process has it."""
    folder = _folder(_folder_of(likelihood))
    lock = None if folder is None else take_lock(folder / "precompiling.lock")
    return lock if isinstance(lock, int) else None


def is_kept(function: Callable[..., Any], likelihood: type) -> bool:
    """Whether machine code of an entry function is on disk for a likelihood class, not only in numba's index of it."""
    directory, folder = cache_directory(), _folder_of(likelihood)
    if directory is None or folder is None:
        return False
    return next((directory / folder).rglob(f"*.{function.__qualname__}-*.nbc"), None) is not None


@cache
def source_digest(likelihood: type) -> str | None:
    """Digest of all source that a class's machine code is made from, as it is at the first call.

    Parameters
    ----------
    likelihood : type
        A likelihood class. Where it belongs to a package, every Python file of that package counts: the class may use
        functions of its neighbours. Otherwise its own file does.

    Returns
    -------
    str or None
        None for a class that no other process can find by its name (made in a function, or at a prompt).
    """
    module = sys.modules.get(likelihood.__module__)
    file = getattr(module, "__file__", None)
    found = getattr(module, likelihood.__qualname__, None)
    if found is not likelihood or file is None or not Path(file).is_file():
        return None
    top = sys.modules.get(likelihood.__module__.partition(".")[0])
    folders = [Path(folder) for folder in getattr(top, "__path__", ()) if Path(folder) != PACKAGE]
    digest = hashlib.sha256(f"{KERNELS_DIGEST} {likelihood.__module__}.{likelihood.__qualname__}".encode())
    for path in sorted({Path(file), *(path for folder in folders for path in folder.rglob("*.py"))}):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _folder_of(likelihood: type) -> str | None:
    """Name of the folder for the machine code of a likelihood class."""
    digest = source_digest(likelihood)
    return digest and f"{likelihood.__module__}.{likelihood.__qualname__}-{digest[:16]}"


def _jit(function: Callable[..., Any], folder: str | None) -> Callable[..., Any]:
    made = numba.njit(nogil=True, pipeline_class=EntryCompiler)(function)
    directory = _folder(folder)
    if directory is not None:
        keep_code(made, directory)
    return made


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile an entry function that takes no likelihood; its machine code is kept on disk."""
    return _jit(function, KERNELS_FOLDER)


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
            _compiled[function, likelihood] = _jit(function, _folder_of(likelihood))
        return _compiled[function, likelihood]
