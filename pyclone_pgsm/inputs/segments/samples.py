"""Sex and genome build of a tumour, and the tumour content of each sample."""

from collections.abc import Mapping, Sequence

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.genome import BUILDS, LENGTHS, Build, Sex, builds_that_fit, last_positions
from pyclone_pgsm.inputs.mutations.model import Variants
from pyclone_pgsm.inputs.problems import listed
from pyclone_pgsm.inputs.segments.model import Segments


def check_samples(segments: Segments, samples: Sequence[str]) -> None:
    """Raise UsageError if no sample of the mutations has segments."""
    names = sorted(segments.table["sample_id"].unique())
    if set(samples).isdisjoint(names):
        raise UsageError(f"no copy-number segments of {listed(samples)}: those given are of {listed(names)}")


def sex_of(segments: Segments, samples: Sequence[str]) -> Sex | None:
    """Return the sex that the files of the segments give for a tumour's samples; raise UsageError if there are two."""
    found = {hint.sex: hint for hint in segments.hints if hint.sex is not None and hint.sample_id in samples}
    if len(found) > 1:
        given = " and ".join(
            f"{sex} for sample {hint.sample_id!r} ({hint.file})" for sex, hint in found.items()
        )
        raise UsageError(
            f"the callers give two sexes for samples of the same tumour: {given}. One of them is wrong, or the samples "
            "are of two persons; if they are of one, give its `sex`"
        )
    return next(iter(found), None)


def content_of(option: Mapping[str, float] | float | None, sample: str, segments: Segments) -> float | None:
    """Return the tumour content of a sample: that given, for it or for all, or else the purity in its caller's files.

    The result is None if neither gives one; UsageError if the files disagree.
    """
    content = option.get(sample) if isinstance(option, Mapping) else option
    if content is not None:
        return content
    found = {
        hint.purity: hint.file
        for hint in segments.hints
        if hint.purity is not None and hint.sample_id == sample
    }
    if len(found) > 1:
        given = " and ".join(f"{purity:g} ({file})" for purity, file in found.items())
        raise UsageError(
            f"the caller's files give two tumour contents for sample {sample!r}: {given}; give its `tumour_content`"
        )
    return next(iter(found), None)


def build_of(variants: Variants, segments: Segments, samples: Sequence[str]) -> Build | None:
    """Return the genome build of a tumour's samples, if known; raise UsageError if they fit no single build."""
    of_build: dict[Build, str] = {}
    for sample in samples:
        if (build := _build_of_sample(variants, segments, sample)) is not None:
            of_build[build] = sample
    if len(of_build) > 1:
        (first, one), (second, other) = of_build.items()
        raise UsageError(
            f"sample {one!r} is of genome build {first}, sample {other!r} of {second}: their mutations cannot be "
            "compared. Convert some of them (liftover); or give `genome_build`, if this is a mistake"
        )
    return next(iter(of_build), None)


def _build_of_sample(variants: Variants, segments: Segments, sample: str) -> Build | None:
    given = variants.table[variants.table["sample_id"] == sample]
    of_sample = segments.table[segments.table["sample_id"] == sample]
    last_mutations = last_positions(given["chrom"], given["pos"])
    last_segments = last_positions(of_sample["chrom"], of_sample["end"])
    _check_mixed(sample, "mutations", last_mutations)
    _check_mixed(sample, "segments", last_segments)
    of_mutations = builds_that_fit(last_mutations)
    of_segments = builds_that_fit(last_segments)
    said = {variants.builds.get(file) for file in given["file"].unique()}
    of_mutations = [build for build in of_mutations if said == {build}] or of_mutations
    both = [build for build in of_mutations if build in of_segments]
    if of_mutations and of_segments and not both:
        why = _too_long(last_segments, of_mutations[0]) or _too_long(last_mutations, of_segments[0])
        raise UsageError(
            f"sample {sample!r}: the mutations are of genome build {of_mutations[0]}, the segments of {of_segments[0]} "
            f"({why}). Convert one of them (liftover); or give `genome_build`, if this is a mistake"
        )
    return both[0] if len(both) == 1 else None


def _check_mixed(sample: str, what: str, last: Mapping[str, int]) -> None:
    """Raise UsageError if the positions fit no single build, although each of them fits some build."""
    each_fits = all(builds_that_fit({chrom: position}) for chrom, position in last.items())
    if each_fits and not builds_that_fit(last):
        why = "; ".join(_too_long(last, build) for build in BUILDS)
        raise UsageError(
            f"sample {sample!r}: the {what} are of different genome builds ({why}). Convert some of them (liftover); "
            "or give `genome_build`, if this is a mistake"
        )


def _too_long(last: Mapping[str, int], build: Build) -> str:
    """Describe a position beyond the end of a chromosome; "" if there is none."""
    for chrom, position in last.items():
        if position > LENGTHS[build].get(chrom, position):
            return f"chromosome {chrom} has {LENGTHS[build][chrom]} bases in {build}, and here is position {position}"
    return ""
