"""Traces of the chains: log joint density, number of clusters, concentration and hyperparameters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.posterior.rows import quantities, series_of
from pyclone_pgsm.trace import Trace

ALWAYS = ("log_joint", "num_clusters", "concentration")
"""Quantities that pictures show in addition to hyperparameters of the likelihood."""
LOGARITHMIC = ("precision", "error_rate")
"""Hyperparameters that are shown on a logarithmic axis."""


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
