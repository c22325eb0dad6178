"""Artefacts among the mutations: what ``--outlier-prob`` makes of them, on simulated tumours.

    python outliers.py [--sets 4] [--artefacts 0 0.05]

Each tumour (200 mutations in 3 samples) is clustered without outliers and with each probability. A table is printed:
clusters, V-measure of the mutations that are no artefacts (those called outliers count as one cluster of their own),
share of the artefacts in cluster -1, share of the others there, clusters that hold artefacts only, and seconds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from metrics import v_measure

from pyclone_pgsm import analysis
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.settings import Settings
from pyclone_pgsm.simulate import Simulation, SimulationOptions, simulate

OPTIONS = SimulationOptions(mutations=200, samples=3, clusters=6, copy_numbers="mixed", precision=200.0)
PROBABILITIES = (0.0, 0.01, 0.05)
SETTINGS = Settings(chains=2)


def measure(drawn: Simulation, prob: float) -> tuple[float, ...]:
    """Clusters, V-measure, shares of artefacts and of others called outliers, clusters of artefacts, seconds."""
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        summary = analysis.analyze(
            drawn.observations,
            [],
            Path(folder) / "out",
            analysis.ModelOptions(outlier_prob=prob),
            SETTINGS,
            DirichletProcess(),
            plots=False,
            threads=1,
        ).summary
    is_artefact = drawn.cluster < 0
    called = summary.labels < 0
    false_clusters = set(summary.labels[is_artefact & ~called]) - set(summary.labels[~is_artefact])
    return (
        summary.num_clusters,
        v_measure(drawn.cluster[~is_artefact], summary.labels[~is_artefact]),
        called[is_artefact].mean() if is_artefact.any() else np.nan,
        called[~is_artefact].mean(),
        len(false_clusters),
        time.process_time() - started,
    )


def main(arguments: Sequence[str]) -> None:
    """Everything."""
    parser = argparse.ArgumentParser(description="What --outlier-prob makes of artefacts.")
    parser.add_argument("--sets", type=int, default=4, help="tumours of each share of artefacts (default 4)")
    parser.add_argument(
        "--artefacts", type=float, nargs="+", default=[0.0, 0.05], help="shares (default 0 0.05)"
    )
    given = parser.parse_args(arguments)
    print("| artefacts | `--outlier-prob` | clusters (true 6) | V-measure | artefacts found | others called outliers "
          "| clusters of artefacts | seconds |")  # fmt: skip
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for artefacts in given.artefacts:
        options = replace(OPTIONS, artefacts=artefacts)
        drawn = [simulate(options, np.random.default_rng([11, number])) for number in range(given.sets)]
        for prob in PROBABILITIES:
            rows = [measure(each, prob) for each in drawn]
            clusters, v, found, others, false_clusters, seconds = np.mean(rows, axis=0)
            print(
                f"| {artefacts:.0%} | {prob or 'off'} | {clusters:.1f} | {v:.3f} | "
                f"{'' if np.isnan(found) else f'{found:.0%}'} | {others:.1%} | {false_clusters:.1f} | {seconds:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
