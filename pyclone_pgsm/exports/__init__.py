"""Results in the formats of other tools; `FORMATS` contains them all."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.exports import clone_trees, maf, tables, tree_builders, vcf
from pyclone_pgsm.exports.answer import Answer, ExportOptions
from pyclone_pgsm.files import check_file, check_files, make_folder, replacing_together, storable
from pyclone_pgsm.inputs.values import Name
from pyclone_pgsm.ranges import Effects, check_choice, check_effects, check_kind

__all__ = ["EFFECTS", "FORMATS", "Answer", "ExportOptions", "Format", "check_output", "export", "find_format"]


class Format(NamedTuple):
    """A format, the value of ``--format``, and how it is written.

    `files` are the names of its files in the folder OUT; if empty, OUT is the only file. `write` returns lines on what
    the format cannot represent. A result that has only outliers is rejected if `needs_clusters`.
    """

    name: str
    files: tuple[str, ...]
    write: Callable[[Answer, Path, ExportOptions], list[str]]
    needs_clusters: bool = True


_FORMATS = [
    Format("pyclone", (tables.LOCI, tables.CLUSTER), tables.write_pyclone, needs_clusters=False),
    Format("pyclone-vi", (), tables.write_pyclone_vi),
    Format(
        "phyclone",
        (tree_builders.INPUT, tree_builders.CLUSTERS),
        tree_builders.write_phyclone,
        needs_clusters=False,
    ),
    Format("pairtree", (tree_builders.SSM, tree_builders.PARAMS), tree_builders.write_pairtree),
    Format("conipher", (), tree_builders.write_conipher),
    Format("ctree", (), clone_trees.write_ctree),
    Format("revolver", (), clone_trees.write_revolver),
    Format("clonevol", (), clone_trees.write_clonevol),
    Format("citup", (clone_trees.FREQ, clone_trees.CLUSTERS), clone_trees.write_citup),
    Format("metient", (), tree_builders.write_metient),
    Format("maf", (), maf.write_maf, needs_clusters=False),
    Format("vcf", (), vcf.write_vcf, needs_clusters=False),
    Format("cbioportal", (), maf.write_cbioportal, needs_clusters=False),
    Format("parquet", tables.PARQUET_FILES, tables.write_parquet, needs_clusters=False),
]
FORMATS: dict[str, Format] = {each.name: each for each in _FORMATS}
EFFECTS: Effects = {
    "patient": ("format", ("conipher", "ctree", "revolver")),
    "primary": ("format", ("metient",)),
    "source": ("format", ("maf", "vcf", "cbioportal")),
    "source_sample": ("format", ("maf", "vcf", "cbioportal")),
    "tumour_sample": ("format", ("maf", "vcf", "cbioportal")),
    "drivers": ("format", ("ctree", "revolver")),
}
"""Options, and the formats that use them."""


def find_format(name: str) -> Format:
    """Return the format with a name; UsageError if there is none."""
    check_choice("format", name, FORMATS)
    return FORMATS[name]


def check_output(chosen: Format, out: Path, force: bool, inputs: Iterable[Path] = ()) -> None:
    """Check the file or the folder of a format: see :func:`check_file` and :func:`check_files`."""
    if chosen.files:
        check_files(out, chosen.files, force, inputs)
    else:
        check_file(out, force, inputs)


def export(answer: Answer, chosen: Format, out: Path, options: ExportOptions) -> list[str]:
    """Write a result in a format to ``out``, a file or, for formats with several files, a folder. Files are replaced.

    The result are lines on what the format cannot represent.
    """
    given = [
        name for name, value in options._asdict().items() if value != ExportOptions._field_defaults[name]
    ]
    check_effects(given, {**options._asdict(), "format": chosen.name}, EFFECTS)
    check_kind("patient", options.patient, str, "a name")
    options = options._replace(patient=storable(options.patient))
    try:
        Name("name of a patient")(options.patient)
    except ValueError as fault:
        raise UsageError(f"`patient` {options.patient!r}: {fault}") from None
    if chosen.needs_clusters and not len(answer.placed):
        raise UsageError(f"`format` {chosen.name}: there is no cluster: all mutations are outliers")
    with replacing_together():
        make_folder(out if chosen.files else out.parent)
        return chosen.write(answer, out, options)
