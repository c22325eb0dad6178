"""Work in a fork beside the program: its result, and what happens when there is none."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

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


def test_a_fork_holds_no_file_open(tmp_path: Path) -> None:
    def open_files() -> list[str]:
        links = [Path("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
        return [os.readlink(link) for link in links if link.is_symlink()]

    with (tmp_path / "held").open("w") as file:
        assert file.name in open_files()
        with beside(open_files) as result:
            assert file.name not in result()
