"""Parts shared by the pictures of mixtures: rows of a matrix as points, axes of any scale, and clusters' ellipses."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba_array
from numpy.typing import NDArray

from pyclone_pgsm.plots import appearance, style
from pyclone_pgsm.posterior.mixture import MixtureSummary

MAX_POINTS = 100_000
"""Largest number of rows drawn; of more, the same share of each cluster is drawn."""
MOST_BEYOND = 0.15
"""Largest extension of an axis for ellipses, at each end, as a fraction of the range of the values."""
TICKS = 6
"""Approximate number of ticks on an axis."""
DARKER = 0.7
"""Factor from a cluster's colour to that of its outline."""


# --- axes ---------------------------------------------------------------------------------------------------


def limits(values: NDArray[np.float64], low: float = np.inf, high: float = -np.inf) -> tuple[float, float]:
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
    if len(labels) <= most:
        return np.arange(len(labels))
    ordered = np.argsort(labels, kind="stable")
    return np.sort(ordered[np.linspace(0, len(labels) - 1, most).astype(np.int64)])


def thinned(summary: MixtureSummary) -> str:
    """Return the part of a subtitle that says that not all rows are drawn, if so."""
    return f"; {MAX_POINTS:,} rows drawn" if len(summary.labels) > MAX_POINTS else ""


def draw_points(axes: Axes, summary: MixtureSummary, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """Draw the rows at (x, y), each (T,)."""
    rows = drawn_rows(summary.labels, MAX_POINTS)
    style.draw_points(axes, summary.cluster_size, summary.labels[rows], x[rows], y[rows])


def draw_ellipses(
    axes: Axes, summary: MixtureSummary, means: NDArray[np.float64], covariances: NDArray[np.float64]
) -> None:
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


def column_scales(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (D,) standard deviations of the columns, infinite where zero up to rounding."""
    deviation = values.std(axis=0)
    return np.where(deviation > 1e-12 * np.abs(values).max(axis=0), deviation, np.inf)
