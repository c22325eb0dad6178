"""Parts of the page that need no result."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from pyclone_pgsm.plots import appearance
from pyclone_pgsm.posterior.convergence import Diagnostic
from pyclone_pgsm.posterior.rows import Traces
from pyclone_pgsm.report import sections
from pyclone_pgsm.report.drawings import chain_pictures


def test_large_tables_are_not_in_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "MOST_FILE", 200)
    monkeypatch.setattr(sections, "MOST_ROWS", 1000)
    tables = {
        "small.tsv": pd.DataFrame({"x": [1.0, 2.0]}),
        "wide.tsv": pd.DataFrame({f"{k:x}{k**7:x}": [k**9] for k in range(100)}),
        "long.tsv": pd.DataFrame({"x": [1.0] * 1001}),
    }
    found = sections.files_of(SimpleNamespace(tables=tables), *tables)  # type: ignore[arg-type]
    assert list(found) == ["small.tsv"]


@pytest.mark.parametrize("burn_in", [0, 3])
def test_chains_are_drawn_if_the_shortest_has_nothing_after_the_burn_in(burn_in: int) -> None:
    traces = Traces({"log_joint": np.array([[-110.0, -100.0, -90.0]])}, burn_in, np.arange(1, 4))
    [(_, picture)] = chain_pictures(traces)
    assert ">-89<" in picture
    assert ">-111<" in picture


def test_infinite_precisions_are_binomial_in_the_table() -> None:
    found = Diagnostic("precision", 200.0, 80.0, math.inf, math.inf, 12.0)
    traces = Traces({"log_joint": np.zeros((1, 3))}, 0, np.arange(1, 4))
    content = SimpleNamespace(result=SimpleNamespace(diagnostics=[found], traces=traces))
    page = sections.chains_section(content).body  # type: ignore[arg-type]
    assert "<td class=t>precision<td>200<td>80<td>binomial<td>inf<td>12" in page


@pytest.mark.parametrize("burn_in", [0, 1])
def test_infinite_precisions_are_binomial(burn_in: int) -> None:
    """They are above all others, those of the burn-in included; without them the axis has numbers at both ends."""
    draws = [[1000.0, 100.0, math.inf, 200.0], [50.0, 100.0, 200.0, 100.0]]
    finite = [[50.0, 100.0, 200.0, 100.0]]
    for values, top in (
        (draws, "binomial"),
        (finite, f"{200 * (200 / (100 if burn_in else 50)) ** 0.05:.3g}"),
    ):
        traces = Traces({"precision:S": np.array(values)}, burn_in, np.arange(1, 5))
        [(name, picture)] = chain_pictures(traces)
        assert name == "precision:S"
        assert re.findall(r'text-anchor="end">([^<]*)<', picture)[0] == top
    traces = Traces({"precision": np.array(draws)}, burn_in, np.arange(1, 5))
    [(_, picture)] = chain_pictures(traces)
    lines = re.findall(r'points="([^"]*)"', picture)
    first, second = ([float(point.split(",")[1]) for point in line.split()] for line in lines)
    assert first.index(min(first)) == 2
    assert min(first) == 6.0 < min(first[:2] + first[3:] + second)


def test_precisions_that_are_all_infinite() -> None:
    [(_, picture)] = chain_pictures(Traces({"precision": np.full((1, 3), math.inf)}, 0, np.arange(1, 4)))
    assert ">binomial<" in picture


@pytest.mark.parametrize("num_chains", [2, 12, 13, 30])
def test_chains_have_the_colours_of_the_pictures(num_chains: int) -> None:
    [(_, picture)] = chain_pictures(Traces({"log_joint": np.ones((num_chains, 3))}, 0, np.arange(1, 4)))
    colours = re.findall(r'<polyline[^>]*stroke="([^"]*)"', picture)
    assert colours == appearance.chain_colours(num_chains)
    assert len(set(colours)) == num_chains
