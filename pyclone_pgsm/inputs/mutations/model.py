"""Input and result of the readers of mutation calls."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from pathlib import Path

import pandas as pd

from pyclone_pgsm.inputs.genome import Build
from pyclone_pgsm.inputs.observations import LeftOut

COLUMNS = (
    "file", "row", "chrom", "pos", "ref", "alt", "gene", "sample_id", "ref_counts", "alt_counts", "left_out_counts",
)  # fmt: skip
"""The columns of `Variants.table`, in this order."""

TYPES = {"chrom": "category", "sample_id": "category"} | dict.fromkeys(
    ("row", "pos", "ref_counts", "alt_counts", "left_out_counts"), "int64"
)
"""Types of the columns that are not text."""

PASSING_FILTERS = frozenset({"PASS", ".", ""})
"""FILTER values of a mutation that passed; "." and "" mean that no filter was applied."""

NOT_SOMATIC = re.compile(r"germline|loh\b|post.?transcriptional", re.IGNORECASE)
"""Matches the status of a mutation, as callers and MAF name it, if it is not somatic."""

_UNLESS = "; `all_filters` takes it"

_BASES = re.compile(r"(?!NAN?$)[ACGTURYSWKMBDHVN]+|-")


@dataclass(frozen=True)
class VariantFile:
    """A file to read, with the samples to read and their names."""

    path: Path
    samples: Mapping[str, str | None] = field(default_factory=dict)
    """Maps the names to give to those in the file; None if they are the same, or if the file has only one tumour
    sample. If empty, all tumour samples of the file keep their own names."""


@dataclass(frozen=True)
class Variants:
    """Mutations in samples, as called."""

    table: pd.DataFrame
    """One row per (mutation, sample), in the order of files and rows: ``file`` (category), ``row`` (int64, line of the
    file, counted from 1), ``chrom`` (category; "1" to "22", "X", "Y", "MT", other contigs without "chr"), ``pos``
    (int64, counted from 1), ``ref``, ``alt`` (both "" if the file has no alleles), ``gene`` ("" if unknown),
    ``sample_id`` (category, whose categories include samples without a row), ``ref_counts``, ``alt_counts``,
    ``left_out_counts`` (int64; the last are the reads of other alternate alleles of the record that are left out, such
    as ``*``). No mutation occurs twice in a sample; one without a row in a sample has no data there."""
    left_out: list[LeftOut] = field(default_factory=list)
    """In the order of files and rows."""
    builds: dict[str, Build] = field(default_factory=dict)
    """Genome builds of the files that state one."""
    unfiltered: list[str] = field(default_factory=list)
    """Files with a place for filter results, but without a result in any record."""
    names: list[str] = field(default_factory=list)
    """All samples of the files, including normal ones, by their names in the files."""
    renamed: list[tuple[str, str, str]] = field(default_factory=list)
    """Samples to which the user gave another name than the file does: the file, this name and that in the file."""
    warnings: list[str] = field(default_factory=list)


def not_passed(filters: Sequence[str], field: str = "FILTER") -> str:
    """Return the reason to leave out a mutation that failed filters, those of this field; "" if it failed none."""
    failed = [name for name in filters if name.strip() not in PASSING_FILTERS]
    return f"{field} is {';'.join(failed)[:60]}, not PASS{_UNLESS}" if failed else ""


def not_somatic(field: str, status: str) -> str:
    """Return the reason to leave out a mutation that has this status in this field."""
    return f"{field} is {status[:60]}, not somatic{_UNLESS}"


def why_nothing(number: int, things: str, left_out: Sequence[LeftOut]) -> str:
    """Return why no row or record of a file gave a mutation."""
    if not number:
        return (
            f"there are no {things} below the header; leave the file out if nothing was called in its sample"
        )
    text = f"none of the {number} {things} can be used"
    others = [item for item in left_out if not item.reason.endswith(_UNLESS)]
    if filtered := len(left_out) - len(others):
        text += f"; {filtered} failed filters or are not somatic (`all_filters` takes them)"
    return f"{text}; row {others[0].row}: {others[0].reason}" if others else text


def mutation_id(chrom: str, pos: object, ref: str, alt: str) -> str:
    """Return the name of a mutation: ``chrom:pos:ref:alt``, or ``chrom:pos`` if there are no alleles."""
    return f"{chrom}:{pos}:{ref}:{alt}" if ref or alt else f"{chrom}:{pos}"


def mutation_ids(table: pd.DataFrame) -> list[str]:
    """Return the name of the mutation in each row of a `Variants.table`."""
    columns = (table[name].tolist() for name in ("chrom", "pos", "ref", "alt"))
    return [mutation_id(*fields) for fields in zip(*columns)]


@lru_cache(maxsize=4096)
def allele(text: str) -> str:
    """Return an allele in capital letters; "-" is the empty one, as in MAF. Other texts (``<DEL>``, ``*``) are kept.

    Raises ValueError if another program has turned it into something else.
    """
    bases = text.upper()
    if bases == "TRUE":
        raise ValueError("expected the bases of an allele; did R take the base T for TRUE?")
    return bases if _BASES.fullmatch(bases) else text


def trimmed(pos: int, ref: str, alt: str) -> tuple[int, str, str]:
    """Return a mutation without the bases that both alleles have at their end, then at their beginning.

    Each allele keeps at least one base: the last alternate allele of ``100 CAA C,CA`` is ``100 CA C``.
    """
    shorter = min(len(ref), len(alt)) - 1
    end = min(_num_shared(reversed(ref), reversed(alt)), shorter)
    ref, alt = ref[: len(ref) - end], alt[: len(alt) - end]
    start = min(_num_shared(ref, alt), shorter - end)
    return pos + start, ref[start:], alt[start:]


def _num_shared(first: Iterable[str], second: Iterable[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second)))


@lru_cache(maxsize=4096)
def why_no_mutation(ref: str, alt: str) -> str:
    """Return why two alleles, as returned by `allele`, are not a small mutation; "" if they are."""
    for text in (ref, alt):
        if not _BASES.fullmatch(text):
            return f"the allele {text[:60]!r} is no sequence of bases"
    return "the alternate allele is the reference" if alt == ref else ""
