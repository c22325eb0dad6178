"""Pictures of mixtures of any data: files, edge cases, and that they show what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from PIL import Image
from scipy.stats import multivariate_normal

from pyclone_pgsm.files import write_files
from pyclone_pgsm.plots import normal
from pyclone_pgsm.plots.appearance import GREYS, cluster_colours
from pyclone_pgsm.plots.heatmaps import cluster_means, data_heatmap
from pyclone_pgsm.plots.mixture import cluster_sizes, mixture_pictures
from pyclone_pgsm.plots.normal import cluster_points, density_map, principal_directions, regions_of
from pyclone_pgsm.plots.style import draw_pictures, encode
from pyclone_pgsm.posterior.mixture import MixtureSummary
from pyclone_pgsm.posterior.rows import Traces

pytestmark = pytest.mark.filterwarnings("error")


def make_summary(
    labels: np.ndarray, columns: list[str], probabilities: np.ndarray, parameters: dict[str, np.ndarray]
) -> MixtureSummary:
    names = [str(row + 1) for row in range(len(labels))]
    return MixtureSummary(names, columns, labels, probabilities, np.bincount(labels), parameters)


class Example:
    """T rows of K Normal clusters in D columns: values, summary, density."""

    def __init__(self, T: int, D: int, K: int, *, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        labels = rng.permutation(np.concatenate([np.arange(K), rng.integers(K, size=T - K)]))
        mean, sd = 6 * rng.normal(size=(K, D)), 0.5 + rng.random((K, D))
        values = mean[labels] + sd[labels] * rng.normal(size=(T, D))
        self.values = values
        self.parameters = {"mean": mean, "covariance": np.stack([np.diag(s**2) for s in sd])}
        columns = [f"column {j}" for j in range(D)]
        self.summary = make_summary(labels, columns, 1 - 0.3 * rng.random(T), self.parameters)
        self.without_parameters = replace(self.summary, parameters={})
        items = np.sort(rng.choice(T, min(T, 50), replace=False))
        self.coclustering = items, (labels[items][:, None] == labels[items]).astype(float)

    def density(self, places: np.ndarray) -> np.ndarray:
        parts = zip(self.summary.cluster_size, self.parameters["mean"], self.parameters["covariance"])
        total = sum(size * multivariate_normal(m, c).pdf(places).reshape(-1) for size, m, c in parts)
        return total / len(self.values)

    def write(
        self,
        folder: Path,
        likelihood: str = "normal",
        density: Any = None,
        formats: Sequence[str] = ("png",),
    ) -> list[Path]:
        """All pictures of the mixture in a folder."""
        return write_files(folder, draw_pictures(self.pictures(likelihood, density), formats))

    def pictures(self, likelihood: str, density: Any) -> dict[str, Callable[[], Figure]]:
        parts = self.values, self.summary, self.coclustering, make_traces()
        return mixture_pictures(likelihood, *parts, density)


def binary(T: int, D: int, K: int, probabilities: Any = 1.0) -> tuple[np.ndarray, MixtureSummary]:
    rng = np.random.default_rng(1)
    labels = rng.permutation(np.concatenate([np.arange(K), rng.integers(K, size=T - K)]))
    theta = rng.random((K, D))
    values = (rng.random((T, D)) < theta[labels]).astype(float)
    probabilities = np.broadcast_to(probabilities, T)
    return values, make_summary(labels, [f"q{j}" for j in range(D)], probabilities, {"theta": theta})


def make_traces() -> Traces:
    rng = np.random.default_rng(2)
    series = {
        "log_joint": rng.normal(size=(2, 20)),
        "num_clusters": rng.integers(1, 5, (2, 20)),
        "concentration": rng.random((2, 20)),
    }
    return Traces(series, burn_in=10, iterations=np.arange(1, 21))


def subtitle(figure: Figure) -> str:
    return figure.texts[1].get_text()


def check_edges(figure: Figure) -> None:
    figure.canvas.draw()
    box = figure.get_tightbbox(figure.canvas.get_renderer())
    width, height = figure.get_size_inches()
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 <= width
    assert box.y1 <= height


def points_in(axes: Any) -> np.ndarray:
    drawn = np.concatenate([line.get_xydata() for line in axes.lines if line.get_marker() == "o"])
    return sorted_rows(drawn)


def sorted_rows(values: np.ndarray) -> np.ndarray:
    return values[np.lexsort(values.T)]


# --- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("likelihood", "shape", "names"),
    [
        ("normal", (60, 1, 3), ["clusters"]),
        ("normal", (60, 2, 3), ["clusters", "density"]),
        ("normal", (60, 5, 3), ["clusters", "cluster_means"]),
        ("poisson", (60, 2, 3), ["clusters", "density"]),
        ("poisson", (60, 5, 3), ["clusters"]),
    ],
)
def test_all_pictures_are_written(
    tmp_path: Path, likelihood: str, shape: tuple[int, int, int], names: list[str]
) -> None:
    example = Example(*shape)
    folder = tmp_path / "new" / "plots"
    both = ("png", "pdf")
    written = example.write(folder, likelihood, density=example.density, formats=both)
    names = [*names, "cluster_sizes", "coclustering", "traces"]
    assert [path.name for path in written] == [f"{name}.{end}" for name in names for end in both]
    assert sorted(folder.iterdir()) == sorted(written)
    for path in written:
        if path.suffix == ".png":
            with Image.open(path) as image:
                assert min(image.size) > 250
        else:
            data = path.read_bytes()
            assert data.startswith(b"%PDF-")
            assert b"CreationDate" not in data


def test_pictures_of_binary_data(tmp_path: Path) -> None:
    together = np.arange(30), np.eye(30)
    pictures = mixture_pictures("bernoulli", *binary(30, 2, 3), together, make_traces(), None)
    names = ["clusters", "cluster_sizes", "coclustering", "traces"]
    assert list(draw_pictures(pictures, ("png",))) == [f"{name}.png" for name in names]


def test_the_same_bytes_again(tmp_path: Path) -> None:
    example = Example(1100, 3, 4)
    once, again = (
        [path.read_bytes() for path in example.write(tmp_path / name, "poisson")] for name in ("a", "b")
    )
    assert once == again


def test_many_points_are_pixels_in_a_pdf(tmp_path: Path) -> None:
    for rows, images in ((500, 0), (5000, 1)):
        example = Example(rows, 2, 3)
        (tmp_path / "x.pdf").write_bytes(
            encode(cluster_points(example.values, example.without_parameters), "pdf")
        )
        content = (tmp_path / "x.pdf").read_bytes()
        assert content.count(b"/Subtype /Image") - content.count(b"/SMask") == images
    assert len(content) < 500_000


# --- edges --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 2), (1, 7), (2, 3)])
def test_few_rows_all_alike(tmp_path: Path, rows: int, columns: int) -> None:
    example = Example(rows, columns, 1)
    example.values[:] = 1e6
    example.parameters["mean"][:] = 1e6
    for path in example.write(tmp_path, density=example.density, formats=["png"]):
        assert path.exists()


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_each_row_may_be_a_cluster_of_its_own(tmp_path: Path, columns: int) -> None:
    """All clusters are minor then."""
    example = Example(30, columns, 30)
    for path in example.write(tmp_path, density=example.density):
        assert path.exists()


@pytest.mark.parametrize(("columns", "clusters"), [(1, 70), (2, 2), (2, 40), (3, 2), (12, 70)])
def test_nothing_is_drawn_beyond_the_edges(columns: int, clusters: int) -> None:
    example = Example(300, columns, clusters)
    example.values[:, 0] *= 1e7
    example.parameters["mean"][:, 0] *= 1e7
    example.parameters["covariance"][:, 0, 0] *= 1e14
    names = [f"a_rather_long_name_of_a_column_{j}$" for j in range(columns)]
    summary = replace(example.summary, column_names=names)
    check_edges(cluster_points(example.values, summary))
    check_edges(cluster_means(example.values, summary))
    check_edges(cluster_sizes(summary))
    if columns == 2:
        summary = replace(summary, parameters={})
        regions = regions_of(example.values, summary, lambda places: np.exp(-np.abs(places) @ [1e-8, 0.1]))
        check_edges(density_map(example.values, summary, lambda: regions))


@pytest.mark.parametrize(("rows", "columns", "clusters"), [(3, 1, 1), (40, 6, 3), (900, 80, 70)])
def test_no_binary_picture_goes_beyond_the_edges(rows: int, columns: int, clusters: int) -> None:
    check_edges(data_heatmap(*binary(rows, columns, clusters)))


# --- what the pictures show ---------------------------------------------------------------------------------


def test_two_columns_show_every_row_and_every_ellipse() -> None:
    example = Example(200, 2, 4)
    regions = regions_of(example.values, example.summary, example.density)
    figure = cluster_points(example.values, example.summary, regions=lambda: regions)
    axes = figure.axes[0]
    values = example.values
    np.testing.assert_array_equal(points_in(axes), values[np.lexsort(values.T)])
    [ellipses] = [item for item in axes.collections if isinstance(item, PolyCollection)]
    for path, mean, covariance in zip(
        ellipses.get_paths(), example.parameters["mean"], example.parameters["covariance"]
    ):
        away = path.vertices - mean
        squared = np.einsum("ni,ij,nj->n", away, np.linalg.inv(covariance), away)
        np.testing.assert_allclose(squared, 4, rtol=1e-9)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("column 0", "column 1")
    assert sorted(text.get_text() for text in axes.texts) == ["0", "1", "2", "3"]
    assert subtitle(figure) == (
        "200 rows in 4 clusters; ellipses: 2 standard deviations; shaded: predictive density"
    )
    assert subtitle(cluster_points(example.values, example.without_parameters)) == "200 rows in 4 clusters"


def test_shaded_regions_hold_their_parts_of_the_rows() -> None:
    example = Example(3000, 2, 2)
    regions = regions_of(example.values, example.without_parameters, example.density)
    axes = density_map(example.values, example.without_parameters, lambda: regions).axes[0]
    shaded = [item for item in axes.collections if not isinstance(item, PolyCollection | LineCollection)]
    assert len(shaded) == 4
    for region, share in zip(shaded, (0.99, 0.95, 0.8, 0.5)):
        [path] = region.get_paths()
        inside = np.mean(path.contains_points(example.values))
        assert inside == pytest.approx(share, abs=0.02)


def test_axes_reach_for_ellipses_but_not_far() -> None:
    values = np.array([0.0, 10.0])
    assert normal.limits(values) == pytest.approx((-0.4, 10.4))
    assert normal.limits(values, 3, 11) == pytest.approx((-0.44, 11.44))
    assert normal.limits(values, -1e9, 1e9) == pytest.approx((-1.5 - 0.52, 11.5 + 0.52))
    assert normal.limits(np.array([3.0])) == (1.5, 4.5)
    assert normal.limits(np.zeros(2)) == (-1, 1)


def test_one_column_has_a_histogram_a_density_and_rows() -> None:
    example = Example(400, 1, 3)
    above, axes = cluster_points(example.values, example.summary, example.density).axes
    counted = max(patch.get_data().values.max() for patch in above.patches)
    edges = above.patches[0].get_data().edges
    assert counted == np.histogram(example.values[:, 0], edges)[0].max()
    x, y = above.lines[0].get_data()
    width = edges[1] - edges[0]
    np.testing.assert_allclose(y, example.density(x[:, None]) * 400 * width)
    drawn = np.sort(points_in(axes)[:, 0])
    np.testing.assert_array_equal(drawn, np.sort(example.values[:, 0]))
    [bars] = [item for item in axes.collections if isinstance(item, LineCollection)]
    ends = np.array(bars.get_segments())[:, :, 0]
    reach = 2 * np.sqrt(example.parameters["covariance"][:, 0, 0])
    mean = example.parameters["mean"][:, 0]
    np.testing.assert_allclose(ends, np.column_stack([mean - reach, mean + reach]))


@pytest.mark.parametrize("shape", [(50, 5), (6, 40), (30, 2100)])
def test_principal_directions(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=shape) @ np.diag(10.0 ** rng.integers(-3, 4, shape[1])) + 5
    values[:, 1] = 7
    directions, shares = principal_directions(values)
    varying = np.delete(values, 1, axis=1)
    scaled = (varying - varying.mean(axis=0)) / varying.std(axis=0)
    singular = np.linalg.svd(scaled, compute_uv=False)
    np.testing.assert_allclose(shares, (singular**2 / np.sum(singular**2))[:4], rtol=1e-6)
    components = values @ directions
    np.testing.assert_allclose(np.corrcoef(components.T), np.eye(4), atol=1e-6)
    assert not directions[1].any()


@pytest.mark.parametrize(
    ("columns", "names"), [(1, ["clusters"]), (2, ["clusters", "density"]), (5, ["clusters"])]
)
def test_rows_with_missing_values_are_no_points(columns: int, names: list[str]) -> None:
    """Neither those of a cluster of which nothing is shown, which the legend still names."""
    example = Example(60, columns, 3)
    incomplete = example.summary.labels == 2
    incomplete[:7] = True
    example.values[incomplete, 0] = np.nan
    others = ["cluster_sizes", "coclustering", "traces"]
    pictures = example.pictures("poisson", example.density)
    assert list(pictures) == [*names, *others]
    for name in names:
        figure = pictures[name]()
        check_edges(figure)
        expected = f"60 rows in 3 clusters; {incomplete.sum()} with missing values not shown"
        assert subtitle(figure).startswith(expected)
        assert len(points_in(figure.axes[-1])) == 60 - incomplete.sum()
    if columns == 2:
        np.testing.assert_array_equal(points_in(figure.axes[0]), sorted_rows(example.values[~incomplete]))
    example.values[:, -1] = np.nan
    assert list(example.pictures("poisson", example.density)) == others


def test_more_columns_show_components_and_projected_ellipses() -> None:
    example = Example(300, 6, 3)
    figure = cluster_points(example.values, example.summary)
    assert len(figure.axes) == 6
    directions, shares = principal_directions(example.values)
    placed = (example.values - example.values.mean(axis=0)) @ directions
    np.testing.assert_allclose(points_in(figure.axes[0]), placed[np.lexsort(placed[:, :2].T)][:, :2])
    assert figure.axes[3].get_xlabel() == f"component 1 ({100 * shares[0]:.0f} % of variance)"
    [ellipses] = [item for item in figure.axes[0].collections if isinstance(item, PolyCollection)]
    centre = ellipses.get_paths()[1].vertices[:-1].mean(axis=0)
    expected = (example.parameters["mean"][1] - example.values.mean(axis=0)) @ directions[:, :2]
    np.testing.assert_allclose(centre, expected)


def test_means_are_in_standard_deviations() -> None:
    example = Example(100, 4, 3)
    image = cluster_means(example.values, example.summary).axes[0].images[0].get_array()
    values = example.values
    np.testing.assert_allclose(
        image, (example.parameters["mean"] - values.mean(axis=0)) / values.std(axis=0), rtol=1e-9
    )


def test_binary_data_are_sorted_by_cluster_and_certainty() -> None:
    probabilities = np.random.default_rng(0).random(80)
    values, summary = binary(80, 7, 3, probabilities)
    figure = data_heatmap(values, summary)
    order = np.lexsort([-probabilities, summary.labels])
    images = [axes.images[0].get_array() for axes in figure.axes if axes.images]
    np.testing.assert_array_equal(images[0], values[order])
    assert any(
        image.shape == (3, 7) and np.array_equal(image, summary.parameters["theta"]) for image in images
    )
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["0", "1", "2"]


def test_many_binary_rows_are_averaged_within_their_clusters() -> None:
    values, summary = binary(5000, 4, 6)
    lines = data_heatmap(values, summary).axes[0].images[0].get_array()
    assert 385 < len(lines) < 410
    assert 0 < lines[0, 0] < 1
    first = np.arange(5000)[summary.labels == 0]
    np.testing.assert_allclose(lines[0], values[first[:13]].mean(axis=0))


def test_sizes_and_certainty() -> None:
    example = Example(100, 2, 3)
    bars, certainty = cluster_sizes(example.summary).axes
    assert [bar.get_width() for bar in bars.patches] == example.summary.cluster_size.tolist()
    [lines] = [item for item in certainty.collections if isinstance(item, LineCollection)]
    for k, segment in enumerate(lines.get_segments()):
        expected = np.quantile(example.summary.assignment_prob[example.summary.labels == k], [0.05, 0.95])
        np.testing.assert_allclose(segment[:, 0], expected)


def test_only_a_part_of_very_many_rows_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normal, "MAX_POINTS", 500)
    example = Example(5000, 2, 4)
    figure = cluster_points(example.values, example.without_parameters)
    assert subtitle(figure) == "5,000 rows in 4 clusters; 500 rows drawn"
    assert len(points_in(figure.axes[0])) == 500
    labels = np.repeat([0, 1, 2], [8000, 1500, 500])
    rows = normal.drawn_rows(labels, 1000)
    assert len(np.unique(rows)) == 1000
    assert np.abs(np.bincount(labels[rows]) - [800, 150, 50]).max() <= 1


def test_coclustering_speaks_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def noted(figure: Any, format: str) -> bytes:
        seen.append(figure)
        return encode(figure, format)

    monkeypatch.setattr("pyclone_pgsm.plots.style.encode", noted)
    Example(80, 2, 3).write(tmp_path, formats=["png"])
    [figure] = [figure for figure in seen if figure.texts[0].get_text() == "Posterior co-clustering"]
    assert subtitle(figure) == "50 of 80 rows in 3 clusters, ordered by consensus cluster"


def test_numbers_of_axes_are_readable() -> None:
    example = Example(50, 2, 2)
    figure = cluster_points(example.values * [1e5, 1e-7], example.without_parameters)
    figure.canvas.draw()
    across, up = (
        [label.get_text() for label in axis.get_ticklabels()]
        for axis in (figure.axes[0].xaxis, figure.axes[0].yaxis)
    )
    assert any("," in text for text in across)
    assert any("e−0" in text for text in up)
    assert "0" in up


def test_clusters_without_colours_of_their_own_have_thin_ellipses() -> None:
    example = Example(600, 2, 20)
    [ellipses] = [
        item
        for item in cluster_points(example.values, example.summary).axes[0].collections
        if isinstance(item, PolyCollection)
    ]
    grey = [colour in GREYS for colour in cluster_colours(example.summary.cluster_size)]
    assert sum(grey) == 8
    assert [width < 1 for width in ellipses.get_linewidths()] == grey


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_infinite_covariances_are_not_drawn(columns: int) -> None:
    example = Example(12, columns, 3)
    example.parameters["covariance"][1] = np.inf
    figure = cluster_points(example.values, example.summary)
    figure.canvas.draw()
    assert all(np.isfinite([*axes.get_xlim(), *axes.get_ylim()]).all() for axes in figure.axes)
