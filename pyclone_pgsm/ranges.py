"""The bounds of options that are whole numbers."""

from __future__ import annotations

from pyclone_pgsm.errors import UsageError

BOUNDS: dict[str, tuple[int, int, str]] = {
    "iterations": (1, 1_000_000_000, "no chain gets that far"),
    "max_iterations": (2, 1_000_000_000, "no chain gets that far"),
    "burn_in": (0, 1_000_000_000, "no chain gets that far"),
    "thin": (1, 1_000_000_000, "no chain gets that far"),
    "chains": (1, 1000, "each has a state and a place in the trace"),
    "particles": (2, 10_000, "each may need two blocks, and more do not mix better"),
    "sweeps": (1, 10_000, "an iteration would not end; more iterations do the same, and are saved"),
    "moves": (1, 10_000, "an iteration would not end; more iterations do the same, and are saved"),
    "close_moves": (0, 10_000, "an iteration would not end; more iterations do the same, and are saved"),
    "anchors": (2, 20, "the states of a particle grow with the ways to part the anchors"),
    "scans": (0, 10_000, "a move would not end, and scans tell nothing new after a few"),
    "seed": (0, 2**63 - 1, "seeds have 63 bits"),
    "hyper_every": (1, 1_000_000_000, "no chain gets that far"),
}
"""Least and largest value of each number of the settings, and the reason of the largest."""


def check_range(parameter: str, value: int, least: int, most: int, reason: str) -> None:
    """Refuse a whole number that is out of range.

    Raises
    ------
    UsageError
        Names the parameter, the bound, and for the upper one its reason.
    """
    if value < least:
        raise UsageError(f"`{parameter}` {value}: must be at least {least}")
    if value > most:
        raise UsageError(f"`{parameter}` {value}: must be at most {most}: {reason}")
