"""Simulated tumours: read counts whose clusters and prevalences are known.

The reads come from the model that the sampler assumes (appendix "PyClone" of Bouchard-Côté, Doucet and Roth
2017):

    alt ~ Binomial(depth, p),   p = xi  or  p ~ Beta(s xi, s (1 - xi)),
    xi  = [(1-t) c_N mu_N + t (1-phi) c_R mu_R + t phi c_V mu_V] / [(1-t) c_N + t (1-phi) c_R + t phi c_V],

with genotypes (c_N, c_R, c_V, mutant copies) drawn from the states of the prior ``major``: one per mutation, since it
arose once, or one for each sample, which is what the sampler assumes. Copy numbers are constant on a segment and equal
in all samples, except on segments where a subclone has an event
(:mod:`pyclone_pgsm.simulate.subclones`). There, a read shows the variant if it is from a mutant copy and right, or from
another copy and wrong:

    xi = p (1 - error rate) + (1 - p) error rate,     p the share of mutant copies.

T mutations, D samples, K clusters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.inputs.genome import AUTOSOMES as NAMES
from pyclone_pgsm.inputs.genome import CHROMOSOMES, LENGTHS
from pyclone_pgsm.inputs.observations import SUBCLONAL, Observations
from pyclone_pgsm.simulate.options import BY_SAMPLE, CLONES, SimulationOptions
from pyclone_pgsm.simulate.subclones import (
    SecondStates,
    draw_event,
    draw_second_states,
    draw_tree,
    draw_tree_prevalences,
)
from pyclone_pgsm.tumour.base_measure import DIRICHLET, draw_prevalences
from pyclone_pgsm.tumour.genotypes import genotype_states

MEGABASE = 1_000_000
AUTOSOMES = tuple(LENGTHS["GRCh38"][name] // MEGABASE for name in NAMES)
"""Lengths of the human chromosomes 1 to 22 in whole megabases."""
X_CHROMOSOME = LENGTHS["GRCh38"]["X"] // MEGABASE
AUTOSOME_STATES = {(1, 1): 0.45, (2, 1): 0.2, (1, 0): 0.13, (2, 0): 0.1, (2, 2): 0.07, (3, 1): 0.05}
"""Probabilities of the major and minor copy numbers of a segment, with ``mixed`` copy numbers."""
X_STATES = {(1, 0): 0.8, (2, 0): 0.2}
"""The same for the X chromosome of a male, of which normal cells have one copy."""


@dataclass(frozen=True)
class Simulation:
    """Simulated observations and their truth."""

    observations: Observations
    """T mutations in D samples, in genomic order."""
    cluster: NDArray[np.int64]
    """(T,) cluster 0..K-1 of each mutation, by decreasing mean prevalence; -1 for an artefact."""
    prevalence: NDArray[np.float64]
    """(K, D) cellular prevalence of each cluster in each sample."""
    genotype: NDArray[np.int64]
    """(T, D, 4) copies in normal cells, in cancer cells without and with the mutation, and mutant copies. All 0 on
    segments with an event, and for artefacts."""
    ccf: NDArray[np.float64]
    """(T, D) share of the cancer cells that have the mutation: the prevalence of its cluster, or less where the
    cells of a subclone have lost it. NaN for an artefact."""
    weights: NDArray[np.float64] | None = None
    """(D, 3) weights of the components of the learned base measure (near 0, near 1 and anywhere), if it was used."""


def draw_loci(
    count: int, megabases: Sequence[int], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw distinct loci, sorted: (T,) chromosomes, from 0 (22 is X), and (T,) positions, from 1."""
    ends = np.cumsum(megabases) * MEGABASE
    places = np.sort(rng.choice(ends[-1], count, replace=False))
    chromosome = np.searchsorted(ends, places, side="right")
    starts = ends - np.array(megabases) * MEGABASE
    return chromosome, places - starts[chromosome] + 1


def draw_copy_numbers(
    chromosome: NDArray[np.int64],
    position: NDArray[np.int64],
    megabases: Sequence[int],
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw (T, 3) major, minor and normal copy numbers before any event of a subclone; return also the (T,) segments.

    Each chromosome is cut into two segments, each with its own state.
    """
    cut = rng.integers(1, np.array(megabases) * MEGABASE)
    part = (position > cut[chromosome]).astype(int)
    states = np.empty((len(megabases), 2, 2), np.int64)
    for place in range(len(megabases)):
        table = AUTOSOME_STATES if place < len(AUTOSOMES) else X_STATES
        states[place] = rng.choice(np.array(list(table)), size=2, p=np.array(list(table.values())))
    normal = np.where(chromosome < len(AUTOSOMES), 2, 1)
    return np.column_stack([states[chromosome, part], normal]), 2 * chromosome + part


def draw_mutation_ids(
    chrom: Sequence[str], position: NDArray[np.int64], rng: np.random.Generator
) -> list[str]:
    """Draw ids like ``chr1:12345:A>T``."""
    bases = "ACGT"
    ref = rng.integers(4, size=len(chrom))
    alt = (ref + rng.integers(1, 4, size=len(chrom))) % 4
    return [
        f"{name}:{place}:{bases[r]}>{bases[a]}"
        for name, place, r, a in zip(chrom, position.tolist(), ref.tolist(), alt.tolist())
    ]


def draw_genotypes(copies: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw (T, 4) genotypes, uniformly from the states of the prior ``major``.

    `copies` (T, 3) are the major, minor and normal copy numbers.
    """
    genotype = np.empty((len(copies), 4), np.int64)
    distinct, kind = np.unique(copies, axis=0, return_inverse=True)
    for k, numbers in enumerate(distinct):
        members = np.flatnonzero(kind.reshape(-1) == k)
        states = np.array(genotype_states("major", *map(int, numbers)))
        genotype[members] = states[rng.integers(len(states), size=len(members))]
    return genotype


def draw_clusters(options: SimulationOptions, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw (T,) clusters, none of them empty; -1 for artefacts."""
    K, members = options.clusters, options.mutations - options.num_artefacts
    if options.cluster_sizes == "equal":
        labels = np.arange(members) % K
    else:
        others = rng.choice(K, size=members - K, p=rng.dirichlet(np.ones(K)))
        labels = np.concatenate([np.arange(K), others])
    return rng.permutation(np.concatenate([labels, np.full(options.num_artefacts, -1)]))


def draw_independent_prevalences(
    options: SimulationOptions, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Draw (K, D) prevalences, to six decimals and by decreasing mean, and the (D, 3) weights of a learned prior."""
    K, D = options.clusters, options.samples
    weights = rng.dirichlet(DIRICHLET, D) if options.prevalence_prior == "learned" else None
    prevalence = rng.random((K, D)) if weights is None else draw_prevalences(weights, K, rng)
    prevalence = np.round(prevalence, 6)
    if options.prevalence_prior == CLONES:
        absent = rng.random((K, D)) < options.absent
        absent[np.arange(K), rng.integers(D, size=K)] = False
        prevalence[absent] = 0.0
        if options.clonal:
            prevalence[0] = 1.0
    return prevalence[np.argsort(-prevalence.mean(axis=1), kind="stable")], weights


def _draw_events(
    alleles: NDArray[np.int64],
    segments: NDArray[np.int64],
    options: SimulationOptions,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw the (T, 2) events on the mutations' segments, 0 for none, and the (T,) clusters that have them.

    `alleles` (T, 2) are the copies of the two alleles before the events.
    """
    events, owner = np.zeros((len(segments), 2), np.int64), np.zeros(len(segments), np.int64)
    for segment in np.unique(segments):
        members = np.flatnonzero(segments == segment)
        if rng.random() < options.subclonal:
            events[members] = draw_event(alleles[members[0]], rng)
            owner[members] = rng.integers(1, options.clusters)
    return events, owner


def _write_second_states(
    columns: dict[str, NDArray[Any]], rows: NDArray[np.int64], drawn: SecondStates
) -> None:
    """Write the second states into the columns; where all tumour cells have one, it becomes the only state."""
    everywhere = drawn.fraction == 1.0
    is_second = (drawn.fraction > 0.0) & ~everywhere
    for allele, name in enumerate(("major_cn", "minor_cn")):
        state = drawn.state[:, allele, np.newaxis]
        columns[name][rows] = np.where(everywhere, state, columns[name][rows])
        columns[f"subclonal_{name}"][rows] = np.where(is_second, state, 0)
    columns["subclonal_fraction"][rows] = np.where(is_second, drawn.fraction, 0.0)


def variant_share(
    genotype: NDArray[np.int64], prevalence: ArrayLike, tumour_content: ArrayLike, error_rate: float
) -> NDArray[np.float64]:
    """Return xi, the expected share of reads that show the variant (see the module docstring).

    A (..., 4) `genotype` has c_normal, c_reference, c_variant and the mutant copies; it broadcasts with phi and t.
    Shares of variant copies are clipped to [error_rate, 1 - error_rate].
    """
    normal, reference, variant, mutant = np.moveaxis(genotype, -1, 0)
    phi, t = np.asarray(prevalence, float), np.asarray(tumour_content, float)
    carriers = t * phi * variant
    others = (1 - t) * normal + t * (1 - phi) * reference
    mutant_share = np.clip(mutant / variant, error_rate, 1 - error_rate)
    return (others * error_rate + carriers * mutant_share) / (others + carriers)


def share_of_second_states(
    drawn: SecondStates, copies: NDArray[np.int64], purity: NDArray, error_rate: float
) -> NDArray[np.float64]:
    """Return (N, D) xi on segments with an event.

    `copies` (N, 3) are the major, minor and normal copy numbers, the first two in tumour cells without the event.
    """
    tumour = (1 - drawn.fraction) * copies[:, :2].sum(axis=1, keepdims=True)
    tumour += drawn.fraction * drawn.state.sum(axis=1, keepdims=True)
    mutant = purity * drawn.carriers / ((1 - purity) * copies[:, 2:] + purity * tumour)
    return mutant * (1 - error_rate) + (1 - mutant) * error_rate


def draw_alt_counts(
    depth: NDArray[np.int64], share: NDArray[np.float64], precision: ArrayLike, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw (T, D) variant reads: beta-binomial, or binomial where the precision, for all or (D,), is infinite."""
    s = np.broadcast_to(np.asarray(precision, float), share.shape)
    is_beta = np.isfinite(s)
    share = share.copy()
    share[is_beta] = rng.beta(s[is_beta] * share[is_beta], s[is_beta] * (1 - share[is_beta]))
    return rng.binomial(depth, share)


def _draw_rows(options: SimulationOptions, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw (T, D) which pairs have a row. Every mutation keeps one, and so does every sample if T >= D."""
    T, D = options.mutations, options.samples
    kept = rng.permutation(T) % D
    free = np.flatnonzero(np.arange(D) != kept[:, np.newaxis])
    has_row = np.ones(T * D, bool)
    has_row[rng.choice(free, min(round(options.missing * T * D), len(free)), replace=False)] = False
    return has_row.reshape(T, D)


def simulate(options: SimulationOptions, rng: np.random.Generator) -> Simulation:
    """Draw a tumour. Pairs without a row have ``observations.has_data`` False and counts 0."""
    T, D = options.mutations, options.samples
    mixed = options.copy_numbers == "mixed"
    megabases = (*AUTOSOMES, X_CHROMOSOME) if mixed else AUTOSOMES
    chromosome, position = draw_loci(T, megabases, rng)
    if mixed:
        copies, segments = draw_copy_numbers(chromosome, position, megabases, rng)
    else:
        copies, segments = np.tile([1, 1, 2], (T, 1)), chromosome
    draws = [draw_genotypes(copies, rng) for _ in range(D if options.genotypes == BY_SAMPLE else 1)]
    genotype = np.repeat(draws, D // len(draws), axis=0).swapaxes(0, 1)
    cluster = draw_clusters(options, rng)
    purity = options.by_sample("purity")
    weights = None
    if options.subclonal:
        prevalence, within = draw_tree_prevalences(draw_tree(options.clusters, rng), D, options.absent, rng)
    else:
        prevalence, weights = draw_independent_prevalences(options, rng)
    ccf = prevalence[cluster]
    share = variant_share(genotype, ccf, purity, options.error_rate)
    names = ("major_cn", "minor_cn", "normal_cn")
    columns: dict[str, Any] = {name: np.repeat(copies[:, [c]], D, axis=1) for c, name in enumerate(names)}
    columns |= {name: np.zeros((T, D), kind) for name, kind in SUBCLONAL.items()}
    if options.subclonal:
        alleles = copies[:, :2]
        events, owner = _draw_events(alleles, segments, options, rng)
        rows = np.flatnonzero(events.any(axis=1))
        clusters = np.maximum(cluster[rows], 0)
        drawn = draw_second_states(
            alleles[rows], events[rows], owner[rows], clusters, prevalence, within, rng
        )
        genotype[rows] = 0
        ccf[rows] = drawn.ccf
        share[rows] = share_of_second_states(drawn, copies[rows], purity, options.error_rate)
        _write_second_states(columns, rows, drawn)
    artefacts = cluster < 0
    genotype[artefacts] = 0
    ccf[artefacts] = np.nan
    share[artefacts] = rng.random((options.num_artefacts, D))
    depth = 1 + rng.poisson(options.depth - 1, (T, D))
    alt = draw_alt_counts(depth, share, options.by_sample("precision"), rng)
    has_data = _draw_rows(options, rng)
    chrom = [f"chr{CHROMOSOMES[number]}" for number in chromosome]
    observations = Observations(
        mutation_ids=draw_mutation_ids(chrom, position, rng),
        sample_ids=[f"S{number}" for number in range(1, D + 1)],
        ref_counts=np.where(has_data, depth - alt, 0),
        alt_counts=np.where(has_data, alt, 0),
        tumour_content=np.broadcast_to(purity, (T, D)).copy(),
        error_rate=np.full((T, D), options.error_rate),
        has_data=has_data,
        annotations={"chrom": chrom, "pos": [str(place) for place in position.tolist()]},
        content_unknown=[],
        **columns,
    )
    return Simulation(observations, cluster, prevalence, genotype, ccf, weights)
