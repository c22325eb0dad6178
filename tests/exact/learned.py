"""Partition, outliers, precision and the weights of a learned base measure together: their exact joint posterior.

p(c, o, s, w | y) ∝ p(c) p(o) p(s) prod over outliers of L'(y_i; s) prod over samples d of
    6 w_d2 prod over blocks b of (w_d0 M_bd0 + w_d1 M_bd1 + w_d2 M_bd2),     M_bdj = sum_k A_jk exp(sum of Xi_dk(y_i)):

given the rest a polynomial in the weights, at most of degree T + 1. The simplex of the weights is cut into n^2 equal
triangles, over which Gaussian quadrature is exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from cases import pyclone_log_marginal
from enumeration import blocks_of, component_masses, set_partitions
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp
from test_outliers import key, log_outlier

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.likelihoods.pyclone import PyClone
from pyclone_pgsm.tumour.model import PyCloneModel
from pyclone_pgsm.tumour.outliers import TumourWithOutliers

NODES = 4  # in each direction: exact up to degree 5 in the weights


def triangles(n: int) -> NDArray[np.float64]:
    """(n^2, 3, 3) corners of the triangles, as weights."""
    first = [(i, j) for i in range(n) for j in range(n - i)]
    second = [(i, j) for i in range(n - 1) for j in range(n - 1 - i)]
    corners = [[(i, j), (i + 1, j), (i, j + 1)] for i, j in first]
    corners += [[(i + 1, j + 1), (i + 1, j), (i, j + 1)] for i, j in second]
    given = np.array(corners) / n
    return np.concatenate([given, 1.0 - given.sum(axis=2, keepdims=True)], axis=2)


def triangle_of(weights: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    """(...) numbers of the triangles in which the weights (..., 2), the first two of a sample, lie."""
    i, j = np.moveaxis((n * weights).astype(int), -1, 0)
    is_second = (n * weights).sum(axis=-1) - i - j > 1.0
    number = np.zeros((2, n, n), np.int64)
    number[0][np.add.outer(range(n), range(n)) < n] = range(n * (n + 1) // 2)
    number[1][np.add.outer(range(n), range(n)) < n - 1] = range(n * (n + 1) // 2, n * n)
    return number[is_second.astype(int), i, j]


def nodes(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points (n^2, Q, 3) in each triangle and their quadrature weights (Q,)."""
    x, weight = np.polynomial.legendre.leggauss(NODES)
    x, weight = (x + 1) / 2, weight / 2
    u, v = (each.ravel() for each in np.meshgrid(x, x, indexing="ij"))
    inside = np.column_stack([u, v * (1 - u), (1 - u) * (1 - v)])
    return inside @ triangles(n), (np.outer(weight, weight).ravel() * (1 - u)) / n**2


def block_masses(
    xi: NDArray[np.float64], index: NDArray[np.integer], members: list[int]
) -> NDArray[np.float64]:
    """(D, 3) M of a block; `xi` with its maxima."""
    sums = np.array([xi[rows[rows >= 0]].sum(axis=0) for rows in index[members].T])
    return np.exp(sums) @ component_masses(xi.shape[1]).T


def dirichlet_moments(masses: NDArray[np.float64]) -> float:
    """E prod_b (w · M_b) for w ~ Dirichlet(1, 1, 2), component by component; `masses` (K, 3)."""
    total = 0.0
    for choice in itertools.product(range(3), repeat=len(masses)):
        counts = np.bincount(choice, minlength=3) + np.array([1, 1, 2])
        log_moment = gammaln(4.0) + gammaln(counts).sum() - gammaln(counts.sum())
        total += np.exp(log_moment) * np.prod([mass[j] for mass, j in zip(masses, choice)])
    return float(total)


@dataclass(frozen=True)
class Joint:
    """All states but for the weights, S in number, and what the weights' posterior is given each.

    Attributes
    ----------
    labels, outliers : (S, T)
    precision : (S,) float64
    log_rest : (S,) float64
        All factors that do not hold the weights.
    masses : list of (K, D, 3) float64
    triangles : int
        n of each sample.
    """

    labels: NDArray[np.int32]
    outliers: NDArray[np.bool_]
    precision: NDArray[np.float64]
    log_rest: NDArray[np.float64]
    masses: list[NDArray[np.float64]]
    triangles: int

    @cached_property
    def log_cells(self) -> NDArray[np.float64]:
        """(S, n^2 D) log joint probability, integrated over each combination of triangles."""
        points, quadrature = nodes(self.triangles)
        rows = []
        for masses, rest in zip(self.masses, self.log_rest):
            density = 6.0 * points[None, :, :, 2] * np.einsum("kdj,tqj->kdtq", masses, points).prod(axis=0)
            of_samples = np.log(density @ quadrature)
            rows.append(rest + sum(np.meshgrid(*of_samples, indexing="ij")).ravel())
        return np.array(rows)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(S, n^2 D)."""
        return np.exp(self.log_cells - logsumexp(self.log_cells))

    @cached_property
    def number(self) -> dict[tuple[bytes, float], int]:
        return {
            (key(labels, outliers), precision): s
            for s, (labels, outliers, precision) in enumerate(
                zip(self.labels, self.outliers, self.precision.tolist())
            )
        }

    def cells(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """(N,) combinations of triangles in which the weights (N, 2 D), as hyperparameters, lie."""
        found = np.zeros(len(weights), np.int64)
        for of_sample in np.split(weights, weights.shape[1] // 2, axis=1):
            found = found * self.triangles**2 + triangle_of(of_sample, self.triangles)
        return found

    def draw_weights(self, s: int, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """(size, 2 D) weights, as hyperparameters, from their posterior given the rest, by rejection."""
        columns = []
        for of_sample in np.moveaxis(self.masses[s], 1, 0):
            scaled = of_sample / of_sample.max(axis=1, keepdims=True)
            found = np.empty((0, 3))
            while len(found) < size:
                proposals = rng.dirichlet([1.0, 1.0, 2.0], 20 * size)
                passed = rng.random(len(proposals)) < (proposals @ scaled.T).prod(axis=1)
                found = np.concatenate([found, proposals[passed]])
            columns.append(found[:size, :2])
        return np.concatenate(columns, axis=1)


def enumerate_joint(
    model: PyCloneModel | TumourWithOutliers,
    data: Observations,
    precisions: dict[float, float],
    log_prior: Callable[[NDArray[np.int32]], float],
    num_triangles: int,
) -> Joint:
    """With outliers, if the model has any; `precisions` with their probabilities."""
    T = data.num_mutations
    may_be = (False, True) if isinstance(model, TumourWithOutliers) else (False,)
    prob = model.prob if isinstance(model, TumourWithOutliers) else 0.0
    rows, masses = [], []
    for precision, of_precision in precisions.items():
        values = (precision, *model.initial_values()[1:])
        likelihood: PyClone = (
            model.full_likelihood(values)
            if isinstance(model, TumourWithOutliers)
            else model.likelihood(values)
        )
        xi = likelihood.xi + likelihood.xi_max[:, None]
        alone = log_outlier(pyclone_log_marginal(likelihood, ((0.0, 0.0, 1.0),) * data.num_samples), data)
        for labels in set_partitions(T):
            for flags in itertools.product(may_be, repeat=T):
                outliers = np.array(flags)
                rest = np.log(of_precision) + log_prior(labels) + alone[outliers].sum()
                rest += outliers.sum() * np.log(prob or 1.0) + (~outliers).sum() * np.log1p(-prob)
                members = [[i for i in block if not outliers[i]] for block in blocks_of(labels.tolist())]
                rows.append((labels, outliers, precision, rest))
                masses.append(np.array([block_masses(xi, likelihood.index, block) for block in members]))
    columns = (np.array(column) for column in zip(*rows))
    return Joint(*columns, masses, num_triangles)
