"""Mutations and segments put together: what each mutation gets, and why one gets nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from segment_files import FILES, segment_table, tabs, variants

from pyclone_pgsm.analyses.prepare import Prepared, write_prepared
from pyclone_pgsm.errors import InputError, UsageError
from pyclone_pgsm.inputs.genome import LENGTHS
from pyclone_pgsm.inputs.mutations.model import Variants
from pyclone_pgsm.inputs.read_counts.tables import read_tables
from pyclone_pgsm.inputs.segments.joining import join
from pyclone_pgsm.inputs.segments.model import Hint, Segments
from pyclone_pgsm.inputs.segments.reading import read_segments

COLUMNS = [
    "file", "row", "mutation_id", "sample_id", "ref_counts", "alt_counts", "major_cn", "minor_cn", "normal_cn",
    "tumour_content", "chrom", "pos", "ref", "alt", "gene", "subclonal_major_cn", "subclonal_minor_cn",
    "subclonal_fraction",
]  # fmt: skip


def given(*rows: dict, hints: list[Hint] | None = None) -> Segments:
    table = segment_table(*rows)
    plain = [Hint("s.tsv", sample, "generic") for sample in table["sample_id"].unique()]
    return Segments(table, hints=plain if hints is None else hints)


def numbers(table: pd.DataFrame, *names: str) -> list[tuple]:
    return list(table[list(names)].itertuples(index=False, name=None))


def copies(table: pd.DataFrame) -> list[tuple]:
    return numbers(table, "major_cn", "minor_cn", "normal_cn")


def reason(variants_: Variants, segments: Segments, **options) -> str:
    """Of the only mutation left out; another is kept to have a result."""
    both = variants(
        ("1", 1), *variants_.table[["chrom", "pos", "sample_id"]].itertuples(index=False, name=None)
    )
    _, left_out = join(both, segments, **options)
    assert len(left_out) == 1
    assert left_out[0].row == 11
    return left_out[0].reason


def test_what_a_row_has() -> None:
    table, left_out = join(variants(("1", 500)), given({"major_cn": 2}))
    assert list(table.columns) == COLUMNS
    row = ["v.vcf", 10, "1:500:A:C", "S", 30, 10, 2, 1, 2, 1.0, "1", 500, "A", "C", "", 0, 0, 0.0]
    assert table.iloc[0].tolist() == row
    assert left_out == []


@pytest.mark.parametrize("name", FILES)
def test_same_table_from_every_format(tmp_path: Path, name: str) -> None:
    """1001-2000 is 2+1, 2001-5000 is 1+0, X 101-900 is 1+1, whether the tool counts from 0 or 1."""
    path = tmp_path / "s.tsv"
    path.write_text(FILES[name][1])
    positions = [("1", 1000), ("1", 1001), ("1", 2000), ("1", 2001), ("1", 5000), ("1", 5001)]
    positions += [("X", 100), ("X", 101), ("X", 900), ("X", 901)]
    segments = read_segments(path, sample_id="S")
    table, left_out = join(variants(*positions), segments, sex="female", tumour_content=0.8)
    assert numbers(table, "chrom", "pos", "major_cn", "minor_cn", "normal_cn") == [
        ("1", 1001, 2, 1, 2), ("1", 2000, 2, 1, 2), ("1", 2001, 1, 0, 2), ("1", 5000, 1, 0, 2),
        ("X", 101, 1, 1, 2), ("X", 900, 1, 1, 2),
    ]  # fmt: skip
    assert [item.mutation_id for item in left_out] == ["1:1000:A:C", "1:5001:A:C", "X:100:A:C", "X:901:A:C"]
    assert {(item.file, item.sample_id, item.reason) for item in left_out} == {
        ("v.vcf", "S", "in no copy-number segment of the sample")
    }
    assert [item.row for item in left_out] == [10, 15, 16, 19]
    assert list(table.columns) == COLUMNS
    assert (table["tumour_content"] == 0.8).all()


def test_result_is_read_back(tmp_path: Path) -> None:
    segments = given(
        {
            "major_cn": 2,
            "fraction": 0.7,
            "subclonal_major_cn": 3,
            "subclonal_minor_cn": 1,
            "subclonal_fraction": 0.3,
        },
        {"start": 2000, "end": 3000},
        {"chrom": "2", "major_cn": 0, "minor_cn": 0},
    )
    table, _ = join(variants(("1", 5), ("1", 2500), ("2", 5)), segments, tumour_content={"S": 0.6})
    write_prepared(Prepared(table, [], [], [], None, "major"), tmp_path)
    observations, left_out = read_tables(tmp_path / "table.tsv")
    assert observations.mutation_ids == ["1:5:A:C", "1:2500:A:C"]
    assert observations.subclonal_fraction[:, 0].tolist() == pytest.approx([0.3, 0.0])
    assert observations.subclonal_major_cn[:, 0].tolist() == [3, 0]
    assert observations.tumour_content[:, 0].tolist() == [0.6, 0.6]
    assert observations.annotations["pos"] == ["5", "2500"]
    assert [item.mutation_id for item in left_out] == ["2:5:A:C", "2:5:A:C"]


def test_unsorted_segments_and_mutations() -> None:
    segments = given(
        {"chrom": "2", "start": 1, "end": 9, "major_cn": 5},
        {"start": 100, "end": 200, "major_cn": 4},
        {"start": 1, "end": 50, "major_cn": 3},
    )
    table, _ = join(variants(("1", 150), ("2", 5), ("1", 1), ("1", 150)), segments)
    assert table["major_cn"].tolist() == [4, 5, 3, 4]
    assert table["pos"].tolist() == [150, 5, 1, 150]


def test_samples_have_their_own_segments() -> None:
    segments = given(
        {"sample_id": "A", "major_cn": 2}, {"sample_id": "B", "major_cn": 3}, {"sample_id": "never"}
    )
    table, _ = join(
        variants(("1", 5, "B"), ("1", 5, "A"), ("1", 6, "A")), segments, tumour_content={"B": 0.5}
    )
    assert numbers(table, "sample_id", "major_cn", "tumour_content") == [
        ("B", 3, 0.5),
        ("A", 2, 1.0),
        ("A", 2, 1.0),
    ]


def test_hundred_samples() -> None:
    names = [f"S{place}" for place in range(100)]
    segments = given(*({"sample_id": name, "major_cn": 1 + place} for place, name in enumerate(names)))
    table, _ = join(variants(*(("1", 7, name) for name in reversed(names))), segments)
    assert table["major_cn"].tolist() == list(range(100, 0, -1))


@pytest.mark.parametrize(
    ("sex", "expected"),
    [
        ("male", [("1", 2), ("X", 2), ("X", 1), ("Y", 1)]),
        ("female", [("1", 2), ("X", 2), ("X", 2)]),
        (None, [("1", 2), ("X", 2)]),
    ],
)
def test_normal_copies(sex, expected: list) -> None:
    ends = {chrom: LENGTHS["GRCh37"][chrom] for chrom in ("1", "X", "Y")} | {"MT": 16_571}
    segments = given(
        *({"chrom": chrom, "end": end} for chrom, end in ends.items() if chrom != "X"),
        {"chrom": "X", "end": 2_699_520},
        {"chrom": "X", "start": 2_699_521, "end": ends["X"]},
    )
    mutations = variants(("1", 9), ("X", 100_000), ("X", 50_000_000), ("Y", 20_000_000), ("MT", 9))
    table, left_out = join(mutations, segments, sex=sex)
    assert numbers(table, "chrom", "normal_cn") == expected
    told = {
        "male": [],
        "female": ["normal cells of a woman have no chromosome Y"],
        None: [
            f"copies of chromosome {chrom} in normal cells depend on the sex, which is not known; give it with `sex`"
            for chrom in "XY"
        ],
    }
    mitochondrion = (
        "on the mitochondrion: a cell has many, and no segment tells how many; it cannot be modelled"
    )
    assert [item.reason for item in left_out] == [*told[sex], mitochondrion]


@pytest.mark.parametrize("sex", ["male", None])
def test_segment_of_a_man_over_a_pseudo_autosomal_region_and_the_rest(sex) -> None:
    """Its copies are those of the rest, of which a man has one, so that 1+0 is no loss in the region."""
    ends = {chrom: LENGTHS["GRCh38"][chrom] for chrom in "XY"}
    whole = given({}, *({"chrom": chrom, "end": end, "minor_cn": 0} for chrom, end in ends.items()))
    for row, (chrom, position) in enumerate([("X", 1_000_000), ("Y", 57_000_000)], start=3):
        assert reason(variants((chrom, position)), whole, sex=sex) == (
            f"in a pseudo-autosomal region of chromosome {chrom}, of which normal cells have two copies, but most of "
            f"its segment (row {row} of s.tsv) lies outside, where those of a man have one: the copies of the region "
            "are not known. Expected is a segment of its own"
            + ("" if sex else ", unless the patient is a woman; give `sex`")
        )
    mutation = variants(("X", 1_000_000))
    assert copies(join(mutation, whole, sex="female")[0]) == [(1, 0, 2)]
    said = given({"chrom": "X", "end": ends["X"], "minor_cn": 0, "normal_cn": 1})
    assert copies(join(mutation, said, sex=sex)[0]) == [(1, 0, 1)]
    of_region = given({"chrom": "X", "end": 2_800_000}, {"chrom": "X", "start": 2_800_001, "end": ends["X"]})
    assert copies(join(mutation, of_region, sex=sex)[0]) == [(1, 1, 2)]
    in_gap, _ = join(mutation, given({}), sex=sex, fill_gaps=True)
    assert copies(in_gap) == [(1, 1, 2)]


def test_sex_of_a_tumour() -> None:
    """One sex for all samples, though the caller tells that of one only; two sexes are a fault."""
    rows = [{"sample_id": sample, "chrom": "X"} for sample in "ABC"]
    hints = [Hint(f"{of}.tsv", of, "purple", sex=sex) for of, sex in zip("ABC", ("male", None, "female"))]
    segments = given(*rows, hints=hints)
    table, _ = join(variants(("X", 5, "A"), ("X", 5, "B")), segments)
    assert table["normal_cn"].tolist() == [1, 1]
    calls = variants(*(("X", 5, sample) for sample in "ABC"))
    assert join(calls, segments, sex="female")[0]["normal_cn"].tolist() == [2, 2, 2]
    with pytest.raises(
        UsageError, match=r"male for sample 'A' \(A\.tsv\) and female for sample 'C' \(C\.tsv\)\. One"
    ):
        join(calls, segments)


def test_sex_and_purity_from_the_caller() -> None:
    hint = Hint("s.tsv", "S", "purple", purity=0.7, sex="male")
    segments = given({"chrom": "X"}, hints=[hint])
    table, _ = join(variants(("X", 5)), segments)
    assert numbers(table, "normal_cn", "tumour_content") == [(1, 0.7)]
    table, _ = join(variants(("X", 5)), segments, sex="female", tumour_content={"S": 0.4})
    assert numbers(table, "normal_cn", "tumour_content") == [(2, 0.4)]
    table, _ = join(variants(("X", 5)), segments, tumour_content={})
    assert numbers(table, "normal_cn", "tumour_content") == [(1, 0.7)]


def test_two_purities_of_a_sample_are_a_fault() -> None:
    """It would not be known which counts; the purity of another sample, and equal ones, do not matter."""
    hints = [Hint(f"{p}.tsv", of, "battenberg", purity=p) for of, p in [("S", 0.5), ("T", 0.6), ("S", 0.52)]]
    segments = given({"sample_id": "S"}, {"sample_id": "T"}, hints=hints)
    calls = variants(("1", 5, "S"), ("1", 5, "T"))
    with pytest.raises(UsageError, match=r"'S': 0\.5 \(0\.5\.tsv\) and 0\.52 \(0\.52\.tsv\); give its"):
        join(calls, segments)
    table, _ = join(calls, segments, tumour_content={"S": 0.5})
    assert table["tumour_content"].tolist() == [0.5, 0.6]
    agreeing = given({"sample_id": "S"}, hints=[hints[0], hints[0]])
    assert join(variants(("1", 5)), agreeing)[0]["tumour_content"].tolist() == [0.5]


def test_build_decides_at_the_ends_of_the_regions() -> None:
    position = 2_750_000  # pseudo-autosomal in GRCh38 only
    hints = [Hint("s.tsv", "S", "purple", sex="male")]
    one, mutation = {"chrom": "X", "end": 3_000_000}, variants(("X", position))
    assert join(mutation, given(one, hints=hints), build="GRCh38")[0]["normal_cn"].tolist() == [2]
    assert join(mutation, given(one, hints=hints), build="GRCh37")[0]["normal_cn"].tolist() == [1]
    whole = {"chrom": "X", "end": LENGTHS["GRCh38"]["X"]}
    assert reason(mutation, given(whole, {}, hints=hints)).startswith("in a pseudo-autosomal region")
    said = Variants(mutation.table, builds={"v.vcf": "GRCh37"})
    assert join(said, given(one, hints=hints))[0]["normal_cn"].tolist() == [1]
    both = given(one, {}, hints=hints)
    assert reason(mutation, both).startswith(
        "near the end of a pseudo-autosomal region of chromosome X: copies in"
    )


def test_build_of_a_tumour() -> None:
    """One build for all samples, though the files of one only tell it."""
    ends = {"chrom": "X", "end": 3_000_000}
    of_37 = {"sample_id": "A", "end": LENGTHS["GRCh37"]["1"]}
    segments = given(of_37, {"sample_id": "A", **ends}, {"sample_id": "B", **ends})
    table, _ = join(variants(("X", 2_750_000, "A"), ("X", 2_750_000, "B")), segments, sex="male")
    assert table["normal_cn"].tolist() == [1, 1]


def test_normal_copies_of_the_segments_go_first() -> None:
    segments = given(
        {"chrom": "X", "normal_cn": 1, "minor_cn": 0}, {"chrom": "GL000192.1", "normal_cn": 3}, {}
    )
    table, _ = join(variants(("X", 5), ("GL000192.1", 5)), segments, sex="female")
    assert table["normal_cn"].tolist() == [1, 3]
    nothing = given({"chrom": "Y", "normal_cn": 0}, {})
    assert (
        reason(variants(("Y", 5)), nothing, sex="male")
        == "normal cells have no copy of it, as the segments say"
    )


def test_unknown_contig() -> None:
    contig = "GL000192.1"
    message = f"contig {contig} is no chromosome, and its copies in normal cells are not known"
    assert reason(variants((contig, 5)), given({}, {"chrom": contig})) == message
    assert reason(variants((contig, 5)), given({}), fill_gaps=True) == message
    assert reason(variants((contig, 5)), given({})) == "in no copy-number segment of the sample"


def test_gaps_filled() -> None:
    segments = given({"start": 100, "end": 200, "major_cn": 3}, {"chrom": "X", "start": 1, "end": 5})
    mutations = variants(("1", 50), ("1", 150), ("2", 5), ("X", 5000), ("MT", 5))
    table, left_out = join(mutations, segments, sex="male", build="GRCh37", fill_gaps=True)
    assert copies(table) == [(1, 1, 2), (3, 1, 2), (1, 1, 2), (1, 0, 1)]
    filled = "in no copy-number segment of the sample: taken as diploid"
    assert [item.reason for item in left_out][:3] == [filled] * 3
    assert left_out[3].mutation_id == "MT:5:A:C"


def test_overlapping_segments() -> None:
    segments = given(
        {"start": 1, "end": 100, "major_cn": 2},
        {"start": 90, "end": 200, "major_cn": 3},
        {"start": 150, "end": 160, "major_cn": 3},
    )
    table, left_out = join(variants(("1", 89), ("1", 90), ("1", 100), ("1", 101), ("1", 155)), segments)
    assert numbers(table, "pos", "major_cn") == [(89, 2), (101, 3), (155, 3)]
    text = "two segments with different copy numbers hold it: row 2 of s.tsv and row 3 of s.tsv"
    assert [(item.row, item.reason) for item in left_out] == [(11, text), (12, text)]


def test_overlaps_are_named_among_other_samples() -> None:
    one = {"sample_id": "S", "major_cn": 2}
    segments = given(
        {"sample_id": "A"},
        one,
        {"sample_id": "B"},
        {**one, "major_cn": 3},
        {**one, "start": 2000, "end": 2001},
    )
    _, left_out = join(variants(("1", 5), ("1", 2000)), segments)
    text = "two segments with different copy numbers hold it: row 3 of s.tsv and row 5 of s.tsv"
    assert [item.reason for item in left_out] == [text]


def test_same_interval_twice_without_shares(tmp_path: Path) -> None:
    path = tmp_path / "s.tsv"
    path.write_text("chrom,start,end,major_cn,minor_cn\n1,1,9,2,1\n1,1,9,1,1\n2,1,9,2,1\n2,1,9,2,1\n")
    table, left_out = join(variants(("1", 5), ("2", 5)), read_segments(path, sample_id="S"))
    assert numbers(table, "chrom", "major_cn", "minor_cn") == [("2", 2, 1)]
    assert "two segments with different copy numbers hold it" in left_out[0].reason


def test_alleles_not_known() -> None:
    segments = given(
        {}, {"chrom": "2", "major_cn": 3, "minor_cn": -1}, {"chrom": "3", "major_cn": -1, "minor_cn": -1}
    )
    assert reason(variants(("2", 5)), segments) == (
        "its segment (row 3 of s.tsv) has a total copy number of 3, but not the copies of each allele; "
        "`genotype_prior` total would use it"
    )
    assert (
        reason(variants(("3", 5)), segments)
        == "its segment (row 4 of s.tsv) has neither the copies of both alleles nor their total"
    )
    for prior in ("total", "ab"):
        table, left_out = join(variants(("1", 5), ("2", 5), ("3", 5)), segments, genotype_prior=prior)
        assert copies(table) == [(1, 1, 2), (3, 0, 2)]
        assert len(left_out) == 1


def test_total_on_the_x_of_a_man() -> None:
    """One allele of which there can be copies: the total is all of that."""
    two = {"chrom": "X", "major_cn": 2, "minor_cn": -1}
    segments = given({**two, "end": 2_699_520}, {**two, "start": 2_699_521, "end": 10_000_000})
    table, left_out = join(variants(("X", 5_000_000), ("X", 1_000_000)), segments, sex="male", build="GRCh37")
    assert numbers(table, "pos", "major_cn", "minor_cn", "normal_cn") == [(5_000_000, 2, 0, 1)]
    assert "not the copies of each allele" in left_out[0].reason


def test_homozygous_deletion_stays() -> None:
    assert copies(join(variants(("1", 5)), given({"major_cn": 0, "minor_cn": 0}))[0]) == [(0, 0, 2)]


def test_subclonal_columns() -> None:
    two = {
        "fraction": 0.3,
        "subclonal_major_cn": 3,
        "subclonal_minor_cn": 1,
        "subclonal_fraction": 0.7,
        "major_cn": 2,
    }
    table, _ = join(variants(("1", 5), ("2", 5)), given(two, {"chrom": "2"}))
    assert numbers(table, "major_cn", "minor_cn") == [(3, 1), (1, 1)]
    assert table["subclonal_major_cn"].tolist() == [2, 0]
    assert table["subclonal_minor_cn"].tolist() == [1, 0]
    assert table["subclonal_fraction"].tolist() == pytest.approx([0.3, 0.0])


def test_titan_event_in_some_cells() -> None:
    event = {"major_cn": 2, "minor_cn": 0, "fraction": 0.3}
    table, _ = join(variants(("1", 5), ("X", 5)), given(event, {"chrom": "X", **event}), sex="male")
    states = numbers(
        table, "major_cn", "minor_cn", "subclonal_major_cn", "subclonal_minor_cn", "subclonal_fraction"
    )
    assert states == [(1, 1, 2, 0, pytest.approx(0.3)), (1, 0, 2, 0, pytest.approx(0.3))]


def test_shares_of_all_cells() -> None:
    """PhyloWGS: 0.4 of all cells are 0.5 of the tumour cells where these are 0.8; 0.82 and 0.74 are all of them."""
    event = {"major_cn": 2, "minor_cn": 0, "fraction": 0.4, "of_all_cells": True}
    clonal = {**event, "chrom": "2", "fraction": 0.82}
    segments = given(event, clonal, {**clonal, "chrom": "3", "fraction": 0.74})
    table, _ = join(variants(("1", 5), ("2", 5), ("3", 5)), segments, tumour_content=0.8)
    assert table["subclonal_fraction"].tolist() == pytest.approx([0.5, 0.0, 0.0])
    assert copies(table) == [(2, 0, 2)] * 3
    with pytest.raises(
        UsageError,
        match=r"the segments of sample 'S' tell shares of all cells, .* given, too \(`tumour_content`\)",
    ):
        join(variants(("1", 5)), segments)
    with pytest.raises(
        UsageError, match=r"segments are in 0\.82 of all cells, but the tumour content is only 0\.5"
    ):
        join(variants(("1", 5), ("2", 5)), segments, tumour_content=0.5)
    hinted = given(event, hints=[Hint("s.tsv", "S", "phylowgs", purity=0.8)])
    assert join(variants(("1", 5)), hinted)[0]["subclonal_fraction"].tolist() == pytest.approx([0.5])


def test_too_many_states(tmp_path: Path) -> None:
    path = tmp_path / "cnvs.txt"
    path.write_text(
        tabs(
            "chromosome start end copy_number minor_cn major_cn cellular_prevalence",
            "1 1 9 2 1 1 0.8",
            "2 1 9 3 1 2 0.3",
            "2 1 9 4 1 3 0.3",
            "3 1 9 3 1 2 0.3",
            "3 1 9 4 1 3 0.3",
            "3 1 9 5 1 4 0.2",
            "4 1 9 3 1 2 0.3",
            "4 1 9 4 1 3 0.5",
        )
    )
    mutations = variants(("1", 5), ("2", 5), ("3", 5), ("4", 5))
    table, left_out = join(mutations, read_segments(path, sample_id="S"), tumour_content=0.8)
    assert numbers(table, "chrom", "major_cn", "subclonal_major_cn") == [("1", 1, 0), ("4", 3, 2)]
    text = (
        "the tumour cells of its segment (row {} of {}) are in more than two copy-number states, and more than 10 % of "
        "them in none of the two largest"
    )
    assert [item.reason for item in left_out] == [text.format(3, path), text.format(5, path)]


def test_two_largest_states_stand_for_all(tmp_path: Path) -> None:
    path = tmp_path / "generic.tsv"
    path.write_text(
        tabs(
            "chrom start end major_cn minor_cn cellular_prevalence",
            "1 1 9 2 1 0.3",
            "1 1 9 3 1 0.1",
            "1 1 9 4 1 0.6",
            "2 1 9 2 1 0.3",
            "2 1 9 3 1 0.11",
            "2 1 9 4 1 0.59",
            "3 1 9 2 1 0.3",
            "3 1 9 3 1 0.4",
            "3 1 9 2 1 0.3",
        )
    )
    table, left_out = join(variants(("1", 5), ("2", 5), ("3", 5)), read_segments(path, sample_id="S"))
    assert numbers(table, "chrom", "major_cn", "subclonal_major_cn") == [("1", 4, 2), ("3", 2, 3)]
    assert table["subclonal_fraction"].tolist() == pytest.approx([0.3 / 0.9, 0.4])
    text = f"the tumour cells of its segment (row {{}} of {path}) are in more than two copy-number states{{}}"
    assert [(item.mutation_id.partition(":")[0], item.reason) for item in left_out] == [
        ("1", text.format(2, ": the two largest are taken for all; at most 10 % of the cells are in others")),
        ("2", text.format(5, ", and more than 10 % of them in none of the two largest")),
    ]


def test_sample_without_segments() -> None:
    calls = variants(("1", 5, "A"), ("1", 5, "B"))
    for fill_gaps in (False, True):
        table, left_out = join(calls, given({"sample_id": "A"}, {"sample_id": "C"}), fill_gaps=fill_gaps)
        assert table["sample_id"].tolist() == ["A"]
        reason = "there are no copy-number segments of this sample"
        assert [(item.sample_id, item.reason) for item in left_out] == [("B", reason)]
    with pytest.raises(UsageError, match="no copy-number segments of 'A', 'B': those given are of 'C'"):
        join(calls, given({"sample_id": "C"}))


def test_different_builds() -> None:
    of_37 = given({"end": LENGTHS["GRCh37"]["1"]})
    mutations = variants(("1", 5), ("X", 156_000_000))
    with pytest.raises(UsageError) as caught:
        join(mutations, of_37)
    assert str(caught.value) == (
        "sample 'S': the mutations are of genome build GRCh38, the segments of GRCh37 (chromosome 1 has 248956422 "
        "bases in GRCh38, and here is position 249250621). Convert one of them (liftover); or give `genome_build`, if "
        "this is a mistake"
    )
    assert len(join(mutations, of_37, build="GRCh38")[0]) == 1
    said = Variants(variants(("1", 5)).table, builds={"v.vcf": "GRCh38"})
    with pytest.raises(UsageError, match="the mutations are of genome build GRCh38, the segments of GRCh37"):
        join(said, of_37)


def test_files_of_a_sample_that_state_two_builds() -> None:
    table = variants(("1", 5), ("2", 5)).table.assign(file=["snv.vcf", "indel.vcf"])
    said = Variants(table, builds={"snv.vcf": "GRCh38", "indel.vcf": "GRCh37"})
    segments = given({"end": 100}, {"chrom": "2", "end": 100})
    with pytest.raises(
        UsageError, match=r"sample 'S': its files state the genome builds GRCh37 and GRCh38\. Convert"
    ):
        join(said, segments)
    assert len(join(said, segments, build="GRCh38")[0]) == 2


def test_header_that_says_the_wrong_build() -> None:
    """Positions that the chromosomes of the build do not have go before what the header says."""
    wrong = Variants(variants(("1", 249_000_000)).table, builds={"v.vcf": "GRCh38"})
    assert len(join(wrong, given({"end": LENGTHS["GRCh37"]["1"]}))[0]) == 1


def test_positions_beyond_every_build() -> None:
    assert len(join(variants(("1", 300_000_000)), given({"end": 400_000_000}))[0]) == 1


def test_nothing_left() -> None:
    with pytest.raises(InputError) as caught:
        join(variants(("1", 5), ("2", 5), ("MT", 5)), given({"chrom": "3"}))
    assert str(caught.value) == (
        "v.vcf: none of the 3 mutations can be joined with the segments; most often (2 times): in no copy-number "
        "segment of the sample"
    )


def test_no_mutations() -> None:
    with pytest.raises(UsageError, match="there are no mutations to join with the segments"):
        join(Variants(variants(("1", 5)).table[:0]), given({}))


def test_million_mutations_in_seconds() -> None:
    rng = np.random.default_rng(0)
    size, chroms = 1_000_000, [str(number) for number in range(1, 23)]
    positions = rng.integers(1, 100_000_001, size)
    which = rng.integers(22, size=size)
    mutations = pd.DataFrame(
        {
            "file": pd.Categorical.from_codes(np.zeros(size, int), ["v.vcf"]),
            "row": np.arange(size),
            "chrom": pd.Categorical.from_codes(which, chroms),
            "pos": positions,
            "ref": "A",
            "alt": "C",
            "gene": "",
            "sample_id": pd.Categorical.from_codes(np.zeros(size, int), ["S"]),
            "ref_counts": 30,
            "alt_counts": 10,
        }
    )
    width = 100_000_000 // 455
    starts = np.arange(455) * width + 1
    rows = pd.DataFrame(
        {
            "chrom": np.repeat(chroms, 455),
            "start": np.tile(starts, 22),
            "major_cn": np.arange(22 * 455) % 900 + 1,
        }
    )
    frame = segment_table({}).loc[np.zeros(len(rows), int)].reset_index(drop=True)
    table = frame.assign(
        chrom=rows["chrom"].astype("category"), start=rows["start"], end=rows["start"] + width - 1
    )
    segments = Segments(table.assign(major_cn=rows["major_cn"]), hints=[Hint("s.tsv", "S", "generic")])
    joined, left_out = join(Variants(mutations), segments)
    beyond = positions > 455 * width
    assert len(left_out) == beyond.sum()
    expected = (which * 455 + (positions - 1) // width)[~beyond] % 900 + 1
    assert (joined["major_cn"].to_numpy() == expected).all()
