"""A likelihood together with its hyperparameters, which a chain may resample."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.partition import Partition

Values = tuple[float, ...]


class Model(Protocol):
    """Data and priors; makes the likelihood for given values of its hyperparameters.

    Attributes
    ----------
    hyperparameters : tuple of str
        Names, as they stand in the trace; empty if there are none.
    num_proposals : int
        Metropolis-Hastings proposals (:meth:`propose`) that an iteration makes: none of what
        :meth:`draw_conditionals` draws.
    num_observations : int
        T.
    order : (T,) int64
        The order in which a Gibbs sweep visits the observations; any fixed one is right, one in which neighbours share
        memory is fast.
    """

    hyperparameters: tuple[str, ...]
    num_proposals: int
    num_observations: int
    order: NDArray[np.int64]

    def initial_values(self) -> Values:
        """Where a chain starts."""
        ...

    def likelihood(self, values: Values) -> Any:
        """The likelihood (see :mod:`pyclone_pgsm.likelihoods.contract`) at these values."""
        ...

    def log_hyperprior(self, values: Values) -> float:
        """log p(values), up to a constant."""
        ...

    def propose(self, values: Values, rng: np.random.Generator) -> tuple[Values, float]:
        """A new point and log q(values | new) - log q(new | values), for a Metropolis-Hastings step."""
        ...

    def draw_conditionals(
        self, values: Values, likelihood: Any, partition: Partition, rng: np.random.Generator
    ) -> tuple[Values, Any]:
        """Draw the hyperparameters whose distribution given partition and data is known (Gibbs steps).

        The statistics of the partition are brought up to date in place. Returns the new values, and the likelihood at
        these; the arguments if there is nothing to draw.
        """
        ...

    def forget(self) -> None:
        """Give back the memory of what can be computed anew."""
        ...


@runtime_checkable
class Estimating(Protocol):
    """A model that can tell about what a proposal would change, for less than its likelihood costs.

    Attributes
    ----------
    has_estimates : bool
        Whether that is worth it. May depend on the data only, not on the state of a chain.
    """

    has_estimates: bool

    def estimate_change(
        self, values: Values, likelihood: Any, partition: Partition, proposal: Values
    ) -> float:
        """About log p(proposal, y | c) - log p(values, y | c); infinite if nothing can be told.

        A function of its arguments, but it need not be right: the better it is, the fewer likelihoods are made in vain
        and the fewer good proposals refused.
        """
        ...


@runtime_checkable
class OutlierModel(Model, Protocol):
    """A model some of whose observations may be outliers, which belong to no cluster.

    Its likelihood has no data of the outliers, so that all moves of the partition stand as they are; which observations
    are outliers is drawn by :mod:`pyclone_pgsm.samplers.outliers`.

    Attributes
    ----------
    outliers : (T,) bool
    prob : float
        Of an observation to be an outlier, before its data are known.
    """

    outliers: NDArray[np.bool_]
    prob: float

    def given(self, outliers: NDArray[np.bool_]) -> OutlierModel:
        """The same model with other outliers."""
        ...

    def full_likelihood(self, values: Values) -> Any:
        """With the data of all observations, outliers or not."""
        ...

    def log_outlier(self, values: Values) -> NDArray[np.float64]:
        """(T,) log density of each observation if it is an outlier, with all constants."""
        ...

    def log_weights(self, values: Values) -> NDArray[np.float64]:
        """(T,) log of prob / (1 - prob) times that density, without the factors that the likelihood leaves out."""
        ...

    def effective(self, labels: NDArray[np.int32]) -> NDArray[np.int64]:
        """Canonical labels in which every outlier is a block of its own."""
        ...

    def num_clusters(self, labels: NDArray[np.int32]) -> int:
        """Blocks that hold an observation that is no outlier."""
        ...


@runtime_checkable
class Watched(Protocol):
    """A model with quantities of single observations that should agree between chains that have converged."""

    def watched(self, likelihood: Any, partition: Partition) -> NDArray[np.float32]:
        """(W,) quantities, always the same ones, in a given state."""
        ...


class FixedModel:
    """A model without hyperparameters: one likelihood.

    Parameters
    ----------
    likelihood : NamedTuple
        An instance of a likelihood class.
    num_observations : int
        T.
    """

    hyperparameters: tuple[str, ...] = ()
    num_proposals = 0

    def __init__(self, likelihood: Any, num_observations: int) -> None:
        self._likelihood = likelihood
        self.num_observations = num_observations
        self.order: NDArray[np.int64] = np.arange(num_observations)

    def initial_values(self) -> Values:
        return ()

    def likelihood(self, values: Values) -> Any:
        return self._likelihood

    def log_hyperprior(self, values: Values) -> float:
        return 0.0

    def propose(self, values: Values, rng: np.random.Generator) -> tuple[Values, float]:
        return values, 0.0

    def draw_conditionals(
        self, values: Values, likelihood: Any, partition: Partition, rng: np.random.Generator
    ) -> tuple[Values, Any]:
        return values, likelihood

    def forget(self) -> None:
        return
