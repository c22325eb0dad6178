"""The pages: that for a tumour, and that for other data."""

from typing import Any

import numpy as np

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.likelihoods.matrix import DataMatrix
from pyclone_pgsm.plots import appearance
from pyclone_pgsm.posterior.checks import doubtful
from pyclone_pgsm.posterior.mixture import MixtureSummary
from pyclone_pgsm.posterior.states import SURE
from pyclone_pgsm.posterior.summarize import Findings
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.report import figures, sections
from pyclone_pgsm.report.content import Content, Page, Section, flat
from pyclone_pgsm.report.tables import cluster_table, left_out_table, mixture_tables, mutation_table

MOST_COLUMNS = 40
LARGEST = "the {:,} largest of {:,} clusters"


def summary_line(result: Findings[Summary]) -> str:
    """Summarise the result in a few sentences."""
    summary = result.summary
    text = f"{count(len(summary.labels), 'mutation')} in {count(len(summary.sample_ids), 'sample')}: "
    text += result.clusters
    text += f" and {count(summary.num_outliers, 'outlier')}" if summary.num_outliers else ""
    number = np.count_nonzero(doubtful(summary))
    doubts = f"{number:,} mutation{' is' if number == 1 else 's are'}" if number else "No mutation is"
    return f"{text}. Trunk: {summary.trunk}. {doubts} doubtful."


def tumour_page(content: Content) -> Page:
    """Make the page for a tumour."""
    summary: Summary = content.result.summary
    data: Observations = content.data.observations
    colours = appearance.cluster_colours(summary.cluster_size)
    names, files = summary.sample_ids, sections.files_of(content, "mutations.tsv", "clusters.tsv")

    clusters = (
        '<p class="script">Select a cluster here or in a picture: it is highlighted in all linked pictures, and the '
        "table of mutations shows only its mutations. Select it again to show all.</p>"
        f"{cluster_table(summary, data, colours)}"
    )
    K = summary.num_clusters
    caption = "Prevalence of each cluster in each sample, with its 95 % interval."
    lines = sections.picture("prevalences", caption + sections.part_shown(LARGEST, figures.MOST_LINES, K))
    quantities = sections.choices("quantity", "show", ["variant allele frequency", "cellular prevalence"])
    of_points = "Each point is a mutation."
    if (summary.labels < 0).any():
        of_points += " Dark grey ones are outliers, which belong to no cluster."
    pairs = sections.picture("pairs", of_points, f"{sections.choices_of_pair(names)} {quantities}")
    densities = sections.picture(
        "densities",
        "Posterior density of each cluster's prevalence, each scaled to the same maximum."
        + sections.part_shown(LARGEST, figures.MOST_DENSITIES, K),
        sections.choices("density-sample", "sample", names),
    )
    mutations, shown = mutation_table(summary, data)
    number = int(np.count_nonzero(doubtful(summary)))
    mutations = (
        sections.search_and_download(list(files), shown, len(summary.labels), doubtful=number) + mutations
    )
    if number:
        mutations = (
            f"<p>A mutation is doubtful if the probability of its cluster is below {SURE:g}, or if its reads do not "
            f"fit its cluster. Such rows are marked.</p>{mutations}"
        )
    contents = [
        sections.warnings(content),
        sections.what_was_run(content),
        Section("clusters-section", "Clusters", clusters),
        Section("across-section", "Prevalences across samples", lines),
        Section("pairs-section", "Pairs of samples" if len(names) > 1 else "Mutations by cluster", pairs),
        Section("density-section", "Densities", densities),
        sections.coclustering_section(content, "mutation"),
        Section("mutations-section", "Mutations", mutations),
        Section("left", "What was left out and why", left_out_table(content.tables["left_out.tsv"])),
        sections.chains_section(content),
    ]
    fields = [("mutation", "name"), *([("gene", "gene")] if "gene" in data.annotations else [])]
    fields += [("cluster", "cluster"), ("second", "second"), ("across", "tell_x"), ("up", "tell_y")]
    drawn = [figures.scatter("pairs", fields, names)]
    if summary.num_clusters:
        drawn = [figures.prevalence_lines(summary), figures.densities(), *drawn]
    else:  # all mutations are outliers
        contents = [each for each in contents if each.anchor not in ("across-section", "density-section")]
    found = {**tumour_data(summary, data, shown), "colours": colours}
    return Page(summary_line(content.result), contents, drawn, found, files)


def tumour_data(summary: Summary, data: Observations, shown: int) -> dict[str, Any]:
    """Return the data of a tumour for ``page.js``."""
    depth = np.where(data.has_data, data.depth, 0)
    alt = np.where(data.has_data, data.alt_counts, 0)
    named = {"names": summary.mutation_ids, "genes": data.annotations.get("gene")}
    clusters, places, density = figures.density_values(summary)
    return {
        "kind": "tumour",
        "samples": summary.sample_ids,
        "labels": flat(summary.labels),
        "second": flat(summary.second_cluster),
        "prevalence": flat(np.round(summary.mean, 4)),
        "depth": flat(depth),
        "alt": flat(alt),
        "major": flat(data.major_cn),
        "minor": flat(data.minor_cn),
        "density": {
            "clusters": clusters.tolist(),
            "x": flat(np.round(places, 4)),
            "y": flat(np.round(density, 3)),
        },
        "minor_clusters": np.flatnonzero(appearance.minor_clusters(summary.cluster_size)).tolist(),
        **(named if shown < len(depth) else {}),
    }


def mixture_page(content: Content) -> Page:
    """Make the page for data other than a tumour."""
    summary: MixtureSummary = content.result.summary
    data: DataMatrix = content.data.matrix
    colours = appearance.cluster_colours(summary.cluster_size)
    names = list(map(str, summary.column_names))[:MOST_COLUMNS]
    files = sections.files_of(content, "assignments.tsv", "clusters.tsv")
    clusters, members, shown = mixture_tables(summary, content.tables["clusters.tsv"], colours)
    fields = [("row", "name"), ("cluster", "cluster"), ("across", "tell_x"), ("up", "tell_y")]
    drawn = [figures.scatter("pairs", fields, names)]
    values = data.values[:, :MOST_COLUMNS]
    missing = np.isnan(values)
    are_bits = bool((np.isin(values, (0.0, 1.0)) | missing).all())
    each = "Each point is a row, spread around its values." if are_bits else "Each point is a row."
    each += " Rows with a missing value in these columns are not shown." if missing.any() else ""
    each += sections.part_shown("the first {:,} of {:,} columns", len(names), len(summary.column_names))
    above = sections.search_and_download(list(files), shown, len(summary.labels), "row")
    contents = [
        sections.warnings(content),
        sections.what_was_run(content),
        Section("clusters-section", "Clusters", clusters),
        Section("pairs-section", "Rows", sections.picture("pairs", each, sections.choices_of_pair(names))),
        sections.coclustering_section(content, "row"),
        Section("mutations-section", "Clusters of the rows", above + members),
        sections.chains_section(content),
    ]
    named = {"names": summary.row_names} if shown < len(summary.labels) else {}
    found = {
        "kind": "mixture",
        "samples": names,
        "labels": flat(summary.labels),
        "values": flat(values, summary.digits(6)),
        "areBits": are_bits,
        "colours": colours,
        **named,
    }
    amounts = count(len(summary.labels), "row"), count(len(summary.column_names), "column")
    line = f"{amounts[0]} of {amounts[1]}: {content.result.clusters}."
    return Page(line, contents, drawn, found, files)
