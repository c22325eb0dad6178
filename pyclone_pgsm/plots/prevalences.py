"""Cluster prevalences across samples, with 95 % intervals."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pyclone_pgsm.plots import appearance, style
from pyclone_pgsm.plots.scatter import most_different, of_samples
from pyclone_pgsm.posterior.summary import Summary

MAX_ROWS = 60
MAX_LINES = 100
MAX_SAMPLES = 100
"""Largest number of samples; if there are more, only those that differ the most are shown."""
ROTATE_FROM = 0.85
"""Sample names are rotated if they are wider than this fraction of the room for each."""


def cluster_prevalences(summary: Summary) -> Figure:
    """Posterior mean and 95 % interval of each cluster's prevalence in each sample.

    With several samples, each cluster is a line across them, labelled at its right end; with one sample, each is a row.
    Larger clusters have thicker lines, and clusters without their own colours are muted.
    """
    return _over_samples(summary) if len(summary.sample_ids) > 1 else _one_sample(summary)


def _weights(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (K,) weights of the clusters in the drawing, 0..1."""
    return np.sqrt(sizes / sizes.max())


def _one_sample(summary: Summary) -> Figure:
    sizes = summary.cluster_size
    shown, rows, labels = appearance.cluster_rows_of(sizes, MAX_ROWS)
    left = style.text_width(labels, style.SMALL) + 0.3
    height = max(0.9, len(labels) * 0.19)
    subtitle = f"{summary.contents}; bars: 95 % intervals"
    if len(shown) < len(sizes):
        subtitle += f"; the {MAX_ROWS} largest"
    figure = style.new_figure(left + 4.8, height + style.HEADER + 0.6, "Cluster prevalences", subtitle)
    axes = style.add_axes(figure, left, style.HEADER + 0.05, 4.6, height)

    colours = np.array(appearance.cluster_colours(sizes))[shown].tolist()
    weights = _weights(sizes)[shown]
    mean = summary.cluster_mean[shown, 0]
    low, high = summary.cluster_lower[shown, 0], summary.cluster_upper[shown, 0]
    opacity = np.maximum(0.1, 0.8 / np.bincount(rows)[rows])  # of bars in one row
    axes.hlines(rows, low, high, colors=colours, linewidths=1 + 1.5 * weights, alpha=opacity)
    axes.scatter(mean, rows, s=14 + 30 * weights, c=colours, linewidths=0, zorder=3)
    style.cluster_rows(axes, labels)
    axes.hlines(rows, 0, 1, color=style.RULE, linewidth=0.5, zorder=0)
    style.unit_axis(axes, "x")
    [sample] = style.short_names(summary.sample_ids, 40)
    axes.set_xlabel(f"cellular prevalence in {sample}")
    return figure


def _over_samples(summary: Summary) -> Figure:
    sizes = summary.cluster_size
    samples = most_different(summary, MAX_SAMPLES)
    num_samples = len(samples)
    named = appearance.named_clusters(sizes, appearance.MAX_NAMED)
    labels = [appearance.cluster_label(k, sizes[k]) for k in named]
    others = appearance.others_label(sizes, named)
    right = style.text_width([*labels, others or ""], style.SMALL) + 0.45

    names = style.short_names([summary.sample_ids[d] for d in samples])
    width = max(3.4, min(1.0, 0.3 + 1.8 / num_samples) * num_samples)
    name_width = style.text_width(names, style.SMALL)
    turned = name_width > ROTATE_FROM * width / num_samples
    below = (name_width * 0.8 if turned else 0.12) + 0.5
    left = max(0.6, name_width * 0.65 - 0.4 * width / num_samples + 0.2 if turned else 0)
    height = 3.7

    top = style.HEADER + 0.05
    subtitle = f"{summary.contents}{of_samples(samples, summary)}; bars: 95 % intervals"
    if len(sizes) > MAX_LINES:
        subtitle += f"; the {MAX_LINES} largest"
    figure = style.new_figure(left + width + right, top + height + below, "Cluster prevalences", subtitle)
    axes = style.add_axes(figure, left, top, width, height)
    ends = _draw_lines(axes, summary, samples)
    edge = num_samples - 0.6
    style.unit_axis(axes, "y")
    axes.set_xlim(-0.4, edge)
    _label_ends(axes, ends[named], edge, labels, np.array(appearance.cluster_colours(sizes))[named], others)
    turn: dict[str, Any] = {"rotation": 50, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    axes.set_xticks(range(num_samples), names, **turn)
    axes.set_ylabel("cellular prevalence")
    axes.set_xlabel("sample")
    return figure


def _draw_lines(axes: Axes, summary: Summary, samples: NDArray[np.int64]) -> NDArray[np.float64]:
    """Draw the clusters, the small ones behind; return the right ends (x, y) of their lines, (K, 2)."""
    sizes, mean = summary.cluster_size, summary.cluster_mean[:, samples]
    num_clusters, num_samples = mean.shape
    few = num_clusters <= len(appearance.PALETTE)
    offsets = np.linspace(-0.1, 0.1, num_clusters + 2)[1:-1] if few else np.zeros(num_clusters)
    x = np.arange(num_samples) + offsets[:, None]

    order = appearance.by_size(sizes)[:MAX_LINES][::-1]
    weights = _weights(sizes)[order]
    colours = _line_colours(sizes)[order]
    faint = colours * (1, 1, 1, 0.75)
    lines = list(np.stack([x, mean], axis=2)[order])
    axes.add_collection(LineCollection(lines, colors=faint, linewidths=0.6 + 1.6 * weights, zorder=2))

    owner = np.repeat(np.arange(len(order)), num_samples)
    points = x[order].ravel()
    lower, upper = (
        bounds[np.ix_(order, samples)].ravel() for bounds in (summary.cluster_lower, summary.cluster_upper)
    )
    widths = (0.8 + 1.2 * weights)[owner]
    axes.vlines(points, lower, upper, colors=colours[owner].tolist(), linewidths=widths, zorder=3)
    areas = (2 + 3.5 * weights[owner]) ** 2
    axes.scatter(points, mean[order].ravel(), s=areas, c=faint[owner], linewidths=0, zorder=3)
    return np.column_stack([x[:, -1], mean[:, -1]])


def _line_colours(sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (K, 4) red, green, blue and opacity of the clusters: greys are faint, unnamed clusters fainter."""
    colours = appearance.cluster_colours(sizes)
    opacity = np.where(np.isin(colours, appearance.PALETTE), 0.95, 0.5)
    opacity[appearance.by_size(sizes)[appearance.MAX_NAMED :]] = 0.25
    return np.column_stack([to_rgba_array(colours)[:, :3], opacity])


def _label_ends(
    axes: Axes,
    ends: NDArray[np.float64],
    edge: float,
    labels: list[str],
    colours: NDArray[np.str_],
    others: str | None,
) -> None:
    """Write the clusters' names at x = `edge`, each with a thin line to the end of its line."""
    places = style.spread(ends[:, 1], 0.047, 0.03 if others else -0.01, 1.01)
    leaders = list(np.stack([ends, np.column_stack([np.full(len(ends), edge), places])], axis=1))
    axes.add_collection(LineCollection(leaders, colors=colours, linewidths=0.6, clip_on=False))
    offset: dict[str, Any] = {"textcoords": "offset points", "xytext": (3, 0), "annotation_clip": False}
    for place, label in zip(places, labels):
        axes.annotate(label, (edge, place), fontsize=style.SMALL, color=style.INK, va="center", **offset)
    if others is not None:
        axes.annotate(others, (edge, -0.03), fontsize=style.SMALL, color=style.SOFT, va="center", **offset)
