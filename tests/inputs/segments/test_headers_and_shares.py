"""Headers that begin with "#", and shares of cells a little above 1."""

from __future__ import annotations

from pathlib import Path

import pytest
from segment_files import tabs

from pyclone_pgsm.errors import InputError
from pyclone_pgsm.inputs.segments.reading import read_segments

HEADER = "chrom start end major_cn minor_cn cellular_prevalence sample_id"


@pytest.mark.parametrize(
    "above",
    [
        "#" + HEADER,
        "# " + HEADER,
        "##·made·by·a·caller\n#·chr·positions·are·hg19\n#" + HEADER,
        "#·chrom,·start,·end:·first·base·1\n" + HEADER,
        "#sample_id start end chrom major_cn minor_cn cellular_prevalence\n" + HEADER,
    ],
)
def test_header_after_hash(above: str, tmp_path: Path) -> None:
    path = tmp_path / "s.tsv"
    path.write_text(tabs(above, "1 1 9 2 1 1 A"))
    table = read_segments(path).table
    assert table[["chrom", "start", "end", "major_cn", "sample_id"]].to_numpy().tolist() == [
        ["1", 1, 9, 2, "A"]
    ]


def test_comments_only(tmp_path: Path) -> None:
    path = tmp_path / "s.tsv"
    path.write_text("# a comment\n# another\n")
    with pytest.raises(InputError, match="the file is empty: a header with the column names is expected"):
        read_segments(path)


def test_shares_a_little_above_one(tmp_path: Path) -> None:
    path = tmp_path / "s.tsv"
    path.write_text(tabs(HEADER, "1 1 9 2 1 1.03 A", "1 10 19 2 1 0.7 A", "2 1 9 2 1 1.05 A"))
    segments = read_segments(path)
    assert segments.table["fraction"].tolist() == [1, 0.7, 1]
    text = "cellular_prevalence {} of the segment is above 1, and taken as 1"
    assert [(item.row, item.sample_id, item.reason) for item in segments.left_out] == [
        (2, "A", text.format("1.03")),
        (4, "A", text.format("1.05")),
    ]
    path.write_text(tabs(HEADER, "1 1 9 2 1 1.06 A"))
    with pytest.raises(
        InputError, match=r"s\.tsv, row 2, column cellular_prevalence: '1\.06': out of range; exp"
    ):
        read_segments(path)
    path.write_text(tabs(HEADER, *("1 1 9 2 1 0.01 A" for _ in range(33))))
    with pytest.raises(InputError, match="row 34: more than 32 rows for the same segment of one sample"):
        read_segments(path)


def test_states_that_are_together_in_a_little_more_than_all_cells(tmp_path: Path) -> None:
    path = tmp_path / "s.tsv"
    rows = (
        "1 1 9 2 1 1.03 A",
        "1 10 19 2 1 0.54 A",
        "1 10 19 1 1 0.5 A",
        "2 1 9 2 1 0.7 A",
        "2 1 9 1 1 0.3 A",
    )
    path.write_text(tabs(HEADER, *rows))
    assert [(item.row, item.sample_id, item.reason) for item in read_segments(path).left_out] == [
        (2, "A", "cellular_prevalence 1.03 of the segment is above 1, and taken as 1"),
        (3, "A", "the states of the segment are in 1.04 of the cells in all, taken as 1"),
    ]


def test_shares_of_battenberg_above_one(tmp_path: Path) -> None:
    path = tmp_path / "s_subclones.txt"
    path.write_text(
        tabs(
            "chr startpos endpos nMaj1_A nMin1_A frac1_A nMaj2_A nMin2_A frac2_A",
            "1 1 9 2 1 1.04 NA NA NA",
            "1 10 19 2 1 0.6 1 1 0.4",
        )
    )
    segments = read_segments(path)
    assert segments.table["fraction"].tolist() == [1, 0.6]
    assert [item.reason for item in segments.left_out] == [
        "frac1_A 1.04 of the segment is above 1, and taken as 1"
    ]


def test_states_of_a_segment_in_more_than_all_cells(tmp_path: Path) -> None:
    path = tmp_path / "s.tsv"
    rows = ["1\t1001\t2000\t3\t1\t2\t0.8"] * 2
    header = "chromosome\tstart\tend\tcopy_number\tminor_cn\tmajor_cn\tcellular_prevalence"
    path.write_text("\n".join([header, *rows]) + "\n")
    with pytest.raises(
        InputError, match=r"s\.tsv.*row 2: the states of this segment are in 1\.6 of the cells"
    ):
        read_segments(path, cn_format="phylowgs")


TWO_STATES = "chrom start end major_cn minor_cn subclonal_major_cn subclonal_minor_cn subclonal_fraction"


def test_second_state_in_columns_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "s.tsv"
    path.write_text(tabs(TWO_STATES, "1 1 9 2 1 1 1 0.3", "1 11 19 2 1 NA NA NA", "1 21 29 2 1 3 1 0"))
    table = read_segments(path).table
    names = [
        "major_cn",
        "minor_cn",
        "fraction",
        "subclonal_major_cn",
        "subclonal_minor_cn",
        "subclonal_fraction",
    ]
    assert table[names].fillna(-1.0).to_numpy().tolist() == [
        [2, 1, 0.7, 1, 1, 0.3], [2, 1, 1, -1, -1, -1], [2, 1, 1, -1, -1, -1],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("1 1 NA", "column subclonal_fraction: 'NA': no value; expected a share"),
        ("NA NA 0.3", "column subclonal_major_cn: 'NA': no copy numbers of the second state"),
    ],
)
def test_faults_of_a_second_state(second: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "s.tsv"
    path.write_text(tabs(TWO_STATES, f"1 1 9 2 1 {second}"))
    with pytest.raises(InputError, match=expected):
        read_segments(path)


def test_shares_of_all_cells_in_a_plain_table(tmp_path: Path) -> None:
    path = tmp_path / "s.tsv"
    path.write_text(tabs("chromosome start end major_cn minor_cn cellular_prevalence", "1 1 9 2 1 0.8"))
    for cn_format, of_all_cells in ((None, False), ("generic", False), ("phylowgs", True)):
        table = read_segments(path, cn_format=cn_format).table
        assert table[["fraction", "of_all_cells"]].values.tolist() == [[0.8, of_all_cells]]
