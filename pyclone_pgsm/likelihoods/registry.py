"""Likelihoods by name: built-in ones, those of installed distributions, and those of a file.

======================  ================================================================================
name                    what it refers to
======================  ================================================================================
``normal``              a module of :mod:`pyclone_pgsm.likelihoods` that registers a class under its name
``poisson-gamma``       an entry point ``poisson-gamma = "module:Class"`` of the group
                        ``pyclone_pgsm.likelihoods``, or a class registered by this process
``path/file.py:Class``  a class of that file
======================  ================================================================================

Only the requested likelihood is imported. A file becomes a module whose name contains a digest of its path and content,
so that the caches of machine code distinguish classes of the same name in different files, and an edited file gives a
new class, even in the same process.
"""

import difflib
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.jit.compiling import source_digest
from pyclone_pgsm.likelihoods.contract import REGISTRY, register

GROUP = "pyclone_pgsm.likelihoods"
BUILT_IN = ("bernoulli", "normal", "pyclone")
_ROLE = re.compile(r":\w+:`([^`]*)`")  # Sphinx's markup of a name
PickledClass = type | tuple[str, str]
"""A likelihood class, or the ``FILE.py:CLASS`` and the SHA-256 of the file that it is in."""
_OF_FILES: dict[type, tuple[str, str]] = {}
"""The file of each class that is in one, as in :data:`PickledClass`."""


@dataclass(frozen=True)
class LikelihoodInfo:
    """What is known of a likelihood that has a name for :func:`find_likelihood`.

    The source is ``built in``, or the distribution and the entry point's value; the summary is the first line of the
    class's docstring; the parameters are those of :func:`parameters_of`, if the likelihood can be made from a table.
    `problem` says why it cannot be used, if so.
    """

    name: str
    source: str
    summary: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    takes_tables: bool = False
    problem: str | None = None


def file_of(spec: str) -> Path | None:
    """Return the file that ``path/to/file.py:Class`` names; None if `spec` is a name."""
    path = spec.rpartition(":")[0]
    return Path(path) if path.endswith(".py") else None


def absolute(spec: str) -> str:
    """Return `spec`, with the absolute path if it names a file."""
    file = file_of(spec)
    return spec if file is None else f"{file.resolve()}:{spec.rpartition(':')[2]}"


def is_likelihood_file(spec: str) -> bool:
    """Whether `spec` names a file, whose code :func:`find_likelihood` runs, rather than an installed likelihood."""
    return spec.endswith(".py") or file_of(spec) is not None


def parameters_of(likelihood: Any) -> dict[str, Any]:
    """Return the parameters of ``from_data`` and their defaults (``inspect.Parameter.empty`` if there is none)."""
    given = list(inspect.signature(likelihood.from_data).parameters.values())[1:]
    others = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {each.name: each.default for each in given if each.kind not in others}


def file_digest(spec: str) -> str:
    """Return the SHA-256 of the file that ``path/to/file.py:Class`` names."""
    return hashlib.sha256(_source_of(f"`likelihood` {spec!r}", Path(spec.rpartition(":")[0]))).hexdigest()


def _source_of(who: str, path: Path) -> bytes:
    """Read a file; raise UsageError if that fails."""
    try:
        return path.read_bytes()
    except (OSError, ValueError) as problem:
        raise UsageError(f"{who}: {path}: {getattr(problem, 'strerror', None) or problem}") from None


def find_likelihood(spec: str) -> type:
    """Find the class of a name (see :func:`installed_likelihoods`) or of ``path/to/file.py:Class``.

    Raises UsageError if there is no such name, file or class, if it cannot be imported, or if it does not fulfil the
    contract.
    """
    file = file_of(spec)
    if file is not None:
        return _from_file(spec, file, spec.rpartition(":")[2])
    if spec.endswith(".py"):
        raise UsageError(f"`likelihood` {spec!r}: name the class in the file, too: {spec}:Class")
    if spec in BUILT_IN:
        return _built_in(spec)
    if spec in REGISTRY:
        return REGISTRY[spec]
    offered = entry_points(group=GROUP, name=spec)
    if not offered:
        raise UsageError(_unknown(spec))
    if len(offered) > 1:
        raise UsageError(f"`likelihood` {spec!r}: {' and '.join(map(_source, offered))} have this name")
    return _from_entry_point(next(iter(offered)))


def installed_likelihoods() -> list[LikelihoodInfo]:
    """List all likelihoods that have a name. One that cannot be used is listed with its problem."""
    offered = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    times = Counter([*BUILT_IN, *(point.name for point in offered)])
    infos = [_describe(name, "built in", partial(_built_in, name)) for name in BUILT_IN]
    for point in offered:
        if times[point.name] > 1:
            problem = "another likelihood has this name"
            infos.append(LikelihoodInfo(point.name, _source(point), problem=problem))
        else:
            infos.append(_describe(point.name, _source(point), partial(_from_entry_point, point)))
    return sorted(infos, key=lambda info: info.name)


def _describe(name: str, source: str, load: Callable[[], type]) -> LikelihoodInfo:
    try:
        likelihood = load()
    except UsageError as error:
        return LikelihoodInfo(name, source, problem=str(error))
    takes_tables = hasattr(likelihood, "from_data")
    summary = _ROLE.sub(r"\1", (likelihood.__doc__ or "").strip().partition("\n")[0])
    return LikelihoodInfo(
        name, source, summary, parameters_of(likelihood) if takes_tables else {}, takes_tables
    )


def _unknown(spec: str) -> str:
    names = sorted({*BUILT_IN, *entry_points(group=GROUP).names})
    close = difflib.get_close_matches(spec.lower(), names, n=1)
    meant = f" (is {close[0]} meant?)" if close else ""
    listed = ", ".join(names)
    return f"`likelihood` {spec!r}: there is none of this name{meant}; known are {listed}, and path/to/file.py:Class"


def _built_in(name: str) -> type:
    importlib.import_module(f"pyclone_pgsm.likelihoods.{name}")
    return REGISTRY[name]


def _source(point: EntryPoint) -> str:
    owner = f"{point.dist.name} {point.dist.version}" if point.dist else "a distribution"
    return f"{owner} ({point.value})"


def _from_entry_point(point: EntryPoint) -> type:
    who = f"`likelihood` {point.name!r} of {_source(point)}"
    try:
        likelihood = point.load()
    except (Exception, SystemExit) as error:
        raise UsageError(f"{who}: {_what_failed(error)}") from error
    return _accept(who, likelihood)


def _from_file(spec: str, path: Path, name: str) -> type:
    who = f"`likelihood` {spec!r}"
    source = _source_of(who, path)
    try:
        module = _import_file(path.resolve(), source)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{who}: {_what_failed(error)}") from error
    likelihood = getattr(module, name, None)
    if not isinstance(likelihood, type):
        there = ", ".join(each.__qualname__ for each in _own_classes(module)) or "none"
        raise UsageError(f"{who}: {path} has no class {name!r}; the classes there: {there}")
    accepted: Any = _accept(who, likelihood)
    digest = hashlib.sha256(source).hexdigest()
    _OF_FILES[accepted] = absolute(spec), digest
    accepted.__reduce__ = _pickled
    return accepted


def _pickled(likelihood: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Pickle a likelihood whose class is in a file."""
    return _unpickled, (picklable_class(type(likelihood)), tuple(likelihood))


def _unpickled(pickled: PickledClass, fields: tuple[Any, ...]) -> Any:
    return unpickled_class(pickled)(*fields)


def picklable_class(likelihood: type) -> PickledClass:
    """Return what other processes can unpickle: they have no module of a class that is in a file."""
    return _OF_FILES.get(likelihood, likelihood)


def unpickled_class(pickled: PickledClass) -> type:
    """Return the class of which :func:`picklable_class` returned this; UsageError if its file has changed."""
    if isinstance(pickled, type):
        return pickled
    spec, digest = pickled
    if file_digest(spec) != digest:
        raise UsageError(f"`likelihood` {spec!r}: the file is not the one with which this was pickled")
    return find_likelihood(spec)


def _own_classes(module: ModuleType) -> list[type]:
    classes = [each for each in vars(module).values() if isinstance(each, type)]
    return [each for each in classes if each.__module__ == module.__name__]


def _import_file(path: Path, source: bytes) -> ModuleType:
    """Import the file as a module; the same module is returned as long as its content is the same."""
    digest = hashlib.sha256(str(path).encode() + b"\0" + source).hexdigest()
    name = re.sub(r"\W", "_", f"{path.stem}_{digest[:16]}")
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            exec(compile(source, path, "exec", dont_inherit=True), vars(module))
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _what_failed(error: BaseException) -> str:
    """Describe at which line the import of a file failed, and why."""
    if isinstance(error, SyntaxError):
        return f"cannot be imported: {error.filename}, line {error.lineno}: SyntaxError: {error.msg}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _imports(frame.filename)]
    lines = [frame.lineno for frame in frames if frame.filename == frames[0].filename]
    where = f"{frames[0].filename}, line {lines[-1]}: " if frames else ""
    return f"cannot be imported: {where}{type(error).__name__}: {error}"


def _imports(file: str) -> bool:
    """Whether `file` belongs to the import machinery."""
    return file == __file__ or file.startswith(("<frozen importlib", str(Path(importlib.__file__).parent)))


def _accept(who: str, likelihood: Any) -> type:
    """Check that `likelihood` is one, register it, record the digest of its source, and give it a unique name.

    A call of compiled code is dispatched by the bare names of the classes of its arguments. If another class has the
    same name and fields, every call takes a second look, which costs a fifth of a millisecond.
    """
    if not isinstance(likelihood, type):
        raise UsageError(f"{who}: not a class")
    try:
        register(f"{likelihood.__module__}:{likelihood.__qualname__}")(likelihood)
    except UsageError as error:
        raise UsageError(f"{who}: {error}") from None
    likelihood.__name__ = f"{likelihood.__qualname__}_{str(source_digest(likelihood))[:16]}"
    return likelihood
