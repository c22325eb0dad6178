"""Posterior densities of the clusters' prevalences: one panel per sample, one row per cluster."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pyclone_pgsm.plots import appearance, style
from pyclone_pgsm.plots.scatter import most_different, of_samples
from pyclone_pgsm.posterior.summary import Summary

MAX_COLUMNS = 5
MAX_ROWS = 40
MAX_ROWS_STACKED = 24
"""Largest number of clusters, with one row of panels and with several."""
MAX_SAMPLES = 100
"""Largest number of samples; if there are more, only those that differ the most are shown."""
VISIBLE = 1e-3
"""Fraction of its maximum below which a density is not drawn."""
MAX_POINTS = 200


def cluster_densities(summary: Summary) -> Figure:
    """Posterior density of each cluster's prevalence in each sample, each scaled to the same maximum."""
    samples = most_different(summary, MAX_SAMPLES)
    num_samples = len(samples)
    columns = min(num_samples, MAX_COLUMNS)
    panel_rows = math.ceil(num_samples / columns)
    sizes = summary.cluster_size
    limit = MAX_ROWS if panel_rows == 1 else MAX_ROWS_STACKED
    shown, rows, labels = appearance.cluster_rows_of(sizes, limit)

    row = 0.3 if len(labels) <= 12 else 0.17
    height = max(0.8, len(labels) * row)
    width = 4.6 if columns == 1 else 2.6 if columns <= 3 else 2.1
    left = style.text_width(labels, style.SMALL) + 0.3
    gap, title = 0.2, 0.55

    subtitle = f"{summary.contents}; each scaled to the same maximum; dots: means"
    if len(shown) < len(sizes):
        subtitle += f"; the {limit} largest"
    subtitle += of_samples(samples, summary)
    total = left + columns * (width + gap)
    figure = style.new_figure(
        total, style.HEADER + panel_rows * (height + title) + 0.17, "Cluster densities", subtitle
    )
    names = style.short_names([summary.sample_ids[d] for d in samples], int(width * 13))
    grid, densities = summary.even_densities(shown, samples)
    for place, (d, name) in enumerate(zip(samples, names)):
        i, j = divmod(place, columns)
        top = style.HEADER + 0.25 + i * (height + title)
        axes = style.add_axes(figure, left + j * (width + gap), top, width, height)
        style.cluster_rows(axes, labels if j == 0 else [""] * len(labels))
        _draw_panel(axes, summary, d, grid, densities[:, place], shown, rows)
        axes.set_title(name, fontsize=style.TEXT, color=style.INK, pad=4)
        if place + columns >= num_samples:
            axes.set_xlabel("cellular prevalence", labelpad=2)
    return figure


def _draw_panel(
    axes: Axes,
    summary: Summary,
    sample: int,
    grid: NDArray[np.float64],
    densities: NDArray[np.float64],
    shown: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> None:
    colours = np.array(appearance.cluster_colours(summary.cluster_size))[shown]
    sharing = np.bincount(rows)[rows]
    bases = rows + 0.35
    shapes = [_outline(grid, density, base) for density, base in zip(densities, bases)]
    style.unit_axis(axes, "x")
    axes.hlines(np.unique(bases), 0, 1, color=style.RULE, linewidth=0.6, zorder=1)
    fills = np.column_stack([to_rgba_array(colours)[:, :3], 0.35 / sharing])
    axes.add_collection(PolyCollection(shapes, facecolors=fills, linewidths=0, zorder=2))
    widths = np.where(sharing > 1, 0.4, 0.9)
    outlines = PolyCollection(shapes, facecolors="none", edgecolors=colours, linewidths=widths, zorder=3)
    axes.add_collection(outlines)
    means = summary.cluster_mean[shown, sample]
    axes.scatter(means, bases, s=9, c=colours, linewidths=0, zorder=4, clip_on=False)


def _outline(grid: NDArray[np.float64], density: NDArray[np.float64], base: float) -> NDArray[np.float64]:
    """Return the closed outline (n, 2) of a density with its foot at y = `base`, 0.8 high, on an axis pointing down."""
    visible = np.flatnonzero(density > VISIBLE * density.max())
    first, last = max(visible[0] - 1, 0), min(visible[-1] + 2, len(grid))
    x, y = grid[first:last], density[first:last] / density.max()
    starts = np.arange(0, len(x), math.ceil(len(x) / MAX_POINTS))
    x, y = x[np.r_[starts[:-1], len(x) - 1]], np.maximum.reduceat(y, starts)
    top = np.column_stack([x, base - 0.8 * y])
    return np.concatenate([[[x[0], base]], top, [[x[-1], base]]])
