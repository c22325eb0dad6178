"""Whether a cluster is absent from a sample, in some of its cancer cells, or in all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.ranges import check_number, refuse

ABSENT, SUBCLONAL, CLONAL, UNCERTAIN = "absent", "subclonal", "clonal", "uncertain"
SURE = 0.8
"""Least probability of a state, or of a mutation's cluster, that is not called uncertain."""


class Thresholds(NamedTuple):
    """Where a mutation begins to be present and clonal.

    Attributes
    ----------
    present_above, clonal_above : float
        Prevalences, 0 <= present_above < clonal_above < 1.
    """

    present_above: float = 0.01
    clonal_above: float = 0.95

    def check(self) -> Thresholds:
        """Return the thresholds if they can be used.

        Raises
        ------
        UsageError
        """
        for name in self._fields:
            check_number(name, getattr(self, name))
        if not 0.0 <= self.present_above < 1.0:
            raise UsageError(
                f"`present_above` {self.present_above:g}: must be a prevalence, at least 0 and below 1"
            )
        if not self.present_above < self.clonal_above < 1.0:
            raise UsageError(
                f"`clonal_above` {self.clonal_above:g}: must be a prevalence above `present_above` "
                f"({self.present_above:g}) and below 1"
            )
        return self


def checked_thresholds(value: object) -> Thresholds:
    """Thresholds that can be used; UsageError if they are anything else."""
    if not isinstance(value, Thresholds):
        refuse("thresholds", value, "of the class Thresholds, as in Thresholds(clonal_above=0.9)")
    return value.check()


DEFAULT_THRESHOLDS = Thresholds()


def statuses(prob_present: NDArray[np.float64], prob_clonal: NDArray[np.float64]) -> NDArray[np.object_]:
    """``absent``, ``subclonal`` or ``clonal`` where one of them has the probability `SURE` or more, else ``uncertain``.

    The arguments are (K, D).
    """
    states = np.stack([1.0 - prob_present, prob_present - prob_clonal, prob_clonal])
    names = np.array([ABSENT, SUBCLONAL, CLONAL], object)[states.argmax(axis=0)]
    return np.where(states.max(axis=0) >= SURE, names, UNCERTAIN)


def trunks(prob_clonal: NDArray[np.float64], size: NDArray[np.int64]) -> list[int]:
    """Clusters that are more probably than not clonal in every sample, the largest first.

    `prob_clonal` is (K, D), `size` (K,).
    """
    found = np.flatnonzero((prob_clonal > 0.5).all(axis=1))
    return found[np.argsort(-size[found], kind="stable")].tolist()


def absent_everywhere(prob_present: NDArray[np.float64]) -> list[int]:
    """Clusters that are absent from every sample, and so probably artefacts; `prob_present` is (K, D)."""
    return np.flatnonzero((1.0 - prob_present >= SURE).all(axis=1)).tolist()
