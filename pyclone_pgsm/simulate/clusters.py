"""Clusters of simulated mutations, and their prevalences without a tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.tumour.base_measure import DIRICHLET, draw_prevalences


def draw_clusters(options: SimulationOptions, rng: np.random.Generator) -> NDArray[np.int64]:
    """(T,) clusters, every one with at least a mutation; -1 of artefacts."""
    K, members = options.clusters, options.mutations - options.num_artefacts
    if options.cluster_sizes == "equal":
        labels = np.arange(members) % K
    else:
        others = rng.choice(K, size=members - K, p=rng.dirichlet(np.ones(K)))
        labels = np.concatenate([np.arange(K), others])
    return rng.permutation(np.concatenate([labels, np.full(options.num_artefacts, -1)]))


def draw_independent_prevalences(options: SimulationOptions, rng: np.random.Generator) -> NDArray[np.float64]:
    """(K, D) prevalences with at most six digits, sorted by their mean."""
    K, D = options.clusters, options.samples
    prevalence = np.round(rng.random((K, D)), 6)
    absent = rng.random((K, D)) < options.absent
    absent[np.arange(K), rng.integers(D, size=K)] = False
    prevalence[absent] = 0.0
    if options.clonal:
        prevalence[0] = 1.0
    return prevalence[np.argsort(-prevalence.mean(axis=1), kind="stable")]


def draw_from_prior(
    options: SimulationOptions, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """(K, D) prevalences like those of `draw_independent_prevalences`, and the (D, 3) weights if there are any."""
    K, D = options.clusters, options.samples
    weights = rng.dirichlet(DIRICHLET, D) if options.prevalence_prior == "learned" else None
    prevalence = rng.random((K, D)) if weights is None else draw_prevalences(weights, K, rng)
    prevalence = np.round(prevalence, 6)
    return prevalence[np.argsort(-prevalence.mean(axis=1), kind="stable")], weights
