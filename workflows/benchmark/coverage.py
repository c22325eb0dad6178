"""Do intervals hold as often as they say on data drawn from the model itself?

    python coverage.py [--data-sets 100] [--mutations 40] [--samples 2] [--depth 100] [--seed 1]

Everything is drawn from the priors of `analyze`: concentration, partition, weights and prevalences, precision, reads
(diploid, tumour content 1). One chain a data set. Printed are the shares of mutations and samples whose true prevalence
lies in the central interval of 50, 80 and 95 % of its posterior, with standard errors over data sets (a true prevalence
counts as any of its cell of the grid: the posterior knows no more), and the adjusted Rand index: that of the consensus
with the truth, and the one that the posterior expects.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.posterior.consensus import consensus
from pyclone_pgsm.posterior.prevalence import block_posteriors, cluster_prevalences
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.sampling.chain import advance, start_chain
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.scoring.metrics import adjusted_rand
from pyclone_pgsm.simulate.tumour import draw_alt_counts
from pyclone_pgsm.tumour.base_measure import DIRICHLET, SHAPE
from pyclone_pgsm.tumour.choices import PRECISION
from pyclone_pgsm.tumour.grid import cell_ends
from pyclone_pgsm.tumour.options import ModelOptions

SHARES = (0.5, 0.8, 0.95)
SETTINGS = Settings(iterations=800, burn_in=300, chains=1, moves=4, thin=5)
ERROR_RATE = 0.001


@dataclass(frozen=True)
class Tumour:
    """Reads and what they were drawn from: labels (T,), prevalences (T, D)."""

    observations: Observations
    labels: NDArray[np.int64]
    prevalence: NDArray[np.float64]


def draw_tumour(mutations: int, samples: int, depth: int, rng: np.random.Generator) -> Tumour:
    """Draw a tumour from the priors."""
    prior = DirichletProcess()
    assert prior.shape is not None
    assert prior.rate is not None
    concentration = rng.gamma(prior.shape, 1.0 / prior.rate)
    labels = np.zeros(mutations, np.int64)
    for i in range(1, mutations):
        weights = np.append(np.bincount(labels[:i]), concentration)
        labels[i] = rng.choice(len(weights), p=weights / weights.sum())
    clusters = int(labels.max()) + 1
    shapes = np.array([[SHAPE, 1.0], [1.0, SHAPE], [1.0, 1.0]])
    of_sample = [rng.choice(3, clusters, p=rng.dirichlet(DIRICHLET)) for _ in range(samples)]
    phi = np.column_stack([rng.beta(*shapes[component].T) for component in of_sample])[labels]
    precision = rng.choice(PRECISION.values, p=np.array(PRECISION.prior) / sum(PRECISION.prior))
    share = (1.0 - phi) * ERROR_RATE + phi * 0.5
    reads = 1 + rng.poisson(depth - 1, share.shape)
    alt = draw_alt_counts(reads, share, precision, rng)
    full = np.ones(share.shape, np.int64)
    observations = Observations(
        [f"m{i}" for i in range(mutations)],
        [f"s{d}" for d in range(samples)],
        reads - alt,
        alt,
        full,
        full,
        2 * full,
        full.astype(float),
        np.full(share.shape, ERROR_RATE),
        full.astype(bool),
    )
    return Tumour(observations, labels, phi)


def judge(tumour: Tumour, seed: int) -> tuple[NDArray[np.float64], float, float]:
    """Posterior probability below each true prevalence (T, D); the true and the expected index of the consensus."""
    data = tumour.observations
    options = ModelOptions().resolve(data)
    model = options.make_model(data)
    settings = replace(SETTINGS, seed=seed).resolve(data.num_mutations)
    state = start_chain(model, DirichletProcess(), settings, 0)
    _, records, _ = advance(model, settings, state, 10, lambda _: False)
    kept = [k for k, done in enumerate(records.iteration) if done > settings.lengths[1]]
    draws = np.array([records.labels[k] for k in kept])
    blocks = block_posteriors((model.likelihood(records.values[k]), records.labels[k]) for k in kept)
    _, density = cluster_prevalences(blocks, draws, np.arange(data.num_mutations), options.grid)
    below = np.concatenate([np.zeros((*density.shape[:2], 1)), np.cumsum(density, axis=2)], axis=2)
    cell = np.searchsorted(cell_ends(options.grid)[1:-1], tumour.prevalence)[:, :, None]
    lower, upper = (np.take_along_axis(below, cell + step, axis=2)[:, :, 0] for step in (0, 1))
    found = np.random.default_rng((seed, 1)).uniform(lower, upper)
    labels = consensus(draws, "vi", rng=np.random.default_rng(seed))
    expected = float(np.mean([adjusted_rand(draw, labels) for draw in draws]))
    return found, adjusted_rand(tumour.labels, labels), expected


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Coverage of intervals on data from the model.")
    parser.add_argument("--data-sets", type=int, default=100)
    parser.add_argument("--mutations", type=int, default=40)
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    held, indices = [], []
    for number in range(given.data_sets):
        rng = np.random.default_rng((given.seed, number))
        tumour = draw_tumour(given.mutations, given.samples, given.depth, rng)
        below, true, expected = judge(tumour, number)
        held.append([np.mean(np.abs(below - 0.5) <= share / 2.0) for share in SHARES])
        indices.append([true, expected])
    for share, of_sets in zip(SHARES, np.array(held).T):
        error = of_sets.std(ddof=1) / np.sqrt(len(of_sets))
        print(f"{share:.0%} intervals hold the truth in {of_sets.mean():.3f} ± {error:.3f}")
    true, expected = np.mean(indices, axis=0)
    print(f"adjusted Rand index of the consensus: {true:.3f}; expected {expected:.3f}")


if __name__ == "__main__":
    main()
