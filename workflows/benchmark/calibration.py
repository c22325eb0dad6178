"""Is a mutation that is given the probability 0.9 of its cluster right nine times in ten?

    python calibration.py RESULTS_FOLDER TRUTH_FOLDER [-o TABLE.tsv] [--picture RELIABILITY.png]

The first folder holds NAME/mutations.tsv for each NAME.truth.tsv (or NAME_truth.tsv) of the second, as `benchmark.py`
leaves them. A mutation is right if its true cluster matches the cluster that it was given, by the rule that matches the
blocks of posterior draws (`pyclone_pgsm.posterior.matching`), the truth in place of a draw.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from benchmark import BenchmarkError, find_cases
from numpy.typing import NDArray

from pyclone_pgsm.errors import PycloneError
from pyclone_pgsm.labels import canonical
from pyclone_pgsm.posterior.matching import match_clusters
from pyclone_pgsm.scoring.truth import read_found, read_truth

EDGES = (0.0, 0.25, 0.5, 0.75, 0.85, 0.95, 0.99, 1.0)
"""Ends of the bins; each but the last is without its upper end."""
ARTEFACT = -1


def rightness(true: NDArray[np.int64], found: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(T,) whether each mutation's true cluster matches the one that it was given.

    Parameters
    ----------
    true, found : (T,) int64
        Clusters; artefacts have -1 in either. One that is called an artefact is right if it is one.
    """
    alone = true.max() + 1 + np.arange(len(true))
    draw = canonical(np.where(true == ARTEFACT, alone, true))
    labels = np.full(len(found), ARTEFACT)
    in_cluster = found != ARTEFACT
    labels[in_cluster] = canonical(found[in_cluster])
    matched = match_clusters(draw[None, :], labels).own_prob == 1.0
    return np.where(in_cluster, matched, true == ARTEFACT)


def judged(truth: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """A row a mutation that both tables have: its probability, and whether its cluster is right.

    Parameters
    ----------
    truth : DataFrame
        As `pyclone_pgsm.scoring.truth.read_truth` gives it.
    found : DataFrame
        A `mutations.tsv`.
    """
    true = truth.groupby("mutation_id")["cluster"].first()
    mine = found.groupby("mutation_id")[["cluster_id", "cluster_assignment_prob"]].first()
    both = mine.join(true, how="inner")
    # clusters of a truth may have any names
    names = both["cluster"].where(both["cluster"].astype(str) != str(ARTEFACT))
    true_number = pd.factorize(names)[0].astype(np.int64)
    is_right = rightness(true_number, both["cluster_id"].to_numpy(np.int64))
    return pd.DataFrame({"probability": both["cluster_assignment_prob"], "right": is_right})


def reliability(
    probability: NDArray[np.float64], right: NDArray[np.bool_], edges: Sequence[float] = EDGES
) -> pd.DataFrame:
    """Probabilities against frequencies: a row a bin that is not empty, then the row ``all``.

    Returns
    -------
    DataFrame
        ``mutations``, mean ``probability``, ``right`` (the share of them), and ``brier``, the mean squared difference.
    """
    probability, right = np.asarray(probability, float), np.asarray(right, bool)
    where = np.clip(np.searchsorted(edges, probability, side="right") - 1, 0, len(edges) - 2)
    bins = [(f"{edges[b]:g} to {edges[b + 1]:g}", where == b) for b in range(len(edges) - 1)]
    rows = {
        name: {
            "mutations": int(chosen.sum()),
            "probability": probability[chosen].mean(),
            "right": right[chosen].mean(),
            "brier": np.mean((probability[chosen] - right[chosen]) ** 2),
        }
        for name, chosen in [*bins, ("all", np.ones(len(right), bool))]
        if chosen.any()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("bin")


def markdown(table: pd.DataFrame) -> str:
    """The table for a page."""
    lines = [
        "| probability | mutations | mean probability | right | squared error |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, row in table.iterrows():
        lines.append(
            f"| {name} | {row['mutations']:.0f} | {row['probability']:.3f} | {row['right']:.3f} | {row['brier']:.4f} |"
        )
    return "\n".join(lines)


def draw(table: pd.DataFrame, path: Path) -> None:
    """The reliability diagram: the share that is right in each bin, and its 95 % interval."""
    from matplotlib.figure import Figure
    from scipy.stats import beta

    bins = table.drop(index="all")
    right = bins["right"] * bins["mutations"]
    low, high = (beta.ppf(q, right + 0.5, bins["mutations"] - right + 0.5) for q in (0.025, 0.975))
    figure = Figure(figsize=(4.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1.0)
    axes.vlines(bins["probability"], low, high, color="C0")
    axes.plot(bins["probability"], bins["right"], "o", color="C0")
    for n, (_, row) in enumerate(bins.iterrows(), 1):
        end, offset, side = (low, -26, "top") if n == len(bins) else (high, 4, "bottom")
        axes.annotate(
            f"{row['mutations']:,.0f}",
            (row["probability"], end[n - 1]),
            (0, offset),
            textcoords="offset points",
            ha="right",
            va=side,
            fontsize=7,
        )
    axes.set(xlim=(0, 1.02), ylim=(0, 1.06), aspect="equal")
    axes.set(xlabel="Probability of the mutation's cluster", ylabel="Share whose cluster is right")
    figure.savefig(path, dpi=150)


def judge_folders(results: Path, truths: Path) -> pd.DataFrame:
    """:func:`judged` of all results of a folder.

    Raises
    ------
    BenchmarkError
        A result is missing.
    """

    def tables() -> Iterable[pd.DataFrame]:
        for case in find_cases(truths):
            path = results / case.name / "mutations.tsv"
            if not path.exists():
                raise BenchmarkError(f"{path} is not there")
            yield judged(read_truth(case.truth), read_found(path))

    return pd.concat(tables(), ignore_index=True)


def main(arguments: Sequence[str]) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(description="Probabilities of mutations' clusters against frequencies.")
    parser.add_argument("results", type=Path, metavar="RESULTS_FOLDER")
    parser.add_argument("truths", type=Path, metavar="TRUTH_FOLDER")
    parser.add_argument("-o", "--out", type=Path, help="write the table to this TSV too")
    parser.add_argument("--picture", type=Path, help="draw the reliability diagram into this file")
    given = parser.parse_args(arguments)
    try:
        found = judge_folders(given.results, given.truths)
    except PycloneError as problem:
        print(f"calibration.py: {problem}", file=sys.stderr)
        return 2
    table = reliability(found["probability"].to_numpy(), found["right"].to_numpy())
    if given.out is not None:
        table.to_csv(given.out, sep="\t", float_format="%.6g")
    if given.picture is not None:
        draw(table, given.picture)
    print(markdown(table))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
