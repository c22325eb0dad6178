"""Calls that lack something: the reads of the reference, columns of samples, alleles."""

from __future__ import annotations

from pathlib import Path

import pytest
from variant_files import counts, read, record, vcf, write

from pyclone_pgsm.errors import InputError
from pyclone_pgsm.inputs.mutations.model import VariantFile, mutation_ids

PCAWG = "##fileformat=VCFv4.1\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"


def site(info: str, pos: int = 100, alt: str = "C", filters: str = ".") -> str:
    return f"1\t{pos}\t.\tA\t{alt}\t.\t{filters}\t{info}\n"


def message(*paths: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(*paths)
    return str(caught.value).replace(f"{paths[0].parent}/", "")


def test_reference_from_depth(tmp_path: Path) -> None:
    given = {".,33:50": "C", ".,3,4:50": "C,G", "7,33:99": "C"}
    rows = [record("AD:DP", text, alt=alt, pos=pos) for pos, (text, alt) in enumerate(given.items(), start=1)]
    variants = read(write(tmp_path, vcf(*rows)))
    assert counts(variants) == [
        ("T", "1:1:A:C", 17, 33),
        ("T", "1:2:A:C", 43, 3),
        ("T", "1:2:A:G", 43, 4),
        ("T", "1:3:A:C", 7, 33),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            ".,33:20",
            "AD has no value for the reference, and DP, 20, is less than the 33 reads of the alternate alleles",
        ),
        (".,33:.", "AD has no value for the reference, and DP has none either"),
        (".,33", "AD has no value for the reference, and DP has none either"),
        (".,.:50", "AD has no value"),
        (".:50", "AD has no value"),
        (".,33:50,6", "DP has 2 numbers, 1 expected"),
    ],
)
def test_reference_unknown(text: str, reason: str, tmp_path: Path) -> None:
    variants = read(write(tmp_path, vcf(record("AD:DP", "9,9:20", pos=5), record("AD:DP", text))))
    assert [item.reason for item in variants.left_out] == [reason]


def test_depth_at_fault(tmp_path: Path) -> None:
    path = write(tmp_path, vcf(record("AD:DP", ".,3:-5")))
    assert message(path).startswith("t.vcf, row 3, column T: '-5': DP: negative; expected a number of reads")


def test_counts_in_info(tmp_path: Path) -> None:
    text = (
        PCAWG
        + site("VAF=0.2;t_alt_count=10;t_ref_count=40")
        + site("t_alt_count=5;t_ref_count=4;n_alt_count=9", 7)
    )
    path = write(tmp_path, text, "tumour_1.consensus.vcf")
    assert counts(read(path)) == [
        ("tumour_1.consensus", "1:100:A:C", 40, 10),
        ("tumour_1.consensus", "1:7:A:C", 4, 5),
    ]
    assert {row[0] for row in counts(read(VariantFile(path, {"S": None})))} == {"S"}


def test_counts_in_info_beside_samples(tmp_path: Path) -> None:
    def of(formats: str, *values: str, names: tuple[str, ...] = ("T",)) -> list[tuple[str, str, int, int]]:
        row = record(formats, *values).replace("DP=9", "t_ref_count=40;t_alt_count=10")
        return counts(read(write(tmp_path, vcf(row, names=names)), tumour_samples=("T",)))

    assert of("GT", "0/1") == [("T", "1:100:A:C", 40, 10)]
    assert of("GT", "0/0", "0/1", names=("N", "T")) == [("T", "1:100:A:C", 40, 10)]
    assert of("AD:DP", ".,10:.") == [("T", "1:100:A:C", 40, 10)]
    assert of("AD", "30,9") == [("T", "1:100:A:C", 30, 9)]
    with pytest.raises(InputError, match="no read counts: FORMAT is GT; known are AD"):
        of("GT", "0/0", "0/1", "0/1", names=("N", "T", "T2"))


def test_counts_of_lofreq(tmp_path: Path) -> None:
    rows = [
        site("DP=41;AF=0.243902;SB=3;DP4=15,14,6,5", filters="PASS"),
        site("DP=9;AF=0.5;DP4=3,1,2,1;INDEL;HRUN=1", 200, filters="min_snvqual"),
        site("DP=9;DP4=3,1,2,1", 300, alt="C,G"),
        site("DP=9;DP4=3,1,2", 400),
    ]
    variants = read(write(tmp_path, PCAWG + "".join(rows), "S.lofreq.vcf"))
    assert counts(variants) == [("S.lofreq", "1:100:A:C", 29, 11)]
    assert [item.reason for item in variants.left_out][1:] == [
        "DP4 in INFO does not tell several alternate alleles apart",
        "DP4 has 3 numbers, 4 expected",
    ]
    one, two = (record("GT", *["0/1"] * number).replace("DP=9", "DP4=15,14,6,5") for number in (1, 2))
    assert counts(read(write(tmp_path, vcf(one)))) == [("T", "1:100:A:C", 29, 11)]
    with pytest.raises(InputError, match="no read counts: FORMAT is GT"):  # DP4 is of both samples
        read(write(tmp_path, vcf(two, names=("NORMAL", "T"))))


def test_info_that_does_not_tell(tmp_path: Path) -> None:
    rows = [
        site("t_alt_count=1;t_ref_count=4", 1),
        site("t_alt_count=1;t_ref_count=4", 2, alt="C,G"),
        site("t_alt_count=.;t_ref_count=4", 3),
        site("t_alt_count=1,2;t_ref_count=4", 4),
        site("t_ref_count=4", 5),
        site("t_alt_count=1;t_ref_count=4", 6, filters="LOWSUPPORT"),
    ]
    variants = read(write(tmp_path, PCAWG + "".join(rows)))
    assert len(variants.table) == 1
    reasons = [item.reason for item in variants.left_out]
    assert reasons[:3] == [
        "t_alt_count in INFO does not tell several alternate alleles apart",
        "t_alt_count has no value",
        "t_alt_count has 2 numbers, 1 expected",
    ]
    assert reasons[3].endswith("ADT and TD, and t_ref_count and t_alt_count, or DP4 of one sample, in INFO")
    assert reasons[4].startswith("FILTER is LOWSUPPORT")


def test_info_at_fault(tmp_path: Path) -> None:
    path = write(
        tmp_path, PCAWG + site("t_alt_count=-1;t_ref_count=4") + site("t_alt_count=1;t_ref_count=4.5")
    )
    assert message(path) == (
        "t.vcf, row 3, column INFO: '-1': t_alt_count: negative; expected a number of reads: a whole number, 0 or more"
        "\nt.vcf, row 4, column INFO: '4.5': t_ref_count: fractional; expected a number of reads: a whole number, 0 or "
        "more"
    )
    bad_position = write(tmp_path, PCAWG + site("t_alt_count=1;t_ref_count=4").replace("100", "x"))
    assert "t.vcf, row 3, column POS: 'x': no position" in message(bad_position)
    nothing = message(write(tmp_path, PCAWG + site("VAF=0.2")))
    assert nothing.endswith(
        "so it has no read counts; nor has INFO of any record, as t_ref_count and t_alt_count, or DP4"
    )


PLAIN = "chrom\tpos\tref_counts\talt_counts\n"


def test_tables_without_alleles(tmp_path: Path) -> None:
    first = write(tmp_path, PLAIN + "chr1\t5\t10\t3\nX\t6\t4\t5\n", "R1.tsv")
    second = write(tmp_path, PLAIN + "1\t5\t9\t0\n1\t6\tNA\t5\n", "R2.tsv")
    variants = read(first, second)
    assert mutation_ids(variants.table) == ["1:5", "X:6", "1:5"]
    assert variants.table["sample_id"].tolist() == ["R1", "R1", "R2"]
    assert [(item.mutation_id, item.reason) for item in variants.left_out] == [
        ("1:6", "ref_counts has no value")
    ]


def test_position_twice_without_alleles(tmp_path: Path) -> None:
    named = PLAIN.replace("pos", "pos\tsample_id")
    first = write(tmp_path, named + "1\t5\tS\t10\t3\nchr1\t5\tS\t10\t3\n1\t5\tT\t10\t3\n", "a.tsv")
    second = write(tmp_path, named + "1\t5\tT\t10\t3\n", "b.tsv")
    text = (
        "{}, row {}: '1:5': a second mutation at this position in sample {}; the first is row {}. Without alleles the "
        "two cannot be told apart: keep one, or add the columns ref and alt"
    )
    assert message(first, second).replace(f"{tmp_path}/", "").splitlines() == [
        text.format("a.tsv", 3, "'S'", "2"),
        text.format("b.tsv", 2, "'T'", "4 of a.tsv"),
    ]


def test_alleles_in_some_files(tmp_path: Path) -> None:
    first = write(tmp_path, PLAIN + "1\t5\t10\t3\n", "a.tsv")
    second = write(tmp_path, "chrom\tpos\tref\talt\tref_counts\talt_counts\n1\t5\tA\tC\t10\t3\n", "b.tsv")
    assert message(first, second).startswith(
        "a.tsv: mutations without alleles (no columns ref and alt), but those of"
    )
    half = write(tmp_path, "chrom\tpos\tref\tref_counts\talt_counts\n1\t5\tA\t10\t3\n", "c.tsv")
    assert (
        message(half)
        == "c.tsv, row 1, column alt: this column is missing; give both ref and alt, or none of them"
    )
