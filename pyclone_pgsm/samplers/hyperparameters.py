"""Metropolis-Hastings for a likelihood's hyperparameters given the partition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.choice import IndependenceProposal
from pyclone_pgsm.likelihoods.model import Model, Values
from pyclone_pgsm.partition import Partition, build_partition, log_likelihood

HOPELESS = -5.0
"""The log probability of passing an estimate is never taken as less than this. Otherwise a wrong, very low estimate of
the way back would make the second acceptance refuse a good proposal."""


def _log_pass(log_ratio: float) -> float:
    """Log probability that a proposal passes its estimate."""
    return min(max(log_ratio, HOPELESS), 0.0)


def partition_log_likelihood(likelihood: Any, partition: Partition) -> float:
    """sum_b log L(y_b), constants included, so that values at different hyperparameters compare."""
    kernel = compiled_for(log_likelihood, type(likelihood))
    return float(kernel(likelihood, partition)) + likelihood.log_constant()


class Evaluated(NamedTuple):
    """Values of the hyperparameters, and what depends on them.

    Attributes
    ----------
    values : tuple of float
    likelihood : NamedTuple
        The model's likelihood at the values.
    partition : Partition
        With statistics at the values.
    log_density : float
        log p(values, y | c), up to a constant of the hyperprior.
    """

    values: Values
    likelihood: Any
    partition: Partition
    log_density: float


def evaluate(model: Model, values: Values, likelihood: Any, partition: Partition) -> Evaluated:
    """The state at these values, with its log density."""
    log_density = partition_log_likelihood(likelihood, partition) + model.log_hyperprior(values)
    return Evaluated(values, likelihood, partition, log_density)


def resample_hyperparameters(
    model: Model, current: Evaluated, independence: Sequence[IndependenceProposal], rng: np.random.Generator
) -> Evaluated:
    """One Metropolis-Hastings step for p(values | c, y) ∝ p(values) prod_b L(y_b; values).

    Where the likelihood is expensive to make, the model may estimate what a proposal changes;
    then acceptance is delayed (Christen & Fox 2005, J. Comput. Graph. Stat. 14, 795). First a proposal must be
    accepted by the estimate, and only if it is, its likelihood is made. The second acceptance corrects the first: the
    target is the same, however bad the estimate. But where an estimate is too low good proposals are refused.

    Returns
    -------
    Evaluated
        The new state; `current` itself if the proposal was refused.
    """
    values, likelihood, partition, log_density = current
    proposal, log_q = model.propose(values, rng, independence)
    if proposal == values:
        return current
    estimate_change = model.estimate_change if model.has_estimates else None
    log_passed = 0.0
    if estimate_change:
        log_passed = _log_pass(estimate_change(values, likelihood, partition, proposal) + log_q)
        if rng.random() >= math.exp(log_passed):
            return current
    made = model.likelihood(proposal)
    proposed = evaluate(
        model, proposal, made, compiled_for(build_partition, type(made))(made, partition.labels)
    )
    log_ratio = proposed.log_density - log_density + log_q
    if estimate_change:
        log_passed_back = _log_pass(estimate_change(proposal, made, proposed.partition, values) - log_q)
        log_ratio += log_passed_back - log_passed
    return proposed if rng.random() < math.exp(min(log_ratio, 0.0)) else current
