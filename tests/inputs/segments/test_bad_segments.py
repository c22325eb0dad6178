"""One row a fault: what is in the file, and what the error must say."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from segment_files import FILES, tabs

from pyclone_pgsm.errors import InputError, UsageError
from pyclone_pgsm.inputs.segments.reading import read_segments

ASCAT = "sample chr startpos endpos nMajor nMinor"
FACETS = "chrom start end tcn.em lcn.em"
BATTENBERG = "chr startpos endpos nMaj1_A nMin1_A frac1_A nMaj2_A nMin2_A frac2_A"
GENERIC = "chrom start end major_cn minor_cn"
PURPLE = "chromosome start end copyNumber majorAlleleCopyNumber minorAlleleCopyNumber"


def error_in(tmp_path: Path, content: str | bytes, name: str = "s.tsv", **options: Any) -> str:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError) as caught:
        read_segments(path, **options)
    return str(caught.value).replace(str(tmp_path) + os.sep, "")


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        (
            ASCAT,
            "S 1 1 9 two 1",
            "s.tsv, row 2, column nMajor: 'two': not a number; expected a copy number: a whole",
        ),
        (
            ASCAT,
            "S 1 1 4.0E+06 1 1",
            "s.tsv, row 2, column endpos: '4.0E+06': rounded? Excel writes this also for",
        ),
        (ASCAT, "S #REF! 1 9 1 1", "s.tsv, row 2, column chr: '#REF!': no chromosome: an error of Excel"),
        ("chrom start end minor_cn total_cn", "1 1 9 3 2", "minor_cn: '3': larger than total_cn, which is 2"),
        (ASCAT, "S 1 1 9 1.5 1", "row 2, column nMajor: '1.5': fractional; expected a copy number"),
        (ASCAT, "S 1 1 9 2 -1", "column nMinor: '-1': negative; expected a copy number"),
        (ASCAT, "S 1 1 9 5000 1", "column nMajor: '5000': too large, above 1000; expected a copy number"),
        (
            ASCAT,
            "S 1 NA 9 2 1",
            "column startpos: 'NA': no value; expected a position on the chromosome: a whole",
        ),
        (
            ASCAT,
            "S 1 1 9,000 2 1",
            "column endpos: '9,000': separators of thousands are not read: write 9000, or",
        ),
        (ASCAT, "S 1 -5 9 2 1", "column startpos: '-5': negative; expected a position"),
        (ASCAT, "S 1 1.5 9 2 1", "column startpos: '1.5': fractional; expected a position"),
        (ASCAT, "S 1 1 9e9 2 1", "column endpos: '9e9': too large, above 2147483647; expected a position"),
        (ASCAT, 'S "" 1 9 2 1', "column chr: '': no name; expected a chromosome, such as 1, chr1 or X"),
        (
            ASCAT,
            '"" 1 1 9 2 1',
            "column sample: '': empty; every row needs a sample",
        ),
        (ASCAT, "S 1 9 1 2 1", "s.tsv, row 1, column endpos: every segment ends before it starts"),
        (ASCAT, "S 1 1 9 2", "s.tsv, row 2: 5 fields found, 6 expected as in the header"),
        (ASCAT, "S 1 1 9 2 1\nS 1 1 9 2 1 7", "row 3: 7 fields found, 6 expected as in the header"),
        (ASCAT, 'S 1 1 9 2 "1', 'row 2: a quotation mark (") opened in this row is never closed'),
        (ASCAT, "", "s.tsv, row 1: the table has no rows below the header"),
        (
            ASCAT + " nMajor",
            "S 1 1 9 2 1 2",
            "column nMajor: the header has this name more than once (columns 5 and 7)",
        ),
        (
            FACETS,
            "1 1 9 2 3",
            "row 2, column lcn.em: '3': larger than tcn.em, which is 2; expected at most that",
        ),
        (FACETS, "1 1 9 2.5 1", "column tcn.em: '2.5': fractional"),
        (
            BATTENBERG,
            "1 1 9 2 1 0.6 1 1 NA",
            "column frac2_A: 'NA': no share of the cells for one of two states",
        ),
        (
            BATTENBERG,
            "1 1 9 2 1 NA 1 1 0.4",
            "column frac1_A: 'NA': no share of the cells for one of two states",
        ),
        (
            BATTENBERG.removesuffix(" frac2_A"),
            "1 1 9 2 1 0.6 1 1",
            "column frac1_A: '0.6': no share of the cells for one of two states",
        ),
        (
            BATTENBERG,
            "1 1 9 2 1 0.3 1 1 0.6",
            "row 2, column frac2_A: '0.6': frac1_A 0.3 and it add up to 0.9; expected 1",
        ),
        (
            BATTENBERG,
            "1 1 9 2 1 60 1 1 40",
            "column frac1_A: '60': out of range; expected a share of cells: 0 to 1",
        ),
        (
            PURPLE,
            "1 1 9 3 inf 1",
            "column majorAlleleCopyNumber: 'inf': infinite; expected a copy number (at least 0, or a fit a little "
            "below, and at most 1000)",
        ),
        (
            GENERIC,
            "1 1 9 1 2",
            "row 2, column minor_cn: '2': larger than major_cn, which is 1; expected at most that",
        ),
        (
            GENERIC + " total_cn",
            "1 1 9 2.2 0.9 2.7\n1 1 9 2 1 5",
            "s.tsv, row 3, column total_cn: '5': major_cn 2 and minor_cn 1 differ from it; expected their sum",
        ),
        (
            "chromosome start.pos end.pos CNt A B",
            "1 1 9 4 2 1",
            "column CNt: '4': A 2 and B 1 differ from it",
        ),
        (
            "chr start end C M",
            "1 1 9 2 3",
            "column M: '3': larger than C, which is 2; expected at",
        ),
        (PURPLE, "1 1 9 3 -5 1", "column majorAlleleCopyNumber: '-5': out of range; expected a copy number"),
        (PURPLE, "1 1 9 3 2,1 1", "'2,1': not a number: write a decimal point, not a comma"),
    ],
)
def test_bad_row(tmp_path: Path, header: str, row: str, expected: str) -> None:
    content = tabs(header, *filter(None, row.split("\n")))
    assert expected in error_in(tmp_path, content)


def test_caveman_row_number(tmp_path: Path) -> None:
    """Without a header the first row is row 1."""
    message = error_in(tmp_path, FILES["ascat caveman"][1] + "4,1,1,9,2,1,2\n5,1,1,9,2,1,two,1\n")
    assert "s.tsv, row 4: 7 fields found, 8 expected as in ascatNgs' files without a header" in message
    assert "row 5, column tumour_total: 'two': not a number" in message


def test_all_problems_are_told_together(tmp_path: Path) -> None:
    content = tabs(ASCAT, *(f"S 1 {place} x -1 1" for place in range(1, 31)))
    message = error_in(tmp_path, content)
    assert len(message.split("\n")) == 21
    assert message.endswith("... and 40 more problems")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            tabs("Sample Chromosome Start End Num_Probes Segment_Mean", "S 1 1 9 5 -0.6"),
            "s.tsv, row 1: log ratios only (column Segment_Mean), no copy numbers: a log ratio is a copy number only",
        ),
        (
            tabs("rho psi distance is.best", "ASCAT 0.7 2.2 NA NA", "FRAC_GENOME 0.72 2.3 0.1 TRUE"),
            "s.tsv, row 1: this is Battenberg's table of fits (rho_and_psi), which is not read. Its "
            "`*_purity_ploidy.txt` is, beside the segments or given with them",
        ),
        (
            tabs("ID chrom loc.start loc.end num.mark seg.mean", "S 1 1 9 5 -0.6"),
            "log ratios only (column seg.mean)",
        ),
        (
            tabs(
                "@HD VN:1.6", "@SQ SN:1 LN:9", "CONTIG START END LOG2_COPY_RATIO_POSTERIOR_50", "1 1 9 -0.6"
            ),
            "s.tsv, row 3: log ratios only (column LOG2_COPY_RATIO_POSTERIOR_50)",
        ),
        (
            tabs("chromosome start end gene log2 probes weight depth", "1 1 9 A 0.1 5 5 5"),
            "log ratios only (column log2), no copy numbers",
        ),
        (
            tabs("chromosome start end gene log2 cn depth", "1 1 9 A 0.1 2 5"),
            "s.tsv, row 1: total copy numbers only (column cn): the model needs the copies of each allele. Use "
            "`genotype_prior` total, or segments with alleles (`cnvkit.py call --vcf` adds cn1 and cn2)",
        ),
        (
            tabs("chrom start end tot_cn", "1 1 9 2"),
            "total copy numbers only (column tot_cn): the model needs the copies of each allele. Use "
            "`genotype_prior` total, or segments with alleles",
        ),
        (
            tabs("chrom start end tcn.em", "1 1 9 2"),
            "the format of these segments is not recognised. Known are absolute, ascat, battenberg, cnvkit, facets, "
            "generic, hatchet, mutationtimer, pcgr, phylowgs, purecn, purple, sequenza, titan; nearest is facets "
            "(FACETS cncf), but the column lcn.em is missing. The header has 'chrom', 'start', 'end', 'tcn.em'",
        ),
        (
            tabs("chr startpos endpos nMajor", "1 1 9 2"),
            "nearest is ascat (ASCAT segments.txt), but the column nMinor is missing",
        ),
        (
            tabs("chrom start major_cn minor_cn", "1 1 2 1"),
            "nearest is generic (chrom start end major_cn minor_cn), but the column end is missing",
        ),
        (
            tabs("chromosome start.pos end.pos CNt A", "1 1 9 2 1"),
            "nearest is sequenza (Sequenza segments.txt), but the column B is missing",
        ),
        (tabs("gene score", "A 1"), "titan. The header has 'gene', 'score'"),
        (
            tabs("mutation_id sample_id ref_counts alt_counts major_cn minor_cn normal_cn", "m S 1 2 1 1 2"),
            "recognised",
        ),
        (
            "\n".join(["chrom", "1"]),
            "row 1: 'chrom': a header is expected whose column names are separated by tabs",
        ),
        ("", "s.tsv: the file is empty: a header with the column names is expected"),
        ("##fileformat=VCFv4.2\n", "this is a VCF file; a table of copy-number segments as text is expected"),
        (b"PK\x03\x04\x00\x00", "this is a zip archive or an Excel workbook"),
        (
            "Chromosome\tStart\tEnd\tnMajor\tnMinor\n1\t1\t9\t1\t1\xe9\n".encode("latin-1"),
            "row 2: '1é': not UTF-8",
        ),
    ],
)
def test_not_segments(tmp_path: Path, content: str | bytes, expected: str) -> None:
    assert expected in error_in(tmp_path, content)


def test_format_that_does_not_fit(tmp_path: Path) -> None:
    assert (
        "s.tsv, row 1: not in the format facets (FACETS cncf): the columns tcn.em, lcn.em are missing. The header has "
        "'Chromosome', 'Start', 'End', 'nMajor', 'nMinor'"
    ) in error_in(tmp_path, FILES["pcgr"][1], cn_format="facets")


def test_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match=r"`cn_format` 'dragen': must be one of absolute, ascat, bat",
    ):
        read_segments(tmp_path / "s.tsv", "dragen")


def test_no_file() -> None:
    with pytest.raises(UsageError, match="no file of copy-number segments given"):
        read_segments([])


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_segments(tmp_path / "none.tsv")
    with pytest.raises(InputError, match="this is a directory"):
        read_segments(tmp_path)


def test_same_file_twice(tmp_path: Path) -> None:
    path = tmp_path / "s.tsv"
    path.write_text(FILES["pcgr"][1])
    (tmp_path / "link.tsv").symlink_to(path)
    for paths in ([path, path], [path, tmp_path / "link.tsv"]):
        with pytest.raises(
            InputError, match=r"this file is given twice \(the first time as .*\); give it once"
        ):
            read_segments(paths)


def test_same_sample_in_two_files(tmp_path: Path) -> None:
    for name in ("a.tsv", "b.tsv"):
        (tmp_path / name).write_text(FILES["ascat segments.txt"][1])
    with pytest.raises(
        InputError, match=r"b\.tsv: segments of chromosome 1 of sample 'S' stand in .*a\.tsv, too"
    ):
        read_segments([tmp_path / "a.tsv", tmp_path / "b.tsv"])


def test_sample_that_is_not_there(tmp_path: Path) -> None:
    content = tabs(ASCAT, "A 1 1 9 2 1", "B 1 1 9 2 1")
    assert "s.tsv: no segments of sample 'C'; the samples are 'A', 'B'" in error_in(
        tmp_path, content, sample_id="C"
    )


@pytest.mark.parametrize(
    ("header", "row"),
    [(ASCAT, "{} 1 1 {} 2 1"), (f"sample {GENERIC} cellular_prevalence", "{} 1 1 {} 2 1 0.8")],
)
def test_sample_whose_segments_all_end_before_they_start(tmp_path: Path, header: str, row: str) -> None:
    content = tabs(header, row.format("A", 9), row.format("B", 0), row.format("B", 0))
    message = error_in(tmp_path, content, sample_id="B")
    assert message.startswith("s.tsv, row 1, column end")
    assert message.endswith(": every segment of sample 'B' ends before it starts")
    assert len(read_segments(tmp_path / "s.tsv", sample_id="A").table) == 1


def test_problems_of_all_files(tmp_path: Path) -> None:
    paths = [tmp_path / "a.tsv", tmp_path / "b.tsv"]
    paths[0].write_text(tabs(ASCAT, "S 1 1 9 x 1"))
    paths[1].write_text(tabs(FACETS, "1 1 y 2 1"))
    with pytest.raises(InputError) as caught:
        read_segments(paths)
    assert [(problem.column, problem.value) for problem in caught.value.problems] == [
        ("nMajor", "x"),
        ("end", "y"),
    ]
