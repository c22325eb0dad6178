"""Read counts of one VCF record in one sample, as each caller writes them.

R are the reads of the reference, A_k those of the k-th alternate allele. If ``AD`` has a dot for the reference
(``.,33``), R is ``DP`` minus all A_k. ``DP4`` does not distinguish alternate alleles: if there are several, reads are
taken from ``BCOUNT``, the numbers of the bases A, C, G and T.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.inputs.values import READS, is_no_value

Fields = Mapping[str, str]
"""The texts of the FORMAT fields of one sample, by name."""
Counts = tuple[int, list[int]]
"""R, and A_k of each alternate allele."""

IN_INFO = ("t_ref_count", "t_alt_count")
"""INFO fields with the reads of the tumour, of PCAWG."""
DP4 = "DP4"
"""Field of FORMAT, or of INFO in a file of one sample (LoFreq), with R and then A of each strand."""

_BASES = ("A", "C", "G", "T")
_OF_CAVEMAN = frozenset(f"{strand}{base}Z" for strand in "FR" for base in _BASES)
_OF_OLD_CAVEMAN = frozenset(f"{base}A" for base in _BASES)


class UncountedError(Exception):
    """A record cannot be used. The text is the reason."""


class FaultError(Exception):
    """A text that is invalid in any such file, and its column; "" for that of the sample."""

    def __init__(self, value: str, message: str, column: str = "") -> None:
        super().__init__(message)
        self.value, self.column = value, column


def in_format(names: Sequence[str], ref: str, alts: Sequence[str], fields: Fields) -> Counts:
    """Count by the fields of FORMAT, given their names; a sample may lack the last ones."""
    present = frozenset(names)
    if {"AU", "CU", "GU", "TU"} <= present:  # Strelka and ClairS, SNVs: the first number is that of tier 1
        return _by_base("AU, CU, GU and TU", ("{}U",), None, ref, alts, fields)
    if {"TAR", "TIR"} <= present:  # Strelka, indels
        if len(alts) > 1:
            raise UncountedError("TIR does not tell several alternate alleles apart")
        return _numbers(fields, "TAR")[0], _numbers(fields, "TIR")[:1]
    if "AD" in present:  # of VarScan2, beside RD; VarDict also has an RD, but its AD is the usual one
        if len(_texts(fields, "RD")) == len(_texts(fields, "AD")) == len(alts) == 1:
            return _numbers(fields, "RD")[0], _numbers(fields, "AD")
        return _allele_depths("AD", alts, fields)  # Mutect2, MuTect1, MuSE, VarDict, RADIA and most others
    if DP4 in present:  # SomaticSniper
        return _somatic_sniper(ref, alts, fields)
    if present >= _OF_CAVEMAN:  # by strand
        return _by_base("FAZ to RTZ", ("F{}Z", "R{}Z"), 1, ref, alts, fields)
    if present >= _OF_OLD_CAVEMAN:  # early versions
        return _by_base("AA, CA, GA and TA", ("{}A",), 1, ref, alts, fields)
    if {"RO", "AO"} <= present:  # freebayes
        return _numbers(fields, "RO", 1)[0], _numbers(fields, "AO", len(alts))
    for name in ("ADT", "TD"):  # PCGR; MuTect1 as converted for TCGA
        if name in present:
            return _allele_depths(name, alts, fields)
    raise UncountedError(
        f"no read counts: FORMAT is {':'.join(names)[:60] or 'empty'}; known are AD (with RD in VarScan2), "
        "AU/CU/GU/TU and TAR/TIR (Strelka), DP4 (SomaticSniper), FAZ to RTZ and AA/CA/GA/TA (CaVEMan), RO and AO "
        "(freebayes), ADT and TD, and t_ref_count and t_alt_count, or DP4 of one sample, in INFO"
    )


def _by_base(
    names: str, of_base: Sequence[str], expected: int | None, ref: str, alts: Sequence[str], fields: Fields
) -> Counts:
    """Count single bases by fields of their own; ``of_base`` are the names of those of a base, with {} in its place.

    ``names`` are all of these fields, for messages, and ``expected`` is how many numbers each has. Other alleles are
    counted by ``AD``, if there is one, as in ClairS.
    """
    if not all(each in _BASES for each in (ref, *alts)):
        if "AD" in fields:
            return _allele_depths("AD", alts, fields)
        raise UncountedError(f"{names} count single bases, not {ref}>{','.join(alts)}")
    reference, *alternates = (
        sum(_numbers(fields, name.format(base), expected)[0] for name in of_base) for base in (ref, *alts)
    )
    return reference, alternates


def _allele_depths(name: str, alts: Sequence[str], fields: Fields) -> Counts:
    first, *others = _texts(fields, name) or [""]
    if is_no_value(first) and len(others) == len(alts) and not any(map(is_no_value, others)):
        alternates = [_read(text, name) for text in others]
        return _rest_of_depth(fields, name, sum(alternates)), alternates
    reference, *alternates = _numbers(fields, name, 1 + len(alts))
    return reference, alternates


def _rest_of_depth(fields: Fields, name: str, alternates: int) -> int:
    """Return the reads of the reference if only the depth and the reads of the alternate alleles are given."""
    if all(map(is_no_value, _texts(fields, "DP"))):
        raise UncountedError(f"{name} has no value for the reference, and DP has none either")
    depth = _numbers(fields, "DP", 1)[0]
    if depth < alternates:
        raise UncountedError(
            f"{name} has no value for the reference, and DP, {depth}, is less than the {alternates} reads of the "
            "alternate alleles"
        )
    return depth - alternates


def in_info(ref: str, alts: Sequence[str], fields: Fields) -> Counts:
    """Count by the fields `IN_INFO`, or else `DP4`, of INFO, whose texts are in ``fields``."""
    has_counts = fields.keys() >= set(IN_INFO)
    if len(alts) > 1:
        name = IN_INFO[1] if has_counts else DP4
        raise UncountedError(f"{name} in INFO does not tell several alternate alleles apart")
    try:
        if has_counts:
            return _numbers(fields, IN_INFO[0], 1)[0], _numbers(fields, IN_INFO[1], 1)
        return _somatic_sniper(ref, alts, fields)
    except FaultError as fault:
        raise FaultError(fault.value, str(fault), "INFO") from None


def _somatic_sniper(ref: str, alts: Sequence[str], fields: Fields) -> Counts:
    if len(alts) == 1:
        forward, reverse, alt_forward, alt_reverse = _numbers(fields, DP4, 4)
        return forward + reverse, [alt_forward + alt_reverse]
    if not all(each in _BASES for each in (ref, *alts)):
        raise UncountedError("DP4 does not tell several alternate alleles apart")
    reads = dict(zip(_BASES, _numbers(fields, "BCOUNT", 4)))
    return reads[ref], [reads[alt] for alt in alts]


def _numbers(fields: Fields, name: str, expected: int | None = None) -> list[int]:
    """Return all numbers of a field; raise UncountedError if there are none, or not as many as expected."""
    texts = _texts(fields, name) or [""]
    if len(texts) == 1:
        _read(texts[0], name)  # a dot stands for any number of missing values
    if expected not in (None, len(texts)):
        raise UncountedError(f"{name} has {count(len(texts), 'number')}, {expected} expected")
    return [_read(text, name) for text in texts]


def _texts(fields: Fields, name: str) -> list[str]:
    """Return the comma-separated values of a field; none if it is missing."""
    return fields[name].split(",") if name in fields else []


@lru_cache(maxsize=65536)
def _read(text: str, name: str) -> int:
    if is_no_value(text):
        raise UncountedError(f"{name} has no value")
    try:
        return READS(text)
    except ValueError as fault:
        raise FaultError(text, f"{name}: {fault}") from None
