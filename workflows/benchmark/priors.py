"""What the priors and the consensus criterion make of tumours with known clusters: a table over all of them.

    python priors.py DATA_FOLDER... -o OUT [--pattern 'NAME*'] [--every 1] [--jobs 1] [-- OPTIONS OF run]

For each tumour the chains run under each prevalence prior and density; both criteria see the same draws. Beside them,
in the last column: clusters by presence alone, that is by the samples in which any variant read is seen.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from benchmark import BenchmarkError, Case, find_cases, run_measured

from pyclone_pgsm.errors import PycloneError
from pyclone_pgsm.scoring.metrics import adjusted_rand
from pyclone_pgsm.scoring.truth import read_truth

PREVALENCE_PRIORS = ("uniform", "learned")
DENSITIES = {
    "binomial": ("--density", "binomial"),
    "precision 200": ("--precision", "200"),
    "inferred": (),
}
CRITERIA = ("mpear", "vi")


def by_presence(table: Path) -> pd.Series:
    """A cluster for each set of samples in which mutations have variant reads."""
    reads = pd.read_csv(table, sep="\t", dtype={"mutation_id": str, "sample_id": str})
    count = "alt_counts" if "alt_counts" in reads else "var_counts"
    seen = reads.pivot_table(index="mutation_id", columns="sample_id", values=count, fill_value=0) > 0
    return pd.Series(np.unique(seen.to_numpy(), axis=0, return_inverse=True)[1].ravel(), seen.index)


def adjusted_rands(case: Case, out: Path, options: Sequence[str]) -> dict[tuple[str, ...], float]:
    """Of a tumour: the index under every prior, density and criterion, and of clusters by presence."""
    from pyclone_pgsm.posterior.consensus import consensus
    from pyclone_pgsm.posterior.rows import kept_rows, read_partitions, thin
    from pyclone_pgsm.trace import Trace

    true = read_truth(case.truth).groupby("mutation_id")["cluster"].first()
    found: dict[tuple[str, ...], float] = {}
    for prior, (density, flags) in itertools.product(PREVALENCE_PRIORS, DENSITIES.items()):
        folder = out / f"{prior}_{density}".replace(" ", "_")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{case.name}.h5"
        program = [sys.executable, "-m", "pyclone_pgsm", "run", str(case.table), "-o", str(path), "-q"]
        command = [*program, "--force", "--prevalence-prior", prior, *flags, *options]
        code, _, _ = run_measured(command, path.with_suffix(".log"))
        if code != 0:
            raise BenchmarkError(f"{case.table}: exit code {code}: see {path.with_suffix('.log')}")
        with Trace(path) as trace:
            names = trace.observations.mutation_ids
            rows = thin(kept_rows(trace), 1000)
            draws = read_partitions(trace, rows)
        most = int(np.ceil(np.mean([len(np.unique(draw)) for draw in draws])))
        known = np.isin(names, true.index)
        for criterion in CRITERIA:
            labels = consensus(draws, criterion, rng=np.random.default_rng(1), max_clusters=most)
            truth = true[np.array(names)[known]]
            found[prior, density, criterion] = adjusted_rand(truth.to_numpy(), labels[known])
    presence = by_presence(case.table)
    common = true.index.intersection(presence.index)
    found[("presence", "", "")] = adjusted_rand(true[common].to_numpy(), presence[common].to_numpy())
    return found


def main(arguments: Sequence[str]) -> int:
    """Everything; returns the exit code."""
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description="Adjusted Rand indices over priors, densities and criteria.")
    parser.add_argument("folders", type=Path, nargs="+", metavar="DATA_FOLDER")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--pattern", default="*", help="only tables whose name fits (default *)")
    parser.add_argument("--every", type=int, default=1, help="only every n-th table (default 1)")
    parser.add_argument("--jobs", type=int, default=1, help="tables at the same time (default 1)")
    given = parser.parse_args(arguments[:end])
    options = arguments[end + 1 :]
    rows = {}
    try:
        for folder in given.folders:
            cases = find_cases(folder, given.pattern)[:: given.every]
            with ThreadPoolExecutor(given.jobs) as pool:
                of_case = list(pool.map(lambda case: adjusted_rands(case, given.out, options), cases))
            for case, found in zip(cases, of_case):
                rows[case.name] = {" ".join(filter(None, key)): value for key, value in found.items()}
    except PycloneError as problem:
        print(f"priors.py: {problem}", file=sys.stderr)
        return 2
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.loc["mean"] = table.mean()
    table.rename_axis("name").to_csv(given.out / "priors.tsv", sep="\t", float_format="%.4f")
    print(table.T.loc[:, "mean"].map("{:.3f}".format).to_string())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
