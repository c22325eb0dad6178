"""The data sets of the paper's experiments: read from a folder, or simulated; a tenth of each is held out.

A chain sees a :class:`Problem`: the model of nine tenths of the rows, and the predictive density of the others.

========================  ==================================================================================
``s1`` .. ``s4``          5,000 points, 2 columns, 15 clusters that overlap more and more
``dim064``, ``dim128``    1,024 points, 64 and 128 columns, 16 clusters
``dim128x10``             the same as ``dim128``, ten times as wide
``mopsi``                 13,467 places in Finland, latitude and longitude, no truth
``ber025``, ``ber050``    simulated: 5,000 rows, 50 binary columns, 16 clusters; a quarter, or half, of the
                          columns are ones with probability 1/2 in all clusters
``c1``                    simulated: a cluster in the middle of a ring
``cancer``                simulated: a tumour of 10,000 mutations
========================  ==================================================================================

Normal data are standardised by the rows that the chain sees. The priors are those of the paper (``PAPER_PRIOR``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from data_files import data_file
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.model import FixedModel, Model
from pyclone_pgsm.likelihoods.registry import find_likelihood
from pyclone_pgsm.partition import build_partition
from pyclone_pgsm.posterior.predictive import Predictive, log_join_weights
from pyclone_pgsm.priors import Prior
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import simulate
from pyclone_pgsm.tumour.grid import LocusTable, choose_grid_size, deduplicate
from pyclone_pgsm.tumour.model import PyCloneModel

HELD_OUT = 0.1
PAPER_PRIOR = {"r0": 1.0}
"""Of the Normal likelihood, where it is not the default."""
LogDensity = Callable[[NDArray[np.int32], Prior], NDArray[np.float64]]


@dataclass(frozen=True)
class Problem:
    """What a chain sees, and what it is judged by.

    Attributes
    ----------
    model : Model
        Of T rows.
    truth : (T,) int64 or None
        Their true clusters.
    log_density : callable
        Labels (T,), canonical, and a prior at its current hyperparameters → (N,) log predictive density of each row
        that is held out.
    """

    model: Model
    truth: NDArray[np.int64] | None
    log_density: LogDensity


@dataclass(frozen=True)
class MatrixData:
    """Rows of numbers.

    Attributes
    ----------
    likelihood : {"normal", "bernoulli"}
    values : (T, D) float64
    truth : (T,) int64 or None
    spread : float
        Standard deviation that the columns of Normal data get.
    """

    likelihood: str
    values: NDArray[np.float64]
    truth: NDArray[np.int64] | None
    spread: float = 1.0

    def __len__(self) -> int:
        return len(self.values)

    def scaled(self, seen: NDArray[np.int64]) -> NDArray[np.float64]:
        """(T, D) values as the likelihood gets them: Normal ones standardised by the rows `seen`."""
        if self.likelihood != "normal":
            return self.values
        return self.spread * (self.values - self.values[seen].mean(axis=0)) / self.values[seen].std(axis=0)

    def problem(self, seen: NDArray[np.int64], held_out: NDArray[np.int64]) -> Problem:
        """The chain sees some rows, and is judged by others."""
        values = self.scaled(seen)
        parameters = PAPER_PRIOR if self.likelihood == "normal" else {}
        likelihood = find_likelihood(self.likelihood).from_data(values[seen], **parameters)
        model = FixedModel(likelihood, len(seen))

        def log_density(labels: NDArray[np.int32], prior: Prior) -> NDArray[np.float64]:
            return Predictive(model, [()], [prior], labels[np.newaxis]).log_density(values[held_out])

        truth = None if self.truth is None else self.truth[seen]
        return Problem(model, truth, log_density)


@dataclass(frozen=True)
class TumourData:
    """Mutations.

    Attributes
    ----------
    table : LocusTable
    grid_size : int
    truth : (T,) int64
    """

    table: LocusTable
    grid_size: int
    truth: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.truth)

    def problem(self, seen: NDArray[np.int64], held_out: NDArray[np.int64]) -> Problem:
        """The chain sees some mutations, and is judged by others; reads are binomial, as in the paper."""
        table = replace(self.table, index=self.table.index[seen])
        model = PyCloneModel(table, self.grid_size, "major", np.inf)
        likelihood = model.likelihood(())
        others = likelihood._replace(index=self.table.index[held_out])
        constant = np.where(others.index >= 0, likelihood.xi_max[others.index], 0.0).sum(axis=1)
        build = compiled_for(build_partition, type(likelihood))
        fill = compiled_for(fill_log_predictives_of, type(likelihood))

        def log_density(labels: NDArray[np.int32], prior: Prior) -> NDArray[np.float64]:
            partition = build(likelihood, labels)
            out = np.empty((len(held_out), int(partition.counter[0]) + 1))
            fill(likelihood, others, partition.stats[: out.shape[1]], out)
            out += log_join_weights(prior, np.bincount(labels))
            return np.logaddexp.reduce(out, axis=1) + constant

        return Problem(model, self.truth[seen], log_density)


Data = MatrixData | TumourData


def fill_log_predictives_of(likelihood, others, stats, out):  # type: ignore[no-untyped-def]
    """out[n, b] = log L of observation n of `others`, which have the likelihood's tables; the last block is emptied."""
    likelihood.clear(stats[len(stats) - 1])
    slots = np.arange(len(stats))
    cuts = np.full(len(stats), -np.inf)
    for n in range(len(out)):
        others.log_predictives(stats, slots, n, cuts, out[n])


def split(num_rows: int, most: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows that chains see and rows held out, a tenth, at random but always the same ones.

    Parameters
    ----------
    num_rows : int
    most : int or None
        Use so many of the rows at most.
    """
    order = np.random.default_rng(2017).permutation(num_rows)[:most]
    num_held_out = max(1, round(HELD_OUT * len(order)))
    return np.sort(order[num_held_out:]), np.sort(order[:num_held_out])


def load(name: str, folder: Path) -> Data:
    """A data set by its name.

    Parameters
    ----------
    name : str
        See the module.
    folder : Path
        Where the data sets are that are not simulated.

    Raises
    ------
    MissingData
    """
    path = data_file(name, folder)
    if path is None:
        return SIMULATED[name]()
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    if name == "mopsi":
        return MatrixData("normal", table, None)
    spread = 10.0 if name == "dim128x10" else 1.0
    return MatrixData("normal", table[:, :-1], table[:, -1].astype(np.int64), spread)


def simulate_bernoulli(uninformative: float, seed: int) -> MatrixData:
    """Mixture of 16 equally likely clusters of 50 binary columns, a share of them the same coin everywhere."""
    rng = np.random.default_rng(seed)
    T, K, D = 5000, 16, 50
    theta = rng.random((K, D))
    theta[:, : round(uninformative * D)] = 0.5
    truth = rng.integers(K, size=T)
    return MatrixData("bernoulli", (rng.random((T, D)) < theta[truth]).astype(float), truth)


def simulate_ring(seed: int = 1) -> MatrixData:
    """400 points in the middle (cluster 0) of 1,600 on a ring (cluster 1)."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1], [400, 1600])
    angle = rng.uniform(0.0, 2.0 * np.pi, len(truth))
    ring = 4.0 * truth[:, np.newaxis] * np.column_stack([np.cos(angle), np.sin(angle)])
    spread = np.where(truth == 0, 0.6, 0.3)
    return MatrixData("normal", ring + spread[:, np.newaxis] * rng.standard_normal((len(truth), 2)), truth)


def simulate_tumour(seed: int = 1) -> TumourData:
    """10,000 mutations in 10 clusters, four samples of depth 100, copy numbers from 1 to 4."""
    options = SimulationOptions(
        mutations=10_000, samples=4, clusters=10, depth=100, copy_numbers="mixed", absent=0.0
    )
    simulation = simulate(options, np.random.default_rng(seed))
    table = deduplicate(simulation.observations)
    grid_size = choose_grid_size(simulation.observations, table.num_rows)
    return TumourData(table, grid_size, simulation.cluster)


SIMULATED: dict[str, Callable[[], Data]] = {
    "ber025": lambda: simulate_bernoulli(0.25, 1),
    "ber050": lambda: simulate_bernoulli(0.5, 2),
    "c1": simulate_ring,
    "cancer": simulate_tumour,
}
