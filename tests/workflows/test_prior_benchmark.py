"""The benchmark of priors and of coverage, on data too small to say much."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pyclone_pgsm.cli.app import app
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.writing import write_simulation

FOLDER = Path(__file__).parents[2] / "workflows" / "benchmark"


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)


def test_presence(tmp_path: Path) -> None:
    rows = [("a", "S1", 3), ("a", "S2", 0), ("b", "S1", 9), ("b", "S2", 0), ("c", "S1", 1), ("c", "S2", 1)]
    path = tmp_path / "t.tsv"
    pd.DataFrame(rows, columns=["mutation_id", "sample_id", "alt_counts"]).to_csv(path, sep="\t", index=False)
    found = importlib.import_module("priors").by_presence(path)
    assert found["a"] == found["b"] != found["c"]


def run_here(command: list[str], log: Path) -> tuple[int, float, float]:
    """In place of a process for each run (test_benchmark.py starts some)."""
    done = CliRunner().invoke(app, command[command.index("pyclone_pgsm") + 1 :])
    log.write_text(done.output)
    return done.exit_code, 0.0, 0.0


def test_priors(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    priors = importlib.import_module("priors")
    monkeypatch.setattr(priors, "run_measured", run_here)
    options = SimulationOptions(mutations=12, samples=2, clusters=2)
    write_simulation(tmp_path / "data", options, 1)
    arguments = [str(tmp_path / "data"), "-o", str(tmp_path / "out")]
    short = ["--", "--iterations", "20", "--chains", "1", "--threads", "1", "--grid-size", "21"]
    assert priors.main([*arguments, *short]) == 0
    table = pd.read_csv(tmp_path / "out" / "priors.tsv", sep="\t", index_col="name")
    assert table.shape == (2, 13)
    assert "learned inferred vi" in capsys.readouterr().out
    assert priors.main([str(tmp_path), "-o", str(tmp_path / "none")]) == 2


def test_coverage(monkeypatch: pytest.MonkeyPatch) -> None:
    coverage = importlib.import_module("coverage")
    monkeypatch.setattr(coverage, "SETTINGS", coverage.Settings(iterations=40, burn_in=20, chains=1))
    tumour = coverage.draw_tumour(10, 2, 50, np.random.default_rng(1))
    assert tumour.prevalence.shape == (10, 2)
    below, true, expected = coverage.judge(tumour, 1)
    assert below.shape == (10, 2)
    assert ((below >= 0) & (below <= 1)).all()
    assert max(true, expected) <= 1.0
