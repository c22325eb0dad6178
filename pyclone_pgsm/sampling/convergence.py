"""The convergence rule by which chains stop, as a function of their draws.

The rule applies to quantities that do not depend on how blocks are numbered: the log joint density, the number of
clusters, the entropy of their sizes, the share of the largest, the hyperparameters, and further quantities that a model
gives to watch (for a tumour, the prevalences of a hundred mutations). For each quantity

* the rank-normalised split R-hat must be at most 1.01, and
* the bulk and the tail effective sample size at least 400 (Vehtari et al. 2021, see
  :mod:`pyclone_pgsm.sampling.diagnostics`).

The chains must also agree on the partition itself. For a thousand random pairs of observations, each chain gives a
probability that the two share a block. Its standard deviation between chains must be at most 0.01 in the mean over the
pairs, except those that are always together, or never, in all chains. (For splits of a phylogeny: Lakner et al. 2008,
Syst. Biol. 57, 86.)

Parameters of priors, such as the concentration, are reported but not checked: they matter only through the partition
and the parameters of its blocks, which are checked. Neither is a hyperparameter in a range where it no longer makes a
difference (:attr:`Rule.beyond`).

The rule is checked at predefined numbers of iterations (:func:`checks`). The burn-in is the shortest of a few lengths,
at most half of the iterations, with which the rule is fulfilled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.sampling.chain import Records
from pyclone_pgsm.sampling.diagnostics import FEWEST_DRAWS, diagnostics_of
from pyclone_pgsm.sampling.settings import first_check

RHAT_LIMIT = 1.01
ESS_LIMIT = 400.0
COCLUSTERING_LIMIT = 0.01
PAIRS = 1000
MOST_DRAWS = 4000
"""Largest number of draws, of all chains together, used for R-hat and effective sample sizes; more are thinned."""
BURN_IN_SHARES = (0.1, 0.25, 0.5)
WATCHED = "watched"
"""Name under which the worst of the watched quantities is reported."""
SUMMARIES = "entropy", "largest_share"
"""Names of what :func:`summaries_of` returns."""


@dataclass(frozen=True)
class Rule:
    """Which quantities are checked: all but those that are only ``reported``, and those beyond a limit.

    ``beyond`` has the value above which the quantity of this name makes no difference: it is not checked if 97.5 % of
    its draws are larger. A name stands for those of all samples, ``NAME:SAMPLE``, too.
    """

    reported: frozenset[str] = frozenset()
    beyond: Mapping[str, float] = field(default_factory=dict)

    def checks(self, name: str, values: NDArray[np.float64]) -> bool:
        """Whether the quantity of this name, with these draws, is checked."""
        name = name.partition(":")[0]
        if name in self.reported:
            return False
        return not np.quantile(values, 0.025, method="inverted_cdf") > self.beyond.get(name, np.inf)


@dataclass(frozen=True)
class QuantityCheck:
    """Convergence of one quantity, checked or (without ``is_required``) only reported; NaN with too few draws."""

    name: str
    rhat: float
    bulk_ess: float
    tail_ess: float
    is_required: bool

    @property
    def holds(self) -> bool:
        """Whether the quantity fulfils the rule."""
        return self.rhat <= RHAT_LIMIT and min(self.bulk_ess, self.tail_ess) >= ESS_LIMIT


@dataclass(frozen=True)
class Verdict:
    """Result of checking the rule, for a number of iterations and a burn-in per chain.

    ``quantities`` has an entry for every quantity, except that the worst represents all watched ones.
    ``coclustering_sd`` is the mean standard deviation, between chains, of a pair's probability of sharing a block; NaN
    for a single chain.
    """

    iterations: int
    burn_in: int
    quantities: tuple[QuantityCheck, ...]
    coclustering_sd: float

    @property
    def checked(self) -> list[QuantityCheck]:
        """Quantities that are checked and have enough draws."""
        return [
            quantity for quantity in self.quantities if quantity.is_required and not math.isnan(quantity.rhat)
        ]

    @property
    def failures(self) -> list[QuantityCheck]:
        """Quantities that are checked and do not fulfil the rule."""
        return [quantity for quantity in self.quantities if quantity.is_required and not quantity.holds]

    @property
    def converged(self) -> bool:
        """Whether the rule is fulfilled; False without quantities to check, as when a chain has no draws."""
        agree = not self.coclustering_sd > COCLUSTERING_LIMIT  # NaN for a single chain
        return any(quantity.is_required for quantity in self.quantities) and not self.failures and agree


class ChainDraws(NamedTuple):
    """Saved iterations of a chain, n rows: (n,) numbers of the iterations, (n,) quantities by name, (n, W) watched
    ones, and (n, P) whether the two observations of each pair share a block.
    """

    iteration: NDArray[np.int64]
    series: dict[str, NDArray[np.float64]]
    watched: NDArray[np.float32]
    together: NDArray[np.bool_]

    def at(self, rows: NDArray[np.int64] | slice) -> ChainDraws:
        """Select rows."""
        return ChainDraws(
            self.iteration[rows],
            {name: values[rows] for name, values in self.series.items()},
            self.watched[rows],
            self.together[rows],
        )


def checks(num_observations: int) -> Iterator[int]:
    """Yield the numbers of iterations at which the rule is checked: 250, 312, 375, 437, 500, 625, 750, 875, 1000, ..

    For many observations, whose iterations take long: 100, 125, 150, 175, 200, 250, 300, 350, 400, ..
    """
    first = first_check(num_observations)
    while True:
        yield from (first * quarters // 4 for quarters in range(4, 8))
        first *= 2


def next_check(iterations: int, num_observations: int) -> int:
    """Return the first number of :func:`checks` that is at least `iterations`."""
    return next(check for check in checks(num_observations) if check >= iterations)


def pairs_of(num_observations: int) -> NDArray[np.int64]:
    """Return (P, 2) pairs of different observations: at most a thousand, random but the same in every run."""
    T = num_observations
    if T * (T - 1) // 2 <= PAIRS:
        return np.column_stack(np.triu_indices(T, 1)).astype(np.int64)
    rng = np.random.default_rng(T)
    first, second = rng.integers(T, size=PAIRS), rng.integers(T - 1, size=PAIRS)
    return np.column_stack([first, second + (second >= first)])


def summaries_of(labels: NDArray[np.integer]) -> tuple[float, float]:
    """Return the entropy of the block sizes, and the share of the largest block, of one partition (T,)."""
    sizes = np.bincount(labels)
    shares = sizes[sizes > 0] / len(labels)
    return float(-(shares * np.log(shares)).sum()), float(shares.max())


class Monitor:
    """The draws so far, as far as the rule needs them.

    `names` are those of the hyperparameters: of the partition prior, then of the likelihood. Each chain must be given
    rows, which may be none, before :meth:`draws` is called. ``end`` is where the chains stopped, once they have.
    """

    def __init__(self, num_observations: int, chains: int, names: Sequence[str], rule: Rule) -> None:
        self.names = names
        self.rule = rule
        self.end: End | None = None
        self._pairs = pairs_of(num_observations)
        self._parts: list[list[ChainDraws]] = [[] for _ in range(chains)]

    def add(self, chain: int, records: Records) -> None:
        """Add a segment of a chain."""
        if records.iteration:
            values = [(*prior, *others) for prior, others in zip(records.prior_values, records.values)]
            series: dict[str, ArrayLike] = {
                "log_joint": records.log_joint,
                "num_clusters": records.num_clusters,
            }
            series |= dict(zip(self.names, zip(*values)))
            watched = np.array(records.watched, np.float32).reshape(len(values), -1)
            self.add_rows(chain, np.array(records.iteration), series, np.array(records.labels), watched)

    def add_rows(
        self,
        chain: int,
        iteration: NDArray[np.int64],
        series: Mapping[str, ArrayLike],
        labels: NDArray[np.integer],
        watched: NDArray[np.float32],
    ) -> None:
        """Add n saved iterations, with labels (n, T) and watched quantities (n, W)."""
        of_labels = np.array([summaries_of(row) for row in labels]).reshape(-1, len(SUMMARIES)).T
        found = {**series, **dict(zip(SUMMARIES, of_labels))}
        names = ("log_joint", "num_clusters", *SUMMARIES, *self.names)
        together = labels[:, self._pairs[:, 0]] == labels[:, self._pairs[:, 1]]
        ordered = {name: np.array(found[name], float) for name in names}
        self._parts[chain].append(ChainDraws(iteration, ordered, watched, together))

    def draws(self) -> list[ChainDraws]:
        """Return the draws of each chain."""
        for parts in self._parts:
            iteration, series, watched, together = zip(*parts)
            joined = {name: np.concatenate([each[name] for each in series]) for name in series[0]}
            parts[:] = [
                ChainDraws(
                    np.concatenate(iteration), joined, np.concatenate(watched), np.concatenate(together)
                )
            ]
        return [parts[0] for parts in self._parts]


class End(NamedTuple):
    """Where chains stop: iterations and burn-in per chain, and whether the rule is fulfilled.

    If it is not, the burn-in is half of the iterations, or longer if chains adapt longer.
    """

    iterations: int
    burn_in: int
    converged: bool


def find_end(chains: Sequence[ChainDraws], rule: Rule, last: int, first_burn_in: int) -> End:
    """Check the rule after iteration `last`, and find the shortest of a few burn-ins with which it is fulfilled.

    No burn-in is shorter than `first_burn_in`, during which the chains adapt, unless they stopped before its end.
    """
    half = last // 2
    least = first_burn_in if first_burn_in < last else half
    for burn_in in sorted({max(least, int(share * last)) for share in BURN_IN_SHARES}):
        if _holds(_kept(chains, burn_in, last), rule):
            return End(last, burn_in, True)
    return End(last, max(half, least), False)


def judge(chains: Sequence[ChainDraws], rule: Rule, last: int, burn_in: int) -> Verdict:
    """Check the rule for the iterations after the burn-in, up to `last`."""
    kept = _kept(chains, burn_in, last)
    quantities = list(_checks_of(_thinned(kept), rule))
    first_watched = len(quantities) - kept[0].watched.shape[1]
    watched = quantities[first_watched:]
    if watched:
        worst = QuantityCheck(
            WATCHED,
            max(quantity.rhat for quantity in watched),
            min(quantity.bulk_ess for quantity in watched),
            min(quantity.tail_ess for quantity in watched),
            True,
        )
        quantities[first_watched:] = [worst]
    return Verdict(last, burn_in, tuple(quantities), coclustering_sd(kept))


def _kept(chains: Sequence[ChainDraws], burn_in: int, last: int) -> list[ChainDraws]:
    """Return equally many rows of each chain: the latest between the burn-in and `last`."""
    bounds = [np.searchsorted(chain.iteration, [burn_in, last], side="right") for chain in chains]
    length = min(int(end - first) for first, end in bounds)
    return [chain.at(slice(int(end) - length, int(end))) for chain, (_, end) in zip(chains, bounds)]


def _thinned(kept: Sequence[ChainDraws]) -> list[ChainDraws]:
    """Thin the chains to :data:`MOST_DRAWS` draws in total: the last row of each and equally spaced earlier ones."""
    length = len(kept[0].iteration)
    step = max(1, -(-length // max(FEWEST_DRAWS, MOST_DRAWS // len(kept))))
    return [chain.at(slice((length - 1) % step, None, step)) for chain in kept]


def _checks_of(kept: Sequence[ChainDraws], rule: Rule) -> Iterator[QuantityCheck]:
    """Yield the check of each quantity, the watched ones last."""
    for name in kept[0].series:
        values = np.array([chain.series[name] for chain in kept])
        if not np.isnan(values).all():  # no draws, or a prior without a concentration
            yield QuantityCheck(name, *diagnostics_of(values), rule.checks(name, values))
    for column in range(kept[0].watched.shape[1]):
        values = np.array([chain.watched[:, column] for chain in kept], float)
        yield QuantityCheck(WATCHED, *diagnostics_of(values), is_required=True)


def _holds(kept: Sequence[ChainDraws], rule: Rule) -> bool:
    """Whether the rule is fulfilled; evaluation stops at the first quantity that does not fulfil it."""
    return (
        len(kept[0].iteration) >= FEWEST_DRAWS
        and not coclustering_sd(kept) > COCLUSTERING_LIMIT
        and all(quantity.holds or not quantity.is_required for quantity in _checks_of(_thinned(kept), rule))
    )


def coclustering_sd(kept: Sequence[ChainDraws]) -> float:
    """Return the mean, over pairs, of the standard deviation between chains of the probability of sharing a block.

    Pairs that are together in all draws of all chains, or in none, are left out; if no pair is left, the result is 0.
    It is NaN for a single chain, or without draws.
    """
    if len(kept) < 2 or len(kept[0].iteration) == 0:
        return float("nan")
    shares = np.array([chain.together.mean(axis=0) for chain in kept])
    varies = ~np.all(shares == 0.0, axis=0) & ~np.all(shares == 1.0, axis=0)
    return float(shares[:, varies].std(axis=0, ddof=1).mean()) if varies.any() else 0.0
