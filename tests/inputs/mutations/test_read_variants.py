"""Many files together, and what kind of file each is."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from variant_files import counts, read, record, vcf, write

from pyclone_pgsm.errors import InputError, UsageError
from pyclone_pgsm.inputs.mutations.kinds import kind_of
from pyclone_pgsm.inputs.mutations.model import VariantFile, mutation_ids
from pyclone_pgsm.inputs.mutations.reading import read_variants

PLAIN = "chrom\tpos\tref\talt\tsample_id\tref_counts\talt_counts\n"


def test_one_file_a_sample_is_not_padded(tmp_path: Path) -> None:
    first = write(tmp_path, vcf(record("AD", "30,10"), record("AD", "20,5", pos=200), names=("R1",)), "a.vcf")
    second = write(tmp_path, vcf(record("AD", "40,4"), names=("R2",)), "b.vcf")
    variants = read(first, second)
    assert counts(variants) == [
        ("R1", "1:100:A:C", 30, 10), ("R1", "1:200:A:C", 20, 5), ("R2", "1:100:A:C", 40, 4),
    ]  # fmt: skip
    assert mutation_ids(variants.table) == ["1:100:A:C", "1:200:A:C", "1:100:A:C"]
    assert variants.table["file"].tolist() == [str(first), str(first), str(second)]
    kinds = variants.table.dtypes.astype(str).to_dict()
    assert {name for name, kind in kinds.items() if kind == "category"} == {"file", "chrom", "sample_id"}
    assert {name for name, kind in kinds.items() if kind == "int64"} == {
        "row",
        "pos",
        "ref_counts",
        "alt_counts",
        "left_out_counts",
    }


def test_kinds_may_be_mixed(tmp_path: Path) -> None:
    calls = write(tmp_path, vcf(record("AD", "30,10", chrom="chr1")), "a.vcf")
    table = write(tmp_path, PLAIN + "1\t100\tA\tC\tS2\t3\t4\n", "b.tsv")
    assert counts(read(calls, table)) == [("T", "1:100:A:C", 30, 10), ("S2", "1:100:A:C", 3, 4)]


def test_snvs_and_indels_of_one_sample(tmp_path: Path) -> None:
    names = ("NORMAL", "TUMOR")
    snvs = write(
        tmp_path, vcf(record("AU:CU:GU:TU", "9,9:0,0:0,0:0,0", "7,7:2,2:0,0:0,0"), names=names), "snvs.vcf"
    )
    indels = write(
        tmp_path, vcf(record("TAR:TIR", "9,9:0,0", "8,8:3,3", alt="AC"), names=names), "indels.vcf"
    )
    both = read(VariantFile(snvs, {"S": None}), VariantFile(indels, {"S": None}))
    assert counts(both) == [("S", "1:100:A:C", 7, 2), ("S", "1:100:A:AC", 8, 3)]
    assert {row[0] for row in counts(read(snvs, indels))} == {"snvs", "indels"}


def test_mutations_that_stand_twice(tmp_path: Path) -> None:
    again = record("AD", "30,10", chrom="chr1")
    text = vcf(record("AD", "30,10"), again, record("AD", "30,11"), record("AD", "1,1", alt="C,c"))
    first = write(tmp_path, text, "a.vcf")
    second = write(tmp_path, vcf(record("AD", "30,10")), "b.vcf")
    variants = read(first, second)
    assert counts(variants) == [("T", "1:100:A:C", 30, 10)]
    assert [(os.path.basename(item.file), item.row, item.reason) for item in variants.left_out] == [
        ("a.vcf", 4, "this mutation stands already in row 3, with the same counts"),
        (
            "a.vcf",
            5,
            "this mutation stands already in row 3, with other counts: 30 reference and 10 variant reads there, 30 "
            "reference and 11 variant reads here",
        ),
        ("a.vcf", 6, "AD has 2 numbers, 3 expected"),
        ("b.vcf", 3, f"this mutation stands already in row 3 of {first}, with the same counts"),
    ]
    assert variants.warnings == [
        "1 mutation given again in the same sample with other counts: the first counts are used, and left_out.tsv "
        "names both: '1:100:A:C in T'"
    ]
    assert read(second).warnings == []


@pytest.mark.parametrize(
    ("column", "record_of_second", "expected"),
    [
        ("TUMOR", record("AD", "9,1", pos=7), "the sample is named after the file, 't', and so is that of "),
        ("Sample1", record("AD", "9,1"), "row 3: '1:100:A:C': the mutation has other counts in row 3 of "),
    ],
)
def test_two_files_that_may_be_of_two_samples(
    column: str, record_of_second: str, expected: str, tmp_path: Path
) -> None:
    paths = []
    for folder, each in (("R1", record("AD", "30,10")), ("R2", record_of_second)):
        (tmp_path / folder).mkdir()
        paths.append(write(tmp_path / folder, vcf(each, names=(column,))))
    for given in (paths, [VariantFile(paths[0], {column: None}), paths[1]])[: 1 + (column == "Sample1")]:
        with pytest.raises(InputError) as caught:
            read(*given)
        assert expected + str(paths[0]) in str(caught.value)
        assert "name the sample of each file, as in S1=FILE S2=FILE" in str(caught.value)
    assert {row[0] for row in counts(read(*(VariantFile(path, {"S": None}) for path in paths)))} == {"S"}


def test_alleles_are_trimmed(tmp_path: Path) -> None:
    alleles = {
        ("CAA", "C,CA"): "9,1,2",
        ("GAC", "GTC"): "9,3",
        ("TAT", "TATAT"): "9,4",
        ("ACG", "TCG"): "9,5",
    }
    records = (record("AD", reads, ref=ref, alt=alt) for (ref, alt), reads in alleles.items())
    path = write(tmp_path, vcf(*records))
    assert [name for _, name, *_ in counts(read(path))] == [
        "1:100:CAA:C", "1:100:CA:C", "1:101:A:T", "1:100:T:TAT", "1:100:A:T",
    ]  # fmt: skip
    table = write(tmp_path, PLAIN + "1\t100\tGAC\tGTC\tS2\t3\t4\n1\t200\tGG\t-\tS2\t3\t4\n", "b.tsv")
    both = read(path, table)
    assert counts(both)[-2:] == [("S2", "1:101:A:T", 3, 4), ("S2", "1:200:GG:-", 3, 4)]
    assert "with '-' as in MAF" in both.warnings[0]
    assert read(table).warnings == []
    replaced = write(tmp_path, PLAIN + "1\t100\tGAAT\tAA\tS2\t3\t4\n1\t200\tGG\t-\tS2\t3\t4\n", "c.tsv")
    assert read(replaced).warnings == []


def test_many_reads_of_other_alternate_alleles(tmp_path: Path) -> None:
    few = record("AD", "60,10,7", alt="C,G")  # 7 are a tenth of 70, 10 more than that of 67
    many = record("AD", "0,61,10", alt="C,G", pos=200)
    split = [record("AD", "60,10", alt="T", pos=300), record("AD", "60,30", alt="G", pos=300)]
    said = read(write(tmp_path, vcf(few, many, *split))).warnings
    assert len(said) == 1
    assert "frequencies and prevalences come out too high (5 mutations): '1:100:A:G in T', " in said[0]
    assert "'1:200:A:C in T', '1:200:A:G in T' and 2 more" in said[0]
    assert read(write(tmp_path, vcf(record("AD", "90,9,8", alt="C,G")), "few.vcf")).warnings == []
    symbolic = [record("AD", "20,20,60", alt="C,*"), record("AD", "60,20,2", alt="C,<NON_REF>", pos=200)]
    (of_star,) = read(write(tmp_path, vcf(*symbolic), "star.vcf")).warnings
    assert of_star.endswith("come out too high (1 mutation): '1:100:A:C in T'")


def test_files_given_for_another_sample(tmp_path: Path) -> None:
    first = write(tmp_path, vcf(record("AD", "30,10"), names=("R1",)), "a.vcf")
    second = write(tmp_path, vcf(record("AD", "40,4"), names=("R2",)), "b.vcf")
    assert read(VariantFile(first, {"S": None}), second).renamed == [(str(first), "S", "R1")]
    exchanged = [VariantFile(first, {"R2": None}), VariantFile(second, {"R1": None})]
    with pytest.raises(InputError) as caught:
        read(*exchanged)
    assert [problem.message[:69] for problem in caught.value.problems] == [
        "given for the sample 'R2', but these are mutations of 'R1', another s",
        "given for the sample 'R1', but these are mutations of 'R2', another s",
    ]
    assert read(*exchanged, tumour_samples=("R1", "R2")).renamed == []
    named = [VariantFile(first, {"R2": "R1"}), VariantFile(second, {"R1": "R2"})]
    assert counts(read(*named))[0] == ("R2", "1:100:A:C", 30, 10)


def test_faults_of_all_files_are_told(tmp_path: Path) -> None:
    first = write(tmp_path, vcf(record("AD", "30,x")), "a.vcf")
    second = write(tmp_path, PLAIN + "1\tp\tA\tC\tS2\t3\t4\n", "b.tsv")
    with pytest.raises(InputError) as caught:
        read(first, tmp_path / "no.vcf", second, first)
    assert [problem.message.split(";")[0] for problem in caught.value.problems] == [
        "AD: not a number", "no such file", "not a number",
        f"this file is given twice (the first time as {str(first)!r})",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            "mutation_id\tsample_id\tref_counts\talt_counts\tmajor_cn\tminor_cn\tnormal_cn\nm\tS\t1\t2\t1\t1\t2\n",
            "this table has copy numbers or names of mutations of its own; leave out `segments` to use it",
        ),
        (
            "a\tb\n1\t2\n",
            "expected is a VCF, a MAF, or a table with chrom, pos, ref, alt, sample_id, ref_counts and",
        ),
        (
            "chrom\tstart\tend\tmajor_cn\tminor_cn\n",
            "these are copy-number segments; give them as `segments`",
        ),
        (
            "Chr\tStart\tEnd\tRef\tAlt\n1\t5\t5\tA\tC\n",
            "expected is a VCF, a MAF, or a table with chrom, pos, ref, alt, sample_id, ref_counts and",
        ),
        (
            "Sample\tCHROM\tPOS\tREF\tALT\tREF_COUNT\tALT_COUNT\nS\t1\t5\tA\tC\t3\t1\n",
            "expected is a VCF, a MAF, or a table with chrom, pos, ref, alt, sample_id, ref_counts and alt_counts. Its "
            "header has no 'ref_counts', 'alt_counts', but 'Sample', 'CHROM', 'POS', 'REF', 'ALT', 'REF_COUNT', "
            "'ALT_COUNT'; rename REF_COUNT to ref_counts; rename ALT_COUNT to alt_counts",
        ),
        (b"\x1f\x8b\x08\x00", "the gzip compression breaks off: the file is cut short"),
        (
            gzip.compress(b"BCF\x02\x02\0\0", mtime=0),
            "this is a BCF file; a VCF, a MAF, or a table with chrom, pos,",
        ),
        (b"PK\x03\x04\0\0", "this is a zip archive or an Excel workbook (.xlsx)"),
        ("", "the file is empty; expected is a VCF, a MAF"),
    ],
)
def test_files_that_are_something_else(content: str | bytes, expected: str, tmp_path: Path) -> None:
    path = write(tmp_path, content, "x")
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert expected in str(caught.value)


def test_pipes_are_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="this is a pipe or a device; write the mutations to a file"):
        read(pipe)
    with pytest.raises(InputError, match="this is a directory"):
        read(tmp_path)


def test_a_header_that_is_commented_out(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(write(tmp_path, "#" + PLAIN, "m.tsv"))
    assert str(caught.value).endswith(
        "; the first line begins with '#' and is read as a comment, not as a header"
    )


def test_no_files() -> None:
    with pytest.raises(UsageError, match="no file of mutations given"):
        read_variants([])


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (vcf(), "vcf"),
        ("\ufeff" + vcf(), "vcf"),
        ("##FILEFORMAT=vcfv4.1\n", "vcf"),
        ("##source=x\n#CHROM\tPOS\tID\n", "vcf"),
        ("#version 2.4\nHugo_Symbol\tTumor_Sample_Barcode\n", "maf"),
        (PLAIN, "plain"),
        (PLAIN.replace("\t", ",").upper(), "plain"),
        ("mutation_id\tref_counts\tvar_counts\tnormal_cn\tminor_cn\tmajor_cn\n", "table"),
        ("id\tref_counts\talt_counts\tmajor_cn\tref\talt\tpos\n", "table"),
        ("chrom\tpos\tref\talt\n", "unknown"),
        ("chrom\tstart\tend\tref_counts\talt_counts\n", "unknown"),
        ("chr\tstart\tend\tvar_counts\n", "unknown"),
        ("#chromosome\tstart\tend\tcopyNumber\n1\t1\t5\t2\n", "segments"),
        ('"chromosome" "start.pos" "end.pos" "A" "B"\n', "segments"),
        ("chr\tstartpos\tendpos\n", "segments"),
        ("rho\tpsi\tdistance\tis.best\n", "segments"),
        ("", "unknown"),
    ],
)
def test_kinds(content: str, kind: str, tmp_path: Path) -> None:
    assert kind_of(write(tmp_path, content, "plain")) == kind
    assert kind_of(write(tmp_path, gzip.compress(content.encode()), "packed")) == kind


def test_kind_of_what_is_no_file(tmp_path: Path) -> None:
    assert kind_of(tmp_path) == kind_of(tmp_path / "no") == kind_of(Path("/dev/null")) == "unknown"
