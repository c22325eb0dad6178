"""The user's own MAF with columns added at the end; everything else stays unchanged.

``maf`` adds the prevalence of each mutation with its interval, and its cluster; ``cbioportal`` adds the columns that
cBioPortal shows for allele-specific copy number and clonality.
"""

import gzip
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyclone_pgsm.exports.answer import OWN_READS, Answer, ExportOptions, note_copy_numbers, note_exceptions
from pyclone_pgsm.exports.source import Mutations, given_source, samples_of
from pyclone_pgsm.files import write_file
from pyclone_pgsm.inputs.problems import FileProblems, count, raise_any
from pyclone_pgsm.inputs.text import open_text
from pyclone_pgsm.posterior.states import CLONAL, SUBCLONAL, statuses
from pyclone_pgsm.tsv import by_row

NEEDED = ("chromosome", "start_position", "reference_allele", "tumor_seq_allele2", "tumor_sample_barcode")
OTHER_ALLELE = "tumor_seq_allele1"
UNKNOWN = "NA"


def _read(path: Path) -> tuple[list[str], list[str], list[list[str]]]:
    """Read the lines of a MAF above its header, the header, and the rows, without blank lines among them."""
    problems = FileProblems(str(path))
    with open_text(path, problems, "a MAF") as text:
        lines = text.read().split("\n")
    raise_any(problems)
    start = next((i for i, line in enumerate(lines) if line.strip() and line[0] != "#"), len(lines))
    if start == len(lines):
        raise problems.give_up("has no header; expected a MAF")
    header = lines[start].split("\t")
    for name in NEEDED:
        if name not in [each.lower() for each in header]:
            problems.add(f"this column is missing; the header has {len(header)} columns", start + 1, name)
    raise_any(problems)
    rows = []
    for number, line in enumerate(lines[start + 1 :], start=start + 2):
        if line.strip():
            row = line.split("\t")
            if len(row) != len(header):
                raise problems.give_up(f"has {len(row)} columns, and the header {len(header)}", number)
            rows.append(row)
    return lines[:start], header, rows


def _annotate(
    answer: Answer, out: Path, options: ExportOptions, name: str, columns: Mapping[str, ArrayLike]
) -> list[str]:
    """Write the MAF with added columns, whose texts can be broadcast to (T, D)."""
    path = given_source(options, name, "MAF")
    above, header, rows = _read(path)
    at = {each.lower(): place for place, each in reversed(list(enumerate(header)))}
    chrom, pos, ref, alt, sample = (at[each] for each in NEEDED)
    names = list(dict.fromkeys(row[sample] for row in rows))
    samples = samples_of(answer, path, options, names)
    mutations = Mutations(answer)
    texts = [np.broadcast_to(each, answer.summary.mean.shape) for each in columns.values()]
    unknown = [UNKNOWN] * len(columns)
    added, absent = [], 0
    for row in rows:
        variant = row[alt]
        if variant in ("", row[ref]) and OTHER_ALLELE in at:
            variant = row[at[OTHER_ALLELE]]
        t = mutations.find(row[chrom], row[pos], row[ref], variant) if row[sample] in samples else None
        absent += t is None
        added.append(unknown if t is None else [each[t, samples[row[sample]]] for each in texts])
    kept = [place for place, each in enumerate(header) if each not in columns]
    lines = [
        *above,
        "\t".join([header[place] for place in kept] + list(columns)),
        *("\t".join([row[place] for place in kept] + new) for row, new in zip(rows, added)),
    ]
    content = ("\n".join(lines) + "\n").encode()
    write_file(out, gzip.compress(content, mtime=0) if out.suffix == ".gz" else content)
    notes = []
    if absent:
        notes.append(
            f"not in the result, and {UNKNOWN} in the added columns: {count(absent, 'row')} of {path}"
        )
    replaced = [each for each in header if each in columns]
    return notes + ([f"columns of {path} replaced: {', '.join(replaced)}"] if replaced else [])


def _texts(values: NDArray[np.float64], form: str) -> NDArray[np.object_]:
    """Return numbers as texts, `UNKNOWN` for NaN."""
    texts = [UNKNOWN if math.isnan(each) else f"{each:{form}}" for each in values.ravel().tolist()]
    return np.array(texts, object).reshape(values.shape)


def write_maf(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    summary = answer.summary
    columns = {
        "CCF": _texts(summary.mean, ".6g"),
        "CCF_lower": _texts(summary.lower, ".6g"),
        "CCF_upper": _texts(summary.upper, ".6g"),
        "cluster": by_row(summary.labels.astype(str)),
    }
    notes = _annotate(answer, out, options, "maf", columns)
    return [*notes, *note_exceptions(answer, "the model's prevalence", OWN_READS)]


def copy_number_calls(total: NDArray[np.float64], normal_cn: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return cBioPortal's calls for total copies, NaN where these are NaN.

    The call is -2 without copies, -1 with fewer than normal cells have, 0 with as many, 1 with more, and 2 with more
    than twice as many.
    """
    calls = np.sign(total - normal_cn)
    calls = np.where(total > 2 * normal_cn, 2.0, calls)
    return np.where(total == 0.0, -2.0, calls)


def write_cbioportal(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    summary, data = answer.summary, answer.observations
    has_alleles = answer.genotype_prior != "total"
    states = statuses(summary.prob_present, summary.prob_clonal).astype(str)
    clonal = np.where(np.isin(states, (CLONAL, SUBCLONAL)), np.char.upper(states), "INDETERMINATE")
    minor = np.where(data.subclonal_fraction > 0.5, data.subclonal_minor_cn, data.minor_cn)
    total = np.where(data.has_data, data.tumour_copies, np.nan)
    minor = np.where(data.has_data & has_alleles, minor, np.nan)
    mutant = np.where(summary.multiplicity > 0, summary.multiplicity, np.nan)
    columns: dict[str, ArrayLike] = {
        "ASCN.ASCN_METHOD": "pyclone-pgsm",
        "ASCN.ASCN_INTEGER_COPY_NUMBER": _texts(copy_number_calls(np.rint(total), data.normal_cn), ".0f"),
        "ASCN.TOTAL_COPY_NUMBER": _texts(total, ".0f"),
        "ASCN.MINOR_COPY_NUMBER": _texts(minor, ".0f"),
        "ASCN.CCF_EXPECTED_COPIES": _texts(summary.mean, ".6g"),
        "ASCN.CCF_EXPECTED_COPIES_UPPER": _texts(summary.upper, ".6g"),
        "ASCN.CLONAL": clonal,
        "ASCN.EXPECTED_ALT_COPIES": _texts(mutant, ".0f"),
    }
    notes = _annotate(answer, out, options, "cbioportal", columns)
    if (data.subclonal_fraction > 0).any():
        notes.append(
            "of two copy-number states, the mean total (rounded) and the minor copies of the larger one"
        )
    if has_alleles:
        notes += note_copy_numbers(answer)
    else:
        notes.append(f"minor copies are {UNKNOWN}: the genotype prior total leaves alleles unknown")
    return [
        *notes,
        *note_exceptions(
            answer, f"copies {UNKNOWN}, and the model's prevalence", f"INDETERMINATE, and {OWN_READS}"
        ),
        "lower ends of intervals and clusters have no place among the ASCN columns (export format maf)",
    ]
