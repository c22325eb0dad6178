"""Start from the posterior, one kernel step, still the posterior."""

from __future__ import annotations

import numpy as np
import pytest
from cases import CASES
from one_step import Kernel, p_value

REPLICATES = 120_000
REPLICATES_OF_TUMOURS = 40_000
"""Each takes several times as long. Almost all faults of test_broken_kernels.py show with as many."""

# Every kernel, both targets, both anchor proposals, few and many particles, never to always resampling, on every
# kind of data; a covering set, not the whole product.
GIBBS = Kernel(sweeps=1)
KERNELS = {
    "one_sample": [
        GIBBS,
        Kernel(moves=1, particles=2, threshold=0.5),
        Kernel(moves=1, particles=20, threshold=1.0, annealed=False),
        Kernel(moves=1, particles=3, threshold=0.0, cluster_informed=True),
        Kernel(sweeps=1, moves=1),
    ],
    "two_samples_with_missing_data": [
        GIBBS,
        Kernel(moves=1, particles=20, threshold=0.5),
        Kernel(moves=1, particles=3, threshold=1.0, annealed=False, cluster_informed=True),
        Kernel(sweeps=1, moves=2, particles=3, threshold=1.0, cluster_informed=True),
    ],
    "copy_numbers": [
        GIBBS,
        Kernel(moves=1, particles=20, threshold=1.0, cluster_informed=True),
        Kernel(moves=1, particles=2, threshold=1.0, annealed=False),
        Kernel(sweeps=1, moves=1, particles=3, threshold=0.0),
    ],
    "underflow": [
        GIBBS,
        Kernel(moves=1, particles=20, threshold=0.5),
        Kernel(moves=1, particles=3, threshold=0.5, annealed=False, cluster_informed=True),
        Kernel(sweeps=1, moves=1, particles=2, threshold=1.0),
    ],
    "narrow": [
        GIBBS,
        Kernel(moves=1, particles=20, threshold=0.5),
        Kernel(moves=1, particles=2, annealed=False),
        Kernel(sweeps=1, moves=1, particles=5, threshold=1.0),
    ],
    "base_of_one_sample": [
        GIBBS,
        Kernel(moves=1, particles=20, threshold=0.5),
        Kernel(moves=1, particles=3, threshold=1.0, annealed=False, cluster_informed=True),
    ],
    "base_of_two_samples": [
        GIBBS,
        Kernel(moves=1, particles=20, threshold=0.5, cluster_informed=True),
        Kernel(moves=1, particles=2, threshold=1.0, annealed=False),
        Kernel(sweeps=1, moves=1, particles=5, threshold=0.0),
    ],
    "base_of_narrow_likelihoods": [
        GIBBS,
        Kernel(moves=1, particles=20, threshold=0.5),
        Kernel(sweeps=1, moves=1, particles=3, threshold=1.0, annealed=False),
    ],
    "two_observations": [
        GIBBS,
        Kernel(moves=1, particles=2),
        Kernel(moves=1, particles=20, annealed=False),
    ],
    "three_observations": [
        GIBBS,
        Kernel(moves=1, particles=2, threshold=1.0),
        Kernel(moves=1, particles=3, annealed=False, cluster_informed=True),
    ],
    "counts_of_two": [
        Kernel(moves=1, particles=2),
        Kernel(moves=1, particles=3, annealed=False),
    ],
    "counts_of_three": [
        Kernel(sweeps=1, moves=1, particles=2, threshold=1.0),
        Kernel(moves=1, particles=20, threshold=0.5),
    ],
    "counts": [
        GIBBS,
        Kernel(moves=1, particles=2, threshold=1.0),
        Kernel(moves=1, particles=3, threshold=0.5, cluster_informed=True),
        Kernel(moves=1, particles=20, threshold=0.0),
        Kernel(moves=1, particles=20, threshold=1.0),
        Kernel(moves=1, particles=3, threshold=1.0, annealed=False),
        Kernel(moves=1, particles=20, threshold=0.5, annealed=False, cluster_informed=True),
        Kernel(sweeps=1, moves=2, particles=20, threshold=0.5),
    ],
}


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        pytest.param(name, kernel, id=f"{name}-{kernel}")
        for name, kernels in KERNELS.items()
        for kernel in kernels
    ],
)
def test_one_step_from_the_posterior_is_the_posterior(name: str, kernel: Kernel) -> None:
    case = CASES[name]()
    replicates = REPLICATES if name.startswith("counts") else REPLICATES_OF_TUMOURS
    assert p_value(case.likelihood, case.posterior, case.concentration, kernel, replicates) > 1e-4


@pytest.mark.parametrize("name", CASES)
def test_the_posterior_is_spread_out(name: str) -> None:
    """Or else the tests above would say little."""
    assert CASES[name]().posterior.probabilities.max() < 0.7


def test_the_outlier_underflows() -> None:
    """The data meant for it do drive the formulas in logs: in some sample the outlier's likelihood times that of any
    other observation is below the smallest number at every grid point."""
    likelihood = CASES["underflow"]().likelihood
    xi = likelihood.xi[likelihood.index]  # (T, D, G)
    overlap = (xi[:-1] + xi[-1]).max(axis=2)
    assert np.all(overlap.min(axis=1) < np.log(np.finfo(float).tiny))
    assert np.all(overlap < -200)
