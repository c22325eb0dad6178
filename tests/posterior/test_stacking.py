"""Chains that stay apart are weighted by what they predict; chains that mix are left alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import small_runs

from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.cli.messages import summary_lines
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.posterior import stacking
from pyclone_pgsm.posterior import summarize as summarizing
from pyclone_pgsm.posterior.rows import draw_rows, gather, kept_rows, weighted_rows
from pyclone_pgsm.posterior.stacking import REGULAR, stacking_weights, weigh_chains
from pyclone_pgsm.posterior.summarize import Findings, summarize
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.trace import Trace

RNG = np.random.default_rng(8)


def test_chains_that_predict_alike_have_equal_weights():
    log_p = RNG.normal(size=60)
    np.testing.assert_allclose(stacking_weights(np.tile(log_p, (4, 1))), 0.25)
    errors = RNG.normal(scale=0.02, size=(4, 60))
    assert stacking_weights(log_p + errors).min() > 0.1


def test_a_chain_that_predicts_worse_is_not_used():
    log_p = RNG.normal(size=60)
    merged = np.where(
        np.arange(60) < 20, log_p - 3.0, log_p
    )  # two clusters in one: their 20 mutations suffer
    np.testing.assert_allclose(stacking_weights(np.array([log_p, merged])), [1.0, 0.0])
    weights = stacking_weights(np.array([merged, log_p, log_p, merged - 1.0]))
    np.testing.assert_allclose(weights, [0.0, 0.5, 0.5, 0.0], atol=1e-4)
    np.testing.assert_array_equal(stacking_weights(np.array([log_p - 800.0, log_p])), [0.0, 1.0])


def test_two_symmetric_modes_have_equal_weights():
    log_p = RNG.normal(size=60)
    half = np.where(np.arange(60) < 30, 2.0, 0.0)
    np.testing.assert_allclose(stacking_weights(np.array([log_p + half, log_p + half[::-1]])), 0.5)


def test_weights_are_where_the_gradient_vanishes():
    for K, T, scale in ((3, 40, 1.5), (16, 3000, 0.02)):  # the latter are nearly the same
        log_p = RNG.normal(scale=scale, size=(K, T))
        weights = stacking_weights(log_p)
        assert (weights > 0).all()
        mixture = weights @ np.exp(log_p)
        gradient = (np.exp(log_p) / mixture).sum(axis=1) + REGULAR / weights
        np.testing.assert_allclose(gradient, T + K * REGULAR, rtol=1e-6)


def test_rows_go_by_weights():
    rows = [np.arange(100), np.arange(50, 150), np.arange(10)]

    def lengths(weights):
        return [len(chosen) for chosen in weighted_rows(rows, np.array(weights))]

    kept = weighted_rows(rows, np.array([100, 100, 10]) / 210)
    assert all(np.array_equal(chosen, all_) for chosen, all_ in zip(kept, rows))
    assert lengths([0.75, 0.25, 0.0]) == [100, 33, 0]
    assert lengths([0.4, 0.4, 0.2]) == [20, 20, 10]
    assert lengths([0.0, 0.999, 0.001]) == [0, 100, 1]
    assert weighted_rows(rows, np.array([0.5, 0.25, 0.25]))[0][[0, -1]].tolist() == [0, 99]


def stick(path: Path, chain: int, likelihood_of_one: float) -> None:
    """Let a chain be stuck with everything in one cluster."""
    with small_runs.edited(path) as file:
        found = file[f"chains/{chain}"]
        found["labels"][...] = 0
        found["num_clusters"][...] = 1
        found["log_joint"][...] = likelihood_of_one


@pytest.fixture(scope="module")
def mixed(tmp_path_factory) -> Path:
    """Four chains that agree."""
    folder = tmp_path_factory.mktemp("stacking")
    chains = {"sampler": "gibbs", "iterations": 600, "burn_in": 100, "chains": 4, "seed": 2}
    return small_runs.run_matrix(folder / "t.h5", prior=DirichletProcess(rate=0.1), **chains)


@pytest.fixture
def apart(mixed, tmp_path) -> Path:
    """The same but for chains 1 and 3."""
    path = tmp_path / "t.h5"
    path.write_bytes(mixed.read_bytes())
    stick(path, 1, -900.0)
    stick(path, 3, -900.0)
    return path


def result_of(path: Path) -> Findings:
    with Trace(path) as trace:
        return summarize(trace)


def test_chains_that_mix_are_left_alone(mixed, monkeypatch):
    monkeypatch.setattr(stacking, "log_left_out_densities", None)
    result = result_of(mixed)
    assert max(d.rhat for d in result.diagnostics if d.name in stacking.APART) < stacking.RHAT_APART
    assert result.chain_weights.tolist() == [0.25] * 4
    assert result.warnings == []


def test_stuck_chains_are_not_used(mixed, apart, tmp_path):
    expected = result_of(mixed).summary
    result = result_of(apart)
    np.testing.assert_allclose(result.chain_weights, [0.5, 0.0, 0.5, 0.0], atol=0.3)
    assert (result.chain_weights[[1, 3]] == 0.0).all()
    np.testing.assert_array_equal(result.summary.labels, expected.labels)
    np.testing.assert_allclose(result.summary.assignment_prob, expected.assignment_prob, atol=0.1)
    assert result.diagnostics[0].rhat > 1.1  # of all chains
    said = result.warnings[-1]
    assert said.startswith("the chains stay apart (R-hat of ")
    assert ": they are weighted by how well they predict each row from the others: chain 0 0." in said
    assert said.endswith(", chains 1 and 3 not used")
    assert f"warning: {said}" in summary_lines(result)
    analysis.write_results(apart, tmp_path / "out", formats=())
    report = json.loads((tmp_path / "out" / "run.json").read_text())
    assert report["chain_weights"] == pytest.approx(result.chain_weights.tolist(), rel=1e-5)
    assert said in report["warnings"]
    with Trace(apart) as trace:
        np.testing.assert_array_equal(summarize(trace).chain_weights, result.chain_weights)
        assert [len(rows) > 0 for rows in draw_rows(trace, None, 40, result.chain_weights)] == [1, 0, 1, 0]
        labels = summarize(trace, "map").summary.labels
    assert labels.max() > 0
    assert abs(result.diagnostics[0].mean - result_of(mixed).diagnostics[0].mean) < 5.0


def test_the_most_probable_draw_is_of_a_chain_that_is_used(apart):
    stick(apart, 1, 9000.0)
    with Trace(apart) as trace:
        assert summarize(trace, "map").summary.labels.max() > 0


def test_too_few_draws_or_chains_are_left_alone(apart):
    with Trace(apart) as trace:
        rhat = {"log_joint": np.inf, "num_clusters": np.nan}
        few = [np.arange(180, 199)] + [np.arange(100, 200)] * 3
        weights, said = weigh_chains(trace, few, rhat, "observation")
        np.testing.assert_allclose(weights, np.array([19, 100, 100, 100]) / 319)
        assert said is None
        assert weigh_chains(trace, [np.arange(100, 200)], rhat, "observation")[0].tolist() == [1.0]


def test_stuck_chain_of_a_tumour(tmp_path, monkeypatch):
    """With outliers and an inferred precision. The answer is that of the other chains as they were."""
    model = analysis.ModelOptions(outlier_prob=0.05)
    path = small_runs.run(
        tmp_path / "t.h5", model=model, sampler="gibbs", iterations=160, burn_in=80, chains=3
    )
    whole = Path(shutil.copy(path, tmp_path / "whole.h5"))
    stick(path, 0, -9000.0)
    with small_runs.edited(path) as file:
        file["chains/0/outliers"][...] = False
    result = result_of(path)
    assert result.chain_weights[0] == 0.0
    (said,) = [warning for warning in result.warnings if warning.endswith(", chain 0 not used")]
    assert "each mutation from the others" in said
    monkeypatch.setattr(summarizing, "weigh_chains", lambda *_: (result.chain_weights, None))
    np.testing.assert_array_equal(result.summary.labels, result_of(whole).summary.labels)


def by_criterion(partitions):
    def consensus(draws, criterion, **_):
        return canonical(np.resize(partitions[criterion], draws.shape[1]))

    return consensus


@pytest.mark.parametrize("criterion", ["mpear", "vi"])
def test_criteria_that_disagree_are_told(criterion, mixed, monkeypatch):
    partitions = {"mpear": [0, 1, 2, 3, 4, 5, 6], "vi": [0, 0, 0, 0, 1, 1, 1], "binder": [0, 1]}
    where = "pyclone_pgsm.posterior.summarize.consensus"
    monkeypatch.setattr(where, by_criterion(partitions))
    with Trace(mixed) as trace:
        (said,) = [line for line in summarize(trace, criterion).warnings if "consensus" in line]
        assert said.startswith(
            "the consensus depends on its criterion: 7 clusters by mpear, 2 by vi (adjusted Rand index between the "
            "two 0."
        )
        numbers = gather(trace, kept_rows(trace), "num_clusters")
        low, high = np.quantile(numbers, (0.025, 0.975), method="inverted_cdf")
        assert f"), where 95 % of the draws have {low:.0f} to {high:.0f}: compare both" in said
        assert summarize(trace, "binder" if criterion == "vi" else "map").warnings == []
        monkeypatch.setattr(where, by_criterion({"mpear": partitions["vi"], "vi": partitions["vi"]}))
        assert summarize(trace, criterion).warnings == []
