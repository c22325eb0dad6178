"""The hyperparameters that a chain may trace: what their values may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.trace.values import Fault, Values, shown, within
from pyclone_pgsm.tumour.base_measure import ABSENT, CLONAL
from pyclone_pgsm.tumour.model import PRECISION, content_choice, error_rate_choice

Contents = Mapping[str, Uncertain]
"""The tumour contents that are inferred, by sample."""


class Hyperparameter(NamedTuple):
    """A kind of hyperparameter: all of whose names are ``kind``, or ``kind:SAMPLE``.

    Attributes
    ----------
    description : str
    allowed : callable
        From the number of mutations, the tumour contents that are inferred and the sample ("" for none) to what the
        values may be.
    of_sample : tuple of bool
        Whether there is one for all samples (False), one of a sample (True), or either.
    """

    description: str
    allowed: Callable[[int, Contents, str], Values]
    of_sample: tuple[bool, ...]


def _one_of(choices: Sequence[float]) -> Values:
    listed = ", ".join(f"{value:g}" for value in choices[:3])
    return Values(
        "float64",
        lambda values: np.isin(values, choices),
        f"one of the {len(choices)} values {listed}, .. that it can take",
    )


def _content_values(num_mutations: int, contents: Contents, sample: str) -> Values:
    if sample not in contents:
        raise Fault("config.options.hyperparameters", f"no tumour content of {shown(sample)} is inferred")
    return _one_of(content_choice(contents[sample]).values)


def _weight_values(num_mutations: int, contents: Contents, sample: str) -> Values:
    return Values("float64", lambda values: (values > 0.0) & (values < 1.0), "a weight above 0 and below 1")


HYPERPARAMETERS: dict[str, Hyperparameter] = {
    "discount": Hyperparameter(
        "discount of the Pitman-Yor process",
        lambda num_mutations, contents, sample: Values(
            "float64", within(0.0, 1.0, below=True), "at least 0 and below 1"
        ),
        (False,),
    ),
    "precision": Hyperparameter(
        "precision of the likelihood (inf: its limit)",
        lambda num_mutations, contents, sample: _one_of(PRECISION.values),
        (False, True),
    ),
    "error_rate": Hyperparameter(
        "sequencing error rate",
        lambda num_mutations, contents, sample: _one_of(error_rate_choice(num_mutations).values),
        (False,),
    ),
    "tumour_content": Hyperparameter("share of cancer cells", _content_values, (True,)),
    ABSENT: Hyperparameter(
        "weight of the component near 0 of the prevalences' prior", _weight_values, (True,)
    ),
    CLONAL: Hyperparameter(
        "weight of the component near 1 of the prevalences' prior", _weight_values, (True,)
    ),
}
"""By kind; in the trace also with a sample: ``precision:SAMPLE`` (``/`` written ``%2F``)."""


def dataset_name(name: str) -> str:
    """Name of a hyperparameter's dataset: HDF5 would take a ``/`` in a sample's name for a folder."""
    return name.replace("%", "%25").replace("/", "%2F")


def describe(name: str) -> str:
    """Of a hyperparameter, for its dataset's own attribute."""
    kind, _, sample = name.partition(":")
    if kind not in HYPERPARAMETERS:
        return "inferred parameter of the likelihood"
    return HYPERPARAMETERS[kind].description + (f" of sample {sample}" if sample else "")


def values_of(name: str, num_mutations: int, contents: Contents) -> Values:
    """What a hyperparameter's values may be."""
    kind, _, sample = name.partition(":")
    return HYPERPARAMETERS[kind].allowed(num_mutations, contents, sample)


def check_weights(where: str, values: Mapping[str, NDArray[np.float64] | float]) -> None:
    """Raise :class:`Fault` unless the weights of each sample leave some for the third component."""
    for name, absent in values.items():
        kind, _, sample = name.partition(":")
        if kind == ABSENT and np.any(np.asarray(absent) + values[f"{CLONAL}:{sample}"] >= 1.0):
            raise Fault(f"{where} ({shown(name)})", f"with {CLONAL} of the sample more than 1")
