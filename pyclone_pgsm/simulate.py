"""Simulated tumours: read counts whose clusters and prevalences are known.

The reads come from the model that the sampler assumes (appendix "PyClone" of Bouchard-Côté, Doucet and Roth
2017):

    alt ~ Binomial(depth, p),   p = xi  or  p ~ Beta(s xi, s (1 - xi)),
    xi  = [(1-t) c_N mu_N + t (1-phi) c_R mu_R + t phi c_V mu_V] / [(1-t) c_N + t (1-phi) c_R + t phi c_V],

with one genotype (c_N, c_R, c_V, mutant copies) a mutation, drawn from the states of the prior ``major``.
Copy numbers change by segment and are the same in all samples. T mutations, D samples, K clusters.
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
from pyclone_pgsm.files import refuse_existing, replacing
from pyclone_pgsm.inputs.observations import Observations
from pyclone_pgsm.tumour.genotypes import genotype_states

COPY_NUMBERS = ("diploid", "mixed")
CLUSTER_SIZES = ("dirichlet", "equal")

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
    precision : float
        s of the beta-binomial; infinite for the binomial.
    error_rate : float
        Probability that a read shows the wrong allele, in (0, 0.5).
    cluster_sizes : {"dirichlet", "equal"}
        Weights from a flat Dirichlet distribution, or as equal as can be.
    clonal : bool
        One cluster has prevalence 1 in all samples.
    absent : float
        Probability that a subclonal cluster is absent (prevalence 0) in a sample, in [0, 1); in one sample,
        drawn at random, it is always present. Other prevalences are uniform on (0, 1).

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
    precision: float = math.inf
    error_rate: float = 0.001
    cluster_sizes: str = "dirichlet"
    clonal: bool = True
    absent: float = 0.2

    def __post_init__(self) -> None:
        def check(name: str, right: bool, expected: str) -> None:
            if not right:
                option = "--" + name.replace("_", "-")
                raise UsageError(f"{option} {getattr(self, name)}: must be {expected}")

        check("mutations", 1 <= self.mutations <= MOST_MUTATIONS, f"between 1 and {MOST_MUTATIONS:,}")
        check("samples", self.samples >= 1, "at least 1")
        check(
            "clusters",
            1 <= self.clusters <= self.mutations,
            f"between 1 and the number of mutations, {self.mutations}",
        )
        check("depth", 1 <= self.depth < 1e9, "at least 1 and below 1e9")
        shares = np.atleast_1d(np.array(self.purity, float))
        if len(shares) not in (1, self.samples):
            raise UsageError(
                f"--purity: {len(shares)} numbers for {self.samples} samples: "
                "must be one number for all, or one a sample"
            )
        for share in shares:
            if not 0 < share <= 1:
                raise UsageError(f"--purity {share:g}: must be above 0 and at most 1")
        check("copy_numbers", self.copy_numbers in COPY_NUMBERS, f"one of {', '.join(COPY_NUMBERS)}")
        most = (self.samples - 1) / self.samples
        expected = (
            f"between 0 and {most:.3g}, since every mutation keeps a row" if most else "0 with one sample"
        )
        check("missing", 0 <= self.missing <= most, expected)
        check("precision", self.precision >= 0.1, "at least 0.1, or inf for the binomial")
        check("error_rate", 0 < self.error_rate < 0.5, "above 0 and below 0.5")
        check("cluster_sizes", self.cluster_sizes in CLUSTER_SIZES, f"one of {', '.join(CLUSTER_SIZES)}")
        check("absent", 0 <= self.absent < 1, "at least 0 and below 1")

    def purity_by_sample(self) -> NDArray[np.float64]:
        """(D,) shares of cancer cells."""
        return np.broadcast_to(np.array(self.purity, float), self.samples).copy()

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the infinite precision is the text ``inf``."""
        purity = [float(share) for share in np.atleast_1d(np.array(self.purity, float))]
        precision: float | str = "inf" if math.isinf(self.precision) else float(self.precision)
        return {**asdict(self), "depth": float(self.depth), "purity": purity, "precision": precision}


@dataclass(frozen=True)
class Simulation:
    """Simulated observations and their truth.

    Attributes
    ----------
    observations : Observations
        T mutations in D samples, in the order of the genome.
    cluster : (T,) int64
        Cluster 0..K-1 of each mutation, numbered from the largest mean prevalence down.
    prevalence : (K, D) float64
        Cellular prevalence of each cluster in each sample.
    genotype : (T, 4) int64
        Copies in normal cells, in cancer cells without the mutation and with it, and mutant copies.
    """

    observations: Observations
    cluster: NDArray[np.int64]
    prevalence: NDArray[np.float64]
    genotype: NDArray[np.int64]


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
    depth: NDArray[np.int64], share: NDArray[np.float64], precision: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Reads that show the variant: beta-binomial, or binomial for an infinite precision."""
    if not math.isinf(precision):
        share = rng.beta(precision * share, precision * (1 - share))
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


def _draw_copy_numbers(
    loci: Loci, megabases: Sequence[int], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(T,) major, minor and normal copies: every chromosome has two segments, each with its own state."""
    cut = rng.integers(1, np.array(megabases) * MEGABASE)
    segment = (loci.position > cut[loci.chromosome]).astype(int)
    copies = np.empty((len(megabases), 2, 2), np.int64)
    for chromosome in range(len(megabases)):
        table = AUTOSOME_STATES if chromosome < len(AUTOSOMES) else X_STATES
        copies[chromosome] = rng.choice(np.array(list(table)), size=2, p=np.array(list(table.values())))
    major, minor = copies[loci.chromosome, segment].T
    return major, minor, np.where(loci.chromosome < len(AUTOSOMES), 2, 1)


def _draw_clusters(options: SimulationOptions, rng: np.random.Generator) -> NDArray[np.int64]:
    """(T,) clusters, every one with at least a mutation."""
    K = options.clusters
    if options.cluster_sizes == "equal":
        labels = np.arange(options.mutations) % K
    else:
        others = rng.choice(K, size=options.mutations - K, p=rng.dirichlet(np.ones(K)))
        labels = np.concatenate([np.arange(K), others])
    return rng.permutation(labels)


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


def _draw_rows(options: SimulationOptions, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(T, D) pairs that have a row: every mutation, and with T >= D every sample, keeps one."""
    T, D = options.mutations, options.samples
    kept = rng.permutation(T) % D
    free = np.flatnonzero(np.arange(D) != kept[:, np.newaxis])
    has_row = np.ones(T * D, bool)
    has_row[rng.choice(free, min(round(options.missing * T * D), len(free)), replace=False)] = False
    return has_row.reshape(T, D)


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
        major, minor, normal = _draw_copy_numbers(loci, megabases, rng)
    else:
        major, minor, normal = np.ones(T, np.int64), np.ones(T, np.int64), np.full(T, 2)
    genotype = draw_genotypes(major, minor, normal, rng)
    cluster = _draw_clusters(options, rng)
    prevalence = _draw_prevalences(options, rng)
    purity = options.purity_by_sample()

    share = variant_share(genotype[:, np.newaxis], prevalence[cluster], purity, options.error_rate)
    depth = 1 + rng.poisson(options.depth - 1, (T, D))
    alt = draw_alt_counts(depth, share, options.precision, rng)
    has_data = _draw_rows(options, rng)
    names = [f"chr{number + 1}" for number in range(len(AUTOSOMES))] + ["chrX"]
    chrom = [names[number] for number in loci.chromosome]
    observations = Observations(
        mutation_ids=_mutation_ids(chrom, loci.position, rng),
        sample_ids=[f"S{number}" for number in range(1, D + 1)],
        ref_counts=np.where(has_data, depth - alt, 0),
        alt_counts=np.where(has_data, alt, 0),
        major_cn=np.repeat(major[:, np.newaxis], D, axis=1),
        minor_cn=np.repeat(minor[:, np.newaxis], D, axis=1),
        normal_cn=np.repeat(normal[:, np.newaxis], D, axis=1),
        tumour_content=np.tile(purity, (T, 1)),
        error_rate=np.full((T, D), options.error_rate),
        has_data=has_data,
        annotations={"chrom": chrom, "pos": [str(place) for place in loci.position.tolist()]},
    )
    return Simulation(observations, cluster, prevalence, genotype)


def _write_tables(simulation: Simulation, table: Path, truth: Path) -> None:
    import pandas as pd

    from pyclone_pgsm.outputs import write_table

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
    write_table(pd.DataFrame(rows)[observations.has_data.ravel()], table)
    true = {
        "cluster": np.repeat(simulation.cluster, D),
        "ccf": simulation.prevalence[simulation.cluster].ravel(),
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
        that the table lacks); the options and seed.

    Raises
    ------
    UsageError
        The seed or the name cannot be used.
    OutputError
        A file exists and `force` is False, or it cannot be written.
    """
    if seed < 0:
        raise UsageError(f"--seed {seed}: must be at least 0")
    if Path(name).name != name or not name.strip("."):
        raise UsageError(f"--name {name!r}: must be a file's name without folder, like tumour1")
    paths = [folder / f"{name}{ending}" for ending in (".tsv", ".truth.tsv", ".json")]
    for path in paths:
        refuse_existing(path, force)
    simulation = simulate(options, np.random.Generator(np.random.PCG64(seed)))
    _write_tables(simulation, paths[0], paths[1])
    noted = {"program": "pyclone-pgsm simulate", "version": __version__, "seed": seed, **options.to_dict()}
    with replacing(paths[2]) as temporary:
        temporary.write_text(json.dumps(noted, indent=2) + "\n")
    return paths
