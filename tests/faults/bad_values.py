"""Commands with one bad value each, drawn at random: of every option, of every cell of every kind of table.

``python tests/faults/bad_values.py NUMBER [SEED]`` tries so many, and prints what does not keep the promise: exit code
0 or 2, no traceback, and with 2 a message that names the option or the file.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer
from typer.testing import CliRunner

from pyclone_pgsm.cli import app as cli

TABLES = {
    "t.tsv": "mutation_id\tsample_id\tref_counts\talt_counts\tmajor_cn\tminor_cn\tnormal_cn\t"
    "tumour_content\terror_rate\n"
    + "".join(f"m{i}\tS\t{30 + i}\t{10 + i}\t2\t1\t2\t0.8\t0.001\n" for i in range(6)),
    "two.tsv": "mutation_id\tsample_id\tref_counts\talt_counts\tmajor_cn\tminor_cn\tnormal_cn\tsubclonal_major_cn\t"
    "subclonal_minor_cn\tsubclonal_fraction\nm1\tS\t30\t10\t2\t1\t2\t1\t1\t0.3\nm2\tS\t30\t9\t1\t1\t2\t\t\t\n",
    "S.csv": "mutation_id,ref_counts,var_counts,normal_cn,minor_cn,major_cn\nm1,30,10,2,1,2\nm2,31,11,2,1,1\n",
    "m.vcf": "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS\n"
    "1\t100\t.\tA\tC\t.\tPASS\t.\tAD\t30,10\n1\t200\t.\tA\tC\t.\tPASS\t.\tAD\t31,11\n",
    "m.maf": "Hugo_Symbol\tChromosome\tStart_Position\tReference_Allele\tTumor_Seq_Allele2\tTumor_Sample_Barcode\t"
    "t_ref_count\tt_alt_count\tFILTER\n\t1\t100\tA\tC\tS\t30\t10\tPASS\n\t1\t200\tA\tC\tS\t31\t11\tPASS\n",
    "m.tsv": "chrom\tpos\tref\talt\tsample_id\tref_counts\talt_counts\n"
    "1\t100\tA\tC\tS\t30\t10\n1\t200\tA\tC\tS\t31\t11\n",
    "generic.tsv": "chrom\tstart\tend\tmajor_cn\tminor_cn\n1\t1\t150\t2\t1\n1\t151\t1000\t1\t1\n",
    "ascat.tsv": "sample\tchr\tstartpos\tendpos\tnMajor\tnMinor\nS\t1\t1\t150\t2\t1\nS\t1\t151\t1000\t1\t1\n",
    "purple.tsv": "chromosome\tstart\tend\tmajorAlleleCopyNumber\tminorAlleleCopyNumber\n1\t1\t150\t2.1\t0.9\n"
    "1\t151\t1000\t1.0\t1.0\n",
    "facets.tsv": "chrom\tstart\tend\ttcn.em\tlcn.em\n1\t1\t150\t3\t1\n1\t151\t1000\t2\t1\n",
    "sheet.csv": "patient_id,sample_id,mutations,segments,tumour_content,sex\nP1,S,m.tsv,generic.tsv,0.8,female\n"
    "P2,S,m.tsv,ascat.tsv,0.7±0.05,male\n",
    "points.csv": "name,a,b\n" + "".join(f"r{i},{i},{i * i % 7}\n" for i in range(8)),
    "bits.tsv": "a\tb\n" + "0\t1\n1\t0\n1\t1\n" * 3,
    "init.tsv": "mutation_id\tcluster_id\n" + "".join(f"m{i}\t{i % 2}\n" for i in range(6)),
}
SHORT = ["--iterations", "4", "--chains", "1", "--threads", "1", "--no-plots", "--quiet", "--force"]
BASES: dict[str, list[str]] = {
    "analyze": ["t.tsv", "-o", "out", "--grid-size", "11", *SHORT],
    "validate": ["m.tsv", "-c", "generic.tsv"],
    "run": ["t.tsv", "-o", "out.h5", "--grid-size", "11", *(word for word in SHORT if word != "--no-plots")],
    "prepare": ["m.tsv", "-c", "generic.tsv", "-o", "joined", "--force"],
    "cluster": ["points.csv", "--likelihood", "normal", "-o", "clusters", *SHORT],
    "resume": ["trace.h5"],
    "merge": ["trace.h5", "-o", "merged.h5"],
    "summarize": ["trace.h5", "-o", "summary", "--no-plots", "--force"],
    "simulate": ["-o", "simulated", "--mutations", "9", "--clusters", "2", "--force"],
}
CALLS: dict[str, list[str]] = {
    "t.tsv": ["validate", "t.tsv"],
    "two.tsv": ["validate", "two.tsv"],
    "S.csv": ["validate", "S.csv"],
    **{name: ["validate", name, "-c", "generic.tsv"] for name in ("m.vcf", "m.maf", "m.tsv")},
    **{
        name: ["validate", "m.tsv", "-c", f"S={name}"]
        for name in ("generic.tsv", "ascat.tsv", "purple.tsv", "facets.tsv")
    },
    "sheet.csv": ["prepare", "--samples", "sheet.csv", "-o", "cohort", "--force"],
    "points.csv": ["cluster", "points.csv", "--likelihood", "normal", "-o", "clusters", *SHORT],
    "bits.tsv": ["cluster", "bits.tsv", "--likelihood", "bernoulli", "-o", "clusters", *SHORT],
    "init.tsv": ["analyze", "t.tsv", "--init", "init.tsv", "-o", "out", "--grid-size", "11", *SHORT],
}
WORDS = (
    "", " ", "-1", "0", "1e-320", "1e308", "-1e308", "1e400", "nan", "inf", "-inf", "NA",
    "99999999999999999999", "9" * 5000, "1e20", "0x10", "1_0", "٣", "½", "1,5", "80%", "'", '"', "--", "=",
    "S=", "=1", "a" * 300, "x" * 200_000, "\x85", "\x9b31m", "\x1b[2J", "\ufeff", "\u202e", "../../x",
    "/dev/null", ".", "[[" * 5000, "{}", "[1,", "r0=1e-320", "r0=nan", "u0=[" * 500, "nu0=1e999",
    "S0=[[1,2],[2,1]]", "1,0", "1e-320,1", "0.8±nan", "0.8±1e-320", "random:99999999999", "SAMPLE=FILE",
    "é" * 200, "<script>", "$(id)", "%s%n", "-0", "2.5", "True", "null", "\\", "\t", "1;2", "t.tsv",
    "trace.h5",
)  # fmt: skip


class Attempt(NamedTuple):
    """One call, and what its message must name one of."""

    arguments: list[str]
    named: tuple[str, ...]


def options_of(command: str) -> list[Any]:
    group: Any = typer.main.get_command(cli.app)
    parameters = group.commands[command].params
    return [each for each in parameters if each.param_type_name == "option" and not each.is_flag]


def draw(folder: Path, rng: np.random.Generator) -> Attempt:
    """Write the tables anew, one of them with a bad cell, or give one option a bad value."""
    for name, text in TABLES.items():
        (folder / name).write_text(text, encoding="utf-8")
    word = WORDS[int(rng.integers(len(WORDS)))]
    if rng.random() < 0.5:
        command = list(BASES)[int(rng.integers(len(BASES)))]
        options = options_of(command)
        option = options[int(rng.integers(len(options)))]
        if "-o" in option.opts and ("/" in word or "." in word):  # would write elsewhere
            word = "a" * 300
        names = tuple(name for name in (*option.opts, word[:20]) if len(name) > 3)
        if "-o" in option.opts:
            names = (*names, f"{word[:20]} exists already", f"{word[:20]}: ")
        return Attempt([command, *BASES[command], max(option.opts, key=len), word], names)
    name = list(CALLS)[int(rng.integers(len(CALLS)))]
    lines = TABLES[name].splitlines()
    separator = "," if name.endswith("csv") else "\t"
    first = next(place for place, line in enumerate(lines) if not line.startswith("##"))
    row = int(rng.integers(first, len(lines)))
    cells = lines[row].split(separator)
    cells[int(rng.integers(len(cells)))] = word
    lines[row] = separator.join(cells)
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [word.rpartition("=")[2] for word in CALLS[name] if "." in word]
    return Attempt(CALLS[name], (name, *files, "patient P"))


def plain(text: str) -> str:
    """A message without boxes, colours, white space and dashes, in which an option may be broken over lines."""
    return re.sub(r"[\s│╭╮╰╯─\-_]|\x1b\[[0-9;]*m", "", text).lower()


def fault_of(attempt: Attempt) -> str | None:
    """What does not keep the promise."""
    result = CliRunner().invoke(cli.app, attempt.arguments)
    shown = [word if len(word) < 80 else f"{word[:80]}.." for word in attempt.arguments]
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"{shown}: {type(result.exception).__name__}: {str(result.exception)[:300]}"
    if result.exit_code not in (0, 2):
        return f"{shown}: exit code {result.exit_code}"
    if "Traceback" in result.output:
        return f"{shown}: a traceback"
    if result.exit_code == 2:
        told = plain(result.stderr)
        if not any(plain(name) in told for name in attempt.named):
            return f"{shown}: names neither option nor file: {result.stderr[:300]}"
    return None


def faults(number: int, seed: int, folder: Path) -> list[str]:
    """What is wrong in so many calls; the working directory must be `folder`."""
    rng = np.random.default_rng(seed)
    (folder / "t.tsv").write_text(TABLES["t.tsv"])
    made = CliRunner().invoke(
        cli.app, ["run", "t.tsv", "-o", "trace.h5", "--grid-size", "11", *SHORT[:6], "--quiet"]
    )
    assert made.exit_code == 0, made.output
    trace = (folder / "trace.h5").read_bytes()
    found = []
    for _ in range(number):
        (folder / "trace.h5").write_bytes(trace)
        fault = fault_of(draw(folder, rng))
        if fault is not None:
            found.append(fault)
    return found


if __name__ == "__main__":
    import contextlib

    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        found = faults(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1, Path(name))
    print(f"{len(found)} faults")
    print("\n".join(found))
