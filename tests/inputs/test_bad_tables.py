"""One row a trap: what is in the file, and what the error must say."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from pyclone_pgsm.errors import InputError, PycloneError, UsageError
from pyclone_pgsm.inputs import problems
from pyclone_pgsm.inputs.read_counts import joining
from pyclone_pgsm.inputs.read_counts.tables import read_tables

LONG = "mutation_id\tsample_id\tref_counts\talt_counts\tmajor_cn\tminor_cn\tnormal_cn"
RATES = LONG + "\ttumour_content\terror_rate"
PYCLONE = "mutation_id\tref_counts\tvar_counts\tnormal_cn\tminor_cn\tmajor_cn"
GOOD = "m1\tS1\t10\t5\t1\t1\t2"


def table(*rows: str, header: str = LONG) -> str:
    return "\n".join([header, *rows]) + "\n"


def message_of(path: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_tables(path, **options)
    return str(caught.value)


def error_in(tmp_path: Path, content: str | bytes, name: str = "t.tsv", **options: Any) -> str:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return message_of(path, **options).replace(str(tmp_path) + os.sep, "")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            "m\tS\tten\t5\t1\t1\t2",
            "t.tsv, row 2, column ref_counts: 'ten': not a number; expected a number of",
        ),
        ("m\tS\t\t5\t1\t1\t2", "column ref_counts: '': no value; expected a number of reads: a whole number"),
        ("m\tS\t1\tNA\t1\t1\t2", "row 2, column alt_counts: 'NA': no value"),
        ("m\tS\t1\tNaN\t1\t1\t2", "row 2, column alt_counts: 'NaN': no value"),
        ("m\tS\t1\t-inf\t1\t1\t2", "row 2, column alt_counts: '-inf': infinite"),
        ("m\tS\t-10\t5\t1\t1\t2", "row 2, column ref_counts: '-10': negative"),
        ("m\tS\t1E+02\t5\t1\t1\t2", "row 2, column ref_counts: '1E+02': rounded? Excel writes this also for"),
        ("m\tS\t1.2E+03\t5\t1\t1\t2", "row 2, column ref_counts: '1.2E+03': rounded?"),
        ("#NAME?\tS\t10\t5\t1\t1\t2", "column mutation_id: '#NAME?': no mutation_id: an error of Excel"),
        ("m\t#REF!\t10\t5\t1\t1\t2", "column sample_id: '#REF!': no sample_id: an error of Excel"),
        ("m\tS\t10\t2.5\t1\t1\t2", "row 2, column alt_counts: '2.5': fractional"),
        ("m\tS\t10\t1e-9\t1\t1\t2", "'1e-9': fractional"),
        (
            "m\tS\t2147483648\t5\t1\t1\t2",
            "'2147483648': too large, above 2147483647; expected a number",
        ),
        ("m\tS\t1e999\t5\t1\t1\t2", "'1e999': too large"),
        ("m\tS\t1_000\t5\t1\t1\t2", "'1_000': not a number"),
        ("m\tS\t0x10\t5\t1\t1\t2", "'0x10': not a number"),
        (
            "m\tS\t1,000\t5\t1\t1\t2",
            "'1,000': separators of thousands are not read: write 1000, or 1.000 if the comma is a decimal one",
        ),
        (
            "m\tS\t1,000,000\t5\t1\t1\t2",
            "of thousands are not read: write 1000000; expected a number of reads",
        ),
        ("m\tS\t1\u202f000\t5\t1\t1\t2", "separators of thousands are not read: write 1000; expected"),
        ("m\tS\t1'000.0\t5\t1\t1\t2", "separators of thousands are not read: write 1000.0; expected"),
        ("m\tS\t١٢\t5\t1\t1\t2", "'١٢': not a number"),
        ("m\tS\t" + "9x" * 500 + "\t5\t1\t1\t2", "9x9x...': not a number"),
        ("m\tS\t1\t5\t-1\t-2\t2", "column major_cn: '-1': negative; expected a copy number"),
        ("m\tS\t1\t5\t1.5\t1\t2", "column major_cn: '1.5': fractional"),
        ("m\tS\t1\t5\t175263063\t1\t2", "column major_cn: '175263063': too large"),
        ("m\tS\t1\t5\t1\t3\t2", "row 2, column minor_cn: '3': larger than major_cn, which is 1"),
        ("m\tS\t1\t5\t1\t1\t0", "column normal_cn: '0': too small; expected the copy number of normal cells"),
        (" \tS\t1\t5\t1\t1\t2", "row 2, column mutation_id: '': empty; every row needs a mutation_id"),
        ("m\t\t1\t5\t1\t1\t2", "row 2, column sample_id: '': empty; every row needs a sample_id"),
        ('"m\t1"\tS\t1\t5\t1\t1\t2', "column mutation_id: 'm\\t1': a mutation_id may not contain tabs"),
        ('m\t"S\n1"\t1\t5\t1\t1\t2', "row 2, column sample_id: 'S\\n1': a sample_id may not contain tabs"),
        (GOOD + "\nm\tS\t1\t5\t1\t1\t2\tx", "t.tsv, row 3: 8 fields found, 7 expected as in the header"),
        ("m\tS\t1\t5\t1\t1", "row 2: 6 fields found, 7 expected"),
        ("m,S,1,5,1,1,2", "row 2: 1 field found, 7 expected"),
        ("1\tm\tS\t1\t5\t1\t1\t2", "row 1: every row has one field more (8) than the header (7)"),
        (
            GOOD + "\n" + GOOD,
            "row 3, column mutation_id: 'm1': a second row for this mutation in sample 'S1'",
        ),
        (GOOD + "\n" + GOOD, "the first is row 2. Keep one"),
        ('"m\tS\t1\t5\t1\t1\t2\n' + GOOD, 'row 2: a quotation mark (") opened in this row is never closed'),
        ('"m"1"\tS\t1\t5\t1\t1\t2', "row 2: text follows the quotation mark"),
        ("m" * 140_000, "row 2: 1 field found, 7 expected as in the header"),
    ],
)
def test_bad_row(tmp_path: Path, row: str, expected: str) -> None:
    assert expected in error_in(tmp_path, table(row))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("80\t0.01", "row 2, column tumour_content: '80': out of range; expected the share of cancer cells"),
        ("80\t0.01", "above 0, at most 1. If this is a percentage, write 0.8"),
        ("2\t0.01", "If this is a percentage, write 0.02"),
        ("150\t0.01", "'150': out of range"),
        ("0\t0.01", "column tumour_content: '0': out of range"),
        ("-0.5\t0.01", "column tumour_content: '-0.5': out of range"),
        ("NA\t0.01", "column tumour_content: 'NA': no value"),
        ("inf\t0.01", "column tumour_content: 'inf': infinite"),
        ("0,8\t0.01", "column tumour_content: '0,8': not a number: write a decimal point, not a comma"),
        ("80%\t0.01", "column tumour_content: '80%': not a number: write a share, 0.8 for 80 %"),
        ("1\t0", "column error_rate: '0': out of range; expected the probability of a wrong base in a read"),
        ("1\t0.5", "column error_rate: '0.5': out of range"),
        ("1\t", "column error_rate: '': no value"),
    ],
)
def test_bad_rate(tmp_path: Path, values: str, expected: str) -> None:
    assert expected in error_in(tmp_path, table(GOOD + "\t" + values, header=RATES))


@pytest.mark.parametrize("value", ["1.2", "1.99", "150"])
def test_a_share_that_is_no_percentage(tmp_path: Path, value: str) -> None:
    message = error_in(tmp_path, table(f"{GOOD}\t{value}\t0.01", header=RATES))
    assert f"'{value}': out of range" in message
    assert "percentage" not in message


SECOND = LONG + "\tsubclonal_major_cn\tsubclonal_minor_cn\tsubclonal_fraction"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            "2\t1\t1",
            "column subclonal_fraction: '1': out of range; expected the share of the tumour cells that",
        ),
        ("2\t1\t0", "row 2, column subclonal_fraction: '0': out of range"),
        (
            "2\t1\t30",
            "above 0, below 1 (empty, as the other two subclonal columns, where there is one state)",
        ),
        ("2\t1\t30", "If this is a percentage, write 0.3"),
        ("2\t1\tx", "row 2, column subclonal_fraction: 'x': not a number"),
        (
            "2\t1\t",
            "t.tsv, row 2, column subclonal_fraction: '': no value, but subclonal_major_cn is 2; expected",
        ),
        ("\t1\t0.3", "column subclonal_major_cn: '': no value, but subclonal_minor_cn is 1; expected all of"),
        ("NA\tNA\t0.3", "row 2, column subclonal_minor_cn: 'NA': no value, but subclonal_fraction is 0.3"),
        ("1\t2\t0.3", "column subclonal_minor_cn: '2': larger than subclonal_major_cn, which is 1"),
        ("1.5\t1\t0.3", "row 2, column subclonal_major_cn: '1.5': fractional"),
        ("-1\t-1\t0.3", "row 2, column subclonal_minor_cn: '-1': negative"),
        ("2000\t1\t0.3", "row 2, column subclonal_major_cn: '2000': too large"),
    ],
)
def test_bad_second_state(tmp_path: Path, values: str, expected: str) -> None:
    assert expected in error_in(tmp_path, table(GOOD + "\t" + values, header=SECOND))


def test_one_fault_of_a_second_state_is_told_once(tmp_path: Path) -> None:
    for values in ("2\t1\t1", "2\t1\t", "\t1\t0.3", "1\t2\t0.3"):
        assert error_in(tmp_path, table(GOOD + "\t" + values, header=SECOND)).count("row 2") == 1


def test_subclonal_columns_go_together(tmp_path: Path) -> None:
    message = error_in(tmp_path, table(GOOD + "\t0.3", header=LONG + "\tsubclonal_fraction"))
    assert "t.tsv, row 1, column subclonal_major_cn: this column is missing; subclonal_major_cn, " in message
    assert "column subclonal_minor_cn: this column is missing" in message
    assert "subclonal_fraction go together, and subclonal_fraction is here" in message


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (LONG.replace("alt_counts", "alt_count"), "t.tsv, row 1, column alt_counts: this column is missing"),
        (
            LONG.replace("alt_counts", "alt_count"),
            "(var_counts would do, too); is it the one named 'alt_count'?",
        ),
        (LONG.replace("alt_counts", "var_count"), "is it the one named 'var_count'? Then rename it"),
        (LONG.replace("alt_counts", "Alt_Counts"), "is it the one named 'Alt_Counts'?"),
        (
            LONG.replace("ref_counts", "ref_count"),
            "column ref_counts: this column is missing; is it the one named",
        ),
        (LONG.replace("ref_counts", "ref_conuts"), "is it the one named 'ref_conuts'?"),
        (
            LONG.replace("ref_counts", "depth"),
            "column ref_counts: this column is missing. The header has 'mut",
        ),
        (LONG.replace("normal_cn", "germline"), "column normal_cn: this column is missing. The header has"),
        (
            LONG.replace("sample_id", "sample"),
            "column sample: rename this column to sample_id, or remove it if",
        ),
        (LONG.replace("sample_id", "Sample_ID"), "column Sample_ID: rename this column to sample_id"),
        (
            LONG.replace("minor_cn", "total_cn"),
            "minor_cn: this column is missing; total_cn alone is enough only",
        ),
        (
            LONG.replace("minor_cn", "major_cn"),
            "column major_cn: the header has this name more than once (columns",
        ),
        (LONG.replace("minor_cn", "major_cn"), "(columns 5 and 6); keep one"),
        (LONG.title(), "column mutation_id: this column is missing; is it the one named 'Mutation_Id'?"),
        (
            LONG.replace("\t", " "),
            "row 1: 'mutation_id sample_id ref_counts alt_counts major_cn minor_c...': a he",
        ),
        (
            LONG.replace("\t", "|"),
            "a header is expected whose column names are separated by tabs, commas or semic",
        ),
        (LONG.replace("\t", '" "').join('""'), "': a header is expected whose column names are separated by"),
        (
            "a,b,c",
            "none of the expected columns is here. Expected is a header with mutation_id, sample_id, ref",
        ),
        ("x" * 140_000 + "\t" + LONG, "row 2: 7 fields found, 8 expected as in the header"),
        ("a,b,c", "alt_counts, major_cn, minor_cn and normal_cn; this row has 'a', 'b', 'c'"),
        ("#" + LONG, 'the line with these names above begins with "#" and is read as a comment'),
        ('"' + LONG, 'row 1: a quotation mark (") opened in this row is never closed'),
    ],
)
def test_bad_header(tmp_path: Path, header: str, expected: str) -> None:
    assert expected in error_in(tmp_path, table(GOOD, header=header))


@pytest.mark.parametrize("name", ["tumor_content", "Tumour_Content", "purity", "tumour_contents"])
def test_overlooked_tumour_content(tmp_path: Path, name: str) -> None:
    content = table(GOOD + "\t0.5", header=f"{LONG}\t{name}")
    expected = f"row 1, column {name}: rename this column to tumour_content, or set `tumour_content`, which"
    assert expected in error_in(tmp_path, content)
    assert expected in error_in(tmp_path, content, tumour_content={"S1": 0.7})
    observations, _ = read_tables(tmp_path / "t.tsv", tumour_content=0.7)
    assert observations.tumour_content.tolist() == [[0.7]]


def test_overlooked_second_state(tmp_path: Path) -> None:
    names = {"Subclonal_Major_CN": "2", "subclonalMinorCN": "1", "subclonal.fraction": "0.4"}
    said = error_in(tmp_path, table("\t".join([GOOD, *names.values()]), header="\t".join([LONG, *names])))
    for name, meant in zip(names, ("subclonal_major_cn", "subclonal_minor_cn", "subclonal_fraction")):
        assert f"row 1, column {name}: rename this column to {meant}" in said
    one = error_in(
        tmp_path, table(GOOD + "\t2\t1\t0.4", header=f"{LONG}\tsubclonal_major_cn\tsubclonal_minor_cn\tCCF")
    )
    assert "column subclonal_fraction: this column is missing" in one
    header = f"{LONG}\tsubclonal_major_cn\tsubclonal_minor_cn\tsubclonal.fraction"
    one = error_in(tmp_path, table(GOOD + "\t2\t1\t0.4", header=header))
    assert "column subclonal.fraction: rename this column to subclonal_fraction" in one
    assert "missing" not in one


@pytest.mark.parametrize("name", ["Error_Rate", "sequencing_error", "eps", "epsilon"])
def test_overlooked_error_rate(tmp_path: Path, name: str) -> None:
    content = table(GOOD + "\t0.002", header=f"{LONG}\t{name}")
    expected = f"row 1, column {name}: rename this column to error_rate, or set `error_rate`, which"
    assert expected in error_in(tmp_path, content)
    observations, _ = read_tables(tmp_path / "t.tsv", error_rate=0.005)
    assert observations.error_rate.tolist() == [[0.005]]


def test_missing_copy_numbers_are_each_told(tmp_path: Path) -> None:
    message = error_in(tmp_path, table("m\tS\t1\t2", header="mutation_id\tsample_id\tref_counts\talt_counts"))
    assert [line.split(":")[0] for line in message.splitlines()] == [
        f"t.tsv, row 1, column {name}" for name in ("major_cn", "minor_cn", "normal_cn")
    ]


def zip_archive() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"<workbook/>")
    return packed.getvalue()


TEXT = table(GOOD).encode()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "t.tsv: the file is empty: a header with the column names is expected"),
        (b"\xef\xbb\xbf", "the file is empty"),
        (b"\n \n\t\n# only a comment\n", "the file is empty"),
        (LONG.encode(), "row 1: the table has no rows below the header"),
        (LONG.encode() + b"\n\n\n", "row 1: the table has no rows below the header"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
        (gzip.compress(TEXT, mtime=0)[:-12], "the gzip compression breaks off: the file is cut short"),
        (gzip.compress(TEXT, mtime=0)[:5], "the gzip compression breaks off: the file is cut short"),
        (gzip.compress(TEXT, mtime=0)[:-8] + b"\0" * 8, "the gzip compression is damaged"),
        (b"\x1f\x8b" + TEXT, "the gzip compression is damaged"),
        (
            gzip.compress(gzip.compress(TEXT, mtime=0), mtime=0),
            "this is compressed twice with gzip; unpack it once",
        ),
        (
            gzip.compress(b"BAM\1" + b"\0" * 99, mtime=0),
            "this is a BAM file; a table of read counts as text is expected",
        ),
        (bz2.compress(TEXT), "this is compressed with bzip2; unpack it, or use gzip"),
        (lzma.compress(TEXT), "this is compressed with xz"),
        (
            zip_archive(),
            "this is a zip archive or an Excel workbook (.xlsx); save the sheet as tab-separated",
        ),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "this is an old Excel workbook"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "this is a PNG picture"),
        (b"\x89HDF\r\n\x1a\n\0\0", "this is an HDF5 file"),
        (TEXT.decode().encode("utf-16"), "this is UTF-16 text; save it as UTF-8"),
        (
            TEXT.decode().encode("utf-16-le"),
            "or UTF-16 text; a table of read counts as text is expected: save text as",
        ),
        (TEXT.decode().encode("utf-16-be"), "this is a binary file, or UTF-16 text; a table"),
        (b"##fileformat=VCFv4.2\n#CHROM\tPOS\n1\t2\n", "this is a VCF file; a table of read counts as text"),
        (b"\n<!DOCTYPE html>\n<html></html>", "this is a web page; download the table itself"),
        (TEXT + b"\0", "this is a binary file; a table of read counts as text is expected"),
        (TEXT + b"\xff\x01", "this is a binary file; a table of read counts as text is expected"),
        (
            TEXT + "mé,x\tS\t1\t1\t1\t1\t2".encode("latin-1"),
            "row 3: 'mé': not UTF-8 (shown as Latin-1); save",
        ),
    ],
)
@pytest.mark.parametrize("name", ["t.tsv", "t.tsv.gz"])
def test_bad_file(tmp_path: Path, content: bytes, expected: str, name: str) -> None:
    message = error_in(tmp_path, content, name).replace(name, "t.tsv")
    assert expected in message
    assert len(message.splitlines()) == 1


def test_lines_that_are_not_utf8_are_told_with_the_rest(tmp_path: Path) -> None:
    content = (
        table("\u00fc\tS\t1\t-1\t1\t1\t2", "m\tS\t1\t1\t1\t1\t0").encode("latin-1").replace(b"\n", b"\r\n")
    )
    message = error_in(tmp_path, content)
    assert [line[:30] for line in message.splitlines()] == [
        "t.tsv, row 2: 'ü': not UTF-8 (",
        "t.tsv, row 2, column alt_count",
        "t.tsv, row 3, column normal_cn",
    ]


def test_no_such_file_and_directory(tmp_path: Path) -> None:
    message = message_of([tmp_path / "a.tsv", tmp_path])
    assert message.splitlines() == [
        f"{tmp_path}/a.tsv: no such file",
        f"{tmp_path}: this is a directory; expected is a table of read counts as text",
    ]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero")
def test_device_without_an_end() -> None:
    assert message_of("/dev/zero") == (
        "/dev/zero: this is a device, which may have no end; expected is a table of read counts as text"
    )


def test_path_that_no_system_can_open(tmp_path: Path) -> None:
    assert "the file cannot be read: embedded null byte" in message_of("a\0b")
    assert "the file cannot be read: " in message_of(tmp_path / ("x" * 5000))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(table(GOOD))
    path.chmod(0)
    assert "no permission to read the file" in message_of(path)


def test_permission_error_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, mode: str) -> BinaryIO:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert message_of(tmp_path / "t.tsv").endswith("t.tsv: no permission to read the file")


def test_all_problems_of_all_files_in_order(tmp_path: Path) -> None:
    first = tmp_path / "first.tsv"
    first.write_text(table("m1\tS1\tx\t5\t1\t2\t2", "m2\tS1\t1\t5\t1\t1", "m3\tS1\t1\t-5\t1\t1\t0"))
    second = tmp_path / "second.tsv"
    second.write_text(table("m3\tS1\t1\t1\t1\t1\t2", "m9\tS1\t1.5\t1\t1\t1\t2"))
    message = message_of([first, second]).replace(str(tmp_path) + os.sep, "")
    assert [line.split(": ")[0] for line in message.splitlines()] == [
        "first.tsv, row 2, column ref_counts",
        "first.tsv, row 2, column minor_cn",
        "first.tsv, row 3",
        "first.tsv, row 4, column alt_counts",
        "first.tsv, row 4, column normal_cn",
        "second.tsv, row 2, column mutation_id",
        "second.tsv, row 3, column ref_counts",
    ]
    assert f"in sample 'S1'; the first is row 4 of {first}. Keep one" in message_of([first, second])


def test_first_twenty_and_a_count(tmp_path: Path) -> None:
    lines = error_in(tmp_path, table(*(f"m{i}\tS1\tx\t5\t1\t1\t2" for i in range(25)))).splitlines()
    assert len(lines) == 21
    assert lines[0].startswith("t.tsv, row 2,")
    assert lines[19].startswith("t.tsv, row 21,")
    assert lines[20] == "... and 5 more problems"


def test_problems_beyond_the_listed_ones_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems, "LISTED", 30)
    content = table(
        *(f"m{i}\tS1\tx\t-5\t1\t1\t2" for i in range(100)), "short", *["m0\tS1\t1\t1\t1\t1\t2"] * 50
    )
    lines = error_in(tmp_path, content).splitlines()
    expected = "expected a number of reads: a whole number, 0 or more"
    assert len(lines) == 21
    assert lines[:2] == [
        f"t.tsv, row 2, column ref_counts: 'x': not a number; {expected}",
        f"t.tsv, row 2, column alt_counts: '-5': negative; {expected}",
    ]
    assert lines[20] == f"... and {100 + 100 + 1 + 50 - 20} more problems"


def test_one_problem_more_is_singular(tmp_path: Path) -> None:
    content = table(*(f"m{i}\tS1\tx\t5\t1\t1\t2" for i in range(21)))
    assert error_in(tmp_path, content).splitlines()[20] == "... and 1 more problem"


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_row_is_the_line_in_the_file(tmp_path: Path, line_end: str) -> None:
    lines = [
        "\ufeff# a comment",
        "",
        '# "another',
        LONG.replace("\t", ",") + ",note",
        'm1,S1,1,2,1,1,2,"three',
        '""quoted"" lines, and a comma',
        '"',
        "",
        ",,,,,,,",
        'm2,S1,"1",x,1,1,2,"fine"',
        "m3,S1,1,2,1,1,-2,",
    ]
    message = error_in(tmp_path, line_end.join(lines))
    assert [line.split(": ")[0] for line in message.splitlines()] == [
        "t.tsv, row 10, column alt_counts",
        "t.tsv, row 11, column normal_cn",
    ]


def test_variant_counts_that_contradict_each_other(tmp_path: Path) -> None:
    content = table(GOOD + "\t5.0", "m2\tS1\t10\t6\t1\t1\t2\t7", header=LONG + "\tvar_counts")
    message = error_in(tmp_path, content)
    assert (
        message == "t.tsv, row 3, column var_counts: '7': alt_counts is 6; the two mean the same, so keep one"
    )


def test_duplicate_in_a_file_without_samples(tmp_path: Path) -> None:
    message = error_in(tmp_path, table("m\t1\t1\t2\t1\t1", "m\t1\t2\t2\t1\t1", header=PYCLONE))
    assert "row 3, column mutation_id: 'm': a second row for this mutation in sample 't'" in message
    assert "(a table of several samples needs a column sample_id)" in message


def test_rows_without_ids_are_no_duplicates(tmp_path: Path) -> None:
    message = error_in(tmp_path, table("\tS\t1\t1\t1\t1\t2", "\tS\t1\t1\t1\t1\t2"))
    assert len(message.splitlines()) == 2
    assert "second row" not in message


def test_two_files_for_one_sample(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    first, second = tmp_path / "a" / "S1.tsv", tmp_path / "S1.csv"
    first.write_text(table("m\t1\t1\t2\t1\t1", header=PYCLONE))
    second.write_text(table("m\t1\t1\t2\t1\t1", header=PYCLONE).replace("\t", ","))
    assert message_of([first, second]) == (
        f"{second}: the sample is named after the file, 'S1', and so is that of '{first}'; "
        "rename one of the two files, or add a column sample_id"
    )


def test_same_file_twice(tmp_path: Path) -> None:
    path = tmp_path / "S1.tsv"
    path.write_text(table("m\t1\t1\t2\t1\t1", header=PYCLONE))
    again = tmp_path / ".." / tmp_path.name / "S1.tsv"
    message = message_of([path, str(again)])
    assert message == f"{again}: this file is given twice (the first time as '{path}'); give it once"
    assert len(message_of([path, path]).splitlines()) == 1


def test_file_name_that_cannot_name_a_sample(tmp_path: Path) -> None:
    message = error_in(tmp_path, table("m\t1\t1\t2\t1\t1", header=PYCLONE), name="a\nb.tsv")
    assert "the sample is named after the file, and 'a\\nb' cannot be a name" in message


def test_nothing_left(tmp_path: Path) -> None:
    message = error_in(tmp_path, table("m1\tS1\t0\t0\t1\t1\t2", "m2\tS1\t5\t5\t0\t0\t2"))
    assert message == (
        "t.tsv: none of the 2 mutations has data in any sample: every row has no reads or major_cn 0"
    )


def test_ids_that_cannot_be_of_one_tumour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_MOST_CELLS", 100)
    rows = [f"m{i}\tS{i}\t1\t1\t1\t1\t2" for i in range(30)]
    message = error_in(tmp_path, table(*rows))
    assert "30 mutations and 30 samples in only 30 rows: is the right column named sample_id" in message


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"tumour_content": 80}, "`tumour_content` 80: out of range; expected the share of cancer cells"),
        ({"tumour_content": 80}, "If this is a percentage, write 0.8"),
        ({"tumour_content": 0.0}, "`tumour_content` 0: out of range"),
        ({"tumour_content": float("nan")}, "`tumour_content` nan: out of range"),
        ({"tumour_content": "0.5"}, "`tumour_content` '0.5': not a number"),
        ({"tumour_content": True}, "`tumour_content` True: not a number"),
        ({"tumour_content": {"S1": 1.2}}, "`tumour_content` S1=1.2: out of range"),
        ({"tumour_content": {"S9": 0.5}}, "`tumour_content` is given for 'S9', but the samples are 'S1'"),
        (
            {"tumour_content": {"S1\udcff": 0.5}},
            r"`tumour_content` is given for 'S1\udcff', but the samples are 'S1'",
        ),
        ({"error_rate": 0.5}, "`error_rate` 0.5: out of range; expected the probability of a wrong base"),
        ({"error_rate": 0.0}, "`error_rate` 0: out of range"),
    ],
)
def test_bad_option(tmp_path: Path, options: dict[str, Any], expected: str) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(table(GOOD))
    with pytest.raises(UsageError) as caught:
        read_tables([path], **options)
    assert expected in str(caught.value)


def test_unknown_sample_among_many(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(table(*(f"m1\tS{i}\t1\t1\t1\t1\t2" for i in range(25))))
    with pytest.raises(UsageError, match=r"'S18', 'S19' and 5 more$"):
        read_tables([path], tumour_content={"T1": 0.5})


def test_no_file() -> None:
    with pytest.raises(UsageError, match="no input table given"):
        read_tables([])


def test_input_errors_are_the_users() -> None:
    assert issubclass(InputError, PycloneError)
