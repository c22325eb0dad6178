"""Benchmarks of single questions, on data too small to say much: that they run, and what they return."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import Simulation, simulate

FOLDER = Path(__file__).parents[2] / "workflows" / "benchmark"
SHORT = Settings(iterations=20, burn_in=10, chains=1)


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)


def small(**options: Any) -> Simulation:
    return simulate(
        SimulationOptions(mutations=20, samples=2, clusters=2, **options), np.random.default_rng(1)
    )


def test_outliers(monkeypatch: pytest.MonkeyPatch) -> None:
    script = importlib.import_module("outliers")
    monkeypatch.setattr(script, "SETTINGS", SHORT)
    found = script.measure(small(artefacts=0.1), 0.05)
    assert len(found) == 7
    assert np.isfinite(found).all()


def test_overdispersion() -> None:
    drawn = small()
    found, labels = importlib.import_module("overdispersion").cluster(
        drawn.observations, SHORT, {"precision": None}
    )
    assert len(labels) == 20
    assert found["clusters"] == len(np.unique(labels))
    assert found["precision_lower"] <= found["precision"] <= found["precision_upper"]


def test_subclonal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    script = importlib.import_module("subclonal")
    monkeypatch.setattr(script, "SETTINGS", SHORT)
    script.print_chains([small(copy_numbers="mixed", subclonal=0.5)])
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(script.WAYS)
