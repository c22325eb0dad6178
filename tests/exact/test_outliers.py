"""Partition and outliers together, against all combinations of both.

p(c, o | y) ∝ p(c) p^|o| (1 - p)^(T - |o|) prod over blocks b of L(y_{b without o}) prod over outliers of L'(y_i), with
p(c) from the seating, L(y_b) from the members and L'(y_i) = (L(y_i) + prod over samples of 1 / (n + 1)) / 2. One step
from the posterior is still the posterior; chains reach it, with precision and concentration inferred, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from cases import observations, pyclone_log_marginal, pyclone_model
from enumeration import LogMarginal, blocks_of, chi_square_p_value, set_partitions
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammaln, logsumexp
from seating import seating_probability
from test_chains import (
    ANY_CONCENTRATION,
    PRECISION_PRIOR,
    PRECISIONS,
    check_frequencies,
    concentration_integral,
)

from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.choice import Visits
from pyclone_pgsm.likelihoods.pyclone import PyClone
from pyclone_pgsm.partition import PartitionPrior, build_partition, canonical_labels
from pyclone_pgsm.priors import CustomPrior, DirichletProcess, FiniteDirichlet, PitmanYor, Prior
from pyclone_pgsm.samplers.anchors import uniform_anchors
from pyclone_pgsm.samplers.gibbs import gibbs_sweep
from pyclone_pgsm.samplers.hyperparameters import resample_hyperparameters
from pyclone_pgsm.samplers.outliers import resample_outliers
from pyclone_pgsm.samplers.particle_blocks import make_block_pool
from pyclone_pgsm.samplers.particles import SMCSettings
from pyclone_pgsm.samplers.split_merge import split_merge
from pyclone_pgsm.sampling.chain import Records, advance, start_chain
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.tumour import model as tumour_model
from pyclone_pgsm.tumour import outliers as outlier_module
from pyclone_pgsm.tumour.model import PyCloneModel
from pyclone_pgsm.tumour.outliers import TumourWithOutliers, log_any_share

T = 4
PROB = 0.3
REPLICATES = 10_000
DP = DirichletProcess(0.8, None, None)
PRIORS: dict[str, Prior] = {
    "dp": DP,
    "pitman-yor": PitmanYor(0.5, 0.4, None, None, infer_discount=False),
    "finite of 2": FiniteDirichlet(2, 1.5, None, None),
}


def two_samples() -> Observations:
    """The last mutation has no data in the second sample."""
    alt = [[3, 8], [11, 3], [4, 6], [9, 0]]
    return observations(
        alt, [[14, 15], [16, 20], [17, 14], [22, 12]], has_data=[[1, 1], [1, 1], [1, 1], [1, 0]]
    )


def one_sample() -> Observations:
    """Two mutations with the same reads: of one kind."""
    return observations([[2], [8], [8], [12]], [[20], [24], [24], [18]])


DATA = {"two samples": two_samples, "one sample": one_sample}


@dataclass(frozen=True)
class States:
    """Every partition with every set of outliers, and their probabilities.

    Attributes
    ----------
    labels, outliers : (S, T)
    log_joint : (S,)
    """

    labels: NDArray[np.int32]
    outliers: NDArray[np.bool_]
    log_joint: NDArray[np.float64]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        return np.exp(self.log_joint - logsumexp(self.log_joint))

    @cached_property
    def number(self) -> dict[bytes, int]:
        return {key(*state): s for s, state in enumerate(zip(self.labels, self.outliers))}


def key(labels: NDArray[np.int32], outliers: NDArray[np.bool_]) -> bytes:
    return labels.tobytes() + outliers.tobytes()


def log_outlier(log_marginal: LogMarginal, data: Observations) -> NDArray[np.float64]:
    """(T,) log L'(y_i)."""
    found = []
    for i in range(T):
        any_share = np.prod([1.0 / (n + 1) for n, known in zip(data.depth[i], data.has_data[i]) if known])
        found.append(np.log(0.5 * np.exp(log_marginal([i])) + 0.5 * any_share))
    return np.array(found)


def log_data(
    labels: Sequence[int],
    outliers: NDArray[np.bool_],
    log_marginal: LogMarginal,
    log_alone: NDArray[np.float64],
) -> float:
    """log p(o) p(y | c, o)."""
    total = outliers.sum() * np.log(PROB) + (~outliers).sum() * np.log(1 - PROB)
    for block in blocks_of(labels):
        members = [i for i in block if not outliers[i]]
        total += log_marginal(members) if members else 0.0
    return float(total + log_alone[outliers].sum())


def enumerate_states(
    log_prior: Callable[[NDArray[np.int32]], float], likelihood: PyClone, data: Observations
) -> States:
    rows = [
        (labels, np.array(flags), log_prior(labels))
        for labels in set_partitions(T)
        for flags in itertools.product((False, True), repeat=T)
    ]
    labels, outliers, log_p = (np.array(column) for column in zip(*rows))
    log_marginal = pyclone_log_marginal(likelihood)
    alone = log_outlier(log_marginal, data)
    of_data = [log_data(c.tolist(), o, log_marginal, alone) for c, o in zip(labels, outliers)]
    return States(labels, outliers, log_p + of_data)


def log_seating(prior: Prior) -> Callable[[NDArray[np.int32]], float]:
    def log_prior(labels: NDArray[np.int32]) -> float:
        p = seating_probability(prior, labels)
        return np.log(p) if p > 0 else -np.inf

    return log_prior


class Kernels:
    """One iteration of a kind, by the functions that chains run; the sweep over outliers may be another.

    A model without outliers will do, too.
    """

    def __init__(
        self, model: TumourWithOutliers | PyCloneModel, prior: Prior, sweep: Callable[..., Any] | None = None
    ) -> None:
        self.model = model
        self.tables = PartitionPrior(prior.log_tau1(T), prior.log_tau2(T))
        self.build, self.gibbs, self.move = (
            compiled_for(f, PyClone) for f in (build_partition, gibbs_sweep, split_merge)
        )
        self.outliers = sweep or compiled_for(resample_outliers, PyClone)
        self.independence = Visits(model.choices).independence
        self.pool = make_block_pool(5, model.likelihood(model.initial_values()).stat_size())

    def step(
        self, kind: str, labels: Any, outliers: Any, values: tuple[float, ...], rng: np.random.Generator
    ) -> tuple[Any, Any, tuple[float, ...]]:
        model = self.model.given(outliers) if isinstance(self.model, TumourWithOutliers) else self.model
        likelihood = model.likelihood(values)
        partition = self.build(likelihood, labels)
        for part in kind.split("+"):
            if part == "gibbs":
                partition, _ = self.gibbs(likelihood, self.tables, partition, model.order, rng)
            elif part == "pgsm":
                anchors = uniform_anchors(T, 2, rng)
                partition, _, _ = self.move(
                    likelihood,
                    self.tables,
                    partition,
                    anchors,
                    SMCSettings(5, 0.5, True, 0),
                    self.pool,
                    rng,
                )
            elif part in ("hyperparameters", "weights"):
                values, likelihood, partition, _ = resample_hyperparameters(
                    model, values, likelihood, partition, self.independence, rng, part == "hyperparameters"
                )
            else:
                assert isinstance(model, TumourWithOutliers)
                outliers = model.outliers.copy()
                full, weights = model.full_likelihood(values), model.log_weights(values)
                partition, _ = self.outliers(
                    full, self.tables, partition, outliers, weights, model.order, rng
                )
                model = model.given(outliers)
                likelihood = model.likelihood(values)
        return canonical_labels(partition.labels)[0], outliers, values


def probabilities_of(states: Sequence[States]) -> NDArray[np.float64]:
    log_joint = np.concatenate([each.log_joint for each in states])
    return np.exp(log_joint - logsumexp(log_joint))


def step(
    kernels: Kernels,
    states: Sequence[States],
    points: Sequence[tuple[float, ...]],
    kind: str,
    replicates: int,
) -> NDArray[np.int64]:
    """Where a step from the posterior ends; `states` at each of the points."""
    probabilities = probabilities_of(states)
    rng = np.random.default_rng(5)
    size = len(states[0].log_joint)
    ends = []
    for start in rng.choice(len(probabilities), replicates, p=probabilities):
        where, s = divmod(start, size)
        labels, outliers, values = kernels.step(
            kind, states[0].labels[s], states[0].outliers[s], points[where], rng
        )
        ends.append(points.index(values) * size + states[0].number[key(labels, outliers)])
    return np.array(ends)


def p_value(
    kernels: Kernels,
    states: Sequence[States],
    points: Sequence[tuple[float, ...]],
    kind: str,
    replicates: int,
) -> float:
    """Of the test that a step from the posterior is still the posterior."""
    probabilities = probabilities_of(states)
    assert probabilities.max() < 0.5
    ends = step(kernels, states, points, kind, replicates)
    return chi_square_p_value(np.bincount(ends, minlength=len(probabilities)), probabilities)


def outlier_model(data: Observations, precision: float | None = np.inf) -> TumourWithOutliers:
    return TumourWithOutliers(pyclone_model(data, 41, precision=precision), PROB, log_any_share(data))


@pytest.mark.parametrize(
    ("data", "prior", "kind"),
    [
        ("two samples", "dp", "outliers"),
        ("two samples", "dp", "pgsm+outliers+gibbs"),
        ("two samples", "pitman-yor", "outliers"),
        ("two samples", "finite of 2", "gibbs+outliers"),
        ("one sample", "dp", "gibbs+outliers"),
        ("one sample", "finite of 2", "pgsm+outliers"),
    ],
)
def test_one_step_from_the_posterior_is_the_posterior(data: str, prior: str, kind: str) -> None:
    reads = DATA[data]()
    model = outlier_model(reads)
    states = enumerate_states(log_seating(PRIORS[prior]), model.likelihood(()), reads)
    assert p_value(Kernels(model, PRIORS[prior]), [states], [()], kind, REPLICATES) > 1e-4


def test_constants_of_outliers_are_counted() -> None:
    """Data and outliers have the same probability, however it is split between likelihood and hyperprior."""
    model = outlier_model(two_samples())
    marginal = pyclone_log_marginal(model.likelihood(()))
    for flags in itertools.product((False, True), repeat=T):
        given = model.given(np.array(flags))
        found = given.log_hyperprior(()) + given.likelihood(()).log_constant()
        members = [i for i in range(T) if not flags[i]]
        alone = log_outlier(marginal, two_samples())[np.array(flags)].sum()
        constants = sum(
            model.likelihood(()).xi_max[model.likelihood(()).index[i]][two_samples().has_data[i]].sum()
            for i in members
        )
        expected = sum(flags) * np.log(PROB) + len(members) * np.log(1 - PROB) + alone + constants
        assert found == pytest.approx(expected)


@pytest.fixture
def _few_precisions(monkeypatch: pytest.MonkeyPatch) -> None:
    few = tumour_model.Choice(PRECISIONS, tuple(PRECISION_PRIOR), PRECISIONS[1], (1, 1, 2))
    monkeypatch.setattr(tumour_model, "PRECISION", few)


def at_each_precision(
    model: TumourWithOutliers, data: Observations, log_prior: Callable[[NDArray[np.int32]], float]
) -> list[States]:
    found = []
    for precision, p in zip(PRECISIONS, PRECISION_PRIOR):
        states = enumerate_states(log_prior, model.full_likelihood((precision,)), data)
        found.append(replace(states, log_joint=states.log_joint + np.log(p)))
    return found


def with_the_precision() -> tuple[Kernels, list[States], list[tuple[float, ...]]]:
    model = outlier_model(two_samples(), None)
    states = at_each_precision(model, two_samples(), log_seating(DP))
    return Kernels(model, DP), states, [(precision,) for precision in PRECISIONS]


@pytest.mark.usefixtures("_few_precisions")
@pytest.mark.parametrize("cached_bytes", [0, np.inf])
def test_one_step_from_the_joint_posterior_with_the_precision(
    cached_bytes: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With tables of all settings and, which is another algorithm, without."""
    monkeypatch.setattr(tumour_model, "CACHED_BYTES", cached_bytes)
    assert p_value(*with_the_precision(), "outliers+hyperparameters+gibbs", REPLICATES) > 1e-4


@pytest.mark.usefixtures("_few_precisions")
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_outliers_reads_that_are_not_drawn_to_be_of_either_kind_are_noticed(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outlier_module, "expit", lambda log_odds: np.full(len(log_odds), share))
    monkeypatch.setitem(globals(), "PROB", 0.6)
    assert (
        p_value(*with_the_precision(), "outliers+hyperparameters+outliers+hyperparameters", 2 * REPLICATES)
        < 1e-10
    )


def run(model: TumourWithOutliers, settings: Settings) -> Records:
    state = start_chain(model, ANY_CONCENTRATION, settings, 0)
    _, records, done = advance(model, settings, state, 10, lambda _: False)
    assert done
    return records


@pytest.mark.long
@pytest.mark.usefixtures("_few_precisions")
def test_a_chain_reaches_the_posterior() -> None:
    """In what is saved outliers are apart: partitions that differ in their outliers' blocks only are one."""
    model = outlier_model(one_sample(), None)

    def log_prior(labels: NDArray[np.int32]) -> float:
        sizes = np.bincount(labels)
        return float(np.log(concentration_integral(len(sizes), T)) + gammaln(sizes).sum())

    settings = Settings(iterations=15_000, burn_in=500, seed=3, hyper_every=1, particles=5)
    records = run(model, settings)
    cells: dict[tuple[bytes, float], int] = {}
    probabilities: list[float] = []
    for precision, states in zip(PRECISIONS, at_each_precision(model, one_sample(), log_prior)):
        for labels, flags, log_joint in zip(states.labels, states.outliers, states.log_joint):
            effective = model.given(flags).effective(labels).astype(np.int32)
            cell = cells.setdefault((key(effective, flags), precision), len(cells))
            probabilities += [0.0] * (cell == len(probabilities))
            probabilities[cell] += np.exp(log_joint)
    draws = [
        cells[key(labels, flags), values[0]]
        for labels, flags, values in zip(records.labels, records.outliers, records.values)
    ]
    check_frequencies(np.array(draws[500:]), np.array(probabilities) / np.sum(probabilities))
    for labels, flags, number in zip(records.labels, records.outliers, records.num_clusters):
        assert number == len(set(labels[~flags]))


@pytest.mark.usefixtures("_few_precisions")
def test_the_log_joint_is_that_of_everything_unknown() -> None:
    """log p(y, c, o, alpha, s), with all constants."""
    model = outlier_model(two_samples(), None)
    prior = DirichletProcess(1.0, 2.0, 0.5)
    settings = Settings(iterations=60, burn_in=1, hyper_every=1, seed=2)
    state = start_chain(model, prior, settings, 0)
    numbers = set()
    for iteration in range(1, 60):
        state, records, _ = advance(model, settings, state, 1, lambda done, end=iteration: done == end)
        assert state.iteration == iteration
        assert state.outliers is not None
        numbers.add(int(state.outliers.sum()))
        [alpha], [s] = state.prior.values(), state.values
        marginal = pyclone_log_marginal(model.full_likelihood(state.values))
        alone = log_outlier(marginal, two_samples())
        expected = log_data(state.labels.tolist(), state.outliers, marginal, alone)
        expected += sum(np.log(alpha) + gammaln(len(b)) for b in blocks_of(state.labels.tolist()))
        expected += gammaln(alpha) - gammaln(alpha + T) + stats.gamma.logpdf(alpha, 2.0, scale=1 / 0.5)
        expected += np.log(PRECISION_PRIOR[PRECISIONS.index(s)])
        assert records.log_joint[-1] == pytest.approx(expected, abs=1e-8)
    assert len(numbers) > 2


def test_impossible_blocks_stay_impossible() -> None:
    """One block at most: nobody opens another, not even as an outlier."""
    model = outlier_model(two_samples())
    one = CustomPrior(lambda j: np.where(j <= 1, 0.0, -np.inf), lambda n: 0.0 * n)
    kernels = Kernels(model, one)
    rng = np.random.default_rng(1)
    labels, outliers = np.zeros(T, np.int32), np.zeros(T, bool)
    seen = set()
    for _ in range(200):
        labels, outliers, _ = kernels.step("outliers+gibbs", labels, outliers, (), rng)
        assert labels.tolist() == [0] * T
        seen.add(outliers.tobytes())
    assert len(seen) > 8


def test_no_outlier_before_half_of_the_burn_in() -> None:
    records = run(outlier_model(two_samples()), Settings(iterations=60, burn_in=40, seed=1))
    flags = np.array(records.outliers)
    assert not flags[:20].any()
    assert flags[20:].any()
