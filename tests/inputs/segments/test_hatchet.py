"""HATCHet's clones as copy-number states, and its purity."""

from __future__ import annotations

from pathlib import Path

import pytest
from segment_files import tabs, variants

from pyclone_pgsm.errors import InputError
from pyclone_pgsm.inputs.segments.joining import join
from pyclone_pgsm.inputs.segments.reading import read_segments

HEADER = "#CHR START END SAMPLE cn_normal u_normal cn_clone1 u_clone1 cn_clone2 u_clone2 cn_clone3 u_clone3"


def write(folder: Path, *rows: str, header: str = HEADER) -> Path:
    path = folder / "best.seg.ucn"
    path.write_text(tabs(header, *rows))
    return path


def message(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_segments(path)
    return str(caught.value).replace(f"{path.parent}/", "")


def test_states_and_purity(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "1 100 200 A 1|1 0.2 2|1 0.4 1|2 0.2 1|1 0.2",
        "1 200 300 A 1|1 0.2 2|1 0.4 1|1 0.35 3|2 0.05",
        "1 300 400 A 1|1 0.2 2|1 0.3 1|1 0.3 3|2 0.2",
        "1 100 200 B 1|1 0.5 2|1 0 0|1 0.5 1|1 0",
        "1 200 300 B 1|1 0.5 2|1 0.1 1|0 0.2 0|1 0.2",
    )
    segments = read_segments(path)
    assert {hint.sample_id: hint.purity for hint in segments.hints} == pytest.approx({"A": 0.8, "B": 0.5})
    states = segments.table[["fraction", "subclonal_fraction", "other_fraction"]] > 0
    assert states.sum(axis=1).tolist() == [2, 3, 3, 1, 2]
    mutations = variants(*(("1", at, "A") for at in (101, 201, 400)), *(("1", at, "B") for at in (200, 300)))
    table, left_out = join(mutations, segments)
    names = ["sample_id", "major_cn", "minor_cn", "subclonal_major_cn", "subclonal_minor_cn"]
    assert table[names].to_numpy().tolist() == [
        ["A", 2, 1, 1, 1],
        ["A", 2, 1, 1, 1],
        ["B", 1, 0, 0, 0],
        ["B", 1, 0, 2, 1],
    ]
    expected = [0.25, 0.35 / 0.75, 0.0, 0.2]
    assert table["subclonal_fraction"].tolist() == pytest.approx(expected)
    assert table["tumour_content"].tolist() == pytest.approx([0.8, 0.8, 0.5, 0.5])
    text = f"the tumour cells of its segment (row {{}} of {path}) are in more than two copy-number states{{}}"
    assert [item.reason for item in left_out] == [
        text.format(3, ": the two largest are taken for all; at most 10 % of the cells are in others"),
        text.format(4, ", and more than 10 % of them in none of the two largest"),
    ]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            "1 1 9 A 1|1 0.2 2 0.4 2|1 0.2 1|1 0.2",
            "row 2, column cn_clone1: '2': no pair of copy numbers; expected the copies of the two alleles, such as",
        ),
        (
            "1 1 9 A 1|1 0.2 x|1 0.4 2|1 0.2 1|1 0.2",
            "row 2, column cn_clone1: 'x|1': not a number; expected a copy",
        ),
        (
            "1 1 9 A 1|1 0.2 2|1 0.4 1|-1 0.2 1|1 0.2",
            "row 2, column cn_clone2: '1|-1': negative; expected a copy",
        ),
        (
            "1 1 9 A 1|1 0.2 2|1 NA 1|1 0 1|1 0",
            "column u_clone1: 'NA': no value; expected a share of cells: 0 to 1",
        ),
        (
            "1 1 9 A 1|1 0.2 2|1 0.7 1|1 0.3 1|1 0.3",
            "column u_normal: '0.2': the shares of normal cells and all clones add up to 1.5",
        ),
    ],
)
def test_faults(row: str, expected: str, tmp_path: Path) -> None:
    assert f"best.seg.ucn, {expected}" in message(write(tmp_path, row)) or expected in message(
        write(tmp_path, row)
    )


def test_sample_without_tumour_cells(tmp_path: Path) -> None:
    path = write(tmp_path, "1 1 9 A 1|1 0.2 2|1 0.8 1|1 0 1|1 0", "1 1 9 B 1|1 1 2|1 0 1|1 0 1|1 0")
    segments = read_segments(path)
    assert [hint.purity for hint in segments.hints] == [0.8, None]
    table, left_out = join(variants(("1", 5, "A"), ("1", 5, "B")), segments)
    assert table[["sample_id", "major_cn", "minor_cn"]].values.tolist() == [["A", 2, 1]]
    assert [(item.sample_id, item.reason) for item in left_out] == [
        ("B", f"its segment (row 3 of {path}) has neither the copies of both alleles nor their total")
    ]


def test_purity_differs(tmp_path: Path) -> None:
    rows = ("1 1 9 A 1|1 0.2 2|1 0.8 1|1 0 1|1 0", "1 9 19 A 1|1 0.4 2|1 0.6 1|1 0 1|1 0")
    assert message(write(tmp_path, *rows)) == (
        "best.seg.ucn, row 3, column u_normal: '0.4': another share of normal cells than in the first row of this "
        "sample, 0.2"
    )


def test_missing_columns(tmp_path: Path) -> None:
    header = HEADER.removesuffix(" u_clone3")
    path = write(tmp_path, "1 1 9 A 1|1 0.2 2|1 0.8 1|1 0 1|1", header=header)
    assert message(path) == "best.seg.ucn, row 1, column u_clone3: this column is missing"
    path = write(tmp_path, "1 1 9 A 0.2 2|1 0.8", header="#CHR START END SAMPLE u_normal cn_clone1 u_clone1")
    assert (
        "nearest is hatchet (HATCHet best.seg.ucn or best.bbc.ucn), but the column cn_normal is miss"
        in message(path)
    )
