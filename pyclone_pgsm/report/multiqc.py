"""The result as custom content for MultiQC: a row of numbers for each sample, and one for the whole."""

import math
from collections.abc import Mapping
from typing import Any

from pyclone_pgsm.report.content import Content

ABOUT = (
    "Clusters of mutations and their cellular prevalences, by "
    "<a href='https://pypi.org/project/pyclone-pgsm/'>pyclone-pgsm</a>: numbers of a tumour and of its samples."
)


def _column(title: str, description: str, decimals: int = 0, **others: float) -> dict[str, Any]:
    """Return the header of a column, whose numbers have this many decimals."""
    return {"title": title, "description": description, "format": f"{{:,.{decimals}f}}", **others}


COLUMNS = {
    "clusters": _column("Clusters", "Clusters; of a sample, those present in it"),
    "mutations": _column("Mutations", "Mutations with reads in the sample"),
    "rows": _column("Rows", "Rows of a table of numbers"),
    "clonal": _column(
        "Clonal", "Share of the present mutations of clusters that are clonal", 2, min=0, max=1
    ),
    "depth": _column("Depth", "Median reads of a mutation"),
    "rhat": _column(
        "R-hat", "Largest R-hat of the quantities that are checked; at most 1.01 if converged", 3
    ),
    "converged": {
        "title": "Converged",
        "description": "Whether the chains meet the limits of convergence in run.json",
        "cond_formatting_rules": {"pass": [{"s_eq": "yes"}], "fail": [{"s_eq": "no"}]},
    },
    "warnings": _column("Warnings", "Warnings in the report"),
}


def multiqc(content: Content, numbers: Mapping[str, Mapping[str, float]], title: str) -> dict[str, Any]:
    """Return the content of a ``*_mqc.json``.

    `numbers` are those of each sample and of the whole result (``""``); `title` is the name of the tumour or of the
    data.
    """
    convergence = content.result.convergence
    rhat = max((quantity.rhat for quantity in convergence.checked), default=math.nan)
    rows: dict[str, dict[str, Any]] = {
        f"{title}: {name}" if name else title: {key: round(value, 4) for key, value in row.items()}
        for name, row in numbers.items()
    }
    rows[title]["converged"] = "yes" if convergence.converged else "no"
    rows[title]["warnings"] = len(content.result.warnings)
    if math.isfinite(rhat):
        rows[title]["rhat"] = round(rhat, 4)
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
        "data": rows,
    }
