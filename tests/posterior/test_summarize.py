"""From saved iterations to a result: which rows count, in what order clusters stand, and what is warned of."""

from __future__ import annotations

import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from small_runs import run

from pyclone_pgsm import cluster
from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.reading import Reading
from pyclone_pgsm.errors import TraceError, UsageError
from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.labels import renumbered
from pyclone_pgsm.posterior.consensus import CRITERIA
from pyclone_pgsm.posterior.convergence import Diagnostic, cell_quantiles, diagnose
from pyclone_pgsm.posterior.matching import match_clusters
from pyclone_pgsm.posterior.prevalence import mutation_prevalences, read_blocks
from pyclone_pgsm.posterior.rows import kept_rows, quantities, series_of
from pyclone_pgsm.posterior.summarize import _undecided, summarize
from pyclone_pgsm.priors import DirichletProcess, FiniteDirichlet
from pyclone_pgsm.sampling.convergence import ChainDraws, Rule, judge
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.simulate.options import SimulationOptions
from pyclone_pgsm.simulate.tumour import simulate
from pyclone_pgsm.trace import ChainTrace, Trace
from pyclone_pgsm.trace.hyperparameters import values_of


def chain(iterations: Any, log_joint: Any = None, precision: Any = None) -> ChainTrace:
    iteration = np.array(iterations, np.int64)
    values = np.array(iteration if log_joint is None else log_joint, float)
    return ChainTrace(
        iteration=iteration,
        log_joint=values,
        num_clusters=np.ones(len(iteration), np.int64),
        concentration=values + 1.0,
        seconds=np.zeros(len(iteration)),
        hyperparameters={} if precision is None else {"precision": np.array(precision, float)},
        moves=np.zeros((len(iteration), 0, 4), np.int32),
    )


def fake(*chains: ChainTrace, burn_in: int = 2) -> Any:
    names = tuple(chains[0].hyperparameters)
    prior = SimpleNamespace(hyperparameters=("concentration",))
    options = SimpleNamespace(
        settings=SimpleNamespace(lengths=(10, burn_in)), hyperparameters=names, first_prior=prior
    )
    data = SimpleNamespace(allowed_values=lambda name: values_of(name, 100, {"S1": Uncertain(0.7, 0.1)}))
    return SimpleNamespace(path="t.h5", chains=chains, options=options, burn_in=burn_in, data=data)


def test_kept_rows():
    trace = fake(chain([1, 2, 3, 4]), chain([2, 4, 6]), chain([]))
    assert [rows.tolist() for rows in kept_rows(trace)] == [[2, 3], [1, 2], []]
    assert [rows.tolist() for rows in kept_rows(trace, 0)] == [[0, 1, 2, 3], [0, 1, 2], []]
    assert [rows.tolist() for rows in kept_rows(trace, 5)] == [[], [2], []]
    with pytest.raises(TraceError, match=r"t\.h5: no iteration after the burn-in of 6 \(the chains have 6\)"):
        kept_rows(trace, 6)
    with pytest.raises(TraceError, match=r"t\.h5: has no iteration yet: resume the trace"):
        kept_rows(fake(chain([])))
    with pytest.raises(UsageError, match="`burn_in` -1: must be at least 0"):
        kept_rows(trace, -1)


def test_clusters_from_the_largest_mean_prevalence_down():
    labels = np.array([2, 0, 1, 1, 0, 3, 3, 3])
    mean = np.array([[0.5, 0.5], [0.9, 0.1], [0.1, 0.2], [0.8, 0.2]]).mean(axis=1)
    # 0, 1 and 3 tie: 3 is larger; 0 appears before 1
    assert renumbered(labels, mean).tolist() == [3, 1, 2, 2, 1, 0, 0, 0]
    assert renumbered(np.zeros(3, int), np.array([0.3])).tolist() == [0, 0, 0]


def diagnosed(trace: Any) -> list[Diagnostic]:
    draws = [
        ChainDraws(
            np.asarray(chain.iteration),
            {name: np.asarray(series_of(chain, name), float) for name in quantities(trace)},
            np.zeros((len(chain.iteration), 0), np.float32),
            np.zeros((len(chain.iteration), 0), bool),
        )
        for chain in trace.chains
    ]
    last = max(chain.last_iteration for chain in trace.chains)
    return diagnose(trace, kept_rows(trace), judge(draws, Rule(), last, trace.burn_in))


def test_diagnostics_of_a_known_series():
    rng = np.random.default_rng(1)
    series = rng.normal(size=(3, 200))
    trace = fake(*(chain(range(1, 201), values) for values in series), burn_in=0)
    found = {d.name: d for d in diagnosed(trace)}
    assert list(found) == ["log_joint", "num_clusters", "concentration"]
    joint = found["log_joint"]
    assert joint.mean == pytest.approx(series.mean())
    assert joint.lower == pytest.approx(np.quantile(series, 0.025), abs=0.05)
    assert joint.upper == pytest.approx(np.quantile(series, 0.975), abs=0.05)
    assert joint.rhat < 1.02
    assert 300 < joint.ess < 1000
    apart = fake(*(chain(range(1, 201), values + k) for k, values in enumerate(series)), burn_in=0)
    assert diagnosed(apart)[0].rhat > 1.3


def test_infinite_precisions_have_a_median_and_diagnostics():
    precision = np.array([100.0, 1000.0, math.inf, math.inf] * 10)
    trace = fake(*(chain(range(1, 41), precision=np.roll(precision, k)) for k in range(2)), burn_in=0)
    found = diagnosed(trace)[-1]
    assert found.name == "precision"
    assert found.lower == pytest.approx(100.0 * 10 ** ((0.1 - 0.5) / 16))  # a tenth of the draws at 100
    assert found.upper == math.inf
    assert math.isfinite(found.rhat)
    assert math.isfinite(found.ess)
    assert found.mean >= 1000.0
    own = fake(chain(range(1, 41)), burn_in=0)
    own.options.hyperparameters = own.options.traced = ("precision:S1",)
    own.chains[0].hyperparameters["precision:S1"] = precision
    assert diagnosed(own)[-1].lower == found.lower
    never = fake(chain(range(1, 5), precision=[math.inf] * 4), burn_in=0)
    assert diagnosed(never)[-1].mean == math.inf


@pytest.mark.parametrize(("name", "value"), [("error_rate", 1.25e-3), ("tumour_content:S1", 0.75)])
def test_draws_that_are_all_one_value_have_an_interval_as_wide_as_its_cell(name, value):
    own = fake(chain(range(1, 41)), burn_in=0)
    own.options.hyperparameters = own.options.traced = (name,)
    own.chains[0].hyperparameters[name] = np.full(40, value)
    found = diagnosed(own)[-1]
    grid = np.array(values_of(name, 100, {"S1": Uncertain(0.7, 0.1)}).grid)
    where = int(np.argmin(abs(grid - value)))
    assert math.isclose(found.lower, (grid[where - 1] * value) ** 0.5, rel_tol=0.01)
    assert math.isclose(found.upper, (grid[where + 1] * value) ** 0.5, rel_tol=0.01)


def test_quantiles_of_cells():
    """Four values a factor of 4 apart: their cells end a factor of 2 away from them."""
    values = (1.0, 4.0, 16.0, math.inf)
    draws = np.array([1.0, 4.0, 4.0, 4.0, 16.0, 16.0, 16.0, math.inf, math.inf, math.inf])
    shares = [0.05, 0.1, 0.25, 0.4, 0.7, 0.71, 0.99]
    expected = [1.0, 2.0, 2.0 * 4.0**0.5, 8.0, 32.0, math.inf, math.inf]
    np.testing.assert_allclose(cell_quantiles(draws, values, shares), expected)
    np.testing.assert_allclose(
        cell_quantiles(np.full(9, 4.0), values, [0.025, 0.5, 0.975]), [2 * 4**0.025, 4, 8 / 4**0.025]
    )
    assert cell_quantiles(np.full(9, math.inf), values, [0.025])[0] == math.inf


def test_intervals_of_a_continuous_quantity_hold_it_as_often_as_they_say():
    """A posterior as wide as the steps of the values, from data that can come from anywhere between them."""
    rng = np.random.default_rng(5)
    values = np.exp(np.arange(-20, 21) * 0.2)
    true = np.exp(rng.uniform(-1.0, 1.0, 2000))
    held = 0
    for one in true:
        weights = np.exp(-0.5 * ((np.log(values) - np.log(one) - 0.2 * rng.normal()) / 0.2) ** 2)
        draws = np.repeat(values, np.round(2000 * weights / weights.sum()).astype(int))
        lower, upper = cell_quantiles(draws, values, [0.025, 0.975])
        held += lower <= one <= upper
    assert 0.94 < held / 2000 < 0.97


def test_too_few_rows_for_diagnostics():
    trace = fake(chain([1, 2, 3, 4, 5, 6]), chain([]))
    for found in diagnosed(trace):
        assert math.isnan(found.rhat)
        assert math.isnan(found.ess)
        assert math.isfinite(found.mean)


@pytest.fixture(scope="module")
def tumour():
    return simulate(
        SimulationOptions(
            mutations=30, samples=3, clusters=3, missing=0.1, depth=400, absent=0.0, clonal=False
        ),
        np.random.default_rng(5),
    )


@pytest.fixture(scope="module")
def trace(tumour, tmp_path_factory):
    path = tmp_path_factory.mktemp("summarize") / "t.h5"
    settings = Settings(iterations=400, burn_in=200, chains=2)
    plan = analysis.plan_tumour(
        Reading(tumour.observations), analysis.ModelOptions(), settings, DirichletProcess(), None
    )
    analysis.start(plan, path)
    with Trace(path) as opened:
        yield opened


@pytest.mark.parametrize("criterion", CRITERIA)
def test_summary_of_an_easy_tumour(criterion, trace, tumour):
    result = summarize(trace, criterion)
    summary = result.summary
    K, (T, D) = summary.num_clusters, (30, 3)
    assert K == 3
    np.testing.assert_array_equal(summary.labels, tumour.cluster)
    np.testing.assert_array_equal(summary.cluster_size, np.bincount(tumour.cluster))
    for name, shape in (("mean", (T, D)), ("cluster_mean", (K, D))):
        prefix = name.removesuffix("mean")
        mean, std, lower, upper = (
            getattr(summary, prefix + end) for end in ("mean", "std", "lower", "upper")
        )
        assert mean.shape == std.shape == lower.shape == upper.shape == shape
        assert (std > 0).all()
        assert ((lower <= mean) & (mean <= upper)).all()
    np.testing.assert_allclose(summary.cluster_mean, tumour.prevalence, atol=0.05)
    np.testing.assert_allclose(summary.cluster_masses @ summary.grid, summary.cluster_mean, atol=1e-9)
    np.testing.assert_allclose(summary.mean, summary.cluster_mean[summary.labels], atol=0.03)
    draws = np.concatenate([trace.labels(k, rows) for k, rows in enumerate(kept_rows(trace))])
    matches = match_clusters(draws, summary.labels)
    np.testing.assert_array_equal(summary.assignment_prob, matches.own_prob)
    np.testing.assert_array_equal(summary.second_cluster, matches.second)
    assert (summary.assignment_prob > 0.9).all()
    assert (np.isnan(summary.vaf) == ~tumour.observations.has_data).all()
    assert (summary.depth[~tumour.observations.has_data] == 0).all()
    assert (summary.multiplicity == tumour.observations.has_data).all()  # a diploid tumour
    np.testing.assert_array_equal(np.isnan(summary.fit), ~tumour.observations.has_data)
    assert np.nanmin(summary.fit) > 1e-5
    assert (summary.cluster_prob_present >= summary.cluster_prob_clonal).all()
    assert ((summary.cluster_prob_clonal > 0.5) <= (summary.cluster_upper > 0.95)).all()
    assert not any("do not fit" in warning for warning in result.warnings)
    assert result.coclustered.tolist() == list(range(T))
    assert result.coclustering.shape == (T, T)


def test_prevalences_of_few_mutations_are_those_of_all_draws(trace):
    partitions, blocks = read_blocks(trace, kept_rows(trace))
    assert len(partitions) == 400
    expected = mutation_prevalences(blocks, partitions, trace.options.model.grid)
    np.testing.assert_allclose(summarize(trace).summary.mean, expected.mean, atol=1e-12)


def test_same_result_twice(trace):
    one, two = summarize(trace), summarize(trace)
    for name, value in vars(one.summary).items():
        np.testing.assert_array_equal(value, getattr(two.summary, name))


def test_map_is_the_saved_partition_of_largest_joint(trace):
    rows = kept_rows(trace)
    best = max((c.log_joint[row], k, row) for k, c in enumerate(trace.chains) for row in rows[k])
    expected = trace.labels(best[1], np.array([best[2]]))[0]
    labels = summarize(trace, "map").summary.labels
    assert len(set(zip(labels.tolist(), expected.tolist()))) == expected.max() + 1 == labels.max() + 1


def test_fewer_draws_than_saved(trace, monkeypatch):
    """Thinning for large traces gives nearly the same prevalences."""
    full = summarize(trace).summary
    monkeypatch.setattr("pyclone_pgsm.posterior.summarize.LABEL_BYTES", 30 * 20)
    thinned = summarize(trace).summary
    np.testing.assert_array_equal(thinned.labels, full.labels)
    np.testing.assert_allclose(thinned.mean, full.mean, atol=0.03)
    assert (thinned.mean != full.mean).any()


def test_clusters_that_the_prior_decides():
    """Tosses of a coin hardly tell clusters apart; four kinds of long rows do, though each has only two rows."""
    coins = np.random.default_rng(1).integers(2, size=(60, 8))
    kinds = np.repeat(np.random.default_rng(2).integers(2, size=(4, 60)), 2, axis=0)
    settings = Settings(iterations=200, chains=2, seed=2)
    said = [
        [
            line
            for line in cluster(
                data, "bernoulli", prior=DirichletProcess(rate=0.1), settings=settings
            ).warnings
            if "hardly tell" in line
        ]
        for data in (coins, kinds)
    ]
    assert len(said[0]) == 1
    assert re.match(
        r"\d+ clusters of 60 rows, and the probability that one belongs to its cluster is 0\.", said[0][0]
    )
    assert "compare with `concentration_prior` 1,1" in said[0][0]
    assert said[1] == []
    fixed = cluster(
        coins, likelihood="bernoulli", prior=DirichletProcess(10.0, None, None), settings=settings
    )
    assert [
        line.endswith("compare with another prior") for line in fixed.warnings if "hardly tell" in line
    ] == [True]


def test_a_single_cluster_that_most_draws_divide_is_undecided():
    def said(mean: float, shape: float | None = 1.0, rate: float | None = 1.0, labels=(0,) * 10) -> list[str]:
        trace = SimpleNamespace(options=SimpleNamespace(prior={"name": "dp", "shape": shape, "rate": rate}))
        return _undecided(trace, np.array(labels), np.full(len(labels), mean), "row")

    (line,) = said(0.49)
    assert line == (
        "a single cluster of 10 rows, of which two are together with a probability of 0.49 on average, as each draw "
        "divides them in another way: the data hardly tell how many clusters there are, so that the prior decides; "
        "compare with `concentration_prior` 1,0.1, which expects more"
    )
    assert said(0.5) == said(0.1, labels=(0,)) == []
    assert said(0.1, 1.0, 0.1)[0].endswith("compare with `concentration_prior` 1,1, which expects fewer")
    assert said(0.1, None, None)[0].endswith("compare with another prior")
    assert said(0.1, labels=range(10))[0].endswith(
        "compare with `concentration_prior` 1,10, which expects fewer"
    )


@pytest.mark.parametrize("columns", [1, 2])
def test_few_rows_of_one_gaussian_are_not_a_cluster_each(columns):
    """To leave each row alone, in clusters as wide as the data, fits about as well: the default prior decides."""
    cloud = np.random.default_rng(2).normal(size=(30, columns))
    settings = Settings(iterations=200, chains=2, seed=2)
    assert cluster(cloud, settings=settings).num_clusters <= 2
    assert cluster(cloud, prior=DirichletProcess(rate=0.1), settings=settings).num_clusters > 5


def test_a_single_cluster_of_noise_is_told_from_one_of_a_cloud():
    rng = np.random.default_rng(1)
    coins, cloud = rng.integers(2, size=(60, 8)), rng.normal(size=(60, 2))
    settings = Settings(iterations=200, chains=2, seed=2)
    noise = cluster(coins, likelihood="bernoulli", settings=settings)
    assert noise.num_clusters == 1
    assert [line.partition(",")[0] for line in noise.warnings if "hardly tell" in line] == [
        "a single cluster of 60 rows"
    ]
    one = cluster(cloud, settings=settings)
    assert one.num_clusters == 1
    assert not any("hardly tell" in line for line in one.warnings)


def test_a_burn_in_that_ends_before_the_adaptation(tmp_path: Path) -> None:
    path = run(tmp_path / "t.h5", iterations=60, burn_in=30)
    for burn_in, is_short in ((None, False), (30, False), (29, True)):
        with Trace(path) as trace:
            warnings = summarize(trace, burn_in=burn_in).warnings
        expected = [
            "`burn_in` 29: the chains adapted until iteration 30, and earlier ones are not draws from the posterior; "
            "skip them"
        ]
        assert [line for line in warnings if "adapted" in line] == (expected if is_short else [])


@pytest.mark.parametrize(("most", "is_reached"), [(2, True), (12, False), (1000, False)])
def test_a_largest_number_of_clusters_that_is_reached(most: int, is_reached: bool, tmp_path: Path) -> None:
    """The tumour has four."""
    path = run(tmp_path / "t.h5", prior=FiniteDirichlet(most))
    with Trace(path) as trace:
        warnings = summarize(trace).warnings
    expected = (
        "100 % of the draws have 2 clusters, as many as the prior allows: if different ones have been joined, "
        "allow more (`max_clusters`)"
    )
    assert [line for line in warnings if "the prior allows" in line] == ([expected] if is_reached else [])
