"""Files take their places whole and together, or not at all; what dead processes left is found."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pyclone_pgsm.cli.messages import mistakes_reported
from pyclone_pgsm.errors import OutputError
from pyclone_pgsm.files import (
    PART,
    check_new,
    finished,
    make_folder,
    refuse_inputs,
    remove,
    remove_leftovers,
    replacing,
    replacing_together,
    take_place,
    unfinished,
    write_file,
)
from pyclone_pgsm.stopping import Stopped, held_back


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_together_or_not_at_all(tmp_path):
    for name in ("a", "b", "outdated", "kept"):
        (tmp_path / name).write_text("old")

    def write(fails: bool) -> None:
        with replacing_together():
            make_folder(tmp_path / "new" / "folder")
            for path in (tmp_path / "a", tmp_path / "b", tmp_path / "new" / "folder" / "c"):
                remove(path)
                write_file(path, b"new")
            remove(tmp_path / "outdated")
            assert (tmp_path / "a").read_text() == "old"
            if fails:
                raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        write(True)
    assert names(tmp_path) == ["a", "b", "kept", "outdated"]
    assert (tmp_path / "a").read_text() == "old"
    write(False)
    assert names(tmp_path) == ["a", "b", "kept", "new"]
    assert names(tmp_path / "new" / "folder") == ["c"]
    assert {(tmp_path / name).read_text() for name in ("a", "b")} == {"new"}
    assert (tmp_path / "kept").read_text() == "old"


def test_nothing_is_replaced_if_a_folder_has_the_name_of_a_file(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "b").mkdir()

    def write() -> None:
        with replacing_together():
            for name in ("a", "b"):
                write_file(tmp_path / name, b"new")

    with pytest.raises(OutputError, match="b: cannot be written: a folder has this name"):
        write()
    assert names(tmp_path) == ["a", "b"]
    assert (tmp_path / "a").read_text() == "old"


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, "no space left on {folder} ({text})"),
        (errno.EDQUOT, "no space left on {folder} ({text})"),
        (errno.EFBIG, "larger than ulimit -f or the file system allows ({text})"),
    ],
)
def test_no_space_is_told(number, reason, tmp_path):
    with pytest.raises(OutputError) as caught, replacing(tmp_path / "t.h5") as part:  # noqa: PT012
        part.write_text("half")
        raise OSError(number, "whatever")
    path = tmp_path / "t.h5"
    reason = reason.format(folder=tmp_path, text=os.strerror(number))
    assert str(caught.value) == f"{path}: cannot be written: {reason}"
    assert names(tmp_path) == []


def test_links_stay_and_their_target_is_replaced(tmp_path):
    target = tmp_path / "elsewhere" / "t"
    target.parent.mkdir()
    target.write_text("old")
    link = tmp_path / "link"
    link.symlink_to("elsewhere/t")
    write_file(link, b"new")
    assert os.readlink(link) == "elsewhere/t"
    assert target.read_text() == "new"
    assert names(target.parent) == ["t"]


def test_links_in_a_circle_are_told(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for call in (
        lambda: write_file(tmp_path / "a", b""),
        lambda: check_new(tmp_path / "a", True),
        lambda: make_folder(tmp_path / "a"),
        lambda: make_folder(tmp_path / "a" / "c"),
    ):
        with pytest.raises(OutputError, match="its symbolic links lead in a circle"):
            call()
    refuse_inputs([tmp_path / "a"], [tmp_path / "c"])
    assert names(tmp_path) == ["a", "b"]


def test_leftovers_of_dead_processes_go(tmp_path):
    """... when something is next written into their folder; a file that is being written and any other stay."""
    program = (
        "import sys, time; from pathlib import Path; from pyclone_pgsm.files import replacing\n"
        "with replacing(Path(sys.argv[1])) as part:\n"
        "    part.write_text('half'); print('written', flush=True); time.sleep(600)"
    )
    processes = []
    for name in ("dead", "alive"):
        process = subprocess.Popen(
            [sys.executable, "-c", program, tmp_path / name], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        processes.append(process)
    dead, alive = processes
    dead.kill()
    dead.communicate()
    parts = [f".alive.{alive.pid}{PART}", f".dead.{dead.pid}{PART}"]
    assert names(tmp_path) == parts
    for name in (".another.part", f"visible{PART}"):
        (tmp_path / name).write_text("not ours")
    write_file(tmp_path / "new", b"")
    assert names(tmp_path) == sorted([parts[0], ".another.part", f"visible{PART}", "new"])
    alive.kill()
    alive.communicate()
    remove_leftovers(tmp_path)
    assert names(tmp_path) == sorted([".another.part", f"visible{PART}", "new"])


def test_unfinished_names(tmp_path):
    old, new = tmp_path / "t.h5", tmp_path / "t.unfinished.h5"
    assert (unfinished(old), finished(new), finished(old)) == (new, old, old)
    old.write_text("old")
    new.write_text("new")
    with pytest.raises(OutputError), replacing_together():  # noqa: PT012
        take_place(new, old)
        raise OutputError
    assert names(tmp_path) == ["t.h5", "t.unfinished.h5"]
    take_place(new, old)
    assert names(tmp_path) == ["t.h5"]
    assert old.read_text() == "new"


@pytest.fixture
def stopping(monkeypatch):
    from pyclone_pgsm import stopping

    before = {number: signal.getsignal(number) for number in stopping.NUMBERS}
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    monkeypatch.setattr(stopping, "_handler", stopping._handler)
    for number in stopping.NUMBERS:
        signal.signal(number, signal.SIG_DFL)
    stopping.stop_on_signals()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_wait_for_what_belongs_together(number, stopping):
    done = []
    with pytest.raises(Stopped), held_back():  # noqa: PT012
        signal.raise_signal(number)
        done.append(1)
    assert done == [1]


def test_an_error_that_a_library_makes_of_a_signal_is_an_interruption():
    """As matplotlib's compiled code does while it draws a path."""
    script = """
import signal
from pyclone_pgsm.cli.messages import mistakes_reported
from pyclone_pgsm.cli.terminal import guarded

with guarded(), mistakes_reported():
    try:
        signal.raise_signal(signal.SIGTERM)
    except BaseException:
        raise ValueError("Invalid bounding box") from None
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (130, "pyclone-pgsm: interrupted\n")


def test_an_error_without_a_signal_is_none(stopping):
    with pytest.raises(ValueError, match="of the program"), mistakes_reported():
        raise ValueError("a fault of the program")


def test_one_ctrl_c_may_come_as_several_signals(stopping):
    with pytest.raises(Stopped):
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)  # while the command cleans up


def test_signal_that_goes_lost_comes_again(stopping):
    class Deleted:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    def drop() -> None:
        thing = Deleted()
        del thing

    with pytest.raises(Stopped):  # noqa: PT012
        drop()
        time.sleep(60)
