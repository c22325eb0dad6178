"""Pictures: files, edge cases, names, colours, and that nothing global is touched."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from pyclone_pgsm.analyses.results import PICTURES
from pyclone_pgsm.errors import OutputError
from pyclone_pgsm.files import write_files
from pyclone_pgsm.plots.appearance import (
    GREYS,
    PALETTE,
    cluster_colours,
    cluster_rows_of,
    colour_groups,
    minor_clusters,
)
from pyclone_pgsm.plots.densities import _outline, cluster_densities
from pyclone_pgsm.plots.prevalences import cluster_prevalences
from pyclone_pgsm.plots.scatter import MAX_SAMPLES, most_different, prevalence_scatter, vaf_scatter
from pyclone_pgsm.plots.style import cluster_legend, draw_pictures, encode, short_names, spread
from pyclone_pgsm.plots.traces import chain_traces
from pyclone_pgsm.plots.tumour import tumour_pictures
from pyclone_pgsm.posterior.rows import Traces
from pyclone_pgsm.posterior.states import Thresholds
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.tumour.grid import prevalence_grid

pytestmark = pytest.mark.filterwarnings("error")

NAMES = [
    "cluster_prevalences",
    "cluster_densities",
    "prevalence_scatter",
    "vaf_scatter",
    "coclustering",
    "traces",
]


def test_a_new_result_removes_every_picture_of_this_kind():
    assert set(NAMES) <= set(PICTURES)


def make_summary(
    num_mutations: int, num_samples: int, num_clusters: int, *, seed: int = 0, grid_size: int = 201
) -> Summary:
    """A made-up tumour with diploid reads, a tenth of its mutations unsure of their cluster."""
    rng = np.random.default_rng(seed)
    T, D, K = num_mutations, num_samples, num_clusters
    weights = rng.dirichlet(np.full(K, 0.7))
    labels = np.concatenate([np.arange(K), rng.choice(K, T - K, p=weights)])
    prevalence = rng.beta(0.8, 0.8, (K, D)) * (rng.random((K, D)) < 0.85)
    prevalence[0] = 0.98
    order = np.argsort(-prevalence.mean(1), kind="stable")
    prevalence = prevalence[order]
    labels = rng.permutation(labels)
    size = np.bincount(labels, minlength=K)

    depth = rng.poisson(100, (T, D))
    depth[rng.random((T, D)) < 0.02] = 0
    alt = rng.binomial(depth, 0.4 * prevalence[labels] + 0.001)
    with np.errstate(invalid="ignore"):
        vaf = alt / depth

    grid = np.linspace(0, 1, grid_size)
    sd = np.maximum(0.1 / np.sqrt(size), 0.3 / grid_size)[:, None] * (0.3 + prevalence * (1 - prevalence) * 4)
    masses = np.exp(-0.5 * ((grid - prevalence[..., None]) / sd[..., None]) ** 2) + 1e-300
    masses /= masses.sum(-1, keepdims=True)
    mean = masses @ grid
    std = np.sqrt(np.maximum(masses @ grid**2 - mean**2, 0))
    cdf = masses.cumsum(-1)
    lower = grid[(cdf < 0.025).sum(-1).clip(max=grid_size - 1)]
    upper = grid[(cdf < 0.975).sum(-1).clip(max=grid_size - 1)]

    unsure = rng.random(T) < 0.1
    doubt = np.where(unsure, rng.random(T) * 0.5, rng.random(T) * 0.01)
    other = rng.integers(K, size=T)
    mixed = mean[labels] * (1 - doubt)[:, None] + mean[other] * doubt[:, None]
    nowhere = np.full((T, D), np.nan)
    return Summary(
        mutation_ids=[f"chr{1 + i % 22}:{1000003 * (i + 1)}:C>T" for i in range(T)],
        sample_ids=[f"R{d + 1}" for d in range(D)],
        labels=labels,
        assignment_prob=1 - doubt,
        mean=mixed,
        std=std[labels],
        lower=lower[labels],
        upper=upper[labels],
        vaf=vaf,
        depth=depth,
        cluster_size=size,
        cluster_mean=mean,
        cluster_std=std,
        cluster_lower=lower,
        cluster_upper=upper,
        grid=grid,
        cluster_masses=masses,
        outlier_prob=None,
        second_cluster=np.full(T, -1),
        second_prob=np.full(T, np.nan),
        thresholds=Thresholds(),
        **dict.fromkeys(
            ["prob_present", "prob_clonal", "multiplicity_prob", "fit", "expected_reads"], nowhere
        ),
        **dict.fromkeys(["cluster_prob_present", "cluster_prob_clonal"], np.full((K, D), np.nan)),
        peaks=np.ones((T, D), np.int64),
        cluster_peaks=np.ones((K, D), np.int64),
        multiplicity=np.zeros((T, D), np.int64),
    )


def make_coclustering(summary: Summary, n: int, *, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Up to n mutations and a symmetric matrix of their probabilities to share a cluster."""
    rng = np.random.default_rng(seed)
    T = len(summary.labels)
    items = np.sort(rng.choice(T, min(n, T), replace=False))
    labels, sure = summary.labels[items], summary.assignment_prob[items]
    matrix = np.where(labels[:, None] == labels, np.outer(sure, sure), 0.3 * np.outer(1 - sure, 1 - sure))
    np.fill_diagonal(matrix, 1)
    return items, matrix


def make_traces(chains: int, rows: int, *, precision: bool = True, seed: int = 2) -> Traces:
    """Chains that settle in the first tenth, some rows at the binomial."""
    rng = np.random.default_rng(seed)
    settle = np.exp(-np.arange(rows) / max(rows / 40, 1))
    memory = 0.9 ** np.arange(60)
    noise = rng.normal(size=(3, chains, rows + 59))
    slow = np.array([[np.convolve(row, memory, "valid") for row in part] for part in noise]) * 0.44
    levels = np.array([50.0, 100, 200, 500, 1000, np.inf])
    series = {
        "log_joint": -51234 - 9000 * settle + 8 * slow[0],
        "num_clusters": (9.5 + slow[1] + 300 * settle).astype(int),
        "concentration": np.exp(0.3 * slow[1]),
    }
    if precision:
        series["precision"] = levels[np.clip(np.round(2.5 + slow[2]), 0, 5).astype(int)]
        series["error_rate"] = np.where(slow[1] > 0, 1e-4, 1e-3)
    return Traces(series, burn_in=rows // 2, iterations=np.arange(1, rows + 1))


def with_series(traces: Traces, **series: np.ndarray) -> Traces:
    return replace(traces, series={**traces.series, **series})


def texts(figure: Figure) -> list[str]:
    """All that is written in a figure outside its axes."""
    return [text.get_text() for text in figure.texts]


def pixels(figure: Figure) -> np.ndarray:
    """The figure as drawn, (height, width, 3) of 0..255."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    return np.asarray(Image.open(file).convert("RGB")).astype(int)


def check_file(path: Path) -> None:
    data = path.read_bytes()
    if path.suffix == ".png":
        with Image.open(path) as image:
            image.load()
            assert image.format == "PNG"
            assert min(image.size) > 250
            assert len(np.unique(np.asarray(image.convert("L")))) > 3
    else:
        assert data.startswith(b"%PDF-")
        assert data.rstrip().endswith(b"%%EOF")
        assert b"CreationDate" not in data


# --- files --------------------------------------------------------------------------------------------------


def write_plots(folder, summary, coclustering=None, traces=None, formats=("png",)):
    """All pictures of a run in a folder."""
    pictures = tumour_pictures(
        summary, coclustering or make_coclustering(summary, 20), traces or make_traces(2, 20)
    )
    return write_files(folder, draw_pictures(pictures, formats))


@pytest.mark.parametrize(
    ("mutations", "samples", "clusters"),
    [(5, 1, 1), (5, 4, 3), (500, 1, 40), (100, 20, 4), (10_000, 3, 40)],
)
def test_all_pictures_are_written(tmp_path, mutations, samples, clusters):
    summary = make_summary(mutations, samples, clusters)
    folder = tmp_path / "new" / "plots"
    both = ("png", "pdf")
    written = write_plots(folder, summary, make_coclustering(summary, 200), make_traces(4, 100), formats=both)
    assert [path.name for path in written] == [f"{name}.{end}" for name in NAMES for end in both]
    assert sorted(folder.iterdir()) == sorted(written)
    for path in written:
        check_file(path)


def test_lines_of_very_many_samples_fit_in_a_picture():
    """A picture cannot have more than 65,536 pixels in a direction."""
    figure = cluster_prevalences(make_summary(40, 2000, 3))
    assert "; 100 of 2000 samples, those that differ the most" in "".join(
        text.get_text() for text in figure.texts
    )
    assert figure.get_figwidth() * figure.dpi < 20_000
    assert len(figure.axes[0].get_xticks()) == 100


def test_formats_are_honoured(tmp_path):
    written = write_plots(tmp_path, make_summary(20, 2, 2), formats=["pdf"])
    assert [path.name for path in written] == [f"{name}.pdf" for name in NAMES]
    assert sorted(tmp_path.iterdir()) == sorted(written)


def test_a_file_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "cluster_prevalences.png").mkdir()
    with pytest.raises(OutputError, match=r"cluster_prevalences\.png: cannot be written: "):
        write_plots(tmp_path, make_summary(5, 2, 2), formats=["png"])
    assert [path.name for path in tmp_path.iterdir()] == ["cluster_prevalences.png"]


def test_the_same_bytes_again_and_in_threads(tmp_path):
    summary = make_summary(1200, 2, 5)
    parts = make_coclustering(summary, 100), make_traces(2, 50)

    def bytes_of(name: str) -> list[bytes]:
        return [path.read_bytes() for path in write_plots(tmp_path / name, summary, *parts)]

    once = bytes_of("once")
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(bytes_of, ["a", "b"])) == [once, once]


def test_pyplot_and_the_settings_of_matplotlib_are_left_alone(tmp_path):
    code = f"""
import sys
import zlib
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[1])!r}]
import matplotlib
before = matplotlib.rcParams.copy()
import test_plots as t
from pathlib import Path
summary = t.make_summary(30, 3, 3)
t.write_plots(Path({str(tmp_path)!r}), summary, t.make_coclustering(summary, 20), t.make_traces(2, 20))
assert "matplotlib.pyplot" not in sys.modules
assert dict.__eq__(matplotlib.rcParams, before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_page_needs_no_matplotlib():
    code = "import sys, pyclone_pgsm.report.pages\nassert 'matplotlib' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_fonts_are_embedded_and_texts_stay_texts(tmp_path):
    figure = vaf_scatter(make_summary(20, 2, 2))
    for name in ("x.pdf", "x.svg"):
        (tmp_path / name).write_bytes(encode(figure, name[2:]))
    pdf = (tmp_path / "x.pdf").read_bytes()
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    whole = pdf + b"".join(zlib.decompress(each) for each in streams if each.startswith(b"x"))
    assert b"/FontFile2" in whole
    assert b"/Type3" not in whole
    assert "Variant allele frequencies</text>" in (tmp_path / "x.svg").read_text()


def test_clusters_of_one_mutation_share_a_row():
    sizes = np.array([300, 1, 150, 1, 1])
    shown, rows, labels = cluster_rows_of(sizes, 60)
    assert shown.tolist() == [0, 2, 1, 3, 4]
    assert rows.tolist() == [0, 1, 2, 2, 2]
    assert labels == ["cluster 0 (n = 300)", "cluster 2 (n = 150)", "3 clusters (n = 1 each)"]
    assert cluster_legend(sizes)[1] == labels
    assert cluster_rows_of(sizes[:2], 60)[2] == ["cluster 0 (n = 300)", "cluster 1 (n = 1)"]
    assert cluster_rows_of(np.ones(5, int), 60)[2] == [f"cluster {k} (n = 1)" for k in range(5)]


def test_many_points_are_pixels_in_a_pdf(tmp_path):
    for mutations, images in ((500, 0), (5000, 1)):
        (tmp_path / "x.pdf").write_bytes(encode(vaf_scatter(make_summary(mutations, 2, 3)), "pdf"))
        data = (tmp_path / "x.pdf").read_bytes()
        assert data.count(b"/Subtype /Image") - data.count(b"/SMask") == images
    assert len(data) < 500_000


# --- edges --------------------------------------------------------------------------------------------------


def test_one_mutation_without_reads_and_one_saved_row(tmp_path):
    summary = make_summary(1, 1, 1)
    summary = replace(summary, vaf=np.full((1, 1), np.nan), depth=np.zeros((1, 1), np.int64))
    for path in write_plots(tmp_path, summary, make_coclustering(summary, 1), make_traces(1, 1)):
        check_file(path)
    assert [text.get_text() for text in vaf_scatter(summary).axes[0].texts] == ["no reads"]


def test_a_sample_without_reads_says_so():
    summary = make_summary(50, 3, 2)
    vaf = summary.vaf.copy()
    vaf[:, 1] = np.nan
    figure = vaf_scatter(replace(summary, vaf=vaf))
    silent = [[text.get_text() for text in axes.texts] == ["no reads"] for axes in figure.axes]
    assert silent == [True, False, True]
    figure.canvas.draw()


def test_mutations_without_reads_are_left_out():
    summary = make_summary(200, 2, 3)
    vaf = summary.vaf.copy()
    vaf[:40, 0], vaf[30:50, 1] = np.nan, np.nan
    axes = vaf_scatter(replace(summary, vaf=vaf)).axes[0]
    drawn = np.concatenate([line.get_xydata() for line in axes.lines])
    expected = vaf[~np.isnan(vaf).any(axis=1)]
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    np.testing.assert_array_equal(drawn[np.lexsort(drawn.T)], expected[np.lexsort(expected.T)])


@pytest.mark.parametrize("burn_in", [0, 3, 5])
def test_traces_of_any_burn_in(burn_in):
    traces = replace(make_traces(2, 5), burn_in=burn_in)
    figure = chain_traces(traces)
    figure.canvas.draw()
    shades = [len(axes.patches) for axes in figure.axes[::2]]
    assert shades == [int(burn_in > 0)] * 5


def test_constant_traces_have_readable_axes():
    traces = make_traces(2, 20)
    traces = with_series(traces, concentration=np.ones((2, 20)), num_clusters=np.full((2, 20), 3))
    figure = chain_traces(traces)
    figure.canvas.draw()
    shown = [
        [label.get_text() for label in axes.get_yticklabels()] for axes in (figure.axes[2], figure.axes[4])
    ]
    assert "3" in shown[0]
    assert "1" in shown[1]
    assert max(len(text) for text in shown[1]) <= 5


def test_the_axes_of_traces_fit_what_follows_the_burn_in():
    traces = make_traces(3, 400)
    axes = chain_traces(traces).axes[0]
    low, high = axes.get_ylim()
    kept = traces.series["log_joint"][:, traces.burn_in :]
    assert low < kept.min()
    assert high > kept.max()
    assert low > traces.series["log_joint"][:, 0].max()


def test_an_infinite_precision_is_drawn_on_top_as_binomial():
    traces = make_traces(2, 60)
    traces.series["precision"][0, 5:9] = np.inf
    traces.series["precision"][1, 30] = np.inf
    figure = chain_traces(traces)
    axes = figure.axes[6]
    assert axes.get_ylabel() == "precision"
    assert axes.get_yscale() == "log"
    assert [label.get_text() for label in axes.get_yticklabels()][-1] == "binomial"
    top = axes.get_yticks()[-1]
    for c, line in enumerate(axes.lines):
        np.testing.assert_array_equal(line.get_ydata() == top, np.isinf(traces.series["precision"][c]))
    all_binomial = chain_traces(with_series(traces, precision=np.full((2, 60), np.inf)))
    assert all_binomial.axes[6].get_yticklabels()[-1].get_text() == "binomial"
    all_binomial.canvas.draw()


def test_hyperparameters_of_samples_have_panels_and_of_many_the_least_agreed_upon():
    rng = np.random.default_rng(0)
    values = {f"precision:S{d}": rng.normal(100, 1, (2, 60)) for d in range(9)}
    for d in (3, 7):
        values[f"precision:S{d}"][1] += 10
    values["precision:S3"][0, 40] = np.inf
    figure = chain_traces(with_series(make_traces(2, 60, precision=False), **values))
    names = [axes.get_ylabel() for axes in figure.axes[6::2]]
    assert len(names) == 6
    assert {"precision\nS3", "precision\nS7"} <= set(names)
    assert "6 of 9 hyperparameters" in figure.texts[1].get_text()
    figure = chain_traces(
        with_series(make_traces(2, 60, precision=False), **{"precision:S0": values["precision:S0"]})
    )
    assert figure.axes[6].get_ylabel() == "precision\nS0"
    alike = {f"precision:patient1_R{d}_biopsy_7": values["precision:S0"] for d in range(2)}
    figure = chain_traces(with_series(make_traces(2, 60, precision=False), **alike))
    assert len({axes.get_ylabel() for axes in figure.axes[6::2]}) == 2
    assert "hyperparameters" not in figure.texts[1].get_text()


def test_twelve_chains_are_all_named():
    [legend] = chain_traces(make_traces(12, 30)).legends
    assert [text.get_text() for text in legend.get_texts()] == [f"chain {c}" for c in range(12)]


def test_numbers_of_clusters_hide_no_point_where_there_is_room():
    summary = make_summary(60, 2, 4)
    for draw in (prevalence_scatter, vaf_scatter):
        figure = draw(summary)
        axes = figure.axes[0]
        figure.canvas.draw()
        renderer = figure.canvas.get_renderer()
        boxes = [Text.get_window_extent(text, renderer) for text in axes.texts]
        assert len(boxes) == 4
        points = axes.transData.transform(np.concatenate([line.get_xydata() for line in axes.lines]))
        hidden = sum(box.contains(*point) for box in boxes for point in points)
        assert hidden <= 2
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_numbers_of_clusters_hide_no_point_in_a_dense_panel():
    summary = make_summary(4000, 2, 12)
    everywhere = np.random.default_rng(1).uniform(size=summary.mean.shape)
    free = everywhere.copy()
    free[:, 0] *= 0.8
    numbers = {}
    for name, mean in (("everywhere", everywhere), ("free", free)):
        figure = prevalence_scatter(replace(summary, mean=mean))
        axes = figure.axes[0]
        figure.canvas.draw()
        boxes = [Text.get_window_extent(text, figure.canvas.get_renderer()) for text in axes.texts]
        points = axes.transData.transform(mean)
        assert not any(box.contains(*point) for box in boxes for point in points)
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
        numbers[name] = len(boxes)
    assert numbers["everywhere"] < numbers["free"]


def test_without_precision_there_is_no_such_panel():
    figure = chain_traces(make_traces(2, 60, precision=False))
    assert [axes.get_ylabel() for axes in figure.axes[::2]] == ["log joint", "clusters", "concentration"]


# --- what the pictures show ---------------------------------------------------------------------------------


def test_a_density_of_three_grid_points_is_visible():
    summary = make_summary(30, 2, 2, grid_size=1601)
    masses = np.zeros((2, 2, 1601))
    masses[:, :, 800:803] = (0.2, 0.6, 0.2)
    mean = masses @ summary.grid
    image = pixels(cluster_densities(replace(summary, cluster_masses=masses, cluster_mean=mean)))
    for colour in cluster_colours(summary.cluster_size):
        distance = np.abs(image - np.array(to_rgb(colour)) * 255).sum(axis=2)
        rows = np.flatnonzero((distance < 60).any(axis=1))
        assert np.ptp(rows) > 25


def test_densities_are_drawn_at_equally_spaced_prevalences():
    """On a grid whose steps grow, each point with the same probability: the density falls, and the mass stays."""
    summary = make_summary(20, 2, 3, grid_size=101)
    grid = prevalence_grid(101, "learned")
    flat = replace(summary, grid=grid, cluster_masses=np.full((3, 2, 101), 1 / 101))
    even, density = flat.even_densities(np.array([2, 0]), np.array([1]))
    np.testing.assert_allclose(np.diff(even), 1 / (len(even) - 1))
    assert density.shape == (2, 1, len(even))
    widths = np.full(len(even), even[1])
    widths[[0, -1]] /= 2
    np.testing.assert_allclose(density @ widths, 1.0)
    assert (np.diff(density[0, 0, : len(even) // 2]) < 0).all()
    mean = density[0, 0] * widths @ even
    assert mean == pytest.approx(grid.mean(), abs=2e-3)
    none, _ = replace(flat, cluster_masses=np.empty((0, 2, 101))).even_densities(
        np.array([], int), np.array([0])
    )
    assert len(none) == len(even)
    same, density = summary.even_densities(np.array([0]), np.array([0]))
    np.testing.assert_allclose(same, summary.grid)
    np.testing.assert_allclose(density[0, 0, 1:-1] / 100, summary.cluster_masses[0, 0, 1:-1], atol=1e-9)


def test_outlines_are_thinned_but_keep_their_peaks():
    grid = np.linspace(0, 1, 1601)
    density = np.ones(1601)
    density[700] = 5
    outline = _outline(grid, density, 2.35)
    assert len(outline) < 250
    assert outline[:, 1].min() == pytest.approx(2.35 - 0.8)
    assert outline[outline[:, 1].argmin(), 0] == pytest.approx(grid[700], abs=1 / 200)
    np.testing.assert_allclose(outline[[0, -1]], [[0, 2.35], [1, 2.35]])


def test_prevalences_draw_every_interval_and_name_every_cluster():
    summary = make_summary(400, 3, 6)
    axes = cluster_prevalences(summary).axes[0]
    lines, bars = [item for item in axes.collections if isinstance(item, LineCollection)][:2]
    order = np.argsort(-summary.cluster_size, kind="stable")[::-1]
    drawn = np.array(bars.get_segments())[:, :, 1]
    expected = np.stack([summary.cluster_lower[order].ravel(), summary.cluster_upper[order].ravel()], axis=1)
    np.testing.assert_array_equal(drawn, expected)
    np.testing.assert_array_equal(np.array(lines.get_segments())[:, :, 1], summary.cluster_mean[order])
    expected = {f"cluster {k} (n = {size})" for k, size in enumerate(summary.cluster_size)}
    assert {text.get_text() for text in axes.texts} == expected


def test_legends_name_the_20_largest_and_count_the_others():
    sizes = np.arange(1, 41) * 50
    handles, labels = cluster_legend(sizes)
    assert labels[0] == "cluster 20 (n = 1,050)"
    assert labels[19:] == ["cluster 39 (n = 2,000)", "20 more (n = 10,500)"]
    colours = cluster_colours(sizes)
    assert [handle.get_color() for handle in handles[:20]] == colours[20:]


def test_samples_without_reads_are_not_in_scatters():
    summary = make_summary(100, 4, 5)
    depth = summary.depth.copy()
    depth[:, 2] = 0
    without = summary.sample_ids[2]
    figure = prevalence_scatter(replace(summary, depth=depth))
    assert len(figure.axes) == 3
    assert any(f"without '{without}', which has no reads" in text for text in texts(figure))


def test_scatters_say_which_samples_they_show(monkeypatch):
    summary = make_summary(100, 20, 5)
    figure = prevalence_scatter(summary)
    assert len(figure.axes) == 15
    assert any("6 of 20 samples" in text for text in texts(figure))
    assert not any("samples" in text for text in texts(prevalence_scatter(make_summary(100, 4, 5))))
    monkeypatch.setattr("pyclone_pgsm.plots.scatter.MAX_SAMPLES", 2)
    assert len(vaf_scatter(summary).axes) == 1


def test_samples_that_differ_are_chosen():
    summary = make_summary(100, 9, 4)
    mean = np.repeat(summary.cluster_mean[:, :1], 9, axis=1)
    mean[0, 4], mean[1, 7] = 0.1, 0.9
    chosen = most_different(replace(summary, cluster_mean=mean), 3)
    assert {4, 7} < set(chosen)
    assert len(chosen) == 3
    assert list(most_different(summary, 9)) == list(range(9))
    assert [len(most_different(summary, limit)) for limit in (2, 3, 4, 8)] == [2, 3, 4, 8]


def test_densities_of_many_samples_can_be_saved():
    """Without a limit, a picture of these would have more pixels than can be drawn."""
    figure = cluster_densities(make_summary(60, 500, 24, grid_size=21))
    assert "100 of 500 samples, those that differ the most" in texts(figure)[1]
    assert len(figure.axes) == 100
    assert len({axes.get_title() for axes in figure.axes}) == 100
    assert max(figure.get_size_inches()) * figure.dpi < 2**16


def test_no_sample_is_chosen_twice():
    summary = make_summary(100, 9, 4)
    equal = replace(summary, cluster_mean=np.repeat(summary.cluster_mean[:, :1], 9, axis=1))
    outliers = replace(summary, cluster_mean=np.zeros((0, 9)), cluster_size=np.zeros(0, np.int64))
    for alike in (equal, outliers):
        assert len(set(most_different(alike, MAX_SAMPLES))) == 6


def test_coclustering_is_ordered_by_cluster_and_certainty():
    summary = make_summary(60, 2, 4)
    items, matrix = make_coclustering(summary, 30)
    figure = tumour_pictures(summary, (items, matrix), make_traces(1, 2))["coclustering"]()
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    shown = [summary.mutation_ids.index(name) for name in names]
    assert sorted(shown) == sorted(items)
    assert list(summary.labels[shown]) == sorted(summary.labels[items])
    position = [list(items).index(t) for t in shown]
    image = figure.axes[0].images[0].get_array()
    np.testing.assert_array_equal(image, matrix[np.ix_(position, position)])
    for k in np.unique(summary.labels[items]):
        block = image[np.ix_(summary.labels[shown] == k, summary.labels[shown] == k)].sum(axis=1)
        assert (np.diff(block) <= 1e-12).all()
    assert "30 of 60 mutations in 4 clusters, ordered by consensus cluster" in texts(figure)


# --- colours ------------------------------------------------------------------------------------------------


def test_the_largest_clusters_get_colours_of_their_own():
    sizes = np.full(40, 100)
    sizes[[7, 30]] = 5000, 900
    colours = cluster_colours(sizes)
    assert (colours[7], colours[30], colours[0]) == PALETTE[:3]
    assert sum(colour in PALETTE for colour in colours) == len(PALETTE)
    assert all(colour in GREYS for colour in colours[11:30])


def test_greys_are_given_in_turn():
    assert cluster_colours(np.array([90, 1, 200, 100, 1, 1])) == [
        PALETTE[2],
        GREYS[0],
        PALETTE[0],
        PALETTE[1],
        GREYS[1],
        GREYS[2],
    ]


def test_minor_clusters_are_grey():
    assert minor_clusters(np.array([3, 1, 1])).tolist() == [False, False, False]
    assert minor_clusters(np.array([497, 1, 1, 1])).tolist() == [False, True, True, True]
    assert minor_clusters(np.array([9900, 81, 19])).tolist() == [False, False, True]
    assert [colour in GREYS for colour in cluster_colours(np.array([497, 1, 1, 1]))] == [
        False,
        True,
        True,
        True,
    ]


def test_colour_groups_part_the_mutations():
    sizes = np.array([30, 1, 50, 1, 20])
    labels = np.repeat(np.arange(5), sizes)
    groups = colour_groups(sizes, labels)
    assert [colour for colour, _ in groups[-3:]] == list(PALETTE[:3])
    assert [int(members.sum()) for _, members in groups[-3:]] == [50, 30, 20]
    np.testing.assert_array_equal(np.sum([members for _, members in groups], axis=0), 1)


# Simulation of dichromats on linear sRGB: Machado, Oliveira & Fernandes (2009), severity 1.
VISION = {
    "normal": np.eye(3),
    "red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


@pytest.mark.parametrize("vision", VISION)
def test_the_palette_suits_the_colour_blind(vision):
    rgb = np.array([to_rgb(colour) for colour in PALETTE])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(VISION[vision]).T, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = seen @ to_xyz.T / (0.9505, 1, 1.089)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    lab = np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)
    assert min(np.linalg.norm(a - b) for a, b in combinations(lab, 2)) >= 15


# --- names and places ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["R1", "R2"], ["R1", "R2"]),
        (["patient_0042_R1_biopsy", "patient_0042_R2_biopsy"], ["…42_R1_biopsy", "…42_R2_biopsy"]),
        (
            ["R1_of_a_patient_with_long_names", "R2_of_a_patient_with_long_names"],
            ["R1_of_…_names", "R2_of_…_names"],
        ),
        (["a_long_name_of_a_sample_1", "a_long_name_of_a_sample_2"], ["a_long…mple_1", "a_long…mple_2"]),
        (["cost$", "a$b$c"], [r"cost\$", r"a\$b\$c"]),
        (["肿瘤", "line\nbreak"], ["□□", "line break"]),
    ],
)
def test_names_are_shortened(names, short):
    assert short_names(names, 13) == short


@given(st.lists(st.text(min_size=1), min_size=1, max_size=30, unique=True), st.integers(8, 30))
def test_short_names_stay_distinct(names, limit):
    short = short_names(names, limit)
    assert len(set(short)) == len(names)
    assert max(len(name.replace(r"\$", "$")) for name in short) <= limit


@given(
    st.text(min_size=20, max_size=30),
    st.lists(st.text(max_size=5), min_size=2, max_size=20, unique=True),
    st.text(min_size=20, max_size=30),
)
def test_names_alike_at_both_ends_stay_distinct(head, middles, tail):
    short = short_names([head + middle + tail for middle in middles], 12)
    assert len(set(short)) == len(set(middles))
    assert max(len(name.replace(r"\$", "$")) for name in short) <= 12


def test_names_that_are_formulas_or_unknown_to_the_font_are_drawn(tmp_path):
    summary = make_summary(12, 3, 3)
    ids = [f"{'chr1_' * 12}{i}_$x_{{" for i in range(12)]
    summary = replace(summary, sample_ids=["a$b$c", "肿瘤\t样本", "x" * 90], mutation_ids=ids)
    for path in write_plots(tmp_path, summary, make_coclustering(summary, 12)):
        check_file(path)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0.01, 0.1))
def test_labels_are_spread(values, gap):
    values = np.array(values)
    places = spread(values, gap, 0, 1)
    assert places.min() >= 0
    assert places.max() <= 1 + 1e-12
    ordered = np.sort(places)
    if (len(values) - 1) * gap < 1:
        assert (np.diff(ordered) >= gap - 1e-9).all()
    by_value = places[np.argsort(values, kind="stable")]
    np.testing.assert_array_equal(by_value, ordered)


def test_labels_with_room_stay_where_they_are():
    np.testing.assert_allclose(spread(np.array([0.9, 0.1, 0.5]), 0.1, 0, 1), [0.9, 0.1, 0.5])
    np.testing.assert_allclose(spread(np.array([0.5, 0.5]), 0.1, 0, 1), [0.45, 0.55])


def check_edges(figure: Figure) -> None:
    figure.canvas.draw()
    box = figure.get_tightbbox(figure.canvas.get_renderer())
    width, height = figure.get_size_inches()
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 <= width
    assert box.y1 <= height


def test_clusters_of_one_mutation_each_are_drawn():
    summary = replace(make_summary(100, 2, 100), labels=np.arange(100))
    assert (summary.cluster_size == 1).all()
    check_edges(cluster_prevalences(summary))


@pytest.mark.parametrize("samples", [1, 2, 6, 20])
def test_nothing_is_written_beyond_the_edges(samples):
    summary = make_summary(200, samples, 25)
    names = [f"TRACERx_CRUK0062_SU_T1.R{d}_biopsy" for d in range(samples)]
    summary = replace(summary, sample_ids=names)
    check_edges(cluster_prevalences(summary))
    if samples <= 6:
        check_edges(cluster_densities(summary))
        check_edges(prevalence_scatter(summary))


def test_nothing_else_is_written_beyond_the_edges():
    summary = make_summary(200, 2, 25)
    for n in (1, 30, 200):
        pictures = tumour_pictures(summary, make_coclustering(summary, n), make_traces(1, 2))
        check_edges(pictures["coclustering"]())
    check_edges(chain_traces(make_traces(1, 30)))
    check_edges(chain_traces(make_traces(20, 30)))
