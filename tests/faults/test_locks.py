"""One writer of a trace at a time."""

from __future__ import annotations

import errno
import json
import os
import re
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from made_traces import made_trace

from pyclone_pgsm import locks
from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.plan import Plan
from pyclone_pgsm.errors import OutputError, TraceError
from pyclone_pgsm.locks import writing
from pyclone_pgsm.posterior.rows import kept_rows
from pyclone_pgsm.posterior.summarize import summarize
from pyclone_pgsm.trace import Trace, merge_traces

HOLD = """
import sys, time
from pathlib import Path
from pyclone_pgsm.locks import writing
with writing(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def holder_of(path: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock of a path."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def lock_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def test_the_second_writer_is_told_who_holds_the_lock_and_a_dead_one_holds_nothing(tmp_path):
    path = made_trace(tmp_path / "t.h5")
    content = path.read_bytes()
    link = tmp_path / "link.h5"
    link.symlink_to(path)
    process = holder_of(path)
    try:
        with Trace(path) as trace:  # reading needs no lock
            data, options, states = trace.data, trace.options, trace.states()
        plan = Plan(data, options, None, states, 1, None, 0.0)  # type: ignore[arg-type]
        for use in (
            lambda: analysis.resume(path, 30),
            lambda: analysis.resume(link, 30),
            lambda: analysis.start(plan, path),
            lambda: merge_traces([path], path),
        ):
            with pytest.raises(OutputError) as caught:
                use()
            message = str(caught.value)
            assert f"is being written by process {process.pid} on {socket.gethostname()} since 20" in message
            assert path.read_bytes() == content
    finally:
        process.kill()
        process.wait()
    assert lock_of(path).exists()
    with writing(path):
        assert json.loads(lock_of(path).read_text())["pid"] == os.getpid()
    assert not lock_of(path).exists()
    assert {each.name for each in tmp_path.iterdir()} == {"t.h5", "link.h5"}


def test_the_command_exits_with_2(tmp_path):
    path = made_trace(tmp_path / "t.h5")
    process = holder_of(path)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "pyclone_pgsm", "resume", str(path), "--iterations", "30"],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        process.kill()
        process.wait()
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"pyclone-pgsm: {path}: is being written by process {process.pid} on ")
    assert "Traceback" not in ended.stderr


def test_a_summary_of_a_trace_that_is_being_written_says_to_wait(tmp_path):
    path = made_trace(tmp_path / "t.h5")
    with Trace(path) as trace:
        last = trace.chains[0].last_iteration
    link = tmp_path / "link.h5"
    link.symlink_to(path)
    process = holder_of(path)
    told = f"process {process.pid} on .* seems to be writing the trace: wait for its end, or choose a smaller"
    try:
        for name in (path, link):
            with Trace(name) as trace, pytest.raises(TraceError, match=told):
                kept_rows(trace, last)
            # an unfinished run reports to have fewer iterations than it is to do
            with Trace(name) as trace:
                longer = replace(trace.options.settings, iterations=last + 10)
                trace.options = replace(trace.options, settings=longer)
                (warning,) = [line for line in summarize(trace).warnings if "have not done all" in line]
            assert re.search(told.partition(", or")[0] + "$", warning)
    finally:
        process.kill()
        process.wait()
    assert lock_of(path).exists()
    # neither a process that has ended, nor this one, which may be summarising its own run, is waited for
    with Trace(path) as trace, pytest.raises(TraceError, match="resume the trace, or choose a smaller"):
        kept_rows(trace, last)
    with (
        writing(path),
        Trace(path) as trace,
        pytest.raises(TraceError, match="resume the trace, or choose a smaller"),
    ):
        kept_rows(trace, last)


def test_a_folder_is_not_touched_while_its_trace_is_written(tmp_path):
    path = made_trace(tmp_path / "trace.h5")
    (tmp_path / "clusters.tsv").write_text("of another run")
    with Trace(path) as trace:
        plan = Plan(trace.data, trace.options, None, trace.states(), 1, None, 0.0)  # type: ignore[arg-type]
    content = path.read_bytes()
    process = holder_of(path)
    try:
        with pytest.raises(OutputError, match="is being written by process"):
            analysis.fill_folder(
                plan,
                tmp_path,
                criterion=None,
                command="",
                progress=None,
                formats=(),
            )
    finally:
        process.kill()
        process.wait()
    assert path.read_bytes() == content
    assert (tmp_path / "clusters.tsv").read_text() == "of another run"


def test_a_thread_may_take_its_lock_again_but_no_other(tmp_path):
    path, told = tmp_path / "t.h5", []

    def other() -> None:
        try:
            with writing(path):
                told.append("taken")
        except OutputError as problem:
            told.append(str(problem))

    with writing(path):
        with writing(path):
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        assert lock_of(path).exists()
    assert told == [f"{path}: is being written by another thread of this process: wait for its end"]
    with writing(path):
        pass


def test_where_the_file_system_knows_no_locks_what_the_file_says_decides(tmp_path, monkeypatch):
    monkeypatch.setattr(locks.fcntl, "flock", Mock(side_effect=OSError(errno.ENOLCK, "no locks available")))
    path = tmp_path / "t.h5"
    me = locks._myself()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for holder in ({**me, "pid": ended.pid}, {**me, "process_started": "1"}, {"pid": "x"}, []):
        lock_of(path).write_text(json.dumps(holder))
        with writing(path):
            pass
    for holder in (me, {**me, "host": "elsewhere", "pid": ended.pid}):
        lock_of(path).write_text(json.dumps(holder))
        with (
            pytest.raises(OutputError, match=f"is being written by process {holder['pid']} on "),
            writing(path),
        ):
            pass


def test_a_lock_that_cannot_be_made(tmp_path):
    with (
        pytest.raises(OutputError, match=r"cannot be written: \.t\.h5\.lock: No such file"),
        writing(tmp_path / "nowhere" / "t.h5"),
    ):
        pass
    lock_of(tmp_path / "t.h5").symlink_to(tmp_path / "victim")
    with pytest.raises(OutputError, match="cannot be written"), writing(tmp_path / "t.h5"):
        pass
    assert not (tmp_path / "victim").exists()
