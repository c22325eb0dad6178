"""Checks of data and parameters that the built-in likelihoods of matrices share."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError

LEAST_WEIGHT, LARGEST_WEIGHT = 1e-9, 1e9


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


def evenly_spaced(number: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` of the numbers 0 to number - 1, evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, number - 1, most).astype(np.int64))
