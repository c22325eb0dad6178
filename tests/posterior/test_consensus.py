"""The consensus partition against enumeration, and the counting against formulas written out pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from pyclone_pgsm.labels import canonical
from pyclone_pgsm.posterior import consensus as module
from pyclone_pgsm.posterior import consensus_search as search_module
from pyclone_pgsm.posterior.consensus import assignment_probability, coclustering, consensus
from pyclone_pgsm.posterior.consensus_search import Effort


def expected_loss(draws: NDArray, labels: NDArray, criterion: str) -> float:
    value = search_module.values_of(criterion, len(labels))
    blocks, each = search_module.number_blocks(draws)[0], np.ones_like(labels)
    overlap = search_module.total_value(search_module.shared_blocks(blocks, labels), each, value) / len(draws)
    block = search_module.total_value(blocks, each, value) / len(draws)
    return search_module.loss_of(
        criterion, overlap, search_module.total_value(labels, each, value), block, len(labels)
    )


def expected_vi(draws: NDArray, labels: NDArray) -> float:
    return expected_loss(draws, labels, "vi")


def expected_binder(draws: NDArray, labels: NDArray) -> float:
    return expected_loss(draws, labels, "binder")


def pear(draws: NDArray, labels: NDArray) -> float:
    return -expected_loss(draws, labels, "mpear")


LOSSES = {"mpear": lambda draws, labels: -pear(draws, labels), "vi": expected_vi, "binder": expected_binder}
SEARCHED = sorted(LOSSES)


def partitions(size: int) -> Iterator[tuple[int, ...]]:
    """All partitions of `size` items as canonical labels."""
    if size == 0:
        yield ()
        return
    for smaller in partitions(size - 1):
        for label in range(max(smaller, default=-1) + 2):
            yield (*smaller, label)


def noisy_draws(
    rng: np.random.Generator, num_draws: int, truth: NDArray, noise: NDArray
) -> NDArray[np.uint16]:
    """Draws in which item i has a random label with probability noise[i], otherwise its true one."""
    shape = (num_draws, len(truth))
    random = rng.integers(0, truth.max() + 1, shape)
    return np.where(rng.random(shape) < noise, random, truth).astype(np.uint16)


def small_problem(seed: int, size: int) -> NDArray[np.uint16]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, rng.integers(1, size), size)
    return noisy_draws(rng, int(rng.integers(1, 30)), truth, np.full(size, rng.random()))


def relabelled(rng: np.random.Generator, draws: NDArray) -> NDArray[np.int64]:
    """The same partitions under other labels, different ones in each draw."""
    names = rng.permuted(np.tile(np.arange(100), (len(draws), 1)), axis=1)
    return np.take_along_axis(names, draws.astype(np.int64), axis=1)


def naive_vi(draws: NDArray, labels: NDArray) -> float:
    """Mean of H(estimate) + H(draw) - 2 I(estimate, draw), with probabilities of labels written out."""

    def entropy(*columns: NDArray) -> float:
        _, counts = np.unique(np.stack(columns), axis=1, return_counts=True)
        share = counts / counts.sum()
        return float(-(share * np.log2(share)).sum())

    return float(np.mean([2 * entropy(draw, labels) - entropy(draw) - entropy(labels) for draw in draws]))


def naive_binder(draws: NDArray, labels: NDArray) -> float:
    pairs = list(combinations(range(len(labels)), 2))
    return float(
        np.mean([sum((draw[i] == draw[j]) != (labels[i] == labels[j]) for i, j in pairs) for draw in draws])
    )


def naive_pear(draws: NDArray, labels: NDArray) -> float:
    """Fritsch & Ickstadt (2009) with the matrix of co-clustering probabilities."""
    i, j = np.triu_indices(len(labels), 1)
    together = (labels[i] == labels[j]).astype(float)
    probability = (draws[:, i] == draws[:, j]).mean(axis=0)
    chance = together.sum() * probability.sum() / len(i)
    return float(((together * probability).sum() - chance) / (0.5 * (together + probability).sum() - chance))


@pytest.mark.parametrize(
    ("fast", "naive"), [(expected_vi, naive_vi), (expected_binder, naive_binder), (pear, naive_pear)]
)
def test_losses_equal_the_formulas(fast: Callable[..., float], naive: Callable[..., float]) -> None:
    for seed in range(20):
        draws = small_problem(seed, 12)
        labels = np.random.default_rng(seed).integers(0, 4, 12)
        assert fast(draws, labels) == pytest.approx(naive(draws, labels), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("criterion", SEARCHED)
def test_search_finds_the_best_of_all_partitions(criterion: str) -> None:
    """In each of 25 problems with 5 to 877 partitions."""
    loss = LOSSES[criterion]
    for seed in range(25):
        size = 3 + seed % 5
        draws = small_problem(seed, size)
        found = consensus(draws, criterion, rng=np.random.default_rng(seed))
        best = min(loss(draws, np.array(labels)) for labels in partitions(size))
        if criterion == "mpear" and len(set(found)) in (1, size):
            continue  # see test_one_cluster_is_told_by_mpear
        assert loss(draws, found) == pytest.approx(best, abs=1e-10), f"problem {seed}"


@pytest.mark.parametrize("criterion", SEARCHED)
def test_search_finds_the_best_with_few_clusters(criterion: str) -> None:
    """In each of 24 problems, among the partitions of at most 1 to 3 clusters."""
    loss = LOSSES[criterion]
    for seed in range(24):
        size, most = 3 + seed % 5, 1 + seed % 3
        draws = small_problem(seed, size)
        found = consensus(draws, criterion, rng=np.random.default_rng(seed), max_clusters=most)
        allowed = [labels for labels in partitions(size) if max(labels) < most]
        assert tuple(found) in allowed
        best = min(loss(draws, np.array(labels)) for labels in allowed)
        assert loss(draws, found) == pytest.approx(best, abs=1e-10), f"problem {seed}"


@pytest.mark.parametrize("criterion", SEARCHED)
def test_no_move_of_one_item_or_merge_improves_the_result(criterion: str) -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 6, 60)
    draws = noisy_draws(rng, 50, truth, rng.uniform(0, 0.9, 60))
    found = consensus(draws, criterion, rng=rng)
    loss = LOSSES[criterion]
    least = loss(draws, found)
    clusters = found.max() + 1
    most = max(len(np.unique(draw)) for draw in draws) + search_module.SPARE_CLUSTERS
    assert clusters <= most
    for item in range(60):
        for cluster in range(min(clusters + 1, most)):
            other = found.copy()
            other[item] = cluster
            assert loss(draws, other) > least - 1e-10
    for a, b in combinations(range(clusters), 2):
        assert loss(draws, np.where(found == b, a, found)) > least - 1e-10


@pytest.mark.parametrize("step", ["_merge", "_break_up"])
def test_each_step_of_the_search_helps(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Items on a line, whose neighbours share blocks at random: sweeps alone end in local optima."""
    problems = []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        places = rng.uniform(-0.5, 7.5, 80) + rng.normal(0, 0.8, (60, 80))
        problems.append(np.clip(np.round(places), 0, 7).astype(np.int64))

    def mean_loss() -> float:
        found = [consensus(draws, "vi", rng=np.random.default_rng(0), runs=1) for draws in problems]
        return float(np.mean([expected_vi(*pair) for pair in zip(problems, found, strict=True)]))

    complete = mean_loss()
    monkeypatch.setattr(search_module.Search, step, lambda self: False)
    assert mean_loss() > complete + 1e-3


@pytest.mark.parametrize("criterion", SEARCHED)
def test_planted_clusters_are_recovered(criterion: str) -> None:
    """2,000 items of which 30 % have a random label in a quarter of the draws; all losses find the truth."""
    rng = np.random.default_rng(11)
    truth = rng.choice(10, 2000, p=np.arange(1, 11) / 55)
    noise = np.where(rng.random(2000) < 0.3, 0.25, 0.01)
    draws = noisy_draws(rng, 200, truth, noise)
    found = consensus(draws, criterion, rng=rng)
    np.testing.assert_array_equal(found, canonical(truth))


@pytest.mark.parametrize("criterion", SEARCHED)
def test_clusters_found_with_few_mutations_are_joined_by_the_others(
    criterion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(11)
    truth = rng.choice(10, 2000, p=np.arange(1, 11) / 55)
    draws = noisy_draws(rng, 200, truth, np.where(rng.random(2000) < 0.3, 0.25, 0.01))
    monkeypatch.setattr(module, "MOST_EXPLORED", 200)
    searched = []
    explore = module.explore
    monkeypatch.setattr(module, "explore", lambda few, runs: searched.append(few) or explore(few, runs))
    np.testing.assert_array_equal(consensus(draws, criterion, rng=rng), canonical(truth))
    assert [few.num_mutations for few in searched] == [200]


@pytest.mark.parametrize("criterion", SEARCHED)
def test_result_found_on_few_draws_is_improved_on_all(
    criterion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 5, 100)
    draws = noisy_draws(rng, 300, truth, rng.uniform(0, 1, 100))
    loss = LOSSES[criterion]
    on_all = loss(draws, consensus(draws, criterion, rng=np.random.default_rng(0)))
    monkeypatch.setattr(module, "COARSE", Effort(sweep=1, total=1e9, draws=4))
    on_few_then_all = loss(draws, consensus(draws, criterion, rng=np.random.default_rng(0)))
    monkeypatch.setattr(module, "FINE", Effort(sweep=1, total=1e9, draws=4))
    on_few = loss(draws, consensus(draws, criterion, rng=np.random.default_rng(0)))
    assert on_few_then_all == pytest.approx(on_all, rel=1e-3)
    assert on_few > on_few_then_all + 1e-6


@pytest.mark.parametrize("criterion", SEARCHED)
def test_labels_of_draws_mean_nothing(criterion: str) -> None:
    rng = np.random.default_rng(8)
    draws = noisy_draws(rng, 40, rng.integers(0, 4, 50), rng.uniform(0, 0.9, 50))
    others = relabelled(rng, draws)
    first = consensus(draws, criterion, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(consensus(others, criterion, rng=np.random.default_rng(1)), first)
    np.testing.assert_array_equal(consensus(-others, criterion, rng=np.random.default_rng(1)), first)
    np.testing.assert_array_equal(consensus(others * 10**9, criterion, rng=np.random.default_rng(1)), first)
    assert LOSSES[criterion](others, first) == LOSSES[criterion](draws, first)
    np.testing.assert_array_equal(assignment_probability(others, first), assignment_probability(draws, first))


@pytest.mark.parametrize("criterion", SEARCHED)
def test_kind_and_order_in_memory_change_nothing_and_draws_are_not_changed(criterion: str) -> None:
    draws = small_problem(4, 30)
    expected = consensus(draws, criterion, rng=np.random.default_rng(1))
    for kind in (np.uint8, np.int32, np.int64):
        for order in ("C", "F"):
            same = np.array(draws, kind, order=order)
            np.testing.assert_array_equal(consensus(same, criterion, rng=np.random.default_rng(1)), expected)
            assignment_probability(same, expected)
            np.testing.assert_array_equal(same, draws)


@pytest.mark.parametrize("criterion", SEARCHED)
def test_draws_that_agree_are_the_result(criterion: str) -> None:
    rng = np.random.default_rng(0)
    draw = rng.integers(0, 7, 40)
    for draws in (draw[None, :], np.tile(draw, (25, 1))):
        np.testing.assert_array_equal(consensus(draws, criterion, rng=rng), canonical(draw))
    assert expected_vi(draws, draw) == pytest.approx(0, abs=1e-12)
    assert expected_binder(draws, draw) == 0
    assert pear(draws, draw) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("criterion", SEARCHED)
@pytest.mark.parametrize("size", [1, 2, 50])
def test_one_cluster_and_singletons(criterion: str, size: int) -> None:
    rng = np.random.default_rng(0)
    one = np.zeros((9, size), np.uint16)
    alone = np.tile(np.arange(size), (9, 1))
    np.testing.assert_array_equal(consensus(one, criterion, rng=rng), np.zeros(size))
    np.testing.assert_array_equal(consensus(alone, criterion, rng=rng), np.arange(size))
    assert pear(one, one[0]) == 1
    assert pear(alone, alone[0]) == 1
    np.testing.assert_array_equal(assignment_probability(one, one[0]), np.ones(size))
    np.testing.assert_array_equal(assignment_probability(alone, alone[0]), np.ones(size))


@pytest.mark.parametrize("extreme", [np.zeros(20, int), np.arange(20)], ids=["one cluster", "all alone"])
def test_one_cluster_is_told_by_mpear(extreme: NDArray) -> None:
    """The index of the co-clustering probabilities is 0 for it, and so any other partition seems better."""
    draws = np.tile(extreme, (100, 1))
    draws[:3, 5:7] = extreme[:2]
    draws[0, 0] = 1
    rng = np.random.default_rng(0)
    assert pear(draws, extreme) == 0
    np.testing.assert_array_equal(consensus(draws, "mpear", rng=rng), extreme)
    few = draws[[0, 0, 0, 0, 1, 50]]
    assert len(set(consensus(few, "mpear", rng=rng))) not in (1, 20)


def test_one_cluster_must_be_that_of_most_draws() -> None:
    two = np.arange(12) // 6
    for share, clusters in ((0.4, 2), (0.5, 2), (0.6, 1)):
        draws = np.tile(two, (10, 1))
        draws[: int(10 * share)] = 0
        assert consensus(draws, "mpear", rng=np.random.default_rng(0)).max() + 1 == clusters


def test_all_alone_is_no_rival_where_so_many_clusters_are_not_allowed() -> None:
    draws = np.tile(np.arange(6), (10, 1))
    found = consensus(draws, "mpear", rng=np.random.default_rng(0), max_clusters=3)
    assert found.max() < 3


@pytest.mark.parametrize("criterion", SEARCHED)
def test_more_blocks_than_the_table_may_hold(criterion: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two mutations a block, in all draws; the table has room for far fewer clusters."""
    monkeypatch.setattr(search_module, "TABLE_CELLS", 5_000)
    monkeypatch.setattr(module, "FINE", Effort(1e9, 1e9, 8))
    pairs = np.tile(np.arange(400) // 2, (60, 1))
    found = consensus(pairs, criterion, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(found, np.arange(400) // 2)
    monkeypatch.setattr(module, "MOST_EXPLORED", 300)
    found = consensus(pairs, criterion, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(found[::2], found[1::2])
    assert 0 <= found.min() < found.max() < 200


def test_same_generator_same_result() -> None:
    draws = np.random.default_rng(1).integers(0, 5, (30, 200))
    twice = [consensus(draws, "binder", rng=np.random.default_rng(3)) for _ in range(2)]
    np.testing.assert_array_equal(*twice)


def test_spent_effort_still_gives_a_partition_no_worse_than_a_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(1).integers(0, 5, (30, 200))
    monkeypatch.setattr(module, "COARSE", Effort(sweep=1e9, total=0, draws=16))
    hasty = consensus(draws, "vi", rng=np.random.default_rng(3), runs=1)
    assert hasty.shape == (200,)
    assert expected_vi(draws, hasty) <= min(expected_vi(draws, draw) for draw in draws)


def test_thinning_is_even() -> None:
    """Of 1,000 draws, of which the last 300 differ, 10 must contain 3 of these."""
    early, late = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    draws = np.array([early] * 700 + [late] * 300)
    thinned = draws[search_module.even(1000, 10)]
    assert len(thinned) == 10
    assert (thinned == late).all(axis=1).sum() == 3
    np.testing.assert_array_equal(consensus(thinned, "vi", rng=np.random.default_rng(0)), early)


def test_assignment_probability_is_the_mean_over_the_other_members() -> None:
    for seed in range(10):
        draws = small_problem(seed, 15)
        labels = np.random.default_rng(seed).integers(0, 6, 15)
        same = coclustering(draws, np.arange(15))
        expected = np.empty(15)
        for i in range(15):
            others = np.flatnonzero((labels == labels[i]) & (np.arange(15) != i))
            alone = np.mean([(draw == draw[i]).sum() == 1 for draw in draws])
            expected[i] = same[i, others].mean() if len(others) else alone
        np.testing.assert_allclose(assignment_probability(draws, labels), expected, rtol=1e-12)


def test_coclustering_of_some_items() -> None:
    draws = np.array([[0, 0, 1, 1], [0, 1, 1, 1], [2, 2, 2, 0], [3, 3, 1, 2]], np.uint16)
    np.testing.assert_array_equal(
        coclustering(draws, [3, 1, 0]), [[1, 0.25, 0], [0.25, 1, 0.75], [0, 0.75, 1]]
    )


def test_canonical_numbers_by_first_appearance() -> None:
    np.testing.assert_array_equal(canonical([7, 7, -2, 9, -2, 7]), [0, 0, 1, 2, 1, 0])
