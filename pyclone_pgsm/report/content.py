"""What a page is made of, and how numbers and texts are written into it."""

from __future__ import annotations

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

from pyclone_pgsm.posterior.summarize import Result
from pyclone_pgsm.posterior.traces import Traces

ZERO_WIDTH = "\u200b"


@dataclass(frozen=True)
class Content:
    """A finished analysis, as its page shows it.

    Attributes
    ----------
    result : Result
    data : Dataset
        As the trace holds them.
    tables : mapping of str to DataFrame
        Those of the output folder, by the names of their files.
    files : mapping of str to bytes
        Content of these files that can be downloaded from the page.
    run : mapping
        Content of ``run.json``.
    traces : Traces
    """

    result: Result[Any]
    data: Any
    tables: Mapping[str, pd.DataFrame]
    files: Mapping[str, bytes]
    run: Mapping[str, Any]
    traces: Traces


class Section(NamedTuple):
    """Anchor, heading and content of a section."""

    anchor: str
    heading: str
    body: str


class Page(NamedTuple):
    """All of a page.

    Attributes
    ----------
    summary : str
        What was found, in a sentence.
    sections : list of Section
        What to know first stands first.
    pictures : list of dict
        What BokehJS draws.
    data : dict
        What ``page.js`` needs.
    files : dict of str to str
        What can be downloaded, packed.
    numbers : dict of str to dict
        Numbers for MultiQC, of each sample and of the whole (``""``).
    """

    summary: str
    sections: list[Section]
    pictures: list[dict[str, Any]]
    data: dict[str, Any]
    files: dict[str, str]
    numbers: dict[str, dict[str, float]]


def escaped(text: object) -> str:
    """A text as HTML shows it, whatever it is; also within quotation marks."""
    return html.escape(str(text), quote=True)


def script_json(value: object) -> str:
    """JSON that can stand in a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def packed(content: bytes) -> str:
    """Compressed in base64, the same each time; ``page.js`` unpacks it."""
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode("ascii")


def flat(values: NDArray[Any]) -> list[Any]:
    """An array as the list of its numbers, those with a point at six digits; what is no number is None."""
    numbers = values.ravel().tolist()
    if np.issubdtype(values.dtype, np.integer):
        return numbers
    return [float(f"{each:.6g}") if math.isfinite(each) else None for each in numbers]


def label(text: str) -> str:
    """A user's text for a picture: never taken for a formula, which dollar signs and backslashes would begin."""
    return text.replace("$", f"${ZERO_WIDTH}").replace("\\", f"\\{ZERO_WIDTH}")


def number(value: float, digits: int = 3) -> str:
    """A number of so many digits behind the point; nothing where it is not known."""
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def general(value: Any) -> str:
    """A number as short as it can be told; other things as text."""
    if isinstance(value, float) and not math.isnan(value):
        return f"{value:.4g}"
    return "" if value is None or value != value else str(value)


def interval(mean: float, lower: float, upper: float) -> str:
    """A prevalence and its interval."""
    return f"{mean:.2f} [{lower:.2f}, {upper:.2f}]"
