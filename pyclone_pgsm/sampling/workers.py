"""Advances chains in processes of their own.

Threads of one process run Python code in turn, and wait for each other at each call of a compiled function. Where an
iteration takes few milliseconds, two processes are up to twice as fast as two threads (docs/speed.md).
"""

import gc
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Self

from pyclone_pgsm.likelihoods.model import Model
from pyclone_pgsm.sampling.chain import ChainState, Records, advance
from pyclone_pgsm.sampling.settings import Settings


class Workers:
    """Advances chains of a model in `number` processes, or, if that is not possible, in the calling threads.

    The draws are the same. The processes end with the ``with`` block or, if the program is killed, with their segment.
    """

    def __init__(self, model: Model, number: int) -> None:
        self._model = model
        self._processes: list[tuple[BaseProcess, Connection]] = []
        self._free: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        if number > 0 and _can_fork():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, as OpenBLAS has threads
                try:
                    for _ in range(number):
                        self._start()
                except OSError:  # no more processes are allowed
                    self._end()
        for _, connection in self._processes:
            self._free.put(connection)

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        inherited = [ours, *(connection for _, connection in self._processes)]
        process = context.Process(target=_serve, args=(theirs, inherited, self._model), daemon=True)
        process.start()
        theirs.close()
        self._processes.append((process, ours))

    def _end(self) -> None:
        for process, connection in self._processes:
            connection.close()
            process.join()
        self._processes.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def advance(
        self, settings: Settings, state: ChainState, rebuild: int, end: float, is_over: Callable[[], bool]
    ) -> tuple[ChainState, Records, bool]:
        """Call :func:`~pyclone_pgsm.sampling.chain.advance` until ``time.monotonic`` has passed `end`.

        In a thread, the chain also stops when `is_over` is true. If a process ends, because of an error or because it
        was killed, the calling thread does the same work again, so that errors are raised here.
        """
        with suppress(queue.Empty):
            connection = self._free.get_nowait()
            with suppress(Exception):
                connection.send((settings, state, rebuild, end))
                answer: tuple[ChainState, Records, bool] = connection.recv()
                self._free.put(connection)
                return answer
            connection.close()
            if is_over():
                return state, Records(), False
        return advance(self._model, settings, state, rebuild, _until(end, is_over))


def _until(end: float, is_over: Callable[[], bool]) -> Callable[[int], bool]:
    return lambda _: is_over() or time.monotonic() > end


def _can_fork() -> bool:
    """Whether copies of this process can run chains.

    Forking is not safe in a program with other threads, or on macOS. A process of a pool would make too many processes.
    Where SIGCHLD is ignored, as in some daemons, the end of a process cannot be noticed.
    """
    return (
        sys.platform == "linux"
        and threading.active_count() == 1
        and multiprocessing.parent_process() is None
        and signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN
    )


def _serve(connection: Connection, inherited: list[Connection], model: Model) -> None:
    """Advance chains, in a process of its own, until the connection is closed; end without a word at any problem."""
    with suppress(Exception):
        for each in inherited:
            each.close()
        signal.set_wakeup_fd(-1)  # of an asyncio loop of the program
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        gc.freeze()  # objects of the program, such as open files, are not deleted here
        for name in os.listdir("/proc/self/fd"):
            # locks of files that are inherited would outlive the program
            if int(name) > 2 and int(name) != connection.fileno():
                with suppress(OSError):
                    os.close(int(name))
        while True:
            settings, state, rebuild, end = connection.recv()
            connection.send(advance(model, settings, state, rebuild, _until(end, lambda: False)))
