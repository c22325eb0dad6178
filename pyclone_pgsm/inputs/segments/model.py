"""Result of the reader of copy-number segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from pyclone_pgsm.errors import InputError, Problem
from pyclone_pgsm.inputs.genome import Build, Sex
from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.inputs.table import repeated

FAR = 0.25
"""Copy numbers that are rounded by more than this are reported individually."""

COLUMNS: dict[str, str] = {
    "file": "category",
    "row": "int64",  # line of the file, counted from 1
    "sample_id": "category",  # "" where the file does not say
    "chrom": "category",  # harmonised
    "start": "int64",  # first base, counted from 1
    "end": "int64",  # last base
    "major_cn": "int64",  # the total if the alleles are unknown, -1 if it is unknown too
    "minor_cn": "int64",  # -1 if the alleles are unknown
    "normal_cn": "int64",  # copies in normal cells; -1 where the file does not say
    "fraction": "float64",  # share of the cells with these copies
    "subclonal_major_cn": "int64",  # -1 without a second state
    "subclonal_minor_cn": "int64",  # -1 without a second state
    "subclonal_fraction": "float64",  # share of the cells in the second state; NaN without one
    "other_fraction": "float64",  # share of the cells in further states, which are not kept; other cells are normal
    "of_all_cells": "bool",  # whether shares are of all cells of the sample, not of its tumour cells
    "rounding": "float64",  # distance to the whole copy numbers used
}
"""The columns of `Segments.table` and their types."""

STATES = [
    "major_cn", "minor_cn", "fraction", "subclonal_major_cn", "subclonal_minor_cn", "subclonal_fraction",
    "other_fraction",
]  # fmt: skip
"""The columns that describe the states of a segment."""


@dataclass(frozen=True)
class Hint:
    """What a file states about a sample besides its segments; purity and ploidy are those fitted by the caller."""

    file: str
    sample_id: str
    """Empty if the file does not say."""
    format: str
    purity: float | None = None
    ploidy: float | None = None
    sex: Sex | None = None
    build: Build | None = None
    """The genome build, if only one has chromosomes that are long enough."""
    name_in_file: str = ""
    """The sample that the file names, even if its segments are taken for those of another; empty if it names none."""


@dataclass(frozen=True)
class Segments:
    """Copy-number segments of any samples."""

    table: pd.DataFrame
    """One row per segment, with the `COLUMNS`."""
    left_out: list[LeftOut] = field(default_factory=list)
    """Segments that end before they start, were rounded by more than 0.25, or changed otherwise."""
    hints: list[Hint] = field(default_factory=list)
    """One for each file and sample."""

    def named(self, names: Mapping[tuple[str, str], str]) -> Segments:
        """Return the same segments with other names of their samples, given by file and earlier name."""

        def name(file: str, sample_id: str) -> str:
            return names.get((file, sample_id), sample_id)

        samples = pd.Categorical(list(map(name, self.table["file"], self.table["sample_id"])))
        return Segments(
            self.table.assign(sample_id=samples),
            [item._replace(sample_id=name(item.file, item.sample_id)) for item in self.left_out],
            [replace(hint, sample_id=name(hint.file, hint.sample_id)) for hint in self.hints],
        )

    def describe(self) -> list[str]:
        """Return a line of text for each file and sample: format, segments, rounding, and what the caller fitted."""
        return [self._line(hint) for hint in self.hints]

    def _line(self, hint: Hint) -> str:
        of = self.table[(self.table["file"] == hint.file) & (self.table["sample_id"] == hint.sample_id)]
        parts = [f"{count(len(of), 'segment')} ({hint.format})"]
        if of["of_all_cells"].any():
            parts.append("shares of all cells, normal ones included")
        elif subclonal := int((of["fraction"] < 1).sum()):
            parts.append(f"{subclonal} of them subclonal")
        if unknown := int((of["minor_cn"] < 0).sum()):
            parts.append(f"{unknown} without the copies of each allele")
        if (largest := float(of["rounding"].max())) > 0:
            far = int((of["rounding"] > FAR).sum())
            where = count(far, "segment")
            parts.append(f"copy numbers rounded by up to {largest:.2f}, in {where} by more than {FAR}")
        fit = {"purity": hint.purity, "ploidy": hint.ploidy}
        parts += [f"{name} {value:g}" for name, value in fit.items() if value is not None]
        parts += [text for text in (hint.sex, hint.build) if text is not None]
        return f"{hint.sample_id or hint.file}: {', '.join(parts)}"


def combined(parts: Sequence[Segments]) -> Segments:
    """Combine segments that were read separately; InputError if two files have a chromosome of the same sample."""
    frame = pd.concat(
        [part.table.astype({"file": object, "sample_id": object, "chrom": object}) for part in parts],
        ignore_index=True,
    )
    files = frame.loc[frame["sample_id"] != "", ["file", "sample_id", "chrom"]].drop_duplicates()
    doubles: dict[str, str] = {}
    for row, first in repeated(files, ["sample_id", "chrom"]):
        message = f"segments of chromosome {row.chrom} of sample {row.sample_id!r} stand in {first.file}, too; keep one"
        doubles.setdefault(row.file, f"{message}, or write `segments` SAMPLE=FILE")
    if doubles:
        raise InputError([Problem(file, message) for file, message in doubles.items()])
    return Segments(
        frame.astype(COLUMNS),
        [item for part in parts for item in part.left_out],
        [hint for part in parts for hint in part.hints],
    )
