"""A user's own prior, given by its functions tau1 and tau2."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.priors.contract import Prior
from pyclone_pgsm.ranges import check_kind

LogFunction = Callable[[NDArray[np.int64]], NDArray[np.float64]]


@dataclass(frozen=True)
class CustomPrior(Prior):
    """A user's own prior, given by its functions tau1 and tau2.

    Parameters
    ----------
    log_tau1_at : callable
        Maps the numbers of blocks 1..n, an (n,) int64 array, to (n,) log tau1(j): finite up to some number of blocks,
        -inf for more.
    log_tau2_at : callable
        Maps the block sizes 1..n to (n,) log tau2(j), all finite.

    Notes
    -----
    Both functions are called several times, with n = T for the T clustered observations, and with n = T + 1 because a
    predictive density is that of one more. Their values must not depend on n.

    There are no hyperparameters, and :meth:`log_normaliser` is 0: the log joint probability in a trace is known up to
    a constant.
    """

    log_tau1_at: LogFunction
    log_tau2_at: LogFunction

    name: ClassVar[str] = "custom"

    def __post_init__(self) -> None:
        for parameter in ("log_tau1_at", "log_tau2_at"):
            check_kind(parameter, getattr(self, parameter), Callable, "a function")

    def max_blocks(self, num_observations: int) -> int:
        """Return the largest number of blocks whose log tau1 is finite."""
        return int(np.isfinite(self.log_tau1(num_observations)).sum()) - 1

    def log_tau1(self, num_observations: int) -> NDArray[np.float64]:
        """Return the table of the user's function, after checking it."""
        table = self._table("log tau1", self.log_tau1_at, num_observations)
        finite = np.isfinite(table)
        most = int(finite.sum())
        if most == 1 or not finite[:most].all() or not (table[most:] == -np.inf).all():
            raise UsageError(
                "the prior's log tau1(j) must be finite for j = 1 up to some number of blocks, and -inf for more"
            )
        return table

    def log_tau2(self, num_observations: int) -> NDArray[np.float64]:
        """Return the table of the user's function, after checking it."""
        table = self._table("log tau2", self.log_tau2_at, num_observations)
        bad = np.flatnonzero(~np.isfinite(table))
        if len(bad):
            raise UsageError(
                f"the prior's log tau2(n) must be finite, but log tau2({bad[0]}) is {table[bad[0]]}"
            )
        return table

    @staticmethod
    def _table(what: str, function: LogFunction, num_observations: int) -> NDArray[np.float64]:
        last = "T, or T + 1 for densities of new observations"
        try:
            given = np.asarray(function(np.arange(1, num_observations + 1)), float)
        except Exception as problem:
            raise UsageError(
                f"the prior's {what} fails for the array of the numbers 1..{num_observations} ({last}): "
                f"{type(problem).__name__}: {problem}"
            ) from problem
        if given.shape != (num_observations,):
            raise UsageError(
                f"the prior's {what} must give one number for each of 1..{num_observations}, "
                f"not an array of shape {given.shape}; the last number is {last}"
            )
        return np.concatenate([[0.0], given])

    def log_normaliser(self, num_observations: int) -> float:
        """Return 0, because the normalising factor is not known."""
        return 0.0

    def to_dict(self, num_observations: int) -> dict[str, Any]:
        """Return tables for T observations, because functions cannot be stored."""
        most = self.max_blocks(num_observations)
        return {
            "name": self.name,
            "log_tau1": self.log_tau1(num_observations)[1 : most + 1].tolist(),
            "log_tau2": self.log_tau2(num_observations)[1:].tolist(),
        }


@dataclass(frozen=True)
class Lookup:
    """A stored function of 1..T: values at 1, 2, .. and a value at all larger arguments."""

    stored: tuple[float, ...]
    beyond: float

    def __call__(self, n: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.array([*self.stored, self.beyond])[np.minimum(n - 1, len(self.stored))]


def tabulated_prior(log_tau1: Sequence[float], log_tau2: Sequence[float]) -> CustomPrior:
    """Make the custom prior with these tables, for 1, 2, .. blocks and for block sizes 1, 2, .."""
    return CustomPrior(Lookup(tuple(log_tau1), -math.inf), Lookup(tuple(log_tau2), math.nan))
