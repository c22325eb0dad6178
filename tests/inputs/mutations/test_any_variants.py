"""Properties: whatever the bytes, a result or the user's error; what is written comes back."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any

import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from variant_files import counts, record, vcf

from pyclone_pgsm.errors import InputError, PycloneError
from pyclone_pgsm.inputs.mutations.model import Variants, trimmed
from pyclone_pgsm.inputs.mutations.reading import read_variants

VCF = vcf(
    record("GT:AD:DP", "0/0:50,0:50", "0/1:30,10:40"),
    record("DP:AU:CU:GU:TU", "9:9,9:0,0:0,0:0,0", "9:7,7:2,2:0,0:0,0", pos=200),
    record("GT:AD", "0/0:9,0,0", "1/2:3,4,5", pos=300, alt="C,<DEL>", filters="weak"),
    names=("NORMAL", "TUMOR"),
    meta=("##contig=<ID=1,length=249250621>", "##tumor_sample=TUMOR"),
).encode()
MAF = (
    b"Hugo_Symbol\tChromosome\tStart_Position\tReference_Allele\tTumor_Seq_Allele2\tTumor_Sample_Barcode\t"
    b"t_ref_count\tt_alt_count\tFILTER\nTP53\t17\t7577120\tC\tT\tS1\t30\t10\tPASS\nX\tX\t5\t-\tA\tS2\t.\t1\tq\n"
)
PLAIN = b"chrom\tpos\tref\talt\tsample_id\tref_counts\talt_counts\nchr1\t5\tA\tC\tS1\t30\t10\n2\t6\tG\tT\tS2\t3\t4\n"

PIECES = st.sampled_from(
    [
        b"\n", b"\r", b"\t", b",", b":", b";", b'"', b"#", b"##", b".", b"0", b"-1", b"1e400", b"nan", b" ", b"\0",
        b"\xff", b"\xef\xbb\xbf", b"\x1f\x8b", b"AD", b"AD:AD", b"GT", b"0/1", b"|", b"<", b"<DEL>", b"*", b"[",
        b"99999999999999999999", b"##tumor_sample=", b"#CHROM\tPOS", b"PASS", b"TRUE", b"\xe2\x80\xa8", b"\x1a",
        b"\x85", b'##FORMAT=<ID=AD,Number=R,Type=Integer,Description="",IDX=9>\n', b"1" * 40,
    ]
)  # fmt: skip
EDITS = st.lists(
    st.tuples(st.integers(0, 2000), st.integers(0, 30), st.one_of(PIECES, st.binary(max_size=3))), max_size=5
)
BEGINNINGS = (
    b"##fileformat=VCFv4.2\n",
    b"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tT\n",
    PLAIN,
    b"",
)


def read_content(content: bytes, all_filters: bool = True) -> Variants:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f"
        path.write_bytes(content)
        return read_variants([path], all_filters=all_filters)


def check(content: bytes, all_filters: bool) -> None:
    try:
        variants = read_content(content, all_filters)
    except PycloneError:
        return
    table = variants.table
    assert len(table) > 0
    assert not table.isna().any(axis=None)
    assert (table[["ref_counts", "alt_counts", "pos", "row"]] >= 0).all(axis=None)
    assert not table.duplicated(["chrom", "pos", "ref", "alt", "sample_id"]).any()
    assert all(item.reason and item.row is not None and item.row > 0 for item in variants.left_out)


def edited(content: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """The content with pieces put in, in place of so many bytes."""
    result = bytearray(content)
    for place, length, piece in edits:
        place %= len(result) + 1
        result[place : place + length] = piece
    return bytes(result)


@settings(max_examples=500, deadline=None)
@given(st.sampled_from([VCF, MAF, PLAIN]), EDITS, st.booleans())
def test_any_edits(content: bytes, edits: list[tuple[int, int, bytes]], all_filters: bool) -> None:
    check(edited(content, edits), all_filters)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(BEGINNINGS),
    st.lists(st.one_of(PIECES, st.binary(max_size=20)), max_size=15),
    st.booleans(),
)
def test_any_bytes(beginning: bytes, pieces: list[bytes], all_filters: bool) -> None:
    check(beginning + b"".join(pieces), all_filters)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([VCF, MAF]), EDITS, st.integers(0, 400))
def test_any_damage_to_gzip(content: bytes, edits: list[tuple[int, int, bytes]], cut: int) -> None:
    check(edited(gzip.compress(content, mtime=0)[: max(2, cut)], edits), True)


names = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=8)
reads = st.one_of(st.integers(0, 200), st.integers(0, 2**31 - 1))
alleles = st.text("ACGT", min_size=1, max_size=3)


def trimmed_once(rows: list[Any]) -> list[Any]:
    """The rows with alleles trimmed, of which the first of each mutation and sample stays."""
    found: dict[Any, Any] = {}
    for sample, name, *reads_of in rows:
        chrom, pos, ref, alt = name.split(":")
        key = sample, ":".join(map(str, (chrom, *trimmed(int(pos), ref, alt))))
        found.setdefault(key, (*key, *reads_of))
    return list(found.values())


@settings(max_examples=80, deadline=None)
@given(
    st.lists(names, min_size=1, max_size=4, unique=True),
    st.dictionaries(
        st.tuples(st.integers(1, 2**31 - 1), alleles),
        st.lists(alleles, min_size=1, max_size=3, unique=True),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.data(),
)
def test_round_trip(
    samples: list[str],
    sites: dict[tuple[int, str], list[str]],
    line_end: str,
    packed: bool,
    data: st.DataObject,
) -> None:
    records, expected = [], []
    for (pos, ref), alts in sites.items():
        alts = [alt for alt in alts if alt != ref] or [ref + "A"]
        depths = [[data.draw(reads) for _ in range(1 + len(alts))] for _ in samples]
        records.append(
            record("AD", *(",".join(map(str, each)) for each in depths), pos=pos, ref=ref, alt=",".join(alts))
        )
        for name, (reference, *alternates) in zip(samples, depths):
            expected += [
                (name, f"1:{pos}:{ref}:{alt}", reference, each) for alt, each in zip(alts, alternates)
            ]
    meta = tuple(f"##tumor_sample={name}" for name in samples)
    content = vcf(*records, names=tuple(samples), meta=meta).replace("\n", line_end).encode()
    found = counts(read_content(gzip.compress(content, mtime=0) if packed else content))
    named_by_role = {name for name in samples if name.upper() in ("TUMOR", "TUMOUR", "DNA_TUMOR")}
    assert found == trimmed_once(
        [("f" if name in named_by_role else name, *rest) for name, *rest in expected]
    )


def counted_by_htslib(path: Path, tumour: str) -> list[tuple[str, str, int, int]]:
    """Sample, mutation and counts of ``AD`` of one sample, as htslib reads them."""
    found = []
    with pysam.VariantFile(str(path)) as source:
        for row in source:
            reference, *alternates = row.samples[tumour]["AD"]
            for alt, reads in zip(row.alts, alternates):
                found.append((tumour, f"{row.chrom}:{row.pos}:{row.ref}:{alt}", reference, reads))
    return found


sites = st.tuples(
    st.integers(1, 2**31 - 2),
    st.text("ACGT", min_size=1, max_size=5),
    st.lists(st.text("ACGT", min_size=1, max_size=5), min_size=1, max_size=3, unique=True),
    st.lists(st.integers(0, 2**20), min_size=4, max_size=4),
    st.sampled_from(["GT:AD:DP", "AD", "GT:AD", "GT:DP:AD:XX"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(sites, min_size=1, max_size=8, unique_by=lambda site: site[:2]), st.booleans())
def test_the_counts_are_those_that_htslib_reads(rows: list[Any], packed: bool) -> None:
    values = {"GT": "0/1", "DP": "77", "XX": "3,.,5"}
    records = []
    for pos, ref, alts, depths, fields in rows:
        alts = [alt for alt in alts if alt != ref] or [ref + "A"]
        reads = ",".join(map(str, depths[: 1 + len(alts)]))
        sample = ":".join(reads if name == "AD" else values[name] for name in fields.split(":"))
        records.append(record(fields, sample, sample, pos=pos, ref=ref, alt=",".join(alts)))
    meta = (
        "##contig=<ID=1>",
        "##tumor_sample=T",
        '##FORMAT=<ID=AD,Number=R,Type=Integer,Description="reads">',
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="genotype">',
        '##FORMAT=<ID=DP,Number=1,Type=Integer,Description="depth">',
        '##FORMAT=<ID=XX,Number=.,Type=String,Description="others">',
        '##INFO=<ID=DP,Number=1,Type=Integer,Description="depth">',
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.vcf"
        path.write_text(vcf(*records, names=("N", "T"), meta=meta))
        if packed:
            pysam.tabix_compress(str(path), str(path.with_suffix(".gz")))
            path = path.with_suffix(".gz")
        assert counts(read_variants([path])) == trimmed_once(counted_by_htslib(path, "T"))


def test_the_edits_find_what_they_should() -> None:
    """Not all mutated files are refused, and not all are taken."""
    assert len(read_content(VCF).table) == 3
    assert len(read_content(MAF).table) == 1
    with pytest.raises(InputError):
        read_content(edited(VCF, [(len(VCF) - 40, 2, b"x")]))
