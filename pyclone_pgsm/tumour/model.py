"""The tumour model: PyClone's likelihood with what is unknown of precision, error rate and tumour contents.

The tables of the likelihood depend on these, so each takes one of a few values (a
:class:`~pyclone_pgsm.likelihoods.choice.Choice`), and a chain moves between them, one at a time:

* ``precision``, one for all reads; or ``precision:SAMPLE`` of each sample, each with the same prior;
* ``error_rate``, one for all reads whose error rate is not told;
* ``tumour_content:SAMPLE`` of each sample for which a distribution is given.

The base measure of the prevalences is uniform, or learned (:mod:`pyclone_pgsm.tumour.base_measure`); its weights are
hyperparameters, too: ``weight_absent:SAMPLE`` and ``weight_clonal:SAMPLE``, the last of all.

Where something is a sample's own, every sample has rows of the tables of its own, and only the rows of the sample whose
value changes are computed anew.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.choice import Choice, IndependenceProposal
from pyclone_pgsm.likelihoods.model import Model, Values
from pyclone_pgsm.likelihoods.pyclone import (
    BaseMeasure,
    PyClone,
    change_base,
    component_probabilities,
    make_pyclone,
    mix_base,
    posterior_lattice,
    with_base,
)
from pyclone_pgsm.partition import Partition
from pyclone_pgsm.tumour.base_measure import (
    all_weights,
    component_masses,
    draw_weights,
    initial_weights,
    log_prior_density,
    weight_names,
)
from pyclone_pgsm.tumour.estimate import POINTS, REACH, Xi, change_of_log_likelihood
from pyclone_pgsm.tumour.grid import (
    LocusTable,
    XiGrid,
    likelihood_at,
    likelihood_grid,
    prevalence_grid,
    split_by_sample,
)

PREVALENCE_PRIORS = ("learned", "uniform")
PER_SAMPLE = "infer-per-sample"
"""The precision that stands for one inferred precision a sample."""


REAL_PRECISIONS = 50.0, 9000.0
"""Precisions of real tumours' reads lie between these; below the first, no answer was right."""
_FINITE = tuple(10.0 ** (exponent / 16.0) for exponent in range(24, 81))
_MIDDLE = math.log(REAL_PRECISIONS[0] * REAL_PRECISIONS[1]) / 2.0
_SPREAD = math.log(REAL_PRECISIONS[1] / REAL_PRECISIONS[0]) / (2.0 * 1.96)
_WEIGHTS = tuple(math.exp(-0.5 * ((math.log(precision) - _MIDDLE) / _SPREAD) ** 2) for precision in _FINITE)
PRECISION = Choice((*_FINITE, math.inf), (*_WEIGHTS, sum(_WEIGHTS)), 1000.0, (1, 1, 2, 4), 0.5)
"""31.6 to 100,000 in steps of 15 %, about the posterior standard deviation given a few hundred mutations, and infinite.
Half of the prior is on the binomial, the limit. The other half is log-normal, with 95 % between `REAL_PRECISIONS`."""
_PREFERRED = (
    1.0, 1.12, 1.25, 1.4, 1.6, 1.8, 2.0, 2.24, 2.5, 2.8, 3.15, 3.55, 4.0, 4.5, 5.0, 5.6, 6.3, 7.1, 8.0, 9.0
)  # fmt: skip
_RATES = (*(round(number * unit, 8) for unit in (1e-4, 1e-3) for number in _PREFERRED), 1e-2)
ERROR_RATE, FINE_ERROR_RATE = (
    Choice(rates, (1.0,) * len(rates), 1e-3, (1, 1, 2, 4), 0.5) for rates in (_RATES[::2], _RATES)
)
"""0.0001 to 0.01 by preferred numbers (ISO 3), in steps of 26 % (R10) and of 12 % (R20)."""
MANY_MUTATIONS = 1000
"""More of these have the finer error rates."""
CONTENT_JUMPS = (1, 1, 1, 2, 4)
PROPOSALS = 2
"""An iteration makes so many for each hyperparameter, one where tables are large."""
LARGE_FROM = 1_000_000
"""Numbers in a large table."""
ESTIMATED_FROM = 100_000
"""Numbers in a table that is not small: it is estimated what a proposal changes."""
KEPT_BASES = 16  # base measures: a chain asks several times for the one that it has drawn
KEPT_BYTES = 400 << 20  # tables not in use that are kept


def error_rate_choice(num_mutations: int) -> Choice:
    """The values of an error rate that is not told.

    Many mutations tell apart rates that differ by a tenth: on a coarse grid chains stay where they are. For fewer the
    grid is coarse, because each rate costs tables.
    """
    return FINE_ERROR_RATE if num_mutations > MANY_MUTATIONS else ERROR_RATE


def content_choice(content: Uncertain) -> Choice:
    """The values of a tumour content of which a distribution is known; it starts at the mean."""
    return Choice(*content.grid(), content.mean, CONTENT_JUMPS)


Key = TypeVar("Key")
Tables = TypeVar("Tables", bound=XiGrid | PyClone)


class _Latest(Generic[Key, Tables]):
    """Tables that are computed when first asked for; the latest are kept, as many as memory allows, but `least`.

    Several threads may ask: for different tables they compute at the same time, for the same the others wait for one.
    """

    def __init__(self, make: Callable[[Key], Tables], least: int) -> None:
        self._make = make
        self._least = least
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, Future[Tables]] = OrderedDict()

    def __call__(self, key: Key) -> Tables:
        with self._lock:
            is_new = key not in self._kept
            if is_new:
                self._kept[key] = Future()
            tables = self._kept[key]
            self._kept.move_to_end(key)
        if is_new:
            try:
                tables.set_result(self._make(key))
            except BaseException as problem:
                tables.set_exception(problem)
                with self._lock:
                    self._kept.pop(key, None)
                raise
            most = max(self._least, KEPT_BYTES // max(1, 2 * tables.result().xi.nbytes))
            with self._lock:
                while len(self._kept) > most:
                    self._kept.popitem(last=False)
        return tables.result()

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()


WATCHED = 100


def watched_cells(num_mutations: int, num_samples: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A hundred mutations (all, if there are fewer), each in a sample: drawn at random, the same in every run."""
    rng = np.random.default_rng(num_mutations)
    mutations = np.sort(rng.choice(num_mutations, min(WATCHED, num_mutations), replace=False))
    return mutations, rng.integers(num_samples, size=len(mutations))


@dataclass(frozen=True)
class _Setting:
    """What the tables of a part of the observations are computed with; None: as the observations say."""

    precision: float
    error_rate: float | None
    tumour_content: float | None


class PyCloneModel(Model):
    """PyClone's likelihood; precision, error rate and tumour contents are fixed, or inferred.

    Attributes
    ----------
    index : (T, D) int32
        Row of each mutation in each sample in the tables of the likelihood; -1 for none.

    Parameters
    ----------
    table : LocusTable
        The distinct observations. Error rates that are NaN are inferred, one for all
        (:func:`error_rate_choice`).
    grid_size : int
        G.
    genotype_prior : str
        See :func:`pyclone_pgsm.tumour.grid.likelihood_grid`.
    precision : float, None or "infer-per-sample"
        Fixed precision, infinite for the binomial; None infers it (:data:`PRECISION`), ``infer-per-sample`` one of each
        sample.
    sample_ids : sequence of str
        Length D; needed only if something is a sample's own.
    tumour_contents : mapping of str to Uncertain
        Samples whose tumour content is inferred; for them that of the observations is not looked at.
    prevalence_prior : {"uniform", "learned"}
        The base measure of the prevalences.
    """

    def __init__(
        self,
        table: LocusTable,
        grid_size: int,
        genotype_prior: str,
        precision: float | str | None,
        sample_ids: Sequence[str] = (),
        tumour_contents: Mapping[str, Uncertain] | None = None,
        prevalence_prior: str = "uniform",
    ) -> None:
        self.grid_size = grid_size
        self.genotype_prior = genotype_prior
        contents = tumour_contents or {}
        is_split = precision == PER_SAMPLE or bool(contents)
        self._samples = list(sample_ids) if is_split else [""]
        self._parts = split_by_sample(table) if is_split else [table]
        self._first_rows = np.cumsum([0, *(part.num_rows for part in self._parts)])
        columns = [
            np.where(part.index < 0, -1, part.index + first)
            for part, first in zip(self._parts, self._first_rows)
        ]
        self.index = np.concatenate(columns, axis=1).astype(np.int32)
        choices: dict[str, Choice] = {}
        if precision is None:
            choices["precision"] = PRECISION
        elif precision == PER_SAMPLE:
            choices |= {f"precision:{sample}": PRECISION for sample in sample_ids}
        self._fixed_precision = precision if isinstance(precision, int | float) else math.nan  # NaN: inferred
        if np.isnan(table.error_rate).any():
            choices["error_rate"] = error_rate_choice(len(table.index))
        choices |= {f"tumour_content:{sample}": content_choice(contents[sample]) for sample in contents}
        self._components = component_masses(grid_size) if prevalence_prior == "learned" else None
        self.choices = tuple(choices.values())
        weights = [] if self._components is None else weight_names(sample_ids)
        self.hyperparameters: tuple[str, ...] = (*choices, *weights)
        self.num_observations = len(table.index)
        table_size = max(part.num_rows for part in self._parts) * grid_size
        self.has_estimates = table_size >= ESTIMATED_FROM
        self.num_proposals = len(self.choices) * (1 if table_size >= LARGE_FROM else PROPOSALS)
        self.order = np.argsort(table.index[:, 0], kind="stable")
        self._grid = _Latest(self._make_grid, 3 * len(self._parts))
        self._likelihood = _Latest(self._assemble, 3)
        self._base = lru_cache(KEPT_BASES)(self._make_base)
        self._watched = watched_cells(*self.index.shape)

    def initial_values(self) -> Values:
        starts = tuple(choice.start for choice in self.choices)
        return starts if self._components is None else (*starts, *initial_weights(self.index.shape[1]))

    def likelihood(self, values: Values) -> PyClone:
        """Tables at given values, computed when first asked for, the latest kept; and the base measure."""
        likelihood = self._likelihood(values[: len(self.choices)])
        if self._components is None:
            return likelihood
        return with_base(likelihood, self._base(values[len(self.choices) :]))

    def _make_base(self, weights: Values) -> BaseMeasure:
        """The base measure with weights as they stand among the hyperparameters."""
        assert self._components is not None
        return mix_base(all_weights(weights), self._components)

    def _assemble(self, values: Values) -> PyClone:
        given = dict(zip(self.hyperparameters, values))
        keys = [(part, self._setting(part, given)) for part in range(len(self._parts))]
        if len(keys) == 1:
            likelihood = make_pyclone(self.index, *self._make_grid(keys[0]))
        else:
            grids = [self._grid(key) for key in keys]
            likelihood = make_pyclone(self.index, *(np.concatenate(arrays) for arrays in zip(*grids)))
        if self._components is None:
            return likelihood
        return likelihood._replace(component_means=likelihood.likelihood @ self._components.T)

    def _setting(self, part: int, given: Mapping[str, float]) -> _Setting:
        sample = self._samples[part]
        precision = given.get(f"precision:{sample}", given.get("precision", self._fixed_precision))
        error_rate = given.get("error_rate") if np.isnan(self._parts[part].error_rate).any() else None
        return _Setting(precision, error_rate, given.get(f"tumour_content:{sample}"))

    def _make_grid(self, key: tuple[int, _Setting], rows: NDArray[np.int64] | None = None) -> XiGrid:
        """Of a part in a setting; of all its rows, or of some."""
        table, precision = self._observations(*key)
        if rows is not None:
            table = table.take(rows)
        return likelihood_grid(table, self.grid_size, self.genotype_prior, precision)

    def observations(self, values: Values) -> list[tuple[LocusTable, float]]:
        """The observations of all samples, or of each sample, as they are at given values, and their precision."""
        given = dict(zip(self.hyperparameters, values))
        return [self._observations(part, self._setting(part, given)) for part in range(len(self._parts))]

    def _observations(self, part: int, setting: _Setting) -> tuple[LocusTable, float]:
        """The observations of a part as they are in a setting, and their precision."""
        table = self._parts[part]
        if setting.error_rate is not None:
            told = ~np.isnan(table.error_rate)
            table = replace(table, error_rate=np.where(told, table.error_rate, setting.error_rate))
        if setting.tumour_content is not None:
            table = replace(table, tumour_content=np.full(table.num_rows, setting.tumour_content))
        return table, setting.precision

    def forget(self) -> None:
        """Let go of all tables."""
        self._grid.clear()
        self._likelihood.clear()
        self._base.cache_clear()

    def estimate_change(
        self, values: Values, likelihood: PyClone, partition: Partition, proposal: Values
    ) -> float:
        """About log p(proposal, y | c) - log p(values, y | c), without the tables of the proposal.

        See :mod:`pyclone_pgsm.tumour.estimate`.
        """
        lattice = posterior_lattice(likelihood, partition, POINTS, REACH)
        blocks = partition.position[partition.labels]
        change = self.log_hyperprior(proposal) - self.log_hyperprior(values)
        for part, setting, rows in self._changed_parts(values, proposal):
            samples = slice(part, part + 1) if len(self._parts) > 1 else slice(None)
            index = likelihood.index[:, samples]
            change += change_of_log_likelihood(
                self._xi_at(part, setting),
                likelihood.xi_max[rows],
                np.where(index < 0, -1, index - rows.start),
                blocks,
                lattice.of_samples(samples),
                likelihood.log_base[samples],
            )
        return change

    def _changed_parts(self, values: Values, proposal: Values) -> Iterator[tuple[int, _Setting, slice]]:
        """The parts that a proposal changes, with their new settings and their rows of the tables."""
        before, after = (dict(zip(self.hyperparameters, each)) for each in (values, proposal))
        for part in range(len(self._parts)):
            setting = self._setting(part, after)
            if setting != self._setting(part, before):
                yield part, setting, slice(*self._first_rows[part : part + 2])

    def log_marginals(
        self, values: Values, likelihood: PyClone, proposal: Values, index: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """log p(reads; proposal) of observations with a prevalence of their own; tables are made of these only.

        Parameters
        ----------
        values, likelihood
            Present ones; what the proposal leaves as it is is taken from there.
        proposal : tuple of float
        index : (n, D) int32
            Rows of the tables; -1 for none, which gives 0.
        """
        found = np.where(index < 0, 0.0, (likelihood.log_mean + likelihood.xi_max)[index])
        for part, setting, part_rows in self._changed_parts(values, proposal):
            is_here = (index >= part_rows.start) & (index < part_rows.stop)
            rows, places = np.unique(index[is_here] - part_rows.start, return_inverse=True)
            grid = self._make_grid((part, setting), rows)
            found[is_here] = (grid.xi_max + grid.log_mean)[places]
        return found

    def _xi_at(self, part: int, setting: _Setting) -> Xi:
        """Xi of a part's rows in a setting, at some points of the grid."""
        table, precision = self._observations(part, setting)
        prevalences = prevalence_grid(self.grid_size)

        def xi(
            rows: NDArray[np.int64], points: NDArray[np.int64], of_row: NDArray[np.int64]
        ) -> NDArray[np.float64]:
            return likelihood_at(
                table.take(rows), prevalences[points], of_row, self.genotype_prior, precision
            )

        return xi

    def watched(self, likelihood: PyClone, partition: Partition) -> NDArray[np.float32]:
        """(W,) posterior means, given the partition, of the prevalences of :func:`watched_cells`.

        Of an outlier it is that of the cluster whose label it has.
        """
        mutations, samples = self._watched
        points = np.broadcast_to(prevalence_grid(self.grid_size), (1, *likelihood.log_base.shape))
        means = compiled_for(component_probabilities, PyClone)(
            likelihood, np.ascontiguousarray(points), partition
        )
        return means[partition.position[partition.labels[mutations]], samples, 0].astype(np.float32)

    def log_hyperprior(self, values: Values) -> float:
        log_p = sum(choice.log_prior(value) for choice, value in zip(self.choices, values))
        if self._components is None:
            return log_p
        return log_p + log_prior_density(self._base(values[len(self.choices) :]).weights)

    def propose(
        self, values: Values, rng: np.random.Generator, independence: Sequence[IndependenceProposal]
    ) -> tuple[Values, float]:
        """Another value of one of the hyperparameters, the weights of the base measure excepted."""
        which = int(rng.integers(len(self.choices))) if len(self.choices) > 1 else 0
        new, log_ratio = self.choices[which].propose(values[which], rng, independence[which])
        return (*values[:which], new, *values[which + 1 :]), log_ratio

    def draw_conditionals(
        self, values: Values, likelihood: PyClone, partition: Partition, rng: np.random.Generator
    ) -> tuple[Values, PyClone]:
        """The weights of the base measure given the partition."""
        if self._components is None:
            return values, likelihood
        weights = self._base(values[len(self.choices) :]).weights
        shares = weights.T[:2, :, None] * self._components[:2, None, :] / likelihood.base
        probabilities = compiled_for(component_probabilities, PyClone)(likelihood, shares, partition)
        drawn = draw_weights(probabilities, rng)
        values = (*values[: len(self.choices)], *drawn)
        changed = with_base(likelihood, self._base(drawn))
        compiled_for(change_base, PyClone)(changed, likelihood.log_base, partition)
        return values, changed
