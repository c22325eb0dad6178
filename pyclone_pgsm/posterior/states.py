"""States of a cluster in a sample: absent, subclonal (in some of the cancer cells) or clonal (in all of them)."""

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


def checked_thresholds(value: object) -> Thresholds:
    """Return thresholds as floats; raise UsageError for anything that cannot be used."""
    if not isinstance(value, Thresholds):
        refuse("thresholds", value, "of the class Thresholds, as in Thresholds(clonal_above=0.9)")
    present, clonal = (check_number(*each) for each in value._asdict().items())
    if not 0.0 <= present < 1.0:
        raise UsageError(f"`present_above` {present:g}: must be a prevalence, at least 0 and below 1")
    if not present < clonal < 1.0:
        raise UsageError(
            f"`clonal_above` {clonal:g}: must be a prevalence above `present_above` ({present:g}) and below 1"
        )
    return Thresholds(present, clonal)


DEFAULT_THRESHOLDS = Thresholds()


def statuses(prob_present: NDArray[np.float64], prob_clonal: NDArray[np.float64]) -> NDArray[np.object_]:
    """Return (K, D) names of states, ``uncertain`` where none has a probability of at least `SURE`."""
    states = np.stack([1.0 - prob_present, prob_present - prob_clonal, prob_clonal])
    names = np.array([ABSENT, SUBCLONAL, CLONAL], object)[states.argmax(axis=0)]
    return np.where(states.max(axis=0) >= SURE, names, UNCERTAIN)
