"""A matrix in a trace, and the options of its likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import h5py
import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.inputs.problems import CONTROL
from pyclone_pgsm.likelihoods.inferred import names_to_infer
from pyclone_pgsm.likelihoods.matrix import DataMatrix, MatrixOptions
from pyclone_pgsm.likelihoods.model import Model
from pyclone_pgsm.ranges import is_number
from pyclone_pgsm.trace.hyperparameters import values_of
from pyclone_pgsm.trace.structure import check_members, read, read_texts, write_array, write_texts
from pyclone_pgsm.trace.values import Fault, Values, check_keys, check_names, shown

DEEPEST_PARAMETER = 3


@dataclass(frozen=True)
class MatrixData:
    """Rows of numbers, and the options of their likelihood."""

    kind: ClassVar[str] = "matrix"
    left_out: ClassVar[tuple[LeftOut, ...]] = ()
    """Always empty: a matrix is used as a whole, or rejected."""
    immaterial_above: ClassVar[Mapping[str, float]] = {}
    """Always empty: no parameter has such a value."""
    prior_parameters: ClassVar[tuple[str, ...]] = ()
    """Always empty: only the likelihood has parameters."""
    matrix: DataMatrix
    options: MatrixOptions

    @property
    def names(self) -> list[str]:
        """Names of the rows."""
        return self.matrix.row_names

    @property
    def num_columns(self) -> int:
        """Number of columns."""
        return len(self.matrix.column_names)

    def make_model(self, likelihood: str | None = None) -> Model:
        """Make the model of the rows; `likelihood` (``FILE.py:CLASS``) replaces the name of a likelihood's file."""
        options = self.options if likelihood is None else replace(self.options, likelihood=likelihood)
        return options.make_model(self.matrix)

    @property
    def compared(self) -> tuple[list[list[str]], list[NDArray[Any]]]:
        """Names and numbers, in which the data of merged traces must agree."""
        return [self.matrix.row_names, self.matrix.column_names], [self.matrix.values]

    def allowed_values(self, hyperparameter: str) -> Values:
        """Return the allowed values of a hyperparameter."""
        if hyperparameter in names_to_infer(self.options.parameters):
            return Values("float64", np.isfinite, "a finite number")
        return values_of(hyperparameter, len(self.names), {})

    def write(self, group: h5py.Group) -> None:
        """Write names and values."""
        group.attrs["description"] = "values: T rows x D columns, and their names"
        write_texts(group, "row_names", self.matrix.row_names)
        write_texts(group, "column_names", self.matrix.column_names)
        write_array(group, "values", self.matrix.values)

    @classmethod
    def read_options(cls, values: dict[str, Any]) -> MatrixOptions:
        """Return the options of the likelihood, from JSON."""
        check_keys("model", values, ("likelihood", "parameters", "source", "standardised"), ("parameters",))
        name, parameters = values["likelihood"], values["parameters"]
        if not name or CONTROL.search(name):
            raise Fault("model.likelihood", f"{shown(name)} names no likelihood")
        if not isinstance(parameters, dict):
            raise Fault("model.parameters", f"{shown(parameters)} is no JSON object")
        for parameter, value in parameters.items():
            if CONTROL.search(parameter) or not is_parameter(value):
                reason = f"{shown(parameter)} is {shown(value)}; expected numbers or texts"
                raise Fault("model.parameters", reason)
        return MatrixOptions(**values)

    @classmethod
    def read(cls, group: h5py.Group, options: MatrixOptions) -> MatrixData:
        """Read and check the data in a group."""
        check_members(group, ("row_names", "column_names", "values"))
        row_names, column_names = (read_texts(group, name) for name in ("row_names", "column_names"))
        check_names("data/row_names", row_names)
        check_names("data/column_names", column_names, distinct=False)
        number = Values("float64", lambda values: np.ones(values.shape, bool), "a number")
        values = read(group, "values", number, (len(row_names), len(column_names)))
        if values.size == 0:
            raise Fault("data/values", "holds no number")
        return cls(DataMatrix(row_names, column_names, values), options)


def is_parameter(value: object, depth: int = 0) -> bool:
    """Whether a trace can hold this value, in JSON's types, of a likelihood's parameter."""
    if isinstance(value, list):
        return depth < DEEPEST_PARAMETER and all(is_parameter(each, depth + 1) for each in value)
    return value is None or isinstance(value, str | bool | float) or is_number(value)
