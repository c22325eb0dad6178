"""The options of the model of a tumour, as a user gives them, and completed for a run and its trace."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.observations import GENOTYPE_PRIORS, Observations
from pyclone_pgsm.inputs.tumour_content import ContentOption, Uncertain, by_name, checked_means, uncertain
from pyclone_pgsm.likelihoods.model import Model
from pyclone_pgsm.ranges import (
    OR_NONE,
    Effects,
    check_choice,
    check_effects,
    check_number,
    check_whole,
    refuse,
)
from pyclone_pgsm.tumour.grid import DENSITIES, choose_grid_size, deduplicate, prevalence_grid
from pyclone_pgsm.tumour.model import PER_SAMPLE, PREVALENCE_PRIORS, PyCloneModel
from pyclone_pgsm.tumour.outliers import TumourWithOutliers, log_any_share

TUMOUR = "pyclone"
"""Name of the likelihood of a tumour."""
LEAST_PRECISION, MOST_PRECISION = 0.1, 1e9
LEAST_OUTLIERS = 1e-9
EFFECTS: Effects = {"precision": ("density", ("beta-binomial",))}
"""Options of one density."""


@dataclass(frozen=True)
class ModelOptions:
    """Options of the tumour model, named as on the command line.

    Attributes
    ----------
    genotype_prior : str
        See :mod:`pyclone_pgsm.tumour.genotypes`.
    density : {"beta-binomial", "binomial"}
    precision : float, None or "infer-per-sample"
        Precision of the beta-binomial, between 0.1 and 1e9, or infinite. None: inferred; "infer-per-sample": inferred
        for each sample.
    grid_size : int or None
        Grid points; None: chosen from the data.
    tumour_content : float, Uncertain, mapping of sample to one of these, or None
        As in :func:`pyclone_pgsm.inputs.read_counts.tables.read_tables`. An uncertain one is inferred.
    outlier_prob : float
        Prior probability that a mutation is an outlier (:mod:`pyclone_pgsm.tumour.outliers`), at least 0 and below 1.
    prevalence_prior : {"learned", "uniform"}
        Prior of a cluster's prevalence in each sample (:mod:`pyclone_pgsm.tumour.base_measure`).
    """

    genotype_prior: str = "major"
    density: str = "beta-binomial"
    precision: float | str | None = None
    grid_size: int | None = None
    tumour_content: ContentOption = None
    outlier_prob: float = 0.0
    prevalence_prior: str = "learned"

    def __post_init__(self) -> None:
        for name, known in (
            ("genotype_prior", GENOTYPE_PRIORS),
            ("density", DENSITIES),
            ("prevalence_prior", PREVALENCE_PRIORS),
        ):
            check_choice(name, getattr(self, name), known)
        if isinstance(self.precision, str):
            if self.precision != PER_SAMPLE:
                expected = f"a positive number, {PER_SAMPLE!r}, or None, which infers it"
                refuse("precision", self.precision, expected)
        elif self.precision is not None:
            precision = check_number("precision", self.precision)
            if not (LEAST_PRECISION <= precision <= MOST_PRECISION or precision == math.inf):
                raise UsageError(
                    f"`precision` {precision}: must be between {LEAST_PRECISION:g}, below which nearly all reads of a "
                    f"mutation would be of one allele, and {MOST_PRECISION:g}, above which it is the binomial "
                    "(`density` binomial)"
                )
            object.__setattr__(self, "precision", precision)
        check_effects([] if self.precision is None else ["precision"], vars(self), EFFECTS)
        checked_means(self.tumour_content)
        object.__setattr__(self, "tumour_content", by_name(self.tumour_content))
        if self.grid_size is not None:
            object.__setattr__(self, "grid_size", check_whole("grid_size", self.grid_size, OR_NONE))
            if not 11 <= self.grid_size <= 10_001:
                raise UsageError(f"`grid_size` {self.grid_size}: must be between 11 and 10001")
        object.__setattr__(self, "outlier_prob", check_number("outlier_prob", self.outlier_prob))
        if self.outlier_prob != 0.0 and not LEAST_OUTLIERS <= self.outlier_prob <= 1.0 - LEAST_OUTLIERS:
            raise UsageError(
                f"`outlier_prob` {self.outlier_prob}: must be 0, or between {LEAST_OUTLIERS:g} and 1 - "
                f"{LEAST_OUTLIERS:g}: nearer to 0 or 1 no number of mutations would tell the difference"
            )

    def resolve(self, observations: Observations) -> TumourOptions:
        """Return the options, completed by those chosen from the data."""
        num_rows = deduplicate(observations, self.genotype_prior).num_rows
        seen = observations.as_seen_by(self.genotype_prior)
        grid_size = self.grid_size or choose_grid_size(seen, num_rows, self.prevalence_prior)
        contents = uncertain(self.tumour_content, observations.sample_ids)
        return TumourOptions(**{**vars(self), "grid_size": grid_size, "tumour_content": contents})


@dataclass(frozen=True)
class TumourOptions(ModelOptions):
    """Options completed by :meth:`ModelOptions.resolve`.

    The size of the grid is a number, and only the tumour contents that are inferred remain, by sample. The precision is
    None if it is inferred, or if the density is the binomial, which has none.
    """

    likelihood: ClassVar[str] = TUMOUR
    grid_size: int = 101
    tumour_content: dict[str, Uncertain] = field(default_factory=dict)

    @property
    def has_outliers(self) -> bool:
        """Whether mutations may be outliers."""
        return self.outlier_prob > 0.0

    @property
    def grid(self) -> NDArray[np.float64]:
        """(G,) prevalences at which likelihoods are computed."""
        return prevalence_grid(self.grid_size, self.prevalence_prior)

    def to_dict(self) -> dict[str, Any]:
        """Return the options in JSON's types, without tumour contents and outliers if there are none."""
        contents = {sample: list(content) for sample, content in self.tumour_content.items()}
        values = {"likelihood": self.likelihood, **vars(self), "tumour_content": contents}
        absent = {name for name in ("tumour_content", "outlier_prob") if not values[name]}
        return {name: value for name, value in values.items() if name not in absent}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TumourOptions:
        """Recreate the options that :meth:`to_dict` returned."""
        given = dict(values)
        del given["likelihood"]
        contents = given.pop("tumour_content", {})
        return cls(**given, tumour_content={name: Uncertain(*pair) for name, pair in contents.items()})

    def make_model(self, observations: Observations) -> Model:
        """Make the model of these mutations."""
        model = PyCloneModel(
            deduplicate(observations, self.genotype_prior),
            self.grid_size,
            self.genotype_prior,
            math.inf if self.density == "binomial" else self.precision,
            observations.sample_ids,
            self.tumour_content,
            self.prevalence_prior,
        )
        if not self.has_outliers:
            return model
        return TumourWithOutliers(model, self.outlier_prob, log_any_share(observations))
