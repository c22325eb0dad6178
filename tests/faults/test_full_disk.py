"""A full disk, or a limit of the size of files: exit code 2, a message, what was there stays, nothing is left over."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import MATRIX, SHORT
from nursery import Nursery, leftovers
from small_runs import bits

from pyclone_pgsm.trace import Trace

NO_SPACE = "cannot be written: no space left on"
TOO_LARGE = "cannot be written: larger than ulimit -f or the file system allows (File too large)"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if (
        mount is None
        or subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], capture_output=True
        ).returncode
    ):
        pytest.skip("no file system can be mounted")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(disk: Path, free: int) -> None:
    """Leave so many bytes."""
    with (disk / "filler").open("ab", buffering=0) as filler:
        while True:
            found = os.statvfs(disk)
            excess = found.f_bavail * found.f_frsize - free
            if excess <= 0:
                return
            filler.write(bytes(min(excess, 1 << 16)))


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="session")
def first_bytes(nursery: Nursery, made: Path, tmp_path_factory: pytest.TempPathFactory) -> int:
    """Size of a trace without iterations."""
    path = tmp_path_factory.mktemp("first") / "t.h5"
    at = ["pyclone_pgsm.analyses.run:_run", 1, signal.SIGTERM]
    assert nursery.run("run", made / "tumour.tsv", "-o", path, *SHORT, at=at).code == 130
    return path.stat().st_size


@pytest.mark.parametrize("when", ["start", "middle"])
def test_trace_that_may_not_grow(
    when, first_bytes: int, nursery: Nursery, made: Path, tmp_path: Path
) -> None:
    """The last trace is kept, and goes on where there is room."""
    path = tmp_path / "folder" / "t.h5"
    last_bytes = (made / "a.h5").stat().st_size
    limit = first_bytes // 2 if when == "start" else (first_bytes + last_bytes) // 2
    ended = nursery.run("run", made / "tumour.tsv", "-o", path, *SHORT, limit=limit)
    assert ended.code == 2
    assert ended.err.startswith(f"pyclone-pgsm: {path}: {TOO_LARGE}")
    assert ended.err.count("\n") == 1
    if when == "start":
        assert list(path.parent.iterdir()) == []
        return
    assert ended.err.endswith(
        f"; {path} is kept: go on with pyclone-pgsm resume {path}, then make the tables with "
        f"pyclone-pgsm summarize {path} -o FOLDER\n"
    )
    with Trace(path) as trace:
        trace.check()
    assert [each.name for each in path.parent.iterdir()] == ["t.h5"]
    assert nursery.run("resume", path).code == 0
    assert bits(path) == bits(made / "a.h5")


def test_older_trace_stays(first_bytes: int, nursery: Nursery, made: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(made / "old.h5", tmp_path / "t.h5"))
    limit = (first_bytes + path.stat().st_size) // 2
    ended = nursery.run("run", made / "tumour.tsv", "-o", path, *SHORT, "--force", limit=limit)
    assert ended.code == 2
    assert path.read_bytes() == (made / "old.h5").read_bytes()
    assert f"resume {tmp_path / 't.unfinished.h5'}" in ended.err
    assert nursery.run("resume", tmp_path / "t.unfinished.h5").code == 0
    assert [each.name for each in tmp_path.iterdir()] == ["t.h5"]
    assert bits(path) == bits(made / "a.h5")


@pytest.mark.parametrize("limit", [1000, 5000, 20_000])
@pytest.mark.parametrize(
    "command",
    [
        ["merge", "a.h5", "b.h5", "-o", "merged.h5"],
        ["summarize", "a.h5", "-o", "old_summary", "--no-plots"],
        ["summarize", "a.h5", "-o", "new/folder", "--format", "png"],
        ["plot", "a.h5", "-o", "old_pictures", "--format", "pdf,png"],
        ["simulate", "-o", "old_simulated", "--mutations", "6", "--samples", "2", "--clusters", "2"],
        ["cluster", "points.csv", "-o", "old_clusters", *MATRIX, "--no-plots"],
        ["analyze", "tumour.tsv", "-o", "old_analysis", *SHORT, "--no-plots"],
    ],
    ids=lambda command: f"{command[0]}-{command[-1]}" if isinstance(command, list) else None,
)
def test_no_command_loses_what_was_there(
    command, limit, nursery: Nursery, made: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "made"))
    before = contents(folder)
    arguments = [
        folder / each if (made / each.split("/")[0]).exists() or each == "merged.h5" or "/" in each else each
        for each in command
    ]
    ended = nursery.run(*arguments, "--force", limit=limit)
    if ended.code == 0:  # the files are smaller
        assert limit > 1000 or command[0] == "simulate"
        return
    assert ended.code == 2
    assert TOO_LARGE in ended.err
    assert ended.err.count("\n") == 1
    after = contents(folder)
    new = {path for path in after if path not in before}
    assert all(path.name == "trace.unfinished.h5" for path in new)
    assert {path: after[path] for path in before} == before
    assert leftovers(folder) == []


def test_full_disk(small_disk: Path, first_bytes: int, nursery: Nursery, made: Path) -> None:
    """At the start, in the middle of a run, at the tables, in the pictures; then with room again."""
    last_bytes = (made / "a.h5").stat().st_size
    path, out = small_disk / "t.h5", small_disk / "out"
    table = made / "tumour.tsv"
    for free, begins in ((0, False), (first_bytes // 2, False), (2 * first_bytes + 8192, True)):
        assert 2 * first_bytes + 8192 < first_bytes + last_bytes
        fill(small_disk, free)
        ended = nursery.run("run", table, "-o", path, *SHORT, "--force")
        assert ended.code == 2
        assert ended.err.startswith(
            f"pyclone-pgsm: {path}: {NO_SPACE} {small_disk} (No space left on device)"
        )
        assert path.exists() == begins
        assert leftovers(small_disk) == []
        (small_disk / "filler").unlink()
    assert nursery.run("resume", path).code == 0
    assert bits(path) == bits(made / "a.h5")
    for free, options in ((0, ["--no-plots"]), (8192, ["--no-plots"]), (100_000, ["--format", "png"])):
        fill(small_disk, free)
        ended = nursery.run("summarize", path, "-o", out, *options)
        assert ended.code == 2
        assert NO_SPACE in ended.err or "the folder cannot be made: No space left on device" in ended.err
        assert not out.exists()
        (small_disk / "filler").unlink()
    assert nursery.run("summarize", path, "-o", out, "--no-plots").code == 0
    assert leftovers(small_disk) == []


def test_limit_of_the_shell(made: Path, tmp_path: Path) -> None:
    """In a process of its own, as users meet it."""
    command = f"ulimit -f 16; exec '{sys.executable}' -m pyclone_pgsm merge '{made / 'a.h5'}' '{made / 'b.h5'}' -o m.h5"
    ended = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stderr) == (2, f"pyclone-pgsm: m.h5: {TOO_LARGE}\n")
    assert list(tmp_path.iterdir()) == []
