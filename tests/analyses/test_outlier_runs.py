"""Outliers from the command to the pictures; the sampler itself is tested in tests/exact/test_outliers.py."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from small_runs import bits, many_segments, run, start, tumour, wait_for_flushes
from test_cli import call, refused
from test_plots import make_coclustering, make_summary, make_traces, texts, write_plots

from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.cli.messages import summary_lines, with_options
from pyclone_pgsm.errors import TraceError, UsageError
from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.plots import appearance
from pyclone_pgsm.plots.scatter import prevalence_scatter, vaf_scatter
from pyclone_pgsm.plots.tumour import tumour_pictures
from pyclone_pgsm.posterior.summarize import summarize
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.priors import CustomPrior
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import Simulation, simulate
from pyclone_pgsm.simulate.writing import write_simulation
from pyclone_pgsm.trace import Trace, merge_traces

OPTIONS = SimulationOptions(mutations=60, samples=3, clusters=3, artefacts=0.1, cluster_sizes="equal")
MODEL = analysis.ModelOptions(outlier_prob=0.05, prevalence_prior="uniform")
SEED = 4


def drawn() -> Simulation:
    return simulate(OPTIONS, np.random.Generator(np.random.PCG64(SEED)))


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "t.h5"
    return run(path, observations=drawn().observations, model=MODEL, iterations=200, burn_in=100)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_simulation(tmp_path_factory.mktemp("tumour"), OPTIONS, SEED)[0]


def test_artefacts_are_found_and_make_no_clusters(trace: Path, tmp_path: Path) -> None:
    truth = drawn().cluster
    result = analysis.write_results(trace, tmp_path, formats=("png",))
    summary = result.summary
    assert isinstance(summary, Summary)
    np.testing.assert_array_equal(summary.labels < 0, truth < 0)
    assert summary.num_clusters == OPTIONS.clusters
    assert summary.num_outliers == 6
    np.testing.assert_array_equal(canonical(summary.labels), canonical(truth))
    assert summary.cluster_size.sum() == 54
    assert summary.outlier_prob is not None
    called = summary.labels < 0
    np.testing.assert_array_equal(called, summary.outlier_prob > 0.5)
    np.testing.assert_array_equal(summary.assignment_prob[called], summary.outlier_prob[called])

    mutations = pd.read_csv(tmp_path / "mutations.tsv", sep="\t")
    assert list(mutations.columns[15:]) == ["fit", "peaks", "outlier_prob", "chrom", "pos"]
    is_outlier = mutations["cluster_id"] < 0
    assert mutations.loc[is_outlier, ["multiplicity", "multiplicity_prob", "fit"]].isna().all(axis=None)
    assert sorted(mutations["cluster_id"].unique()) == [-1, 0, 1, 2]
    assert pd.read_csv(tmp_path / "clusters.tsv", sep="\t")["cluster_id"].unique().tolist() == [0, 1, 2]
    report = json.loads((tmp_path / "run.json").read_text())
    assert report["options"]["model"]["outlier_prob"] == 0.05
    assert (report["counts"]["clusters"], report["counts"]["outliers"]) == (3, 6)
    assert summary_lines(replace(result, left_out=[LeftOut("table.tsv", 2, "m1", "S", "no reads")] * 2))[
        0
    ] == (
        "60 mutations in 3 samples: 3 clusters (95 % of the draws have 3 to 5), 6 outliers (cluster -1); "
        "2 left out or changed (left_out.tsv)"
    )
    assert len(list((tmp_path / "plots").iterdir())) == 6


def test_an_outlier_has_the_prevalence_of_its_own_reads(trace: Path) -> None:
    """The outlier with the largest VAF is in most cells, although no cluster is like it."""
    with Trace(trace) as opened:
        summary = summarize(opened).summary
    assert isinstance(summary, Summary)
    called = summary.labels < 0
    expected = np.minimum(2 * summary.vaf[called] / 0.8, 1.0)
    assert np.abs(summary.mean[called] - expected).max() < 0.15


@pytest.mark.parametrize("criterion", ["vi", "binder", "map"])
def test_every_consensus(trace: Path, criterion: str) -> None:
    with Trace(trace) as opened:
        summary = summarize(opened, criterion).summary
    assert isinstance(summary, Summary)
    assert sorted(set(summary.labels.tolist())) == list(range(-1, summary.num_clusters))
    np.testing.assert_array_equal(np.bincount(summary.labels[summary.labels >= 0]), summary.cluster_size)
    assert np.sum((summary.labels < 0) != (drawn().cluster < 0)) <= 2


def test_the_trace(trace: Path) -> None:
    with h5py.File(trace, "r") as file:
        for chain in file["chains"].values():
            outliers, labels = chain["outliers"][:], chain["labels"][:]
            assert outliers.dtype == bool
            assert outliers.shape == labels.shape == (200, 60)
            assert chain["outliers"].compression == "gzip"
            assert not outliers[:50].any()  # half of the burn-in
            assert outliers[100:].any(axis=1).all()
            assert chain["state/outliers"].shape == (60,)
            for row, flags, number in zip(labels, outliers, chain["num_clusters"][:]):
                np.testing.assert_array_equal(row, canonical(row))
                assert (np.bincount(row)[row[flags]] == 1).all()
                assert number == len(set(row[~flags]))
    with Trace(trace) as opened:
        assert opened.options.model.has_outliers
        assert opened.outliers(1, np.array([60, 199])).shape == (2, 60)


def test_without_outliers_nothing_is_stored(tmp_path: Path) -> None:
    path = run(tmp_path / "t.h5", iterations=20, burn_in=10)
    assert analysis.ModelOptions().resolve(tumour()) == analysis.ModelOptions(outlier_prob=0.0).resolve(
        tumour()
    )
    with h5py.File(path, "r") as file:
        assert "outlier" not in file["config"].attrs["options"]
        assert "outliers" not in file["chains/0"]
        assert "outliers" not in file["chains/0/state"]
    result = analysis.write_results(path, tmp_path / "out", formats=())
    assert "outlier_prob" not in (tmp_path / "out" / "mutations.tsv").read_text()
    assert "outlier" not in (tmp_path / "out" / "run.json").read_text()
    assert not any("outlier" in line for line in summary_lines(result))


@pytest.mark.parametrize("settings", [{}, {"thin": 7, "sampler": "gibbs"}])
def test_segments_do_not_change_the_chains(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do threads, nor a stop after any flush."""
    same: dict[str, Any] = {
        "observations": drawn().observations,
        "model": MODEL,
        "iterations": 65,
        **settings,
    }
    whole = bits(run(tmp_path / "whole.h5", threads=1, **same))
    kept: list[Path] = []

    def keep(path: Path) -> None:
        kept.append(tmp_path / f"{len(kept)}.h5")
        shutil.copy(path, kept[-1])

    many_segments(monkeypatch, keep)
    assert bits(run(tmp_path / "cut.h5", threads=2, **same)) == whole
    many_segments(monkeypatch)
    unfinished = 0
    for path in kept[1::4]:
        unfinished += bits(path) != whole
        assert analysis.resume(path) == 65
        assert bits(path) == whole
    assert unfinished > 1


def test_longer_run_by_resuming(tmp_path: Path) -> None:
    same: dict[str, Any] = {"model": MODEL, "observations": drawn().observations, "burn_in": 12}
    whole = bits(run(tmp_path / "whole.h5", iterations=63, **same))
    path = run(tmp_path / "parts.h5", iterations=25, **same)
    for iterations in (37, 63):
        assert analysis.resume(path, iterations) == iterations
    assert bits(path) == whole


def test_killed(table: Path, tmp_path: Path) -> None:
    options = ("--outlier-prob", 0.05, "--iterations", 500, "--chains", 2, "--quiet")
    assert call("run", table, "-o", tmp_path / "whole.h5", *options).exit_code == 0
    path = tmp_path / "t.h5"
    process = start("run", table, "-o", path, *options)
    killed = 0
    for flushes in (2, 3):
        wait_for_flushes(process, path, flushes)
        process.kill()
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        process = start("resume", path, "--quiet")
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (0, "", "")
    assert killed == 2
    assert bits(path) == bits(tmp_path / "whole.h5")


def test_merge(trace: Path, tmp_path: Path) -> None:
    same: dict[str, Any] = {
        "observations": drawn().observations,
        "iterations": 200,
        "burn_in": 100,
        "chains": 1,
    }
    other = run(tmp_path / "other.h5", model=MODEL, seed=2, **same)
    merged = tmp_path / "all.h5"
    assert merge_traces([trace, other], merged) == 3
    assert bits(merged)["chains/2/outliers"] == bits(other)["chains/0/outliers"]
    assert analysis.write_results(merged, tmp_path / "out", formats=()).summary.num_clusters == 3
    for model, text in (
        (replace(MODEL, outlier_prob=0.1), "0.1"),
        (replace(MODEL, outlier_prob=0.0), "None"),
    ):
        run(other, model=model, seed=2, **same)
        with pytest.raises(TraceError, match=f"outlier_prob {text} differs from 0.05 of"):
            merge_traces([trace, other], tmp_path / "no.h5")


def test_damage_is_told(trace: Path, tmp_path: Path) -> None:
    for number, harm in enumerate(("missing", "short")):
        path = Path(shutil.copy(trace, tmp_path / f"{number}.h5"))
        with h5py.File(path, "r+") as file:
            if harm == "missing":
                del file["chains/1/outliers"]
            else:
                file["chains/1/outliers"].resize(20, axis=0)
        with pytest.raises(TraceError, match="the trace is damaged"):
            Trace(path)


def test_all_are_outliers(tmp_path: Path) -> None:
    """What there is of one mutation is mostly the probability that it has beforehand: there may be no cluster."""
    data = drawn().observations
    columns = {name: value[:1] for name, value in vars(data).items() if isinstance(value, np.ndarray)} | {
        "mutation_ids": data.mutation_ids[:1],
        "annotations": {},
    }
    one = replace(data, **columns)
    model = analysis.ModelOptions(outlier_prob=0.95)
    path = run(tmp_path / "t.h5", observations=one, model=model, iterations=600, burn_in=100)
    with Trace(path) as opened:
        share = np.mean([opened.outliers(k, np.arange(100, 600)) for k in range(2)])
    assert 0.5 < share < 0.95
    result = analysis.write_results(path, tmp_path / "out", formats=("png",))
    assert isinstance(result.summary, Summary)
    assert result.summary.labels.tolist() == [-1]
    assert result.summary.num_clusters == 0
    assert (
        summary_lines(replace(result, left_out=[]))[0]
        == "1 mutation in 3 samples: 0 clusters (95 % of the draws have 0 to 1), 1 outlier (cluster -1)"
    )
    assert len(pd.read_csv(tmp_path / "out" / "clusters.tsv", sep="\t")) == 0
    names = {path.stem for path in (tmp_path / "out" / "plots").iterdir()}
    assert names == {"prevalence_scatter", "vaf_scatter", "coclustering", "traces"}


def test_commands(table: Path, tmp_path: Path) -> None:
    short = ("--iterations", 60, "--chains", 1, "--outlier-prob", 0.05)
    told = call("analyze", table, "-o", tmp_path / "a", *short, "--no-plots")
    assert told.exit_code == 0
    assert " outliers (cluster -1)" in told.stdout
    assert call("run", table, "-o", tmp_path / "t.h5", *short).exit_code == 0
    assert call("summarize", tmp_path / "t.h5", "-o", tmp_path / "b", "--no-plots").exit_code == 0
    assert (tmp_path / "a" / "mutations.tsv").read_bytes() == (tmp_path / "b" / "mutations.tsv").read_bytes()


@pytest.mark.parametrize("prob", ["1", "-0.1", "nan", "2"])
def test_probabilities_that_cannot_be(prob: str, table: Path, tmp_path: Path) -> None:
    message = (
        f"`outlier_prob` {float(prob)}: must be 0, or between 1e-09 and 1 - 1e-09: nearer to 0 or 1 no number of "
        "mutations would tell the difference"
    )
    with pytest.raises(UsageError) as caught:
        analysis.ModelOptions(outlier_prob=float(prob))
    assert str(caught.value) == message
    for verb in ("analyze", "run"):
        told = refused(verb, table, "-o", tmp_path / "out", "--outlier-prob", prob)
        assert told == f"pyclone-pgsm: {with_options(message)}\n"
    assert not list(tmp_path.iterdir())


# --- pictures -----------------------------------------------------------------------------------------------


def with_outliers(summary: Summary, every: int) -> Summary:
    """The summary with every so manieth mutation an outlier."""
    called = np.arange(len(summary.labels)) % every == 0
    labels = np.where(called, -1, summary.labels)
    assert len(set(labels[~called])) == summary.num_clusters
    return replace(
        summary,
        labels=labels,
        cluster_size=np.bincount(labels[~called]),
        outlier_prob=np.where(called, 0.9, 0.01),
    )


def written_in(figure: Figure) -> set[str]:
    return {text.get_text() for text in figure.findobj(Text)}


@pytest.mark.parametrize("samples", [1, 2, 4])
def test_pictures(samples: int, tmp_path: Path) -> None:
    summary = with_outliers(make_summary(120, samples, 4), 10)
    written = write_plots(
        tmp_path, summary, make_coclustering(summary, 120), make_traces(2, 50), formats=("png",)
    )
    assert len(written) == 6
    for draw in (prevalence_scatter, vaf_scatter):
        figure = draw(summary)
        assert "outliers (n = 12)" in written_in(figure)
        assert any("120 mutations in 4 clusters, 12 outliers" in text for text in texts(figure))
        crosses = [line for axes in figure.axes for line in axes.lines if line.get_marker() == "x"]
        panels = samples * (samples - 1) // 2 if samples > 1 else 1
        assert len(crosses) == panels
        assert all(len(line.get_xdata()) == 12 and line.get_color() == appearance.OUTLIER for line in crosses)


def test_outliers_are_last_in_the_coclustering_picture() -> None:
    summary = with_outliers(make_summary(40, 2, 3), 8)
    items, matrix = make_coclustering(summary, 40)
    figure = tumour_pictures(summary, (items, matrix), make_traces(1, 2))["coclustering"]()
    assert "-1" in written_in(figure)
    assert len(figure.axes[0].patches) == 3  # borders of clusters


def test_no_cross_without_outliers() -> None:
    summary = replace(make_summary(40, 2, 3), outlier_prob=np.zeros(40))
    figure = prevalence_scatter(summary)
    assert any("40 mutations in 3 clusters, 0 outliers" in text for text in texts(figure))
    assert not any(text.startswith("outliers") for text in written_in(figure))


def test_outliers_need_a_prior_that_a_part_of_the_mutations_has_too(tmp_path):
    prior = CustomPrior(lambda j: 0.0 * j, lambda n: 0.0 * n)
    with pytest.raises(UsageError, match=r"`outlier_prob` cannot be used with the prior custom: .* use 0"):
        run(tmp_path / "t.h5", prior=prior, model=analysis.ModelOptions(outlier_prob=0.01))
