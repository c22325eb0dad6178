"""The pages of an output folder: the report, and the file for MultiQC."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from pyclone_pgsm.analyses.kinds import ANALYSES
from pyclone_pgsm.analyses.tables import table_text
from pyclone_pgsm.files import remove, write_file
from pyclone_pgsm.posterior.summarize import Result
from pyclone_pgsm.posterior.traces import traces_of
from pyclone_pgsm.trace import Trace

if TYPE_CHECKING:
    from pyclone_pgsm.report.content import Content

REPORT, MULTIQC = "report.html", "pyclone_pgsm_mqc.json"
PAGES: dict[str, str] = {"report": REPORT, "mqc": MULTIQC}
"""File of each page, by the name of the page."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the garbage collector: among the objects of the modules that a page imports, it finds almost nothing to
    free, but takes a quarter of the time of making the page.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def page_content(
    trace: Trace,
    result: Result[Any],
    tables: Mapping[str, pd.DataFrame],
    run: Mapping[str, Any],
    burn_in: int | None,
) -> Content:
    """Collect the content of a page; `run` is the content of ``run.json``."""
    from pyclone_pgsm.report.content import Content

    names = [ANALYSES[trace.data.kind].files[0], "clusters.tsv"]
    texts = {name: table_text(tables[name]).encode() for name in names}
    return Content(result, trace.data, tables, texts, run, traces_of(trace, burn_in))


def write_pages(
    trace: Trace,
    result: Result[Any],
    tables: Mapping[str, pd.DataFrame],
    run: Mapping[str, Any],
    burn_in: int | None,
    folder: Path,
    pages: Sequence[str],
) -> None:
    """Write the named pages, and remove the others, which belong to an older result."""
    for name, file in PAGES.items():
        if name not in pages:
            remove(folder / file)
    if not pages:
        return
    title = folder.resolve().name
    content = page_content(trace, result, tables, run, burn_in)
    with uncollected():
        from pyclone_pgsm.report import write_report
        from pyclone_pgsm.report.multiqc import multiqc

        page = ANALYSES[trace.data.kind].page(content)
        if "report" in pages:
            write_report(page, folder / REPORT, title)
    if "mqc" in pages:
        numbers = multiqc(content, page.numbers, title)
        text = json.dumps(numbers, indent=1, allow_nan=False, ensure_ascii=False)
        write_file(folder / MULTIQC, (text + "\n").encode())
