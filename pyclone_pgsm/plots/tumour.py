"""Pictures of a tumour."""

from collections.abc import Callable
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pyclone_pgsm.plots.coclustering import coclustering_heatmap
from pyclone_pgsm.plots.densities import cluster_densities
from pyclone_pgsm.plots.prevalences import cluster_prevalences
from pyclone_pgsm.plots.scatter import prevalence_scatter, vaf_scatter
from pyclone_pgsm.plots.traces import chain_traces
from pyclone_pgsm.posterior.rows import Traces
from pyclone_pgsm.posterior.summary import Summary


def tumour_pictures(
    summary: Summary,
    coclustering: tuple[NDArray[np.int64], NDArray[np.floating]],
    traces: Traces,
) -> dict[str, Callable[[], Figure]]:
    """Return the functions that draw the pictures of a run, by name.

    `coclustering` are mutations (n,) and the probabilities (n, n) that two of them share a cluster.
    """
    pictures: dict[str, Callable[[], Figure]] = {}
    if summary.num_clusters:  # not all mutations are outliers
        pictures["cluster_prevalences"] = partial(cluster_prevalences, summary)
        pictures["cluster_densities"] = partial(cluster_densities, summary)
    pictures["prevalence_scatter"] = partial(prevalence_scatter, summary)
    pictures["vaf_scatter"] = partial(vaf_scatter, summary)
    pictures["coclustering"] = partial(coclustering_heatmap, summary, summary.mutation_ids, *coclustering)
    pictures["traces"] = partial(chain_traces, traces)
    return pictures
