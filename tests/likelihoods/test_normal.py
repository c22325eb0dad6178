"""The Normal-inverse-Wishart statistic against scipy's Student-t, and against rational arithmetic where it is hard."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from plain_python import answers_of_plain_python
from scipy.integrate import dblquad
from scipy.special import multigammaln
from scipy.stats import multivariate_t
from walks import ask, blocks_after, random_walk, run, statistic

from pyclone_pgsm import Settings, cluster
from pyclone_pgsm.errors import DataValueError, UsageError
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.normal import Normal
from pyclone_pgsm.likelihoods.normal_prior import far_values, weight_of_rows
from pyclone_pgsm.posterior.rows import build_blocks
from pyclone_pgsm.samplers.hyperparameters import partition_log_likelihood

Array = NDArray[np.float64]


class Reference:
    """The posterior by its textbook formulas, in the units of the data."""

    def __init__(self, nu0: float, r0: float, u0: Array, S0: Array) -> None:
        self.nu0, self.r0, self.u0, self.S0 = nu0, r0, u0, S0

    def posterior(self, y: Array) -> tuple[float, float, Array, Array]:
        m, mean = len(y), y.mean(axis=0) if len(y) else self.u0
        r = self.r0 + m
        scatter = (y - mean).T @ (y - mean)
        between = self.r0 * m / r * np.outer(mean - self.u0, mean - self.u0)
        return self.nu0 + m, r, (self.r0 * self.u0 + m * mean) / r, self.S0 + scatter + between

    def log_predictive(self, others: Array, y: Array) -> float:
        nu, r, u, S = self.posterior(others)
        freedom = nu - len(u) + 1
        return float(multivariate_t.logpdf(y, u, S * (r + 1) / (r * freedom), df=freedom))

    def log_marginal(self, y: Array) -> float:
        """The product of the predictives, in this order."""
        return sum(self.log_predictive(y[:i], y[i]) for i in range(len(y)))


def any_prior(D: int, rng: np.random.Generator) -> dict[str, object]:
    root = rng.normal(size=(D, D))
    return {
        "nu0": D - 1 + rng.exponential(3.0),
        "r0": rng.exponential(2.0) + 0.01,
        "u0": rng.normal(size=D),
        "S0": root @ root.T + 0.3 * np.eye(D),
    }


def make(T: int, D: int, seed: int) -> tuple[Normal, Reference, Array]:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(T, D)) @ rng.normal(size=(D, D)) + 2.0 * rng.normal(size=D)
    prior = any_prior(D, rng)
    return Normal.from_data(y, **prior), Reference(**prior), y  # type: ignore[arg-type]


def left_out(likelihood: Normal) -> float:
    """Of each observation."""
    return likelihood.log_constant() / len(likelihood.z)


@pytest.mark.parametrize("D", [1, 2, 3, 9])
@pytest.mark.parametrize("seed", [1, 2])
def test_predictives_are_students_t_and_the_marginal_is_their_product(D: int, seed: int) -> None:
    likelihood, reference, y = make(12, D, seed)
    blocks = [[], [3], [7, 1], [0, 2, 4, 5, 6], list(range(11, -1, -1))]
    rng = np.random.default_rng(seed)
    points = 3.0 * rng.normal(size=(4, D))
    marginals, predictives, new = ask(likelihood, 12, blocks, points)
    constant = left_out(likelihood)
    for b, block in enumerate(blocks):
        given = y[block]
        for order in (np.arange(len(block)), rng.permutation(len(block))):
            expected = reference.log_marginal(given[order])
            assert marginals[b] + len(block) * constant == pytest.approx(expected, abs=1e-9)
        expected = [reference.log_predictive(given, each) for each in y]
        np.testing.assert_allclose(predictives[b] + constant, expected, rtol=0, atol=1e-9)
        expected = [reference.log_predictive(given, each) for each in points]
        np.testing.assert_allclose(new[b], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(likelihood.log_prior, predictives[0], rtol=0, atol=1e-12)


def test_the_marginal_is_the_papers_with_its_slip_corrected() -> None:
    """Gamma((nu + 1 - d)/2), d = 1..D, is the multivariate gamma function but for a power of pi."""
    likelihood, reference, y = make(6, 3, 5)
    marginals, _, _ = ask(likelihood, 6, [list(range(6))])
    nu, r, _, S = reference.posterior(y)
    expected = -0.5 * 6 * 3 * np.log(np.pi) + 1.5 * np.log(reference.r0 / r)
    expected += 0.5 * reference.nu0 * np.linalg.slogdet(reference.S0)[1] - 0.5 * nu * np.linalg.slogdet(S)[1]
    expected += multigammaln(nu / 2, 3) - multigammaln(reference.nu0 / 2, 3)
    assert marginals[0] + likelihood.log_constant() == pytest.approx(expected, abs=1e-10)


def test_the_density_of_new_observations_integrates_to_one() -> None:
    y = np.array([[0.0, 1.0], [0.4, 0.8], [-0.3, 1.5]])
    likelihood = Normal.from_data(y, nu0=9.0, S0=[[2.0, 0.5], [0.5, 1.0]])
    stat = statistic(likelihood, [0, 2])
    # the half-width is some hundred standard deviations: the tails fall off as |x|^-12
    density = compiled_for(Normal.log_predictive_new, Normal)
    total, _ = dblquad(
        lambda a, b: math.exp(density(likelihood, stat, np.array([a, b]))), -12, 12, -12, 12, epsabs=1e-6
    )
    assert total == pytest.approx(1.0, abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(
    T=st.integers(2, 9),
    D=st.integers(1, 5),
    scale=st.sampled_from([0.1, 1.0, 20.0]),
    seed=st.integers(0, 10**6),
)
def test_observations_come_and_go(T: int, D: int, scale: float, seed: int) -> None:
    """After every step the block is what it would be if its members had come at once: ``remove`` undoes ``add``, and
    leaving one out is removing it and predicting it."""
    rng = np.random.default_rng(seed)
    y = scale * rng.normal(size=(T, D))
    likelihood = Normal.from_data(y)
    actions, subjects = random_walk(T, 14, rng)
    marginals, predictives = run(likelihood, T, actions, subjects)
    history = blocks_after(actions, subjects)
    without = [[j for j in members if j != i] for members in history for i in range(T)]
    expected, _, _ = ask(likelihood, T, history)
    np.testing.assert_allclose(marginals, expected, rtol=0, atol=1e-8)
    _, expected, _ = ask(likelihood, T, without)
    expected = np.einsum("hii->hi", expected.reshape(len(history), T, T))
    np.testing.assert_allclose(predictives, expected, rtol=0, atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(D=st.integers(1, 4), distance=st.sampled_from([0.1, 2.0, 50.0]), seed=st.integers(0, 10**6))
def test_what_is_negligible_stays_below_and_the_rest_is_exact(D: int, distance: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    T = 30
    y = rng.normal(size=(T, D)) + distance * rng.integers(0, 3, (T, 1))
    likelihood = Normal.from_data(y)
    blocks = [rng.choice(T, size, replace=False).tolist() for size in (0, 1, 2, 8, 25)]
    _, exact, _ = ask(likelihood, T, blocks)
    negligible = rng.choice(exact.ravel(), T) + rng.choice([-30.0, -1e-3, 1e-3, 5.0], T)
    _, bounded, _ = ask(likelihood, T, blocks, negligible=negligible)
    matters = exact > negligible
    np.testing.assert_array_equal(bounded[matters], exact[matters])
    assert (bounded <= negligible)[~matters].all()
    actions, subjects = np.zeros(8, np.int64), rng.choice(T, 8, replace=False)
    _, exact = run(likelihood, T, actions, subjects)
    negligible = np.array([rng.choice(row) for row in exact])
    _, bounded = run(likelihood, T, actions, subjects, negligible)
    matters = exact > negligible[:, None]
    np.testing.assert_array_equal(bounded[matters], exact[matters])


# Data much wider than the prior


class Exact:
    """log L(y_b) from determinants in rational arithmetic, of the likelihood's own whitened data."""

    def __init__(self, likelihood: Normal) -> None:
        self.nu0, self.r0 = likelihood.nu0, likelihood.r0
        self.z = [[Fraction(float(value)) for value in row] for row in likelihood.z]
        self.log_det = cache(self._log_det)

    def _log_det(self, members: tuple[int, ...]) -> float:
        N = len(self.z[0])
        A = [[Fraction(int(a == b)) for b in range(N)] for a in range(N)]
        A[0][0] = Fraction(self.r0)
        for i in members:
            for a in range(N):
                for b in range(N):
                    A[a][b] += self.z[i][a] * self.z[i][b]
        determinant = Fraction(1)
        for k in range(N):
            determinant *= A[k][k]
            for i in range(k + 1, N):
                ratio = A[i][k] / A[k][k]
                for j in range(k, N):
                    A[i][j] -= ratio * A[k][j]
        shift = determinant.numerator.bit_length() - determinant.denominator.bit_length()
        return math.log(determinant / Fraction(2) ** shift) + shift * math.log(2)

    def log_marginal(self, members: Sequence[int]) -> float:
        m, D = len(members), len(self.z[0]) - 1
        r, nu = self.r0 + m, self.nu0 + m
        log_det_S = self.log_det(tuple(sorted(members))) - math.log(r)
        return float(
            -0.5 * m * D * math.log(math.pi)
            + 0.5 * D * math.log(self.r0 / r)
            - 0.5 * nu * log_det_S
            + multigammaln(nu / 2, D)
            - multigammaln(self.nu0 / 2, D)
        )


Shape = Callable[[int, int, float, np.random.Generator], Array]
SHAPES: dict[str, Shape] = {
    "duplicates": lambda T, D, scale, rng: scale * rng.normal(size=(T // 2, D))[rng.integers(T // 2, size=T)],
    "scattered": lambda T, D, scale, rng: scale * rng.normal(size=(T, D)),
    "nearly on a line": lambda T, D, scale, rng: (
        scale * rng.normal(size=(T, 1)) + 1e-3 * rng.normal(size=(T, D))
    ),
    "far from u0": lambda T, D, scale, rng: scale + rng.normal(size=(T, D)),
    "an outlier": lambda T, D, scale, rng: (
        rng.normal(size=(T, D)) * np.where(np.arange(T) == 0, scale, 1)[:, None]
    ),
    "each farther out": lambda T, D, scale, rng: (
        rng.normal(size=(T, D)) * scale ** (np.arange(T) / (T - 1))[:, None]
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("D", [1, 2, 4])
@pytest.mark.parametrize(("scale", "tolerance"), [(100.0, 1e-8), (300.0, 1e-7)])
def test_ill_conditioned_blocks(shape: str, D: int, scale: float, tolerance: float) -> None:
    """Observations leave that are all there is of their direction: 1 - q is down to 1e-6."""
    rng = np.random.default_rng(3)
    T = 8
    likelihood = Normal.from_data(SHAPES[shape](T, D, scale, rng))
    exact = Exact(likelihood)
    actions, subjects = random_walk(T, 24, rng)
    marginals, predictives = run(likelihood, T, actions, subjects)
    history = blocks_after(actions, subjects)
    expected = np.array([exact.log_marginal(members) for members in history])
    np.testing.assert_allclose(marginals, expected, rtol=0, atol=tolerance)
    for members, found in zip(history, predictives):
        for i in range(T):
            others = [j for j in members if j != i]
            ratio = exact.log_marginal([*others, i]) - exact.log_marginal(others)
            assert found[i] == pytest.approx(ratio, abs=tolerance)


def test_long_walks_do_not_drift() -> None:
    """Twenty thousand steps without a rebuild."""
    rng = np.random.default_rng(2)
    likelihood = Normal.from_data(30.0 * rng.normal(size=(20, 2)) + 100.0)
    actions, subjects = random_walk(20, 20_000, rng)
    marginals, predictives = run(likelihood, 20, actions, subjects)
    members = blocks_after(actions, subjects)[-1]
    expected, _, _ = ask(likelihood, 20, [members])
    assert marginals[-1] == pytest.approx(expected[0], abs=1e-8)
    without = [[j for j in members if j != i] for i in range(20)]
    _, expected, _ = ask(likelihood, 20, without)
    np.testing.assert_allclose(predictives[-1], np.diag(expected), rtol=0, atol=1e-8)


# Parameters


def test_parameters_of_a_cluster() -> None:
    likelihood, reference, y = make(10, 3, 4)
    members = [1, 2, 5, 6, 9]
    found = likelihood.cluster_parameters(statistic(likelihood, members))
    nu, r, u, S = reference.posterior(y[members])
    covariance = S / (nu - 3 - 1)
    np.testing.assert_allclose(found["mean"], u, rtol=1e-10)
    np.testing.assert_allclose(found["covariance"], covariance, rtol=1e-9)
    np.testing.assert_allclose(found["mean_sd"], np.sqrt(np.diag(covariance) / r), rtol=1e-10)
    marginal = multivariate_t(u, S / (r * (nu - 2)), df=nu - 2)  # of the mean
    draws = marginal.rvs(200_000, random_state=np.random.default_rng(1))
    np.testing.assert_allclose(draws.std(axis=0), found["mean_sd"], rtol=0.05)


def test_parameters_that_have_no_mean() -> None:
    likelihood = Normal.from_data([[0.0, 1.0], [1.0, 3.0]], nu0=1.5, r0=1.0, u0=[4.0, 5.0])
    found = likelihood.cluster_parameters(statistic(likelihood, [0]))
    np.testing.assert_allclose(found["mean"], [2.0, 3.0])
    assert np.isinf(found["covariance"]).all()
    assert np.isinf(found["mean_sd"]).all()


def test_one_number_or_a_diagonal_stand_for_a_matrix() -> None:
    y = np.random.default_rng(1).normal(size=(5, 2))
    default = Normal.from_data(y)
    assert (default.nu0, default.r0) == (4.0, 0.1)
    for same in ({"S0": [1, 1]}, {"S0": np.eye(2)}, {"u0": [0, 0], "nu0": 4}):
        assert np.array_equal(Normal.from_data(y, **same).z, default.z)  # type: ignore[arg-type]
    np.testing.assert_array_equal(Normal.from_data(y, S0=4.0).z, Normal.from_data(y / 2).z)
    diagonal, matrix = Normal.from_data(y, S0=[4.0, 9.0]), Normal.from_data(y, S0=[[4.0, 0.0], [0.0, 9.0]])
    assert np.array_equal(diagonal.z, matrix.z)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nu0": 1.0}, "nu0 must be a number above 1, not 1.0"),
        ({"nu0": "many"}, "nu0 must be a number above 1, not 'many'"),
        ({"r0": 0.0}, "r0 must be a number above 0, not 0.0"),
        ({"r0": math.inf}, "r0 must be a number above 0, not inf"),
        (
            {"u0": [1.0, 2.0, 3.0]},
            r"u0 must be a finite number or a list of 2 finite numbers, not \[1.0, 2.0, 3.0\]",
        ),
        ({"u0": math.nan}, "u0 must be a finite number or a list of 2 finite numbers, not nan"),
        ({"u0": "x"}, "u0 must be a finite number or a list of 2 finite numbers, not 'x'"),
        (
            {"S0": -1.0},
            "S0 must be positive definite: a positive number, a list of 2 positive numbers, or a symmetric 2 x 2 "
            "matrix",
        ),
        (
            {"S0": [[1.0, 2.0], [2.0, 1.0]]},
            r"S0 must be positive definite.* not \[\[1.0, 2.0\], \[2.0, 1.0\]\]",
        ),
        ({"S0": [[1.0, 0.5], [0.0, 1.0]]}, "S0 must be positive definite.* a symmetric 2 x 2 matrix"),
        ({"S0": [1.0, 2.0, 3.0]}, "S0 must be positive definite"),
        ({"S0": [[1.0], [2.0, 3.0]]}, "S0 must be positive definite"),
    ],
)
def test_parameters_that_cannot_be(parameters: dict, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}"):
        Normal.from_data([[0.0, 1.0], [1.0, 2.0]], **parameters)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number(value: float) -> None:
    with pytest.raises(DataValueError) as caught:
        Normal.from_data([[0.0, 1.0], [1.0, value]])
    assert (caught.value.row, caught.value.column) == (1, 1)
    shown = "NaN" if math.isnan(value) else f"{value:g}"
    assert str(caught.value) == (
        f"row 1, column 1 of the data (counted from 0): {shown}: must be a finite number "
        "(missing values are not supported)"
    )


def test_a_value_beyond_all_measure() -> None:
    with pytest.raises(DataValueError) as caught:
        Normal.from_data([[0.0, 1.0], [2e3, 1.0]])
    assert str(caught.value) == (
        "row 1, column 0 of the data (counted from 0): 2000: must be a value within 1000 prior standard deviations "
        "of u0: rescale the data, or set S0"
    )
    assert len(Normal.from_data([[0.0, 1.0], [2e3, 1.0]], S0=100.0).z) == 2
    with pytest.raises(
        DataValueError, match=r"row 1, column 0 .*1e\+200: must be at most 1e\+150 in absolute value"
    ):
        Normal.from_data([[0.0, 1.0], [1e200, 1.0]], scale=1.0)


@pytest.mark.parametrize("data", [[1.0, 2.0], [[]], np.empty((0, 3))])
def test_data_of_the_wrong_shape(data: object) -> None:
    with pytest.raises(
        UsageError, match="the data must be a matrix of observations by variables, not of shape"
    ):
        Normal.from_data(data)  # type: ignore[arg-type]


def sample_answers() -> list[list[float]]:
    answers = []
    for D, scale in ((1, 1.0), (2, 1.0), (3, 1.0), (2, 1e2)):
        rng = np.random.default_rng(D)
        y = scale * rng.normal(size=(6, D))
        likelihood = Normal.from_data(y, r0=0.5, S0=2.0)
        marginals, predictives = run(likelihood, 6, *random_walk(6, 12, rng))
        _, together, new = ask(likelihood, 6, [[0, 1], [2, 3, 4], [5]], y[:2], np.full(6, -10.0))
        answers += [marginals.tolist(), predictives.ravel().tolist(), new.ravel().tolist()]
        answers.append(np.where(together < -10.0, 0.0, together).ravel().tolist())
    return answers


def test_compiled_and_pure_python_agree() -> None:
    for compiled, pure in zip(sample_answers(), answers_of_plain_python(__file__), strict=True):
        np.testing.assert_allclose(compiled, pure, rtol=0, atol=1e-9)


if __name__ == "__main__":
    print(json.dumps(sample_answers()))


def test_scale_is_in_units_of_the_columns_variances():
    points = np.random.default_rng(3).normal(size=(30, 3)) * [1.0, 20.0, 0.1] + [5.0, -3.0, 100.0]
    found = Normal.from_data(points, scale=0.2)
    expected = Normal.from_data(points, u0=points.mean(axis=0), S0=0.2 * points.var(axis=0))
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other)


def test_constant_columns_have_variance_one():
    points = np.array([[1.0, 7.0], [2.0, 7.0], [4.0, 7.0]])
    np.testing.assert_allclose(np.diag(Normal.from_data(points, scale=4.0).root)[1], 2.0)


@pytest.mark.parametrize("which", ["constant", "sum", "parts of a whole"])
def test_the_scale_of_dependent_columns_is_not_inferred(which):
    """The smaller it is, the denser is a single cluster, whatever the other columns say."""
    points = np.random.default_rng(3).normal(size=(50, 2))
    added = {
        "constant": np.full(50, 7.0),
        "sum": points.sum(axis=1),
        "parts of a whole": 1 - points.sum(axis=1),
    }
    points = np.column_stack([points, added[which]])
    among = "`column 3`" if which == "constant" else "`column 1`, `column 2`, `column 3`"
    with pytest.raises(UsageError, match=f"among them {among}: leave out one of these, or give scale or S0"):
        Normal.choices(points)
    assert set(Normal.choices(points, S0=1.0)) == set(Normal.choices(points, scale=1.0)) - {"scale"} == {"r0"}
    one_cluster = [
        log_density(Normal.from_data(points, scale=2.0**-k), np.zeros(50, int)) for k in (4, 8, 16)
    ]
    assert np.all(np.diff(one_cluster) > 10.0)


def test_columns_that_hardly_vary():
    points = np.random.default_rng(3).normal(size=(20, 2)) * [1.0, 1e-200]
    with pytest.raises(UsageError, match="`column 2` varies too little for double precision"):
        Normal.choices(points)


def test_the_scale_of_fewer_rows_than_columns_is_inferred():
    assert "scale" in Normal.choices(np.random.default_rng(3).normal(size=(20, 40)))


def log_density(likelihood, labels):
    return partition_log_likelihood(likelihood, build_blocks(likelihood, labels))


def test_the_scale_can_be_as_large_as_the_degrees_of_freedom():
    """Four clouds ten standard deviations apart in 50 dimensions, for which S0 is about nu0 of their covariances."""
    rng = np.random.default_rng(5)
    truth = rng.integers(4, size=300)
    points = rng.normal(size=(4, 50))[truth] + rng.normal(size=(300, 50))
    choices = Normal.choices(points)["scale"].values
    assert max(choices) == pytest.approx(52.0, rel=0.1)
    likelihoods = [Normal.from_data(points, scale=scale, r0=0.2) for scale in choices]
    of_truth, of_one = (
        [log_density(likelihood, labels) for likelihood in likelihoods] for labels in (truth, 0 * truth)
    )
    assert max(of_truth) > max(of_one) + 100.0
    up_to_4 = np.array(choices) <= 4.0
    assert max(np.array(of_truth)[up_to_4]) < max(np.array(of_one)[up_to_4])


def test_all_choices_of_the_scale_can_be_used():
    """However far out a single observation is."""
    points = np.random.default_rng(3).normal(size=(4000, 2))
    points[0] = 1e6
    choices = Normal.choices(points)
    assert choices["scale"].start == pytest.approx(1.0)
    for scale in choices["scale"].values:
        Normal.from_data(points, scale=scale)
    assert set(Normal.choices(points, S0=1.0)) == {"r0"}


def test_the_scale_of_many_columns_or_few_rows_is_inferred():
    few, many = np.ones((201, 10)), np.ones((201, 11))
    assert Normal.inferred_by_default(few, {}) == []
    assert Normal.inferred_by_default(few[:200], {}) == ["scale"]
    assert Normal.inferred_by_default(few[:200], {"S0": 1.0}) == []
    assert Normal.inferred_by_default(many, {}) == ["r0", "scale"]
    assert Normal.inferred_by_default(many, {"S0": 1.0}) == ["r0"]
    assert Normal.inferred_by_default(many, {"scale": 1.0, "r0": 0.1}) == []


def clouds(number: int, rows: int, width: float) -> np.ndarray:
    """Draw rows of as many Gaussian clouds of this standard deviation, whose centres are about 0.6 apart."""
    rng = np.random.default_rng(5)
    return rng.uniform(-1, 1, (number, 2))[rng.integers(number, size=rows)] + width * rng.normal(
        size=(rows, 2)
    )


def test_the_scale_of_narrow_clusters_is_inferred():
    """A wide prior would join them. It cannot be inferred of dependent columns, and others are refused later."""
    narrow = clouds(15, 300, 0.02)
    assert Normal.inferred_by_default(narrow, {}) == ["scale"]
    assert Normal.inferred_by_default(narrow, {"scale": 1.0}) == []
    assert Normal.inferred_by_default(clouds(15, 300, 0.3), {}) == []
    assert Normal.inferred_by_default(np.column_stack([narrow, narrow[:, 0]]), {}) == []
    for value in (math.nan, math.inf, 1e200):
        assert Normal.inferred_by_default(np.where(narrow == narrow[7], value, narrow), {}) == []
    few = cluster(narrow, parameters={"scale": 1.0}, settings=Settings(iterations=60, chains=1, seed=1))
    many = cluster(narrow, settings=Settings(iterations=60, chains=1, seed=1))
    assert few.num_clusters < 8 < 12 <= many.num_clusters
    assert few.warnings[-1] == Normal.doubts(narrow, {"scale": 1.0})[0]


@pytest.mark.parametrize(
    ("grid", "rows"), [((5, 5), 30), ((6, 5), 25), ((8, 5), 25), ((8, 5), 100), ((10, 10), 30)]
)
def test_the_scale_is_inferred_of_any_number_of_clusters(grid, rows):
    """Clouds 10 standard deviations apart. A fixed number of pieces would straddle several if there are more clouds."""
    centres = 10.0 * np.repeat(np.argwhere(np.ones(grid)), rows, axis=0)
    clouds = centres + np.random.default_rng(5).normal(size=centres.shape)
    assert Normal.inferred_by_default(clouds, {}) == ["scale"]


@pytest.mark.parametrize("columns", [2, 3, 5])
def test_the_scale_of_clusters_that_are_not_normal_is_not_inferred(columns):
    """They would be cut into pieces that are more nearly Normal."""
    rng = np.random.default_rng(3)
    shapes = [rng.normal, rng.random, rng.exponential, rng.laplace, rng.lognormal]
    draws = [shape(size=(600, columns)) for shape in shapes]
    draws += [rng.standard_t(2, (600, columns)), rng.poisson(6, (600, columns))]
    labels = rng.integers(3, size=600)
    for drawn in draws:
        apart = 8.0 * drawn.std(axis=0) * np.eye(3, columns)[labels]
        for values in (drawn, drawn + apart):
            assert Normal.inferred_by_default(values.astype(float), {}) == []


@pytest.mark.parametrize("rows", [250, 2000, 20_000])
def test_narrow_clusters_of_a_single_column(rows):
    """k-means cuts any column into narrow pieces; only those of narrow clusters are much narrower than usual."""
    rng = np.random.default_rng(1)
    narrow = rng.integers(10, size=(rows, 1)) + rng.normal(scale=0.02, size=(rows, 1))
    assert Normal.inferred_by_default(narrow, {}) == ["scale"]
    smooth = [rng.normal, rng.random, rng.exponential, rng.laplace, lambda size: rng.standard_t(4, size)]
    integers = [lambda size: rng.poisson(3, size), lambda size: rng.integers(10, size=size)]
    for draw in smooth + integers:
        values = draw(size=(rows, 1)).astype(float)
        assert Normal.inferred_by_default(values, {}) == []
        assert Normal.doubts(values, {"scale": 1.0}) == []


def test_the_scale_of_few_distinct_rows_is_not_inferred():
    """k-means would find clusters of equal rows, of no width at all."""
    values = np.random.default_rng(1).integers(3, size=(600, 2)).astype(float)
    with warnings.catch_warnings(action="error"):
        assert 0.01 < weight_of_rows(values) < 1000
        assert Normal.inferred_by_default(values, {}) == []
        assert weight_of_rows(np.ones((600, 2)))


@pytest.mark.parametrize("nu0", ["abc", [5, 6], -5, 0])
def test_degrees_of_freedom_are_checked_before_the_scale_is_inferred(nu0):
    with pytest.raises(UsageError, match=r"`parameters` nu0.*must be|nu0 must be"):
        cluster(np.random.default_rng(1).normal(size=(50, 3)), parameters={"nu0": nu0})


def test_doubts_of_a_wide_prior():
    """By the weight of a cluster's rows: their squared deviations from the mean, in units of the columns' variances."""
    narrow = clouds(20, 2000, 0.02)
    variance = narrow.var(axis=0)
    weight = weight_of_rows(narrow)
    assert weight == pytest.approx(100 * 0.02**2 / math.sqrt(variance.prod()), rel=0.3)
    (doubt,) = Normal.doubts(narrow, {"scale": 1.0})
    assert f"(their weight is {weight:.2g} of the prior's)" in doubt
    assert Normal.doubts(narrow, {}) == [doubt]
    for parameters in ({"scale": "infer"}, {"S0": 1.0}, {"scale": None}, {"scale": 1.9 * weight}):
        assert Normal.doubts(narrow, parameters) == []
    assert Normal.doubts(narrow[:, :1], {"scale": 1.0}) == []
    assert Normal.doubts(np.random.default_rng(6).normal(size=(201, 2)), {"scale": 1.0}) == []
    # of many rows only some are clustered
    assert weight_of_rows(np.repeat(narrow, 10, axis=0)) == pytest.approx(10 * weight, rel=0.3)


@pytest.mark.parametrize(
    ("spread", "centre", "is_standardised"), [(1, 0, 1), (0.4, 0.8, 1), (0.2, 0, 0), (4, 0, 0), (1, 2, 0)]
)
def test_columns_that_are_not_standardised_have_their_own_scale(spread, centre, is_standardised):
    points = np.random.default_rng(4).normal(size=(500, 2))
    points[:, 1] = points[:, 1] * spread + centre
    points[0] = 900.0  # one extreme value does not count
    expected = {} if is_standardised else {"scale": 1.0}
    assert Normal.defaults_for(points, {}) == expected
    assert Normal.defaults_for(points, {"r0": 0.1}) == expected
    for parameters in ({"S0": 1.0}, {"scale": "infer"}):
        assert Normal.defaults_for(points, parameters) == {}
    points[0] = 1e300  # refused by its row and column, as before
    assert Normal.defaults_for(points, {}) == {}


def test_columns_with_which_clusters_may_be_joined_are_named():
    """Also where the scale is given, but not where columns depend only because rows are few."""
    points = np.random.default_rng(3).normal(size=(60, 2))
    assert Normal.doubts(points, {}) == []
    (copied,) = Normal.doubts(np.column_stack([points, 2.54 * points[:, 1]]), {"S0": 1.0})
    assert copied.startswith(
        "columns are constant or linearly dependent, among them `column 2`, `column 3`: clusters"
    )
    (constant,) = Normal.doubts(np.column_stack([points, np.full(60, 0.1)]), {})
    assert "among them `column 3`: clusters that plainly differ may be joined" in constant
    wide = np.random.default_rng(3).normal(size=(60, 21))
    (few_rows,) = Normal.doubts(wide, {})
    assert few_rows.startswith("60 rows of 21 columns: so few hardly tell the covariances of clusters")
    assert Normal.doubts(wide[:, :20], {}) == Normal.doubts(wide[:1], {}) == []
    assert Normal.doubts(points[:2], {}) == Normal.doubts(wide[:5, :8], {}) == []
    hardly_varying = points * [1.0, 1e-200]  # allowed with S0
    assert len(Normal.doubts(hardly_varying, {})) == 1


def test_far_values_that_decide_the_scale_are_named():
    """A missing decimal point joins clusters, but not where the prior does not follow the columns' variances."""
    points = clouds(3, 180, 0.5) + np.array([20.0, 0.0])
    assert Normal.doubts(points, {"scale": "infer"}) == []
    points[7, 0] = 1e4
    for scale in ("infer", 1.0):
        told = Normal.doubts(points, {"scale": scale})[0]
        assert "missing decimal point? `column 1` is 10000 in `row 8`, where its median is" in told
    assert Normal.doubts(points, {"S0": 1.0}) == Normal.doubts(points, {"scale": None}) == []
    points[11] = -3e4
    told = Normal.doubts(points, {"scale": "infer"})[0]
    assert "`column 1` is -30000 in `row 12` (and 1 more)" in told
    assert "; `column 2` is -30000 in `row 12`, where" in told


def test_far_values_of_a_small_cluster_and_of_heavy_tails():
    """As many as a cluster are none, nor is what exponential, log-normal and sparse columns have."""
    rng = np.random.default_rng(1)
    for draw in (rng.exponential, rng.lognormal, lambda size: rng.negative_binomial(0.3, 0.02, size)):
        assert not any(
            far_values(np.asarray(draw(size=rows), float)) for rows in (50, 200) for _ in range(300)
        )
    assert far_values(np.array([0.0] * 99 + [1000.0])) == []
    column = rng.normal(size=100)
    assert far_values(np.append(column, [20.0] * 4)) == []  # they hardly widen the prior
    assert far_values(np.append(column, [1e3] * 4)) == [100, 101, 102, 103]
    assert far_values(np.append(column, [1e3] * 6)) == []
