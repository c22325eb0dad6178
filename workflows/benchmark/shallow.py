"""A single sample without overdispersion: consensus by criterion and depth, compared with the true parameters.

    python shallow.py [--mutations 1000] [--depths 60 120 240] [--concentration-prior 1,0.1]

Half of the mutations have prevalence 1, the others 0.6 (30 %) and 0.25 (20 %), at tumour content 0.7 and two copies.
Printed are adjusted Rand indices with the true clusters: of the partition that has each mutation in its most probable
cluster at the true parameters, and of the consensus of 600 iterations of four chains, with its number of clusters.
"""

from __future__ import annotations

import argparse
import tempfile

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binom

from pyclone_pgsm import Settings, analyze, open_trace
from pyclone_pgsm.priors import make_prior
from pyclone_pgsm.scoring.metrics import adjusted_rand

PREVALENCES = np.array([1.0, 0.6, 0.25])
SHARES = np.array([0.5, 0.3, 0.2])
TUMOUR_CONTENT = 0.7
SETTINGS = Settings(iterations=600)
CRITERIA = ("vi", "mpear")


def simulate(mutations: int, depth: int) -> tuple[pd.DataFrame, NDArray[np.int64], NDArray[np.int64]]:
    """Return a table of read counts, the true clusters, and the most probable ones at the true parameters."""
    rng = np.random.default_rng(depth)
    true = rng.choice(len(SHARES), mutations, p=SHARES)
    share = TUMOUR_CONTENT * PREVALENCES / 2
    reads = np.maximum(rng.poisson(depth, mutations), 5)
    variant = rng.binomial(reads, share[true])
    probable = np.argmax(np.log(SHARES) + binom.logpmf(variant[:, None], reads[:, None], share), axis=1)
    table = pd.DataFrame({"mutation_id": range(mutations), "sample_id": "S", "alt_counts": variant})
    table["ref_counts"] = reads - variant
    table[["major_cn", "minor_cn", "normal_cn", "tumour_content"]] = [1, 1, 2, TUMOUR_CONTENT]
    return table, true, probable


def main(arguments: list[str] | None = None) -> None:
    """Print a row for each depth."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mutations", type=int, default=1000)
    parser.add_argument("--depths", type=int, nargs="+", default=[60, 120, 240])
    parser.add_argument("--concentration-prior", default="1,0.1", help="shape and rate of its Gamma prior")
    given = parser.parse_args(arguments)
    prior = make_prior(concentration_prior=given.concentration_prior)
    print("| depth | true parameters |" + "".join(f" {name}: index, clusters |" for name in CRITERIA))
    print("|---:|---:|" + "---|" * len(CRITERIA))
    for depth in given.depths:
        table, true, probable = simulate(given.mutations, depth)
        row = [f"{depth}", f"{adjusted_rand(true, probable):.3f}"]
        with tempfile.TemporaryDirectory() as folder:
            analyze(table, prior=prior, settings=SETTINGS, out=f"{folder}/out")
            for criterion in CRITERIA:
                found = open_trace(f"{folder}/out", consensus=criterion).mutations.set_index("mutation_id")
                clusters = found["cluster_id"].loc[[str(name) for name in table["mutation_id"]]].to_numpy()
                row.append(f"{adjusted_rand(true, clusters):.3f}, {len(np.unique(clusters))}")
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
