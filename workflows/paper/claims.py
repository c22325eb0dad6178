"""Whether the paper's findings hold here, claim by claim, as markdown.

    python claims.py chains --out claims.md [--into README.md]

Two configurations are compared by

    final    the mean of a measure over the second half of a chain's CPU time
    time     CPU seconds until the measure has come 98 % of the way from the start to the best final value of all
             configurations on the data set, the median of the replicates

as "higher" or "lower" where the medians of the final values differ by more than 0.01 and their quartiles do not
overlap; else as "sooner" or "later" where the times differ by more than half; else as "similar".
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from figures import SHOWN_NAMES, dataset_name
from numpy.typing import NDArray

MARGIN = 0.01
WAY = 0.98
SOONER = 1.5
RELATIONS = {"higher": "than", "lower": "than", "sooner": "than", "later": "than", "similar": "to"}
BETTER, WORSE = ("higher", "sooner"), ("lower", "later")
SAME_END = ("similar", "sooner", "later")
BEGIN, END = "<!-- claims: written by claims.py -->", "<!-- end of claims -->"
CLUSTER_SHARE = 0.1  # of the points in the middle that makes a cluster one of those there


@dataclass(frozen=True)
class Chains:
    """All replicates of a configuration on a data set."""

    table: pd.DataFrame

    @cached_property
    def replicates(self) -> list[pd.DataFrame]:
        """One table each."""
        return [chain for _, chain in self.table.groupby("replicate")]

    def start(self, measure: str) -> float:
        """Median at time 0."""
        return float(np.median([chain[measure].iloc[0] for chain in self.replicates]))

    def quartiles(self, measure: str) -> NDArray[np.float64]:
        """(3,) of the replicates' means over the second half of the time; the median comes second."""
        means = [
            chain.loc[chain["cpu_seconds"] >= chain["cpu_seconds"].iloc[-1] / 2, measure].mean()
            for chain in self.replicates
        ]
        return np.quantile(means, [0.25, 0.5, 0.75])

    def final(self, measure: str) -> float:
        """Their median."""
        return float(self.quartiles(measure)[1])

    def time_to(self, measure: str, level: float) -> float:
        """Median over the replicates of the first time at which the measure is at least `level`; inf for never."""
        times = []
        for chain in self.replicates:
            reached = chain.loc[chain[measure] >= level, "cpu_seconds"]
            times.append(reached.iloc[0] if len(reached) else math.inf)
        return float(np.quantile(times, 0.5, method="lower"))

    def at(self, measure: str, seconds: float) -> float:
        """Median over the replicates of the measure at a time."""
        return float(
            np.median(
                [chain.loc[chain["cpu_seconds"] <= seconds, measure].iloc[-1] for chain in self.replicates]
            )
        )

    @property
    def end(self) -> float:
        """Time that all replicates have reached."""
        return float(min(chain["cpu_seconds"].iloc[-1] for chain in self.replicates))


class Results:
    """The tables of a folder, EXPERIMENT/DATASET/CONFIGURATION.tsv."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.chains: dict[tuple[str, str], dict[str, Chains]] = {}
        for path in sorted(folder.glob("*/*/*.tsv")):
            group = self.chains.setdefault((path.parents[1].name, path.parent.name), {})
            group[path.stem] = Chains(pd.read_csv(path, sep="\t"))

    def scale(self, experiment: str, dataset: str, measure: str) -> tuple[float, float]:
        """Start from a single cluster (the lowest there is), and the best final value."""
        group = self.chains[experiment, dataset].values()
        return min(chains.start(measure) for chains in group), max(chains.final(measure) for chains in group)

    def time(self, experiment: str, dataset: str, name: str, measure: str) -> float:
        """See the module."""
        start, best = self.scale(experiment, dataset, measure)
        level = start + WAY * (best - start)
        return self.chains[experiment, dataset][name].time_to(measure, level)

    def compare(self, experiment: str, dataset: str, one: str, other: str, measure: str) -> str:
        """What one configuration is against another: higher, lower, sooner, later or similar."""
        group = self.chains[experiment, dataset]
        low, middle, high = group[one].quartiles(measure)
        other_low, other_middle, other_high = group[other].quartiles(measure)
        if low > other_high and middle - other_middle > MARGIN:
            return "higher"
        if high < other_low and other_middle - middle > MARGIN:
            return "lower"
        times = [self.time(experiment, dataset, name, measure) for name in (one, other)]
        if times[0] * SOONER < times[1]:
            return "sooner"
        return "later" if times[1] * SOONER < times[0] else "similar"

    def describe(self, experiment: str, dataset: str, name: str, measure: str) -> str:
        """Final value and time, as text."""
        final = self.chains[experiment, dataset][name].final(measure)
        reached = seconds_text(self.time(experiment, dataset, name, measure))
        return f"{shown(name)} {final:.4g} ({reached})"


def shown(name: str) -> str:
    """A configuration as the figures name it."""
    return SHOWN_NAMES.get(name, name)


def seconds_text(seconds: float) -> str:
    """As in "1.2 s" or "never"."""
    return "never" if math.isinf(seconds) else f"{seconds:.2g} s"


@dataclass(frozen=True)
class Verdict:
    """What was measured, and how many of how many comparisons are as the paper says."""

    measured: str
    right: int
    asked: int

    @property
    def holds(self) -> str:
        """As in "yes", "no", or "2 of 3"."""
        if self.right == self.asked:
            return "yes"
        return "no" if self.right == 0 else f"{self.right} of {self.asked}"


@dataclass(frozen=True)
class Comparison:
    """A finding that is a comparison of configurations on data sets.

    Attributes
    ----------
    text : str
        What the paper says.
    experiment : str
    datasets : tuple of str
    pairs : tuple of (str, str)
        The first is said to be one of `expected` against the second.
    expected : tuple of str
        Of higher, lower, sooner, later, similar.
    measure : str
    """

    text: str
    experiment: str
    datasets: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    expected: tuple[str, ...]
    measure: str = "log_predictive"

    def judge(self, results: Results) -> Verdict:
        """Every pair on every data set."""
        texts, right = [], 0
        for dataset in self.datasets:
            found = {
                pair: results.compare(self.experiment, dataset, *pair, self.measure) for pair in self.pairs
            }
            right += sum(relation in self.expected for relation in found.values())
            ones, others = zip(*self.pairs)
            names = dict.fromkeys([*ones, *others])
            values = ", ".join(
                results.describe(self.experiment, dataset, name, self.measure) for name in names
            )
            relations = ", ".join(
                f"{shown(one)} {relation} {RELATIONS[relation]} {shown(other)}"
                for (one, other), relation in found.items()
            )
            texts.append(f"{dataset_name(dataset)}: {values}; {relations}")
        return Verdict("<br>".join(texts), right, len(self.datasets) * len(self.pairs))


@dataclass(frozen=True)
class Special:
    """A finding that needs its own measurement."""

    text: str
    experiment: str
    datasets: tuple[str, ...]
    judge: Callable[[Results], Verdict]


def middle_clusters(results: Results) -> Verdict:
    """Clusters that hold a tenth or more of the points in the middle of C1, at the end of the first replicate."""
    counts = {}
    for name in results.chains["finite", "c1"]:
        with np.load(results.folder / "finite" / "c1" / f"{name}.npz") as states:
            inside = states["labels"][-1][states["truth"] == 0]
        counts[name] = int((np.bincount(inside) >= CLUSTER_SHARE * len(inside)).sum())
    text = ", ".join(f"{shown(name)} {count}" for name, count in counts.items())
    right = [counts["gibbs"] > 1, counts["pgsm-2"] == 1, counts["pgsm-3"] == 1]
    return Verdict(f"clusters in the middle: {text}", sum(right), len(right))


def disconnected_start(results: Results) -> Verdict:
    """After the time of one sweep from the disconnected start; and a tenth of the time against all of it."""
    group = results.chains["mopsi", "mopsi"]
    gibbs, mixed = group["gibbs-disconnected"], group["mixed"]
    measure = "log_predictive"
    sweep = float(np.median([chain["cpu_seconds"].iloc[1] for chain in gibbs.replicates]))
    after_sweep = gibbs.at(measure, max(chain["cpu_seconds"].iloc[1] for chain in gibbs.replicates))
    end = min(gibbs.end, mixed.end)
    pairs = [(mixed.at(measure, sweep), after_sweep), (mixed.at(measure, end / 10), gibbs.at(measure, end))]
    text = (
        f"after {sweep:.2g} s (one sweep): PGSM + Gibbs {pairs[0][0]:.4g}, disconnected Gibbs {pairs[0][1]:.4g}; "
        f"PGSM + Gibbs after {end / 10:.2g} s {pairs[1][0]:.4g}, disconnected Gibbs after {end:.3g} s {pairs[1][1]:.4g}"
    )
    return Verdict(text, sum(one >= other for one, other in pairs), len(pairs))


S12, S34 = ("s1", "s2"), ("s3", "s4")
BERNOULLI, DIM = ("ber025", "ber050"), ("dim064", "dim128")
CLAIMS: tuple[Comparison | Special, ...] = (
    Comparison(
        "In the end the number of particles hardly matters (against 20)",
        "particles",
        ("s1",),
        (("2", "20"), ("5", "20"), ("10", "20"), ("50", "20"), ("100", "20")),
        SAME_END,
    ),
    Comparison(
        "More particles are slightly better after the first iterations, up to about 20",
        "particles",
        ("s1",),
        (("20", "2"), ("20", "5")),
        BETTER,
    ),
    Comparison(
        "Informed anchors have a small advantage over uniform ones",
        "proposals",
        ("s1",),
        (("cluster", "uniform"), ("threshold", "uniform")),
        BETTER,
    ),
    Comparison(
        "In many dimensions too the anchor proposal does not decide where a chain ends",
        "proposals-high",
        ("ber050", "dim128"),
        (("cluster", "uniform"), ("threshold", "uniform")),
        SAME_END,
    ),
    Comparison("Resampling at every step hurts", "resampling", ("s1",), (("1", "0.5"),), WORSE),
    Comparison(
        "All other resampling thresholds are alike",
        "resampling",
        ("s1",),
        (("0", "0.5"), ("0.25", "0.5"), ("0.75", "0.5")),
        ("similar",),
    ),
    Comparison(
        "Pure kernels: PGSM beats Gibbs and SAMS on S1 and S2",
        "kernels",
        S12,
        (("pgsm", "gibbs"), ("pgsm", "sams")),
        BETTER,
    ),
    Comparison(
        "Pure kernels: PGSM and Gibbs end alike on S3 and S4", "kernels", S34, (("pgsm", "gibbs"),), SAME_END
    ),
    Comparison(
        "Pure kernels: PGSM and Gibbs beat SAMS on S3 and S4",
        "kernels",
        S34,
        (("pgsm", "sams"), ("gibbs", "sams")),
        BETTER,
    ),
    Comparison(
        "Pure SAMS is trapped (in V-measure, against SAMS + Gibbs)",
        "kernels",
        (*S12, *S34),
        (("sams", "mixed-sams"),),
        ("lower",),
        "v_measure",
    ),
    Comparison(
        "Mixed kernels: both split-merge methods beat Gibbs on S1 and S2",
        "kernels",
        S12,
        (("mixed", "gibbs"), ("mixed-sams", "gibbs")),
        BETTER,
    ),
    Comparison(
        "Mixed kernels: all are alike on S3 and S4",
        "kernels",
        S34,
        (("mixed", "gibbs"), ("mixed-sams", "gibbs")),
        SAME_END,
    ),
    Comparison(
        "Finite Dirichlet, 5 components: PGSM beats Gibbs",
        "finite",
        ("c1",),
        (("pgsm-2", "gibbs"), ("pgsm-3", "gibbs")),
        BETTER,
    ),
    Comparison(
        "Finite Dirichlet: a third anchor does not help",
        "finite",
        ("c1",),
        (("pgsm-3", "pgsm-2"),),
        ("similar", *WORSE),
    ),
    Special(
        "Finite Dirichlet: PGSM has one cluster in the middle, Gibbs has two",
        "finite",
        ("c1",),
        middle_clusters,
    ),
    Comparison(
        "Bernoulli: PGSM + Gibbs and Gibbs end alike", "high", BERNOULLI, (("mixed", "gibbs"),), SAME_END
    ),
    Comparison("Bernoulli: unmixed PGSM is slower", "high", BERNOULLI, (("pgsm", "mixed"),), WORSE),
    Comparison(
        "Bernoulli: SAMS + Gibbs stays below PGSM + Gibbs",
        "high",
        BERNOULLI,
        (("mixed-sams", "mixed"),),
        ("lower",),
    ),
    Comparison("Bernoulli: pure SAMS is trapped", "high", BERNOULLI, (("sams", "mixed"),), ("lower",)),
    Comparison(
        "DIM: Gibbs is trapped, below all others",
        "high",
        DIM,
        (("gibbs", "pgsm"), ("gibbs", "mixed"), ("gibbs", "sams"), ("gibbs", "mixed-sams")),
        ("lower",),
    ),
    Comparison(
        "DIM064: unmixed split-merge beats mixed",
        "high",
        ("dim064",),
        (("pgsm", "mixed"), ("sams", "mixed-sams")),
        BETTER,
    ),
    Comparison(
        "DIM128: unmixed PGSM beats all others",
        "high",
        ("dim128",),
        (("pgsm", "mixed"), ("pgsm", "sams"), ("pgsm", "mixed-sams"), ("pgsm", "gibbs")),
        BETTER,
    ),
    Comparison(
        "(not in the paper) DIM128 ten times as wide: Gibbs is trapped, below PGSM + Gibbs",
        "high",
        ("dim128x10",),
        (("gibbs", "mixed"),),
        ("lower",),
    ),
    Comparison(
        "(not in the paper) DIM128 ten times as wide: unmixed PGSM beats PGSM + Gibbs",
        "high",
        ("dim128x10",),
        (("pgsm", "mixed"),),
        BETTER,
    ),
    Comparison(
        "MOPSI: PGSM + Gibbs, SAMS + Gibbs and Gibbs end alike",
        "mopsi",
        ("mopsi",),
        (("mixed", "gibbs"), ("mixed-sams", "gibbs")),
        SAME_END,
    ),
    Comparison(
        "MOPSI: SAMS is much worse without Gibbs", "mopsi", ("mopsi",), (("sams", "mixed-sams"),), ("lower",)
    ),
    Comparison("MOPSI: PGSM loses less without Gibbs", "mopsi", ("mopsi",), (("pgsm", "sams"),), ("higher",)),
    Special(
        "MOPSI: PGSM from a single cluster does without the expensive disconnected start",
        "mopsi",
        ("mopsi",),
        disconnected_start,
    ),
    Comparison(
        "Cancer: all but pure SAMS end alike",
        "cancer",
        ("cancer",),
        (("mixed", "gibbs"), ("mixed-sams", "gibbs"), ("pgsm", "gibbs")),
        SAME_END,
    ),
    Comparison("Cancer: pure SAMS is worse", "cancer", ("cancer",), (("sams", "mixed-sams"),), ("lower",)),
    Comparison(
        "Cancer: pure kernels have a slightly higher V-measure",
        "cancer",
        ("cancer",),
        (("pgsm", "mixed"), ("sams", "mixed-sams")),
        ("higher",),
        "v_measure",
    ),
    Comparison(
        "Cancer, random restarts: SAMS stays below PGSM",
        "restarts",
        ("cancer",),
        (("sams", "pgsm"),),
        ("lower",),
    ),
)


def claims_table(results: Results) -> list[str]:
    """A row a claim."""
    lines = ["| the paper | measured here: final value (time to 98 % of the way) | holds |", "|---|---|---|"]
    for claim in CLAIMS:
        if all((claim.experiment, dataset) in results.chains for dataset in claim.datasets):
            verdict = claim.judge(results)
            lines.append(f"| {claim.text} | {verdict.measured} | {verdict.holds} |")
        else:
            lines.append(f"| {claim.text} | not run | |")
    return lines


def values_table(results: Results) -> list[str]:
    """A row a configuration: final values, and the time to 98 % of the way of the predictive density."""
    lines = [
        "| experiment | data | configuration | log predictive | V-measure | clusters | time |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for (experiment, dataset), group in results.chains.items():
        for name, chains in group.items():
            v_measure = chains.final("v_measure")
            cells = [
                experiment,
                dataset_name(dataset),
                shown(name),
                f"{chains.final('log_predictive'):.4f}",
                "" if math.isnan(v_measure) else f"{v_measure:.3f}",
                f"{chains.final('num_clusters'):.0f}",
                seconds_text(results.time(experiment, dataset, name, "log_predictive")),
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def put_into(path: Path, lines: Sequence[str]) -> None:
    """Replace what a file has between the two marks.

    Raises
    ------
    ValueError
        The file has not both marks.
    """
    before, begin, rest = path.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{path}: the lines {BEGIN} and {END} are expected")
    path.write_text("\n".join([before + BEGIN, "", *lines, "", END + after]))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(description="The paper's claims against what was measured.")
    parser.add_argument("folder", type=Path, help="with EXPERIMENT/DATASET/CONFIGURATION.tsv")
    parser.add_argument("--out", type=Path, required=True, help="markdown to write: claims, then all values")
    parser.add_argument("--into", type=Path, help="put the claims between the marks of this file, too")
    given = parser.parse_args(arguments)
    results = Results(given.folder)
    claims = claims_table(results)
    given.out.write_text("\n".join([*claims, "", *values_table(results)]) + "\n")
    if given.into:
        put_into(given.into, claims)
    return 0


if __name__ == "__main__":
    sys.exit(main())
