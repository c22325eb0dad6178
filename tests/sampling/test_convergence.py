"""The rule for stopping where the answer is known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from pyclone_pgsm.sampling import convergence
from pyclone_pgsm.sampling.chain import Records
from pyclone_pgsm.sampling.convergence import (
    COCLUSTERING_LIMIT,
    ChainDraws,
    Monitor,
    Rule,
    checks,
    coclustering_sd,
    find_end,
    judge,
    next_check,
    pairs_of,
    summaries_of,
)

NO_PAIRS = np.zeros((0, 0), bool)


def draws(
    values: NDArray[np.float64], *, together: NDArray[np.bool_] | None = None, **more: object
) -> ChainDraws:
    """Of one chain, one quantity."""
    n = len(values)
    others = {name: np.asarray(series) for name, series in more.items()}
    return ChainDraws(
        np.arange(1, n + 1),
        {"log_joint": values, **others},
        np.zeros((n, 0), np.float32),
        np.zeros((n, 0), bool) if together is None else together,
    )


def independent(chains: int, n: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(chains, n))


def test_when_the_rule_is_checked() -> None:
    few = [250, 312, 375, 437, 500, 625, 750, 875, 1000, 1250, 1500]
    assert list(itertools.islice(checks(100), 11)) == few
    assert list(itertools.islice(checks(10_000), 9)) == [100, 125, 150, 175, 200, 250, 300, 350, 400]
    assert [next_check(n, 100) for n in (0, 250, 251, 4001)] == [250, 250, 312, 5000]


def test_independent_draws_converge_with_the_shortest_burn_in() -> None:
    chains = [draws(row) for row in independent(4, 500)]
    assert find_end(chains, Rule(), 500, 0) == (500, 50, True)
    assert find_end(chains, Rule(), 500, 100) == (500, 100, True)  # not before proposals are fixed
    assert find_end(chains, Rule(), 500, 400) == (500, 400, True)  # more than half, if chains adapt so long
    assert find_end(chains, Rule(), 500, 500) == (500, 250, True)  # stopped before proposals were fixed
    assert find_end(chains, Rule(), 100, 0) == (100, 50, False)  # too few: 200 draws in all
    verdict = judge(chains, Rule(), 500, 50)
    assert verdict.converged
    assert verdict.quantities[0].bulk_ess > 1000
    assert not judge(chains, Rule(), 60, 50).converged


def test_a_chain_without_draws_after_the_burn_in_has_not_converged() -> None:
    first, second = independent(2, 600)
    for chains in ([draws(first[:290]), draws(second[:310])], [draws(first[:290])]):
        verdict = judge(chains, Rule(), 600, 300)
        assert not verdict.quantities
        assert not verdict.failures
        assert not verdict.converged


def test_a_drift_at_the_beginning_is_burn_in() -> None:
    values = independent(4, 1000)
    values[:, :200] += 20.0
    assert find_end([draws(row) for row in values], Rule(), 1000, 0) == (1000, 250, True)
    values[:, :600] += 20.0
    end = find_end([draws(row) for row in values], Rule(), 1000, 0)
    assert end == (1000, 500, False)


def test_a_chain_elsewhere_has_not_converged() -> None:
    values = independent(4, 2000)
    values[2] += 1.0
    chains = [draws(row) for row in values]
    assert not find_end(chains, Rule(), 2000, 0).converged
    verdict = judge(chains, Rule(), 2000, 500)
    assert [quantity.name for quantity in verdict.failures] == ["log_joint"]
    assert verdict.quantities[0].rhat > 1.01


def test_what_is_reported_or_makes_no_difference_is_not_asked() -> None:
    values = independent(4, 1000)
    apart = np.arange(4.0)[:, None] + values

    def chains(**more: NDArray[np.float64]) -> list[ChainDraws]:
        return [draws(values[k], **{name: series[k] for name, series in more.items()}) for k in range(4)]

    assert not find_end(chains(other=apart), Rule(), 1000, 0).converged
    assert find_end(chains(other=apart), Rule(frozenset(["other"])), 1000, 0).converged
    large = np.exp(apart) + 1e5
    large[0, ::3] = np.inf
    of_sample = {"precision:S1": large}
    rule = Rule(beyond={"precision": 1e5})
    assert find_end(chains(**of_sample), rule, 1000, 0).converged
    assert not find_end(chains(**of_sample), Rule(beyond={"precision": 1e6}), 1000, 0).converged
    quantities = {
        quantity.name: quantity for quantity in judge(chains(**of_sample), rule, 1000, 0).quantities
    }
    assert not quantities["precision:S1"].is_required
    assert quantities["precision:S1"].rhat > 1.01


def test_a_hyperparameter_that_there_is_not() -> None:
    values = independent(4, 1000)
    chains = [draws(row, concentration=np.full(1000, np.nan)) for row in values]
    assert find_end(chains, Rule(), 1000, 0).converged
    assert len(judge(chains, Rule(), 1000, 0).quantities) == 1


def test_agreement_on_the_partition() -> None:
    """Standard deviation between chains, over the pairs that are not always or never together."""
    n, values = 1000, independent(3, 1000)
    always, never = np.ones(n, bool), np.zeros(n, bool)
    shares = (0.50, 0.52, 0.57)
    chains = [
        draws(values[k], together=np.column_stack([always, never, np.arange(n) < share * n, never]))
        for k, share in enumerate(shares)
    ]
    chains[0].together[:100, 3] = True
    expected = (np.std(shares, ddof=1) + np.std([0.1, 0.0, 0.0], ddof=1)) / 2
    assert coclustering_sd(chains) == pytest.approx(expected)
    verdict = judge(chains, Rule(), n, 0)
    assert not verdict.failures
    assert verdict.coclustering_sd > COCLUSTERING_LIMIT
    assert not verdict.converged
    assert not find_end(chains, Rule(), n, 0).converged
    same = [chain._replace(together=np.column_stack([always, never])) for chain in chains]
    assert coclustering_sd(same) == 0.0
    assert find_end(same, Rule(), n, 0).converged
    assert math.isnan(coclustering_sd(same[:1]))
    assert judge(same[:1], Rule(), n, 0).converged


def test_the_worst_of_the_watched_counts() -> None:
    values = independent(4, 1000)
    watched = np.random.default_rng(1).normal(size=(4, 1000, 5)).astype(np.float32)
    chains = [draws(values[k])._replace(watched=watched[k]) for k in range(4)]
    assert find_end(chains, Rule(), 1000, 0).converged
    watched[1, :, 3] += 2.0
    assert not find_end(chains, Rule(), 1000, 0).converged
    worst = judge(chains, Rule(), 1000, 0).quantities[-1]
    assert worst.name == "watched"
    assert worst.rhat > 1.2
    assert [quantity.name for quantity in judge(chains, Rule(), 1000, 0).failures] == ["watched"]


def test_many_draws_are_thinned_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convergence, "MOST_DRAWS", 400)
    chains = [draws(row) for row in independent(4, 1000)]
    kept = convergence._thinned(convergence._kept(chains, 200, 1000))
    assert [len(chain.iteration) for chain in kept] == [100] * 4
    assert kept[0].iteration[[0, 1, -1]].tolist() == [208, 216, 1000]


def test_agreement_on_the_partition_is_of_all_draws() -> None:
    """Of a thousand independent draws a pair that is together half of the time differs by 0.016 between chains."""
    n, values = 10_000, independent(4, 10_000)
    together = np.random.default_rng(2).random((4, n, 200)) < 0.5
    chains = [draws(values[k], together=together[k]) for k in range(4)]
    assert find_end(chains, Rule(), n, 0).converged
    assert judge(chains, Rule(), n, 1000).coclustering_sd == pytest.approx(0.5 / math.sqrt(9000), rel=0.1)
    assert not find_end(chains, Rule(), 1250, 0).converged


def test_pairs_and_summaries() -> None:
    assert pairs_of(3).tolist() == [[0, 1], [0, 2], [1, 2]]
    many = pairs_of(500)
    assert many.shape == (1000, 2)
    assert (many[:, 0] != many[:, 1]).all()
    assert 0 <= many.min() <= many.max() < 500
    assert np.array_equal(many, pairs_of(500))
    entropy, largest = summaries_of(np.array([0, 0, 0, 1]))
    assert entropy == pytest.approx(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))
    assert largest == 0.75


def records(first: int, last: int) -> Records:
    rng = np.random.default_rng(5)
    labels = [rng.integers(3, size=6).astype(np.int32) for _ in range(last)][first:]
    return Records(
        list(range(first + 1, last + 1)),
        labels,
        [3] * len(labels),
        [float(k) for k in range(first, last)],
        [0.0] * len(labels),
        [(1.0 + k,) for k in range(first, last)],
        [(2.0,)] * len(labels),
        watched=[np.full(2, k, np.float32) for k in range(first, last)],
    )


def test_segments_are_joined() -> None:
    rule = Rule()
    whole, parts = (Monitor(6, 1, ("concentration", "r"), rule) for _ in range(2))
    whole.add(0, records(0, 20))
    for first, last in ((0, 7), (7, 12), (12, 12), (12, 20)):
        parts.add(0, records(first, last))
    (one,), (other,) = whole.draws(), parts.draws()
    assert one.iteration.tolist() == list(range(1, 21))
    for mine, its in zip(one, other):
        if isinstance(mine, dict):
            assert isinstance(its, dict)
            assert list(mine) == [
                "log_joint",
                "num_clusters",
                "entropy",
                "largest_share",
                "concentration",
                "r",
            ]
            assert all(np.array_equal(mine[name], its[name]) for name in mine)
        else:
            assert np.array_equal(mine, its)
    assert one.together.shape == (20, 15)
