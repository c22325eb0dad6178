"""D-dimensional Normal observations with a Normal-inverse-Wishart prior (paper, Appendix E).

    Sigma ~ IW(nu0, S0),    mu | Sigma ~ N(u0, Sigma / r0),    y_i | mu, Sigma ~ N(mu, Sigma)

The data are whitened, x = L0^-1 (y - u0) with S0 = L0 L0^T, so that u0 = 0 and S0 = I from here on. This contributes a
factor |L0|^-1 per observation, which is omitted by all methods that the samplers call. With z = (1, x), a block of m
observations is represented by one matrix,

    A = diag(r0, 1, .., 1) + sum of z z^T = [ r    r u^T         ]      r = r0 + m,  nu = nu0 + m,
                                           [ r u  S + r u u^T   ]      u, S the parameters of the posterior,

With q = z^T A^-1 z for a further observation, and |A| = r |S|, the formulas are short:

    log L(y_b)                 = marginal[m] - nu/2 log |A|
    log L(y_i | y_b)           = predictive[m] - log |A| / 2 - (nu + 1)/2 log(1 + q)
    log L(y_i | y_b without i) = predictive[m - 1] - log |A| / 2 + (nu - 1)/2 log(1 - q),     i in b
    |A + z z^T| = |A| (1 + q),   |A - z z^T| = |A| (1 - q)

where ``predictive`` and ``marginal`` are tables of the terms that depend on m only. A statistic consists of

    count, log |A|, level = predictive[m] - log |A| / 2, power = (nu + 1)/2
    F    (N (N + 1)/2,)  inverse of the Cholesky factor of A, row by row, N = D + 1: q = |F z|^2
    work (N,)            for the update of F

F is used rather than the Cholesky factor itself, because q then needs dot products of rows instead of a triangular
solve, and these can stop as soon as q is so large that the predictive is negligible. Rank-one updates are O(N^2).

Removing an observation loses digits if 1/(1 - q) is large. It is at most 1 + 1/r0 + max |x|^2, which is why data much
wider than the prior are not accepted.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.errors import DataValueError
from pyclone_pgsm.jit.compiling import LEAF, SUM, inner
from pyclone_pgsm.likelihoods.choice import Choice, log_uniform
from pyclone_pgsm.likelihoods.contract import leaf, register
from pyclone_pgsm.likelihoods.normal_prior import (
    LARGEST,
    MANY_COLUMNS,
    MARGINAL,
    PREDICTIVE,
    cholesky_root,
    column_variances,
    doubts_of_columns,
    doubts_of_far_values,
    doubts_of_width,
    finite_matrix,
    has_narrow_clusters,
    is_standardised,
    positive_number,
    prior_mean,
    refuse_dependent_columns,
    scale_matrix,
    terms_by_count,
)

COUNT, LOG_DET, LEVEL, POWER, FACTOR = 0, 1, 2, 3, 4
WIDEST = 1e3  # |x_d| beyond which double precision is not enough
FEW_ROWS = 200
"""With so many observations or fewer, the scale is inferred by default: blocks are small, and a wide prior joins blocks
that plainly differ."""

# As in the other likelihoods, parts of a statistic are addressed by unsigned offsets, never by slices.


@inner(**LEAF, fastmath=SUM, error_model="numpy")
def dot(stat, at, z, i, n):
    """Return sum_j stat[at + j] z[i, j] over j < n; all unsigned."""
    total = 0.0
    for j in range(n):
        total += stat[at + j] * z[i, j]
    return total


@inner(**LEAF, error_model="numpy")
def squares_2d(a, b, c, d, e, f, x, y):
    """Return :func:`squares` for D = 2, with rows a; b, c; d, e, f of F, and z = (1, x, y)."""
    v = b + c * x
    w = d + e * x + f * y
    return a * a + v * v + w * w


@inner(**LEAF, error_model="numpy")
def squares(stat, z, i, limit):
    """Return q = |F z|^2 for the row i of z; some number above `limit` if q is."""
    if z.shape[1] == 3:
        return squares_2d(stat[4], stat[5], stat[6], stat[7], stat[8], stat[9], z[i, 1], z[i, 2])
    at = np.uint64(FACTOR)
    q = 0.0
    for d in range(np.uint64(z.shape[1])):
        w = dot(stat, at, z, np.uint64(i), d + np.uint64(1))
        q += w * w
        if q > limit:
            break
        at += d + np.uint64(1)
    return q


@inner(**LEAF, error_model="numpy")
def largest_square(level, power, negligible):
    """Return the q at which a log predictive equals `negligible`."""
    return math.expm1(min((level - negligible) / power, 700.0))


@inner(**LEAF, error_model="numpy")
def log_predictives_2d(z, stats, slots, i, negligible, out):
    """Set out[b] = log L(y_i | y_b) for D = 2, where overhead would otherwise take more time than the arithmetic."""
    x = z[i, 1]
    y = z[i, 2]
    for b in range(len(slots)):
        s = np.uint64(slots[b])
        q = squares_2d(stats[s, 4], stats[s, 5], stats[s, 6], stats[s, 7], stats[s, 8], stats[s, 9], x, y)
        level = stats[s, LEVEL]
        power = stats[s, POWER]
        if (level - negligible[b]) * (2.0 + q) < 2.0 * power * q:  # log(1 + q) >= 2 q / (2 + q)
            out[b] = -np.inf
        else:
            out[b] = level - power * math.log1p(q)


@inner(**LEAF, error_model="numpy")
def update(stat, z, i, sign, least):
    """Update F and log |A| for A + sign z z^T, with z the row i of z.

    With p = F z, I + sign p p^T has the inverse Cholesky factor G whose rows are

        G_d = sqrt(t_{d-1} / t_d) (e_d - sign p_d / t_{d-1} sum_{k < d} p_k e_k),    t_d = 1 + sign sum_{k <= d} p_k^2

    and G F is the new F. t is at least `least` in exact arithmetic.
    """
    N = np.uint64(z.shape[1])
    at = np.uint64(FACTOR)
    work = np.uint64(FACTOR + z.shape[1] * (z.shape[1] + 1) // 2)
    for j in range(N):
        stat[work + j] = 0.0  # sum_{k < d} p_k F_k
    t = 1.0
    for d in range(N):
        n = d + np.uint64(1)
        p = dot(stat, at, z, np.uint64(i), n)
        new_t = max(t + sign * p * p, least)
        scale = math.sqrt(t / new_t)
        share = sign * p / t
        for j in range(n):
            f = stat[at + j]
            stat[at + j] = scale * (f - share * stat[work + j])
            stat[work + j] += p * f
        t = new_t
        at += n
    stat[LOG_DET] += math.log(t)


@inner(**LEAF)
def set_count(stat, count, nu0, tables):
    stat[COUNT] = count
    stat[LEVEL] = tables[PREDICTIVE, int(count)] - 0.5 * stat[LOG_DET]
    stat[POWER] = 0.5 * (nu0 + count + 1.0)


@register("normal")
class Normal(NamedTuple):
    """Normal clusters, each with its own mean and covariance (Normal-inverse-Wishart prior); for any numbers.

    Attributes
    ----------
    z : (T, D + 1) float64
        (1, x) of each observation.
    log_prior : (T,) float64
        Prior predictives of the x.
    tables : (2, T + 1) float64
        ``predictive`` and ``marginal``; see the module's docstring.
    nu0, r0 : float
    u0 : (D,) float64
    root : (D, D) float64
        L0, lower triangular.
    least : float
        Lower bound of 1 - q.
    """

    z: np.ndarray
    log_prior: np.ndarray
    tables: np.ndarray
    nu0: float
    r0: float
    u0: np.ndarray
    root: np.ndarray
    least: float

    @classmethod
    def from_data(
        cls,
        data: NDArray[np.float64],
        nu0: float | None = None,
        r0: float = 0.1,
        u0: ArrayLike | None = None,
        S0: ArrayLike | None = None,
        scale: float | None = None,
    ) -> Normal:
        """Make the likelihood of a matrix.

        Parameters
        ----------
        data : (T, D) float64
        nu0 : float or None
            Degrees of freedom, D - 1 plus 1e-9 to 1e9. None: D + 2, with which the prior mean of Sigma is S0.
        r0 : float
            Number of prior observations of the mean, between 1e-9 and 1e9. With 0.1 the prior expects clusters about
            three of their widths from u0; with the paper's 1 it expects them within about one width of u0.
        u0 : float, (D,) float64 or None
            Prior mean. None: 0, or the means of the columns if `scale` is given.
        S0 : float, (D,) or (D, D) float64, or None
            Scale matrix, or its diagonal, or one number for the whole diagonal; positive definite. None: given by
            `scale`, otherwise 1.
        scale : float or None
            Instead of `S0`: the diagonal of S0 in units of the columns' variances.

        Raises
        ------
        DataValueError
            A value is missing, not finite, or too far from u0 for double precision (1,000 prior standard deviations).
        UsageError
            A parameter is out of range or has the wrong shape.
        """
        from scipy.linalg import solve_triangular

        y = finite_matrix(data)
        T, D = y.shape
        nu = positive_number("nu0", D + 2.0 if nu0 is None else nu0, D - 1.0)
        r = positive_number("r0", r0, 0.0)
        u, root = prior_mean(u0, y, scale), cholesky_root(scale_matrix(S0, y, scale), D)
        x = solve_triangular(root, (y - u).T, lower=True).T
        far = np.argwhere(~(np.abs(x) < WIDEST))
        for row, column in far[:1].tolist():
            expected = (
                f"a value within {WIDEST:g} prior standard deviations of u0: rescale the data, or set S0"
            )
            raise DataValueError(row, column, y[row, column], expected)
        z = np.ones((T, D + 1))
        z[:, 1:] = x
        q = 1.0 / r + np.einsum("ij,ij->i", x, x)
        tables = terms_by_count(T, D, nu, r)
        return cls(
            z=z,
            log_prior=tables[PREDICTIVE, 0] - 0.5 * math.log(r) - 0.5 * (nu + 1.0) * np.log1p(q),
            tables=tables,
            nu0=nu,
            r0=r,
            u0=u,
            root=root,
            least=1.0 / (1.0 + q.max()),
        )

    @classmethod
    def choices(
        cls,
        data: NDArray[np.float64],
        u0: ArrayLike | None = None,
        S0: ArrayLike | None = None,
        **given: Any,
    ) -> dict[str, Choice]:
        """Return the values from which r0 (in steps of sqrt(2)) and, without `S0`, the scale (2^(1/4)) can be inferred.

        Chains start with values that expect few wide clusters. Scales at which an observation would be too far from u0
        are left out. The largest is the number of degrees of freedom D + 2, since S0 is about nu0 covariances of a
        cluster. UsageError if columns are so dependent that the scale cannot be inferred.
        """
        found = {"r0": log_uniform(tuple(2.0 ** (k / 2.0) for k in range(-30, 7)), 0.1)}
        if S0 is None:
            y = finite_matrix(data)
            D = y.shape[1]
            farthest = (np.abs(y - prior_mean(u0, y, 1.0)) / np.sqrt(column_variances(y))).max()
            largest = math.ceil(4.0 * math.log2(D + 2.0))
            scales = tuple(2.0 ** (k / 4.0) for k in range(-64, largest + 1))
            if "scale" not in given:
                nu0 = given.get("nu0")
                refuse_dependent_columns(y, positive_number("nu0", D + 2.0 if nu0 is None else nu0, D - 1.0))
            found["scale"] = log_uniform(
                tuple(s for s in scales if farthest < 0.999 * WIDEST * math.sqrt(s)) or scales[-1:], 1.0
            )
        return found

    @classmethod
    def defaults_for(cls, data: NDArray[np.float64], given: Mapping[str, Any]) -> dict[str, float]:
        """Return the scale 1, as if the columns were standardised, if they are not and neither it nor S0 is given."""
        if given.keys() & {"scale", "S0"} or (np.abs(data) > LARGEST).any() or is_standardised(data):
            return {}
        return {"scale": 1.0}

    @classmethod
    def inferred_by_default(cls, data: NDArray[np.float64], given: Mapping[str, Any]) -> list[str]:
        """Return, if not given: r0 and the scale of many columns, the scale of few rows and of narrow clusters."""
        T, D = data.shape
        names = ["r0"] if D > MANY_COLUMNS and "r0" not in given else []
        if {"scale", "S0"} & given.keys():
            return names
        is_inferred = D > MANY_COLUMNS or T <= FEW_ROWS or has_narrow_clusters(data)
        return [*names, "scale"] if is_inferred else names

    @classmethod
    def doubts(cls, data: NDArray[np.float64], parameters: Mapping[str, Any]) -> list[str]:
        """Warn of dependent columns, too many for so few rows, values that decide the scale, and one too wide."""
        doubts, scale = doubts_of_columns(data), parameters.get("scale", 1.0)
        far = [] if parameters.get("scale") is None else doubts_of_far_values(data)
        if doubts or far or "S0" in parameters or scale is None or isinstance(scale, str):
            return [*far, *doubts]
        return doubts_of_width(data, scale)

    @leaf
    def stat_size(self):
        N = self.z.shape[1]
        return FACTOR + N * (N + 1) // 2 + N

    @leaf
    def clear(self, stat):
        N = self.z.shape[1]
        for k in range(len(stat)):
            stat[k] = 0.0
        for d in range(N):
            diagonal = d * (d + 3) // 2
            stat[FACTOR + diagonal] = 1.0 if d > 0 else 1.0 / math.sqrt(self.r0)
        stat[LOG_DET] = math.log(self.r0)
        set_count(stat, 0.0, self.nu0, self.tables)

    @leaf
    def add(self, stat, i):
        update(stat, self.z, i, 1.0, self.least)
        set_count(stat, stat[COUNT] + 1.0, self.nu0, self.tables)

    @leaf
    def remove(self, stat, i):
        update(stat, self.z, i, -1.0, self.least)
        set_count(stat, stat[COUNT] - 1.0, self.nu0, self.tables)

    @leaf
    def add_many(self, stat, members):
        for i in members:
            update(stat, self.z, i, 1.0, self.least)
        set_count(stat, stat[COUNT] + len(members), self.nu0, self.tables)

    @leaf
    def log_prior_predictive(self, i):
        return self.log_prior[i]

    @leaf
    def log_predictive(self, stat, i, negligible):
        q = squares(stat, self.z, i, largest_square(stat[LEVEL], stat[POWER], negligible))
        return stat[LEVEL] - stat[POWER] * math.log1p(q)

    @leaf
    def log_predictives(self, stats, slots, i, negligible, out):
        if self.z.shape[1] == 3:
            log_predictives_2d(self.z, stats, slots, i, negligible, out)
        else:
            for b in range(len(slots)):
                out[b] = self.log_predictive(stats[slots[b]], i, negligible[b])

    @leaf
    def log_predictive_without(self, stat, i):
        q = squares(stat, self.z, i, np.inf)
        log_left = math.log1p(max(-q, self.least - 1.0))
        before = self.tables[PREDICTIVE, int(stat[COUNT]) - 1]
        return before - 0.5 * stat[LOG_DET] + (stat[POWER] - 1.0) * log_left

    @leaf
    def log_marginal(self, stat):
        return self.tables[MARGINAL, int(stat[COUNT])] - (stat[POWER] - 0.5) * stat[LOG_DET]

    def log_predictive_new(self, stat, x):
        """Return the log density of a new observation x, (D,) in the units of the data."""
        N = self.z.shape[1]
        z = np.ones((1, N))
        log_scale = 0.0
        for d in range(N - 1):
            rest = x[d] - self.u0[d]
            for k in range(d):
                rest -= self.root[d, k] * z[0, k + 1]
            z[0, d + 1] = rest / self.root[d, d]
            log_scale += math.log(self.root[d, d])
        return stat[LEVEL] - stat[POWER] * math.log1p(squares(stat, z, 0, np.inf)) - log_scale

    def log_constant(self) -> float:
        return -len(self.z) * float(np.log(np.diag(self.root)).sum())

    def cluster_parameters(self, stat: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        """Summarise the posterior of a block's mean and covariance.

        Returns
        -------
        dict
            mean (D,): E[mu]; mean_sd (D,): its standard deviation; covariance (D, D): E[Sigma]. The last two are
            infinite if nu <= D + 1.
        """
        from scipy.linalg.lapack import dtrtri

        N = self.z.shape[1]
        F = np.zeros((N, N))
        F[np.tril_indices(N)] = stat[FACTOR : FACTOR + N * (N + 1) // 2]
        # in rows: (sqrt(r), 0) and (sqrt(r) u, Cholesky factor of S)
        factor, _ = dtrtri(F, lower=1)
        r = self.r0 + stat[COUNT]
        freedom = self.nu0 + stat[COUNT] - N
        scale = self.root @ factor[1:, 1:]
        covariance = scale @ scale.T / freedom if freedom > 0.0 else np.full((N - 1, N - 1), np.inf)
        return {
            "mean": self.u0 + self.root @ factor[1:, 0] / factor[0, 0],
            "mean_sd": np.sqrt(np.diag(covariance) / r),
            "covariance": covariance,
        }
