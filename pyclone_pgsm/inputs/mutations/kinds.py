"""Recognition of the kind of a file by its beginning."""

from pathlib import Path
from typing import Literal

from pyclone_pgsm.inputs.columns import CAVEMAN_ROW
from pyclone_pgsm.inputs.text import beginning

Kind = Literal["vcf", "maf", "plain", "table", "segments", "sheet", "unknown"]
"""VCF; MAF; a plain table of mutations; a table of mutations with copy numbers (PyClone's); copy-number segments, or
Battenberg's table of fits beside them; a sample sheet; anything else, including damaged files."""

MUTATIONS: tuple[Kind, ...] = ("vcf", "maf", "plain")
"""Kinds with mutations but no copy numbers."""

_COUNTS = {"ref_counts", "alt_counts", "var_counts"}
_COPIES = {"major_cn", "minor_cn", "total_cn"}
_OF_MUTATIONS = {"ref", "alt", "reference_allele", "reference_genome_allele", *_COUNTS}
"""Columns that segments do not have."""
_CHROM = ("chr", "seqnames", "contig")
"""Beginnings of the name of a column of chromosomes in segments."""


def kind_of(path: Path) -> Kind:
    """Return the kind of a file. Never fails: the kind of a file that cannot be read is "unknown"."""
    lines = beginning(path).decode("utf-8-sig", errors="replace").splitlines()
    if lines and lines[0].lower().startswith("##fileformat=vcf"):
        return "vcf"
    first_line = next((line for line in lines if line.strip() and not line.startswith("##")), "")
    if first_line.startswith("#CHROM") and "POS" in first_line:
        return "vcf"
    header = next((line.lower() for line in lines if line.strip() and not line.startswith("#")), "")
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
    if {"sample_id", "mutations", "segments"} <= names:
        return "sheet"
    if {"rho", "psi"} <= names:
        return "segments"
    is_on_range = any(
        "start" in line and "end" in line and any(name in line for name in _CHROM)
        for line in (header, first_line.lower())
    )
    if (is_on_range and not names & _OF_MUTATIONS) or CAVEMAN_ROW.fullmatch(header):
        return "segments"
    return "unknown"
