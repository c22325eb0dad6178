"""States of a cluster in a sample: absent, subclonal (in some of the cancer cells) or clonal (in all of them)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.ranges import check_number, refuse

ABSENT, SUBCLONAL, CLONAL, UNCERTAIN = "absent", "subclonal", "clonal", "uncertain"
SURE = 0.8
"""A state, or a mutation's cluster, is uncertain if its probability is smaller."""


class Thresholds(NamedTuple):
    """Prevalences above which a mutation is present, and clonal.

    Attributes
    ----------
    present_above, clonal_above : float
        0 <= present_above < clonal_above < 1.
    """

    present_above: float = 0.01
    clonal_above: float = 0.95

    def check(self) -> Thresholds:
        """Return the thresholds if they are valid.

        Raises
        ------
        UsageError
            They are out of range.
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
    """Return (K, D) names of states, ``uncertain`` where none has a probability of at least `SURE`."""
    states = np.stack([1.0 - prob_present, prob_present - prob_clonal, prob_clonal])
    names = np.array([ABSENT, SUBCLONAL, CLONAL], object)[states.argmax(axis=0)]
    return np.where(states.max(axis=0) >= SURE, names, UNCERTAIN)


def trunks(prob_clonal: NDArray[np.float64], size: NDArray[np.int64]) -> list[int]:
    """Return the clusters with `prob_clonal` (K, D) above 0.5 in every sample, the largest `size` (K,) first."""
    found = np.flatnonzero((prob_clonal > 0.5).all(axis=1))
    return found[np.argsort(-size[found], kind="stable")].tolist()


def trunk_state(prob_clonal: NDArray[np.float64]) -> str:
    """Return how a cluster of :func:`trunks` is described: ``clonal``, or ``probably clonal`` where that is uncertain.

    `prob_clonal` is (D,), the cluster's.
    """
    return CLONAL if (prob_clonal >= SURE).all() else f"probably {CLONAL}"


def absent_everywhere(prob_present: NDArray[np.float64]) -> list[int]:
    """Return the clusters that are absent from every sample, probably artefacts; `prob_present` is (K, D)."""
    return np.flatnonzero((1.0 - prob_present >= SURE).all(axis=1)).tolist()
