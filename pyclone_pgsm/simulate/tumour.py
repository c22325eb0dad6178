"""Simulated tumours: read counts whose clusters and prevalences are known.

The reads come from the model that the sampler assumes (appendix "PyClone" of Bouchard-Côté, Doucet and Roth
2017):

    alt ~ Binomial(depth, p),   p = xi  or  p ~ Beta(s xi, s (1 - xi)),
    xi  = [(1-t) c_N mu_N + t (1-phi) c_R mu_R + t phi c_V mu_V] / [(1-t) c_N + t (1-phi) c_R + t phi c_V],

with one genotype (c_N, c_R, c_V, mutant copies) a mutation, drawn from the states of the prior ``major``.
Copy numbers change by segment and are the same in all samples, but for segments on which a subclone has an event of
its own (:mod:`pyclone_pgsm.simulate.subclones`). There a read shows the variant if it is of a mutant copy, or wrong,
not both:

    xi = p (1 - error rate) + (1 - p) error rate,     p the share of mutant copies.

T mutations, D samples, K clusters.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm import __version__
from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.files import check_new, make_folder, replacing, replacing_together
from pyclone_pgsm.inputs.observations import SUBCLONAL, Observations
from pyclone_pgsm.inputs.values import LEAST_SHARE
from pyclone_pgsm.machine import available, shown
from pyclone_pgsm.ranges import BOUNDS, check_range
from pyclone_pgsm.simulate.subclones import (
    SecondStates,
    draw_event,
    draw_second_states,
    draw_tree,
    draw_tree_prevalences,
)
from pyclone_pgsm.tumour.base_measure import DIRICHLET, draw_prevalences
from pyclone_pgsm.tumour.genotypes import genotype_states

COPY_NUMBERS = ("diploid", "mixed")
CLUSTER_SIZES = ("dirichlet", "equal")
CLONES = "clones"
PREVALENCE_PRIORS = (CLONES, "learned", "uniform")
LATER = {"subclonal": 0.0, "artefacts": 0.0, "prevalence_prior": CLONES}
"""Options that are not noted at their default, which is what every simulation was before there were these options."""

AUTOSOMES = (
    248,
    242,
    198,
    190,
    181,
    170,
    159,
    145,
    138,
    133,
    135,
    133,
    114,
    107,
    101,
    90,
    83,
    80,
    58,
    64,
    46,
    50,
)
"""Lengths of the human chromosomes 1 to 22 in whole megabases."""
X_CHROMOSOME = 156
MEGABASE = 1_000_000
MOST_MUTATIONS = 100_000_000
MOST_CELLS = 200_000_000
MOST_PRECISION = 1e9
BYTES_PER_ROW = 600  # numbers and texts of a row of the table, about

AUTOSOME_STATES = {(1, 1): 0.45, (2, 1): 0.2, (1, 0): 0.13, (2, 0): 0.1, (2, 2): 0.07, (3, 1): 0.05}
"""Major and minor copies of a segment of ``mixed`` copy numbers, and how often they come."""
X_STATES = {(1, 0): 0.8, (2, 0): 0.2}
"""The same for the X of a male, of which normal cells have one copy."""


@dataclass(frozen=True)
class SimulationOptions:
    """What to simulate. The names are those of the options of ``pyclone-pgsm simulate``.

    Attributes
    ----------
    mutations, samples, clusters : int
        T, D and K; each cluster has at least one mutation.
    depth : float
        Mean reads a mutation and sample, at least 1: one and a Poisson number more.
    purity : float or sequence of float
        Share of cancer cells, in (0, 1]: one number for all samples, or one a sample.
    copy_numbers : {"diploid", "mixed"}
        ``mixed``: each chromosome is cut in two, and each piece has one of `AUTOSOME_STATES`; some mutations
        lie on the X of a male, where normal cells have one copy.
    missing : float
        Share of (mutation, sample) pairs without a row, exact but for rounding. Every mutation keeps a row,
        so it is at most (D - 1)/D.
    precision : float or sequence of float
        s of the beta-binomial, infinite for the binomial: one number for all samples, or one a sample.
    error_rate : float
        Probability that a read shows the wrong allele, in (0, 0.5).
    cluster_sizes : {"dirichlet", "equal"}
        Weights from a flat Dirichlet distribution, or as equal as can be.
    clonal : bool
        One cluster has prevalence 1 in all samples.
    absent : float
        Probability that a subclonal cluster is absent (prevalence 0) in a sample, in [0, 1); in one sample,
        drawn at random, it is always present. Other prevalences are uniform on (0, 1).
    subclonal : float
        Probability that a subclone has a copy-number event of its own on a segment, in [0, 1]. If it is not 0 the
        prevalences are those of a tree of clones, and ``absent`` is the probability that a sample has no cell of a
        clone, its descendants aside. It needs ``mixed`` copy numbers, a clonal cluster and another.
    artefacts : float
        Share of the mutations, exact but for rounding, that are artefacts: they belong to no cluster, and the expected
        share of their variant reads is uniform on (0, 1), independently in each sample. In [0, 1).
    prevalence_prior : {"clones", "learned", "uniform"}
        ``clones``: prevalences as `clonal`, `absent` and `subclonal` say. The others are the priors of ``analyze``,
        each cluster and sample independently, without regard to `clonal` and `absent`: ``learned``, weights of each
        sample drawn first (:mod:`pyclone_pgsm.tumour.base_measure`), or ``uniform`` on (0, 1).

    Raises
    ------
    UsageError
        A value cannot be used; the text says what would be right.
    """

    mutations: int = 200
    samples: int = 3
    clusters: int = 6
    depth: float = 100.0
    purity: float | Sequence[float] = 0.8
    copy_numbers: str = "diploid"
    missing: float = 0.0
    precision: float | Sequence[float] = math.inf
    error_rate: float = 0.001
    cluster_sizes: str = "dirichlet"
    clonal: bool = True
    absent: float = 0.2
    subclonal: float = 0.0
    artefacts: float = 0.0
    prevalence_prior: str = CLONES

    def __post_init__(self) -> None:
        def check(name: str, right: bool, expected: str) -> None:
            if not right:
                option = "--" + name.replace("_", "-")
                raise UsageError(f"{option} {getattr(self, name)}: must be {expected}")

        check("mutations", 1 <= self.mutations <= MOST_MUTATIONS, f"between 1 and {MOST_MUTATIONS:,}")
        check("samples", self.samples >= 1, "at least 1")
        check(
            "samples",
            self.samples * self.mutations <= MOST_CELLS,
            f"at most {MOST_CELLS // self.mutations:,} with --mutations {self.mutations}: a table has at most "
            f"{MOST_CELLS:,} rows",
        )
        check(
            "clusters",
            1 <= self.clusters <= self.mutations,
            f"between 1 and the number of mutations, {self.mutations}",
        )
        check("depth", 1 <= self.depth < 1e9, "at least 1 and below 1e9")
        for share in self._by_sample("purity"):
            if not 0 < share <= 1:
                raise UsageError(f"--purity {share:g}: must be above 0 and at most 1")
            if share < LEAST_SHARE:
                raise UsageError(
                    f"--purity {share:g}: must be at least {LEAST_SHARE:g}: no sample has reads enough to tell less"
                )
        check("copy_numbers", self.copy_numbers in COPY_NUMBERS, f"one of {', '.join(COPY_NUMBERS)}")
        check("artefacts", 0 <= self.artefacts < 1, "at least 0 and below 1")
        if self.num_artefacts and self.clusters > self.mutations - self.num_artefacts:
            raise UsageError(
                f"--artefacts {self.artefacts}: leaves fewer mutations than there are clusters, {self.clusters}"
            )
        most = (self.samples - 1) / self.samples
        expected = (
            f"between 0 and {math.floor(1000 * most) / 1000:g}, since every mutation keeps a row"
            if most
            else "0 with one sample"
        )
        check("missing", 0 <= self.missing <= most, expected)
        for precision in self._by_sample("precision"):
            if not precision >= 0.1:
                raise UsageError(f"--precision {precision}: must be at least 0.1, or inf for the binomial")
            if MOST_PRECISION < precision < math.inf:
                raise UsageError(
                    f"--precision {precision:g}: must be at most {MOST_PRECISION:g}, or inf for the binomial"
                )
        check("error_rate", 0 < self.error_rate < 0.5, "above 0 and below 0.5")
        check(
            "error_rate",
            self.error_rate >= LEAST_SHARE,
            f"at least {LEAST_SHARE:g}: no sample has reads enough to tell less",
        )
        check("cluster_sizes", self.cluster_sizes in CLUSTER_SIZES, f"one of {', '.join(CLUSTER_SIZES)}")
        check("absent", 0 <= self.absent < 1, "at least 0 and below 1")
        check("subclonal", 0 <= self.subclonal <= 1, "between 0 and 1")
        check(
            "prevalence_prior",
            self.prevalence_prior in PREVALENCE_PRIORS,
            f"one of {', '.join(PREVALENCE_PRIORS)}",
        )
        if self.subclonal > 0 and self.prevalence_prior != CLONES:
            raise UsageError(
                f"--prevalence-prior {self.prevalence_prior}: draws clusters independently, but --subclonal needs a "
                f"tree of clones: use --prevalence-prior {CLONES} or --subclonal 0"
            )
        if self.subclonal > 0 and not (self.copy_numbers == "mixed" and self.clonal and self.clusters > 1):
            raise UsageError(
                f"--subclonal {self.subclonal}: needs --copy-numbers mixed, a clonal cluster and another"
            )

    def _by_sample(self, name: str) -> NDArray[np.float64]:
        """The numbers of an option that is given once, or once a sample."""
        numbers = np.atleast_1d(np.array(getattr(self, name), float))
        if len(numbers) not in (1, self.samples):
            raise UsageError(
                f"--{name}: {len(numbers)} numbers for {self.samples} samples: "
                "must be one number for all, or one a sample"
            )
        return numbers

    @property
    def num_artefacts(self) -> int:
        """Mutations that belong to no cluster."""
        return round(self.artefacts * self.mutations)

    def purity_by_sample(self) -> NDArray[np.float64]:
        """(D,) shares of cancer cells."""
        return np.broadcast_to(self._by_sample("purity"), self.samples).copy()

    def precision_by_sample(self) -> NDArray[np.float64]:
        """(D,) precisions."""
        return np.broadcast_to(self._by_sample("precision"), self.samples).copy()

    def to_dict(self) -> dict[str, Any]:
        """For JSON: an infinite precision is the text ``inf``; `LATER` options are there if not at their default."""
        purity = [float(share) for share in self._by_sample("purity")]
        precisions = ["inf" if math.isinf(s) else float(s) for s in self._by_sample("precision")]
        precision = precisions[0] if len(precisions) == 1 else precisions
        noted = {**asdict(self), "depth": float(self.depth), "purity": purity, "precision": precision}
        return {name: noted[name] for name in noted if name not in LATER or noted[name] != LATER[name]}


@dataclass(frozen=True)
class Simulation:
    """Simulated observations and their truth.

    Attributes
    ----------
    observations : Observations
        T mutations in D samples, in the order of the genome.
    cluster : (T,) int64
        Cluster 0..K-1 of each mutation, numbered from the largest mean prevalence down; -1 of an artefact.
    prevalence : (K, D) float64
        Cellular prevalence of each cluster in each sample.
    genotype : (T, 4) int64
        Copies in normal cells, in cancer cells without the mutation and with it, and mutant copies. All 0 where cancer
        cells of some sample hold two copy-number states, and of artefacts.
    ccf : (T, D) float64
        Share of the cancer cells that have the mutation: the prevalence of its cluster, or less where the cells of a
        subclone have lost it. NaN of an artefact.
    weights : (D, 3) float64 or None
        Of the learned base measure's components in each sample, if the prevalences were drawn from it: near 0, near 1
        and anywhere.
    """

    observations: Observations
    cluster: NDArray[np.int64]
    prevalence: NDArray[np.float64]
    genotype: NDArray[np.int64]
    ccf: NDArray[np.float64]
    weights: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Loci:
    """Places of T mutations, sorted and all different.

    Attributes
    ----------
    chromosome : (T,) int64
        0..21, or 22 for X.
    position : (T,) int64
        Counted from 1.
    """

    chromosome: NDArray[np.int64]
    position: NDArray[np.int64]


def variant_share(
    genotype: NDArray[np.int64], prevalence: ArrayLike, tumour_content: ArrayLike, error_rate: float
) -> NDArray[np.float64]:
    """xi, the expected share of reads that show the variant (module docstring).

    Parameters
    ----------
    genotype : (..., 4) int64
        c_normal, c_reference, c_variant, mutant copies.
    prevalence, tumour_content : float arrays
        phi and t; they and ``genotype[..., 0]`` broadcast together.
    error_rate : float
        Shares of variant copies are clipped to [error_rate, 1 - error_rate].
    """
    normal, reference, variant, mutant = np.moveaxis(genotype, -1, 0)
    phi, t = np.asarray(prevalence, float), np.asarray(tumour_content, float)
    carriers = t * phi * variant
    others = (1 - t) * normal + t * (1 - phi) * reference
    mutant_share = np.clip(mutant / variant, error_rate, 1 - error_rate)
    return (others * error_rate + carriers * mutant_share) / (others + carriers)


def draw_alt_counts(
    depth: NDArray[np.int64], share: NDArray[np.float64], precision: ArrayLike, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Reads that show the variant: beta-binomial, or binomial where the precision, (D,) or for all, is infinite."""
    s = np.broadcast_to(np.asarray(precision, float), share.shape)
    is_beta = np.isfinite(s)
    share = share.copy()
    share[is_beta] = rng.beta(s[is_beta] * share[is_beta], s[is_beta] * (1 - share[is_beta]))
    return rng.binomial(depth, share)


def draw_genotypes(
    major: NDArray[np.int64], minor: NDArray[np.int64], normal: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """(T, 4) genotypes: each one of the equally likely states of the prior ``major``."""
    genotype = np.empty((len(major), 4), np.int64)
    copies, kind = np.unique(np.column_stack([major, minor, normal]), axis=0, return_inverse=True)
    for k, numbers in enumerate(copies):
        members = np.flatnonzero(kind.reshape(-1) == k)
        states = np.array(genotype_states("major", *map(int, numbers)))
        genotype[members] = states[rng.integers(len(states), size=len(members))]
    return genotype


def _draw_loci(count: int, megabases: Sequence[int], rng: np.random.Generator) -> Loci:
    ends = np.cumsum(megabases) * MEGABASE
    places = np.sort(rng.choice(ends[-1], count, replace=False))
    chromosome = np.searchsorted(ends, places, side="right")
    starts = ends - np.array(megabases) * MEGABASE
    return Loci(chromosome, places - starts[chromosome] + 1)


@dataclass(frozen=True)
class CopyNumbers:
    """Copy numbers of T mutations' places before any event of a subclone, and numbers of their segments, (T,) each."""

    major: NDArray[np.int64]
    minor: NDArray[np.int64]
    normal: NDArray[np.int64]
    segment: NDArray[np.int64]

    def columns(self, num_samples: int) -> dict[str, NDArray[Any]]:
        """(T, D) copy numbers of the observations, with one state everywhere."""
        shape = len(self.segment), num_samples
        numbers = {"major_cn": self.major, "minor_cn": self.minor, "normal_cn": self.normal}
        columns = {
            name: np.repeat(each[:, np.newaxis], num_samples, axis=1) for name, each in numbers.items()
        }
        return columns | {name: np.zeros(shape, kind) for name, kind in SUBCLONAL.items()}


def _draw_copy_numbers(loci: Loci, megabases: Sequence[int], rng: np.random.Generator) -> CopyNumbers:
    """Every chromosome has two segments, each with its own state."""
    cut = rng.integers(1, np.array(megabases) * MEGABASE)
    segment = (loci.position > cut[loci.chromosome]).astype(int)
    copies = np.empty((len(megabases), 2, 2), np.int64)
    for chromosome in range(len(megabases)):
        table = AUTOSOME_STATES if chromosome < len(AUTOSOMES) else X_STATES
        copies[chromosome] = rng.choice(np.array(list(table)), size=2, p=np.array(list(table.values())))
    major, minor = copies[loci.chromosome, segment].T
    normal = np.where(loci.chromosome < len(AUTOSOMES), 2, 1)
    return CopyNumbers(major, minor, normal, 2 * loci.chromosome + segment)


def _draw_events(
    copies: CopyNumbers, options: SimulationOptions, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(T, 2) event on the segment of each mutation, all 0 where there is none, and (T,) the cluster that has it."""
    events, owner = np.zeros((len(copies.segment), 2), np.int64), np.zeros(len(copies.segment), np.int64)
    for segment in np.unique(copies.segment):
        members = np.flatnonzero(copies.segment == segment)
        if rng.random() < options.subclonal:
            events[members] = draw_event((copies.major[members[0]], copies.minor[members[0]]), rng)
            owner[members] = rng.integers(1, options.clusters)
    return events, owner


def _share_of_second_states(
    drawn: SecondStates,
    copies: NDArray[np.int64],
    normal: NDArray[np.int64],
    purity: NDArray,
    error_rate: float,
) -> NDArray[np.float64]:
    """(N, D) expected shares of variant reads (module docstring); copies (N,) are those in cells without the event."""
    tumour = (1 - drawn.fraction) * copies[:, np.newaxis]
    tumour += drawn.fraction * drawn.state.sum(axis=1)[:, np.newaxis]
    mutant = purity * drawn.carriers / ((1 - purity) * normal[:, np.newaxis] + purity * tumour)
    return mutant * (1 - error_rate) + (1 - mutant) * error_rate


def _draw_clusters(options: SimulationOptions, rng: np.random.Generator) -> NDArray[np.int64]:
    """(T,) clusters, every one with at least a mutation; -1 of artefacts."""
    K, members = options.clusters, options.mutations - options.num_artefacts
    if options.cluster_sizes == "equal":
        labels = np.arange(members) % K
    else:
        others = rng.choice(K, size=members - K, p=rng.dirichlet(np.ones(K)))
        labels = np.concatenate([np.arange(K), others])
    return rng.permutation(np.concatenate([labels, np.full(options.num_artefacts, -1)]))


def _draw_prevalences(options: SimulationOptions, rng: np.random.Generator) -> NDArray[np.float64]:
    """(K, D) prevalences with at most six digits, sorted by their mean."""
    K, D = options.clusters, options.samples
    prevalence = np.round(rng.random((K, D)), 6)
    absent = rng.random((K, D)) < options.absent
    absent[np.arange(K), rng.integers(D, size=K)] = False
    prevalence[absent] = 0.0
    if options.clonal:
        prevalence[0] = 1.0
    return prevalence[np.argsort(-prevalence.mean(axis=1), kind="stable")]


def _draw_from_prior(
    options: SimulationOptions, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """(K, D) prevalences like those of `_draw_prevalences`, and the (D, 3) weights if there are any."""
    K, D = options.clusters, options.samples
    weights = rng.dirichlet(DIRICHLET, D) if options.prevalence_prior == "learned" else None
    prevalence = rng.random((K, D)) if weights is None else draw_prevalences(weights, K, rng)
    prevalence = np.round(prevalence, 6)
    return prevalence[np.argsort(-prevalence.mean(axis=1), kind="stable")], weights


def _draw_rows(options: SimulationOptions, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(T, D) pairs that have a row: every mutation, and with T >= D every sample, keeps one."""
    T, D = options.mutations, options.samples
    kept = rng.permutation(T) % D
    free = np.flatnonzero(np.arange(D) != kept[:, np.newaxis])
    has_row = np.ones(T * D, bool)
    has_row[rng.choice(free, min(round(options.missing * T * D), len(free)), replace=False)] = False
    return has_row.reshape(T, D)


def _write_second_states(
    columns: dict[str, NDArray[Any]], rows: NDArray[np.int64], drawn: SecondStates
) -> None:
    """Write the second states into the columns: the only ones in samples where all cells have them."""
    everywhere = drawn.fraction == 1.0
    is_second = (drawn.fraction > 0.0) & ~everywhere
    for allele, name in enumerate(("major_cn", "minor_cn")):
        state = drawn.state[:, allele, np.newaxis]
        columns[name][rows] = np.where(everywhere, state, columns[name][rows])
        columns[f"subclonal_{name}"][rows] = np.where(is_second, state, 0)
    columns["subclonal_fraction"][rows] = np.where(is_second, drawn.fraction, 0.0)


def _mutation_ids(chrom: Sequence[str], position: NDArray[np.int64], rng: np.random.Generator) -> list[str]:
    """Texts like ``chr1:12345:A>T``."""
    bases = "ACGT"
    ref = rng.integers(4, size=len(chrom))
    alt = (ref + rng.integers(1, 4, size=len(chrom))) % 4
    return [
        f"{name}:{place}:{bases[r]}>{bases[a]}"
        for name, place, r, a in zip(chrom, position.tolist(), ref.tolist(), alt.tolist())
    ]


def simulate(options: SimulationOptions, rng: np.random.Generator) -> Simulation:
    """Draw a tumour.

    Parameters
    ----------
    options : SimulationOptions
    rng : numpy.random.Generator

    Returns
    -------
    Simulation
        Where ``observations.has_data`` is False the pair has no row; its counts are 0.
    """
    T, D = options.mutations, options.samples
    mixed = options.copy_numbers == "mixed"
    megabases = (*AUTOSOMES, X_CHROMOSOME) if mixed else AUTOSOMES
    loci = _draw_loci(T, megabases, rng)
    if mixed:
        copies = _draw_copy_numbers(loci, megabases, rng)
    else:
        ones = np.ones(T, np.int64)
        copies = CopyNumbers(ones, ones, 2 * ones, loci.chromosome)
    genotype = draw_genotypes(copies.major, copies.minor, copies.normal, rng)
    cluster = _draw_clusters(options, rng)
    purity = options.purity_by_sample()
    weights = None
    if options.prevalence_prior != CLONES:
        prevalence, weights = _draw_from_prior(options, rng)
    elif options.subclonal:
        prevalence, within = draw_tree_prevalences(draw_tree(options.clusters, rng), D, options.absent, rng)
    else:
        prevalence = _draw_prevalences(options, rng)
    ccf = prevalence[cluster]
    share = variant_share(genotype[:, np.newaxis], ccf, purity, options.error_rate)
    columns: dict[str, Any] = copies.columns(D)
    if options.subclonal:
        events, owner = _draw_events(copies, options, rng)
        rows = np.flatnonzero(events.any(axis=1))
        alleles = np.column_stack([copies.major, copies.minor])[rows]
        clusters = np.maximum(cluster[rows], 0)
        drawn = draw_second_states(alleles, events[rows], owner[rows], clusters, prevalence, within, rng)
        genotype[rows] = 0
        ccf[rows] = drawn.ccf
        share[rows] = _share_of_second_states(
            drawn, alleles.sum(axis=1), copies.normal[rows], purity, options.error_rate
        )
        _write_second_states(columns, rows, drawn)
    artefacts = cluster < 0
    genotype[artefacts] = 0
    ccf[artefacts] = np.nan
    share[artefacts] = rng.random((options.num_artefacts, D))
    depth = 1 + rng.poisson(options.depth - 1, (T, D))
    alt = draw_alt_counts(depth, share, options.precision_by_sample(), rng)
    has_data = _draw_rows(options, rng)
    names = [f"chr{number + 1}" for number in range(len(AUTOSOMES))] + ["chrX"]
    chrom = [names[number] for number in loci.chromosome]
    observations = Observations(
        mutation_ids=_mutation_ids(chrom, loci.position, rng),
        sample_ids=[f"S{number}" for number in range(1, D + 1)],
        ref_counts=np.where(has_data, depth - alt, 0),
        alt_counts=np.where(has_data, alt, 0),
        tumour_content=np.tile(purity, (T, 1)),
        error_rate=np.full((T, D), options.error_rate),
        has_data=has_data,
        annotations={"chrom": chrom, "pos": [str(place) for place in loci.position.tolist()]},
        content_unknown=[],
        **columns,
    )
    return Simulation(observations, cluster, prevalence, genotype, ccf, weights)


def _write_tables(simulation: Simulation, table: Path, truth: Path) -> None:
    import pandas as pd

    from pyclone_pgsm.analyses.tables import write_table

    observations = simulation.observations
    T, D = observations.has_data.shape
    ids = {
        "mutation_id": np.repeat(np.array(observations.mutation_ids, object), D),
        "sample_id": np.tile(np.array(observations.sample_ids, object), T),
    }
    numbers = (
        "ref_counts",
        "alt_counts",
        "major_cn",
        "minor_cn",
        "normal_cn",
        "tumour_content",
        "error_rate",
    )
    rows = {
        **ids,
        **{name: getattr(observations, name).ravel() for name in numbers},
        **{name: np.repeat(np.array(texts, object), D) for name, texts in observations.annotations.items()},
    }
    has_second = observations.subclonal_fraction.ravel() > 0
    if has_second.any():
        for name in SUBCLONAL:
            rows[name] = np.where(has_second, getattr(observations, name).ravel().astype(object), "")
    write_table(pd.DataFrame(rows)[observations.has_data.ravel()], table)
    true = {
        "cluster": np.repeat(simulation.cluster, D),
        "ccf": simulation.ccf.ravel(),
    }
    write_table(pd.DataFrame({**ids, **true}), truth)


def write_simulation(
    folder: Path, options: SimulationOptions, seed: int = 1, *, name: str = "simulated", force: bool = False
) -> list[Path]:
    """Draw a tumour and write ``NAME.tsv``, ``NAME.truth.tsv`` and ``NAME.json``: same seed, same bytes.

    Parameters
    ----------
    folder : Path
        Made if need be.
    options : SimulationOptions
    seed : int
        At least 0.
    name : str
        NAME.
    force : bool
        Replace existing files.

    Returns
    -------
    list of Path
        The table in PyClone-VI's long format; the truth (``mutation_id sample_id cluster ccf``, with the rows
        that the table lacks; artefacts have cluster -1 and no ccf); the options and seed, and of prevalences drawn
        from the learned prior the weights: near 0, near 1, anywhere.

    Raises
    ------
    UsageError
        The seed or the name cannot be used.
    OutputError
        A file exists and `force` is False, or it cannot be written.
    """
    check_range("--seed", seed, *BOUNDS["seed"])
    if Path(name).name != name or not name.strip("."):
        raise UsageError(f"--name {name!r}: must be a file's name without folder, like tumour1")
    paths = [folder / f"{name}{ending}" for ending in (".tsv", ".truth.tsv", ".json")]
    for path in paths:
        check_new(path, force)
    needed, there = options.mutations * options.samples * BYTES_PER_ROW, available()
    if there is not None and needed > there:
        raise UsageError(
            f"--mutations {options.mutations}: {options.samples} samples of so many need about {shown(needed)} of "
            f"memory, and {shown(there)} are available: give fewer"
        )
    simulation = simulate(options, np.random.Generator(np.random.PCG64(seed)))
    noted = {"program": "pyclone-pgsm simulate", "version": __version__, "seed": seed, **options.to_dict()}
    if simulation.weights is not None:
        noted["weights"] = dict(zip(simulation.observations.sample_ids, simulation.weights.tolist()))
    with replacing_together():
        make_folder(folder)
        _write_tables(simulation, paths[0], paths[1])
        with replacing(paths[2]) as temporary:
            temporary.write_text(json.dumps(noted, indent=2) + "\n")
    return paths
