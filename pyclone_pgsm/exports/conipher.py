"""CONIPHER: the input table of its tree building."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.exports.answer import (
    Answer,
    ExportOptions,
    Format,
    long_table,
    note_exceptions,
    note_two_states,
    write_table,
)

COLUMNS = (
    "CASE_ID", "SAMPLE", "CHR", "POS", "REF", "ALT", "REF_COUNT", "VAR_COUNT", "DEPTH", "CLUSTER", "CCF_PHYLO",
    "CCF_OBS", "MUT_COPY", "COPY_NUMBER_A", "COPY_NUMBER_B", "ACF", "PLOIDY",
)  # fmt: skip


def _write(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    data, rows = answer.observations, answer.placed
    places = {name: np.array(answer.annotation(name), object) for name in ("chrom", "pos", "ref", "alt")}
    for name in ("chrom", "pos"):
        if not all(places[name][rows]):
            unknown = next(data.mutation_ids[t] for t in rows if not places[name][t])
            raise UsageError(
                f"`format` conipher: needs the place of each mutation, and the column {name} of the input does not "
                f"tell that of {unknown!r}"
            )
    notes = []
    for name in ("ref", "alt"):
        if not all(places[name][rows]):
            places[name] = np.where(places[name] == "", "N", places[name])
            notes.append(f"{name.upper()} is N where the input does not tell the allele")
    ref, alt = answer.counts()
    seen = alt / np.maximum(ref + alt, 1) * answer.mean_copies / data.tumour_content
    fraction = answer.summary.mean
    seen = np.where(data.has_data, seen, fraction * answer.mutant_copies)
    case = options.patient
    samples = [name if name.startswith(case) else f"{case}_{name}" for name in data.sample_ids]
    if samples != data.sample_ids:
        notes.append(f"samples are named {case}_.., as CONIPHER wants their names to begin with CASE_ID")
    table = long_table(
        answer,
        rows,
        **{column: places[name] for column, name in zip(COLUMNS[2:6], places)},
        REF_COUNT=ref,
        VAR_COUNT=alt,
        DEPTH=ref + alt,
        CLUSTER=answer.summary.labels + 1,
        CCF_PHYLO=answer.prevalence,
        CCF_OBS=seen / answer.mutant_copies,
        MUT_COPY=seen,
        COPY_NUMBER_A=data.major_cn,
        COPY_NUMBER_B=data.minor_cn,
        ACF=data.tumour_content,
    )
    table["CASE_ID"] = case
    table["SAMPLE"] = np.tile(np.array(samples, object), len(rows))
    table["PLOIDY"] = np.tile(answer.tumour_copies.mean(axis=0), len(rows))
    write_table(table[list(COLUMNS)], out)
    return [
        *notes,
        *note_exceptions(answer, "0 reads, and CCF_OBS and MUT_COPY from the model's prevalence"),
        *note_two_states(answer, "copy numbers are those of the first state"),
        "PLOIDY is the mean copy number at the mutations, not that of the genome",
    ]


CONIPHER = Format("conipher", (), _write)
