"""What pipelines expect: only the files asked for, as many threads as said, nothing anywhere else, the same bytes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from small_runs import write_tumour
from test_prepare import SEGMENTS, vcf

import pyclone_pgsm
from pyclone_pgsm.cli.app import CACHE, THREADS, settle
from pyclone_pgsm.jit.compiling import cache_directory

PACKAGE = Path(pyclone_pgsm.__file__).parent
SHORT = ("--iterations", 30, "--chains", 2, "--grid-size", 51)
TABLES = ("mutations.tsv", "clusters.tsv", "left_out.tsv")
MAIN = "from pyclone_pgsm.__main__ import main\nmain()\n"
LIBRARIES = """
import json, os, sys
from pyclone_pgsm.__main__ import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
from threadpoolctl import threadpool_info
told = [{"prefix": each["prefix"], "threads": each["num_threads"]} for each in threadpool_info()]
json.dump(told, sys.stdout)
"""


class Place(NamedTuple):
    """Folders of a process: where it works, its home and its temporary files."""

    work: Path
    home: Path
    temporary: Path

    @property
    def files(self) -> set[str]:
        """All that is in the folder where it works."""
        return {str(path.relative_to(self.work)) for path in self.work.rglob("*") if path.is_file()}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place(tmp_path / "work", tmp_path / "home", tmp_path / "temporary")
    for folder in found:
        folder.mkdir()
    return found


def surroundings(place: Place, **variables: str | None) -> dict[str, str]:
    """Variables of a process that has a home of its own, and none of the user's settings. The compiled code is ours."""
    cache = cache_directory()
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("XDG_", "MPL", "NUMBA_", "PYCLONE")) and name not in THREADS
    }
    own = {
        "HOME": str(place.home),
        "USERPROFILE": str(place.home),
        "TMPDIR": str(place.temporary),
        "PYTHONPATH": str(PACKAGE.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        CACHE: str(cache) if cache else None,
    }
    return kept | {name: value for name, value in (own | variables).items() if value is not None}


def run(
    place: Place, *arguments: object, program: str = MAIN, **variables: str | None
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=place.work,
        env=surroundings(place, **variables),
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    write_tumour(folder)
    (folder / "calls.vcf").write_text(
        vcf(*(f"1:{pos}:{40 - pos % 11},{10 + pos % 7}" for pos in range(1, 900, 60)))
    )
    (folder / "calls.segments.tsv").write_text(SEGMENTS)
    return folder


def everything_in(folder: Path) -> dict[str, int]:
    """All files below a folder with the time of their last change."""
    return {
        str(path): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }


def test_only_what_was_asked_for_and_nothing_elsewhere(inputs: Path, place: Place) -> None:
    """Each command in an empty folder, with an empty home: what is there afterwards."""
    installed, given = everything_in(PACKAGE), everything_in(inputs)
    table = inputs / "simulated.tsv"
    calls = (inputs / "calls.vcf", "-c", inputs / "calls.segments.tsv")
    run(place, "validate", table)
    run(place, "validate", *calls)
    assert place.files == set()
    run(place, "prepare", *calls, "-o", "a")
    expected = {"a/table.tsv", "a/left_out.tsv"}
    assert place.files == expected
    run(place, "run", *calls, "-o", "b/t.h5", *SHORT)
    expected |= {"b/t.h5"}
    assert place.files == expected
    run(place, "analyze", table, "-o", "c", "--format", "png", *SHORT)
    pictures = {name for name in place.files if name.startswith("c/plots/")}
    assert pictures
    assert all(name.endswith(".png") for name in pictures)
    expected |= pictures | {f"c/{name}" for name in (*TABLES, "run.json", "trace.h5", "report.html")}
    assert place.files == expected
    run(place, "summarize", "b/t.h5", "-o", "d", "--no-plots")
    expected |= {f"d/{name}" for name in (*TABLES, "run.json", "report.html")}
    assert place.files == expected
    assert list(place.home.iterdir()) == list(place.temporary.iterdir()) == []
    assert everything_in(inputs) == given
    assert everything_in(PACKAGE).keys() == installed.keys()


def test_a_place_for_everything_that_is_kept(inputs: Path, place: Place, tmp_path: Path) -> None:
    """What matplotlib keeps goes with the compiled code, too; the code is not compiled here."""
    cache = tmp_path / "cache"
    arguments = (
        "analyze",
        inputs / "simulated.tsv",
        "-o",
        "out",
        "--iterations",
        4,
        "--chains",
        1,
        "--grid-size",
        11,
    )
    done = run(place, *arguments, NUMBA_DISABLE_JIT="1", **{CACHE: str(cache)})
    assert done.stderr == ""
    assert [path.name for path in cache.iterdir()] == ["matplotlib"]
    assert list(place.home.iterdir()) == []


@pytest.mark.parametrize("variable", [CACHE, "HOME"])
def test_read_only_everywhere_with_one_line_said(
    inputs: Path, place: Place, tmp_path: Path, variable: str
) -> None:
    """A copy of the package, and no folder for what could be kept: a file stands where it would be."""
    shutil.copytree(
        PACKAGE, tmp_path / "installed" / "pyclone_pgsm", ignore=shutil.ignore_patterns("__pycache__")
    )
    installed = everything_in(tmp_path / "installed")
    (tmp_path / "file").touch()
    variables = {CACHE: None, "PYTHONPATH": str(tmp_path / "installed"), "NUMBA_DISABLE_JIT": "1"}
    variables[variable] = str(tmp_path / "file" / "folder")
    program = f"import pyclone_pgsm\nassert '{tmp_path}' in pyclone_pgsm.__file__\n{MAIN}"
    arguments = ("--iterations", 4, "--chains", 1, "--grid-size", 11, "--threads", 1)
    done = run(
        place, "analyze", inputs / "simulated.tsv", "-o", "out", *arguments, program=program, **variables
    )
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"pyclone-pgsm: compiled code cannot be kept in {tmp_path / 'file' / 'folder'}")
    assert line.endswith("every start compiles again; set PYCLONE_PGSM_CACHE_DIR to use another folder")
    assert everything_in(tmp_path / "installed") == installed
    assert list(place.temporary.iterdir()) == []
    assert (place.work / "out" / "plots" / "cluster_prevalences.png").exists()


def test_libraries_have_one_thread(inputs: Path, place: Place) -> None:
    """Whatever the surroundings say: threads are those of --threads."""
    more = dict.fromkeys(THREADS, "3")
    arguments = ("analyze", inputs / "simulated.tsv", "-o", "out", "-q", "--no-plots", *SHORT, "--threads", 2)
    told = json.loads(run(place, *arguments, program=LIBRARIES, **more).stdout)
    assert {each["threads"] for each in told} == {1}
    assert any("blas" in each["prefix"] for each in told)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="counts threads in /proc")
@pytest.mark.parametrize("threads", [1, 2])
def test_as_many_threads_as_said(inputs: Path, place: Place, threads: int) -> None:
    """One that waits and writes, and those of the chains; never more, from the first import to the last picture."""
    arguments = ["run", inputs / "simulated.tsv", "-o", "t.h5", "--chains", 3, "--iterations", 300]
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, *map(str, arguments), "--threads", str(threads)],
        cwd=place.work,
        env=surroundings(place),
        stdout=subprocess.DEVNULL,
    )
    most = 0
    while process.poll() is None:
        most = max(most, threads_of(process.pid))
        time.sleep(0.005)
    assert process.returncode == 0
    assert most == 1 + threads


def threads_of(process: int) -> int:
    """Threads that a process has now, 0 if it ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("Threads:")), 0)


def test_same_bytes_whatever_the_threads(inputs: Path, place: Place) -> None:
    for threads, others in ((1, None), (2, "2"), (3, "1")):
        arguments = (
            "analyze",
            inputs / "simulated.tsv",
            "-o",
            f"o{threads}",
            "--chains",
            3,
            "--iterations",
            60,
        )
        variables = dict.fromkeys(THREADS, others)
        run(place, *arguments, "--threads", threads, "--no-plots", **variables)
    for name in TABLES:
        first = (place.work / "o1" / name).read_bytes()
        assert first
        assert (place.work / "o2" / name).read_bytes() == first
        assert (place.work / "o3" / name).read_bytes() == first


def test_settings_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "unknown")
    for name in (*THREADS, "MPLCONFIGDIR"):
        monkeypatch.setenv(name, "4")
        monkeypatch.delenv(name)
    monkeypatch.delenv(CACHE, raising=False)
    settle()
    assert {os.environ[name] for name in THREADS} == {"1"}
    assert "MPLCONFIGDIR" not in os.environ
    assert os.environ["MPLBACKEND"] == "agg"
    monkeypatch.setenv(CACHE, "there")
    settle()
    assert os.environ["MPLCONFIGDIR"] == str(Path("there") / "matplotlib")
    monkeypatch.setenv("MPLCONFIGDIR", "own")
    settle()
    assert os.environ["MPLCONFIGDIR"] == "own"


def test_the_module_is_the_command(place: Place) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pyclone_pgsm", "--version"],
        capture_output=True,
        text=True,
        env=surroundings(place),
    )
    assert done.stdout == f"pyclone-pgsm {pyclone_pgsm.__version__}\n"
