"""Draws of a likelihood's hyperparameters given the partition."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.choice import IndependenceProposal
from pyclone_pgsm.likelihoods.model import Model, Values
from pyclone_pgsm.partition import Partition, build_partition, log_likelihood

NODE_STEP = 4
"""Number of values from one to the next at which :func:`log_densities_of_choice` computes the density."""


def partition_log_likelihood(likelihood: Any, partition: Partition) -> float:
    """Return sum_b log L(y_b), including constants, so that it can be compared between hyperparameter values."""
    kernel = compiled_for(log_likelihood, type(likelihood))
    return float(kernel(likelihood, partition)) + likelihood.log_constant()


class Evaluated(NamedTuple):
    """Values of the hyperparameters, and the objects that depend on them.

    Attributes
    ----------
    values : tuple of float
    likelihood : NamedTuple
        The model's likelihood at the values.
    partition : Partition
        Its statistics are those at the values.
    log_density : float
        log p(values, y | c), up to a constant of the hyperprior.
    """

    values: Values
    likelihood: Any
    partition: Partition
    log_density: float


def evaluate(model: Model, values: Values, likelihood: Any, partition: Partition) -> Evaluated:
    """Return the state at these values, with its log density."""
    log_density = partition_log_likelihood(likelihood, partition) + model.log_hyperprior(values)
    return Evaluated(values, likelihood, partition, log_density)


def log_densities_of_choice(
    model: Model, values: Values, partition: Partition, which: int
) -> NDArray[np.float64]:
    """Return log p(value, y | c, other hyperparameters), (V,), up to a constant, of the values of one choice.

    It is computed for every :data:`NODE_STEP`-th value and the last, and interpolated between them.
    """
    choice = model.choices[which]
    last = len(choice.values) - 1
    nodes = np.append(np.arange(0, last, NODE_STEP), last)
    at_nodes = [
        _state_at(model, (*values[:which], choice.values[node], *values[which + 1 :]), partition).log_density
        for node in nodes
    ]
    return np.interp(np.arange(last + 1), nodes, at_nodes)


def resample_hyperparameters(
    model: Model,
    values: Values,
    likelihood: Any,
    partition: Partition,
    independence: Sequence[IndependenceProposal],
    rng: np.random.Generator,
    costly: bool,
) -> Evaluated:
    """Draw the hyperparameters, now `values`, given the partition; only those whose change is cheap unless `costly`.

    First come the draws that the model makes given the parameters of the blocks, then, with these summed out, as many
    Metropolis-Hastings steps as it requests. Both leave p(values | c, y) ∝ p(values) prod_b L(y_b; values) invariant.

    Returns
    -------
    Evaluated
        The new state, with the given likelihood and partition if nothing changed.
    """
    drawn = model.draw_given_parameters(values, likelihood, partition, independence, rng, costly)
    if drawn == values:
        current = evaluate(model, values, likelihood, partition)
    else:
        current = _state_at(model, drawn, partition)
    for _ in range(model.num_proposals if costly else 0):
        current = _metropolis_hastings_step(model, current, independence, rng)
    return current


def _metropolis_hastings_step(
    model: Model, current: Evaluated, independence: Sequence[IndependenceProposal], rng: np.random.Generator
) -> Evaluated:
    proposal, log_q = model.propose(current.values, rng, independence)
    if proposal == current.values:
        return current
    proposed = _state_at(model, proposal, current.partition)
    log_ratio = proposed.log_density - current.log_density + log_q
    return proposed if rng.random() < math.exp(min(log_ratio, 0.0)) else current


def _state_at(model: Model, values: Values, partition: Partition) -> Evaluated:
    """Return the state at other values, with statistics recomputed."""
    likelihood = model.likelihood(values)
    build = compiled_for(build_partition, type(likelihood))
    return evaluate(model, values, likelihood, build(likelihood, partition.labels))
