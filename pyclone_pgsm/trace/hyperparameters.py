"""Hyperparameters that a trace may contain, and their values."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.trace.values import Fault, Values, shown, within
from pyclone_pgsm.tumour.base_measure import ABSENT, CLONAL
from pyclone_pgsm.tumour.choices import PRECISION, content_choice, error_rate_choice

HYPERPARAMETERS = {
    "discount": "discount of the Pitman-Yor process",
    "precision": "precision of the likelihood (inf: its limit)",
    "error_rate": "sequencing error rate",
    "tumour_content": "share of cancer cells",
    ABSENT: "weight of the component near 0 of the prevalences' prior",
    CLONAL: "weight of the component near 1 of the prevalences' prior",
}
"""Descriptions of the kinds; the name of a hyperparameter is its kind, or ``kind:SAMPLE``."""


def dataset_name(name: str) -> str:
    """Return the name of a hyperparameter's dataset, without ``/``, which would separate groups in HDF5."""
    return name.replace("%", "%25").replace("/", "%2F")


def describe(name: str) -> str:
    """Return the description of a hyperparameter, for its dataset."""
    kind, _, sample = name.partition(":")
    if kind not in HYPERPARAMETERS:
        return "inferred parameter of the likelihood"
    return HYPERPARAMETERS[kind] + (f" of sample {sample}" if sample else "")


def values_of(name: str, num_mutations: int, contents: Mapping[str, Uncertain]) -> Values:
    """Return the allowed values of a hyperparameter, given the tumour contents that are inferred.

    :class:`Fault` for a name of another kind. Which names a model has is known when it is made
    (:meth:`~pyclone_pgsm.trace.reader.Trace.model`).
    """
    kind, _, sample = name.partition(":")
    if kind == "discount":
        return Values("float64", within(0.0, 1.0, below=True), "at least 0 and below 1")
    if kind in (ABSENT, CLONAL):
        return Values("float64", within(0.0, 1.0, above=True, below=True), "a weight above 0 and below 1")
    if kind == "precision":
        choices = PRECISION.values
    elif kind == "error_rate":
        choices = error_rate_choice(num_mutations).values
    elif kind == "tumour_content" and sample in contents:
        choices = content_choice(contents[sample]).values
    else:
        raise Fault("config.options.hyperparameters", f"{shown(name)} is no hyperparameter of this model")
    listed = ", ".join(f"{value:g}" for value in choices[:3])
    return Values(
        "float64",
        lambda values: np.isin(values, choices),
        f"one of the {len(choices)} values {listed}, .. that it can take",
        grid=choices,
    )


def check_weights(where: str, values: Mapping[str, NDArray[np.float64] | float]) -> None:
    """Raise :class:`Fault` unless the two weights of each sample add up to less than 1."""
    for name, absent in values.items():
        kind, _, sample = name.partition(":")
        if kind == ABSENT and np.any(np.asarray(absent) + values[f"{CLONAL}:{sample}"] >= 1.0):
            raise Fault(f"{where} ({shown(name)})", f"with {CLONAL} of the sample not below 1")
