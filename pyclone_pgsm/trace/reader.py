"""Reading a trace: everything is checked before it is given out (see :mod:`pyclone_pgsm.trace.schema`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import PycloneError, TraceError
from pyclone_pgsm.inputs.observations import LeftOut, Observations
from pyclone_pgsm.likelihoods.model import Model
from pyclone_pgsm.likelihoods.registry import file_digest, is_likelihood_file
from pyclone_pgsm.models import Data, DataMatrix, StoredModel, make_model, names_of
from pyclone_pgsm.samplers.anchors import ANCHOR_PROPOSALS
from pyclone_pgsm.sampling.chain import ChainState
from pyclone_pgsm.stopping import held_back
from pyclone_pgsm.trace import schema, structure
from pyclone_pgsm.trace.options import OUTLIERS, RunOptions
from pyclone_pgsm.trace.schema import FORMAT, MATRICES, SECOND_FORMAT, SERIES, dataset_name
from pyclone_pgsm.trace.values import Fault, Values, check_names, shown, within
from pyclone_pgsm.tumour.grid import prevalence_grid

CHECKED_LABELS = 1 << 22  # read at the same time
LABEL_TYPES = ("uint8", "uint16", "uint32")


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

    Opening checks all but the labels and outliers of the saved iterations, which are checked when they are read, and
    the states, by :meth:`states`; :meth:`check` reads these, too.

    Parameters
    ----------
    path : Path
    likelihood : str or None
        ``FILE.py:CLASS``: the likelihood of a trace whose likelihood is of a file. That file is code, and a trace is
        data: without this it is not run. The file may have another name than when the trace was made, but its content
        must be the same.

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
        The file is missing, no trace, damaged, or from a later version; or `likelihood` is not the trace's.
    """

    def __init__(self, path: Path, likelihood: str | None = None) -> None:
        self.path = path
        if not path.exists():
            raise TraceError(f"{path}: there is no such file")
        if path.is_dir():
            raise TraceError(f"{path}: this is a folder; a trace is a file, mostly named trace.h5")
        with held_back():
            self._open(path, likelihood)

    def _open(self, path: Path, likelihood: str | None) -> None:
        try:
            self._is_sealed = structure.check_seal(path)
            self._file = h5py.File(path, "r")
        except Fault as fault:
            raise self._damage(fault) from fault
        except (OSError, RuntimeError, ValueError) as problem:
            raise TraceError(f"{path}: not a trace of pyclone-pgsm, or damaged: {problem}") from problem
        try:
            self._read()
            self._model = self._trusted_model(likelihood)
        except Fault as fault:
            self.close()
            raise self._damage(fault) from fault
        except TraceError:
            self.close()
            raise
        except Exception as problem:
            self.close()
            reason = f"{problem} is missing" if isinstance(problem, KeyError) else problem
            raise self._damage(reason) from problem

    def _read(self) -> None:
        file = self._file
        config = file.get("config", getlink=True) if "config" in file else None
        if not isinstance(config, h5py.HardLink) or "format" not in file["config"].attrs:
            raise TraceError(f"{self.path}: an HDF5 file, but not a trace of pyclone-pgsm")
        self.format = structure.text_attribute(file["config"], "config", "format")
        if self.format not in (FORMAT, SECOND_FORMAT):
            raise TraceError(
                f"{self.path}: a trace of format {shown(self.format)}; this version reads {FORMAT!r}"
            )
        if self.format == FORMAT and not self._is_sealed:
            raise Fault("", "its first line is not the checksum of the rest")
        structure.check_structure(file, self.format == FORMAT)
        structure.check_members(file, "", ("config", "data", "chains"))
        self._read_config(structure.group_of(file, "", "config"))
        self._read_data(structure.group_of(file, "", "data"))
        chains = structure.group_of(file, "", "chains")
        names = [str(k) for k in range(min(self.options.settings.chains, len(chains) + 1))]
        structure.check_members(chains, "chains", names)
        self._seeds: list[int] = []
        self.chains = [self._read_chain(chains, name) for name in names]

    def _read_config(self, config: h5py.Group) -> None:
        self.command = structure.text_attribute(config, "config", "command")
        self.version = structure.text_attribute(config, "config", "version")
        structure.check_members(config, "config", ())
        text = structure.text_attribute(config, "config", "options")
        try:
            self.options = RunOptions.from_json(text)
        except Fault as fault:
            where = ".".join(filter(None, ("config.options", fault.where)))
            raise Fault(where, fault.reason) from None
        seed = structure.whole_attribute(config, "config", "seed")
        if seed != self.options.settings.seed:
            raise Fault("config.seed", f"is {seed}, but that of the options is {self.options.settings.seed}")

    def _read_data(self, data: h5py.Group) -> None:
        structure.check_members(data, "data", *schema.members_of_data(self.options))
        self.left_out: list[LeftOut] = []
        if self.options.is_tumour:
            found = self._read_observations(data)
            schema.check_observations("data", found, self.options)
            schema.check_hyperparameters(self.options, found.sample_ids)
            self.left_out = [
                _left_out(place, text) for place, text in enumerate(self._texts(data, "left_out"))
            ]
            self.data: Data = found
        else:
            schema.check_hyperparameters(self.options, ())
            self.data = self._read_matrix(data)
        prior, T = self.options.prior, len(names_of(self.data))
        if prior.get("name") == "custom" and len(prior["log_tau2"]) != T + 1:
            raise Fault("config.options.prior.log_tau2", f"has {len(prior['log_tau2'])} numbers, not {T + 1}")

    @staticmethod
    def _texts(group: h5py.Group, name: str, length: int | None = None) -> list[str]:
        return structure.read_texts(group, "data", name, length)

    def _read_observations(self, data: h5py.Group) -> Observations:
        mutation_ids, sample_ids = self._texts(data, "mutation_ids"), self._texts(data, "sample_ids")
        shape = len(mutation_ids), len(sample_ids)
        annotations = structure.group_of(data, "data", "annotations")
        grid_size = self.options.model["grid_size"]
        points = Values("float64", within(0.0, 1.0), "a prevalence")
        if not np.array_equal(
            structure.read(data, "data", "grid", points, (grid_size,)), prevalence_grid(grid_size)
        ):
            raise Fault("data/grid", f"is not the grid of {grid_size} prevalences from 0 to 1")
        matrices: dict[str, Any] = {
            name: structure.read(data, "data", name, kind, shape)
            for name, kind in MATRICES.items()
            if name in data
        }
        return Observations(
            mutation_ids,
            sample_ids,
            **matrices,
            annotations={
                str(name): structure.read_texts(annotations, "data/annotations", name, shape[0])
                for name in annotations
            },
        )

    def _read_matrix(self, data: h5py.Group) -> DataMatrix:
        row_names, column_names = self._texts(data, "row_names"), self._texts(data, "column_names")
        check_names("data/row_names", row_names)
        check_names("data/column_names", column_names, distinct=False)
        number = Values("float64", lambda values: np.ones(values.shape, bool), "a number")
        values = structure.read(data, "data", "values", number, (len(row_names), len(column_names)))
        if values.size == 0:
            raise Fault("data/values", "holds no number")
        standardised = self.options.model.get("standardised", {})
        for name, numbers in standardised.items():
            if len(numbers) != len(column_names):
                raise Fault(
                    f"config.options.model.standardised.{name}", f"is not of {len(column_names)} numbers"
                )
        return DataMatrix(row_names, column_names, values)

    def _read_chain(self, chains: h5py.Group, name: str) -> ChainTrace:
        where = f"chains/{name}"
        chain = structure.group_of(chains, "chains", name)
        structure.check_members(chain, where, schema.members_of_chain(self.options))
        self._seeds.append(structure.whole_attribute(chain, where, "seed"))
        T = len(names_of(self.data))
        rows = structure.dataset_of(chain, where, "labels", LABEL_TYPES, (None, T)).shape[0]
        if self.options.has_outliers:
            structure.dataset_of(chain, where, OUTLIERS, ("bool",), (rows, T))
        found = {
            series: structure.read(chain, where, series, kind, (rows,))
            for series, kind in schema.series_of(self.options).items()
        }
        schema.check_iterations(f"{where}/iteration", found["iteration"], self.options)
        schema.check_concentration(
            f"{where}/concentration", found["concentration"], found.get("discount"), self.options.first_prior
        )
        hyperparameters = {name: found[dataset_name(name)] for name in self.options.traced}
        schema.check_weights(where, hyperparameters)
        return ChainTrace(**{name: found[name] for name in SERIES}, hyperparameters=hyperparameters)

    def _damage(self, reason: object) -> TraceError:
        return TraceError(f"{self.path}: the trace is damaged: {reason}")

    def _trusted_model(self, likelihood: str | None) -> StoredModel | None:
        """The options of the model, with the likelihood of a file as the user named it; None: it was not named."""
        stored = self.options.model
        spec = stored["likelihood"]
        if not is_likelihood_file(spec):
            if likelihood not in (None, spec):
                raise TraceError(f"{self.path}: --likelihood {likelihood!r}: the trace is of {spec!r}")
            return stored
        if likelihood is None:
            return None
        if not is_likelihood_file(likelihood) or likelihood.rpartition(":")[2] != spec.rpartition(":")[2]:
            raise TraceError(f"{self.path}: --likelihood {likelihood!r}: the trace is of {spec!r}")
        if "source" in stored and file_digest(likelihood) != stored["source"]:
            raise TraceError(
                f"{self.path}: --likelihood {likelihood!r}: the file is not the one that the trace was made with "
                f"({spec}): its content differs; give the file as it was then"
            )
        return {**stored, "likelihood": likelihood}

    def check_likelihood(self) -> None:
        """Refuse a trace whose likelihood is code of a file that the user did not name.

        Raises
        ------
        TraceError
        """
        if self._model is None:
            spec = self.options.model["likelihood"]
            raise TraceError(
                f"{self.path}: its likelihood is the code of a file, {spec}, which a trace alone does not run: "
                f"if it is yours, name it with --likelihood FILE.py:{spec.rpartition(':')[2]}"
            )

    def model(self) -> Model:
        """The model of the data.

        Raises
        ------
        TraceError
            The likelihood is of a file that the user did not name, or the stored options and data do not make a model.
        """
        self.check_likelihood()
        assert self._model is not None
        try:
            model = make_model(self.data, self._model)
        except PycloneError as problem:
            raise TraceError(f"{self.path}: {problem}") from problem
        except Exception as problem:
            reason = f"{type(problem).__name__}: {problem}"
            raise self._damage(
                f"config.options.model: no likelihood can be made of it: {reason}"
            ) from problem
        if model.hyperparameters != self.options.hyperparameters:
            listed = ", ".join(map(shown, model.hyperparameters)) or "none"
            raise self._damage(f"config.options.hyperparameters: are not those of the model, {listed}")
        return model

    @property
    def seeds(self) -> set[int]:
        """Of the runs that the chains come from."""
        return set(self._seeds)

    def seed_of(self, chain: int) -> int:
        """Of the run that a chain comes from."""
        return self._seeds[chain]

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

    def labels(self, chain: int, rows: NDArray[np.int64]) -> NDArray[np.unsignedinteger[Any]]:
        """(len(rows), T) labels of saved rows (increasing) of a chain."""
        found = self._rows(chain, "labels", rows)
        outliers = self.outliers(chain, rows) if self.options.has_outliers else None
        where = f"chains/{chain}"
        try:
            schema.check_canonical(f"{where}/labels", found, rows)
            expected = self.chains[chain].num_clusters[rows]
            schema.check_num_clusters(f"{where}/num_clusters", expected, found, outliers, rows)
        except Fault as fault:
            raise self._damage(fault) from fault
        return found

    def outliers(self, chain: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(len(rows), T) whether mutations are outliers in saved rows (increasing) of a chain."""
        return self._rows(chain, OUTLIERS, rows)

    def _rows(self, chain: int, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        try:
            dataset = self._file["chains"][str(chain)][name]
            if len(rows) and rows[-1] - rows[0] < 4 * len(rows):
                return dataset[int(rows[0]) : int(rows[-1]) + 1][rows - rows[0]]
            return np.array([dataset[int(row)] for row in rows], dataset.dtype).reshape(
                len(rows), dataset.shape[1]
            )
        except Exception as problem:
            raise self._damage(f"chains/{chain}/{name}: {problem}") from problem

    def check(self) -> None:
        """Read all labels and states, so that damage shows before anything is built on them.

        Raises
        ------
        TraceError
        """
        for k in range(len(self.chains)):
            for rows in self.blocks_of_rows(k):
                self.labels(k, rows)
        self.states()

    def blocks_of_rows(self, chain: int) -> Iterator[NDArray[np.int64]]:
        """All rows of a chain, as many at a time as memory should hold."""
        total = len(self.chains[chain].iteration)
        step = max(1, CHECKED_LABELS // len(names_of(self.data)))
        for begin in range(0, total, step):
            yield np.arange(begin, min(begin + step, total))

    def states(self) -> list[ChainState]:
        """Where each chain goes on."""
        try:
            return [self._read_state(k) for k in range(len(self.chains))]
        except Exception as problem:
            raise self._damage(problem) from problem

    def _read_state(self, k: int) -> ChainState:
        options, where = self.options, f"chains/{k}/state"
        group = structure.group_of(self._file["chains"][str(k)], f"chains/{k}", "state")
        structure.check_members(group, where, schema.members_of_state(options))
        T = len(names_of(self.data))
        label = Values("int32", within(0, T, below=True), f"the number of a block, below {T}")
        labels = structure.read(group, where, "labels", label, (T,))
        schema.check_canonical(f"{where}/labels", labels[None, :], np.zeros(1, int))
        prior = options.first_prior
        blocks, most = int(labels.max()) + 1, prior.max_blocks(T)
        if blocks > most:
            raise Fault(f"{where}/labels", f"has {blocks} blocks, but the prior allows {most} at most")
        outliers = None
        if options.has_outliers:
            outliers = structure.read(group, where, OUTLIERS, MATRICES["has_data"], (T,))
        proposal = options.settings.proposal
        anchors = ANCHOR_PROPOSALS[proposal](T)
        anchors.restore(schema.read_anchors(group, where, proposal, T))
        iteration = structure.whole_attribute(group, where, "iteration")
        saved = len(self.chains[k].iteration)
        if iteration > options.settings.lengths[0] or iteration // options.settings.thin > saved:
            raise Fault(f"{where}.iteration", f"is {iteration}, but {saved} iterations are saved")
        prior_values = structure.float_attribute(group, where, "prior", len(prior.hyperparameters))
        values = structure.float_attribute(group, where, "hyperparameters", len(options.hyperparameters))
        for name, value in zip(options.hyperparameters, values):
            schema.values_of(options, name).check(
                f"{where}.hyperparameters ({shown(name)})", np.array([value])
            )
        schema.check_weights(f"{where}.hyperparameters", dict(zip(options.hyperparameters, values)))
        return ChainState(
            iteration,
            labels,
            schema.check_prior_values(f"{where}.prior", prior, prior_values),
            values,
            schema.read_generator(where, structure.text_attribute(group, where, "random_generator")),
            anchors,
            outliers,
        )

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _left_out(place: int, text: str) -> LeftOut:
    """One row of ``left_out.tsv``."""
    try:
        row = json.loads(text)
        file, line, *others = row
        is_right = isinstance(file, str) and (line is None or type(line) is int) and len(others) == 3
        if is_right and all(isinstance(each, str) for each in others):
            return LeftOut(*row)
    except (ValueError, TypeError, RecursionError):
        pass
    raise Fault(
        "data/left_out", f"[{place}] is {shown(text)}; expected [file, row, mutation_id, sample_id, reason]"
    )
