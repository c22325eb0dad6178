"""Densities of observations left out, against evidences by enumeration: Bayes' theorem as an identity, without draws.

The mean of 1 / p(y_i | state without i, y without y_i) over all states, weighted by their posterior, is
p(y without y_i) / p(y), both by enumeration.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from cases import CASES, Case, observations, pyclone_log_marginal, pyclone_model
from enumeration import blocks_of, set_partitions
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import multivariate_t
from seating import seating_probability
from test_outliers import PRIORS, PROB, log_outlier, two_samples

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.likelihoods.inferred import InferredModel
from pyclone_pgsm.likelihoods.normal import Normal
from pyclone_pgsm.partition import build_partition
from pyclone_pgsm.posterior.stacking import Draw, log_densities, log_densities_given
from pyclone_pgsm.priors import Prior
from pyclone_pgsm.tumour.outliers import TumourWithOutliers, log_any_share

State = tuple[Draw, float]
"""A state, of which observations may be left out (label -1), and its log joint density."""


def log_seating(prior: Prior, labels: Sequence[int]) -> float:
    p = seating_probability(prior, canonical(labels))
    return float(np.log(p)) if p > 0.0 else -np.inf


def check(
    states: Callable[[list[int]], Iterator[State]], ask: Callable[[Draw], NDArray[np.float64]], T: int
) -> None:
    """`states` are those of some of the T observations."""
    everything = list(range(T))
    every = [(draw, log_p) for draw, log_p in states(everything) if log_p > -np.inf]
    log_joint = np.array([log_p for _, log_p in every])
    found = np.array([ask(draw) for draw, _ in every])
    log_inverse = logsumexp(log_joint[:, None] - found, axis=0) - logsumexp(log_joint)
    without = [
        logsumexp([log_p for _, log_p in states([j for j in everything if j != i])]) for i in everything
    ]
    np.testing.assert_allclose(-log_inverse, logsumexp(log_joint) - without, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(
    "name", ["one_sample", "repeated", "two_samples_with_missing_data", "copy_numbers", "underflow", "counts"]
)
def test_densities_of_partitions(name: str, prior: str) -> None:
    case: Case = CASES[name]()
    likelihood = case.likelihood
    build = compiled_for(build_partition, type(likelihood))
    constants = np.array([case.log_marginal([i]) for i in range(case.num_observations)])
    constants -= [likelihood.log_prior_predictive(i) for i in range(case.num_observations)]

    def states(items: list[int]) -> Iterator[State]:
        for labels in set_partitions(len(items)):
            of_data = sum(case.log_marginal([items[t] for t in block]) for block in blocks_of(labels))
            yield Draw(0, (), PRIORS[prior], labels, None), log_seating(PRIORS[prior], labels) + of_data

    def ask(draw: Draw) -> NDArray[np.float64]:
        order = np.arange(len(draw.labels))
        given = log_densities_given(likelihood, draw.prior, build(likelihood, draw.labels), order)
        return given if hasattr(likelihood, "log_constants") else given + constants

    check(states, ask, case.num_observations)


def repeated_reads() -> Observations:
    """Of one sample: mutations of one kind in a block share a density, but for the outliers."""
    return observations([[2], [2], [9], [2]], [[24], [24], [30], [24]])


@pytest.mark.parametrize("make", [two_samples, repeated_reads])
@pytest.mark.parametrize("prior", PRIORS)
def test_densities_with_outliers_and_an_inferred_precision(
    prior: str, make: Callable[[], Observations]
) -> None:
    """Densities at different precisions compare: what the tables leave out depends on the precision."""
    data = make()
    base = pyclone_model(data, 31, precision=None)
    model = TumourWithOutliers(base, PROB, log_any_share(data))
    precisions = {(10.0,): 0.3, (np.inf,): 0.7}
    marginals = {values: pyclone_log_marginal(base.likelihood(values)) for values in precisions}
    alone = {values: log_outlier(marginals[values], data) for values in precisions}

    def states(items: list[int]) -> Iterator[State]:
        for values, flags in itertools.product(
            precisions, itertools.product((False, True), repeat=len(items))
        ):
            outliers = np.array(flags)
            members = [i for i, flag in zip(items, flags) if not flag]
            log_p = np.log(precisions[values]) + sum(
                alone[values][items[t]] for t in np.flatnonzero(outliers)
            )
            log_p += outliers.sum() * np.log(PROB) + (~outliers).sum() * np.log(1.0 - PROB)
            for placed in set_partitions(len(members)):
                blocks = blocks_of(placed) if members else []
                of_data = sum(marginals[values]([members[t] for t in block]) for block in blocks)
                labels = len(items) + np.arange(len(items))  # an outlier is a block of its own
                labels[~outliers] = placed
                draw = Draw(0, values, PRIORS[prior], canonical(labels).astype(np.int32), outliers)
                yield draw, log_p + log_seating(PRIORS[prior], placed) + of_data

    check(states, lambda draw: log_densities(model, draw), data.num_mutations)


def test_a_mutation_without_data_is_certain() -> None:
    data = observations([[3], [5], [9]], [[12], [14], [20]], has_data=[[1], [0], [1]])
    draw = Draw(0, (), PRIORS["dp"], np.zeros(3, np.int32), None)
    assert log_densities(pyclone_model(data, 31), draw)[1] == pytest.approx(0.0, abs=1e-12)


def test_densities_at_different_scales_compare() -> None:
    """What Normal leaves out depends on the scale, as its data are divided by it."""
    y = np.array([[0.0, 1.0], [0.3, 0.5], [2.0, 4.0], [2.5, 3.0]])
    model = InferredModel("normal", Normal, y, {"scale": "infer", "r0": "infer", "u0": 0.5})
    values = [(0.125, 0.5), (0.125, 2.0), (1.0, 4.0)]
    marginals = {each: normal_log_marginal(y, *each) for each in values}

    def states(items: list[int]) -> Iterator[State]:
        for each, labels in itertools.product(values, map(np.array, set_partitions(len(items)))):
            of_data = sum(marginals[each]([items[t] for t in block]) for block in blocks_of(labels))
            draw = Draw(0, each, PRIORS["dp"], labels.astype(np.int32), np.zeros(len(labels), bool))
            yield draw, log_seating(PRIORS["dp"], labels) + of_data

    check(states, lambda draw: log_densities(model, draw), len(y))


def normal_log_marginal(y: NDArray[np.float64], r0: float, scale: float) -> Callable[[list[int]], float]:
    """log L of a block, as a product of scipy's Student-t predictives."""

    def log_marginal(members: list[int]) -> float:
        total, nu, r, u, S = 0.0, 4.0, r0, np.full(2, 0.5), scale * np.diag(y.var(axis=0))
        for i in members:
            total += multivariate_t.logpdf(y[i], u, S * (r + 1) / (r * (nu - 1)), df=nu - 1)
            S = S + r / (r + 1) * np.outer(y[i] - u, y[i] - u)
            nu, r, u = nu + 1, r + 1, (r * u + y[i]) / (r + 1)
        return total

    return log_marginal
