"""The density of each observation given a partition of the others.

Only the partition prior determines which block observation i joins. With b the k blocks of the others,

    p(y_i | c without i, y without y_i) = sum_b w_b L(y_i | y_b) + w_new L(y_i),
    w_b ∝ tau2(|b| + 1) / tau2(|b|),     w_new ∝ tau1(k + 1) / tau1(k) tau2(1),     all of them summing to 1.

The terms are the weights of a step for an observation that cannot be an outlier
(:mod:`pyclone_pgsm.samplers.outliers`), which are summed here.
"""

import math

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.samplers.outliers import fill_priors, make_choices, weigh


@inner(**LEAF)
def log_density_without(likelihood, prior, partition, i, choices):
    """Return log p(y_i | c without i, y without y_i); `choices` is workspace."""
    count, largest = fill_priors(prior, partition, partition.labels[i], choices)
    normaliser = 0.0
    for b in range(count + 1):
        normaliser += math.exp(choices.as_outlier[b] - largest)
    best, total = weigh(likelihood, partition, i, False, -np.inf, largest, choices, count)
    return best + math.log(total) - largest - math.log(normaliser)


def log_densities_without(likelihood, prior, partition, order, out):
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
