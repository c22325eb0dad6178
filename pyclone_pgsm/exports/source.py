"""Matching the rows and samples of the user's own file of mutations with those of the result."""

import math
from collections.abc import Sequence
from pathlib import Path

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.exports.answer import Answer, ExportOptions
from pyclone_pgsm.inputs.genome import chromosome
from pyclone_pgsm.inputs.mutations.model import VariantFile, allele, mutation_id, trimmed
from pyclone_pgsm.inputs.mutations.naming import choose_samples, samples_of_file
from pyclone_pgsm.inputs.problems import FileProblems
from pyclone_pgsm.inputs.values import is_number


def given_source(options: ExportOptions, name: str, kind: str) -> Path:
    """Return the file to annotate; UsageError if it is not named or does not exist."""
    if options.source is None:
        raise UsageError(f"`format` {name}: annotates your own {kind}: name it with `source` FILE")
    if options.source.is_dir():
        raise UsageError(f"`source` {options.source}: is a directory; your {kind} is expected")
    if not options.source.is_file():
        raise UsageError(f"`source` {options.source}: there is no such file")
    return options.source


def samples_of(
    answer: Answer,
    path: Path,
    options: ExportOptions,
    names: Sequence[str],
    declared: Sequence[str] = (),
    normals: Sequence[str] = (),
) -> dict[str, int]:
    """Return the index in the result of each sample of the file that the result has; InputError if there is none.

    Samples are matched by the names that the user gives, by their name, by ``source`` SAMPLE=FILE, or by the name that
    the readers of mutations would give them, which know those that the file declares as tumours and as normal samples.
    """
    wanted = answer.observations.sample_ids
    place = {name: d for d, name in enumerate(wanted)}
    for sample, name in options.tumour_sample.items():
        if sample not in place:
            raise UsageError(
                f"`tumour_sample` {sample}={name}: the samples of the result are {', '.join(wanted)}"
            )
        if name not in names:
            raise UsageError(
                f"`tumour_sample` {sample}={name}: {path} has no such sample; {samples_of_file(names)}"
            )
    found = {name: place[sample] for sample, name in options.tumour_sample.items()}
    if len(found) < len(options.tumour_sample):
        raise UsageError(f"`tumour_sample`: two samples of the result cannot have the same name in {path}")
    if found:
        return found
    if options.source_sample is not None and options.source_sample not in place:
        raise UsageError(
            f"`source` {options.source_sample}={path}: the samples of the result are {', '.join(wanted)}"
        )
    if options.source_sample is None and (found := {name: place[name] for name in names if name in place}):
        return found
    problems = FileProblems(str(path))
    given = {options.source_sample: None} if options.source_sample is not None else {}
    chosen, _, _ = choose_samples(VariantFile(path, given), (), names, declared, problems, normals)
    found = {name: place[given] for name, given in chosen.items() if given in place}
    if not found:
        raise problems.give_up(
            f"none of its samples ({', '.join(names[:20])}) is in the result ({', '.join(wanted)}): say which is "
            f"which with `tumour_sample`, as in {wanted[0]}={next(iter(chosen), 'NAME')}"
        )
    return found


class Mutations:
    """Finds the mutations of a result by position and alleles."""

    def __init__(self, answer: Answer) -> None:
        data = answer.observations
        self._by_id = {name: t for t, name in enumerate(data.mutation_ids)}
        self._by_alleles: dict[str, int] = {}
        self._by_place: dict[str, int | None] = {}
        fields = (answer.annotation(name) for name in ("chrom", "pos", "ref", "alt"))
        for t, (chrom, pos, ref, alt) in enumerate(zip(*fields)):
            if not chrom or not pos:
                continue
            try:
                harmonised, pos, ref, alt = chromosome(chrom), _position(pos), allele(ref), allele(alt)
            except ValueError:  # annotations of a table of read counts are any text
                continue
            if ref or alt:
                self._by_alleles[_shortest_id(harmonised, pos, ref, alt)] = t
                continue
            place = f"{harmonised}:{pos}"
            self._by_place[place] = None if place in self._by_place else t  # two here are ambiguous

    def find(self, chrom: str, pos: str, ref: str, alt: str) -> int | None:
        """Return the index of a mutation in the result, or None; indels in the form of VCF or of MAF."""
        try:
            fields = chromosome(chrom), _position(pos), allele(ref), allele(alt)
        except ValueError:
            return None
        for table, name in ((self._by_alleles, _shortest_id(*fields)), (self._by_id, mutation_id(*fields))):
            if name in table:
                return table[name]
        return self._by_place.get(":".join(fields[:2]))


def _position(text: str) -> str:
    """Return a position without the form that other programs give whole numbers, such as 1000.0 or 1e3."""
    number = float(text) if is_number(text) else math.nan
    return str(int(number)) if number.is_integer() else text


def _shortest_id(chrom: str, pos: str, ref: str, alt: str) -> str:
    """Return the name of a mutation without the bases that its alleles share, the same for the forms of VCF and MAF.

    ``100 CAA C`` of a VCF is ``101 AA -`` of a MAF; ``100 C CAA`` is ``100 - AA``, where 100 is the base before. The
    place is that of the first base that is deleted, or that follows the inserted ones.
    """
    if not pos.isdecimal():
        return mutation_id(chrom, pos, ref, alt)
    place, ref, alt = int(pos), ref.replace("-", ""), alt.replace("-", "")
    if not ref:
        return mutation_id(chrom, place + 1, "-", alt)
    if alt:
        place, ref, alt = trimmed(place, ref, alt)
        if len(ref) != len(alt) and ref[0] == alt[0]:
            place, ref, alt = place + 1, ref[1:], alt[1:]
    return mutation_id(chrom, place, ref or "-", alt or "-")
