"""Positions of simulated mutations on the genome, and copy numbers of segments."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.genome import AUTOSOMES as NAMES
from pyclone_pgsm.inputs.genome import LENGTHS

MEGABASE = 1_000_000
AUTOSOMES = tuple(LENGTHS["GRCh38"][name] // MEGABASE for name in NAMES)
"""Lengths of the human chromosomes 1 to 22 in whole megabases."""
X_CHROMOSOME = LENGTHS["GRCh38"]["X"] // MEGABASE
AUTOSOME_STATES = {(1, 1): 0.45, (2, 1): 0.2, (1, 0): 0.13, (2, 0): 0.1, (2, 2): 0.07, (3, 1): 0.05}
"""Probabilities of the major and minor copy numbers of a segment, with ``mixed`` copy numbers."""
X_STATES = {(1, 0): 0.8, (2, 0): 0.2}
"""The same for the X chromosome of a male, of which normal cells have one copy."""


def draw_loci(
    count: int, megabases: Sequence[int], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw distinct loci, sorted: (T,) chromosomes, from 0 (22 is X), and (T,) positions, from 1."""
    ends = np.cumsum(megabases) * MEGABASE
    places = np.sort(rng.choice(ends[-1], count, replace=False))
    chromosome = np.searchsorted(ends, places, side="right")
    starts = ends - np.array(megabases) * MEGABASE
    return chromosome, places - starts[chromosome] + 1


def draw_copy_numbers(
    chromosome: NDArray[np.int64],
    position: NDArray[np.int64],
    megabases: Sequence[int],
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw (T, 3) major, minor and normal copy numbers before any event of a subclone; return also the (T,) segments.

    Each chromosome is cut into two segments, each with its own state.
    """
    cut = rng.integers(1, np.array(megabases) * MEGABASE)
    part = (position > cut[chromosome]).astype(int)
    states = np.empty((len(megabases), 2, 2), np.int64)
    for place in range(len(megabases)):
        table = AUTOSOME_STATES if place < len(AUTOSOMES) else X_STATES
        states[place] = rng.choice(np.array(list(table)), size=2, p=np.array(list(table.values())))
    normal = np.where(chromosome < len(AUTOSOMES), 2, 1)
    return np.column_stack([states[chromosome, part], normal]), 2 * chromosome + part


def draw_mutation_ids(
    chrom: Sequence[str], position: NDArray[np.int64], rng: np.random.Generator
) -> list[str]:
    """Draw ids like ``chr1:12345:A>T``."""
    bases = "ACGT"
    ref = rng.integers(4, size=len(chrom))
    alt = (ref + rng.integers(1, 4, size=len(chrom))) % 4
    return [
        f"{name}:{place}:{bases[r]}>{bases[a]}"
        for name, place, r, a in zip(chrom, position.tolist(), ref.tolist(), alt.tolist())
    ]
