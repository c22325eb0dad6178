"""What a trace is made of: one description that the writer follows and that every trace is held against when opened.

Nothing of a file is used before it was checked: first that everything stands in this very file, as whole as its
shapes claim (:mod:`pyclone_pgsm.trace.structure`), then names, types, shapes, ranges and relations. A problem is a
:class:`~pyclone_pgsm.trace.values.Fault`, which names its path in the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs import values as columns
from pyclone_pgsm.inputs.observations import PRIORS_WITHOUT_COPY_NUMBERS, SUBCLONAL, Observations
from pyclone_pgsm.inputs.read_counts.layout import ANNOTATIONS
from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.priors import Prior
from pyclone_pgsm.trace.options import OUTLIERS, RunOptions
from pyclone_pgsm.trace.structure import LARGEST_INT, read
from pyclone_pgsm.trace.values import Fault, Values, check_names, of_share, of_whole, shown, within
from pyclone_pgsm.tumour.base_measure import ABSENT, CLONAL
from pyclone_pgsm.tumour.model import ERROR_RATE, PRECISION, content_choice

FORMAT = "pyclone-pgsm trace 3"
SECOND_FORMAT = "pyclone-pgsm trace 2"
NUMBERED = "blocks are numbered from 0 by first appearance"
MATRICES: dict[str, Values] = {
    "ref_counts": of_whole(columns.READS),
    "alt_counts": of_whole(columns.READS),
    "major_cn": of_whole(columns.COPIES),
    "minor_cn": of_whole(columns.COPIES),
    "normal_cn": of_whole(columns.NORMAL_COPIES),
    "tumour_content": of_share(columns.TUMOUR_CONTENT),
    "error_rate": of_share(columns.ERROR_RATE, math.nan),
    "has_data": Values("bool", within(0, 1), "true or false"),
    "subclonal_major_cn": of_whole(columns.COPIES),
    "subclonal_minor_cn": of_whole(columns.COPIES),
    "subclonal_fraction": of_share(columns.SUBCLONAL_FRACTION, 0.0),
}
"""Datasets of ``/data`` with a row a mutation and a column a sample."""
SERIES: dict[str, Values] = {
    "iteration": Values(
        "int64",
        within(1, LARGEST_INT),
        "a positive number",
        "number of iterations done when the row was saved, burn-in included",
    ),
    "num_clusters": Values("int64", within(0, LARGEST_INT), "a number of clusters", "number of clusters"),
    "concentration": Values(
        "float64",
        lambda values: np.isnan(values) | np.isfinite(values),
        "a finite number",
        "concentration of the partition prior; NaN if it has none",
    ),
    "log_joint": Values("float64", np.isfinite, "a finite number", "log p(data, partition, hyperparameters)"),
    "seconds": Values(
        "float64", within(0.0, math.inf, below=True), "a time of 0 or more", "time that the iteration took"
    ),
}
"""Datasets of a chain with one number a saved iteration."""
ANCHOR_ARRAYS: dict[str, dict[str, str]] = {
    "uniform": {},
    "balanced": {"anchor_labels": "int32"},
    "cluster": {"anchor_labels": "int32", "anchor_scores": "float64"},
    "threshold": {"anchor_labels": "int32", "anchor_blocks": "int32", "anchor_start": "int64"},
}
"""Datasets of the state of each anchor proposal, and their types."""


class Hyperparameter(NamedTuple):
    """A kind of hyperparameter: all of whose names are ``kind``, or ``kind:SAMPLE``.

    Attributes
    ----------
    description : str
    allowed : callable
        From the model's options and the sample ("" for none) to what the values may be.
    of_sample : tuple of bool
        Whether there is one for all samples (False), one of a sample (True), or either.
    """

    description: str
    allowed: Any
    of_sample: tuple[bool, ...]


def _one_of(choices: Sequence[float]) -> Values:
    listed = ", ".join(f"{value:g}" for value in choices[:3])
    return Values(
        "float64",
        lambda values: np.isin(values, choices),
        f"one of the {len(choices)} values {listed}, .. that it can take",
    )


def _content_values(model: dict[str, Any], sample: str) -> Values:
    found = model.get("tumour_content", {})
    if sample not in found:
        raise Fault("config.options.hyperparameters", f"no tumour content of {shown(sample)} is inferred")
    return _one_of(content_choice(Uncertain(*found[sample])).values)


def _weight_values(model: dict[str, Any], sample: str) -> Values:
    return Values("float64", lambda values: (values > 0.0) & (values < 1.0), "a weight above 0 and below 1")


HYPERPARAMETERS: dict[str, Hyperparameter] = {
    "discount": Hyperparameter(
        "discount of the Pitman-Yor process",
        lambda model, sample: Values("float64", within(0.0, 1.0, below=True), "at least 0 and below 1"),
        (False,),
    ),
    "precision": Hyperparameter(
        "precision of the likelihood (inf: its limit)",
        lambda model, sample: _one_of(PRECISION.values),
        (False, True),
    ),
    "error_rate": Hyperparameter(
        "sequencing error rate", lambda model, sample: _one_of(ERROR_RATE.values), (False,)
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
    return HYPERPARAMETERS[kind].description + (f" of sample {sample}" if sample else "")


def check_observations(where: str, data: Observations, options: RunOptions) -> None:
    """Raise :class:`Fault` where the numbers of a tumour cannot be together."""
    check_names(f"{where}/mutation_ids", data.mutation_ids)
    check_names(f"{where}/sample_ids", data.sample_ids)
    for name, texts in data.annotations.items():
        if name not in ANNOTATIONS.values():
            raise Fault(
                f"{where}/annotations",
                f"{shown(name)} is none of {', '.join(sorted(set(ANNOTATIONS.values())))}",
            )
        for place, text in enumerate(texts):
            if any(letter in text for letter in "\t\n\r\0"):
                raise Fault(
                    f"{where}/annotations/{name}", f"[{place}] is {shown(text)}, more than a cell of a table"
                )
    for minor, major in (("minor_cn", "major_cn"), ("subclonal_minor_cn", "subclonal_major_cn")):
        too_large = getattr(data, minor) > getattr(data, major)
        _refuse(f"{where}/{minor}", too_large, f"is more than {major}")
    known = data.has_data
    _refuse(f"{where}/has_data", known & (data.depth == 0), "is true, but there are no reads")
    if options.model["genotype_prior"] not in PRIORS_WITHOUT_COPY_NUMBERS:
        without = (
            known & (data.major_cn == 0) & ((data.subclonal_major_cn == 0) | (data.subclonal_fraction == 0))
        )
        _refuse(f"{where}/has_data", without, "is true, but the tumour has no copy of the locus")
    if not known.any():
        raise Fault(f"{where}/has_data", "is nowhere true")


def _refuse(where: str, is_wrong: NDArray[np.bool_], reason: str) -> None:
    for place in np.argwhere(is_wrong)[:1].tolist():
        raise Fault(where, f"[{', '.join(map(str, place))}] {reason}")


def check_hyperparameters(options: RunOptions, sample_ids: Sequence[str]) -> None:
    """Raise :class:`Fault` unless the names are of known kinds, and of known samples."""
    where = "config.options.hyperparameters"
    if not options.is_tumour and options.hyperparameters:
        raise Fault(where, "a matrix's likelihood has none")
    for sample in options.model.get("tumour_content", {}):
        if sample not in sample_ids:
            raise Fault("config.options.model.tumour_content", f"{shown(sample)} is no sample")
    first: set[str] = set()
    for name in options.hyperparameters:
        kind, colon, sample = name.partition(":")
        known = HYPERPARAMETERS.get(kind)
        if known is None or bool(colon) not in known.of_sample or (colon and sample not in sample_ids):
            raise Fault(where, f"{shown(name)} is no hyperparameter of this model")
        if name in first:
            raise Fault(where, f"{shown(name)} is there twice")
        first.add(name)


def values_of(options: RunOptions, name: str) -> Values:
    """What a hyperparameter's values may be."""
    kind, _, sample = name.partition(":")
    found: Values = HYPERPARAMETERS[kind].allowed(options.model, sample)
    return found


def check_weights(where: str, values: Mapping[str, NDArray[np.float64] | float]) -> None:
    """Raise :class:`Fault` unless the weights of each sample leave some for the third component."""
    for name, absent in values.items():
        kind, _, sample = name.partition(":")
        if kind == ABSENT and np.any(np.asarray(absent) + values[f"{CLONAL}:{sample}"] >= 1.0):
            raise Fault(f"{where} ({shown(name)})", f"with {CLONAL} of the sample more than 1")


def check_prior_values(where: str, prior: Prior, values: Sequence[float]) -> Prior:
    """The partition prior at these values, or a :class:`Fault`."""
    try:
        return prior.with_values(values)
    except UsageError as problem:
        raise Fault(where, str(problem)) from None


def check_iterations(where: str, iteration: NDArray[np.int64], options: RunOptions) -> None:
    """Raise :class:`Fault` unless the saved iterations are every ``thin``-th, in order, up to the last at most."""
    thin, most = options.settings.thin, options.settings.lengths[0]
    backwards = np.flatnonzero(np.diff(iteration) <= 0)
    for row in backwards[:1].tolist():
        raise Fault(
            where,
            f"[{row + 1}] is {iteration[row + 1]} after {iteration[row]}: iterations must "
            "increase (did two programs write this file at the same time?)",
        )
    _refuse(
        where,
        iteration != thin * np.arange(1, len(iteration) + 1),
        f"is not the {thin}-th after the one before",
    )
    _refuse(where, iteration > most, f"is more than the {most} iterations that the chain should have")


def check_canonical(where: str, labels: NDArray[Any], rows: NDArray[np.int64]) -> None:
    """Raise :class:`Fault` unless each row numbers its blocks from 0 by first appearance.

    Parameters
    ----------
    where : str
    labels : (n, T) array of int
    rows : (n,) array of int
        Numbers of the rows, for the message.
    """
    largest = np.maximum.accumulate(labels, axis=1)
    for row in np.flatnonzero(labels[:, 0] != 0)[:1].tolist():
        raise Fault(where, f"[{rows[row]}, 0] is {labels[row, 0]}; expected 0: {NUMBERED}")
    is_new = labels[:, 1:] > largest[:, :-1]
    for row, column in np.argwhere(is_new & (labels[:, 1:] - largest[:, :-1] > 1))[:1].tolist():
        most = int(largest[row, column]) + 1
        value = labels[row, column + 1]
        raise Fault(where, f"[{rows[row]}, {column + 1}] is {value}; expected at most {most}: {NUMBERED}")


def check_num_clusters(
    where: str,
    num_clusters: NDArray[np.int64],
    labels: NDArray[Any],
    outliers: NDArray[np.bool_] | None,
    rows: NDArray[np.int64],
) -> None:
    """Raise :class:`Fault` unless rows have as many blocks, outliers not counted, as they are said to have."""
    counted = labels.max(axis=1, initial=0).astype(np.int64) + 1
    if outliers is not None:
        counted -= outliers.sum(axis=1)  # each is a block of its own
    for row in np.flatnonzero(counted != num_clusters)[:1].tolist():
        raise Fault(where, f"[{rows[row]}] is {num_clusters[row]}, but there are {counted[row]} clusters")


def read_generator(where: str, text: str) -> np.random.Generator:
    """The random generator of a state, or a :class:`Fault`."""
    path = f"{where}.random_generator"
    try:
        state = json.loads(text)
        numbers = [state["state"]["state"], state["state"]["inc"], state["has_uint32"], state["uinteger"]]
        limits = (2**128, 2**128, 2, 2**32)
        is_right = (
            state["bit_generator"] == "PCG64"
            and all(type(number) is int and 0 <= number < most for number, most in zip(numbers, limits))
            and numbers[1] % 2 == 1
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        is_right = False
    if not is_right:
        raise Fault(path, f"{shown(text)} is no state of the generator PCG64")
    generator = np.random.PCG64()
    generator.state = state
    return np.random.Generator(generator)


def check_concentration(
    where: str, concentration: NDArray[np.float64], discount: NDArray[np.float64] | None, prior: Prior
) -> None:
    """Raise :class:`Fault` where a concentration is none that the partition prior can have."""
    if not prior.hyperparameters:
        _refuse(
            where, ~np.isnan(concentration), f"is a number, but the prior {prior.name} has no concentration"
        )
        return
    is_resampled = getattr(prior, "shape", None) is not None
    least = 0.0 if discount is None or is_resampled else -discount
    _refuse(where, ~(concentration > least), "is no concentration that the prior can have")


def read_anchors(
    group: h5py.Group, where: str, proposal: str, num_observations: int
) -> dict[str, NDArray[Any]]:
    """Arrays of an anchor proposal's state: types, shapes and ranges are those that the proposal can be restored from.

    Raises
    ------
    Fault
    """
    T = num_observations
    if proposal == "uniform":
        return {}
    label = Values("int32", within(0, LARGEST_INT), "the number of a block")
    labels = read(group, where, "anchor_labels", label, (T,))
    found: dict[str, NDArray[Any]] = {"anchor_labels": labels}
    if proposal == "balanced":
        return found
    blocks = int(labels.max()) + 1
    if len(np.unique(labels)) != blocks:  # so there are at most T
        raise Fault(f"{where}/anchor_labels", "are not 0, 1, .. without a gap")
    if proposal == "cluster":
        finite = Values("float64", np.isfinite, "a finite number")
        scores = read(group, where, "anchor_scores", finite, (None, None))
        if scores.shape not in ((0, 0), (blocks, blocks)):
            raise Fault(f"{where}/anchor_scores", f"has the shape {scores.shape}, not {(blocks, blocks)}")
        return found | {"anchor_scores": scores}
    places = Values("int32", within(0, blocks, below=True), f"the number of a block, below {blocks}")
    found["anchor_blocks"] = read(group, where, "anchor_blocks", places, (None,))
    most = len(found["anchor_blocks"])
    starts = Values("int64", within(0, most), f"a place in anchor_blocks, at most {most}")
    start = found["anchor_start"] = read(group, where, "anchor_start", starts, (T + 1,))
    if start[0] != 0 or start[-1] != most or (np.diff(start) < 0).any():
        raise Fault(f"{where}/anchor_start", f"does not increase from 0 to {most}")
    return found


def series_of(options: RunOptions) -> dict[str, Values]:
    """What each dataset of a chain with one number a saved iteration may hold, by the dataset's name."""
    return {**SERIES, **{dataset_name(name): values_of(options, name) for name in options.traced}}


def members_of_chain(options: RunOptions) -> tuple[str, ...]:
    """Names of all that a chain's group has."""
    return (*options.by_observation, *series_of(options), "state")


def members_of_state(options: RunOptions) -> tuple[str, ...]:
    """Names of all that a state's group has."""
    outliers = (OUTLIERS,) if options.has_outliers else ()
    return ("labels", *outliers, *ANCHOR_ARRAYS[options.settings.proposal])


def members_of_data(options: RunOptions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of all that the data's group must have, and of what it may have."""
    if not options.is_tumour:
        return ("row_names", "column_names", "values"), ()
    needed = tuple(name for name in MATRICES if name not in SUBCLONAL)
    return ("mutation_ids", "sample_ids", "annotations", "left_out", "grid", *needed), tuple(SUBCLONAL)
