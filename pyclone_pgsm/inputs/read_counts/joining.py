"""Combines the rows of all files of one tumour into `Observations`, and lists what was left out and why.

Ids are numbered across all files in order of first appearance, no (mutation, sample) may occur twice, and the rows are
arranged as T × D arrays.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.errors import InputError, Problem
from pyclone_pgsm.inputs.observations import (
    DEFAULT_TUMOUR_CONTENT,
    PLACEHOLDERS,
    PRIORS_WITHOUT_COPY_NUMBERS,
    LeftOut,
    Observations,
    left_out_rows,
)
from pyclone_pgsm.inputs.problems import FileProblems, count, raise_any
from pyclone_pgsm.inputs.read_counts.layout import ANNOTATIONS
from pyclone_pgsm.inputs.table import place, repeated

_MOST_CELLS = 2**26
_MOST_CELLS_PER_ROW = 20
"""If there are more pairs of mutation and sample than the larger of these limits, the ids are not those of one
tumour."""

_SHOWN_CONTENTS = 3


def lay_out(
    files: Sequence[pd.DataFrame], found: Sequence[FileProblems], genotype_prior: str
) -> tuple[Observations, list[LeftOut]]:
    """Combine the rows of the files that could be read; return what `pyclone_pgsm.read_tables` returns.

    The rows are those of `pyclone_pgsm.inputs.read_counts.rows.rows_of`. ``found`` are the problems of all files given;
    second rows for a mutation and sample are noted there.
    """
    if not files:
        raise_any(*found)
    rows = pd.concat(files, ignore_index=True)
    rows["mutation"], mutation_ids = pd.factorize(rows["mutation_id"])
    rows["sample"], sample_ids = pd.factorize(rows["sample_id"])
    if len(mutation_ids) * len(sample_ids) > max(_MOST_CELLS, _MOST_CELLS_PER_ROW * len(rows)):
        found[0].add(
            f"{len(mutation_ids):,} mutations and {len(sample_ids):,} samples in only {len(rows):,} rows: is the right "
            "column named sample_id, and are they of one tumour?"
        )
    else:
        _note_duplicates(rows, found)
    raise_any(*found)
    return _arrays(rows, mutation_ids, sample_ids, genotype_prior)


def _note_duplicates(rows: pd.DataFrame, found: Sequence[FileProblems]) -> None:
    problems_of = {problems.file: problems for problems in reversed(found)}
    has_ids = (rows["mutation_id"] != "") & (rows["sample_id"] != "")
    for row, first in repeated(rows[has_ids], ["mutation", "sample"]):
        where = place(first, row)
        message = (
            f"a second row for this mutation in sample {row.sample_id!r}; the first is {where}. Keep one"
        )
        if row.named_after_file and first.file == row.file:
            message += " (a table of several samples needs a column sample_id)"
        problems_of[row.file].add(message, row.row, "mutation_id", row.mutation_id, kind="second row")


def _arrays(
    rows: pd.DataFrame, mutation_ids: pd.Index, sample_ids: pd.Index, genotype_prior: str
) -> tuple[Observations, list[LeftOut]]:
    """Return T × D arrays of the rows, without the mutations that have no data in any sample.

    The columns ``mutation`` and ``sample`` of the rows are indices of their ids.
    """
    mutation, sample = rows["mutation"].to_numpy(), rows["sample"].to_numpy()

    def spread(of_rows: pd.Series, otherwise: float) -> NDArray:
        """Return (T, D) values of the rows, ``otherwise`` where there is no row."""
        numbers = of_rows.to_numpy()
        table = np.full((len(mutation_ids), len(sample_ids)), otherwise, dtype=numbers.dtype)
        table[mutation, sample] = numbers
        return table

    has_reads = rows["ref_counts"] + rows["alt_counts"] > 0
    has_copies = (rows["major_cn"] > 0) | (rows["subclonal_major_cn"] > 0)
    if genotype_prior in PRIORS_WITHOUT_COPY_NUMBERS:
        has_copies[:] = True
    has_data = spread(has_reads & has_copies, False)
    kept = np.logical_or.reduce(has_data, axis=1)
    if not kept.any():
        nothing_left = (
            f"none of the {count(len(mutation_ids), 'mutation')} has data in any sample: every row has no reads or "
            f"{rows['copies_column'].iat[0]} 0"
        )
        raise InputError([Problem(str(rows["file"].iat[0]), nothing_left)])
    rows = rows.assign(without_reads=has_copies & ~has_reads, without_copies=~has_copies)
    no_copies = (
        "{} 0: a mutation cannot be modelled where the tumour has no copy of the locus; treated as no data in this "
        "sample"
    )
    left_out = left_out_rows(rows[~has_copies], map(no_copies.format, rows.loc[~has_copies, "copies_column"]))
    left_out += _mutations_without_data(rows[~kept[mutation]])
    without_data = rows.drop_duplicates("sample_id")[~has_data.any(axis=0)].assign(row=None, mutation_id="")
    no_data = "no mutation has data in this sample: it is kept, but carries no information"
    left_out += left_out_rows(without_data, [no_data] * len(without_data))
    is_unknown = rows["tumour_content"].isna()
    unknown = set(rows.loc[is_unknown, "sample_id"])
    rows.loc[is_unknown, "tumour_content"] = DEFAULT_TUMOUR_CONTENT
    observations = Observations(
        mutation_ids=mutation_ids[kept].tolist(),
        sample_ids=sample_ids.tolist(),
        has_data=has_data[kept],
        annotations=_annotations(rows, kept),
        content_unknown=[each for each in sample_ids if each in unknown],
        content_varies=_varying_contents(rows),
        **{name: spread(rows[name], otherwise)[kept] for name, otherwise in PLACEHOLDERS.items()},
    )
    return observations, left_out


def _mutations_without_data(rows: pd.DataFrame) -> list[LeftOut]:
    firsts = dict.fromkeys(("file", "row", "copies_column"), "first")
    left_out = []
    lost = rows.groupby("mutation_id", sort=False).agg(
        firsts | {"without_reads": "any", "without_copies": "any"}
    )
    for mutation_id, file, row, copies, without_reads, without_copies in lost.itertuples():
        no_copies = f"no copy of the locus in the tumour ({copies} 0)"
        why = " or ".join(["no reads"] * without_reads + [no_copies] * without_copies)
        left_out.append(LeftOut(file, row, mutation_id, "", f"no data in any sample: {why}"))
    return left_out


def _annotations(rows: pd.DataFrame, kept: NDArray[np.bool_]) -> dict[str, list[str]]:
    """Return the first non-empty text for each mutation, without columns that are empty throughout."""
    texts = rows[[name for name in rows if name in ANNOTATIONS]].replace("", None)
    first = texts.groupby(rows["mutation"]).first().dropna(axis="columns", how="all").fillna("")
    return {str(name): of.tolist() for name, of in first[kept].items()}


def _varying_contents(rows: pd.DataFrame) -> list[str]:
    """Return a sentence for each sample whose rows have different tumour contents, with the first row of each."""
    sentences = []
    num_contents = rows.groupby("sample")["tumour_content"].nunique()
    for sample in num_contents.index[num_contents > 1]:
        here = rows[rows["sample"] == sample]
        name, of = here["sample_id"].iat[0], here.groupby("tumour_content", sort=False)
        contents = of.agg(times=("row", "size"), row=("row", "first"), file=("file", "first"))
        parts = [
            f"{content:.10g} ({count(times, 'row')}, the first is row {row} of {file})"
            for content, times, row, file in contents.head(_SHOWN_CONTENTS).itertuples()
        ]
        if len(contents) > len(parts):
            parts.append(count(len(contents) - len(parts), "more value"))
        sentences.append(
            f"the tumour content of {name!r} differs between its mutations: {'; '.join(parts)}. A sample has one "
            "tumour content; check the column, or set it with `tumour_content`"
        )
    return sentences
