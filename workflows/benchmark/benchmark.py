"""How well `pyclone-pgsm analyze` finds known clusters and prevalences, and what it costs.

    python benchmark.py DATA_FOLDER -o OUT [--jobs 1] [--limit N] [--pattern 'NAME*'] [-- OPTIONS OF analyze]
    python benchmark.py score TRUTH MUTATIONS [-o SCORES.tsv]

See README.md beside this file.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pyclone_pgsm.errors import PycloneError
from pyclone_pgsm.scoring.metrics import adjusted_rand
from pyclone_pgsm.scoring.truth import read_found, read_truth, score

TRUTH_ENDINGS = (".truth.tsv", "_truth.tsv", ".expert.tsv")
SHOWN = {  # column of the table, and its format on the terminal
    "v_measure": "{:.3f}",
    "adjusted_rand": "{:.3f}",
    "expected_rand": "{:.3f}",
    "pair_precision": "{:.3f}",
    "pair_recall": "{:.3f}",
    "rmse": "{:.4f}",
    "coverage": "{:.3f}",
    "dream_1b": "{:.3f}",
    "dream_1c": "{:.3f}",
    "dream_2a": "{:.3f}",
    "clusters_found": "{:.4g}",
    "clusters_true": "{:.4g}",
    "mutations": "{:.4g}",
    "samples": "{:.4g}",
    "mutations_lost": "{:.4g}",
    "seconds": "{:.1f}",
    "memory_mb": "{:.0f}",
}


class BenchmarkError(PycloneError):
    """A file is missing or does not hold what it should."""


@dataclass(frozen=True)
class Case:
    """A table and its truth."""

    name: str
    table: Path
    truth: Path


def find_cases(folder: Path, pattern: str = "*", limit: int | None = None) -> list[Case]:
    """The first `limit` tables NAME.tsv, by name, with NAME.truth.tsv, NAME_truth.tsv or NAME.expert.tsv."""
    cases = []
    for truth in sorted(path for ending in TRUTH_ENDINGS for path in folder.glob(f"*{ending}")):
        for ending in TRUTH_ENDINGS:
            name = truth.name.removesuffix(ending)
            if name != truth.name and fnmatch.fnmatch(name, pattern):
                cases.append(Case(name, folder / f"{name}.tsv", truth))
    if not cases:
        raise BenchmarkError(
            f"{folder}: no truth {pattern}.truth.tsv, {pattern}_truth.tsv or {pattern}.expert.tsv here"
        )
    return cases[:limit]


def expected_rand(trace: Path, found: pd.DataFrame, most: int = 100) -> float:
    """Mean adjusted Rand index of the clusters found with the draws of a trace: what the posterior expects of them."""
    from pyclone_pgsm.posterior.rows import kept_rows, read_partitions, thin
    from pyclone_pgsm.trace import Trace

    clusters = found.groupby("mutation_id")["cluster_id"].first()
    with Trace(trace) as opened:
        draws = read_partitions(opened, thin(kept_rows(opened), most))
        guess = clusters[opened.observations.mutation_ids].to_numpy()
    return float(np.mean([adjusted_rand(draw, guess) for draw in draws]))


MEASURE = """
import json, resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
with open(sys.argv[1], "w") as file:
    json.dump([code, peak], file)
"""


def run_measured(command: Sequence[str], log: Path) -> tuple[int, float, float]:
    """Exit code, wall seconds and peak memory in MB of a command; what it prints goes to `log`.

    A small process of its own starts the command and measures it: the peak that Linux reports of a
    process includes that of the process which started it.
    """
    with open(log, "wb") as output, tempfile.NamedTemporaryFile() as measured:
        started = time.perf_counter()
        measure = [sys.executable, "-I", "-S", "-c", MEASURE, measured.name]
        subprocess.run([*measure, *command], stdout=output, stderr=subprocess.STDOUT, check=True)
        seconds = time.perf_counter() - started
        code, peak = json.load(measured)
    unit = 1 if sys.platform == "darwin" else 1024  # bytes of ru_maxrss
    return code, seconds, peak * unit / 2**20


def analyze(case: Case, out: Path, options: Sequence[str]) -> dict[str, float]:
    """Run the program on a table and score what it finds."""
    program = [sys.executable, "-c", "from pyclone_pgsm.__main__ import main; main()"]
    folder, log = out / case.name, out / f"{case.name}.log"
    command = [*program, "analyze", str(case.table), "-o", str(folder), "--no-plots", "-q", *options]
    code, seconds, memory = run_measured(command, log)
    if code != 0:
        raise BenchmarkError(f"{case.table}: exit code {code}: {log.read_text().strip()[-2000:]}")
    found = read_found(folder / "mutations.tsv")
    scores = score(read_truth(case.truth), found)
    scores["expected_rand"] = expected_rand(folder / "trace.h5", found)
    return {**scores, "seconds": seconds, "memory_mb": memory}


def with_means(scores: dict[str, dict[str, float]]) -> pd.DataFrame:
    """A row a table, then the row ``mean``."""
    table = pd.DataFrame.from_dict(scores, orient="index", columns=list(SHOWN)).astype(float)
    table.loc["mean"] = table.mean()
    return table.rename_axis("name")


def markdown(table: pd.DataFrame) -> str:
    """The table as markdown; without the columns that nothing is known of."""
    columns = [name for name in SHOWN if table[name].notna().any()]
    lines = [
        "| " + " | ".join(["name", *(name.replace("_", " ") for name in columns)]) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for name, row in table.iterrows():
        cells = ["" if np.isnan(row[column]) else SHOWN[column].format(row[column]) for column in columns]
        lines.append("| " + " | ".join([str(name), *cells]) + " |")
    return "\n".join(lines)


def report(scores: dict[str, dict[str, float]], path: Path | None) -> None:
    """Print the markdown table; write the TSV if there is a path."""
    table = with_means(scores)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(path, sep="\t", float_format="%.6g")
    print(markdown(table))


def benchmark(arguments: Sequence[str], options: Sequence[str]) -> int:
    """Run and score all tables of a folder; 1 if any failed."""
    parser = argparse.ArgumentParser(
        description="Analyze a folder of tables with truths; options of pyclone-pgsm analyze come after --"
    )
    parser.add_argument("folder", type=Path, metavar="DATA_FOLDER")
    parser.add_argument(
        "-o", "--out", type=Path, required=True, help="folder for the results and benchmark.tsv"
    )
    parser.add_argument("--jobs", type=int, default=1, help="tables at the same time (default 1)")
    parser.add_argument("--limit", type=int, help="only the first so many tables")
    parser.add_argument("--pattern", default="*", help="only tables whose name fits (default *)")
    given = parser.parse_args(arguments)
    cases = find_cases(given.folder, given.pattern, given.limit)
    given.out.mkdir(parents=True, exist_ok=True)
    scores, failed = {}, 0
    with ThreadPoolExecutor(given.jobs) as pool:
        running = {case: pool.submit(analyze, case, given.out, options) for case in cases}
        for number, (case, future) in enumerate(running.items(), start=1):
            try:
                scores[case.name] = future.result()
            except PycloneError as problem:
                failed += 1
                print(f"{number}/{len(cases)} {problem}", file=sys.stderr)
                continue
            said = scores[case.name]
            print(
                f"{number}/{len(cases)} {case.name}: V {said['v_measure']:.3f}, {said['seconds']:.1f} s",
                file=sys.stderr,
            )
    if scores:
        report(scores, given.out / "benchmark.tsv")
    if failed:
        print(f"{failed} of {len(cases)} tables failed: the means leave them out", file=sys.stderr)
    return int(failed > 0)


def _found_of(case: Case, folder: Path) -> Path:
    choices = [folder / case.name / "mutations.tsv", folder / f"{case.name}.tsv"]
    for path in choices:
        if path.exists():
            return path
    raise BenchmarkError(f"neither {choices[0]} nor {choices[1]} is there")


def score_existing(arguments: Sequence[str]) -> int:
    """Score outputs that are there already."""
    parser = argparse.ArgumentParser(
        prog="benchmark.py score", description="Score existing results: two files, or a folder each."
    )
    parser.add_argument("truth", type=Path, metavar="TRUTH", help="a truth, or a folder of NAME.truth.tsv")
    parser.add_argument(
        "found",
        type=Path,
        metavar="MUTATIONS",
        help="a mutations.tsv (or PyClone-VI's), or a folder with NAME/mutations.tsv or NAME.tsv",
    )
    parser.add_argument("-o", "--out", type=Path, help="write the scores to this TSV too")
    parser.add_argument("--limit", type=int, help="only the first so many truths of the folder")
    parser.add_argument("--pattern", default="*", help="only names that fit (default *)")
    given = parser.parse_args(arguments)
    if given.truth.is_dir():
        cases = find_cases(given.truth, given.pattern, given.limit)
        pairs = {case.name: (case.truth, _found_of(case, given.found)) for case in cases}
    else:
        pairs = {given.found.name: (given.truth, given.found)}
    scores = {name: score(read_truth(truth), read_found(found)) for name, (truth, found) in pairs.items()}
    report(scores, given.out)
    return 0


def main(arguments: Sequence[str]) -> int:
    """Everything; returns the exit code."""
    try:
        if arguments[:1] == ["score"]:
            return score_existing(arguments[1:])
        end = arguments.index("--") if "--" in arguments else len(arguments)
        return benchmark(arguments[:end], arguments[end + 1 :])
    except PycloneError as problem:
        print(f"benchmark.py: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
