"""Reading one tumour from tables of read counts, or from mutations with segments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pyclone_pgsm.analyses.prepare import Prepared
from pyclone_pgsm.errors import InputError, Problem, UsageError
from pyclone_pgsm.inputs.mutations.kinds import MUTATIONS, Kind, kind_of
from pyclone_pgsm.inputs.observations import LeftOut, Observations, looks_at_no_alleles
from pyclone_pgsm.inputs.problems import FileProblems
from pyclone_pgsm.inputs.read_counts.joining import lay_out
from pyclone_pgsm.inputs.read_counts.suspicions import content_taken_as_one, suspicions
from pyclone_pgsm.inputs.read_counts.tables import Source, read_sources
from pyclone_pgsm.inputs.tumour_content import ContentOption, uncertain
from pyclone_pgsm.inputs.values import ERROR_RATE, checked

File = Path | str
Files = File | Sequence[File] | Mapping[str, File | Sequence[File]]
"""One or several files, or a mapping from samples to their files."""


@dataclass(frozen=True)
class Reading:
    """Data of one tumour, as read; `content` is the tumour content that options and sample sheet give.

    `notes` are lines that the user may want to know, `warnings` lines on what the user should check.
    """

    observations: Observations
    left_out: list[LeftOut] = field(default_factory=list)
    content: ContentOption = None
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read_counts(
    sources: Sequence[Source], tumour_content: ContentOption, error_rate: float | None, genotype_prior: str
) -> Reading:
    """Read one tumour from tables of read counts; options are those of `read_tables` of `inputs.read_counts.tables`."""
    observations, left_out = read_sources(sources, tumour_content, error_rate, genotype_prior)
    inferred = uncertain(tumour_content, observations.sample_ids)
    warnings = content_taken_as_one(observations.content_unknown) + observations.content_varies
    warnings += suspicions(observations, genotype_prior, inferred)
    return Reading(observations, left_out, tumour_content, [], warnings)


def read_joined(prepared: Prepared, error_rate: float | None = None) -> Reading:
    """Read one tumour from mutations joined with segments, as :func:`read_counts` would read their table.

    What was left out is listed by file and row of the mutations.
    """
    rate = checked("error_rate", error_rate, ERROR_RATE)
    table = prepared.table
    rows = table.astype({"file": object, "sample_id": object, "chrom": object, "pos": str}).assign(
        error_rate=np.nan if rate is None else rate,
        copies_column="total_cn" if looks_at_no_alleles(prepared.genotype_prior) else "major_cn",
        named_after_file=False,
    )
    found = [FileProblems(file) for file in table["file"].cat.categories]
    observations, left_out = lay_out([rows], found, prepared.genotype_prior)
    left_out = [*prepared.left_out, *left_out]
    inferred = uncertain(prepared.tumour_content, observations.sample_ids)
    warnings = [*prepared.warnings, *suspicions(observations, prepared.genotype_prior, inferred)]
    return Reading(observations, left_out, prepared.tumour_content, prepared.notes, warnings)


_NO_TABLES: dict[Kind, str] = dict.fromkeys(
    MUTATIONS,
    "mutations without copy numbers: give copy-number segments of their samples with `segments`, or a table that has "
    "both",
) | {
    "segments": "copy-number segments: give them with `segments`, and the mutations as input",
    "sheet": "a sample sheet: the commands take it with `samples`",
}
"""What is told of files that are no tables of read counts."""


def check_tables(files: Sequence[Path], read_with: Mapping[str, object]) -> None:
    """Raise an error for files that are no tables, or options that apply only to mutations with segments."""
    kinds = [(str(path), kind_of(path)) for path in files]
    if problems := [Problem(path, _NO_TABLES[kind]) for path, kind in kinds if kind in _NO_TABLES]:
        raise InputError(problems)
    for name, value in read_with.items():
        if value:
            raise UsageError(f"`{name}` is for mutations with `segments`, not for tables")


def by_sample(what: str, files: Files) -> list[tuple[str | None, Path]]:
    """Return each file with the sample for which it is given, if any; UsageError if anything else is given."""
    if isinstance(files, Mapping):
        return [(str(sample), path) for sample, own in files.items() for _, path in by_sample(what, own)]
    each = [files] if isinstance(files, Path | str) or not isinstance(files, Sequence) else files
    for file in each:
        if not isinstance(file, Path | str):
            raise UsageError(f"{what} with `segments` are files, not {type(file).__name__}")
    return [(None, Path(file)) for file in each]
