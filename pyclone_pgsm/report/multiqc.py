"""The result as custom content for MultiQC: a row of numbers for each sample, and one for the whole."""

import math
from collections.abc import Mapping
from typing import Any

from pyclone_pgsm.report.content import Content

ABOUT = (
    "Clusters of mutations and their cellular prevalences, by "
    "<a href='https://pypi.org/project/pyclone-pgsm/'>pyclone-pgsm</a>: numbers of a tumour and of its samples."
)
COLUMNS: dict[str, dict[str, Any]] = {
    "clusters": {"title": "Clusters", "description": "Clusters present in the sample", "format": "{:,.0f}"},
    "mutations": {
        "title": "Mutations",
        "description": "Mutations with reads in the sample",
        "format": "{:,.0f}",
    },
    "clonal": {
        "title": "Clonal",
        "description": "Share of the present mutations that are clonal",
        "format": "{:,.2f}",
        "min": 0,
        "max": 1,
    },
    "depth": {"title": "Depth", "description": "Median reads of a mutation", "format": "{:,.0f}"},
    "rhat": {
        "title": "R-hat",
        "description": "Largest R-hat of the traced quantities; should be below 1.05",
        "format": "{:,.3f}",
    },
    "warnings": {"title": "Warnings", "description": "Warnings in the report", "format": "{:,.0f}"},
}


def multiqc(content: Content, numbers: Mapping[str, Mapping[str, float]], title: str) -> dict[str, Any]:
    """Return the content of a ``*_mqc.json``.

    `numbers` are those of :class:`~pyclone_pgsm.report.content.Page`; `title` is the name of the tumour or of the data.
    """
    rhat = content.result.largest_rhat
    rows = {f"{title}: {name}" if name else title: dict(row) for name, row in numbers.items()}
    rows[title]["warnings"] = len(content.result.warnings)
    if not math.isnan(rhat):
        rows[title]["rhat"] = rhat
    used = {name for row in rows.values() for name in row}
    return {
        "id": "pyclone_pgsm",
        "section_name": "pyclone-pgsm",
        "description": ABOUT,
        "plot_type": "table",
        "pconfig": {
            "id": "pyclone_pgsm_table",
            "title": "pyclone-pgsm: clusters",
            "namespace": "pyclone-pgsm",
        },
        "headers": {name: column for name, column in COLUMNS.items() if name in used},
        "data": {name: {key: round(value, 4) for key, value in row.items()} for name, row in rows.items()},
    }
