"""The page for data other than a tumour."""

import numpy as np

from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.likelihoods.matrix import DataMatrix
from pyclone_pgsm.plots import appearance
from pyclone_pgsm.posterior.mixture import MixtureSummary
from pyclone_pgsm.report import figures, sections
from pyclone_pgsm.report.content import Content, Page, Section, flat
from pyclone_pgsm.report.tables import mixture_tables

MOST_COLUMNS = 40


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
