"""The questions asked about blocks to check a likelihood, and the comparison of answers.

See :mod:`pyclone_pgsm.testing.checks`.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.foreign import cause

ENUMERATED = 6  # number of first observations whose blocks and partitions are all examined
LARGER_BLOCKS = 10  # number of random blocks of all observations
TOLERANCE = 1e-8  # relative to the largest number in a comparison, or to 1
GUARD = 8  # numbers before and after a statistic that must not be written to
UNTOUCHED = -12345.5

Answers = NDArray[np.float64]


class NonConforming(AssertionError):
    """A likelihood lacks a property. The message names it, the observation and block concerned, and both numbers."""


# The questions, asked in plain Python and in compiled code.


def answers_of_block(likelihood, added, one_by_one, removed, repeats, num_observations, fill):  # type: ignore[no-untyped-def]
    """Return the answers to all questions about a block, (T + 1,), and the memory with the statistic.

    The first `one_by_one` members are added by ``add``, the others by ``add_many``, and `removed` ones are removed
    again. All questions are asked `repeats` times; the last answers count: log L(y_i | y_b) for each observation i, or
    log L(y_i | y_b without y_i) for a member; then log L(y_b). The memory initially contains `fill`, and has GUARD
    numbers before and after the statistic.
    """
    memory = np.full(likelihood.stat_size() + 2 * GUARD, fill)
    stat = memory[GUARD : len(memory) - GUARD]
    likelihood.clear(stat)
    inside = np.zeros(num_observations, np.int64)
    for i in added[:one_by_one]:
        likelihood.add(stat, i)
    if one_by_one < len(added):
        likelihood.add_many(stat, added[one_by_one:])
    for i in removed:
        likelihood.remove(stat, i)
    for i in added:
        inside[i] += 1
    for i in removed:
        inside[i] -= 1
    size = len(added) - len(removed)
    answers = np.empty(num_observations + 1)
    for _ in range(repeats):
        for i in range(num_observations):
            if size == inside[i]:
                answers[i] = likelihood.log_prior_predictive(i)
            elif inside[i]:
                answers[i] = likelihood.log_predictive_without(stat, i)
            else:
                answers[i] = likelihood.log_predictive(stat, i, -np.inf)
        answers[num_observations] = likelihood.log_marginal(stat)
    return answers, memory


def predictives_of_blocks(likelihood, labels, slots, i, negligible):  # type: ignore[no-untyped-def]
    """Return (2, K + 2): the output of ``log_predictives`` of i, with two spare places, and exact ``log_predictive``.

    `labels` (T,) has the block of each observation, -1 for none, and `slots` (K,) the slot of each block, 0..2K.
    """
    stats = np.full((2 * len(slots) + 1, likelihood.stat_size()), np.nan)
    for slot in slots:
        likelihood.clear(stats[slot])
    for j in range(len(labels)):
        if labels[j] >= 0:
            likelihood.add(stats[slots[labels[j]]], j)
    values = np.full((2, len(slots) + 2), UNTOUCHED)
    likelihood.log_predictives(stats, slots, i, negligible, values[0])
    for b in range(len(slots)):
        values[1, b] = likelihood.log_predictive(stats[slots[b]], i, -np.inf)
    return values


def predictives_new(likelihood, members, observations):  # type: ignore[no-untyped-def]
    """Return ``log_predictive_new`` of each row of `observations` given a block."""
    stat = np.zeros(likelihood.stat_size())
    likelihood.clear(stat)
    for i in members:
        likelihood.add(stat, i)
    values = np.empty(len(observations))
    for j in range(len(observations)):
        values[j] = likelihood.log_predictive_new(stat, observations[j])
    return values


def statistic(likelihood: Any, block: Sequence[int]) -> NDArray[np.float64]:
    """Return the statistic of a block."""
    stat = np.zeros(likelihood.stat_size())
    likelihood.clear(stat)
    likelihood.add_many(stat, np.array(block))
    return stat


class Examination:
    """A likelihood, its T observations (T, D), and the answers to previous questions.

    `blocks` are all blocks of the first observations, and some larger ones, with members in ascending order;
    `property` is the name of the one that is being checked.
    """

    def __init__(self, likelihood: Any, observations: NDArray[np.float64], rng: np.random.Generator) -> None:
        self.likelihood = likelihood
        self.observations = observations
        self.rng = rng
        self.property = ""
        kind = type(likelihood)
        self.spec = f"{getattr(sys.modules.get(kind.__module__), '__file__', None)}:{kind.__name__}"
        self.T = len(observations)
        first = range(min(self.T, ENUMERATED))
        self.blocks = list(chain.from_iterable(combinations(first, n + 1) for n in first))
        if self.T > ENUMERATED:
            sizes = rng.integers(1, self.T, size=LARGER_BLOCKS, endpoint=True)
            self.blocks += [tuple(sorted(rng.choice(self.T, n, replace=False).tolist())) for n in sizes]
        self.answers = cache(self.ask)
        self.arrays = {name: np.copy(value) for name, value in self.named_arrays()}

    def named_arrays(self) -> list[tuple[str, NDArray[Any]]]:
        fields = self.likelihood._asdict().items()
        return [(name, value) for name, value in fields if isinstance(value, np.ndarray)]

    def outside(self, block: Sequence[int]) -> list[int]:
        return [i for i in range(self.T) if i not in block]

    def shuffled(self, block: Sequence[int]) -> list[int]:
        return self.rng.permutation(block).tolist()

    def compile(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return compiled_for(function, type(self.likelihood))

    def ask(
        self,
        added: Sequence[int],
        one_by_one: int = 0,
        removed: Sequence[int] = (),
        repeats: int = 1,
        fill: float = 0.0,
        compiled: bool = False,
    ) -> Answers:
        """Return (T + 1,) answers (see :func:`answers_of_block`), and check that the memory around is intact."""
        ask = self.compile(answers_of_block) if compiled else answers_of_block
        members, gone = np.array(added, np.int64), np.array(removed, np.int64)
        way = f", removing {show(removed)}" if removed else ""
        with self.blamed_for(f"block {show(added)}{way}"):
            answers, memory = ask(self.likelihood, members, one_by_one, gone, repeats, self.T, fill)
        around = np.concatenate([memory[:GUARD], memory[-GUARD:]])
        if not np.array_equal(around, np.full(2 * GUARD, fill), equal_nan=True):
            size = len(memory) - 2 * GUARD
            raise self.fault(f"block {show(added)} writes outside of its {size} numbers")
        return answers

    @contextmanager
    def blamed_for(self, where: str) -> Iterator[Callable[[str], NonConforming]]:
        """Convert exceptions of the likelihood's own code to faults; yields the function that makes one of a text."""
        try:
            yield lambda text: self.fault(f"{where}: {text}")
        except NonConforming:
            raise
        except Exception as error:
            raise self.fault(f"{where}: {cause(error, self.spec)}") from error

    def fault(self, text: str) -> NonConforming:
        name = type(self.likelihood).__qualname__.rpartition(".")[2]
        return NonConforming(f"{name}, {self.property}: {text}")

    def must_be_equal(
        self, where: str, name: str, value: float, other_name: str, other: float, scale: float = 1.0
    ) -> None:
        """Compare two numbers, each with its name; `scale` is the largest number in their computation."""
        allowed = TOLERANCE * max(1.0, scale, abs(value), abs(other))
        if value != other and not abs(value - other) <= allowed < np.inf:
            raise self.fault(f"{where}: {name} is {value:.10g}, but {other_name} is {other:.10g}")

    def must_answer_alike(
        self, block: Sequence[int], way: str, answers: Answers, other_way: str, others: Answers
    ) -> None:
        """Compare all answers about a block that was built in two ways."""
        scale = float(np.abs(others[np.isfinite(others)]).max(initial=1.0))
        for i in range(self.T + 1):
            question, where = self.question(block, i)
            self.must_be_equal(where, f"{question} {way}", answers[i], f"that {other_way}", others[i], scale)

    def question(self, block: Sequence[int], i: int) -> tuple[str, str]:
        """Return the method that gives answer `i` about a block, and its arguments as text."""
        if i == self.T:
            return "log_marginal", f"block {show(block)}"
        if not set(block) - {i}:
            return "log_prior_predictive", f"observation {i}"
        method = "log_predictive_without" if i in block else "log_predictive"
        return method, f"observation {i}, block {show(block)}"


def show(block: Sequence[int]) -> str:
    return "{" + ", ".join(map(str, block)) + "}"
