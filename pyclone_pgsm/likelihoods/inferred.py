"""A likelihood with parameters that are inferred together with the partition."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.likelihoods.choice import Choice, IndependenceProposal, checked_choices
from pyclone_pgsm.likelihoods.foreign import blamed, made_of_data
from pyclone_pgsm.likelihoods.model import Model, Values
from pyclone_pgsm.likelihoods.registry import PickledClass, picklable_class, unpickled_class

INFER = "infer"
"""The value with which a user requests that a parameter be inferred."""
PROPOSALS = 2
"""Number of proposals per parameter and iteration."""
KEPT = 8
"""Number of cached likelihoods: a chain alternates between a few values."""


def names_to_infer(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the parameters whose value is :data:`INFER`, in alphabetical order."""
    return tuple(
        sorted(name for name, value in parameters.items() if isinstance(value, str) and value == INFER)
    )


class InferredModel(Model):
    """The model of a matrix; each inferred parameter is a :class:`~pyclone_pgsm.likelihoods.choice.Choice`.

    `spec` is the likelihood's name, for messages, `data` are (T, D), and some of the parameters of its prior are
    :data:`INFER`. Raises UsageError if one of these cannot be inferred from the data, and DataValueError for data that
    the likelihood does not allow.
    """

    def __init__(
        self, spec: str, likelihood_class: Any, data: NDArray[np.float64], parameters: Mapping[str, Any]
    ) -> None:
        self._arguments = spec, likelihood_class, data, parameters
        self.hyperparameters = names_to_infer(parameters)
        given = {name: value for name, value in parameters.items() if name not in self.hyperparameters}
        choices: dict[str, Choice] = {}
        if hasattr(likelihood_class, "choices"):
            with blamed(spec):
                choices = checked_choices(
                    likelihood_class.choices(data, **given),
                    lambda text: UsageError(f"`likelihood` {spec!r}: choices: {text}"),
                )
        for name in self.hyperparameters:
            if name not in choices:
                self._refuse_contradictions(spec, likelihood_class, data, name, given)
                listed = ", ".join(choices) or "none"
                raise UsageError(
                    f"`parameters` {name}={INFER}: {spec} cannot infer this parameter; with these data it can infer: "
                    f"{listed}"
                )
        self.choices = tuple(choices[name] for name in self.hyperparameters)
        self.num_proposals = PROPOSALS * len(self.hyperparameters)
        self.num_observations = len(data)
        self.order: NDArray[np.int64] = np.arange(len(data))

        def make(values: Values) -> Any:
            inferred = dict(zip(self.hyperparameters, values))
            return made_of_data(spec, likelihood_class, data, {**given, **inferred})

        self._make = lru_cache(KEPT)(make)

    def __reduce__(self) -> tuple[Callable[..., "InferredModel"], tuple[Any, ...]]:
        """Pickle the arguments, as cached likelihoods cannot be pickled."""
        spec, likelihood_class, *others = self._arguments
        return _unpickled, (spec, picklable_class(likelihood_class), *others)

    @staticmethod
    def _refuse_contradictions(
        spec: str, likelihood_class: Any, data: NDArray[np.float64], name: str, given: Mapping[str, Any]
    ) -> None:
        """Raise UsageError if a parameter cannot be inferred because of a single other one that is given."""
        for other, value in given.items():
            rest = {each: given[each] for each in given if each != other}
            with blamed(spec):
                is_contradiction = hasattr(likelihood_class, "choices") and name in likelihood_class.choices(
                    data, **rest
                )
            if is_contradiction:
                raise UsageError(
                    f"`parameters` {name}={INFER}: cannot be inferred if {other} is given, too: leave out either "
                    f"{name}={INFER} or {other}={value}"
                )

    def likelihood(self, values: Values) -> Any:
        found = []
        for name, choice, value in zip(self.hyperparameters, self.choices, values):
            if value not in choice.index_of:
                raise UsageError(
                    f"`parameters` {name}: {value!r} is not among the values from which it is inferred"
                )
            found.append(choice.values[choice.index_of[value]])  # a whole one is a float in a trace
        return self._make(tuple(found))

    def propose(
        self, values: Values, rng: np.random.Generator, independence: Sequence[IndependenceProposal]
    ) -> tuple[Values, float]:
        """Propose a value of one parameter, or move all of them one step up or down, as they may be correlated."""
        which = int(rng.integers(len(values) + 1))
        if which < len(values):
            new, log_ratio = self.choices[which].propose(values[which], rng, independence[which])
            return (*values[:which], new, *values[which + 1 :]), log_ratio
        step = 1 if rng.random() < 0.5 else -1
        moved = [choice.moved(value, step) for choice, value in zip(self.choices, values)]
        found = tuple(value for value in moved if value is not None)
        return (found if len(found) == len(values) else values), 0.0

    def forget(self) -> None:
        self._make.cache_clear()


def _unpickled(
    spec: str, pickled: PickledClass, data: NDArray[np.float64], parameters: Mapping[str, Any]
) -> InferredModel:
    return InferredModel(spec, unpickled_class(pickled), data, parameters)
