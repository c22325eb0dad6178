"""Work in a fork beside the program: its result, and what happens when there is none."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyclone_pgsm import processes
from pyclone_pgsm.processes import beside

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks only on Linux")


@pytest.fixture(autouse=True)
def _forks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let there be forks even beside the threads of these tests."""
    monkeypatch.setattr(processes, "can_fork", lambda: True)
    yield
    assert not multiprocessing.active_children()


def test_the_result_is_that_of_another_process() -> None:
    with beside(os.getpid) as result:
        assert result() != os.getpid()


@pytest.mark.parametrize("reason", ["not allowed", "not possible", "no more processes"])
def test_without_a_fork_the_work_is_done_here(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise BlockingIOError("Resource temporarily unavailable")

    if reason == "not possible":
        monkeypatch.setattr(processes, "can_fork", lambda: False)
    if reason == "no more processes":
        monkeypatch.setattr(processes, "fork", refuse)
    with beside(os.getpid, reason != "not allowed") as result:
        assert result() == os.getpid()


def test_an_error_is_raised_here() -> None:
    with beside(lambda: 1 // 0) as result, pytest.raises(ZeroDivisionError):
        result()


def test_after_a_kill_the_work_is_done_here() -> None:
    here = os.getpid()

    def work() -> int:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    with beside(work) as result:
        assert result() == here


def test_a_fork_ends_with_the_block(tmp_path: Path) -> None:
    file = tmp_path / "started"

    def work() -> None:
        file.touch()
        time.sleep(1000)

    def wait_and_stop() -> None:
        with beside(work):
            while not file.exists():
                time.sleep(0.01)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wait_and_stop()


def test_a_signal_right_after_the_fork_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    fork = processes.fork

    def fork_and_signal(*arguments: Any) -> Any:
        made = fork(*arguments)
        signal.raise_signal(signal.SIGTERM)
        return made

    def interrupt(number: int, _: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(processes, "fork", fork_and_signal)
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt), beside(lambda: time.sleep(1000)):
            pass
    finally:
        signal.signal(signal.SIGTERM, before)


def test_temporary_files_of_a_fork_go_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with beside(tempfile.mkdtemp) as result:
        assert tmp_path in Path(result()).parents
    assert not list(tmp_path.iterdir())


def test_a_fork_ends_with_the_program(tmp_path: Path) -> None:
    file = tmp_path / "fork"
    code = f"""
import os, pathlib, time
from pyclone_pgsm.processes import beside
def work():
    pathlib.Path({str(file)!r} + ".part").write_text(str(os.getpid()))
    os.rename({str(file)!r} + ".part", {str(file)!r})
    time.sleep(1000)
with beside(work) as result:
    result()
"""
    with subprocess.Popen([sys.executable, "-c", code]) as program:
        while not file.exists():
            time.sleep(0.01)
        program.kill()
    end = time.monotonic() + 60.0
    while Path("/proc", file.read_text(), "cwd").exists():  # a zombie that nobody waits for has none
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_fork_holds_no_file_open(tmp_path: Path) -> None:
    def open_files() -> list[str]:
        links = [Path("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
        return [os.readlink(link) for link in links if link.is_symlink()]

    with (tmp_path / "held").open("w") as file:
        assert file.name in open_files()
        with beside(open_files) as result:
            assert file.name not in result()
