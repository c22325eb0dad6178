"""Signs of mistakes in the data of one tumour, although each single value is allowed, and of data that bias the model.

Each suspicion is a sentence for the user; it changes nothing. The thresholds of mistakes are far from what the data of
one tumour can give, so ordinary data raise none; but reads that are missing by chance look like those of a table of
calls.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import bdtrc, chdtrc

from pyclone_pgsm.inputs.genome import AUTOSOMES, harmonise_chromosome
from pyclone_pgsm.inputs.observations import (
    CLONAL,
    PLACEHOLDERS,
    PRIORS_WITHOUT_COPY_NUMBERS,
    Observations,
    looks_at_no_alleles,
)
from pyclone_pgsm.inputs.problems import count, listed
from pyclone_pgsm.inputs.read_counts.empty_samples import LEAST_MUTATIONS, normal_samples, without_reads

FAR_ABOVE = 0.1
"""A variant allele frequency is far above the largest allowed by copy numbers and tumour content at this distance."""

MOST_IMPOSSIBLE = 0.5
"""If at least this share of its frequencies is far above, a sample must be wrong; real tumours had at most 0.04."""

HIGH_FREQUENCY, MANY_IMPOSSIBLE = 0.7, 0.25
"""If the median frequency of the sample is above the first, the second share is enough."""

LEAST_READS, LEAST_FREQUENCY = 5, 0.05
"""A mutation with at least this many variant reads, and this share of the depth, is certainly present in a sample."""

FEW_READS, MOST_WITH_FEW = 1, 0.01
"""Where all mutations of a tumour are counted in a sample, more than this share has no more variant reads than the
first: those of the clones that are absent from the sample."""

LEAST_COUNTED, LEAST_UNCOUNTED = 50, 0.1
"""Samples are checked for that if they have no reads of at least this share of all mutations, and together reads of at
least this number, once for each sample."""

ALL_SEEN_BY_CHANCE = 1e-3
"""With fewer reads, each has none of at least `LEAST_MUTATIONS` mutations, and if the clones of these were absent, the
probability that none of the counted mutations belongs to such clones is smaller than this."""

TOO_HIGH, USUAL_PRECISION = 1.645, 200.0
"""A frequency is too high at this number of standard deviations above the largest allowed, 5 % of those of mutations at
this largest; the deviation is that of the beta-binomial with this precision."""

MANY_TOO_HIGH = 0.1
"""Where a larger share of a sample's frequencies is too high, its tumour content may be too low. Of samples with 30
mutations or more the share is at most 0.067 in 1,489 real and simulated ones, 0.08 and 0.09 in two whose content was
10 % too low, and 0.13 to 0.29 in five where it was 15 to 18 % too low. With fewer mutations than `LEAST_COUNTED`, as
many must also have a smaller probability than `BY_CHANCE` if the expected 5 % are too high."""
BY_CHANCE = 1e-4

GERMLINE_HIGH, GERMLINE_FIT = 3.0, 0.01
"""Reads look like those of a germline variant if they exceed what is allowed by the first number of standard deviations
in all samples together, and the chi-square test of a heterozygous germline variant gives more than the second."""

LEAST_GERMLINE, LEAST_GERMLINE_SHARE, MOST_GERMLINE_SHARE = 3, 0.02, 1.0 / 3.0
"""Least number and least share of mutations with such reads that are reported. If more than the last share have such
reads, the tumour content is more probably too low."""

LEAST_TWO_AND_ONE = 1.0 / 3.0
"""Where major_cn is the total, the usual 1 + 1 copies are written as 2 and 1, and the major ones are at least twice the
minor ones of every mutation. Data of `LEAST_COUNTED` mutations or more, once for each sample, are suspected if a larger
share is written so; of a real tumour with a doubled genome it was 0.15, and 0.44 had fewer major copies than that."""

MOSTLY_GAINED = 0.6
"""A sample with a larger share of its mutations on gained segments is mostly gained: the share is 0.8 and more after a
doubling of the genome, and at most about 0.5 in other tumours."""
LEAST_GAINED = 10
"""Samples with fewer mutations than this are not checked for that: by chance, most may be on gained segments."""

HIGH_ERROR_RATE = 0.05
"""Larger error rates are not those of sequencing: of bases of the lowest quality that callers usually accept, Phred 20,
0.01 are wrong."""


def suspicions(
    observations: Observations, genotype_prior: str = "major", uncertain: Collection[str] = ()
) -> list[str]:
    """Return likely mistakes in the data of one tumour, and what biases the model, as sentences without a full stop.

    `uncertain` are the samples whose tumour content is inferred.
    """
    # also where the model uses no copy numbers, the data have them
    observations = observations.as_seen_by("total" if looks_at_no_alleles(genotype_prior) else genotype_prior)
    same = _same_mutations(observations)
    of_samples = _each_once(observations, same)
    return [
        *(list(_swapped_alleles(observations)) or _too_high(observations, uncertain)),
        *_mutation_twice(observations, same),
        *(list(_two_patients(of_samples)) or _only_calls(of_samples)),
        *(list(_total_as_major(observations)) or _mostly_gained(observations, genotype_prior)),
        *normal_samples(observations),
        *without_reads(observations),
        *_high_error_rates(observations),
        *_same_sample_twice(observations),
        *_names_alike(observations.sample_ids),
        *_other_normal_copies(observations),
        *_normal_copies_of_autosomes(observations),
        *_commented_out(observations),
    ]


def _same_mutations(observations: Observations) -> list[list[int]]:
    """Return the places of each group of mutations that seem to be one mutation under several names.

    Their positions and alleles are the same; without alleles, also no sample has data of two of them. Where positions
    are not known, their names differ only in a prefix ``chr`` and capital letters.
    """
    nothing = [""] * observations.num_mutations
    chroms, *texts = (observations.annotations.get(name, nothing) for name in ("chrom", "pos", "ref", "alt"))
    harmonised = {name: harmonise_chromosome(name) for name in set(chroms)}
    keys = pd.Series(
        "\t".join((harmonised[chrom], pos, ref.upper(), alt.upper()))
        if chrom and pos
        else name.casefold().removeprefix("chr")
        for name, chrom, pos, ref, alt in zip(observations.mutation_ids, chroms, *texts)
    )
    several = keys[keys.duplicated(keep=False)]
    groups = [group.index.tolist() for _, group in several.groupby(several, sort=False)]
    return [
        same
        for same in groups
        if all(keys[same[0]].split("\t")[1:]) or observations.has_data[same].sum(axis=0).max() == 1
    ]


def _each_once(observations: Observations, same: Sequence[Sequence[int]]) -> Observations:
    """Return the data with one mutation for each group of the same ones: in each sample, the first that has data."""
    if not same:
        return observations
    rows = np.tile(np.arange(observations.num_mutations)[:, None], observations.num_samples)
    kept = np.ones(observations.num_mutations, dtype=bool)
    for places in same:
        rows[places[0]] = np.asarray(places)[observations.has_data[places].argmax(axis=0)]
        kept[places[1:]] = False
    changed: dict[str, Any] = {
        name: np.take_along_axis(getattr(observations, name), rows, axis=0)[kept]
        for name in (*PLACEHOLDERS, "has_data")
    }
    changed["mutation_ids"] = list(compress(observations.mutation_ids, kept))
    return replace(observations, annotations={}, **changed)


def _mutation_twice(observations: Observations, same: Sequence[Sequence[int]]) -> Iterator[str]:
    if same:
        names = ["/".join(repr(observations.mutation_ids[place]) for place in each) for each in same]
        more = f"; and {len(names) - 3} more" if len(names) > 3 else ""
        yield (
            f"is a mutation named in several ways? The names of {count(len(names), 'mutation')} have the same position "
            f"and alleles, or differ only in 'chr' or capital letters: {'; '.join(names[:3])}{more}. Each name is a "
            "mutation of its own here; write a mutation_id alike in all samples"
        )


def _same_sample_twice(observations: Observations) -> Iterator[str]:
    """Suspect samples with the same reads of all mutations, unless these have hardly any different ones."""
    samples: dict[bytes, list[int]] = {}
    reads = np.where(observations.has_data, [observations.alt_counts, observations.ref_counts], -1)
    for d in range(observations.num_samples):
        samples.setdefault(reads[:, :, d].tobytes(), []).append(d)
    for same in samples.values():
        known = reads[:, observations.has_data[:, same[0]], same[0]]
        if len(same) > 1 and len(np.unique(known.T, axis=0)) >= LEAST_MUTATIONS:
            names = listed([observations.sample_ids[d] for d in same])
            yield f"is a sample given twice? {names} have the same reads of every mutation"


def _names_alike(samples: Sequence[str]) -> Iterator[str]:
    """Suspect samples whose names differ in nothing but capital letters and white space."""
    alike: dict[str, list[str]] = {}
    for name in samples:
        alike.setdefault(" ".join(name.split()).casefold(), []).append(name)
    names = [listed(same) for same in alike.values() if len(same) > 1]
    if names:
        yield (
            "are these one sample each, spelled in several ways? Names that differ only in capital letters or white "
            f"space are of different samples here: {'; '.join(names)}"
        )


def _other_normal_copies(observations: Observations) -> Iterator[str]:
    """Suspect mutations whose number of normal copies, which is the patient's, is not the same in all samples."""
    normal = np.where(observations.has_data, observations.normal_cn, -1)
    largest = normal.max(axis=1, initial=-1, keepdims=True)
    differ = (observations.has_data & (normal != largest)).any(axis=1)
    if differ.any():
        yield (
            "the normal cells of a patient have the same copies in all samples, but normal_cn differs between samples "
            f"for {listed(list(compress(observations.mutation_ids, differ)), 3)}"
        )


def _normal_copies_of_autosomes(observations: Observations) -> Iterator[str]:
    chroms = observations.annotations.get("chrom", [])
    on_autosomes = {name: harmonise_chromosome(name) in AUTOSOMES for name in set(chroms)}
    other = (observations.has_data & (observations.normal_cn != 2)).any(axis=1)
    names = [
        name
        for name, chrom, differs in zip(observations.mutation_ids, chroms, other)
        if differs and on_autosomes[chrom]
    ]
    if names:
        yield (
            "normal cells have two copies of chromosomes 1 to 22, but normal_cn is another number for "
            f"{count(len(names), 'mutation')} there: {listed(names, 3)}. It is the copy number of normal cells, not "
            "that of the tumour"
        )


def _commented_out(observations: Observations) -> Iterator[str]:
    names = [name for name in observations.mutation_ids if name.startswith("#")]
    if 0 < len(names) < observations.num_mutations:
        yield (
            "are these rows meant as comments? Comments are only possible above the header, and mutations whose names "
            f"begin with '#' are used as others are: {listed(names, 3)}"
        )


def content_taken_as_one(samples: Sequence[str]) -> list[str]:
    """Return a warning if there are samples whose tumour content is not specified."""
    text = f"tumour content of {listed(samples)} is unknown and assumed to be 1; set it with `tumour_content`"
    return [text] if samples else []


def _frequencies(observations: Observations) -> NDArray[np.float64]:
    """Return (T, D) variant allele frequencies, NaN where there are no data."""
    depth = np.where(observations.has_data & (observations.depth > 0), observations.depth, np.nan)
    return observations.alt_counts / depth


def _highest_frequencies(observations: Observations) -> NDArray[np.float64]:
    """Return (T, D) the variant allele frequency of a mutation on all major copies of all tumour cells."""
    second = observations.subclonal_fraction
    mutated = (1 - second) * observations.major_cn + second * observations.subclonal_major_cn
    return observations.tumour_content * mutated / np.maximum(observations.mean_copies, 1e-9)


def _swapped_alleles(observations: Observations) -> Iterator[str]:
    frequencies, highest = _frequencies(observations), _highest_frequencies(observations) + FAR_ABOVE
    shares: dict[str, float] = {}
    for sample, of_sample, most in zip(observations.sample_ids, frequencies.T, highest.T):
        known = ~np.isnan(of_sample)
        if known.sum() < LEAST_MUTATIONS:
            continue
        impossible = (of_sample > most)[known].mean()
        impossible_if_swapped = (1 - of_sample > most)[known].mean()
        is_high = np.median(of_sample[known]) > HIGH_FREQUENCY
        if impossible >= max(MANY_IMPOSSIBLE if is_high else MOST_IMPOSSIBLE, 2 * impossible_if_swapped):
            shares[sample] = 100 * impossible
    if shares:
        least, most = f"{min(shares.values()):.0f}", f"{max(shares.values()):.0f}"
        yield (
            "are the reads of reference and variant swapped? ref_counts are the reads that show the reference allele, "
            f"alt_counts those that show the variant. In {listed(list(shares))}, "
            f"{least if least == most else f'{least} to {most}'} % of the variant allele frequencies are far above "
            "what copy numbers and tumour content allow; if the reads are right, one of these is wrong"
        )


def _deviations(observations: Observations, expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (T, D) how many standard deviations frequencies are above the expected ones; NaN where there are no data.

    Copies and contents of a sample without data may be anything.
    """
    depth = np.maximum(observations.depth, 1)
    variance = expected * (1.0 - expected) * (1.0 / depth + (1.0 - 1.0 / depth) / (USUAL_PRECISION + 1.0))
    return (_frequencies(observations) - expected) / np.sqrt(np.maximum(variance, 1e-12))


def _too_high(observations: Observations, uncertain: Collection[str]) -> Iterator[str]:
    """Suspect germline variants among the mutations, and tumour contents that are too low."""
    highest = _highest_frequencies(observations)
    deviations = _deviations(observations, highest)
    are_germline = _like_germline(observations, highest, deviations)
    if not are_germline.any() or _have_many_too_high(deviations[~are_germline]).any():
        yield from _content_too_low(observations, uncertain, deviations)
        return
    names = list(compress(observations.mutation_ids, are_germline))
    yield (
        f"are germline variants among the mutations? The reads of {len(names):,} of {len(are_germline):,} fit a "
        "heterozygous germline variant in every sample, and are more than copy numbers and tumour content allow for a "
        f"mutation of the tumour: {listed(names, 5)}. They may join the trunk or look like one, and make an inferred "
        "tumour content too high. Leave them out; if they are mutations of the tumour, its content is too low, or copy "
        "numbers are wrong"
    )


def _like_germline(
    observations: Observations, highest: NDArray[np.float64], deviations: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return (T,) whether mutations look like germline variants, given `deviations` from the `highest` frequencies."""
    others = (1.0 - observations.tumour_content) / np.maximum(observations.mean_copies, 1e-9)
    from_germline = _deviations(observations, highest + others)
    known = ~np.isnan(deviations)
    number = np.maximum(known.sum(axis=1), 1)
    are_high = np.nansum(deviations, axis=1) > GERMLINE_HIGH * np.sqrt(number)
    found = are_high & (chdtrc(number, np.nansum(from_germline**2, axis=1)) > GERMLINE_FIT)
    share = found.mean() if found.sum() >= LEAST_GERMLINE else 0.0
    return found & (LEAST_GERMLINE_SHARE <= share <= MOST_GERMLINE_SHARE)


def _have_many_too_high(deviations: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return (D,) whether too many of a sample's frequencies are too high, by their (T, D) `deviations`."""
    number, num_counted = (deviations > TOO_HIGH).sum(axis=0), (~np.isnan(deviations)).sum(axis=0)
    by_chance = bdtrc(np.maximum(number - 1, 0), np.maximum(num_counted, 1), 0.05)
    return (number > MANY_TOO_HIGH * num_counted) & ((num_counted >= LEAST_COUNTED) | (by_chance < BY_CHANCE))


def _content_too_low(
    observations: Observations, uncertain: Collection[str], deviations: NDArray[np.float64]
) -> Iterator[str]:
    for place in np.flatnonzero(_have_many_too_high(deviations)).tolist():
        sample = observations.sample_ids[place]
        of_sample = deviations[:, place]
        content = float(np.median(observations.tumour_content[observations.has_data[:, place], place]))
        if sample not in uncertain and content < 1.0:
            yield (
                f"is the tumour content of {sample!r}, {content:g}, too low? {(of_sample > TOO_HIGH).sum()} of its "
                f"{(~np.isnan(of_sample)).sum()} mutations show more variant reads than copy numbers and tumour "
                "content allow, and more than chance explains. Clusters may then be joined. Check it; if it is about "
                f"right, infer it with `tumour_content` {sample}={content:g}±{content / 10:.2g}; wrong copy numbers "
                "and germline variants have the same effect"
            )


def _two_patients(observations: Observations) -> Iterator[str]:
    present = observations.has_data & (observations.alt_counts >= LEAST_READS)
    present &= observations.alt_counts >= LEAST_FREQUENCY * observations.depth
    for seen, least_samples, what in (
        (observations.has_data, 1, "have no mutation in common"),
        (present, 2, "have no mutation in common that is seen in both"),
    ):
        counts = seen.astype(np.float32)
        num_groups, group_of = connected_components(counts.T @ counts > 0)  # samples with common mutations
        groups = [
            group
            for group in (np.flatnonzero(group_of == each).tolist() for each in range(num_groups))
            if len(group) >= least_samples and seen[:, group].any(axis=1).sum() >= LEAST_MUTATIONS
        ]
        if len(groups) > 1:
            first, second = (
                listed([observations.sample_ids[place] for place in group]) for group in groups[:2]
            )
            more = f" (and {count(len(groups) - 2, 'more group')})" if len(groups) > 2 else ""
            yield (
                f"are these samples of {len(groups)} patients? {first} and {second}{more} {what}. A run is meant for "
                "the samples of one tumour"
            )
            return


def _only_calls(observations: Observations) -> Iterator[str]:
    """Suspect samples whose reads were counted only where a mutation was called."""
    counted = observations.has_data & (observations.depth > 0)
    somewhere = counted.any(axis=1)
    counted = counted[somewhere]
    with_few = counted & (observations.alt_counts[somewhere] <= FEW_READS)
    num_counted, num_uncounted = counted.sum(axis=0), (~counted).sum(axis=0)
    only_calls = (num_counted > 0) & (num_uncounted >= LEAST_UNCOUNTED * len(counted))
    only_calls &= with_few.sum(axis=0) <= MOST_WITH_FEW * num_counted
    if num_counted[only_calls].sum() < LEAST_COUNTED:
        only_calls &= num_uncounted >= LEAST_MUTATIONS
        log_by_chance = num_counted[only_calls] * np.log(num_counted[only_calls] / len(counted))
        if log_by_chance.sum() >= np.log(ALL_SEEN_BY_CHANCE):
            return
    samples = listed(list(compress(observations.sample_ids, only_calls)))
    least, most = num_uncounted[only_calls].min(), num_uncounted[only_calls].max()
    number = f"{least}" if least == most else f"{least} to {most}"
    yield (
        f"were reads counted only where a mutation was called? In {samples} nearly every mutation that has reads shows "
        f"the variant, and {number} of {len(counted)} have no reads. What has no reads counts as unknown, not as "
        "absent: clones that are absent from a sample may then seem present, or be joined with others. Count the reads "
        "of all mutations in all samples; nothing is wrong if these were counted, and none covers those mutations"
    )


def _total_as_major(observations: Observations) -> Iterator[str]:
    """Suspect that the column of the major copies has total ones: at least twice the minor copies of every mutation."""
    known = observations.has_data & (observations.normal_cn == 2)
    major, minor = observations.major_cn[known], observations.minor_cn[known]
    two_and_one = (major == 2) & (minor == 1)
    if known.sum() >= LEAST_COUNTED and (major >= 2 * minor).all() and two_and_one.mean() > LEAST_TWO_AND_ONE:
        yield (
            f"is major_cn the total copy number? {100 * two_and_one.mean():.0f} % of its values are 2 with minor_cn 1, "
            "and none is less than twice minor_cn, as if no mutation had 1 and 1 copies. major_cn is the total minus "
            "minor_cn. If the copy numbers are right, most mutations are on gained segments, where prevalences of "
            "subclones come out too low (see the page on limits)"
        )


def _mostly_gained(observations: Observations, genotype_prior: str) -> Iterator[str]:
    """Warn of samples in which most mutations are on gained segments, as after a doubling of the genome.

    There is no warning if the genotype prior allows for gains of all tumour cells, or uses no copy numbers.
    """
    if genotype_prior in (CLONAL, *PRIORS_WITHOUT_COPY_NUMBERS):
        return
    major, total = observations.major_cn, observations.major_cn + observations.minor_cn
    gained = observations.has_data & (major >= 2) & (total > observations.normal_cn)
    num_counted = observations.has_data.sum(axis=0)
    mostly = (num_counted >= LEAST_GAINED) & (gained.sum(axis=0) > MOSTLY_GAINED * num_counted)
    if not mostly.any():
        return
    samples = listed(list(compress(observations.sample_ids, mostly)))
    needs = ", which needs the copies of each allele" if looks_at_no_alleles(genotype_prior) else ""
    yield (
        f"in {samples} most mutations are on gained segments, as after a doubling of the genome: prevalences of "
        "subclones come out too low there, by 0.1 and more, with too narrow intervals, because the genotype prior also "
        "allows for cells without the gain; clusters may be wrong, too. If all tumour cells have the gains, use "
        f"`genotype_prior` {CLONAL}{needs} (see the page on limits)"
    )


def _high_error_rates(observations: Observations) -> Iterator[str]:
    """Suspect error rates that are too high."""
    largest = np.where(observations.has_data, np.nan_to_num(observations.error_rate), 0.0).max(axis=0)
    if samples := list(compress(observations.sample_ids, largest > HIGH_ERROR_RATE)):
        yield (
            f"the error rate is up to {largest.max():g} in {listed(samples)}: is that the probability that a read "
            "shows a wrong base? It is seldom above 0.01, and one that is too high hides subclones"
        )
