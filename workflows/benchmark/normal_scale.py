"""Simulated mixtures of few columns: S0 = 1 against an inferred scale, by number of rows and shape of the clusters.

    python normal_scale.py [--rows 60 120 300 1000 3000] [--sets 4] [--jobs 2]

A data set has 2, 3, 6 or 10 columns and 3, 5 or 10 clusters, whose sizes, means and covariances are drawn at random.
Its columns are standardised. The clusters are Gaussian, have heavy tails (t with 6 degrees of freedom), are skewed
(log-normal), or are boxes with sharp edges. Printed are mean adjusted Rand indices of the consensus of two chains of
300 iterations, and in how many data sets it has fewer than 70 % of the clusters; and the indices of Fisher's iris data.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_iris

from pyclone_pgsm import Settings, cluster
from pyclone_pgsm.scoring.metrics import adjusted_rand

SHAPES = ("Gaussian", "heavy tails", "skewed", "box")
COLUMNS = (2, 3, 6, 10)
WAYS = ({"S0": 1.0}, {"scale": "infer"})
SETTINGS = Settings(iterations=300, chains=2)


def draw_shape(shape: str, rows: int, columns: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw the rows of a cluster (rows, columns) around 0, before they are scaled and correlated."""
    drawn = rng.normal(size=(rows, columns))
    if shape == "heavy tails":
        drawn /= np.sqrt(rng.chisquare(6, (rows, 1)) / 6)
    elif shape == "skewed":
        drawn = np.exp(0.5 * drawn) - np.exp(0.125)
    elif shape == "box":
        drawn = rng.uniform(-1.7, 1.7, (rows, columns))
    return drawn


def draw_mixture(
    shape: str, rows: int, columns: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw standardised data (rows, columns) and their true labels."""
    clusters, apart = int(rng.choice([3, 5, 10])), float(rng.choice([3.0, 6.0]))
    labels = rng.choice(clusters, rows, p=rng.dirichlet(np.full(clusters, 3.0)))
    X = np.empty((rows, columns))
    for k in range(clusters):
        root = np.linalg.cholesky(np.cov(rng.normal(size=(columns, columns + 6))))
        width = np.exp(rng.normal(0.0, 0.3))
        members = labels == k
        around = width * draw_shape(shape, int(members.sum()), columns, rng) @ root.T
        X[members] = rng.normal(0.0, apart, columns) + around
    return (X - X.mean(axis=0)) / X.std(axis=0), labels


def compare(rows: int, shape: str, columns: int, seed: int) -> list[tuple[float, bool]]:
    """Return of each way its adjusted Rand index, and whether it finds fewer than 70 % of the clusters."""
    rng = np.random.default_rng([rows, SHAPES.index(shape), columns, seed])
    return score(*draw_mixture(shape, rows, columns, rng))


def score(X: NDArray[np.float64], labels: NDArray[np.int64]) -> list[tuple[float, bool]]:
    """Return what :func:`compare` returns, of standardised data (rows, columns) with these true labels."""
    clusters = len(np.unique(labels))
    results = []
    for parameters in WAYS:
        found = cluster(X, "normal", parameters, settings=SETTINGS, threads=1)
        results.append((adjusted_rand(labels, found.labels), found.num_clusters < 0.7 * clusters))
    return results


def main(arguments: list[str] | None = None) -> None:
    """Print a row for each number of rows and shape."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[60, 120, 300, 1000, 3000])
    parser.add_argument("--sets", type=int, default=4, help="data sets of each number of columns (default 4)")
    parser.add_argument("--jobs", type=int, default=1, help="data sets at the same time (default 1)")
    given = parser.parse_args(arguments)
    print(
        "| rows | clusters | data sets | ARI, `S0` = 1 | ARI, inferred | too few, `S0` = 1 | too few, inferred |"
    )
    print("|---:|---|---:|---:|---:|---:|---:|")
    with ProcessPoolExecutor(given.jobs) as pool:
        for rows in given.rows:
            for shape in SHAPES:
                sets = [(columns, seed) for columns in COLUMNS for seed in range(given.sets)]
                results = np.array(list(pool.map(partial(compare, rows, shape), *zip(*sets))))
                ari, few = results[:, :, 0].mean(axis=0), results[:, :, 1].sum(axis=0)
                print(
                    f"| {rows} | {shape} | {len(sets)} | {ari[0]:.3f} | {ari[1]:.3f} | {few[0]:.0f} | {few[1]:.0f} |",
                    flush=True,
                )
    X, species = load_iris(return_X_y=True)
    fixed, inferred = score((X - X.mean(axis=0)) / X.std(axis=0), species)
    print(f"Fisher's iris data: {fixed[0]:.3f} with `S0` = 1, {inferred[0]:.3f} inferred")


if __name__ == "__main__":
    main()
