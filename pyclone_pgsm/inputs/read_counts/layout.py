"""The two layouts of an input table: roles of the columns, and recognition of other spellings.

* PyClone-VI, several samples in one table: ``mutation_id sample_id ref_counts alt_counts major_cn minor_cn normal_cn
  [tumour_content] [error_rate]``, and for subclonal copy number ``subclonal_major_cn subclonal_minor_cn
  subclonal_fraction``, all three or none.
* PyClone, one file per sample: ``mutation_id ref_counts var_counts normal_cn minor_cn major_cn``.

``alt_counts`` and ``var_counts`` mean the same in both.
"""

import difflib
from collections.abc import Sequence

from pyclone_pgsm.inputs.observations import PRIORS_WITHOUT_COPY_NUMBERS, SUBCLONAL, looks_at_no_alleles
from pyclone_pgsm.inputs.problems import listed
from pyclone_pgsm.inputs.table import Table, columns_by_part, letters

REQUIRED = ("mutation_id", "ref_counts", "alt_counts", "major_cn", "minor_cn", "normal_cn")
OPTIONAL = ("sample_id", "var_counts", "tumour_content", "error_rate", "total_cn", *SUBCLONAL)
DIPLOID = {"major_cn": 1, "minor_cn": 1, "normal_cn": 2}
"""Columns that may be missing with a genotype prior that does not use copy numbers, and what stands for them."""

GENE_NAMES = (
    "gene", "hugo_symbol", "gene_symbol", "gene_name", "variant_gene", "mutation_gene", "genesymbol", "genename",
    "hgnc_symbol", "symbol",
)  # fmt: skip
"""Names of a column with the gene of a mutation, in lower case; the first one found in a table is used."""

ANNOTATIONS = {
    "chrom": ("chrom", "chromosome", "chr"),
    "pos": ("pos", "position", "start"),
    "ref": ("ref",),
    "alt": ("alt",),
    "gene": GENE_NAMES,
}
"""Annotations to keep, and the names of their columns in lower case; the first one found in a table is used."""

MEANS = {
    "mutation_id": ("mutationid", "mutid", "mutation", "variantid", "snvid", "variant", "snv", "id"),
    "sample_id": (
        "sampleid", "samplename", "sample", "tumorsample", "tumoursample", "tumorsamplebarcode", "tumoursamplebarcode",
    ),
    "ref_counts": ("refcount", "trefcount", "refread", "refdepth", "nref", "ref"),
    "alt_counts": ("altcount", "varcount", "taltcount", "altread", "varread", "nalt", "alt"),
    "major_cn": ("majorcn", "majorcopynumber", "nmajor", "major"),
    "minor_cn": ("minorcn", "minorcopynumber", "nminor", "minor"),
    "normal_cn": ("normalcn", "normalcopynumber", "cnnormal", "normal"),
    "tumour_content": ("tumourcontent", "tumorcontent", "purity", "tumourpurity", "tumorpurity", "cellularity"),
    "error_rate": (
        "errorrate", "errrate", "sequencingerrorrate", "sequencingerror", "seqerror", "epsilon", "ep",
    ),
    **{name: (name,) for name in SUBCLONAL},
}  # fmt: skip
"""Other spellings of each column, the likeliest first (:func:`~pyclone_pgsm.inputs.table.letters`)."""

_SHOWN_NAMES, _LONGEST_NAME = 12, 40


def is_read(name: str) -> bool:
    """Whether a column of this name is used."""
    return (
        name in REQUIRED or name in OPTIONAL or any(name.lower() in names for names in ANNOTATIONS.values())
    )


def uses_total_only(names: Sequence[str], genotype_prior: str) -> bool:
    """Whether ``total_cn`` replaces ``major_cn`` and ``minor_cn``, as some priors allow."""
    return (
        looks_at_no_alleles(genotype_prior)
        and "total_cn" in names
        and not {"major_cn", "minor_cn"} <= set(names)
    )


def note_header_problems(table: Table, genotype_prior: str, overridden: Sequence[str]) -> None:
    """Note missing columns, and columns that would be ignored because of their spelling.

    ``overridden`` are those of ``tumour_content`` and ``error_rate`` that options replace in every sample.
    """
    required = set(REQUIRED)
    if genotype_prior in PRIORS_WITHOUT_COPY_NUMBERS:
        required -= set(DIPLOID)
    if uses_total_only(table.names, genotype_prior):
        required -= {"major_cn", "minor_cn"}
    if "var_counts" in table.names:
        required.discard("alt_counts")
    missing = [name for name in REQUIRED if name in required and name not in table.names]
    spare = [name for name in table.names if name not in REQUIRED and name not in OPTIONAL]
    meant = columns_by_part(spare, MEANS, letters)
    plain = {name.lower(): name for name in spare}
    close = {name: difflib.get_close_matches(name, list(plain), n=1, cutoff=0.8) for name in missing}
    near = {name: meant.get(name) or (plain[close[name][0]] if close[name] else None) for name in missing}
    if len(missing) == len(required) and not any(near.values()):
        table.note_header(_not_a_header(table))
        return
    for name in missing:
        message = _missing(name, near[name], table.names)
        if name == missing[-1]:
            message += f". The header has {listed(table.names, _SHOWN_NAMES, _LONGEST_NAME)}"
        table.note_header(message, name)
    if present := [name for name in SUBCLONAL if name in table.names]:
        together = f"{', '.join(SUBCLONAL)} go together, and {present[0]} is here"
        for name in SUBCLONAL:
            if name not in present and name not in meant:
                table.note_header(f"this column is missing; {together}", name)
    for name in ("sample_id", "tumour_content", "error_rate", *SUBCLONAL):
        if name in meant and name not in table.names and name not in overridden:
            table.note_header(advice_to_rename(name), meant[name])


_OR_ELSE = {
    "sample_id": ", or remove it if the file holds one sample, which is then named after the file",
    "tumour_content": ", or set `tumour_content`, which overrides any column",
    "error_rate": ", or set `error_rate`, which overrides any column",
}


def advice_to_rename(name: str) -> str:
    """Return what to do with a column that seems to be the one of this name, but has another name."""
    return f"rename this column to {name}{_OR_ELSE.get(name, '')}"


def _not_a_header(table: Table) -> str:
    message = (
        "none of the expected columns is here. Expected is a header with mutation_id, sample_id, ref_counts, "
        "alt_counts, major_cn, minor_cn and normal_cn; "
    )
    if "mutation_id" in table.commented_names:
        return message + 'the line with these names above begins with "#" and is read as a comment'
    return message + f"this row has {listed(table.names, _SHOWN_NAMES, _LONGEST_NAME)}"


def _missing(name: str, near: str | None, names: Sequence[str]) -> str:
    message = "this column is missing"
    if name == "alt_counts":
        message += " (var_counts would do, too)"
    if near is not None:
        return f"{message}; is it the one named {near!r}? Then rename it"
    if name in ("major_cn", "minor_cn") and "total_cn" in names:
        return f"{message}; total_cn alone is enough only for `genotype_prior` total, ab, bb or no-zygosity"
    return message
