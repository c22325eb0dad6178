"""Advances chains in processes of their own.

Threads of one process run Python code in turn, and wait for each other at each call of a compiled function. Where an
iteration takes few milliseconds, two processes are up to twice as fast as two threads (docs/speed.md).
"""

import queue
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Self

from pyclone_pgsm.likelihoods.model import Model
from pyclone_pgsm.processes import can_fork, fork
from pyclone_pgsm.sampling.chain import ChainState, Records, advance
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.stopping import held_back


class Workers:
    """Advances chains of a model in `number` processes, or, if that is not possible, in the calling threads.

    The draws are the same. The processes end with the ``with`` block, or with the program.
    """

    def __init__(self, model: Model, number: int) -> None:
        self._model = model
        self._processes: list[tuple[BaseProcess, Connection]] = []
        self._free: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        if number > 0 and can_fork():
            try:
                with held_back():
                    for _ in range(number):
                        inherited = [connection for _, connection in self._processes]
                        self._processes.append(fork(partial(_serve, model), inherited))
            except OSError:  # no more processes are allowed
                self._end()
            except BaseException:
                self._end()
                raise
        for _, connection in self._processes:
            self._free.put(connection)

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


def _serve(model: Model, connection: Connection) -> None:
    """Advance chains, in a process of its own, until the connection is closed."""
    while True:
        settings, state, rebuild, end = connection.recv()
        connection.send(advance(model, settings, state, rebuild, _until(end, lambda: False)))
