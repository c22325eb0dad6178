"""The tables of how fast chains mix, and of what the model prefers."""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from small_runs import matrix

from pyclone_pgsm import Settings, analyze, cluster
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.writing import write_simulation

FOLDER = Path(__file__).parents[2] / "workflows" / "benchmark"


@pytest.fixture
def mixing(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("mixing")


def test_table(mixing: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(iterations=60, burn_in=20, chains=2)
    for name in ("one", "other"):
        cluster(matrix("normal").values, settings=settings, out=tmp_path / "all" / name)
    out = tmp_path / "table.tsv"
    assert mixing.main([str(tmp_path / "all"), "-o", str(out)]) == 0
    assert "median" in capsys.readouterr().out
    table = pd.read_csv(out, sep="\t", index_col="name")
    assert list(table.index) == ["one", "other"]
    assert (table["observations"] == 24).all()
    assert (table["columns"] == 2).all()
    assert (table["iterations"] == 60).all()
    assert (table["log_joint_ess_per_second"] > 0).all()
    assert table["precision_ess_per_second"].isna().all()


def test_chains_that_stay_at_different_values(mixing: ModuleType, tmp_path: Path) -> None:
    """Their R-hat is infinite, which ``run.json`` gives as the reason for null."""
    folder = tmp_path / "apart"
    cluster(matrix("normal").values, settings=Settings(iterations=60, burn_in=20, chains=2), out=folder)
    run = json.loads((folder / "run.json").read_text())
    run["convergence"]["quantities"]["num_clusters"] |= {"rhat": None, "null_because": {"rhat": "infinite"}}
    (folder / "run.json").write_text(json.dumps(run))
    assert mixing.mixing_of(folder / "run.json")["largest_rhat"] == math.inf


def test_no_results(mixing: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mixing.main([str(tmp_path)]) == 2
    assert "no run.json" in capsys.readouterr().err


@pytest.fixture
def preferred(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("preferred")


def test_draws_of_clear_clusters_are_no_worse_than_the_truth(
    preferred: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = SimulationOptions(mutations=40, samples=3, clusters=2, cluster_sizes="equal", depth=1000)
    write_simulation(tmp_path / "data", options, 5, name="tumour")
    settings = Settings(iterations=200, burn_in=100, chains=1)
    analyze(tmp_path / "data" / "tumour.tsv", settings=settings, out=tmp_path / "out" / "tumour")
    table = tmp_path / "table.tsv"
    assert preferred.main([str(tmp_path / "out"), str(tmp_path / "data"), "-o", str(table)]) == 0
    assert "the truth lies above all draws in 0: -" in capsys.readouterr().out
    row = pd.read_csv(table, sep="\t", index_col="name").loc["tumour"]
    assert row["adjusted_rand_of_draws"] > 0.9
    assert row["log_joint_of_truth"] <= row["highest_of_draws"]
    assert row["clusters_true"] == 2
    assert preferred.main([str(tmp_path / "data"), str(tmp_path / "data")]) == 2
