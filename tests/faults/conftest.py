"""One nursery of commands, and small results to spoil, for all tests of this folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1]))
from nursery import Nursery

SHORT = ("--iterations", "16", "--burn-in", "8", "--chains", "2", "--threads", "1", "--grid-size", "21")
MATRIX = (*SHORT[:-2], "--likelihood", "normal")


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as made:
        yield made


@pytest.fixture(scope="session")
def made(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two tables, traces (``a.h5``, ``b.h5``, the shorter ``half.h5``) and older results (``old*``)."""
    folder = tmp_path_factory.mktemp("made")

    def do(*arguments: object) -> None:
        ended = nursery.run(*arguments, "--quiet")
        assert (ended.code, ended.err) == (0, ""), arguments

    small = ("--mutations", 6, "--samples", 2, "--clusters", 2)
    do("simulate", "-o", folder, *small, "--name", "tumour", "--seed", 3)
    do("simulate", "-o", folder / "old_simulated", *small, "--seed", 4)
    points = np.random.default_rng(1).normal(size=(6, 2)) + np.array([[-4.0], [4.0]]).repeat(3, axis=0)
    np.savetxt(folder / "points.csv", points, delimiter=",", header="x,y", comments="")
    table, data = folder / "tumour.tsv", folder / "points.csv"
    for name, seed in (("a", 1), ("b", 2), ("old", 9)):
        do("run", table, "-o", folder / f"{name}.h5", *SHORT, "--seed", seed)
    do("run", table, "-o", folder / "half.h5", "--iterations", 9, *SHORT[2:])
    do("summarize", folder / "old.h5", "-o", folder / "old_summary", "--no-plots")
    do("plot", folder / "old.h5", "-o", folder / "old_pictures", "--format", "png")
    do("analyze", table, "-o", folder / "old_analysis", *SHORT, "--seed", 9, "--no-plots")
    do("cluster", data, "-o", folder / "old_clusters", *MATRIX, "--seed", 9, "--no-plots")
    return folder
