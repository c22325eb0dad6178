"""The likelihood keeps the contract, and its densities are those of scipy."""

import numpy as np
import pytest
from pyclone_pgsm_poisson_gamma import PoissonGamma
from scipy import stats

from pyclone_pgsm.errors import DataValueError, UsageError
from pyclone_pgsm.testing import check_likelihood

COUNTS = np.array([[3, 1], [2, 6], [7, 3], [5, 5], [0, 1], [4, 9], [8, 8], [1, 0]], float)


def test_it_keeps_the_contract():
    check_likelihood(PoissonGamma.from_data(COUNTS, rate=0.3), observations=COUNTS)


def test_the_predictive_is_negative_binomial():
    likelihood = PoissonGamma.from_data(COUNTS, shape=1.5, rate=0.3)
    stat = np.empty(likelihood.stat_size())
    likelihood.clear(stat)
    for i in range(4):
        shape, rate = 1.5 + COUNTS[:i].sum(axis=0), 0.3 + i
        expected = stats.nbinom.logpmf(COUNTS[i], shape, rate / (1.0 + rate)).sum()
        assert likelihood.log_predictive_new(stat, COUNTS[i]) == pytest.approx(expected, abs=1e-10)
        likelihood.add(stat, i)
    assert likelihood.log_predictive_new(stat, np.array([1.5, 2.0])) == -np.inf
    assert likelihood.log_predictive_new(stat, np.array([1.0, -2.0])) == -np.inf


def test_the_parameters_of_a_cluster():
    likelihood = PoissonGamma.from_data(COUNTS, shape=1.5, rate=0.3)
    stat = np.empty(likelihood.stat_size())
    likelihood.clear(stat)
    likelihood.add_many(stat, np.arange(4))
    found = likelihood.cluster_parameters(stat)
    gamma = stats.gamma(1.5 + COUNTS[:4].sum(axis=0), scale=1.0 / 4.3)
    assert found["mean"] == pytest.approx(gamma.mean())
    assert found["mean_sd"] == pytest.approx(gamma.std())


@pytest.mark.parametrize("wrong", [-1.0, 0.5, np.nan, np.inf])
def test_what_is_no_count_is_named(wrong):
    data = COUNTS.copy()
    data[2, 1] = wrong
    with pytest.raises(DataValueError, match="must be a count: a whole number, 0 or more") as caught:
        PoissonGamma.from_data(data)
    assert (caught.value.row, caught.value.column) == (2, 1)


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf, [1.0, 2.0], "x"])
def test_parameters_are_positive(wrong):
    with pytest.raises(UsageError, match=r"^shape must be a number above 0, not "):
        PoissonGamma.from_data(COUNTS, shape=wrong)
