"""What it costs to join a VCF of a million records with ten thousand copy-number segments.

    python join.py [--records 1000000] [--segments 10000] [--samples 1] [--folder DIR]

Writes a VCF as Mutect2 does (a normal and the tumour samples, a tenth of the records not PASS) and a table of segments
without gaps, runs ``pyclone-pgsm prepare`` on them in a process of its own, and prints its wall time, processor time
and peak resident memory. The files go to a temporary folder, or stay in DIR.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from pyclone_pgsm.inputs.genome import AUTOSOMES, LENGTHS

BUILD = "GRCh38"
META = "\n".join(
    [
        "##fileformat=VCFv4.2",
        '##FORMAT=<ID=AD,Number=R,Type=Integer,Description="Allelic depths for the ref and alt alleles">',
        *(f"##contig=<ID=chr{chrom},length={LENGTHS[BUILD][chrom]}>" for chrom in AUTOSOMES),
        "##normal_sample=NORMAL",
    ]
)
INFO = (
    "AS_FilterStatus=SITE;AS_SB_TABLE=101,4|1,6;DP=118;ECNT=1;GERMQ=93;MBQ=37,34;MMQ=60,60;POPAF=6;TLOD=19.3"
)
PROGRAM = "from pyclone_pgsm.__main__ import main; main()"


def shares(total: int) -> dict[str, int]:
    """A total divided among the chromosomes by their lengths."""
    lengths = np.array([LENGTHS[BUILD][chrom] for chrom in AUTOSOMES], dtype=np.float64)
    ends = np.rint(np.cumsum(lengths) / lengths.sum() * total).astype(int)
    return dict(zip(AUTOSOMES, np.diff(ends, prepend=0).tolist()))


def write_vcf(path: Path, records: int, samples: list[str], rng: np.random.Generator) -> None:
    """Single-base mutations with Mutect2's fields; the first sample column is the normal."""
    with path.open("w") as file:
        tumours = "\n".join(f"##tumor_sample={name}" for name in samples)
        names = "\t".join(["FORMAT", "NORMAL", *samples])
        file.write(f"{META}\n{tumours}\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\t{names}\n")
        for chrom, count in shares(records).items():
            positions = np.sort(rng.choice(LENGTHS[BUILD][chrom], count, replace=False)) + 1
            depth = rng.integers(30, 200, (count, len(samples)))
            alt = rng.binomial(depth, 0.3)
            ref_base = rng.integers(0, 4, count)
            alt_base = (ref_base + rng.integers(1, 4, count)) % 4
            passes = rng.random(count) < 0.9
            for row in range(count):
                cells = "\t".join(
                    f"0/1:{d - a},{a}:{a / d:.3f}:{d}:57,1:19,0:72,4,1,6"
                    for d, a in zip(depth[row], alt[row])
                )
                file.write(
                    f"chr{chrom}\t{positions[row]}\t.\t{'ACGT'[ref_base[row]]}\t{'ACGT'[alt_base[row]]}\t.\t"
                    f"{'PASS' if passes[row] else 'weak_evidence'}\t{INFO}\tGT:AD:AF:DP:F1R2:F2R1:SB\t"
                    f"0/0:80,0:0.012:80:40,0:40,0:40,40,0,0\t{cells}\n"
                )


def write_segments(path: Path, segments: int, samples: list[str], rng: np.random.Generator) -> None:
    """Segments that follow each other without gaps, the same ends in all samples."""
    with path.open("w") as file:
        file.write("sample_id\tchrom\tstart\tend\tmajor_cn\tminor_cn\n")
        for chrom, count in shares(segments).items():
            length = LENGTHS[BUILD][chrom]
            ends = [*np.sort(rng.choice(length - 1, max(count, 1) - 1, replace=False)) + 1, length]
            for sample in samples:
                minor = rng.integers(0, 3, len(ends))
                major = minor + rng.integers(0, 3, len(ends)) + (minor == 0)
                for start, end, larger, smaller in zip([1, *(each + 1 for each in ends)], ends, major, minor):
                    file.write(f"{sample}\t{chrom}\t{start}\t{end}\t{larger}\t{smaller}\n")


def measure(folder: Path, records: int, segments: int, samples: int) -> None:
    """Write the files, join them, and print what it took."""
    rng = np.random.default_rng(1)
    names = [f"T{place}" for place in range(1, samples + 1)]
    vcf, table = folder / "mutations.vcf", folder / "segments.tsv"
    write_vcf(vcf, records, names, rng)
    write_segments(table, segments, names, rng)
    print(
        f"{records:,} records ({vcf.stat().st_size / 1e6:.0f} MB), {segments:,} segments, {samples} samples"
    )
    command = [sys.executable, "-c", PROGRAM, "prepare", vcf, "-c", table, "-o", folder / "out", "--force"]
    started = time.perf_counter()
    subprocess.run(list(map(str, command)), check=True)
    seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(
        f"{seconds:.1f} s wall, {used.ru_utime + used.ru_stime:.1f} s processor, {peak / 1e9:.2f} GB at most"
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--segments", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="keep the files here")
    given = parser.parse_args()
    if given.folder is not None:
        given.folder.mkdir(parents=True, exist_ok=True)
        measure(given.folder, given.records, given.segments, given.samples)
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), given.records, given.segments, given.samples)


if __name__ == "__main__":
    main()
