"""Parts shared by all pictures: legends, names, layout in inches, and saving.

Neither this module nor the pictures use pyplot or change the global settings of matplotlib, so pictures can be made in
any thread and do not affect the caller's use of matplotlib.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib import font_manager, rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.spatial import KDTree

from pyclone_pgsm.plots import appearance
from pyclone_pgsm.posterior.mixture import MixtureSummary
from pyclone_pgsm.posterior.summary import Summary

Legend = tuple[Sequence[Artist], Sequence[str]]
"""Handles and labels."""
DPI = 150
INK, SOFT, RULE = "#222222", "#666666", "#d9d9d9"
TEXT, SMALL, TITLE = 8.0, 7.0, 11.0
HEADER = 0.62
"""Height in inches of the title and the line below it."""
GAP = 0.16
"""Gap in inches between two panels of a triangle."""
GOLDEN = (5**0.5 - 1) / 2
"""Its multiples, modulo 1, spread points evenly across a row."""
ROWS_WIDTH = 5.0
"""Width in inches of a row of points."""
NUMBER_GAPS = (3.0, 6.0, 10.0, 16.0, 24.0, 34.0, 46.0, 60.0, 76.0, 94.0, 114.0)
"""Distances, in points, between a number and the middle of its cluster, in the order in which they are tried."""
NEAR = 3
"""A thin line connects the number to the middle of its cluster beyond so many of the distances."""
AROUND = np.array(
    [
        *((1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0)),
        *((1, 0.5), (-1, 0.5), (1, -0.5), (-1, -0.5), (0.5, 1), (-0.5, 1), (0.5, -1), (-0.5, -1)),
    ]
)
"""Directions from the middle of a cluster to its number, in the order in which they are tried."""
RASTER_FROM = 1000
"""Number of points from which they are rasterised, also in a PDF."""

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
"""Options of formats that matplotlib only has as settings: reproducible ids in an SVG, and text kept as text."""


def point_style(colour: str, diameter: float) -> dict[str, Any]:
    """Return the style of points of a colour: crosses for outliers, discs for others."""
    cross = colour == appearance.OUTLIER
    return {
        "linestyle": "none",
        "marker": "x" if cross else "o",
        "markersize": diameter,
        "markeredgewidth": 0.8 if cross else 0,
        "color": colour,
    }


def cluster_legend(sizes: NDArray[np.int64], outliers: int = 0) -> Legend:
    """Return the legend for the largest clusters, in the order of their ids, the rest, and the outliers."""
    colours = appearance.cluster_colours(sizes)
    named = appearance.named_clusters(sizes, appearance.MAX_NAMED)
    entries = [(colours[k], appearance.cluster_label(k, sizes[k])) for k in named]
    others = appearance.others_label(sizes, named)
    if others is not None:
        entries.append((appearance.GREYS[1], others))
    if outliers:
        entries.append((appearance.OUTLIER, appearance.outliers_label(outliers)))
    handles = [Line2D([], [], **point_style(colour, 5)) for colour, _ in entries]
    return handles, [label for _, label in entries]


def draw_legend(
    figure: Figure, handles: Sequence[Artist], labels: Sequence[str], left: float, top: float, **options: Any
) -> None:
    """Draw a legend at a position in inches from the upper left corner; `options` are for `Figure.legend`."""
    width, height = figure.get_size_inches()
    look = {"fontsize": SMALL, "labelcolor": INK, "frameon": False, "handlelength": 1, "handletextpad": 0.4}
    place = {"loc": "upper left", "borderpad": 0.2, "borderaxespad": 0}
    anchor = (left / width, 1 - top / height)
    figure.legend(handles, labels, bbox_to_anchor=anchor, **{**look, **place, **options})


def draw_histogram(
    axes: Axes, summary: Summary | MixtureSummary, values: NDArray[np.float64], edges: NDArray[np.float64]
) -> float:
    """Draw a stacked histogram of the values (T,), muted colours on top, and return its height; NaN is left out."""
    groups = appearance.colour_groups(summary.cluster_size, summary.labels)
    muted = (appearance.OUTLIER, *appearance.GREYS)
    base = np.zeros(len(edges) - 1)
    for colour, members in sorted(groups, key=lambda group: group[0] in muted):
        top = base + np.histogram(values[members], edges)[0]
        axes.stairs(top, edges, baseline=base, fill=True, color=colour, linewidth=0)
        base = top
    return float(base.max())


def draw_points(
    axes: Axes, summary: Summary | MixtureSummary, x: NDArray[np.float64], y: NDArray[np.float64]
) -> None:
    """Draw points (T,) at (x, y), none for NaN, one colour after another; the more there are, the smaller they are."""
    diameter = float(np.clip(9 * len(x) ** -0.2, 1.2, 6))
    opacity = 0.85 if len(x) <= 100 else 0.65
    for colour, members in appearance.colour_groups(summary.cluster_size, summary.labels):
        axes.plot(x[members], y[members], **point_style(colour, diameter), alpha=opacity, zorder=1.5)
    if len(x) >= RASTER_FROM:
        axes.set_rasterization_zorder(1.9)


def number_clusters(
    axes: Axes,
    clusters: NDArray[np.int64],
    labels: NDArray[np.int64],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
) -> None:
    """Number clusters beside the medians of their points at (x, y), given the cluster of each in `labels`.

    Each number is put at the nearest place around the median where it hides no point and no other number, with a line
    to the median if that is far. If there is no such place, the number is left out.
    """
    if not len(clusters):
        return
    scale = 72 / axes.figure.dpi
    points = axes.transData.transform(np.column_stack([x, y])) * scale
    low, high = axes.transAxes.transform([(0, 0), (1, 1)]) * scale
    half = np.array([text_width([str(k) for k in clusters], SMALL) * 72, 0.75 * SMALL]) / 2
    room, taken = KDTree(points / (half + 2)), np.empty((0, 2))
    for k in clusters:
        centre = np.median(points[labels == k], axis=0)
        places = np.concatenate([centre + AROUND * (half + gap) for gap in NUMBER_GAPS])
        free = ((places - half >= low) & (places + half <= high)).all(axis=1)
        free &= room.query(places / (half + 2), p=np.inf)[0] > 1
        free &= np.all(np.any(np.abs(places[:, None] - taken) > 2 * half + 1, axis=2), axis=1)
        if not free.any():
            continue
        place = places[free.argmax()]
        taken = np.vstack([taken, place])
        is_far = free.argmax() >= NEAR * len(AROUND)
        axes.annotate(
            str(k),
            centre,
            place,
            "figure points",
            ha="center",
            va="center_baseline",
            fontsize=SMALL,
            fontweight="bold",
            color=INK,
            path_effects=[withStroke(linewidth=2, foreground="white")],
            arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.6, "shrinkB": 0} if is_far else None,
            zorder=3,
        )


# --- names --------------------------------------------------------------------------------------------------


def short_names(names: Sequence[str], limit: int = 20) -> list[str]:
    """Shorten names for a picture, by :func:`~pyclone_pgsm.plots.appearance.distinct_names`.

    Characters that the font lacks become boxes, and dollar signs, with which formulas begin, are escaped.
    """
    return [name.replace("$", r"\$") for name in appearance.distinct_names(names, limit, _drawable(names))]


def _drawable(names: Sequence[str]) -> list[str]:
    font = font_manager.get_font(font_manager.findfont(FontProperties()))
    characters = set().union(*names) if names else set()
    lacking = {
        ord(c): " " if c.isspace() else "□"
        for c in characters
        if not c.isprintable() or not font.get_char_index(ord(c))
    }
    return [name.translate(lacking) for name in names]


def text_width(texts: Sequence[str], size: float) -> float:
    """Return the width in inches of the widest text; `size` is the font size in points."""
    renderer = RendererAgg(1, 1, 72)
    font = FontProperties(size=size)
    plain = [text.replace(r"\$", "$") for text in texts]
    return max(renderer.get_text_width_height_descent(text, font, False)[0] for text in plain) / 72


# --- layout -------------------------------------------------------------------------------------------------


def new_figure(width: float, height: float, title: str, subtitle: str) -> Figure:
    """Make a white figure, its size in inches, on the Agg canvas; it is wider if the subtitle needs that."""
    width = max(width, text_width([subtitle], TEXT) + 0.3)
    figure = Figure(figsize=(width, height), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    left = 0.15 / width
    figure.text(left, 1 - 0.12 / height, title, va="top", fontsize=TITLE, fontweight="bold", color=INK)
    figure.text(left, 1 - 0.35 / height, subtitle, va="top", fontsize=TEXT, color=SOFT)
    return figure


def add_axes(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Add plain axes at a position in inches, with `top` measured down from the upper edge of the figure."""
    across, down = figure.get_size_inches()
    box = (left / across, 1 - (top + height) / down, width / across, height / down)
    axes = figure.add_axes(box, facecolor="none")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT)
    axes.tick_params(labelsize=SMALL, length=3, width=0.8, color=SOFT, labelcolor=INK, pad=2)
    axes.set_axisbelow(True)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(fontsize=TEXT, color=INK)
    return axes


def panel_side(number: int) -> float:
    """Return the side in inches of a panel in a triangle of this number of quantities."""
    return {2: 4.2, 3: 2.7, 4: 2.2}.get(number, 1.75)


def triangle(
    title: str,
    subtitle: str,
    names: Sequence[str],
    legend: Legend,
    draw: Callable[[Axes, int, int], None],
    left: float,
) -> Figure:
    """Make a triangle of panels, one for each pair of quantities, with the legend in the empty corner if it fits.

    `names` are those of the quantities; `draw` fills the axes of a panel, given the indices of the quantities on x and
    y; `left` is the left margin in inches.
    """
    side, panel = len(names) - 1, panel_side(len(names))
    step, top = panel + GAP, HEADER + 0.05
    legend_width, legend_height = text_width(legend[1], SMALL) + 0.35, len(legend[1]) * 0.155 + 0.1
    in_corner = max(legend_width, legend_height) <= (side - 1) * step
    width = left + side * step + (0 if in_corner else legend_width)
    height = top + max(side * step, 0 if in_corner else legend_height) + 0.5
    figure = new_figure(width, height, title, subtitle)
    for i in range(1, len(names)):
        for j in range(i):
            axes = add_axes(figure, left + j * step, top + (i - 1) * step, panel, panel)
            draw(axes, j, i)
            axes.tick_params(labelbottom=i == side, labelleft=j == 0)
            if i == side:
                axes.set_xlabel(names[j])
            if j == 0:
                axes.set_ylabel(names[i])
    legend_left = left + side * step - (legend_width + 0.1 if in_corner else 0.05)
    draw_legend(figure, *legend, legend_left, top)
    return figure


def histogram_above_rows(
    title: str, subtitle: str, labels: Sequence[str], histogram: float, right: float
) -> tuple[Figure, Axes, Axes]:
    """Make a figure with axes for a histogram above axes with one row per cluster, `ROWS_WIDTH` inches wide.

    `labels` are those of the rows; `histogram` is the height of the upper axes and `right` the right margin, in inches.
    """
    left, top, gap = text_width(labels, SMALL) + 0.3, HEADER + 0.1, 0.15
    rows = max(0.5, len(labels) * (0.32 if len(labels) <= 12 else 0.19))
    width = left + ROWS_WIDTH + right
    figure = new_figure(width, top + histogram + gap + rows + 0.5, title, subtitle)
    above = add_axes(figure, left, top, ROWS_WIDTH, histogram)
    below = add_axes(figure, left, top + histogram + gap, ROWS_WIDTH, rows)
    cluster_rows(below, labels)
    return figure, above, below


def number_ticks(axis: Axis, number: int, **options: Any) -> None:
    """Give an axis about `number` ticks at round numbers; `options` are for MaxNLocator."""
    axis.set_major_locator(round_ticks(number, **options))
    axis.set_major_formatter(FuncFormatter(tick_label))


def round_ticks(number: int, **options: Any) -> MaxNLocator:
    """Return a locator of about `number` ticks at round numbers."""
    return MaxNLocator(nbins=number, steps=[1, 2, 5, 10], **options)


def tick_label(value: float, _: int | None = None) -> str:
    """Format the number beside a tick."""
    text = f"{value:,.10g}" if 1e-4 <= abs(value) < 1e10 or value == 0 else f"{value:.6g}"
    return text.replace("-", "−")


def unit_axis(axes: Axes, which: str, end: float = 1.0) -> None:
    """Set up the "x" or "y" axis for fractions 0..`end`, with a small margin and a grid."""
    axes.set(**{f"{which}lim": (-0.03 * end, 1.03 * end)})
    axis = axes.xaxis if which == "x" else axes.yaxis
    step = 0.25 if end == 1 else 0.2
    ticks = np.arange(0, end + 1e-9, step)
    axis.set_ticks(ticks, [f"{tick:.3g}" for tick in ticks])
    axis.grid(True, color=RULE, linewidth=0.6)


def cluster_rows(axes: Axes, labels: Sequence[str]) -> None:
    """Set up the y axis with one row per cluster, the first on top, at y = 0, 1, .."""
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_yticks(range(len(labels)), labels, fontsize=SMALL)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def spread(values: NDArray[np.float64], gap: float, low: float, high: float) -> NDArray[np.float64]:
    """Return (n,) positions for labels near `values`, within low..high and at least `gap` apart.

    If the labels do not fit, they are evenly spaced over low..high.
    """
    n = len(values)
    order = np.argsort(values, kind="stable")
    slots = min(gap, (high - low) / max(n - 1, 1)) * np.arange(n)
    shifted = isotonic_regression(values[order] - slots).x
    places = np.empty(n)
    places[order] = np.clip(shifted, low, max(low, high - slots.max(initial=0))) + slots
    return places


# --- saving -------------------------------------------------------------------------------------------------


def encode(figure: Figure, format: str) -> bytes:
    """Return the content of a file with the figure, the same at each call; the format is "png", "pdf" or "svg"."""
    options: dict[str, Any] = {"pil_kwargs": {"compress_level": 4}} if format == "png" else {}
    image = BytesIO()
    with ExitStack() as settings:
        if format in _RC:
            settings.enter_context(_SETTING)
            settings.enter_context(rc_context(_RC[format]))
        figure.savefig(image, format=format, dpi=DPI, metadata=_METADATA[format], **options)
    return image.getvalue()


def draw_pictures(pictures: Mapping[str, Callable[[], Figure]], formats: Sequence[str]) -> dict[str, bytes]:
    """Draw pictures, given by name, and return the content of their files ``<picture>.<format>``."""
    files = {}
    for name, draw in pictures.items():
        figure = draw()
        for format in formats:
            files[f"{name}.{format}"] = encode(figure, format)
    return files
