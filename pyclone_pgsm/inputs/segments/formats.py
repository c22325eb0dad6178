"""The formats of copy-number segments that are known, and how a header tells them.

A layout names the columns of one format as `pyclone_pgsm.inputs.segments.cells.plain` spells them. A file has the
first layout in `LAYOUTS` whose required columns it has; those with peculiar columns stand first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pyclone_pgsm.inputs.cells import columns_by_part
from pyclone_pgsm.inputs.problems import listed
from pyclone_pgsm.inputs.segments import alleles
from pyclone_pgsm.inputs.segments.alleles import HATCHET_CLONES, Alleles, one_state
from pyclone_pgsm.inputs.segments.cells import UNKNOWN, SegmentCells, plain, style

_CHROM = ("chrom", "chr", "chromosome", "seqnames", "contig", "chromosomeindex")
_START = ("start", "startpos", "startposition", "startpositionbp", "locstart", "chromstart")
_END = ("end", "endpos", "endposition", "endpositionbp", "locend", "chromend")
_SAMPLE = ("sampleid", "sample", "samplename", "tumorsamplebarcode")
_PLACE: dict[str, tuple[str, ...]] = {"chrom": _CHROM, "start": _START, "end": _END}

_MAJOR = ("majorcn", "major", "majorcopynumber", "nmajor")
_MINOR = ("minorcn", "minor", "minorcopynumber", "nminor")
_TOTAL = ("totalcn", "totcn", "total", "copynumber", "cn", "tcn")


def _pair(cells: SegmentCells) -> Alleles:
    major, minor = alleles.of_pair(cells)
    return one_state(major, minor, cells.share("fraction"))


def _total_and_minor(cells: SegmentCells) -> Alleles:
    return one_state(*alleles.of_total_and_minor(cells))


def _total(cells: SegmentCells) -> Alleles:
    unknown = np.full(len(cells), UNKNOWN, dtype=np.int64)
    return one_state(*alleles.with_totals(unknown, unknown, cells.copies("total")))


def _generic(cells: SegmentCells) -> Alleles:
    real = alleles.of_real_pair(cells)
    major, minor = alleles.with_totals(real.major, real.minor, alleles.nearest(cells.real_copies("total")))
    return one_state(
        major, minor, cells.share("fraction"), np.where(real.rounding[:, None] > 0, real.real, np.nan)
    )


@dataclass(frozen=True)
class Layout:
    """The columns of one format.

    Attributes
    ----------
    format : str
        Name of the format, as ``--cn-format`` takes it.
    title : str
        What the format is called in messages.
    required : mapping of str to tuple of str
        Part to the plain names of columns that play it, besides chrom, start and end.
    read : callable
        From the cells to the alleles.
    place : mapping of str to tuple of str
        The same for chrom, start and end.
    optional : mapping of str to tuple of str
        Parts that may be missing.
    zero_based : bool
        Whether the first base of a chromosome is 0 and the end not part of the segment.
    of_all_cells : bool
        Whether shares of cells count the normal cells of the sample too.
    has_rows_for_states : bool
        Whether the states of one segment have a row each.
    has_alleles : bool
        False where the file has total copy numbers only.
    """

    format: str
    title: str
    required: Mapping[str, tuple[str, ...]]
    read: Callable[[SegmentCells], Alleles]
    place: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _PLACE)
    optional: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    zero_based: bool = False
    of_all_cells: bool = False
    has_rows_for_states: bool = False
    has_alleles: bool = True

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """All parts, the required ones first."""
        return {**self.place, **self.required, "sample": _SAMPLE, **self.optional}

    def missing(self, names: Iterable[str]) -> list[str]:
        """Required parts without a column among these plain names."""
        there = set(names)
        return [part for part, of in {**self.place, **self.required}.items() if not there & set(of)]

    def columns(self, names: Sequence[str]) -> dict[str, str]:
        """Part to the column that plays it, of the names in a header."""
        return columns_by_part(names, self.parts, plain)


def _place(start: str, end: str, chrom: tuple[str, ...] = _CHROM) -> dict[str, tuple[str, ...]]:
    return {"chrom": chrom, "start": (start,), "end": (end,)}


_TITAN_SHARE = {"fraction": ("cellularprevalence", "cellularfrequency", "clonalfrequency")}
_TITAN = {"state": ("titanstate", "titancall", "clonalcluster")}
_CNVKIT = {"log2": ("log2",)}

_HATCHET = {f"{kind}_{clone}": (f"{kind}{clone}",) for clone in HATCHET_CLONES for kind in ("cn", "u")}
_HATCHET_REQUIRED = ("cn_clone1", "u_clone1")

LAYOUTS = (
    Layout(
        "hatchet",
        "HATCHet best.seg.ucn or best.bbc.ucn",
        {
            "cn_normal": ("cnnormal",),
            "u_normal": ("unormal",),
            **{part: _HATCHET[part] for part in _HATCHET_REQUIRED},
        },
        alleles.of_hatchet,
        optional={part: of for part, of in _HATCHET.items() if part not in _HATCHET_REQUIRED},
        zero_based=True,
    ),
    Layout(
        "battenberg",
        "Battenberg subclones.txt",
        {"major": ("nmaj1a",), "minor": ("nmin1a",), "fraction": ("frac1a",)},
        alleles.of_battenberg,
        optional={
            "second_major": ("nmaj2a",),
            "second_minor": ("nmin2a",),
            "second_fraction": ("frac2a",),
        },
    ),
    Layout(
        "titan",
        "TitanCNA segments, corrected for purity and ploidy",
        {"major": ("correctedmajorcn",), "minor": ("correctedminorcn",), "total": ("correctedcopynumber",)},
        _pair,
        optional=_TITAN_SHARE,
    ),
    Layout(
        "titan",
        "TitanCNA segments",
        {"major": ("majorcn",), "minor": ("minorcn",), **_TITAN},
        _pair,
        optional={**_TITAN_SHARE, "total": ("copynumber",)},
    ),
    Layout(
        "purple",
        "PURPLE purple.cnv.somatic.tsv (version 3 and later)",
        {
            "major": ("majorallelecopynumber", "majoralleleploidy"),
            "minor": ("minorallelecopynumber", "minoralleleploidy"),
        },
        alleles.of_real_pair,
    ),
    Layout(
        "purple",
        "PURPLE purple.cnv (version 2)",
        {"total": ("copynumber",), "frequency": ("actualbaf", "baf")},
        alleles.of_total_and_frequency,
    ),
    Layout(
        "facets",
        "FACETS cncf",
        {"total": ("tcnem", "tcn"), "minor": ("lcnem", "lcn")},
        _total_and_minor,
        optional={"sample": (*_SAMPLE, "sid", "id")},
    ),
    Layout(
        "sequenza",
        "Sequenza segments.txt",
        {"total": ("cnt",), "major": ("a",), "minor": ("b",)},
        _pair,
    ),
    Layout(
        "cnvkit",
        "CNVkit call.cns with allele-specific copy numbers",
        {**_CNVKIT, "total": ("cn",), "major": ("cn1",), "minor": ("cn2",)},
        _pair,
        zero_based=True,
    ),
    Layout(
        "cnvkit",
        "CNVkit call.cns",
        {**_CNVKIT, "total": ("cn",)},
        _total,
        zero_based=True,
        has_alleles=False,
    ),
    Layout(
        "ascat",
        "ASCAT segments.txt",
        {"major": ("nmajor",), "minor": ("nminor",)},
        _pair,
        place=_place("startpos", "endpos"),
    ),
    Layout(
        "ascat",
        "ASCAT summary of SigProfiler",
        {"total": ("tumourtcn",), "minor": ("tumourbcn",), "normal": ("normaltcn",)},
        _total_and_minor,
    ),
    Layout(
        "ascat",
        "ASCAT segments for scarHRD",
        {"total": ("totalcn",), "major": ("acn",), "minor": ("bcn",)},
        _pair,
        optional={"ploidy": ("ploidy",)},
    ),
    Layout(
        "ascat",
        "ascatNgs copynumber.caveman.csv",
        {"total": ("tumourtotal",), "minor": ("tumourminor",), "normal": ("normaltotal",)},
        _total_and_minor,
    ),
    Layout(
        "phylowgs",
        "PhyloWGS cnvs.txt",
        {
            "total": ("copynumber",),
            "major": ("majorcn",),
            "minor": ("minorcn",),
            "fraction": ("cellularprevalence",),
        },
        _pair,
        of_all_cells=True,
        has_rows_for_states=True,
    ),
    Layout(
        "mutationtimer",
        "MutationTimeR segments",
        {"major": ("majorcn",), "minor": ("minorcn",), "fraction": ("clonalfrequency",)},
        _pair,
        of_all_cells=True,
        has_rows_for_states=True,
    ),
    Layout(
        "pcgr",
        "PCGR cna.tsv",
        {"major": ("nmajor",), "minor": ("nminor",)},
        _pair,
        place=_place("start", "end", ("chromosome",)),
    ),
    Layout(
        "generic",
        "chrom start end major_cn minor_cn",
        {"major": _MAJOR, "minor": _MINOR},
        _generic,
        optional={
            "normal": ("normalcn", "normaltotalcn"),
            "fraction": ("cellularprevalence",),
            "total": ("totalcn", "totcn"),
        },
        has_rows_for_states=True,
    ),
    Layout(
        "generic",
        "chrom start end total_cn",
        {"total": _TOTAL},
        _total,
        optional={"normal": ("normalcn", "normaltotalcn")},
        has_alleles=False,
    ),
)
"""All layouts, the peculiar ones first."""

FORMATS = tuple(sorted({layout.format for layout in LAYOUTS}))
"""The names that ``--cn-format`` takes."""

_LOG_RATIOS = ("segmentmean", "segmean", "seglogr", "mean", "logratio", "medianlogr", "log2", "log2ratio")


_KNOWN = {each for layout in LAYOUTS for of in layout.parts.values() for each in of}

STYLE = style("a table of copy-number segments as text", _KNOWN)
"""How files of segments look."""


def recognise(names: Sequence[str], cn_format: str | None) -> Layout | None:
    """The layout of a header, or of a given format; None if there is none that it has all columns of."""
    there = [plain(name) for name in names]
    candidates = (layout for layout in LAYOUTS if cn_format in (None, layout.format))
    return next((layout for layout in candidates if not layout.missing(there)), None)


def why_not_recognised(names: Sequence[str], cn_format: str | None) -> str:
    """The message for a header that `recognise` does not know."""
    there = {plain(name) for name in names}
    if cn_format is not None:
        layout = min(
            (layout for layout in LAYOUTS if layout.format == cn_format),
            key=lambda each: len(each.missing(there)),
        )
        return f"not in the format {cn_format} ({layout.title}): {_lacks(layout, there)}. {_has(names)}"
    if there & set(_LOG_RATIOS):
        ratio = next(name for name in names if plain(name) in _LOG_RATIOS)
        return _NO_COPY_NUMBERS.format(ratio=ratio)
    message = f"the format of these segments is not recognised. Known are {', '.join(FORMATS)}"
    nearest = _nearest(there)
    if nearest is not None:
        message += f"; nearest is {nearest.format} ({nearest.title}), but {_lacks(nearest, there)}"
    return f"{message}. {_has(names)}"


_NO_COPY_NUMBERS = (
    "log ratios only (column {ratio}), no copy numbers: a log ratio is a copy number only once purity and ploidy are "
    "known. Give the segments of a caller that estimates them (ASCAT, FACETS, Sequenza, PURPLE, TitanCNA, "
    "Battenberg), or the output of `cnvkit.py call`"
)


def why_totals_are_not_enough(layout: Layout, column: str) -> str:
    """The message for a file with total copy numbers only."""
    message = (
        f"total copy numbers only (column {column}): the model needs the copies of each allele. Use "
        "--genotype-prior total, or segments with alleles"
    )
    return message + (" (`cnvkit.py call --vcf` adds cn1 and cn2)" if layout.format == "cnvkit" else "")


def _nearest(there: set[str]) -> Layout | None:
    """The layout of which most is there: at least one column beyond the place, and half of all required."""

    def share(layout: Layout) -> float:
        return 1 - len(layout.missing(there)) / (len(layout.place) + len(layout.required))

    def has_own(layout: Layout) -> bool:
        return any(there & set(of) for of in layout.required.values())

    close = [layout for layout in LAYOUTS if has_own(layout) and share(layout) >= 0.5]
    return max(close, key=share, default=None)


def _lacks(layout: Layout, there: set[str]) -> str:
    parts = {**layout.place, **layout.required}
    missing = [_SPELLED.get(parts[part][0], parts[part][0]) for part in layout.missing(there)]
    several = len(missing) > 1
    return f"the column{'s' if several else ''} {', '.join(missing)} {'are' if several else 'is'} missing"


_SPELLED = {
    "nmaj1a": "nMaj1_A", "nmin1a": "nMin1_A", "frac1a": "frac1_A", "majorcn": "major_cn", "minorcn": "minor_cn",
    "correctedmajorcn": "Corrected_MajorCN", "correctedminorcn": "Corrected_MinorCN",
    "correctedcopynumber": "Corrected_Copy_Number", "titanstate": "TITAN_state",
    "majorallelecopynumber": "majorAlleleCopyNumber", "minorallelecopynumber": "minorAlleleCopyNumber",
    "copynumber": "copyNumber", "actualbaf": "actualBAF", "tcnem": "tcn.em", "lcnem": "lcn.em", "cnt": "CNt",
    "a": "A", "b": "B", "nmajor": "nMajor", "nminor": "nMinor", "tumourtcn": "Tumour TCN",
    "tumourbcn": "Tumour BCN", "normaltcn": "Normal TCN", "totalcn": "total_cn", "acn": "A_cn", "bcn": "B_cn",
    "tumourtotal": "tumour_total", "tumourminor": "tumour_minor", "normaltotal": "normal_total",
    "cellularprevalence": "cellular_prevalence", "clonalfrequency": "clonal_frequency",
    "cnnormal": "cn_normal", "unormal": "u_normal", "cnclone1": "cn_clone1", "uclone1": "u_clone1",
}  # fmt: skip
"""Plain names as their tools write them, for messages."""


def _has(names: Sequence[str]) -> str:
    return f"The header has {listed(names, most=12, longest=40)}"
