"""A likelihood together with its hyperparameters, which a chain may resample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.labels import canonical
from pyclone_pgsm.likelihoods.choice import Choice, IndependenceProposal
from pyclone_pgsm.partition import Partition, PartitionPrior

Values = tuple[float, ...]


class Model(Protocol):
    """Data and priors; makes the likelihood for given values of its hyperparameters.

    Four things are optional, and the methods of a model without them stand here: hyperparameters that Gibbs steps draw,
    hyperparameters that are drawn given the blocks' parameters, outliers, and quantities to watch.

    Some observations may be *outliers*, which belong to no cluster. The likelihood has no data of them, so that all
    moves of the partition stand as they are; which observations are outliers is a step of its own.

    Attributes
    ----------
    hyperparameters : tuple of str
        Names, as they stand in the trace; empty if there are none.
    choices : sequence of Choice
        The values that the first hyperparameters may take.
    num_proposals : int
        Metropolis-Hastings proposals (:meth:`propose`) that an iteration makes: of what neither
        :meth:`draw_conditionals` nor :meth:`draw_given_parameters` draws, or draws too slowly.
    num_observations : int
        T.
    order : (T,) int64
        The order in which a Gibbs sweep visits the observations, and whoever weighs chains; any fixed one is right, one
        in which neighbours are equal or share memory is fast.
    outliers : (T,) bool or None
        Given which the model is. None: no observation can be one.
    """

    hyperparameters: tuple[str, ...]
    choices: Sequence[Choice] = ()
    num_proposals: int
    num_observations: int
    order: NDArray[np.int64]

    @property
    def outliers(self) -> NDArray[np.bool_] | None:
        return None

    def initial_values(self) -> Values:
        """Where a chain starts."""
        raise NotImplementedError

    def likelihood(self, values: Values) -> Any:
        """The likelihood (see :mod:`pyclone_pgsm.likelihoods.contract`) at these values."""
        raise NotImplementedError

    def log_hyperprior(self, values: Values) -> float:
        """log p(values), up to a constant."""
        raise NotImplementedError

    def propose(
        self, values: Values, rng: np.random.Generator, independence: Sequence[IndependenceProposal]
    ) -> tuple[Values, float]:
        """A new point and log q(values | new) - log q(new | values), for a Metropolis-Hastings step.

        Parameters
        ----------
        values : tuple of float
        rng : numpy.random.Generator
        independence : sequence of IndependenceProposal
            Of each of :attr:`choices`, as the chain has learned it.
        """
        raise NotImplementedError

    def draw_conditionals(
        self, values: Values, likelihood: Any, partition: Partition, rng: np.random.Generator
    ) -> tuple[Values, Any]:
        """Draw the hyperparameters whose distribution given partition and data is known (Gibbs steps).

        The statistics of the partition are brought up to date in place. Returns the new values, and the likelihood at
        these; the arguments if there is nothing to draw.
        """
        return values, likelihood

    def draw_given_parameters(
        self,
        values: Values,
        likelihood: Any,
        partition: Partition,
        independence: Sequence[IndependenceProposal],
        rng: np.random.Generator,
    ) -> Values:
        """Draw hyperparameters given a parameter of each block, drawn for that from its posterior, and then forgotten.

        This leaves their distribution given the partition as it is, and needs the likelihood of the data at one
        parameter of each block, where :meth:`propose` needs a likelihood that is summed over all parameters.

        Parameters
        ----------
        values : tuple of float
        likelihood : NamedTuple
            At the values.
        partition : Partition
            With statistics at the values.
        independence : sequence of IndependenceProposal
            Of each of :attr:`choices`.
        rng : numpy.random.Generator
        """
        return values

    def given(self, outliers: NDArray[np.bool_]) -> Model:
        """The same model with other outliers."""
        return self

    def full_likelihood(self, values: Values) -> Any:
        """With the data of all observations, outliers or not."""
        return self.likelihood(values)

    def draw_outliers(
        self, values: Values, prior: PartitionPrior, partition: Partition, rng: np.random.Generator
    ) -> tuple[Model, Partition]:
        """The model with its outliers drawn anew, and the partition."""
        return self, partition

    def effective(self, labels: NDArray[np.int32]) -> NDArray[np.int64]:
        """Canonical labels in which every outlier is a block of its own."""
        return canonical(labels)

    def log_densities_of_either(self, values: Values, log_member: NDArray[np.float64]) -> NDArray[np.float64]:
        """(T,) log density of each observation, summed over whether it is an outlier.

        Parameters
        ----------
        values : tuple of float
        log_member : (T,) float64
            log density if it is none, with all constants.
        """
        return log_member

    def watched(self, likelihood: Any, partition: Partition) -> NDArray[np.float32]:
        """(W,) quantities of single observations, always the same, that agree between chains that have converged."""
        return np.empty(0, np.float32)

    def forget(self) -> None:
        """Give back the memory of what can be computed anew."""


class FixedModel(Model):
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

    def propose(
        self, values: Values, rng: np.random.Generator, independence: Sequence[IndependenceProposal]
    ) -> tuple[Values, float]:
        return values, 0.0

    def forget(self) -> None:
        return
