"""Where the data sets are that are not simulated. The Snakefile too asks this module: it imports nothing heavy."""

from __future__ import annotations

from pathlib import Path

SIPU = "https://cs.joensuu.fi/sipu/datasets/"
FILES: dict[str, tuple[str, str]] = {
    **{f"s{n}": (f"s_sets/s{n}.csv", "columns x, y and label (1 to 15), 5,000 rows") for n in range(1, 5)},
    **{
        f"dim{D:03}": (f"dim_sets/dim{D:03}.csv", f"columns x0 to x{D - 1} and label (1 to 16), 1,024 rows")
        for D in (64, 128)
    },
    "dim128x10": ("dim_sets/dim128.csv", "columns x0 to x127 and label (1 to 16), 1,024 rows"),
    "mopsi": (
        "mopsi/MopsiLocationsUntil2012-Finland.csv",
        "columns Latitude and Longitude in 1/10,000 of a degree, 13,467 rows",
    ),
}
"""Where in the folder a data set is, and what the file holds."""


class MissingData(Exception):
    """A file is not in the folder."""


def data_file(name: str, folder: Path) -> Path | None:
    """Where a data set is read from; None if it is simulated.

    Raises
    ------
    MissingData
        It is not there. The text says what is wanted.
    """
    if name not in FILES:
        return None
    place, content = FILES[name]
    path = folder / place
    if not path.is_file():
        raise MissingData(
            f"{path} is missing: {content}, with a header, separated by commas; made from {SIPU} "
            "(workflows/paper/README.md says how to run the experiments that do not need it)"
        )
    return path
