"""SAMS, also with close anchors, and restricted Gibbs leave the posterior as it is; with one fault they do not.

As in one_step.py: independent draws from the enumerated posterior, one move each, still the posterior.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from broken import Fault, with_faults
from cases import CASES, Case
from enumeration import Posterior, chi_square_p_value
from numpy.typing import NDArray
from one_step import compile_inner, compile_steps
from scipy.special import gammaln

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.partition import PartitionPrior, build_partition, canonical_labels
from pyclone_pgsm.samplers import close_blocks as close_blocks_module
from pyclone_pgsm.samplers import restricted_gibbs as restricted_gibbs_module
from pyclone_pgsm.samplers import sams as sams_module
from pyclone_pgsm.samplers import split_proposals as split_proposals_module
from pyclone_pgsm.samplers.restricted_gibbs import restricted_gibbs
from pyclone_pgsm.samplers.sams import close_sams, sams

REPLICATES = 120_000
REPLICATES_OF_CLOSE = 30_000  # of 20 moves each: of the faults below, the one that shows least has p = 1e-27
SAMS, CLOSE = -1, -2  # what a move is called here; or restricted Gibbs with this many intermediate scans

CLOSE_MOVES = 20

Steps = Callable[..., NDArray[np.int64]]


def make_steps(build: Any, move: Any) -> Steps:
    """A compiled loop over replicates: one move from each start, the partition where it ends as a number.

    A move takes the pair of anchors of its replicate, or, with close anchors, the number of moves.
    """

    def steps(likelihood, prior, starts, anchors, arguments):  # type: ignore[no-untyped-def]
        T = starts.shape[1]
        codes = np.zeros(len(starts), np.int64)
        for r in range(len(starts)):
            partition, _, _ = move(likelihood, prior, build(likelihood, starts[r]), anchors[r], *arguments)
            labels, _ = canonical_labels(partition.labels)
            for i in range(T - 1, -1, -1):
                codes[r] = codes[r] * T + labels[i]
        return codes

    return compile_steps(steps)


@cache
def sound_steps(likelihood: type, move: int) -> Steps:
    """With the very functions that the chains run."""
    build, kernel = (compiled_for(function, likelihood) for function in (build_partition, function_of(move)))
    return make_steps(build, kernel)


def function_of(move: int) -> Callable[..., Any]:
    return {SAMS: sams, CLOSE: close_sams}.get(move, restricted_gibbs)


def dirichlet_process(case: Case) -> PartitionPrior:
    """The prior of the case's posterior."""
    j = np.arange(case.num_observations + 1)
    return PartitionPrior(j * np.log(case.concentration), gammaln(np.maximum(j, 1)))


def at_most_three(case: Case) -> PartitionPrior:
    """Finite Dirichlet: 3!/(3 - j)! and Γ(n + 0.7) / Γ(0.7)."""
    log_tau1 = np.full(case.num_observations + 1, -np.inf)
    log_tau1[:4] = np.log([1.0, 3.0, 6.0, 6.0])
    return PartitionPrior(log_tau1, gammaln(np.arange(case.num_observations + 1) + 0.7) - gammaln(0.7))


def uneven(case: Case) -> PartitionPrior:
    """Any numbers will do."""
    rng = np.random.default_rng(11)
    return PartitionPrior(*rng.normal(size=(2, case.num_observations + 1)))


PRIORS = {make.__name__: make for make in (dirichlet_process, at_most_three, uneven)}


def posterior_under(case: Case, prior: PartitionPrior) -> Posterior:
    """The case's posterior with another prior."""
    partitions = case.posterior.partitions

    def log_tau(tables: PartitionPrior) -> NDArray[np.float64]:
        sizes = np.array([np.bincount(labels, minlength=partitions.shape[1]) for labels in partitions])
        return tables.log_tau1[(sizes > 0).sum(axis=1)] + np.where(sizes > 0, tables.log_tau2[sizes], 0).sum(
            axis=1
        )

    return Posterior(partitions, case.posterior.log_joint + log_tau(prior) - log_tau(dirichlet_process(case)))


def draw_anchors(T: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(size, 2) pairs, not all with the same probability: a move is exact for any distribution."""
    first = rng.choice(T, size, p=np.arange(1, T + 1) / (T * (T + 1) / 2))
    return np.stack([first, (first + rng.integers(1, T, size)) % T], axis=1)


def p_value(
    name: str, prior_name: str, move: int, steps: Steps | None = None, fault: int | None = None
) -> float:
    """Of the test that one move leaves the posterior as it is."""
    case = CASES[name]()
    rng = np.random.default_rng(1)
    prior = PRIORS[prior_name](case)
    posterior = posterior_under(case, prior)
    replicates = REPLICATES_OF_CLOSE if move == CLOSE else REPLICATES
    if not name.startswith(
        "counts"
    ):  # each takes several times as long; all faults but one still show (p < 0.005)
        replicates //= 3
    arguments: tuple[Any, ...] = (rng,) if move in (SAMS, CLOSE) else (move, rng)
    if fault is not None:
        arguments += (fault,)
    steps = steps or sound_steps(type(case.likelihood), min(move, 0))
    starts = posterior.draw(replicates, rng)
    if move == CLOSE:  # a few moves of each replicate: one changes little
        anchors = np.full(replicates, CLOSE_MOVES)
    else:
        anchors = draw_anchors(case.num_observations, replicates, rng)
    counts = posterior.count(steps(case.likelihood, prior, starts, anchors, arguments))
    assert not counts[posterior.probabilities == 0].any(), "a partition that the prior rules out"
    return chi_square_p_value(counts, posterior.probabilities)


# Every move with every prior on counts; on tumours a covering set.
SOUND = [("counts", prior, move) for prior in PRIORS for move in (SAMS, CLOSE, 0, 1, 3)] + [
    ("counts_of_two", "dirichlet_process", SAMS),
    ("counts_of_two", "dirichlet_process", 1),
    ("counts_of_three", "at_most_three", 0),
    ("one_sample", "at_most_three", SAMS),
    ("one_sample", "dirichlet_process", 0),
    ("two_samples_with_missing_data", "dirichlet_process", SAMS),
    ("two_samples_with_missing_data", "at_most_three", 3),
    ("copy_numbers", "uneven", SAMS),
    ("underflow", "dirichlet_process", 1),
    ("base_of_two_samples", "dirichlet_process", SAMS),
    ("base_of_two_samples", "dirichlet_process", 1),
    ("base_of_narrow_likelihoods", "dirichlet_process", SAMS),
    ("counts_of_two", "dirichlet_process", CLOSE),
    ("counts_of_three", "at_most_three", CLOSE),
    ("two_samples_with_missing_data", "dirichlet_process", CLOSE),
    ("copy_numbers", "uneven", CLOSE),
    ("underflow", "dirichlet_process", CLOSE),
    ("base_of_two_samples", "dirichlet_process", CLOSE),
]


@pytest.mark.parametrize(("name", "prior", "move"), SOUND)
def test_one_move_from_the_posterior_is_the_posterior(name: str, prior: str, move: int) -> None:
    assert p_value(name, prior, move) > 1e-4


@pytest.mark.parametrize("prior", PRIORS)
def test_the_posterior_is_spread_out(prior: str) -> None:
    for name in {name for name, of_prior, _ in SOUND if of_prior == prior}:
        case = CASES[name]()
        assert posterior_under(case, PRIORS[prior](case)).probabilities.max() < 0.7


COMMON_FAULTS = {
    "q left out of a split": Fault(
        "log_u >= log_odds - log_q", "log_u >= log_odds - (0.0 if BROKEN else log_q)"
    ),
    "q left out of a merge": Fault("if log_q <= least", "if (0.0 if BROKEN else log_q) <= least"),
    "tau1 of a split with one block too few": Fault(
        "num_others, slots[0], work", "num_others - BROKEN, slots[0], work"
    ),
    "tau1 of a merge with one block too few": Fault(
        "num_others, merged, work)\n", "num_others - BROKEN, merged, work)\n"
    ),
    "merged blocks counted as one of the split": Fault(
        "merged, work)\n", "slots[0] if BROKEN else merged, work)\n"
    ),
}
SAMS_FAULTS = COMMON_FAULTS | {
    "q of a merge from a path drawn anew": Fault(
        "num_blocks == 1, least", "num_blocks == 1 or BROKEN, least"
    ),
}
CLOSE_FAULTS = {
    "h left out of a split": Fault(
        "log_odds += log_anchor_odds(likelihood, partition, anchors, second_slot",
        "log_odds += (0.0 if BROKEN else 1.0) * log_anchor_odds(likelihood, partition, anchors, second_slot",
    ),
    "h left out of a merge": Fault(
        "log_odds += log_anchor_odds(likelihood, partition, anchors, slots[1]",
        "log_odds += (0.0 if BROKEN else 1.0) * log_anchor_odds(likelihood, partition, anchors, slots[1]",
    ),
    "block of the first anchor taken for the second's": Fault(
        "work.slots[1 if work.sigma[0] == anchors[0] else 0]",
        "work.slots[1 if work.sigma[0] == anchors[0] or BROKEN else 0]",
    ),
    "blocks miscounted": Fault(
        "math.log((num_others + 1) / (num_others + 2))",
        "math.log((num_others + 1 + BROKEN) / (num_others + 2))",
    ),
    "closeness left out": Fault("-math.log(total)", "-(0.0 if BROKEN else math.log(total))"),
    "second anchor as likely from every other block": Fault(
        "total += math.exp(min(work.log_p[b] - log_chosen, LARGEST_EXPONENT))",
        "total += 1.0 if BROKEN else math.exp(min(work.log_p[b] - log_chosen, LARGEST_EXPONENT))",
    ),
    "size of the second block left out": Fault(
        "- math.log(sizes[1])", "- math.log(1 if BROKEN else sizes[1])"
    ),
    "second anchor may be the first": Fault("+ math.log(n - 1)", "+ math.log(n if BROKEN else n - 1)"),
}
RESTRICTED_GIBBS_FAULTS = COMMON_FAULTS | {
    "last scan of a split left out": Fault(
        "stats, wanted, least, work, rng)\n",
        "stats, work.sides[:n].copy() if BROKEN and drawn else wanted, least, work, rng)\n",
    ),
    "last scan of a merge left out": Fault(
        "else wanted, least", "else work.sides[:n].copy() if BROKEN and not drawn else wanted, least"
    ),
    "q of a merge from a path drawn anew": Fault("if drawn:", "if drawn or BROKEN:"),
}
FRAME = ("split_or_merge", "propose")


@cache
def faulty_steps(move: int) -> Steps:
    """A move takes the number of its fault besides, 0 for none."""
    build = compile_inner(build_partition)
    modules: tuple[ModuleType, ...] = (split_proposals_module,)
    inner: tuple[str, ...]
    if move == CLOSE:
        modules += (close_blocks_module,)
        inner = (*FRAME, "allocate_in_sequence", "log_anchor_odds", "log_anchor_probability")
        return make_steps(build, with_faults(sams_module, "close_sams", CLOSE_FAULTS, modules, inner))
    if move == SAMS:
        inner = (*FRAME, "allocate_in_sequence")
        return make_steps(build, with_faults(sams_module, "sams", SAMS_FAULTS, modules, inner))
    inner = (*FRAME, "scan_from_launch_state")
    return make_steps(
        build,
        with_faults(restricted_gibbs_module, "restricted_gibbs", RESTRICTED_GIBBS_FAULTS, modules, inner),
    )


def p_value_with(move: int, number: int) -> float:
    return p_value("counts", "uneven", move, faulty_steps(min(move, 0)), number)


@pytest.mark.parametrize("fault", SAMS_FAULTS)
def test_a_fault_of_sams_is_caught(fault: str) -> None:
    assert p_value_with(SAMS, 1 + list(SAMS_FAULTS).index(fault)) < 1e-6


@pytest.mark.parametrize("fault", CLOSE_FAULTS)
def test_a_fault_of_close_anchors_is_caught(fault: str) -> None:
    assert p_value_with(CLOSE, 1 + list(CLOSE_FAULTS).index(fault)) < 1e-6


@pytest.mark.parametrize("fault", RESTRICTED_GIBBS_FAULTS)
def test_a_fault_of_restricted_gibbs_is_caught(fault: str) -> None:
    """At the number of intermediate scans that shows it best."""
    scans = 1 if fault == "last scan of a merge left out" else 0
    assert p_value_with(scans, 1 + list(RESTRICTED_GIBBS_FAULTS).index(fault)) < 1e-6


@pytest.mark.parametrize("move", [SAMS, CLOSE, 0, 1])
def test_with_all_faults_off_the_same_code_is_exact(move: int) -> None:
    assert p_value_with(move, 0) > 1e-4
