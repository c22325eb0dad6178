"""VCF → mutations with read counts.

Files without columns of samples hold one sample, whose reads INFO tells. Multi-allelic records are split. What a record
does not tell (symbolic alleles, counts that are missing) is left out with the reason, and so is what a filter took
exception to; what no VCF may have (a position that is no number, a count below 0) is an error.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.genome import harmonise_chromosome
from pyclone_pgsm.inputs.mutations.counts import (
    IN_INFO,
    FaultError,
    Scheme,
    UncountedError,
    in_info,
    scheme_of,
)
from pyclone_pgsm.inputs.mutations.model import (
    PASSING_FILTERS,
    FileVariants,
    VariantFile,
    VariantOptions,
    allele,
    chromosome,
    is_not_passed,
    mutation_id,
    not_passed,
    why_no_mutation,
)
from pyclone_pgsm.inputs.mutations.naming import choose_samples, file_stem
from pyclone_pgsm.inputs.mutations.vcf_lines import (
    DAMAGE,
    FIXED,
    WITHOUT_SAMPLES,
    Feed,
    Header,
    decoded,
    fault_in,
    note_cut_short,
    numbered_lines,
    read_header,
)
from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.inputs.problems import LISTED, FileProblems, input_error

Record = Any
"""A ``pysam.VariantRecord``."""

_POSITION = re.compile(r"[0-9]{1,18}")
_NO_POSITION = "no position; expected a whole number, 1 or more"
_GENOTYPE = re.compile(r"[0-9.]*([/|][0-9.]*)*")


def read_vcf(file: VariantFile, options: VariantOptions, problems: FileProblems) -> FileVariants:
    """Read one VCF, plain or compressed.

    Parameters
    ----------
    file : VariantFile
        The file, and which samples to read.
    options : VariantOptions
        What the user says of all files.
    problems : FileProblems
        Receives everything wrong.

    Raises
    ------
    InputError
        If nothing can be read from the file.
    UsageError
        If pysam is not installed.
    """
    library = _library()
    lines = numbered_lines(file.path)
    try:
        header = read_header(lines, problems)
        note_cut_short(file.path, problems)
    except DAMAGE as problem:
        raise problems.give_up(fault_in(problem)) from None
    names = header.samples or [file_stem(file.path)]
    chosen = choose_samples(file, options, names, header.tumours, problems)
    if problems:
        raise input_error([problems])
    collected = _Collected(names, chosen, options.all_filters, problems)
    with _fed(library, lines, header) as (feed, source):
        source.subset_samples([f"s{place}" for place in collected.places])
        _collect(source, feed, collected)
    _note_lines(feed, header, problems)
    if collected.num_read != len(feed.rows):
        problems.add(
            "the records below cannot be told apart", feed.rows[min(collected.num_read, len(feed.rows)) - 1]
        )
    _note_unreadable(file.path, collected.unreadable, header, problems)
    if not len(collected) and not problems:
        no_counts = not header.samples and not collected.any_in_info
        raise problems.give_up(_no_samples(header) if no_counts else collected.why_nothing(), header.line)
    return FileVariants(
        table=collected.table(),
        left_out=collected.left_out,
        names=names,
        build=header.build,
        unfiltered=not collected.any_filter,
    )


def _no_samples(header: Header) -> str:
    message = "this VCF has no samples, so it has no read counts"
    if header.width == len(WITHOUT_SAMPLES):
        columns = f"the columns of a VCF are {', '.join(FIXED)} and the samples, separated by tabs"
        message = f"{columns}; this one has no samples, so it has no read counts"
    return f"{message}; nor has INFO of any record, as {' and '.join(IN_INFO)}"


def _library() -> ModuleType:
    try:
        import pysam
    except ImportError:
        raise UsageError(
            "reading VCF files needs pysam, which is not installed: pip install 'pyclone-pgsm[vcf]'"
        ) from None
    return pysam


@contextmanager
def _fed(library: ModuleType, lines: Iterator[tuple[int, str]], header: Header) -> Iterator[tuple[Feed, Any]]:
    """The thread that writes records into a pipe, and the library's reader of it. The thread has ended afterwards."""
    verbosity = library.set_verbosity(0)
    outlet, inlet = os.pipe()
    feed = Feed(lines, header, inlet)
    feed.start()
    try:
        with os.fdopen(outlet, "rb") as pipe, library.VariantFile(pipe) as source:
            yield feed, source
    finally:
        feed.join()
        library.set_verbosity(verbosity)


def _collect(source: Any, feed: Feed, collected: _Collected) -> None:
    """Take all records that the library reads; the place of each in the pipe tells its line."""
    for record in _records(source):
        if collected.num_read == len(feed.rows):
            return  # the library gives more than it got; read_vcf tells
        row = feed.rows[collected.num_read]
        collected.num_read += 1
        if record is None:
            collected.unreadable.append(row)
            continue
        try:
            collected.add(row, record)
        except UnicodeDecodeError:
            collected.unreadable.append(row)


def _records(source: Any) -> Iterator[Record | None]:
    """Each record, or None for one that the library cannot read."""
    while True:
        try:
            record = next(source)
        except StopIteration:
            return
        except Exception:  # the library promises no kind
            record = None
        yield record


class _Collected:
    """What was read from the records so far."""

    def __init__(
        self, names: Sequence[str], chosen: dict[str, str], all_filters: bool, problems: FileProblems
    ) -> None:
        self.places = [place for place, name in enumerate(names) if name in chosen]
        self.left_out: list[LeftOut] = []
        self.unreadable: list[int] = []
        self.any_filter = self.any_in_info = False
        # INFO does not say of which tumour it tells: there must be one, and at most a normal sample beside it
        self._info_is_of_sample = len(self.places) == 1 and len(names) <= 2
        self._names = [names[place] for place in self.places]
        self._sample_ids = [chosen[name] for name in self._names]
        self._all_filters, self._problems = all_filters, problems
        self.num_read = 0
        self._num_filtered = self._num_faults = 0
        self._chroms: list[str] = []
        self._refs: list[str] = []
        self._alts: list[str] = []
        self._rows, self._pos, self._samples = array("q"), array("q"), array("q")
        self._ref_counts, self._alt_counts = array("q"), array("q")

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: int, record: Record) -> None:
        """Take one record."""
        has_info = self._info_is_of_sample and all(name in record.info for name in IN_INFO)
        self.any_in_info |= has_info
        try:
            self._check_filter(record)
            chrom, ref, alts = _alleles(record)
            scheme = scheme_of(tuple(record.format.keys()))
        except UncountedError as why:
            self._leave_out(row, record, str(why), ",".join(record.alts or "."))
            return
        except FaultError as fault:
            self._note(row, fault, fault.column)
            return
        usable = [self._is_mutation(row, record, ref, alt) for alt in alts]
        if not any(usable):
            return
        if record.pos < 1:
            self._note(row, FaultError(str(record.pos), _NO_POSITION, "POS"), "POS")
            return
        for place, name in enumerate(self._names):
            try:
                counts = _counts(record, place, ref, alts, scheme, has_info)
            except UncountedError as why:
                self._leave_out(row, record, str(why), ",".join(alts), self._sample_ids[place])
                continue
            except FaultError as fault:
                self._note(row, fault, fault.column or name)
                continue
            for alt, (ref_count, alt_count), use in zip(alts, counts, usable):
                if use:
                    self._rows.append(row)
                    self._chroms.append(chrom)
                    self._pos.append(record.pos)
                    self._refs.append(ref)
                    self._alts.append(alt)
                    self._samples.append(place)
                    self._ref_counts.append(ref_count)
                    self._alt_counts.append(alt_count)

    def _check_filter(self, record: Record) -> None:
        filters = record.filter.keys()
        if filters:
            self.any_filter = True
            failed = [name for name in filters if name not in PASSING_FILTERS]
            if failed and not self._all_filters:
                self._num_filtered += 1
                raise UncountedError(not_passed(failed))

    def _is_mutation(self, row: int, record: Record, ref: str, alt: str) -> bool:
        why_not = why_no_mutation(ref, alt)
        if why_not:
            self._leave_out(row, record, why_not, alt)
        return not why_not

    def _leave_out(self, row: int, record: Record, reason: str, alt: str, sample_id: str = "") -> None:
        if not sample_id and len(self._sample_ids) == 1:
            sample_id = self._sample_ids[0]
        name = mutation_id(harmonise_chromosome(record.chrom), record.pos, record.ref, alt)
        self.left_out.append(LeftOut(self._problems.file, row, name, sample_id, reason))

    def _note(self, row: int, fault: FaultError, column: str) -> None:
        if self._num_faults < LISTED:
            self._problems.add(str(fault), row, column, fault.value)
        else:
            self._problems.unlisted += 1
        self._num_faults += 1

    def why_nothing(self) -> str:
        """Why no record gave a mutation."""
        if not self.num_read:
            return "there are no records below the header"
        text = f"none of the {self.num_read} records can be used"
        if self._num_filtered:
            text += f"; {self._num_filtered} did not pass the filters (--all-filters takes them)"
        other = next((item for item in self.left_out if not is_not_passed(item.reason)), None)
        return text if other is None else f"{text}; row {other.row}: {other.reason}"

    def table(self) -> pd.DataFrame:
        """The mutations, as `FileVariants.table`."""
        names = pd.Index(self._sample_ids)
        return pd.DataFrame(
            {
                "row": np.array(self._rows, np.int64),
                "chrom": pd.Categorical(self._chroms),
                "pos": np.array(self._pos, np.int64),
                "ref": self._refs,
                "alt": self._alts,
                "gene": "",
                "sample_id": pd.Categorical.from_codes(np.array(self._samples, np.int64), names),
                "ref_counts": np.array(self._ref_counts, np.int64),
                "alt_counts": np.array(self._alt_counts, np.int64),
            }
        )


def _counts(
    record: Record, place: int, ref: str, alts: Sequence[str], scheme: Scheme, has_info: bool
) -> list[tuple[int, int]]:
    """The reads in one sample: as FORMAT tells them, else INFO."""
    try:
        return scheme(ref, alts, partial(_values, record.samples[place]))
    except UncountedError:
        if not has_info:
            raise
        return in_info(ref, alts, partial(_values, record.info))


def _alleles(record: Record) -> tuple[str, str, list[str]]:
    """Chromosome, reference and alternate alleles of a record."""
    chrom = _checked(chromosome, record.chrom, "#CHROM")
    ref = _checked(allele, record.ref, "REF")
    alts = [_checked(allele, text, "ALT") for text in record.alts or ()]
    if not alts:
        raise UncountedError("there is no alternate allele")
    return chrom, ref, alts


def _checked(read: Callable[[str], str], text: str, column: str) -> str:
    try:
        return read(text)
    except ValueError as fault:
        raise FaultError(text, str(fault), column) from None


def _values(fields: Any, name: str) -> Sequence[str | None]:
    """The texts of a field of INFO, or of FORMAT in one sample; none if it is not there."""
    value = fields.get(name)
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value


def _note_lines(feed: Feed, header: Header, problems: FileProblems) -> None:
    """Note what the thread found wrong with lines."""
    if feed.damage is not None:
        raise problems.give_up(fault_in(feed.damage))
    for place in problems.keep_first(range(len(feed.faults))):
        row, message = feed.faults[place]
        problems.add(message, row)
    if feed.second_header is not None:
        problems.add(
            "a second header, with other samples: were two files put together? Give them apart",
            feed.second_header,
        )


def _note_unreadable(path: Path, rows: Sequence[int], header: Header, problems: FileProblems) -> None:
    """Look up the records that could not be read, and note what is wrong with them."""
    wanted = set(problems.keep_first(rows))
    if not wanted:
        return
    names = [*FIXED, *header.samples]
    for row, line in numbered_lines(path):
        if row in wanted:
            column, value, message = _fault_of(line, names)
            problems.add(message, row, column, value)
            if row == max(wanted):
                return


def _fault_of(line: str, names: Sequence[str]) -> tuple[str | None, str | None, str]:
    """Column, text and message of what is wrong with a record that has the right number of columns."""
    fields = [decoded(field) for field in line.split("\t")[: len(names)]]
    for name, field in zip(names, fields):
        if "\ufffd" in field:
            return name, field, "not UTF-8"
    chrom, pos, formats = fields[0], fields[1], "".join(fields[len(WITHOUT_SAMPLES) : len(FIXED)])
    if not chrom or re.search(r"[\s,]", chrom):
        return "#CHROM", chrom, "no name; expected a chromosome, such as 1, chr1 or X"
    if not _POSITION.fullmatch(pos):
        return "POS", pos, _NO_POSITION
    keys = formats.split(":")
    if len(set(keys)) < len(keys):
        return "FORMAT", formats, "a field stands here twice"
    for name, field in zip(names[len(FIXED) :], fields[len(FIXED) :]):
        parts = field.split(":")
        if len(parts) > len(keys):
            return name, field, f"{len(parts)} values found, {len(keys)} expected for the FORMAT {formats}"
        if keys[0] == "GT" and not _GENOTYPE.fullmatch(parts[0]):
            return name, parts[0], "no genotype; expected one such as 0/1"
        if not field:
            return name, field, "empty; expected values separated by colons, or a dot"
    return None, None, "the record cannot be read as VCF"
