"""Heat map of posterior co-clustering, of mutations or other observations."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from pyclone_pgsm.plots import appearance, style
from pyclone_pgsm.plots.heatmaps import STRIP, draw_image, draw_scale, draw_strip
from pyclone_pgsm.posterior.mixture import MixtureSummary
from pyclone_pgsm.posterior.summary import Summary

MAX_ROW_NAMES = 45
SMALLEST_SIDE, LARGEST_SIDE = 2.4, 5.2
SMALLEST_BLOCK = 0.03
"""Size in inches below which blocks have no border."""
DIGIT, LINE = 0.075, 0.11
"""Width of a digit and height of a line in inches; blocks with less room get no number."""


def coclustering_heatmap(
    summary: Summary | MixtureSummary,
    names: Sequence[str],
    item_index: NDArray[np.int64],
    matrix: NDArray[np.floating],
) -> Figure:
    """Heat map of the posterior probabilities that two observations share a cluster, ordered by consensus cluster.

    `names` are those of all T observations. The map shows the ones of `item_index` (n,), with the probability for each
    pair in `matrix` (n, n).
    """
    labels, sizes = summary.labels, summary.cluster_size
    own = labels[item_index]
    certainty = np.where(own[:, None] == own, matrix, 0).sum(axis=1)
    order = np.lexsort([-certainty, own, own < 0])  # by cluster, outliers last, the most certain first
    items, matrix = item_index[order], matrix[np.ix_(order, order)]
    n = len(items)
    written = style.short_names([names[t] for t in items]) if n <= MAX_ROW_NAMES else []
    side = float(np.clip(0.3 * n, SMALLEST_SIDE, LARGEST_SIDE))
    room = style.text_width(["cluster"], style.SMALL) + 0.45
    left = max(style.text_width(written, style.SMALL) + 0.5, room) if written else 0.65
    part = f"{n:,} of " if n < len(labels) else ""
    subtitle = f"{part}{summary.contents}, ordered by consensus cluster"

    top = style.HEADER + 0.1 + STRIP + 0.03
    figure = style.new_figure(left + side + 1.0, top + side + 0.35, "Posterior co-clustering", subtitle)
    axes = style.add_axes(figure, left, top, side, side)
    image = draw_image(axes, matrix, "Blues", (0, 1), most_sharp=0)
    axes.set_yticks(range(len(written)), written)
    axes.tick_params(axis="y", length=0, pad=13)

    shown = labels[items]
    beside = style.add_axes(figure, left - STRIP - 0.03, top, STRIP, side)
    above = style.add_axes(figure, left, top - STRIP - 0.03, side, STRIP)
    draw_strip(beside, shown, sizes)
    draw_strip(above, shown, sizes, axis=0)
    _draw_blocks(axes, shown, side / n)
    if written:
        _number_blocks(above, shown, side / n, upright=False)
    else:
        _number_blocks(beside, shown, side / n, upright=True)
    bar, name = max(side / 2, SMALLEST_SIDE), "posterior probability of sharing a cluster"
    draw_scale(figure, image, name, left + side, top, bar)
    return figure


def _draw_blocks(axes: Axes, labels: NDArray[np.int64], inch: float) -> None:
    """Draw a border around the block of each cluster; `inch` is the size of an item."""
    for start, size in zip(*appearance.runs(labels)):
        if labels[start] >= 0 and size * inch >= SMALLEST_BLOCK:
            corner = (start - 0.5, start - 0.5)
            axes.add_patch(Rectangle(corner, size, size, fill=False, edgecolor=style.INK, linewidth=0.7))


def _number_blocks(strip: Axes, labels: NDArray[np.int64], inch: float, *, upright: bool) -> None:
    """Number the clusters that have room along a strip, at its left if `upright`, else above."""
    font: dict[str, Any] = {"fontsize": style.SMALL, "color": style.INK}
    for start, size in zip(*appearance.runs(labels)):
        middle, number = start + (size - 1) / 2, str(labels[start])
        if size * inch < (LINE if upright else DIGIT * (len(number) + 0.4)):
            continue
        if upright:
            strip.text(-0.8, middle, number, ha="right", va="center", **font)
        else:
            strip.text(middle, -0.8, number, ha="center", va="bottom", **font)
    if upright:
        strip.text(-4.0, (len(labels) - 1) / 2, "cluster", ha="center", va="center", rotation=90, **font)
    else:
        strip.text(-0.6 - 0.15 / inch, -0.8, "cluster", ha="right", va="bottom", **font)
