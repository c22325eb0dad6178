"""The tumours on which a command works: the files of each, and reading them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyclone_pgsm.cli.messages import fail, mistakes_reported, require_convergence, with_options
from pyclone_pgsm.cli.options import grouped
from pyclone_pgsm.cli.parsing import default_folder, split_sample
from pyclone_pgsm.errors import InputError, UsageError
from pyclone_pgsm.inputs.tumour_content import ContentOption, parse_tumour_content

if TYPE_CHECKING:
    from pyclone_pgsm.analyses.prepare import Prepared, PrepareOptions
    from pyclone_pgsm.analyses.reading import Reading
    from pyclone_pgsm.inputs.sample_sheet import Patient

SEGMENTS = "Mutations and segments (VCF, MAF)"
FORMATS = "VCF, MAF or a table chrom pos ref alt sample_id ref_counts alt_counts; FILE or SAMPLE=FILE"

Inputs = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="INPUT",
        help="Tables of read counts: PyClone-VI's long format, or PyClone's, one file per sample; TSV or CSV, .gz too. "
        f"With -c: mutations, as {FORMATS}.",
        show_default=False,
    ),
]
Mutations = Annotated[
    list[Path] | None,
    typer.Argument(metavar="INPUT", help=f"Mutations, as {FORMATS}.", show_default=False),
]


SEGMENT_OPTIONS = grouped(
    SEGMENTS,
    {
        "segments": (
            list[str] | None,
            None,
            "Copy-number segments of the mutations (repeatable): one file per sample, or one with a column of samples.",
            "FILE|SAMPLE=FILE",
            "-c|--segments",
        ),
        "samples": (
            Path | None,
            None,
            "Sample sheet in place of INPUT and -c: sample_id, mutations, segments, and where wanted tumour_content, "
            "sex, tumour_sample, patient_id. With patient_id each patient is run, in a folder of its own.",
            "SHEET",
        ),
        "tumour_sample": (
            list[str] | None,
            None,
            "Name of a tumour sample in a VCF or MAF that does not identify it (repeatable). Of several patients the "
            "files of each must have it: name it in the sheet where they differ.",
            "NAME",
        ),
        "all_filters": (bool, False, "Take mutations whatever their FILTER, FT and somatic status."),
        "cn_format": (
            str | None,
            None,
            "Format of the segments: ascat, battenberg, facets, sequenza, purple, cnvkit, titan, hatchet, phylowgs, "
            "mutationtimer, absolute, purecn, pcgr or generic. "
            "\\[default: detected]",
            "NAME",
        ),
        "sex": (
            str | None,
            None,
            "Sex of the patient, for the copies of X and Y in normal cells; overrides that of the segments and of "
            "the sheet.",
            "male|female",
        ),
        "genome_build": (
            str | None,
            None,
            "Genome build of mutations and segments. \\[default: detected]",
            "GRCh37|GRCh38",
        ),
        "fill_gaps": (
            str | None,
            None,
            "diploid: mutations in no segment have the copies of normal cells. \\[default: they are left out]",
            "diploid",
        ),
    },
)
READ_WITH = [name for name in SEGMENT_OPTIONS if name not in ("segments", "samples")]
"""Options for reading the files."""


@dataclass(frozen=True)
class Tumour:
    """A tumour on which a command works: tables of read counts, or a ``patient`` with mutations and segments.

    ``content`` is ``--tumour-content`` for its samples.
    """

    tables: list[Path]
    patient: Patient | None
    content: ContentOption

    @property
    def files(self) -> list[Path]:
        """All files of the tumour."""
        return self.tables if self.patient is None else self.patient.files

    @property
    def name(self) -> str:
        """Name of the patient, "" if there is only one."""
        return self.patient.name if self.patient is not None else ""


def warn(warnings: Sequence[str], patient: str = "") -> None:
    """Print warnings on stderr, preceded by the name of the patient, if any."""
    of_patient = f"patient {patient}: " if patient else ""
    for line in warnings:
        print(f"pyclone-pgsm: {of_patient}warning: {with_options(line)}", file=sys.stderr)


@contextmanager
def _options_named(given: Mapping[str, Any]) -> Iterator[None]:
    """In errors about a whole file that was given by an option, put the option before the name of the file."""
    try:
        yield
    except InputError as error:
        option_of = {str(given["samples"]): "--samples"}
        for text in given["segments"] or ():
            option_of |= dict.fromkeys((text, text.partition("=")[2]), "--segments")
        raise InputError(
            [
                replace(problem, file=f"{option_of[problem.file]} {problem.file}")
                if problem.row is None and problem.file in option_of
                else problem
                for problem in error.problems
            ],
            error.unlisted,
        ) from None


def tumours(inputs: Sequence[Path] | None, given: Mapping[str, Any]) -> list[Tumour]:
    """Return the tumours given to a command: ``inputs`` are its arguments, ``given`` all its parameters.

    UsageError if these contradict each other or name no files; InputError if the sample sheet is invalid, or a file
    needs segments.
    """
    content = parse_tumour_content(given["tumour_content"])
    if given["samples"] is not None:
        if inputs or given["segments"]:
            raise UsageError("--samples names all files: leave out INPUT and -c")
        with _options_named(given):
            return _of_sheet(given["samples"], content)
    if not inputs:
        raise UsageError(
            "no INPUT: give tables of read counts, mutations with -c, or a sample sheet with --samples"
        )
    if given["segments"]:
        return [Tumour([], _of_files(inputs, given["segments"]), content)]
    from pyclone_pgsm.analyses.reading import check_tables

    check_tables(inputs, {name: given[name] for name in READ_WITH})
    return [Tumour(list(inputs), None, content)]


def _of_sheet(path: Path, content: ContentOption) -> list[Tumour]:
    from pyclone_pgsm.inputs.sample_sheet import read_sheet

    patients = read_sheet(path)
    if not isinstance(content, Mapping):
        return [Tumour([], patient, content) for patient in patients]
    known = {sample for patient in patients for sample in patient.sample_ids}
    for sample in content:
        if sample not in known:
            raise UsageError(f"--tumour-content is given for {sample!r}, which is no sample of {path}")
    return [
        Tumour([], patient, {name: content[name] for name in patient.sample_ids if name in content})
        for patient in patients
    ]


def _of_files(inputs: Sequence[Path], segments: Sequence[str]) -> Patient:
    """Separate mutations from segments, which may be among the arguments, as with ``-c *.segments.txt``."""
    from pyclone_pgsm.inputs.mutations.kinds import MUTATIONS, kind_of
    from pyclone_pgsm.inputs.sample_sheet import patient_of_files
    from pyclone_pgsm.inputs.segments.purity import is_fit

    named = [_named(str(text)) for text in inputs]
    of_segments = [_named(text) for text in segments]
    for _, path in of_segments:
        if path in [other for _, other in named] and kind_of(path) != "segments":
            raise UsageError(
                f"{path}: given as mutations and as segments (-c); give the two as files of their own"
            )
    for sample, path in named:
        if (kind := kind_of(path)) == "segments" or (kind == "unknown" and is_fit(path)):
            of_segments.append((sample, path))  # or of the purity that a caller writes beside them
    of_mutations = [each for each in named if each not in of_segments]
    exchanged = [path for _, path in of_segments if kind_of(path) in MUTATIONS]
    if exchanged and not of_mutations:
        raise UsageError(
            f"no file of mutations given: {exchanged[0]} looks like one, but stands after --segments (-c)"
        )
    return patient_of_files(of_mutations, of_segments)


def _named(text: str) -> tuple[str | None, Path]:
    """Return sample and file of FILE or SAMPLE=FILE."""
    sample, file = split_sample(text)
    if sample is not None and not (sample and file):
        raise UsageError(f"{text!r}: INPUT and --segments must be FILE or SAMPLE=FILE")
    return sample, Path(file)


def read(tumour: Tumour, given: Mapping[str, Any]) -> Reading:
    """Read a tumour, from tables or from mutations with segments."""
    from pyclone_pgsm.analyses.reading import read_counts, read_joined
    from pyclone_pgsm.inputs.read_counts.tables import sources_of

    if tumour.patient is not None:
        return read_joined(join(tumour, tumour.patient, given), given["error_rate"])
    sources = sources_of(tumour.tables)
    return read_counts(sources, tumour.content, given["error_rate"], given["genotype_prior"])


def join(tumour: Tumour, patient: Patient, given: Mapping[str, Any]) -> Prepared:
    """Join the mutations and segments of one tumour."""
    from pyclone_pgsm.analyses.prepare import prepare

    with _options_named(given):
        return prepare(patient, replace(prepare_options(given), tumour_content=tumour.content))


def prepare_options(given: Mapping[str, Any]) -> PrepareOptions:
    """Return the options of a command for mutations and segments; UsageError if one is invalid."""
    from pyclone_pgsm.analyses.prepare import PrepareOptions

    return PrepareOptions(**{name: given[name] for name in READ_WITH}, genotype_prior=given["genotype_prior"])


def folder_for(
    inputs: Sequence[Path] | None, given: Mapping[str, Any], ending: str = "_pyclone_pgsm"
) -> Path:
    """Return the default output folder."""
    first = given["samples"] or (inputs[0] if inputs else Path("tumour"))
    if given["segments"] and not first.exists():
        first = Path(str(first).rpartition("=")[2])
    return default_folder(first, ending)


def each_tumour(
    inputs: Sequence[Path] | None,
    out: Path,
    work: Callable[[Tumour, Path], Path | None],
    given: Mapping[str, Any],
) -> None:
    """Do the work of a command for each of the `tumours`, in the folder ``out``, or for patients in subfolders of it.

    The work returns the path of a result whose chains have not converged, else None. An error in the files of one
    patient is printed, and the others are processed; the exit code is then 2. If convergence is required, the results
    that have not converged are named in any case.
    """
    found = tumours(inputs, given)
    apart: list[Path] = []
    failed = []
    for tumour in found:
        folder = out / tumour.name
        if tumour.name and not given.get("quiet"):
            print(f"patient {tumour.name}")
        try:
            with mistakes_reported(where=f"patient {tumour.name}" if tumour.name else None):
                not_converged = work(tumour, folder)
            if not_converged is not None:
                apart.append(not_converged)
        except typer.Exit as end:
            if end.exit_code != 2 or not tumour.name:
                raise
            failed.append(tumour.name)
    if failed:
        with suppress(typer.Exit):  # its code is less urgent than that of failed patients
            require_convergence(given, apart)
        fail(f"{len(failed)} of {len(found)} patients failed: {', '.join(failed)}")
    require_convergence(given, apart)
