""":func:`pyclone_pgsm.cluster` as a scikit-learn estimator. This needs the extra ``sklearn``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.analyses.matrix_input import names_of_columns, refuse_masked
from pyclone_pgsm.clustering import cluster
from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.priors import Prior, make_prior
from pyclone_pgsm.ranges import check_kind
from pyclone_pgsm.sampling.settings import Settings

try:
    from sklearn.base import BaseEstimator, ClusterMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as problem:
    raise ImportError(
        "pyclone_pgsm.estimator needs scikit-learn 1.6 or newer: pip install 'pyclone-pgsm[sklearn]'"
    ) from problem

OF_PRIOR = ("concentration", "concentration_prior", "discount", "max_clusters")
OWN_SETTINGS = ("sampler", "iterations", "burn_in", "chains")
FURTHER_SETTINGS = tuple(
    field.name for field in fields(Settings) if field.name not in (*OWN_SETTINGS, "seed")
)


@dataclass(eq=False, repr=False)  # scikit-learn compares and shows estimators in its own way
class SplitMergeMixture(ClusterMixin, BaseEstimator):
    """Bayesian mixture with an unknown number of clusters, sampled by Particle Gibbs Split-Merge.

    The prior of the normal likelihood follows the scale of the columns, so that it needs no ``StandardScaler``, unless
    `parameters` say otherwise (:func:`pyclone_pgsm.cluster`).

    Parameters
    ----------
    likelihood : str, default="normal"
        "normal", "bernoulli", another installed one or "path/to/file.py:Class".
    parameters : dict or None, default=None
        Parameters of the likelihood's prior: the keyword arguments of its ``from_data``.
    prior : {"dp", "pitman-yor", "finite"} or Prior, default="dp"
        Prior over partitions; "finite" needs `max_clusters`.
    concentration, concentration_prior, discount, max_clusters
        Parameters of a prior given by name, see :func:`pyclone_pgsm.priors.make_prior`. By default the concentration
        has a Gamma(1, 1) prior and is inferred, and so is the discount of Pitman-Yor.
    sampler : str or None, default=None
        Moves of an iteration: one of :data:`pyclone_pgsm.sampling.settings.SAMPLERS`. None: depends on the number of
        rows.
    iterations, burn_in : int or None, default=None
        Iterations of each chain, burn-in included, and those left out of the result. None: chosen by
        :meth:`pyclone_pgsm.sampling.settings.Settings.resolve`.
    chains : int, default=2
    settings : dict or None, default=None
        Further fields of :class:`pyclone_pgsm.sampling.settings.Settings`: particles, moves, thin, init, ...
    criterion : {"mpear", "vi", "binder", "map"}, default="vi"
        Criterion of the consensus partition, see :func:`pyclone_pgsm.posterior.consensus.consensus`.
    threads : int or None, default=None
        Chains that run at the same time; None: one for each processor. This does not affect the result.
    random_state : int, RandomState or None, default=None
        Source of the chains' seed; with an int, every call of :meth:`fit` gives the same result.

    Attributes
    ----------
    labels_ : (n_samples,) int64
        Consensus cluster 0..K-1 of each row, numbered by decreasing size.
    probabilities_ : (n_samples,) float64
        Mean posterior probability that the row shares a block with the other members of its cluster.
    n_clusters_ : int
        Number of consensus clusters, K.
    means_ : (K, n_features) float64
        Posterior means of the clusters' means, for likelihoods with this parameter, such as the normal.
    covariances_ : (K, n_features, n_features) float64
        Posterior means of the clusters' covariances, likewise.
    clustering_ : pyclone_pgsm.Clustering
        The full result: all parameters, draws of the partition, chains, diagnostics. Its rows and columns have the
        names of a data frame `X`, as in :func:`pyclone_pgsm.cluster`.
    n_features_in_ : int
    feature_names_in_ : (n_features,) array of str
        Only if `X` has column names that are all strings.

    Notes
    -----
    :meth:`predict` assigns a row to its most probable cluster, given the predictive densities of the clusters, whereas
    ``labels_`` is the consensus of the sampled partitions. The two may differ for rows between two clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from pyclone_pgsm.estimator import SplitMergeMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-5, 1, (30, 2)), rng.normal(5, 1, (20, 2))])
    >>> mixture = SplitMergeMixture(iterations=100, random_state=0).fit(X)
    >>> mixture.n_clusters_
    2
    >>> mixture.means_.round()
    array([[-5., -5.],
           [ 5.,  5.]])
    >>> mixture.predict([[4.0, 6.0], [-6.0, -4.0]])
    array([1, 0])
    >>> bool(mixture.score([[5.0, 5.0]]) > mixture.score([[0.0, 0.0]]) + 3)
    True
    """

    likelihood: str = "normal"
    _: KW_ONLY
    parameters: dict[str, Any] | None = None
    prior: str | Prior = "dp"
    concentration: float | None = None
    concentration_prior: str | tuple[float, float] | None = "1,1"
    discount: float | None = None
    max_clusters: int | None = None
    sampler: str | None = None
    iterations: int | None = None
    burn_in: int | None = None
    chains: int = 2
    settings: dict[str, Any] | None = None
    criterion: str = "vi"
    threads: int | None = None
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: ArrayLike, y: None = None) -> SplitMergeMixture:
        """Sample partitions of the rows, and find their consensus.

        The warnings of the result, such as about chains that disagree, are issued as ``ConvergenceWarning``.

        Parameters
        ----------
        X : (n_samples, n_features) array of floats
        y : ignored

        Returns
        -------
        SplitMergeMixture
            The estimator itself.

        Raises
        ------
        ValueError
            X is not a matrix of numbers, or has an infinite one.
        DataValueError
            The likelihood does not allow a value. Most, and all built-in ones, do not allow NaN.
        UsageError
            A parameter is invalid.
        """
        refuse_masked("X", X)
        points = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        if (columns := names_of_columns(X)) is not None:
            points = pd.DataFrame(points, getattr(X, "index", None), list(columns))
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        self.clustering_ = cluster(
            points,
            self.likelihood,
            self.parameters,
            self._make_prior(),
            self._make_settings(int(seed)),
            criterion=self.criterion,
            threads=self.threads,
        )
        self.labels_ = self.clustering_.labels
        self.probabilities_ = self.clustering_.assignment_prob
        self.n_clusters_ = self.clustering_.num_clusters
        for warning in self.clustering_.warnings:
            warnings.warn(warning, ConvergenceWarning, stacklevel=2)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the most probable cluster of each row.

        Parameters
        ----------
        X : (n_samples, n_features) array of floats

        Returns
        -------
        (n_samples,) int64
        """
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability that a new row belongs to each cluster, given that it belongs to one.

        Parameters
        ----------
        X : (n_samples, n_features) array of floats

        Returns
        -------
        (n_samples, K) float64
            Rows sum to 1.

        Raises
        ------
        UsageError
            The likelihood has no predictive density.
        """
        points = self._checked(X)
        return self.clustering_.predict_proba(points)

    def score_samples(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the log posterior predictive density of each row, as a new row that was not passed to :meth:`fit`.

        Parameters
        ----------
        X : (n_samples, n_features) array of floats

        Returns
        -------
        (n_samples,) float64

        Raises
        ------
        UsageError
            The likelihood has no predictive density.
        """
        points = self._checked(X)
        return self.clustering_.log_predictive(points)

    def score(self, X: ArrayLike, y: None = None) -> float:
        """Return the mean of :meth:`score_samples`, for comparing models on held-out data.

        Parameters
        ----------
        X : (n_samples, n_features) array of floats
        y : ignored
        """
        return float(self.score_samples(X).mean())

    @property
    def means_(self) -> NDArray[np.float64]:
        """(K, n_features) posterior means of the clusters' means."""
        return self._parameter("mean")

    @property
    def covariances_(self) -> NDArray[np.float64]:
        """(K, n_features, n_features) posterior means of the clusters' covariances."""
        return self._parameter("covariance")

    def _parameter(self, name: str) -> NDArray[np.float64]:
        check_is_fitted(self)
        parameters = self.clustering_.parameters
        if name not in parameters:
            known = ", ".join(parameters) or "none"
            raise AttributeError(
                f"the likelihood {self.likelihood!r} has no parameter {name}; clustering_.parameters has: {known}"
            )
        return parameters[name]

    def _checked(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return new rows as an array; raise an error before :meth:`fit`, or if they do not match its data."""
        check_is_fitted(self)
        refuse_masked("X", X)
        return validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)

    def _make_prior(self) -> Prior:
        options = {name: getattr(self, name) for name in OF_PRIOR}
        if isinstance(self.prior, str):
            return make_prior(self.prior, **options)
        for name in OF_PRIOR:
            if repr(options[name]) != repr(getattr(SplitMergeMixture, name)):  # arrays cannot be compared
                raise UsageError(
                    f"{name}={options[name]!r} is for a prior given by name, not for {self.prior}"
                )
        return self.prior

    def _make_settings(self, seed: int) -> Settings:
        further = {} if self.settings is None else self.settings
        check_kind("settings", further, Mapping, "a dict of fields of Settings, like {'particles': 10}")
        for name in further:
            if name not in FURTHER_SETTINGS:
                raise UsageError(f"settings has {name!r}; it may have {', '.join(FURTHER_SETTINGS)}")
        own = {name: getattr(self, name) for name in OWN_SETTINGS}
        return Settings(**own, seed=seed, **further)
