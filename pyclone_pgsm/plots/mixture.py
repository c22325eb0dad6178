"""Pictures of any mixture; :func:`mixture_pictures` lists them."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pyclone_pgsm.plots import appearance, style
from pyclone_pgsm.plots.coclustering import coclustering_heatmap
from pyclone_pgsm.plots.heatmaps import cluster_means, data_heatmap
from pyclone_pgsm.plots.normal import Density, cluster_points, complete_rows, density_map, regions_of
from pyclone_pgsm.plots.traces import chain_traces
from pyclone_pgsm.posterior.mixture import MixtureSummary
from pyclone_pgsm.posterior.rows import Traces

MAX_ROWS = 60


def mixture_pictures(
    likelihood: str,
    values: NDArray[np.float64],
    summary: MixtureSummary,
    coclustering: tuple[NDArray[np.int64], NDArray[np.floating]],
    traces: Traces,
    density: Density | None,
) -> dict[str, Callable[[], Figure]]:
    """Return the functions that draw the pictures of a mixture, by name; "normal" and "bernoulli" have specific ones.

    `values` (T, D) are the data. Rows with NaN are not among the points. `coclustering` are rows (n,) and the
    probabilities (n, n) that two of them share a cluster. `density` is the posterior predictive density (n,), not its
    logarithm, of new rows (n, D); it is used for one or two columns.
    """
    pictures: dict[str, Callable[[], Figure]] = {}
    if likelihood == "bernoulli":
        pictures["clusters"] = partial(data_heatmap, values, summary)
    else:
        num_columns, is_normal = values.shape[1], likelihood == "normal"
        if not is_normal:  # the meaning of the parameters is not known
            summary = replace(summary, parameters={})
        complete = complete_rows(values, summary)
        if len(complete[0]):
            regions = None
            if density is not None and num_columns == 2:
                regions = cache(partial(regions_of, *complete, density))
            pictures["clusters"] = partial(cluster_points, *complete, density, regions)
            if regions is not None:
                pictures["density"] = partial(density_map, *complete, regions)
        if is_normal and num_columns > 2:
            pictures["cluster_means"] = partial(cluster_means, values, summary)
    pictures["cluster_sizes"] = partial(cluster_sizes, summary)
    pictures["coclustering"] = partial(coclustering_heatmap, summary, summary.row_names, *coclustering)
    pictures["traces"] = partial(chain_traces, traces)
    return pictures


def cluster_sizes(summary: MixtureSummary) -> Figure:
    """Size of each cluster, beside the distribution of the probabilities that its members belong to it."""
    sizes = summary.cluster_size
    shown = appearance.largest_clusters(sizes, MAX_ROWS)
    subtitle = f"{summary.contents}; dots: medians, bars: all but the lowest and the highest 5 % of the rows"
    if len(shown) < len(sizes):
        subtitle += f"; the {len(shown)} largest"
    labels = [f"cluster {k}" for k in shown]
    left, gap, width = style.text_width(labels, style.SMALL) + 0.3, 0.75, 2.4
    top, height = style.HEADER + 0.05, max(0.7, len(shown) * 0.19)
    total = left + 2 * width + gap + 0.25
    figure = style.new_figure(total, top + height + 0.55, "Cluster sizes and certainty", subtitle)
    colours = [appearance.cluster_colours(sizes)[k] for k in shown]
    rows = np.arange(len(shown))

    bars = style.add_axes(figure, left, top, width, height)
    style.cluster_rows(bars, labels)
    drawn = bars.barh(rows, sizes[shown], height=0.72, color=colours)
    bars.set_xlim(0, sizes.max())
    style.number_ticks(bars.xaxis, 4, integer=True)
    bars.grid(True, axis="x", color=style.RULE, linewidth=0.6)
    written = [f"{size:,}" for size in sizes[shown]]
    bars.bar_label(drawn, written, padding=3, fontsize=style.SMALL, color=style.INK, annotation_clip=False)
    bars.set_xlabel("rows")

    certainty = style.add_axes(figure, left + width + gap, top, width, height)
    style.cluster_rows(certainty, [""] * len(shown))
    low, middle, high = np.array(
        [np.quantile(summary.assignment_prob[summary.labels == k], [0.05, 0.5, 0.95]) for k in shown]
    ).T
    certainty.hlines(rows, low, high, colors=colours, linewidth=2)
    certainty.scatter(middle, rows, s=16, c=colours, linewidths=0, zorder=3, clip_on=False)
    style.unit_axis(certainty, "x")
    certainty.set_xlabel("probability of a row's cluster")
    return figure
