"""The courses of the chains: log joint, number of clusters, concentration, and what is inferred of the likelihood."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LOGARITHMIC = ("precision", "error_rate")
"""Hyperparameters that are shown on a logarithmic axis."""


@dataclass(frozen=True)
class Traces:
    """The saved rows of C chains, I of each.

    Attributes
    ----------
    log_joint : (C, I) float
    num_clusters : (C, I) int
    concentration : (C, I) float or None
        None if the partition prior has none.
    hyperparameters : dict of str to (C, I) float
        What is inferred of the likelihood, as ``precision`` (infinite where the beta-binomial is the binomial) or, of
        one sample, ``precision:SAMPLE``.
    burn_in : int
        How many of the saved rows, from the first on, are burn-in.
    iterations : (I,) int
        Number of the iteration that each saved row shows.
    """

    log_joint: NDArray[np.float64]
    num_clusters: NDArray[np.int64]
    concentration: NDArray[np.float64] | None
    hyperparameters: dict[str, NDArray[np.float64]]
    burn_in: int
    iterations: NDArray[np.int64]
