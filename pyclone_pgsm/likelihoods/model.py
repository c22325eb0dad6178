"""A likelihood with its hyperparameters, which a chain may resample."""

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

    The methods of this class are those of a model whose hyperparameters are its :attr:`choices`, without these optional
    features: Metropolis-Hastings proposals, hyperparameters that are drawn given the blocks' parameters, moves that
    exchange members of two blocks, outliers, and quantities to watch.

    Some observations may be *outliers*, which belong to no cluster. The likelihood does not contain their data, so that
    all moves of the partition work unchanged; a separate step draws which observations are outliers.

    Attributes
    ----------
    hyperparameters : tuple of str
        Names, as in the trace; empty if there are none.
    choices : sequence of Choice
        Possible values of the first hyperparameters.
    num_proposals : int
        Number of Metropolis-Hastings proposals (:meth:`propose`) per update, for hyperparameters that
        :meth:`draw_given_parameters` does not draw, or for which it mixes too slowly.
    costly_choices : sequence of int
        Numbers of the choices of which few proposals are made because these take long. For each of them, their
        independence proposal is improved once, at the end of the burn-in.
    num_observations : int
        T.
    order : (T,) int64
        The order in which Gibbs sweeps and the stacking of chains visit the observations. Any fixed order is correct;
        it is fastest if neighbours have equal data or share memory.
    outliers : (T,) bool or None
        The current outliers. None: the model has no outliers.
    has_exchanges : bool
        Whether :meth:`exchange` makes moves.
    prefers_processes : bool
        Whether chains are faster in processes than in threads: an iteration takes few milliseconds, and they do not
        need the same large tables.
    """

    hyperparameters: tuple[str, ...] = ()
    choices: Sequence[Choice] = ()
    num_proposals: int = 0
    costly_choices: Sequence[int] = ()
    num_observations: int
    order: NDArray[np.int64]
    outliers: NDArray[np.bool_] | None = None
    has_exchanges: bool = False
    prefers_processes: bool = False

    def initial_values(self) -> Values:
        """Return the values of the hyperparameters at the start of a chain."""
        return tuple(choice.start for choice in self.choices)

    def likelihood(self, values: Values) -> Any:
        """Return the likelihood (see :mod:`pyclone_pgsm.likelihoods.contract`) at these values."""
        raise NotImplementedError

    def log_hyperprior(self, values: Values) -> float:
        """Return log p(values), up to a constant."""
        return sum((choice.log_prior(value) for choice, value in zip(self.choices, values)), 0.0)

    def propose(
        self, values: Values, rng: np.random.Generator, independence: Sequence[IndependenceProposal]
    ) -> tuple[Values, float]:
        """Propose new values; return them and log q(values | new) - log q(new | values).

        `independence` has one proposal for each of :attr:`choices`, learned by the chain.
        """
        return values, 0.0

    def draw_given_parameters(
        self,
        values: Values,
        likelihood: Any,
        partition: Partition,
        independence: Sequence[IndependenceProposal],
        rng: np.random.Generator,
        costly: bool,
    ) -> Values:
        """Draw hyperparameters given a parameter of each block, which is drawn from its posterior and then discarded.

        This leaves their distribution given the partition invariant. It needs the likelihood of the data at one
        parameter of each block, whereas :meth:`propose` needs a likelihood that is summed over all parameters.
        Likelihood and statistics are those at the values; `independence` is that of :meth:`propose`. Unless `costly`,
        only those are drawn whose change is cheap.
        """
        return values

    def exchange(
        self,
        likelihood: Any,
        prior: PartitionPrior,
        partition: Partition,
        times: int,
        rng: np.random.Generator,
    ) -> int:
        """Make `times` moves that reallocate the members of two blocks given parameters of these, drawn for this.

        Changes the partition in place. Returns how many moves changed it.
        """
        return 0

    def given(self, outliers: NDArray[np.bool_]) -> Model:
        """Return the same model with other outliers."""
        return self

    def full_likelihood(self, values: Values) -> Any:
        """Return the likelihood with the data of all observations, including outliers."""
        return self.likelihood(values)

    def draw_outliers(
        self, values: Values, prior: PartitionPrior, partition: Partition, rng: np.random.Generator
    ) -> tuple[Model, Partition]:
        """Draw which observations are outliers; return the model with these, and the partition."""
        return self, partition

    def effective(self, labels: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return canonical labels in which every outlier is a block of its own."""
        return canonical(labels)

    def log_densities_of_either(self, values: Values, log_member: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log density of each observation, (T,), summed over whether it is an outlier.

        `log_member` (T,) is that of each as a member of its cluster, with all constants.
        """
        return log_member

    def watched(self, likelihood: Any, partition: Partition, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return quantities of some fixed observations, (W,), with which the convergence of chains is checked.

        They are functions of the state or, like the parameters of blocks, drawn given it.
        """
        return np.empty(0, np.float32)

    def forget(self) -> None:
        """Free the memory of everything that can be computed again."""
        return


class FixedModel(Model):
    """A model without hyperparameters: one likelihood of T observations."""

    def __init__(self, likelihood: Any, num_observations: int) -> None:
        self._likelihood = likelihood
        self.num_observations = num_observations
        self.order: NDArray[np.int64] = np.arange(num_observations)

    def likelihood(self, values: Values) -> Any:
        return self._likelihood
