"""Mutational genotype priors: which copy-number histories a mutation may have.

A state is ``(c_normal, c_reference, c_variant, mutant_copies)``: the copies of the locus in a normal cell, in
a cancer cell without the mutation and in a cancer cell with it, and how many of the last carry the mutation.
The states of a prior are weighted equally.

Where a share of the tumour cells holds a second copy-number state, a state of the prior says which of the two
the cells with the mutation hold first, and its copies in both (derived in docs/subclonal_copy_number.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.observations import PRIORS_WITHOUT_COPY_NUMBERS

State = tuple[int, int, int, int]
CopyNumber = tuple[int, int]
"""Major and minor copies."""


class TwoStates(NamedTuple):
    """How a mutation lies in a tumour whose cells hold two copy-number states.

    Of the tumour cells, a share phi of which has the mutation, a = min(phi, share) hold the first state and have the
    mutation, and b = phi - a hold the other and have it: the mutation fills the cells of the first state, and only then
    those of the other.

    Attributes
    ----------
    normal : int
        Copies in normal cells.
    other_copies, first_copies : int
        Copies in the tumour cells of either state, with the mutation or without.
    first_mutant, other_mutant : int
        Those of them that carry it in cells that have it.
    share : float
        Share of the tumour cells that hold the first state, in (0, 1).
    is_strict : bool
        Whether more than one copy carries it only where all cells of the state have it; in a part of them it is younger
        than the state, and on one copy.
    log_weight : float
        Log of the prior probability times the number of genotypes of the locus.
    """

    normal: int
    other_copies: int
    first_copies: int
    first_mutant: int
    other_mutant: int
    share: float
    is_strict: bool
    log_weight: float


LOOSE = 0.1
"""Prior probability that a mutation may be on several copies in a part of a state's cells: that fractions, tumour
content or the states are not quite what they are told to be."""


def _major(major: int, minor: int, normal: int) -> Iterator[State]:
    total = major + minor
    for copies in range(1, major + 1):
        yield normal, normal, total, copies
    yield normal, total, total, 1


def _parental(major: int, minor: int, normal: int) -> Iterator[State]:
    total = major + minor
    for copies in (1, minor, major):
        if copies > 0:
            yield normal, normal, total, copies
    yield normal, total, total, 1


def _total(major: int, minor: int, normal: int) -> Iterator[State]:
    total = major + minor
    for reference in (normal, total):
        for copies in range(1, total + 1):
            yield normal, reference, total, copies


_ONE_MUTANT, _BOTH_MUTANT = (2, 2, 2, 1), (2, 2, 2, 2)

_PRIORS: dict[str, Callable[[int, int, int], Iterable[State]]] = {
    "major": _major,
    "parental": _parental,
    "total": _total,
    "ab": lambda *_: [_ONE_MUTANT],
    "bb": lambda *_: [_BOTH_MUTANT],
    "no-zygosity": lambda *_: [_ONE_MUTANT, _BOTH_MUTANT],
}

GENOTYPE_PRIORS: tuple[str, ...] = tuple(_PRIORS)


def genotype_states(prior: str, major_cn: int, minor_cn: int, normal_cn: int) -> list[State]:
    """Distinct genotype states of one locus, equally weighted, in a fixed order.

    * ``major``: the mutation came before the copy-number event, when cells without it still have the normal
      copies (c_reference = normal_cn), and is on 1..major_cn copies; or it came after, c_reference = total,
      on one copy.
    * ``parental``: before the event, on 1, minor_cn or major_cn copies (one, or all of a parental allele); or
      after.
    * ``total``: only the total is known: c_reference is normal_cn or the total, the mutation on 1..total
      copies.
    * ``ab``, ``bb``, ``no-zygosity``: the naive priors of PyClone. They do not look at the copy numbers: the
      locus is diploid in every cell, and the mutation is on one copy, on both, or on either.

    In all of them c_variant is major_cn + minor_cn (2 in the naive ones) and 1 <= mutant_copies <= c_variant.
    States that coincide (as when the total is the normal copy number, so that before and after are the same)
    count once. A locus with normal_cn = 1, X or Y in a male, needs no special case.

    Parameters
    ----------
    prior : str
        One of `GENOTYPE_PRIORS`.
    major_cn, minor_cn : int
        Copies of the more and of the less frequent allele in the cancer cells; major_cn >= 1, minor_cn >= 0.
    normal_cn : int
        Copies in the normal cells, >= 1.

    Returns
    -------
    list of (c_normal, c_reference, c_variant, mutant_copies)

    Raises
    ------
    UsageError
        The prior is not one of `GENOTYPE_PRIORS`.
    ValueError
        The prior looks at the copy numbers, and they are out of range (`pyclone_pgsm.inputs` lets no such locus
        through).
    """
    if prior not in _PRIORS:
        raise UsageError(f"genotype prior {prior!r}: expected one of {', '.join(GENOTYPE_PRIORS)}")
    looks_at_them = prior not in PRIORS_WITHOUT_COPY_NUMBERS
    if looks_at_them and not (0 <= minor_cn <= major_cn and major_cn >= 1 and normal_cn >= 1):
        raise ValueError(f"no genotype fits major_cn {major_cn}, minor_cn {minor_cn}, normal_cn {normal_cn}")
    return list(dict.fromkeys(_PRIORS[prior](major_cn, minor_cn, normal_cn)))


def two_state_genotypes(
    prior: str, one: CopyNumber, two: CopyNumber, fraction: float, normal_cn: int
) -> list[TwoStates]:
    """Genotypes of a locus with two copy-number states, in a fixed order (derived in docs/subclonal_copy_number.md).

    Either state comes first, as likely as the other: if it is the younger one, the mutation arose within its cells, or
    before it and is in all of them; if it is the older one, the mutation arose in a branch without the younger one. The
    copies that carry the mutation are, for each state, numbers that the prior has for this state alone; of two numbers
    one is 1, or both are the same, or both are all copies of an allele; all pairs are as likely. A state without a copy
    comes last, with no mutant copy.

    Parameters
    ----------
    prior : str
        One of `GENOTYPE_PRIORS` that looks at copy numbers.
    one, two : (int, int)
        Major and minor copies of two different states.
    fraction : float
        Share of the tumour cells that hold the second state, in (0, 1).
    normal_cn : int
        Copies in the normal cells, >= 1.

    Raises
    ------
    UsageError
        The prior is not one of `GENOTYPE_PRIORS`.
    ValueError
        The prior does not look at copy numbers, the states are the same, or numbers are out of range.
    """
    if prior in PRIORS_WITHOUT_COPY_NUMBERS or one == two or not 0.0 < fraction < 1.0:
        raise ValueError(f"no two states: prior {prior}, states {one} and {two}, fraction {fraction}")
    pairs = _mutant_copies(prior, one, two, normal_cn)
    c_one, c_two = sum(one), sum(two)
    histories = [(normal_cn, c_two, c_one, a, b, 1.0 - fraction) for a, b in pairs if c_one]
    histories += [(normal_cn, c_one, c_two, b, a, fraction) for a, b in pairs if c_two]
    weighted = [
        (history, is_strict, weight)
        for history in histories
        for is_strict, weight in (
            [(True, 1.0 - LOOSE), (False, LOOSE)] if max(history[3:5]) > 1 else [(True, 1.0)]
        )
    ]
    scale = len(weighted) / len(histories)
    return [
        TwoStates(*history, is_strict, math.log(weight * scale)) for history, is_strict, weight in weighted
    ]


def _mutant_copies(prior: str, one: CopyNumber, two: CopyNumber, normal_cn: int) -> list[tuple[int, int]]:
    """Copies that carry the mutation in cells of either state; 0 only where the state has no copy."""

    def alone(state: CopyNumber) -> list[int]:
        return (
            sorted({copies for *_, copies in genotype_states(prior, *state, normal_cn)})
            if sum(state)
            else [0]
        )

    ones, twos = alone(one), alone(two)
    pairs = [(a, twos[0]) for a in ones]
    pairs += [(ones[0], b) for b in twos]
    pairs += [(a, a) for a in ones if a in set(twos)]
    pairs += [(a, b) for a in one for b in two if a and b]
    return list(dict.fromkeys(pairs))
