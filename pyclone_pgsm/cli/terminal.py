"""The environment of a command: standard streams in any state, signals, and the exit code.

A closed stream is replaced by the null device. Characters that a stream's encoding lacks are written as escapes. If the
output cannot be written, the command still does its work and drops the rest of the output. If the reader has closed the
stream, as in ``| head -1``, this is not an error; otherwise, as with a full disk, the exit code is 2.
"""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyclone_pgsm.analyses.precompile import stop_precompiling
from pyclone_pgsm.stopping import EXIT_CODE, Stopped, ignore_signals, is_asked_to_stop, stop_on_signals


class _Stream(io.TextIOWrapper):
    """Standard output or error that stores its first failure, and from then on writes to the null device."""

    failure: OSError | None = None

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as failure:
            self._lose(failure)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as failure:
            self._lose(failure)

    def _lose(self, failure: OSError) -> None:
        self.failure = self.failure or failure
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def _open_streams() -> None:
    """Open the null device for closed streams, as the next file opened would take their place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = _stream(sys.stdout, 1)
    sys.stderr = _stream(sys.stderr, 2)


def _stream(stream: Any, number: int) -> _Stream:
    encoding = "utf-8" if stream is None else stream.encoding
    if stream is not None:
        stream.flush()
    binary = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
    return _Stream(binary, encoding, "backslashreplace", line_buffering=number == 2 or os.isatty(number))


@contextmanager
def guarded() -> Iterator[None]:
    """Run a command within the block, and exit with its code; exceptions from bugs are passed on."""
    _open_streams()
    stop_on_signals()
    code: Any = 0
    try:
        yield
    except SystemExit as end:
        code = end.code
    except (Stopped, Exception):
        if not is_asked_to_stop():
            raise
        print("pyclone-pgsm: interrupted", file=sys.stderr)
        code = EXIT_CODE
    ignore_signals()
    if code not in (0, None):
        stop_precompiling()
    sys.stdout.flush()
    failure = getattr(sys.stdout, "failure", None)
    if failure is not None and failure.errno != errno.EPIPE:
        print(f"pyclone-pgsm: standard output: cannot be written: {failure.strerror}", file=sys.stderr)
        code = code or 2
    sys.exit(code)
