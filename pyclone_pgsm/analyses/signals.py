"""Signals while chains run: the first ends them in good order, with all that was done in the trace."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyclone_pgsm.stopping import PATIENCE

BURST = 0.3  # seconds in which the signals of one Ctrl-C come: shells and schedulers send several


@contextmanager
def stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """Let SIGINT and SIGTERM set `stop` instead of breaking the run off. Only a much later SIGINT breaks it off."""
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

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        if first < math.inf:
            time.sleep(max(0.0, first + BURST - time.monotonic()))
        for number, handler in before.items():
            signal.signal(number, handler)
