"""What a command shows while it runs and when it is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyclone_pgsm.posterior.summarize import Result


@contextmanager
def progress_bars(quiet: bool, chains: int) -> Iterator[Callable[[int, int, int, int], None] | None]:
    """A bar a chain on stderr, on a terminal only."""
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
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks = [bars.add_task("", total=None, chain=k, clusters="compiling") for k in range(chains)]

        def update(chain: int, done: int, total: int, clusters: int) -> None:
            bars.update(tasks[chain], completed=done, total=total, clusters=f"{clusters} clusters")

        yield update


def say(result: Result[Any], where: Path, left_out: int = 0, notes: Sequence[str] = ()) -> None:
    """Print notes on what was read, and the summary of a result."""
    from pyclone_pgsm.cli.messages import summary_lines

    for line in [*notes, *summary_lines(result, left_out)]:
        print(line)
    print(f"written to {where}")
