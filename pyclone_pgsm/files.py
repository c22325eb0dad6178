"""Writing files so that a run killed at any moment leaves no half file under a final name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyclone_pgsm.errors import OutputError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well, and goes otherwise.

    Raises
    ------
    OutputError
        The folder is missing, not writable, or full.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as problem:
        raise OutputError(f"{path}: cannot be written: {problem.strerror or problem}") from problem
    finally:
        temporary.unlink(missing_ok=True)


def refuse_existing(path: Path, force: bool) -> None:
    """Stop before any work if an output is there already.

    Raises
    ------
    OutputError
        `path` exists and `force` is False, or its folder cannot be made.
    """
    if path.exists() and not force:
        raise OutputError(f"{path} exists already: use --force to replace it, or another name with -o")
    make_folder(path.parent)


def make_folder(folder: Path) -> None:
    """Make a folder if it is not there.

    Raises
    ------
    OutputError
        It cannot be made, or is a file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise OutputError(f"{folder}: the folder cannot be made: {problem.strerror or problem}") from problem
