"""The patients, and what the rules ask for."""

import hashlib
import re
import sys
from pathlib import Path

import pandas as pd
from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.utils import validate

sys.path.insert(0, str(workflow.basedir))
from cohort_results import TABLES, Results
from cohort_sheet import COLUMNS, files, read_cohort, rows, sheet_text, uncertain_contents

from pyclone_pgsm.errors import PycloneError

validate(config, "schemas/config.schema.yaml")
SHEET, RESULTS = config["sheet"], config["results"]
try:
    COHORT = read_cohort(Path(SHEET))
except PycloneError as mistake:
    raise WorkflowError(str(mistake)) from None
validate(
    pd.DataFrame([row for patient in COHORT.values() for row in rows(patient)], columns=COLUMNS),
    "schemas/sheet.schema.yaml",
)
PATIENTS = list(COHORT)


def digest_of(patient):
    """Changes with the rows of a patient."""
    return hashlib.sha256(sheet_text(COHORT[patient]).encode()).hexdigest()


def files_of(wildcards):
    """Those that are there: what is missing is the mistake of one patient, and told in its log."""
    return [str(path) for path in files(COHORT[wildcards.patient]) if path.exists()]


def contents_of(wildcards):
    return uncertain_contents(COHORT[wildcards.patient])


def folder_of(wildcards, output):
    return str(Path(output[0]).parent)


def results_of(group):
    return [f"{RESULTS}/{group}/{name}" for name in (*TABLES, "page.html")]


def patients_results(wildcards):
    """Of all patients, or of those that have some."""
    chosen = PATIENTS
    if wildcards.group == "finished":
        chosen = [name for name in PATIENTS if Results(Path(RESULTS)).unfinished_step(name) is None]
        if not chosen:
            raise WorkflowError("no patient has results yet")
    return [rules.analyze.output.report.replace("{patient}", name) for name in chosen]


def tell_failures():
    """One line a patient that was tried and has no results."""
    results = Results(Path(RESULTS))
    steps = {name: results.unfinished_step(name) for name in PATIENTS}
    failed = [name for name, step in steps.items() if step and results.log(step, name).exists()]
    for name in failed:
        logger.error(f"patient {name}: {results.problem(name)}")
    if failed:
        logger.error("tables and page of the patients that have results: the same command with the target finished")
