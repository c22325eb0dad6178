"""Pictures of real data in clusters, with ellipses of Normal clusters and predictive densities.

The rows are shown as points: for one column, in one line per cluster below a histogram; for two, in their plane; for
more, in the first principal components. Clusters of a Normal mixture have an ellipse (for one column, an interval) of
two standard deviations, from their posterior mean and covariance.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray
from scipy.linalg import eigh

from pyclone_pgsm.labels import evenly_spaced
from pyclone_pgsm.plots import appearance, style
from pyclone_pgsm.posterior.mixture import MixtureSummary

Values = NDArray[np.float64]
Density = Callable[[Values], Values]

CELLS = 120
"""Number of points along each axis of the grid on which densities are drawn."""
SHARES = (0.99, 0.95, 0.8, 0.5)
"""Fractions of the rows in the regions of highest density."""
FAINT = ("#f6f6f6", "#efefef", "#e6e6e6", "#dcdcdc")
STRONG = ("#e3eef9", "#b5d4e9", "#6aaed6", "#2676b8")
"""Colours of these regions: `FAINT` behind clusters, `STRONG` alone."""
SEEN_ROWS = 5000
"""Largest number of rows from whose densities the regions are computed."""
MAX_DOTS = 2000
"""Largest number of rows shown on a density."""
MAX_COMPONENTS = 4
MAX_ROWS = 60
SEEN_COLUMNS = 2000
"""With more columns, principal directions are computed from at most this many rows."""
MAX_POINTS = 100_000
"""Largest number of rows drawn; of more, the same share of each cluster is drawn."""
MOST_BEYOND = 0.15
"""Largest extension of an axis for ellipses, at each end, as a fraction of the range of the values."""
TICKS = 6
"""Approximate number of ticks on an axis."""
ELLIPSE_REACH = 2.0
"""Standard deviations of a cluster that its ellipse, or its bar, reaches."""
REGION_REACH = 3.1
"""Standard deviations for which axes have room where regions of highest density are drawn: 99 % of the rows of a Normal
cluster are within 3.03."""
DARKER = 0.7
"""Factor from a cluster's colour to that of its outline."""


class Regions(NamedTuple):
    """Regions of highest density, with the densities on a grid: `heights[i, j]` at `x[j]`, `y[i]`.

    `levels` are the densities on the edges of the regions that contain the `SHARES` of the rows.
    """

    x: Values
    y: Values
    heights: Values
    levels: tuple[float, ...]


def regions_of(values: Values, summary: MixtureSummary, density: Density) -> Regions:
    """Compute the regions of highest density of two columns; the arguments are those of :func:`cluster_points`."""
    x, y = (np.linspace(*each, CELLS) for each in _axis_ends(values, summary, REGION_REACH))
    heights = density(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)).reshape(CELLS, CELLS)
    of_rows = density(values[drawn_rows(summary.labels, SEEN_ROWS)])
    return Regions(x, y, heights, tuple(np.quantile(of_rows, 1 - np.array(SHARES)).tolist()))


def cluster_points(
    values: Values,
    summary: MixtureSummary,
    density: Density | None = None,
    regions: Callable[[], Regions] | None = None,
) -> Figure:
    """The rows as points coloured by cluster.

    `values` (T, D) are the data, without NaN: see :func:`complete_rows`. The clusters have ellipses if their parameters
    are given: "mean" (K, D) and "covariance" (K, D, D) of Normal clusters. `density` is the posterior predictive
    density (n,) of new rows (n, D), drawn for one column; its `regions` are drawn for two.
    """
    num_columns = values.shape[1]
    if num_columns == 1:
        return _rows(values, summary, density)
    subtitle = contents(summary) + thinned(summary)
    if num_columns > 2:
        subtitle += f"; principal components of {num_columns:,} scaled columns"
        values, summary = _components(values, summary)
        regions = None
    if summary.parameters:
        subtitle += "; ellipses: 2 standard deviations"
    if regions is not None:
        subtitle += "; shaded: predictive density"
    ends = _axis_ends(values, summary, ELLIPSE_REACH if regions is None else REGION_REACH)
    numbered = np.intersect1d(
        summary.labels, np.flatnonzero(~appearance.minor_clusters(summary.cluster_size))
    )

    def draw(axes: Axes, pair: list[int]) -> None:
        coordinates = values[:, pair]
        if regions is not None:
            _shade(axes, regions(), FAINT)
        draw_points(axes, summary, *coordinates.T)
        if summary.parameters:
            covariances = summary.parameters["covariance"][:, pair][:, :, pair]
            draw_ellipses(axes, summary, summary.parameters["mean"][:, pair], covariances)
        style.number_clusters(axes, numbered, summary.labels, *coordinates.T)

    return _pairs("Clusters", subtitle, summary, ends, style.cluster_legend(summary.cluster_size), draw)


def density_map(values: Values, summary: MixtureSummary, regions: Callable[[], Regions]) -> Figure:
    """Posterior predictive density of two columns, as regions of highest density.

    The arguments are those of :func:`cluster_points`. The axes have room for the ellipses of three standard deviations.
    """
    ends = _axis_ends(values, summary, REGION_REACH)
    subtitle = f"{contents(summary)}; shaded: regions of highest density"
    if len(values) > MAX_DOTS:
        subtitle += f"; dots: {MAX_DOTS:,} of the rows"

    def draw(axes: Axes, pair: list[int]) -> None:
        _shade(axes, regions(), STRONG)
        dots = values[drawn_rows(summary.labels, MAX_DOTS)].T
        axes.plot(*dots, "o", markersize=1.2, markeredgewidth=0, color=style.INK, alpha=0.6, zorder=1.5)

    entries = [
        (Patch(color=colour), f"{100 * share:.0f} % of the rows") for colour, share in zip(STRONG, SHARES)
    ]
    handles, labels = zip(*reversed(entries))
    return _pairs("Predictive density", subtitle, summary, ends, (handles, labels), draw)


def _pairs(
    title: str,
    subtitle: str,
    summary: MixtureSummary,
    ends: list[tuple[float, float]],
    legend: style.Legend,
    draw: Callable[[Axes, list[int]], None],
) -> Figure:
    """Make a triangle of panels, one for each pair of columns; `draw` fills the panel of a pair."""
    left = max(tick_width(each) for each in ends[1:]) + 0.45
    side = style.panel_side(len(ends))

    def panel(axes: Axes, j: int, i: int) -> None:
        value_axis(axes, "x", ends[j])
        value_axis(axes, "y", ends[i])
        draw(axes, [j, i])
        if j == 0:
            axes.yaxis.set_label_coords(-(left - 0.2) / side, 0.5)

    names = style.short_names(summary.column_names, int(max(32, 12 * side)))
    return style.triangle(title, subtitle, names, legend, panel, left)


def _axis_ends(values: Values, summary: MixtureSummary, reach: float) -> list[tuple[float, float]]:
    """Return the ends of the axis of each column, with room for the rows and `reach` standard deviations of clusters.

    Minor clusters are not considered.
    """
    if not summary.parameters:
        return [limits(column) for column in values.T]
    large = ~appearance.minor_clusters(summary.cluster_size)
    mean, covariance = summary.parameters["mean"][large], summary.parameters["covariance"][large]
    distance = reach * np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    low = (mean - distance).min(axis=0, initial=np.inf)
    high = (mean + distance).max(axis=0, initial=-np.inf)
    return [limits(*each) for each in zip(values.T, low, high)]


def _shade(axes: Axes, regions: Regions, colours: Sequence[str]) -> None:
    x, y, heights, levels = regions
    for level, colour in zip(levels, colours):
        if heights.min() < level < heights.max():
            axes.contourf(x, y, heights, [level, np.inf], colors=[colour], zorder=0.5)


# --- one column ---------------------------------------------------------------------------------------------


def _rows(values: Values, summary: MixtureSummary, density: Density | None) -> Figure:
    """Draw a stacked histogram and the density, above one line of points per cluster."""
    sizes = summary.cluster_size
    shown = appearance.largest_clusters(sizes, MAX_ROWS)
    subtitle = contents(summary) + thinned(summary)
    if summary.parameters:
        subtitle += "; bars: 2 standard deviations"
    if density is not None:
        subtitle += "; line: predictive density"
    if len(shown) < len(sizes):
        subtitle += f"; rows: the {len(shown)} largest"
    labels = [appearance.cluster_label(k, sizes[k]) for k in shown]
    [ends] = _axis_ends(values, summary, ELLIPSE_REACH)
    column = values[:, 0]
    right = tick_width(ends) / 2 + 0.1
    figure, above, axes = style.histogram_above_rows("Clusters", subtitle, labels, 1.5, right)
    _draw_histogram(above, column, summary, ends, density)
    row_of = np.full(len(sizes), np.nan)
    row_of[shown] = np.arange(len(shown))
    jitter = np.arange(len(column)) * style.GOLDEN % 1 * 0.6 - 0.4
    value_axis(axes, "x", ends)
    draw_points(axes, summary, column, row_of[summary.labels] + jitter)
    if summary.parameters:
        _draw_bars(axes, summary.parameters, shown)
    [name] = style.short_names(summary.column_names, int(12 * style.ROWS_WIDTH))
    axes.set_xlabel(name)
    return figure


def _draw_histogram(
    axes: Axes,
    values: Values,
    summary: MixtureSummary,
    ends: tuple[float, float],
    density: Density | None,
) -> None:
    edges = np.linspace(*ends, 41 if len(values) < 1000 else 101)
    highest = style.draw_histogram(axes, summary, values, edges)
    if density is not None:
        x = np.linspace(*ends, 5 * CELLS)
        curve = density(x[:, None]) * len(values) * (edges[1] - edges[0])
        halo = [withStroke(linewidth=2.2, foreground="white")]
        axes.plot(x, curve, color=style.INK, linewidth=1, path_effects=halo)
        highest = max(highest, min(curve.max(), 1.5 * highest))
    value_axis(axes, "x", ends)
    axes.tick_params(labelbottom=False)
    value_axis(axes, "y", (0, 1.05 * highest), ticks=4)
    axes.set_ylabel("rows")


def _draw_bars(axes: Axes, parameters: dict[str, Values], shown: NDArray[np.int64]) -> None:
    """Draw the mean and 2 standard deviations of each cluster below its points."""
    mean = parameters["mean"][shown, 0]
    reach = ELLIPSE_REACH * np.sqrt(parameters["covariance"][shown, 0, 0])
    rows = np.arange(len(shown)) + 0.33
    axes.hlines(rows, mean - reach, mean + reach, color=style.INK, linewidth=1, zorder=2)
    axes.plot(mean, rows, "|", color=style.INK, markersize=5, markeredgewidth=1.2, zorder=2)


# --- more columns -------------------------------------------------------------------------------------------


def principal_directions(values: Values) -> tuple[Values, Values]:
    """Return the first principal components of T rows by D columns (D > 1), scaled to a standard deviation of 1.

    The result are the directions (D, n), such that x @ directions are the components of a row x up to a constant, with
    n from 2 to `MAX_COMPONENTS`, and the share (n,) of each in the variance of all scaled columns.
    """
    scale = column_scales(values)
    T, D = values.shape
    if D <= SEEN_COLUMNS:
        scaled = (values - values.mean(axis=0)) / scale
        axes = eigh(scaled.T @ scaled, subset_by_index=[max(0, D - MAX_COMPONENTS), D - 1])[1][:, ::-1]
    else:
        kept = values[evenly_spaced(T, SEEN_COLUMNS)]
        scaled = (kept - kept.mean(axis=0)) / scale
        of_rows = np.linalg.eigh(scaled @ scaled.T)[1][:, ::-1]
        spanning = np.column_stack([scaled.T @ of_rows[:, :MAX_COMPONENTS], np.eye(D, MAX_COMPONENTS)])
        axes = np.linalg.qr(spanning)[0][:, :MAX_COMPONENTS]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    directions = axes / scale[:, None]
    shares = (values @ directions).var(axis=0) / max(1, np.count_nonzero(np.isfinite(scale)))
    number = max(2, np.count_nonzero(shares > 1e-9))
    return directions[:, :number], shares[:number]


def _components(values: Values, summary: MixtureSummary) -> tuple[Values, MixtureSummary]:
    directions, shares = principal_directions(values)
    centre = values.mean(axis=0)
    names = [f"component {j + 1} ({100 * share:.0f} % of variance)" for j, share in enumerate(shares)]
    parameters = summary.parameters
    if parameters:
        with np.errstate(invalid="ignore"):  # covariances of small clusters may be infinite
            covariance = directions.T @ parameters["covariance"] @ directions
        parameters = {"mean": (parameters["mean"] - centre) @ directions, "covariance": covariance}
    return (values - centre) @ directions, replace(summary, column_names=names, parameters=parameters)


# --- axes ---------------------------------------------------------------------------------------------------


def limits(values: Values, low: float = np.inf, high: float = -np.inf) -> tuple[float, float]:
    """Return the ends of an axis for the values, with a small margin.

    The axis also includes the range from `low` to `high`, as far as `MOST_BEYOND` allows.
    """
    first, last = float(values.min()), float(values.max())
    beyond = MOST_BEYOND * (last - first)
    first = min(first, max(low, first - beyond))
    last = max(last, min(high, last + beyond))
    margin = 0.04 * (last - first)
    if margin <= 1e-12 * max(abs(first), abs(last)):
        margin = 0.5 * max(abs(first), abs(last)) or 1.0
    return first - margin, last + margin


def value_axis(axes: Axes, which: str, ends: tuple[float, float], ticks: int = TICKS) -> None:
    """Set the ends of the "x" or "y" axis, a grid, and the approximate number of ticks."""
    axes.set(**{f"{which}lim": ends})
    axis = axes.xaxis if which == "x" else axes.yaxis
    style.number_ticks(axis, ticks)
    axis.grid(True, color=style.RULE, linewidth=0.6)


def tick_width(ends: tuple[float, float]) -> float:
    """Return the width in inches of the tick labels of a y axis with these ends."""
    ticks = style.round_ticks(TICKS).tick_values(*ends)
    return style.text_width([style.tick_label(tick) for tick in ticks], style.SMALL)


# --- points and clusters ------------------------------------------------------------------------------------


def drawn_rows(labels: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Select at most `most` rows, the same share of each cluster."""
    ordered = np.argsort(labels, kind="stable")
    return np.sort(ordered[evenly_spaced(len(labels), most)])


def complete_rows(values: Values, summary: MixtureSummary) -> tuple[Values, MixtureSummary]:
    """Return the rows without NaN and the summary of these; its sizes of clusters remain those of all rows."""
    complete = ~np.isnan(values).any(axis=1)
    kept = replace(
        summary,
        row_names=[summary.row_names[t] for t in np.flatnonzero(complete)],
        labels=summary.labels[complete],
        assignment_prob=summary.assignment_prob[complete],
    )
    return values[complete], kept


def contents(summary: MixtureSummary) -> str:
    """Return the beginning of a subtitle: what was clustered, and how many rows are missing from `summary`."""
    left_out = int(summary.cluster_size.sum()) - len(summary.labels)
    return summary.contents + (f"; {left_out:,} with missing values not shown" if left_out else "")


def thinned(summary: MixtureSummary) -> str:
    """Return the part of a subtitle that says that not all rows are drawn, if so."""
    return f"; {MAX_POINTS:,} rows drawn" if len(summary.labels) > MAX_POINTS else ""


def draw_points(axes: Axes, summary: MixtureSummary, x: Values, y: Values) -> None:
    """Draw the rows at (x, y), each (T,)."""
    rows = drawn_rows(summary.labels, MAX_POINTS)
    style.draw_points(axes, replace(summary, labels=summary.labels[rows]), x[rows], y[rows])


def draw_ellipses(axes: Axes, summary: MixtureSummary, means: Values, covariances: Values) -> None:
    """Draw 2-sd ellipses with `means` (K, 2) and `covariances` (K, 2, 2), bold for clusters with their own colours."""
    angle = np.linspace(0, 2 * np.pi, 91)[:-1]
    circle = 2 * np.column_stack([np.cos(angle), np.sin(angle)])
    scale, direction = np.linalg.eigh(covariances)
    roots = direction * np.sqrt(np.maximum(scale, 0))[:, None, :]
    outlines = means[:, None, :] + circle @ roots.transpose(0, 2, 1)
    colours = appearance.cluster_colours(summary.cluster_size)
    widths = [0.7 if colour in appearance.GREYS else 1.2 for colour in colours]
    dark = DARKER * to_rgba_array(colours)[:, :3]
    lines = PolyCollection(list(outlines), facecolors="none", edgecolors=dark, linewidths=widths, zorder=2)
    axes.add_collection(lines, autolim=False)


def column_scales(values: Values) -> Values:
    """Return (D,) standard deviations of the columns, infinite where zero up to rounding."""
    deviation = values.std(axis=0)
    return np.where(deviation > 1e-12 * np.abs(values).max(axis=0), deviation, np.inf)
