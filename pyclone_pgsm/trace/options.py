"""All that determines a run besides the data, as a trace stores it: ``/config``'s attribute ``options``, in JSON."""

from __future__ import annotations

import json
import math
import typing
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.tumour_content import LARGEST_SD
from pyclone_pgsm.likelihoods.registry import is_likelihood_file
from pyclone_pgsm.models import TUMOUR, StoredModel
from pyclone_pgsm.priors import Prior, prior_from_dict
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.trace.values import Fault, check_keys, check_types, has_control, is_number, shown
from pyclone_pgsm.tumour.genotypes import GENOTYPE_PRIORS
from pyclone_pgsm.tumour.grid import DENSITIES
from pyclone_pgsm.tumour.model import PER_SAMPLE, PREVALENCE_PRIORS

OUTLIERS = "outliers"
LARGEST_GRID = 10_001
LARGEST_REBUILD = 10
DEEPEST_PARAMETER = 3


@dataclass(frozen=True)
class RunOptions:
    """All that determines a run besides the data: stored in the trace as JSON.

    Attributes
    ----------
    settings : Settings
    prior : dict
        The partition prior at its start (see :func:`pyclone_pgsm.priors.prior_from_dict`).
    model : dict
        The likelihood and its parameters (see :mod:`pyclone_pgsm.models`).
    hyperparameters : tuple of str
        Names of the likelihood's hyperparameters that are inferred.
    rebuild : int
        Iterations between two rebuilds of the statistics.
    """

    settings: Settings
    prior: dict[str, Any]
    model: StoredModel
    hyperparameters: tuple[str, ...]
    rebuild: int

    @property
    def is_tumour(self) -> bool:
        """Whether the data are a tumour's and not a matrix."""
        return bool(self.model["likelihood"] == TUMOUR)

    @property
    def has_outliers(self) -> bool:
        """Whether mutations may be outliers."""
        return "outlier_prob" in self.model

    @property
    def by_observation(self) -> tuple[str, ...]:
        """Names of the datasets that have a column an observation."""
        return ("labels", OUTLIERS) if self.has_outliers else ("labels",)

    @property
    def first_prior(self) -> Prior:
        """The partition prior at its start."""
        return prior_from_dict(self.prior)

    @property
    def traced(self) -> tuple[str, ...]:
        """Names of the hyperparameters that have a dataset, besides the concentration, which always has one."""
        return (*self.first_prior.hyperparameters[1:], *self.hyperparameters)

    def to_json(self) -> str:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return json.dumps({**values, "settings": self.settings.to_dict()}, sort_keys=True, default=_plain)

    @classmethod
    def from_json(cls, text: str) -> RunOptions:
        """The options that :meth:`to_json` wrote.

        Raises
        ------
        Fault
            The text is anything else: the first value that cannot be is named.
        """
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise Fault("", f"no JSON: {type(problem).__name__}: {problem}") from None
        names = [field.name for field in fields(cls)]
        check_keys("", values, names, names)
        settings = _read_settings(values["settings"])
        _check_prior(values["prior"])
        _check_model(values["model"])
        hyperparameters = values["hyperparameters"]
        if not (isinstance(hyperparameters, list) and all(isinstance(name, str) for name in hyperparameters)):
            raise Fault("hyperparameters", f"{shown(hyperparameters)} is no list of names")
        rebuild = values["rebuild"]
        if type(rebuild) is not int or not 1 <= rebuild <= LARGEST_REBUILD:
            raise Fault(
                "rebuild", f"{shown(rebuild)}; expected a whole number between 1 and {LARGEST_REBUILD}"
            )
        return cls(settings, values["prior"], values["model"], tuple(hyperparameters), rebuild)


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy as JSON can hold them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a trace cannot hold {value!r}")


def _read_settings(values: Any) -> Settings:
    hints = typing.get_type_hints(Settings)
    check_keys("settings", values, hints, ("iterations", "burn_in"))
    check_types("settings", values, {**hints, "iterations": int, "burn_in": int})
    try:
        return Settings(**values)
    except UsageError as problem:
        raise Fault("settings", str(problem)) from None


def _check_prior(values: Any) -> None:
    if not isinstance(values, dict):
        raise Fault("prior", f"{shown(values)} is no JSON object")
    for name, value in values.items():
        is_table = name in ("log_tau1", "log_tau2")
        if is_table and not (isinstance(value, list) and value and all(map(is_number, value))):
            raise Fault(f"prior.{name}", f"{shown(value)} is no list of numbers")
        if not is_table and not (value is None or isinstance(value, str | bool) or is_number(value)):
            raise Fault(
                f"prior.{name}", f"{shown(value)}; expected a finite number, a text, true, false or null"
            )
    if "infer_discount" in values and not isinstance(values["infer_discount"], bool):
        raise Fault("prior.infer_discount", f"{shown(values['infer_discount'])}; expected true or false")
    try:
        prior_from_dict(values)
    except UsageError as problem:
        raise Fault("prior", str(problem)) from None


def _is_share(value: object) -> bool:
    return is_number(value) and 0.0 < typing.cast(float, value) < 1.0


def _is_precision(value: object) -> bool:
    return value is None or value == PER_SAMPLE or value == math.inf or (is_number(value) and value > 0)  # type: ignore[operator]


def _is_grid_size(value: object) -> bool:
    return type(value) is int and 2 <= value <= LARGEST_GRID


def _is_content(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_uncertain, value.values()))


def _is_uncertain(pair: object) -> bool:
    if not (isinstance(pair, list) and len(pair) == 2 and all(map(is_number, pair))):
        return False
    mean, sd = pair
    return 0.0 < mean <= 1.0 and 0.0 < sd <= LARGEST_SD


MODEL_OPTIONS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "genotype_prior": (lambda value: value in GENOTYPE_PRIORS, f"one of {', '.join(GENOTYPE_PRIORS)}"),
    "density": (lambda value: value in DENSITIES, f"one of {', '.join(DENSITIES)}"),
    "precision": (_is_precision, f"null, {PER_SAMPLE!r} or a positive number"),
    "grid_size": (_is_grid_size, f"a whole number between 2 and {LARGEST_GRID}"),
    "prevalence_prior": (lambda value: value in PREVALENCE_PRIORS, f"one of {', '.join(PREVALENCE_PRIORS)}"),
    "tumour_content": (_is_content, "an object of a mean and a standard deviation for each sample"),
    "outlier_prob": (_is_share, "a number above 0 and below 1"),
}
"""Of a tumour's model: whether a value can be, and what is expected. The last three may be missing."""
OPTIONAL = ("prevalence_prior", "tumour_content", "outlier_prob")


def _check_model(values: Any) -> None:
    if not (isinstance(values, dict) and isinstance(values.get("likelihood"), str)):
        raise Fault("model", f"{shown(values)} names no likelihood")
    if values["likelihood"] != TUMOUR:
        _check_matrix_model(values)
        return
    check_keys(
        "model",
        values,
        ("likelihood", *MODEL_OPTIONS),
        [name for name in MODEL_OPTIONS if name not in OPTIONAL],
    )
    for name, (can_be, expected) in MODEL_OPTIONS.items():
        if name in values and not can_be(values[name]):
            raise Fault(f"model.{name}", f"{shown(values[name])}; expected {expected}")


def _check_matrix_model(values: dict[str, Any]) -> None:
    check_keys("model", values, ("likelihood", "parameters", "source", "standardised"), ("parameters",))
    name, parameters = values["likelihood"], values["parameters"]
    if not name or has_control(name):
        raise Fault("model.likelihood", f"{shown(name)} names no likelihood")
    if not isinstance(parameters, dict):
        raise Fault("model.parameters", f"{shown(parameters)} is no JSON object")
    for parameter, value in parameters.items():
        if has_control(parameter) or not _is_parameter(value):
            raise Fault(
                "model.parameters", f"{shown(parameter)} is {shown(value)}; expected numbers or texts"
            )
    source = values.get("source")
    if "source" in values and not (
        is_likelihood_file(name)
        and isinstance(source, str)
        and len(source) == 64
        and set(source) <= set("0123456789abcdef")
    ):
        raise Fault("model.source", f"{shown(source)} is no SHA-256 digest of a likelihood's file")
    if "standardised" in values:
        _check_standardised(values["standardised"])


def _check_standardised(values: Any) -> None:
    check_keys("model.standardised", values, ("mean", "sd"), ("mean", "sd"))
    for name, numbers in values.items():
        if not (isinstance(numbers, list) and all(map(is_number, numbers))):
            raise Fault(f"model.standardised.{name}", f"{shown(numbers)} is no list of numbers")


def _is_parameter(value: object, depth: int = 0) -> bool:
    if isinstance(value, list):
        return depth < DEEPEST_PARAMETER and all(_is_parameter(each, depth + 1) for each in value)
    return value is None or isinstance(value, str | bool | float) or is_number(value)
