"""SIGINT, SIGTERM, SIGHUP: a command stops, cleans up and says so, but never between two steps that belong together."""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Shells and schedulers may send several signals for one Ctrl-C.
BURST = 0.3  # seconds within which these arrive
PATIENCE = 2.0  # seconds after which a signal counts as another Ctrl-C
EXIT_CODE = 130


class Stopped(BaseException):
    """A signal requests the end of the command. (Libraries catch KeyboardInterrupt and report something else.)"""


class Interrupted(Exception):
    """A signal or Ctrl-C stopped chains; the message says that their trace is kept, and how to continue it."""


class _Handler:
    """Raises :class:`Stopped` at the first signal, and not again while the command cleans up (:data:`PATIENCE`)."""

    def __init__(self) -> None:
        self.first = math.inf

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not 0.0 <= time.monotonic() - self.first <= PATIENCE:
            self.first = min(self.first, time.monotonic())
            raise Stopped


_handler = _Handler()


def is_asked_to_stop() -> bool:
    """Whether a signal has raised :class:`Stopped`, even if a library has turned that into another error."""
    return _handler.first < math.inf


def stop_on_signals() -> None:
    """Let `NUMBERS` raise :class:`Stopped`, unless they are ignored.

    SIGINT is ignored after ``&`` in a script, and SIGHUP by nohup.
    """
    global _handler
    handler = _handler = _Handler()
    for number in NUMBERS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)

    report = sys.unraisablehook

    def again(unraisable: Any) -> None:
        """Send the signal again a little later, as an exception raised while an object is deleted is lost."""
        if isinstance(unraisable.exc_value, Stopped):
            handler.first = math.inf
            threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGTERM)).start()
        else:
            report(unraisable)

    sys.unraisablehook = again


def ignore_signals() -> None:
    """Ignore further signals, at the end of a command."""
    for number in NUMBERS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def held_back() -> Iterator[None]:
    """Delay signals until the end of the block."""
    foreign = None in map(signal.getsignal, NUMBERS)  # a handler that Python cannot restore
    if foreign or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in NUMBERS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for each in came:
            signal.raise_signal(each)


@contextmanager
def stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """Let `NUMBERS` set `stop`. Only a SIGINT much later than the first signal raises KeyboardInterrupt.

    A signal stays as it is if it is ignored, or if its handler is not of Python, as in R or Julia with Python inside.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    first = math.inf

    def handle(number: int, _: Any) -> None:
        nonlocal first
        first = min(first, time.monotonic())
        if number == signal.SIGINT and time.monotonic() - first > PATIENCE:
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.getsignal(number) for number in NUMBERS}
    before = {number: old for number, old in before.items() if old not in (None, signal.SIG_IGN)}
    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        if first < math.inf:
            time.sleep(max(0.0, first + BURST - time.monotonic()))
        for number, handler in before.items():
            signal.signal(number, handler)
