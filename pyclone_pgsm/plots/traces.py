"""Trace plots of the chains."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator
from numpy.typing import NDArray

from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.labels import evenly_spaced
from pyclone_pgsm.plots import appearance, style
from pyclone_pgsm.posterior.rows import ALWAYS, LOGARITHMIC, Traces
from pyclone_pgsm.sampling.diagnostics import diagnostics_of
from pyclone_pgsm.tumour.base_measure import is_weight

WIDTH, BESIDE, HEIGHT = 6.4, 0.9, 1.15
TITLES = {"log_joint": "log joint", "num_clusters": "clusters"}
BINS = 30
MAX_HYPERPARAMETERS = 6
MAX_IN_ROW = 8


def chain_traces(traces: Traces) -> Figure:
    """Trace plots with one panel per quantity, one colour per chain, and the burn-in shaded.

    The axes fit the values after the burn-in; values in the burn-in that lie outside are cut off. If there are many
    hyperparameters, those on which the chains agree the least are shown.
    """
    num_chains, num_rows = traces.series["log_joint"].shape
    always = [name for name in traces.series if name in ALWAYS]
    hyperparameters = [name for name in traces.series if name not in ALWAYS]
    shown = _least_agreed(traces, hyperparameters)
    panels = [*always, *shown]
    subtitle = f"{count(num_chains, 'chain')} of {count(num_rows, 'saved iteration')}"
    if traces.burn_in:
        subtitle += f", the first {traces.burn_in:,} of them burn-in"
    if len(shown) < len(hyperparameters):
        subtitle += f"; {len(shown)} of {len(hyperparameters)} hyperparameters"
    left, gap, top = 1.0, 0.14, style.HEADER + (0.25 if num_chains <= MAX_IN_ROW else 0.39)
    figure = style.new_figure(
        left + WIDTH + 0.08 + BESIDE + 0.2, top + len(panels) * (HEIGHT + gap) + 0.4, "Chains", subtitle
    )
    named = list(dict.fromkeys(sample for name in panels if (sample := name.partition(":")[2])))
    short = dict(zip(named, style.short_names(named, 16))) if named else {}
    for i, name in enumerate(panels):
        values = traces.series[name]
        axes = style.add_axes(figure, left, top + i * (HEIGHT + gap), WIDTH, HEIGHT)
        kind, _, sample = name.partition(":")
        lines = [TITLES.get(kind, kind.replace("_", " ")), *([short[sample]] if sample else [])]
        axes.set_ylabel("\n".join(lines), va="center")
        axes.yaxis.set_label_coords(-0.8 / WIDTH, 0.5)
        if kind in LOGARITHMIC:
            values = _logarithmic_axis(axes, values)
        else:
            _linear_axis(axes, _kept(values, traces.burn_in), integer=name == "num_clusters")
        axes.grid(True, axis="y", color=style.RULE, linewidth=0.6)
        _draw_chains(axes, traces, values)
        beside = style.add_axes(figure, left + WIDTH + 0.08, top + i * (HEIGHT + gap), BESIDE, HEIGHT)
        _draw_histograms(beside, axes, _kept(values, traces.burn_in), integer=name == "num_clusters")
        axes.tick_params(labelbottom=i == len(panels) - 1)
    axes.set_xlabel("iteration")
    beside.set_xlabel("after burn-in" if 0 < traces.burn_in < num_rows else "all", labelpad=14)
    _legend(figure, num_chains, left, top)
    return figure


def _least_agreed(traces: Traces, names: list[str]) -> list[str]:
    """Choose the names with the largest R-hat after the burn-in, weights of prevalences last."""
    disagreement = [diagnostics_of(_kept(traces.series[name], traces.burn_in)).rhat for name in names]
    are_weights = np.array([is_weight(name) for name in names])
    worst = np.lexsort((-np.array(disagreement), are_weights))[:MAX_HYPERPARAMETERS]
    return [names[i] for i in np.sort(worst)]


def _draw_chains(axes: Axes, traces: Traces, values: NDArray) -> None:
    x = traces.iterations
    marker = "o" if len(x) == 1 else None
    width = 0.9 if len(x) <= 2000 else 0.5
    for row, colour in zip(values, appearance.chain_colours(len(values))):
        axes.plot(x, row, color=colour, linewidth=width, alpha=0.8, marker=marker, markersize=4)
    first, last = float(x[0]), float(x[-1])
    margin = 0.01 * (last - first) or 1.0
    axes.set_xlim(first - margin, last + margin)
    style.number_ticks(axes.xaxis, 6, integer=True)
    if traces.burn_in:
        end = last + margin if traces.burn_in >= len(x) else (x[traces.burn_in - 1] + x[traces.burn_in]) / 2
        axes.axvspan(first - margin, end, color="#ececec", linewidth=0, zorder=0)


def _kept(values: NDArray, burn_in: int) -> NDArray:
    """Return the values (C, rows) after the burn-in, or all if there are none."""
    return values[:, burn_in:] if burn_in < values.shape[1] else values


def _linear_axis(axes: Axes, kept: NDArray, *, integer: bool) -> None:
    finite = kept[np.isfinite(kept)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    margin = 0.12 * (high - low) or 0.1 * abs(high) or 1.0
    if integer:
        margin = max(margin, 0.6)
    axes.set_ylim(low - margin, high + margin)
    style.number_ticks(axes.yaxis, 5, integer=integer, min_n_ticks=1)


def _draw_histograms(beside: Axes, axes: Axes, kept: NDArray, *, integer: bool) -> None:
    low, high = axes.get_ylim()
    if integer and high - low <= 2 * BINS:
        edges = np.arange(np.ceil(low), np.floor(high) + 2) - 0.5
    elif axes.get_yscale() == "log":
        edges = np.geomspace(low, high, BINS + 1)
    else:
        edges = np.linspace(low, high, BINS + 1)
    for row, colour in zip(kept, appearance.chain_colours(len(kept))):
        counts = np.histogram(row[np.isfinite(row)], edges)[0]
        beside.stairs(counts, edges, orientation="horizontal", color=colour, linewidth=0.9, alpha=0.8)
    beside.set(yscale=axes.get_yscale(), ylim=(low, high), xticks=[], yticks=[])
    beside.yaxis.set_minor_locator(NullLocator())
    beside.set_xlim(left=0)
    beside.spines["bottom"].set_visible(False)


def _logarithmic_axis(axes: Axes, values: NDArray) -> NDArray:
    """Set up a logarithmic axis, with "binomial" on top if values are infinite; return the values with these there."""
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if len(finite) else (10.0, 1000.0)
    powers = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    ticks = list(10.0**powers)
    labels = [f"{tick:,.0f}" if tick >= 1 else f"{tick:g}" for tick in ticks]
    axes.set_yscale("log")
    if len(finite) < values.size:
        top = ticks[-1] * 10
        values = np.where(np.isposinf(values), top, values)
        ticks.append(top)
        labels.append("binomial")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_yticks(ticks, labels)
    axes.set_ylim(ticks[0] / 1.3, ticks[-1] * 1.5)
    return values


def _legend(figure: Figure, num_chains: int, left: float, top: float) -> None:
    if num_chains == 1:
        return
    colours = appearance.chain_colours(num_chains)
    some = num_chains if num_chains <= len(appearance.PALETTE) else MAX_IN_ROW
    named = evenly_spaced(num_chains, some)
    handles = [Line2D([], [], color=colours[c], linewidth=2) for c in named]
    labels = [f"chain {c}" for c in named]
    columns = math.ceil(some / math.ceil(some / MAX_IN_ROW))
    look = {"loc": "lower left", "borderpad": 0, "handletextpad": 0.8, "columnspacing": 1.2}
    style.draw_legend(figure, handles, labels, left, top - 0.04, ncols=columns, **look)
