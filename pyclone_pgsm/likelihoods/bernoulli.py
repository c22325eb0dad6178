"""Binary observations in D independent coordinates with Beta priors (paper, Appendix E).

    theta_d ~ Beta(a_d, b_d),    x_id | theta_d ~ Bernoulli(theta_d)

    log L(y_b)       = sum_d log B(a_d + n1_d, b_d + n0_d) - log B(a_d, b_d),    n1_d ones, n0_d zeros in the block
    log L(y_i | y_b) = sum_d x_id log(a_d + n1_d) + (1 - x_id) log(b_d + n0_d) - log(a_d + b_d + m)
                     = base + sum_d x_id odds_d

A statistic consists of m, base, n1 and odds, so that a predictive is one dot product. Because n1 and n0 are integers,
all logs come from tables and rounding errors do not accumulate.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import pdtrc

from pyclone_pgsm.errors import DataValueError, UsageError
from pyclone_pgsm.jit.compiling import LEAF, SUM, inner
from pyclone_pgsm.labels import evenly_spaced
from pyclone_pgsm.likelihoods.choice import Choice, log_uniform
from pyclone_pgsm.likelihoods.contract import leaf, register
from pyclone_pgsm.likelihoods.parameters import (
    as_numbers,
    check_weight,
    column_at,
    log_rising,
    observations_by_variables,
)

COUNT, BASE, ONES = 0, 1, 2
ONE, ZERO = 0, 1  # tables of log(a + n) and log(b + n), n ones or zeros
LOG_TOTAL, LOG_GAMMA_TOTAL = 0, 1

LEAST_EXPECTED = 5.0
"""Pairs are examined if chance alone would give so many rows in each cell of their table of two times two."""
ASSOCIATED, SHARE_BY_CHANCE = 15.0, 1.075e-4
"""A pair with a larger n r^2 is associated, and the probability of this without dependence."""
LEAST_PAIRS, LEAST_PROBABILITY = 5, 1e-6
"""A warning is given for so many associated pairs, if chance would lead to as many with a smaller probability."""
MOST_ROWS, MOST_COLUMNS = 2000, 1000
"""Of more rows in a cluster, or of more columns, evenly spaced ones are examined."""


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def dot(stat, at, x, i):
    """Return sum_d stat[at + d] x[i, d]."""
    total = 0.0
    for d in range(np.uint64(x.shape[1])):
        total += stat[np.uint64(at) + d] * x[np.uint64(i), d]
    return total


@inner(**LEAF, error_model="numpy")
def count_row(stat, x, i, weight):
    """Add row i to the counts (`weight` 1), or subtract it (-1)."""
    stat[COUNT] += weight
    for d in range(np.uint64(x.shape[1])):
        stat[np.uint64(ONES) + d] += weight * x[np.uint64(i), d]


@inner(**LEAF, error_model="numpy")
def renew(stat, table, logs, totals):
    """Compute base and odds from the counts."""
    D = np.uint64(len(table))
    count = np.int64(stat[COUNT])
    base = 0.0
    for d in range(D):
        ones = np.int64(stat[np.uint64(ONES) + d])
        row = np.uint64(table[d])
        log_zero = logs[row, np.uint64(ZERO), np.uint64(count - ones)]
        base += log_zero
        stat[np.uint64(ONES) + D + d] = logs[row, np.uint64(ONE), np.uint64(ones)] - log_zero
    stat[BASE] = base - totals[LOG_TOTAL, count]


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def log_predictive_without(stat, x, i, table, logs, totals):
    """Return log L(y_i | y_b without y_i), by subtracting 1 from the count of each of the observation's own values."""
    count = np.int64(stat[COUNT])
    total = 0.0
    for d in range(np.uint64(len(table))):
        ones = np.int64(stat[np.uint64(ONES) + d])
        is_one = x[np.uint64(i), d] > 0.5
        which = ONE if is_one else ZERO
        others = (ones if is_one else count - ones) - 1
        total += logs[np.uint64(table[d]), np.uint64(which), np.uint64(others)]
    return total - totals[LOG_TOTAL, count - 1]


@inner(**LEAF, error_model="numpy")
def log_marginal(stat, table, log_gammas, totals):
    count = np.int64(stat[COUNT])
    total = 0.0
    for d in range(np.uint64(len(table))):
        ones = np.int64(stat[np.uint64(ONES) + d])
        row = np.uint64(table[d])
        total += log_gammas[row, np.uint64(ONE), np.uint64(ones)]
        total += log_gammas[row, np.uint64(ZERO), np.uint64(count - ones)]
    return total - totals[LOG_GAMMA_TOTAL, count]


@register("bernoulli")
class Bernoulli(NamedTuple):
    """Independent columns of 0 and 1 (Beta prior, whose a0 and b0 are inferred unless given).

    Attributes
    ----------
    x : (T, D) float64
        0 and 1.
    log_prior : (T,) float64
        Prior predictives.
    a0, b0 : (D,) float64
    table : (D,) int64
        Table of each coordinate, among the U tables below: there is one for each distinct pair (a_d, b_d).
    logs, log_gammas : (U, 2, T + 1) float64
        log(a + n) and log(b + n); log Gamma(a + n) / Gamma(a) and the same for b.
    totals : (2, T + 1) float64
        sum_d log(a_d + b_d + m) and sum_d log Gamma(a_d + b_d + m) / Gamma(a_d + b_d).
    """

    x: np.ndarray
    log_prior: np.ndarray
    a0: np.ndarray
    b0: np.ndarray
    table: np.ndarray
    logs: np.ndarray
    log_gammas: np.ndarray
    totals: np.ndarray

    @classmethod
    def from_data(cls, data: NDArray[np.float64], a0: ArrayLike = 1.0, b0: ArrayLike = 1.0) -> Bernoulli:
        """Make the likelihood of a matrix.

        Parameters
        ----------
        data : (T, D) float64
            0 or 1.
        a0, b0 : float or (D,) float64
            Parameters of the Beta prior, for all coordinates or for each; between 1e-9 and 1e9.

        Raises
        ------
        DataValueError
            A value is neither 0 nor 1.
        UsageError
            A parameter is out of range or has the wrong shape.
        """
        x = observations_by_variables(data)
        for row, column in np.argwhere((x != 0.0) & (x != 1.0))[:1].tolist():
            raise DataValueError(row, column, x[row, column], "0 or 1 (missing values are not supported)")
        T, D = x.shape
        a, b = _positive("a0", a0, D), _positive("b0", b0, D)
        pairs, table = np.unique(np.stack([a, b], axis=1), axis=0, return_inverse=True)
        table = table.reshape(D).astype(np.int64)
        counts = np.bincount(table).astype(float)
        total = pairs.sum(axis=1)[:, None]
        n = np.arange(T + 1.0)
        return cls(
            x=x,
            log_prior=x @ np.log(a) + (1.0 - x) @ np.log(b) - np.log(a + b).sum(),
            a0=a,
            b0=b,
            table=table,
            logs=np.log(pairs[:, :, None] + n),
            log_gammas=log_rising(pairs[:, :, None], n),
            totals=np.stack([counts @ np.log(total + n), counts @ log_rising(total, n)]),
        )

    @classmethod
    def choices(cls, data: NDArray[np.float64], **given: Any) -> dict[str, Choice]:
        """Return the values from which a0 and b0 can be inferred: from 1/128 to 32 in steps of sqrt(2).

        Each is one number for all coordinates.
        """
        values = log_uniform(tuple(2.0 ** (k / 2.0) for k in range(-14, 11)), 1.0)
        return {"a0": values, "b0": values}

    @classmethod
    def inferred_by_default(cls, data: NDArray[np.float64], given: Mapping[str, Any]) -> list[str]:
        """Return those of a0 and b0 that are not given."""
        return [name for name in ("a0", "b0") if name not in given]

    @classmethod
    def doubts_of_clusters(cls, data: NDArray[np.float64], labels: NDArray[np.int64]) -> list[str]:
        """Warn of columns that are associated within clusters."""
        return doubts_of_independence(data, labels)

    @leaf
    def stat_size(self):
        return ONES + 2 * self.x.shape[1]

    @leaf
    def clear(self, stat):
        for k in range(len(stat)):
            stat[k] = 0.0
        renew(stat, self.table, self.logs, self.totals)

    @leaf
    def add(self, stat, i):
        count_row(stat, self.x, i, 1.0)
        renew(stat, self.table, self.logs, self.totals)

    @leaf
    def remove(self, stat, i):
        count_row(stat, self.x, i, -1.0)
        renew(stat, self.table, self.logs, self.totals)

    @leaf
    def add_many(self, stat, members):
        for i in members:
            count_row(stat, self.x, i, 1.0)
        renew(stat, self.table, self.logs, self.totals)

    @leaf
    def log_prior_predictive(self, i):
        return self.log_prior[i]

    @leaf
    def log_predictive(self, stat, i, negligible):
        return stat[BASE] + dot(stat, ONES + self.x.shape[1], self.x, i)

    @leaf
    def log_predictive_without(self, stat, i):
        return log_predictive_without(stat, self.x, i, self.table, self.logs, self.totals)

    @leaf
    def log_marginal(self, stat):
        return log_marginal(stat, self.table, self.log_gammas, self.totals)

    def log_predictive_new(self, stat, x):
        """Return the log probability of a new observation x, (D,); anything but 0 and 1 is impossible."""
        for value in x:
            if value != 0.0 and value != 1.0:
                return -np.inf
        return stat[BASE] + dot(stat, ONES + self.x.shape[1], x.reshape(1, len(x)), 0)

    def log_constant(self) -> float:
        return 0.0

    def cluster_parameters(self, stat: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Summarise the posterior of a block's theta.

        Returns
        -------
        dict
            theta (D,): E[theta]; theta_sd (D,): its standard deviation.
        """
        ones = stat[ONES : ONES + len(self.a0)]
        a, total = self.a0 + ones, self.a0 + self.b0 + stat[COUNT]
        theta = a / total
        return {"theta": theta, "theta_sd": np.sqrt(theta * (1.0 - theta) / (total + 1.0))}


def _positive(name: str, value: ArrayLike, D: int) -> NDArray[np.float64]:
    numbers = as_numbers(value)
    if numbers.shape not in ((), (D,)) or not ((numbers > 0.0) & (numbers < np.inf)).all():
        raise UsageError(
            f"{name} must be a positive number or a list of {D} positive numbers, not {reprlib.repr(value)}"
        )
    for extreme in (numbers.min(), numbers.max()):
        check_weight(name, float(extreme))
    return np.array(np.broadcast_to(numbers, D))


def associations(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return n r^2 (D, D) of the columns of a cluster (n, D); NaN in the lower triangle and for pairs not examined."""
    n, D = x.shape
    share = x.mean(axis=0)
    rarer = np.minimum(share, 1.0 - share)
    centred = x - share
    found = np.full((D, D), np.nan)
    i, j = np.nonzero(np.triu(n * np.outer(rarer, rarer) >= LEAST_EXPECTED, 1))
    norm = np.sqrt(n * share * (1.0 - share))
    found[i, j] = n * ((centred.T @ centred)[i, j] / (norm[i] * norm[j])) ** 2
    return found


def doubts_of_independence(x: NDArray[np.float64], labels: NDArray[np.int64]) -> list[str]:
    """Warn if many pairs of the binary columns of the data (T, D) are associated within clusters ``labels`` (T,).

    The likelihood has columns independent (their association is local dependence). In the right clusters n r^2 of two
    columns, n times their squared correlation among the n rows of a cluster, follows about a chi-square distribution of
    one degree of freedom. Clusters that were joined show by pairs of columns far above it (bivariate residuals of
    latent class analysis: Vermunt & Magidson 2005).
    """
    columns = evenly_spaced(x.shape[1], MOST_COLUMNS)
    number, expected, largest, strongest = 0, 0.0, 0.0, ""
    for k in np.unique(labels[labels >= 0]).tolist():
        members = np.flatnonzero(labels == k)
        if len(members) < 4 * LEAST_EXPECTED:  # no pair is examined
            continue
        members = members[evenly_spaced(len(members), MOST_ROWS)]
        found = associations(x[np.ix_(members, columns)])
        number += int(np.count_nonzero(found > ASSOCIATED))
        expected += SHARE_BY_CHANCE * np.count_nonzero(~np.isnan(found))
        if np.nanmax(found, initial=0.0) > largest:
            largest = float(np.nanmax(found))
            i, j = np.unravel_index(np.nanargmax(found), found.shape)
            strongest = f"{column_at(columns[i])} and {column_at(columns[j])} in cluster {k}"
    if number < LEAST_PAIRS or pdtrc(number - 1, expected) > LEAST_PROBABILITY:
        return []
    return [
        f"{number} pairs of columns are associated within clusters, where chance explains {expected:.2g}; strongest: "
        f"{strongest}. The likelihood has them independent: clusters that plainly differ may "
        "be joined, as happens with many columns that do not distinguish clusters (leave these out), or columns "
        "depend on each other"
    ]
