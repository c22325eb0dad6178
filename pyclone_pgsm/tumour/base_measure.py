"""The base measure of cellular prevalences in each sample, learned from the tumour.

PyClone's prior of a cluster's prevalence is uniform in every sample. But subclones are absent from many samples, and
the clone from which all others descend is in all tumour cells. So the prevalence in sample d has the distribution

    H_d = w_d0 Beta(a, 1) + w_d1 Beta(1, a) + w_d2 Beta(1, 1),     w_d ~ Dirichlet(1, 1, 2),     a = 0.1:

near 0 (absent), near 1 (clonal), or anywhere (subclonal). On the grid, h_dk is the mass of H_d in the cell of point k;
cells end half-way between points, and at 0 and 1. All three components are continuous: with atoms at 0 and 1 two
clusters could have exactly the same prevalences.

The weights are drawn given the blocks' prevalences: first each block's component in each sample, which at grid point k
is j with probability proportional to w_dj times the mass of component j in the cell of k; then the weights, from
Dirichlet(1 + n_d0, 1 + n_d1, 2 + n_d2), where n_dj is the number of blocks with component j in sample d.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.tumour.grid import cell_ends

ABSENT, CLONAL = "weight_absent", "weight_clonal"
"""Names of the hyperparameters w_d0 and w_d1, each followed by a colon and the sample; w_d2 is the rest."""
UNIFORM = 2
"""Number of the component Beta(1, 1)."""
SHAPE = 0.1
DIRICHLET = np.array([1.0, 1.0, 2.0])
LOG_NORMALISER = math.lgamma(DIRICHLET.sum()) - sum(map(math.lgamma, DIRICHLET))
SMALLEST_WEIGHT = 1e-9


def weight_names(sample_ids: Sequence[str]) -> list[str]:
    """Return the names of the 2 D hyperparameters, sample after sample."""
    return [f"{name}:{sample}" for sample in sample_ids for name in (ABSENT, CLONAL)]


def is_weight(name: str) -> bool:
    """Whether a hyperparameter is a weight of the base measure of some sample."""
    return name.partition(":")[0] in (ABSENT, CLONAL)


def initial_weights(num_samples: int) -> tuple[float, ...]:
    """Return the prior mean of the weights, as hyperparameters."""
    return tuple((DIRICHLET / DIRICHLET.sum())[:2].tolist()) * num_samples


def all_weights(values: Sequence[float]) -> NDArray[np.float64]:
    """Return the weights (D, 3) for the 2 D hyperparameters."""
    given = np.array(values).reshape(-1, 2)
    return np.column_stack([given, 1.0 - given.sum(axis=1)])


def log_prior_density(weights: NDArray[np.float64]) -> float:
    """Return the log prior density of the first two weights of each sample, given all weights (D, 3)."""
    return len(weights) * LOG_NORMALISER + float((np.log(weights) * (DIRICHLET - 1.0)).sum())


def component_masses(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the masses of the three components in the cells of a grid (G,), (3, G)."""
    ends = cell_ends(grid)
    return np.array([np.diff(ends**SHAPE), -np.diff((1.0 - ends) ** SHAPE), np.diff(ends)])


def draw_prevalences(
    weights: NDArray[np.float64], num_clusters: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw K independent prevalences from each H_d, (K, D); weights (D, 3)."""
    u, v = rng.random((2, num_clusters, len(weights)))
    near_zero = v ** (1.0 / SHAPE)
    is_absent, is_clonal = u < weights[:, 0], u >= 1.0 - weights[:, 1]
    return np.where(is_absent, near_zero, np.where(is_clonal, 1.0 - near_zero, v))


def draw_weights(
    points: NDArray[np.int64],
    weights: NDArray[np.float64],
    components: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[float, ...]:
    """Draw the weights, now (D, 3), given the blocks' prevalences as grid points (K, D).

    `components` (3, G) are the :func:`component_masses`. Returns the new weights as hyperparameters.
    """
    masses = (weights * components.T[points]).cumsum(axis=2)  # (K, D, 3)
    limit = rng.random(points.shape) * masses[:, :, 2]
    below_first, below_second = ((limit < masses[:, :, j]).sum(axis=0) for j in (0, 1))
    counts = np.column_stack([below_first, below_second - below_first, len(points) - below_second])
    gammas = rng.standard_gamma(DIRICHLET + counts)
    weights = np.maximum(gammas / gammas.sum(axis=1, keepdims=True), SMALLEST_WEIGHT)
    weights /= weights.sum(axis=1, keepdims=True)
    return tuple(weights[:, :2].ravel().tolist())
