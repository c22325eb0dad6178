"""Forks of this process, which have in memory what the program has: nothing but their results is passed on."""

import gc
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import TypeVar

R = TypeVar("R")


def can_fork() -> bool:
    """Whether forks of this process can work.

    Forking is not safe in a program with other threads, or on macOS. A process of a pool would make too many processes.
    Where SIGCHLD is ignored, as in some daemons, the end of a process cannot be noticed.
    """
    return (
        sys.platform == "linux"
        and threading.active_count() == 1
        and multiprocessing.parent_process() is None
        and signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN
    )


def fork(
    work: Callable[[Connection], None], inherited: Iterable[Connection] = ()
) -> tuple[BaseProcess, Connection]:
    """Call `work` in a fork of this process; return the fork, and the other end of the connection that `work` gets.

    The fork closes all files, those of the connections `inherited`, too. It ignores Ctrl-C, and ends without a word
    after its work or at any problem. OSError if no more processes are allowed.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(work, theirs, [ours, *inherited]), daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, as OpenBLAS has threads
        process.start()
    theirs.close()
    return process, ours


def _serve(work: Callable[[Connection], None], connection: Connection, inherited: list[Connection]) -> None:
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
        work(connection)


@contextmanager
def beside(work: Callable[[], R], allowed: bool = True) -> Iterator[Callable[[], R]]:
    """Do `work` in a fork while the block goes on, which gets a function that waits for the result.

    The result must be picklable. The function does the work itself if there is no fork, because it is not `allowed` or
    not possible, or if the fork ended without a result: so errors are raised by the function.
    """
    started = None
    if allowed and can_fork():
        with suppress(OSError):  # no more processes are allowed
            started = fork(lambda connection: connection.send(work()))

    def result() -> R:
        if started is not None:
            with suppress(EOFError, OSError):
                received: R = started[1].recv()
                return received
        return work()

    try:
        yield result
    finally:
        if started is not None:
            process, connection = started
            connection.close()
            process.kill()
            process.join()
