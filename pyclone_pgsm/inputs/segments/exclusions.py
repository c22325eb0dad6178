"""Reasons why a mutation has no copy numbers, or other ones than its segment: the texts of ``left_out.tsv``."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.genome import Build, Sex, mostly_outside_pseudo_autosomal
from pyclone_pgsm.inputs.observations import LeftOut, left_out_rows
from pyclone_pgsm.inputs.segments.intervals import NONE, Found
from pyclone_pgsm.inputs.segments.states import MOST_NOT_MODELLED


class Rule(NamedTuple):
    """A reason to leave out mutations, or to report that they are changed."""

    applies: NDArray[np.bool_]
    """(N,) the mutations it applies to."""
    reason: str | Callable[[int], str]
    """The text, or a function that makes it from the index of a mutation."""
    is_kept: bool = False
    """Whether the mutations are kept."""


def exclude(
    found: Found,
    sex: Sex | None,
    build: Build | None,
    normal_cn: NDArray[np.int64],
    states: Mapping[str, NDArray],
    fill_gaps: bool,
) -> tuple[NDArray[np.bool_], list[LeftOut]]:
    """Return (N,) whether each mutation is kept, and what is left out or changed, by the first rule that applies."""
    in_gap = found.segment == NONE
    in_none = "in no copy-number segment of the sample"
    rules = [
        Rule(
            ~found.given["sample_id"].isin(found.segments["sample_id"].unique()).to_numpy(),
            "there are no copy-number segments of this sample",
        ),
        Rule(
            (found.given["chrom"] == "MT").to_numpy(),
            "on the mitochondrion: a cell has many, and no segment tells how many; it cannot be modelled",
        ),
        Rule(in_gap & (not fill_gaps), in_none),
        *_without_normal_copies(found, sex, build, normal_cn),
        Rule(in_gap, f"{in_none}: taken as diploid", is_kept=True),
        Rule(
            found.rival != NONE,
            lambda row: (
                "two segments with different copy numbers hold it: "
                f"{found.where(found.segment[row])} and {found.where(found.rival[row])}"
            ),
        ),
        *_without_states(found, states),
    ]
    first = np.select([rule.applies for rule in rules], range(len(rules)), NONE)
    kept = np.array([rule.is_kept for rule in rules] + [True])[first]  # the last is for NONE, -1
    places = np.flatnonzero(first != NONE).tolist()
    reasons = ((place, rules[first[place]].reason) for place in places)
    texts = (reason if isinstance(reason, str) else reason(place) for place, reason in reasons)
    return kept, left_out_rows(found.given.iloc[places], texts)


def _without_normal_copies(
    found: Found, sex: Sex | None, build: Build | None, normal_cn: NDArray[np.int64]
) -> list[Rule]:
    """Return the rules for mutations where normal cells have no copies, an unknown number, or more than elsewhere."""
    chroms = found.given["chrom"].tolist()

    def pseudo_autosomal(row: int) -> str:
        return (
            f"in a pseudo-autosomal region of chromosome {chroms[row]}, of which normal cells have two copies, but "
            f"most of its segment ({found.where(found.segment[row])}) lies outside, where those of a man have one: "
            "the copies of the region are not known. Expected is a segment of its own, or `sex` female"
        )

    def doubtful(row: int) -> str:
        chrom = chroms[row]
        if chrom not in ("X", "Y"):
            return f"contig {chrom} is no chromosome, and its copies in normal cells are not known"
        if sex is None:
            return (
                f"copies of chromosome {chrom} in normal cells depend on the sex, which is not known; give it with "
                "`sex`"
            )
        if normal_cn[row] < 0:
            return (
                f"near the end of a pseudo-autosomal region of chromosome {chrom}: copies in normal cells depend on "
                "the genome build, which is not known; give it with `genome_build`"
            )
        return f"normal cells of a {'woman' if sex == 'female' else 'man'} have no chromosome {chrom}"

    said = found.take("normal_cn") != NONE
    may_be_single = mostly_outside_pseudo_autosomal(
        found.given["chrom"], found.take("start"), found.take("end"), build
    ) & (found.segment != NONE)
    return [
        Rule((normal_cn == 0) & said, "normal cells have no copy of it, as the segments say"),
        Rule(normal_cn <= 0, doubtful),
        Rule((normal_cn == 2) & ~said & may_be_single & (sex != "female"), pseudo_autosomal),
    ]


def _without_states(found: Found, states: Mapping[str, NDArray]) -> list[Rule]:
    """Return the rules for segments without the copies of each allele, or with more than two states."""
    totals = found.take("major_cn")

    def unknown(row: int) -> str:
        where = found.where(found.segment[row])
        if totals[row] == NONE:
            return f"its segment ({where}) has neither the copies of both alleles nor their total"
        return (
            f"its segment ({where}) has a total copy number of {totals[row]}, but not the copies of each allele; "
            "`genotype_prior` total would use it"
        )

    def several(row: int) -> str:
        where = found.where(found.segment[row])
        text = f"the tumour cells of its segment ({where}) are in more than two copy-number states"
        share = f"{100 * MOST_NOT_MODELLED:g} % of"
        if states["too_many"][row]:
            return f"{text}, and more than {share} them in none of the two largest"
        return f"{text}: the two largest are taken for all; at most {share} the cells are in others"

    return [
        Rule((states["minor_cn"] < 0) | (states["subclonal_minor_cn"] < 0), unknown),
        Rule(states["too_many"], several),
        Rule(states["not_modelled"] > 0, several, is_kept=True),
    ]
