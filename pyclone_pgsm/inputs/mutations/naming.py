"""Tumour samples of a file, and their names. They are never guessed from the order of columns."""

import re
from collections.abc import Sequence

from pyclone_pgsm.inputs.mutations.model import VariantFile
from pyclone_pgsm.inputs.problems import CONTROL, FileProblems, listed, raise_any
from pyclone_pgsm.inputs.text import file_stem

ROLES = frozenset({"TUMOR", "TUMOUR", "DNA_TUMOR"})
"""Names that Strelka, VarScan2, MuSE, SomaticSniper, RADIA and vcf2maf give to the tumour sample of every patient."""
_NORMAL = re.compile(r"(\d+:)?(DNA_)?NORMAL", re.IGNORECASE)
"""The names that they give to the normal sample; bcftools merge puts a number before the second of one name."""


def choose_samples(
    file: VariantFile,
    tumour_samples: Sequence[str],
    names: Sequence[str],
    declared: Sequence[str],
    problems: FileProblems,
    normals: Sequence[str] = (),
) -> tuple[dict[str, str], list[tuple[str, str, str]], list[str]]:
    """Choose the samples of a file to read; raise InputError if this is not clear.

    Return the names to give them, by the names in the file; the file, the name given and the name in the file of each
    sample for which the user named only the former; and warnings.

    The tumours of a file are the samples that ``tumour_samples`` names; else those that the file declares; else the one
    named as callers name the tumour (`ROLES`); else the only one that is not a normal sample: neither declared as such
    (``normals``) nor named as callers name it.

    A warning is given if samples remain that may be tumours, and the user has named none of the file. If no sample is
    known to be normal, a single one that remains is taken to be it.
    """
    by_role = [name for name in names if name.upper() in ROLES]
    not_normal = [name for name in names if name not in normals and not _NORMAL.fullmatch(name)]
    ways = (
        [name for name in names if name in tumour_samples],
        [name for name in names if name in declared],
        by_role if len(by_role) == 1 else [],
        not_normal if len(not_normal) == 1 else [],
    )
    tumours = next(filter(None, ways), [])
    chosen = (_requested if file.samples else _own_names)(file, names, tumours, problems)
    for sample_id in chosen.values():
        if not sample_id.strip() or CONTROL.search(sample_id):
            problems.add(f"{sample_id!r} cannot be the name of a sample; give another, as in NAME=FILE")
    raise_any(problems)
    renamed = [
        (str(file.path), given, name)
        for name, given in chosen.items()
        if file.samples.get(given, name) is None and name not in (given, *tumour_samples, *by_role)
    ]
    further = [name for name in not_normal if name not in chosen]
    names_none = {*tumour_samples, *file.samples, *file.samples.values()}.isdisjoint(names)
    warnings = []
    if names_none and len(further) > (len(not_normal) == len(names)):
        warnings.append(
            f"{file.path}: {listed(list(chosen))} is taken for the tumour, and {listed(further)} is not used; name all "
            "tumour samples with `tumour_sample`"
        )
    return chosen, renamed, warnings


def _own_names(
    file: VariantFile, names: Sequence[str], tumours: Sequence[str], problems: FileProblems
) -> dict[str, str]:
    """Return the name of each tumour: the name of the file in place of one of `ROLES`, else its own."""
    if not tumours:
        problems.add(f"which sample is the tumour? Name it with `tumour_sample`; {samples_of_file(names)}")
    stem = file_stem(file.path)
    chosen = {name: stem if name.upper() in ROLES else name for name in tumours}
    called = [name for name, given in chosen.items() if given == stem]
    if len(called) > 1:
        problems.add(
            f"{listed(called)} would all be called {stem!r}, after the file. Give the file once for each, as in "
            f"{called[0]}=FILE, or name them in a sample sheet (columns sample_id and tumour_sample)"
        )
    return chosen


def _requested(
    file: VariantFile, names: Sequence[str], tumours: Sequence[str], problems: FileProblems
) -> dict[str, str]:
    """Return the names that the user gives to samples of the file, which need not have these names in it."""
    chosen: dict[str, str] = {}
    for sample_id, name in file.samples.items():
        found = sample_id if name is None else name
        if name is None and sample_id not in names and len(tumours) == 1:
            found = tumours[0]
        if found in chosen:
            problems.add(f"{found!r} is requested under two names, {chosen[found]!r} and {sample_id!r}")
        elif found in names:
            chosen[found] = sample_id
        elif name is None:
            problems.add(
                f"which sample is {sample_id!r}? Name it with `tumour_sample`, or in a column tumour_sample of the "
                f"sample sheet; {samples_of_file(names)}"
            )
        else:
            problems.add(f"no sample {name!r} here; {samples_of_file(names)}")
    return chosen


def samples_of_file(names: Sequence[str]) -> str:
    """Return the names of samples as messages show them."""
    if not names:
        return "the file has no samples"
    return f"the file has {listed(names, longest=60)}"
