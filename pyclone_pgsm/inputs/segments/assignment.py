"""Which file of segments belongs to which sample of the mutations: as the user says, or by the names in the files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.mutations.naming import ROLES
from pyclone_pgsm.inputs.problems import listed
from pyclone_pgsm.inputs.sample_sheet import Patient
from pyclone_pgsm.inputs.segments.model import Segments, combined
from pyclone_pgsm.inputs.segments.reading import read_segments, sample_stem


def segments_of_samples(
    patient: Patient,
    samples: Sequence[str],
    cn_format: str | None,
    genotype_prior: str,
    advice: str,
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
