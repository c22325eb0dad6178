"""Writing the output folder of a trace: tables, pictures and ``run.json``."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pyclone_pgsm.analyses.kinds import ANALYSES
from pyclone_pgsm.analyses.memory import Estimate
from pyclone_pgsm.analyses.run_json import run_report
from pyclone_pgsm.files import (
    check_file,
    check_files,
    check_new,
    make_folder,
    refuse_inputs,
    remove,
    replacing,
    replacing_together,
    storable,
    write_file,
    write_files,
)
from pyclone_pgsm.posterior.states import DEFAULT_THRESHOLDS, Thresholds
from pyclone_pgsm.posterior.summarize import Findings, summarize
from pyclone_pgsm.processes import beside
from pyclone_pgsm.ranges import PICTURE_FORMATS
from pyclone_pgsm.sampling.chains import effective_threads
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.tsv import write_table

PAGES: dict[str, str] = {"report": "report.html", "mqc": "pyclone_pgsm_mqc.json"}
"""File of each page of an output folder, the report and the table for MultiQC, by the name of the page."""

PICTURES = (
    "cluster_prevalences",
    "cluster_densities",
    "prevalence_scatter",
    "vaf_scatter",
    "coclustering",
    "traces",
    "clusters",
    "cluster_sizes",
    "cluster_means",
    "density",
)
"""Names of all pictures."""


def check_folder(folder: Path, force: bool, names: Sequence[str], inputs: Sequence[Path] = ()) -> None:
    """Check an output folder before these files, pages and pictures are written: see :func:`check_files`.

    The tables of other kinds of data may not be among the `inputs` either: those of an older result will be removed.
    """
    refuse_inputs([folder / name for analysis in ANALYSES.values() for name in analysis.files], inputs)
    check_files(folder, (*names, *PAGES.values()), force, inputs)
    check_new(folder / "plots", force)
    for path in _files_of_pictures(folder / "plots"):
        check_file(path, force, inputs)


def write_results(
    trace_path: Path,
    folder: Path,
    *,
    criterion: str | None = None,
    burn_in: int | None = None,
    thresholds: Thresholds = DEFAULT_THRESHOLDS,
    formats: Sequence[str] = ("png",),
    timings: dict[str, float] | None = None,
    memory: Estimate | None = None,
    likelihood: str | None = None,
    pages: Sequence[str] = (),
    command: str = "",
    threads: int | None = None,
) -> Findings[Any]:
    """Summarise a trace in the tables, ``run.json``, pages and pictures of an output folder.

    The folder is made if it does not exist; files in it are replaced when all new ones are complete, and those of older
    results are removed. `criterion` and `burn_in` None are the default criterion of the consensus partition and the
    burn-in of the run. Pictures are drawn in each of the `formats`. `pages` are names in :data:`PAGES`. `likelihood` is
    that of the trace if its code is in a file (see :class:`~pyclone_pgsm.trace.Trace`). For ``run.json`` are `timings`,
    the seconds of earlier steps, `memory`, that of the run (None: estimated with one thread for each processor), and
    `command`, the command line of the summary, if it is not the one that made the trace. Pictures are drawn in a
    process of their own, beside the pages, unless `threads` is 1 or there is one processor.
    """
    timings = dict(timings or {})
    started = time.perf_counter()
    with replacing_together(), Trace(trace_path, likelihood) as trace:
        result = summarize(trace, criterion, burn_in, thresholds)
        timings["summarize"] = time.perf_counter() - started
        make_folder(folder)
        _remove_pictures(folder / "plots")
        _remove_tables(folder, trace.data.kind)
        two_at_a_time = bool(formats) and effective_threads(threads, 2) == 2
        with beside(_drawing(trace, result, formats), two_at_a_time) as pictures:
            tables = ANALYSES[trace.data.kind].tables(trace, result.summary)
            for name, table in tables.items():
                write_table(table, folder / name)
            commands = "\n".join(filter(None, [trace.command, command]))
            report = run_report(trace, result, commands, timings, memory)
            started = time.perf_counter()
            for file in PAGES.values():  # of an older result
                remove(folder / file)
            files = {name: folder / PAGES[name] for name in pages}
            write_pages(trace, result, tables, report, folder.resolve().name, files)
            report["seconds"]["pages"] = round(time.perf_counter() - started, 3)
            if formats:
                started = time.perf_counter()
                write_files(folder / "plots", pictures())
                report["seconds"]["plots"] = round(time.perf_counter() - started, 3)
        with replacing(folder / "run.json") as temporary:
            temporary.write_text(json.dumps(report, indent=2, allow_nan=False) + "\n")
    return result


def _drawing(trace: Trace, result: Findings[Any], formats: Sequence[str]) -> Callable[[], dict[str, bytes]]:
    """Return a function that draws the pictures and returns the content of their files, by name."""
    if not formats:
        return dict
    pictures = ANALYSES[trace.data.kind].pictures(trace, result)

    def draw() -> dict[str, bytes]:
        from pyclone_pgsm.plots.style import draw_pictures

        return draw_pictures(pictures(), formats)

    return draw


def write_pages(
    trace: Trace,
    result: Findings[Any],
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

    content, analysis = Content(result, trace.data, tables, run), ANALYSES[trace.data.kind]
    if "report" in pages:
        write_report(analysis.page(content), pages["report"], title)
    if "mqc" in pages:
        numbers = multiqc(content, analysis.numbers(result.summary), storable(title))
        text = json.dumps(numbers, indent=1, allow_nan=False, ensure_ascii=False)
        write_file(pages["mqc"], (text + "\n").encode())


def write_pictures(trace: Trace, result: Findings[Any], folder: Path, formats: Sequence[str]) -> list[Path]:
    """Draw the pictures of a result into a folder, instead of those there, and return their files."""
    with replacing_together():
        _remove_pictures(folder)
        return write_files(folder, _drawing(trace, result, formats)())


def _remove_tables(folder: Path, kind: str) -> None:
    """Remove the tables of an earlier result of another kind of data, which has none of this kind."""
    own = ANALYSES[kind].files
    if (folder / "run.json").exists() and not (folder / own[0]).exists():
        for analysis in ANALYSES.values():
            for name in set(analysis.files) - set(own):
                remove(folder / name)


def _files_of_pictures(folder: Path) -> list[Path]:
    return [folder / f"{name}.{ending}" for name in PICTURES for ending in PICTURE_FORMATS]


def _remove_pictures(folder: Path) -> None:
    """Remove the pictures of an earlier result."""
    for path in _files_of_pictures(folder):
        remove(path)
