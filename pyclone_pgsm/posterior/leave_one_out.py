"""The density of each observation given a partition of the others.

Blocks and observation i are related by the partition prior alone, so that with b the blocks of the others, k of them,

    p(y_i | c without i, y without y_i) = sum_b w_b L(y_i | y_b) + w_new L(y_i),
    w_b ∝ tau2(|b| + 1) / tau2(|b|),     w_new ∝ tau1(k + 1) / tau1(k) tau2(1),     all of them summing to 1.

These are the weights of a Gibbs step (:mod:`pyclone_pgsm.samplers.gibbs`), added up instead of drawn from.
"""

from __future__ import annotations

import math

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.samplers.gibbs import NEGLIGIBLE


@inner(**LEAF)
def fill_densities(likelihood, prior, partition, asked, joins, cuts, terms, out):
    labels, sizes, stats, active, _, counter = partition
    log_tau1 = prior.log_tau1
    log_tau2 = prior.log_tau2
    for i in range(len(labels)):
        own = labels[i]
        own_join = -np.inf
        count = 0
        for b in range(counter[0]):
            slot = active[b]
            size = sizes[slot] - 1 if slot == own else sizes[slot]
            if size <= 0:
                continue
            join = log_tau2[size + 1] - log_tau2[size]
            if slot == own:
                own_join = join
            else:
                asked[count] = slot
                joins[count] = join
                count += 1
        num_others = count if own_join == -np.inf else count + 1
        new_join = log_tau2[1] + (log_tau1[num_others + 1] - log_tau1[num_others] if num_others > 0 else 0.0)

        highest = new_join + likelihood.log_prior_predictive(i)
        total = 1.0
        if own_join > -np.inf:
            log_p = own_join + likelihood.log_predictive_without(stats[own], i)
            total += math.exp(-abs(log_p - highest))
            highest = max(highest, log_p)
        for b in range(count):
            cuts[b] = highest - NEGLIGIBLE - joins[b]
        likelihood.log_predictives(stats, asked[:count], i, cuts, terms)
        highest_join = max(own_join, new_join)
        for b in range(count):
            highest_join = max(highest_join, joins[b])
            log_p = joins[b] + terms[b]
            if log_p > highest:
                total = 1.0 + total * math.exp(highest - log_p)
                highest = log_p
            else:
                total += math.exp(log_p - highest)
        normaliser = math.exp(own_join - highest_join) + math.exp(new_join - highest_join)
        for b in range(count):
            normaliser += math.exp(joins[b] - highest_join)
        out[i] = highest + math.log(total) - highest_join - math.log(normaliser)


def log_densities_without(likelihood, prior, partition, out):
    """Fill out[i] = log p(y_i | c without i, y without y_i), up to the constants that the likelihood leaves out.

    Parameters
    ----------
    likelihood : NamedTuple
        See :mod:`pyclone_pgsm.likelihoods.contract`.
    prior : PartitionPrior
    partition : Partition
        An observation whose slot has size 0 is in no block: there is nothing to leave out for it.
    out : (T,) float64
    """
    capacity = partition.counter[0]
    fill_densities(
        likelihood,
        prior,
        partition,
        np.empty(capacity, np.int64),
        np.empty(capacity),
        np.empty(capacity),
        np.empty(capacity),
        out,
    )
