"""Sample sheets whose columns or values would be misread are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyclone_pgsm.errors import InputError
from pyclone_pgsm.inputs.sample_sheet import read_sheet


def refusal(path: Path, *lines: str) -> str:
    path.write_text("\n".join(["sample_id,mutations,segments," + lines[0], *lines[1:]]) + "\n")
    with pytest.raises(InputError) as caught:
        read_sheet(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("purity", "tumour_content"),
        ("Tumor_Content", "tumour_content"),
        ("gender", "sex"),
        ("Patient", "patient_id"),
        ("tumor_sample", "tumour_sample"),
    ],
)
def test_a_column_that_would_be_ignored_for_its_spelling(name: str, meant: str, tmp_path: Path) -> None:
    said = refusal(tmp_path / "s.csv", name, "S,a.vcf,b.tsv,male")
    assert f"row 1, column {name}: rename this column to {meant}" in said


def test_a_patient_has_one_sex(tmp_path: Path) -> None:
    rows = "S,a.vcf,b.tsv,P,male", "T,a.vcf,b.tsv,P,", "R,a.vcf,b.tsv,P,female", "U,a.vcf,b.tsv,Q,xx"
    said = refusal(tmp_path / "s.csv", "patient_id,sex", *rows)
    assert "row 4, column sex: 'female': another sex than in an earlier row" in said
    assert "row 5" not in said


def test_a_row_that_looks_like_a_comment(tmp_path: Path) -> None:
    """It would be a sample; above the header a comment is possible."""
    said = refusal(
        tmp_path / "s.csv", "patient_id", "S,a.vcf,b.tsv,P", "#T,a.vcf,b.tsv,P", "R,a.vcf,b.tsv,#P"
    )
    assert "row 3, column sample_id: '#T': begins with '#'" in said
    assert "row 4, column patient_id: '#P': begins with '#'" in said
    (tmp_path / "s.csv").write_text("# a comment\nsample_id,mutations,segments\nS,a.vcf,b.tsv\n")
    assert [patient.sample_ids for patient in read_sheet(tmp_path / "s.csv")] == [["S"]]


def test_a_file_of_segments_in_one_row_may_have_those_of_other_rows(tmp_path: Path) -> None:
    """Then the file says of which sample each is; the files of another patient belong to their rows."""
    sheet = tmp_path / "s.csv"
    sheet.write_text(
        "patient_id,sample_id,mutations,segments\nP,R1,1.vcf,both.seg\nP,R2,2.vcf,\nQ,R3,3.vcf,3.seg\n"
    )
    shared, own = read_sheet(sheet)
    assert [(file.path.name, file.sample_id) for file in shared.segments] == [("both.seg", None)]
    assert [(file.path.name, file.sample_id) for file in own.segments] == [("3.seg", "R3")]


def test_separators_at_the_end_of_rows(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("sample_id,mutations,segments\nS,a.vcf,b.tsv,\nT,c.vcf,d.tsv,,\n")
    (patient,) = read_sheet(tmp_path / "s.csv")
    assert patient.sample_ids == ["S", "T"]


def test_a_directory_is_no_sheet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this is a directory; expected is a sample sheet with the columns"):
        read_sheet(tmp_path)
