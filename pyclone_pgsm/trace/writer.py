"""Writing a trace.

Every flush appends to a copy in memory, writes that to disk, and renames it over the original. The file is therefore
complete at every moment, for readers and if the run is killed; HDF5 alone does not guarantee this for a file that is
being written. HDF5 does not survive a full disk, either: objects whose content could not be written cannot be closed,
and closing the file nevertheless ends in a segmentation fault. Writes to memory do not fail in this way, and a failure
to write the copy to disk is reported. The writer holds the lock of the file (:func:`pyclone_pgsm.locks.writing`).
Signals are delayed while HDF5 works, because h5py turns the exceptions that they raise into other errors.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from pyclone_pgsm import __version__
from pyclone_pgsm.errors import TraceError, UsageError
from pyclone_pgsm.files import replacing, storable
from pyclone_pgsm.sampling.chain import ChainState, Records
from pyclone_pgsm.stopping import held_back
from pyclone_pgsm.trace.hyperparameters import dataset_name
from pyclone_pgsm.trace.options import Dataset, RunOptions
from pyclone_pgsm.trace.reader import Trace
from pyclone_pgsm.trace.schema import FORMAT, LAYOUT, SERIES, datasets_of_chain
from pyclone_pgsm.trace.structure import HEADER_BYTES, VERSIONS, chunks_of, seal, write_array
from pyclone_pgsm.trace.values import Values

ARRAYS = ("labels", "outliers", "watched", "moves")  # datasets with several numbers for each saved iteration
SERIES_ROWS = 1024  # rows of a chunk
FLUSH_SECONDS = 5.0
FLUSH_SHARE = 0.05  # largest share of the time for flushing
FLUSH_BYTES = 256 << 20  # labels that may wait in memory
FILE_SPACE: dict[str, Any] = {"fs_strategy": "fsm", "fs_persist": True}  # reuse the space of deleted states


@contextmanager
def _written(path: Path, image: BytesIO, **how: Any) -> Iterator[h5py.File]:
    """Yield a trace in memory; after the block it is written and sealed."""
    with held_back(), h5py.File(image, libver=VERSIONS, **how) as file:
        yield file
    path.write_bytes(image.getbuffer())
    seal(path)


def new_file(path: Path) -> AbstractContextManager[h5py.File]:
    """Yield a new trace; after the block it is written to `path`."""
    return _written(path, BytesIO(), mode="w", userblock_size=HEADER_BYTES, **FILE_SPACE)


@contextmanager
def changed_file(path: Path) -> Iterator[h5py.File]:
    """Yield a copy of a trace for changes; after the block it replaces the trace."""
    try:
        with replacing(path) as part, _written(part, BytesIO(path.read_bytes()), mode="r+") as file:
            yield file
    except (RuntimeError, ValueError, KeyError) as problem:  # damage that HDF5 finds only when it writes
        raise TraceError(f"{path}: the trace is damaged: {problem}") from problem


def create_trace(
    path: Path,
    data: Dataset,
    options: RunOptions,
    command: str,
    states: Sequence[ChainState],
) -> None:
    """Write a trace without iterations: data, options and the first state of each chain.

    OutputError if the file cannot be written; UsageError if a trace cannot store the data or options, for which the
    file is read back before it gets its final name.
    """
    with replacing(path) as temporary:
        with new_file(temporary) as file:
            write_config(file, options, command)
            data.write(file.create_group("data"))
            chains = file.create_group("chains")
            for k, state in enumerate(states):
                write_state(create_chain(chains, str(k), data, options, options.settings.seed), state)
        try:
            with Trace(temporary) as written:
                written.check()
        except TraceError as problem:
            reason = str(problem).removeprefix(f"{temporary}: the trace is damaged: ")
            raise UsageError(f"{path}: a trace cannot hold this: {reason}") from problem


def write_config(file: h5py.File, options: RunOptions, command: str, version: str = __version__) -> None:
    """Write the group ``/config``."""
    config = file.create_group("config")
    config.attrs["format"] = FORMAT
    config.attrs["version"] = version
    config.attrs["command"] = storable(command)
    config.attrs["options"] = options.to_json()
    config.attrs["seed"] = options.settings.seed
    config.attrs["description"] = LAYOUT


def create_chain(chains: h5py.Group, name: str, data: Dataset, options: RunOptions, seed: int) -> h5py.Group:
    """Create the group of a chain, without iterations and state."""
    chain = chains.create_group(name)
    chain.attrs["seed"] = seed
    for dataset, kind in datasets_of_chain(data, options).items():
        _create_rows(chain, dataset, kind)
    return chain


def _create_rows(chain: h5py.Group, name: str, kind: Values) -> None:
    """Create a dataset that grows with the saved iterations."""
    chain.create_dataset(
        name,
        shape=(0, *kind.shape),
        maxshape=(None, *kind.shape),
        chunks=chunks_of(np.dtype(kind.dtype), kind.shape, 64 if kind.shape else SERIES_ROWS),
        dtype=kind.dtype,
        compression="gzip" if kind.shape else None,
        compression_opts=1 if kind.shape else None,
    )
    chain[name].attrs["description"] = kind.description


def write_state(chain: h5py.Group, state: ChainState) -> None:
    """Replace the state of a chain."""
    if "state" in chain:
        del chain["state"]
    group = chain.create_group("state")
    # texts of fixed length: each new text of variable length would permanently take 4 KB of the file
    group.attrs["description"] = np.bytes_("where the chain goes on")
    group.attrs["iteration"] = state.iteration
    group.attrs["prior"] = np.array(state.prior.values(), float)
    group.attrs["hyperparameters"] = np.array(state.values, float)
    group.attrs["random_generator"] = np.bytes_(json.dumps(state.rng.bit_generator.state))
    write_array(group, "labels", np.asarray(state.labels, np.int32))
    write_array(group, "visits", np.asarray(state.visits, np.int64))
    if state.outliers is not None:
        write_array(group, "outliers", np.asarray(state.outliers, bool))
    for name, array in state.anchors.state().items():
        write_array(group, name, array)


def append(chain: h5py.Group, columns: dict[str, Any]) -> None:
    """Append rows to the datasets of a chain; `columns` has the rows of each dataset by name."""
    rows = len(columns["labels"])
    if rows == 0:
        return
    _make_room(chain, int(columns["labels"].max()))
    for name, values in columns.items():
        dataset = chain[name]
        dataset.resize(len(dataset) + rows, axis=0)
        dataset[-rows:] = values


def _columns(chain: h5py.Group, records: Records, traced: Sequence[str]) -> dict[str, Any]:
    """Return the rows of a chain's datasets for records."""
    others = [(*prior[1:], *values) for prior, values in zip(records.prior_values, records.values)]
    columns = {name: np.array(getattr(records, name)) for name in (*ARRAYS, *SERIES) if name in chain}
    return columns | dict(zip(map(dataset_name, traced), zip(*others)))


def _make_room(chain: h5py.Group, largest: int) -> None:
    """Convert the labels to a larger type if `largest` does not fit into the present one."""
    needed = np.min_scalar_type(largest)
    if needed.itemsize <= chain["labels"].dtype.itemsize:
        return
    before, description = chain["labels"][:], chain["labels"].attrs["description"]
    del chain["labels"]
    _create_rows(chain, "labels", Values(needed.name, np.isfinite, "", description, before.shape[1:]))
    chain["labels"].resize(len(before), axis=0)
    chain["labels"][:] = before


class TraceWriter:
    """Collects the records of the chains, and flushes them to a trace made by :func:`create_trace` at intervals.

    `traced` are the names of the traced hyperparameters (:attr:`RunOptions.traced`). Two flushes are
    :data:`FLUSH_SECONDS` apart, or more if flushing would take more than 5 % of the time.
    """

    def __init__(self, path: Path, traced: Sequence[str]) -> None:
        self.path = path
        self.traced = traced
        self.interval = FLUSH_SECONDS
        self.pending: dict[int, tuple[list[Records], ChainState]] = {}
        self.last = time.monotonic()
        self.bytes = 0

    def add(self, chain: int, state: ChainState, records: Records) -> None:
        """Add a segment of a chain and the state after it."""
        waiting, _ = self.pending.get(chain, ([], state))
        self.pending[chain] = ([*waiting, records], state)
        self.bytes += sum(labels.nbytes for labels in records.labels)
        if time.monotonic() - self.last > self.interval or self.bytes > FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write everything collected to the file."""
        if not self.pending:
            return
        started = time.monotonic()
        with changed_file(self.path) as file:
            for k, (waiting, state) in sorted(self.pending.items()):
                chain = file["chains"][str(k)]
                for records in waiting:
                    append(chain, _columns(chain, records, self.traced))
                write_state(chain, state)
        self.pending = {}
        self.bytes = 0
        self.last = time.monotonic()
        self.interval = max(self.interval, (self.last - started) / FLUSH_SHARE)


def change_options(path: Path, options: RunOptions, command: str = "") -> None:
    """Store other options, and remove rows after each chain's state, so that the chains can continue.

    `command` is the one that adds iterations, if any; it is stored after the earlier ones.

    The last rows of a chain can be later than its state if its number of iterations was not a multiple of the rebuild
    interval; they are sampled again, with the same result.
    """
    with changed_file(path) as file:
        config = file["config"].attrs
        config["options"] = options.to_json()
        config["command"] = "\n".join(filter(None, [config["command"], storable(command)]))
        for chain in file["chains"].values():
            keep = int(np.searchsorted(chain["iteration"][:], chain["state"].attrs["iteration"], "right"))
            for name in set(chain) - {"state"}:
                chain[name].resize(keep, axis=0)
