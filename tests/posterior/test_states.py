"""Present, clonal or absent: by probabilities, and what is said of them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from test_plots import make_summary

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.posterior.states import Thresholds, checked_thresholds, statuses


def test_statuses():
    present = np.array([[0.1, 0.2, 0.21, 1.0], [1.0, 0.9, 1.0, 0.95]])
    clonal = np.array([[0.0, 0.0, 0.0, 0.8], [0.79, 0.1, 0.2, 0.9]])
    assert statuses(present, clonal).tolist() == [
        ["absent", "absent", "uncertain", "clonal"],
        ["uncertain", "subclonal", "subclonal", "clonal"],
    ]


def test_trunk_is_the_largest_cluster_that_is_clonal_everywhere():
    summary = make_summary(69, 2, 4)
    clonal = np.array([[0.9, 0.6], [0.51, 0.9], [0.99, 0.5], [0.0, 0.0]])
    sizes = np.array([3, 7, 50, 9])
    assert replace(summary, cluster_prob_clonal=clonal, cluster_size=sizes).trunks == [1, 0]
    assert replace(summary, cluster_prob_clonal=clonal[2:], cluster_size=sizes[2:]).trunks == []


def test_a_trunk_is_only_probably_clonal_where_a_status_is_uncertain():
    summary = make_summary(9, 2, 1)
    for clonal, state in (([0.8, 0.99], "clonal"), ([0.99, 0.79], "probably clonal")):
        trunk = replace(summary, cluster_prob_clonal=np.array([clonal])).trunk
        assert trunk == f"cluster 0 (9 mutations), {state} in every sample"


def test_absent_everywhere():
    present = np.array([[0.2, 0.1], [0.2, 0.21], [0.0, 0.0]])
    assert replace(make_summary(9, 2, 3), cluster_prob_present=present).absent == [0, 2]


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
        checked_thresholds(Thresholds(*thresholds))


def test_thresholds_that_can_be():
    assert checked_thresholds(Thresholds(0.0, 0.999)) == (0.0, 0.999)
    checked = checked_thresholds(Thresholds(np.float32(0.25), np.float32(0.5)))
    assert json.dumps(checked) == "[0.25, 0.5]"  # run.json holds no numbers of numpy
