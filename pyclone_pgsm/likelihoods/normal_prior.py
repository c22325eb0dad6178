"""Parameters of the Normal-inverse-Wishart prior of :mod:`pyclone_pgsm.likelihoods.normal`, from a user's values."""

import math
import reprlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.errors import DataValueError, UsageError
from pyclone_pgsm.likelihoods.parameters import (
    as_numbers,
    check_weight,
    column_at,
    observations_by_variables,
    row_at,
)

LARGEST = 1e150
"""Largest absolute value of the data; squares of larger ones may overflow."""
SMALLEST = 1e-250
"""Smallest variance of a column, which is multiplied with small scales."""
NO_VARIANCE = 1e-10
"""Largest variance of a combination of standardised columns that only rounding errors let vary."""
MANY_COLUMNS = 10
"""With more columns, the scale and r0 are inferred by default. The prior weighs as much as D + 2 observations of a
block: with many columns it determines what a cluster is. With few, the data of a large block outweigh it, and a wide
prior prevents blocks that are not quite Normal from being split up."""
ROWS_PER_COLUMN = 3
"""Many columns with fewer rows than so many for each cause a warning."""
CLUSTERED_ROWS = 3000
"""Largest number of rows that are clustered to see how wide clusters may be."""
SCALES = 2.0 ** -np.arange(17)
"""Scales at which the partitions found are compared. The smallest is also the least sum of squares of a column."""
FAR_TOO_WIDE, TOO_WIDE = 0.3, 0.5
"""With a smaller :func:`weight_of_rows` the scale is inferred by default, and a given one causes a warning."""
FEWEST_ROWS = 20
"""With fewer rows there is no such warning."""
SHOWN = 10
"""Number of columns named in a message."""
FAR, DECISIVE, MOST_FAR = 10.0, 100.0, 0.05
"""Values of a column are far if they are at most the last share of it, farther from its median than all others by the
first factor, and the variance without them is smaller by the second. Of columns of 20 to 2,000 values, at most 0.1 %
from a log-normal distribution (sigma 1) and none from an exponential one have such values."""
SHOWN_FAR = 3
"""Number of columns with far values that a message shows."""
PREDICTIVE, MARGINAL = 0, 1
"""Rows of :func:`terms_by_count`."""


def positive_number(name: str, value: Any, above: float) -> float:
    """Return a parameter as a number, which must be above a limit."""
    number = as_numbers(value)
    if number.shape != () or not above < number < math.inf:
        raise UsageError(f"{name} must be a number above {above:g}, not {reprlib.repr(value)}")
    check_weight(name, float(number), above)
    return float(number)


def finite_matrix(data: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the data (T, D) after checking that all values are finite."""
    y = observations_by_variables(data)
    for row, column in np.argwhere(~np.isfinite(y))[:1].tolist():
        raise DataValueError(
            row, column, y[row, column], "a finite number (missing values are not supported)"
        )
    for row, column in np.argwhere(np.abs(y) > LARGEST)[:1].tolist():
        raise DataValueError(row, column, y[row, column], f"at most {LARGEST:g} in absolute value")
    return y


def prior_mean(u0: ArrayLike | None, y: NDArray[np.float64], scale: float | None) -> NDArray[np.float64]:
    """Return u0 (D,) as given, or its default."""
    D = y.shape[1]
    if u0 is None:
        return np.zeros(D) if scale is None else y.mean(axis=0)
    u = as_numbers(u0)
    if u.shape not in ((), (D,)) or not np.isfinite(u).all():
        raise UsageError(
            f"u0 must be a finite number or a list of {D} finite numbers, not {reprlib.repr(u0)}"
        )
    return np.array(np.broadcast_to(u, D))


def column_variances(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variances of the columns (D,), with 1 for a column of equal values; UsageError for one near 0."""
    variances = np.where(y.min(axis=0) == y.max(axis=0), 1.0, y.var(axis=0))
    for column in np.flatnonzero(variances < SMALLEST).tolist():
        raise UsageError(f"{column_at(column)} varies too little for double precision: rescale it")
    return variances


def middle_and_spread(y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the medians and the standard deviations, estimated from the quartiles, of columns (T, ...)."""
    lower, middle, upper = np.quantile(y, (0.25, 0.5, 0.75), axis=0)
    return middle, (upper - lower) / 1.349


def is_standardised(y: NDArray[np.float64]) -> bool:
    """Whether medians and quartiles of the columns are about those of a standard Normal distribution.

    Columns with a few extreme values, which would distort means and variances, count as standardised, too.
    """
    middle, spread = middle_and_spread(y)
    return bool(((np.abs(middle) < 1.0) & (spread > 1.0 / 3.0) & (spread < 3.0)).all())


def dependent_columns(y: NDArray[np.float64]) -> tuple[int, str]:
    """Return how many combinations of the columns of the data (T, D) do not vary, and the columns of one of these.

    With no more rows than columns, some never vary: this says nothing about the columns, and none is counted.
    """
    T, D = y.shape
    if T <= D:
        return 0, ""
    variances = np.where(y.min(axis=0) == y.max(axis=0), 0.0, y.var(axis=0))
    z = (y - y.mean(axis=0)) / np.sqrt(np.where(variances < SMALLEST, 1.0, variances))
    variances, directions = np.linalg.eigh(z.T @ z / T)
    among = np.flatnonzero(np.abs(directions[:, 0]) > 1e-3)
    return int((variances < NO_VARIANCE).sum()), ", ".join(map(column_at, among[:SHOWN].tolist()))


def weight_of_rows(y: NDArray[np.float64]) -> float:
    """Return how much the rows (T, D) of a typical cluster weigh against the prior of scale 1.

    The covariance of a cluster is estimated by its squared deviations from the mean, added to the scale matrix. The
    weight is the ratio of the two, a geometric mean over the columns and the median over the rows. If it is below 1,
    the prior decides how wide clusters are, and those that are narrower and near to each other are joined.

    Clusters are those of Ward's method, and as many as the model prefers if the scale is free: no fixed number, because
    fewer than there are would be wide, and more would be narrow in any data.
    """
    from scipy.cluster.hierarchy import fcluster, ward

    thinned = y[:: math.ceil(len(y) / CLUSTERED_ROWS)]
    z = (thinned - thinned.mean(axis=0)) / np.sqrt(column_variances(y))
    z = np.unique(z, axis=0)  # equal rows would be a cluster of no width
    components = np.linalg.eigh(z.T @ z)[1][:, -MANY_COLUMNS:]  # the principal ones of many columns, else all
    x = z @ components
    T, D = x.shape
    tables = np.stack([terms_by_count(T, D, D + 2.0, scale)[MARGINAL] for scale in SCALES])
    numbers = [round(2.0 ** (0.5 * k)) for k in range(2, math.floor(2.0 * math.log2(max(T / 5.0, 1.0))) + 1)]
    tree = ward(x) if numbers else None
    partitions = [np.zeros(T, int), *(fcluster(tree, number, "maxclust") - 1 for number in numbers)]
    labels = max(partitions, key=lambda labels: _log_joint(x, labels, tables))
    blocks = [z[labels == k] for k in range(labels.max() + 1)]
    deviations = np.stack([((block - block.mean(axis=0)) ** 2).sum(axis=0) for block in blocks])
    weights = np.exp(np.log(np.maximum(deviations, SCALES[-1])).mean(axis=1))
    return float(np.median(weights[labels])) * len(y) / len(z)


def _log_joint(x: NDArray[np.float64], labels: NDArray[np.int64], tables: NDArray[np.float64]) -> float:
    """Return the log density of rows x (T, D) and blocks 0..K-1, up to a constant, at the best of SCALES.

    The partition has the Dirichlet process prior of concentration 1. r0 equals the scale, so that the means of blocks
    are expected to vary as the rows, and all blocks have the scale matrix A = scale I + sum of z z^T of
    :mod:`pyclone_pgsm.likelihoods.normal`, here in the units of x.
    """
    from scipy.special import gammaln

    nu0 = x.shape[1] + 2.0
    z = np.column_stack([np.ones(len(x)), x])
    counts = np.bincount(labels)
    squares = np.stack([z[labels == k].T @ z[labels == k] for k in range(len(counts))])
    log_dets = np.log(np.maximum(np.linalg.eigvalsh(squares), 0.0) + SCALES[:, None, None]).sum(axis=2)
    terms = tables[:, counts] - 0.5 * (nu0 + counts) * log_dets + gammaln(counts)
    return float((terms.sum(axis=1) + 0.5 * nu0 * (nu0 - 2.0) * len(counts) * np.log(SCALES)).max())


def has_narrow_clusters(data: NDArray[np.float64]) -> bool:
    """Whether the prior of scale 1 would outweigh the rows of a typical cluster of the data (T, D).

    False for data whose scale cannot be inferred, or that will be refused.
    """
    if not (np.abs(data) <= LARGEST).all() or dependent_columns(data)[0]:
        return False
    return weight_of_rows(data) < FAR_TOO_WIDE


def doubts_of_width(y: NDArray[np.float64], scale: float) -> list[str]:
    """Warn of a scale of the prior that may be too wide for the clusters of the data (T, D), if these are not few."""
    if len(y) < FEWEST_ROWS or (weight := weight_of_rows(y) / scale) >= TOO_WIDE:
        return []
    return [
        "the prior expects clusters so wide that it outweighs the rows of a typical cluster (their weight is "
        f"{weight:.2g} of the prior's): clusters that plainly differ may be joined; compare with scale=infer"
    ]


def far_values(values: NDArray[np.float64]) -> list[int]:
    """Return which values of a column (T,) are far from all others, and decide its variance; the farthest is last.

    None are if the quartiles are equal, as of counts that are mostly 0: the others have no usual spread then.
    """
    middle, spread = middle_and_spread(values)
    distances = np.abs(values - middle)
    order = np.argsort(distances, kind="stable")
    for number in range(math.floor(MOST_FAR * len(values)), 0, -1):
        others, far = order[:-number], order[-number:]
        is_apart = spread > 0.0 and distances[far[0]] > FAR * distances[others[-1]]
        if is_apart and values.var() > DECISIVE * values[others].var():
            return far.tolist()
    return []


def doubts_of_far_values(y: NDArray[np.float64]) -> list[str]:
    """Warn of values of the data (T, D) that decide the columns' variances, in whose units the scale is."""
    shown = []
    found = [(column, far) for column, values in enumerate(y.T) if (far := far_values(values))]
    for column, far in found[:SHOWN_FAR]:
        middle, spread = middle_and_spread(y[:, column])
        more = f" (and {len(far) - 1} more)" if len(far) > 1 else ""
        shown.append(
            f"{column_at(column)} is {y[far[-1], column]:.6g} in {row_at(far[-1])}{more}, where its median is "
            f"{middle:.3g} and its usual spread {spread:.2g}"
        )
    if not shown:
        return []
    more = f"; and so in {len(found) - SHOWN_FAR} more" if len(found) > SHOWN_FAR else ""
    return [
        f"are there mistakes in the table, such as a missing decimal point? {'; '.join(shown)}{more}. Values "
        "so far from all others decide the variance of their column, by which the prior tells how wide clusters are: "
        "clusters that plainly differ may be joined. Correct them, or compare with the result without their rows"
    ]


def doubts_of_columns(y: NDArray[np.float64]) -> list[str]:
    """Warn of columns of the data (T, D) with which the prior may prefer one cluster to several that plainly differ."""
    T, D = y.shape
    if D > MANY_COLUMNS and 1 < T < ROWS_PER_COLUMN * D:
        return [
            f"{T} rows of {D} columns: so few hardly tell the covariances of clusters, so that clusters that plainly "
            "differ may be joined, or one be cut up: reduce the columns, for example to the first principal components"
        ]
    number, among = dependent_columns(y)
    if number == 0:
        return []
    return [
        f"columns are constant or linearly dependent, among them {among}: clusters that plainly differ may be joined; "
        "leave out one of these"
    ]


def refuse_dependent_columns(y: NDArray[np.float64], nu0: float) -> None:
    """Raise UsageError if linearly dependent columns of the data (T, D) make the inference of the scale meaningless.

    If d combinations of the columns do not vary, the density of a single cluster changes with a small scale s as
    s^((D nu0 - d (nu0 + T)) / 2). With a negative exponent it grows without bound as s decreases, so that one cluster
    is preferred, whatever the rest of the data say.
    """
    T, D = y.shape
    d, among = dependent_columns(y)
    if d * (nu0 + T) > D * nu0:
        raise UsageError(
            "the scale cannot be inferred, as it is by default with few rows or many columns, because columns are "
            f"constant or linearly dependent, among them {among}: leave out one of these, or give scale or S0"
        )


def scale_matrix(S0: ArrayLike | None, y: NDArray[np.float64], scale: float | None) -> ArrayLike:
    """Return S0 as given, or `scale` times the columns' variances, or its default."""
    if scale is None:
        return 1.0 if S0 is None else S0
    if S0 is not None:
        raise UsageError("S0 and scale: give one of them, not both")
    return positive_number("scale", scale, 0.0) * column_variances(y)


def cholesky_root(S0: ArrayLike, D: int) -> NDArray[np.float64]:
    """Return the lower Cholesky factor of S0."""
    refusal = UsageError(
        f"S0 must be positive definite: a positive number, a list of {D} positive numbers, or a symmetric {D} x {D} "
        f"matrix, not {reprlib.repr(S0)}"
    )
    S = as_numbers(S0)
    if S.shape == () or S.shape == (D,):
        S = np.diag(np.broadcast_to(S, D))
    if S.shape != (D, D) or not np.isfinite(S).all() or not np.allclose(S, S.T, rtol=1e-10, atol=0.0):
        raise refusal
    try:
        return np.ascontiguousarray(np.linalg.cholesky(S))
    except np.linalg.LinAlgError:
        raise refusal from None


def terms_by_count(T: int, D: int, nu0: float, r0: float) -> NDArray[np.float64]:
    """Return the terms of the predictive and the marginal without |A| and q, (2, T + 1), by number of observations."""
    from scipy.special import gammaln

    m = np.arange(T + 1.0)
    nu, r = nu0 + m, r0 + m
    growth = np.log1p(1.0 / r)  # log (r + 1)/r
    predictive = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * (nu + 1.0 - D)) - 0.5 * D * math.log(math.pi)
    predictive += 0.5 * (nu + 1.0 - D) * growth + 0.5 * np.log(r)
    marginal = -0.5 * m * D * math.log(math.pi) + 0.5 * D * (math.log(r0) - np.log(r)) + 0.5 * nu * np.log(r)
    for d in range(1, D + 1):
        marginal += gammaln(0.5 * (nu + 1.0 - d)) - gammaln(0.5 * (nu0 + 1.0 - d))
    return np.stack([predictive, marginal])
