"""Heat maps of mixtures: the means of clusters, and for Bernoulli distributions the data above the probabilities.

Rows are clusters or rows of the data, and columns are columns of the data.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from pyclone_pgsm.plots import appearance, style
from pyclone_pgsm.plots.normal import column_scales
from pyclone_pgsm.posterior.mixture import MixtureSummary

MAX_CLUSTERS = 60
MAX_NAMES = 60
"""Largest number of columns whose names are shown."""
MOST_SHARP = 600
"""Number of lines or columns up to which an image is not smoothed."""
STRIP = 0.1
BAR = 1.2
"""Smallest height of a colour bar in inches."""
HEIGHT = 4.0
"""Height of the data in inches."""
MAX_LINES = 400
"""Largest number of lines for the data; more rows are averaged, several to a line."""
LINE = 0.13
"""Height of a cluster's number in inches; clusters with less room get none."""


def cluster_means(values: NDArray[np.float64], summary: MixtureSummary) -> Figure:
    """Heat map of the clusters' posterior means as deviations from the columns' means, in standard deviations.

    `values` (T, D) are the data; the clusters have the parameter "mean" (K, D).
    """
    means = (summary.parameters["mean"] - values.mean(axis=0)) / column_scales(values)
    frame = Frame(summary)
    subtitle = f"{summary.contents}; deviation from the mean of each column, in its standard deviations"
    if len(frame.shown) < summary.num_clusters:
        subtitle += f"; the {len(frame.shown)} largest"
    end = max(float(np.quantile(np.abs(means[frame.shown]), 0.99)), 1e-9)
    top = style.HEADER + 0.1
    bar = max(BAR, min(frame.height, 2 * BAR))
    total = top + max(frame.height + frame.below, bar + 0.15)
    figure = style.new_figure(frame.total_width, total, "Cluster means", subtitle)
    image = frame.draw(figure, top, means, "RdBu_r", (-end, end))
    draw_scale(figure, image, "standard deviations", frame.left + frame.width, top, bar)
    return figure


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


class Frame:
    """Layout of a heat map with one row for each of the largest clusters, in inches, and the drawing of these rows.

    The columns begin at `left`, and their names are `below`. `shown` (k,) are the clusters that have rows, with
    `labels`; there are no `names` if the columns are too many.
    """

    def __init__(self, summary: MixtureSummary) -> None:
        num_columns = len(summary.column_names)
        self.summary = summary
        self.shown = appearance.largest_clusters(summary.cluster_size, MAX_CLUSTERS)
        self.labels = [appearance.cluster_label(k, summary.cluster_size[k]) for k in self.shown]
        self.names = style.short_names(summary.column_names) if num_columns <= MAX_NAMES else []
        self.left = style.text_width(self.labels, style.SMALL) + STRIP + 0.4
        self.width = float(np.clip(0.25 * num_columns, 1.6, 6.0))
        self.total_width = self.left + self.width + 1.0  # with the colour bar at the right
        self.height = len(self.shown) * (0.24 if len(self.shown) <= 12 else 0.16)
        self.below = style.text_width(self.names, style.SMALL) + 0.25 if self.names else 0.4

    def strip_axes(self, figure: Figure, top: float, height: float) -> Axes:
        """Add axes at the left of the rows, for the colours of their clusters."""
        return style.add_axes(figure, self.left - STRIP - 0.04, top, STRIP, height)

    def draw(
        self, figure: Figure, top: float, table: NDArray[np.float64], colours: str, ends: tuple[float, float]
    ) -> AxesImage:
        """Draw the rows of a `table` (K, D) of clusters, with their labels and colours and the columns' names.

        `colours` and `ends` are those of :func:`draw_image`.
        """
        axes = style.add_axes(figure, self.left, top, self.width, self.height)
        image = draw_image(axes, table[self.shown], colours, ends)
        axes.set_yticks(range(len(self.labels)), self.labels)
        axes.tick_params(axis="y", length=0, pad=2 + 72 * (STRIP + 0.05))
        if self.names:
            axes.set_xticks(range(len(self.names)), self.names, rotation=90)
        else:
            axes.set_xlabel(f"{len(self.summary.column_names):,} columns")
        draw_strip(self.strip_axes(figure, top, self.height), self.shown, self.summary.cluster_size)
        return image


def draw_scale(figure: Figure, image: AxesImage, name: str, right: float, top: float, height: float) -> None:
    """Draw the colour bar beside an image whose right edge is at `right`."""
    place = style.add_axes(figure, right + 0.2, top, 0.14, height)
    bar = figure.colorbar(image, cax=place, ticks=style.round_ticks(5))
    bar.outline.set(linewidth=0.6, edgecolor=style.SOFT)
    bar.set_label(name, fontsize=style.SMALL)


def draw_image(
    axes: Axes,
    table: NDArray[np.floating],
    colours: str,
    ends: tuple[float, float],
    most_sharp: int = MOST_SHARP,
) -> AxesImage:
    """Show a table as an image with a thin border and no ticks; `colours` is a colour map, `ends` are its ends."""
    image = axes.imshow(
        table,
        cmap=colours,
        vmin=ends[0],
        vmax=ends[1],
        aspect="auto",
        interpolation="nearest" if max(table.shape) <= most_sharp else "antialiased",
        interpolation_stage="data",
    )
    axes.spines[:].set(visible=True, color=style.SOFT, linewidth=0.6)
    axes.set_xticks([])
    axes.set_yticks([])
    return image


def draw_strip(strip: Axes, clusters: NDArray[np.int64], sizes: NDArray[np.int64], axis: int = 1) -> None:
    """Fill axes with the colours of the `clusters` (n,) of rows, or of columns if `axis` is 0.

    Outliers have cluster -1; `sizes` (K,) are those of all clusters.
    """
    names = [*appearance.cluster_colours(sizes), appearance.OUTLIER]  # the last is for cluster -1
    colours = np.array([to_rgb(name) for name in names])[clusters]
    strip.imshow(np.expand_dims(colours, axis), aspect="auto", interpolation="nearest")
    strip.set_axis_off()
