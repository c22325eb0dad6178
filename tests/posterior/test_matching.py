"""Probabilities of mutations' clusters, against a slow and obvious count."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from pyclone_pgsm.labels import canonical
from pyclone_pgsm.posterior.matching import join_singletons, match_clusters


def match(draw: NDArray[np.int64], labels: NDArray[np.int64], i: int) -> int:
    """The cluster that the block of mutation i matches, -1 for none."""
    others = labels[(draw == draw[i]) & (np.arange(len(draw)) != i)]
    others = others[others >= 0]
    if len(others) == 0:
        alone = labels[i] >= 0 and (labels == labels[i]).sum() == 1
        return int(labels[i]) if alone else -1
    votes = np.bincount(others)
    most = np.flatnonzero(votes == votes.max())
    return int(labels[i] if labels[i] in most else most[0])


def test_against_a_slow_count():
    rng = np.random.default_rng(1)
    for _ in range(30):
        T, M = int(rng.integers(1, 14)), int(rng.integers(1, 8))
        labels = canonical(rng.integers(4, size=T)) - int(rng.integers(2))  # with outliers or not
        draws = np.array([canonical(rng.integers(rng.integers(1, 6), size=T)) for _ in range(M)], np.uint8)
        found = match_clusters(draws, labels)
        for i in range(T):
            matched = np.array([match(draw.astype(int), labels, i) for draw in draws])
            share = np.bincount(matched[matched >= 0], minlength=5) / M
            if labels[i] >= 0:
                assert found.own_prob[i] == pytest.approx(share[labels[i]])
                share[labels[i]] = 0.0
            else:
                assert np.isnan(found.own_prob[i])
            if share.max() > 0:
                assert found.second[i] == np.argmax(share)
                assert found.second_prob[i] == pytest.approx(share.max())
            else:
                assert found.second[i] == -1
                assert np.isnan(found.second_prob[i])


def test_no_clusters():
    found = match_clusters(np.array([[0, 1, 0]], np.uint8), np.full(3, -1))
    assert found.second.tolist() == [-1] * 3
    assert np.isnan(found.own_prob).all()


A, B = [0, 0, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 1, 1]
ALONE = [0, 0, 0, 1, 1, 1, 2]


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        ([A, A, A, B, B, ALONE], A),  # alone in one draw, with the first cluster in three
        ([B, B, A, ALONE], B),
        ([A, B, ALONE, ALONE], ALONE),
        ([ALONE, ALONE], ALONE),
    ],
)
def test_a_mutation_that_is_seldom_alone_joins_its_most_probable_cluster(draws, expected):
    assert join_singletons(np.array(draws, np.uint8), np.array(ALONE), 0.0).tolist() == expected


def test_two_single_mutations_do_not_change_places():
    draws = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 2]], np.uint8)
    assert join_singletons(draws, np.array([0, 0, 1, 2]), 0.0).tolist() == [0, 0, 1, 2]


def test_outliers_stay_without_a_cluster():
    draws = np.array([[0, 0, 1, 0, 2], [0, 0, 1, 0, 2]], np.uint8)
    assert join_singletons(draws, np.array([1, 1, -1, 0, 2]), 0.0).tolist() == [0, 0, -1, 0, 1]


def test_an_outlier_is_no_cluster_of_its_own():
    draws = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0], [0, 0, 1]], np.uint8)
    outlier_prob = np.array([0.0, 0.0, 0.5])  # two of the three draws in which the last mutation is alone
    own, second, second_prob = match_clusters(draws, np.array([0, 0, 1]), outlier_prob)
    assert own.tolist() == [1.0, 1.0, 0.25]
    assert (second[2], second_prob[2]) == (0, 0.25)
    outlier_prob[2] = 0.75
    assert join_singletons(draws, np.array([0, 0, 1]), outlier_prob).tolist() == [0, 0, 0]
