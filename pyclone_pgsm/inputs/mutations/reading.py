"""Reader of all files of mutation calls, which it combines into one table."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import union_categoricals

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.inputs.mutations.kinds import kind_of
from pyclone_pgsm.inputs.mutations.model import (
    COLUMNS,
    VariantFile,
    Variants,
    mutation_id,
    mutation_ids,
)
from pyclone_pgsm.inputs.mutations.naming import samples_of_file
from pyclone_pgsm.inputs.mutations.tables import EXPECTED, MAF, PLAIN, read_table
from pyclone_pgsm.inputs.mutations.vcf import read_vcf
from pyclone_pgsm.inputs.observations import LeftOut
from pyclone_pgsm.inputs.problems import FileProblems, raise_any
from pyclone_pgsm.inputs.text import open_text, read_each

_MUTATION = ["chrom", "pos", "ref", "alt", "sample_id"]


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
    ``all_filters``, mutations are used regardless of FILTER. InputError lists everything wrong in all files.
    """
    given = [file if isinstance(file, VariantFile) else VariantFile(Path(file)) for file in files]
    if not given:
        raise UsageError("no file of mutations given")
    found = [FileProblems(str(file.path)) for file in given]
    places = read_each(
        found, lambda place: _read_file(given[place], tumour_samples, all_filters, found[place])
    )
    read = {found[place].file: variants for place, variants in places}
    names = list(dict.fromkeys(name for variants in read.values() for name in variants.names))
    unknown = [name for name in tumour_samples if name not in names]
    if unknown and not any(found):  # a file that could not be read may have this sample
        raise UsageError(f"`tumour_sample` {unknown[0]!r}: no file has this sample; {samples_of_file(names)}")
    raise_any(*found)
    _check_alleles(read, found)
    raise_any(*found)
    return _put_together(read, names)


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
    is_empty = not open_text(file.path, problems, EXPECTED).read().strip()
    if kind == "table":
        raise problems.give_up(
            "this table has copy numbers or names of mutations of its own; leave out `segments` to use it as it "
            f"is, or give {EXPECTED}"
        )
    if kind == "segments":
        raise problems.give_up(
            f"these are copy-number segments; give them as `segments`. Expected here is {EXPECTED}"
        )
    raise problems.give_up(f"{'the file is empty; ' if is_empty else ''}expected is {EXPECTED}")


def _check_alleles(read: Mapping[str, Variants], found: Sequence[FileProblems]) -> None:
    """Note files without alleles whose mutations cannot be told apart, or not be compared with those of other files."""
    seen: dict[tuple[str, str, int], tuple[str, int]] = {}
    with_alleles = next((file for file, variants in read.items() if _tells_alleles(variants.table)), None)
    for problems in found:
        file, table = problems.file, read[problems.file].table
        if _tells_alleles(table):
            continue
        if with_alleles is not None:
            problems.add(
                f"mutations without alleles (no columns ref and alt), but those of {with_alleles} have them: the same "
                "mutation cannot be found in both. Give the alleles everywhere, or nowhere"
            )
            continue
        columns = (table[name].tolist() for name in ("sample_id", "chrom", "pos", "row"))
        for sample_id, chrom, pos, row in zip(*columns):
            before, before_row = seen.setdefault((sample_id, chrom, pos), (file, row))
            if (before, before_row) != (file, row):
                where = f"row {before_row}" + (f" of {before}" if before != file else "")
                problems.add_one_of(
                    "position",
                    f"a second mutation at this position in sample {sample_id!r}; the first is {where}. Without "
                    "alleles the two cannot be told apart: keep one, or add the columns ref and alt",
                    row,
                    value=mutation_id(chrom, pos, "", ""),
                )


def _tells_alleles(table: pd.DataFrame) -> bool:
    return bool(table["ref"].iat[0] or table["alt"].iat[0])


def _put_together(read: Mapping[str, Variants], names: list[str]) -> Variants:
    parts = list(read.values())
    table = pd.concat([part.table for part in parts], ignore_index=True)
    for name in ("chrom", "sample_id"):  # concatenation turns differing categories into texts
        table[name] = union_categoricals([part.table[name] for part in parts])
    table = table.astype({"file": pd.CategoricalDtype(list(read))})[list(COLUMNS)]
    repeated, second = _repeated(table)
    left_out = [item for part in parts for item in part.left_out] + repeated
    order = {file: place for place, file in enumerate(read)}
    return Variants(
        table=table[~second].reset_index(drop=True),
        left_out=sorted(left_out, key=lambda item: (order[item.file], item.row or 0)),
        builds={file: build for part in parts for file, build in part.builds.items()},
        unfiltered=[file for part in parts for file in part.unfiltered],
        names=names,
    )


def _repeated(table: pd.DataFrame) -> tuple[list[LeftOut], NDArray[np.bool_]]:
    """Find repeated mutations of a sample: return why each but the first is left out, and a mask (R,) of their rows."""
    second = table.duplicated(_MUTATION).to_numpy()
    involved = table[table.duplicated(_MUTATION, keep=False)]
    columns = [involved[name].tolist() for name in ("file", "row", "sample_id", "ref_counts", "alt_counts")]
    first: dict[tuple[str, str], tuple[str, int, tuple[int, int]]] = {}
    left_out = []
    for name, file, row, sample_id, *counts in zip(mutation_ids(involved), *columns):
        here = (file, row, tuple(counts))
        before, before_row, before_counts = first.setdefault((name, sample_id), here)
        if (before, before_row) != (file, row):
            where = f"row {before_row}" + (f" of {before}" if before != file else "")
            same = "the same" if before_counts == tuple(counts) else "other"
            reason = f"this mutation stands already in {where}, with {same} counts"
            left_out.append(LeftOut(file, row, name, sample_id, reason))
    return left_out, second
