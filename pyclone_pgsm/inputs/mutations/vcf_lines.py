"""The text of a VCF: its lines and their numbers, its header, and its records fed to the library that splits them.

The library reads from a pipe, into which a thread writes the records that have as many columns as the header. So every
compression, byte order mark and line end can be read that a table may have, each record's line in the file is known,
and nothing that is not used can trip the library: of the header it sees only the line with the names, which makes every
value text, and of records neither ID nor QUAL, and of INFO nothing but read counts.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import threading
import zlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from pyclone_pgsm.inputs.genome import LENGTHS, Build, harmonise_build, harmonise_chromosome
from pyclone_pgsm.inputs.mutations.counts import IN_INFO
from pyclone_pgsm.inputs.problems import FileProblems

DAMAGE = (OSError, EOFError, zlib.error)
"""What reading compressed lines can raise; `fault_in` explains it."""

FIXED = ("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT")
WITHOUT_SAMPLES = FIXED[:-1]
"""The columns of a VCF that has no samples."""

_GZIP = b"\x1f\x8b"
_BGZIP = re.compile(rb"\x1f\x8b\x08\x04.{8}BC", re.DOTALL)
_BGZIP_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
_BOM = "\xef\xbb\xbf"
_CONTIG = re.compile(r"##contig=<(.*)>")
_ID, _LENGTH = re.compile(r"(?:^|,)ID=([^,]+)"), re.compile(r"(?:^|,)length=(\d+)", re.IGNORECASE)
_COUNTS_IN_INFO = re.compile(rf"(?<![^;])(?:{'|'.join(IN_INFO)})=[^;]*")
_NAMED_BUILD = re.compile(r"##(?:reference|assembly)=(.*)|##contig=.*[<,]assembly=([^,>]+)")


@dataclass(frozen=True)
class Header:
    """What stands above the records.

    Attributes
    ----------
    line : int
        Line of the file with the column names, counted from 1.
    width : int
        Columns of a record.
    samples : list of str
        Names of the sample columns; none where there are no such columns.
    tumours : list of str
        Names that ``##tumor_sample`` declares.
    build : Build or None
        Genome build by the lengths of the contigs, else by names.
    """

    line: int
    width: int
    samples: list[str]
    tumours: list[str]
    build: Build | None


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Each line without its end, one character a byte, and its number counted from 1.

    Raises
    ------
    OSError, EOFError, zlib.error
        As `fault_in` explains.
    """
    with path.open("rb") as file, _unpacked(file) as text:
        for number, line in enumerate(text, start=1):
            yield number, (line.removeprefix(_BOM) if number == 1 else line).rstrip("\n")


def _unpacked(file: BinaryIO) -> TextIO:
    start = file.read(len(_GZIP))
    file.seek(0)
    content = gzip.GzipFile(fileobj=file) if start == _GZIP else file
    return io.TextIOWrapper(content, encoding="latin-1", newline=None)


def fault_in(problem: Exception) -> str:
    """What to tell of an error while lines are read."""
    if isinstance(problem, EOFError):
        return "the gzip compression breaks off: the file is cut short"
    if isinstance(problem, zlib.error | gzip.BadGzipFile):
        return f"the gzip compression is damaged: {problem}"
    return f"the file cannot be read: {getattr(problem, 'strerror', None) or problem}"


def note_cut_short(path: Path, problems: FileProblems) -> None:
    """Note a file compressed with bgzip that lacks the block all such files end in."""
    with path.open("rb") as file:
        if _BGZIP.match(file.read(14)):
            file.seek(-min(file.seek(0, os.SEEK_END), len(_BGZIP_END)), os.SEEK_END)
            if file.read() != _BGZIP_END:
                problems.add(
                    "the mark that bgzip puts at the end is missing: the file is cut short. If it is not, unpack it "
                    "and pack it again with bgzip"
                )


def decoded(text: str) -> str:
    """The UTF-8 text whose bytes are the characters of a line."""
    return text.encode("latin-1").decode("utf-8", errors="replace")


def read_header(lines: Iterator[tuple[int, str]], problems: FileProblems) -> Header:
    """Read lines up to that with the column names.

    Raises
    ------
    InputError
        If there is no such line, or it cannot be used.
    """
    tumours: list[str] = []
    named: set[Build] = set()
    lengths: dict[str, int] = {}
    for number, line in lines:
        if line.startswith("##"):
            _note_meta(decoded(line), tumours, named, lengths)
        elif line.startswith("#"):
            width, samples = _sample_names(line, number, problems)
            return Header(number, width, samples, tumours, _build(named, lengths))
        elif line.strip():
            raise problems.give_up(
                "records begin without a line of column names; expected is a line that begins with #CHROM",
                number,
            )
    raise problems.give_up("the file ends without a line of column names, which begins with #CHROM")


def _note_meta(line: str, tumours: list[str], named: set[Build], lengths: dict[str, int]) -> None:
    if line.startswith("##tumor_sample="):
        tumours.append(line.partition("=")[2].strip())
    if (found := _NAMED_BUILD.match(line)) and (build := harmonise_build(found[1] or found[2])):
        named.add(build)
    if contig := _CONTIG.match(line):
        name, length = _ID.search(contig[1]), _LENGTH.search(contig[1])
        if name and length and len(length[1]) < 12:
            lengths[harmonise_chromosome(name[1])] = int(length[1])


def _build(named: set[Build], lengths: dict[str, int]) -> Build | None:
    by_length = {
        build
        for build, known in LENGTHS.items()
        if any(lengths.get(chrom) == length for chrom, length in known.items() if chrom != "MT")
    }
    found = by_length or named
    return next(iter(found)) if len(found) == 1 else None


def _sample_names(line: str, number: int, problems: FileProblems) -> tuple[int, list[str]]:
    """The number of columns, and the names of those that are samples."""
    names = _columns(line)
    if tuple(names) == WITHOUT_SAMPLES:
        return len(names), []
    if tuple(names[: len(FIXED)]) != FIXED:
        message = f"the columns of a VCF are {', '.join(FIXED)} and the samples, separated by tabs"
        raise problems.give_up(message, number, decoded(line))
    samples = names[len(FIXED) :]
    for name in dict.fromkeys(samples):
        if samples.count(name) > 1:
            raise problems.give_up("two columns have this name; rename one", number, name)
        if not name.strip():
            raise problems.give_up("a sample column without a name", number)
    return len(names), samples


def _columns(line: str) -> list[str]:
    return decoded(line).rstrip("\t ").split("\t")


class Feed(threading.Thread):
    """Writes records into a pipe, after a header of nothing but the column names.

    Where the file has no columns of samples, each record gets one that is empty.

    Parameters
    ----------
    lines : iterator of (int, str)
        The lines below the header.
    header : Header
        The header.
    sink : int
        File descriptor to write to; it is closed at the end.

    Attributes
    ----------
    rows : array of int
        Line of each record written, in order. A record is here before it is in the pipe.
    faults : list of (int, str)
        Line of each record that was not written, and what is wrong with it.
    second_header : int or None
        Line of another header, with other columns, in the middle of the file. Nothing below it was written.
    damage : Exception or None
        Why the lines could not be read to their end.
    """

    def __init__(self, lines: Iterator[tuple[int, str]], header: Header, sink: int) -> None:
        super().__init__(daemon=True)
        self.rows = array("q")
        self.faults: list[tuple[int, str]] = []
        self.second_header: int | None = None
        self.damage: Exception | None = None
        self._lines, self._sink = lines, sink
        self._width = header.width
        self._names = "\t".join([*FIXED, *(f"s{place}" for place in range(max(len(header.samples), 1)))])
        self._samples = header.samples

    def run(self) -> None:
        """Write until the lines end or nobody reads any more."""
        try:
            with os.fdopen(self._sink, "w", encoding="latin-1", newline="\n") as pipe:
                pipe.write(f"##fileformat=VCFv4.2\n{self._names}\n")
                self._write_records(pipe.write)
        except BrokenPipeError:
            pass
        except DAMAGE as problem:
            self.damage = problem

    def _write_records(self, write: Callable[[str], object]) -> None:
        for number, line in self._lines:
            found = line.count("\t") + 1
            if found > self._width:
                line = line.rstrip("\t")
                found = line.count("\t") + 1
            if line.startswith("#"):
                if line.startswith("#CHROM\t") and _columns(line)[len(FIXED) :] != self._samples:
                    self.second_header = number
                    return
            elif "\0" in line:
                self.faults.append((number, "a byte of value 0 here: the file is damaged"))
            elif found == self._width:
                self.rows.append(number)
                chrom, pos, _, ref, alt, _, filters, info, *rest = line.split("\t", 8)
                counts = ";".join(_COUNTS_IN_INFO.findall(info)) or "."
                formats = rest[0] if self._samples else ".\t."
                write(f"{chrom}\t{pos}\t.\t{ref}\t{alt}\t.\t{filters}\t{counts}\t{formats}\n")
            elif line.strip():
                expected = f"{self._width} expected as in the line with the names"
                self.faults.append((number, f"{found} column{'s' if found > 1 else ''} found, {expected}"))
