"""Picture of a mixture of Bernoulli distributions: data sorted by cluster, above the probabilities of each cluster."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pyclone_pgsm.plots import appearance, style
from pyclone_pgsm.plots.heatmaps import BAR, Frame, draw_image, draw_scale, draw_strip
from pyclone_pgsm.posterior.mixture import MixtureSummary

HEIGHT = 4.0
"""Height of the data in inches."""
MAX_LINES = 400
"""Largest number of lines for the data; more rows are averaged, several to a line."""
LINE = 0.13
"""Height of a cluster's number in inches; clusters with less room get none."""


def data_heatmap(values: NDArray[np.float64], summary: MixtureSummary) -> Figure:
    """Heat map of binary data (T, D), rows sorted by cluster, above the clusters' posterior means of theta.

    Within a cluster, the most certain rows come first. Parameter "theta" (K, D) is the posterior mean of the
    probability of 1.
    """
    frame = Frame(summary)
    subtitle = f"{summary.contents}; rows sorted by cluster, below the probability of 1 in each cluster"
    if len(frame.shown) < summary.num_clusters:
        subtitle += f", for the {len(frame.shown)} largest"
    top, gap = style.HEADER + 0.1, 0.2
    total = top + HEIGHT + gap + frame.height + frame.below
    figure = style.new_figure(frame.total_width, total, "Data and clusters", subtitle)

    order = np.lexsort([-summary.assignment_prob, summary.labels])
    lines, clusters = _lines(values[order], summary.labels[order])
    axes = style.add_axes(figure, frame.left, top, frame.width, HEIGHT)
    image = draw_image(axes, lines, "Blues", (0, 1))
    draw_scale(figure, image, "probability of 1", frame.left + frame.width, top, 2 * BAR)
    draw_strip(frame.strip_axes(figure, top, HEIGHT), clusters, summary.cluster_size)
    _part_clusters(axes, clusters)
    frame.draw(figure, top + HEIGHT + gap, summary.parameters["theta"], "Blues", (0, 1))
    return figure


def _lines(
    values: NDArray[np.float64], labels: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Average neighbouring rows of the same cluster if there are many; return the lines and their clusters.

    `labels` are ascending.
    """
    step = -(-len(labels) // MAX_LINES)
    within = np.arange(len(labels)) - np.repeat(*appearance.runs(labels))
    first = np.flatnonzero(within % step == 0)
    counts = np.diff(np.r_[first, len(labels)])
    return np.add.reduceat(values, first, axis=0) / counts[:, None], labels[first]


def _part_clusters(axes: Axes, clusters: NDArray[np.int64]) -> None:
    """Draw lines between the clusters, and write their numbers at the left where there is room."""
    starts, sizes = appearance.runs(clusters)
    axes.hlines(starts[1:] - 0.5, -0.5, axes.get_xlim()[1], color=style.INK, linewidth=0.5)
    have_room = sizes * (HEIGHT / len(clusters)) >= LINE
    middles = starts + (sizes - 1) / 2
    axes.set_yticks(middles[have_room], [str(k) for k in clusters[starts[have_room]]])
    axes.tick_params(axis="y", length=0, pad=2 + 72 * 0.15)
