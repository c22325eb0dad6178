"""Tables of the page: plain HTML, complete without JavaScript, with every text escaped."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.posterior.checks import doubtful
from pyclone_pgsm.posterior.mixture import SD, MixtureSummary
from pyclone_pgsm.posterior.states import UNCERTAIN
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.report.content import escaped, general, interval, number

SHOWN_GENES = 8
MOST_INTERVALS = 60_000
"""With more mutations times samples, the table of mutations shows prevalences without intervals."""
MOST_CELLS = 250_000
"""Largest number of mutations times samples in the table; the file has all."""
SHOWN_LEFT_OUT = 500


class Column(NamedTuple):
    """Name of a column, and whether it contains numbers."""

    name: str
    is_number: bool = False


def table(
    identity: str,
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[tuple[str, Sequence[str]]],
    kind: str = "",
) -> str:
    """Return an HTML table. A row is its attributes and its cells, which must already be escaped."""
    heads = "".join(
        f'<th scope="col"{" class=n" if column.is_number else ""}>{escaped(column.name)}</th>'
        for column in columns
    )
    kinds = ["" if column.is_number else " class=t" for column in columns]
    body = "\n".join(
        f"<tr{attributes}>" + "".join(f"<td{each}>{cell}" for each, cell in zip(kinds, cells))
        for attributes, cells in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(caption)}">'
        f'<table id="{identity}"{f" class={kind}" if kind else ""}><caption>{escaped(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def chooser(cluster: int, colour: str) -> str:
    """Return the button that selects a cluster, with its colour."""
    return (
        f'<button type="button" class="choose" data-cluster="{cluster}" aria-pressed="false">'
        f'<svg width="11" height="11" aria-hidden="true"><circle cx="5.5" cy="5.5" r="5" fill="{colour}"/></svg> '
        f"{cluster}</button>"
    )


def genes_of(summary: Summary, data: Observations) -> list[str]:
    """List the genes of each cluster, escaped: the first few by name, the others by their number."""
    genes = data.annotations.get("gene")
    if genes is None:
        return [""] * summary.num_clusters
    found = []
    for k in range(summary.num_clusters):
        named = sorted({genes[t] for t in np.flatnonzero(summary.labels == k)} - {""})
        more = f" and {len(named) - SHOWN_GENES:,} more" if len(named) > SHOWN_GENES else ""
        found.append(escaped(", ".join(named[:SHOWN_GENES])) + more)
    return found


def cluster_table(summary: Summary, data: Observations, colours: Sequence[str]) -> str:
    """Make the table of clusters: size, genes, and prevalence and status in each sample with their uncertainty."""
    genes = genes_of(summary, data)
    columns = [Column("cluster"), Column("mutations", True), Column("remark")]
    columns += [Column("genes")] if any(genes) else []
    for name in summary.sample_ids:
        columns += [Column(f"prevalence in {name}", True), Column("status")]
    state = summary.cluster_status
    trunk = summary.trunks
    remarks = dict.fromkeys(trunk, "also clonal") | dict.fromkeys(trunk[:1], "trunk")
    remarks |= dict.fromkeys(summary.absent, "absent from every sample")

    def cells(k: int) -> list[str]:
        row = [chooser(k, colours[k]), f"{summary.cluster_size[k]:,}", remarks.get(k, "")]
        row += [genes[k]] if any(genes) else []
        for d in range(len(summary.sample_ids)):
            values = (summary.cluster_mean[k, d], summary.cluster_lower[k, d], summary.cluster_upper[k, d])
            present, clonal = summary.cluster_prob_present[k, d], summary.cluster_prob_clonal[k, d]
            tip = f"prob_present {present:.3f}, prob_clonal {clonal:.3f}"
            row += [
                interval(*values),
                f'<span title="{tip}">{state[k, d]}</span> {_sure(present, clonal, state[k, d])}',
            ]
        return row

    present_above, clonal_above = summary.thresholds
    caption = (
        "Clusters: mean cellular prevalence with its 95 % interval, and status (present above a prevalence of "
        f"{present_above:g}, clonal above {clonal_above:g}) with its probability"
    )
    rows = ((f' data-cluster="{k}"', cells(k)) for k in range(summary.num_clusters))
    return table("clusters", caption, columns, rows)


def _sure(present: float, clonal: float, status: str) -> str:
    """Format the probability of the most probable status, in parentheses if it is uncertain."""
    chance = number(max(1 - present, present - clonal, clonal), 2)
    return f"({chance})" if status == UNCERTAIN else chance


def mutation_table(summary: Summary, data: Observations) -> tuple[str, int]:
    """Return the table of mutations, and how many it shows."""
    T, D = summary.mean.shape
    shown = min(T, MOST_CELLS // D)
    genes = data.annotations.get("gene")
    columns = [Column("mutation"), *([Column("gene")] if genes else []), Column("cluster", True)]
    columns += [Column("probability", True), Column("second cluster", True), Column("its probability", True)]
    outlier_prob = summary.outlier_prob
    columns += [] if outlier_prob is None else [Column("outlier", True)]
    columns += [Column("doubt")]
    columns += [Column(name, True) for name in summary.sample_ids]
    with_intervals = T * D <= MOST_INTERVALS
    why = doubtful(summary).tolist()
    means, lower, upper = summary.mean.tolist(), summary.lower.tolist(), summary.upper.tolist()

    def cells(t: int) -> list[str]:
        second = int(summary.second_cluster[t])
        row = [escaped(summary.mutation_ids[t]), *([escaped(genes[t])] if genes else [])]
        row += [str(summary.labels[t]), number(float(summary.assignment_prob[t]), 2)]
        row += [str(second), number(float(summary.second_prob[t]), 2)] if second >= 0 else ["", ""]
        row += [] if outlier_prob is None else [number(float(outlier_prob[t]), 2)]
        row.append(why[t])
        if with_intervals:
            return row + [interval(*values) for values in zip(means[t], lower[t], upper[t])]
        return row + [number(value, 2) for value in means[t]]

    caption = "Mutations: cluster and mean cellular prevalence in each sample"
    caption += ", with its 95 % interval" if with_intervals else ""
    rows = ((' class="bad"' if why[t] else "", cells(t)) for t in range(shown))
    return table("mutations", caption, columns, rows, "mutations"), shown


def mixture_tables(
    summary: MixtureSummary, clusters: pd.DataFrame, colours: Sequence[str]
) -> tuple[str, str, int]:
    """Return the tables of clusters and of rows of data other than a tumour, and how many rows are shown."""
    columns = [Column(str(name), name != "dimension") for name in clusters]
    digits = [summary.digits(4) if f"{name}{SD}" in clusters else 4 for name in clusters]
    rows = []
    for values in clusters.itertuples(index=False, name=None):
        cells = [chooser(int(values[0]), colours[int(values[0])])]
        cells += [escaped(general(*each)) for each in zip(values[1:], digits[1:])]
        rows.append((f' data-cluster="{int(values[0])}"', cells))
    cluster_rows = table("clusters", "Clusters: posterior means of their parameters", columns, rows)
    shown = min(len(summary.labels), MOST_CELLS)
    names = [Column("row"), Column("cluster", True), Column("probability", True)]
    each = zip(summary.row_names[:shown], summary.labels.tolist(), summary.assignment_prob.tolist())
    members = (("", [escaped(name), str(k), number(prob, 2)]) for name, k, prob in each)
    data_rows = table("mutations", "Rows of the data and their clusters", names, members, "mutations")
    return cluster_rows, data_rows, shown


def left_out_table(frame: pd.DataFrame) -> str:
    """Return the number of rows left out for each reason, and a table of the first ones."""
    if not len(frame):
        return "<p>Nothing was left out or changed.</p>"
    reasons = frame["reason"].value_counts()
    listed = "".join(f"<li>{escaped(reason)}: {amount:,}</li>" for reason, amount in reasons[:20].items())
    more = f"<li>{count(len(reasons) - 20, 'other reason')}</li>" if len(reasons) > 20 else ""
    first = frame.head(SHOWN_LEFT_OUT).astype(object)
    part = f"<p>The first {SHOWN_LEFT_OUT} of {len(frame):,}; left_out.tsv has all.</p>"
    note = part if len(frame) > SHOWN_LEFT_OUT else ""
    columns = [Column(str(name)) for name in frame]
    values = first.where(first.notna(), None).itertuples(index=False, name=None)
    rows = (("", [escaped(general(value)) for value in row]) for row in values)
    return f"<ul>{listed}{more}</ul>{note}" + table("left_out", "Left out or changed", columns, rows)
