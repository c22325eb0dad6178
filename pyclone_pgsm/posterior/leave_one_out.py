"""The density of each observation given a partition of the others.

Only the partition prior determines which block observation i joins. With b the k blocks of the others,

    p(y_i | c without i, y without y_i) = sum_b w_b L(y_i | y_b) + w_new L(y_i),
    w_b ∝ tau2(|b| + 1) / tau2(|b|),     w_new ∝ tau1(k + 1) / tau1(k) tau2(1),     all of them summing to 1.

The terms are the weights of a Gibbs step (:mod:`pyclone_pgsm.samplers.gibbs`), which are summed here.
"""

import math

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import log_new_block, log_size_ratio
from pyclone_pgsm.samplers.gibbs import NEGLIGIBLE


@inner(**LEAF)
def log_density_without(likelihood, prior, partition, i, slots, joins, cutoffs, terms):
    """Return log p(y_i | c without i, y without y_i).

    The last four arguments, with one element per block, are workspace: slots of the other blocks, their log prior
    weights, the values below which their predictives are negligible, and the predictives.
    """
    labels, sizes, stats, active, _, counter = partition
    own = labels[i]
    own_join = -np.inf
    count = 0
    for b in range(counter[0]):
        slot = active[b]
        size = sizes[slot] - 1 if slot == own else sizes[slot]
        if size <= 0:
            continue
        join = log_size_ratio(prior.log_tau2, size)
        if slot == own:
            own_join = join
        else:
            slots[count] = slot
            joins[count] = join
            count += 1
    num_others = count if own_join == -np.inf else count + 1
    new_join = log_new_block(prior, num_others)

    log_new = new_join + likelihood.log_prior_predictive(i)
    log_own = -np.inf
    if own_join > -np.inf:
        log_own = own_join + likelihood.log_predictive_without(stats[own], i)
    highest, highest_join = max(log_own, log_new), max(own_join, new_join)
    for b in range(count):
        cutoffs[b] = highest - NEGLIGIBLE - joins[b]
    likelihood.log_predictives(stats, slots[:count], i, cutoffs, terms)
    for b in range(count):
        terms[b] += joins[b]
        highest, highest_join = max(highest, terms[b]), max(highest_join, joins[b])
    total = math.exp(log_own - highest) + math.exp(log_new - highest)
    normaliser = math.exp(own_join - highest_join) + math.exp(new_join - highest_join)
    for b in range(count):
        total += math.exp(terms[b] - highest)
        normaliser += math.exp(joins[b] - highest_join)
    return highest + math.log(total) - highest_join - math.log(normaliser)


def log_densities_without(likelihood, prior, partition, order, out):
    """Fill out[i] = log p(y_i | c without i, y without y_i), up to the constants that the likelihood omits.

    The density is computed once for successive observations, in the `order` (T,), of a block that are of the same kind.
    An observation whose slot has size 0 is not in a block, so that it need not be left out.
    """
    num_blocks = partition.counter[0]
    slots = np.empty(num_blocks, np.int64)
    joins, cutoffs, terms = np.empty(num_blocks), np.empty(num_blocks), np.empty(num_blocks)
    kinds = np.full(len(partition.sizes), -1, np.int64)  # kind of each block's latest observation
    densities = np.empty(len(partition.sizes))
    for i in order:
        slot = partition.labels[i]
        if likelihood.kind(i) != kinds[slot]:
            kinds[slot] = likelihood.kind(i)
            densities[slot] = log_density_without(
                likelihood, prior, partition, i, slots, joins, cutoffs, terms
            )
        out[i] = densities[slot]
