"""The two states of the tumour cells: sums of shares, normal cells, and purity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyclone_pgsm.inputs.segments.joining import NEGLIGIBLE, states_of_tumour


def settle(first, share, second=(0, 0), second_share=0.0, normal=2) -> dict[str, np.ndarray]:
    shares = np.array([[share, second_share]])
    return states_of_tumour(np.array([first]), np.array([second]), shares, np.array([normal]), np.zeros(1))


def told(states: dict[str, np.ndarray]) -> tuple:
    """(major, minor), (major, minor) of the second, its share; or None if there are too many."""
    if states["too_many"][0]:
        return None
    main, second = (
        (states["major_cn"][0], states["minor_cn"][0]),
        (states["subclonal_major_cn"][0], states["subclonal_minor_cn"][0]),
    )
    return main, second, pytest.approx(states["subclonal_fraction"][0], abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"first": (2, 1), "share": 1.0}, ((2, 1), (0, 0), 0.0)),
        # Battenberg: two states that are all; the larger is the main one
        ({"first": (2, 1), "share": 0.7, "second": (1, 1), "second_share": 0.3}, ((2, 1), (1, 1), 0.3)),
        ({"first": (2, 1), "share": 0.3, "second": (3, 1), "second_share": 0.7}, ((3, 1), (2, 1), 0.3)),
        # TitanCNA: what is not in the event is normal
        ({"first": (2, 0), "share": 0.8}, ((2, 0), (1, 1), 0.2)),
        ({"first": (2, 0), "share": 0.3}, ((1, 1), (2, 0), 0.3)),
        ({"first": (2, 0), "share": 0.3, "normal": 1}, ((1, 0), (2, 0), 0.3)),
        ({"first": (1, 1), "share": 0.3}, ((1, 1), (0, 0), 0.0)),
        ({"first": (1, 0), "share": 0.3, "normal": 1}, ((1, 0), (0, 0), 0.0)),
        # normal cells, told as a state of their own or as the rest
        ({"first": (2, 0), "share": 0.3, "second": (1, 1), "second_share": 0.2}, ((1, 1), (2, 0), 0.3)),
        ({"first": (1, 1), "share": 0.2, "second": (2, 0), "second_share": 0.6}, ((2, 0), (1, 1), 0.4)),
        # the same state twice
        ({"first": (2, 0), "share": 0.3, "second": (2, 0), "second_share": 0.7}, ((2, 0), (0, 0), 0.0)),
        # three states
        ({"first": (2, 0), "share": 0.3, "second": (3, 0), "second_share": 0.3}, None),
        # hardly any
        ({"first": (2, 0), "share": 0.995}, ((2, 0), (0, 0), 0.0)),
        ({"first": (2, 0), "share": 0.005}, ((1, 1), (0, 0), 0.0)),
        (
            {"first": (2, 0), "share": 0.6, "second": (3, 0), "second_share": 0.395},
            ((2, 0), (3, 0), 0.395 / 0.995),
        ),
        # more than all, by the error of the purity
        ({"first": (2, 0), "share": 1.05}, ((2, 0), (0, 0), 0.0)),
        ({"first": (2, 0), "share": 0.8, "second": (3, 0), "second_share": 0.3}, ((2, 0), (3, 0), 3 / 11)),
        # a homozygous deletion in some cells
        ({"first": (0, 0), "share": 0.4}, ((1, 1), (0, 0), 0.4)),
        # a tie keeps the order of the file
        ({"first": (2, 1), "share": 0.5, "second": (3, 1), "second_share": 0.5}, ((2, 1), (3, 1), 0.5)),
    ],
)
def test_states(arguments: dict, expected: tuple | None) -> None:
    assert told(settle(**arguments)) == expected


copies = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda pair: (max(pair), min(pair)))


@settings(max_examples=300, deadline=None)
@given(first=copies, second=copies, share=st.floats(0, 1), rest=st.floats(0, 1), normal=st.integers(1, 2))
def test_mean_copies_are_kept(first, second, share, rest, normal) -> None:
    """The mean of the copies over the tumour cells stays what the segment says, but for the states left out."""
    second_share = (1 - share) * rest
    states = settle(first, share, second, second_share, normal)
    if states["too_many"][0]:
        return
    shares = [share, second_share, 1 - share - second_share]
    said = np.array([first, second, (normal - normal // 2, normal // 2)])
    fraction = states["subclonal_fraction"][0]
    assert 0 <= fraction <= 0.5 + 1e-12
    left_out = NEGLIGIBLE + states["not_modelled"][0]
    settled = np.array([states["major_cn"][0], states["minor_cn"][0]]) * (1 - fraction)
    settled = (
        settled + np.array([states["subclonal_major_cn"][0], states["subclonal_minor_cn"][0]]) * fraction
    )
    assert settled == pytest.approx(np.array(shares) @ said, abs=2 * 3 * left_out + 1e-9)
