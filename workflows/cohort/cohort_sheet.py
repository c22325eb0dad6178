"""The sheet of a cohort, and that of each of its patients.

python cohort_sheet.py COHORT_SHEET PATIENT > SHEET_OF_THE_PATIENT

A patient's sheet has the patient's rows only, so that nothing is run anew for a patient when others are added.
"""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from pyclone_pgsm.errors import PycloneError
from pyclone_pgsm.inputs.sample_sheet import Patient, read_sheet
from pyclone_pgsm.inputs.segments.purity import fit_beside
from pyclone_pgsm.inputs.tumour_content import Content, Uncertain

COLUMNS = ("patient_id", "sample_id", "mutations", "segments", "tumour_content", "sex", "tumour_sample")


def read_cohort(path: Path) -> dict[str, Patient]:
    """The patients by name.

    Raises
    ------
    InputError
        With everything wrong in the sheet, by row and column.
    """
    return {patient.name: patient for patient in read_sheet(path)}


def written(content: Content | None) -> str:
    """A tumour content as sheets and the option ``--tumour-content`` have it; "" if it is not known."""
    if isinstance(content, Uncertain):
        return f"{content.mean!r}±{content.sd!r}"
    return "" if content is None else repr(content)


def cell_of_files(paths: Iterable[Path | str]) -> str:
    """The cell of a sheet that names these files."""
    return ";".join(str(path).replace(";", r"\;") for path in paths)


def rows(patient: Patient) -> list[dict[str, str]]:
    """The patient's rows of the sheet, with absolute paths; cells without a value are not in them.

    Segments that are shared by all samples are in the first row only, which a sheet reads in the same way. Links are
    kept: names of files matter, and so do the files beside them.
    """
    found = []
    for place, sample in enumerate(patient.sample_ids):
        files = [file for file in patient.mutations if sample in file.samples]
        segments = [
            each.path
            for each in patient.segments
            if each.sample_id == sample or not (each.sample_id or place)
        ]
        row = {
            "patient_id": patient.name,
            "sample_id": sample,
            "mutations": cell_of_files(os.path.abspath(file.path) for file in files),
            "segments": cell_of_files(map(os.path.abspath, segments)),
            "tumour_content": written(patient.tumour_content.get(sample)),
            "sex": patient.sex or "",
            "tumour_sample": files[0].samples[sample] or "",
        }
        found.append({name: text for name, text in row.items() if text})
    return found


def sheet_text(patient: Patient) -> str:
    """A sheet of one patient, as CSV, without ``patient_id``: it is the only one."""
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS[1:], restval="", extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(rows(patient))
    return text.getvalue()


def files(patient: Patient) -> list[Path]:
    """All files of a patient, each once, those with purity and sex beside the segments included."""
    named = [file.path for file in (*patient.mutations, *patient.segments)]
    beside = [fit_beside(file.path) for file in patient.segments]
    return list(dict.fromkeys([*named, *(path for path in beside if path is not None)]))


def uncertain_contents(patient: Patient) -> list[str]:
    """The options for tumour contents with a standard deviation, which the joined table cannot hold."""
    contents: Mapping[str, Content] = patient.tumour_content
    return [
        f"--tumour-content={sample}={written(content)}"
        for sample, content in contents.items()
        if isinstance(content, Uncertain)
    ]


def main() -> int:
    """The command; returns the exit code."""
    try:
        patients = read_cohort(Path(sys.argv[1]))
    except PycloneError as mistake:
        print(mistake, file=sys.stderr)
        return 2
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    print(sheet_text(patients[sys.argv[2]]), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
