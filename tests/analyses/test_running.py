"""Chains stopped and resumed, in threads, with signals and kills: always the bits of the undisturbed run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from small_runs import (
    FIXED,
    bits,
    command,
    many_segments,
    run,
    start,
    tumour,
    wait_for_flushes,
    write_tumour,
)
from threadpoolctl import threadpool_info, threadpool_limits

from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.matrix_input import mixture_settings
from pyclone_pgsm.analyses.plan import make_plan
from pyclone_pgsm.errors import InputError, UsageError
from pyclone_pgsm.posterior import summarize as summarizing
from pyclone_pgsm.priors import DirichletProcess, FiniteDirichlet, PitmanYor
from pyclone_pgsm.sampling import moves, workers
from pyclone_pgsm.sampling.chains import effective_threads
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.trace.tumour import TumourData
from pyclone_pgsm.tumour import model as tumour_model

FEW_TABLES = analysis.ModelOptions(outlier_prob=0.1)  # and not of all settings
LONG = ("--iterations", 1200, "--chains", 2, "--seed", 5)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tumour(tmp_path_factory.mktemp("tumour"))


@pytest.fixture(scope="module")
def undisturbed(table: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The trace of ``run TABLE`` with the options LONG."""
    path = tmp_path_factory.mktemp("undisturbed") / "t.h5"
    subprocess.run(
        command("run", table, "-o", path, *LONG, program="from pyclone_pgsm.__main__ import main; main()"),
        check=True,
    )
    return bits(path)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"init": "disconnected", "thin": 7},
        {"sampler": "pgsm", "anchor_proposal": "uniform", "targets": "plain"},
        {"sampler": "gibbs", "model": FIXED, "sweeps": 2, "init": "random:3"},
        {"sampler": "mixed-sams", "prior": PitmanYor()},
        {"sampler": "restricted-gibbs", "scans": 2, "prior": FiniteDirichlet(6)},
        {"hyper_every": 1, "model": FEW_TABLES},
        {"hyper_every": 3},
    ],
)
def test_segments_and_threads_do_not_change_the_chains(settings, tmp_path, monkeypatch):
    if settings.get("model") is FEW_TABLES:
        monkeypatch.setattr(tumour_model, "CACHED_BYTES", 0)
    whole = bits(run(tmp_path / "whole.h5", threads=1, chains=4, **settings))
    assert bits(run(tmp_path / "again.h5", threads=2, chains=4, **settings)) == whole
    many_segments(monkeypatch)
    assert bits(run(tmp_path / "cut.h5", threads=4, chains=4, **settings)) == whole


def test_seeds_and_chains_differ(tmp_path):
    with Trace(run(tmp_path / "1.h5", seed=1)) as one, Trace(run(tmp_path / "2.h5", seed=2)) as two:
        joints = [tuple(chain.log_joint) for chain in (*one.chains, *two.chains)]
    assert len(set(joints)) == 4


@pytest.mark.parametrize(
    "settings",
    [
        {"iterations": 65},
        {"iterations": 65, "init": "disconnected", "thin": 4, "model": FIXED},
        {"iterations": 65, "anchor_proposal": "uniform", "thin": 3, "prior": PitmanYor()},
        {"iterations": 65, "hyper_every": 1, "model": FEW_TABLES},
        {"iterations": 65, "hyper_every": 3},
    ],
)
def test_resumes_from_every_flush(settings, tmp_path, monkeypatch):
    """Whatever flush was the last before the run was killed."""
    kept: list[Path] = []

    def keep(path: Path) -> None:
        kept.append(tmp_path / f"{len(kept)}.h5")
        shutil.copy(path, kept[-1])

    if settings.get("model") is FEW_TABLES:
        monkeypatch.setattr(tumour_model, "CACHED_BYTES", 0)
    many_segments(monkeypatch, keep)
    whole = bits(run(tmp_path / "whole.h5", threads=2, **settings))
    many_segments(monkeypatch)
    assert len(kept) > 8
    unfinished = 0
    for path in kept[::2]:
        unfinished += bits(path) != whole
        assert analysis.resume(path) == 65
        assert bits(path) == whole
    assert unfinished > 3


@pytest.mark.parametrize("thin", [1, 4])
@pytest.mark.parametrize("model", [analysis.ModelOptions(), FIXED])
@pytest.mark.parametrize("init", ["single", "disconnected"])
def test_longer_run_by_resuming(init, model, thin, tmp_path):
    """25, 37, 40 and 63 iterations: where they are no multiple of the rebuild interval some are done anew."""
    same = {"init": init, "model": model, "thin": thin, "burn_in": 12}
    whole = bits(run(tmp_path / "whole.h5", iterations=63, **same))
    path = run(tmp_path / "parts.h5", iterations=25, **same)
    for iterations in (37, 40, 63):
        assert analysis.resume(path, iterations) == iterations
        with Trace(path) as trace:
            for chain in trace.chains:
                np.testing.assert_array_equal(chain.iteration, np.arange(thin, iterations + 1, thin))
    assert bits(path) == whole


def test_resume_of_a_finished_run_changes_nothing(tmp_path):
    path = run(tmp_path / "t.h5", iterations=23, burn_in=3, thin=4)
    before = path.read_bytes()
    assert analysis.resume(path) == 23
    assert analysis.resume(path, 23) == 23
    assert path.read_bytes() == before


def test_resume_refuses_fewer_iterations(tmp_path):
    path = run(tmp_path / "t.h5", iterations=20, burn_in=3)
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"`iterations` 19: .*t\.h5 is meant to have 20"):
        analysis.resume(path, 19)
    assert path.read_bytes() == before


def test_single_mutation(tmp_path):
    path = run(tmp_path / "t.h5", observations=tumour(4), iterations=20, burn_in=3)
    one = tumour(4)
    rows = {
        name: getattr(one, name)[:1] for name in one.__dataclass_fields__ if name.endswith(("counts", "cn"))
    }
    rows |= {name: getattr(one, name)[:1] for name in ("tumour_content", "error_rate", "has_data")}
    single = type(one)(one.mutation_ids[:1], one.sample_ids, **rows)
    run(path, observations=single, iterations=20, burn_in=3)
    result = analysis.write_results(path, tmp_path / "out", formats=())
    assert result.summary.labels.tolist() == [0]
    assert result.summary.assignment_prob.tolist() == [1.0]


def test_killed_at_random_moments(table, undisturbed, tmp_path):
    """SIGKILL, several times, each after a random number of flushes and a random delay."""
    rng = np.random.default_rng(int(os.environ.get("PYTEST_SEED", "1")))
    path = tmp_path / "t.h5"
    process = start("run", table, "-o", path, *LONG, "--quiet")
    killed = 0
    for _ in range(3):
        wait_for_flushes(process, path, int(rng.integers(1, 6)))
        time.sleep(rng.uniform(0.0, 0.03))
        process.kill()
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        process = start("resume", path, "--quiet", "--threads", int(rng.integers(1, 3)))
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (0, "", "")
    assert killed >= 2
    assert bits(path) == undisturbed


def test_one_ctrl_c_may_come_as_several_signals(table, undisturbed, tmp_path):
    path = tmp_path / "t.h5"
    process = start("run", table, "-o", path, *LONG)
    wait_for_flushes(process, path, 2)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "the trace is kept" in stderr
    assert analysis.resume(path) == 1200
    assert bits(path) == undisturbed


@pytest.mark.parametrize(("number", "verb"), [(signal.SIGINT, "run"), (signal.SIGTERM, "analyze")])
def test_interrupted(number, verb, table, undisturbed, tmp_path):
    out = tmp_path / "a folder"
    path = out / "t.h5" if verb == "run" else out / "trace.h5"
    process = start(verb, table, "-o", path if verb == "run" else out, *LONG)
    wait_for_flushes(process, path, 2)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 130
    assert stdout == ""
    folder = "FOLDER" if verb == "run" else f"'{out}'"
    assert stderr == (
        f"pyclone-pgsm: interrupted; the trace is kept: go on with pyclone-pgsm resume '{path}', "
        f"then make the tables with pyclone-pgsm summarize '{path}' -o {folder}\n"
    )
    assert [file.name for file in out.iterdir()] == [path.name]
    with Trace(path) as trace:
        trace.check()
        assert min(len(chain.iteration) for chain in trace.chains) < 1200
    assert analysis.resume(path) == 1200
    assert bits(path) == undisturbed


def test_reader_meets_a_whole_file_at_any_moment(table, undisturbed, tmp_path):
    path = tmp_path / "t.h5"
    process = start("run", table, "-o", path, *LONG)
    wait_for_flushes(process, path, 0)
    lengths = [[0, 0]]
    while process.poll() is None:
        with Trace(path) as trace:
            trace.check()
            lengths.append([len(chain.iteration) for chain in trace.chains])
        with h5py.File(path, "r") as file:
            for chain in file["chains"].values():
                assert len(chain["labels"]) == len(chain["iteration"]) == len(chain["seconds"])
    process.communicate()
    assert process.returncode == 0
    assert (np.diff(lengths, axis=0) >= 0).all()
    assert len(np.unique(lengths, axis=0)) > 3
    assert bits(path) == undisturbed


def test_blas_has_one_thread_in_chains_and_summary(tmp_path, monkeypatch):
    found = []

    def observed(function):
        def call(*arguments):
            found.append({each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"})
            return function(*arguments)

        return call

    monkeypatch.setattr(workers, "advance", observed(workers.advance))
    monkeypatch.setattr(summarizing, "kept_rows", observed(summarizing.kept_rows))
    with threadpool_limits(2):
        path = run(tmp_path / "t.h5", iterations=30, burn_in=10, threads=1)  # not in processes
        num_segments = len(found)
        with Trace(path) as trace:
            summarizing.summarize(trace)
        assert found == [{1}] * (num_segments + 1)
        assert num_segments > 0
        assert {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"} == {2}


def test_threads():
    assert effective_threads(3, 8) == 3
    assert effective_threads(9, 4) == 4
    assert type(effective_threads(np.int64(3), 8)) is int  # which JSON takes
    assert 1 <= effective_threads(None, 1000) <= 1000
    with pytest.raises(UsageError, match="`threads` 0: must be at least 1"):
        effective_threads(0, 4)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sampler": "foo"}, "`sampler` 'foo': must be one of mixed, pgsm, gibbs"),
        ({"anchor_proposal": "foo"}, "`anchor_proposal` 'foo': must be one of uniform, cluster"),
        ({"targets": "foo"}, "`targets` 'foo': must be one of annealed, plain"),
        ({"resampling": "foo"}, "`resampling` 'foo': must be one of multinomial, stratified"),
        ({"init": ""}, "`init` '': must be one of single, disconnected, random"),
        ({"init": "random:0"}, "`init` 'random:0': must be one of single, disconnected, random"),
        ({"sweeps": 0}, "`sweeps` 0: must be at least 1"),
        ({"moves": 0}, "`moves` 0: must be at least 1"),
        ({"scans": -1}, "`scans` -1: must be at least 0"),
        ({"anchors": 1}, "`anchors` 1: must be at least 2"),
        (
            {"anchors": 3, "sampler": "sams"},
            "`anchors` 3: has no effect with `sampler` sams: leave it out, or use `sampler` mixed or pgsm",
        ),
        (
            {"anchors": 3, "anchor_proposal": "cluster"},
            "`anchors` 3: `anchor_proposal` cluster can only draw two anchors",
        ),
        ({"particles": 1}, "`particles` 1: must be at least 2"),
        ({"chains": 0}, "`chains` 0: must be at least 1"),
        ({"seed": -1}, "`seed` -1: must be at least 0"),
        ({"watch": "no"}, "`watch` 'no': must be True or False"),
        ({"until_converged": 1}, "`until_converged` 1: must be True or False"),
        ({"resample_threshold": 1.5}, "`resample_threshold` 1.5: must lie between 0 and 1"),
        (
            {"iterations": 10, "burn_in": 10},
            "`burn_in` 10: must be less than the number of iterations, 10, which",
        ),
        (
            {"iterations": 10, "burn_in": 5, "thin": 11},
            "`thin` 11: no iteration after the burn-in (5) up to the last (10) is saved",
        ),
    ],
)
def test_settings_that_cannot_be(values, message):
    with pytest.raises(UsageError) as caught:
        Settings(**values)
    assert str(caught.value).startswith(message)


def test_a_start_with_more_clusters_than_observations():
    assert Settings(init="random:21").resolve(21).init == "random:21"
    with pytest.raises(UsageError, match="`init` random:5000: more clusters than the 21 observations"):
        Settings(init="random:5000").resolve(21)


def test_settings_chosen_from_the_data():
    few, many = Settings().resolve(100), Settings().resolve(10**6)
    assert few.lengths == (10_000, 125)
    assert many.lengths == (200, 50)
    assert few.until_converged
    assert few.resolve(100) == few
    assert not Settings(iterations=7).resolve(100).until_converged
    assert (few.moves, few.proposal, few.hyper_every) == (1, "balanced", 1)
    assert (many.moves, many.proposal, many.hyper_every) == (1, "balanced", 3)
    assert (few.close_moves, Settings().resolve(200_000).close_moves, many.close_moves) == (16, 8, 2)
    assert (few.sampler, many.sampler) == ("mixed", "mixed-sams")
    assert Settings(sampler="mixed").resolve(10**6).sampler == "mixed"
    for asked in ({"anchors": 3}, {"particles": 10}, {"targets": "plain"}, {"resampling": "optimal"}):
        assert Settings(**asked).resolve(10**6).sampler == "mixed"
    assert Settings().resolve(10_000).lengths == (3000, 50)
    mixture = mixture_settings(Settings(), 10**6)
    assert (mixture.sampler, mixture.resampling, mixture.resample_threshold) == (
        "mixed-sams",
        "both-kinds",
        0.1,
    )
    assert mixture_settings(Settings(resample_threshold=0.2), 10**6).sampler == "mixed"
    assert mixture_settings(Settings(anchors=3), 100).resampling == "multinomial"
    assert mixture_settings(Settings(resampling="both-kinds"), 100).resample_threshold == 0.1
    assert mixture_settings(Settings(resampling="optimal"), 100).resample_threshold == 0.5
    with pytest.raises(UsageError, match="`anchors` 3: `resampling` both-kinds can only be used with two"):
        Settings(anchors=3, resampling="both-kinds")
    others = Settings(sampler="mixed-sams").resolve(100)
    assert (others.moves, others.close_moves) == (4, 0)
    assert Settings(iterations=7).resolve(100).lengths == (7, 3)
    assert Settings(burn_in=500).resolve(100).lengths == (10_000, 500)
    with pytest.raises(
        UsageError, match="`burn_in` 1000: must be less than the number of iterations, 1000, which"
    ):
        Settings(burn_in=1000, max_iterations=995).resolve(100)
    with pytest.raises(ValueError, match="resolve"):
        _ = Settings().lengths
    for asked in (
        {"close_moves": 1},
        {"moves": 3},
        {"particles": 50},
        {"scans": 2},
        {"resampling": "optimal"},
    ):
        with pytest.raises(UsageError, match=f"`{next(iter(asked))}` .*: has no effect with `sampler` gibbs"):
            Settings(sampler="gibbs", **asked).resolve(100)
    with pytest.raises(UsageError, match="`sweeps` 2: has no effect with `sampler` pgsm"):
        Settings(sampler="pgsm", sweeps=2).resolve(100)
    assert Settings(sampler="gibbs").resolve(100).resolve(100).close_moves == 0


def test_start_that_needs_too_much_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("pyclone_pgsm.sampling.chain.LARGEST_START", 1000)
    with pytest.raises(UsageError, match=r"`init` disconnected: 40 clusters would need .* use `init` single"):
        run(tmp_path / "t.h5", init="disconnected")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "proposal"),
    [({}, "balanced"), ({"anchors": 3}, "uniform"), ({"anchor_proposal": "threshold"}, "threshold")],
)
def test_anchor_proposal_follows_the_number_of_anchors(settings, proposal):
    assert Settings(**settings).resolve(100).proposal == proposal


@pytest.mark.parametrize(
    ("sampler", "expected"),
    [
        ("mixed", ["gibbs", "close", "exchange", "pgsm"]),
        ("gibbs", ["gibbs"]),
        ("pgsm", ["pgsm"]),
        ("mixed-sams", ["gibbs", "sams"]),
        ("restricted-gibbs", ["restricted-gibbs"]),
    ],
)
def test_steps_of_an_iteration(sampler, expected, monkeypatch):
    """Sweeps first, then moves; how many of each as the settings say: ``test_counts_of_an_iteration``."""
    for name in moves.MOVES:
        monkeypatch.setitem(moves.MOVES, name, lambda *_, name=name: name)
    settings = Settings(sampler=sampler, sweeps=2, moves=3, close_moves=2 if sampler == "mixed" else None)
    for T in (1, 2, 40):
        model = SimpleNamespace(num_observations=T, has_exchanges=True, likelihood=lambda _: None)
        steps = moves.make_steps(model, settings, (), None)
        assert steps == (expected if T > 1 else ["gibbs"])


def test_start_from_a_file(tmp_path):
    """Labels by name; every chain starts there; a file that does not fit is told, and nothing is written."""
    file = tmp_path / "start.tsv"
    names = tumour().mutation_ids
    file.write_text("mutation_id\tcluster_id\n" + "".join(f"{n}\t{k % 3}\n" for k, n in enumerate(names)))
    model = tmp_path / "model.h5"
    observations, options = tumour(), analysis.ModelOptions()
    settings = Settings(iterations=60, burn_in=30, chains=2, init=str(file))
    plan = make_plan(
        TumourData(observations, [], options.resolve(observations)), settings, DirichletProcess()
    )
    for state in plan.states:
        np.testing.assert_array_equal(state.labels, np.arange(len(names)) % 3)
    assert run(model, init=str(file)).exists()
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:-2]))
    with pytest.raises(InputError, match=r"start\.tsv.*no row for 2 of the 40 observations"):
        run(tmp_path / "t.h5", init=str(file))
    with pytest.raises(UsageError, match=r"`init` 'nowhere': no such file; must be one of single, disconn"):
        run(tmp_path / "t.h5", init="nowhere")
    assert not (tmp_path / "t.h5").exists()


def test_start_with_more_clusters_than_the_prior_allows(tmp_path):
    with pytest.raises(UsageError, match="`init` disconnected: 40 clusters, but the prior allows 6 at most"):
        run(tmp_path / "t.h5", init="disconnected", prior=FiniteDirichlet(6))
    assert run(
        tmp_path / "t.h5", init="random:6", prior=FiniteDirichlet(6), iterations=20, burn_in=3
    ).exists()
