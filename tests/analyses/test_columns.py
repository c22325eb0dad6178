"""The descriptions of tables and their columns name what is written, in its order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_runs import run

from pyclone_pgsm import Settings, cluster, open_trace
from pyclone_pgsm.analyses import columns
from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.matrix import MatrixAnalysis
from pyclone_pgsm.analyses.tumour import TumourAnalysis
from pyclone_pgsm.inputs.read_counts.layout import ANNOTATIONS


@pytest.fixture(scope="module")
def tumour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("columns")
    run(folder / "trace.h5", iterations=20, burn_in=10)
    analysis.write_results(folder / "trace.h5", folder, plots=False)
    return folder


def header(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()[0].split("\t")


def test_tumour(tumour: Path) -> None:
    optional = ["outlier_prob", *ANNOTATIONS]
    always = [name for name in columns.MUTATION_COLUMNS if name not in optional]
    assert list(columns.MUTATION_COLUMNS) == [*always, *optional]
    written = header(tumour / "mutations.tsv")
    assert written[: len(always)] == always
    assert set(written[len(always) :]) <= set(optional)
    assert header(tumour / "clusters.tsv") == list(columns.CLUSTER_COLUMNS)
    assert header(tumour / "left_out.tsv") == list(columns.LEFT_OUT_COLUMNS)


def test_mixture(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).normal(size=(12, 2))
    cluster(rows, settings=Settings(iterations=20, chains=1), trace=tmp_path / "trace.h5")
    result = open_trace(tmp_path / "trace.h5")
    assert list(result.mutations) == list(columns.ASSIGNMENT_COLUMNS)
    assert list(result.clusters)[: len(columns.MIXTURE_COLUMNS)] == list(columns.MIXTURE_COLUMNS)
    assert len(result.clusters.columns) > len(columns.MIXTURE_COLUMNS)


def test_files() -> None:
    assert {"plots/", "report.html"} <= set(columns.TUMOUR_FILES) & set(columns.MATRIX_FILES)
    for told, written in (
        (columns.TUMOUR_FILES, TumourAnalysis.files),
        (columns.MATRIX_FILES, MatrixAnalysis.files),
    ):
        assert set(written) - {"plots"} <= set(told)
