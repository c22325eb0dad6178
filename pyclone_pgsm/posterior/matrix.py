"""Summary of posterior draws for a data matrix: consensus clusters and the parameters of their distributions."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.labels import renumbered
from pyclone_pgsm.likelihoods.foreign import blamed
from pyclone_pgsm.likelihoods.parameters import with_names
from pyclone_pgsm.posterior.checks import crowded_ends
from pyclone_pgsm.posterior.consensus import assignment_probability
from pyclone_pgsm.posterior.mixture import MixtureSummary, cluster_parameters
from pyclone_pgsm.posterior.predictive import Predictive
from pyclone_pgsm.posterior.rows import Draws, draw_rows, gather, gather_values, read_partitions, thin
from pyclone_pgsm.posterior.states import Thresholds
from pyclone_pgsm.trace import Trace

PREDICTIVE_DRAWS = 240
PARAMETER_DRAWS = 100
SHARE_AT_END = 0.5
"""Least share of a hyperparameter's draws at an end of its values that causes a warning."""
LEAST_ROWS = 10
"""With fewer rows, a column may happen to look like row numbers."""
LABELS = {"cluster", "cluster_id", "label", "labels", "class", "target", "truth", "truth_cluster"}
"""Names of columns, in lower case, that hold known clusters rather than data."""


def summarise_matrix(
    draws: Draws, labels: NDArray[np.int64], thresholds: Thresholds
) -> tuple[MixtureSummary, list[str]]:
    """Summarise the draws (see :class:`~pyclone_pgsm.posterior.summarize.Summariser`)."""
    trace = draws.trace
    model = trace.model
    labels = renumbered(labels)
    rows = thin(draws.rows, min(PARAMETER_DRAWS, len(draws.partitions)))
    likelihoods = map(model.likelihood, gather_values(trace, rows, trace.options.hyperparameters))
    likelihood_class: Any = type(model.likelihood(model.initial_values()))
    summary = MixtureSummary(
        trace.matrix.row_names,
        trace.matrix.column_names,
        labels,
        assignment_probability(draws.partitions, labels),
        np.bincount(labels),
        cluster_parameters(likelihoods, read_partitions(trace, rows), labels),
    )
    warnings = [
        f"{name} is at the {end} of the values from which it is inferred, {value}: the clusters may depend on this "
        "limit; give it a value, and compare"
        for name, choice in zip(model.hyperparameters, model.choices)
        for end, value in crowded_ends(gather(trace, draws.rows, name), choice, SHARE_AT_END).items()
    ]
    warnings += [
        f"column {trace.matrix.column_names[column]} changes by the same amount from each row to the next, as row "
        "numbers do, and was clustered as data: if it is none, leave it out"
        for column in numbered_columns(trace.matrix.values)
    ]
    warnings += [
        f"column {name} has the name of a label, and was clustered as data: if it is none, leave it out"
        for name in trace.matrix.column_names
        if name.lower() in LABELS
    ]
    doubts: list[str] = []
    spec, values = trace.options.model.likelihood, trace.matrix.values
    if hasattr(likelihood_class, "doubts"):
        parameters = trace.options.model.to_dict()["parameters"]
        doubts += _warnings_of(spec, likelihood_class.doubts, values, parameters)
    if hasattr(likelihood_class, "doubts_of_clusters"):
        doubts += _warnings_of(spec, likelihood_class.doubts_of_clusters, values, labels)
    named = [with_names(doubt, trace.matrix.column_names, trace.matrix.row_names) for doubt in doubts]
    return summary, [*warnings, *named]


def _warnings_of(spec: str, method: Callable[..., Any], *arguments: Any) -> list[str]:
    """Return the warnings of a likelihood, of which a plugin may return a single one without a list.

    The chains have ended, and nothing else depends on them: if a plugin's method fails, a warning says so.
    """
    try:
        with blamed(spec):
            found = method(*arguments)
            return [found] if isinstance(found, str) else list(map(str, found))
    except UsageError as fault:
        return [f"warnings of the likelihood's {method.__name__} are missing, since it failed: {fault}"]


def numbered_columns(values: NDArray[np.float64]) -> list[int]:
    """Return which columns of the data (T, D) seem to number the rows, possibly after they were standardised."""
    if len(values) < LEAST_ROWS:
        return []
    steps = np.diff(values, axis=0)
    is_even = (steps[0] != 0.0) & (np.ptp(steps, axis=0) < 1e-9 * np.abs(steps[0]))
    return np.flatnonzero(is_even).tolist()


def predictive(
    trace: Trace,
    weights: NDArray[np.float64],
    burn_in: int | None = None,
    most: int = PREDICTIVE_DRAWS,
) -> Predictive:
    """Return the posterior predictive density of a trace of a matrix, from about `most` saved partitions.

    `weights` are the shares of the chains, ``chain_weights`` of a result. `burn_in` and the errors are those of
    :func:`~pyclone_pgsm.posterior.summarize.summarize`.
    """
    thinned = draw_rows(trace, burn_in, most, weights)
    prior = trace.options.first_prior
    return Predictive(
        trace.model,
        gather_values(trace, thinned, trace.options.hyperparameters),
        [prior.with_values(values) for values in gather_values(trace, thinned, prior.hyperparameters)],
        read_partitions(trace, thinned),
    )
