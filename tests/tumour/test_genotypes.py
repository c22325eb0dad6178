"""The genotype states of each prior, against lists written by hand."""

from __future__ import annotations

import itertools

import pytest

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.tumour.genotypes import GENOTYPE_PRIORS, genotype_states

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
            if prior in ("major", "parental", "total"):
                assert (c_normal, c_variant) == (normal, major + minor)


def test_unknown_prior() -> None:
    with pytest.raises(UsageError) as caught:
        genotype_states("majr", 1, 1, 2)
    assert str(caught.value) == (
        "genotype prior 'majr': expected one of major, parental, total, ab, bb, no-zygosity"
    )


@pytest.mark.parametrize("copies", [(0, 0, 2), (1, 2, 2), (1, -1, 2), (1, 1, 0)])
def test_impossible_copy_numbers(copies: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match=f"no genotype fits major_cn {copies[0]}, minor_cn"):
        genotype_states("major", *copies)
