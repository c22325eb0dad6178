"""Opening of text files: compression, encoding and line ends are detected from the content.

A table may be plain or compressed with gzip or bgzip, whatever its name, with or without a byte order mark, and with
the line ends of Unix, Windows or old Macs. Files of other kinds are recognised and named in the error.
"""

import gzip
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO, TypeVar

from pyclone_pgsm.errors import InputError
from pyclone_pgsm.files import storable
from pyclone_pgsm.inputs.problems import FileProblems, raise_any

T = TypeVar("T")

_GZIP = b"\x1f\x8b"
BEGINNING = 2**18  # bytes

_BINARY = {
    b"PK\x03\x04": "a zip archive or an Excel workbook (.xlsx); save the sheet as tab-separated text",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls); save the sheet as tab-separated text",
    b"BZh": "compressed with bzip2; unpack it, or use gzip",
    b"\xfd7zXZ": "compressed with xz; unpack it, or use gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it, or use gzip",
    _GZIP: "compressed twice with gzip; unpack it once",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
    b"PAR1": "a Parquet file; save it as tab-separated text",
    b"BAM": "a BAM file; {expected} is expected",
    b"CRAM": "a CRAM file; {expected} is expected",
    b"BCF": "a BCF file; {expected} is expected. `bcftools view FILE` writes a BCF as VCF",
    b"\x89PNG": "a PNG picture; {expected} is expected",
    b"\xff\xd8\xff": "a JPEG picture; {expected} is expected",
    b"%PDF": "a PDF document; {expected} is expected",
    b"\x89HDF": "an HDF5 file (a trace?); {expected} is expected",
    b"": "a binary file; {expected} is expected",
}

_FOREIGN_TEXT = {
    b"##fileformat=vcf": "a VCF file; {expected} is expected",
    b"<!doctype html": "a web page; download the table itself",
    b"<html": "a web page; download the table itself",
}

_COMPRESSED = re.compile(r"(?<=.)\.(gz|bgz)$", re.IGNORECASE)
_ENDINGS = re.compile(r"(?<=.)\.(vcf|maf|tsv|csv|txt|npy|parquet)$", re.IGNORECASE)
_LINE_END = re.compile(rb"\r\n|\r|\n")
_CELL_END = re.compile(rb"[\t,;]")
_NEVER_IN_TEXT = re.compile(rb"[\x00-\x08\x0e-\x19\x1c-\x1f]")


def file_stem(path: Path) -> str:
    """Return the name of a file without folder and without the endings for compression and format."""
    return _ENDINGS.sub("", _COMPRESSED.sub("", storable(path.name)))


def open_text(path: Path, problems: FileProblems, expected: str) -> TextIO:
    """Open a file as text in which all line ends are newlines.

    Lines that are not UTF-8 are noted as problems, and the bytes replaced so that the rest can be read. ``expected``
    describes the expected file in messages about files of another kind.
    """
    with unpacked(path, problems, expected) as file:
        content = file.read()
    faulty = _lines_not_utf8(content)
    if b"\x00" in content or (faulty and _NEVER_IN_TEXT.search(content)):
        what = _by_signature(content, _BINARY, expected)
        if _may_be_utf16(content) and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
            what = f"a binary file, or UTF-16 text; {expected} is expected: save text as UTF-8"
        raise problems.give_up(f"this is {what}")
    if what := _by_signature(content[:100].lstrip().lower(), _FOREIGN_TEXT, expected):
        raise problems.give_up(f"this is {what}")
    for row, cell in problems.keep_first(faulty):
        problems.add("not UTF-8 (shown as Latin-1); save the file as UTF-8", row, value=cell)
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", errors="replace", newline=None)


@contextmanager
def open_lines(path: Path, problems: FileProblems) -> Iterator[TextIO]:
    """Open a file too large to hold in memory as lines of text; bytes that are not UTF-8 become U+FFFD."""
    with unpacked(path, problems) as file:
        yield io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline=None)


def check_exist(paths: Iterable[Path]) -> None:
    """Raise InputError for all files that do not exist; of others that cannot be opened, reading them tells why."""
    found = {path: FileProblems(str(path)) for path in paths}
    for path, problems in found.items():
        with suppress(OSError):
            if not path.exists():
                problems.add("no such file")
    raise_any(*found.values())


def read_each(found: Sequence[FileProblems], read: Callable[[int], T]) -> dict[str, T]:
    """Read several files in turn; return the result of ``read``, by file, of each one that could be read.

    ``read`` takes the index of a file, and raises InputError if nothing can be read. If a file is given twice, only the
    first is read, and this is noted.
    """
    first: dict[str, str] = {}
    results = {}
    for place, problems in enumerate(found):
        try:
            real = os.path.realpath(problems.file)
        except (OSError, ValueError):  # no file can have this name, as reading it will report
            real = problems.file
        if real in first:
            problems.add(f"this file is given twice (the first time as {first[real]!r}); give it once")
            continue
        first[real] = problems.file
        with suppress(InputError):
            results[problems.file] = read(place)
    return results


def beginning(path: Path) -> bytes:
    """Return the first :data:`BEGINNING` bytes of a file, decompressed; fewer if it is shorter or cannot be read."""
    found = b""
    with suppress(InputError, OSError, ValueError):
        if path.is_file():
            with unpacked(path, FileProblems(str(path))) as file:
                while len(found) < BEGINNING and (more := file.read1(BEGINNING - len(found))):  # type: ignore[attr-defined]
                    found += more
    return found


@contextmanager
def unpacked(path: Path, problems: FileProblems, expected: str = "a file") -> Iterator[BinaryIO]:
    """Open the decompressed bytes of a file; raise InputError if it cannot be opened or its bytes are damaged."""
    try:
        packed = path.open("rb")
    except FileNotFoundError:
        raise problems.give_up("no such file") from None
    except IsADirectoryError:
        raise problems.give_up(f"this is a directory; expected is {expected}") from None
    except PermissionError:
        raise problems.give_up("no permission to read the file") from None
    except (OSError, ValueError) as fault:
        raise problems.give_up(_unreadable(fault)) from None
    try:
        with packed:
            if path.is_char_device() and not packed.isatty():
                raise problems.give_up(f"this is a device, which may have no end; expected is {expected}")
            is_gzip = packed.peek(len(_GZIP)).startswith(_GZIP)
            yield gzip.GzipFile(fileobj=packed) if is_gzip else packed  # type: ignore[misc]
    except EOFError:
        raise problems.give_up("the gzip compression breaks off: the file is cut short") from None
    except (gzip.BadGzipFile, zlib.error) as fault:
        raise problems.give_up(f"the gzip compression is damaged: {fault}") from None
    except OSError as fault:
        raise problems.give_up(_unreadable(fault)) from None


def _unreadable(fault: Exception) -> str:
    return f"the file cannot be read: {getattr(fault, 'strerror', None) or fault}"


def _by_signature(content: bytes, kinds: dict[bytes, str], expected: str) -> str | None:
    found = next((what for signature, what in kinds.items() if content.startswith(signature)), None)
    return None if found is None else found.format(expected=expected)


def _may_be_utf16(content: bytes) -> bool:
    """Whether text of mostly ASCII may be UTF-16 without a byte-order mark: nearly every other byte is 0, no other."""
    even, odd = content[:1000:2], content[1:1000:2]
    return any(
        zero.count(0) > 0.9 * len(zero) and not other.count(0) for zero, other in ((even, odd), (odd, even))
    )


def _lines_not_utf8(content: bytes) -> list[tuple[int, str]]:
    """Return row and cell of the first encoding error in each line."""
    with suppress(UnicodeDecodeError):
        content.decode("utf-8")
        return []
    faulty = []
    for row, line in enumerate(_LINE_END.split(content), start=1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as fault:
            before = _CELL_END.split(line[: fault.start])[-1]
            after = _CELL_END.split(line[fault.start :])[0]
            faulty.append((row, (before + after).decode("latin-1")))
    return faulty
