"""Chains in processes of their own: the same draws as in threads, whatever happens to the processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_runs import bits, command, run, run_matrix, start, tumour, wait_for_flushes, write_tumour

from pyclone_pgsm import processes
from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.likelihoods.matrix import DataMatrix, MatrixOptions
from pyclone_pgsm.likelihoods.model import Model, Values
from pyclone_pgsm.locks import writing
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.sampling import workers
from pyclone_pgsm.sampling.chain import ChainState, Records, advance, start_chain
from pyclone_pgsm.sampling.chains import run_chains
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.sampling.workers import Workers
from pyclone_pgsm.tumour.options import ModelOptions

on_linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux")
SETTINGS = Settings(iterations=60, burn_in=30, chains=2, seed=5)


@dataclass
class Forks:
    """Numbers of the processes that were started, and how often a chain was advanced in the program itself."""

    started: list[int] = field(default_factory=list)
    in_program: int = 0


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Forks]:
    """Let there be processes even beside the threads of these tests."""
    if sys.platform != "linux":
        pytest.skip("processes are forks only on Linux")
    found = Forks()

    def noted(*arguments: Any) -> Any:
        process, connection = processes.fork(*arguments)
        found.started.append(process.pid or 0)
        return process, connection

    def counted(*arguments: Any) -> Any:
        found.in_program += 1  # in a process, of a copy
        return advance(*arguments)

    monkeypatch.setattr(workers, "can_fork", lambda: True)
    monkeypatch.setattr(workers, "advance", counted)
    monkeypatch.setattr(workers, "fork", noted)
    yield found
    assert not multiprocessing.active_children()


def small_model() -> Model:
    return ModelOptions(precision=200.0).resolve(tumour()).make_model(tumour())


def first_states(model: Model) -> list[ChainState]:
    return [start_chain(model, DirichletProcess(), SETTINGS.resolve(40), chain) for chain in range(2)]


def advanced(pool: Workers, state: ChainState, is_over: Callable[[], bool] = lambda: False) -> Records:
    end = time.monotonic() + 1000.0
    return pool.advance(SETTINGS.resolve(40), state, 10, end, is_over)[1]


def same(one: Records, other: Records) -> bool:
    return np.array_equal(one.labels, other.labels) and one.log_joint == other.log_joint


@pytest.mark.parametrize("automatic", [False, True])
@pytest.mark.parametrize("which", [run, run_matrix])
def test_draws_are_those_of_threads(
    which: Callable[..., Path], automatic: bool, forks: Forks, monkeypatch, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"chains": 3, "threads": 2}
    if automatic:
        settings |= {"iterations": None, "burn_in": None, "max_iterations": 300}
    found = bits(which(tmp_path / "processes.h5", **settings))
    assert (len(forks.started), forks.in_program) == (2, 0)
    monkeypatch.setattr(workers, "can_fork", lambda: False)
    assert found == bits(which(tmp_path / "threads.h5", **settings))
    assert len(forks.started) == 2
    assert forks.in_program > 0


def test_outliers_are_drawn_in_processes_too(forks: Forks, monkeypatch, tmp_path: Path) -> None:
    model = ModelOptions(outlier_prob=0.05)
    found = bits(run(tmp_path / "processes.h5", model=model, threads=2))
    assert (len(forks.started), forks.in_program) == (2, 0)
    monkeypatch.setattr(workers, "can_fork", lambda: False)
    assert found == bits(run(tmp_path / "threads.h5", model=model, threads=2))


def test_a_chain_goes_on_where_its_process_was_killed(forks: Forks) -> None:
    model = small_model()
    expected = [advanced(Workers(model, 0), state) for state in first_states(model)]
    forks.in_program = 0
    with Workers(model, 2) as pool:
        os.kill(forks.started[0], signal.SIGKILL)
        found = [advanced(pool, first_states(model)[chain]) for chain in (0, 0, 1)]
    assert all(same(one, expected[chain]) for one, chain in zip(found, (0, 0, 1)))
    assert forks.in_program == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_that_is_killed_at_work(number: signal.Signals, forks: Forks) -> None:
    model, long = small_model(), replace(SETTINGS, iterations=3_000).resolve(40)
    end = time.monotonic() + 1000.0
    expected = Workers(model, 0).advance(long, first_states(model)[0], 10, end, lambda: False)[1]
    forks.in_program = 0
    with Workers(model, 1) as pool:
        timer = threading.Timer(0.2, os.kill, (forks.started[0], number))
        timer.start()
        found = pool.advance(long, first_states(model)[0], 10, end, lambda: False)[1]
        timer.join()
    assert same(found, expected)
    assert forks.in_program == 1


def test_many_chains_stop_together(forks: Forks) -> None:
    """Those that wait for a process do no more than one interval each."""
    model = small_model()
    settings = replace(SETTINGS, iterations=1_000_000, chains=20).resolve(40)
    states = [start_chain(model, DirichletProcess(), settings, chain) for chain in range(20)]
    stop = threading.Event()
    with Workers(model, 2) as pool:
        segments = run_chains(pool, settings, states, 10, 2, stop)
        next(segments)
        stop.set()
        rest = [len(records.labels) for _, _, records, _ in segments]
    assert len(rest) == 20  # the first chain was to go on
    assert sum(length == 10 for length in rest) >= 15
    assert forks.in_program == 0


def test_errors_are_raised_by_the_caller(forks: Forks, monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model()

    def refuse(values: Values) -> float:
        raise UsageError(f"in process {os.getpid()}")

    states = first_states(model)
    monkeypatch.setattr(model, "log_hyperprior", refuse)
    with Workers(model, 2) as pool, pytest.raises(UsageError, match=f"in process {os.getpid()}"):
        advanced(pool, states[0])


def test_a_state_that_cannot_be_sent_is_advanced_here(forks: Forks) -> None:
    class Local(DirichletProcess):
        pass

    model = small_model()
    states = first_states(model)
    for state in states:
        state.prior = Local()
    with Workers(model, 2) as pool:
        found = advanced(pool, states[0])
    assert same(found, advanced(Workers(model, 0), first_states(model)[0]))


def test_without_processes_chains_stop_when_asked() -> None:
    model = small_model()
    assert len(advanced(Workers(model, 0), first_states(model)[0], lambda: True).labels) == 10


def test_where_no_more_processes_are_allowed_threads_do_it(
    forks: Forks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fork_once() -> int:
        if forks.started:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return fork()

    fork, model = os.fork, small_model()
    monkeypatch.setattr(os, "fork", fork_once)
    with Workers(model, 2) as pool:
        assert len(forks.started) == 1
        assert not multiprocessing.active_children()
        assert len(advanced(pool, first_states(model)[0]).labels) == 60
    assert forks.in_program == 1


def test_no_processes_for_large_data_nor_beside_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert small_model().prefers_processes
    many = tumour(1001)  # in two samples
    assert not ModelOptions(precision=200.0).resolve(many).make_model(many).prefers_processes
    for rows, is_small in ((5000, True), (5001, False)):
        names = [str(row) for row in range(rows)]
        data = DataMatrix(names, ["x", "y"], np.random.default_rng(1).normal(size=(rows, 2)))
        assert MatrixOptions("normal", {}).make_model(data).prefers_processes is is_small
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert not processes.can_fork()


@on_linux
@pytest.mark.parametrize("ignored", [False, True])
def test_no_processes_whose_end_cannot_be_noticed(ignored: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: None)
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN if ignored else signal.SIG_DFL)
    assert processes.can_fork() is not ignored
    signal.signal(signal.SIGCHLD, before)


def children(process: int) -> set[int]:
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                after_name = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(after_name[1]) == process:
                found.add(int(folder.name))
    return found


def command_of(process: int) -> bytes:
    """Its command line; empty if it has ended, even if nobody has taken note of its end."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def wait_for_processes(process: subprocess.Popen[Any]) -> list[int]:
    """Until a command has the two processes for its chains; return their numbers."""
    end = time.monotonic() + 300.0
    while process.poll() is None:
        own = command_of(process.pid)
        processes = [each for each in children(process.pid) if command_of(each) == own]
        if len(processes) == 2:
            return processes
        assert time.monotonic() < end, "the chains are in no processes"
        time.sleep(0.002)
    raise AssertionError("the command has ended")


@on_linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_short_chains_too(number: signal.Signals, tmp_path: Path) -> None:
    """Although the processes, which do not know of it, do all iterations of their segment."""
    out = tmp_path / "trace.h5"
    table = write_tumour(tmp_path)
    with start("run", table, "-o", out, "--chains", 2, "--iterations", 300, "--threads", 2) as process:
        wait_for_processes(process)
        process.send_signal(number)
        assert process.wait(timeout=60) == 130
    assert out.exists()


@on_linux
def test_there_are_processes_beside_a_progress_bar(tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    arguments = ("--chains", 2, "--iterations", 1_000_000, "--threads", 2)
    run_it = command("run", write_tumour(tmp_path), "-o", tmp_path / "trace.h5", *arguments)
    with subprocess.Popen(run_it, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        wait_for_processes(process)
        shown = b""
        while b"clusters" not in shown:
            shown += os.read(ours, 1024)
        process.kill()
    os.close(ours)


@on_linux
def test_nothing_is_done_again_for_a_program_that_stops(forks: Forks) -> None:
    model = small_model()
    state = first_states(model)[0]
    with Workers(model, 1) as pool:
        os.kill(forks.started[0], signal.SIGKILL)
        assert not advanced(pool, state, lambda: True).labels
    assert forks.in_program == 0


@on_linux
def test_processes_end_with_a_program_that_is_killed(tmp_path: Path) -> None:
    """And do not keep the locks of its files."""
    out = tmp_path / "trace.h5"
    arguments = ("--chains", 2, "--iterations", 1_000_000, "--threads", 2)
    with start("run", write_tumour(tmp_path), "-o", out, *arguments) as process:
        wait_for_flushes(process, out, 1)
        processes = wait_for_processes(process)
        process.kill()
        process.wait()
        with writing(out):
            pass
        end = time.monotonic() + 30.0
        while any(map(command_of, processes)):
            assert time.monotonic() < end, "processes outlive the program"
            time.sleep(0.01)
