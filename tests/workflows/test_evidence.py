"""Scripts behind figures of docs/, on data too small to say much."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import simulate
from pyclone_pgsm.simulate.writing import write_simulation

FOLDER = Path(__file__).parents[2] / "workflows" / "benchmark"
SHORT = Settings(iterations=20, chains=1, hyper_every=1)


@pytest.fixture
def overdispersion(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    script = importlib.import_module("overdispersion")
    monkeypatch.setattr(script, "SIMULATED", {"mutations": 12, "samples": 3, "clusters": 2})
    monkeypatch.setattr(script, "PRECISIONS", (50.0, (50.0, 200.0, 1000.0)))
    monkeypatch.setattr(script, "SIMULATION_SETTINGS", SHORT)
    monkeypatch.setattr(script, "TABLE_SETTINGS", SHORT)
    return script


@pytest.fixture
def subclonal(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("subclonal")


def test_overdispersion(
    overdispersion: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_simulation(tmp_path / "data", SimulationOptions(mutations=12, samples=1, clusters=2))
    write_simulation(tmp_path / "data", SimulationOptions(mutations=40, clusters=2), name="large")
    arguments = [tmp_path / "data", "-o", tmp_path / "out", "--sets", 2, "--compared", 1, "--most", 100]
    overdispersion.main([str(argument) for argument in arguments])
    drawn = pd.read_csv(tmp_path / "out" / "simulations.tsv", sep="\t")
    one = drawn[drawn["data"] == "simulated, 50"]
    assert list(one["way"]) == ["true", "infer", "binomial", "200", "infer-per-sample", "true", "infer"]
    assert one["coverage"].notna().tolist() == [False, True, False, False, True, False, True]
    different = drawn[drawn["data"] == "simulated, 50/200/1000"]
    assert list(different["way"]) == ["binomial", "200", "infer", "infer-per-sample"]
    assert different["precision:S3_upper"].notna().tolist() == [False, False, False, True]
    tables = pd.read_csv(tmp_path / "out" / "tables.tsv", sep="\t")
    assert list(tables["name"]) == ["simulated"] * 4
    assert ((tables["v_measure"] >= 0) & (tables["v_measure"] <= 1)).all()
    printed = capsys.readouterr().out
    assert printed.count("| infer-per-sample |") == 3


def test_coverage_of_precisions(overdispersion: ModuleType) -> None:
    found = {"precision": 60.0, "precision_lower": 40.0, "precision_upper": 70.0}
    assert overdispersion.covered(found, 50.0) == {"coverage": 1.0}
    assert overdispersion.covered(found, 80.0) == {"coverage": 0.0}
    assert overdispersion.covered(found, (50.0, 50.0, 50.0)) == {}
    assert overdispersion.covered({}, 50.0) == {}
    own = {
        f"precision:S{n}_{end}": value for n in (1, 2, 3) for end, value in (("lower", 40.0), ("upper", 70.0))
    }
    own["precision:S1"] = 50.0
    assert overdispersion.covered(own, (50.0, 60.0, 80.0)) == {"coverage": pytest.approx(2 / 3)}
    assert overdispersion.covered(own, 50.0) == {"coverage": 1.0}


def test_subclonal(
    subclonal: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(subclonal, "OPTIONS", replace(subclonal.OPTIONS, mutations=40))
    monkeypatch.setattr(subclonal, "SETTINGS", SHORT)
    subclonal.main(["--sets", "2", "--chains", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| none | both | ")
    assert [line.split(" | ")[0] for line in lines[-2:]] == ["| both", "| majority"]


def test_reading_the_majority_of_cells(subclonal: ModuleType) -> None:
    drawn = simulate(replace(subclonal.OPTIONS, mutations=300), np.random.default_rng(1))
    seen, read = drawn.observations, subclonal.majority(drawn.observations)
    assert not read.subclonal_fraction.any()
    second = seen.subclonal_fraction > 0.5
    assert second.any()
    assert (read.major_cn[second] == seen.subclonal_major_cn[second]).all()
    assert (read.minor_cn[~second] == seen.minor_cn[~second]).all()
    kinds = subclonal.kinds(drawn)
    assert sum(kind.astype(int) for kind in kinds.values()).tolist() == np.ones((300, 2), int).tolist()


def test_gains(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    script = importlib.import_module("gains")
    monkeypatch.setattr(script, "MUTATIONS", 30)
    monkeypatch.setattr(script, "SETTINGS", SHORT)
    script.main(["--sets", "2", "--samples", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| `major`", "| `clonal`"]
    tumour = script.Tumour(2, 50, np.random.default_rng(1))
    assert (tumour.mutant <= tumour.observations.major_cn[:, 0]).all()
    assert (tumour.mutant[tumour.cluster > 0] == 1).all()
    assert (tumour.mutant[tumour.cluster == 0] > 1).any()
    assert (tumour.prevalence[tumour.cluster == 0] == 1.0).all()


def test_outliers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    script = importlib.import_module("outliers")
    monkeypatch.setattr(script, "OPTIONS", replace(script.OPTIONS, mutations=40, clusters=2))
    monkeypatch.setattr(script, "SETTINGS", replace(SHORT, iterations=60))
    script.main(["--sets", "1", "--artefacts", "0.1"])
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    ways = ["off", "0.01", "0.05", "off, artefacts removed"]
    assert [row[:2] for row in rows] == [["10%", way] for way in ways]
    assert rows[0][4:6] == ["0%", "0.0%"]
    assert rows[3][4] == ""
    assert int(rows[2][4].rstrip("%")) > 50


def test_normal_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    script = importlib.import_module("normal_scale")
    monkeypatch.setattr(script, "SETTINGS", Settings(iterations=150, chains=1))
    for shape in script.SHAPES:
        X, labels = script.draw_mixture(shape, 50, 2, np.random.default_rng(1))
        np.testing.assert_allclose([X.mean(axis=0), X.std(axis=0)], [[0.0, 0.0], [1.0, 1.0]], atol=1e-9)
        assert len(labels) == 50
    fixed, inferred = script.compare(60, "Gaussian", 3, 0)
    assert fixed[0] < 0.5 < inferred[0]
    assert (fixed[1], inferred[1]) == (True, False)  # whether there are too few clusters


def test_shallow(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    script = importlib.import_module("shallow")
    monkeypatch.setattr(script, "SETTINGS", Settings(iterations=60, chains=1, hyper_every=1))
    script.main(["--mutations", "30", "--depths", "4000"])
    row = capsys.readouterr().out.splitlines()[-1]
    assert row == "| 4000 | 1.000 | 1.000, 3 | 1.000, 3 |"
