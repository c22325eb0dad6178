"""The benchmark's measures against values worked out by hand, and the script end to end."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.writing import write_simulation

FOLDER = Path(__file__).parents[2] / "workflows" / "benchmark"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("benchmark")


def write(path: Path, rows: dict[str, list[Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(path, sep="\t", index=False)
    return path


TRUE = {
    "mutation_id": ["001", "001", "2", "2", "3", "3"],
    "sample_id": ["A", "B"] * 3,
    "cluster": [0, 0, 0, 0, 1, 1],
    "ccf": [0.5, 0.1, 0.5, 0.1, 0.9, 0.0],
}
FOUND = {
    "mutation_id": ["2", "001", "2", "001"],
    "sample_id": ["A", "A", "B", "B"],
    "cluster_id": [4, 4, 4, 4],
    "cellular_prevalence": [0.6, 0.5, 0.1, 0.3],
    "cellular_prevalence_lower": [0.55, 0.4, 0.1, 0.0],
    "cellular_prevalence_upper": [0.65, 0.6, 0.2, 0.2],
}


def test_score(benchmark: ModuleType, tmp_path: Path) -> None:
    truth = benchmark.read_truth(write(tmp_path / "t.truth.tsv", TRUE))
    found = benchmark.read_found(write(tmp_path / "m.tsv", FOUND))
    assert benchmark.score(truth, found) == {
        "v_measure": 1.0,
        "adjusted_rand": 1.0,
        "pair_precision": 1.0,
        "pair_recall": 1.0,
        "rmse": pytest.approx(math.sqrt((0.1**2 + 0.2**2) / 4)),
        "coverage": 0.75,
        "dream_1b": 2 / 3,
        "dream_1c": pytest.approx(1 - (0.05 + 0.1) / 2),
        "dream_2a": pytest.approx(1.0),
        "clusters_found": 1,
        "clusters_true": 2,
        "mutations": 3,
        "samples": 2,
        "mutations_lost": 1,
    }


def test_other_names_and_missing_columns(benchmark: ModuleType, tmp_path: Path) -> None:
    """A truth like that of PyClone's mixing experiments; a result without intervals, like PyClone-VI's."""
    renamed = {**TRUE, "truth_cluster": TRUE["cluster"], "empirical_prevalence": TRUE["ccf"]}
    renamed["nominal_prevalence"] = [9.0] * 6
    del renamed["cluster"], renamed["ccf"]
    short = {name: values for name, values in FOUND.items() if not name.endswith(("lower", "upper"))}
    truth = benchmark.read_truth(write(tmp_path / "x_truth.tsv", renamed))
    scores = benchmark.score(truth, benchmark.read_found(write(tmp_path / "m.tsv", short)))
    assert scores["rmse"] == pytest.approx(math.sqrt((0.1**2 + 0.2**2) / 4))
    assert math.isnan(scores["coverage"])
    without = {name: values for name, values in TRUE.items() if name != "ccf"}
    truth = benchmark.read_truth(write(tmp_path / "y_truth.tsv", without))
    assert math.isnan(benchmark.score(truth, pd.DataFrame(FOUND))["rmse"])


def test_wrong_files(benchmark: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = write(tmp_path / "t.truth.tsv", TRUE)
    contradictory = write(tmp_path / "c.truth.tsv", {**TRUE, "cluster": [0, 1, 0, 0, 1, 1]})
    no_cluster = write(tmp_path / "n.truth.tsv", {"mutation_id": ["a"], "sample_id": ["A"]})
    found = write(tmp_path / "m.tsv", FOUND)
    foreign = write(tmp_path / "f.tsv", {**FOUND, "mutation_id": ["x", "y", "x", "y"]})
    for arguments, message in (
        ([tmp_path / "none.tsv", found], "none.tsv: no such file"),
        ([truth, truth], "t.truth.tsv, row 1, column cluster_id: this column is missing"),
        ([no_cluster, found], "n.truth.tsv, row 1: a column cluster or truth_cluster is expected"),
        ([contradictory, found], "column cluster: '1': an earlier row has this mutation in cluster 0"),
        ([truth, foreign], "truth and result have no mutation in common"),
    ):
        assert benchmark.main(["score", *map(str, arguments)]) == 2
        assert message in capsys.readouterr().err


def test_score_folders(benchmark: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b", "c"):
        write(tmp_path / "data" / f"{name}.truth.tsv", TRUE)
    write(tmp_path / "out" / "a" / "mutations.tsv", FOUND)
    write(tmp_path / "out" / "b.tsv", {**FOUND, "cluster_id": [1, 2, 1, 2]})
    arguments = ["score", str(tmp_path / "data"), str(tmp_path / "out")]
    assert benchmark.main([*arguments, "-o", str(tmp_path / "scores.tsv"), "--limit", "2"]) == 0
    table = pd.read_csv(tmp_path / "scores.tsv", sep="\t", index_col="name")
    assert list(table.index) == ["a", "b", "mean"]
    assert table["v_measure"].tolist() == [1.0, 0.0, 0.5]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| name | v measure | adjusted rand |")
    assert lines[-1].startswith("| mean | 0.500 |")
    assert "seconds" not in lines[0]
    assert benchmark.main([*arguments, "--pattern", "c"]) == 2
    assert "c.tsv is there" in capsys.readouterr().err
    assert benchmark.main([*arguments, "--pattern", "z*"]) == 2
    assert "no truth z*.truth.tsv, z*_truth.tsv or z*.expert.tsv here" in capsys.readouterr().err


def test_memory_and_time_of_a_command(benchmark: ModuleType, tmp_path: Path) -> None:
    large = np.ones(100 << 20)  # the memory of this process is not the command's
    code = "import sys, time; block = bytearray(300 << 20); time.sleep(0.2); print('said'); sys.exit(3)"
    status, seconds, memory = benchmark.run_measured([sys.executable, "-c", code], tmp_path / "log")
    assert status == 3
    assert seconds >= 0.2
    assert 300 < memory < 600
    assert large.nbytes > memory * 2**20
    assert (tmp_path / "log").read_text() == "said\n"


@pytest.mark.long
def test_end_to_end(benchmark: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = SimulationOptions(mutations=30, samples=2, clusters=2, cluster_sizes="equal", missing=0.1)
    for seed in (5, 6):
        write_simulation(tmp_path / "data", options, seed, name=f"tumour{seed}")
    (tmp_path / "data" / "bad.truth.tsv").write_bytes((tmp_path / "data" / "tumour5.truth.tsv").read_bytes())
    (tmp_path / "data" / "bad.tsv").write_text("nothing\n")
    out = tmp_path / "out"
    small = ["--iterations", "400", "--chains", "2"]
    assert benchmark.main([str(tmp_path / "data"), "-o", str(out), "--jobs", "2", "--", *small]) == 1
    said = capsys.readouterr()
    assert "bad.tsv: exit code 2: pyclone-pgsm: " in said.err
    assert "1 of 3 tables failed" in said.err
    table = pd.read_csv(out / "benchmark.tsv", sep="\t", index_col="name")
    assert list(table.index) == ["tumour5", "tumour6", "mean"]
    assert (table["mutations_lost"] == 0).all()
    assert (table["mutations"] == 30).all()
    assert (table["v_measure"] > 0.5).all()
    assert (table["rmse"] < 0.1).all()
    assert table["coverage"].between(0, 1).all()
    assert (table["seconds"] > 0.5).all()
    assert table["memory_mb"].between(50, 2000).all()
    assert said.out.count("\n") == 5

    again = [
        "score",
        str(tmp_path / "data"),
        str(out),
        "--pattern",
        "tumour*",
        "-o",
        str(tmp_path / "again.tsv"),
    ]
    assert benchmark.main(again) == 0
    scores = pd.read_csv(tmp_path / "again.tsv", sep="\t", index_col="name")
    assert scores["v_measure"].tolist() == table["v_measure"].tolist()
    assert scores["seconds"].isna().all()


@pytest.fixture
def calibration(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("calibration")


def test_reliability(calibration: ModuleType) -> None:
    probability = np.array([0.1, 0.5, 0.6, 0.85, 0.9, 1.0, 1.0])
    table = calibration.reliability(probability, np.array([0, 1, 0, 1, 1, 1, 0], bool))
    assert table.index.tolist() == ["0 to 0.25", "0.5 to 0.75", "0.85 to 0.95", "0.99 to 1", "all"]
    assert table["mutations"].tolist() == [1, 2, 2, 2, 7]
    np.testing.assert_allclose(table["probability"], [0.1, 0.55, 0.875, 1.0, probability.mean()])
    np.testing.assert_allclose(table["right"], [0.0, 0.5, 1.0, 0.5, 4 / 7])
    np.testing.assert_allclose(table["brier"].iloc[:2], [0.01, (0.25 + 0.36) / 2])
    assert calibration.markdown(table).splitlines()[2] == "| 0 to 0.25 | 1 | 0.100 | 0.000 | 0.0100 |"


def test_right_clusters(calibration: ModuleType) -> None:
    """Clusters 0 and 1 are true but for a mutation of each; one alone is right, if it is alone; artefacts are, too."""
    true = np.array([5, 5, 5, 2, 2, 2, 7, -1, -1, 5])
    found = np.array([0, 0, 0, 1, 1, 0, 2, -1, 1, -1])
    expected = [1, 1, 1, 1, 1, 0, 1, 1, 0, 0]
    assert calibration.rightness(true, found).tolist() == [bool(one) for one in expected]


def test_calibration_of_a_folder(
    calibration: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mutations = ["a", "a", "b", "b", "c", "c"]
    (tmp_path / "out" / "one").mkdir(parents=True)
    samples = ["S1", "S2"] * 3
    truth = pd.DataFrame({"mutation_id": mutations, "sample_id": samples, "cluster": [3, 3, 3, 3, -1, -1]})
    truth.to_csv(tmp_path / "one.truth.tsv", sep="\t", index=False)
    arguments = [str(tmp_path / "out"), str(tmp_path), "-o", str(tmp_path / "table.tsv")]
    assert calibration.main(arguments) == 2
    assert "mutations.tsv is not there" in capsys.readouterr().err
    found = pd.DataFrame(
        {
            "mutation_id": mutations,
            "sample_id": samples,
            "cluster_id": [0, 0, 0, 0, 0, 0],
            "cellular_prevalence": 0.5,
            "cluster_assignment_prob": [0.9, 0.9, 0.8, 0.8, 0.6, 0.6],
        }
    )
    found.to_csv(tmp_path / "out" / "one" / "mutations.tsv", sep="\t", index=False)
    assert calibration.main([*arguments, "--picture", str(tmp_path / "picture.png")]) == 0
    assert (tmp_path / "picture.png").stat().st_size > 5000
    assert capsys.readouterr().out.splitlines()[-1] == "| all | 3 | 0.767 | 0.667 | 0.1367 |"
    assert pd.read_csv(tmp_path / "table.tsv", sep="\t")["mutations"].tolist() == [1, 1, 1, 3]
