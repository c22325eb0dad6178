"""Errors that a user can cause. The command line prints their message and exits with code 2.

Messages name parameters in backquotes, as in "`burn_in` -1: must be at least 0"; the command line replaces these names
by its options (:func:`pyclone_pgsm.cli.messages.with_options`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SHOWN = 20


class PycloneError(Exception):
    """Base class of all errors that are caused by input, options or files, not by a bug of the program."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message and the attributes, as they are not the arguments with which subclasses are made."""
        return type(self).__new__, (type(self), *self.args), vars(self)


class UsageError(PycloneError, ValueError):
    """An option has a value that cannot be used, or options contradict each other. Also a ``ValueError``."""


class MissingTableError(UsageError, AttributeError):
    """A result of this kind of data has no such table. Also an ``AttributeError``, for ``hasattr`` and ``inspect``."""


class DensityError(UsageError):
    """The joint density of a chain's state is not a finite number.

    Attributes
    ----------
    factor : {"prior", "likelihood"}
        The factor of the joint density that is not finite.
    """

    def __init__(self, factor: str, log_density: float, iteration: int) -> None:
        self.factor = factor
        super().__init__(
            f"the log joint density is {log_density:g} in iteration {iteration}, because of the {factor}"
        )


class OutputError(PycloneError):
    """An output cannot be written: it exists, or its folder is missing or not writable."""


class TraceError(PycloneError):
    """A trace file is damaged, is not a trace, or does not fit what is requested."""


class DataValueError(PycloneError, ValueError):
    """The data contain a value that a likelihood does not allow. Also a ``ValueError``.

    Attributes
    ----------
    row, column : int
        Position of the value in the matrix, counted from 0.
    value : float
    expected : str
        Description of valid values.
    """

    def __init__(self, row: int, column: int, value: float, expected: str) -> None:
        self.row, self.column, self.value, self.expected = row, column, float(value), expected
        shown = "NaN" if math.isnan(self.value) else f"{self.value:g}"
        super().__init__(
            f"row {row}, column {column} of the data (counted from 0): {shown}: must be {expected}"
        )


@dataclass(frozen=True)
class Problem:
    """One thing wrong in an input file.

    Attributes
    ----------
    file : str
        Path of the file as the user gave it.
    message : str
        What is wrong and what would be right.
    row : int or None
        Line of the file, counted from 1 (the header is line 1).
    column : str or None
        Name of the column.
    value : str or None
        The text found there.
    """

    file: str
    message: str
    row: int | None = None
    column: str | None = None
    value: str | None = None

    def __str__(self) -> str:
        where = [self.file]
        if self.row is not None:
            where.append(f"row {self.row}")
        if self.column is not None:
            where.append(f"column {self.column}")
        text = ", ".join(where) + ": "
        if self.value is not None:
            text += f"{self.value!r}: "
        return text + self.message


class InputError(PycloneError):
    """All problems of the input, reported together.

    Parameters
    ----------
    problems : sequence of Problem
        At least one. The message lists the first 20 and gives the number of the others.
    unlisted : int
        Number of further problems of the same kinds, which a reader counted but did not keep.
    """

    def __init__(self, problems: Sequence[Problem], unlisted: int = 0) -> None:
        self.problems, self.unlisted = list(problems), unlisted
        lines = [str(problem) for problem in self.problems[:SHOWN]]
        others = len(self.problems) + unlisted - len(lines)
        if others:
            lines.append(f"... and {others} more problem{'s' if others > 1 else ''}")
        super().__init__("\n".join(lines))
