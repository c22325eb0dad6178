"""Purity, ploidy and sex from the files beside the segments."""

from __future__ import annotations

from pathlib import Path

import pytest
from segment_files import FILES, tabs

from pyclone_pgsm.errors import InputError, UsageError
from pyclone_pgsm.inputs.segments.reading import read_segments

PURPLE = tabs("purity normFactor score ploidy gender status", "0.81 0.64 0.61 3.1 MALE NORMAL")
OLD_PURPLE = tabs("#Purity NormFactor Score Ploidy Gender", "0.81 0.64 0.61 3.1 FEMALE")
CASES = {
    "purple": ("purple 3", "S.purple.cnv.somatic.tsv", "S.purple.purity.tsv", PURPLE, (0.81, 3.1, "male")),
    "old purple": ("purple 2", "S.purple.cnv", "S.purple.purity", OLD_PURPLE, (0.81, 3.1, "female")),
    "sequenza": (
        "sequenza",
        "S_segments.txt",
        "S_confints_CP.txt",
        tabs('"cellularity" "ploidy.estimate" "ploidy.mean.cn"', "0.7 2.9 2.8", "0.72 3 2.9", "0.74 3.1 3"),
        (0.72, 3.0, None),
    ),
    "battenberg": (
        "battenberg",
        "S_subclones.txt",
        "S_purity_ploidy.txt",
        tabs("purity ploidy", "0.6 2.2"),
        (0.6, 2.2, None),
    ),
    "old battenberg": (
        "battenberg",
        "S_subclones.txt.gz",
        "S_cellularity_ploidy.txt",
        tabs("cellularity ploidy psi", "1 0.6 2.2 2.1"),
        (0.6, 2.2, None),
    ),
    "titan": (
        "titan",
        "S_cluster2_segs.txt",
        "S_cluster2_params.txt",
        "Normal contamination estimate:\t0.26\nAverage tumour ploidy estimate:\t1.88\nClonal cluster:\t1 0.3\n",
        (0.74, 1.88, None),
    ),
    "ascatNgs": (
        "ascat caveman",
        "S.copynumber.caveman.csv",
        "S.samplestatistics.txt",
        "NormalContamination 0.19\nPloidy 4.07\nrho 0.67\npsi 3.8\ngoodnessOfFit 98\nGenderChr Y\nGenderChrFound Y\n",
        (0.67, 4.07, "male"),
    ),
    "nf-core, segments without the sample": (
        "ascat segments.txt",
        "S.cnvs.txt",
        "S.purityploidy.txt",
        tabs("AberrantCellFraction Ploidy", "0.6 2.1"),
        (0.6, 2.1, None),
    ),
    "nf-core": (
        "ascat segments.txt",
        "S.segments.txt",
        "S.purityploidy.txt",
        tabs("AberrantCellFraction Ploidy", "0.6 2.1"),
        (0.6, 2.1, None),
    ),
}  # fmt: skip


def write(tmp_path: Path, name: str, content: str) -> Path:
    path = tmp_path / name
    path.write_text(content)
    return path


@pytest.mark.parametrize("name", CASES)
def test_fit_beside_the_segments(tmp_path: Path, name: str) -> None:
    kind, segments_name, fit_name, fit, expected = CASES[name]
    path = write(tmp_path, segments_name, FILES[kind][1])
    before = read_segments(path).hints
    assert [(hint.purity, hint.ploidy, hint.sex) for hint in before] == [(None, None, None)]
    write(tmp_path, fit_name, fit)
    found = read_segments(path).hints
    assert [(hint.purity, hint.ploidy, hint.sex) for hint in found] == [pytest.approx(expected)]


def test_described(tmp_path: Path) -> None:
    path = write(tmp_path, "S.purple.cnv.somatic.tsv", FILES["purple 3"][1])
    write(tmp_path, "S.purple.purity.tsv", PURPLE)
    assert read_segments(path, sample_id="S").describe()[0].endswith("purity 0.81, ploidy 3.1, male")


@pytest.mark.parametrize(
    ("gender", "expected"),
    [("MALE", "male"), ("FEMALE", "female"), ("MALE_KLINEFELTER", None), ("UNKNOWN", None)],
)
def test_sex(tmp_path: Path, gender: str, expected: str | None) -> None:
    path = write(tmp_path, "S.purple.cnv.somatic.tsv", FILES["purple 3"][1])
    write(tmp_path, "S.purple.purity.tsv", PURPLE.replace("MALE", gender))
    assert [hint.sex for hint in read_segments(path).hints] == [expected]


def test_woman_of_ascat(tmp_path: Path) -> None:
    path = write(tmp_path, "S.copynumber.caveman.csv", FILES["ascat caveman"][1])
    write(tmp_path, "S.samplestatistics.csv", "rho,0.67\nPloidy,4\nGenderChr,Y\nGenderChrFound,N\n")
    assert [(hint.purity, hint.sex) for hint in read_segments(path).hints] == [(0.67, "female")]


def test_fits_given_by_the_user(tmp_path: Path) -> None:
    """A fit elsewhere is found by its name among several, or belongs to the only file."""
    one = write(tmp_path, "A.purple.cnv.somatic.tsv", FILES["purple 3"][1])
    two = write(tmp_path, "B.purple.cnv.somatic.tsv", FILES["purple 3"][1])
    (tmp_path / "elsewhere").mkdir()
    fit = write(tmp_path / "elsewhere", "B.purple.purity.tsv", PURPLE)
    assert [hint.purity for hint in read_segments([one, fit, two]).hints] == [None, 0.81]
    other = write(tmp_path / "elsewhere", "my_purity.tsv", PURPLE)
    assert [hint.purity for hint in read_segments([one, other]).hints] == [0.81]
    with pytest.raises(InputError, match=r"my_purity\.tsv: which segments does this purity belong to"):
        read_segments([one, two, other])


def test_two_fits_for_the_same_segments(tmp_path: Path) -> None:
    path = write(tmp_path, "S.copynumber.caveman.csv", FILES["ascat caveman"][1])
    fit = "rho,0.67\nPloidy,4\nGenderChr,Y\nGenderChrFound,N\n"
    fits = [write(tmp_path, f"S.samplestatistics.{ending}", fit) for ending in ("txt", "csv")]
    with pytest.raises(InputError, match=r"S\.samplestatistics\.csv: .*\.txt is given for the same segments"):
        read_segments([path, *fits])


def test_faults_of_fit_and_segments_are_told_together(tmp_path: Path) -> None:
    path = write(
        tmp_path, "S.purple.cnv.somatic.tsv", FILES["purple 3"][1].replace("chr1", "chrNone", 1) + "x\n"
    )
    write(tmp_path, "S.purple.purity.tsv", "")
    with pytest.raises(InputError) as caught:
        read_segments(path)
    told = str(caught.value)
    assert "S.purple.purity.tsv: the file is empty" in told
    assert "read because it is beside S.purple.cnv.somatic.tsv" in told
    assert "S.purple.cnv.somatic.tsv, row " in told


def test_only_a_fit(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="only files with the purity of samples are given, no copy-number segments"
    ):
        read_segments(write(tmp_path, "S.purple.purity.tsv", PURPLE))


def test_missing_purity(tmp_path: Path) -> None:
    path = write(tmp_path, "S.purple.cnv.somatic.tsv", FILES["purple 3"][1])
    write(tmp_path, "S.purple.purity.tsv", PURPLE.replace("0.81", "NA"))
    assert [(hint.purity, hint.ploidy) for hint in read_segments(path).hints] == [(None, 3.1)]


@pytest.mark.parametrize("column", ["status", "fitMethod"])
def test_purple_found_no_tumour(tmp_path: Path, column: str) -> None:
    path = write(tmp_path, "S.purple.cnv.somatic.tsv", FILES["purple 3"][1])
    for status, purity in (("NORMAL", 0.81), ("NO_TUMOR", None)):
        write(tmp_path, "S.purple.purity.tsv", PURPLE.replace("status", column).replace("NORMAL", status))
        assert [(hint.purity, hint.ploidy) for hint in read_segments(path).hints] == [(purity, 3.1)]


@pytest.mark.parametrize(
    ("fit", "expected"),
    [
        (
            PURPLE.replace("0.81", "81"),
            "S.purple.purity.tsv, row 2, column purity: '81': out of range; expected ",
        ),
        (PURPLE.replace("3.1", "x"), "S.purple.purity.tsv, row 2, column ploidy: 'x': not a number"),
        (
            PURPLE + PURPLE.split("\n")[1] + "\n",
            "S.purple.purity.tsv: one row is expected",
        ),
        (
            tabs("ploidy gender", "2 MALE"),
            "S.purple.purity.tsv, row 1: a column purity or cellularity is expected",
        ),
        (
            "ploidy estimate:\t2\n",
            "S.purple.purity.tsv, row 1: the table has no rows below the header",
        ),
        ("", "S.purple.purity.tsv: the file is empty"),
    ],
)
def test_bad_fit(tmp_path: Path, fit: str, expected: str) -> None:
    path = write(tmp_path, "S.purple.cnv.somatic.tsv", FILES["purple 3"][1])
    write(tmp_path, "S.purple.purity.tsv", fit)
    with pytest.raises(InputError) as caught:
        read_segments(path)
    assert expected in str(caught.value)


def test_bytes_of_a_fit_that_are_no_text_are_told_once(tmp_path: Path) -> None:
    path = write(tmp_path, "S.purple.cnv.somatic.tsv", FILES["purple 3"][1])
    (tmp_path / "S.purple.purity.tsv").write_bytes(PURPLE.replace("NORMAL", "é").encode("latin-1"))
    with pytest.raises(InputError) as caught:
        read_segments(path)
    assert "S.purple.purity.tsv, row 2: 'é': not UTF-8" in str(caught.value)
    assert str(caught.value).count("not UTF-8") == 1


def test_segments_named_like_a_fit(tmp_path: Path) -> None:
    path = write(tmp_path, "S_purity.cncf.txt", FILES["facets cncf"][1])
    assert len(read_segments(path).table) == 3
