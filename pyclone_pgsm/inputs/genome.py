"""Names and lengths of human chromosomes, and their copies in normal cells.

Chromosomes are named "1" to "22", "X", "Y" and "MT" throughout; positions are counted from 1. Lengths are those of the
primary assemblies GRCh37 and GRCh38. The pseudo-autosomal regions, in which X and Y have the same sequence, are those
of the Genome Reference Consortium.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.inputs.problems import CONTROL, EXCEL_ERROR, EXCEL_ERRORS

Build = Literal["GRCh37", "GRCh38"]
Sex = Literal["female", "male"]

BUILDS: tuple[Build, ...] = ("GRCh37", "GRCh38")
SEXES: dict[str, Sex] = {
    **dict.fromkeys(("male", "m", "xy"), "male"),
    **dict.fromkeys(("female", "f", "xx"), "female"),
}
"""How files of any kind write the sex, in lower case."""

AUTOSOMES = tuple(str(number) for number in range(1, 23))
CHROMOSOMES = (*AUTOSOMES, "X", "Y", "MT")

_LENGTHS_GRCH37 = (
    249_250_621, 243_199_373, 198_022_430, 191_154_276, 180_915_260, 171_115_067, 159_138_663, 146_364_022,
    141_213_431, 135_534_747, 135_006_516, 133_851_895, 115_169_878, 107_349_540, 102_531_392, 90_354_753,
    81_195_210, 78_077_248, 59_128_983, 63_025_520, 48_129_895, 51_304_566, 155_270_560, 59_373_566,
)  # fmt: skip
_LENGTHS_GRCH38 = (
    248_956_422, 242_193_529, 198_295_559, 190_214_555, 181_538_259, 170_805_979, 159_345_973, 145_138_636,
    138_394_717, 133_797_422, 135_086_622, 133_275_309, 114_364_328, 107_043_718, 101_991_189, 90_338_345,
    83_257_441, 80_373_285, 58_617_616, 64_444_167, 46_709_983, 50_818_468, 156_040_895, 57_227_415,
)  # fmt: skip

LENGTHS: dict[Build, dict[str, int]] = {
    "GRCh37": dict(zip(CHROMOSOMES, _LENGTHS_GRCH37)),
    "GRCh38": dict(zip(CHROMOSOMES, _LENGTHS_GRCH38)),
}
"""Bases of each chromosome, without the mitochondrion: two sequences of it were in use with GRCh37."""

PSEUDO_AUTOSOMAL: dict[Build, dict[str, tuple[tuple[int, int], ...]]] = {
    "GRCh37": {
        "X": ((60_001, 2_699_520), (154_931_044, 155_260_560)),
        "Y": ((10_001, 2_649_520), (59_034_050, 59_363_566)),
    },
    "GRCh38": {
        "X": ((10_001, 2_781_479), (155_701_383, 156_030_895)),
        "Y": ((10_001, 2_781_479), (56_887_903, 57_217_415)),
    },
}
"""First and last base of the regions that X and Y share, both inclusive, counted from 1."""

_COPIES_OUTSIDE: dict[Sex, dict[str, int]] = {"female": {"X": 2, "Y": 0}, "male": {"X": 1, "Y": 1}}

_OTHER_NAMES = {
    **dict.fromkeys(("X", "23"), "X"),
    **dict.fromkeys(("Y", "24"), "Y"),
    **dict.fromkeys(("MT", "M", "25", "NC_012920.1"), "MT"),
}
_PREFIX = re.compile(r"^chr", re.IGNORECASE)
_ACCESSION = re.compile(r"^NC_0000(\d\d)\.\d+\Z")
_NUMBER = re.compile(r"^0*(\d+)(?:\.0*)?\Z")


def harmonise_chromosome(name: str) -> str:
    """Return the name used here for a chromosome: "1" to "22", "X", "Y" or "MT".

    Any tool's spelling is accepted: "chr1", "CHR1", "1", "01", "1.0" or "NC_000001.11"; 23 and 24 are X and Y;
    25, "M" and "chrM" are the mitochondrion. Other contigs keep their name, without a leading "chr".

    Examples
    --------
    >>> [harmonise_chromosome(name) for name in ("chr7", "23", "chrM", "chrUn_KI270302v1")]
    ['7', 'X', 'MT', 'Un_KI270302v1']
    """
    bare = _PREFIX.sub("", name.strip())
    bare = _ACCESSION.sub(r"\1", bare)
    bare = _NUMBER.sub(r"\1", bare)
    return _OTHER_NAMES.get(bare.upper(), bare)


@lru_cache(maxsize=4096)
def chromosome(name: str) -> str:
    """Harmonise the chromosome in a table cell; raise ValueError if it is empty or has control characters."""
    if name in EXCEL_ERRORS:
        raise ValueError(f"no chromosome: {EXCEL_ERROR}")
    harmonised = harmonise_chromosome(name)
    if not harmonised or CONTROL.search(name):
        raise ValueError("no name; expected a chromosome, such as 1, chr1 or X")
    return harmonised


def harmonise_build(name: str) -> Build | None:
    """Return the genome build that a name or path indicates ("hg19", "GRCh38.p13", "b37", ...), if there is just one.

    Examples
    --------
    >>> harmonise_build("file:///ref/hs37d5.fa"), harmonise_build("hg38"), harmonise_build("mm10")
    ('GRCh37', 'GRCh38', None)
    """
    found = [build for build in BUILDS if _BUILD_NAMES[build].search(name)]
    return found[0] if len(found) == 1 else None


_BUILD_NAMES: dict[Build, re.Pattern[str]] = {
    "GRCh37": re.compile(r"(?i)grch_?37|hg_?19|b37|hs37|ncbi_?37|v37|^37$"),
    "GRCh38": re.compile(r"(?i)grch_?38|hg_?38|b38|hs38|ncbi_?38|^38$"),
}


def builds_that_fit(last: Mapping[str, int]) -> list[Build]:
    """Return the builds whose chromosomes are long enough for the largest position on each.

    Only chromosomes 1-22, X and Y are compared.

    Examples
    --------
    >>> builds_that_fit({"1": 249_000_000}), builds_that_fit({"1": 1, "X": 156_000_000})
    (['GRCh37'], ['GRCh38'])
    """
    return [
        build
        for build in BUILDS
        if all(position <= LENGTHS[build].get(chrom, position) for chrom, position in last.items())
    ]


def last_positions(chroms: pd.Series, positions: pd.Series) -> dict[str, int]:
    """Return the largest position on each chromosome; other contigs are ignored."""
    last = positions.groupby(chroms, observed=True).max()
    return {str(chrom): int(position) for chrom, position in last.items() if chrom in CHROMOSOMES}


def normal_copies(
    chroms: Sequence[str] | pd.Series, positions: ArrayLike, sex: Sex | None, build: Build | None
) -> NDArray[np.int64]:
    """Return (R,) the copies of each position, on a harmonised chromosome, in the cells of a healthy person.

    There are two copies of the autosomes and of the pseudo-autosomal regions of X and Y. Outside these regions, a man
    has one X and one Y, a woman two X and no Y. The result is -1 where it depends on an unknown sex or build, and 0 for
    the mitochondrion and for contigs that are not chromosomes, whose copies cannot be given.
    """
    names, at = pd.Series(chroms, dtype="category"), np.asarray(positions, dtype=np.int64)
    copies = np.where(names.isin(AUTOSOMES), 2, 0)
    for chrom in ("X", "Y"):
        here = (names == chrom).to_numpy()
        outside = -1 if sex is None else _COPIES_OUTSIDE[sex][chrom]
        answers = []
        for each in BUILDS if build is None else (build,):
            regions = PSEUDO_AUTOSOMAL[each][chrom]
            is_inside = np.logical_or.reduce([(first <= at) & (at <= last) for first, last in regions])
            answers.append(np.where(is_inside, 2, outside)[here])
        copies[here] = np.where(answers[0] == answers[-1], answers[0], -1)
    return copies


def mostly_outside_pseudo_autosomal(
    chroms: Sequence[str] | pd.Series, starts: ArrayLike, ends: ArrayLike, build: Build | None
) -> NDArray[np.bool_]:
    """Return (R,) whether most bases of each interval of X or Y lie outside the pseudo-autosomal regions.

    The regions are of about the same size in all builds; without a build, those of the last one are taken.
    """
    names, start, end = pd.Series(chroms, dtype="category"), np.asarray(starts), np.asarray(ends)
    result = np.zeros(len(names), dtype=bool)
    for chrom, regions in PSEUDO_AUTOSOMAL[build or BUILDS[-1]].items():
        inside = sum(
            np.maximum(0, np.minimum(end, last) - np.maximum(start, first) + 1) for first, last in regions
        )
        result |= (names == chrom).to_numpy() & (2 * inside < end - start + 1)
    return result
