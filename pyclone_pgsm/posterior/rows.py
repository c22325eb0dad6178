"""Selecting rows (saved iterations) of a trace, and reading their values.

Rows are given as a list with an array of row numbers for each chain.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import TraceError
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.labels import evenly_spaced
from pyclone_pgsm.likelihoods.model import Values
from pyclone_pgsm.locks import other_writer
from pyclone_pgsm.partition import Partition, build_partition
from pyclone_pgsm.ranges import BOUNDS, check_range
from pyclone_pgsm.stopping import held_back
from pyclone_pgsm.trace import ChainTrace, Trace

ALWAYS = ("log_joint", "num_clusters", "concentration")
"""Quantities that pictures show in addition to hyperparameters of the likelihood."""
LOGARITHMIC = ("precision", "error_rate")
"""Hyperparameters that are shown on a logarithmic axis."""


@dataclass(frozen=True)
class Draws:
    """Rows of a trace, of each chain in proportion to its weight, and their partitions.

    The `partitions` (M, T) for the consensus are those of some of the rows, evenly spaced. `outlier_prob` (T,) is the
    share of them in which each observation is an outlier, 0 if the model has no outliers.
    """

    trace: Trace
    rows: list[NDArray[np.int64]]
    partitions: NDArray[Any]
    outlier_prob: NDArray[np.float64]


@dataclass(frozen=True)
class Traces:
    """Traced quantities in the I saved rows of each of C chains, of which the first `burn_in` are burn-in.

    `series` has the values (C, I) by name: those in :data:`ALWAYS`, but no concentration if the partition prior has
    none, and the hyperparameters of the likelihood that are inferred, for example ``precision`` (infinite for the
    binomial) or, for one sample, ``precision:SAMPLE``. `iterations` (I,) has the iteration of each row.
    """

    series: dict[str, NDArray[Any]]
    burn_in: int
    iterations: NDArray[np.int64]


def kept_rows(trace: Trace, burn_in: int | None = None) -> list[NDArray[np.int64]]:
    """Return the rows of each chain after the burn-in, by default that of the run.

    UsageError if the burn-in is out of range, TraceError if no chain has a row after it.
    """
    if burn_in is not None:
        check_range("burn_in", burn_in, *BOUNDS["burn_in"])
    skip = trace.burn_in if burn_in is None else burn_in
    rows = [np.flatnonzero(chain.iteration > skip) for chain in trace.chains]
    if not any(len(chosen) for chosen in rows):
        last = max(chain.last_iteration for chain in trace.chains)
        if last == 0:
            raise TraceError(f"{trace.path}: has no iteration yet: {how_to_lengthen(trace)}")
        raise TraceError(
            f"{trace.path}: no iteration after the burn-in of {skip} (the chains have {last}): "
            f"{how_to_lengthen(trace)}, or choose a smaller `burn_in`"
        )
    return rows


def how_to_lengthen(trace: Trace) -> str:
    """Return the advice to resume a trace, or to wait where a run seems to be writing it."""
    writer = other_writer(trace.path)
    if writer is None:
        return "resume the trace"
    return f"{writer} seems to be writing the trace: wait for its end"


def thin(rows: list[NDArray[np.int64]], most: int) -> list[NDArray[np.int64]]:
    """Thin the rows to about `most` in total, spread evenly over each chain."""
    total = sum(map(len, rows))
    if total <= most:
        return rows
    return [chosen[evenly_spaced(len(chosen), max(1, round(len(chosen) * most / total)))] for chosen in rows]


def weighted_rows(rows: list[NDArray[np.int64]], weights: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return as many rows as possible, of each chain in proportion to its weight and spread evenly over it.

    A chain with a positive weight must have rows.
    """
    total = min(len(chosen) / weight for chosen, weight in zip(rows, weights) if weight > 0.0)
    return [
        thin([chosen], max(1, round(weight * total)))[0] if weight > 0.0 else chosen[:0]
        for chosen, weight in zip(rows, weights)
    ]


def draw_rows(
    trace: Trace, burn_in: int | None, most: int, weights: NDArray[np.float64]
) -> list[NDArray[np.int64]]:
    """Return about `most` rows after the burn-in, of each chain in proportion to its weight and spread evenly."""
    return thin(weighted_rows(kept_rows(trace, burn_in), weights), most)


def read_partitions(trace: Trace, rows: list[NDArray[np.int64]]) -> NDArray[Any]:
    """Return the (M, T) labels of some rows."""
    return np.concatenate([trace.labels(k, chosen) for k, chosen in enumerate(rows) if len(chosen)])


def outlier_share(trace: Trace, rows: list[NDArray[np.int64]]) -> NDArray[np.float64]:
    """Return (T,) shares of the rows in which each observation is an outlier; 0 if the model has no outliers."""
    count = np.zeros(len(trace.data.names))
    if trace.options.model.has_outliers:
        for k, chosen in enumerate(rows):
            count += trace.outliers(k, chosen).sum(axis=0)
    return count / sum(map(len, rows))


def quantities(trace: Trace) -> tuple[str, ...]:
    """Return the names of all traced quantities."""
    prior = trace.options.first_prior.hyperparameters
    return ("log_joint", "num_clusters", *prior, *trace.options.hyperparameters)


def series_of(chain: ChainTrace, name: str) -> NDArray[Any]:
    """Return (n,) values of a traced quantity in all rows of a chain."""
    return chain.hyperparameters[name] if name in chain.hyperparameters else getattr(chain, name)


def traces_of(trace: Trace, burn_in: int) -> Traces:
    """Return the traced quantities of all chains that have saved rows, cut to the length of the shortest.

    At least one chain must have rows.
    """
    chains = [chain for chain in trace.chains if len(chain.iteration)]
    length = min(len(chain.iteration) for chain in chains)
    iterations = chains[0].iteration[:length]
    names = [name for name in quantities(trace) if name in (*ALWAYS, *trace.options.hyperparameters)]
    series = {name: np.array([series_of(chain, name)[:length] for chain in chains]) for name in names}
    return Traces(series, int(np.sum(iterations <= burn_in)), iterations)


def gather(trace: Trace, rows: list[NDArray[np.int64]], name: str) -> NDArray[np.float64]:
    """Return (M,) values of a traced quantity in some rows."""
    return np.concatenate([series_of(chain, name)[chosen] for chain, chosen in zip(trace.chains, rows)])


def gather_values(trace: Trace, rows: list[NDArray[np.int64]], names: Sequence[str]) -> list[Values]:
    """Return the values of these hyperparameters in each of M rows."""
    if not names:
        return [()] * sum(map(len, rows))
    return list(zip(*(gather(trace, rows, name).tolist() for name in names)))


def medians(values: Sequence[Values]) -> Values:
    """Return the median of each hyperparameter, which is always one of the drawn values."""
    return tuple(np.quantile(np.array(values), 0.5, axis=0, method="inverted_cdf").tolist())


def build_blocks(likelihood: Any, labels: NDArray[Any]) -> Partition:
    """Build the partition with these canonical labels (T,), and the statistics of its blocks.

    Signals wait meanwhile: compiled code crashes if one raises an exception while a partition is returned to Python.
    """
    with held_back():
        return compiled_for(build_partition, type(likelihood))(likelihood, labels.astype(np.int32))
