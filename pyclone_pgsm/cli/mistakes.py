"""Messages for a user's mistakes, and the exit codes of commands."""

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer

from pyclone_pgsm.errors import PycloneError
from pyclone_pgsm.files import finished
from pyclone_pgsm.jit.second_process import stop_precompiling
from pyclone_pgsm.stopping import EXIT_CODE, Stopped, is_asked_to_stop

OPTIONS = {"criterion": "consensus", "parameters": "param"}
"""Options whose name differs from that of the library's parameter."""
NOT_CONVERGED = 3
"""Exit code if chains have not converged but convergence is required."""


def with_options(text: str) -> str:
    """Replace parameters by options in the text of an error, as in ``--burn-in -1: must be at least 0``."""
    return re.sub("`([a-z_]+)`", lambda found: "--" + OPTIONS.get(found[1], found[1]).replace("_", "-"), text)


def fail(message: str) -> NoReturn:
    """Print a message and exit with code 2."""
    print(f"pyclone-pgsm: {message}", file=sys.stderr)
    raise typer.Exit(2)


@contextmanager
def mistakes_reported(trace: Path | None = None, where: str | None = None) -> Iterator[None]:
    """Turn errors into messages and exit codes.

    `trace` is the trace on which the command works, and `where` the beginning of messages, such as a patient's name.
    """
    beginning = f"{where}: " if where else ""
    try:
        yield
    except PycloneError as mistake:
        if where is None:  # otherwise the command continues with other patients
            stop_precompiling()
        fail(with_options(f"{beginning}{mistake}"))
    except OSError as problem:
        if problem.filename is None:
            raise
        fail(f"{beginning}{problem.filename}: {problem.strerror}")
    except MemoryError:
        message = "run fewer chains at a time (--threads 1), or on a larger machine"
        fail(f"{beginning}the memory does not suffice: {message}")
    except (KeyboardInterrupt, Stopped):
        fail_interrupted(trace if trace is not None and trace.is_file() else None)
    except Exception as problem:
        if type(problem).__name__ != "Interrupted" and not is_asked_to_stop():
            raise
        fail_interrupted(getattr(problem, "trace", None) or trace)


def fail_interrupted(trace: Path | None) -> NoReturn:
    """Print how to continue, if there is a trace, and exit with code 130."""
    stop_precompiling()
    message = "interrupted"
    if trace is not None:
        end = finished(trace)
        folder = shlex.quote(str(end.parent)) if end.name == "trace.h5" else "FOLDER"
        message += (
            f"; the trace is kept: go on with pyclone-pgsm resume {shlex.quote(str(trace))}, "
            f"then make the tables with pyclone-pgsm summarize {shlex.quote(str(end))} -o {folder}"
        )
        if end != trace:
            message += " --force; the older results are unchanged"
    print(f"pyclone-pgsm: {message}", file=sys.stderr)
    raise typer.Exit(EXIT_CODE)


def require_convergence(is_required: bool, not_converged: Sequence[str]) -> None:
    """Exit with code 3 if convergence is required and some results, given by their paths, have not converged."""
    if is_required and not_converged:
        print(f"pyclone-pgsm: not converged: {', '.join(not_converged)}", file=sys.stderr)
        raise typer.Exit(NOT_CONVERGED)
