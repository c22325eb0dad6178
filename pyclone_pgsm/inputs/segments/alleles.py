"""Conversion of the tumour's alleles, as each tool writes them, to one form.

A row gives one or more states of the locus, each a pair of copy numbers (major ≥ minor) with the share of cells in it.
Of more than two states, the two with the largest shares are kept, and the total share of the others. The remaining
cells are normal. Total copy numbers without alleles are kept as such: they suffice where the total is at most 1, on the
single X of a man, and for genotype priors that use only totals.
"""

import itertools

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.inputs.problems import raise_any
from pyclone_pgsm.inputs.segments.cells import ALLELE_FREQUENCY, UNKNOWN, SegmentCells, pair_of_copies
from pyclone_pgsm.inputs.segments.model import FAR
from pyclone_pgsm.inputs.values import COPIES, Real, Whole

HATCHET_CLONES = tuple(f"clone{number}" for number in range(1, 33))
"""Names of tumour clones; HATCHet infers a handful."""

_MOST_AMISS = 0.02
"""Shares of cells that differ by more than this contradict each other; smaller differences may come from rounding."""
_MOST_ROUNDED = 0.5
"""Totals that differ from the sum of real copy numbers by at most this may come from rounding."""


def one_state(copies: NDArray[np.int64]) -> pd.DataFrame:
    """Return the `STATES` of `Segments.table`, ``of_all_cells`` and ``rounding`` for rows with one state each.

    ``copies`` (R, 2) are major and minor, of all tumour cells.
    """
    return pd.DataFrame(
        {
            "major_cn": copies[:, 0],
            "minor_cn": copies[:, 1],
            "fraction": 1.0,
            "subclonal_major_cn": UNKNOWN,
            "subclonal_minor_cn": UNKNOWN,
            "subclonal_fraction": np.nan,
            "other_fraction": 0.0,
            "of_all_cells": False,
            "rounding": 0.0,
        }
    )


def of_states(states: NDArray[np.int64], shares: NDArray[np.float64]) -> pd.DataFrame:
    """Return the alleles of rows with any number of states: (R, K, 2) major and minor copies, (R, K) shares of cells.

    Equal states are merged. The two with the largest shares are kept, in the order given. States with share 0 are
    ignored.
    """
    size = len(shares)
    states = np.concatenate([states, np.full((size, 2, 2), UNKNOWN)], axis=1)
    shares = np.concatenate([shares, np.zeros((size, 2))], axis=1)
    unite_equal(states, shares)
    largest = np.sort(np.argsort(-shares, axis=1, kind="stable")[:, :2], axis=1)
    rows = np.arange(size)
    first, second = largest[:, 0], largest[:, 1]
    # a single state may come after one with share 0
    first, second = np.where(shares[rows, first] > 0, (first, second), (second, first))
    fraction, second_fraction = shares[rows, first], shares[rows, second]
    has_second = second_fraction > 0
    second_state = np.where(has_second[:, None], states[rows, second], UNKNOWN)
    return one_state(states[rows, first]).assign(
        fraction=fraction,
        subclonal_major_cn=second_state[:, 0],
        subclonal_minor_cn=second_state[:, 1],
        subclonal_fraction=np.where(has_second, second_fraction, np.nan),
        other_fraction=np.where(
            (shares > 0).sum(axis=1) > 2, shares.sum(axis=1) - fraction - second_fraction, 0.0
        ),
    )


def unite_equal(states: NDArray[np.int64], shares: NDArray[np.float64]) -> None:
    """Add the (N, K) shares of equal states, (N, K, 2), to the first of them in place; the others become 0."""
    for one, other in itertools.combinations(range(shares.shape[1]), 2):
        same = (states[:, one] == states[:, other]).all(axis=1)
        shares[same, one] += shares[same, other]
        shares[same, other] = 0.0


def ordered(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (R, 2) major and minor copies of two alleles; both are unknown if one is."""
    copies = np.stack([np.maximum(first, second), np.minimum(first, second)], axis=1)
    return np.where(copies[:, 1:] == UNKNOWN, UNKNOWN, copies)


def of_pair(
    cells: SegmentCells,
    copies: Whole | Real = COPIES,
    *,
    is_ordered: bool = False,
    of_all_cells: bool = False,
) -> pd.DataFrame:
    """Read alleles from two columns in either order, or from the minor copies and the total.

    Where an allele is unknown, the total is used, if there is a column of it. ``copies`` reads a cell; real numbers are
    rounded. With ``is_ordered``, minor copies above the major ones are noted; otherwise the larger number is the major.
    With ``of_all_cells``, shares include the normal cells of the sample.
    """
    first, second, total = (cells.numbers(part, copies, np.float64) for part in ("major", "minor", "total"))
    if "major" not in cells:
        cells.note_larger((second > nearest(total)) & ~np.isnan(total), "minor", "total")
        first = total - second
    elif is_ordered:
        cells.note_larger((nearest(second) > nearest(first)) & ~np.isnan(first), "minor", "major")
    cells.note(
        np.abs(first + second - total) > _MOST_ROUNDED,
        "total",
        lambda row: (
            f"{cells.said('major', row)} and {cells.said('minor', row)} differ from it; expected their sum"
        ),
    )
    alleles = _rounded(cells, first, second, total)
    return alleles.assign(fraction=cells.share("fraction", otherwise=1.0), of_all_cells=of_all_cells)


def of_titan(cells: SegmentCells) -> pd.DataFrame:
    """Read TitanCNA, whose total goes first where it is not the sum of the alleles: then the minor copies are kept."""
    total = cells.copies("total")
    major, minor = with_totals(ordered(cells.copies("major"), cells.copies("minor")), total).T
    differs = (minor != UNKNOWN) & (total != UNKNOWN) & (major + minor != total)
    minor = np.where(differs, np.minimum(minor, total // 2), minor)
    major = np.where(differs, total - minor, major)
    for row in np.flatnonzero(differs).tolist():
        total_said, *said = (cells.said(part, row) for part in ("total", "major", "minor"))
        taken = f"the alleles are taken as {major[row]} and {minor[row]}"
        text = f"{total_said} of the segment is not the sum of {' and '.join(said)}; {taken}"
        cells.changes.append((row, text))
    return one_state(np.stack([major, minor], axis=1)).assign(fraction=cells.share("fraction", otherwise=1.0))


def with_totals(copies: NDArray[np.int64], total: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (R, 2) copies with the total in place of unknown ones. Totals of 0 and 1 determine both alleles."""
    of_total = np.stack([total, np.where((total >= 0) & (total <= 1), 0, UNKNOWN)], axis=1)
    return np.where(copies[:, 1:] == UNKNOWN, of_total, copies)


def of_facets(cells: SegmentCells) -> pd.DataFrame:
    """Read FACETS: the total, the minor copies, and the share of all cells, which is 1 or missing for normal states."""
    states = of_pair(cells)
    return states.assign(of_all_cells=states["fraction"] < 1)


def _rounded(
    cells: SegmentCells, first: NDArray[np.float64], second: NDArray[np.float64], total: NDArray[np.float64]
) -> pd.DataFrame:
    """Return the alleles of rows with real copy numbers of two alleles; where these are NaN, only the total is known.

    The total, on which the reads depend most, is rounded, then the minor copies; the major ones are the rest.
    """
    real = np.stack([np.maximum(first, second), np.minimum(first, second)], axis=1)
    real[np.isnan(real).any(axis=1)] = np.nan
    both = nearest(real.sum(axis=1))
    minor = np.minimum(nearest(real[:, 1]), both // 2)
    whole = np.stack([np.where(both == UNKNOWN, UNKNOWN, both - minor), minor], axis=1)
    copies = with_totals(whole, nearest(total))
    only_total = np.stack([total, np.where(copies[:, 1] == 0, 0.0, np.nan)], axis=1)
    real = np.where(np.isnan(real), only_total, real)
    rounding = np.nan_to_num(np.abs(real - copies)).max(axis=1)
    for row in np.flatnonzero(rounding > FAR).tolist():
        (real_major, real_minor), (major, minor) = real[row], copies[row]
        text = f"copy numbers {real_major:g} and {real_minor:g} of the segment rounded to {major} and {minor}"
        if np.isnan(real_minor):
            text = f"total copy number {real_major:g} of the segment rounded to {major}"
        cells.changes.append((row, text))
    return one_state(copies).assign(rounding=rounding)


def nearest(copies: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the nearest whole copy numbers that are not negative; -1 for NaN."""
    return np.where(np.isnan(copies), UNKNOWN, np.maximum(np.rint(np.nan_to_num(copies)), 0)).astype(np.int64)


def of_total_and_frequency(cells: SegmentCells) -> pd.DataFrame:
    """Read PURPLE 2: the total c and the frequency f of the major allele, which then has c·f copies.

    f is at least 0.5 where it is known; smaller values mean "not known".
    """
    total, frequency = cells.real_copies("total"), cells.numbers("frequency", ALLELE_FREQUENCY, np.float64)
    frequency = np.where(frequency < 0.5, np.nan, np.minimum(frequency, 1.0))
    minor = total * (1 - frequency)
    return _rounded(cells, total - minor, minor, total)


def of_battenberg(cells: SegmentCells) -> pd.DataFrame:
    """Read Battenberg's solution A: one state, or two whose shares make up all tumour cells."""
    first = ordered(cells.copies("major"), cells.copies("minor"))
    second = ordered(cells.copies("second_major"), cells.copies("second_minor"))
    share, second_share = cells.share("fraction"), cells.share("second_fraction")
    has_two = (second[:, 1] != UNKNOWN) & ~(second_share == 0)
    lacks_share = has_two & (np.isnan(share) | np.isnan(second_share) | (share + second_share == 0))
    is_second = np.isnan(second_share) & ("second_fraction" in cells)
    for part, lacks in (("fraction", lacks_share & ~is_second), ("second_fraction", lacks_share & is_second)):
        cells.note(lacks, part, "no share of the cells for one of two states; expected 0 to 1")
    together = share + second_share
    cells.note(
        has_two & (np.abs(together - 1) > _MOST_AMISS) & (together > 0),
        "second_fraction",
        lambda row: f"{cells.said('fraction', row)} and it add up to {together[row]:g}; expected 1",
    )
    shares = np.where(has_two, [share, second_share], [[1.0], [0.0]]).T
    return of_states(np.stack([first, second], axis=1), _of_tumour(shares))


def of_two_states(cells: SegmentCells) -> pd.DataFrame:
    """Read columns named as in the joined table: a second state, where there is one, and its share of tumour cells."""
    first = ordered(cells.copies("major"), cells.copies("minor"))
    second = ordered(cells.copies("second_major"), cells.copies("second_minor"))
    share = cells.share("second_fraction")
    has_two = second[:, 1] != UNKNOWN
    cells.note(has_two & np.isnan(share), "second_fraction", "no value; expected a share of cells: 0 to 1")
    cells.note(~has_two & (share > 0), "second_major", "no copy numbers of the second state")
    share = np.where(has_two, np.nan_to_num(share), 0.0)
    return of_states(np.stack([first, second], axis=1), np.stack([1.0 - share, share], axis=1))


def _of_tumour(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale (R, K) shares of cells to those of the tumour cells, which are all in these states; 0 if unknown."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num(shares / shares.sum(axis=1, keepdims=True))


def of_hatchet(cells: SegmentCells) -> pd.DataFrame:
    """Read HATCHet: the copies of each clone, and its share of all cells of the sample, including normal ones."""
    clones = [clone for clone in HATCHET_CLONES if f"cn_{clone}" in cells or f"u_{clone}" in cells]
    for part in (f"{kind}_{clone}" for clone in clones for kind in ("cn", "u")):
        if part not in cells:
            cells.note_header("this column is missing", part)
    raise_any(cells.problems)
    held = {part: cells.share(part) for part in ("u_normal", *(f"u_{clone}" for clone in clones))}
    for part, shares in held.items():
        cells.note(np.isnan(shares), part, "no value; expected a share of cells: 0 to 1")
    normal = held.pop("u_normal")
    of_all = np.stack(list(held.values()), axis=1)
    together = normal + of_all.sum(axis=1)
    cells.note(
        (np.abs(together - 1) > _MOST_AMISS) & (normal < 1),
        "u_normal",
        lambda row: f"the shares of normal cells and all clones add up to {together[row]:g}; expected 1",
    )
    _note_other_purity(cells, normal)
    pairs = [cells.numbers(f"cn_{clone}", pair_of_copies, np.int64, shape=(2,)) for clone in clones]
    states = np.stack([ordered(*pair.T) for pair in pairs], axis=1)
    # of a sample without tumour cells, which HATCHet lists beside others, no copies are known
    states[normal == 1], of_all[normal == 1] = UNKNOWN, 1.0
    return of_states(states, _of_tumour(of_all))


def _note_other_purity(cells: SegmentCells, normal: NDArray[np.float64]) -> None:
    """Note rows whose share of normal cells differs from that in the first row of the sample."""
    if "sample" not in cells or not len(cells):
        return
    of_sample = pd.Series(normal).groupby(cells.columns["sample"].codes).transform("first").to_numpy()
    cells.note(
        np.abs(normal - of_sample) > _MOST_AMISS,
        "u_normal",
        lambda row: f"another share of normal cells than in the first row of this sample, {of_sample[row]:g}",
    )
