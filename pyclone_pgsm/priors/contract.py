"""What a partition prior must offer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Prior:
    """A distribution over partitions, immutable; hyperparameters change by making another one.

    A prior is a frozen dataclass that inherits this one. It must have a `name`, :meth:`log_tau1`, :meth:`log_tau2` and
    :meth:`log_normaliser`. The others must be written anew only where hyperparameters are resampled, where there is a
    largest number of blocks, or where a field has none of JSON's types.

    Attributes
    ----------
    name : str
        As on the command line and in a trace.
    hyperparameters : tuple of str
        Fields that :meth:`values` gives, "concentration" first where there is one, whether they are resampled or fixed.
    """

    name: ClassVar[str]
    hyperparameters: ClassVar[tuple[str, ...]] = ()

    def values(self) -> tuple[float, ...]:
        """The hyperparameters."""
        return tuple(getattr(self, name) for name in self.hyperparameters)

    def with_values(self, values: Sequence[float]) -> Self:
        """The same prior at other hyperparameters."""
        return replace(self, **dict(zip(self.hyperparameters, values, strict=True)))

    def max_blocks(self, num_observations: int) -> int:
        """The largest number of blocks that has a positive probability, at most T."""
        return num_observations

    def log_tau1(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau1(j), j = 0..T, -inf above :meth:`max_blocks`; entry 0 is never used."""
        raise NotImplementedError

    def log_tau2(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau2(n), n = 0..T, finite; entry 0 is never used."""
        raise NotImplementedError

    def resample(self, sizes: NDArray[np.integer], rng: np.random.Generator) -> Self:
        """Draw the hyperparameters given a partition with these (K,) block sizes; self where all are fixed."""
        return self

    def log_normaliser(self, num_observations: int) -> float:
        """What makes the probabilities of all partitions sum to 1, plus the log density of what is resampled."""
        raise NotImplementedError

    def to_dict(self, num_observations: int | None = None) -> dict[str, Any]:
        """The prior in JSON's types, for :func:`prior_from_dict`; a user's own one needs T for that."""
        return {"name": self.name, **asdict(self)}
