"""Tables and a page of pictures of all patients that have results.

python cohort_results.py tables RESULTS/cohort PATIENT ...
python cohort_results.py page RESULTS/cohort PATIENT ...

RESULTS is the folder with ``prepared/PATIENT``, ``analyzed/PATIENT`` and ``logs``. A patient without results is a row
of the table of patients, with what its log says of it.
"""

from __future__ import annotations

import argparse
import base64
import html
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

STEPS = {
    "prepare": ("prepared", ("table.tsv", "left_out.tsv")),
    "analyze": ("analyzed", ("mutations.tsv", "run.json")),
}
"""Folder of each step, and files that it has once the step is done."""
JOINED = {
    "clusters.tsv": ("analyzed",),
    "mutations.tsv": ("analyzed",),
    "left_out.tsv": ("prepared", "analyzed"),
}
"""Tables that are put together, and the folders they come from."""
PATIENTS = "patients.tsv"
TABLES = (PATIENTS, *JOINED)
PAGE = "page.html"
PICTURES = ("cluster_prevalences.png", "coclustering.png")
GOOD_RHAT = 1.05
PROGRAM, WARNING = "pyclone-pgsm: ", "pyclone-pgsm: warning: "
"""How lines begin on which the program tells of a mistake, or warns."""
HEEDED = "has only the mean of its tumour content"
"""A warning of the first step: the rule of the second one gives the standard deviation again, as it advises."""

STYLE = """body { font: 15px/1.45 system-ui, sans-serif; color: #222; margin: 2rem auto; max-width: 78rem }
table { border-collapse: collapse } th, td { padding: .2rem .8rem; border-bottom: 1px solid #d9d9d9 }
th, td { text-align: right } th:first-child, td:first-child, td.text { text-align: left } .problem { color: #b00020 }
section { margin-top: 2.5rem } img { max-width: 100%; vertical-align: top } a { color: #0072b2 }"""


def largest_rhat(quantities: Iterable[Mapping[str, Any]]) -> float | None:
    """The largest R-hat in ``run.json``, where an infinite one is null for this reason; None if there is none."""
    found = [
        math.inf if each.get("null_because", {}).get("rhat") == "infinite" else each["rhat"]
        for each in quantities
    ]
    return max((rhat for rhat in found if rhat is not None), default=None)


@dataclass(frozen=True)
class Results:
    """The results of a cohort.

    Attributes
    ----------
    folder : Path
        Where all of them are.
    """

    folder: Path

    def log(self, step: str, patient: str) -> Path:
        """The file with what a step said."""
        return self.folder / "logs" / step / f"{patient}.log"

    def unfinished_step(self, patient: str) -> str | None:
        """The first step of which files are missing."""
        for step, (folder, names) in STEPS.items():
            if not all((self.folder / folder / patient / name).exists() for name in names):
                return step
        return None

    def problem(self, patient: str) -> str:
        """Why a patient has no results, "" if it has: what the program said of the mistake, else the end of the log."""
        step = self.unfinished_step(patient)
        if step is None:
            return ""
        lines = [line for line in self.lines(step, patient) if not line.startswith(WARNING)]
        if not lines:
            return f"{step}: not run, or nothing said"
        begun = [place for place, line in enumerate(lines) if line.startswith(PROGRAM)]
        told = lines[begun[0] :] if begun else lines[-1:]
        more = f" (and {len(told) - 1} more lines in {self.log(step, patient)})" if len(told) > 1 else ""
        return f"{step}: {told[0].removeprefix(PROGRAM)}{more}"

    def lines(self, step: str, patient: str) -> list[str]:
        """What a step said, without empty lines."""
        log = self.log(step, patient)
        lines = log.read_text(errors="replace").split("\n") if log.exists() else []
        return [line.strip() for line in lines if line.strip()]

    def warnings(self, patient: str) -> list[str]:
        """Warnings of both steps; those of the first stand in its log only."""
        said = self.lines("prepare", patient)
        of_prepare = [
            line.removeprefix(WARNING) for line in said if line.startswith(WARNING) and HEEDED not in line
        ]
        return [*of_prepare, *self.report(patient)["warnings"]]

    def report(self, patient: str) -> dict[str, Any]:
        """``run.json`` of a patient."""
        return json.loads((self.folder / "analyzed" / patient / "run.json").read_text())

    def joined(self, name: str, patients: Sequence[str]) -> pd.DataFrame:
        """A table of all patients, the texts as they are, behind a column ``patient_id``."""
        tables = []
        for patient in patients:
            for folder in JOINED[name]:
                path = self.folder / folder / patient / name
                table = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
                table.insert(0, "patient_id", patient)
                tables.append(table)
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=["patient_id"])

    def summary(self, patient: str) -> dict[str, Any]:
        """The row of a patient in the table of patients."""
        problem = self.problem(patient)
        if problem:
            return {"patient_id": patient, "problem": problem}
        report = self.report(patient)
        counts = report["counts"]
        left_out = pd.read_csv(
            self.folder / "prepared" / patient / "left_out.tsv", sep="\t", usecols=["file"]
        )
        return {
            "patient_id": patient,
            "samples": counts["samples"],
            "mutations": counts["mutations"],
            "clusters": counts["clusters"],
            "left_out": len(left_out) + counts["left_out"],
            "rhat": largest_rhat(report["diagnostics"].values()),
            "converged": "yes" if report["converged"] else "no",
            "warnings": "; ".join(self.warnings(patient)),
            "problem": "",
        }

    def summaries(self, patients: Sequence[str]) -> pd.DataFrame:
        """The table of patients."""
        columns = [
            "patient_id",
            "samples",
            "mutations",
            "clusters",
            "left_out",
            "rhat",
            "converged",
            "warnings",
            "problem",
        ]
        table = pd.DataFrame([self.summary(patient) for patient in patients], columns=columns)
        return table.astype(dict.fromkeys(columns[1:5], "Int64"))

    def write_tables(self, out: Path, patients: Sequence[str]) -> None:
        """Write the tables into a folder."""
        out.mkdir(parents=True, exist_ok=True)
        finished = [patient for patient in patients if self.unfinished_step(patient) is None]
        _write(self.summaries(patients), out / PATIENTS)
        for name in JOINED:
            _write(self.joined(name, finished), out / name)

    def page(self, patients: Sequence[str]) -> str:
        """The page, with all pictures inside."""
        return "\n".join(["<!DOCTYPE html>", '<html lang="en">', *self._lines(patients), "</html>", ""])

    def _lines(self, patients: Sequence[str]) -> Iterator[str]:
        table = self.summaries(patients)
        finished = table[table["problem"] == ""]
        title = f"{len(finished)} of {len(table)} patients"
        yield f'<head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style></head>'
        yield f"<body><h1>{title}</h1>"
        yield "<p>Cellular prevalence of the clusters of mutations in each sample, with 95 % intervals; and how"
        yield f"probable it is that two mutations share a cluster. R-hat is good below {GOOD_RHAT}.</p>"
        yield "<table><tr><th>patient</th><th>samples</th><th>mutations</th><th>clusters</th><th>left out</th>"
        yield "<th>R-hat</th><th>converged</th><th></th></tr>"
        for row in table.itertuples():
            yield _row_of(row)
        yield "</table>"
        for number, patient in finished["patient_id"].items():
            name = html.escape(patient)
            yield f'<section id="p{number}"><h2>{name}</h2>'
            for picture in PICTURES:
                path = self.folder / "analyzed" / patient / "plots" / picture
                if path.exists():
                    data = base64.b64encode(path.read_bytes()).decode()
                    yield f'<img alt="{path.stem} of {name}" src="data:image/png;base64,{data}">'
            yield "</section>"
        yield "</body>"


def _row_of(row: Any) -> str:
    """A patient in the table of the page."""
    name = html.escape(row.patient_id)
    if row.problem:
        return f'<tr><td>{name}</td><td colspan="7" class="text problem">{html.escape(row.problem)}</td></tr>'
    rhat = "" if pd.isna(row.rhat) else f"{row.rhat:.2f}"
    cells = [
        f'<a href="#p{row.Index}">{name}</a>',
        row.samples,
        row.mutations,
        row.clusters,
        row.left_out,
        rhat,
        row.converged,
    ]
    written = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr>{written}<td class="text problem">{html.escape(row.warnings)}</td></tr>'


def _write(table: pd.DataFrame, path: Path) -> None:
    table.to_csv(path, sep="\t", index=False, float_format="%.6g", lineterminator="\n")


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(description="Tables and a page of all patients that have results.")
    parser.add_argument("what", choices=["tables", "page"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("patients", nargs="+")
    given = parser.parse_args(arguments)
    results = Results(given.folder.parent)
    if given.what == "tables":
        results.write_tables(given.folder, given.patients)
    else:
        (given.folder / PAGE).write_text(results.page(given.patients), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
