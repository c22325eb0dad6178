"""The statistic of a PyClone block against the formula in logs over the whole grid, member by member."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import logsumexp

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from cases import observations, pyclone_log_marginal, pyclone_model
from enumeration import component_masses

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.pyclone import PyClone, make_pyclone, with_base

TOLERANCE = 1e-9
ADD, REMOVE = 0, 1


def play(likelihood, actions, subjects, negligible):  # type: ignore
    """Add and remove observations one by one; after each: log_marginal, and for every observation
    ``log_predictive_without`` if it is in the block, ``log_predictive`` if not."""
    T = likelihood.index.shape[0]
    inside = np.zeros(T, np.bool_)
    stat = np.empty(likelihood.stat_size())
    likelihood.clear(stat)
    marginals = np.empty(len(actions))
    predictives = np.empty((len(actions), T))
    for step in range(len(actions)):
        i = subjects[step]
        if actions[step] == ADD:
            likelihood.add(stat, i)
        else:
            likelihood.remove(stat, i)
        inside[i] = not inside[i]
        marginals[step] = likelihood.log_marginal(stat)
        for j in range(T):
            if inside[j]:
                predictives[step, j] = likelihood.log_predictive_without(stat, j)
            else:
                predictives[step, j] = likelihood.log_predictive(stat, j, negligible[step])
    return marginals, predictives


def log_marginal(likelihood: PyClone, members: Sequence[int]) -> float:
    """log L(y_b) by definition, with the rows as the likelihood scales them."""
    total = 0.0
    for d in range(likelihood.index.shape[1]):
        rows = likelihood.index[list(members), d]
        total += logsumexp(likelihood.xi[rows[rows >= 0]].sum(axis=0), b=likelihood.base[d])
    return float(total)


def log_predictive(likelihood: PyClone, members: Sequence[int], i: int) -> float:
    others = [j for j in members if j != i]
    return log_marginal(likelihood, [*others, i]) - log_marginal(likelihood, others)


def blocks_after(actions: NDArray[np.int64], subjects: NDArray[np.int64]) -> list[list[int]]:
    members: list[int] = []
    history = []
    for action, i in zip(actions, subjects):
        members = [*members, int(i)] if action == ADD else [j for j in members if j != i]
        history.append(members)
    return history


def random_walk(T: int, length: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Observations enter and leave; the block is never emptied."""
    actions, subjects, members = [], [], []  # type: ignore
    for _ in range(length):
        outside = [i for i in range(T) if i not in members]
        if len(members) < 2 or (outside and rng.random() < 0.6):
            subjects.append(int(rng.choice(outside)))
            members.append(subjects[-1])
            actions.append(ADD)
        else:
            subjects.append(members.pop(rng.integers(len(members))))
            actions.append(REMOVE)
    return np.array(actions), np.array(subjects)


def reads(T: int, D: int, G: int, deepest: int, rng: np.random.Generator) -> PyClone:
    """Read counts at any depth and copy number, with and without data; nothing that belongs together."""
    depth = np.exp(rng.uniform(np.log(10), np.log(deepest + 10), (T, D))).astype(int)
    alt = rng.binomial(depth, rng.beta(0.3, 0.3, (T, D)))
    major = rng.integers(1, 6, (T, D))
    minor = rng.integers(0, major + 1)
    known = rng.random((T, D)) < 0.85
    data = observations(
        alt, depth, major, minor, tumour_content=rng.uniform(0.3, 1.0, (1, D)), has_data=known
    )
    return pyclone_model(data, G, "parental").likelihood(())


def from_tables(xi: NDArray[np.float64], index: NDArray[np.int32]) -> PyClone:
    """As :func:`pyclone_pgsm.tumour.grid.likelihood_grid` makes them of read counts."""
    likelihood = np.exp(xi)
    likelihood[likelihood < 1e-300] = 0.0
    return make_pyclone(index, xi, likelihood, np.zeros(len(xi)))


def peaks(T: int, D: int, G: int, deepest: int, rng: np.random.Generator) -> PyClone:
    """Tables as no data make them: one to three peaks anywhere, any height, any width, some very deep."""
    grid = np.arange(G) / (G - 1)
    height = rng.uniform(0, deepest / 10, (T * D, 3, 1))
    centre = rng.uniform(0, 1, (T * D, 3, 1))
    depth = np.exp(rng.uniform(np.log(10), np.log(deepest + 10), (T * D, 3, 1)))
    xi = np.max(-height - depth * (grid - centre) ** 2, axis=1)
    xi -= xi.max(axis=1, keepdims=True)
    index = np.where(rng.random((T, D)) < 0.9, rng.integers(T * D, size=(T, D)), -1).astype(np.int32)
    return from_tables(xi, index)


def with_any_base(likelihood: PyClone, rng: np.random.Generator) -> PyClone:
    """With a base measure of three components in unequal shares, another in each sample."""
    D, G = likelihood.base.shape
    components = component_masses(G)
    weights = rng.dirichlet([0.3, 0.3, 0.3], D) + 1e-6
    weights /= weights.sum(axis=1, keepdims=True)
    mixed = with_base(
        likelihood._replace(component_means=likelihood.likelihood @ components.T),
        weights,
        components,
    )
    np.testing.assert_allclose(mixed.base, weights @ components, rtol=1e-12)
    return mixed


def check(likelihood: PyClone, rng: np.random.Generator, length: int) -> None:
    T = len(likelihood.index)
    actions, subjects = random_walk(T, length, rng)
    player = compiled_for(play, PyClone)
    marginals, predictives = player(likelihood, actions, subjects, np.full(length, -np.inf))
    history = blocks_after(actions, subjects)
    np.testing.assert_allclose(
        marginals, [log_marginal(likelihood, members) for members in history], rtol=1e-13, atol=TOLERANCE
    )
    expected = np.array([[log_predictive(likelihood, members, i) for i in range(T)] for members in history])
    np.testing.assert_allclose(predictives, expected, rtol=1e-13, atol=TOLERANCE)

    # a bound below which nobody cares: above it nothing changes, below it everything stays below
    negligible = np.array([rng.choice(row) for row in expected]) + rng.choice(
        [-30.0, -1.0, 0.5, 20.0], length
    )
    _, bounded = player(likelihood, actions, subjects, negligible)
    matters = expected >= negligible[:, None]
    np.testing.assert_allclose(bounded[matters], expected[matters], rtol=1e-13, atol=TOLERANCE)
    inside = np.array([[i in members for i in range(T)] for members in history])
    assert (bounded < negligible[:, None])[~matters & ~inside].all()


SIZES = {
    "T": st.integers(2, 7),
    "D": st.integers(1, 3),
    "G": st.sampled_from([101, 401, 801]),
    "deepest": st.sampled_from([10, 50, 300, 1000, 5000, 20000]),
    "is_learned": st.booleans(),
    "seed": st.integers(0, 2**32 - 1),
}


@settings(max_examples=100, deadline=None)
@given(**SIZES)
@example(T=4, D=1, G=101, deepest=5000, is_learned=False, seed=1_892_550_554)  # l underflows
@example(T=4, D=1, G=101, deepest=5000, is_learned=True, seed=1_892_550_554)
def test_blocks_of_reads(T: int, D: int, G: int, deepest: int, is_learned: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    likelihood = reads(T, D, G, deepest, rng)
    check(with_any_base(likelihood, rng) if is_learned else likelihood, rng, length=12)


@settings(max_examples=100, deadline=None)
@given(**SIZES)
@example(T=4, D=2, G=101, deepest=20000, is_learned=False, seed=264)  # W / l where both are subnormal
@example(T=7, D=2, G=101, deepest=20000, is_learned=False, seed=7)  # mass that returns after W lost it
@example(T=5, D=3, G=101, deepest=20000, is_learned=False, seed=1120)
@example(T=7, D=2, G=101, deepest=20000, is_learned=True, seed=7)
def test_blocks_of_anything(T: int, D: int, G: int, deepest: int, is_learned: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    likelihood = peaks(T, D, G, deepest, rng)
    check(with_any_base(likelihood, rng) if is_learned else likelihood, rng, length=12)


def one_sample(xi: list[list[float]]) -> PyClone:
    return from_tables(np.array(xi, float), np.arange(len(xi), dtype=np.int32)[:, None])


def test_mass_that_underflows_before_it_counts() -> None:
    """The first observation alone leaves nothing at the last point in double precision (e^-800); with the others the
    posterior is all there."""
    likelihood = one_sample(
        [[0, -400, -800], [-800, -10, 0], [-800, -430, 0], [-800, -430, 0], [-800, -430, 0]]
    )
    marginals, predictives = compiled_for(play, PyClone)(
        likelihood, np.full(5, ADD), np.arange(5), np.full(5, -np.inf)
    )
    np.testing.assert_allclose(
        marginals, np.array([0, -410, -800, -800, -800]) - np.log(3), rtol=0, atol=TOLERANCE
    )
    np.testing.assert_allclose(predictives[1:, 4], [-390, 0, 0, 0], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("grid_size", "depth", "alt", "removed"),
    [
        (101, 40, [20] * 8 + [0], range(8)),
        (101, 100, [50] * 4 + [0], range(4)),
        (101, 200, range(30, 71), range(2, 41)),
        (401, 200, range(30, 71), range(39)),
    ],
)
def test_a_block_thinned_to_its_outermost_members(
    grid_size: int, depth: int, alt: Sequence[int], removed: Sequence[int]
) -> None:
    """What W lost to underflow while the block was large must come back when it is small: at any depth."""
    data = observations(np.array(alt)[:, None], depth, tumour_content=1.0)
    likelihood = pyclone_model(data, grid_size).likelihood(())
    actions = np.repeat([ADD, REMOVE], [len(alt), len(removed)])
    subjects = np.concatenate([np.arange(len(alt)), removed])
    marginals, predictives = compiled_for(play, PyClone)(
        likelihood, actions, subjects, np.full(len(actions), -np.inf)
    )
    members = blocks_after(actions, subjects)[-1]
    assert marginals[-1] == pytest.approx(log_marginal(likelihood, members), abs=TOLERANCE)
    expected = [log_predictive(likelihood, members, i) for i in range(len(alt))]
    np.testing.assert_allclose(predictives[-1], expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("is_learned", [False, True])
def test_add_many_is_adding_one_by_one(is_learned: bool) -> None:
    rng = np.random.default_rng(5)
    likelihood = reads(40, 3, 401, 500, rng)
    likelihood = likelihood._replace(
        index=likelihood.index[rng.integers(40, size=300)]
    )  # many identical ones
    if is_learned:
        likelihood = with_any_base(likelihood, rng)

    @numba.njit
    def marginals(likelihood, members):  # type: ignore
        stat = np.empty(likelihood.stat_size())
        likelihood.clear(stat)
        likelihood.add_many(stat, members)
        together = likelihood.log_marginal(stat)
        likelihood.add_many(stat, members[:50])
        likelihood.clear(stat)
        for i in members:
            likelihood.add(stat, i)
        return together, likelihood.log_marginal(stat)

    members = rng.permutation(300)[:200]
    expected = log_marginal(likelihood, members.tolist())
    np.testing.assert_allclose(marginals(likelihood, members), expected, rtol=1e-12)


@numba.njit
def grow(likelihood, members, guests, negligible):  # type: ignore[no-untyped-def]
    """Predictives of the guests as one member after the other comes."""
    stat = np.empty(likelihood.stat_size())
    likelihood.clear(stat)
    values = np.empty((len(members), len(guests)))
    for m in range(len(members)):
        likelihood.add(stat, members[m])
        for g in range(len(guests)):
            values[m, g] = likelihood.log_predictive(stat, guests[g], negligible[m, g])
    return values


def a_cluster_and_others(T: int, D: int, grid_size: int, deepest: int, rng: np.random.Generator) -> PyClone:
    """The first 30 agree, so that the others soon fall far outside their window."""
    place = np.concatenate([rng.normal(0.3, 0.003, 30), rng.uniform(0.2, 1.0, T - 30)])
    width = np.full(T, 0.01)
    width[30:] = rng.uniform(0.003, 0.05, T - 30)
    grid = np.linspace(0.0, 1.0, grid_size)
    xi = -0.5 * ((grid - place[:, None]) / width[:, None]) ** 2
    return from_tables(
        xi - xi.max(axis=1, keepdims=True), np.repeat(np.arange(T, dtype=np.int32)[:, None], D, 1)
    )


@pytest.mark.parametrize("is_learned", [False, True])
@pytest.mark.parametrize("grid_size", [101, 801])
@pytest.mark.parametrize("make", [reads, peaks, a_cluster_and_others])
def test_a_growing_block_predicts_whatever_lies_outside_its_window(
    make, grid_size: int, is_learned: bool
) -> None:
    """Exactly, or as negligible where it is."""
    negligible = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        likelihood = make(40, 2, grid_size, 300, rng)
        if is_learned:
            likelihood = with_any_base(likelihood, rng)
        members, guests = np.arange(30), np.arange(30, 40)
        expected = np.array(
            [[log_predictive(likelihood, [*range(m + 1)], g) for g in guests] for m in members]
        )
        everything = np.full(expected.shape, -np.inf)
        values = grow(likelihood, members, guests, everything)
        np.testing.assert_allclose(values, expected, rtol=1e-9, atol=TOLERANCE)
        below = grow(likelihood, members, guests, expected - 3.0)
        np.testing.assert_allclose(below, expected, rtol=1e-9, atol=TOLERANCE)
        above = grow(likelihood, members, guests, expected + 3.0)
        assert (above < expected + 3.0).all()
        negligible += np.isneginf(above).sum()
    assert negligible > 0


def test_many_blocks_at_once() -> None:
    """In any order, next to statistics that nobody asks for."""
    likelihood = reads(12, 2, 101, 100, np.random.default_rng(6))

    @numba.njit
    def predictives(likelihood, slots, i):  # type: ignore[no-untyped-def]
        stats = np.full((5, likelihood.stat_size()), np.nan)
        for b in range(len(slots)):
            likelihood.clear(stats[slots[b]])
            likelihood.add(stats[slots[b]], 2 * b)
            likelihood.add(stats[slots[b]], 2 * b + 1)
        values = np.zeros(7)
        likelihood.log_predictives(stats, slots, i, np.full(3, -np.inf), values)
        return values

    values = predictives(likelihood, np.array([4, 0, 2]), 11)
    expected = [log_predictive(likelihood, block, 11) for block in ([0, 1], [2, 3], [4, 5])]
    np.testing.assert_allclose(values, [*expected, 0, 0, 0, 0], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("change", [ADD, REMOVE])
def test_an_answer_holds_until_the_block_changes(change: int) -> None:
    """An observation that was asked about is added: at once, or when another has come or gone in between."""
    likelihood = reads(6, 2, 101, 100, np.random.default_rng(7))

    @numba.njit
    def marginals(likelihood, change):  # type: ignore[no-untyped-def]
        stat = np.empty(likelihood.stat_size())
        likelihood.clear(stat)
        for i in range(4):
            likelihood.add(stat, i)
        likelihood.log_predictive(stat, 4, -np.inf)
        likelihood.add(stat, 4)
        at_once = likelihood.log_marginal(stat)
        likelihood.log_predictive(stat, 5, -np.inf)
        if change == ADD:
            likelihood.add(stat, 3)
        else:
            likelihood.remove(stat, 3)
        likelihood.add(stat, 5)
        return at_once, likelihood.log_marginal(stat)

    later = [0, 1, 2, 3, 3, 4, 5] if change == ADD else [0, 1, 2, 4, 5]
    expected = [log_marginal(likelihood, range(5)), log_marginal(likelihood, later)]
    np.testing.assert_allclose(marginals(likelihood, change), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("is_learned", [False, True])
def test_an_empty_block_is_the_base_measure(is_learned: bool) -> None:
    rng = np.random.default_rng(1)
    likelihood = reads(5, 2, 101, 50, rng)
    if is_learned:
        likelihood = with_any_base(likelihood, rng)

    @numba.njit
    def empty(likelihood, i):  # type: ignore
        stat = np.empty(likelihood.stat_size())
        likelihood.clear(stat)
        return likelihood.log_marginal(stat), likelihood.log_predictive(stat, i, -np.inf)

    for i in range(5):
        prior_predictive = log_marginal(likelihood, [i])
        np.testing.assert_allclose(empty(likelihood, i), [0.0, prior_predictive], rtol=0, atol=TOLERANCE)
        assert numba.njit(likelihood_prior)(likelihood, i) == pytest.approx(prior_predictive, abs=TOLERANCE)


def likelihood_prior(likelihood, i):  # type: ignore
    return likelihood.log_prior_predictive(i)


@pytest.mark.parametrize("is_learned", [False, True])
@pytest.mark.parametrize("deepest", [50, 5000])
def test_thousands_of_moves_do_not_drift(deepest: int, is_learned: bool) -> None:
    rng = np.random.default_rng(2)
    likelihood = reads(30, 2, 401, deepest, rng)
    if is_learned:
        likelihood = with_any_base(likelihood, rng)
    actions, subjects = random_walk(30, 8000, rng)
    marginals, predictives = compiled_for(play, PyClone)(
        likelihood, actions, subjects, np.full(8000, -np.inf)
    )
    members = blocks_after(actions, subjects)[-1]
    assert marginals[-1] == pytest.approx(log_marginal(likelihood, members), rel=1e-13, abs=TOLERANCE)
    expected = [log_predictive(likelihood, members, i) for i in range(30)]
    np.testing.assert_allclose(predictives[-1], expected, rtol=1e-13, atol=TOLERANCE)


def test_what_was_left_out_is_in_the_constant() -> None:
    """log_marginal of all blocks and log_constant: the absolute log likelihood."""
    likelihood = reads(4, 2, 101, 100, np.random.default_rng(3))
    absolute = pyclone_log_marginal(likelihood)
    scaled = sum(log_marginal(likelihood, block) for block in ([0, 2], [1, 3]))
    assert scaled + likelihood.log_constant() == pytest.approx(absolute([0, 2]) + absolute([1, 3]), rel=1e-12)


@pytest.mark.parametrize("is_learned", [False, True])
def test_a_new_mutation_s_predictive_density(is_learned: bool) -> None:
    """That of an observation the model knows, up to the constant the likelihood leaves out."""
    data = observations([[3, 8], [9, 2], [5, 5]], [[10, 30], [20, 40], [15, 35]])
    likelihood = pyclone_model(data, 41).likelihood(())
    if is_learned:
        likelihood = with_any_base(likelihood, np.random.default_rng(3))
    xi = likelihood.xi + likelihood.xi_max[:, None]
    for members in ([], [0], [0, 1]):
        stat = np.empty(likelihood.stat_size())
        likelihood.clear(stat)
        for i in members:
            likelihood.add(stat, i)
        expected = (
            likelihood.log_predictive(stat, 2, -np.inf) if members else likelihood.log_prior_predictive(2)
        )
        expected += likelihood.xi_max[likelihood.index[2]].sum()
        found = likelihood.log_predictive_new(stat, xi[likelihood.index[2]].ravel())
        assert found == pytest.approx(expected, abs=1e-10)


def test_data_that_say_nothing() -> None:
    model = pyclone_model(observations([[0], [0]], [[0], [0]], has_data=False), 11)
    likelihood = model.likelihood(())
    assert log_marginal(likelihood, [0, 1]) == 0.0
    assert likelihood.log_constant() == 0.0
