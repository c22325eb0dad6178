"""The known formats of copy-number segments, and their recognition from the header.

A file has the first layout in `LAYOUTS` whose required columns are all present; layouts with distinctive columns come
first. Only letters and digits of column names are compared (`pyclone_pgsm.inputs.segments.cells.plain`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pandas as pd

from pyclone_pgsm.inputs.problems import listed
from pyclone_pgsm.inputs.segments import alleles
from pyclone_pgsm.inputs.segments.alleles import HATCHET_CLONES
from pyclone_pgsm.inputs.segments.cells import REAL_COPIES, SegmentCells, plain, style
from pyclone_pgsm.inputs.table import columns_by_part

_CHROM = ("chrom", "chr", "chromosome", "seqnames", "contig", "chromosomeindex")
_START = ("start", "startpos", "startposition", "startpositionbp", "locstart", "chromstart")
_END = ("end", "endpos", "endposition", "endpositionbp", "locend", "chromend")
_SAMPLE = ("sampleid", "sample", "samplename", "tumorsamplebarcode")
_PLACE: dict[str, tuple[str, ...]] = {"chrom": _CHROM, "start": _START, "end": _END}

_MAJOR = ("major_cn", "major", "majorcopynumber", "nMajor")
_MINOR = ("minor_cn", "minor", "minorcopynumber", "nMinor")
_TOTAL = ("total_cn", "totcn", "total", "copyNumber", "cn", "tcn")

Names = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True)
class Layout:
    """The columns of one format.

    ``required``, ``place`` (chrom, start and end) and ``optional`` have the column name of each part, or several
    possible ones, of which messages use the first.
    """

    format: str
    """Value of ``--cn-format``."""
    title: str
    """Name in messages."""
    required: Names
    read: Callable[[SegmentCells], pd.DataFrame] = alleles.of_pair
    """Converts cells to the columns that `pyclone_pgsm.inputs.segments.alleles.one_state` describes."""
    place: Names = field(default_factory=lambda: _PLACE)
    optional: Names = field(default_factory=dict)
    zero_based: bool = False
    """Whether positions are counted from 0 and the end is not part of the segment."""
    has_rows_for_states: bool = False
    """Whether each state of a segment has its own row."""

    @property
    def has_alleles(self) -> bool:
        """Whether the file has more than total copy numbers."""
        return bool(self.required.keys() - {"total", *_CNVKIT})

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """All parts, the required ones first."""
        parts: Names = {**self.place, **self.required, "sample": _SAMPLE, **self.optional}
        return {part: (names,) if isinstance(names, str) else names for part, names in parts.items()}

    def columns(self, names: Sequence[str]) -> dict[str, str]:
        """Map each part to its column among the names in a header."""
        return columns_by_part(names, self.parts, plain)

    def missing(self, names: Sequence[str]) -> list[str]:
        """Return the names of the required columns that are missing from a header."""
        found, parts = self.columns(names), self.parts
        return [parts[part][0] for part in (*self.place, *self.required) if part not in found]


_TITAN_SHARE = {"fraction": ("cellular_prevalence", "cellularfrequency", "clonal_frequency")}
_CNVKIT = {"log2": "log2"}
_NORMAL = {"normal": ("normalcn", "normaltotalcn")}

LAYOUTS = (
    Layout(
        "hatchet",
        "HATCHet best.seg.ucn or best.bbc.ucn",
        {part: part for part in ("cn_normal", "u_normal", "cn_clone1", "u_clone1")},
        alleles.of_hatchet,
        optional={part: part for clone in HATCHET_CLONES[1:] for part in (f"cn_{clone}", f"u_{clone}")},
        zero_based=True,
    ),
    Layout(
        "battenberg",
        "Battenberg subclones.txt",
        {"major": "nMaj1_A", "minor": "nMin1_A", "fraction": "frac1_A"},
        alleles.of_battenberg,
        optional={"second_major": "nMaj2_A", "second_minor": "nMin2_A", "second_fraction": "frac2_A"},
    ),
    Layout(
        "titan",
        "TitanCNA segments, corrected for purity and ploidy",
        {"major": "Corrected_MajorCN", "minor": "Corrected_MinorCN", "total": "Corrected_Copy_Number"},
        alleles.of_titan,
        optional=_TITAN_SHARE,
    ),
    Layout(
        "titan",
        "TitanCNA segments",
        {"major": "major_cn", "minor": "minor_cn", "state": ("TITAN_state", "titancall", "clonalcluster")},
        alleles.of_titan,
        optional={**_TITAN_SHARE, "total": "copyNumber"},
    ),
    Layout(
        "purple",
        "PURPLE purple.cnv.somatic.tsv (version 3 and later)",
        {
            "major": ("majorAlleleCopyNumber", "majoralleleploidy"),
            "minor": ("minorAlleleCopyNumber", "minoralleleploidy"),
        },
        partial(alleles.of_pair, copies=REAL_COPIES),
    ),
    Layout(
        "purple",
        "PURPLE purple.cnv (version 2)",
        {"total": "copyNumber", "frequency": ("actualBAF", "baf")},
        alleles.of_total_and_frequency,
    ),
    Layout(
        "facets",
        "FACETS cncf",
        {"total": ("tcn.em", "tcn"), "minor": ("lcn.em", "lcn")},
        alleles.of_facets,
        optional={"sample": (*_SAMPLE, "sid", "id"), "fraction": ("cf.em", "cf")},
    ),
    Layout("sequenza", "Sequenza segments.txt", {"total": "CNt", "major": "A", "minor": "B"}),
    Layout(
        "cnvkit",
        "CNVkit call.cns with allele-specific copy numbers",
        {**_CNVKIT, "total": "cn", "major": "cn1", "minor": "cn2"},
        zero_based=True,
    ),
    Layout("cnvkit", "CNVkit call.cns", {**_CNVKIT, "total": "cn"}, zero_based=True),
    Layout(
        "ascat",
        "ASCAT segments.txt",
        {"major": "nMajor", "minor": "nMinor"},
        place={"chrom": _CHROM, "start": "startpos", "end": "endpos"},
    ),
    Layout(
        "ascat",
        "ASCAT summary of SigProfiler",
        {"total": "Tumour TCN", "minor": "Tumour BCN", "normal": "Normal TCN"},
    ),
    Layout(
        "ascat",
        "ASCAT segments for scarHRD",
        {"total": "total_cn", "major": "A_cn", "minor": "B_cn"},
        optional={"ploidy": "ploidy"},
    ),
    Layout(
        "ascat",
        "ascatNgs copynumber.caveman.csv",
        {"total": "tumour_total", "minor": "tumour_minor", "normal": "normal_total"},
    ),
    Layout(
        "phylowgs",
        "PhyloWGS cnvs.txt",
        {"total": "copyNumber", "major": "major_cn", "minor": "minor_cn", "fraction": "cellular_prevalence"},
        partial(alleles.of_pair, of_all_cells=True),
        has_rows_for_states=True,
    ),
    Layout(
        "mutationtimer",
        "MutationTimeR segments",
        {"major": "major_cn", "minor": "minor_cn", "fraction": "clonal_frequency"},
        partial(alleles.of_pair, of_all_cells=True),
        has_rows_for_states=True,
    ),
    Layout(
        "absolute",
        "ABSOLUTE segtab",
        {"major": ("modal.a2", "Modal_HSCN_2"), "minor": ("modal.a1", "Modal_HSCN_1")},
        partial(alleles.of_pair, copies=REAL_COPIES),
        place={"chrom": _CHROM, "start": ("Start.bp", "start"), "end": ("End.bp", "end")},
    ),
    Layout(
        "purecn",
        "PureCN loh.csv",
        {"total": "C", "minor": "M"},  # C is real where no whole number fits the segment
        partial(alleles.of_pair, copies=REAL_COPIES),
    ),
    Layout(
        "pcgr",
        "PCGR cna.tsv",
        {"major": "nMajor", "minor": "nMinor"},
        place={"chrom": "chromosome", "start": "start", "end": "end"},
    ),
    Layout(
        "generic",
        "chrom start end major_cn minor_cn subclonal_major_cn subclonal_minor_cn subclonal_fraction",
        {
            "major": "major_cn",
            "minor": "minor_cn",
            **{f"second_{part}": f"subclonal_{part}_cn" for part in ("major", "minor")},
            "second_fraction": "subclonal_fraction",
        },
        alleles.of_two_states,
        optional=_NORMAL,
    ),
    Layout(
        "generic",
        "chrom start end major_cn minor_cn",
        {"major": _MAJOR, "minor": _MINOR},
        partial(alleles.of_pair, copies=REAL_COPIES, is_ordered=True),
        optional={**_NORMAL, "fraction": "cellular_prevalence", "total": ("total_cn", "totcn")},
        has_rows_for_states=True,
    ),
    Layout(
        "generic",
        "chrom start end minor_cn total_cn",
        {"total": _TOTAL, "minor": _MINOR},
        partial(alleles.of_pair, copies=REAL_COPIES),
        optional=_NORMAL,
    ),
    Layout("generic", "chrom start end total_cn", {"total": _TOTAL}, optional=_NORMAL),
    Layout(  # otherwise a plain table, whose shares are of the tumour cells: only if the user names the format
        "phylowgs",
        "PhyloWGS cnvs.txt without copy_number",
        {"major": "major_cn", "minor": "minor_cn", "fraction": "cellular_prevalence"},
        partial(alleles.of_pair, of_all_cells=True),
        has_rows_for_states=True,
    ),
)
"""All layouts, the distinctive ones first."""

FORMATS = tuple(sorted({layout.format for layout in LAYOUTS}))
"""Values of ``--cn-format``."""

_LOG_RATIOS = (
    "segmentmean", "segmean", "seglogr", "mean", "logratio", "medianlogr", "log2", "log2ratio", "meanlog2copyratio",
    "log2copyratioposterior50",
)  # fmt: skip

STYLE = style(
    "a table of copy-number segments as text",
    {plain(each) for layout in LAYOUTS for of in layout.parts.values() for each in of},
)
"""Style of files of segments."""


def recognise(names: Sequence[str], cn_format: str | None) -> Layout | None:
    """Return the first layout, of the given format if any, whose required columns are all in a header; else None."""
    candidates = (layout for layout in LAYOUTS if cn_format in (None, layout.format))
    return next((layout for layout in candidates if not layout.missing(names)), None)


def why_not_recognised(names: Sequence[str], cn_format: str | None) -> str:
    """Return the message about a header that `recognise` does not know."""
    has = f"The header has {listed(names, most=12, longest=40)}"
    if cn_format is not None:
        of_format = [layout for layout in LAYOUTS if layout.format == cn_format]
        layout = min(of_format, key=lambda each: len(each.missing(names)))
        return f"not in the format {cn_format} ({layout.title}): {_lacks(layout, names)}. {has}"
    if {"rho", "psi"} <= {plain(name) for name in names}:
        return (
            "this is Battenberg's table of fits (rho_and_psi), which is not read. Its `*_purity_ploidy.txt` is, beside "
            "the segments or given with them; else give the `tumour_content`"
        )
    ratio = next((name for name in names if plain(name) in _LOG_RATIOS), None)
    if ratio is not None:
        return (
            f"log ratios only (column {ratio}), no copy numbers: a log ratio is a copy number only once purity and "
            "ploidy are known. Give the segments of a caller that estimates them (ASCAT, FACETS, Sequenza, PURPLE, "
            "TitanCNA, Battenberg), or the output of `cnvkit.py call`"
        )
    message = f"the format of these segments is not recognised. Known are {', '.join(FORMATS)}"
    nearest = _nearest(names)
    if nearest is not None:
        message += f"; nearest is {nearest.format} ({nearest.title}), but {_lacks(nearest, names)}"
    return f"{message}. {has}"


def _nearest(names: Sequence[str]) -> Layout | None:
    """Return the layout with most columns present: at least one besides the place, and half of all required."""

    def share(layout: Layout) -> float:
        return 1 - len(layout.missing(names)) / (len(layout.place) + len(layout.required))

    close = [each for each in LAYOUTS if each.required.keys() & each.columns(names) and share(each) >= 0.5]
    return max(close, key=share, default=None)


def _lacks(layout: Layout, names: Sequence[str]) -> str:
    missing = layout.missing(names)
    several = len(missing) > 1
    return f"the column{'s' if several else ''} {', '.join(missing)} {'are' if several else 'is'} missing"
