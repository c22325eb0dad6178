"""Files of copy-number segments → `Segments`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.errors import InputError, UsageError
from pyclone_pgsm.inputs.columns import Column, read_columns
from pyclone_pgsm.inputs.genome import CHROMOSOMES, builds_that_fit, harmonise_chromosome
from pyclone_pgsm.inputs.observations import PRIORS_WITHOUT_COPY_NUMBERS, LeftOut
from pyclone_pgsm.inputs.problems import CONTROL, FileProblems, input_error, listed
from pyclone_pgsm.inputs.segments.alleles import Alleles, of_states
from pyclone_pgsm.inputs.segments.cells import MOST_OF_ALL, UNKNOWN, SegmentCells
from pyclone_pgsm.inputs.segments.formats import (
    FORMATS,
    STYLE,
    Layout,
    recognise,
    why_not_recognised,
    why_totals_are_not_enough,
)
from pyclone_pgsm.inputs.segments.model import COLUMNS, FAR, Hint, Segments, combined
from pyclone_pgsm.inputs.segments.purity import Fit, fit_beside, is_fit, names_beside, read_fit
from pyclone_pgsm.inputs.text import read_each

_PURITY = "purity"
"""A further column of the rows of a file that tells the purity of their samples."""
_MOST_STATES = 32
_ENDINGS = re.compile(
    r"(\.purple\.cnv(\.somatic)?|[._-]call|[._-]titan|[._-]ichor|[._-]facets|[._-]cncf|[._-]cnvkit|[._-]sequenza|"
    r"[._-]battenberg|[._-]ascat|[._-]segments(_raw)?|[._-]segs?|[._-]subclones|[._-]copynumber|[._-]caveman|"
    r"[._-]cna|[._-]cnvs?|[._-]noSNPs|\.gz|\.tsv|\.csv|\.txt|\.cns|\.cncf|\.bed)$",
    re.IGNORECASE,
)


def sample_stem(path: Path) -> str:
    """The name of a file without folder and all that callers put behind the name of the sample.

    Examples
    --------
    >>> sample_stem(Path("calls/S1.purple.cnv.somatic.tsv")), sample_stem(Path("S1_T_subclones.txt.gz"))
    ('S1', 'S1_T')
    """
    name = path.name
    while (shorter := _ENDINGS.sub("", name)) and shorter != name:
        name = shorter
    return name


def read_segments(
    paths: Sequence[str | Path] | str | Path,
    cn_format: str | None = None,
    sample_id: str | None = None,
    *,
    genotype_prior: str = "major",
) -> Segments:
    """Read copy-number segments of any of the `FORMATS`.

    Parameters
    ----------
    paths : sequence of str or Path, or one
        Files of segments. Files with the purity that a caller fitted may be among them; those that stand beside the
        segments under the name that the caller gives them are found without
        (`pyclone_pgsm.inputs.segments.purity`).
    cn_format : str, optional
        Name of the format of all files; by default each file's header tells.
    sample_id : str, optional
        The sample that the segments are of. A file that does not name its sample, or names only one, is taken as of
        this one; of a file with several samples its rows are taken.
    genotype_prior : str
        Name of the genotype prior that the segments are meant for. Files with total copy numbers only are refused
        unless it looks at totals only, or at no copy numbers of the tumour.

    Returns
    -------
    Segments

    Raises
    ------
    InputError
        With everything wrong in all files.
    UsageError
        If no file is given, or the format is none of `FORMATS`.
    """
    given = [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
    if not given:
        raise UsageError("no file of copy-number segments given")
    if cn_format is not None and cn_format not in FORMATS:
        raise UsageError(
            f"`cn_format` {cn_format!r}: no known format of copy-number segments; known are {', '.join(FORMATS)}"
        )
    found = [FileProblems(str(path)) for path in given]
    has_fit = [is_fit(path) for path in given]
    if all(has_fit):
        raise UsageError("only files with the purity of samples are given, no copy-number segments")
    options = _Options(cn_format, sample_id, looks_at_no_alleles(genotype_prior))

    def read(place: int) -> Segments | Fit:
        path, problems = given[place], found[place]
        return _fit(path, problems) if has_fit[place] else _read_file(path, options, problems)

    files = read_each(given, found, read)
    parts = {place: each for place, each in files if isinstance(each, Segments)}
    _note_doubles(parts, found)
    if not any(found):
        _assign({place: each for place, each in files if isinstance(each, Fit)}, parts, found)
    if any(found):
        raise input_error(found)
    return combined(list(parts.values()))


def looks_at_no_alleles(genotype_prior: str) -> bool:
    """Whether a genotype prior does with total copy numbers, or with none."""
    return genotype_prior == "total" or genotype_prior in PRIORS_WITHOUT_COPY_NUMBERS


def _fit(path: Path, problems: FileProblems) -> Fit:
    try:
        return read_fit(path, problems)
    except InputError:
        return Fit()


class _Options(NamedTuple):
    """What `read_segments` was told of all files."""

    cn_format: str | None
    sample_id: str | None
    totals_do: bool


def _read_file(path: Path, options: _Options, problems: FileProblems) -> Segments:
    table = read_columns(path, STYLE, problems)
    header = table.header_line or None
    layout = recognise(table.names, options.cn_format)
    if layout is None:
        raise problems.give_up(why_not_recognised(table.names, options.cn_format), header)
    cells = SegmentCells(table, layout.columns(table.names), problems)
    if not (layout.has_alleles or options.totals_do):
        raise problems.give_up(why_totals_are_not_enough(layout, cells.column_of["total"]), header)
    samples = _samples(cells, options.sample_id)
    alleles = layout.read(cells)
    frame = _frame(cells, layout, samples, alleles)
    ploidy = _ploidy(cells)
    forward = (frame["start"] <= frame["end"]).to_numpy()
    if not problems and not forward.any():
        problems.add("every segment ends before it starts", header, cells.column_of["end"])
    if problems:
        raise input_error([problems])
    wanted = _wanted(samples, options.sample_id, problems)
    if options.sample_id is not None:
        frame["sample_id"] = pd.Categorical([options.sample_id] * len(frame))
    left_out = _left_out(frame, alleles, wanted, forward) + _above_one(cells, frame, wanted & forward)
    frame = frame[wanted & forward].reset_index(drop=True)
    if layout.has_rows_for_states and "fraction" in cells:
        frame = _states_together(frame, problems)
    fit = _companion(path, problems)
    hints = _hints(frame, layout, problems.file, fit, ploidy)
    return Segments(
        frame.drop(columns=_PURITY, errors="ignore"), sorted(left_out, key=lambda item: item.row or 0), hints
    )


def _frame(cells: SegmentCells, layout: Layout, samples: Column, alleles: Alleles) -> pd.DataFrame:
    """The rows as they stand in the file, in the columns of `Segments.table`."""
    has_second = alleles.second_fraction > 0
    columns = {
        "file": cells.problems.file,
        "row": cells.table.lines,
        "sample_id": _texts(samples),
        "chrom": _chromosomes(cells),
        "start": cells.position("start") + (1 if layout.zero_based else 0),
        "end": cells.position("end"),
        "major_cn": alleles.major,
        "minor_cn": alleles.minor,
        "normal_cn": cells.normal_copies("normal"),
        "fraction": alleles.fraction,
        "subclonal_major_cn": alleles.second_major,
        "subclonal_minor_cn": alleles.second_minor,
        "subclonal_fraction": np.where(has_second, alleles.second_fraction, np.nan),
        "other_fraction": alleles.other_fraction,
        "of_all_cells": layout.of_all_cells,
        "num_states": alleles.num_states,
        "rounding": alleles.rounding,
    }
    frame = pd.DataFrame(columns).astype(COLUMNS)
    return frame.assign(**{_PURITY: 1 - cells.share("u_normal")}) if "u_normal" in cells else frame


def _texts(column: Column) -> list[str]:
    return [column.texts[code] for code in column.codes.tolist()]


def _samples(cells: SegmentCells, sample_id: str | None) -> Column:
    """The sample of each row, "" where the file has none."""
    if "sample" not in cells:
        return Column([""], np.zeros(len(cells), np.int32))
    column = cells.column("sample")
    if sample_id is None:
        bad = np.array([not text or bool(CONTROL.search(text)) for text in column.texts], dtype=bool)
        message = "empty, or with control characters; expected the name of a sample"
        cells.note(bad[column.codes], "sample", lambda row: message)
    return column


def _wanted(samples: Column, sample_id: str | None, problems: FileProblems) -> NDArray[np.bool_]:
    """The rows of the sample asked for; all if the file has only one."""
    names = list(dict.fromkeys(samples.texts))
    if sample_id is None or len(names) <= 1:
        return np.ones(len(samples.codes), dtype=bool)
    if sample_id not in names:
        raise problems.give_up(f"no segments of sample {sample_id!r}; the samples are {listed(names)}")
    return np.array([name == sample_id for name in samples.texts], dtype=bool)[samples.codes]


def _chromosomes(cells: SegmentCells) -> list[str]:
    column = cells.column("chrom")
    names = [harmonise_chromosome(text) for text in column.texts]
    bad = np.array([not name or bool(CONTROL.search(name)) for name in names], dtype=bool)
    cells.note(bad[column.codes], "chrom", lambda row: "no name; expected a chromosome, such as 1, chr1 or X")
    return [names[code] for code in column.codes.tolist()]


def _ploidy(cells: SegmentCells) -> float | None:
    """The ploidy where each row repeats it."""
    values = cells.real_copies("ploidy")
    return float(values[0]) if len(values) and not np.isnan(values[0]) else None


def _left_out(
    frame: pd.DataFrame, alleles: Alleles, wanted: NDArray[np.bool_], forward: NDArray[np.bool_]
) -> list[LeftOut]:
    """The segments that end before they start, and those whose copy numbers were rounded by more than `FAR`."""
    told = wanted & (~forward | (frame["rounding"].to_numpy() > FAR))
    names = ["file", "row", "sample_id", "start", "end", "major_cn", "minor_cn"]
    rows = frame.loc[told, names].itertuples(index=False, name=None)
    return [
        LeftOut(
            file,
            row,
            "",
            sample,
            _how_rounded(real, major, minor)
            if start <= end
            else f"the segment ends ({end}) before it starts ({start})",
        )
        for (file, row, sample, start, end, major, minor), real in zip(rows, alleles.real[told])
    ]


def _above_one(cells: SegmentCells, frame: pd.DataFrame, used: NDArray[np.bool_]) -> list[LeftOut]:
    """The segments whose share of the cells was above 1."""
    return [
        LeftOut(
            str(frame["file"].iat[row]),
            int(frame["row"].to_numpy()[row]),
            "",
            str(frame["sample_id"].iat[row]),
            f"{cells.column_of[part]} {cells.column(part).text_of(row)} of the segment is above 1, and taken as 1",
        )
        for part, above in dict(cells.above_one).items()
        for row in np.flatnonzero(above & used).tolist()
    ]


def _how_rounded(real: NDArray[np.float64], major: int, minor: int) -> str:
    if np.isnan(real[1]):
        return f"total copy number {real[0]:g} of the segment rounded to {major}"
    return f"copy numbers {real[0]:g} and {real[1]:g} of the segment rounded to {major} and {minor}"


def _states_together(frame: pd.DataFrame, problems: FileProblems) -> pd.DataFrame:
    """One row for the states of a segment that the file gives one row each."""
    groups = frame.groupby(["sample_id", "chrom", "start", "end"], observed=True, sort=False)
    segment, place = groups.ngroup().to_numpy(), groups.cumcount().to_numpy()
    most = int(place.max(initial=0)) + 1
    if most == 1:
        return frame
    if most > _MOST_STATES:
        row = int(frame["row"].to_numpy()[np.argmax(place >= _MOST_STATES)])
        raise problems.give_up(f"more than {_MOST_STATES} rows for the same segment of one sample", row)
    states = np.full((segment.max() + 1, most, 2), UNKNOWN, dtype=np.int64)
    states[segment, place] = frame[["major_cn", "minor_cn"]].to_numpy()
    shares = np.zeros(states.shape[:2])
    shares[segment, place] = frame["fraction"].to_numpy()
    total = shares.sum(axis=1)[segment]
    if total.max() > MOST_OF_ALL:
        at = int(np.argmax(total))
        raise problems.give_up(
            f"the states of this segment are in {total[at]:.4g} of the cells in all, which cannot be more than 1",
            int(frame["row"].to_numpy()[at]),
        )
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1.0)
    several = np.bincount(segment)[segment[place == 0]] > 1
    alleles = of_states(states[several], shares[several])
    together = frame[place == 0].reset_index(drop=True)
    for name, values in {
        "major_cn": alleles.major,
        "minor_cn": alleles.minor,
        "fraction": alleles.fraction,
        "subclonal_major_cn": alleles.second_major,
        "subclonal_minor_cn": alleles.second_minor,
        "subclonal_fraction": np.where(alleles.second_fraction > 0, alleles.second_fraction, np.nan),
        "other_fraction": alleles.other_fraction,
        "num_states": alleles.num_states,
    }.items():
        together.loc[several, name] = values
    return together


def _companion(path: Path, problems: FileProblems) -> Fit:
    beside = fit_beside(path)
    if beside is None:
        return Fit()
    own = FileProblems(str(beside))
    fit = _fit(beside, own)
    for problem in own.in_order():
        problems.add(
            f"in {beside.name}, which belongs to this file: {problem.message}", None, None, problem.value
        )
    if problems:
        raise input_error([problems])
    return fit


def _hints(frame: pd.DataFrame, layout: Layout, file: str, fit: Fit, ploidy: float | None) -> list[Hint]:
    hints = []
    for sample, of in frame.groupby("sample_id", observed=True, sort=False):
        last = of.groupby("chrom", observed=True)["end"].max()
        fitting = builds_that_fit(
            {str(chrom): int(end) for chrom, end in last.items() if chrom in CHROMOSOMES}
        )
        hints.append(
            Hint(
                file=file,
                sample_id=str(sample),
                format=layout.format,
                num_segments=len(of),
                purity=_first(of, _PURITY) if fit.purity is None else fit.purity,
                ploidy=ploidy if fit.ploidy is None else fit.ploidy,
                sex=fit.sex,
                build=fitting[0] if len(fitting) == 1 else None,
            )
        )
    return hints


def _first(rows: pd.DataFrame, name: str) -> float | None:
    return float(rows[name].to_numpy()[0]) if name in rows else None


def _assign(fits: dict[int, Fit], read: dict[int, Segments], found: Sequence[FileProblems]) -> None:
    """Put each fit that was given to the segments it belongs to: by its name, or because there is only one file."""
    names = [Path(problems.file).name for problems in found]
    for place, fit in fits.items():
        owners = [each for each in read if names[place] in names_beside(names[each])]
        if not owners and len(read) == 1 and len(fits) == 1:
            owners = list(read)
        if len(owners) != 1:
            found[place].add(
                "which segments does this purity belong to? Their file is expected to have the name that the caller "
                "gives it, or to be the only one"
            )
            continue
        given = {name: value for name, value in vars(fit).items() if value is not None}
        part = read[owners[0]]
        read[owners[0]] = replace(part, hints=[replace(hint, **given) for hint in part.hints])


def _note_doubles(read: dict[int, Segments], found: Sequence[FileProblems]) -> None:
    """Note samples whose segments of one chromosome stand in two files."""
    seen: dict[tuple[str, str], str] = {}
    for place, segments in read.items():
        of = segments.table[["sample_id", "chrom"]].drop_duplicates()
        pairs = [(str(sample), str(chrom)) for sample, chrom in zip(of["sample_id"], of["chrom"]) if sample]
        double = next((pair for pair in pairs if pair in seen), None)
        if double is not None:
            sample, chrom = double
            found[place].add(
                f"segments of chromosome {chrom} of sample {sample!r} stand in {seen[double]}, too; keep one"
            )
        seen |= dict.fromkeys(pairs, found[place].file)
