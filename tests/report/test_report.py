"""The report: complete and harmless as text; in a real browser no request, no error, and everything on it works."""

from __future__ import annotations

import html
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_runs import run, run_matrix, tumour, write_tumour
from typer.testing import CliRunner

from pyclone_pgsm.analyses.results import write_results
from pyclone_pgsm.analyses.tumour import TumourAnalysis
from pyclone_pgsm.cli import app as cli
from pyclone_pgsm.opening import open_trace
from pyclone_pgsm.posterior.convergence import verdict_line
from pyclone_pgsm.posterior.states import Thresholds
from pyclone_pgsm.report.sections import warnings
from pyclone_pgsm.tumour.base_measure import is_weight

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MUTATION, SAMPLE, GENE = "<script>alert(1)</script>", '"><img src=x>', "$$\\alpha$$ & ${T}</td>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results with names that would break a careless page."""
    data = tumour()
    genes = [GENE if t % 4 == 1 else f"G{t}" for t in range(data.num_mutations)]
    names = list(data.mutation_ids)
    names[int(np.argmax(data.has_data.all(axis=1)))] = MUTATION
    data = replace(
        data,
        mutation_ids=names,
        sample_ids=[SAMPLE, *data.sample_ids[1:]],
        annotations={"gene": genes},
    )
    place = tmp_path_factory.mktemp("report") / "a <b>tumour"
    place.mkdir()
    run(place / "trace.h5", observations=data)
    write_results(place / "trace.h5", place, formats=(), pages=["report", "mqc"])
    return place


@pytest.fixture(scope="module")
def matrix_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("matrix")
    run_matrix(place / "trace.h5")
    write_results(place / "trace.h5", place, formats=(), pages=["report", "mqc"])
    return place


class Reader(HTMLParser):
    """Texts of headings and of the cells of each table, and all attributes that could load something."""

    def __init__(self) -> None:
        super().__init__()
        self.headings: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.loads: list[str] = []
        self.scripts = 0
        self._table, self._into = "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.loads += [str(given[name]) for name in ("src", "srcset", "data", "action") if name in given]
        self.loads += [str(given["href"])] if "href" in given and tag in ("link", "image", "a", "use") else []
        self.scripts += tag == "script"
        self._into = tag if tag in ("h2", "td") else self._into
        if tag == "table":
            self._table = str(given["id"])
            self.tables[self._table] = []
        elif tag == "tr" and self._table:
            self.tables[self._table].append([])
        elif tag == "td":
            self.tables[self._table][-1].append("")
        elif tag == "h2":
            self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._table = self._into = ""
        elif tag in ("h2", "tr"):
            self._into = ""

    def handle_data(self, data: str) -> None:
        if self._into == "h2":
            self.headings[-1] += data
        elif self._into == "td" and self._table:
            self.tables[self._table][-1][-1] += data.strip("\n")


def read(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader


def test_sections_in_their_order(folder: Path) -> None:
    assert read(folder / "report.html").headings == [
        "Warnings and convergence",
        "What was run",
        "Clusters",
        "Prevalences across samples",
        "Pairs of samples",
        "Densities",
        "Co-clustering",
        "Mutations",
        "What was left out and why",
        "Chains and diagnostics",
    ]


def test_the_box_is_green_only_if_the_chains_have_converged(folder: Path) -> None:
    run = json.loads((folder / "run.json").read_text())
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert not run["converged"]
    assert '<div class="box bad"><p>The chains have not converged after ' in text
    assert "(limit 0.01)" in text or "too few saved iterations" in text


def test_what_is_said_of_convergence_is_said_once(folder: Path) -> None:
    verdict = open_trace(folder)._found.convergence
    line = verdict_line(verdict)
    said = [f"{line}: resume the trace", "try `outlier_prob` 0.05"]
    content: Any = SimpleNamespace(result=SimpleNamespace(convergence=verdict, warnings=said))
    body = warnings(content).body
    assert body.count("not converged after ") == 1
    assert "resume the trace.</p>" in body
    assert '<ul class="warnings"><li>try <code>outlier_prob</code> 0.05</li></ul>' in body


def test_tables_are_complete_without_javascript(folder: Path) -> None:
    tables = read(folder / "report.html").tables
    mutations = pd.read_csv(folder / "mutations.tsv", sep="\t").drop_duplicates("mutation_id")
    rows = [row for row in tables["mutations"] if row]
    assert [row[0] for row in rows] == mutations["mutation_id"].tolist()
    assert [row[1] for row in rows] == mutations["gene"].tolist()
    assert [int(row[2]) for row in rows] == mutations["cluster_id"].tolist()
    clusters = pd.read_csv(folder / "clusters.tsv", sep="\t")
    found = [row for row in tables["clusters"] if row]
    assert [int(row[1].replace(",", "")) for row in found] == clusters.drop_duplicates("cluster_id")[
        "size"
    ].tolist()
    assert len([row for row in tables["left_out"] if row]) == 2
    assert "log_joint" in [row[0] for row in tables["diagnostics"] if row]


def test_nothing_of_the_users_is_code(folder: Path) -> None:
    text, reader = (folder / "report.html").read_text(encoding="utf-8"), read(folder / "report.html")
    assert reader.scripts == 6
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "<b>tumour" not in text
    assert all(each.startswith(("#", "data:image/png;base64,")) for each in reader.loads)
    assert "default-src 'none'" in text
    own = re.sub(r"(?s)<script.*?</script>", "", text)
    assert not re.search(r"https?://", own)


def test_the_same_bytes_each_time(folder: Path, tmp_path: Path) -> None:
    result = open_trace(folder)
    first, second = (result.report(tmp_path / name).read_bytes() for name in ("a.html", "b.html"))
    assert first == second
    again = subprocess.run(
        [sys.executable, "-m", "pyclone_pgsm", "report", str(folder), "-o", str(tmp_path / "c.html")],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "c.html").read_bytes() == first


def test_mqc(folder: Path, matrix_folder: Path) -> None:
    told = json.loads((folder / "pyclone_pgsm_mqc.json").read_text())
    assert told["plot_type"] == "table"
    assert set(told["data"]) == {
        folder.name,
        *(f"{folder.name}: {name}" for name in (SAMPLE, tumour().sample_ids[1])),
    }
    assert told["data"][folder.name]["mutations"] == 40
    assert told["data"][folder.name]["converged"] == "no"
    for row in told["data"].values():
        assert set(row) <= set(told["headers"])
    other = json.loads((matrix_folder / "pyclone_pgsm_mqc.json").read_text())
    assert other["data"][matrix_folder.name]["rows"] == 24
    assert {"clusters", "rows"} <= set(other["headers"]) <= {*other["data"][matrix_folder.name]}


def test_outliers_are_not_among_the_clonal_mutations(folder: Path) -> None:
    summary = open_trace(folder).summary
    everywhere = replace(summary, cluster_prob_clonal=np.ones_like(summary.cluster_prob_clonal))
    last = summary.num_clusters - 1
    labels = np.where(summary.labels == last, -1, summary.labels)
    rare = np.where(np.arange(last + 1) == last, 1.0, 0.0)[:, None] + np.zeros_like(
        summary.cluster_prob_clonal
    )
    shares = {
        name: [row["clonal"] for row in list(TumourAnalysis().numbers(found).values())[1:]]
        for name, found in (
            ("all", everywhere),
            ("outliers only", replace(everywhere, labels=labels, cluster_prob_clonal=rare)),
        )
    }
    assert shares == {"all": [1.0, 1.0], "outliers only": [0.0, 0.0]}
    none = replace(everywhere, labels=np.full_like(labels, -1))
    assert "clonal" not in TumourAnalysis().numbers(none)[""]


@pytest.mark.skipif(shutil.which("multiqc") is None, reason="MultiQC is not installed (pip install multiqc)")
def test_multiqc_shows_the_table(folder: Path, tmp_path: Path) -> None:
    found, out = tmp_path / "found", tmp_path / "out"
    found.mkdir()
    shutil.copy(folder / "pyclone_pgsm_mqc.json", found)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(["multiqc", str(found), "-o", str(out)], check=True, env=environment)
    shown = pd.read_csv(out / "multiqc_data" / "multiqc_pyclone_pgsm_table.txt", sep="\t", index_col="Sample")
    told = json.loads((folder / "pyclone_pgsm_mqc.json").read_text())["data"]
    assert list(shown.index) == list(told)
    assert {name: shown.loc[name].dropna().to_dict() for name in told} == told


def test_pages_of_an_older_result_go(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "trace.h5", tmp_path / "trace.h5")
    for name in ("report.html", "pyclone_pgsm_mqc.json"):
        (tmp_path / name).write_text("old")
    write_results(tmp_path / "trace.h5", tmp_path, formats=())
    assert not (tmp_path / "report.html").exists()
    assert not (tmp_path / "pyclone_pgsm_mqc.json").exists()


def test_command(folder: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    out = tmp_path / "page.html"
    done = runner.invoke(cli.app, ["report", str(folder), "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert read(out).headings == read(folder / "report.html").headings
    assert runner.invoke(cli.app, ["report", str(folder), "-o", str(out)]).exit_code == 2
    assert runner.invoke(cli.app, ["report", str(folder), "-o", str(out), "--force"]).exit_code == 0


def test_thresholds_of_a_report(folder: Path, tmp_path: Path) -> None:
    """Those of the options, else of the tables in the folder, else the usual ones."""

    def clonal_above(*options: str, given: Path = folder) -> str:
        out = tmp_path / "page.html"
        done = CliRunner().invoke(cli.app, ["report", str(given), "-o", str(out), "--force", *options])
        assert done.exit_code == 0, done.output
        return out.read_text().partition(", clonal above ")[2].partition(")")[0]

    assert clonal_above() == "0.95"
    assert clonal_above("--clonal-above", "0.7") == "0.7"
    write_results(folder / "trace.h5", tmp_path / "other", formats=(), thresholds=Thresholds(0.1, 0.6))
    shutil.copy(folder / "trace.h5", tmp_path / "other" / "trace.h5")
    assert clonal_above(given=tmp_path / "other") == "0.6"
    assert clonal_above("--present-above", "0.2", given=tmp_path / "other") == "0.6"
    assert clonal_above("--present-above", "0.2", given=folder / "trace.h5") == "0.95"


def test_all_commands_of_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After resume, merge and summarize the page has the commands that together give the result."""
    table = write_tumour(tmp_path)
    place = tmp_path / "a folder"
    short = f"--iterations 12 --burn-in 6 --chains 1 --grid-size 21 --quiet -o '{place}"

    def done(command: str) -> None:
        words = shlex.split(command)
        monkeypatch.setattr(sys, "argv", words)
        assert CliRunner().invoke(cli.app, words[1:]).exit_code == 0, command

    def told(page: Path) -> tuple[str, list[str]]:
        found = re.search(
            r"<h2>What was run</h2>\n<p>(.*?):</p><pre><code>(.*?)</code></pre>", page.read_text(), re.DOTALL
        )
        assert found is not None
        return found[1], html.unescape(re.sub("<.*?>", "", found[2])).split("\n")

    alone = f"pyclone-pgsm analyze {table} --no-plots {short}/alone'"
    done(alone)
    assert told(place / "alone" / "report.html") == ("To repeat it, run in the same folder", [alone])
    commands = [
        f"pyclone-pgsm run {table} {short}/a.h5'",
        f"pyclone-pgsm resume '{place}/a.h5' --iterations 16 --quiet",
        f"pyclone-pgsm run {table} --seed 2 {short}/b.h5' --iterations 16",
        f"pyclone-pgsm merge '{place}/a.h5' '{place}/b.h5' -o '{place}/out/trace.h5' --quiet",
        f"pyclone-pgsm summarize '{place}/out/trace.h5' -o '{place}/out' --consensus map --no-plots --quiet",
    ]
    for command in commands:
        done(command)
    several = "The result was made by these commands, in this order"
    assert told(place / "out" / "report.html") == (several, commands)
    assert json.loads((place / "out" / "run.json").read_text())["command"] == "\n".join(commands)
    done(f"pyclone-pgsm report '{place}/out' -o '{place}/same.html'")
    assert told(place / "same.html") == (several, commands)
    other = f"pyclone-pgsm report '{place}/out' -o '{place}/other.html' --burn-in 8"
    done(other)
    assert told(place / "other.html") == (several, [*commands, other])
    done(f"pyclone-pgsm report '{place}/out/trace.h5' -o '{place}/trace.html'")
    assert told(place / "trace.html") == (several, commands[:4])
    again = f"pyclone-pgsm resume '{place}/out/trace.h5' --iterations 20 --quiet"
    done(again)
    done(f"pyclone-pgsm report '{place}/out' -o '{place}/longer.html'")
    assert told(place / "longer.html") == (several, [*commands[:4], again])


def test_captions_tell_what_is_not_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = "pyclone_pgsm.report"
    for name in ("figures.MOST_LINES", "figures.MOST_DENSITIES", "drawings.MOST_SERIES"):
        monkeypatch.setattr(f"{place}.{name}", 2)
    opened = open_trace(folder)
    clusters = opened.summary.num_clusters
    series = sum(not is_weight(name) for name in opened._found.traces.series)
    text = opened.report(folder / "less.html").read_text(encoding="utf-8")
    assert text.count(f"Shown: the 2 largest of {clusters} clusters.") == 2
    assert f"Shown: 2 of {series} quantities." in text
    assert "Shown: " not in (folder / "report.html").read_text(encoding="utf-8")


def test_captions_tell_which_columns_and_rows_are_not_shown(
    matrix_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyclone_pgsm.report.pages.MOST_COLUMNS", 1)
    opened = open_trace(matrix_folder)
    opened._found = replace(
        opened._found, coclustered=np.arange(20), coclustering=opened._found.coclustering[:20, :20]
    )
    text = opened.report(matrix_folder / "less.html").read_text(encoding="utf-8")
    assert "Shown: the first 1 of 2 columns." in text
    assert "20 of 24 rows, ordered by cluster" in text


def test_numbers_for_multiqc_need_no_page(
    folder: Path, matrix_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("pyclone_pgsm.report.pages.tumour_page")
    monkeypatch.delattr("pyclone_pgsm.report.pages.mixture_page")
    for place in (folder, matrix_folder):
        out = tmp_path / place.name
        write_results(place / "trace.h5", out, formats=(), pages=["mqc"])
        assert (out / "pyclone_pgsm_mqc.json").read_bytes() == (place / "pyclone_pgsm_mqc.json").read_bytes()


# --- in a browser -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    library = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: no test in a browser"
    )
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed: no test in a browser")
    with library.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


def opened(browser: Any, path: Path, **options: Any) -> Any:
    """A page that is ready, with what it asked for and complained of."""
    page = browser.new_page(viewport={"width": 1200, "height": 900}, **options)
    page.asked, page.said = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on(
        "console",
        lambda message: page.said.append(message.text) if message.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("dialog", lambda dialog: page.said.append(f"dialog {dialog.message}"))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
    return page


@pytest.fixture
def page(browser: Any, folder: Path) -> Iterator[Any]:
    found = opened(browser, folder / "report.html")
    yield found
    assert found.asked == [(folder / "report.html").as_uri()]
    assert found.said == []
    found.close()


PLACE = """at => {
  let figure = null;
  for (const each of Bokeh.documents)
    for (const root of each.roots()) if (root.name === 'scatter-figure') figure = root;
  for (const view of Bokeh.index) if (view.model === figure) {
    view.el.scrollIntoView();
    const data = figure.renderers[0].data_source.data, box = view.el.getBoundingClientRect();
    const x = box.x + view.frame.x_scale.compute(data.x[at]), y = box.y + view.frame.y_scale.compute(data.y[at]);
    return {x, y, name: data.name[at], cluster: data.cluster[at], alpha: Array.from(data.alpha),
            clusters: Array.from(data.cluster), number: data.x.length};
  }
}"""


def shown(page: Any) -> list[str]:
    return page.eval_on_selector_all(
        "#mutations tbody tr:not([hidden])", "rows => rows.map(r => r.cells[0].textContent)"
    )


def test_search(page: Any) -> None:
    assert len(shown(page)) == 40
    page.fill("#search", "SCRIPT>alert")
    page.wait_for_selector("#shown:text-matches('^1 of 40')")
    assert shown(page) == [MUTATION]
    page.fill("#search", "\\alpha")
    page.wait_for_selector("#shown:text-matches('^10 of 40')")
    assert len(shown(page)) == 10  # found by gene


def test_only_the_doubtful(page: Any, folder: Path) -> None:
    table = pd.read_csv(folder / "mutations.tsv", sep="\t").drop_duplicates("mutation_id")
    unsure = table[table["cluster_assignment_prob"] < 0.8]["mutation_id"].tolist()
    assert 0 < len(unsure) < 40
    page.check("#doubtful")
    assert shown(page) == unsure
    assert f"{len(unsure)} mutations are doubtful" in page.inner_text("header")
    page.click("#everything")
    assert len(shown(page)) == 40
    assert not page.is_checked("#doubtful")


def test_a_selected_cluster_is_highlighted_everywhere(page: Any, folder: Path) -> None:
    table = pd.read_csv(folder / "mutations.tsv", sep="\t").drop_duplicates("mutation_id")
    page.focus("button.choose[data-cluster='1']")
    page.keyboard.press("Enter")
    assert shown(page) == table[table["cluster_id"] == 1]["mutation_id"].tolist()
    assert page.get_attribute("button.choose[data-cluster='1']", "aria-pressed") == "true"
    found = page.evaluate(PLACE, 0)
    bright = {k for k, alpha in zip(found["clusters"], found["alpha"]) if alpha > 0.5}
    assert bright == {1}
    page.click("#everything")
    assert len(shown(page)) == 40
    found = page.evaluate(PLACE, found["number"] - 1)
    page.mouse.click(found["x"], found["y"])
    page.wait_for_selector("button.choose[aria-pressed=true]")
    chosen = int(page.get_attribute("button.choose[aria-pressed=true]", "data-cluster"))
    assert shown(page) == table[table["cluster_id"] == chosen]["mutation_id"].tolist()


def test_hover_tells_the_mutation(page: Any) -> None:
    for at in range(40):
        found = page.evaluate(PLACE, at)
        if found["name"] == MUTATION:
            break
    assert found["name"] == MUTATION
    page.mouse.move(found["x"] - 40, found["y"])
    page.mouse.move(found["x"], found["y"], steps=5)
    page.wait_for_selector(".bk-tooltip-content", timeout=10_000)
    text = page.inner_text(".bk-tooltip-content")
    assert MUTATION in text
    assert re.search(r"\d+ of \d+ reads, copies \d+ \+ \d+, prevalence \d\.\d+", text)
    assert SAMPLE in text


def test_other_samples_and_quantities(page: Any) -> None:
    before = page.evaluate(PLACE, 5)
    page.select_option("#quantity", label="cellular prevalence")
    page.select_option("#across", index=1)
    after = page.evaluate(PLACE, 5)
    assert (before["x"], before["y"]) != (after["x"], after["y"])
    page.select_option("#density-sample", index=1)


def test_sorting(page: Any) -> None:
    page.click("#mutations th:has-text('probability') >> nth=0 >> button")
    column = [
        float(text)
        for text in page.eval_on_selector_all(
            "#mutations tbody tr", "rows => rows.map(r => r.cells[3].textContent)"
        )
    ]
    assert column == sorted(column)
    page.click("#mutations th:has-text('probability') >> nth=0 >> button")
    assert page.get_attribute("#mutations th[aria-sort]", "aria-sort") == "descending"


@pytest.mark.parametrize(("table", "column", "texts"), [
    ("clusters", 1, ["10", "9", "2"]),
    ("mutations", 1, ["chr10:5", "chr9:50", "chr9:7"]),
    ("diagnostics", 4, ["inf", "1e+04", "20.5"]),
    ("diagnostics", 4, ["binomial", "1e+04", "20.5"]),
])  # fmt: skip
def test_sorting_of_numbers(page: Any, table: str, column: int, texts: list[str]) -> None:
    cells = f"#{table} tbody tr td:nth-child({column})"
    page.eval_on_selector_all(
        cells, f"cells => cells.forEach((cell, i) => cell.textContent = {texts}[i % 3])"
    )
    page.click(f"#{table} th:nth-child({column}) button")
    found = page.eval_on_selector_all(cells, "cells => cells.map(cell => cell.textContent)")
    assert list(dict.fromkeys(found)) == texts[::-1]


@pytest.mark.parametrize("name", ["mutations.tsv", "clusters.tsv"])
def test_download_is_the_file(page: Any, folder: Path, name: str) -> None:
    with page.expect_download() as waiting:
        page.click(f"button.download[data-file='{name}']")
    assert waiting.value.suggested_filename == name
    assert Path(waiting.value.path()).read_bytes() == (folder / name).read_bytes()
    page.asked[:] = [url for url in page.asked if not url.startswith("blob:")]


def test_dark_and_without_javascript(browser: Any, folder: Path) -> None:
    def background(page: Any) -> str:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = (
        opened(browser, folder / "report.html", color_scheme=scheme) for scheme in ("light", "dark")
    )
    assert background(light) != background(dark)
    bare = browser.new_context(java_script_enabled=False).new_page()
    bare.goto((folder / "report.html").as_uri())
    assert bare.locator("#mutations tbody tr").count() == 40
    assert not bare.is_visible("#search")
    assert bare.is_visible("svg.map")


def test_a_matrix(browser: Any, matrix_folder: Path) -> None:
    page = opened(browser, matrix_folder / "report.html")
    assert page.said == []
    table = pd.read_csv(io.StringIO((matrix_folder / "assignments.tsv").read_text()), sep="\t")
    page.click("button.choose >> nth=0")
    assert shown(page) == table[table["cluster_id"] == 0]["row_id"].astype(str).tolist()
    assert page.evaluate(PLACE, 0)["number"] == 24
    page.close()
