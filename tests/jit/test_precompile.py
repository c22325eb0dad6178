"""The process that compiles ahead: when it is started, and that it calls what it should."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from numba import config
from small_runs import matrix, run_matrix

from pyclone_pgsm.analyses import precompile
from pyclone_pgsm.cli import terminal
from pyclone_pgsm.cli.app import app
from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.jit import compiling
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.normal import Normal
from pyclone_pgsm.likelihoods.pyclone import PyClone
from pyclone_pgsm.samplers.split_merge import split_merge
from pyclone_pgsm.sampling.settings import Settings


@pytest.mark.parametrize("cold", [True, False])
def test_started_only_if_nothing_is_compiled(cold, monkeypatch, tmp_path):
    """It finds modules where this process does, and runs no file of the working directory that has a module's name."""
    started: list[Any] = []
    environments: list[dict[str, str]] = []
    monkeypatch.setattr(precompile, "_started", {})
    monkeypatch.setattr(compiling, "is_cold", lambda kind: cold and kind is Normal)
    monkeypatch.setattr(compiling, "precompiling_lock", lambda _: os.open(os.devnull, os.O_RDONLY))

    def start(command: list[str], env: dict[str, str], **_: object) -> SimpleNamespace:
        started.append(command)
        environments.append(env)
        return SimpleNamespace(pid=0, poll=lambda: None)

    monkeypatch.setattr(subprocess, "Popen", start)
    for threads, chains in ((1, 4), (4, 1), (2, 2)):
        precompile.compile_ahead("normal", Settings(chains=chains, sampler="gibbs"), threads)
        precompile.compile_ahead("normal", Settings(chains=chains), threads)
    assert started == (
        [[sys.executable, "-P", "-m", "pyclone_pgsm.analyses.precompile", "normal"]] if cold else []
    )
    with pytest.raises(UsageError, match="norml"):
        precompile.compile_ahead("norml", Settings(chains=2), 2)
    monkeypatch.undo()
    code = "import sys; print(*sys.path, sep='\\n')"
    for command, env in zip(started, environments):
        found = subprocess.check_output([*command[:2], "-c", code], env=env, cwd=tmp_path, text=True)
        assert {place for place in sys.path if place} <= set(found.splitlines())
        assert str(tmp_path) not in found.splitlines()


def test_one_program_of_several_compiles_ahead(tmp_path, monkeypatch):
    """... and its second process has the right to, until it has ended."""
    monkeypatch.setattr(compiling, "cache_directory", lambda: tmp_path)
    monkeypatch.setattr(config, "DISABLE_JIT", 0)
    lock = compiling.precompiling_lock(Normal)
    assert lock is not None
    assert compiling.precompiling_lock(Normal) is None
    process = subprocess.Popen(["sleep", "600"], pass_fds=[lock])
    os.close(lock)
    assert compiling.precompiling_lock(Normal) is None
    process.kill()
    process.wait()
    lock = compiling.precompiling_lock(Normal)
    assert lock is not None
    os.close(lock)


def test_cold_until_something_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(compiling, "cache_directory", lambda: tmp_path)
    assert compiling.is_cold(Normal)
    folder = next(iter(tmp_path.iterdir()), None)
    assert folder is None
    (tmp_path / f"{Normal.__module__}.Normal-0123456789abcdef").mkdir()
    (tmp_path / f"{Normal.__module__}.Normal-0123456789abcdef" / "build.nbi").touch()
    assert compiling.is_cold(Normal)  # of other sources
    digest = compiling.source_digest(Normal)
    assert digest is not None
    (tmp_path / f"{Normal.__module__}.Normal-{digest[:16]}").mkdir()
    (tmp_path / f"{Normal.__module__}.Normal-{digest[:16]}" / "build.nbi").touch()
    assert not compiling.is_cold(Normal)
    monkeypatch.setattr(compiling, "cache_directory", lambda: None)
    assert not compiling.is_cold(Normal)


@pytest.mark.parametrize("likelihood", ["pyclone", "normal", "bernoulli"])
def test_main_calls_the_kernels(likelihood, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["precompile", likelihood])
    precompile.main()


def test_signatures_are_those_that_a_run_needs(tmp_path, monkeypatch):
    """What was compiled ahead is used, not compiled again for other types."""
    monkeypatch.setattr(sys, "argv", ["precompile", "normal"])
    precompile.main()
    move = compiled_for(split_merge, Normal)
    if not hasattr(move, "signatures"):
        pytest.skip("nothing is compiled")
    before = len(move.signatures)
    run_matrix(tmp_path / "t.h5", data=matrix(), iterations=4, burn_in=1, resampling="both-kinds")
    assert len(move.signatures) == before


def test_a_mistake_stops_the_second_process(tmp_path, monkeypatch):
    stopped: list[str] = []
    process = SimpleNamespace(terminate=lambda: stopped.append("pyclone"), poll=lambda: None)
    monkeypatch.setattr(precompile, "_started", {PyClone: process})
    table = tmp_path / "empty.tsv"
    table.write_text("")
    for name in ("_open_streams", "stop_on_signals", "ignore_signals"):
        monkeypatch.setattr(terminal, name, lambda: None)
    with pytest.raises(SystemExit) as end, terminal.guarded():
        app(["analyze", str(table), "-o", str(tmp_path / "out")])
    assert end.value.code == 2
    assert stopped == ["pyclone"]
    assert not (tmp_path / "out").exists()
