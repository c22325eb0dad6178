"""The tables of the output folder: their columns are promises; and what is read from its ``run.json``."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_runs import FIXED, LEFT_OUT, run, tumour

from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.reading import Reading
from pyclone_pgsm.analyses.run_json import how_summarised
from pyclone_pgsm.analyses.tables import left_out_table
from pyclone_pgsm.errors import OutputError, TraceError
from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.posterior.states import Thresholds
from pyclone_pgsm.posterior.summarize import Findings
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.tsv import write_table

MUTATION_COLUMNS = [
    "mutation_id",
    "sample_id",
    "cluster_id",
    "cellular_prevalence",
    "cellular_prevalence_std",
    "cluster_assignment_prob",
    "cellular_prevalence_lower",
    "cellular_prevalence_upper",
    "variant_allele_frequency",
    "prob_present",
    "prob_clonal",
    "second_cluster_id",
    "second_cluster_prob",
    "multiplicity",
    "multiplicity_prob",
    "fit",
    "peaks",
]
CLUSTER_COLUMNS = [
    "cluster_id",
    "sample_id",
    "size",
    "cellular_prevalence",
    "cellular_prevalence_std",
    "cellular_prevalence_lower",
    "cellular_prevalence_upper",
    "prob_present",
    "prob_clonal",
    "status",
    "peaks",
]
LEFT_OUT_COLUMNS = ["file", "row", "mutation_id", "sample_id", "reason"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Findings]:
    folder = tmp_path_factory.mktemp("results")
    run(folder / "trace.h5", iterations=100, burn_in=50)
    return folder, analysis.write_results(folder / "trace.h5", folder, formats=())


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file, delimiter="\t"))


def test_mutations(results):
    folder, result = results
    observations = tumour()
    header, *rows = rows_of(folder / "mutations.tsv")
    assert header == [*MUTATION_COLUMNS, "chrom", "pos"]
    assert [row[:2] for row in rows] == [
        [mutation, sample] for mutation in observations.mutation_ids for sample in observations.sample_ids
    ]
    has_data = observations.has_data.ravel()
    assert not has_data.all()
    for row, seen in zip(rows, has_data):
        assert [cell == "" for cell in row[:8]] == [False] * 8
        assert (row[8] == "") == (not seen)
        assert [cell == "" for cell in row[13:16]] == [not seen] * 3
        assert (row[11] == "") == (row[12] == "")
    numbers = np.array([[float(cell) for cell in row[2:8]] for row in rows])
    cluster, mean, std, probability, lower, upper = numbers.T
    assert np.isfinite(numbers).all()
    assert (std >= 0).all()
    assert ((lower >= 0) & (lower < upper) & (upper <= 1)).all()
    assert ((lower <= mean) & (mean <= upper)).all()
    assert ((probability >= 0) & (probability <= 1)).all()
    np.testing.assert_array_equal(cluster, np.repeat(result.summary.labels, 2))
    vaf = np.array([float(row[8]) for row, seen in zip(rows, has_data) if seen])
    expected = (observations.alt_counts / np.maximum(observations.depth, 1)).ravel()[has_data]
    np.testing.assert_allclose(vaf, expected, rtol=1e-5)
    present, clonal, peaks = (np.array([float(row[column]) for row in rows]) for column in (9, 10, 16))
    assert ((present >= clonal) & (clonal >= 0) & (present <= 1)).all()
    assert (peaks >= 1).all()
    second = [(row[2], row[11], float(row[5]) + float(row[12])) for row in rows if row[11]]
    assert second
    for own, other, total in second:
        assert own != other
        assert other.isdecimal()
        assert total <= 1 + 1e-5
    copies, copies_prob, fit = (
        np.array([float(row[column]) for row, seen in zip(rows, has_data) if seen]) for column in (13, 14, 15)
    )
    highest = observations.major_cn.ravel()[has_data]
    assert ((copies >= 1) & (copies <= highest)).all()
    assert ((copies_prob > 0) & (copies_prob <= 1)).all()
    assert (copies_prob[highest == 1] > 1 - 1e-6).all()
    assert ((fit > 1e-6) & (fit <= 1)).all()
    assert [row[17] for row in rows[::2]] == observations.annotations["chrom"]


def test_clusters(results):
    folder, result = results
    table = pd.read_csv(folder / "clusters.tsv", sep="\t")
    assert list(table.columns) == CLUSTER_COLUMNS
    assert not table.isna().any(axis=None)
    by_probability = np.select(
        [
            table["prob_present"] <= 0.2,
            table["prob_clonal"] >= 0.8,
            table.eval("prob_present - prob_clonal >= 0.8"),
        ],
        ["absent", "clonal", "subclonal"],
        "uncertain",
    )
    assert table["status"].tolist() == by_probability.tolist()
    K = table["cluster_id"].max() + 1
    assert result.summary.num_clusters == K
    np.testing.assert_array_equal(table["cluster_id"], np.repeat(np.arange(K), 2))
    assert list(table["sample_id"]) == tumour().sample_ids * K
    mutations = pd.read_csv(folder / "mutations.tsv", sep="\t")
    sizes = mutations.groupby("cluster_id")["mutation_id"].nunique()
    np.testing.assert_array_equal(table.groupby("cluster_id")["size"].first(), sizes)
    assert sizes.sum() == 40
    means = table.groupby("cluster_id")["cellular_prevalence"].mean()
    assert (np.diff(means) <= 1e-6).all()
    assert (table["cellular_prevalence_std"] >= 0).all()
    assert (table["cellular_prevalence_lower"] <= table["cellular_prevalence"]).all()
    assert (table["cellular_prevalence"] <= table["cellular_prevalence_upper"]).all()


def test_left_out(results, tmp_path):
    folder, _ = results
    assert rows_of(folder / "left_out.tsv") == [
        LEFT_OUT_COLUMNS,
        *[["" if value is None else str(value) for value in row] for row in LEFT_OUT],
    ]
    write_table(left_out_table([]), tmp_path / "left_out.tsv")
    assert (tmp_path / "left_out.tsv").read_bytes() == ("\t".join(LEFT_OUT_COLUMNS) + "\n").encode()


def test_strange_texts_come_back(tmp_path):
    table = pd.DataFrame({"mutation_id": ["001", 'a"b', "c\td", "é"], "x": [0.1, np.nan, 1e-12, 1234567.0]})
    write_table(table, tmp_path / "t.tsv")
    assert rows_of(tmp_path / "t.tsv") == [
        ["mutation_id", "x"],
        ["001", "0.1"],
        ['a"b', ""],
        ["c\td", "1e-12"],
        ["é", "1.23457e+06"],
    ]


def test_names_of_files_that_are_no_utf8(tmp_path):
    """Also in JSON, where a half of a surrogate pair would be an escape that other programs cannot write."""
    folder = tmp_path / os.fsdecode(b"t\xff")
    folder.mkdir()
    reading = Reading(tumour(), [LeftOut(os.fsdecode(b"\xfe.tsv"), 7, "m7", "S1", "no data")], 1.0)
    plan = analysis.plan_tumour(
        reading, FIXED, Settings(iterations=4, burn_in=0, chains=1), DirichletProcess(), 1
    )
    analysis.start(plan, folder / "trace.h5", command="a test")
    analysis.write_results(folder / "trace.h5", folder, formats=(), pages=["report", "mqc"])
    assert rows_of(folder / "left_out.tsv")[1][0] == r"\udcfe.tsv"
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert r"<title>t\udcff: pyclone-pgsm</title>" in text
    assert r"\udcfe.tsv" in text
    numbers = json.loads((folder / "pyclone_pgsm_mqc.json").read_text(encoding="utf-8"))["data"]
    assert r"t\udcff" in numbers


def test_table_that_cannot_be_written(tmp_path):
    table = left_out_table([])
    with pytest.raises(OutputError, match=r"nowhere/t\.tsv: cannot be written: No such file or directory"):
        write_table(table, tmp_path / "nowhere" / "t.tsv")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match="folder: cannot be written"):
        write_table(table, tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_thresholds_of_presence(results, tmp_path):
    folder, _ = results
    usual = pd.read_csv(folder / "clusters.tsv", sep="\t")
    thresholds = Thresholds(0.3, 0.6)
    analysis.write_results(folder / "trace.h5", tmp_path, thresholds=thresholds, formats=())
    other = pd.read_csv(tmp_path / "clusters.tsv", sep="\t")
    assert (other["prob_present"] <= usual["prob_present"]).all()
    assert (other["prob_clonal"] >= usual["prob_clonal"]).all()
    assert (other["status"] != usual["status"]).any()
    report = json.loads((tmp_path / "run.json").read_text())
    assert (report["present_above"], report["clonal_above"]) == (0.3, 0.6)
    warnings = report["warnings"]
    report = json.loads((folder / "run.json").read_text())
    assert (report["present_above"], report["clonal_above"]) == (0.01, 0.95)
    assert warnings == report["warnings"]


def test_same_bytes_whatever_the_threads(tmp_path):
    tables = []
    for number, threads in enumerate((1, 2, 4, 2)):
        folder = tmp_path / str(number)
        folder.mkdir()
        run(folder / "trace.h5", threads=threads, chains=4, iterations=100, burn_in=50)
        analysis.write_results(folder / "trace.h5", folder, formats=())
        names = ("mutations.tsv", "clusters.tsv", "left_out.tsv")
        tables.append([(folder / name).read_bytes() for name in names])
    assert tables[0] == tables[1] == tables[2] == tables[3]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("burn_in", "12"),
        ("consensus", 5),
        ("command", ["analyze"]),
        ("clonal_above", "0.9"),
        ("convergence", 7),
    ],
)
def test_a_run_json_of_other_types_is_refused(name: str, value: object, tmp_path: Path) -> None:
    run = {"command": "analyze", "burn_in": 12, "convergence": {"iterations": 50}}
    path = tmp_path / "run.json"
    path.write_text(json.dumps(run))
    assert how_summarised(path) == {"command": "analyze", "burn_in": 12, "iterations": 50}
    path.write_text(json.dumps(run | {name: value}))
    with pytest.raises(TraceError, match="is not what analyze writes"):
        how_summarised(path)


def test_a_run_json_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("[" * 100_000)
    with pytest.raises(TraceError, match="is not what analyze writes: RecursionError"):
        how_summarised(path)
