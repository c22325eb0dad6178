"""Writing files so that a failure neither leaves an incomplete file under its final name nor destroys an older file.

A file is written under a hidden name in the same folder, and renamed when it is complete. Files that belong together
are renamed together, when all are complete. The writing process locks its hidden files. A hidden file without a lock
was left by a process that died; it is removed at the next write into its folder. If a file cannot be written, an
:class:`~pyclone_pgsm.errors.OutputError` is raised.
"""

import errno
import fcntl
import os
import shlex
import shutil
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from pyclone_pgsm.errors import OutputError
from pyclone_pgsm.ranges import check_bool
from pyclone_pgsm.stopping import held_back

PART = ".pyclone-pgsm.part"
"""Suffix of the hidden names."""
UNFINISHED = ".unfinished"


@dataclass
class _Batch:
    """Files that are renamed to their final paths together.

    `sources` are the files by final path, and `parts` the descriptors of the hidden ones among them. `outdated` are
    files to remove, and `folders` those made for the files, removed if these are not written. Folders in `swept` have
    been cleared of hidden files of dead processes.
    """

    sources: dict[Path, Path] = field(default_factory=dict)
    parts: dict[Path, int] = field(default_factory=dict)
    outdated: list[Path] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    swept: set[Path] = field(default_factory=set)

    def open_part(self, target: Path) -> Path:
        if target.parent not in self.swept:
            remove_leftovers(target.parent)
            self.swept.add(target.parent)
        part = target.with_name(f".{target.name}.{os.getpid()}{PART}")
        self.sources[target], self.parts[part] = part, -1
        while True:
            descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
            self.parts[part] = descriptor
            with suppress(OSError):  # shared, because readers lock it, too, once it has its final name
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if is_at(descriptor, part):
                return part
            os.close(descriptor)  # another process removed it, as it was not yet locked

    def commit(self) -> None:
        for target in self.sources:
            if target.is_dir():
                raise OutputError(f"{target}: cannot be written: a folder has this name")
        for target, source in self.sources.items():
            with told(target):
                os.replace(source, target)
        for path in self.outdated:
            if Path(os.path.realpath(path)) not in self.sources:
                with told(path):
                    path.unlink(missing_ok=True)
        self.folders.clear()

    def close(self) -> None:
        """Remove hidden files that were not renamed, and the folders made for them."""
        for part, descriptor in self.parts.items():
            with suppress(OSError):
                os.unlink(part)
            if descriptor >= 0:
                os.close(descriptor)
        for folder in reversed(self.folders):
            with suppress(OSError):
                folder.rmdir()


_current: ContextVar[_Batch | None] = ContextVar("files that are being written", default=None)


@contextmanager
def replacing_together() -> Iterator[_Batch]:
    """Delay renaming and removing files to the end of the block; if the block fails, no file changes.

    If the process is killed between two of these renames, new and old files are mixed, but each is complete. A nested
    block is part of the outer one.
    """
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    batch = _Batch()
    token = _current.set(batch)
    try:
        yield batch
        with held_back():
            batch.commit()
    finally:
        with held_back():
            _current.reset(token)
            batch.close()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a hidden path beside `path`; the file replaces `path` after the block, or is removed if the block fails.

    If `path` is a symbolic link, its target is replaced. Within :func:`replacing_together`, the replacement happens at
    the end of that block.
    """
    with replacing_together() as batch, told(path):
        yield batch.open_part(_destination(path))


def write_file(path: Path, content: bytes | memoryview) -> None:
    """Write a whole file by Python's own writes, which report every failure; some libraries do not."""
    with replacing(path) as part, part.open("wb") as file:
        file.write(content)


def storable(text: str) -> str:
    """Write what UTF-8 lacks, such as bytes of a file's name that are no text, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


@contextmanager
def told(path: Path, where: str = "") -> Iterator[None]:
    """Turn operating-system errors into messages that name the file; `where` begins the reason."""
    try:
        yield
    except OSError as problem:
        reason = os.strerror(problem.errno) if problem.errno else str(problem)
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = f"no space left on {path.parent} ({reason})"
        elif problem.errno == errno.EFBIG:
            reason = f"larger than ulimit -f or the file system allows ({reason})"
        else:
            reason = where + reason
        raise OutputError(f"{path}: cannot be written: {reason}") from problem


def is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file still has this name: others may have removed it before it was locked."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _destination(path: Path) -> Path:
    """Resolve symbolic links; raise OutputError if they form a loop."""
    try:
        os.stat(path)
    except OSError as problem:
        if problem.errno == errno.ELOOP:
            raise OutputError(f"{path}: its symbolic links lead in a circle: use another name") from None
    return Path(os.path.realpath(path))


def remove_leftovers(folder: Path) -> None:
    """Remove the hidden files of processes that died while writing into a folder."""
    with suppress(OSError):
        for path in folder.glob(f".*{PART}"):
            with suppress(OSError):
                descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(path)
                finally:
                    os.close(descriptor)


def unfinished(path: Path) -> Path:
    """Return the name of a growing file while an older one still exists at `path`, as in ``trace.unfinished.h5``."""
    return path.with_name(f"{path.stem}{UNFINISHED}{path.suffix}")


def finished(path: Path) -> Path:
    """Return the final name of a file: the inverse of :func:`unfinished`; other names stay unchanged."""
    return path.with_name(f"{path.stem.removesuffix(UNFINISHED)}{path.suffix}")


def how_to_continue(trace: Path, likelihood: str | None) -> str:
    """Return the commands that continue an interrupted trace and make its tables, for a message.

    `likelihood` is that of the trace if its code is in a file, else None.
    """
    end = finished(trace)
    code = f" --likelihood {shlex.quote(likelihood)}" if likelihood else ""
    folder = shlex.quote(str(end.parent)) if end.name == "trace.h5" else "FOLDER"
    text = (
        f"go on with pyclone-pgsm resume {shlex.quote(str(trace))}{code}, then make the tables with "
        f"pyclone-pgsm summarize {shlex.quote(str(end))} -o {folder}{code}"
    )
    return text if end == trace else f"{text} --force; the older results are unchanged"


def take_place(path: Path, target: Path) -> None:
    """Replace `target` by a complete file; within :func:`replacing_together`, at the end of that block."""
    if path != target:
        with replacing_together() as batch:
            batch.sources[_destination(target)] = path


def check_new(path: Path, force: bool) -> None:
    """Raise OutputError if an output exists and `force` is False, or if its folder cannot be made."""
    force = check_bool("force", force)
    _destination(path)
    if path.exists() and not force:
        raise OutputError(f"{path} exists already: use `force` to replace it, or give another name")
    folder = path.parent
    if folder.is_dir():
        return
    if folder.exists():
        raise OutputError(f"{folder}: is a file, not a folder")
    existing = next(parent for parent in folder.absolute().parents if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        is_read_only = os.statvfs(existing).f_flag & os.ST_RDONLY
        refusal = "Read-only file system" if is_read_only else "Permission denied"
        problem = refusal if existing.is_dir() else "Not a directory"
        raise OutputError(f"{folder}: the folder cannot be made: {problem}")


def check_file(path: Path, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Raise OutputError if an output is a folder, would replace an input, or exists and `force` is False."""
    refuse_folder(path)
    refuse_inputs([path], inputs)
    check_new(path, force)


def refuse_folder(path: Path) -> None:
    """Raise OutputError if there is a folder in the place of an output file."""
    if path.is_dir():
        raise OutputError(f"{path} is a folder: give the name of a file")


def refuse_inputs(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Raise OutputError if an output would replace an input."""
    read = {os.path.realpath(path) for path in inputs}
    for path in outputs:
        if os.path.realpath(path) in read:
            raise OutputError(f"{path}: is an input, which the output would replace: give another name")


def check_files(folder: Path, names: Iterable[str], force: bool, inputs: Iterable[Path] = ()) -> None:
    """Raise OutputError if an output folder is a file or cannot be made, or if one of the files to be written in it is
    a folder or an input, or exists and `force` is False.
    """
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file: give a folder")
    outputs = [folder / name for name in names]
    refuse_inputs(outputs, inputs)
    for path in outputs:
        refuse_folder(path)
        check_new(path, force)


def make_folder(folder: Path) -> None:
    """Make a folder if it does not exist; within :func:`replacing_together`, it is removed if that block fails."""
    folder = _destination(folder)
    with replacing_together() as batch:
        batch.folders += [each for each in (*reversed(folder.parents), folder) if not each.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise OutputError(f"{folder}: is a file, not a folder") from None
        except OSError as problem:
            reason = problem.strerror or problem
            raise OutputError(f"{folder}: the folder cannot be made: {reason}") from problem


def write_files(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write whole files, given by name, into a folder, which is made if there are any; return their paths."""
    if files:
        make_folder(folder)
    for name, content in files.items():
        write_file(folder / name, content)
    return [folder / name for name in files]


def remove(path: Path) -> None:
    """Remove a file if it exists; within :func:`replacing_together`, at the end of that block."""
    with replacing_together() as batch:
        batch.outdated.append(path)


def remove_with(owner: object, folder: Path) -> None:
    """Remove a temporary folder once `owner` is deleted, but not when a fork of this process deletes its copy."""
    process = os.getpid()

    def remove_own() -> None:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)

    weakref.finalize(owner, remove_own)
