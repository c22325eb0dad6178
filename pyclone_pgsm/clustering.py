"""Clustering of any matrix from Python: :func:`cluster`, which returns a :class:`Clustering`.

Examples
--------
Two clouds of points, far apart:

>>> import numpy as np
>>> from pyclone_pgsm import Settings, cluster
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

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.analyses.matrix import MatrixAnalysis
from pyclone_pgsm.analyses.matrix_input import (
    as_matrix,
    as_numbers,
    names_of_columns,
    refuse_masked,
    stored_options,
)
from pyclone_pgsm.analyses.results import check_folder
from pyclone_pgsm.analyses.run import Progress, plan_matrix
from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.files import check_file
from pyclone_pgsm.inputs.matrix_text import numbered_names
from pyclone_pgsm.inputs.problems import count, listed
from pyclone_pgsm.likelihoods.foreign import blamed
from pyclone_pgsm.likelihoods.matrix import find_table_likelihood
from pyclone_pgsm.posterior.matrix import predictive
from pyclone_pgsm.posterior.mixture import MixtureSummary
from pyclone_pgsm.posterior.predictive import cluster_probabilities
from pyclone_pgsm.posterior.rows import draw_rows, gather, read_partitions
from pyclone_pgsm.posterior.summarize import check_criterion
from pyclone_pgsm.priors import Prior
from pyclone_pgsm.ranges import check_kind, check_path
from pyclone_pgsm.results import Result, checked_plan, run_plan
from pyclone_pgsm.sampling.settings import Settings
from pyclone_pgsm.trace import Trace
from pyclone_pgsm.trace.matrix import MatrixData

KEPT_DRAWS = 1000
KEPT_BYTES = 100 << 20  # largest size of the labels of kept partitions


class Clustering(Result):
    """Posterior of a clustering of T rows with D columns, in addition to a :class:`~pyclone_pgsm.results.Result`.

    Attributes
    ----------
    labels : (T,) int64
        Consensus cluster 0..K-1 of each row, numbered by decreasing size.
    assignment_prob : (T,) float64
        Mean posterior probability that the row shares a block with the other members of its cluster.
    cluster_size : (K,) int64
    parameters : dict of str to (K, ..) float64
        Posterior means of the clusters' parameters and, as ``.._sd``, their posterior standard deviations. normal:
        mean (K, D), mean_sd (K, D), covariance (K, D, D); bernoulli: theta (K, D), theta_sd (K, D); other likelihoods:
        those of their ``cluster_parameters``.
    draws : (n, T) unsigned integers
        Partitions after the burn-in, chain by chain, in proportion to the chains' weights; evenly thinned to about
        1,000, or 100 MB. Each draw numbers its blocks by first appearance: numbers are not comparable between draws.
    hyperparameters : dict of str to (n,) float64
        For each draw, those of the partition prior (concentration, discount) and the inferred ones of the likelihood.
    chains : list of ChainTrace
        All saved iterations of each chain: iteration, num_clusters, concentration, log_joint, seconds.
    settings : Settings
    chain_weights : (chains,) float64
        Weight of each chain in the summary: equal unless chains stay apart (:mod:`pyclone_pgsm.posterior.stacking`).
    """

    summary: MixtureSummary

    def _read(self, trace: Trace) -> None:
        summary = self.summary
        # copies: pictures, pages and predictions stay as they are if the user edits these
        self.labels: NDArray[np.int64] = summary.labels.copy()
        self.assignment_prob: NDArray[np.float64] = summary.assignment_prob.copy()
        self.cluster_size: NDArray[np.int64] = summary.cluster_size.copy()
        self.parameters: dict[str, NDArray[np.float64]] = {
            name: values.copy() for name, values in summary.parameters.items()
        }
        self.settings: Settings = self.options.settings
        self.chain_weights: NDArray[np.float64] = self._found.chain_weights.copy()
        most = max(20, min(KEPT_DRAWS, KEPT_BYTES // len(summary.labels)))
        rows = draw_rows(trace, self._found.burn_in, most, self.chain_weights)
        self.draws: NDArray[Any] = read_partitions(trace, rows)
        options = trace.options
        names = (*options.first_prior.hyperparameters, *options.hyperparameters)
        self.hyperparameters = {name: gather(trace, rows, name) for name in names}
        self.chains = trace.chains
        self._predictive = predictive(trace, self.chain_weights, self._found.burn_in)
        prior = self._predictive.priors[0]
        self._mean_prior = prior.with_values(
            [float(self.hyperparameters[name].mean()) for name in prior.hyperparameters]
        )
        self._clusters = summary.labels.copy()
        self._standardised = trace.data_of(MatrixData).options.standardised
        self._may_miss = bool(np.isnan(trace.matrix.values).any())

    def __repr__(self) -> str:
        return f"Clustering({count(len(self.labels), 'row')} in {count(self.num_clusters, 'cluster')})"

    @property
    def num_clusters(self) -> int:
        """Number of consensus clusters, K."""
        return len(self.cluster_size)

    @np.errstate(under="ignore")  # see `cluster`
    def log_predictive(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the log posterior predictive density of new rows.

        For each partition this is a mixture of the predictive densities of its blocks and of a new block, weighted by
        the partition prior. The densities are averaged over about 240 saved partitions of all chains.

        Parameters
        ----------
        X : (N, D) array of floats
            In the units of the table, also if the trace was made with ``--standardise``; so is the density.

        Returns
        -------
        (N,) float64

        Raises
        ------
        UsageError
            X has a different number of columns, a value is infinite, or NaN where the clustered rows have none, or the
            likelihood has no predictive density, or fails.
        """
        points, log_scale = self._checked(X)
        with blamed(self.options.model.likelihood):
            return self._predictive.log_density(points) - log_scale

    @np.errstate(under="ignore")
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability that a new row belongs to each consensus cluster, given that it belongs to one.

        Parameters
        ----------
        X : (N, D) array of floats
            See :meth:`log_predictive`.

        Returns
        -------
        (N, K) float64
            Rows sum to 1.

        Raises
        ------
        UsageError
            See :meth:`log_predictive`; or the likelihood gives a row the density 0 in every cluster.
        """
        points, _ = self._checked(X)
        likelihood = self._predictive.likelihood_at_medians
        with blamed(self.options.model.likelihood):
            return cluster_probabilities(likelihood, self._mean_prior, self._clusters, points)

    def _checked(self, X: ArrayLike) -> tuple[NDArray[np.float64], float]:
        """Return new rows in the units of the trace, and the log of the volume that these units have in those of `X`.

        Names of columns that the clustered rows did not have, and were numbered instead, may be any others.
        """
        names, of_columns = self.summary.column_names, names_of_columns(X)
        own = names if of_columns is None else list(map(str, of_columns))
        are_others = names == numbered_names(len(names)) and not set(own) & set(names)
        if own != names and not are_others:
            raise UsageError(f"new rows must have the columns {listed(names)}, not {listed(own)}")
        points = as_numbers("new rows", X)
        num_columns = len(names)
        if points.ndim != 2 or points.shape[1] != num_columns:
            raise UsageError(
                f"new rows must be a matrix with {num_columns} columns, not of shape {points.shape}"
            )
        missing = np.isnan(points)
        for row, column in np.argwhere(~np.isfinite(points) & ~(missing & self._may_miss))[:1].tolist():
            problem = (
                "NaN: the clustered rows have no missing values"
                if missing[row, column]
                else f"{points[row, column]}: not finite"
            )
            raise UsageError(f"new rows: row {row}, column {column} (from 0): {problem}")
        if self._standardised is None:
            return points, 0.0
        mean, sd = (np.array(self._standardised[name]) for name in ("mean", "sd"))
        return (points - mean) / sd, float(np.log(sd).sum())


@np.errstate(under="ignore")  # underflow is normal here, also if the caller lets numpy raise errors
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
    out: Path | str | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Clustering:
    """Cluster the rows of a matrix.

    Parameters
    ----------
    X : (T, D) array of floats
        For a table of pandas, polars or pyarrow, the trace stores the names of the columns, and those of pandas' index
        if they are distinct texts.
    likelihood : str
        "normal", "bernoulli", another name of :func:`pyclone_pgsm.likelihoods.registry.installed_likelihoods`, or
        "path/to/file.py:Class".
    parameters : dict or None
        Parameters of the likelihood's prior: the keyword arguments of its ``from_data``, each a number, an array or
        "infer". Inferred by default: a0 and b0 of Bernoulli; the scale of the Normal with up to 200 rows, or if
        clusters are far narrower than the data; its scale and r0 with more than ten columns. Otherwise its scale is 1
        if the columns are not standardised.
    prior : Prior or None
        Prior over partitions; None: :class:`~pyclone_pgsm.priors.DirichletProcess` with its concentration inferred.
    settings : Settings or None
        Moves, lengths, chains and seed; None: the defaults.
    start_labels : (T,) array of int or None
        Partition from which every chain starts, instead of ``settings.init``: rows of a block have the same number,
        which can be any.
    criterion : {"mpear", "vi", "binder", "map"}
        Criterion of the consensus partition, see :func:`pyclone_pgsm.posterior.consensus.consensus`.
    threads : int or None
        Chains that run at the same time; None: one for each processor. This does not affect the result.
    trace : Path, str or None
        File for the trace, for ``pyclone-pgsm resume``, ``summarize`` and so on. None: in `out` if given, else in a
        temporary folder that is removed with the result.
    out : Path, str or None
        Folder for everything that the command ``cluster`` writes: tables, pictures, report and trace.
    force : bool
        Replace an existing `trace`, or results in `out`.
    progress : callable or None
        Called regularly with a chain, the iterations it has done, those it is to do, and its number of clusters.

    Returns
    -------
    Clustering

    Raises
    ------
    DataValueError
        The likelihood does not allow a value.
    UsageError
        Data, settings or parameters are invalid.
    OutputError
        The trace or results exist and `force` is False, or they cannot be written.
    KeyboardInterrupt
        The user pressed Ctrl-C. The iterations done are in the trace, if it is kept.
    """
    settings, prior = checked_plan(settings, prior)
    check_kind("likelihood", likelihood, str, "a name, or path/to/file.py:Class")
    parameters = {} if parameters is None else parameters
    check_kind("parameters", parameters, Mapping, "a dict of the likelihood's parameters, like {'r0': 0.1}")
    check_path("trace", trace)
    check_path("out", out)
    check_criterion(criterion)
    if trace is not None and out is not None:
        raise UsageError("`trace` and `out`: give one of them; the trace in the folder `out` is trace.h5")
    if out is not None:
        check_folder(Path(out), force, MatrixAnalysis.files, settings.files)
    if trace is not None:
        check_file(Path(trace), force, settings.files)
    data = as_matrix(X)
    refuse_masked("`start_labels`", start_labels)
    find_table_likelihood(likelihood, parameters)
    rows = MatrixData(data, stored_options(likelihood, parameters, data))
    plan = plan_matrix(rows, settings, prior, start_labels, threads)
    return run_plan(
        Clustering,
        plan,
        criterion=criterion,
        trace=trace,
        out=out,
        command="pyclone_pgsm.cluster",
        progress=progress,
    )
