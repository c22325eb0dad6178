"""Machine code kept on disk: found again, never stale, never in the way of another process."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numba.core import config
from numba.core.runtime import _nrt_python, rtsys

from pyclone_pgsm.jit import compiling
from pyclone_pgsm.jit.compiling import cache_directory, compiled_for, inner
from pyclone_pgsm.jit.linking import IntermediateLibrary
from pyclone_pgsm.likelihoods.pyclone import PyClone
from pyclone_pgsm.partition import build_partition

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from cases import PLUGIN
from enumeration import poisson_gamma_log_marginal

SCORE = Path(__file__).parents[1] / "plugins" / "score.py"
TALKING = SCORE.with_name("talking.py")
COUNTS = np.array([3.0, 1.0, 7.0, 12.0])


@dataclass(frozen=True)
class Score:
    """What a process of its own said."""

    value: float
    found: list[int]
    missed: list[int]
    stderr: str


def run_script(script: Path, cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    run = subprocess.run(
        [sys.executable, script, *arguments],
        env={**os.environ, "PYCLONE_PGSM_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    return run


def score(spec: str, cache: Path) -> Score:
    run = run_script(SCORE, cache, spec)
    return Score(**json.loads(run.stdout), stderr=run.stderr)


def expected(shape: float = 1.0) -> float:
    """Without 1/y!, which the plugin leaves out."""
    marginal = poisson_gamma_log_marginal(COUNTS, shape, 0.3)
    from scipy.special import gammaln

    return marginal([0, 1]) + marginal([2, 3]) + float(gammaln(COUNTS + 1).sum())


def test_machine_code_is_found_again_but_never_stale_nor_poison(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin.py"
    cache = tmp_path / "cache"
    shutil.copy(PLUGIN, plugin)
    spec = f"{plugin}:PoissonGamma"

    first = score(spec, cache)
    assert first.value == pytest.approx(expected(), abs=1e-9)
    assert (first.found, first.missed) == ([0, 0], [1, 1])

    second = score(spec, cache)
    assert (second.found, second.missed) == ([1, 1], [0, 0])
    assert second.value == first.value

    # a process that knows nothing of the plugin, with the same functions and the same cache (numba issue 6018)
    other = score("pyclone", cache)
    assert other.value == pytest.approx(0.0, abs=1e-12)
    assert other.missed == [1, 1]

    # the plugin is edited within the same second and in a place that its signature does not show (numba issue 1833)
    times = plugin.stat()
    text = plugin.read_text()
    marginal = "math.lgamma(shape) - math.lgamma(self.shape)"
    assert text.count(marginal) == 1
    plugin.write_text(text.replace(marginal, f"1.0 + {marginal}"))
    os.utime(plugin, ns=(times.st_atime_ns, times.st_mtime_ns))
    edited = score(spec, cache)
    assert edited.value == pytest.approx(expected() + 2.0, abs=1e-9)
    assert edited.missed == [1, 1]


def test_a_cache_that_cannot_be_written_is_said_once_and_done_without(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    result = score(f"{PLUGIN}:PoissonGamma", blocked / "cache")
    assert result.value == pytest.approx(expected(), abs=1e-9)
    assert result.stderr.splitlines() == [
        f"pyclone-pgsm: compiled code cannot be kept in {blocked / 'cache'} (Not a directory): "
        "every start compiles again; set PYCLONE_PGSM_CACHE_DIR to use another folder"
    ]


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cache_directory.cache_clear()
    monkeypatch.setenv("PYCLONE_PGSM_CACHE_DIR", str(tmp_path / "here"))
    try:
        assert cache_directory() == tmp_path / "here"
        assert list((tmp_path / "here").iterdir()) == []
    finally:
        cache_directory.cache_clear()


def test_a_function_is_compiled_once_for_a_likelihood() -> None:
    assert compiled_for(build_partition, PyClone) is compiled_for(build_partition, PyClone)


def test_threads_that_ask_at_the_same_time_get_the_same_function() -> None:
    """Or each chain would compile for itself, and numba's own setting of the cache folder could be left changed."""
    compiling._compiled.clear()
    before = config.CACHE_DIR
    barrier = threading.Barrier(8)
    functions = []

    def ask() -> None:
        barrier.wait()
        functions.append(compiled_for(build_partition, PyClone))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(functions) == 8
    assert len({id(function) for function in functions}) == 1
    assert before == config.CACHE_DIR


def test_inner_functions_have_no_machine_code_of_their_own() -> None:
    """What saves a third of the time of compiling; they are in that of the entry."""

    @inner(nogil=True)
    def double(number: int) -> int:
        return 2 * number

    entry = compiling._jit(lambda number: double(number), None)
    assert entry(21) == 42
    (made,) = double._for_kernels.overloads.values()
    assert isinstance(made.library, IntermediateLibrary)
    assert made.library.get_pointer_to_function(made.fndesc.mangled_name) == 0
    assert double(4) == 8  # from Python


@pytest.mark.parametrize("length", [1, 5])
def test_inner_functions_may_count_references(length: int) -> None:
    @inner(nogil=True)
    def made(length: int) -> np.ndarray:
        return np.full(length, 2.0)

    @inner(nogil=True)
    def total(length: int) -> float:
        kept = made(length)
        for _ in range(3):
            kept = kept + made(length)
        return kept.sum()

    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    assert compiling._jit(lambda length: total(length), None)(length) == 8.0 * length
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0


def test_inner_functions_print_from_new_and_from_kept_machine_code(tmp_path: Path) -> None:
    said = [run_script(TALKING, tmp_path).stdout.splitlines() for _ in range(2)]
    assert said == [["inner 41", "entry 42", "found 0"], ["inner 41", "entry 42", "found 1"]]


def test_digest_covers_every_kernel() -> None:
    """A module with compiled code that the digest overlooks could run stale machine code after an edit."""
    covered = {path for pattern in compiling.KERNELS for path in compiling.PACKAGE.glob(pattern)}
    texts = {path: path.read_text() for path in compiling.PACKAGE.rglob("*.py")}
    entries = {name for text in texts.values() for name in re.findall(r"compiled_for\(\s*(\w+)", text)}
    compiled = re.compile(r"^@inner|\bnjit\b|^def (" + "|".join(entries) + r")\(", re.MULTILINE)
    using = {path for path, text in texts.items() if compiled.search(text)}
    assert {"gibbs.py", "predictive.py", "stacking.py"} <= {path.name for path in using}
    assert using <= covered
