"""Reader of cluster labels from which chains can start."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.inputs.columns import Style, read_columns
from pyclone_pgsm.inputs.problems import FileProblems, listed, raise_any
from pyclone_pgsm.inputs.table import Table
from pyclone_pgsm.labels import canonical

CLUSTER_COLUMNS = ("cluster_id", "cluster", "label")
ID_COLUMN = "mutation_id"

_STYLE = Style(
    "a table with a column cluster_id, such as the mutations.tsv or assignments.tsv of a result",
    lambda name: True,
    may_have_one_column=True,
)
_FIRST = "(first)"
"""Name of a first column without a name in messages."""
_SHOWN_NAMES = 5


def read_labels(path: Path, names: Sequence[str]) -> NDArray[np.int32]:
    """Read the labels of named observations from a table, such as the ``mutations.tsv`` of an earlier run.

    Clusters are read, as any text, from the column ``cluster_id``, ``cluster`` or ``label``. Observations are
    identified by the column ``mutation_id``, else by the first column, which may lack a name, unless it has the
    clusters. They may be in any order, and in several rows that agree. Without such a column each row is one
    observation, in order.

    The result is (T,), the blocks 0, 1, .. in order of first appearance. InputError lists every wrong row (its cluster
    is missing or contradicts another row, or its observation is unknown), and observations without a row.
    """
    problems = FileProblems(str(path))
    table = read_columns(path, _STYLE, problems)
    raise_any(problems)
    where = next((name for name in CLUSTER_COLUMNS if name in table.columns), None)
    if where is None:
        message = f"one of the columns {', '.join(CLUSTER_COLUMNS)} is expected; the header has "
        raise problems.give_up(
            message + listed(list(filter(None, table.names)), _SHOWN_NAMES), table.header_line
        )
    column = table.columns[where]
    table.note(table.is_empty(where), where, "a cluster is expected")
    raise_any(problems)
    id_column = ID_COLUMN if ID_COLUMN in table.columns else table.names[0]
    if id_column != where:
        labels = _by_name(table, id_column, where, names)
    else:
        labels = column.map(str, object).tolist()
        if len(names) != len(labels):
            problems.add(
                f"{len(labels)} rows found, {len(names)} expected: one for each observation, as there is no column "
                "with their names"
            )
    raise_any(problems)
    return canonical(labels).astype(np.int32)


def _by_name(table: Table, id_column: str, where: str, names: Sequence[str]) -> list[str]:
    """Return the cluster of each observation, in the order of `names`."""
    table.columns[id_column] = replace(table.columns[id_column], name=id_column or _FIRST)
    ids, clusters = (table.columns[name].map(str, object) for name in (id_column, where))
    rows = pd.DataFrame({"cluster": clusters, "line": table.lines}, index=ids)
    first = rows[~rows.index.duplicated()]
    before = first.loc[ids]
    wanted = pd.Index(names)
    is_known = rows.index.isin(wanted)
    table.note(~is_known, id_column, "not one of the observations")
    table.note(
        is_known & (clusters != before["cluster"].to_numpy()),
        where,
        lambda row: (
            f"row {before['line'].iat[row]} has {ids[row]} in cluster {before['cluster'].iat[row]}; one is expected"
        ),
    )
    if missing := wanted[~wanted.isin(first.index)].tolist():
        table.problems.add(
            f"no row for {len(missing)} of the {len(wanted)} observations: {listed(missing, _SHOWN_NAMES)}"
        )
    return first["cluster"].reindex(wanted).dropna().tolist()
