"""How clusters are ordered, named and coloured, in pictures and on pages. Nothing here needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.posterior.summary import Summary

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
"""Colours that are distinct (CIELAB distance of any two at least 15) also for those who are blind to red, green or
blue; the first six are those of Okabe and Ito (2008)."""

GREYS = ("#858585", "#a0a0a0", "#b8b8b8")

OUTLIER = "#4d4d4d"
"""Colour of the crosses that stand for outliers."""

MAX_NAMED = 20
"""Clusters that a legend names; the others are counted."""


def contents(summary: Summary) -> str:
    """What a picture is of, as in "500 mutations in 8 clusters, 3 outliers"."""
    outliers = f", {count(summary.num_outliers, 'outlier')}" if summary.outlier_prob is not None else ""
    return f"{count(len(summary.labels), 'mutation')} in {count(summary.num_clusters, 'cluster')}{outliers}"


def by_size(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Clusters from the largest to the smallest, (K,); equal ones in the order of their ids."""
    return np.argsort(-sizes, kind="stable")


def minor_clusters(sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether a cluster is so small that pictures mute it, (K,).

    Small is less than a fifth of the square root of the number of mutations: nothing among 25 mutations,
    singletons among 100, clusters below 20 among 10,000.
    """
    return sizes < math.sqrt(sizes.sum()) / 5


def cluster_colours(sizes: NDArray[np.int64]) -> list[str]:
    """The K hexadecimal colours of clusters of these sizes, the same in every picture.

    The twelve largest clusters that are not minor get the palette in the order of their sizes, others greys in turn.
    """
    minor = minor_clusters(sizes)
    coloured = [k for k in by_size(sizes) if not minor[k]][: len(PALETTE)]
    colours = dict(zip(coloured, PALETTE))
    muted = [k for k in range(len(minor)) if k not in colours]
    colours |= {k: GREYS[rank % len(GREYS)] for rank, k in enumerate(muted)}
    return [colours[k] for k in range(len(minor))]


def colour_groups(sizes: NDArray[np.int64], labels: NDArray[np.int64]) -> list[tuple[str, NDArray[np.bool_]]]:
    """The colours in use, each with the mask (T,) of its mutations: outliers, greys, then by falling size."""
    order = (OUTLIER, *GREYS, *PALETTE)
    colours = [*cluster_colours(sizes), OUTLIER]  # the last is that of cluster -1
    code = np.array([order.index(colour) for colour in colours])[labels]
    return [(order[c], code == c) for c in np.unique(code)]


def runs(labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Begin and length of each run of equal labels."""
    starts = np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])
    return starts, np.diff(np.r_[starts, len(labels)])


def largest_clusters(sizes: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Ids of the at most `limit` largest clusters, ascending."""
    return np.sort(by_size(sizes)[:limit])


def single_clusters(sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether a cluster is one of several minor ones of a single mutation, which share a row or an entry, (K,)."""
    singles = minor_clusters(sizes) & (sizes == 1)
    return singles & (singles.sum() > 1)


def named_clusters(sizes: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Ids of the at most `limit` largest clusters that are not in :func:`single_clusters`, ascending."""
    singles = single_clusters(sizes)
    return np.sort([k for k in by_size(sizes) if not singles[k]][:limit]).astype(np.int64)


def cluster_rows_of(
    sizes: NDArray[np.int64], limit: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Clusters (k,) that a picture with a row a cluster shows, the row (k,) of each, and the labels of the rows.

    The at most `limit` largest have rows of their own; all of :func:`single_clusters` share the last.
    """
    named, singles = named_clusters(sizes, limit), np.flatnonzero(single_clusters(sizes))
    labels = [cluster_label(k, sizes[k]) for k in named]
    if len(singles):
        labels.append(singles_label(len(singles)))
    rows = np.concatenate([np.arange(len(named)), np.full(len(singles), len(named))])
    return np.concatenate([named, singles]), rows, labels


def singles_label(number: int) -> str:
    """Name of clusters of one mutation in legends and on axes, as in "12 clusters (n = 1 each)"."""
    return f"{number:,} clusters (n = 1 each)"


def cluster_label(cluster: int, size: int) -> str:
    """Name of a cluster in legends and on axes, as in "cluster 0 (n = 83)"."""
    return f"cluster {cluster} (n = {size:,})"


def outliers_label(count: int) -> str:
    """Name of the outliers in legends and on axes, as in "outliers (n = 3)"."""
    return f"outliers (n = {count:,})"


def others_label(sizes: NDArray[np.int64], named: NDArray[np.int64]) -> str | None:
    """What a legend says of the clusters that it does not name; None if it names all."""
    others = len(sizes) - len(named)
    if others == single_clusters(sizes).sum():
        return singles_label(others) if others else None
    return f"{others:,} more (n = {sizes.sum() - sizes[named].sum():,})"


def distinct_names(names: Sequence[str], limit: int, drawable: Sequence[str] | None = None) -> list[str]:
    """Names of at most `limit` characters (8 or more), as distinct as they were.

    A long name loses its middle; where that makes two names equal, all names lose their beginnings, or their ends, or
    what they have in common, whichever keeps them apart, and at worst they get numbers. `drawable` is what can be shown
    of each, if that is not all.
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
    """At most `limit` characters of a name, `head` of them from its beginning (half, if None)."""
    if len(name) <= limit:
        return name
    keep = limit - 1
    head = (keep + 1) // 2 if head is None else min(head, keep)
    return name[:head] + "…" + name[len(name) - (keep - head) :]


def _without_common(names: Sequence[str]) -> list[str]:
    """Names without their common beginning and end, of which dots remain."""
    head = _common_head(names)
    rest = [name[head:] for name in names]
    tail = _common_head([name[::-1] for name in rest])
    return ["…" * bool(head) + name[: len(name) - tail] + "…" * bool(tail) for name in rest]


def _common_head(names: Sequence[str]) -> int:
    """How many characters all names begin with alike."""
    first, last = min(names), max(names)
    return next((i for i, (a, b) in enumerate(zip(first, last)) if a != b), len(first))
