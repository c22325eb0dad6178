"""The trace: an HDF5 file that holds the data, the settings and every saved iteration of every chain.

    /config             attributes: format, version, command, options (JSON), seed
    /data               enough to go on without the input files: ids, counts, copy numbers and what was left out of a
                        tumour; names and values of any other matrix
    /chains/<k>/        labels [iterations, T], iteration, num_clusters, concentration, log_joint, seconds, and one
                        dataset for each other hyperparameter of the partition prior (discount) and of the likelihood
                        (precision, error_rate, tumour_content:SAMPLE, ..); outliers [iterations, T] if mutations may be
    /chains/<k>/state   what the chain needs to go on: iterations done, labels, outliers, random generator, ...

Every flush appends to a copy in memory, writes that and renames it over the original. A reader, or a run killed at any
moment, therefore only ever meets a whole file; HDF5 alone does not promise that of a file that is being written.

Format 2 holds the data and the likelihood of any model and any partition prior. Format 1, of tumours and Dirichlet
processes only, is still read, and becomes format 2 when its chains go on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm import __version__
from pyclone_pgsm.chains import ChainState, Records, Settings
from pyclone_pgsm.errors import TraceError
from pyclone_pgsm.hdf5 import changed_file, new_file
from pyclone_pgsm.inputs.observations import SUBCLONAL, LeftOut, Observations
from pyclone_pgsm.models import TUMOUR, Data, DataMatrix, StoredModel, names_of
from pyclone_pgsm.priors import Prior, prior_from_dict
from pyclone_pgsm.samplers.anchors import ANCHOR_PROPOSALS
from pyclone_pgsm.tumour.base_measure import ABSENT, CLONAL
from pyclone_pgsm.tumour.grid import prevalence_grid

FORMAT = "pyclone-pgsm trace 2"
FIRST_FORMAT = "pyclone-pgsm trace 1"
MATRICES = (
    "ref_counts",
    "alt_counts",
    "major_cn",
    "minor_cn",
    "normal_cn",
    "tumour_content",
    "error_rate",
    "has_data",
    *SUBCLONAL,
)
SERIES: dict[str, tuple[str, str]] = {
    "iteration": ("int64", "number of iterations done when the row was saved, burn-in included"),
    "num_clusters": ("int64", "number of clusters"),
    "concentration": ("float64", "concentration of the partition prior; NaN if it has none"),
    "log_joint": ("float64", "log p(data, partition, hyperparameters)"),
    "seconds": ("float64", "time that the iteration took"),
}
HYPERPARAMETERS = {
    "discount": "discount of the Pitman-Yor process",
    "precision": "precision of the likelihood (inf: its limit)",
    "error_rate": "sequencing error rate",
    "tumour_content": "share of cancer cells",
    ABSENT: "weight of the component near 0 of the prevalences' base measure",
    CLONAL: "weight of the component near 1 of the prevalences' base measure",
}
"""Descriptions by name, in the trace also with a sample: ``precision:SAMPLE`` (``/`` written ``%2F``)."""
OUTLIERS = "outliers"
CHUNK_BYTES = 1 << 20
FLUSH_SECONDS = 5.0
FLUSH_SHARE = 0.05  # of the time may go into flushing
FLUSH_BYTES = 256 << 20  # of labels may wait in memory
CHECKED_ROWS = 64  # read at the same time


@dataclass(frozen=True)
class RunOptions:
    """All that determines a run besides the data: stored in the trace as JSON.

    Attributes
    ----------
    settings : Settings
    prior : dict
        The partition prior at its start (see :func:`pyclone_pgsm.priors.prior_from_dict`).
    model : dict
        The likelihood and its parameters (see :mod:`pyclone_pgsm.models`).
    hyperparameters : tuple of str
        Names of the likelihood's hyperparameters that are inferred.
    rebuild : int
        Iterations between two rebuilds of the statistics.
    """

    settings: Settings
    prior: dict[str, Any]
    model: StoredModel
    hyperparameters: tuple[str, ...]
    rebuild: int

    @property
    def is_tumour(self) -> bool:
        """Whether the data are a tumour's and not a matrix."""
        return bool(self.model["likelihood"] == TUMOUR)

    @property
    def has_outliers(self) -> bool:
        """Whether mutations may be outliers."""
        return "outlier_prob" in self.model

    @property
    def by_observation(self) -> tuple[str, ...]:
        """Names of the datasets that have a column an observation."""
        return ("labels", OUTLIERS) if self.has_outliers else ("labels",)

    @property
    def first_prior(self) -> Prior:
        """The partition prior at its start."""
        return prior_from_dict(self.prior)

    @property
    def traced(self) -> tuple[str, ...]:
        """Names of the hyperparameters that have a dataset, besides the concentration, which always has one."""
        return (*self.first_prior.hyperparameters[1:], *self.hyperparameters)

    def to_json(self) -> str:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return json.dumps({**values, "settings": self.settings.to_dict()}, sort_keys=True, default=_plain)

    @classmethod
    def from_json(cls, text: str) -> RunOptions:
        values = json.loads(text)
        values["settings"] = Settings(**values["settings"])
        values["hyperparameters"] = tuple(values["hyperparameters"])
        return cls(**values)

    @classmethod
    def from_first_format(cls, text: str) -> RunOptions:
        """From the options of a trace of format 1."""
        values = json.loads(text)
        names = ("genotype_prior", "density", "precision", "grid_size")
        return cls(
            Settings(**values["settings"]),
            {
                "name": "dp",
                "concentration": values["concentration"],
                "shape": values["concentration_shape"],
                "rate": values["concentration_rate"],
            },
            {"likelihood": TUMOUR, **{name: values[name] for name in names}},
            ("precision",) if values["density"] == "beta-binomial" and values["precision"] is None else (),
            values["rebuild"],
        )


def _plain(value: Any) -> Any:
    """Numbers and arrays of numpy as JSON can hold them."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a trace cannot hold {value!r}")


def _write_texts(group: h5py.Group, name: str, texts: Sequence[str]) -> None:
    group.create_dataset(name, data=np.array(texts, dtype=object), dtype=h5py.string_dtype())


def _read_texts(group: h5py.Group, name: str) -> list[str]:
    return list(group[name].asstr()[:])


def create_trace(
    path: Path,
    data: Data,
    left_out: Sequence[LeftOut],
    options: RunOptions,
    command: str,
    states: Sequence[ChainState],
) -> None:
    """Write a trace without iterations: data, options and the first state of each chain.

    Parameters
    ----------
    path : Path
    data : Observations or DataMatrix
    left_out : sequence of LeftOut
        Of a tumour.
    options : RunOptions
    command : str
    states : sequence of ChainState

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    with new_file(path) as file:
        _write_config(file, options, command)
        if isinstance(data, Observations):
            _write_observations(file, data, left_out)
            file["data"].create_dataset("grid", data=prevalence_grid(options.model["grid_size"]))
        else:
            _write_matrix(file, data)
        chains = file.create_group("chains")
        for k, state in enumerate(states):
            _create_chain(chains, str(k), len(names_of(data)), options)
            chains[str(k)].attrs["seed"] = options.settings.seed
            _write_state(chains[str(k)], state)


def _write_config(file: h5py.File, options: RunOptions, command: str) -> None:
    config = file.create_group("config")
    config.attrs["format"] = FORMAT
    config.attrs["version"] = __version__
    config.attrs["command"] = command
    config.attrs["options"] = options.to_json()
    config.attrs["seed"] = options.settings.seed
    config.attrs["description"] = __doc__ or ""


def _write_matrix(file: h5py.File, matrix: DataMatrix) -> None:
    data = file.create_group("data")
    data.attrs["description"] = "values: T rows x D columns, and their names"
    _write_texts(data, "row_names", matrix.row_names)
    _write_texts(data, "column_names", matrix.column_names)
    data.create_dataset("values", data=matrix.values, compression="gzip", compression_opts=1, fletcher32=True)


def _write_observations(file: h5py.File, observations: Observations, left_out: Sequence[LeftOut]) -> None:
    data = file.create_group("data")
    data.attrs["description"] = (
        "T mutations x D samples; values where has_data is false are placeholders. "
        "subclonal_fraction: share of the tumour cells that hold a second copy-number state, 0 where there is one. "
        "grid: the cellular prevalences of the likelihood. "
        "left_out: JSON, one list [file, row, mutation_id, sample_id, reason] a line of left_out.tsv"
    )
    _write_texts(data, "mutation_ids", observations.mutation_ids)
    _write_texts(data, "sample_ids", observations.sample_ids)
    for name in MATRICES:
        data.create_dataset(name, data=getattr(observations, name), compression="gzip", compression_opts=1)
    annotations = data.create_group("annotations")
    for name, texts in observations.annotations.items():
        _write_texts(annotations, name, texts)
    _write_texts(data, "left_out", [json.dumps(row) for row in left_out])


def _create_chain(chains: h5py.Group, name: str, num_observations: int, options: RunOptions) -> None:
    chain = chains.create_group(name)
    _create_labels(chain, num_observations, np.dtype(np.uint8))
    if options.has_outliers:
        text = "whether each mutation is an outlier; in the labels it is then a block of its own"
        _create_rows(chain, OUTLIERS, num_observations, np.dtype(bool), text)
    for series, (kind, description) in SERIES.items():
        _create_series(chain, series, kind, description)
    for series in options.traced:
        kind, _, sample = series.partition(":")
        description = HYPERPARAMETERS[kind] + (f" of sample {sample}" if sample else "")
        _create_series(chain, _dataset(series), "float64", description)


def _dataset(name: str) -> str:
    """Name of a hyperparameter's dataset: HDF5 would take a ``/`` in a sample's name for a folder."""
    return name.replace("%", "%25").replace("/", "%2F")


def _create_series(chain: h5py.Group, name: str, kind: str, description: str) -> None:
    chain.create_dataset(name, shape=(0,), maxshape=(None,), chunks=(1024,), dtype=kind, fletcher32=True)
    chain[name].attrs["description"] = description


def _create_labels(chain: h5py.Group, num_observations: int, dtype: np.dtype[Any]) -> None:
    text = "block of each observation, numbered by first appearance"
    _create_rows(chain, "labels", num_observations, dtype, text)


def _create_rows(
    chain: h5py.Group, name: str, num_observations: int, dtype: np.dtype[Any], description: str
) -> None:
    """A dataset with a row an iteration and a column an observation."""
    columns = min(num_observations, CHUNK_BYTES // 8)
    rows = max(1, min(64, CHUNK_BYTES // (columns * dtype.itemsize)))
    chain.create_dataset(
        name,
        shape=(0, num_observations),
        maxshape=(None, num_observations),
        chunks=(rows, columns),
        dtype=dtype,
        compression="gzip",
        compression_opts=1,
        fletcher32=True,
    )
    chain[name].attrs["description"] = description


def _write_state(chain: h5py.Group, state: ChainState) -> None:
    if "state" in chain:
        del chain["state"]
    group = chain.create_group("state")
    # texts of fixed length: each new variable-length one would take 4 KB of the file for good
    group.attrs["description"] = np.bytes_("where the chain goes on")
    group.attrs["iteration"] = state.iteration
    group.attrs["prior"] = np.array(state.prior.values(), float)
    group.attrs["hyperparameters"] = np.array(state.values, float)
    group.attrs["random_generator"] = np.bytes_(json.dumps(state.rng.bit_generator.state))
    kept = {"labels": state.labels} | ({} if state.outliers is None else {OUTLIERS: state.outliers})
    for name, array in kept.items():
        group.create_dataset(name, data=array, compression="gzip", compression_opts=1, fletcher32=True)
    for name, array in state.anchors.state().items():
        group.create_dataset(name, data=array)


def _read_state(chain: h5py.Group, options: RunOptions) -> ChainState:
    group = chain["state"]
    generator = np.random.PCG64()
    generator.state = json.loads(group.attrs["random_generator"])
    labels = group["labels"][:].astype(np.int32)
    anchors = ANCHOR_PROPOSALS[options.settings.proposal](len(labels))
    anchors.restore({name: group[name][:] for name in anchors.state()})
    prior_values = group.attrs["prior"] if "prior" in group.attrs else [group.attrs["concentration"]]
    return ChainState(
        int(group.attrs["iteration"]),
        labels,
        options.first_prior.with_values(tuple(map(float, prior_values))),
        tuple(map(float, group.attrs["hyperparameters"])),
        np.random.Generator(generator),
        anchors,
        group[OUTLIERS][:].astype(bool) if options.has_outliers else None,
    )


def _append(chain: h5py.Group, records: Records, traced: Sequence[str]) -> None:
    rows = len(records.iteration)
    if rows == 0:
        return
    labels = np.array(records.labels)
    _make_room(chain, int(labels.max()))
    columns: dict[str, Any] = {"labels": labels, **{name: getattr(records, name) for name in SERIES}}
    others = [(*prior[1:], *values) for prior, values in zip(records.prior_values, records.values)]
    columns |= zip(map(_dataset, traced), zip(*others))
    if records.outliers:
        columns[OUTLIERS] = np.array(records.outliers)
    for name, values in columns.items():
        dataset = chain[name]
        dataset.resize(len(dataset) + rows, axis=0)
        dataset[-rows:] = values


def _make_room(chain: h5py.Group, largest: int) -> None:
    """Give the labels a larger type when there are more clusters than the present one can number."""
    needed = np.min_scalar_type(largest)
    if needed.itemsize <= chain["labels"].dtype.itemsize:
        return
    before = chain["labels"][:]
    del chain["labels"]
    _create_labels(chain, before.shape[1], needed)
    chain["labels"].resize(len(before), axis=0)
    chain["labels"][:] = before


class TraceWriter:
    """Collects what the chains give and flushes it to the file now and then.

    Parameters
    ----------
    path : Path
        A trace made by :func:`create_trace`.
    traced : sequence of str
        Names of the traced hyperparameters (:attr:`RunOptions.traced`).
    flush_seconds : float
        Least time between two flushes; longer where flushing would take more than 5 % of the time.
    """

    def __init__(self, path: Path, traced: Sequence[str], flush_seconds: float = FLUSH_SECONDS) -> None:
        self.path = path
        self.traced = traced
        self.interval = flush_seconds
        self.pending: dict[int, tuple[list[Records], ChainState]] = {}
        self.last = time.monotonic()
        self.bytes = 0

    def add(self, chain: int, state: ChainState, records: Records) -> None:
        """Take over a segment of a chain and the state after it."""
        waiting, _ = self.pending.get(chain, ([], state))
        self.pending[chain] = ([*waiting, records], state)
        self.bytes += sum(labels.nbytes for labels in records.labels)
        if time.monotonic() - self.last > self.interval or self.bytes > FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Bring the file up to date."""
        if not self.pending:
            return
        started = time.monotonic()
        with changed_file(self.path) as file:
            for k, (waiting, state) in sorted(self.pending.items()):
                chain = file["chains"][str(k)]
                for records in waiting:
                    _append(chain, records, self.traced)
                _write_state(chain, state)
        self.pending = {}
        self.bytes = 0
        self.last = time.monotonic()
        self.interval = max(self.interval, (self.last - started) / FLUSH_SHARE)


@dataclass(frozen=True)
class ChainTrace:
    """Saved iterations of one chain: n rows.

    Attributes
    ----------
    iteration, num_clusters : (n,) int64
    concentration, log_joint, seconds : (n,) float64
    hyperparameters : dict of str to (n,) float64
        The others of :attr:`RunOptions.traced`.
    """

    iteration: NDArray[np.int64]
    num_clusters: NDArray[np.int64]
    concentration: NDArray[np.float64]
    log_joint: NDArray[np.float64]
    seconds: NDArray[np.float64]
    hyperparameters: dict[str, NDArray[np.float64]]


class Trace:
    """A trace opened for reading. Use it as a context manager.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    options : RunOptions
    command, version : str
        What made the trace.
    data : Observations or DataMatrix
    left_out : list of LeftOut
        Of a tumour; else empty.
    chains : list of ChainTrace

    Raises
    ------
    TraceError
        The file is missing, no trace, damaged, or from a later version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            raise TraceError(f"{path}: there is no such file")
        if path.is_dir():
            raise TraceError(f"{path}: this is a folder; a trace is a file, mostly named trace.h5")
        try:
            self._file = h5py.File(path, "r")
        except OSError as problem:
            raise TraceError(f"{path}: not a trace of pyclone-pgsm, or damaged: {problem}") from problem
        try:
            self._read()
        except TraceError:
            self._file.close()
            raise
        except Exception as problem:
            self._file.close()
            reason = f"{problem} is missing" if isinstance(problem, KeyError) else problem
            raise self._damage(reason) from problem

    def _read(self) -> None:
        found = self._file["config"].attrs.get("format") if "config" in self._file else None
        if found is None:
            raise TraceError(f"{self.path}: an HDF5 file, but not a trace of pyclone-pgsm")
        if found not in (FORMAT, FIRST_FORMAT):
            raise TraceError(f"{self.path}: a trace of format {found!r}; this version reads {FORMAT!r}")
        config = self._file["config"].attrs
        self.command = str(config["command"])
        self.version = str(config["version"])
        read_options = RunOptions.from_json if found == FORMAT else RunOptions.from_first_format
        self.options = read_options(config["options"])
        self.data: Data = self._read_observations() if self.options.is_tumour else self._read_matrix()
        self.left_out = [LeftOut(*row) for row in self._read_left_out()]
        count = self.options.settings.chains
        if set(self._file["chains"]) != set(map(str, range(count))):
            raise self._damage(f"it should hold {count} chains")
        self.chains = [self._read_chain(self._file["chains"][str(k)]) for k in range(count)]

    @property
    def observations(self) -> Observations:
        """The data of a tumour's trace."""
        if not isinstance(self.data, Observations):
            raise TraceError(f"{self.path}: a trace of {self.options.model['likelihood']}, not of a tumour")
        return self.data

    @property
    def matrix(self) -> DataMatrix:
        """The data of any other trace."""
        if not isinstance(self.data, DataMatrix):
            raise TraceError(f"{self.path}: a trace of a tumour, not of a matrix")
        return self.data

    def _read_observations(self) -> Observations:
        data = self._file["data"]
        mutation_ids, sample_ids = _read_texts(data, "mutation_ids"), _read_texts(data, "sample_ids")
        matrices = {name: data[name][:] for name in MATRICES if name in data or name not in SUBCLONAL}
        for name, values in matrices.items():
            self._check_shape(f"data/{name}", values.shape, (len(mutation_ids), len(sample_ids)))
            if values.min(initial=0) < 0:
                raise self._damage(f"data/{name} holds negative numbers")
        return Observations(
            mutation_ids,
            sample_ids,
            **matrices,
            annotations={name: _read_texts(data["annotations"], name) for name in data["annotations"]},
        )

    def _read_matrix(self) -> DataMatrix:
        data = self._file["data"]
        row_names, column_names = _read_texts(data, "row_names"), _read_texts(data, "column_names")
        values = data["values"][:]
        self._check_shape("data/values", values.shape, (len(row_names), len(column_names)))
        return DataMatrix(row_names, column_names, values)

    def _damage(self, reason: object) -> TraceError:
        return TraceError(f"{self.path}: the trace is damaged: {reason}")

    def _check_shape(self, name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
        if shape != expected:
            raise self._damage(f"{name} has the shape {shape}, not {expected}")

    def _read_left_out(self) -> list[list[Any]]:
        if not self.options.is_tumour:
            return []
        return [json.loads(row) for row in _read_texts(self._file["data"], "left_out")]

    def _read_chain(self, chain: h5py.Group) -> ChainTrace:
        series = {name: chain[name][:] for name in SERIES}
        values = {name: chain[_dataset(name)][:] for name in self.options.traced}
        names = (*SERIES, *map(_dataset, self.options.traced), *self.options.by_observation)
        rows = {len(chain[name]) for name in names}
        if len(rows) != 1:
            raise self._damage(f"{chain.name} has columns of different lengths")
        for name in self.options.by_observation:
            expected = (*rows, len(names_of(self.data)))
            self._check_shape(f"{chain.name}/{name}", chain[name].shape, expected)
        if not np.isfinite(series["log_joint"]).all():
            raise self._damage(f"{chain.name}/log_joint is not finite")
        return ChainTrace(**series, hyperparameters=values)

    def labels(self, chain: int, rows: NDArray[np.int64]) -> NDArray[np.unsignedinteger[Any]]:
        """(len(rows), T) labels of saved rows (increasing) of a chain."""
        found = self._rows(chain, "labels", rows)
        if found.max(initial=0) >= found.shape[1]:
            raise self._damage(f"chain {chain} has a label {found.max()}")
        return found

    def outliers(self, chain: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(len(rows), T) whether mutations are outliers in saved rows (increasing) of a chain."""
        return self._rows(chain, OUTLIERS, rows)

    def _rows(self, chain: int, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        try:
            dataset = self._file["chains"][str(chain)][name]
            if len(rows) and rows[-1] - rows[0] < 4 * len(rows):
                return dataset[int(rows[0]) : int(rows[-1]) + 1][rows - rows[0]]
            return np.array([dataset[int(row)] for row in rows]).reshape(len(rows), dataset.shape[1])
        except Exception as problem:
            raise self._damage(problem) from problem

    def check(self) -> None:
        """Read all labels and states, so that damage shows before anything is built on them.

        Raises
        ------
        TraceError
        """
        for k, chain in enumerate(self.chains):
            for begin in range(0, len(chain.iteration), CHECKED_ROWS):
                rows = np.arange(begin, min(begin + CHECKED_ROWS, len(chain.iteration)))
                self.labels(k, rows)
                if self.options.has_outliers:
                    self.outliers(k, rows)
        self.states()

    def states(self) -> list[ChainState]:
        """Where each chain goes on."""
        try:
            return [_read_state(self._file["chains"][str(k)], self.options) for k in range(len(self.chains))]
        except Exception as problem:
            raise self._damage(problem) from problem

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def extend_trace(path: Path, options: RunOptions) -> None:
    """Prepare a trace for more iterations: store the new number, and forget rows after each chain's state.

    (The last rows of a chain can be later than its state if its number of iterations was no multiple of the rebuild
    interval; they are made again, the same.)
    """
    with changed_file(path) as file:
        file["config"].attrs["format"] = FORMAT
        file["config"].attrs["options"] = options.to_json()
        for chain in file["chains"].values():
            keep = int(np.searchsorted(chain["iteration"][:], chain["state"].attrs["iteration"], "right"))
            for name in (*options.by_observation, *SERIES, *map(_dataset, options.traced)):
                chain[name].resize(keep, axis=0)


def merge_traces(paths: Sequence[Path], out: Path) -> int:
    """Put the chains of several runs on the same data into one trace.

    Parameters
    ----------
    paths : sequence of Path
        Traces with the same data and model; seeds must differ.
    out : Path

    Returns
    -------
    int
        Number of chains.

    Raises
    ------
    TraceError
        A trace cannot be read, or they do not belong together.
    """
    options: RunOptions | None = None
    seen: dict[int, Path] = {}
    for path in paths:  # what is no trace is refused before a folder is made
        Trace(path).close()
    with new_file(out) as merged:
        count = 0
        for path in paths:
            with Trace(path) as trace:
                trace.check()
                if options is None:
                    options, first, data = trace.options, path, trace.data
                    for name in ("config", "data"):
                        trace._file.copy(name, merged)
                    merged.create_group("chains")
                else:
                    _check_same(first, options, data, path, trace)
                chains = [trace._file["chains"][str(k)] for k in range(len(trace.chains))]
                seeds = {int(chain.attrs["seed"]) for chain in chains}
                for seed in sorted(seeds & seen.keys()):
                    raise TraceError(
                        f"{path}: its seed {seed} is also that of {seen[seed]}: run it with another --seed"
                    )
                seen |= dict.fromkeys(seeds, path)
                for chain in chains:
                    trace._file.copy(chain, merged["chains"], name=str(count))
                    count += 1
        if options is None:
            raise TraceError("no trace to merge")
        options = replace(options, settings=replace(options.settings, chains=count))
        merged["config"].attrs["format"] = FORMAT
        merged["config"].attrs["options"] = options.to_json()
    return count


def _same_data(one: Data, other: Data) -> bool:
    if isinstance(one, Observations) and isinstance(other, Observations):
        return (
            one.mutation_ids == other.mutation_ids
            and one.sample_ids == other.sample_ids
            and all(
                np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in MATRICES
            )
        )
    if isinstance(one, DataMatrix) and isinstance(other, DataMatrix):
        return (
            one.row_names == other.row_names
            and one.column_names == other.column_names
            and np.array_equal(one.values, other.values)
        )
    return False


def _must_agree(options: RunOptions) -> dict[str, Any]:
    """What traces that are merged must have in common; the start of what is resampled need not be."""
    prior = {"name": None, **options.prior}
    resampled = {"concentration": prior.get("shape") is not None, "discount": prior.get("infer_discount")}
    for name, is_resampled in resampled.items():
        if is_resampled:
            prior[name] = "resampled"
    settings = options.settings
    return {
        **options.model,
        **{f"the prior's {name}": value for name, value in prior.items()},
        "iterations": settings.iterations,
        "burn_in": settings.burn_in,
        "thin": settings.thin,
        "anchor_proposal": settings.proposal,
    }


def _check_same(first: Path, options: RunOptions, data: Data, path: Path, trace: Trace) -> None:
    if not _same_data(data, trace.data):
        raise TraceError(f"{path}: its data differ from those of {first}")
    mine, its = _must_agree(options), _must_agree(trace.options)
    for name in mine | its:
        if mine.get(name) != its.get(name):
            raise TraceError(f"{path}: {name} {its.get(name)!r} differs from {mine.get(name)!r} of {first}")
