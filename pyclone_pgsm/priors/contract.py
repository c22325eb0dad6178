"""The interface of a partition prior."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Prior:
    """An immutable distribution over partitions; a change of hyperparameters makes a new one.

    A prior is a frozen dataclass that inherits from this class. It must have a `name`, :meth:`log_tau1`,
    :meth:`log_tau2` and :meth:`log_normaliser`. The other methods need overriding only if hyperparameters are
    resampled, if the number of blocks is bounded, or if a field cannot be stored in JSON.

    Attributes
    ----------
    name : str
        Name on the command line and in a trace.
    hyperparameters : tuple of str
        Fields that :meth:`values` returns, resampled or fixed; "concentration" comes first if there is one.
    is_consistent : bool
        Whether the prior of a part of the observations is the same prior, as outliers require.
    """

    name: ClassVar[str]
    hyperparameters: ClassVar[tuple[str, ...]] = ()
    is_consistent: ClassVar[bool] = False

    def values(self) -> tuple[float, ...]:
        """Return the hyperparameters."""
        return tuple(getattr(self, name) for name in self.hyperparameters)

    def with_values(self, values: Sequence[float]) -> Self:
        """Return the same prior with other hyperparameters."""
        return replace(self, **dict(zip(self.hyperparameters, values, strict=True)))

    def max_blocks(self, num_observations: int) -> int:
        """Return the largest number of blocks that has a positive probability, at most T."""
        return num_observations

    def log_tau1(self, num_observations: int) -> NDArray[np.float64]:
        """Return log tau1(j), j = 0..T, as (T + 1,), -inf above :meth:`max_blocks`; entry 0 is never used."""
        raise NotImplementedError

    def log_tau2(self, num_observations: int) -> NDArray[np.float64]:
        """Return log tau2(n), n = 0..T, as (T + 1,), all finite; entry 0 is never used."""
        raise NotImplementedError

    def integrated_log_tau1(self, num_observations: int) -> NDArray[np.float64] | None:
        """Return log tau1 with the hyperparameters integrated out, (T + 1,); None if they are fixed, or enter tau2.

        Moves of the partition use it in place of :meth:`log_tau1`. They then do not depend on the hyperparameters,
        which :meth:`resample` must draw from their distribution given the partition, whatever they were before.
        """
        return None

    def resample(self, sizes: NDArray[np.integer], rng: np.random.Generator) -> Self:
        """Draw the hyperparameters given a partition with these (K,) block sizes; return self if all are fixed."""
        return self

    def log_normaliser(self, num_observations: int) -> float:
        """Return the log of the factor that normalises the prior, plus the log density of resampled hyperparameters."""
        raise NotImplementedError

    def to_dict(self, num_observations: int) -> dict[str, Any]:
        """Return the prior in JSON's types, a custom one for T observations, for
        :func:`pyclone_pgsm.priors.prior_from_dict`.
        """
        return {"name": self.name, **asdict(self)}
