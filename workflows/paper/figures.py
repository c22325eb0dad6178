"""The paper's figures, redrawn from the tables and states that experiment.py wrote.

python figures.py curves --title TITLE --out FIGURE.png chains/EXPERIMENT/DATASET/CONFIGURATION.tsv ...
python figures.py mopsi-maps --data FOLDER --out FIGURE.png chains/mopsi/mopsi/CONFIGURATION.npz ...
python figures.py finite-maps --data FOLDER --out FIGURE.png chains/finite/c1/CONFIGURATION.npz ...
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from datasets import PAPER_PRIOR, MatrixData, load, split
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from pyclone_pgsm.files import write_file
from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.likelihoods.model import FixedModel
from pyclone_pgsm.likelihoods.registry import find_likelihood
from pyclone_pgsm.plots import appearance, style
from pyclone_pgsm.posterior.predictive import Predictive
from pyclone_pgsm.priors import DirichletProcess, FiniteDirichlet, Prior

LogDensity = Callable[[NDArray[np.float64]], NDArray[np.float64]]

MEASURES = {"log_predictive": "held-out log predictive", "v_measure": "V-measure"}
SHOWN_NAMES = {
    "gibbs": "Gibbs",
    "pgsm": "PGSM",
    "sams": "SAMS",
    "restricted-gibbs": "restricted Gibbs",
    "mixed": "PGSM + Gibbs",
    "mixed-sams": "SAMS + Gibbs",
    "gibbs-disconnected": "Gibbs, disconnected start",
    "pgsm-2": "PGSM, 2 anchors",
    "pgsm-3": "PGSM, 3 anchors",
}
DATASET_NAMES = {"ber025": "Ber-0.25", "ber050": "Ber-0.5", "cancer": "Cancer", "dim128x10": "DIM128 x 10"}
POINTS = 80  # of a curve
WINDOW = 5  # of the moving average, in points
BAND = (0.25, 0.75)  # quantiles of the replicates
GAIN_SHOWN = 0.15  # least part of the way from the start to the best that the axis shows
CELLS = 100  # of a density map along each axis
DEPTH = 12.0  # nats below the peak that a density map shows


def dataset_name(name: str) -> str:
    """As the paper writes it."""
    return DATASET_NAMES.get(name, name.upper())


def colours(names: Iterable[str]) -> dict[str, str]:
    """The same colour in every figure for what `SHOWN_NAMES` knows; others by their order."""
    known = dict(zip(SHOWN_NAMES, appearance.PALETTE))
    return {name: known.get(name, colour) for name, colour in zip(names, appearance.PALETTE)}


@dataclass(frozen=True)
class Curve:
    """A measure against CPU time: quantiles of the replicates, after a moving average over time.

    Attributes
    ----------
    seconds, low, middle, high : (P,) float64
    """

    seconds: NDArray[np.float64]
    low: NDArray[np.float64]
    middle: NDArray[np.float64]
    high: NDArray[np.float64]


def moving_average(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Mean of each value and its neighbours, `window` in all, fewer at the ends."""
    ones = np.ones(window)
    return np.convolve(values, ones, "same") / np.convolve(np.ones(len(values)), ones, "same")


def replicate_curve(
    table: pd.DataFrame, measure: str, seconds: NDArray[np.float64], window: int = WINDOW
) -> NDArray[np.float64]:
    """(P,) the measure of one chain at some times: what was last seen, averaged over `window` of them."""
    last = np.searchsorted(table["cpu_seconds"].to_numpy(), seconds, side="right") - 1
    return moving_average(table[measure].to_numpy()[last], window)


def curve(table: pd.DataFrame, measure: str) -> Curve:
    """The curve of all replicates of a table, from their first look after the start to their common end."""
    chains = [chain for _, chain in table.groupby("replicate")]
    first = max(chain["cpu_seconds"].iloc[1] for chain in chains)
    last = min(chain["cpu_seconds"].iloc[-1] for chain in chains)
    seconds = np.geomspace(first, max(first, last), POINTS)
    rows = [replicate_curve(chain, measure, seconds) for chain in chains]
    low, middle, high = np.quantile(rows, [BAND[0], 0.5, BAND[1]], axis=0)
    return Curve(seconds, low, middle, high)


def shown_range(tables: Sequence[pd.DataFrame], curves: Sequence[Curve], measure: str) -> tuple[float, float]:
    """Ends of the axis of a measure: the last third of all curves, and some of the way from the start."""
    start = min(table[measure].iloc[0] for table in tables)
    best = max(float(line.high.max()) for line in curves)
    worst = min(float(line.low[-POINTS // 3 :].min()) for line in curves)
    low = max(min(worst, best - GAIN_SHOWN * (best - start)), start)
    margin = 0.05 * (best - low) or 0.01
    return low - margin, best + margin


def draw_curves(axes: Axes, tables: dict[str, pd.DataFrame], measure: str, single: bool) -> None:
    """One measure of all configurations; every replicate by itself if `single`."""
    curves = {name: curve(table, measure) for name, table in tables.items()}
    for name, colour in colours(tables).items():
        line = curves[name]
        if single:
            for _, chain in tables[name].groupby("replicate"):
                chain = chain[chain["cpu_seconds"] > 0]
                axes.plot(chain["cpu_seconds"], chain[measure], color=colour, linewidth=0.7, alpha=0.8)
        else:
            axes.fill_between(line.seconds, line.low, line.high, color=colour, alpha=0.2, linewidth=0)
            axes.plot(line.seconds, line.middle, color=colour, linewidth=1.3)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=8))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:.4g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(*shown_range(list(tables.values()), list(curves.values()), measure))
    axes.grid(True, color=style.RULE, linewidth=0.6)
    axes.set_ylabel(MEASURES[measure], fontsize=style.SMALL, color=style.INK)


def curves_figure(title: str, paths: Sequence[Path]) -> Figure:
    """A row a data set: predictive density, and V-measure where there is a truth.

    Parameters
    ----------
    title : str
    paths : sequence of Path
        ``EXPERIMENT/DATASET/CONFIGURATION.tsv``.
    """
    tables: dict[str, dict[str, pd.DataFrame]] = {}
    for path in paths:
        tables.setdefault(path.parent.name, {})[path.stem] = pd.read_csv(path, sep="\t")
    names = list(next(iter(tables.values())))
    single = paths[0].parent.parent.name == "restarts"
    what = "each chain" if single else "median and quartiles of the replicates, moving average over time"
    width, height, gap, top = 2.9, 1.75, 0.7, style.HEADER + 0.2
    figure = style.new_figure(2 * (width + gap) + 1.75, top + len(tables) * (height + gap), title, what)
    for row, (dataset, of_dataset) in enumerate(tables.items()):
        below = top + row * (height + gap)
        known = [name for name in MEASURES if next(iter(of_dataset.values()))[name].notna().all()]
        for column, measure in enumerate(known):
            axes = style.add_axes(figure, gap + column * (width + gap), below, width, height)
            draw_curves(axes, of_dataset, measure, single)
            axes.set_title(dataset_name(dataset), loc="left", fontsize=style.TEXT, color=style.INK, pad=3)
            if row == len(tables) - 1:
                axes.set_xlabel("CPU seconds", fontsize=style.SMALL, color=style.INK)
    handles = [Line2D([], [], color=colour) for colour in colours(names).values()]
    figure.legend(
        handles,
        [SHOWN_NAMES.get(name, name) for name in names],
        loc="upper right",
        bbox_to_anchor=(0.995, 1 - top / figure.get_size_inches()[1]),
        fontsize=style.SMALL,
        labelcolor=style.INK,
        frameon=False,
        handlelength=1.4,
    )
    return figure


@dataclass(frozen=True)
class States:
    """What a chain was at its looks, see experiment.write_states; and the prior's number of components, if finite."""

    cpu_seconds: NDArray[np.float64]
    labels: NDArray[np.uint16]
    concentration: NDArray[np.float64]
    components: int | None = None

    @classmethod
    def read(cls, path: Path, components: int | None = None) -> States:
        """From the file."""
        with np.load(path) as stored:
            return cls(stored["cpu_seconds"], stored["labels"], stored["concentration"], components)

    def at(self, seconds: float) -> int:
        """Number of the last look at this time."""
        return int(np.searchsorted(self.cpu_seconds, seconds, side="right")) - 1

    def prior(self, look: int) -> Prior:
        """With the hyperparameters of a look."""
        concentration = float(self.concentration[look])
        if self.components is None:
            return DirichletProcess(concentration)
        return FiniteDirichlet(self.components, concentration)

    def density(self, likelihood: Any, looks: Sequence[int]) -> Predictive:
        """Predictive density, the mean over some looks."""
        labels = self.labels[list(looks)].astype(np.int32)
        model = FixedModel(likelihood, labels.shape[1])
        return Predictive(model, [()] * len(labels), [self.prior(look) for look in looks], labels)

    def recent(self, seconds: float) -> list[int]:
        """The looks of the second half of the time from 0 to `seconds`."""
        end = self.at(seconds)
        return list(range(min(self.at(seconds / 2) + 1, end), end + 1))


@dataclass(frozen=True)
class Map:
    """A panel: states of a chain at some looks."""

    title: str
    states: States
    looks: Sequence[int]

    def __str__(self) -> str:
        last = self.looks[-1]
        clusters = int(self.states.labels[last].max()) + 1
        return f"{self.title}\n{self.states.cpu_seconds[last]:.3g} s, {count(clusters, 'cluster')}"


def plain_axes(figure: Figure, left: float, top: float, width: float, height: float, title: str) -> Axes:
    """Axes without ticks."""
    axes = style.add_axes(figure, left, top, width, height)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(style.RULE)
    axes.set_title(title, loc="left", fontsize=style.SMALL, color=style.INK, pad=3)
    return axes


def draw_density(axes: Axes, points: NDArray[np.float64], log_density: LogDensity) -> None:
    """Log density (n,) of points (n, 2), the first column to the right."""
    low, high = points.min(axis=0), points.max(axis=0)
    low, high = low - 0.03 * (high - low), high + 0.03 * (high - low)
    x, y = (np.linspace(low[j], high[j], CELLS) for j in range(2))
    grid = np.column_stack([cells.ravel() for cells in np.meshgrid(x, y)])
    values = log_density(grid).reshape(CELLS, CELLS)
    axes.imshow(
        values,
        extent=(low[0], high[0], low[1], high[1]),
        origin="lower",
        aspect="auto",
        cmap="Blues",
        vmin=values.max() - DEPTH,
        interpolation="bilinear",
    )
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])


def flipped(density: Predictive) -> LogDensity:
    """A density of two columns as one of points that have them in the other order."""
    return lambda points: density.log_density(np.ascontiguousarray(points[:, ::-1]))


def mopsi_maps(data: MatrixData, rows: int | None, paths: dict[str, Path]) -> Figure:
    """The places, and four densities: disconnected Gibbs after one sweep, PGSM after that time, both at the end."""
    gibbs, mixed = States.read(paths["gibbs-disconnected"]), States.read(paths["mixed"])
    seen, _ = split(len(data), rows)
    points = data.scaled(seen)[seen]
    likelihood = find_likelihood("normal").from_data(points, **PAPER_PRIOR)
    first, end = float(gibbs.cpu_seconds[1]), min(float(gibbs.cpu_seconds[-1]), float(mixed.cpu_seconds[-1]))
    maps = [
        Map("Gibbs, disconnected, one sweep", gibbs, [1]),
        Map("PGSM + Gibbs, the same time", mixed, [max(1, mixed.at(first))]),
        Map("Gibbs, disconnected, at the end", gibbs, gibbs.recent(end)),
        Map("PGSM + Gibbs, at the end", mixed, mixed.recent(end)),
    ]
    width, height, gap, top = 1.75, 2.9, 0.15, style.HEADER + 0.35
    what = "log predictive density (latitude upwards), and the places themselves"
    figure = style.new_figure(5 * (width + gap) + gap, top + height + gap, "Geolocation data", what)
    places = points[:, ::-1]
    for column in range(5):
        left = gap + column * (width + gap)
        if column == 0:
            axes = plain_axes(figure, left, top, width, height, f"{count(len(data), 'place')}")
            axes.plot(*places.T, "o", markersize=0.8, markeredgewidth=0, color=style.INK)
            continue
        panel = maps[column - 1]
        axes = plain_axes(figure, left, top, width, height, str(panel))
        draw_density(axes, places, flipped(panel.states.density(likelihood, panel.looks)))
    return figure


def finite_maps(data: MatrixData, rows: int | None, paths: dict[str, Path]) -> Figure:
    """Densities and clusters of each configuration at the end."""
    seen, _ = split(len(data), rows)
    points = data.scaled(seen)[seen]
    likelihood = find_likelihood("normal").from_data(points, **PAPER_PRIOR)
    size, gap, top = 2.1, 0.15, style.HEADER + 0.35
    figure = style.new_figure(
        len(paths) * (size + gap) + gap,
        top + 2 * (size + gap),
        "Finite Dirichlet prior of 5 components",
        "log predictive density, and the clusters of the last partition",
    )
    for column, (name, path) in enumerate(paths.items()):
        states = States.read(path, components=5)
        looks = states.recent(float(states.cpu_seconds[-1]))
        left = gap + column * (size + gap)
        panel = Map(SHOWN_NAMES.get(name, name), states, looks)
        axes = plain_axes(figure, left, top, size, size, str(panel))
        draw_density(axes, points, states.density(likelihood, looks).log_density)
        axes = plain_axes(figure, left, top + size + gap, size, size, "")
        labels = states.labels[-1]
        axes.scatter(
            points[:, 0], points[:, 1], s=2, linewidths=0, color=np.array(appearance.PALETTE)[labels]
        )
    return figure


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(description="Redraw the paper's figures.")
    parser.add_argument("kind", choices=["curves", "mopsi-maps", "finite-maps"])
    parser.add_argument("paths", type=Path, nargs="+", help="tables, or states for maps")
    parser.add_argument("--out", type=Path, required=True, help="PNG to write")
    parser.add_argument("--title", default="", help="of curves")
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the data sets, for maps")
    parser.add_argument("--rows", type=int, help="what experiment.py was given")
    given = parser.parse_args(arguments)
    if given.kind == "curves":
        figure = curves_figure(given.title, given.paths)
    else:
        paths = {path.stem: path for path in given.paths}
        data = load(given.paths[0].parent.name, given.data)
        assert isinstance(data, MatrixData)
        draw = mopsi_maps if given.kind == "mopsi-maps" else finite_maps
        figure = draw(data, given.rows, paths)
    write_file(given.out, style.encode(figure, given.out.suffix[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
