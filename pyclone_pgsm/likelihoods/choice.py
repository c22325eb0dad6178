"""Hyperparameters that take one of a few values."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Choice:
    """A hyperparameter that takes one of a few values; a chain proposes places near its present one, or the prior's.

    Attributes
    ----------
    values : tuple of float
        Increasing.
    prior : tuple of float
        Probability of each value, up to a constant.
    start : float
        The value at the start of a chain.
    jumps : tuple of int
        Places from a value to the one proposed, down or up, equally likely.
    from_prior : float
        Share of the proposals that are draws from the prior.
    """

    values: tuple[float, ...]
    prior: tuple[float, ...]
    start: float
    jumps: tuple[int, ...] = (1,)
    from_prior: float = 0.2

    def log_prior(self, value: float) -> float:
        return math.log(self.prior[self.values.index(value)] / sum(self.prior))

    def propose(self, value: float, rng: np.random.Generator) -> tuple[float, float]:
        """Another value, and log q(value | new) - log q(new | value).

        A draw from the prior leaps over values that the data hardly tell apart, like large precisions and the infinite
        one. Otherwise it is a jump, symmetric: beyond an end, stay.
        """
        if rng.random() < self.from_prior:
            shares = np.cumsum(self.prior) / sum(self.prior)
            new = self.values[min(int(np.searchsorted(shares, rng.random(), "right")), len(shares) - 1)]
            return new, self.log_prior(value) - self.log_prior(new)
        jump = self.jumps[int(rng.integers(len(self.jumps)))]
        moved = self.moved(value, jump if rng.random() < 0.5 else -jump)
        return (value if moved is None else moved), 0.0

    def moved(self, value: float, places: int) -> float | None:
        """The value so many places up, or None beyond an end."""
        where = self.values.index(value) + places
        return self.values[where] if 0 <= where < len(self.values) else None


def log_uniform(values: tuple[float, ...], start: float) -> Choice:
    """A choice of values in equal ratios, all equally likely, that starts at the one nearest to `start`."""
    nearest = min(values, key=lambda value: abs(math.log(value / start)))
    return Choice(values, (1.0,) * len(values), nearest, (1, 1, 2, 4))
