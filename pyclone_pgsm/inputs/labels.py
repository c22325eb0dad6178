"""A file that says which cluster each observation is in, as a start of the chains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.columns import Column, Style, TextTable, read_columns
from pyclone_pgsm.inputs.problems import FileProblems, raise_any
from pyclone_pgsm.labels import canonical

CLUSTER_COLUMNS = ("cluster_id", "cluster", "label")
ID_COLUMN = "mutation_id"

_STYLE = Style("a table of read counts as text", bool, may_have_one_column=True)
_NO_CLUSTER = frozenset({"", "na", "n/a", "nan", "null", "none"})
_SHOWN_NAMES = 5


def read_labels(path: Path, names: Sequence[str] | None = None) -> NDArray[np.int32]:
    """Labels from a table, such as the ``mutations.tsv`` of an earlier run.

    The clusters stand in the column ``cluster_id``, ``cluster`` or ``label``, as any text. The observations are found
    by their names in the column ``mutation_id``, or else in the first one; they may be in any order, and in several
    rows as long as these agree. Where one side has no names, the rows are the observations.

    Parameters
    ----------
    path : Path
        Separated by tabs, commas or semicolons, with a header; or the one column alone.
    names : sequence of str or None
        The T observations, all different. None: of the file's order and number.

    Returns
    -------
    (T,) int32
        Blocks 0, 1, .. in order of first appearance.

    Raises
    ------
    InputError
        Names every row that is wrong: a cluster that is missing or contradicts another row, an observation that is
        unknown; and observations without a row.
    """
    problems = FileProblems(str(path))
    table = _read_table(path, problems)
    where = next((name for name in CLUSTER_COLUMNS if name in table.columns), None)
    if where is None:
        expected = "one of the columns " + ", ".join(CLUSTER_COLUMNS)
        raise problems.give_up(
            f"{expected} is expected; the header has {', '.join(filter(None, table.names))}",
            table.header_line,
        )
    column = table.columns[where]
    empty = [row for row, code in enumerate(column.codes) if column.texts[code].lower() in _NO_CLUSTER]
    for row in problems.keep_first(empty):
        problems.add("a cluster is expected", int(table.lines[row]), where, column.text_of(row))
    raise_any(problems)
    id_column = _id_column(table, where, names is not None)
    if id_column is None:
        labels = _in_order(column, names, problems)
    else:
        labels = _by_name(table, id_column, where, names, problems)
    raise_any(problems)
    return canonical(labels).astype(np.int32)


def _read_table(path: Path, problems: FileProblems) -> TextTable:
    table = read_columns(path, _STYLE, problems)
    raise_any(problems)
    return table


def _id_column(table: TextTable, where: str, has_names: bool) -> str | None:
    """The column with the names of the observations."""
    if ID_COLUMN in table.columns:
        return ID_COLUMN
    return table.names[0] if has_names and table.names[0] != where else None


def _in_order(column: Column, names: Sequence[str] | None, problems: FileProblems) -> list[str]:
    if names is not None and len(names) != len(column.codes):
        problems.add(
            f"{len(column.codes)} rows found, {len(names)} expected: one for each observation, as there is no column "
            "with their names"
        )
    return [column.texts[code] for code in column.codes]


def _by_name(
    table: TextTable, id_column: str, where: str, names: Sequence[str] | None, problems: FileProblems
) -> list[str]:
    """The cluster of each observation, in the order of `names` or of first appearance."""
    ids, clusters = table.columns[id_column], table.columns[where]
    known = None if names is None else set(names)
    first_row: dict[str, int] = {}
    unknown, contrary = [], []
    for row in range(len(table.lines)):
        name = ids.text_of(row)
        first = first_row.setdefault(name, row)
        if known is not None and name not in known:
            unknown.append(row)
        elif clusters.text_of(row) != clusters.text_of(first):
            contrary.append(row)
    for row in problems.keep_first(unknown):
        problems.add("not one of the observations", int(table.lines[row]), id_column, ids.text_of(row))
    for row in problems.keep_first(contrary):
        name = ids.text_of(row)
        first = first_row[name]
        problems.add(
            f"row {table.lines[first]} has {name} in cluster {clusters.text_of(first)}; one is expected",
            int(table.lines[row]),
            where,
            clusters.text_of(row),
        )
    wanted = list(first_row) if names is None else names
    missing = [name for name in wanted if name not in first_row]
    if missing:
        listed = ", ".join(missing[:_SHOWN_NAMES]) + (", ..." if len(missing) > _SHOWN_NAMES else "")
        problems.add(f"no row for {len(missing)} of the {len(wanted)} observations: {listed}")
    return [clusters.text_of(first_row[name]) for name in wanted if name in first_row]
