"""Which segments belong to which sample of the mutations; sex and build of a tumour, tumour content of samples."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.genome import BUILDS, LENGTHS, Build, Sex, builds_that_fit, last_positions
from pyclone_pgsm.inputs.mutations.model import Variants
from pyclone_pgsm.inputs.mutations.naming import ROLES
from pyclone_pgsm.inputs.problems import listed
from pyclone_pgsm.inputs.sample_sheet import Patient
from pyclone_pgsm.inputs.segments.model import Segments, combined
from pyclone_pgsm.inputs.segments.reading import read_segments, sample_stem


def segments_of_samples(
    patient: Patient, samples: Sequence[str], cn_format: str | None, genotype_prior: str, advice: str
) -> tuple[Segments, list[str]]:
    """Return the segments of all files under the samples' names, and notes on how files were assigned to samples.

    The parameters are those of :func:`~pyclone_pgsm.inputs.segments.reading.read_segments`, `samples` the names of the
    samples of the mutations. UsageError if a file belongs to none of them, or may belong to several; it ends with the
    `advice`. InputError lists what is wrong in a file.
    """
    if not patient.segments:
        raise UsageError("mutations need copy numbers: give `segments`, one file per sample or one for all")
    by_sample: dict[str | None, list[Path]] = {}
    for file in patient.segments:
        by_sample.setdefault(file.sample_id, []).append(file.path)
    unknown = [sample for sample in by_sample if sample is not None and sample not in samples]
    if unknown:
        raise UsageError(
            f"segments are given for {listed(unknown)}, but the samples of the mutations are {listed(samples)}"
        )
    of_sample = [path for sample, paths in by_sample.items() if sample is not None for path in paths]
    if twice := [path for path in by_sample.get(None, ()) if path in of_sample]:
        raise UsageError(f"{twice[0]}: these segments are given for a sample and without one; give them once")
    if all(file.samples for file in patient.mutations):
        advice += ". In a sample sheet, name the file in the row of each sample that it has"
    parts: list[Segments] = []
    notes: list[str] = []
    for sample, paths in by_sample.items():
        part = read_segments(
            paths,
            cn_format,
            sample,
            genotype_prior=genotype_prior,
            name_in_file=patient.names_in_files.get(sample or ""),
        )
        if sample is None:
            part, notes = _named(part, samples, patient.names_in_files, advice)
        parts.append(part)
    return combined(parts), notes


def _named(
    segments: Segments, samples: Sequence[str], names_in_files: Mapping[str, str], advice: str
) -> tuple[Segments, list[str]]:
    """Name segments after the samples of the mutations, by the names that these have in their files, if known.

    Files with a single sample may be named similarly. The second result are notes on what was named.
    """
    of_file: dict[str, list[str]] = {}
    for hint in segments.hints:
        of_file.setdefault(hint.file, []).append(hint.sample_id)
    alone = {file: inside[0] for file, inside in of_file.items() if len(inside) == 1}
    called = [*names_in_files.values(), *samples]
    known = {name: sample for sample, name in names_in_files.items() if called.count(name) == 1}
    names = {
        (hint.file, hint.sample_id): known[hint.sample_id]
        for hint in segments.hints
        if known.get(hint.sample_id, hint.sample_id) not in of_file[hint.file]
    }
    for file, inside in alone.items():
        name = inside or sample_stem(Path(file))
        found = _sample_of(known.get(name, name), samples)
        if found is None and len(of_file) == len(samples) == 1:
            if inside and inside.upper() not in ROLES:
                raise UsageError(
                    f"{file}: these are segments of {inside!r}, but the mutations are those of {samples[0]!r}. If "
                    f"the two are the same sample, write `segments` {samples[0]}={file}"
                )
            found = samples[0]
        if found not in (None, inside):
            names[file, inside] = found
    without = [file for file, inside in alone.items() if not inside and (file, inside) not in names]
    if without:
        raise UsageError(
            f"{without[0]}: which sample are these segments of? Write `segments` SAMPLE={without[0]}; the samples are "
            f"{listed(samples)}{advice}"
        )
    return segments.named(names), [
        f"{file}: taken for the segments of {name!r}" for (file, _), name in names.items()
    ]


def _sample_of(name: str, samples: Sequence[str]) -> str | None:
    """Return the sample with this name, else the longest that is a prefix of it, else the only one that extends it.

    A prefix that other samples extend is ambiguous: P1-R3 may be a sample beside P1 and P1-R2. The result is then None.
    """
    if name in samples:
        return name
    found = max((sample for sample in samples if _begins(name, sample)), key=len, default=name)
    longer = [sample for sample in samples if sample != found and _begins(sample, found)]
    if found == name:
        return longer[0] if len(longer) == 1 else None
    return None if longer else found


def _begins(text: str, beginning: str) -> bool:
    """Whether a name equals another, or continues it with a dot, a dash or the like."""
    return text.startswith(beginning) and not text[len(beginning) :][:1].isalnum()


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
    hints = [hint for hint in segments.hints if hint.sample_id == sample and hint.purity is not None]
    found = {hint.purity: hint.file for hint in hints}
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
    if len(stated := sorted(filter(None, said))) > 1:
        raise UsageError(
            f"sample {sample!r}: its files state the genome builds {' and '.join(stated)}. Convert one of them "
            "(liftover); or give `genome_build`, if this is a mistake"
        )
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
