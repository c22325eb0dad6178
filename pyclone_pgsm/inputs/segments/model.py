"""What the reader of copy-number segments gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from pyclone_pgsm.inputs.genome import Build, Sex
from pyclone_pgsm.inputs.observations import LeftOut

FAR = 0.25
"""Copy numbers that are rounded by more than this are reported one by one."""

COLUMNS: dict[str, str] = {
    "file": "category",
    "row": "int64",  # line of the file, counted from 1
    "sample_id": "category",  # "" where the file does not say
    "chrom": "category",  # harmonised
    "start": "int64",  # counted from 1, like the end part of the segment
    "end": "int64",
    "major_cn": "int64",  # the total where the alleles are not known, -1 where that is not known either
    "minor_cn": "int64",  # -1 where the alleles are not known
    "normal_cn": "int64",  # copies in normal cells; -1 where the file does not say
    "fraction": "float64",  # share of the cells that hold these copies
    "subclonal_major_cn": "int64",  # -1 without a second state
    "subclonal_minor_cn": "int64",  # -1 without a second state
    "subclonal_fraction": "float64",  # share of the cells in the second state; NaN without one
    "other_fraction": "float64",  # share of the cells in further states, which are not told; the rest is normal
    "of_all_cells": "bool",  # whether shares are of all cells of the sample, not of its tumour cells
    "num_states": "int64",  # states that the file gives, of which the two with the largest shares are here
    "rounding": "float64",  # distance to the whole copy numbers that were taken
}
"""The columns of `Segments.table` and their types."""

STATES = [
    "major_cn", "minor_cn", "fraction", "subclonal_major_cn", "subclonal_minor_cn", "subclonal_fraction",
    "other_fraction", "num_states",
]  # fmt: skip
"""Those of the columns that tell the states of a segment."""


@dataclass(frozen=True)
class Hint:
    """What a file says of a sample beside its segments; purity and ploidy are those that the caller fitted."""

    file: str
    sample_id: str
    """Empty if the file does not say."""
    format: str
    num_segments: int
    purity: float | None = None
    ploidy: float | None = None
    sex: Sex | None = None
    build: Build | None = None
    """The one genome build whose chromosomes are long enough, if there is just one."""


@dataclass(frozen=True)
class Segments:
    """Copy-number segments of any samples."""

    table: pd.DataFrame
    """One row a segment, with the `COLUMNS`."""
    left_out: list[LeftOut] = field(default_factory=list)
    """Segments whose copy numbers were rounded by more than 0.25, or whose share of the cells was above 1."""
    hints: list[Hint] = field(default_factory=list)
    """One for each file and sample."""

    @property
    def sample_ids(self) -> list[str]:
        """The samples, in the order of their first segment."""
        return list(dict.fromkeys(hint.sample_id for hint in self.hints))

    def named(self, names: Mapping[str, str]) -> Segments:
        """The same segments; those of each file in ``names``, as it was given, are of the sample that has this name."""
        by_row = self.table["file"].astype(object).map(names)
        samples = by_row.where(by_row.notna(), self.table["sample_id"].astype(object)).astype("category")
        return Segments(
            self.table.assign(sample_id=samples),
            [item._replace(sample_id=names.get(item.file, item.sample_id)) for item in self.left_out],
            [replace(hint, sample_id=names.get(hint.file, hint.sample_id)) for hint in self.hints],
        )

    def describe(self) -> list[str]:
        """One line of text for each file and sample: format, segments, what was rounded, what the caller fitted."""
        return [self._line(hint) for hint in self.hints]

    def _line(self, hint: Hint) -> str:
        of = self.table[(self.table["file"] == hint.file) & (self.table["sample_id"] == hint.sample_id)]
        parts = [f"{hint.num_segments} segment{'' if hint.num_segments == 1 else 's'} ({hint.format})"]
        if of["of_all_cells"].any():
            parts.append("shares of all cells, normal ones included")
        elif subclonal := int(((of["fraction"] < 1) | (of["num_states"] > 1)).sum()):
            parts.append(f"{subclonal} of them subclonal")
        if unknown := int((of["minor_cn"] < 0).sum()):
            parts.append(f"{unknown} without the copies of each allele")
        if (largest := float(of["rounding"].max())) > 0:
            far = int((of["rounding"] > FAR).sum())
            parts.append(f"copy numbers rounded by up to {largest:.2f}, in {far} segments by more than {FAR}")
        fit = {"purity": hint.purity, "ploidy": hint.ploidy}
        parts += [f"{name} {value:g}" for name, value in fit.items() if value is not None]
        parts += [text for text in (hint.sex, hint.build) if text is not None]
        return f"{hint.sample_id or hint.file}: {', '.join(parts)}"


def combined(parts: Sequence[Segments]) -> Segments:
    """Segments that were read apart, as one."""
    frame = pd.concat(
        [part.table.astype({"file": object, "sample_id": object, "chrom": object}) for part in parts],
        ignore_index=True,
    )
    return Segments(
        frame.astype(COLUMNS),
        [item for part in parts for item in part.left_out],
        [hint for part in parts for hint in part.hints],
    )
