"""What a partition prior must offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray


class Prior(Protocol):
    """A distribution over partitions, immutable; hyperparameters change by making another one.

    Attributes
    ----------
    name : str
        As on the command line and in a trace.
    hyperparameters : tuple of str
        Names of :meth:`values`, "concentration" first where there is one, whether they are resampled or fixed.
    """

    name: ClassVar[str]
    hyperparameters: ClassVar[tuple[str, ...]]

    def values(self) -> tuple[float, ...]:
        """The hyperparameters."""
        ...

    def with_values(self, values: Sequence[float]) -> Prior:
        """The same prior at other hyperparameters."""
        ...

    def max_blocks(self, num_observations: int) -> int:
        """The largest number of blocks that has a positive probability, at most T."""
        ...

    def log_tau1(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau1(j), j = 0..T, -inf above :meth:`max_blocks`; entry 0 is never used."""
        ...

    def log_tau2(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau2(n), n = 0..T, finite; entry 0 is never used."""
        ...

    def resample(self, sizes: NDArray[np.integer], rng: np.random.Generator) -> Prior:
        """Draw the hyperparameters given a partition with these (K,) block sizes; self where all are fixed."""
        ...

    def log_normaliser(self, num_observations: int) -> float:
        """What makes the probabilities of all partitions sum to 1, plus the log density of what is resampled."""
        ...

    def to_dict(self, num_observations: int | None = None) -> dict[str, Any]:
        """The prior in JSON's types, for :func:`prior_from_dict`; a user's own one needs T for that."""
        ...
