"""Reasons why a mutation has no copy numbers, or other ones than its segment: the texts of ``left_out.tsv``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.inputs.segments.intervals import NONE, Found
from pyclone_pgsm.inputs.segments.samples import Sample
from pyclone_pgsm.inputs.segments.states import MOST_NOT_MODELLED, States

FillGaps = Literal["diploid"]


class Exclusions:
    """The reason why each of N mutations is left out or changed: the first that applies."""

    def __init__(self, size: int) -> None:
        self.is_kept = np.ones(size, dtype=bool)
        self._reasons = np.full(size, "", dtype=object)

    def add(
        self, rows: NDArray[np.bool_], reason: str | Callable[[int], str], *, is_kept: bool = False
    ) -> None:
        """Set the reason, which may depend on the row, of those rows that have none yet."""
        new = rows & (self._reasons == "")
        self._reasons[new] = (
            reason if isinstance(reason, str) else [reason(row) for row in np.flatnonzero(new).tolist()]
        )
        self.is_kept &= ~new | is_kept

    def left_out(self, given: pd.DataFrame, names: Sequence[str]) -> list[LeftOut]:
        """Return an entry for each row with a reason."""
        places = np.flatnonzero(self._reasons != "")
        columns = (given[name].iloc[places].tolist() for name in ("file", "row", "sample_id"))
        return [
            LeftOut(file, row, names[place], sample, self._reasons[place])
            for place, file, row, sample in zip(places.tolist(), *columns)
        ]


def exclusions_of(
    found: Found,
    known: Mapping[str, Sample],
    normal_cn: NDArray[np.int64],
    states: States,
    fill_gaps: FillGaps | None,
) -> Exclusions:
    """Return why each mutation is left out or changed."""
    exclusions = Exclusions(len(found.given))
    exclusions.add(~found.has_segments[found.sample], "there are no copy-number segments of this sample")
    exclusions.add(
        (found.given["chrom"] == "MT").to_numpy(),
        "on the mitochondrion: a cell has many, and no segment tells how many; it cannot be modelled",
    )
    in_gap = found.segment == NONE
    if fill_gaps is None:
        exclusions.add(in_gap, "in no copy-number segment of the sample")
    _add_normal(exclusions, found, known, normal_cn)
    exclusions.add(in_gap, "in no copy-number segment of the sample: taken as diploid", is_kept=True)
    exclusions.add(
        found.rival != NONE,
        lambda row: (
            "two segments with different copy numbers hold it: "
            f"{found.where(found.segment[row])} and {found.where(found.rival[row])}"
        ),
    )
    _add_unknown(exclusions, found, states)
    return exclusions


def _add_normal(
    exclusions: Exclusions, found: Found, known: Mapping[str, Sample], normal_cn: NDArray[np.int64]
) -> None:
    """Exclude mutations where normal cells have no copies, or an unknown number."""
    chroms = found.given["chrom"].tolist()

    def doubtful(row: int) -> str:
        chrom, sex = chroms[row], known[found.samples[found.sample[row]]].sex
        if chrom not in ("X", "Y"):
            return f"contig {chrom} is no chromosome, and its copies in normal cells are not known"
        if sex is None:
            return (
                f"copies of chromosome {chrom} in normal cells depend on the sex, which is not known; give it with "
                "--sex"
            )
        if normal_cn[row] < 0:
            return (
                f"near the end of a pseudo-autosomal region of chromosome {chrom}: copies in normal cells depend on "
                "the genome build, which is not known; give it with --genome-build"
            )
        return f"normal cells of a {'woman' if sex == 'female' else 'man'} have no chromosome {chrom}"

    said = found.take("normal_cn") != NONE
    exclusions.add((normal_cn == 0) & said, "normal cells have no copy of it, as the segments say")
    exclusions.add(normal_cn <= 0, doubtful)


def _add_unknown(exclusions: Exclusions, found: Found, states: States) -> None:
    """Handle mutations in segments without the copies of each allele, or with more than two states."""
    totals = found.take("major_cn")

    def unknown(row: int) -> str:
        where = found.where(found.segment[row])
        if totals[row] == NONE:
            return f"its segment ({where}) has no copy number"
        return (
            f"its segment ({where}) has a total copy number of {totals[row]}, but not the copies of each allele; "
            "--genotype-prior total would use it"
        )

    def several(row: int) -> str:
        where = found.where(found.segment[row])
        text = f"the tumour cells of its segment ({where}) are in more than two copy-number states"
        share = f"{100 * MOST_NOT_MODELLED:g} % of"
        if states.too_many[row]:
            return f"{text}, and more than {share} them in none of the two largest"
        return f"{text}: the two largest are taken for all; at most {share} the cells are in others"

    exclusions.add((states.minor < 0) | (states.second_minor < 0), unknown)
    exclusions.add(states.too_many, several)
    exclusions.add(states.not_modelled > 0, several, is_kept=True)
