"""Readers of tables of mutation calls with read counts: MAF, and plain tables ``chrom pos [ref alt] sample_id ..``.

As in `pyclone_pgsm.inputs.read_counts.rows`, each distinct text of a column is read once.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pyclone_pgsm.inputs import values
from pyclone_pgsm.inputs.columns import Style, read_columns
from pyclone_pgsm.inputs.genome import chromosome, harmonise_build
from pyclone_pgsm.inputs.mutations.model import (
    NOT_SOMATIC,
    TYPES,
    VariantFile,
    Variants,
    allele,
    mutation_ids,
    not_passed,
    not_somatic,
    trimmed,
    why_no_mutation,
    why_nothing,
)
from pyclone_pgsm.inputs.mutations.naming import choose_samples
from pyclone_pgsm.inputs.observations import left_out_rows
from pyclone_pgsm.inputs.problems import FileProblems, raise_any
from pyclone_pgsm.inputs.read_counts.layout import GENE_NAMES, MEANS, advice_to_rename
from pyclone_pgsm.inputs.table import Table, columns_by_part, letters
from pyclone_pgsm.inputs.text import file_stem

EXPECTED = "a VCF, a MAF, or a table with chrom, pos, ref, alt, sample_id, ref_counts and alt_counts"
_ALLELES = ("ref", "alt")


class CallTable(NamedTuple):
    """A kind of table, defined by its columns."""

    names: Mapping[str, tuple[str, ...]]
    """Possible names of the column of each part, in lower case; messages use the first."""
    required: tuple[str, ...]
    without_counts: str
    """Message about a table that lacks the columns of counts."""


MAF = CallTable(
    {
        "chrom": ("chromosome",),
        "pos": ("start_position",),
        "ref": ("reference_allele",),
        "alt": ("tumor_seq_allele2",),
        "other_alt": ("tumor_seq_allele1",),
        "sample_id": ("tumor_sample_barcode",),
        "ref_counts": ("t_ref_count",),
        "alt_counts": ("t_alt_count",),
        "depth": ("t_depth",),
        "gene": ("hugo_symbol",),
        "filter": ("filter",),
        "status": ("mutation_status",),
        "build": ("ncbi_build",),
    },
    ("chrom", "pos", "ref", "alt", "sample_id", "ref_counts", "alt_counts"),
    "a MAF without the reads of the two alleles, or those of the variant and the depth (t_depth), cannot be used: a "
    "fraction alone does not tell them",
)
PLAIN = CallTable(
    {
        "chrom": ("chrom", "chromosome", "chr"),
        "pos": ("pos", "position"),
        "ref": ("ref",),
        "alt": ("alt",),
        "sample_id": ("sample_id",),
        "ref_counts": ("ref_counts",),
        "alt_counts": ("alt_counts", "var_counts"),
        "var_counts": ("var_counts",),
        "gene": GENE_NAMES,
        "filter": ("filter",),
    },
    ("chrom", "pos", "ref_counts", "alt_counts"),
    "a table of mutations needs the reads of both alleles",
)

_POSITION = values.Whole(1, values.LARGEST_POSITION, "a position on a chromosome: a whole number, 1 or more")
_NO_COUNT = -1


def read_table(
    file: VariantFile,
    kind: CallTable,
    tumour_samples: Sequence[str],
    all_filters: bool,
    problems: FileProblems,
) -> Variants:
    """Read one table. Without a column of samples it holds a single sample, named after the file."""
    known = {name for names in kind.names.values() for name in names}
    table = read_columns(file.path, Style(EXPECTED, lambda name: name.lower() in known), problems)
    table = Table.by_part(table, columns_by_part(table.columns, kind.names))
    _note_missing_columns(table, kind)
    for part, column in table.columns.items():
        if column.name == table.names[0]:  # with which a row begins
            table.note_comments(part)
    if "sample_id" in table:
        table.note(
            table.columns["sample_id"].map(str.__len__, int) == 0,
            "sample_id",
            "empty; every row needs the name of a sample",
        )
    raise_any(problems)
    names = table.distinct("sample_id")
    samples = names or [file_stem(file.path)]
    chosen, renamed, _ = choose_samples(file, tumour_samples, samples, samples, problems)
    rows = _rows(table, chosen, all_filters)
    raise_any(problems)
    used = rows["why_not"] == ""
    left_out = left_out_rows(rows[~used].assign(mutation_id=mutation_ids), rows.loc[~used, "why_not"])
    if not used.any():
        raise problems.give_up(why_nothing(len(rows), "rows", left_out), table.header_line)
    build = next(filter(None, rows.loc[used, "build"]), None)
    kept = rows[used].drop(columns=["why_not", "build"]).reset_index(drop=True)
    if "ref" in table:
        place = ["pos", *_ALLELES]
        kept[place] = [trimmed(*each) for each in kept[place].itertuples(index=False)]
    no_filter = all(map(values.is_no_value, table.distinct("filter")))
    types = TYPES | {"sample_id": pd.CategoricalDtype(sorted(chosen.values()))}
    return Variants(
        table=kept.astype(types),
        left_out=left_out,
        builds={problems.file: build} if build else {},
        unfiltered=[problems.file] if "filter" in table and no_filter else [],
        names=names,
        renamed=renamed if names else [],
        warnings=_columns_not_read(table) if kind is PLAIN else [],
    )


_USED_INSTEAD = {
    "tumour_content": "`tumour_content`, the sample sheet and the files of the segments say it",
    "error_rate": "`error_rate` says it",
}


def _columns_not_read(table: Table) -> list[str]:
    """Return a warning for each column that is read in a table of read counts, but not in one joined with segments."""
    spellings = {name: MEANS[name] for name in _USED_INSTEAD}
    return [
        f"{table.problems.file}: the column {column} is not read where mutations are joined with segments: {instead}"
        for name, instead in _USED_INSTEAD.items()
        if (column := columns_by_part(table.names, spellings, letters).get(name))
    ]


def _note_missing_columns(table: Table, kind: CallTable) -> None:
    has_depth = "depth" in table and "alt_counts" in table
    for part in kind.required:
        if part not in table and not (part == "ref_counts" and has_depth):
            message = "this column is missing"
            if part in ("ref_counts", "alt_counts"):
                message += f"; {kind.without_counts}"
            table.note_header(message, kind.names[part][0])
    if len(alleles := [part for part in _ALLELES if part not in table]) == 1:
        message = "this column is missing; give both ref and alt, or none of them"
        table.note_header(message, alleles[0])
    meant = columns_by_part(table.names, {"sample_id": MEANS["sample_id"]}, letters)
    if meant and "sample_id" not in (*table.columns, *kind.required):
        table.note_header(advice_to_rename("sample_id"), meant["sample_id"])


def _rows(table: Table, chosen: Mapping[str, str], all_filters: bool) -> pd.DataFrame:
    """Return the rows of the chosen samples, each with the reason why it is not used ("" if it is)."""
    if "sample_id" in table:
        sample_ids = table.columns["sample_id"].map(lambda name: chosen.get(name, ""), object)
    else:
        sample_ids = np.full(len(table), next(iter(chosen.values())), dtype=object)
    why_not = table.read(
        "filter",
        lambda text: "" if all_filters else not_passed(re.split("[,;]", text)),
        object,
        "",
        may_miss=True,
    )
    if "status" in table and not all_filters:
        status = table.columns["status"]
        of_status = status.map(
            lambda text: not_somatic(status.name, text) if NOT_SOMATIC.search(text) else "", object
        )
        why_not = np.where(why_not == "", of_status, why_not)
    matters = (sample_ids != "") & (why_not == "")
    ref = table.read("ref", allele, object, matters=matters)
    alt = table.read("alt", allele, object, matters=matters)
    if "other_alt" in table:  # a caller may write the reference as the second allele, or leave it empty
        is_other = (alt == ref) | (alt == "")
        alt = np.where(is_other, table.read("other_alt", allele, object, matters=matters & is_other), alt)
    ref_counts, alt_counts = (
        table.read(part, values.READS, np.int64, _NO_COUNT, may_miss=True, matters=matters)
        for part in ("ref_counts", "alt_counts")
    )
    is_open = ref_counts == _NO_COUNT
    depth = table.read("depth", values.READS, np.int64, _NO_COUNT, may_miss=True, matters=matters & is_open)
    of_depth = is_open & (depth != _NO_COUNT)
    ref_counts = np.where(of_depth, depth - alt_counts, ref_counts)
    others_name, depth_name, alt_name = (
        next((table.columns[part].name for part in parts if part in table), "")
        for parts in (("ref_counts", "depth"), ("depth",), ("alt_counts",))
    )
    _note_other_variant_counts(table, alt_counts, matters)
    reasons = [
        why_not,
        np.where(is_open & ~of_depth, f"{others_name} has no value", ""),
        np.where(alt_counts == _NO_COUNT, f"{alt_name} has no value", ""),
        np.where(of_depth & (ref_counts < 0), f"{alt_name} is more than {depth_name}", ""),
        [why_no_mutation(*pair) if "ref" in table else "" for pair in zip(ref, alt)],
    ]
    rows = pd.DataFrame(
        {
            "file": table.problems.file,
            "row": table.lines,
            "chrom": table.read("chrom", chromosome, object, matters=matters),
            "pos": table.read("pos", _POSITION, object, matters=matters),
            "ref": ref,
            "alt": alt,
            "gene": table.read("gene", values.gene, object),
            "sample_id": sample_ids,
            "ref_counts": ref_counts,
            "alt_counts": alt_counts,
            "left_out_counts": 0,
            "build": _builds(table, matters),
            "why_not": [str(next(filter(None, whys), "")) for whys in zip(*reasons)],
        }
    )
    return rows[sample_ids != ""]


def _builds(table: Table, matters: NDArray[np.bool_]) -> NDArray[np.object_]:
    """Return the genome build that each row names, "" if none; note rows with another than the first that matters."""
    builds = table.read("build", lambda name: harmonise_build(name) or "", object)
    known = matters & (builds != "")
    if known.any():
        first = int(np.argmax(known))
        message = (
            f"another genome build than in row {table.lines[first]}, {builds[first]}; convert some of the mutations "
            "(liftover), or leave them out"
        )
        table.note(known & (builds != builds[first]), "build", message)
    return builds


def _note_other_variant_counts(
    table: Table, alt_counts: NDArray[np.int64], matters: NDArray[np.bool_]
) -> None:
    """Note rows in which a second column of variant reads, beside the one that is used, has another number."""
    if "var_counts" not in table or table.columns["var_counts"] is table.columns["alt_counts"]:
        return
    others = table.read("var_counts", values.READS, np.int64, _NO_COUNT, may_miss=True, matters=matters)
    is_known = matters & (alt_counts != _NO_COUNT) & (others != _NO_COUNT)
    table.note_unequal(is_known & (alt_counts != others), "var_counts", "alt_counts")
