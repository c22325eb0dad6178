"""How Sphinx builds the site: sphinx-build -W docs OUT, in the environment of the extra docs.

A page of the site is a Markdown file in this folder. Three things are done to its text before it is read:

* a line ``<!-- NAME -->`` becomes what ``reference_pages.GENERATED[NAME]`` makes from the package itself;
* ``{file} PATH`` on a line of its own becomes the text of that file of the repository, so that CONTRIBUTING.md and its
  like are pages, too;
* a link to a file outside this folder leads to its page, if it has one (``PAGES``), and else to a copy of the file; one
  to a folder is its text only.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from latex2mathml.converter import convert

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

DOCS = Path(__file__).parent.resolve()
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS), str(ROOT)]

from reference_pages import GENERATED  # noqa: E402

from pyclone_pgsm import __version__  # noqa: E402

project = "pyclone-pgsm"
author = "the authors of pyclone-pgsm"
version = release = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]

html_theme = "furo"
html_title = f"pyclone-pgsm {version}"
html_static_path: list[str] = []
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # a test runs the notebooks; the site shows the outputs that are stored in them
suppress_warnings = ["misc.highlighting_failure", "mystnb.unknown_mime_type"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "index.md",
    "workflows/benchmark/README.md": "workflows/benchmark.md",
    "workflows/cohort/README.md": "workflows/cohort.md",
    "workflows/paper/README.md": "workflows/paper.md",
    "examples/poisson_gamma/README.md": "workflows/poisson_gamma.md",
}
"""Files of the repository that are pages of the site, too."""


def page_text(text: str, page: Path) -> str:
    """The text of a page with the generated parts, the files and the links in it."""
    text = re.sub(r"^<!-- ([a-z-]+) -->$", lambda found: GENERATED[found[1]](), text, flags=re.M)
    whole = re.fullmatch(r"\{file\} (\S+)\s*", text)
    source = page
    if whole:
        source = (page.parent / whole[1]).resolve()
        text = source.read_text(encoding="utf-8")
    return re.sub(r"\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)", lambda found: _link(found, source, page), text)


def _link(found: re.Match[str], source: Path, page: Path) -> str:
    """A link as it must stand in a page, of a text that stands in another file."""
    text, path, anchor = found[1], found[2], found[3] or ""
    target = (source.parent / path).resolve()
    if target.is_dir():
        target /= "README.md"
    if not target.is_relative_to(ROOT):
        return found[0]
    name = target.relative_to(ROOT).as_posix()
    target = DOCS / PAGES[name] if name in PAGES else target
    if not target.exists():  # a folder without a text of its own
        return text
    return f"[{text}]({Path(os.path.relpath(target, page.parent)).as_posix()}{anchor})"


def formula(page: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which a browser shows without a script and without a network."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    page.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""

    def read(app: Sphinx, name: str, content: list[str]) -> None:
        page = DOCS / f"{name}.md"
        if page.exists():
            content[0] = page_text(content[0], page)

    app.connect("source-read", read)
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
