"""A small simulated tumour, runs on it in this process and in another, and what must be the same in two traces."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from pyclone_pgsm import trace
from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.plan import make_plan
from pyclone_pgsm.analyses.reading import Reading
from pyclone_pgsm.inputs.observations import LeftOut, Observations
from pyclone_pgsm.likelihoods.matrix import DataMatrix, MatrixOptions
from pyclone_pgsm.priors import DirichletProcess, Prior
from pyclone_pgsm.sampling import chains
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import simulate
from pyclone_pgsm.simulate.writing import write_simulation
from pyclone_pgsm.trace.matrix import MatrixData
from pyclone_pgsm.trace.structure import seal

TUMOUR = SimulationOptions(mutations=40, samples=2, clusters=4, missing=0.1, copy_numbers="mixed")
LEFT_OUT = [LeftOut("a.tsv", 7, "m7", "S1", "major_cn is 0"), LeftOut("b.tsv", None, "m8", "", "no data")]
FIXED = analysis.ModelOptions(precision=200.0)

# The command with many short segments, each of them flushed, so that it can be stopped at many moments.
EAGER = """
import sys
from pyclone_pgsm import trace
from pyclone_pgsm.sampling import chains
from pyclone_pgsm.__main__ import main
chains.SEGMENT_SECONDS = 0.02
trace.writer.FLUSH_SECONDS = 0.0
trace.writer.FLUSH_SHARE = 1.0
main()
"""


@cache
def tumour(mutations: int = TUMOUR.mutations) -> Observations:
    options = SimulationOptions(**{**TUMOUR.to_dict(), "mutations": mutations, "precision": np.inf})
    return simulate(options, np.random.default_rng(3)).observations


def write_tumour(folder: Path) -> Path:
    return write_simulation(folder, TUMOUR, 3)[0]


def run(
    path: Path,
    *,
    observations: Observations | None = None,
    model: analysis.ModelOptions | None = None,
    prior: Prior | None = None,
    threads: int = 1,
    **settings: Any,
) -> Path:
    """Chains on the small tumour; returns the path."""
    model = model or analysis.ModelOptions()
    plan = analysis.plan_tumour(
        Reading(observations or tumour(), LEFT_OUT, model.tumour_content),
        model,
        Settings(**{"iterations": 60, "burn_in": 30, "chains": 2, **settings}),
        prior or DirichletProcess(),
        threads,
    )
    analysis.start(plan, path, command="a test")
    return path


@cache
def matrix(kind: str = "normal", rows: int = 24) -> DataMatrix:
    """Three clusters: of points in the plane, of rows of four bits, or of counts."""
    rng = np.random.default_rng(11)
    which = np.arange(rows) % 3
    if kind == "normal":
        values = np.array([[-4.0, 0.0], [4.0, 0.0], [0.0, 5.0]])[which] + rng.normal(size=(rows, 2))
    elif kind == "bernoulli":
        values = (rng.random((rows, 4)) < np.array([0.1, 0.5, 0.9])[which, None]).astype(float)
    else:
        values = rng.poisson(np.array([2.0, 20.0, 60.0])[which, None], (rows, 1)).astype(float)
    names = [f"x{d}" for d in range(1, values.shape[1] + 1)]
    return DataMatrix([f"r{t}" for t in range(1, rows + 1)], names, values)


def run_matrix(
    path: Path,
    likelihood: str = "normal",
    *,
    data: DataMatrix | None = None,
    parameters: dict[str, Any] | None = None,
    prior: Prior | None = None,
    threads: int = 1,
    **settings: Any,
) -> Path:
    """Chains on a small matrix; returns the path."""
    plan = make_plan(
        MatrixData(data or matrix(likelihood), MatrixOptions(likelihood, parameters or {})),
        Settings(**{"iterations": 60, "burn_in": 30, "chains": 2, **settings}),
        prior or DirichletProcess(),
        threads=threads,
    )
    analysis.start(plan, path, command="a test")
    return path


def many_segments(monkeypatch: Any, after_flush: Callable[[Path], None] | None = None) -> None:
    """Let runs of this process be cut into the shortest segments, each flushed."""

    class Writer(trace.TraceWriter):
        def flush(self) -> None:
            super().flush()
            self.interval = 0.0
            if after_flush:
                after_flush(self.path)

    monkeypatch.setattr(chains, "SEGMENT_SECONDS", 0.0)
    monkeypatch.setattr(trace.writer, "FLUSH_SECONDS", 0.0)
    monkeypatch.setattr(analysis, "TraceWriter", Writer)


@contextmanager
def edited(path: Path) -> Iterator[h5py.File]:
    """A trace to be changed by someone who renews its checksum, too, as a forger would."""
    with h5py.File(path, "r+") as file:
        yield file
    seal(path)


def shorten(path: Path, lengths: Sequence[int]) -> Path:
    """Take the last saved iterations from each chain, as if the run had been interrupted."""
    with edited(path) as file:
        for k, length in enumerate(lengths):
            chain = file[f"chains/{k}"]
            chain["state"].attrs["iteration"] = length
            for name in set(chain) - {"state"}:
                chain[name].resize(length, axis=0)
    return path


def bits(path: Path) -> dict[str, bytes]:
    """Everything of a trace that only the data, the options and the seed decide, bit by bit."""
    found: dict[str, bytes] = {}

    def visit(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if name.endswith("seconds"):
            return
        if isinstance(item, h5py.Dataset):
            values = item[:]
            found[name] = repr((values.dtype, values.shape)).encode() + (
                repr(values.tolist()).encode() if values.dtype == object else values.tobytes()
            )
        for attribute, value in item.attrs.items():
            if attribute not in ("command", "description"):
                found[f"{name}:{attribute}"] = repr(np.asarray(value).tolist()).encode()

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    assert any(name.endswith("labels") for name in found)
    return found


def command(*arguments: object, program: str = EAGER) -> list[str]:
    return [sys.executable, "-c", program, *map(str, arguments)]


def heed_ctrl_c() -> None:
    """Undo what a shell does to commands in the background, and so to tests that run there: they ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,
    )


def wait_for_flushes(process: subprocess.Popen[str], path: Path, count: int, seconds: float = 300.0) -> None:
    """Until the trace was replaced some times, or the process ended."""
    end = time.monotonic() + seconds
    seen: set[tuple[int, int]] = set()
    while process.poll() is None and len(seen) <= count:
        assert time.monotonic() < end, "the run does not write its trace"
        if path.exists():
            now = os.stat(path)
            seen.add((now.st_ino, now.st_mtime_ns))
        time.sleep(0.002)


def without_waiting(stderr: str) -> str:
    """What a command said, but for a word about another process (of these tests, too) that compiles the same."""
    lines = stderr.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("pyclone-pgsm: waiting for process "))
