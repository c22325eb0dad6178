"""Checking that a likelihood keeps the contract, for tests of the package's own likelihoods and of plugins.

:func:`check_likelihood` calls the methods of a likelihood (see :mod:`pyclone_pgsm.likelihoods.contract`) for all blocks
of the first few observations, and for some larger blocks. It checks these properties, in this order, with
L(y_b) = exp(``log_marginal``):

=================  =================================================================================================
property           meaning
=================  =================================================================================================
statistic          ``stat_size`` numbers suffice for a block, and ``clear`` removes all previous content
finite             all answers are finite
questions          a question does not change the block
order              a block does not depend on the order in which its members were added
add_many           gives the same as adding one by one
remove             removing added observations restores the block
predictive         L(y_i | y_b) = L(y_b and y_i) / L(y_b)
leave-one-out      ``log_predictive_without`` is the predictive given the others
kind               observations that share their ``kind`` have the same predictives
negligible         a predictive above ``negligible`` is exact, and one below it stays below
log_predictives    gives the same as predicting block by block
new observations   ``log_predictive_new`` is the predictive with all factors, ``log_constant`` the log of those left out
parameters         ``cluster_parameters`` are arrays of the same names and shapes for all blocks
choices            ``from_data`` takes and uses all values of ``choices``; ``inferred_by_default`` names some of these
compiled           compiled code gives the same as plain Python
posterior          chains leave the posterior, enumerated over all partitions, invariant
shared             the likelihood's own arrays, which chains in several threads share, are never written to
=================  =================================================================================================

A question is a call of a method for a block, and its answer the result. Two statistics are regarded as equal if all
questions about them have the same answers. Values of ``choices`` are not tried if ``from_data`` has another parameter
without a default.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.likelihoods.choice import Choice, checked_choices
from pyclone_pgsm.likelihoods.contract import register
from pyclone_pgsm.likelihoods.foreign import Shapes, cause, checked_shapes
from pyclone_pgsm.likelihoods.model import FixedModel
from pyclone_pgsm.likelihoods.registry import parameters_of
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.sampling.chain import advance, start_chain
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.testing.enumeration import chi_square_p_value, encode, enumerate_posterior
from pyclone_pgsm.testing.examination import (
    ENUMERATED,
    UNTOUCHED,
    Examination,
    NonConforming,
    predictives_new,
    predictives_of_blocks,
    show,
    statistic,
)

MANY_BLOCKS = 20  # number of random sets of blocks for `log_predictives`
REPLICATES = 10_000
SMALLEST_P = 1e-5
SURE = 0.99  # if one partition has a larger posterior probability, the data test nothing


def check_likelihood(
    likelihood: Any, *, observations: NDArray[np.float64], rng: np.random.Generator | None = None
) -> None:
    """Check that a likelihood has the properties listed in :mod:`pyclone_pgsm.testing.checks`, on small data.

    This takes some seconds, and longer the first time, because the likelihood is compiled.

    Parameters
    ----------
    likelihood : NamedTuple
        The likelihood of `observations`. The clustering of the first six of them should be uncertain.
    observations : (T, D) float64
        The data, T at least 2, one row per observation as ``log_predictive_new`` takes it.
    rng : numpy.random.Generator or None
        Used for orders, larger blocks and chains. None: a generator with a fixed seed.

    Raises
    ------
    NonConforming
        The likelihood lacks a property.
    UsageError
        The class does not fulfil the contract, or the data cannot test it.
    """
    if isinstance(likelihood, type):
        name = likelihood.__qualname__.rpartition(".")[2]
        raise UsageError(
            f"likelihood: must be one of data, such as {name}.from_data(data), not the class {name}"
        )
    own_class = type(likelihood)
    if not (isinstance(likelihood, tuple) and hasattr(likelihood, "_fields")):
        raise UsageError(
            f"likelihood: must be an object that from_data returned, not of type {own_class.__name__}"
        )
    if not isinstance(rng, np.random.Generator | None):
        raise UsageError(f"rng: must be a generator, as of numpy.random.default_rng(1), not {rng!r:.60}")
    register(f"{own_class.__module__}:{own_class.__qualname__}")(own_class)
    try:
        observations = np.ascontiguousarray(observations, np.float64)
    except (TypeError, ValueError) as problem:
        raise UsageError(f"observations: must be numbers: {problem}") from None
    if observations.ndim != 2 or len(observations) < 2:
        raise UsageError(f"observations: must be (T, D), T at least 2, not {observations.shape}")
    examination = Examination(likelihood, observations, np.random.default_rng(1) if rng is None else rng)
    for name, check in PROPERTIES.items():
        examination.property = name
        try:
            check(examination)
        except (NonConforming, UsageError):
            raise
        except Exception as error:
            raise examination.fault(cause(error, examination.spec)) from error


def check_statistic(it: Examination) -> None:
    for block in it.blocks:
        for one_by_one in (0, len(block)):
            clean = it.ask(block, one_by_one)
            used = it.ask(block, one_by_one, fill=np.nan)
            it.must_answer_alike(block, "after clear of used memory", used, "after clear of zeros", clean)


def check_finite(it: Examination) -> None:
    for block in it.blocks:
        for i, answer in enumerate(it.answers(block)):
            if not np.isfinite(answer):
                question, where = it.question(block, i)
                raise it.fault(f"{where}: {question} is {answer}")


def check_questions(it: Examination) -> None:
    for block in it.blocks:
        it.must_answer_alike(block, "asked again", it.ask(block, repeats=2), "asked once", it.answers(block))


def check_order(it: Examination) -> None:
    for block in it.blocks:
        order = it.shuffled(block)
        shuffled, sorted_ = it.ask(order, len(block)), it.ask(block, len(block))
        it.must_answer_alike(
            block, f"after adding {show(order)}", shuffled, f"after adding {show(block)}", sorted_
        )


def check_add_many(it: Examination) -> None:
    for block in it.blocks:
        order = it.shuffled(block)
        single = it.ask(order, len(block))
        for one_by_one in (0, len(block) // 2):
            together = it.ask(order, one_by_one)
            it.must_answer_alike(block, "after add_many", together, "after add of each", single)


def check_remove(it: Examination) -> None:
    for block in it.blocks:
        guests = it.shuffled(it.outside(block))[:2]
        if guests:
            come = it.shuffled([*block, *guests])
            left = it.ask(come, len(come), removed=guests)
            way = f"after adding {show(come)} and removing {show(guests)}"
            it.must_answer_alike(block, way, left, "without that", it.answers(block))


def check_predictive(it: Examination) -> None:
    for i in range(it.T):
        prior = it.likelihood.log_prior_predictive(i)
        name, marginal = f"log_marginal of {show([i])}", it.answers((i,))[-1]
        it.must_be_equal(f"observation {i}", "log_prior_predictive", prior, name, marginal)
    for block in it.blocks:
        before = it.answers(block)
        for i in it.outside(block):
            after = it.answers(tuple(sorted((*block, i))))[-1]
            name = f"log_marginal of {show([*block, i])} less that of {show(block)}"
            where = f"observation {i}, block {show(block)}"
            it.must_be_equal(where, "log_predictive", before[i], name, after - before[-1], abs(after))


def check_leave_one_out(it: Examination) -> None:
    for block in it.blocks:
        for i in block if len(block) > 1 else ():
            others = tuple(j for j in block if j != i)
            where, name = f"observation {i}, block {show(block)}", f"log_predictive given {show(others)}"
            without, given = it.answers(block)[i], it.answers(others)[i]
            it.must_be_equal(where, "log_predictive_without", without, name, given)


def check_kind(it: Examination) -> None:
    kinds = [it.likelihood.kind(i) for i in range(it.T)]
    for i, kind in enumerate(kinds):
        if kind < 0:
            raise it.fault(f"observation {i}: kind is {kind}, must be 0 or above")
    for i, j in combinations(range(it.T), 2):
        for block in it.blocks if kinds[i] == kinds[j] else ():
            if not {i, j} & set(block):
                where = f"observations {i} and {j} of kind {kinds[i]}, block {show(block)}"
                first, second = it.answers(block)[i], it.answers(block)[j]
                it.must_be_equal(where, f"log_predictive of {i}", first, f"log_predictive of {j}", second)


def check_negligible(it: Examination) -> None:
    for block in it.blocks:
        stat = statistic(it.likelihood, block)
        for i in it.outside(block):
            exact = it.answers(block)[i]
            where = f"observation {i}, block {show(block)}"
            for limit in exact + np.array([-100.0, -0.1, 0.1, 100.0]):
                given = it.likelihood.log_predictive(stat, i, limit)
                if limit < exact:
                    name = f"log_predictive with negligible {limit:.10g}"
                    it.must_be_equal(where, name, given, "the exact one", exact)
                elif not given < limit:
                    text = f"log_predictive is {given:.10g}, above negligible {limit:.10g}; exact is {exact:.10g}"
                    raise it.fault(f"{where}: {text}")


def check_log_predictives(it: Examination) -> None:
    for labels, slots, i in several_blocks(it):
        blocks = ", ".join(show(np.flatnonzero(labels == b).tolist()) for b in range(len(slots)))
        where = f"observation {i}, blocks {blocks}"
        cuts = np.full(len(slots), -np.inf)
        exact = predictives_of_blocks(it.likelihood, labels, slots, i, cuts)[1, : len(slots)]
        one_for_all = np.median(exact) - 0.1, exact.max() + 0.1
        of_each = exact + 0.1 * (-1.0) ** np.arange(len(slots))
        for limits in (cuts, *(np.full(len(slots), limit) for limit in one_for_all), of_each):
            given = predictives_of_blocks(it.likelihood, labels, slots, i, limits)[0]
            for b, (value, limit) in enumerate(zip(exact, limits)):
                if value >= limit or given[b] >= limit:
                    name = f"log_predictives of block {b}"
                    it.must_be_equal(
                        f"{where}, negligible {limit:.10g}", name, given[b], "log_predictive", value
                    )
            if (given[len(exact) :] != UNTOUCHED).any():
                raise it.fault(f"{where}: writes more than {len(exact)} values")


def several_blocks(it: Examination) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], int]]:
    """Draw labels, slots and an observation for :func:`predictives_of_blocks`, several times."""
    for _ in range(MANY_BLOCKS):
        labels = it.rng.integers(1 + it.rng.integers(it.T), size=it.T)
        i = int(it.rng.integers(it.T))
        labels[i] = -1
        found, labels = np.unique(labels, return_inverse=True)
        slots = it.rng.choice(2 * len(found) - 1, len(found) - 1, replace=False)
        yield labels.astype(np.int64) - 1, slots, i


def check_new_observations(it: Examination) -> None:
    constant = float(it.likelihood.log_constant())
    if not np.isfinite(constant):
        raise it.fault(f"log_constant is {constant}")
    if not hasattr(it.likelihood, "log_predictive_new"):
        return
    prior = np.array([it.likelihood.log_prior_predictive(i) for i in range(it.T)])
    left_out = predictives_new(it.likelihood, np.empty(0, np.int64), it.observations) - prior
    for block in it.blocks:
        given = predictives_new(it.likelihood, np.array(block), it.observations)
        for i in it.outside(block):
            name = "log_predictive and what log_predictive_new of the empty block has more than log_prior_predictive"
            where, expected = f"observation {i}, block {show(block)}", it.answers(block)[i] + left_out[i]
            it.must_be_equal(where, "log_predictive_new", given[i], name, expected)
    name = "the sum of what log_predictive_new of the empty block has more than log_prior_predictive"
    total, scale = float(left_out.sum()), float(np.abs(left_out).sum())
    it.must_be_equal(f"all {it.T} observations", "log_constant", constant, name, total, scale)


def check_parameters(it: Examination) -> None:
    shapes: Shapes = {}
    for block in it.blocks if hasattr(it.likelihood, "cluster_parameters") else ():
        with it.blamed_for(f"block {show(block)}") as fault:
            shapes = checked_shapes(it.likelihood, statistic(it.likelihood, block), shapes, fault)


def check_choices(it: Examination) -> None:
    kind = type(it.likelihood)
    if not hasattr(kind, "from_data"):
        return
    choices: dict[str, Choice] = {}
    if hasattr(kind, "choices"):
        with it.blamed_for("choices") as fault:
            choices = checked_choices(kind.choices(it.observations), fault)
    needed = {name for name, default in parameters_of(kind).items() if default is inspect.Parameter.empty}
    for name, choice in choices.items():
        if needed <= {name}:  # otherwise from_data cannot be called with a value of this parameter alone
            with it.blamed_for(name) as fault:
                check_choice(it, name, choice, fault)
    if hasattr(kind, "inferred_by_default"):
        with it.blamed_for("inferred_by_default") as fault:
            for name in set(kind.inferred_by_default(it.observations, {})) - choices.keys():
                raise fault(f"{name} is not among the choices")


def check_choice(it: Examination, name: str, choice: Choice, fault: Callable[[str], Exception]) -> None:
    if name not in parameters_of(type(it.likelihood)):
        raise fault("from_data has no such parameter")
    made = []
    for value in choice.values:
        with it.blamed_for(f"{name}={value:.10g}"):
            made.append(type(it.likelihood).from_data(it.observations, **{name: value}))
    if len(made) > 1 and marginals(made[0], it.blocks) == marginals(made[-1], it.blocks):
        raise fault("the marginals do not depend on it")


def marginals(likelihood: Any, blocks: Sequence[Sequence[int]]) -> list[float]:
    """Return ``log_marginal`` of each block, and ``log_constant``."""
    of_blocks = [likelihood.log_marginal(statistic(likelihood, block)) for block in blocks]
    return [*of_blocks, likelihood.log_constant()]


def check_compiled(it: Examination) -> None:
    for block in it.blocks:
        others = it.outside(block)
        for added, one_by_one, removed in (
            (block, len(block), []),
            (block, 0, []),
            ((*block, *others), 0, others),
        ):
            pure = it.ask(added, one_by_one, removed)
            machine = it.ask(added, one_by_one, removed, compiled=True)
            it.must_answer_alike(block, "compiled", machine, "as plain Python", pure)
    for labels, slots, i in several_blocks(it):
        wheres = [f"observation {i}"] * len(slots)
        cuts = np.full(len(slots), -np.inf)
        compare_values(it, "log_predictives", wheres, predictives_of_blocks, labels, slots, i, cuts)
    for block in it.blocks if hasattr(it.likelihood, "log_predictive_new") else ():
        wheres = [f"observation {i}, block {show(block)}" for i in range(it.T)]
        compare_values(it, "log_predictive_new", wheres, predictives_new, np.array(block), it.observations)


def compare_values(
    it: Examination, name: str, wheres: list[str], function: Callable[..., Any], *arguments: Any
) -> None:
    """Compare the values of a function of the likelihood, the first one for each of `wheres`."""
    machine = it.compile(function)(it.likelihood, *arguments)
    pure = function(it.likelihood, *arguments)
    for where, compiled, plain in zip(wheres, machine.flat, pure.flat):
        it.must_be_equal(where, f"{name} compiled", compiled, "that as plain Python", plain)


def check_posterior(it: Examination) -> None:
    """Run one iteration from draws of the enumerated posterior, and test whether the results still follow it."""
    T = min(it.T, ENUMERATED)
    posterior = enumerate_posterior(T, lambda block: float(it.answers(tuple(block))[-1]), 1.0)
    if posterior.probabilities.max() > SURE:
        best = posterior.partitions[posterior.probabilities.argmax()]
        raise UsageError(
            f"observations: the posterior is sure of {best.tolist()}; a test needs less clear data"
        )
    settings = Settings(iterations=1, burn_in=0, moves=1, particles=5, anchor_proposal="uniform")
    model = FixedModel(it.likelihood, T)
    state = replace(start_chain(model, DirichletProcess(1.0, None, None), settings, 0), rng=it.rng)
    after = []
    for labels in posterior.draw(REPLICATES, it.rng):
        _, records, _ = advance(model, settings, replace(state, labels=labels), 1, lambda _: False)
        after.append(records.labels[0])
    counts = posterior.count(encode(np.array(after)))
    p = chi_square_p_value(counts, posterior.probabilities)
    if p < SMALLEST_P:
        expected = posterior.probabilities * REPLICATES
        worst = int(np.argmax((counts - expected) ** 2 / expected))
        text = (
            f"one iteration from {REPLICATES} draws of the posterior leads elsewhere (p = {p:.2g}): partition "
            f"{posterior.partitions[worst].tolist()} was there {counts[worst]} times, "
            f"{expected[worst]:.1f} are expected; is everything about a block in its statistic?"
        )
        raise it.fault(text)


def check_shared(it: Examination) -> None:
    for name, value in it.named_arrays():
        before = it.arrays[name]
        both_missing = (value != value) & (before != before)
        changed = np.flatnonzero((value != before) & ~both_missing)
        if len(changed):
            k = changed[0]
            text = f"{name} was {before.flat[k]:.10g} at {k} and is now {value.flat[k]:.10g}"
            raise it.fault(f"{text}; chains in several threads use the same arrays")


PROPERTIES: dict[str, Callable[[Examination], None]] = {
    "statistic": check_statistic,
    "finite": check_finite,
    "questions": check_questions,
    "order": check_order,
    "add_many": check_add_many,
    "remove": check_remove,
    "predictive": check_predictive,
    "leave-one-out": check_leave_one_out,
    "kind": check_kind,
    "negligible": check_negligible,
    "log_predictives": check_log_predictives,
    "new observations": check_new_observations,
    "parameters": check_parameters,
    "choices": check_choices,
    "compiled": check_compiled,
    "posterior": check_posterior,
    "shared": check_shared,
}
