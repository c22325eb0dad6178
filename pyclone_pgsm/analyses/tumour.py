"""The analysis of a tumour: options of the model, tables, pictures, and lines for the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from pyclone_pgsm.analyses.protocol import Analysis, Footprint
from pyclone_pgsm.analyses.tables import cluster_lines, cluster_table, left_out_table, mutation_table
from pyclone_pgsm.inputs.observations import count_left_out
from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.likelihoods.pyclone.likelihood import CHUNK, CHUNKS
from pyclone_pgsm.likelihoods.pyclone.statistic import SCALARS
from pyclone_pgsm.posterior.convergence import Diagnostic
from pyclone_pgsm.posterior.summarize import Findings
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.trace.options import Options
from pyclone_pgsm.trace.tumour import TumourData
from pyclone_pgsm.tumour.grid import BYTES_PER_POINT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pyclone_pgsm.report.content import Content, Page

OBSERVATION = 250
"""Bytes for each mutation and sample: thirteen columns of 8 bytes, and as much again while they are read."""


class TumourAnalysis(Analysis):
    """Prevalences of mutations in samples."""

    kind: ClassVar[str] = TumourData.kind
    files: ClassVar[tuple[str, ...]] = (
        "mutations.tsv",
        "clusters.tsv",
        "left_out.tsv",
        "run.json",
        "trace.h5",
    )

    def footprint(self, data: TumourData) -> Footprint:
        """Estimate the memory of all sets of tables that are kept or in use, and of the observations while read."""
        model: Any = data.make_model()
        G, (T, D) = data.options.grid_size, data.observations.depth.shape
        most_chunks = min(CHUNKS, -(-G // CHUNK))
        tables = int(model.most_sets * model.num_rows * (BYTES_PER_POINT * G + 24 * most_chunks))
        stat_size = D * (2 * G + CHUNKS + SCALARS)
        return Footprint(T * D * OBSERVATION, tables, stat_size, 0)

    def named_options(self, options: Options) -> str:
        model = options.to_dict()
        names = ["genotype_prior", "density", "precision", "outlier_prob"]
        return " ".join(f"`{name}` {model[name]}" for name in names if model.get(name) is not None)

    def tables(self, trace: Trace, summary: Summary) -> dict[str, pd.DataFrame]:
        return {
            "mutations.tsv": mutation_table(summary, trace.observations.annotations),
            "clusters.tsv": cluster_table(summary),
            "left_out.tsv": left_out_table(trace.data.left_out),
        }

    def pictures(
        self, trace: Trace, result: Findings[Summary]
    ) -> Callable[[], dict[str, Callable[[], Figure]]]:
        """Prevalences, reads, co-clustering, chains."""

        def make() -> dict[str, Callable[[], Figure]]:
            from pyclone_pgsm.plots.tumour import tumour_pictures

            return tumour_pictures(result.summary, (result.coclustered, result.coclustering), result.traces)

        return make

    def page(self, content: Content) -> Page:
        from pyclone_pgsm.report.pages import tumour_page

        return tumour_page(content)

    def numbers(self, summary: Summary) -> dict[str, dict[str, float]]:
        """Return the numbers of the tumour and of its samples; shares are of mutations in clusters."""
        in_clusters = summary.labels >= 0
        rows: dict[str, dict[str, float]] = {
            "": {"clusters": summary.num_clusters, "mutations": len(summary.labels)}
        }
        if in_clusters.any():
            rows[""]["clonal"] = float(np.mean(np.isin(summary.labels[in_clusters], summary.trunks)))
        for d, name in enumerate(summary.sample_ids):
            seen = summary.depth[:, d] > 0
            present = seen & in_clusters & (summary.prob_present[:, d] > 0.5)
            rows[name] = {"mutations": int(seen.sum())}
            if present.any():
                of_clusters = summary.cluster_prob_clonal[summary.labels[present], d]
                rows[name]["clonal"] = float(np.mean(of_clusters > 0.5))
            if seen.any():
                rows[name]["clusters"] = int(np.sum(summary.cluster_prob_present[:, d] > 0.5))
                rows[name]["depth"] = float(np.median(summary.depth[seen, d]))
        return rows

    def counts(self, trace: Trace, summary: Summary) -> dict[str, int]:
        return {
            "samples": trace.data.num_columns,
            "mutations": len(trace.data.names),
            "left_out": len(trace.data.left_out),
            "clusters": summary.num_clusters,
            **({"outliers": summary.num_outliers} if summary.outlier_prob is not None else {}),
        }

    def choices(self, summary: Summary) -> dict[str, Any]:
        return summary.thresholds._asdict()

    def lines(self, result: Findings[Summary]) -> list[str]:
        """Clusters with their prevalences, the trunk, and inferred parameters of samples and reads."""
        return [*_summary_lines(result), *_inferred_lines(result.diagnostics)]


def _inferred_lines(diagnostics: Sequence[Diagnostic]) -> Iterator[str]:
    for wanted in ("precision", "tumour_content", "error_rate"):
        for d in diagnostics:
            kind, _, sample = d.name.partition(":")
            if kind != wanted:
                continue
            of_sample = f" of {sample}" if sample else ""
            if kind == "precision":
                mean, lower, upper = (
                    "binomial" if math.isinf(value) else f"{value:.0f}"
                    for value in (d.mean, d.lower, d.upper)
                )
                yield f"overdispersion{of_sample}: precision {mean} (95 % interval {lower} to {upper})"
            elif kind == "tumour_content":
                yield f"tumour content{of_sample}: {d.mean:.3g} (95 % interval {d.lower:.3g} to {d.upper:.3g})"
            else:
                yield f"error rate: {d.mean:.3g} (95 % interval {d.lower:.2g} to {d.upper:.2g})"


def _summary_lines(result: Findings[Summary]) -> list[str]:
    summary = result.summary
    cells = [
        [f"{mean:.3f} [{lower:.3f}, {upper:.3f}]" for mean, lower, upper in zip(*columns)]
        for columns in zip(summary.cluster_mean, summary.cluster_lower, summary.cluster_upper)
    ]
    title = (
        f"{count(len(summary.mutation_ids), 'mutation')} in {count(len(summary.sample_ids), 'sample')}: "
        f"{result.clusters}"
    )
    if summary.outlier_prob is not None:
        title += f", {count(summary.num_outliers, 'outlier')} (cluster -1)"
    if result.left_out:
        title += f"; {count_left_out(result.left_out, ' (left_out.tsv)')}"
    sizes = summary.cluster_size.tolist()
    marks = dict.fromkeys(summary.absent, "absent from every sample")
    return [
        title,
        *cluster_lines(summary.sample_ids, sizes, cells, 18, "samples", marks),
        f"trunk: {summary.trunk}",
    ]
