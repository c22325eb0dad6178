"""Bounds of the integer options, and the reasons for the upper ones."""

from __future__ import annotations

from pyclone_pgsm.errors import UsageError

_TOO_MANY_ITERATIONS = "no chain can run that long"
_TOO_SLOW = "an iteration would take too long; run more iterations instead, which are also saved"
_TOO_MANY_STATES = "the number of states of a particle grows with the number of partitions of the anchors"

BOUNDS: dict[str, tuple[int, int, str]] = {
    "iterations": (1, 1_000_000_000, _TOO_MANY_ITERATIONS),
    "max_iterations": (2, 1_000_000_000, _TOO_MANY_ITERATIONS),
    "burn_in": (0, 1_000_000_000, _TOO_MANY_ITERATIONS),
    "thin": (1, 1_000_000_000, _TOO_MANY_ITERATIONS),
    "chains": (1, 1000, "each chain needs memory and space in the trace"),
    "particles": (2, 10_000, "each may need two blocks, and more do not mix better"),
    "sweeps": (1, 10_000, _TOO_SLOW),
    "moves": (1, 10_000, _TOO_SLOW),
    "close_moves": (0, 10_000, _TOO_SLOW),
    "anchors": (2, 20, _TOO_MANY_STATES),
    "scans": (0, 10_000, "a move would take too long, and more than a few scans do not help"),
    "seed": (0, 2**63 - 1, "seeds have 63 bits"),
    "hyper_every": (1, 1_000_000_000, _TOO_MANY_ITERATIONS),
}
"""Smallest and largest value of each integer setting, and the reason for the upper bound."""


def check_range(parameter: str, value: int, least: int, most: int, reason: str) -> None:
    """Check that an integer is in its range.

    Raises
    ------
    UsageError
        It is not; the message names the parameter and the bound, and the reason for an upper bound.
    """
    if value < least:
        raise UsageError(f"`{parameter}` {value}: must be at least {least}")
    if value > most:
        raise UsageError(f"`{parameter}` {value}: must be at most {most}: {reason}")
