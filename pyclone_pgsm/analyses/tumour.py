"""The analysis of a tumour: options of the model, tables, pictures, and lines for the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from pyclone_pgsm.analyses.lines import cluster_lines
from pyclone_pgsm.analyses.protocol import Analysis, Footprint
from pyclone_pgsm.analyses.tables import cluster_table, left_out_table, mutation_table
from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.observations import Observations, count_left_out
from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.inputs.tumour_content import ContentOption, checked_means, uncertain
from pyclone_pgsm.likelihoods.pyclone.likelihood import CHUNKS
from pyclone_pgsm.likelihoods.pyclone.statistic import MOST_DEFERRED, SCALARS
from pyclone_pgsm.posterior.convergence import Diagnostic, is_precision
from pyclone_pgsm.posterior.states import absent_everywhere
from pyclone_pgsm.posterior.summarize import Result
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.ranges import (
    OR_NONE,
    Effects,
    check_choice,
    check_effects,
    check_number,
    check_whole,
    refuse,
)
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.trace.dataset import ModelOptions as StoredOptions
from pyclone_pgsm.trace.tumour import TumourData
from pyclone_pgsm.tumour.genotypes import GENOTYPE_PRIORS
from pyclone_pgsm.tumour.grid import DENSITIES, choose_grid_size, deduplicate
from pyclone_pgsm.tumour.model import PER_SAMPLE, PREVALENCE_PRIORS
from pyclone_pgsm.tumour.options import TumourOptions
from pyclone_pgsm.tumour.table_cache import CACHED_BYTES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pyclone_pgsm.posterior.traces import Traces
    from pyclone_pgsm.report.content import Content, Page

VISITED = 60
"""Approximate number of sets of tables that chains visit before they settle."""
OBSERVATION = 250
"""Bytes for each mutation and sample: thirteen columns of 8 bytes, and as much again while they are read."""
LEAST_PRECISION, MOST_PRECISION = 0.1, 1e9
LEAST_OUTLIERS = 1e-9
EFFECTS: Effects = {"precision": ("density", ("beta-binomial",))}
"""Options of one density."""


@dataclass(frozen=True)
class ModelOptions:
    """Options of the tumour model, named as on the command line.

    Attributes
    ----------
    genotype_prior : str
        See :mod:`pyclone_pgsm.tumour.genotypes`.
    density : {"beta-binomial", "binomial"}
    precision : float, None or "infer-per-sample"
        Precision of the beta-binomial, between 0.1 and 1e9, or infinite. None: inferred; "infer-per-sample": inferred
        for each sample.
    grid_size : int or None
        Grid points; None: chosen from the data.
    tumour_content : float, Uncertain, mapping of sample to one of these, or None
        As in :func:`pyclone_pgsm.inputs.read_counts.tables.read_tables`. An uncertain one is inferred.
    outlier_prob : float
        Prior probability that a mutation is an outlier (:mod:`pyclone_pgsm.tumour.outliers`), at least 0 and below 1.
    prevalence_prior : {"learned", "uniform"}
        Prior of a cluster's prevalence in each sample (:mod:`pyclone_pgsm.tumour.base_measure`).
    """

    genotype_prior: str = "major"
    density: str = "beta-binomial"
    precision: float | str | None = None
    grid_size: int | None = None
    tumour_content: ContentOption = None
    outlier_prob: float = 0.0
    prevalence_prior: str = "learned"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("genotype_prior", self.genotype_prior, GENOTYPE_PRIORS),
            ("density", self.density, DENSITIES),
            ("prevalence_prior", self.prevalence_prior, PREVALENCE_PRIORS),
        ):
            check_choice(name, value, known)
        if isinstance(self.precision, str):
            if self.precision != PER_SAMPLE:
                expected = f"a positive number, {PER_SAMPLE!r}, or None, which infers it"
                refuse("precision", self.precision, expected)
        elif self.precision is not None:
            object.__setattr__(self, "precision", check_number("precision", self.precision))
            self._check_precision(self.precision)
        check_effects([] if self.precision is None else ["precision"], vars(self), EFFECTS)
        checked_means(self.tumour_content)
        if self.grid_size is not None:
            object.__setattr__(self, "grid_size", check_whole("grid_size", self.grid_size, OR_NONE))
            if not 11 <= self.grid_size <= 10_001:
                raise UsageError(f"`grid_size` {self.grid_size}: must be 'auto' or between 11 and 10001")
        object.__setattr__(self, "outlier_prob", check_number("outlier_prob", self.outlier_prob))
        if not 0.0 <= self.outlier_prob < 1.0:
            raise UsageError(f"`outlier_prob` {self.outlier_prob}: must be at least 0 and below 1")
        if self.outlier_prob and not LEAST_OUTLIERS <= self.outlier_prob <= 1.0 - LEAST_OUTLIERS:
            raise UsageError(
                f"`outlier_prob` {self.outlier_prob}: must be 0, or between {LEAST_OUTLIERS:g} and 1 - "
                f"{LEAST_OUTLIERS:g}: nearer to 0 or 1 no number of mutations would tell the difference"
            )

    @staticmethod
    def _check_precision(precision: float) -> None:
        if not precision > 0:
            raise UsageError(f"`precision` {precision}: must be 'infer', {PER_SAMPLE!r} or a positive number")
        if not (LEAST_PRECISION <= precision <= MOST_PRECISION or precision == math.inf):
            raise UsageError(
                f"`precision` {precision}: must be between {LEAST_PRECISION:g}, below which nearly all reads of a "
                f"mutation would be of one allele, and {MOST_PRECISION:g}, above which it is the binomial (`density` "
                "binomial)"
            )

    def resolve(self, observations: Observations) -> TumourOptions:
        """Return the options, completed by those chosen from the data."""
        return TumourOptions(
            self.genotype_prior,
            self.density,
            None if self.density == "binomial" else self.precision,
            self.grid_size or choose_grid_size(observations, deduplicate(observations).num_rows),
            self.prevalence_prior,
            uncertain(self.tumour_content, observations.sample_ids),
            self.outlier_prob,
        )


class TumourAnalysis(Analysis[TumourData, Summary]):
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
        observations, options = data.observations, data.options
        G, D = options.grid_size, observations.num_samples
        table = deduplicate(observations)
        one = table.num_rows * (16 * G + 24 * CHUNKS)
        is_inferred = options.precision in (None, PER_SAMPLE) and options.density != "binomial"
        is_inferred = is_inferred or bool((table.error_rate != table.error_rate).any())
        is_split = options.is_split_by_sample
        sets = 1
        if is_inferred or is_split:
            sets = max(3, min(VISITED, CACHED_BYTES // max(1, one))) + 1  # the one being made
        tables = one * sets * (2 if is_split else 1)
        stat_size = D * (2 * G + CHUNKS + SCALARS + MOST_DEFERRED)
        return Footprint(observations.num_mutations * D * OBSERVATION, tables, stat_size, 0)

    def named_options(self, options: StoredOptions) -> str:
        """The options of the model that are set."""
        model = options.to_dict()
        names = ["genotype_prior", "density", "precision", "outlier_prob"]
        return " ".join(f"`{name}` {model[name]}" for name in names if model.get(name) is not None)

    def tables(self, trace: Trace, summary: Summary) -> dict[str, pd.DataFrame]:
        """Mutations, clusters, and what was left out."""
        return {
            "mutations.tsv": mutation_table(summary, trace.observations.annotations),
            "clusters.tsv": cluster_table(summary),
            "left_out.tsv": left_out_table(trace.data.left_out),
        }

    def pictures(
        self, trace: Trace, result: Result[Summary], traces: Traces, burn_in: int | None
    ) -> dict[str, Callable[[], Figure]]:
        """Prevalences, reads, co-clustering, chains."""
        from pyclone_pgsm.plots.tumour import tumour_pictures

        return tumour_pictures(result.summary, (result.coclustered, result.coclustering), traces)

    def page(self, content: Content) -> Page:
        from pyclone_pgsm.report.tumour_page import tumour_page

        return tumour_page(content)

    def counts(self, trace: Trace, summary: Summary) -> dict[str, int]:
        """Numbers of samples, mutations, things left out, clusters, and outliers if the model has them."""
        return {
            "samples": trace.data.num_columns,
            "mutations": len(trace.data.names),
            "left_out": len(trace.data.left_out),
            "clusters": summary.num_clusters,
            **({"outliers": summary.num_outliers} if summary.outlier_prob is not None else {}),
        }

    def choices(self, summary: Summary) -> dict[str, Any]:
        """Thresholds of presence and clonality."""
        return summary.thresholds._asdict()

    def lines(self, result: Result[Summary], left_out: int) -> list[str]:
        """Clusters with their prevalences, the trunk, and inferred parameters of samples and reads."""
        return [*_summary_lines(result.summary, left_out), *_inferred_lines(result.diagnostics)]


def _inferred_lines(diagnostics: Sequence[Diagnostic]) -> Iterator[str]:
    yield from (_precision_line(d) for d in diagnostics if is_precision(d.name))
    for d in diagnostics:
        if d.name.startswith("tumour_content:"):
            sample = d.name.partition(":")[2]
            yield f"tumour content of {sample}: {d.mean:.3g} (95 % interval {d.lower:.3g} to {d.upper:.3g})"
    for d in diagnostics:
        if d.name == "error_rate":
            yield f"error rate: {d.mean:g} (95 % interval {d.lower:g} to {d.upper:g})"


def _precision_line(diagnostic: Diagnostic) -> str:
    def text(value: float) -> str:
        return "binomial" if math.isinf(value) else f"{value:.0f}"

    sample = diagnostic.name.partition(":")[2]
    return (
        f"overdispersion{' of ' + sample if sample else ''}: precision {text(diagnostic.mean)} "
        f"(95 % interval {text(diagnostic.lower)} to {text(diagnostic.upper)})"
    )


def _summary_lines(summary: Summary, left_out: int) -> list[str]:
    cells = [
        [f"{mean:.3f} [{lower:.3f}, {upper:.3f}]" for mean, lower, upper in zip(*columns)]
        for columns in zip(summary.cluster_mean, summary.cluster_lower, summary.cluster_upper)
    ]
    title = (
        f"{count(len(summary.mutation_ids), 'mutation')} in {count(len(summary.sample_ids), 'sample')}: "
        f"{count(summary.num_clusters, 'cluster')}"
    )
    if summary.outlier_prob is not None:
        title += f", {count(summary.num_outliers, 'outlier')} (cluster -1)"
    if left_out:
        title += f"; {count_left_out(left_out)} (left_out.tsv)"
    sizes = summary.cluster_size.tolist()
    marks = dict.fromkeys(absent_everywhere(summary.cluster_prob_present), "absent: probably artefacts")
    return [
        title,
        *cluster_lines(summary.sample_ids, sizes, cells, 18, "samples", marks),
        _trunk_line(summary),
    ]


def _trunk_line(summary: Summary) -> str:
    found = summary.trunks
    where = "every sample" if len(summary.sample_ids) > 1 else summary.sample_ids[0]
    if not found:
        return f"trunk: no cluster is clonal in {where}"
    size = count(int(summary.cluster_size[found[0]]), "mutation")
    several = f", the largest of {len(found)} such clusters" if len(found) > 1 else ""
    return f"trunk: cluster {found[0]} ({size}), {summary.trunk_state} in {where}{several}"
