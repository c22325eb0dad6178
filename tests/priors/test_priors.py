"""Partition priors: distributions over partitions, and the resampling of their hyperparameters."""

from __future__ import annotations
import __future__

import inspect
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from scipy.integrate import cumulative_trapezoid
from scipy.special import gammaln, logsumexp

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from enumeration import chi_square_p_value, set_partitions
from seating import draw_seating, seating_probability

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.priors import (
    REGISTRY,
    CustomPrior,
    DirichletProcess,
    FiniteDirichlet,
    PitmanYor,
    Prior,
    common,
    make_prior,
    prior_from_dict,
)
from pyclone_pgsm.priors.common import slice_sample


def pitman_yor(concentration: float, discount: float) -> PitmanYor:
    return PitmanYor(concentration, discount, None, None, infer_discount=False)


def finite(max_components: int, concentration: float) -> FiniteDirichlet:
    return FiniteDirichlet(max_components, concentration, None, None)


FIXED: list[Prior] = [
    *(DirichletProcess(alpha, None, None) for alpha in (1e-3, 0.7, 1.0, 25.0)),
    *(pitman_yor(alpha, d) for alpha, d in ((0.7, 0.0), (3.0, 0.25), (0.0, 0.5), (-0.6, 0.7), (1.0, 0.999))),
    *(finite(k0, a) for k0, a in ((1, 2.0), (2, 0.3), (4, 1e-3), (6, 1.0), (50, 7.0))),
]
RESAMPLED: list[Prior] = [DirichletProcess(), PitmanYor(), FiniteDirichlet(4)]


def test_every_prior_is_here() -> None:
    for priors in (FIXED, RESAMPLED):
        assert {prior.name for prior in priors} == REGISTRY.keys() - {CustomPrior.name}


def log_probability(prior: Prior, sizes: NDArray[np.int64]) -> float:
    """Of one partition with these block sizes, from the prior's tables."""
    T = int(sizes.sum())
    log_p = prior.log_tau1(T)[len(sizes)] + prior.log_tau2(T)[sizes].sum()
    return float(log_p + prior.log_normaliser(T))


# The distribution over partitions


@pytest.mark.parametrize("prior", FIXED, ids=str)
@pytest.mark.parametrize("T", [1, 2, 6])
def test_probabilities_of_all_partitions_sum_to_one(prior: Prior, T: int) -> None:
    assert len(prior.log_tau1(T)) == len(prior.log_tau2(T)) == T + 1
    log_p = [log_probability(prior, np.bincount(labels)) for labels in set_partitions(T)]
    assert np.exp(log_p).sum() == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize("prior", FIXED, ids=str)
@pytest.mark.parametrize("T", [1, 3, 5])
def test_a_partition_has_the_probability_of_its_seating(prior: Prior, T: int) -> None:
    for labels in set_partitions(T):
        p = np.exp(log_probability(prior, np.bincount(labels)))
        assert p == pytest.approx(seating_probability(prior, labels), rel=1e-10)


@pytest.mark.parametrize(("k0", "a"), [(1, 0.7), (2, 0.3), (3, 1.0), (4, 2.5)])
@pytest.mark.parametrize("T", [1, 4, 5])
def test_the_finite_prior_is_that_of_labelled_components(k0: int, a: float, T: int) -> None:
    """Every assignment to components has the probability of the Dirichlet-multinomial, in any order."""
    p: Counter[bytes] = Counter()
    for components in product(range(k0), repeat=T):
        n = np.bincount(components, minlength=k0)
        log_p = gammaln(k0 * a) - gammaln(k0 * a + T) + np.sum(gammaln(n + a) - gammaln(a))
        first = {component: i for i, component in enumerate(dict.fromkeys(components))}
        p[np.array([first[component] for component in components], np.int32).tobytes()] += np.exp(log_p)
    prior = finite(k0, a)
    for labels in set_partitions(T):
        expected = p[labels.tobytes()]
        assert np.exp(log_probability(prior, np.bincount(labels))) == pytest.approx(expected, rel=1e-11)
    assert len(p) < len(set_partitions(T)) or k0 >= T


@pytest.mark.parametrize("prior", FIXED, ids=str)
@pytest.mark.parametrize("T", [1, 3, 30])
def test_impossible_are_the_partitions_of_too_many_blocks_only(prior: Prior, T: int) -> None:
    most = prior.max_blocks(T)
    assert most == (min(T, prior.max_components) if isinstance(prior, FiniteDirichlet) else T)
    log_tau1 = prior.log_tau1(T)
    assert np.isfinite(log_tau1[: most + 1]).all()
    assert (log_tau1[most + 1 :] == -np.inf).all()
    assert np.isfinite(prior.log_tau2(T)).all()


def test_pitman_yor_without_a_discount_is_the_dirichlet_process() -> None:
    for sizes in ([5], [1, 1, 1], [7, 2, 1]):
        p, q = (
            log_probability(f, np.array(sizes)) for f in (pitman_yor(1.7, 0.0), FIXED[0].with_values([1.7]))
        )
        assert p == pytest.approx(q, abs=1e-12)


def test_a_finite_prior_of_very_many_components_is_nearly_the_dirichlet_process() -> None:
    k0 = 10**9
    for sizes in ([5], [1, 1, 1], [7, 2, 1]):
        p = log_probability(FiniteDirichlet(k0, 1.7 / k0, 2.0, 0.3), np.array(sizes))
        q = log_probability(DirichletProcess(1.7, 2.0, 0.3), np.array(sizes))
        assert p - np.log(k0) == pytest.approx(q, abs=1e-7)  # a density of a, not of alpha = k0 a


@pytest.mark.parametrize(
    ("free", "fixed", "log_density"),
    [
        (
            DirichletProcess(3.0, 2.0, 0.4),
            DirichletProcess(3.0, None, None),
            stats.gamma.logpdf(3.0, 2.0, scale=1 / 0.4),
        ),
        (
            PitmanYor(3.0, 0.2, 2.0, 0.4),
            pitman_yor(3.0, 0.2),
            stats.gamma.logpdf(3.0, 2.0, scale=1 / 0.4),
        ),
        (
            PitmanYor(-0.2, 0.3, None, None),
            pitman_yor(-0.2, 0.3),
            stats.uniform.logpdf(0.3, 0.2, 0.8),
        ),
        (
            FiniteDirichlet(5, 0.6, 2.0, 0.4),
            finite(5, 0.6),
            stats.gamma.logpdf(0.6, 2.0, scale=1 / (5 * 0.4)),
        ),
    ],
)
def test_the_density_of_what_is_resampled_is_in_the_normaliser(
    free: Prior, fixed: Prior, log_density: float
) -> None:
    assert free.log_normaliser(9) - fixed.log_normaliser(9) == pytest.approx(log_density)


# Slice sampling


class TwoIntervals:
    """Uniform on (0, 1) and (2, 4): a slice in two pieces, where it matters how the first interval is put."""

    def rvs(self, size: int, random_state: np.random.Generator) -> NDArray[np.float64]:
        u = 3 * random_state.random(size)
        return np.where(u < 1, u, u + 1)

    def cdf(self, x: Any) -> NDArray[np.float64]:
        return (np.minimum(x, 1) + np.maximum(np.asarray(x) - 2, 0)) / 3

    def ppf(self, u: float) -> float:
        return 3 * u


# the density; its logarithm, up to a constant; its bounds; widths of the first interval to try
DENSITIES: dict[str, tuple[Any, Callable[[float], float], float, float, tuple[float, ...]]] = {
    "normal": (stats.norm(), lambda x: -x * x / 2, -math.inf, math.inf, (0.3, 1, 2, 10)),
    "Student": (stats.t(1.5), lambda x: -1.25 * math.log1p(x * x / 1.5), -math.inf, math.inf, (1, 10)),
    "exponential": (stats.expon(), lambda x: -x, 0.0, math.inf, (0.3, 1, 10)),
    "infinite at both bounds": (
        stats.beta(0.5, 0.5),
        lambda x: -0.5 * (math.log(x) + math.log1p(-x)),
        0.0,
        1.0,
        (0.3, 1),
    ),
    "narrow, at a bound": (stats.beta(1.0, 300.0), lambda x: 299.0 * math.log1p(-x), 0.0, 1.0, (0.3, 1)),
    "truncated": (stats.truncnorm(-0.5, 0.7), lambda x: -x * x / 2, -0.5, 0.7, (0.3, 1, 10)),
    "two intervals": (TwoIntervals(), lambda x: -math.inf if 1 < x < 2 else 0.0, 0.0, 4.0, (1.2, 2, 10)),
}


def slice_p_values(
    name: str, width: float, sampler: Callable[..., float] = slice_sample
) -> tuple[float, float]:
    """Is one step from the density the density, and are 40 steps from near one of its edges?"""
    density, log_density, lower, upper, _ = DENSITIES[name]

    def within_the_bounds(x: float) -> float:
        assert lower < x < upper
        return log_density(x)

    def step(x: float) -> float:
        return sampler(within_the_bounds, x, rng, lower, upper, width)

    rng = np.random.default_rng(3)
    one = [step(x) for x in density.rvs(6000, random_state=rng)]
    many = [density.ppf(0.002)] * 300
    for _ in range(40):
        many = [step(x) for x in many]
    return stats.kstest(density.cdf(one), "uniform").pvalue, stats.kstest(density.cdf(many), "uniform").pvalue


@pytest.mark.parametrize(("name", "width"), [(name, w) for name in DENSITIES for w in DENSITIES[name][-1]])
def test_slice_sampling_has_the_density_as_its_only_equilibrium(name: str, width: float) -> None:
    assert min(slice_p_values(name, width)) > 1e-4


def with_fault(what: Any, sound: str, faulty: str) -> dict[str, Any]:
    """The names of the module of `what`, made from its source, and that of `common`, with one text replaced."""
    module = inspect.getmodule(what)
    source = inspect.getsource(common)
    if module is not common and module is not None:
        importing = rf"from {re.escape(common.__name__)} import (\([^)]*\)|.*)\n"
        source += re.sub(importing, "", inspect.getsource(module))
    source = source.replace("from __future__ import annotations\n", "")
    assert source.count(sound) == 1, f"{sound!r} stands {source.count(sound)} times in the source"
    namespace: dict[str, Any] = {"__name__": what.__module__}
    code = compile(
        source.replace(sound, faulty), "<priors with a fault>", "exec", __future__.annotations.compiler_flag
    )
    exec(code, namespace)
    return namespace


@pytest.mark.parametrize(
    ("name", "sound", "faulty"),
    [
        ("two intervals", "left = x - width * rng.random()", "left = x"),
        ("two intervals", "left = x - width * rng.random()", "left = x - width / 2"),
        ("two intervals", "left -= width", "left -= width / 4"),
        ("normal", "log_density(right) >= level", "False"),
        ("normal", "        left = point\n", "        left = (point + 3 * x) / 4\n"),
        ("exponential", "- rng.exponential()", "- 1.0"),
        ("exponential", "- rng.exponential()", "- 0.5 * rng.exponential()"),
    ],
)
def test_a_fault_in_slice_sampling_is_caught(name: str, sound: str, faulty: str) -> None:
    assert min(slice_p_values(name, 2.0, with_fault(slice_sample, sound, faulty)["slice_sample"])) < 1e-8


@settings(max_examples=200, deadline=None)
@given(
    st.floats(0, 1, exclude_min=True, exclude_max=True),
    st.sampled_from([-1e9, -30.0, -1e-12, 0.0, 1e-12, 30.0, 1e9]),
    st.sampled_from([1e-3, 1.0, 1e6]),
    st.integers(0, 2**32),
)
def test_a_slice_stays_within_its_bounds(x: float, slope: float, width: float, seed: int) -> None:
    y = slice_sample(lambda x: slope * x, x, np.random.default_rng(seed), 0.0, 1.0, width)
    assert 0 < y < 1


# Resampling of hyperparameters


def log_joint(prior: Prior, sizes: NDArray[np.int64], values: tuple[Any, ...]) -> Any:
    """log p(hyperparameters) p(partition | hyperparameters) for arrays of values, up to a constant."""
    T, K = sizes.sum(), len(sizes)
    gamma: Any = (prior.shape, prior.rate)  # type: ignore[attr-defined]
    if isinstance(prior, FiniteDirichlet):
        total = prior.max_components * values[0]
        log_p = gammaln(total) - gammaln(total + T)
        log_p = log_p + sum(gammaln(n + values[0]) - gammaln(values[0]) for n in sizes)
    else:
        total, d = values if isinstance(prior, PitmanYor) else (values[0], 0.0)
        log_p = gammaln(total + 1) - gammaln(total + T) + sum(np.log(total + d * m) for m in range(1, K))
        log_p = log_p + sum(gammaln(n - d) - gammaln(1 - d) for n in sizes)
    return log_p if gamma[0] is None else log_p + (gamma[0] - 1) * np.log(total) - gamma[1] * total


SIZES = {
    "one block": [7],
    "one observation": [1],
    "singletons": [1] * 7,
    "few large": [600, 300, 50, 49, 1],
    "a large one and many small": [60, *[1] * 15, 2, 2, 3, 5],
}
CONDITIONALS: dict[str, Prior] = {
    "dp": DirichletProcess(),
    "dp, other Gamma": DirichletProcess(1.0, 3.0, 2.0),
    "dp, Gamma unbounded at 0": DirichletProcess(1.0, 0.5, 1.0),
    "alpha of pitman-yor": PitmanYor(1.0, 0.3, 2.0, 0.5, infer_discount=False),
    "alpha of pitman-yor, small discount": PitmanYor(1.0, 0.0, 1.0, 0.1, infer_discount=False),
    "d of pitman-yor": PitmanYor(2.0, 0.5, None, None),
    "d of pitman-yor, alpha negative": PitmanYor(-0.25, 0.5, None, None),
    "finite": FiniteDirichlet(40),
    "finite, other Gamma": FiniteDirichlet(40, 1.0, 3.0, 0.02),
}


def conditional_p_values(prior: Prior, sizes: list[int], size: int) -> tuple[float, ...]:
    """Is one step from the hyperparameter given the partition that, and are 15 steps from far away?

    By the Kolmogorov-Smirnov test against the integral of the joint density.
    """
    discount = isinstance(prior, PitmanYor) and prior.shape is None
    if discount:
        (alpha, _) = prior.values()
        grid = np.linspace(max(0.0, -alpha), 1.0, 50_003)[1:-1]
        values: tuple[Any, ...] = (alpha, grid)
        log_density, scale = log_joint(prior, np.array(sizes), values), grid
    else:
        grid = np.exp(np.linspace(np.log(1e-9), np.log(1e4), 50_001))
        values = (grid, *prior.values()[1:])
        scale = np.log(grid)
        log_density = log_joint(prior, np.array(sizes), values) + scale
    cdf = cumulative_trapezoid(np.exp(log_density - log_density.max()), scale, initial=0)
    cdf /= cdf[-1]

    def at(x: float) -> Prior:
        alpha, *d = prior.values()
        return prior.with_values((alpha, x) if discount else (x, *d))

    def p_value(sample: list[Prior]) -> float:
        x = np.array([p.values()[-1 if discount else 0] for p in sample])
        return float(stats.kstest(np.interp(x, grid, cdf), "uniform").pvalue)

    rng = np.random.default_rng(len(sizes))
    before = [at(x) for x in np.interp(rng.random(size), cdf, grid)]
    one = [p.resample(np.array(sizes), rng) for p in before]
    many = [at(0.999) if discount else at(1e-6)] * (size // 20)
    for _ in range(15):
        many = [p.resample(np.array(sizes), rng) for p in many]
    return p_value(one), p_value(many)


@pytest.mark.parametrize("name", CONDITIONALS)
@pytest.mark.parametrize("sizes", SIZES)
def test_resampling_draws_from_the_hyperparameter_given_the_partition(name: str, sizes: str) -> None:
    assert min(conditional_p_values(CONDITIONALS[name], SIZES[sizes], 800)) > 1e-4


@pytest.mark.parametrize("kind", ["dp", "finite"])
def test_a_wide_gamma_prior_is_no_trouble(kind: str) -> None:
    """Its density is so flat on the logarithm's scale that the slices are thousands wide."""
    prior = make_prior(kind, 1.0, (1e-3, 1e-9), max_clusters=5 if kind == "finite" else None)
    rng = np.random.default_rng(0)
    for _ in range(5):
        prior = prior.resample(np.array([4, 1]), rng)
        assert np.isfinite(log_probability(prior, np.array([4, 1])))


EDGES = np.linspace(0, 1, 6)


def cells_of(prior: Prior, values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Number of the cell of each (N, H) vector of hyperparameters; cells are equally probable under their prior."""
    gamma = stats.gamma(prior.shape, scale=1 / prior.rate)  # type: ignore[attr-defined]
    total = values[:, 0] * (prior.max_components if isinstance(prior, FiniteDirichlet) else 1)
    cell = np.searchsorted(EDGES, gamma.cdf(total)) - 1
    return cell if values.shape[1] == 1 else 5 * cell + np.searchsorted(EDGES, values[:, 1]) - 1


def at_quantiles(prior: Prior, u: NDArray[np.float64]) -> list[Prior]:
    """The priors at (N, H) quantiles of the hyperparameters' priors."""
    gamma = stats.gamma(prior.shape, scale=1 / prior.rate)  # type: ignore[attr-defined]
    first = gamma.ppf(u[:, 0]) / (prior.max_components if isinstance(prior, FiniteDirichlet) else 1)
    return [prior.with_values((float(x), *rest)) for x, rest in zip(first, u[:, 1:].tolist())]


T_JOINT = 5


@cache
def joint_probabilities(prior: Prior) -> tuple[list[list[int]], NDArray[np.float64]]:
    """Sorted block sizes, and the (sizes, cells) probability of each with each cell, by the midpoint rule."""
    partitions = set_partitions(T_JOINT)
    profiles = sorted({tuple(sorted(np.bincount(labels))) for labels in partitions})
    members = [[p for p in partitions if tuple(sorted(np.bincount(p))) == profile] for profile in profiles]
    points = np.array(list(product((np.arange(25) + 0.5) / 25, repeat=len(prior.values()))))
    there = at_quantiles(prior, points)
    p = np.zeros((len(profiles), 5 ** points.shape[1]))
    for one, cell in zip(there, cells_of(prior, np.array([one.values() for one in there]))):
        p[:, cell] += [len(same) * seating_probability(one, same[0]) / len(points) for same in members]
    return [list(profile) for profile in profiles], p


def joint_p_value(prior: Prior, kind: Any = None, replicates: int = 5000) -> float:
    """Hyperparameters from their prior, a partition from its prior given them, one resampling: still both?"""
    profiles, expected = joint_probabilities(prior)
    rng = np.random.default_rng(11)
    values, rows = [], []
    for start in at_quantiles(prior, rng.random((replicates, len(prior.values())))):
        sizes = np.bincount(draw_seating(start, T_JOINT, rng))
        fields = {name: value for name, value in start.to_dict(T_JOINT).items() if name != "name"}
        values.append((kind or type(prior))(**fields).resample(sizes, rng).values())
        rows.append(profiles.index(sorted(sizes.tolist())))
    counts = np.zeros(expected.shape, np.int64)
    np.add.at(counts, (rows, cells_of(prior, np.array(values))), 1)
    return chi_square_p_value(counts.ravel(), expected.ravel())


@pytest.mark.parametrize("prior", RESAMPLED, ids=str)
def test_resampling_keeps_the_joint_distribution(prior: Prior) -> None:
    assert joint_p_value(prior) > 1e-4


@pytest.mark.parametrize(
    ("kind", "sound", "faulty"),
    [
        ("PitmanYor", "return shape * log_x", "return (shape + 1.0) * log_x"),
        ("FiniteDirichlet", "return shape * log_x", "return (shape + 1.0) * log_x"),
        ("PitmanYor", "lambda x: log_new_blocks(x, d) - float(log_product(x, num_observations))", "lambda x: 0.0"),
        ("PitmanYor", "(gammaln(size - d) - gammaln(1.0 - d))", "gammaln(size - d)"),
        ("PitmanYor", "alpha, least = prior.concentration", "alpha, least = self.concentration"),
        ("FiniteDirichlet", "self.rate * k0, log_probability", "self.rate, log_probability"),
        ("FiniteDirichlet", "- log_product(a * k0, num_observations)", "- log_product(a, num_observations)"),
        ("DirichletProcess", "(0.0 if rng.random() < odds", "(1.0 if rng.random() < odds"),
        ("DirichletProcess", "self.rate - np.log(eta)", "self.rate - 0.5 * np.log(eta)"),
        ("DirichletProcess", "start + 1.0, num_observations", "start + 2.0, num_observations"),
        ("DirichletProcess", "num_blocks * self.log_alpha", "(num_blocks + 3) * self.log_alpha"),
        ("DirichletProcess", "(shape - 1.0) * log_alpha", "(shape + 2.0) * log_alpha"),
    ],
)  # fmt: skip
def test_a_fault_in_the_resampling_is_caught(kind: str, sound: str, faulty: str) -> None:
    (prior,) = (prior for prior in RESAMPLED if type(prior).__name__ == kind)
    assert joint_p_value(prior, with_fault(type(prior), sound, faulty)[kind], 20_000) < 1e-8


@pytest.mark.parametrize(
    ("shape", "rate"), [(1.0, 1.0), (1.0, 1e-3), (0.01, 0.01), (900.0, 300.0), (3.0, 1e4)]
)
@pytest.mark.parametrize("num_observations", [1, 2, 30, 1500])
def test_concentration_integrated_out(num_observations: int, shape: float, rate: float) -> None:
    """Ratios of neighbouring entries of tau1 are those of integrals by quadrature.

    A single block has the integral below the smallest alpha in closed form: alpha^(shape - 1) is all that varies there.
    """
    T = num_observations
    log_tau1 = DirichletProcess(1.0, shape, rate).integrated_log_tau1(T)
    assert log_tau1 is not None
    assert np.isfinite(log_tau1).all()

    def log_integral(blocks: int) -> float:
        power = shape + (blocks - 1.0)
        log_alpha = np.arange(-60.0, math.log(4.0 * (shape + T + 100.0) / rate), 1e-3)
        alpha = np.exp(log_alpha)
        log_p = power * log_alpha - rate * alpha - (gammaln(alpha + T) - gammaln(alpha + 1.0))
        below = log_p[0] - math.log(power) - math.log(1e-3)
        return float(np.logaddexp(logsumexp(log_p), below))

    for blocks in sorted({1, 2, T // 4, T // 2, 3 * T // 4, min(T, 999) - 1} & set(range(1, T))):
        ratio = log_integral(blocks + 1) - log_integral(blocks)
        assert log_tau1[blocks + 1] - log_tau1[blocks] == pytest.approx(
            ratio, abs=1e-5 if blocks < 500 else 1e-3
        )


def test_concentration_that_is_not_integrated_out() -> None:
    for prior in (
        DirichletProcess(2.0, None, None),
        DirichletProcess(2.0, 1e4, 1e4),
        DirichletProcess(2.0, 1e-300, 1.0),
        PitmanYor(2.0, 0.4, 3.0, 4.0),
    ):
        assert prior.integrated_log_tau1(10) is None
    sizes, rng = np.array([5, 3, 1]), np.random.default_rng(0)
    assert DirichletProcess(2.0, 1e4, 1e4).resample(sizes, rng).concentration == pytest.approx(1.0, abs=0.1)


def test_the_concentration_drawn_does_not_depend_on_the_present_one() -> None:
    sizes = np.array([5, 3, 1])
    first, second = (
        DirichletProcess(alpha, 1.0, 1.0).resample(sizes, np.random.default_rng(0)) for alpha in (0.01, 100.0)
    )
    assert first == second


@pytest.mark.parametrize("prior", FIXED, ids=str)
def test_what_is_fixed_stays(prior: Prior) -> None:
    assert prior.resample(np.array([3, 1]), np.random.default_rng(0)) == prior


def test_each_of_two_hyperparameters_can_be_fixed() -> None:
    rng, sizes = np.random.default_rng(0), np.array([3, 1])
    alpha, d = PitmanYor(2.0, 0.4, 3.0, 4.0, infer_discount=False).resample(sizes, rng).values()
    assert alpha != 2.0
    assert d == 0.4
    alpha, d = PitmanYor(2.0, 0.4, None, None).resample(sizes, rng).values()
    assert alpha == 2.0
    assert d != 0.4


@pytest.mark.parametrize(
    "prior",
    [DirichletProcess(2.0, 3.0, 4.0), PitmanYor(2.0, 0.1, 3.0, 4.0), FiniteDirichlet(9, 2.0, 3.0, 4.0)],
)
def test_resampling_keeps_the_prior_of_the_hyperparameters(prior: Any) -> None:
    after = prior.resample(np.array([7, 2, 1]), np.random.default_rng(0))
    assert after != prior
    assert after.with_values(prior.values()) == prior
    assert after.hyperparameters == ("concentration", "discount")[: len(after.values())]


@pytest.mark.parametrize("prior", [*RESAMPLED, FiniteDirichlet(10**7)], ids=str)
@pytest.mark.parametrize("blocks", [1, 10**6])
def test_a_million_observations(prior: Prior, blocks: int) -> None:
    T = 10**6
    sizes = np.full(blocks, T // blocks)
    rng = np.random.default_rng(1)
    if blocks > prior.max_blocks(T):
        return
    for _ in range(3):
        prior = prior.resample(sizes, rng)
    log_tau1, log_tau2 = prior.log_tau1(T), prior.log_tau2(T)
    assert np.isfinite(log_tau1[: prior.max_blocks(T) + 1]).all()
    assert np.isfinite(log_tau2).all()
    assert np.diff(log_tau2)[-1] == pytest.approx(np.log(T), abs=1e-4)
    assert np.isfinite(log_probability(prior, sizes))
    assert log_probability(prior, sizes) < 30  # a probability times a density


@pytest.mark.parametrize("concentration", [1e-300, 1e300])
@pytest.mark.parametrize("kind", ["dp", "pitman-yor", "finite"])
def test_the_smallest_and_the_largest_concentration(kind: str, concentration: float) -> None:
    prior = make_prior(kind, concentration, "fixed", max_clusters=8 if kind == "finite" else None)
    one, each = (np.exp(log_probability(prior, np.array(s))) for s in ([8], [1] * 8))
    if kind == "finite":
        expected = (1.0, 0.0) if concentration < 1 else (8.0**-7, math.factorial(8) / 8.0**8)
    elif kind == "dp":
        expected = (1.0, 0.0) if concentration < 1 else (0.0, 1.0)
    else:
        expected = (math.prod(m - 0.5 for m in range(1, 8)), math.factorial(7) * 0.5**7)
        expected = tuple(p / math.factorial(7) for p in expected) if concentration < 1 else (0.0, 1.0)
    assert (one, each) == pytest.approx(expected, rel=1e-9, abs=1e-200)


# A user's own prior


def uniform() -> CustomPrior:
    """Every partition into at most four blocks is equally probable."""
    return CustomPrior(lambda j: np.where(j <= 4, 0.0, -np.inf), lambda n: 0.0 * n)


def test_two_functions_are_a_prior() -> None:
    dp = DirichletProcess(0.7, None, None)
    prior = CustomPrior(lambda j: j * np.log(0.7), gammaln)
    np.testing.assert_array_equal(prior.log_tau1(9), dp.log_tau1(9))
    np.testing.assert_array_equal(prior.log_tau2(9)[1:], dp.log_tau2(9)[1:])
    assert (prior.hyperparameters, prior.values(), prior.log_normaliser(9)) == ((), (), 0.0)
    assert prior.with_values(()) == prior
    assert prior.resample(np.array([3, 1]), np.random.default_rng(0)) is prior
    assert (prior.max_blocks(9), uniform().max_blocks(9), uniform().max_blocks(3)) == (9, 4, 3)


def test_a_custom_prior_is_stored_as_its_tables() -> None:
    stored = json.loads(json.dumps(uniform().to_dict(9), allow_nan=False))
    restored = prior_from_dict(stored)
    for T in (9, 5, 3):
        np.testing.assert_array_equal(restored.log_tau1(T), uniform().log_tau1(T))
        np.testing.assert_array_equal(restored.log_tau2(T), uniform().log_tau2(T))
    assert restored.to_dict(9) == stored
    with pytest.raises(UsageError, match=r"log tau2\(n\) must be finite, but log tau2\(10\) is nan"):
        restored.log_tau2(10)


@pytest.mark.parametrize(
    ("log_tau1", "message"),
    [
        (lambda j: 0.0, r"log tau1 must give one number for each of 1..5, not an array of shape \(\)"),
        (lambda j: np.zeros(6), r"log tau1 must give one number for each of 1..5, not an array of shape \(6,\)"),
        (lambda j: np.log(j - 1.0 + 0 * j), r"log tau1\(j\) must be finite for j = 1 up to some number"),
        (lambda j: np.where(j == 3, np.nan, 0.0), r"log tau1\(j\) must be finite for j = 1 up to some number"),
        (lambda j: np.where(j == 3, -np.inf, 0.0), r"log tau1\(j\) must be finite for j = 1 up to some number"),
        (lambda j: np.where(j == 5, np.inf, 0.0), r"log tau1\(j\) must be finite for j = 1 up to some number"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_is_no_log_tau1(log_tau1: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CustomPrior(log_tau1, gammaln).log_tau1(5)


@pytest.mark.parametrize(
    ("log_tau2", "message"),
    [
        (lambda n: np.zeros((5, 1)), r"log tau2 must give one number for each of 1..5, not .* \(5, 1\)"),
        (lambda n: np.where(n == 4, -np.inf, 0.0), r"must be finite, but log tau2\(4\) is -inf"),
        (
            math.lgamma,
            r"^the prior's log tau2 fails for the array of the numbers 1..5 \(T, or T \+ 1 for .*\): TypeError: ",
        ),
        (
            lambda n: ["many"] * 5,
            "log tau2 fails for the array .*: ValueError: could not convert string to float",
        ),
    ],
)
def test_what_is_no_log_tau2(log_tau2: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CustomPrior(gammaln, log_tau2).log_tau2(5)


def test_tables_in_place_of_functions() -> None:
    with pytest.raises(UsageError, match=r"`log_tau2_at` 3: must be a function"):
        CustomPrior(gammaln, 3)  # type: ignore[arg-type]


# Making and storing


@pytest.mark.parametrize("prior", [*FIXED, *RESAMPLED, PitmanYor(0.2, 0.1, None, None)], ids=str)
def test_stored_and_restored(prior: Prior) -> None:
    stored = json.loads(json.dumps(prior.to_dict(9), allow_nan=False))
    assert stored["name"] == prior.name
    assert prior_from_dict(stored) == prior


def test_numbers_of_numpy_are_stored() -> None:
    prior = FiniteDirichlet(np.int64(3), np.float64(0.5))  # type: ignore[arg-type]
    assert prior_from_dict(json.loads(json.dumps(prior.to_dict(9)))) == prior


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [np.float32, np.longdouble, np.uint8])
def test_numbers_of_numpy_count_as_floats(kind: Any) -> None:
    assert DirichletProcess(np.float32(0.5)) == DirichletProcess(0.5)  # type: ignore[arg-type]
    sizes = np.array([3, 2])
    for prior, same in (
        (PitmanYor(kind(1), np.float32(0.5)), PitmanYor(1.0, 0.5)),
        (FiniteDirichlet(4, kind(1)), FiniteDirichlet(4, 1.0)),
        (make_prior("pitman-yor", kind(1), "fixed"), make_prior("pitman-yor", 1.0, "fixed")),
    ):
        assert prior == same
        drawn = [each.resample(sizes, np.random.default_rng(1)) for each in (prior, same)]
        assert drawn[0] == drawn[1]
        assert prior.log_tau2(5).tolist() == same.log_tau2(5).tolist()


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"name": "dirichlet"}, "'dirichlet' is not a partition prior"),
        ({}, "'None' is not a partition prior"),
        ({"name": "dp", "discount": 0.1}, "not a partition prior of the kind 'dp'"),
        ({"name": "finite"}, "not a partition prior of the kind 'finite'"),
        ({"name": "custom", "log_tau1": 3.0, "log_tau2": []}, "not a partition prior of the kind 'custom'"),
        ({"name": "dp", "concentration": -1.0}, "`concentration` -1.0: must be a positive number"),
    ],
)
def test_what_is_stored_as_no_prior(stored: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        prior_from_dict(stored)


@pytest.mark.parametrize(
    ("arguments", "prior"),
    [
        ({}, DirichletProcess(1.0, 1.0, 1.0)),
        ({"name": "dp", "concentration": 2.5, "concentration_prior": "3, 0.5"}, DirichletProcess(2.5, 3.0, 0.5)),
        ({"name": "dp", "concentration_prior": None}, DirichletProcess(1.0, None, None)),
        ({"name": "pitman-yor"}, PitmanYor(1.0, 0.5, 1.0, 1.0, infer_discount=True)),
        (
            {"name": "pitman-yor", "concentration": -0.6, "concentration_prior": "fixed"},
            PitmanYor(-0.6, 0.8, None, None, infer_discount=True),
        ),
        ({"name": "pitman-yor", "discount": 0.0}, PitmanYor(1.0, 0.0, 1.0, 1.0, infer_discount=False)),
        (
            {"name": "pitman-yor", "concentration": -0.1, "concentration_prior": "fixed", "discount": 0.2},
            PitmanYor(-0.1, 0.2, None, None, infer_discount=False),
        ),
        ({"name": "finite", "max_clusters": 5, "concentration_prior": (2.0, 3.0)}, FiniteDirichlet(5, 1.0, 2.0, 3.0)),
        (
            {"name": "finite", "max_clusters": 5, "concentration": 0.1, "concentration_prior": "fixed"},
            FiniteDirichlet(5, 0.1, None, None),
        ),
    ],
)  # fmt: skip
def test_the_prior_that_options_describe(arguments: dict[str, Any], prior: Prior) -> None:
    assert make_prior(**arguments) == prior


GAMMA = (
    "must be 'fixed' or the shape and rate of a Gamma prior, like 1,0.1, both between 1e-09 and 1e+09: outside this "
    "range the prior fixes the concentration or puts all its mass at 0"
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "DP"}, "`prior` 'DP': must be one of dp, pitman-yor, finite"),
        ({"concentration": 0.0}, "`concentration` 0.0: must be a positive number"),
        ({"concentration": math.nan}, "`concentration` nan: must be a positive number"),
        ({"concentration": math.inf}, "`concentration` inf: must be a positive number"),
        ({"name": "pitman-yor", "concentration": -0.1}, "`concentration` -0.1: must be a positive number"),
        (
            {"name": "pitman-yor", "concentration": -0.3, "concentration_prior": "fixed", "discount": 0.2},
            "`concentration` -0.3: must be more than -0.2",
        ),
        (
            {"name": "pitman-yor", "concentration": -1.0, "concentration_prior": "fixed"},
            "`concentration` -1.0: must be more than -1",
        ),
        ({"concentration_prior": "x"}, f"`concentration_prior` 'x': {GAMMA}"),
        ({"concentration_prior": "1"}, f"`concentration_prior` '1': {GAMMA}"),
        ({"concentration_prior": (10**400, 1)}, f"`concentration_prior` ({10**400}, 1): {GAMMA}"),
        ({"concentration_prior": "1,0"}, f"`concentration_prior` '1,0': {GAMMA}"),
        ({"concentration_prior": "1,inf"}, f"`concentration_prior` '1,inf': {GAMMA}"),
        ({"concentration_prior": (1.0,)}, f"`concentration_prior` (1.0,): {GAMMA}"),
        ({"concentration_prior": 3}, f"`concentration_prior` 3: {GAMMA}"),
        ({"concentration_prior": np.array([1.0, 0.0])}, f"`concentration_prior` array([1., 0.]): {GAMMA}"),
        (
            {"name": "finite", "max_clusters": 10**9, "concentration": 1e300},
            "`concentration` 1e+300: its product with 1000000000 components overflows",
        ),
        (
            {"discount": 0.1},
            "`discount` 0.1: has no effect with `prior` dp: leave it out, or use `prior` pitman-yor",
        ),
        ({"name": "pitman-yor", "discount": 1.0}, "`discount` 1.0: must be at least 0 and less than 1"),
        ({"name": "pitman-yor", "discount": -0.1}, "`discount` -0.1: must be at least 0 and less than 1"),
        ({"name": "pitman-yor", "discount": math.nan}, "`discount` nan: must be at least 0 and less than 1"),
        ({"name": "finite"}, "`prior` finite: needs `max_clusters`, the largest number of clusters"),
        ({"name": "finite", "max_clusters": 0}, "`max_clusters` 0: must be at least 1"),
        ({"name": "finite", "max_clusters": 2.5}, "`max_clusters` 2.5: must be a whole number"),
        (
            {"max_clusters": 3},
            "`max_clusters` 3: has no effect with `prior` dp: leave it out, or use `prior` finite",
        ),
    ],
)
def test_options_that_describe_no_prior(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        make_prior(**arguments)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        (DirichletProcess, (0.0,), "`concentration` 0.0: must be a positive number"),
        (DirichletProcess, (np.inf,), "`concentration` inf: must be a positive number"),
        (DirichletProcess, (np.nan,), "`concentration` nan: must be a positive number"),
        (DirichletProcess, ("1",), "`concentration` 1: must be a positive number"),
        (DirichletProcess, (1.0, 1.0, None), "needs both a shape and a rate"),
        (DirichletProcess, (1.0, None, 1.0), "needs both a shape and a rate"),
        (DirichletProcess, (1.0, -1.0, 1.0), "must be positive, not -1.0, 1.0"),
        (DirichletProcess, (1.0, 1.0, 0.0), "must be positive, not 1.0, 0.0"),
        (PitmanYor, (1.0, 1.0), "`discount` 1.0: must be at least 0 and less than 1"),
        (PitmanYor, (1.0, -0.1), "`discount` -0.1: must be at least 0 and less than 1"),
        (PitmanYor, (1.0, np.nan), "`discount` nan: must be at least 0 and less than 1"),
        (PitmanYor, (-0.1, 0.5), "`concentration` -0.1: must be a positive number"),
        (PitmanYor, (-0.5, 0.5, None, None), "`concentration` -0.5: must be more than -0.5"),
        (PitmanYor, (np.inf, 0.5, None, None), "`concentration` inf: must be more than -0.5"),
        (FiniteDirichlet, (0,), "the number of components must be a positive integer, not 0"),
        (FiniteDirichlet, (2.0,), "the number of components must be a positive integer, not 2.0"),
        (FiniteDirichlet, (True,), "the number of components must be a positive integer, not True"),
        (FiniteDirichlet, (10**400,), "the number of components must be a positive integer, not 1000"),
        (FiniteDirichlet, (3, -1.0), "`concentration` -1.0: must be a positive number"),
        (FiniteDirichlet, (3, 1.0, 1.0, np.inf), "must be positive, not 1.0, inf"),
    ],
)  # fmt: skip
def test_what_is_no_prior(kind: type, arguments: tuple, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        kind(*arguments)
