"""Reader of VCF files, plain or compressed with gzip or bgzip: mutations with read counts.

Only the columns #CHROM, POS, REF, ALT, FILTER and FORMAT of each record are read, those of the chosen samples, and the
somatic status and the read counts in INFO, if any. Files without sample columns hold one sample, whose reads are in
INFO. Multi-allelic records are split. Records that failed a filter, are not somatic or lack something (symbolic
alleles, missing counts) are left out with the reason. Invalid values (a position that is not a number, a count below 0)
are errors.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pyclone_pgsm.inputs.genome import chromosome, harmonise_chromosome
from pyclone_pgsm.inputs.mutations.counts import DP4, IN_INFO, FaultError, UncountedError, in_format, in_info
from pyclone_pgsm.inputs.mutations.model import COLUMNS as MUTATION_COLUMNS
from pyclone_pgsm.inputs.mutations.model import (
    NOT_SOMATIC,
    TYPES,
    VariantFile,
    Variants,
    allele,
    mutation_id,
    not_passed,
    not_somatic,
    trimmed,
    why_no_mutation,
    why_nothing,
)
from pyclone_pgsm.inputs.mutations.naming import choose_samples
from pyclone_pgsm.inputs.mutations.vcf_header import (
    COLUMNS,
    FIXED,
    NO_TEXT,
    WITHOUT_SAMPLES,
    Header,
    column_names,
    read_header,
)
from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.inputs.problems import FileProblems, count
from pyclone_pgsm.inputs.text import file_stem, open_lines
from pyclone_pgsm.inputs.values import LARGEST_POSITION

_MISSING = "."
_UNKNOWN_ALLELE = "the alternate allele N is unknown"
_NO_NAME = re.compile(r"[\s,]")
_POSITION = re.compile(r"[0-9]{1,18}")
_NO_POSITION = "no position; expected a whole number, 1 or more"
_GENOTYPE = re.compile(r"[0-9.]*([/|][0-9.]*)*")
_COUNTS_IN_INFO = re.compile(rf"(?<![^;])({'|'.join((*IN_INFO, DP4))})=([^;]*)")

_STATUS = re.compile(r"(?<![^;])(SS|STATUS|GermlineStatus)=([^;]*)")
_GERMLINE_OF_OCTOPUS = not_somatic("the call of Octopus", "germline (no SOMATIC in INFO)")

_BGZIP = re.compile(rb"\x1f\x8b\x08\x04.{8}BC", re.DOTALL)
_BGZIP_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def read_vcf(
    file: VariantFile, tumour_samples: Sequence[str], all_filters: bool, problems: FileProblems
) -> Variants:
    """Read one VCF."""
    with open_lines(file.path, problems) as text:
        lines = ((number, line.rstrip("\n")) for number, line in enumerate(text, start=1))
        header = read_header(lines, problems)
        _note_cut_short(file.path, problems)
        names = header.samples or [file_stem(file.path)]
        declared = header.tumours if header.samples else names
        chosen, renamed, warnings = choose_samples(
            file, tumour_samples, names, declared, problems, header.normals
        )
        collected = _Collected(header, names, chosen, all_filters, problems)
        for number, fields in _records(lines, header, problems):
            collected.add(number, fields)
    table = collected.table()
    if not len(table) and not problems:
        message = why_nothing(collected.num_read, "records", collected.left_out)
        if not header.samples and not collected.any_in_info:
            of_header = f"{COLUMNS}; this one" if len(header.columns) == len(WITHOUT_SAMPLES) else "this VCF"
            message = f"{of_header} has no samples, so it has no read counts; nor has INFO of any record, as "
            message += f"{' and '.join(IN_INFO)}, or {DP4}"
        raise problems.give_up(message, header.line)
    return Variants(
        table=table,
        left_out=collected.left_out,
        builds={problems.file: header.build} if header.build else {},
        unfiltered=[] if collected.any_filter else [problems.file],
        names=header.samples,
        renamed=renamed if header.samples else [],
        warnings=warnings,
    )


def _note_cut_short(path: Path, problems: FileProblems) -> None:
    """Note a file compressed with bgzip that lacks the block at the end of all such files."""
    with path.open("rb") as file:
        if _BGZIP.match(file.read(14)):
            file.seek(-min(file.seek(0, os.SEEK_END), len(_BGZIP_END)), os.SEEK_END)
            if file.read() != _BGZIP_END:
                problems.add(
                    "the mark that bgzip puts at the end is missing: the file is cut short. If it is not, unpack it "
                    "and pack it again with bgzip"
                )


def _records(
    lines: Iterator[tuple[int, str]], header: Header, problems: FileProblems
) -> Iterator[tuple[int, list[str]]]:
    """Yield line and fields of each record that has as many columns as the header; note the others."""
    width = len(header.columns)
    for number, line in lines:
        fields = line.split("\t")
        if len(fields) > width:
            fields = line.rstrip("\t").split("\t")
        if line.startswith("#"):
            if line.startswith("#CHROM\t") and column_names(line)[len(FIXED) :] != header.samples:
                message = "a second header, with other samples: were two files put together? Give them apart"
                problems.add(message, number)
                return
        elif "\0" in line:
            problems.add("a byte of value 0 here: the file is damaged", number, kind="line")
        elif len(fields) == width:
            yield number, fields
        elif line.strip():
            message = f"{count(len(fields), 'column')} found, {width} expected as in the line with the names"
            problems.add(message, number, kind="line")


class _Record(NamedTuple):
    """The used parts of one record, as texts; a dot gives no alternate alleles, or no filters."""

    row: int
    chrom: str
    pos: int
    ref: str
    alts: list[str]
    filters: list[str]
    info: dict[str, str]
    """The fields `IN_INFO`, if INFO has both, and `DP4`, if the file has one sample."""
    status: str
    """Why the record is not somatic according to INFO; "" if it may be."""
    formats: tuple[str, ...]
    samples: list[list[str]]
    """Texts of the ``formats`` in each of the chosen samples; the last ones may be missing."""


def _record(row: int, fields: Sequence[str], header: Header, places: Sequence[int]) -> _Record:
    """Parse one record, with the samples at the given places."""
    chrom, pos, _, ref, alts, _, filters, info = fields[: len(WITHOUT_SAMPLES)]
    formats = fields[len(WITHOUT_SAMPLES)] if len(fields) > len(WITHOUT_SAMPLES) else _MISSING
    for name, text in zip(("#CHROM", "REF", "ALT", "FILTER", "FORMAT"), (chrom, ref, alts, filters, formats)):
        if NO_TEXT in text:
            raise FaultError(text, "not UTF-8", name)
    if not chrom or _NO_NAME.search(chrom):
        raise FaultError(chrom, "no name; expected a chromosome, such as 1, chr1 or X", "#CHROM")
    if not _POSITION.fullmatch(pos):
        raise FaultError(pos, _NO_POSITION, "POS")
    keys = _format_keys(formats)
    samples = [_sample(fields[len(FIXED) + place], keys, header.samples[place]) for place in places]
    whys = [_why_not_somatic(name, value, header) for name, value in _STATUS.findall(info)]
    if header.marks_somatic and "SOMATIC" not in info.split(";"):
        whys.append(_GERMLINE_OF_OCTOPUS)
    if header.germline_flags:
        whys += [not_somatic("INFO", flag) for flag in info.split(";") if flag in header.germline_flags]
    counts = dict(_COUNTS_IN_INFO.findall(info))
    if len(header.samples) > 1:
        counts.pop(DP4, None)  # the reads of all samples together
    return _Record(
        row,
        chrom,
        int(pos),
        ref or _MISSING,
        [] if alts in ("", _MISSING) else [alt or _MISSING for alt in alts.split(",")],
        [] if filters in ("", _MISSING) else filters.split(";"),
        counts if DP4 in counts or len(counts) == len(IN_INFO) else {},
        next(filter(None, whys), ""),
        () if formats in ("", _MISSING) else keys,
        samples,
    )


def _why_not_somatic(name: str, value: str, header: Header) -> str:
    """Return why a field of INFO, or SS of a sample, says that a mutation is not somatic; "" if it does not."""
    if name == "SS" and value in header.not_somatic:
        return not_somatic(name, f"{value} ({header.not_somatic[value]})")
    if name != "SS" and NOT_SOMATIC.search(value):
        return not_somatic(name, value)
    return ""


@lru_cache(maxsize=1024)
def _format_keys(formats: str) -> tuple[str, ...]:
    keys = tuple(formats.split(":"))
    if len(set(keys)) < len(keys):
        raise FaultError(formats, "a field stands here twice", "FORMAT")
    return keys


def _sample(text: str, keys: Sequence[str], column: str) -> list[str]:
    parts = text.split(":")
    if len(parts) > len(keys):
        message = f"{len(parts)} values found, {len(keys)} expected for the FORMAT {':'.join(keys)}"
        raise FaultError(text, message, column)
    if keys[0] == "GT" and not _GENOTYPE.fullmatch(parts[0]):
        raise FaultError(parts[0], "no genotype; expected one such as 0/1", column)
    if not text:
        raise FaultError(text, "empty; expected values separated by colons, or a dot", column)
    return parts


class _Collected:
    """Mutations and left-out items of the records read so far.

    ``any_filter`` and ``any_in_info`` say whether any record has filter results, or reads of the tumour in INFO.
    """

    def __init__(
        self,
        header: Header,
        names: Sequence[str],
        chosen: dict[str, str],
        all_filters: bool,
        problems: FileProblems,
    ) -> None:
        self.left_out: list[LeftOut] = []
        self.any_filter = self.any_in_info = False
        self._chosen = {name: chosen[name] for name in names if name in chosen}
        self._header = header
        self._places = [place for place, name in enumerate(header.samples) if name in chosen]
        # INFO does not name its sample: there must be one tumour, and at most a normal sample beside it
        self._info_is_of_sample = len(chosen) == 1 and len(names) <= 2
        self._all_filters, self._problems = all_filters, problems
        self.num_read = 0
        self._rows: list[tuple[Any, ...]] = []

    def add(self, row: int, fields: Sequence[str]) -> None:
        """Add one record, given its columns."""
        self.num_read += 1
        try:
            self._take(_record(row, fields, self._header, self._places))
        except FaultError as fault:
            self._note(row, fault)

    def _take(self, record: _Record) -> None:
        self.any_in_info |= bool(record.info) and self._info_is_of_sample
        self.any_filter |= bool(record.filters)
        try:
            self._raise_first(not_passed(record.filters), record.status)
            chrom = _checked(chromosome, record.chrom, "#CHROM")
            ref = _checked(allele, record.ref, "REF")
            alts = [_checked(allele, text, "ALT") for text in record.alts]
            if not alts:
                raise UncountedError("there is no alternate allele")
        except UncountedError as why:
            self._leave_out(record, str(why), ",".join(record.alts) or _MISSING)
            return
        why_not = [why_no_mutation(ref, alt) or _UNKNOWN_ALLELE * (not alt.strip("N")) for alt in alts]
        for alt, reason in zip(alts, why_not):
            if reason:
                self._leave_out(record, reason, alt)
        if all(why_not):
            return
        if record.pos < 1:
            raise FaultError(str(record.pos), _NO_POSITION, "POS")
        if record.pos > LARGEST_POSITION:
            message = f"too large, above {LARGEST_POSITION}; expected a position on a chromosome"
            raise FaultError(str(record.pos), message, "POS")
        for place, (name, sample_id) in enumerate(self._chosen.items()):
            try:
                ref_counts, alt_counts = self._counts(record, place, ref, alts)
            except UncountedError as why:
                self._leave_out(record, str(why), ",".join(alts), sample_id)
                continue
            except FaultError as fault:
                self._note(record.row, fault, name)
                continue
            lost = sum(reads for reads, reason in zip(alt_counts, why_not) if reason)
            for alt, reads, reason in zip(alts, alt_counts, why_not):
                if not reason:
                    at = record.row, chrom, *trimmed(record.pos, ref, alt)
                    self._rows.append((self._problems.file, *at, "", sample_id, ref_counts, reads, lost))

    def _counts(self, record: _Record, place: int, ref: str, alts: Sequence[str]) -> tuple[int, list[int]]:
        """Return the reads of the reference and of each alternate allele, from FORMAT or else from INFO."""
        fields = dict(zip(record.formats, record.samples[place])) if record.samples else {}
        filters = fields.get("FT", _MISSING)
        self.any_filter |= filters != _MISSING
        self._raise_first(
            not_passed(filters.split(";"), "FT"), _why_not_somatic("SS", fields.get("SS", ""), self._header)
        )
        try:
            return in_format(record.formats, ref, alts, fields)
        except UncountedError:
            if not (record.info and self._info_is_of_sample):
                raise
            return in_info(ref, alts, record.info)

    def _raise_first(self, *reasons: str) -> None:
        """Raise UncountedError by the first reason that is not "", unless all filters are taken."""
        if not self._all_filters and (reason := next(filter(None, reasons), "")):
            raise UncountedError(reason)

    def _leave_out(self, record: _Record, reason: str, alt: str, sample_id: str = "") -> None:
        if not sample_id and len(self._chosen) == 1:
            [sample_id] = self._chosen.values()
        name = mutation_id(harmonise_chromosome(record.chrom), record.pos, record.ref, alt)
        self.left_out.append(LeftOut(self._problems.file, record.row, name, sample_id, reason))

    def _note(self, row: int, fault: FaultError, column: str = "") -> None:
        self._problems.add(str(fault), row, fault.column or column, fault.value, kind="value")

    def table(self) -> pd.DataFrame:
        """Return the mutations, as `Variants.table`."""
        types = TYPES | {"sample_id": pd.CategoricalDtype(list(self._chosen.values()))}
        return pd.DataFrame(self._rows, columns=list(MUTATION_COLUMNS)).astype(types)


def _checked(read: Callable[[str], str], text: str, column: str) -> str:
    try:
        return read(text)
    except ValueError as fault:
        raise FaultError(text, str(fault), column) from None
