"""Simulation-based calibration of whole chains (Talts et al. 2018).

Hyperparameters from their prior, a partition from its prior given them, data from the likelihood; then a chain on the
data, which knows nothing of these. Among L nearly independent draws of its, the rank of the true value is uniform on
0..L, for each hyperparameter and also for the log joint probability, which sees whether the data are heeded.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent / "exact"))
from cases import plugin
from enumeration import blocks_of, poisson_gamma_log_marginal
from seating import draw_seating, seating_probability

from pyclone_pgsm.chains import advance, start_chain
from pyclone_pgsm.likelihoods.model import FixedModel
from pyclone_pgsm.priors import DirichletProcess, FiniteDirichlet, PitmanYor
from pyclone_pgsm.settings import Settings

T = 10
SHAPE, RATE = 2.0, 0.1  # of the Gamma distribution of a block's Poisson mean
DRAWS = 9
SETTINGS = {
    "particles": 4,
    "moves": 1,
    "anchor_proposal": "uniform",
    "iterations": 20 + 5 * DRAWS,
    "burn_in": 20,
    "thin": 5,
}

AnyPrior = DirichletProcess | PitmanYor | FiniteDirichlet
PRIORS: list[AnyPrior] = [
    DirichletProcess(1.0, 2.0, 0.7),
    PitmanYor(1.0, 0.5, 2.0, 0.7),
    FiniteDirichlet(4, 1.0, 2.0, 0.7),
]


def draw_hyperparameters(prior: AnyPrior, rng: np.random.Generator) -> AnyPrior:
    assert prior.shape is not None
    assert prior.rate is not None
    total = rng.gamma(prior.shape, 1 / prior.rate)
    if isinstance(prior, PitmanYor):
        return prior.with_values((total, rng.random()))
    return prior.with_values((total / getattr(prior, "max_components", 1),))


def log_density(prior: AnyPrior) -> float:
    """log p of the hyperparameters (the discount's is 0)."""
    assert prior.rate is not None
    scale = getattr(prior, "max_components", 1)
    total = prior.concentration * scale
    return float(stats.gamma.logpdf(total, prior.shape, scale=1 / prior.rate) + np.log(scale))


def ranks(prior: AnyPrior, replicate: int, assumed: AnyPrior | None = None) -> list[int]:
    """Of each hyperparameter and the log joint, in one simulation; the chain may assume another prior."""
    rng = np.random.default_rng((7, replicate))
    truth = draw_hyperparameters(prior, rng)
    labels = draw_seating(truth, T, rng)
    counts = rng.poisson(rng.gamma(SHAPE, 1 / RATE, T)[labels]).astype(float)
    log_marginal = poisson_gamma_log_marginal(counts, SHAPE, RATE)
    log_joint = log_density(truth) + np.log(seating_probability(truth, labels))
    log_joint += sum(map(log_marginal, blocks_of(labels.tolist())))

    model = FixedModel(plugin().from_data(counts[:, None], SHAPE, RATE), T)
    settings = Settings(**SETTINGS, seed=replicate)
    start = start_chain(model, assumed or prior, settings, 0)
    _, records, _ = advance(model, settings, start, 10, lambda _: False)
    draws = np.column_stack([records.prior_values, records.log_joint])[-DRAWS:]
    assert len(draws) == DRAWS
    return (draws < [*truth.values(), log_joint]).sum(axis=0).tolist()


def p_values(prior: AnyPrior, replicates: int, assumed: AnyPrior | None = None) -> NDArray[np.float64]:
    """Of the chi-square test that each kind of rank is uniform."""
    of_all = np.array([ranks(prior, replicate, assumed) for replicate in range(replicates)])
    return np.array([stats.chisquare(np.bincount(one, minlength=DRAWS + 1)).pvalue for one in of_all.T])


@pytest.mark.long
@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: prior.name)
def test_true_values_rank_anywhere_among_the_draws(prior: AnyPrior) -> None:
    p = p_values(prior, 400)
    assert len(p) == len(prior.values()) + 1
    assert p.min() > 1e-3


@pytest.mark.long
@pytest.mark.parametrize(
    ("prior", "assumed"),
    [
        (PRIORS[0], DirichletProcess(1.0, 2.0, 1.2)),
        (PRIORS[1], PitmanYor(1.0, 0.5, 2.0, 1.2)),
        (PRIORS[2], FiniteDirichlet(6, 1.0, 2.0, 0.7)),
    ],
    ids=lambda prior: prior.name,
)
def test_a_chain_under_another_prior_is_noticed(prior: AnyPrior, assumed: AnyPrior) -> None:
    assert p_values(prior, 200, assumed).min() < 1e-9
