"""Small files of mutations for the tests."""

from __future__ import annotations

from pathlib import Path

from pyclone_pgsm.inputs.mutations.model import VariantFile, Variants
from pyclone_pgsm.inputs.mutations.reading import read_variants

FIXED = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT"


def record(
    fields: str,
    *samples: str,
    chrom: str = "1",
    pos: object = 100,
    ref: str = "A",
    alt: str = "C",
    filters: str = "PASS",
) -> str:
    """One record of a VCF."""
    return "\t".join([chrom, str(pos), ".", ref, alt, ".", filters, "DP=9", fields, *samples])


def vcf(*records: str, names: tuple[str, ...] = ("T",), meta: tuple[str, ...] = ()) -> str:
    """A VCF. With two lines of ``meta`` the names stand in row 4."""
    return "\n".join(["##fileformat=VCFv4.2", *meta, "\t".join([FIXED, *names]), *records]) + "\n"


def write(folder: Path, content: str | bytes, name: str = "t.vcf") -> Path:
    """Write a file."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(*paths: Path | VariantFile, **options: object) -> Variants:
    """Read with options."""
    return read_variants(list(paths), **options)  # type: ignore[arg-type]


def counts(variants: Variants) -> list[tuple[str, str, int, int]]:
    """Sample, mutation and counts of each row."""
    table = variants.table
    return [
        (
            str(row.sample_id),
            f"{row.chrom}:{row.pos}:{row.ref}:{row.alt}",
            int(row.ref_counts),
            int(row.alt_counts),
        )
        for row in table.itertuples()
    ]
