"""Hyperparameters that take one of a few values."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

PRIOR_SHARE = 0.5
"""Share of the independence proposals that are drawn from the prior. The visits of a burn-in may miss a part of the
posterior, and a chain seldom leaves values that are seldom proposed."""
NO_VISITS = np.zeros(0, np.int64)
FINE_COUNTS = 10_000
"""Total number of visits that represents the shares of a density precisely enough."""


class IndependenceProposal(NamedTuple):
    """The proposal distribution of an independence sampler (Tierney 1994), which does not depend on the current value.

    It consists of the log probability of each value and of the cumulative probabilities, (V,) each.
    """

    log_q: NDArray[np.float64]
    cumulative: NDArray[np.float64]


@dataclass(frozen=True)
class Choice:
    """A hyperparameter that takes one of a few values.

    In a Metropolis-Hastings step a chain proposes a value some steps from its current one (a random walk), or draws one
    from the prior or from the values visited in its burn-in (an independence proposal). In a Gibbs step it draws the
    value (:meth:`draw`).

    Attributes
    ----------
    values : tuple of float
        In increasing order.
    prior : tuple of float
        Probability of each value, up to a constant.
    start : float
        The value at the start of a chain.
    jumps : tuple of int
        Numbers of steps from a value to a proposed one, equally likely and with equal probability up or down.
    independence_share : float
        Share of the proposals that are independence proposals.
    """

    values: tuple[float, ...]
    prior: tuple[float, ...]
    start: float
    jumps: tuple[int, ...] = (1,)
    independence_share: float = 0.2

    @cached_property
    def index_of(self) -> dict[float, int]:
        """Index of each value."""
        return {value: index for index, value in enumerate(self.values)}

    @cached_property
    def _log_priors(self) -> list[float]:
        total = sum(self.prior)
        return [math.log(weight / total) for weight in self.prior]

    def log_prior(self, value: float) -> float:
        return self._log_priors[self.index_of[value]]

    def independence_proposal(self, visits: NDArray[np.int64]) -> IndependenceProposal:
        """Return the independence proposal after `visits` (V,) of each value; without visits, it is the prior.

        Otherwise it is a mixture of the prior and of the smoothed visits, each of which counts half for its value and a
        quarter for each neighbour. So proposals move freely among values that the data hardly distinguish, such as
        large precisions and the infinite one.
        """
        q = np.array(self.prior) / sum(self.prior)
        if visits.any():
            padded = np.concatenate((visits[:1], visits, visits[-1:]))
            smoothed = 0.5 * visits + 0.25 * (padded[:-2] + padded[2:])
            q = PRIOR_SHARE * q + (1.0 - PRIOR_SHARE) * smoothed / visits.sum()
        return IndependenceProposal(np.log(q), np.cumsum(q))

    def propose(
        self, value: float, rng: np.random.Generator, independence: IndependenceProposal
    ) -> tuple[float, float]:
        """Propose a value; return it and log q(value | new) - log q(new | value).

        Jumps are symmetric: one beyond an end proposes the current value.
        """
        if rng.random() < self.independence_share:
            log_q, cumulative = independence
            new = min(int(np.searchsorted(cumulative, rng.random(), "right")), len(log_q) - 1)
            return self.values[new], float(log_q[self.index_of[value]] - log_q[new])
        jump = self.jumps[int(rng.integers(len(self.jumps)))]
        moved = self.moved(value, jump if rng.random() < 0.5 else -jump)
        return (value if moved is None else moved), 0.0

    def draw(self, log_likelihood: NDArray[np.float64], rng: np.random.Generator) -> float:
        """Draw a value from its posterior, given the log likelihood (V,) of each value."""
        log_p = log_likelihood + self._log_priors
        cumulative = np.exp(log_p - log_p.max()).cumsum()
        drawn = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], "right"))
        return self.values[min(drawn, len(self.values) - 1)]

    def moved(self, value: float, steps: int) -> float | None:
        """Return the value that is `steps` further up, or None beyond an end."""
        index = self.index_of[value] + steps
        return self.values[index] if 0 <= index < len(self.values) else None


def checked_choices(found: object, fault: Callable[[str], Exception]) -> dict[str, Choice]:
    """Return what the method ``choices`` of a likelihood returned, if this is a dict of choices that can be used.

    Otherwise raise the exception that `fault` makes of the description.
    """
    if not isinstance(found, dict) or not all(isinstance(each, Choice) for each in found.values()):
        raise fault(f"returned {found!r:.60}; it must return a dict of objects of the class Choice")
    for name, choice in found.items():
        values, prior = (np.array(each, float) for each in (choice.values, choice.prior))
        if not (
            values.ndim == 1 and values.size and np.isfinite(values).all() and (np.diff(values) > 0).all()
        ):
            raise fault(f"the values of {name} must be finite numbers in increasing order")
        if not (prior.shape == values.shape and np.isfinite(prior).all() and (prior > 0).all()):
            raise fault(f"the prior of {name} must have a positive number for each of the values")
        if choice.start not in choice.values:
            raise fault(f"the start of {name}, {choice.start}, is not among its values")
        jumps = np.array(choice.jumps)
        if not (jumps.ndim == 1 and jumps.size and jumps.dtype.kind in "iu" and (jumps > 0).all()):
            raise fault(f"the jumps of {name} must be whole numbers above 0, at least one")
        if not 0.0 <= choice.independence_share <= 1.0:
            raise fault(f"the independence_share of {name} must be from 0 to 1")
    return found


def propose(
    choices: Sequence[Choice],
    values: tuple[float, ...],
    independence: Sequence[IndependenceProposal],
    rng: np.random.Generator,
) -> tuple[tuple[float, ...], float]:
    """Propose another value of a random choice; return all values and log q(values | new) - log q(new | values)."""
    which = int(rng.integers(len(choices)))
    new, log_ratio = choices[which].propose(values[which], rng, independence[which])
    return (*values[:which], new, *values[which + 1 :]), log_ratio


def metropolis(
    choices: Sequence[Choice],
    values: tuple[float, ...],
    log_density: Callable[[tuple[float, ...]], float],
    independence: Sequence[IndependenceProposal],
    number: int,
    rng: np.random.Generator,
) -> tuple[float, ...]:
    """Make Metropolis-Hastings steps, each of which may change the value of one choice; return the last values.

    `log_density` is that of the values, up to a constant, and `independence` has one proposal per choice.
    """
    log_p = log_density(values)
    for _ in range(number):
        proposal, log_q = propose(choices, values, independence, rng)
        log_p_there = log_density(proposal)
        if rng.random() < math.exp(min(log_p_there - log_p + log_q, 0.0)):
            values, log_p = proposal, log_p_there
    return values


class Visits:
    """How often a chain took each value of some choices, and the resulting independence proposals, one per choice.

    `counts` (V,) are those of the values of all choices, one choice after the other; empty if there are none yet.
    """

    def __init__(self, choices: Sequence[Choice], counts: NDArray[np.int64] = NO_VISITS) -> None:
        self._choices = choices
        ends = np.cumsum([len(choice.values) for choice in choices], dtype=np.int64)
        all_counts = counts if len(counts) else np.zeros(num_values(choices), np.int64)
        self._counts = [each.copy() for each in np.split(all_counts, ends[:-1])] if choices else []
        self.independence = [
            choice.independence_proposal(each) for choice, each in zip(choices, self._counts)
        ]

    def add(self, values: Sequence[float]) -> None:
        """Count a visit of one value of each choice."""
        for which, (choice, counts, value) in enumerate(zip(self._choices, self._counts, values)):
            counts[choice.index_of[value]] += 1
            self.independence[which] = choice.independence_proposal(counts)

    def add_density(self, which: int, log_density: NDArray[np.float64]) -> None:
        """Let equal parts of the visits of a choice be those made, like a density, and uniform.

        The density is given as its logarithm (V,). It is that of one moment; the uniform part, and the prior, let the
        chain leave a value that the density underestimates.
        """
        counts = self._counts[which]
        parts = [softmax(log_density), np.full(len(counts), 1.0 / len(counts))]
        if counts.any():
            parts.append(counts / counts.sum())
        counts[:] = np.rint(FINE_COUNTS * np.mean(parts, axis=0))
        self.independence[which] = self._choices[which].independence_proposal(counts)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Counts (V,) from which the same visits can be made again."""
        return np.concatenate([NO_VISITS, *self._counts])


def num_values(choices: Sequence[Choice]) -> int:
    """Return V, the number of values of all choices together."""
    return sum(len(choice.values) for choice in choices)


def log_uniform(values: tuple[float, ...], start: float) -> Choice:
    """Make a choice of equally likely values in equal ratios, which starts at the value nearest to `start`."""
    nearest = min(values, key=lambda value: abs(math.log(value / start)))
    return Choice(values, (1.0,) * len(values), nearest, (1, 1, 2, 4))
