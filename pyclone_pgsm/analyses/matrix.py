"""The analysis of a matrix: tables, pictures, and lines for the terminal."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.analyses.protocol import Analysis, Footprint
from pyclone_pgsm.analyses.tables import assignment_table, cluster_lines, mixture_table
from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.likelihoods.foreign import blamed
from pyclone_pgsm.likelihoods.inferred import KEPT, names_to_infer
from pyclone_pgsm.posterior.matrix import predictive
from pyclone_pgsm.posterior.mixture import SD, MixtureSummary, digits_of
from pyclone_pgsm.posterior.summarize import Findings
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.trace.matrix import MatrixData
from pyclone_pgsm.trace.options import Options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pyclone_pgsm.report.content import Content, Page

PICTURED_DRAWS = 12  # partitions over which the picture of the density is averaged


class MatrixAnalysis(Analysis):
    """Clusters of rows, and the parameters of their distributions."""

    kind: ClassVar[str] = MatrixData.kind
    files: ClassVar[tuple[str, ...]] = ("assignments.tsv", "clusters.tsv", "run.json", "trace.h5")

    def footprint(self, data: MatrixData) -> Footprint:
        """Estimate the memory of the values, of their copies, and of what the package's own likelihoods keep."""
        T, D = data.matrix.values.shape
        if data.options.likelihood == "normal":
            copies = 3 + (KEPT if names_to_infer(data.options.parameters) else 0)
            return Footprint(T * D * 8 * copies, 8 * D * D, (D + 1) * (D + 2) // 2 + D + 5, D * D)
        return Footprint(T * D * 8 * 3, 8 * 6 * T, 2 + 2 * D, D)

    def named_options(self, options: Options) -> str:
        model = options.to_dict()
        given = [f"`parameters` {name}={reprlib.repr(value)}" for name, value in model["parameters"].items()]
        return " ".join([f"`likelihood` {model['likelihood']!r}", *given])

    def tables(self, trace: Trace, summary: MixtureSummary) -> dict[str, pd.DataFrame]:
        return {"assignments.tsv": assignment_table(summary), "clusters.tsv": mixture_table(summary)}

    def pictures(
        self, trace: Trace, result: Findings[MixtureSummary]
    ) -> Callable[[], dict[str, Callable[[], Figure]]]:
        """Clusters, their sizes and means, the density, co-clustering, chains."""
        likelihood, values = trace.options.model.likelihood, trace.matrix.values
        found = predictive(trace, result.chain_weights, result.burn_in, PICTURED_DRAWS)

        def density(points: NDArray[np.float64]) -> NDArray[np.float64]:
            with blamed(likelihood):
                return np.exp(found.log_density(points))

        def make() -> dict[str, Callable[[], Figure]]:
            from pyclone_pgsm.plots.mixture import mixture_pictures

            return mixture_pictures(
                likelihood,
                values,
                result.summary,
                (result.coclustered, result.coclustering),
                result.traces,
                density if hasattr(found.likelihood_at_medians, "log_predictive_new") else None,
            )

        return make

    def page(self, content: Content) -> Page:
        from pyclone_pgsm.report.pages import mixture_page

        return mixture_page(content)

    def numbers(self, summary: MixtureSummary) -> dict[str, dict[str, float]]:
        return {"": {"clusters": summary.num_clusters, "rows": len(summary.labels)}}

    def counts(self, trace: Trace, summary: MixtureSummary) -> dict[str, int]:
        return {
            "rows": len(trace.data.names),
            "columns": trace.data.num_columns,
            "clusters": summary.num_clusters,
        }

    def lines(self, result: Findings[MixtureSummary]) -> list[str]:
        """Clusters with the first of their parameters that has one number for each column."""
        summary = result.summary
        K, D = summary.num_clusters, len(summary.column_names)
        by_column = [name for name, values in summary.parameters.items() if values.shape == (K, D)]
        cells: list[list[str]] = [[] for _ in range(K)]
        names: list[str] = []
        for name in by_column[:1]:
            names = [f"{name} of {column}" for column in summary.column_names]
            means = summary.parameters[name]
            sds = summary.parameters.get(name + SD, np.full((K, D), np.nan))
            rows = zip(means, sds, digits_of(means, sds, 4))
            cells = [[_cell(*each) for each in zip(*row)] for row in rows]
        return [
            f"{count(len(summary.row_names), 'row')} of {count(D, 'column')}: {result.clusters}",
            *cluster_lines(names, summary.cluster_size.tolist(), cells, 12, "columns"),
        ]


def _cell(mean: float, sd: float, digits: int) -> str:
    return f"{mean:.{digits}g}" + ("" if np.isnan(sd) else f" ± {sd:.2g}")
