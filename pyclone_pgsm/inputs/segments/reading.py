"""Reader of files of copy-number segments, which returns `Segments`."""

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.errors import InputError, UsageError
from pyclone_pgsm.files import storable
from pyclone_pgsm.inputs.columns import read_columns
from pyclone_pgsm.inputs.genome import builds_that_fit, chromosome, last_positions
from pyclone_pgsm.inputs.observations import LeftOut, left_out_rows, looks_at_no_alleles
from pyclone_pgsm.inputs.problems import FileProblems, listed, raise_any
from pyclone_pgsm.inputs.segments.alleles import of_states
from pyclone_pgsm.inputs.segments.cells import (
    MOST_OF_ALL,
    NORMAL_COPIES,
    POSITION,
    ROUNDING,
    UNKNOWN,
    SegmentCells,
    plain,
)
from pyclone_pgsm.inputs.segments.formats import FORMATS, STYLE, Layout, recognise, why_not_recognised
from pyclone_pgsm.inputs.segments.model import COLUMNS, STATES, Hint, Segments, combined
from pyclone_pgsm.inputs.segments.purity import Fit, fit_beside, is_fit, names_beside, read_fit
from pyclone_pgsm.inputs.text import read_each
from pyclone_pgsm.inputs.values import Name
from pyclone_pgsm.ranges import check_choice

ZERO_BASED_START = "chromstart"  # the plain name of BED files, whose starts are counted from 0
_MOST_STATES = 32
_ENDINGS = re.compile(
    r"(\.purple\.cnv(\.somatic)?|[._-]call|[._-]titan|[._-]ichor|[._-]facets|[._-]cncf|[._-]cnvkit|[._-]sequenza|"
    r"[._-]battenberg|[._-]ascat|[._-]segments(_raw)?|[._-]segs?|[._-]subclones|[._-]copynumber|[._-]caveman|"
    r"[._-]cna|[._-]cnvs?|[._-]noSNPs|\.gz|\.tsv|\.csv|\.txt|\.cns|\.cncf|\.bed)$",
    re.IGNORECASE,
)


def sample_stem(path: Path) -> str:
    """Return the name of a file without folder and without what callers append to the name of the sample.

    Examples
    --------
    >>> sample_stem(Path("calls/S1.purple.cnv.somatic.tsv")), sample_stem(Path("S1_T_subclones.txt.gz"))
    ('S1', 'S1_T')
    """
    name = storable(path.name)
    while (shorter := _ENDINGS.sub("", name)) and shorter != name:
        name = shorter
    return name


def read_segments(
    paths: Sequence[str | Path] | str | Path,
    cn_format: str | None = None,
    sample_id: str | None = None,
    *,
    genotype_prior: str = "major",
    name_in_file: str | None = None,
) -> Segments:
    """Read copy-number segments of any of the `FORMATS`, by default recognised from the header of each file.

    The files may include those of the purity that a caller fitted, which are also read if they are beside the segments
    under the caller's usual names (`pyclone_pgsm.inputs.segments.purity`). Files that name no sample, or only one, are
    taken as those of ``sample_id``; from files of several samples, only its rows are used, or else those of the sample
    ``name_in_file``. Files with total copy numbers only are refused unless the genotype prior uses only totals, or no
    copy numbers of the tumour. InputError lists everything wrong in all files.
    """
    given = [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
    if not given:
        raise UsageError("no file of copy-number segments given")
    check_choice("cn_format", cn_format, FORMATS, may_be_none=True)
    found = [FileProblems(str(path)) for path in given]
    has_fit = [is_fit(path) for path in given]
    if all(has_fit):
        raise UsageError("only files with the purity of samples are given, no copy-number segments")
    fits = _fits_of(given, has_fit, found)
    totals_do = looks_at_no_alleles(genotype_prior)

    def read(place: int) -> Segments | None:
        if has_fit[place]:
            return None
        fit = Fit()
        if place in fits:
            with suppress(InputError):  # raised below, together with what is wrong in the segments
                fit = read_fit(*fits[place])
            if (of_fit := fits[place][1]) and of_fit not in found:
                of_fit.add(f"this file was read because it is beside {given[place].name}")
        return _read_file(given[place], cn_format, sample_id, name_in_file, totals_do, fit, found[place])

    parts = [part for part in read_each(found, read).values() if part is not None]
    raise_any(*found, *(of_fit for _, of_fit in fits.values() if of_fit not in found))
    return combined(parts)


def _fits_of(
    given: Sequence[Path], has_fit: Sequence[bool], found: Sequence[FileProblems]
) -> dict[int, tuple[Path, FileProblems]]:
    """Return the file with the fit of each file of segments, by its place, if there is one, and its problems.

    A fit that is given belongs to the segments that its name indicates, or else to the only ones. For others, the
    folder of the segments is searched.
    """
    segments = [place for place, is_fit in enumerate(has_fit) if not is_fit]
    fits: dict[int, tuple[Path, FileProblems]] = {}
    for place in np.flatnonzero(has_fit).tolist():
        owners = [each for each in segments if given[place].name in names_beside(given[each].name)]
        if not owners and len(segments) == sum(has_fit) == 1:
            owners = segments
        if len(owners) == 1 and owners[0] in fits:
            found[place].add(
                f"{fits[owners[0]][1].file} is given for the same segments; leave one of them out"
            )
        elif len(owners) == 1:
            fits[owners[0]] = given[place], found[place]
        else:
            found[place].add(
                "which segments does this purity belong to? Their file is expected to have the name that the caller "
                "gives it, or to be the only one"
            )
    for place in segments:
        if place not in fits and (beside := fit_beside(given[place])) is not None:
            fits[place] = beside, FileProblems(str(beside))
    return fits


def _read_file(
    path: Path,
    cn_format: str | None,
    sample_id: str | None,
    name_in_file: str | None,
    totals_do: bool,
    fit: Fit,
    problems: FileProblems,
) -> Segments:
    table = read_columns(path, STYLE, problems)
    layout = recognise(table.names, cn_format)
    if layout is None:
        raise problems.give_up(why_not_recognised(table.names, cn_format), table.header_line)
    cells = SegmentCells.by_part(table, layout.columns(table.names))
    if not (layout.has_alleles or totals_do):
        message = (
            f"total copy numbers only (column {cells.columns['total'].name}): the model needs the copies of each "
            "allele. Use `genotype_prior` total, or segments with alleles"
        )
        if layout.format == "cnvkit":
            message += " (`cnvkit.py call --vcf` adds cn1 and cn2)"
        raise problems.give_up(message, table.header_line)
    samples = cells.read("sample", Name("sample") if sample_id is None else str, object)
    frame = _frame(cells, layout, samples)
    raise_any(problems)
    forward = (frame["start"] <= frame["end"]).to_numpy()
    wanted = _wanted(samples, sample_id, name_in_file, problems)
    used = wanted & forward
    if not used.any():
        of_sample = "" if wanted.all() else f" of sample {samples[wanted][0]!r}"
        table.note_header(f"every segment{of_sample} ends before it starts", cells.columns["end"].name)
    raise_any(problems)
    if sample_id is not None:
        frame["sample_id"] = pd.Categorical([sample_id] * len(frame))
    left_out = _left_out(cells, frame, wanted & ~forward, used)
    frame = frame[used].reset_index(drop=True)
    if layout.has_rows_for_states and "fraction" in cells:
        frame, scaled = _states_together(frame, problems)
        left_out = sorted([*left_out, *scaled], key=lambda item: item.row or 0)
    hints = _hints(frame, layout, problems.file, fit)
    return Segments(frame[list(COLUMNS)], left_out, hints)


def _frame(cells: SegmentCells, layout: Layout, samples: NDArray) -> pd.DataFrame:
    """Return the rows of the file in the columns of `Segments.table`, and others on their sample.

    ``name_in_file`` is the sample that the file names; ``ploidy`` and ``purity`` are NaN where the file does not give
    them.
    """
    is_zero_based = layout.zero_based or plain(cells.columns["start"].name) == ZERO_BASED_START
    frame = layout.read(cells).assign(
        file=cells.problems.file,
        row=cells.lines,
        sample_id=samples,
        chrom=cells.read("chrom", chromosome, object),
        start=cells.read("start", POSITION, np.int64, UNKNOWN) + (1 if is_zero_based else 0),
        end=cells.read("end", POSITION, np.int64, UNKNOWN),
        normal_cn=cells.numbers("normal", NORMAL_COPIES, np.int64),
    )
    ploidy, purity = cells.real_copies("ploidy"), 1 - cells.share("u_normal")
    return frame.astype(COLUMNS).assign(name_in_file=samples, ploidy=ploidy, purity=purity)


def _wanted(
    samples: NDArray, sample_id: str | None, name_in_file: str | None, problems: FileProblems
) -> NDArray[np.bool_]:
    """Return a mask of the rows of the requested sample; all rows if the file has only one sample."""
    names = list(dict.fromkeys(samples))
    if sample_id is None or len(names) <= 1:
        return np.ones(len(samples), dtype=bool)
    asked = [sample_id] if name_in_file is None else [sample_id, name_in_file]
    name = next((name for name in asked if name in names), None)
    if name is None:
        raise problems.give_up(
            f"no segments of sample {' or '.join(map(repr, asked))}; the samples are {listed(names)}"
        )
    return np.asarray(samples == name)


def _left_out(
    cells: SegmentCells, frame: pd.DataFrame, backward: NDArray[np.bool_], used: NDArray[np.bool_]
) -> list[LeftOut]:
    """List segments that end before they start, and what was changed in others, by row."""
    reasons = [
        (row, f"the segment ends ({frame['end'].iat[row]}) before it starts ({frame['start'].iat[row]})")
        for row in np.flatnonzero(backward).tolist()
    ]
    reasons += [(row, what) for row, what in cells.changes if used[row]]
    reasons.sort(key=lambda item: item[0])
    return left_out_rows(frame.iloc[[row for row, _ in reasons]], [reason for _, reason in reasons])


def _states_together(frame: pd.DataFrame, problems: FileProblems) -> tuple[pd.DataFrame, list[LeftOut]]:
    """Merge the rows of each segment, if the file has one row per state; list those whose shares are scaled to 1."""
    groups = frame.groupby(["sample_id", "chrom", "start", "end"], observed=True, sort=False)
    segment, place = groups.ngroup().to_numpy(), groups.cumcount().to_numpy()
    most = int(place.max(initial=0)) + 1
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
    for name in STATES:
        together.loc[several, name] = alleles[name].to_numpy()
    total = total[place == 0]
    above = total > 1 + ROUNDING
    taken_as_one = "the states of the segment are in {:.4g} of the cells in all, taken as 1"
    return together, left_out_rows(together[above], map(taken_as_one.format, total[above]))


def _hints(frame: pd.DataFrame, layout: Layout, file: str, fit: Fit) -> list[Hint]:
    hints = []
    for sample, of in frame.groupby("sample_id", observed=True, sort=False):
        build = builds_that_fit(last_positions(of["chrom"], of["end"]))
        ploidy, purity = (next(iter(of[name].dropna().tolist()), None) for name in ("ploidy", "purity"))
        hints.append(
            Hint(
                file=file,
                sample_id=str(sample),
                format=layout.format,
                purity=fit.purity or purity or None,  # 0 in a sample without tumour cells
                ploidy=ploidy if fit.ploidy is None else fit.ploidy,
                sex=fit.sex,
                build=build[0] if len(build) == 1 else None,
                name_in_file=of["name_in_file"].tolist()[0],
            )
        )
    return hints
