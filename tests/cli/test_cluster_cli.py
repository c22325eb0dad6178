"""The commands that cluster any table: what they write, what they refuse, and the commands on their traces."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_runs import matrix, run_matrix, without_waiting
from test_cli import call, refused

from pyclone_pgsm.analyses.matrix import MatrixAnalysis
from pyclone_pgsm.analyses.run import write_results
from pyclone_pgsm.analyses.tables import mixture_table
from pyclone_pgsm.likelihoods.matrix import DataMatrix
from pyclone_pgsm.likelihoods.registry import installed_likelihoods
from pyclone_pgsm.posterior.mixture import MixtureSummary
from pyclone_pgsm.report.content import flat
from pyclone_pgsm.report.tables import mixture_tables
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.tsv import table_text

PLUGIN = Path(__file__).parents[2] / "examples" / "poisson_gamma" / "pyclone_pgsm_poisson_gamma.py"
SHORT = ("--iterations", 40, "--burn-in", 20, "--chains", 2, "--threads", 1)
FEW = ("--concentration", 0.01, "--concentration-prior", "fixed")


def write(path: Path, data: DataMatrix) -> Path:
    table = pd.DataFrame(data.values, columns=data.column_names)
    table.insert(0, "name", data.row_names)
    table.to_csv(path, index=False)
    return path


@pytest.fixture
def points(tmp_path: Path) -> Path:
    return write(tmp_path / "points.csv", matrix("normal"))


def table(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, sep="\t")


def test_normal(points, tmp_path):
    out = tmp_path / "out"
    done = call(
        "cluster",
        points,
        "--likelihood",
        "normal",
        "-o",
        out,
        *SHORT,
        *FEW,
        "--param",
        "r0=0.1",
        "--format",
        "png",
    )
    assert (done.exit_code, without_waiting(done.stderr)) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "24 rows of 2 columns: 3 clusters"
    assert lines[1].split() == ["cluster", "size", "mean", "of", "x1", "mean", "of", "x2"]
    assert [line.split()[:2] for line in lines[2:5]] == [["0", "8"], ["1", "8"], ["2", "8"]]
    assert lines[-1] == f"written to {out}"
    assert {path.name for path in out.iterdir()} == {
        "report.html",
        "assignments.tsv",
        "clusters.tsv",
        "trace.h5",
        "run.json",
        "plots",
    }
    assignments = table(out / "assignments.tsv")
    assert list(assignments.columns) == ["row_id", "cluster_id", "assignment_prob"]
    assert list(assignments["row_id"]) == matrix().row_names
    np.testing.assert_array_equal(assignments["cluster_id"], np.arange(24) % 3)
    assert assignments["assignment_prob"].between(0.9, 1.0).all()
    clusters = table(out / "clusters.tsv")
    assert list(clusters.columns) == [
        "cluster_id",
        "dimension",
        "size",
        "mean",
        "mean_sd",
        "covariance_x1",
        "covariance_x2",
    ]
    assert list(clusters["cluster_id"]) == [0, 0, 1, 1, 2, 2]
    assert list(clusters["dimension"]) == ["x1", "x2"] * 3
    assert (clusters["size"] == 8).all()
    np.testing.assert_allclose(clusters["mean"], [-4, 0, 4, 0, 0, 5], atol=1.5)
    np.testing.assert_array_equal(clusters["covariance_x2"][::2], clusters["covariance_x1"][1::2])
    report = json.loads((out / "run.json").read_text())
    assert report["counts"] == {
        "rows": 24,
        "columns": 2,
        "clusters": 3,
        "chains": 2,
        "saved_iterations": [20, 20],
    }
    assert report["options"]["model"] == {"likelihood": "normal", "parameters": {"r0": 0.1, "scale": "infer"}}
    assert {path.name for path in (out / "plots").iterdir()} >= {"clusters.png", "density.png", "traces.png"}


def test_bernoulli_and_a_start_from_a_table(tmp_path):
    bits, out = write(tmp_path / "bits.csv", matrix("bernoulli", 60)), tmp_path / "out"
    done = call("cluster", bits, "--likelihood", "bernoulli", "-o", out, *SHORT, "--format", "pdf")
    assert done.exit_code == 0
    assert list(table(out / "clusters.tsv").columns) == [
        "cluster_id",
        "dimension",
        "size",
        "theta",
        "theta_sd",
    ]
    assert table(out / "clusters.tsv")["theta"].between(0, 1).all()
    again = tmp_path / "again"
    options = ("--likelihood", "bernoulli", "--init", out / "assignments.tsv", "--no-plots")
    assert call("cluster", bits, *options, "-o", again, *SHORT).exit_code == 0
    with Trace(again / "trace.h5") as trace:
        assert trace.options.settings.init == str(out / "assignments.tsv")
    assert not (again / "plots").exists()


def test_plugin_by_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(PLUGIN.parent)
    counts, out = write(tmp_path / "counts.csv", matrix("counts")), tmp_path / "out"
    options = ("--likelihood", f"{PLUGIN.name}:PoissonGamma", "--param", "rate=0.05", "--no-plots", *FEW)
    assert call("cluster", counts, *options, "-o", out, *SHORT).exit_code == 0
    np.testing.assert_array_equal(table(out / "assignments.tsv")["cluster_id"], np.arange(24) % 3)
    monkeypatch.chdir(tmp_path)
    named = ("--likelihood", f"{PLUGIN}:PoissonGamma")
    assert call("resume", out / "trace.h5", "--iterations", 50, *named).exit_code == 0
    more = tmp_path / "more"
    assert call("summarize", out / "trace.h5", "-o", more, "--format", "png", *named).exit_code == 0


def test_default_folder_and_repeated_runs(points, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("cluster", "points.csv", "--likelihood", "normal", *SHORT, "--no-plots", "-q").stdout == ""
    out = tmp_path / "points_pyclone_pgsm"
    before = {path: path.read_bytes() for path in out.iterdir()}
    assert refused("cluster", "points.csv", "--likelihood", "normal", *SHORT) == (
        f"pyclone-pgsm: {out.name}/assignments.tsv exists already: "
        "use --force to replace it, or give another name\n"
    )
    call("cluster", "points.csv", "--likelihood", "normal", *SHORT, "--no-plots", "--threads", 2, "--force")
    for name in ("assignments.tsv", "clusters.tsv"):
        assert (out / name).read_bytes() == before[Path(out / name)]


def test_commands_on_its_traces(tmp_path):
    one, two, merged = (tmp_path / name for name in ("1.h5", "2.h5", "all.h5"))
    run_matrix(one, seed=1)
    run_matrix(two, seed=2)
    verdict, done = call("resume", one, "--iterations", 70).stdout.splitlines()
    assert verdict.startswith("not converged after 70 iterations")
    assert done == f"2 chains of 70 iterations in {one}"
    call("resume", two, "--iterations", 70)
    assert call("merge", one, two, "-o", merged).stdout == f"4 chains written to {merged}\n"
    out = tmp_path / "out"
    done = call("summarize", merged, "-o", out, "--no-plots", "--consensus", "vi")
    assert done.exit_code == 0
    assert {path.name for path in out.iterdir()} == {
        "assignments.tsv",
        "clusters.tsv",
        "report.html",
        "run.json",
    }
    assert "assignments.tsv exists already: use --force" in refused("summarize", merged, "-o", out)
    done = call("plot", merged, "-o", tmp_path / "plots", "--format", "png")
    assert done.stdout.endswith(f"pictures written to {tmp_path / 'plots'}\n")
    assert (tmp_path / "plots" / "clusters.png").exists()


def test_standardise(points, tmp_path):
    out = tmp_path / "out"
    options = ("--likelihood", "normal", "--standardise", "--param", "S0=0.1", *FEW, "--no-plots")
    assert call("cluster", points, *options, "-o", out, *SHORT).exit_code == 0
    with Trace(out / "trace.h5") as trace:
        np.testing.assert_allclose(trace.matrix.values.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(trace.matrix.values.std(axis=0), 1)
        stored = trace.options.model.standardised
    np.testing.assert_allclose(stored["mean"], matrix().values.mean(axis=0))
    np.testing.assert_allclose(stored["sd"], matrix().values.std(axis=0))
    constant = write(tmp_path / "c.csv", DataMatrix(["a", "b"], ["x", "y"], np.array([[1.0, 3], [1, 4]])))
    told = refused("cluster", constant, "--likelihood", "normal", "--standardise", "-o", tmp_path / "no")
    assert "--standardise: all values of column x are equal: leave it out with --ignore" in told
    binary = write(tmp_path / "b.csv", DataMatrix(["a", "b", "c"], ["x"], np.array([[0.0], [0.0], [1.0]])))
    told = refused("cluster", binary, "--likelihood", "bernoulli", "--standardise", "-o", tmp_path / "no")
    assert "b.csv, row 2, column x: '0': expected 0 or 1" in told
    assert "; --standardise makes -0.707107 of it" in told


def test_names_of_rows_and_columns_left_out(tmp_path):
    file = tmp_path / "t.tsv"
    file.write_text(
        "x\\tlabel\\tgene\\ty\\n1\\t7\\tA\\t2\\n3\\t8\\tB\\t4\\n".replace("\\t", "\t").replace("\\n", "\n")
    )
    options = ("--likelihood", "normal", "--id-column", "gene", "--ignore", "label", "--no-plots")
    assert call("cluster", file, *options, "-o", tmp_path / "out", *SHORT).exit_code == 0
    assert list(table(tmp_path / "out" / "assignments.tsv")["row_id"]) == ["A", "B"]
    assert sorted(set(table(tmp_path / "out" / "clusters.tsv")["dimension"])) == ["x", "y"]


def test_a_missing_decimal_point(tmp_path):
    """The warning has the names of its row and column."""
    values = np.random.default_rng(1).normal(size=(40, 2)).round(3)
    values[7, 1] = 1500
    file = write(
        tmp_path / "cells.csv", DataMatrix([f"cell{row}" for row in range(40)], ["CD4", "CD8"], values)
    )
    done = call("cluster", file, "--likelihood", "normal", "-o", tmp_path / "out", *SHORT)
    assert "such as a missing decimal point? CD8 is 1500 in row cell7, where its median is" in done.stdout


def test_values_that_cannot_be(points, tmp_path):
    """File, row and column are told, and nothing is written."""
    bad = tmp_path / "bad.csv"
    bad.write_text("name,x,y\na,1,0\nb,nan,1\nc,0,0.5\n")
    out = tmp_path / "out"
    told = refused("cluster", bad, "--likelihood", "normal", "-o", out, *SHORT)
    assert f"{bad}, row 3, column x: 'nan'" in told
    bad.write_text("name,x,y\na,1,0\nb,1,1\nc,0,0.5\n")
    told = refused("cluster", bad, "--likelihood", "bernoulli", "-o", out, *SHORT)
    assert f"{bad}, row 4, column y: '0.5': expected 0 or 1" in told
    told = refused("cluster", tmp_path / "nowhere.csv", "--likelihood", "normal", "-o", out, *SHORT)
    assert "nowhere.csv" in told
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--likelihood norml", "--likelihood 'norml': there is none of this name (is normal meant?)"),
        (
            "--likelihood pyclone",
            "--likelihood pyclone: is for tumours, not for a matrix: use pyclone-pgsm analyze",
        ),
        ("--likelihood nowhere.py:X", "nowhere.py: No such file or directory"),
        ("--likelihood nowhere.py", "name the class in the file, too"),
        ("--param r0", "--param 'r0': must be NAME=VALUE, like r0=0.1 or u0=[0,1.5]"),
        ("--param =1", "--param '=1': must be NAME=VALUE"),
        ("--param r0=", "--param 'r0=': must be NAME=VALUE"),
        ("--param r0=1 --param r0=2", "--param 'r0=2': r0 is given twice"),
        ("--param u0=[1,", "--param 'u0=[1,': [1, is no list as in JSON, like [0,1.5]"),
        ("--param s0=1", "--param s0: normal has no such parameter; its parameters: nu0, r0, u0, S0"),
        ("--param r0=-1", "r0 must be a number above 0, not -1"),
        ("--param r0=much", "r0 must be a number above 0, not 'much'"),
        ("--param u0=[1,2,3]", "u0 must be a finite number or a list of 2 finite numbers"),
        ("--id-column nothing", "nothing"),
        ("--prior finite", "--prior finite: needs --max-clusters"),
        ("--prior finite --max-clusters 3 --init disconnected", "the prior allows 3 at most"),
        ("--discount 0.5", "--discount 0.5: has no effect with --prior dp"),
        ("--sampler foo", "--sampler 'foo': must be one of mixed, pgsm, gibbs, sams"),
        ("--threads 0", "--threads 0: must be at least 1"),
        ("--consensus foo", "--consensus 'foo': must be one of mpear"),
        ("--format gif", "--format 'gif': must be one or more of png, pdf, svg, as in png,pdf"),
        ("--init nowhere.tsv", "--init 'nowhere.tsv': no such file; must be one of single"),
        (
            "--iterations 1000 --burn-in 1000",
            "--burn-in 1000: must be less than the number of iterations, 1000, which",
        ),
    ],
)
def test_usage(options, message, points, tmp_path):
    likelihood = () if "--likelihood" in options else ("--likelihood", "normal")
    told = refused("cluster", points, *likelihood, "-o", tmp_path / "out", *options.split())
    assert told.startswith("pyclone-pgsm: ")
    assert message in told
    assert not (tmp_path / "out").exists()


def test_a_likelihood_is_needed(points, tmp_path):
    assert "--likelihood" in refused("cluster", points, "-o", tmp_path / "out")


def test_trace_whose_likelihood_is_gone(tmp_path):
    path = run_matrix(tmp_path / "t.h5", f"{PLUGIN}:PoissonGamma", data=matrix("counts"))
    gone = tmp_path / "gone.py"
    for verb, options in (("resume", ("--iterations", 70)), ("summarize", ("-o", tmp_path / "out"))):
        told = refused(verb, path, "--likelihood", f"{gone}:PoissonGamma", *options)
        assert f"{gone}: No such file or directory" in told


def test_likelihoods():
    done = call("likelihoods")
    assert (done.exit_code, done.stderr) == (0, "")
    for info in installed_likelihoods():
        assert f"{info.name}  ({info.source}" in done.stdout
    assert "--param r0=0.1" in done.stdout
    assert "`" not in done.stdout


def parameters(K: int, **shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    return {name: np.arange(K * np.prod(s), dtype=float).reshape(K, *s) for name, s in shapes.items()}


def test_table_of_parameters_of_any_shape():
    """A number, one for each column, a matrix, and something else."""
    found = parameters(2, rate=(), mean=(3,), covariance=(3, 3), shares=(4,), pairs=(3, 2))
    summary = MixtureSummary(
        ["a", "b", "c"], ["x", "y", "z"], np.array([0, 0, 1]), np.ones(3), np.array([2, 1]), found
    )
    result: Any = mixture_table(summary)
    assert list(result.columns) == [
        *("cluster_id", "dimension", "size", "rate", "mean"),
        *("covariance_x", "covariance_y", "covariance_z"),
        *("shares_1", "shares_2", "shares_3", "shares_4"),
        *("pairs_1", "pairs_2"),
    ]
    assert list(result["rate"]) == [0, 0, 0, 1, 1, 1]
    assert list(result["mean"]) == [0, 1, 2, 3, 4, 5]
    assert list(result["covariance_y"]) == [1, 4, 7, 10, 13, 16]
    assert list(result["shares_2"]) == [1, 1, 1, 5, 5, 5]
    assert list(result["pairs_2"]) == [1, 3, 5, 7, 9, 11]


def test_means_far_from_0_have_the_digits_that_distinguish_them():
    """Such as Julian dates: in the file, on the terminal and in the report."""
    mean, sd = np.array([[2459117.91, 3.0], [2459118.52, 4.0]]), np.full((2, 2), 0.1812345)
    summary = MixtureSummary(
        ["a", "b"], ["day", "x"], np.arange(2), np.ones(2), np.ones(2, int), {"mean": mean, "mean_sd": sd}
    )
    table = mixture_table(summary)
    assert "\n0\tday\t1\t2459117.91\t0.1812345\n" in table_text(table)
    lines = MatrixAnalysis().lines(SimpleNamespace(summary=summary, clusters="2 clusters"))
    assert lines[2].split() == ["0", "1", "2459117.91", "±", "0.18", "3", "±", "0.18"]
    page = mixture_tables(summary, table, ["red", "blue"])[0]
    assert "<td>2.459e+06<" not in page
    assert "<td>2459118.52<td>0.1812\n" in page
    assert flat(mean, summary.digits(6))[2] == 2459118.52


def test_inferred_parameters(points, tmp_path):
    """Both parts of a run that was stopped halfway are those of one that was not."""
    ask = (
        "--likelihood",
        "normal",
        "--param",
        "r0=infer",
        "--param",
        "scale=infer",
        "--no-plots",
        "--threads",
        1,
    )
    whole, half = tmp_path / "whole", tmp_path / "half"
    lengths = ("--burn-in", 20, "--chains", 2)
    done = call("cluster", points, *ask, "-o", whole, "--iterations", 80, *lengths)
    assert done.exit_code == 0
    assert ", r0 " in done.stdout
    assert ", scale " in done.stdout
    told = json.loads((whole / "run.json").read_text())
    assert told["options"]["model"]["parameters"] == {"r0": "infer", "scale": "infer"}
    assert told["diagnostics"]["scale"].keys() == {"median", "lower", "upper", "rhat", "ess"}
    assert call("cluster", points, *ask, "-o", half, "--iterations", 40, *lengths).exit_code == 0
    assert call("resume", half / "trace.h5", "--iterations", 80).exit_code == 0
    with Trace(whole / "trace.h5") as one, Trace(half / "trace.h5") as other:
        assert one.options.hyperparameters == ("r0", "scale")
        for chain in range(2):
            for name in ("r0", "scale"):
                values = one.chains[chain].hyperparameters[name]
                assert len(set(values.tolist())) > 2
                np.testing.assert_array_equal(values, other.chains[chain].hyperparameters[name])
            np.testing.assert_array_equal(one.chains[chain].log_joint, other.chains[chain].log_joint)
    assert call("summarize", half / "trace.h5", "-o", tmp_path / "again").exit_code == 0


def test_thresholds_of_tumours_are_refused(tmp_path):
    """A table of numbers has no mutations that could be present or clonal."""
    trace = run_matrix(tmp_path / "t.h5")
    told = refused("summarize", trace, "-o", tmp_path / "out", "--clonal-above", 0.95)
    assert f"--clonal-above 0.95: is for tumours; {trace} is of 'normal'" in told
    told = refused("report", trace, "-o", tmp_path / "out", "--present-above", 0.1)
    assert f"thresholds are for tumours; {trace} is of 'normal'" in told
    assert not (tmp_path / "out").exists()


def test_a_result_is_not_scored_as_a_tumour(tmp_path):
    write_results(run_matrix(tmp_path / "trace.h5"), tmp_path, formats=())
    truth = tmp_path / "truth.tsv"
    truth.write_text("mutation_id\tcluster\nm0\t0\n")
    assert f"score: is for tumours; {tmp_path} is a result of cluster" in refused("score", tmp_path, truth)


def test_what_cannot_be_inferred(points, tmp_path):
    def told(*parameters: str) -> str:
        options = [text for parameter in parameters for text in ("--param", parameter)]
        return refused("cluster", points, "--likelihood", "normal", *options, "-o", tmp_path / "out", *SHORT)

    assert (
        "--param nu0=infer: normal cannot infer this parameter; with these data it can infer: r0, scale"
        in told("nu0=infer")
    )
    told_of_both = told("S0=1", "scale=infer")
    assert (
        "--param scale=infer: cannot be inferred if S0 is given, too: leave out either scale=infer or S0=1"
        in (told_of_both)
    )
    assert "S0 and scale: give one of them, not both" in told("S0=1", "scale=2")
    assert "scale must be a number above 0" in told("scale=-1")
    assert not (tmp_path / "out").exists()
