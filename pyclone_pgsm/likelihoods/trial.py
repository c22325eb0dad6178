"""A short trial of a plugin likelihood before a run: whether its methods agree with each other.

The full check, with all blocks of a few observations, is :func:`pyclone_pgsm.testing.check_likelihood`.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.labels import evenly_spaced
from pyclone_pgsm.likelihoods.foreign import Shapes, blamed, cause, checked_shapes

MEMBERS = 200
"""Number of observations in the block with which the methods are tried."""
ASKED = 5
"""Number of these about which the methods are asked."""
LARGEST_TRIED = 10_000_000
"""Largest length of a statistic with which they are tried; whether it fits in memory is checked elsewhere."""
TOLERANCE = 1e-4
"""Largest difference between equal answers, as a share of the largest number in their computation, or of 1: rounding
grows with the block, while mistakes in a formula are of another size."""


def check_answers(spec: str, likelihood: Any, num_observations: int) -> None:
    """Try the methods of a plugin likelihood as plain Python, with single observations and with a block of many.

    The UsageError for an invalid answer names the likelihood, the method and the observation.
    """
    with blamed(spec):
        size = likelihood.stat_size()
    if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 1:
        raise UsageError(
            f"`likelihood` {spec!r}: stat_size() returned {size!r}; it must return a positive integer"
        )
    if size > LARGEST_TRIED:
        return
    members = evenly_spaced(num_observations, MEMBERS)
    asked = members[evenly_spaced(len(members), ASKED)]
    blocks = [np.array([i]) for i in asked] + ([members] if len(members) > 1 else [])
    shapes: Shapes = {}
    for block in blocks:
        # clear must empty it; large numbers would be bad indices in compiled code
        stat = np.ones(int(size))
        try:
            with np.errstate(all="ignore"):
                likelihood.clear(stat)
                likelihood.add_many(stat, block)
                if len(block) == 1:
                    _check_single(likelihood, stat, int(block[0]), asked.tolist())
                else:
                    _check_block(likelihood, stat, asked.tolist())
                _check_kinds(likelihood, stat, block)
        # compiled code would read memory out of bounds, and numba does not say in which line a name is not defined
        except (IndexError, NameError) as problem:
            raise UsageError(f"`likelihood` {spec!r}: {cause(problem, spec)}") from problem
        except UsageError as problem:
            raise UsageError(f"`likelihood` {spec!r}: {problem}") from None
        except Exception:  # compiled code may not raise the same; the first iteration will show it
            return
        if hasattr(likelihood, "cluster_parameters"):
            with blamed(spec):
                shapes = checked_shapes(
                    likelihood, stat, shapes, lambda text: UsageError(f"`likelihood` {spec!r}: {text}")
                )


def _check_single(likelihood: Any, stat: NDArray[np.float64], i: int, others: list[int]) -> None:
    """Ask about a block of one observation."""
    marginal = likelihood.log_marginal(stat)
    _check("log_marginal", i, marginal)
    prior = likelihood.log_prior_predictive(i)
    _check("log_prior_predictive", i, prior, marginal, "log_marginal of its block", abs(marginal))
    for j in others:
        if j != i:
            _check("log_predictive", j, likelihood.log_predictive(stat, j, -math.inf))
    _check("log_predictive_without", i, likelihood.log_predictive_without(stat, i))


def _check_block(likelihood: Any, stat: NDArray[np.float64], asked: list[int]) -> None:
    """Ask about observations of a block: without each, its predictive is the quotient of two marginals."""
    whole = likelihood.log_marginal(stat)
    _check("log_marginal", asked[0], whole)
    stats, out = np.empty((2, len(stat))), np.empty(2)
    for i in asked:
        stats[:] = stat
        likelihood.remove(stats[1], i)
        rest = likelihood.log_marginal(stats[1])
        _check("log_marginal", i, rest)
        of_marginals = "the log_marginal of a block less that of the block without it", abs(whole)
        exact = likelihood.log_predictive(stats[1], i, -math.inf)
        _check("log_predictive", i, exact, whole - rest, *of_marginals)
        without = likelihood.log_predictive_without(stat, i)
        _check("log_predictive_without", i, without, exact, "its log_predictive given the others")
        likelihood.log_predictives(stats, np.array([1, 0]), i, np.full(2, -np.inf), out)
        _check("log_predictives", i, float(out[0]), exact, "its log_predictive")


def _check_kinds(likelihood: Any, stat: NDArray[np.float64], block: NDArray[np.int64]) -> None:
    """Ask about observations of a block that have the same kind: their predictives are equal."""
    first_of_kind: dict[int, int] = {}
    for i in block.tolist():
        kind = likelihood.kind(i)
        first = first_of_kind.setdefault(int(kind), i)
        if kind < 0:
            raise UsageError(
                f"kind returned {kind!r} for observation {i} (counted from 0); it must be at least 0"
            )
        if first != i:
            equal = likelihood.log_predictive_without(stat, first)
            how = f"that of observation {first}, which has the same kind"
            _check("log_predictive_without", i, likelihood.log_predictive_without(stat, i), equal, how)


def _check(
    method: str, observation: int, value: Any, equal_to: float = math.nan, how: str = "", scale: float = 1.0
) -> None:
    """Check what a method returned for an observation: it must be equal to a number, or, without one, be finite."""
    shown = f"{value:.10g}" if isinstance(value, float | int | np.number) else repr(value)
    where = f"{method} returned {shown} for observation {observation} (counted from 0)"
    if not (isinstance(value, float | int | np.number) and math.isfinite(value)):
        raise UsageError(f"{where}; it must return the log of a density, which is positive and finite")
    largest = max(1.0, abs(float(value)), abs(equal_to), scale)
    if abs(value - equal_to) > TOLERANCE * largest and largest < math.inf:
        raise UsageError(f"{where}; it must equal {how}, {equal_to:.10g}")
