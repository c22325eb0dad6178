"""Doubts of a tumour's result are told, and none without a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.posterior.checks import (
    MANY_EXPECTED,
    combined_fit,
    doubtful,
    doubts_of_detection,
    doubts_of_tumour,
    misfits,
    prob_below,
)
from pyclone_pgsm.posterior.states import Thresholds
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.tumour.choices import ERROR_RATE, PRECISION


def doubts(
    summary: Summary,
    draws: Mapping[str, NDArray[np.float64]],
    contents: Mapping[str, Uncertain],
    error_rate: float = 1e-3,
) -> list[str]:
    return doubts_of_tumour(summary, draws, contents, np.full(summary.depth.shape, error_rate))


@pytest.fixture
def summary() -> Summary:
    """Two clusters of two mutations in one sample, all in order."""
    four, two = np.full((4, 1), 0.5), np.full((2, 1), 0.5)
    return Summary(
        ["a", "b", "c", "d"],
        ["S"],
        np.array([0, 0, 1, 1]),
        np.ones(4),
        four,
        four,
        four,
        four,
        vaf=np.array([[0.5], [0.4], [136 / 252], [0.0]]),
        depth=np.array([[100], [100], [252], [100]]),
        cluster_size=np.array([2, 2]),
        cluster_mean=np.array([[1.0], [0.046]]),
        cluster_std=two,
        cluster_lower=two,
        cluster_upper=two,
        grid=np.linspace(0, 1, 11),
        cluster_masses=np.full((2, 1, 11), 1 / 11),
        outlier_prob=None,
        prob_present=np.full((4, 1), 1.0),
        prob_clonal=four,
        cluster_prob_present=np.array([[1.0], [0.9]]),
        cluster_prob_clonal=two,
        peaks=np.ones((4, 1), np.int64),
        cluster_peaks=np.ones((2, 1), np.int64),
        second_cluster=np.full(4, -1),
        second_prob=np.full(4, np.nan),
        multiplicity=np.zeros((4, 1), np.int64),
        multiplicity_prob=np.full((4, 1), np.nan),
        thresholds=Thresholds(),
        fit=np.array([[0.5], [0.9], [0.01], [np.nan]]),
        expected_reads=np.array([[50.0], [50.0], [5.2], [np.nan]]),
    )


def test_nothing_to_say(summary):
    draws = {
        "precision": np.full(10, math.inf),
        "error_rate": np.full(10, 1e-3),
        "tumour_content:S": np.full(10, 0.7),
        "another": np.zeros(10),
    }
    assert doubts(summary, draws, {"S": Uncertain(0.7, 0.05)}) == []


def test_what_counts_as_impossible():
    fit = np.array([[1e-9, np.nan], [0.0033, 1e-20], [0.00251, 0.9]])
    assert misfits(fit).tolist() == [[1, 1], [0, 0]]  # of five: below 0.002
    fit[2, 0] = 0.0019
    assert misfits(fit).tolist() == [[1, 1], [0, 0], [2, 0]]


def test_misfit(summary):
    one = replace(summary, fit=np.where(summary.fit == 0.01, 1e-40, summary.fit))
    (warning,) = doubts(one, {}, {})
    assert warning == (
        "the reads of 1 mutation do not fit its cluster (column fit of mutations.tsv): mutation c in sample S: 136 of "
        "252 reads show the variant, where its cluster's prevalence of 0.046 predicts 5. Look for wrong copy "
        "numbers, a wrong tumour content, and artefacts (`outlier_prob` 0.05)"
    )
    three = replace(summary, fit=np.array([[1e-4], [1e-5], [1e-6], [1e-7]]), expected_reads=summary.mean)
    (warning,) = doubts(three, {}, {})
    assert warning.startswith("the reads of 4 mutations do not fit their clusters")
    assert [warning.index(f"mutation {name} in") for name in "dcb"] == sorted(
        warning.index(f"mutation {name} in") for name in "dcb"
    )
    assert "; and 1 more row. Look" in warning


def test_reads_that_fit_poorly_in_all_samples_together(summary):
    """No single tail probability is small; Fisher's method against its formula for an even number of samples."""
    fit = np.full((200, 2), 0.5)
    fit[:12] = 0.02
    product = 0.02**2
    expected = product * (1.0 - math.log(product))
    assert combined_fit(fit)[0] == pytest.approx(expected)
    fit[50] = np.nan
    assert combined_fit(fit)[50] == 1.0
    assert len(misfits(fit)) == 0
    many = replace(summary, mutation_ids=[f"m{i}" for i in range(200)], fit=fit)
    (warning,) = doubts(many, {}, {})
    assert warning.startswith(
        "the reads of 12 mutations fit their clusters poorly, all samples taken together, where chance explains 2: "
        "'m0', 'm1', 'm2', 'm3', 'm4' and 7 more. Look for germline variants"
    )
    fit[6:12] = 0.5
    assert doubts(many, {}, {}) == []
    pair = replace(summary, fit=np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.01, 0.02]]))
    assert doubtful(pair).tolist() == ["", "", "", "reads do not fit"]
    assert len(misfits(pair.fit)) == 0


def test_no_cluster_can_be_clonal(summary):
    """In the first sample; in the second it is uncertain, the third has no data, and in the fourth nothing is present.

    Four mutations may all be subclonal.
    """
    probabilities = {
        name: np.hstack([getattr(summary, name)] * 4) for name in ("cluster_prob_present", "depth", "vaf")
    }
    probabilities["depth"][:, 2] = 0
    probabilities["vaf"][:, 3] = 0.0
    missing = replace(
        summary,
        sample_ids=["A", "B", "C", "D"],
        cluster_prob_clonal=np.array([[0.0, 0.2, 0.0, 0.0], [0.01, 0.0, 0.0, 0.0]]),
        **probabilities,
    )
    assert doubts(missing, {}, {}) == []
    twice = {
        field.name: np.concatenate([values, values])
        for field in fields(missing)
        if isinstance(values := getattr(missing, field.name), np.ndarray) and len(values) == 4
    }
    assert doubts(replace(missing, **twice), {}, {}) == [
        "no cluster can be clonal in 'A' (above 0.95): is the tumour content there too high, or are the trunk and a "
        "large subclone one cluster?"
    ]


@pytest.mark.parametrize(("small", "large", "is_said"), [(1, 20, True), (1, 9, False), (3, 30, False)])
def test_only_a_stray_cluster_can_be_clonal(summary, small, large, is_said):
    """In the first sample; in the second the large one can be."""
    number = small + large
    labels = np.repeat([0, 1], [small, large])
    rows = {
        field.name: values[:1].repeat(number, axis=0)
        for field in fields(summary)
        if isinstance(values := getattr(summary, field.name), np.ndarray) and len(values) == 4
    }
    two = {name: np.hstack([rows.get(name, getattr(summary, name))] * 2) for name in ("depth", "vaf")}
    found = replace(
        summary,
        sample_ids=["A", "B"],
        **rows
        | two
        | {
            "labels": labels,
            "cluster_size": np.array([small, large]),
            "cluster_prob_present": np.ones((2, 2)),
            "cluster_prob_clonal": np.array([[0.6, 0.6], [0.0, 0.1]]),
        },
    )
    said = [
        "only cluster 0 (1 mutation) can be clonal in 'A' (above 0.95): is the tumour content there too high, or are "
        "the trunk and a large subclone one cluster? So few mutations may be artefacts, or have wrong copy numbers"
    ]
    assert doubts(found, {}, {}) == (said if is_said else [])


def test_most_mutations_are_outliers(summary):
    one = replace(summary, cluster_size=np.array([2]), cluster_prob_present=np.ones((1, 1)))
    half = replace(one, labels=np.array([0, 0, -1, -1]), cluster_prob_clonal=np.ones((1, 1)))
    assert doubts(half, {}, {}) == []
    assert doubts(replace(half, labels=np.array([0, -1, -1, -1])), {}, {}) == [
        "3 of 4 mutations are outliers: is `outlier_prob` too large, or are copy numbers or the tumour content wrong?"
    ]


def test_clusters_without_reads_in_a_sample(summary):
    """In the second of three samples; the third has no reads at all, which the check of the input tells."""
    names = ("cluster_prob_present", "cluster_prob_clonal", "depth", "vaf")
    three = {name: np.hstack([getattr(summary, name)] * 3) for name in names}
    three["depth"][2:, 1] = 0
    three["depth"][:, 2] = 0
    assert doubts(replace(summary, sample_ids=["A", "B", "C"], **three), {}, {}) == [
        "no mutation of a cluster has reads in a sample: cluster 1 in B. The prevalence there is that of the prior, "
        "and tells nothing about the tumour"
    ]


def test_cluster_that_is_nowhere(summary):
    """Its variant reads are 0 of 100 and 1 of 200, or 20 of 200, or 0 of 300 with an error rate that explains 6."""
    few = summary.vaf.copy()
    few[summary.labels == 1, 0] = [1 / 252, 0.0]
    absent = replace(summary, vaf=few, cluster_prob_present=np.array([[1.0], [0.2]]))
    assert doubts(absent, {}, {}) == [
        "cluster 1 (2 mutations) is absent from every sample, and errors explain the variant reads: probably "
        "artefacts; leave them out, or try `outlier_prob` 0.05"
    ]
    (warning,) = doubts(absent, {"error_rate": np.full(10, 5e-4)}, {})
    assert "probably artefacts (unless the inferred error rate is too high: set `error_rate`" in warning
    (warning,) = doubts(absent, {}, {}, 0.05)
    assert warning == (
        "cluster 1 (2 mutations) is absent from every sample, and has fewer variant reads than errors should give, "
        "1 where 18 are expected: the error rate is too high, and may hide a subclone; set it with `error_rate`"
    )
    few[summary.labels == 1, 0] = [9 / 252, 0.02]
    (warning,) = doubts(absent, {}, {})
    assert warning == (
        "cluster 1 (2 mutations) is absent from every sample, but has more variant reads than errors explain, "
        "11 where 0.35 are expected: a subclone in very few cells, or artefacts"
    )
    both = replace(absent, vaf=np.zeros((4, 1)), cluster_prob_present=np.array([[0.1], [0.2]]))
    (warning,) = doubts(both, {}, {})
    assert warning.startswith(
        "each of clusters 0, 1 (4 mutations in all) is absent from every sample, and errors"
    )
    unseen = np.zeros_like(summary.depth)
    with_unseen = replace(
        absent,
        cluster_prob_present=np.array([[1.0, 0.9], [0.2, 0.9]]),
        depth=np.hstack([summary.depth, unseen]),
    )
    assert with_unseen.absent == absent.absent == [1]


def shares(values: tuple[float, ...], at: float, share: float) -> np.ndarray:
    """100 draws, this share of them at a value and the others in the middle."""
    return np.where(np.arange(100) < 100 * share, at, values[len(values) // 2])


@pytest.mark.parametrize("name", ["precision", "precision:S"])
def test_precision_at_its_end(summary, name):
    lowest = PRECISION.values[0]
    assert doubts(summary, {name: shares(PRECISION.values, lowest, 0.19)}, {}) == []
    (warning,) = doubts(summary, {name: shares(PRECISION.values, lowest, 0.2)}, {})
    of_sample = " of S" if ":" in name else ""
    assert warning.startswith(
        f"the precision{of_sample} is at the smallest value of its grid, {lowest:g}, in 20 % of the draws"
    )
    assert "`precision` 200" in warning


def test_error_rate_at_an_end(summary):
    smallest, *_, largest = ERROR_RATE.values
    assert doubts(summary, {"error_rate": shares(ERROR_RATE.values, smallest, 0.9)}, {}) == []
    assert doubts(summary, {"error_rate": shares(ERROR_RATE.values, largest, 0.19)}, {}) == []
    (warning,) = doubts(summary, {"error_rate": shares(ERROR_RATE.values, largest, 0.4)}, {})
    assert warning.startswith(
        "the error rate is at the largest value of its grid, 0.01, in 40 % of the draws:"
    )
    assert "germline variants" in warning
    assert warning.endswith("Set it with `error_rate`, 0.001 if nothing else is known")


def test_errors_like_variant_reads(summary):
    """A quarter of the smallest mean frequency of a cluster that is present."""
    means = [summary.vaf[summary.labels == k, 0].mean() for k in (0, 1)]
    low = int(np.argmin(means))
    rates = {"error_rate": np.full(10, 0.26 * means[low])}
    (warning,) = doubts(summary, rates, {})
    assert warning.startswith(
        f"errors are hardly told from the variant reads of cluster {low} in sample S: the error rate may be "
        f"{0.26 * means[low]:.2g}, and the cluster's variant allele frequency is {means[low]:.2g}"
    )
    assert doubts(summary, {"error_rate": np.full(10, 0.24 * means[low])}, {}) == []
    none = replace(
        summary, labels=np.full(4, -1), cluster_prob_present=np.empty((0, 1)), cluster_size=np.empty(0, int)
    )
    (warning,) = doubts(none, rates, {})
    assert warning.startswith("4 of 4 mutations are outliers")
    absent = summary.cluster_prob_present.copy()
    absent[low] = 0.7
    assert doubts(replace(summary, cluster_prob_present=absent), rates, {}) == []


def test_tumour_content_at_an_end(summary):
    draws = {"tumour_content:S": np.full(10, 0.7 + 2.5 * 0.05)}
    (warning,) = doubts(summary, draws, {"S": Uncertain(0.7, 0.05)})
    assert warning.startswith(
        "the reads contradict the tumour content of S, 0.7±0.05: inferred is 0.825. Check it"
    )
    at_one = {"tumour_content:S": np.full(10, 1.0)}
    assert doubts(summary, at_one, {"S": Uncertain(0.95, 0.05)}) == []
    (warning,) = doubts(summary, at_one, {"S": Uncertain(0.7, 0.15)})
    assert "0.7±0.15: inferred is 1." in warning
    assert doubts(summary, at_one, {"S": Uncertain(0.7, 0.2)}) == []


MEAN = 0.08
"""Share of variant reads of the mutations of which a caller leaves out some."""


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
