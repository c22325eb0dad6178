"""Partition priors as tables of log tau1(j) and log tau2(n), and the resampling of their hyperparameters.

    tau(c) ∝ tau1(|c|) prod_{b in c} tau2(|b|)                                     (paper, Equation 3)

A prior reaches compiled code as these two tables and nothing else. Every prior but a user's own also knows what makes
it sum to 1. The conditional distribution of its hyperparameters given a partition is the partition's exact probability
times their prior, and drawn from by an auxiliary variable (Dirichlet process) or by slice sampling (the others).

The paper gives tau1 and tau2 up to factors that are constant per block, which are not constant per partition; the
forms here are the complete ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.errors import UsageError

SMALLEST, LARGEST = 1e-300, 1e300  # a resampled concentration stays between them
MOST_COMPONENTS = 10**9


class Prior(Protocol):
    """A distribution over partitions, immutable; hyperparameters change by making another one.

    Attributes
    ----------
    name : str
        As on the command line and in a trace.
    hyperparameters : tuple of str
        Names of :meth:`values`, "concentration" first where there is one, whether they are resampled or fixed.
    """

    name: ClassVar[str]
    hyperparameters: ClassVar[tuple[str, ...]]

    def values(self) -> tuple[float, ...]:
        """The hyperparameters."""
        ...

    def with_values(self, values: Sequence[float]) -> Prior:
        """The same prior at other hyperparameters."""
        ...

    def max_blocks(self, num_observations: int) -> int:
        """The largest number of blocks that has a positive probability, at most T."""
        ...

    def log_tau1(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau1(j), j = 0..T, -inf above :meth:`max_blocks`; entry 0 is never used."""
        ...

    def log_tau2(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau2(n), n = 0..T, finite; entry 0 is never used."""
        ...

    def resample(self, sizes: NDArray[np.integer], rng: np.random.Generator) -> Prior:
        """Draw the hyperparameters given a partition with these (K,) block sizes; self where all are fixed."""
        ...

    def log_normaliser(self, num_observations: int) -> float:
        """What makes the probabilities of all partitions sum to 1, plus the log density of what is resampled."""
        ...

    def to_dict(self, num_observations: int | None = None) -> dict[str, Any]:
        """The prior in JSON's types, for :func:`prior_from_dict`; a user's own one needs T for that."""
        ...


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


def _check_positive(concentration: Any) -> None:
    if not (_is_number(concentration) and concentration > 0):
        raise UsageError(f"the concentration must be positive, not {concentration}")


def _check_gamma(shape: Any, rate: Any) -> None:
    if (shape is None) != (rate is None):
        raise UsageError("the concentration's Gamma prior needs both a shape and a rate")
    if shape is not None and not (_is_number(shape) and shape > 0 and _is_number(rate) and rate > 0):
        raise UsageError(
            f"shape and rate of the concentration's Gamma prior must be positive, not {shape}, {rate}"
        )


def _log_gamma_density(x: float, shape: float, rate: float) -> float:
    return (shape - 1.0) * math.log(x) - rate * x + shape * math.log(rate) - math.lgamma(shape)


def _log_product(x: float, n: Any) -> Any:
    """log prod_{m=1}^{n-1} (x + m) = log Γ(x + n) / Γ(x + 1) for x > -1, n >= 1, accurate for large x."""
    from scipy.special import betaln, gammaln

    return gammaln(n) - betaln(x + 1.0, n) - np.log(x + n)


def _cumulative_logs(terms: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """0, log t_1, log t_1 t_2, ..."""
    return np.concatenate([[0.0], np.cumsum(np.log(terms))])


@lru_cache(maxsize=2)
def _log_gammas(num_observations: int) -> NDArray[np.float64]:
    """0, log Γ(1), .., log Γ(T): the same in every iteration of a chain."""
    from scipy.special import gammaln

    return gammaln(np.maximum(np.arange(num_observations + 1), 1))


def slice_sample(
    log_density: Callable[[float], float],
    x: float,
    rng: np.random.Generator,
    lower: float = -math.inf,
    upper: float = math.inf,
    width: float = 1.0,
) -> float:
    """One step of a Markov chain that leaves a density on (lower, upper) as it is (Neal 2003, Figures 3 and 5).

    A level is drawn below the density at `x`; an interval of `width` is put around `x` at random and stepped out until
    both its ends are below the level; points are drawn from it until one is not, and every one that is shrinks it.

    Parameters
    ----------
    log_density : callable
        Up to a constant; asked within the bounds only. May be -inf, never NaN.
    x : float
        The current point, within the bounds.
    rng : numpy.random.Generator
    lower, upper : float
        The density is 0 at and beyond them.
    width : float
        Of the first interval; any is right, one near the density's own width is fast.

    Returns
    -------
    float
        The next point.
    """
    level = log_density(x) - rng.exponential()
    left = x - width * rng.random()
    right = left + width
    while left > lower and log_density(left) >= level:
        left -= width
    while right < upper and log_density(right) >= level:
        right += width
    left, right = max(left, lower), min(right, upper)
    while True:
        point = rng.uniform(left, right)
        if lower < point < upper and log_density(point) >= level:
            return float(point)
        if point < x:
            left = point
        else:
            right = point


def _resample_concentration(
    concentration: float,
    shape: float,
    rate: float,
    log_probability: Callable[[float], float],
    rng: np.random.Generator,
) -> float:
    """Slice sampling of p(x) ∝ Gamma(x; shape, rate) p(partition | x), on the scale of log x."""

    def log_density(log_x: float) -> float:
        x = math.exp(log_x)
        return shape * log_x - rate * x + log_probability(x)

    log_x = math.log(min(max(concentration, 2 * SMALLEST), LARGEST / 2))
    return math.exp(slice_sample(log_density, log_x, rng, math.log(SMALLEST), math.log(LARGEST)))


@dataclass(frozen=True)
class DirichletProcess:
    """Dirichlet process: log tau1(j) = j log alpha, log tau2(n) = log Gamma(n).

    Parameters
    ----------
    concentration : float
        alpha > 0, the value at the start of a chain.
    shape, rate : float or None
        Gamma prior of alpha; None keeps alpha fixed.

    Raises
    ------
    UsageError
        A value outside its range.
    """

    concentration: float = 1.0
    shape: float | None = 1.0
    rate: float | None = 0.1

    name: ClassVar[str] = "dp"
    hyperparameters: ClassVar[tuple[str, ...]] = ("concentration",)

    def __post_init__(self) -> None:
        _check_positive(self.concentration)
        _check_gamma(self.shape, self.rate)

    def values(self) -> tuple[float, ...]:
        """alpha."""
        return (self.concentration,)

    def with_values(self, values: Sequence[float]) -> DirichletProcess:
        """The same prior at another alpha."""
        (concentration,) = values
        return replace(self, concentration=concentration)

    def max_blocks(self, num_observations: int) -> int:
        """T."""
        return num_observations

    def log_tau1(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau1(j), j = 0..T."""
        return np.arange(num_observations + 1) * np.log(self.concentration)

    def log_tau2(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau2(n), n = 0..T; entry 0 is never used."""
        return _log_gammas(num_observations).copy()

    def resample(self, sizes: NDArray[np.integer], rng: np.random.Generator) -> DirichletProcess:
        """Draw alpha given the number of blocks (Escobar & West 1995, Section 6).

        With eta ~ Beta(alpha + 1, T), alpha is a mixture of Gamma(shape + K) and Gamma(shape + K - 1), both with
        rate - log eta.
        """
        if self.shape is None or self.rate is None:
            return self
        num_observations, num_blocks = int(sizes.sum()), len(sizes)
        eta = rng.beta(self.concentration + 1.0, num_observations)
        rate = self.rate - np.log(eta)
        odds = (self.shape + num_blocks - 1.0) / (num_observations * rate)
        shape = self.shape + num_blocks - (0.0 if rng.random() < odds / (1.0 + odds) else 1.0)
        return replace(self, concentration=max(float(rng.gamma(shape) / rate), SMALLEST))

    def log_normaliser(self, num_observations: int) -> float:
        """What makes the prior over partitions sum to 1, plus the log density of alpha if it is resampled."""
        log_p = -math.log(self.concentration) - float(_log_product(self.concentration, num_observations))
        if self.shape is not None and self.rate is not None:
            log_p += _log_gamma_density(self.concentration, self.shape, self.rate)
        return log_p

    def to_dict(self, num_observations: int | None = None) -> dict[str, Any]:
        """For :func:`prior_from_dict`."""
        return {"name": self.name, **asdict(self)}


@dataclass(frozen=True)
class PitmanYor:
    """Pitman-Yor process: log tau1(j) = sum_{m=1}^{j-1} log(alpha + d m), log tau2(n) = log Γ(n - d) / Γ(1 - d).

    tau1 leaves out the factor alpha that every partition has (it is 0 or negative where alpha is), so that any alpha
    above -d will do. d = 0 is the Dirichlet process.

    Parameters
    ----------
    concentration : float
        alpha > -d; positive if it is resampled.
    discount : float
        d, 0 <= d < 1.
    shape, rate : float or None
        Gamma prior of alpha; None keeps alpha fixed.
    infer_discount : bool
        Resample d, whose prior is uniform on (0, 1), or on (-alpha, 1) if alpha is fixed at a negative value.

    Raises
    ------
    UsageError
        A value outside its range.
    """

    concentration: float = 1.0
    discount: float = 0.5
    shape: float | None = 1.0
    rate: float | None = 0.1
    infer_discount: bool = True

    name: ClassVar[str] = "pitman-yor"
    hyperparameters: ClassVar[tuple[str, ...]] = ("concentration", "discount")

    def __post_init__(self) -> None:
        if not (_is_number(self.discount) and 0 <= self.discount < 1):
            raise UsageError(f"the discount must be at least 0 and less than 1, not {self.discount}")
        _check_gamma(self.shape, self.rate)
        if self.shape is not None:
            _check_positive(self.concentration)
        elif not (_is_number(self.concentration) and self.concentration > -self.discount):
            raise UsageError(
                f"the concentration must be more than minus the discount, {-self.discount:g}, "
                f"not {self.concentration}"
            )

    def values(self) -> tuple[float, ...]:
        """alpha, d."""
        return (self.concentration, self.discount)

    def with_values(self, values: Sequence[float]) -> PitmanYor:
        """The same prior at another alpha and d."""
        concentration, discount = values
        return replace(self, concentration=concentration, discount=discount)

    def max_blocks(self, num_observations: int) -> int:
        """T."""
        return num_observations

    def log_tau1(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau1(j), j = 0..T; entry 0 is never used."""
        m = np.arange(1, num_observations)
        return np.concatenate([[0.0], _cumulative_logs(self.concentration + self.discount * m)])

    def log_tau2(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau2(n), n = 0..T; entry 0 is never used."""
        return np.concatenate([[0.0], _cumulative_logs(np.arange(1, num_observations) - self.discount)])

    @property
    def _least_discount(self) -> float:
        return max(0.0, -self.concentration)

    def resample(self, sizes: NDArray[np.integer], rng: np.random.Generator) -> PitmanYor:
        """Draw alpha given d, then d given alpha, each by a step of slice sampling."""
        from scipy.special import gammaln

        num_observations = int(sizes.sum())
        m = np.arange(1, len(sizes))
        size, count = np.unique(sizes, return_counts=True)

        def log_new_blocks(concentration: float, discount: float) -> float:
            return float(np.log(concentration + discount * m).sum())

        prior = self
        if self.shape is not None and self.rate is not None:
            d = self.discount
            concentration = _resample_concentration(
                self.concentration,
                self.shape,
                self.rate,
                lambda x: log_new_blocks(x, d) - float(_log_product(x, num_observations)),
                rng,
            )
            prior = replace(prior, concentration=concentration)
        if self.infer_discount:
            alpha, least = prior.concentration, prior._least_discount
            discount = slice_sample(
                lambda d: log_new_blocks(alpha, d) + float(count @ (gammaln(size - d) - gammaln(1.0 - d))),
                prior.discount,
                rng,
                least,
                1.0,
            )
            prior = replace(prior, discount=discount)
        return prior

    def log_normaliser(self, num_observations: int) -> float:
        """What makes the prior over partitions sum to 1, plus the log densities of alpha and d if resampled."""
        log_p = -float(_log_product(self.concentration, num_observations))
        if self.shape is not None and self.rate is not None:
            log_p += _log_gamma_density(self.concentration, self.shape, self.rate)
        if self.infer_discount:
            log_p -= math.log1p(-self._least_discount)
        return log_p

    def to_dict(self, num_observations: int | None = None) -> dict[str, Any]:
        """For :func:`prior_from_dict`."""
        return {"name": self.name, **asdict(self)}


@dataclass(frozen=True)
class FiniteDirichlet:
    """Finite mixture: k0 components, their weights symmetric Dirichlet(a, .., a), empty components left out.

    log tau1(j) = log k0! / (k0 - j)!, -inf for j > k0 (as many ways has a partition of j blocks to be labelled), and
    log tau2(n) = log Γ(n + a) / Γ(a).

    Parameters
    ----------
    max_components : int
        k0, the largest number of clusters.
    concentration : float
        a > 0, of each component.
    shape, rate : float or None
        Gamma prior of the *total* concentration k0 a, so that for large k0 this is the Dirichlet process with the same
        Gamma prior. None keeps a fixed.

    Raises
    ------
    UsageError
        A value outside its range.
    """

    max_components: int
    concentration: float = 1.0
    shape: float | None = 1.0
    rate: float | None = 0.1

    name: ClassVar[str] = "finite"
    hyperparameters: ClassVar[tuple[str, ...]] = ("concentration",)

    def __post_init__(self) -> None:
        k0 = self.max_components
        if not isinstance(k0, Integral) or isinstance(k0, bool) or k0 < 1:
            raise UsageError(f"the number of components must be a whole number from 1, not {k0}")
        _check_positive(self.concentration)
        _check_gamma(self.shape, self.rate)

    def values(self) -> tuple[float, ...]:
        """a."""
        return (self.concentration,)

    def with_values(self, values: Sequence[float]) -> FiniteDirichlet:
        """The same prior at another a."""
        (concentration,) = values
        return replace(self, concentration=concentration)

    def max_blocks(self, num_observations: int) -> int:
        """min(k0, T)."""
        return int(min(self.max_components, num_observations))

    def log_tau1(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau1(j), j = 0..T."""
        table = np.full(num_observations + 1, -np.inf)
        most = self.max_blocks(num_observations)
        table[: most + 1] = _cumulative_logs(float(self.max_components) - np.arange(most))
        return table

    def log_tau2(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau2(n), n = 0..T."""
        return _cumulative_logs(self.concentration + np.arange(num_observations))

    def resample(self, sizes: NDArray[np.integer], rng: np.random.Generator) -> FiniteDirichlet:
        """Draw a given the sizes of the blocks by a step of slice sampling."""
        if self.shape is None or self.rate is None:
            return self
        k0, num_observations, num_blocks = self.max_components, int(sizes.sum()), len(sizes)
        size, count = np.unique(sizes, return_counts=True)

        def log_probability(a: float) -> float:
            blocks = num_blocks * math.log(a) + count @ _log_product(a, size)
            return float(blocks - math.log(a * k0) - _log_product(a * k0, num_observations))

        concentration = _resample_concentration(
            self.concentration, self.shape, self.rate * k0, log_probability, rng
        )
        return replace(self, concentration=concentration)

    def log_normaliser(self, num_observations: int) -> float:
        """What makes the prior over partitions sum to 1, plus the log density of a if it is resampled."""
        total = self.max_components * self.concentration
        log_p = -math.log(total) - float(_log_product(total, num_observations))
        if self.shape is not None and self.rate is not None:
            log_p += _log_gamma_density(total, self.shape, self.rate) + math.log(self.max_components)
        return log_p

    def to_dict(self, num_observations: int | None = None) -> dict[str, Any]:
        """For :func:`prior_from_dict`."""
        return {"name": self.name, **asdict(self), "max_components": int(self.max_components)}


LogFunction = Callable[[NDArray[np.int64]], NDArray[np.float64]]


@dataclass(frozen=True)
class CustomPrior:
    """A user's own prior, given by its two functions.

    Parameters
    ----------
    log_tau1_at : callable
        From the numbers of blocks 1..T, a (T,) int64 array, to (T,) log tau1(j): finite up to some number of blocks,
        -inf for more.
    log_tau2_at : callable
        From the block sizes 1..T to (T,) log tau2(n), all finite.

    Notes
    -----
    There are no hyperparameters, and :meth:`log_normaliser` is 0: the log joint probability in a trace is known up to
    a constant.
    """

    log_tau1_at: LogFunction
    log_tau2_at: LogFunction

    name: ClassVar[str] = "custom"
    hyperparameters: ClassVar[tuple[str, ...]] = ()

    def values(self) -> tuple[float, ...]:
        """Nothing."""
        return ()

    def with_values(self, values: Sequence[float]) -> CustomPrior:
        """The same prior."""
        () = values
        return self

    def max_blocks(self, num_observations: int) -> int:
        """The last number of blocks whose log tau1 is finite."""
        return int(np.isfinite(self.log_tau1(num_observations)).sum()) - 1

    def log_tau1(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau1(j), j = 0..T; entry 0 is never used.

        Raises
        ------
        UsageError
            What the user's function gives is no such table.
        """
        table = self._table("log tau1", self.log_tau1_at, num_observations)
        finite = np.isfinite(table)
        most = int(finite.sum())
        if most == 1 or not finite[:most].all() or not (table[most:] == -np.inf).all():
            raise UsageError(
                "the prior's log tau1(j) must be finite for j = 1 up to some number of blocks, and -inf for more"
            )
        return table

    def log_tau2(self, num_observations: int) -> NDArray[np.float64]:
        """(T + 1,) log tau2(n), n = 0..T; entry 0 is never used.

        Raises
        ------
        UsageError
            What the user's function gives is no such table.
        """
        table = self._table("log tau2", self.log_tau2_at, num_observations)
        bad = np.flatnonzero(~np.isfinite(table))
        if len(bad):
            raise UsageError(
                f"the prior's log tau2(n) must be finite, but log tau2({bad[0]}) is {table[bad[0]]}"
            )
        return table

    @staticmethod
    def _table(what: str, function: LogFunction, num_observations: int) -> NDArray[np.float64]:
        given = np.asarray(function(np.arange(1, num_observations + 1)), float)
        if given.shape != (num_observations,):
            raise UsageError(
                f"the prior's {what} must give one number for each of 1..{num_observations}, "
                f"not an array of shape {given.shape}"
            )
        return np.concatenate([[0.0], given])

    def resample(self, sizes: NDArray[np.integer], rng: np.random.Generator) -> CustomPrior:
        """The same prior: there is nothing to draw."""
        return self

    def log_normaliser(self, num_observations: int) -> float:
        """0: not known."""
        return 0.0

    def to_dict(self, num_observations: int | None = None) -> dict[str, Any]:
        """The tables for T observations, for :func:`prior_from_dict`: functions cannot be stored.

        Raises
        ------
        UsageError
            The number of observations is not given.
        """
        if num_observations is None:
            raise UsageError("a custom prior can be stored for a known number of observations only")
        most = self.max_blocks(num_observations)
        return {
            "name": self.name,
            "log_tau1": self.log_tau1(num_observations)[1 : most + 1].tolist(),
            "log_tau2": self.log_tau2(num_observations)[1:].tolist(),
        }


@dataclass(frozen=True)
class _Lookup:
    """A stored function of 1..T: values for 1, 2, .. and one for all that are larger than the last of these."""

    stored: tuple[float, ...]
    beyond: float

    def __call__(self, n: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.array([*self.stored, self.beyond])[np.minimum(n - 1, len(self.stored))]


def prior_from_dict(stored: dict[str, Any]) -> Prior:
    """The prior that :meth:`Prior.to_dict` stored.

    A custom prior comes back for as many observations as it was stored for.

    Raises
    ------
    UsageError
        `stored` describes no prior.
    """
    kinds: dict[str, Callable[..., Prior]] = {
        "dp": DirichletProcess,
        "pitman-yor": PitmanYor,
        "finite": FiniteDirichlet,
        "custom": lambda log_tau1, log_tau2: CustomPrior(
            _Lookup(tuple(log_tau1), -math.inf), _Lookup(tuple(log_tau2), math.nan)
        ),
    }
    fields = dict(stored)
    name = str(fields.pop("name", None))
    if name not in kinds:
        raise UsageError(f"{name!r} is no partition prior")
    try:
        return kinds[name](**fields)
    except TypeError:
        raise UsageError(f"not a partition prior of the kind {name!r}: {fields}") from None


PRIORS = ("dp", "pitman-yor", "finite")
LEAST_GAMMA, MOST_GAMMA = 1e-9, 1e9


def make_prior(
    name: str = "dp",
    concentration: float | None = None,
    concentration_prior: str | tuple[float, float] | None = "1,0.1",
    discount: float | None = None,
    max_clusters: int | None = None,
) -> Prior:
    """The prior that the command line's options describe. The errors name the options.

    Parameters
    ----------
    name : {"dp", "pitman-yor", "finite"}
    concentration : float or None
        Its value, or the one that a chain starts from if it is resampled; None: 1.
    concentration_prior : str, (float, float) or None
        Shape and rate of the Gamma prior, also as text "1,0.1"; "fixed" or None: the concentration is fixed.
    discount : float or None
        Pitman-Yor's discount, fixed at this value; None: it is resampled, from the middle of its range on.
    max_clusters : int or None
        Number of components of the finite prior.

    Raises
    ------
    UsageError
        A value is out of range, or an option does not go with the prior.
    """
    if name not in PRIORS:
        raise UsageError(f"--prior {name!r}: must be one of {', '.join(PRIORS)}")
    if discount is not None and name != "pitman-yor":
        raise UsageError(f"--discount {discount}: only --prior pitman-yor has a discount")
    if max_clusters is not None and name != "finite":
        raise UsageError(
            f"--max-clusters {max_clusters}: only --prior finite has a largest number of clusters"
        )
    if discount is not None and not (_is_number(discount) and 0 <= discount < 1):
        raise UsageError(f"--discount {discount}: must be at least 0 and less than 1")
    shape, rate = _parse_concentration_prior(concentration_prior)
    alpha = 1.0 if concentration is None else concentration
    lowest = 0.0
    if name == "pitman-yor" and shape is None:
        lowest = -1.0 if discount is None else -discount
    if not (_is_number(alpha) and alpha > lowest):
        wanted = "must be a positive number" if lowest == 0 else f"must be more than {lowest:g}"
        raise UsageError(f"--concentration {alpha}: {wanted}")
    if not (SMALLEST <= abs(alpha) <= LARGEST or (alpha == 0 and lowest < 0)):
        raise UsageError(
            f"--concentration {alpha}: must be between {SMALLEST:g} and {LARGEST:g}, beyond which its products are no "
            "longer numbers"
        )
    if shape is not None and rate is not None and not math.isfinite(_log_gamma_density(alpha, shape, rate)):
        raise UsageError(
            f"--concentration-prior {shape:g},{rate:g}: has no density at the --concentration {alpha}, where chains "
            "start"
        )
    if name == "dp":
        return DirichletProcess(alpha, shape, rate)
    if name == "pitman-yor":
        start = (1.0 + max(0.0, -alpha)) / 2 if discount is None else discount
        return PitmanYor(alpha, start, shape, rate, discount is None)
    if max_clusters is None:
        raise UsageError("--prior finite: needs --max-clusters, the largest number of clusters")
    if not isinstance(max_clusters, Integral) or max_clusters < 1:
        raise UsageError(f"--max-clusters {max_clusters}: must be a whole number from 1")
    if max_clusters > MOST_COMPONENTS:
        raise UsageError(
            f"--max-clusters {max_clusters}: must be at most {MOST_COMPONENTS}: so many are like --prior dp"
        )
    return FiniteDirichlet(int(max_clusters), alpha, shape, rate)


def _parse_concentration_prior(
    given: str | tuple[float, float] | None,
) -> tuple[float, float] | tuple[None, None]:
    if given is None or given == "fixed":
        return None, None
    try:
        shape, rate = map(float, given.split(",") if isinstance(given, str) else given)
    except (TypeError, ValueError):
        shape = rate = math.nan
    if not (0 < shape < math.inf and 0 < rate < math.inf):
        raise UsageError(
            f"--concentration-prior {given!r}: must be 'fixed' or the shape and rate of a Gamma prior, like 1,0.1"
        )
    if not (min(shape, rate) >= LEAST_GAMMA and max(shape, rate) <= MOST_GAMMA):
        raise UsageError(
            f"--concentration-prior {given!r}: both must be between {LEAST_GAMMA:g} and {MOST_GAMMA:g}: beyond, the "
            "prior fixes the concentration, for which there is 'fixed', or has all its mass at 0"
        )
    return shape, rate
