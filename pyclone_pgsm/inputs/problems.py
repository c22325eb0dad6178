"""Problems found while reading one input file.

Readers note every problem after which they can continue. When nothing more can be read they raise InputError with
everything found so far.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from pyclone_pgsm.errors import InputError, Problem
from pyclone_pgsm.files import storable

T = TypeVar("T")

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u2028\u2029\ud800-\udfff\ufeff]")
"""Control characters (C0 and C1), line separators, halves of surrogate pairs, and spaces without width: in a name they
would break lines and columns, control a terminal, could not be written, or could not be seen."""

EXCEL_ERRORS = frozenset({"#REF!", "#VALUE!", "#NAME?", "#N/A", "#DIV/0!", "#NUM!", "#NULL!"})
"""What Excel writes in place of a value that a formula could not find."""
EXCEL_ERROR = "an error of Excel, whose formula found no value; correct the cell there, and save again"

LISTED = 1000
"""Number of faults of one kind in one column that are kept individually; the others are only counted."""

_LONGEST_VALUE = 60


class FileProblems:
    """Problems of one file, given by its path as the user wrote it; ``unlisted`` is how many were only counted.

    ``file`` is the path as text, with escapes for what is not UTF-8.
    """

    def __init__(self, file: str) -> None:
        self.file = storable(file)
        self.unlisted = 0
        self.found: list[Problem] = []
        self._times: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(
        self,
        message: str,
        row: int | None = None,
        column: str | None = None,
        value: str | None = None,
        kind: str | None = None,
    ) -> None:
        """Note one problem; see `pyclone_pgsm.errors.Problem`. Of one ``kind``, only `LISTED` are kept."""
        if kind is not None:
            self._times[kind] += 1
            if self._times[kind] > LISTED:
                self.unlisted += 1
                return
        if value is not None and len(value) > _LONGEST_VALUE:
            value = value[:_LONGEST_VALUE] + "..."
        self.found.append(Problem(self.file, message, row, column, value))

    def keep_first(self, faults: Sequence[T]) -> Sequence[T]:
        """Return the first `LISTED` faults of one kind; the rest are counted in ``unlisted``."""
        self.unlisted += max(0, len(faults) - LISTED)
        return faults[:LISTED]

    def give_up(self, message: str, row: int | None = None, value: str | None = None) -> InputError:
        """Return the error to raise when nothing more can be read from the file: all earlier problems and this one."""
        self.add(message, row, value=value)
        return input_error([self])


def input_error(found: Sequence[FileProblems]) -> InputError:
    """Return one error for all files, in the order given; of each file, by row, after problems of the whole file."""
    problems = [problem for file in found for problem in sorted(file.found, key=lambda each: each.row or 0)]
    return InputError(problems, unlisted=sum(file.unlisted for file in found))


def raise_any(*found: FileProblems) -> None:
    """Raise InputError with all problems of these files, if there are any."""
    if any(found):
        raise input_error(found)


def count(number: int, noun: str) -> str:
    """Return a number with its noun: "1 sample", or "10,000 mutations"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def listed(names: Sequence[str], most: int = 20, longest: int | None = None) -> str:
    """Return the first names of a list, as shown in messages, and the number of further names."""
    text = ", ".join(repr(name[:longest]) for name in names[:most])
    return text + (f" and {len(names) - most} more" if len(names) > most else "")
