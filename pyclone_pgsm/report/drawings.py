"""Pictures of the page that are not linked with others: inline SVG, which is visible without JavaScript."""

import base64
import math
from io import BytesIO
from typing import Any

import numpy as np
from bokeh.palettes import Blues256
from numpy.typing import NDArray
from PIL import Image

from pyclone_pgsm.labels import evenly_spaced
from pyclone_pgsm.plots import appearance
from pyclone_pgsm.posterior.rows import LOGARITHMIC, Traces
from pyclone_pgsm.report.content import escaped
from pyclone_pgsm.tumour.base_measure import is_weight

MAP_SIDE = 400
CHAIN_POINTS = 300
MOST_SERIES = 9
WIDTH, HEIGHT, LEFT, BOTTOM = 360, 130, 54, 18
SMALLEST_OUTLINE = 0.004
"""Clusters whose square is smaller than this fraction of the map's side have no outline."""


def coclustering_picture(labels: NDArray[np.int64], items: NDArray[np.int64], matrix: NDArray[Any]) -> str:
    """Draw a heat map of the probabilities that two items share a cluster, ordered by cluster; many are averaged."""
    own = labels[items]
    order = np.lexsort([own, own < 0])
    values, n = matrix[np.ix_(order, order)], len(items)
    step = math.ceil(n / MAP_SIDE)
    starts = np.arange(0, n, step)
    sums = np.add.reduceat(np.add.reduceat(values, starts, axis=0), starts, axis=1)
    amounts = np.diff(np.append(starts, n))
    pixels = np.round(255 * sums / np.outer(amounts, amounts)).astype(np.uint8)
    image, file = Image.fromarray(pixels), BytesIO()
    image.putpalette(bytes.fromhex("".join(reversed(Blues256)).replace("#", "")))  # from light to dark
    image.save(file, "png", optimize=False)
    encoded = base64.b64encode(file.getvalue()).decode("ascii")
    ordered = own[order]
    colours = appearance.cluster_colours(np.bincount(labels[labels >= 0]))
    squares = []
    for start, length in zip(*appearance.runs(ordered)):
        k, size = ordered[start], length / n
        if k < 0 or size < SMALLEST_OUTLINE:
            continue
        at = 500 * start / n
        squares.append(
            f'<rect x="{at:.1f}" y="{at:.1f}" width="{500 * size:.1f}" height="{500 * size:.1f}" fill="none" '
            f'stroke="{colours[k]}" stroke-width="2.5"><title>cluster {k}</title></rect>'
        )
    return (
        f'<svg viewBox="-2 -2 504 504" class="map" role="img" '
        'aria-label="Probabilities that two share a cluster">'
        f'<image width="500" height="500" preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{encoded}"/>{"".join(squares)}</svg>'
    )


def chain_pictures(traces: Traces) -> list[tuple[str, str]]:
    """Return the names of traced quantities and a trace plot of each."""
    titles = {"log_joint": "log joint density", "num_clusters": "number of clusters"}
    series = {titles.get(name, name): each for name, each in traces.series.items() if not is_weight(name)}
    return [(name, _course(name, values, traces)) for name, values in list(series.items())[:MOST_SERIES]]


def _course(name: str, values: NDArray[Any], traces: Traces) -> str:
    """Draw the values (C, I) as one line per chain; the axis fits those after the burn-in, if any.

    If infinite ones are among them, it fits all finite ones, and its upper end is theirs: "binomial".
    """
    rows = evenly_spaced(len(traces.iterations), CHAIN_POINTS)
    shown = np.asarray(values, float)[:, rows]
    logarithmic = name.partition(":")[0] in LOGARITHMIC
    with np.errstate(divide="ignore", invalid="ignore"):
        heights = np.log10(shown) if logarithmic else shown
    is_after = rows >= traces.burn_in
    is_binomial = np.isposinf(heights).any()
    after = heights[:, is_after] if is_after.any() and not is_binomial else heights
    finite = after[np.isfinite(after)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    room = 0.05 * (high - low) or 0.5
    low, high = low - room, high + room
    first, last = float(traces.iterations[rows[0]]), float(traces.iterations[rows[-1]])

    def across(iteration: Any) -> Any:
        return LEFT + (WIDTH - LEFT - 6) * (iteration - first) / max(1.0, last - first)

    down = 6 + (HEIGHT - BOTTOM - 6) * (high - np.clip(heights, low, high)) / (high - low)
    lines = []
    for chain, (row, colour) in enumerate(zip(down, appearance.chain_colours(len(down)))):
        known = np.isfinite(row)
        places = zip(across(traces.iterations[rows[known]]), row[known])
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        lines.append(f'<polyline points="{points}" stroke="{colour}"><title>chain {chain}</title></polyline>')
    if 0 < traces.burn_in < len(traces.iterations):
        x = across(float(traces.iterations[traces.burn_in - 1]))
        lines.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="6" y2="{HEIGHT - BOTTOM}" stroke-dasharray="4 3"/>'
        )
    top, bottom = (f"{10**each:.3g}" if logarithmic else f"{each:.5g}" for each in (high, low))
    texts = [
        (LEFT - 5, 13, "end", "binomial" if is_binomial else top),
        (LEFT - 5, HEIGHT - BOTTOM, "end", bottom),
        (LEFT, HEIGHT - 4, "start", f"{first:,.0f}"),
        (WIDTH - 6, HEIGHT - 4, "end", f"iteration {last:,.0f}"),
    ]
    written = "".join(
        f'<text x="{x}" y="{y}" text-anchor="{side}">{text}</text>' for x, y, side, text in texts
    )
    frame = f'<path d="M{LEFT} 6V{HEIGHT - BOTTOM}H{WIDTH - 6}"/>'
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" class="chain" role="img" aria-label="{escaped(name)} of each chain">'
        f"{frame}{''.join(lines)}{written}</svg>"
    )
