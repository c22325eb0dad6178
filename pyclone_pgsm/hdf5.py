"""HDF5 files that are made in memory and then written as a whole, by ordinary writes.

HDF5 cannot be stopped by a full disk: objects whose content it could not write cannot be closed, and closing the file
over them ends in a segmentation fault. In memory no write fails; what is written afterwards can, and is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py

from pyclone_pgsm.errors import OutputError
from pyclone_pgsm.files import write_file

FILE_SPACE: dict[str, Any] = {"fs_strategy": "fsm", "fs_persist": True}  # reuse what deleted objects took


@contextmanager
def new_file(path: Path) -> Iterator[h5py.File]:
    """A new HDF5 file, which takes its place at the end of the block.

    Raises
    ------
    OutputError
        It cannot be written.
    """
    image = BytesIO()
    with h5py.File(image, "w", **FILE_SPACE) as file:
        yield file
    write_file(path, image.getbuffer())


@contextmanager
def changed_file(path: Path) -> Iterator[h5py.File]:
    """An HDF5 file to change; the changed one takes the place of the other at the end of the block.

    Raises
    ------
    OutputError
        It cannot be read or written.
    """
    try:
        image = BytesIO(path.read_bytes())
    except OSError as problem:
        raise OutputError(f"{path}: cannot be read: {problem.strerror or problem}") from problem
    with h5py.File(image, "r+") as file:
        yield file
    write_file(path, image.getbuffer())
