"""Every format, as its tool writes it, gives the same segments."""

from __future__ import annotations

import doctest
import gzip
from pathlib import Path

import numpy as np
import pytest
from segment_files import COPIES, FILES, PLACES, tabs

from pyclone_pgsm.inputs.mutations.kinds import kind_of
from pyclone_pgsm.inputs.segments import reading
from pyclone_pgsm.inputs.segments.formats import FORMATS
from pyclone_pgsm.inputs.segments.model import Segments, combined
from pyclone_pgsm.inputs.segments.reading import read_segments, sample_stem


def written(tmp_path: Path, content: str | bytes, name: str = "s.tsv") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(tmp_path: Path, content: str | bytes, name: str = "s.tsv", **options) -> Segments:
    return read_segments(written(tmp_path, content, name), **options)


def places(segments: Segments) -> list[tuple]:
    return list(segments.table[["chrom", "start", "end"]].itertuples(index=False, name=None))


def copies(segments: Segments) -> list[tuple]:
    return list(segments.table[["major_cn", "minor_cn"]].itertuples(index=False, name=None))


@pytest.mark.parametrize("name", FILES)
def test_files_of_all_formats_are_taken_for_segments(name: str, tmp_path: Path) -> None:
    """Also if they are among the arguments of a command, as with ``-c *.csv``."""
    assert kind_of(written(tmp_path, FILES[name][1])) == "segments"


def test_minor_copies_without_a_total_are_unknown(tmp_path: Path) -> None:
    """PureCN's, too, though its minor copies may not be larger than the total."""
    rows = "1 1 9 NA 1", "1 10 19 NA NA", "1 20 29 1 NA", "1 30 39 3 1"
    segments = read(tmp_path, tabs("chr start end C M", *rows))
    assert copies(segments) == [(-1, -1), (-1, -1), (1, 0), (2, 1)]


@pytest.mark.parametrize("name", FILES)
def test_same_segments(tmp_path: Path, name: str) -> None:
    cn_format, content = FILES[name]
    segments = read(tmp_path, content)
    assert places(segments) == PLACES
    assert copies(segments) == COPIES
    assert {hint.format for hint in segments.hints} == {cn_format}
    assert segments.left_out == []
    shares = {"phylowgs": [0.8] * 3, "mutationtimer": [0.8] * 3, "facets": [0.8, 0.8, 1.0]}.get(
        cn_format, [1.0] * 3
    )
    assert segments.table["fraction"].tolist() == shares
    first_row = 1 if name == "ascat caveman" else 2
    assert segments.table["row"].tolist() == [first_row, first_row + 1, first_row + 2]
    assert [hint.sample_id for hint in segments.hints] == [
        "S" if content.count("\tS\t") + content.count("\nS\t") + content.count(",S,") == 3 else ""
    ]


@pytest.mark.parametrize("name", FILES)
def test_named_format(tmp_path: Path, name: str) -> None:
    """The format may be named; the result is the same."""
    cn_format, content = FILES[name]
    segments = read(tmp_path, content, cn_format=cn_format)
    assert (places(segments), copies(segments)) == (PLACES, COPIES)


def test_every_format_is_tested() -> None:
    assert {cn_format for cn_format, _ in FILES.values()} == set(FORMATS)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: "\ufeff" + text,
        lambda text: text.removesuffix("\n"),
        lambda text: "\n\n" + text + "\n\n",
        lambda text: "# made by a tool\n" + text,
        lambda text: text.replace("\n", "\n# a remark\n", 2),
        lambda text: gzip.compress(text.encode()),
        lambda text: (
            text.replace(" ", "  ") if text.startswith('"chromosome" ') else text.replace("\n", "\t\t\n")
        ),
    ],
    ids=[
        "windows",
        "old mac",
        "bom",
        "no line end",
        "blank lines",
        "comment",
        "comments",
        "gzip",
        "trailing tabs",
    ],
)
def test_same_however_written(tmp_path: Path, name: str, change) -> None:
    if name in ("ascat caveman", "generic") and "\t\t\n" in str(change(FILES[name][1])):
        pytest.skip("separated by commas")
    segments = read(tmp_path, change(FILES[name][1]))
    assert (places(segments), copies(segments)) == (PLACES, COPIES)


@pytest.mark.parametrize("separator", [",", ";"])
def test_other_separators(tmp_path: Path, separator: str) -> None:
    content = FILES["facets cncf"][1].replace("\t", separator)
    assert copies(read(tmp_path, content)) == COPIES


def test_normal_copies_from_the_file(tmp_path: Path) -> None:
    for name in ("ascat caveman", "ascat sigprofiler", "generic"):
        assert read(tmp_path, FILES[name][1]).table["normal_cn"].tolist() == [2, 2, 2]
    assert read(tmp_path, FILES["pcgr"][1]).table["normal_cn"].tolist() == [-1, -1, -1]


def test_caveman_female_y(tmp_path: Path) -> None:
    segments = read(tmp_path, "1,Y,1,100,0,0,0,0\n")
    assert segments.table["normal_cn"].tolist() == [0]
    assert copies(segments) == [(0, 0)]


def test_alleles_in_any_order(tmp_path: Path) -> None:
    content = tabs(
        "SampleID Chromosome Start_position End_position total_cn A_cn B_cn ploidy", "S 1 1 9 5 1 4 3"
    )
    assert copies(read(tmp_path, content)) == [(4, 1)]


def test_ploidy_from_the_rows(tmp_path: Path) -> None:
    assert [hint.ploidy for hint in read(tmp_path, FILES["ascat scarhrd"][1]).hints] == [2.7]


def test_ploidy_of_each_sample(tmp_path: Path) -> None:
    header = "SampleID Chromosome Start_position End_position total_cn A_cn B_cn ploidy"
    rows = [f"{sample} {chrom} 1 9 3 1 2 {ploidy}" for sample, chrom, ploidy in
            [("A", 1, 2.1), ("B", 1, "NA"), ("C", 1, "NA"), ("B", 2, 3.9)]]  # fmt: skip
    content = tabs(header, *rows)
    assert {hint.sample_id: hint.ploidy for hint in read(tmp_path, content).hints} == {
        "A": 2.1,
        "B": 3.9,
        "C": None,
    }
    assert [hint.ploidy for hint in read(tmp_path, content, sample_id="B").hints] == [3.9]


@pytest.mark.parametrize(
    ("total", "minor", "expected"),
    [
        ("3", "NA", (3, -1)),
        ("1", "NA", (1, 0)),
        ("0", "NA", (0, 0)),
        ("NA", "NA", (-1, -1)),
        ("NA", "1", (-1, -1)),
    ],
)
def test_unknown_minor(tmp_path: Path, total: str, minor: str, expected: tuple) -> None:
    content = tabs("chrom start end tcn.em lcn.em", f"1 1 9 {total} {minor}", "2 1 9 2 1")
    assert copies(read(tmp_path, content)) == [expected, (1, 1)]


def test_em_goes_before_the_first_estimate(tmp_path: Path) -> None:
    content = tabs("chrom start end tcn lcn tcn.em lcn.em", "1 1 9 7 3 5 1")
    assert copies(read(tmp_path, content)) == [(4, 1)]
    assert copies(read(tmp_path, tabs("chrom start end tcn lcn", "1 1 9 7 3"))) == [(4, 3)]


def test_real_copy_numbers(tmp_path: Path) -> None:
    content = tabs(
        "chromosome start end copyNumber majorAlleleCopyNumber minorAlleleCopyNumber",
        "1 1 10 3.1 2.0117 1.0883",
        "1 11 20 1.2 1.3 -0.1",
        "1 21 30 3 2.4 0.6",
        "1 31 40 -0.6 0 -0.6",
        "1 41 50 3.1 1.55 1.55",
        "1 51 60 2.9 2.45 0.45",
        "1 61 70 1.34 0.735 0.602",
    )
    segments = read(tmp_path, content)
    assert copies(segments) == [(2, 1), (1, 0), (2, 1), (0, 0), (2, 1), (3, 0), (1, 0)]
    assert segments.table["rounding"].tolist() == pytest.approx([0.0883, 0.3, 0.4, 0.6, 0.55, 0.55, 0.602])
    assert [(item.row, item.mutation_id, item.reason) for item in segments.left_out] == [
        (3, "", "copy numbers 1.3 and -0.1 of the segment rounded to 1 and 0"),
        (4, "", "copy numbers 2.4 and 0.6 of the segment rounded to 2 and 1"),
        (5, "", "copy numbers 0 and -0.6 of the segment rounded to 0 and 0"),
        (6, "", "copy numbers 1.55 and 1.55 of the segment rounded to 2 and 1"),
        (7, "", "copy numbers 2.45 and 0.45 of the segment rounded to 3 and 0"),
        (8, "", "copy numbers 0.735 and 0.602 of the segment rounded to 1 and 0"),
    ]
    assert "rounded by up to 0.60, in 6 segments by more than 0.25" in segments.describe()[0]


def test_purple_2(tmp_path: Path) -> None:
    """minor = copyNumber·(1 - actualBAF); a frequency below 0.5 stands for none."""
    content = tabs(
        "#chromosome start end copyNumber bafCount observedBAF actualBAF method",
        "1 1 10 4.1 3 0.7 0.75 BAF_WEIGHTED",
        "1 11 20 4.1 0 0 0 BAF_WEIGHTED",
        "1 21 30 0.7 0 0 0 BAF_WEIGHTED",
        "1 31 40 2.6 0 0 0 BAF_WEIGHTED",
    )
    segments = read(tmp_path, content)
    assert copies(segments) == [(3, 1), (4, -1), (1, 0), (3, -1)]
    assert segments.table["rounding"].tolist() == pytest.approx([0.075, 0.1, 0.3, 0.4])
    assert [item.reason for item in segments.left_out] == [
        "copy numbers 0.7 and 0 of the segment rounded to 1 and 0",
        "total copy number 2.6 of the segment rounded to 3",
    ]


def test_real_total_without_alleles_is_rounded(tmp_path: Path) -> None:
    content = tabs("chrom start end major_cn minor_cn total_cn", "1 1 10 · · 2.6", "1 11 20 1 1 2")
    segments = read(tmp_path, content, genotype_prior="total")
    assert copies(segments) == [(3, -1), (1, 1)]
    assert [item.reason for item in segments.left_out] == [
        "total copy number 2.6 of the segment rounded to 3"
    ]


def test_generic_takes_real_copy_numbers(tmp_path: Path) -> None:
    segments = read(
        tmp_path, "chrom,start,end,major_cn,minor_cn\n1,1,9,2.1,0.9\n1,10,19,2,1.0\n1,20,29,NA,NA\n"
    )
    assert copies(segments) == [(2, 1), (2, 1), (-1, -1)]
    assert segments.table["rounding"].tolist() == pytest.approx([0.1, 0, 0])


def test_starts_of_bed_files_are_counted_from_0(tmp_path: Path) -> None:
    rows = "1\t0\t1000\t1\t1\n1\t1000\t2000\t2\t1\n"
    bed = read(tmp_path, f"#chrom\tchromStart\tchromEnd\tmajor_cn\tminor_cn\n{rows}")
    assert bed.table["start"].tolist() == [1, 1001]
    assert bed.table["end"].tolist() == [1000, 2000]
    plain = read(tmp_path, f"chrom\tstart\tend\tmajor_cn\tminor_cn\n{rows}")
    assert plain.table["start"].tolist() == [0, 1000]


def test_intermediate_purple(tmp_path: Path) -> None:
    content = tabs(
        "chromosome start end copyNumber baf minorAllelePloidy majorAllelePloidy", "1 1 9 3 0.6 1.1 1.9"
    )
    assert copies(read(tmp_path, content)) == [(2, 1)]


def test_battenberg_states(tmp_path: Path) -> None:
    content = tabs(
        "chr startpos endpos nMaj1_A nMin1_A frac1_A nMaj2_A nMin2_A frac2_A nMaj1_B nMin1_B frac1_B",
        "1 1 10 2 1 0.3 1 1 0.7 9 9 1",
        "1 11 20 1 0 0.66593 2 0 0.33407 9 9 1",
        "1 21 30 2 2 0.9 NA NA NA 9 9 1",
        "1 31 40 2 2 1 NA NA 0 9 9 1",
        "1 41 50 NA NA NA NA NA NA NA NA NA",
    )
    table = read(tmp_path, content).table
    assert table["major_cn"].tolist() == [2, 1, 2, 2, -1]
    assert table["fraction"].tolist() == pytest.approx([0.3, 0.66593, 1, 1, 1])
    assert table["subclonal_major_cn"].tolist() == [1, 2, -1, -1, -1]
    assert table["subclonal_fraction"].tolist() == pytest.approx([0.7, 0.33407] + [np.nan] * 3, nan_ok=True)


def test_states_in_rows_of_their_own(tmp_path: Path) -> None:
    content = tabs(
        "chromosome start end copy_number minor_cn major_cn cellular_prevalence",
        "1 1 10 3 1 2 0.2",
        "1 1 10 2 1 1 0.5",
        "2 1 10 3 1 2 0.7",
        "3 1 10 3 1 2 0.2",
        "3 1 10 2 1 1 0.3",
        "3 1 10 1 0 1 0.2",
    )
    table = read(tmp_path, content).table
    assert table["row"].tolist() == [2, 4, 5]
    assert table["other_fraction"].tolist() == pytest.approx([0, 0, 0.2])
    assert table["fraction"].tolist() == [0.2, 0.7, 0.2]
    assert table["subclonal_major_cn"].tolist()[:2] == [1, -1]
    assert table["subclonal_fraction"].tolist() == pytest.approx([0.5, np.nan, 0.3], nan_ok=True)
    assert table["of_all_cells"].all()


def test_totals_where_they_do(tmp_path: Path) -> None:
    cnvkit = tabs(
        "chromosome start end gene log2 cn depth probes weight",
        "chr1 0 9 - 0 3 9 9 9",
        "chr1 9 19 - 0 1 9 9 9",
    )
    for prior in ("total", "ab", "bb", "no-zygosity"):
        segments = read(tmp_path, cnvkit, genotype_prior=prior)
        assert copies(segments) == [(3, -1), (1, 0)]
        assert places(segments) == [("1", 1, 9), ("1", 10, 19)]
    generic = "chrom\tstart\tend\ttotal_cn\n1\t1\t9\t4\n"
    assert copies(read(tmp_path, generic, genotype_prior="total")) == [(4, -1)]


def test_samples_of_a_file(tmp_path: Path) -> None:
    content = tabs("sample chr startpos endpos nMajor nMinor", "A 1 1 9 1 1", "B 1 1 9 2 0", "A 2 1 9 3 0")
    segments = read(tmp_path, content)
    assert [hint.sample_id for hint in segments.hints] == ["A", "B"]
    assert segments.table["sample_id"].tolist() == ["A", "B", "A"]
    of_b = read(tmp_path, content, sample_id="B")
    assert ([hint.sample_id for hint in of_b.hints], copies(of_b)) == (["B"], [(2, 0)])


@pytest.mark.parametrize("name", ["pcgr", "ascat segments.txt"])
def test_sample_named_by_the_caller(tmp_path: Path, name: str) -> None:
    segments = read(tmp_path, FILES[name][1], sample_id="tumour")
    assert [hint.sample_id for hint in segments.hints] == ["tumour"]
    assert set(segments.table["sample_id"]) == {"tumour"}


def test_rename_by_file(tmp_path: Path) -> None:
    one, two = (
        written(tmp_path, FILES["pcgr"][1], "a.tsv"),
        written(tmp_path, FILES["facets suite"][1], "b.tsv"),
    )
    segments = read_segments([one, two]).named({(str(one), ""): "A"})
    assert [hint.sample_id for hint in segments.hints] == ["A", "S"]
    assert segments.table["sample_id"].tolist() == ["A"] * 3 + ["S"] * 3
    apart = combined([read_segments(one).named({(str(one), ""): "A"}), read_segments(two)])
    assert apart.table.equals(segments.table)
    assert apart.hints == segments.hints


def test_backward_segment(tmp_path: Path) -> None:
    segments = read(tmp_path, tabs("Chromosome Start End nMajor nMinor", "1 1 9 1 1", "1 20 10 2 1"))
    assert places(segments) == [("1", 1, 9)]
    assert [(item.row, item.reason) for item in segments.left_out] == [
        (3, "the segment ends (10) before it starts (20)")
    ]


def test_r_writes_large_numbers_so(tmp_path: Path) -> None:
    assert places(read(tmp_path, tabs("Chromosome Start End nMajor nMinor", "1 1e+05 2.5e6 1 1"))) == [
        ("1", 100_000, 2_500_000)
    ]


@pytest.mark.parametrize(
    ("ends", "expected"),
    [([("1", 249_000_000)], "GRCh37"), ([("X", 156_040_895)], "GRCh38"), ([("1", 10_000)], None)],
)
def test_build_from_the_ends(tmp_path: Path, ends: list, expected: str | None) -> None:
    content = tabs("Chromosome Start End nMajor nMinor", *(f"{chrom} 1 {end} 1 1" for chrom, end in ends))
    assert [hint.build for hint in read(tmp_path, content).hints] == [expected]


def test_describe(tmp_path: Path) -> None:
    path = written(tmp_path, tabs("chrom start end tcn.em lcn.em", "1 1 9 3 NA", "2 1 9 2 1"))
    assert read_segments(path).describe() == [
        f"{path}: 2 segments (facets), 1 without the copies of each allele"
    ]
    titan = FILES["titan"][1].replace("GAIN\t3\t1\t2\t1\t1", "GAIN\t3\t1\t2\t2\t0.3")
    assert read(tmp_path, titan).describe() == ["S: 3 segments (titan), 1 of them subclonal"]
    assert read(tmp_path, FILES["phylowgs"][1], sample_id="P").describe() == [
        "P: 3 segments (phylowgs), shares of all cells, normal ones included"
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("S1.purple.cnv.somatic.tsv", "S1"),
        ("S1_subclones.txt", "S1"),
        ("S1.cncf.txt.gz", "S1"),
        ("S1.call.cns", "S1"),
        ("S1_segments.txt", "S1"),
        ("S1.segments_raw.txt", "S1"),
        ("S1.copynumber.caveman.csv", "S1"),
        ("S1.titan.ichor.seg.noSNPs.txt", "S1"),
        ("S1", "S1"),
        (".tsv", ".tsv"),
        ("segments.txt", "segments"),
    ],
)
def test_sample_stem(name: str, expected: str) -> None:
    assert sample_stem(Path(name)) == expected


def test_examples() -> None:
    assert doctest.testmod(reading) == (0, 1)
