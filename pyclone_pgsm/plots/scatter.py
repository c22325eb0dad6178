"""Scatter plots of mutations by prevalence or variant allele frequency, coloured by cluster.

There is one panel per pair of samples, in a triangle. For one sample, a histogram is above one row of points per
cluster.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pyclone_pgsm.inputs.problems import listed
from pyclone_pgsm.plots import appearance, style
from pyclone_pgsm.posterior.summary import Summary

MAX_SAMPLES = 6
"""Largest number of samples, in 15 pairs; if there are more, only those that differ the most are shown."""
MAX_ROWS = 60
LOWEST_END = 0.6
"""Smallest end of an axis of variant allele frequencies."""
NUMBERED_FROM = 2.0
"""Size in inches of the smallest panels with numbers of clusters."""
CENTRED: dict[str, Any] = {"fontsize": style.TEXT, "color": style.SOFT, "ha": "center", "va": "center"}
"""Look of texts around their places."""


@dataclass(frozen=True)
class _Quantity:
    """The quantity shown: values (T, D), title, name and end of the axes, and whether clusters have discs."""

    values: NDArray[np.float64]
    title: str
    name: str
    end: float
    discs: bool


def prevalence_scatter(summary: Summary) -> Figure:
    """Posterior mean prevalence of each mutation, coloured by cluster."""
    quantity = _Quantity(summary.mean, "Cellular prevalences", "cellular prevalence", end=1, discs=True)
    return _scatter(summary, quantity)


def vaf_scatter(summary: Summary) -> Figure:
    """Variant allele frequency of each mutation with reads, coloured by cluster."""
    highest = np.nanmax(summary.vaf, initial=0)
    end = float(np.clip(np.ceil(10 * highest) / 10, LOWEST_END, 1))
    title, name = "Variant allele frequencies", "variant allele frequency"
    return _scatter(summary, _Quantity(summary.vaf, title, name, end, discs=False))


def most_different(summary: Summary, limit: int) -> NDArray[np.int64]:
    """Choose at most `limit` samples, in ascending order: all samples if possible.

    The first choice is the sample whose mutations' prevalences spread the most. Each further choice is the sample that
    differs the most from the nearest one already chosen.
    """
    num_samples = len(summary.sample_ids)
    if num_samples <= limit:
        return np.arange(num_samples)
    weights = np.sqrt(summary.cluster_size / summary.cluster_size.sum())
    points = (summary.cluster_mean * weights[:, None]).T
    centre = weights @ (summary.cluster_mean * weights[:, None])
    chosen = [int(np.linalg.norm(points - np.outer(centre, weights), axis=1).argmax())]
    while len(chosen) < limit:
        gaps = np.linalg.norm(points[:, None] - points[chosen], axis=2).min(axis=1)
        gaps[chosen] = -1.0  # also if all others are equal to one of them
        chosen.append(int(gaps.argmax()))
    return np.sort(chosen)


def of_samples(samples: NDArray[np.int64], summary: Summary) -> str:
    """Return the part of a subtitle that says that only these samples are shown, "" if all are."""
    number = len(summary.sample_ids)
    return (
        f"; {len(samples)} of {number} samples, those that differ the most" if len(samples) < number else ""
    )


def _scatter(summary: Summary, quantity: _Quantity) -> Figure:
    subtitle = summary.contents
    if len(summary.sample_ids) == 1:
        return _rows(summary, quantity, subtitle)
    samples = most_different(summary, MAX_SAMPLES)
    subtitle += of_samples(samples, summary)
    has_reads = summary.depth[:, samples].any(axis=0)
    if has_reads.sum() >= 2 and not has_reads.all():
        left_out = [summary.sample_ids[d] for d in samples[~has_reads]]
        subtitle += f"; without {listed(left_out)}, which {'has' if len(left_out) == 1 else 'have'} no reads"
        samples = samples[has_reads]
    if quantity.discs:
        subtitle += "; discs: sizes of the clusters"
    elif np.isnan(quantity.values[:, samples]).any():
        subtitle += "; shown where both samples have reads"
    return _pairs(summary, quantity, samples, subtitle)


# --- pairs of samples ---------------------------------------------------------------------------------------


def _pairs(summary: Summary, quantity: _Quantity, samples: NDArray[np.int64], subtitle: str) -> Figure:
    left = 0.85
    panel = style.panel_side(len(samples))
    names = style.short_names([summary.sample_ids[d] for d in samples], int(panel * 12))
    legend = style.cluster_legend(summary.cluster_size, summary.num_outliers)

    def draw(axes: Axes, j: int, i: int) -> None:
        _draw_pair(axes, summary, quantity, samples[j], samples[i])
        if panel >= NUMBERED_FROM:
            _number_clusters(axes, summary, *quantity.values[:, samples[[j, i]]].T)

    figure = style.triangle(quantity.title, subtitle, names, legend, draw, left)
    middle = ((len(samples) - 1) * (panel + style.GAP) - style.GAP) / 2
    width, height = figure.get_size_inches()
    figure.supxlabel(quantity.name, x=(left + middle) / width, y=0.1 / height, **CENTRED)
    figure.supylabel(quantity.name, x=0.22 / width, y=1 - (style.HEADER + 0.05 + middle) / height, **CENTRED)
    return figure


def _draw_pair(axes: Axes, summary: Summary, quantity: _Quantity, across: int, up: int) -> None:
    x, y = quantity.values[:, across], quantity.values[:, up]
    style.unit_axis(axes, "x", quantity.end)
    style.unit_axis(axes, "y", quantity.end)
    if np.isnan(x + y).all():
        axes.text(0.5, 0.5, "no reads", transform=axes.transAxes, **CENTRED)
        return
    style.draw_points(axes, summary, x, y)
    if quantity.discs:
        centres = summary.cluster_mean[:, across], summary.cluster_mean[:, up]
        areas = 500 * summary.cluster_size / len(x)
        colours = appearance.cluster_colours(summary.cluster_size)
        axes.scatter(*centres, s=areas, c=colours, alpha=0.25, linewidths=0, zorder=1.4, clip_on=False)


def _number_clusters(axes: Axes, summary: Summary, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """Number the clusters that have their own colours and points in the panel."""
    known = ~np.isnan(x + y)
    labels, colours = summary.labels[known], appearance.cluster_colours(summary.cluster_size)
    coloured = np.flatnonzero(np.isin(colours, appearance.PALETTE))
    style.number_clusters(axes, np.intersect1d(coloured, labels), labels, x[known], y[known])


# --- one sample ---------------------------------------------------------------------------------------------


def _rows(summary: Summary, quantity: _Quantity, subtitle: str) -> Figure:
    """Draw a stacked histogram above one row of points per cluster and one for the outliers."""
    sizes, values = summary.cluster_size, quantity.values[:, 0]
    shown, rows, labels = appearance.cluster_rows_of(sizes, MAX_ROWS)
    if len(shown) < len(sizes):
        subtitle += f"; rows: the {MAX_ROWS} largest"
    row_of = np.full(len(sizes) + 1, np.nan)
    row_of[shown] = rows
    row_of[-1] = len(labels)  # for cluster -1
    if summary.num_outliers:
        labels.append(appearance.outliers_label(summary.num_outliers))
    figure, above, axes = style.histogram_above_rows(quantity.title, subtitle, labels, 1.3, 0.2)
    _draw_histogram(above, summary, quantity)
    if np.isnan(values).all():
        above.text(0.5, 0.5, "no reads", transform=above.transAxes, **CENTRED)
    jitter = (np.arange(len(values)) * style.GOLDEN % 1 - 0.5) * 0.7
    style.unit_axis(axes, "x", quantity.end)
    style.draw_points(axes, summary, values, row_of[summary.labels] + jitter)
    [sample] = style.short_names(summary.sample_ids, 40)
    axes.set_xlabel(f"{quantity.name} in {sample}")
    return figure


def _draw_histogram(axes: Axes, summary: Summary, quantity: _Quantity) -> None:
    values = quantity.values[:, 0]
    edges = np.linspace(0, quantity.end, 51 if len(values) < 1000 else 101)
    highest = style.draw_histogram(axes, summary, values, edges)
    style.unit_axis(axes, "x", quantity.end)
    axes.tick_params(labelbottom=False)
    style.number_ticks(axes.yaxis, 4, integer=True)
    axes.set_ylim(0, max(1.0, highest * 1.05))
    axes.set_ylabel("mutations")
