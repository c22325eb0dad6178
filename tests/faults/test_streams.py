"""Standard streams that are closed, full, or whose reader has gone: the work is done, and the exit code is right."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SHORT
from nursery import Nursery

from pyclone_pgsm.trace import Trace

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
FILES = ("mutations.tsv", "clusters.tsv", "left_out.tsv", "run.json", "report.html", "trace.h5")


@needs_full
def test_full_standard_output(nursery: Nursery, made: Path, tmp_path: Path) -> None:
    """What could not be said is told, by message and code; the results are there."""
    out = tmp_path / "out"
    ended = nursery.run("analyze", made / "tumour.tsv", "-o", out, *SHORT, "--no-plots", stdout=str(FULL))
    assert ended.code == 2
    assert ended.err == "pyclone-pgsm: standard output: cannot be written: No space left on device\n"
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    ended = nursery.run("validate", made / "tumour.tsv", stdout=str(FULL))
    assert ended.code == 2


def test_closed_streams(nursery: Nursery, made: Path, tmp_path: Path) -> None:
    """No file takes their place, and a message that cannot be said does not hide in the output."""
    for closed in ([2], [1], [0], [0, 1, 2]):
        path = tmp_path / f"{len(closed)}{closed[0]}.h5"
        ended = nursery.run("run", made / "tumour.tsv", "-o", path, *SHORT, closed=closed)
        assert (ended.code, ended.err) == (0, "")
        with Trace(path) as trace:
            trace.check()
    ended = nursery.run("run", made / "nowhere.tsv", "-o", tmp_path / "none.h5", *SHORT, closed=[2])
    assert (ended.code, ended.out) == (2, "")
    ended = nursery.run("run", closed=[2])  # a mistake that typer tells
    assert (ended.code, ended.out) == (2, "")


def test_reader_that_has_gone(made: Path) -> None:
    """In a process of its own: ``| head -1``."""
    for arguments, code in (
        (["validate", made / "tumour.tsv"], 0),
        (["--help"], 0),
        (["validate", "nowhere"], 2),
    ):
        reading, writing = os.pipe()
        os.close(reading)
        ended = subprocess.run(
            [sys.executable, "-m", "pyclone_pgsm", *map(str, arguments)],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        )
        os.close(writing)
        assert ended.returncode == code
        assert ("Traceback" in ended.stderr, "rror" in ended.stderr) == (False, False)
        assert (ended.stderr == "") == (code == 0)


def test_names_that_the_terminal_cannot_show(nursery: Nursery, made: Path, tmp_path: Path) -> None:
    table = tmp_path / "Tumör☃.tsv"
    text = (made / "tumour.tsv").read_text().replace("S1", "Prøve±")
    table.write_text(text, encoding="utf-8")
    out = tmp_path / "Größe"
    ended = nursery.run("analyze", table, "-o", out, *SHORT, "--no-plots", encoding="ascii")
    assert (ended.code, ended.err) == (0, "")
    assert "Pr\\xf8ve\\xb1" in ended.out
    assert "Prøve±" in (out / "mutations.tsv").read_text(encoding="utf-8")
    ended = nursery.run("validate", tmp_path / "fehlt☃.tsv", encoding="ascii")
    assert ended.code == 2
    assert "fehlt\\u2603.tsv" in ended.err
    assert nursery.run("analyze", "--help", encoding="ascii").code == 0


def test_ascii_terminal_in_a_process_of_its_own(made: Path, tmp_path: Path) -> None:
    table = shutil.copy(made / "tumour.tsv", tmp_path / "Tumör☃.tsv")
    for environment in (
        {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ):
        ended = subprocess.run(
            [sys.executable, "-m", "pyclone_pgsm", "validate", table, table],
            env={**os.environ, "NUMBA_DISABLE_JIT": "1", **environment},
            capture_output=True,
        )
        assert ended.returncode == 2  # given twice
        assert b"Traceback" not in ended.stderr
        assert b"Tum" in ended.stderr


def test_circle_of_links_as_output(nursery: Nursery, made: Path, tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    table = made / "tumour.tsv"
    for arguments in (
        ["run", table, "-o", loop, *SHORT],
        ["analyze", table, "-o", loop, *SHORT],
        ["analyze", table, "-o", loop / "below", *SHORT],
        ["cluster", made / "points.csv", "--likelihood", "normal", "-o", loop],
        ["summarize", made / "a.h5", "-o", loop],
        ["plot", made / "a.h5", "-o", loop],
        ["merge", made / "a.h5", made / "b.h5", "-o", loop],
        ["simulate", "-o", loop],
        ["simulate", "-o", tmp_path, "--name", "../loop"],
        ["run", loop, "-o", tmp_path / "t.h5"],
        ["resume", loop],
    ):
        for force in ([], ["--force"]) if arguments[0] not in ("resume",) else ([],):
            ended = nursery.run(*arguments, *force)
            assert (ended.code, ended.out) == (2, ""), arguments
            assert str(loop) in ended.err or "--name" in ended.err
            assert "Traceback" not in ended.err
    assert list(tmp_path.iterdir()) == [loop]
    assert loop.is_symlink()


def test_resume_through_a_link(nursery: Nursery, made: Path, tmp_path: Path) -> None:
    """The link stays, and what it leads to goes on."""
    target = tmp_path / "store" / "t.h5"
    target.parent.mkdir()
    shutil.copy(made / "half.h5", target)
    link = tmp_path / "link.h5"
    link.symlink_to("store/t.h5")
    ended = nursery.run("resume", link, "--iterations", 16)
    assert (ended.code, ended.err) == (0, "")
    assert os.readlink(link) == "store/t.h5"
    with Trace(target) as trace:
        assert [chain.iteration[-1] for chain in trace.chains] == [16, 16]
    assert [path.name for path in target.parent.iterdir()] == ["t.h5"]
