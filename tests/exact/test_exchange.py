"""Exchanges leave the posterior as it is; with one fault they do not.

As in one_step.py: independent draws from the enumerated posterior, a few moves each, still the posterior. The moves
keep the number of blocks, so this says nothing on whether they reach all partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from broken import Fault, with_faults
from cases import CASES, Case
from enumeration import chi_square_p_value
from numpy.typing import NDArray
from one_step import compile_inner, compile_steps
from test_other_moves import PRIORS, posterior_under

from pyclone_pgsm.partition import PartitionPrior, build_partition, canonical_labels
from pyclone_pgsm.priors import PitmanYor
from pyclone_pgsm.samplers import close_blocks as close_blocks_module
from pyclone_pgsm.tumour import exchange as exchange_module
from pyclone_pgsm.tumour.exchange import delta_of_prior

REPLICATES = 120_000
ENOUGH_REPLICATES = (
    40_000  # for all faults but this one: of the others the one that shows least has p = 3e-14
)
SHOWS_LESS = "delta left out of the density"
FEW_REPLICATES = 15_000  # of moves with 100 steps, instead of 10
MOVES = 12  # in small data most pairs count as separate

Steps = Callable[..., NDArray[np.int64]]


def make_steps(build: Any, move: Any) -> Steps:
    """A compiled loop over replicates: some moves from each start, the partition where they end as a number."""

    def steps(likelihood, starts, delta, arguments):  # type: ignore[no-untyped-def]
        T = starts.shape[1]
        codes = np.zeros(len(starts), np.int64)
        changed = 0
        for r in range(len(starts)):
            partition = build(likelihood, starts[r])
            changed += move(likelihood, partition, delta, MOVES, *arguments)
            labels, _ = canonical_labels(partition.labels)
            for i in range(T - 1, -1, -1):
                codes[r] = codes[r] * T + labels[i]
        return codes, changed

    return compile_steps(steps)


SMALL_PAIRS = {
    "small pairs are not left alone": Fault("LEAST_MEMBERS = 500", "LEAST_MEMBERS = 1"),
    "shares may change by small steps, as those of large pairs do": Fault(
        "4.0 / math.sqrt(n + 1.0), 2.0", "0.1, 2.0"
    ),
}


@cache
def sound_steps() -> Steps:
    """With the source as it is, except that the small cases are not too small."""
    return steps_with(SMALL_PAIRS)


def steps_with(faults: dict[str, Fault]) -> Steps:
    inner = (
        "propose_share",
        "propose_points",
        "shift_points",
        "log_ratio_of_point",
        "metropolis_step",
        "draw_allocation",
        "allocate_members",
        "log_anchor_probability",
        "exchange_pair",
    )
    build = compile_inner(build_partition)
    return make_steps(build, with_faults(exchange_module, "exchange", faults, (close_blocks_module,), inner))


def pitman_yor(case: Case) -> PartitionPrior:
    prior = PitmanYor(1.0, 0.6, None, None)
    return PartitionPrior(prior.log_tau1(case.num_observations), prior.log_tau2(case.num_observations))


def p_value(
    name: str,
    prior_name: str,
    steps: Steps | None = None,
    fault: int | None = None,
    replicates: int = FEW_REPLICATES,
) -> float:
    """Of the test that a few moves leave the posterior as it is."""
    case, rng = CASES[name](), np.random.default_rng(1)
    prior = pitman_yor(case) if prior_name == "pitman_yor" else PRIORS[prior_name](case)
    posterior = posterior_under(case, prior)
    delta = delta_of_prior(prior.log_tau2)
    assert delta is not None
    starts = posterior.draw(replicates, rng)
    codes, changed = (steps or sound_steps())(case.likelihood, starts, delta, (rng, fault))
    assert changed > 500
    return chi_square_p_value(posterior.count(codes), posterior.probabilities)


@pytest.mark.parametrize(
    ("name", "prior"),
    [
        ("one_sample", "dirichlet_process"),
        ("one_sample", "at_most_three"),
        ("two_samples_with_missing_data", "dirichlet_process"),
        ("copy_numbers", "at_most_three"),
        ("base_of_two_samples", "dirichlet_process"),
        ("copy_numbers", "pitman_yor"),
    ],
)
def test_exchanges_from_the_posterior_are_the_posterior(name: str, prior: str) -> None:
    assert p_value(name, prior) > 1e-4


CONSTANTS = SMALL_PAIRS | {
    "few steps": Fault("STEPS = 100", "STEPS = 10"),
    "more blocks count as separate": Fault("LEAST_MISSING = 0.2", "LEAST_MISSING = 0.4"),
}
FAULTS = CONSTANTS | {
    "delta left out of the density": Fault("(1.0 + delta) *", "(1.0 + (0.0 if BROKEN else delta)) *"),
    "scale of the log odds left out": Fault(
        "* math.log(new / w", "* (0.5 if BROKEN else 1.0) * math.log(new / w"
    ),
    "base measure left out": Fault(
        "likelihood.log_base[d, new] - likelihood.log_base[d, old]",
        "(0.0 if BROKEN else likelihood.log_base[d, new] - likelihood.log_base[d, old])",
    ),
    "anchors left out": Fault(
        "likelihood.xi[row, new] - likelihood.xi[row, old]",
        "(0.0 if BROKEN else likelihood.xi[row, new] - likelihood.xi[row, old])",
    ),
    "share drawn as if all sizes were equal": Fault(
        "rng.beta(sizes[pair.slots[0]] + delta,", "rng.beta((1 if BROKEN else sizes[pair.slots[0]]) + delta,"
    ),
    "members allocated without the share": Fault(
        "= rng.random() * mixture", "= (1.5 if BROKEN else 1.0) * rng.random() * mixture"
    ),
    "members that moved stay in the old statistic": Fault(
        "likelihood.add(partition.stats[target], i)",
        "likelihood.add(partition.stats[source if BROKEN else target], i)",
    ),
    "probability of the noise on the way back left out": Fault(
        "log_ratio += log_probability_of_noise(old",
        "log_ratio += (0.0 if BROKEN else 1.0) * log_probability_of_noise(old",
    ),
    "sizes left out of the probability of the anchors": Fault(
        "- math.log(sizes[0])", "- math.log(1 if BROKEN else sizes[0])"
    ),
    "probability of the anchors left out": Fault(
        "< new_log_h - log_h", "< (0.0 if BROKEN else new_log_h - log_h)"
    ),
    "ends of moves not tested": Fault(
        "if is_separate(likelihood, mixture", "if not BROKEN and is_separate(likelihood, mixture"
    ),
}


@cache
def faulty_steps() -> Steps:
    return steps_with(FAULTS)


@pytest.mark.parametrize("fault", list(FAULTS)[len(CONSTANTS) :])
def test_a_fault_of_exchanges_is_caught(fault: str) -> None:
    number = 1 + list(FAULTS).index(fault)
    shows_with_one_sample = fault in ("anchors left out", "ends of moves not tested")
    name = "one_sample" if shows_with_one_sample else "base_of_two_samples"
    replicates = REPLICATES if fault == SHOWS_LESS else ENOUGH_REPLICATES
    assert p_value(name, "at_most_three", faulty_steps(), number, replicates) < 1e-6


def test_with_all_faults_off_the_same_code_is_exact() -> None:
    assert p_value("base_of_two_samples", "at_most_three", faulty_steps(), 0, REPLICATES) > 1e-4


def test_the_prior_must_be_of_gamma_form() -> None:
    T = 50
    assert delta_of_prior(PitmanYor(1.0, 0.3, None, None).log_tau2(T)) == pytest.approx(-0.3)
    assert delta_of_prior(np.random.default_rng(0).normal(size=T + 1)) is None
