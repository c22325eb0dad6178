"""Clustering from Python: what is found, what is refused, and that it is what the trace says."""

from __future__ import annotations

import doctest
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.special import logsumexp
from small_runs import matrix

from pyclone_pgsm import clustering, open_trace, results
from pyclone_pgsm.analyses import run as analysis
from pyclone_pgsm.analyses.matrix_input import as_matrix, standardise, stored_options
from pyclone_pgsm.analyses.run import plan_matrix, start
from pyclone_pgsm.clustering import Clustering
from pyclone_pgsm.errors import DataValueError, OutputError, UsageError
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.model import FixedModel
from pyclone_pgsm.likelihoods.normal import Normal
from pyclone_pgsm.partition import build_partition, log_likelihood
from pyclone_pgsm.posterior.matrix import numbered_columns, predictive
from pyclone_pgsm.posterior.predictive import Predictive
from pyclone_pgsm.priors import CustomPrior, DirichletProcess, FiniteDirichlet, PitmanYor
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.trace.matrix import MatrixData

PLUGIN = Path(__file__).parents[2] / "examples" / "poisson_gamma" / "pyclone_pgsm_poisson_gamma.py"
SHORT = Settings(iterations=60, chains=2)
TIGHT = {"r0": 0.1, "S0": 1.0}
FEW = DirichletProcess(0.01, None, None)
cluster = partial(
    clustering.cluster, threads=1
)  # to start another process takes longer than such short chains


@pytest.fixture(scope="module")
def found() -> Clustering:
    return cluster(matrix().values, "normal", TIGHT, FEW, SHORT, threads=2)


def test_documentation():
    assert doctest.testmod(clustering).failed == 0


def test_three_clusters(found):
    truth = np.arange(24) % 3
    assert found.num_clusters == 3
    np.testing.assert_array_equal(found.labels, truth)
    np.testing.assert_array_equal(found.cluster_size, [8, 8, 8])
    assert (found.assignment_prob > 0.9).all()
    expected = [[-4, 0], [4, 0], [0, 5]]
    assert (np.abs(found.parameters["mean"] - expected) < 4 * found.parameters["mean_sd"]).all()
    assert found.parameters["covariance"].shape == (3, 2, 2)
    assert (np.linalg.eigvalsh(found.parameters["covariance"]) > 0).all()


def test_text(found):
    assert repr(found) == "Clustering(24 rows in 3 clusters)"
    assert repr(cluster([[0.0]], settings=SHORT)) == "Clustering(1 row in 1 cluster)"


def test_chains_draws_and_diagnostics(found):
    assert found.draws.shape == (60, 24)  # two chains of 30 after burn-in
    assert found.settings.lengths == (60, 30)
    assert [len(chain.iteration) for chain in found.chains] == [60, 60]
    for k, chain in enumerate(found.chains):
        kept = found.draws[30 * k : 30 * (k + 1)]
        np.testing.assert_array_equal(kept.max(axis=1) + 1, chain.num_clusters[30:])
        np.testing.assert_array_equal(
            found.hyperparameters["concentration"][30 * k : 30 * (k + 1)], chain.concentration[30:]
        )
    diagnostics = found.diagnostics.set_index("name")
    assert set(diagnostics.index) == {"log_joint", "num_clusters", "concentration"}
    pooled = np.concatenate([chain.num_clusters[30:] for chain in found.chains])
    assert diagnostics["mean"]["num_clusters"] == pytest.approx(pooled.mean())
    assert isinstance(found.warnings, list)


def test_draws_are_thinned(monkeypatch):
    monkeypatch.setattr(clustering, "KEPT_DRAWS", 26)
    few = cluster(matrix().values, settings=SHORT)
    assert few.draws.shape == (26, 24)  # thirteen of each chain
    assert len(few.hyperparameters["concentration"]) == 26
    monkeypatch.setattr(clustering, "KEPT_BYTES", 1)
    assert len(cluster(matrix().values, settings=SHORT).draws) == 20


def test_threads_do_not_matter_and_seeds_do(found):
    one = cluster(matrix().values, "normal", TIGHT, FEW, SHORT, threads=1)
    np.testing.assert_array_equal(one.draws, found.draws)
    np.testing.assert_array_equal(one.log_predictive(matrix().values), found.log_predictive(matrix().values))
    other = cluster(matrix().values, "normal", TIGHT, FEW, Settings(iterations=60, chains=2, seed=2))
    assert (other.chains[0].log_joint != found.chains[0].log_joint).any()


def test_trace_is_kept_and_goes_on(found, tmp_path):
    path = tmp_path / "t.h5"
    again = cluster(matrix().values, "normal", TIGHT, FEW, SHORT, trace=path)
    np.testing.assert_array_equal(again.draws, found.draws)
    with Trace(path) as trace:
        assert trace.command == "pyclone_pgsm.cluster"
        assert trace.matrix.row_names[:2] == ["1", "2"]
        assert trace.matrix.column_names == ["x1", "x2"]
    result = analysis.write_results(path, tmp_path / "out", formats=())
    np.testing.assert_array_equal(result.summary.labels, found.labels)
    np.testing.assert_array_equal(result.summary.parameters["mean"], found.parameters["mean"])
    assert analysis.resume(path, 70) == 70
    before = path.read_bytes()
    with pytest.raises(OutputError, match=r"t\.h5 exists already: use `force` to replace it"):
        cluster(matrix().values, "normal", TIGHT, FEW, SHORT, trace=path)
    assert path.read_bytes() == before
    cluster(matrix().values, "normal", TIGHT, FEW, SHORT, trace=path, force=True)
    with Trace(path) as trace:
        assert trace.options.settings.iterations == 60
    with pytest.raises(OutputError, match=r"t\.h5: is a file, not a folder"):
        cluster(matrix().values, settings=SHORT, trace=path / "t.h5")


def test_data_frame_and_list(found, tmp_path):
    frame = pd.DataFrame(matrix().values, columns=["east", "north"])
    named = cluster(frame, "normal", TIGHT, FEW, SHORT, trace=str(tmp_path / "t.h5"))
    np.testing.assert_array_equal(named.labels, found.labels)
    with Trace(tmp_path / "t.h5") as trace:
        assert trace.matrix.column_names == ["east", "north"]
    assert cluster([[0], [1], [0]], "bernoulli", settings=SHORT).labels.shape == (3,)


@pytest.mark.parametrize(
    "prior",
    [
        PitmanYor(0.01, 0.01, None, None, infer_discount=False),
        FiniteDirichlet(3),
        CustomPrior(lambda j: -5.0 * j, lambda n: 0.5 * n),
    ],
)
def test_other_priors(prior):
    found = cluster(matrix().values, "normal", TIGHT, prior, SHORT)
    assert found.num_clusters == 3
    assert tuple(found.hyperparameters) == prior.hyperparameters
    points = np.array([[-4.0, 0.0], [30.0, 30.0]])
    assert np.diff(found.log_predictive(points))[0] < -3
    np.testing.assert_allclose(found.predict_proba(points)[0], [1, 0, 0], atol=0.05)


def test_parameters_are_those_of_the_likelihood():
    """Numbers, lists and arrays alike."""
    S0 = np.array([[2.0, 0.5], [0.5, 1.0]])
    ways = ({"S0": S0, "nu0": np.float64(5)}, {"S0": S0.tolist(), "nu0": 5.0})
    joints = [cluster(matrix().values, "normal", p, settings=SHORT).chains[0].log_joint for p in ways]
    np.testing.assert_array_equal(*joints)
    with pytest.raises(UsageError, match="r0 must be a number above 0, not -1"):
        cluster(matrix().values, "normal", {"r0": -1}, settings=SHORT)
    with pytest.raises(
        UsageError, match="`parameters` s0: normal has no such parameter; its parameters: nu0, r0"
    ):
        cluster(matrix().values, "normal", {"s0": 1}, settings=SHORT)


def test_plugin_of_a_file(tmp_path):
    counts = matrix("counts").values
    path = tmp_path / "t.h5"
    found = cluster(counts, f"{PLUGIN}:PoissonGamma", {"rate": 0.05}, FEW, SHORT, trace=path)
    np.testing.assert_array_equal(found.labels, np.arange(24) % 3)
    assert analysis.resume(path, 70, likelihood=f"{PLUGIN}:PoissonGamma") == 70


def test_start():
    truth = np.arange(24) % 3
    started = cluster(matrix().values, settings=Settings(iterations=4, chains=1), start_labels=truth + 7)
    assert started.settings.init == "given labels"
    assert started.chains[0].num_clusters[0] <= 4
    with pytest.raises(UsageError, match="`start_labels`: must be one for each of 24 observations, not 3"):
        cluster(matrix().values, settings=SHORT, start_labels=[0, 1, 2])
    for labels, message in (
        ("single", "`start_labels`: must be one for each of 24 observations, not 1 number"),
        ([[0], [1, 2]], r"`start_labels` \[\[0\], \[1, 2\]\]: must be whole numbers"),
        (truth / 2, "`start_labels`: must be integers, not float64"),
        (np.ma.masked_equal(truth, 2), r"`start_labels`: the value at \[2\] \(from 0\) is masked: missing"),
    ):
        with pytest.raises(UsageError, match=message):
            cluster(matrix().values, settings=SHORT, start_labels=labels)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1.0, 2.0], "the data must be a matrix of rows by columns, not of shape (2,)"),
        (np.empty((0, 3)), "the data must be a matrix of rows by columns, not of shape (0, 3)"),
        (
            [[1.0, "b"]],
            "the data must be a matrix of numbers: row 0, column 1 (counted from 0): 'b': must be a",
        ),
        (
            pd.DataFrame({"a": [1, 2], "c": pd.array([1, None], "Int64")}),
            "the data must be a matrix of numbers: row 1, column c (counted from 0): <NA>: must be a finite number",
        ),
        (
            csr_array(np.eye(2)),
            "the data must be a matrix of numbers: this is of type csr_array; make it dense with its method toarray",
        ),
        ({"a": [1, 2]}, "the data must be a matrix of numbers: this is of type dict"),
        ([[1.0], [1.0, 2.0]], "the data must be a matrix of numbers: "),
        (None, "the data must be a matrix"),
        (
            np.array([[1j, 2.0]]),
            "the data must be a matrix of numbers: an array of complex128 is not one of numbers; "
            "expected floats or integers",
        ),
        (pd.DataFrame({"a": [1 + 1j]}), "the data must be a matrix of numbers: an array of complex128"),
        (np.array([["2024-01-01"]], "M8[D]"), "the data must be a matrix of numbers: an array of datetime64"),
        (
            pd.DataFrame([[1.0, 2.0]], columns=["1", 1]),
            "the data: columns (counted from 0): [1] is '1', as is [0]; names are",
        ),
        (
            pd.DataFrame([[1.0]], columns=["a\tb"]),
            "the data: columns (counted from 0): [0] is 'a\\tb'; a name has characters, none",
        ),
        ([[10**400]], "the data must be a matrix of numbers: row 0, column 0 (counted from 0): 1000"),
    ],
)
def test_no_matrix(data, message):
    with pytest.raises(UsageError) as caught:
        cluster(data)
    assert str(caught.value).startswith(message)


def test_a_text_is_no_switch(tmp_path):
    """It would count as True, whatever it says."""
    with pytest.raises(UsageError, match="`force` 'no': must be True or False"):
        cluster(matrix().values, settings=SHORT, out=tmp_path / "out", force="no")
    assert not (tmp_path / "out").exists()


def test_values_that_the_likelihood_cannot_take():
    values = matrix().values.copy()
    values[5, 1] = np.nan
    with pytest.raises(DataValueError) as caught:
        cluster(values, settings=SHORT)
    assert (caught.value.row, caught.value.column) == (5, 1)
    with pytest.raises(DataValueError, match="must be 0 or 1"):
        cluster(matrix().values, "bernoulli", settings=SHORT)


@pytest.mark.parametrize(
    ("likelihood", "message"),
    [
        ("norml", "`likelihood` 'norml': there is none of this name (is normal meant?)"),
        ("pyclone", "`likelihood` pyclone: is for tumours, not for a matrix: use pyclone-pgsm analyze"),
        ("nowhere.py:X", "nowhere.py"),
    ],
)
def test_no_likelihood(likelihood, message):
    with pytest.raises(UsageError) as caught:
        cluster(matrix().values, likelihood)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"settings": {"iterations": 5}}, "`settings` {'iterations': 5}: must be of the class Settings"),
        ({"settings": {}}, "`settings` {}: must be of the class Settings"),
        ({"prior": "dp"}, "`prior` 'dp': must be a prior, as in DirichletProcess() or CustomPrior("),
        ({"prior": DirichletProcess}, "`prior` <class "),
        ({"prior": type("Own", (DirichletProcess,), {})()}, "`prior` "),
        ({"parameters": ["r0"]}, "`parameters` ['r0']: must be a dict"),
        ({"likelihood": 3}, "`likelihood` 3: must be a name"),
        ({"criterion": ["vi"]}, "`criterion` ['vi']: must be one of mpear"),
        ({"threads": "2"}, "`threads` '2': must be a whole number"),
        ({"threads": 1.5}, "`threads` 1.5: must be a whole number"),
        ({"threads": True}, "`threads` True: must be a whole number"),
        ({"trace": 3}, "`trace` 3: must be a path"),
        ({"out": 3}, "`out` 3: must be a path"),
        ({"progress": "bar"}, "`progress` 'bar': must be a function"),
    ],
)
def test_arguments_of_other_types(options, message):
    with pytest.raises(UsageError) as caught:
        cluster(matrix().values, **{"settings": SHORT, **options})
    assert str(caught.value).startswith(message)


def test_unknown_criterion():
    with pytest.raises(UsageError, match="`criterion` 'best': must be one of mpear"):
        cluster(matrix().values, criterion="best")


def test_new_rows_that_cannot_be(found):
    for rows, message in (
        ([1.0, 2.0], r"new rows must be a matrix with 2 columns, not of shape \(2,\)"),
        ([[1.0, 2.0, 3.0]], r"not of shape \(1, 3\)"),
        ([[1j, 2.0]], "new rows must be a matrix of numbers: an array of complex128 is not one of numbers"),
        ("rows", "new rows must be a matrix of numbers: "),
        ([[1.0, np.inf]], r"new rows: row 0, column 1 \(from 0\): inf: not finite"),
    ):
        for method in (found.log_predictive, found.predict_proba):
            with pytest.raises(UsageError, match=message):
                method(rows)


def test_new_rows_have_the_columns_by_name():
    points = pd.DataFrame(matrix().values, columns=["a", "b"])
    found = cluster(points, settings=SHORT)
    np.testing.assert_array_equal(found.predict_proba(points), found.predict_proba(points.to_numpy()))
    with pytest.raises(UsageError, match="new rows must have the columns 'a', 'b', not 'b', 'a'"):
        found.predict_proba(points[["b", "a"]])


def test_columns_that_are_really_called_x1_and_x2():
    """Their names are those of columns without any."""
    points = pd.DataFrame(matrix().values, columns=["x1", "x2"])
    found = cluster(points, settings=SHORT)
    others = found.predict_proba(points.rename(columns={"x1": "a", "x2": "b"}))
    np.testing.assert_array_equal(others, found.predict_proba(points))
    for names in (["x2", "x1"], ["x2", "b"]):
        with pytest.raises(UsageError, match="new rows must have the columns 'x1', 'x2', not 'x2', "):
            found.predict_proba(points.set_axis(names, axis=1))


def test_clusters_of_new_rows_do_not_depend_on_labels_that_the_user_changes():
    found = cluster(matrix().values, "normal", TIGHT, FEW, SHORT)
    before = found.predict_proba(matrix().values)
    found.labels[:] = 0
    np.testing.assert_array_equal(found.predict_proba(matrix().values), before)


def test_densities_are_those_of_the_draws_after_the_burn_in(tmp_path):
    path = tmp_path / "t.h5"
    settings = Settings(iterations=60, chains=1, init="disconnected", burn_in=0)
    cluster(matrix().values, "normal", TIGHT, FEW, settings, trace=path)
    whole, second = open_trace(path), open_trace(path, burn_in=40)
    with Trace(path) as trace:
        expected = predictive(trace, second.chain_weights, 40).log_density(matrix().values)
    np.testing.assert_array_equal(second.log_predictive(matrix().values), expected)
    assert np.abs(whole.log_predictive(matrix().values) - expected).max() > 1e-3


def test_new_rows_have_the_units_of_the_table(tmp_path):
    """Also if the trace has its columns standardised."""
    rows = matrix()
    data, units = standardise(rows)
    options = stored_options("normal", TIGHT, data, units)
    plan = plan_matrix(MatrixData(data, options), SHORT, FEW, threads=1)
    start(plan, tmp_path / "t.h5")
    found, by_hand = open_trace(tmp_path / "t.h5"), cluster(data.values, "normal", TIGHT, FEW, SHORT)
    np.testing.assert_allclose(found.predict_proba(rows.values), by_hand.predict_proba(data.values))
    np.testing.assert_allclose(
        found.log_predictive(rows.values),
        by_hand.log_predictive(data.values) - np.log(rows.values.std(axis=0)).sum(),
    )


@pytest.mark.parametrize("name", ["scale", "S0"])
def test_none_is_the_default(name: str) -> None:
    by_default = cluster(matrix().values, settings=SHORT)
    assert by_default.options.model.parameters == {"scale": "infer"}
    given = cluster(matrix().values, "normal", {name: None}, settings=SHORT)
    assert given.options.model.parameters == {"scale": "infer"}
    np.testing.assert_array_equal(given.labels, by_default.labels)


def test_what_was_done_before_progress_failed_is_kept(tmp_path):
    def fail(chain: int, done: int, *_: int) -> None:
        if chain == 1:
            raise ZeroDivisionError

    path = tmp_path / "t.h5"
    with pytest.raises(ZeroDivisionError):
        cluster(matrix().values, settings=SHORT, trace=path, progress=fail)
    with Trace(path) as trace:
        assert trace.chains[0].iteration[-1] == 60


def test_tables_of_pyarrow_name_their_columns():
    pa = pytest.importorskip("pyarrow")
    x, y = matrix().values.T
    table = pa.table({"a": x, "b": y})
    found = cluster(table, settings=SHORT)
    assert found.summary.column_names == ["a", "b"]
    assert found.predict_proba(table).shape == (24, found.num_clusters)
    with pytest.raises(UsageError, match="new rows must have the columns 'a', 'b', not 'b', 'a'"):
        found.predict_proba(pa.table({"b": y, "a": x}))
    with pytest.raises(UsageError, match=r"row 0, column c .counted from 0.: 'x': must be a finite number"):
        cluster(pa.table({"c": ["x"], "d": [1.0]}))


def test_new_rows_that_no_cluster_can_have(found):
    with pytest.raises(UsageError, match=r"row 1 .from 0.: no cluster can have it"):
        found.predict_proba([[0.0, 0.0], [1e300, 0.0]])
    bits = cluster(np.eye(2)[np.arange(10) % 2], "bernoulli", settings=SHORT)
    assert np.isneginf(bits.log_predictive([[0.5, 7.0], [0.0, 1.0]])).tolist() == [True, False]
    with pytest.raises(UsageError, match=r"row 0 .from 0.: no cluster can have it"):
        bits.predict_proba([[0.0, -3.0]])


def test_masked_values(found):
    masked = np.ma.masked_array(matrix().values, mask=False)
    masked[2, 1] = np.ma.masked
    with pytest.raises(UsageError, match=r"the data: the value at \[2, 1\] .from 0. is masked"):
        cluster(masked)
    with pytest.raises(UsageError, match=r"new rows: the value at \[2, 1\] .from 0. is masked"):
        found.log_predictive(masked)
    masked.mask = False
    assert np.isfinite(found.log_predictive(masked)).all()


def test_a_scale_at_the_end_of_its_values():
    """Equal rows are the denser, the smaller the scale."""
    rng = np.random.default_rng(1)
    points = np.concatenate([np.zeros((40, 2)), rng.normal(3.0, 1.0, (20, 2))])
    warnings = cluster(points, settings=SHORT).warnings
    assert any(
        "scale is at the smallest of the values from which it is inferred" in line for line in warnings
    )
    assert not any(
        "is inferred" in line for line in cluster(points, parameters={"S0": 1.0}, settings=SHORT).warnings
    )


def test_interrupted(monkeypatch):
    def interrupt(*_: object, **__: object) -> None:
        raise analysis.Interrupted

    monkeypatch.setattr(results, "start", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cluster(matrix().values, settings=SHORT)


def test_progress():
    seen: list[tuple[int, int, int, int]] = []
    cluster(matrix().values, settings=SHORT, progress=lambda *numbers: seen.append(numbers))
    assert {(chain, total) for chain, _, total, _ in seen} == {(0, 60), (1, 60)}


def partitions(T: int) -> list[list[int]]:
    """All of them, blocks numbered by first appearance."""
    return [
        list(labels)
        for labels in product(range(T), repeat=T)
        if all(b <= max(labels[:i], default=-1) + 1 for i, b in enumerate(labels))
    ]


def test_log_predictive_is_that_of_the_exact_posterior():
    """The mean over all partitions of four rows, weighted by their exact posterior probabilities."""
    data = np.array([[-1.5, 0.0], [-1.0, 0.5], [1.5, 0.3], [0.4, -2.0]])
    new = np.array([[0.0, 0.0], [2.0, 2.0], [-1.2, 0.2]])
    prior = DirichletProcess(1.0, None, None)
    likelihood = Normal.from_data(data)
    model = FixedModel(likelihood, 4)
    build, score = (compiled_for(function, Normal) for function in (build_partition, log_likelihood))
    log_p, given = [], []
    for labels in map(np.array, partitions(4)):
        log_tau = prior.log_tau1(4)[labels.max() + 1] + prior.log_tau2(4)[np.bincount(labels)].sum()
        log_p.append(log_tau + score(likelihood, build(likelihood, labels.astype(np.int32))))
        given.append(np.exp(Predictive(model, [()], [prior], labels[None]).log_density(new)))
    weights = np.exp(log_p - logsumexp(log_p))
    exact = weights @ given
    settings = Settings(iterations=1000, burn_in=100, thin=3)
    found = cluster(data, "normal", {"S0": 1.0}, prior, settings)
    standard_error = np.sqrt(weights @ (given - exact) ** 2 / 100)  # of 240 partitions, nearly independent
    assert (np.abs(np.exp(found.log_predictive(new)) - exact) < 5 * standard_error).all()
    assert (5 * standard_error < 0.5 * exact).all()  # sharp enough to say something


def test_few_rows_in_clusters_that_are_far_apart():
    """Four groups of 30 rows on a diagonal, in each column eight standard deviations apart: S0 = 1 would join them."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 30)
    X = 8.0 * labels[:, None] + rng.normal(size=(120, 3))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    found = cluster(X, settings=SHORT)
    assert found.cluster_size.tolist() == [30, 30, 30, 30]
    np.testing.assert_array_equal(np.bincount(found.labels * 4 + labels, minlength=16) % 30, 0)
    assert cluster(X, parameters={"S0": 1.0}, settings=SHORT).num_clusters == 1


def test_units_do_not_matter():
    """Data in other units are clustered as if they were standardised."""
    rng = np.random.default_rng(5)
    rows = np.repeat([[0.0, 0.0], [1.5, 1.5], [-1.5, 1.5]], 80, axis=0) + rng.normal(size=(240, 2), scale=0.3)
    standardised = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    first, *others = (
        cluster(data, "normal", settings=SHORT)
        for data in (standardised, standardised * 0.01 + 3.0, standardised * 5e4 - 1e6)
    )
    assert len(first.cluster_size) == 3
    assert first.options.model.parameters == {}
    for other in others:
        np.testing.assert_array_equal(first.labels, other.labels)
        assert other.options.model.parameters == {"scale": 1.0}


def test_parameters_that_a_trace_cannot_hold() -> None:
    """Those of pandas have an order of their own; sets have none."""
    table = pd.DataFrame({"a": [0.0, 1.0, 3.0], "b": [1.0, 0.0, 5.0]})
    settings = Settings(iterations=4, chains=1)
    text = (
        "`parameters` S0: must be a number, a list, an array of numpy, or 'infer', not of type DataFrame; use"
    )
    with pytest.raises(UsageError, match=text):
        cluster(table, "normal", {"u0": 0.0, "S0": table.cov()}, settings=settings)
    with pytest.raises(UsageError, match=r"`parameters` u0: must be .* not of type set$"):
        cluster(table, "normal", {"u0": {0.0, 1.0}}, settings=settings)
    both = {"u0": table.mean().to_numpy(), "S0": table.cov().to_numpy() + np.eye(2)}
    assert cluster(table, "normal", both, settings=settings).labels.shape == (3,)


def test_parameters_are_used_as_the_trace_holds_them() -> None:
    """When the trace is read, the likelihood is made of these again."""
    given = {"u0": np.array([0.0, 1.0]), "S0": (np.float32(0.5), 2), "nu0": np.int64(5)}
    stored = stored_options("normal", given, as_matrix(matrix().values)).parameters
    assert repr(stored) == "{'u0': [0.0, 1.0], 'S0': [0.5, 2], 'nu0': 5}"
    text = r"^`parameters` rate: must be a number, a list, an array of numpy, or 'infer', not of type "
    for value, kind in (
        ({"a": 1.0}, "dict$"),
        ([{"a": 1.0}], "list with other things than numbers and texts"),
        (np.zeros((1, 1, 1, 1)), "ndarray with .*, or more than 3 dimensions$"),
    ):
        with pytest.raises(UsageError, match=text + kind):
            cluster(matrix("counts").values, f"{PLUGIN}:PoissonGamma", {"rate": value}, settings=SHORT)


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (["b", "a", "c"], ["b", "a", "c"]),
        (["b", "b", "c"], ["1", "2", "3"]),
        (["b\n", "a", "c"], ["1", "2", "3"]),
        ([7, 8, 9], ["1", "2", "3"]),
        (["b", None, "c"], ["1", "2", "3"]),
        (pd.array(["b", pd.NA, "c"], "string"), ["1", "2", "3"]),
        (pd.Categorical(["b", "a", "c"]), ["b", "a", "c"]),
        (pd.Categorical([7, 8, 9]), ["1", "2", "3"]),
    ],
)
def test_rows_are_named_after_an_index_of_texts(index: Any, expected: list[str]) -> None:
    table = pd.DataFrame({"a": [0.0, 1.0, 3.0], "b": [1.0, 0.0, 5.0]}, index=index)
    found = cluster(table, "normal", settings=Settings(iterations=4, chains=1))
    assert found.mutations["row_id"].tolist() == expected


def test_a_column_of_row_numbers_is_a_warning() -> None:
    """Also if they do not begin with 1, and after columns were standardised; a column that only increases is none."""
    points = np.random.default_rng(1).normal(size=(30, 2))
    table = pd.DataFrame(points, columns=["x", "y"])
    table.insert(0, "sample", np.arange(7, 37))
    table["sorted"] = np.sort(points[:, 0])
    warnings = cluster(table, "normal", settings=SHORT).warnings
    (warning,) = [each for each in warnings if "as row numbers do" in each]
    assert warning.startswith("column sample changes by the same amount")
    assert not [each for each in warnings if "name of a label" in each]
    warnings = cluster(table.rename(columns={"sample": "Class"}), "normal", TIGHT, FEW, SHORT).warnings
    assert [each for each in warnings if each.startswith("column Class has the name of a label")]
    values = standardise(as_matrix(table))[0].values
    assert numbered_columns(values) == [0]
    assert numbered_columns(values[:9]) == numbered_columns(np.ones((30, 2))) == []


def test_doubts_of_the_likelihood_are_warnings() -> None:
    """They name columns, which the likelihood only counts."""
    points = matrix().values
    doubled = pd.DataFrame(np.column_stack([points, points[:, 0]]))
    doubled.columns = ["b 3", "`column 1`", *[f"c{k}" for k in range(2, points.shape[1])], "ä"]
    (doubt,) = Normal.doubts(doubled.to_numpy(), {})
    assert "among them `column 1`, `column" in doubt
    warnings = cluster(doubled, "normal", TIGHT, FEW, SHORT).warnings
    (named,) = [each for each in warnings if "linearly dependent" in each]
    assert named.startswith("columns are constant or linearly dependent, among them b 3, ä: clusters")


def test_what_the_user_may_edit_is_a_copy(tmp_path: Path) -> None:
    found = cluster(matrix().values, "normal", TIGHT, PitmanYor(), SHORT)
    pages = []
    probabilities = found.predict_proba(matrix().values)
    for _ in range(2):
        found.report(tmp_path / "page.html", force=True)
        pages.append((tmp_path / "page.html").read_bytes())
        for array in (found.labels, found.assignment_prob, found.cluster_size, found.chain_weights):
            array[:] = 0
        for array in (*found.parameters.values(), *found.hyperparameters.values()):
            array[:] = 0.99
    assert pages[0] == pages[1]
    np.testing.assert_array_equal(found.predict_proba(matrix().values), probabilities)


def test_underflow_is_normal_in_new_rows() -> None:
    bits = np.repeat([[0.0], [1.0]], 20, axis=0) * np.ones(1500)
    found = cluster(bits, "bernoulli", settings=SHORT)
    expected = found.predict_proba(bits), found.log_predictive(bits)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(found.predict_proba(bits), expected[0])
        np.testing.assert_array_equal(found.log_predictive(bits), expected[1])


def test_a_doubt_without_a_list_is_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Normal, "doubts", lambda data, parameters: "strange data")
    assert "strange data" in cluster(matrix().values, "normal", TIGHT, FEW, SHORT).warnings


def test_refusals_of_the_likelihood_name_columns() -> None:
    points = np.random.default_rng(1).normal(size=(60, 3))
    table = pd.DataFrame(points, columns=["age", "height", "weight"])
    with pytest.raises(UsageError, match=r"^weight varies too little for double precision: rescale it$"):
        cluster(table.assign(weight=1e-200 * points[:, 2]), "normal", {"scale": 1.0}, settings=SHORT)
    constant = table.assign(height=1.5)
    for parameters in ({}, {"scale": "infer", "r0": 0.1}):
        with pytest.raises(
            UsageError, match="among them height: leave out one of these, or give scale or S0"
        ):
            cluster(constant, "normal", parameters, settings=SHORT)
