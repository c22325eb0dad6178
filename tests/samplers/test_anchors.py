"""Anchor proposals: h(s) by its formula, frozen outside the burn-in, the same after a resume."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from cases import CASES, Case
from enumeration import blocks_of, chi_square_p_value

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.partition import build_partition
from pyclone_pgsm.samplers.anchors import (
    AnchorProposal,
    BalancedAnchors,
    ClusterInformedAnchors,
    ThresholdInformedAnchors,
    UniformAnchors,
)

T = 6


Informed = ClusterInformedAnchors | ThresholdInformedAnchors


def adapt(case: Case, labels: list[int], proposal: Informed) -> None:
    build = compiled_for(build_partition, type(case.likelihood))
    proposal.adapt(case.likelihood, build(case.likelihood, np.array(labels, np.int32)))


def adapted(case: Case, labels: list[int]) -> ClusterInformedAnchors:
    proposal = ClusterInformedAnchors(len(labels))
    adapt(case, labels, proposal)
    return proposal


def threshold_informed(case: Case, labels: list[int]) -> ThresholdInformedAnchors:
    proposal = ThresholdInformedAnchors(len(labels))
    adapt(case, labels, proposal)
    return proposal


def frequencies(proposal: AnchorProposal, size: int) -> np.ndarray:
    """(T, T) how often each ordered pair is drawn."""
    rng = np.random.default_rng(1)
    first, second = np.array([proposal.draw(rng) for _ in range(size)]).T
    return np.bincount(first * T + second, minlength=T * T).reshape(T, T)


def uniform_pairs() -> np.ndarray:
    return (1 - np.eye(T)) / (T * (T - 1))


def cluster_informed_pairs(case: Case, labels: list[int]) -> np.ndarray:
    """Appendix F: i1 uniform; i2 from block b with probability proportional to s_b = L(b1 ∪ b)/(L(b1) L(b)), the own
    block's being the mean of the others'; uniform in the block; both uniform if the block holds nothing but i1."""
    blocks = blocks_of(labels)
    h = np.zeros((T, T))
    for i in range(T):
        own = blocks[labels[i]]
        log_s = {
            b: case.log_marginal([*own, *block]) - case.log_marginal(own) - case.log_marginal(block)
            for b, block in enumerate(blocks)
            if block is not own
        }
        p = dict(zip(log_s, softmax(list(log_s.values())) * (len(blocks) - 1) / len(blocks)))
        p[labels[i]] = 1 / len(blocks)
        for b, block in enumerate(blocks):
            others = [j for j in block if j != i]
            if others:
                h[i, others] += p[b] / T / len(others)
            else:
                h += p[b] / T * uniform_pairs()
    return h


def threshold_informed_pairs(case: Case, labels: list[int]) -> np.ndarray:
    """Appendix F: i1 uniform; i2 from any of the blocks b that have 0.01 of the attachment probability |b| L(y_i1 | b),
    without i1, all alike; uniform in the block; both uniform if there is none."""
    blocks = blocks_of(labels)
    h = np.zeros((T, T))
    for i in range(T):
        without = [others for others in ([j for j in block if j != i] for block in blocks) if others]
        log_s = [
            np.log(len(block)) + case.log_marginal([*block, i]) - case.log_marginal(block)
            for block in without
        ]
        likely = [block for block, p in zip(without, softmax(log_s)) if p >= 0.01]
        for block in likely:
            h[i, block] += 1 / T / len(likely) / len(block)
    return h


@pytest.mark.parametrize("count", [2, 3, 6])
def test_any_number_of_uniform_anchors(count: int) -> None:
    rng = np.random.default_rng(1)
    drawn = np.array([UniformAnchors(T).draw(rng, count) for _ in range(20_000)])
    assert all(len(set(row)) == count for row in drawn.tolist())
    if count == 3:
        codes, frequency = np.unique(drawn @ [36, 6, 1], return_counts=True)
        assert len(codes) == 6 * 5 * 4
        assert chi_square_p_value(frequency, np.full(120, 1 / 120)) > 1e-4


def test_uniform_anchors() -> None:
    counts = frequencies(UniformAnchors(T), 30_000)
    assert chi_square_p_value(counts.ravel(), uniform_pairs().ravel()) > 1e-4


@pytest.mark.parametrize("name", ["counts", "one_sample"])
@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 2, 3], [0, 1, 1, 1, 0, 1]])
def test_cluster_informed_anchors(name: str, labels: list[int]) -> None:
    case = CASES[name]()
    counts = frequencies(adapted(case, labels), 30_000)
    assert chi_square_p_value(counts.ravel(), cluster_informed_pairs(case, labels).ravel()) > 1e-4


@pytest.mark.parametrize("labels", [[0] * T, list(range(T))])
def test_one_block_or_only_lone_observations(labels: list[int]) -> None:
    case = CASES["counts"]()
    proposal = adapted(case, labels)
    assert proposal.record == len(set(labels))
    expected = uniform_pairs() if len(set(labels)) == 1 else cluster_informed_pairs(case, labels)
    assert chi_square_p_value(frequencies(proposal, 30_000).ravel(), expected.ravel()) > 1e-4


@pytest.mark.filterwarnings("error")
def test_blocks_that_lie_far_apart() -> None:
    """Scores of thousands of nats below zero."""
    case = CASES["underflow"]()
    proposal = adapted(case, [0, 0, 0, 1, 1, 2])
    assert proposal.scores.min() < -1000
    drawn = frequencies(proposal, 3000)
    assert drawn.sum() == 3000
    assert not drawn.diagonal().any()


def test_before_the_first_reference_anchors_are_uniform() -> None:
    counts = frequencies(ClusterInformedAnchors(T), 30_000)
    assert chi_square_p_value(counts.ravel(), uniform_pairs().ravel()) > 1e-4


def test_only_a_record_number_of_blocks_renews_the_reference() -> None:
    case = CASES["counts"]()
    proposal = adapted(case, [0, 0, 1, 1, 2, 2])
    scores = proposal.scores
    adapt(case, [0, 1, 1, 1, 2, 2], proposal)
    assert proposal.scores is scores
    adapt(case, [0, 1, 1, 3, 2, 2], proposal)
    assert proposal.record == 4


def test_a_restored_proposal_draws_the_same() -> None:
    case = CASES["counts"]()
    for labels in ([0, 0, 1, 1, 2, 2], [0] * T):
        proposal = adapted(case, labels)
        restored = ClusterInformedAnchors(T)
        restored.restore(proposal.state())
        assert restored.record == proposal.record
        np.testing.assert_array_equal(frequencies(restored, 500), frequencies(proposal, 500))
    fresh = ClusterInformedAnchors(T)
    fresh.restore(ClusterInformedAnchors(T).state())
    assert fresh.record == 0


@pytest.mark.parametrize("name", ["counts", "one_sample"])
@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 2, 3], [0] * T, list(range(T))])
def test_threshold_informed_anchors(name: str, labels: list[int]) -> None:
    case = CASES[name]()
    proposal = threshold_informed(case, labels)
    assert proposal.record == len(set(labels))
    counts = frequencies(proposal, 30_000)
    assert chi_square_p_value(counts.ravel(), threshold_informed_pairs(case, labels).ravel()) > 1e-4


def test_some_blocks_are_unlikely() -> None:
    """Or else the test above would say nothing about the threshold."""
    pairs = threshold_informed_pairs(CASES["counts"](), [0, 1, 0, 1, 2, 3])
    assert (pairs == 0).sum() > T


@pytest.mark.filterwarnings("error")
def test_threshold_informed_anchors_where_blocks_lie_far_apart() -> None:
    proposal = threshold_informed(CASES["underflow"](), [0, 0, 0, 1, 1, 2])
    assert np.diff(proposal.start).min() >= 1  # the outlier has a nearest block as well
    drawn = frequencies(proposal, 3000)
    assert not drawn.diagonal().any()
    assert not drawn[:5, 5].any()


def test_threshold_informed_anchors_are_uniform_before_the_first_reference() -> None:
    counts = frequencies(ThresholdInformedAnchors(T), 30_000)
    assert chi_square_p_value(counts.ravel(), uniform_pairs().ravel()) > 1e-4


def test_restored_threshold_informed_anchors_draw_the_same() -> None:
    case = CASES["counts"]()
    for labels in ([0, 0, 1, 1, 2, 2], list(range(T))):
        proposal = threshold_informed(case, labels)
        restored = ThresholdInformedAnchors(T)
        restored.restore(proposal.state())
        assert restored.record == proposal.record
        np.testing.assert_array_equal(frequencies(restored, 500), frequencies(proposal, 500))
        adapt(case, [0, 0, 0, 1, 1, 1], restored)  # no record
        np.testing.assert_array_equal(restored.blocks, proposal.blocks)
    fresh = ThresholdInformedAnchors(T)
    fresh.restore(ThresholdInformedAnchors(T).state())
    assert fresh.record == 0


def test_balanced_anchors_start_half_of_the_moves_in_a_block() -> None:
    rng = np.random.default_rng(3)
    proposal = BalancedAnchors(60)
    labels = np.repeat(np.arange(6, dtype=np.int32), 10)
    partition: Any = SimpleNamespace(labels=labels)
    proposal.adapt(None, partition)
    pairs = np.array([proposal.draw(rng) for _ in range(20_000)])
    assert (pairs[:, 0] != pairs[:, 1]).all()
    together = (labels[pairs[:, 0]] == labels[pairs[:, 1]]).mean()
    # a partner from the own block is another one in 9 of 10 cases, and uniform pairs are in one block in 9 of 59
    expected = 0.5 * 0.9 + 0.55 * 9 / 59
    assert together == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(len(pairs)))
    assert np.bincount(pairs.ravel(), minlength=60).min() > 500


def test_balanced_anchors_are_restored() -> None:
    proposal, again = BalancedAnchors(6), BalancedAnchors(6)
    partition: Any = SimpleNamespace(labels=np.array([0, 0, 1, 1, 1, 2], np.int32))
    proposal.adapt(None, partition)
    again.restore(proposal.state())
    drawn = [[p.draw(np.random.default_rng(seed)).tolist() for seed in range(50)] for p in (proposal, again)]
    assert drawn[0] == drawn[1]
