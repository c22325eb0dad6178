"""Metient: reads of each mutation at each anatomical site. Each sample is a site; one is the primary tumour."""

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
    "anatomical_site_index", "anatomical_site_label", "cluster_index", "character_index", "character_label", "ref",
    "var", "var_read_prob", "site_category",
)  # fmt: skip


def _write(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    rows, samples = answer.placed, answer.observations.sample_ids
    primary = samples[0] if len(samples) == 1 else options.primary
    if primary is None:
        raise UsageError(
            f"`format` metient: which sample is the primary tumour? Give `primary`, one of {', '.join(samples)}"
        )
    if primary not in samples:
        raise UsageError(f"`primary` {primary!r}: the samples are {', '.join(samples)}")
    ref, alt = answer.counts()
    table = long_table(
        answer,
        rows,
        cluster_index=answer.summary.labels,
        ref=ref,
        var=alt,
        var_read_prob=answer.variant_share,
    ).rename(columns={"mutation_id": "character_label", "sample_id": "anatomical_site_label"})
    table["anatomical_site_index"] = np.tile(np.arange(len(samples)), len(rows))
    table["character_index"] = np.repeat(np.arange(len(rows)), len(samples))
    table["site_category"] = np.where(table["anatomical_site_label"] == primary, "primary", "metastasis")
    notes = []
    if table["character_label"].str.contains(":").any():
        table["character_label"] = table["character_label"].str.replace(":", "_")
        notes.append("':' in names of mutations is '_': Metient's pictures cannot have it")
    write_table(table[list(COLUMNS)], out)
    return [
        *notes,
        *note_exceptions(answer, "0 reads"),
        *note_two_states(answer, "var_read_prob is that of the mean copies of both states"),
    ]


METIENT = Format("metient", (), _write)
