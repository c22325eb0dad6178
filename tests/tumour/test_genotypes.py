"""The genotype states of each prior, against lists written by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pyclone_pgsm.inputs.observations import GENOTYPE_PRIORS
from pyclone_pgsm.tumour.genotypes import (
    LOOSE,
    Genotype,
    clonal_genotypes,
    genotype_states,
    two_state_genotypes,
)

BY_HAND = [
    # prior, (major, minor, normal), states (c_normal, c_reference, c_variant, mutant copies)
    ("major", (1, 1, 2), {(2, 2, 2, 1)}),
    ("major", (2, 0, 2), {(2, 2, 2, 1), (2, 2, 2, 2)}),
    ("major", (1, 0, 2), {(2, 2, 1, 1), (2, 1, 1, 1)}),
    ("major", (2, 1, 2), {(2, 2, 3, 1), (2, 2, 3, 2), (2, 3, 3, 1)}),
    ("major", (3, 1, 2), {(2, 2, 4, 1), (2, 2, 4, 2), (2, 2, 4, 3), (2, 4, 4, 1)}),
    ("major", (2, 2, 2), {(2, 2, 4, 1), (2, 2, 4, 2), (2, 4, 4, 1)}),
    ("major", (1, 0, 1), {(1, 1, 1, 1)}),
    ("major", (2, 0, 1), {(1, 1, 2, 1), (1, 1, 2, 2), (1, 2, 2, 1)}),
    ("major", (1, 1, 1), {(1, 1, 2, 1), (1, 2, 2, 1)}),
    ("parental", (1, 1, 2), {(2, 2, 2, 1)}),
    ("parental", (2, 0, 2), {(2, 2, 2, 1), (2, 2, 2, 2)}),
    ("parental", (3, 2, 2), {(2, 2, 5, 3), (2, 2, 5, 2), (2, 2, 5, 1), (2, 5, 5, 1)}),
    ("parental", (4, 0, 2), {(2, 2, 4, 4), (2, 2, 4, 1), (2, 4, 4, 1)}),
    ("parental", (1, 0, 1), {(1, 1, 1, 1)}),
    ("total", (1, 1, 2), {(2, 2, 2, 1), (2, 2, 2, 2)}),
    ("total", (2, 1, 2), {(2, c, 3, m) for c in (2, 3) for m in (1, 2, 3)}),
    ("total", (1, 0, 2), {(2, 2, 1, 1), (2, 1, 1, 1)}),
    ("total", (1, 0, 1), {(1, 1, 1, 1)}),
    ("clonal", (2, 1, 2), {(2, 3, 3, 1), (2, 3, 3, 2)}),
    ("clonal", (1, 0, 2), {(2, 1, 1, 1)}),
    ("clonal", (2, 0, 1), {(1, 2, 2, 1), (1, 2, 2, 2)}),
    ("ab", (3, 1, 2), {(2, 2, 2, 1)}),
    ("bb", (3, 1, 2), {(2, 2, 2, 2)}),
    ("no-zygosity", (1, 0, 1), {(2, 2, 2, 1), (2, 2, 2, 2)}),
]


@pytest.mark.parametrize(("prior", "copies", "expected"), BY_HAND)
def test_states_by_hand(prior: str, copies: tuple[int, int, int], expected: set[tuple[int, ...]]) -> None:
    states = genotype_states(prior, *copies)
    assert set(states) == expected
    assert len(states) == len(expected)


def test_every_prior_is_enumerated_by_hand() -> None:
    assert {prior for prior, _, _ in BY_HAND} == set(GENOTYPE_PRIORS)


@pytest.mark.parametrize("prior", GENOTYPE_PRIORS)
def test_states_are_possible_and_distinct(prior: str) -> None:
    for major, minor, normal in itertools.product(range(1, 7), range(7), (1, 2, 3)):
        if minor > major:
            continue
        states = genotype_states(prior, major, minor, normal)
        assert states
        assert len(set(states)) == len(states)
        assert states == genotype_states(prior, major, minor, normal)
        for c_normal, c_reference, c_variant, mutant_copies in states:
            assert c_reference in (c_normal, c_variant)
            assert 1 <= mutant_copies <= c_variant
            if prior in ("major", "parental", "total", "clonal"):
                assert (c_normal, c_variant) == (normal, major + minor)


@pytest.mark.parametrize("copies", [(0, 0, 2), (1, 2, 2), (1, -1, 2), (1, 1, 0)])
def test_impossible_copy_numbers(copies: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match=f"no genotype fits major_cn {copies[0]}, minor_cn"):
        genotype_states("major", *copies)


TWO_BY_HAND = [
    # prior, first state, second state, mutant copies in cells of the first and the second
    ("major", (1, 1), (2, 1), {(1, 1), (1, 2)}),
    ("major", (1, 1), (1, 0), {(1, 1)}),
    ("major", (1, 1), (2, 0), {(1, 1), (1, 2)}),
    ("major", (2, 1), (2, 2), {(1, 1), (1, 2), (2, 1), (2, 2)}),
    (
        "major",
        (4, 2),
        (3, 1),
        {(1, 1), (1, 2), (1, 3), (2, 1), (3, 1), (4, 1), (2, 2), (3, 3), (4, 3), (2, 3)},
    ),
    ("parental", (5, 3), (4, 0), {(1, 1), (1, 4), (3, 1), (5, 1), (5, 4), (3, 4)}),
    ("total", (1, 1), (2, 1), {(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)}),
]


@pytest.mark.parametrize(("prior", "one", "two", "copies"), TWO_BY_HAND)
@pytest.mark.parametrize("normal", [1, 2])
def test_two_states(
    prior: str, one: tuple[int, int], two: tuple[int, int], copies: set[tuple[int, int]], normal: int
) -> None:
    states = two_state_genotypes(prior, one, two, 0.3, normal)
    one_first = {(normal, sum(two), sum(one), a, b, 0.7) for a, b in copies}
    two_first = {(normal, sum(one), sum(two), b, a, 0.3) for a, b in copies}
    assert len(states) == len(set(states))
    strict = {tuple(state[:6]) for state in states if state.is_strict}
    loose = {tuple(state[:6]) for state in states if not state.is_strict}
    assert loose == one_first | two_first
    assert strict == {history for history in loose if history[3:5] != (1, 1)}
    weights = {state: math.exp(state.log_weight) / len(states) for state in states}
    assert sum(weights.values()) == pytest.approx(1.0)
    for state, weight in weights.items():
        share = (1 - LOOSE if state.is_strict else LOOSE) if tuple(state[:6]) in strict else 1.0
        assert weight == pytest.approx(share / len(loose))


def test_a_state_without_a_copy_has_no_mutation() -> None:
    states = two_state_genotypes("major", (2, 1), (0, 0), 0.3, 2)
    assert [tuple(state[:7]) for state in states] == [
        (2, 0, 3, 1, 0, 0.7, False),
        (2, 0, 3, 2, 0, 0.7, True),
        (2, 0, 3, 2, 0, 0.7, False),
    ]
    assert two_state_genotypes("major", (0, 0), (1, 0), 0.3, 2) == [Genotype(2, 0, 1, 1, 0, 0.3, False, 0.0)]


def test_clonal_copies() -> None:
    states = clonal_genotypes(3, 1, 2)
    assert [tuple(state[:7]) for state in states] == [
        (2, 4, 4, 1, 0, 0, False),
        (2, 4, 4, 2, 0, 0, True),
        (2, 4, 4, 2, 0, 0, False),
        (2, 4, 4, 3, 0, 0, True),
        (2, 4, 4, 3, 0, 0, False),
    ]
    weights = [math.exp(state.log_weight) / len(states) for state in states]
    assert weights == pytest.approx(np.array([1.0, 1.0 - LOOSE, LOOSE, 1.0 - LOOSE, LOOSE]) / 3)


@pytest.mark.parametrize(
    ("prior", "one", "two", "fraction"),
    [
        ("ab", (1, 1), (2, 1), 0.3),
        ("major", (2, 1), (2, 1), 0.3),
        ("major", (1, 1), (2, 1), 0.0),
        ("major", (1, 1), (2, 1), 1.0),
        ("major", (1, 2), (2, 1), 0.3),
    ],
)
def test_no_two_states(prior: str, one: tuple[int, int], two: tuple[int, int], fraction: float) -> None:
    with pytest.raises(ValueError, match=r"two different copy-number states|no genotype fits"):
        two_state_genotypes(prior, one, two, fraction, 2)
