"""Content of a page, and how numbers and texts are written into it."""

import base64
import gzip
import html
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.posterior.summarize import Findings

ZERO_WIDTH = "\u200b"


@dataclass(frozen=True)
class Content:
    """Data of a finished analysis from which its page is made.

    `data` are those of the trace, `tables` those of the output folder by file name, and `run` is the content of
    ``run.json``.
    """

    result: Findings[Any]
    data: Any
    tables: Mapping[str, pd.DataFrame]
    run: Mapping[str, Any]


class Section(NamedTuple):
    """Anchor, heading and content of a section."""

    anchor: str
    heading: str
    body: str


class Page(NamedTuple):
    """A complete page: the result in brief, and its sections, the most important first.

    `pictures` are figures for BokehJS, `data` is for ``page.js``, and `files` are to download, packed.
    """

    summary: str
    sections: list[Section]
    pictures: list[dict[str, Any]]
    data: dict[str, Any]
    files: dict[str, str]


def escaped(text: object) -> str:
    """Escape a text for HTML, also within quotation marks."""
    return html.escape(str(text), quote=True)


def script_json(value: object) -> str:
    """Return JSON that is safe in a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def packed(content: bytes) -> str:
    """Compress reproducibly and encode in base64, to be unpacked by ``page.js``."""
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode("ascii")


def flat(values: NDArray[Any], digits: int = 6) -> list[Any]:
    """Return an array as a flat list: integers as they are, floats to some significant digits, None if not finite."""
    numbers = values.ravel().tolist()
    if np.issubdtype(values.dtype, np.integer):
        return numbers
    return [float(f"{each:.{digits}g}") if math.isfinite(each) else None for each in numbers]


def label(text: str) -> str:
    """Prepare a user's text for a picture so that no dollar sign or backslash begins a formula."""
    return text.replace("$", f"${ZERO_WIDTH}").replace("\\", f"\\{ZERO_WIDTH}")


def number(value: float, digits: int = 3) -> str:
    """Format a number with this many decimals; "" for NaN."""
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def general(value: Any, digits: int = 4) -> str:
    """Format a float to some significant digits, None and NaN as "", and other values as text."""
    if isinstance(value, float) and not math.isnan(value):
        return f"{value:.{digits}g}"
    return "" if value is None or value != value else str(value)


def interval(mean: float, lower: float, upper: float) -> str:
    """Format a prevalence with its interval."""
    return f"{mean:.2f} [{lower:.2f}, {upper:.2f}]"
