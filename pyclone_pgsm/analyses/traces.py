"""The traced series of a trace's chains, for pictures."""

from __future__ import annotations

import numpy as np

from pyclone_pgsm.errors import TraceError
from pyclone_pgsm.posterior.traces import Traces
from pyclone_pgsm.trace import Trace


def traces_of(trace: Trace, burn_in: int | None) -> Traces:
    """The traced series of all chains as equally long rows, for the picture."""
    chains = [chain for chain in trace.chains if len(chain.iteration)]
    if not chains:
        raise TraceError(f"{trace.path}: no chain has a saved iteration: resume the trace")
    length = min(len(chain.iteration) for chain in chains)
    iterations = chains[0].iteration[:length]
    skip = trace.burn_in if burn_in is None else burn_in

    return Traces(
        log_joint=np.array([chain.log_joint[:length] for chain in chains]),
        num_clusters=np.array([chain.num_clusters[:length] for chain in chains]),
        concentration=np.array([chain.concentration[:length] for chain in chains])
        if trace.options.first_prior.hyperparameters
        else None,
        hyperparameters={
            name: np.array([chain.hyperparameters[name][:length] for chain in chains])
            for name in trace.options.hyperparameters
        },
        burn_in=int(np.sum(iterations <= skip)),
        iterations=iterations,
    )
