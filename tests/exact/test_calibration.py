"""Simulation-based calibration of whole chains (Talts et al. 2018).

Hyperparameters from their prior, a partition from its prior given them, data from the likelihood; then a chain on the
data, which knows nothing of these. Among L nearly independent draws of its, the rank of the true value is uniform on
0..L, for each hyperparameter and also for the log joint probability, which sees whether the data are heeded; of tumours
also for the number of clusters and the prevalence of a mutation. Among equal values the rank is drawn at random.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from cases import observations, plugin, pyclone_log_marginal, pyclone_model
from enumeration import blocks_of, learned_grid, poisson_gamma_log_marginal
from seating import draw_seating, seating_probability

from pyclone_pgsm.likelihoods.choice import Choice
from pyclone_pgsm.likelihoods.model import FixedModel
from pyclone_pgsm.priors import DirichletProcess, FiniteDirichlet, PitmanYor
from pyclone_pgsm.sampling import convergence
from pyclone_pgsm.sampling import settings as settings_module
from pyclone_pgsm.sampling.chain import Records, advance, start_chain
from pyclone_pgsm.sampling.chains import run_until_converged
from pyclone_pgsm.sampling.convergence import Monitor, Rule
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.sampling.workers import Workers
from pyclone_pgsm.simulate.tumour import draw_alt_counts, draw_genotypes, variant_share
from pyclone_pgsm.tumour import base_measure
from pyclone_pgsm.tumour import model as tumour_model
from pyclone_pgsm.tumour.model import PyCloneModel

T = 10
SHAPE, RATE = 2.0, 0.1  # of the Gamma distribution of a block's Poisson mean
DRAWS = 4
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


def uniformity(of_all: list[list[int]]) -> NDArray[np.float64]:
    """P-values of the chi-square test that each kind of rank is uniform; a row a simulation."""
    return np.array(
        [stats.chisquare(np.bincount(one, minlength=DRAWS + 1)).pvalue for one in np.array(of_all).T]
    )


def p_values(prior: AnyPrior, replicates: int, assumed: AnyPrior | None = None) -> NDArray[np.float64]:
    return uniformity([ranks(prior, replicate, assumed) for replicate in range(replicates)])


@pytest.mark.long
@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: prior.name)
def test_true_values_rank_anywhere_among_the_draws(prior: AnyPrior) -> None:
    p = p_values(prior, 250)
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
    assert p_values(prior, 120, assumed).min() < 1e-9


# ---------------------------------------------------------------- tumours with a learned base measure

G = 41
GRID = learned_grid(G)
CONTENT = 0.9
OF_TUMOUR = {"particles": 4, "moves": 1, "iterations": 30 + 10 * DRAWS, "burn_in": 30, "thin": 10}
OF_TUMOUR |= {"anchor_proposal": "uniform", "hyper_every": 1}
PRECISIONS = (5.0, 40.0, np.inf)
PRECISION_PRIOR = np.array([0.2, 0.3, 0.5])
SHAPES = {"near 0": (0.1, 1.0), "near 1": (1.0, 0.1), "anywhere": (1.0, 1.0)}
RANKED = (
    "concentration",
    "precision",
    "near 0 in the first",
    "near 1 in the first",
    "near 0 in the second",
    "near 1 in the second",
    "clusters",
    "prevalence",
    "log joint",
)


@pytest.fixture
def _few_precisions(monkeypatch: pytest.MonkeyPatch) -> None:
    few = Choice(PRECISIONS, tuple(PRECISION_PRIOR), PRECISIONS[1], (1, 1, 2))
    monkeypatch.setattr(tumour_model, "PRECISION", few)


class Simulated(NamedTuple):
    """A tumour of two samples: its model, what is true of it, a mutation and a sample to look at, and a generator."""

    model: PyCloneModel
    truth: tuple[float, ...]
    who: int
    where: int
    rng: np.random.Generator


def simulated_tumour(replicate: int) -> Simulated:
    rng = np.random.default_rng((9, replicate))
    prior = draw_hyperparameters(PRIORS[0], rng)
    labels = draw_seating(prior, T, rng)
    weights = rng.dirichlet([1.0, 1.0, 2.0], 2)
    precision = PRECISIONS[rng.choice(len(PRECISIONS), p=PRECISION_PRIOR)]
    prevalence = np.empty((T, 2))
    for d in range(2):
        kinds = rng.choice(3, T, p=weights[d])
        drawn = np.array([rng.beta(*list(SHAPES.values())[kind]) for kind in kinds])
        prevalence[:, d] = GRID[np.searchsorted((GRID[1:] + GRID[:-1]) / 2, drawn)]
    genotype = draw_genotypes(np.tile([2, 1, 2], (T, 1)), rng)
    share = variant_share(genotype[:, None], prevalence[labels], CONTENT, 1e-3)
    depth = 1 + rng.poisson(39, (T, 2))
    data = observations(draw_alt_counts(depth, share, precision, rng), depth, 2, 1, 2, CONTENT)
    model = pyclone_model(data, G, precision=None, prevalence_prior="learned")
    values = (precision, *weights[:, :2].ravel().tolist())
    log_marginal = pyclone_log_marginal(model.likelihood(values), tuple(map(tuple, weights)))
    log_joint = log_density(prior) + np.log(seating_probability(prior, labels))
    log_joint += sum(map(log_marginal, blocks_of(labels.tolist())))
    log_joint += np.log(PRECISION_PRIOR[PRECISIONS.index(precision)]) + np.log(6 * weights[:, 2]).sum()
    who, d = int(rng.integers(T)), int(rng.integers(2))
    truth = (*prior.values(), *values, labels.max() + 1, prevalence[labels[who], d], log_joint)
    return Simulated(model, truth, who, d, rng)


def draw_of(tumour: Simulated, records: Records, k: int) -> tuple[float, ...]:
    """Everything in `RANKED` in a saved iteration."""
    model, _, who, d, rng = tumour
    likelihood = model.likelihood(records.values[k])
    members = records.labels[k] == records.labels[k][who]
    S = likelihood.log_base[d] + likelihood.xi[likelihood.index[members, d]].sum(axis=0)
    posterior = np.exp(S - S.max())
    point = rng.choice(G, p=posterior / posterior.sum())
    number = records.num_clusters[k]
    return *records.prior_values[k], *records.values[k], number, GRID[point], records.log_joint[k]


def ranks_among(draws: list[tuple[float, ...]], tumour: Simulated) -> list[int]:
    assert len(draws) == DRAWS
    less = (np.array(draws) < tumour.truth).sum(axis=0)
    equal = (np.array(draws) == tumour.truth).sum(axis=0)
    return (less + tumour.rng.integers(equal + 1)).tolist()


def ranks_of_a_tumour(replicate: int) -> list[int]:
    """Of everything in `RANKED`, in one simulated tumour."""
    tumour = simulated_tumour(replicate)
    settings = Settings(**OF_TUMOUR, seed=replicate)
    start = start_chain(tumour.model, PRIORS[0], settings, 0)
    _, records, _ = advance(tumour.model, settings, start, 10, lambda _: False)
    return ranks_among([draw_of(tumour, records, k) for k in range(-DRAWS, 0)], tumour)


@pytest.mark.long
@pytest.mark.usefixtures("_few_precisions")
def test_tumours_are_calibrated() -> None:
    p = uniformity([ranks_of_a_tumour(replicate) for replicate in range(250)])
    assert len(p) == len(RANKED)
    assert p.min() > 1e-3, dict(zip(RANKED, p))


@pytest.mark.long
@pytest.mark.usefixtures("_few_precisions")
@pytest.mark.parametrize(
    ("what", "assumed", "replicates"),
    [("SHAPE", 3.0, 250), ("DIRICHLET", np.array([1.0, 1.0, 6.0]), 120)],
    ids=["shape", "prior"],
)
def test_another_prior_of_prevalences_is_noticed(
    what: str, assumed: object, replicates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_measure, what, assumed)
    p = uniformity([ranks_of_a_tumour(replicate) for replicate in range(replicates)])
    assert p.min() < 1e-6, dict(zip(RANKED, p))


# ---------------------------------------------------------------- the rule for stopping

RULED = {"particles": 4, "moves": 1, "anchor_proposal": "balanced", "hyper_every": 1, "chains": 2}
FIRST_CHECK = 20


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that is content sooner than the real one, and checked more often: what bias there is would be larger."""
    for module in (settings_module, convergence):
        monkeypatch.setattr(module, "first_check", lambda _: FIRST_CHECK)
    monkeypatch.setattr(convergence, "RHAT_LIMIT", 1.1)
    monkeypatch.setattr(convergence, "ESS_LIMIT", 40.0)
    monkeypatch.setattr(convergence, "COCLUSTERING_LIMIT", 0.05)


def ranks_where_the_rule_stops(replicate: int) -> tuple[list[int], int]:
    """Of everything in `RANKED` among draws of all chains, after the burn-in that was found; and the iterations."""
    tumour = simulated_tumour(replicate)
    model = tumour.model
    settings = Settings(**RULED, seed=replicate).resolve(T)
    states = [start_chain(model, PRIORS[0], settings, k) for k in range(settings.chains)]
    monitor = Monitor(
        T, len(states), ("concentration", *model.hyperparameters), Rule(frozenset(["concentration"]))
    )
    chains = [Records() for _ in states]
    workers = Workers(model, 0)
    for chain, _, records, _ in run_until_converged(
        workers, settings, states, 10, 1, threading.Event(), monitor
    ):
        for name, values in vars(records).items():
            getattr(chains[chain], name).extend(values)
    end = monitor.end
    assert end is not None
    assert end.converged
    rows = [(k, row) for k in range(len(chains)) for row in range(end.burn_in, end.iterations)]
    chosen = tumour.rng.choice(len(rows), DRAWS, replace=False)
    draws = [draw_of(tumour, chains[rows[m][0]], rows[m][1]) for m in chosen]
    return ranks_among(draws, tumour), end.iterations


@pytest.mark.long
@pytest.mark.usefixtures("_few_precisions", "_hasty")
def test_stopping_by_the_rule_keeps_the_calibration() -> None:
    """To stop when a diagnostic is content could prefer draws that agree by chance."""
    found = [ranks_where_the_rule_stops(replicate) for replicate in range(120)]
    assert len({iterations for _, iterations in found}) > 3  # it is the rule that stops, not a limit
    p = uniformity([ranks for ranks, _ in found])
    assert p.min() > 1e-3, dict(zip(RANKED, p))
