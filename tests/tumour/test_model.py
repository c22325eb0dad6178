"""The model's hyperparameters: which there are, their priors and proposals, and the tables at their values."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import truncnorm

sys.path.insert(0, str(Path(__file__).parents[1] / "exact"))
from cases import observations, pyclone_model

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.choice import Choice, Visits
from pyclone_pgsm.likelihoods.pyclone import PyClone
from pyclone_pgsm.partition import build_partition
from pyclone_pgsm.priors import DirichletProcess
from pyclone_pgsm.samplers.hyperparameters import partition_log_likelihood
from pyclone_pgsm.sampling.chain import advance, start_chain
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.tumour import model as tumour_model
from pyclone_pgsm.tumour.choices import (
    ERROR_RATE,
    FINE_ERROR_RATE,
    PRECISION,
    REAL_ERROR_RATES,
    content_choice,
    error_rate_choice,
)
from pyclone_pgsm.tumour.grid import Loci, XiGrid, deduplicate, likelihood_grid
from pyclone_pgsm.tumour.model import PER_SAMPLE, PyCloneModel
from pyclone_pgsm.tumour.options import TumourOptions


def small_model(precision: float | None) -> PyCloneModel:
    return pyclone_model(observations([[3], [9]], [[10], [20]]), 11, precision=precision)


def test_a_fixed_precision_is_no_hyperparameter() -> None:
    for precision in (np.inf, 50.0):
        model = small_model(precision)
        assert model.hyperparameters == ()
        assert model.initial_values() == ()
        assert model.log_hyperprior(()) == 0.0
    assert not np.array_equal(small_model(50.0).likelihood(()).xi, small_model(np.inf).likelihood(()).xi)


@pytest.mark.parametrize(
    "choice", [PRECISION, ERROR_RATE, FINE_ERROR_RATE, content_choice(Uncertain(0.9, 0.1))]
)
@pytest.mark.parametrize("visited", [False, True])
def test_proposals_are_as_the_ratio_says(choice: Choice, visited: bool) -> None:
    """As often from one value to another as back, but for the ratio that is told; every value can be reached."""
    rng = np.random.default_rng(1)
    visits = np.zeros(len(choice.values), np.int64)
    visits[len(visits) // 3 : len(visits) // 2] = 30 * visited
    independence = choice.independence_proposal(visits)
    size = 4000
    places = {value: place for place, value in enumerate(choice.values)}
    drawn = np.zeros((len(places), len(places)))
    corrected = np.zeros_like(drawn)
    for value, here in places.items():
        for _ in range(size):
            new, log_ratio = choice.propose(value, rng, independence)
            drawn[here, places[new]] += 1
            corrected[here, places[new]] += min(1.0, np.exp(log_ratio))
    # accepted with min(1, ratio), the proposals are in balance with a flat target
    difference = corrected - corrected.T
    assert np.abs(difference).max() < 5 * np.sqrt(2 * drawn.max())
    assert (drawn.diagonal(1) > 0).all()
    assert (drawn.diagonal(-1) > 0).all()
    assert np.exp([choice.log_prior(value) for value in choice.values]).sum() == pytest.approx(1.0)
    q = np.exp(independence.log_q)
    likeliest = int(np.argmax(q))
    far = np.abs(np.arange(len(places)) - likeliest) > max(choice.jumps)
    if far.any():
        assert drawn[far, likeliest].mean() / size == pytest.approx(
            choice.independence_share * q[likeliest], rel=0.1
        )


def test_independence_proposals_are_drawn_from_the_prior_and_from_what_was_visited() -> None:
    """A visit counts half for its value, a quarter for each beside it, and all of it at an end for the end."""
    choice = Choice((1.0, 2.0, 3.0, 4.0, 5.0), (4.0, 2.0, 1.0, 1.0, 2.0), 1.0)
    prior = np.array(choice.prior) / 10
    np.testing.assert_allclose(np.exp(choice.independence_proposal(np.zeros(5, np.int64)).log_q), prior)
    visits = Visits([choice, ERROR_RATE])
    for value in (1.0, 3.0, 3.0, 3.0, 3.0):
        visits.add((value, 1e-3))
    expected = (prior + np.array([0.75, 1.25, 2.0, 1.0, 0.0]) / 5) / 2
    np.testing.assert_allclose(np.exp(visits.independence[0].log_q), expected)
    np.testing.assert_allclose(visits.independence[0].cumulative, np.cumsum(expected))
    again = Visits([choice, ERROR_RATE], visits.counts)
    assert visits.counts.sum() == 10
    for proposal, expected_proposal in zip(again.independence, visits.independence, strict=True):
        np.testing.assert_array_equal(proposal.log_q, expected_proposal.log_q)


def test_a_density_is_a_third_of_the_visits() -> None:
    """Half, without any before; the rest is uniform."""
    choice = Choice((1.0, 2.0, 3.0), (1.0, 1.0, 2.0), 1.0)
    density = np.array([0.1, 0.2, 0.7])
    uniform = np.full(3, 1 / 3)
    visited = np.array([0.0, 1.0, 0.0])
    for before, expected in (((), (density + uniform) / 2), ((2.0, 2.0), (density + uniform + visited) / 3)):
        visits = Visits([ERROR_RATE, choice])
        for value in before:
            visits.add((1e-3, value))
        others = visits.counts[:-3]
        visits.add_density(1, np.log(density) - 1e5)
        np.testing.assert_allclose(visits.counts[-3:] / visits.counts[-3:].sum(), expected, atol=1e-4)
        np.testing.assert_array_equal(visits.counts[:-3], others)
        again = Visits([ERROR_RATE, choice], visits.counts)
        for proposal, same in zip(again.independence, visits.independence, strict=True):
            np.testing.assert_array_equal(proposal.log_q, same.log_q)


def test_half_of_the_prior_is_on_the_binomial() -> None:
    assert small_model(None).log_hyperprior((np.inf,)) == pytest.approx(np.log(0.5))


def test_tables_of_a_precision_are_computed_once() -> None:
    model = small_model(None)
    first = model.likelihood((10.0,))
    assert model.likelihood((100.0,)) is not first
    assert model.likelihood((10.0,)) is first
    assert model.initial_values()[0] in PRECISION.values


@pytest.mark.parametrize("choice", [ERROR_RATE, FINE_ERROR_RATE])
def test_prior_of_the_error_rate(choice: Choice) -> None:
    """However fine the grid, hardly any of it is above the range of real rates, and half is above its middle."""
    rates, masses = np.array(choice.values), np.exp([choice.log_prior(rate) for rate in choice.values])
    assert masses.sum() == pytest.approx(1.0)
    assert 0.01 < masses[rates > REAL_ERROR_RATES[1]].sum() < 0.04
    assert masses[rates > np.sqrt(np.prod(REAL_ERROR_RATES))].sum() == pytest.approx(0.5, abs=0.08)


def test_an_error_rate_that_is_not_told_is_inferred() -> None:
    """Only where it is not told; one value for all."""
    data = observations([[3, 0], [9, 1]], [[10, 30], [20, 40]])
    data.error_rate[:, 1] = np.nan
    model = pyclone_model(data, 11)
    assert model.hyperparameters == ("error_rate",)
    assert model.initial_values() == (ERROR_RATE.start,)
    assert model.log_hyperprior((1e-4,)) == ERROR_RATE.log_prior(1e-4)
    for rate in ERROR_RATE.values:
        data.error_rate[:, 1] = rate
        told = pyclone_model(data, 11).likelihood(())
        likelihood = model.likelihood((rate,))
        for i, d in np.ndindex(2, 2):
            np.testing.assert_array_equal(likelihood.xi[likelihood.index[i, d]], told.xi[told.index[i, d]])


def test_many_mutations_have_finer_error_rates() -> None:
    few, many = error_rate_choice(1000), error_rate_choice(1001)
    assert (len(few.values), len(many.values)) == (24, 44)
    assert set(few.values) < set(many.values)
    assert {1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2} <= set(few.values)
    for choice, least, most in ((few, 1.25, 1.28), (many, 1.11, 1.143)):
        assert choice.values[:4] == (1e-5, 2e-5, 5e-5, 1e-4)
        steps = np.divide(choice.values[4:], choice.values[3:-1])
        assert least - 1e-9 < steps.min()
        assert steps.max() < most + 1e-9


# ---------------------------------------------------------------- what is a sample's own

SAMPLES = ("S1", "S2", "S3")


def three_samples() -> Observations:
    """The first two samples share observations; the last has no data for one of two mutations."""
    known = [[True, True, True], [True, True, False], [True, True, True]]
    alt, depth = [[3, 3, 7], [9, 1, 0], [3, 3, 7]], [[10, 10, 30], [20, 40, 0], [10, 10, 30]]
    data = observations(alt, depth, has_data=known)
    data.error_rate[0, 1] = np.nan
    return data


def own_model(data: Observations, **contents: Uncertain) -> PyCloneModel:
    return PyCloneModel(deduplicate(data), 11, "major", PER_SAMPLE, SAMPLES, contents)


def rows_of(likelihood: PyClone, d: int) -> np.ndarray:
    """Xi of every mutation in sample d, flat where there are no data."""
    xi = likelihood.xi + likelihood.xi_max[:, None]
    return np.array([xi[row] if row >= 0 else np.zeros(xi.shape[1]) for row in likelihood.index[:, d]])


def test_a_sample_s_rows_are_those_of_the_sample_alone() -> None:
    data = three_samples()
    model = own_model(data, S2=Uncertain(0.5, 0.1))
    names = ("precision:S1", "precision:S2", "precision:S3", "error_rate", "tumour_content:S2")
    assert model.hyperparameters == names
    assert model.initial_values() == (1000.0, 1000.0, 1000.0, 1e-3, 0.5)
    values = (10.0, 100.0, np.inf, 5e-3, 0.5 - 0.1)
    likelihood = model.likelihood(values)
    assert likelihood.index.dtype == np.int32
    assert likelihood.index[1, 2] == -1
    data.error_rate[0, 1] = 5e-3
    data.tumour_content[:, 1] = 0.5 - 0.1
    for d, precision in enumerate(values[:3]):
        alone = pyclone_model(data, 11, precision=precision).likelihood(())
        np.testing.assert_allclose(rows_of(likelihood, d), rows_of(alone, d), rtol=1e-12, atol=1e-12)
    assert likelihood.log_constant() == pytest.approx(
        sum(likelihood.xi_max[row] for row in likelihood.index.ravel() if row >= 0)
    )


def test_only_the_rows_of_the_sample_that_changes_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    computed = []

    def counted(loci: Loci, *options: object) -> XiGrid:
        computed.append(loci.table.num_rows)
        return likelihood_grid(loci, *options)  # type: ignore[arg-type]

    monkeypatch.setattr(tumour_model, "likelihood_grid", counted)
    model = own_model(three_samples())
    rows = [part.table.num_rows for part in model._parts]
    start = (1000.0, 1000.0, 1000.0, 1e-3)
    model.likelihood(start)
    assert computed == rows == [2, 3, 1]
    model.likelihood((1000.0, 10.0, 1000.0, 1e-3))
    model.likelihood((1000.0, 10.0, np.inf, 1e-3))
    model.likelihood((1000.0, 1000.0, np.inf, 1e-3))
    model.likelihood((1000.0, 1000.0, np.inf, 1e-2))  # told of all but one observation of the second sample
    assert computed == [*rows, 3, 1, 3]


def test_a_sample_without_data() -> None:
    data = observations([[3, 0], [9, 0]], [[10, 0], [20, 0]], has_data=[[True, False]] * 2)
    likelihood = PyCloneModel(deduplicate(data), 11, "major", PER_SAMPLE, ("a", "b")).likelihood(
        (10.0, 100.0)
    )
    assert likelihood.index.tolist() == [[0, -1], [1, -1]]


def test_the_binomial_has_no_precision_of_a_sample() -> None:
    with pytest.raises(
        UsageError, match="`precision` infer-per-sample: has no effect with `density` binomial"
    ):
        TumourOptions("major", "binomial", PER_SAMPLE, 11)
    model = TumourOptions("major", "binomial", None, 11, prevalence_prior="uniform")
    assert model.make_model(three_samples()).hyperparameters == ("error_rate",)


def test_infinite_precision_is_the_binomial() -> None:
    limit, binomial = (
        TumourOptions("major", density, precision, 51, prevalence_prior="uniform")
        .make_model(three_samples())
        .likelihood((1e-3,))
        for density, precision in (("beta-binomial", np.inf), ("binomial", None))
    )
    for a, b in zip(limit, binomial, strict=True):
        np.testing.assert_array_equal(a, b)


def test_precisions_of_samples_have_the_prior_of_the_one_precision_each() -> None:
    model = own_model(three_samples())
    expected = PRECISION.log_prior(100.0) + PRECISION.log_prior(np.inf) + PRECISION.log_prior(1000.0)
    expected += ERROR_RATE.log_prior(1e-2)
    assert model.log_hyperprior((100.0, np.inf, 1000.0, 1e-2)) == pytest.approx(expected)


def test_one_tumour_content_or_the_error_rate_is_proposed_at_a_time() -> None:
    """Precisions are drawn otherwise."""
    model = own_model(three_samples(), S1=Uncertain(0.5, 0.1), S3=Uncertain(0.7, 0.1))
    rng = np.random.default_rng(1)
    start = model.initial_values()
    independence = Visits(model.choices).independence
    changed = [np.array(model.propose(start, rng, independence)[0]) != start for _ in range(900)]
    assert np.sum(changed, axis=0)[-3:].min() > 200
    assert np.sum(changed, axis=0)[:-3].max() == 0
    assert np.sum(changed, axis=1).max() == 1
    assert model.num_proposals > 0


def test_error_rates_are_proposed_as_often_as_tables_are_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """On average as often as one says, between one in ten updates and three in each."""
    proposals = tumour_model.summed_out_proposals
    assert proposals(40_000, 75 * 40_000) == 1.0
    assert proposals(40_000, 75 * 20_000) == 2.0
    assert (proposals(40_000, 10**9), proposals(40_000, 10)) == (0.1, 3.0)
    monkeypatch.setattr(tumour_model, "CACHED_BYTES", 0)
    monkeypatch.setattr(tumour_model, "summed_out_proposals", lambda *_: 1.6)
    model = own_model(three_samples())
    rng = np.random.default_rng(1)
    start, independence = model.initial_values(), Visits(model.choices).independence
    changed = sum(
        model.propose(start, rng, independence)[0] != start for _ in range(500 * model.num_proposals)
    )
    assert model.num_proposals == 2
    assert changed / 500 == pytest.approx(1.6, abs=0.15)


def test_the_grid_of_a_tumour_content() -> None:
    choice = content_choice(Uncertain(0.9, 0.08))
    np.testing.assert_allclose(choice.values, [*(0.9 + 0.04 * np.arange(-5, 3)), 1.0])
    assert choice.values[5] == choice.start == 0.9
    widths = [1, 1, 1, 1, 1, 1, 1, 0.75, 0.25]  # of the cells, which end at 1
    z = np.array([*(np.arange(-5, 3) / 2), 1.25])
    np.testing.assert_allclose(choice.prior, np.exp(-(z**2) / 2) * widths)
    assert content_choice(Uncertain(0.7, 0.1)).values[-1] == pytest.approx(0.95)
    np.testing.assert_allclose(
        content_choice(Uncertain(0.7, 0.1)).prior, np.exp(-(np.arange(-5, 6) ** 2) / 8)
    )
    assert content_choice(Uncertain(0.1, 0.1)).values[0] == pytest.approx(0.05)


@pytest.mark.parametrize(("mean", "sd"), [(0.95, 0.2), (0.98, 0.05), (0.6, 0.5), (1.0, 0.1), (0.7, 0.03)])
def test_the_grid_of_a_tumour_content_reaches_as_far_as_the_truncated_normal(mean: float, sd: float) -> None:
    choice = content_choice(Uncertain(mean, sd))
    values, prior = np.array(choice.values), np.array(choice.prior) / sum(choice.prior)
    truth = truncnorm(-mean / sd, (1.0 - mean) / sd, mean, sd)
    assert truth.cdf(values[-1]) > 0.99
    assert abs(prior @ values - truth.mean()) < 0.15 * truth.std()


def test_how_many_sets_of_tables_are_kept() -> None:
    """At least so many, although there would be no memory for them."""
    kept = tumour_model.CACHED_BYTES
    assert tumour_model.sets_that_fit(kept // 5, 2) == 5
    assert tumour_model.sets_that_fit(kept, 3) == 3
    assert tumour_model.sets_that_fit(0, 3) == kept


def test_the_end_of_the_burn_in_gives_the_density_of_the_error_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of its visits are then distributed as in its posterior given everything else, and stay so."""
    assert own_model(three_samples()).costly_choices == []  # tables of all settings are kept
    monkeypatch.setattr(tumour_model, "CACHED_BYTES", 0)
    model = own_model(three_samples())
    assert [model.hyperparameters[which] for which in model.costly_choices] == ["error_rate"]
    assert pyclone_model(observations([[3], [9]], [[10], [20]]), 11, precision=50.0).costly_choices == []
    settings = Settings(iterations=42, burn_in=40, chains=1, hyper_every=1).resolve(model.num_observations)
    states = [start_chain(model, DirichletProcess(), settings, 0)]
    for end in (39, 40, 41):
        states.append(advance(model, settings, states[-1], 1, lambda done, end=end: done == end)[0])
    before, found, after = (state.visits[-len(ERROR_RATE.values) :] for state in states[1:])
    before[ERROR_RATE.index_of[states[2].values[-1]]] += 1
    assert before.sum() == 20
    log_density = []
    for rate in ERROR_RATE.values:
        values = (*states[2].values[:-1], rate)
        likelihood = model.likelihood(values)
        partition = compiled_for(build_partition, PyClone)(likelihood, states[2].labels)
        log_density.append(partition_log_likelihood(likelihood, partition) + model.log_hyperprior(values))
    nodes = [0, 4, 8, 12, 16, 20, 23]
    assert len(ERROR_RATE.values) == 24
    density = np.exp(np.interp(np.arange(24), nodes, np.array(log_density)[nodes] - max(log_density)))
    np.testing.assert_allclose(
        found / 10_000, (density / density.sum() + before / 20 + 1 / 24) / 3, atol=1e-4
    )
    np.testing.assert_array_equal(after, found)
