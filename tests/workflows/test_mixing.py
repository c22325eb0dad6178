"""The table of how fast chains mix."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from small_runs import matrix

from pyclone_pgsm import Settings, cluster

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


def test_no_results(mixing: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert mixing.main([str(tmp_path)]) == 2
    assert "no run.json" in capsys.readouterr().err
