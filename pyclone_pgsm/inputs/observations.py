"""The observations of a tumour: what every reader returns and all later steps use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs import values

if TYPE_CHECKING:
    import pandas as pd

SUBCLONAL: dict[str, type[np.number]] = {
    "subclonal_major_cn": np.int64,
    "subclonal_minor_cn": np.int64,
    "subclonal_fraction": np.float64,
}
"""Columns of a second copy-number state, and their types."""
DEFAULT_TUMOUR_CONTENT = 1.0
COLUMNS: dict[str, tuple[values.Whole | values.Real, float]] = {
    "ref_counts": (values.READS, 0),
    "alt_counts": (values.READS, 0),
    "major_cn": (values.COPIES, 1),
    "minor_cn": (values.COPIES, 1),
    "normal_cn": (values.NORMAL_COPIES, 2),
    "tumour_content": (values.TUMOUR_CONTENT, DEFAULT_TUMOUR_CONTENT),
    "error_rate": (values.ERROR_RATE, np.nan),
    "subclonal_major_cn": (values.COPIES, 0),
    "subclonal_minor_cn": (values.COPIES, 0),
    "subclonal_fraction": (values.SUBCLONAL_FRACTION, 0),
}
"""Arrays of the observations: what their values may be, and what they are where a mutation has no row in a sample."""
PLACEHOLDERS = {name: otherwise for name, (_, otherwise) in COLUMNS.items()}
CLONAL = "clonal"
"""The genotype prior of copies that all tumour cells have."""
GENOTYPE_PRIORS = ("major", "parental", "total", CLONAL, "ab", "bb", "no-zygosity")
"""Names of the genotype priors, see :func:`pyclone_pgsm.tumour.genotypes.genotype_states`."""
PRIORS_WITHOUT_COPY_NUMBERS = frozenset({"ab", "bb", "no-zygosity"})
"""Genotype priors that do not use the tumour's copy numbers."""
MANY_LEFT_OUT = 10
"""With a reason that leaves out so many things, their number is followed by the reason."""


def looks_at_no_alleles(genotype_prior: str) -> bool:
    """Whether a genotype prior needs only total copy numbers, or none."""
    return genotype_prior == "total" or genotype_prior in PRIORS_WITHOUT_COPY_NUMBERS


class LeftOut(NamedTuple):
    """One thing left out or changed: a row of ``left_out.tsv``. ``row`` is the line of the file, or None."""

    file: str
    row: int | None
    mutation_id: str
    sample_id: str
    reason: str


def left_out_rows(rows: pd.DataFrame, reasons: Iterable[str]) -> list[LeftOut]:
    """List rows, each with its reason, by those of the columns ``file row mutation_id sample_id`` that they have."""
    places = rows.reindex(columns=LeftOut._fields[:-1], fill_value="").itertuples(index=False)
    return [LeftOut._make((*place, reason)) for place, reason in zip(places, reasons)]


def count_left_out(left_out: Sequence[LeftOut], where: str = "") -> str:
    """Say how many things were left out or changed, and the most frequent reason of many; every command words it so.

    `where` follows the number.
    """
    text = f"{len(left_out):,} left out or changed{where}"
    for reason, number in Counter(item.reason for item in left_out).most_common(1):
        if number >= MANY_LEFT_OUT:
            text += f", {number:,} because: {reason}"
    return text


@dataclass(frozen=True)
class Observations:
    """Read counts and copy numbers of T mutations in D samples.

    Mutations and samples are in order of first appearance. Where ``has_data`` is False (no row for the mutation in that
    sample, zero depth, or a copy number that cannot be modelled) the likelihood is flat. The other values are then
    those read, or `PLACEHOLDERS`, and must not be used.

    Attributes
    ----------
    mutation_ids, sample_ids : list of str
        Length T and D.
    ref_counts, alt_counts : (T, D) int64
        Reads that show the reference and the variant allele.
    major_cn, minor_cn, normal_cn : (T, D) int64
        Copies of the more and the less frequent allele in the tumour cells, total copies in the normal cells. Where
        ``subclonal_fraction`` is not 0, the first two are those of the remaining tumour cells.
    tumour_content : (T, D) float64
        Share of cancer cells among all cells of the sample, in (0, 1].
    error_rate : (T, D) float64
        Probability that a read shows the wrong allele, in (0, 0.5); NaN where not specified.
    has_data : (T, D) bool
        False where the sample has no information on the mutation.
    annotations : dict of str to list of str
        Additional columns (``chrom``, ``pos``, ``ref``, ``alt``, ``gene``), one text per mutation, "" if unknown.
    subclonal_major_cn, subclonal_minor_cn : (T, D) int64
        Copies in the tumour cells with a second state; 0 where there is one state. All 0 if not given.
    subclonal_fraction : (T, D) float64
        Share of these among the tumour cells, in (0, 1); 0 where there is one state. All 0 if not given.
    content_unknown : list of str
        Samples whose tumour content is not specified, at least for some mutations, and is taken as 1.
    content_varies : list of str
        A sentence for each sample whose tumour content differs between mutations, with values and rows.
    """

    mutation_ids: list[str]
    sample_ids: list[str]
    ref_counts: NDArray[np.int64]
    alt_counts: NDArray[np.int64]
    major_cn: NDArray[np.int64]
    minor_cn: NDArray[np.int64]
    normal_cn: NDArray[np.int64]
    tumour_content: NDArray[np.float64]
    error_rate: NDArray[np.float64]
    has_data: NDArray[np.bool_]
    annotations: dict[str, list[str]] = field(default_factory=dict)
    subclonal_major_cn: NDArray[np.int64] = None  # type: ignore[assignment]
    subclonal_minor_cn: NDArray[np.int64] = None  # type: ignore[assignment]
    subclonal_fraction: NDArray[np.float64] = None  # type: ignore[assignment]
    content_unknown: list[str] = field(default_factory=list)
    content_varies: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name, kind in SUBCLONAL.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.zeros(self.has_data.shape, kind))

    def as_seen_by(self, genotype_prior: str) -> Observations:
        """Return the copies as a genotype prior sees them: one that looks at no alleles takes all for major ones.

        One that uses no copy numbers sees two copies everywhere. Results must not depend on what a prior does not see.
        """
        if genotype_prior in PRIORS_WITHOUT_COPY_NUMBERS:
            diploid = {"major_cn": 2, "minor_cn": 0, "normal_cn": 2, **dict.fromkeys(SUBCLONAL, 0)}
            return replace(
                self, **{name: np.full_like(getattr(self, name), value) for name, value in diploid.items()}
            )
        if not looks_at_no_alleles(genotype_prior):
            return self
        return replace(
            self,
            major_cn=self.major_cn + self.minor_cn,
            minor_cn=np.zeros_like(self.minor_cn),
            subclonal_major_cn=self.subclonal_major_cn + self.subclonal_minor_cn,
            subclonal_minor_cn=np.zeros_like(self.subclonal_minor_cn),
        )

    @property
    def num_mutations(self) -> int:
        """T."""
        return len(self.mutation_ids)

    @property
    def num_samples(self) -> int:
        """D."""
        return len(self.sample_ids)

    @property
    def depth(self) -> NDArray[np.int64]:
        """(T, D) reads that cover the mutation."""
        return self.ref_counts + self.alt_counts

    @property
    def tumour_copies(self) -> NDArray[np.float64]:
        """(T, D) copies of the locus in a tumour cell, averaged over both copy-number states if there are two."""
        second = self.subclonal_major_cn + self.subclonal_minor_cn
        share = self.subclonal_fraction
        return (1.0 - share) * (self.major_cn + self.minor_cn) + share * second

    @property
    def mean_copies(self) -> NDArray[np.float64]:
        """(T, D) mean copies of the locus in a cell of the sample, normal cells included."""
        return self.tumour_content * self.tumour_copies + (1.0 - self.tumour_content) * self.normal_cn
