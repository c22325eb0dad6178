"""Reader of tables of numbers for mixtures of any likelihood: a matrix of T rows and D columns.

Text (CSV, TSV, semicolons or white space, optionally gzip-compressed; see `pyclone_pgsm.inputs.matrix_text`), NPY and
Parquet files are told apart by their first bytes. Everything that cannot be read is reported at once, with its place in
the file; nothing is guessed, filled in or left out silently.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import DataValueError, InputError
from pyclone_pgsm.inputs.matrix_text import (
    EXPECTED,
    NO_MISSING,
    Matrix,
    choose,
    note_name_problems,
    numbered_names,
    read_text,
)
from pyclone_pgsm.inputs.problems import FileProblems, input_error, raise_any
from pyclone_pgsm.inputs.values import Name

if TYPE_CHECKING:
    import pyarrow as pa

NO_NUMBERS = "an array of {} is not one of numbers; expected floats or integers"
_NPY, _PARQUET, _ZIP = b"\x93NUMPY", b"PAR1", b"PK\x03\x04"
_ROW_NAME = Name("name")
_NO_VALUE = f"no value; expected {EXPECTED}{NO_MISSING}"
_INFINITE = f"infinite; expected {EXPECTED}"


def read_matrix(path: Path | str, id_column: str | None = None, ignore: Collection[str] = ()) -> Matrix:
    """Read a table of numbers, without the columns in `ignore`; InputError lists everything wrong in the file.

    The column of row names is by default the first one if its name is empty or typical of an id (``id``, ``index``,
    ``.._id``), or if all its values are text rather than numbers.
    """
    path = Path(path)
    problems = FileProblems(str(path))
    start = b""
    with suppress(OSError, ValueError):  # reading it as text will tell why
        if path.is_file():  # what is read from a pipe would be missing then
            with path.open("rb") as file:
                start = file.read(16)
    if start.startswith(_NPY):
        table = _read_npy(path, id_column, ignore, problems)
    elif start.startswith(_PARQUET):
        table = _read_parquet(path, id_column, ignore, problems)
    elif start.startswith(_ZIP) and path.suffix == ".npz":
        raise problems.give_up("this is an archive of arrays (.npz); save the array itself, as .npy")
    else:
        table = read_text(path, id_column, ignore, problems)
    _note_row_name_problems(table, problems)
    raise_any(problems)
    if table.row_names:
        return table
    return replace(table, row_names=[str(row + 1) for row in range(len(table.rows))])


def data_error(matrix: Matrix, fault: DataValueError) -> InputError:
    """Return the error that locates in the file a value rejected by a likelihood's ``from_data``."""
    column, row = matrix.column_names[fault.column], int(matrix.rows[fault.row])
    problems, value = FileProblems(str(matrix.path)), float(matrix.values[fault.row, fault.column])
    changed = (
        "" if fault.value == value or math.isnan(value) else f"; `standardise` makes {fault.value:.6g} of it"
    )
    problems.add(f"expected {fault.expected}{changed}", row, column, f"{value:.15g}")
    return input_error([problems])


def _note_row_name_problems(table: Matrix, problems: FileProblems) -> None:
    """Note row names that are empty, contain control characters, or occur twice."""
    first: dict[str, int] = {}
    for name, row in zip(table.row_names, table.rows.tolist()):
        try:
            _ROW_NAME(name)
            if first.setdefault(name, row) != row:
                raise ValueError(f"row {first[name]} has this name, too; names of rows are distinct")
        except ValueError as fault:
            problems.add(str(fault), row, value=name, kind="name")


# --- arrays -------------------------------------------------------------------------------------------------


def _read_npy(path: Path, id_column: str | None, ignore: Collection[str], problems: FileProblems) -> Matrix:
    try:
        array = np.load(path, allow_pickle=False)
    except Exception as fault:  # NumPy parses the header as Python, and passes on any exception
        if "Object arrays" in str(fault):
            raise problems.give_up(
                "an array of Python objects, which is not read for safety; save an array of numbers"
            ) from None
        raise problems.give_up(f"the NPY file is damaged: {fault}") from None
    if array.dtype.kind not in "biuf":
        raise problems.give_up(NO_NUMBERS.format(array.dtype))
    if array.ndim not in (1, 2) or 0 in array.shape:
        raise problems.give_up(
            f"an array of shape {array.shape}; expected rows and columns, or one column, at least one of each"
        )
    values = array.reshape(len(array), -1)
    names = numbered_names(values.shape[1])
    ids, places = choose(names, id_column, ignore, problems.file)
    row_names = [] if ids is None else [f"{value:.15g}" for value in values[:, ids].tolist()]
    columns = [values[:, place].astype(np.float64) for place in places]
    return _checked([names[place] for place in places], row_names, columns, problems)


def _read_parquet(
    path: Path, id_column: str | None, ignore: Collection[str], problems: FileProblems
) -> Matrix:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise problems.give_up(
            "to read Parquet files, install pyarrow: pip install 'pyclone-pgsm[parquet]'; or save as CSV"
        ) from None
    try:
        table = parquet.ParquetFile(path).read()
    except (pa.ArrowException, OSError, ValueError) as fault:
        reason = next(iter(str(fault).splitlines()), type(fault).__name__)
        raise problems.give_up(f"the Parquet file is damaged: {reason}") from None
    names = table.column_names
    if not names or not len(table):
        raise problems.give_up("the table is empty: rows and columns of numbers are expected")
    index = _index_columns(table, names, problems)
    if id_column is None and len(index) == 1:
        id_column = index[0]
    ids, places = choose(names, id_column, ignore, problems.file)
    of_first = str(_kind(table.column(0))).removeprefix("large_")
    if ids is None and places[:1] == [0] and of_first.startswith(("string", "binary", "fixed_size_binary")):
        ids = places.pop(0)
    note_name_problems(names, places, None, problems)
    row_names = [] if ids is None else _texts(table.column(ids), names[ids], problems)
    columns = [_numbers(table.column(place), names[place], problems) for place in places]
    return _checked([names[place] for place in places], row_names, columns, problems)


def _index_columns(table: pa.Table, names: Sequence[str], problems: FileProblems) -> list[str]:
    """Return the columns that the metadata record as the pandas index."""
    try:
        noted = (table.schema.pandas_metadata or {}).get("index_columns", [])
        return [name for name in noted if name in names]
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise problems.give_up(
            "the Parquet file is damaged: what pandas noted in its metadata cannot be read"
        ) from None


def _kind(column: pa.ChunkedArray) -> pa.DataType:
    """Return the type of the values, which for a dictionary is that of its entries."""
    from pyarrow import types

    return column.type.value_type if types.is_dictionary(column.type) else column.type


def _texts(column: pa.ChunkedArray, name: str, problems: FileProblems) -> list[str]:
    """Return the names in a Parquet column; bytes, which some programs write for text, are decoded as UTF-8."""
    import pyarrow as pa
    from pyarrow import types

    kind = _kind(column)
    if types.is_string(kind) or types.is_large_string(kind):
        column = column.cast(kind).cast(pa.large_binary())  # a damaged text is no UTF-8, either
    if types.is_nested(kind):
        raise problems.give_up(f"the column {name!r} of names holds {kind}; expected texts or numbers")
    texts = []
    for row, value in enumerate(column.to_pylist(), start=1):
        if isinstance(value, bytes):
            try:
                value = value.decode()
            except UnicodeDecodeError:
                problems.add("not UTF-8; expected a text", row, name, repr(value))
                value = f"row {row}"
        texts.append("" if value is None else str(value).strip())
    return texts


def _numbers(column: pa.ChunkedArray, name: str, problems: FileProblems) -> NDArray[np.float64]:
    """Return the numbers of a Parquet column, NaN where missing; note a column of another type and return zeros."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind)
    ):
        problems.add(f"the column holds {kind}; expected numbers; leave it out with `ignore`", column=name)
        return np.zeros(len(column))
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def _checked(
    names: list[str], row_names: list[str], columns: list[NDArray[np.float64]], problems: FileProblems
) -> Matrix:
    """Build the matrix after noting every missing or infinite value; raise InputError if there are no columns."""
    if not columns:
        raise problems.give_up("there is no column of numbers")
    for name, column in zip(names, columns):
        for place in problems.keep_first(np.flatnonzero(~np.isfinite(column)).tolist()):
            fault = _NO_VALUE if np.isnan(column[place]) else _INFINITE
            problems.add(fault, place + 1, name, str(column[place]))
    values = np.column_stack(columns)
    return Matrix(Path(problems.file), row_names, names, values, np.arange(1, len(values) + 1))
