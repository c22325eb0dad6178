"""Reading a trace: everything is checked before it is used (see :mod:`pyclone_pgsm.trace.schema`)."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import h5py
import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import PycloneError, TraceError
from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.likelihoods.choice import num_values
from pyclone_pgsm.likelihoods.matrix import DataMatrix
from pyclone_pgsm.likelihoods.model import Model
from pyclone_pgsm.likelihoods.registry import file_digest, is_likelihood_file
from pyclone_pgsm.samplers.anchors import ANCHOR_PROPOSALS
from pyclone_pgsm.sampling.chain import ChainState
from pyclone_pgsm.sampling.moves import COUNTS, names_of_moves
from pyclone_pgsm.stopping import held_back
from pyclone_pgsm.trace import schema, structure
from pyclone_pgsm.trace.hyperparameters import check_weights, dataset_name
from pyclone_pgsm.trace.matrix import MatrixData
from pyclone_pgsm.trace.options import Dataset, RunOptions, kind_of
from pyclone_pgsm.trace.schema import FORMAT, LABEL_TYPES, SERIES
from pyclone_pgsm.trace.tumour import TumourData
from pyclone_pgsm.trace.values import Fault, Values, shown, within

CHECKED_LABELS = 1 << 22  # labels read at once
D = TypeVar("D", TumourData, MatrixData)


@dataclass(frozen=True)
class ChainTrace:
    """Saved iterations of one chain, n rows, (n,) each.

    `hyperparameters` are the values of :attr:`RunOptions.traced`, and `moves` (n, M, 4) the
    :data:`~pyclone_pgsm.sampling.moves.COUNTS` of each of the M :attr:`RunOptions.moves` in the iteration.
    """

    iteration: NDArray[np.int64]
    num_clusters: NDArray[np.int64]
    concentration: NDArray[np.float64]
    log_joint: NDArray[np.float64]
    seconds: NDArray[np.float64]
    hyperparameters: dict[str, NDArray[np.float64]]
    moves: NDArray[np.int32]

    @property
    def last_iteration(self) -> int:
        """Number of the last saved iteration; 0 if there is none."""
        return int(self.iteration[-1]) if len(self.iteration) else 0


class Trace(AbstractContextManager["Trace"]):
    """A trace opened for reading. Use it as a context manager.

    Opening checks everything except the labels, outliers and watched prevalences of the saved iterations, and the
    states. These are checked when they are read; :meth:`check` reads them all.

    `likelihood` is ``FILE.py:CLASS``, for a trace whose likelihood's code is in a file. A trace alone never causes such
    code to be run. The file may have been renamed since the trace was made, but its content must be the same.

    `command` and `version` are those of the program that made the trace, `seeds` those of each chain's run.

    TraceError if the file does not exist, is not a trace, is damaged, or is from another version, or if `likelihood` is
    not the trace's; UsageError if the file that `likelihood` names does not exist.
    """

    def __init__(self, path: Path, likelihood: str | None = None) -> None:
        self.path = path
        if not path.exists():
            raise TraceError(f"{path}: there is no such file")
        if path.is_dir():
            raise TraceError(f"{path}: this is a folder; a trace is a file, mostly named trace.h5")
        if not path.is_file():  # opening a pipe may wait for ever
            raise TraceError(f"{path}: this is a pipe or a device; write the trace to a file")
        with held_back():
            self._open(path, likelihood)

    def _open(self, path: Path, likelihood: str | None) -> None:
        try:
            if not structure.check_seal(path):
                if structure.is_text(path):
                    raise TraceError(
                        f"{path}: not a trace of pyclone-pgsm, or damaged: it seems to be text. Tables of mutations "
                        "are read by pyclone-pgsm analyze, other tables by pyclone-pgsm cluster; a trace is mostly "
                        "named trace.h5"
                    )
                raise TraceError(
                    f"{path}: not a trace of pyclone-pgsm, or damaged, or of an earlier version: its first line is not "
                    "the checksum of the rest"
                )
            self._file = h5py.File(path, "r")
        except Fault as fault:
            raise self._damage(fault) from fault
        except (OSError, RuntimeError, ValueError) as problem:
            raise TraceError(f"{path}: not a trace of pyclone-pgsm, or damaged: {problem}") from problem
        try:
            with self._damage_told():
                self._read()
            self._likelihood = self._trusted_likelihood(likelihood)
        except (PycloneError, MemoryError):
            self.close()
            raise

    def _read(self) -> None:
        file = self._file
        structure.check_structure(file)
        if "config" not in file:
            raise Fault("config", "is missing")
        config = structure.group_of(file, "config")
        version = structure.text_attribute(config, "format")
        if version != FORMAT:
            raise TraceError(
                f"{self.path}: a trace of format {shown(version)}; this version reads {FORMAT!r}"
            )
        structure.check_members(file, ("config", "data", "chains"))
        self._read_config(config)
        self._read_data(structure.group_of(file, "data"))
        chains = structure.group_of(file, "chains")
        names = [str(k) for k in range(min(self.options.settings.chains, len(chains) + 1))]
        structure.check_members(chains, names)
        self.seeds: list[int] = []
        self.chains = [self._read_chain(chains, name) for name in names]

    def _read_config(self, config: h5py.Group) -> None:
        self.command = structure.text_attribute(config, "command")
        self.version = structure.text_attribute(config, "version")
        structure.check_members(config, ())
        text = structure.text_attribute(config, "options")
        try:
            self.options = RunOptions.from_json(text)
        except Fault as fault:
            where = ".".join(filter(None, ("config.options", fault.where)))
            raise Fault(where, fault.reason) from None
        seed = structure.whole_attribute(config, "seed")
        if seed != self.options.settings.seed:
            raise Fault("config.seed", f"is {seed}, but that of the options is {self.options.settings.seed}")

    def _read_data(self, group: h5py.Group) -> None:
        kind: Any = kind_of(self.options.model.likelihood)
        self.data: Dataset = kind.read(group, self.options.model)
        prior, T = self.options.prior, len(self.data.names)
        if prior.get("name") == "custom" and len(prior["log_tau2"]) != T + 1:
            raise Fault("config.options.prior.log_tau2", f"has {len(prior['log_tau2'])} numbers, not {T + 1}")
        moves = names_of_moves(self.options.settings, T, "exchange" in self.options.moves)
        if self.options.moves not in ((), moves):
            raise Fault("config.options.moves", f"are not those of the settings, {', '.join(moves)}")

    def _read_chain(self, chains: h5py.Group, name: str) -> ChainTrace:
        where = f"chains/{name}"
        chain = structure.group_of(chains, name)
        datasets = schema.datasets_of_chain(self.data, self.options)
        structure.check_members(chain, (*datasets, "state"))
        self.seeds.append(structure.whole_attribute(chain, "seed"))
        rows: int | None = None
        found = {}
        for series, kind in datasets.items():
            if series in ("labels", "outliers", "watched"):
                kinds = LABEL_TYPES if series == "labels" else (kind.dtype,)
                rows = structure.dataset_of(chain, series, kinds, (rows, *kind.shape)).shape[0]
            else:
                found[series] = structure.read(chain, series, kind, (rows, *kind.shape))
        schema.check_iterations(f"{where}/iteration", found["iteration"], self.options)
        schema.check_concentration(
            f"{where}/concentration", found["concentration"], found.get("discount"), self.options.first_prior
        )
        hyperparameters = {name: found[dataset_name(name)] for name in self.options.traced}
        check_weights(where, hyperparameters)
        moves = found.get("moves", np.zeros((rows or 0, 0, len(COUNTS)), np.int32))
        schema.check_moves(f"{where}/moves", moves)
        return ChainTrace(
            **{name: found[name] for name in SERIES}, hyperparameters=hyperparameters, moves=moves
        )

    @contextmanager
    def _damage_told(self, where: str = "") -> Iterator[None]:
        """Turn all problems with the content of the file, at the path `where`, into :class:`TraceError`."""
        try:
            yield
        except (TraceError, MemoryError):
            raise
        except Exception as problem:
            reason = f"{problem} is missing" if isinstance(problem, KeyError) else problem
            raise self._damage(f"{where}: {reason}" if where else reason) from problem

    def _damage(self, reason: object) -> TraceError:
        return TraceError(f"{self.path}: the trace is damaged: {reason}")

    def _trusted_likelihood(self, likelihood: str | None) -> str | None:
        """Return the name of the likelihood, or the file that the user named; None if its file was not named."""
        spec = self.options.model.likelihood
        if likelihood is None:
            return None if is_likelihood_file(spec) else spec
        are_files = is_likelihood_file(spec) and is_likelihood_file(likelihood)
        may_be_same = are_files and likelihood.rpartition(":")[2] == spec.rpartition(":")[2]
        if likelihood != spec and not may_be_same:
            raise TraceError(f"{self.path}: `likelihood` {likelihood!r}: the trace is of {spec!r}")
        source = self.options.model.to_dict().get("source")
        if source is not None and file_digest(likelihood) != source:
            raise TraceError(
                f"{self.path}: `likelihood` {likelihood!r}: the file is not the one that the trace was made with "
                f"({spec}): its content differs; give the file as it was then"
            )
        return likelihood

    def check_likelihood(self) -> str:
        """Return the name of the likelihood; TraceError if its code is in a file that the user has not named."""
        if self._likelihood is None:
            spec = self.options.model.likelihood
            raise TraceError(
                f"{self.path}: its likelihood is the code of a file, {spec}, which a trace alone does not run: "
                f"if it is yours, name it with `likelihood` FILE.py:{spec.rpartition(':')[2]}"
            )
        return self._likelihood

    @cached_property
    def model(self) -> Model:
        """The model of the data; TraceError if it is impossible to make, or not allowed."""
        likelihood = self.check_likelihood()
        try:
            model = self.data.make_model(likelihood)
        except PycloneError as problem:
            raise TraceError(f"{self.path}: {problem}") from problem
        except Exception as problem:
            reason = f"no likelihood can be made of it: {type(problem).__name__}: {problem}"
            raise self._damage(f"config.options.model: {reason}") from problem
        if model.hyperparameters != self.options.hyperparameters:
            listed = ", ".join(map(shown, model.hyperparameters)) or "none"
            raise self._damage(f"config.options.hyperparameters: are not those of the model, {listed}")
        return model

    @property
    def observations(self) -> Observations:
        """The data of a tumour's trace."""
        return self.data_of(TumourData).observations

    @property
    def matrix(self) -> DataMatrix:
        """The data of a matrix's trace."""
        return self.data_of(MatrixData).matrix

    def data_of(self, kind: type[D]) -> D:
        """Return the data; TraceError if they are not of this kind."""
        if not isinstance(self.data, kind):
            raise TraceError(f"{self.path}: a trace of {self.options.model.likelihood}, not of a {kind.kind}")
        return self.data

    def labels(self, chain: int, rows: NDArray[np.int64]) -> NDArray[np.unsignedinteger[Any]]:
        """Read the labels (len(rows), T) of saved rows (increasing) of a chain."""
        found = self.rows_of(chain, "labels", rows)
        outliers = self.outliers(chain, rows)
        with self._damage_told():
            schema.check_canonical(f"chains/{chain}/labels", found, rows)
            expected = self.chains[chain].num_clusters[rows]
            schema.check_num_clusters(f"chains/{chain}/num_clusters", expected, found, outliers, rows)
        return found

    def outliers(self, chain: int, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Read whether observations are outliers (len(rows), T) in saved rows (increasing) of a chain."""
        if not self.options.model.has_outliers:
            return np.broadcast_to(np.False_, (len(rows), len(self.data.names)))
        return self.rows_of(chain, "outliers", rows)

    def watched(self, chain: int, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Read watched prevalences (len(rows), W) of saved rows (increasing) of a chain; W is 0 if none are saved."""
        if not self.options.has_watched:
            return np.zeros((len(rows), 0), np.float32)
        found = self.rows_of(chain, "watched", rows)
        if not np.isfinite(found).all():
            raise self._damage(f"chains/{chain}/watched has a value that is not finite")
        return found

    @property
    def burn_in(self) -> int:
        """Iterations to skip: the burn-in of the run, or half of the iterations if interrupted before it was found."""
        settings = self.options.settings
        if settings.until_converged and self.options.stopped is None:
            return min((c.last_iteration for c in self.chains if c.last_iteration), default=0) // 2
        return settings.lengths[1]

    def rows_of(self, chain: int, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Read saved rows (increasing) of a dataset of a chain, without checks."""
        with self._damage_told(f"chains/{chain}/{name}"):
            dataset = self._file["chains"][str(chain)][name]
            if len(rows) and rows[-1] - rows[0] < 4 * len(rows):
                return dataset[int(rows[0]) : int(rows[-1]) + 1][rows - rows[0]]
            found = [dataset[int(row)] for row in rows]
            return np.array(found, dataset.dtype).reshape(len(rows), *dataset.shape[1:])

    def check(self) -> None:
        """Read all labels, outliers, watched prevalences and states, to find damage before they are used."""
        for k in range(len(self.chains)):
            for rows in self.blocks_of_rows(k):
                self.labels(k, rows)
                self.watched(k, rows)
        self.states()

    def blocks_of_rows(self, chain: int) -> Iterator[NDArray[np.int64]]:
        """Yield all rows of a chain in blocks of limited memory; an empty block if there are none."""
        total = len(self.chains[chain].iteration)
        step = max(1, CHECKED_LABELS // len(self.data.names))
        for begin in range(0, max(1, total), step):
            yield np.arange(begin, min(begin + step, total))

    def states(self) -> list[ChainState]:
        """Read the state from which each chain continues."""
        with self._damage_told():
            return [self._read_state(k) for k in range(len(self.chains))]

    def check_visits(self, states: Sequence[ChainState], model: Model) -> None:
        """Raise :class:`TraceError` unless the states have a number of visits for each value of the model's choices."""
        expected = num_values(model.choices)
        for k, state in enumerate(states):
            if len(state.visits) not in (0, expected):
                where = f"chains/{k}/state/visits"
                raise self._damage(Fault(where, f"has {len(state.visits)} numbers, not {expected}"))

    def _read_state(self, k: int) -> ChainState:
        options, where = self.options, f"chains/{k}/state"
        group = structure.group_of(self._file["chains"][str(k)], "state")
        T, proposal = len(self.data.names), options.settings.proposal
        anchors = ANCHOR_PROPOSALS[proposal](T)
        flags = ("outliers",) if options.model.has_outliers else ()
        structure.check_members(group, ("labels", "visits", *flags, *anchors.state()))
        label = Values("int32", within(0, T, below=True), f"the number of a block, below {T}")
        labels = structure.read(group, "labels", label, (T,))
        schema.check_canonical(f"{where}/labels", labels[None, :], np.zeros(1, int))
        prior = options.first_prior
        blocks, most = int(labels.max()) + 1, prior.max_blocks(T)
        if blocks > most:
            raise Fault(f"{where}/labels", f"has {blocks} blocks, but the prior allows {most} at most")
        outliers = structure.read(group, "outliers", schema.FLAG, (T,)) if flags else None
        anchors.restore(schema.read_anchors(group, proposal, T))
        iteration = structure.whole_attribute(group, "iteration")
        saved = len(self.chains[k].iteration)
        if iteration > options.settings.lengths[0] or iteration // options.settings.thin > saved:
            raise Fault(f"{where}.iteration", f"is {iteration}, but {saved} iterations are saved")
        prior_values = structure.float_attribute(group, "prior", len(prior.hyperparameters))
        with self._damage_told(f"{where}.prior"):
            prior = prior.with_values(prior_values)
        values = structure.float_attribute(group, "hyperparameters", len(options.hyperparameters))
        for name, value in zip(options.hyperparameters, values):
            self.data.allowed_values(name).check(
                f"{where}.hyperparameters ({shown(name)})", np.array([value])
            )
        check_weights(f"{where}.hyperparameters", dict(zip(options.hyperparameters, values)))
        return ChainState(
            iteration,
            labels,
            prior,
            values,
            schema.read_generator(group),
            anchors,
            structure.read(group, "visits", schema.VISIT, (None,)),
            outliers,
        )

    def close(self) -> None:
        self._file.close()

    def __exit__(self, *_: object) -> None:
        self.close()
