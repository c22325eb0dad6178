"""Chains in processes of their own: the same draws as in threads, whatever happens to the processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from small_runs import bits, run, run_matrix, start, tumour, wait_for_flushes, write_tumour

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.likelihoods.matrix import DataMatrix, MatrixOptions
from pyclone_pgsm.likelihoods.model import Model, Values
from pyclone_pgsm.locks import writing
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.sampling import workers
from pyclone_pgsm.sampling.chain import ChainState, Records, start_chain
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.sampling.workers import Workers
from pyclone_pgsm.tumour.options import ModelOptions

SETTINGS = Settings(iterations=60, burn_in=30, chains=2, seed=5)


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Processes even beside the threads of these tests; the fixture is the list of their numbers."""
    started: list[int] = []

    def noted(self: Workers) -> None:
        begin(self)
        started.append(self._processes[-1][0].pid or 0)

    begin = Workers._start
    monkeypatch.setattr(workers, "_can_fork", lambda: True)
    monkeypatch.setattr(Workers, "_start", noted)
    yield started
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
    which: Callable[..., Path], automatic: bool, forks: list[int], monkeypatch, tmp_path: Path
) -> None:
    settings = {"iterations": None, "burn_in": None, "max_iterations": 300} if automatic else {}
    found = bits(which(tmp_path / "processes.h5", chains=3, **settings))
    assert len(forks) == 2
    monkeypatch.setattr(workers, "_can_fork", lambda: False)
    assert found == bits(which(tmp_path / "threads.h5", chains=3, **settings))
    assert len(forks) == 2


def test_outliers_are_drawn_in_processes_too(forks: list[int], monkeypatch, tmp_path: Path) -> None:
    model = ModelOptions(outlier_prob=0.05)
    found = bits(run(tmp_path / "processes.h5", model=model))
    assert len(forks) == 2
    monkeypatch.setattr(workers, "_can_fork", lambda: False)
    assert found == bits(run(tmp_path / "threads.h5", model=model))


def test_a_chain_goes_on_where_its_process_was_killed(forks: list[int]) -> None:
    model = small_model()
    expected = [advanced(Workers(model, 1), state) for state in first_states(model)]
    with Workers(model, 2) as pool:
        os.kill(forks[0], signal.SIGKILL)
        found = [advanced(pool, first_states(model)[chain]) for chain in (0, 0, 1)]
    assert all(same(one, expected[chain]) for one, chain in zip(found, (0, 0, 1)))


def test_errors_are_raised_by_the_caller(forks: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model()

    def refuse(values: Values) -> float:
        raise UsageError(f"in process {os.getpid()}")

    states = first_states(model)
    monkeypatch.setattr(model, "log_hyperprior", refuse)
    with Workers(model, 2) as pool, pytest.raises(UsageError, match=f"in process {os.getpid()}"):
        advanced(pool, states[0])


def test_a_state_that_cannot_be_sent_is_advanced_here(forks: list[int]) -> None:
    class Local(DirichletProcess):
        pass

    model = small_model()
    states = first_states(model)
    for state in states:
        state.prior = Local()
    with Workers(model, 2) as pool:
        found = advanced(pool, states[0])
    assert same(found, advanced(Workers(model, 1), first_states(model)[0]))


def test_without_processes_chains_stop_when_asked() -> None:
    model = small_model()
    assert len(advanced(Workers(model, 1), first_states(model)[0], lambda: True).labels) == 10


def test_where_no_more_processes_are_allowed_threads_do_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Workers) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    model = small_model()
    monkeypatch.setattr(workers, "_can_fork", lambda: True)
    monkeypatch.setattr(Workers, "_start", refuse)
    with Workers(model, 2) as pool:
        assert len(advanced(pool, first_states(model)[0]).labels) == 60


def test_no_processes_for_large_data_nor_beside_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert small_model().runs_in_processes
    many = tumour(1001)  # in two samples
    assert not ModelOptions(precision=200.0).resolve(many).make_model(many).runs_in_processes
    for rows, is_small in ((5000, True), (5001, False)):
        names = [str(row) for row in range(rows)]
        data = DataMatrix(names, ["x", "y"], np.random.default_rng(1).normal(size=(rows, 2)))
        assert MatrixOptions("normal", {}).make_model(data).runs_in_processes is is_small
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert not workers._can_fork()


def children(process: int) -> set[int]:
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                after_name = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(after_name[1]) == process and after_name[0] != "Z":
                found.add(int(folder.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux")
def test_processes_end_with_a_program_that_is_killed(tmp_path: Path) -> None:
    """And do not keep the locks of its files."""
    out = tmp_path / "trace.h5"
    arguments = ("--chains", 2, "--iterations", 1_000_000, "--threads", 2)
    with start("run", write_tumour(tmp_path), "-o", out, *arguments) as process:
        wait_for_flushes(process, out, 1)
        processes = children(process.pid)
        assert len(processes) >= 2
        process.kill()
        process.wait()
        with writing(out):
            pass
        end = time.monotonic() + 30.0
        while any(Path(f"/proc/{number}").exists() for number in processes):
            assert time.monotonic() < end, "processes outlive the program"
            time.sleep(0.01)
