"""Clusters that most draws hold apart are not one cluster of the consensus."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pyclone_pgsm import Settings, analyze
from pyclone_pgsm.posterior import division
from pyclone_pgsm.posterior.division import LEAST_DIFFERENCE, MOST, Division, differences
from pyclone_pgsm.posterior.prevalence import BlockPosteriors, block_means
from pyclone_pgsm.scoring.metrics import adjusted_rand

HALVES = np.array([0, 0, 0, 1, 1, 1])


def draws(*labels: str) -> np.ndarray:
    return np.array([list(map(int, each)) for each in labels])


def are_apart(*draws: Any) -> bool:
    partitions, means, halves = draws
    return bool(np.mean(differences(partitions, means, np.arange(6), halves) >= LEAST_DIFFERENCE) >= MOST)


def test_halves_are_apart_in_most_draws() -> None:
    """In the block of most of each half, with a third of exceptions, and in any sample."""
    partitions = draws(*["000111"] * 7, *["001011"] * 7, *["000000"] * 6)
    means = [np.array([[0.5, 0.7], [0.5, 0.58]])] * 20
    assert are_apart(partitions, means, HALVES)
    partitions[0] = 0
    assert not are_apart(partitions, means, HALVES)


def test_pieces_are_not_apart() -> None:
    """Neither pieces of nearly the same prevalences, nor pieces that differ from draw to draw."""
    partitions = draws(*["000111"] * 20)
    assert not are_apart(partitions, [np.array([[0.5, 0.7], [0.55, 0.61]])] * 20, HALVES)
    partitions = draws(*["000111", "010010", "001001", "001100"] * 5)
    assert not are_apart(partitions, [np.array([[0.2], [0.9]])] * 20, HALVES)


def test_a_pair_of_which_one_or_the_other_is_elsewhere_is_not_apart() -> None:
    """Each of the two is together with the other members in six of ten draws: no cluster of their own."""
    halves = np.array([1, 0, 0, 0, 0, 1])
    partitions = draws(*["000001"] * 4, *["100000"] * 4, *["000000"] * 2)
    means = [np.array([[0.2], [0.9]])] * 10
    assert not differences(partitions, means, np.arange(6), halves).any()
    partitions[:4] = [1, 0, 0, 0, 0, 1]
    assert differences(partitions, means, np.arange(6), halves).tolist() == pytest.approx(
        [0.7] * 4 + [0.0] * 6
    )


def test_a_half_in_the_block_of_another_cluster_is_no_cluster() -> None:
    """Three of six are with four others, who are most of that block; with three others they count as apart."""
    partitions = draws(*["0001111111"] * 10)
    means, members = [np.array([[0.2], [0.9]])] * 10, np.arange(6)
    assert not differences(partitions, means, members, HALVES).any()
    assert differences(partitions[:, :9], means, members, HALVES).tolist() == pytest.approx([0.7] * 10)


def test_a_cluster_that_many_draws_hold_apart() -> None:
    """In half of the draws, and then in three of four, its halves are in two blocks, 0.3 apart."""
    partitions = draws(*["000111", "000000", "000111", "000000"] * 5)
    means = [np.array([[0.7], [0.4]])] * 20
    draws_of_two = Division(partitions, means)
    rng, one = np.random.default_rng(1), np.zeros(6, np.int64)
    for criterion, other in (("vi", "mpear"), ("map", "mpear"), ("mpear", "vi")):
        assert draws_of_two.warnings(one, criterion, rng) == [
            "in 50 % of the draws cluster 0 is two clusters, of about 3 and 3 mutations, whose prevalences differ by "
            f"0.30: its cluster_assignment_prob does not show it; compare `consensus` {other}"
        ]
    assert not draws_of_two.divide(one, rng).any()
    for labels in (
        "000111",
        "001122",
        "00000-",
    ):  # two clusters; small ones; an outlier, so that a half is small
        given = np.array([-1 if each == "-" else int(each) for each in labels])
        assert draws_of_two.warnings(given, "vi", rng) == []
    partitions[1::4] = partitions[0]
    assert len(set(draws_of_two.divide(one, rng))) == 2


def test_means_of_blocks() -> None:
    """Two blocks in two samples, against the definition."""
    grid = np.array([0.0, 0.01, 0.03, 0.1, 0.2, 0.25, 0.4, 0.5, 0.7, 0.9, 1.0])
    windows = [[1.0], [0.25, 0.75], [0.5, 0.0, 0.5], [0.1, 0.9]]
    low = [10, 0, 4, 7]
    blocks = BlockPosteriors(
        np.array([0, 2]),
        np.array(low).reshape(2, 2),
        np.cumsum([0, *map(len, windows)]),
        np.concatenate(windows).astype(np.float32),
    )
    expected = [
        sum(grid[first + k] * mass for k, mass in enumerate(window)) for first, window in zip(low, windows)
    ]
    assert block_means(blocks, grid).ravel() == pytest.approx(expected, abs=1e-6)


def test_two_clusters_whose_mutations_are_hardly_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """All draws have clusters at 0.6 and 0.25, though the variation of information alone prefers to join them."""
    rng = np.random.default_rng(60)
    T = 400
    cluster = rng.choice(3, T, p=[0.5, 0.3, 0.2])
    depth = np.maximum(rng.poisson(60, T), 5)
    alt = rng.binomial(depth, 0.7 * np.array([1.0, 0.6, 0.25])[cluster] / 2)
    table = pd.DataFrame(
        {"mutation_id": range(T), "sample_id": "S", "ref_counts": depth - alt, "alt_counts": alt}
    )
    table[["major_cn", "minor_cn", "normal_cn", "tumour_content"]] = [1, 1, 2, 0.7]
    found = {}
    for least in (0.1, 1.1):
        monkeypatch.setattr(division, "LEAST_DIFFERENCE", least)
        found[least] = analyze(table, settings=Settings(iterations=300, chains=2, seed=1))
    assert (len(found[0.1].clusters), len(found[1.1].clusters)) == (3, 2)
    index = {
        least: adjusted_rand(cluster, result.mutations["cluster_id"].to_numpy())
        for least, result in found.items()
    }
    assert index[0.1] > index[1.1] + 0.1
