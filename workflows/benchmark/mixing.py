"""How fast chains mix, and whether they have converged: a table of results that `pyclone-pgsm` left, and its medians.

    python mixing.py RESULTS... [-o TABLE.tsv]

RESULTS are folders that `analyze` or `cluster` wrote, or that hold such folders, as `benchmark.py` leaves them.
Effective samples are those after burn-in; seconds are those of sampling, of all chains together, burn-in included.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

SERIES = ("log_joint", "num_clusters", "entropy", "precision")
"""Whose effective sample sizes are told; those a run does not have are left empty."""


def run_files(folders: Sequence[Path]) -> list[Path]:
    """The files run.json in folders, or one level below."""
    return sorted(
        path for folder in folders for pattern in ("run.json", "*/run.json") for path in folder.glob(pattern)
    )


def mixing_of(path: Path) -> dict[str, float | str]:
    """A row of the table."""
    run = json.loads(path.read_text())
    verdict, seconds = run["convergence"], run["seconds"]["sampling_all_chains"]
    quantities = verdict["quantities"]
    rhats = [
        math.inf if quantity.get("null_because", {}).get("rhat") == "infinite" else quantity["rhat"]
        for quantity in quantities.values()
        if quantity["asked"]
    ]
    row: dict[str, float | str] = {
        "name": path.parent.name,
        "observations": run["counts"].get("mutations", run["counts"].get("rows")),
        "columns": run["counts"].get("samples", run["counts"].get("columns")),
        "clusters": run["counts"]["clusters"],
        "converged": float(run["converged"]),
        "iterations": verdict["iterations"],
        "sampling_seconds": seconds,
        "wall_seconds": run["seconds"]["chains"],
        "largest_rhat": max((rhat for rhat in rhats if rhat is not None), default=math.nan),
        "coclustering_sd": verdict["coclustering_sd"],
    }
    for name in SERIES:
        ess = quantities.get(name, {}).get("bulk_ess")
        row[f"{name}_ess_per_second"] = float("nan") if ess is None else ess / seconds
    return row


def main(arguments: Sequence[str]) -> int:
    """Everything; returns the exit code."""
    parser = argparse.ArgumentParser(
        description="Effective samples a second, and convergence, of finished runs"
    )
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULTS")
    parser.add_argument("-o", "--out", type=Path, help="write the table to this TSV too")
    given = parser.parse_args(arguments)
    files = run_files(given.results)
    if not files:
        print("mixing.py: no run.json in these folders", file=sys.stderr)
        return 2
    table = pd.DataFrame([mixing_of(path) for path in files]).set_index("name").astype(float)
    if given.out is not None:
        table.to_csv(given.out, sep="\t", float_format="%.5g")
    table.loc["median"] = table.median()
    table.loc["mean"] = table.iloc[: len(files)].mean()
    print(table.to_string(float_format="{:.4g}".format, na_rep=""))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
