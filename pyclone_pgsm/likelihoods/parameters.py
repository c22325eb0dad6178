"""Checks of data and parameters that the built-in likelihoods of matrices share."""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError

LEAST_WEIGHT, LARGEST_WEIGHT = 1e-9, 1e9
LEAST_LARGE = 1e3
"""From here on :func:`log_rising` takes the series, whose error is below 1e-18."""
_PLACE = re.compile(r"`(column|row) (\d+)`")


def column_at(place: int) -> str:
    """Return how a message of a likelihood, which knows no names, writes a column, given by its number from 0."""
    return f"`column {place + 1}`"


def row_at(place: int) -> str:
    """Return how a message of a likelihood writes a row, given by its number from 0."""
    return f"`row {place + 1}`"


def with_names(text: str, columns: Sequence[str], rows: Sequence[str] = ()) -> str:
    """Name columns and rows in a message, where it has them as :func:`column_at` and :func:`row_at` write them."""

    def name(found: re.Match[str]) -> str:
        kind, number = found[1], int(found[2])
        names = columns if kind == "column" else rows
        if not 1 <= number <= len(names):
            return found[0]
        return names[number - 1] if kind == "column" else f"row {names[number - 1]}"

    return _PLACE.sub(name, text)


@contextmanager
def columns_named(names: Sequence[str]) -> Iterator[None]:
    """Let refusals name columns; see :func:`with_names`."""
    try:
        yield
    except UsageError as refusal:
        text = with_names(str(refusal), names)
        if text == str(refusal):
            raise
        raise UsageError(text) from None


def observations_by_variables(data: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the data as a matrix of at least one observation and one variable, contiguous in memory."""
    y = np.ascontiguousarray(data, np.float64)
    if y.ndim != 2 or y.size == 0:
        raise UsageError(f"the data must be a matrix of observations by variables, not of shape {y.shape}")
    return y


def as_numbers(value: Any) -> NDArray[np.float64]:
    """Return a parameter as an array; a single NaN if it is not made of numbers, which True and False are not."""
    try:
        numbers = np.asarray(value)
        return np.array(math.nan) if numbers.dtype == bool else numbers.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.array(math.nan)


def check_weight(name: str, value: float, above: float = 0.0) -> None:
    """Check a prior's weight ``value - above``, in observations, against the limits of double precision."""
    if not LEAST_WEIGHT <= value - above <= LARGEST_WEIGHT:
        beyond = f"{above:g} + " if above else ""
        raise UsageError(
            f"{name} must be between {beyond}{LEAST_WEIGHT:g} and {beyond}{LARGEST_WEIGHT:g}, not {value!r}: "
            "smaller values are lost in rounding next to the weight 1 of an observation, and larger ones make the "
            "logarithms inaccurate"
        )


def log_rising(a: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log Gamma(a + n) / Gamma(a).

    For large a the difference of two log-gammas has lost most digits; that of their Stirling series has not.
    """
    from scipy.special import gammaln

    large = np.maximum(a, LEAST_LARGE)
    series = (large - 0.5) * np.log1p(n / large) + n * (np.log(large + n) - 1.0)
    for power, divisor in ((-1, 12.0), (-3, -360.0)):
        series += ((large + n) ** power - large**power) / divisor
    return np.where(a < LEAST_LARGE, gammaln(a + n) - gammaln(a), series)
