"""A process with everything imported, from which each command is a fork: commands start in no time, and die for real.

Kernels run as plain Python (``NUMBA_DISABLE_JIT``), on a tumour of a few mutations, so that nothing is compiled. Chains
are cut into the shortest segments and each is flushed, so that there are many moments to be killed at.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, or minus the signal that ended it, and what it said."""

    code: int
    out: str
    err: str
    seconds: float


class Nursery:
    """Runs commands in forks of one process. Use it as a context manager."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        environment = {
            **os.environ,
            "NUMBA_DISABLE_JIT": "1",
            "PYTHONDONTWRITEBYTECODE": "1",  # a file that a limit cuts off would be imported later
            "MPLCONFIGDIR": str(Path(self.folder.name) / "matplotlib"),
        }
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._answer()

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def _ask(self, **order: Any) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def run(
        self,
        *arguments: object,
        kill: tuple[int, float] | None = None,
        stdout: str | None = None,
        **order: Any,
    ) -> Ended:
        """Run a command to its end.

        Parameters
        ----------
        *arguments
            Of ``pyclone-pgsm``.
        kill : (int, float) or None
            A signal and the seconds after which it is sent.
        stdout : str or None
            A file that standard output is written to.
        **order
            ``folder``: where it runs. ``limit``: largest size of a file. ``closed``: streams that are closed.
            ``encoding``: of the streams. ``at``: [function, call, signal], which the process sends itself.
        """
        out, err = (str(Path(self.folder.name) / name) for name in ("out", "err"))
        started = time.monotonic()
        order |= {"arguments": list(map(str, arguments)), "stdout": stdout or out, "stderr": err}
        pid = self._ask(start=order)
        if kill is not None:
            time.sleep(max(0.0, started + kill[1] - time.monotonic()))
            os.kill(pid, kill[0])
        code = self._ask(wait=pid)
        said = [
            Path(file).read_text(errors="replace") if file in (out, err) else ""
            for file in (stdout or out, err)
        ]
        return Ended(code, *said, time.monotonic() - started)


def main() -> None:
    """Serve orders, a line each."""
    from typer.testing import CliRunner

    from pyclone_pgsm import trace
    from pyclone_pgsm.cli.app import app
    from pyclone_pgsm.sampling import chains

    for name in (
        "analyses.run",
        "analyses.matrix_input",
        "simulate.writing",
        "analyses.prepare",
        "likelihoods.normal",
        "inputs.matrix",
        "plots.mixture",
        "plots.tumour",
        "report.pages",
    ):
        importlib.import_module(f"pyclone_pgsm.{name}")
    # Typer imports some of its modules when it first reads arguments; this command fails right after that
    CliRunner().invoke(app, ["merge", "no.h5", "neither.h5", "-o", "nowhere.h5"])
    chains.SEGMENT_SECONDS = 0.0
    trace.writer.FLUSH_SECONDS = 0.0
    trace.writer.FLUSH_SHARE = 1e9
    _say("ready")
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            _, status = os.waitpid(order["wait"], 0)
            _say(os.waitstatus_to_exitcode(status))
            continue
        pid = os.fork()
        if pid == 0:
            _be(order["start"])
        _say(pid)


def _say(answer: Any) -> None:
    sys.__stdout__.write(json.dumps(answer) + "\n")  # type: ignore[union-attr]
    sys.__stdout__.flush()  # type: ignore[union-attr]


def _be(order: dict[str, Any]) -> None:
    """Become the command."""
    from pyclone_pgsm.__main__ import main

    code = 1
    try:
        for number, name in ((1, "stdout"), (2, "stderr")):
            file = os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, number)
            os.close(file)
            binary = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
            stream = io.TextIOWrapper(binary, order.get("encoding", "utf-8"), line_buffering=number == 2)
            setattr(sys, name, stream)
        for number in order.get("closed", []):
            os.close(number)
            setattr(sys, ("stdin", "stdout", "stderr")[number], None)
        # both are ignored where the tests run in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        if "limit" in order:
            resource.setrlimit(resource.RLIMIT_FSIZE, (order["limit"], order["limit"]))
        if "at" in order:
            _signal_at(*order["at"])
        os.chdir(order.get("folder", "."))
        sys.argv = ["pyclone-pgsm", *order["arguments"]]
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        os._exit(code)


def _signal_at(function: str, call: int, number: int) -> None:
    """Let this process send itself a signal when a function ``module:name`` is called for the n-th time."""
    module, _, name = function.partition(":")
    owner = importlib.import_module(module)
    original = getattr(owner, name)
    calls = 0

    def wrapper(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            signal.raise_signal(number)
        return original(*arguments, **named)

    setattr(owner, name, wrapper)


def leftovers(folder: Path) -> Sequence[Path]:
    """Hidden files, and folders without a file."""
    paths = list(folder.rglob("*"))
    return [
        path
        for path in paths
        if path.name.startswith(".") or (path.is_dir() and not path.is_symlink() and not any(path.iterdir()))
    ]


if __name__ == "__main__":
    main()
