"""Normal and Bernoulli mixtures against scikit-learn, and how soon a chain finds the clusters.

    python mixtures.py consensus DATA_FOLDER [--rows N]   V-measure of the consensus of four chains, all defaults
    python mixtures.py speed DATA_FOLDER      S1, DIM128, Bernoulli: seconds of one chain, from one cluster
    python mixtures.py scale DATA_FOLDER      S1, and Gaussians of its means and covariances: a chain from the true
                                              labels with S0 = 1, and with r0 and scale inferred

DATA_FOLDER holds s1.csv to s4.csv, dim064.csv and dim128.csv, the label in the last column (`consensus` leaves out
what is missing); the Bernoulli data are made here. Columns are standardised. In `speed`, where parameters are fixed,
those of DIM128 have the standard deviation 7 besides: with S0 = I the prior expects clusters much wider than its own
otherwise, and prefers fewer. Times are processor time of the one thread that works, after compilation.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import v_measure_score
from sklearn.mixture import BayesianGaussianMixture

from pyclone_pgsm import cluster
from pyclone_pgsm.analyses.matrix_input import mixture_settings
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.model import FixedModel
from pyclone_pgsm.likelihoods.registry import find_likelihood
from pyclone_pgsm.partition import PartitionPrior, build_partition
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.sampling.chain import start_chain
from pyclone_pgsm.sampling.moves import make_steps
from pyclone_pgsm.sampling.settings import Settings

COMPONENTS = 40
SEEDS = range(5)
Data = tuple[NDArray[np.float64], NDArray[np.int64]]


def read(folder: Path, name: str, rows: int | None = None, sd: float = 1.0) -> Data:
    """Columns with mean 0 and this standard deviation, and the labels."""
    table = np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)
    if rows is not None:
        table = table[np.random.default_rng(0).permutation(len(table))[:rows]]
    X, labels = table[:, :-1], table[:, -1].astype(int)
    return sd * (X - X.mean(axis=0)) / X.std(axis=0), labels


def bernoulli() -> Data:
    """5,000 rows of 50 columns in 16 clusters, probabilities from Beta(0.5, 0.5)."""
    rng = np.random.default_rng(1)
    labels = np.arange(5000) % 16
    return (rng.random((5000, 50)) < rng.beta(0.5, 0.5, (16, 50))[labels]).astype(float), labels


def measure_consensus(folder: Path, rows: int | None) -> None:
    """Default chains and consensus against a variational mixture with a Dirichlet process prior."""
    print("| data | clusters | V | V of BayesianGaussianMixture | largest R-hat |\n|---|---:|---:|---:|---:|")
    for name in ("s1", "s2", "s3", "s4", "dim064", "dim128"):
        if not (folder / f"{name}.csv").exists():
            continue
        X, labels = read(folder, name, rows)
        found = cluster(X, "normal")
        peer = "-"
        if name.startswith("s"):
            model = BayesianGaussianMixture(
                n_components=COMPONENTS,
                weight_concentration_prior_type="dirichlet_process",
                max_iter=1000,
                random_state=0,
            )
            peer = f"{v_measure_score(labels, model.fit_predict(X)):.3f}"
        rhat = found.diagnostics["rhat"].max()
        print(
            f"| {name} | {found.num_clusters} | {v_measure_score(labels, found.labels):.3f} | {peer} | {rhat:.2f} |",
            flush=True,
        )


def seconds_to(
    data: Data, likelihood: str, target: float, limit: float, seed: int
) -> tuple[float, dict[str, float]]:
    """Seconds until the V-measure of a chain's partition is `target` (inf: not within `limit`); and of its steps.

    The steps are the Gibbs sweep and all split-merge moves of an iteration; their medians are over the iterations that
    follow.
    """
    X, labels = data
    model = FixedModel(find_likelihood(likelihood).from_data(X), len(X))  # type: ignore[attr-defined]
    settings = mixture_settings(Settings(chains=1, seed=seed), len(X))
    prior = DirichletProcess()
    state = start_chain(model, prior, settings, 0)
    steps = make_steps(model, settings, state.values, state.anchors)
    partition = compiled_for(build_partition, type(model.likelihood(())))(model.likelihood(()), state.labels)
    spent, reached, after = 0.0, np.inf, 0
    taken: list[list[float]] = [[] for _ in steps]
    while spent < limit and after < 30:
        tables = PartitionPrior(prior.log_tau1(len(X)), prior.log_tau2(len(X)))
        for step, times in zip(steps, taken):
            started = time.thread_time()
            partition, _ = step(model.likelihood(()), tables, partition, state.rng)
            times.append(time.thread_time() - started)
            spent += times[-1]
        state.anchors.adapt(model.likelihood(()), partition)
        prior = prior.resample(partition.sizes[partition.sizes > 0], state.rng)
        if np.isinf(reached) and v_measure_score(labels, partition.labels) > target:
            reached = spent
        after += np.isfinite(reached)
    moves = np.sum([times[-30:] for times in taken[1:]], axis=0)
    return reached, {"sweep": float(np.median(taken[0][-30:])), "moves": float(np.median(moves))}


def measure_speed(folder: Path) -> None:
    """Chains of the default moves from a single cluster."""
    print(
        "| data | V above | seconds, by seed | median | sweep ms | moves ms |\n|---|---:|---|---:|---:|---:|"
    )
    cases: dict[str, tuple[Callable[[], Data], str, float, float]] = {
        "s1": (lambda: read(folder, "s1"), "normal", 0.98, 4.0),
        "bernoulli": (bernoulli, "bernoulli", 0.99, 4.0),
        "dim128": (lambda: read(folder, "dim128", sd=7.0), "normal", 0.999999, 10.0),
    }
    for name, (make, likelihood, target, limit) in cases.items():
        data = make()
        seconds_to(data, likelihood, 2.0, 0.2, 0)  # compiles
        results = [seconds_to(data, likelihood, target, limit, seed) for seed in SEEDS]
        reached = [result[0] for result in results]
        sweep, moves = (np.median([steps[kind] for _, steps in results]) * 1e3 for kind in ("sweep", "moves"))
        print(
            f"| {name} | {target:.2f} | {', '.join(f'{value:.2f}' for value in reached)} | {np.median(reached):.2f} "
            f"| {sweep:.1f} | {moves:.1f} |",
            flush=True,
        )


def gaussian_like(data: Data) -> Data:
    """Gaussian clusters of the sizes, means and covariances that the data's have."""
    X, labels = data
    rng = np.random.default_rng(0)
    drawn = X.copy()
    for k in np.unique(labels):
        members = X[labels == k]
        drawn[labels == k] = rng.multivariate_normal(members.mean(axis=0), np.cov(members.T), len(members))
    return drawn, labels


def measure_scale(folder: Path) -> None:
    """What inferring the scale does to clusters that are not quite Normal: a chain that starts from the truth."""
    print("| data | parameters | clusters in the last draw | V of it |\n|---|---|---:|---:|")
    real = read(folder, "s1")
    for name, (X, labels) in {"s1": real, "Gaussians like s1": gaussian_like(real)}.items():
        for parameters in ({}, {"r0": "infer", "scale": "infer"}):
            settings = Settings(iterations=400, chains=1)
            found = cluster(X, "normal", parameters, settings=settings, start_labels=labels)
            last = found.draws[-1]
            print(
                f"| {name} | {parameters or 'fixed'} | {last.max() + 1} | {v_measure_score(labels, last):.3f} |"
            )


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("consensus", "speed", "scale"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, help="so many of the rows only")
    given = parser.parse_args()
    if given.what == "consensus":
        measure_consensus(given.folder, given.rows)
    elif given.what == "speed":
        measure_speed(given.folder)
    else:
        measure_scale(given.folder)


if __name__ == "__main__":
    main()
