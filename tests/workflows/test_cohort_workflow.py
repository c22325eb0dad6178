"""The cohort's workflow: sheets of patients, tables and page of all, the whole on simulated patients and a bad one."""

from __future__ import annotations

import html.parser
import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from pyclone_pgsm.analyses.prepare import Prepared
from pyclone_pgsm.cli import app as cli
from pyclone_pgsm.cli.messages import with_options
from pyclone_pgsm.inputs.sample_sheet import OPTIONAL, REQUIRED, read_sheet
from pyclone_pgsm.inputs.tumour_content import Uncertain

FOLDER = Path(__file__).parents[2] / "workflows" / "cohort"
EXAMPLE = FOLDER / "example"
SHORT = ("--iterations", "30", "--chains", "1", "--grid-size", "51")
Import = Callable[[str], ModuleType]
Snakemake = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Import:
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module


# --- the sheets ---------------------------------------------------------------------------------------------


def test_names_with_the_separator_of_files(script: Import, tmp_path: Path) -> None:
    names = ["a;b/1.vcf", "2.vcf", r"back\slash;.vcf"]
    cell = script("cohort_sheet").cell_of_files(names)
    assert cell == r"a\;b/1.vcf;2.vcf;back\slash\;.vcf"
    (tmp_path / "s.csv").write_text(f"sample_id,mutations,segments\nS,{cell},x.seg ; y.seg\n")
    (patient,) = read_sheet(tmp_path / "s.csv")
    assert [file.path for file in patient.mutations] == [tmp_path / name for name in names]
    assert [file.path.name for file in patient.segments] == ["x.seg", "y.seg"]


def test_sheet_of_a_patient_says_what_the_cohorts_says(script: Import, tmp_path: Path) -> None:
    sheet = script("cohort_sheet")
    tmp_path /= "of; two"  # paths in the patients' sheets are absolute
    tmp_path.mkdir()
    (tmp_path / "cohort.csv").write_text(
        "patient_id,sample_id,mutations,segments,tumour_content,sex,tumour_sample\n"
        '"P 1",R1,"a,1.vcf;b.vcf",s1.tsv;s1.purity.tsv,0.8±0.05,F,TUMOR\n'
        '"P 1",R2,"a,1.vcf",/abs/s2.tsv,0.1234567890123,female,\n'
        "P2,R1,c.maf,s.tsv,NA,,\n"
        "P3,R1,d.vcf,shared.tsv,,,\n"
        "P3,R2,d.vcf,,,,\n",
        encoding="utf-8",
    )
    (tmp_path / "stored").write_text("")
    (tmp_path / "s.tsv").symlink_to("stored")
    cohort = sheet.read_cohort(tmp_path / "cohort.csv")
    assert list(cohort) == ["P 1", "P2", "P3"]
    assert [str(file.path) for file in cohort["P2"].segments] == [str(tmp_path / "s.tsv")]
    assert [(file.path.name, file.sample_id) for file in cohort["P3"].segments] == [("shared.tsv", None)]
    for name, patient in cohort.items():
        path = tmp_path / "elsewhere" / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text(sheet.sheet_text(patient), encoding="utf-8")
        (again,) = read_sheet(path)
        assert again.name == ""
        assert again.mutations == patient.mutations
        assert again.segments == patient.segments
        assert again.tumour_content == patient.tumour_content
        assert again.sex == patient.sex
    names = ["a,1.vcf", "b.vcf", "s1.tsv", "s1.purity.tsv", "s2.tsv"]
    assert [path.name for path in sheet.files(cohort["P 1"])] == names
    assert sheet.uncertain_contents(cohort["P 1"]) == ["--tumour-content=R1=0.8±0.05"]
    assert sheet.uncertain_contents(cohort["P2"]) == []


def test_purity_beside_the_segments_is_a_file_of_the_patient(script: Import, tmp_path: Path) -> None:
    for name in ("R1.purple.cnv.somatic.tsv", "R1.purple.purity.tsv"):
        (tmp_path / name).touch()
    sheet = tmp_path / "cohort.csv"
    sheet.write_text("patient_id,sample_id,mutations,segments\nP1,R1,R1.vcf,R1.purple.cnv.somatic.tsv\n")
    module = script("cohort_sheet")
    (patient,) = module.read_cohort(sheet).values()
    assert tmp_path / "R1.purple.purity.tsv" in module.files(patient)


def test_schema_has_the_columns_of_the_sheet(script: Import) -> None:
    yaml = pytest.importorskip("yaml")
    schema = yaml.safe_load((FOLDER / "schemas" / "sheet.schema.yaml").read_text(encoding="utf-8"))
    assert set(schema["properties"]) == {*REQUIRED, *OPTIONAL} == set(script("cohort_sheet").COLUMNS)
    settings = yaml.safe_load((FOLDER / "schemas" / "config.schema.yaml").read_text())
    config = yaml.safe_load((FOLDER / "config.yaml").read_text())
    assert set(settings["properties"]) == set(settings["required"]) == set(config)
    names = re.compile(schema["properties"]["patient_id"]["pattern"])
    assert all(names.search(name) for name in ("P1", "é", "1 a.b+c@d-e"))
    assert not any(names.search(name) for name in ("", "-P", ".P", "{P}", "P'", "a/b", "*"))


# --- tables and page ----------------------------------------------------------------------------------------


def write_results(folder: Path, patient: str, mutations: str, left_out: tuple[str, str] = ("", "")) -> None:
    """What the two commands write of a patient, by the texts of some tables."""
    head = "file\trow\tmutation_id\tsample_id\treason\n"
    files = {
        "prepared/{}/table.tsv": "",
        "prepared/{}/left_out.tsv": head + left_out[0],
        "analyzed/{}/left_out.tsv": head + left_out[1],
        "analyzed/{}/mutations.tsv": mutations,
        "analyzed/{}/clusters.tsv": "cluster_id\tsize\n0\t7\n",
        "analyzed/{}/plots/cluster_prevalences.png": "picture of " + patient,
        "analyzed/{}/run.json": json.dumps(
            {
                "counts": {
                    "samples": 2,
                    "mutations": 7,
                    "clusters": 1,
                    "left_out": left_out[1].count("\n"),
                },
                "diagnostics": {"a": {"rhat": 1.5}, "b": {"rhat": None}, "c": {"rhat": 1.01}},
                "converged": patient == "P1",
                "warnings": ["one < two", "two"],
            }
        ),
    }
    for name, content in files.items():
        path = folder / name.format(patient)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    write_results(
        tmp_path, "P1", "mutation_id\tx\tgene\n001\t0.10\tNA\n", ("a.vcf\t3\tm\t\tgap\n", "t\t\tm\t\tno\n")
    )
    write_results(tmp_path, "P & 2", "mutation_id\tx\n1e3\t\n")
    for step, patient, text in (
        (
            "prepare",
            "P3",
            "x: noted\npyclone-pgsm: warning: a word\n"
            "pyclone-pgsm: a.vcf, row 3: <b>\nb.vcf, row 4: worse\n... and 3 more problems\n",
        ),
        ("prepare", "P1", "pyclone-pgsm: warning: purity unknown\n"),
        ("prepare", "P4", "Traceback\nKilled\n\n"),
        ("prepare", "P5", ""),
    ):
        log = tmp_path / "logs" / step / f"{patient}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text)
    return tmp_path


def test_advice_that_the_workflow_heeds_is_no_warning(script: Import, results: Path) -> None:
    """The table that ``prepare`` writes lacks standard deviations, which ``analyze`` is given again."""
    content = {"R1": Uncertain(0.8, 0.05)}
    prepared = Prepared(pd.DataFrame({"sample_id": ["R1"]}), [], [], [], content, "major")
    (advice,) = prepared.not_in_table()
    with (results / "logs" / "prepare" / "P1.log").open("a") as log:
        log.write(f"pyclone-pgsm: warning: {with_options(advice)}\n")
    assert script("cohort_results").Results(results).warnings("P1") == ["purity unknown", "one < two", "two"]


def test_infinite_rhat(script: Import, results: Path) -> None:
    path = results / "analyzed" / "P1" / "run.json"
    path.write_text(path.read_text().replace("1.5", 'null, "null_because": {"rhat": "infinite"}'))
    assert script("cohort_results").main(["tables", str(results / "finished"), "P1"]) == 0
    assert (
        "P1\t2\t7\t1\t2\tinf\tyes\tpurity unknown; one < two; two\t\n"
        in (results / "finished" / "patients.tsv").read_text()
    )


def test_tables(script: Import, results: Path) -> None:
    module = script("cohort_results")
    out = results / "finished"
    assert module.main(["tables", str(out), "P1", "P & 2", "P3", "P4", "P5"]) == 0
    assert {path.name for path in out.iterdir()} == set(module.TABLES)
    assert (out / "mutations.tsv").read_text() == (
        "patient_id\tmutation_id\tx\tgene\nP1\t001\t0.10\tNA\nP & 2\t1e3\t\t\n"
    )
    assert (out / "clusters.tsv").read_text() == "patient_id\tcluster_id\tsize\nP1\t0\t7\nP & 2\t0\t7\n"
    assert (out / "left_out.tsv").read_text() == (
        "patient_id\tfile\trow\tmutation_id\tsample_id\treason\nP1\ta.vcf\t3\tm\t\tgap\nP1\tt\t\tm\t\tno\n"
    )
    log = results / "logs" / "prepare" / "P3.log"
    assert (out / "patients.tsv").read_text().splitlines() == [
        "patient_id\tsamples\tmutations\tclusters\tleft_out\trhat\tconverged\twarnings\tproblem",
        "P1\t2\t7\t1\t2\t1.5\tyes\tpurity unknown; one < two; two\t",
        "P & 2\t2\t7\t1\t0\t1.5\tno\tone < two; two\t",
        f"P3\t\t\t\t\t\t\t\tprepare: a.vcf, row 3: <b> (and 2 more lines in {log})",
        "P4\t\t\t\t\t\t\t\tprepare: Killed",
        "P5\t\t\t\t\t\t\t\tprepare: not run, or nothing said",
    ]


def test_step_that_failed(script: Import, results: Path) -> None:
    """Results of an earlier run do not count where the joined table is gone; nor does the log of what came later."""
    found = script("cohort_results").Results(results)
    assert found.unfinished_step("P1") is None
    (results / "analyzed" / "P1" / "run.json").unlink()
    assert found.unfinished_step("P1") == "analyze"
    write_results(results, "P1", "mutation_id\n")
    (results / "prepared" / "P1" / "table.tsv").unlink()
    assert found.unfinished_step("P1") == "prepare"
    assert found.summaries(["P1"])["problem"].tolist() == ["prepare: not run, or nothing said"]


class Tags(html.parser.HTMLParser):
    """The tags of a page that are open, the attributes of all, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.attributes += attributes
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_page(script: Import, results: Path) -> None:
    (results / "finished").mkdir()
    assert script("cohort_results").main(["page", str(results / "finished"), "P1", "P & 2", "P3"]) == 0
    page = Tags()
    page.feed((results / "finished" / "page.html").read_text(encoding="utf-8"))
    assert page.open == []
    assert "2 of 3 patients" in page.text
    assert "prepare: a.vcf, row 3: <b>" in page.text
    assert "one < two; two" in page.text
    ids = [value for name, value in page.attributes if name == "id"]
    assert [value for name, value in page.attributes if name == "href"] == [f"#{name}" for name in ids]
    pictures = [value for name, value in page.attributes if name == "src"]
    assert len(pictures) == 2
    assert all(value is not None and value.startswith("data:image/png;base64,") for value in pictures)


# --- the workflow -------------------------------------------------------------------------------------------


@pytest.fixture
def snakemake(tmp_path: Path) -> Snakemake:
    if importlib.util.find_spec("snakemake") is None:
        pytest.skip("snakemake is not installed")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    from pyclone_pgsm.jit.compiling import cache_directory

    environment["PYCLONE_PGSM_CACHE_DIR"] = str(cache_directory() or tmp_path)

    def run(*arguments: object, profile: str = "local") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "snakemake", "-s", FOLDER / "Snakefile"]
        command += ["--profile", FOLDER / "profiles" / profile, "--cores", "1", *arguments]
        return subprocess.run(
            list(map(str, command)), capture_output=True, text=True, cwd=tmp_path, env=environment
        )

    return run


@pytest.fixture
def cohort(tmp_path: Path) -> Path:
    """The example, and a patient with a count that is none, whose segments are not there."""
    shutil.copytree(EXAMPLE, tmp_path / "data")
    path = tmp_path / "data" / "cohort.csv"
    bad = (EXAMPLE / "P1.vcf").read_text().replace("71,19", "71,x", 1)
    (tmp_path / "data" / "bad.vcf").write_text(bad)
    path.write_text(path.read_text(encoding="utf-8") + "P3,R1,bad.vcf,no.tsv,0.8,\n", encoding="utf-8")
    return path


def test_lint_and_profiles(snakemake: Snakemake) -> None:
    sheet = ("--config", f"sheet={EXAMPLE / 'cohort.csv'}")
    done = snakemake("--lint", *sheet)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "your workflow is in a good condition" in done.stdout + done.stderr
    done = snakemake("-n", "--executor", "local", *sheet, profile="slurm")
    assert done.returncode == 0, done.stderr
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", done.stdout, re.MULTILINE))
    assert jobs == {
        "patient_sheet": "2", "prepare": "2", "analyze": "2", "tables": "1", "page": "1", "all": "1", "total": "9"
    }  # fmt: skip


def test_mistakes_stop_everything(snakemake: Snakemake, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"

    def message(*config: str) -> str:
        done = snakemake("-n", "--config", f"sheet={sheet}", *config)
        assert done.returncode == 1
        return done.stderr + done.stdout

    sheet.write_text("patient_id,sample_id,mutations,segments,sex\nP1,R1,a.vcf,s.tsv,both\n")
    assert f"{sheet}, row 2, column sex: 'both': expected male or female" in message()
    sheet.write_text("sample_id,mutations,segments\nR1,a.vcf,s.tsv\n")
    assert "'patient_id' is a required property" in message()
    sheet.write_text("patient_id,sample_id,mutations,segments\nP1,R1,a.vcf,s.tsv\n")
    assert "'thread' was unexpected" in message("thread=1")
    told = message("analyze_options=--iterations 30 --require-convergence")
    assert "'--iterations 30 --require-convergence' should not be valid" in told


@pytest.mark.long
def test_a_bad_patient_fails_alone(snakemake: Snakemake, cohort: Path, tmp_path: Path) -> None:
    config = ("--config", f"sheet={cohort}", "analyze_threads=1", f"analyze_options={' '.join(SHORT)}")
    done = snakemake(*config)
    assert done.returncode == 1
    bad, segments = cohort.parent / "bad.vcf", cohort.parent / "no.tsv"
    mistake = f"{segments}: no such file"
    told = [line for line in done.stderr.splitlines() if line.startswith("patient P")]
    assert len(told) == 1
    assert told[0].startswith(f"patient P3: prepare: {mistake}")
    results = tmp_path / "results"
    assert (results / "logs" / "prepare" / "P3.log").read_text().startswith(f"pyclone-pgsm: {mistake}")
    assert sorted(path.name for path in (results / "analyzed").iterdir()) == ["P1", "P2"]
    assert not (results / "cohort").exists() or not list((results / "cohort").iterdir())
    for step, patients in (("prepare", ("P1", "P2")), ("analyze", ("P1", "P2"))):
        for patient in patients:
            times = pd.read_csv(results / "benchmarks" / step / f"{patient}.tsv", sep="\t")
            assert times["s"].iloc[0] > 0

    done = snakemake("finished", *config)
    assert done.returncode == 0, done.stderr
    patients = pd.read_csv(results / "finished" / "patients.tsv", sep="\t", keep_default_na=False)
    assert patients["patient_id"].tolist() == ["P1", "P2", "P3"]
    assert patients["mutations"].tolist() == ["39", "40", ""]
    assert patients["left_out"].tolist() == ["1", "0", ""]
    assert [bool(text) for text in patients["problem"]] == [False, False, True]
    mutations = pd.read_csv(results / "finished" / "mutations.tsv", sep="\t")
    assert mutations.groupby(["patient_id", "sample_id"]).size().to_dict() == {
        ("P1", "R1"): 39, ("P1", "R2"): 39, ("P2", "P2"): 40,
    }  # fmt: skip
    assert "2 of 3 patients" in (results / "finished" / "page.html").read_text()

    # the same as without the workflow, an uncertain tumour content among it
    direct = CliRunner().invoke(
        cli.app,
        ["analyze", "--samples", str(EXAMPLE / "cohort.csv"), "-o", str(tmp_path / "direct"), "--no-plots", *SHORT],
    )  # fmt: skip
    assert direct.exit_code == 0, direct.stderr
    for patient in ("P1", "P2"):
        for name in ("mutations.tsv", "clusters.tsv"):
            expected = (tmp_path / "direct" / patient / name).read_bytes()
            assert (results / "analyzed" / patient / name).read_bytes() == expected

    # half mended: the next mistake
    shutil.copy(EXAMPLE / "P1_R1.segments.tsv", segments)
    done = snakemake(*config)
    assert done.returncode == 1
    mistake = f"{bad}, row 10, column R1: 'x': AD: not a number; expected a number of reads"
    assert f"patient P3: prepare: {mistake}" in done.stderr

    # mended: nothing is run again that was done
    shutil.copy(EXAMPLE / "P1.vcf", bad)
    text = cohort.read_text(encoding="utf-8")
    cohort.write_text(text.replace("P3,R1,bad.vcf,no.tsv,0.8,", "P3,R1,bad.vcf,no.tsv,0.8,female"))
    before = {name: times_of(results / "analyzed" / name) for name in ("P1", "P2")}
    done = snakemake(*config)
    assert done.returncode == 0, done.stderr
    assert {name: times_of(results / "analyzed" / name) for name in ("P1", "P2")} == before
    patients = pd.read_csv(results / "cohort" / "patients.tsv", sep="\t", keep_default_na=False)
    assert patients["problem"].tolist() == ["", "", ""]
    assert patients["samples"].tolist() == [2, 1, 1]
    assert "3 of 3 patients" in (results / "cohort" / "page.html").read_text()


def times_of(folder: Path) -> dict[str, Any]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.is_file()}
