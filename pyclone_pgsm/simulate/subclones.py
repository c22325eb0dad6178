"""Simulated subclones: a tree of clones, and copy-number events that some of them have on a segment.

A cluster's mutations arise in the founder of a clone, and all its descendants have them; the founders make a tree, with
the clonal cluster at its root. In a segment with an event, the cells of one clone (not the root's) and its descendants
gained or lost a copy of one allele, on top of the copy number that all tumour cells had before. So a share of the
tumour cells, the prevalence of that clone, holds a second copy-number state, and where a mutation lies follows:

* in an ancestor of the clone, or in its founder before the event: in the cells with the event and in others; the copy
  gained or lost may be one that carries it, so that it is on one more or one less there, or is lost;
* in the clone's founder after the event, or in a descendant: in cells with the event only, on one copy;
* in any other clone: in cells without the event only, on one copy.

Mutations of the root are as likely to be older than the copy number that all cells have, and then on all copies of an
allele, as younger, and then on one copy; those of other clones are younger.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


def draw_tree(num_clusters: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(K, K) whether clone j is clone k or one of its descendants, at [k, j]; every earlier clone may be the parent."""
    within = np.eye(num_clusters, dtype=bool)
    for clone in range(1, num_clusters):
        within[:, clone] |= within[:, rng.integers(clone)]
    return within


def draw_tree_prevalences(
    within: NDArray[np.bool_], num_samples: int, absent: float, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Prevalences (K, D) with at most six digits, sorted by their mean, and the tree in this order.

    ``within`` is the tree of `draw_tree`, ``absent`` the probability that a sample has no cell of a clone other than
    the root's, its descendants aside; in one sample it always has.
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
    """Mutations on segments of which some cells have a second copy-number state, N in D samples."""

    state: NDArray[np.int64]
    """(N, 2) major and minor copies in the cells with the event."""
    fraction: NDArray[np.float64]
    """(N, D) share of the tumour cells with the event."""
    ccf: NDArray[np.float64]
    """(N, D) share of the tumour cells that have the mutation: its cluster's prevalence, or less if it was lost."""
    carriers: NDArray[np.float64]
    """(N, D) mutant copies a tumour cell, on average."""


def draw_event(copies: ArrayLike, rng: np.random.Generator) -> tuple[int, int]:
    """An allele, 0 or 1, and 1 or -1: a copy that it gains or loses. One copy is left of the two alleles at least."""
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
    """Draw when N mutations arose, and on which copies.

    Parameters
    ----------
    alleles : (N, 2) int64
        Copies of the two alleles that all tumour cells had before the event.
    events, owner : (N, 2) and (N,) int64
        The event on the mutation's segment, from `draw_event`, and the clone that has it.
    cluster : (N,) int64
        Clone of the mutation.
    prevalence, within : (K, D) float64 and (K, K) bool
        Prevalences of the clones, and their tree, from `draw_tree_prevalences`.
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
    """Mutant copies in cells without and with the event; 0 where no cell has the mutation, or it was lost."""
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
