"""The exactness test can fail: a kernel with one fault does not leave the posterior as it is."""

from __future__ import annotations

import pytest
from broken import GIBBS_FAULTS, SPLIT_MERGE_FAULTS, Fault, faulty_steps
from cases import CASES, poisson_gamma
from one_step import Kernel, p_value

REPLICATES = 150_000
SWEEP = Kernel(sweeps=1)

# The data and settings that show each fault. Most show at others too.
SHOWN_BY = {
    "annealing of n = |s| left out": ("counts_of_two", Kernel(moves=1, particles=2)),
    "all copies of a particle go the same way": ("counts", Kernel(moves=1, particles=20, threshold=0.0)),
    "chosen particle drawn without multiplicities": ("counts_of_three", Kernel(moves=1, particles=3)),
    "conditioned path has no children but itself": ("counts", Kernel(moves=1, particles=3, threshold=1.0)),
    "conditioned path lost at resampling": ("counts", Kernel(moves=1, particles=2, threshold=1.0)),
    "weights kept after resampling": ("counts", Kernel(moves=1, particles=20, threshold=1.0)),
    "tau2 left out of the merged particle's weight": ("counts_of_three", Kernel(moves=1, particles=2)),
    "split annealed too slowly": ("counts_of_three", Kernel(moves=1, particles=2)),
    "path traced through the wrong parent": ("counts", Kernel(moves=1, particles=20)),
    "leave-one-out leaves nothing out": ("counts_of_two", SWEEP),
    "tau2 counts the observation itself": ("counts_of_three", SWEEP),
    "lone observation counts its own block": ("counts_of_two", SWEEP),
}


def p_value_with(name: str, kernel: Kernel, gibbs_fault: int, split_merge_fault: int) -> float:
    case = CASES[name]()
    return p_value(
        case.likelihood,
        case.posterior,
        case.concentration,
        kernel,
        REPLICATES,
        steps=faulty_steps(),
        more_for_sweep=(gibbs_fault,),
        more_for_move=(split_merge_fault,),
    )


def number_of(fault: str, faults: dict[str, Fault]) -> int:
    return 1 + list(faults).index(fault) if fault in faults else 0


@pytest.mark.parametrize("fault", SHOWN_BY)
def test_a_fault_is_caught(fault: str) -> None:
    numbers = number_of(fault, GIBBS_FAULTS), number_of(fault, SPLIT_MERGE_FAULTS)
    assert sum(numbers) > 0
    assert p_value_with(*SHOWN_BY[fault], *numbers) < 1e-10


@pytest.mark.parametrize(("name", "kernel"), sorted(set(SHOWN_BY.values()), key=str))
def test_with_all_faults_off_the_same_code_is_exact(name: str, kernel: Kernel) -> None:
    assert p_value_with(name, kernel, 0, 0) > 1e-4


@pytest.mark.parametrize("particles", [3, 5])
def test_resampling_because_a_kind_is_dead_is_exact(particles: int) -> None:
    """In the copied source a kind of particle counts as dead at 0.95 of the other's weight, not at 1e-20, so that the
    criterion matters; it may not depend on which of the particles is the conditioned path."""
    case = poisson_gamma([3, 1, 7, 12, 0, 5, 4], 0.7)
    kernel = Kernel(moves=1, particles=particles, threshold=1e-9)
    replicates = 1_000_000
    p = p_value(
        case.likelihood,
        case.posterior,
        case.concentration,
        kernel,
        replicates,
        steps=faulty_steps(),
        more_for_sweep=(0,),
        more_for_move=(0,),
    )
    assert p > 1e-4


def test_every_fault_is_shown() -> None:
    assert SHOWN_BY.keys() == SPLIT_MERGE_FAULTS.keys() | GIBBS_FAULTS.keys()
