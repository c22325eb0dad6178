"""Whether the model prefers the true clusters to what its chains draw: log joint densities, tumour by tumour.

    python preferred.py OUT DATA_FOLDER [-o TABLE.tsv]

OUT is what `benchmark.py` leaves. All densities of a tumour are at the same hyperparameters, the medians of the draws,
so that only the partition differs. Where the truth lies below the draws, the model prefers other clusters; where it
lies above all of them, the chains may not have found it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from benchmark import find_cases
from numpy.typing import NDArray

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.partition import PartitionPrior, build_partition, log_prior
from pyclone_pgsm.posterior.rows import gather, gather_values, kept_rows, medians, read_partitions, thin
from pyclone_pgsm.samplers.hyperparameters import partition_log_likelihood
from pyclone_pgsm.scoring.metrics import adjusted_rand
from pyclone_pgsm.scoring.truth import read_truth
from pyclone_pgsm.trace import Trace

DRAWS = 100


def compared(trace: Trace, true: NDArray[np.int64]) -> dict[str, float]:
    """A row of the table."""
    rows = thin(kept_rows(trace), DRAWS)
    middle = medians(gather_values(trace, rows, trace.options.hyperparameters))
    first = trace.options.first_prior
    prior = first.with_values([float(np.median(gather(trace, rows, name))) for name in first.hyperparameters])
    T = len(true)
    tables = PartitionPrior(prior.log_tau1(T), prior.log_tau2(T))
    likelihood = trace.model.likelihood(middle)
    build = compiled_for(build_partition, type(likelihood))

    def log_joint(labels: NDArray[np.int64]) -> float:
        partition = build(likelihood, canonical(labels).astype(np.int32))
        return float(log_prior(tables, partition)) + partition_log_likelihood(likelihood, partition)

    draws = read_partitions(trace, rows)
    of_draws = np.array([log_joint(draw) for draw in draws])
    return {
        "mutations": T,
        "clusters_true": len(np.unique(true)),
        "clusters_drawn": float(np.median(draws.max(axis=1) + 1)),
        "log_joint_of_truth": log_joint(true),
        "median_of_draws": float(np.median(of_draws)),
        "highest_of_draws": float(of_draws.max()),
        "adjusted_rand_of_draws": float(np.mean([adjusted_rand(true, draw) for draw in draws])),
    }


def main(arguments: Sequence[str]) -> int:
    """Everything; returns the exit code."""
    parser = argparse.ArgumentParser(description="Log joint densities of the true clusters and of the draws")
    parser.add_argument("out", type=Path, metavar="OUT", help="what benchmark.py left")
    parser.add_argument("folder", type=Path, metavar="DATA_FOLDER")
    parser.add_argument("-o", "--table", type=Path, help="write the table to this TSV too")
    given = parser.parse_args(arguments)
    found = {}
    for case in find_cases(given.folder):
        path = given.out / case.name / "trace.h5"
        if not path.exists():
            continue
        clusters = read_truth(case.truth).groupby("mutation_id")["cluster"].first()
        with Trace(path) as trace:
            found[case.name] = compared(trace, pd.factorize(clusters[trace.observations.mutation_ids])[0])
    if not found:
        print(f"preferred.py: no trace.h5 of these tumours in {given.out}", file=sys.stderr)
        return 2
    table = pd.DataFrame.from_dict(found, orient="index").rename_axis("name")
    if given.table is not None:
        table.to_csv(given.table, sep="\t", float_format="%.6g")
    print(table.to_string(float_format="{:.5g}".format))
    above = table["log_joint_of_truth"] > table["highest_of_draws"]
    print(
        f"{len(table)} tumours; the truth lies above all draws in {above.sum()}: {', '.join(table.index[above]) or '-'}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
