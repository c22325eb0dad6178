"""Errors of plugin likelihoods, reported in one line that names the likelihood and the cause."""

import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import PycloneError, UsageError
from pyclone_pgsm.likelihoods.contract import OTHER_COLUMNS, SD
from pyclone_pgsm.likelihoods.registry import BUILT_IN, file_of

LONGEST = 240  # largest number of characters of a cause

Shapes = dict[str, tuple[int, ...]]

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PLACE = re.compile(r'File "([^"]+)", line (\d+)')
_SIGNATURE = re.compile(r"No implementation of function (.+) found for signature:\s*>>> (.+)")
_ERROR = re.compile(r"\w+Error: (?!Failed in).+")
_BETWEEN = (
    "Failed in",
    "During:",
    "There are",
    "- Of which",
    "Overload",
    "With argument",
    "No match",
    "Rejected as",
    "- Resolution failure",
    ">>>",
    "No implementation of function",
    "Enable logging",
    "* (",
)
"""Beginnings of the lines that numba prints around the line that says what is wrong."""


@contextmanager
def blamed(spec: str) -> Iterator[None]:
    """Convert exceptions of a likelihood's own code, and numba's errors about it, to one that names the likelihood.

    Errors of input, files and memory remain as they are, and so do exceptions of a built-in likelihood, which are bugs
    of the program.
    """
    try:
        yield
    except (PycloneError, OSError, MemoryError):
        raise
    except Exception as problem:
        if spec in BUILT_IN:
            raise
        raise UsageError(f"`likelihood` {spec!r}: {cause(problem, spec)}") from problem


def made_of_data(
    spec: str, likelihood_class: Any, data: NDArray[np.float64], parameters: Mapping[str, Any]
) -> Any:
    """Return the likelihood that a class makes of the data; UsageError if it fails, or makes something else."""
    with blamed(spec):
        likelihood = likelihood_class.from_data(data, **parameters)
    if not isinstance(likelihood, likelihood_class):
        returned = f"from_data returned an object of type {type(likelihood).__name__}"
        raise UsageError(f"`likelihood` {spec!r}: {returned}; it must return one of its own class")
    return likelihood


def cause(problem: BaseException, spec: str) -> str:
    """Describe in one line where in the likelihood's file a problem occurred, and why, as far as that is known."""
    from numba.core.errors import NumbaError, UnsupportedBytecodeError

    if isinstance(problem, NumbaError | UnsupportedBytecodeError):
        return f"its methods cannot be compiled: {_told_by_numba(str(problem), spec)}"
    file = file_of(spec)
    frames = traceback.extract_tb(problem.__traceback__)
    lines = [frame.lineno for frame in frames if file and Path(frame.filename).name == file.name]
    where = f"{file.name}, line {lines[-1]}: " if file and lines else ""
    text = next(iter(str(problem).splitlines()), "")
    return _shortened(where + ": ".join(filter(None, (type(problem).__name__, text))))


def _told_by_numba(text: str, spec: str) -> str:
    """Extract the innermost reason, which numba prints above the likelihood's first source line, and its place."""
    text = _COLOUR.sub("", text)
    file = file_of(spec)
    places = [place for place in _PLACE.finditer(text) if file is None or Path(place[1]).name == file.name]
    before = text[: places[0].start()] if places else text
    where = f"{Path(places[0][1]).name}, line {places[0][2]}: " if places else ""
    signatures = _SIGNATURE.findall(before)
    lines = [line.strip() for line in before.splitlines()]
    reasons = [line for line in lines if line and line != "None" and not line.startswith(_BETWEEN)]
    if not (places and reasons):
        reasons = [found[0] for found in _ERROR.finditer(text)][:1]
    if signatures and not (reasons and before.rfind(reasons[-1]) > before.rfind("No match")):
        name, called = signatures[-1]
        return _shortened(f"{where}there is no {name} for {called}")
    return _shortened(where + (reasons[-1] if reasons else lines[0]))


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def checked_shapes(
    likelihood: Any, stat: NDArray[np.float64], others: Shapes, fault: Callable[[str], Exception]
) -> Shapes:
    """Return the shapes of a block's ``cluster_parameters``.

    If these are no arrays by name, or differ from those of other blocks (empty if there are none yet), raise the
    exception that `fault` makes of the description.
    """
    with np.errstate(all="ignore"):
        parameters = likelihood.cluster_parameters(stat)
    if not isinstance(parameters, dict):
        raise fault(f"cluster_parameters returned {parameters!r:.60}; it must return a dict of arrays")
    shapes = {}
    for name, values in parameters.items():
        if not (isinstance(name, str) and name and name.isprintable()):
            raise fault(f"cluster_parameters returned the name {name!r:.60}; it must be a text of one line")
        try:
            shapes[name] = np.asarray(values, np.float64).shape
        except (TypeError, ValueError):
            raise fault(
                f"cluster_parameters returned {values!r:.60} as {name}; it must be an array of numbers"
            ) from None
        if name in OTHER_COLUMNS:
            raise fault(
                f"cluster_parameters returned {name}, which is another column of the table of clusters: rename it"
            )
        if name.removesuffix(SD) not in parameters:
            raise fault(f"cluster_parameters returned {name} without {name.removesuffix(SD)}")
    for name, shape in shapes.items():
        base = name.removesuffix(SD)
        if shape != shapes[base]:
            its_shape = f"its shape must be that of {base}, {shapes[base]}"
            raise fault(f"cluster_parameters returned {name} of the shape {shape}; {its_shape}")
    if others and shapes != others:
        raise fault(f"cluster_parameters returned arrays of the shapes {shapes}, of another block {others}")
    return shapes
