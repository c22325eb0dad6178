"""Every likelihood with every prior and every sampler: chains run, can be read, and go on to the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from small_runs import bits, matrix, run, run_matrix, tumour

from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.likelihoods.registry import BUILT_IN
from pyclone_pgsm.priors import CustomPrior, DirichletProcess, FiniteDirichlet, PitmanYor, Prior
from pyclone_pgsm.sampling.settings import SAMPLERS
from pyclone_pgsm.trace import Trace, merge_traces

PRIORS: dict[str, Prior] = {
    "dp": DirichletProcess(),
    "pitman-yor": PitmanYor(),
    "finite": FiniteDirichlet(5),
    "custom": CustomPrior(lambda j: -0.3 * j**2, lambda n: 0.5 * np.log(n)),
}


def run_any(path: Path, likelihood: str, **options: Any) -> Path:
    if likelihood == "pyclone":
        return run(path, observations=tumour(12), **options)
    return run_matrix(path, likelihood, data=matrix(likelihood, 12), **options)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("likelihood", BUILT_IN)
def test_a_chain_goes_on_to_the_same_bits(likelihood, prior, sampler, tmp_path):
    same = {"sampler": sampler, "prior": PRIORS[prior], "burn_in": 5, "threads": 1}
    if "pgsm" in SAMPLERS[sampler]:
        same["particles"] = 5
    whole = run_any(tmp_path / "whole.h5", likelihood, iterations=27, **same)
    path = run_any(tmp_path / "parts.h5", likelihood, iterations=14, **same)
    assert analysis.resume(path, 27, threads=1) == 27
    assert bits(path) == bits(whole)
    with Trace(path) as trace:
        trace.check()
        visited: set[bytes] = set()
        for k, chain in enumerate(trace.chains):
            labels = trace.labels(k, np.arange(27))
            np.testing.assert_array_equal(chain.num_clusters, labels.max(axis=1) + 1)
            visited |= {row.tobytes() for row in labels}
            assert np.isfinite(chain.log_joint).all()
            assert np.isnan(chain.concentration).all() == (prior == "custom")
            assert len(np.unique(chain.concentration)) == (1 if prior == "custom" else 27)
            assert ("discount" in chain.hyperparameters) == (prior == "pitman-yor")
            if prior == "pitman-yor":
                assert len(np.unique(chain.hyperparameters["discount"])) == 27
            if prior == "finite":
                assert chain.num_clusters.max() <= 5


@pytest.mark.parametrize("likelihood", BUILT_IN)
@pytest.mark.parametrize(
    "settings", [{"anchors": 3}, {"anchors": 4, "sampler": "pgsm"}, {"anchor_proposal": "threshold"}]
)
def test_other_anchors(likelihood, settings, tmp_path):
    same = {"burn_in": 5, "threads": 1, "particles": 5, **settings}
    whole = run_any(tmp_path / "whole.h5", likelihood, iterations=27, **same)
    path = run_any(tmp_path / "parts.h5", likelihood, iterations=14, **same)
    analysis.resume(path, 27, threads=1)
    assert bits(path) == bits(whole)


@pytest.mark.parametrize("resampling", ["stratified", "systematic", "optimal", "both-kinds"])
def test_other_resampling(resampling, tmp_path):
    same = {"resampling": resampling, "resample_threshold": 0.9, "iterations": 27, "burn_in": 5}
    path = run_any(tmp_path / "t.h5", "normal", **same)
    other = run_any(tmp_path / "other.h5", "normal", **{**same, "resampling": "multinomial"})
    assert bits(path) != bits(other)


@pytest.mark.parametrize("likelihood", ["normal", "bernoulli"])
def test_trace_of_a_matrix(likelihood, tmp_path):
    path, data = run_matrix(tmp_path / "t.h5", likelihood), matrix(likelihood)
    with h5py.File(path, "r") as file:
        assert list(file["data/row_names"].asstr()) == data.row_names
        assert list(file["data/column_names"].asstr()) == data.column_names
        np.testing.assert_array_equal(file["data/values"], data.values)
        assert "discount" not in file["chains/0"]
        assert "precision" not in file["chains/0"]
    with Trace(path) as trace:
        assert trace.options.model.to_dict() == {"likelihood": likelihood, "parameters": {}}
        assert trace.matrix.column_names == data.column_names
        assert not trace.data.left_out
        with pytest.raises(Exception, match=rf"t\.h5: a trace of {likelihood}, not of a tumour"):
            _ = trace.observations


def test_merge_of_matrices(tmp_path):
    one, two = (run_matrix(tmp_path / f"{seed}.h5", parameters={"r0": 1.0}, seed=seed) for seed in (1, 2))
    assert merge_traces([one, two], tmp_path / "all.h5") == 4
    result = analysis.write_results(tmp_path / "all.h5", tmp_path / "out", formats=())
    assert result.summary.num_clusters == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": matrix("normal", 23)}, "its data differ from those of"),
        ({"likelihood": "bernoulli", "data": matrix("bernoulli")}, "its data differ from those of"),
        ({"parameters": {"r0": 0.5}}, "parameters {'r0': 0.5} differs from {} of"),
        ({"prior": PitmanYor()}, "the prior's name 'pitman-yor' differs from 'dp' of"),
        ({"prior": DirichletProcess(1.0, 2.0)}, "the prior's shape 2.0 differs from 1.0 of"),
        ({"anchor_proposal": "uniform"}, "anchor_proposal 'uniform' differs from 'balanced' of"),
    ],
)
def test_merge_refuses_other_models(change, message, tmp_path):
    first = run_matrix(tmp_path / "first.h5")
    other = run_matrix(tmp_path / "other.h5", **{"seed": 9, **change})
    with pytest.raises(Exception, match=r"other\.h5: ") as caught:
        merge_traces([first, other], tmp_path / "all.h5")
    assert message in str(caught.value)


def test_merge_ignores_where_resampled_values_start(tmp_path):
    first = run_matrix(tmp_path / "1.h5", seed=1, prior=PitmanYor(1.0, 0.2))
    other = run_matrix(tmp_path / "2.h5", seed=2, prior=PitmanYor(3.0, 0.7))
    assert merge_traces([first, other], tmp_path / "all.h5") == 4
    fixed = run_matrix(tmp_path / "3.h5", seed=3, prior=PitmanYor(1.0, 0.2, infer_discount=False))
    with pytest.raises(Exception, match=r"the prior's discount 0\.2 differs from 'resampled' of"):
        merge_traces([first, fixed], tmp_path / "again.h5")
