"""`analyze` and `cluster` from Python: what the commands do, and a result that has everything."""

from __future__ import annotations

import copy
import doctest
import gc
import html
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_runs import matrix, write_tumour
from typer.testing import CliRunner

import pyclone_pgsm
from pyclone_pgsm import ModelOptions, PycloneError, Result, Settings, analysis, analyze, cluster, open_trace
from pyclone_pgsm.analyses.tumour import TumourAnalysis
from pyclone_pgsm.cli import app as cli
from pyclone_pgsm.errors import InputError, OutputError, TraceError, UsageError
from pyclone_pgsm.trace import Trace

SHORT = Settings(iterations=60, chains=2)
SHORT_OPTIONS = ("--iterations", "60", "--chains", "2", "--precision", "200")
MODEL = ModelOptions(precision=200.0)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tumour(tmp_path_factory.mktemp("tumour"))


@pytest.fixture(scope="module")
def result(table: Path) -> Result:
    return analyze(table, MODEL, settings=SHORT)


@pytest.fixture(scope="module")
def clustered() -> Result:
    return cluster(matrix().values, settings=SHORT)


def test_documentation() -> None:
    assert doctest.testmod(analysis).failed == 0


def test_public_names() -> None:
    for name in pyclone_pgsm.__all__:
        assert getattr(pyclone_pgsm, name) is not None
    assert {"analyze", "cluster", "open_trace", "read_tables", "Result"} <= set(dir(pyclone_pgsm))
    with pytest.raises(AttributeError, match="no attribute 'analyse'"):
        pyclone_pgsm.analyse  # noqa: B018


def test_analyze_writes_what_the_command_writes(table: Path, result: Result, tmp_path: Path) -> None:
    command = CliRunner().invoke(
        cli.app, ["analyze", str(table), "-o", str(tmp_path / "command"), *SHORT_OPTIONS]
    )
    assert command.exit_code == 0, command.output
    kept = analyze(table, MODEL, settings=SHORT, out=tmp_path / "python")
    here, there = (
        {path.relative_to(tmp_path / name) for path in (tmp_path / name).rglob("*")}
        for name in ("python", "command")
    )
    assert here == there
    assert {Path(name) for name in (*TumourAnalysis.files, "report.html")} <= here
    for name in ("mutations.tsv", "clusters.tsv", "left_out.tsv"):
        assert (tmp_path / "python" / name).read_bytes() == (tmp_path / "command" / name).read_bytes()
    pd.testing.assert_frame_equal(kept.mutations, result.mutations)
    with Trace(tmp_path / "python" / "trace.h5") as trace:
        assert trace.command == "pyclone_pgsm.analyze"
    with pytest.raises(OutputError, match="exists already: use `force`"):
        analyze(table, MODEL, settings=SHORT, out=tmp_path / "python")
    pd.testing.assert_frame_equal(open_trace(tmp_path / "python").clusters, kept.clusters)


def test_data_frames_and_files_are_the_same(table: Path, result: Result) -> None:
    frame = pd.read_csv(table, sep="\t")
    pd.testing.assert_frame_equal(analyze(frame, MODEL, settings=SHORT).mutations, result.mutations)
    samples = {str(sample): rows.drop(columns="sample_id") for sample, rows in frame.groupby("sample_id")}
    apart = analyze(samples, MODEL, settings=SHORT)
    assert apart.mutations["sample_id"].unique().tolist() == list(samples)
    assert len(apart.mutations) == len(result.mutations)
    halves = [rows for _, rows in frame.groupby("sample_id")]
    pd.testing.assert_frame_equal(analyze(halves, MODEL, settings=SHORT).mutations, apart.mutations)


def test_mistakes_in_data_frames(table: Path) -> None:
    frame = pd.read_csv(table, sep="\t")
    wrong = frame.astype({"alt_counts": object})
    wrong.loc[3, "alt_counts"] = "many"
    with pytest.raises(
        InputError, match=r"^the data frame \(rows counted from 0\), row 3, column alt_counts: 'many'"
    ):
        analyze(wrong, settings=SHORT)
    for tables, message in (
        (frame.drop(columns="sample_id"), "the data frame has no column sample_id: add one"),
        ({"S1": table}, "the table of 'S1' must be a data frame, not PosixPath"),
        ([frame, frame.drop(columns="sample_id")], "data frame 1 has no column sample_id"),
        ([], "no input table given"),
    ):
        with pytest.raises(UsageError, match=message):
            analyze(tables, settings=SHORT)  # type: ignore[arg-type]
    without_copy = frame.copy()
    without_copy.loc[0, ["major_cn", "minor_cn"]] = 0
    left_out = analyze(without_copy, MODEL, settings=SHORT).left_out
    assert left_out["file"].iloc[0] == "the data frame (rows counted from 0)"
    assert left_out["row"].iloc[0] == 0


def test_mistakes_speak_of_parameters(table: Path, tmp_path: Path) -> None:
    for options, message in (
        ({"criterion": "best"}, "`criterion` 'best': must be one of"),
        ({"threads": 0}, "`threads` 0"),
        ({"error_rate": 2.0}, "error rate"),
    ):
        with pytest.raises(PycloneError, match=message):
            analyze(table, settings=SHORT, **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="`trace` and `out`: give one of them"):
        cluster(matrix().values, trace=tmp_path / "t.h5", out=tmp_path)
    with pytest.raises(InputError, match=r"none\.tsv: no such file"):
        analyze(tmp_path / "none.tsv")


def test_what_a_result_has(result: Result, tmp_path: Path) -> None:
    assert list(result.mutations)[:3] == ["mutation_id", "sample_id", "cluster_id"]
    assert result.clusters["size"].sum() == 2 * 40  # in each of two samples
    assert {"log_joint", "num_clusters"} <= set(result.diagnostics["name"])
    assert any("iterations" in line or "draws" in line for line in result.warnings)
    assert "cluster_prevalences" in dir(result.plot)
    for name in dir(result.plot):
        assert getattr(result.plot, name)().get_size_inches().min() > 1
    with pytest.raises(AttributeError, match=r"no picture 'pie'; there are .*traces"):
        result.plot.pie()
    assert b"</html>" in result.report(tmp_path / "page.html").read_bytes()
    assert result.report() == result.path.parent / "report.html"
    result.export("pyclone-vi", tmp_path / "export.tsv")
    exported = pd.read_csv(tmp_path / "export.tsv", sep="\t")
    assert exported["cluster_id"].tolist() == result.mutations["cluster_id"].tolist()


def test_display(result: Result, clustered: Result) -> None:
    for each in (result, clustered):
        shown = each._repr_html_()
        assert html.escape(repr(each)) in shown
        assert shown.count("<tr") == len(each.clusters) + 1
        assert "largest R-hat" in shown


def test_cluster_is_a_result(clustered: Result, tmp_path: Path) -> None:
    assert isinstance(clustered, Result)
    assert clustered.mutations["cluster_id"].tolist() == clustered.labels.tolist()  # type: ignore[attr-defined]
    assert clustered.clusters["size"].max() == 8
    assert "density" in dir(clustered.plot)
    for name in dir(clustered.plot):
        assert getattr(clustered.plot, name)().get_size_inches().min() > 1
    assert b"</html>" in clustered.report(tmp_path / "page.html").read_bytes()
    with pytest.raises(UsageError, match="is for tumours"):
        clustered.export("pyclone", tmp_path / "export")
    kept = cluster(matrix().values, settings=SHORT, out=tmp_path / "out")
    assert {"assignments.tsv", "clusters.tsv", "run.json", "trace.h5", "report.html", "plots"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }
    np.testing.assert_array_equal(kept.draws, clustered.draws)  # type: ignore[attr-defined]
    with pytest.raises(OutputError, match="exists already"):
        cluster(matrix().values, settings=SHORT, out=tmp_path / "out")


def test_the_temporary_trace_goes_with_the_result(tmp_path: Path) -> None:
    found = cluster(matrix().values, settings=SHORT)
    folder = found.path.parent
    assert found.path.is_file()
    found.report(tmp_path / "page.html")
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.labels, found.labels)
    np.testing.assert_array_equal(
        again.log_predictive(matrix().values), found.log_predictive(matrix().values)
    )
    assert "density" in dir(copy.copy(found).plot)
    del found
    gc.collect()
    assert not folder.exists()
    with pytest.raises(TraceError, match=r"this trace was temporary.*keep it with `out`"):
        again.report(tmp_path / "page.html")
