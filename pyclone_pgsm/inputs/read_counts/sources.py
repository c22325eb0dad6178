"""Tables of read counts as Python takes them: files and data frames, each with its name in messages."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.ranges import check_kind, check_path

Table = Path | str | pd.DataFrame
Tables = Table | Sequence[Table] | Mapping[str, pd.DataFrame]
"""One or several tables of read counts (files or data frames), or a mapping from samples to data frames."""
Source = tuple[str, Path | pd.DataFrame]
"""A table of read counts, preceded by its name in messages."""


def sources_of(tables: Any) -> list[Source]:
    """Return all tables of read counts with their names in messages; UsageError if these are anything else."""
    expected = (
        "a data frame, the path of a table, several of these, or a dict of samples and their data frames"
    )
    given: dict[str, Any]
    if isinstance(tables, Mapping):
        given = {
            f"the data frame of {sample!r}": _with_sample(sample, table) for sample, table in tables.items()
        }
    elif isinstance(tables, Table):
        given = {"the data frame": tables}
    else:
        check_kind("tables", tables, Collection, expected)
        given = {f"data frame {place}": table for place, table in enumerate(tables)}
    sources: list[Source] = []
    for name, table in given.items():
        check_kind("tables", table, Table, expected)
        if not isinstance(table, pd.DataFrame):
            check_path("tables", table)
            sources.append((str(table), Path(table)))
        elif "sample_id" in table.columns:
            sources.append((f"{name} (rows counted from 0)", table))
        else:
            raise UsageError(
                f"{name} has no column sample_id: add one, or give each sample's data frame by its name, as in "
                "{'S1': first, 'S2': second}"
            )
    return sources


def _with_sample(sample: str, table: object) -> pd.DataFrame:
    """Return the data frame of one sample with the sample's name as a column."""
    if not isinstance(table, pd.DataFrame):
        raise UsageError(f"the table of {sample!r} must be a data frame, not {type(table).__name__}")
    for other in pd.unique(table.loc[:, table.columns == "sample_id"].to_numpy(object).ravel()):
        if str(other) != str(sample):
            raise UsageError(
                f"the data frame of {sample!r} has rows of sample_id {other!r}: give the data frame of each sample by "
                "its name, or a data frame of several samples without a name"
            )
    is_missing = pd.api.types.is_scalar(sample) and pd.isna(sample)  # of groupby(.., dropna=False)
    return table.assign(sample_id="" if is_missing else str(sample))
