"""The pages of an output folder: the report, and the file for MultiQC."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pyclone_pgsm.analyses.kinds import ANALYSES
from pyclone_pgsm.analyses.tables import table_text
from pyclone_pgsm.files import write_file
from pyclone_pgsm.posterior.summarize import Result
from pyclone_pgsm.trace import Trace

PAGES: dict[str, str] = {"report": "report.html", "mqc": "pyclone_pgsm_mqc.json"}
"""File of each page, by the name of the page."""


def write_pages(
    trace: Trace,
    result: Result[Any],
    tables: Mapping[str, pd.DataFrame],
    run: Mapping[str, Any],
    title: str,
    pages: Mapping[str, Path],
) -> None:
    """Write pages to the files given by their names in `PAGES`; `run` is the content of ``run.json``."""
    if not pages:
        return
    from pyclone_pgsm.report import write_report
    from pyclone_pgsm.report.content import Content
    from pyclone_pgsm.report.multiqc import multiqc

    analysis = ANALYSES[trace.data.kind]
    texts = {name: table_text(tables[name]).encode() for name in (analysis.files[0], "clusters.tsv")}
    content = Content(result, trace.data, tables, texts, run)
    page = analysis.page(content)
    if "report" in pages:
        write_report(page, pages["report"], title)
    if "mqc" in pages:
        numbers = multiqc(content, page.numbers, title)
        text = json.dumps(numbers, indent=1, allow_nan=False, ensure_ascii=False)
        write_file(pages["mqc"], (text + "\n").encode())
