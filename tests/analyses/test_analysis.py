"""The commands as functions: options that cannot be, unfinished traces, the report."""

from __future__ import annotations

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_runs import FIXED, LEFT_OUT, run, shorten, tumour

from pyclone_pgsm import __version__
from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.reading import Reading
from pyclone_pgsm.analyses.results import check_folder
from pyclone_pgsm.analyses.tumour import TumourAnalysis
from pyclone_pgsm.cli.messages import summary_lines
from pyclone_pgsm.errors import OutputError, TraceError, UsageError
from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.posterior.summarize import summarize
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.report.pages import summary_line
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.trace import Trace

ONE_LEFT_OUT = LeftOut("table.tsv", 2, "m1", "S", "no reads")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("trace") / "t.h5", iterations=90, burn_in=40)


def cut(trace: Path, path: Path, lengths: tuple[int, ...]) -> Path:
    """A copy whose chains have only so many saved iterations, as of a run that was interrupted."""
    return shorten(Path(shutil.copy(trace, path)), lengths)


def test_options_that_cannot_be():
    for values, message in (
        ({"genotype_prior": "x"}, "`genotype_prior` 'x': must be one of major"),
        ({"density": "x"}, "`density` 'x': must be one of"),
        ({"precision": 0.0}, "`precision` 0.0: must be between 0.1"),
        (
            {"precision": "per-sample"},
            "`precision` 'per-sample': must be a positive number, 'infer-per-sample', or None, which infers it",
        ),
        ({"grid_size": 10}, "`grid_size` 10: must be between 11 and 10001"),
        (
            {"tumour_content": {"a": Uncertain(0.5, -1.0)}},
            "`tumour_content` a=0.5±-1: the standard deviation must",
        ),
    ):
        with pytest.raises(UsageError) as caught:
            analysis.ModelOptions(**values)
        assert str(caught.value).startswith(message)


def test_only_uncertain_tumour_contents_are_stored():
    samples = tumour().sample_ids
    known = Uncertain(0.8, 0.1)
    for option, expected in (
        (None, None),
        (0.5, None),
        ({"S1": 0.5}, None),
        (known, {sample: [0.8, 0.1] for sample in samples}),
        ({"S2": known, "S1": 0.5}, {"S2": [0.8, 0.1]}),
    ):
        stored = analysis.ModelOptions(tumour_content=option).resolve(tumour()).to_dict()
        assert stored.get("tumour_content") == expected


def test_analyze(tmp_path):
    calls: list[tuple[int, int, int, int]] = []
    plan = analysis.plan_tumour(
        Reading(tumour(), LEFT_OUT),
        analysis.ModelOptions(),
        Settings(iterations=60, chains=2),
        DirichletProcess(),
        None,
    )
    result = analysis.fill_folder(
        plan,
        tmp_path / "a" / "b",
        command="a command",
        progress=lambda *numbers: calls.append(numbers),
        formats=("png",),
    )
    folder = tmp_path / "a" / "b"
    assert {path.name for path in folder.iterdir()} == {*TumourAnalysis.files, "plots"}
    assert {(chain, total) for chain, _, total, _ in calls} == {(0, 60), (1, 60)}
    assert {chain for chain, done, _, _ in calls if done == 60} == {0, 1}
    report = json.loads((folder / "run.json").read_text())
    assert report["version"] == __version__
    assert report["command"] == "a command"
    assert report["seed"] == report["options"]["settings"]["seed"] == 1
    assert report["counts"] == {
        "samples": 2,
        "mutations": 40,
        "left_out": 2,
        "clusters": result.summary.num_clusters,
        "chains": 2,
        "saved_iterations": [30, 30],
    }
    weights = {f"weight_{kind}:{sample}" for kind in ("absent", "clonal") for sample in ("S1", "S2")}
    assert set(report["diagnostics"]) == {"log_joint", "num_clusters", "concentration", "precision"} | weights
    assert set(report["seconds"]) == {"chains", "summarize", "plots", "pages", "sampling_all_chains"}
    assert "numba" in report["versions"]


@pytest.mark.parametrize("precision", [np.inf, 50.0])
def test_report_of_fixed_precisions_is_plain_json(precision, tmp_path):
    path = run(tmp_path / "t.h5", model=analysis.ModelOptions(precision=precision), iterations=20, burn_in=10)
    analysis.write_results(path, tmp_path / "out", formats=())

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    report = json.loads((tmp_path / "out" / "run.json").read_text(), parse_constant=refuse)
    model = report["options"]["model"]
    assert model["precision"] == (None if precision == np.inf else 50.0)
    assert model.get("null_because") == ({"precision": "infinite"} if precision == np.inf else None)
    assert "precision" not in report["diagnostics"]


def test_infinite_precision_is_the_binomial(tmp_path):
    same = {"iterations": 20, "burn_in": 10, "chains": 1}
    one = run(tmp_path / "1.h5", model=analysis.ModelOptions(precision=np.inf), **same)
    two = run(tmp_path / "2.h5", model=analysis.ModelOptions(density="binomial"), **same)
    with Trace(one) as first, Trace(two) as second:
        np.testing.assert_array_equal(first.chains[0].log_joint, second.chains[0].log_joint)


def test_unfinished_trace_is_summarized_with_a_warning(trace, tmp_path):
    path = cut(trace, tmp_path / "short.h5", (90, 55))
    result = analysis.write_results(path, tmp_path / "out", formats=("png",))
    assert result.warnings[0] == "chains 1 have not done all 90 iterations: resume the trace"
    counts = json.loads((tmp_path / "out" / "run.json").read_text())["counts"]
    assert counts["saved_iterations"] == [50, 15]


def test_chain_that_had_not_begun(trace, tmp_path):
    """Tables and pictures come from the others."""
    path = cut(trace, tmp_path / "short.h5", (90, 0))
    result = analysis.write_results(path, tmp_path / "out", formats=("png",))
    assert "chains 1 have not done" in result.warnings[0]
    assert (tmp_path / "out" / "plots" / "traces.png").exists()
    assert (tmp_path / "out" / "run.json").exists()


def test_nothing_after_the_burn_in_writes_nothing(trace, tmp_path):
    for lengths, message in (
        ((0, 0), r"short\.h5: has no iteration yet: resume the trace"),
        ((40, 13), r"no iteration after the burn-in of 40 \(the chains have 40\)"),
    ):
        path = cut(trace, tmp_path / "short.h5", lengths)
        with pytest.raises(TraceError, match=message):
            analysis.write_results(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_check_folder(tmp_path):
    check_folder(tmp_path / "new", False, TumourAnalysis.files)
    for name in (*TumourAnalysis.files, "plots"):
        folder = tmp_path / f"with {name}"
        folder.mkdir()
        (folder / name).mkdir() if name == "plots" else (folder / name).touch()
        with pytest.raises(OutputError, match=f"{name} exists already: use `force`"):
            check_folder(folder, False, TumourAnalysis.files)
        check_folder(folder, True, TumourAnalysis.files)
        assert (folder / name).exists()
    check_folder(tmp_path / "with trace.h5", False, TumourAnalysis.files[:-1])
    with pytest.raises(OutputError, match="is a file: give a folder"):
        check_folder(tmp_path / "with trace.h5" / "trace.h5", False, TumourAnalysis.files)


def test_run_in_a_thread(trace, tmp_path):
    """Where signals cannot be caught."""
    thread = threading.Thread(target=run, args=(tmp_path / "t.h5",), kwargs={"iterations": 90, "burn_in": 40})
    thread.start()
    thread.join()
    with Trace(tmp_path / "t.h5") as mine, Trace(trace) as its:
        np.testing.assert_array_equal(mine.chains[1].log_joint, its.chains[1].log_joint)


def test_what_the_terminal_says(trace):
    with Trace(trace) as opened:
        result = summarize(opened)
    lines = summary_lines(replace(result, left_out=[ONE_LEFT_OUT] * 3))
    K = result.summary.num_clusters
    assert lines[0] == f"40 mutations in 2 samples: {result.clusters}; 3 left out or changed (left_out.tsv)"
    many = summary_lines(replace(result, left_out=[ONE_LEFT_OUT] * 10))[0]
    assert many.endswith("; 10 left out or changed (left_out.tsv), 10 because: no reads")
    assert lines[1].split() == ["cluster", "size", "S1", "S2"]
    for k in range(K):
        number, size, first, *_ = lines[2 + k].split()
        assert (int(number), int(size)) == (k, result.summary.cluster_size[k])
        assert first == f"{result.summary.cluster_mean[k, 0]:.3f}"
    trunk = int(np.flatnonzero((result.summary.cluster_prob_clonal > 0.5).all(axis=1))[0])
    size = result.summary.cluster_size[trunk]
    assert lines[2 + K].startswith(f"trunk: cluster {trunk} ({size} mutations), clonal in every sample")
    assert any(line.startswith("overdispersion: precision") for line in lines)
    assert not any(word in line.lower() for line in lines for word in ("error", "exception"))


def test_terminal_without_trunk_and_with_a_cluster_that_is_nowhere(trace):
    with Trace(trace) as opened:
        result = summarize(opened)
    shape = result.summary.cluster_mean.shape
    present = np.ones(shape)
    present[1] = 0.1
    summary = replace(
        result.summary,
        cluster_prob_clonal=np.zeros(shape),
        cluster_prob_present=present,
        sample_ids=["S1", "S2"],
    )
    lines = summary_lines(replace(result, summary=summary))
    assert "trunk: no cluster is clonal in every sample" in lines
    assert "Trunk: no cluster is clonal in every sample. " in summary_line(replace(result, summary=summary))
    unseen = replace(summary, depth=summary.depth * np.array([1, 0]))
    assert "trunk: no cluster is clonal in every sample with reads" in summary_lines(
        replace(result, summary=unseen)
    )
    assert [line.endswith("  absent from every sample") for line in lines[2:5]] == [False, True, False]


def test_terminal_with_fixed_precision_says_nothing_of_it(tmp_path):
    with Trace(run(tmp_path / "t.h5", model=FIXED, iterations=20, burn_in=10)) as opened:
        result = summarize(opened)
    assert not any("precision" in line for line in summary_lines(result))
    assert "left out" not in summary_lines(replace(result, left_out=[]))[0]
