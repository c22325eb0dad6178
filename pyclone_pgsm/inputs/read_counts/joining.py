"""Combines the rows of all files of one tumour into `Observations`, and lists what was left out and why.

Ids are numbered across all files in order of first appearance, no (mutation, sample) may occur twice, and the rows are
arranged as T × D arrays.
"""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.errors import InputError, Problem
from pyclone_pgsm.inputs.columns import Column
from pyclone_pgsm.inputs.observations import PRIORS_WITHOUT_COPY_NUMBERS, SUBCLONAL, LeftOut, Observations
from pyclone_pgsm.inputs.problems import FileProblems, count, raise_any
from pyclone_pgsm.inputs.read_counts.rows import DEFAULT_ERROR_RATE, DEFAULT_TUMOUR_CONTENT, Rows

_MOST_CELLS = 2**26
_MOST_CELLS_PER_ROW = 20
"""If there are more pairs of mutation and sample than the larger of these limits, the ids are not those of one
tumour."""

_SHOWN_CONTENTS = 3

_WITHOUT_DATA = {
    "ref_counts": 0,
    "alt_counts": 0,
    "major_cn": 1,
    "minor_cn": 1,
    "normal_cn": 2,
    "tumour_content": DEFAULT_TUMOUR_CONTENT,
    "error_rate": DEFAULT_ERROR_RATE,
    **dict.fromkeys(SUBCLONAL, 0),
}
"""Arrays of the observations, with their values where a mutation has no row in a sample."""


def lay_out(
    files: Sequence[Rows], found: Sequence[FileProblems], genotype_prior: str
) -> tuple[Observations, list[LeftOut]]:
    """Combine the rows of the files that could be read; return what `pyclone_pgsm.read_tables` returns.

    ``found`` are the problems of all files given; second rows for a mutation and sample are noted there.
    """
    if not files:
        raise_any(*found)
    joined = _Joined(files)
    if joined.num_cells > max(_MOST_CELLS, _MOST_CELLS_PER_ROW * len(joined.lines)):
        found[0].add(
            f"{len(joined.mutation_ids):,} mutations and {len(joined.sample_ids):,} samples in only "
            f"{len(joined.lines):,} rows: is the right column named sample_id, and are they of one tumour?"
        )
    else:
        _note_duplicates(joined, found)
    raise_any(*found)
    return _arrays(joined, genotype_prior)


class _Joined:
    """The R rows of all files, with ids numbered across them.

    ``num_cells`` is T × D, and ``cell`` (R,) the index of each row among these cells.
    """

    def __init__(self, files: Sequence[Rows]) -> None:
        self.files = files
        self.mutation_ids, self.mutation = _numbered_ids([rows.mutations for rows in files])
        self.sample_ids, self.sample = _numbered_ids([rows.samples for rows in files])
        self.file = np.repeat(np.arange(len(files)), [len(rows.lines) for rows in files])
        self.lines = np.concatenate([rows.lines for rows in files])
        self.num_cells = len(self.mutation_ids) * len(self.sample_ids)
        self.cell = self.mutation * len(self.sample_ids) + self.sample

    def numbers(self, name: str) -> NDArray:
        """Return (R,) values of one column."""
        return np.concatenate([rows.numbers[name] for rows in self.files])

    def file_of(self, row: int) -> Rows:
        """Return the file that a row comes from."""
        return self.files[self.file[row]]

    def spread(self, of_rows: NDArray, otherwise: float) -> NDArray:
        """Return (T, D) values of the rows, ``otherwise`` where there is no row."""
        table = np.full(self.num_cells, otherwise, dtype=of_rows.dtype)
        table[self.cell] = of_rows
        return table.reshape(len(self.mutation_ids), len(self.sample_ids))

    def left_out(self, row: int, mutation_id: str, sample_id: str, reason: str) -> LeftOut:
        """Return an entry for what is left out, located at a row."""
        return LeftOut(self.file_of(row).file, int(self.lines[row]), mutation_id, sample_id, reason)


def _numbered_ids(columns: Sequence[Column]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct ids in order of first appearance, and the number of each row's id."""
    number_of: dict[str, int] = {}
    numbers = []
    for column in columns:
        numbers.append(column.map(lambda text: number_of.setdefault(text, len(number_of)), np.int64))
    return list(number_of), np.concatenate(numbers)


def _first_rows(keys: NDArray[np.int64], num_keys: int) -> NDArray[np.int64]:
    """Return (num_keys,) the first row with each key 0..num_keys-1; -1 where there is none."""
    first = np.full(num_keys, -1, dtype=np.int64)
    first[keys[::-1]] = np.arange(len(keys))[::-1]
    return first


def _note_duplicates(joined: _Joined, found: Sequence[FileProblems]) -> None:
    first = _first_rows(joined.cell, joined.num_cells)[joined.cell]
    has_ids = (
        np.array(joined.mutation_ids, bool)[joined.mutation]
        & np.array(joined.sample_ids, bool)[joined.sample]
    )
    problems_of = {problems.file: problems for problems in reversed(found)}
    repeated = (first != np.arange(len(first))) & has_ids
    for place, rows in enumerate(joined.files):
        problems = problems_of[rows.file]
        for row in problems.keep_first(np.flatnonzero(repeated & (joined.file == place)).tolist()):
            before = joined.file_of(first[row])
            where = f"row {joined.lines[first[row]]}" + (f" of {before.file}" if before is not rows else "")
            sample = joined.sample_ids[joined.sample[row]]
            message = f"a second row for this mutation in sample {sample!r}; the first is {where}. Keep one"
            if rows.named_after_file and before is rows:
                message += " (a table of several samples needs a column sample_id)"
            mutation = joined.mutation_ids[joined.mutation[row]]
            problems.add(message, int(joined.lines[row]), "mutation_id", mutation)


def _arrays(joined: _Joined, genotype_prior: str) -> tuple[Observations, list[LeftOut]]:
    """Return T × D arrays of the rows, without the mutations that have no data in any sample."""
    has_reads = joined.numbers("ref_counts") + joined.numbers("alt_counts") > 0
    has_copies = (joined.numbers("major_cn") > 0) | (joined.numbers("subclonal_major_cn") > 0)
    if genotype_prior in PRIORS_WITHOUT_COPY_NUMBERS:
        has_copies = np.ones_like(has_copies)
    has_data = joined.spread(has_reads & has_copies, False)
    kept = np.logical_or.reduce(has_data, axis=1)
    if not kept.any():
        nothing_left = (
            f"none of the {count(len(joined.mutation_ids), 'mutation')} has data in any sample: every row has "
            f"no reads or {joined.files[0].copies_column} 0"
        )
        raise InputError([Problem(joined.files[0].file, nothing_left)])
    left_out = [
        *_cells_without_copies(joined, has_copies),
        *_mutations_without_data(joined, kept, has_reads, has_copies),
        *_samples_without_data(joined, has_data),
    ]
    unknown = {sample for rows in joined.files for sample in rows.content_unknown}
    observations = Observations(
        mutation_ids=list(itertools.compress(joined.mutation_ids, kept)),
        sample_ids=joined.sample_ids,
        has_data=has_data[kept],
        annotations=_annotations(joined, kept),
        content_unknown=[sample for sample in joined.sample_ids if sample in unknown],
        content_varies=_varying_contents(joined),
        **{
            name: joined.spread(joined.numbers(name), otherwise)[kept]
            for name, otherwise in _WITHOUT_DATA.items()
        },
    )
    return observations, left_out


def _cells_without_copies(joined: _Joined, has_copies: NDArray[np.bool_]) -> list[LeftOut]:
    return [
        joined.left_out(
            row,
            joined.mutation_ids[joined.mutation[row]],
            joined.sample_ids[joined.sample[row]],
            f"{joined.file_of(row).copies_column} 0: a mutation cannot be modelled where the tumour has no copy of the "
            "locus; treated as no data in this sample",
        )
        for row in np.flatnonzero(~has_copies).tolist()
    ]


def _mutations_without_data(
    joined: _Joined, kept: NDArray[np.bool_], has_reads: NDArray[np.bool_], has_copies: NDArray[np.bool_]
) -> list[LeftOut]:
    rows = pd.DataFrame(
        {
            "mutation": joined.mutation,
            "row": np.arange(len(joined.lines)),
            "without_reads": has_copies & ~has_reads,
            "without_copies": ~has_copies,
        }
    )[~kept[joined.mutation]]
    lost = rows.groupby("mutation").agg({"row": "first", "without_reads": "any", "without_copies": "any"})
    left_out = []
    for mutation, row, without_reads, without_copies in lost.itertuples():
        no_copies = f"no copy of the locus in the tumour ({joined.file_of(row).copies_column} 0)"
        why = " or ".join(["no reads"] * without_reads + [no_copies] * without_copies)
        reason = f"no data in any sample: {why}"
        left_out.append(joined.left_out(row, joined.mutation_ids[mutation], "", reason))
    return left_out


def _samples_without_data(joined: _Joined, has_data: NDArray[np.bool_]) -> list[LeftOut]:
    first = _first_rows(joined.sample, len(joined.sample_ids))
    reason = "no mutation has data in this sample: it is kept, but carries no information"
    return [
        LeftOut(joined.file_of(first[sample]).file, None, "", joined.sample_ids[sample], reason)
        for sample in np.flatnonzero(~has_data.any(axis=0))
    ]


def _annotations(joined: _Joined, kept: NDArray[np.bool_]) -> dict[str, list[str]]:
    """Return the first non-empty text for each mutation, without columns that are empty throughout."""
    frames = [
        pd.DataFrame(
            {key: column.map(str, object) for key, column in rows.annotations.items()},
            np.arange(len(rows.lines)),
        )
        for rows in joined.files
    ]
    texts = pd.concat(frames, ignore_index=True).replace("", None)
    first = texts.groupby(joined.mutation).first().dropna(axis="columns", how="all").fillna("")
    return {str(key): of.tolist() for key, of in first[kept].items()}


def _varying_contents(joined: _Joined) -> list[str]:
    """Return a sentence for each sample whose rows have different tumour contents, with the first row of each."""
    content = joined.numbers("tumour_content")
    samples = pd.DataFrame({"sample": joined.sample, "content": content}).drop_duplicates()["sample"]
    sentences = []
    for sample in samples[samples.duplicated()].unique().tolist():
        here = np.flatnonzero(joined.sample == sample)
        values, first, times = np.unique(content[here], return_index=True, return_counts=True)
        shown = np.argsort(first)[:_SHOWN_CONTENTS]
        parts = [
            f"{values[place]:.10g} ({count(int(times[place]), 'row')}, the first is row {joined.lines[row]} of "
            f"{joined.file_of(row).file})"
            for place, row in zip(shown, here[first[shown]])
        ]
        if len(values) > len(parts):
            parts.append(count(len(values) - len(parts), "more value"))
        sentences.append(
            f"the tumour content of {joined.sample_ids[sample]!r} differs between its mutations: {'; '.join(parts)}. A "
            "sample has one tumour content; check the column, or set it with --tumour-content"
        )
    return sentences
