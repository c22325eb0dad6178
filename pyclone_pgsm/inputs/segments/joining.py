"""Joins mutations and copy-number segments to the table that PyClone-VI reads, with one row per mutation and sample.

Each mutation gets the copy numbers of the segment of its sample that contains its position (ends are inclusive), and
the copies in normal cells there. The rules at the end of this module say why a mutation is left out of a sample.

A segment gives one or two states with their shares of the cells, and possibly the share of further states. A share f of
all cells is a share f/t of the tumour cells, where t is the tumour content. Tumour cells in none of these states have
the copies of normal cells, as in TitanCNA, FACETS and PhyloWGS. The model uses the two states with the largest shares,
the larger as the main one. Homozygous deletions stay in the table with ``major_cn`` 0; its reader must handle them.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.errors import InputError, Problem, UsageError
from pyclone_pgsm.inputs.genome import Build, Sex, mostly_outside_pseudo_autosomal, normal_copies
from pyclone_pgsm.inputs.mutations.model import Variants, mutation_ids
from pyclone_pgsm.inputs.observations import (
    DEFAULT_TUMOUR_CONTENT,
    SUBCLONAL,
    LeftOut,
    left_out_rows,
    looks_at_no_alleles,
)
from pyclone_pgsm.inputs.problems import listed
from pyclone_pgsm.inputs.segments.alleles import unite_equal
from pyclone_pgsm.inputs.segments.intervals import NONE, Found
from pyclone_pgsm.inputs.segments.model import Segments
from pyclone_pgsm.inputs.segments.samples import build_of, content_of, sex_of

COLUMNS = [
    "file", "row", "mutation_id", "sample_id", "ref_counts", "alt_counts", "major_cn", "minor_cn", "normal_cn",
    "tumour_content", "chrom", "pos", "ref", "alt", "gene", *SUBCLONAL,
]  # fmt: skip
"""The columns of the joined table; file and row are those of the mutations."""

NEGLIGIBLE = 0.01
"""States with at most this share of the tumour cells are left out."""

MOST_NOT_MODELLED = 0.1
"""Largest share of the tumour cells that may be in states other than the two largest. The two are then taken as all.
The total copy number, and with it the prevalence, is off by about this share times the difference in copies divided by
the total: for one copy of two, by 5 % at most. That is less than the binomial error of one mutation at depth 400."""

EXCESS = 1.1
"""Shares of all cells whose sum is between the tumour content divided by this and multiplied by this are taken for all
tumour cells, as both are estimates; larger ones contradict the content."""

_IN_NONE = "in no copy-number segment of the sample"


def join(
    variants: Variants,
    segments: Segments,
    *,
    sex: Sex | None = None,
    build: Build | None = None,
    tumour_content: Mapping[str, float] | float | None = None,
    fill_gaps: bool = False,
    genotype_prior: str = "major",
) -> tuple[pd.DataFrame, list[LeftOut]]:
    """Give each mutation the copy numbers of the segment it lies in.

    Segments of other samples are ignored. The sex and the tumour content, of each sample or of all, are by default
    those stated in the files of the segments, and an unknown content is 1; the build is inferred from the files of
    segments and mutations. ``fill_gaps`` gives mutations in no segment the normal copies of their chromosome. Genotype
    priors that use only totals, or no copy numbers of the tumour, do not need alleles: a total is then returned as
    ``major_cn``.

    The table has the `COLUMNS`; those of a second state are 0 where there is one state. The second result lists the
    mutations that were left out or changed, in their order.
    """
    given = variants.table.assign(mutation_id=mutation_ids)
    if not len(given):
        raise UsageError("there are no mutations to join with the segments")
    samples = list(given["sample_id"].cat.remove_unused_categories().cat.categories)
    names = sorted(segments.table["sample_id"].unique())
    if set(samples).isdisjoint(names):
        raise UsageError(f"no copy-number segments of {listed(samples)}: those given are of {listed(names)}")
    sex = sex or sex_of(segments, samples)
    build = build or build_of(variants, segments, samples)
    contents = {sample: content_of(tumour_content, sample, segments) for sample in samples}
    content = given["sample_id"].astype(object).map(contents).to_numpy(np.float64)
    found = Found.of(given, segments.table)
    said_copies = found.take("normal_cn")
    normal_cn = np.where(
        said_copies == NONE, normal_copies(given["chrom"], given["pos"], sex, build), said_copies
    )
    states = _states(found, normal_cn, content, genotype_prior)
    rules = [
        *_without_segment(found, fill_gaps),
        *_without_normal_copies(found, sex, build, normal_cn),
        *_without_states(found, states),
    ]
    first = np.select([rule.applies for rule in rules], range(len(rules)), NONE)
    kept = np.array([rule.is_kept for rule in rules] + [True])[first]  # the last is for NONE, -1
    places = np.flatnonzero(first != NONE).tolist()
    left_out = left_out_rows(given.iloc[places], [rules[first[place]].text(place) for place in places])
    if not kept.any():
        commonest, times = Counter(item.reason for item in left_out).most_common(1)[0]
        message = f"none of the {len(given)} mutations can be joined with the segments; most often ({times} times): "
        raise InputError([Problem(str(given["file"].iat[0]), message + commonest)])
    known_content = np.nan_to_num(content, nan=DEFAULT_TUMOUR_CONTENT)
    table = given.assign(normal_cn=normal_cn, tumour_content=known_content, **states)
    return table.loc[kept, COLUMNS], left_out


# --- states ---------------------------------------------------------------------------------------------------


def _states(
    found: Found, normal_cn: NDArray[np.int64], content: NDArray[np.float64], genotype_prior: str
) -> dict[str, NDArray]:
    """Return the states at each mutation; the normal state where there is no segment.

    `content` is the tumour content of each mutation's sample, NaN if unknown.
    """
    totals_do = looks_at_no_alleles(genotype_prior)
    first, second = (
        np.stack([found.take(f"{which}major_cn", 0), found.take(f"{which}minor_cn", 0)], axis=1)
        for which in ("", "subclonal_")
    )
    for state in (first, second):
        haploid_or_total = (state[:, 1] == NONE) & (state[:, 0] != NONE) & ((normal_cn == 1) | totals_do)
        state[haploid_or_total, 1] = 0
    shares = np.stack(
        [found.take("fraction", 0.0), np.nan_to_num(found.take("subclonal_fraction", 0.0))], axis=1
    )
    others = found.take("other_fraction", 0.0)
    of_all = found.take("of_all_cells", 0).astype(bool)
    total = shares.sum(axis=1) + others
    of_sample = pd.DataFrame({"sample_id": found.given["sample_id"], "content": content, "share": total})
    _check_contents(of_sample[of_all])
    tumour_cells = np.where(of_all, np.where(total < content / EXCESS, content, total), 1.0)
    shares /= tumour_cells[:, None]
    return states_of_tumour(first, second, shares, np.maximum(normal_cn, 0), others / tumour_cells)


def _check_contents(rows: pd.DataFrame) -> None:
    """Raise UsageError for the content of a sample with these shares of all cells, if it is unknown or too small."""
    for sample, of_sample in rows.groupby("sample_id", observed=True):
        content, largest = of_sample[["content", "share"]].to_numpy().max(axis=0)
        if np.isnan(content):
            raise UsageError(
                f"the segments of sample {sample!r} tell shares of all cells, normal ones included: its tumour content "
                "must be given, too (`tumour_content`)"
            )
        if largest > EXCESS * content:
            raise UsageError(
                f"sample {sample!r}: segments are in {largest:g} of all cells, but the tumour content is only "
                f"{content:g}; one of the two is wrong"
            )


def states_of_tumour(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    shares: NDArray[np.float64],
    normal_cn: NDArray[np.int64],
    others: NDArray[np.float64],
) -> dict[str, NDArray]:
    """Determine the states of N loci, the main one and a second one.

    ``first`` and ``second`` are (N, 2) major and minor copies of the states in the segments, arbitrary where the share
    is 0; ``shares`` (N, 2) are their shares of the tumour cells, with totals above 1 scaled to 1; ``others`` (N,) those
    of further states, none of them larger.

    The result has the (N,) columns ``major_cn minor_cn`` of the main state, ``subclonal_major_cn subclonal_minor_cn
    subclonal_fraction`` of the second, 0 where there is one state, ``not_modelled``, the share of the tumour cells in
    further states, and ``too_many``, whether it is too large. The fraction is of the cells in the two states.
    """
    normal = np.stack([normal_cn - normal_cn // 2, normal_cn // 2], axis=1)
    states = np.stack([first, second, normal], axis=1)
    known = shares.sum(axis=1, keepdims=True) + others[:, None]
    all_cells = np.maximum(known, 1.0)
    held = np.concatenate([shares / all_cells, 1 - known / all_cells], axis=1)
    others = others / all_cells[:, 0]
    unite_equal(states, held)
    held[held <= NEGLIGIBLE] = 0.0
    order = np.argsort(-held, axis=1, kind="stable")
    held = np.take_along_axis(held, order, axis=1)
    states = np.take_along_axis(states, order[:, :, None], axis=1)
    has_second = held[:, 1] > 0
    states[~has_second, 1] = 0
    not_modelled = held[:, 2] + np.where(others > NEGLIGIBLE, others, 0.0)
    return {
        "major_cn": states[:, 0, 0],
        "minor_cn": states[:, 0, 1],
        "subclonal_major_cn": states[:, 1, 0],
        "subclonal_minor_cn": states[:, 1, 1],
        "subclonal_fraction": np.where(has_second, held[:, 1] / (held[:, 0] + held[:, 1]), 0.0),
        "not_modelled": not_modelled,
        "too_many": not_modelled > MOST_NOT_MODELLED + 1e-9,
    }


# --- reasons to leave out, the texts of left_out.tsv ----------------------------------------------------------


class _Rule(NamedTuple):
    """A reason to leave out mutations, or to report that they are changed."""

    applies: NDArray[np.bool_]
    """(N,) the mutations it applies to."""
    reason: str | Callable[[int], str]
    """The text, or a function that makes it from the index of a mutation."""
    is_kept: bool = False
    """Whether the mutations are kept."""

    def text(self, row: int) -> str:
        return self.reason if isinstance(self.reason, str) else self.reason(row)


def _without_segment(found: Found, fill_gaps: bool) -> list[_Rule]:
    """Return the rules for mutations that no segment can hold, or does."""
    has_segments = found.given["sample_id"].isin(found.segments["sample_id"].unique())
    return [
        _Rule(~has_segments.to_numpy(), "there are no copy-number segments of this sample"),
        _Rule(
            (found.given["chrom"] == "MT").to_numpy(),
            "on the mitochondrion: a cell has many, and no segment tells how many; it cannot be modelled",
        ),
        _Rule((found.segment == NONE) & (not fill_gaps), _IN_NONE),
    ]


def _without_normal_copies(
    found: Found, sex: Sex | None, build: Build | None, normal_cn: NDArray[np.int64]
) -> list[_Rule]:
    """Return the rules for mutations where normal cells have no copies, an unknown number, or more than elsewhere."""
    chroms = found.given["chrom"].tolist()
    expected = "Expected is a segment of its own"
    if sex is None:
        expected += ", unless the patient is a woman; give `sex`"

    def pseudo_autosomal(row: int) -> str:
        return (
            f"in a pseudo-autosomal region of chromosome {chroms[row]}, of which normal cells have two copies, but "
            f"most of its segment ({found.where(found.segment[row])}) lies outside, where those of a man have one: "
            f"the copies of the region are not known. {expected}"
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
        _Rule((normal_cn == 0) & said, "normal cells have no copy of it, as the segments say"),
        _Rule(normal_cn <= 0, doubtful),
        _Rule((normal_cn == 2) & ~said & may_be_single & (sex != "female"), pseudo_autosomal),
    ]


def _without_states(found: Found, states: Mapping[str, NDArray]) -> list[_Rule]:
    """Return the rules for gaps, for segments that contradict each other, and for unknown or too many states."""
    totals = found.take("major_cn")

    def contradictory(row: int) -> str:
        first, other = (found.where(which[row]) for which in (found.segment, found.rival))
        return f"two segments with different copy numbers hold it: {first} and {other}"

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
        _Rule(found.segment == NONE, f"{_IN_NONE}: taken as diploid", is_kept=True),
        _Rule(found.rival != NONE, contradictory),
        _Rule((states["minor_cn"] < 0) | (states["subclonal_minor_cn"] < 0), unknown),
        _Rule(states["too_many"], several),
        _Rule(states["not_modelled"] > 0, several, is_kept=True),
    ]
