"""Traces of the chains: log joint density, number of clusters, concentration and hyperparameters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import TraceError
from pyclone_pgsm.posterior.rows import series_of
from pyclone_pgsm.trace import Trace

LOGARITHMIC = ("precision", "error_rate")
"""Hyperparameters that are shown on a logarithmic axis."""


@dataclass(frozen=True)
class Traces:
    """Traced quantities (C, I) in the I saved rows of each of C chains, of which the first `burn_in` are burn-in.

    The concentration is None if the partition prior has none. The hyperparameters are those of the likelihood that are
    inferred, for example ``precision`` (infinite for the binomial) or, for one sample, ``precision:SAMPLE``.
    `iterations` (I,) has the iteration of each row.
    """

    log_joint: NDArray[np.float64]
    num_clusters: NDArray[np.int64]
    concentration: NDArray[np.float64] | None
    hyperparameters: dict[str, NDArray[np.float64]]
    burn_in: int
    iterations: NDArray[np.int64]


def traces_of(trace: Trace, burn_in: int | None) -> Traces:
    """Return the traced quantities of all chains that have saved rows, cut to the length of the shortest."""
    chains = [chain for chain in trace.chains if len(chain.iteration)]
    if not chains:
        raise TraceError(f"{trace.path}: no chain has a saved iteration: resume the trace")
    length = min(len(chain.iteration) for chain in chains)
    iterations = chains[0].iteration[:length]
    skip = trace.burn_in if burn_in is None else burn_in

    def of_chains(name: str) -> NDArray[Any]:
        return np.array([series_of(chain, name)[:length] for chain in chains])

    return Traces(
        log_joint=of_chains("log_joint"),
        num_clusters=of_chains("num_clusters"),
        concentration=of_chains("concentration") if trace.options.first_prior.hyperparameters else None,
        hyperparameters={name: of_chains(name) for name in trace.options.hyperparameters},
        burn_in=int(np.sum(iterations <= skip)),
        iterations=iterations,
    )
