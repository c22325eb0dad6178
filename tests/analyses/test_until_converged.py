"""Chains that run until they have converged: threads, kills, limits, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_runs import FIXED, bits, many_segments, run, run_matrix, shorten, write_tumour
from typer.testing import CliRunner

from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.run import prolonged
from pyclone_pgsm.analyses.run_json import run_report
from pyclone_pgsm.cli import app as cli
from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.posterior.convergence import monitor_of, verdict_line, verdict_of
from pyclone_pgsm.posterior.summarize import summarize
from pyclone_pgsm.sampling import chain, convergence, settings
from pyclone_pgsm.sampling.settings import Settings, start_of
from pyclone_pgsm.trace import Trace, merge_traces

AUTO: dict[str, Any] = {"iterations": None, "burn_in": None, "chains": 3}


@pytest.fixture
def _easy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that small runs fulfil, checked at the iterations of :data:`CHECKED`."""
    for module in (settings, convergence):
        monkeypatch.setattr(module, "first_check", lambda _: 20)
    monkeypatch.setattr(convergence, "RHAT_LIMIT", 1.1)
    monkeypatch.setattr(convergence, "ESS_LIMIT", 40.0)
    monkeypatch.setattr(convergence, "COCLUSTERING_LIMIT", 0.05)


# four in each doubling, up to the next multiple of ten, at which chains are built anew
CHECKED = (20, 30, 40, 50, 60, 70, 80, 100, 120, 140, 160, 200, 240, 280, 320, 400, 480, 560, 640)


@pytest.mark.usefixtures("_easy")
def test_when_chains_stop_depends_on_the_draws_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not on threads, segments, or where the run was killed; so does every bit."""
    whole = run(tmp_path / "whole.h5", threads=3, model=FIXED, **AUTO)
    expected = bits(whole)
    with Trace(whole) as trace:
        options, verdict = trace.options, verdict_of(trace)
        done = options.settings.lengths[0]
        assert options.stopped == "converged"
        assert verdict.converged
        assert [chain.iteration[-1] for chain in trace.chains] == [done] * 3
        assert done in CHECKED
        assert trace.burn_in <= done // 2
        with pytest.raises(UsageError, match=rf"`max_iterations` {done - 1}: .* has {done} already"):
            prolonged(trace, max_iterations=done - 1)
        monitor = monitor_of(trace)
        for number in CHECKED[: CHECKED.index(done)]:
            assert not convergence.find_end(monitor.draws(), monitor.rule, number, 10).converged
    many_segments(monkeypatch)
    assert bits(run(tmp_path / "one.h5", threads=1, model=FIXED, **AUTO)) == expected


@pytest.mark.usefixtures("_easy")
def test_resume_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at any flush: what goes on from there ends with the bits of the whole run."""
    kept: list[bytes] = []
    many_segments(monkeypatch, lambda path: kept.append(path.read_bytes()))
    whole = bits(run(tmp_path / "whole.h5", threads=2, model=FIXED, **AUTO))
    monkeypatch.undo()
    for module in (settings, convergence):
        monkeypatch.setattr(module, "first_check", lambda _: 20)
    monkeypatch.setattr(convergence, "RHAT_LIMIT", 1.1)
    monkeypatch.setattr(convergence, "ESS_LIMIT", 40.0)
    monkeypatch.setattr(convergence, "COCLUSTERING_LIMIT", 0.05)
    assert len(kept) > 6
    for number, content in enumerate([*kept[:: max(1, len(kept) // 5)], kept[-1]]):
        path = tmp_path / f"{number}.h5"
        path.write_bytes(content)
        analysis.resume(path, threads=2)
        assert bits(path) == whole


@pytest.mark.parametrize("lengths", [{"thin": 300}, {"burn_in": 410, "thin": 200}])
def test_checks_before_anything_is_saved_are_left_out(tmp_path: Path, lengths: dict[str, int]) -> None:
    """With the defaults the rule would first be checked after 250 iterations, and then after 500."""
    path = run_matrix(tmp_path / "t.h5", **{**AUTO, **lengths}, max_iterations=1000)
    with Trace(path) as trace:
        assert trace.options.settings.thin == lengths["thin"]
        assert len(trace.chains[0].iteration) >= 2


def test_limits_and_going_on(tmp_path: Path) -> None:
    """Not converged within the limits is said; resume goes on, and gives the bits of a run with the larger limit."""
    path = run(tmp_path / "t.h5", model=FIXED, max_iterations=500, **AUTO)
    with Trace(path) as trace:
        assert trace.options.stopped == "max-iterations"
        assert trace.options.settings.lengths == (500, 250)
        verdict = verdict_of(trace)
        assert not verdict.converged
        assert verdict_line(verdict).startswith(
            "not converged after 500 iterations, burn-in 250: R-hat at most 1."
        )
    with pytest.raises(UsageError, match=r"`max_iterations` 400: .* has 500 already"):
        analysis.resume(path, max_iterations=400)
    assert analysis.resume(path, max_iterations=750, threads=1) == 750
    assert bits(path) == bits(run(tmp_path / "longer.h5", model=FIXED, max_iterations=750, **AUTO))
    assert analysis.resume(path, 800, threads=1) == 800
    with Trace(path) as trace:
        assert trace.options.stopped is None
        assert not trace.options.settings.until_converged
        assert trace.burn_in == 375  # as it was
    with pytest.raises(UsageError, match=r"`max_time` 1: the chains of .* give `iterations` auto"):
        analysis.resume(path, max_time=1.0)
    with pytest.raises(
        UsageError, match=r"`max_time` 1: can only .* `iterations` auto, but `iterations` 900 is"
    ):
        analysis.resume(path, 900, max_time=1.0)
    assert analysis.resume(path, "auto", max_iterations=810, threads=1) == 810


def test_time_limit(tmp_path: Path) -> None:
    path = run(tmp_path / "t.h5", model=FIXED, max_time=0.001, **AUTO)
    with Trace(path) as trace:
        assert trace.options.stopped == "max-time"
        assert len({int(chain.iteration[-1]) for chain in trace.chains}) == 1
        done = trace.options.settings.lengths[0]
        assert done < 250
    stopped = path.read_bytes()
    assert analysis.resume(path, 300, threads=1) == 300
    with Trace(path) as trace:
        assert trace.burn_in == 150
    path.write_bytes(stopped)
    assert analysis.resume(path, max_iterations=300, threads=1) == 300
    assert bits(path) == bits(run(tmp_path / "whole.h5", model=FIXED, max_iterations=300, **AUTO))
    with Trace(path) as trace:
        assert trace.burn_in >= 125  # chains adapt as long as if they had never stopped
    path.write_bytes(stopped)
    assert analysis.resume(path, max_time=0.001) > done


def test_an_interrupted_run_can_end_before_its_burn_in_would_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[bytes] = []
    many_segments(monkeypatch, lambda path: kept.append(path.read_bytes()))
    path = run(tmp_path / "t.h5", threads=2, model=FIXED, max_iterations=250, **AUTO)
    path.write_bytes(kept[3])
    with Trace(path) as trace:
        done = max(chain.last_iteration for chain in trace.chains)
        assert trace.options.stopped is None
        assert 0 < done < trace.options.settings.lengths[1] - 10
    assert analysis.resume(path, done + 10) == done + 10
    with Trace(path) as trace:
        assert trace.options.settings.lengths[1] == (done + 10) // 2


def test_a_burn_in_that_was_given_is_the_shortest(tmp_path: Path) -> None:
    with Trace(run(tmp_path / "t.h5", model=FIXED, max_iterations=500, **{**AUTO, "burn_in": 400})) as trace:
        assert trace.burn_in == 400


@pytest.mark.usefixtures("_easy")
def test_another_burn_in_than_that_of_converged_chains(tmp_path: Path) -> None:
    """Resuming would do nothing, and is not advised."""
    with Trace(run(tmp_path / "t.h5", model=FIXED, **AUTO)) as trace:
        assert trace.options.stopped == "converged"
        told = summarize(trace, burn_in=trace.options.settings.lengths[0] - 5).warnings[0]
        assert told.startswith("not converged")
        assert told.endswith(f"with the burn-in of the run, {trace.burn_in}, they have converged")


@pytest.mark.usefixtures("_easy")
def test_merged_chains_are_asked_together(tmp_path: Path) -> None:
    paths = [run(tmp_path / f"{seed}.h5", model=FIXED, seed=seed, **AUTO) for seed in (1, 2)]
    merged = tmp_path / "all.h5"
    assert merge_traces(paths, merged) == 6
    with Trace(merged) as trace:
        shortest = min(int(chain.iteration[-1]) for chain in trace.chains)
        longest = max(int(chain.iteration[-1]) for chain in trace.chains)
        assert trace.options.stopped is None
        assert trace.burn_in == shortest // 2
    analysis.resume(merged, threads=1)
    with Trace(merged) as trace:
        assert trace.options.stopped == "converged"
        assert {int(chain.iteration[-1]) for chain in trace.chains} == {trace.options.settings.lengths[0]}
        assert trace.options.settings.lengths[0] >= longest


def test_merged_chains_of_different_lengths_and_starts_are_resumed(tmp_path: Path) -> None:
    short = run(tmp_path / "short.h5", model=FIXED, **{**AUTO, "max_iterations": 250, "init": "apart"})
    long = run(
        tmp_path / "long.h5",
        model=FIXED,
        **{**AUTO, "chains": 2, "max_iterations": 380, "init": "apart"},
        seed=2,
    )
    merged = tmp_path / "all.h5"
    merge_traces([short, long], merged)
    with Trace(merged) as trace:
        starts = run_report(trace, summarize(trace), "", {})["starts"]
        assert starts == ["single", "random:10", "disconnected", "single", "random:10"]
    assert analysis.resume(merged, threads=1) == 380
    with Trace(merged) as trace:
        trace.check()
    other = run(
        tmp_path / "other.h5", model=FIXED, **{**AUTO, "max_iterations": 250, "init": "single"}, seed=3
    )
    merge_traces([short, other], tmp_path / "two.h5")
    with Trace(tmp_path / "two.h5") as trace:
        assert run_report(trace, summarize(trace), "", {})["starts"] is None


def test_merged_chains_that_were_stopped_go_on(tmp_path: Path) -> None:
    """The limits that ended the runs do not also end the merged chains before they have done anything."""
    limits: dict[str, dict[str, Any]] = {"full": {"max_iterations": 250}, "late": {"max_time": 0.001}}
    merged = {}
    for name, limit in limits.items():
        paths = [
            run(tmp_path / f"{name}{seed}.h5", model=FIXED, **{**AUTO, **limit, "chains": 1}, seed=seed)
            for seed in (1, 2)
        ]
        merged[name] = tmp_path / f"{name}.h5"
        merge_traces(paths, merged[name])
    with Trace(merged["late"]) as trace:
        longer = prolonged(trace)
        assert longer is not None
        assert longer.settings.max_time is None
    assert analysis.resume(merged["full"], threads=1) == 500
    merge_traces([tmp_path / "full1.h5"], tmp_path / "alone.h5")
    with Trace(tmp_path / "alone.h5") as trace:
        longer = prolonged(trace)
        assert longer is not None
        assert longer.settings.max_iterations == 500


def test_chains_start_apart() -> None:
    assert [start_of(k, "apart", 400, 400) for k in range(5)] == [
        "single",
        "random:50",
        "disconnected",
        "random:5",
        "single",
    ]
    assert [start_of(k, "apart", 10_000, 10_000) for k in range(4)] == [
        "single",
        "random:50",
        "random:20",
        "random:5",
    ]
    assert [start_of(k, "apart", 100, 3) for k in range(4)] == ["single", "random:3", "random:3", "random:3"]
    assert start_of(1, "random:7", 100, 100) == "random:7"


def test_adaptation_ends_before_the_first_draws_that_may_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proposals of a chain are fixed from half of the first number at which the rule is checked."""
    adapted: list[int] = []

    class Anchors(chain.ANCHOR_PROPOSALS["balanced"]):  # type: ignore[misc]
        def adapt(self, likelihood: Any, partition: Any) -> None:
            adapted.append(1)
            super().adapt(likelihood, partition)

    monkeypatch.setitem(chain.ANCHOR_PROPOSALS, "balanced", Anchors)
    run_matrix(tmp_path / "t.h5", **{**AUTO, "chains": 1, "max_iterations": 250})
    assert len(adapted) == 125


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_iterations": 1}, "`max_iterations` 1: must be at least 2"),
        ({"max_time": 0.0}, "`max_time` 0: must be a positive number"),
        ({"max_time": np.inf}, "`max_time` inf: must be a positive number"),
        (
            {"iterations": 5, "max_time": 3.0},
            "`max_time` 3: can only be used with `iterations` auto, but `iterations` 5 is given",
        ),
        (
            {"iterations": 5, "max_iterations": 9},
            "`max_iterations` 9: can only be used with `iterations` auto, but `iterations` 5 is given",
        ),
    ],
)
def test_limits_that_cannot_be(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Settings(**values)
    assert str(caught.value).startswith(message)


def test_the_command_says_so(tmp_path: Path) -> None:
    """Each figure and its limit in run.json, a warning, once on the terminal, and exit code 3 where wanted."""
    table, out = write_tumour(tmp_path), tmp_path / "out"
    options = ["--max-iterations", "60", "--chains", "2", "--no-plots", "--precision", "200", "-o", str(out)]
    ended = CliRunner().invoke(cli.app, ["analyze", str(table), *options, "--require-convergence"])
    assert ended.exit_code == 3, ended.output
    assert "\nwarning: not converged after 60 iterations, burn-in 30: " in ended.output
    assert ended.output.count("not converged after") == 1
    assert f"pyclone-pgsm: not converged: {out}" in ended.output
    told = json.loads((out / "run.json").read_text())
    assert told["converged"] is False
    assert told["stopped"] == "max-iterations"
    assert told["starts"] == ["single", "random:10"]
    assert told["burn_in"] == told["convergence"]["burn_in"] == 30
    assert told["convergence"]["limits"] == {
        "rhat": 1.01,
        "bulk_ess": 400.0,
        "tail_ess": 400.0,
        "coclustering_sd": 0.01,
    }
    quantities = told["convergence"]["quantities"]
    assert {"log_joint", "num_clusters", "entropy", "largest_share", "watched"} <= set(quantities)
    assert not quantities["concentration"]["asked"]
    assert not quantities["watched"]["holds"]
    assert told["warnings"][0].startswith("not converged after 60 iterations")
    assert (out / "mutations.tsv").exists()

    trace = out / "trace.h5"
    again = tmp_path / "again"
    ended = CliRunner().invoke(
        cli.app, ["summarize", str(trace), "-o", str(again), "--no-plots", "--require-convergence"]
    )
    assert ended.exit_code == 3, ended.output
    assert f"pyclone-pgsm: not converged: {again}" in ended.output
    assert (again / "mutations.tsv").read_bytes() == (out / "mutations.tsv").read_bytes()
    ended = CliRunner().invoke(
        cli.app, ["resume", str(trace), "--max-iterations", "80", "--require-convergence"]
    )
    assert ended.exit_code == 3, ended.output
    assert "2 chains of 80 iterations" in ended.output
    shorten(trace, [40, 50])
    with Trace(trace) as opened:
        assert verdict_of(opened).iterations == 40
