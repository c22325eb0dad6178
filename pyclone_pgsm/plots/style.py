"""What all pictures share: colours, names, layout in inches, saving.

Nothing here or in the pictures touches pyplot or the global settings of matplotlib, so pictures can be made
in any thread and leave the caller's own matplotlib alone.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import font_manager, rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.files import make_folder, write_file
from pyclone_pgsm.posterior.summary import Summary

DPI = 150
INK, SOFT, RULE = "#222222", "#666666", "#d9d9d9"
TEXT, SMALL, TITLE = 8.0, 7.0, 11.0
HEADER = 0.62
"""Inches that the title and the line below it take from the top of a figure."""

PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#5b2bc4",
    "#6b4015",
    "#8a0f5c",
    "#ee1c55",
    "#dcc26a",
    "#d44cf5",
)
"""Colours told apart (CIELAB distance of any two at least 15) also by the colour-blind, to red, green or
blue; the first six are those of Okabe and Ito (2008)."""

GREYS = ("#858585", "#a0a0a0", "#b8b8b8")

OUTLIER = "#4d4d4d"
"""Of the crosses that stand for outliers."""

MAX_NAMED = 20
"""Clusters that a legend names; the others are counted."""

_SETTING = threading.Lock()
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
}
_RC: dict[str, dict[Any, Any]] = {
    "pdf": {"pdf.fonttype": 42},
    "svg": {"svg.hashsalt": "pyclone-pgsm", "svg.fonttype": "none"},
}


def count(number: int, thing: str) -> str:
    """A number and its noun, as in "1 cluster" and "10,000 mutations"."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def contents(summary: Summary) -> str:
    """What a picture is of, as in "500 mutations in 8 clusters, 3 outliers"."""
    outliers = f", {count(summary.num_outliers, 'outlier')}" if summary.outlier_prob is not None else ""
    return f"{count(len(summary.labels), 'mutation')} in {count(summary.num_clusters, 'cluster')}{outliers}"


# --- clusters -----------------------------------------------------------------------------------------------


def by_size(sizes: ArrayLike) -> NDArray[np.int64]:
    """Clusters from the largest to the smallest, (K,); equal ones in the order of their ids."""
    return np.argsort(-np.asarray(sizes, dtype=np.int64), kind="stable")


def minor_clusters(sizes: ArrayLike) -> NDArray[np.bool_]:
    """Whether a cluster is so small that pictures mute it, (K,).

    Small is less than a fifth of the square root of the number of mutations: nothing among 25 mutations,
    singletons among 100, clusters below 20 among 10,000.
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    return sizes < math.sqrt(sizes.sum()) / 5


def cluster_colours(sizes: ArrayLike) -> list[str]:
    """Colour of each cluster, the same in every picture.

    Parameters
    ----------
    sizes : (K,) int
        Mutations of each cluster.

    Returns
    -------
    list of str
        K hexadecimal colours: the twelve largest clusters that are not minor get the palette in the order of
        their sizes, all others greys in turn.
    """
    minor = minor_clusters(sizes)
    coloured = [k for k in by_size(sizes) if not minor[k]][: len(PALETTE)]
    colours = dict(zip(coloured, PALETTE))
    muted = [k for k in range(len(minor)) if k not in colours]
    colours |= {k: GREYS[rank % len(GREYS)] for rank, k in enumerate(muted)}
    return [colours[k] for k in range(len(minor))]


def colour_groups(sizes: ArrayLike, labels: NDArray[np.int64]) -> list[tuple[str, NDArray[np.bool_]]]:
    """The colours in use, each with the mask (T,) of its mutations: outliers, greys, then by falling size."""
    order = (OUTLIER, *GREYS, *PALETTE)
    colours = [*cluster_colours(sizes), OUTLIER]  # the last is that of cluster -1
    code = np.array([order.index(colour) for colour in colours])[labels]
    return [(order[c], code == c) for c in np.unique(code)]


def largest_clusters(sizes: ArrayLike, limit: int) -> NDArray[np.int64]:
    """Ids of the at most `limit` largest clusters, ascending."""
    return np.sort(by_size(sizes)[:limit])


def single_clusters(sizes: ArrayLike) -> NDArray[np.bool_]:
    """Whether a cluster is one of several minor ones of a single mutation, which share a row or an entry, (K,)."""
    singles = minor_clusters(sizes) & (np.asarray(sizes) == 1)
    return singles & (singles.sum() > 1)


def named_clusters(sizes: ArrayLike, limit: int) -> NDArray[np.int64]:
    """Ids of the at most `limit` largest clusters that are not in :func:`single_clusters`, ascending."""
    singles = single_clusters(sizes)
    return np.sort([k for k in by_size(sizes) if not singles[k]][:limit]).astype(np.int64)


def cluster_rows_of(sizes: ArrayLike, limit: int) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Clusters (k,) that a picture with a row a cluster shows, the row (k,) of each, and the labels of the rows.

    The at most `limit` largest have rows of their own; all of :func:`single_clusters` share the last.
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    named, singles = named_clusters(sizes, limit), np.flatnonzero(single_clusters(sizes))
    labels = [cluster_label(k, sizes[k]) for k in named]
    if len(singles):
        labels.append(singles_label(len(singles)))
    rows = np.concatenate([np.arange(len(named)), np.full(len(singles), len(named))])
    return np.concatenate([named, singles]), rows, labels


def singles_label(number: int) -> str:
    """Name of clusters of one mutation in legends and on axes, as in "12 clusters (n = 1 each)"."""
    return f"{number:,} clusters (n = 1 each)"


def cluster_label(cluster: int, size: int) -> str:
    """Name of a cluster in legends and on axes, as in "cluster 0 (n = 83)"."""
    return f"cluster {cluster} (n = {size:,})"


def outliers_label(count: int) -> str:
    """Name of the outliers in legends and on axes, as in "outliers (n = 3)"."""
    return f"outliers (n = {count:,})"


def point_style(colour: str, diameter: float) -> dict[str, Any]:
    """How points of a colour are drawn: discs, but crosses of outliers."""
    cross = colour == OUTLIER
    return {
        "linestyle": "none",
        "marker": "x" if cross else "o",
        "markersize": diameter,
        "markeredgewidth": 0.8 if cross else 0,
        "color": colour,
    }


def others_label(sizes: ArrayLike, named: NDArray[np.int64]) -> str | None:
    """What a legend says of the clusters that it does not name; None if it names all."""
    sizes = np.asarray(sizes, dtype=np.int64)
    others = len(sizes) - len(named)
    if others == single_clusters(sizes).sum():
        return singles_label(others) if others else None
    return f"{others:,} more (n = {sizes.sum() - sizes[named].sum():,})"


def cluster_legend(sizes: ArrayLike, outliers: int = 0) -> tuple[list[Line2D], list[str]]:
    """Handles and labels of the largest clusters, in the order of their ids, of the rest, and of outliers."""
    sizes = np.asarray(sizes, dtype=np.int64)
    colours = cluster_colours(sizes)
    named = named_clusters(sizes, MAX_NAMED)
    entries = [(colours[k], cluster_label(k, sizes[k])) for k in named]
    others = others_label(sizes, named)
    if others is not None:
        entries.append((GREYS[1], others))
    if outliers:
        entries.append((OUTLIER, outliers_label(outliers)))
    handles = [Line2D([], [], **point_style(colour, 5)) for colour, _ in entries]
    return handles, [label for _, label in entries]


# --- names --------------------------------------------------------------------------------------------------


def short_names(names: Sequence[str], limit: int = 20) -> list[str]:
    """Names fit for a picture: at most `limit` characters, as distinct as they were.

    A long name loses its middle; where that makes two names equal, all names lose their beginnings, or their
    ends, or what they have in common, whichever keeps them apart, and at worst they get numbers. Characters
    that the font lacks become boxes, and dollar signs are escaped (to matplotlib they begin a formula).

    Parameters
    ----------
    names : sequence of str
    limit : int
        At least 8.
    """
    drawable = _drawable(names)
    distinct = len(set(names))
    attempts: list[tuple[Sequence[str], int | None]] = [
        (drawable, None),
        (drawable, 0),
        (drawable, limit),
        (_without_common(drawable), None),
    ]
    for texts, head in attempts:
        short = [_cut(text, limit, head) for text in texts]
        if len(set(short)) == distinct:
            break
    else:
        tags = [f"#{i} " for i in range(1, len(names) + 1)]
        short = [tag + _cut(name, limit - len(tag)) for tag, name in zip(tags, drawable)]
    return [name.replace("$", r"\$") for name in short]


def _drawable(names: Sequence[str]) -> list[str]:
    font = font_manager.get_font(font_manager.findfont(FontProperties()))
    characters = set().union(*names) if names else set()
    lacking = {
        ord(c): " " if c.isspace() else "□"
        for c in characters
        if not c.isprintable() or not font.get_char_index(ord(c))
    }
    return [name.translate(lacking) for name in names]


def _cut(name: str, limit: int, head: int | None = None) -> str:
    """At most `limit` characters of a name, `head` of them from its beginning (half, if None)."""
    if len(name) <= limit:
        return name
    keep = limit - 1
    head = (keep + 1) // 2 if head is None else min(head, keep)
    return name[:head] + "…" + name[len(name) - (keep - head) :]


def _without_common(names: Sequence[str]) -> list[str]:
    """Names without their common beginning and end, of which dots remain."""
    head = _common_head(names)
    rest = [name[head:] for name in names]
    tail = _common_head([name[::-1] for name in rest])
    return ["…" * bool(head) + name[: len(name) - tail] + "…" * bool(tail) for name in rest]


def _common_head(names: Sequence[str]) -> int:
    """How many characters all names begin with alike."""
    first, last = min(names), max(names)
    return next((i for i, (a, b) in enumerate(zip(first, last)) if a != b), len(first))


def text_width(texts: Sequence[str], size: float) -> float:
    """Width in inches of the widest of some texts in a font size in points."""
    renderer = RendererAgg(1, 1, 72)
    font = FontProperties(size=size)
    plain = [text.replace(r"\$", "$") for text in texts]
    return max(renderer.get_text_width_height_descent(text, font, False)[0] for text in plain) / 72


# --- layout -------------------------------------------------------------------------------------------------


def new_figure(width: float, height: float, title: str, subtitle: str) -> Figure:
    """A white figure of a size in inches, on the Agg canvas, with a title and a line of explanation."""
    figure = Figure(figsize=(width, height), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    left = 0.15 / width
    figure.text(left, 1 - 0.12 / height, title, va="top", fontsize=TITLE, fontweight="bold", color=INK)
    figure.text(left, 1 - 0.35 / height, subtitle, va="top", fontsize=TEXT, color=SOFT)
    return figure


def add_axes(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Plain axes at a place in inches, `top` counted down from the upper edge of the figure."""
    across, down = figure.get_size_inches()
    box = (left / across, 1 - (top + height) / down, width / across, height / down)
    axes = figure.add_axes(box, facecolor="none")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT)
    axes.tick_params(labelsize=SMALL, length=3, width=0.8, color=SOFT, labelcolor=INK, pad=2)
    axes.set_axisbelow(True)
    return axes


def unit_axis(axes: Axes, which: str, end: float = 1.0) -> None:
    """Make the "x" or "y" axis one of fractions: 0..`end` with a small margin and a grid."""
    axes.set(**{f"{which}lim": (-0.03 * end, 1.03 * end)})
    axis = axes.xaxis if which == "x" else axes.yaxis
    step = 0.25 if end == 1 else 0.2
    ticks = np.arange(0, end + 1e-9, step)
    axis.set_ticks(ticks, [f"{tick:.3g}" for tick in ticks])
    axis.grid(True, color=RULE, linewidth=0.6)


def cluster_rows(axes: Axes, labels: Sequence[str], size: float = SMALL) -> None:
    """Make the y axis one row a cluster, the first on top; rows are at y = 0, 1, .."""
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_yticks(range(len(labels)), labels, fontsize=size)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def spread(values: NDArray[np.float64], gap: float, low: float, high: float) -> NDArray[np.float64]:
    """Places for labels near `values`, (n,), within low..high and no two closer than `gap`.

    If n labels do not fit, they are evenly spaced over low..high.
    """
    n = len(values)
    if (n - 1) * gap >= high - low:
        return np.linspace(low, high, n)[np.argsort(np.argsort(values, kind="stable"))]
    order = np.argsort(values, kind="stable")
    places = values[order].astype(float)
    slots = gap * np.arange(n)
    shifted = _isotonic(places - slots)
    places = np.clip(shifted, low, high - slots[-1]) + slots
    result = np.empty(n)
    result[order] = places
    return result


def _isotonic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The non-decreasing sequence nearest to `values` in least squares, by pooling adjacent violators."""
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, size = float(value), 1
        while pools and pools[-1][0] > mean:
            before, number = pools.pop()
            mean = (mean * size + before * number) / (size + number)
            size += number
        pools.append((mean, size))
    return np.concatenate([np.full(size, mean) for mean, size in pools])


# --- saving -------------------------------------------------------------------------------------------------


def check_formats(formats: Sequence[str]) -> None:
    """Refuse formats that pictures are not written in.

    Raises
    ------
    UsageError
        If a format is not known.
    """
    for name in formats:
        if name not in _METADATA:
            raise UsageError(f"picture format {name!r}: expected one of {', '.join(_METADATA)}")


@contextmanager
def _settings(name: str) -> Iterator[None]:
    """What matplotlib has as a setting only: names within an SVG that stay the same, and texts that stay texts."""
    with _SETTING, rc_context(_RC[name]):
        yield


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the path's suffix, the same bytes each time, whole or not at all.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    name = path.suffix[1:]
    options: dict[str, Any] = {"pil_kwargs": {"compress_level": 4}} if name == "png" else {}
    image = BytesIO()
    with _settings(name) if name in _RC else nullcontext():
        figure.savefig(image, format=name, dpi=DPI, metadata=_METADATA[name], **options)
    write_file(path, image.getbuffer())


def write_pictures(
    folder: Path, pictures: Mapping[str, Callable[[], Figure]], formats: Sequence[str]
) -> list[Path]:
    """Draw pictures into a folder, which is made if need be.

    Parameters
    ----------
    folder : Path
    pictures : mapping of str to callable
        What draws each picture, by name.
    formats : sequence of str
        Among "png", "pdf" and "svg".

    Returns
    -------
    list of Path
        The files written, ``<picture>.<format>``, picture by picture.

    Raises
    ------
    UsageError
        If a format is not known.
    OutputError
        If a file cannot be written.
    """
    check_formats(formats)
    make_folder(folder)
    written = []
    for name, draw in pictures.items():
        figure = draw()
        for suffix in formats:
            path = folder / f"{name}.{suffix}"
            save(figure, path)
            written.append(path)
    return written
