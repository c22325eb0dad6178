"""Why a mutation has no copy numbers, or others than its segment says: the texts of ``left_out.tsv``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.inputs.segments.found import Found
from pyclone_pgsm.inputs.segments.intervals import NONE
from pyclone_pgsm.inputs.segments.samples import Sample
from pyclone_pgsm.inputs.segments.states import MOST_NOT_MODELLED, States

FillGaps = Literal["diploid"]

_MITOCHONDRION = "on the mitochondrion: a cell has many, and no segment tells how many; it cannot be modelled"
_NO_SEGMENTS = "there are no copy-number segments of this sample"
_GAP = "in no copy-number segment of the sample"
_FILLED = _GAP + ": taken as diploid"
_NO_CONTIG = "contig {chrom} is no chromosome, and its copies in normal cells are not known"
_NO_COPIES = "normal cells of a {sex} have no chromosome {chrom}"
_NONE_IN_NORMAL = "normal cells have no copy of it, as the segments say"
_SEX_UNKNOWN = (
    "copies of chromosome {chrom} in normal cells depend on the sex, which is not known; give it with --sex"
)
_BUILD_UNKNOWN = (
    "near the end of a pseudo-autosomal region of chromosome {chrom}: copies in normal cells depend on the genome "
    "build, which is not known; give it with --genome-build"
)


class Exclusions:
    """Why each mutation is left out or changed: the first reason that applies.

    Attributes
    ----------
    is_kept : (N,) bool
    """

    def __init__(self, size: int) -> None:
        self.is_kept = np.ones(size, dtype=bool)
        self._reason = np.full(size, NONE, dtype=np.int64)
        self._texts: list[str] = []

    def add(self, rows: NDArray[np.bool_], text: str, is_kept: bool = False) -> None:
        """Give a reason to those of the rows that have none."""
        new = rows & (self._reason == NONE)
        if new.any():
            self._reason[new] = len(self._texts)
            self._texts.append(text)
            self.is_kept &= ~new | is_kept

    def add_each(
        self,
        rows: NDArray[np.bool_],
        one: NDArray[np.int64],
        other: NDArray[np.int64],
        text: Callable[[tuple[int, int]], str],
        is_kept: bool = False,
    ) -> None:
        """Give a reason to those of the rows that have none: the text of their pair of segments."""
        places = np.flatnonzero(self.open(rows))
        pairs, codes = np.unique(np.stack([one[places], other[places]], axis=1), axis=0, return_inverse=True)
        self._reason[places] = len(self._texts) + codes.reshape(-1)
        self._texts += [text((first, second)) for first, second in pairs.tolist()]
        self.is_kept[places] = is_kept

    def open(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Those of the rows that have no reason yet."""
        return rows & (self._reason == NONE)

    def left_out(self, given: pd.DataFrame, names: Sequence[str]) -> list[LeftOut]:
        """The rows with a reason."""
        places = np.flatnonzero(self._reason != NONE)
        of = given.iloc[places]
        return [
            LeftOut(file, row, names[place], sample, self._texts[reason])
            for place, file, row, sample, reason in zip(
                places.tolist(),
                of["file"].astype(object).tolist(),
                of["row"].tolist(),
                of["sample_id"].astype(object).tolist(),
                self._reason[places].tolist(),
            )
        ]


def exclusions_of(
    found: Found,
    known: Mapping[str, Sample],
    normal_cn: NDArray[np.int64],
    states: States,
    fill_gaps: FillGaps | None,
) -> Exclusions:
    exclusions = Exclusions(len(found.given))
    chrom = found.given["chrom"]
    exclusions.add(~found.has_segments[found.sample], _NO_SEGMENTS)
    exclusions.add((chrom == "MT").to_numpy(), _MITOCHONDRION)
    in_gap = found.segment == NONE
    if fill_gaps is None:
        exclusions.add(in_gap, _GAP)
    _add_normal(exclusions, found, known, normal_cn)
    exclusions.add(in_gap, _FILLED, is_kept=True)
    _add_contradictions(exclusions, found)
    _add_unknown(exclusions, found, states)
    return exclusions


def _add_normal(
    exclusions: Exclusions, found: Found, known: Mapping[str, Sample], normal_cn: NDArray[np.int64]
) -> None:
    """Mutations where normal cells have no copies, or unknown ones."""
    said = found.take("normal_cn") != NONE
    exclusions.add((normal_cn == 0) & said, _NONE_IN_NORMAL)
    doubtful = exclusions.open(normal_cn <= 0)
    column = found.given["chrom"].cat
    codes = column.codes.to_numpy()
    for code in np.unique(codes[doubtful]).tolist():
        name = str(column.categories[code])
        here = doubtful & (codes == code)
        if name not in ("X", "Y"):
            exclusions.add(here, _NO_CONTIG.format(chrom=name))
            continue
        for place, sample in enumerate(found.samples):
            sex = known[sample].sex
            of = here & (found.sample == place)
            if sex is not None:
                of_sex = {"female": "woman", "male": "man"}[sex]
                exclusions.add(of & (normal_cn == 0), _NO_COPIES.format(sex=of_sex, chrom=name))
            unknown = _SEX_UNKNOWN if sex is None else _BUILD_UNKNOWN
            exclusions.add(of & (normal_cn < 0), unknown.format(chrom=name))


def _add_contradictions(exclusions: Exclusions, found: Found) -> None:
    def text(pair: tuple[int, int]) -> str:
        rivals = " and ".join(_where(found.segments, row) for row in pair)
        return f"two segments with different copy numbers hold it: {rivals}"

    exclusions.add_each(found.rival != NONE, found.segment, found.rival, text)


def _add_unknown(exclusions: Exclusions, found: Found, states: States) -> None:
    """Mutations in segments that do not tell the copies of each allele, or tell more than two states."""
    totals = found.segments["major_cn"].to_numpy()

    def unknown(pair: tuple[int, int]) -> str:
        where, total = _where(found.segments, pair[0]), totals[pair[0]]
        if total == NONE:
            return f"its segment ({where}) has no copy number"
        return (
            f"its segment ({where}) has a total copy number of {total}, but not the copies of each allele; "
            "--genotype-prior total would use it"
        )

    def too_many(pair: tuple[int, int]) -> str:
        where = _where(found.segments, pair[0])
        return (
            f"the tumour cells of its segment ({where}) are in more than two copy-number states, and more than "
            f"{100 * MOST_NOT_MODELLED:g} % of them in none of the two largest"
        )

    def nearly_two(pair: tuple[int, int]) -> str:
        where = _where(found.segments, pair[0])
        return (
            f"the tumour cells of its segment ({where}) are in more than two copy-number states: the two largest are "
            f"taken for all; at most {100 * MOST_NOT_MODELLED:g} % of the cells are in others"
        )

    has_segment = found.segment != NONE
    without_alleles = has_segment & ((states.minor < 0) | (states.second_minor < 0))
    exclusions.add_each(without_alleles, found.segment, found.segment, unknown)
    exclusions.add_each(has_segment & states.too_many, found.segment, found.segment, too_many)
    more = has_segment & (states.not_modelled > 0)
    exclusions.add_each(more, found.segment, found.segment, nearly_two, is_kept=True)


def _where(segments: pd.DataFrame, row: int) -> str:
    return f"row {segments['row'].iat[row]} of {segments['file'].iat[row]}"
