"""Whole chains, from far away, against the exact posterior; and the concentration and the precision with them.

p(c, s | y) ∝ p(s) prod_b Γ(|b|) L(y_b; s) · ∫ alpha^|c| Γ(alpha) / Γ(alpha + T) p(alpha) d alpha
"""

from __future__ import annotations

import numpy as np
import pytest
from cases import CASES, observations, pyclone_log_marginal, pyclone_model
from enumeration import Posterior, blocks_of, chi_square_p_value, encode, enumerate_posterior
from numpy.typing import NDArray
from scipy import stats
from scipy.integrate import quad
from scipy.special import gammaln, logsumexp

from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.choice import Visits
from pyclone_pgsm.likelihoods.model import FixedModel, Model
from pyclone_pgsm.likelihoods.pyclone import PyClone
from pyclone_pgsm.partition import PartitionPrior, build_partition, canonical_labels
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.samplers.gibbs import gibbs_sweep
from pyclone_pgsm.samplers.hyperparameters import resample_hyperparameters
from pyclone_pgsm.sampling.chain import Records, advance, start_chain
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.tumour import model as tumour_model

ANY_CONCENTRATION = DirichletProcess(1.0, 1.0, 0.1)
PRECISIONS = (3.0, 12.0, 60.0, np.inf)
PRECISION_PRIOR = np.array([3.0, 6.0, 6.0, 6.0]) / 21.0  # in proportion to the precision, up to 6


def concentration_integral(num_blocks: int, T: int) -> float:
    """∫ alpha^k Γ(alpha) / Γ(alpha + T) 0.1 exp(-0.1 alpha) d alpha."""

    def density(alpha: float) -> float:
        return 0.1 * np.exp(num_blocks * np.log(alpha) + gammaln(alpha) - gammaln(alpha + T) - 0.1 * alpha)

    return quad(density, 0, 1)[0] + quad(density, 1, 400)[0]


def any_concentration(posterior: Posterior, concentration: float) -> Posterior:
    """From a posterior with this concentration to one with the concentration integrated out."""
    T = posterior.partitions.shape[1]
    num_blocks = posterior.partitions.max(axis=1) + 1
    normaliser = gammaln(concentration) - gammaln(concentration + T)
    integrals = np.log([concentration_integral(k, T) for k in range(1, T + 1)])
    change = integrals[num_blocks - 1] - num_blocks * np.log(concentration) - normaliser
    return Posterior(posterior.partitions, posterior.log_joint + change)


def run(model: Model, prior: DirichletProcess, settings: Settings) -> Records:
    _, records, done = advance(model, settings, start_chain(model, prior, settings, 0), 10, lambda _: False)
    assert done
    return records


def check_frequencies(draws: NDArray[np.int64], probabilities: NDArray[np.float64]) -> None:
    """Frequencies of correlated draws 0..B-1 against their probabilities.

    Means of 50 long batches are as good as independent, and give the standard error of every frequency. Total variation
    is half the sum of the errors' absolute values, so sqrt(2/pi)/2 times the sum of the standard errors is expected of
    it; twice that is far beyond, for a sum of so many terms. And no frequency may be off by 5 standard errors.
    """
    batches = np.array(
        [np.bincount(b, minlength=len(probabilities)) / len(b) for b in np.array_split(draws, 50)]
    )
    standard_error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    error = batches.mean(axis=0) - probabilities
    total_variation = np.abs(error).sum() / 2
    assert total_variation < 2 * np.sqrt(2 / np.pi) * standard_error.sum() / 2
    common = probabilities > 0.01
    assert np.abs(error[common] / standard_error[common]).max() < 5
    assert total_variation < 0.05  # the chain was long enough to say something


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("one_sample", {"sampler": "pgsm", "init": "single", "moves": 3, "particles": 10}),
        ("one_sample", {"sampler": "gibbs", "init": "disconnected"}),
        (
            "copy_numbers",
            {"sampler": "pgsm", "init": "disconnected", "anchor_proposal": "cluster", "moves": 2},
        ),
        ("underflow", {"sampler": "mixed", "init": "single", "targets": "plain", "resample_threshold": 0.9}),
        ("counts", {"sampler": "mixed", "init": "disconnected", "anchor_proposal": "cluster"}),
    ],
)
def test_a_chain_from_far_away_reaches_the_posterior(name: str, settings: dict) -> None:
    case = CASES[name]()
    model = FixedModel(case.likelihood, case.num_observations)
    records = run(model, ANY_CONCENTRATION, Settings(**settings, iterations=20_000, burn_in=500, seed=3))
    posterior = any_concentration(case.posterior, case.concentration)
    draws = posterior.find(encode(np.array(records.labels[500:])))
    check_frequencies(draws, posterior.probabilities)
    with pytest.raises(AssertionError):  # the check is sharp enough to see what the concentration's prior is
        check_frequencies(draws, any_concentration(case.posterior, 1.1 * case.concentration).probabilities)


def inferred() -> tuple[tumour_model.PyCloneModel, list[Posterior]]:
    """A model with its precision unknown, and the posterior given each precision, concentration 1."""
    alt, depth = [[2, 9], [14, 5], [7, 1], [12, 11]], [[24, 20], [30, 24], [20, 25], [28, 30]]
    model = pyclone_model(observations(alt, depth), 41, precision=None)
    given = [enumerate_posterior(4, pyclone_log_marginal(model.likelihood((s,))), 1.0) for s in PRECISIONS]
    return model, given


def joint(given: list[Posterior]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Every partition with every precision in turn (precision by precision), and the probability of each."""
    log_joint = np.concatenate(
        [np.log(p) + posterior.log_joint for p, posterior in zip(PRECISION_PRIOR, given)]
    )
    return given[0].partitions, np.exp(log_joint - logsumexp(log_joint))


@pytest.fixture
def _few_precisions(monkeypatch: pytest.MonkeyPatch) -> None:
    few = tumour_model.Choice(PRECISIONS, tuple(PRECISION_PRIOR), PRECISIONS[1], (1, 1, 2))
    monkeypatch.setattr(tumour_model, "PRECISION", few)


@pytest.mark.long
@pytest.mark.usefixtures("_few_precisions")
def test_one_step_from_the_joint_posterior_of_partition_and_precision() -> None:
    model, given = inferred()
    partitions, probabilities = joint(given)
    assert probabilities.reshape(4, -1).sum(axis=1).min() > 0.02
    independence = Visits(model.choices).independence
    rng = np.random.default_rng(8)
    prior = DirichletProcess(1.0, None, None)
    tables = PartitionPrior(prior.log_tau1(4), prior.log_tau2(4))
    build, sweep = (compiled_for(f, PyClone) for f in (build_partition, gibbs_sweep))
    cells = {labels.tobytes(): c for c, labels in enumerate(partitions)}
    likelihoods = [model.likelihood((precision,)) for precision in PRECISIONS]
    counts = np.zeros(len(probabilities), np.int64)
    for start in rng.choice(len(probabilities), 30_000, p=probabilities):
        where, c = divmod(start, len(partitions))
        likelihood = likelihoods[where]
        partition = build(likelihood, partitions[c])
        partition, _ = sweep(likelihood, tables, partition, model.order, rng)
        values, likelihood, partition, _ = resample_hyperparameters(
            model, (PRECISIONS[where],), likelihood, partition, independence, rng, True
        )
        partition, _ = sweep(likelihood, tables, partition, model.order, rng)
        c = cells[canonical_labels(partition.labels)[0].tobytes()]
        counts[PRECISIONS.index(values[0]) * len(partitions) + c] += 1
    assert chi_square_p_value(counts, probabilities) > 1e-4


@pytest.mark.long
@pytest.mark.usefixtures("_few_precisions")
def test_a_chain_infers_partition_precision_and_concentration_together() -> None:
    model, given = inferred()
    partitions, probabilities = joint([any_concentration(posterior, 1.0) for posterior in given])
    settings = Settings(iterations=20_000, burn_in=500, seed=4, hyper_every=1, particles=5)
    records = run(model, ANY_CONCENTRATION, settings)
    cells = {labels.tobytes(): c for c, labels in enumerate(partitions)}
    draws = [
        PRECISIONS.index(values[0]) * len(partitions) + cells[labels.tobytes()]
        for labels, values in zip(records.labels[500:], records.values[500:])
    ]
    check_frequencies(np.array(draws), probabilities)


@pytest.mark.usefixtures("_few_precisions")
def test_the_log_joint_is_that_of_everything_unknown() -> None:
    """log p(y, c, alpha, s), with all constants."""
    model, _ = inferred()
    records = run(
        model, DirichletProcess(1.0, 2.0, 0.5), Settings(iterations=60, burn_in=1, hyper_every=1, seed=2)
    )
    assert len(set(records.values)) > 1
    for labels, alpha, values, log_joint in zip(
        records.labels, records.concentration, records.values, records.log_joint
    ):
        marginal = pyclone_log_marginal(model.likelihood(values))
        blocks = blocks_of(labels.tolist())
        expected = sum(np.log(alpha) + gammaln(len(b)) + marginal(b) for b in blocks)
        expected += gammaln(alpha) - gammaln(alpha + 4)
        expected += stats.gamma.logpdf(alpha, 2.0, scale=1 / 0.5)
        expected += np.log(PRECISION_PRIOR[PRECISIONS.index(values[0])])
        assert log_joint == pytest.approx(expected, abs=1e-8)
