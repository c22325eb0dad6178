"""Pairtree and Orchard: ``.ssm`` and ``.params.json``.

``var_read_prob`` is the probability that a read of a cell with the mutation shows it: mutant copies over the mean
copies of the sample's cells, 0.5 where all are diploid. The frequencies of subclones are then those among all cells of
the sample: a clonal mutation has the tumour content.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from pyclone_pgsm.exports.answer import (
    Answer,
    ExportOptions,
    Format,
    note_exceptions,
    note_two_states,
)
from pyclone_pgsm.files import write_file

SSM, PARAMS = "tumour.ssm", "tumour.params.json"
HEADER = ("id", "name", "var_reads", "total_reads", "var_read_prob")


def _write(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    data, labels = answer.observations, answer.summary.labels
    ref, alt = answer.counts()
    share = answer.variant_share
    lines = ["\t".join(HEADER)]
    for t, name in enumerate(data.mutation_ids):
        vectors = (alt[t], ref[t] + alt[t], [f"{value:.6g}" for value in share[t]])
        lines.append("\t".join([f"s{t}", name, *(",".join(map(str, vector)) for vector in vectors)]))
    write_file(out / SSM, ("\n".join(lines) + "\n").encode())
    params = {
        "samples": data.sample_ids,
        "clusters": [
            [f"s{t}" for t in np.flatnonzero(labels == k)] for k in range(answer.summary.num_clusters)
        ],
        "garbage": [f"s{t}" for t in answer.outliers],
    }
    write_file(out / PARAMS, (json.dumps(params, ensure_ascii=False) + "\n").encode())
    return [
        *note_exceptions(
            answer,
            "0 of 0 reads; Pairtree's authors would rather have the depth read from the alignment",
            "are garbage",
        ),
        *note_two_states(answer, "var_read_prob is that of the mean copies of both states"),
        "frequencies of subclones are among all cells: divide by the tumour content for cancer cell fractions",
    ]


PAIRTREE = Format("pairtree", (SSM, PARAMS), _write)
