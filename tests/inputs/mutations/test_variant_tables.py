"""MAF and plain tables of mutations."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from variant_files import counts, read, write

from pyclone_pgsm.errors import InputError
from pyclone_pgsm.inputs.mutations.model import VariantFile

MAF = (
    "Hugo_Symbol\tNCBI_Build\tChromosome\tStart_Position\tReference_Allele\tTumor_Seq_Allele1\tTumor_Seq_Allele2\t"
    "Tumor_Sample_Barcode\tt_depth\tt_ref_count\tt_alt_count\tFILTER"
)
PLAIN = "chrom\tpos\tref\talt\tsample_id\tref_counts\talt_counts"


def maf_row(**fields: str) -> str:
    row = {
        "gene": "TP53", "build": "GRCh37", "chrom": "17", "pos": "7577120", "ref": "C", "allele1": "C", "allele2": "T",
        "sample": "S1", "depth": "40", "ref_count": "30", "alt_count": "10", "filter": "PASS",
    }  # fmt: skip
    return "\t".join((row | fields).values())


def maf(*rows: str) -> str:
    return "\n".join(["#version 2.4", MAF, *rows]) + "\n"


def plain(*rows: str, header: str = PLAIN) -> str:
    return "\n".join([header, *rows]) + "\n"


def message(path: Path | VariantFile, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read(path, **options)
    folder = path.path.parent if isinstance(path, VariantFile) else path.parent
    return str(caught.value).replace(f"{folder}/", "")


def test_maf(tmp_path: Path) -> None:
    text = maf(
        maf_row(),
        maf_row(chrom="chr3", pos="5", ref="-", allele1="-", allele2="AC", gene=""),
        maf_row(chrom="23", pos="6", ref="G", allele1="a", allele2="G", sample="S2"),
        maf_row(pos="7", ref="GA", allele1="-", allele2="", sample="S2"),
    )
    path = write(tmp_path, text, "x.maf")
    variants = read(path)
    assert counts(variants) == [
        ("S1", "17:7577120:C:T", 30, 10), ("S1", "3:5:-:AC", 30, 10), ("S2", "X:6:G:A", 30, 10),
        ("S2", "17:7:GA:-", 30, 10),
    ]  # fmt: skip
    assert variants.table["row"].tolist() == [3, 4, 5, 6]
    assert variants.table["gene"].tolist() == ["TP53", "", "TP53", "TP53"]
    assert variants.builds == {str(path): "GRCh37"}
    assert variants.unfiltered == []
    assert list(variants.table.columns) == [
        "file", "row", "chrom", "pos", "ref", "alt", "gene", "sample_id", "ref_counts", "alt_counts", "left_out_counts",
    ]  # fmt: skip


def test_maf_filters_and_missing_counts(tmp_path: Path) -> None:
    text = maf(
        maf_row(pos="1"),
        maf_row(pos="2", filter="common_variant"),
        maf_row(pos="3", ref_count=".", depth="."),
        maf_row(pos="4", alt_count=""),
        maf_row(pos="5", allele2="C"),
        maf_row(pos="x", filter="wga,PASS"),
        maf_row(pos="7", filter="."),
        maf_row(pos="8", filter="NA"),
        maf_row(pos="9", ref_count="<NA>", filter="<NA>", depth=""),
        maf_row(pos="10", allele2="NA"),
        maf_row(pos="11", ref="nan"),
    )
    path = write(tmp_path, text, "x.maf")
    variants = read(path)
    assert variants.table["pos"].tolist() == [1, 7, 8]
    assert [(item.row, item.mutation_id, item.reason) for item in variants.left_out] == [
        (4, "17:2:C:T", "FILTER is common_variant, not PASS; `all_filters` takes it"),
        (5, "17:3:C:T", "t_ref_count has no value"),
        (6, "17:4:C:T", "t_alt_count has no value"),
        (7, "17:5:C:C", "the alternate allele is the reference"),
        (8, "17:x:C:T", "FILTER is wga, not PASS; `all_filters` takes it"),
        (11, "17:9:C:T", "t_ref_count has no value"),
        (12, "17:10:C:NA", "the allele 'NA' is no sequence of bases"),
        (13, "17:11:nan:T", "the allele 'nan' is no sequence of bases"),
    ]
    assert all(type(value) in (str, int) for item in variants.left_out for value in item)
    assert "row 8, column Start_Position: 'x': not a number" in message(path, all_filters=True)


def test_maf_rows_that_are_not_somatic(tmp_path: Path) -> None:
    statuses = (
        "Somatic",
        "GERMLINE",
        "LOH",
        "Post-transcriptional modification",
        "Unknown",
        "None",
        "",
        "NA",
    )
    rows = [maf_row(pos=str(pos)) + f"\t{status}" for pos, status in enumerate(statuses, start=1)]
    path = write(tmp_path, maf(*rows).replace(MAF, f"{MAF}\tMutation_Status"), "x.maf")
    variants = read(path)
    assert variants.table["pos"].tolist() == [1, 5, 6, 7, 8]
    assert variants.left_out[0].reason == "Mutation_Status is GERMLINE, not somatic; `all_filters` takes it"
    assert len(read(path, all_filters=True).table) == 8


def test_maf_of_two_genome_builds(tmp_path: Path) -> None:
    """Rows that are not used may be of any build, and builds have several names."""
    others = maf_row(build="hg38", filter="x", pos="2"), maf_row(build="GRCh38", sample="S2")
    path = write(tmp_path, maf(maf_row(build="."), maf_row(build="37", pos="9"), *others), "x.maf")
    assert read(VariantFile(path, {"S1": None})).builds == {str(path): "GRCh37"}
    assert message(path) == (
        "x.maf, row 6, column NCBI_Build: 'GRCh38': another genome build than in row 4, GRCh37; convert some of the "
        "mutations (liftover), or leave them out"
    )


def test_maf_named_tumor_is_named_after_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(maf(maf_row(sample="TUMOR")).encode()), "S7.maf.gz")
    assert counts(read(path)) == [("S7", "17:7577120:C:T", 30, 10)]


def test_maf_without_counts(tmp_path: Path) -> None:
    text = maf(maf_row()).replace("t_ref_count", "i_VAF").replace("t_alt_count", "i_depth")
    lines = message(write(tmp_path, text, "x.maf")).splitlines()
    expected = "this column is missing; a MAF without the reads of the two alleles, or those"
    assert [line.split(expected)[0] for line in lines] == [
        "x.maf, row 2, column t_ref_count: ", "x.maf, row 2, column t_alt_count: ",
    ]  # fmt: skip


def test_maf_with_depth_in_place_of_reference_counts(tmp_path: Path) -> None:
    rows = [
        maf_row(pos="1"),
        maf_row(pos="2", depth="10"),
        maf_row(pos="3", depth="9"),
        maf_row(pos="4", depth=""),
        maf_row(pos="5", alt_count="."),
        maf_row(pos="6", depth="", alt_count="."),
    ]
    text = maf(*rows).replace("t_ref_count", "unknown")
    variants = read(write(tmp_path, text, "x.maf"))
    assert counts(variants) == [("S1", "17:1:C:T", 30, 10), ("S1", "17:2:C:T", 0, 10)]
    assert [item.reason for item in variants.left_out] == [
        "t_alt_count is more than t_depth", "t_depth has no value", "t_alt_count has no value", "t_depth has no value",
    ]  # fmt: skip
    only_depth = text.replace("t_alt_count", "i_VAF")
    assert message(write(tmp_path, only_depth, "y.maf")).count("this column is missing") == 2


def test_maf_in_which_some_rows_have_only_the_depth(tmp_path: Path) -> None:
    """The depth is read nowhere else: it may contradict the reads, as it counts those of other alleles, too."""
    rows = [
        maf_row(pos="1", depth="x"),
        maf_row(pos="2", ref_count="", depth="25"),
        maf_row(pos="3", ref_count=".", depth="9"),
        maf_row(pos="4", ref_count="", alt_count=""),
    ]
    variants = read(write(tmp_path, maf(*rows), "x.maf"))
    assert counts(variants) == [("S1", "17:1:C:T", 30, 10), ("S1", "17:2:C:T", 15, 10)]
    assert [item.reason for item in variants.left_out] == [
        "t_alt_count is more than t_depth", "t_alt_count has no value",
    ]  # fmt: skip
    assert "row 3, column t_depth: 'x': not a number" in message(
        write(tmp_path, maf(maf_row(ref_count="", depth="x")), "y.maf")
    )


def test_maf_of_which_no_row_has_counts(tmp_path: Path) -> None:
    rows = maf_row(ref_count=".", depth="."), maf_row(pos="9", filter="x", alt_count=".")
    path = write(tmp_path, maf(*rows), "x.maf")
    assert message(path) == (
        "x.maf, row 2: none of the 2 rows can be used; 1 failed filters or are not somatic (`all_filters` takes them); "
        "row 3: t_ref_count has no value"
    )


@pytest.mark.parametrize("samples", [("S1",), ("S2", "S1")])
def test_samples_of_a_maf_by_option(samples: tuple[str, ...], tmp_path: Path) -> None:
    path = write(tmp_path, maf(*(maf_row(sample=name) for name in ("S1", "S2", "S3"))), "x.maf")
    assert {row[0] for row in counts(read(path))} == {"S1", "S2", "S3"}
    assert {row[0] for row in counts(read(path, tumour_samples=samples))} == set(samples)
    assert counts(read(VariantFile(path, {"R": "S2"})))[0][0] == "R"
    assert "which sample is 'R'? " in message(VariantFile(path, {"R": None}))


@pytest.mark.parametrize("separator", ["\t", ",", ";"])
def test_plain(separator: str, tmp_path: Path) -> None:
    text = plain("chr1\t5\tA\tc\tS1\t30\t10", "X\t6\tAC\tA\tS2\t7.0\t1e1").replace("\t", separator)
    variants = read(write(tmp_path, text, "x.tsv"))
    assert counts(variants) == [("S1", "1:5:A:C", 30, 10), ("S2", "X:6:AC:A", 7, 10)]
    assert variants.unfiltered == []
    unfiltered = maf(maf_row(filter="."), maf_row(pos="9", filter=""), maf_row(pos="8", filter="NA"))
    assert read(write(tmp_path, unfiltered, "x.maf")).unfiltered == [str(tmp_path / "x.maf")]


def test_plain_with_other_names(tmp_path: Path) -> None:
    header = "CHROMOSOME\tPosition\tRef\tAlt\tref_counts\tvar_counts\tgene\tnote"
    rows = "1\t5\tA\tC\t30\t10\tTP53\tx", "1\t6\tA\tC\t30\t10\tNA\tx"
    variants = read(write(tmp_path, plain(*rows, header=header), "S1.tsv"))
    assert counts(variants) == [("S1", "1:5:A:C", 30, 10), ("S1", "1:6:A:C", 30, 10)]
    assert variants.table["gene"].tolist() == ["TP53", ""]


def test_plain_with_two_columns_of_variant_reads(tmp_path: Path) -> None:
    path = write(
        tmp_path, plain("1\t5\tA\tC\tS\t30\t10\t20", "1\t6\tA\tC\tS\t3\t1\t1", header=PLAIN + "\tvar_counts")
    )
    said = "x.tsv, row 2, column var_counts: '20': alt_counts is 10; the two mean the same, so keep one"
    assert message(path.rename(tmp_path / "x.tsv")) == said
    agreeing = plain(
        "1\t5\tA\tC\tS\t10\t30\t10",
        header="chrom\tpos\tref\talt\tsample_id\tvar_counts\tref_counts\talt_counts",
    )
    assert counts(read(write(tmp_path, agreeing))) == [("S", "1:5:A:C", 30, 10)]


def test_columns_that_only_tables_of_read_counts_have(tmp_path: Path) -> None:
    header = PLAIN + "\tPurity\terror_rate\tnormal"
    path = write(tmp_path, plain("1\t5\tA\tC\tS\t30\t10\t0.6\t0.01\tN", header=header), "x.tsv")
    assert read(path).warnings == [
        f"{path}: the column Purity is not read where mutations are joined with segments: `tumour_content`, the sample "
        "sheet and the files of the segments say it",
        f"{path}: the column error_rate is not read where mutations are joined with segments: `error_rate` says it",
    ]


def test_plain_without_samples_under_a_name(tmp_path: Path) -> None:
    path = write(tmp_path, plain("1\t5\tA\tC\t30\t10", header=PLAIN.replace("sample_id\t", "")), "x.tsv")
    assert counts(read(VariantFile(path, {"R": None}))) == [("R", "1:5:A:C", 30, 10)]


@pytest.mark.parametrize("name", ["sample", "SampleID", "Tumor_Sample"])
def test_samples_in_a_column_of_another_name(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, plain("1\t5\tA\tC\tS\t30\t10", header=PLAIN.replace("sample_id", name)), "x.tsv")
    assert message(path) == (
        f"x.tsv, row 1, column {name}: rename this column to sample_id, or remove it if the file holds one sample, "
        "which is then named after the file"
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("1\tx\tA\tC\tS\t1\t2", "row 2, column pos: 'x': not a number; expected a position on a chromosome"),
        ("1\t0\tA\tC\tS\t1\t2", "row 2, column pos: '0': too small"),
        ("1\t\tA\tC\tS\t1\t2", "row 2, column pos: '': no value"),
        (
            "1\t2147483648\tA\tC\tS\t1\t2",
            "row 2, column pos: '2147483648': too large, above 2147483647; expected",
        ),
        ("1\t1.5\tA\tC\tS\t1\t2", "row 2, column pos: '1.5': fractional"),
        (
            "\t1\tA\tC\tS\t1\t2",
            "row 2, column chrom: '': no name; expected a chromosome, such as 1, chr1 or X",
        ),
        ('"1\t2"\t1\tA\tC\tS\t1\t2', "row 2, column chrom: '1\\t2': no name; expected a chromosome"),
        (
            "#1\t1\tA\tC\tS\t1\t2",
            "row 2, column chrom: '#1': begins with '#', as a comment does; remove this row, as comments are only",
        ),
        (
            "#REF!\t1\tA\tC\tS\t1\t2",
            "row 2, column chrom: '#REF!': an error of Excel, whose formula found no",
        ),
        (
            "1\t1.5E+06\tA\tC\tS\t1\t2",
            "row 2, column pos: '1.5E+06': rounded? Excel writes this also for other numbers; show the column there as "
            "numbers without decimals, and save again; expected a position on a chromosome",
        ),
        ("1\t1\tTRUE\tC\tS\t1\t2", "row 2, column ref: 'TRUE': expected the bases of an allele; did R take"),
        ("1\t1\tA\tC\t\t1\t2", "row 2, column sample_id: '': empty; every row needs the name of a sample"),
        ("1\t1\tA\tC\tS\t-1\t2", "row 2, column ref_counts: '-1': negative; expected a number of reads"),
        ("1\t1\tA\tC\tS\t1\t2.5", "row 2, column alt_counts: '2.5': fractional"),
        ("1\t1\tA\tC\tS\t1\t1e30", "row 2, column alt_counts: '1e30': too large"),
        ("1\t1\tA\tC\tS\t1", "row 2: 6 fields found, 7 expected as in the header"),
        ('1\t1\tA\tC\t"S\t1\t2', 'row 2: a quotation mark (") opened in this row is never closed'),
    ],
)
def test_faults(row: str, expected: str, tmp_path: Path) -> None:
    text = message(write(tmp_path, plain(row, "1\t9\tA\tC\tS\t1\t2"), "x.tsv"))
    assert text.startswith(f"x.tsv, {expected}") or "never closed" in text


def test_rows_of_a_maf_that_are_commented_out(tmp_path: Path) -> None:
    path = write(tmp_path, maf(maf_row(), maf_row(gene="#KRAS", chrom="12")), "x.maf")
    assert message(path).startswith(
        "x.maf, row 4, column Hugo_Symbol: '#KRAS': begins with '#', as a comment does"
    )


def test_symbolic_alleles_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, plain("1\t1\tA\t<DEL>\tS\t1\t2", "1\t2\tA\tC\tS\t1\t2"), "x.tsv")
    variants = read(path)
    assert [item.reason for item in variants.left_out] == ["the allele '<DEL>' is no sequence of bases"]


def test_bad_name_of_a_sample(tmp_path: Path) -> None:
    path = write(tmp_path, plain('1\t1\tA\tC\t"S\t1"\t1\t2'), "x.tsv")
    assert "'S\\t1' cannot be the name of a sample; give another, as in NAME=FILE" in message(path)
