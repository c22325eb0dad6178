"""Gains that all tumour cells have: the genotype priors ``major`` and ``clonal``, on simulated tumours.

    python gains.py [--sets 6] [--samples 3] [--depth 100]

After a doubling of the genome all tumour cells have the copies of their segment. Half of the mutations of the root of
the clone tree are older than the doubling, and on all copies of an allele; all others are on one copy. One chain a
tumour and prior. Printed are means over the tumours: the adjusted Rand index, errors of prevalences (root mean square;
mean of those of subclones), how often 95 % intervals cover the truth, and the share of right numbers of mutant copies.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.reading import Reading
from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.scoring.metrics import adjusted_rand
from pyclone_pgsm.simulate.subclones import draw_tree, draw_tree_prevalences
from pyclone_pgsm.simulate.tumour import AUTOSOMES, draw_alt_counts, draw_loci, variant_share

STATES = {(2, 2): 0.5, (2, 1): 0.15, (2, 0): 0.1, (3, 2): 0.1, (4, 2): 0.1, (1, 1): 0.05}
"""Probabilities of the major and minor copy numbers of a chromosome."""
MUTATIONS, CLUSTERS = 200, 4
TUMOUR_CONTENT, ERROR_RATE, PRECISION = 0.6, 0.001, 200.0
PRIORS = ("major", "clonal")
SETTINGS = Settings(iterations=600, chains=1)


class Tumour:
    """A simulated tumour: observations, true clusters (T,), prevalences (T, D) and mutant copies (T,)."""

    def __init__(self, samples: int, depth: int, rng: np.random.Generator) -> None:
        chromosome, _ = draw_loci(MUTATIONS, AUTOSOMES, rng)
        of_chromosome = np.array([*STATES])[rng.choice(len(STATES), len(AUTOSOMES), p=[*STATES.values()])]
        copies = of_chromosome[chromosome]
        prevalence, _ = draw_tree_prevalences(draw_tree(CLUSTERS, rng), samples, 0.2, rng)
        self.cluster = rng.choice(CLUSTERS, MUTATIONS, p=rng.dirichlet(np.full(CLUSTERS, 5.0)))
        self.prevalence = prevalence[self.cluster]
        is_old = (self.cluster == 0) & (rng.random(MUTATIONS) < 0.5)
        allele = np.where(copies[:, 1] > 0, rng.integers(2, size=MUTATIONS), 0)
        self.mutant = np.where(is_old, copies[np.arange(MUTATIONS), allele], 1)
        total = copies.sum(axis=1)
        genotype = np.column_stack([np.full(MUTATIONS, 2), total, total, self.mutant])[:, np.newaxis]
        share = variant_share(genotype, self.prevalence, TUMOUR_CONTENT, ERROR_RATE)
        reads = 1 + rng.poisson(depth - 1, share.shape)
        alt = draw_alt_counts(reads, share, PRECISION, rng)
        full = np.ones(share.shape, np.int64)
        self.observations = Observations(
            [f"m{i}" for i in range(MUTATIONS)],
            [f"S{d}" for d in range(1, samples + 1)],
            reads - alt,
            alt,
            full * copies[:, :1],
            full * copies[:, 1:],
            2 * full,
            full * TUMOUR_CONTENT,
            full * ERROR_RATE,
            full.astype(bool),
        )


def scores(tumour: Tumour, genotype_prior: str) -> NDArray[np.float64]:
    """Return the adjusted Rand index, both errors, the coverage and the share of right numbers of mutant copies."""
    options = analysis.ModelOptions(genotype_prior=genotype_prior)
    plan = analysis.plan_tumour(Reading(tumour.observations), options, SETTINGS, DirichletProcess(), 1)
    with tempfile.TemporaryDirectory() as folder:
        summary = analysis.fill_folder(plan, Path(folder) / "out", formats=()).summary
    error = summary.mean - tumour.prevalence
    is_covered = (summary.lower <= tumour.prevalence) & (tumour.prevalence <= summary.upper)
    is_right = summary.multiplicity == tumour.mutant[:, np.newaxis]
    return np.array(
        [
            adjusted_rand(tumour.cluster, summary.labels),
            np.sqrt((error**2).mean()),
            error[tumour.cluster > 0].mean(),
            is_covered.mean(),
            is_right[tumour.prevalence > 0].mean(),
        ]
    )


def main(arguments: Sequence[str]) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description="Gains that all tumour cells have.")
    parser.add_argument("--sets", type=int, default=6, help="tumours (default 6)")
    parser.add_argument("--samples", type=int, default=3, help="samples of each (default 3)")
    parser.add_argument("--depth", type=int, default=100, help="mean depth (default 100)")
    given = parser.parse_args(arguments)
    seeds = [[11, number] for number in range(given.sets)]
    tumours = [Tumour(given.samples, given.depth, np.random.default_rng(seed)) for seed in seeds]
    print(
        "| genotype prior | adjusted Rand index | RMSE | mean error of subclones | coverage | copies right |"
    )
    print("|---|---:|---:|---:|---:|---:|")
    for prior in PRIORS:
        rand, rmse, bias, coverage, copies = np.mean([scores(tumour, prior) for tumour in tumours], axis=0)
        print(f"| `{prior}` | {rand:.3f} | {rmse:.3f} | {bias:+.3f} | {coverage:.2f} | {copies:.2f} |")


if __name__ == "__main__":
    main(sys.argv[1:])
