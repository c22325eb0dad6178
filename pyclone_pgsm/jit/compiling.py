"""Compilation of the kernels, and the cache of machine code between runs.

Only *entry* functions, the ones Python calls, are cached on disk; inner functions (:func:`inner`) become part of the
entry's machine code. Plain ``cache=True`` has two traps when a likelihood is a plugin: an index shared with a plugin
crashes processes that lack it (numba issue 6018), and after the plugin is edited, the old machine code is still used
(numba issue 1833). To prevent both, every likelihood class has its own directory here, whose name contains a digest of
this package's kernels and of the file, or package, that defines the class.

A third trap: machine code is linked by names made of the function's name, a number that counts from 1 in each process,
and the types of the arguments, with classes represented by their bare names. So code that two processes cached for two
classes of the same name can have equal names, and a process that loads both runs one in place of the other. Here the
numbers start from a random one.
"""

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
from numba import config, types
from numba.core.bytecode import FunctionIdentity

from pyclone_pgsm.jit.code_cache import cache_code, distrusted, say_once, take_lock
from pyclone_pgsm.jit.linking import EntryCompiler, InnerCompiler

KERNELS = (
    "jit/compiling.py",
    "jit/linking.py",
    "partition.py",
    "likelihoods/**/*.py",
    "posterior/kernels.py",
    "posterior/multiplicity.py",
    "posterior/predictive.py",
    "posterior/prevalence.py",
    "posterior/reads.py",
    "posterior/stacking.py",
    "samplers/*.py",
    "tumour/exchange.py",
    "tumour/kernels.py",
)
PACKAGE = Path(__file__).parent.parent

LEAF = {"nogil": True, "_nrt": False}
"""Options of :func:`inner` for functions that create no arrays: references are not counted. Counting takes two atomic
instructions per array and call, often more than the arithmetic. (With these options numba refuses to compile an
allocation.) Only such a function may call one that returns arrays: any other caller would release them once too
often."""
SUM = {"reassoc", "nsz", "contract"}
"""The option ``fastmath`` of :func:`inner` for sums that may be reordered, and so vectorised."""
ALLOCATING = {"nogil": True, "_nrt": True}
"""Options of an inner function that may create arrays, whatever the options of its caller."""
INNER: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": InnerCompiler,
}
"""Options of a function that only compiled code calls: no machine code of its own (see
:mod:`pyclone_pgsm.jit.linking`), and no wrapper to unpack the arguments of a Python caller, including all arrays of a
likelihood, which takes a tenth of the compilation time."""


def _number_functions_anew() -> None:
    FunctionIdentity._unique_ids = itertools.count(secrets.randbits(60))


_number_functions_anew()
os.register_at_fork(after_in_child=_number_functions_anew)


class _Inner:
    """A function for compiled code. If Python calls it, as tests do, it is compiled again, with a wrapper."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._for_kernels = numba.njit(**options, **INNER)(function)
        find_template = self._for_kernels.get_call_template

        def find_template_for_any_value(arguments: Any, keywords: Any) -> Any:
            return find_template([types.unliteral(kind) for kind in arguments], keywords)

        # numba would compile the function again for each constant that is an argument
        self._for_kernels.get_call_template = find_template_for_any_value
        self._options = options
        functools.update_wrapper(self, function)

    @functools.cached_property
    def _for_python(self) -> Callable[..., Any]:
        return numba.njit(**self._options, pipeline_class=EntryCompiler)(self.__wrapped__)  # type: ignore[attr-defined]

    @property
    def _numba_type_(self) -> Any:
        """The numba type of the function where the source of another function uses its name."""
        return self._for_kernels._numba_type_

    def __call__(self, *arguments: Any) -> Any:
        return self._for_python(*arguments)


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that kernels call; the options are those of ``numba.njit``."""
    return lambda function: function if config.DISABLE_JIT else _Inner(function, options)


@cache
def cache_directory() -> Path | None:
    """Return the folder for machine code: ``PYCLONE_PGSM_CACHE_DIR`` if set, else the user's cache folder.

    The result is None, which is reported once on stderr, if the folder is not writable or others can write there.
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
            "every start compiles again; set PYCLONE_PGSM_CACHE_DIR to use another folder"
        )
        return None
    return directory


def _folder(name: str | None) -> Path | None:
    """Return the folder of this name for machine code, created if necessary; None if there can be none."""
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


# Computed before any kernel is imported: source edited while the program runs must not count as what runs.
KERNELS_DIGEST = _digest_of_kernels()
KERNELS_FOLDER = f"kernels-{KERNELS_DIGEST[:16]}"


def is_cold(likelihood: type) -> bool:
    """Whether nothing is cached for a likelihood class yet, and the cache is usable."""
    directory, folder = cache_directory(), _folder_of(likelihood)
    if directory is None or folder is None or config.DISABLE_JIT:
        return False
    return next((directory / folder).rglob("*.nbi"), None) is None


def precompiling_lock(likelihood: type) -> int | None:
    """Take the lock for compiling ahead for a likelihood class; its descriptor, or None if it cannot be taken."""
    folder = _folder(_folder_of(likelihood))
    lock = None if folder is None else take_lock(folder / "precompiling.lock")
    return lock if isinstance(lock, int) else None


@cache
def source_digest(likelihood: type) -> str | None:
    """Compute the digest of all source that the machine code of a class depends on, as of the first call.

    This is the class's own file or, since it may use functions of its neighbours, every Python file of its package.
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
    """Return the name of the folder for the machine code of a likelihood class."""
    digest = source_digest(likelihood)
    return digest and f"{likelihood.__module__}.{likelihood.__qualname__}-{digest[:16]}"


def _jit(function: Callable[..., Any], folder: str | None) -> Callable[..., Any]:
    made = numba.njit(nogil=True, no_cfunc_wrapper=True, pipeline_class=EntryCompiler)(function)
    directory = _folder(folder)
    if directory is not None:
        cache_code(made, directory)
    return made


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile an entry function that takes no likelihood; its machine code is cached on disk."""
    return _jit(function, KERNELS_FOLDER)


_lock = threading.RLock()
_compiled: dict[tuple[Callable[..., Any], Any], Callable[..., Any]] = {}


def compiled_for(function: Callable[..., Any], likelihood: Any) -> Callable[..., Any]:
    """Compile an entry function, whose first argument is a likelihood of this class; once, however often called."""
    with _lock:  # chains in several threads may call this at the same time
        if (function, likelihood) not in _compiled:
            _compiled[function, likelihood] = _jit(function, _folder_of(likelihood))
        return _compiled[function, likelihood]
