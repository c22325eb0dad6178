"""Mutations that a caller leaves out are noticed, and nothing is said where all are there."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from pyclone_pgsm.posterior.detection import MANY_EXPECTED, doubts_of_detection, prob_below
from pyclone_pgsm.posterior.summary import Summary
from tests.posterior.test_checks import summary as summary_of_two_clusters

summary = summary_of_two_clusters
MEAN = 0.08


def reads(summary: Summary, least: int, seed: int = 0) -> Summary:
    """Return the summary with 400 mutations of cluster 1, less those with fewer than `least` variant reads."""
    rng = np.random.default_rng(seed)
    depth = rng.poisson(60, (400, 1)) + 1
    alt = rng.binomial(depth, MEAN)
    kept = alt[:, 0] >= least
    depth, alt = depth[kept], alt[kept]
    return replace(
        summary,
        labels=np.ones(len(depth), np.int64),
        depth=depth,
        vaf=alt / depth,
        expected_reads=MEAN * depth,
        cluster_size=np.array([0, len(depth)]),
    )


def test_mutations_that_were_left_out(summary):
    found = reads(summary, 4)
    (warning,) = doubts_of_detection(found, [math.inf])
    expected = stats.binom.cdf(3, found.depth, MEAN).sum()
    assert warning == (
        f"mutations with fewer than 4 variant reads in sample S seem to be left out: about {expected:.0f} are "
        f"expected, {expected:.0f} of them in cluster 1 of {len(found.depth)} mutations. Its prevalence of 0.046 may "
        "be too high, and clusters of smaller prevalence may be joined with it or missing"
    )
    assert expected > 2 * MANY_EXPECTED
    (warning,) = doubts_of_detection(reads(summary, 1), [20.0])
    assert warning.startswith("mutations without variant reads in sample S seem to be left out: about ")


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_said_where_none_is_left_out(summary, seed):
    assert list(doubts_of_detection(reads(summary, 0, seed), [math.inf])) == []


def test_clusters_that_are_present_elsewhere_say_nothing(summary):
    """Their mutations may have been called there."""
    found = reads(summary, 4)
    columns = {
        name: np.repeat(getattr(found, name), 2, axis=1) for name in ("depth", "vaf", "expected_reads")
    }
    columns["cluster_mean"] = np.repeat(found.cluster_mean, 2, axis=1)
    found = replace(found, sample_ids=["S", "U"], **columns)
    for elsewhere, number in ((0.9, 0), (0.1, 1)):
        present = np.array([[1.0, 1.0], [0.9, elsewhere]])
        two = replace(found, cluster_prob_present=present)
        assert len(list(doubts_of_detection(two, [math.inf, math.inf]))) == number


def test_no_cluster(summary):
    assert list(doubts_of_detection(replace(summary, labels=np.full(4, -1)), [math.inf])) == []


@pytest.mark.parametrize("precision", [20.0, math.inf])
@pytest.mark.parametrize("fewest", [1, 4, 30])
def test_probabilities(fewest, precision):
    depth, mean = np.array([10, 50, 400]), np.array([0.1, 0.001, 0.07])
    if math.isinf(precision):
        expected = stats.binom.cdf(fewest - 1, depth, mean)
    else:
        expected = stats.betabinom.cdf(fewest - 1, depth, precision * mean, precision * (1 - mean))
    np.testing.assert_allclose(prob_below(fewest, depth, mean, precision), expected, rtol=1e-9)
