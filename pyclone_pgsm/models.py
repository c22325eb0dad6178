"""What is clustered, and the model that a trace's options describe.

A tumour is clustered by PyClone's likelihood, any other data, a matrix of numbers, by a likelihood of the registry. The
options are plain values that JSON can hold, so that a trace says all that is needed to go on without the input files:

    {"likelihood": "pyclone", "genotype_prior": .., "density": .., "precision": .., "grid_size": ..,
        "prevalence_prior": ..}, and if the tumour content of some samples is uncertain
        "tumour_content": {SAMPLE: [MEAN, SD], ..}, and if mutations may be outliers "outlier_prob": ..
    {"likelihood": "normal", "parameters": {..}}
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.likelihoods.foreign import blamed, check_answers
from pyclone_pgsm.likelihoods.model import FixedModel, Model
from pyclone_pgsm.likelihoods.registry import BUILT_IN, find_likelihood
from pyclone_pgsm.tumour.grid import deduplicate
from pyclone_pgsm.tumour.model import PyCloneModel
from pyclone_pgsm.tumour.outliers import TumourWithOutliers, log_any_share

StoredModel = dict[str, Any]
TUMOUR = "pyclone"


@dataclass(frozen=True)
class DataMatrix:
    """Rows to cluster.

    Attributes
    ----------
    row_names, column_names : list of str
        Length T and D.
    values : (T, D) float64
    """

    row_names: list[str]
    column_names: list[str]
    values: NDArray[np.float64]


Data = Observations | DataMatrix


def names_of(data: Data) -> list[str]:
    """Names of what is clustered: mutations or rows."""
    return data.mutation_ids if isinstance(data, Observations) else data.row_names


def num_columns(data: Data) -> int:
    """Samples or columns."""
    return len(data.sample_ids if isinstance(data, Observations) else data.column_names)


def make_model(data: Data, options: StoredModel) -> Model:
    """The model of some data.

    Raises
    ------
    UsageError
        The likelihood is not found, or its parameters cannot be.
    DataValueError
        A value that the likelihood cannot take.
    """
    if isinstance(data, Observations):
        model = PyCloneModel(
            deduplicate(data),
            options["grid_size"],
            options["genotype_prior"],
            options["density"],
            options["precision"],
            data.sample_ids,
            {sample: Uncertain(*pair) for sample, pair in options.get("tumour_content", {}).items()},
            options.get("prevalence_prior", "uniform"),
        )
        prob = options.get("outlier_prob", 0.0)
        return TumourWithOutliers(model, prob, log_any_share(data)) if prob else model
    spec, parameters = options["likelihood"], options["parameters"]
    kind = find_table_likelihood(spec, parameters)
    with blamed(spec):
        likelihood = kind.from_data(data.values, **parameters)
    if spec not in BUILT_IN:
        check_answers(spec, likelihood, len(data.values))
    return FixedModel(likelihood, len(data.values))


def find_table_likelihood(spec: str, parameters: Iterable[str]) -> Any:
    """The likelihood class of a name, if it can be made from a matrix and has these parameters.

    Raises
    ------
    UsageError
    """
    likelihood: Any = find_likelihood(spec)
    if spec == TUMOUR:
        raise UsageError(f"--likelihood {spec}: is for tumours: use pyclone-pgsm analyze")
    if not hasattr(likelihood, "from_data"):
        raise UsageError(f"--likelihood {spec!r}: has no method from_data, so it cannot be made from a table")
    known = list(inspect.signature(likelihood.from_data).parameters)[1:]
    for name in parameters:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise UsageError(f"--param {name}: {spec} has no such parameter; its parameters: {listed}")
    return likelihood
