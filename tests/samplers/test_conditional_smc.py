"""Parts of the particle kernel. (That the move is exact: tests/exact.)"""

from __future__ import annotations

import numpy as np
import pytest

from pyclone_pgsm.samplers.conditional_smc import NONE, trace_path


@pytest.mark.parametrize(
    ("chosen", "choices"), [(0, [0, 1, 0, 0, 2, 1]), (1, [0, 1, 1, 1, 2, 1]), (NONE, [0] * 6)]
)
def test_a_path_is_traced_back(chosen: int, choices: list[int]) -> None:
    """Particle p of step t descends from p // 3 of the step before, and so on; the remainder is the choice."""
    sigma = np.array([4, 2, 0, 5, 1, 3])
    parents_and_choices = {
        1: {0: (0, 0), 1: (0, 1)},
        2: {0: (1, 0), 1: (1, 1)},
        3: {0: (1, 1), 1: (0, 0)},
        4: {0: (1, 2), 1: (0, 2)},
        5: {0: (0, 1), 1: (1, 1)},
    }
    ancestry = np.zeros((6, 2), np.int32)
    for step, particles in parents_and_choices.items():
        for number, (parent, choice) in particles.items():
            ancestry[step, number] = 3 * parent + choice
    assert trace_path(sigma, ancestry, 3, chosen).choices.tolist() == choices
