"""Subclonal copy number: what is gained by modelling it, on simulated tumours.

    python subclonal.py [--sets 4] [--chains 2]

Tumours in which subclones gained and lost copies of half of the segments (``simulate --subclonal 0.5``) are read in
two ways: with both copy-number states, and with the one that more cells hold, as if all did. Two tables are printed:
the prevalences of single mutations, each alone given its reads (the posterior on the grid, flat before), and those and
the clusters of chains over all mutations of the first data sets.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.reading import Reading
from pyclone_pgsm.inputs.observations import SUBCLONAL, Observations
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.scoring.metrics import v_measure
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import Simulation, simulate
from pyclone_pgsm.tumour.grid import Setting, deduplicate, likelihood_grid, loci_of, prevalence_grid

OPTIONS = SimulationOptions(
    mutations=400,
    samples=2,
    clusters=5,
    depth=300,
    purity=0.8,
    copy_numbers="mixed",
    absent=0.0,
    subclonal=0.5,
)
SETTINGS = Settings(iterations=600, chains=2)
GRID = 201
INTERVAL = 0.95


def majority(observations: Observations) -> Observations:
    """The state that more cells hold, as if all did."""
    second = observations.subclonal_fraction > 0.5
    return replace(
        observations,
        major_cn=np.where(second, observations.subclonal_major_cn, observations.major_cn),
        minor_cn=np.where(second, observations.subclonal_minor_cn, observations.minor_cn),
        **dict.fromkeys(SUBCLONAL),
    )


WAYS = {"both": lambda observations: observations, "majority": majority}


def alone(
    observations: Observations, true: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """(T, D) posterior mean of each mutation's prevalence given its own reads, and whether the truth is among the
    likeliest points of the grid that hold 95 %."""
    table = deduplicate(observations)
    grid = prevalence_grid(GRID)
    weights = likelihood_grid(loci_of(table, "major"), grid, Setting(np.inf)).likelihood
    weights = (weights / weights.sum(axis=1, keepdims=True))[table.index]
    nearest = np.rint(true * (GRID - 1)).astype(int)
    at_truth = np.take_along_axis(weights, nearest[..., np.newaxis], axis=-1)
    likelier = np.where(weights > at_truth, weights, 0.0).sum(axis=-1)
    return weights @ grid, likelier < INTERVAL


def kinds(simulation: Simulation) -> dict[str, NDArray[np.bool_]]:
    """(T, D) where cells hold one state, where a second one has a copy more, or less, or less and not the mutation."""
    observations = simulation.observations
    two = observations.subclonal_fraction > 0
    copies = observations.subclonal_major_cn + observations.subclonal_minor_cn
    gained = copies > observations.major_cn + observations.minor_cn
    lost = simulation.ccf < simulation.prevalence[simulation.cluster] - 1e-9
    return {
        "none": ~two,
        "gain": two & gained,
        "loss": two & ~gained & ~lost,
        "loss of the mutation": two & lost,
    }


def print_alone(drawn: Sequence[Simulation]) -> None:
    """Bias, error and coverage of single mutations."""
    print("| event | states | values | mean error | mean absolute error | coverage |")
    print("|---|---|---:|---:|---:|---:|")
    rows: dict[tuple[str, str], list[tuple[NDArray[np.float64], NDArray[np.bool_]]]] = {}
    for simulation in drawn:
        for way, read in WAYS.items():
            mean, covered = alone(read(simulation.observations), simulation.ccf)
            for kind, where in kinds(simulation).items():
                if kind == "none" and way != "both":
                    continue
                rows.setdefault((kind, way), []).append(((mean - simulation.ccf)[where], covered[where]))
    for (kind, way), parts in rows.items():
        error, covered = (np.concatenate(arrays) for arrays in zip(*parts))
        numbers = f"{len(error)} | {error.mean():+.3f} | {np.abs(error).mean():.3f} | {covered.mean():.2f}"
        print(f"| {kind} | {way} | {numbers} |")


def print_chains(drawn: Sequence[Simulation]) -> None:
    """Clusters and prevalences of chains."""
    print("| states | V-measure | clusters | mean error | mean absolute error | the same without event |")
    print("|---|---:|---:|---:|---:|---:|")
    for way, read in WAYS.items():
        rows = []
        for simulation in drawn:
            with tempfile.TemporaryDirectory() as folder:
                plan = analysis.plan_tumour(
                    Reading(read(simulation.observations)),
                    analysis.ModelOptions(),
                    SETTINGS,
                    DirichletProcess(),
                    1,
                )
                result = analysis.fill_folder(plan, Path(folder) / "out", formats=())
            two = simulation.observations.subclonal_fraction > 0
            error = result.summary.mean - simulation.ccf
            absolute = np.abs(error)
            rows.append(
                (
                    v_measure(simulation.cluster, result.summary.labels),
                    result.summary.num_clusters,
                    error[two].mean(),
                    absolute[two].mean(),
                    absolute[~two].mean(),
                )
            )
        v, clusters, bias, inside, elsewhere = np.mean(rows, axis=0)
        print(f"| {way} | {v:.3f} | {clusters:.1f} | {bias:+.3f} | {inside:.3f} | {elsewhere:.3f} |")


def main(arguments: Sequence[str]) -> None:
    """Everything."""
    parser = argparse.ArgumentParser(description="Subclonal copy number, modelled or not.")
    parser.add_argument("--sets", type=int, default=4, help="data sets (default 4)")
    parser.add_argument("--chains", type=int, default=2, help="of these, clustered by chains (default 2)")
    given = parser.parse_args(arguments)
    drawn = [simulate(OPTIONS, np.random.default_rng([7, number])) for number in range(given.sets)]
    print_alone(drawn)
    print()
    print_chains(drawn[: given.chains])


if __name__ == "__main__":
    main(sys.argv[1:])
