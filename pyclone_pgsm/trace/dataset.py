"""What a trace asks of the data of a run: each kind of data is one class."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import h5py

from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.likelihoods.model import Model
from pyclone_pgsm.trace.values import Values


class ModelOptions(Protocol):
    """All that determines the model of some data."""

    @property
    def likelihood(self) -> str:
        """Name of the likelihood."""

    @property
    def has_outliers(self) -> bool:
        """Whether an iteration also draws which observations are outliers."""

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON can hold them."""


class Dataset(Protocol):
    """What is clustered, with the options of its model."""

    kind: ClassVar[str]

    @property
    def options(self) -> ModelOptions:
        """Those of the model."""

    @property
    def names(self) -> list[str]:
        """Names of the observations: mutations or rows."""

    @property
    def num_columns(self) -> int:
        """How many numbers an observation has: samples or columns."""

    @property
    def left_out(self) -> list[LeftOut]:
        """What was left out of the input."""

    @property
    def immaterial_above(self) -> dict[str, float]:
        """The value above which all values mean the same, by kind of hyperparameter."""

    def make_model(self, likelihood: str | None = None) -> Model:
        """The model of the data.

        Parameters
        ----------
        likelihood : str or None
            Where the likelihood is, if it is of a file that has another name by now.
        """

    def has_same_values(self, other: Dataset) -> bool:
        """Whether names and values are those of other data."""

    def check_hyperparameters(self, names: tuple[str, ...]) -> None:
        """Raise :class:`~pyclone_pgsm.trace.values.Fault` unless a model of these data can have these."""

    def allowed_values(self, hyperparameter: str) -> Values:
        """What the values of a hyperparameter may be."""

    def write(self, group: h5py.Group) -> None:
        """Write everything but the options into a group that is empty."""

    @classmethod
    def read_options(cls, values: dict[str, Any]) -> ModelOptions:
        """The options of the model, from JSON; a :class:`~pyclone_pgsm.trace.values.Fault` if one cannot be."""

    @classmethod
    def read(cls, group: h5py.Group, options: Any) -> Dataset:
        """The data in a group, checked, with these options of their model."""
