"""Public files of the callers, where they are at hand."""

from __future__ import annotations

import csv
import os
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pyclone_pgsm.errors import InputError
from pyclone_pgsm.inputs.genome import LENGTHS
from pyclone_pgsm.inputs.mutations.model import Variants
from pyclone_pgsm.inputs.segments.joining import join
from pyclone_pgsm.inputs.segments.model import Segments
from pyclone_pgsm.inputs.segments.reading import read_segments

DATA = Path(
    os.environ.get("PYCLONE_PGSM_TEST_DATA") or Path(__file__).resolve().parents[3].parent / "shared" / "data"
)


def data(name: str) -> Path:
    path = DATA / "formats" / name
    if not path.exists():
        pytest.skip(f"no test data: {name}")
    return path


def row(segments: Segments, place: int) -> tuple:
    columns = ["sample_id", "chrom", "start", "end", "major_cn", "minor_cn", "normal_cn"]
    return tuple(segments.table[columns].iloc[place])


@pytest.mark.parametrize(
    ("name", "cn_format", "size", "samples", "first", "last"),
    [
        (
            "ascat/A17.fast.segments.txt", "ascat", 1249, 2,
            ("A17F-0095_CRUK_PC_0095_M5", "1", 10583, 936674, 3, 2, -1), None,
        ),
        ("ascat/ascatNgs_copynumber.caveman.csv", "ascat", 275, 1, ("", "1", 564621, 5774876, 2, 1, 2), None),
        (
            "ascat/ascatNGS_caveman_breast.head300.tsv", "ascat", 300, 2,
            ("PD9067a", "1", 61735, 61059101, 1, 1, 2), None,
        ),
        ("ascat/scarHRD_test2.txt", "ascat", 222, 1, ("SamplePatient1", "1", 14574, 952448, 5, 0, -1), None),
        ("battenberg/flat_subclones.txt", "battenberg", 22, 1, ("", "1", 30923, 249239130, 1, 1, -1), None),
        (
            "battenberg/PCAWG_style_Battenberg_test.head400.tsv", "battenberg", 400, 100,
            ("IGC-03-1328-T07", "12", 21087078, 22042871, 10, 2, -1), None,
        ),
        ("cnvkit/HCC2218_cnvkit-call.cns", "cnvkit", 163, 1, ("", "1", 30335, 622042, 3, -1, -1), ("MT", 3307, 15887)),
        (
            "facets/HCC2218_facets_cncf.tsv", "facets", 73, 1,
            ("", "1", 13483, 31905860, 1, 0, -1), ("X", 200879, 155254891),
        ),
        ("facets/facetsHeatmap_example.cncf", "facets", 6112, 100, ("s_67", "1", 1001177, 16255758, 2, 0, -1), None),
        ("pcgr/T001-BRCA.grch37.cna.tsv", "pcgr", 252, 1, ("", "1", 745021, 38117614, 1, 0, -1), None),
        ("phylowgs/cnvs.txt.example", "phylowgs", 4, 1, ("", "1", 640305, 239120876, 1, 1, -1), ("X", 131072, 3476491)),
        (
            "purple/HCC2218_purple_v2.cnv.tsv", "purple", 73, 1,
            ("", "1", 1, 36946000, 1, 0, -1), ("Y", 59029001, 59373566),
        ),
        (
            "purple/tumor_sample.purple.cnv.somatic.tsv", "purple", 222, 1,
            ("", "1", 1, 87337011, 2, 1, -1), ("Y", 11604553, 59373566),
        ),
        (
            "sequenza/05_144HH1_BONE.copynumber_calls.txt", "sequenza", 123, 1,
            ("", "1", 802338, 9006105, 2, 1, -1), None,
        ),
        ("titan/HCC2218_titan.segs.tsv", "titan", 117, 1, ("HCC2218C", "1", 909749, 31842320, 2, 0, -1), None),
    ],
)  # fmt: skip
def test_files(name: str, cn_format: str, size: int, samples: int, first: tuple, last: tuple | None) -> None:
    segments = read_segments(data(name))
    assert len(segments.table) == size
    assert {hint.format for hint in segments.hints} == {cn_format}
    assert len(segments.hints) == samples
    assert row(segments, 0) == first
    assert last is None or row(segments, -1)[1:4] == last


def test_purple_and_its_purity() -> None:
    segments = read_segments(data("purple/tumor_sample.purple.cnv.somatic.tsv"))
    hint = segments.hints[0]
    assert (hint.purity, hint.ploidy, hint.sex, hint.build) == (0.99, 3.1, "male", "GRCh37")
    assert len(segments.left_out) == (segments.table["rounding"] > 0.25).sum() == 44


def test_battenberg_subclones() -> None:
    table = read_segments(data("battenberg/PCAWG_style_Battenberg_test.head400.tsv")).table
    two = table[table["subclonal_fraction"].notna()]
    assert len(two) == 121
    assert (two["fraction"] + two["subclonal_fraction"]).to_numpy() == pytest.approx(1)
    assert (two["fraction"] < two["subclonal_fraction"]).sum() == 55


def test_backward_row_of_scarhrd() -> None:
    left_out = read_segments(data("ascat/scarHRD_test2.txt")).left_out
    assert [(item.row, item.reason) for item in left_out] == [
        (168, "the segment ends (188919678) before it starts (190974542)")
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("seg/TCGA.AB.3009.hg19.seg.txt", "log ratios only (column Segment_Mean), no copy numbers"),
        ("cnvkit/tr95t.cns", "log ratios only (column log2), no copy numbers"),
        ("cnvkit/p2-9_2.call.cns", "total copy numbers only (column cn)"),
        ("pcgr/T001-BRCA.grch37.vcf.gz", "this is a VCF file"),
        ("purple/tumor_sample.purple.qc", "the format of these segments is not recognised"),
    ],
)
def test_refused(name: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        read_segments(data(name))
    assert expected in str(caught.value)


def test_totals_of_cnvkit() -> None:
    segments = read_segments(data("cnvkit/p2-9_2.call.cns"), genotype_prior="total")
    assert len(segments.table) == 313
    assert row(segments, 0)[1:6] == ("1", 464424, 3003530, 1, 0)


HCC2218 = {
    "FACETS": "facets/HCC2218_facets_cncf.tsv",
    "TitanCNA": "titan/HCC2218_titan.segs.tsv",
    "PURPLE": "purple/HCC2218_purple_v2.cnv.tsv",
    "CNVkit": "cnvkit/HCC2218_cnvkit-call.cns",
}


def places() -> list[tuple[str, int]]:
    """Every 250,000 bases of 1-22 and X."""
    chroms = [str(number) for number in range(1, 23)] + ["X"]
    return [
        (chrom, position)
        for chrom in chroms
        for position in range(125_000, LENGTHS["GRCh37"][chrom], 250_000)
    ]


def mutations(sites: list[tuple[str, int]]) -> Variants:
    table = pd.DataFrame(sites, columns=["chrom", "pos"]).assign(
        file="v", row=1, ref="A", alt="C", gene="", sample_id="HCC2218", ref_counts=30, alt_counts=10
    )
    return Variants(table.astype({"file": "category", "chrom": "category", "sample_id": "category"}))


def by_hand(caller: str) -> dict[str, list[tuple[int, int, str, str, str]]]:
    """Start, end, and the three texts that tell the copies, straight from the file."""
    columns = {
        "FACETS": ("chrom", "start", "end", "tcn.em", "lcn.em", "tcn.em"),
        "TitanCNA": (
            "Chromosome",
            "Start_Position.bp.",
            "End_Position.bp.",
            "MajorCN",
            "MinorCN",
            "Copy_Number",
        ),
        "PURPLE": ("#chromosome", "start", "end", "copyNumber", "actualBAF", "copyNumber"),
        "CNVkit": ("chromosome", "start", "end", "cn1", "cn2", "cn"),
    }[caller]
    found: dict[str, list[tuple[int, int, str, str, str]]] = {}
    with data(HCC2218[caller]).open() as lines:
        for record in csv.DictReader(lines, delimiter="\t"):
            chrom, start, end, one, two, total = (record[name] for name in columns)
            first = int(start) + (caller == "CNVkit")
            found.setdefault("X" if chrom == "23" else chrom, []).append((first, int(end), one, two, total))
    return found


def alleles_by_hand(caller: str, one: str, two: str, total: str) -> tuple[int, int] | None:
    """The two alleles; None where the file does not tell them, and more than one copy leaves a choice."""
    if caller == "PURPLE" and float(two) >= 0.5:
        copies = round(float(one))
        minor = min(round(float(one) * (1 - float(two))), copies // 2)
        return copies - minor, minor
    if caller == "PURPLE" or two in ("NA", ""):
        copies = round(float(total))
        return (copies, 0) if copies <= 1 else None
    return (int(one) - int(two), int(two)) if caller == "FACETS" else (int(one), int(two))


def test_hcc2218_agree_where_the_callers_agree() -> None:
    """Each table is what a look at the file by hand gives, so two tables differ only where the callers do."""
    sites = places()
    tables = {}
    for caller, name in HCC2218.items():
        segments = read_segments(data(name), sample_id="HCC2218")
        content = {"FACETS": 0.958}.get(caller)
        table, left_out = join(mutations(sites), segments, sex="female", tumour_content=content)
        segments_by_hand = by_hand(caller)
        expected = {}
        for chrom, position in sites:
            rows = [each for each in segments_by_hand.get(chrom, []) if each[0] <= position <= each[1]]
            alleles = alleles_by_hand(caller, *rows[0][2:]) if rows else None
            if alleles is not None:
                expected[chrom, position] = (max(alleles), min(alleles))
        joined = table.set_index(["chrom", "pos"])
        got = dict(zip(joined.index, zip(joined["major_cn"], joined["minor_cn"])))
        if caller in ("FACETS", "TitanCNA"):
            is_normal = (joined["major_cn"] == 1) & (joined["minor_cn"] == 1)
            second = joined[is_normal & (joined["subclonal_fraction"] > 0)]
            assert len(second) > 300
            got |= dict(zip(second.index, zip(second["subclonal_major_cn"], second["subclonal_minor_cn"])))
        if caller == "TitanCNA":
            assert second["subclonal_fraction"].to_numpy(float) == pytest.approx(0.277931341865084)
        assert got == expected
        assert len(table) + len(left_out) == len(sites)
        tables[caller] = joined
    shared = sorted(set.intersection(*(set(table.index) for table in tables.values())))
    assert len(shared) > 8000
    copies = np.stack([table.loc[shared, ["major_cn", "minor_cn"]].to_numpy() for table in tables.values()])
    agree = (copies == copies[0]).all(axis=(0, 2))
    assert agree.sum() > 2500
    assert all((table["normal_cn"] == 2).all() for table in tables.values())


def test_page_is_what_the_script_makes() -> None:
    data(HCC2218["PURPLE"])
    root = Path(__file__).resolve().parents[3]
    script = runpy.run_path(str(root / "workflows" / "benchmark" / "hcc2218.py"))
    made = script["page"](DATA / "formats")
    assert made == (root / "docs" / "copy_number_callers.md").read_text(encoding="utf-8")
