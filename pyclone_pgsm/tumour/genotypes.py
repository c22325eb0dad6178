"""Mutational genotype priors: which copy-number histories a mutation may have.

A state is ``(c_normal, c_reference, c_variant, mutant_copies)``: the copies of the locus in a normal cell, in
a cancer cell without the mutation and in a cancer cell with it, and how many of the last carry the mutation.
The states of a prior are weighted equally.

The prior `CLONAL` also says which states are possible only if all cancer cells have the mutation.

If the tumour cells have two copy-number states, a genotype says which of the two the cells with the mutation
fill first, and how many copies carry the mutation in each (derived in docs/subclonal_copy_number.md).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from pyclone_pgsm.inputs.observations import CLONAL, PRIORS_WITHOUT_COPY_NUMBERS

State = tuple[int, int, int, int]
CopyNumber = tuple[int, int]
"""Major and minor copies."""


class Genotype(NamedTuple):
    """Genotype of a mutation, in a tumour whose cells have one copy-number state or two.

    With two states, a share phi of the tumour cells has the mutation: a = min(phi, share) in the first state, and
    b = phi - a in the other. The mutation fills the cells of the first state before those of the other.

    With one state, the share is 0 and the first four fields are a `State`: "first" are the cells with the mutation,
    "other" those without it.

    Attributes
    ----------
    normal : int
        Copies in normal cells.
    other_copies, first_copies : int
        Copies in the tumour cells of each state, with the mutation or without.
    first_mutant, other_mutant : int
        How many of these copies carry the mutation, in cells that have it.
    share : float
        Share of the tumour cells that are in the first state, in (0, 1), or 0.
    is_strict : bool
        Whether several copies carry the mutation only if all cells of the state have it. If only a part of them have
        it, the mutation is younger than the state: with two states it is then on one copy; with one, the genotype is
        impossible.
    log_weight : float
        Log of the prior probability times the number of genotypes of the locus.
    """

    normal: int
    other_copies: int
    first_copies: int
    first_mutant: int
    other_mutant: int = 0
    share: float = 0.0
    is_strict: bool = False
    log_weight: float = 0.0


ROUNDING = 1e-9
"""Tolerance in comparisons of prevalences and shares."""
LOOSE = 0.1
"""Prior probability that a mutation on several copies may be in a part of the tumour's or a state's cells, which allows
for inaccurate fractions, tumour contents or states."""


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


def _clonal(major: int, minor: int, normal: int) -> Iterator[State]:
    total = major + minor
    for copies in range(1, major + 1):
        yield normal, total, total, copies


_ONE_MUTANT, _BOTH_MUTANT = (2, 2, 2, 1), (2, 2, 2, 2)

_PRIORS: dict[str, Callable[[int, int, int], Iterable[State]]] = {
    "major": _major,
    "parental": _parental,
    "total": _total,
    CLONAL: _clonal,
    "ab": lambda *_: [_ONE_MUTANT],
    "bb": lambda *_: [_BOTH_MUTANT],
    "no-zygosity": lambda *_: [_ONE_MUTANT, _BOTH_MUTANT],
}


def genotype_states(prior: str, major_cn: int, minor_cn: int, normal_cn: int) -> list[State]:
    """Return the distinct genotype states of one locus, equally weighted, in a fixed order.

    * ``major``: the mutation either arose before the copy-number event, so that cells without it have the
      normal copies (c_reference = normal_cn), and is on 1..major_cn copies; or it arose after, with
      c_reference = total, and is on one copy.
    * ``parental``: it either arose before the event and is on 1, minor_cn or major_cn copies (one, or all of a
      parental allele); or it arose after.
    * ``total``: only the total is known: c_reference is normal_cn or the total, and the mutation is on
      1..total copies.
    * ``clonal``: all cancer cells have the copies, so that c_reference = total, and the mutation is on 1..major_cn
      copies; more than one are possible under a condition (`clonal_genotypes`).
    * ``ab``, ``bb``, ``no-zygosity``: the naive priors of PyClone, which ignore the copy numbers: the locus is
      diploid in every cell, and the mutation is on one copy, on both, or on one or both.

    In all of them c_variant is major_cn + minor_cn (2 in the naive ones) and 1 <= mutant_copies <= c_variant.
    States that coincide (for example "before" and "after" if the total equals the normal copy number) count
    once. A locus with normal_cn = 1, X or Y in a male, needs no special case. Copy numbers must be possible
    (`pyclone_pgsm.inputs` accepts no others): 0 <= minor_cn <= major_cn, major_cn >= 1 and normal_cn >= 1.
    """
    looks_at_them = prior not in PRIORS_WITHOUT_COPY_NUMBERS
    if looks_at_them and not (0 <= minor_cn <= major_cn and major_cn >= 1 and normal_cn >= 1):
        raise ValueError(f"no genotype fits major_cn {major_cn}, minor_cn {minor_cn}, normal_cn {normal_cn}")
    return list(dict.fromkeys(_PRIORS[prior](major_cn, minor_cn, normal_cn)))


def clonal_genotypes(major_cn: int, minor_cn: int, normal_cn: int) -> list[Genotype]:
    """Return the genotypes of one locus for the prior `CLONAL`, in a fixed order.

    The mutation is on 1..major_cn copies, with equal probabilities. If it is on several, it is older than the gain, and
    so in all tumour cells; with the probability `LOOSE` it may nevertheless be in a part of them only. A genotype that
    a prevalence excludes has the likelihood 0 there. (If it became one of one copy instead, as that of two states does,
    one copy would be likelier below a prevalence of 1 than at 1, and the late mutations of all cells would leave it.)
    """
    states = genotype_states(CLONAL, major_cn, minor_cn, normal_cn)
    return _strict_and_loose([Genotype(*state) for state in states])


def two_state_genotypes(
    prior: str, one: CopyNumber, two: CopyNumber, fraction: float, normal_cn: int
) -> list[Genotype]:
    """Return the genotypes of a locus with two copy-number states (derived in docs/subclonal_copy_number.md).

    The mutation fills either state first, with equal probability. If this is the younger state, the mutation arose in
    one of its cells, or before it, so that all of its cells have the mutation; if it is the older one, the mutation
    arose in a branch without the younger one. The numbers of copies that carry the mutation are those that the prior
    has for each state alone, in these pairs: one number is 1, both are equal, or both are all copies of an allele. All
    pairs are equally likely. A state without copies is filled last, and has no mutant copy. The order is fixed.

    The two states must be different, and the prior one that uses copy numbers; `fraction` is the share of the tumour
    cells that are in the second state, in (0, 1).
    """
    if prior in PRIORS_WITHOUT_COPY_NUMBERS or one == two or not 0.0 < fraction < 1.0:
        raise ValueError(
            "two different copy-number states, a prior that uses them and a fraction between 0 and 1 are required: "
            f"prior {prior}, states {one} and {two}, fraction {fraction}"
        )
    pairs = _mutant_copies(prior, one, two, normal_cn)
    c_one, c_two = sum(one), sum(two)
    genotypes = [Genotype(normal_cn, c_two, c_one, a, b, 1.0 - fraction) for a, b in pairs if c_one]
    genotypes += [Genotype(normal_cn, c_one, c_two, b, a, fraction) for a, b in pairs if c_two]
    return _strict_and_loose(genotypes)


def _strict_and_loose(genotypes: Sequence[Genotype]) -> list[Genotype]:
    """Return equally likely genotypes, those with several mutant copies strict and loose, with their log weights."""
    weighted = []
    for genotype in genotypes:
        if max(genotype.first_mutant, genotype.other_mutant) > 1:
            weighted += [(genotype._replace(is_strict=True), 1.0 - LOOSE), (genotype, LOOSE)]
        else:
            weighted.append((genotype, 1.0))
    scale = len(weighted) / len(genotypes)
    return [genotype._replace(log_weight=math.log(weight * scale)) for genotype, weight in weighted]


def mutant_copies_per_cell(genotype: Genotype, prevalence: float) -> float:
    """Return how many mutant copies a tumour cell has on average, of a genotype with two copy-number states."""
    first = min(prevalence, genotype.share)
    is_in_all = prevalence > genotype.share - ROUNDING, prevalence > 1.0 - ROUNDING
    copies = (
        number if is_all or not genotype.is_strict else min(number, 1)
        for number, is_all in zip((genotype.first_mutant, genotype.other_mutant), is_in_all)
    )
    return sum(cells * number for cells, number in zip((first, prevalence - first), copies))


def _mutant_copies(prior: str, one: CopyNumber, two: CopyNumber, normal_cn: int) -> list[tuple[int, int]]:
    """Return pairs of numbers of mutant copies in the cells of both states; 0 only if the state has no copies."""

    def alone(state: CopyNumber) -> list[int]:
        if not sum(state):
            return [0]
        return sorted({copies for *_, copies in genotype_states(prior, *state, normal_cn)})

    ones, twos = alone(one), alone(two)
    pairs = [(a, twos[0]) for a in ones]
    pairs += [(ones[0], b) for b in twos]
    pairs += [(a, a) for a in ones if a in set(twos)]
    pairs += [(a, b) for a in one for b in two if a and b]
    return list(dict.fromkeys(pairs))
