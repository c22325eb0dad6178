"""What kind of file this is, told from how it begins."""

from __future__ import annotations

import zlib
from contextlib import suppress
from pathlib import Path
from typing import Literal

Kind = Literal["vcf", "maf", "plain", "table", "segments", "unknown"]
"""VCF; MAF; a plain table of mutations; a table of mutations with copy numbers (PyClone's); copy-number segments;
anything else, damaged files too."""

MUTATIONS: tuple[Kind, ...] = ("vcf", "maf", "plain")
"""Mutations without copy numbers."""

_BEGINNING = 2**18
_COUNTS = {"ref_counts", "alt_counts", "var_counts"}
_COPIES = {"major_cn", "minor_cn", "total_cn"}
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


def kind_of(path: Path) -> Kind:
    """Tell the kind of a file. Never fails: a file that cannot be read is of unknown kind."""
    lines = _beginning(path).removeprefix(_BOM).decode("utf-8", errors="replace").splitlines()
    if lines and lines[0].lower().startswith("##fileformat=vcf"):
        return "vcf"
    names = next((line for line in lines if line.strip() and not line.startswith("##")), "")
    if names.startswith("#CHROM") and "POS" in names:
        return "vcf"
    header = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    return _kind_of_table(header.lower(), names.lower())


def _kind_of_table(header: str, first_line: str) -> Kind:
    names = {name.strip(" \"'") for separator in "\t,;" for name in header.split(separator)}
    if "mutation_id" in names or (names & _COUNTS and names & _COPIES):
        return "table"
    if names & {"tumor_sample_barcode", "tumor_seq_allele2"}:
        return "maf"
    is_placed = names & {"pos", "position"} and (
        names & {"chrom", "chromosome", "chr"} or {"ref", "alt"} <= names
    )
    if is_placed and names & _COUNTS:
        return "plain"
    if any(all(part in line for part in ("start", "end", "chr")) for line in (header, first_line)):
        return "segments"
    return "unknown"


def _beginning(path: Path) -> bytes:
    """The first bytes, unpacked; as far as they can be had, and none of what is not a file."""
    with suppress(OSError, ValueError, zlib.error):
        if path.is_file():
            with path.open("rb") as file:
                start = file.read(_BEGINNING)
            if start.startswith(_GZIP):
                return zlib.decompressobj(wbits=31).decompress(start, _BEGINNING)
            return start
    return b""
