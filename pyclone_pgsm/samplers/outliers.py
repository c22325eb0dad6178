"""Gibbs sampling of which observations are outliers.

Each of T observations is an outlier with probability p, independently. An outlier belongs to a block like any other
observation and counts towards its size, but its data have a likelihood L' of their own, independent of the block. With
o the set of outliers, the target is

    pi(c, o) ∝ p^|o| (1 - p)^(T - |o|) tau1(|c|) prod_{b in c} tau2(|b|) L(y_{b without o}) prod_{i in o} L'(y_i).

All moves of partitions work on this target if they are given a likelihood without the data of the outliers. The sweep
here draws an observation's block and whether it is an outlier together, from the full likelihood. Observation i

    joins a block b of the others              with weight  tau2(|b| + 1) / tau2(|b|) L(y_i | y_{b without o}),
    opens a new one, in addition to these k                 tau1(k + 1) / tau1(k) tau2(1) L(y_i),
    joins b or opens a new one as an outlier                p / (1 - p) L'(y_i) times the same factors of the prior.
"""

import math
from typing import NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import close_slot, log_new_block, log_size_ratio, open_slot, with_free_slots
from pyclone_pgsm.samplers.gibbs import NEGLIGIBLE


class Choices(NamedTuple):
    """The choices of an observation: k blocks, and at index k a new block.

    Attributes
    ----------
    slots : (C,) int64
        Slots of the blocks.
    cutoffs : (C,) float64
        Values below which predictives are negligible.
    as_member, as_outlier : (C,) float64
        Weights of joining each as a member, and as an outlier. `as_outlier` first contains the log prior factor of each
        choice (:func:`fill_priors`); :func:`weigh` turns it and `as_member` into weights relative to the best.
    """

    slots: np.ndarray
    cutoffs: np.ndarray
    as_member: np.ndarray
    as_outlier: np.ndarray


@inner(nogil=True)
def make_choices(capacity):
    return Choices(np.empty(capacity, np.int64), np.empty(capacity), np.empty(capacity), np.empty(capacity))


@inner(**LEAF)
def fill_priors(prior, partition, own, choices):
    """Put the log prior factor of each choice into ``as_outlier``; return k, the number of blocks, and the largest.

    `own` is the slot of the observation, which does not count towards the size of its block.
    """
    _, sizes, _, active, _, counter = partition
    count = 0
    largest = -np.inf
    for b in range(counter[0]):
        slot = active[b]
        size = sizes[slot] - 1 if slot == own else sizes[slot]
        if size > 0:
            choices.slots[count] = slot
            choices.as_outlier[count] = log_size_ratio(prior.log_tau2, size)
            largest = max(largest, choices.as_outlier[count])
            count += 1
    choices.as_outlier[count] = log_new_block(prior, count)
    return count, max(largest, choices.as_outlier[count])


@inner(**LEAF)
def weigh(likelihood, partition, i, was_outlier, log_outlier, largest, choices, count):
    """Compute the weights of all choices, relative to exp(best), and return best and their sum.

    `log_outlier` is log of p / (1 - p) L'(y_i), and `largest` the largest factor, from :func:`fill_priors`.
    """
    slots, cutoffs, as_member, as_outlier = choices
    own = partition.labels[i]
    log_alone = likelihood.log_prior_predictive(i)
    best = max(log_alone + as_outlier[count], log_outlier + largest)
    for b in range(count):
        cutoffs[b] = best - NEGLIGIBLE - as_outlier[b]
    likelihood.log_predictives(partition.stats, slots[:count], i, cutoffs, as_member)
    as_member[count] = log_alone
    for b in range(count + 1):
        if b < count and slots[b] == own and not was_outlier:
            as_member[b] = likelihood.log_predictive_without(partition.stats[own], i)
        as_member[b] += as_outlier[b]
        best = max(best, as_member[b])
    total = 0.0
    for b in range(count + 1):
        as_member[b] = math.exp(as_member[b] - best)
        as_outlier[b] = math.exp(as_outlier[b] + log_outlier - best)
        total += as_member[b] + as_outlier[b]
    return best, total


@inner(**LEAF)
def draw_choice(choices, count, u):
    """Return the choice at `u`, between 0 and the sum of weights: slot (-1 for a new block), and whether an outlier."""
    choice = 0
    for b in range(2 * (count + 1)):
        weight = choices.as_member[b] if b <= count else choices.as_outlier[b - count - 1]
        if weight > 0.0:
            choice = b
            u -= weight
            if u < 0.0:
                break
    is_outlier = choice > count
    place = choice - count - 1 if is_outlier else choice
    return choices.slots[place] if place < count else np.int64(-1), is_outlier


@inner(**LEAF)
def move(likelihood, partition, i, target, was_outlier, is_outlier):
    """Move the observation to `target` (-1 for a new block); data of outliers do not enter the statistics."""
    labels, sizes, stats, _, _, _ = partition
    own = labels[i]
    sizes[own] -= 1
    if sizes[own] == 0:
        close_slot(partition, own)
    elif not was_outlier:
        likelihood.remove(stats[own], i)
    if target < 0:
        target = open_slot(partition)
        likelihood.clear(stats[target])
    if not is_outlier:
        likelihood.add(stats[target], i)
    sizes[target] += 1
    labels[i] = target


@inner(**LEAF)
def visit_outliers(likelihood, prior, partition, outliers, log_outlier, order, first, choices, rng):
    """Visit ``order[first], ..`` until no slot is free; return the position reached, and how many have changed."""
    labels, sizes, _, _, _, counter = partition
    changed = 0
    for t in range(first, len(order)):
        if counter[0] == len(sizes):
            return t, changed
        i = order[t]
        was_outlier = outliers[i]
        count, largest = fill_priors(prior, partition, labels[i], choices)
        _, total = weigh(likelihood, partition, i, was_outlier, log_outlier[i], largest, choices, count)
        target, is_outlier = draw_choice(choices, count, rng.random() * total)
        changed += is_outlier != was_outlier
        outliers[i] = is_outlier
        stays = target == labels[i] or (target < 0 and sizes[labels[i]] == 1)
        if is_outlier != was_outlier or not stays:
            move(likelihood, partition, i, target, was_outlier, is_outlier)
    return len(order), changed


def resample_outliers(likelihood, prior, partition, outliers, log_outlier, order, rng):
    """Make one sweep over all observations, drawing the block of each and whether it is an outlier.

    Parameters
    ----------
    likelihood : NamedTuple
        With the data of all observations (see :mod:`pyclone_pgsm.likelihoods.contract`).
    prior : PartitionPrior
    partition : Partition
        Outliers count in labels and sizes, but not in the statistics. Changed in place; do not use it afterwards.
    outliers : (T,) bool
        Changed in place.
    log_outlier : (T,) float64
        log of p / (1 - p) L'(y_i), omitting the same factors as the likelihood.
    order : (T,) int64
        The observations in the order in which they are visited.
    rng : numpy.random.Generator

    Returns
    -------
    partition : Partition
    changed : int
        Number of observations that became outliers, or ceased to be.
    """
    changed = 0
    visited = np.int64(0)
    while visited < len(order):
        partition = with_free_slots(partition, 1)
        choices = make_choices(len(partition.sizes) + 1)
        visited, newly_changed = visit_outliers(
            likelihood, prior, partition, outliers, log_outlier, order, visited, choices, rng
        )
        changed += newly_changed
    return partition, changed
