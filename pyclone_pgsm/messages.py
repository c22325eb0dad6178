"""What the terminal says of a result."""

from __future__ import annotations

import math

from pyclone_pgsm.posterior.summarize import Diagnostic, Result

SHOWN_CLUSTERS = 20
SHOWN_SAMPLES = 6


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def _precision_line(diagnostic: Diagnostic) -> str:
    def text(value: float) -> str:
        return "binomial" if math.isinf(value) else f"{value:.0f}"

    return (
        f"overdispersion: precision {text(diagnostic.mean)} "
        f"(95 % interval {text(diagnostic.lower)} to {text(diagnostic.upper)})"
    )


def summary_lines(result: Result, left_out: int) -> list[str]:
    """Samples, mutations, clusters with sizes and prevalences, convergence and warnings: lines for the terminal."""
    summary = result.summary
    lines = [
        f"{_count(len(summary.mutation_ids), 'mutation')} in {_count(len(summary.sample_ids), 'sample')}: "
        f"{_count(summary.num_clusters, 'cluster')}"
        + (f"; {left_out} left out or changed (left_out.tsv)" if left_out else "")
    ]
    shown = list(range(len(summary.sample_ids)))[:SHOWN_SAMPLES]
    names = [summary.sample_ids[d] for d in shown]
    widths = [max(len(name), 18) for name in names]
    header = f"{'cluster':>7} {'size':>7}  " + "  ".join(
        f"{name:>{width}}" for name, width in zip(names, widths)
    )
    hidden = len(summary.sample_ids) - len(shown)
    lines.append(header + (f"  ({hidden} more samples)" if hidden else ""))
    largest = sorted(range(summary.num_clusters), key=lambda k: -summary.cluster_size[k])[:SHOWN_CLUSTERS]
    for k in sorted(largest):
        cells = (
            f"{summary.cluster_mean[k, d]:.3f} [{summary.cluster_lower[k, d]:.3f}, {summary.cluster_upper[k, d]:.3f}]"
            for d in shown
        )
        lines.append(
            f"{k:>7} {summary.cluster_size[k]:>7,}  "
            + "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths))
        )
    if summary.num_clusters > SHOWN_CLUSTERS:
        lines.append(f"        ({summary.num_clusters - SHOWN_CLUSTERS} smaller clusters in clusters.tsv)")
    lines += [_precision_line(d) for d in result.diagnostics if d.name == "precision"]
    convergence = ", ".join(f"{d.name} {d.rhat:.2f}" for d in result.diagnostics if not math.isnan(d.rhat))
    if convergence:
        lines.append(f"R-hat (agreement of the chains, good below 1.05): {convergence}")
    lines += [f"warning: {warning}" for warning in result.warnings]
    return lines
