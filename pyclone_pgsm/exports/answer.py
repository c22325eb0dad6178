"""The finished analysis from which formats are written, and functions that their writers share."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.inputs.observations import PLACEHOLDERS, PRIORS_WITHOUT_COPY_NUMBERS, Observations
from pyclone_pgsm.inputs.problems import count
from pyclone_pgsm.posterior.summary import Summary
from pyclone_pgsm.tsv import long_table, write_table
from pyclone_pgsm.tumour.genotypes import Genotype, mutant_copies_per_cell
from pyclone_pgsm.tumour.grid import deduplicate, loci_of

DEFAULT_PATIENT = "patient"
DEFAULT_ERROR_RATE = 0.001


@dataclass(frozen=True)
class Answer:
    """A finished analysis of a tumour of T mutations, D samples and K clusters.

    `observations` are those that :func:`complete` returns; `inferred` are the hyperparameters with which it was called;
    `tables` are those of the output folder, by file name.
    """

    observations: Observations
    summary: Summary
    inferred: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    genotype_prior: str = "major"

    @property
    def placed(self) -> NDArray[np.int64]:
        """Indices of the mutations that belong to a cluster."""
        return np.flatnonzero(self.summary.labels >= 0)

    @property
    def outliers(self) -> NDArray[np.int64]:
        """Indices of the mutations that belong to no cluster."""
        return np.flatnonzero(self.summary.labels < 0)

    @property
    def prevalence(self) -> NDArray[np.float64]:
        """(T, D) prevalence of each mutation's cluster; NaN for outliers."""
        found = np.full(self.summary.mean.shape, np.nan)
        found[self.placed] = self.summary.cluster_mean[self.summary.labels[self.placed]]
        return found

    @property
    def prevalence_with_outliers(self) -> NDArray[np.float64]:
        """(T, D) prevalence of each mutation's cluster, and that of an outlier by its own reads."""
        prevalence = self.prevalence
        return np.where(np.isnan(prevalence), self.summary.mean, prevalence)

    @property
    def copies(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(T, D) major and minor copies in cells that can have the mutation, for formats with one copy-number state.

        They are those of the state of most tumour cells, or of the other if this one has none; 1 and 0 if there are
        none at all.
        """
        data = self.observations
        is_second = (data.subclonal_major_cn > 0) & ((data.subclonal_fraction > 0.5) | (data.major_cn == 0))
        major = np.where(is_second, data.subclonal_major_cn, data.major_cn)
        return np.maximum(major, 1), np.where(is_second, data.subclonal_minor_cn, data.minor_cn)

    @cached_property
    def mutant_copies(self) -> NDArray[np.float64]:
        """(T, D) most probable number of mutant copies in a cell with the mutation; 1 where it is unknown.

        Where the tumour cells have two copy-number states, it is the mean of the cells with the mutation, by the
        genotype that is most probable at this prevalence.
        """
        found = np.maximum(self.summary.multiplicity, 1).astype(float)
        loci = loci_of(deduplicate(self.observations, self.genotype_prior), self.genotype_prior)
        table, prevalence, mean_copies = loci.table, self.prevalence_with_outliers, self.mean_copies
        for t, d in np.argwhere((table.index >= 0) & (prevalence > 0.0)).tolist():
            row, phi = table.index[t, d], float(prevalence[t, d])
            if table.subclonal_fraction[row] > 0.0:
                genotypes = [Genotype(*state) for state in loci.states[slice(*loci.bounds[row])].tolist()]
                copies = np.array([mutant_copies_per_cell(genotype, phi) for genotype in genotypes])
                error = table.error_rate[row]
                share = np.clip(table.tumour_content[row] * copies / mean_copies[t, d], error, 1.0 - error)
                log_p = table.alt_counts[row] * np.log(share) + table.ref_counts[row] * np.log1p(-share)
                log_p += [genotype.log_weight for genotype in genotypes]
                found[t, d] = copies[np.argmax(log_p)] / phi
        return found

    @property
    def mean_copies(self) -> NDArray[np.float64]:
        """(T, D) mean copies of the locus in a cell of the sample, as the genotype prior sees them."""
        return self.observations.as_seen_by(self.genotype_prior).mean_copies

    @property
    def variant_share(self) -> NDArray[np.float64]:
        """(T, D) mutant copies over mean copies: the share of reads that show a mutation if all cells have it.

        It exceeds 1 if a mutated cell has more mutant copies than the mean cell has copies.
        """
        return self.mutant_copies / np.maximum(self.mean_copies, 1e-9)

    @property
    def copies_seen(self) -> NDArray[np.float64]:
        """(T, D) mutant copies in a tumour cell, on average, by each mutation's own reads; 0 where there are none."""
        data = self.observations
        return data.alt_counts / np.maximum(data.depth, 1) * self.mean_copies / data.tumour_content

    def reads_for_trees(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return (T, D) depths, and (T, D) probabilities that a read of a cell with the mutation shows it.

        These are the :attr:`variant_share`. Where it exceeds 1, the probability is 1 and the depth is larger by the
        share, so that the frequency of the mutation among the cells is unchanged.
        """
        data, share = self.observations, self.variant_share
        larger = np.maximum(np.rint(data.depth * share).astype(np.int64), data.alt_counts)
        return np.where(share > 1.0, larger, data.depth), np.minimum(share, 1.0)

    def annotation(self, name: str) -> list[str]:
        """Return the (T,) texts of an annotation, "" where it is unknown."""
        return self.observations.annotations.get(name, [""] * self.observations.num_mutations)

    def write_table(self, columns: Mapping[str, Any], path: Path, with_outliers: bool = False) -> None:
        """Write the :func:`~pyclone_pgsm.tsv.long_table` of the mutations that belong to a cluster, or of all."""
        table = long_table(self.summary.mean.shape, columns, None if with_outliers else self.placed)
        write_table(table, path, quoted=False)


def complete(data: Observations, inferred: Mapping[str, float]) -> Observations:
    """Return the observations with inferred tumour contents and error rate, and neutral values where there are no data.

    The latter are 0 reads, one copy of each allele, and the tumour content and error rate that most mutations with data
    have in the sample. An inferred tumour content replaces the given one, an inferred error rate only a missing one.
    """
    given = [inferred.get(f"tumour_content:{sample}", np.nan) for sample in data.sample_ids]
    content = np.where(np.isnan(given), data.tumour_content, given)
    rate = inferred.get("error_rate", DEFAULT_ERROR_RATE)
    known = {
        "tumour_content": content,
        "error_rate": np.where(np.isnan(data.error_rate), rate, data.error_rate),
    }
    neutral = PLACEHOLDERS | {name: _commonest(values, data.has_data) for name, values in known.items()}
    values = vars(data) | known
    arrays: dict[str, Any] = {
        name: np.where(data.has_data, values[name], otherwise) for name, otherwise in neutral.items()
    }
    return replace(data, **arrays)


def _commonest(values: NDArray[np.float64], has_data: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the (D,) most frequent value of each sample where it has data; of all values if it has none."""
    columns = (column[known] if known.any() else column for column, known in zip(values.T, has_data.T))
    return np.array([Counter(column.tolist()).most_common(1)[0][0] for column in columns])


class ExportOptions(NamedTuple):
    """What a format may need in addition to the result, named as on the command line.

    `primary` is the sample that is the primary tumour, and `source` the user's file to annotate, whose only tumour
    sample is `source_sample` of the result; `tumour_sample` maps samples of the result to their names in that file.
    `drivers` are driver genes and mutations.
    """

    patient: str = DEFAULT_PATIENT
    primary: str | None = None
    source: Path | None = None
    source_sample: str | None = None
    tumour_sample: Mapping[str, str] = MappingProxyType({})
    drivers: frozenset[str] = frozenset()


def note_exceptions(answer: Answer, missing: str, outliers: str = "") -> list[str]:
    """Return lines on how outliers, and mutations without data in a sample, are represented, if there are any.

    Outliers are left out if `outliers` is empty.
    """
    notes = []
    if num_outliers := len(answer.outliers):
        how = outliers or "left out: the format has no place for outliers"
        notes.append(f"{count(num_outliers, 'outlier')} (cluster -1): {how}")
    written = answer.observations.has_data if outliers else answer.observations.has_data[answer.placed]
    if number := int((~written).any(axis=1).sum()):
        notes.append(f"{count(number, 'mutation')} without data in a sample: {missing}")
    return notes


def note_inferred(answer: Answer, *kinds: str) -> list[str]:
    """Return a line for each inferred hyperparameter of these kinds: its value is in the format."""
    return [
        f"{name.replace(':', ' of ', 1)} is the inferred one, {value:.4g}"
        for name, value in answer.inferred.items()
        if name.partition(":")[0] in kinds
    ]


def note_copy_numbers(answer: Answer) -> list[str]:
    """Return a line on how copy numbers are represented if the model did not know the copies of each allele."""
    if answer.genotype_prior == "total":
        how = "where only the total is known, it is written as the major copies, with 0 minor ones"
        return [f"the genotype prior total leaves alleles unknown: {how}"]
    if answer.genotype_prior in PRIORS_WITHOUT_COPY_NUMBERS:
        how = "the input's are written (totals as major copies), or 1 copy of each allele"
        return [f"the genotype prior {answer.genotype_prior} uses no copy numbers: {how}"]
    return []


def note_two_states(answer: Answer, what: str) -> list[str]:
    """Return a line on how subclonal copy numbers are represented, if there are any."""
    number = int((answer.observations.subclonal_fraction > 0).sum())
    return [f"{count(number, 'row')} with subclonal copy number: {what}"] if number else []


OF_CLUSTER = "the prevalence of the cluster there"
"""How formats of clusters represent mutations without data."""
OWN_READS = "the prevalence by their own reads, as if they were mutations"
"""How formats that annotate mutations represent outliers."""


def note_reads_for_trees(answer: Answer) -> list[str]:
    """Return lines about what :meth:`Answer.reads_for_trees` is based on, and the depths that it changes."""
    notes = note_two_states(
        answer,
        "var_read_prob has the mean copies of both states, and the mean mutant copies of the cells that have any",
    )
    if number := int(np.count_nonzero((answer.variant_share > 1.0)[answer.placed])):
        notes.append(
            f"{count(number, 'mutation-sample pair')} with more mutant copies than a cell has on average: "
            "var_read_prob is 1 and the depth larger by the ratio, which keeps the frequency"
        )
    return notes + note_inferred(answer, "tumour_content")
