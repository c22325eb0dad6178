"""The check of likelihoods: sound ones pass, and those that lack a property, each of the properties, are caught."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.extending import overload
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from cases import CASES, PLUGIN, plugin

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.likelihoods.choice import Choice
from pyclone_pgsm.likelihoods.registry import find_likelihood
from pyclone_pgsm.testing import checks as testing
from pyclone_pgsm.testing.checks import check_likelihood
from pyclone_pgsm.testing.examination import Examination, NonConforming

COUNTS = np.array([[3, 1], [2, 6], [7, 3], [5, 5], [0, 1], [4, 9], [8, 8]], float)
RATE = 0.3
POISSON = plugin()
NUMBER = r"-?[0-9.e+-]+"
BLOCK = r"\{[0-6](, [0-6])*\}"


# Sound ones


@pytest.mark.long
def test_the_example_passes() -> None:
    check_likelihood(POISSON.from_data(COUNTS, rate=RATE), observations=COUNTS)


@pytest.mark.long
def test_two_observations_are_enough() -> None:
    check_likelihood(POISSON.from_data(COUNTS[:2], rate=RATE), observations=COUNTS[:2])


@pytest.mark.long
def test_normal_passes() -> None:
    data = np.random.default_rng(1).normal(size=(8, 3))
    check_likelihood(find_likelihood("normal").from_data(data), observations=data)  # type: ignore[attr-defined]


@pytest.mark.long
def test_bernoulli_passes() -> None:
    data = (np.random.default_rng(1).random((8, 4)) < 0.5).astype(float)
    check_likelihood(find_likelihood("bernoulli").from_data(data), observations=data)  # type: ignore[attr-defined]


@pytest.mark.long
@pytest.mark.parametrize("name", ["two_samples_with_missing_data", "underflow"])
def test_pyclone_passes(name: str) -> None:
    likelihood = CASES[name]().likelihood
    xi = (likelihood.xi + likelihood.xi_max[:, None])[likelihood.index]
    xi[likelihood.index < 0] = 0.0
    check_likelihood(likelihood, observations=xi.reshape(len(xi), -1))


@pytest.mark.long
def test_it_runs_without_numba() -> None:
    program = (
        "from pyclone_pgsm.testing import checks as testing\n"
        "from pyclone_pgsm.likelihoods.registry import find_likelihood\n"
        "import numpy as np\n"
        "testing.REPLICATES = 500\n"
        f"counts = np.array({COUNTS.tolist()})\n"
        f"likelihood = find_likelihood({str(PLUGIN)!r} + ':PoissonGamma').from_data(counts, rate={RATE})\n"
        "testing.check_likelihood(likelihood, observations=counts)"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


# Broken ones: the sound one with another method


def broken(**methods: Any) -> Any:
    return type("Broken", (POISSON,), methods).from_data(COUNTS, rate=RATE)  # type: ignore[attr-defined]


def clear_count_only(self, stat):
    stat[0] = 0.0


@numba.njit
def write(stat, k, value):
    stat[k] = value


def clear_one_more(self, stat):
    write(stat, len(stat), 0.0)
    for k in range(len(stat)):
        stat[k] = 0.0


def infinite_for_largest(self, i):
    return np.inf if self.counts[i, 0] == 8.0 else POISSON.log_prior_predictive(self, i)


def predict_and_leave_inside(self, stat, i, negligible):
    value = POISSON.log_predictive(self, stat, i, negligible)
    stat[0] += 1.0
    return value


def add_with_weight(self, stat, i):
    POISSON.add(self, stat, i)
    stat[1] *= 1.1


def add_many_but_not_count(self, stat, members):
    for i in members:
        self.add(stat, i)
    stat[0] = 1.0


def remove_without_count(self, stat, i):
    for d in range(self.counts.shape[1]):
        stat[1 + d] -= self.counts[i, d]


def predict_with_prior_rate(self, stat, i, negligible):
    return POISSON.log_predictive(self, np.array([0.0, stat[1], stat[2]]), i, negligible)


def half_of_prior(self, i):
    return POISSON.log_prior_predictive(self, i) / 2.0


def leave_nothing_out(self, stat, i):
    return POISSON.log_predictive(self, stat, i, -np.inf)


def give_up_early(self, stat, i, negligible):
    value = POISSON.log_predictive(self, stat, i, negligible)
    return value if value > negligible + 1.0 else -np.inf


def give_up_at_zero(self, stat, i, negligible):
    value = POISSON.log_predictive(self, stat, i, negligible)
    return value if value >= negligible else 0.0


def predict_first_slot(self, stats, slots, i, negligible, out):
    for b in range(len(slots)):
        out[b] = self.log_predictive(stats[slots[0]], i, negligible[b])


def predict_all_places(self, stats, slots, i, negligible, out):
    out[:] = -np.inf
    for b in range(len(slots)):
        out[b] = self.log_predictive(stats[slots[b]], i, negligible[b])


def predict_new_by_prior(self, stat, x):
    return POISSON.log_predictive_new(self, np.zeros(len(stat)), x)


def predict_new_unnormalised(self, stat, x):
    return POISSON.log_predictive_new(self, stat, x) + math.lgamma(x[0] + 1.0)


# Compiled code finds methods of NamedTuples only by `self`, so that these go through functions.
sound_marginal = numba.njit(POISSON.log_marginal)
sound_predictive = numba.njit(POISSON.log_predictive)
sound_predictive_new = numba.njit(POISSON.log_predictive_new)
sound_add = numba.njit(POISSON.add)
sound_remove = numba.njit(POISSON.remove)


def marginal_that_does_not_compile(self, stat):
    return float(f"{sound_marginal(self, stat):.17g}")


def only_in_machine_code():
    return 0.0


@overload(only_in_machine_code)
def _only_in_machine_code():
    return lambda: 1.0


def marginal_that_differs(self, stat):
    return sound_marginal(self, stat) + only_in_machine_code()


def predictives_that_differ(self, stats, slots, i, negligible, out):
    for b in range(len(slots)):
        out[b] = self.log_predictive(stats[slots[b]], i, negligible[b]) + only_in_machine_code()


def predictive_new_that_differs(self, stat, x):
    return sound_predictive_new(self, stat, x) + only_in_machine_code()


OF_BLOCK = f"observation [0-6], block {BLOCK}"

BROKEN = [
    (
        "statistic",
        {"stat_size": lambda self: 2},
        f"block {BLOCK}: IndexError: index 2 is out of bounds for axis 0 with size 2",
    ),
    ("statistic", {"clear": clear_one_more}, f"block {BLOCK} writes outside of its 3 numbers"),
    (
        "statistic",
        {"clear": clear_count_only},
        f"{OF_BLOCK}: log_predictive after clear of used memory is nan, but that after clear of zeros is {NUMBER}",
    ),
    ("finite", {"log_prior_predictive": infinite_for_largest}, "observation 6: log_prior_predictive is inf"),
    (
        "questions",
        {"log_predictive": predict_and_leave_inside},
        f"{OF_BLOCK}: log_predictive asked again is {NUMBER}, but that asked once is {NUMBER}",
    ),
    (
        "remove",
        {"remove": lambda self, stat, i: math.log(-1.0)},
        f"block {BLOCK}, removing {BLOCK}: test_testing.py, line [0-9]+: ValueError: math domain error",
    ),
    (
        "kind",
        {"kind": lambda self, i: math.log(-1.0)},
        "test_testing.py, line [0-9]+: ValueError: math domain error",
    ),
    (
        "order",
        {"add": add_with_weight},
        f"{OF_BLOCK}: log_predictive(_without)? after adding {BLOCK} is {NUMBER}, "
        f"but that after adding {BLOCK} is {NUMBER}",
    ),
    (
        "add_many",
        {"add_many": add_many_but_not_count},
        f"{OF_BLOCK}: log_predictive(_without)? after add_many is {NUMBER}, but that after add of each is {NUMBER}",
    ),
    (
        "remove",
        {"remove": remove_without_count},
        f"{OF_BLOCK}: log_predictive after adding {BLOCK} and removing {BLOCK} is {NUMBER}, "
        f"but that without that is {NUMBER}",
    ),
    (
        "predictive",
        {"log_predictive": predict_with_prior_rate},
        f"{OF_BLOCK}: log_predictive is {NUMBER}, but log_marginal of {BLOCK} less that of {BLOCK} is {NUMBER}",
    ),
    (
        "predictive",
        {"log_prior_predictive": half_of_prior},
        f"observation 0: log_prior_predictive is {NUMBER}, but log_marginal of {BLOCK} is {NUMBER}",
    ),
    (
        "leave-one-out",
        {"log_predictive_without": leave_nothing_out},
        f"{OF_BLOCK}: log_predictive_without is {NUMBER}, but log_predictive given {BLOCK} is {NUMBER}",
    ),
    (
        "kind",
        {"kind": lambda self, i: i // 2},
        f"observations 0 and 1 of kind 0, block {BLOCK}: "
        f"log_predictive of 0 is {NUMBER}, but log_predictive of 1 is {NUMBER}",
    ),
    ("kind", {"kind": lambda self, i: i - 1}, "observation 0: kind is -1, must be 0 or above"),
    (
        "negligible",
        {"log_predictive": give_up_early},
        f"{OF_BLOCK}: log_predictive with negligible {NUMBER} is -inf, but the exact one is {NUMBER}",
    ),
    (
        "negligible",
        {"log_predictive": give_up_at_zero},
        f"{OF_BLOCK}: log_predictive is 0, above negligible {NUMBER}; exact is {NUMBER}",
    ),
    (
        "log_predictives",
        {"log_predictives": predict_first_slot},
        f"observation [0-6], blocks {BLOCK}(, {BLOCK})*, negligible -inf: "
        f"log_predictives of block 1 is {NUMBER}, but log_predictive is {NUMBER}",
    ),
    (
        "log_predictives",
        {"log_predictives": predict_all_places},
        f"observation [0-6], blocks {BLOCK}(, {BLOCK})*: writes more than [1-6] values",
    ),
    (
        "new observations",
        {"log_predictive_new": predict_new_by_prior},
        f"{OF_BLOCK}: log_predictive_new is {NUMBER}, but log_predictive and what log_predictive_new "
        f"of the empty block has more than log_prior_predictive is {NUMBER}",
    ),
    (
        "new observations",
        {"log_predictive_new": predict_new_unnormalised},
        f"all 7 observations: log_constant is {NUMBER}, but the sum of what log_predictive_new "
        f"of the empty block has more than log_prior_predictive is {NUMBER}",
    ),
    (
        "new observations",
        {"log_constant": lambda self: 0.0},
        f"all 7 observations: log_constant is 0, but .* {NUMBER}",
    ),
    ("new observations", {"log_constant": lambda self: np.nan}, "log_constant is nan"),
    (
        "parameters",
        {"cluster_parameters": lambda self, stat: {"mean": 1.0 / int(stat[0] < 2.0)}},
        r"block \{0, 1\}: test_testing.py, line \d+: ZeroDivisionError: float division by zero",
    ),
    (
        "parameters",
        {"cluster_parameters": lambda self, stat: {"mean": stat[: int(stat[0])]}},
        r"block \{0, 1\}: cluster_parameters returned arrays of the shapes {'mean': \(2,\)}, of another block "
        r"{'mean': \(1,\)}",
    ),
    (
        "choices",
        {"choices": lambda data: {"beta": Choice((0.5, 1.0), (1.0, 1.0), 1.0)}},
        "beta: from_data has no such parameter",
    ),
    (
        "choices",
        {"choices": lambda data: {"rate": Choice((0.5, 1.0), (1.0, 1.0), 0.7)}},
        "choices: the start of rate, 0.7, is not among its values",
    ),
    (
        "choices",
        {"choices": lambda data: {"rate": Choice((0.0, 1.0), (1.0, 1.0), 1.0)}},
        "rate=0: UsageError: rate must be a number above 0, not 0.0",
    ),
    (
        "choices",
        {
            "choices": lambda data: {"rate": Choice((0.5, 1.0), (1.0, 1.0), 1.0)},
            "from_data": classmethod(lambda cls, data, rate=1.0: cls(data, 1.0, RATE)),
        },
        "rate: the marginals do not depend on it",
    ),
    (
        "choices",
        {"inferred_by_default": lambda data, given: ["rate"]},
        "inferred_by_default: rate is not among the choices",
    ),
    (
        "compiled",
        {"log_marginal": marginal_that_does_not_compile},
        f"block {BLOCK}: its methods cannot be compiled: format spec in f-strings not supported yet.*",
    ),
    (
        "compiled",
        {"log_marginal": lambda self, stat: sound_marginal(self, stat) + 0 * len(str({}))},
        f"block {BLOCK}: its methods cannot be compiled: test_testing.py, line [0-9]+: .*",
    ),
    (
        "compiled",
        {"log_marginal": marginal_that_differs},
        f"block {BLOCK}: log_marginal compiled is {NUMBER}, but that as plain Python is {NUMBER}",
    ),
    (
        "compiled",
        {"log_predictives": predictives_that_differ},
        f"observation [0-6]: log_predictives compiled is {NUMBER}, but that as plain Python is {NUMBER}",
    ),
    (
        "compiled",
        {"log_predictive_new": predictive_new_that_differs},
        f"{OF_BLOCK}: log_predictive_new compiled is {NUMBER}, but that as plain Python is {NUMBER}",
    ),
]


@pytest.mark.parametrize(
    ("lacking", "methods", "text"), BROKEN, ids=[f"{name}-{k}" for k, (name, _, _) in enumerate(BROKEN)]
)
def test_what_is_broken_is_caught_and_named(lacking: str, methods: dict[str, Any], text: str) -> None:
    with pytest.raises(NonConforming) as caught:
        check_likelihood(broken(**methods), observations=COUNTS)
    assert re.fullmatch(f"Broken, {lacking}: {text}", str(caught.value)), str(caught.value)


class Scratch(NamedTuple):
    """Keeps notes in an array of its own: the size of the block that was changed last.

    If `relies` it believes that this is the block that it is asked about.
    """

    counts: NDArray[np.float64]
    shape: float
    rate: float
    notes: NDArray[np.float64]
    relies: bool

    stat_size = POISSON.stat_size
    clear = POISSON.clear
    add_many = POISSON.add_many
    log_prior_predictive = POISSON.log_prior_predictive
    log_predictive_without = POISSON.log_predictive_without
    log_marginal = POISSON.log_marginal
    log_constant = POISSON.log_constant

    def add(self, stat, i):
        sound_add(self, stat, i)
        self.notes[0] = stat[0]

    def remove(self, stat, i):
        sound_remove(self, stat, i)
        self.notes[0] = stat[0]

    def log_predictive(self, stat, i, negligible):
        size = stat[0]
        if self.relies:
            stat[0] = self.notes[0]
        value = sound_predictive(self, stat, i, negligible)
        stat[0] = size
        return value


@pytest.mark.long
def test_a_chain_that_misses_the_posterior_is_caught() -> None:
    with pytest.raises(NonConforming) as caught:
        check_likelihood(Scratch(COUNTS, 1.0, RATE, np.zeros(1), True), observations=COUNTS)
    assert re.fullmatch(
        r"Scratch, posterior: one iteration from 10000 draws of the posterior leads elsewhere \(p = [0-9.e-]+\): "
        r"partition \[0(, [0-5]){5}\] was there \d+ times, [0-9.]+ are expected; "
        r"is everything about a block in its statistic\?",
        str(caught.value),
    )


@pytest.mark.long
def test_writing_to_the_likelihoods_own_arrays_is_caught() -> None:
    with pytest.raises(NonConforming) as caught:
        check_likelihood(Scratch(COUNTS, 1.0, RATE, np.zeros(1), False), observations=COUNTS)
    assert re.fullmatch(
        r"Scratch, shared: notes was 0 at 0 and is now [1-6]; chains in several threads use the same arrays",
        str(caught.value),
    )


def test_missing_values_in_the_likelihoods_own_arrays_are_unchanged() -> None:
    likelihood = POISSON.from_data(COUNTS, rate=RATE)._replace(counts=np.where(COUNTS > 8, np.nan, COUNTS))
    examination = Examination(likelihood, COUNTS, np.random.default_rng(1))
    testing.check_shared(examination)
    likelihood.counts[0, 0] = np.nan
    with pytest.raises(NonConforming, match="counts was 3 at 0 and is now nan"):
        testing.check_shared(examination)


def test_every_property_has_a_likelihood_that_lacks_it() -> None:
    assert {name for name, _, _ in BROKEN} | {"posterior", "shared"} == set(testing.PROPERTIES)


def test_the_properties_are_those_of_the_description() -> None:
    table = (testing.__doc__ or "").split("=================  ")[2]
    lines = table.splitlines()[1:]
    assert [line[:17].rstrip() for line in lines] == list(testing.PROPERTIES)


# What cannot be checked


def test_a_class_that_does_not_keep_the_contract() -> None:
    class Nothing(NamedTuple):
        counts: NDArray[np.float64]

    with pytest.raises(UsageError, match=r"^Nothing is not a likelihood: the method stat_size"):
        check_likelihood(Nothing(COUNTS), observations=COUNTS)


def test_the_class_in_place_of_a_likelihood() -> None:
    text = r"^likelihood: must be one of data, such as PoissonGamma.from_data\(data\), not the class PoissonGamma$"
    with pytest.raises(UsageError, match=text):
        check_likelihood(POISSON, observations=COUNTS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"likelihood": f"{PLUGIN}:PoissonGamma"},
            "likelihood: must be an object that from_data returned, not of type str",
        ),
        ({"rng": 1}, r"rng: must be a generator, as of numpy.random.default_rng\(1\), not 1"),
        ({"rng": np.random.RandomState(1)}, "rng: must be a generator, .*, not RandomState.*"),
        ({"observations": [["a"], ["b"]]}, "observations: must be numbers: could not convert .*"),
    ],
)
def test_arguments_of_other_types(arguments: dict[str, Any], message: str) -> None:
    given = {"likelihood": POISSON.from_data(COUNTS, rate=RATE), "observations": COUNTS, **arguments}
    with pytest.raises(UsageError, match=f"^{message}$"):
        check_likelihood(**given)


def test_values_of_choices_are_not_tried_beside_a_parameter_without_default() -> None:
    methods = {
        "choices": lambda data: {"rate": Choice((0.5, 1.0), (1.0, 1.0), 1.0)},
        "from_data": classmethod(lambda cls, data, shape, rate=1.0: cls(data, shape, rate)),
    }
    likelihood = type("Sound", (POISSON,), methods)(COUNTS, 1.0, RATE)
    testing.check_choices(Examination(likelihood, COUNTS, np.random.default_rng(1)))


@pytest.mark.parametrize("data", [COUNTS[:1], COUNTS[0]])
def test_too_few_observations(data: NDArray[np.float64]) -> None:
    with pytest.raises(UsageError, match=r"^observations: must be \(T, D\), T at least 2, not "):
        check_likelihood(POISSON.from_data(COUNTS, rate=RATE), observations=data)


def test_data_that_are_too_clear() -> None:
    clear = np.array([[0.0], [5000.0], [1e6]])
    likelihood = POISSON.from_data(clear, rate=RATE)
    text = r"^observations: the posterior is sure of \[0, 1, 2\]; a test needs less clear data$"
    with pytest.raises(UsageError, match=text):
        check_likelihood(likelihood, observations=clear)
