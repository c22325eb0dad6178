"""Chains of one sampler on one of the paper's data sets, judged by held-out rows as CPU time goes by.

    python experiment.py DATASET --data FOLDER --configuration '{"sampler": "pgsm"}' --seconds 5 --table OUT.tsv

A configuration holds fields of :class:`pyclone_pgsm.sampling.settings.Settings`, and

    components    finite Dirichlet prior of so many components, in place of the Dirichlet process
    every         iterations between two places where a chain may be looked at

CPU time is that of the thread, of the iterations alone: what is compiled, read and judged does not count. A chain is
judged at its start, then whenever its time has grown by a tenth.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from data_files import MissingData
from datasets import Data, Problem, load, split
from numpy.typing import NDArray

from pyclone_pgsm.priors import DirichletProcess, FiniteDirichlet, Prior
from pyclone_pgsm.sampling.chain import advance, rebuild_interval, start_chain
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.scoring.metrics import v_measure

GROWTH = 1.1  # of the time between two looks at a chain
ENDLESS = 1_000_000_000  # iterations; the anchor proposals adapt in the first half of them
SMALL = 40  # rows of the problem on which everything is compiled
COLUMNS = ("replicate", "iteration", "cpu_seconds", "log_predictive", "v_measure", "num_clusters")


@dataclass(frozen=True)
class Look:
    """A chain at a moment.

    Attributes
    ----------
    iteration : int
    cpu_seconds : float
        Spent in the iterations so far.
    log_predictive : float
        Mean log predictive density of the rows held out.
    v_measure : float
        Of the labels; NaN where there is no truth.
    labels : (T,) int32
    concentration : float
        Of the prior.
    """

    iteration: int
    cpu_seconds: float
    log_predictive: float
    v_measure: float
    labels: NDArray[np.int32]
    concentration: float

    @property
    def num_clusters(self) -> int:
        """Blocks of the partition."""
        return int(self.labels.max()) + 1


@dataclass(frozen=True)
class Configuration:
    """How to sample: settings, prior, and iterations between two possible looks (None: as the program does)."""

    settings: Settings
    prior: Prior
    every: int | None

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Configuration:
        """From fields of the settings, ``components`` and ``every``; one split-merge move an iteration, of the paper's.

        Anchors are cluster-informed; more than two are uniform. The sampler ``gibbs`` has no such move.
        """
        has_moves = fields.get("sampler") != "gibbs"
        if has_moves:
            fields = {"moves": 1, "close_moves": 0, **fields}
        fields = dict(fields)
        components, every = fields.pop("components", None), fields.pop("every", None)
        prior: Prior = (
            DirichletProcess(rate=0.1) if components is None else FiniteDirichlet(components, rate=0.1)
        )
        settings = Settings(iterations=ENDLESS, burn_in=ENDLESS // 2, thin=ENDLESS // 2, chains=1, **fields)
        if has_moves:
            settings = replace(settings, anchor_proposal=settings.proposal)
        return cls(settings, prior, every)


def run_chain(
    problem: Problem, configuration: Configuration, replicate: int, seconds: float
) -> Iterator[Look]:
    """One chain, as :func:`pyclone_pgsm.sampling.chain.advance` runs it.

    Parameters
    ----------
    problem : Problem
    configuration : Configuration
    replicate : int
        Chains of different numbers have different random numbers.
    seconds : float
        CPU time that the iterations may take.

    Yields
    ------
    Look
        The start, at time 0, comes first.
    """
    model, settings = problem.model, configuration.settings.resolve(problem.model.num_observations)
    every = configuration.every or rebuild_interval(model)
    state = start_chain(model, configuration.prior, settings, replicate)
    spent = 0.0
    while True:
        truth = problem.truth
        yield Look(
            state.iteration,
            spent,
            float(problem.log_density(state.labels, state.prior).mean()),
            float("nan") if truth is None else v_measure(truth, state.labels),
            state.labels,
            state.prior.values()[0],
        )
        if spent >= seconds:
            return
        started = time.thread_time()
        end = started + min((GROWTH - 1.0) * spent, seconds - spent)
        state, _, _ = advance(model, settings, state, every, lambda _, end=end: time.thread_time() >= end)
        spent += time.thread_time() - started


def compile_all(data: Data, configuration: Configuration) -> None:
    """Run a few rows, so that everything is compiled, or read from the disk, before the clock runs."""
    seen, held_out = split(len(data), SMALL)
    for _ in run_chain(data.problem(seen, held_out), configuration, 0, 1e-9):
        pass


def write_table(path: Path, replicates: list[list[Look]]) -> None:
    """A row a look; `COLUMNS`."""
    with open(path, "w") as file:
        print(*COLUMNS, sep="\t", file=file)
        for number, looks in enumerate(replicates):
            for look in looks:
                measured = f"{look.cpu_seconds:.6g}\t{look.log_predictive:.8g}\t{look.v_measure:.6g}"
                print(number, look.iteration, measured, look.num_clusters, sep="\t", file=file)


def write_states(path: Path, looks: list[Look], truth: NDArray[np.int64] | None) -> None:
    """``cpu_seconds``, ``labels`` and ``concentration`` of the looks at one chain; ``truth``, empty if unknown."""
    np.savez_compressed(
        path,
        truth=np.zeros(0, np.int64) if truth is None else truth,
        cpu_seconds=[look.cpu_seconds for look in looks],
        labels=np.array([look.labels for look in looks], np.uint16),
        concentration=[look.concentration for look in looks],
    )


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(description="Chains of one sampler on one of the paper's data sets.")
    parser.add_argument("dataset", help="s1, .., see datasets.py")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--configuration", type=json.loads, required=True, help="JSON, see above")
    parser.add_argument("--replicates", type=int, default=1)
    parser.add_argument("--seconds", type=float, required=True, help="CPU time of each replicate")
    parser.add_argument("--rows", type=int, help="use so many rows at most")
    parser.add_argument("--table", type=Path, required=True, help="TSV to write")
    parser.add_argument("--states", type=Path, help="NPZ to write: the first replicate's labels")
    given = parser.parse_args(arguments)
    try:
        data = load(given.dataset, given.data)
    except MissingData as missing:
        print(missing, file=sys.stderr)
        return 2
    configuration = Configuration.from_dict(given.configuration)
    compile_all(data, configuration)
    problem = data.problem(*split(len(data), given.rows))
    replicates = [
        list(run_chain(problem, configuration, number, given.seconds)) for number in range(given.replicates)
    ]
    write_table(given.table, replicates)
    if given.states:
        write_states(given.states, replicates[0], problem.truth)
    return 0


if __name__ == "__main__":
    sys.exit(main())
