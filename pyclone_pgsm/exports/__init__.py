"""Results in the formats of other tools; `FORMATS` contains them all."""

from pathlib import Path

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.exports.answer import Answer, ExportOptions, Format
from pyclone_pgsm.exports.clone_trees import CITUP, CLONEVOL, CTREE, REVOLVER
from pyclone_pgsm.exports.maf import CBIOPORTAL, MAF
from pyclone_pgsm.exports.tables import PARQUET, PYCLONE, PYCLONE_VI
from pyclone_pgsm.exports.tree_builders import CONIPHER, METIENT, PAIRTREE, PHYCLONE
from pyclone_pgsm.exports.vcf import VCF
from pyclone_pgsm.files import check_new, make_folder, replacing_together
from pyclone_pgsm.ranges import Effects, check_choice, check_effects

__all__ = ["EFFECTS", "FORMATS", "Answer", "ExportOptions", "Format", "check_output", "export", "find_format"]

_FORMATS = [
    PYCLONE, PYCLONE_VI, PHYCLONE, PAIRTREE, CONIPHER, CTREE, REVOLVER, CLONEVOL, CITUP, METIENT, MAF, VCF, CBIOPORTAL,
    PARQUET,
]  # fmt: skip
FORMATS: dict[str, Format] = {each.name: each for each in _FORMATS}
EFFECTS: Effects = {
    "patient": ("format", ("conipher", "ctree", "revolver")),
    "primary": ("format", ("metient",)),
    "source": ("format", ("maf", "vcf", "cbioportal")),
    "source_sample": ("format", ("maf", "vcf", "cbioportal")),
    "drivers": ("format", ("ctree", "revolver")),
}
"""Options, and the formats that use them."""


def find_format(name: str) -> Format:
    """Return the format with a name; UsageError if there is none."""
    check_choice("format", name, FORMATS)
    return FORMATS[name]


def check_output(chosen: Format, out: Path, force: bool) -> None:
    """Raise an error for an existing output if `force` is False, and for a folder instead of a file or vice versa."""
    if not chosen.files:
        if out.is_dir():
            raise UsageError(f"-o {out}: is a folder; `format` {chosen.name} writes one file: give its name")
        check_new(out, force)
        return
    if out.exists() and not out.is_dir():
        listed = " and ".join(chosen.files)
        raise UsageError(f"-o {out}: is a file; `format` {chosen.name} writes {listed}: give a folder")
    for name in chosen.files:
        check_new(out / name, force)


def export(answer: Answer, chosen: Format, out: Path, options: ExportOptions) -> list[str]:
    """Write a result in a format to ``out``, a file or, for formats with several files, a folder. Files are replaced.

    The result are lines on what the format cannot represent.
    """
    given = [
        name for name, value in options._asdict().items() if value != ExportOptions._field_defaults[name]
    ]
    check_effects(given, {**options._asdict(), "format": chosen.name}, EFFECTS)
    if chosen.needs_clusters and not len(answer.placed):
        raise UsageError(f"`format` {chosen.name}: there is no cluster: all mutations are outliers")
    with replacing_together():
        make_folder(out if chosen.files else out.parent)
        return chosen.write(answer, out, options)
