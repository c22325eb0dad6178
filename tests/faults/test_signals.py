"""SIGTERM and SIGINT at a chosen moment of each command, outside the chains: exit code 130, a message, nothing lost."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import MATRIX, SHORT
from nursery import Nursery, leftovers
from small_runs import bits

from pyclone_pgsm.stopping import stopped_by_signals

PACKAGE = "pyclone_pgsm"
PLUGIN = Path(__file__).parents[2] / "examples" / "poisson_gamma" / "pyclone_pgsm_poisson_gamma.py"
SIMULATE = ["simulate", "-o", "old_simulated", "--mutations", "6", "--samples", "2", "--clusters", "2"]
ANALYZE = ["analyze", "tumour.tsv", "-o", "old_analysis", *SHORT, "--no-plots"]
CLUSTER = ["cluster", "points.csv", "-o", "old_clusters", *MATRIX, "--no-plots"]
SUMMARIZE = ["summarize", "a.h5", "-o", "old_summary", "--format", "png"]


def in_folder(command: list[str], folder: Path) -> list[object]:
    return [folder / each if (folder / each).exists() or each.endswith(".h5") else each for each in command]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("command", "place", "call"),
    [
        (["merge", "a.h5", "b.h5", "-o", "old.h5"], "trace.merge:_check_same", 1),
        (["merge", "a.h5", "b.h5", "-o", "old.h5"], "trace.merge:write_state", 1),
        (SUMMARIZE, "analyses.results:summarize", 1),
        (SUMMARIZE, "analyses.results:write_table", 2),
        (SUMMARIZE, "files:write_file", 3),
        (["plot", "a.h5", "-o", "old_pictures", "--format", "png"], "files:write_file", 4),
        (SIMULATE, "simulate.writing:simulate", 1),
        (SIMULATE, "tsv:write_table", 2),
        (ANALYZE, "analyses.run:make_plan", 1),
        (ANALYZE, "analyses.run:create_trace", 1),
        (ANALYZE, "analyses.run:make_folder", 1),
        (CLUSTER, "analyses.run:make_plan", 1),
        (["resume", "half.h5", "--iterations", "16"], "analyses.run:change_options", 1),
        (["validate", "tumour.tsv"], "inputs.read_counts.tables:count_summary", 1),
    ],
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_stopped_before_anything_is_whole(
    number, command, place, call, nursery: Nursery, made: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(made, tmp_path / "made"))
    before = contents(folder)
    force = [] if command[0] in ("resume", "validate") else ["--force"]
    ended = nursery.run(*in_folder(command, folder), *force, at=[f"{PACKAGE}.{place}", call, number])
    assert (ended.code, ended.out) == (130, "")
    assert ended.err.startswith("pyclone-pgsm: interrupted")
    assert ended.err.count("\n") == 1
    assert contents(folder) == before
    assert leftovers(folder) == []


@pytest.mark.parametrize(
    ("command", "out"),
    [(ANALYZE, "old_analysis"), (CLUSTER, "old_clusters")],
    ids=["analyze", "cluster"],
)
@pytest.mark.parametrize(
    "place", ["analyses.run:write_results", "analyses.results:write_table", "analyses.run:take_place"]
)
def test_replaced_results_stay_until_the_new_are_whole(
    place, command, out, nursery: Nursery, made: Path, tmp_path: Path
) -> None:
    """After the chains: the older results are unchanged, and the new trace is kept beside them."""
    folder = Path(shutil.copytree(made, tmp_path / "made"))
    before = contents(folder)
    ended = nursery.run(*in_folder(command, folder), "--force", at=[f"{PACKAGE}.{place}", 1, signal.SIGTERM])
    new, old = folder / out / "trace.unfinished.h5", folder / out / "trace.h5"
    assert ended.code == 130
    assert ended.err == (
        f"pyclone-pgsm: interrupted; the trace is kept: go on with pyclone-pgsm resume {new}, then make the tables "
        f"with pyclone-pgsm summarize {old} -o {folder / out} --force; the older results are unchanged\n"
    )
    assert contents(folder) == before | {new: new.read_bytes()}
    kept = bits(new)
    assert nursery.run("resume", new).code == 0
    assert not new.exists()
    assert bits(old) == kept
    assert nursery.run("summarize", old, "-o", folder / out, "--force", "--no-plots").code == 0
    whole = Path(shutil.copytree(made / out, tmp_path / out))
    arguments = [whole if each == made / out else each for each in in_folder(command, made)]
    assert nursery.run(*arguments, "--force").code == 0
    for name in ("mutations.tsv", "assignments.tsv", "clusters.tsv", "left_out.tsv"):
        if (whole / name).exists():
            assert (folder / out / name).read_bytes() == (whole / name).read_bytes()
    assert bits(whole / "trace.h5") == kept
    assert leftovers(whole) == []


def test_hint_names_the_file_of_a_likelihood(nursery: Nursery, tmp_path: Path) -> None:
    """The commands that the message gives continue a run whose likelihood is the code of a file."""
    (tmp_path / "counts.csv").write_text("a,b\n1,2\n2,1\n9,8\n8,9\n1,1\n9,9\n")
    plugin = Path(shutil.copy(PLUGIN, tmp_path / "my plugin.py"))
    command = [
        "cluster",
        "counts.csv",
        "-o",
        "out",
        *SHORT[:-2],
        "--likelihood",
        f"{plugin.name}:PoissonGamma",
    ]
    at = [f"{PACKAGE}.analyses.run:write_results", 1, signal.SIGTERM]
    ended = nursery.run(*command, "--no-plots", folder=str(tmp_path), at=at)
    assert ended.code == 130
    hint = re.fullmatch(
        r"pyclone-pgsm: interrupted; the trace is kept: go on with pyclone-pgsm (resume .*), then make the tables "
        r"with pyclone-pgsm (summarize .*)\n",
        ended.err,
    )
    assert hint is not None, ended.err
    for words in map(shlex.split, hint.groups()):
        ended = nursery.run(*words, folder=str(tmp_path))
        assert (ended.code, ended.err) == (0, ""), words
    assert (tmp_path / "out" / "assignments.tsv").exists()


def test_stopped_while_the_program_is_imported() -> None:
    """A process of its own; before its first lines are imported Python knows of no signal but Ctrl-C."""
    program = (
        "import os, signal, sys, threading\n"
        "sys.argv = ['pyclone-pgsm', 'likelihoods']\n"
        "class Importing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer': signal.raise_signal(signal.SIGTERM)\n"
        "sys.meta_path.insert(0, Importing())\n"
        "from pyclone_pgsm.__main__ import main\n"
        "main()"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "pyclone-pgsm: interrupted\n")


def test_ignored_interrupts_stay_ignored(made: Path) -> None:
    """A script's ``command &`` starts with SIGINT ignored: Ctrl-C is not for it."""
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from pyclone_pgsm.stopping import stop_on_signals; stop_on_signals()\n"
        "signal.raise_signal(signal.SIGINT); print('on')"
    )
    started = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "on\n")
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_ignored_stay_ignored_while_chains_run(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        stop = threading.Event()
        with stopped_by_signals(stop):
            signal.raise_signal(number)
        assert not stop.is_set()
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_chains_run_in_a_program_with_handlers_not_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """For such a handler Python reports None, which it would not take back."""
    own = signal.getsignal(signal.SIGTERM)
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # ignored if the tests run in the background
    monkeypatch.setattr(
        signal,
        "getsignal",
        lambda number, known=signal.getsignal: known(number) if number == signal.SIGTERM else None,
    )
    with stopped_by_signals(threading.Event()):
        assert signal.getsignal(signal.SIGTERM) is not own
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is own
    signal.signal(signal.SIGINT, before)
