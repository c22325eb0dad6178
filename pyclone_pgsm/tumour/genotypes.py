"""Mutational genotype priors: which copy-number histories a mutation may have.

A state is ``(c_normal, c_reference, c_variant, mutant_copies)``: the copies of the locus in a normal cell, in
a cancer cell without the mutation and in a cancer cell with it, and how many of the last carry the mutation.
The states of a prior are weighted equally.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pyclone_pgsm.errors import UsageError

State = tuple[int, int, int, int]


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


def _ab(major: int, minor: int, normal: int) -> Iterator[State]:
    yield 2, 2, 2, 1


def _bb(major: int, minor: int, normal: int) -> Iterator[State]:
    yield 2, 2, 2, 2


def _no_zygosity(major: int, minor: int, normal: int) -> Iterator[State]:
    yield 2, 2, 2, 1
    yield 2, 2, 2, 2


_PRIORS: dict[str, Callable[[int, int, int], Iterator[State]]] = {
    "major": _major,
    "parental": _parental,
    "total": _total,
    "ab": _ab,
    "bb": _bb,
    "no-zygosity": _no_zygosity,
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
        The copy numbers are out of range (`pyclone_pgsm.inputs` lets no such locus through).
    """
    if prior not in _PRIORS:
        raise UsageError(f"genotype prior {prior!r}: expected one of {', '.join(GENOTYPE_PRIORS)}")
    if not (0 <= minor_cn <= major_cn and major_cn >= 1 and normal_cn >= 1):
        raise ValueError(f"no genotype fits major_cn {major_cn}, minor_cn {minor_cn}, normal_cn {normal_cn}")
    return list(dict.fromkeys(_PRIORS[prior](major_cn, minor_cn, normal_cn)))
