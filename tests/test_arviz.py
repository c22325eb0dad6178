"""Draws for ArviZ, and that its diagnostics are ours."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from small_runs import run, run_matrix

import pyclone_pgsm
from pyclone_pgsm.errors import TraceError
from pyclone_pgsm.sampling.diagnostics import diagnostics_of
from pyclone_pgsm.trace import Trace


def autoregressive(chains: int, draws: int, memory: float, shift: float) -> np.ndarray:
    rng = np.random.default_rng(chains * draws)
    x = rng.normal(size=(chains, draws))
    for t in range(1, draws):
        x[:, t] += memory * x[:, t - 1]
    return x + shift * np.arange(chains)[:, None]


@pytest.mark.parametrize("chains", [2, 4])
@pytest.mark.parametrize("draws", [1000, 4001])
@pytest.mark.parametrize(
    ("memory", "shift", "step"),
    [(0.0, 0.0, 0.0), (0.9, 0.0, 0.0), (-0.5, 0.0, 0.0), (0.5, 2.0, 0.0), (0.7, 0.0, 1.0)],
)
def test_diagnostics_are_those_of_arviz(
    chains: int, draws: int, memory: float, shift: float, step: float
) -> None:
    """A step rounds the values: draws of a grid, of which many are equal.

    Effective sample sizes differ by what vanishes with the number of draws n: here autocovariances have the factor
    n / (n - 1) of Vehtari et al. (2021), and ArviZ adds half a pair of lags where it cuts their sum.
    """
    arviz = pytest.importorskip("arviz")
    x = autoregressive(chains, draws, memory, shift)
    if step:
        x = np.round(x / step) * step
    found = diagnostics_of(x)
    assert found.rhat == pytest.approx(float(arviz.rhat(x)), rel=1e-6)
    assert found.bulk_ess == pytest.approx(float(arviz.ess(x, method="bulk")), rel=0.01)
    assert found.tail_ess == pytest.approx(float(arviz.ess(x, method="tail", prob=(0.05, 0.95))), rel=0.01)


def test_rhat_of_precisions_that_may_be_infinite_is_that_of_arviz() -> None:
    """Chains of different spread: the R-hat of distances from the median is the larger."""
    arviz = pytest.importorskip("arviz")
    precision = autoregressive(4, 1000, 0.0, 0.0) * np.array([[1.0], [1.5], [1.0], [0.7]])
    precision[precision > 1.0] = np.inf
    rhat = diagnostics_of(precision).rhat
    assert rhat == pytest.approx(float(arviz.rhat(precision)), rel=1e-6)
    assert rhat > 1.02


def test_draws_are_those_of_the_trace(tmp_path: Path) -> None:
    arviz = pytest.importorskip("arviz")
    path = run(tmp_path / "trace.h5")
    data = pyclone_pgsm.to_arviz(tmp_path)  # an output folder
    is_old = arviz.__version__.startswith("0.")
    assert type(data).__name__ == ("InferenceData" if is_old else "DataTree")
    assert set(arviz.summary(data).index) == set(data.posterior.data_vars)
    with Trace(path) as trace:
        names = {"num_clusters", "concentration", "entropy", "largest_share", *trace.options.hyperparameters}
        assert set(data.posterior.data_vars) == names
        for k, chain in enumerate(trace.chains):
            np.testing.assert_array_equal(data.sample_stats["lp"][k], chain.log_joint[30:])
            np.testing.assert_array_equal(
                data.posterior["precision"][k], chain.hyperparameters["precision"][30:]
            )
            sizes = np.bincount(trace.labels(k, np.array([59]))[0])
            assert float(data.posterior["largest_share"][k, -1]) == sizes.max() / 40
    assert pyclone_pgsm.to_arviz(str(path), 50).posterior.sizes["draw"] == 10
    with pytest.raises(TraceError, match="no iteration after the burn-in of 60"):
        pyclone_pgsm.to_arviz(path, 60)


def test_a_matrix(tmp_path: Path) -> None:
    pytest.importorskip("arviz")
    data = pyclone_pgsm.to_arviz(run_matrix(tmp_path / "t.h5"))
    assert dict(data.posterior.sizes) == {"chain": 2, "draw": 30}


def test_without_arviz(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match="pip install 'pyclone-pgsm\\[arviz\\]'"):
        pyclone_pgsm.to_arviz(tmp_path / "t.h5")
