"""Weights of chains that stay apart: stacking (Yao, Vehtari & Gelman 2022, J. Mach. Learn. Res. 23, 79).

Chains that do not mix each explore a part of the posterior. The number of chains that end in a part depends more on
where they started than on its probability, so with equal weights, a chain that is stuck in a poor explanation of the
data distorts the result. Stacking chooses the weights w of the chains so that their mixture predicts each observation
well from the others:

    maximise   sum_i log sum_k w_k p_k(y_i | y without i)  +  (lambda - 1) sum_k log w_k,      w_k > 0, sum_k w_k = 1.

The second term is the log density of a Dirichlet(lambda) distribution, up to a constant. It pulls the weights of chains
with nearly the same predictions towards each other: two chains whose log scores of 500 observations differ by 0.1 in
all have the weights 0.61 and 0.39, and 0.91 and 0.09 if they differ by 1.

p_k(y_i | y without i) is the harmonic mean over draws of chain k of p(y_i | c without i, y without i) (integrated
importance sampling: the block of i is summed over, see :func:`log_density_without`). This is exact, since by Bayes'
theorem

    E[1 / p(y_i | c without i, eta, y without i) | y]  =  1 / p(y_i | y without i)

for the partition c and the hyperparameters eta.

The weights depend on predictions, not on the log joint densities of the chains. Of two explanations, the one with the
larger density mostly predicts better, but a difference in density that changes no prediction (for example, in a prior)
does not change the weights.
"""

import itertools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import LEAF, compiled_for, inner
from pyclone_pgsm.likelihoods.model import Model, Values
from pyclone_pgsm.partition import Partition, PartitionPrior
from pyclone_pgsm.posterior.rows import build_blocks, gather_values, read_partitions, thin
from pyclone_pgsm.priors import Prior
from pyclone_pgsm.samplers.outliers import fill_priors, make_choices, weigh
from pyclone_pgsm.trace import Trace

APART = "log_joint", "num_clusters"
RHAT_APART = 1.4
"""Chains stay apart if the R-hat of one of :data:`APART` is larger: above the square root of 2, the variance between
chains exceeds that within. For chains that mix slowly, equal weights are better than those from some tens of draws."""
FEWEST_KEPT = 20  # draws of each chain; with fewer, R-hat cannot show whether they stay apart
DRAWS = 50  # of each chain
FEWEST_DRAWS = 10
CELLS = 50_000_000  # chains times draws times observations times columns; above this, fewer draws are used
REGULAR = 0.1  # lambda - 1
NOT_USED = 0.05  # share of an equal weight below which a chain is not used
MOST_STEPS = 1000  # of Newton's method, which takes some tens
TOLERANCE = 1e-8


def weigh_chains(
    trace: Trace, rows: list[NDArray[np.int64]], rhat: Mapping[str, float], observation: str
) -> tuple[NDArray[np.float64], str | None]:
    """Return the weights (K,) of the chains: by stacking if they stay apart, otherwise by their numbers of draws.

    They sum to 1, and are 0 for a chain that is not used. The second result is a warning with the weights, in which
    `observation` names what is clustered; None without stacking. `rows` are those of each chain after the burn-in, and
    `rhat` is the R-hat of each traced quantity.
    """
    lengths = np.array(list(map(len, rows)))
    name = max(APART, key=lambda name: rhat.get(name, 0.0))
    if len(rows) < 2 or lengths.min() < FEWEST_KEPT or not rhat.get(name, 0.0) > RHAT_APART:
        return lengths / lengths.sum(), None
    weights = stacking_weights(log_left_out_densities(trace, rows))
    parts = [f"chain {k} {weights[k]:.2f}" for k in np.flatnonzero(weights)]
    dropped = [str(k) for k in np.flatnonzero(weights == 0.0)]
    if dropped:
        others = f"chains {', '.join(dropped[:-1])} and" if len(dropped) > 1 else "chain"
        parts.append(f"{others} {dropped[-1]} not used")
    said = (
        f"the chains stay apart (R-hat of {name} {rhat[name]:.2f}): they are weighted by how well they predict each "
        f"{observation} from the others: {', '.join(parts)}"
    )
    return weights, said


def stacking_weights(log_p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (K,) stacking weights of the chains, by Newton's method with step halving from equal weights.

    `log_p` (K, T) is log p_k(y_i | y without i), up to a constant for each i. Weights below a twentieth of 1 / K are
    set to 0; the others sum to 1.
    """
    K, T = log_p.shape
    densities = np.exp(log_p - log_p.max(axis=0))
    total = T + K * REGULAR

    def objective(weights: NDArray[np.float64]) -> float:
        """Return the concave function of the module's docstring, less `total` times the sum of the weights.

        With this Lagrange multiplier, it is largest where they sum to 1. It is -inf if one is not positive.
        """
        if weights.min() <= 0.0:
            return -np.inf
        log_prior = REGULAR * np.log(weights).sum()
        return float(np.log(weights @ densities).sum() + log_prior - total * weights.sum())

    weights = np.full(K, 1.0 / K)
    for _ in range(MOST_STEPS):
        shares = densities / (weights @ densities)
        gradient = shares.sum(axis=1) + REGULAR / weights - total
        step = np.linalg.solve(shares @ shares.T + np.diag(REGULAR / weights**2), gradient)
        least = objective(weights)
        while np.abs(step).max() > TOLERANCE and objective(weights + step) <= least:
            step /= 2.0
        if np.abs(step).max() <= TOLERANCE:
            break
        weights = weights + step
    weights[weights < NOT_USED / K] = 0.0
    return weights / weights.sum()


def log_left_out_densities(trace: Trace, rows: list[NDArray[np.int64]]) -> NDArray[np.float64]:
    """Return (K, T) log p_k(y_i | y without i), up to a constant for each i, from some rows of each chain.

    Each chain must have rows.
    """
    T = len(trace.data.names)
    affordable = CELLS // (len(rows) * T * trace.data.num_columns)
    rows = [thin([chosen], max(FEWEST_DRAWS, min(DRAWS, affordable)))[0] for chosen in rows]
    model, prior = trace.model, trace.options.first_prior
    draws = [
        Draw(chain, values, prior.with_values(prior_values), labels, outliers)
        for chain, values, prior_values, labels, outliers in zip(
            np.repeat(np.arange(len(rows)), list(map(len, rows))).tolist(),
            gather_values(trace, rows, trace.options.hyperparameters),
            gather_values(trace, rows, prior.hyperparameters),
            read_partitions(trace, rows).astype(np.int32),
            itertools.chain.from_iterable(trace.outliers(k, chosen) for k, chosen in enumerate(rows)),
        )
    ]
    log_inverse = np.full((len(rows), T), -np.inf)
    # in the order of the hyperparameters, so that the tables of each precision are computed only once
    for draw in sorted(draws, key=lambda draw: (draw.values, draw.chain)):
        log_p = log_densities(model, draw)
        np.logaddexp(log_inverse[draw.chain], -log_p, out=log_inverse[draw.chain])
    return np.log(list(map(len, rows)))[:, None] - log_inverse


class Draw(NamedTuple):
    """A saved state of a chain."""

    chain: int
    values: Values
    prior: Prior
    labels: NDArray[np.int32]
    outliers: NDArray[np.bool_]


def log_densities(model: Model, draw: Draw) -> NDArray[np.float64]:
    """Return (T,) log p(y_i | draw without i, y without i), summed over the block of i and whether i is an outlier."""
    model = model.given(draw.outliers)
    likelihood = model.likelihood(draw.values)
    partition = build_blocks(likelihood, draw.labels)
    partition.sizes[partition.labels[draw.outliers]] = 0
    log_member = log_densities_given(model.full_likelihood(draw.values), draw.prior, partition, model.order)
    if model.hyperparameters and not hasattr(likelihood, "log_constants"):
        # what depends on them, as Normal's factor on the scale, is taken to be the same for all observations
        log_member += likelihood.log_constant() / len(log_member)
    return model.log_densities_of_either(draw.values, log_member)


def log_densities_given(
    likelihood: Any, prior: Prior, partition: Partition, order: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return (T,) log p(y_i | c without i, y without i), up to a constant for each i unless the likelihood has them.

    An observation whose slot in the partition has size 0 is in no block. In the `order` (T,) of visits, observations of
    the same kind should be adjacent.
    """
    T = len(partition.labels)
    tables = PartitionPrior(prior.log_tau1(T), prior.log_tau2(T))
    log_p = np.empty(T)
    compiled_for(log_densities_without, type(likelihood))(likelihood, tables, partition, order, log_p)
    constants = getattr(likelihood, "log_constants", None)
    return log_p if constants is None else log_p + constants()


@inner(**LEAF)
def log_density_without(likelihood: Any, prior: Any, partition: Any, i: int, choices: Any) -> float:
    """Return log p(y_i | c without i, y without y_i); `choices` is workspace.

    Only the partition prior determines which block observation i joins. With b the k blocks of the others,

        p(y_i | c without i, y without y_i) = sum_b w_b L(y_i | y_b) + w_new L(y_i),
        w_b ∝ tau2(|b| + 1) / tau2(|b|),     w_new ∝ tau1(k + 1) / tau1(k) tau2(1),     all of them summing to 1.

    The terms are the weights of a step for an observation that cannot be an outlier
    (:mod:`pyclone_pgsm.samplers.outliers`), which are summed here.
    """
    count, largest = fill_priors(prior, partition, partition.labels[i], choices)
    normaliser = 0.0
    for b in range(count + 1):
        normaliser += math.exp(choices.as_outlier[b] - largest)
    best, total = weigh(likelihood, partition, i, False, -np.inf, largest, choices, count)
    return best + math.log(total) - largest - math.log(normaliser)


def log_densities_without(
    likelihood: Any, prior: Any, partition: Any, order: NDArray[np.int64], out: NDArray[np.float64]
) -> None:
    """Fill out[i] = log p(y_i | c without i, y without y_i), up to the constants that the likelihood omits.

    The density is computed once for successive observations, in the `order` (T,), of a block that are of the same kind.
    An observation whose slot has size 0 is not in a block, so that it need not be left out.
    """
    choices = make_choices(partition.counter[0] + 1)
    kinds = np.full(len(partition.sizes), -1, np.int64)  # kind of each block's latest observation
    densities = np.empty(len(partition.sizes))
    for i in order:
        slot = partition.labels[i]
        if likelihood.kind(i) != kinds[slot]:
            kinds[slot] = likelihood.kind(i)
            densities[slot] = log_density_without(likelihood, prior, partition, i, choices)
        out[i] = densities[slot]
