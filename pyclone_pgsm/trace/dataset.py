"""Protocols for the data of a run, as a trace requires them; each kind of data is one class."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import h5py

from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.likelihoods.model import Model
from pyclone_pgsm.trace.values import Values


class ModelOptions(Protocol):
    """Options that determine the model of the data."""

    @property
    def likelihood(self) -> str:
        """Name of the likelihood."""

    @property
    def has_outliers(self) -> bool:
        """Whether an iteration also draws which observations are outliers."""

    def to_dict(self) -> dict[str, Any]:
        """Return the options as values for JSON."""


class Dataset(Protocol):
    """Data to be clustered, with the options of their model."""

    kind: ClassVar[str]

    @property
    def options(self) -> ModelOptions:
        """Options of the model."""

    @property
    def names(self) -> list[str]:
        """Names of the observations: mutations or rows."""

    @property
    def num_columns(self) -> int:
        """Number of values of an observation: samples or columns."""

    @property
    def left_out(self) -> list[LeftOut]:
        """What was left out of the input."""

    @property
    def immaterial_above(self) -> dict[str, float]:
        """Value above which a hyperparameter's value makes no difference, by kind of hyperparameter."""

    def make_model(self, likelihood: str | None = None) -> Model:
        """Make the model of the data; `likelihood` (``FILE.py:CLASS``) replaces the name of a likelihood's file."""

    def has_same_values(self, other: Dataset) -> bool:
        """Whether names and values are equal to those of other data."""

    def check_hyperparameters(self, names: tuple[str, ...]) -> None:
        """Raise :class:`~pyclone_pgsm.trace.values.Fault` unless a model of these data can have these names."""

    def allowed_values(self, hyperparameter: str) -> Values:
        """Return the allowed values of a hyperparameter."""

    def write(self, group: h5py.Group) -> None:
        """Write everything except the options into an empty group."""

    @classmethod
    def read_options(cls, values: dict[str, Any]) -> ModelOptions:
        """Return the options of the model, from JSON; :class:`~pyclone_pgsm.trace.values.Fault` if one is invalid."""

    @classmethod
    def read(cls, group: h5py.Group, options: Any) -> Dataset:
        """Read and check the data in a group, given the options of their model."""
