"""The DREAM challenge's scores against values worked out by hand, and 2A against whole matrices."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from pyclone_pgsm.scoring.dream import score_1b, score_1c, score_2a


@pytest.mark.parametrize(
    ("true", "found", "expected"), [(3, 3, 1.0), (3, 2, 0.75), (3, 5, 0.5), (1, 9, 0.0), (4, 0, 0.2)]
)
def test_1b(true: int, found: int, expected: float) -> None:
    assert score_1b(true, found) == expected


def test_1c() -> None:
    assert score_1c([0.2, 0.9, 0.9], [0.9, 0.2, 0.9]) == 1.0
    assert score_1c([1.0, 0.5], [0.4, 0.9]) == pytest.approx(0.9)


def matrix(labels: list[int]) -> NDArray[np.float64]:
    """Which two belong together, with mutations added that are on their own."""
    whole = [*labels, *range(1000, 1000 + int(np.sqrt(len(labels))))]
    return np.equal.outer(np.array(whole), np.array(whole)).astype(float)


def pearson(true: NDArray[np.float64], found: NDArray[np.float64]) -> float:
    return float(np.corrcoef(true.ravel(), found.ravel())[0, 1])


def divergence(true: NDArray[np.float64], found: NDArray[np.float64]) -> float:
    rows = [each / each.sum(axis=1, keepdims=True) for each in (true, found)]
    middle = (rows[0] + rows[1]) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(sum(np.nansum(each * np.log(each / middle)) for each in rows))


@pytest.mark.parametrize(
    ("true", "found"),
    [
        ([0, 0, 0, 1, 1, 2, 2, 2, 2], [0, 0, 1, 1, 1, 2, 2, 2, 3]),
        ([0] * 10 + [1] * 7, [0] * 9 + [1] * 8),
        ([0, 1, 1, 1, 2, 2, 2], [0, 0, 0, 1, 1, 1, 1]),
    ],
)
def test_2a_is_that_of_whole_matrices(true: list[int], found: list[int]) -> None:
    truth, n = matrix(true), len(true)
    bad = [matrix([0] * n), matrix(list(range(n)))]
    worst_r, worst_d = min(pearson(truth, each) for each in bad), max(divergence(truth, each) for each in bad)
    r = max(0.0, (pearson(truth, matrix(found)) - worst_r) / (1 - worst_r))
    d = max(0.0, 1 - divergence(truth, matrix(found)) / worst_d)
    assert score_2a(true, found) == pytest.approx((2 * r + d) / 3)


def test_2a_at_best_and_at_worst() -> None:
    assert score_2a([0, 0, 1, 1, 1], [4, 4, 2, 2, 2]) == pytest.approx(1.0)
    assert min(score_2a([0, 0, 1, 1, 1], found) for found in ([0] * 5, list(range(5)))) < 0.7
    assert score_2a([0, 0, 0], [0, 0, 0]) == 1.0
