"""Present, clonal or absent: by probabilities, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.posterior.states import (
    Thresholds,
    absent_everywhere,
    statuses,
    trunk_state,
    trunks,
)


def test_statuses():
    present = np.array([[0.1, 0.2, 0.21, 1.0], [1.0, 0.9, 1.0, 0.95]])
    clonal = np.array([[0.0, 0.0, 0.0, 0.8], [0.79, 0.1, 0.2, 0.9]])
    assert statuses(present, clonal).tolist() == [
        ["absent", "absent", "uncertain", "clonal"],
        ["uncertain", "subclonal", "subclonal", "clonal"],
    ]


def test_trunk_is_the_largest_cluster_that_is_clonal_everywhere():
    clonal = np.array([[0.9, 0.6], [0.51, 0.9], [0.99, 0.5], [0.0, 0.0]])
    assert trunks(clonal, np.array([3, 7, 50, 9])) == [1, 0]
    assert trunks(clonal[2:], np.array([50, 9])) == []


def test_a_trunk_is_only_probably_clonal_where_a_status_is_uncertain():
    assert trunk_state(np.array([0.8, 0.99])) == "clonal"
    assert trunk_state(np.array([0.99, 0.79])) == "probably clonal"


def test_absent_everywhere():
    assert absent_everywhere(np.array([[0.2, 0.1], [0.2, 0.21], [0.0, 0.0]])) == [0, 2]


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ((-0.1, 0.95), "`present_above` -0.1: must be a prevalence, at least 0 and below 1"),
        ((1.0, 0.95), "`present_above` 1: must be a prevalence"),
        ((float("nan"), 0.95), "`present_above` nan: must be a prevalence"),
        ((0.5, 0.5), r"`clonal_above` 0.5: must be a prevalence above `present_above` \(0.5\) and below 1"),
        ((0.01, 1.0), "`clonal_above` 1: must be a prevalence above"),
        ((0.01, float("nan")), "`clonal_above` nan: must be"),
    ],
)
def test_thresholds_that_cannot_be(thresholds, message):
    with pytest.raises(UsageError, match=message):
        Thresholds(*thresholds).check()


def test_thresholds_that_can_be():
    assert Thresholds(0.0, 0.999).check() == (0.0, 0.999)
