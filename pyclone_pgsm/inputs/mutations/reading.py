"""Reader of all files of mutation calls, which it combines into one table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import union_categoricals

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.files import storable
from pyclone_pgsm.inputs.mutations.kinds import kind_of
from pyclone_pgsm.inputs.mutations.model import COLUMNS, VariantFile, Variants, mutation_id, mutation_ids
from pyclone_pgsm.inputs.mutations.naming import samples_of_file
from pyclone_pgsm.inputs.mutations.tables import EXPECTED, MAF, PLAIN, read_table
from pyclone_pgsm.inputs.mutations.vcf import read_vcf
from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.inputs.problems import FileProblems, count, listed, raise_any
from pyclone_pgsm.inputs.read_counts.layout import MEANS
from pyclone_pgsm.inputs.table import columns_by_part, letters, place, repeated
from pyclone_pgsm.inputs.text import open_text, read_each

MANY_READS = 0.1
"""Share of a mutation's reads; with more reads of other alternate alleles its frequency is plainly wrong."""
_MUTATION = ["chrom", "pos", "ref", "alt", "sample_id"]
_NAME_THEM = (
    "name the sample of each file, as in S1=FILE S2=FILE, or S1=FILE S1=FILE if both are of the same sample"
)


def read_variants(
    files: Sequence[str | Path | VariantFile],
    *,
    tumour_samples: Sequence[str] = (),
    all_filters: bool = False,
) -> Variants:
    """Read the mutation calls of one tumour.

    Each file is a VCF of Mutect2, MuTect1, Strelka, VarScan2, MuSE, SomaticSniper, VarDict, RADIA or any caller that
    writes ``AD``; a MAF; or a table ``chrom pos ref alt sample_id ref_counts alt_counts``, possibly without ``ref`` and
    ``alt``. Kind and compression are detected from the content. Several files may contain the same sample (for example
    SNVs and indels). A mutation without a row in a sample has no data there: no counts are filled in.

    ``tumour_samples`` are names of tumour samples in the files, of which at least one must have each. With
    ``all_filters``, mutations are used regardless of FILTER and somatic status. InputError lists everything wrong in
    all files.
    """
    given = [file if isinstance(file, VariantFile) else VariantFile(Path(file)) for file in files]
    if not given:
        raise UsageError("no file of mutations given")
    found = [FileProblems(str(file.path)) for file in given]
    read = read_each(found, lambda place: _read_file(given[place], tumour_samples, all_filters, found[place]))
    names = list(dict.fromkeys(name for variants in read.values() for name in variants.names))
    unknown = [name for name in tumour_samples if name not in names]
    if unknown and not any(found):  # a file that could not be read may have this sample
        raise UsageError(f"`tumour_sample` {unknown[0]!r}: no file has this sample; {samples_of_file(names)}")
    raise_any(*found)
    problems_of = {problems.file: problems for problems in found}
    unnamed = [storable(str(file.path)) for file in given if not file.samples]
    _check_alleles(read, problems_of)
    _check_names(read, unnamed, problems_of)
    _check_exchanged(read, problems_of)
    raise_any(*found)
    table = _table(read)
    repeats = list(repeated(table, _MUTATION))
    _check_counts(repeats, unnamed, problems_of)
    raise_any(*found)
    return _put_together(table, repeats, read, names)


def _read_file(
    file: VariantFile, tumour_samples: Sequence[str], all_filters: bool, problems: FileProblems
) -> Variants:
    if file.path.exists() and not file.path.is_file() and not file.path.is_dir():
        raise problems.give_up("this is a pipe or a device; write the mutations to a file")
    kind = kind_of(file.path)
    if kind == "vcf":
        return read_vcf(file, tumour_samples, all_filters, problems)
    if kind in ("maf", "plain"):
        return read_table(file, MAF if kind == "maf" else PLAIN, tumour_samples, all_filters, problems)
    text = open_text(file.path, problems, EXPECTED).read().strip()
    if kind == "table":
        raise problems.give_up(
            "this table has copy numbers or names of mutations of its own; leave out `segments` to use it as it "
            f"is, or give {EXPECTED}"
        )
    if kind == "segments":
        raise problems.give_up(
            f"these are copy-number segments; give them as `segments`. Expected here is {EXPECTED}"
        )
    comment = "; the first line begins with '#' and is read as a comment, not as a header"
    empty = "" if text else "the file is empty; "
    more = comment if text.startswith("#") else _missing_columns(text)
    raise problems.give_up(f"{empty}expected is {EXPECTED}{more}")


def _missing_columns(text: str) -> str:
    """Return which columns a table of mutations lacks, and which may be meant; "" if it does not look like one."""
    names = max((text.partition("\n")[0].split(separator) for separator in "\t,;"), key=len)
    found = columns_by_part(names, PLAIN.names)
    missing = [part for part in (*PLAIN.required, "ref", "alt") if part not in found]
    if len(missing) > len(found):
        return ""
    meant = columns_by_part(names, {part: MEANS.get(part, ()) for part in missing}, letters)
    advice = "".join(f"; rename {name} to {part}" for part, name in meant.items())
    return f". Its header has no {listed(missing)}, but {listed(names, 12, 40)}{advice}"


def _check_alleles(read: Mapping[str, Variants], problems_of: Mapping[str, FileProblems]) -> None:
    """Note files without alleles whose mutations cannot be told apart, or not be compared with those of other files."""
    has_alleles = {file: bool(of.table["ref"].iat[0] or of.table["alt"].iat[0]) for file, of in read.items()}
    with_alleles = next((file for file, has in has_alleles.items() if has), None)
    without = [file for file, has in has_alleles.items() if not has]
    if with_alleles is not None:
        for file in without:
            problems_of[file].add(
                f"mutations without alleles (no columns ref and alt), but those of {with_alleles} have them: the same "
                "mutation cannot be found in both. Give the alleles everywhere, or nowhere"
            )
    elif without:
        table = pd.concat([read[file].table for file in without])
        for row, first in repeated(table, ["sample_id", "chrom", "pos"]):
            problems_of[row.file].add(
                f"a second mutation at this position in sample {row.sample_id!r}; the first is {place(first, row)}. "
                "Without alleles the two cannot be told apart: keep one, or add the columns ref and alt",
                row.row,
                value=mutation_id(row.chrom, row.pos, "", ""),
                kind="position",
            )


def _check_names(
    read: Mapping[str, Variants], unnamed: Sequence[str], problems_of: Mapping[str, FileProblems]
) -> None:
    """Note files whose sample is named after the file, if that of another file has the same name."""
    file_of: dict[str, str] = {}
    for file in unnamed:
        for sample in read[file].table["sample_id"].cat.categories.difference(read[file].names):
            if (first := file_of.setdefault(sample, file)) != file:
                problems_of[file].add(
                    f"the sample is named after the file, {sample!r}, and so is that of {first}; {_NAME_THEM}"
                )


def _check_exchanged(read: Mapping[str, Variants], problems_of: Mapping[str, FileProblems]) -> None:
    """Note files given for one sample of the tumour that say that they are of another."""
    samples = {sample for of in read.values() for sample in of.table["sample_id"].cat.categories}
    for file, given, name in (each for of in read.values() for each in of.renamed):
        if name in samples:
            problems_of[file].add(
                f"given for the sample {given!r}, but these are mutations of {name!r}, another sample of this tumour. "
                f"If they are of {given!r}, name {name!r} with `tumour_sample`, or in a column tumour_sample of the "
                "sample sheet"
            )


def _check_counts(
    repeats: Sequence[tuple[Any, Any]], unnamed: Sequence[str], problems_of: Mapping[str, FileProblems]
) -> None:
    """Note the first mutation of each file with other counts in another file, unless the user named both samples."""
    told: set[str] = set()
    for row, first in repeats:
        is_named = row.file not in unnamed and first.file not in unnamed
        if row.file in {first.file, *told} or is_named or _counts(row) == _counts(first):
            continue
        told.add(row.file)
        problems_of[row.file].add(
            f"the mutation has other counts in {place(first, row)}, whose sample is also called {row.sample_id!r}; "
            f"{_NAME_THEM}",
            row.row,
            value=mutation_id(row.chrom, row.pos, row.ref, row.alt),
        )


def _counts(row: Any) -> tuple[int, int]:
    return row.ref_counts, row.alt_counts


def _table(read: Mapping[str, Variants]) -> pd.DataFrame:
    parts = [part.table for part in read.values()]
    table = pd.concat(parts, ignore_index=True)
    for name in ("chrom", "sample_id"):  # concatenation turns differing categories into texts
        table[name] = union_categoricals([part[name] for part in parts])
    return table.astype({"file": pd.CategoricalDtype(list(read))})[list(COLUMNS)]


def _put_together(
    table: pd.DataFrame, repeats: Sequence[tuple[Any, Any]], read: Mapping[str, Variants], names: list[str]
) -> Variants:
    parts = list(read.values())
    left_out = [item for part in parts for item in part.left_out]
    warnings = [warning for part in parts for warning in part.warnings]
    contradictions = []
    for row, first in repeats:
        name = mutation_id(row.chrom, row.pos, row.ref, row.alt)
        which = "the same counts"
        if _counts(row) != _counts(first):
            contradictions.append(f"{name} in {row.sample_id}")
            texts = (f"{ref} reference and {alt} variant reads" for ref, alt in map(_counts, (first, row)))
            which = f"other counts: {' there, '.join(texts)} here"
        reason = f"this mutation stands already in {place(first, row)}, with {which}"
        left_out.append(LeftOut(row.file, row.row, name, row.sample_id, reason))
    if contradictions:
        warnings.append(
            f"{count(len(contradictions), 'mutation')} given again in the same sample with other counts: the first "
            f"counts are used, and left_out.tsv names both: {listed(contradictions, 3)}"
        )
    order = {file: place for place, file in enumerate(read)}
    distinct = table.drop_duplicates(_MUTATION, ignore_index=True)
    return Variants(
        table=distinct,
        left_out=sorted(left_out, key=lambda item: (order[item.file], item.row or 0)),
        builds={file: build for part in parts for file, build in part.builds.items()},
        unfiltered=[file for part in parts for file in part.unfiltered],
        names=names,
        renamed=[each for part in parts for each in part.renamed],
        warnings=[*warnings, *_indels_of_two_forms(table), *_uncounted_reads(distinct)],
    )


def _indels_of_two_forms(table: pd.DataFrame) -> list[str]:
    """Return a warning if some files write insertions and deletions as MAF does, and others as VCF does.

    Replacements by another number of bases (GAAT by AA), which share no first base, are the same in both forms.
    """
    ref, alt = table["ref"].str, table["alt"].str
    is_maf = table["ref"].eq("-") | table["alt"].eq("-")
    is_vcf = (ref.len() != alt.len()) & (ref[:1] == alt[:1]) & ~is_maf
    if not (is_maf.any() and is_vcf.any()):
        return []
    of_maf, of_vcf = (str(table["file"][form].iat[0]) for form in (is_maf, is_vcf))
    return [
        f"{of_maf} writes insertions and deletions with '-' as in MAF, {of_vcf} with a base before them as in VCF: "
        "those of one are not found in the other, and have no data there; give all files in one of the two forms"
    ]


def _uncounted_reads(table: pd.DataFrame) -> list[str]:
    """Return a warning if other alternate alleles of a sample at the same position have many reads."""
    of_position = table.groupby(["sample_id", "chrom", "pos"], observed=True)["alt_counts"].transform("sum")
    others = of_position - table["alt_counts"] + table["left_out_counts"]
    found = table[others > MANY_READS * (table["ref_counts"] + table["alt_counts"])]
    if not len(found):
        return []
    names = listed(
        [f"{name} in {sample}" for name, sample in zip(mutation_ids(found), found["sample_id"])], 3
    )
    return [
        "where other alternate alleles at the position have many reads, these count neither as reference nor as "
        f"variant, so that frequencies and prevalences come out too high ({count(len(found), 'mutation')}): {names}"
    ]
