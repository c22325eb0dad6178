"""Clustering of any matrix from Python: one function, :func:`cluster`, and what it gives, a :class:`Clustering`.

Examples
--------
Two clouds of points, far apart:

>>> import numpy as np
>>> from pyclone_pgsm.analyses.clustering import Settings, cluster
>>> rng = np.random.default_rng(0)
>>> X = np.concatenate([rng.normal(-5, 1, (30, 2)), rng.normal(5, 1, (20, 2))])
>>> found = cluster(X, "normal", {"S0": 0.5}, settings=Settings(iterations=60, chains=2))
>>> found.cluster_size
array([30, 20])
>>> found.parameters["mean"].round()
array([[-5., -5.],
       [ 5.,  5.]])
>>> found.predict_proba([[4.0, 6.0]]).round(3)
array([[0., 1.]])
>>> bool(np.diff(found.log_predictive([[0.0, 0.0], [5.0, 5.0]]))[0] > 3)
True
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.analyses.plan import make_plan
from pyclone_pgsm.analyses.precompile import compile_ahead
from pyclone_pgsm.analyses.results import check_criterion
from pyclone_pgsm.analyses.run import Interrupted, Progress, start
from pyclone_pgsm.errors import DataValueError, UsageError
from pyclone_pgsm.inputs.matrix_text import numbered_names
from pyclone_pgsm.likelihoods.matrix import DataMatrix, MatrixOptions, find_table_likelihood
from pyclone_pgsm.likelihoods.registry import file_digest, is_likelihood_file
from pyclone_pgsm.posterior.convergence import Diagnostic
from pyclone_pgsm.posterior.matrix import predictive
from pyclone_pgsm.posterior.mixture import MixtureSummary
from pyclone_pgsm.posterior.predictive import Predictive, cluster_probabilities
from pyclone_pgsm.posterior.rows import draw_rows, gather, read_partitions
from pyclone_pgsm.posterior.summarize import summarize
from pyclone_pgsm.priors import DirichletProcess, Prior
from pyclone_pgsm.sampling.settings import MIXTURE_SCHEME, MIXTURE_THRESHOLD, Settings
from pyclone_pgsm.trace import ChainTrace, Trace
from pyclone_pgsm.trace.matrix import MatrixData

KEPT_DRAWS = 1000
KEPT_BYTES = 100 << 20  # of the labels of kept partitions
PREDICTIVE_DRAWS = 240


@dataclass(frozen=True, repr=False)
class Clustering:
    """Posterior of a clustering of T rows with D columns.

    Attributes
    ----------
    labels : (T,) int64
        Consensus cluster 0..K-1 of each row, numbered from the largest down.
    assignment_prob : (T,) float64
        Mean posterior probability that the row shares a block with the other members of its cluster.
    cluster_size : (K,) int64
    parameters : dict of str to (K, ..) float64
        Posterior means of the clusters' parameters and, as ``.._sd``, their posterior standard deviations. normal:
        mean (K, D), mean_sd (K, D), covariance (K, D, D); bernoulli: theta (K, D), theta_sd (K, D); else as the
        likelihood's ``cluster_parameters`` has them.
    draws : (n, T) unsigned integers
        Partitions of all chains after burn-in, chain by chain, as many of each as its weight says, evenly thinned to at
        most 1,000 or 100 MB; the blocks of each are numbered by first appearance, so equal numbers mean nothing across
        draws.
    hyperparameters : dict of str to (n,) float64
        The partition prior's at each draw: concentration, discount.
    chains : list of ChainTrace
        All saved iterations of each chain: iteration, num_clusters, concentration, log_joint, seconds.
    diagnostics : dict of str to Diagnostic
        Posterior mean, 95 % interval, R-hat and effective sample size of log_joint, num_clusters, concentration, ...
    warnings : list of str
        What to know before trusting the result.
    settings : Settings
        As used.
    chain_weights : (chains,) float64
        Share of each chain in all of this: equal, unless they stay apart (:mod:`pyclone_pgsm.posterior.stacking`).
    """

    labels: NDArray[np.int64]
    assignment_prob: NDArray[np.float64]
    cluster_size: NDArray[np.int64]
    parameters: dict[str, NDArray[np.float64]]
    draws: NDArray[Any]
    hyperparameters: dict[str, NDArray[np.float64]]
    chains: list[ChainTrace]
    diagnostics: dict[str, Diagnostic]
    warnings: list[str]
    settings: Settings
    chain_weights: NDArray[np.float64]
    _predictive: Predictive
    _num_columns: int

    def __repr__(self) -> str:
        return f"Clustering({len(self.labels)} rows in {self.num_clusters} clusters)"

    @property
    def num_clusters(self) -> int:
        """K."""
        return len(self.cluster_size)

    def log_predictive(self, X: ArrayLike) -> NDArray[np.float64]:
        """Log posterior predictive density of new rows.

        The mean, over up to 240 of the saved partitions of all chains, of the mixture of the blocks' predictive
        densities and that of a new block, with the weights that the partition prior gives them.

        Parameters
        ----------
        X : (N, D) array of floats

        Returns
        -------
        (N,) float64

        Raises
        ------
        UsageError
            X has another number of columns or values that are not finite, or the likelihood has no predictive density.
        """
        return self._predictive.log_density(self._checked(X))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probability that a new row belongs to each of the consensus clusters, given that it belongs to one of them.

        Parameters
        ----------
        X : (N, D) array of floats

        Returns
        -------
        (N, K) float64
            Rows sum to 1.

        Raises
        ------
        UsageError
            See :meth:`log_predictive`.
        """
        points = self._checked(X)
        return cluster_probabilities(self._predictive.likelihood, self._mean_prior, self.labels, points)

    @cached_property
    def _mean_prior(self) -> Prior:
        means = [float(values.mean()) for values in self.hyperparameters.values()]
        return self._predictive.priors[0].with_values(means)

    def _checked(self, X: ArrayLike) -> NDArray[np.float64]:
        points = np.require(X, np.float64, ["C", "W"])  # read-only arrays would be compiled for anew
        if points.ndim != 2 or points.shape[1] != self._num_columns:
            raise UsageError(
                f"new rows must be a matrix with {self._num_columns} columns, not of shape {points.shape}"
            )
        for row, column in np.argwhere(~np.isfinite(points))[:1].tolist():
            raise UsageError(
                f"new rows: row {row}, column {column} (from 0): {points[row, column]}: not finite"
            )
        return points


def cluster(
    X: ArrayLike,
    likelihood: str = "normal",
    parameters: dict[str, Any] | None = None,
    prior: Prior | None = None,
    settings: Settings | None = None,
    *,
    start_labels: ArrayLike | None = None,
    criterion: str = "vi",
    threads: int | None = None,
    trace: Path | str | None = None,
    progress: Progress | None = None,
) -> Clustering:
    """Cluster the rows of a matrix.

    Parameters
    ----------
    X : (T, D) array of floats
        Of a data frame, the names of the columns are kept in the trace.
    likelihood : str
        "normal", "bernoulli", another name of :func:`pyclone_pgsm.likelihoods.registry.installed_likelihoods`, or
        "path/to/file.py:Class".
    parameters : dict or None
        Of the likelihood's prior: the keyword arguments of its ``from_data``, numbers or arrays.
    prior : Prior or None
        Over partitions; None: :class:`~pyclone_pgsm.priors.DirichletProcess` with its concentration inferred.
    settings : Settings or None
        Moves, lengths, chains and seed; None: the defaults.
    start_labels : (T,) array of int or None
        The partition that every chain starts from, in place of ``settings.init``.
    criterion : {"mpear", "vi", "binder", "map"}
        Of the consensus partition, see :func:`pyclone_pgsm.posterior.consensus.consensus`.
    threads : int or None
        Chains that run at the same time; None: one a processor. No influence on the result.
    trace : Path, str or None
        Where to keep the trace (replaced if there), for ``pyclone-pgsm resume``, ``summarize`` and so on. None: it is
        not kept.
    progress : callable or None
        Called now and then with a chain, the iterations that it has done and is to do, and its number of clusters.

    Returns
    -------
    Clustering

    Raises
    ------
    DataValueError
        A value that the likelihood cannot take.
    UsageError
        Data, settings or parameters that cannot be.
    OutputError
        The trace cannot be written.
    KeyboardInterrupt
        By Ctrl-C; what was done is in the trace, if it is kept.
    """
    check_criterion(criterion)
    data, settings, parameters = _as_matrix(X), mixture_settings(settings or Settings()), parameters or {}
    find_table_likelihood(likelihood, parameters)
    compile_ahead(likelihood, settings, threads)
    rows = MatrixData(data, stored_options(likelihood, parameters))
    plan = make_plan(rows, settings, prior or DirichletProcess(), start_labels, threads)
    with tempfile.TemporaryDirectory(prefix="pyclone-pgsm-") as folder:
        path = Path(folder) / "trace.h5" if trace is None else Path(trace)
        try:
            start(plan, path, threads=threads, command="pyclone_pgsm.cluster", progress=progress)
        except Interrupted:
            raise KeyboardInterrupt from None
        with Trace(path, plan.options.model.likelihood) as opened:
            return _read(opened, criterion)


def mixture_settings(settings: Settings) -> Settings:
    """The settings with this module's defaults where the user gave none: four balanced moves an iteration, both-kinds.

    A predictive costs little here, so that many moves that try to split a cluster pay, and particles that stay split
    for longer. (From a single cluster of S1 of the paper V > 0.98 took 0.3 s in the median; multinomial: 1.5 s.)
    """
    settings = replace(settings, moves=settings.moves or 4)
    if settings.anchors > 2:
        return settings
    if settings.resampling is None:
        threshold = MIXTURE_THRESHOLD if settings.resample_threshold is None else settings.resample_threshold
        settings = replace(settings, resampling=MIXTURE_SCHEME, resample_threshold=threshold)
    return replace(settings, anchor_proposal=settings.anchor_proposal or "balanced")


def _read(trace: Trace, criterion: str) -> Clustering:
    result = summarize(trace, criterion)
    summary: MixtureSummary = result.summary
    weights = result.chain_weights
    rows = draw_rows(trace, None, max(20, min(KEPT_DRAWS, KEPT_BYTES // len(summary.labels))), weights)
    return Clustering(
        summary.labels,
        summary.assignment_prob,
        summary.cluster_size,
        summary.parameters,
        read_partitions(trace, rows),
        {name: gather(trace, rows, name) for name in trace.options.first_prior.hyperparameters},
        trace.chains,
        {diagnostic.name: diagnostic for diagnostic in result.diagnostics},
        result.warnings,
        trace.options.settings,
        weights,
        predictive(trace, weights, most=PREDICTIVE_DRAWS),
        len(summary.column_names),
    )


def _as_matrix(X: ArrayLike) -> DataMatrix:
    try:
        values = np.require(X, np.float64, ["C", "W"])
    except (TypeError, ValueError) as problem:
        raise UsageError(f"the data must be a matrix of numbers: {problem}") from None
    if values.ndim != 2 or values.size == 0:
        raise UsageError(f"the data must be a matrix of rows by columns, not of shape {values.shape}")
    T, D = values.shape
    columns = list(map(str, getattr(X, "columns", numbered_names(D))))
    return DataMatrix([str(row) for row in range(1, T + 1)], columns, values)


def stored_options(likelihood: str, parameters: dict[str, Any]) -> MatrixOptions:
    """A likelihood and its parameters as a trace stores them: a file by its whole path and its digest."""
    if not is_likelihood_file(likelihood):
        return MatrixOptions(likelihood, parameters)
    path, _, name = likelihood.rpartition(":")
    return MatrixOptions(f"{Path(path).resolve()}:{name}", parameters, file_digest(likelihood))


def standardise(data: DataMatrix) -> tuple[DataMatrix, dict[str, list[float]]]:
    """Columns of mean 0 and standard deviation 1, and the means and standard deviations that they had.

    Raises
    ------
    UsageError
        All values of a column are equal.
    DataValueError
        A value is so far from the others that these would become equal.
    """
    # a power of 2 of each column's size: dividing by it changes no digit, and squares cannot overflow
    scale = np.ldexp(1.0, np.frexp(np.abs(data.values).max(axis=0))[1] - 1)
    values = data.values / scale
    mean, sd = values.mean(axis=0), values.std(axis=0)
    for column in np.flatnonzero(data.values.min(axis=0) == data.values.max(axis=0))[:1]:
        raise UsageError(
            f"`standardise`: all values of column {data.column_names[column]} are equal: leave it out with `ignore`"
        )
    standardised = (values - mean) / sd
    for column in range(standardised.shape[1]):
        before, after = (len(np.unique(table[:, column])) for table in (data.values, standardised))
        if 2 * after < before:
            row = int(np.abs(standardised[:, column]).argmax())
            expected = (
                "a value nearer to its column's others: standardised with it, these could not be told apart"
            )
            raise DataValueError(row, column, data.values[row, column], expected)
    return replace(data, values=standardised), {"mean": (mean * scale).tolist(), "sd": (sd * scale).tolist()}
