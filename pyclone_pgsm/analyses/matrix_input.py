"""Preparing a matrix for clustering: names, scale, and default settings and options."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.errors import DataValueError, UsageError
from pyclone_pgsm.inputs.matrix import NO_NUMBERS
from pyclone_pgsm.inputs.matrix_text import numbered_names
from pyclone_pgsm.likelihoods.matrix import DataMatrix, MatrixOptions, with_inferred
from pyclone_pgsm.likelihoods.registry import absolute, file_digest, is_likelihood_file
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.trace.matrix import DEEPEST_PARAMETER, is_parameter
from pyclone_pgsm.trace.options import plain
from pyclone_pgsm.trace.values import Fault, check_names

MIXTURE_SCHEME, MIXTURE_THRESHOLD = "both-kinds", 0.1


def mixture_settings(settings: Settings, num_observations: int) -> Settings:
    """Return the resolved settings; the default of two anchors is that both kinds of particles are resampled.

    Particles then stay split for longer: on data S1 of the paper, started from a single cluster, a V-measure above 0.98
    was reached after 0.3 s in the median, and after 1.5 s with multinomial resampling.
    """
    resolved = settings.resolve(num_observations)
    if settings.anchors > 2 or settings.resampling not in (None, MIXTURE_SCHEME):
        return resolved
    threshold = MIXTURE_THRESHOLD if settings.resample_threshold is None else settings.resample_threshold
    return replace(resolved, resampling=MIXTURE_SCHEME, resample_threshold=threshold)


def refuse_masked(what: str, X: ArrayLike | None) -> None:
    """Raise UsageError, which begins with `what`, if X is a masked array with masked values."""
    if np.ma.is_masked(X):
        place = np.argwhere(np.ma.getmaskarray(np.ma.asarray(X)))[0].tolist()
        raise UsageError(f"{what}: the value at {place} (from 0) is masked: missing values are not supported")


def names_of_columns(X: ArrayLike) -> Sequence[Any] | None:
    """Return the names of a table of pandas, polars or pyarrow (whose `columns` are arrays); None if there are none."""
    return getattr(X, "column_names", getattr(X, "columns", None))


def as_numbers(what: str, X: ArrayLike) -> NDArray[np.float64]:
    """Return an array of numbers as writable floats, because kernels would be compiled again for a read-only array.

    If X does not consist of numbers, or some are masked, the UsageError begins with `what`, the name of X.
    """
    refuse_masked(what, X)
    try:
        values = np.asarray(X)
        if values.dtype.kind in "OU":
            _check_objects(np.asarray(X, object), names_of_columns(X))
        if values.dtype.kind not in "biufO":
            raise TypeError(NO_NUMBERS.format(values.dtype))
        return np.require(values, np.float64, ["C", "W"])
    except (TypeError, ValueError, OverflowError) as problem:
        raise UsageError(f"{what} must be a matrix of numbers: {problem}") from None


def _check_objects(values: NDArray[Any], names: Sequence[Any] | None) -> None:
    """Raise TypeError for the first object that is not a number, or if there is one instead of a matrix."""
    if values.ndim == 0:
        advice = "; make it dense with its method toarray" if hasattr(values.item(), "toarray") else ""
        raise TypeError(f"this is of type {type(values.item()).__name__}{advice}")
    for (row, column), value in np.ndenumerate(values) if values.ndim == 2 else ():
        try:
            np.float64(value)
        except (TypeError, ValueError, OverflowError):
            where = f"row {row}, column {column if names is None else names[column]} (counted from 0)"
            raise TypeError(f"{where}: {value!r:.60}: must be a finite number") from None


def as_matrix(X: ArrayLike) -> DataMatrix:
    """Return any matrix with names: its own column names if it has any, and numbers otherwise.

    Rows have the names of a data frame's index if these are distinct texts, and otherwise numbers from 1.
    """
    values = as_numbers("the data", X)
    if values.ndim != 2 or values.size == 0:
        raise UsageError(f"the data must be a matrix of rows by columns, not of shape {values.shape}")
    T, D = values.shape
    names = names_of_columns(X)
    columns = numbered_names(D) if names is None else list(map(str, names))
    try:
        check_names("columns (counted from 0)", columns)
    except Fault as fault:
        raise UsageError(f"the data: {fault}") from None
    rows = [str(row) for row in range(1, T + 1)]
    index = X.index.tolist() if isinstance(X, pd.DataFrame) else rows
    if all(isinstance(name, str) for name in index):
        with suppress(Fault):
            check_names("index", index)
            rows = index
    return DataMatrix(rows, columns, values)


def stored_options(
    likelihood: str,
    parameters: Mapping[str, Any],
    data: DataMatrix,
    standardised: dict[str, list[float]] | None = None,
) -> MatrixOptions:
    """Return a likelihood and its parameters as a trace stores them: a file by its absolute path and its digest."""
    parameters = plain_parameters(with_inferred(likelihood, plain_parameters(parameters), data))
    source = file_digest(likelihood) if is_likelihood_file(likelihood) else None
    return MatrixOptions(absolute(likelihood), parameters, source, standardised)


def plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a likelihood in JSON's types, with which it is made again when the trace is read.

    Refused is what a trace cannot hold, such as objects of pandas, whose order may be another than the columns'.
    """
    found = {}
    for name, value in parameters.items():
        try:
            found[name] = json.loads(json.dumps(value, default=plain))
            # the likelihood itself refuses a whole number that is too large
            if not isinstance(found[name], int) and not is_parameter(found[name]):
                raise TypeError
        except (TypeError, ValueError, RecursionError):
            expected = "must be a number, a list, an array of numpy, or 'infer', not of type"
            advice = ""
            if hasattr(value, "to_numpy"):
                advice = "; use its method to_numpy"
            elif isinstance(value, list | tuple | np.ndarray):
                advice = (
                    f" with other things than numbers and texts, or more than {DEEPEST_PARAMETER} dimensions"
                )
            raise UsageError(f"`parameters` {name}: {expected} {type(value).__name__}{advice}") from None
    return found


def standardise(data: DataMatrix) -> tuple[DataMatrix, dict[str, list[float]]]:
    """Scale columns to mean 0 and standard deviation 1; return also their previous means and standard deviations.

    Refused are columns of equal values, and a value so far from the others that these would become equal.
    """
    # largest power of 2 up to each column's largest value: dividing by it is exact, and squares cannot overflow
    scale = np.ldexp(1.0, np.frexp(np.abs(data.values).max(axis=0))[1] - 1)
    values = data.values / scale
    mean, sd = values.mean(axis=0), values.std(axis=0)
    for column in np.flatnonzero(data.values.min(axis=0) == data.values.max(axis=0))[:1]:
        raise UsageError(
            f"`standardise`: all values of column {data.column_names[column]} are equal: leave it out with `ignore`"
        )
    standardised = (values - mean) / sd
    for column in range(standardised.shape[1]):
        before, after = (len(np.unique(table[:, column])) for table in (data.values, standardised))
        if 2 * after < before:
            row = int(np.abs(standardised[:, column]).argmax())
            expected = (
                "a value nearer to its column's others: standardised with it, these could not be told apart"
            )
            raise DataValueError(row, column, data.values[row, column], expected)
    return replace(data, values=standardised), {"mean": (mean * scale).tolist(), "sd": (sd * scale).tolist()}
