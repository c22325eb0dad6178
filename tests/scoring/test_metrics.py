"""The measures against values worked out by hand; score 2A of the DREAM challenge against whole matrices."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from pyclone_pgsm.errors import InputError
from pyclone_pgsm.scoring import metrics
from pyclone_pgsm.scoring.truth import read_found, read_truth, score


def test_contingency() -> None:
    assert metrics.contingency(["b", "a", "a", "b"], [7, 7, 9, 7]).tolist() == [[1, 1], [2, 0]]


@pytest.mark.parametrize(
    ("true", "found", "expected"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0], 1.0),
        ([0, 0, 0, 0], [3, 3, 3, 3], 1.0),
        ([0, 0, 1, 1], [0, 0, 0, 0], 0.0),
        ([0, 0, 0, 0], [0, 0, 1, 1], 0.0),
        ([0, 0, 1, 1], [0, 1, 0, 1], 0.0),
        # homogeneous (1), completeness log 2 / log 4 = 1/2
        ([0, 0, 1, 1], [0, 1, 2, 3], 2 / 3),
        # homogeneity 1, completeness log 2 / (3/2 log 2) = 2/3
        ([0, 0, 1, 1], [0, 0, 1, 2], 0.8),
    ],
)
def test_v_measure(true: list[int], found: list[int], expected: float) -> None:
    assert metrics.v_measure(true, found) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("true", "found", "expected"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0], 1.0),
        ([0, 0, 0, 0], [3, 3, 3, 3], 1.0),
        ([0, 1, 2, 3], [3, 2, 1, 0], 1.0),
        ([0], [5], 1.0),
        ([0, 0, 1, 1], [0, 0, 0, 0], 0.0),
        ([0, 0, 0, 0], [0, 1, 2, 3], 0.0),
        # pairs: 1 together in both, 2 in the true, 1 in the found, 6 in all: (1 - 2/6)/(3/2 - 2/6)
        ([0, 0, 1, 1], [0, 0, 1, 2], 4 / 7),
        # (0 - 4/6)/(2 - 4/6)
        ([0, 0, 1, 1], [0, 1, 0, 1], -0.5),
        # counts [[2, 1], [0, 3]]: 4 in both, 6 in the true, 1 + 6 in the found, 15 in all
        ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], (4 - 42 / 15) / (6.5 - 42 / 15)),
    ],
)
def test_adjusted_rand(true: list[int], found: list[int], expected: float) -> None:
    assert metrics.adjusted_rand(true, found) == pytest.approx(expected, abs=1e-12)


def test_pair_precision_and_recall() -> None:
    # pairs: 1 together in both, 2 in the true clusters, 3 in the found
    assert metrics.pair_precision_recall([0, 0, 1, 1], [0, 0, 0, 1]) == (1 / 3, 1 / 2)
    assert metrics.pair_precision_recall([0, 1], [0, 1]) == (1.0, 1.0)


def test_measures_do_not_depend_on_names_or_order() -> None:
    rng = np.random.default_rng(0)
    true, found = rng.integers(5, size=200), rng.integers(7, size=200)
    found[:150] = true[:150]
    shuffled = rng.permutation(200)
    names = np.array(list("zyxwvut"))[found]
    for measure in (metrics.v_measure, metrics.adjusted_rand):
        value = measure(true, found)
        assert 0.3 < value < 0.9
        assert measure(true[shuffled], names[shuffled]) == pytest.approx(value, abs=1e-12)
        assert measure(found, true) == pytest.approx(value, abs=1e-12)


def test_adjusted_rand_of_chance_is_zero_in_the_mean() -> None:
    rng = np.random.default_rng(1)
    values = [metrics.adjusted_rand(rng.integers(4, size=60), rng.integers(3, size=60)) for _ in range(400)]
    assert abs(np.mean(values)) < 4 * np.std(values) / math.sqrt(400)


@pytest.mark.parametrize(
    ("true", "found", "expected"), [(3, 3, 1.0), (3, 2, 0.75), (3, 5, 0.5), (1, 9, 0.0), (4, 0, 0.2)]
)
def test_1b(true: int, found: int, expected: float) -> None:
    assert metrics.score_1b(true, found) == expected


def test_1c() -> None:
    assert metrics.score_1c([0.2, 0.9, 0.9], [0.9, 0.2, 0.9]) == 1.0
    assert metrics.score_1c([1.0, 0.5], [0.4, 0.9]) == pytest.approx(0.9)


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
    assert metrics.score_2a(true, found) == pytest.approx((2 * r + d) / 3)


def test_2a_at_best_and_at_worst() -> None:
    assert metrics.score_2a([0, 0, 1, 1, 1], [4, 4, 2, 2, 2]) == pytest.approx(1.0)
    assert min(metrics.score_2a([0, 0, 1, 1, 1], found) for found in ([0] * 5, list(range(5)))) < 0.7
    assert metrics.score_2a([0, 0, 0], [0, 0, 0]) == 1.0


@pytest.mark.parametrize("n", range(1, 30))
def test_2a_of_the_truth_is_1_and_not_more(n: int) -> None:
    """Also of one cluster and of singletons, which score worst elsewhere; of a single mutation they are the same."""
    for labels in (np.zeros(n), np.arange(n), np.arange(n) // 2):
        assert 1.0 - 1e-12 < metrics.score_2a(labels, labels) <= 1.0


def test_rmse_and_coverage() -> None:
    ids = {"mutation_id": list("abcd"), "sample_id": ["S"] * 4}
    truth = pd.DataFrame({**ids, "cluster": ["0"] * 4, "ccf": [0.0, 0.5, 1.0, 0.2]})
    intervals = {
        "cellular_prevalence_lower": [0.0, 0.4, 0.9, 0.3],
        "cellular_prevalence_upper": [0.1, 0.6, 0.99, 0.4],
    }
    found = pd.DataFrame(
        {**ids, "cluster_id": ["0"] * 4, "cellular_prevalence": [0.3, 0.5, 0.6, 0.2], **intervals}
    )
    scores = score(truth, found)
    assert scores["rmse"] == pytest.approx(math.sqrt((0.09 + 0.16) / 4))
    assert scores["coverage"] == 0.5
    assert scores["samples"] == 1
    elsewhere = score(truth.assign(sample_id="T"), found)
    assert elsewhere["samples"] == 0
    assert math.isnan(elsewhere["rmse"])


def test_prevalences_of_a_truth_may_be_rounded_or_unknown(tmp_path: Path) -> None:
    """As sums of fractions are, and as those of an outlier."""
    path = tmp_path / "truth.tsv"
    rows = ["a\tS\t1\t1.0000000000000002", "b\tS\t1\t-1e-17", "c\tS\t-1\t", "d\tS\t2\t0.25"]
    path.write_text("\n".join(["mutation_id\tsample_id\tcluster\tccf", *rows]))
    assert read_truth(path)["ccf"].tolist() == pytest.approx(
        [1.0, 0.0, math.nan, 0.25], rel=0, abs=0, nan_ok=True
    )
    path.write_text("mutation_id\tsample_id\tcluster\tccf\na\tS\t1\t1.0001\n")
    with pytest.raises(InputError, match=r"'1\.0001': out of range; expected a prevalence from 0 to 1"):
        read_truth(path)


def test_a_truth_that_cannot_be_is_refused(tmp_path: Path) -> None:
    """By row and column, as other tables."""
    header = "mutation_id\tsample_id\tcluster\tccf\n"
    for rows, message in (
        ("m\tS\t1\t0.5\nm\tS\t1\t0.5\n", "row 3, column mutation_id: 'm': a second row"),
        ("m\tS\t\t0.5\n", "row 2, column cluster: '': expected the true cluster"),
        (
            "m\tS\t1\t0.5\nm\tR\t2\t0.5\n",
            "row 3, column cluster: '2': an earlier row has this mutation in cluster 1",
        ),
        ("m\tS\t1\t7\n", r"row 2, column ccf: '7': out of range; expected a prevalence from 0 to 1"),
    ):
        path = tmp_path / "truth.tsv"
        path.write_text(header + rows)
        with pytest.raises(InputError, match=message):
            read_truth(path)
    for read, expected in (
        (read_truth, "the truth: a table with the columns mutation_id and cluster"),
        (read_found, r"a table like the mutations\.tsv of a result"),
    ):
        with pytest.raises(InputError, match=f"this is a directory; expected is {expected}$"):
            read(tmp_path)
    broken = tmp_path / "truth.tsv.gz"
    broken.write_bytes(gzip.compress((header * 100).encode())[:-12])
    with pytest.raises(InputError, match="the gzip compression breaks off"):
        read_truth(broken)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("m\tS\t\t0.5\n", "row 2, column cluster_id: '': expected a cluster"),
        ("m\tS\t0\t0.5\nm\tS\t0\t0.5\n", "row 3, column mutation_id: 'm': a second row"),
        (
            "m\tS\t0\t0.5\nm\tR\t7\t0.5\n",
            "row 3, column cluster_id: '7': an earlier row has this mutation in",
        ),
    ],
)
def test_a_result_that_cannot_be_is_refused(rows: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mutations.tsv"
    path.write_text("mutation_id\tsample_id\tcluster_id\tcellular_prevalence\n" + rows)
    with pytest.raises(InputError, match=message):
        read_found(path)
