"""Tumour samples of a file, and their names. They are never guessed from the order of columns."""

import re
from collections.abc import Collection, Mapping, Sequence

from pyclone_pgsm.inputs.mutations.model import VariantFile
from pyclone_pgsm.inputs.problems import CONTROL, FileProblems, listed
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
) -> dict[str, str]:
    """Choose the samples of a file to read: return the names to give, by the names in the file.

    The tumours of a file are the samples that ``tumour_samples`` names; else those that the file declares; else the one
    named as callers name the tumour (`ROLES`); else the only one that is not a normal sample: neither declared as such
    (``normals``) nor named as callers name it.
    """
    tumours = _tumours(tumour_samples, names, declared, normals)
    if not file.samples:
        if not tumours:
            problems.add(
                f"which sample is the tumour? Name it with `tumour_sample`; {samples_of_file(names)}"
            )
        chosen = _own_names(file, tumours, problems)
    else:
        chosen = {}
        for sample_id, name in file.samples.items():
            found = _named(sample_id, name, names, tumours, problems)
            if found in chosen:
                problems.add(f"{found!r} is requested under two names, {chosen[found]!r} and {sample_id!r}")
            elif found is not None:
                chosen[found] = sample_id
    for sample_id in chosen.values():
        if not sample_id.strip() or CONTROL.search(sample_id):
            problems.add(f"{sample_id!r} cannot be the name of a sample; give another, as in NAME=FILE")
    return chosen


def _own_names(file: VariantFile, tumours: Sequence[str], problems: FileProblems) -> dict[str, str]:
    """Return the name of each tumour: the name of the file in place of one of `ROLES`, else its own."""
    stem = file_stem(file.path)
    chosen = {name: stem if name.upper() in ROLES else name for name in tumours}
    called = [name for name, given in chosen.items() if given == stem]
    if len(called) > 1:
        problems.add(
            f"{listed(called)} would all be called {stem!r}, after the file. Give the file once for each, as in "
            f"{called[0]}=FILE, or name them in a sample sheet (columns sample_id and tumour_sample)"
        )
    return chosen


def _tumours(
    tumour_samples: Sequence[str], names: Sequence[str], declared: Sequence[str], normals: Sequence[str]
) -> list[str]:
    by_role = [name for name in names if name.upper() in ROLES]
    not_normal = _not_normal(names, normals)
    ways = (
        [name for name in names if name in tumour_samples],
        [name for name in names if name in declared],
        by_role if len(by_role) == 1 else [],
        not_normal if len(not_normal) == 1 else [],
    )
    return next(filter(None, ways), [])


def _not_normal(names: Sequence[str], normals: Sequence[str]) -> list[str]:
    return [name for name in names if name not in normals and not _NORMAL.fullmatch(name)]


def renamed_samples(
    file: VariantFile, tumour_samples: Sequence[str], chosen: Mapping[str, str]
) -> list[tuple[str, str, str]]:
    """Return the file, the name given and the name in the file of samples for which the user named only the former."""
    return [
        (str(file.path), given, name)
        for name, given in chosen.items()
        if given in file.samples
        and file.samples[given] is None
        and given != name
        and name.upper() not in ROLES
        and name not in tumour_samples
    ]


def further_samples(
    file: VariantFile,
    tumour_samples: Sequence[str],
    names: Sequence[str],
    chosen: Collection[str],
    normals: Sequence[str],
) -> list[str]:
    """Return a warning if samples remain that may be tumours, and the user has named none of the file.

    If no sample is known to be normal, a single one that remains is taken to be it.
    """
    if not {*tumour_samples, *file.samples, *file.samples.values()}.isdisjoint(names):
        return []
    not_normal = _not_normal(names, normals)
    further = [name for name in not_normal if name not in chosen]
    if len(further) <= (len(not_normal) == len(names)):
        return []
    return [
        f"{file.path}: {listed(list(chosen))} is taken for the tumour, and {listed(further)} is not used; name all "
        "tumour samples with `tumour_sample`"
    ]


def _named(
    sample_id: str, name: str | None, names: Sequence[str], tumours: Sequence[str], problems: FileProblems
) -> str | None:
    """Return the name of a sample in the file, or None after noting that it is not clear."""
    if name is not None:
        if name in names:
            return name
        problems.add(f"no sample {name!r} here; {samples_of_file(names)}")
    elif sample_id in names:
        return sample_id
    elif len(tumours) == 1:
        return tumours[0]
    else:
        problems.add(
            f"which sample is {sample_id!r}? Name it with `tumour_sample`, or in a column tumour_sample of the sample "
            f"sheet; {samples_of_file(names)}"
        )
    return None


def samples_of_file(names: Sequence[str]) -> str:
    """Return the names of samples as messages show them."""
    if not names:
        return "the file has no samples"
    return f"the file has {listed(names, longest=60)}"
