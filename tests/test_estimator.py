"""The scikit-learn estimator: scikit-learn's own checks, and that it is the clustering of the functional API."""

from __future__ import annotations

import base64
import doctest
import gzip
import json
import pickle
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_clusterer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from small_runs import matrix

from pyclone_pgsm import Settings, cluster, estimator
from pyclone_pgsm.errors import DataValueError, UsageError
from pyclone_pgsm.estimator import SplitMergeMixture
from pyclone_pgsm.priors import DirichletProcess, FiniteDirichlet, PitmanYor

pytestmark = pytest.mark.filterwarnings("ignore:the chains disagree")

PLUGIN = Path(__file__).parents[1] / "examples" / "poisson_gamma" / "pyclone_pgsm_poisson_gamma.py"
X = matrix().values
TRUTH = np.arange(24) % 3


def small(**parameters: Any) -> SplitMergeMixture:
    """Short chains that find the three clusters of ``X``."""
    given = {"parameters": {"r0": 0.1}, "concentration": 0.01, "concentration_prior": "fixed"}
    return SplitMergeMixture(**{**given, "iterations": 40, "random_state": 0, "threads": 1, **parameters})


@pytest.fixture(scope="module")
def fitted() -> SplitMergeMixture:
    return small().fit(X)


@parametrize_with_checks([SplitMergeMixture(iterations=20, chains=1)])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_documentation():
    assert doctest.testmod(estimator).failed == 0


def test_it_is_the_clustering_of_the_functional_api(fitted):
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    settings = Settings(iterations=40, chains=2, seed=seed)
    expected = cluster(X, "normal", {"r0": 0.1}, DirichletProcess(0.01, None, None), settings)
    points = X[:5] + 0.5
    assert fitted.clustering_.settings == expected.settings
    np.testing.assert_array_equal(fitted.clustering_.draws, expected.draws)
    np.testing.assert_array_equal(fitted.labels_, expected.labels)
    np.testing.assert_array_equal(fitted.probabilities_, expected.assignment_prob)
    np.testing.assert_array_equal(fitted.means_, expected.parameters["mean"])
    np.testing.assert_array_equal(fitted.covariances_, expected.parameters["covariance"])
    np.testing.assert_array_equal(fitted.predict_proba(points), expected.predict_proba(points))
    np.testing.assert_array_equal(fitted.score_samples(points), expected.log_predictive(points))
    assert fitted.score(points) == pytest.approx(expected.log_predictive(points).mean(), rel=1e-12)


def test_three_clusters(fitted):
    np.testing.assert_array_equal(fitted.labels_, TRUTH)
    np.testing.assert_array_equal(fitted.predict(X), TRUTH)
    np.testing.assert_array_equal(small().fit_predict(X), TRUTH)
    assert fitted.n_clusters_ == 3
    assert fitted.n_features_in_ == 2
    assert fitted.means_.shape == (3, 2)
    assert fitted.covariances_.shape == (3, 2, 2)
    assert is_clusterer(fitted)


def test_defaults_are_those_of_the_functional_api():
    """Except for the number of chains; and every field of the settings can be set."""
    plain = SplitMergeMixture()
    assert plain._make_prior() == DirichletProcess()
    assert plain._make_settings(seed=1) == Settings(chains=2)
    own, further = set(estimator.OWN_SETTINGS), set(estimator.FURTHER_SETTINGS)
    assert own <= set(plain.get_params())
    assert own | further | {"seed"} == {field.name for field in fields(Settings)}


def test_random_state():
    def joint(random_state: Any) -> list[float]:
        found = small(random_state=random_state).fit(X)
        return found.clustering_.chains[0].log_joint.tolist()

    assert joint(0) == joint(0)
    assert joint(0) == joint(np.random.RandomState(0))
    assert joint(0) != joint(1)
    going_on = np.random.RandomState(0)
    assert joint(going_on) != joint(going_on)
    assert len({tuple(joint(None)) for _ in range(3)}) > 1


def test_settings_reach_the_chains():
    found = small(
        sampler="pgsm",
        burn_in=30,
        chains=1,
        settings={"init": "random:5", "particles": 7, "thin": 2},
        threads=1,
    ).fit(X)
    used = found.clustering_.settings
    assert (used.sampler, used.lengths, used.chains) == ("pgsm", (40, 30), 1)
    assert (used.init, used.particles, used.thin) == ("random:5", 7, 2)
    assert found.clustering_.draws.shape == (5, 24)


@pytest.mark.parametrize(
    ("given", "prior"),
    [
        ({"concentration": 3}, DirichletProcess(3)),
        ({"concentration_prior": (2.0, 4.0)}, DirichletProcess(1.0, 2.0, 4.0)),
        ({"concentration": np.int64(2), "concentration_prior": None}, DirichletProcess(2, None, None)),
        ({"prior": "pitman-yor", "discount": 0.2}, PitmanYor(1.0, 0.2, infer_discount=False)),
        ({"prior": "finite", "max_clusters": 5}, FiniteDirichlet(5)),
        ({"prior": FiniteDirichlet(4, 0.5)}, FiniteDirichlet(4, 0.5)),
    ],
)
def test_priors(given, prior):
    assert SplitMergeMixture(**given)._make_prior() == prior


def test_prior_reaches_the_chains():
    found = small(prior="finite", max_clusters=2).fit(X)
    assert found.n_clusters_ <= 2
    assert max(chain.num_clusters.max() for chain in found.clustering_.chains) <= 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"likelihood": "norml"}, "is normal meant?"),
        ({"parameters": {"s0": 1}}, "`parameters` s0: normal has no such parameter"),
        ({"prior": "finite"}, "`prior` finite: needs `max_clusters`"),
        ({"prior": "best"}, "`prior` 'best': must be one of dp, pitman-yor, finite"),
        (
            {"prior": FiniteDirichlet(4), "concentration": 2.0},
            "concentration=2.0 is for a prior given by name, not for FiniteDirichlet(max_components=4",
        ),
        (
            {"prior": FiniteDirichlet(4), "concentration_prior": np.array([1.0, 0.1])},
            "concentration_prior=array([1. , 0.1]) is for a prior given by name, not for FiniteDirichlet",
        ),
        (
            {"settings": {"chains": 3}},
            "settings has 'chains'; it may have sweeps, moves, close_moves, particles",
        ),
        ({"settings": {"particle": 3}}, "settings has 'particle'; it may have"),
        ({"settings": {"particles": 1}}, "`particles` 1: must be at least 2"),
        ({"settings": ["particles"]}, "`settings` ['particles']: must be a dict of fields of Settings"),
        ({"iterations": "auto"}, "`iterations` 'auto': must be a whole number, or None, which is automatic"),
        ({"parameters": ["r0"]}, "`parameters` ['r0']: must be a dict"),
        ({"prior": 3}, "`prior` 3: must be a prior"),
        ({"threads": 1.5}, "`threads` 1.5: must be a whole number"),
        (
            {"iterations": 10, "burn_in": 10},
            "`burn_in` 10: must be less than the number of iterations, 10, which",
        ),
        ({"criterion": "best"}, "`criterion` 'best': must be one of mpear"),
        ({"threads": 0}, "`threads` 0"),
    ],
)
def test_refused_parameters(given, message):
    mixture = SplitMergeMixture(**given)  # whatever it is, it can be set
    with pytest.raises(UsageError) as caught:
        mixture.fit(X)
    assert message in str(caught.value)
    assert not hasattr(mixture, "labels_")


def test_errors_are_value_errors():
    """As users of scikit-learn expect."""
    with pytest.raises(ValueError, match="is normal meant"):
        SplitMergeMixture("norml").fit(X)
    with pytest.raises(ValueError, match="must be 0 or 1"):
        SplitMergeMixture("bernoulli").fit(X)


def test_refused_data(fitted):
    with pytest.raises(DataValueError, match="must be 0 or 1"):
        SplitMergeMixture("bernoulli").fit(X)
    with pytest.raises(ValueError, match=r"row 0, column 1 of the data .*: NaN: must be a finite number"):
        SplitMergeMixture().fit([[1.0, np.nan]])
    with pytest.raises(ValueError, match=r"NaN: must be 0 or 1 \(missing values are not supported\)"):
        SplitMergeMixture("bernoulli").fit([[1.0, np.nan]])
    with pytest.raises(ValueError, match="contains infinity"):
        SplitMergeMixture().fit([[1.0, np.inf]])
    with pytest.raises(
        ValueError, match=r"row 0, column 1 .*: NaN: the clustered rows have no missing values"
    ):
        fitted.predict([[1.0, np.nan]])
    masked = np.ma.masked_less(np.arange(8.0).reshape(4, 2), 1.0)
    for function in (SplitMergeMixture().fit, fitted.predict):
        with pytest.raises(UsageError, match=r"X: the value at \[0, 0\] .from 0. is masked"):
            function(masked)
    with pytest.raises(ValueError, match="has 3 features, but SplitMergeMixture is expecting 2"):
        fitted.score_samples(np.zeros((1, 3)))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "score_samples", "score"])
def test_not_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(SplitMergeMixture(), method)(X)
    assert not hasattr(SplitMergeMixture(), "means_")


def test_bernoulli():
    data = matrix("bernoulli").values
    found = SplitMergeMixture("bernoulli", iterations=40, random_state=0).fit(data)
    theta = found.clustering_.parameters["theta"]
    assert theta.shape == (found.n_clusters_, data.shape[1])
    np.testing.assert_allclose(found.predict_proba(data).sum(axis=1), 1, rtol=1e-12)
    assert not hasattr(found, "covariances_")
    with pytest.raises(
        AttributeError, match=r"has no parameter mean; clustering_\.parameters has: theta, theta_sd"
    ):
        _ = found.means_


def test_parameters_of_another_likelihood_do_not_stay():
    mixture = small(chains=1).fit(X)
    mixture.set_params(likelihood="bernoulli", parameters=None).fit(matrix("bernoulli").values)
    assert not hasattr(mixture, "means_")


def test_plugin():
    found = small(likelihood=f"{PLUGIN}:PoissonGamma", parameters={"rate": 0.05}).fit(matrix("counts").values)
    np.testing.assert_array_equal(found.labels_, TRUTH)
    assert found.means_.shape == (3, 1)
    assert not hasattr(found, "covariances_")


WITH_GAPS = '''
import math
from typing import NamedTuple

import numpy as np


class Bits(NamedTuple):
    """0, 1 or NaN, which is left out; a uniform prior on the probability of 1 in each column."""

    x: np.ndarray

    @classmethod
    def from_data(cls, data):
        return cls(data)

    def stat_size(self):
        return 2 * self.x.shape[1]

    def clear(self, stat):
        stat[:] = 0.0

    def add(self, stat, i):
        for d in range(self.x.shape[1]):
            if not math.isnan(self.x[i, d]):
                stat[2 * d + int(self.x[i, d])] += 1.0

    def remove(self, stat, i):
        for d in range(self.x.shape[1]):
            if not math.isnan(self.x[i, d]):
                stat[2 * d + int(self.x[i, d])] -= 1.0

    def add_many(self, stat, members):
        for i in members:
            self.add(stat, i)

    def log_prior_predictive(self, i):
        return -math.log(2.0) * (~np.isnan(self.x[i])).sum()

    def log_predictive(self, stat, i, negligible):
        return self.log_predictive_new(stat, self.x[i])

    def log_predictive_without(self, stat, i):
        total = 0.0
        for d in range(self.x.shape[1]):
            if not math.isnan(self.x[i, d]):
                total += math.log(stat[2 * d + int(self.x[i, d])] / (stat[2 * d] + stat[2 * d + 1] + 1.0))
        return total

    def log_predictive_new(self, stat, x):
        total = 0.0
        for d in range(len(x)):
            if not math.isnan(x[d]):
                total += math.log((stat[2 * d + int(x[d])] + 1.0) / (stat[2 * d] + stat[2 * d + 1] + 2.0))
        return total

    def log_marginal(self, stat):
        total = 0.0
        for d in range(self.x.shape[1]):
            zeros, ones = stat[2 * d], stat[2 * d + 1]
            total += math.lgamma(zeros + 1.0) + math.lgamma(ones + 1.0) - math.lgamma(zeros + ones + 2.0)
        return total

    def log_constant(self):
        return 0.0
'''


@pytest.fixture(scope="module")
def bits(tmp_path_factory):
    """The likelihood of one file, which is compiled once."""
    path = tmp_path_factory.mktemp("likelihood") / "bits.py"
    path.write_text(WITH_GAPS)
    return f"{path}:Bits"


def test_missing_values_are_the_likelihoods_affair(bits):
    data = np.repeat([[1.0] * 9, [0.0] * 9], 12, axis=0)
    data[[0, 5, 20], [1, 2, 3]] = np.nan
    start = {"init": "disconnected"}
    found = small(likelihood=bits, parameters=None, sampler="gibbs", settings=start).fit(data)
    np.testing.assert_array_equal(found.labels_, np.arange(24) // 12)
    np.testing.assert_array_equal(found.predict(data), found.labels_)
    assert np.isfinite(found.score(data))
    assert not found.__sklearn_tags__().input_tags.allow_nan  # most likelihoods refuse them


@pytest.mark.parametrize("every_row", [False, True])
def test_missing_values_stay_out_of_pictures_and_report(bits, tmp_path, every_row):
    out = tmp_path / "out"
    data = np.repeat([[1.0] * 3, [0.0] * 3], 12, axis=0)
    data[[0, 5, 20], [1, 2, 0]] = np.nan
    data[:, 1] = np.nan if every_row else data[:, 1]
    settings = Settings(iterations=20, chains=2, sampler="gibbs", init="disconnected")
    found = cluster(data, bits, settings=settings, out=out, threads=1)
    assert found.num_clusters == 2
    assert (out / "plots" / "clusters.png").exists() != every_row
    text = (out / "report.html").read_text()
    [packed] = re.findall('id="data">([^<]*)<', text)
    content = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert content["areBits"]
    assert [value is None for value in content["values"]] == np.isnan(data).ravel().tolist()
    assert "Rows with a missing value in these columns are not shown." in text


def test_data_frame(fitted):
    frame = pd.DataFrame(X, columns=["east", "north"])
    found = small().fit(frame)
    assert found.feature_names_in_.tolist() == ["east", "north"]
    np.testing.assert_array_equal(found.predict(frame), fitted.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        found.predict(frame[["north", "east"]])


@pytest.mark.filterwarnings("ignore:fewer than 4 saved iterations")
@pytest.mark.parametrize("index", [[f"gene{row}" for row in range(24)], range(5, 29), ["twice"] * 24])
@pytest.mark.parametrize("columns", [["east", "north"], [7, 8]])
def test_names_are_those_of_the_functional_api(index, columns):
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame(X, index=index, columns=columns)
    found = small(chains=1, iterations=4).fit(frame).clustering_
    expected = cluster(frame, settings=Settings(iterations=4, chains=1))
    assert found.mutations.row_id.tolist() == expected.mutations.row_id.tolist()
    assert found.summary.column_names == expected.summary.column_names
    of_arrow = (
        small(chains=1, iterations=4).fit(pa.Table.from_pandas(frame, preserve_index=False)).clustering_
    )
    assert of_arrow.summary.column_names == expected.summary.column_names


def test_pickle_and_clone(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.score_samples(X), fitted.score_samples(X))
    for prior in ("pitman-yor", FiniteDirichlet(4)):
        copy = clone(SplitMergeMixture(prior=prior, settings={"particles": 9}))
        assert copy.prior == prior
        assert copy.settings == {"particles": 9}


def test_search_prefers_the_right_prior():
    """By held-out density, in a pipeline, over an array of numpy's numbers."""
    steps = make_pipeline(StandardScaler(), small(iterations=30, chains=1))
    grid = {
        "splitmergemixture__parameters": [{"S0": 0.1, "r0": 0.1}, {"S0": 100.0}],
        "splitmergemixture__iterations": np.array([30]),
    }
    search = GridSearchCV(steps, grid, cv=3, error_score="raise").fit(X)
    assert search.best_params_["splitmergemixture__parameters"] == {"S0": 0.1, "r0": 0.1}
    assert search.predict(X).shape == (24,)


@pytest.mark.filterwarnings("default:the chains disagree")
def test_warning_if_chains_disagree():
    data = np.concatenate([X, -X, 3 + X])
    with pytest.warns(ConvergenceWarning, match="the chains disagree on .* run more iterations"):
        small(sampler="gibbs", iterations=8, settings={"init": "random:20"}, concentration=5.0).fit(data)


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


def test_scikit_learn_is_imported_by_the_estimator_only():
    done = run_python(
        "import sys, pyclone_pgsm.clustering, pyclone_pgsm.analyses.run, pyclone_pgsm.cli.app\n"
        "assert 'sklearn' not in sys.modules\n"
        "import pyclone_pgsm.estimator\n"
        "assert 'sklearn' in sys.modules\n"
    )
    assert done.returncode == 0, done.stderr


def test_message_without_scikit_learn():
    done = run_python("import sys; sys.modules['sklearn'] = None; import pyclone_pgsm.estimator")
    assert done.stderr.splitlines()[-1] == (
        "ImportError: pyclone_pgsm.estimator needs scikit-learn 1.6 or newer: pip install 'pyclone-pgsm[sklearn]'"
    )
