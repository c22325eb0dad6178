"""Artefacts among the mutations: what ``--outlier-prob`` makes of them, on simulated tumours.

    python outliers.py [--sets 8] [--artefacts 0 0.05] [--depth 100]

Each tumour (200 mutations in 3 samples, 6 clusters, precision 200) is clustered without outliers and with each
probability, and without outliers after its artefacts were removed. A table of means is printed: posterior number of
clusters, V-measure of the consensus of the mutations that are no artefacts (those called outliers count as one cluster
of their own), share of the artefacts in cluster -1, share of the others there, consensus clusters that hold artefacts
only, precision (geometric mean of the posterior medians, at most 10,000 each), and seconds.
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

from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.reading import Reading
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.scoring.metrics import v_measure
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import Simulation, simulate

OPTIONS = SimulationOptions(mutations=200, samples=3, clusters=6, copy_numbers="mixed", precision=200.0)
PROBABILITIES = (0.0, 0.01, 0.05)
SETTINGS = Settings(chains=2)
HIGHEST = 10_000.0


def cleaned(drawn: Simulation) -> Simulation:
    """Without the artefacts."""
    kept = np.flatnonzero(drawn.cluster >= 0)
    data = drawn.observations
    matrices = {name: value[kept] for name, value in vars(data).items() if isinstance(value, np.ndarray)}
    names = [data.mutation_ids[i] for i in kept]
    observations = replace(data, mutation_ids=names, annotations={}, **matrices)
    return replace(drawn, observations=observations, cluster=drawn.cluster[kept])


def measure(drawn: Simulation, prob: float) -> tuple[float, ...]:
    """A row of the table, the precision as its logarithm."""
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        plan = analysis.plan_tumour(
            Reading(drawn.observations),
            analysis.ModelOptions(outlier_prob=prob),
            SETTINGS,
            DirichletProcess(),
            1,
        )
        result = analysis.fill_folder(plan, Path(folder) / "out", formats=())
    labels = result.summary.labels
    middle = {diagnostic.name: diagnostic.mean for diagnostic in result.diagnostics}
    is_artefact = drawn.cluster < 0
    called = labels < 0
    false_clusters = set(labels[is_artefact & ~called]) - set(labels[~is_artefact])
    return (
        middle["num_clusters"],
        v_measure(drawn.cluster[~is_artefact], labels[~is_artefact]),
        called[is_artefact].mean() if is_artefact.any() else np.nan,
        called[~is_artefact].mean(),
        len(false_clusters),
        np.log(min(middle["precision"], HIGHEST)),
        time.process_time() - started,
    )


HEADER = """\
| artefacts | `--outlier-prob` | clusters (6) | V-measure | artefacts found | others called outliers \
| clusters of artefacts | precision (200) | seconds |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|"""


def main(arguments: Sequence[str]) -> None:
    """Everything."""
    parser = argparse.ArgumentParser(description="What --outlier-prob makes of artefacts.")
    parser.add_argument("--sets", type=int, default=8, help="tumours of each share of artefacts (default 8)")
    parser.add_argument(
        "--artefacts", type=float, nargs="+", default=[0, 0.05], help="shares (default 0 0.05)"
    )
    parser.add_argument("--depth", type=float, default=100.0, help="mean reads (default 100)")
    given = parser.parse_args(arguments)
    print(HEADER)
    for share in given.artefacts:
        options = replace(OPTIONS, artefacts=share, depth=given.depth)
        drawn = [simulate(options, np.random.default_rng([11, number])) for number in range(given.sets)]
        ways = [(str(prob or "off"), prob, drawn) for prob in PROBABILITIES]
        if share:
            ways.append(("off, artefacts removed", 0.0, [cleaned(each) for each in drawn]))
        for way, prob, tumours in ways:
            rows = np.mean([measure(each, prob) for each in tumours], axis=0)
            clusters, v, found, others, false_clusters, log_precision, seconds = rows
            cells = (
                f"{share:.0%}",
                way,
                f"{clusters:.1f}",
                f"{v:.3f}",
                "" if np.isnan(found) else f"{found:.0%}",
                f"{others:.1%}",
                f"{false_clusters:.1f}",
                f"{np.exp(log_precision):.0f}",
                f"{seconds:.1f}",
            )
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
