"""A matrix of numbers, and the likelihood that clusters its rows."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.likelihoods.foreign import blamed, made_of_data
from pyclone_pgsm.likelihoods.inferred import INFER, InferredModel, names_to_infer
from pyclone_pgsm.likelihoods.model import FixedModel, Model
from pyclone_pgsm.likelihoods.parameters import columns_named
from pyclone_pgsm.likelihoods.registry import BUILT_IN, find_likelihood, parameters_of
from pyclone_pgsm.likelihoods.trial import check_answers

MOST_IN_PROCESSES = 10_000
"""Largest number of entries of a matrix with which chains prefer processes."""


@dataclass(frozen=True)
class DataMatrix:
    """Rows to cluster: their T names, the D names of the columns, and the values (T, D)."""

    row_names: list[str]
    column_names: list[str]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class MatrixOptions:
    """The likelihood of a matrix, as a trace stores it.

    Attributes
    ----------
    likelihood : str
        Name in the registry, or ``/path/to/file.py:Class``.
    parameters : dict
        Parameters of the likelihood's prior by name: numbers, strings, or lists of them; ``infer`` for inferred ones.
    source : str or None
        SHA-256 of the file that defines the likelihood.
    standardised : dict of str to list of float, or None
        ``mean`` and ``sd`` of the columns before they were standardised.
    """

    has_outliers: ClassVar[bool] = False
    likelihood: str
    parameters: dict[str, Any]
    source: str | None = None
    standardised: dict[str, list[float]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the options in JSON's types."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def make_model(self, data: DataMatrix) -> Model:
        """Make the model of the rows.

        Raises UsageError if the likelihood is not found or its parameters are not valid, and DataValueError for data
        that the likelihood does not allow.
        """
        likelihood_class = find_table_likelihood(self.likelihood, self.parameters)
        for name, default in parameters_of(likelihood_class).items():
            if default is inspect.Parameter.empty and name not in self.parameters:
                raise UsageError(
                    f"`parameters` {name}: {self.likelihood} has no default for it; give a value"
                )
        with columns_named(data.column_names), _unchanged(self.likelihood, data.values):
            if names_to_infer(self.parameters):
                model: Model = InferredModel(self.likelihood, likelihood_class, data.values, self.parameters)
                likelihood = model.likelihood(model.initial_values())
            else:
                likelihood = made_of_data(self.likelihood, likelihood_class, data.values, self.parameters)
                model = FixedModel(likelihood, len(data.values))
        model.prefers_processes = data.values.size <= MOST_IN_PROCESSES
        if self.likelihood not in BUILT_IN:
            check_answers(self.likelihood, likelihood, len(data.values))
        return model


def with_inferred(spec: str, parameters: Mapping[str, Any], data: DataMatrix) -> dict[str, Any]:
    """Return the given parameters, and others that the likelihood sets for these data: to a value, or to ``infer``.

    What is given is kept, whatever the likelihood says; None for a parameter whose default is None is not given.
    """
    likelihood_class: Any = find_likelihood(spec)
    default = parameters_of(likelihood_class)
    parameters = {
        name: value
        for name, value in parameters.items()
        if value is not None or default.get(name, inspect.Parameter.empty) is not None
    }
    found: dict[str, dict[str, Any]] = {"defaults_for": {}, "inferred_by_default": {}}
    with columns_named(data.column_names), _unchanged(spec, data.values), blamed(spec):
        if hasattr(likelihood_class, "defaults_for"):
            found["defaults_for"] = dict(likelihood_class.defaults_for(data.values, parameters))
        if hasattr(likelihood_class, "inferred_by_default"):
            names = likelihood_class.inferred_by_default(data.values, parameters)
            found["inferred_by_default"] = dict.fromkeys(names, INFER)
    for method, values in found.items():
        for name in values:
            if name not in parameters_of(likelihood_class):
                raise UsageError(
                    f"`likelihood` {spec!r}: {method} returned {name}, which is no parameter of from_data"
                )
    return {**found["defaults_for"], **found["inferred_by_default"], **parameters}


@contextmanager
def _unchanged(spec: str, values: NDArray[np.float64]) -> Iterator[None]:
    """Restore the data, which may be the user's own array, if a plugin changes them; raise UsageError then."""
    if spec in BUILT_IN:
        yield
        return
    before = values.copy()
    try:
        yield
    finally:
        is_changed = not np.array_equal(before, values, equal_nan=True)
        if is_changed:
            np.copyto(values, before)
    if is_changed:
        raise UsageError(
            f"`likelihood` {spec!r}: from_data, or another of its class methods, changes the data that it is given, "
            "which are also those of the trace: it must change a copy"
        )


def find_table_likelihood(spec: str, parameters: Iterable[str]) -> Any:
    """Find the likelihood class of a name; raise UsageError if there is none for a matrix with these parameters."""
    likelihood_class: Any = find_likelihood(spec)
    if spec == "pyclone":
        raise UsageError(f"`likelihood` {spec}: is for tumours, not for a matrix: use pyclone-pgsm analyze")
    if not hasattr(likelihood_class, "from_data"):
        raise UsageError(f"`likelihood` {spec!r}: has no method from_data, so it cannot be made from a table")
    known = list(parameters_of(likelihood_class))
    for name in parameters:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise UsageError(f"`parameters` {name}: {spec} has no such parameter; its parameters: {listed}")
    return likelihood_class
