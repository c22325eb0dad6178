"""The paper's experiments on little data: how chains are judged, figures, claims, the structure of the workflow."""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pyclone_pgsm.priors import DirichletProcess, FiniteDirichlet
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.tumour.model import PyCloneModel

FOLDER = Path(__file__).parents[2] / "workflows" / "paper"
Import = Callable[[str], ModuleType]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Import:
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module


def config() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((FOLDER / "config.yaml").read_text())


# --- data and held-out rows ---------------------------------------------------------------------------------


def test_a_fixed_tenth_is_held_out(script: Import) -> None:
    split = script("datasets").split
    seen, held_out = split(5000)
    assert len(held_out) == 500
    assert sorted([*seen, *held_out]) == list(range(5000))
    assert (split(5000)[1] == held_out).all()
    fewer = split(5000, 40)
    assert [len(rows) for rows in fewer] == [36, 4]
    assert not set(fewer[0]) & set(fewer[1])


def test_simulated_data(script: Import) -> None:
    datasets = script("datasets")
    for name, uninformative in (("ber025", 12), ("ber050", 25)):
        data = datasets.load(name, Path("nowhere"))
        assert data.values.shape == (5000, 50)
        assert set(np.unique(data.values)) == {0, 1}
        assert len(np.unique(data.truth)) == 16
        means = np.array([data.values[data.truth == k].mean(axis=0) for k in range(16)])
        assert (np.abs(means[:, :uninformative] - 0.5) < 0.15).all()
        assert (np.ptp(means[:, uninformative:], axis=0) > 0.5).all()
    ring = datasets.load("c1", Path("nowhere"))
    radius = np.hypot(*ring.values.T)
    assert radius[ring.truth == 0].max() < radius[ring.truth == 1].min() + 0.5


def test_normal_data_are_standardised_by_what_the_chain_sees(script: Import) -> None:
    datasets = script("datasets")
    data = datasets.MatrixData("normal", np.random.default_rng(1).normal(5, 3, (100, 2)), None)
    seen, held_out = datasets.split(100)
    scaled = data.scaled(seen)
    assert np.allclose(scaled[seen].mean(axis=0), 0)
    assert np.allclose(scaled[seen].std(axis=0), 1)
    assert np.allclose(replace(data, spread=10.0).scaled(seen), 10 * scaled)
    problem = data.problem(seen, held_out)
    assert problem.model.num_observations == 90
    density = problem.log_density(np.zeros(90, np.int32), DirichletProcess(1e-9))
    likelihood = problem.model.likelihood(())
    stat = np.empty(likelihood.stat_size())
    likelihood.clear(stat)
    likelihood.add_many(stat, np.arange(90))
    expected = [likelihood.log_predictive_new(stat, row) for row in scaled[held_out]]
    assert density == pytest.approx(expected, abs=1e-6)


def test_held_out_mutations_against_marginal_likelihoods(script: Import) -> None:
    """sum_b p(b) L(y_b, y) / L(y_b), from a likelihood of all mutations."""
    datasets = script("datasets")
    data = replace(datasets.simulate_tumour(), grid_size=101)
    seen, held_out = datasets.split(len(data), 30)
    problem = data.problem(seen, held_out)
    labels = np.array([0, 1, 2] * 9, np.int32)
    prior = DirichletProcess(2.0)

    rows = np.append(seen, held_out)
    everything = PyCloneModel(
        replace(data.table, index=data.table.index[rows]), 101, "major", math.inf
    ).likelihood(())
    constant = everything.xi_max[everything.index[27:]].sum(axis=1)

    def log_marginal(members: list[int]) -> float:
        stat = np.empty(everything.stat_size())
        everything.clear(stat)
        everything.add_many(stat, np.array(members, np.int64))
        return everything.log_marginal(stat)

    expected = []
    for n in range(27, 30):
        blocks = [np.flatnonzero(labels == k).tolist() for k in range(3)] + [[]]
        weights = np.array([9, 9, 9, 2]) / 29
        ratios = [log_marginal([*block, n]) - log_marginal(block) for block in blocks]
        expected.append(np.log(weights @ np.exp(ratios)))
    assert problem.log_density(labels, prior) == pytest.approx(np.array(expected) + constant, rel=1e-9)


def test_missing_data(script: Import, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["s3", "--data", str(tmp_path), "--configuration", "{}", "--seconds", "1", "--table", "x.tsv"]
    assert script("experiment").main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        f"{tmp_path / 's_sets/s3.csv'} is missing: columns x, y and label (1 to 15), 5,000 rows"
    )
    assert "https://cs.joensuu.fi/sipu/datasets/" in said


@pytest.mark.parametrize(("name", "columns"), [("s2", 2), ("dim064", 64), ("dim128x10", 128)])
def test_tables_with_labels(script: Import, tmp_path: Path, name: str, columns: int) -> None:
    path = tmp_path / script("data_files").FILES[name][0]
    path.parent.mkdir()
    values = np.arange(3 * columns).reshape(3, columns)
    rows = [",".join(map(str, [*row, label])) for row, label in zip(values, (3, 1, 3))]
    path.write_text("\n".join(["header", *rows]) + "\n")
    data = script("datasets").load(name, tmp_path)
    assert (data.values == values).all()
    assert data.truth.tolist() == [3, 1, 3]
    assert data.spread == (10 if name == "dim128x10" else 1)


# --- chains -------------------------------------------------------------------------------------------------


def test_configuration(script: Import) -> None:
    made = script("experiment").Configuration.from_dict({"sampler": "pgsm", "components": 5, "every": 1})
    assert made.prior == FiniteDirichlet(5, rate=0.1)
    assert made.every == 1
    assert made.settings.resolve(100).moves == 1
    assert script("experiment").Configuration.from_dict({}).prior == DirichletProcess(rate=0.1)


def test_experiment(script: Import, tmp_path: Path) -> None:
    """From the command line, twice: what comes out, and that only the number of iterations depends on the clock."""
    tables = []
    for number in range(2):
        path, states = tmp_path / f"{number}.tsv", tmp_path / f"{number}.npz"
        arguments = [
            "c1",
            "--data",
            "x",
            "--configuration",
            json.dumps({"sampler": "gibbs", "components": 5}),
        ]
        arguments += ["--replicates", "2", "--seconds", "0.1", "--rows", "200", "--table", str(path)]
        assert script("experiment").main([*arguments, "--states", str(states)]) == 0
        tables.append(pd.read_csv(path, sep="\t"))
    table = tables[0]
    assert tuple(table.columns) == script("experiment").COLUMNS
    for _, chain in table.groupby("replicate"):
        assert chain["iteration"].iloc[0] == chain["cpu_seconds"].iloc[0] == chain["v_measure"].iloc[0] == 0
        assert chain["num_clusters"].iloc[0] == 1
        assert (chain["iteration"] % 10 == 0).all()
        assert (chain["cpu_seconds"].diff().dropna() > 0).all()
        assert chain["cpu_seconds"].iloc[-1] >= 0.1 > chain["cpu_seconds"].iloc[-2]
        assert chain["log_predictive"].iloc[-1] > chain["log_predictive"].iloc[0]
        assert chain["num_clusters"].between(1, 5).all()
    both = tables[0].merge(tables[1], on=["replicate", "iteration"])
    assert len(both) > 3
    assert (both["log_predictive_x"] == both["log_predictive_y"]).all()
    ends = [chain["log_predictive"].iloc[-1] for _, chain in table.groupby("replicate")]
    assert ends[0] != ends[1]

    with np.load(tmp_path / "1.npz") as stored:
        first = tables[1][tables[1]["replicate"] == 0]
        assert stored["labels"].shape == (len(first), 180)
        assert (stored["labels"].max(axis=1) + 1 == first["num_clusters"]).all()
        assert stored["cpu_seconds"] == pytest.approx(first["cpu_seconds"].to_numpy(), rel=1e-5)
        assert set(stored["truth"]) == {0, 1}


def test_judging_costs_no_time(script: Import) -> None:
    experiment, datasets = script("experiment"), script("datasets")
    data = datasets.simulate_ring()
    problem = data.problem(*datasets.split(len(data), 60))
    judged = 0.0

    def slow(labels: Any, prior: Any) -> Any:
        nonlocal judged
        started = time.thread_time()
        while time.thread_time() < started + 0.02:
            pass
        judged += time.thread_time() - started
        return problem.log_density(labels, prior)

    configuration = experiment.Configuration.from_dict({"sampler": "gibbs"})
    experiment.compile_all(data, configuration)
    started = time.thread_time()
    looks = list(experiment.run_chain(replace(problem, log_density=slow), configuration, 0, 0.05))
    assert looks[-1].cpu_seconds <= time.thread_time() - started - judged
    assert judged >= 0.02 * len(looks)


# --- figures ------------------------------------------------------------------------------------------------


def write_chains(path: Path, *chains: tuple[list[float], list[float]], v_measure: float = math.nan) -> None:
    """A table of chains, each given by its times and its predictive densities."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tables = [
        pd.DataFrame(
            {
                "replicate": number,
                "iteration": np.arange(len(seconds)) * 10,
                "cpu_seconds": seconds,
                "log_predictive": values,
                "v_measure": v_measure,
                "num_clusters": 3,
            }
        )
        for number, (seconds, values) in enumerate(chains)
    ]
    pd.concat(tables).to_csv(path, sep="\t", index=False)


def test_curves(script: Import, tmp_path: Path) -> None:
    figures = script("figures")
    assert figures.moving_average(np.array([1.0, 2.0, 6.0, 0.0]), 3).tolist() == [1.5, 3.0, 8 / 3, 3.0]
    path = tmp_path / "kernels" / "s1" / "gibbs.tsv"
    times = [0.0, 1.0, 2.0, 4.0]
    write_chains(path, *((times, [-9.0, top, top, top]) for top in (-1.0, -2.0, -4.0)), v_measure=0.5)
    line = figures.curve(pd.read_csv(path, sep="\t"), "log_predictive")
    assert line.seconds[[0, -1]] == pytest.approx([1, 4])
    assert (line.middle == -2).all()
    assert (line.low == -3).all()
    assert (line.high == -1.5).all()
    table = pd.read_csv(path, sep="\t")
    assert figures.replicate_curve(
        table[table["replicate"] == 0], "iteration", np.array([0.5, 1.0, 3.0, 4.0]), 1
    ).tolist() == [0, 10, 20, 30]

    write_chains(path.with_name("pgsm.tsv"), (times, [-9.0, -3.0, -1.0, -1.0]), v_measure=0.6)
    out = tmp_path / "picture.png"
    tables = [str(path), str(path.with_name("pgsm.tsv"))]
    assert figures.main(["curves", *tables, "--title", "Pure kernels", "--out", str(out)]) == 0
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("kind", ["mopsi-maps", "finite-maps"])
def test_maps(script: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    figures = script("figures")
    monkeypatch.setattr(figures, "CELLS", 8)
    names = ("gibbs-disconnected", "mixed") if kind == "mopsi-maps" else ("gibbs", "pgsm-2", "pgsm-3")
    labels = np.zeros((4, 54), np.uint16)
    labels[1:, ::2] = 1
    for name in names:
        np.savez(tmp_path / f"{name}.npz", cpu_seconds=[0, 1, 2, 3.0], labels=labels, concentration=[1.0] * 4)
    ring = script("datasets").simulate_ring()
    monkeypatch.setattr(figures, "load", lambda name, folder: ring)
    out = tmp_path / "picture.png"
    paths = [str(tmp_path / f"{name}.npz") for name in names]
    assert figures.main([kind, *paths, "--data", "x", "--rows", "60", "--out", str(out)]) == 0
    assert out.read_bytes().startswith(b"\x89PNG")


def test_colours(script: Import) -> None:
    figures = script("figures")
    pure, mixed = figures.colours(["gibbs", "pgsm", "sams"]), figures.colours(["gibbs", "mixed"])
    assert pure["gibbs"] == mixed["gibbs"]
    assert len({*pure.values(), *mixed.values()}) == 4
    assert list(figures.colours(["2", "5"]).values()) == list(figures.appearance.PALETTE[:2])


def test_states(script: Import) -> None:
    states = script("figures").States(
        np.array([0, 1, 2, 4.0]), np.zeros((4, 5), np.uint16), np.array([1.0, 2, 3, 4])
    )
    assert [states.at(seconds) for seconds in (0, 0.5, 2, 3, 9)] == [0, 0, 2, 2, 3]
    assert states.recent(4.0) == [3]
    assert states.recent(2.0) == [2]
    assert states.recent(3.0) == [2]
    assert replace(states, cpu_seconds=np.array([0, 1, 2, 3.0])).recent(3.0) == [2, 3]
    assert states.prior(2) == DirichletProcess(3.0)
    assert replace(states, components=5).prior(0) == FiniteDirichlet(5, 1.0)


# --- claims -------------------------------------------------------------------------------------------------


@pytest.fixture
def results(script: Import, tmp_path: Path) -> Any:
    """From -10 to -1: some as good as the best, but one of them late and one not always; and one trapped."""
    folder = tmp_path / "e" / "s1"
    times = [0.0, 1.0, 4.0, 8.0]
    for name, middle, ends in (
        ("best", -1.0, (-1.0, -1.0, -1.0)),
        ("late", -6.0, (-1.005, -1.005, -1.005)),
        ("twin", -1.1, (-1.0, -1.0, -1.0)),
        ("trapped", -5.0, (-3.0, -3.0, -1.0)),
        ("varied", -5.0, (-2.0, -1.2, -0.6)),
    ):
        write_chains(folder / f"{name}.tsv", *((times, [-10.0, middle, end, end]) for end in ends))
    return script("claims").Results(tmp_path)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("best", "trapped", "higher"),
        ("trapped", "late", "lower"),
        ("best", "late", "sooner"),
        ("late", "best", "later"),
        ("best", "twin", "similar"),
        ("varied", "best", "later"),
    ],
)
def test_compare(results: Any, one: str, other: str, expected: str) -> None:
    assert results.compare("e", "s1", one, other, "log_predictive") == expected


def test_measures_of_claims(script: Import, results: Any) -> None:
    assert results.scale("e", "s1", "log_predictive") == (-10, -1)
    assert [results.time("e", "s1", name, "log_predictive") for name in ("best", "late", "trapped")] == [
        1,
        4,
        math.inf,
    ]
    assert results.describe("e", "s1", "trapped", "log_predictive") == "trapped -3 (never)"
    chains = results.chains["e", "s1"]["late"]
    assert (chains.at("log_predictive", 3.9), chains.at("log_predictive", 4), chains.end) == (-6, -1.005, 8)
    comparison = script("claims").Comparison(
        "x", "e", ("s1",), (("best", "late"), ("trapped", "late")), ("higher", "sooner")
    )
    verdict = comparison.judge(results)
    assert verdict.holds == "1 of 2"
    assert verdict.measured == (
        "S1: best -1 (1 s), trapped -3 (never), late -1.005 (4 s); best sooner than late, trapped lower than late"
    )
    assert [script("claims").Verdict("", right, 2).holds for right in (0, 1, 2)] == ["no", "1 of 2", "yes"]


def test_clusters_in_the_middle(script: Import, tmp_path: Path) -> None:
    folder = tmp_path / "finite" / "c1"
    truth = np.repeat([0, 1], [20, 10])
    for name, middle in (("gibbs", [0] * 10 + [1] * 10), ("pgsm-2", [0] * 19 + [1]), ("pgsm-3", [0] * 20)):
        write_chains(folder / f"{name}.tsv", ([0.0, 1.0], [-2.0, -1.0]))
        np.savez(folder / f"{name}.npz", labels=[[0] * 30, [*middle, *[2] * 10]], truth=truth)
    verdict = script("claims").middle_clusters(script("claims").Results(tmp_path))
    assert verdict.measured == "clusters in the middle: Gibbs 2, PGSM, 2 anchors 1, PGSM, 3 anchors 1"
    assert verdict.holds == "yes"


def test_disconnected_start(script: Import, tmp_path: Path) -> None:
    folder = tmp_path / "mopsi" / "mopsi"
    write_chains(folder / "gibbs-disconnected.tsv", ([0.0, 2.0, 20.0], [-3.0, -2.0, -0.5]))
    write_chains(folder / "mixed.tsv", ([0.0, 0.5, 2.0, 20.0], [-9.0, -1.5, -1.0, -0.4]))
    verdict = script("claims").disconnected_start(script("claims").Results(tmp_path))
    assert verdict.measured == (
        "after 2 s (one sweep): PGSM + Gibbs -1, disconnected Gibbs -2; "
        "PGSM + Gibbs after 2 s -1, disconnected Gibbs after 20 s -0.5"
    )
    assert verdict.holds == "1 of 2"


def test_claims_are_put_into_a_page(script: Import, results: Any, tmp_path: Path) -> None:
    claims = script("claims")
    page, out = tmp_path / "README.md", tmp_path / "claims.md"
    page.write_text(f"before\n\n{claims.BEGIN}\nold\n{claims.END}\n\nafter\n")
    for _ in range(2):
        assert claims.main([str(tmp_path), "--out", str(out), "--into", str(page)]) == 0
    written = out.read_text()
    assert written.count("| not run | |") == len(claims.CLAIMS)
    assert "| e | S1 | late | -1.0050 |  | 3 | 4 s |" in written
    table = written.partition("\n\n")[0]
    assert page.read_text() == f"before\n\n{claims.BEGIN}\n\n{table}\n\n{claims.END}\n\nafter\n"
    page.write_text("nothing")
    with pytest.raises(ValueError, match="are expected"):
        claims.put_into(page, [])


def test_the_readme_has_the_marks(script: Import) -> None:
    text = (FOLDER / "README.md").read_text()
    assert text.count(script("claims").BEGIN) == text.count(script("claims").END) == 1


# --- the workflow -------------------------------------------------------------------------------------------


def test_every_configuration_can_be_run(script: Import) -> None:
    known = set(script("data_files").FILES) | set(script("datasets").SIMULATED)
    for experiment in config()["experiments"].values():
        assert set(experiment["datasets"]) <= known
        assert {"quick", "full"} <= set(experiment["seconds"])
        for fields in experiment["configurations"].values():
            made = script("experiment").Configuration.from_dict(fields)
            assert isinstance(made.settings.resolve(4500), Settings)


def test_figures_and_claims_are_of_what_is_run(script: Import) -> None:
    given = config()
    experiments = given["experiments"]
    for figure in given["figures"].values():
        experiment = experiments[figure["experiment"]]
        assert set(figure.get("configurations", [])) <= set(experiment["configurations"])
    claims = script("claims")
    for claim in claims.CLAIMS:
        experiment = experiments[claim.experiment]
        assert set(claim.datasets) <= set(experiment["datasets"])
        if isinstance(claim, claims.Comparison):
            names = {name for pair in claim.pairs for name in pair}
            assert names <= set(experiment["configurations"])
    assert {claim.experiment for claim in claims.CLAIMS} == set(experiments)


def snakemake(*arguments: str) -> subprocess.CompletedProcess[str]:
    if importlib.util.find_spec("snakemake") is None:
        pytest.skip("snakemake is not installed")
    command = [sys.executable, "-m", "snakemake", "-s", str(FOLDER / "Snakefile"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_workflow(script: Import, tmp_path: Path) -> None:
    for place, _ in script("data_files").FILES.values():
        path = tmp_path / "data" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    places = [f"data={tmp_path / 'data'}", f"results={tmp_path / 'out'}"]
    done = snakemake("--cores", "1", "-n", "-d", str(tmp_path), "--config", "setting=quick", *places)
    assert done.returncode == 0, done.stderr
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", done.stdout, re.MULTILINE))
    experiments = config()["experiments"]
    for name, experiment in experiments.items():
        number = len(experiment["datasets"]) * len(experiment["configurations"])
        assert jobs[name.replace("-", "_")] == str(number)
    assert jobs["curves"] == str(len(config()["figures"]))

    (tmp_path / "data" / "s_sets" / "s3.csv").unlink()
    done = snakemake("--cores", "1", "-n", "-d", str(tmp_path), "--config", "setting=quick", *places)
    assert done.returncode == 1
    assert "s3.csv is missing: columns x, y and label (1 to 15), 5,000 rows" in done.stderr + done.stdout
    done = snakemake(
        "--cores",
        "1",
        "-n",
        "-d",
        str(tmp_path),
        "--config",
        "setting=quick",
        *places,
        "--",
        "figures/finite.png",
    )
    assert done.returncode == 0, done.stderr
    done = snakemake("--cores", "1", "-n", "-d", str(tmp_path), "--config", "setting=fast", *places)
    assert "setting=fast: must be one of quick, full, tiny" in done.stderr + done.stdout
