"""Order, names and colours of clusters, and of chains, for pictures and pages, without matplotlib."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#5b2bc4",
    "#6b4015",
    "#8a0f5c",
    "#ee1c55",
    "#dcc26a",
    "#d44cf5",
)
"""Colours that are distinct (CIELAB distance of any two at least 15), also for people who are blind to red, green or
blue; the first six are those of Okabe and Ito (2008)."""

GREYS = ("#858585", "#a0a0a0", "#b8b8b8")

OUTLIER = "#4d4d4d"
"""Colour of the crosses that mark outliers."""

MAX_NAMED = 20
"""Largest number of clusters that a legend names; the others are only counted."""


def chain_colours(num_chains: int) -> list[str]:
    """Return the colours of the chains: the palette if it has enough, otherwise evenly spaced colours."""
    if num_chains <= len(PALETTE):
        return list(PALETTE[:num_chains])
    from bokeh.palettes import Viridis256

    return [Viridis256[place] for place in (256 * np.linspace(0, 0.95, num_chains)).astype(int)]


def by_size(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (K,) clusters from the largest to the smallest, those of equal size in the order of their ids."""
    return np.argsort(-sizes, kind="stable")


def minor_clusters(sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (K,) whether each cluster is minor: so small that pictures mute it.

    Minor clusters are smaller than a fifth of the square root of the number of mutations: none among 25 mutations,
    singletons among 100, clusters below 20 among 10,000.
    """
    return sizes < math.sqrt(sizes.sum()) / 5


def cluster_colours(sizes: NDArray[np.int64]) -> list[str]:
    """Return the K hexadecimal colours of clusters of these sizes, the same in every picture.

    The twelve largest clusters that are not minor get the colours of the palette, the largest first; all others get
    greys in turn.
    """
    minor = minor_clusters(sizes)
    coloured = [k for k in by_size(sizes) if not minor[k]][: len(PALETTE)]
    colours, greys = dict(zip(coloured, PALETTE)), itertools.cycle(GREYS)
    return [colours[k] if k in colours else next(greys) for k in range(len(sizes))]


def colour_groups(sizes: NDArray[np.int64], labels: NDArray[np.int64]) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return the used colours, each with the mask (T,) of its mutations: outliers, greys, then by decreasing size."""
    order = (OUTLIER, *GREYS, *PALETTE)
    colours = [*cluster_colours(sizes), OUTLIER]  # the last is that of cluster -1
    code = np.array([order.index(colour) for colour in colours])[labels]
    return [(order[c], code == c) for c in np.unique(code)]


def runs(labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the start and the length of each run of equal labels."""
    starts = np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])
    return starts, np.diff(np.r_[starts, len(labels)])


def largest_clusters(sizes: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return the ids of the largest clusters, at most `limit`, in ascending order."""
    return np.sort(by_size(sizes)[:limit])


def single_clusters(sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (K,) whether each cluster is a minor singleton, if there are several: they share a row or an entry."""
    singles = minor_clusters(sizes) & (sizes == 1)
    return singles & (singles.sum() > 1)


def named_clusters(sizes: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return the ids, ascending, of the largest clusters not in :func:`single_clusters`, at most `limit`."""
    singles = single_clusters(sizes)
    return np.sort([k for k in by_size(sizes) if not singles[k]][:limit]).astype(np.int64)


def cluster_rows_of(
    sizes: NDArray[np.int64], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Return the clusters (k,) in a picture with one row per cluster, their rows (k,), and the labels of the rows.

    The largest clusters, at most `limit`, have their own rows; all of :func:`single_clusters` share the last row.
    """
    named, singles = named_clusters(sizes, limit), np.flatnonzero(single_clusters(sizes))
    labels = [cluster_label(k, sizes[k]) for k in named]
    if len(singles):
        labels.append(singles_label(len(singles)))
    rows = np.concatenate([np.arange(len(named)), np.full(len(singles), len(named))])
    return np.concatenate([named, singles]), rows, labels


def singles_label(number: int) -> str:
    """Return the name of singletons in legends and on axes, as in "12 clusters (n = 1 each)"."""
    return f"{number:,} clusters (n = 1 each)"


def cluster_label(cluster: int, size: int) -> str:
    """Return the name of a cluster in legends and on axes, as in "cluster 0 (n = 83)"."""
    return f"cluster {cluster} (n = {size:,})"


def outliers_label(count: int) -> str:
    """Return the name of the outliers in legends and on axes, as in "outliers (n = 3)"."""
    return f"outliers (n = {count:,})"


def others_label(sizes: NDArray[np.int64], named: NDArray[np.int64]) -> str | None:
    """Return the legend entry for the clusters that are not named; None if all are."""
    others = len(sizes) - len(named)
    if others == single_clusters(sizes).sum():
        return singles_label(others) if others else None
    return f"{others:,} more (n = {sizes.sum() - sizes[named].sum():,})"


def distinct_names(names: Sequence[str], limit: int, drawable: Sequence[str] | None = None) -> list[str]:
    """Shorten names to at most `limit` characters (8 or more), keeping different names different.

    Long names lose their middles. If that makes two names equal, they lose their beginnings, or their ends, or their
    common parts, whichever keeps them distinct; failing that, they are numbered. `drawable` are the names as they can
    be shown, if characters must be replaced.
    """
    drawable = names if drawable is None else drawable
    distinct = len(set(names))
    attempts: list[tuple[Sequence[str], int | None]] = [
        (drawable, None),
        (drawable, 0),
        (drawable, limit),
        (_without_common(drawable), None),
    ]
    for texts, head in attempts:
        short = [_cut(text, limit, head) for text in texts]
        if len(set(short)) == distinct:
            return short
    tags = [f"#{i} " for i in range(1, len(names) + 1)]
    return [tag + _cut(name, limit - len(tag)) for tag, name in zip(tags, drawable)]


def _cut(name: str, limit: int, head: int | None = None) -> str:
    """Cut a name to at most `limit` characters, `head` of them from its beginning (None: half)."""
    if len(name) <= limit:
        return name
    keep = limit - 1
    head = (keep + 1) // 2 if head is None else min(head, keep)
    return name[:head] + "…" + name[len(name) - (keep - head) :]


def _without_common(names: Sequence[str]) -> list[str]:
    """Replace the common beginning and end of the names by dots."""
    head = _common_head(names)
    rest = [name[head:] for name in names]
    tail = _common_head([name[::-1] for name in rest])
    return ["…" * bool(head) + name[: len(name) - tail] + "…" * bool(tail) for name in rest]


def _common_head(names: Sequence[str]) -> int:
    """Return the length of the common beginning of the names."""
    first, last = min(names), max(names)
    return next((i for i, (a, b) in enumerate(zip(first, last)) if a != b), len(first))
