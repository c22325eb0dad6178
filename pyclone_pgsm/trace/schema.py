"""What a trace is made of: one description that the writer follows and that every trace is held against when opened.

Nothing of a file is used before it was checked here: first that everything stands in this very file, as whole as its
shapes claim (:func:`check_structure`), then names, types, shapes, ranges and relations. A problem is a
:class:`~pyclone_pgsm.trace.values.Fault`, which names its path in the file.

A file of format 3 begins with the SHA-256 of the rest, which is verified before HDF5 sees any of it: HDF5 may crash on
a damaged file. For programs that read a trace without looking at that, every dataset has a checksum (Fletcher's, of
HDF5), and so has the structure of the file (HDF5's own, from version 1.10 of its format on).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedRandom, BufferedReader
from pathlib import Path
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
from pyclone_pgsm.trace.values import Fault, Values, check_names, of_share, of_whole, shown, within
from pyclone_pgsm.tumour.base_measure import ABSENT, CLONAL
from pyclone_pgsm.tumour.model import ERROR_RATE, PRECISION, content_choice

FORMAT = "pyclone-pgsm trace 3"
SECOND_FORMAT = "pyclone-pgsm trace 2"
HEADER = b"pyclone-pgsm trace; the bytes from 512 on have the SHA-256 "
HEADER_BYTES = 512  # before HDF5's own, which passes over them
VERSIONS = ("v110", "v110")
"""Of the HDF5 format: the first whose structures all have checksums."""

DEEPEST = 4  # /chains/<k>/state/labels
LARGEST_CHUNK = 16 << 20  # bytes
BEST_COMPRESSION = 1032  # of deflate: a byte never stands for more
VARIABLE_LENGTH_BYTES = 16  # of where a text of variable length, as format 2 has them, stands
FILTERS = (h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32)
LARGEST_ATTRIBUTE = 1 << 24  # numbers
LARGEST_INT = 2**63 - 1
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


# the file


def _children(group: h5py.Group, where: str) -> Iterator[tuple[str, h5py.Group | h5py.Dataset]]:
    """Paths and objects of a group, all of them its own."""
    for name in group:
        path = f"{where}/{name}" if where else str(name)
        try:
            link = group.get(name, getlink=True)
        except TypeError:
            link = None
        if not isinstance(link, h5py.HardLink):
            raise Fault(path, "is a link to another place; a trace holds everything itself")
        item = group[name]
        if not isinstance(item, h5py.Group | h5py.Dataset):
            raise Fault(path, "is neither a group nor a dataset")
        yield path, item


def check_structure(file: h5py.File, is_checked: bool = False) -> None:
    """Refuse what leads out of the file, or claims more than it holds, before anything is read.

    Parameters
    ----------
    file : h5py.File
    is_checked : bool
        Every dataset must have a checksum.

    Raises
    ------
    Fault
        A soft or external link, external storage, a virtual dataset, an object with two names, a filter other than
        HDF5's own, or a dataset with fewer chunks than its shape has.
    """
    seen: set[int] = set()
    groups: list[tuple[str, Any]] = [("", file)]
    while groups:
        where, group = groups.pop()
        for path, item in _children(group, where):
            place = h5py.h5o.get_info(item.id).addr
            if place in seen:
                raise Fault(path, "is a second name of something else in this file")
            seen.add(place)
            if isinstance(item, h5py.Dataset):
                _check_storage(path, item, is_checked)
            elif path.count("/") + 1 < DEEPEST:
                groups.append((path, item))
            else:
                raise Fault(path, "is a group where no group is expected")


def _check_storage(where: str, dataset: h5py.Dataset, is_checked: bool) -> None:
    if dataset.is_virtual or dataset.external:
        raise Fault(where, "has its values in another file; a trace holds everything itself")
    shape = dataset.shape
    width = VARIABLE_LENGTH_BYTES if dataset.dtype.kind == "O" else dataset.dtype.itemsize
    if not shape or width == 0:
        raise Fault(where, "is no array")
    creation = dataset.id.get_create_plist()
    filters = [creation.get_filter(k)[0] for k in range(creation.get_nfilters())]
    if not set(filters) <= set(FILTERS):
        raise Fault(where, "is stored with a filter that no trace has")
    if is_checked and h5py.h5z.FILTER_FLETCHER32 not in filters:
        raise Fault(where, "has no checksum")
    size, stored = math.prod(shape) * width, dataset.id.get_storage_size()
    if dataset.chunks is None:
        is_whole = stored == size
    else:
        if math.prod(dataset.chunks) * width > LARGEST_CHUNK:
            raise Fault(where, f"has chunks of the shape {dataset.chunks}, which is too large")
        chunks = math.prod(-(-length // step) for length, step in zip(shape, dataset.chunks))
        is_whole = dataset.id.get_num_chunks() == chunks and size <= BEST_COMPRESSION * stored
    if not is_whole:
        raise Fault(where, f"is of the shape {shape}, but only {stored} bytes of it are there")


def seal(path: Path) -> None:
    """Write the checksum of a trace that was changed."""
    with path.open("r+b") as file:
        line = HEADER + _sha256(file).encode() + b"\n"
        file.seek(0)
        file.write(line.ljust(HEADER_BYTES, b"\0"))


def check_seal(path: Path) -> bool:
    """Whether a file begins with a checksum; its other bytes, of which HDF5 has seen none yet, then have it.

    Raises
    ------
    Fault
        They have not.
    """
    with path.open("rb") as file:
        line, _, filling = file.read(HEADER_BYTES).partition(b"\n")
        if not line.startswith(HEADER):
            return False
        if line != HEADER + _sha256(file).encode() or filling.strip(b"\0"):
            reason = "its content does not have the checksum that stands in its first line"
            raise Fault("", f"{reason} (or another program than pyclone-pgsm changed it)")
        return True


def _sha256(file: BufferedReader | BufferedRandom) -> str:
    """Of all after the header."""
    file.seek(HEADER_BYTES)
    return hashlib.file_digest(file, "sha256").hexdigest()


def attribute(item: h5py.Group | h5py.Dataset, where: str, name: str) -> Any:
    """An attribute: a text, or a number or array of numbers.

    Raises
    ------
    Fault
        It is missing, or anything else.
    """
    path = f"{where}.{name}"
    if name not in item.attrs:
        raise Fault(path, "is missing")
    found = item.attrs.get_id(name)
    if found.dtype.kind not in "OSbiuf" or math.prod(found.shape or ()) > LARGEST_ATTRIBUTE:
        raise Fault(path, "is neither a text nor an array of numbers")
    if found.dtype.kind == "O" and (h5py.check_string_dtype(found.dtype) is None or found.shape != ()):
        raise Fault(path, "is no text")
    value = item.attrs[name]
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            raise Fault(path, "is no UTF-8 text") from None
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise Fault(path, "is no UTF-8 text")
    return value


def text_attribute(item: h5py.Group | h5py.Dataset, where: str, name: str) -> str:
    """An attribute that is a text."""
    value = attribute(item, where, name)
    if not isinstance(value, str):
        raise Fault(f"{where}.{name}", f"{shown(value)} is no text")
    return value


def whole_attribute(item: h5py.Group | h5py.Dataset, where: str, name: str, least: int = 0) -> int:
    """An attribute that is a whole number."""
    value = attribute(item, where, name)
    if not isinstance(value, np.integer) or not least <= int(value) <= LARGEST_INT:
        raise Fault(f"{where}.{name}", f"{shown(value)}; expected a whole number from {least}")
    return int(value)


def float_attribute(item: h5py.Group | h5py.Dataset, where: str, name: str, length: int) -> tuple[float, ...]:
    """An attribute that is a list of so many numbers."""
    value = np.asarray(attribute(item, where, name))
    if value.dtype != np.float64 or value.shape != (length,):
        raise Fault(f"{where}.{name}", f"{shown(value.tolist())}; expected {length} numbers")
    return tuple(map(float, value))


def check_members(group: h5py.Group, where: str, needed: Sequence[str], known: Sequence[str] = ()) -> None:
    """Raise :class:`Fault` unless a group has these members, and no others."""
    found = set(group)
    for name in needed:
        if name not in found:
            raise Fault(f"{where}/{name}".lstrip("/"), "is missing")
    for name in sorted(found - set(needed) - set(known)):
        raise Fault(f"{where}/{name}".lstrip("/"), "is not known to this version")


def group_of(parent: h5py.Group, where: str, name: str) -> h5py.Group:
    """A member of a group that is one itself."""
    item = parent[name]
    if not isinstance(item, h5py.Group):
        raise Fault(f"{where}/{name}".lstrip("/"), "is no group")
    return item


def dataset_of(
    group: h5py.Group, where: str, name: str, kinds: Sequence[str], shape: tuple[int | None, ...]
) -> h5py.Dataset:
    """A dataset of a group, of one of these types and of this shape (None: any length). Nothing of it is read.

    Raises
    ------
    Fault
    """
    path = f"{where}/{name}"
    item = group[name]
    if not isinstance(item, h5py.Dataset):
        raise Fault(path, "is no dataset")
    if item.dtype.kind not in "biuf" or item.dtype not in [np.dtype(kind) for kind in kinds]:
        raise Fault(path, f"is of the type {item.dtype}, not {' or '.join(kinds)}")
    if len(item.shape) != len(shape) or any(
        length is not None and length != found for length, found in zip(shape, item.shape)
    ):
        expected = ", ".join("any" if length is None else str(length) for length in shape)
        raise Fault(path, f"has the shape {item.shape}, not ({expected})")
    return item


def read(
    group: h5py.Group, where: str, name: str, kind: Values, shape: tuple[int | None, ...]
) -> NDArray[Any]:
    """Values of a dataset, checked."""
    values = content(dataset_of(group, where, name, (kind.dtype,), shape), f"{where}/{name}")
    kind.check(f"{where}/{name}", values)
    return values


def content(dataset: h5py.Dataset, where: str) -> NDArray[Any]:
    """All of a dataset.

    Raises
    ------
    Fault
        HDF5 finds it damaged.
    """
    try:
        return dataset[:]
    except (OSError, RuntimeError, ValueError) as problem:
        raise Fault(where, f"cannot be read: {problem}") from problem


def read_texts(group: h5py.Group, where: str, name: str, length: int | None = None) -> list[str]:
    """Texts of a dataset of one dimension."""
    path = f"{where}/{name}"
    item = group[name]
    if (
        not isinstance(item, h5py.Dataset)
        or h5py.check_string_dtype(item.dtype) is None
        or len(item.shape) != 1
    ):
        raise Fault(path, "is no list of texts")
    if length is not None and item.shape != (length,):
        raise Fault(path, f"has {item.shape[0]} texts, not {length}")
    try:
        return [text.decode("utf-8") for text in content(item, path).tolist()]
    except UnicodeDecodeError:
        raise Fault(path, "is no UTF-8 text") from None


# what is clustered


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


# chains


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
