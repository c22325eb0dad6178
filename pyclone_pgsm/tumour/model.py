"""The tumour model: PyClone's likelihood with unknown precision, error rate and tumour contents.

The tables of the likelihood depend on these, so that each takes one of a few values (a
:class:`~pyclone_pgsm.likelihoods.choice.Choice`), and a chain changes one at a time:

* ``precision``, one for all reads; or ``precision:SAMPLE`` for each sample, all with the same prior;
* ``error_rate``, one for all reads whose error rate is not given;
* ``tumour_content:SAMPLE`` for each sample for which a distribution is given.

The base measure of the prevalences is uniform, or learned (:mod:`pyclone_pgsm.tumour.base_measure`). The weights of a
learned one, ``weight_absent:SAMPLE`` and ``weight_clonal:SAMPLE``, are the last hyperparameters.

If there are hyperparameters per sample, every sample has its own rows of the tables, and only the rows of the sample
whose value changes are recomputed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pyclone_pgsm.inputs.tumour_content import Uncertain
from pyclone_pgsm.jit.compiling import compiled_for
from pyclone_pgsm.likelihoods.choice import Choice, IndependenceProposal, metropolis, propose
from pyclone_pgsm.likelihoods.model import Model, Values
from pyclone_pgsm.likelihoods.pyclone import (
    PyClone,
    draw_grid_points,
    make_pyclone,
    with_base,
)
from pyclone_pgsm.partition import Partition, PartitionPrior
from pyclone_pgsm.tumour.base_measure import (
    UNIFORM,
    all_weights,
    component_masses,
    draw_weights,
    initial_weights,
    log_prior_density,
    weight_names,
)
from pyclone_pgsm.tumour.choices import PRECISION, content_choice, error_rate_choice
from pyclone_pgsm.tumour.exchange import LEAST_MEMBERS, delta_of_prior, exchange
from pyclone_pgsm.tumour.given_prevalences import KnownCells, distinct_cells, log_likelihood_of_all
from pyclone_pgsm.tumour.grid import (
    BYTES_PER_POINT,
    Loci,
    LocusTable,
    Setting,
    XiGrid,
    likelihood_grid,
    loci_of,
    prevalence_grid,
    split_by_sample,
)

PREVALENCE_PRIORS = ("learned", "uniform")
PER_SAMPLE = "infer-per-sample"
"""The value of ``precision`` that requests an inferred precision for each sample."""
CONTENT_PROPOSALS = 2
"""Number of proposals per iteration for each tumour content, each of which needs tables."""
PROPOSALS = 8
"""Number of Metropolis-Hastings steps, given the prevalences, for each precision and for the error rate, where
likelihoods in all settings take too much memory."""
LEAST_SUMMED_OUT, MOST_SUMMED_OUT = 0.1, 3.0
"""Limits of :func:`summed_out_proposals`."""
TERMS_PER_VISIT = 75
"""Number of terms of the tables, one for each genotype and grid point of a row, that take as long to compute as the
visits of an observation by Gibbs sweeps between two updates of the hyperparameters."""
CACHED_BYTES = 400 << 20
"""Size of the tables, in use or not, for which there is room in a cache."""
LEAST_SETS = 3
"""Number of sets of tables that are kept at least, whatever their size."""
MOST_IN_PROCESSES = 2000
"""Largest number of mutations times samples with which chains prefer processes, each of which computes tables."""
WATCHED = 100
"""Number of mutations whose prevalences are watched."""
MOST_COMBINATIONS = 60
"""Number of sets of tables kept that combine tables of single samples; chains seldom return to a combination."""


def sets_that_fit(size: int, least: int) -> int:
    """Return how many sets of tables of this size in bytes fit in :data:`CACHED_BYTES`, but no fewer than `least`."""
    return max(least, CACHED_BYTES // max(1, size))


def summed_out_proposals(num_observations: int, num_terms: int) -> float:
    """Return how often an update proposes an error rate with the prevalences summed out, if this needs new tables.

    Tables of `num_terms` terms should not take longer than sweeps over all mutations and samples, `num_observations`.
    """
    number = TERMS_PER_VISIT * num_observations / num_terms
    return min(max(number, LEAST_SUMMED_OUT), MOST_SUMMED_OUT)


def watched_cells(num_mutations: int, num_samples: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose a hundred mutations (or all, if fewer), each in one sample: random, but the same in every run."""
    rng = np.random.default_rng(num_mutations)
    mutations = np.sort(rng.choice(num_mutations, min(WATCHED, num_mutations), replace=False))
    return mutations, rng.integers(num_samples, size=len(mutations))


class PyCloneModel(Model):
    """PyClone's likelihood; precision, error rate and tumour contents are fixed, or inferred.

    Error rates of the table that are NaN are inferred, with one value for all. `precision` is infinite for the
    binomial; None infers it, and ``infer-per-sample`` infers one for each sample. The tumour content of each sample in
    `tumour_contents` is inferred; the table's own values are then ignored. `sample_ids` are only needed if there are
    hyperparameters per sample.

    ``grid`` (G,) are the prevalences at which the likelihood is computed, and ``uniform_masses`` (G,) their masses
    under a uniform prior. ``index`` (T, D) has the row of each mutation in each sample in the tables of the likelihood,
    -1 for none. The first ``num_drawn`` hyperparameters, precisions and error rate, are drawn given the prevalences.
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
        self.grid = prevalence_grid(grid_size, prevalence_prior)
        contents = tumour_contents or {}
        is_split = precision == PER_SAMPLE or bool(contents)
        samples = sample_ids if is_split else [""]
        parts = split_by_sample(table) if is_split else [table]
        self._parts = [loci_of(part, genotype_prior) for part in parts]
        self._first_rows = np.cumsum([0, *(part.num_rows for part in parts)])
        columns = [
            np.where(part.index < 0, -1, part.index + first) for part, first in zip(parts, self._first_rows)
        ]
        self.index = np.concatenate(columns, axis=1).astype(np.int32)
        choices: dict[str, Choice] = {}
        if precision is None:
            choices["precision"] = PRECISION
        elif precision == PER_SAMPLE:
            choices |= {f"precision:{sample}": PRECISION for sample in sample_ids}
        self._fixed_precision = precision if isinstance(precision, int | float) else math.nan  # NaN: inferred
        infer_error_rate = [bool(np.isnan(part.error_rate).any()) for part in parts]
        if any(infer_error_rate):
            choices["error_rate"] = error_rate_choice(len(table.index))
        self.num_drawn = len(choices)
        choices |= {
            f"tumour_content:{sample}": content_choice(contents[sample])
            for sample in sample_ids
            if sample in contents
        }
        self._components = component_masses(self.grid) if prevalence_prior == "learned" else None
        even = np.full(grid_size, 1.0 / grid_size)
        self.uniform_masses = even if self._components is None else self._components[UNIFORM]
        self.choices = tuple(choices.values())
        weights = [] if self._components is None else weight_names(sample_ids)
        self.hyperparameters: tuple[str, ...] = (*choices, *weights)
        self.num_observations, self.num_rows = len(table.index), table.num_rows
        self.has_exchanges = self.num_observations >= LEAST_MEMBERS
        self.prefers_processes = self.index.size <= MOST_IN_PROCESSES
        # for each part, the names that the fields of its setting have, in this order, if they are inferred
        self._names = [
            (
                "precision" if "precision" in choices else f"precision:{sample}",
                "error_rate" if infers_error_rate else "",
                f"tumour_content:{sample}",
            )
            for sample, infers_error_rate in zip(samples, infer_error_rate)
        ]
        num_settings = [
            math.prod(len(choices[name].values) for name in names if name in choices) for names in self._names
        ]
        all_rows = sum(part.num_rows * number for part, number in zip(parts, num_settings))
        self._keeps_all = all_rows * grid_size * BYTES_PER_POINT <= CACHED_BYTES
        self._most_settings = max(num_settings)
        self.order = np.argsort(table.index[:, 0], kind="stable")
        summed_out = 0.0
        if any(infer_error_rate):
            num_terms = grid_size * sum(int(np.diff(loci.bounds).sum()) for loci in self._parts)
            summed_out = 1.0 if self._keeps_all else summed_out_proposals(self.index.size, num_terms)
        self.num_proposals = CONTENT_PROPOSALS * len(contents) + math.ceil(summed_out)
        self.costly_choices = [self.num_drawn - 1] if summed_out > 0.0 and not self._keeps_all else []
        self._summed_out_share = summed_out / max(1, math.ceil(summed_out))
        bytes_per_row = grid_size * BYTES_PER_POINT
        largest_part = max(part.num_rows for part in parts) * bytes_per_row
        self._grid = lru_cache(sets_that_fit(largest_part, LEAST_SETS * len(parts)))(self._make_grid)
        self._sets = sets_that_fit(int(self._first_rows[-1]) * bytes_per_row, LEAST_SETS)
        self._combinations = min(self._sets, MOST_COMBINATIONS) if is_split else 0
        self._likelihood = lru_cache(self._combinations or self._sets)(self._assemble)
        self._known_cells = lru_cache(None)(self._make_known_cells)
        self._watched = watched_cells(*self.index.shape)

    @property
    def most_sets(self) -> float:
        """Number of sets of tables that are kept or in use at a time.

        Where likelihoods in all settings are kept, those from which a hyperparameter is drawn take half as much.
        """
        if self._most_settings == 1:
            return 1.0
        sets = min(self._most_settings, self._sets) + 1.0  # the one being made
        if self._keeps_all:
            kinds = {name.partition(":")[0] for name in self.hyperparameters[: self.num_drawn]}
            sets += self._most_settings * len(kinds) / 2
        return sets + self._combinations

    def initial_values(self) -> Values:
        weights = () if self._components is None else initial_weights(self.index.shape[1])
        return (*super().initial_values(), *weights)

    def likelihood(self, values: Values) -> PyClone:
        """Return the likelihood at these values; the latest tables are cached."""
        likelihood = self._likelihood(self._settings(values))
        if self._components is None:
            return likelihood
        return with_base(likelihood, all_weights(values[len(self.choices) :]), self._components)

    def _assemble(self, settings: tuple[Setting, ...]) -> PyClone:
        if len(settings) == 1:
            grid = self._make_grid((0, settings[0]))
        else:
            grids = [self._grid(key) for key in enumerate(settings)]
            grid = XiGrid(*(np.concatenate(arrays) for arrays in zip(*grids)))
        likelihood = make_pyclone(self.index, *grid, self.uniform_masses)
        if self._components is None:
            return likelihood
        return likelihood._replace(component_means=likelihood.likelihood @ self._components.T)

    def _settings(self, values: Values) -> tuple[Setting, ...]:
        """Return the setting of each part."""
        inferred = dict(zip(self.hyperparameters, values))
        return tuple(
            Setting(
                inferred.get(precision, self._fixed_precision),
                inferred.get(error_rate),
                inferred.get(tumour_content),
            )
            for precision, error_rate, tumour_content in self._names
        )

    def _make_grid(self, key: tuple[int, Setting]) -> XiGrid:
        """Compute the tables of a part in a setting."""
        part, setting = key
        return likelihood_grid(self._parts[part], self.grid, setting)

    def observations(self, values: Values) -> list[tuple[Loci, float]]:
        """Return the observations of all samples, or of each sample, with these values, and their precision."""
        found = []
        for loci, setting in zip(self._parts, self._settings(values)):
            table = loci.table
            if setting.error_rate is not None:
                is_open = np.isnan(table.error_rate)
                table = replace(table, error_rate=np.where(is_open, setting.error_rate, table.error_rate))
            if setting.tumour_content is not None:
                table = replace(table, tumour_content=np.full(table.num_rows, setting.tumour_content))
            found.append((loci._replace(table=table), setting.precision))
        return found

    def forget(self) -> None:
        self._grid.cache_clear()
        self._likelihood.cache_clear()
        self._known_cells.cache_clear()

    def draw_given_parameters(
        self,
        values: Values,
        likelihood: PyClone,
        partition: Partition,
        independence: Sequence[IndependenceProposal],
        rng: np.random.Generator,
        costly: bool,
    ) -> Values:
        """Draw the weights of the base measure and, if `costly`, precisions and error rate.

        One draw of the blocks' prevalences serves for all: given these, the weights do not depend on precisions and
        error rate, nor these on the weights.
        """
        needs_tables = costly and self.num_drawn > 0
        if not needs_tables and self._components is None:
            return values
        of_blocks = draw_grid_points(likelihood, partition, rng)
        if self._components is not None:
            inferred, weights = values[: len(self.choices)], all_weights(values[len(self.choices) :])
            values = (*inferred, *draw_weights(of_blocks, weights, self._components, rng))
        if not needs_tables:
            return values
        points = of_blocks[partition.position[partition.labels]]
        index, points = self.rows_and_points(likelihood, points, rng)
        return self._draw_given_prevalences(values, index, points, independence, rng)

    def rows_and_points(
        self, likelihood: PyClone, points: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return rows of the likelihood's tables, (T, D) int32, and the prevalences there as grid points, (T, D) int64.

        `points` (T, D) are those of the mutations' blocks. A row is -1 where there are no reads, or where they do not
        depend on precisions and error rate. (Outliers have other rows and points, which are drawn.)
        """
        return likelihood.index, points

    def _draw_given_prevalences(
        self,
        values: Values,
        index: NDArray[np.int32],
        points: NDArray[np.int64],
        independence: Sequence[IndependenceProposal],
        rng: np.random.Generator,
    ) -> Values:
        """Draw precisions and error rate given what :meth:`rows_and_points` returns.

        If likelihoods in all settings can be kept, each hyperparameter is drawn from its distribution given the others;
        otherwise Metropolis-Hastings steps change them.
        """
        drawn, others = self.choices[: self.num_drawn], values[self.num_drawn :]
        cells = [
            distinct_cells(*self._of_part(part, index, points), loci.table.num_rows, len(self.grid))
            for part, loci in enumerate(self._parts)
        ]
        if self._keeps_all:
            for which, choice in enumerate(drawn):
                value = choice.draw(self._log_likelihoods(which, values, cells), rng)
                values = (*values[:which], value, *values[which + 1 :])
            return values
        log_likelihoods = [
            log_likelihood_of_all(*each, loci, self.grid) for loci, each in zip(self._parts, cells)
        ]

        def log_density(those_drawn: Values) -> float:
            settings = self._settings((*those_drawn, *others))
            log_prior = sum(choice.log_prior(value) for choice, value in zip(drawn, those_drawn))
            return log_prior + sum(of_part(setting) for of_part, setting in zip(log_likelihoods, settings))

        number = PROPOSALS * len(drawn)
        return (*metropolis(drawn, values[: len(drawn)], log_density, independence, number, rng), *others)

    def _of_part(
        self, part: int, index: NDArray[np.int32], points: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return rows of the tables of a part, and the grid points, of each mutation in each of its samples."""
        samples = slice(part, part + 1) if len(self._parts) > 1 else slice(None)
        index = index[:, samples]
        return np.where(index < 0, -1, index - self._first_rows[part]), points[:, samples]

    def _log_likelihoods(
        self, which: int, values: Values, cells: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]]
    ) -> NDArray[np.float64]:
        """Return log p(reads), given the prevalences and the other `values`, at each value of a choice, (V,).

        `cells` has, for each part, its cells at these prevalences, and the number of observations in each.
        """
        name, choice = self.hyperparameters[which], self.choices[which]
        total = np.zeros(len(choice.values))
        for part, (names, setting) in enumerate(zip(self._names, self._settings(values))):
            if name in names:
                field = Setting._fields[names.index(name)]
                known = self._known_cells((part, setting._replace(**{field: choice.values[0]}), field, which))
                where, counts = cells[part]
                total += counts @ known.log_likelihoods(where)
        return total

    def _make_known_cells(self, key: tuple[int, Setting, str, int]) -> KnownCells:
        """Return the cells of a part's tables, with the settings of all values of a choice.

        The key has the part, a setting with the first value of the choice, the field of the settings that has the
        values, and the number of the choice.
        """
        part, first, field, which = key
        settings = [first._replace(**{field: value}) for value in self.choices[which].values]
        return KnownCells(self._parts[part], self.grid, settings)

    def exchange(
        self,
        likelihood: PyClone,
        prior: PartitionPrior,
        partition: Partition,
        times: int,
        rng: np.random.Generator,
    ) -> int:
        """Make the moves of :mod:`~pyclone_pgsm.tumour.exchange`; none changes anything if the prior rules them out."""
        delta = delta_of_prior(prior.log_tau2)
        if delta is None:
            return 0
        return int(compiled_for(exchange, PyClone)(likelihood, partition, delta, times, rng))

    def watched(
        self, likelihood: PyClone, partition: Partition, rng: np.random.Generator
    ) -> NDArray[np.float32]:
        """Draw the prevalences of :func:`watched_cells`, (W,), from their posterior given the partition.

        For an outlier this is the prevalence of the cluster whose label it has.
        """
        mutations, samples = self._watched
        points = draw_grid_points(likelihood, partition, rng)
        return self.grid[points[partition.position[partition.labels[mutations]], samples]].astype(np.float32)

    def log_hyperprior(self, values: Values) -> float:
        log_p = super().log_hyperprior(values)
        if self._components is None:
            return log_p
        return log_p + log_prior_density(all_weights(values[len(self.choices) :]))

    def propose(
        self, values: Values, rng: np.random.Generator, independence: Sequence[IndependenceProposal]
    ) -> tuple[Values, float]:
        """Propose another tumour content of one of the samples, or sometimes another error rate.

        If all mutations of a cluster have a few variant reads, these may be errors, or the cluster may be present in
        few cells. Given the prevalences the error rate cannot change between the values that fit these two
        explanations; with the prevalences summed out it can.
        """
        first = self.num_drawn
        if self._summed_out_share > 0.0 and rng.random() < self._summed_out_share:
            first -= 1
        which = slice(first, len(self.choices))
        if not self.choices[which]:
            return values, 0.0
        others, log_ratio = propose(self.choices[which], values[which], independence[which], rng)
        return (*values[: which.start], *others, *values[which.stop :]), log_ratio
