"""The header of a VCF: the names of its columns, the tumour and normal samples it declares, and the genome build."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pyclone_pgsm.inputs.genome import LENGTHS, Build, harmonise_build, harmonise_chromosome
from pyclone_pgsm.inputs.problems import FileProblems

FIXED = ("#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT")
"""The columns before those of the samples."""
NO_TEXT = "\ufffd"
"""What stands for bytes that are not UTF-8."""
WITHOUT_SAMPLES = FIXED[:-1]
"""The columns of a VCF without samples."""
COLUMNS = f"the columns of a VCF are {', '.join(FIXED)} and the samples, separated by tabs"

_CONTIG = re.compile(r"##contig=<(.*)>")
_ID, _LENGTH = re.compile(r"(?:^|,)ID=([^,]+)"), re.compile(r"(?:^|,)length=(\d+)", re.IGNORECASE)
_NAMED_BUILD = re.compile(r"##(?:reference|assembly)=(.*)|##contig=.*[<,]assembly=([^,>]+)")

_STATUS, _VALUE = re.compile("##(INFO|FORMAT)=<ID=SS,"), re.compile(r"(\d)=([^,\"()]*\w)")
_OF_NORMAL = re.compile("##INFO=<ID=(SHARED|NORMAL),Number=0,")
"""Matches the flags that Lancet describes, always both."""
_MAY_BE_SOMATIC = ("somatic", "wildtype", "reference")
"""Statuses to take: a sample without the mutation has data on it, too."""


@dataclass(frozen=True)
class Header:
    """Content of the lines above the records."""

    line: int
    """Line of the file with the column names, counted from 1."""
    columns: list[str]
    tumours: list[str]
    """Samples that ``##tumor_sample`` declares."""
    normals: list[str]
    """Samples that ``##normal_sample`` declares."""
    build: Build | None
    not_somatic: dict[str, str]
    """Values of the field SS, as described here, of mutations that are not somatic, and what they mean."""
    marks_somatic: bool
    """Whether records without the flag SOMATIC in INFO are of germline variants, as in files of Octopus."""
    germline_flags: frozenset[str]
    """Flags in INFO of mutations that the normal sample has, as in files of Lancet."""

    @property
    def samples(self) -> list[str]:
        return self.columns[len(FIXED) :]


def read_header(lines: Iterator[tuple[int, str]], problems: FileProblems) -> Header:
    """Read the lines up to the one with the column names."""
    meta: list[str] = []
    for number, line in lines:
        if line.startswith("##"):
            meta.append(line)
        elif line.startswith("#"):
            flags = frozenset(found[1] for found in map(_OF_NORMAL.match, meta) if found)
            return Header(
                line=number,
                columns=_checked_columns(line, number, problems),
                tumours=_declared(meta, "##tumor_sample="),
                normals=_declared(meta, "##normal_sample="),
                build=_build(meta),
                not_somatic=_not_somatic(meta),
                marks_somatic=bool(_declared(meta, "##octopus=")),
                germline_flags=flags if len(flags) == 2 else frozenset(),
            )
        elif line.strip():
            raise problems.give_up(
                "records begin without a line of column names; expected is a line that begins with #CHROM",
                number,
            )
    raise problems.give_up("the file ends without a line of column names, which begins with #CHROM")


def column_names(line: str) -> list[str]:
    """Return the names in the line of column names; separators at its end are ignored."""
    return line.rstrip("\t ").split("\t")


def _declared(meta: list[str], key: str) -> list[str]:
    return [line.removeprefix(key).strip() for line in meta if line.startswith(key)]


def _build(meta: list[str]) -> Build | None:
    """Return the genome build that lines with "##" indicate, by lengths of contigs or else by names."""
    lengths = {}
    for contig in filter(None, map(_CONTIG.match, meta)):
        name, length = _ID.search(contig[1]), _LENGTH.search(contig[1])
        if name and length and len(length[1]) < 12:
            lengths[harmonise_chromosome(name[1])] = int(length[1])
    by_length = {
        build
        for build, known in LENGTHS.items()
        if any(lengths.get(chrom) == length for chrom, length in known.items())
    }
    by_name = {harmonise_build(found[1] or found[2]) for found in filter(None, map(_NAMED_BUILD.match, meta))}
    builds = by_length or by_name - {None}
    return next(iter(builds)) if len(builds) == 1 else None


def _not_somatic(meta: list[str]) -> dict[str, str]:
    described = [line for line in meta if _STATUS.match(line) and "germline" in line.lower()]
    meanings = dict(_VALUE.findall(" ".join(described)))
    return {value: meaning for value, meaning in meanings.items() if meaning.lower() not in _MAY_BE_SOMATIC}


def _checked_columns(line: str, number: int, problems: FileProblems) -> list[str]:
    """Return the names of the columns; raise InputError if they are not those of a VCF."""
    names = column_names(line)
    if tuple(names) != WITHOUT_SAMPLES and tuple(names[: len(FIXED)]) != FIXED:
        raise problems.give_up(COLUMNS, number, line)
    samples = names[len(FIXED) :]
    for name in dict.fromkeys(samples):
        if samples.count(name) > 1:
            raise problems.give_up("two columns have this name; rename one", number, name)
        if not name.strip():
            raise problems.give_up("a sample column without a name", number)
        if NO_TEXT in name:
            raise problems.give_up("not UTF-8; save the file as UTF-8", number, name)
    return names
