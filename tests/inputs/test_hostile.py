"""Files as they should not be, through the command: a result or exit code 2 with a message, never a traceback.

The same three mutations of one sample as a VCF, a MAF, a plain table and a table with copy numbers, and their segments;
each is written otherwise, spoilt in one cell, or put into another order.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from pyclone_pgsm.cli import app as cli

sys.path.insert(0, str(Path(__file__).parent / "segments"))
from segment_files import FILES
from small_runs import without_waiting

SHORT = ("--iterations", 12, "--chains", 1, "--threads", 1, "--grid-size", 51, "--no-plots", "--quiet")
OPTIONS = ("--sex", "male", "--tumour-content", "0.8")
VCF_NAMES = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS"
CONTENTS = {
    "m.vcf": [
        "##fileformat=VCFv4.2",
        VCF_NAMES,
        "1\t100\t.\tA\tC\t.\tPASS\t.\tAD\t30,10",
        "1\t200\t.\tA\tC\t.\tPASS\t.\tAD\t31,11",
        "X\t300\t.\tA\tC\t.\tPASS\t.\tAD\t32,12",
    ],
    "m.maf": [
        "Hugo_Symbol\tChromosome\tStart_Position\tReference_Allele\tTumor_Seq_Allele2\tTumor_Sample_Barcode\t"
        "t_ref_count\tt_alt_count\tFILTER",
        "\t1\t100\tA\tC\tS\t30\t10\tPASS",
        "\t1\t200\tA\tC\tS\t31\t11\tPASS",
        "\tX\t300\tA\tC\tS\t32\t12\tPASS",
    ],
    "m.tsv": [
        "chrom\tpos\tref\talt\tsample_id\tref_counts\talt_counts",
        "1\t100\tA\tC\tS\t30\t10",
        "1\t200\tA\tC\tS\t31\t11",
        "X\t300\tA\tC\tS\t32\t12",
    ],
    "segments.tsv": [
        "chrom\tstart\tend\tmajor_cn\tminor_cn",
        "1\t1\t150\t2\t1",
        "1\t151\t1000\t1\t1",
        "X\t1\t1000\t1\t0",
    ],
    "t.tsv": [
        "mutation_id\tsample_id\tref_counts\talt_counts\tmajor_cn\tminor_cn\tnormal_cn",
        "m1\tS\t30\t10\t2\t1\t2",
        "m2\tS\t31\t11\t1\t1\t2",
        "m3\tS\t32\t12\t1\t0\t1",
    ],
}
TABLES = [name for name in CONTENTS if name != "m.vcf"]
MUTATIONS = [name for name in CONTENTS if name.startswith("m.")]


def text(name: str) -> str:
    return "\n".join(CONTENTS[name]) + "\n"


def without_warnings(stderr: str) -> str:
    """What a command said on stderr besides warnings, which begin so and take a line each."""
    lines = without_waiting(stderr).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("pyclone-pgsm: warning: "))


class Told:
    """What a call of the command gave.

    Attributes
    ----------
    code : int
        0 or 2.
    message : str
        Of the mistakes, without the folder.
    table, left_out : str
        What was joined and left out, or "".
    """

    def __init__(self, folder: Path, *arguments: object) -> None:
        result = CliRunner().invoke(cli.app, list(map(str, arguments)))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code in (0, 2)
        assert "Traceback" not in result.output
        told = without_warnings(result.stderr)
        assert bool(told) == (result.exit_code == 2)
        self.code = result.exit_code
        self.message = told.replace(f"{folder}/", "").removeprefix("pyclone-pgsm: ").rstrip("\n")
        out = folder / "out"
        assert out.exists() <= (self.code == 0)
        self.table, self.left_out = (
            path.read_text(encoding="utf-8").replace(f"{folder}/", "") if path.exists() else ""
            for path in (out / "table.tsv", out / "left_out.tsv")
        )

    @property
    def rows(self) -> int:
        """Rows of the joined table."""
        return max(0, self.table.count("\n") - 1)

    def reasons(self) -> dict[int, str]:
        """Why rows of the files were left out."""
        lines = [line.split("\t") for line in self.left_out.splitlines()[1:]]
        return {int(row): reason for _, row, _, _, reason in lines}


def command_on(folder: Path, name: str, content: str | bytes, segments: str | bytes | None = None) -> Told:
    """Join, or check if it is a table with copy numbers: one file with this content, the other as it should be."""
    path = folder / name
    files = {"segments.tsv": segments or text("segments.tsv"), name: content}
    if name == "segments.tsv":
        files["m.tsv"], path = text("m.tsv"), folder / "m.tsv"
    for file, written in files.items():
        (folder / file).write_bytes(written if isinstance(written, bytes) else written.encode())
    if name == "t.tsv":
        return Told(folder, "validate", path)
    with contextlib.suppress(FileNotFoundError):
        for old in (folder / "out").iterdir():
            old.unlink()
        (folder / "out").rmdir()
    return Told(folder, "prepare", path, "-c", f"S={folder / 'segments.tsv'}", *OPTIONS, "-o", folder / "out")


@pytest.fixture(scope="module")
def plainly(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """What the files give as they should be."""
    return {name: command_on(tmp_path_factory.mktemp("plain"), name, text(name)) for name in CONTENTS}


# --- the same, written otherwise ----------------------------------------------------------------------------


def each_line(change: Callable[[str], str]) -> Callable[[str], str]:
    """A change of every line but those of the header of a VCF."""
    return lambda content: "".join(
        (line if line.startswith("#") else change(line)) + "\n" for line in content.splitlines()
    )


def quoted(line: str) -> str:
    return "\t".join(f'"{cell}"' for cell in line.split("\t"))


def before_the_last(content: str, line: str) -> str:
    *lines, last = content.splitlines()
    return "\n".join([*lines, line, last]) + "\n"


AS_GOOD: dict[str, Callable[[str], str]] = {
    "byte order mark": lambda content: "\ufeff" + content,
    "Windows's line ends": lambda content: content.replace("\n", "\r\n"),
    "old line ends": lambda content: content.replace("\n", "\r"),
    "mixed line ends": lambda content: content.replace("\n", "\r\n", 2),
    "everything of Windows": lambda content: "\ufeff" + content.replace("\n", "\t\r\n"),
    "a tab behind each row": each_line(lambda line: line + "\t"),
    "no end of the last line": lambda content: content[:-1],
    "empty lines at the end": lambda content: content + "\n\n\n",
    "an empty line between": lambda content: before_the_last(content, ""),
    "an empty line on top": lambda content: "\n" + content,
}
AS_GOOD_TABLES: dict[str, Callable[[str], str]] = {
    "quoted": each_line(quoted),
    "spaces around": each_line(lambda line: " " + line.replace("\t", " \t ") + " "),
    "comments on top": lambda content: "# made by hand\n#\n" + content,
    "tabs behind the last row only": lambda content: content[:-1] + "\t\t\n",
    "commas": lambda content: content.replace("\t", ","),
    "semicolons, quoted": lambda content: each_line(quoted)(content).replace("\t", ";"),
}


@pytest.mark.parametrize(
    ("name", "change"),
    [(name, change) for name in CONTENTS for change in AS_GOOD]
    + [(name, change) for name in TABLES for change in AS_GOOD_TABLES],
)
def test_written_otherwise(tmp_path: Path, plainly: dict[str, Told], name: str, change: str) -> None:
    expected = plainly[name]
    told = command_on(tmp_path, name, (AS_GOOD | AS_GOOD_TABLES)[change](text(name)))
    assert (expected.code, told.code, told.message) == (0, 0, "")
    assert told.table == expected.table
    if name != "t.tsv":
        assert told.rows == 3
        assert told.reasons() == {}


@pytest.mark.parametrize("name", ["m.vcf", "segments.tsv"])
def test_comments_between_and_tabs_behind_some_rows(tmp_path: Path, name: str) -> None:
    for content in (before_the_last(text(name), "# later") + "# end\n", text(name)[:-1] + "\t\t\n"):
        told = command_on(tmp_path, name, content)
        assert (told.code, told.rows) == (0, 3)


# --- files that are refused ---------------------------------------------------------------------------------

REFUSED: dict[str, tuple[list[str], Callable[[str], str | bytes], str]] = {
    "UTF-16": (
        list(CONTENTS),
        lambda content: content.encode("utf-16"),
        "{name}: this is UTF-16 text; save it as UTF-8",
    ),
    "Latin-1": (
        ["m.tsv", "m.maf", "t.tsv"],
        lambda content: content.replace("\tS\t", "\tSé\t").encode("latin-1"),
        "{name}, row 2: 'Sé': not UTF-8 (shown as Latin-1); save the file as UTF-8",
    ),
    "row names of R": (
        ["m.tsv", "m.maf", "t.tsv"],
        lambda content: (
            content.split("\n")[0]
            + "\n"
            + "".join(f"{number}\t{line}\n" for number, line in enumerate(content.splitlines()[1:], 1))
        ),
        "{name}, row 1: every row has one field more ",
    ),
    "a short row": (
        TABLES,
        lambda content: content[: content.rindex("\t")] + "\n",
        "{name}, row 4: {fewer} fields found, {width} expected as in the header",
    ),
    "a long row": (
        TABLES,
        lambda content: content[:-1] + "\t7\n",
        "{name}, row 4: {more} fields found, {width} expected as in the header",
    ),
    "an open quotation mark": (
        TABLES,
        lambda content: content[: content.rindex("\t") + 1] + '"1\n',
        '{name}, row 4: a quotation mark (") opened in this row is never closed',
    ),
    "a comment as a row": (
        ["m.tsv", "m.maf", "t.tsv"],
        lambda content: before_the_last(content, "# later"),
        "{name}, row 4: 1 field found, {width} expected as in the header",
    ),
    "only a header": (
        TABLES,
        lambda content: content.split("\n")[0] + "\n",
        "{name}, row 1: the table has no rows below the header",
    ),
    "nothing": (["segments.tsv", "t.tsv"], lambda content: "", "{name}: the file is empty"),
    "no mutations": (
        ["m.vcf", "m.maf", "m.tsv"],
        lambda content: "",
        "{name}: the file is empty; expected is a VCF, a MAF, or a",
    ),
    "a NUL": (TABLES, lambda content: content.replace("\t", "\t\0", 1), "{name}: this is a binary file"),
    "only the header of a VCF": (
        ["m.vcf"],
        lambda content: "\n".join(CONTENTS["m.vcf"][:2]) + "\n",
        "m.vcf, row 2: there are no records below the header",
    ),
    "a VCF with spaces": (
        ["m.vcf"],
        each_line(lambda line: line.replace("\t", " ")),
        "m.vcf, row 3: 1 column found, 10 expected as in the line with the names",
    ),
    "a quoted VCF": (
        ["m.vcf"],
        each_line(quoted),
        "m.vcf, row 3, column POS: '\"100\"': no position; expected a",
    ),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_refused(tmp_path: Path, fault: str) -> None:
    names, spoil, expected = REFUSED[fault]
    for name in names:
        told = command_on(tmp_path, name, spoil(text(name)))
        width = CONTENTS[name][0].count("\t") + 1
        message = expected.format(name=name, width=width, fewer=width - 1, more=width + 1)
        if message.startswith(f"{name}:") and name == "segments.tsv":  # wrong as a whole
            message = f"--segments {message}"
        assert (told.code, told.message[: len(message)]) == (2, message)


# --- one cell that is wrong ---------------------------------------------------------------------------------

NO_COUNT = {
    "1e18": "too large",
    "1e400": "too large",
    "-1e400": "negative",
    "9007199254740993": "too large",
    "9" * 400: "too large",
    "-1": "negative",
    "1.5": "fractional",
    "inf": "infinite",
    "0x10": "not a number",
    "1_000": "not a number",
    "١٢": "not a number",
    "1 0": "not a number",
    "many": "not a number",
}
NO_POSITION = {
    "1e18": "too large",
    "1e400": "too large",
    "-5": "negative",
    "1.5": "fractional",
    "inf": "infinite",
    "": "no value",
    "NA": "no value",
    "here": "not a number",
}
NO_COPIES = {
    "-5": "",
    "1e18": "",
    "1e400": "",
    "inf": "infinite",
    "two": "not a number",
    "2,5": "not a number",
}
CELLS = {
    "m.maf": {"Start_Position": NO_POSITION, "t_ref_count": NO_COUNT, "t_alt_count": NO_COUNT},
    "m.tsv": {"pos": NO_POSITION, "ref_counts": NO_COUNT, "alt_counts": NO_COUNT},
    "segments.tsv": {"start": NO_POSITION, "end": NO_POSITION, "major_cn": NO_COPIES, "minor_cn": NO_COPIES},
    "t.tsv": {
        "ref_counts": NO_COUNT,
        "alt_counts": NO_COUNT,
        **dict.fromkeys(
            ("major_cn", "minor_cn", "normal_cn"), NO_COPIES | {"-1": "negative", "": "no value"}
        ),
    },
}


def with_cell(lines: list[str], row: int, column: int, value: str) -> str:
    """The file with another text in a cell; rows and columns from 0."""
    cells = lines[row].split("\t")
    cells[column] = value
    return "\n".join([*lines[:row], "\t".join(cells), *lines[row + 1 :]]) + "\n"


@pytest.mark.parametrize(
    ("name", "column"), [(name, column) for name, columns in CELLS.items() for column in columns]
)
def test_row_and_column_are_named(tmp_path: Path, name: str, column: str) -> None:
    lines = CONTENTS[name]
    for value, why in CELLS[name][column].items():
        told = command_on(tmp_path, name, with_cell(lines, 2, lines[0].split("\t").index(column), value))
        assert told.code == 2, value
        assert told.message.startswith(f"{name}, row 3, column {column}: '{value[:20]}"), value
        assert f"': {why}" in told.message
        assert "; expected " in told.message or "write a decimal point" in told.message


def test_row_and_column_of_a_vcf_are_named(tmp_path: Path) -> None:
    for value, why in NO_COUNT.items():
        for counts in (f"31,{value}", f"{value},11"):
            told = command_on(tmp_path, "m.vcf", with_cell(CONTENTS["m.vcf"], 3, 9, counts))
            assert told.code == 2, value
            assert told.message.startswith(f"m.vcf, row 4, column S: '{value[:20]}"), value
            assert f"': AD: {why}" in told.message
            assert "; expected a number of reads" in told.message
    for value in [*NO_POSITION, "0", "1e3"]:
        told = command_on(tmp_path, "m.vcf", with_cell(CONTENTS["m.vcf"], 3, 1, value))
        assert told.code == 2, value
        assert told.message.startswith("m.vcf, row 4, column POS: '"), value
        assert told.message.endswith("': no position; expected a whole number, 1 or more"), value


@pytest.mark.parametrize("name", FILES)
def test_any_cell_of_any_format_of_segments(tmp_path: Path, name: str) -> None:
    """Text in place of a value: the column is not used, or the message names it; and the row."""
    content = FILES[name][1]
    separator = next(each for each in ("\t", ",", " ") if each in content.split("\n")[0])
    lines = [line.replace(separator, "\t") for line in content.rstrip("\n").split("\n")]
    header = name != "ascat caveman"
    refused = 0
    for column in range(len(lines[1].split("\t"))):
        spoilt = with_cell(lines, 1, column, "%").replace("\t", separator)
        told = command_on(tmp_path, "segments.tsv", spoilt)
        if told.code == 2 and not told.message.startswith("m.tsv: none of the 3 mutations"):
            refused += 1
            assert told.message.startswith("segments.tsv, row 2, column "), (column, told.message)
            if header and lines[0].count("\t") == lines[1].count("\t"):
                named = lines[0].split("\t")[column].strip('"# ')
                assert told.message.startswith(f"segments.tsv, row 2, column {named}: '%': "), told.message
    assert refused >= 3


def test_huge_counts_are_no_trouble(tmp_path: Path) -> None:
    """As many reads as a VCF can have: finite results."""
    for counts in ("2e9\t2e9", "2147483647\t0", "0\t2147483647"):
        content = text("m.tsv").replace("31\t11", counts)
        (tmp_path / "m.tsv").write_text(content)
        (tmp_path / "segments.tsv").write_text(text("segments.tsv"))
        told = Told(
            tmp_path, "analyze", tmp_path / "m.tsv", "-c", f"S={tmp_path / 'segments.tsv'}", "--sex", "male",
            "-o", tmp_path / "out", "--force", *SHORT,
        )  # fmt: skip
        assert told.code == 0, told.message
        table = pd.read_csv(tmp_path / "out" / "mutations.tsv", sep="\t")
        assert len(table) == 3
        assert np.isfinite(table.filter(like="cellular_prevalence").to_numpy()).all()


# --- rows in any order and number ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*MUTATIONS, "segments.tsv"])
def test_unsorted(tmp_path: Path, name: str) -> None:
    head = 2 if name == "m.vcf" else 1
    lines = CONTENTS[name]
    expected = command_on(tmp_path, name, text(name)).table
    told = command_on(tmp_path, name, "\n".join([*lines[:head], *lines[:head - 1:-1]]) + "\n")  # fmt: skip
    assert sorted(told.table.splitlines()) == sorted(expected.splitlines())


@pytest.mark.parametrize("name", MUTATIONS)
def test_duplicate_positions(tmp_path: Path, name: str) -> None:
    """The same mutation twice counts once, and is told; another allele at its place is another mutation."""
    lines = CONTENTS[name]
    again, other = lines[-2].replace("11", "13"), lines[-2].replace("\tC\t", "\tG\t")
    told = command_on(tmp_path, name, "\n".join([*lines, lines[-1], again, other]) + "\n")
    assert (told.code, told.rows) == (0, 4)
    last = len(lines)
    assert told.reasons() == {
        last + 1: f"this mutation stands already in row {last}, with the same counts",
        last
        + 2: f"this mutation stands already in row {last - 1}, with other counts: 31 reference and 11 variant "
        "reads there, 31 reference and 13 variant reads here",
    }
    assert "1:200:A:G" in told.table


def test_duplicates_in_a_table_are_refused(tmp_path: Path) -> None:
    told = command_on(tmp_path, "t.tsv", text("t.tsv") + CONTENTS["t.tsv"][2] + "\n")
    assert told.code == 2
    assert told.message.startswith("t.tsv, row 5, column mutation_id: 'm2': ")
    assert "row 3" in told.message


def test_overlapping_segments(tmp_path: Path) -> None:
    overlapping = text("segments.tsv") + "1\t90\t150\t3\t1\nX\t250\t900\t1\t0\n"
    told = command_on(tmp_path, "segments.tsv", overlapping)
    assert (told.code, told.rows) == (0, 2)
    assert told.reasons() == {
        2: "two segments with different copy numbers hold it: row 2 of segments.tsv and row 5 of segments.tsv"
    }


@pytest.mark.parametrize("name", MUTATIONS)
def test_unknown_contigs(tmp_path: Path, name: str) -> None:
    lines = CONTENTS[name]
    place = "\t1\t100" if name == "m.maf" else "1\t100"
    row = next(line for line in lines if line.startswith(place))
    contigs = ["GL000220.1", "chrUn_KI270742v1", "HLA-A*01:01", "chrM", "chr99", "banana"]
    rows = [row.replace(place, place.replace("1\t100", f"{contig}\t100")) for contig in contigs]
    told = command_on(
        tmp_path, name, "\n".join([*lines, *rows]) + "\n", text("segments.tsv") + "Un_1\t1\t9\t1\t1\n"
    )
    assert (told.code, told.rows) == (0, 3)
    reasons = list(told.reasons().values())
    assert len(reasons) == len(contigs)
    assert reasons.pop(3).startswith("on the mitochondrion")
    assert set(reasons) == {"in no copy-number segment of the sample"}


def test_mixed_builds_are_suspected(tmp_path: Path) -> None:
    """Chromosome 1 is longer in GRCh37, chromosome 18 in GRCh38."""
    of_37, of_38 = "1\t249200000\tA\tC\tS\t9\t9\n", "18\t80300000\tA\tC\tS\t9\t9\n"
    segments_38 = text("segments.tsv") + "18\t1\t80300000\t1\t1\n"
    in_37 = "chromosome 18 has 78077248 bases in GRCh37, and here is position 80300000"
    in_38 = "chromosome 1 has 248956422 bases in GRCh38, and here is position 249200000"
    end = "(liftover); or give --genome-build, if this is a mistake"
    told = command_on(tmp_path, "m.tsv", text("m.tsv") + of_37, segments_38)
    assert (told.code, told.message) == (
        2,
        "sample 'S': the mutations are of genome build GRCh37, the segments of GRCh38 "
        f"({in_37}). Convert one of them {end}",
    )
    told = command_on(tmp_path, "m.tsv", text("m.tsv") + of_37 + of_38)
    assert (told.code, told.message) == (
        2,
        f"sample 'S': the mutations are of different genome builds ({in_37}; {in_38}). Convert some of them {end}",
    )
    told = command_on(tmp_path, "segments.tsv", segments_38 + "1\t1001\t249200000\t1\t1\n")
    assert (told.code, told.message) == (
        2,
        f"sample 'S': the segments are of different genome builds ({in_37}; {in_38}). Convert some of them {end}",
    )


def test_samples_of_different_builds(tmp_path: Path) -> None:
    rows = ["1\t249200000\tA\tC\tS\t9\t9", "18\t80300000\tA\tC\tR\t9\t9"]
    (tmp_path / "m.tsv").write_text("\n".join([CONTENTS["m.tsv"][0], *rows]) + "\n")
    header = CONTENTS["segments.tsv"][0] + "\tsample_id"
    segments = ["1\t1\t249200000\t1\t1\tS", "18\t1\t80300000\t1\t1\tR"]
    (tmp_path / "segments.tsv").write_text("\n".join([header, *segments]) + "\n")
    arguments = ("prepare", tmp_path / "m.tsv", "-c", tmp_path / "segments.tsv", "-o", tmp_path / "out")
    told = Told(tmp_path, *arguments)
    assert (told.code, told.message) == (
        2,
        "sample 'R' is of genome build GRCh38, sample 'S' of GRCh37: their mutations cannot be compared. Convert some "
        "of them (liftover); or give --genome-build, if this is a mistake",
    )
    told = Told(tmp_path, *arguments, "--genome-build", "GRCh38")
    assert (told.code, told.rows) == (0, 2)


def test_files_that_change_places(tmp_path: Path) -> None:
    """Segments where mutations belong, and the other way round."""
    for first, second in (
        ("segments.tsv", "m.tsv"),
        ("m.tsv", "m.tsv"),
        ("m.tsv", "t.tsv"),
        ("t.tsv", "m.maf"),
    ):
        for name in (first, second):
            (tmp_path / name).write_text(text(name))
        told = Told(tmp_path, "prepare", tmp_path / first, "-c", tmp_path / second, "-o", tmp_path / "out")
        assert told.code == 2


def test_one_mutation_of_one_sample(tmp_path: Path) -> None:
    (tmp_path / "m.tsv").write_text("\n".join(CONTENTS["m.tsv"][:2]) + "\n")
    (tmp_path / "segments.tsv").write_text(text("segments.tsv"))
    arguments = [value for value in SHORT if value != "--no-plots"]
    told = Told(
        tmp_path, "analyze", tmp_path / "m.tsv", "-c", f"S={tmp_path / 'segments.tsv'}", "-o", tmp_path / "out",
        "--format", "png", *arguments,
    )  # fmt: skip
    assert told.code == 0, told.message
    clusters = pd.read_csv(tmp_path / "out" / "clusters.tsv", sep="\t")
    assert clusters[["cluster_id", "size"]].to_numpy().tolist() == [[0, 1]]
    assert (tmp_path / "out" / "plots" / "cluster_prevalences.png").exists()


def test_hundred_samples(tmp_path: Path) -> None:
    names = [f"S{number}" for number in range(100)]
    rows = [f"1\t{pos}\tA\tC\t{name}\t30\t{pos % 17}" for name in names for pos in (5, 90, 200)]
    (tmp_path / "m.tsv").write_text("\n".join([CONTENTS["m.tsv"][0], *rows]) + "\n")
    header = CONTENTS["segments.tsv"][0] + "\tsample_id"
    segments = [f"1\t1\t1000\t1\t1\t{name}" for name in names]
    (tmp_path / "segments.tsv").write_text("\n".join([header, *segments]) + "\n")
    told = Told(
        tmp_path, "analyze", tmp_path / "m.tsv", "-c", tmp_path / "segments.tsv", "-o", tmp_path / "out", *SHORT
    )  # fmt: skip
    assert told.code == 0, told.message
    table = pd.read_csv(tmp_path / "out" / "mutations.tsv", sep="\t")
    assert table.groupby("sample_id").size().to_dict() == dict.fromkeys(names, 3)


# --- anything -----------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    ["\n", "\r\n", "\t", ",", ";", '"', "'", "#", " ", "\0", "\ufeff", "-", "1e18", "1e400", "nan", "NA", "0", "-1",
     "chr", "X", "MT", "é", "\x85", "\u2028", "<DEL>", ".", "S2", "1" * 30, "=", "\x1a", "|"]
)  # fmt: skip
EDITS = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 15), PIECES), max_size=4)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(list(CONTENTS)), EDITS, EDITS)
def test_anything(
    name: str, edits: list[tuple[int, int, str]], of_segments: list[tuple[int, int, str]]
) -> None:
    """Whatever is in the files: a table that can be read again, or a message that begins with what is wrong where."""
    with tempfile.TemporaryDirectory() as folder:
        contents: list[Any] = [text(name), text("segments.tsv")]
        for number, changes in enumerate((edits, of_segments)):
            for place, length, piece in changes:
                place %= len(contents[number]) + 1
                contents[number] = contents[number][:place] + piece + contents[number][place + length :]
        told = command_on(Path(folder), name, *contents[: 1 if name == "segments.tsv" else 2])
        if told.code == 2:
            assert told.message.strip()
            assert len(told.message.splitlines()) <= 21
        elif name != "t.tsv":
            assert told.rows >= 1
            again = Told(Path(folder) / "out", "validate", Path(folder) / "out" / "table.tsv")
            assert again.code == 0 or "no data" in again.message or "left" in again.message
