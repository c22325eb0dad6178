"""Joins mutations and copy-number segments to the table that PyClone-VI reads, with one row per mutation and sample.

Each mutation gets the copy numbers of the segment of its sample that contains its position (ends are inclusive), and
the copies in normal cells there. It is left out of the sample, with the reason, if

* it lies in no segment (unless gaps are filled with the normal state), on a contig that is not a chromosome, or on the
  mitochondrion, whose copies per cell are not those of the segments;
* segments with different copy numbers overlap there;
* the sample has no segments, although others have;
* the segment lacks the copies of each allele, or has more than two states, of which the two largest do not contain
  nearly all tumour cells;
* normal cells have no copy (Y in a woman), or a number that depends on an unknown sex or genome build;
* it is in a pseudo-autosomal region, but most of its segment is not, and the sex is not female.

Homozygous deletions stay in the table with ``major_cn`` 0; its reader must handle them.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.errors import InputError, Problem, UsageError
from pyclone_pgsm.inputs.genome import Build, Sex, normal_copies
from pyclone_pgsm.inputs.mutations.model import Variants, mutation_ids
from pyclone_pgsm.inputs.observations import DEFAULT_TUMOUR_CONTENT, SUBCLONAL, LeftOut, looks_at_no_alleles
from pyclone_pgsm.inputs.segments.exclusions import exclude
from pyclone_pgsm.inputs.segments.intervals import NONE, Found
from pyclone_pgsm.inputs.segments.model import Segments
from pyclone_pgsm.inputs.segments.samples import build_of, check_samples, content_of, sex_of
from pyclone_pgsm.inputs.segments.states import EXCESS, states_of_tumour

COLUMNS = [
    "file", "row", "mutation_id", "sample_id", "ref_counts", "alt_counts", "major_cn", "minor_cn", "normal_cn",
    "tumour_content", "chrom", "pos", "ref", "alt", "gene", *SUBCLONAL,
]  # fmt: skip
"""The columns of the joined table; file and row are those of the mutations."""


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
    check_samples(segments, samples)
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
    kept, left_out = exclude(found, sex, build, normal_cn, states, fill_gaps)
    if not kept.any():
        commonest, times = Counter(item.reason for item in left_out).most_common(1)[0]
        message = f"none of the {len(given)} mutations can be joined with the segments; most often ({times} times): "
        raise InputError([Problem(str(given["file"].iat[0]), message + commonest)])
    known_content = np.nan_to_num(content, nan=DEFAULT_TUMOUR_CONTENT)
    table = given.assign(normal_cn=normal_cn, tumour_content=known_content, **states)
    return table.loc[kept, COLUMNS], left_out


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
