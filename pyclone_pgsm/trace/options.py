"""The kinds of data of a run, and everything else that determines it: in a trace the attribute ``options``, as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.likelihoods.matrix import MatrixOptions
from pyclone_pgsm.priors import Prior, prior_from_dict
from pyclone_pgsm.ranges import is_number
from pyclone_pgsm.sampling.settings import LARGEST_REBUILD, Settings
from pyclone_pgsm.trace.matrix import MatrixData
from pyclone_pgsm.trace.tumour import TumourData
from pyclone_pgsm.trace.values import Fault, check_keys, shown
from pyclone_pgsm.tumour.options import TUMOUR, TumourOptions

Dataset = TumourData | MatrixData
Options = TumourOptions | MatrixOptions

STOPPED = ("converged", "max-iterations", "max-time")
RESOLVED = {"iterations": int, "burn_in": int, "until_converged": bool, "watch": bool}
"""Types of the settings that a run has determined; the others are checked by :class:`Settings`."""


@dataclass(frozen=True)
class RunOptions:
    """Everything that determines a run except the data.

    `prior` is the partition prior with its initial values (:func:`pyclone_pgsm.priors.prior_from_dict`), and
    `hyperparameters` names those of the likelihood that are inferred. The statistics are rebuilt every `rebuild`
    iterations. `stopped`, one of :data:`STOPPED`, says why chains that run until convergence have ended; the settings
    then have the actual number of iterations and the burn-in found. It is None if the chains have not ended, or the
    number of iterations is fixed. `moves` are those of an iteration for which there are counts; none if the chains are
    merged from traces with different moves.
    """

    settings: Settings
    prior: dict[str, Any]
    model: Options
    hyperparameters: tuple[str, ...]
    rebuild: int
    stopped: str | None = None
    moves: tuple[str, ...] = ()

    @property
    def has_watched(self) -> bool:
        """Whether prevalences of some mutations are saved, which the convergence rule checks."""
        return self.model.likelihood == TUMOUR and self.settings.watch

    @property
    def first_prior(self) -> Prior:
        """The partition prior with its initial values."""
        return prior_from_dict(self.prior)

    @property
    def traced(self) -> tuple[str, ...]:
        """Names of the hyperparameters with a dataset, except the concentration, which always has one."""
        return (*self.first_prior.hyperparameters[1:], *self.hyperparameters)

    def to_json(self) -> str:
        values = {**vars(self), "settings": vars(self.settings), "model": self.model.to_dict()}
        return json.dumps(values, sort_keys=True, default=plain)

    @classmethod
    def from_json(cls, text: str) -> RunOptions:
        """Read what :meth:`to_json` wrote; raise :class:`Fault` with the first invalid value."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise Fault("", f"no JSON: {type(problem).__name__}: {problem}") from None
        names = [field.name for field in fields(cls)]
        check_keys("", values, names, [name for name in names if name not in ("stopped", "moves")])
        settings = _read_settings(values["settings"])
        _check_prior(values["prior"])
        model = values["model"]
        if not (isinstance(model, dict) and isinstance(model.get("likelihood"), str)):
            raise Fault("model", f"{shown(model)} names no likelihood")
        model = kind_of(model["likelihood"]).read_options(model)
        for name in ("hyperparameters", "moves"):
            listed = values.setdefault(name, [])
            if not (isinstance(listed, list) and all(isinstance(each, str) for each in listed)):
                raise Fault(name, f"{shown(listed)} is no list of names")
            values[name] = tuple(listed)
        rebuild = values["rebuild"]
        if type(rebuild) is not int or not 1 <= rebuild <= LARGEST_REBUILD:
            raise Fault(
                "rebuild", f"{shown(rebuild)}; expected a whole number between 1 and {LARGEST_REBUILD}"
            )
        stopped = values.get("stopped")
        if stopped is not None and stopped not in STOPPED:
            raise Fault("stopped", f"{shown(stopped)}; expected null or one of {', '.join(STOPPED)}")
        return cls(**{**values, "settings": settings, "model": model})


def kind_of(likelihood: str) -> type[TumourData] | type[MatrixData]:
    """Return the kind of data that a likelihood clusters."""
    return TumourData if likelihood == TUMOUR else MatrixData


def plain(value: Any) -> Any:
    """Convert numpy's numbers and arrays to Python's, for JSON."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a trace cannot hold {value!r}")


def _read_settings(values: Any) -> Settings:
    names = [field.name for field in fields(Settings)]
    check_keys("settings", values, names, RESOLVED)
    for name, kind in RESOLVED.items():
        if type(values[name]) is not kind:
            raise Fault(f"settings.{name}", f"{shown(values[name])} is not of the type {kind.__name__}")
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
    try:
        prior_from_dict(values)
    except UsageError as problem:
        raise Fault("prior", str(problem)) from None
