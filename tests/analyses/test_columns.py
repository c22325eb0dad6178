"""The page of tables names the files and columns that are written, in their order."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_runs import edited, run, run_matrix
from small_runs import tumour as tumour_data

from pyclone_pgsm import Settings, cluster, open_trace
from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.matrix import MatrixAnalysis
from pyclone_pgsm.analyses.tumour import TumourAnalysis
from pyclone_pgsm.inputs.read_counts.layout import ANNOTATIONS
from pyclone_pgsm.posterior.summarize import summarize
from pyclone_pgsm.trace import Trace

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "tables.md"


def described(heading: str) -> list[str]:
    """The names in the first cells of the table below a heading of the page."""
    _, _, section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    rows = re.findall(r"^\| (`.*?`) \|", section.partition("\n## ")[0], re.M)
    return re.findall("`(.*?)`", ", ".join(rows))


@pytest.fixture(scope="module")
def tumour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("columns")
    annotations = {name: ["x"] * 40 for name in reversed(ANNOTATIONS)}
    observations = replace(tumour_data(), annotations=annotations)
    run(folder / "trace.h5", observations=observations, iterations=20, burn_in=10)
    analysis.write_results(folder / "trace.h5", folder, formats=())
    return folder


def header(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()[0].split("\t")


def test_tumour(tumour: Path) -> None:
    optional = ["outlier_prob", *ANNOTATIONS]
    always = [name for name in described("`mutations.tsv`") if name not in optional]
    assert described("`mutations.tsv`") == [*always, *optional]
    written = header(tumour / "mutations.tsv")
    assert written[: len(always)] == always
    assert written[len(always) :] == list(ANNOTATIONS)
    assert header(tumour / "clusters.tsv") == described("`clusters.tsv`")
    assert header(tumour / "left_out.tsv") == described("`left_out.tsv`")
    check_files(TumourAnalysis, tumour / "trace.h5")


def check_files(analysis: type[TumourAnalysis] | type[MatrixAnalysis], trace: Path) -> None:
    """Every table is among the files that are not replaced without being asked, and on the page."""
    headings = PAGE.read_text(encoding="utf-8")
    with Trace(trace) as opened:
        names = set(analysis().tables(opened, summarize(opened).summary))
    assert names == {name for name in analysis.files if name.endswith(".tsv")}
    assert all(f"\n## `{name}`" in headings for name in names)


def test_mixture(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).normal(size=(12, 2))
    cluster(rows, settings=Settings(iterations=20, chains=1), trace=tmp_path / "trace.h5")
    result = open_trace(tmp_path / "trace.h5")
    assert list(result.mutations) == described("`assignments.tsv`")
    first = described("`clusters.tsv` of `cluster`")
    assert list(result.clusters)[: len(first)] == first
    assert len(result.clusters.columns) > len(first)
    check_files(MatrixAnalysis, tmp_path / "trace.h5")


def test_a_trace_without_a_command_in_a_folder(tmp_path: Path) -> None:
    run_matrix(tmp_path / "trace.h5")
    (tmp_path / "run.json").write_text('{"convergence": {"iterations": 60}}')
    assert open_trace(tmp_path).command == "a test"
    with edited(tmp_path / "trace.h5") as file:
        file["config"].attrs["command"] = ""
    assert open_trace(tmp_path).command == ""


def test_files() -> None:
    pages = ["report.html", "plots/"]
    assert described("The folder of `analyze`") == [*TumourAnalysis.files, *pages]
    assert described("The folder of `cluster`") == [*MatrixAnalysis.files, *pages]
