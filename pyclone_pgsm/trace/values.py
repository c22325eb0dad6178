"""Allowed numbers, texts and JSON values of a trace; a :class:`Fault` locates an invalid one in the file."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.problems import CONTROL
from pyclone_pgsm.inputs.values import Real, Whole

SHOWN_CHARACTERS = 80


class Fault(Exception):
    """Something in a trace that does not match the schema: its path in the file, and what is wrong and was expected."""

    def __init__(self, where: str, reason: str) -> None:
        self.where, self.reason = where, reason
        super().__init__(f"{where}: {reason}" if where else reason)


def shown(value: object) -> str:
    """Format a value for a message: escaped, and shortened if long."""
    text = ascii(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def within(
    least: float, most: float, *, above: bool = False, below: bool = False
) -> Callable[[NDArray[Any]], NDArray[np.bool_]]:
    """Return a test whether numbers lie between two bounds, which are excluded if `above` or `below` is set."""

    def is_allowed(values: NDArray[Any]) -> NDArray[np.bool_]:
        lower = values > least if above else values >= least
        upper = values < most if below else values <= most
        return lower & upper

    return is_allowed


class Values(NamedTuple):
    """Allowed numbers of a dataset; messages describe them as `expected`.

    `description` is stored as an attribute of the dataset, and `shape` is that of the values of one saved iteration.
    `grid` has the allowed numbers, increasing, if a model limits a quantity to a few.
    """

    dtype: str
    is_allowed: Callable[[NDArray[Any]], NDArray[np.bool_]]
    expected: str
    description: str = ""
    shape: tuple[int, ...] = ()
    grid: tuple[float, ...] = ()

    def check(self, where: str, values: NDArray[Any]) -> None:
        """Raise :class:`Fault` for the first number that is not allowed."""
        for place in np.argwhere(~self.is_allowed(values))[:1].tolist():
            raise Fault(where, f"{place} is {values[tuple(place)]}; expected {self.expected}")


def of_column(reader: Whole | Real, placeholder: float) -> Values:
    """Return the allowed numbers of a column of an input table, with the `placeholder` of a missing value."""
    if isinstance(reader, Whole):
        return Values("int64", within(reader.lowest, reader.highest), reader.expected)
    inside = within(0.0, reader.highest, above=True, below=reader.below)
    return Values(
        "float64",
        lambda values: inside(values) | np.isclose(values, placeholder, 0.0, 0.0, equal_nan=True),
        reader.expected,
    )


def check_names(where: str, names: Sequence[str], distinct: bool = True) -> None:
    """Raise :class:`Fault` for the first name that is empty, has a control character or, if `distinct`, is repeated."""
    first: dict[str, int] = {}
    for place, name in enumerate(names):
        if not name or CONTROL.search(name):
            raise Fault(
                where, f"[{place}] is {shown(name)}; a name has characters, none of them a control character"
            )
        if distinct and first.setdefault(name, place) != place:
            raise Fault(where, f"[{place}] is {shown(name)}, as is [{first[name]}]; names are distinct")


def check_keys(where: str, found: object, known: Collection[str], needed: Collection[str]) -> None:
    """Raise :class:`Fault` unless `found` is a JSON object with the `needed` keys and none but the `known` ones."""
    if not isinstance(found, dict):
        raise Fault(where, f"{shown(found)} is no JSON object")
    for key in found:
        if key not in known:
            raise Fault(where, f"{shown(key)} is not known to this version")
    for key in needed:
        if key not in found:
            raise Fault(where, f"{key} is missing")


def refuse(where: str, is_wrong: NDArray[np.bool_], reason: str) -> None:
    """Raise :class:`Fault` for the first place where `is_wrong`."""
    for place in np.argwhere(is_wrong)[:1].tolist():
        raise Fault(where, f"{place} {reason}")
