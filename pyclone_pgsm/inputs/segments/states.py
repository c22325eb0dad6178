"""Copy-number states of the tumour cells at each locus, from the segments and the copies in normal cells.

A segment gives one or two states with their shares of the cells, and possibly the share of further states. A share f of
all cells is a share f/t of the tumour cells, where t is the tumour content. Tumour cells in none of these states have
the copies of normal cells, as in TitanCNA, FACETS and PhyloWGS. The model uses the two states with the largest shares,
the larger as the main one. States with a share of at most `NEGLIGIBLE` are ignored; omitting further states with a
share of at most `MOST_NOT_MODELLED` is a small error.
"""

import itertools

import numpy as np
from numpy.typing import NDArray

NEGLIGIBLE = 0.01
"""States with at most this share of the tumour cells are left out."""

MOST_NOT_MODELLED = 0.1
"""Largest share of the tumour cells that may be in states other than the two largest. The two are then taken as all.
The total copy number, and with it the prevalence, is off by about this share times the difference in copies divided by
the total: for one copy of two, by 5 % at most. That is less than the binomial error of one mutation at depth 400."""

EXCESS = 1.1
"""Shares of all cells whose sum is between the tumour content divided by this and multiplied by this are taken for all
tumour cells, as both are estimates; larger ones contradict the content."""


def unite_equal(states: NDArray[np.int64], shares: NDArray[np.float64]) -> None:
    """Add the (N, K) shares of equal states, (N, K, 2), to the first of them in place; the others become 0."""
    for one, other in itertools.combinations(range(shares.shape[1]), 2):
        same = (states[:, one] == states[:, other]).all(axis=1)
        shares[same, one] += shares[same, other]
        shares[same, other] = 0.0


def states_of_tumour(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    shares: NDArray[np.float64],
    normal_cn: NDArray[np.int64],
    others: NDArray[np.float64],
) -> dict[str, NDArray]:
    """Determine the states of N loci, the main one and a second one.

    ``first`` and ``second`` are (N, 2) major and minor copies of the states in the segments, arbitrary where the share
    is 0; ``shares`` (N, 2) are their shares of the tumour cells, with totals above 1 scaled to 1; ``others`` (N,) those
    of further states, none of them larger.

    The result has the (N,) columns ``major_cn minor_cn`` of the main state, ``subclonal_major_cn subclonal_minor_cn
    subclonal_fraction`` of the second, 0 where there is one state, ``not_modelled``, the share of the tumour cells in
    further states, and ``too_many``, whether it is too large. The fraction is of the cells in the two states.
    """
    normal = np.stack([normal_cn - normal_cn // 2, normal_cn // 2], axis=1)
    states = np.stack([first, second, normal], axis=1)
    known = shares.sum(axis=1, keepdims=True) + others[:, None]
    all_cells = np.maximum(known, 1.0)
    held = np.concatenate([shares / all_cells, 1 - known / all_cells], axis=1)
    others = others / all_cells[:, 0]
    unite_equal(states, held)
    held[held <= NEGLIGIBLE] = 0.0
    order = np.argsort(-held, axis=1, kind="stable")
    rows = np.arange(len(held))
    main, rest = order[:, 0], order[:, 1]
    has_second = held[rows, rest] > 0
    main_share, second_share = held[rows, main], held[rows, rest]
    not_modelled = held[rows, order[:, 2]] + np.where(others > NEGLIGIBLE, others, 0.0)
    return {
        "major_cn": states[rows, main, 0],
        "minor_cn": states[rows, main, 1],
        "subclonal_major_cn": np.where(has_second, states[rows, rest, 0], 0),
        "subclonal_minor_cn": np.where(has_second, states[rows, rest, 1], 0),
        "subclonal_fraction": np.where(has_second, second_share / (main_share + second_share), 0.0),
        "not_modelled": not_modelled,
        "too_many": not_modelled > MOST_NOT_MODELLED + 1e-9,
    }
