"""VCF: counts of each caller, tumour samples, filters, alleles, and how the text may look."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pysam
import pytest
from variant_files import counts, read, record, vcf, write

from pyclone_pgsm.errors import InputError, UsageError
from pyclone_pgsm.inputs.mutations.model import VariantFile

GOOD = record("AD", "30,10")


def message(path: Path | VariantFile, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read(path, **options)
    folder = path.path.parent if isinstance(path, VariantFile) else path.parent
    return str(caught.value).replace(f"{folder}/", "")


def reasons(path: Path, **options: object) -> list[tuple[int | None, str, str]]:
    return [(item.row, item.mutation_id, item.reason) for item in read(path, **options).left_out]


@pytest.mark.parametrize(
    ("caller", "fields", "tumour", "ref", "alt", "expected"),
    [
        ("Mutect2", "GT:AD:AF:DP:F1R2:F2R1:SB", "0/1:76,7:0.09:83:57,1:19,0:72,4,1,6", "G", "A", [(76, 7)]),
        ("Mutect2, three alleles", "GT:AD:AF", "0/1/2:157,15,4:0.08,0.03", "G", "GA,GAA", [(157, 15), (157, 4)]),
        ("MuTect1", "GT:AD:BQ:DP:FA", "0:175,30:.:206:0.146", "C", "G", [(175, 30)]),
        ("Strelka SNV", "DP:FDP:SDP:SUBDP:AU:CU:GU:TU", "66:2:0:0:25,27:39,40:1,1:2,3", "C", "A", [(39, 25)]),
        ("Strelka SNV, three alleles", "DP:AU:CU:GU:TU", "9:25,27:39,40:1,1:2,3", "C", "A,T", [(39, 25), (39, 2)]),
        ("ClairS SNV", "GT:DP:AD:AU:CU:GU:TU", "0/1:100:59,39:60:0:40:0", "A", "G", [(60, 40)]),
        ("ClairS indel", "GT:DP:AD:AU:CU:GU:TU", "0/1:100:60,40:60:0:0:0", "A", "AG", [(60, 40)]),
        ("Strelka indel", "DP:DP2:TAR:TIR:TOR", "46:46:33,34:11,12:2,2", "G", "GC", [(33, 11)]),
        ("VarScan2", "GT:GQ:DP:RD:AD:FREQ:DP4", "0/1:.:91:56:35:38.46%:31,25,16,19", "A", "G", [(56, 35)]),
        ("MuSE", "GT:DP:AD:BQ:SS", "0/1:11:9,2:32,34:2", "G", "T", [(9, 2)]),
        ("SomaticSniper", "GT:IGT:DP:DP4:BCOUNT:GQ", "0/1:0/1:73:22,33,9,8:0,55,0,17:54", "C", "T", [(55, 17)]),
        ("SomaticSniper, 3 alleles", "GT:DP4:BCOUNT", "1/2:0,33,9,8:3,33,0,14", "C", "A,T", [(33, 3), (33, 14)]),
        ("CaVEMan", "GT:FAZ:FCZ:FGZ:FTZ:RAZ:RCZ:RGZ:RTZ:PM", "0|1:1:2:3:4:50:60:70:80:0.5", "C", "T", [(62, 84)]),
        ("early CaVEMan", "GT:AA:CA:GA:TA:PM", "0|1:22:1:203:0:9.8e-02", "G", "A", [(203, 22)]),
        ("freebayes", "GT:DP:RO:QRO:AO:QAO", "0/1:30:20:700:10:300", "C", "T", [(20, 10)]),
        ("freebayes, 3 alleles", "GT:DP:RO:AO", "1/2:33:20:10,3", "C", "T,CA", [(20, 10), (20, 3)]),
        ("freebayes with AD", "GT:DP:AD:RO:AO", "0/1:31:21,10:20:9", "C", "T", [(21, 10)]),
        ("VarDict", "GT:AD:ADJAF:AF:ALD:BIAS:DP:RD:VD", "0/1:60,4:0:1:3,1:0,2:64:40,20:4", "G", "T", [(60, 4)]),
        ("RADIA", "GT:DP:INDEL:AD:AF", "0/1:106:0:95,11:0.9,0.1", "C", "T", [(95, 11)]),
        ("PCGR", "GT:DPC:DPT:ADC:ADT:AL", "0/1:237:144:.,.:112,32:1,3,4,2", "C", "T", [(112, 32)]),
        ("TCGA's MuTect1", "TD:ND:TR:NR", "15,3:31,2:18:33", "C", "T", [(15, 3)]),
        ("as many reads as 31 bits hold", "AD", "3,2147483647", "C", "T", [(3, 2_147_483_647)]),
        ("no reads", "AD", "0,0", "C", "T", [(0, 0)]),
    ],
)  # fmt: skip
def test_counts_of_each_caller(
    caller: str, fields: str, tumour: str, ref: str, alt: str, expected: list[tuple[int, int]], tmp_path: Path
) -> None:
    normal = ":".join("." for _ in fields.split(":"))
    text = vcf(record(fields, normal, tumour, ref=ref, alt=alt), names=("NORMAL", "TUMOR"))
    assert [row[2:] for row in counts(read(write(tmp_path, text)))] == expected


@pytest.mark.parametrize(
    ("fields", "tumour", "alt", "reason"),
    [
        ("GT:AD", "0/1:.", "C", "AD has no value"),
        ("GT:AD", "0/1", "C", "AD has no value"),
        ("GT:AD", "0/1:3,.", "C", "AD has no value"),
        ("GT:AD", "0/1:3,,4", "C", "AD has 3 numbers, 2 expected"),
        ("GT:AD", "0/1:3", "C", "AD has 1 number, 2 expected"),
        ("GT:AD", "0/1:3,4", "C,G", "AD has 2 numbers, 3 expected"),
        ("RD:AD", "3:4", "C,G", "AD has 1 number, 3 expected"),
        ("RD:AD", ".:4", "C", "RD has no value"),
        ("GT:DP", "0/1:40", "C", "no read counts: FORMAT is GT:DP; known are AD"),
        (".", ".", "C", "no read counts: FORMAT is empty; known are AD"),
        ("AU:CU:GU:TU", "1,1:2,2:3,3:4,4", "CA", "AU, CU, GU and TU count single bases, not A>CA"),
        ("AU:CU:GU:TU", "1,1:.:3,3:4,4", "C", "CU has no value"),
        (
            "FAZ:FCZ:FGZ:FTZ:RAZ:RCZ:RGZ:RTZ",
            "1:1:1:1:1:1:1:1",
            "CA",
            "FAZ to RTZ count single bases, not A>CA",
        ),
        ("FAZ:FCZ:FGZ:FTZ:RAZ:RCZ:RGZ:RTZ", "1:.:1:1:1:1:1:1", "C", "FCZ has no value"),
        ("RO:AO", "4:3", "C,G", "AO has 1 number, 2 expected"),
        ("TAR:TIR", "3,3:4,4", "C,G", "TIR does not tell several alternate alleles apart"),
        ("DP4", "1,2,3", "C", "DP4 has 3 numbers, 4 expected"),
        ("DP4", "1,2,3,4", "CA,G", "DP4 does not tell several alternate alleles apart"),
        ("DP4", "1,2,3,4", "C,G", "BCOUNT has no value"),
        ("AD", "3,4", "<DEL>", "the allele '<DEL>' is no sequence of bases"),
        ("AD", "3,4", "*", "the allele '*' is no sequence of bases"),
        ("AD", "3,4", "A]2:50]", "the allele 'A]2:50]' is no sequence of bases"),
        ("RD:AD", "3:4", "C/T", "the allele 'C/T' is no sequence of bases"),
        ("AD", "3,4", ".", "there is no alternate allele"),
        ("AD", "3,4", "a", "the alternate allele is the reference"),
        ("AD", "3,4", "N", "the alternate allele N is unknown"),
    ],
)
def test_records_that_cannot_be_counted(
    fields: str, tumour: str, alt: str, reason: str, tmp_path: Path
) -> None:
    path = write(tmp_path, vcf(record(fields, tumour, alt=alt), record("AD", "30,10", pos=200)))
    variants = read(path)
    assert counts(variants) == [("T", "1:200:A:C", 30, 10)]
    (left_out,) = variants.left_out
    assert left_out[:4] == (str(path), 3, f"1:100:A:{alt.upper() if alt == 'a' else alt}", "T")
    assert left_out.reason.startswith(reason)


def test_other_alleles_of_a_record_with_one_that_is_symbolic(tmp_path: Path) -> None:
    variants = read(write(tmp_path, vcf(record("AD", "30,10,2", alt="C,<NON_REF>"))))
    assert counts(variants) == [("T", "1:100:A:C", 30, 10)]
    assert [item.mutation_id for item in variants.left_out] == ["1:100:A:<NON_REF>"]


@pytest.mark.parametrize("name", ["tumor_sample=B", "tumor_sample=A\n##tumor_sample=B\n##tumor_sample=Z"])
def test_tumour_by_header_whatever_the_order(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, vcf(record("AD", "50,0", "30,10"), names=("A", "B"), meta=(f"##{name}",)))
    expected = [("A", "1:100:A:C", 50, 0)] if "Z" in name else []
    assert counts(read(path)) == [*expected, ("B", "1:100:A:C", 30, 10)]


def test_tumour_by_option(tmp_path: Path) -> None:
    path = write(tmp_path, vcf(record("AD", "50,0", "30,10"), names=("A", "B"), meta=("##tumor_sample=B",)))
    assert counts(read(path, tumour_samples=("A",))) == [("A", "1:100:A:C", 50, 0)]
    other = write(tmp_path, vcf(record("AD", "5,1"), names=("C",)), "other.vcf")
    assert {row[0] for row in counts(read(path, other, tumour_samples=("A",)))} == {"A", "C"}
    with pytest.raises(UsageError) as caught:
        read(path, tumour_samples=("D",))
    assert str(caught.value) == "`tumour_sample` 'D': no file has this sample; the file has 'A', 'B'"


@pytest.mark.parametrize("role", ["TUMOR", "TUMOUR", "tumor", "DNA_TUMOR"])
def test_tumour_by_the_name_callers_give_is_named_after_the_file(role: str, tmp_path: Path) -> None:
    path = write(tmp_path, vcf(record("AD", "30,10", "50,0"), names=(role, "NORMAL")), "S1.strelka.vcf")
    assert counts(read(path)) == [("S1.strelka", "1:100:A:C", 30, 10)]


def test_tumour_is_never_guessed(tmp_path: Path) -> None:
    path = write(tmp_path, vcf(record("AD", "50,0", "30,10"), names=("A", "B")))
    expected = "t.vcf: which sample is the tumour? Name it with `tumour_sample`; the file has 'A', 'B'"
    assert message(path) == expected


@pytest.mark.parametrize(
    ("names", "meta", "further"),
    [
        (("N", "T", "T2"), ("##tumor_sample=T", "##normal_sample=N"), "'T2'"),
        (("NORMAL", "TUMOR", "2:NORMAL", "2:TUMOR"), (), "'2:TUMOR'"),
        (("NORMAL", "TUMOR"), (), ""),
        (("BLOOD", "TUMOR"), (), ""),
        (("BLOOD", "TUMOR", "T2"), (), "'BLOOD', 'T2'"),
    ],
)
def test_further_tumours_are_a_warning(
    names: tuple[str, ...], meta: tuple[str, ...], further: str, tmp_path: Path
) -> None:
    path = write(tmp_path, vcf(record("AD", *["30,10"] * len(names)), names=names, meta=meta))
    warning = (
        f"{path}: '{names[1]}' is taken for the tumour, and {further} is not used; name all tumour samples"
    )
    assert [each.split(" with")[0] for each in read(path).warnings] == [warning] * bool(further)
    assert read(path, tumour_samples=(names[1],)).warnings == []


@pytest.mark.parametrize("normal", ["N", "NORMAL", "DNA_NORMAL", "2:NORMAL"])
def test_a_normal_sample_is_no_tumour(normal: str, tmp_path: Path) -> None:
    meta = ("##tumor_sample=T", f"##normal_sample={normal if normal == 'N' else 'M'}")
    path = write(tmp_path, vcf(record("AD", "50,0"), names=(normal,), meta=meta))
    expected = f"t.vcf: which sample is the tumour? Name it with `tumour_sample`; the file has '{normal}'"
    assert message(path) == expected
    assert counts(read(path, tumour_samples=(normal,))) == [(normal, "1:100:A:C", 50, 0)]
    beside = write(tmp_path, vcf(record("AD", "50,0", "30,10"), names=(normal, "B"), meta=meta))
    assert counts(read(beside)) == [("B", "1:100:A:C", 30, 10)]


def test_samples_under_other_names(tmp_path: Path) -> None:
    path = write(tmp_path, vcf(record("AD", "50,0", "30,10"), names=("A", "B"), meta=("##tumor_sample=B",)))
    assert counts(read(VariantFile(path, {"S1": None}))) == [("S1", "1:100:A:C", 30, 10)]
    assert counts(read(VariantFile(path, {"S1": "A"}))) == [("S1", "1:100:A:C", 50, 0)]
    assert counts(read(VariantFile(path, {"A": None}))) == [("A", "1:100:A:C", 50, 0)]
    both = counts(read(VariantFile(path, {"S2": "B", "S1": "A"})))
    assert both == [("S1", "1:100:A:C", 50, 0), ("S2", "1:100:A:C", 30, 10)]
    assert "t.vcf: no sample 'C' here; the file has 'A', 'B'" in message(VariantFile(path, {"S1": "C"}))
    assert "'B' is requested under two names, 'S1' and 'S2'" in message(
        VariantFile(path, {"S1": None, "S2": None})
    )
    unclear = write(tmp_path, vcf(record("AD", "50,0", "30,10"), names=("A", "B")), "u.vcf")
    expected = "u.vcf: which sample is 'S1'? Name it with `tumour_sample`, or in a column tumour_sample of the sample"
    assert expected in message(VariantFile(unclear, {"S1": None}))
    assert "'S\\t1' cannot be the name of a sample" in message(VariantFile(path, {"S\t1": None}))


def test_only_what_passes(tmp_path: Path) -> None:
    filters = ("PASS", ".", "weak;strand", "REJECT")
    text = vcf(*(record("AD", "30,10", pos=pos, filters=each) for pos, each in enumerate(filters, start=1)))
    path = write(tmp_path, text)
    assert [row[1] for row in counts(read(path))] == ["1:1:A:C", "1:2:A:C"]
    assert reasons(path) == [
        (5, "1:3:A:C", "FILTER is weak;strand, not PASS; `all_filters` takes it"),
        (6, "1:4:A:C", "FILTER is REJECT, not PASS; `all_filters` takes it"),
    ]
    assert len(read(path, all_filters=True).table) == 4
    assert read(path).unfiltered == []


def test_only_samples_that_pass(tmp_path: Path) -> None:
    by_sample = record("AD:FT", "30,10:PASS", "20,5:LowQual;Depth", filters=".")
    without = record("AD:FT", "30,10:.", "20,5", filters=".", pos=200)
    path = write(tmp_path, vcf(by_sample, without, names=("A", "B")))
    found = read(path, tumour_samples=("A", "B"))
    assert [row[:2] for row in counts(found)] == [("A", "1:100:A:C"), ("A", "1:200:A:C"), ("B", "1:200:A:C")]
    assert [item[1:] for item in found.left_out] == [
        (3, "1:100:A:C", "B", "FT is LowQual;Depth, not PASS; `all_filters` takes it")
    ]
    assert found.unfiltered == []
    assert len(read(path, tumour_samples=("A", "B"), all_filters=True).table) == 4


def test_only_what_is_somatic(tmp_path: Path) -> None:
    meta = ('##INFO=<ID=SS,Number=1,Description="0=Reference,1=Germline,2=Somatic,3=LOH, or 5=Unknown)">',)
    infos = (
        "SS=1",
        "SS=2",
        "SS=3;STATUS=",
        "SSC=1;SS=5",
        "SS=.",
        "STATUS=LikelyLOH",
        "STATUS=LikelySomatic",
        "DP=1",
    )
    records = [GOOD.replace("100", str(pos)).replace("DP=9", info) for pos, info in enumerate(infos, start=1)]
    records.append(record("AD:SS", "30,10:0", "20,5:1", pos=9))
    text = vcf(*(f"{each}\t9,1" for each in records[:-1]), records[-1], names=("T", "U"), meta=meta)
    path = write(tmp_path, text)
    found = read(path, tumour_samples=("T", "U"))
    assert found.table["pos"].tolist() == [2, 2, 5, 5, 7, 7, 8, 8, 9]
    assert [(item.mutation_id[:3], item.sample_id, item.reason.split(",")[0]) for item in found.left_out] == [
        ("1:1", "", "SS is 1 (Germline)"), ("1:3", "", "SS is 3 (LOH)"), ("1:4", "", "SS is 5 (Unknown)"),
        ("1:6", "", "STATUS is LikelyLOH"), ("1:9", "U", "SS is 1 (Germline)"),
    ]  # fmt: skip
    assert len(read(path, tumour_samples=("T", "U"), all_filters=True).table) == 18
    undescribed = write(tmp_path, text.replace(meta[0], "##INFO=<ID=SS,Number=1>"))
    assert len(read(undescribed, tumour_samples=("T",)).table) == 8


def test_germline_status_of_dragen(tmp_path: Path) -> None:
    infos = (
        "GermlineStatus=Germline_DB",
        "DP=9;GermlineStatus=Germline_Proxi",
        "GermlineStatus=Somatic",
        "SOMATIC",
    )
    records = [GOOD.replace("100", str(pos)).replace("DP=9", info) for pos, info in enumerate(infos, start=1)]
    path = write(tmp_path, vcf(*records))
    assert read(path).table["pos"].tolist() == [3, 4]
    assert reasons(path) == [
        (3, "1:1:A:C", "GermlineStatus is Germline_DB, not somatic; `all_filters` takes it"),
        (4, "1:2:A:C", "GermlineStatus is Germline_Proxi, not somatic; `all_filters` takes it"),
    ]
    assert len(read(path, all_filters=True).table) == 4


def test_variants_that_the_normal_sample_of_lancet_has(tmp_path: Path) -> None:
    """Only if the header describes both flags: others may mean something else by one of them."""
    records = [
        GOOD.replace("100", str(pos)).replace("DP=9", info)
        for pos, info in enumerate(
            ("SOMATIC;FETS=9", "SHARED;FETS=1", "FETS=1;NORMAL", "TUMOR", "SHARED=0"), start=1
        )
    ]
    shared, normal = (
        f'##INFO=<ID={name},Number=0,Type=Flag,Description="in the normal">' for name in ("SHARED", "NORMAL")
    )
    path = write(tmp_path, vcf(*records, meta=(shared, normal)))
    variants = read(path)
    assert variants.table["pos"].tolist() == [1, 4, 5]
    assert [item.reason for item in variants.left_out] == [
        f"INFO is {flag}, not somatic; `all_filters` takes it" for flag in ("SHARED", "NORMAL")
    ]
    assert len(read(path, all_filters=True).table) == 5
    assert len(read(write(tmp_path, vcf(*records, meta=(shared,)), "other.vcf")).table) == 5


def test_germline_variants_of_octopus(tmp_path: Path) -> None:
    records = [
        GOOD.replace("100", str(pos)).replace("DP=9", info)
        for pos, info in enumerate(("AC=1;SOMATIC;PP=9", "AC=2;PP=9"), start=1)
    ]
    path = write(tmp_path, vcf(*records, meta=("##octopus=<version=0.7.4>",)))
    assert read(path).table["pos"].tolist() == [1]
    said = "the call of Octopus is germline (no SOMATIC in INFO), not somatic; `all_filters` takes it"
    assert reasons(path) == [(5, "1:2:A:C", said)]
    assert len(read(path, all_filters=True).table) == 2
    assert len(read(write(tmp_path, vcf(*records))).table) == 2


def test_a_file_without_filters_is_taken_and_told(tmp_path: Path) -> None:
    path = write(tmp_path, vcf(record("AD", "30,10", filters=".")))
    assert read(path).unfiltered == [str(path)]


@pytest.mark.parametrize(
    ("name", "harmonised"),
    [("chr1", "1"), ("CHR7", "7"), ("23", "X"), ("chr24", "Y"), ("chrM", "MT"), ("chrUn_1", "Un_1")],
)
def test_chromosomes_are_harmonised(name: str, harmonised: str, tmp_path: Path) -> None:
    variants = read(write(tmp_path, vcf(record("AD", "30,10", chrom=name))))
    assert variants.table["chrom"].tolist() == [harmonised]


@pytest.mark.parametrize(
    ("meta", "build"),
    [
        (("##contig=<ID=chr1,length=248956422>",), "GRCh38"),
        (("##contig=<ID=1,length=249250621,assembly=unknown>",), "GRCh37"),
        (("##reference=file:///ref/hg19.fa",), "GRCh37"),
        (("##reference=file:///ref/hg19.fa", "##contig=<ID=1,length=248956422>"), "GRCh38"),
        (("##reference=file:///ref/mouse.fa",), None),
        (("##contig=<ID=1,length=248956422>", "##contig=<ID=2,length=243199373>"), None),
    ],
)
def test_genome_build(meta: tuple[str, ...], build: str | None, tmp_path: Path) -> None:
    path = write(tmp_path, vcf(GOOD, meta=meta))
    assert read(path).builds == ({str(path): build} if build else {})


def _bgzipped(path: Path) -> bytes:
    packed = path.with_suffix(".bgz")
    pysam.tabix_compress(str(path), str(packed), force=True)
    return packed.read_bytes()


@pytest.mark.parametrize("how", ["plain", "gzip", "bgzip", "crlf", "cr", "bom", "no end", "blank", "tabs"])
def test_compression_and_line_ends(how: str, tmp_path: Path) -> None:
    text = vcf(GOOD, record("AD", "7,8", pos=200)).encode()
    lines = [3, 4]
    if how == "gzip":
        text = gzip.compress(text)
    elif how == "bgzip":
        text = _bgzipped(write(tmp_path, text))
    elif how in ("crlf", "cr"):
        text = text.replace(b"\n", b"\r\n" if how == "crlf" else b"\r")
    elif how == "bom":
        text = b"\xef\xbb\xbf" + text
    elif how == "no end":
        text = text.rstrip()
    elif how == "blank":
        text = text.replace(GOOD.encode(), b"\n# a comment\n" + GOOD.encode()) + b"\n\n"
        lines = [5, 6]
    elif how == "tabs":
        text = text.replace(b"\n", b"\t\t\n")
    variants = read(write(tmp_path, text))
    assert counts(variants) == [("T", "1:100:A:C", 30, 10), ("T", "1:200:A:C", 7, 8)]
    assert variants.table["row"].tolist() == lines


def test_names_need_not_be_ascii(tmp_path: Path) -> None:
    path = write(tmp_path, vcf(GOOD, names=("Probe é",), meta=("##tumor_sample=Probe é",)))
    assert counts(read(path))[0][0] == "Probe é"


def test_what_is_not_used_is_not_looked_at(tmp_path: Path) -> None:
    fields = ["1", "100", "", "A", "C", "high", "PASS", "END=-5;=;;SVLEN=x\xff", "AD", "30,10"]
    meta = ('##FORMAT=<ID=AD,Number=1,Type=Flag,Description="x",IDX=100000000>', "##INFO=<", "##\xff")
    path = write(tmp_path, vcf("\t".join(fields), meta=meta).encode("latin-1"))
    assert counts(read(path)) == [("T", "1:100:A:C", 30, 10)]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (record("AD", "30,ten"), "row 3, column T: 'ten': AD: not a number; expected a number of reads"),
        (record("AD", "30,-1"), "row 3, column T: '-1': AD: negative; expected a number of reads"),
        (record("AD", "30,1.5"), "row 3, column T: '1.5': AD: fractional"),
        (record("AD", f"30,{2**31}"), "row 3, column T: '2147483648': AD: too large"),
        (record("GT:TAR:TIR", "0/1:x:3"), "row 3, column T: 'x': TAR: not a number"),
        (record("AD", "30,10", pos="ten"), "row 3, column POS: 'ten': no position; expected a whole number"),
        (record("AD", "30,10", pos="-3"), "row 3, column POS: '-3': no position"),
        (record("AD", "30,10", pos="9" * 30), "row 3, column POS: '999999999999999999999999999999': no position"),
        (record("AD", "30,10", pos=2**31), "row 3, column POS: '2147483648': too large, above 2147483647; expected a"),
        (record("AD", "30,10", chrom="1,2"), "row 3, column #CHROM: '1,2': no name; expected a chromosome"),
        (record("AD", "30,10", chrom=""), "row 3, column #CHROM: '': no name; expected a chromosome"),
        (record("AD", "30,10", alt="TRUE"), "row 3, column ALT: 'TRUE': expected the bases of an allele; did R take"),
        (record("AD", "30,10:7"), "row 3, column T: '30,10:7': 2 values found, 1 expected for the FORMAT AD"),
        (record("AD:AD", "30,10:7,8"), "row 3, column FORMAT: 'AD:AD': a field stands here twice"),
        (record("GT:AD", "one:7,8"), "row 3, column T: 'one': no genotype; expected one such as 0/1"),
        (record("AD", ""), "row 3, column T: '': empty; expected values separated by colons, or a dot"),
        (record("AD", "30,10", "5,5"), "row 3: 11 columns found, 10 expected as in the line with the names"),
        ("1\t100", "row 3: 2 columns found, 10 expected as in the line with the names"),
        (GOOD.replace("\t", " "), "row 3: 1 column found, 10 expected as in the line with the names"),
        (GOOD + "\0", "row 3: a byte of value 0 here: the file is damaged"),
        (GOOD + "\n" + vcf(GOOD, names=("U",)), "row 5: a second header, with other samples: were two files put"),
    ],
)  # fmt: skip
def test_faults(records: str, expected: str, tmp_path: Path) -> None:
    path = write(tmp_path, vcf(records, record("AD", "30,10", pos=300)))
    text = message(path)
    assert text.startswith(f"t.vcf, {expected}")
    assert "\n" not in text


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = write(tmp_path, vcf(record("AD", "30,10", filters="PA\xffSS")).encode("latin-1"))
    assert message(path) == "t.vcf, row 3, column FILTER: 'PA�SS': not UTF-8"
    path = write(tmp_path, vcf(record("AD", "30,10"), names=("T\xe9",)).encode("latin-1"))
    assert message(path) == "t.vcf, row 2: 'T�': not UTF-8; save the file as UTF-8"


def test_all_faults_are_told_in_order(tmp_path: Path) -> None:
    faulty = [
        record("AD", "3,x"),
        record("AD", "3,4", pos="y"),
        "1\t2",
        record("AD", "3,4,5:6"),
        record("AD", "-3,4"),
    ]
    lines = message(write(tmp_path, vcf(*faulty))).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "t.vcf, row 3, column T", "t.vcf, row 4, column POS", "t.vcf, row 5", "t.vcf, row 6, column T",
        "t.vcf, row 7, column T",
    ]  # fmt: skip
    many = vcf(*(record("AD", "3,x", pos=pos) for pos in range(1, 2001)))
    assert message(write(tmp_path, many)).splitlines()[-1] == "... and 1980 more problems"
    many = vcf(*(record("AD", "3,4", pos="x") for _ in range(2000)))
    assert message(write(tmp_path, many)).splitlines()[-1] == "... and 1980 more problems"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "##fileformat=VCFv4.2\n",
            "t.vcf: the file ends without a line of column names, which begins with #CHROM",
        ),
        (
            "##fileformat=VCFv4.2\n" + GOOD,
            "t.vcf, row 2: records begin without a line of column names; expected is",
        ),
        (vcf(), "t.vcf, row 2: there are no records below the header"),
        (vcf(names=()), "t.vcf, row 2: this VCF has no samples, so it has no read counts"),
        (vcf().replace("\tFORMAT\tT", ""), "; this one has no samples, so it has no read counts"),
        (
            vcf(GOOD).replace("\t", " "),
            "'#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT T': the columns of a VCF are",
        ),
        (vcf(names=("T", "T")), "t.vcf, row 2: 'T': two columns have this name; rename one"),
        (vcf(names=("", "T")), "t.vcf, row 2: a sample column without a name"),
        (
            vcf(record("AD", "3,4", filters="weak"), record("AD", "3,4", filters="weak")),
            "none of the 2 records can be used; 2 failed filters or are not somatic (`all_filters` takes them)",
        ),
        (
            vcf(record("AD", "3,4", filters="weak"), record("DP", "3")),
            "none of the 2 records can be used; 1 failed filters or are not somatic (`all_filters` takes them); row 4",
        ),
    ],
)
def test_files_that_cannot_be_used(text: str, expected: str, tmp_path: Path) -> None:
    assert expected in message(write(tmp_path, text))


def test_damaged_compression(tmp_path: Path) -> None:
    plain = write(tmp_path, vcf(*(record("AD", f"30,{pos % 7}", pos=pos) for pos in range(1, 30_001))))
    packed = gzip.compress(plain.read_bytes())
    cut = write(tmp_path, packed[: len(packed) // 2], "cut.vcf.gz")
    assert message(cut) == "cut.vcf.gz: the gzip compression breaks off: the file is cut short"
    turned = bytearray(packed)
    turned[-6] ^= 255
    assert "the gzip compression is damaged" in message(write(tmp_path, bytes(turned), "turned.vcf.gz"))
    bgzipped = _bgzipped(plain)
    without_end = write(tmp_path, bgzipped[:-28], "short.vcf.gz")
    assert "short.vcf.gz: the mark that bgzip puts at the end is missing" in message(without_end)


@pytest.mark.parametrize(
    ("names", "meta", "tumours"),
    [
        (("TUMOR", "TUMOUR"), ("##tumor_sample=TUMOR", "##tumor_sample=TUMOUR"), ()),
        (("TUMOR", "TUMOUR"), (), ("TUMOUR", "TUMOR")),
        (("t", "TUMOUR"), (), ("t", "TUMOUR")),
    ],
)
def test_two_tumours_of_one_name(
    names: tuple[str, str], meta: tuple[str, ...], tumours: tuple[str, ...], tmp_path: Path
) -> None:
    path = write(tmp_path, vcf(record("AD", "9,1", "8,2"), names=names, meta=meta))
    message = f"'{names[0]}', 'TUMOUR' would all be called 't', after the file. Give the file once for each"
    with pytest.raises(InputError, match=re.escape(message)):
        read(path, tumour_samples=tumours)
    once_each = read(VariantFile(path, dict.fromkeys(names)))
    assert counts(once_each) == [(names[0], "1:100:A:C", 9, 1), ("TUMOUR", "1:100:A:C", 8, 2)]
