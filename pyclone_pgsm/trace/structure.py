"""The HDF5 file of a trace: checksums, groups, datasets and attributes, each checked when it is read.

Problems are raised as a :class:`~pyclone_pgsm.trace.values.Fault`.

The file begins with the SHA-256 of the rest, which is verified before HDF5 reads the file, because HDF5 may crash on a
damaged file.
"""

import hashlib
import math
from collections.abc import Collection, Sequence
from io import BufferedRandom, BufferedReader
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.trace.values import Fault, Values, shown

HEADER = b"pyclone-pgsm trace; the bytes from 512 on have the SHA-256 "
HEADER_BYTES = 512  # a user block, which HDF5 skips
VERSIONS = ("v110", "v110")
"""Earliest and latest version of the HDF5 format."""
DEEPEST = 4  # /chains/<k>/state/labels
LARGEST_CHUNK = 16 << 20  # bytes
BEST_COMPRESSION = 1032  # deflate: largest number of bytes that one compressed byte can represent
FILTERS = (h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE)
LARGEST_ATTRIBUTE = 1 << 24  # numbers
LARGEST_INT = 2**63 - 1
CHUNK_BYTES = 1 << 20  # in datasets that are written


def path_of(item: h5py.Group | h5py.Dataset) -> str:
    """Return the path of a group or dataset in its file, for messages; "" for the file itself."""
    return str(item.name).strip("/")


def check_structure(file: h5py.File) -> None:
    """Before data are read, raise Fault for references to other files, and for datasets stored incompletely.

    These are soft and external links, external storage, virtual datasets, objects with two names, values of variable
    length, filters other than HDF5's own, and datasets with fewer chunks than their shape requires.
    """
    seen: set[int] = set()
    groups = [file]
    while groups:
        group = groups.pop()
        for name in group:
            path = f"{path_of(group)}/{name}".lstrip("/")
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise Fault(path, "is a link to another place; a trace holds everything itself")
            item = group[name]
            if not isinstance(item, h5py.Group | h5py.Dataset):
                raise Fault(path, "is neither a group nor a dataset")
            place = h5py.h5o.get_info(item.id).addr
            if place in seen:
                raise Fault(path, "is a second name of something else in this file")
            seen.add(place)
            if isinstance(item, h5py.Dataset):
                _check_storage(path, item)
            elif path.count("/") + 1 < DEEPEST:
                groups.append(item)
            else:
                raise Fault(path, "is a group where no group is expected")


def _check_storage(where: str, dataset: h5py.Dataset) -> None:
    if dataset.is_virtual or dataset.external:
        raise Fault(where, "has its values in another file; a trace holds everything itself")
    shape, width = dataset.shape, dataset.dtype.itemsize
    if not shape or width == 0 or dataset.dtype.kind == "O":
        raise Fault(where, "is no array of values of a fixed length")
    creation = dataset.id.get_create_plist()
    filters = [creation.get_filter(k)[0] for k in range(creation.get_nfilters())]
    if not set(filters) <= set(FILTERS):
        raise Fault(where, "is stored with a filter that no trace has")
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
    """Write the checksum into a trace that was changed."""
    with path.open("r+b") as file:
        line = HEADER + _sha256(file).encode() + b"\n"
        file.seek(0)
        file.write(line.ljust(HEADER_BYTES, b"\0"))


def check_seal(path: Path) -> bool:
    """Whether a file begins with a checksum; raise Fault if it is wrong. The file is not opened with HDF5."""
    with path.open("rb") as file:
        line, _, filling = file.read(HEADER_BYTES).partition(b"\n")
        if not line.startswith(HEADER):
            return False
        if line != HEADER + _sha256(file).encode() or filling.strip(b"\0"):
            reason = "its content does not have the checksum that stands in its first line"
            raise Fault("", f"{reason} (or another program than pyclone-pgsm changed it)")
        return True


def is_text(path: Path) -> bool:
    """Whether a file seems to be text: no NUL is at its beginning."""
    with path.open("rb") as file:
        start = file.read(HEADER_BYTES)
    return bool(start) and b"\0" not in start


def _sha256(file: BufferedReader | BufferedRandom) -> str:
    """Return the digest of everything after the header."""
    file.seek(HEADER_BYTES)
    return hashlib.file_digest(file, "sha256").hexdigest()


def attribute(item: h5py.Group | h5py.Dataset, name: str) -> Any:
    """Read an attribute: a text, a number or an array of numbers."""
    path = f"{path_of(item)}.{name}"
    if name not in item.attrs:
        raise Fault(path, "is missing")
    found = item.attrs.get_id(name)
    if found.dtype.kind not in "OSbiuf" or math.prod(found.shape or ()) > LARGEST_ATTRIBUTE:
        raise Fault(path, "is neither a text nor an array of numbers")
    if found.dtype.kind == "O" and (h5py.check_string_dtype(found.dtype) is None or found.shape != ()):
        raise Fault(path, "is no text")
    value = item.attrs[name]
    try:
        if isinstance(value, str):
            value.encode()  # fails for halves of surrogate pairs
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeError:
        raise Fault(path, "is no UTF-8 text") from None


def text_attribute(item: h5py.Group | h5py.Dataset, name: str) -> str:
    """Read an attribute that must be a text."""
    value = attribute(item, name)
    if not isinstance(value, str):
        raise Fault(f"{path_of(item)}.{name}", f"{shown(value)} is no text")
    return value


def whole_attribute(item: h5py.Group | h5py.Dataset, name: str) -> int:
    """Read an attribute that must be a whole number, at least 0."""
    value = attribute(item, name)
    if not isinstance(value, np.integer) or not 0 <= int(value) <= LARGEST_INT:
        raise Fault(f"{path_of(item)}.{name}", f"{shown(value)}; expected a whole number from 0")
    return int(value)


def float_attribute(item: h5py.Group | h5py.Dataset, name: str, length: int) -> tuple[float, ...]:
    """Read an attribute that must be an array of `length` numbers."""
    value = np.asarray(attribute(item, name))
    if value.dtype != np.float64 or value.shape != (length,):
        raise Fault(f"{path_of(item)}.{name}", f"{shown(value.tolist())}; expected {length} numbers")
    return tuple(map(float, value))


def check_members(group: h5py.Group, needed: Collection[str]) -> None:
    """Raise :class:`Fault` unless a group has these members, and no others."""
    found = set(group)
    where = f"{path_of(group)}/".lstrip("/")
    for name in needed:
        if name not in found:
            raise Fault(where + name, "is missing")
    for name in sorted(found - set(needed)):
        raise Fault(where + name, "is not known to this version")


def group_of(parent: h5py.Group, name: str) -> h5py.Group:
    """Return a member that must be a group."""
    item = parent[name]
    if not isinstance(item, h5py.Group):
        raise Fault(path_of(item), "is no group")
    return item


def dataset_of(
    group: h5py.Group, name: str, kinds: Sequence[str], shape: tuple[int | None, ...]
) -> h5py.Dataset:
    """Return a dataset, which must have one of these types and this shape (None: any length), without reading it."""
    item = group[name]
    if not isinstance(item, h5py.Dataset):
        raise Fault(path_of(item), "is no dataset")
    if item.dtype.kind not in "biuf" or item.dtype not in [np.dtype(kind) for kind in kinds]:
        raise Fault(path_of(item), f"is of the type {item.dtype}, not {' or '.join(kinds)}")
    if len(item.shape) != len(shape) or any(
        length is not None and length != found for length, found in zip(shape, item.shape)
    ):
        expected = ", ".join("any" if length is None else str(length) for length in shape)
        raise Fault(path_of(item), f"has the shape {item.shape}, not ({expected})")
    return item


def read(group: h5py.Group, name: str, kind: Values, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Read and check the values of a dataset."""
    values = content(dataset_of(group, name, (kind.dtype,), shape))
    kind.check(f"{path_of(group)}/{name}", values)
    return values


def content(dataset: h5py.Dataset) -> NDArray[Any]:
    """Read a whole dataset; raise Fault if HDF5 finds it damaged."""
    try:
        return dataset[:]
    except (OSError, RuntimeError, ValueError) as problem:
        raise Fault(path_of(dataset), f"cannot be read: {problem}") from problem


def read_texts(group: h5py.Group, name: str, length: int | None = None) -> list[str]:
    """Read the texts of a dataset with one dimension."""
    item = group[name]
    is_dataset = isinstance(item, h5py.Dataset)
    if not is_dataset or h5py.check_string_dtype(item.dtype) is None or len(item.shape) != 1:
        raise Fault(path_of(item), "is no list of texts")
    if length is not None and item.shape != (length,):
        raise Fault(path_of(item), f"has {item.shape[0]} texts, not {length}")
    try:
        return [text.decode("utf-8") for text in content(item).tolist()]
    except UnicodeDecodeError:
        raise Fault(path_of(item), "is no UTF-8 text") from None


def write_texts(group: h5py.Group, name: str, texts: Sequence[str]) -> None:
    """Write texts as UTF-8 of a fixed length."""
    encoded = [text.encode("utf-8", "backslashreplace") for text in texts]
    length = max(map(len, encoded), default=0) or 1
    write_array(group, name, np.array(encoded, h5py.string_dtype("utf-8", length)))


def chunks_of(dtype: np.dtype, columns: tuple[int, ...], most_rows: int) -> tuple[int, ...]:
    """Return the shape of the chunks of a dataset: up to `most_rows` rows, fewer if they have many columns."""
    columns = tuple(max(1, min(length, CHUNK_BYTES // 8)) for length in columns)
    rows = CHUNK_BYTES // (dtype.itemsize * math.prod(columns))
    return max(1, min(rows, most_rows)), *columns


def write_array(group: h5py.Group, name: str, values: NDArray[Any]) -> None:
    """Write a dataset that does not grow, compressed."""
    group.create_dataset(
        name,
        data=values,
        maxshape=None if values.size else (None,) * values.ndim,
        chunks=chunks_of(values.dtype, values.shape[1:], len(values)),
        compression="gzip",
        compression_opts=1,
    )
