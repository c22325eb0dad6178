"""The resolved options of a tumour model, as a run uses them and its trace stores them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.likelihoods.model import Model
from pyclone_pgsm.tumour.grid import deduplicate
from pyclone_pgsm.tumour.model import PER_SAMPLE, PyCloneModel
from pyclone_pgsm.tumour.outliers import TumourWithOutliers, log_any_share

TUMOUR = "pyclone"
"""Name of the likelihood of a tumour."""


@dataclass(frozen=True)
class TumourOptions:
    """PyClone's model of a tumour.

    Attributes
    ----------
    genotype_prior : str
        One of :data:`pyclone_pgsm.tumour.genotypes.GENOTYPE_PRIORS`.
    density : {"beta-binomial", "binomial"}
    precision : float, None or "infer-per-sample"
        Precision of the beta-binomial. None: it is inferred, or the density is the binomial, which has none.
    grid_size : int
        Number of points of the grid of prevalences.
    prevalence_prior : {"learned", "uniform"}
        Traces that do not name it were made with the uniform one.
    tumour_content : dict of str to Uncertain
        Distributions for the samples whose content is inferred.
    outlier_prob : float
        Probability that a mutation is an outlier; 0 for a model without outliers.
    """

    likelihood: ClassVar[str] = TUMOUR
    genotype_prior: str
    density: str
    precision: float | str | None
    grid_size: int
    prevalence_prior: str = "uniform"
    tumour_content: dict[str, Uncertain] = field(default_factory=dict)
    outlier_prob: float = 0.0

    @property
    def has_outliers(self) -> bool:
        """Whether mutations may be outliers."""
        return self.outlier_prob > 0.0

    @property
    def is_split_by_sample(self) -> bool:
        """Whether there are hyperparameters per sample, so that each sample has its own tables."""
        return self.precision == PER_SAMPLE or bool(self.tumour_content)

    def to_dict(self) -> dict[str, Any]:
        """Return the options in JSON's types, without tumour contents and outliers if there are none."""
        contents = {sample: list(content) for sample, content in self.tumour_content.items()}
        values = {"likelihood": self.likelihood, **vars(self), "tumour_content": contents}
        absent = {name for name in ("tumour_content", "outlier_prob") if not values[name]}
        return {name: value for name, value in values.items() if name not in absent}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TumourOptions:
        """Recreate the options that :meth:`to_dict` returned."""
        contents = values.get("tumour_content", {})
        given = {name: value for name, value in values.items() if name != "likelihood"}
        return cls(**{**given, "tumour_content": {name: Uncertain(*pair) for name, pair in contents.items()}})

    def make_model(self, observations: Observations) -> Model:
        """Make the model of these mutations."""
        model = PyCloneModel(
            deduplicate(observations),
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
