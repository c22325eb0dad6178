"""Summary of a tumour, the source of its tables and pictures."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.posterior.states import CLONAL, SURE, Thresholds, statuses
from pyclone_pgsm.tumour.grid import cell_ends

SURELY_NOT = 0.025
"""A cluster is surely not clonal if its probability to be clonal is below this: its 95 % interval is then lower."""
STRAY_MUTATIONS, STRAY_TIMES = 2, 10
"""Largest size of a cluster that may consist of artefacts, if another is at least this many times as large."""


@dataclass(frozen=True)
class Summary:
    """Consensus clusters and posterior prevalences, for T mutations, D samples, K clusters and G grid points.

    Attributes
    ----------
    mutation_ids, sample_ids : list of str
        Length T and D.
    labels : (T,) int64
        Consensus cluster 0..K-1 of each mutation, by decreasing mean prevalence; -1 for an outlier.
    assignment_prob : (T,) float64
        Posterior probability that the mutation belongs to its cluster (:mod:`pyclone_pgsm.posterior.matching`), or, for
        an outlier, that it is one.
    mean, std, lower, upper : (T, D) float64
        Posterior mean, standard deviation and 95 % interval of each mutation's cellular prevalence
        (:class:`pyclone_pgsm.posterior.prevalence.Moments`).
    vaf : (T, D) float64
        alt / depth, NaN where there are no reads.
    depth : (T, D) int64
        Number of reads; 0 where there are no data.
    cluster_size : (K,) int64
    cluster_mean, cluster_std, cluster_lower, cluster_upper : (K, D) float64
        The same for each cluster's prevalence.
    grid : (G,) float64
        Prevalences from 0 to 1 (:func:`pyclone_pgsm.tumour.grid.prevalence_grid`).
    cluster_masses : (K, D, G) float64
        Posterior probability of each grid point for each cluster's prevalence; sums to 1 over the last axis.
    outlier_prob : (T,) float64 or None
        Posterior probability that a mutation is an outlier; None if the model has no outliers.
    prob_present, prob_clonal : (T, D) float64
        Posterior probability that the mutation's prevalence is above the threshold of presence, and of clonality; NaN
        for an outlier.
    cluster_prob_present, cluster_prob_clonal : (K, D) float64
        The same for each cluster.
    peaks, cluster_peaks : (T, D), (K, D) int64
        Number of peaks of the posterior.
    second_cluster : (T,) int64
        The most probable cluster other than the mutation's own; -1 if there is none.
    second_prob : (T,) float64
        Probability of `second_cluster`; NaN if there is none.
    multiplicity : (T, D) int64
        Most probable number of mutant copies (:mod:`pyclone_pgsm.posterior.multiplicity`); 0 where there are no data or
        no cluster.
    multiplicity_prob : (T, D) float64
        Its probability; NaN where there are no data or no cluster.
    fit, expected_reads : (T, D) float64
        Tail probability and expected number of the variant reads given the cluster
        (:mod:`pyclone_pgsm.posterior.reads`); NaN where there are no data or no cluster.
    thresholds : Thresholds
        Thresholds of presence and clonality.
    """

    kind: ClassVar[str] = "tumour"
    mutation_ids: list[str]
    sample_ids: list[str]
    labels: NDArray[np.int64]
    assignment_prob: NDArray[np.float64]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    vaf: NDArray[np.float64]
    depth: NDArray[np.int64]
    cluster_size: NDArray[np.int64]
    cluster_mean: NDArray[np.float64]
    cluster_std: NDArray[np.float64]
    cluster_lower: NDArray[np.float64]
    cluster_upper: NDArray[np.float64]
    grid: NDArray[np.float64]
    cluster_masses: NDArray[np.float64]
    outlier_prob: NDArray[np.float64] | None
    prob_present: NDArray[np.float64]
    prob_clonal: NDArray[np.float64]
    cluster_prob_present: NDArray[np.float64]
    cluster_prob_clonal: NDArray[np.float64]
    peaks: NDArray[np.int64]
    cluster_peaks: NDArray[np.int64]
    second_cluster: NDArray[np.int64]
    second_prob: NDArray[np.float64]
    multiplicity: NDArray[np.int64]
    multiplicity_prob: NDArray[np.float64]
    fit: NDArray[np.float64]
    expected_reads: NDArray[np.float64]
    thresholds: Thresholds

    @property
    def num_clusters(self) -> int:
        """K."""
        return len(self.cluster_size)

    def even_densities(
        self, clusters: NDArray[np.int64], samples: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return n equally spaced prevalences, and the posterior densities (k, d, n) of some clusters and samples.

        Their steps are as large as the largest of the grid, and the densities are means over their cells.
        """
        even = np.linspace(0.0, 1.0, math.floor(1.0 / np.diff(self.grid).max() + 1e-6) + 1)
        ends, even_ends = cell_ends(self.grid), cell_ends(even)
        masses = self.cluster_masses[np.ix_(clusters, samples)]
        below = np.insert(masses.cumsum(axis=2), 0, 0.0, axis=2)
        at_ends = np.empty((*masses.shape[:2], len(even_ends)))
        for place in np.ndindex(masses.shape[:2]):
            at_ends[place] = np.interp(even_ends, ends, below[place])
        return even, np.diff(at_ends, axis=2) / np.diff(even_ends)

    @property
    def variant_reads(self) -> NDArray[np.int64]:
        """(T, D) numbers of reads with the variant, 0 where there are no reads."""
        return np.rint(np.nan_to_num(self.vaf) * self.depth).astype(np.int64)

    @property
    def cluster_status(self) -> NDArray[np.object_]:
        """(K, D) names of the clusters' states (:func:`~pyclone_pgsm.posterior.states.statuses`)."""
        return statuses(self.cluster_prob_present, self.cluster_prob_clonal)

    @property
    def trunks(self) -> list[int]:
        """Clusters that are more probably than not clonal in every sample with data, the largest first."""
        found = np.flatnonzero((self._clonal > 0.5).all(axis=1))
        return found[np.argsort(-self.cluster_size[found], kind="stable")].tolist()

    @property
    def can_be_clonal(self) -> NDArray[np.bool_]:
        """(K, D) whether each cluster can be clonal."""
        return self.cluster_prob_clonal >= SURELY_NOT

    @property
    def stray_clusters(self) -> NDArray[np.bool_]:
        """(K,) whether each cluster has so few mutations, beside others, that these may be artefacts."""
        sizes = self.cluster_size
        return (sizes <= STRAY_MUTATIONS) & (STRAY_TIMES * sizes <= sizes.max(initial=0))

    @property
    def trunk(self) -> str:
        """The first of :attr:`trunks` in words, ``probably clonal`` if that is uncertain; or that there is none."""
        if not self.trunks:
            return f"no cluster is {CLONAL} in {self.everywhere}"
        first, *others = self.trunks
        size = count(int(self.cluster_size[first]), "mutation")
        state = CLONAL if (self._clonal[first] >= SURE).all() else f"probably {CLONAL}"
        several = f", the largest of {len(others) + 1} such clusters" if others else ""
        return f"cluster {first} ({size}), {state} in {self.everywhere}{several}"

    @property
    def _clonal(self) -> NDArray[np.float64]:
        """`cluster_prob_clonal` of the samples in which some mutation has data: elsewhere it is only the prior's."""
        return self.cluster_prob_clonal[:, self._has_data]

    @property
    def everywhere(self) -> str:
        """The samples that :attr:`trunks` are about, in words; a single one by its name."""
        if len(self.sample_ids) == 1:
            return self.sample_ids[0]
        return "every sample" if self._has_data.all() else "every sample with reads"

    @property
    def _has_data(self) -> NDArray[np.bool_]:
        return self.depth.sum(axis=0) > 0

    @property
    def absent(self) -> list[int]:
        """Clusters that are absent from every sample with data."""
        return np.flatnonzero(
            (1.0 - self.cluster_prob_present[:, self._has_data] >= SURE).all(axis=1)
        ).tolist()

    @property
    def num_outliers(self) -> int:
        """Number of mutations that belong to no cluster."""
        return int(np.sum(self.labels < 0))

    @property
    def contents(self) -> str:
        """What was clustered, in words, as in "500 mutations in 8 clusters, 3 outliers"."""
        outliers = f", {count(self.num_outliers, 'outlier')}" if self.outlier_prob is not None else ""
        return f"{count(len(self.labels), 'mutation')} in {count(self.num_clusters, 'cluster')}{outliers}"
