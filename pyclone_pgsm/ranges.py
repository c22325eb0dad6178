"""Checks of arguments: their types, and the bounds of the integer options with the reasons for the upper ones."""

import math
import reprlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from numbers import Integral, Real
from os import PathLike
from typing import Any, NoReturn, TypeGuard

from pyclone_pgsm.errors import UsageError

PICTURE_FORMATS = "png", "pdf", "svg"

_TOO_MANY_ITERATIONS = "no chain can run that long"
_TOO_SLOW = "an iteration would take too long; run more iterations instead, which are also saved"
_TOO_MANY_STATES = "the number of states of a particle grows with the number of partitions of the anchors"

BOUNDS: dict[str, tuple[int, int, str]] = {
    "iterations": (1, 1_000_000_000, _TOO_MANY_ITERATIONS),
    "max_iterations": (2, 1_000_000_000, _TOO_MANY_ITERATIONS),
    "burn_in": (0, 1_000_000_000, _TOO_MANY_ITERATIONS),
    "thin": (1, 1_000_000_000, _TOO_MANY_ITERATIONS),
    "chains": (1, 1000, "each chain needs memory and space in the trace"),
    "particles": (2, 10_000, "each may need two blocks, and more do not mix better"),
    "sweeps": (1, 10_000, _TOO_SLOW),
    "moves": (1, 10_000, _TOO_SLOW),
    "close_moves": (0, 10_000, _TOO_SLOW),
    "anchors": (2, 20, _TOO_MANY_STATES),
    "scans": (0, 10_000, "a move would take too long, and more than a few scans do not help"),
    "seed": (0, 2**63 - 1, "seeds have 63 bits"),
    "hyper_every": (1, 1_000_000_000, _TOO_MANY_ITERATIONS),
}
"""Smallest and largest value of each integer setting, and the reason for the upper bound."""


Effects = Mapping[str, tuple[str, Collection[Any]]]
"""Options that have an effect only with some values of another option: its name and these values."""
OR_NONE = ", or None, which is automatic"
"""Ends the message of a parameter that may be None."""


def refuse(parameter: str, value: object, expected: str) -> NoReturn:
    """Raise UsageError, with a value of any type shortened to one line."""
    raise UsageError(f"`{parameter}` {' '.join(reprlib.repr(value).split())}: must be {expected}")


def check_choice(parameter: str, value: object, known: Collection[str], may_be_none: bool = False) -> None:
    """Refuse, with UsageError, a value that is not one of the texts in `known`."""
    if not (value in known if isinstance(value, str) else value is None and may_be_none):
        refuse(parameter, value, f"one of {', '.join(known)}")


def check_effects(given: Collection[str], options: Mapping[str, Any], effects: Effects) -> None:
    """Refuse, with UsageError, an option of those in `given` that has no effect with the values in `options`."""
    for name, (other, values) in effects.items():
        if name in given and options[other] not in values:
            value = options[name]
            value = sorted(value) if isinstance(value, frozenset) else value
            shown = " ".join(value) if isinstance(value, list) else value
            raise UsageError(
                f"`{name}` {shown}: has no effect with `{other}` {options[other]}: leave it out, or use "
                f"`{other}` {' or '.join(map(str, values))}"
            )


def check_kind(parameter: str, value: object, kind: Any, expected: str) -> None:
    """Refuse, with UsageError, a value that is not an instance of a type, a union or a tuple of types."""
    if not isinstance(value, kind):
        refuse(parameter, value, expected)


def check_bool(parameter: str, value: object) -> bool:
    """Return True or False (of Python or numpy) as a bool; raise UsageError for anything else, such as a text."""
    if not isinstance(value, bool):
        from numpy import bool_

        check_kind(parameter, value, bool_, "True or False")
    return bool(value)


def check_path(parameter: str, value: object, may_be_none: bool = True) -> None:
    """Refuse, with UsageError, a value that is not a path, an empty one, and None unless `may_be_none`."""
    if not (value is None and may_be_none):
        check_kind(parameter, value, str | PathLike, "a path")
        if value == "":
            refuse(parameter, value, "a path; it is empty")


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a finite number (of Python or numpy) that a float can hold, and no bool."""
    with suppress(OverflowError):
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    return False


def check_number(parameter: str, value: Any) -> float:
    """Return a number (of Python or numpy) as a float; raise UsageError for anything else, including bool."""
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):
            return float(value)
    refuse(parameter, value, "a number")


def check_whole(parameter: str, value: Any, otherwise: str = "") -> int:
    """Return a whole number (of Python or numpy) as an int; raise UsageError for anything else, including bool.

    `otherwise` ends the message, like `OR_NONE`.
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        refuse(parameter, value, f"a whole number{otherwise}")
    return int(value)


def check_range(parameter: str, value: Any, least: int, most: int, reason: str, otherwise: str = "") -> int:
    """Return a whole number in its range as an int, or raise UsageError, which has the reason for the upper bound."""
    value = check_whole(parameter, value, otherwise)
    if value < least:
        raise UsageError(f"`{parameter}` {value}: must be at least {least}")
    if value > most:
        raise UsageError(f"`{parameter}` {value}: must be at most {most}: {reason}")
    return value
