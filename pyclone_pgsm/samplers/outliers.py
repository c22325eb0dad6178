"""Gibbs sampling of which observations are outliers.

Each of T observations is an outlier with probability p, independently. An outlier has a block like any other, and
counts in its size, but its data have a likelihood L' of their own: they say nothing of the block, nor the block of
them. So with o the set of the outliers

    pi(c, o) ∝ p^|o| (1 - p)^(T - |o|) tau1(|c|) prod_{b in c} tau2(|b|) L(y_{b without o}) prod_{i in o} L'(y_i).

All moves of partitions work on this target if the likelihood they see has no data for the outliers. The sweep here
draws block and outlier together, from the full likelihood: observation i

    joins a block b of the others              with weight  tau2(|b| + 1) / tau2(|b|) L(y_i | y_{b without o}),
    opens a new one, k being their number                   tau1(k + 1) / tau1(k) tau2(1) L(y_i),
    joins b or opens a new one as an outlier                p / (1 - p) L'(y_i) times the same factors of the prior.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pyclone_pgsm.jit.compiling import LEAF, inner
from pyclone_pgsm.partition import close_slot, open_slot, with_free_slots
from pyclone_pgsm.samplers.gibbs import NEGLIGIBLE


class Choices(NamedTuple):
    """What an observation may choose, and workspace: k blocks, and in place k a new one.

    Attributes
    ----------
    slots : (C,) int64
        Of the blocks.
    cutoffs : (C,) float64
        Predictives below are negligible.
    as_member, as_outlier : (C,) float64
        Weights of joining each as a member, and as an outlier. `as_outlier` first holds the log prior factor of each
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
    """Log of the prior's factor of each choice, in ``as_outlier``: their number k without the new block, the largest.

    `own` is the slot of the observation, which does not count in the size of its block.
    """
    _, sizes, _, active, _, counter = partition
    log_tau1, log_tau2 = prior.log_tau1, prior.log_tau2
    count = 0
    largest = -np.inf
    for b in range(counter[0]):
        slot = active[b]
        size = sizes[slot] - 1 if slot == own else sizes[slot]
        if size > 0:
            choices.slots[count] = slot
            choices.as_outlier[count] = log_tau2[size + 1] - log_tau2[size]
            largest = max(largest, choices.as_outlier[count])
            count += 1
    opening = log_tau1[count + 1] - log_tau1[count] if count > 0 else 0.0
    choices.as_outlier[count] = log_tau2[1] + opening
    return count, max(largest, choices.as_outlier[count])


@inner(**LEAF)
def weigh(likelihood, partition, i, was_outlier, log_outlier, largest, choices, count):
    """Weights of all choices, relative to the best: their sum.

    Parameters
    ----------
    log_outlier : float
        log of p / (1 - p) L'(y_i).
    largest : float
        Of the factors that :func:`fill_priors` put into the choices.
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
    return total


@inner(**LEAF)
def draw_choice(choices, count, u):
    """Where `u`, between 0 and the sum of the weights, falls: the slot (-1 for a new block), and whether an outlier."""
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
    """Take the observation out of its block and put it into another, or a new one: its data only if no outlier."""
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
    """Visit ``order[first], ..`` as long as there is a free slot.

    Returns
    -------
    next : int
        Where in the order it stopped.
    changed : int
        Observations that became outliers, or ceased to be.
    """
    labels, sizes, _, _, _, counter = partition
    changed = 0
    for t in range(first, len(order)):
        if counter[0] == len(sizes):
            return t, changed
        i = order[t]
        was_outlier = outliers[i]
        count, largest = fill_priors(prior, partition, labels[i], choices)
        total = weigh(likelihood, partition, i, was_outlier, log_outlier[i], largest, choices, count)
        target, is_outlier = draw_choice(choices, count, rng.random() * total)
        changed += is_outlier != was_outlier
        outliers[i] = is_outlier
        stays = target == labels[i] or (target < 0 and sizes[labels[i]] == 1)
        if is_outlier != was_outlier or not stays:
            move(likelihood, partition, i, target, was_outlier, is_outlier)
    return len(order), changed


def resample_outliers(likelihood, prior, partition, outliers, log_outlier, order, rng):
    """One sweep over all observations.

    Parameters
    ----------
    likelihood : NamedTuple
        Of all observations (see :mod:`pyclone_pgsm.likelihoods.contract`).
    prior : PartitionPrior
    partition : Partition
        Outliers are in labels and sizes, but not in the statistics. Changed in place; do not use it afterwards.
    outliers : (T,) bool
        Changed in place.
    log_outlier : (T,) float64
        log of p / (1 - p) L'(y_i), without the factors that the likelihood leaves out.
    order : (T,) int64
        The observations in the order in which they are visited.
    rng : numpy.random.Generator

    Returns
    -------
    partition : Partition
    changed : int
        Observations that became outliers, or ceased to be.
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
