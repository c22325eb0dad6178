"""Tables of mutation calls → mutations with read counts: MAF, and plain tables ``chrom pos [ref alt] sample_id ..``.

As in `pyclone_pgsm.inputs.read_counts.rows`, each distinct text of a column is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.inputs import values
from pyclone_pgsm.inputs.columns import Column, TextTable, read_columns
from pyclone_pgsm.inputs.genome import Build, harmonise_build
from pyclone_pgsm.inputs.mutations.model import (
    PASSING_FILTERS,
    FileVariants,
    VariantFile,
    VariantOptions,
    allele,
    chromosome,
    is_not_passed,
    mutation_ids,
    not_passed,
    why_no_mutation,
)
from pyclone_pgsm.inputs.mutations.naming import choose_samples, file_stem
from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.inputs.problems import FileProblems, input_error
from pyclone_pgsm.inputs.read_counts.layout import GENE_NAMES
from pyclone_pgsm.inputs.text import open_text

EXPECTED = "a VCF, a MAF, or a table with chrom, pos, ref, alt, sample_id, ref_counts and alt_counts"
_ALLELES = ("ref", "alt")


@dataclass(frozen=True)
class Layout:
    """A kind of table.

    Attributes
    ----------
    names : dict of str to tuple of str
        What each column is for, and the names it can have, in lower case; messages use the first.
    required : tuple of str
        What must be there.
    without_counts : str
        What to tell of a table that lacks the columns of counts.
    """

    names: Mapping[str, tuple[str, ...]]
    required: tuple[str, ...]
    without_counts: str

    def is_wanted(self, name: str) -> bool:
        """Whether a column of this name is read."""
        return any(name.lower() in names for names in self.names.values())


MAF = Layout(
    {
        "chrom": ("chromosome",),
        "pos": ("start_position",),
        "ref": ("reference_allele",),
        "alt": ("tumor_seq_allele2",),
        "other_alt": ("tumor_seq_allele1",),
        "sample_id": ("tumor_sample_barcode",),
        "ref_counts": ("t_ref_count",),
        "alt_counts": ("t_alt_count",),
        "gene": ("hugo_symbol",),
        "filter": ("filter",),
        "build": ("ncbi_build",),
    },
    ("chrom", "pos", "ref", "alt", "sample_id", "ref_counts", "alt_counts"),
    "a MAF without the reads of the two alleles cannot be used: a fraction alone does not tell them",
)
PLAIN = Layout(
    {
        "chrom": ("chrom", "chromosome", "chr"),
        "pos": ("pos", "position"),
        "ref": ("ref",),
        "alt": ("alt",),
        "sample_id": ("sample_id",),
        "ref_counts": ("ref_counts",),
        "alt_counts": ("alt_counts", "var_counts"),
        "gene": GENE_NAMES,
        "filter": ("filter",),
    },
    ("chrom", "pos", "ref_counts", "alt_counts"),
    "a table of mutations needs the reads of both alleles",
)

_POSITION = values.Whole(1, 10**11, "a position on a chromosome: a whole number, 1 or more")
_NO_COUNT = -1
_TYPES = {"chrom": "category", "sample_id": "category"} | dict.fromkeys(
    ("pos", "ref_counts", "alt_counts"), "int64"
)


def read_table(
    file: VariantFile, layout: Layout, options: VariantOptions, problems: FileProblems
) -> FileVariants:
    """Read one table, plain or compressed, separated by tabs, commas or semicolons.

    Parameters
    ----------
    file : VariantFile
        The file, and which samples to read. A table without a column of samples holds one, named after the file.
    layout : Layout
        The kind of table.
    options : VariantOptions
        What the user says of all files.
    problems : FileProblems
        Receives everything wrong.

    Raises
    ------
    InputError
        If nothing can be read from the file.
    """
    table = read_columns(open_text(file.path, problems, EXPECTED), layout.is_wanted, problems)
    cells = _Cells(table, layout, problems)
    cells.note_missing_columns()
    cells.note_empty_samples()
    if problems:
        raise input_error([problems])
    names = cells.distinct("sample_id") or [file_stem(file.path)]
    chosen = choose_samples(file, options, names, names, problems)
    if problems:
        raise input_error([problems])
    rows = _rows(cells, chosen, options.all_filters)
    if problems:
        raise input_error([problems])
    used = rows["why_not"] == ""
    if not used.any():
        raise problems.give_up(_why_nothing(rows), table.header_line)
    kept = rows[used].drop(columns="why_not").reset_index(drop=True)
    return FileVariants(
        table=kept.astype(_TYPES),
        left_out=_left_out(rows[~used], problems.file),
        names=names,
        build=_build(cells.distinct("build")),
        unfiltered=cells.has("filter")
        and all(text in PASSING_FILTERS - {"PASS"} for text in cells.distinct("filter")),
    )


class _Cells:
    """The columns of a table by what they are for."""

    def __init__(self, table: TextTable, layout: Layout, problems: FileProblems) -> None:
        self.lines = table.lines
        self._table, self._layout, self._problems = table, layout, problems
        self._columns: dict[str, tuple[str, Column]] = {}
        for role, names in layout.names.items():
            found = [name for each in names for name in table.columns if name.lower() == each]
            if found:
                self._columns[role] = found[0], table.columns[found[0]]

    def has(self, role: str) -> bool:
        """Whether there is such a column."""
        return role in self._columns

    def name(self, role: str) -> str:
        """What the file calls a column."""
        return self._columns[role][0]

    def note_missing_columns(self) -> None:
        """Note what the table must have and has not."""
        for role in self._layout.required:
            if role not in self._columns:
                message = "this column is missing"
                if role in ("ref_counts", "alt_counts"):
                    message += f"; {self._layout.without_counts}"
                self._problems.add(message, self._table.header_line, self._layout.names[role][0])
        if len(alleles := [role for role in _ALLELES if role not in self._columns]) == 1:
            message = "this column is missing; give both ref and alt, or none of them"
            self._problems.add(message, self._table.header_line, alleles[0])

    def note_empty_samples(self) -> None:
        """Note rows that do not tell their sample."""
        if self.has("sample_id"):
            self.checked("sample_id", _sample_name, np.ones(len(self.lines), dtype=bool))

    def distinct(self, role: str) -> list[str]:
        """The distinct texts of a column, none if it is not there."""
        return list(dict.fromkeys(self._columns[role][1].texts)) if role in self._columns else []

    def of_rows(self, role: str, read: Callable[[str], str], otherwise: str = "") -> NDArray[np.object_]:
        """(R,) what each row's text stands for; ``otherwise`` in every row if there is no such column."""
        if role not in self._columns:
            return np.full(len(self.lines), otherwise, dtype=object)
        column = self._columns[role][1]
        return np.array([read(text) for text in column.texts], dtype=object)[column.codes]

    def checked(self, role: str, read: Callable[[str], Any], matters: NDArray[np.bool_]) -> NDArray:
        """(R,) what each row's text stands for; those that cannot be read are noted in the rows that matter."""
        name, column = self._columns[role]
        found, faults = [], {}
        for place, text in enumerate(column.texts):
            try:
                found.append(read(text))
            except ValueError as fault:
                faults[place] = str(fault)
                found.append(text)
        is_faulty = np.zeros(len(column.texts), dtype=bool)
        is_faulty[list(faults)] = True
        rows = np.flatnonzero(is_faulty[column.codes] & matters).tolist()
        for row in self._problems.keep_first(rows):
            place = column.codes[row]
            self._problems.add(faults[place], int(self.lines[row]), name, column.texts[place])
        return np.array(found, dtype=object)[column.codes]


def _sample_name(text: str) -> str:
    if not text:
        raise ValueError("empty; every row needs the name of a sample")
    return text


def _count(text: str) -> int:
    return _NO_COUNT if text.lower() in values.NO_VALUE else values.READS(text)


def _why_filtered(text: str) -> str:
    failed = [name for name in text.replace(",", ";").split(";") if name.strip() not in PASSING_FILTERS]
    return not_passed(failed) if failed else ""


def _rows(cells: _Cells, chosen: Mapping[str, str], all_filters: bool) -> pd.DataFrame:
    """The rows of the chosen samples, and for each why it is not used, "" if it is."""
    only = next(iter(chosen.values()))
    sample_ids = cells.of_rows("sample_id", lambda name: chosen.get(name, ""), only)
    why_not = cells.of_rows("filter", lambda text: "" if all_filters else _why_filtered(text))
    matters = (sample_ids != "") & (why_not == "")
    has_alleles = cells.has("ref")
    nothing = np.full(len(cells.lines), "", dtype=object)
    ref = cells.checked("ref", allele, matters) if has_alleles else nothing
    alt = cells.checked("alt", allele, matters) if has_alleles else nothing
    if cells.has("other_alt"):
        alt = np.where(alt == ref, cells.checked("other_alt", allele, matters & (alt == ref)), alt)
    ref_counts = cells.checked("ref_counts", _count, matters)
    alt_counts = cells.checked("alt_counts", _count, matters)
    reasons = [
        why_not,
        np.where(ref_counts == _NO_COUNT, f"{cells.name('ref_counts')} has no value", ""),
        np.where(alt_counts == _NO_COUNT, f"{cells.name('alt_counts')} has no value", ""),
        _why_no_mutation(ref, alt) if has_alleles else nothing,
    ]
    rows = pd.DataFrame(
        {
            "row": cells.lines,
            "chrom": cells.checked("chrom", chromosome, matters),
            "pos": cells.checked("pos", _POSITION, matters),
            "ref": ref,
            "alt": alt,
            "gene": cells.of_rows("gene", lambda text: " ".join(text.split())),
            "sample_id": sample_ids,
            "ref_counts": ref_counts,
            "alt_counts": alt_counts,
            "why_not": [str(next(filter(None, whys), "")) for whys in zip(*reasons)],
        }
    )
    return rows[sample_ids != ""]


def _why_no_mutation(ref: NDArray[np.object_], alt: NDArray[np.object_]) -> list[str]:
    why = {pair: why_no_mutation(*pair) for pair in set(zip(ref, alt))}
    return [why[pair] for pair in zip(ref, alt)]


def _left_out(rows: pd.DataFrame, file: str) -> list[LeftOut]:
    names = mutation_ids(rows)
    fields = zip(rows["row"].tolist(), names, rows["sample_id"].tolist(), rows["why_not"].tolist())
    return [LeftOut(file, *each) for each in fields]


def _why_nothing(rows: pd.DataFrame) -> str:
    text = f"none of the {len(rows)} rows can be used"
    is_filtered = rows["why_not"].map(is_not_passed)
    if is_filtered.any():
        text += f"; {is_filtered.sum()} did not pass the filters (--all-filters takes them)"
    for other in rows[~is_filtered].itertuples():
        return f"{text}; row {other.row}: {other.why_not}"
    return text


def _build(names: list[str]) -> Build | None:
    builds = {harmonise_build(name) for name in names} - {None}
    return builds.pop() if len(builds) == 1 else None
