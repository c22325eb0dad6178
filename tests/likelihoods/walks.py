"""Blocks that observations enter and leave, and all that a likelihood says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import compiled_for

ADD, REMOVE = 0, 1


def play(likelihood, T, actions, subjects, negligible):  # type: ignore[no-untyped-def]
    """Add and remove observations one by one. After each step: log_marginal, and for every observation
    ``log_predictive_without`` if it is in the block, ``log_predictive`` if not."""
    inside = np.zeros(T, np.bool_)
    stat = np.empty(likelihood.stat_size())
    likelihood.clear(stat)
    marginals = np.empty(len(actions))
    predictives = np.empty((len(actions), T))
    for step in range(len(actions)):
        i = subjects[step]
        if actions[step] == ADD:
            likelihood.add(stat, i)
        else:
            likelihood.remove(stat, i)
        inside[i] = not inside[i]
        marginals[step] = likelihood.log_marginal(stat)
        for j in range(T):
            if inside[j]:
                predictives[step, j] = likelihood.log_predictive_without(stat, j)
            else:
                predictives[step, j] = likelihood.log_predictive(stat, j, negligible[step])
    return marginals, predictives


def of_many_blocks(likelihood, starts, members, points, negligible):  # type: ignore[no-untyped-def]
    """The blocks ``members[starts[b] : starts[b + 1]]``, filled by ``add_many``: their marginals, the predictives of
    all observations in one call and of all `points`, (B, ..) each."""
    B = len(starts) - 1
    T = len(negligible)
    stats = np.empty((B + 1, likelihood.stat_size()))
    marginals = np.empty(B)
    for b in range(B):
        likelihood.clear(stats[b + 1])
        likelihood.add_many(stats[b + 1], members[starts[b] : starts[b + 1]])
        marginals[b] = likelihood.log_marginal(stats[b + 1])
    slots = np.arange(B, 0, -1)
    predictives = np.empty((B, T))
    together = np.empty(B + 2)
    for i in range(T):
        likelihood.log_predictives(stats, slots, i, np.full(B, negligible[i]), together)
        for b in range(B):
            predictives[B - 1 - b, i] = together[b]
    new = np.empty((B, len(points)))
    for b in range(B):
        for n in range(len(points)):
            new[b, n] = likelihood.log_predictive_new(stats[b + 1], points[n])
    return marginals, predictives, new


def run(
    likelihood: Any, T: int, actions: NDArray[np.int64], subjects: NDArray[np.int64], negligible: Any = None
) -> Any:
    if negligible is None:
        negligible = np.full(len(actions), -np.inf)
    return compiled_for(play, type(likelihood))(likelihood, T, actions, subjects, negligible)


def ask(likelihood: Any, T: int, blocks: list[list[int]], points: Any = None, negligible: Any = None) -> Any:
    """:func:`of_many_blocks` of lists of members."""
    if negligible is None:
        negligible = np.full(T, -np.inf)
    starts = np.cumsum([0, *(len(block) for block in blocks)])
    members = np.array([i for block in blocks for i in block], np.int64)
    points = np.empty((0, 1)) if points is None else np.asarray(points, float)
    return compiled_for(of_many_blocks, type(likelihood))(likelihood, starts, members, points, negligible)


def random_walk(T: int, length: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Observations enter and leave; the block is never emptied."""
    actions, subjects, members = [], [], []  # type: ignore[var-annotated]
    for _ in range(length):
        outside = [i for i in range(T) if i not in members]
        if len(members) < 2 or (outside and rng.random() < 0.6):
            subjects.append(int(rng.choice(outside)))
            members.append(subjects[-1])
            actions.append(ADD)
        else:
            subjects.append(members.pop(rng.integers(len(members))))
            actions.append(REMOVE)
    return np.array(actions), np.array(subjects)


def blocks_after(actions: NDArray[np.int64], subjects: NDArray[np.int64]) -> list[list[int]]:
    """Members after each step."""
    members: list[int] = []
    history = []
    for action, i in zip(actions, subjects):
        members = [*members, int(i)] if action == ADD else [j for j in members if j != i]
        history.append(members)
    return history


def statistic(likelihood: Any, members: list[int]) -> NDArray[np.float64]:
    """Of a block, made in compiled code."""

    def fill(likelihood, members):  # type: ignore[no-untyped-def]
        stat = np.empty(likelihood.stat_size())
        likelihood.clear(stat)
        likelihood.add_many(stat, members)
        return stat

    return compiled_for(fill, type(likelihood))(likelihood, np.array(members, np.int64))
