"""Overdispersed reads: what the binomial, a fixed precision and an inferred one make of them.

    python overdispersion.py -o OUT [--sets 50] [--compared 6] [--depth 1000] [DATA_FOLDER ...] [--pattern 'NAME*']

Simulations of a known precision, one for all samples (50, 200, 1000) or another for each, are clustered with the true
precision and with an inferred one; the first of them in all the ways of `DENSITIES`, and so are the tables with truths
in the data folders (see benchmark.py). Written: ``simulations.tsv`` and ``tables.tsv``, a row a data set and way;
their means are printed as markdown. One process, one thread.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmark import find_cases

from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.reading import Reading
from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.inputs.read_counts.tables import read_tables
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.scoring.metrics import v_measure
from pyclone_pgsm.scoring.truth import read_truth
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import Simulation, simulate

PRECISIONS: tuple[float | tuple[float, ...], ...] = (50.0, 200.0, 1000.0, (50.0, 200.0, 1000.0))
DENSITIES: dict[str, dict[str, Any]] = {
    "binomial": {"density": "binomial"},
    "200": {"precision": 200.0},
    "infer": {"precision": None},
    "infer-per-sample": {"precision": "infer-per-sample"},
}
SIMULATED = {"mutations": 100, "samples": 3, "clusters": 6, "copy_numbers": "mixed"}
SIMULATION_SETTINGS = Settings(iterations=600, chains=1, hyper_every=1)
TABLE_SETTINGS = Settings(iterations=600, chains=2, hyper_every=1)


def cluster(
    observations: Observations, settings: Settings, density: dict[str, Any]
) -> tuple[dict[str, float], Any]:
    """Clusters, seconds and the precision's median and interval; and the labels."""
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        plan = analysis.plan_tumour(
            Reading(observations), analysis.ModelOptions(**density), settings, DirichletProcess(), 1
        )
        result = analysis.fill_folder(plan, Path(folder) / "out", formats=())
    found: dict[str, float] = {
        "clusters": result.summary.num_clusters,
        "seconds": time.process_time() - started,
    }
    for diagnostic in result.diagnostics:
        if diagnostic.name.startswith("precision"):
            found |= {
                diagnostic.name: diagnostic.mean,
                f"{diagnostic.name}_lower": diagnostic.lower,
                f"{diagnostic.name}_upper": diagnostic.upper,
            }
    return found, result.summary.labels


def draw(precision: float | tuple[float, ...], depth: float, number: int) -> Simulation:
    """Data set number `number` of a precision."""
    options = SimulationOptions(**SIMULATED, depth=depth, precision=precision)
    return simulate(options, np.random.default_rng([number, *map(int, np.atleast_1d(precision))]))


def covered(found: dict[str, float], precision: float | tuple[float, ...]) -> dict[str, float]:
    """Share of the true precisions that lie in their intervals, as far as they have been inferred."""
    if "precision" in found and not isinstance(precision, tuple):
        true = {"precision": precision}
    elif "precision:S1" in found:
        each = np.broadcast_to(precision, SIMULATED["samples"])
        true = {f"precision:S{number}": value for number, value in enumerate(each.tolist(), start=1)}
    else:
        return {}
    hits = [found[f"{name}_lower"] <= value <= found[f"{name}_upper"] for name, value in true.items()]
    return {"coverage": float(np.mean(hits))}


def simulations(sets: int, compared: int, depth: float) -> Iterator[dict[str, Any]]:
    """A row a simulated data set and way to cluster it."""
    for precision in PRECISIONS:
        is_one = not isinstance(precision, tuple)
        for number in range(sets if is_one else compared):
            drawn = draw(precision, depth, number)
            ways = dict(DENSITIES)
            if is_one:
                ways = {"true": {"precision": precision}, "infer": DENSITIES["infer"]}
                ways |= DENSITIES if number < compared else {}
            for way, density in ways.items():
                found, labels = cluster(drawn.observations, SIMULATION_SETTINGS, density)
                yield {
                    "data": f"simulated, {'/'.join(f'{s:g}' for s in np.atleast_1d(precision))}",
                    "name": str(number),
                    "way": way,
                    "v_measure": v_measure(drawn.cluster, labels),
                    "true_clusters": SIMULATED["clusters"],
                    **found,
                    **covered(found, precision),
                }


def tables(folder: Path, pattern: str, most: int) -> Iterator[dict[str, Any]]:
    """A row a table of a folder, of at most so many rows, and way to cluster it."""
    for case in find_cases(folder, pattern):
        observations, _ = read_tables([case.table])
        if observations.has_data.sum() > most:
            continue
        truth = read_truth(case.truth).groupby("mutation_id")["cluster"].first()
        true = truth[observations.mutation_ids].to_numpy()
        for way, density in DENSITIES.items():
            found, labels = cluster(observations, TABLE_SETTINGS, density)
            score = {"v_measure": v_measure(true, labels), "true_clusters": len(set(true))}
            yield {"data": folder.name, "name": case.name, "way": way, **score, **found}


def summary(table: pd.DataFrame) -> str:
    """Means of each kind of data and way, as markdown."""
    lines = ["| data | way | sets | V-measure | clusters (true) | precision | coverage | seconds |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|")
    for (data, way), rows in table.groupby(["data", "way"], sort=False):
        precision = rows["precision"].median() if "precision" in rows else np.nan
        coverage = rows["coverage"].mean() if "coverage" in rows else np.nan
        cells = [
            str(data),
            str(way),
            str(len(rows)),
            f"{rows['v_measure'].mean():.3f}",
            f"{rows['clusters'].mean():.1f} ({rows['true_clusters'].mean():.1f})",
            "" if np.isnan(precision) else f"{precision:.0f}",
            "" if np.isnan(coverage) else f"{coverage:.2f}",
            f"{rows['seconds'].mean():.1f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write(rows: Iterator[dict[str, Any]], path: Path) -> None:
    """Write rows to a TSV as they come, and print their summary."""
    collected = []
    for row in rows:
        collected.append(row)
        pd.DataFrame(collected).to_csv(path, sep="\t", index=False, float_format="%.6g")
    if collected:
        print(summary(pd.DataFrame(collected)), flush=True)


def main(arguments: Sequence[str]) -> None:
    """Everything."""
    parser = argparse.ArgumentParser(description="Compare ways to deal with overdispersed reads.")
    parser.add_argument("folders", type=Path, nargs="*", metavar="DATA_FOLDER")
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder for the tables")
    parser.add_argument("--sets", type=int, default=50, help="data sets of each precision (default 50)")
    parser.add_argument("--compared", type=int, default=6, help="of these, clustered in all ways (default 6)")
    parser.add_argument(
        "--depth", type=float, default=1000.0, help="mean reads in simulations (default 1000)"
    )
    parser.add_argument("--pattern", default="*", help="only tables whose name fits (default *)")
    parser.add_argument("--most", type=int, default=1000, help="only tables of so many rows (default 1000)")
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    write(simulations(given.sets, given.compared, given.depth), given.out / "simulations.tsv")
    rows = (row for folder in given.folders for row in tables(folder, given.pattern, given.most))
    write(rows, given.out / "tables.tsv")


if __name__ == "__main__":
    main(sys.argv[1:])
