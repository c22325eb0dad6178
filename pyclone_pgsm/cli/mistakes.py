"""Messages for a user's mistakes, and the exit codes of commands."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer

from pyclone_pgsm.errors import PycloneError
from pyclone_pgsm.stopping import EXIT_CODE, Interrupted, Stopped

OPTIONS = {"criterion": "consensus", "parameters": "param"}
"""Options whose name differs from that of the library's parameter."""
NOT_CONVERGED = 3
"""Exit code if chains have not converged but convergence is required."""


def with_options(text: str) -> str:
    """Replace parameters by options in a message, as in ``--burn-in -1: must be at least 0``."""
    text = re.sub("`([a-z_]+)` True:", r"`\1`:", text)  # switches have no values
    text = re.sub("`([a-z_]+)` False:", r"`no_\1`:", text)
    return re.sub("`([a-z_]+)`", lambda found: "--" + OPTIONS.get(found[1], found[1]).replace("_", "-"), text)


def fail(message: str, code: int = 2) -> NoReturn:
    """Print a message and exit with this code."""
    print(f"pyclone-pgsm: {message}", file=sys.stderr)
    raise typer.Exit(code)


@contextmanager
def mistakes_reported(where: str | None = None) -> Iterator[None]:
    """Turn errors into messages and exit codes; `where` is the beginning of messages, such as a patient's name."""
    beginning = f"{where}: " if where else ""
    try:
        yield
    except typer.Exit:
        raise
    except PycloneError as mistake:
        fail(with_options(f"{beginning}{mistake}"))
    except OSError as problem:
        if problem.filename is None:
            raise
        fail(f"{beginning}{problem.filename}: {problem.strerror}")
    except MemoryError:
        message = "run fewer chains at a time (--threads 1), or on a larger machine"
        fail(f"{beginning}the memory does not suffice: {message}")
    except Interrupted as stop:
        fail(f"interrupted; {stop}", EXIT_CODE)
    except (KeyboardInterrupt, Stopped):
        fail("interrupted", EXIT_CODE)


def require_convergence(given: Mapping[str, Any], not_converged: Sequence[Path]) -> None:
    """Exit with code 3 if the user requires convergence and some results, given by their paths, have not converged."""
    if given.get("require_convergence") and not_converged:
        fail(f"not converged: {', '.join(map(str, not_converged))}", NOT_CONVERGED)
