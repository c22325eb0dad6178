"""Anchor proposals: h(s) by its formula, frozen outside the burn-in, the same after a resume."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from cases import CASES, Case
from enumeration import blocks_of, chi_square_p_value

from pyclone_pgsm.compiling import compiled_for
from pyclone_pgsm.samplers.anchors import AnchorProposal, ClusterInformedAnchors, UniformAnchors
from pyclone_pgsm.samplers.partition import build_partition

T = 6


def adapted(
    case: Case, labels: list[int], proposal: ClusterInformedAnchors | None = None
) -> ClusterInformedAnchors:
    proposal = proposal or ClusterInformedAnchors(len(labels))
    build = compiled_for(build_partition, type(case.likelihood))
    proposal.adapt(case.likelihood, build(case.likelihood, np.array(labels, np.int32)))
    return proposal


def frequencies(proposal: AnchorProposal, size: int) -> np.ndarray:
    """(T, T) how often each ordered pair is drawn."""
    rng = np.random.default_rng(1)
    first, second = np.array([proposal.draw(rng) for _ in range(size)]).T
    return np.bincount(first * T + second, minlength=T * T).reshape(T, T)


def uniform_pairs() -> np.ndarray:
    return (1 - np.eye(T)) / (T * (T - 1))


def cluster_informed_pairs(case: Case, labels: list[int]) -> np.ndarray:
    """Appendix C: i1 uniform; i2 from block b with probability proportional to s_b = L(b1 ∪ b)/(L(b1) L(b)), the own
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
    adapted(case, [0, 1, 1, 1, 2, 2], proposal)
    assert proposal.scores is scores
    adapted(case, [0, 1, 1, 3, 2, 2], proposal)
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
