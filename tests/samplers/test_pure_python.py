"""The kernels as plain Python (NUMBA_DISABLE_JIT=1): the same draws, the same labels."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from cases import CASES, pyclone_model, two_samples_with_gaps
from plain_python import answers_of_plain_python

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
    labels: list[list[list[int]]] = answers_of_plain_python(__file__)
    return labels


@pytest.mark.parametrize("number", range(len(SETTINGS)))
def test_compiled_and_pure_python_agree(pure: list[list[list[int]]], number: int) -> None:
    compiled = labels(*SETTINGS[number])
    assert compiled == pure[number]
    assert len(np.unique(compiled, axis=0)) > 3


if __name__ == "__main__":
    print(json.dumps([labels(*each) for each in SETTINGS]))
