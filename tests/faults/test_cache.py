"""Compiled code on disk: damage is thrown away, what others can write is not run, and one process compiles for all."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyclone_pgsm.jit.code_cache import take_lock

SCRIPT = """
import sys
from pyclone_pgsm.jit import compiling

def weigh(number):
    total = 0.0
    for k in range(number):
        total += 0.5 * k
    return total

entry = compiling._jit(weigh, "kernels-test")
print(entry(5), sum(entry.stats.cache_hits.values()), sum(entry.stats.cache_misses.values()))
"""
COMPILED, LOADED = "5.0 0 1\n", "5.0 1 0\n"


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("script") / "weigh.py"
    path.write_text(SCRIPT)
    return path


def start(script: Path, cache: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYCLONE_PGSM_CACHE_DIR": str(cache)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    return subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def outcome(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out, err


@pytest.fixture(scope="module")
def kept(script: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the script's function."""
    cache = tmp_path_factory.mktemp("kept") / "cache"
    assert outcome(start(script, cache)) == (COMPILED, "")
    assert outcome(start(script, cache)) == (LOADED, "")
    return cache


def empty(content: bytes) -> bytes:
    return b""


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]


def rubbish(content: bytes) -> bytes:
    return bytes(range(256)) * 8


@pytest.mark.parametrize("spoil", [empty, cut, flip, rubbish])
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_damaged_code_is_thrown_away(kind, spoil, script: Path, kept: Path) -> None:
    (file,) = kept.rglob(f"*.{kind}")
    file.write_bytes(spoil(file.read_bytes()))
    out, err = outcome(start(script, kept))
    assert out == COMPILED
    assert re.fullmatch(r"pyclone-pgsm: damaged compiled code in .* was deleted and is compiled again\n", err)
    assert outcome(start(script, kept)) == (LOADED, "")


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
@pytest.mark.parametrize("inner", [False, True], ids=["folder", "folder-of-the-class"])
def test_folder_that_others_can_write_is_not_used(inner, mode, script: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "kernels-test" if inner else tmp_path / "cache"
    folder.mkdir(parents=True)
    folder.chmod(mode)
    out, err = outcome(start(script, tmp_path / "cache"))
    assert out == COMPILED
    assert err == (
        f"pyclone-pgsm: compiled code in {folder} is not used, because others can write there: every start compiles "
        "again; set PYCLONE_PGSM_CACHE_DIR to use another folder\n"
    )
    assert not list(tmp_path.rglob("*.nb?"))


def test_folder_of_another_user_is_not_used(script: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    os.chown(cache, 12345, 12345)
    out, err = outcome(start(script, cache))
    assert out == COMPILED
    assert "is not used, because it belongs to another user" in err


def test_folders_are_made_for_the_user_alone(script: Path, tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        assert outcome(start(script, tmp_path / "cache")) == (COMPILED, "")
        assert outcome(start(script, tmp_path / "cache")) == (LOADED, "")
    finally:
        os.umask(before)
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def test_one_compiles_for_all(script: Path, tmp_path: Path) -> None:
    processes = [start(script, tmp_path / "cache") for _ in range(4)]
    outs = sorted(outcome(process)[0] for process in processes)
    assert outs == [COMPILED, LOADED, LOADED, LOADED]


@pytest.fixture
def holder(kept: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that compiles, as far as others can see."""
    for file in kept.rglob("*.nb?"):
        file.unlink()
    (lock,) = kept.rglob("weigh.weigh-*.lock")
    program = (
        "import sys, time; from pathlib import Path; from pyclone_pgsm.jit.code_cache import take_lock\n"
        "assert isinstance(take_lock(Path(sys.argv[1])), int); print('held', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", program, lock], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_others_wait_and_say_so_until_the_process_dies(holder, script: Path, kept: Path) -> None:
    (lock,) = kept.rglob("weigh.weigh-*.lock")
    assert take_lock(lock) == "held"
    waiting = start(script, kept)
    assert waiting.stderr is not None
    assert waiting.stderr.readline() == (
        f"pyclone-pgsm: waiting for process {holder.pid}, which is compiling or loading the same code\n"
    )
    assert waiting.poll() is None
    holder.send_signal(signal.SIGKILL)
    assert outcome(waiting) == (COMPILED, "")
