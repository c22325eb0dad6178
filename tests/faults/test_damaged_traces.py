"""Flipped bits and cut ends: a message that names the file, or what the undamaged trace gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_traces import made_trace
from small_runs import bits, run

from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.errors import PycloneError
from pyclone_pgsm.trace import Trace

LONGEST = 60.0  # seconds that anything may take
SEED = 20

Use = Callable[[Path], Any]


def damages(content: bytes, flips: int, cuts: int) -> list[bytes]:
    """Copies with one flipped bit, or cut short."""
    rng = np.random.default_rng(SEED)
    copies = []
    for place, bit in zip(rng.integers(len(content), size=flips), rng.integers(8, size=flips)):
        copy = bytearray(content)
        copy[place] ^= 1 << int(bit)
        copies.append(bytes(copy))
    return copies + [content[:length] for length in rng.integers(len(content), size=cuts)]


def everything(path: Path) -> Any:
    """All that a trace says."""
    with Trace(path) as trace:
        trace.check()
        rows = [np.arange(len(chain.iteration)) for chain in trace.chains]
        return repr(
            (
                trace.options,
                trace.command,
                trace.version,
                [(name, np.asarray(value).tolist()) for name, value in vars(trace.data).items()],
                trace.data.left_out,
                [(name, repr(value)) for chain in trace.chains for name, value in vars(chain).items()],
                [trace.labels(k, each).tobytes() for k, each in enumerate(rows)],
                [
                    (
                        state.iteration,
                        state.labels.tobytes(),
                        state.values,
                        state.prior,
                        state.rng.bit_generator.state,
                        [array.tobytes() for array in state.anchors.state().values()],
                    )
                    for state in trace.states()
                ],
            )
        )


def tables(path: Path) -> Any:
    """What ``summarize --no-plots`` writes, without times."""
    folder = path.with_suffix("")
    analysis.write_results(path, folder, formats=())
    report = json.loads((folder / "run.json").read_text())
    del report["seconds"]
    return [report, *((file.name, file.read_bytes()) for file in sorted(folder.glob("*.tsv")))]


def resumed(path: Path, iterations: int) -> Any:
    analysis.resume(path, iterations, threads=1)
    return bits(path)


def outcome(use: Use, content: bytes, path: Path, whole: Any) -> str:
    path.write_bytes(content)
    started = time.monotonic()
    try:
        found = "same" if use(path) == whole else "changed silently"
    except PycloneError as problem:
        found = "told" if str(problem).startswith(f"{path}: ") else f"another file is named: {problem}"
    except Exception as problem:
        found = f"traceback: {type(problem).__name__}: {problem}"
    return found if time.monotonic() - started < LONGEST else "too slow"


def check_all(trace: Path, copies: list[bytes], uses: dict[str, Use]) -> None:
    """In this process: a crash ends it, which :func:`test_damage_is_told` sees."""
    path = trace.with_name("damaged.h5")
    found: Counter[str] = Counter()
    for use in uses.values():
        path.write_bytes(trace.read_bytes())
        whole = use(path)
        for content in copies:
            found[outcome(use, content, path, whole)] += 1
    assert set(found) <= {"told", "same"}, found
    assert found["told"] > len(copies) // 2


def test_damage_is_told(tmp_path):
    """150 damages of all that a trace says, in a process of its own: HDF5 might end it."""
    trace = made_trace(tmp_path / "t.h5")
    program = (
        "import sys\n"
        f"sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}\n"
        "from pathlib import Path\n"
        "from test_damaged_traces import check_all, damages, everything\n"
        "trace = Path(sys.argv[1])\n"
        "check_all(trace, damages(trace.read_bytes(), 120, 30), {'read': everything})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(trace)], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_damage_of_each_dataset_and_of_texts_is_told(tmp_path):
    """A byte in the middle of what stands in the file as it is: options, texts of attributes, the generator's state."""
    trace = made_trace(tmp_path / "t.h5")
    content = trace.read_bytes()
    path = tmp_path / "damaged.h5"
    for text in (
        b'"settings"',
        b"a test",
        b"numbered by",
        b"PCG64",
        b"burn_in",
        b"pyclone-pgsm trace 6",
        b"0.1.0",
    ):
        place = content.index(text) + 1
        copy = bytearray(content)
        copy[place] ^= 1
        assert outcome(everything, bytes(copy), path, None) == "told", text


@pytest.mark.long
@pytest.mark.skipif(
    "PYCLONE_PGSM_FUZZ" not in os.environ, reason="set PYCLONE_PGSM_FUZZ to a number, like 2500"
)
def test_thousands_of_damages(tmp_path):
    """As many as the variable says, four of five of them flips; each is summarized and resumed."""
    number = int(os.environ["PYCLONE_PGSM_FUZZ"])
    trace = run(tmp_path / "t.h5", iterations=23, burn_in=10, threads=1)
    copies = damages(trace.read_bytes(), number - number // 5, number // 5)
    check_all(trace, copies, {"summarize": tables, "resume": partial(resumed, iterations=30)})
