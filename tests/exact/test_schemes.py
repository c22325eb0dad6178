"""Every way to resample, both targets, two anchors and more: one move from the posterior, still the posterior."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from cases import CASES
from enumeration import Posterior
from one_step import Kernel, p_value, tables

from pyclone_pgsm.priors import CustomPrior, FiniteDirichlet, Prior

REPLICATES = 40_000

# Without resampling the first three are one and the same; the optimal one has no use for a threshold but to let a kind
# of particle go that is dead.
THRESHOLDS = {
    "multinomial": (0.0, 0.5, 1.0),
    "stratified": (0.5, 1.0),
    "systematic": (0.5, 1.0),
    "optimal": (0.0, 0.5),
    "both-kinds": (0.0, 0.5, 1.0),
}
TWO = [
    Kernel(moves=1, particles=particles, threshold=threshold, annealed=annealed, scheme=scheme)
    for scheme, thresholds in THRESHOLDS.items()
    for threshold, annealed, particles in product(thresholds, (True, False), (2, 5, 20))
]
THREE = [
    Kernel(
        moves=1,
        particles=particles,
        threshold=threshold,
        annealed=annealed,
        scheme=scheme,
        anchors=3,
    )
    for scheme, thresholds in THRESHOLDS.items()
    for threshold, annealed, particles in product(thresholds, (True, False), (2, 5, 20))
    if scheme != "both-kinds"
]
FOUR = [
    Kernel(moves=1, particles=5, annealed=annealed, scheme=scheme, anchors=4)
    for scheme, annealed in product(("multinomial", "optimal"), (True, False))
]
NOT_LONG = {5}  # particles of those that are tested in any case, at these thresholds
AT = {0.5}


def some_are_long(kernels: list[Kernel]) -> list[Any]:
    return [
        pytest.param(
            kernel,
            id=str(kernel),
            marks=()
            if kernel.particles in NOT_LONG and kernel.threshold in AT and kernel.annealed
            else (pytest.mark.long,),
        )
        for kernel in kernels
    ]


def p_value_of(name: str, kernel: Kernel, replicates: int = REPLICATES) -> float:
    case = CASES[name]()
    return p_value(case.likelihood, case.posterior, case.concentration, kernel, replicates, seed=2)


@pytest.mark.parametrize("kernel", some_are_long([*TWO, *THREE, *FOUR]))
def test_one_move_from_the_posterior_is_the_posterior(kernel: Kernel) -> None:
    assert p_value_of("counts", kernel) > 1e-4


@pytest.mark.parametrize("annealed", [True, False])
@pytest.mark.parametrize(
    ("anchors", "scheme"),
    [
        (anchors, scheme)
        for anchors, scheme in product((2, 3), THRESHOLDS)
        if (anchors, scheme) != (3, "both-kinds")
    ],
)
def test_no_observations_but_the_anchors(anchors: int, scheme: str, annealed: bool) -> None:
    name = {2: "counts_of_two", 3: "counts_of_three"}[anchors]
    kernel = Kernel(moves=1, particles=3, annealed=annealed, scheme=scheme, anchors=anchors)
    assert p_value_of(name, kernel) > 1e-4


def posterior_under(prior: Prior, posterior: Posterior, concentration: float) -> Posterior:
    """A posterior under a Dirichlet process turned into one under `prior`, up to a constant."""
    T = posterior.partitions.shape[1]
    log_joint = posterior.log_joint.copy()
    for new, sign in ((tables(concentration, T, prior), 1), (tables(concentration, T), -1)):
        for c, labels in enumerate(posterior.partitions):
            sizes = np.bincount(labels)
            log_joint[c] += sign * (new.log_tau1[len(sizes)] + new.log_tau2[sizes].sum())
    return Posterior(posterior.partitions, log_joint)


@pytest.mark.parametrize(
    "prior",
    [
        FiniteDirichlet(2, 0.7, None, None),
        FiniteDirichlet(3, 0.7, None, None),
        CustomPrior(lambda j: np.where(j <= 4, 0.4 * j, -np.inf), lambda n: 0.1 * n**2),
    ],
    ids=["at most 2", "at most 3", "at most 4"],
)
@pytest.mark.parametrize(
    "kernel",
    some_are_long(
        [
            Kernel(
                moves=1,
                particles=5,
                annealed=annealed,
                scheme=scheme,
                anchors=anchors,
                threshold=threshold,
            )
            for anchors, scheme, annealed, threshold in (
                (2, "multinomial", True, 0.5),
                (2, "optimal", False, 1.0),
                (2, "both-kinds", True, 1.0),
                (3, "multinomial", True, 0.5),
                (3, "systematic", False, 1.0),
                (3, "optimal", True, 1.0),
                (4, "multinomial", True, 1.0),
            )
        ]
    ),
)
def test_with_a_largest_number_of_blocks(kernel: Kernel, prior: Prior) -> None:
    case = CASES["counts"]()
    posterior = posterior_under(prior, case.posterior, case.concentration)
    p = p_value(case.likelihood, posterior, case.concentration, kernel, REPLICATES, prior=prior)
    assert p > 1e-4


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["systematic", "optimal", "both-kinds"])
@pytest.mark.parametrize("name", ["underflow", "copy_numbers"])
def test_pyclone(name: str, scheme: str) -> None:
    """Where one kind of particle may weigh nothing beside the other in double precision."""
    assert p_value_of(name, Kernel(moves=1, particles=5, scheme=scheme, threshold=0.9), 40_000) > 1e-4


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("base_of_one_sample", "stratified"),
        ("base_of_two_samples", "systematic"),
        ("base_of_two_samples", "optimal"),
        ("base_of_narrow_likelihoods", "both-kinds"),
    ],
)
def test_pyclone_with_a_base_measure(name: str, scheme: str) -> None:
    assert p_value_of(name, Kernel(moves=1, particles=5, scheme=scheme, threshold=0.9)) > 1e-4


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["multinomial", "optimal"])
def test_pyclone_with_three_anchors(scheme: str) -> None:
    kernel = Kernel(moves=1, particles=10, scheme=scheme, anchors=3)
    assert p_value_of("copy_numbers", kernel, 40_000) > 1e-4
    assert p_value_of("base_of_two_samples", kernel, 20_000) > 1e-4
    assert p_value_of("underflow", kernel, 20_000) > 1e-4
