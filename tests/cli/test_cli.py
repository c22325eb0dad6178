"""The command: help, exit codes, messages, and what it must not say or import."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import h5py
import pytest
from small_runs import bits, command, edited, run, without_waiting, write_tumour
from typer.testing import CliRunner

from pyclone_pgsm import __main__, __version__
from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.cli import app as cli
from pyclone_pgsm.cli.messages import with_options
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.trace import Trace

PLAIN = "from pyclone_pgsm.__main__ import main; main()"
SHORT = ("--iterations", 40, "--burn-in", 20, "--chains", 2, "--threads", 1)
COMMANDS = (
    "analyze",
    "validate",
    "run",
    "prepare",
    "cluster",
    "likelihoods",
    "resume",
    "merge",
    "summarize",
    "plot",
    "report",
    "export",
    "score",
    "simulate",
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tumour(tmp_path_factory.mktemp("tumour"))


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("trace") / "t.h5")


def call(*arguments: object) -> Any:
    result = CliRunner().invoke(cli.app, list(map(str, arguments)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def refused(*arguments: object) -> str:
    """The message of a call that must end with code 2."""
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


def test_help_and_version():
    assert call("--version").stdout == f"pyclone-pgsm {__version__}\n"
    listed = call("--help")
    assert listed.exit_code == 0
    for name in COMMANDS:
        assert name in listed.stdout
        shown = call(name, "--help")
        assert shown.exit_code == 0
        assert "Usage" in shown.stdout
        assert listed.stderr == shown.stderr == ""


def test_help_imports_nothing_heavy():
    program = (
        "import sys\nfrom pyclone_pgsm import __main__\n"
        "try:\n    __main__.main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'numpy', 'numba', 'pandas', 'h5py', 'matplotlib', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    for arguments in (["--version"], ["--help"], ["analyze", "--help"]):
        subprocess.run(command(*arguments, program=program), check=True, capture_output=True)


def test_a_run_imports_nothing_that_only_results_need():
    program = (
        "import sys\nfrom pyclone_pgsm.analyses import run\n"
        "heavy = {'scipy.stats', 'matplotlib', 'bokeh'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run(command(program=program), check=True, capture_output=True)


@pytest.mark.parametrize("verb", ["analyze", "run", "cluster"])
def test_defaults_are_those_of_the_settings(verb):
    """The command line knows them without importing the settings."""
    (command,) = [c for c in cli.app.registered_commands if (c.name or c.callback.__name__) == verb]
    defaults = {p.name: p.default for p in inspect.signature(command.callback).parameters.values()}
    shared = {field.name: field.default for field in fields(Settings) if field.name in defaults}
    assert defaults.pop("iterations") == "auto"
    assert shared.pop("iterations") is None
    assert {name: defaults[name] for name in shared} == shared
    assert set(shared) == {field.name for field in fields(Settings)} - {
        "hyper_every",
        "iterations",
        "until_converged",
        "watch",
    }


def test_unknown_commands_and_options(table, tmp_path):
    assert "nonsense" in refused("nonsense")
    assert "--nonsense" in refused("analyze", table, "--nonsense")
    assert "--iterations" in refused("analyze", table, "--iterations", "many")
    assert "INPUT" in refused("analyze")
    assert "--out" in refused("run", table)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--sampler gibbs --moves 3", "--moves 3: has no effect with --sampler gibbs: leave it out, or use"),
        ("--sampler gibbs --close-moves 0", "--close-moves 0: has no effect with --sampler gibbs"),
        ("--sampler gibbs --anchor-proposal uniform", "--anchor-proposal uniform: has no effect with"),
        ("--sampler pgsm --sweeps 2", "--sweeps 2: has no effect with --sampler pgsm"),
        ("--sampler sams --particles 20", "--particles 20: has no effect with --sampler sams"),
        ("--sampler mixed-sams --resampling optimal", "--resampling optimal: has no effect with"),
        ("--sampler gibbs --resample-threshold 0.5", "--resample-threshold 0.5: has no effect with"),
        ("--sampler sams --targets annealed", "--targets annealed: has no effect with --sampler sams"),
        ("--sampler gibbs --anchors 2", "--anchors 2: has no effect with --sampler gibbs"),
        ("--scans 5", "--scans 5: has no effect with --sampler mixed"),
        ("--discount infer", "--discount infer: has no effect with --prior dp"),
    ],
)
def test_options_without_effect(options, message, table, tmp_path):
    """They are refused, also where their value is the default, before the input is read."""
    for verb in ("analyze", "run", "cluster"):
        likelihood = ("--likelihood", "normal") if verb == "cluster" else ()
        assert message in refused(verb, table, "-o", tmp_path / "out", *options.split(), *likelihood)


def test_options_of_models_and_pictures_without_effect(table, trace, tmp_path):
    out = tmp_path / "out"
    message = "--precision infer: has no effect with --density binomial"
    assert message in refused("run", table, "-o", out, "--density", "binomial", "--precision", "infer")
    with_no_plots = ("-o", out, "--no-plots", "--format", "png")
    for verb, data in (("analyze", table), ("summarize", trace)):
        assert "--format png: has no effect with --no-plots" in refused(verb, data, *with_no_plots)
    simulated = ("simulate", "-o", out, "--prevalence-prior", "uniform")
    assert "--absent 0.2: has no effect with --prevalence-prior uniform" in refused(
        *simulated, "--absent", 0.2
    )
    for flag in ("--clonal", "--no-clonal"):
        assert f"{flag}: has no effect with --prevalence-prior uniform" in refused(*simulated, flag)
    for text in ("S1", "S1=", "=S1"):
        assert f"--tumour-sample {text}: expected SAMPLE=NAME, a sample of the result and" in refused(
            "export", trace, "--format", "vcf", "--source", table, "-o", out, "--tumour-sample", text
        )
    for option in ("--patient", "--primary", "--source", "--drivers", "--tumour-sample"):
        message = f"{option} {table}: has no effect with --format pairtree: leave it out, or use --format "
        assert message in refused("export", trace, "--format", "pairtree", "-o", out, option, table)
    assert not out.exists()


def test_particles_are_heeded_whatever_the_size(table, tmp_path, monkeypatch):
    """Also where they are as many as by default, and there are so many mutations that the default has none."""
    monkeypatch.setattr("pyclone_pgsm.sampling.settings.MANY_OBSERVATIONS", 10)
    for number, (asked, sampler) in enumerate(((("--particles", 20), "mixed"), ((), "mixed-sams"))):
        path = tmp_path / f"{number}.h5"
        assert call("run", table, "-o", path, *SHORT, *asked).exit_code == 0
        with Trace(path) as opened:
            assert opened.options.settings.sampler == sampler


def check_quiet_about_trouble(result: subprocess.CompletedProcess[str]) -> None:
    assert result.returncode == 0, result.stderr
    assert without_waiting(result.stderr) == ""


def test_analyze_from_the_shell(table, tmp_path):
    """One call as a user makes it; then the folder is refused, replaced, and drawn from."""
    out = tmp_path / "out"

    def shell(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*arguments, program=PLAIN), capture_output=True, text=True, cwd=tmp_path
        )

    first = shell("analyze", table, "-o", out, *SHORT, "--format", "png")
    check_quiet_about_trouble(first)
    assert first.stdout.startswith("40 mutations in 2 samples: ")
    assert first.stdout.endswith(f"written to {out}\n")
    assert {path.name for path in out.iterdir()} == {
        "report.html",
        "mutations.tsv",
        "clusters.tsv",
        "left_out.tsv",
        "trace.h5",
        "run.json",
        "plots",
    }
    assert {path.suffix for path in (out / "plots").iterdir()} == {".png"}
    report = json.loads((out / "run.json").read_text())
    assert report["command"].startswith("pyclone-pgsm")
    assert report["seed"] == 1
    assert report["counts"]["mutations"] == 40

    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    message = refused("analyze", table, "-o", out, *SHORT)
    assert (
        message
        == f"pyclone-pgsm: {out / 'mutations.tsv'} exists already: use --force to replace it, or give another name\n"
    )
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before

    quiet = call("analyze", table, "-o", out, *SHORT, "--force", "--quiet", "--no-plots")
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (0, "", "")
    for name in ("mutations.tsv", "clusters.tsv", "left_out.tsv"):
        assert (out / name).read_bytes() == before[out / name]
    assert not list(tmp_path.rglob("*.part"))


def test_default_folder(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(table, tmp_path / "a tumour.tsv")
    result = call("analyze", "a tumour.tsv", *SHORT, "--no-plots")
    assert result.exit_code == 0
    assert (tmp_path / "a tumour_pyclone_pgsm" / "mutations.tsv").exists()


def test_chains_by_hand(table, tmp_path):
    """run, resume, merge, summarize and plot, one after the other, as good as analyze."""
    one, two, merged = tmp_path / "1.h5", tmp_path / "2.h5", tmp_path / "all.h5"
    done = call("run", table, "-o", one, *SHORT)
    assert (done.exit_code, without_waiting(done.stderr)) == (0, "")
    verdict, written = done.stdout.splitlines()
    assert verdict.startswith("not converged after 40 iterations, burn-in 20: R-hat at most ")
    assert written == f"2 chains written to {one}"
    assert call("run", table, "-o", two, *SHORT, "--seed", 2, "--quiet").stdout == ""
    for path in (one, two):
        done = call("resume", path, "--iterations", 55)
        assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, f"2 chains of 55 iterations in {path}")
    done = call("merge", one, two, "-o", merged)
    assert (done.exit_code, done.stdout) == (0, f"4 chains written to {merged}\n")
    done = call(
        "summarize", merged, "-o", tmp_path / "out", "--no-plots", "--burn-in", 10, "--consensus", "map"
    )
    assert done.exit_code == 0
    assert done.stdout.endswith(f"written to {tmp_path / 'out'}\n")
    report = json.loads((tmp_path / "out" / "run.json").read_text())
    assert report["counts"]["saved_iterations"] == [45] * 4
    assert (report["burn_in"], report["consensus"]) == (10, "map")
    done = call("plot", merged, "-o", tmp_path / "plots", "--format", "pdf,pdf")
    assert done.exit_code == 0
    pictures = list((tmp_path / "plots").iterdir())
    assert done.stdout == f"{len(pictures)} pictures written to {tmp_path / 'plots'}\n"
    assert {path.suffix for path in pictures} == {".pdf"}
    assert "use --force" in refused("plot", merged, "-o", tmp_path / "plots")
    assert "use --force" in refused("merge", one, two, "-o", merged)
    assert "use --force" in refused("run", table, "-o", one, *SHORT)
    assert "use --force" in refused("summarize", merged, "-o", tmp_path / "out")
    assert call("run", table, "-o", one, *SHORT, "--force").exit_code == 0
    with h5py.File(one, "r") as file:
        assert len(file["chains/0/labels"]) == 40


def test_an_output_folder_stands_for_its_trace(table, tmp_path):
    out, plots, merged = tmp_path / "out", tmp_path / "plots", tmp_path / "all.h5"
    out.mkdir()
    call("run", table, "-o", out / "trace.h5", *SHORT)
    done = call("resume", out, "--iterations", 45)
    assert done.stdout.endswith(f"2 chains of 45 iterations in {out / 'trace.h5'}\n")
    assert call("summarize", out, "-o", out, "--no-plots").exit_code == 0
    assert "use --force" in refused("summarize", out, "-o", out)
    assert call("summarize", out, "-o", out, "--no-plots", "--force").exit_code == 0
    assert call("plot", out, "-o", plots, "--format", "svg").exit_code == 0
    call("summarize", out, "-o", out, "--force", "--consensus", "map", "--burn-in", 44)
    concluded = (out / "plots" / "traces.png").read_bytes()
    for drawn, is_same in ((out, True), (out / "trace.h5", False)):
        call("plot", drawn, "-o", plots, "--force")
        assert ((plots / "traces.png").read_bytes() == concluded) is is_same
    call("run", table, "-o", tmp_path / "second.h5", *SHORT, "--seed", 2)
    call("resume", tmp_path / "second.h5", "--iterations", 45)
    assert call("merge", out, tmp_path / "second.h5", "-o", merged).stdout.startswith("4 chains written")
    assert "is an input, which the output would replace" in refused(
        "merge", out, merged, "-o", out / "trace.h5", "--force"
    )
    for verb in ("report", "plot"):
        assert f"{plots}: holds no trace.h5" in refused(verb, plots, "-o", tmp_path / "new")
    for verb in ("resume", "summarize", "merge"):
        options = [] if verb == "resume" else ["-o", tmp_path / "new"]
        assert f"{plots}: this is a folder; a trace is a file" in refused(verb, plots, *options)


def test_a_warning_about_the_input_is_printed_once(table, tmp_path):
    data, out = tmp_path / "t.tsv", tmp_path / "out"
    data.write_text(table.read_text().replace("tumour_content", "unused", 1))
    done = call("analyze", data, "-o", out, *SHORT, "--no-plots")
    unknown = "is unknown and assumed to be 1; set it with"
    assert (done.stderr.count(unknown), done.stdout.count(unknown)) == (1, 0)
    assert "warning: " in done.stdout
    assert sum(unknown in line for line in json.loads((out / "run.json").read_text())["warnings"]) == 1
    assert call("summarize", out, "-o", tmp_path / "again", "--no-plots").stdout.count(unknown) == 1


def test_mistakes_with_force_keep_what_is_there(table, trace, tmp_path):
    out = tmp_path / "out"
    call("analyze", table, "-o", out, *SHORT, "--no-plots")
    before = {path: path.read_bytes() for path in out.iterdir()}
    assert "--burn-in 10000" in refused("analyze", table, "-o", out, "--force", "--burn-in", 10_000)
    assert "--seed -1" in refused("analyze", table, "-o", out, "--force", "--seed", -1)
    assert "burn-in of 60" in refused("summarize", trace, "-o", out, "--force", "--burn-in", 60)
    assert {path: path.read_bytes() for path in out.iterdir()} == before


def test_force_does_not_replace_what_is_read(table, trace, tmp_path):
    data, folder = Path(shutil.copy(table, tmp_path / "t.tsv")), tmp_path / "results"
    folder.mkdir()
    inside = Path(shutil.copy(table, folder / "mutations.tsv"))
    matrix = folder / "assignments.tsv"
    matrix.write_text("id\tx\n" + "".join(f"{i}\t{i % 7}\n" for i in range(9)))
    other, start = Path(shutil.copy(trace, tmp_path / "t.h5")), folder / "clusters.tsv"
    start.write_text("mutation_id\tcluster_id\n")
    before = {path: path.read_bytes() for path in (data, inside, matrix, other, start)}
    for call_of in (
        ("run", data, "-o", data),
        ("run", data, "-o", tmp_path / "results" / ".." / "t.tsv"),
        ("analyze", inside, "-o", folder),
        ("analyze", data, "-o", folder, "--init", start),
        ("analyze", data, "-o", folder, "--init", matrix),
        ("cluster", matrix, "-o", folder, "--likelihood", "normal"),
        ("merge", other, trace, "-o", other),
    ):
        assert "is an input, which the output would replace" in refused(*call_of, "--force")
    assert {path: path.read_bytes() for path in before} == before


def test_an_output_may_be_named_like_a_start(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call("run", table, "-o", "single", *SHORT)
    assert (tmp_path / "single").is_file()


def test_force_leaves_no_pictures_of_what_was_there(table, trace, tmp_path):
    out = tmp_path / "out"
    plots = out / "plots"
    plots.mkdir(parents=True)
    for name in ("coclustering.pdf", "vaf_scatter.png", "mine.png"):
        (plots / name).write_text("old")
    call("summarize", trace, "-o", out, "--force", "--format", "png")
    assert (plots / "mine.png").read_text() == "old"
    assert (plots / "vaf_scatter.png").read_bytes() != b"old"
    assert not list(plots.glob("*.pdf"))
    call("summarize", trace, "-o", out, "--force", "--no-plots")
    assert [path.name for path in plots.iterdir()] == ["mine.png"]


def test_force_leaves_no_tables_of_another_analysis(trace, tmp_path):
    """A folder that `cluster` wrote; other tables of these names are not its result, and stay."""
    for name in ("assignments.tsv", "mine.tsv"):
        (tmp_path / name).write_text("old")
    options = ("-o", tmp_path, "--no-plots", "--no-report", "--force")
    for _ in range(2):
        call("summarize", trace, *options)
        assert (tmp_path / "assignments.tsv").read_text() == "old"
    (tmp_path / "mutations.tsv").unlink()
    call("summarize", trace, *options)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"mine.tsv", "mutations.tsv", "clusters.tsv", "left_out.tsv", "run.json"}


def test_a_trace_that_has_gone_on_is_read_as_it_is_now(table, tmp_path):
    """Not with the burn-in of the tables beside it, which are of fewer iterations."""
    out = tmp_path / "out"
    call("analyze", table, "-o", out, "--no-plots", "--iterations", 20, "--burn-in", 4)
    export = ("--format", "pyclone-vi", "--force", "-o", tmp_path / "t.tsv")
    assert "the trace now has" not in call("export", out, *export).stdout
    call("resume", out / "trace.h5", "--iterations", 40)
    told = call("export", out, *export).stdout
    assert "not converged after 40 iterations" in told
    assert "not converged after 40 iterations" in call("report", out, "-o", tmp_path / "r.html").stdout
    assert f"the tables in {out} are of 20 iterations, the trace now has 40: here the trace is used" in told
    truth = tmp_path / "truth.tsv"
    names = sorted({line.split("\t")[0] for line in (out / "mutations.tsv").read_text().splitlines()[1:]})
    truth.write_text("mutation_id\tcluster\n" + "".join(f"{name}\t0\n" for name in names[1:]))
    scored = call("score", out, truth)
    assert "dream_2a" in scored.stdout
    assert "not compared: 1 mutation that the truth lacks" in scored.stderr
    assert "prevalences not compared" not in scored.stderr
    assert "the trace now has 40; scored are the tables" in scored.stderr
    truth.write_text(
        "mutation_id\tcluster\tsample_id\tccf\n" + "".join(f"{name}\t0\tX\t0.5\n" for name in names)
    )
    scored = call("score", out, truth)
    assert "samples\t0" in scored.stdout
    assert "prevalences not compared: samples 'X', which the result lacks" in scored.stderr
    assert "which the truth lacks" in scored.stderr
    as_now = (tmp_path / "t.tsv").read_bytes()
    call("export", out / "trace.h5", *export)
    assert (tmp_path / "t.tsv").read_bytes() == as_now
    call("export", out / "trace.h5", *export, "--consensus", "map", "--burn-in", 30)
    assert (tmp_path / "t.tsv").read_bytes() != as_now


def test_tables_of_another_trace_than_the_one_beside_them_are_told(table, tmp_path):
    """As where merged chains are summarised in the folder of one of the runs."""
    folders = [tmp_path / name for name in ("one", "two")]
    for seed, folder in enumerate(folders):
        call("analyze", table, "-o", folder, "--no-plots", "--iterations", 20, "--seed", seed)
    merged, export = tmp_path / "all.h5", ("--format", "citup", "--force", "-o", tmp_path / "t")
    call("merge", *(folder / "trace.h5" for folder in folders), "-o", merged)
    call("summarize", merged, "-o", folders[0], "--force", "--no-plots")
    call("summarize", folders[1] / "trace.h5", "-o", folders[1], "--force", "--no-plots", "--burn-in", 15)
    line = "are not of the trace.h5 there: here the trace is used"
    assert f"the tables in {folders[0]} {line}" in call("export", folders[0], *export).stdout
    assert f"the tables in {folders[0]} {line}" in call("report", folders[0], "-o", tmp_path / "r").stdout
    assert line not in call("export", folders[1], *export).stdout


def test_too_few_iterations_are_told(table, tmp_path):
    told = call(
        "analyze", table, "-o", tmp_path / "out", "--no-plots", "--iterations", 3, "--burn-in", 1
    ).stdout
    assert "warning: fewer than 4 saved iterations per chain" in told
    assert "R-hat (" not in told


def test_chains_stuck_apart_are_told(trace, tmp_path):
    stuck = Path(shutil.copy(trace, tmp_path / "t.h5"))
    with edited(stuck) as file:
        for k, chain in file["chains"].items():
            chain["log_joint"][:] = int(k)
    told = call("summarize", stuck, "-o", tmp_path / "out").stdout
    assert "the chains disagree on log_joint (R-hat inf, wanted below 1.05)" in told
    report = json.loads((tmp_path / "out" / "run.json").read_text())
    assert report["diagnostics"]["log_joint"]["rhat"] is None
    assert report["diagnostics"]["log_joint"]["null_because"]["rhat"] == "infinite"


def test_interrupted_after_the_chains(table, tmp_path, monkeypatch):
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(analysis, "write_results", interrupt)
    result = call("analyze", table, "-o", tmp_path / "out", *SHORT, "--no-plots")
    assert result.exit_code == 130
    kept = tmp_path / "out" / "trace.h5"
    assert result.stderr.endswith(f"summarize {kept} -o {tmp_path / 'out'}\n")


def test_interrupted_replacement_keeps_the_older_results(table, tmp_path, monkeypatch):
    out = tmp_path / "out"
    call("analyze", table, "-o", out, *SHORT, "--no-plots")
    before = {path: path.read_bytes() for path in out.iterdir()}

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(analysis, "_run", interrupt)
    result = call("analyze", table, "-o", out, *SHORT, "--no-plots", "--force")
    assert result.exit_code == 130
    new = out / "trace.unfinished.h5"
    assert f"pyclone-pgsm resume {new}, then" in result.stderr
    assert {path: path.read_bytes() for path in out.iterdir()} == before | {new: new.read_bytes()}


def test_run_equals_analyze(table, tmp_path):
    call("run", table, "-o", tmp_path / "t.h5", *SHORT)
    call("analyze", table, "-o", tmp_path / "out", *SHORT, "--no-plots")
    call("summarize", tmp_path / "t.h5", "-o", tmp_path / "again", "--no-plots")
    assert bits(tmp_path / "t.h5") == bits(tmp_path / "out" / "trace.h5")
    for name in ("mutations.tsv", "clusters.tsv", "left_out.tsv"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--sampler foo", "--sampler 'foo': must be one of mixed, pgsm, gibbs"),
        ("--anchor-proposal foo", "--anchor-proposal 'foo': must be one of uniform, cluster"),
        ("--targets foo", "--targets 'foo': must be one of annealed, plain"),
        ("--init foo", "--init 'foo': no such file; must be one of single, disconnected"),
        ("--init random:0", "--init 'random:0': must be one of single, disconnected, random"),
        ("--init random:5000", "--init random:5000: more clusters than the 40 observations; use at most"),
        ("--resampling foo", "--resampling 'foo': must be one of multinomial"),
        ("--sweeps 0", "--sweeps 0: must be at least 1"),
        ("--anchors 1", "--anchors 1: must be at least 2"),
        (
            "--anchors 3 --sampler sams",
            "--anchors 3: has no effect with --sampler sams: leave it out, or use",
        ),
        ("--scans -1", "--scans -1: must be at least 0"),
        ("--prior foo", "--prior 'foo': must be one of dp, pitman-yor, finite"),
        ("--prior finite", "--prior finite: needs --max-clusters"),
        ("--prior finite --max-clusters 0", "--max-clusters 0: must be at least 1"),
        (
            "--max-clusters 3",
            "--max-clusters 3: has no effect with --prior dp: leave it out, or use --prior finite",
        ),
        (
            "--discount 0.5",
            "--discount 0.5: has no effect with --prior dp: leave it out, or use --prior pitman-yor",
        ),
        ("--prior pitman-yor --discount 1", "--discount 1.0: must be at least 0 and less than 1"),
        ("--prior pitman-yor --discount some", "--discount 'some': must be 'infer' or a number"),
        (
            "--prior finite --max-clusters 3 --init disconnected",
            "--init disconnected: 40 clusters, but the prior allows 3 at most",
        ),
        ("--particles 1", "--particles 1: must be at least 2"),
        ("--moves 0", "--moves 0: must be at least 1"),
        ("--resample-threshold 2", "--resample-threshold 2.0: must lie between 0 and 1"),
        ("--iterations 0", "--iterations 0: must be at least 1"),
        (
            "--iterations 100 --burn-in 100",
            "--burn-in 100: must be less than the number of iterations, 100, which",
        ),
        ("--burn-in 10000", "--burn-in 10000: must be less than the number of iterations, 10000, which"),
        ("--burn-in -1", "--burn-in -1: must be at least 0"),
        ("--thin 0", "--thin 0: must be at least 1"),
        ("--iterations 100 --thin 101", "--thin 101: no iteration after the burn-in"),
        ("--chains 0", "--chains 0: must be at least 1"),
        ("--threads 0", "--threads 0: must be at least 1"),
        ("--seed -1", "--seed -1: must be at least 0"),
        (
            "--precision -1",
            "--precision -1.0: must be between 0.1, below",
        ),
        (
            "--precision nan",
            "--precision nan: must be between 0.1, below",
        ),
        ("--precision much", "--precision 'much': must be 'infer' or a number"),
        ("--grid-size 5", "--grid-size 5: must be between 11 and 10001"),
        ("--grid-size 99.5", "--grid-size '99.5': must be 'auto' or a whole number"),
        ("--outlier-prob 1", "--outlier-prob 1.0: must be 0, or between 1e-09 and 1 - 1e-09"),
        (
            "--density binomial --precision 100",
            "--precision 100: has no effect with --density binomial",
        ),
        ("--density normal", "--density 'normal': must be one of"),
        ("--genotype-prior none", "--genotype-prior 'none': must be one of major, parental"),
        ("--concentration 0", "--concentration 0.0: must be a positive number"),
        ("--concentration nan", "--concentration nan: must be a positive number"),
        ("--concentration-prior x", "--concentration-prior 'x': must be 'fixed' or the shape and rate"),
        (
            "--concentration-prior 1,2,3",
            "--concentration-prior '1,2,3': must be 'fixed' or the shape and rate",
        ),
        ("--concentration-prior 0,1", "--concentration-prior '0,1': must be 'fixed' or the shape and rate"),
        (
            "--concentration-prior 1,inf",
            "--concentration-prior '1,inf': must be 'fixed' or the shape and rate",
        ),
        ("--tumour-content 80", "tumour"),
        ("--tumour-content 0", "tumour"),
        ("--tumour-content S9=0.5", "S9"),
        ("--tumour-content abc", "--tumour-content 'abc': not a number; expected a number or SAMPLE=number"),
        ("--tumour-content S1=", "--tumour-content 'S1=': no value; expected a number or SAMPLE=number"),
        ("--tumour-content 0.5 --tumour-content S1=0.5", "--tumour-content: give one number for all"),
        (
            "--tumour-content 0.5 --tumour-content 0.6",
            "--tumour-content: one number for all samples is enough",
        ),
        ("--tumour-content S1=0.5 --tumour-content S1=0.6", "sample 'S1' is given twice"),
        ("--error-rate 0.7", "0.7"),
        ("--format gif", "--format 'gif': must be one or more of png, pdf, svg, as in png,pdf"),
        ("--consensus foo", "--consensus 'foo': must be one of"),
        ("--present-above 1", "--present-above 1: must be a prevalence, at least 0 and below 1"),
        ("--clonal-above 0.01", "--clonal-above 0.01: must be a prevalence above --present-above (0.01)"),
    ],
)
def test_usage(options, message, table, tmp_path):
    for verb, out in (("analyze", tmp_path / "out"), ("run", tmp_path / "t.h5")):
        if verb == "run" and options.startswith(("--format", "--consensus", "--present", "--clonal")):
            continue
        told = refused(verb, table, "-o", out, *options.split())
        assert told.startswith("pyclone-pgsm: ")
        assert message in told
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("verb", "options", "message"),
    [
        ("resume", "--iterations 59", "--iterations 59: {trace} is meant to have 60; give at least that"),
        ("resume", "--iterations 0", "--iterations 0: must be at least 1"),
        ("resume", "--iterations 70 --max-time 9", "--max-time 9: can only be used with --iterations auto"),
        ("resume", "--max-iterations 1", "--max-iterations 1: must be at least 2"),
        ("resume", "--iterations 70 --threads 0", "--threads 0: must be at least 1"),
        ("summarize", "-o {out} --burn-in 60", "no iteration after the burn-in of 60 (the chains have 60)"),
        ("summarize", "-o {out} --burn-in -1", "--burn-in -1: must be at least 0"),
        ("plot", "-o {out} --burn-in -1", "--burn-in -1: must be at least 0"),
        ("summarize", "-o {out} --consensus foo", "--consensus 'foo': must be one of mpear"),
        ("summarize", "-o {out} --present-above -1", "--present-above -1: must be a prevalence, at least 0"),
        ("summarize", "-o {out} --present-above 0.96", "--clonal-above 0.95: must be a prevalence above"),
        (
            "summarize",
            "-o {out} --format gif",
            "--format 'gif': must be one or more of png, pdf, svg, as in png,pdf",
        ),
        ("summarize", "-o {file}", "{file} is a file: give a folder"),
        ("summarize", "-o {file}/out", "Not a directory"),
        ("plot", "-o {out} --burn-in 60", "no iteration after the burn-in of 60"),
        ("plot", "-o {out} --consensus foo", "--consensus 'foo': must be one of mpear"),
        (
            "plot",
            "-o {out} --format gif",
            "--format 'gif': must be one or more of png, pdf, svg, as in png,pdf",
        ),
        ("plot", "-o {file}", "{file} is a file: give a folder"),
        ("plot", "-o {file}/out", "Not a directory"),
        ("merge", "-o {file}", "{file} exists already"),
        ("merge", "-o {file}/all.h5", "{file}: is a file, not a folder"),
        ("merge", "{trace} -o {out}", "its seed 1 is also that of"),
    ],
)
def test_usage_of_traces(verb, options, message, trace, tmp_path):
    names = {"trace": trace, "out": tmp_path / "out", "file": tmp_path / "file"}
    names["file"].write_text("mine")
    before = trace.read_bytes()
    told = refused(verb, trace, *options.format(**names).split())
    assert told.startswith("pyclone-pgsm: ")
    assert message.format(**names) in told
    assert trace.read_bytes() == before
    assert names["file"].read_text() == "mine"
    assert not list(tmp_path.glob("out/*"))


def test_outputs_in_impossible_places(table, tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    assert refused("analyze", table, "-o", file, *SHORT) == f"pyclone-pgsm: {file} is a file: give a folder\n"
    assert "Not a directory" in refused("analyze", table, "-o", file / "out", *SHORT)
    assert "is a file, not a folder" in refused("run", table, "-o", file / "t.h5", *SHORT)
    assert "is a folder: give the name of a file" in refused("run", table, "-o", tmp_path, *SHORT, "--force")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("place", "is_folder", "message"),
    [
        ("clusters.tsv", True, "is a folder: give the name of a file"),
        ("report.html", True, "is a folder: give the name of a file"),
        ("plots", False, "is a file, not a folder"),
        ("plots/traces.png", True, "is a folder: give the name of a file"),
    ],
)
def test_what_stands_in_the_way_is_told_before_the_chains(place, is_folder, message, table, tmp_path):
    (tmp_path / place).mkdir(parents=True) if is_folder else (tmp_path / place).touch()
    told = refused("analyze", table, "-o", tmp_path, *SHORT, "--force")
    assert told.startswith(f"pyclone-pgsm: {tmp_path / place}")
    assert message in told
    assert [path.name for path in tmp_path.iterdir()] == [Path(place).parts[0]]


@pytest.mark.parametrize(
    "verb", [("analyze",), ("run",), ("summarize",), ("plot",), ("merge", "x.h5"), ("simulate",)]
)
@pytest.mark.parametrize("place", ["", "  "])
def test_outputs_without_a_name(verb, place, table, trace, tmp_path, monkeypatch):
    """As of a pipeline's variable that is not set."""
    monkeypatch.chdir(tmp_path)
    inputs = {"analyze": [table], "run": [table], "simulate": []}.get(verb[0], [trace])
    assert "'-o' / '--out': is empty" in refused(*verb, *inputs, "-o", place)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_permission(table, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    assert "Permission denied" in refused("run", table, "-o", tmp_path / "closed" / "t.h5", *SHORT)
    assert "Permission denied" in refused("analyze", table, "-o", tmp_path / "closed" / "out", *SHORT)


@pytest.mark.parametrize("verb", ["resume", "summarize", "plot", "merge"])
@pytest.mark.parametrize("content", [None, b"", b"mutation_id\tsample_id\n", "half"])
def test_no_traces(verb, content, trace, tmp_path):
    path, kind = tmp_path / "bad.h5", content
    if content == "half":
        content = trace.read_bytes()[: trace.stat().st_size // 2]
    if content is not None:
        path.write_bytes(content)
    options = [] if verb == "resume" else ["-o", tmp_path / "out"]
    told = refused(verb, path, *options)
    assert told.startswith(f"pyclone-pgsm: {path}: ")
    expected = {None: "no such file", "half": "the trace is damaged: its content does not have the checksum"}
    assert expected.get(kind, "not a trace of pyclone-pgsm, or damaged") in told


def test_validate(table, tmp_path):
    done = call("validate", table)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "40" in done.stdout.splitlines()[0]
    bad = tmp_path / "bad.tsv"
    lines = table.read_text().splitlines()
    lines[2] = lines[2].replace("\t", "\tx", 2)
    bad.write_text("\n".join(lines))
    told = refused("validate", bad)
    assert f"{bad}, row 3, column ref_counts: 'x" in told
    assert "no such file" in refused("validate", tmp_path / "nowhere.tsv").lower()
    assert "'majr': must be one of major" in refused("validate", table, "--genotype-prior", "majr")
    assert list(tmp_path.iterdir()) == [bad]


def test_validate_tells_what_is_left_out(tmp_path):
    table = tmp_path / "t.tsv"
    header = "mutation_id\tsample_id\tref_counts\talt_counts\tmajor_cn\tminor_cn\tnormal_cn\n"
    table.write_text(header + "a\tS1\t9\t9\t1\t1\t2\nb\tS1\t9\t9\t0\t0\t2\n")
    done = call("validate", table)
    assert done.exit_code == 0
    assert f"{table}, row 3: b S1: " in done.stdout
    out = tmp_path / "out"
    analyzed = call("analyze", table, "-o", out, *SHORT, "--no-plots").stdout
    left_out = (out / "left_out.tsv").read_text()
    assert "\tb\t" in left_out
    for said in (done.stdout, analyzed):  # the same number in both commands: one for each row of the table
        assert re.findall(r"(\d+) left out or changed", said) == [str(left_out.count("\n") - 1)]


def test_simulate(tmp_path):
    done = call("simulate", "-o", tmp_path, "--mutations", 12, "--name", "x", "--purity", 0.5)
    assert done.exit_code == 0
    paths = [Path(line) for line in done.stdout.splitlines()]
    assert [path.name for path in paths] == ["x.tsv", "x.truth.tsv", "x.json"]
    assert all(path.exists() for path in paths)
    assert call("validate", paths[0]).exit_code == 0
    assert "use --force" in refused("simulate", "-o", tmp_path, "--name", "x")
    assert "--depth 0.0: must be" in refused("simulate", "-o", tmp_path, "--depth", 0, "--name", "y")
    assert "--seed -1" in refused("simulate", "-o", tmp_path, "--seed", -1, "--name", "y")
    assert "--artefacts 1.0: must be" in refused("simulate", "-o", tmp_path, "--artefacts", 1, "--name", "y")
    assert call("simulate", "-o", tmp_path, "--artefacts", 0.1, "--name", "z").exit_code == 0
    assert "\t-1\t\n" in (tmp_path / "z.truth.tsv").read_text()


def test_fault_of_the_program_is_no_usage_error(trace, monkeypatch):
    """Exit code 1, with the traceback that a report of the fault needs."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("pyclone_pgsm.analyses.run.resume", broken)
    result = CliRunner().invoke(cli.app, ["resume", str(trace)])
    assert result.exit_code == 1
    assert isinstance(result.exception, RuntimeError)


def test_module_is_run_as_installed():
    """The entry point that the package promises."""
    from importlib.metadata import entry_points

    (entry,) = [e for e in entry_points(group="console_scripts") if e.name == "pyclone-pgsm"]
    assert entry.load() is __main__.main


def test_the_command_line_names_options_where_the_library_names_parameters() -> None:
    text = "`burn_in` -1: must be less; `criterion` 'x' and a file named a`b stay readable"
    assert (
        with_options(text) == "--burn-in -1: must be less; --consensus 'x' and a file named a`b stay readable"
    )
