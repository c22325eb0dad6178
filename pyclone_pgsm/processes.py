"""Forks of this process, which have in memory what the program has: nothing but their results is passed on."""

import ctypes
import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from tempfile import TemporaryDirectory
from typing import TypeVar

from pyclone_pgsm.stopping import held_back

R = TypeVar("R")
PR_SET_PDEATHSIG = 1  # of prctl(2) on Linux: the signal that a process gets when its parent ends


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
    after its work, at any problem, and when this process ends. OSError if no more processes are allowed. Call this
    within :func:`~pyclone_pgsm.stopping.held_back`: a signal would otherwise leave a fork that nobody knows of.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(
        target=_serve, args=(work, theirs, [ours, *inherited], os.getpid()), daemon=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, as OpenBLAS has threads
        process.start()
    theirs.close()
    return process, ours


def _serve(
    work: Callable[[Connection], None], connection: Connection, inherited: list[Connection], parent: int
) -> None:
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
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:  # which may have ended in the meantime
            work(connection)


@contextmanager
def beside(work: Callable[[], R], allowed: bool = True) -> Iterator[Callable[[], R]]:
    """Do `work` in a fork while the block goes on, which gets a function that waits for the result.

    The result must be picklable. Temporary files that the fork leaves, as matplotlib does, are removed. The function
    does the work itself if there is no fork, because it is not `allowed` or not possible, or if the fork ended without
    a result: so errors are raised by the function.
    """
    with ExitStack() as to_end:
        connection = None
        if allowed and can_fork():
            with suppress(OSError), held_back():  # no more processes, or no temporary files, are allowed
                folder = to_end.enter_context(TemporaryDirectory(prefix="pyclone-pgsm-"))
                process, connection = fork(partial(_send, work, folder))
                to_end.callback(_end, process, connection)

        def result() -> R:
            if connection is not None:
                with suppress(EOFError, OSError):
                    received: R = connection.recv()
                    return received
            return work()

        yield result


def _send(work: Callable[[], object], folder: str, connection: Connection) -> None:
    tempfile.tempdir = folder
    connection.send(work())


def _end(process: BaseProcess, connection: Connection) -> None:
    connection.close()
    process.kill()
    process.join()
