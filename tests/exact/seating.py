"""Partition priors as seating plans: guests come one by one and choose a table, an old one or a new one.

Nothing here is shared with the tables of tau1 and tau2: the probability of a partition is the product of its guests'
choices (Blackwell & MacQueen 1973; Pitman 1996; for the finite prior, Pólya's urn).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.priors import FiniteDirichlet, PitmanYor, Prior


def seat(prior: Prior, sizes: list[int]) -> list[float]:
    """Probabilities that the next guest sits down at each table of these sizes, and at a new one."""
    if not sizes:
        return [1.0]
    values = prior.values()
    if isinstance(prior, FiniteDirichlet):  # a new table is any of the components left
        weights = [*(n + values[0] for n in sizes), values[0] * (prior.max_components - len(sizes))]
    else:  # the Chinese restaurant, with a discount or without
        d = values[1] if isinstance(prior, PitmanYor) else 0.0
        weights = [*(n - d for n in sizes), values[0] + d * len(sizes)]
    total = sum(weights)
    return [w / total for w in weights]


def seating_probability(prior: Prior, labels: NDArray[np.integer]) -> float:
    """That the guests sit as these labels say, in which blocks are numbered by first appearance."""
    sizes: list[int] = []
    p = 1.0
    for label in labels:
        p *= seat(prior, sizes)[label]
        if label == len(sizes):
            sizes.append(0)
        sizes[label] += 1
    return p


def draw_seating(prior: Prior, num_observations: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """(T,) labels of a partition from the prior, blocks numbered by first appearance."""
    sizes: list[int] = []
    labels = np.empty(num_observations, np.int32)
    for i in range(num_observations):
        weights = np.cumsum(seat(prior, sizes))
        labels[i] = np.searchsorted(weights[:-1], rng.random(), side="right")
        if labels[i] == len(sizes):
            sizes.append(0)
        sizes[labels[i]] += 1
    return labels
