"""What the terminal says of a result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from pyclone_pgsm.posterior.mixture import SD, MixtureSummary
from pyclone_pgsm.posterior.states import absent_everywhere, trunks
from pyclone_pgsm.posterior.summarize import Diagnostic, Result, is_precision
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.tumour.base_measure import is_weight

SHOWN_CLUSTERS = 20
SHOWN_COLUMNS = 6


def count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def _precision_line(diagnostic: Diagnostic) -> str:
    def text(value: float) -> str:
        return "binomial" if math.isinf(value) else f"{value:.0f}"

    sample = diagnostic.name.partition(":")[2]
    return (
        f"overdispersion{' of ' + sample if sample else ''}: precision {text(diagnostic.mean)} "
        f"(95 % interval {text(diagnostic.lower)} to {text(diagnostic.upper)})"
    )


def summary_lines(result: Result, left_out: int) -> list[str]:
    """What was clustered, clusters with sizes and parameters, convergence and warnings: lines for the terminal."""
    summary = result.summary
    if isinstance(summary, Summary):
        lines = _tumour_lines(summary, left_out)
    else:
        lines = _mixture_lines(summary)
    lines += [_precision_line(d) for d in result.diagnostics if is_precision(d.name)]
    lines += [
        f"tumour content of {d.name.partition(':')[2]}: {d.mean:.3g} (95 % interval {d.lower:.3g} to {d.upper:.3g})"
        for d in result.diagnostics
        if d.name.startswith("tumour_content:")
    ]
    lines += [
        f"error rate: {d.mean:g} (95 % interval {d.lower:g} to {d.upper:g})"
        for d in result.diagnostics
        if d.name == "error_rate"
    ]
    told = [d for d in result.diagnostics if not math.isnan(d.rhat)]
    convergence = [f"{d.name} {d.rhat:.2f}" for d in told if not is_weight(d.name)]
    weights = [d.rhat for d in told if is_weight(d.name)]
    if weights:
        convergence.append(f"weights of the prevalence prior at most {max(weights):.2f}")
    if convergence:
        lines.append(f"R-hat (agreement of the chains, good below 1.05): {', '.join(convergence)}")
    lines += [f"warning: {warning}" for warning in result.warnings]
    return lines


def _tumour_lines(summary: Summary, left_out: int) -> list[str]:
    cells = [
        [f"{mean:.3f} [{lower:.3f}, {upper:.3f}]" for mean, lower, upper in zip(*columns)]
        for columns in zip(summary.cluster_mean, summary.cluster_lower, summary.cluster_upper)
    ]
    return [
        f"{count(len(summary.mutation_ids), 'mutation')} in {count(len(summary.sample_ids), 'sample')}: "
        f"{count(summary.num_clusters, 'cluster')}"
        + (
            f", {count(summary.num_outliers, 'outlier')} (cluster -1)"
            if summary.outlier_prob is not None
            else ""
        )
        + (f"; {left_out} left out or changed (left_out.tsv)" if left_out else ""),
        *_cluster_lines(
            summary.sample_ids, summary.cluster_size.tolist(), cells, 18, "samples", _marks(summary)
        ),
        _trunk_line(summary),
    ]


def _marks(summary: Summary) -> dict[int, str]:
    """What stands behind the rows of clusters."""
    return dict.fromkeys(absent_everywhere(summary.cluster_prob_present), "absent: probably artefacts")


def _trunk_line(summary: Summary) -> str:
    found = trunks(summary.cluster_prob_clonal, summary.cluster_size)
    where = "every sample" if len(summary.sample_ids) > 1 else summary.sample_ids[0]
    if not found:
        return f"trunk: no cluster is clonal in {where}"
    size = count(int(summary.cluster_size[found[0]]), "mutation")
    several = f", the largest of {len(found)} such clusters" if len(found) > 1 else ""
    return f"trunk: cluster {found[0]} ({size}), clonal in {where}{several}"


def _mixture_lines(summary: MixtureSummary) -> list[str]:
    K, D = summary.num_clusters, len(summary.column_names)
    by_column = [name for name, values in summary.parameters.items() if values.shape == (K, D)]
    cells: list[list[str]] = [[] for _ in range(K)]
    names: list[str] = []
    if by_column:
        name = by_column[0]
        names = [f"{name} of {column}" for column in summary.column_names]
        cells = [[f"{value:.4g}" for value in row] for row in summary.parameters[name].tolist()]
        if name + SD in summary.parameters:
            sds = summary.parameters[name + SD].tolist()
            cells = [
                [f"{cell} ± {sd:.2g}" for cell, sd in zip(row, sd_row)] for row, sd_row in zip(cells, sds)
            ]
    return [
        f"{count(len(summary.row_names), 'row')} of {count(D, 'column')}: {count(K, 'cluster')}",
        *_cluster_lines(names, summary.cluster_size.tolist(), cells, 12, "columns"),
    ]


def _cluster_lines(
    names: list[str],
    sizes: list[int],
    cells: list[list[str]],
    least_width: int,
    things: str,
    marks: Mapping[int, str] = MappingProxyType({}),
) -> Iterator[str]:
    """A table of the largest clusters and the first columns; `marks` stand behind the rows of their clusters."""
    shown = names[:SHOWN_COLUMNS]
    widths = [max(len(name), least_width) for name in shown]

    def row(*texts: str) -> str:
        return "".join(f"  {text:>{width}}" for text, width in zip(texts, widths))

    hidden = len(names) - len(shown)
    yield f"{'cluster':>7} {'size':>7}{row(*shown)}" + (f"  ({hidden} more {things})" if hidden else "")
    largest = sorted(range(len(sizes)), key=lambda k: -sizes[k])[:SHOWN_CLUSTERS]
    for k in sorted(largest):
        yield f"{k:>7} {sizes[k]:>7,}{row(*cells[k])}" + (f"  {marks[k]}" if k in marks else "")
    if len(sizes) > SHOWN_CLUSTERS:
        yield f"        ({len(sizes) - SHOWN_CLUSTERS} smaller clusters in clusters.tsv)"
