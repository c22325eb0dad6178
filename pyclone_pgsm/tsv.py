"""Tables with a row for each mutation or cluster in each sample, and how tables are written."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.files import replacing

NUM_DIGITS = 6
"""Significant digits of numbers, unless the ``attrs`` of a table have other ``digits``."""
DIGITS = f"%.{NUM_DIGITS}g"


def long_table(
    shape: tuple[int, ...], columns: Mapping[str, Any], rows: NDArray[np.int64] | None = None
) -> pd.DataFrame:
    """Return a table with one row for each of T mutations or clusters in each of D samples.

    A column is (T, D), or what can be broadcast to this `shape`: (D,) if it depends on the sample only, (T, 1) if on
    the mutation or cluster only (:func:`by_row`), or one value. The table has the mutations or clusters `rows`
    (n,), in this order; None: all of them.
    """
    chosen = slice(None) if rows is None else rows
    arrays = {name: _as_array(values) for name, values in columns.items()}
    return pd.DataFrame({name: np.broadcast_to(each, shape)[chosen].ravel() for name, each in arrays.items()})


def by_row(values: ArrayLike) -> NDArray:
    """Return (T, 1) values from (T,): of mutations or clusters, the same in every sample."""
    return _as_array(values)[:, np.newaxis]


def _as_array(values: ArrayLike) -> NDArray:
    return np.array(values, object) if isinstance(values, list) else np.asarray(values)


def table_text(table: pd.DataFrame, quoted: bool = True) -> str:
    """Return a table as tab-separated text; missing values are empty. Texts with a quotation mark are `quoted`."""
    return table.to_csv(
        sep="\t",
        index=False,
        float_format=f"%.{table.attrs.get('digits', NUM_DIGITS)}g",
        lineterminator="\n",
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
    )


def write_table(table: pd.DataFrame, path: Path, quoted: bool = True) -> None:
    """Write the :func:`table_text` of a table."""
    with replacing(path) as temporary:
        temporary.write_text(table_text(table, quoted), encoding="utf-8", newline="")
