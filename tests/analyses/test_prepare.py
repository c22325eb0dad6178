"""Mutations with segments: the joined table, files matched to samples, the sample sheet, and the command line."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import command, without_waiting
from typer.testing import CliRunner

from pyclone_pgsm.analyses.prepare import Prepared, PrepareOptions, prepare, write_prepared
from pyclone_pgsm.analyses.reading import read_joined
from pyclone_pgsm.cli import app as cli
from pyclone_pgsm.errors import InputError, PycloneError, UsageError
from pyclone_pgsm.inputs.mutations.model import VariantFile
from pyclone_pgsm.inputs.read_counts.tables import read_tables
from pyclone_pgsm.inputs.sample_sheet import Patient, SegmentFile, read_sheet
from pyclone_pgsm.inputs.tumour_content import Uncertain

DATA = Path(
    os.environ.get("PYCLONE_PGSM_TEST_DATA") or Path(__file__).resolve().parents[2].parent / "shared" / "data"
)
SHORT = ("--iterations", 40, "--burn-in", 20, "--chains", 2, "--threads", 1, "--grid-size", 51)
SEGMENTS = "chrom\tstart\tend\tmajor_cn\tminor_cn\n1\t1\t1000\t2\t1\n1\t2001\t3000\t1\t1\n2\t1\t5000\t0\t0\n"


def call(*arguments: object) -> Any:
    result = CliRunner().invoke(cli.app, list(map(str, arguments)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def refused(*arguments: object) -> str:
    result = call(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
    return result.stderr


def vcf(*sites: str, names: tuple[str, ...] = ("T",), tumours: tuple[str, ...] = (), build: str = "") -> str:
    """A VCF; each site is ``chrom:pos:counts of each sample``, as in 1:100:30,10."""
    lines = ["##fileformat=VCFv4.2", *(f"##tumor_sample={name}" for name in tumours)]
    lines += [f"##reference={build}"] if build else []
    lines.append("\t".join(["#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT", *names]))
    for site in sites:
        chrom, pos, *counts = site.split(":")
        lines.append("\t".join([chrom, pos, ".", "A", "C", ".", "PASS", ".", "AD", *counts]))
    return "\n".join(lines) + "\n"


def write(folder: Path, **files: str) -> dict[str, Path]:
    """Write files; ``a_vcf`` becomes a.vcf."""
    paths = {}
    for name, content in files.items():
        paths[name] = folder / ".".join(name.rsplit("_", 1))
        paths[name].write_text(content)
    return paths


def one_patient(mutations: Path | VariantFile, *segments: Path | SegmentFile, **said: Any) -> Patient:
    return Patient(
        "",
        (mutations if isinstance(mutations, VariantFile) else VariantFile(mutations),),
        tuple(each if isinstance(each, SegmentFile) else SegmentFile(each) for each in segments),
        **said,
    )


def prepared(
    folder: Path, calls: str, segments: str = SEGMENTS, said: Any = None, **options: Any
) -> Prepared:
    paths = write(folder, S1_vcf=calls, S1_tsv=segments)
    patient = one_patient(paths["S1_vcf"], paths["S1_tsv"], **(said or {}))
    return prepare(patient, PrepareOptions(**options))


def test_joined_table(tmp_path: Path) -> None:
    result = prepared(
        tmp_path, vcf("chr1:1:30,10", "chr1:1500:9,9", "chr1:3000:5,6", "chrM:7:1,1", "chr2:5:8,8")
    )
    assert result.table.to_dict("list") == {
        "file": [str(tmp_path / "S1.vcf")] * 3,
        "row": [3, 5, 7],
        "mutation_id": ["1:1:A:C", "1:3000:A:C", "2:5:A:C"],
        "sample_id": ["T", "T", "T"],
        "ref_counts": [30, 5, 8],
        "alt_counts": [10, 6, 8],
        "major_cn": [2, 1, 0],
        "minor_cn": [1, 1, 0],
        "normal_cn": [2, 2, 2],
        "tumour_content": [1.0, 1.0, 1.0],
        "chrom": ["1", "1", "2"],
        "pos": [1, 3000, 5],
        "ref": ["A", "A", "A"],
        "alt": ["C", "C", "C"],
        "gene": ["", "", ""],
        "subclonal_major_cn": [0, 0, 0],
        "subclonal_minor_cn": [0, 0, 0],
        "subclonal_fraction": [0.0, 0.0, 0.0],
    }
    assert [(Path(item.file).name, item.row, item.mutation_id, item.sample_id) for item in result.left_out] == [
        ("S1.vcf", 4, "1:1500:A:C", "T"), ("S1.vcf", 6, "MT:7:A:C", "T"),
    ]  # fmt: skip
    assert "in no copy-number segment" in result.left_out[0].reason
    assert result.notes == [
        f"{tmp_path / 'S1.tsv'}: taken for the segments of 'T'",
        "T: 3 segments (generic)",
    ]
    assert result.warnings == [
        "tumour content of 'T' is unknown and assumed to be 1; set it with `tumour_content`"
    ]
    lines = [
        "T: 3 mutations, tumour content 1",
        "2 left out or changed (left_out.tsv)",
        "1 row of table.tsv without a copy of the locus in the tumour, which analyze takes as no data there",
    ]
    assert result.summary() == lines
    assert replace(result, genotype_prior="ab").summary() == lines[:2]


def test_names_of_files_that_are_no_text(tmp_path: Path) -> None:
    """They are told with escapes; a sample may be named after such a file, and the purity is found beside it."""
    calls, segments, purity = (
        tmp_path / os.fsdecode(b"T\xff" + ending)
        for ending in (b".tsv", b".purple.cnv.tsv", b".purple.purity.tsv")
    )
    calls.write_text("chrom\tpos\tref_counts\talt_counts\n1\t100\t30\t10\n1\t9999999\t30\t10\n")
    segments.write_text(
        "chromosome\tstart\tend\tmajorAlleleCopyNumber\tminorAlleleCopyNumber\n1\t1\t1000\t1\t1\n"
    )
    purity.write_text("purity\tploidy\tgender\n0.7\t2\tFEMALE\n")
    result = prepare(one_patient(calls, segments), PrepareOptions())
    assert result.table["sample_id"].tolist() == [r"T\udcff"]
    assert result.table["tumour_content"].tolist() == [0.7]
    assert [Path(item.file).name for item in result.left_out] == [r"T\udcff.tsv"]
    write_prepared(result, tmp_path / "out")
    assert r"T\udcff.tsv" in (tmp_path / "out" / "left_out.tsv").read_text()


def test_changes_of_segments_of_other_patients_are_not_listed(tmp_path: Path) -> None:
    rows = [
        "chrom\tstart\tend\tmajor_cn\tminor_cn\tsample_id",
        "1\t1\t900\t1.6\t1\tT",
        "1\t1\t900\t2.4\t1\tother",
    ]
    result = prepared(tmp_path, vcf("1:1:30,10"), "\n".join(rows) + "\n")
    assert [(item.sample_id, item.reason) for item in result.left_out] == [
        ("T", "copy numbers 1.6 and 1 of the segment rounded to 2 and 1")
    ]


@pytest.mark.parametrize(
    ("shares", "is_told"), [((0.7, 0.4), True), ((0.6, 0.4), False), ((0.7, 1.0), False)]
)
def test_shares_of_tumour_cells_that_look_like_those_of_all_cells(
    shares: tuple[float, float], is_told: bool, tmp_path: Path
) -> None:
    rows = [f"1\t{place}\t{place + 9}\t2\t1\t{share}" for place, share in zip((1, 100), shares)]
    segments = "\n".join(["chrom\tstart\tend\tmajor_cn\tminor_cn\tcellular_prevalence", *rows]) + "\n"
    given = {"tumour_content": 0.7}
    warnings = prepared(tmp_path, vcf("1:1:30,10"), segments, **given).warnings
    assert [text for text in warnings if "are these shares of all cells?" in text] == warnings
    assert bool(warnings) == is_told
    assert prepared(tmp_path, vcf("1:1:30,10"), SEGMENTS, **given).warnings == []


def test_gaps_sex_and_build(tmp_path: Path) -> None:
    calls = vcf("1:1500:9,9", "X:2000:5,5", "X:5000000:5,5", "Y:5000000:5,5", build="hg19")
    segments = SEGMENTS + "X\t1\t155000000\t1\t0\nY\t1\t50000000\t1\t0\n"
    male = prepared(tmp_path, calls, segments, fill_gaps="diploid", sex="male")
    assert male.table["normal_cn"].tolist() == [2, 1, 1, 1]
    assert male.table["major_cn"].tolist() == [1, 1, 1, 1]
    by_sheet = prepared(tmp_path, calls, segments, said={"sex": "male"})
    assert by_sheet.table["normal_cn"].tolist() == [1, 1, 1]
    female = prepared(tmp_path, calls, segments, said={"sex": "male"}, sex="female")
    assert female.table["normal_cn"].tolist() == [2, 2]
    near_the_end = prepared(tmp_path, vcf("X:2700000:5,5"), segments, sex="male", genome_build="GRCh37")
    assert near_the_end.table["normal_cn"].tolist() == [1]
    region = SEGMENTS + "X\t1\t2781479\t1\t1\n"
    near_the_end = prepared(tmp_path, vcf("X:2700000:5,5"), region, sex="male", genome_build="GRCh38")
    assert near_the_end.table["normal_cn"].tolist() == [2]


def test_positions_of_another_genome(tmp_path: Path) -> None:
    """Chromosome 19 of the mouse is longer than that of humans."""
    (tmp_path / "s.tsv").write_text("chrom\tstart\tend\tmajor_cn\tminor_cn\n19\t1\t61000000\t1\t1\n")
    for position, is_said in ((61_000_000, True), (59_000_000, False)):
        (tmp_path / "S.vcf").write_text(vcf(f"19:{position}:30,10"))
        patient = Patient("", [VariantFile(tmp_path / "S.vcf")], [SegmentFile(tmp_path / "s.tsv")])
        said = [warning for warning in prepare(patient, PrepareOptions()).warnings if "genome" in warning]
        assert said == is_said * [
            "positions are beyond the ends of chromosomes of GRCh37 and GRCh38: '19:61000000'. Is this another genome? "
            "Copies of X and Y in normal cells are those of humans"
        ]


def test_tumour_content_option_before_sheet_before_caller(tmp_path: Path) -> None:
    calls = vcf("1:1:30,10")
    said = {"tumour_content": {"T": 0.4}}
    assert prepared(tmp_path, calls, said=said).table["tumour_content"].tolist() == [0.4]
    assert prepared(tmp_path, calls, said=said, tumour_content=0.7).table["tumour_content"].tolist() == [0.7]
    uncertain = prepared(tmp_path, calls, said=said, tumour_content={"T": Uncertain(0.6, 0.1)})
    assert uncertain.table["tumour_content"].tolist() == [0.6]
    assert uncertain.tumour_content == {"T": Uncertain(0.6, 0.1)}
    assert not any("is not known" in note for note in uncertain.notes)
    with pytest.raises(UsageError, match="`tumour_content` is given for 'U', but the samples are 'T'"):
        prepared(tmp_path, calls, tumour_content={"U": 0.5})


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ({"sex": "other"}, "`sex` 'other': must be one of female, male"),
        ({"sex": ["male"]}, "`sex` ['male']: must be one of female, male"),
        ({"genome_build": "hg19"}, "`genome_build` 'hg19': must be one of GRCh37, GRCh38"),
        ({"fill_gaps": "yes"}, "`fill_gaps` 'yes': must be one of diploid"),
        (
            {"genotype_prior": "x"},
            "`genotype_prior` 'x': must be one of major, parental, total, clonal, ab, bb, no-zygosity",
        ),
        ({"tumour_sample": 5}, "`tumour_sample` 5: must be a name, or several"),
        ({"tumour_sample": ["S1", 2]}, "`tumour_sample` 2: must be a name, or several"),
    ],
)
def test_options_that_cannot_be(option: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        PrepareOptions(**option)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("samples", "files", "matched"),
    [
        (("R1", "R2"), {"R1_tsv": "", "R2_tsv": ""}, {"R1": "R1.tsv", "R2": "R2.tsv"}),
        (
            ("R1", "R10"),
            {"R10.segments_txt": "", "R1.segments_txt": ""},
            {"R1": "R1.segments.txt", "R10": "R10.segments.txt"},
        ),
        (("P-R1", "P"), {"P-R1-x_tsv": "", "P_tsv": ""}, {"P-R1": "P-R1-x.tsv", "P": "P.tsv"}),
        (
            ("R1.calls", "R2.calls"),
            {"R1_cns": "", "R2_cns": ""},
            {"R1.calls": "R1.cns", "R2.calls": "R2.cns"},
        ),
        (("R1", "R2"), {"a_tsv": "R2", "b_tsv": "R1"}, {"R1": "b.tsv", "R2": "a.tsv"}),
        (("R1", "R2"), {"a_tsv": "R2_T", "b_tsv": "R1_T"}, {"R1": "b.tsv", "R2": "a.tsv"}),
        (("R1",), {"a_tsv": ""}, {"R1": "a.tsv"}),
        (("R1",), {"a_tsv": "Tumor"}, {"R1": "a.tsv"}),
    ],
)
def test_segments_are_matched_by_name(
    samples: tuple[str, ...], files: dict[str, str], matched: dict[str, str], tmp_path: Path
) -> None:
    calls = write(
        tmp_path, calls_vcf=vcf("1:1:" + ":".join(["30,10"] * len(samples)), names=samples, tumours=samples)
    )
    texts = {}
    for place, (name, inside) in enumerate(files.items()):
        header, row = "chrom\tstart\tend\tmajor_cn\tminor_cn", f"1\t1\t1000\t{place + 1}\t0"
        texts[name] = f"{header}\tsample_id\n{row}\t{inside}\n" if inside else f"{header}\n{row}\n"
    paths = write(tmp_path, **texts)
    result = prepare(one_patient(calls["calls_vcf"], *paths.values()), PrepareOptions())
    order = [path.name for path in paths.values()]
    found = dict(zip(result.table["sample_id"], result.table["major_cn"]))
    assert {sample: order[major - 1] for sample, major in found.items()} == matched


def test_segments_that_cannot_be_matched(tmp_path: Path) -> None:
    paths = write(
        tmp_path,
        calls_vcf=vcf("1:1:30,10:5,5", names=("R1", "R2"), tumours=("R1", "R2")),
        x_tsv=SEGMENTS,
        R1_tsv=SEGMENTS,
        R1_txt=SEGMENTS,
        of_R1_tsv=SEGMENTS.replace("\n", "\tR1\n").replace("cn\tR1", "cn\tsample_id"),
    )
    calls = paths["calls_vcf"]

    def message(*segments: Path | SegmentFile) -> str:
        with pytest.raises((UsageError, InputError)) as caught:
            prepare(one_patient(calls, *segments), PrepareOptions())
        return str(caught.value).replace(f"{tmp_path}/", "")

    assert message() == "mutations need copy numbers: give `segments`, one file per sample or one for all"
    assert message(paths["x_tsv"]) == (
        "x.tsv: which sample are these segments of? Write `segments` SAMPLE=x.tsv; the samples are 'R1', 'R2'"
    )
    extended = write(tmp_path, calls2_vcf=vcf("1:1:30,10:5,5", names=("P", "P-R2"), tumours=("P", "P-R2")))
    other = write(tmp_path, **{"P-R3_tsv": SEGMENTS})["P-R3_tsv"]
    with pytest.raises(UsageError, match=r"P-R3\.tsv: which sample are these segments of\?"):
        prepare(one_patient(extended["calls2_vcf"], other), PrepareOptions())
    alone = prepare(
        one_patient(calls, paths["R1_tsv"]), PrepareOptions(tumour_content={"R1": 0.8, "R2": 0.7})
    )
    reason = "there are no copy-number segments of this sample"
    assert alone.warnings == [f"sample 'R2' is left out with all its mutations: {reason}"]
    assert {item.sample_id for item in alone.left_out if item.reason == reason} == {"R2"}
    assert read_joined(alone).observations.sample_ids == ["R1"]
    assert message(SegmentFile(paths["x_tsv"], "R3")) == (
        "segments are given for 'R3', but the samples of the mutations are 'R1', 'R2'"
    )
    twice = message(paths["R1_tsv"], SegmentFile(paths["R1_txt"], "R1"), SegmentFile(paths["x_tsv"], "R2"))
    assert (
        "R1.txt: segments of chromosome 1 of sample 'R1' stand in R1.tsv, too; keep one, or write `segments` SAMPLE="
        in twice
    )
    assert message(SegmentFile(paths["R1_tsv"], "R1"), paths["R1_tsv"]) == (
        "R1.tsv: these segments are given for a sample and without one; give them once"
    )
    rows = ["sample_id,mutations,segments", "R1,calls.vcf,x.tsv", "R2,calls.vcf,", ""]
    sheet = write(tmp_path, sheet_csv="\n".join(rows))["sheet_csv"]
    assert refused("validate", "--samples", sheet).endswith(
        "the samples are 'R1', 'R2'. In a sample sheet, name the file in the row of each sample that it has\n"
    )
    given = (SegmentFile(paths["x_tsv"], "R1"), SegmentFile(paths["R1_tsv"], "R2"))
    result = prepare(one_patient(calls, *given), PrepareOptions())
    assert result.table["major_cn"].tolist() == [2, 2]
    assert not any("the same segments" in warning for warning in result.warnings)
    given = (SegmentFile(paths["x_tsv"], "R1"), SegmentFile(paths["x_tsv"], "R2"))
    shared = prepare(one_patient(calls, *given), PrepareOptions()).warnings
    assert f"{paths['x_tsv']}: the same segments are taken for the samples 'R1', 'R2'" in shared
    given = (SegmentFile(paths["of_R1_tsv"], "R2"), SegmentFile(paths["x_tsv"], "R1"))
    exchanged = prepare(one_patient(calls, *given), PrepareOptions()).warnings
    assert f"{paths['of_R1_tsv']}: the file names the sample 'R1', but is given for 'R2'" in exchanged
    right = prepare(
        one_patient(calls, paths["of_R1_tsv"], given[1]._replace(sample_id="R2")), PrepareOptions()
    )
    assert not any("is given for" in warning for warning in right.warnings)


def test_sample_without_a_usable_record_of_a_vcf_is_named(tmp_path: Path) -> None:
    text = vcf("1:1:30,10:.", "1:9:20,9:.", names=("A", "B"), tumours=("A", "B"))
    paths = write(tmp_path, calls_vcf=text, A_tsv=SEGMENTS, B_tsv=SEGMENTS)
    of_samples = [SegmentFile(paths[f"{name}_tsv"], name) for name in "AB"]
    result = prepare(one_patient(paths["calls_vcf"], *of_samples), PrepareOptions(tumour_content=0.8))
    assert set(result.table["sample_id"]) == {"A"}
    assert result.warnings == ["sample 'B' is left out with all its mutations: AD has no value"]
    assert [(item.row, item.sample_id) for item in result.left_out] == [(5, "B"), (6, "B")]


def test_samples_of_a_cohort_without_segments_are_told_together(tmp_path: Path) -> None:
    rows = [f"1 {row} A C S{row:04} 30 10" for row in range(1, 101)]
    header = "chrom pos ref alt sample_id ref_counts alt_counts"
    paths = write(tmp_path, calls_tsv="\n".join([header, *rows, ""]).replace(" ", "\t"), S0001_tsv=SEGMENTS)
    result = prepare(
        one_patient(paths["calls_tsv"], paths["S0001_tsv"]), PrepareOptions(tumour_content={"S0001": 0.8})
    )
    (warning,) = result.warnings
    assert warning.startswith("samples 'S0002', 'S0003', ")
    assert warning.endswith(
        "'S0021' and 79 more are left out with all their mutations: there are no copy-number segments of this sample"
    )


@pytest.mark.parametrize("kind", ["maf", "plain"])
def test_sample_without_a_usable_row_of_a_table_is_named(kind: str, tmp_path: Path) -> None:
    header = "chrom pos ref alt sample_id ref_counts alt_counts filter"
    if kind == "maf":
        header = (
            "Chromosome Start_Position Reference_Allele Tumor_Seq_Allele2 Tumor_Sample_Barcode t_ref_count t_alt_count "
            "FILTER"
        )
    rows = ["1 1 A C A 30 10 PASS", "1 1 A C B 20 9 weak"]
    paths = write(
        tmp_path, calls_tsv="\n".join([header, *rows, ""]).replace(" ", "\t"), A_tsv=SEGMENTS, B_tsv=SEGMENTS
    )
    of_samples = [SegmentFile(paths[f"{name}_tsv"], name) for name in "AB"]
    result = prepare(
        one_patient(paths["calls_tsv"], *of_samples), PrepareOptions(tumour_content={"B": 0.8, "A": 0.7})
    )
    assert set(result.table["sample_id"]) == {"A"}
    reason = "FILTER is weak, not PASS; `all_filters` takes it"
    assert result.warnings == [f"sample 'B' is left out with all its mutations: {reason}"]
    assert result.tumour_content == {"A": 0.7}


def test_mutations_in_the_place_of_segments(tmp_path: Path) -> None:
    calls, segments = write(tmp_path, S1_vcf=vcf("1:1:30,10"), x_tsv=SEGMENTS).values()
    assert refused("validate", segments, "-c", calls) == (
        f"pyclone-pgsm: no file of mutations given: {calls} looks like one, but stands after --segments (-c)\n"
    )


def test_two_files_that_may_be_of_one_sample(tmp_path: Path) -> None:
    tumor = {
        f"T1_{what}_vcf": vcf(f"1:{pos}:30,10", names=("TUMOR",))
        for pos, what in ((1, "snvs"), (2, "indels"))
    }
    snvs, indels, segments = write(tmp_path, **tumor, x_tsv=SEGMENTS).values()
    said = (
        ". If two files of mutations are of one sample, such as its SNVs and indels, name it for both, as in "
        f"S1={snvs} S1={indels}"
    )
    assert refused("prepare", snvs, indels, "-c", segments).endswith(
        f"--segments SAMPLE={segments}; the samples are 'T1_snvs', 'T1_indels'{said}\n"
    )
    shared = ("-c", f"T1_snvs={segments}", "-c", f"T1_indels={segments}", "-o", tmp_path / "out")
    assert f"for the samples 'T1_snvs', 'T1_indels'{said}\n" in call("prepare", snvs, indels, *shared).stderr
    one = call("prepare", f"S1={snvs}", f"S1={indels}", "-c", segments, "-o", tmp_path / "one")
    assert "S1: 2 mutations" in one.stdout
    assert "If two files" not in one.stderr


def test_segments_of_another_sample(tmp_path: Path) -> None:
    labelled = SEGMENTS.replace("\n", "\tP2\n").replace("cn\tP2", "cn\tsample_id")
    paths = write(tmp_path, calls_vcf=vcf("1:1:30,10", names=("P1",)), x_tsv=labelled)
    with pytest.raises(UsageError) as caught:
        prepare(one_patient(paths["calls_vcf"], paths["x_tsv"]), PrepareOptions())
    file = paths["x_tsv"]
    assert str(caught.value) == (
        f"{file}: these are segments of 'P2', but the mutations are those of 'P1'. If the two are the same sample, "
        f"write `segments` P1={file}"
    )
    paired = prepare(one_patient(paths["calls_vcf"], SegmentFile(file, "P1")), PrepareOptions())
    assert paired.table["major_cn"].tolist() == [2]


def test_one_file_of_segments_for_all_samples(tmp_path: Path) -> None:
    header, *rows = SEGMENTS.splitlines()
    both = [f"{header}\tsample_id", *(f"{row}\t{name}" for name in ("R1", "R2", "other") for row in rows)]
    paths = write(
        tmp_path,
        calls_vcf=vcf("1:1:30,10:5,5", names=("R1", "R2"), tumours=("R1", "R2")),
        all_tsv="\n".join(both) + "\n",
    )
    result = prepare(one_patient(paths["calls_vcf"], paths["all_tsv"]), PrepareOptions())
    assert result.table["major_cn"].tolist() == [2, 2]


def test_what_is_read_on_directly_is_what_is_written(tmp_path: Path) -> None:
    calls = vcf(*(f"1:{pos}:{pos % 40},{pos % 17}" for pos in range(1, 900, 13)), "2:5:8,8", "1:2500:0,0")
    result = prepared(tmp_path, calls, tumour_content=0.123456789012345)
    folder = tmp_path / "out"
    write_prepared(result, folder)
    reading = read_joined(result)
    written, _ = read_tables(folder / "table.tsv")
    for name, values in vars(written).items():
        found = getattr(reading.observations, name)
        assert found == values if isinstance(values, list | dict) else found.tobytes() == values.tobytes(), (
            name
        )
    assert written.tumour_content[0, 0] == 0.123456789012345
    assert written.annotations["pos"][0] == "1"
    # told of the user's file and row, not of the table between
    assert [(Path(item.file).name, item.row, item.mutation_id) for item in reading.left_out] == [
        ("S1.vcf", 73, "2:5:A:C"), ("S1.vcf", 73, "2:5:A:C"), ("S1.vcf", 74, "1:2500:A:C"),
    ]  # fmt: skip
    table = pd.read_csv(folder / "left_out.tsv", sep="\t")
    assert list(table.columns) == ["file", "row", "mutation_id", "sample_id", "reason"]
    assert len(table) == 0


@pytest.mark.parametrize(("prior", "column"), [("major", "major_cn"), ("total", "total_cn")])
def test_no_copies_are_told_by_the_column_of_the_joined_table(
    prior: str, column: str, tmp_path: Path
) -> None:
    joined = prepared(tmp_path, vcf("1:1:30,10", "2:7:9,9"), genotype_prior=prior)
    assert joined.summary()[0] == "T: 2 mutations, tumour content 1"
    assert read_joined(joined).left_out[0].reason.startswith(f"{column} 0: a mutation cannot be modelled")
    one = prepared(tmp_path, vcf("1:1:30,10"), genotype_prior=prior)
    assert one.summary()[0] == "T: 1 mutation, tumour content 1"


def test_error_rate_is_named_as_the_parameter(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^`error_rate` 0\.7: out of range"):
        read_joined(prepared(tmp_path, vcf("1:1:30,10")), 0.7)


def test_nothing_has_data(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_joined(prepared(tmp_path, vcf("2:5:8,8")))
    assert str(caught.value).startswith(
        f"{tmp_path / 'S1.vcf'}: none of the 1 mutation has data in any sample"
    )


SUBCLONAL = "chrom\tstart\tend\tmajor_cn\tminor_cn\tcellular_prevalence\n1\t1\t400\t2\t1\t0.6\n1\t401\t3000\t1\t1\t1\n"


@pytest.fixture(scope="module")
def two_regions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("regions")
    sites = [f"1:{pos}:{40 - pos % 11},{10 + pos % 7}:{50 + pos % 9},{pos % 5}" for pos in range(1, 900, 29)]
    names = ("N", "R1", "R2")
    with_normal = [site.replace(":", ":60,0:", 2).replace(":60,0:", ":", 1) for site in sites]
    return write(
        folder,
        calls_vcf=vcf(*with_normal, names=names, tumours=("R1", "R2")),
        R1_tsv=SUBCLONAL,
        R2_tsv=SEGMENTS,
    )


def test_prepare_then_analyze_gives_the_same_bytes(two_regions: dict[str, Path], tmp_path: Path) -> None:
    calls, first, second = two_regions.values()
    options = ("--tumour-content", "R1=0.8", "--tumour-content", "R2=0.654321")
    ready = call("prepare", calls, "-c", first, "-c", second, "-o", tmp_path / "ready", *options)
    assert (ready.exit_code, ready.stderr) == (0, "")
    assert ready.stdout.endswith(f"written to {tmp_path / 'ready'}\n")
    assert {path.name for path in (tmp_path / "ready").iterdir()} == {"table.tsv", "left_out.tsv"}
    joined = pd.read_csv(tmp_path / "ready" / "table.tsv", sep="\t")
    assert {"subclonal_major_cn", "subclonal_minor_cn", "subclonal_fraction"} <= set(joined.columns)
    for name, arguments in {
        "direct": (calls, "-c", first, "-c", second, *options),
        "after": (tmp_path / "ready" / "table.tsv",),
        "glob": (calls, "-c", first, second, *options),
    }.items():
        done = call("analyze", *arguments, "-o", tmp_path / name, "--no-plots", *SHORT)
        assert done.exit_code == 0
        (line,) = without_waiting(done.stderr).splitlines()
        assert line.startswith(
            "pyclone-pgsm: warning: in 'R2' most mutations are on gained segments, as after a"
        )
    for name in ("mutations.tsv", "clusters.tsv"):
        content = (tmp_path / "direct" / name).read_bytes()
        assert (tmp_path / "after" / name).read_bytes() == (tmp_path / "glob" / name).read_bytes() == content
    columns = pd.read_csv(tmp_path / "direct" / "mutations.tsv", sep="\t", nrows=0).columns
    assert {"chrom", "pos", "ref", "alt"} <= set(columns)


@pytest.mark.parametrize(
    ("column", "prior"), [("total_cn", "total"), ("major_cn\tminor_cn", "total"), ("total_cn", "ab")]
)
def test_totals_stay_totals(column: str, prior: str, tmp_path: Path) -> None:
    """No other prior takes them for the copies of one allele, whether or not the segments have alleles."""
    copies = ["3", "2"] if column == "total_cn" else ["2\t1", "1\t1"]
    rows = [f"1\t{start}\t{start + 999}\t{each}" for start, each in zip((1, 1001), copies)]
    sites = [f"1:{pos}:{40 - pos % 11},{10 + pos % 7}" for pos in range(1, 1900, 99)]
    segments = "\n".join([f"chrom\tstart\tend\t{column}", *rows, ""])
    calls, totals = write(tmp_path, T_vcf=vcf(*sites), T_tsv=segments).values()
    table, total = tmp_path / "ready" / "table.tsv", ("--genotype-prior", prior)
    direct = (calls, "-c", totals, "--tumour-content", "0.8", *total)
    assert call("prepare", *direct, "-o", table.parent).exit_code == 0
    joined = pd.read_csv(table, sep="\t")
    assert joined["total_cn"].tolist() == [3] * 11 + [2] * 9
    assert not {"major_cn", "minor_cn"} & set(joined)
    message = "total_cn alone is enough only for --genotype-prior total, ab, bb or no-zygosity"
    assert message in refused("validate", table)
    for name, arguments in {"a": direct, "b": (table, *total)}.items():
        done = call("analyze", *arguments, "-o", tmp_path / name, "--no-plots", "--no-report", *SHORT)
        assert done.exit_code == 0
    for name in ("mutations.tsv", "clusters.tsv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize("prior", ["total", "no-zygosity"])
def test_alleles_do_not_matter_to_priors_of_totals(prior: str, tmp_path: Path) -> None:
    """The joined table has none, neither of one state nor of two."""
    rows = ("2\t2\t1", "3\t0\t1", "3\t2\t0.6", "2\t0\t0.4", "1\t1\t1")
    segments = [f"1\t{place * 400 + 1}\t{place * 400 + 400}\t{row}" for place, row in enumerate(rows)]
    sites = [f"1:{pos}:{40 - pos % 11},{10 + pos % 7}" for pos in range(1, 1900, 99)]
    header = "chrom\tstart\tend\tmajor_cn\tminor_cn\tcellular_prevalence"
    calls, alleles = write(tmp_path, T_vcf=vcf(*sites), T_tsv="\n".join([header, *segments, ""])).values()
    table, option = tmp_path / "ready" / "table.tsv", ("--genotype-prior", prior)
    direct = (calls, "-c", alleles, "--tumour-content", "0.8", *option)
    assert call("prepare", *direct, "-o", table.parent).exit_code == 0
    for name, arguments in {"a": direct, "b": (table, *option)}.items():
        done = call("analyze", *arguments, "-o", tmp_path / name, "--no-plots", "--no-report", *SHORT)
        assert done.exit_code == 0
    for name in ("mutations.tsv", "clusters.tsv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_uncertain_tumour_content_both_ways(two_regions: dict[str, Path], tmp_path: Path) -> None:
    calls, first, second = two_regions.values()
    option = ("--tumour-content", "0.8+-0.05")
    prepared = call("prepare", calls, "-c", first, "-c", second, "-o", tmp_path / "ready", *option)
    assert [line.rpartition("; ")[2] for line in prepared.stderr.splitlines()] == [
        f"give --tumour-content {sample}=0.8±0.05 again with the table" for sample in ("R1", "R2")
    ]
    assert prepared.stdout.count(", tumour content 0.8±0.05\n") == 2
    call("run", calls, "-c", first, "-c", second, "-o", tmp_path / "a.h5", *option, *SHORT)
    call("run", tmp_path / "ready" / "table.tsv", "-o", tmp_path / "b.h5", *option, *SHORT)
    for name in ("a", "b"):
        done = call("summarize", tmp_path / f"{name}.h5", "-o", tmp_path / name, "--no-plots")
        assert done.exit_code == 0
    assert (tmp_path / "a" / "mutations.tsv").read_bytes() == (tmp_path / "b" / "mutations.tsv").read_bytes()


def test_validate(two_regions: dict[str, Path]) -> None:
    calls, first, second = two_regions.values()
    done = call("validate", calls, "-c", f"R1={first}", "-c", f"R2={second}", "--sex", "male")
    lines = done.stdout.splitlines()
    assert (
        lines[0] == "2 samples, 31 mutations, 62 of 62 mutation-sample pairs with data, 0 left out or changed"
    )
    assert any(line.startswith("R1: 2 segments (generic)") for line in lines)


def test_samples_are_named_on_the_command_line(tmp_path: Path) -> None:
    both = ("NORMAL", "TUMOR")
    paths = write(
        tmp_path,
        snvs_vcf=vcf("1:1:60,0:30,10", names=both),
        indels_vcf=vcf("1:2:60,0:31,11", names=both),
        x_tsv=SEGMENTS,
    )
    out = tmp_path / "out"
    named = [f"S1={paths['snvs_vcf']}", f"S1={paths['indels_vcf']}"]
    assert call("prepare", *named, "-c", paths["x_tsv"], "-o", out).exit_code == 0
    assert pd.read_csv(out / "table.tsv", sep="\t")["sample_id"].tolist() == ["S1", "S1"]
    unnamed = refused(
        "prepare", paths["snvs_vcf"], paths["indels_vcf"], "-c", paths["x_tsv"], "-o", tmp_path / "2"
    )
    assert "which sample are these segments of?" in unnamed
    nameless = refused("validate", "=x.vcf", "-c", paths["x_tsv"])
    assert "'=x.vcf': INPUT and --segments must be FILE or SAMPLE=FILE" in nameless
    assert not (tmp_path / "2").exists()


def test_purity_after_the_segments_on_the_command_line(tmp_path: Path) -> None:
    paths = write(
        tmp_path,
        S1_vcf=vcf("1:1:30,10"),
        S1_tsv=SEGMENTS,
        fit_purity_ploidy_txt="purity\tploidy\tpsi\n0.72\t2.3\t2.4\n",
        S1_rho_and_psi_txt="rho\tpsi\tdistance\nASCAT\t0.7\t2.2\tNA\n",
    )
    calls, segments, fit, fits = paths.values()
    assert "tumour content 0.72" in call("prepare", calls, "-c", segments, fit, "-o", tmp_path / "out").stdout
    assert "`*_purity_ploidy.txt` is, beside" in refused("prepare", calls, "-c", segments, fits)


def test_default_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, S1_vcf=vcf("1:1:30,10"), S1_tsv=SEGMENTS)
    monkeypatch.chdir(tmp_path)
    assert call("prepare", "S1.vcf", "-c", "S1.tsv").exit_code == 0
    assert (tmp_path / "S1_prepared" / "table.tsv").exists()
    assert "use --force" in refused("prepare", "S1.vcf", "-c", "S1.tsv")
    (tmp_path / "S1_prepared" / "table.tsv").unlink()
    assert "left_out.tsv exists already" in refused("prepare", "S1.vcf", "-c", "S1.tsv")
    done = call("prepare", "S1.vcf", "-c", "S1.tsv", "--force", "--quiet")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert call("prepare", "S1=S1.vcf", "-c", "S1.tsv", "--force").stdout.endswith("written to S1_prepared\n")


def test_mistakes_on_the_command_line(tmp_path: Path) -> None:
    paths = write(tmp_path, S1_vcf=vcf("1:1:30,10"), S1_tsv=SEGMENTS, s_csv="sample_id,mutations,segments\n")
    calls, segments, sheet = paths.values()
    table = tmp_path / "table.tsv"
    table.write_text(
        "mutation_id\tsample_id\tref_counts\talt_counts\tmajor_cn\tminor_cn\tnormal_cn\nm\tS\t9\t9\t1\t1\t2\n"
    )
    alone = refused("analyze", calls, table)
    assert alone == (
        f"pyclone-pgsm: {calls}: mutations without copy numbers: give copy-number segments of their samples with "
        "--segments, or a table that has both\n"
    )
    for other, message in {
        segments: "copy-number segments: give them with --segments, and the mutations as input",
        sheet: "a sample sheet: the commands take it with --samples",
    }.items():
        assert refused("validate", other) == f"pyclone-pgsm: {other}: {message}\n"
    assert "no INPUT: give tables of read counts, mutations with -c, or a sample sheet" in refused("analyze")
    assert "--samples names all files: leave out INPUT and -c" in refused(
        "analyze", calls, "--samples", sheet
    )
    for option in (
        ("--sex", "male"),
        ("--all-filters",),
        ("--fill-gaps", "diploid"),
        ("--genome-build", "GRCh38"),
    ):
        expected = f"{option[0]} is for mutations with --segments, not for tables"
        assert expected in refused("validate", table, *option)
    assert "this table has copy numbers or names of mutations of its own" in refused(
        "validate", table, "-c", segments
    )
    assert "prepare joins mutations with segments: give them with -c" in refused("prepare", table)
    assert "--sex 'x': must be one of female, male" in refused("prepare", calls, "-c", segments, "--sex", "x")
    assert "--cn-format 'x': must be one of absolute, ascat, " in refused(
        "validate", calls, "-c", segments, "--cn-format", "x"
    )
    assert "--tumour-sample 'U': no file has this sample" in refused(
        "validate", calls, "-c", segments, "--tumour-sample", "U"
    )
    assert "no mutations given" not in refused("validate", segments, "-c", segments)
    assert f"{calls}: given as mutations and as segments (-c)" in refused("prepare", calls, "-c", calls)


def sheet(
    folder: Path, *rows: str, header: str = "patient_id,sample_id,mutations,segments,tumour_content,sex"
) -> Path:
    path = folder / "sheet.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_sheet(tmp_path: Path) -> None:
    header = "sample_id,mutations,segments,tumour_content,sex,tumour_sample,patient_id,note"
    path = sheet(
        tmp_path,
        "R1,a.vcf; b.vcf,/abs/s1.tsv,0.8±0.05,F,TUMOR,P1,x",
        "R2,a.vcf,s2.tsv;s2.purity.tsv,NA,,,P1,",
        "R1,c.maf,s.tsv,0.5,male,,P2,",
        "R2,c.maf,,,,,P2,",
        header=header,
    )
    first, second = read_sheet(path)
    assert first == Patient(
        "P1",
        (
            VariantFile(tmp_path / "a.vcf", {"R1": "TUMOR", "R2": None}),
            VariantFile(tmp_path / "b.vcf", {"R1": "TUMOR"}),
        ),
        (
            SegmentFile(Path("/abs/s1.tsv"), "R1"),
            SegmentFile(tmp_path / "s2.tsv", "R2"),
            SegmentFile(tmp_path / "s2.purity.tsv", "R2"),
        ),
        {"R1": Uncertain(0.8, 0.05)},
        "female",
    )
    assert (second.name, second.segments, second.tumour_content, second.sex) == (
        "P2",
        (SegmentFile(tmp_path / "s.tsv", None),),
        {"R1": 0.5},
        "male",
    )
    assert first.sample_ids == ["R1", "R2"]


def test_sheet_with_the_names_that_samples_have_in_segments(tmp_path: Path) -> None:
    header, *rows = SEGMENTS.splitlines()
    names = ("T1", "T2", "T3", "R3")
    cohort = [f"{header}\tsample_id", *(f"{row}\t{name}" for name in names for row in rows)]
    one = SEGMENTS.replace("\n", "\tT1\n").replace("cn\tT1", "cn\tsample_id")
    write(
        tmp_path,
        a_vcf=vcf("1:1:30,10:5,5:8,8", names=("T1", "T2", "T3"), tumours=("T1", "T2", "T3")),
        all_tsv="\n".join(cohort).replace("2\t1\tR3", "3\t1\tR3") + "\n",
        one_tsv=one,
    )
    header = "patient_id,sample_id,mutations,segments,tumour_sample"

    def majors(*rows: str) -> list[int]:
        [patient] = read_sheet(sheet(tmp_path, *rows, header=header))
        return prepare(patient, PrepareOptions()).table["major_cn"].tolist()

    own = [f"P,R{each},a.vcf,all.tsv,T{each}" for each in (1, 2, 3)]
    assert majors(*own) == [2, 2, 3]  # R3 by its own name
    assert majors(own[0], own[1].replace("all.tsv", ""), own[2].replace("all.tsv", "")) == [2, 2, 3]
    assert majors(own[0].replace("all.tsv", "one.tsv"), own[1]) == [2, 2]
    expected = r"all\.tsv: no segments of sample 'R1' or 'U'; the samples are 'T1', 'T2', 'T3', 'R3'"
    write(tmp_path, a_vcf=vcf("1:1:30,10", names=("U",)))
    with pytest.raises(InputError, match=expected):
        majors("P,R1,a.vcf,all.tsv,U")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("P,,a.vcf,s.tsv,,", "row 2, column sample_id: '': empty; every row needs it"),
        ("P,R1,,s.tsv,,", "row 2, column mutations: '': empty; every row needs it"),
        (",R1,a.vcf,s.tsv,,", "row 2, column patient_id: '': empty; every row needs it"),
        ("P/Q,R1,a.vcf,s.tsv,,", "row 2, column patient_id: 'P/Q': cannot be the name of a folder"),
        ("..,R1,a.vcf,s.tsv,,", "row 2, column patient_id: '..': cannot be the name of a folder"),
        ('P,"R\t1",a.vcf,s.tsv,,', "row 2, column sample_id: 'R\\t1': a sample_id may not contain tabs"),
        (
            "P,R1,a.vcf,s.tsv,1.2,",
            "row 2, column tumour_content: '1.2': out of range; expected the share of cancer",
        ),
        (
            "P,R1,a.vcf,s.tsv,much,",
            "row 2, column tumour_content: 'much': not a number; expected a number like 0.8",
        ),
        (
            "P,R1,a.vcf,s.tsv,R1=0.5,",
            "row 2, column tumour_content: 'R1=0.5': not a number; expected a number like 0.8",
        ),
        (
            "P,R1,a.vcf,s.tsv,0.5±2,",
            "row 2, column tumour_content: '0.5±2': the standard deviation must be above 0 and at most 0.5",
        ),
        ("P,R1,a.vcf,s.tsv,,both", "row 2, column sex: 'both': expected male or female"),
        (
            "P,R1,a.vcf,s.tsv,,\nP,R1,b.vcf,s.tsv,,",
            "row 3, column sample_id: 'R1': this sample has a row already",
        ),
        (
            "P,R1,a.vcf,NA,,",
            "row 2, column segments: 'NA': empty; mutations need copy numbers: name the file",
        ),
        (
            "P,R1,a.vcf; ./a.vcf,s.tsv,,",
            "row 2, column mutations: 'a.vcf; ./a.vcf': the file a.vcf is named twice",
        ),
        ("P,R1,a.vcf,s.tsv,", "row 2: 5 fields found, 6 expected as in the header"),
    ],
)
def test_sheets_that_cannot_be_used(row: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_sheet(sheet(tmp_path, row))
    assert str(caught.value).startswith(f"{tmp_path / 'sheet.csv'}, {expected}")


def test_sheet_without_columns(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="column segments: this column is missing; expected is a sample sheet with"
    ):
        read_sheet(sheet(tmp_path, "R1,a.vcf", header="sample_id,mutations"))
    with pytest.raises(InputError, match="no such file"):
        read_sheet(tmp_path / "no.csv")


def test_all_missing_files_are_named(tmp_path: Path) -> None:
    write(tmp_path, a_vcf=vcf("1:1:30,10"))
    path = sheet(tmp_path, "P,R1,a.vcf,b.tsv,,", "P,R2,c.vcf;a.vcf,b.tsv;d.tsv,,")
    assert refused("validate", "--samples", path).splitlines()[:-1] == [
        f"{'' if line else 'pyclone-pgsm: patient P: '}{tmp_path / name}: no such file"
        for line, name in enumerate(("c.vcf", "b.tsv", "d.tsv"))
    ]
    told = refused("prepare", tmp_path / "c.vcf", "-c", f"R1={tmp_path / 'd.tsv'}", "-o", tmp_path / "out")
    assert told.splitlines() == [
        f"pyclone-pgsm: {tmp_path / 'c.vcf'}: no such file",
        f"--segments {tmp_path / 'd.tsv'}: no such file",
    ]


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cohort")
    sites = [f"1:{pos}:{40 - pos % 11},{10 + pos % 7}" for pos in range(1, 900, 60)]
    write(folder, a_vcf=vcf(*sites), bad_vcf=vcf("1:1:30,x"), s_tsv=SEGMENTS)
    return sheet(
        folder,
        "P1,R1,a.vcf,s.tsv,0.9,male",
        "P2,R1,bad.vcf,s.tsv,,",
        "P3,R1,a.vcf,s.tsv,0.7,",
        "P4,R1,no.vcf,s.tsv,,",
    )


def test_one_bad_patient_fails_alone(cohort: Path, tmp_path: Path) -> None:
    options = ("--no-plots", "--require-convergence", *SHORT)
    done = call("analyze", "--samples", cohort, "-o", tmp_path / "out", *options)
    assert done.exit_code == 2
    told = done.stderr.splitlines()
    gained = [line for line in told if " most mutations are on gained segments" in line]
    assert [line.partition(": warning: ")[0] for line in gained] == [
        "pyclone-pgsm: patient P1",
        "pyclone-pgsm: patient P3",
    ]
    assert [line for line in told if line not in gained] == [
        f"pyclone-pgsm: patient P2: {cohort.parent / 'bad.vcf'}, row 3, column T: 'x': AD: not a number; expected a "
        "number of reads: a whole number, 0 or more",
        f"pyclone-pgsm: patient P4: {cohort.parent / 'no.vcf'}: no such file",
        f"pyclone-pgsm: not converged: {tmp_path / 'out' / 'P1'}, {tmp_path / 'out' / 'P3'}",
        "pyclone-pgsm: 2 of 4 patients failed: P2, P4",
    ]
    assert [line for line in done.stdout.splitlines() if line.startswith("patient ")] == [
        "patient P1", "patient P2", "patient P3", "patient P4",
    ]  # fmt: skip
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["P1", "P3"]
    contents = [
        pd.read_csv(tmp_path / "out" / name / "mutations.tsv", sep="\t")["cellular_prevalence"].mean()
        for name in ("P1", "P3")
    ]
    assert contents[0] < contents[1]


def test_a_cohort_with_other_commands(cohort: Path, tmp_path: Path) -> None:
    done = call("prepare", "--samples", cohort, "-o", tmp_path / "ready", "--quiet")
    assert (done.exit_code, done.stdout) == (2, "")
    assert sorted(str(path.relative_to(tmp_path / "ready")) for path in (tmp_path / "ready").rglob("*.tsv")) == [
        "P1/left_out.tsv", "P1/table.tsv", "P3/left_out.tsv", "P3/table.tsv",
    ]  # fmt: skip
    done = call("run", "--samples", cohort, "-o", tmp_path / "traces", *SHORT)
    assert sorted(str(path.relative_to(tmp_path / "traces")) for path in (tmp_path / "traces").rglob("*.h5")) == [
        "P1/trace.h5", "P3/trace.h5",
    ]  # fmt: skip
    done = call("validate", "--samples", cohort)
    assert done.stdout.splitlines()[:2] == [
        "patient P1", "1 sample, 15 mutations, 15 of 15 mutation-sample pairs with data, 0 left out or changed",
    ]  # fmt: skip
    mistake = refused("validate", "--samples", cohort, "--tumour-content", "R9=0.5")
    assert "--tumour-content is given for 'R9', which is no sample of" in mistake


def test_a_sheet_of_one_patient(tmp_path: Path) -> None:
    write(tmp_path, a_vcf=vcf("1:1:30,10:5,5", names=("A", "B"), tumours=("A",)), s_tsv=SEGMENTS)
    header = "sample_id,mutations,segments,tumour_sample,tumour_content"
    path = sheet(tmp_path, "R1,a.vcf,s.tsv,A,0.5", "R2,a.vcf,s.tsv,B,0.6", header=header)
    done = call("prepare", "--samples", path, "-o", tmp_path / "out", "--tumour-content", "R2=0.7")
    assert done.exit_code == 0
    table = pd.read_csv(tmp_path / "out" / "table.tsv", sep="\t")
    assert table["sample_id"].tolist() == ["R1", "R2"]
    assert table["ref_counts"].tolist() == [30, 5]
    assert table["tumour_content"].tolist() == [0.5, 0.7]


PIECES = st.sampled_from(
    [
        "\n",
        "\t",
        ",",
        ";",
        '"',
        "#",
        "=",
        "/",
        ".",
        "-1",
        "0",
        "nan",
        "\0",
        "\r",
        "é",
        "1e9",
        "chr",
        "X",
        "23",
        "M",
        "±",
        "AD",
    ]
)
EDITS = st.lists(st.tuples(st.integers(0, 600), st.integers(0, 12), PIECES), max_size=4)


def edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    for place, length, piece in edits:
        place %= len(text) + 1
        text = text[:place] + piece + text[place + length :]
    return text


@settings(max_examples=150, deadline=None)
@given(EDITS)
def test_any_sheet(edits: list[tuple[int, int, str]]) -> None:
    rows = "P1,R1,a.vcf;b.vcf,s.tsv,0.9±0.01,male\nP2,R1,c.maf,s.tsv,,\n"
    text = edited(f"patient_id,sample_id,mutations,segments,tumour_content,sex\n{rows}", edits)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sheet.csv"
        path.write_text(text)
        with contextlib.suppress(PycloneError):
            assert all(patient.sample_ids for patient in read_sheet(path))


@settings(max_examples=150, deadline=None)
@given(EDITS, EDITS, st.sampled_from([(), ("--fill-gaps", "diploid"), ("--sex", "male"), ("--all-filters",)]))
def test_any_calls_and_segments(
    of_calls: list[tuple[int, int, str]], of_segments: list[tuple[int, int, str]], options: tuple[str, ...]
) -> None:
    calls = edited(vcf("chr1:10:30,10", "X:20:5,5", "MT:7:1,1", "chr2:5:8,8"), of_calls)
    segments = edited(SEGMENTS + "X\t1\t155000000\t1\t0\n", of_segments)
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder), calls_vcf=calls, s_tsv=segments)
        done = call("prepare", paths["calls_vcf"], "-c", paths["s_tsv"], "-o", Path(folder) / "out", *options)
        table = Path(folder) / "out" / "table.tsv"
        assert done.exit_code == (0 if table.exists() else 2)
        lines = done.stderr.splitlines()
        told = [line for line in lines if not line.startswith("pyclone-pgsm: warning: ")]
        assert bool(told) == (done.exit_code == 2)
        if done.exit_code == 0:
            with contextlib.suppress(InputError):
                read_tables(table)


def test_real_calls_and_segments(tmp_path: Path) -> None:
    folder = DATA / "formats" / "pcgr"
    if not folder.exists():
        pytest.skip("no test data: pcgr")
    patient = one_patient(
        VariantFile(folder / "T001-BRCA.grch37.vcf.gz", {"T001": None}), folder / "T001-BRCA.grch37.cna.tsv"
    )
    result = prepare(patient, PrepareOptions(sex="female"))
    assert (len(result.table), len(result.left_out)) == (183, 13)
    assert {item.reason for item in result.left_out} == {"in no copy-number segment of the sample"}
    write_prepared(result, tmp_path)
    observations, left_out = read_tables(tmp_path / "table.tsv")
    assert (observations.num_mutations, left_out) == (183, [])


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_tables_from_a_pipe_are_read_once(tmp_path: Path) -> None:
    """What told mutations from tables must not take bytes away."""
    header = "mutation_id\tsample_id\tref_counts\talt_counts\tmajor_cn\tminor_cn\tnormal_cn"
    (tmp_path / "t.tsv").write_text(f"{header}\nm\tS\t9\t9\t1\t1\t2\n")
    program = " ".join(command("validate", program="from pyclone_pgsm.__main__ import main; main()")[:1])
    script = (
        f"{program} -c 'from pyclone_pgsm.__main__ import main; main()' validate <(cat {tmp_path / 't.tsv'})"
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stdout.startswith("1 sample, 1 mutation, 1 of 1 mutation-sample pairs with data"), done.stderr
