"""What commands print: messages for a user's mistakes, with exit codes, progress, and the lines at the end."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from pyclone_pgsm.errors import PycloneError
from pyclone_pgsm.stopping import EXIT_CODE, Interrupted, Stopped

if TYPE_CHECKING:
    from pyclone_pgsm.posterior.summarize import Findings

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


@contextmanager
def progress_bars(quiet: bool, chains: int) -> Iterator[Callable[[int, int, int, int], None] | None]:
    """Show a bar for each chain on stderr, if that is a terminal; yield the function that updates it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("chain {task.fields[chain]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[clusters]}"),
        TimeRemainingColumn(),
    )
    # not refreshed by a thread, beside which chains could not run in processes
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bars:
        tasks = [bars.add_task("", total=None, chain=k, clusters="compiling") for k in range(chains)]

        def update(chain: int, done: int, total: int, clusters: int) -> None:
            bars.update(
                tasks[chain], completed=done, total=total, clusters=f"{clusters} clusters", refresh=True
            )

        yield update


def say(given: Mapping[str, Any], *lines: object) -> None:
    """Print lines, unless ``--quiet`` is among the options that are given."""
    if not given["quiet"]:
        print(*(with_options(str(line)) for line in lines), sep="\n")


def summary_lines(result: Findings[Any], said: Collection[str] = ()) -> list[str]:
    """Return lines for the terminal: data, clusters with sizes and parameters, convergence and warnings.

    Warnings that the command has `said` before the chains ran are left out.
    """
    from pyclone_pgsm.analyses.kinds import ANALYSES
    from pyclone_pgsm.posterior.convergence import verdict_line
    from pyclone_pgsm.tumour.base_measure import is_weight

    lines = ANALYSES[result.summary.kind].lines(result)
    known = [d for d in result.diagnostics if not math.isnan(d.rhat)]
    convergence = [f"{d.name} {d.rhat:.2f}" for d in known if not is_weight(d.name)]
    weights = [d.rhat for d in known if is_weight(d.name)]
    if weights:
        convergence.append(f"weights of the prevalence prior at most {max(weights):.2f}")
    if convergence:
        lines.append(f"R-hat (agreement of the chains, good below 1.05): {', '.join(convergence)}")
    verdict = verdict_line(result.convergence)
    if not any(warning.startswith(verdict) for warning in result.warnings):
        lines.append(verdict)
    lines += [f"warning: {warning}" for warning in result.warnings if warning not in said]
    return lines
