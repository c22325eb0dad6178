"""Output of a command while it runs and at its end."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyclone_pgsm.cli.mistakes import with_options

if TYPE_CHECKING:
    from pyclone_pgsm.posterior.summarize import Findings


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
