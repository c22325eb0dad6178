"""Commands killed at random moments: nothing is lost, the results are the same in the end, and nothing is left over.

One kill of each command by default; 500 more if ``PYCLONE_PGSM_FUZZ`` is set. ``PYTEST_SEED`` chooses other moments.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import MATRIX, SHORT
from nursery import Nursery, leftovers
from small_runs import bits

SEED = int(os.environ.get("PYTEST_SEED", "1"))
FEW, MANY = 13, 500
UNTOLD = ("seconds", "command", "versions")  # in run.json


@dataclass(frozen=True)
class Case:
    """A command, and how to go on after a kill.

    Attributes
    ----------
    arguments : list of str
        Names of files are in the folder of the test.
    outputs : str
        The file or folder that it writes.
    older : str or None
        What stands there before.
    go_on : callable
        Given the folder, the commands that bring the results in the end.
    """

    arguments: list[str]
    outputs: str
    older: str | None
    go_on: Callable[[Path], list[list[str]]]


def again(*arguments: str) -> Callable[[Path], list[list[str]]]:
    return lambda folder: [[*arguments, "--force"]]


def resumed_trace(trace: str, arguments: list[str]) -> Callable[[Path], list[list[str]]]:
    """Resume what is there of the new trace, else begin anew."""

    def commands(folder: Path) -> list[list[str]]:
        new = (folder / trace).with_suffix(".unfinished.h5")
        if new.exists():
            return [["resume", str(new.relative_to(folder))]]
        if (folder / trace).exists() and not (folder / "had_older").exists():
            return [["resume", trace]]
        return [[*arguments, "--force"]]

    return commands


def resumed_folder(out: str, arguments: list[str]) -> Callable[[Path], list[list[str]]]:
    """Resume, then make the tables; or begin anew."""

    def commands(folder: Path) -> list[list[str]]:
        (first,) = resumed_trace(f"{out}/trace.h5", arguments)(folder)
        summarize = ["summarize", f"{out}/trace.h5", "-o", out, "--force", "--no-plots"]
        return [first] if first == [*arguments, "--force"] else [first, summarize]

    return commands


RUN = ["run", "tumour.tsv", "-o", "out/t.h5", *SHORT]
ANALYZE = ["analyze", "tumour.tsv", "-o", "out", *SHORT, "--no-plots"]
CLUSTER = ["cluster", "points.csv", "-o", "out", *MATRIX, "--no-plots"]
SUMMARIZE = ["summarize", "a.h5", "-o", "out", "--format", "png"]
TABLES = ["summarize", "a.h5", "-o", "out", "--no-plots"]
MERGE = ["merge", "a.h5", "b.h5", "-o", "out/m.h5"]
PLOT = ["plot", "a.h5", "-o", "out", "--format", "png"]
SIMULATE = ["simulate", "-o", "out", "--mutations", "6", "--samples", "2", "--clusters", "2"]
RESUME = ["resume", "out/half.h5", "--iterations", "16"]
CASES = {
    "run": Case(RUN, "out/t.h5", None, resumed_trace("out/t.h5", RUN)),
    "run-force": Case(RUN, "out/t.h5", "old.h5", resumed_trace("out/t.h5", RUN)),
    "resume": Case(RESUME, "out/half.h5", "half.h5", lambda folder: [RESUME]),
    "analyze": Case(ANALYZE, "out", None, resumed_folder("out", ANALYZE)),
    "analyze-force": Case(ANALYZE, "out", "old_analysis", resumed_folder("out", ANALYZE)),
    "cluster": Case(CLUSTER, "out", None, resumed_folder("out", CLUSTER)),
    "cluster-force": Case(CLUSTER, "out", "old_clusters", resumed_folder("out", CLUSTER)),
    "summarize": Case(SUMMARIZE, "out", None, again(*SUMMARIZE)),
    "summarize-force": Case(TABLES, "out", "old_summary", again(*TABLES)),
    "merge": Case(MERGE, "out/m.h5", None, again(*MERGE)),
    "merge-force": Case(MERGE, "out/m.h5", "old.h5", again(*MERGE)),
    "plot-force": Case(PLOT, "out", "old_pictures", again(*PLOT)),
    "simulate-force": Case(SIMULATE, "out", "old_simulated", again(*SIMULATE)),
}


def set_up(case: Case, made: Path, folder: Path) -> list[str]:
    """Copy what the command reads and replaces; returns its arguments."""
    folder.mkdir()
    for name in ("tumour.tsv", "points.csv", "a.h5", "b.h5"):
        shutil.copy(made / name, folder)
    (folder / "out").mkdir()
    if case.older is None:
        return case.arguments
    if (made / case.older).is_dir():
        shutil.copytree(made / case.older, folder / "out", dirs_exist_ok=True)
    else:
        shutil.copy(made / case.older, folder / case.outputs)
    (folder / "had_older").touch()
    return case.arguments if case.arguments[0] == "resume" else [*case.arguments, "--force"]


def content(path: Path) -> Any:
    """What the data, the options and the seed decide."""
    if path.suffix == ".h5":
        return bits(path)
    if path.name == "run.json":
        return {name: value for name, value in json.loads(path.read_text()).items() if name not in UNTOLD}
    if path.suffix == ".html":  # its pictures have random names; whether it is whole
        return path.read_bytes().endswith(b"</html>\n")
    return path.read_bytes()


def results(folder: Path) -> dict[str, Any]:
    out = folder / "out"
    return {str(path.relative_to(out)): content(path) for path in sorted(out.rglob("*")) if path.is_file()}


@dataclass(frozen=True)
class Whole:
    """The results before a command and after it, and how long it takes undisturbed."""

    before: dict[str, Any]
    after: dict[str, Any]
    seconds: float


def in_folder(nursery: Nursery, folder: Path, arguments: list[str], **order: Any) -> Any:
    return nursery.run(*arguments, "--quiet", folder=str(folder), **order)


@pytest.fixture(scope="session")
def whole(nursery: Nursery, made: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Whole]:
    known: dict[str, Whole] = {}

    def find(name: str) -> Whole:
        if name not in known:
            folder = tmp_path_factory.mktemp("whole") / "folder"
            arguments = set_up(CASES[name], made, folder)
            before = results(folder)
            ended = in_folder(nursery, folder, arguments)
            assert (ended.code, ended.out, ended.err) == (0, "", "")
            known[name] = Whole(before, results(folder), ended.seconds)
        return known[name]

    return find


def strike(number: int, nursery: Nursery, made: Path, whole: Callable[[str], Whole], folder: Path) -> str:
    """Kill number `number`: returns how it ended."""
    rng = np.random.default_rng((SEED, number))
    name = list(CASES)[number % len(CASES)]
    case, expected = CASES[name], whole(name)
    arguments = set_up(case, made, folder)
    kind = signal.SIGTERM if rng.random() < 0.5 else signal.SIGKILL
    ended = in_folder(nursery, folder, arguments, kill=(kind, rng.uniform(0, expected.seconds)))
    found = results(folder)
    hidden = [each for each in leftovers(folder) if each != folder / "out"]
    if ended.code == -signal.SIGKILL:
        found = {path: value for path, value in found.items() if not path.endswith(".part")}
    elif kind == signal.SIGTERM and ended.code != 0:
        # the first lines of a command run before it can know of signals
        assert ended.code in (130, -signal.SIGTERM), ended
        assert ended.err.startswith("pyclone-pgsm: interrupted") or ended.code < 0, ended
        assert ended.err.count("\n") == (ended.code == 130)
        assert hidden == []
    for path in expected.before:  # nothing is lost
        assert path in found, (name, path)
        if case.arguments[0] != "resume":
            assert found[path] in (expected.before[path], expected.after.get(path)), (name, path)
    if ended.code == 0:
        assert found == expected.after
    else:
        for command in case.go_on(folder):
            follow = in_folder(nursery, folder, command)
            assert (follow.code, follow.err) == (0, ""), (name, command, follow)
        now = results(folder)
        assert now.keys() == expected.after.keys(), name
        for path, value in now.items():
            # tables that were made apart from the chains say so
            assert value == expected.after[path] or path == "run.json", (name, path)
    assert [each for each in leftovers(folder) if each != folder / "out"] == [], name
    shutil.rmtree(folder)
    return {0: "done", 130: "told"}.get(ended.code, "killed")


def test_kills(nursery: Nursery, made: Path, whole: Callable[[str], Whole], tmp_path: Path) -> None:
    ends = [strike(k, nursery, made, whole, tmp_path / str(k)) for k in range(FEW)]
    assert ends.count("done") < FEW / 2


@pytest.mark.skipif("PYCLONE_PGSM_FUZZ" not in os.environ, reason="set PYCLONE_PGSM_FUZZ for 500 kills")
def test_many_kills(nursery: Nursery, made: Path, whole: Callable[[str], Whole], tmp_path: Path) -> None:
    started = time.monotonic()
    ends = [strike(k, nursery, made, whole, tmp_path / str(k)) for k in range(FEW, FEW + MANY)]
    print({end: ends.count(end) for end in set(ends)}, f"{time.monotonic() - started:.0f} s")
    assert ends.count("done") < MANY / 2
