"""Joining mutation calls with copy-number segments, into the table that ``read_tables`` reads.

The steps are: read the mutations (`pyclone_pgsm.inputs.mutations`) and the segments (`pyclone_pgsm.inputs.segments`) of
all files, assign segments to samples, and join the two.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pyclone_pgsm.analyses.tables import left_out_table
from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.files import make_folder, replacing, replacing_together, storable
from pyclone_pgsm.inputs.genome import BUILDS, Build, Sex, builds_that_fit, last_positions
from pyclone_pgsm.inputs.mutations.model import Variants
from pyclone_pgsm.inputs.mutations.reading import read_variants
from pyclone_pgsm.inputs.observations import (
    GENOTYPE_PRIORS,
    PRIORS_WITHOUT_COPY_NUMBERS,
    SUBCLONAL,
    LeftOut,
    count_left_out,
    looks_at_no_alleles,
)
from pyclone_pgsm.inputs.problems import count, listed
from pyclone_pgsm.inputs.read_counts.suspicions import content_taken_as_one
from pyclone_pgsm.inputs.sample_sheet import Patient
from pyclone_pgsm.inputs.segments.joining import join
from pyclone_pgsm.inputs.segments.model import Segments
from pyclone_pgsm.inputs.segments.samples import segments_of_samples
from pyclone_pgsm.inputs.text import check_exist
from pyclone_pgsm.inputs.tumour_content import ContentOption, Uncertain, checked_means, uncertain
from pyclone_pgsm.ranges import check_bool, check_choice, check_kind
from pyclone_pgsm.tsv import write_table

TABLE, LEFT_OUT = "table.tsv", "left_out.tsv"
"""The files that `write_prepared` writes."""


@dataclass(frozen=True)
class PrepareOptions:
    """Options for mutations and segments of all samples, named as on the command line.

    ``tumour_content`` overrides sample sheet and callers. Options that are None are determined from the files, or have
    no effect.
    """

    tumour_sample: str | Sequence[str] | None = None
    all_filters: bool = False
    cn_format: str | None = None
    sex: Sex | None = None
    genome_build: Build | None = None
    fill_gaps: str | None = None
    tumour_content: ContentOption = None
    genotype_prior: str = "major"

    def __post_init__(self) -> None:
        check_bool("all_filters", self.all_filters)
        for name, known in (
            ("sex", ("female", "male")),
            ("genome_build", BUILDS),
            ("fill_gaps", ("diploid",)),
            ("genotype_prior", GENOTYPE_PRIORS),
        ):
            check_choice(name, getattr(self, name), known, may_be_none=name != "genotype_prior")
        names = self.tumour_sample or ()
        check_kind("tumour_sample", names, str | Sequence, "a name, or several")
        for name in () if isinstance(names, str) else names:
            check_kind("tumour_sample", name, str, "a name, or several")


@dataclass(frozen=True)
class Prepared:
    """Mutations joined with segments, for this `genotype_prior`; the `table` is that of `join`.

    `notes` are lines on what was read and decided, `warnings` lines on what the user should check. `tumour_content` is
    as given by option and sample sheet, for samples in the table.
    """

    table: pd.DataFrame
    left_out: list[LeftOut]
    notes: list[str]
    warnings: list[str]
    tumour_content: ContentOption
    genotype_prior: str

    def summary(self) -> list[str]:
        """Return a line for each sample, then one on what was left out, and one on what `analyze` will leave out."""
        inferred = self._uncertain_contents()
        lines = [
            f"{sample}: {count(len(rows), 'mutation')}, tumour content "
            f"{inferred.get(str(sample)) or format(rows['tumour_content'].iat[0], 'g')}"
            for sample, rows in self.table.groupby("sample_id", observed=True)
        ]
        lines.append(count_left_out(self.left_out, f" ({LEFT_OUT})"))
        are_lost = (self.table["major_cn"] == 0) & (self.table["subclonal_major_cn"] == 0)
        if are_lost.any() and self.genotype_prior not in PRIORS_WITHOUT_COPY_NUMBERS:
            rows = f"{count(int(are_lost.sum()), 'row')} of {TABLE}"
            lines.append(
                f"{rows} without a copy of the locus in the tumour, which analyze takes as no data there"
            )
        return lines

    def not_in_table(self) -> list[str]:
        """Return a warning for each sample whose tumour content is uncertain: the table has the mean alone."""
        return [
            f"sample {sample!r}: {TABLE} has only the mean of its tumour content; give `tumour_content` "
            f"{sample}={content} again with the table"
            for sample, content in self._uncertain_contents().items()
        ]

    def _uncertain_contents(self) -> dict[str, Uncertain]:
        """Return the uncertain tumour contents by sample of the table."""
        samples = [str(sample) for sample in self.table["sample_id"].unique()]
        return uncertain(self.tumour_content, samples)


def prepare(patient: Patient, options: PrepareOptions) -> Prepared:
    """Read and join the mutations and segments of one tumour; errors list all problems of the files."""
    check_exist(patient.files)
    given = options.tumour_sample or ()
    tumour_samples = (given,) if isinstance(given, str) else tuple(given)
    variants = read_variants(
        patient.mutations, tumour_samples=tumour_samples, all_filters=options.all_filters
    )
    samples = [str(name) for name in variants.table["sample_id"].cat.categories]
    content = _said_content(patient, options, samples)
    advice = _advice_on_files_of_one_sample(patient, variants)
    segments, notes = segments_of_samples(patient, samples, options.cn_format, options.genotype_prior, advice)
    table, left_out = join(
        variants,
        segments,
        sex=options.sex or patient.sex,
        build=options.genome_build,
        tumour_content=checked_means(content),
        fill_gaps=options.fill_gaps is not None,
        genotype_prior=options.genotype_prior,
    )
    joined = set(table["sample_id"].unique())
    used = [sample for sample in samples if sample in joined]
    if isinstance(content, Mapping):
        content = {sample: value for sample, value in content.items() if sample in joined}
    without_rows = [sample for sample in samples if sample not in joined]
    # a file may have samples of other patients, too
    of_samples = [item for item in segments.left_out if item.sample_id in ("", *samples)]
    return Prepared(
        table=table,
        left_out=[*variants.left_out, *of_samples, *left_out],
        notes=[
            *(f"{file}: no filters were applied; all records are taken" for file in variants.unfiltered),
            *(f"{given}: sample {name!r} of {file}" for file, given, name in variants.renamed),
            *notes,
            *segments.describe(),
        ],
        warnings=[
            *variants.warnings,
            *_other_genome(variants),
            *_samples_left_out(without_rows, [*variants.left_out, *left_out]),
            *_shared_segments(segments, advice),
            *_segments_of_others(segments, samples),
            *_shares_of_all_cells(table, segments),
            *_purity_unknown(used, segments, content),
        ],
        tumour_content=content,
        genotype_prior=options.genotype_prior,
    )


def write_prepared(prepared: Prepared, folder: Path) -> None:
    """Write ``table.tsv`` and ``left_out.tsv``.

    The columns of a second copy-number state are empty where there is one state, and missing if that is everywhere. For
    genotype priors that do not look at alleles, which may then be unknown, the table has ``total_cn`` in place of
    ``major_cn`` and ``minor_cn``: priors that do look at alleles refuse it.
    """
    table = prepared.table.drop(columns=["file", "row"])
    has_one = table["subclonal_fraction"] == 0
    if has_one.all():
        table = table.drop(columns=list(SUBCLONAL))
    else:
        table = table.astype(dict.fromkeys(SUBCLONAL, object))
        table.loc[has_one, list(SUBCLONAL)] = ""
    if looks_at_no_alleles(prepared.genotype_prior):
        table = table.assign(major_cn=table["major_cn"] + table["minor_cn"]).drop(columns="minor_cn")
        table = table.rename(columns={"major_cn": "total_cn"})
    with replacing_together():
        make_folder(folder)
        write_table(left_out_table(prepared.left_out), folder / LEFT_OUT)
        with replacing(folder / TABLE) as part:  # all digits, so that reading gives the same numbers back
            table.to_csv(part, sep="\t", index=False, lineterminator="\n")


def _said_content(patient: Patient, options: PrepareOptions, samples: Sequence[str]) -> ContentOption:
    """Return the tumour content given by option or sample sheet; the option overrides the sheet."""
    if options.tumour_content is None:
        return patient.tumour_content or None
    if not isinstance(options.tumour_content, Mapping):
        return options.tumour_content
    unknown = [sample for sample in options.tumour_content if sample not in samples]
    if unknown:
        raise UsageError(
            f"`tumour_content` is given for {listed(unknown)}, but the samples are {listed(samples)}"
        )
    return {**patient.tumour_content, **options.tumour_content}


def _advice_on_files_of_one_sample(patient: Patient, variants: Variants) -> str:
    """Return what to write if files whose samples are named after the files are of one sample; "" without such files.

    Strelka writes the SNVs and the indels of a tumour to two files, which both call it TUMOR.
    """
    unnamed = [storable(str(file.path)) for file in patient.mutations if not file.samples]
    of_file = variants.table[["file", "sample_id"]].drop_duplicates()
    after_file = of_file[of_file["file"].isin(unnamed) & ~of_file["sample_id"].isin(variants.names)]
    if len(after_file) < 2:
        return ""
    first, second = after_file["file"].iloc[:2]
    return (
        ". If two files of mutations are of one sample, such as its SNVs and indels, name it for both, as in "
        f"S1={first} S1={second}"
    )


def _shared_segments(segments: Segments, advice: str) -> list[str]:
    """Return a warning for each file of which two samples have the same segments."""
    shared = segments.table[segments.table.duplicated(["file", "row"], keep=False)]
    return [
        f"{file}: the same segments are taken for the samples {listed(list(of['sample_id'].unique()))}{advice}"
        for file, of in shared.groupby("file", observed=True)
    ]


def _segments_of_others(segments: Segments, samples: Sequence[str]) -> list[str]:
    """Return a warning for each file that names another sample of the tumour than the one it is given for."""
    return [
        f"{hint.file}: the file names the sample {hint.name_in_file!r}, but is given for {hint.sample_id!r}"
        for hint in segments.hints
        if hint.name_in_file in samples and hint.name_in_file != hint.sample_id
    ]


def _shares_of_all_cells(table: pd.DataFrame, segments: Segments) -> list[str]:
    """Return a warning for each sample whose shares of tumour cells look like shares of all cells.

    Shares of all cells, as in PhyloWGS's files, are at most the tumour content, which clonal segments reach.
    """
    of_tumour = segments.table[~segments.table["of_all_cells"]]
    shares = of_tumour[["fraction", "subclonal_fraction", "other_fraction"]].sum(axis=1)  # of all states
    largest = shares.groupby(of_tumour["sample_id"], observed=True).max()
    content = table.groupby("sample_id", observed=True)["tumour_content"].first().to_dict()
    return [
        f"sample {sample!r}: its segments are in {share:g} of the tumour cells at most, which is the tumour content: "
        "are these shares of all cells? Then read them with `cn_format` phylowgs"
        for sample, share in largest.items()
        if sample in content and share < 0.99 and abs(share - content[sample]) < 0.005
    ]


def _other_genome(variants: Variants) -> list[str]:
    """Return a warning if positions are beyond the ends of human chromosomes."""
    last = last_positions(variants.table["chrom"], variants.table["pos"])
    beyond = [
        f"{chrom}:{position}" for chrom, position in last.items() if not builds_that_fit({chrom: position})
    ]
    if not beyond:
        return []
    return [
        f"positions are beyond the ends of chromosomes of {' and '.join(BUILDS)}: {listed(beyond, 3)}. Is this another "
        "genome? Copies of X and Y in normal cells are those of humans"
    ]


def _samples_left_out(samples: Sequence[str], left_out: Sequence[LeftOut]) -> list[str]:
    """Return a warning for each commonest reason why nothing of some samples is used."""
    reasons: dict[str, Counter[str]] = {sample: Counter() for sample in samples}
    for item in left_out:
        if item.sample_id in reasons:
            reasons[item.sample_id][item.reason] += 1
    of_reason: dict[str, list[str]] = {}
    for sample, of_sample in reasons.items():
        of_reason.setdefault(of_sample.most_common(1)[0][0], []).append(sample)
    return [
        f"samples {listed(names)} are left out with all their mutations: {reason}"
        if len(names) > 1
        else f"sample {names[0]!r} is left out with all its mutations: {reason}"
        for reason, names in of_reason.items()
    ]


def _purity_unknown(samples: Sequence[str], segments: Segments, content: ContentOption) -> list[str]:
    given = {hint.sample_id for hint in segments.hints if hint.purity is not None}
    given |= set(content if isinstance(content, Mapping) else samples if content is not None else ())
    return content_taken_as_one([sample for sample in samples if sample not in given])
