"""Linked pictures of the page, by Bokeh, each as JSON from which BokehJS draws it; ``page.js`` links them.

``page.js`` finds the data sources by their names. ``lines``, ``points``, ``scatter`` and ``densities`` have a column
``cluster``; their items are dimmed if another cluster is selected.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.core.types import ID
from bokeh.embed import json_item
from bokeh.models import (
    BasicTicker,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    MultiLine,
    Range1d,
    Scatter,
    Segment,
    TapTool,
)
from bokeh.models.glyphs import Patches
from bokeh.plotting import figure
from numpy.typing import NDArray

from pyclone_pgsm.plots import appearance
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.report.content import label

GREY = "#808080"
"""Colour of axes and their labels, legible on white and on black."""
OUTLIER = appearance.OUTLIER, "#c4c4c4"
"""Colours of outliers on white and on black."""
GRID = "rgba(128, 128, 128, 0.22)"
MOST_LINES = 60
MOST_DENSITIES = 24
DENSITY_POINTS = 120
OPACITY = {"plain": 0.75, "faint": 0.35, "dim": 0.1, "chosen": 0.95}
"""Opacity of clusters: plain; minor clusters among the lines; not selected while another is; selected."""
IDS = ("id", "root_id")
"""Keys of the ids of a figure's parts in Bokeh's JSON."""
FONT = "system-ui, sans-serif"


def _figure(height: int, described: str, across: tuple[float, float], up: tuple[float, float]) -> Any:
    """Make an empty figure for light and dark pages; `across` and `up` are the ends of its axes."""
    made = figure(
        name=f"{described}-figure",
        height=height,
        x_range=Range1d(start=across[0], end=across[1]),
        y_range=Range1d(start=up[0], end=up[1]),
        sizing_mode="stretch_width",
        toolbar_location="above",
        tools="pan,wheel_zoom,box_zoom,reset,save",
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
    )
    made.toolbar.logo = None
    made.grid.grid_line_color = GRID
    for axis in made.axis:
        axis.update(
            axis_line_color=GREY,
            major_tick_line_color=GREY,
            minor_tick_line_color=None,
            major_label_text_color=GREY,
            major_label_text_font=FONT,
            axis_label_text_color=GREY,
            axis_label_text_font=FONT,
            axis_label_text_font_style="normal",
        )
    return made


def _item(
    made: Any, target: str, shapes: Any, tooltips: list[tuple[str, str]], **hovering: Any
) -> dict[str, Any]:
    """Return the figure as JSON, with tools to select the `shapes` and to hover over them, which shows `tooltips`.

    The parts are numbered in order of appearance, because Bokeh's ids differ from run to run.
    """
    made.add_tools(HoverTool(renderers=[shapes], tooltips=tooltips, **hovering), TapTool(renderers=[shapes]))
    known: dict[str, str] = {}

    def named(value: Any) -> Any:
        if isinstance(value, list):
            return [named(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {
            key: known.setdefault(each, f"{target}-{len(known)}") if key in IDS else named(each)
            for key, each in value.items()
        }

    return named(json_item(made, ID(target)))


def prevalence_lines(summary: Summary) -> dict[str, Any]:
    """Draw the prevalence of each cluster across the samples, with intervals."""
    shown = appearance.largest_clusters(summary.cluster_size, MOST_LINES)
    D = len(summary.sample_ids)
    colours = np.array(appearance.cluster_colours(summary.cluster_size), object)[shown]
    made = _figure(380, "prevalences", (-0.4, D - 0.6), (-0.03, 1.03))
    [axis], [up] = made.below, made.left
    up.axis_label = "cellular prevalence"
    names = appearance.distinct_names(summary.sample_ids, 18 if D <= 10 else 12)
    axis.ticker = FixedTicker(ticks=list(range(D)))
    axis.major_label_overrides = {d: label(name) for d, name in enumerate(names)}
    axis.major_label_orientation = 0 if D <= 6 else math.pi / 4 if D <= 25 else math.pi / 2
    places = np.arange(D) + np.linspace(-0.12, 0.12, len(shown))[:, None] * (len(shown) > 1)
    minor = appearance.minor_clusters(summary.cluster_size)[shown]
    order = np.argsort(~minor, kind="stable")  # small clusters behind the others
    shown, colours, places, minor = shown[order], colours[order], places[order], minor[order]
    widths, alphas, diameters = np.where(
        minor, [[1.0], [OPACITY["faint"]], [5.0]], [[2.0], [OPACITY["plain"]], [8.0]]
    )
    lines = ColumnDataSource(
        {
            "xs": places.tolist(),
            "ys": summary.cluster_mean[shown].tolist(),
            "cluster": shown,
            "colour": colours.tolist(),
            "alpha": alphas,
            "width": widths,
        },
        name="lines",
    )
    K = len(shown)
    points = ColumnDataSource(
        {
            "x": places.ravel(),
            "y": summary.cluster_mean[shown].ravel(),
            "lower": summary.cluster_lower[shown].ravel(),
            "upper": summary.cluster_upper[shown].ravel(),
            "cluster": np.repeat(shown, D),
            "size": np.repeat(summary.cluster_size[shown], D),
            "sample": np.tile(np.array(summary.sample_ids, object), K).tolist(),
            "colour": np.repeat(colours, D).tolist(),
            "alpha": np.repeat(alphas, D),
            "diameter": np.repeat(diameters, D),
        },
        name="points",
    )
    drawn: dict[str, Any] = {"line_color": "colour", "line_alpha": "alpha"}
    made.add_glyph(lines, MultiLine(xs="xs", ys="ys", line_width="width", **drawn))
    made.add_glyph(points, Segment(x0="x", y0="lower", x1="x", y1="upper", line_width=1.5, **drawn))
    dots = made.add_glyph(
        points, Scatter(x="x", y="y", size="diameter", fill_color="colour", fill_alpha="alpha", **drawn)
    )
    tooltips = [("cluster", "@cluster"), ("mutations", "@size"), ("sample", "@sample")]
    tooltips.append(("prevalence", "@y{0.000} [@lower{0.000}, @upper{0.000}]"))
    return _item(made, "prevalences", dots, tooltips)


def scatter(target: str, fields: Sequence[tuple[str, str]], names: Sequence[str]) -> dict[str, Any]:
    """Prepare a scatter plot that ``page.js`` fills; `fields` are the names and columns that hovering shows.

    It shows two of the samples or columns `names`; if there is one only, it has the clusters on the y axis.
    """
    columns = dict.fromkeys(["x", "y", "cluster", "colour", "alpha", *(column for _, column in fields)])
    source = ColumnDataSource({column: [] for column in columns}, name="scatter")
    made = _figure(480, "scatter", (0, 1), (0, 1))
    if len(names) == 1:
        made.left[0].ticker = BasicTicker(min_interval=1)
    glyph = Scatter(x="x", y="y", size=6, fill_color="colour", fill_alpha="alpha", line_color=None)
    dots = made.add_glyph(source, glyph, name="dots")
    dots.nonselection_glyph = None
    dots.selection_glyph = None
    tooltips = [(name, f"@{{{column}}}") for name, column in fields]
    return _item(made, target, dots, tooltips, limit=6)


def densities() -> dict[str, Any]:
    """Prepare a plot of the clusters' posterior densities, which ``page.js`` fills for the selected sample."""
    source = ColumnDataSource(
        {name: [] for name in ("xs", "ys", "cluster", "colour", "alpha")}, name="densities"
    )
    made = _figure(320, "densities", (-0.02, 1.02), (0, 1.08))
    [axis], [up] = made.below, made.left
    axis.axis_label = "cellular prevalence"
    up.visible = False
    made.center[1].visible = False  # its grid
    glyph = Patches(
        xs="xs", ys="ys", fill_color="colour", line_color="colour", fill_alpha=0.22, line_alpha="alpha"
    )
    shapes = made.add_glyph(source, glyph)
    shapes.nonselection_glyph = None
    return _item(made, "densities", shapes, [("cluster", "@cluster")])


def density_values(summary: Summary) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return clusters (k,), prevalences (n,) and posterior densities (k, D, n), each scaled to a maximum of 1."""
    shown = appearance.largest_clusters(summary.cluster_size, MOST_DENSITIES)
    grid, values = summary.even_densities(shown, np.arange(len(summary.sample_ids)))
    step = max(1, math.ceil(len(grid) / DENSITY_POINTS))
    starts = np.arange(0, len(grid), step)
    found = np.maximum.reduceat(values, starts, axis=2)
    return shown, grid[starts], found / found.max(axis=2, keepdims=True)
