"""The kernels as plain Python (NUMBA_DISABLE_JIT=1): the same draws, the same labels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from cases import CASES, pyclone_model, two_samples_with_gaps

from pyclone_pgsm.likelihoods.model import FixedModel, Model
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.sampling.chain import advance, start_chain
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.tumour.outliers import TumourWithOutliers

ITERATIONS = 150
SETTINGS: list[tuple[Any, ...]] = [
    ("three_observations", {"sampler": "mixed", "particles": 5, "anchor_proposal": "cluster"}),
    ("counts", {"sampler": "mixed", "particles": 5, "close_moves": 4}),
    ("counts", {"sampler": "mixed", "particles": 8, "resample_threshold": 1.0, "init": "disconnected"}),
    ("counts", {"sampler": "pgsm", "particles": 3, "targets": "plain", "moves": 2}),
    ("two_samples_with_missing_data", {"sampler": "mixed", "particles": 5}, 0.2),
    ("base_of_two_samples", {"sampler": "mixed", "particles": 5, "close_moves": 2}, 0.0, "learned"),
]


def labels(
    name: str, changes: dict, outlier_prob: float = 0.0, prevalence_prior: str = ""
) -> list[list[int]]:
    case = CASES[name]()
    model: Model = FixedModel(case.likelihood, case.num_observations)
    if prevalence_prior:
        model = pyclone_model(two_samples_with_gaps(), 41, prevalence_prior=prevalence_prior)
    if outlier_prob:
        model = TumourWithOutliers(
            pyclone_model(two_samples_with_gaps(), 41), outlier_prob, np.full(case.num_observations, -6.0)
        )
    prior = DirichletProcess()
    settings = Settings(**changes, iterations=ITERATIONS, burn_in=50, seed=6)
    _, records, _ = advance(model, settings, start_chain(model, prior, settings, 0), 10, lambda _: False)
    return [row.tolist() for row in (*records.labels, *np.array(records.outliers, int))]


@pytest.fixture(scope="module")
def pure() -> list[list[list[int]]]:
    run = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    return json.loads(run.stdout)


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_compiled_and_pure_python_agree(pure: list[list[list[int]]], number: int) -> None:
    compiled = labels(*SETTINGS[number])
    assert compiled == pure[number]
    assert len(np.unique(compiled, axis=0)) > 3


if __name__ == "__main__":
    print(json.dumps([labels(*each) for each in SETTINGS]))
