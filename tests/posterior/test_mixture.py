"""Clusters of a mixture: their order, and their parameters averaged over partitions."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.labels import renumbered
from pyclone_pgsm.likelihoods.bernoulli import Bernoulli
from pyclone_pgsm.likelihoods.normal import Normal
from pyclone_pgsm.partition import build_partition
from pyclone_pgsm.posterior.mixture import MixtureSummary, block_shares, cluster_parameters

POINTS = np.random.default_rng(5).normal(size=(7, 2))


def described(likelihood: Any, members: list[int]) -> dict[str, NDArray[np.float64]]:
    """Posterior of the parameters of one block."""
    labels = np.ones(len(likelihood[0]), np.int32)
    labels[members] = 0
    partition = compiled_for(build_partition, type(likelihood))(likelihood, labels)
    return likelihood.cluster_parameters(partition.stats[partition.labels[members[0]]])


def test_from_the_largest_cluster_down():
    assert renumbered(np.array([2, 0, 1, 1, 0, 3, 3, 3])).tolist() == [3, 1, 2, 2, 1, 0, 0, 0]
    assert renumbered(np.zeros(3, int)).tolist() == [0, 0, 0]


def test_shares_of_the_blocks_that_hold_most_members():
    partition = np.array([0, 0, 1, 1, 2, 2, 2], np.uint8)
    found = block_shares(partition, np.array([0, 0, 0, 1, 1, 1, 1]))
    np.testing.assert_array_equal(found, [[1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(block_shares(partition, np.zeros(7, int)), [[0, 0, 1]])
    found = block_shares(partition, np.array([0, 0, 0, 0, -1, -1, 1]))
    np.testing.assert_array_equal(found, [[0.5, 0.5, 0], [0, 0, 1]])


def test_blocks_with_equally_many_members_have_equal_shares():
    likelihood = Normal.from_data(POINTS)
    found = cluster_parameters(
        repeat(likelihood), np.array([[0, 0, 1, 1, 2, 2, 2]]), np.array([0, 0, 0, 0, 1, 1, 1])
    )
    one, other = described(likelihood, [0, 1]), described(likelihood, [2, 3])
    mean = (one["mean"] + other["mean"]) / 2
    second = (one["mean"] ** 2 + one["mean_sd"] ** 2 + other["mean"] ** 2 + other["mean_sd"] ** 2) / 2
    np.testing.assert_allclose(found["mean"][0], mean)
    np.testing.assert_allclose(found["mean_sd"][0], np.sqrt(second - mean**2))


@pytest.mark.parametrize(
    "likelihood", [Normal.from_data(POINTS), Bernoulli.from_data((POINTS > 0).astype(float))]
)
def test_one_partition_gives_the_posterior_of_its_blocks(likelihood):
    labels = np.array([1, 1, 1, 1, 0, 0, 0])
    found = cluster_parameters(repeat(likelihood), np.array([[0, 0, 0, 0, 1, 1, 1]] * 3, np.uint8), labels)
    for cluster, members in ((1, [0, 1, 2, 3]), (0, [4, 5, 6])):
        expected = described(likelihood, members)
        assert found.keys() == expected.keys()
        for name, values in expected.items():
            np.testing.assert_allclose(found[name][cluster], values, rtol=1e-12)


def test_two_partitions_are_averaged():
    """Mean of the means; mean of the variances and variance of the means."""
    likelihood = Normal.from_data(POINTS)
    labels = np.array([0, 0, 0, 0, 1, 1, 1])
    partitions = np.array([[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 2, 2, 1], [0, 0, 0, 1, 2, 2, 1]])
    found = cluster_parameters(repeat(likelihood), partitions, labels)
    one, other = described(likelihood, [0, 1, 2, 3]), described(likelihood, [0, 1, 2])
    weights = np.array([1, 2]) / 3
    mean = weights @ [one["mean"], other["mean"]]
    np.testing.assert_allclose(found["mean"][0], mean)
    np.testing.assert_allclose(found["covariance"][0], (one["covariance"] + 2 * other["covariance"]) / 3)
    second = weights @ [one["mean"] ** 2 + one["mean_sd"] ** 2, other["mean"] ** 2 + other["mean_sd"] ** 2]
    np.testing.assert_allclose(found["mean_sd"][0], np.sqrt(second - mean**2))


def test_infinite_parameters_stay_infinite():
    likelihood = Normal.from_data(POINTS, nu0=1.5)  # no mean of the covariance of one or two observations
    found = cluster_parameters(
        repeat(likelihood), np.array([[0] * 7, [0, 1, 1, 1, 1, 1, 1]]), np.array([0] + [1] * 6)
    )
    assert np.isinf(found["covariance"][0]).all()
    assert np.isinf(found["mean_sd"][0]).all()
    assert np.isfinite(found["mean"]).all()
    assert np.isfinite(found["covariance"][1]).all()


@pytest.mark.filterwarnings("error")
def test_squares_of_large_parameters_may_overflow():
    data = np.array([[1e100], [-1e100], [3e100]])
    likelihood = Normal.from_data(data, scale=1.0)
    partitions = np.array([[0, 0, 0], [0, 0, 1]])
    found = cluster_parameters(repeat(likelihood), partitions, np.zeros(3, np.int64))
    assert all(np.isfinite(values).all() for values in found.values())


def test_likelihood_without_cluster_parameters():
    assert cluster_parameters([(POINTS,)], np.zeros((1, 7), int), np.zeros(7, int)) == {}


def test_number_of_clusters():
    summary = MixtureSummary(["a", "b"], ["x"], np.array([0, 1]), np.ones(2), np.array([1, 1]), {})
    assert summary.num_clusters == 2
