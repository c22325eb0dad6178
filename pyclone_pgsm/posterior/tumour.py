"""Summary of posterior draws for a tumour: consensus clusters and their prevalences."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.labels import renumbered
from pyclone_pgsm.posterior.checks import doubts_of_detection, doubts_of_tumour
from pyclone_pgsm.posterior.matching import match_clusters
from pyclone_pgsm.posterior.multiplicity import Multiplicities
from pyclone_pgsm.posterior.prevalence import cluster_prevalences, mutation_prevalences, read_blocks
from pyclone_pgsm.posterior.reads import reads_given_clusters
from pyclone_pgsm.posterior.rows import Draws, gather, gather_values, medians, thin
from pyclone_pgsm.posterior.states import DEFAULT_THRESHOLDS, Thresholds
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.trace.tumour import TumourData

LEAST_DRAWS, MANY_DRAWS, MOST_DRAWS = 60, 240, 1000
"""Numbers of draws from which prevalences are computed with a million mutations, with thousands, and with few."""
MANY_CELLS, MOST_CELLS = 2_000_000, 60_000_000
"""Largest products of the numbers of draws, mutations and samples: with more than :data:`MANY_DRAWS`, and with more
than :data:`LEAST_DRAWS`."""


def number_of_draws(cells: int) -> int:
    """Return from how many draws to compute prevalences, given the number of mutations times that of samples."""
    number = max(MANY_DRAWS, min(MOST_DRAWS, MANY_CELLS // cells))
    return max(LEAST_DRAWS, min(number, MOST_CELLS // cells))


def summarise_tumour(
    draws: Draws, labels: NDArray[np.int64], thresholds: Thresholds
) -> tuple[Summary, list[str]]:
    """Summarise the draws (see :class:`~pyclone_pgsm.posterior.summarize.Summariser`)."""
    trace = draws.trace
    data = trace.data_of(TumourData)
    options, observations = data.options, data.observations
    grid = options.grid
    names = trace.options.hyperparameters
    model: Any = trace.model

    rows = thin(draws.rows, min(number_of_draws(observations.depth.size), len(draws.partitions)))
    partitions, blocks = read_blocks(trace, rows)
    clusters, _ = cluster_prevalences(blocks, partitions, labels, grid)
    in_cluster = labels >= 0
    labels[in_cluster] = renumbered(labels[in_cluster], np.round(clusters.mean.mean(axis=1), 9))
    clusters, masses = cluster_prevalences(blocks, partitions, labels, grid, thresholds)
    at_medians = model.observations(medians(gather_values(trace, draws.rows, names)))
    copies = Multiplicities(at_medians, grid)
    mutations = mutation_prevalences(blocks, partitions, grid, thresholds, copies.find)
    copies.number[~in_cluster] = 0
    for of_mutations in (mutations.prob_present, mutations.prob_clonal, copies.probability):
        of_mutations[~in_cluster] = np.nan
    matches = match_clusters(draws.partitions, labels, draws.outlier_prob)
    reads = reads_given_clusters(at_medians, labels, masses, grid)

    depth = np.where(observations.has_data, observations.depth, 0)
    vaf = np.where(depth > 0, observations.alt_counts / np.maximum(depth, 1), np.nan)
    summary = Summary(
        mutation_ids=observations.mutation_ids,
        sample_ids=observations.sample_ids,
        labels=labels,
        assignment_prob=np.where(in_cluster, matches.own_prob, draws.outlier_prob),
        vaf=vaf,
        depth=depth,
        cluster_size=np.bincount(labels[in_cluster]),
        grid=grid,
        cluster_masses=masses,
        outlier_prob=draws.outlier_prob if options.has_outliers else None,
        second_cluster=matches.second,
        second_prob=matches.second_prob,
        thresholds=thresholds,
        multiplicity=copies.number,
        multiplicity_prob=copies.probability,
        **mutations._asdict(),
        **{f"cluster_{name}": values for name, values in clusters._asdict().items()},
        **reads._asdict(),
    )
    inferred = {name: gather(trace, draws.rows, name) for name in names}
    usual = summary
    if thresholds != DEFAULT_THRESHOLDS:  # warnings do not depend on what the user calls present or clonal
        found, _ = cluster_prevalences(blocks, partitions, labels, grid)
        usual = replace(
            summary, cluster_prob_present=found.prob_present, cluster_prob_clonal=found.prob_clonal
        )
    tables = [loci.table for loci, _ in at_medians]
    error_rate = np.concatenate([np.append(each.error_rate, 0.0)[each.index] for each in tables], axis=1)
    precisions = [precision for loci, precision in at_medians for _ in range(loci.table.index.shape[1])]
    return summary, [
        *data.warnings,
        *doubts_of_tumour(usual, inferred, options.tumour_content, error_rate),
        *doubts_of_detection(usual, precisions),
    ]
