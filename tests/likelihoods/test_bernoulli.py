"""The Beta-Bernoulli statistic against scipy's Beta functions."""

from __future__ import annotations

import json
import math
import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from plain_python import answers_of_plain_python
from scipy.special import betaln
from scipy.stats import beta, chi2_contingency
from walks import ask, blocks_after, random_walk, run, statistic

from pyclone_pgsm.errors import DataValueError, UsageError
from pyclone_pgsm.likelihoods.bernoulli import Bernoulli, associations
from pyclone_pgsm.likelihoods.parameters import log_rising


def log_marginal(x: NDArray[np.float64], a0: ArrayLike, b0: ArrayLike) -> float:
    ones, zeros = x.sum(axis=0), (1.0 - x).sum(axis=0)
    return float((betaln(a0 + ones, b0 + zeros) - betaln(a0, b0) * np.ones(x.shape[1])).sum())


def make(T: int, D: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Data and parameters, some of which are the same in several coordinates."""
    rng = np.random.default_rng(seed)
    a0 = rng.choice([0.01, 0.5, 1.0, 7.3], D)
    b0 = rng.choice([0.2, 1.0, 40.0], D)
    return (rng.random((T, D)) < rng.random(D)).astype(float), a0, b0


@settings(max_examples=100, deadline=None)
@given(T=st.integers(2, 9), D=st.integers(1, 40), seed=st.integers(0, 10**6))
def test_observations_come_and_go(T: int, D: int, seed: int) -> None:
    """After every step, marginals by definition and predictives as their ratios."""
    rng = np.random.default_rng(seed)
    x, a0, b0 = make(T, D, seed)
    likelihood = Bernoulli.from_data(x, a0, b0)
    actions, subjects = random_walk(T, 14, rng)
    marginals, predictives = run(likelihood, T, actions, subjects)
    for step, members in enumerate(blocks_after(actions, subjects)):
        assert marginals[step] == pytest.approx(log_marginal(x[members], a0, b0), abs=1e-9)
        for i in range(T):
            others = [j for j in members if j != i]
            ratio = log_marginal(x[[*others, i]], a0, b0) - log_marginal(x[others], a0, b0)
            assert predictives[step, i] == pytest.approx(ratio, abs=1e-9)


@pytest.mark.parametrize(
    ("a0", "b0"), [(1.0, 1.0), (0.3, 2.0), ([0.1, 5.0, 0.1], 1.5), ([1, 2, 3], [3, 2, 2])]
)
def test_many_blocks_at_once_and_new_observations(a0: ArrayLike, b0: ArrayLike) -> None:
    x, _, _ = make(12, 3, 1)
    everything = np.array(list(product([0.0, 1.0], repeat=3)))
    likelihood = Bernoulli.from_data(x, a0, b0)
    a0, b0 = np.asarray(a0, float), np.asarray(b0, float)
    blocks = [[], [3], [7, 1], [0, 2, 4, 5, 6], list(range(12))]
    marginals, predictives, new = ask(likelihood, 12, blocks, everything)
    for b, block in enumerate(blocks):
        given = x[block]
        assert marginals[b] == pytest.approx(log_marginal(given, a0, b0), abs=1e-11)
        for points, found in ((x, predictives[b]), (everything, new[b])):
            joint = [log_marginal(np.vstack([given, point]), a0, b0) for point in points]
            np.testing.assert_allclose(found, np.array(joint) - marginals[b], rtol=0, atol=1e-11)
        assert np.exp(new[b]).sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(likelihood.log_prior, predictives[0], rtol=0, atol=1e-12)
    assert likelihood.log_constant() == 0.0


def test_add_many_is_adding_one_by_one_and_nothing_drifts() -> None:
    x, a0, b0 = make(20, 10, 3)
    likelihood = Bernoulli.from_data(x, a0, b0)
    actions, subjects = random_walk(20, 5_000, np.random.default_rng(2))
    marginals, _ = run(likelihood, 20, actions, subjects)
    expected, _, _ = ask(likelihood, 20, [blocks_after(actions, subjects)[-1]])
    assert marginals[-1] == expected[0]


def test_parameters_of_a_cluster() -> None:
    x, a0, b0 = make(10, 4, 4)
    members = [0, 2, 3, 7]
    likelihood = Bernoulli.from_data(x, a0, b0)
    found = likelihood.cluster_parameters(statistic(likelihood, members))
    ones = x[members].sum(axis=0)
    posterior = beta(a0 + ones, b0 + 4 - ones)
    np.testing.assert_allclose(found["theta"], posterior.mean(), rtol=1e-12)
    np.testing.assert_allclose(found["theta_sd"], posterior.std(), rtol=1e-9)


def test_coordinates_with_the_same_prior_share_their_tables() -> None:
    x, _, _ = make(5, 6, 1)
    assert Bernoulli.from_data(x).logs.shape == (1, 2, 6)
    assert Bernoulli.from_data(x, [1, 2, 1, 2, 1, 2], 3.0).logs.shape == (2, 2, 6)


@pytest.mark.parametrize("value", [0.5, -1.0, 2.0, math.nan, math.inf])
def test_a_value_that_is_not_binary(value: float) -> None:
    with pytest.raises(DataValueError) as caught:
        Bernoulli.from_data([[0.0, 1.0], [1.0, 1.0], [value, 3.0]])
    assert (caught.value.row, caught.value.column) == (2, 0)
    assert caught.value.expected == "0 or 1 (missing values are not supported)"
    shown = "NaN" if math.isnan(value) else f"{value:g}"
    assert str(caught.value) == (
        f"row 2, column 0 of the data (counted from 0): {shown}: must be 0 or 1 (missing values are not supported)"
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"a0": 0.0}, "a0 must be a positive number or a list of 2 positive numbers, not 0.0"),
        ({"b0": -1.0}, "b0 must be a positive number or a list of 2 positive numbers, not -1.0"),
        (
            {"b0": [1.0, 2.0, 3.0]},
            r"b0 must be a positive number or a list of 2 positive numbers, not \[1.0, 2.0, 3.0\]",
        ),
        (
            {"a0": [1.0, math.nan]},
            r"a0 must be a positive number or a list of 2 positive numbers, not \[1.0, nan\]",
        ),
        ({"a0": math.inf}, "a0 must be a positive number or a list of 2 positive numbers, not inf"),
        ({"a0": "x"}, "a0 must be a positive number or a list of 2 positive numbers, not 'x'"),
    ],
)
def test_parameters_that_cannot_be(parameters: dict, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}$"):
        Bernoulli.from_data([[0.0, 1.0]], **parameters)


@pytest.mark.parametrize("data", [[1.0, 0.0], [[]], np.empty((0, 3))])
def test_data_of_the_wrong_shape(data: object) -> None:
    with pytest.raises(
        UsageError, match="the data must be a matrix of observations by variables, not of shape"
    ):
        Bernoulli.from_data(data)  # type: ignore[arg-type]


def sample_answers() -> list[list[float]]:
    x, a0, b0 = make(6, 9, 7)
    likelihood = Bernoulli.from_data(x, a0, b0)
    marginals, predictives = run(likelihood, 6, *random_walk(6, 12, np.random.default_rng(1)))
    _, together, new = ask(likelihood, 6, [[0, 1], [2, 3, 4], [5]], x[:2])
    return [each.ravel().tolist() for each in (marginals, predictives, together, new)]


def test_compiled_and_pure_python_agree() -> None:
    for compiled, pure in zip(sample_answers(), answers_of_plain_python(__file__), strict=True):
        np.testing.assert_allclose(compiled, pure, rtol=0, atol=1e-11)


if __name__ == "__main__":
    print(json.dumps(sample_answers()))


def simulated(seed: int, extra: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows of three clusters in 15 columns, followed by the `extra` columns, and the labels."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], [60, 50, 40])
    shares = rng.beta(0.6, 0.6, (3, 15))
    return np.hstack([rng.random((150, 15)) < shares[labels], extra]).astype(float), labels


@pytest.mark.parametrize("seed", range(5))
def test_columns_are_associated_only_where_clusters_are_joined(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for extra in (np.ones((150, 100)), rng.random((150, 100)) < rng.random(100), np.empty((150, 0))):
        x, labels = simulated(seed, extra)
        assert Bernoulli.doubts_of_clusters(x, labels) == []
        (doubt,) = Bernoulli.doubts_of_clusters(x, np.zeros(150, np.int64))
        assert "pairs of columns are associated within clusters" in doubt
        assert re.search(r"strongest: `column \d+` and `column \d+` in cluster 0\. The", doubt)
        assert Bernoulli.doubts_of_clusters(x, np.full(150, -1)) == []


def test_association_is_pearsons_chi_square() -> None:
    x, _ = simulated(3, np.empty((150, 0)))
    found = associations(x)
    i, j = np.argwhere(~np.isnan(found))[0]
    table = np.histogram2d(x[:, i], x[:, j], bins=2)[0]
    assert found[i, j] == pytest.approx(chi2_contingency(table, correction=False).statistic)


@pytest.mark.parametrize("a", [1e-9, 0.5, 999.9, 1e3, 1e5, 1e7, 1e9])
def test_large_parameters_keep_their_digits(a: float) -> None:
    n = np.arange(2001.0)
    expected = [math.fsum(math.log(a + k) for k in range(m)) for m in range(len(n))]
    np.testing.assert_allclose(log_rising(np.array(a), n), expected, rtol=1e-13, atol=2e-12)
    # a marginal is the product of the predictives of one observation after the other
    x, _, _ = make(12, 3, 1)
    first = [list(range(m)) for m in range(13)]
    marginals, predictives, _ = ask(Bernoulli.from_data(x, a, a), 12, first)
    ratios = [predictives[m, m] for m in range(12)]
    np.testing.assert_allclose(np.diff(marginals), ratios, rtol=1e-9, atol=1e-11)
