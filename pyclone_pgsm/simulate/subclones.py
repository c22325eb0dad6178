"""Simulated subclones: a tree of clones, and their copy-number events on segments.

The mutations of a cluster arise in the founder of a clone and are inherited by all its descendants. The clones form a
tree with the clonal cluster at its root. On a segment with an event, the cells of one clone (not the root) and its
descendants have gained or lost a copy of one allele, relative to the copy number that all tumour cells had before. A
share of the tumour cells, the prevalence of that clone, thus has a second copy-number state. A mutation that arose

* in an ancestor of the clone, or in its founder before the event, is in cells with and without the event; if the copy
  that is gained or lost carries it, cells with the event have it on one copy more or less, or have lost it;
* in the clone's founder after the event, or in a descendant, is only in cells with the event, on one copy;
* in any other clone, is only in cells without the event, on one copy.

Mutations of the root are equally likely to be older than the copy number of all cells, on all copies of an allele, or
younger, on one copy. Those of other clones are younger.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


def draw_tree(num_clusters: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw the parent of each clone from all earlier ones; return (K, K): at [k, j], whether j is k or a descendant."""
    within = np.eye(num_clusters, dtype=bool)
    for clone in range(1, num_clusters):
        within[:, clone] |= within[:, rng.integers(clone)]
    return within


def draw_tree_prevalences(
    within: NDArray[np.bool_], num_samples: int, absent: float, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Draw prevalences (K, D), to six decimals and by decreasing mean, and return them with the tree in this order.

    `within` is the tree of `draw_tree`; `absent` is the probability that a sample has no cells of a clone except its
    descendants. The root has cells in every sample, and each clone in at least one.
    """
    K = len(within)
    cells = rng.exponential(size=(K, num_samples))
    is_absent = rng.random((K, num_samples)) < absent
    is_absent[np.arange(K), rng.integers(num_samples, size=K)] = False
    is_absent[0] = False
    cells[is_absent] = 0.0
    prevalence = np.round(within @ (cells / cells.sum(axis=0)), 6)
    order = np.argsort(-prevalence.mean(axis=1), kind="stable")
    return prevalence[order], within[np.ix_(order, order)]


@dataclass(frozen=True)
class SecondStates:
    """N mutations, in D samples, on segments where some cells have a second copy-number state."""

    state: NDArray[np.int64]
    """(N, 2) major and minor copies in the cells with the event."""
    fraction: NDArray[np.float64]
    """(N, D) share of the tumour cells that have the event."""
    ccf: NDArray[np.float64]
    """(N, D) share of the tumour cells that have the mutation: its cluster's prevalence, or less if it was lost."""
    carriers: NDArray[np.float64]
    """(N, D) mean number of mutant copies per tumour cell."""


def draw_event(copies: ArrayLike, rng: np.random.Generator) -> tuple[int, int]:
    """Draw an allele, 0 or 1, and whether it gains (1) or loses (-1) a copy; at least one copy in all is left."""
    present = np.flatnonzero(np.asarray(copies))
    allele = int(rng.choice(present))
    change = int(rng.choice([-1, 1])) if np.sum(copies) > 1 else 1
    return allele, change


def draw_second_states(
    alleles: NDArray[np.int64],
    events: NDArray[np.int64],
    owner: NDArray[np.int64],
    cluster: NDArray[np.int64],
    prevalence: NDArray[np.float64],
    within: NDArray[np.bool_],
    rng: np.random.Generator,
) -> SecondStates:
    """Draw when N mutations arose, and on which copies, on segments with an event.

    Before the event, all tumour cells have (N, 2) copies of the two `alleles`. The (N, 2) `events` of
    :func:`draw_event` belong to the (N,) clones `owner`; the (N,) `cluster` is the clone of the mutation. `prevalence`
    (K, D) and `within` (K, K) come from :func:`draw_tree_prevalences`.
    """
    drawn = [_draw_copies(*arguments, within, rng) for arguments in zip(alleles, events, owner, cluster)]
    before, after = np.array(drawn, float).reshape(-1, 2).T[:, :, np.newaxis]
    changed = alleles.copy()
    changed[np.arange(len(events)), events[:, 0]] += events[:, 1]
    phi, fraction = prevalence[cluster], prevalence[owner]
    is_ancestor = within[cluster, owner]
    spread = is_ancestor & (before[:, 0] > 0)  # in cells with the event and in others
    apart = ~within[cluster, owner] & ~within[owner, cluster]
    with_event = np.where(spread[:, np.newaxis], fraction, np.where(apart[:, np.newaxis], 0.0, phi))
    without = np.maximum(phi - with_event, 0.0)
    return SecondStates(
        state=np.sort(changed, axis=1)[:, ::-1],
        fraction=fraction,
        ccf=with_event * (after > 0) + without * (before > 0),
        carriers=with_event * after + without * before,
    )


def _draw_copies(
    alleles: NDArray[np.int64],
    event: NDArray[np.int64],
    owner: int,
    cluster: int,
    within: NDArray[np.bool_],
    rng: np.random.Generator,
) -> tuple[int, int]:
    """Draw the numbers of mutant copies in cells without and with the event, 0 if these lack the mutation."""
    is_younger = within[owner, cluster] and (cluster != owner or rng.random() < 0.5)
    if is_younger:
        return 0, 1
    is_root = bool(within[cluster].all())
    if is_root and rng.random() < 0.5:
        allele = int(rng.choice(np.flatnonzero(alleles)))
        before = int(alleles[allele])
    else:
        allele = int(rng.random() * alleles.sum() >= alleles[0])
        before = 1
    if not within[cluster, owner]:
        return before, 0
    changed, change = int(event[0]), int(event[1])
    hits = changed == allele and rng.random() * alleles[allele] < before
    return before, before + change * int(hits)
