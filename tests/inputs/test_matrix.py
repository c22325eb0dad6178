"""Tables of numbers: every way to write them, every way to get them wrong, and what is found out."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyclone_pgsm.errors import DataValueError, InputError, UsageError
from pyclone_pgsm.inputs.matrix import Matrix, data_error, read_matrix

DATA = Path(
    os.environ.get("PYCLONE_PGSM_TEST_DATA") or Path(__file__).resolve().parents[2].parent / "shared" / "data"
)
NO_VALUE = "no value; expected a finite number; leave the row or the column out, or fill the value in"
PERHAPS_NAMES = "if this column holds the names of the rows, name it as the id column"


def read(tmp_path: Path, content: str | bytes, name: str = "t.csv", **options: Any) -> Matrix:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_matrix(path, **options)


def error_in(tmp_path: Path, content: str | bytes, name: str = "t.csv", **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(tmp_path, content, name, **options)
    return str(caught.value).replace(str(tmp_path) + os.sep, "")


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


# --- tables that are right ----------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", ["\t", ",", ";", " ", "   "])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("has_header", [True, False])
@pytest.mark.parametrize("has_names", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_every_way_to_write_a_table(
    tmp_path: Path, separator: str, line_end: str, has_header: bool, has_names: bool, packed: bool
) -> None:
    rows = [["u", "1e3", "-0.5"], ["ü", "+2", ".25"], ["w", "3.", "0"]]
    if has_header:
        rows.insert(0, ["gene", "height", "width"])
    lines = [separator.join(row if has_names else row[1:]) for row in rows]
    if separator.isspace() and separator != "\t":
        lines = [f"  {line}  " for line in lines]
    content = line_end.join(["# made by hand", *lines, "", ""]).encode()
    matrix = read(tmp_path, gzip.compress(content, mtime=0) if packed else content, "any.name")
    assert matrix.path == tmp_path / "any.name"
    assert matrix.values.tolist() == [[1000, -0.5], [2, 0.25], [3, 0]]
    assert matrix.values.dtype == np.float64
    assert matrix.values.flags.c_contiguous
    assert matrix.column_names == (["height", "width"] if has_header else ["x1", "x2"])
    assert matrix.row_names == (["u", "ü", "w"] if has_names else ["1", "2", "3"])
    assert matrix.rows.tolist() == [start := 2 + has_header, start + 1, start + 2]


@pytest.mark.parametrize(
    ("content", "columns", "rows", "values"),
    [
        ("1\n2\n", ["x1"], ["1", "2"], [[1], [2]]),
        ("height\n1\n2", ["height"], ["1", "2"], [[1], [2]]),
        ("my height\n 1\n2", ["my height"], ["1", "2"], [[1], [2]]),
        (" 2 , 1e-3 \n", ["x1", "x2"], ["1"], [[2, 0.001]]),
        ("x,y\n\n1,2\n\n\n3,4\n\n", ["x", "y"], ["1", "2"], [[1, 2], [3, 4]]),
        ('"a,b", y \n1,"2"\n', ["a,b", "y"], ["1"], [[1, 2]]),
        ("\ufeffx,y\n1,2\n", ["x", "y"], ["1"], [[1, 2]]),
        # row names: pandas with an index, R, names that are numbers, names that say so
        (",x,y\n0,5,6\n1,7,8\n", ["x", "y"], ["0", "1"], [[5, 6], [7, 8]]),
        (",0,1\n0,5,6\n", ["0", "1"], ["0"], [[5, 6]]),
        (",0\na,5\n", ["0"], ["a"], [[5]]),
        ('"x" "y"\n"1" 5 6\n"2" 7 8\n', ["x", "y"], ["1", "2"], [[5, 6], [7, 8]]),
        ('"x"\n"g 1" 5\n"g 2" 7\n', ["x"], ["g 1", "g 2"], [[5], [7]]),
        ("x\ty\n1\t5\t6\n", ["x", "y"], ["1"], [[5, 6]]),
        ("sample_id,x\n7,5\n8,6\n", ["x"], ["7", "8"], [[5], [6]]),
        ("ID,x\n7,5\n", ["x"], ["7"], [[5]]),
        ("id,5,6\n7,8,9\n", ["5", "6"], ["7"], [[8, 9]]),
        ("what,x\nu,5\nv,6\n", ["x"], ["u", "v"], [[5], [6]]),
        ("idle,x\n7,5\n", ["idle", "x"], ["1"], [[7, 5]]),
        # True and False
        ("x,y\nTrue,1.5\nFalse,2\n", ["x", "y"], ["1", "2"], [[1, 1.5], [0, 2]]),
        ("TRUE\tfalse\nFALSE\ttrue\n", ["x1", "x2"], ["1", "2"], [[1, 0], [0, 1]]),
        ("what,x\nu,True\nv,0\n", ["x"], ["u", "v"], [[1], [0]]),
        ("what,False,True\nu,0.2,0.8\n", ["False", "True"], ["u"], [[0.2, 0.8]]),
        # without a header
        ("u,0.5,2\nv,1,3\n", ["x1", "x2"], ["u", "v"], [[0.5, 2], [1, 3]]),
        ("u,1,0,1\nv,1,1,1\n", ["x1", "x2", "x3"], ["u", "v"], [[1, 0, 1], [1, 1, 1]]),
        ("u 5", ["x1"], ["u"], [[5]]),
        ("0,1\n1,1\n", ["x1", "x2"], ["1", "2"], [[0, 1], [1, 1]]),
        ("0,1,1\n1,1,1\n", ["x1", "x2", "x3"], ["1", "2"], [[0, 1, 1], [1, 1, 1]]),
        # separators at the end of lines
        ("x\ty\n1\t2\t\n3\t4\t\n", ["x", "y"], ["1", "2"], [[1, 2], [3, 4]]),
        ("id,x,y,,\n1,2,3,,\n3,4,5,,\n", ["x", "y"], ["1", "3"], [[2, 3], [4, 5]]),
        ("1,2,\n3,4,\n", ["x1", "x2"], ["1", "2"], [[1, 2], [3, 4]]),
        ("x\ty\na\t1\t2\t\nb\t3\t4\n", ["x", "y"], ["a", "b"], [[1, 2], [3, 4]]),
    ],
)
def test_what_is_found_out(
    tmp_path: Path, content: str, columns: list[str], rows: list[str], values: list[list[float]]
) -> None:
    matrix = read(tmp_path, content)
    assert (matrix.column_names, matrix.row_names) == (columns, rows)
    assert matrix.values.tolist() == values


def test_id_column_anywhere_and_ignored_columns(tmp_path: Path) -> None:
    content = "x,name,kind,y,label\n1,u,flower,2,NA\n3,v,tree,4,\n"
    matrix = read(tmp_path, content, id_column="name", ignore=["label", "kind"])
    assert (matrix.row_names, matrix.column_names) == (["u", "v"], ["x", "y"])
    assert matrix.values.tolist() == [[1, 2], [3, 4]]
    assert read(tmp_path, "id,x\nfoo,1\nfoo,2\n", ignore=["id"]).row_names == ["1", "2"]
    assert read(tmp_path, "u,1.5,2\nv,3,4\n", ignore=["x1"]).values.tolist() == [[2], [4]]
    assert read(tmp_path, "1,2,3\n2,5,6\n", id_column="1").row_names == ["2"]


@pytest.mark.parametrize("option", [{"id_column": "z"}, {"ignore": ["x", "z"]}])
@pytest.mark.parametrize("content", ["x,y\n1,2\n", "1,2\n", npy(np.eye(2))])
def test_an_option_that_names_no_column(tmp_path: Path, content: str | bytes, option: Any) -> None:
    with pytest.raises(
        UsageError,
        match=r"t\.csv: `(id_column|ignore)`: there is no column '[zx]'; the columns are 'x1?', '(y|x2)'$",
    ):
        read(tmp_path, content, **option)


def test_lines_of_rows(tmp_path: Path) -> None:
    matrix = read(tmp_path, '# why\n\nname,x\n"two\u00a0lines",1\n\n"b",2\n')
    assert matrix.rows.tolist() == [4, 6]
    assert read(tmp_path, npy(np.zeros((3, 1)))).rows.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(3, 2),
        np.asfortranarray(np.arange(6).reshape(3, 2)),
        np.arange(6, dtype=">f4").reshape(3, 2),
        np.arange(6, dtype=np.uint8).reshape(3, 2),
    ],
)
def test_npy(tmp_path: Path, array: np.ndarray) -> None:
    matrix = read(tmp_path, npy(array), "no_suffix")
    assert matrix.values.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert matrix.values.dtype == np.float64
    assert matrix.values.flags.c_contiguous
    assert (matrix.column_names, matrix.row_names) == (["x1", "x2"], ["1", "2", "3"])


def test_npy_of_one_dimension_is_a_column(tmp_path: Path) -> None:
    assert read(tmp_path, npy([True, False])).values.tolist() == [[1], [0]]
    matrix = read(tmp_path, npy([[7, 1], [8, 2]]), id_column="x1")
    assert (matrix.row_names, matrix.column_names) == (["7", "8"], ["x2"])


# --- tables that are wrong ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,NA", f"t.csv, row 3, column y: 'NA': {NO_VALUE}"),
        ("1,", f"t.csv, row 3, column y: '': {NO_VALUE}"),
        ("nan,1", f"t.csv, row 3, column x: 'nan': {NO_VALUE}"),
        ("1,-inf", "t.csv, row 3, column y: '-inf': infinite; expected a finite number"),
        ("1,1e999", "t.csv, row 3, column y: '1e999': too large; expected a finite number"),
        ("1,two", "t.csv, row 3, column y: 'two': not a number; expected a finite number"),
        ("one,2", f"t.csv, row 3, column x: 'one': not a number; expected a finite number; {PERHAPS_NAMES}"),
        ("1,1_0", "t.csv, row 3, column y: '1_0': not a number; expected a finite number"),
        ("1,0x10", "t.csv, row 3, column y: '0x10': not a number; expected a finite number"),
        ("1,١٢", "t.csv, row 3, column y: '١٢': not a number; expected a finite number"),
        (
            '1,"1,5"',
            "t.csv, row 3, column y: '1,5': not a number: write a decimal point, not a comma; "
            "expected a finite number",
        ),
        ("1", "t.csv, row 3: 1 field found, 2 expected as in the header"),
        ("1,2,3", "t.csv, row 3: 3 fields found, 2 expected as in the header"),
        ('1,"2', 't.csv, row 3: a quotation mark (") opened in this row is never closed'),
        (",", f"t.csv, row 3, column x: '': {NO_VALUE}\nt.csv, row 3, column y: '': {NO_VALUE}"),
    ],
)
def test_bad_row(tmp_path: Path, row: str, message: str) -> None:
    assert error_in(tmp_path, f"x,y\n5,6\n{row}\n") == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "t.csv: the file is empty: a table of numbers is expected"),
        ("\n# only\n \n", "t.csv: the file is empty: a table of numbers is expected"),
        ("x,y\n", "t.csv, row 1: the table has no rows below the header"),
        (
            "what\nu\nv\n",
            "t.csv, column what: this column has no numbers, but texts such as 'u'; leave it out with `ignore`",
        ),
        (
            "x,kind\n1,a\n2,b\n",
            "t.csv, column kind: this column has no numbers, but texts such as 'a'; leave it out",
        ),
        ("x,kind\n1,a\n2,NA\n", "t.csv, row 2, column kind: 'a': not a number; expected a finite number\n"),
        ("id\nu\nv\n", "t.csv, row 1: there is no column of numbers"),
        (
            "x,x\n1,2\n",
            "t.csv, row 1, column x: several columns have this name (1 and 2); names are distinct",
        ),
        ("id,x,x\nu,1,2\n", "t.csv, row 1, column x: several columns have this name (2 and 3)"),
        ('"x\ty",z\n1,2\n', "t.csv, row 1, column x\ty: a name may not contain tabs, line breaks or"),
        ("x,,y\n1,2,3\n", "t.csv, row 1: column 2 has no name"),
        ("x,y,\n1,2,3\n", "t.csv, row 1: column 3 has no name"),
        ("x,y,\n1,2,\n3,4,5\n", "t.csv, row 3: 3 fields found, 2 expected as in the header"),
        ("1,,3\n3,,5\n", "t.csv, column x2: this column is empty; remove it"),
        ("1,2\n3\n", "t.csv, row 2: 1 field found"),
        ("1,2\n3\n", "1 field found, 2 expected as in the first row"),
        ("x,y\n1\n2\n", "t.csv, row 2: 1 field found, 2 expected as in the header"),
        (f"a,{'9' * 5000},{'9' * 5001}\nb,1,2\n", "t.csv, row 1, column x1: '999"),
        ("x,y\n1,5,2\n2,5,3\n", "t.csv, row 2: 3 fields found, 2 expected as in the header"),
        ("id,x\nu,1\nv,2\nu,3\n", "t.csv, row 4: 'u': row 2 has this name, too; names of rows are distinct"),
        ("id,x\nu,1\n,2\n", "t.csv, row 3: '': empty; every row needs a name"),
        (
            'id,x\n"u\t1",1\n',
            "t.csv, row 2: 'u\\t1': a name may not contain tabs, line breaks or other control characters",
        ),
        ("x\n1\n\n2\n\n", f"t.csv, row 3, column x: '': {NO_VALUE}"),
        (b"\x00\x01\x02", "t.csv: this is a binary file"),
        (b"\x89PNG\r\n\x1a\n\x00", "t.csv: this is a PNG picture"),
        (b"x,y\n1,\xff2\n", "t.csv, row 2: '\xff2': not UTF-8"),
        (
            gzip.compress(b"x,y\n1,2\n", mtime=0)[:-4],
            "t.csv: the gzip compression breaks off: the file is cut short",
        ),
        (b"\x1f\x8b\x08\x00 no", "t.csv: the gzip compression"),
        # values or names?
        ("0,1,2\n.5,1,2\n", "t.csv, row 1: these may be values, or names of the columns that happen to be"),
        ("1,2,3\n.5,1,2\n", "t.csv, row 1: these may be values, or names of the columns that happen to be"),
        ("0,1\n.5,1\n", "t.csv, row 1: these may be values, or names of the columns that happen to be"),
        ("u,3,5\nv,1,2\n", "t.csv, row 1: these may be values, or names of the columns that happen to be"),
        ("0.3,O.5\n1,2\n", "t.csv, row 1: some of these are numbers, some are not; expected names of the"),
        ("5,O\n1,2\n", "t.csv, row 1: some of these are numbers, some are not; expected names of the"),
        # numbers written wrongly do not become names
        ("x;y\n1,5;2\n2,5;3\n", "t.csv, row 2, column x: '1,5': not a number: write a decimal point"),
        ("x\ty\n80%\t2\n90%\t3\n", "t.csv, row 2, column x: '80%': not a number"),
        ("O.5,2.1\n1,2\n", "t.csv, row 1, column x1: 'O.5': not a number; expected a finite number"),
        ("g,x\nu,1\n2,3\n", f"column g: 'u': not a number; expected a finite number; {PERHAPS_NAMES}"),
    ],
)
def test_bad_table(tmp_path: Path, content: str | bytes, message: str) -> None:
    assert message in error_in(tmp_path, content)


def test_numbers_written_wrongly_are_no_names(tmp_path: Path) -> None:
    assert "row 2, column x: '1,5': not a number" in (told := error_in(tmp_path, "x;y\n1,5;2\n2,5;3\n"))
    assert PERHAPS_NAMES not in told


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.csv: no such file$"):
        read_matrix(tmp_path / "missing.csv")
    with pytest.raises(InputError, match="this is a directory; expected is a table of numbers as text"):
        read_matrix(str(tmp_path))


def test_text_from_a_pipe() -> None:
    """As with ``<(...)`` of a shell; a pipe can be read only once."""
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w") as pipe:
        pipe.write("id,x\na,1\nb,2.5\n")
        pipe.close()
        matrix = read_matrix(f"/dev/fd/{reading}")
    assert (matrix.row_names, matrix.values.tolist()) == (["a", "b"], [[1.0], [2.5]])


def test_first_twenty_and_a_count(tmp_path: Path) -> None:
    rows = [f"{i},{'NA' if i % 2 else i}" for i in range(2500)]
    lines = error_in(tmp_path, "\n".join(["x,y", *rows])).splitlines()
    assert lines[:20] == [f"t.csv, row {i + 2}, column y: 'NA': {NO_VALUE}" for i in range(1, 41, 2)]
    assert lines[20:] == ["... and 1230 more problems"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            npy([[1, np.nan], [-np.inf, 2]]),
            f"t.npy, row 1, column x2: 'nan': {NO_VALUE}\n"
            "t.npy, row 2, column x1: '-inf': infinite; expected a finite number",
        ),
        (
            npy(np.array([{}], dtype=object)),
            "t.npy: an array of Python objects, which is not read for safety",
        ),
        (npy([1j]), "t.npy: an array of complex128 is not one of numbers; expected floats or integers"),
        (npy(["u"]), "t.npy: an array of <U1 is not one of numbers"),
        (npy(np.zeros(2, [("x", float)])), "t.npy: an array of [('x', '<f8')] is not one of numbers"),
        (npy(np.zeros((0, 2))), "t.npy: an array of shape (0, 2); expected rows and columns"),
        (npy(np.zeros((2, 2, 2))), "t.npy: an array of shape (2, 2, 2)"),
        (npy(1.0), "t.npy: an array of shape ()"),
        (npy(np.eye(3))[:-4], "t.npy: the NPY file is damaged: "),
        (npy(np.eye(3))[:30], "t.npy: the NPY file is damaged: "),
        (b"\x93NUMPY", "t.npy: the NPY file is damaged: "),
    ],
)
def test_bad_npy(tmp_path: Path, content: bytes, message: str) -> None:
    assert message in error_in(tmp_path, content, "t.npy")


def test_npz_is_told(tmp_path: Path) -> None:
    file = io.BytesIO()
    np.savez(file, x=np.eye(2))
    expected = "t.npz: this is an archive of arrays (.npz); save the array itself, as .npy"
    assert error_in(tmp_path, file.getvalue(), "t.npz") == expected


# --- Parquet ------------------------------------------------------------------------------------------------


def parquet(columns: Any) -> bytes:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), file)
    return file.getvalue()


def test_parquet_needs_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert error_in(tmp_path, b"PAR1....PAR1", "t.parquet") == (
        "t.parquet: to read Parquet files, install pyarrow: pip install 'pyclone-pgsm[parquet]'; or save as CSV"
    )


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    content = parquet(
        {"g": pa.array(["u", "v"]).dictionary_encode(), "x": [1, 2], "y": [True, False], "kind": ["a", "a"]}
    )
    matrix = read(tmp_path, content, "no_suffix", ignore=["kind"])
    assert (matrix.row_names, matrix.column_names) == (["u", "v"], ["x", "y"])
    assert matrix.values.tolist() == [[1, 1], [2, 0]]
    assert matrix.rows.tolist() == [1, 2]


def test_parquet_of_pandas_keeps_the_index(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    for index, names in (
        (["u", "v"], ["u", "v"]),
        (pd.Index([7, 9], name="key"), ["7", "9"]),
        (None, ["1", "2"]),
    ):
        frame = pd.DataFrame({"x": [1.5, 2], "y": [3, 4]}, index=index)
        matrix = read(tmp_path, parquet(pa.Table.from_pandas(frame)))
        assert (matrix.row_names, matrix.column_names) == (names, ["x", "y"])
        assert matrix.values.tolist() == [[1.5, 3], [2, 4]]


def test_bad_parquet(tmp_path: Path) -> None:
    good = parquet({"x": [1.0, None, np.inf], "y": [1, 2, 3], "when": ["u", "v", "w"]})
    assert error_in(tmp_path, good) == (
        "t.csv, column when: the column holds string; expected numbers; leave it out with `ignore`\n"
        f"t.csv, row 2, column x: 'nan': {NO_VALUE}\n"
        "t.csv, row 3, column x: 'inf': infinite; expected a finite number"
    )
    assert "t.csv: the Parquet file is damaged: " in error_in(tmp_path, good[:-9])
    assert "the table is empty" in error_in(tmp_path, parquet({"x": []}))


def test_parquet_with_damaged_names(tmp_path: Path) -> None:
    good = parquet({"id": ["first", "second"], "x": [1.0, 2.0]})
    told = error_in(tmp_path, good.replace(b"first", b"fi\xffst").replace(b"second", b"s\xffcond"))
    assert told.startswith("t.csv, row 1, column id: ")
    assert r"fi\\xffst" in told
    assert told.endswith(": not UTF-8; expected a text")


# --- likelihoods --------------------------------------------------------------------------------------------


def test_the_fault_of_a_likelihood_gets_its_place_in_the_file(tmp_path: Path) -> None:
    matrix = read(tmp_path, "# made\ngene,x,y\nu,0,1\n\nv,1,0.5\n")
    error = data_error(matrix, DataValueError(1, 1, 0.5, "0 or 1"))
    assert isinstance(error, InputError)
    assert str(error) == f"{tmp_path / 't.csv'}, row 5, column y: '0.5': expected 0 or 1"


# --- properties ---------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        b"x,y", b"1,2", b"1,2", b"\n", b"\r", b"\t", b",", b";", b'"', b"#", b" ", b"0", b"-1", b"1e400", b"nan",
        b"\0", b"\xff", b"\xef\xbb\xbf", b"\x1f\x8b", b"id", b"u", b"\xe2\x80\xa8", b"\x1a", b"\x0c", b"\xd9\xa1",
    ]
)  # fmt: skip
CONTENT = st.one_of(
    st.binary(max_size=100),
    st.lists(PIECES, max_size=20).map(b"".join),
    st.lists(PIECES, max_size=8).map(lambda pieces: b"x,y\n1,2\n" + b"".join(pieces)),
)


@settings(max_examples=200, deadline=None)
@given(CONTENT)
def test_any_bytes(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            matrix = read(Path(folder), content)
        except InputError:
            return
    T, D = matrix.values.shape
    assert T > 0
    assert D > 0
    assert np.isfinite(matrix.values).all()
    assert len(set(matrix.row_names)) == T == len(matrix.rows)
    assert len(set(matrix.column_names)) == D


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 1).map(lambda kind: npy(np.eye(3)) if kind else npy(np.arange(4))),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), min_size=1, max_size=3),
    st.integers(6, 300),
)
def test_any_damage_to_npy(content: bytes, damage: list[tuple[int, int]], cut: int) -> None:
    damaged = bytearray(content[:cut])
    for place, byte in damage:
        damaged[place % len(damaged)] = byte
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(InputError):
        assert np.isfinite(read(Path(folder), bytes(damaged)).values).all()


numbers = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 4), st.integers(1, 6), st.sampled_from("\t,; "), st.booleans())
def test_round_trip(data: st.DataObject, width: int, height: int, separator: str, has_header: bool) -> None:
    row = st.lists(numbers, min_size=width, max_size=width)
    values = data.draw(st.lists(row, min_size=height, max_size=height))
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=separator)
    writer.writerows([[f"column {j}" for j in range(width)]] * has_header + values)
    with tempfile.TemporaryDirectory() as folder:
        matrix = read(Path(folder), written.getvalue())
    np.testing.assert_array_equal(matrix.values, values)


# --- real tables --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shape", "first"),
    [
        ("s_sets/s1.csv", (5000, 2), [664159, 550946]),
        ("s_sets/s4.csv", (5000, 2), [624474, 837604]),
        ("dim_sets/dim128.csv", (1024, 128), [145, 142]),
        ("mopsi/MopsiLocationsUntil2012-Finland.csv", (13467, 2), [625983, 297439]),
    ],
)
def test_public_data(name: str, shape: tuple[int, int], first: list[float]) -> None:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"no test data: {name}")
    matrix = read_matrix(path, ignore=[] if "mopsi" in name else ["label"])
    assert matrix.values.shape == shape
    assert matrix.values[0, :2].tolist() == first
    assert matrix.row_names[-1] == str(shape[0])


def test_reading_is_fast(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200_000, 2))
    content = "x,y\n" + "\n".join(f"{x!r},{y!r}" for x, y in values.tolist())
    started = time.thread_time()
    matrix = read(tmp_path, content)
    seconds = time.thread_time() - started
    np.testing.assert_array_equal(matrix.values, values)
    assert seconds < 2


@pytest.mark.parametrize(
    ("above", "rows"),
    [("#id,x,y", "7,1,2\n3,4,6\n"), ("# id\tx\ty", "7\t1\t2\n3\t4\t6\n"), ("#id x y", "7 1 2\n3 4 6\n")],
)
def test_names_behind_a_comment_sign_are_not_lost(tmp_path: Path, above: str, rows: str) -> None:
    """They would be, and the numbers of the rows would become a column of values."""
    with pytest.raises(InputError, match='may have the names of the columns; remove the "#", or the line'):
        read(tmp_path, f"# made by hand\n{above}\n{rows}")
    assert read(tmp_path, f"{above}\nid,a,b\n7,1,2\n").column_names == ["a", "b"]
    assert read(tmp_path, "# 7,1,2\n7,1,2\n3,4,6\n").column_names == ["x1", "x2", "x3"]
