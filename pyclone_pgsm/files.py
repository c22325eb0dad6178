"""Writing files so that a run killed at any moment leaves no half file under a final name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
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
        reason = os.strerror(problem.errno) if problem.errno else problem
        raise OutputError(f"{path}: cannot be written: {reason}") from problem
    finally:
        with suppress(OSError):
            temporary.unlink()


def refuse_existing(path: Path, force: bool) -> None:
    """Stop before any work if an output is there already.

    Raises
    ------
    OutputError
        `path` exists and `force` is False, or its folder cannot be made.
    """
    check_new(path, force)
    make_folder(path.parent)


def check_new(path: Path, force: bool) -> None:
    """:func:`refuse_existing` without making the folder: nothing is written before all is known to be right.

    Raises
    ------
    OutputError
        `path` exists and `force` is False, or its folder could not be made.
    """
    if path.exists() and not force:
        raise OutputError(f"{path} exists already: use --force to replace it, or another name with -o")
    folder = path.parent
    if folder.is_dir():
        return
    if folder.exists():
        raise OutputError(f"{folder}: is a file, not a folder")
    existing = next(parent for parent in folder.absolute().parents if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        problem = "Permission denied" if existing.is_dir() else "Not a directory"
        raise OutputError(f"{folder}: the folder cannot be made: {problem}")


def refuse_inputs(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Stop if an output would replace what is read.

    Raises
    ------
    OutputError
    """
    read = {path.resolve() for path in inputs}
    for path in outputs:
        if path.resolve() in read:
            raise OutputError(
                f"{path}: is an input, which the output would replace: use another name with -o"
            )


def make_folder(folder: Path) -> None:
    """Make a folder if it is not there.

    Raises
    ------
    OutputError
        It cannot be made, or is a file.
    """
    made: list[Path] = []
    try:
        for each in (*reversed(folder.parents), folder):
            if not each.is_dir():
                each.mkdir(exist_ok=True)
                made.append(each)
    except FileExistsError:
        raise OutputError(f"{folder}: is a file, not a folder") from None
    except OSError as problem:
        for each in reversed(made):
            with suppress(OSError):
                each.rmdir()
        raise OutputError(f"{folder}: the folder cannot be made: {problem.strerror or problem}") from problem


def remove(path: Path) -> None:
    """Remove a file if it is there.

    Raises
    ------
    OutputError
        It cannot be removed, or is a folder.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as problem:
        raise OutputError(f"{path}: cannot be replaced: {problem.strerror or problem}") from problem
