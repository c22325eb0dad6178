"""`analyze` and `cluster` from Python: what the commands do, and a result that has everything."""

from __future__ import annotations

import copy
import doctest
import gc
import html
import inspect
import math
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from small_runs import matrix, shorten, write_tumour
from typer.testing import CliRunner

import pyclone_pgsm
from pyclone_pgsm import (
    Clustering,
    ModelOptions,
    PycloneError,
    Result,
    Settings,
    analysis,
    analyze,
    cluster,
    open_trace,
    read_tables,
)
from pyclone_pgsm.analyses.reading import read_counts
from pyclone_pgsm.analyses.run import resume
from pyclone_pgsm.analyses.tumour import TumourAnalysis
from pyclone_pgsm.cli import app as cli
from pyclone_pgsm.errors import (
    DataValueError,
    DensityError,
    InputError,
    OutputError,
    Problem,
    TraceError,
    UsageError,
)
from pyclone_pgsm.inputs.read_counts.tables import sources_of
from pyclone_pgsm.posterior.states import Thresholds
from pyclone_pgsm.priors import CustomPrior
from pyclone_pgsm.trace import Trace

PLUGIN = Path(__file__).parents[1] / "examples" / "poisson_gamma" / "pyclone_pgsm_poisson_gamma.py"
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


def test_callers_that_let_numpy_raise_errors(table: Path, tmp_path: Path) -> None:
    """Numbers that are too small for a float are normal here."""
    short = Settings(iterations=20, chains=1)
    deep = pd.read_csv(table, sep="\t")
    deep[["ref_counts", "alt_counts"]] *= 20
    with np.errstate(all="raise"):
        analyze(deep, ModelOptions(density="binomial"), settings=short, out=tmp_path / "tumour")
        cluster(1e3 * matrix().values, settings=short)
        assert open_trace(tmp_path / "tumour").summary


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
    for name, format in (("mutations.tsv", "pyclone-vi"), ("", "phyclone")):  # which has a clusters.tsv, too
        with pytest.raises(OutputError, match=r"s\.tsv: is an input, which the output would replace"):
            kept.export(format, tmp_path / "python" / name, force=True)


def test_force_does_not_replace_the_start(table: Path, tmp_path: Path) -> None:
    start = tmp_path / "clusters.tsv"
    start.write_text("mine")
    settings = Settings(iterations=20, chains=1, init=str(start))
    for function, data in ((analyze, table), (cluster, matrix().values)):
        with pytest.raises(OutputError, match=r"clusters\.tsv: is an input, which the output would replace"):
            function(data, settings=settings, out=tmp_path, force=True)
    with pytest.raises(OutputError, match=r"clusters\.tsv: is an input, which the output would replace"):
        cluster(matrix().values, settings=settings, trace=start, force=True)
    assert start.read_text() == "mine"


def test_data_frames_and_files_are_the_same(table: Path, result: Result) -> None:
    frame = pd.read_csv(table, sep="\t")
    pd.testing.assert_frame_equal(analyze(frame, MODEL, settings=SHORT).mutations, result.mutations)
    samples = {str(sample): rows.drop(columns="sample_id") for sample, rows in frame.groupby("sample_id")}
    apart = analyze(samples, MODEL, settings=SHORT)
    assert apart.mutations["sample_id"].unique().tolist() == list(samples)
    assert len(apart.mutations) == len(result.mutations)
    halves = [rows for _, rows in frame.groupby("sample_id")]
    pd.testing.assert_frame_equal(analyze(halves, MODEL, settings=SHORT).mutations, apart.mutations)


def test_read_tables_takes_data_frames(table: Path) -> None:
    frame = pd.read_csv(table, sep="\t")
    of_frame, of_file = read_tables(frame)[0], read_tables(table)[0]
    assert of_frame.mutation_ids == of_file.mutation_ids
    np.testing.assert_array_equal(of_frame.alt_counts, of_file.alt_counts)


def test_types_of_columns_of_data_frames() -> None:
    """Numbers are those that the frame shows, whatever their type, and missing values are empty."""
    frame = pd.DataFrame(
        {
            "mutation_id": pd.Series([1, 2], dtype="category"),
            "sample_id": pd.array(["S", "S"], dtype="string"),
            "ref_counts": pd.array([9, 8], dtype="Int64"),
            "alt_counts": [1.0, 2.0],
            "major_cn": pd.Series(["1", 1], dtype=object),
            "minor_cn": 1,
            "normal_cn": 2,
            "tumour_content": np.float32(0.8),
            "gene": ["TP53", None],
        }
    )
    observations = read_counts(sources_of(frame), None, None, "major").observations
    assert (observations.mutation_ids, observations.sample_ids) == (["1", "2"], ["S"])
    assert observations.alt_counts.ravel().tolist() == [1, 2]
    assert observations.tumour_content.ravel().tolist() == [0.8, 0.8]
    assert observations.annotations == {"gene": ["TP53", ""]}


def test_samples_that_are_numbers(table: Path) -> None:
    """A number is the name of a sample in the dict of data frames, and in that of tumour contents."""
    frame = pd.read_csv(table, sep="\t")
    of_sample = frame[frame["sample_id"] == frame["sample_id"][0]].drop(columns="sample_id")
    observations, _ = read_tables({1: of_sample, 2: of_sample}, tumour_content={1: 0.5, np.int64(2): 0.6})  # type: ignore[dict-item]
    assert observations.sample_ids == ["1", "2"]
    assert observations.tumour_content[0].tolist() == [0.5, 0.6]
    assert ModelOptions(tumour_content={1: 0.5}).tumour_content == {"1": 0.5}  # type: ignore[dict-item]


def test_the_first_of_two_rows_is_named_as_in_its_data_frame(table: Path) -> None:
    frame = pd.read_csv(table, sep="\t")
    again = frame.iloc[[4]]
    number = len(frame)
    with pytest.raises(InputError, match=rf"row {number}, .*; the first is row 4\. Keep one"):
        pyclone_pgsm.analyze(pd.concat([frame, again]))
    of_first = r"the first is row 4 of data frame 0 \(rows counted from 0\)\. Keep one"
    with pytest.raises(InputError, match=rf"^data frame 1 \(rows counted from 0\), row 0, .*; {of_first}"):
        pyclone_pgsm.analyze([frame, again])


def test_mistakes_in_data_frames(table: Path) -> None:
    frame = pd.read_csv(table, sep="\t")
    wrong = frame.astype({"alt_counts": object})
    wrong.loc[3, "alt_counts"] = "many"
    with pytest.raises(
        InputError, match=r"^the data frame \(rows counted from 0\), row 3, column alt_counts: 'many'"
    ):
        analyze(wrong, settings=SHORT)
    twice = pd.concat([frame.assign(sample_id="S1"), pd.Series("S1", frame.index, name="sample_id")], axis=1)
    with pytest.raises(InputError, match="column sample_id: the header has this name more than once"):
        analyze({"S1": twice}, settings=SHORT)
    with pytest.raises(InputError, match="row 0, column sample_id: '': empty; every row needs a sample_id"):
        read_tables({math.nan: frame.drop(columns="sample_id")})  # type: ignore[dict-item]
    for tables, message in (
        (frame.drop(columns="sample_id"), "the data frame has no column sample_id: add one"),
        ({"S1": table}, "the table of 'S1' must be a data frame, not PosixPath"),
        ({"P": frame}, "the data frame of 'P' has rows of sample_id"),
        ([frame, frame.drop(columns="sample_id")], "data frame 1 has no column sample_id"),
        ([], "no input table given"),
        (None, "`tables` None: must be a data frame"),
        (3, "`tables` 3: must be a data frame"),
        ([table, 3], "`tables` 3: must be a data frame"),
        (iter([frame]), "`tables` <list_iterat.*>: must be a data frame"),
        ("", "`tables` '': must be a path; it is empty"),
    ):
        with pytest.raises(UsageError, match=message):
            analyze(tables, settings=SHORT)  # type: ignore[arg-type]
    without_copy = frame.copy()
    without_copy.loc[0, ["major_cn", "minor_cn"]] = 0
    left_out = analyze(without_copy, MODEL, settings=SHORT).left_out
    assert left_out["file"].iloc[0] == "the data frame (rows counted from 0)"
    assert left_out["row"].iloc[0] == 0


def write_calls(folder: Path) -> tuple[Path, dict[str, Path]]:
    """A VCF of two regions that does not tell which samples are tumours, and the segments of each."""
    lines = [
        "##fileformat=VCFv4.2",
        "#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT N R1 R2".replace(" ", "\t"),
    ]
    for place, alt in enumerate([40, 42, 38, 41, 43, 39, 10, 12, 9, 11, 8, 13]):
        counts = f"60,0 {100 - alt},{alt} {90 - alt // 4},{alt // 4}"
        lines.append(f"1 {10 * place + 5} . A C . PASS . AD {counts}".replace(" ", "\t"))
    lines.append(lines[-1].replace("PASS", "weak").replace("\t115\t", "\t125\t"))
    calls = folder / "calls.vcf"
    calls.write_text("\n".join(lines) + "\n")
    segments = {"R1": folder / "first.tsv", "R2": folder / "second.tsv"}
    for path in segments.values():
        path.write_text("chrom\tstart\tend\tmajor_cn\tminor_cn\n1\t1\t1000\t1\t1\n")
    return calls, segments


def test_mutations_with_segments_as_the_command_reads_them(tmp_path: Path) -> None:
    calls, segments = write_calls(tmp_path)
    options = ["--tumour-sample", "R1", "--tumour-sample", "R2", "--all-filters", "--sex", "female"]
    options += ["--tumour-content", "R1=0.8"]
    for sample, path in segments.items():
        options += ["-c", f"{sample}={path}"]
    command = CliRunner().invoke(
        cli.app, ["analyze", str(calls), "-o", str(tmp_path / "command"), *options, *SHORT_OPTIONS]
    )
    assert command.exit_code == 0, command.output
    model = ModelOptions(precision=200.0, tumour_content={"R1": 0.8})
    how = {"tumour_sample": ["R1", "R2"], "all_filters": True, "sex": "female"}
    result = analyze(calls, model, settings=SHORT, segments=segments, out=tmp_path / "python", **how)  # type: ignore[arg-type]
    for name in ("mutations.tsv", "clusters.tsv", "left_out.tsv"):
        assert (tmp_path / "python" / name).read_bytes() == (tmp_path / "command" / name).read_bytes()
    assert result.mutations["mutation_id"].nunique() == 13
    unknown = "tumour content of 'R2' is unknown and assumed to be 1; set it with `tumour_content`"
    assert result.warnings.count(unknown) == 1
    named = {"R1": calls, "R2": [calls]}  # as in a sample sheet, where the names tell the tumours
    again = analyze(named, model, settings=SHORT, segments=segments)
    assert again.left_out["reason"].tolist() == ["FILTER is weak, not PASS; `all_filters` takes it"]


def test_mistakes_with_segments(table: Path, tmp_path: Path) -> None:
    calls, segments = write_calls(tmp_path)
    given = {"tumour_sample": ("R1", "R2"), "segments": segments}
    for tables, options, error, message in (
        (
            calls,
            {},
            InputError,
            "mutations without copy numbers: give copy-number segments of .* with `segments`",
        ),
        (table, {"sex": "female"}, UsageError, "`sex` is for mutations with `segments`, not for tables"),
        (table, {"gender": "female"}, TypeError, r"analyze\(\) got an unexpected keyword argument 'gender'"),
        (
            pd.DataFrame(),
            {"segments": segments},
            UsageError,
            "mutations with `segments` are files, not DataFrame",
        ),
        (calls, {"segments": segments}, InputError, "which sample is the tumour"),
        (calls, {**given, "segments": []}, UsageError, "mutations need copy numbers: give `segments`"),
        (
            calls,
            {**given, "genome_build": "hg19"},
            UsageError,
            "`genome_build` 'hg19': must be one of GRCh37, GRCh38",
        ),
        (
            calls,
            {**given, "tumour_sample": ["R1", "R9"]},
            UsageError,
            "`tumour_sample` 'R9': no file has this sample",
        ),
        (calls, {**given, "segments": {"R7": segments["R1"]}}, UsageError, "segments are given for 'R7'"),
    ):
        with pytest.raises(error, match=message):
            analyze(tables, settings=SHORT, **options)  # type: ignore[arg-type]


def test_mistakes_speak_of_parameters(table: Path, tmp_path: Path) -> None:
    for options, message in (
        ({"criterion": "best"}, "`criterion` 'best': must be one of"),
        ({"threads": 0}, "`threads` 0"),
        ({"error_rate": 2.0}, "`error_rate` 2: out of range"),
        ({"error_rate": "0.01"}, "`error_rate` '0.01': not a number"),
        ({"error_rate": 10**400}, "`error_rate` inf: out of range"),
        ({"threads": "2"}, "`threads` '2': must be a whole number"),
        (
            {"model": {"density": "binomial"}},
            r"`model` {'density': 'binomial'}: must be of the class ModelOptions",
        ),
        ({"prior": "dp"}, "`prior` 'dp': must be a prior"),
        ({"thresholds": (0.1, 0.9)}, r"`thresholds` \(0.1, 0.9\): must be of the class Thresholds"),
        ({"thresholds": Thresholds("0.1")}, "`present_above` '0.1': must be a number"),  # type: ignore[arg-type]
        ({"out": 3}, "`out` 3: must be a path"),
        ({"out": ""}, "`out` '': must be a path; it is empty"),
    ):
        with pytest.raises(PycloneError, match=message):
            analyze(table, settings=SHORT, **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="`trace` and `out`: give one of them"):
        cluster(matrix().values, trace=tmp_path / "t.h5", out=tmp_path)
    with pytest.raises(UsageError, match=r"`settings` {'iterations': 5}: must be of the class Settings"):
        analyze(table, settings={"iterations": 5})  # type: ignore[arg-type]
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
    assert b"</html>" in result.report(tmp_path / "new" / "page.html").read_bytes()
    (tmp_path / "page.html").write_text("mine")
    with pytest.raises(OutputError, match=r"page\.html exists already: use `force` to replace it"):
        result.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == "mine"
    assert b"</html>" in result.report(tmp_path / "page.html", force=True).read_bytes()
    assert result.report(force=True) == result.path.parent / "report.html"
    for replace in (result.report, lambda path, force: result.export("pyclone-vi", path, force=force)):
        for read in (result.path, result.path.with_name("run.json")):
            with pytest.raises(OutputError, match="is an input, which the output would replace"):
                replace(read, force=True)
    result.export("pyclone-vi", tmp_path / "export.tsv")
    exported = pd.read_csv(tmp_path / "export.tsv", sep="\t")
    assert exported["cluster_id"].tolist() == result.mutations["cluster_id"].tolist()


def test_mistakes_with_results(result: Result) -> None:
    for call, message in (
        (lambda: open_trace(3), "`path` 3: must be a path"),  # type: ignore[arg-type]
        (lambda: open_trace(result.path, consensus="best"), "`consensus` 'best': must be one of mpear, vi"),
        (lambda: open_trace(result.path, burn_in=1.5), "`burn_in` 1.5: must be a whole number"),  # type: ignore[arg-type]
        (lambda: open_trace(result.path, thresholds=0.1), "`thresholds` 0.1: must be"),  # type: ignore[arg-type]
        (lambda: result.report(3), "`path` 3: must be a path"),  # type: ignore[arg-type]
        (lambda: result.export("maf", 3), "`out` 3: must be a path"),  # type: ignore[arg-type]
        (lambda: result.export(["maf"], "x"), r"`format` \['maf'\]: must be one of"),  # type: ignore[arg-type]
        (
            lambda: result.export("pyclone", "x", drivers=["TP53"]),
            "`drivers` TP53: has no effect with `format` pyclone: leave it out, or use `format` ctree or revolver",
        ),
        (
            lambda: result.export("pyclone", "x", tumour_sample={"S1": "T"}),
            "`tumour_sample` .*S1.*: has no effect with `format` pyclone: leave it out, or use `format` maf or vcf or",
        ),
        (
            lambda: result.export("ctree", "x", drivers=["TP53", 7]),  # type: ignore[list-item]
            "`drivers` 7: must be the name of a gene or of a mutation",
        ),
        (
            lambda: ModelOptions(density="binomial", precision=100.0),
            "`precision` 100.0: has no effect with `density` binomial",
        ),
        (lambda: read_tables(3), "`tables` 3: must be a data frame, the path of a table"),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError, match=message):
            call()


@pytest.mark.parametrize(
    "problem",
    [
        UsageError("`threads` 0: must be at least 1"),
        DataValueError(3, 1, math.nan, "0 or 1"),
        DensityError("prior", -math.inf, 7),
        InputError([Problem("t.tsv", "not a number", 3, "alt_counts", "many")] * 30, 2),
    ],
)
def test_errors_reach_other_processes(problem: PycloneError) -> None:
    """As from the workers of a process pool, each with a tumour."""
    for again in (pickle.loads(pickle.dumps(problem)), copy.copy(problem)):
        assert type(again) is type(problem)
        assert str(again) == str(problem)
        assert repr(vars(again)) == repr(vars(problem))


def test_pictures_of_a_result(result: Result, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"`formats` 'gif': must be one of png, pdf, svg"):
        result.write_pictures(tmp_path / "pictures", ("png", "gif"))
    assert not (tmp_path / "pictures").exists()
    files = result.write_pictures(tmp_path / "pictures", ("svg",))
    assert sorted(files) == sorted((tmp_path / "pictures").iterdir())
    assert {path.suffix for path in files} == {".svg"}


def test_display(result: Result, clustered: Result) -> None:
    for each in (result, clustered):
        shown = each._repr_html_()
        assert html.escape(repr(each)) in shown
        assert shown.count("<tr") == len(each.clusters) + 1
        assert html.escape(each.convergence) in shown


def test_another_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = cluster(matrix().values, settings=SHORT, trace="trace.h5")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir("other")
    assert found.plot.traces()
    assert found.report() == tmp_path / "report.html"
    assert found.path == Path("trace.h5")


def test_a_likelihood_in_the_earlier_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("counts.py").write_text(PLUGIN.read_text())
    cluster(matrix("counts").values, "counts.py:PoissonGamma", settings=SHORT, trace="new/trace.h5")
    found = open_trace("new/trace.h5", likelihood="counts.py:PoissonGamma")
    monkeypatch.chdir("/")
    assert found.plot.traces()


def test_a_trace_that_another_run_replaced(tmp_path: Path) -> None:
    path = tmp_path / "trace.h5"
    found = cluster(matrix().values, settings=SHORT, trace=path)
    resume(path, 80)
    assert found.plot.traces()
    assert found.report() == tmp_path / "report.html"
    found = open_trace(shorten(path, [80, 0]))
    resume(path, 90)
    assert found.plot.traces()
    cluster(2.0 * matrix().values, settings=SHORT, trace=path, force=True)
    with pytest.raises(TraceError, match="this is no longer the trace of this result, but of another run"):
        found.report(force=True)


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
    with pytest.raises(UsageError, match="only analyses of tumours have a table left_out"):
        clustered.left_out  # noqa: B018
    assert "left_out" not in dict(inspect.getmembers(clustered))
    kept = cluster(matrix().values, settings=SHORT, out=tmp_path / "out")
    assert {"assignments.tsv", "clusters.tsv", "run.json", "trace.h5", "report.html", "plots"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }
    np.testing.assert_array_equal(kept.draws, clustered.draws)  # type: ignore[attr-defined]
    with pytest.raises(OutputError, match="exists already"):
        cluster(matrix().values, settings=SHORT, out=tmp_path / "out")


@pytest.mark.parametrize("likelihood", ["normal", f"{PLUGIN}:PoissonGamma"])
def test_a_trace_of_a_matrix_is_opened_as_a_clustering(likelihood: str, tmp_path: Path) -> None:
    values = matrix("counts").values
    prior = CustomPrior(lambda j: -1.0 * j, gammaln)
    made = cluster(values, likelihood, None, prior, SHORT, criterion="binder", trace=tmp_path / "trace.h5")
    opened = open_trace(tmp_path / "trace.h5", consensus="binder", likelihood=likelihood)
    assert isinstance(opened, Clustering)
    for name in ("labels", "assignment_prob", "cluster_size", "draws", "chain_weights"):
        np.testing.assert_array_equal(getattr(opened, name), getattr(made, name))
    assert opened.settings == made.settings
    for name, parameter in made.parameters.items():
        np.testing.assert_array_equal(opened.parameters[name], parameter)
    for name, drawn in made.hyperparameters.items():
        np.testing.assert_array_equal(opened.hyperparameters[name], drawn)
    np.testing.assert_array_equal(opened.predict_proba(values), made.predict_proba(values))
    np.testing.assert_array_equal(opened.log_predictive(values), made.log_predictive(values))


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
        again.report(tmp_path / "again.html")


def test_a_forked_process_keeps_the_temporary_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its copy of the result goes without it, as where a worker fits an estimator again."""
    found = cluster(matrix().values, settings=SHORT)
    folder = found.path.parent
    monkeypatch.setattr(os, "getpid", lambda: -1)
    del found
    gc.collect()
    assert folder.exists()
    shutil.rmtree(folder)
