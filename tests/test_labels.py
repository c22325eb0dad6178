"""Canonical labels, of small numbers and of anything else; evenly spaced numbers."""

from __future__ import annotations

import numpy as np
import pytest

from pyclone_pgsm.labels import canonical, evenly_spaced


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([], []),
        ([7], [0]),
        ([3, 3, 0, 5, 0], [0, 0, 1, 2, 1]),
        ([-1, 4, -1], [0, 1, 0]),
        ([10**12, 0, 10**12], [0, 1, 0]),
        (["b", "a", "b"], [0, 1, 0]),
        ([0.5, 0.1, 0.5], [0, 1, 0]),
    ],
)
def test_numbered_by_first_appearance(labels, expected):
    found = canonical(labels)
    assert found.tolist() == expected
    assert found.dtype == np.int64


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int32, np.int64])
@pytest.mark.parametrize("clusters", [1, 5, 200, 256])
def test_same_as_by_hand(kind, clusters):
    labels = np.random.default_rng(clusters).integers(0, clusters, 300).astype(kind)
    seen: dict[int, int] = {}
    expected = [seen.setdefault(label, len(seen)) for label in labels.tolist()]
    assert canonical(labels).tolist() == expected
    np.testing.assert_array_equal(canonical(labels.astype(np.int64) * 10**9 - 5), expected)


@pytest.mark.parametrize(
    ("number", "most", "expected"),
    [
        (0, 5, []),
        (1, 5, [0]),
        (5, 1, [0]),
        (5, 5, [0, 1, 2, 3, 4]),
        (5, 9, [0, 1, 2, 3, 4]),
        (10, 4, [0, 3, 6, 9]),
    ],
)
def test_evenly_spaced(number, most, expected):
    assert evenly_spaced(number, most).tolist() == expected


def test_evenly_spaced_numbers_are_distinct():
    for number in range(1, 120):
        for most in range(2, number + 1):
            found = evenly_spaced(number, most)
            assert len(found) == most
            assert (found[0], found[-1]) == (0, number - 1)
            assert (np.diff(found) > 0).all()
