"""The report: one self-contained HTML page of a finished analysis, which loads nothing from the network."""

from importlib.resources import files
from pathlib import Path

from pyclone_pgsm import __version__
from pyclone_pgsm.files import storable, write_file
from pyclone_pgsm.report.content import Page, escaped, packed, script_json

__all__ = ["write_report"]

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "form-action 'none'; base-uri 'none'"
)
"""Content security policy: the page runs its own inline scripts and loads nothing."""


def write_report(page: Page, path: Path, title: str) -> None:
    """Write the page; `title` is the name of the result, a tumour or a file."""
    from bokeh.resources import Resources

    from pyclone_pgsm.report.figures import OPACITY, OUTLIER

    bokeh = packed("\n".join(Resources(mode="inline", components=["bokeh"]).js_raw).encode())
    own = files("pyclone_pgsm.report")
    css, script = (own.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    contents = "".join(
        f'<li><a href="#{each.anchor}">{escaped(each.heading)}</a></li>' for each in page.sections
    )
    body = "\n".join(
        f'<section id="{each.anchor}"><h2>{escaped(each.heading)}</h2>\n{each.body}</section>'
        for each in page.sections
    )
    data = {**page.data, "opacity": OPACITY, "outlier": OUTLIER}
    text = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="pyclone-pgsm {escaped(__version__)}">
<title>{escaped(title)}: pyclone-pgsm</title>
<style>{css}</style>
<script>document.documentElement.classList.add("scripted")</script>
</head>
<body>
<a class="skip" href="#warnings">Skip to the content</a>
<header><h1>{escaped(title)}</h1><p>{escaped(page.summary)}</p></header>
<nav aria-label="Sections"><ol>{contents}</ol></nav>
<main>
<noscript><p>Pictures, searching and downloading need JavaScript; the tables are complete without it.</p></noscript>
{body}
</main>
<footer><p>Made by pyclone-pgsm {escaped(__version__)}. This page loads nothing from any network.</p></footer>
<script type="text/plain" id="data">{packed(script_json(data).encode())}</script>
<script type="application/json" id="files">{script_json(page.files)}</script>
<script type="application/json" id="pictures">{script_json(page.pictures)}</script>
<script type="text/plain" id="bokeh">{bokeh}</script>
<script>{script}</script>
</body>
</html>
"""
    write_file(path, storable(text).encode())
