"""Tables of results: PyClone's, PyClone-VI's, and those of the output folder as Parquet."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.exports.answer import OF_CLUSTER, Answer, ExportOptions, note_exceptions
from pyclone_pgsm.files import replacing
from pyclone_pgsm.tsv import by_row, long_table, write_table

LOCI, CLUSTER = "loci.tsv", "cluster.tsv"
PARQUET_FILES = ("mutations.parquet", "clusters.parquet", "left_out.parquet")
NO_INTERVALS = "intervals have no place in the format"


def write_pyclone(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    """Write ``loci.tsv``, with one row for each mutation and sample, and ``cluster.tsv``."""
    summary = answer.summary
    loci = {
        "mutation_id": by_row(summary.mutation_ids),
        "sample_id": summary.sample_ids,
        "cluster_id": by_row(summary.labels),
        "cellular_prevalence": summary.mean,
        "cellular_prevalence_std": summary.std,
        "variant_allele_frequency": summary.vaf,
    }
    answer.write_table(loci, out / LOCI)
    clusters = {
        "sample_id": by_row(summary.sample_ids),
        "cluster_id": np.arange(summary.num_clusters),
        "size": summary.cluster_size,
        "mean": summary.cluster_mean.T,
        "std": summary.cluster_std.T,
    }
    write_table(long_table(summary.cluster_mean.T.shape, clusters), out / CLUSTER, quoted=False)
    return [*note_exceptions(answer, "no allele frequency, and the model's prevalence"), NO_INTERVALS]


def write_pyclone_vi(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    """Write one table, in which all mutations of a cluster have the prevalence of the cluster."""
    summary = answer.summary
    columns = {
        "mutation_id": by_row(summary.mutation_ids),
        "sample_id": summary.sample_ids,
        "cluster_id": by_row(summary.labels),
        "cellular_prevalence": answer.prevalence,
        "cellular_prevalence_std": summary.cluster_std[summary.labels],
        "cluster_assignment_prob": by_row(summary.assignment_prob),
    }
    answer.write_table(columns, out)
    return [
        *note_exceptions(answer, OF_CLUSTER),
        "each mutation has the prevalence of its cluster, as PyClone-VI has it",
        NO_INTERVALS,
    ]


def write_parquet(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    if find_spec("pyarrow") is None:
        raise UsageError("`format` parquet: needs pyarrow: pip install 'pyclone-pgsm[parquet]'")
    for name in PARQUET_FILES:
        with replacing(out / name) as part:
            answer.tables[name.replace(".parquet", ".tsv")].to_parquet(part, index=False, engine="pyarrow")
    return []
