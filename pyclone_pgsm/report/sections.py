"""Sections that the pages for all kinds of data share, and parts of other sections."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.posterior.convergence import verdict_line
from pyclone_pgsm.posterior.summarize import RHAT_WARNING
from pyclone_pgsm.report.content import Content, Section, escaped, general, number, packed
from pyclone_pgsm.report.drawings import chain_pictures, coclustering_picture
from pyclone_pgsm.report.tables import Column, table
from pyclone_pgsm.tsv import table_text
from pyclone_pgsm.tumour.base_measure import is_weight

MOST_FILE = 3_300_000
"""Largest size, in characters, of a compressed file that the page includes."""
MOST_ROWS = MOST_FILE // 10
"""With more rows a table is not even compressed: a row takes more than ten characters."""


def warnings(content: Content) -> Section:
    """Section with the warnings, and whether the chains converged."""
    verdict = content.result.convergence
    line = verdict_line(verdict)
    about_chains = [each for each in content.result.warnings if each.startswith(line)] or [line]
    others = [each for each in content.result.warnings if each not in about_chains]
    named = (re.sub("`([a-z_]+)`", r"<code>\1</code>", escaped(each)) for each in others)  # parameters
    items = "".join(f"<li>{each}</li>" for each in named)
    state = "good" if verdict.converged and not items else "bad"
    listed = f'<ul class="warnings">{items}</ul>' if items else "<p>No other warning.</p>"
    body = f'<div class="box {state}"><p>The chains have {escaped(about_chains[0])}.</p>{listed}</div>'
    return Section("warnings", "Warnings and convergence", body)


def what_was_run(content: Content) -> Section:
    """Section with the options, version and seed of the run, and how to repeat it."""
    run = content.run
    settings = _with_reasons(run["options"]["settings"])
    model = _with_reasons(run["options"]["model"])
    if model.get("density") == "beta-binomial" and model["precision"] is None:
        model["precision"] = "inferred"
    rows = [
        ("version", run["version"]),
        ("seeds" if len(run["seeds"]) > 1 else "seed", ", ".join(map(str, run["seeds"]))),
        ("consensus", run["consensus"]),
        ("chains", settings["chains"]),
        ("iterations", run["convergence"]["iterations"]),
        ("burn-in", run["burn_in"]),
        *((name.replace("_", " "), _short(value)) for name, value in model.items()),
    ]
    others = [
        (name.replace("_", " "), value) for name, value in settings.items() if name not in ("chains", "seed")
    ]
    others += [("partition prior", _short(run["options"]["prior"])), ("versions", _short(run["versions"]))]
    repeat = _how_to_repeat(run["command"])
    brief = "; ".join(f"{name} <b>{value}</b>" for name, value in _known(rows))
    columns = [Column("option"), Column("value")]
    cells = (("", pair) for pair in _known(others))
    listed = table("options", "All other options, defaults included", columns, cells)
    details = f"<details><summary>All options</summary>{listed}</details>"
    return Section("run", "What was run", f"{repeat}<p>{brief}.</p>{details}")


def _with_reasons(values: Mapping[str, Any]) -> dict[str, Any]:
    """Put the reason for a null, such as ``infinite``, in its place."""
    found = {**values, **values.get("null_because", {})}
    return {name: value for name, value in found.items() if name != "null_because"}


def _known(pairs: Iterable[tuple[str, Any]]) -> list[tuple[str, str]]:
    """Escape the names and values, leaving out missing values."""
    return [(escaped(name), escaped(general(value))) for name, value in pairs if value not in (None, "")]


def _how_to_repeat(command: str) -> str:
    """Show the command that was run, or the call from Python, or all of them if there were several, one a line."""
    if not command:
        return ""
    if "\npyclone-pgsm " in command:
        heading = "The result was made by these commands, in this order"
    elif command.startswith("pyclone-pgsm "):
        heading = "To repeat it, run in the same folder"
    else:
        heading = "Run from Python with"
    words = re.sub("[^ \n]+", lambda word: f"<span>{escaped(word[0])}</span>", command)
    return f"<p>{heading}:</p><pre><code>{words}</code></pre>"


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_short(each)}" for name, each in value.items() if each is not None)
    if isinstance(value, list):
        return " ".join(map(_short, value[:8])) + (" .." if len(value) > 8 else "")
    return general(value)


def chains_section(content: Content) -> Section:
    """Section with the table of diagnostics and the trace plots."""
    names = ("mean or median", "lower", "upper", "R-hat", "effective sample size")
    columns = [Column("quantity"), *(Column(name, True) for name in names)]
    rows = []
    for each in content.result.diagnostics:
        ends = (each.mean, each.lower, each.upper)
        values = ["binomial" if math.isinf(value) else general(value) for value in ends]  # of a precision
        values += [number(each.rhat), number(each.ess, 0)]
        rows.append((' class="bad"' if each.rhat > RHAT_WARNING else "", [escaped(each.name), *values]))
    caption = (
        "Diagnostics after burn-in: mean, or median of a hyperparameter of the likelihood, and 95 % interval"
    )
    found = table("diagnostics", caption, columns, rows)
    pictures = chain_pictures(content.result.traces)
    drawn = "".join(
        f"<figure><figcaption>{escaped(name)}</figcaption>{picture}</figure>" for name, picture in pictures
    )
    drawable = sum(not is_weight(name) for name in content.result.traces.series)
    part = part_shown("{:,} of {:,} quantities", len(pictures), drawable)
    text = (
        f'<p>One colour per chain; the dashed line marks the end of the burn-in.{part}</p><div class="grid">'
    )
    return Section("chains", "Chains and diagnostics", f"{found}{text}{drawn}</div>")


def choices(identity: str, text: str, names: Sequence[str], chosen: int = 0) -> str:
    """Return a drop-down list with its label."""
    options = "".join(
        f'<option value="{place}"{" selected" if place == chosen else ""}>{escaped(name)}</option>'
        for place, name in enumerate(names)
    )
    return f'<label for="{identity}">{text}</label> <select id="{identity}">{options}</select>'


def search_and_download(
    files: Sequence[str], shown: int, all_rows: int, sought: str = "name or gene", doubtful: int = 0
) -> str:
    """Return the controls above the table of mutations or rows.

    One can search for what is `sought`; `doubtful` is the number of doubtful mutations.
    """
    part = f"<p>The first {shown:,} of {all_rows:,} rows; the file has all.</p>" if shown < all_rows else ""
    buttons = " ".join(
        f'<button type="button" class="download" data-file="{escaped(name)}">Download {escaped(name)}</button>'
        for name in files
    )
    only = f'<label><input id="doubtful" type="checkbox"> only the {doubtful:,} doubtful</label> '
    return (
        f'{part}<p class="controls script"><label for="search">Search</label> '
        f'<input id="search" type="search" placeholder="{sought}"> '
        f'{only if doubtful else ""}<span id="shown" role="status"></span> '
        f'<button type="button" id="more" hidden>Show all rows</button> '
        f'<button type="button" id="everything">Show all clusters</button> {buttons}</p>'
    )


def choices_of_pair(names: Sequence[str]) -> str:
    """Return drop-down lists for the x and y axes."""
    up = " " + choices("up", "up", names, 1) if len(names) > 1 else ""
    return choices("across", "across", names) + up


def picture(identity: str, caption: str, controls: str = "") -> str:
    """Return a placeholder for a picture, below its controls if any."""
    above = f'<p class="controls script">{controls}</p>' if controls else ""
    caption = escaped(caption)
    return (
        f'{above}<figure><div id="{identity}" class="plot"></div><figcaption>{caption}</figcaption></figure>'
    )


def part_shown(text: str, shown: int, number: int) -> str:
    """Return the end of a caption, as in " Shown: the 60 largest of 70 clusters."; "" if all are shown."""
    return f" Shown: {text.format(shown, number)}." if shown < number else ""


def coclustering_section(content: Content, item: str) -> Section:
    """Section with the heat map of co-clustering; an `item` is a mutation or a row."""
    found = content.result
    number, pictured = len(found.summary.labels), len(found.coclustered)
    part = f"{pictured:,} of " if pictured < number else ""
    caption = (
        f"Probability that two {item}s share a cluster, from white (0) to dark blue (1); {part}{count(number, item)}, "
        "ordered by cluster, each outlined in its colour."
    )
    drawn = coclustering_picture(found.summary.labels, found.coclustered, found.coclustering)
    body = f"<figure>{drawn}<figcaption>{escaped(caption)}</figcaption></figure>"
    return Section("together-section", "Co-clustering", body)


def files_of(content: Content, *names: str) -> dict[str, str]:
    """Return the tables of these names as files, compressed, unless they are too large for the page."""
    tables = {name: content.tables[name] for name in names if len(content.tables[name]) <= MOST_ROWS}
    compressed = {name: packed(table_text(table).encode()) for name, table in tables.items()}
    return {name: text for name, text in compressed.items() if len(text) <= MOST_FILE}
